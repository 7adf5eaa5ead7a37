/* Machine code for arithmetic: random programs of the ops that have it, and of others
 * between, give the same bits as the loops one by one, for both dtypes, all levels of
 * CPU, lengths around whole vectors, and special values. */
#include "graph/graph.h"
#include "vm/jit/asm.h"
#include "vm/vm_impl.h"
#include "vm_test.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct {
    const char *name;
    size_t nin;
} ops[] = {{"add", 2},      {"subtract", 2}, {"multiply", 2},   {"true_divide", 2},
           {"maximum", 2},  {"minimum", 2},  {"square", 1},     {"sqrt", 1},
           {"negative", 1}, {"abs", 1},      {"floor", 1},      {"ceil", 1},
           {"trunc", 1},    {"round", 1},    {"reciprocal", 1}, {"multiply", 2},
           {"add", 2},      {"tanh", 1},     {"sign", 1}};
enum {
    NOPS = sizeof ops / sizeof *ops,
    CODED = 15,
    INPUTS = 4,
    MOST = 40,
    OUTPUTS = 3
};

static const double special[] = {0.0,   -0.0, HUGE_VAL, -HUGE_VAL, (double)NAN, 1e-310,
                                 1e-40, 1e38, 0.5,      1.5,       2.5,         -2.5};

/* What inputs hold. OPPOSITE: numbers that cancel later, and swallow what is added to
 * them till then, so that the order of a sum shows in float32. */
typedef enum Content { SPECIAL, FINITE, OPPOSITE } Content;

static void put(Tensor *t, int64_t i, double v) {
    if (t->dtype == DT_FLOAT64)
        ((double *)t->data)[i] = v;
    else
        ((float *)t->data)[i] = (float)v;
}

static void fill(Tensor *t, Content what) {
    int64_t n = tensor_size(t);
    for (int64_t i = 0; i < n; i++)
        put(t, i,
            what != SPECIAL || rnd(3) ? (rnd(2001) - 1000.0) / 300
                                      : special[rnd(sizeof special / sizeof *special)]);
    for (int64_t i = 1; what == OPPOSITE && i < n; i += 2 + rnd(6)) {
        double v = ldexp(1, (int)rnd(120));
        put(t, i, v);
        put(t, i - 1, -v);
    }
}

static Var leaf(Graph *f, DType d, const Var *v, size_t n) {
    if (rnd(6) > 0) return v[rnd((uint32_t)n)];
    Tensor t;
    tensor_new(f->s, d, 0, NULL, &t);
    fill(&t, SPECIAL);
    Var c = graph_const(f, &t, true);
    tensor_unref(&t);
    return c;
}

/* A bool of some values; now and then by an op that has no machine code. */
static Var mask_of(Builder *b, DType d, const Var *v, size_t n, int depth) {
    static const char *const compare[] = {"equal",      "not_equal", "less",
                                          "less_equal", "greater",   "greater_equal",
                                          "isnan",      "isfinite"};
    static const char *const join[] = {"logical_and", "bitwise_or", "logical_xor",
                                       "bitwise_and", "logical_or", "bitwise_xor",
                                       "equal"};
    Var in[2];
    if (depth > 0 && rnd(2)) {
        in[0] = mask_of(b, d, v, n, depth - 1);
        in[1] = mask_of(b, d, v, n, depth - 1);
        return rnd(3) ? ap(b, join[rnd(6 + (rnd(4) == 0))], 2, in)
                      : ap(b, rnd(2) ? "invert" : "logical_not", 1, in);
    }
    uint32_t which = rnd(8);
    for (int i = 0; i < 2; i++)
        in[i] = leaf(b->g, d, v, n);
    return ap(b, compare[which], which < 6 ? 2 : 1, in);
}

/* What depends on such a bool. */
static Var choice_of(Builder *b, DType d, const Var *v, size_t n) {
    Var in[] = {mask_of(b, d, v, n, 2), leaf(b->g, d, v, n), leaf(b->g, d, v, n)};
    return rnd(3) ? ap(b, "where", 3, in) : op_cast_to(b, in[0], d);
}

/* Vectors; the last one is a single element. */
static const Type *input_type(Session *s, DType d, size_t i) {
    return type_tensor(s, d, i + 1 < INPUTS, (Dim[]){DIM_UNKNOWN});
}

/* What functions are made of, and how many outputs they have: some values, or the sum
 * or mean of the last one alone. */
typedef struct Form {
    DType d;
    size_t count, kinds, nout;
    bool deep;    /* values stay in use to the end */
    bool choices; /* some of bools */
    const char *sum;
} Form;

/* A function marked fused. */
static Graph *make_function(Graph *g, const Form *form) {
    DType d = form->d;
    size_t count = form->count, kinds = form->kinds;
    bool deep = form->deep;
    Graph *f = graph_function_new(g, sym(g->s, "f"));
    f->fused = true;
    Builder b = builder(f, true);
    Var v[MOST + INPUTS];
    size_t n = 0;
    for (; n < INPUTS; n++) {
        char name[8];
        snprintf(name, sizeof name, "x%zu", n);
        v[n] = graph_input(f, sym(g->s, name), input_type(g->s, d, n));
    }
    for (size_t k = 0; k < count; k++, n++) {
        size_t o = rnd((uint32_t)kinds);
        Var in[2] = {deep ? v[n - 1] : v[rnd((uint32_t)n)], leaf(f, d, v, n)};
        if (deep && 2 * k >= count) in[1] = v[count - 1 - k + INPUTS];
        v[n] = form->choices && rnd(4) == 0 ? choice_of(&b, d, v, n)
                                            : ap(&b, ops[o].name, ops[o].nin, in);
    }
    if (form->sum) v[n - 1] = ap(&b, form->sum, 1, &v[n - 1]);
    for (size_t k = 0; k < form->nout; k++) {
        Var out = k ? v[INPUTS + rnd((uint32_t)count)] : v[n - 1];
        vec_push(g->s, &f->outputs, ((Output){0, out}));
    }
    return f;
}

static Graph *make_graph(Session *s, const Form *form) {
    Graph *g = graph_new(s);
    Graph *f = make_function(g, form);
    Var in[INPUTS], out[OUTPUTS];
    for (size_t i = 0; i < INPUTS; i++)
        in[i] = graph_input(g, f->leaf[f->var[f->inputs.p[i]].owner].name,
                            input_type(s, form->d, i));
    Builder b = builder(g, true);
    const Op *call = op_find(s, "call", 4);
    PropArg which = {"fn", {.kind = P_GRAPH, .sym = f->name}};
    bool ok = op_apply(&b, call, props_make(s, call, 1, &which), INPUTS, in, out);
    CHECK(ok);
    for (size_t k = 0; ok && k < form->nout; k++)
        vec_push(s, &g->outputs, ((Output){0, out[k]}));
    return g;
}

static bool same_bits(const Tensor *x, const Tensor *y) {
    if (tensor_size(x) != tensor_size(y) || x->dtype != y->dtype) return false;
    for (int64_t i = 0; i < tensor_size(x); i++) {
        double a = tensor_f64(x, i), b = tensor_f64(y, i);
        if (isnan(a) && isnan(b)) continue; /* of any payload */
        if (memcmp(&a, &b, sizeof a) != 0) return false;
    }
    return true;
}

static size_t with_code; /* plans */
static struct { size_t nests, rows, turned, flat; /* steps */ } used;

static void count_loops(const Machine *m) {
    for (uint32_t k = 0; k < m->p->nins; k++) {
        const Prep *p = m->prep[k];
        used.nests += p && p->nest;
        used.rows += p && p->nest && m->p->ins[k].prog->columns[0].op;
        used.turned += p && p->turns;
        used.flat += p && m->p->ins[k].prog && nest_is_flat(m->p->ins[k].prog, p);
    }
}

/* g gives the same with machine code and without. Gives the inputs away. */
static void compare_on(Graph *g, size_t n, Tensor *in, const char *what) {
    Plan *p[2] = {plan_new(g, &(PlanOptions){0}),
                  plan_new(g, &(PlanOptions){.no_code = true})};
    Machine *m[2] = {vm_new(p[0]), vm_new(p[1])};
    with_code += p[0]->code != NULL;
    CHECK(!p[1]->code);
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 2; k++)
            CHECK(vm_set_input(m[k], i, &(Value){.kind = TYPE_TENSOR, .t = in[i]}));
        tensor_unref(&in[i]);
    }
    CHECK(vm_run(m[0]) && vm_run(m[1]), "%s", what);
    count_loops(m[0]);
    for (size_t k = 0; k < g->outputs.n; k++) {
        const Tensor *x = &vm_output(m[0], k)->t;
        CHECK(same_bits(x, &vm_output(m[1], k)->t), "%s, output %zu of %lld elements",
              what, k, (long long)tensor_size(x));
    }
    for (int k = 0; k < 2; k++)
        vm_free(m[k]), plan_free(p[k]);
}

static void compare(Graph *g, DType d, int64_t n, Content content, const char *what) {
    Tensor in[INPUTS];
    for (size_t i = 0; i < INPUTS; i++) {
        tensor_new(g->s, d, i + 1 < INPUTS, &n, &in[i]);
        fill(&in[i], content);
    }
    compare_on(g, INPUTS, in, what);
}

static void test_level(int level) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->threads = 2;
    session_options(s)->cpu_level = level;
    vm_open(s);
    static const int64_t sizes[] = {0, 1, 7, 8, 15, 16, 17, 33, 100, 1000, 70001};
    for (int round = 0; round < 150; round++) {
        DType d = rnd(2) ? DT_FLOAT32 : DT_FLOAT64;
        bool deep = rnd(4) == 0;
        size_t count = 2 + rnd(deep ? MOST - 2 : 14), kinds = rnd(3) ? CODED : NOPS;
        Graph *g = make_graph(s, &(Form){d, count, kinds, OUTPUTS, deep, rnd(2), NULL});
        char what[60];
        snprintf(what, sizeof what, "level %d, round %d, %zu ops", level, round, count);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes - (round % 10 > 0); i++)
            compare(g, d, sizes[i], SPECIAL, what);
        graph_free(g);
    }
    session_free(s);
}

/* Sums as their elements are computed, around whole groups and blocks. */
static void test_sums(int level) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->cpu_level = level;
    vm_open(s);
    static const int64_t sizes[] = {0,   1,   31,   32,   127,  128,  129,
                                    157, 160, 1001, 1024, 4095, 4128, 70001};
    for (int round = 0; round < 200; round++) {
        DType d = rnd(2) ? DT_FLOAT32 : DT_FLOAT64;
        Content content = (Content)rnd(3);
        size_t count = 1 + rnd(rnd(4) ? 5 : 20), kinds = rnd(3) ? CODED : NOPS;
        if (content == OPPOSITE) count = 1 + rnd(2), kinds = 2;
        Graph *g = make_graph(
            s, &(Form){d, count, kinds, 1, false, rnd(2), rnd(3) ? "sum" : "mean"});
        char what[60];
        snprintf(what, sizeof what, "level %d, sum %d, %zu ops", level, round, count);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            compare(g, d, sizes[i], content, what);
        graph_free(g);
    }
    session_free(s);
}

/* As where would have it. */
static Var larger_of(Builder *b, const Var *x) {
    Var in[] = {ap(b, "greater", 2, x), x[0], x[1]};
    return ap(b, "where", 3, in);
}

static Graph *make_broadcast(Session *s, DType d, size_t count) {
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    Dim wide[] = {DIM_UNKNOWN, DIM_UNKNOWN}, narrow[] = {DIM_UNKNOWN, 1};
    Var v[3 + 8] = {graph_input(g, sym(s, "x"), type_tensor(s, d, 2, wide)),
                    graph_input(g, sym(s, "y"), type_tensor(s, d, 2, narrow)),
                    graph_input(g, sym(s, "z"), type_tensor(s, d, 0, NULL))};
    size_t n = 3;
    for (; n < 3 + count; n++) {
        size_t o = rnd(6);
        Var with[2] = {v[n > 3 ? n - 1 : 0], v[n > 3 ? rnd((uint32_t)n) : 1]};
        if (rnd(2)) with[0] = with[1], with[1] = v[n > 3 ? n - 1 : 0];
        v[n] = rnd(4) ? ap(&b, ops[o].name, 2, with) : larger_of(&b, with);
    }
    vec_push(s, &g->outputs, ((Output){0, v[n - 1]}));
    return g;
}

/* Rows and a single element that are broadcast to a matrix, by one op and by several,
 * with sizes that turn out to be 1. */
static void test_broadcast(int level) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->threads = 2;
    session_options(s)->cpu_level = level;
    vm_open(s);
    static const int64_t sizes[][2] = {{5, 48}, {3, 100}, {40, 1000},
                                       {1, 70}, {70, 1},  {0, 64},
                                       {64, 0}, {9, 7},   {2, 70001}};
    for (int round = 0; round < 60; round++) {
        DType d = rnd(2) ? DT_FLOAT32 : DT_FLOAT64;
        size_t count = 1 + rnd(round % 2 ? 1 : 8);
        Graph *g = make_broadcast(s, d, count);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            int64_t one[2] = {sizes[i][0], 1};
            Tensor t[3];
            tensor_new(s, d, 2, sizes[i], &t[0]);
            tensor_new(s, d, 2, one, &t[1]);
            tensor_new(s, d, 0, NULL, &t[2]);
            for (size_t k = 0; k < 3; k++)
                fill(&t[k], SPECIAL);
            char what[80];
            snprintf(what, sizeof what, "level %d, broadcast %d, %zu ops, size %zu",
                     level, round, count, i);
            compare_on(g, 3, t, what);
        }
        graph_free(g);
    }
    session_free(s);
}

/* ---- inputs that broadcast along any dims, in short rows and long ones ---- */
enum { CUBE = 3 };

/* By input and dim: has it one element there? The first input has all dims. */
typedef struct Cube {
    DType d;
    bool one[INPUTS][CUBE];
    bool known; /* the sizes, by the types */
    bool many;  /* rows and columns */
    const char *sum;
    PropArg axis;
    size_t count;
} Cube;

static const Type *cube_type(Session *s, const Cube *c, size_t i, const int64_t *size) {
    Dim dim[CUBE];
    for (int k = 0; k < CUBE; k++)
        dim[k] = c->one[i][k] ? 1 : c->known ? (Dim)size[k] : DIM_UNKNOWN;
    return type_tensor(s, c->d, CUBE, dim);
}

static Graph *make_cube(Session *s, const Cube *c, const int64_t *size) {
    Graph *g = graph_new(s), *f = graph_function_new(g, sym(s, "f"));
    f->fused = true;
    Builder b = builder(f, true), outer = builder(g, true);
    Var v[MOST + INPUTS], in[INPUTS], out;
    size_t n = 0;
    for (; n < INPUTS; n++) {
        char name[8];
        snprintf(name, sizeof name, "x%zu", n);
        const Type *t = cube_type(s, c, n, size);
        v[n] = graph_input(f, sym(s, name), t);
        in[n] = graph_input(g, sym(s, name), t);
    }
    for (size_t k = 0; k < c->count; k++, n++) {
        size_t o = rnd(CODED);
        Var with[2] = {k ? v[n - 1] : v[0], leaf(f, c->d, v, n)};
        if (k < INPUTS - 1) with[1] = v[k + 1];
        if (ops[o].nin == 2 && rnd(2)) with[0] = with[1], with[1] = k ? v[n - 1] : v[0];
        v[n] = rnd(4) ? ap(&b, ops[o].name, ops[o].nin, with) : larger_of(&b, with);
    }
    if (c->sum) v[n - 1] = apply_named(&b, c->sum, 1, &v[n - 1], 1, &c->axis);
    vec_push(s, &f->outputs, ((Output){0, v[n - 1]}));
    const Op *call = op_find(s, "call", 4);
    PropArg which = {"fn", {.kind = P_GRAPH, .sym = f->name}};
    CHECK(op_apply(&outer, call, props_make(s, call, 1, &which), INPUTS, in, &out));
    vec_push(s, &g->outputs, ((Output){0, out}));
    return g;
}

static void compare_cube(Session *s, const Cube *c, int level, int round) {
    static const int64_t few[] = {1, 2, 3, 5, 8, 31, 70},
                         row[] = {0, 1, 3, 8, 10, 16, 17, 33, 47, 48, 100, 143, 260};
    for (int i = 0; i < 8; i++) {
        uint32_t skip = c->many ? 4 : 0, n = sizeof few / sizeof *few - skip;
        int64_t size[CUBE] = {few[skip + rnd(n)], few[skip + rnd(n)],
                              row[rnd(sizeof row / sizeof *row)]};
        if (rnd(8) == 0) size[1] = 700;
        Graph *g = make_cube(s, c, size);
        Tensor t[INPUTS];
        for (size_t k = 0; k < INPUTS; k++) {
            int64_t shape[CUBE];
            for (int j = 0; j < CUBE; j++)
                shape[j] = c->one[k][j] ? 1 : size[j];
            tensor_new(s, c->d, CUBE, shape, &t[k]);
            fill(&t[k], round % 4 ? FINITE : SPECIAL);
        }
        char what[120];
        snprintf(what, sizeof what, "level %d, cube %d, %zu ops, %s, %d x %d x %d",
                 level, round, c->count, c->sum ? c->sum : "no sum", (int)size[0],
                 (int)size[1], (int)size[2]);
        compare_on(g, INPUTS, t, what);
        graph_free(g);
    }
}

/* Sums of short rows, between all rows of some inputs and all rows of others. */
static void be_distances(Cube *c) {
    c->sum = rnd(4) ? "sum" : "mean";
    c->axis.value = PROP_INT(2);
    c->many = true;
    for (int i = 0; i < INPUTS; i++) {
        bool first = i == 0 || (i > 1 && rnd(2));
        c->one[i][0] = !first;
        c->one[i][1] = first;
        c->one[i][2] = i > 1 && rnd(2);
    }
}

/* Sums of columns of what doesn't broadcast, but for a single element. */
static void be_flat(Cube *c) {
    c->sum = rnd(4) ? "sum" : "mean";
    c->axis.value = PROP_INT((int64_t)rnd(2));
    memset(c->one, 0, sizeof c->one);
    bool one = rnd(2);
    for (int k = 0; k < CUBE; k++)
        c->one[INPUTS - 1][k] = one;
}

static void test_cubes(int level) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->threads = 2;
    session_options(s)->cpu_level = level;
    vm_open(s);
    static const int64_t axes[] = {0, 1, 2, 0, 2};
    static const size_t from[] = {0, 1, 2, 0, 1, 3}, many[] = {1, 1, 1, 2, 2, 2};
    for (int round = 0; round < 60; round++) {
        uint32_t which = rnd(sizeof from / sizeof *from);
        Cube c = {.d = rnd(3) ? DT_FLOAT64 : DT_FLOAT32,
                  .known = rnd(2),
                  .sum = rnd(3) == 0 ? NULL
                         : rnd(4)    ? "sum"
                                     : "mean",
                  .axis = {"axis", PROP_INTS(axes + from[which], many[which])},
                  .count = 2 + rnd(6)};
        uint32_t whole = rnd(INPUTS + 1); /* none: all broadcast */
        for (uint32_t i = 0; i < INPUTS; i++)
            for (int k = 0; k < CUBE; k++)
                c.one[i][k] = i != whole && rnd(2);
        if (round % 3 == 0) be_distances(&c);
        if (round % 5 == 1) be_flat(&c);
        compare_cube(s, &c, level, round);
    }
    session_free(s);
}

static bool has_code(int level) {
#if HAS_ASM
    return asm_widest(level) != WIDTH_ONE;
#else
    return (void)level, false;
#endif
}
/* where(less(x, y) | isnan(x), x + y, less(x, y) as a number); also: one of the bools
 * is an output, too, or read by an op without machine code. */
typedef enum Also { NOTHING_ELSE, OUTPUT, OTHER_OP, ALSO } Also;
static Graph *make_choice(Session *s, DType d, Also also) {
    Graph *g = graph_new(s), *f = graph_function_new(g, sym(s, "f"));
    f->fused = true;
    Builder b = builder(f, true), outer = builder(g, true);
    const Type *t = type_tensor(s, d, 1, (Dim[]){DIM_UNKNOWN});
    Var x[] = {graph_input(f, sym(s, "x"), t), graph_input(f, sym(s, "y"), t)},
        with[] = {graph_input(g, sym(s, "x"), t), graph_input(g, sym(s, "y"), t)};
    Var less = ap(&b, "less", 2, x), nan = ap(&b, "isnan", 1, x);
    Var is = ap(&b, "logical_or", 2, (Var[]){less, nan});
    if (also == OTHER_OP) is = ap(&b, "equal", 2, (Var[]){is, nan});
    Var in[] = {is, ap(&b, "add", 2, x), op_cast_to(&b, less, d)}, out[2];
    vec_push(s, &f->outputs, ((Output){0, ap(&b, "where", 3, in)}));
    if (also == OUTPUT) vec_push(s, &f->outputs, ((Output){0, nan}));
    const Op *call = op_find(s, "call", 4);
    PropArg which = {"fn", {.kind = P_GRAPH, .sym = f->name}};
    CHECK(op_apply(&outer, call, props_make(s, call, 1, &which), 2, with, out));
    for (size_t k = 0; k < f->outputs.n; k++)
        vec_push(s, &g->outputs, ((Output){0, out[k]}));
    return g;
}

/* Bools that nothing else reads are no more than masks of one loop, where the CPU's
 * code has them; others are made by their own loops. */
static void test_masks(int level) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->cpu_level = level;
    vm_open(s);
    const int64_t n = 1000;
    for (int k = 0; k < 2 * ALSO; k++) {
        DType d = k % 2 ? DT_FLOAT32 : DT_FLOAT64;
        Graph *g = make_choice(s, d, (Also)(k / 2));
        Plan *p = plan_new(g, &(PlanOptions){0});
        const BlockProgram *b = p->ins[0].prog;
        bool one = k / 2 == NOTHING_ELSE && has_code(level);
        CHECK(b && (b->nrun == 1) == one, "%u loops of %u ops", b->nrun, b->nop);
        plan_free(p);
        Tensor in[2];
        for (int i = 0; i < 2; i++) {
            tensor_new(s, d, 1, &n, &in[i]);
            fill(&in[i], SPECIAL);
        }
        compare_on(g, 2, in, "masks");
        graph_free(g);
    }
    session_free(s);
}

/* Outputs that no cache holds go past them, from a loop of their own. */
static void test_large(void) {
    Session *s = session_new(NULL, NULL);
    vm_open(s);
    for (int k = 0; k < 2; k++) {
        DType d = k ? DT_FLOAT32 : DT_FLOAT64;
        Graph *g = make_graph(s, &(Form){d, 5, CODED, OUTPUTS, false, true, NULL});
        compare(g, d, (4 << 20) + 5, SPECIAL, "large");
        graph_free(g);
    }
    session_free(s);
}

/* ---- nothing beyond the operands is touched ---- */

/* Elements that begin, or end, where the memory does that may be touched. */
static char *fenced(size_t bytes, bool end) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *p = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool ok = p != MAP_FAILED && bytes <= page &&
              mprotect(p + page, page, PROT_READ | PROT_WRITE) == 0;
    CHECK(ok);
    return ok ? p + page + (end ? page - bytes : 0) : NULL;
}

static void unmap_fenced(char *p, bool end, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    munmap(p + (end ? bytes : page) - 2 * page, 3 * page);
}

/* Calls a loop; false: what must survive calls didn't, or it reported a fault. */
#ifdef __aarch64__
static bool call_loop(Loop *loop, size_t n, const void *const *in, void *const *out) {
    uint64_t after[8];
    register size_t x0 __asm__("x0") = n;
    register const void *const *x1 __asm__("x1") = in;
    register void *const *x2 __asm__("x2") = out;
    register uint64_t *kept __asm__("x19") = after;
    register Loop *function __asm__("x20") = loop;
    __asm__ volatile("movi v8.16b, #1\n\tmovi v9.16b, #2\n\t"
                     "movi v10.16b, #3\n\tmovi v11.16b, #4\n\t"
                     "movi v12.16b, #5\n\tmovi v13.16b, #6\n\t"
                     "movi v14.16b, #7\n\tmovi v15.16b, #8\n\t"
                     "blr %4\n\t"
                     "stp d8, d9, [%3]\n\tstp d10, d11, [%3, #16]\n\t"
                     "stp d12, d13, [%3, #32]\n\tstp d14, d15, [%3, #48]"
                     : "+r"(x0), "+r"(x1), "+r"(x2)
                     : "r"(kept), "r"(function)
                     : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",
                       "x13", "x14", "x15", "x16", "x17", "x18", "x30", "v0", "v1",
                       "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",
                       "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20",
                       "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29",
                       "v30", "v31", "cc", "memory");
    bool same = true;
    for (uint64_t i = 0; i < 8; i++)
        same &= after[i] == (i + 1) * UINT64_C(0x0101010101010101);
    return same && (unsigned)x0 == 0;
}
#else
static bool call_loop(Loop *loop, size_t n, const void *const *in, void *const *out) {
    return loop(n, in, out) == 0;
}
#endif

/* What is called. */
typedef enum Called { IS_LOOP, IS_SUMS, IS_NEST } Called;

/* Sums n columns of `rows` rows, in twos of COLUMN_TREE and one by one. */
static void sum_fenced(const BlockProgram *b, const ColumnLoop *loop, size_t n,
                       size_t rows, bool end) {
    enum { MANY = 16 };
    const BlockOp *op = loop->op;
    void *at[4 * MANY];
    size_t bytes[MANY], nin = op->nin, trees = loop == &b->columns[1] ? 0 : rows / 8;
    CHECK(nin < MANY);
    for (size_t i = 0; i <= nin; i++) {
        size_t size = i < nin ? program_bytes(b, b->value[op->arg + i]) : 8,
               step = size * (i < nin && loop->is_single[i] ? 1 : n);
        bytes[i] = step * (i < nin ? rows : 1);
        at[i] = fenced(bytes[i], end);
        if (i == nin) break;
        int64_t back = -(int64_t)(rows * step);
        memcpy(&at[nin + 1 + i], &step, sizeof step);
        memcpy(&at[2 * nin + 1 + i], &back, sizeof back);
    }
    size_t left = rows - trees * 8, more = rows % 2 == n % 2;
    memcpy(&at[3 * nin + 1], &trees, sizeof trees);
    memcpy(&at[3 * nin + 2], &left, sizeof left);
    memcpy(&at[3 * nin + 3], &more, sizeof more);
    const void *in[MANY];
    memcpy(in, at, nin * sizeof *in);
    CHECK(call_loop(op->loop, n, in, at + nin));
    for (size_t i = 0; i <= nin; i++)
        unmap_fenced(at[i], end, bytes[i]);
}

/* Runs a loop on n elements, a nest on three rows of them. */
static void run_fenced(const BlockProgram *b, const BlockOp *op, size_t n, bool end,
                       Called what) {
    enum { MANY = 32, ROWS = 3 };
    void *at[2 * MANY + 1];
    size_t bytes[MANY], count = (size_t)op->nin + op->nout, rows = ROWS;
    CHECK(count <= MANY);
    for (size_t i = 0; i < count; i++) {
        uint32_t slot = b->slot[op->arg + i];
        bool single = what == IS_NEST && i < op->nin && b->is_single[slot];
        size_t step = program_bytes(b, b->value[op->arg + i]) * (single ? 1 : n);
        bytes[i] = what == IS_NEST ? ROWS * step : step;
        if (what == IS_SUMS && i == op->nin) bytes[i] = PIECE_SUMS * sizeof(double);
        at[i] = fenced(bytes[i], end);
        memcpy(&at[count + i], &step, sizeof step);
    }
    memcpy(&at[2 * count], &rows, sizeof rows);
    const void *in[MANY];
    memcpy(in, at, op->nin * sizeof *in);
    CHECK(call_loop(op->loop, n, in, at + op->nin));
    for (size_t i = 0; i < count; i++)
        unmap_fenced(at[i], end, bytes[i]);
}

static void run_all_fenced(Graph *g) {
    Plan *p = plan_new(g, &(PlanOptions){0});
    for (size_t k = 0; k < p->nins; k++) {
        const BlockProgram *b = p->ins[k].prog;
        for (size_t n = 0; b && p->code && n < 72; n = n < 34 ? n + 1 : n + 7)
            for (int end = 0; end < 2; end++) {
                for (size_t i = 0; i < b->nrun; i++)
                    if (b->run[i].loop) run_fenced(b, &b->run[i], n, end, IS_LOOP);
                if (b->nest) run_fenced(b, b->nest, n, end, IS_NEST);
                for (int i = 0; i < 2 && n < 34; i++)
                    if (b->columns[i].op)
                        sum_fenced(b, &b->columns[i], n, n < 16 ? 19 : 9, end);
                if (b->adds) run_fenced(b, b->adds, n, end, IS_SUMS);
            }
    }
    plan_free(p);
}

static void test_fences(int level) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->cpu_level = level;
    vm_open(s);
    for (int round = 0; round < 12; round++) {
        DType d = round % 2 ? DT_FLOAT32 : DT_FLOAT64;
        const char *sum = round % 3 == 0 ? "sum" : NULL;
        Graph *g = round % 3 == 1
                       ? make_broadcast(s, d, 1 + rnd(6))
                       : make_graph(s, &(Form){d, 5, CODED, sum ? 1 : OUTPUTS, false,
                                               rnd(2), sum});
        run_all_fenced(g);
        graph_free(g);
        Cube c = {.d = d, .sum = "sum", .axis = {"axis", PROP_INT(2)}, .count = 4};
        c.one[1][0] = c.one[2][1] = c.one[3][1] = c.one[3][2] = true;
        g = make_cube(s, &c, (int64_t[]){0, 0, 0});
        run_all_fenced(g);
        graph_free(g);
    }
    session_free(s);
}

/* Columns are summed by a loop of theirs, and nothing is compiled for the other kind,
 * though all dims are alike. */
static void test_kinds_of_sums(int level) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->cpu_level = level;
    vm_open(s);
    const Prop axes[] = {PROP_INT(0), PROP_INT(2), PROP_INTS(((int64_t[]){0, 2}), 2)};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        Cube c = {DT_FLOAT64, .known = true, .sum = "sum", .axis = {"axis", axes[i]}};
        c.count = 4;
        Graph *g = make_cube(s, &c, (int64_t[]){6, 6, 6});
        Plan *p = plan_new(g, &(PlanOptions){0});
        const BlockProgram *b = p->ins[0].prog;
        CHECK(b && (b->columns[0].op != NULL) == (has_code(level) && i == 0));
        CHECK(b && (b->adds != NULL) == (has_code(level) && i > 0), "axes %zu", i);
        plan_free(p);
        graph_free(g);
    }
    session_free(s);
}

/* The levels that this CPU has. */
int main(void) {
    Session *s = session_new(NULL, NULL);
    int most = session_cpu_level(s);
    session_free(s);
    for (int level = 0; level <= most; level++) {
        with_code = 0;
        memset(&used, 0, sizeof used);
        test_level(level);
        CHECK((with_code > 0) == has_code(level));
        test_broadcast(level);
        test_cubes(level);
        bool all =
            used.nests > 100 && used.rows > 30 && used.turned > 30 && used.flat > 20;
        CHECK(all == has_code(level), "%zu nests, %zu of rows, %zu turned, %zu flat",
              used.nests, used.rows, used.turned, used.flat);
        test_sums(level);
        test_kinds_of_sums(level);
        test_fences(level);
        test_masks(level);
    }
    test_large();
    return TEST_END("vm_code");
}
