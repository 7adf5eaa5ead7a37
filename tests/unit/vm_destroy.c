/* Ops that overwrite an input: random graphs give the values of ops that copy, in
 * whatever order they are listed, or are refused exactly where that can't be meant;
 * copies only where no order is right; each refusal by itself; storage that an op keeps
 * from run to run. */
#define CLAUSE_vm_destroy CLAUSE_RUN
#include "contract.h"
#include "vm_test.h"

#include <stdlib.h>

enum { N = 3, MOST = 24 };

static bool like_first(Infer *in) {
    in->out[0] = in->type[0];
    return true;
}

/* x + y over x, however it lies in memory. */
static bool add_over(Call *c) {
    const Tensor *y = call_in(c, 1);
    CHECK(c->reuse && c->reuse[0] == 0);
    Tensor *r = call_over(c, 0, 0);
    if (!r) return false;
    for (int64_t i = 0; i < r->shape[0]; i++)
        for (int64_t k = 0; k < r->shape[1]; k++) {
            double *p = (double *)(void *)((char *)r->data + i * r->stride[0] +
                                           k * r->stride[1]);
            const double *q =
                (const double *)(const void *)((const char *)y->data +
                                               i * y->stride[0] + k * y->stride[1]);
            *p += *q;
        }
    return true;
}
static int first_input(const Graph *g, ApplyId a, size_t out) {
    (void)g, (void)a, (void)out;
    return 0;
}

/* Its storage as it left it: a count of the runs. */
static bool count_runs(Call *c) {
    const double *before = c->out[0].t.data;
    double runs = before ? before[0] + 1 : 0;
    if (before) CHECK(c->out[0].t.ndim == 1 && c->out[0].t.shape[0] == N);
    int64_t n = N;
    Tensor *r = call_out(c, 0, 1, &n);
    if (!r) return false;
    if (before) CHECK(r->data == before && *(double *)r->data == runs - 1);
    *(double *)r->data = runs;
    for (int i = 1; i < N; i++)
        ((double *)r->data)[i] = tensor_f64(call_in(c, 0), 0);
    return true;
}
static bool vector_type(Infer *in) {
    Dim n = N;
    in->out[0] = type_tensor(in->s, DT_FLOAT64, 1, &n);
    return true;
}

static bool two_types(Infer *in) {
    in->out[0] = in->out[1] = in->type[0];
    return true;
}
static int lying_views(const Graph *g, ApplyId a, size_t out) {
    (void)g, (void)a, (void)out;
    return 1;
}

static const Op rows[] = {
    {.name = "t_add",
     .in = "x, y",
     .type = like_first,
     .perform = add_over,
     RARE(.destroys = first_input)},
    {.name = "t_two",
     .in = "x, y",
     .type = like_first,
     .perform = add_over,
     RARE(.destroys = first_input, .views = lying_views)},
    {.name = "t_both",
     .in = "x, y",
     .out = "a, b",
     .type = two_types,
     .perform = add_over,
     RARE(.destroys = first_input)},
    {.name = "t_count",
     .in = "x",
     .type = vector_type,
     .perform = count_runs,
     .keeps_storage = true},
};

/* ---- random graphs ---- */
typedef struct Node {
    enum { INPUT, MADE, VIEW, SUM, OVER } kind;
    int x, y; /* operands */
    Var var;
} Node;
typedef struct Lab {
    Session *s;
    Graph *g;
    Node node[MOST];
    int n;
    double value[MOST][N][N];
    int input;
} Lab;

static void make_values(Lab *l, int v) {
    const Node *a = &l->node[v];
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            double x = a->kind == INPUT ? 0 : l->value[a->x][i][k];
            double y = a->kind >= SUM ? l->value[a->y][i][k] : 0;
            l->value[v][i][k] = a->kind == INPUT  ? 3 * i + k + 1
                                : a->kind == MADE ? -x
                                : a->kind == VIEW ? l->value[a->x][k][i]
                                                  : x + y;
        }
}

static void lab_open(Lab *l, Session *s) {
    *l = (Lab){.s = s, .g = graph_new(s)};
    Builder b = builder(l->g, false);
    Dim dim[2] = {N, N};
    l->node[l->n++] =
        (Node){INPUT, 0, 0,
               graph_input(l->g, sym(s, "x"), type_tensor(s, DT_FLOAT64, 2, dim))};
    make_values(l, 0);
    int size = 4 + (int)rnd(MOST - 4);
    while (l->n < size) {
        uint32_t r = rnd(10);
        Node a = {.kind = r < 3 ? MADE : r < 5 ? VIEW : r < 8 ? SUM : OVER};
        a.x = (int)rnd((uint32_t)l->n);
        a.y = (int)rnd((uint32_t)l->n);
        Var in[2] = {l->node[a.x].var, l->node[a.y].var};
        a.var = a.kind == MADE   ? ap(&b, "negative", 1, in)
                : a.kind == VIEW ? ap(&b, "transpose", 1, in)
                                 : ap(&b, a.kind == SUM ? "add" : "t_add", 2, in);
        l->node[l->n++] = a;
        make_values(l, l->n - 1);
    }
    l->input = (int)rnd(3);
    for (uint32_t i = 0, n = 1 + rnd(2); i < n; i++) {
        char label[16];
        snprintf(label, sizeof label, "y%u", i);
        vec_push(s, &l->g->outputs,
                 ((Output){sym(s, label), l->node[l->n - 1 - (int)rnd(4)].var}));
    }
}

static int root_of(const Lab *l, int v) {
    while (l->node[v].kind == VIEW)
        v = l->node[v].x;
    return v;
}

static bool reads(const Lab *l, int a, int v) {
    const Node *n = &l->node[a];
    return n->kind != INPUT && (n->x == v || (n->kind >= SUM && n->y == v));
}

/* The rules, told once more: what is destroyed is neither the input nor destroyed
 * twice, and the destroyer doesn't read it otherwise. Whoever else needs it gets it. */
static bool is_valid(const Lab *l) {
    bool live[MOST] = {false}, destroyed[MOST] = {false};
    for (size_t i = 0; i < l->g->outputs.n; i++)
        for (int k = 0; k < l->n; k++)
            if (l->node[k].var == l->g->outputs.p[i].var) live[k] = true;
    for (int a = l->n; a-- > 0;)
        for (int v = 0; live[a] && v < a; v++)
            live[v] |= reads(l, a, v);
    for (int a = 0; a < l->n; a++) {
        if (!live[a] || l->node[a].kind != OVER) continue;
        int root = root_of(l, l->node[a].x);
        if (destroyed[root] || root == 0 || root_of(l, l->node[a].y) == root)
            return false;
        destroyed[root] = true;
    }
    return true;
}

static void run(Lab *l, const PlanOptions *how) {
    Plan *p = plan_new(l->g, how);
    bool valid = is_valid(l);
    CHECK((p != NULL) == valid, "%s: %s", valid ? "refused" : "not refused",
          diag_first_error(l->s) ? diag_first_error(l->s)->text : "");
    if (!p) CHECK(diag_first_error(l->s)->code == E_DESTROY);
    diag_clear(l->s);
    if (!p) return;
    Machine *m = vm_new(p);
    Value x = {.kind = TYPE_TENSOR};
    int64_t shape[2] = {N, N};
    tensor_new(l->s, DT_FLOAT64, 2, shape, &x.t);
    memcpy(x.t.data, l->value[0], sizeof l->value[0]);
    for (int again = 0; again < 2; again++) {
        CHECK(vm_set_input(m, 0, &x) && vm_run(m));
        for (size_t i = 0; i < l->g->outputs.n; i++)
            for (int k = 0; k < l->n; k++) {
                if (l->node[k].var != l->g->outputs.p[i].var) continue;
                const Tensor *t = &vm_output(m, i)->t;
                long wrong = 0;
                for (int e = 0; e < N * N; e++)
                    wrong += tensor_f64(t, e) != l->value[k][e / N][e % N];
                CHECK(wrong == 0, "%ld elements", wrong);
            }
    }
    CHECK(memcmp(x.t.data, l->value[0], sizeof l->value[0]) == 0);
    value_unref(&x);
    vm_free(m);
    plan_free(p);
}

static int valid, invalid;
static void test_random(Session *s) {
    static const PlanOptions how[] = {
        {0}, {.no_inplace = true}, {.no_reuse = true}, {.threads = 1}};
    for (int i = 0; i < 20000; i++) {
        Lab l;
        lab_open(&l, s);
        *(is_valid(&l) ? &valid : &invalid) += 1;
        run(&l, &how[i % 4]);
        graph_free(l.g);
    }
    CHECK(valid > 3000 && invalid > 3000, "%d, %d", valid, invalid);
}

/* ---- one by one ---- */
typedef struct Case {
    Session *s;
    Graph *g;
    Builder b;
    Var x, w; /* an input, a shared variable: 3x3 */
} Case;

static Case case_open(Session *s) {
    Case c = {.s = s, .g = graph_new(s)};
    Dim dim[2] = {N, N};
    const Type *t = type_tensor(s, DT_FLOAT64, 2, dim);
    c.b = builder(c.g, false);
    c.x = graph_input(c.g, sym(s, "x"), t);
    c.w = graph_shared(c.g, sym(s, "w"), t);
    return c;
}
static Var over(Case *c, Var x, Var y) {
    return ap(&c->b, "t_add", 2, (Var[]){x, y});
}
static void output(Case *c, const char *label, Var v) {
    vec_push(c->s, &c->g->outputs, ((Output){sym(c->s, label), v}));
}
static void refused(Case *c, const char *text) {
    Plan *p = plan_new(c->g, &(PlanOptions){0});
    const Diag *d = diag_first_error(c->s);
    CHECK(!p && d && d->code == E_DESTROY);
    if (d) CHECK_STR(d->text, text);
    diag_clear(c->s);
    plan_free(p);
    graph_free(c->g);
}

static void test_refusals(Session *s) {
    Case c = case_open(s);
    output(&c, "r", over(&c, c.x, c.w));
    refused(&c,
            "t_add would overwrite x, which is an input: its memory is the caller's");

    c = case_open(s);
    output(&c, "r", over(&c, c.w, c.x));
    refused(
        &c,
        "t_add would overwrite w, a shared variable whose update is not the result");

    c = case_open(s);
    Var k = op_zeros_like(&c.b, c.x, DT_FLOAT64), one;
    Tensor t;
    int64_t shape[2] = {N, N};
    tensor_zeros(s, DT_FLOAT64, 2, shape, &t);
    k = graph_const(c.g, &t, false);
    tensor_unref(&t);
    output(&c, "r", over(&c, k, c.x));
    refused(&c, "t_add would overwrite a value, which is a constant");

    c = case_open(s);
    one = ap(&c.b, "negative", 1, &c.x);
    graph_name(c.g, one, sym(s, "one"));
    output(&c, "a", over(&c, one, c.x));
    output(&c, "b", over(&c, one, c.w));
    refused(&c, "t_add would overwrite one, but t_add(one: float64[3, 3], "
                "x: float64[3, 3]) overwrites it already");

    c = case_open(s);
    one = ap(&c.b, "negative", 1, &c.x);
    graph_name(c.g, one, sym(s, "one"));
    output(&c, "a", over(&c, one, ap(&c.b, "transpose", 1, &one)));
    refused(&c, "t_add would overwrite one, but another input is a view of it");

    c = case_open(s);
    one = ap(&c.b, "negative", 1, &c.x);
    graph_name(c.g, one, sym(s, "one"));
    output(&c, "a", over(&c, one, one));
    refused(&c, "t_add would overwrite one, which it also reads as another input");

    c = case_open(s);
    one = ap(&c.b, "negative", 1, &c.x);
    graph_name(c.g, one, sym(s, "one"));
    output(&c, "a", ap(&c.b, "t_two", 2, (Var[]){one, c.x}));
    refused(&c, "t_two would overwrite one and view another input: a result has one "
                "input's memory");

    c = case_open(s);
    Var two[2], in[2] = {ap(&c.b, "negative", 1, &c.x), c.x};
    graph_name(c.g, in[0], sym(s, "one"));
    CHECK(op_apply(&c.b, op_find(s, "t_both", 6), NULL, 2, in, two));
    output(&c, "a", two[0]);
    refused(&c, "t_both would overwrite one, but t_both(one: float64[3, 3], "
                "x: float64[3, 3]) overwrites it already");

    c = case_open(s);
    Var count = ap(&c.b, "t_count", 1, &c.x);
    graph_name(c.g, count, sym(s, "kept"));
    output(&c, "a", over(&c, count, count));
    refused(&c, "t_add would overwrite kept, which it also reads as another input");
}

/* How the result of the destroyer of `one` lies in memory; `later` needs its result. */
static PlanHow how_over(Session *s, bool output_one, bool later) {
    Case c = case_open(s);
    Var one = ap(&c.b, "negative", 1, &c.x), r = over(&c, one, c.w), how = r;
    if (output_one) output(&c, "one", one);
    if (later) r = ap(&c.b, "add", 2, (Var[]){r, one});
    output(&c, "r", r);
    output(&c, "before", ap(&c.b, "exp", 1, &one));
    Plan *p = plan_new(c.g, &(PlanOptions){0});
    PlanHow found = PLAN_LEAF;
    for (size_t i = 0; p && i < plan_vars(p); i++)
        if (plan_var(p, i).var == how) found = plan_var(p, i).how;
    plan_free(p);
    graph_free(c.g);
    return found;
}

static void test_copies(Session *s) {
    CHECK(how_over(s, false, false) == PLAN_VIEW);
    CHECK(how_over(s, true, false) == PLAN_OWN);
    CHECK(how_over(s, false, true) == PLAN_OWN);
}

/* The old value of a shared variable is overwritten by its own update; readers of the
 * old value, and the caller's array, are not disturbed. */
static void test_update(Session *s) {
    for (int later = 0; later < 2; later++) {
        Case c = case_open(s);
        Var reader = VAR_NONE, r;
        if (!later) reader = ap(&c.b, "negative", 1, &c.w);
        r = over(&c, over(&c, c.w, c.x), c.x);
        if (later) reader = ap(&c.b, "negative", 1, &c.w);
        output(&c, "old", reader);
        vec_push(s, &c.g->updates, ((Update){c.w, r}));
        Plan *p = plan_new(c.g, &(PlanOptions){0});
        Machine *m = vm_new(p);
        int64_t shape[2] = {N, N};
        Value w = {.kind = TYPE_TENSOR}, x = {.kind = TYPE_TENSOR};
        tensor_zeros(s, DT_FLOAT64, 2, shape, &w.t);
        tensor_zeros(s, DT_FLOAT64, 2, shape, &x.t);
        for (int i = 0; i < N * N; i++)
            ((double *)x.t.data)[i] = i;
        CHECK(vm_set_input(m, 0, &x) && vm_set_shared(m, 0, &w));
        for (int i = 0; i < 4; i++) {
            CHECK(vm_run(m));
            CHECK(tensor_f64(&vm_output(m, 0)->t, 5) == -10.0 * i);
            CHECK(tensor_f64(&vm_shared(m, 0)->t, 5) == 10.0 * (i + 1));
        }
        CHECK(tensor_f64(&w.t, 5) == 0);
        const void *data = vm_shared(m, 0)->t.data;
        uint64_t used = buffer_bytes_used(s);
        CHECK(vm_run(m) && vm_shared(m, 0)->t.data == data &&
              buffer_bytes_used(s) == used);
        value_unref(&w);
        value_unref(&x);
        vm_free(m);
        plan_free(p);
        graph_free(c.g);
    }
}

/* The storage is nobody else's, and comes back untouched, whatever stands around it. */
static void test_kept(Session *s) {
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    Var x = graph_input(g, sym(s, "x"), type_scalar(s, DT_FLOAT64));
    Var k = ap(&b, "t_count", 1, &x), v = k;
    for (int i = 0; i < 20; i++)
        v = ap(&b, "negative", 1, &v);
    vec_push(s, &g->outputs, ((Output){sym(s, "k"), k}));
    vec_push(s, &g->outputs, ((Output){sym(s, "v"), v}));
    Plan *p = plan_new(g, &(PlanOptions){0});
    Machine *m = vm_new(p);
    Value one = {.kind = TYPE_TENSOR};
    tensor_new(s, DT_FLOAT64, 0, NULL, &one.t);
    *(double *)one.t.data = 7;
    vm_set_input(m, 0, &one);
    for (int i = 0; i < 5; i++) {
        CHECK(vm_run(m));
        for (size_t k2 = 0; k2 < 2; k2++) {
            CHECK(tensor_f64(&vm_output(m, k2)->t, 0) == i);
            CHECK(tensor_f64(&vm_output(m, k2)->t, 1) == 7);
            *(double *)vm_output(m, k2)->t.data = 99; /* the caller's copy */
        }
    }
    value_unref(&one);
    vm_free(m);
    plan_free(p);
    graph_free(g);
}

static void test_clauses(Session *s) {
#include "contract.def"
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->threads = 2;
    vm_open(s);
    uint64_t before = buffer_bytes_used(s);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK(op_add(s, &rows[i], NOWHERE));
    test_clauses(s);
    CHECK(buffer_bytes_used(s) == before, "%llu bytes are left",
          (unsigned long long)buffer_bytes_used(s));
    session_free(s);
    return TEST_END("vm_destroy");
}
