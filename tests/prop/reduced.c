/* Reductions that are fused with what they reduce give the same bits as alone: random
 * elementwise graphs over broadcast and strided inputs, reduced over any axes, for all
 * dtypes, with other readers of what is reduced, by one thread and by several. */
#include "../unit/vm_test.h"
#include "rewrite/rewrite.h"

#include <string.h>

enum { GRAPHS = 1000, INPUTS = 4, NODES = 12, OUTPUTS = 6, LARGE = 150000 };

static Session *s;
static uint64_t fused, parts;

/* ---- graphs ---- */
static const char *const unary[] = {"negative", "abs", "square", "tanh", "exp", "sqrt"};
static const char *const binary[] = {"add", "subtract", "multiply", "maximum", "less"};
static const char *const reductions[] = {"sum", "mean", "prod", "max", "min",
                                         "any", "all",  "var",  "std"};
static const DType dtypes[] = {DT_FLOAT32, DT_FLOAT32, DT_FLOAT64,   DT_FLOAT64,
                               DT_FLOAT16, DT_INT8,    DT_INT32,     DT_INT64,
                               DT_UINT16,  DT_BOOL,    DT_COMPLEX64, DT_COMPLEX128};

typedef struct Sizes {
    int ndim;
    int64_t dim[4];
} Sizes;

static Sizes random_sizes(void) {
    static const int64_t size[] = {0, 1, 2, 3, 5, 7, 10, 32, 33, 64, 257, 1000, 4097};
    Sizes x = {.ndim = (int)rnd(5)};
    int64_t left = rnd(8) ? LARGE / 50 : LARGE;
    for (int k = 0; k < x.ndim; k++) {
        do
            x.dim[k] =
                rnd(12) ? size[1 + rnd(sizeof size / sizeof *size - 1)] : size[0];
        while (x.dim[k] > left);
        if (x.dim[k]) left /= x.dim[k];
    }
    int much = (int)rnd(8); /* along one dim */
    if (much < x.ndim) x.dim[much] *= left;
    return x;
}

/* Some dims are 1 and stretch, and leading ones may be missing. */
static Sizes input_sizes(const Sizes *all) {
    Sizes x = {0};
    int from = rnd(3) ? 0 : (int)rnd((uint32_t)all->ndim + 1);
    for (int k = from; k < all->ndim; k++)
        x.dim[x.ndim++] = rnd(4) ? all->dim[k] : 1;
    return x;
}

static const Type *type_of_sizes(DType d, const Sizes *x) {
    Dim dim[4];
    for (int k = 0; k < x->ndim; k++)
        dim[k] = x->dim[k] != 1 && rnd(4) == 0 ? DIM_UNKNOWN : x->dim[k];
    return type_tensor(s, d, x->ndim, dim);
}

static Var reduce(Builder *b, Var x) {
    const char *name = reductions[rnd(9)];
    const Op *op = op_find(s, name, strlen(name));
    int64_t axis[4];
    size_t n = 0;
    for (int k = 0; k < var_type(b->g, x)->ndim; k++)
        if (rnd(2)) axis[n++] = k;
    PropArg arg[] = {{"keepdims", PROP_BOOL(rnd(2))}, {"axis", PROP_INTS(axis, n)}};
    return op_apply1(b, op, props_make(s, op, n ? 2 : 1, arg), 1, &x);
}

static void add_output(Graph *g, Var v) {
    char name[8];
    snprintf(name, sizeof name, "r%zu", g->outputs.n);
    if (v != VAR_NONE) vec_push(s, &g->outputs, ((Output){sym(s, name), v}));
}

static Graph *random_graph(Sizes size[INPUTS], DType dtype[INPUTS]) {
    Graph *g = graph_new(s);
    Builder b = builder(g, true);
    Sizes all = random_sizes();
    Var v[INPUTS + NODES];
    uint32_t n = 0;
    DType usual = dtypes[rnd(12)];
    for (; n < INPUTS; n++) {
        char name[8];
        snprintf(name, sizeof name, "x%u", n);
        dtype[n] = rnd(5) ? usual : dtypes[rnd(12)];
        size[n] = n ? input_sizes(&all) : all;
        v[n] = graph_input(g, sym(s, name), type_of_sizes(dtype[n], &size[n]));
    }
    uint32_t count = INPUTS + 1 + rnd(NODES - 1);
    for (int tries = 0; n < count && tries < 60; tries++) {
        Var x = v[rnd(2) ? n - 1 : rnd(n)], y = v[rnd(n)];
        size_t mark = diag_count(s);
        Var made = rnd(3) ? op_call2(&b, binary[rnd(5)], x, y)
                          : op_call1(&b, unary[rnd(6)], x);
        if (made == VAR_NONE)
            diag_rewind(s, mark);
        else
            v[n++] = made;
    }
    for (uint32_t k = 0, nout = 1 + rnd(3); k < nout; k++) {
        size_t mark = diag_count(s);
        Var x = v[k ? INPUTS + rnd(n - INPUTS) : n - 1];
        add_output(g, n == INPUTS ? VAR_NONE : reduce(&b, x));
        diag_rewind(s, mark);
        if (rnd(4) == 0) add_output(g, x);
    }
    return g;
}

/* ---- runs ---- */
/* Its dims the other way round in memory, and sometimes every second element, or the
 * first dim backwards. */
static Tensor strided(const Tensor *t) {
    int64_t shape[4], step = rnd(2) + 1;
    Tensor big, r;
    for (int k = 0; k < t->ndim; k++)
        shape[k] = t->shape[t->ndim - 1 - k] * step;
    tensor_zeros(s, t->dtype, t->ndim, shape, &big);
    r = big;
    for (int k = 0; k < t->ndim; k++) {
        r.shape[k] = t->shape[k];
        r.stride[k] = big.stride[t->ndim - 1 - k] * step;
    }
    if (t->ndim && t->shape[0] && rnd(3) == 0) {
        r.data = (char *)r.data + (t->shape[0] - 1) * r.stride[0];
        r.stride[0] = -r.stride[0];
    }
    tensor_assign(&r, t);
    return r;
}

static void take_inputs(const Sizes *size, const DType *dtype, Value *in) {
    for (int i = 0; i < INPUTS; i++) {
        Tensor t = random_tensor(s, dtype[i], size[i].ndim, size[i].dim);
        if (rnd(3) == 0) {
            Tensor u = strided(&t);
            tensor_unref(&t);
            t = u;
        }
        if (tensor_size(&t) && tensor_is_contiguous(&t) && rnd(4) == 0) {
            if (t.dtype == DT_FLOAT32) ((float *)t.data)[0] = __builtin_nanf("");
            if (t.dtype == DT_FLOAT64) ((double *)t.data)[0] = -0.0;
        }
        in[i] = (Value){.kind = TYPE_TENSOR, .t = t};
    }
}

static bool run(Machine *m, const Value *in) {
    for (size_t i = 0; i < INPUTS; i++)
        if (!vm_set_input(m, i, &in[i])) return false;
    return vm_run(m);
}

static void look(const Plan *p) {
    for (size_t i = 0; i < plan_steps(p); i++) {
        PlanStep x = plan_step(p, i);
        if (x.kind != PLAN_FUSED) continue;
        ApplyId last = x.fn->napply - 1;
        fused += op_rare(x.fn->apply[last].op)->streams != NULL;
        parts += op_rare(x.fn->apply[last].op)->streams && x.nout > 1;
    }
}

static void compare(unsigned number, Graph *g, const Value *in) {
    static const PlanOptions how[] = {{.no_fuse = true, .threads = 1},
                                      {.threads = 1},
                                      {.no_inplace = true},
                                      {.no_code = true}};
    Plan *p[4];
    Machine *m[4];
    bool ok[4];
    for (int k = 0; k < 4; k++) {
        p[k] = plan_new(g, &how[k]);
        m[k] = vm_new(p[k]);
        ok[k] = run(m[k], in) && run(m[k], in);
        CHECK(ok[k] == ok[0], "graph %u, run %d", number, k);
        diag_clear(s);
        for (size_t i = 0; k && ok[k] && ok[0] && i < g->outputs.n; i++)
            CHECK(tensor_identical(&vm_output(m[k], i)->t, &vm_output(m[0], i)->t),
                  "graph %u, run %d, output %zu", number, k, i);
    }
    look(p[1]);
    for (int k = 0; k < 4; k++)
        vm_free(m[k]), plan_free(p[k]);
}

int main(void) {
    s = session_new(NULL, NULL);
    session_options(s)->threads = 3;
    vm_open(s);
    for (unsigned i = 0; i < GRAPHS; i++) {
        Sizes size[INPUTS];
        DType dtype[INPUTS];
        Value in[INPUTS];
        Graph *g = random_graph(size, dtype);
        const char *const only[] = {"merge", "fusion"};
        RewriteOptions o = {.query = {.mode = "NONE", .ninclude = 2, .include = only}};
        Graph *h = g->outputs.n ? rewrite_run(g, &o, NULL) : NULL;
        if (h) {
            take_inputs(size, dtype, in);
            compare(i, h, in);
            for (int k = 0; k < INPUTS; k++)
                value_unref(&in[k]);
            graph_free(h);
        }
        diag_clear(s);
        graph_free(g);
    }
    CHECK(fused > GRAPHS / 2 && parts > GRAPHS / 10, "%llu fused, %llu with others",
          (unsigned long long)fused, (unsigned long long)parts);
    session_free(s);
    return TEST_END("prop reduced");
}
