/* lib/rewrite/search/egraph: classes, unions, congruence after rebuilding, proofs. */
#include "rewrite/search/egraph.h"

#include "op/op.h"
#include "test.h"

static const Op add = {.name = "add", .comm = true}, neg = {.name = "neg"},
                sow = {.name = "sow"};

static Session *s;
static const Type *f64, *f32;
static const Props *none;

static Var apply(Graph *g, const Op *op, size_t n, const Var *in, bool serial) {
    return graph_apply(g, op, none, n, in, 1, &f64, true, serial, (Origin){0});
}
static Var apply1(Graph *g, const Op *op, Var x) {
    return apply(g, op, 1, &x, false);
}
static Var apply2(Graph *g, const Op *op, Var x, Var y) {
    Var in[] = {x, y};
    return apply(g, op, 2, in, false);
}
static Var input(Graph *g, const char *name, const Type *t) {
    return graph_input(g, sym(s, name), t);
}
static bool same(const EGraph *e, Var a, Var b) {
    return egraph_find(e, a) == egraph_find(e, b);
}

static void test_unions(void) {
    Graph *g = graph_new(s);
    EGraph e;
    Var x = input(g, "x", f64), y = input(g, "y", f64), z = input(g, "z", f32);
    egraph_open(&e, g);
    CHECK(!same(&e, x, y));
    CHECK(egraph_union(&e, y, x, 0));
    CHECK(same(&e, x, y) && egraph_find(&e, y) == x, "the oldest names the class");
    CHECK(!egraph_union(&e, x, y, 0), "it is known");
    CHECK(!egraph_union(&e, x, z, 0), "a class has one type");
    CHECK(e.next[x] == y && e.next[y] == x);
    egraph_close(&e);
    graph_free(g);
}

static void test_constants_name_classes(void) {
    Graph *g = graph_new(s);
    EGraph e;
    Tensor t;
    Var x = input(g, "x", f64);
    CHECK(tensor_scalar(s, DT_FLOAT64, 2, 0, &t));
    Var two = graph_const(g, &t, true);
    tensor_unref(&t);
    egraph_open(&e, g);
    CHECK(egraph_union(&e, x, two, 0) && egraph_find(&e, x) == two);
    egraph_close(&e);
    graph_free(g);
}

/* x = y makes -x = -y, and with it --x = --y, but only once rebuilt. */
static void test_congruence(void) {
    Graph *g = graph_new(s);
    EGraph e;
    Var x = input(g, "x", f64), y = input(g, "y", f64);
    Var a = apply1(g, &neg, x), b = apply1(g, &neg, y);
    Var aa = apply1(g, &neg, a), bb = apply1(g, &neg, b);
    egraph_open(&e, g);
    egraph_union(&e, x, y, 0);
    CHECK(!same(&e, aa, bb));
    egraph_rebuild(&e);
    CHECK(same(&e, a, b) && same(&e, aa, bb) && !same(&e, a, aa));
    CHECK(e.dead[a] + e.dead[b] == 1, "one of two congruent terms is enough");
    egraph_close(&e);
    graph_free(g);
}

/* -x = x: a class that contains itself. */
static void test_circle(void) {
    Graph *g = graph_new(s);
    EGraph e;
    Var x = input(g, "x", f64), a = apply1(g, &neg, x), b = apply1(g, &neg, a);
    egraph_open(&e, g);
    egraph_union(&e, a, x, 0);
    egraph_rebuild(&e);
    CHECK(same(&e, b, x));
    egraph_close(&e);
    graph_free(g);
}

static void test_terms_that_come_later(void) {
    Graph *g = graph_new(s);
    EGraph e;
    Var x = input(g, "x", f64), y = input(g, "y", f64), z = input(g, "z", f64);
    Var a = apply2(g, &add, x, z);
    egraph_open(&e, g);
    egraph_union(&e, x, y, 0);
    egraph_rebuild(&e);
    Var b = apply2(g, &add, z, y), c = apply2(g, &add, z, z);
    egraph_grow(&e);
    CHECK(same(&e, a, b), "in the other order, of another member");
    CHECK(!same(&e, a, c));
    egraph_close(&e);
    graph_free(g);
}

static void test_effects_stay_apart(void) {
    Graph *g = graph_new(s);
    EGraph e;
    Var x = input(g, "x", f64);
    Var a = apply(g, &sow, 1, &x, true), b = apply(g, &sow, 1, &x, true);
    egraph_open(&e, g);
    CHECK(a != b && !same(&e, a, b));
    egraph_close(&e);
    graph_free(g);
}

static void test_proofs(void) {
    Graph *g = graph_new(s);
    EGraph e;
    Arena *a = arena_new(s);
    Var v[5], *path;
    Sym *rule;
    const char *names[] = {"v0", "v1", "v2", "v3", "v4"};
    for (size_t i = 0; i < 5; i++)
        v[i] = input(g, names[i], f64);
    egraph_open(&e, g);
    egraph_union(&e, v[0], v[1], sym(s, "first"));
    egraph_union(&e, v[2], v[3], sym(s, "second"));
    egraph_union(&e, v[1], v[3], sym(s, "third"));
    egraph_union(&e, v[4], v[0], sym(s, "fourth"));
    CHECK(egraph_explain(&e, a, v[0], v[2], &path, &rule) == 3);
    CHECK(path[0] == v[0] && path[1] == v[1] && path[2] == v[3] && path[3] == v[2]);
    CHECK(rule[0] == sym(s, "first") && rule[1] == sym(s, "third") &&
          rule[2] == sym(s, "second"));
    CHECK(egraph_explain(&e, a, v[4], v[4], &path, &rule) == 0);
    CHECK(egraph_explain(&e, a, v[3], v[4], &path, &rule) == 3 && path[3] == v[4]);
    arena_free(a);
    egraph_close(&e);
    graph_free(g);
}

/* A chain of unions and of users, each as long as no stack is deep. */
static void test_long_chains(void) {
    enum { LONG = 20000 };
    Graph *g = graph_new(s);
    EGraph e;
    Var x = input(g, "x", f64), y = input(g, "y", f64), a = x, b = y;
    for (int i = 0; i < LONG; i++) {
        a = apply1(g, &neg, a);
        b = apply1(g, &neg, b);
    }
    egraph_open(&e, g);
    egraph_union(&e, x, y, 0);
    egraph_rebuild(&e);
    CHECK(same(&e, a, b));
    egraph_close(&e);
    graph_free(g);
}

int main(void) {
    s = session_new(NULL, NULL);
    f64 = type_scalar(s, DT_FLOAT64);
    f32 = type_scalar(s, DT_FLOAT32);
    none = props_intern(s, 0, NULL);
    test_unions();
    test_constants_name_classes();
    test_congruence();
    test_circle();
    test_terms_that_come_later();
    test_effects_stay_apart();
    test_proofs();
    test_long_chains();
    session_free(s);
    return TEST_END("egraph");
}
