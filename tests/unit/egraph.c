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
    egraph_open(&e, g, true);
    CHECK(!same(&e, x, y));
    CHECK(egraph_union(&e, y, x, 0));
    CHECK(same(&e, x, y) && egraph_find(&e, y) == x, "the oldest names the class");
    CHECK(!egraph_union(&e, x, y, 0), "it is known");
    CHECK(!egraph_union(&e, x, z, 0), "a class has one type");
    CHECK(e.term[x].next == y && e.term[y].next == x);
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
    egraph_open(&e, g, true);
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
    egraph_open(&e, g, true);
    egraph_union(&e, x, y, 0);
    CHECK(!same(&e, aa, bb));
    egraph_rebuild(&e, NULL, NULL);
    CHECK(same(&e, a, b) && same(&e, aa, bb) && !same(&e, a, aa));
    CHECK(egraph_is_dead(&e, a) + egraph_is_dead(&e, b) == 1,
          "one of two congruent terms is enough");
    Var class = egraph_find(&e, a);
    CHECK(egraph_next(&e, class, class) == class || egraph_is_dead(&e, class));
    egraph_close(&e);
    graph_free(g);
}

/* -x = x: a class that contains itself. */
static void test_circle(void) {
    Graph *g = graph_new(s);
    EGraph e;
    Var x = input(g, "x", f64), a = apply1(g, &neg, x), b = apply1(g, &neg, a);
    egraph_open(&e, g, true);
    egraph_union(&e, a, x, 0);
    egraph_rebuild(&e, NULL, NULL);
    CHECK(same(&e, b, x));
    egraph_close(&e);
    graph_free(g);
}

static void test_terms_that_come_later(void) {
    Graph *g = graph_new(s);
    EGraph e;
    Var x = input(g, "x", f64), y = input(g, "y", f64), z = input(g, "z", f64);
    Var a = apply2(g, &add, x, z);
    egraph_open(&e, g, true);
    egraph_union(&e, x, y, 0);
    egraph_rebuild(&e, NULL, NULL);
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
    egraph_open(&e, g, true);
    CHECK(a != b && !same(&e, a, b));
    egraph_close(&e);
    graph_free(g);
}

static bool is_step(ProofStep p, Var from, Var to, const char *rule, bool back) {
    return p.from == from && p.to == to && p.rule == (rule ? sym(s, rule) : 0) &&
           p.back == back;
}

static void test_proofs(void) {
    Graph *g = graph_new(s);
    EGraph e;
    Arena *a = arena_new(s);
    Var v[5];
    ProofStep *p;
    const char *names[] = {"v0", "v1", "v2", "v3", "v4"};
    for (size_t i = 0; i < 5; i++)
        v[i] = input(g, names[i], f64);
    egraph_open(&e, g, true);
    egraph_union(&e, v[0], v[1], sym(s, "first"));
    egraph_union(&e, v[2], v[3], sym(s, "second"));
    egraph_union(&e, v[1], v[3], sym(s, "third"));
    egraph_union(&e, v[4], v[0], sym(s, "fourth"));
    CHECK(egraph_explain(&e, a, v[0], v[2], &p) == 3);
    CHECK(is_step(p[0], v[0], v[1], "first", false));
    CHECK(is_step(p[1], v[1], v[3], "third", false));
    CHECK(is_step(p[2], v[3], v[2], "second", true), "the rule made v3 of v2");
    CHECK(egraph_explain(&e, a, v[4], v[4], &p) == 0);
    CHECK(egraph_explain(&e, a, v[3], v[4], &p) == 3);
    CHECK(is_step(p[2], v[0], v[4], "fourth", true));
    arena_free(a);
    egraph_close(&e);
    graph_free(g);
}

/* -x = -y, whether y comes to be equal to x before -y does or after. */
static void test_proofs_of_inputs(void) {
    Graph *g = graph_new(s);
    EGraph e;
    Arena *a = arena_new(s);
    ProofStep *p;
    Var x = input(g, "x", f64), y = input(g, "y", f64), z = input(g, "z", f64);
    Var nx = apply1(g, &neg, x), ny = apply1(g, &neg, y);
    egraph_open(&e, g, true);
    egraph_union(&e, x, y, sym(s, "first"));
    egraph_rebuild(&e, NULL, NULL);
    CHECK(egraph_explain(&e, a, nx, ny, &p) == 1);
    CHECK(p[0].from == nx && p[0].to == ny && p[0].rule == 0);
    egraph_union(&e, z, y, sym(s, "second"));
    egraph_rebuild(&e, NULL, NULL);
    Var nz = apply1(g, &neg, z);
    egraph_grow(&e);
    CHECK(same(&e, nx, nz) && egraph_is_dead(&e, nz) && e.aliases == 1);
    CHECK(egraph_explain(&e, a, nz, ny, &p) == 1 || p[0].rule == 0);
    arena_free(a);
    egraph_close(&e);
    graph_free(g);
}

/* Terms are new to patterns if their place is, or the class of an input. */
static void test_what_is_new(void) {
    Graph *g = graph_new(s);
    EGraph e;
    Var x = input(g, "x", f64), y = input(g, "y", f64), z = input(g, "z", f64);
    Var nx = apply1(g, &neg, x), ny = apply1(g, &neg, y), nz = apply1(g, &neg, z);
    egraph_open(&e, g, false);
    e.now = 3;
    egraph_union(&e, x, y, 0);
    egraph_rebuild(&e, NULL, NULL);
    CHECK(e.term[ny].since == 3 && e.term[y].since == 3 && e.term[nz].since == 0);
    CHECK(e.class[egraph_find(&e, x)].fresh == 3 &&
          e.class[egraph_find(&e, nx)].fresh == 3 && e.class[nz].fresh == 0);
    CHECK(e.class[egraph_find(&e, nx)].kinds == kind_of_op(s, &neg) &&
          e.class[x].kinds == 0);
    egraph_close(&e);
    graph_free(g);
}

static bool stop_at_once(void *ctx) {
    return ++*(int *)ctx > 0;
}

/* A rebuilding that is stopped goes on with the next call. */
static void test_stopped_rebuilding(void) {
    enum { MANY = 5000 };
    Graph *g = graph_new(s);
    EGraph e;
    int asked = 0;
    Var x = input(g, "x", f64), y = input(g, "y", f64), last = 0, first = 0;
    for (int i = 0; i < MANY; i++) {
        first = apply2(g, &add, x, i ? first : x);
        last = apply2(g, &add, y, i ? last : y);
    }
    egraph_open(&e, g, false);
    egraph_union(&e, x, y, 0);
    CHECK(!egraph_rebuild(&e, stop_at_once, &asked) && asked == 1);
    CHECK(egraph_rebuild(&e, NULL, NULL) && same(&e, first, last));
    egraph_close(&e);
    graph_free(g);
}

static void test_lookup(void) {
    Graph *g = graph_new(s);
    EGraph e;
    Var x = input(g, "x", f64), y = input(g, "y", f64), a = apply2(g, &add, x, y);
    egraph_open(&e, g, false);
    VarList yx = {2, (Var[]){y, x}}, xx = {2, (Var[]){x, x}};
    uint64_t hash;
    CHECK(egraph_lookup(&e, &add, none, yx, &hash) == a);
    CHECK(egraph_lookup(&e, &add, none, xx, &hash) == VAR_NONE);
    Var twice = apply2(g, &add, x, x);
    egraph_enter(&e, hash);
    CHECK(egraph_lookup(&e, &add, none, xx, &hash) == twice && e.n == twice + 1);
    CHECK(egraph_bytes(&e) > 0);
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
    egraph_open(&e, g, true);
    egraph_union(&e, x, y, 0);
    egraph_rebuild(&e, NULL, NULL);
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
    test_proofs_of_inputs();
    test_what_is_new();
    test_stopped_rebuilding();
    test_lookup();
    test_long_chains();
    session_free(s);
    return TEST_END("egraph");
}
