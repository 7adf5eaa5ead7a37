/* One instance of a rule: its sides as a graph, run and compared. */
#include "prove/prove_impl.h"
#include "vm/vm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- building ---- */

static int64_t size_of_dim(const Typing *t, int8_t dim) {
    return dim == DIM_ONE ? 1 : dim == DIM_REST ? -1 : t->size[dim];
}

static const Type *type_of_hole(const Instance *x, size_t i) {
    const Standing *h = &x->t->hole[i];
    Dim dim[RANKS];
    for (int k = 0; k < h->ndim; k++)
        dim[k] = size_of_dim(x->t, h->dim[k]);
    return type_tensor(x->p->s, h->dtype, h->ndim, dim);
}

/* A square matrix, or one with more rows than columns. */
static bool is_tall(const Type *t) {
    return t->ndim == 2 && t->dim[0] >= t->dim[1];
}

/* Guards may ask for more than a type. What is made of x @ x.T is as regular as x is,
 * if x is square; of others an orthogonal factor is. */
static Var build_made(Instance *x, Builder *b, size_t i) {
    const char *text = x->p->hole[i].made;
    Var v = x->input[i];
    bool ok = true;
    if (!text) return v;
    const Type *t = type_of_hole(x, i);
    bool square = t->ndim == 2 && t->dim[0] == t->dim[1];
    if (!dtype_is_inexact(t->dtype)) return VAR_NONE;
    if (!square && !(x->p->hole[i].tall && is_tall(t))) return VAR_NONE;
    Bind bind = {sym(x->p->s, "x"), v};
    v = template_build(b, text, &(Env){.n = 1, .bind = &bind}, &ok);
    return ok ? v : VAR_NONE;
}

static Var build_hole(Instance *x, Builder *b, size_t i) {
    Session *s = x->p->s;
    const Standing *h = &x->t->hole[i];
    Tensor t;
    x->input[i] = VAR_NONE;
    if (h->stand == STAND_VARIABLE) {
        x->input[i] = graph_input(x->g, x->p->hole[i].name, type_of_hole(x, i));
        return build_made(x, b, i);
    }
    if (h->stand == STAND_SIZES) {
        int64_t size[RANKS];
        for (int k = 0; k < h->ndim; k++)
            size[k] = size_of_dim(x->t, h->dim[k]);
        return const_ints(b, (size_t)h->ndim, size);
    }
    if (!points_constant(h->dtype, h->constant, &t, s)) return VAR_NONE;
    Var v = graph_const(x->g, &t, true);
    tensor_unref(&t);
    x->input[i] = v;
    return v;
}

bool instance_open(Prover *p, const Typing *t, Instance *x) {
    *x = (Instance){.p = p, .t = t, .g = graph_new(p->s)};
    Builder b = builder(x->g, true);
    bool ok = true;
    size_t mark = diag_count(p->s);
    for (size_t i = 0; ok && i < p->nhole; i++)
        ok = (x->hole[i] = build_hole(x, &b, i)) != VAR_NONE;
    ok = ok && rule_sides(p->rule, x->g, p->nhole, x->hole, t->form, &x->side[0],
                          &x->side[1]);
    for (size_t k = 0; ok && k < 2; k++) {
        vec_push(p->s, &x->g->outputs,
                 ((Output){sym(p->s, k ? "right" : "left"), x->side[k]}));
        ok = var_type(x->g, x->side[k])->kind == TYPE_TENSOR;
    }
    ok = prover_forget(p, mark) && ok;
    if (!ok) instance_close(x);
    return ok;
}

void instance_close(Instance *x) {
    graph_free(x->g);
    x->g = NULL;
}

/* ---- points ---- */

/* Inputs, and both results, row-major. */
typedef struct Trial {
    Instance *x;
    int round;
    Tensor in[HOLES], side[2];
} Trial;

static void trial_close(Trial *q) {
    for (size_t i = 0; i < HOLES; i++)
        tensor_unref(&q->in[i]);
    for (size_t k = 0; k < 2; k++)
        tensor_unref(&q->side[k]);
}

static bool set_inputs(Trial *q, Machine *m) {
    bool ok = true;
    size_t at = 0;
    for (size_t i = 0; ok && i < q->x->p->nhole; i++) {
        if (q->x->t->hole[i].stand != STAND_VARIABLE) continue;
        Value v = {.kind = TYPE_TENSOR, .t = q->in[i]};
        ok = vm_set_input(m, at++, &v);
    }
    return ok;
}

static bool make_inputs(Trial *q) {
    Instance *x = q->x;
    bool ok = true;
    for (size_t i = 0; ok && i < x->p->nhole; i++) {
        if (x->t->hole[i].stand != STAND_VARIABLE) continue;
        const Type *t = type_of_hole(x, i);
        ok = tensor_zeros(x->p->s, t->dtype, t->ndim, t->dim, &q->in[i]);
        if (ok) points_fill(x, i, &q->in[i], q->round);
    }
    return ok;
}

static void add_kind(const Tensor *t, int64_t i, PointKind *k) {
    double z[2];
    tensor_c128(t, i, z);
    k->nan |= isnan(z[0]) || isnan(z[1]);
    k->inf |= isinf(z[0]) || isinf(z[1]);
    k->zero |= z[0] == 0 && z[1] == 0;
    k->negative |= z[0] < 0;
}

/* at < 0: all elements. */
static PointKind point_kind(const Trial *q, int64_t at) {
    PointKind k = {0};
    for (size_t i = 0; i < q->x->p->nhole; i++) {
        const Tensor *t = &q->in[i];
        const Standing *h = &q->x->t->hole[i];
        if (h->stand == STAND_CONSTANT)
            add_kind(var_const(q->x->g, q->x->hole[i]), 0, &k);
        if (h->stand != STAND_VARIABLE) continue;
        int64_t n = at < 0 ? tensor_size(t) : at + 1;
        for (int64_t e = at < 0 ? 0 : at; e < n; e++)
            add_kind(t, e, &k);
    }
    return k;
}

static Pair pair_at(const Trial *q, int64_t i) {
    Pair v = {.dtype = q->side[0].dtype};
    tensor_c128(&q->side[0], i, v.l);
    tensor_c128(&q->side[1], i, v.r);
    v.exact = dtype_is_discrete(v.dtype) &&
              tensor_i64(&q->side[0], i) == tensor_i64(&q->side[1], i);
    return v;
}

/* ---- a counter-example ---- */

static void put_element(Session *s, const Tensor *t, int64_t i, Str *out) {
    tensor_element_text(s, t->dtype, (char *)t->data + (size_t)i * dtype_size(t->dtype),
                        out);
}

enum { SHOWN = 64 }; /* elements of an array */

static const char *kept_text(Session *s, Str *text) {
    const char *kept = arena_str(session_arena(s), str_text(text), text->n);
    str_free(text);
    return kept;
}

static CounterInput describe_input(const Trial *q, size_t i, int64_t at) {
    Session *s = q->x->p->s;
    const Tensor *c = var_const(q->x->g, q->x->hole[i]), *t = &q->in[i];
    Str value = STR(s);
    if (c)
        tensor_text(s, c, -1, &value);
    else if (q->x->t->dense)
        put_element(s, t, at, &value);
    else if (tensor_size(t) <= SHOWN)
        tensor_text(s, t, -1, &value);
    else
        str_puts(&value, "random");
    const char *type = c                ? ""
                       : q->x->t->dense ? dtype_name(t->dtype)
                                        : type_str(s, type_of_hole(q->x, i));
    return (CounterInput){.name = sym_text(s, q->x->p->hole[i].name),
                          .value = kept_text(s, &value),
                          .type = arena_str(session_arena(s), type, strlen(type))};
}

static CounterExample *describe_point(const Trial *q, int64_t at) {
    Prover *p = q->x->p;
    Arena *a = session_arena(p->s);
    CounterInput *input = NEW_N(a, p->nhole, CounterInput);
    CounterExample *c = NEW(a, CounterExample);
    for (size_t i = 0; i < p->nhole; i++)
        input[i] = describe_input(q, i, at);
    *c = (CounterExample){.ninput = p->nhole, .input = input, .at = -1};
    return c;
}

static const char *side_text(const Trial *q, size_t k, bool whole, int64_t at) {
    Session *s = q->x->p->s;
    Str text = STR(s);
    if (whole)
        tensor_text(s, &q->side[k], -1, &text);
    else
        put_element(s, &q->side[k], at, &text);
    return kept_text(s, &text);
}

/* Shows both sides whole, or one element that differs. */
static void refute(Trial *q, int64_t at) {
    Prover *p = q->x->p;
    if (prover_done(p)) return;
    bool whole = !q->x->t->dense;
    for (size_t k = 0; k < 2; k++)
        whole &= tensor_size(&q->side[k]) <= SHOWN;
    CounterExample *c = describe_point(q, at);
    c->left = side_text(q, 0, whole, at);
    c->right = side_text(q, 1, whole, at);
    if (!whole && !q->x->t->dense) c->at = at;
    p->counter = c;
}

/* ---- comparing ---- */

static void count_exemption(Trial *q, PointKind k) {
    q->x->p->domains &= domain_excluding(k);
}

static void count_agreement(Trial *q, double ulps) {
    q->x->p->worst = fmax(q->x->p->worst, ulps);
}

/* Elements that only bounds can judge. */
typedef Vec(int64_t) Open;

static void judge_with_bounds(Trial *q, const Open *open, Bound *const side[2],
                              bool dense) {
    Prover *p = q->x->p;
    for (size_t i = 0; i < open->n && !prover_done(p); i++) {
        int64_t at = open->p[i];
        PointKind k = point_kind(q, dense ? at : -1);
        Pair v = pair_at(q, at);
        double ulps = 0;
        const Bound *l = &side[0][dense ? (int64_t)i : at],
                    *r = &side[1][dense ? (int64_t)i : at];
        k.extreme = l->extreme || r->extreme;
        k.left_lost = !isfinite(v.l[0]) || !isfinite(v.l[1]);
        Judgement j = judge_bounds(p, &v, k, l, r, &ulps);
        if (j == DIFFERS) refute(q, at);
        if (j == EXEMPT) count_exemption(q, k);
        if (j == AGREES) count_agreement(q, ulps);
    }
}

static void judge_open(Trial *q, const Open *open) {
    Prover *p = q->x->p;
    bool dense = q->x->t->dense;
    Bound *side[2];
    Arena *a = arena_new(p->s);
    if (bound_sides(q->x, a, q->in, open->n, dense ? open->p : NULL, side))
        judge_with_bounds(q, open, side, dense);
    else
        refute(q, open->p[0]);
    arena_free(a);
}

static void judge_point(Trial *q, int64_t i, Open *open) {
    Prover *p = q->x->p;
    Pair v = pair_at(q, i);
    PointKind none = {0};
    double ulps = 0;
    bool zero_signs = false;
    /* most points agree, and then it doesn't matter of which kind they are */
    Judgement j = judge_values(p, &v, none, &ulps, &zero_signs);
    if (j == AGREES) {
        count_agreement(q, ulps);
        return;
    }
    PointKind k = point_kind(q, q->x->t->dense ? i : -1);
    k.left_lost = !isfinite(v.l[0]) || !isfinite(v.l[1]);
    /* of complex numbers, of which all inputs are finite */
    k.extreme = dtype_is_complex(v.dtype) &&
                (k.left_lost || !isfinite(v.r[0]) || !isfinite(v.r[1]));
    zero_signs = false;
    j = judge_values(p, &v, k, &ulps, &zero_signs);
    if (q->x->ordinary && j == ASK_BOUND) {
        j = judge_ordinary(&v, k, &ulps);
        if (j == AGREES) count_agreement(q, ulps);
    }
    p->sign_of_zero |= zero_signs && j == EXEMPT;
    if (j == EXEMPT && !zero_signs) count_exemption(q, k);
    if (j == DIFFERS) refute(q, i);
    if (j == ASK_BOUND) vec_push(p->s, open, i);
}

static void compare_sides(Trial *q) {
    Prover *p = q->x->p;
    Open open = {0};
    bool alike = tensor_same_shape(&q->side[0], &q->side[1]) &&
                 q->side[0].dtype == q->side[1].dtype;
    if (!alike) refute(q, 0);
    size_t size = dtype_size(q->side[0].dtype);
    for (int64_t i = 0; i < tensor_size(&q->side[0]) && !prover_done(p); i++) {
        size_t at = (size_t)i * size;
        const char *l = q->side[0].data, *r = q->side[1].data;
        p->points++;
        if (memcmp(l + at, r + at, size) != 0) judge_point(q, i, &open);
    }
    if (open.n && !prover_done(p)) judge_open(q, &open);
    vec_free(&open);
}

/* ---- running ---- */

static bool take_results(Trial *q, Machine *m) {
    bool ok = true;
    for (size_t k = 0; ok && k < 2; k++)
        ok = tensor_clone(q->x->p->s, &vm_output(m, k)->t, &q->side[k]);
    return ok;
}

/* Does the left side run without the right one? */
static bool left_runs(Trial *q) {
    Plan *plan =
        plan_new(q->x->g, &(PlanOptions){.nwant = 1, .want = q->x->side, .threads = 1});
    Machine *m = plan ? vm_new(plan) : NULL;
    bool ok = m && set_inputs(q, m) && vm_run(m);
    vm_free(m);
    plan_free(plan);
    return ok;
}

/* Where the left side fails, the rule may do as it likes. */
static void judge_failure(Trial *q, size_t mark) {
    Prover *p = q->x->p;
    const char *text =
        diag_count(p->s) > mark ? diag_get(p->s, mark)->text : "it fails";
    text = arena_str(session_arena(p->s), text, strlen(text));
    if (!prover_forget(p, mark)) return;
    if (left_runs(q)) {
        CounterExample *c = describe_point(q, 0);
        c->failure = text;
        p->counter = c;
    }
    prover_forget(p, mark);
}

static void try_round(Instance *x, Machine *m, int round) {
    Trial q = {.x = x, .round = round};
    Prover *p = x->p;
    size_t mark = diag_count(p->s);
    bool ok = make_inputs(&q);
    if (!ok) p->failed = true;
    if (ok && !(set_inputs(&q, m) && vm_run(m))) {
        judge_failure(&q, mark);
        ok = false;
    }
    if (ok && !take_results(&q, m)) {
        p->failed = true;
        ok = false;
    }
    if (ok) compare_sides(&q);
    trial_close(&q);
}

/* Are bounds known for this instance, if its class may need them? */
static bool has_bounds(Instance *x) {
    Tensor in[HOLES] = {0};
    Bound *side[2];
    Arena *a = arena_new(x->p->s);
    int64_t first = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < x->p->nhole; i++) {
        const Type *t = type_of_hole(x, i);
        if (x->t->hole[i].stand == STAND_VARIABLE)
            ok = tensor_zeros(x->p->s, t->dtype, t->ndim, t->dim, &in[i]);
    }
    ok = ok && bound_sides(x, a, in, 1, x->t->dense ? &first : NULL, side);
    for (size_t i = 0; i < HOLES; i++)
        tensor_unref(&in[i]);
    arena_free(a);
    return ok;
}

/* A failure counts where only inexact variables stand for the names: integers are
 * compared bit by bit anyhow, and a constant may be one that the rule itself has. Of
 * empty arrays nothing is learned. */
static void note_identity(Instance *x) {
    Prover *p = x->p;
    bool free = true, generic = true;
    for (size_t i = 0; i < p->nhole; i++) {
        const Standing *h = &x->t->hole[i];
        if (h->stand == STAND_SIZES) continue;
        bool inexact = dtype_is_inexact(h->dtype),
             variable = h->stand == STAND_VARIABLE;
        generic &= inexact && variable;
        free &= inexact && (variable || p->hole[i].constant);
        for (int k = 0; k < h->ndim; k++)
            if (size_of_dim(x->t, h->dim[k]) == 0) return;
    }
    if (!free) return;
    Identity found = exact_decide(x);
    p->certain += found == IDENTICAL;
    p->uncertain += found != IDENTICAL && generic;
}

/* What is made of a matrix may be as ill-conditioned as the matrix. */
static bool needs_regular(const Prover *p) {
    bool made = false;
    for (size_t i = 0; i < p->nhole; i++)
        made |= p->hole[i].made != NULL;
    return made;
}

void instance_try(Instance *x) {
    enum { ROUNDS = 4, ROUNDS_OF_FEW = 12, FEW = 2 };
    Prover *p = x->p;
    size_t mark = diag_count(p->s);
    DType d = var_type(x->g, x->side[0])->dtype;
    x->ordinary = p->promise != PROMISE_EXACT && dtype_is_inexact(d) &&
                  (needs_regular(p) || !has_bounds(x));
    if (p->uncertain == 0 && !p->failed) note_identity(x);
    if (p->failed) return;
    int64_t size = type_size(var_type(x->g, x->side[0]));
    int rounds = x->t->dense ? 1 : size >= FEW ? ROUNDS : ROUNDS_OF_FEW;
    Plan *plan = plan_new(x->g, &(PlanOptions){.threads = 1, .no_fuse = true});
    Machine *m = plan ? vm_new(plan) : NULL;
    if (!m) p->failed = true;
    for (int k = 0; m && k < rounds && !prover_done(p); k++)
        try_round(x, m, k);
    vm_free(m);
    plan_free(plan);
    p->typings++;
    for (size_t i = 0; i < p->nhole; i++)
        if (x->t->hole[i].stand != STAND_SIZES)
            p->dtypes |= UINT64_C(1) << x->t->hole[i].dtype;
    if (!p->failed) prover_forget(p, mark);
}
