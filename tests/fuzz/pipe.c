/* Any text as a graph that goes the whole way: checked, differentiated, rewritten,
 * written, read back, run before and after. What is run gives the same bits after
 * writing and reading; nearly the same after rewriting, where all is float64 and tame.
 * Loops that are long are left. */
#include "fuzz.h"
#include "tools/random_inputs.h"
#include "value/class.h"

#include <math.h>

enum { STEPS = 20000 };
static const char *const texts[] = {
    "thunkline: 1\ninputs: {x: 'float64[n, 3]', y: 'int64[n]'}\nshared: {W: "
    "'float64[3, 4] = ones((3, 4))'}\nlet: |\n"
    "  z = x @ W\n  loss = -mean(log_softmax(z, axis=1)[arange(n), y])\noutputs: "
    "[loss]\nupdates: {W: W * 0.5}\n",
    "thunkline: 1\ninputs: {x: 'float64[4]', h: float64}\nlet: |\n  s = scan(lambda a, "
    "b: tanh(a * b), [x], [h])\n"
    "  y = sum(s[::-1] * x[1:].sum() + log1p(exp(x)))\noutputs: [y, s]\n",
    "thunkline: 1\nfunctions: {f: {inputs: {a: float64}, outputs: {r: 'sow(a * a, "
    "tag=\"t\", name=\"q\")'}}}\n"
    "inputs: {x: 'float64[2, 3]'}\nlet: |\n  c = ifelse(sum(x) > 0, f(sum(x)), 2.)\n  "
    "y = sum(clip(x, -1, 1).T * c)\noutputs: {y: y}\n",
    "thunkline: 1\ninputs: {x: 'float64[3, 3]'}\nlet: |\n  l = cholesky(x @ x.T + 3 * "
    "eye(3))\n  y = sum(solve(l, x)) + slogdet(l)[1]\n"
    "  k = concatenate([x[:0:-1], pad(x, ((1, 1), (0, 2)))[1:3, :3]])\noutputs: {y: y, "
    "k: 'sort(k)'}\n",
    "thunkline: 1\ninputs: {x: 'float32[5]', i: 'int64[2]', s: \"sparse('csr', "
    "float64[3, 3])\"}\nlet: |\n"
    "  y = sum(x[i] * x[[0, 1]]) + sum(set_subtensor(x[1:3], 0.5))\n  d = s @ "
    "ones(3)\n  l = list_append([x], x * 2)\noutputs: [y, d, l]\n"};

static Seed seed(size_t i) {
    return i < sizeof texts / sizeof *texts ? seed_text(texts[i]) : (Seed){NULL, 0};
}

typedef struct Ran {
    Plan *plan;
    Machine *m;
    unsigned steps;
    bool ok;
} Ran;

static bool count_step(void *ctx, size_t step, const Call *c) {
    Ran *r = ctx;
    (void)step;
    return r->steps++ < STEPS || fail(c->s, NOWHERE, E_LIMIT, "too long");
}

static Ran run(Graph *g, const Trial *t) {
    Ran r = {.plan = plan_new(g, &(PlanOptions){.threads = 1})};
    if (!r.plan) return r;
    r.m = vm_new(r.plan);
    VmHooks hooks = {.ctx = &r, .before = count_step};
    vm_set_hooks(r.m, &hooks);
    r.ok = trial_feed(t, r.m) && vm_run(r.m);
    vm_set_hooks(r.m, NULL);
    return r;
}

static void end(Ran *r) {
    vm_free(r->m);
    plan_free(r->plan);
}

static bool tame(const Value *v) {
    if (v->kind != TYPE_TENSOR || v->t.dtype != DT_FLOAT64) return false;
    for (int64_t i = 0; i < tensor_size(&v->t); i++)
        if (!(fabs(tensor_f64(&v->t, i)) < 1e6)) return false;
    return true;
}

static bool all_float64(const Graph *g) {
    for (Var v = 0; v < g->nvar; v++) {
        const Type *t = var_type(g, v);
        if (t->kind == TYPE_TENSOR && dtype_is_inexact(t->dtype) &&
            t->dtype != DT_FLOAT64)
            return false;
    }
    return true;
}

static void same(Session *s, const Graph *g, const Ran *a, const Ran *b, bool exactly) {
    (void)s;
    for (size_t i = 0; i < g->outputs.n; i++) {
        const Value *x = vm_output(a->m, i), *y = vm_output(b->m, i);
        if (x->kind != y->kind) abort();
        if (x->kind != TYPE_TENSOR) continue;
        if (!tensor_same_shape(&x->t, &y->t)) abort();
        if (exactly
                ? value_hash(x) != value_hash(y)
                : tame(x) && !tensor_approx(&x->t, &y->t,
                                            (Approx){.rtol = 1e-3, .atol = 1e-3}, NULL))
            abort();
    }
}

/* What an op may refuse at these values it may refuse again; what went well goes well
 * again. */
static void run_both(Graph *g, Graph *h, bool exactly) {
    Session *s = g->s;
    Trial t;
    if (!trial_new(g, NULL, 1, &t)) {
        diag_clear(s);
        return;
    }
    Ran a = run(g, &t);
    if (a.ok) {
        Ran b = run(h, &t);
        if (!b.ok && a.steps < STEPS / 2 && diag_first_error(s)->code != E_LIMIT)
            abort();
        if (b.ok) same(s, g, &a, &b, exactly);
        end(&b);
    } else if (!diag_first_error(s))
        abort();
    end(&a);
    trial_free(&t);
    diag_clear(s);
}

static Graph *again(Graph *g, IoFormat f) {
    Str text = STR(g->s);
    if (!io_text(g, &(WriteOptions){.format = f}, &text)) abort();
    Graph *h = io_read_mem(g->s, "again", text.p, text.n, NULL);
    if (!h || !graph_check(h)) abort();
    str_free(&text);
    return h;
}

static void whole_way(Graph *g) {
    Session *s = g->s;
    for (int f = IO_YAML; f <= IO_TLG; f++) {
        Graph *h = again(g, (IoFormat)f);
        run_both(g, h, true);
        graph_free(h);
    }
    Graph *h = rewrite_run(g, &(RewriteOptions){0}, NULL);
    if (!h && !diag_first_error(s)) abort();
    if (h && !graph_check(h)) abort();
    diag_clear(s);
    if (h && all_float64(g)) run_both(g, h, false);
    graph_free(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    Session *s = tools_session(NULL, NULL);
    ReadOptions o = {.floatX = DT_NONE, .max_bytes = 1 << 16, .refuse_load = true};
    session_options(s)->max_memory = 1 << 24;
    Graph *g = io_read_mem(s, "fuzz", p, n, &o);
    if (g && graph_check(g) && g->outputs.n) {
        const char *first = sym_text(s, g->outputs.p[0].label);
        Derive d = {.at = NOWHERE, .how = {.disconnected = GRAD_IGNORE}};
        *(n % 2 ? &d.cost : &d.jvp) = first;
        diag_clear(s);
        if (graph_derive(g, &d)) {
            if (!graph_check(g)) abort();
            whole_way(g);
        } else if (!diag_first_error(s))
            abort();
    } else if (!g && !diag_first_error(s))
        abort();
    graph_free(g);
    session_free(s);
    return 0;
}
