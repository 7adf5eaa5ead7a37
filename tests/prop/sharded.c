/* Sharded programs give the same bits on 1, 2 and 4 ranks, and the values of the plain
 * program up to the order of sums: outputs, and what some steps of an optimizer make of
 * the shared variables. Ranks are forked processes (ranks_test.h), each with its rows.
 */
#include "../unit/ranks_test.h"
#include "ad/ad.h"
#include "op/shards.h"
#include "rewrite/rewrite.h"
#include "tools/tools.h"
#include "value/rng.h"

#include <math.h>

enum { STEPS = 3, VALUES = 1 << 16 };

typedef struct Case {
    const char *name;
    const char *path, *text;     /* a file of examples, or YAML */
    const char *wrt, *optimizer; /* of the output `loss`; NULL: none */
    const char *split[2];
    bool draws;       /* not what the plain program draws */
    const char *mode; /* of rewriting, before it is split; NULL: FAST_RUN */
} Case;

static const char recurrent[] =
    "thunkline: 1\ninputs:\n  x: float64[n, 5, 3]\n  y: float64[n]\nshared:\n"
    "  U: float64[3, 4] = normal(0, 0.5, (3, 4), seed=1)\n"
    "  V: float64[4, 4] = normal(0, 0.5, (4, 4), seed=2)\n  b: float64[4] = zeros(4)\n"
    "let: |\n  step = lambda x, h: tanh(x @ U + h @ V + b)\n"
    "  h = scan(step, sequences=[transpose(x, axes=[1, 0, 2])], "
    "outputs_info=[zeros((n, 4))])\n"
    "  loss = mean((sum(h[-1], axis=1) - y) ** 2)\noutputs: [loss]\n";

static const Case cases[] = {
    {"digits",
     "examples/digits/model.yaml",
     NULL,
     "W,b",
     "sgd(0.5)",
     {"x", "y"},
     false,
     NULL},
    {"digits with momentum",
     "examples/digits/model.yaml",
     NULL,
     "W,b",
     "clip_norm(1.0), momentum(0.1)",
     {"x", "y"},
     false,
     NULL},
    {"mlp",
     "examples/mlp/model.yaml",
     NULL,
     "W1,b1,W2,b2",
     "adam(0.01)",
     {"x", "y"},
     false,
     NULL},
    {"logistic",
     "examples/logistic/model.yaml",
     NULL,
     NULL,
     NULL,
     {"x", "digit"},
     false,
     NULL},
    {"statistics",
     NULL,
     "thunkline: 1\ninputs:\n  x: float64[n, 3]\nlet: |\n"
     "  m = mean(x, axis=0)\n  v = mean((x - m) ** 2, axis=0)\n"
     "  loss = sum(((x - m) / sqrt(v + 0.1)) ** 3)\n"
     "  top = max(x, axis=0)\n  low = min(x)\n  some = any(x > 1.5, axis=0)\n"
     "  each = all(x > -9)\n  count = n * 2\n"
     "outputs: [m, v, loss, top, low, some, each, count]\n",
     NULL,
     NULL,
     {"x"},
     false,
     NULL},
    {"least and logsumexp",
     NULL,
     "thunkline: 1\ninputs:\n  x: float64[n, 3]\nlet: |\n"
     "  u = min(cast(abs(x) * 50, 'uint8') + uint8(3), axis=0)\n"
     "  b = min(x > -1.9)\n  i = min(cast(x * 9, 'int32'), axis=0)\n"
     "  l = logsumexp(x, axis=0)\n  m = logsumexp(float32(x) * 30)\n"
     "  g = grad(sum(l ** 2), x)\n"
     "outputs: [u, b, i, l, m, g]\n",
     NULL,
     NULL,
     {"x"},
     false,
     NULL},
    {"var",
     NULL,
     "thunkline: 1\ninputs:\n  x: float32[n, 3]\nlet: |\n"
     "  v = var(x, axis=0)\n  w = std(x, ddof=1)\n  u = var(x, axis=1)\n"
     "outputs: [v, w, u]\n",
     NULL,
     NULL,
     {"x"},
     false,
     NULL},
    {"rows",
     NULL,
     "thunkline: 1\ninputs:\n  x: float64[n, 4]\nlet: |\n"
     "  y = softmax(x, axis=1)\n  t = x.T * 2\n  c = cumsum(x, axis=1)\n"
     "  at = arange(n)\n  r = x.reshape((n, 2, 2))\n  s = (x - mean(x)) @ ones((4, "
     "2))\n"
     "  p = sum(at * x[:, 1])\n  g = x.T @ x\n"
     "outputs: [y, t, c, at, r, s, p, g]\n",
     NULL,
     NULL,
     {"x"},
     false,
     NULL},
    {"embedding",
     NULL,
     "thunkline: 1\ninputs:\n  x: int64[n]\n  y: float64[n]\nshared:\n"
     "  U: float64[10, 4] = normal(0, 1, (10, 4), seed=3)\nlet: |\n"
     "  loss = mean((sum(U[x], axis=1) - y) ** 2)\noutputs: [loss]\n",
     "U",
     "sgd(0.1)",
     {"x", "y"},
     false,
     NULL},
    {"dropout",
     NULL,
     "thunkline: 1\ninputs:\n  x: float64[n, 4]\n  r: random\nshared:\n"
     "  w: float64[4] = ones(4)\nlet: |\n"
     "  s, u = uniform(0., 1., (n, 4), rng=r)\n  s2, v = normal(0., 1., (4,), rng=s)\n"
     "  loss = sum(where(u < 0.5, x, 0) @ w) + sum(v)\noutputs: [loss, u, v]\n",
     "w",
     "sgd(0.1)",
     {"x"},
     true,
     NULL},
    /* gradients that are more than a short message: exchanges beside other work */
    {"deep",
     NULL,
     "thunkline: 1\ninputs:\n  x: float64[n, 60]\n  y: float64[n]\nshared:\n"
     "  U: float64[60, 50] = normal(0, 0.1, (60, 50), seed=1)\n"
     "  b: float64[50] = zeros(50)\n"
     "  V: float64[50, 70] = normal(0, 0.1, (50, 70), seed=2)\n"
     "  W: float64[70, 60] = normal(0, 0.1, (70, 60), seed=3)\nlet: |\n"
     "  h = tanh(tanh(tanh(x @ U + b) @ V) @ W)\n"
     "  loss = mean((sum(h, axis=1) - y) ** 2)\noutputs: [loss]\n",
     "U,b,V,W",
     "clip_norm(1.0), adam(0.01)",
     {"x", "y"},
     false,
     NULL},
    {"images",
     NULL,
     "thunkline: 1\ninputs:\n  x: float32[n, 2, 6, 6]\n  y: int64[n]\nshared:\n"
     "  F: float32[3, 2, 3, 3] = normal(0, 0.3, (3, 2, 3, 3), seed=1)\n"
     "  W: float32[12, 10] = normal(0, 0.3, (12, 10), seed=2)\nlet: |\n"
     "  h = max_pool(maximum(conv(x, F), 0), 2)\n  z = h.reshape((n, 12)) @ W\n"
     "  loss = -mean(log_softmax(z, axis=1)[arange(n), y])\noutputs: [loss]\n",
     "F,W",
     "sgd(0.1)",
     {"x", "y"},
     false,
     NULL},
    {"recurrent", NULL, recurrent, "U,V,b", "sgd(0.1)", {"x", "y"}, false, NULL},
    /* states of its gradient add up parts */
    {"recurrent, as it is",
     NULL,
     recurrent,
     "U,V,b",
     "sgd(0.1)",
     {"x", "y"},
     false,
     "NONE"},
};

typedef struct Task {
    size_t which;
    int64_t rows, shards; /* shards 0: the plain program */
    size_t n;             /* numbers, by rank 0 */
    double value[VALUES];
} Task;

/* ---- the program ---- */

static Graph *read_case(Session *s, const Case *c) {
    Graph *g = c->path ? io_read(s, c->path, NULL)
                       : io_read_mem(s, c->name, c->text, strlen(c->text), NULL);
    Derive d = {.cost = "loss", .wrt = c->wrt, .optimizer = c->optimizer};
    if (!g || !c->wrt) return g;
    return derive_agrees(s, &d) && graph_derive(g, &d) ? g : NULL;
}

static Graph *sharded(Graph *g, const Case *c, int64_t shards) {
    Session *s = g->s;
    Var in[2];
    const char *without = "fusion";
    RewriteOptions plain = {.query = {.mode = "FAST_RUN"}}, first = plain;
    if (c->mode) first.query.mode = c->mode;
    first.query.exclude = &without;
    first.query.nexclude = 1;
    Graph *flat = rewrite_run(g, shards ? &first : &plain, NULL);
    if (!flat || !shards) return flat;
    /* with many shards, in as many exchanges as there are sums, beside each other */
    ParallelOptions o = {{0, in}, shards, shards > 4 ? 1 : 0};
    for (size_t i = 0; i < 2 && c->split[i]; i++)
        in[o.inputs.n++] = graph_find(flat, sym(s, c->split[i]));
    Graph *split = rewrite_parallel(flat, &o);
    return split ? rewrite_run(split, &plain, NULL) : NULL;
}

/* ---- its inputs: numbers that depend on their place alone ---- */

static bool input_value(Session *s, const Task *t, const Type *type, Value *out) {
    int64_t shape[MAX_NDIM];
    Rng rng = rng_seed(5);
    *out = (Value){.kind = type->kind};
    if (type->kind == TYPE_RANDOM) return rng_to_tensor(s, &rng, &out->t);
    for (int k = 0; k < type->ndim; k++)
        shape[k] = dim_is_known(type->dim[k]) ? type->dim[k] : t->rows;
    if (!tensor_new(s, type->dtype, type->ndim, shape, &out->t)) return false;
    for (int64_t i = 0, n = tensor_size(&out->t); i < n; i++) {
        uint64_t h = ((uint64_t)i + 1) * 0x9E3779B97F4A7C15;
        double v = (double)(h >> 40) * 0x1p-24 * 4 - 2;
        if (dtype_is_integer(type->dtype)) v = (double)((h >> 33) % 10);
        tensor_cast_elements(type->dtype,
                             (char *)out->t.data + i * (int64_t)dtype_size(type->dtype),
                             DT_FLOAT64, &v, 1, 0, 0);
    }
    return true;
}

static bool set_inputs(Machine *m, const Graph *g, const Task *t, const Case *c) {
    Session *s = g->s;
    unsigned n = ranks_count(s), rank = ranks_rank(s);
    bool ok = true;
    for (size_t i = 0; ok && i < g->inputs.n; i++) {
        Value v;
        const char *name = sym_text(s, var_name(g, g->inputs.p[i]));
        ok = input_value(s, t, var_type(g, g->inputs.p[i]), &v);
        bool split = t->shards && (strcmp(name, c->split[0]) == 0 ||
                                   (c->split[1] && strcmp(name, c->split[1]) == 0));
        Value own = v;
        if (split) {
            int64_t from = ranks_bound(t->rows, rank, n);
            own.t.data = (char *)own.t.data + from * own.t.stride[0];
            own.t.shape[0] = ranks_bound(t->rows, rank + 1, n) - from;
        }
        ok = ok && vm_set_input(m, i, &own);
        value_unref(&v);
    }
    return ok;
}

/* ---- running ---- */

static void keep_value(Task *t, const Value *v) {
    if (v->kind != TYPE_TENSOR) return;
    for (int64_t i = 0, n = tensor_size(&v->t); i < n && t->n < VALUES; i++)
        t->value[t->n++] = tensor_f64(&v->t, i);
}

static bool run_graph(Graph *g, Task *t, const Case *c) {
    Plan *p = plan_new(g, &(PlanOptions){0});
    Machine *m = p ? vm_new(p) : NULL;
    bool ok = m && set_inputs(m, g, t, c);
    for (int i = 0; ok && i < STEPS; i++)
        ok = vm_run(m);
    if (ok && ranks_rank(g->s) == 0) {
        t->n = 0;
        for (size_t i = 0; i < g->outputs.n; i++)
            keep_value(t, vm_output(m, i));
        for (size_t i = 0; i < g->shared.n; i++)
            keep_value(t, vm_shared(m, i));
    }
    vm_free(m);
    plan_free(p);
    return ok;
}

static bool run_case(Session *s, void *shared) {
    Task *t = shared;
    const Case *c = &cases[t->which];
    vm_open(s);
    ad_open(s);
    Graph *g = read_case(s, c), *run = g ? sharded(g, c, t->shards) : NULL;
    bool ok = run && run_graph(run, t, c);
    CHECK(ok, "%s, %lld shards, %u ranks: %s", c->name, (long long)t->shards,
          ranks_count(s), diag_first_error(s) ? diag_first_error(s)->text : "?");
    graph_free(run);
    return ok;
}

/* ---- comparing ---- */

static void compare_ranks(Task *t, Task *one) {
    for (unsigned n = 1; n <= 4; n *= 2) {
        CHECK(with_ranks(n, run_case, t) == 0, "%s on %u ranks", cases[t->which].name,
              n);
        if (n == 1) *one = *t;
        CHECK(t->n == one->n &&
                  memcmp(t->value, one->value, t->n * sizeof *t->value) == 0,
              "%s of %lld rows, %lld shards: %u ranks give other bits than one",
              cases[t->which].name, (long long)t->rows, (long long)t->shards, n);
    }
}

static void compare_plain(Task *t, Task *one) {
    t->shards = 0;
    CHECK(with_ranks(1, run_case, t) == 0);
    double worst = 0;
    bool same = t->n == one->n;
    for (size_t i = 0; same && i < t->n; i++) {
        double d = fabs(t->value[i] - one->value[i]) / (1 + fabs(t->value[i]));
        if (isnan(t->value[i]) && isnan(one->value[i])) d = 0;
        if (!(d <= worst)) worst = d;
    }
    CHECK(same && worst < 2e-4, "%s of %lld rows: %zu values, off by %g",
          cases[t->which].name, (long long)t->rows, t->n, worst);
}

int main(int argc, char **argv) {
    static const int64_t rows[] = {37, 3, 64}, shards[] = {4, 16};
    Task *t = shared_memory(sizeof *t), *one = malloc(sizeof *one);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t r = 0; r < 3 && (argc < 2 || strcmp(argv[1], cases[i].name) == 0);
             r++)
            for (size_t k = 0; k < 2; k++) {
                *t = (Task){.which = i, .rows = rows[r], .shards = shards[k]};
                compare_ranks(t, one);
                if (!cases[i].draws) compare_plain(t, one);
            }
    free(one);
    return TEST_END("prop sharded");
}
