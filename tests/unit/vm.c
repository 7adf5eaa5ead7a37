/* The VM against a naive evaluator that runs Applies one by one into fresh memory:
 * random graphs under every combination of the plan's options give the same bits. */
#include "vm_test.h"

#include <math.h>
#include <stdlib.h>

/* ---- naive ---- */
typedef struct Naive {
    CallHost host;
    Buffer *scratch[8];
    size_t n;
} Naive;

static bool naive_alloc(Call *c, size_t i, DType d, int ndim, const int64_t *shape) {
    Value *v = &c->out[i];
    value_unref(v);
    v->kind = TYPE_TENSOR;
    return tensor_new(c->s, d, ndim, shape, &v->t);
}

static void *naive_scratch(Call *c, size_t n) {
    Naive *h = (Naive *)(void *)c->host;
    return (h->scratch[h->n++] = buffer_new(c->s, n))->data;
}

static void broadcast_to(Session *s, const Tensor *t, int ndim, const int64_t *shape,
                         Tensor *out) {
    tensor_new(s, t->dtype, ndim, shape, out);
    tensor_assign(out, t);
}

/* One elementwise Apply with outputs of the broadcast shape. */
static void naive_loop(const Graph *g, ApplyId id, const Value *const *in, Value *out) {
    const Apply *a = &g->apply[id];
    int64_t shape[MAX_NDIM];
    int ndim = 0;
    for (int k = 0; k < a->nin; k++)
        if (in[k]->t.ndim > ndim) ndim = in[k]->t.ndim;
    for (int d = 0; d < ndim; d++) {
        shape[d] = 1;
        for (int k = 0; k < a->nin; k++) {
            int at = d - (ndim - in[k]->t.ndim);
            if (at >= 0 && in[k]->t.shape[at] != 1) shape[d] = in[k]->t.shape[at];
        }
    }
    Tensor full[8];
    const void *p[8];
    for (int k = 0; k < a->nin; k++) {
        broadcast_to(g->s, &in[k]->t, ndim, shape, &full[k]);
        p[k] = full[k].data;
    }
    DType last = in[a->nin - 1]->t.dtype, to = var_type(g, a->out)->dtype;
    out->kind = TYPE_TENSOR;
    tensor_new(g->s, to, ndim, shape, &out->t);
    void *q = out->t.data;
    op_loop(g->s, a->op, last, to)((size_t)tensor_size(&out->t), p, &q);
    for (int k = 0; k < a->nin; k++)
        tensor_unref(&full[k]);
}

static void naive_graph(Graph *g, const Value *const *inputs, const Value *shared,
                        Value *v);

static void naive_apply(Graph *g, ApplyId id, Value *v) {
    const Apply *a = &g->apply[id];
    const Value *in[16];
    for (int k = 0; k < a->nin; k++)
        in[k] = &v[apply_in(g, id)[k]];
    if (strcmp(a->op->name, "call") == 0) {
        Graph *fn = graph_function(g, op_prop(g->s, a->op, a->props, "fn")->sym);
        Value *w = calloc(fn->nvar, sizeof *w);
        naive_graph(fn, in, NULL, w);
        for (int j = 0; j < a->nout; j++)
            value_copy_view(&v[a->out + (Var)j], &w[fn->outputs.p[j].var]);
        for (Var i = 0; i < fn->nvar; i++)
            value_unref(&w[i]);
        free(w);
    } else if (a->op->pick) {
        naive_loop(g, id, in, &v[a->out]);
    } else {
        Naive n = {.host = {.alloc = naive_alloc, .scratch = naive_scratch}};
        const Type *type[4];
        for (int j = 0; j < a->nout; j++)
            type[j] = var_type(g, a->out + (Var)j);
        Call c = {.s = g->s,
                  .g = g,
                  .id = id,
                  .op = a->op,
                  .props = a->props,
                  .nin = a->nin,
                  .nout = a->nout,
                  .in = in,
                  .out = &v[a->out],
                  .out_type = type,
                  .host = &n.host};
        CHECK(a->op->perform(&c));
        while (n.n)
            buffer_unref(n.scratch[--n.n]);
    }
}

static void naive_graph(Graph *g, const Value *const *inputs, const Value *shared,
                        Value *v) {
    for (size_t i = 0; i < g->inputs.n; i++)
        value_copy_view(&v[g->inputs.p[i]], inputs[i]);
    for (size_t i = 0; i < g->shared.n; i++)
        value_copy_view(&v[g->shared.p[i]], &shared[i]);
    for (uint32_t l = 0; l < g->nleaf; l++)
        if (var_leaf(g, g->leaf[l].var) == LEAF_CONST)
            value_copy_view(&v[g->leaf[l].var], g->leaf[l].value);
    for (ApplyId a = 0; a < g->napply; a++)
        naive_apply(g, a, v);
}

/* ---- building ---- */
static const Type *f32(Session *s, int ndim, Dim a, Dim b) {
    Dim d[2] = {a, b};
    return type_tensor(s, DT_FLOAT32, ndim, d);
}

/* The same elements behind other strides: every other element of a larger array,
 * columns first. */
static Tensor strided(Session *s, const Tensor *t) {
    int64_t shape[2] = {t->shape[1] * 2, t->shape[0] * 3};
    Tensor big, r;
    tensor_zeros(s, t->dtype, 2, shape, &big);
    r = big;
    r.shape[0] = t->shape[0];
    r.shape[1] = t->shape[1];
    r.stride[0] = big.stride[1] * 3;
    r.stride[1] = big.stride[0] * 2;
    tensor_assign(&r, t);
    return r;
}

enum { NPOOL = 400 };
typedef struct Pot {
    Builder *b;
    Var v[NPOOL];
    uint32_t n;
} Pot;

static Var pick_var(Pot *p) {
    return rnd(2) || p->n < 6 ? p->v[rnd(p->n)] : p->v[p->n - 1 - rnd(5)];
}

static const char *const ops1[] = {"negative", "exp",    "tanh", "sqrt",
                                   "abs",      "square", "floor"};
static const char *const ops2[] = {"add",     "subtract", "multiply",
                                   "maximum", "minimum",  "true_divide"};

static Var random_op(Pot *p) {
    Var in[3] = {pick_var(p), pick_var(p), pick_var(p)};
    switch (rnd(8)) {
    case 0:
    case 1:
        return ap(p->b, ops1[rnd(7)], 1, in);
    case 2:
        in[0] = ap(p->b, "greater", 2, in);
        return ap(p->b, "where", 3, (Var[]){in[0], in[1], in[2]});
    case 3:
        in[0] = op_cast_to(p->b, in[0], DT_FLOAT64);
        return op_cast_to(p->b, ap(p->b, ops2[rnd(6)], 2, in), DT_FLOAT32);
    default:
        return ap(p->b, ops2[rnd(6)], 2, in);
    }
}

static void grow(Pot *p, uint32_t n) {
    for (uint32_t i = 0; i < n && p->n < NPOOL; i++) {
        Var v = random_op(p);
        if (v == VAR_NONE) {
            CHECK(false, "%s",
                  diag_first_error(p->b->s) ? diag_first_error(p->b->s)->text : "");
            return;
        }
        p->v[p->n++] = v;
    }
}

/* A fused function of inputs like the pot's first ones, called on random arguments of
 * those types. */
static void add_call(Pot *p, Graph *g, int number, bool fused) {
    Session *s = g->s;
    char name[20];
    snprintf(name, sizeof name, "f%d", number);
    Graph *fn = graph_function_new(g, sym(s, name));
    fn->fused = fused;
    Builder b = builder(fn, false);
    Pot q = {.b = &b};
    Var arg[4];
    for (uint32_t i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "a%u", i);
        arg[i] = pick_var(p);
        q.v[q.n++] = graph_input(fn, sym(s, name), var_type(g, arg[i]));
    }
    q.v[q.n++] = const_number(&b, DT_FLOAT32, 0.75);
    grow(&q, 6 + rnd(12));
    uint32_t nout = 1 + rnd(3);
    for (uint32_t j = 0; j < nout; j++) {
        Var v = rnd(4) ? q.v[q.n - 1 - rnd(6)] : q.v[rnd(q.n)];
        snprintf(name, sizeof name, "o%u", j);
        Output o = {sym(s, name), v};
        vec_push(s, &fn->outputs, o);
    }
    const Op *call = op_find(s, "call", 4);
    PropArg pa = {"fn", {.kind = P_GRAPH, .sym = fn->name}};
    Var out[4];
    if (!op_apply(p->b, call, props_make(s, call, 1, &pa), 4, arg, out)) {
        CHECK(false, "%s", diag_first_error(s)->text);
        return;
    }
    for (uint32_t j = 0; j < nout; j++)
        p->v[p->n++] = out[j];
}

static void add_views(Pot *p) {
    Session *s = p->b->s;
    const Op *t = op_find(s, "transpose", 9), *sum = op_find(s, "sum", 3);
    Var v = pick_var(p), one[1] = {v};
    if (t && var_type(p->b->g, v)->ndim == 2) {
        one[0] = op_apply1(p->b, t, NULL, 1, one);
        one[0] = op_apply1(p->b, t, NULL, 1, one);
        p->v[p->n++] = one[0];
    }
    if (sum) {
        Var w = pick_var(p);
        p->v[p->n++] = op_apply1(p->b, sum, NULL, 1, &w);
    }
}

static Graph *random_graph(Session *s) {
    Graph *g = graph_new(s);
    Builder b = builder(g, rnd(2));
    Pot p = {.b = &b};
    Dim n = DIM_NAMED(sym(s, "n")), m = DIM_NAMED(sym(s, "m"));
    const Type *type[4] = {f32(s, 2, n, m), f32(s, 1, m, 0), f32(s, 2, n, 1),
                           f32(s, 0, 0, 0)};
    const char *names[] = {"x", "y", "z", "w"};
    for (int i = 0; i < 4; i++)
        p.v[p.n++] = graph_input(g, sym(s, names[i]), type[i]);
    p.v[p.n++] = graph_shared(g, sym(s, "W"), type[0]);
    p.v[p.n++] = graph_shared(g, sym(s, "V"), type[0]);
    p.v[p.n++] = const_number(&b, DT_FLOAT32, 1.5);
    for (int i = 0; i < 3; i++) {
        grow(&p, 2 + rnd(8));
        add_views(&p);
        add_call(&p, g, i, rnd(4) != 0);
    }
    grow(&p, 1 + rnd(8));
    for (int i = 0; i < 4; i++) {
        char name[20];
        snprintf(name, sizeof name, "out%d", i);
        Output o = {sym(s, name), rnd(3) ? p.v[p.n - 1 - rnd(8)] : p.v[rnd(p.n)]};
        vec_push(s, &g->outputs, o);
    }
    for (int i = 0; i < 2; i++) {
        Var v = VAR_NONE;
        for (int tries = 0; tries < 20 && v == VAR_NONE; tries++) {
            Var c = tries < 10 && rnd(2)
                        ? ap(&b, "add", 2, (Var[]){p.v[4 + i], pick_var(&p)})
                        : pick_var(&p);
            if (c != VAR_NONE && var_type(g, c) == type[0]) v = c;
        }
        Update u = {p.v[4 + i], v};
        if (v != VAR_NONE && rnd(4)) vec_push(s, &g->updates, u);
    }
    return g;
}

/* ---- comparing ---- */
typedef struct Config {
    PlanOptions o;
    const char *what;
} Config;
static const Config configs[] = {
    {{0}, "all on"},
    {{.threads = 1}, "one thread"},
    {{.no_fuse = true}, "no fusing"},
    {{.no_inplace = true}, "nothing in place"},
    {{.no_reuse = true}, "no reuse"},
    {{.no_fuse = true, .no_inplace = true, .no_reuse = true, .threads = 1}, "all off"},
    {{.keep_all = true}, "keep all"},
};

static void input_values(Session *s, int64_t n, int64_t m, Value in[4]) {
    int64_t nm[2] = {n, m}, n1[2] = {n, 1};
    Tensor t[4] = {
        random_tensor(s, DT_FLOAT32, 2, nm), random_tensor(s, DT_FLOAT32, 1, &m),
        random_tensor(s, DT_FLOAT32, 2, n1), random_tensor(s, DT_FLOAT32, 0, NULL)};
    if (rnd(2)) {
        Tensor u = strided(s, &t[0]);
        tensor_unref(&t[0]);
        t[0] = u;
    }
    for (int i = 0; i < 4; i++)
        in[i] = (Value){.kind = TYPE_TENSOR, .t = t[i]};
}

static void run_once(Graph *g, Machine *m, Value *in, Value *shared, Value *kept,
                     Value *expect, const char *what) {
    const Value *inp[4] = {&in[0], &in[1], &in[2], &in[3]};
    Value *v = calloc(g->nvar, sizeof *v);
    naive_graph(g, inp, shared, v);
    for (size_t i = 0; i < 4; i++)
        CHECK(vm_set_input(m, i, &in[i]));
    bool ok = vm_run(m);
    CHECK(ok, "%s: %s", what, ok ? "" : diag_first_error(g->s)->text);
    for (size_t i = 0; ok && i < g->outputs.n; i++) {
        CHECK(tensor_identical(&vm_output(m, i)->t, &v[g->outputs.p[i].var].t),
              "%s: output %zu", what, i);
        CHECK(!kept[i].t.data || tensor_identical(&kept[i].t, &expect[i].t),
              "%s: output %zu was overwritten", what, i);
        for (size_t j = 0; j < i; j++)
            CHECK(!tensor_size(&vm_output(m, i)->t) ||
                  !tensor_may_share_memory(&vm_output(m, i)->t, &vm_output(m, j)->t));
        value_unref(&kept[i]);
        value_unref(&expect[i]);
        if (rnd(2)) value_copy_view(&kept[i], vm_output(m, i));
        value_copy_view(&expect[i], &v[g->outputs.p[i].var]);
    }
    for (size_t i = 0; i < g->shared.n; i++)
        value_unref(&shared[i]);
    for (size_t i = 0; i < g->shared.n; i++) {
        Var up = graph_update(g, g->shared.p[i]);
        value_copy_view(&shared[i], &v[up == VAR_NONE ? g->shared.p[i] : up]);
        CHECK(!ok || tensor_identical(&vm_shared(m, i)->t, &shared[i].t),
              "%s: shared %zu", what, i);
    }
    for (Var i = 0; i < g->nvar; i++)
        value_unref(&v[i]);
    free(v);
}

static void try_config(Graph *g, const Config *c, int64_t n, int64_t m) {
    Session *s = g->s;
    Plan *p = plan_new(g, &c->o);
    CHECK(p != NULL, "%s", p ? "" : diag_first_error(s)->text);
    if (!p) return;
    Machine *vm = vm_new(p);
    Value shared[2], kept[4] = {0}, expect[4] = {0};
    for (int i = 0; i < 2; i++) {
        shared[i] = (Value){.kind = TYPE_TENSOR,
                            .t = random_tensor(s, DT_FLOAT32, 2, (int64_t[]){n, m})};
        CHECK(vm_set_shared(vm, (size_t)i, &shared[i]));
    }
    for (int call = 0; call < 4; call++) {
        Value in[4];
        input_values(s, n, m, in);
        run_once(g, vm, in, shared, kept, expect, c->what);
        for (int i = 0; i < 4; i++)
            value_unref(&in[i]);
    }
    for (int i = 0; i < 4; i++)
        value_unref(&kept[i]), value_unref(&expect[i]);
    for (int i = 0; i < 2; i++)
        value_unref(&shared[i]);
    vm_free(vm);
    plan_free(p);
}

static void test_random(Session *s, int graphs) {
    for (int i = 0; i < graphs; i++) {
        Graph *g = random_graph(s);
        static const int64_t sizes[][2] = {{3, 5},   {1, 1},   {2, 0},
                                           {70, 60}, {1, 700}, {300, 301}};
        size_t z = i % 20 == 19 ? 5 : rnd(5);
        int before = test_failed;
        for (size_t c = 0; c < sizeof configs / sizeof *configs; c++)
            try_config(g, &configs[c], sizes[z][0], sizes[z][1]);
        if (test_failed > before) printf("graph %d, size %zu\n", i, z);
        graph_free(g);
    }
}

/* A reshape that only the run can tell to be a view or a copy, as outputs, one of them
 * twice, and as a new value: whoever keeps an output keeps it. */
static void test_reshaped(Session *s, bool own_results) {
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    Dim n = DIM_NAMED(sym(s, "n")), m = DIM_NAMED(sym(s, "m"));
    Var x = graph_input(g, sym(s, "x"), f32(s, 2, n, m)),
        w = graph_shared(g, sym(s, "w"), f32(s, 2, 4, 4)), flat = const_int(&b, -1),
        side = const_int(&b, 4), turned = ap(&b, "transpose", 1, &x),
        old = ap(&b, "transpose", 1, &w);
    Var shape = ints_stack(&b, 1, &flat),
        sides = ints_stack(&b, 2, (Var[]){side, side}),
        copy = ap(&b, "reshape", 2, (Var[]){turned, shape}),
        view = ap(&b, "reshape", 2, (Var[]){x, shape}),
        line = ap(&b, "reshape", 2, (Var[]){old, shape}),
        new = ap(&b, "reshape", 2, (Var[]){line, sides});
    Var out[] = {copy, view, copy, line};
    for (size_t i = 0; i < 4; i++)
        vec_push(s, &g->outputs, ((Output){0, out[i]}));
    vec_push(s, &g->updates, ((Update){w, new}));
    Plan *p = plan_new(g, &(PlanOptions){.own_results = own_results});
    Machine *vm = vm_new(p);
    Tensor first = random_tensor(s, DT_FLOAT32, 2, (int64_t[]){4, 4}), now = first;
    CHECK(vm_set_shared(vm, 0, &(Value){.kind = TYPE_TENSOR, .t = first}));
    Value kept = {0};
    Tensor before = {0};
    for (int call = 0; call < 4; call++) {
        int64_t size[2] = {call < 2 ? 7 : 60, call < 2 ? 5 : 70};
        Tensor t = random_tensor(s, DT_FLOAT32, 2, size), turn = t;
        turn.shape[0] = t.shape[1], turn.shape[1] = t.shape[0];
        turn.stride[0] = t.stride[1], turn.stride[1] = t.stride[0];
        CHECK(vm_set_input(vm, 0, &(Value){.kind = TYPE_TENSOR, .t = t}) && vm_run(vm));
        for (int64_t i = 0; i < tensor_size(&t); i++) {
            CHECK(tensor_f64(&vm_output(vm, 0)->t, i) == tensor_f64(&turn, i));
            CHECK(tensor_f64(&vm_output(vm, 1)->t, i) == tensor_f64(&t, i));
            CHECK(tensor_f64(&vm_output(vm, 2)->t, i) == tensor_f64(&turn, i));
        }
        now.stride[0] = first.stride[(call + 1) % 2];
        now.stride[1] = first.stride[call % 2];
        for (int64_t i = 0; i < 16; i++)
            CHECK(tensor_f64(&vm_output(vm, 3)->t, i) == tensor_f64(&now, i));
        if (kept.t.data) CHECK(tensor_identical(&kept.t, &before));
        value_unref(&kept);
        tensor_unref(&before);
        value_copy_view(&kept, vm_output(vm, 0));
        CHECK(tensor_clone(s, &kept.t, &before));
        tensor_unref(&t);
    }
    value_unref(&kept);
    tensor_unref(&before);
    tensor_unref(&first);
    vm_free(vm);
    plan_free(p);
    graph_free(g);
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->threads = 2;
    vm_open(s);
    uint64_t before = buffer_bytes_used(s);
    test_random(s, 60);
    test_reshaped(s, false);
    test_reshaped(s, true);
    CHECK(buffer_bytes_used(s) == before, "%llu bytes are left",
          (unsigned long long)buffer_bytes_used(s));
    session_free(s);
    return TEST_END("vm");
}
