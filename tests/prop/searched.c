/* grewrite --search on random graphs of sums, products, products of matrices, squares
 * and transposes: what it finds computes the same, costs no more than what is found
 * without it, and is the same whether somebody asks how it was found. The numbers are
 * small integers, so that no order of sums and products rounds, and results must be
 * equal to the last bit. */
#include "../unit/test.h"
#include "op/build.h"
#include "prof/prof.h"
#include "rewrite/rewrite.h"
#include "tools/tools.h"
#include "vm/vm.h"

enum { GRAPHS = 120, NODES = 24, OUTPUTS = 2, INPUTS = 6, TERMS = 1500, DEGREE = 6 };

static Session *s;
static uint64_t seed = 88172645463325252u;

static uint32_t below(uint32_t n) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 20) % n);
}

/* ---- random graphs ---- */

typedef struct Node {
    Var v;
    uint32_t degree; /* as a polynomial of the inputs: powers of them stay small */
} Node;

static Node random_node(Builder *b, const Node *node, uint32_t n) {
    Node x = node[below(n)], y = node[below(n)];
    uint32_t both = x.degree + y.degree,
             more = x.degree > y.degree ? x.degree : y.degree;
    bool grows = both <= DEGREE;
    switch (below(10)) {
    case 0:
    case 1:
    case 2:
        return (Node){op_call2(b, "add", x.v, y.v), more};
    case 3:
        return (Node){op_call2(b, "subtract", x.v, y.v), more};
    case 4:
        return (Node){op_call1(b, "transpose", x.v), x.degree};
    case 5:
        return (Node){2 * x.degree <= DEGREE ? op_call1(b, "square", x.v) : VAR_NONE,
                      2 * x.degree};
    case 6:
        return (Node){grows ? op_call2(b, "matmul", x.v, y.v) : VAR_NONE, both};
    case 7:
        return (Node){op_call1(b, "sum", x.v), x.degree};
    default:
        return (Node){grows ? op_call2(b, "multiply", x.v, y.v) : VAR_NONE, both};
    }
}

static Graph *random_graph(void) {
    static const char *const types[INPUTS] = {"float64[12, 12]", "float64[12, 12]",
                                              "float64[12, 12]", "float64[12, 2]",
                                              "float64[2, 12]",  "float64"};
    Graph *g = graph_new(s);
    Builder b = builder(g, true);
    Node node[INPUTS + NODES];
    uint32_t n = 0;
    for (; n < INPUTS; n++) {
        char name[8];
        snprintf(name, sizeof name, "x%u", n);
        const Type *t = type_parse(s, types[n], strlen(types[n]), NOWHERE);
        node[n] = (Node){graph_input(g, sym(s, name), t), 1};
    }
    for (int i = 0; i < NODES; i++) {
        size_t mark = diag_count(s);
        Node x = random_node(&b, node, n);
        if (x.v == VAR_NONE)
            diag_rewind(s, mark);
        else
            node[n++] = x;
    }
    for (uint32_t k = 0; k < OUTPUTS; k++) {
        char name[8];
        snprintf(name, sizeof name, "y%u", k);
        vec_push(s, &g->outputs, ((Output){sym(s, name), node[n - 1 - k].v}));
    }
    return g;
}

/* ---- runs ---- */

typedef struct Ran {
    Plan *p;
    Machine *m;
} Ran;

static bool run(Graph *g, Ran *r) {
    *r = (Ran){.p = plan_new(g, &(PlanOptions){.threads = 1})};
    if (!r->p) return false;
    r->m = vm_new(r->p);
    for (size_t i = 0; i < g->inputs.n; i++) {
        const Type *t = var_type(g, g->inputs.p[i]);
        Value v = {.kind = TYPE_TENSOR};
        if (!tensor_new(s, DT_FLOAT64, t->ndim, t->dim, &v.t)) return false;
        for (int64_t k = 0; k < tensor_size(&v.t); k++)
            ((double *)v.t.data)[k] = (double)((k * 5 + 3 * (int64_t)i) % 7) - 3;
        bool ok = vm_set_input(r->m, i, &v);
        value_unref(&v);
        if (!ok) return false;
    }
    return vm_run(r->m);
}

static void end_run(Ran *r) {
    vm_free(r->m);
    plan_free(r->p);
}

static bool is_equal(const Tensor *x, const Tensor *y) {
    bool same = tensor_same_shape(x, y);
    for (int64_t i = 0; same && i < tensor_size(x); i++)
        same = tensor_f64(x, i) == tensor_f64(y, i);
    return same;
}

static void compare_runs(unsigned number, Graph *g, Graph *h) {
    Ran a, b = {0};
    bool ran = run(g, &a) && run(h, &b);
    CHECK(ran, "graph %u", number);
    for (size_t k = 0; ran && k < OUTPUTS; k++) {
        Tensor x, y;
        if (!tensor_clone(s, &vm_output(a.m, k)->t, &x) ||
            !tensor_clone(s, &vm_output(b.m, k)->t, &y))
            return;
        CHECK(is_equal(&x, &y), "graph %u, output %zu", number, k);
        tensor_unref(&x);
        tensor_unref(&y);
    }
    end_run(&a);
    end_run(&b);
}

/* ---- searches ---- */

static Graph *searched(Graph *g, bool explain, Str *report) {
    Searching how = {
        .seconds = 1e9, .nodes = TERMS, .explain = explain, .report = report};
    return graph_search(g, &(RewriteOptions){0}, &how, NULL);
}

static double cost_of(CostModel *m, Graph *g) {
    return cost_model_graph(m, g);
}

static uint32_t cheaper; /* graphs */

static void test_graph(unsigned number) {
    Graph *g = random_graph(), *plain = rewrite_run(g, &(RewriteOptions){0}, NULL);
    Str report = STR(s);
    CostModel *m = cost_model_new(s, 0, NULL);
    Graph *found = searched(g, false, NULL), *told = searched(g, true, &report);
    CHECK(plain && found && told, "graph %u", number);
    if (plain && found && told) {
        double without = cost_of(m, plain), with = cost_of(m, found);
        CHECK(with <= without, "graph %u costs %g, %g without a search", number, with,
              without);
        cheaper += with < without;
        compare_runs(number, g, found);
        CHECK(graph_diff(found, told), "graph %u: it matters who asks", number);
    }
    cost_model_free(m);
    str_free(&report);
    graph_free(told);
    graph_free(found);
    graph_free(plain);
    graph_free(g);
    diag_clear(s);
}

int main(void) {
    s = session_new(NULL, NULL);
    vm_open(s);
    for (unsigned i = 0; i < GRAPHS; i++)
        test_graph(i);
    CHECK(cheaper > GRAPHS / 10, "a search found %u cheaper graphs", cheaper);
    session_free(s);
    return TEST_END("searched");
}
