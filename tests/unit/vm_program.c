/* lib/vm: the order in which a block program computes. */
#include "test.h"
#include "vm/vm_impl.h"

#include <stdlib.h>

static Session *s;

static void die(void *ctx, DiagCode code, const char *message) {
    (void)ctx;
    fprintf(stderr, "panic: %s\n", message);
    exit(diag_exit(code));
}

enum { MOST = 400 };

/* Of results from their Apply to their last read, in the plain way. */
static uint32_t count_alive(const Graph *g, const ApplyId *order) {
    uint32_t most = 0;
    for (uint32_t at = 0; at < g->napply; at++) {
        uint32_t alive = 1;
        for (uint32_t before = 0; before < at; before++) {
            bool later = false;
            for (uint32_t i = at + 1; i < g->napply; i++)
                for (uint32_t k = 0; k < g->apply[order[i]].nin; k++)
                    later |= apply_in(g, order[i])[k] == g->apply[order[before]].out;
            alive += later;
        }
        if (alive > most) most = alive;
    }
    return most;
}

static bool is_an_order(const Graph *g, const ApplyId *order) {
    bool done[MOST] = {false};
    for (uint32_t i = 0; i < g->napply; i++) {
        if (order[i] >= g->napply || done[order[i]]) return false;
        done[order[i]] = true;
        for (uint32_t k = 0; k < g->apply[order[i]].nin; k++) {
            ApplyId maker = var_owner(g, apply_in(g, order[i])[k]);
            if (maker != APPLY_NONE && !done[maker]) return false;
        }
    }
    return true;
}

/* How many results are alive in the order that is found. */
static uint32_t ordered(const Graph *g, const char *what, uint32_t number) {
    ApplyId order[MOST], given[MOST];
    for (ApplyId a = 0; a < g->napply; a++)
        order[a] = given[a] = a;
    program_order(g, g->napply, order);
    uint32_t was = count_alive(g, given), is = count_alive(g, order);
    CHECK(is_an_order(g, order), "%s %u", what, number);
    CHECK(is <= was, "%s %u: %u were alive at once, now %u", what, number, was, is);
    CHECK(is < was || memcmp(order, given, g->napply * sizeof *order) == 0,
          "%s %u: another order without need", what, number);
    return is;
}

static Var new_input(Graph *g, const char *name) {
    return graph_input(g, sym(s, name), type_parse(s, "float64[k]", 10, NOWHERE));
}

/* Pairs of 2^depth leaves, level by level: one register a level, and one more. */
static void test_trees(void) {
    for (uint32_t depth = 1; depth <= 7; depth++) {
        Graph *g = graph_new(s);
        Builder b = builder(g, false);
        Var x = new_input(g, "x"), at[1 << 7];
        for (uint32_t i = 0; i < 1U << depth; i++)
            at[i] = op_call1(&b, "sin", x);
        for (uint32_t n = 1U << depth; n > 1; n /= 2)
            for (uint32_t i = 0; i < n / 2; i++)
                at[i] =
                    op_call2(&b, i % 3 ? "add" : "multiply", at[2 * i], at[2 * i + 1]);
        uint32_t alive = ordered(g, "a tree of depth", depth);
        CHECK(depth < 4 || alive == depth + 1, "%u alive", alive);
        graph_free(g);
    }
}

/* A left side that needs one register, a right one that needs more: the right one comes
 * first. */
static void test_need(void) {
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    Var x = new_input(g, "x"), v[32], sum = op_call1(&b, "sin", x);
    for (int i = 0; i < 16; i++)
        v[i] = op_call2(&b, "add", op_call1(&b, "cos", x), op_call1(&b, "exp", x));
    for (int i = 15; i >= 0; i--)
        sum = op_call2(&b, "subtract", sum, v[i]);
    CHECK(ordered(g, "a sum", 0) <= 3);
    graph_free(g);
}

static uint32_t below(uint32_t n) {
    static uint64_t seed = 1;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* Values that several read, unread ones, one read twice by one. */
static void test_random(void) {
    static const char *const of[] = {"add", "multiply", "subtract", "maximum"};
    uint32_t better = 0;
    for (uint32_t number = 0; number < 300; number++) {
        Graph *g = graph_new(s);
        Builder b = builder(g, false);
        Var v[MOST], n = 2;
        v[0] = new_input(g, "x");
        v[1] = new_input(g, "y");
        uint32_t reach = 2 + number % 97, count = 1 + below(120);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t far = n < reach ? n : reach;
            Var p = v[n - 1 - below(far)], q = v[below(n)];
            v[n] = op_call2(&b, of[i % 4], p, i % 5 ? q : p);
            n++;
        }
        ApplyId given[MOST];
        for (ApplyId a = 0; a < g->napply; a++)
            given[a] = a;
        better += ordered(g, "graph", number) < count_alive(g, given);
        graph_free(g);
    }
    CHECK(better > 30, "%u of 300", better);
}

int main(void) {
    s = session_new(die, NULL);
    vm_open(s);
    test_trees();
    test_need();
    test_random();
    session_free(s);
    return TEST_END("vm_program");
}
