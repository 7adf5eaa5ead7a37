/* Elementwise groups that end in what writes them into another array give the same bits
 * as alone: random groups over parts of arrays, written to random parts, set or added,
 * for all dtypes, where the array is an input, a result that dies, read by the group or
 * kept, by one thread and by several. */
#include "../unit/vm_test.h"
#include "rewrite/rewrite.h"

enum { GRAPHS = 1500, DIMS = 3, TEXT = 512 };

static Session *s;
static uint64_t written, inplace, refused;

/* ---- texts ---- */

/* Parts of equal size of an axis, in turn: written, read; which elements don't matter
 * otherwise. */
static const char *const parts[][3] = {
    {":", ":", ":"},       {"1:", ":-1", "1:"},       {":-1", "1:", ":-1"},
    {"1:-1", "2:", ":-2"}, {"1:-1", "1:-1", "2:"},    {"::2", "::2", "::2"},
    {"::-1", ":", "::-1"}, {"-2:0:-1", "1:-1", "2:"}, {"2", "1", "2"},
    {"i", "1", "i"},       {"i:-1", "2:", "i:-1"},    {"i:", ":-i", "i:"},
};
static const char *const groups[] = {
    "A + B",      "A * B - A",         "maximum(A, B) + B", "where(A > B, A, B * 2)",
    "abs(A) * A", "A - 2 * B + A * B", "A * c + B",         "(A + B) * A * c",
    "A == B",     "floor(A) - B",      "A / (abs(B) + 1)",  "exp(A) * B",
};
static const char *const targets[] = {"x",     "x",       "concatenate([x[1:], x[:1]])",
                                      "x * 2", "x[::-1]", "zeros_like(x)"};
static const DType dtypes[] = {DT_FLOAT32,   DT_FLOAT64,    DT_FLOAT64, DT_FLOAT16,
                               DT_INT8,      DT_INT32,      DT_INT64,   DT_UINT16,
                               DT_COMPLEX64, DT_COMPLEX128, DT_FLOAT32, DT_BOOL};

/* index[0] is written, the others are of its shape. */
static void random_index(int ndim, char index[3][64]) {
    for (int k = 0; k < 3; k++)
        index[k][0] = '\0';
    int take = 1 + (int)rnd((uint32_t)ndim);
    for (int d = 0; d < take; d++) {
        uint32_t p = rnd(sizeof parts / sizeof *parts);
        for (int k = 0; k < 3; k++)
            snprintf(index[k] + strlen(index[k]), 64 - strlen(index[k]), "%s%s",
                     d ? ", " : "", parts[p][k]);
    }
}

/* The group's text with A and B replaced. */
static void put_group(const char *text, const char *a, const char *b, char *out) {
    size_t n = 0;
    for (; *text; text++)
        if (*text == 'A' || *text == 'B')
            n += (size_t)snprintf(out + n, TEXT - n, "(%s)", *text == 'A' ? a : b);
        else
            out[n++] = *text;
    out[n] = '\0';
}

/* ---- graphs ---- */

typedef struct Sizes {
    int ndim;
    int64_t dim[DIMS];
} Sizes;

static Sizes random_sizes(void) {
    static const int64_t size[] = {3, 4, 6, 9, 17, 33, 50, 64, 130, 300, 1025};
    Sizes x = {.ndim = 1 + (int)rnd(DIMS)};
    int64_t left = rnd(6) ? 5000 : 200000;
    for (int k = 0; k < x.ndim; k++) {
        do
            x.dim[k] = size[rnd(sizeof size / sizeof *size)];
        while (x.dim[k] > left && x.dim[k] > 3);
        left /= x.dim[k];
    }
    if (rnd(8) == 0) x.dim[rnd((uint32_t)x.ndim)] *= left > 1 ? left : 1;
    return x;
}

static Var input(Graph *g, const char *name, DType d, const Sizes *x) {
    Dim dim[DIMS];
    for (int k = 0; k < x->ndim; k++)
        dim[k] = rnd(3) == 0 ? DIM_UNKNOWN : x->dim[k];
    return graph_input(g, sym(s, name), type_tensor(s, d, x->ndim, dim));
}

/* What A or B is: a part of u or v, of the target, or a row or number that stretches.
 */
static const char *operand(char *to, char index[3][64]) {
    static const char *const of[] = {"u", "v", "u", "v", "t"};
    uint32_t k = rnd(8);
    if (k >= sizeof of / sizeof *of) return k == 5 ? "c" : k == 6 ? "u[0]" : "v[1] * 2";
    snprintf(to, 128, "%s[%s]", of[k], index[1 + rnd(2)]);
    return to;
}

static Var build(Builder *b, Env *env, const char *text) {
    bool ok = true;
    size_t mark = diag_count(s);
    const char *kept =
        arena_str(session_arena(s), text, strlen(text)); /* it is the key */
    Var v = template_build(b, kept, env, &ok);
    diag_rewind(s, mark);
    return ok ? v : VAR_NONE;
}

static void let(Env *env, Bind *bind, const char *name, Var v) {
    bind[env->n++] = (Bind){sym(s, name), v};
}

static void add_output(Graph *g, Var v) {
    char name[8];
    snprintf(name, sizeof name, "r%zu", g->outputs.n);
    if (v != VAR_NONE) vec_push(s, &g->outputs, ((Output){sym(s, name), v}));
}

enum { X, U, V, C, I, INPUTS };

/* False: the texts don't fit the dtype or the sizes. */
static bool write_once(Builder *b, Env *env, Bind *bind, int ndim) {
    char index[3][64], a[128], c[128], group[TEXT], text[2 * TEXT];
    random_index(ndim, index);
    char *second = rnd(3) ? c : a;
    put_group(groups[rnd(sizeof groups / sizeof *groups)], operand(a, index),
              operand(second, index), group);
    Var y = build(b, env, group);
    if (y == VAR_NONE) return false;
    let(env, bind, "y", y);
    snprintf(text, sizeof text, "%s_subtensor(t[%s], y)", rnd(3) ? "set" : "inc",
             index[0]);
    Var t = build(b, env, text);
    env->n--;
    if (t == VAR_NONE) return false;
    if (rnd(6) == 0) add_output(b->g, y);
    env->n--;
    let(env, bind, "t", t);
    return true;
}

static Graph *random_graph(const Sizes *all, DType d) {
    static const Sizes none = {0};
    Graph *g = graph_new(s);
    Builder b = builder(g, true);
    Bind bind[INPUTS + 4];
    Env env = {.bind = bind};
    const char *const name[] = {"x", "u", "v"};
    for (int k = X; k <= V; k++)
        let(&env, bind, name[k], input(g, name[k], d, all));
    let(&env, bind, "c", input(g, "c", d, &none));
    let(&env, bind, "i", input(g, "i", DT_INT64, &none));
    let(&env, bind, "t",
        build(&b, &env, targets[rnd(sizeof targets / sizeof *targets)]));
    int times = 1 + (int)rnd(3), made = 0;
    for (int tries = 0; bind[INPUTS].var != VAR_NONE && made < times && tries < 30;
         tries++)
        made += write_once(&b, &env, bind, all->ndim);
    if (made) add_output(g, bind[INPUTS].var);
    return g;
}

/* ---- runs ---- */

static void look(const Plan *p) {
    for (size_t i = 0; i < plan_steps(p); i++) {
        PlanStep x = plan_step(p, i);
        if (x.kind != PLAN_FUSED) continue;
        const Apply *end = &x.fn->apply[x.fn->napply - 1];
        bool writes = op_rare(end->op)->streams && op_rare(end->op)->streamed;
        written += writes;
        for (size_t k = 0; writes && k < plan_vars(p); k++) {
            PlanVar v = plan_var(p, k);
            inplace += v.born == i && v.how == PLAN_INPLACE &&
                       var_owner(plan_graph(p), v.var) == x.apply;
        }
    }
}

static bool run(Machine *m, const Value *in) {
    for (size_t i = 0; i < INPUTS; i++)
        if (!vm_set_input(m, i, &in[i])) return false;
    return vm_run(m);
}

static void compare(unsigned number, Graph *plain, Graph *g, const Value *in) {
    static const PlanOptions how[] = {
        {.threads = 1}, {.threads = 1}, {.no_code = true}, {.no_inplace = true}, {0}};
    enum { RUNS = sizeof how / sizeof *how };
    Plan *p[RUNS];
    Machine *m[RUNS];
    bool ok[RUNS];
    for (int k = 0; k < RUNS; k++) {
        p[k] = plan_new(k ? g : plain, &how[k]);
        m[k] = vm_new(p[k]);
        ok[k] = run(m[k], in) && run(m[k], in);
        CHECK(ok[k] == ok[0], "graph %u, run %d", number, k);
        diag_clear(s);
        for (size_t i = 0; k && ok[k] && ok[0] && i < g->outputs.n; i++)
            CHECK(tensor_identical(&vm_output(m[k], i)->t, &vm_output(m[0], i)->t),
                  "graph %u, run %d, output %zu", number, k, i);
    }
    refused += !ok[0];
    look(p[1]);
    for (int k = 0; k < RUNS; k++)
        vm_free(m[k]), plan_free(p[k]);
}

static Graph *rewritten(Graph *g, bool fuses) {
    static const char *const only[] = {"merge", "fusion"};
    RewriteOptions o = {
        .query = {.mode = "NONE", .ninclude = fuses ? 2 : 1, .include = only}};
    return rewrite_run(g, &o, NULL);
}

static void take_inputs(const Sizes *all, DType d, Value *in) {
    for (int k = X; k <= C; k++)
        in[k] = (Value){.kind = TYPE_TENSOR,
                        .t = random_tensor(s, d, k == C ? 0 : all->ndim, all->dim)};
    in[I] = (Value){.kind = TYPE_TENSOR};
    tensor_zeros(s, DT_INT64, 0, NULL, &in[I].t);
    *(int64_t *)in[I].t.data = rnd(30) ? 1 : 5000;
}

int main(void) {
    s = session_new(NULL, NULL);
    session_options(s)->threads = 3;
    vm_open(s);
    for (unsigned i = 0; i < GRAPHS; i++) {
        Sizes all = random_sizes();
        DType d = dtypes[rnd(sizeof dtypes / sizeof *dtypes)];
        Value in[INPUTS];
        Graph *g = random_graph(&all, d);
        Graph *plain = g->outputs.n ? rewritten(g, false) : NULL,
              *h = plain ? rewritten(g, true) : NULL;
        if (h) {
            take_inputs(&all, d, in);
            compare(i, plain, h, in);
            for (int k = 0; k < INPUTS; k++)
                value_unref(&in[k]);
        }
        if (h) graph_free(h);
        if (plain) graph_free(plain);
        diag_clear(s);
        graph_free(g);
    }
    CHECK(written > GRAPHS / 3 && inplace > GRAPHS / 10 && refused > 0,
          "%llu written, %llu in place, %llu refused", (unsigned long long)written,
          (unsigned long long)inplace, (unsigned long long)refused);
    printf("%llu written, %llu in place, %llu refused\n", (unsigned long long)written,
           (unsigned long long)inplace, (unsigned long long)refused);
    session_free(s);
    return TEST_END("prop written");
}
