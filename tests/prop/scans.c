/* Random loops, some of them over stretches of steps: the VM's own loop gives the same
 * bits as running one step after the other, whether its steps are watched or not;
 * stretches change nothing; gradients agree with central differences, forward mode with
 * reverse mode, also for the gradient; rewriting changes nothing. */
#include "../unit/test.h"
#include "ad/ad.h"
#include "lang/expr.h"
#include "rewrite/rewrite.h"
#include "scan/scan.h"
#include "vm/vm.h"

#include <math.h>
#include <stdlib.h>

enum { SCANS = 400, LONG_SCANS = 1000, INPUTS_MAX = 12, OUTS_MAX = 6, NAMES_MAX = 24 };

static Session *s;
static uint64_t seed = 88172645463325252u;

static uint32_t below(uint32_t n) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 20) % n);
}

/* ---- a random loop as text ---- */
typedef struct RandomLoop {
    char text[4096]; /* of the definitions */
    size_t ninput;
    char input[INPUTS_MAX][48];
    char type[INPUTS_MAX][32];
    int64_t rows[INPUTS_MAX]; /* -1: no axis for steps */
    int vec;                  /* rows are vectors of two, else scalars */
    bool rich;                /* with more than elementwise ops */
    bool named;               /* their dim has a name: loops may be cut into blocks */
    int64_t steps;
    size_t nout, nname;
    char out[OUTS_MAX][48];
    bool discrete[OUTS_MAX];
    char name[NAMES_MAX][48]; /* of the body's inputs */
    bool counts, ends;
    size_t plain; /* where the text ends without its checkpoint; 0: it has none */
} RandomLoop;

static void add_input(RandomLoop *l, const char *name, int64_t rows) {
    char lead[16] = "";
    size_t i = l->ninput++;
    snprintf(l->input[i], sizeof l->input[i], "%s", name);
    l->rows[i] = rows;
    switch (below(3)) {
    case 0:
        snprintf(lead, sizeof lead, "%lld", (long long)rows);
        break;
    case 1:
        snprintf(lead, sizeof lead, "n%s", name); /* a dim of its own */
        break;
    default:
        snprintf(lead, sizeof lead, "?");
    }
    const char *two = l->named ? "w" : "2", *row = l->vec ? below(2) ? two : "?" : "";
    if (rows >= 0)
        snprintf(l->type[i], sizeof l->type[i], "float64[%s%s%s]", lead,
                 l->vec ? ", " : "", row);
    else
        snprintf(l->type[i], sizeof l->type[i], l->vec ? "float64[%s]" : "float64",
                 two);
}

static void add_name(RandomLoop *l, const char *name) {
    snprintf(l->name[l->nname++], sizeof *l->name, "%s", name);
}

/* Of what has any shape: instructions of several kinds between elementwise ones. */
static void structure(const RandomLoop *l, int depth, Str *out);

static void expression(const RandomLoop *l, int depth, Str *out) {
    static const char *const unary[] = {"sin", "tanh", "cos", "sum"};
    static const char *const infix[] = {"+", "-", "*"};
    if (depth == 0 || below(4) == 0) {
        if (below(5) == 0)
            str_printf(out, "%u.5", below(2));
        else
            str_puts(out, l->name[below((uint32_t)l->nname)]);
        return;
    }
    if (l->rich && below(4) == 0) {
        structure(l, depth, out);
        return;
    }
    if (below(2)) {
        str_printf(out, "%s(", unary[below(4)]);
        expression(l, depth - 1, out);
        str_putc(out, ')');
        return;
    }
    str_putc(out, '(');
    expression(l, depth - 1, out);
    str_printf(out, " %s ", infix[below(3)]);
    expression(l, depth - 1, out);
    str_putc(out, ')');
}

static void structure(const RandomLoop *l, int depth, Str *out) {
    static const char *const how[] = {
        "sum(stack([u, 0.5 * u]), axis=0)",
        "max(stack([u, 0.25 * u, -u]), axis=0)",
        "stack([u, 0.3 * u])[cast(sum(u) > 0, int64)]",
        "set_subtensor(stack([u, cos(u)])[1], 2 * u)[1]",
        "reduce(lambda a, b: a + sin(b), stack([u, 2.0 * u]), 0.0 * u)",
        "(stack([atleast_1d(u), sin(atleast_1d(u))]) @ atleast_1d(u))[1]",
        "concatenate([atleast_1d(u), atleast_1d(u)])[1:][0]",
        "where(u > 0, u, 0.5 * u)",
        "logsumexp(stack([u, 0.5 * u]), axis=0)",
        "stack([u, 0.3 * u])[argmin(stack([sum(u), 0.25 * sum(u)]))]",
    };
    str_puts(out, "(lambda u: ");
    str_puts(out, how[below(sizeof how / sizeof *how)]);
    str_puts(out, ")(");
    expression(l, depth - 1, out);
    str_putc(out, ')');
}

/* Taps in any order, all different; returns the span that they need beyond a step. */
static int64_t random_taps(bool past, char *text, size_t *n) {
    int64_t low = 0, high = 0, used[3];
    *n = 1 + below(2);
    size_t at = 0;
    for (size_t i = 0; i < *n; i++) {
        int64_t t = past ? -1 - (int64_t)below(3) : (int64_t)below(4) - 2;
        for (size_t k = 0; k < i; k++)
            if (used[k] == t) t = past ? t - 3 : t + 4;
        used[i] = t;
        if (t < low) low = t;
        if (t > high) high = t;
        at += (size_t)sprintf(text + at, "%s%lld", i ? ", " : "", (long long)t);
    }
    return high - low;
}

static void random_sequences(RandomLoop *l, Str *params, Str *list) {
    size_t n = below(3);
    for (size_t i = 0; i < n; i++) {
        char name[48], taps[96];
        size_t ntap = 1;
        int64_t span = 0;
        snprintf(name, sizeof name, "X%zu", i);
        bool plain = below(2);
        if (!plain) span = random_taps(false, taps, &ntap);
        add_input(l, name, l->steps + span + (int64_t)below(2));
        str_printf(list, plain ? "%s%s" : "%staps(%s, [", list->n ? ", " : "", name);
        if (!plain) str_printf(list, "%s])", taps);
        for (size_t k = 0; k < ntap; k++) {
            snprintf(name, sizeof name, "x%zu%zu", i % 9, k % 9);
            str_printf(params, "%s%s", params->n ? ", " : "", name);
            add_name(l, name);
        }
    }
}

static void random_states(RandomLoop *l, Str *params, Str *list) {
    size_t n = below(3);
    for (size_t i = 0; i < n; i++) {
        char name[48], taps[96];
        size_t ntap = 1;
        bool plain = below(2);
        int64_t depth = plain ? 1 : random_taps(true, taps, &ntap);
        bool one = plain || strcmp(taps, "-1") == 0;
        snprintf(name, sizeof name, "H%zu", i);
        add_input(l, name, one ? -1 : depth);
        str_printf(list, plain ? "%s%s" : "%staps(%s, [", list->n ? ", " : "", name);
        if (!plain) str_printf(list, "%s])", taps);
        for (size_t k = 0; k < ntap; k++) {
            snprintf(name, sizeof name, "h%zu%zu", i % 9, k % 9);
            str_printf(params, "%s%s", params->n ? ", " : "", name);
            add_name(l, name);
        }
        snprintf(l->out[l->nout++], sizeof *l->out, "h%zu0", i);
    }
    l->counts = below(2);
    if (!l->counts) return;
    str_printf(list, "%s0", list->n ? ", " : "");
    str_printf(params, "%si", params->n ? ", " : "");
    l->discrete[l->nout] = true;
    snprintf(l->out[l->nout++], sizeof *l->out, "i");
}

/* The values: each state keeps its shape by a term of its own. */
static void random_values(RandomLoop *l, Str *body) {
    size_t states = l->nout;
    if (l->counts) add_name(l, "i");
    str_putc(body, '[');
    for (size_t i = 0; i < states; i++) {
        if (i) str_puts(body, ", ");
        if (l->discrete[i]) {
            str_puts(body, "i + 1");
            continue;
        }
        str_printf(body, "0.5 * %s + sin(", l->out[i]);
        expression(l, 2, body);
        str_putc(body, ')');
    }
    size_t more = below(3) + (states == 0);
    for (size_t i = 0; i < more; i++) {
        if (l->nout) str_puts(body, ", ");
        expression(l, 3, body);
        str_printf(body, " * %s", "1.0");
        l->nout++;
    }
    l->ends = l->counts && below(3) == 0;
    if (l->ends)
        str_printf(body, ", until(i >= %u)",
                   l->steps > 5 ? below((uint32_t)l->steps) : below(4));
    str_putc(body, ']');
}

static void random_loop(RandomLoop *l, int64_t steps, bool rich) {
    Str params = STR(s), seqs = STR(s), states = STR(s), body = STR(s), keep = STR(s);
    memset(l, 0, sizeof *l);
    l->vec = (int)below(2);
    l->named = l->vec && below(2);
    l->steps = steps;
    l->rich = rich;
    random_sequences(l, &params, &seqs);
    random_states(l, &params, &states);
    add_input(l, "W", -1);
    add_name(l, "W");
    size_t fed = l->nout;
    random_values(l, &body);
    for (size_t i = fed; i < l->nout; i++)
        str_printf(&states, "%sNone", states.n ? ", " : "");
    for (size_t i = 0; i < l->nout; i++) {
        bool none = l->steps == 0 && i >= fed;
        static const char *const how[] = {"'all'", "'all'", "'last'", "1", "2"};
        str_printf(&keep, "%s%s", i ? ", " : "", how[none ? 0 : below(5)]);
    }
    size_t at = 0;
    for (size_t i = 0; i < l->nout; i++)
        at += (size_t)snprintf(l->text + at, sizeof l->text - at, "%sy%zu",
                               i ? ", " : "", i);
    snprintf(l->text + at, sizeof l->text - at,
             " = scan(lambda %s%sW: %s, sequences=[%s], outputs_info=[%s], "
             "non_sequences=[W], n_steps=%lld, keep=%s%s%s%s)",
             str_text(&params), params.n ? ", " : "", str_text(&body), str_text(&seqs),
             str_text(&states), (long long)l->steps, l->nout > 1 ? "[" : "",
             str_text(&keep), l->nout > 1 ? "]" : "",
             below(4) ? "" : ", go_backwards=True");
    if (fed && !l->ends && below(2)) {
        static const char *const every[] = {"'sqrt'", "1", "2", "3", "9"};
        l->plain = strlen(l->text) - 1;
        snprintf(l->text + l->plain, sizeof l->text - l->plain, ", checkpoint=%s)",
                 every[below(5)]);
    }
    str_free(&params), str_free(&seqs), str_free(&states), str_free(&body);
    str_free(&keep);
}

/* ---- the graph ---- */
typedef struct Case {
    RandomLoop l;
    Graph *g;
    Builder b;
    Var in[INPUTS_MAX], out[OUTS_MAX], cost, grad[INPUTS_MAX], tangent[INPUTS_MAX];
    Tensor t[INPUTS_MAX];
} Case;

static const char *why(void) {
    const Diag *d = diag_first_error(s);
    return d ? d->text : "no message";
}

static bool compile(Case *c) {
    size_t n = strlen(c->l.text);
    Span at = {source_add(s, "loop", c->l.text, n), 0, (uint32_t)n};
    Compiler *k = compiler_new(&c->b);
    bool ok = compiler_define(k, at, true) && compiler_run(k);
    compiler_free(k);
    for (size_t i = 0; ok && i < c->l.nout; i++) {
        char name[48];
        snprintf(name, sizeof name, "y%zu", i);
        c->out[i] = graph_find(c->g, sym(s, name));
        vec_push(s, &c->g->outputs, ((Output){sym(s, name), c->out[i]}));
    }
    return ok;
}

static Var say(Case *c, const char *text, Var x, Var y) {
    Bind bind[] = {{sym(s, "x"), x}, {sym(s, "y"), y}};
    Env env = {.n = 2, .bind = bind};
    bool ok = true;
    Var v = template_build(&c->b, text, &env, &ok);
    return ok ? v : VAR_NONE;
}

static bool add_cost(Case *c) {
    c->cost = const_number(&c->b, DT_FLOAT64, 0);
    for (size_t i = 0; i < c->l.nout; i++)
        if (!c->l.discrete[i])
            c->cost = say(c, "y + 0.7 * sum(x) + sum(sin(x))", c->out[i], c->cost);
    return c->cost != VAR_NONE;
}

static void make_inputs(Case *c) {
    c->g = graph_new(s);
    c->b = builder(c->g, false);
    for (size_t i = 0; i < c->l.ninput; i++) {
        const char *text = c->l.type[i];
        c->in[i] = graph_input(c->g, sym(s, c->l.input[i]),
                               type_parse(s, text, strlen(text), NOWHERE));
        int64_t shape[2] = {c->l.rows[i], 2};
        int lead = c->l.rows[i] >= 0;
        tensor_new(s, DT_FLOAT64, lead + c->l.vec, shape + !lead, &c->t[i]);
        for (int64_t k = 0; k < tensor_size(&c->t[i]); k++)
            ((double *)c->t[i].data)[k] =
                sin((double)(k * 3 + 7 * (int64_t)i + 1)) * 1.1;
    }
}

/* ---- running ---- */
static bool host_alloc(Call *c, size_t i, DType d, int ndim, const int64_t *shape) {
    value_unref(&c->out[i]);
    c->out[i].kind = TYPE_TENSOR;
    return tensor_new(c->s, d, ndim, shape, &c->out[i].t);
}

/* After each loop: the same one step after the other. */
static bool check_plain(void *ctx, size_t step, const Call *c, double seconds) {
    const Case *k = ctx;
    (void)step, (void)seconds;
    if (!op_is(s, c->op, OP_SCAN)) return true;
    CallHost host = {.alloc = host_alloc, .pool = session_pool(s)};
    Value out[OUT_MAX] = {{0}};
    Call d = *c;
    d.host = &host;
    d.out = out;
    d.reuse = NULL;
    CHECK(c->op->perform(&d), "%s: one step after the other fails: %s", k->l.text,
          why());
    for (size_t i = 0; i < c->nout; i++) {
        CHECK(tensor_equal(&out[i].t, &c->out[i].t), "%s: output %zu of %s differs",
              k->l.text, i, "the loop");
        value_unref(&out[i]);
    }
    return true;
}

static bool set_inputs(Machine *m, const Case *c) {
    for (size_t i = 0; i < c->l.ninput; i++) {
        Value v = {.kind = TYPE_TENSOR, .t = c->t[i]};
        if (!vm_set_input(m, i, &v)) return false;
    }
    return true;
}

static void drop(size_t n, Tensor *t) {
    for (size_t i = 0; i < n; i++)
        if (t[i].buf) tensor_unref(&t[i]);
}

static void keep_outputs(const Machine *m, size_t n, Tensor *out) {
    for (size_t i = 0; i < n; i++)
        tensor_clone(s, &vm_output(m, i)->t, &out[i]);
}

/* Runs a graph with the same inputs; out: n clones. Twice, since the second run finds
 * everything ready, and nobody watches it. */
static bool run(const Case *c, Graph *g, size_t n, const Var *want, Tensor *out,
                bool watch) {
    Plan *p = plan_new(
        g, &(PlanOptions){.nwant = n, .want = want, .threads = 1, .block_rows = 1});
    if (!p) return false;
    Machine *m = vm_new(p);
    VmHooks hooks = {.ctx = (void *)(uintptr_t)c, .after = check_plain};
    if (watch) vm_set_hooks(m, &hooks);
    Tensor watched[OUTS_MAX + INPUTS_MAX] = {{0}};
    bool ok = set_inputs(m, c) && vm_run(m);
    if (ok && watch) keep_outputs(m, n, watched);
    vm_set_hooks(m, NULL);
    ok = ok && set_inputs(m, c) && vm_run(m);
    memset(out, 0, n * sizeof *out);
    if (ok) keep_outputs(m, n, out);
    for (size_t i = 0; ok && watch && i < n; i++)
        CHECK(tensor_equal(&out[i], &watched[i]),
              "%s: output %zu is another one if steps are not watched", c->l.text, i);
    drop(n, watched);
    vm_free(m);
    plan_free(p);
    CHECK(ok, "%s: %s", c->l.text, why());
    return ok;
}

static double at(const Case *c, Machine *m, double *x, double v) {
    double was = *x;
    *x = v;
    double r = set_inputs(m, c) && vm_run(m) ? tensor_f64(&vm_output(m, 0)->t, 0)
                                             : (double)NAN;
    *x = was;
    return r;
}

static void check_differences(Case *c, Var cost, const Var *grad) {
    Tensor g[INPUTS_MAX];
    Plan *p = plan_new(c->g, &(PlanOptions){.nwant = 1, .want = &cost, .threads = 1});
    if (!run(c, c->g, c->l.ninput, grad, g, false) || !p) return;
    Machine *m = vm_new(p);
    for (size_t i = 0; i < c->l.ninput; i++)
        for (int64_t k = 0; k < tensor_size(&c->t[i]); k++) {
            double *x = (double *)c->t[i].data + k, h = 1e-4, v = *x;
            double fd = (8 * (at(c, m, x, v + h) - at(c, m, x, v - h)) -
                         (at(c, m, x, v + 2 * h) - at(c, m, x, v - 2 * h))) /
                        (12 * h);
            double have = tensor_f64(&g[i], k);
            CHECK(fabs(have - fd) <= 1e-6 * (1 + fabs(fd)),
                  "%s: the gradient of %s[%lld] is %.12g, by differences %.12g",
                  c->l.text, c->l.input[i], (long long)k, have, fd);
        }
    drop(c->l.ninput, g);
    vm_free(m);
    plan_free(p);
}

/* ---- derivatives ---- */
static bool derive(Case *c, Var cost, Var *grad) {
    GradOptions how = {.disconnected = GRAD_IGNORE};
    bool intern = c->b.intern;
    c->b.intern = true;
    bool ok = ad_grad(&c->b, cost, (VarList){c->l.ninput, c->in}, &how, grad);
    c->b.intern = intern;
    CHECK(ok, "%s: no gradient: %s", c->l.text, why());
    return ok;
}

static void check_forward(Case *c, Var cost, const Var *grad) {
    Var dot[3];
    Tensor t[3];
    c->b.intern = true;
    VarList f = {1, &cost}, wrt = {c->l.ninput, c->in};
    bool ok = ad_jvp(&c->b, f, wrt, c->tangent, false, &dot[0]) &&
              ad_jvp(&c->b, f, wrt, c->tangent, true, &dot[1]);
    dot[2] = const_number(&c->b, DT_FLOAT64, 0);
    for (size_t i = 0; ok && i < c->l.ninput; i++) {
        dot[2] = say(c, "y + sum(x)",
                     op_call2(&c->b, "multiply", grad[i], c->tangent[i]), dot[2]);
        ok = dot[2] != VAR_NONE;
    }
    CHECK(ok, "%s: no forward mode: %s", c->l.text, why());
    for (int i = 0; i < 2; i++)
        if (ok && dot[i] == VAR_NONE) dot[i] = const_number(&c->b, DT_FLOAT64, 0);
    if (!ok || !run(c, c->g, 3, dot, t, false)) return;
    double want = tensor_f64(&t[2], 0);
    for (int i = 0; i < 2; i++)
        CHECK(fabs(tensor_f64(&t[i], 0) - want) <= 1e-9 * (1 + fabs(want)),
              "%s: forward mode %d gives %.15g, reverse mode %.15g", c->l.text, i,
              tensor_f64(&t[i], 0), want);
    drop(3, t);
}

static void check_derivatives(Case *c) {
    Var grad[INPUTS_MAX];
    if (!add_cost(c) || !derive(c, c->cost, c->grad)) return;
    check_differences(c, c->cost, c->grad);
    check_forward(c, c->cost, c->grad);
    Var cost = const_number(&c->b, DT_FLOAT64, 0);
    for (size_t i = 0; i < c->l.ninput; i++)
        cost = say(c, "y + sum(x * x) + sum(cos(x))", c->grad[i], cost);
    if (cost == VAR_NONE || !derive(c, cost, grad)) return;
    check_differences(c, cost, grad);
    check_forward(c, cost, grad);
}

/* ---- rewriting ---- */
static size_t reused, cut; /* loops that read what others computed; in blocks of rows */

static bool has_blocks(const Graph *g) {
    for (ApplyId id = 0; id < g->napply; id++)
        if (op_is(s, g->apply[id].op, OP_CALL) &&
            op_prop(s, g->apply[id].op, g->apply[id].props, "rows")->ints.n)
            return true;
    return false;
}

/* `exact`: to the bit. Returns how many replacements there were. */
static size_t check_rewriting(Case *c, const RewriteOptions *o, bool exact) {
    Tensor was[OUTS_MAX + INPUTS_MAX], is[OUTS_MAX + INPUTS_MAX];
    RewriteResult did = {0};
    size_t n = c->g->outputs.n;
    Graph *h = rewrite_run(c->g, o, &did);
    CHECK(h && graph_check(h), "%s: %s", c->l.text, why());
    if (!h) return 0;
    cut += has_blocks(h);
    Var *want[2] = {malloc(n * sizeof(Var)), malloc(n * sizeof(Var))};
    for (size_t i = 0; i < n; i++) {
        want[0][i] = c->g->outputs.p[i].var;
        want[1][i] = h->outputs.p[i].var;
    }
    if (run(c, c->g, n, want[0], was, false) && run(c, h, n, want[1], is, false))
        for (size_t i = 0; i < n; i++)
            CHECK(exact ? tensor_equal(&was[i], &is[i])
                        : tensor_approx(&was[i], &is[i], APPROX_DEFAULT, NULL),
                  "%s: output %zu is another one when rewritten%s", c->l.text, i,
                  exact ? " by scan-reuse alone" : "");
    drop(n, was);
    drop(n, is);
    free(want[0]), free(want[1]);
    graph_free(h);
    return did.fired;
}

static void check_rewritten(Case *c) {
    static const char *const reuse[] = {"scan-reuse"};
    for (size_t i = 0; i < c->l.ninput; i++) {
        char label[48];
        snprintf(label, sizeof label, "d%zu", i);
        vec_push(s, &c->g->outputs, ((Output){sym(s, label), c->grad[i]}));
    }
    check_rewriting(c, &(RewriteOptions){0}, false);
    RewriteOptions alone = {.query = {.nrequire = 1, .require = reuse}};
    reused += check_rewriting(c, &alone, true);
}

/* The loop without its checkpoint gives the same values. */
static void check_plain_loop(const Case *with, const Tensor *out) {
    Case c = {.l = with->l};
    Tensor plain[OUTS_MAX];
    strcpy(c.l.text + c.l.plain, ")");
    make_inputs(&c);
    if (compile(&c) && run(&c, c.g, c.l.nout, c.out, plain, false)) {
        for (size_t i = 0; i < c.l.nout; i++)
            CHECK(tensor_equal(&out[i], &plain[i]), "%s: output %zu is another one",
                  with->l.text, i);
        drop(c.l.nout, plain);
    }
    drop(c.l.ninput, c.t);
    graph_free(c.g);
}

static void test_one(void) {
    Case c = {0};
    Tensor out[OUTS_MAX];
    random_loop(&c.l, (int64_t)below(6), false);
    make_inputs(&c);
    bool ok = compile(&c);
    CHECK(ok, "%s: %s", c.l.text, why());
    if (ok && run(&c, c.g, c.l.nout, c.out, out, true)) {
        if (c.l.plain) check_plain_loop(&c, out);
        drop(c.l.nout, out);
        for (size_t i = 0; i < c.l.ninput; i++) {
            Tensor t;
            tensor_clone(s, &c.t[i], &t);
            for (int64_t k = 0; k < tensor_size(&t); k++)
                ((double *)t.data)[k] = cos((double)(5 * k + (int64_t)i));
            c.tangent[i] = graph_const(c.g, &t, false);
            tensor_unref(&t);
        }
        check_derivatives(&c);
        CHECK(graph_check(c.g), "%s: %s", c.l.text, why());
        check_rewritten(&c);
    }
    drop(c.l.ninput, c.t);
    graph_free(c.g);
    diag_clear(s);
}

/* Steps that take the shortest path, which a few don't. */
static void test_long(void) {
    Case c = {0};
    Tensor out[OUTS_MAX];
    random_loop(&c.l, 6 + (int64_t)below(60), true);
    make_inputs(&c);
    bool ok = compile(&c);
    CHECK(ok, "%s: %s", c.l.text, why());
    if (ok && run(&c, c.g, c.l.nout, c.out, out, true)) {
        if (c.l.plain) check_plain_loop(&c, out);
        drop(c.l.nout, out);
        Graph *h = rewrite_run(c.g, &(RewriteOptions){0}, &(RewriteResult){0});
        for (size_t i = 0; h && i < c.l.nout; i++)
            c.out[i] = h->outputs.p[i].var;
        if (h && run(&c, h, c.l.nout, c.out, out, true)) drop(c.l.nout, out);
        graph_free(h);
    }
    drop(c.l.ninput, c.t);
    graph_free(c.g);
    diag_clear(s);
}

int main(int argc, char **argv) {
    s = session_new(NULL, NULL);
    session_options(s)->threads = 1;
    vm_open(s);
    ad_open(s);
    if (argc > 1) seed += strtoull(argv[1], NULL, 10) * UINT64_C(0x9E3779B97F4A7C15);
    uint64_t before = buffer_bytes_used(s);
    for (unsigned i = 0; i < SCANS; i++)
        test_one();
    for (unsigned i = 0; i < LONG_SCANS; i++)
        test_long();
    CHECK(cut > 0, "no loop is computed in blocks of rows");
    CHECK(reused > 0, "no loop reads what another has computed");
    CHECK(buffer_bytes_used(s) == before, "tensors are left over");
    session_free(s);
    return TEST_END("prop scans");
}
