/* Parts that are computed where they end up: what the plan decides, and the bits beside
 * those of a plan that puts nothing in another's place, for sizes that grow and shrink
 * from run to run. */
#include "cli/cli.h"
#include "vm_test.h"

#include <stdlib.h>

typedef struct Case {
    const char *lines; /* of x: float64[n], y: float64[k], m: float64[n, 3] */
    const char *outputs;
    bool extends; /* is a part of r computed where it ends up? */
} Case;

#define LOOP "  t = scan(lambda v, u: u * 0.5 + v, sequences=[x], outputs_info=[y])\n"
static const Case cases[] = {
    {"  t = x * 2\n  r = concatenate(t, y)\n", "r", true},
    {"  t = x * 2\n  r = concatenate(t, t)\n  q = sum(r)\n", "q", true},
    {"  t = x * 2\n  r = concatenate(t, t[::-1], y)\n", "r", true},
    {"  t = m * 2\n  r = concatenate(t.ravel(), y)\n", "r", true},
    {"  t = m @ m.T\n  r = concatenate(t, t.T + 1)\n", "r", true},
    {"  t = x * 2\n  u = x + 1\n  r = stack(t, u)\n", "r", true},
    {"  t = x * 2\n  r = stack(t, t)\n  q = concatenate(r, m.T)\n", "q", true},
    {"  t = x * 2\n  r = concatenate(t, y)\n  q = r * r\n", "q", true},
    {"  t = x * 2\n  r = concatenate(t, y)\n  q = r * sum(r)\n", "q, r", true},
    /* t is needed after or besides */
    {"  t = x * 2\n  r = concatenate(t, y)\n  q = t + r[:n]\n", "q", false},
    {"  t = x * 2\n  r = concatenate(t, y)\n", "r, t", false},
    /* not all of it, or not first */
    {"  t = x * 2\n  r = concatenate(t[1:], y)\n", "r", false},
    {"  t = x * 2\n  r = concatenate(t[::-1], y)\n", "r", false},
    {"  t = m * 2\n  r = concatenate(t.T.ravel(), y)\n", "r", false},
    {"  t = m * 2\n  r = concatenate(t, m, axis=1)\n", "r", false},
    {"  t = x * 2\n  r = concatenate(x, t)\n", "r", false},
    {"  t = arange(3.) * 2\n  r = concatenate(t, y)\n", "r", false},
    /* the rows of a loop, after the initial ones */
    {LOOP "  r = concatenate(y[None], t)\n", "r", true},
    {LOOP "  r = concatenate(y[None], t)\n  q = r[:-1] * 2\n", "q, r", true},
    {LOOP "  r = concatenate(y[None], t)\n  q = r * 2\n  p = t + q[1:]\n", "p", true},
    {LOOP "  r = concatenate(y[None], t)\n  q = t * 2\n  p = r[1:] + q\n", "p", true},
    {LOOP "  r = concatenate(y[None] + t[-1:], t)\n  q = sum(t, 0)\n", "q, r", true},
    {"  t = scan(lambda v, u: v + u, sequences=[x], outputs_info=[sum(y)])\n"
     "  r = concatenate(expand_dims(sum(y), 0), t)\n",
     "r", true},
    {"  t = scan(lambda u, v: u * 0.5 + v, outputs_info=[taps(stack(y, y + 1), "
     "[-2, -1])], n_steps=n)\n  r = concatenate(stack(y, y + 1), t)\n",
     "r", true},
    {"  t = scan(lambda u: (u * 0.75 + 1, until(sum(u - 3.5) > 0.)), outputs_info=[y], "
     "n_steps=200 * n)\n  r = concatenate(y[None], t)\n",
     "r", true},
    {LOOP "  r = concatenate(y[None], t)\n", "r, t", true},
    {LOOP "  r = concatenate(y[None], t)\n  q = concatenate(y[None] * 2, t)\n", "r, q",
     false}, /* q has that room */
    {LOOP "  q = concatenate(y[None] * 2, t)\n  r = concatenate(y[None], t)\n"
          "  p = r * q\n",
     "p", false},
    {LOOP "  r = concatenate(y[None], t)\n  q = concatenate(t, y[None])\n  p = r - q\n",
     "p", true},
    {LOOP "  r = concatenate(y[None], t[1:])\n", "r", false},
    {LOOP "  r = concatenate(stack(y, y), t)\n", "r", false},
    {LOOP "  r = concatenate(t, y[None])\n", "r", true},
};

static Graph *read(Session *s, const Case *c) {
    char text[800];
    snprintf(text, sizeof text,
             "thunkline: 1\ninputs: {x: 'float64[n]', y: 'float64[k]', m: "
             "'float64[n, 3]'}\nlet: |\n%soutputs: [%s]\n",
             c->lines, c->outputs);
    Graph *g = io_read_mem(s, "test", text, strlen(text), NULL);
    CHECK(g != NULL, "%s", c->lines);
    return g;
}

static void set_inputs(Machine *m, const Value in[3]) {
    for (size_t i = 0; i < 3; i++)
        CHECK(vm_set_input(m, i, &in[i]));
}

static bool extends(const Graph *g, const Plan *p) {
    for (size_t i = 0; i < plan_vars(p); i++) {
        PlanVar v = plan_var(p, i);
        Sym name = var_name(g, v.var);
        if (name && strcmp(sym_text(g->s, name), "r") == 0)
            return v.how == PLAN_INPLACE;
    }
    return false;
}

static void try_case(Session *s, const Case *c) {
    static const int64_t sizes[][2] = {{5, 2}, {7, 3}, {7, 9}, {3, 1},
                                       {0, 4}, {4, 0}, {5, 2}, {1500, 400}};
    Graph *g = read(s, c);
    if (!g) return;
    for (int own = 0; own < 2; own++) {
        Plan *with = plan_new(g, &(PlanOptions){.own_results = own}),
             *without = plan_new(g, &(PlanOptions){.no_inplace = true});
        CHECK(extends(g, with) == c->extends && !extends(g, without), "%s", c->lines);
        Machine *a = vm_new(with), *b = vm_new(without);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            const int64_t *n = sizes[i], rows[2] = {n[0], 3};
            Tensor t[3] = {random_tensor(s, DT_FLOAT64, 1, &n[0]),
                           random_tensor(s, DT_FLOAT64, 1, &n[1]),
                           random_tensor(s, DT_FLOAT64, 2, rows)};
            Value in[3], kept = {0};
            for (int k = 0; k < 3; k++)
                in[k] = (Value){.kind = TYPE_TENSOR, .t = t[k]};
            set_inputs(a, in);
            set_inputs(b, in);
            bool fits = strstr(c->lines, "m.T)") == NULL || n[0] != 0;
            for (int again = 0; again < 2 && fits; again++) {
                bool ok = vm_run(a) && vm_run(b);
                CHECK(ok, "%s", c->lines);
                for (size_t k = 0; ok && k < g->outputs.n; k++)
                    CHECK(same_value_bits(vm_output(a, k), vm_output(b, k)),
                          "%s, n = %d", c->lines, (int)n[0]);
                /* an output that is kept stays as it was */
                if (!again && ok) value_copy_view(&kept, vm_output(a, 0));
                if (again && ok) CHECK(same_value_bits(&kept, vm_output(b, 0)));
            }
            value_unref(&kept);
            for (int k = 0; k < 3; k++)
                value_unref(&in[k]);
        }
        vm_free(a), vm_free(b);
        plan_free(with), plan_free(without);
    }
    graph_free(g);
}

int main(void) {
    Session *s = tools_session(NULL, NULL);
    session_options(s)->threads = 2;
    uint64_t before = buffer_bytes_used(s);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        try_case(s, &cases[i]);
    CHECK(buffer_bytes_used(s) == before, "%llu bytes are left",
          (unsigned long long)buffer_bytes_used(s));
    session_free(s);
    return TEST_END("vm_join");
}
