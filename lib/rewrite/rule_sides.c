/* Builds a rule's two sides over given variables, for proofs of rules. The left side is
 * built and then matched, so that guards, operand order and props are those of a real
 * run. Props that the rule leaves open, as axis=a or **p, take one of a few values. */
#include "rewrite/rewrite_impl.h"

#include <string.h>

/* ---- what a rule asks for ---- */

const Rule *rule_reverse(const Rule *r) {
    return r->reverse;
}

static bool hole_asks(const Rule *r, size_t hole, const char *guard) {
    for (size_t i = 0; i < r->nguard; i++)
        for (size_t k = 0; k < r->guard[i].narg; k++) {
            const Pat *p = r->guard[i].arg[k];
            const char *name = guard_name((size_t)r->guard[i].test);
            if (p->kind == PAT_HOLE && p->hole == hole && strcmp(guard, name) == 0)
                return true;
        }
    return false;
}

static int guarded_ndim(const Rule *r, size_t hole) {
    static const struct {
        const char *guard;
        int ndim;
    } wants[] = {
        {"scalar", 0}, {"vector", 1}, {"matrix", 2}, {"square", 2}, {"batched", 3}};
    int ndim = -1;
    for (size_t w = 0; w < sizeof wants / sizeof *wants; w++)
        if (hole_asks(r, hole, wants[w].guard)) ndim = wants[w].ndim;
    return ndim;
}

/* What is made of any matrix x where guards ask for these facts. */
static const char *structure_asked(const Rule *r, size_t hole) {
    static const struct {
        const char *guard, *also, *text;
    } structured[] = {
        {"positive_diagonal", "lower", "cholesky(x @ transpose(x))"},
        {"positive_diagonal", "upper", "cholesky(x @ transpose(x), lower=False)"},
        {"positive_diagonal", "triangular", "cholesky(x @ transpose(x))"},
        {"posdef", "diagonal_matrix", "assert_structure(tril(triu(x)), kind='posdef')"},
        {"posdef", "", "assert_structure(x @ conj(transpose(x)), kind='posdef')"},
        {"semidefinite", "", "x @ conj(transpose(x))"},
        {"diagonal_matrix", "", "tril(triu(x))"},
        {"lower", "", "tril(x)"},
        {"upper", "", "triu(x)"},
        {"triangular", "", "tril(x)"},
        {"symmetric", "", "x + transpose(x)"},
        {"hermitian", "", "x + conj(transpose(x))"},
        {"orthogonal", "", "qr(x)[0]"},
        {"orthonormal", "", "qr(x)[0]"}};
    for (size_t k = 0; k < sizeof structured / sizeof *structured; k++)
        if (hole_asks(r, hole, structured[k].guard) &&
            (!*structured[k].also || hole_asks(r, hole, structured[k].also)))
            return structured[k].text;
    return NULL;
}

static RuleHole describe_hole(const Rule *r, size_t i) {
    RuleHole h = {.name = r->hole[i],
                  .constant = r->const_hole[i],
                  .sizes = r->ints_hole[i],
                  .ndim = guarded_ndim(r, i),
                  .made = structure_asked(r, i),
                  .tall = hole_asks(r, i, "orthonormal")};
    if (h.made && h.ndim < 0) h.ndim = 2;
    return h;
}

size_t rule_holes(const Rule *r, RuleHole *hole, size_t max) {
    size_t n = 0;
    for (size_t i = 0; i < r->nhole; i++) {
        if (r->prop_hole[i] || r->rest_hole[i]) continue;
        if (n < max) hole[n] = describe_hole(r, i);
        n++;
    }
    return n;
}

static bool is_elementwise(const Rule *r, const Pat *p) {
    if (p->kind != PAT_APPLY) return true;
    bool ok = p->op->elemwise || op_is(r->s, p->op, OP_ZEROS_LIKE) ||
              op_is(r->s, p->op, OP_ONES_LIKE);
    for (size_t i = 0; ok && i < p->nin; i++)
        ok = is_elementwise(r, p->in[i]);
    return ok;
}

bool rule_is_elementwise(const Rule *r) {
    return is_elementwise(r, r->lhs) && is_elementwise(r, r->rhs);
}

/* ---- open props ---- */

enum { CHOICES_MAX = 4, FORMS_MAX = 48, OPEN_MAX = 16 };
static const int64_t first_axis[] = {0}, second_axis[] = {1}, both_axes[] = {0, 1},
                     swapped[] = {1, 0}, last_swapped[] = {0, 2, 1}, two[] = {2};

/* Values to try for a prop, its default first. */
static size_t prop_choices(const PropDef *d, Prop out[CHOICES_MAX]) {
    size_t n = 0;
    if (!d->required) out[n++] = d->value;
    switch (d->type) {
    case T_BOOL:
        out[n++] = PROP_BOOL(d->required || !d->value.i);
        break;
    case T_AXIS:
        out[n++] = PROP_INT(0);
        out[n++] = PROP_INT(1);
        break;
    case T_AXES:
        out[n++] = PROP_INTS(first_axis, 1);
        out[n++] = PROP_INTS(second_axis, 1);
        out[n++] = PROP_INTS(both_axes, 2);
        break;
    case T_INTS:
        out[n++] = PROP_INTS(swapped, 2);
        out[n++] = PROP_INTS(last_swapped, 3);
        out[n++] = PROP_INTS(two, 1);
        break;
    case T_INT:
        out[n++] = PROP_INT(1);
        out[n++] = PROP_INT(2);
        break;
    case T_SIDES:
        out[n++] = PROP_INTS(second_axis, 1);
        break;
    case T_DTYPE:
        if (!d->required) break;
        out[n++] = PROP_DTYPE(DT_FLOAT64);
        out[n++] = PROP_DTYPE(DT_FLOAT32);
        out[n++] = PROP_DTYPE(DT_INT64);
        out[n++] = PROP_DTYPE(DT_BOOL);
        break;
    case T_FLOAT:
    case T_STR:
    case T_GRAPH:
    case T_KEY:
        break;
    }
    if (n == 0) out[n++] = d->value;
    return n;
}

/* The first part of the left side whose props the hole stands for; NULL: none. `index`:
 * of the one prop. */
static const Pat *find_binder(const Pat *p, size_t hole, bool rest, size_t *index) {
    const Pat *found = NULL;
    if (p->kind != PAT_APPLY) return NULL;
    if (rest && p->rest == (int)hole) return p;
    for (size_t i = 0; !rest && i < p->nprop; i++)
        if (p->prop[i].is_hole && p->prop[i].hole == hole)
            return *index = p->prop[i].index, p;
    for (size_t i = 0; i < p->nin && !found; i++)
        found = find_binder(p->in[i], hole, rest, index);
    return found;
}

/* Takes the digit for a prop off the number of the form. */
static Prop choose_prop(const PropDef *d, size_t *form) {
    Prop choice[CHOICES_MAX];
    size_t n = prop_choices(d, choice), k = *form % n;
    *form /= n;
    return choice[k];
}

static const Props *choose_rest(const Rule *r, const Op *op, size_t *form) {
    const Signature *sig = op_signature(r->s, op);
    Prop *v = mem_zalloc(r->s, sig->nprop + 1, sizeof *v);
    for (size_t i = 0; i < sig->nprop; i++)
        v[i] = choose_prop(&sig->prop[i], form);
    const Props *props = props_intern(r->s, sig->nprop, v);
    mem_free(v);
    return props;
}

static void count_choices(const PropDef *d, size_t *n) {
    Prop choice[CHOICES_MAX];
    if (*n < FORMS_MAX) *n *= prop_choices(d, choice);
}

size_t rule_forms(const Rule *r) {
    size_t n = 1, index = 0;
    for (size_t i = 0; i < r->nhole; i++) {
        bool rest = r->rest_hole[i];
        const Pat *p =
            rest || r->prop_hole[i] ? find_binder(r->lhs, i, rest, &index) : NULL;
        if (!p) continue;
        const Signature *sig = op_signature(r->s, p->op);
        for (size_t k = rest ? 0 : index; k < (rest ? sig->nprop : index + 1); k++)
            count_choices(&sig->prop[k], &n);
    }
    return n < FORMS_MAX ? n : FORMS_MAX;
}

static void fill_props(const Rule *r, size_t hole, size_t *form, Match *m) {
    size_t index = 0;
    bool rest = r->rest_hole[hole];
    const Pat *p = find_binder(r->lhs, hole, rest, &index);
    if (!p) return;
    m->bound[hole] = true;
    if (rest) {
        m->rest_op[hole] = p->op;
        m->rest[hole] = choose_rest(r, p->op, form);
    } else {
        m->prop[hole] = choose_prop(&op_signature(r->s, p->op)->prop[index], form);
    }
}

/* ---- both sides ---- */

static bool fill_match(const Rule *rule, size_t n, const Var *hole, size_t form,
                       Match *m) {
    size_t k = 0;
    *m = (Match){0};
    for (size_t i = 0; i < rule->nhole; i++) {
        if (rule->prop_hole[i] || rule->rest_hole[i]) {
            fill_props(rule, i, &form, m);
            continue;
        }
        if (k == n) return false;
        m->var[i] = hole[k++];
        m->bound[i] = true;
    }
    return k == n;
}

bool rule_sides(const Rule *rule, Graph *g, size_t n, const Var *hole, size_t form,
                Var *lhs, Var *rhs) {
    Rewriter r;
    Match m;
    uint32_t number = 0;
    RewriteOptions o = {0};
    size_t mark = diag_count(g->s);
    if (rule->broken || n == 0 || !fill_match(rule, n, hole, form, &m)) return false;
    rewriter_open(&r, g, NULL, &o, &number, FOR_SWEEPS);
    DType like = var_type(g, hole[0])->dtype;
    *lhs = rule_build(&r, rule, rule->lhs, &m, like);
    *rhs = *lhs == VAR_NONE ? VAR_NONE : rule_fire(&r, rule, *lhs);
    rewriter_forget(&r, mark);
    rewriter_close(&r);
    return *rhs != VAR_NONE;
}
