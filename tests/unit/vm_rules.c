/* The rules of the VM for updates, outputs, dims, memory and errors, one by one. */
#include "value/object.h"
#include "vm_test.h"

#include <math.h>

/* ---- single rules ---- */
static Value numbers(Session *s, DType d, int ndim, const int64_t *shape,
                     const double *v) {
    Tensor f, t;
    tensor_new(s, DT_FLOAT64, ndim, shape, &f);
    if (v) memcpy(f.data, v, (size_t)tensor_size(&f) * sizeof *v);
    tensor_cast(s, &f, d, &t);
    tensor_unref(&f);
    return (Value){.kind = TYPE_TENSOR, .t = t};
}
static Value vec(Session *s, int64_t n, const double *v) {
    return numbers(s, DT_FLOAT64, 1, &n, v);
}
static Value scalar(Session *s, double v) {
    return numbers(s, DT_FLOAT64, 0, NULL, &v);
}
static void add_output(Graph *g, const char *label, Var v) {
    Output o = {sym(g->s, label), v};
    vec_push(g->s, &g->outputs, o);
}
static void add_update(Graph *g, Var shared, Var v) {
    Update u = {shared, v};
    vec_push(g->s, &g->updates, u);
}
static const Type *f64(Session *s, Dim d) {
    return type_tensor(s, DT_FLOAT64, 1, &d);
}
static void expect_error(Session *s, bool ok, DiagCode code, const char *text) {
    const Diag *d = diag_first_error(s);
    CHECK(!ok && d && d->code == code, "%s", d ? d->text : "no error");
    if (d) CHECK_STR(d->text, text);
    CHECK(diag_count(s) == 1);
    diag_clear(s);
}

/* a <- b, b <- a, outputs of old values, and an output kept over the next call. */
static void test_swap(Session *s) {
    Graph *g = graph_new(s);
    const Type *t = type_scalar(s, DT_FLOAT64);
    Builder b = builder(g, false);
    Var a = graph_shared(g, sym(s, "a"), t), c = graph_shared(g, sym(s, "b"), t);
    add_output(g, "a", a);
    add_output(g, "sum",
               ap(&b, "add", 2, (Var[]){a, const_number(&b, DT_FLOAT64, 10)}));
    add_update(g, a, c);
    add_update(g, c, a);
    Plan *p = plan_new(g, &(PlanOptions){0});
    Machine *m = vm_new(p);
    Value one = scalar(s, 1), two = scalar(s, 2), kept = {0};
    vm_set_shared(m, 0, &one);
    vm_set_shared(m, 1, &two);
    CHECK(vm_run(m));
    CHECK(tensor_f64(&vm_shared(m, 0)->t, 0) == 2 &&
          tensor_f64(&vm_shared(m, 1)->t, 0) == 1);
    CHECK(tensor_f64(&vm_output(m, 0)->t, 0) == 1 &&
          tensor_f64(&vm_output(m, 1)->t, 0) == 11);
    value_copy_view(&kept, vm_output(m, 1));
    CHECK(vm_run(m));
    CHECK(tensor_f64(&kept.t, 0) == 11 && tensor_f64(&vm_output(m, 1)->t, 0) == 12);
    CHECK(tensor_f64(&one.t, 0) == 1 && tensor_f64(&two.t, 0) == 2);
    value_unref(&kept);
    value_unref(&one);
    value_unref(&two);
    vm_free(m);
    plan_free(p);
    graph_free(g);
}

static Value list(Session *s, double x) {
    Value item = scalar(s, x);
    return (Value){.kind = TYPE_LIST, .obj = list_new_take(s, 1, &item)};
}
static double item(const Value *v, size_t i) {
    const ListObject *o = v->obj;
    return v->kind == TYPE_LIST && i < o->n ? tensor_f64(&o->item[i].t, 0)
                                            : (double)NAN;
}

/* The same with lists, b <- a + [7]; and what a call that fails leaves. */
static void test_swap_lists(Session *s) {
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    const Type *t = type_list(s, type_scalar(s, DT_FLOAT64));
    Var a = graph_shared(g, sym(s, "a"), t), c = graph_shared(g, sym(s, "b"), t);
    Var x = graph_input(g, sym(s, "x"), type_scalar(s, DT_BOOL));
    Var more = ap(&b, "list_append", 2, (Var[]){a, const_number(&b, DT_FLOAT64, 7)});
    add_output(g, "a", a);
    add_output(g, "more", more);
    add_output(g, "b", ap(&b, "assert_op", 2, (Var[]){c, x}));
    add_update(g, a, c);
    add_update(g, c, more);
    Plan *p = plan_new(g, &(PlanOptions){0});
    Machine *m = vm_new(p);
    Value one = list(s, 1), two = list(s, 2), kept = {0};
    Value yes = numbers(s, DT_BOOL, 0, NULL, &(double){1}),
          no = numbers(s, DT_BOOL, 0, NULL, &(double){0});
    CHECK(vm_set_shared(m, 0, &one) && vm_set_shared(m, 1, &two));
    CHECK(vm_set_input(m, 0, &yes) && vm_run(m));
    CHECK(item(vm_output(m, 0), 0) == 1 && item(vm_output(m, 1), 1) == 7);
    CHECK(item(vm_shared(m, 0), 0) == 2 && item(vm_shared(m, 1), 1) == 7);
    value_copy_view(&kept, vm_output(m, 0));
    CHECK(vm_set_input(m, 0, &no) && !vm_run(m));
    diag_clear(s);
    CHECK(item(vm_shared(m, 0), 0) == 2 && item(vm_shared(m, 1), 1) == 7);
    CHECK(vm_output(m, 0)->kind == TYPE_NONE && item(&kept, 0) == 1);
    CHECK(vm_set_input(m, 0, &yes) && vm_run(m));
    CHECK(item(vm_output(m, 0), 0) == 2 && item(vm_output(m, 2), 0) == 1);
    CHECK(item(vm_shared(m, 0), 1) == 7 && item(vm_shared(m, 1), 0) == 2);
    value_unref(&kept), value_unref(&one), value_unref(&two);
    value_unref(&yes), value_unref(&no);
    vm_free(m);
    plan_free(p);
    graph_free(g);
}

/* W <- tanh(W - x) * y: every step works in W's storage, unless something needs W, or
 * what a step made, for longer. */
static void try_steps(Session *s, int needed, uint32_t in_place) {
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    const Type *t = f64(s, DIM_NAMED(sym(s, "n")));
    Var x = graph_input(g, sym(s, "x"), t), y = graph_input(g, sym(s, "y"), t),
        w = graph_shared(g, sym(s, "W"), t);
    Var minus = ap(&b, "subtract", 2, (Var[]){w, x}),
        curved = ap(&b, "tanh", 1, &minus),
        times = ap(&b, "multiply", 2, (Var[]){curved, y}),
        old[] = {w, minus, curved, times};
    add_update(g, w, times);
    if (needed >= 0) add_output(g, "out", old[needed]);
    Plan *p = plan_new(g, &(PlanOptions){0});
    uint32_t over = 0;
    for (size_t i = 0; i < plan_vars(p); i++)
        over += plan_var(p, i).how == PLAN_INPLACE &&
                plan_var(p, i).store == plan_var(p, plan_vars(p) - 1).store;
    CHECK(over == in_place, "%d: %u", needed, over);
    Machine *m = vm_new(p);
    double value[3] = {.1, .2, .3}, dx[3] = {.5, -.5, 1}, dy[3] = {2, 3, -1}, before[3];
    Value v = vec(s, 3, value), a = vec(s, 3, dx), c = vec(s, 3, dy);
    vm_set_shared(m, 0, &v);
    vm_set_input(m, 0, &a);
    vm_set_input(m, 1, &c);
    for (int i = 0; i < 3; i++) {
        const void *data = vm_shared(m, 0)->t.data;
        CHECK(vm_run(m));
        CHECK(i == 0 || in_place < 3 || vm_shared(m, 0)->t.data == data);
        for (int k = 0; k < 3; k++) {
            before[k] = value[k];
            double d = value[k] - dx[k],
                   th = tensor_f64(&vm_shared(m, 0)->t, k) / dy[k];
            CHECK(fabs(th - tanh(d)) < 1e-15);
            value[k] = tensor_f64(&vm_shared(m, 0)->t, k);
            if (needed == 0) CHECK(tensor_f64(&vm_output(m, 0)->t, k) == before[k]);
            if (needed == 1) CHECK(tensor_f64(&vm_output(m, 0)->t, k) == d);
            if (needed == 3) CHECK(tensor_f64(&vm_output(m, 0)->t, k) == value[k]);
        }
    }
    CHECK(tensor_f64(&v.t, 2) == .3);
    value_unref(&v), value_unref(&a), value_unref(&c);
    vm_free(m);
    plan_free(p);
    graph_free(g);
}

static void test_update_by_steps(Session *s) {
    try_steps(s, -1, 3);
    for (int needed = 0; needed < 4; needed++)
        try_steps(s, needed, (uint32_t[]){2, 1, 0, 3}[needed]);
}

/* W <- W - x may overwrite W although a reader of W stands behind it in the graph; the
 * caller's array stays. */
static void test_update_in_place(Session *s) {
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    const Type *t = f64(s, DIM_NAMED(sym(s, "n")));
    Var x = graph_input(g, sym(s, "x"), t), w = graph_shared(g, sym(s, "W"), t);
    add_update(g, w, ap(&b, "subtract", 2, (Var[]){w, x}));
    add_output(g, "e", ap(&b, "negative", 1, &w));
    Plan *p = plan_new(g, &(PlanOptions){0});
    PlanStep last = plan_step(p, plan_steps(p) - 1);
    CHECK_STR(last.op->name, "subtract");
    bool over = false;
    for (size_t i = 0; i < plan_vars(p); i++)
        over |= plan_var(p, i).how == PLAN_INPLACE && plan_var(p, i).of == w;
    CHECK(over);
    Machine *m = vm_new(p);
    Value v = vec(s, 3, (double[]){1, 2, 3}), d = vec(s, 3, (double[]){1, 1, 1});
    vm_set_shared(m, 0, &v);
    vm_set_input(m, 0, &d);
    for (int i = 0; i < 3; i++) {
        CHECK(vm_run(m));
        CHECK(tensor_f64(&vm_output(m, 0)->t, 2) == -3 + i);
    }
    CHECK(tensor_f64(&vm_shared(m, 0)->t, 2) == 0 && tensor_f64(&v.t, 2) == 3);
    uint64_t used = buffer_bytes_used(s);
    const void *data = vm_shared(m, 0)->t.data, *out = vm_output(m, 0)->t.data;
    CHECK(vm_run(m) && buffer_bytes_used(s) == used);
    CHECK(vm_shared(m, 0)->t.data == data && vm_output(m, 0)->t.data == out);
    value_unref(&v);
    value_unref(&d);
    vm_free(m);
    plan_free(p);
    graph_free(g);
}

static void test_dims(Session *s) {
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    Sym n = sym(s, "n");
    Var x = graph_input(g, sym(s, "x"), f64(s, DIM_NAMED(n))),
        y = graph_input(g, sym(s, "y"), f64(s, DIM_NAMED(n)));
    add_output(g, "n", graph_dim(g, n));
    add_output(g, "r", ap(&b, "add", 2, (Var[]){x, y}));
    Plan *p = plan_new(g, &(PlanOptions){0});
    Machine *m = vm_new(p);
    Value v3 = vec(s, 3, (double[]){1, 2, 3}), v4 = vec(s, 4, (double[]){1, 2, 3, 4}),
          v0 = vec(s, 0, NULL);
    expect_error(s, vm_run(m), E_MISSING, "the input x has no value");
    vm_set_input(m, 0, &v3);
    vm_set_input(m, 1, &v4);
    expect_error(s, vm_run(m), E_SHAPE, "the dim n is 3 by x and 4 by y");
    vm_set_input(m, 0, &v4);
    CHECK(vm_run(m) && tensor_i64(&vm_output(m, 0)->t, 0) == 4 &&
          tensor_f64(&vm_output(m, 1)->t, 3) == 8);
    vm_set_input(m, 0, &v3);
    vm_set_input(m, 1, &v3);
    CHECK(vm_run(m) && tensor_i64(&vm_output(m, 0)->t, 0) == 3 &&
          tensor_size(&vm_output(m, 1)->t) == 3);
    vm_set_input(m, 0, &v0);
    vm_set_input(m, 1, &v0);
    CHECK(vm_run(m) && tensor_size(&vm_output(m, 1)->t) == 0);
    vm_set_dim(m, n, 7);
    expect_error(s, vm_run(m), E_SHAPE, "the dim n is 7 as given and 0 by x");
    Value wrong = scalar(s, 1);
    expect_error(s, vm_set_input(m, 0, &wrong), E_SHAPE,
                 "x is declared float64[n], but its value is float64 of shape ()");
    Value *all[] = {&v3, &v4, &v0, &wrong};
    for (int i = 0; i < 4; i++)
        value_unref(all[i]);
    vm_free(m);
    plan_free(p);
    graph_free(g);
}

static bool run2(Session *s, const char *op, const Type *tx, const Type *ty, Value x,
                 Value y, double *first) {
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    Var in[2] = {graph_input(g, sym(s, "x"), tx), graph_input(g, sym(s, "y"), ty)};
    add_output(g, "r", ap(&b, op, 2, in));
    Plan *p = plan_new(g, &(PlanOptions){0});
    Machine *m = vm_new(p);
    bool ok = vm_set_input(m, 0, &x) && vm_set_input(m, 1, &y) && vm_run(m);
    if (ok && first) *first = tensor_f64(&vm_output(m, 0)->t, 0);
    vm_free(m);
    plan_free(p);
    graph_free(g);
    value_unref(&x);
    value_unref(&y);
    return ok;
}

static void test_errors(Session *s) {
    const Type *any = f64(s, DIM_UNKNOWN), *one = f64(s, 1);
    Value v3 = vec(s, 3, (double[]){1, 2, 3}), v1 = vec(s, 1, (double[]){5});
    double first = 0;
    CHECK(run2(s, "add", any, one, v3, v1, &first) &&
          first == 6); /* a static 1 stretches */
    v3 = vec(s, 3, (double[]){1, 2, 3}), v1 = vec(s, 1, (double[]){5});
    expect_error(s, run2(s, "add", any, any, v3, v1, NULL), E_RUN_SHAPE,
                 "add: the shapes (3,) of x and (1,) of y don't broadcast (a size of 1 "
                 "broadcasts only if the type declares it)");
    int64_t shape[2] = {2, 2};
    Dim d[2] = {2, 2};
    const Type *i32 = type_tensor(s, DT_INT32, 2, d);
    Value a = numbers(s, DT_INT32, 2, shape, (double[]){1, 2, 3, 4});
    Value z = numbers(s, DT_INT32, 2, shape, (double[]){1, 2, 0, 4});
    expect_error(s, run2(s, "floor_divide", i32, i32, a, z, NULL), E_ARITHMETIC,
                 "floor_divide: integer division by zero at [1, 0]");
}

static void test_limit(Session *s) {
    Dim d = 1 << 20;
    int64_t n = d;
    const Type *t = f64(s, d);
    uint64_t limit = session_options(s)->max_memory;
    Value x = (Value){.kind = TYPE_TENSOR}, y = (Value){.kind = TYPE_TENSOR};
    tensor_zeros(s, DT_FLOAT64, 1, &n, &x.t);
    tensor_zeros(s, DT_FLOAT64, 1, &n, &y.t);
    session_options(s)->max_memory = buffer_bytes_used(s) + (7 << 20);
    CHECK(!run2(s, "add", t, t, x, y, NULL) && diag_first_error(s)->code == E_MEM);
    diag_clear(s);
    session_options(s)->max_memory = limit;
}

/* Outputs beyond the caches are written past them, in rows that begin anywhere in a
 * line. */
static void test_large(Session *s) {
    enum { N = 2051 };
    Dim d[2] = {N, N}, e[1] = {N};
    const Type *t = type_tensor(s, DT_FLOAT32, 2, d),
               *u = type_tensor(s, DT_FLOAT32, 1, e);
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    Var x = graph_input(g, sym(s, "x"), t), y = graph_input(g, sym(s, "y"), u);
    Var r = ap(&b, "subtract", 2, (Var[]){x, y});
    add_output(g, "r", r);
    add_output(g, "sum", ap(&b, "sum", 1, &r));
    for (unsigned threads = 0; threads < 2; threads++) {
        Plan *p = plan_new(g, &(PlanOptions){.threads = threads});
        Machine *m = vm_new(p);
        Value v = {.kind = TYPE_TENSOR, .t = random_tensor(s, DT_FLOAT32, 2, d)};
        Value w = {.kind = TYPE_TENSOR, .t = random_tensor(s, DT_FLOAT32, 1, e)};
        CHECK(vm_set_input(m, 0, &v) && vm_set_input(m, 1, &w) && vm_run(m));
        const float *a = v.t.data, *c = w.t.data, *got = vm_output(m, 0)->t.data;
        long wrong = 0;
        double sum = 0;
        for (long i = 0; i < (long)N * N; i++) {
            wrong += got[i] != a[i] - c[i % N];
            sum += (double)got[i];
        }
        CHECK(fabs(tensor_f64(&vm_output(m, 1)->t, 0) - sum) < 1e-5 * fabs(sum) + 1e-2);
        CHECK(wrong == 0, "%ld elements", wrong);
        value_unref(&v);
        value_unref(&w);
        vm_free(m);
        plan_free(p);
    }
    graph_free(g);
}

/* Deep graphs: nothing recurses, everything is linear, and a chain needs one buffer. */
static void test_deep(Session *s) {
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    Var x = graph_input(g, sym(s, "x"), f64(s, 8)), v = x;
    for (int i = 0; i < 100000; i++)
        v = ap(&b, i % 2 ? "negative" : "add", i % 2 ? 1 : 2, (Var[]){v, x});
    add_output(g, "r", v);
    Plan *p = plan_new(g, &(PlanOptions){0});
    CHECK(plan_steps(p) == 100000);
    PlanMemory mem = plan_memory(p, 0, NULL, NULL);
    CHECK(mem.peak == 64 && mem.least == 64 && mem.leaves == 64 && mem.unknown == 0,
          "%llu", (unsigned long long)mem.peak);
    CHECK(mem.peak_no_inplace == 2 * 64, "%llu",
          (unsigned long long)mem.peak_no_inplace);
    CHECK(mem.peak_no_reuse == 100000 * 64, "%llu",
          (unsigned long long)mem.peak_no_reuse);
    Machine *m = vm_new(p);
    Value one = vec(s, 8, (double[]){1, 1, 1, 1, 1, 1, 1, 1});
    vm_set_input(m, 0, &one);
    CHECK(vm_run(m) && tensor_f64(&vm_output(m, 0)->t, 7) == 1);
    VmMemory vm = vm_memory(m);
    CHECK(vm.arena == 64 && vm.grown == 0);
    value_unref(&one);
    vm_free(m);
    plan_free(p);
    graph_free(g);
}

typedef struct Watch {
    int before, after, stop;
    double seconds;
} Watch;
static bool watch_before(void *ctx, size_t step, const Call *c) {
    Watch *w = ctx;
    CHECK(c->in[0]->kind == TYPE_TENSOR && c->in[0]->t.data && step < 100);
    return ++w->before != w->stop;
}
static bool watch_after(void *ctx, size_t step, const Call *c, double seconds) {
    Watch *w = ctx;
    CHECK(tensor_size(&c->out[0].t) == 2 && seconds >= 0 && step < 100);
    w->seconds += seconds;
    w->after++;
    return true;
}

/* A function that is not fused: a plan of its own; hooks see inside. */
static void test_calls(Session *s) {
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    const Type *t = f64(s, 2);
    Var x = graph_input(g, sym(s, "x"), t);
    Graph *fn = graph_function_new(g, sym(s, "twice"));
    Builder fb = builder(fn, false);
    Var a = graph_input(fn, sym(s, "a"), f64(s, DIM_NAMED(sym(s, "k"))));
    add_output(fn, "r", ap(&fb, "add", 2, (Var[]){a, a}));
    add_output(fn, "same", a);
    const Op *call = op_find(s, "call", 4);
    PropArg pa = {"fn", {.kind = P_GRAPH, .sym = fn->name}};
    const Props *props = props_make(s, call, 1, &pa);
    Var out[2], again[2];
    CHECK(op_apply(&b, call, props, 1, &x, out) &&
          op_apply(&b, call, props, 1, out, again));
    add_output(g, "four", again[0]);
    add_output(g, "two", again[1]);
    Plan *p = plan_new(g, &(PlanOptions){0});
    CHECK(plan_step(p, 0).kind == PLAN_CALL && plan_step(p, 0).fn == fn);
    Machine *m = vm_new(p);
    Watch w = {0};
    vm_set_hooks(m,
                 &(VmHooks){.ctx = &w, .before = watch_before, .after = watch_after});
    Value v = vec(s, 2, (double[]){1, 3});
    vm_set_input(m, 0, &v);
    CHECK(vm_run(m));
    CHECK(tensor_f64(&vm_output(m, 0)->t, 1) == 12 &&
          tensor_f64(&vm_output(m, 1)->t, 1) == 6);
    CHECK(w.before == 4 && w.after == 4);
    uint64_t used = buffer_bytes_used(s);
    CHECK(vm_run(m) && vm_run(m) && buffer_bytes_used(s) == used);
    w.stop = w.before + 2;
    CHECK(!vm_run(m));
    vm_set_hooks(m, NULL);
    CHECK(vm_run(m) && tensor_f64(&vm_output(m, 0)->t, 0) == 4);
    struct Inner *inner = services(s)->inner_new(s, fn);
    Value res[2];
    const Value *in[1] = {&v};
    CHECK(services(s)->inner_run(inner, in, res, NOWHERE) &&
          tensor_f64(&res[0].t, 1) == 6);
    value_unref(&res[0]);
    value_unref(&res[1]);
    services(s)->inner_free(inner);
    value_unref(&v);
    vm_free(m);
    plan_free(p);
    graph_free(g);
}

/* Initial values are expressions that run when they are first needed; eval looks at
 * what it needs only. */
static void test_init(Session *s) {
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    Var w = graph_shared(g, sym(s, "w"), type_scalar(s, DT_FLOAT64));
    Var two = const_number(&b, DT_FLOAT64, 2),
        sum = ap(&b, "add", 2, (Var[]){two, two});
    var_leafrec(g, w)->init = sum;
    add_update(g, w, ap(&b, "multiply", 2, (Var[]){w, two}));
    Plan *p = plan_new(g, &(PlanOptions){0});
    Machine *m = vm_new(p);
    CHECK(tensor_f64(&vm_shared(m, 0)->t, 0) == 4);
    CHECK(vm_run(m) && vm_run(m) && tensor_f64(&vm_shared(m, 0)->t, 0) == 16);
    Value v;
    CHECK(services(s)->eval(g, 1, &sum, &v) && tensor_f64(&v.t, 0) == 4);
    value_unref(&v);
    vm_free(m);
    plan_free(p);
    p = plan_new(g, &(PlanOptions){.keep_all = true, .nwant = 1, .want = &sum});
    m = vm_new(p);
    CHECK(vm_run(m) && vm_value(m, sum) && tensor_f64(&vm_value(m, sum)->t, 0) == 4);
    vm_free(m);
    plan_free(p);
    graph_free(g);
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->threads = 2;
    vm_open(s);
    uint64_t before = buffer_bytes_used(s);
    test_swap(s);
    test_swap_lists(s);
    test_update_in_place(s);
    test_update_by_steps(s);
    test_dims(s);
    test_errors(s);
    test_limit(s);
    test_large(s);
    test_deep(s);
    test_calls(s);
    test_init(s);
    CHECK(buffer_bytes_used(s) == before, "%llu bytes are left",
          (unsigned long long)buffer_bytes_used(s));
    session_free(s);
    return TEST_END("vm_rules");
}
