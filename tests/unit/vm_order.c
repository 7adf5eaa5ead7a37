/* Orders of execution: the lowest peak that any order of a small graph has, found by
 * trying all; the same bits as in the given order; what must keep its place keeps it.
 */
#include "cli/cli.h"
#include "vm_test.h"

#include <math.h>

static Graph *read_text(Session *s, Str *text) {
    Graph *g = io_read_mem(s, "test", str_text(text), text->n, NULL);
    CHECK(g, "%s", str_text(text));
    str_free(text);
    return g;
}

static double least_bytes(Graph *g) {
    Plan *p = plan_new(g, &(PlanOptions){0});
    double least = (double)plan_memory(p, 0, NULL, NULL).least;
    plan_free(p);
    return least;
}

/* ---- small graphs ---- */
enum { STEPS = 12, SIZES = 4, COLUMNS = 512 };
static const int rows[SIZES] = {50, 100, 150, 300};
/* Value i is a product of a matrix with value `of` (NONE: with the input), or the sum
 * of values `of` and `and`, which may overwrite one of them. */
typedef struct Made {
    int of, and, size;
    bool output;
} Made;
enum { NOTHING = -1 };

/* Is one of the first n values that sum? */
static bool is_sum_of(const Made *v, int n, int a, int b) {
    bool is = false;
    for (int i = 0; i < n; i++)
        is |= (v[i].of == a && v[i].and == b) || (v[i].of == b && v[i].and == a);
    return is;
}

static void make_values(Made *v, int n) {
    for (int i = 0; i < n; i++) {
        int of = (int)rnd((uint32_t)i + 1) - (rnd(4) == 0 ? i + 1 : 0),
            other = i ? (int)rnd((uint32_t)i) : NOTHING;
        v[i] = (Made){of < 0 || of >= i ? NOTHING : of, NOTHING, (int)rnd(SIZES), true};
        if (v[i].of != NOTHING && other != v[i].of &&
            v[other].size == v[v[i].of].size && !is_sum_of(v, i, v[i].of, other))
            v[i].and = other, v[i].size = v[other].size;
    }
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            if (v[k].of == i || v[k].and == i) v[i].output = false;
    for (int i = 0; i < n; i++)
        v[i].output |= rnd(8) == 0;
}

static Graph *graph_of_values(Session *s, const Made *v, int n) {
    Str t = STR(s);
    str_printf(&t, "thunkline: 1\ninputs:\n  x: 'float64[20, %d]'\n", COLUMNS);
    for (int i = 0; i < n;
         i++) /* of each its own, so that no two values are the same */
        str_printf(&t, "  l%d: 'float64[%d, %d]'\n", i, rows[v[i].size],
                   v[i].of == NOTHING ? 20 : rows[v[v[i].of].size]);
    str_puts(&t, "let: |\n");
    for (int i = 0; i < n; i++)
        if (v[i].and != NOTHING)
            str_printf(&t, "  v%d = v%d + v%d\n", i, v[i].of, v[i].and);
        else if (v[i].of != NOTHING)
            str_printf(&t, "  v%d = l%d @ v%d\n", i, i, v[i].of);
        else
            str_printf(&t, "  v%d = l%d @ x\n", i, i);
    str_puts(&t, "outputs: [");
    for (int i = 0, k = 0; i < n; i++)
        if (v[i].output) str_printf(&t, "%sv%d", k++ ? ", " : "", i);
    str_puts(&t, "]\n");
    return read_text(s, &t);
}

static double bytes_of(const Made *v) {
    return (double)rows[v->size] * COLUMNS * 8;
}

/* Is value i read by a step that hasn't run? */
static bool is_awaited(const Made *v, int n, unsigned done, int i) {
    bool is = v[i].output;
    for (int k = i + 1; k < n; k++)
        is |= !(done >> k & 1) && (v[k].of == i || v[k].and == i);
    return is;
}

static double alive_after(const Made *v, int n, unsigned done) {
    double live = 0;
    for (int i = 0; i < n; i++)
        if (done >> i & 1 && is_awaited(v, n, done, i)) live += bytes_of(&v[i]);
    return live;
}

/* The lowest peak, by the best order of each set of steps. */
static double lowest_peak(const Made *v, int n) {
    static double best[1 << STEPS];
    for (unsigned done = 0; done < 1U << n; done++)
        best[done] = done ? HUGE_VAL : 0;
    for (unsigned done = 0; done + 1 < 1U << n; done++)
        for (int i = 0; i < n; i++) {
            unsigned needs = (v[i].of == NOTHING ? 0 : 1U << v[i].of) |
                             (v[i].and == NOTHING ? 0 : 1U << v[i].and);
            unsigned next = done | 1U << i;
            if (next == done || needs & ~done) continue;
            bool over =
                v[i].and != NOTHING &&
                (!is_awaited(v, n, next, v[i].of) || !is_awaited(v, n, next, v[i].and));
            double most = alive_after(v, n, done) + (over ? 0 : bytes_of(&v[i]));
            most = fmax(most, best[done]);
            if (most < best[next]) best[next] = most;
        }
    return best[(1U << n) - 1];
}

static void check_same_bits(Session *s, Graph *g) {
    Plan *p = plan_new(g, &(PlanOptions){0}),
         *given = plan_new(g, &(PlanOptions){.keep_all = true});
    Machine *m = vm_new(p), *other = vm_new(given);
    for (size_t i = 0; i < g->inputs.n; i++) {
        Tensor t = random_tensor(s, DT_FLOAT64, 2, var_type(g, g->inputs.p[i])->dim);
        Value in = {.kind = TYPE_TENSOR, .t = t};
        CHECK(vm_set_input(m, i, &in) && vm_set_input(other, i, &in));
        value_unref(&in);
    }
    CHECK(vm_run(m) && vm_run(other));
    for (size_t i = 0; i < g->outputs.n; i++)
        CHECK(same_value_bits(vm_output(m, i), vm_output(other, i)), "output %zu", i);
    vm_free(m), vm_free(other);
    plan_free(p), plan_free(given);
}

static void try_small_graphs(Session *s) {
    for (int k = 0; k < 200; k++) {
        Made v[STEPS];
        int n = 4 + (int)rnd(STEPS - 3);
        make_values(v, n);
        Graph *g = graph_of_values(s, v, n);
        if (!g) return;
        double lowest = lowest_peak(v, n), least = least_bytes(g);
        CHECK(least == lowest, "graph %d of %d steps: %g, but %g is possible", k, n,
              least, lowest);
        if (k % 10 == 0) check_same_bits(s, g);
        graph_free(g);
    }
}

/* ---- many steps ---- */
/* Chains whose steps are given level by level: run one after the other, two values of
 * one chain are alive, and the small results. */
static void try_chains(Session *s) {
    enum { CHAINS = 300, LENGTH = 4 };
    Str t = STR(s);
    str_puts(&t, "thunkline: 1\ninputs:\n  a: 'float64[1000, 1000]'\n"
                 "  b: 'float64[1000, 1000]'\n  c: 'float64[1, 1000]'\nlet: |\n");
    for (int i = 0; i < CHAINS; i++)
        str_printf(&t, "  v%d_0 = a @ b\n", i);
    for (int k = 1; k < LENGTH; k++)
        for (int i = 0; i < CHAINS; i++)
            str_printf(&t, "  v%d_%d = a @ v%d_%d\n", i, k, i, k - 1);
    for (int i = 0; i < CHAINS; i++)
        str_printf(&t, "  s%d = c @ v%d_%d\n", i, i, LENGTH - 1);
    str_puts(&t, "outputs: [s0");
    for (int i = 1; i < CHAINS; i++)
        str_printf(&t, ", s%d", i);
    str_puts(&t, "]\n");
    Graph *g = read_text(s, &t);
    if (!g) return;
    double least = least_bytes(g), possible = 2 * 8e6 + CHAINS * 8e3;
    CHECK(least <= possible, "%g, but %g is possible", least, possible);
    graph_free(g);
}

/* ---- what keeps its place ---- */
enum { VARIABLES = 8 };
/* New values, given after all that they are computed from, overwrite the old ones,
 * which other steps read before. */
static Graph *graph_of_updates(Session *s, const char *last) {
    Str t = STR(s);
    str_puts(&t, "thunkline: 1\ninputs:\n  a: 'float64[200, 200]'\nshared:\n");
    for (int i = 0; i < VARIABLES; i++)
        str_printf(&t, "  w%d: 'float64[200, 200] = ones((200, 200))'\n", i);
    str_puts(&t, "let: |\n  h0 = a\n");
    for (int i = 0; i < VARIABLES; i++)
        str_printf(&t, "  g%d = a @ h%d\n  h%d = h%d @ w%d\n", i, i, i + 1, i, i);
    str_puts(&t, last);
    str_printf(&t, "outputs: {y: sum(h%d)}\nupdates:\n", VARIABLES);
    for (int i = 0; i < VARIABLES; i++)
        str_printf(&t, "  w%d: w%d - g%d\n", i, i, i);
    return read_text(s, &t);
}

static bool overwrites_variable(const Graph *g, const PlanVar *v) {
    bool does = false;
    for (size_t u = 0; u < g->updates.n; u++)
        does |= v->var == g->updates.p[u].value && v->how == PLAN_INPLACE &&
                v->of == g->updates.p[u].shared;
    return does;
}

static void try_updates(Session *s) {
    Graph *g = graph_of_updates(s, "");
    if (!g) return;
    Plan *p = plan_new(g, &(PlanOptions){0});
    size_t over = 0;
    for (size_t i = 0; i < plan_vars(p); i++) {
        PlanVar v = plan_var(p, i);
        over += overwrites_variable(g, &v);
    }
    CHECK(over == VARIABLES, "%zu new values overwrite old ones", over);
    CHECK(least_bytes(g) <= 3 * 200 * 200 * 8, "%g", least_bytes(g));
    plan_free(p);
    graph_free(g);
}

/* What asserts runs before any variable changes. */
static void try_assertion(Session *s) {
    Graph *g = graph_of_updates(s, "  a1 = assert_op(sum(a), max(h8) < 9, msg='m')\n");
    if (!g) return;
    Plan *p = plan_new(g, &(PlanOptions){0});
    size_t asserts = 0, over = 0;
    for (size_t i = 0; i < plan_steps(p); i++)
        if (plan_step(p, i).op->effect) asserts = i;
    for (size_t i = 0; i < plan_vars(p); i++) {
        PlanVar v = plan_var(p, i);
        if (!overwrites_variable(g, &v)) continue;
        over++;
        CHECK(asserts > 0 && v.born > asserts);
    }
    CHECK(over == VARIABLES);
    plan_free(p);
    graph_free(g);
}

/* Are the steps of effects (or all) in the graph's order? */
static bool in_given_order(const Graph *g, const Plan *p, bool effects) {
    ApplyId last = 0;
    for (size_t i = 0; i < plan_steps(p); i++) {
        PlanStep st = plan_step(p, i);
        if (effects && !op_has_effect(g, st.op, g->apply[st.apply].props)) continue;
        if (st.apply < last) return false;
        last = st.apply;
    }
    return true;
}

/* Values v, each the last argument of the call that `made` begins, then their sums, the
 * last first. */
static Graph *interleaved(Session *s, const char *made, const char *sum_of) {
    enum { VALUES = 9 };
    Str t = STR(s);
    str_puts(&t,
             "thunkline: 1\ninputs:\n  n: int64\n  a: 'float64[500, 500]'\nlet: |\n");
    for (int i = 0; i < VALUES; i++)
        str_printf(&t, "  v%d = %sa @ a)\n", i, made);
    for (int i = VALUES; i-- > 0;)
        str_printf(&t, "  s%d = %ssum(v%d))\n", i, sum_of, i);
    str_puts(&t, "outputs: [s0, s1, s2, s3, s4, s5, s6, s7, s8]\n");
    return read_text(s, &t);
}

static void try_effects(Session *s) {
    Graph *g = interleaved(s, "print(", "print(");
    if (!g) return;
    Plan *p = plan_new(g, &(PlanOptions){0});
    CHECK(in_given_order(g, p, true));
    plan_free(p);
    graph_free(g);
}

static void try_given_order(Session *s) {
    Graph *g = interleaved(s, "(", "("),
          *lazy = interleaved(s, "ifelse(n > 0, a, ", "(");
    if (!g || !lazy) return;
    Plan *p = plan_new(g, &(PlanOptions){0}),
         *all = plan_new(g, &(PlanOptions){.no_reuse = true}),
         *l = plan_new(lazy, &(PlanOptions){0});
    CHECK(!in_given_order(g, p, false));
    CHECK(in_given_order(g, all, false));
    CHECK(plan_steps(l) > 9);
    CHECK(least_bytes(g) <= 2 * 500 * 500 * 8, "%g", least_bytes(g));
    plan_free(p), plan_free(all), plan_free(l);
    graph_free(g), graph_free(lazy);
}

int main(void) {
    Session *s = tools_session(NULL, NULL);
    session_options(s)->threads = 2;
    try_small_graphs(s);
    try_chains(s);
    try_updates(s);
    try_assertion(s);
    try_effects(s);
    try_given_order(s);
    session_free(s);
    return TEST_END("vm_order");
}
