/* The clauses of the Op contract (contract.def) about running an Apply: kernels, their
 * storage, thunks. */
#define CLAUSE_run CLAUSE_RUN
#include "contract_graph.h"

#include <stdlib.h>

/* ---- kernels ---- */
static bool fill(Call *c, size_t i, double v) {
    const Tensor *x = call_in(c, 0);
    Tensor *r = call_out(c, i, x->ndim, x->shape);
    for (int64_t k = 0; r && k < tensor_size(r); k++)
        ((double *)r->data)[k] = v;
    return r != NULL;
}
static bool fill_1(Call *c) {
    return fill(c, 0, 1);
}
static bool fill_2(Call *c) {
    return fill(c, 0, 2);
}
static bool copy(Call *c) {
    const Tensor *x = call_in(c, c->nin - 1);
    Tensor *r = call_out(c, 0, x->ndim, x->shape);
    if (r) tensor_assign(r, x);
    return r != NULL;
}

static bool like(Infer *in) {
    for (size_t i = 0; i < in->nout; i++)
        in->out[i] = in->type[0];
    return true;
}

/* What the last run was given. */
static struct {
    bool right, fresh;
    const void *storage;
} seen;

/* Looks at all that it is given, and copies x. */
static bool look(Call *c) {
    const Apply *a = &c->g->apply[c->id];
    const Tensor *x = call_in(c, 0);
    Prop *by = &(Prop){.f = 0};
    *by = *op_prop(c->s, c->op, c->props, "by");
    seen.right = a->op == c->op && a->props == c->props && by->f == 2.5 &&
                 c->nin == a->nin && c->nout == a->nout && c->nout == 2 &&
                 c->out_type[0] == var_type(c->g, a->out) &&
                 c->out_type[1] == var_type(c->g, a->out + 1) &&
                 x->dtype == DT_FLOAT64 && tensor_f64(x, 1) == 2;
    seen.fresh = c->out[0].t.data == NULL;
    Tensor *r = call_out(c, 0, x->ndim, x->shape);
    if (!r) return false;
    seen.storage = r->data;
    tensor_assign(r, x);
    return fill(c, 1, 2);
}

static bool add_over(Call *c) {
    Tensor *r = call_over(c, 0, 0);
    for (int64_t k = 0; r && k < tensor_size(r); k++)
        ((double *)r->data)[k] += tensor_f64(call_in(c, 1), 0);
    return r != NULL;
}
static int over_first(const Graph *g, ApplyId a, size_t out) {
    (void)g, (void)a, (void)out;
    return 0;
}

static int ticks;
static bool tick(Call *c) {
    ticks++;
    return copy(c);
}

/* ---- thunks ---- */
static struct {
    int made, ran, freed;
    Impl impl;
    uint8_t before[2], after[2]; /* compute_map when asked, and when it was fulfilled */
    const void *in, *out;
    bool no_recycling;
} thunk;

static bool make(const Call *c, Impl impl, void **state) {
    (void)c;
    thunk.made++;
    thunk.impl = impl;
    *state = calloc(1, sizeof(int));
    return true;
}
static void end(void *state) {
    thunk.freed++;
    free(state);
}
/* Its number of runs, which only the state knows. */
static ThunkResult count(void *state, Call *c) {
    int *n = state;
    thunk.ran = ++*n;
    thunk.no_recycling = c->no_recycling[0];
    thunk.in = call_in(c, 0)->data;
    bool ok = fill(c, 0, *n);
    thunk.out = c->out[0].t.data;
    return ok ? THUNK_DONE : THUNK_FAILED;
}
/* Its second input, which it asks for. */
static ThunkResult second(void *state, Call *c) {
    (void)state;
    uint8_t *map = c->computed[1] == NOT_COMPUTED ? thunk.before : thunk.after;
    memcpy(map, c->computed, 2);
    if (c->computed[1] == NOT_COMPUTED) return c->need[1] = true, THUNK_NEEDS;
    return copy(c) ? THUNK_DONE : THUNK_FAILED;
}
static const Thunk counting = {.make = make, .run = count, .free = end};
static const Thunk lazy = {.lazy = true, .run = second};

static const Op rows[] = {
    {.name = "t_plain", .in = "x", .type = like, .perform = fill_1},
    {.name = "t_looks",
     .in = "x",
     .props = "by: float = 1.0",
     .out = "a, b",
     .type = like,
     .perform = look},
    {.name = "t_slow", .in = "x", .type = like, .perform = fill_1, .debug = fill_2},
    {.name = "t_over",
     .in = "x, y",
     .type = like,
     .perform = add_over,
     RARE(.destroys = over_first)},
    {.name = "t_tick", .in = "x", .type = like, .perform = tick},
    {.name = "t_count", .in = "x", .type = like, RARE(.thunk = &counting)},
    {.name = "t_lazy", .in = "x, y", .type = like, RARE(.thunk = &lazy)},
};

/* ---- graphs ---- */
static Graph *graph_of(const char *text, const char *outputs) {
    static const char *const in[][2] = {{"x", "float64[n]"}, {"y", "float64[n]"}};
    return graph_with(2, in, text, outputs);
}

static bool give(Machine *m, size_t i) {
    int64_t n = 2;
    Value v = {.kind = TYPE_TENSOR};
    tensor_new(s, DT_FLOAT64, 1, &n, &v.t);
    memcpy(v.t.data, (double[]){1, 2}, 16);
    bool ok = vm_set_input(m, i, &v);
    value_unref(&v);
    return ok;
}

/* The first elements of the outputs for x = y = [1, 2]; false: an error. */
static bool run(Graph *g, Impl impl, double *out) {
    Plan *p = plan_new(g, &(PlanOptions){.impl = impl});
    if (!p) return false;
    Machine *m = vm_new(p);
    bool ok = true;
    for (size_t i = 0; i < 2; i++)
        ok = ok && give(m, i);
    ok = ok && vm_run(m);
    for (size_t i = 0; ok && i < g->outputs.n; i++)
        out[i] = tensor_f64(&vm_output(m, i)->t, 0);
    vm_free(m);
    plan_free(p);
    return ok;
}

static void test_loops(void) {
    const Op *op = op_find(s, "sin", 3);
    Graph *g = graph_of("a = sin(x - 1)", "a");
    double r = 1;
    CHECK(op && op->pick && !op->perform);
    CHECK(g && run(g, IMPL_ANY, &r) && r == 0);
    graph_free(g);
}

static void test_node(void) {
    Graph *g = graph_of("a, b = t_looks(x, by=2.5)", "a, b");
    double r[2];
    seen.right = false;
    CHECK(run(g, IMPL_ANY, r) && seen.right && r[0] == 1 && r[1] == 2);
    graph_free(g);
}

/* The first run finds no storage, later ones what the earlier left; what the caller
 * keeps is not written over. */
static void test_storage(void) {
    Graph *g = graph_of("a, b = t_looks(x, by=2.5)", "a, b");
    Plan *p = plan_new(g, &(PlanOptions){0});
    Machine *m = vm_new(p);
    Value kept = {.kind = TYPE_NONE};
    CHECK(give(m, 0) && give(m, 1) && vm_run(m) && seen.fresh);
    const void *first = seen.storage;
    CHECK(vm_run(m) && seen.storage == first);
    value_copy_view(&kept, vm_output(m, 0));
    CHECK(vm_run(m) && seen.storage != kept.t.data && tensor_f64(&kept.t, 1) == 2);
    value_unref(&kept);
    vm_free(m);
    plan_free(p);
    graph_free(g);
}

/* Equal variables of which each is overwritten stay two, whatever else merges. */
static void test_apart(void) {
    Graph *g = graph_of("a = exp(x) * 2\nb = exp(x) * 2\nc = t_over(a, y)\n"
                        "d = t_over(b, x + y)\ne = exp(x)\nk = log(e)",
                        "c, d, k");
    double plain[3], after[3];
    CHECK(run(g, IMPL_ANY, plain), "%s", first_error());
    for (int fast = 0; fast < 2; fast++) {
        RewriteOptions o = {.query = {.mode = fast ? "FAST_RUN" : "FAST_COMPILE"}};
        Graph *h = rewrite_run(g, &o, NULL);
        CHECK(h && run(h, IMPL_ANY, after), "%s", first_error());
        for (int i = 0; i < 3; i++)
            CHECK(after[i] - plain[i] < 1e-12 && plain[i] - after[i] < 1e-12);
        for (ApplyId a = 0; h && a < h->napply; a++)
            CHECK(h->apply[a].serial == 0);
        if (h) graph_free(h);
    }
    graph_free(g);
}

/* ---- thunks ---- */
static void test_state(void) {
    Graph *g = graph_of("a = t_count(x)\nb = t_count(y)", "a, b");
    memset(&thunk, 0, sizeof thunk);
    Plan *p = plan_new(g, &(PlanOptions){0});
    Machine *m = vm_new(p);
    CHECK(give(m, 0) && give(m, 1));
    for (int i = 1; i <= 3; i++) {
        CHECK(vm_run(m) && thunk.made == 2 && thunk.ran == i && thunk.freed == 0);
        CHECK(tensor_f64(&vm_output(m, 0)->t, 0) == i);
    }
    vm_free(m);
    CHECK(thunk.freed == 2);
    plan_free(p);
    graph_free(g);
}

static bool after_first(void *ctx, size_t step, const Call *c, double seconds) {
    (void)seconds;
    if (step == 0) *(const void **)ctx = c->out[0].t.data;
    return true;
}

static void test_shared_cells(void) {
    Graph *g = graph_of("a = t_count(t_count(x))", "a");
    Plan *p = plan_new(g, &(PlanOptions){.no_inplace = true});
    Machine *m = vm_new(p);
    const void *made_at = NULL;
    VmHooks h = {.ctx = &made_at, .after = after_first};
    vm_set_hooks(m, &h);
    CHECK(give(m, 0) && give(m, 1) && vm_run(m));
    CHECK(made_at && thunk.in == made_at,
          "what the first made is what the second reads");
    vm_free(m);
    plan_free(p);
    graph_free(g);
}

/* y is not computed until it is asked for, and then it is. */
static void test_computed(void) {
    Graph *g = graph_of("a = t_lazy(t_tick(x), t_tick(y))", "a");
    double r;
    memset(&thunk, 0, sizeof thunk);
    ticks = 0;
    CHECK(run(g, IMPL_ANY, &r) && r == 1);
    CHECK(thunk.before[0] == NOT_COMPUTED && thunk.before[1] == NOT_COMPUTED);
    CHECK(thunk.after[0] == NOT_COMPUTED && thunk.after[1] == COMPUTED);
    CHECK(ticks == 1, "what is not asked for is not computed");
    CHECK(NOT_COMPUTED == 0 && COMPUTED == 1 && COLLECTED == 2);
    graph_free(g);
}

/* Does a value die, and its storage go to others, before the run ends? */
static bool collects(const Plan *p) {
    for (size_t i = 0; i < plan_vars(p); i++)
        if (plan_var(p, i).how == PLAN_OWN && plan_var(p, i).dies + 1 < plan_steps(p))
            return true;
    return false;
}

/* The first intermediate value is overwritten twice, and its storage is taken by
 * others, before a lazy op asks for what was made of it: still 1 + 1 + 1, and each ran
 * once. */
static void test_collected(void) {
    Graph *g =
        graph_of("k = t_tick(t_tick(t_tick(t_tick(x))))\na = t_over(t_over(k, y), y)\n"
                 "b = ifelse(x[0] > 0, t_tick(a * 1), t_tick(a + 100))\n"
                 "c = exp(log(exp(log(exp(log(y))))))\n"
                 "d = ifelse(x[0] > 0, b, t_tick(c))",
                 "d");
    double r = 0;
    for (int keep = 0; keep < 2; keep++) {
        Plan *p = plan_new(g, &(PlanOptions){.no_reuse = keep});
        CHECK(collects(p) == !keep);
        Machine *m = vm_new(p);
        ticks = 0;
        CHECK(give(m, 0) && give(m, 1) && vm_run(m));
        r = tensor_f64(&vm_output(m, 0)->t, 0);
        CHECK(r == 3 && ticks == 5, "%g in %d runs", r, ticks);
        vm_free(m);
        plan_free(p);
    }
    graph_free(g);
}

/* What a caller may keep is new each time; what is used up within the run is not. */
static void test_no_recycling(void) {
    double r;
    Graph *g = graph_of("a = t_count(x)", "a");
    CHECK(run(g, IMPL_ANY, &r) && thunk.no_recycling);
    graph_free(g);
    g = graph_of("a = sum(t_count(x))", "a");
    CHECK(run(g, IMPL_ANY, &r) && !thunk.no_recycling);
    graph_free(g);
}

static void test_thunk_impl(void) {
    Graph *g = graph_of("a = t_count(x)", "a");
    double r;
    CHECK(run(g, IMPL_FAST, &r) && thunk.impl == IMPL_FAST);
    CHECK(run(g, IMPL_DEBUG, &r) && thunk.impl == IMPL_DEBUG);
    CHECK(run(g, IMPL_ANY, &r) && thunk.impl == IMPL_ANY);
    graph_free(g);
}

static void test_no_perform(void) {
    double r;
    Graph *g = graph_of("a = t_count(x)", "a");
    CHECK(!op_find(s, "t_count", 7)->perform && run(g, IMPL_ANY, &r) && r == 1);
    graph_free(g);
}

static void test_impl(void) {
    Graph *g = graph_of("a = t_slow(x)\nb = t_plain(x)", "a, b");
    double r[2];
    CHECK(run(g, IMPL_ANY, r) && r[0] == 1 && r[1] == 1);
    CHECK(run(g, IMPL_DEBUG, r) && r[0] == 2);
    CHECK(r[1] == 1, "without a debug kernel it is the kernel");
    graph_free(g);
}

/* A new value goes where the update before left its own; the caller's array is never
 * written, nor one that somebody holds. */
static void test_shared(void) {
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    const Type *t = type_parse(s, "float64[?]", 10, NOWHERE);
    Var w = graph_shared(g, sym(s, "w"), t), one = const_number(&b, DT_FLOAT64, 1);
    vec_push(s, &g->updates, ((Update){w, op_call2(&b, "add", w, one)}));
    Plan *p = plan_new(g, &(PlanOptions){0});
    Machine *m = vm_new(p);
    int64_t n = 2;
    Value x = {.kind = TYPE_TENSOR}, held = {0}, longer = {.kind = TYPE_TENSOR};
    tensor_zeros(s, DT_FLOAT64, 1, &n, &x.t);
    CHECK(vm_set_shared(m, 0, &x) && vm_run(m));
    const void *storage = vm_shared(m, 0)->t.data;
    CHECK(storage != x.t.data && tensor_f64(&vm_shared(m, 0)->t, 1) == 1);
    ((double *)x.t.data)[1] = 10;
    CHECK(vm_set_shared(m, 0, &x) && vm_shared(m, 0)->t.data == storage);
    uint64_t used = buffer_bytes_used(s);
    CHECK(vm_run(m) && tensor_f64(&vm_shared(m, 0)->t, 1) == 11);
    CHECK(buffer_bytes_used(s) == used && tensor_f64(&x.t, 1) == 10);
    value_copy_view(&held, vm_shared(m, 0));
    CHECK(vm_set_shared(m, 0, &x) && vm_shared(m, 0)->t.data != held.t.data);
    CHECK(vm_run(m) && tensor_f64(&held.t, 1) == 11 && tensor_f64(&x.t, 1) == 10);
    n = 3;
    tensor_zeros(s, DT_FLOAT64, 1, &n, &longer.t);
    CHECK(vm_set_shared(m, 0, &longer) && vm_run(m));
    CHECK(vm_shared(m, 0)->t.shape[0] == 3 && tensor_f64(&longer.t, 2) == 0);
    storage = vm_shared(m, 0)->t.data;
    Value same = {0};
    value_copy_view(&same, vm_shared(m, 0));
    CHECK(vm_set_shared(m, 0, &same)); /* what it has already */
    value_unref(&same);
    CHECK(vm_run(m) && tensor_f64(&vm_shared(m, 0)->t, 2) == 2);
    value_unref(&held);
    value_unref(&longer);
    value_unref(&x);
    vm_free(m);
    plan_free(p);
    graph_free(g);
}

static void test_clauses(void) {
#include "contract.def"
}

int main(void) {
    contract_open(rows, sizeof rows / sizeof *rows);
    test_clauses();
    session_free(s);
    return TEST_END("contract_run");
}
