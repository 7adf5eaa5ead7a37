/* Matches a rule's left side at a variable. A list of goals is solved from left to
 * right; a commutative op is a choice point, so a later failure (a second occurrence of
 * a name, a guard) backtracks and tries the other order. */
#include "rewrite/rewrite_impl.h"

#include <string.h>

typedef struct MatchGoal {
    const Pat *p;
    Var v;
    const struct MatchGoal *next;
} MatchGoal;

/* ---- constants ---- */

/* Are all n elements of `size` bytes identical? */
static bool bytes_repeat(const char *p, size_t n, size_t size) {
    return n <= 1 || memcmp(p, p + size, (n - 1) * size) == 0;
}

static bool tensor_is_uniform(const Tensor *t) {
    int64_t n = tensor_size(t);
    if (n == 0) return false;
    bool one = true; /* one element, however often it is repeated */
    for (int i = 0; i < t->ndim; i++)
        one &= t->shape[i] == 1 || t->stride[i] == 0;
    if (one) return true;
    return tensor_is_contiguous(t) &&
           bytes_repeat(t->data, (size_t)n, dtype_size(t->dtype));
}

/* The first element as a complex number; integers beyond 2^53 are compared
 * elsewhere. */
static void first_element_complex(const Tensor *t, double *re, double *im) {
    double z[2] = {0, 0};
    if (t->dtype == DT_FLOAT64)
        memcpy(z, t->data, sizeof *z);
    else
        tensor_cast_elements(DT_COMPLEX128, z, t->dtype, t->data, 1, 16, 16);
    *re = z[0];
    *im = z[1];
}

static bool is_same_number(double a, double b) {
    if (a != a || b != b) return a != a && b != b;
    return a == b && __builtin_signbit(a) == __builtin_signbit(b);
}

static const double often[] = {0, -0.0, 1, -1, 2, 3, 0.5};

unsigned match_number_class(double re, double im) {
    for (unsigned i = 0; im == 0 && i < sizeof often / sizeof *often; i++)
        if (is_same_number(re, often[i])) return i + 1;
    return 0;
}

static uint8_t class_of_first_element(const Tensor *t) {
    double re, im;
    first_element_complex(t, &re, &im);
    return (uint8_t)match_number_class(re, im);
}

const void *rewriter_uniform(Rewriter *r, Var v) {
    const Tensor *t = var_const(r->g, v);
    if (!t || r->uniform[v] == 1) return NULL;
    if (r->uniform[v] == 0)
        r->uniform[v] = tensor_is_uniform(t) ? 2 + class_of_first_element(t) : 1;
    return r->uniform[v] > 1 ? t->data : NULL;
}

unsigned match_class_of(Rewriter *r, Var v) {
    return rewriter_uniform(r, v) ? r->uniform[v] - 2U : 0;
}

bool rewriter_is_number(Rewriter *r, Var v, double x) {
    if (!rewriter_uniform(r, v)) return false;
    double re, im;
    first_element_complex(var_const(r->g, v), &re, &im);
    return is_same_number(re, x) && im == 0;
}

/* The literal rounded to a float dtype, as a literal in the user's text would be. */
static double round_to_dtype(DType d, double v) {
    DType real = dtype_real(d);
    if (real == DT_FLOAT32) return (double)(float)v;
    double out = v;
    if (real == DT_FLOAT16) {
        uint16_t h;
        tensor_cast_elements(DT_FLOAT16, &h, DT_FLOAT64, &v, 1, 2, 8);
        tensor_cast_elements(DT_FLOAT64, &out, DT_FLOAT16, &h, 1, 8, 2);
    }
    return out;
}

static bool is_same_integer(const Tensor *t, const Pat *p) {
    if (p->lit > K_INT) return false;
    uint64_t u = p->negative ? 0 - p->u : p->u;
    if (p->negative && p->u && dtype_kind(t->dtype) == K_UINT) return false;
    if (p->u > INT64_MAX && dtype_kind(t->dtype) != K_UINT) return false;
    return (uint64_t)tensor_i64(t, 0) == u;
}

/* Numbers that occur often are the same in each dtype, but 0 of integers is both of
 * floats' zeros. */
unsigned match_literal_class(const Pat *p) {
    return p->negative && p->re == 0 ? 0 : match_number_class(p->re, p->im);
}

bool match_literal(Rewriter *r, const Pat *p, Var v) {
    if (!rewriter_uniform(r, v)) return false;
    const Tensor *t = var_const(r->g, v);
    if (p->lit == K_BOOL && t->dtype != DT_BOOL) return false;
    if (dtype_is_integer(t->dtype)) return is_same_integer(t, p);
    double re, im;
    first_element_complex(t, &re, &im);
    return is_same_number(re, round_to_dtype(t->dtype, p->re)) &&
           (im == p->im || is_same_number(im, round_to_dtype(t->dtype, p->im)));
}

/* ---- props ---- */

static bool prop_equal(Session *s, const Prop *a, const Prop *b) {
    if (a->kind != b->kind) return false;
    if (a->kind == P_INTS) return props_intern(s, 1, a) == props_intern(s, 1, b);
    if (a->kind == P_STR || a->kind == P_GRAPH) return a->sym == b->sym;
    if (a->kind == P_FLOAT) return is_same_number(a->f, b->f);
    return a->kind == P_NONE || a->i == b->i;
}

/* A pattern may count an axis from the end; Applies store it from the front. */
static bool is_same_axis(int64_t want, int64_t have, int ndim) {
    return want == have || (want < 0 && want + ndim == have);
}

static bool prop_fits(MatchSearch *s, const PatProp *p, const Prop *have, int ndim) {
    if (p->is_hole) {
        if (s->m->bound[p->hole])
            return prop_equal(s->r->s, &s->m->prop[p->hole], have);
        s->m->prop[p->hole] = *have;
        return true;
    }
    const Prop *want = &p->value;
    if (want->kind != have->kind) return false;
    if (want->kind == P_INT) return is_same_axis(want->i, have->i, ndim);
    if (want->kind != P_INTS) return prop_equal(s->r->s, want, have);
    bool ok = want->ints.n == have->ints.n;
    for (size_t i = 0; ok && i < want->ints.n; i++)
        ok = is_same_axis(want->ints.p[i], have->ints.p[i], ndim);
    return ok;
}

static const PatProp *find_pattern_prop(const Pat *p, size_t index) {
    for (size_t i = 0; i < p->nprop; i++)
        if (p->prop[i].index == index) return &p->prop[i];
    return NULL;
}

/* Binds the props that the pattern mentions. Props are matched before inputs and are no
 * choice points, so their bindings need undoing only when the match as a whole
 * fails. */
bool match_props(MatchSearch *s, const Pat *p, const Apply *a) {
    if (p->defaults && p->rest < 0) return a->props == p->defaults;
    const Signature *sig = op_signature(s->r->s, p->op);
    const Type *t = a->nin ? var_type(s->r->g, s->r->g->in[a->in]) : NULL;
    int ndim = t && t->kind == TYPE_TENSOR ? t->ndim : 0;
    for (size_t i = 0; i < sig->nprop; i++) {
        const PatProp *want = find_pattern_prop(p, i);
        const Prop *have = &a->props->p[i];
        bool ok = want          ? prop_fits(s, want, have, ndim)
                  : p->rest < 0 ? prop_equal(s->r->s, have, &sig->prop[i].value)
                                : true;
        if (!ok) return false;
    }
    return true;
}

/* A **p used twice must bind equal props. */
bool match_bind_rest(MatchSearch *s, const Pat *p, const Apply *a) {
    if (p->rest < 0) return true;
    Match *m = s->m;
    if (m->bound[p->rest])
        return m->rest_op[p->rest] == a->op && m->rest[p->rest] == a->props;
    m->rest_op[p->rest] = a->op;
    m->rest[p->rest] = a->props;
    return true;
}

static void set_bound(Match *m, uint32_t set, bool bound) {
    for (; set; set &= set - 1)
        m->bound[__builtin_ctz(set)] = bound;
}

/* Sets or clears the prop holes that this pattern is the first to bind. */
uint32_t match_mark_props(MatchSearch *s, const Pat *p) {
    uint32_t set = 0;
    for (size_t i = 0; i < p->nprop; i++)
        if (p->prop[i].is_hole && !s->m->bound[p->prop[i].hole])
            set |= UINT32_C(1) << p->prop[i].hole;
    if (p->rest >= 0 && !s->m->bound[p->rest]) set |= UINT32_C(1) << p->rest;
    set_bound(s->m, set, true);
    return set;
}

void match_unmark_props(MatchSearch *s, uint32_t set) {
    set_bound(s->m, set, false);
}

/* ---- goals ---- */

static bool solve_goals(MatchSearch *s, const MatchGoal *g);

/* Returns false. */
static bool goal_failed(const MatchSearch *s, const MatchGoal *g, const char *what) {
    if (s->r->asked) why_node_failed(s->r, g->p, g->v, what);
    return false;
}

static bool solve_hole(MatchSearch *s, const MatchGoal *g) {
    uint16_t h = g->p->hole;
    if (s->m->bound[h])
        return s->m->var[h] == g->v
                   ? solve_goals(s, g->next)
                   : goal_failed(s, g,
                                 "the name stands for another expression already");
    if (!s->r->asked && !guard_all_hold(s->r, s->rule->by_type[h], g->v)) return false;
    s->m->var[h] = g->v;
    s->m->bound[h] = true;
    if (solve_goals(s, g->next)) return true;
    s->m->bound[h] = false;
    return false;
}

/* Pushes the inputs as goals before the remaining ones. */
static bool solve_inputs(MatchSearch *s, const MatchGoal *g, const Var *in) {
    MatchGoal goals[8];
    const MatchGoal *next = g->next;
    size_t n = g->p->nin;
    for (size_t k = n; k-- > 0;) {
        goals[k] = (MatchGoal){g->p->in[k], in[k], next};
        next = &goals[k];
    }
    return solve_goals(s, next);
}

static bool solve_orders(MatchSearch *s, const MatchGoal *g, const Apply *a) {
    Var in[8];
    for (size_t i = 0; i < a->nin; i++)
        in[i] = rewriter_resolve(s->r, s->r->g->in[a->in + i]);
    if (solve_inputs(s, g, in)) return true;
    if (!a->op->comm || a->nin != 2 || in[0] == in[1]) return false;
    Var swapped[2] = {in[1], in[0]};
    return solve_inputs(s, g, swapped);
}

/* Is v the result of an Apply with the pattern's op and arity? */
bool match_op(const Pat *p, const Apply *a, Var v) {
    return a->op == p->op && a->nin == p->nin && !a->serial &&
           (p->picks ? v == a->out + p->out : a->nout == 1);
}

static bool solve_apply(MatchSearch *s, const MatchGoal *g) {
    ApplyId id = var_owner(s->r->g, g->v);
    if (id == APPLY_NONE) return goal_failed(s, g, "it wants the result of an op");
    const Apply *a = &s->r->g->apply[id];
    if (a->op != g->p->op) return goal_failed(s, g, "it wants another op");
    if (!match_op(g->p, a, g->v) || a->nin > 8)
        return goal_failed(s, g, "the op has other inputs or outputs than it wants");
    if (!match_props(s, g->p, a) || !match_bind_rest(s, g->p, a))
        return goal_failed(s, g, "it wants other properties");
    for (size_t i = 0; s->rule->parts && i < s->rule->nguard; i++)
        if (s->rule->guard[i].arg[0] == g->p) s->m->part[i] = g->v;
    uint32_t set = match_mark_props(s, g->p);
    if (solve_orders(s, g, a)) return true;
    match_unmark_props(s, set);
    return false;
}

static bool rule_guard_holds(const MatchSearch *s, size_t i) {
    const Guard *g = &s->rule->guard[i];
    if (g->early && !s->r->asked) return true;
    return guard_holds(s->r, g, s->m, g->part ? s->m->part[i] : VAR_NONE);
}

static bool solve_goals(MatchSearch *s, const MatchGoal *g) {
    if (!g) {
        for (size_t i = 0; i < s->rule->nguard; i++)
            if (!rule_guard_holds(s, i)) {
                if (s->r->asked) why_guard_failed(s->r, i, s->m);
                return false;
            }
        return true;
    }
    switch (g->p->kind) {
    case PAT_HOLE:
        return solve_hole(s, g);
    case PAT_LITERAL:
        return match_literal(s->r, g->p, g->v)
                   ? solve_goals(s, g->next)
                   : goal_failed(s, g, "it wants a constant with this value");
    case PAT_APPLY:
        return solve_apply(s, g);
    }
    return false;
}

bool rule_match(Rewriter *r, const Rule *rule, Var v, Match *m) {
    MatchSearch s = {r, rule, m};
    if (rule->broken) return false;
    memset(m->bound, 0, sizeof m->bound);
    MatchGoal root = {rule->lhs, v, NULL};
    return solve_goals(&s, &root);
}
