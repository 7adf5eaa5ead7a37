/* Elementwise ops: rows stay rows, and some ops keep terms of a whole. */
#include "part/part_impl.h"
#include "part/terms.h"

static PartTerms terms_of(const PartCall *c) {
    return c->row ? (PartTerms)c->row->arg : TERMS_PLAIN;
}
static PartPower power_of(const PartCall *c) {
    return c->row ? c->row->power : POWER_NONE;
}

/* ---- powers of n ---- */

/* The only power of all inputs from `first` on that aren't zero. */
static bool common_power(const PartCall *c, size_t first, int *power) {
    bool any = false;
    *power = 0;
    for (size_t i = first; i < c->ap->nin; i++) {
        if (c->x[i].zero) continue;
        if (any && c->x[i].power != *power) return false;
        *power = c->x[i].power;
        any = true;
    }
    return true;
}

/* Sums and counts in a dtype of 8 or 16 bits may have wrapped around, each part's on
 * its own: they are equal in that dtype, but not in another one. */
static bool forgets_wraps(DType from, DType to) {
    return dtype_is_integer(from) && dtype_size(from) < 4 &&
           !(dtype_is_integer(to) && dtype_size(to) <= dtype_size(from));
}

/* Is it a cast to bool, or of numbers that needn't be whole to whole ones? */
static bool cuts_off(const PartCall *c) {
    DType from = part_type(c, 0)->dtype, to = part_out_type(c, 0)->dtype;
    if (terms_of(c) != TERMS_CAST) return false;
    if (forgets_wraps(from, to)) return true;
    if (!dtype_is_discrete(to)) return false;
    return to == DT_BOOL || (!dtype_is_discrete(from) && !part_is_count(&c->x[0]));
}

static bool find_power(const PartCall *c, Part *p) {
    const Part *x = c->x;
    switch (power_of(c)) {
    case POWER_NONE:
        return common_power(c, 0, &p->power) && !p->power;
    case POWER_KEEPS:
        if (x[0].power && cuts_off(c)) return false;
        p->power = x[0].power;
        p->zero = x[0].zero;
        return true;
    case POWER_SUM:
        p->zero = true;
        for (size_t i = 0; i < c->ap->nin; i++)
            p->zero &= x[i].zero;
        return common_power(c, 0, &p->power);
    case POWER_TIMES:
        for (size_t i = 0; i < c->ap->nin; i++) {
            p->power += x[i].power;
            p->zero |= x[i].zero;
        }
        return true;
    case POWER_OVER:
        p->power = x[0].power - x[1].power;
        return true;
    case POWER_UNDER:
        p->power = -x[0].power;
        return true;
    case POWER_CHOICE:
        return !x[0].power && common_power(c, 1, &p->power);
    }
    return false;
}

/* A multiple of n that is still known exactly. */
static int64_t multiple_of_rows(const PartCall *c) {
    int64_t each = 1;
    if (terms_of(c) == TERMS_CAST) return c->x[0].each;
    if (terms_of(c) != TERMS_TIMES) return 0;
    for (size_t i = 0; i < c->ap->nin; i++) {
        const Tensor *t = var_const(c->g, c->in[i]);
        int64_t by = part_is_count(&c->x[i]) ? c->x[i].each : 0;
        if (!by && t && !t->ndim && dtype_is_integer(t->dtype)) by = tensor_i64(t, 0);
        if (by <= 0 || !i64_mul(each, by, &each)) return 0;
    }
    return each;
}

/* ---- terms ---- */

static bool have_term(const PartCall *c, PartTerm term) {
    for (size_t i = 0; i < c->ap->nin; i++)
        if (c->x[i].kind == PART_TERM ? c->x[i].term != term
                                      : c->x[i].kind != PART_SAME)
            return false;
    return true;
}

static size_t count_terms(const PartCall *c) {
    size_t n = 0;
    for (size_t i = 0; i < c->ap->nin; i++)
        n += c->x[i].kind == PART_TERM;
    return n;
}

/* x n^p + sum(y n^(p-1)) is sum((x + y) n^(p-1)). */
static bool add_terms(const PartCall *c, Part *p) {
    bool any = false;
    if (!have_term(c, TERM_SUM)) return false;
    for (size_t i = 0; i < c->ap->nin; i++) {
        int power = c->x[i].power - (c->x[i].kind == PART_SAME);
        if (c->x[i].zero) continue;
        if (any && power != p->power) return false;
        p->power = power;
        any = true;
    }
    return true;
}

static bool scale_terms(const PartCall *c, Part *p) {
    if (!have_term(c, TERM_SUM) || count_terms(c) != 1) return false;
    bool over = terms_of(c) == TERMS_OVER;
    if (over && c->x[0].kind != PART_TERM) return false;
    for (size_t i = 0; i < c->ap->nin; i++)
        p->power += over && i ? -c->x[i].power : c->x[i].power;
    return true;
}

/* A cast to integers doesn't commute with a sum, one to a narrower dtype not with the
 * greatest value. */
static bool cast_term(const PartCall *c, Part *p) {
    DType from = part_type(c, 0)->dtype, to = part_out_type(c, 0)->dtype;
    *p = c->x[0];
    if (p->term == TERM_SUM || p->term == TERM_PROD)
        return !forgets_wraps(from, to) &&
               (dtype_is_inexact(to) ||
                (dtype_is_integer(from) && dtype_is_integer(to)));
    if (p->term == TERM_MAX || p->term == TERM_MIN)
        return from != DT_BOOL && !dtype_is_complex(from) &&
               dtype_promote(from, to) == to;
    return from == to;
}

static bool extreme_terms(const PartCall *c, PartTerm term, Part *p) {
    p->term = term;
    int power;
    return have_term(c, term) && common_power(c, 0, &power) && !power;
}

static bool negative_term(const PartCall *c, Part *p) {
    *p = c->x[0];
    if (p->term == TERM_SUM) return true;
    if (!dtype_is_float(part_type(c, 0)->dtype)) return false;
    if (p->term != TERM_MAX && p->term != TERM_MIN) return false;
    p->term = p->term == TERM_MAX ? TERM_MIN : TERM_MAX;
    return true;
}

static bool not_term(const PartCall *c, Part *p) {
    *p = c->x[0];
    if (p->term != TERM_ALL && p->term != TERM_ANY) return false;
    p->term = p->term == TERM_ALL ? TERM_ANY : TERM_ALL;
    return true;
}

static bool combine_terms(const PartCall *c, Part *p) {
    switch (terms_of(c)) {
    case TERMS_ADD:
        return add_terms(c, p);
    case TERMS_TIMES:
    case TERMS_OVER:
        return scale_terms(c, p);
    case TERMS_NEGATIVE:
        return negative_term(c, p);
    case TERMS_LINEAR:
        *p = c->x[0];
        return p->term == TERM_SUM;
    case TERMS_CAST:
        return cast_term(c, p);
    case TERMS_MAX:
        return extreme_terms(c, TERM_MAX, p);
    case TERMS_MIN:
        return extreme_terms(c, TERM_MIN, p);
    case TERMS_AND:
        return extreme_terms(c, TERM_ALL, p);
    case TERMS_OR:
        return extreme_terms(c, TERM_ANY, p);
    case TERMS_NOT:
        return not_term(c, p);
    case TERMS_PLAIN:
        break;
    }
    return false;
}

/* Products of logical values or of bools are no sums. */
static bool take_terms(PartCall *c) {
    Part p = {.kind = PART_TERM};
    bool sums = part_out_type(c, 0)->dtype != DT_BOOL;
    if (combine_terms(c, &p) && (sums || p.term != TERM_SUM)) return part_set(c, p);
    return part_refuse_rows(c);
}

/* ---- rows ---- */

static bool refuse_whole(PartCall *c, size_t i) {
    return part_refuse(
        c, arena_printf(c->w->a,
                        "pairs rows with values of input %zu, %s, which isn't split", i,
                        type_str(c->w->s, part_type(c, i))));
}

/* Lines up the rows of all inputs, counted from the last axis. The others must
 * broadcast along it. */
static bool align_rows(PartCall *c, int *right, int64_t *each) {
    *right = 0;
    for (size_t i = 0; i < c->ap->nin; i++) {
        if (c->x[i].kind != PART_ROWS) continue;
        int at = part_from_right(c, i);
        if (*right && at != *right)
            return part_refuse(c, "pairs rows with rows along another axis");
        if (*right && c->x[i].each != *each)
            return part_refuse(c, "takes rows that are merged with other axes in "
                                  "different ways");
        *right = at;
        *each = c->x[i].each;
    }
    for (size_t i = 0; *right && i < c->ap->nin; i++) {
        const Type *t = part_type(c, i);
        if (c->x[i].kind == PART_ROWS) continue;
        if (t->ndim >= *right && t->dim[t->ndim - *right] != 1)
            return refuse_whole(c, i);
    }
    return true;
}

/* Whole numbers as other numbers. */
static bool recast(PartCall *c) {
    if (terms_of(c) != TERMS_CAST || !dtype_is_integer(part_out_type(c, 0)->dtype))
        return false;
    return part_set(c, c->x[0]);
}

bool part_elementwise(PartCall *c) {
    Part p = {0};
    int right;
    for (size_t i = 0; i < c->ap->nin; i++)
        if (c->x[i].kind == PART_INDEX || c->x[i].kind == PART_SHAPE) {
            return recast(c) || part_refuse_rows(c);
        }
    if (count_terms(c)) return take_terms(c);
    if (!find_power(c, &p)) return part_refuse_rows(c);
    if (!align_rows(c, &right, &p.each)) return false;
    if (right) {
        p.kind = PART_ROWS;
        p.axis = part_out_type(c, 0)->ndim - right;
    } else {
        p.each = p.power == 1 ? multiple_of_rows(c) : 0;
    }
    return part_set(c, p);
}
