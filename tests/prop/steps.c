/* Loops over single elements whose steps are machine code as a whole: the same bits as
 * by the loops of the ops one by one, for random bodies, dtypes, taps, rows that are
 * kept, ends, and numbers of steps; and on the same machine again. */
#include "../unit/vm_test.h"
#include "rewrite/rewrite.h"
#include "vm/jit/asm.h"
#include "vm/scan.h"

#include <string.h>

enum { GRAPHS = 1500, TEXT = 4096, STATES = 3 };

static Session *s;
static uint64_t with_code, loops;

/* ---- texts ---- */

typedef struct Text {
    char p[TEXT];
    size_t n;
    bool whole; /* of integers */
} Text;

static void put(Text *t, const char *text) {
    size_t n = strlen(text);
    if (t->n + n >= TEXT) return;
    memcpy(t->p + t->n, text, n + 1);
    t->n += n;
}

static void put_leaf(Text *t) {
    static const char *const leaf[] = {"p", "q", "r", "x", "z", "p2"};
    static const char *const number[] = {"3", "1", "7", "0.3", "0.75", "1.5"};
    put(t, rnd(5) ? leaf[rnd(6)] : number[rnd(3) + (t->whole ? 0 : 3)]);
}

/* A and B: operands. */
static void put_value(Text *t, int depth) {
    static const char *const any[] = {
        "(A + B)",       "(A - B)",       "A * B",
        "maximum(A, B)", "minimum(A, B)", "where(A > B, A, p)",
        "(-A)",          "abs(A)",        "where((A <= B) & (A != x), z, B)",
        "square(A)"};
    static const char *const floats[] = {"A / (2 + abs(B))", "sqrt(abs(A)) * B",
                                         "floor(A) + B"};
    static const char *const wholes[] = {"(A & B)", "(A ^ B)", "((A << 3) + (B >> 2))",
                                         "(A // 4 - B % 8)"};
    if (depth == 0 || rnd(6) == 0) {
        put_leaf(t);
        return;
    }
    const char *form = rnd(4)     ? any[rnd(sizeof any / sizeof *any)]
                       : t->whole ? wholes[rnd(4)]
                                  : floats[rnd(3)];
    for (; *form; form++) {
        if (*form == 'A' || *form == 'B')
            put_value(t, depth - 1);
        else
            put(t, (char[]){*form, '\0'});
    }
}

/* States p, q, r, a row x, the p before the last, and z, the same in each step; now and
 * then with what has no code, or passed on as they are. */
static void put_loop(Text *t) {
    put(t, "scan(lambda x, p2, p, q, r, z: [");
    for (int i = 0; i < STATES; i++) {
        if (rnd(4) == 0) {
            put(t, (const char *const[]){"p, ", "q, ", "r, ", "x, ", "p2, "}[rnd(5)]);
            continue;
        }
        if (!t->whole && rnd(20) == 0) put(t, "tanh(q) + ");
        put_value(t, 1 + (int)rnd(3));
        put(t, t->whole ? ", " : " * 0.5, ");
    }
    if (rnd(3))
        put_value(t, 2);
    else
        put(t, rnd(2) ? "p" : "x > q");
    if (rnd(3) == 0) {
        put(t, ", until(");
        put_value(t, 1);
        put(t, rnd(2) ? " > 2)" : " <= -1)");
    }
    put(t, "], sequences=[x], outputs_info=[");
    put(t, rnd(3) ? "taps(u, [-2, -1])" : "taps(u, [-1, -2])");
    put(t, ", u[0], u[1], None], non_sequences=[u[1]], n_steps=n, keep=[");
    for (int i = 0; i <= STATES; i++)
        put(t, rnd(2) ? "'last', " : "'all', ");
    put(t, "])[0]");
}

static Graph *random_graph(DType d) {
    Graph *g = graph_new(s);
    Builder b = builder(g, true);
    Text t = {.whole = dtype_is_integer(d)};
    const Type *row = type_tensor(s, d, 1, (Dim[]){DIM_UNKNOWN}),
               *two = type_tensor(s, d, 1, (Dim[]){2}),
               *count = type_tensor(s, DT_INT64, 0, NULL);
    Bind bind[] = {{sym(s, "x"), graph_input(g, sym(s, "x"), row)},
                   {sym(s, "u"), graph_input(g, sym(s, "u"), two)},
                   {sym(s, "n"), graph_input(g, sym(s, "n"), count)}};
    put_loop(&t);
    bool ok = true;
    Env env = {.bind = bind, .n = 3};
    Var v = template_build(&b, arena_str(session_arena(s), t.p, t.n), &env, &ok);
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

static void look(const Machine *m) {
    for (uint32_t k = 0; m->scan && k < m->p->nins; k++) {
        const ScanRun *l = m->scan[k];
        if (!l) continue;
        loops++;
        const BlockProgram *b = l->plan->nins == 1 ? l->plan->ins[0].prog : NULL;
        with_code += b && b->steps;
    }
}

static void compare(unsigned number, Graph *g, Value *in) {
    static const PlanOptions how[] = {{.no_code = true}, {0}};
    static const int64_t counts[] = {50, 0, 1, 5, 6, 7, 40000, 300};
    enum { RUNS = sizeof how / sizeof *how, COUNTS = sizeof counts / sizeof *counts };
    Plan *p[RUNS];
    Machine *m[RUNS];
    for (int k = 0; k < RUNS; k++)
        m[k] = vm_new(p[k] = plan_new(g, &how[k]));
    for (int c = 0; c < COUNTS; c++) {
        if (counts[c] > 1000 && number % 16) continue;
        *(int64_t *)in[2].t.data = counts[c];
        bool ok[RUNS];
        for (int k = 0; k < RUNS; k++) {
            ok[k] = true;
            for (size_t i = 0; i < 3; i++)
                ok[k] &= vm_set_input(m[k], i, &in[i]);
            ok[k] = ok[k] && vm_run(m[k]);
            diag_clear(s);
        }
        CHECK(ok[1] == ok[0], "graph %u, %d steps", number, (int)counts[c]);
        for (size_t i = 0; ok[1] && ok[0] && i < g->outputs.n; i++)
            CHECK(tensor_identical(&vm_output(m[1], i)->t, &vm_output(m[0], i)->t),
                  "graph %u, output %zu, %d steps", number, i, (int)counts[c]);
    }
    look(m[1]);
    for (int k = 0; k < RUNS; k++)
        vm_free(m[k]), plan_free(p[k]);
}

static bool has_code(void) {
#if HAS_ASM
    return asm_widest(session_cpu_level(s)) != WIDTH_ONE;
#else
    return false;
#endif
}

int main(void) {
    static const DType dtypes[] = {DT_FLOAT64, DT_FLOAT32, DT_INT64, DT_INT32,
                                   DT_FLOAT64};
    static const int64_t rows[] = {40000}, two[] = {2};
    unsigned built = 0;
    s = session_new(NULL, NULL);
    vm_open(s);
    for (unsigned i = 0; i < GRAPHS; i++) {
        DType d = dtypes[rnd(5)];
        Graph *g = random_graph(d);
        RewriteOptions o = {.query = {.mode = "FAST_RUN"}};
        Graph *h = g ? rewrite_run(g, &o, NULL) : NULL;
        if (h) {
            Value in[3];
            for (int k = 0; k < 3; k++)
                in[k] = (Value){.kind = TYPE_TENSOR};
            in[0].t = random_tensor(s, d, 1, rows);
            in[1].t = random_tensor(s, d, 1, two);
            tensor_zeros(s, DT_INT64, 0, NULL, &in[2].t);
            compare(i, h, in);
            for (int k = 0; k < 3; k++)
                value_unref(&in[k]);
            graph_free(h);
            built++;
        }
        diag_clear(s);
        if (g) graph_free(g);
    }
    CHECK(built > GRAPHS / 2, "%u built", built);
    CHECK((with_code > loops / 4) == has_code(), "%llu of %llu loops are code",
          (unsigned long long)with_code, (unsigned long long)loops);
    session_free(s);
    return TEST_END("prop steps");
}
