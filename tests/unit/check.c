/* DebugMode finds each kind of lie: rows that do not do what they declare, rules that
 * change values, state where there must be none. And it finds nothing in honest ones.
 */
#define CLAUSE_check CLAUSE_RUN
#include "check/check.h"

#include "contract.h"
#include "op/infer.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 4 };

/* ---- kernels ---- */
static Tensor *doubled_out(Call *c, int64_t n) {
    return call_out(c, 0, 1, &n);
}

static void twice(const Tensor *x, Tensor *r) {
    for (int64_t i = 0; i < x->shape[0]; i++) {
        double v;
        memcpy(&v, (const char *)x->data + i * x->stride[0], 8);
        v *= 2;
        memcpy((char *)r->data + i * r->stride[0], &v, 8);
    }
}

static bool honest(Call *c) {
    Tensor *r = doubled_out(c, call_in(c, 0)->shape[0]);
    if (!r) return false;
    twice(call_in(c, 0), r);
    return true;
}

static bool same_type(Infer *in) {
    in->out[0] = in->type[0];
    return true;
}

/* A view of the input, declared or not. */
static bool view_it(Call *c) {
    call_view(c, 0, call_in(c, 0));
    return true;
}

static void *writable(const Tensor *t) {
    return (void *)(uintptr_t)t->data;
}

static bool overwrite(Call *c) {
    if (!honest(c)) return false;
    double *x = writable(call_in(c, 0));
    x[1] = -1;
    return true;
}

/* ---- honest until the machine runs ---- */
static bool running;

static bool turncoat(Call *c) {
    if (!honest(c)) return false;
    if (running) ((double *)writable(&c->out[0].t))[2] = 60;
    return true;
}

static bool vandal(Call *c) {
    return running ? overwrite(c) : honest(c);
}

static bool absentee(Call *c) {
    return running ? call_fail(c, E_ARITHMETIC, "not today") : honest(c);
}

/* Writes into its input, as it says, and returns it. */
static bool in_place(Call *c) {
    Tensor x = *call_in(c, 0);
    twice(&x, &x);
    call_view(c, 0, call_in(c, 0));
    return true;
}
static int first_input(const Graph *g, ApplyId a, size_t out) {
    (void)g, (void)a;
    return out == 0 ? 0 : -1;
}

static bool wrong_dtype(Call *c) {
    Value *o = &c->out[0];
    value_unref(o);
    o->kind = TYPE_TENSOR;
    return tensor_zeros(c->s, DT_FLOAT32, 1, call_in(c, 0)->shape, &o->t);
}

static bool wrong_rank(Call *c) {
    int64_t shape[] = {2, 2};
    Tensor *r = call_out(c, 0, 2, shape);
    if (r) memset(r->data, 0, 32);
    return r != NULL;
}

static bool too_short(Call *c) {
    Tensor *r = doubled_out(c, N - 1);
    if (r) memset(r->data, 0, 8 * (N - 1));
    return r != NULL;
}

static bool nothing(Call *c) {
    (void)c;
    return true;
}

static bool pair_type(Infer *in) {
    in->out[0] = in->out[1] = in->type[0];
    return true;
}

/* Two outputs in one piece of memory. */
static bool aliased(Call *c) {
    if (!honest(c)) return false;
    call_view(c, 1, &c->out[0].t);
    return true;
}

static bool counts(Call *c) {
    static int calls;
    if (!honest(c)) return false;
    *(double *)c->out[0].t.data += calls++ * 1e-3;
    return true;
}

/* Adds to whatever was in its storage. */
static bool stale(Call *c) {
    Tensor *r = doubled_out(c, call_in(c, 0)->shape[0]);
    if (!r) return false;
    for (int64_t i = 0; i < N; i++)
        if (((double *)r->data)[i] > 600) return true; /* "done already" */
    twice(call_in(c, 0), r);
    return true;
}

/* Takes what lies in its output cell as its own last result. */
static bool cached(Call *c) {
    if (c->out[0].t.data && c->out[0].t.shape[0] == N) return true;
    return honest(c);
}

/* Relies on finding its own last result, or nothing. */
static bool keeps_own(Call *c) {
    const Tensor *r = &c->out[0].t, *x = call_in(c, 0);
    if (!r->data) return honest(c);
    for (int64_t i = 0; i < N; i++)
        if (r->shape[0] != N || tensor_f64(r, i) != 2 * tensor_f64(x, i))
            return call_fail(c, E_VALUE, "this is not what I left");
    return true;
}

static bool output_strides(Call *c) {
    Tensor *r = &c->out[0].t;
    if (!r->data || r->ndim != 1 || r->shape[0] != N) return honest(c);
    const Tensor *x = call_in(c, 0);
    for (int64_t i = 0; i < N; i++) {
        double v;
        memcpy(&v, (const char *)x->data + i * x->stride[0], 8);
        ((double *)r->data)[r->stride[0] < 0 ? -i : i] = 2 * v;
    }
    return true;
}

static bool input_strides(Call *c) {
    Tensor *r = doubled_out(c, call_in(c, 0)->shape[0]), x = *call_in(c, 0);
    if (!r) return false;
    x.stride[0] = x.stride[0] < 0 ? -8 : 8;
    twice(&x, r);
    return true;
}

/* Every kind of storage is noted, and none of it matters. */
static struct {
    bool none, fit, larger, smaller, strided, backwards, dtype, rank;
} cell_seen;
static bool looks_at_cell(Call *c) {
    const Tensor *r = &c->out[0].t;
    if (!r->data) {
        cell_seen.none = true;
        return honest(c);
    }
    cell_seen.dtype |= r->dtype != DT_FLOAT64;
    cell_seen.rank |= r->ndim != 1;
    cell_seen.fit |= r->shape[0] == N;
    cell_seen.larger |= r->shape[0] > N;
    cell_seen.smaller |= r->shape[0] < N;
    cell_seen.strided |= r->stride[0] > 8;
    cell_seen.backwards |= r->stride[0] < 0;
    return honest(c);
}

static bool beyond(Call *c) {
    if (!honest(c)) return false;
    ((double *)c->out[0].t.data)[N] = 1;
    return true;
}

static bool thrice(Call *c) {
    Tensor *r = doubled_out(c, N);
    if (!r) return false;
    for (int i = 0; i < N; i++)
        ((double *)r->data)[i] = 3 * tensor_f64(call_in(c, 0), i);
    return true;
}

static bool fails_strided(Call *c) {
    if (call_in(c, 0)->stride[0] != 8) return call_fail(c, E_VALUE, "only this way");
    return honest(c);
}

/* ---- what ops say of themselves ---- */
static bool short_type(Infer *in) {
    Dim n = N - 1;
    return infer_out_tensor(in, 0, DT_FLOAT64, 1, &n);
}
static bool open_type(Infer *in) {
    Dim n = DIM_UNKNOWN;
    return infer_out_tensor(in, 0, DT_FLOAT64, 1, &n);
}
static bool shape_plus_one(ShapeOf *q) {
    q->out_shape[0][0] = op_call2(q->b, "add", q->in_shape[0][0], const_int(q->b, 1));
    return true;
}
static bool shape_right(ShapeOf *q) {
    q->out_shape[0][0] = q->in_shape[0][0];
    return true;
}
static int odd_views(const Graph *g, ApplyId a, size_t out) {
    (void)g, (void)out;
    return a % 2 ? 0 : -1;
}
static bool sometimes(const GraphView *v, ApplyId a) {
    static int calls;
    (void)v, (void)a;
    return calls++ % 3 == 0;
}
static bool nameless_type(Infer *in) {
    static int64_t calls;
    Dim n = calls++ % 3 ? DIM_UNKNOWN : N;
    return infer_out_tensor(in, 0, DT_FLOAT64, 1, &n);
}

/* ---- thunks ---- */
static ThunkResult lazy_run(void *state, Call *c) {
    (void)state;
    if (c->computed[0] != COMPUTED) return c->need[0] = true, THUNK_NEEDS;
    return honest(c) ? THUNK_DONE : THUNK_FAILED;
}
static ThunkResult lazy_stuck(void *state, Call *c) {
    (void)state, (void)c;
    return THUNK_NEEDS;
}
static bool state_make(const Call *c, Impl impl, void **state) {
    *state = mem_zalloc(c->s, 1, sizeof(double));
    **(double **)state = impl == IMPL_DEBUG;
    return true;
}
static ThunkResult state_run(void *state, Call *c) {
    double *n = state;
    if (!honest(c)) return THUNK_FAILED;
    *(double *)c->out[0].t.data += (*n)++;
    return THUNK_DONE;
}
/* Keeps its result and hands it out again, whatever no_recycling says. */
typedef struct Hoard {
    Tensor t;
} Hoard;
static bool hoard_make(const Call *c, Impl impl, void **state) {
    int64_t n = N;
    Hoard *h = mem_zalloc(c->s, 1, sizeof *h);
    (void)impl;
    *state = h;
    return tensor_new(c->s, DT_FLOAT64, 1, &n, &h->t);
}
static ThunkResult hoard_run(void *state, Call *c) {
    Hoard *h = state;
    twice(call_in(c, 0), &h->t);
    call_view(c, 0, &h->t);
    return THUNK_DONE;
}
static void hoard_free(void *state) {
    tensor_unref(&((Hoard *)state)->t);
    mem_free(state);
}
static const Thunk lazy_good = {.lazy = true, .run = lazy_run};
static const Thunk lazy_bad = {.lazy = true, .run = lazy_stuck};
static const Thunk stateful = {.make = state_make, .run = state_run, .free = mem_free};
static const Thunk hoarding = {
    .make = hoard_make, .run = hoard_run, .free = hoard_free};

#define LIAR(id, ...) LIAR_OF(id, same_type, __VA_ARGS__)
#define LIAR_OF(id, typing, ...)                                                       \
    { .name = #id, .doc = "A test.", .in = "x", .type = typing, __VA_ARGS__ }
#define RUN(f) .perform = f
static const Op liars[] = {
    LIAR(honest_op, RUN(honest), .debug = honest, RARE(.shape = "[x.shape[0]]")),
    LIAR(looks_at_cell, RUN(looks_at_cell)),
    LIAR(honest_view, RUN(view_it), .view = 1, .identity = true),
    LIAR(honest_inplace, RUN(in_place), RARE(.destroys = first_input)),
    LIAR_OF(honest_shape, open_type, RUN(honest), RARE(.infer_shape = shape_right)),
    LIAR(hidden_view, RUN(view_it)),
    LIAR(hidden_write, RUN(overwrite)),
    LIAR(hidden_inplace, RUN(in_place)),
    LIAR(false_view, RUN(honest), .view = 1),
    LIAR(false_destroy, RUN(honest), RARE(.destroys = first_input)),
    LIAR(bad_dtype, RUN(wrong_dtype)),
    LIAR(bad_rank, RUN(wrong_rank)),
    LIAR(bad_length, RUN(too_short)),
    LIAR_OF(bad_static, short_type, RUN(honest)),
    LIAR(no_output, RUN(nothing)),
    LIAR_OF(two_in_one, pair_type, RUN(aliased), .out = "q, r"),
    LIAR(impure, RUN(counts)),
    LIAR(reads_storage, RUN(stale)),
    LIAR(keeps_cell, RUN(cached)),
    LIAR(keeps_own, RUN(keeps_own), .keeps_storage = true),
    LIAR(out_strides, RUN(output_strides)),
    LIAR(in_strides, RUN(input_strides)),
    LIAR(out_of_bounds, RUN(beyond)),
    LIAR(other_debug, RUN(honest), .debug = thrice),
    LIAR(only_plain, RUN(fails_strided)),
    LIAR_OF(bad_shape_text, open_type, RUN(honest), RARE(.shape = "[x.shape[0] + 1]")),
    LIAR_OF(bad_infer_shape, open_type, RUN(honest),
            RARE(.infer_shape = shape_plus_one)),
    LIAR(no_identity, RUN(honest), .identity = true),
    LIAR(reads_elements, RUN(honest), .shape_only = true),
    LIAR(odd_maps, RUN(honest), RARE(.views = odd_views)),
    LIAR(folds_at_times, RUN(honest), RARE(.fold_if = sometimes)),
    LIAR_OF(types_at_times, nameless_type, RUN(honest)),
    LIAR(honest_thunk, RARE(.thunk = &lazy_good)),
    LIAR(stuck, RARE(.thunk = &lazy_bad)),
    LIAR(counting_thunk, RARE(.thunk = &stateful)),
    LIAR(hoarder, RARE(.thunk = &hoarding)),
    LIAR(turncoat, RUN(turncoat)),
    LIAR(vandal, RUN(vandal)),
    LIAR(absentee, RUN(absentee)),
};

/* ---- running ---- */
static Session *s;
static Graph *g;
static Builder b;
static Var x;

static void begin(void) {
    Dim n = N;
    g = graph_new(s);
    b = builder(g, false);
    x = graph_input(g, sym(s, "x"), type_tensor(s, DT_FLOAT64, 1, &n));
}

static Var apply(const char *name, Var in) {
    Var out[2];
    bool ok = op_apply(&b, op_find(s, name, strlen(name)), NULL, 1, &in, out);
    CHECK(ok, "%s: %s", name, ok ? "" : diag_get(s, 0)->text);
    return ok ? out[0] : VAR_NONE;
}

static void output(const char *label, Var v) {
    vec_push(s, &g->outputs, ((Output){sym(s, label), v}));
}

static double first = 1;

static bool call(Check *c) {
    double v[N] = {first, 2, 3, 4};
    int64_t n = N;
    Value in = {.kind = TYPE_TENSOR};
    Plan *p = plan_new(check_ready(c), &(PlanOptions){0});
    Machine *m = p ? vm_new(p) : NULL;
    VmHooks h = check_hooks(c);
    tensor_new(s, DT_FLOAT64, 1, &n, &in.t);
    memcpy(in.t.data, v, sizeof v);
    bool ok = m && vm_set_input(m, 0, &in) &&
              (vm_set_hooks(m, &h), check_begin(c, m)) && (running = true, vm_run(m)) &&
              check_end(c, m);
    running = false;
    vm_free(m);
    plan_free(p);
    value_unref(&in);
    return ok;
}

/* Runs g under DebugMode; the name of the first error, or "". */
static const char *verdict(const CheckOptions *o) {
    diag_clear(s);
    Check *c = check_new(g, o);
    if (c) call(c);
    check_free(c);
    graph_free(g);
    const Diag *d = diag_first_error(s);
    return d ? diag_name(d->code) : "";
}

static bool says(const char *text) {
    for (size_t i = 0; i < diag_count(s); i++) {
        const Diag *d = diag_get(s, i);
        if (strstr(d->text, text)) return true;
        for (const DiagNote *n = d->notes; n; n = n->next)
            if (strstr(n->text, text)) return true;
    }
    return false;
}

static const CheckOptions none = {.query = {.mode = "NONE"}};

/* What is declared to be overwritten must be an intermediate value. */
static Var subject(const char *op) {
    const Op *found = op_find(s, op, strlen(op));
    return found && op_rare(found)->destroys ? apply("negative", x) : x;
}

static void expect(const char *op, const char *name, const char *text) {
    begin();
    output("out", apply(op, subject(op)));
    CHECK_STR(verdict(&none), name);
    CHECK(!*text || says(text), "%s: \"%s\" is not said, but \"%s\"", op, text,
          diag_count(s) ? diag_get(s, 0)->text : "");
    CHECK(*name == 0 || says(op), "%s is not named", op);
}

static void warns(const char *op, const char *text) {
    begin();
    output("out", apply(op, subject(op)));
    CHECK_STR(verdict(&none), "");
    CHECK(diag_count(s) == 1 && diag_get(s, 0)->severity == DIAG_WARNING && says(text),
          "%s: %zu diagnostics", op, diag_count(s));
}

static void test_quiet(void) {
    static const char *const names[] = {"honest_op", "honest_view", "honest_inplace",
                                        "honest_shape", "honest_thunk"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        expect(names[i], "", "");
        CHECK(diag_count(s) == 0, "%s: %s", names[i],
              diag_count(s) ? diag_get(s, 0)->text : "");
    }
}

static void test_order(void) {
    begin();
    Var y = apply("odd_maps", x);
    output("out", apply("odd_maps", y));
    CHECK_STR(verdict(&none), "StochasticOrder");
    CHECK(says("equal ops must have equal maps"));
}

/* What a kernel finds in its output cell over all the runs of DebugMode. */
static void test_storage(void) {
    memset(&cell_seen, 0, sizeof cell_seen);
    expect("looks_at_cell", "", "");
    CHECK(cell_seen.none && cell_seen.fit && cell_seen.larger && cell_seen.smaller &&
          cell_seen.strided && cell_seen.backwards);
    CHECK(!cell_seen.dtype && !cell_seen.rank, "the dtype and the rank are right");
}

/* Each clause of the Op contract that DebugMode watches over. */
static void test_clauses(void) {
#include "contract.def"
}

/* ---- rewrites ---- */
/* A mode of one file of rules. */
static CheckOptions rules(const char *text, const char *const *path) {
    FILE *f = fopen(*path, "w");
    CheckOptions o = {.query = {.mode = "NONE", .nrules = 1, .rules = path}};
    static const char *const include[] = {"mine"};
    o.query.ninclude = 1;
    o.query.include = include;
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
    return o;
}

static Var arith(const char *op, Var a, double c) {
    Tensor t;
    tensor_scalar(s, DT_FLOAT64, c, 0, &t);
    Var v = op_call2(&b, op, a, graph_const(g, &t, false));
    tensor_unref(&t);
    return v;
}

static void test_rules(void) {
    char path[] = "/tmp/check_rules_XXXXXX";
    const char *const list[] = {path};
    int fd = mkstemp(path);
    CHECK(fd >= 0 && close(fd) == 0);
    CheckOptions o = rules("mine @mine: x * 2 => x * 3\n", list);
    begin();
    output("out", arith("add", arith("multiply", x, 2), 1));
    CHECK_STR(verdict(&o), "BadOptimization");
    CHECK(says("mine changed the value of multiply"));
    CHECK(says("at (0,) 2.0 and 3.0; at (1,) 4.0 and 6.0"), "both values");
    CHECK(says("tolerance rtol 1e-05, atol 1e-08") && says("widen the tolerance"));
    CHECK(says("before:\nmultiply [A] float64[4]") && says("after:\nmultiply [A]"));
    CHECK(diag_count(s) == 1, "the blame is told once, not at what follows");
    /* what a stabilising rule does to nan and inf is its business, numbers are not */
    o = rules("mine @mine @stabilize: log(-x) => x\n", list);
    begin();
    output("out", op_call1(&b, "log", op_call1(&b, "negative", x)));
    CHECK_STR(verdict(&o), "");
    o = rules("mine @mine: log(-x) => x\n", list);
    begin();
    output("out", op_call1(&b, "log", op_call1(&b, "negative", x)));
    CHECK_STR(verdict(&o), "BadOptimization");
    /* tolerances by tag and by option */
    o = rules("mine @mine: x + 1 => x + 1.00005\n", list);
    begin();
    output("out", arith("add", x, 1));
    CHECK_STR(verdict(&o), "BadOptimization");
    o.sloppy = 1;
    begin();
    output("out", arith("add", x, 1));
    CHECK_STR(verdict(&o), "");
    o = rules("mine @mine @sloppy1: x + 1 => x + 1.00005\n", list);
    begin();
    output("out", arith("add", x, 1));
    CHECK_STR(verdict(&o), "");
    /* a replacement that can't be computed */
    o = rules("mine @mine: x + 1 => assert_op(x, x < 0)\n", list);
    begin();
    output("out", arith("add", x, 1));
    CHECK_STR(verdict(&o), "BadOptimization");
    CHECK(says("something that fails"));
    remove(path);
}

/* A lie, or a wrong rule, in a function and in a fused group. */
static Graph *function_of(const char *op) {
    Graph *f = graph_function_new(g, sym(s, "f"));
    Dim k = DIM_NAMED(sym(s, "k"));
    Var u = graph_input(f, sym(s, "u"), type_tensor(s, DT_FLOAT64, 1, &k)), r;
    Builder fb = builder(f, false);
    CHECK(op_apply(&fb, op_find(s, op, strlen(op)), NULL, 1, &u, &r));
    vec_push(s, &f->outputs, ((Output){sym(s, "r"), op_call2(&fb, "add", r, u)}));
    return f;
}

static void test_functions(void) {
    PropArg fn = {"fn", {.kind = P_GRAPH, .sym = sym(s, "f")}};
    const Op *call_op = op_find(s, "call", 4);
    const char *const lies[] = {"impure", "hidden_write", "honest_op"};
    const char *const names[] = {"BadThunkOutput", "BadDestroyMap", ""};
    for (int i = 0; i < 3; i++) {
        Var r;
        begin();
        function_of(lies[i]);
        CHECK(op_apply(&b, call_op, props_make(s, call_op, 1, &fn), 1, &x, &r));
        output("out", r);
        CHECK_STR(verdict(&none), names[i]);
        CHECK(i == 2 || says("of the function f"), "%s", lies[i]);
    }
    const CheckOptions fast = {.query = {.mode = "FAST_RUN"}};
    begin();
    output("out", arith("multiply", op_call1(&b, "sin", op_call1(&b, "exp", x)), 0.5));
    CHECK_STR(verdict(&fast), "");
    CHECK(diag_count(s) == 0);
}

static void test_finite(void) {
    begin();
    output("out", op_call1(&b, "exp", op_call1(&b, "log", arith("subtract", x, 1))));
    CHECK_STR(verdict(&none), "InvalidValueError");
    CHECK(says("output 0 of log is not finite: 0 nan, 1 inf") && says("isfinite: no"));
    CHECK(diag_count(s) == 1, "only where it begins");
    CheckOptions o = none;
    o.allow_nonfinite = true;
    begin();
    output("out", op_call1(&b, "exp", op_call1(&b, "log", arith("subtract", x, 1))));
    CHECK_STR(verdict(&o), "");
}

/* What kernels do in the run itself, after they passed all by themselves. */
static void test_run(void) {
    begin();
    output("out", apply("turncoat", apply("honest_op", x)));
    CHECK_STR(verdict(&none), "BadThunkOutput");
    CHECK(says(
        "output 0 of turncoat in the run differs from what its kernel alone gives"));
    CHECK(says("at (2,) 12.0 and 60.0"), "both values");
    CHECK(says("the output out differs from that of the graph as it was written"));
    /* what reads it isn't to blame */
    begin();
    output("out", op_call2(&b, "add", apply("turncoat", apply("honest_op", x)), x));
    CHECK_STR(verdict(&none), "BadThunkOutput");
    CHECK(says("output 0 of turncoat in the run differs"));
    CHECK(!says("input 0 of add was overwritten") && !says("output 0 of add in the"));
    begin();
    Var y = apply("honest_op", x);
    output("out", op_call2(&b, "add", apply("vandal", y), y));
    CHECK_STR(verdict(&none), "BadDestroyMap");
    CHECK(says("input 1 of add was overwritten before it was read"));
    CHECK(says("at (1,) 4.0 and -1.0"), "both values");
    begin();
    output("out", apply("absentee", x));
    CHECK_STR(verdict(&none), "E_ARITHMETIC");
    CHECK(diag_count(s) == 1 && says("not today"), "%zu", diag_count(s));
}

/* Values of inputs are looked at before anything runs. */
static void test_inputs(void) {
    first = (double)NAN;
    CheckOptions o = none;
    begin();
    output("out", apply("honest_op", x));
    CHECK_STR(verdict(&none), "InvalidValueError");
    CHECK(says("the value of x is not of its type") && says("its type is float64[4]") &&
          says("nan and inf can be allowed"));
    o.allow_nonfinite = true;
    begin();
    output("out", apply("honest_op", x));
    CHECK_STR(verdict(&o), "");
    first = 1;
}

/* All findings are reported, up to a limit. */
static void test_limit(void) {
    const char *const lies[] = {"hidden_view", "hidden_write", "impure", "bad_static"};
    CheckOptions o = none;
    for (o.most = 2; o.most <= 4; o.most += 2) {
        begin();
        for (int i = 0; i < 4; i++)
            output(lies[i], apply(lies[i], x));
        verdict(&o);
        CHECK(diag_count(s) == o.most, "%zu of %zu", diag_count(s), o.most);
    }
}

int main(void) {
    s = session_new(NULL, NULL);
    vm_open(s);
    for (size_t i = 0; i < sizeof liars / sizeof *liars; i++)
        CHECK(op_add(s, &liars[i], NOWHERE), "%s", liars[i].name);
    test_quiet();
    test_clauses();
    test_rules();
    test_functions();
    test_finite();
    test_run();
    test_inputs();
    test_limit();
    session_free(s);
    return TEST_END("check");
}
