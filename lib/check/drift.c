/* How far rounding takes a variable of a graph. Its part of the graph runs again, each
 * value moved by a last digit when it is computed, and so are the inputs of whatever
 * adds up many terms: a right computation in the same arithmetic could have given each
 * of these results. Where nothing cancels they are as near to each other as ever; where
 * terms cancel, a loop amplifies what it gets or a comparison meets rounding noise,
 * they tell which differences mean nothing.
 *
 * Numbers of few digits, such as 3.0 or 0.25, are most likely exact, and so are results
 * that only move elements or choose among them: these stay, or each comparison of
 * exactly equal numbers could go either way. */
#include "check/drift.h"

#include "value/class.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* How many runs there are at most, whose directions differ; and the number of last
 * digits that a right computation may be off at each value. Kernels work out float16 in
 * float32, and round once: there, before and after are off to different sides at most.
 */
enum { RUNS = 24, LAST_DIGITS = 16, LAST_DIGITS_OF_HALF = 2 };

typedef struct Saved {
    Tensor where, was;
} Saved;
typedef struct Drift {
    Session *s;
    Arena *a;
    const DriftOf *of;
    Graph *g;
    VarList given; /* variables of of->g that are inputs of g, in their order */
    Plan *plan;
    int run;        /* 0: nothing is moved */
    uint64_t moves; /* so far in this run */
    Vec(Saved) saved;
} Drift;

/* ---- the part of the graph ---- */

static bool is_inexact_tensor(const Type *t) {
    return t->kind == TYPE_TENSOR && dtype_is_inexact(t->dtype);
}

/* Constants of floats are inputs, so that they can be moved, too. */
static bool becomes_input(const Drift *d, Var v) {
    const Graph *g = d->of->g;
    LeafKind leaf = var_leaf(g, v);
    if (d->of->stop && d->of->stop[v]) return true;
    return leaf == LEAF_INPUT || leaf == LEAF_SHARED ||
           (leaf == LEAF_CONST && is_inexact_tensor(var_type(g, v)));
}

/* Marks what the variable needs, up to what becomes an input. */
static void mark_part(const Drift *d, uint8_t *need) {
    const Graph *g = d->of->g;
    need[d->of->v] = 1;
    for (ApplyId a = g->napply; a-- > 0;) {
        bool any = false;
        for (Var k = 0; k < g->apply[a].nout; k++)
            any |= need[g->apply[a].out + k] && !becomes_input(d, g->apply[a].out + k);
        for (uint32_t i = 0; any && i < g->apply[a].nin; i++)
            need[apply_in(g, a)[i]] = 1;
    }
}

static bool copy_part(Drift *d) {
    const Graph *g = d->of->g;
    Var *map = graph_import_map(g, d->a, NULL), want = d->of->v;
    uint8_t *need = NEW_N(d->a, g->nvar, uint8_t);
    d->given.p = arena_alloc(d->a, (g->nvar + 1) * sizeof *d->given.p);
    d->g = graph_new(d->s);
    d->g->floatX = g->main->floatX;
    mark_part(d, need);
    for (Var v = 0; v < g->nvar; v++) {
        char name[24];
        if (!need[v] || !becomes_input(d, v)) continue;
        snprintf(name, sizeof name, "given%u", (unsigned)v);
        map[v] = graph_input(d->g, sym(d->s, name), var_type(g, v));
        ((Var *)(uintptr_t)d->given.p)[d->given.n++] = v;
    }
    if (map[want] != VAR_NONE ||
        !graph_import(d->g, g, (VarList){1, &want}, false, map))
        return false;
    vec_push(d->s, &d->g->outputs, ((Output){sym(d->s, "result"), map[want]}));
    PlanOptions how = {.no_fuse = true,
                       .no_code = true,
                       .no_inplace = true,
                       .no_updates = true,
                       .debugging = true,
                       .threads = 1};
    d->plan = plan_new(d->g, &how);
    return d->plan != NULL;
}

/* ---- moving ---- */

static double epsilon_of(DType d) {
    DType real = dtype_real(d);
    return real == DT_FLOAT16   ? 0x1p-10
           : real == DT_FLOAT32 ? (double)FLT_EPSILON
                                : DBL_EPSILON;
}

/* Is the second half of its digits all zeros? */
static bool has_few_digits(double x, DType d) {
    DType real = dtype_real(d);
    int digits = real == DT_FLOAT16 ? 6 : real == DT_FLOAT32 ? 12 : 26, e;
    double m = ldexp(frexp(x, &e), digits);
    return !isfinite(x) || m == floor(m);
}

static void move_elements(Drift *d, Tensor *t) {
    double by = epsilon_of(t->dtype), z[2];
    size_t size = dtype_size(t->dtype);
    char *p = t->data;
    uint64_t salt = hash_mix((uint64_t)d->run, ++d->moves);
    for (int64_t i = 0, n = tensor_size(t); i < n; i++, p += size) {
        uint64_t way = drift_way(salt, (uint64_t)i);
        tensor_cast_elements(DT_COMPLEX128, z, t->dtype, p, 1, 16, 0);
        for (int k = 0; k < 2; k++)
            if (!has_few_digits(z[k], t->dtype)) z[k] *= way >> k & 1 ? 1 + by : 1 - by;
        tensor_cast_elements(t->dtype, p, DT_COMPLEX128, z, 1, (ptrdiff_t)size, 0);
    }
}

/* Of elements that several indices share, one. */
static Tensor without_repeats(const Tensor *t) {
    Tensor r = *t;
    for (int k = 0; k < r.ndim; k++)
        if (r.stride[k] == 0 && r.shape[k] > 1) r.shape[k] = 1;
    return r;
}

/* Moves a tensor in its place; `keep`: what it was is to come back. */
static bool move_tensor(Drift *d, const Tensor *t, bool keep) {
    Tensor where = without_repeats(t), new;
    if (!dtype_is_inexact(t->dtype) || !t->data || tensor_size(t) == 0) return true;
    if (!tensor_clone(d->s, &where, &new)) return false;
    if (keep) {
        Saved saved = {.where = where};
        if (!tensor_clone(d->s, &where, &saved.was)) return tensor_unref(&new), false;
        saved.where.buf = NULL; /* borrowed */
        vec_push(d->s, &d->saved, saved);
    }
    move_elements(d, &new);
    tensor_assign(&where, &new);
    tensor_unref(&new);
    return true;
}

/* ---- which ops round ---- */

static bool runs_a_function(const Props *p) {
    bool any = false;
    for (size_t i = 0; i < p->n; i++)
        any |= p->p[i].kind == P_GRAPH;
    return any;
}

/* What its values are, its inputs have among them, or whole numbers. */
static bool only_chooses(const Op *op) {
    static const char *const names[] = {"sign",
                                        "floor",
                                        "ceil",
                                        "trunc",
                                        "round",
                                        "max",
                                        "min",
                                        "maximum",
                                        "minimum",
                                        "clip",
                                        "where",
                                        "max_where",
                                        "min_where",
                                        "running_max",
                                        "running_min",
                                        "max_pool",
                                        "max_pool_positions",
                                        "max_pool_gather",
                                        "integers",
                                        "permutation",
                                        "float_exponent"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(op->name, names[i]) == 0) return true;
    return false;
}

static bool rounds(const Call *c) {
    const Op *op = c->op;
    return !op->identity && !(op->flops && strcmp(op->flops, "0") == 0) &&
           !runs_a_function(c->props) && !only_chooses(op);
}

/* An elementwise op rounds its result alone. */
static bool adds_up(const Call *c) {
    return rounds(c) && !c->op->pick;
}

static bool before_step(void *ctx, size_t step, const Call *c) {
    Drift *d = ctx;
    (void)step;
    for (size_t i = 0; adds_up(c) && i < c->nin; i++)
        if (c->in[i]->kind == TYPE_TENSOR &&
            var_leaf(c->g, apply_in(c->g, c->id)[i]) != LEAF_CONST &&
            !move_tensor(d, &c->in[i]->t, true))
            return false;
    return true;
}

static void restore_inputs(Drift *d) {
    while (d->saved.n) {
        Saved *s = &d->saved.p[--d->saved.n];
        tensor_assign(&s->where, &s->was);
        tensor_unref(&s->was);
    }
}

static bool after_step(void *ctx, size_t step, const Call *c, double seconds) {
    Drift *d = ctx;
    (void)step, (void)seconds;
    restore_inputs(d);
    for (size_t i = 0; rounds(c) && i < c->nout; i++)
        if (c->out[i].kind == TYPE_TENSOR && op_view(c->g, c->id, i) < 0 &&
            !move_tensor(d, &c->out[i].t, false))
            return false;
    return true;
}

/* ---- runs ---- */

/* A copy of each input, because runs write to them. */
static bool give_inputs(Drift *d, Machine *m) {
    const DriftOf *of = d->of;
    const Graph *g = of->g;
    for (uint32_t i = 0; i < g->nleaf; i++) {
        Value n;
        if (var_leaf(g, g->leaf[i].var) == LEAF_DIM &&
            of->value(of->ctx, g->leaf[i].var, &n))
            vm_set_dim(m, g->leaf[i].name, tensor_i64(&n.t, 0));
    }
    for (size_t i = 0; i < d->given.n; i++) {
        Value have = {0}, mine = {0};
        const Value *fixed = var_leaf(g, d->given.p[i]) == LEAF_CONST
                                 ? var_leafrec(g, d->given.p[i])->value
                                 : NULL;
        if (fixed)
            have = *fixed;
        else if (!of->value(of->ctx, d->given.p[i], &have))
            return false;
        if (have.kind != TYPE_TENSOR) {
            if (!vm_set_input(m, i, &have)) return false;
            continue;
        }
        mine.kind = TYPE_TENSOR;
        if (!tensor_clone(d->s, &have.t, &mine.t)) return false;
        bool ok = vm_set_input(m, i, &mine);
        value_unref(&mine);
        if (!ok) return false;
    }
    return true;
}

/* The result as a copy. */
static bool run_moved(Drift *d, int run, Tensor *out) {
    const VmHooks hooks = {
        .ctx = d, .before = before_step, .after = after_step, .untimed = true};
    Machine *m = vm_new(d->plan);
    d->run = run;
    d->moves = 0;
    if (run) vm_set_hooks(m, &hooks);
    bool ok = give_inputs(d, m) && vm_run(m) && vm_output(m, 0)->kind == TYPE_TENSOR &&
              tensor_clone(d->s, &vm_output(m, 0)->t, out);
    while (d->saved.n) /* of a run that failed */
        tensor_unref(&d->saved.p[--d->saved.n].was);
    vm_free(m);
    return ok;
}

static double distance(const Tensor *a, const Tensor *b, int64_t i) {
    double x[2], y[2];
    size_t at = (size_t)i * dtype_size(a->dtype);
    tensor_cast_elements(DT_COMPLEX128, x, a->dtype, (char *)a->data + at, 1, 16, 0);
    tensor_cast_elements(DT_COMPLEX128, y, b->dtype, (char *)b->data + at, 1, 16, 0);
    return hypot(x[0] - y[0], x[1] - y[1]);
}

static bool is_like(const Tensor *a, const Tensor *b) {
    return a->dtype == b->dtype && tensor_same_shape(a, b);
}

/* Another run: far[i] is how far element i has gone in any of them. */
static void measure_far(Drift *d, int run, const Tensor *still, double *far) {
    Tensor t = {0};
    size_t mark = diag_count(d->s);
    bool ok = run_moved(d, run, &t) && is_like(still, &t);
    for (int64_t i = 0; ok && i < tensor_size(still); i++) {
        double now = distance(still, &t, i);
        if (isfinite(now)) far[i] = fmax(far[i], now);
    }
    tensor_unref(&t);
    diag_rewind(d->s, mark);
}

static bool is_element_near(const Tensor *a, const Tensor *b, int64_t i, double far,
                            Approx how) {
    Tensor p = *a, q = *b;
    size_t at = (size_t)i * dtype_size(a->dtype);
    p.ndim = q.ndim = 0;
    p.data = (char *)a->data + at;
    q.data = (char *)b->data + at;
    int digits = a->dtype == DT_FLOAT16 ? LAST_DIGITS_OF_HALF : LAST_DIGITS;
    return tensor_approx(&p, &q, how, NULL) || distance(a, b, i) <= digits * far;
}

static bool are_elements_near(const Tensor *a, const Tensor *b, const double *far,
                              Approx how) {
    bool ok = true;
    for (int64_t i = 0; ok && i < tensor_size(a); i++)
        ok = is_element_near(a, b, i, far[i], how);
    return ok;
}

/* What gives another result each time is wrong, however far that goes. */
static bool repeats(Drift *d, const Tensor *still) {
    Tensor again = {0};
    bool ok = run_moved(d, 0, &again) && is_like(still, &again) &&
              memcmp(still->data, again.data, tensor_bytes(still)) == 0;
    tensor_unref(&again);
    return ok;
}

static bool is_near(Drift *d, const Tensor *want, const Tensor *got, Approx how) {
    Tensor still = {0}, first = {0}, other = {0};
    bool ok = run_moved(d, 0, &still) && is_like(&still, want) && is_like(want, got) &&
              repeats(d, &still) && tensor_clone(d->s, want, &first) &&
              tensor_clone(d->s, got, &other);
    double *far = ok ? NEW_N(d->a, (size_t)tensor_size(&still) + 1, double) : NULL;
    bool near = false;
    for (int run = 1; ok && !near && run <= RUNS; run++) {
        measure_far(d, run, &still, far);
        near = are_elements_near(&first, &other, far, how);
    }
    tensor_unref(&still);
    tensor_unref(&first);
    tensor_unref(&other);
    return near;
}

/* What a plugin's kernel does to its results tells nothing of rounding. */
static bool has_plugin(const Graph *g) {
    bool any = false;
    for (ApplyId a = 0; a < g->napply; a++)
        any |= g->apply[a].op->plugin != NULL;
    for (size_t i = 0; g->main == g && i < g->functions.n; i++)
        any |= has_plugin(g->functions.p[i]);
    return any;
}

bool drift_explains(Session *s, const DriftOf *of, const Value *want, const Value *got,
                    Approx how) {
    Drift d = {.s = s, .a = arena_new(s), .of = of};
    size_t mark = diag_count(s);
    bool ok = want->kind == TYPE_TENSOR && got->kind == TYPE_TENSOR && want->t.data &&
              got->t.data && dtype_is_inexact(got->t.dtype) && copy_part(&d) &&
              !has_plugin(d.g) && is_near(&d, &want->t, &got->t, how);
    diag_rewind(s, mark);
    plan_free(d.plan);
    if (d.g) graph_free(d.g);
    vec_free(&d.saved);
    arena_free(d.a);
    return ok;
}
