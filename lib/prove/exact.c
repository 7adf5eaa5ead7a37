/* Rational identities, decided modulo the prime 2^61 - 1. If two different rational
 * functions of degree d agree at a random point of the field, that was a chance of
 * d / 2^61 at most (Schwartz 1980, Zippel 1979); at POINTS points, of less than 1e-18
 * for any degree that is let through. Without divisions the sides are polynomials with
 * integer coefficients, so the identity also holds for integers that wrap. */
#include "prove/prove_impl.h"

#include <math.h>
#include <string.h>

#define PRIME ((UINT64_C(1) << 61) - 1)
enum { POINTS = 3, DEGREE_MAX = 1 << 30 };

/* ---- the field ---- */

__extension__ typedef unsigned __int128 Wide;

static uint64_t reduce(Wide v) {
    uint64_t r = (uint64_t)(v & PRIME) + (uint64_t)(v >> 61);
    return r >= PRIME ? r - PRIME : r;
}
static uint64_t times(uint64_t a, uint64_t b) {
    return reduce((Wide)a * b);
}
static uint64_t plus(uint64_t a, uint64_t b) {
    return reduce((Wide)a + b);
}
static uint64_t minus(uint64_t a) {
    return a ? PRIME - a : 0;
}
static uint64_t power_of(uint64_t a, uint64_t n) {
    uint64_t r = 1;
    for (; n; n >>= 1, a = times(a, a))
        if (n & 1) r = times(r, a);
    return r;
}
static uint64_t from_integer(int64_t v) {
    uint64_t m = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    return v < 0 ? minus(reduce(m)) : reduce(m);
}

/* ---- numbers: values of rational functions ---- */

typedef struct Rational {
    uint64_t v;
    uint32_t degree; /* of numerator and denominator, at most */
    bool literal;    /* it is the integer `whole` */
    int64_t whole;
} Rational;

typedef struct Field {
    bool integers; /* a ring: nothing is divided */
} Field;

static uint32_t add_degrees(uint32_t a, uint32_t b) {
    return a + b < DEGREE_MAX ? a + b : DEGREE_MAX;
}

/* A float is m * 2^e. */
static bool rational_constant(void *ctx, const Tensor *t, int64_t i, void *out) {
    Rational *r = out;
    (void)ctx;
    *r = (Rational){0};
    if (dtype_is_complex(t->dtype)) {
        double z[2];
        tensor_c128(t, i, z);
        if (z[1] != 0 || z[0] != floor(z[0]) || fabs(z[0]) > 0x1p53) return false;
        r->v = from_integer((int64_t)z[0]);
        r->literal = true, r->whole = (int64_t)z[0];
        return true;
    }
    if (dtype_is_discrete(t->dtype)) {
        r->whole = tensor_i64(t, i);
        r->literal = true;
        r->v = from_integer(r->whole);
        return true;
    }
    int e;
    double v = tensor_f64(t, i);
    if (!isfinite(v)) return false;
    int64_t m = (int64_t)ldexp(frexp(v, &e), 53);
    int shift = ((e - 53) % 61 + 61) % 61; /* 2^61 is 1 */
    r->v = times(from_integer(m), power_of(2, (uint64_t)shift));
    r->literal = v == floor(v) && fabs(v) < 0x1p53;
    if (r->literal) r->whole = (int64_t)v;
    return true;
}

/* ---- elementwise ops ---- */

typedef bool RationalFn(const Field *f, const Rational *x, const Rational *y,
                        Rational *r);

static bool rational_add(const Field *f, const Rational *x, const Rational *y,
                         Rational *r) {
    (void)f;
    r->v = plus(x->v, y->v);
    r->degree = add_degrees(x->degree, y->degree);
    return true;
}
static bool rational_subtract(const Field *f, const Rational *x, const Rational *y,
                              Rational *r) {
    (void)f;
    r->v = plus(x->v, minus(y->v));
    r->degree = add_degrees(x->degree, y->degree);
    return true;
}
static bool rational_multiply(const Field *f, const Rational *x, const Rational *y,
                              Rational *r) {
    (void)f;
    r->v = times(x->v, y->v);
    r->degree = add_degrees(x->degree, y->degree);
    return true;
}
static bool rational_reciprocal(const Field *f, const Rational *x, const Rational *y,
                                Rational *r) {
    (void)y;
    r->v = power_of(x->v, PRIME - 2);
    r->degree = x->degree;
    return x->v && !f->integers;
}
static bool rational_divide(const Field *f, const Rational *x, const Rational *y,
                            Rational *r) {
    Rational over = {0};
    return rational_reciprocal(f, y, NULL, &over) && rational_multiply(f, x, &over, r);
}
static bool rational_negative(const Field *f, const Rational *x, const Rational *y,
                              Rational *r) {
    (void)f, (void)y;
    *r = (Rational){.v = minus(x->v),
                    .degree = x->degree,
                    .literal = x->literal && x->whole != INT64_MIN,
                    .whole = x->whole == INT64_MIN ? 0 : -x->whole};
    return true;
}
static bool rational_same(const Field *f, const Rational *x, const Rational *y,
                          Rational *r) {
    (void)f, (void)y;
    *r = *x;
    return true;
}
static bool rational_square(const Field *f, const Rational *x, const Rational *y,
                            Rational *r) {
    (void)y;
    return rational_multiply(f, x, x, r);
}
static bool rational_power(const Field *f, const Rational *x, const Rational *y,
                           Rational *r) {
    enum { MOST = 1000 };
    if (!y->literal || y->whole > MOST || y->whole < -MOST) return false;
    Rational up = {.v = power_of(x->v, (uint64_t)i64_abs(y->whole)),
                   .degree = x->degree * (uint32_t)i64_abs(y->whole)};
    if (x->degree > DEGREE_MAX / MOST) return false;
    if (y->whole < 0) return rational_reciprocal(f, &up, NULL, r);
    *r = up;
    return true;
}

static const struct RationalOp {
    const char *name;
    RationalFn *fn;
} rational_ops[] = {
    {"add", rational_add},           {"subtract", rational_subtract},
    {"multiply", rational_multiply}, {"true_divide", rational_divide},
    {"negative", rational_negative}, {"positive", rational_same},
    {"square", rational_square},     {"reciprocal", rational_reciprocal},
    {"power", rational_power},       {"cast", rational_same}};

/* Integers only among one dtype, where they wrap alike; no cast takes a part away. What
 * an input is cast to is as free as the input. */
static bool keeps_numbers(const Field *f, const Graph *g, ApplyId id) {
    const Apply *a = &g->apply[id];
    DType to = var_type(g, a->out)->dtype;
    for (size_t i = 0; i < a->nin; i++) {
        Var v = apply_in(g, id)[i];
        DType from = var_type(g, v)->dtype;
        if (from == to || var_owner(g, v) == APPLY_NONE) continue;
        if (f->integers || dtype_kind(from) > dtype_kind(to) || dtype_is_discrete(from))
            return false;
    }
    return to != DT_BOOL;
}

static const void *rational_find(void *ctx, const Graph *g, ApplyId id) {
    const char *name = g->apply[id].op->name;
    if (!keeps_numbers(ctx, g, id)) return NULL;
    for (size_t i = 0; i < sizeof rational_ops / sizeof *rational_ops; i++)
        if (strcmp(rational_ops[i].name, name) == 0) return &rational_ops[i];
    return NULL;
}

static bool rational_apply(void *ctx, const void *op, DType out, const void *const *in,
                           void *r) {
    (void)out;
    const struct RationalOp *o = op;
    bool two = o->fn == rational_add || o->fn == rational_subtract ||
               o->fn == rational_multiply || o->fn == rational_divide ||
               o->fn == rational_power;
    return o->fn(ctx, in[0], two ? in[1] : NULL, r);
}

/* ---- the rest ---- */

static bool rational_sum(void *ctx, const Element *e, int64_t divisor) {
    const Rational *a = e->x, *b = e->y;
    const Summand *t = e->t;
    const Field *f = ctx;
    Rational sum = {.literal = e->n == 0};
    for (size_t k = 0; k < e->n; k++) {
        Rational term = a[t[k].i];
        if (e->n == 1 && t[k].coef == 1 && !b) sum = term;
        if (e->n == 1 && t[k].coef == 1 && !b) break;
        if (b) rational_multiply(f, &a[t[k].i], &b[t[k].j], &term);
        sum.v = plus(sum.v, times(from_integer(t[k].coef), term.v));
        sum.degree = add_degrees(sum.degree, term.degree);
    }
    if (divisor != 1) {
        if (divisor == 0 || f->integers) return false;
        sum.v = times(sum.v, power_of(from_integer(divisor), PRIME - 2));
        sum.literal = false;
    }
    *(Rational *)e->r = sum;
    return true;
}

static bool rational_fold(void *ctx, Folding how, const Element *e) {
    const Rational *a = e->x;
    Rational product = {.v = 1};
    (void)ctx;
    for (size_t k = 0; k < e->n; k++) {
        product.v = times(product.v, a[e->t[k].i].v);
        product.degree = add_degrees(product.degree, a[e->t[k].i].degree);
    }
    *(Rational *)e->r = product;
    return how == FOLD_PRODUCT;
}

static const Algebra rational_algebra = {.size = sizeof(Rational),
                                         .constant = rational_constant,
                                         .find = rational_find,
                                         .apply = rational_apply,
                                         .sum = rational_sum,
                                         .fold = rational_fold};

/* ---- the decision ---- */

/* A constant is as free as a variable. */
static const void *random_rationals(const Instance *x, size_t hole, Arena *a) {
    const Typing *t = x->t;
    if (t->hole[hole].stand == STAND_SIZES) return NULL;
    int64_t n = t->dense ? 1 : type_size(var_type(x->g, x->input[hole]));
    Rational *r = NEW_N(a, (size_t)n + 1, Rational);
    for (int64_t i = 0; i < n; i++)
        r[i] = (Rational){.v = prover_random(x->p) % PRIME, .degree = 1};
    return r;
}

static Identity decide_at_point(const Instance *x, Field *f, Arena *a) {
    const void *input[HOLES];
    void *side[2];
    for (size_t i = 0; i < x->p->nhole; i++)
        input[i] = random_rationals(x, i, a);
    if (!evaluate_sides(x, &rational_algebra, f, a, input, x->t->dense, side))
        return NOT_RATIONAL;
    int64_t n = x->t->dense ? 1 : type_size(var_type(x->g, x->side[0]));
    const Rational *l = side[0], *r = side[1];
    for (int64_t i = 0; i < n; i++) {
        if (l[i].degree + r[i].degree >= DEGREE_MAX) return NOT_RATIONAL;
        if (l[i].v != r[i].v) return NOT_IDENTICAL;
    }
    return IDENTICAL;
}

Identity exact_decide(const Instance *x) {
    DType d = var_type(x->g, x->side[0])->dtype;
    Field f = {.integers = dtype_is_discrete(d)};
    Identity found = d == DT_BOOL ? NOT_RATIONAL : IDENTICAL;
    for (int k = 0; k < POINTS && found == IDENTICAL; k++) {
        Arena *a = arena_new(x->p->s);
        found = decide_at_point(x, &f, a);
        arena_free(a);
    }
    return found;
}
