/* Machine code for integers: random programs of elements of one size, signed, unsigned
 * and float, give the same bits as the loops one by one, at all levels of CPU, for
 * lengths around whole vectors, for rows that broadcast, and at the ends of ranges. */
#include "graph/graph.h"
#include "vm/jit/asm.h"
#include "vm/vm_impl.h"
#include "vm_test.h"

#include <string.h>

enum { KINDS = 3, INPUTS = 2 * KINDS, MOST = 24, OUTPUTS = 3 };
enum { SIGNED, UNSIGNED, FLOATS };

/* By size and kind. */
static const DType dtype[2][KINDS] = {{DT_INT32, DT_UINT32, DT_FLOAT32},
                                      {DT_INT64, DT_UINT64, DT_FLOAT64}};

static const struct {
    const char *name;
    size_t nin;
    bool takes[KINDS];
} ops[] = {
    {"add", 2, {true, true, true}},          {"subtract", 2, {true, true, true}},
    {"multiply", 2, {true, true, true}},     {"maximum", 2, {true, true, true}},
    {"minimum", 2, {true, true, true}},      {"square", 1, {true, true, true}},
    {"negative", 1, {true, false, true}},    {"abs", 1, {true, false, true}},
    {"bitwise_and", 2, {true, true, false}}, {"bitwise_or", 2, {true, true, false}},
    {"bitwise_xor", 2, {true, true, false}}, {"invert", 1, {true, true, false}},
    {"left_shift", 2, {true, true, false}},  {"right_shift", 2, {true, true, false}},
    {"sign", 1, {true, false, true}}};
enum {
    NOPS = sizeof ops / sizeof *ops,
    CODED = 14, /* the rest have loops only */
    SHIFTS = 12 /* the first of two */
};

static uint64_t integer(int bits) {
    static const uint64_t few[] = {0, 1, UINT64_MAX, 2, 31, 32, 63, 64, 255, 300};
    switch (rnd(4)) {
    case 0:
        return few[rnd(sizeof few / sizeof *few)];
    case 1:
        return (UINT64_C(1) << (bits - 1)) + rnd(3) - 1;
    case 2:
        return (uint64_t)rnd(2001) - 1000;
    default:
        return (uint64_t)rnd(1U << 31) << 33 ^ rnd(1U << 31);
    }
}

static void fill(Tensor *t) {
    size_t size = dtype_size(t->dtype);
    for (int64_t i = 0; i < tensor_size(t); i++) {
        uint64_t bits = integer(8 * (int)size);
        double wide = rnd(9) ? (double)(int64_t)(bits % 5000) / 16 - 100 : -0.0;
        float narrow = (float)wide;
        uint32_t low = (uint32_t)bits;
        const void *from = &bits;
        if (dtype_is_float(t->dtype))
            from = size == 8 ? (const void *)&wide : &narrow;
        else if (size == 4)
            from = &low;
        memcpy((char *)t->data + (size_t)i * size, from, size);
    }
}

/* ---- programs ---- */

/* What has been computed, by kind. */
typedef struct Program {
    Graph *f;
    Builder b;
    const DType *dtype; /* by kind */
    bool coded;         /* only what has code, too */
    struct {
        Var v[MOST + INPUTS];
        uint32_t n;
    } of[KINDS];
} Program;

static Var one_of(Program *p, uint32_t kind) {
    if (rnd(6)) return p->of[kind].v[rnd(p->of[kind].n)];
    Tensor t;
    tensor_new(p->f->s, p->dtype[kind], 0, NULL, &t);
    fill(&t);
    Var c = graph_const(p->f, &t, true);
    tensor_unref(&t);
    return c;
}

static Var count(Program *p, uint32_t kind) {
    Tensor t;
    tensor_new(p->f->s, p->dtype[kind], 0, NULL, &t);
    uint64_t by = rnd(70);
    memcpy(t.data, &by, dtype_size(t.dtype)); /* the low bytes come first */
    Var c = graph_const(p->f, &t, true);
    tensor_unref(&t);
    return c;
}

static Var mask_of(Program *p, int depth) {
    static const char *const compare[] = {"equal",      "not_equal", "less",
                                          "less_equal", "greater",   "greater_equal"};
    uint32_t kind = rnd(KINDS);
    if (depth > 0 && rnd(3) == 0) {
        Var in[] = {mask_of(p, depth - 1), mask_of(p, depth - 1)};
        return ap(&p->b, rnd(2) ? "logical_and" : "logical_xor", 2, in);
    }
    Var in[] = {one_of(p, kind), one_of(p, kind)};
    return ap(&p->b, compare[rnd(6)], 2, in);
}

static Var choice_of(Program *p, uint32_t kind) {
    Var in[] = {mask_of(p, 1), one_of(p, kind), one_of(p, kind)};
    return rnd(3) ? ap(&p->b, "where", 3, in)
                  : op_cast_to(&p->b, in[0], p->dtype[kind]);
}

/* Which of these have code is up to the CPU. */
static Var cast_of(Program *p, uint32_t kind) {
    return op_cast_to(&p->b, one_of(p, rnd(2)), p->dtype[kind]);
}

/* A shift by what may be negative is an error; others are by any number. */
static Var arithmetic_of(Program *p, uint32_t kind) {
    uint32_t o = rnd(p->coded ? CODED : NOPS);
    while (!ops[o].takes[kind])
        o = rnd(SHIFTS);
    Var in[2] = {one_of(p, kind), one_of(p, kind)};
    if (o / 2 == SHIFTS / 2 && kind == SIGNED) in[1] = count(p, kind);
    return ap(&p->b, ops[o].name, ops[o].nin, in);
}

/* matrix: inputs are rows, columns and single elements, too. */
static const Type *input_type(Session *s, DType d, size_t i, bool matrix) {
    Dim dim[] = {i % 3 == 2 ? 1 : DIM_UNKNOWN, i % 3 == 1 ? 1 : DIM_UNKNOWN};
    return matrix ? type_tensor(s, d, 2, dim)
                  : type_tensor(s, d, 1, (Dim[]){DIM_UNKNOWN});
}

static void add_inputs(Program *p, bool matrix) {
    for (size_t i = 0; i < INPUTS; i++) {
        char name[8];
        snprintf(name, sizeof name, "x%zu", i);
        uint32_t kind = (uint32_t)(i % KINDS);
        const Type *t = input_type(p->f->s, p->dtype[kind], i / KINDS, matrix);
        p->of[kind].v[p->of[kind].n++] = graph_input(p->f, sym(p->f->s, name), t);
    }
}

static Graph *make_call(Session *s, Graph *g, Graph *f) {
    Var in[INPUTS], out[OUTPUTS];
    Builder b = builder(g, true);
    for (size_t i = 0; i < f->inputs.n; i++)
        in[i] = graph_input(g, f->leaf[f->var[f->inputs.p[i]].owner].name,
                            var_type(f, f->inputs.p[i]));
    PropArg which = {"fn", {.kind = P_GRAPH, .sym = f->name}};
    const Op *call = op_find(s, "call", 4);
    CHECK(op_apply(&b, call, props_make(s, call, 1, &which), f->inputs.n, in, out));
    for (size_t k = 0; k < f->outputs.n; k++)
        vec_push(s, &g->outputs, ((Output){0, out[k]}));
    return g;
}

static Graph *make_graph(Session *s, int size, size_t nop, bool coded, bool matrix) {
    Graph *g = graph_new(s), *f = graph_function_new(g, sym(s, "f"));
    f->fused = true;
    Program p = {.f = f, .b = builder(f, true), .dtype = dtype[size], .coded = coded};
    add_inputs(&p, matrix);
    uint32_t kind = 0;
    for (size_t k = 0; k < nop; k++) {
        kind = rnd(KINDS);
        uint32_t what = rnd(8);
        Var v = what == 0 && !coded ? cast_of(&p, kind)
                : what < 3          ? choice_of(&p, kind)
                                    : arithmetic_of(&p, kind);
        p.of[kind].v[p.of[kind].n++] = v;
    }
    for (size_t k = 0; k < (matrix ? 1 : OUTPUTS); k++, kind = (kind + 1) % KINDS)
        vec_push(s, &f->outputs, ((Output){0, p.of[kind].v[p.of[kind].n - 1]}));
    return make_call(s, g, f);
}

/* ---- runs ---- */

static size_t loops; /* of machine code */

static bool same(const Tensor *x, const Tensor *y) {
    return tensor_same_shape(x, y) && x->dtype == y->dtype &&
           memcmp(x->data, y->data, (size_t)tensor_bytes(x)) == 0;
}

static void compare(Graph *g, const int64_t *shape, bool matrix, const char *what) {
    Plan *p[2] = {plan_new(g, &(PlanOptions){0}),
                  plan_new(g, &(PlanOptions){.no_code = true})};
    Machine *m[2] = {vm_new(p[0]), vm_new(p[1])};
    for (uint32_t k = 0; k < p[0]->nins && p[0]->code; k++) {
        const BlockProgram *b = p[0]->ins[k].prog;
        loops += b && (b->nrun < b->nop || b->nest);
    }
    for (size_t i = 0; i < INPUTS; i++) {
        const Type *t = var_type(g, g->inputs.p[i]);
        int64_t size[2] = {shape[0], shape[1]};
        for (int k = 0; k < t->ndim; k++)
            if (t->dim[k] == 1) size[k] = 1;
        Tensor in;
        tensor_new(g->s, t->dtype, t->ndim, matrix ? size : shape + 1, &in);
        fill(&in);
        for (int k = 0; k < 2; k++)
            CHECK(vm_set_input(m[k], i, &(Value){.kind = TYPE_TENSOR, .t = in}));
        tensor_unref(&in);
    }
    CHECK(vm_run(m[0]) && vm_run(m[1]), "%s", what);
    for (size_t k = 0; k < g->outputs.n; k++)
        CHECK(same(&vm_output(m[0], k)->t, &vm_output(m[1], k)->t),
              "%s, output %zu, %lld x %lld", what, k, (long long)shape[0],
              (long long)shape[1]);
    for (int k = 0; k < 2; k++)
        vm_free(m[k]), plan_free(p[k]);
}

static void test_level(int level) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->cpu_level = level;
    vm_open(s);
    static const int64_t row[][2] = {{1, 0},  {1, 1},   {1, 3},   {1, 8},    {1, 15},
                                     {1, 17}, {1, 100}, {1, 129}, {1, 70001}},
                         matrix[][2] = {{5, 48}, {3, 101}, {40, 1000}, {1, 70},
                                        {70, 1}, {0, 64},  {64, 0},    {9, 7}};
    for (int round = 0; round < 300; round++) {
        bool by_rows = round % 3 == 0;
        size_t nop = 2 + rnd(MOST - 2);
        Graph *g = make_graph(s, round % 2, nop, rnd(2), by_rows);
        char what[80];
        snprintf(what, sizeof what, "level %d, round %d, %zu ops", level, round, nop);
        size_t n = by_rows ? sizeof matrix / sizeof *matrix : sizeof row / sizeof *row;
        for (size_t i = 0; i < n; i++)
            compare(g, by_rows ? matrix[i] : row[i], by_rows, what);
        graph_free(g);
    }
    session_free(s);
}

/* ---- all of a program is one loop ---- */

/* where(x > y, x + 1, y >> shift), with a y of its own dtype. */
static Graph *make_known(Session *s, DType d, bool constant_shift) {
    Graph *g = graph_new(s), *f = graph_function_new(g, sym(s, "f"));
    f->fused = true;
    Program p = {.f = f, .b = builder(f, true), .dtype = &d};
    const Type *t = type_tensor(s, d, 1, (Dim[]){DIM_UNKNOWN});
    Var x = graph_input(f, sym(s, "x"), t), y = graph_input(f, sym(s, "y"), t),
        by = constant_shift ? count(&p, 0) : graph_input(f, sym(s, "by"), t);
    Var in[] = {ap(&p.b, "greater", 2, (Var[]){x, y}),
                ap(&p.b, "add", 2, (Var[]){x, count(&p, 0)}),
                ap(&p.b, "right_shift", 2, (Var[]){y, by})};
    vec_push(s, &f->outputs, ((Output){0, ap(&p.b, "where", 3, in)}));
    return make_call(s, g, f);
}

static void check_loops(Session *s, DType d, bool constant_shift, bool one) {
    Graph *g = make_known(s, d, constant_shift);
    Plan *p = plan_new(g, &(PlanOptions){0});
    const BlockProgram *b = p->ins[0].prog;
    CHECK(b && (b->nrun == 1) == one, "%u loops of %u ops", b->nrun, b->nop);
    plan_free(p);
    graph_free(g);
}

/* A shift by a constant that is no error, or by any unsigned number, is part of it. */
static void test_known(int level) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->cpu_level = level;
    vm_open(s);
#ifdef __x86_64__
    bool code = asm_widest(level) != WIDTH_ONE;
#else
    bool code = false; /* of shifts */
#endif
    for (int size = 0; size < 2; size++) {
        check_loops(s, dtype[size][SIGNED], true, code);
        check_loops(s, dtype[size][SIGNED], false, false);
        check_loops(s, dtype[size][UNSIGNED], true, code);
        check_loops(s, dtype[size][UNSIGNED], false, code);
    }
    session_free(s);
}

/* The levels that this CPU has. */
int main(void) {
    Session *s = session_new(NULL, NULL);
    int most = session_cpu_level(s);
    session_free(s);
    for (int level = 0; level <= most; level++) {
        test_level(level);
        test_known(level);
    }
    CHECK(loops > 1000 || most == 0, "%zu loops", loops);
    return TEST_END("vm_code_integers");
}
