/* States of loops of which only the last value is kept may be computed in their own
 * storage: the same bits as without, whatever else of a step reads them before or
 * after, for random steps, shapes and dtypes, for no step, one and many, and again. */
#include "../unit/vm_test.h"
#include "rewrite/rewrite.h"

enum { GRAPHS = 1200, TEXT = 600 };

static Session *s;
static uint64_t over, loops;

/* T: the state itself; W: the other one, of the same shape. */
static const char *const steps[] = {
    "set_subtensor(T[i % 3], W[i % 2] * 2)",
    "inc_subtensor(T[1:], W[:-1])",
    "inc_subtensor(T[1:], T[:-1])",
    "T * 0.5 + W",
    "T + 1",
    "set_subtensor(T[1:-1], T[2:] + T[:-2])",
    "set_subtensor(T[1:-1], W[2:] + W[:-2] * 0.25)",
    "W",
    "T",
    "T[::-1]",
    "where(T > W, T, W)",
    "set_subtensor(set_subtensor(T[0], i)[-1], W[0])",
    "set_subtensor(inc_subtensor(T[2], W[1])[i % 3], T[(i + 1) % 3])",
    "minimum(T, T[0] + T)",
    "ifelse(i > 2, T, T * 2)",
    "ifelse(i > 2, set_subtensor(T[1], W[1]), inc_subtensor(T[0], i))",
    "sort(T, axis=0)",
    "inc_subtensor(T[[0, 2, 0]], W[:3])",
    "T / (abs(sum(W)) + 1)",
    "concatenate([T[1:], T[:1]])",
};
static const char *const others[] = {"sum(t)", "t[0]",   "t",
                                     "w * t",  "t[::2]", "sum(w) + i"};
enum { STEPS = sizeof steps / sizeof *steps, OTHERS = sizeof others / sizeof *others };

static void put_step(const char *text, char t, char w, char *out) {
    for (; *text; text++)
        *out++ = *text == 'T' ? t : *text == 'W' ? w : *text;
    *out = '\0';
}

static void put_loop(char *out) {
    char t[128], w[128];
    const char *more = rnd(2) ? others[rnd(OTHERS)] : NULL;
    put_step(steps[rnd(STEPS)], 't', 'w', t);
    put_step(steps[rnd(STEPS)], 'w', 't', w);
    int n = snprintf(out, TEXT, "scan(lambda i, t, w: [%s, %s", t, w);
    if (more) n += snprintf(out + n, TEXT - (size_t)n, ", %s", more);
    if (rnd(6) == 0) n += snprintf(out + n, TEXT - (size_t)n, ", until(sum(t) > 40)");
    snprintf(
        out + n, TEXT - (size_t)n,
        "], sequences=[arange(n)], outputs_info=[x, %s%s], keep=['last', '%s'%s])[0]",
        rnd(3) ? "u" : "x", more ? ", None" : "", rnd(4) ? "last" : "all",
        more ? (rnd(2) ? ", 'all'" : ", 'last'") : "");
}

/* ---- graphs ---- */

static Graph *random_graph(DType d, int ndim, const int64_t *dim) {
    Graph *g = graph_new(s);
    Builder b = builder(g, true);
    char text[TEXT];
    Dim to[2];
    for (int k = 0; k < ndim; k++)
        to[k] = rnd(3) ? DIM_NAMED(sym(s, k ? "b" : "a")) : dim[k];
    const Type *t = type_tensor(s, d, ndim, to);
    Bind bind[] = {
        {sym(s, "x"), graph_input(g, sym(s, "x"), t)},
        {sym(s, "u"), graph_input(g, sym(s, "u"), t)},
        {sym(s, "n"), graph_input(g, sym(s, "n"), type_tensor(s, DT_INT64, 0, NULL))}};
    put_loop(text);
    bool ok = true;
    Env env = {.bind = bind, .n = 3};
    Var v =
        template_build(&b, arena_str(session_arena(s), text, strlen(text)), &env, &ok);
    ApplyId id = v == VAR_NONE ? APPLY_NONE : var_owner(g, v);
    diag_clear(s);
    if (!ok || id == APPLY_NONE || !op_is(s, g->apply[id].op, OP_SCAN))
        return graph_free(g), NULL;
    for (Var k = 0; k < g->apply[id].nout; k++) {
        char name[8];
        snprintf(name, sizeof name, "r%u", k);
        vec_push(s, &g->outputs, ((Output){sym(s, name), g->apply[id].out + k}));
    }
    return g;
}

/* ---- runs ---- */

static void look(const Graph *g) {
    for (ApplyId id = 0; id < g->napply; id++) {
        if (!op_is(s, g->apply[id].op, OP_SCAN)) continue;
        ScanForm f = scan_form_of(g, id, session_arena(s));
        ScanState *state = NEW_N(session_arena(s), f.nout, ScanState);
        PlanOptions o = {
            .own_results = true, .nstate = scan_last_states(&f, state), .state = state};
        Plan *p = plan_new(f.fn, &o);
        for (size_t k = 0; p && k < o.nstate; k++)
            over += plan_overwrites_state(p, state[k].out);
        loops += o.nstate;
        plan_free(p);
    }
}

static bool run(Machine *m, const Value *in) {
    for (size_t i = 0; i < 3; i++)
        if (!vm_set_input(m, i, &in[i])) return false;
    return vm_run(m);
}

static void compare(unsigned number, Graph *g, Value *in) {
    static const PlanOptions how[] = {
        {.no_inplace = true, .threads = 1}, {.threads = 1}, {0}, {.no_code = true}};
    static const int64_t counts[] = {3, 0, 1, 2, 40, 7};
    enum { RUNS = sizeof how / sizeof *how, COUNTS = sizeof counts / sizeof *counts };
    Plan *p[RUNS];
    Machine *m[RUNS];
    for (int k = 0; k < RUNS; k++)
        m[k] = vm_new(p[k] = plan_new(g, &how[k]));
    for (int c = 0; c < COUNTS; c++) {
        *(int64_t *)in[2].t.data = counts[c];
        bool ok[RUNS];
        for (int k = 0; k < RUNS; k++) {
            ok[k] = run(m[k], in);
            diag_clear(s);
            CHECK(ok[k] == ok[0], "graph %u, run %d, %d steps", number, k,
                  (int)counts[c]);
            for (size_t i = 0; k && ok[k] && ok[0] && i < g->outputs.n; i++)
                CHECK(tensor_identical(&vm_output(m[k], i)->t, &vm_output(m[0], i)->t),
                      "graph %u, run %d, output %zu, %d steps", number, k, i,
                      (int)counts[c]);
        }
    }
    for (int k = 0; k < RUNS; k++)
        vm_free(m[k]), plan_free(p[k]);
}

int main(void) {
    static const DType dtypes[] = {DT_FLOAT64, DT_FLOAT32, DT_FLOAT64, DT_COMPLEX128,
                                   DT_INT32};
    static const int64_t sizes[] = {3, 4, 7, 33, 200, 1000};
    unsigned built = 0;
    s = session_new(NULL, NULL);
    session_options(s)->threads = 2;
    vm_open(s);
    for (unsigned i = 0; i < GRAPHS; i++) {
        DType d = dtypes[rnd(5)];
        int64_t dim[2] = {sizes[rnd(6)], sizes[rnd(4)]};
        int ndim = 1 + (int)rnd(2);
        Graph *g = random_graph(d, ndim, dim);
        RewriteOptions o = {.query = {.mode = rnd(3) ? "FAST_RUN" : "NONE"}};
        Graph *h = g ? rewrite_run(g, &o, NULL) : NULL;
        if (h) {
            Value in[3];
            for (int k = 0; k < 3; k++)
                in[k] = (Value){.kind = TYPE_TENSOR};
            in[0].t = random_tensor(s, d, ndim, dim);
            in[1].t = random_tensor(s, d, ndim, dim);
            tensor_zeros(s, DT_INT64, 0, NULL, &in[2].t);
            look(h);
            compare(i, h, in);
            for (int k = 0; k < 3; k++)
                value_unref(&in[k]);
            graph_free(h);
            built++;
        }
        diag_clear(s);
        if (g) graph_free(g);
    }
    CHECK(built > GRAPHS / 3 && over > loops / 4,
          "%u built, %llu of %llu states in place", built, (unsigned long long)over,
          (unsigned long long)loops);
    session_free(s);
    return TEST_END("prop states");
}
