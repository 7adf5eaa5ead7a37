/* What reading a text, its derivatives, its harvest, rewriting and writing do when a
 * part of what they build can't be had: they work, made otherwise, or there is exactly
 * one error (failing_calls.h).
 *
 *     text_building [NAME]   DEPTH=n; one of the documents */
#include "ad/ad.h"
#include "failing_calls.h"
#include "io/io.h"
#include "op/shards.h"
#include "rewrite/rewrite.h"
#include "tools/tools.h"
#include "userop/userop.h"
#include "vm/vm.h"

#include <string.h>
#include <unistd.h>

enum { DEPTH = 6 };

/* ---- documents: `loss` is what they derive ---- */

typedef struct Document {
    const char *name, *text;
} Document;
static const char ops[] =
    "thunkline: 1\nops:\n"
    "  square_sum:\n    inputs: {x: , w: }\n    def: sum(x * x) * w\n"
    "    adjoint: {x: '2 * x * w * g', w: sum(x * x) * g}\n"
    "  curved:\n    inputs: {x: , y: }\n    def: x * x * y\n"
    "    partials: {x: '2 * x * y', y: x * x}\n"
    "  pulled:\n    inputs: x\n    def: exp(x) + x\n"
    "    pullback: {x: g * (exp(x) + 1)}\n"
    "  pushed:\n    inputs: {x: , y: }\n    def: x * y\n"
    "    pushforward: t_x * y + x * t_y\n"
    "  stretched:\n    inputs: {x: , y: }\n    def: x * y\n"
    "    adjoint: {x: g * y, y: sum(g * x)}\n"
    "  slanted:\n    inputs: x\n    props: {k: int = 1}\n    def: x * k + k\n"
    "  plain:\n    inputs: {x: , n: }\n    def: sum(x, axis=0) / n\n";
static const Document documents[] = {
    {"ops of a text",
     "inputs: {x: 'float64[n, 3]', v: 'float64[3]', s: float64}\n"
     "let: |\n  p = plain(sin(x), 4.) + pulled(v)\n  q = pushed(p, v)\n"
     "  t = stretched(v, s) + slanted(v, 2)\n"
     "  loss = square_sum(q, s) + sum(pushed(x, 2.)) + sum(curved(x, v)) + sum(t)\n"
     "outputs: [loss, p]\n"},
    {"functions",
     "functions:\n  step:\n    inputs: {a: 'float64[3]', b: 'float64[3]'}\n"
     "    let: {r: 'tanh(a * b) + a'}\n    outputs: [r]\n"
     "  twice:\n    inputs: {a: 'float64[3]'}\n"
     "    let: {r: 'step(step(a, a), a * 2)', t: sum(a)}\n    outputs: [r, t]\n"
     "inputs: {x: 'float64[3]', y: 'float64[3]', z: 'float64[n, 3]'}\n"
     "let: |\n  u, t = twice(x)\n  w = vectorize(step, in_axes=[0, None])(z, y)\n"
     "  k = map(lambda r: twice(r)[0] * y, z)\n"
     "  loss = sum(u * y) * t + sum(w ** 2) + sum(k)\noutputs: [loss, w]\n"},
    {"shards",
     "functions:\n  part:\n    inputs: {shard: int64, x: 'float64[n, 3]', "
     "w: 'float64[3]'}\n    let: {s: 'sum(sin(x) * w, axis=0)', r: 'x * 2.', "
     "m: 'max(x, axis=0)'}\n    outputs: [s, r, m]\n"
     "inputs: {x: 'float64[n, 3]', w: 'float64[3]'}\n"
     "let: |\n"
     "  s, r, m = each_shard(all_sum(n), x, w, fn='part', shards=4, split=[0], "
     "sum=[0], stack=[2])\n"
     "  loss = sum(all_sum(s) ** 2) + all_sum(sum(r * r))\n"
     "outputs: [loss, r, m]\n"},
    {"derivatives in a text",
     "inputs: {x: 'float64[3]', w: 'float64[3, 3]'}\n"
     "let: |\n  f = lambda v: sum(tanh(v @ w) ** 2)\n  g = grad(f(x), x)\n"
     "  h = hessian(f(x), x)\n  j = jacobian(sin(x @ w), x)\n"
     "  p = jvp(sin(x @ w), x, x * 2)\n  q = vjp(sin(x @ w), x, x)\n"
     "  loss = sum(g * x) + sum(h @ x) + sum(j) + sum(p) + sum(q)\n"
     "outputs: [loss]\n"},
    {"sows",
     "inputs: {x: 'float64[n, 3]', k: bool}\nshared: {w: 'float64[3] = ones(3)'}\n"
     "let: |\n  f = lambda r: sow(tanh(r * w), tag='t', name='h') * 2\n"
     "  y = vectorize(f)(x)\n"
     "  s = scan(lambda r, a: sow(a + r, tag='t', name='a', mode='append'), "
     "sequences=[x], outputs_info=[w])\n"
     "  d = reap(f, tag='t')(x[0])['h']\n"
     "  p = plant(f, tag='t')({'h': w}, x[1])\n"
     "  e = ifelse(k, sow(w * 3, tag='t', name='e'), sow(w, tag='t', name='e'))\n"
     "  c = call_and_reap(f, tag='t')(x[0])[0]\n"
     "  loss = sum(y) + sum(s) + sum(d * p) + sum(e) + sum(c)\noutputs: [loss, s]\n"},
    {"lists and state",
     "inputs: {x: 'float64[n]', l: 'list(float64[n])', i: int64, r: random}\n"
     "shared:\n  w: float64[2] = [1., 2.]\n  c: float32 = sqrt(2.)\n"
     "let: |\n  m = list_append(l, x * w[0])\n  y = list_stack(m) + x\n"
     "  a, b = split(stack([x, x * 2]), 2, axis=0)\n"
     "  z = ifelse(i > 0, where(x > 0, x ** 2, w[1]), x)\n"
     "  s, u = uniform(0., 1., (3,), rng=r)\n"
     "  t = x[i:] + x[::-1][i:]\n  v = set_subtensor(x[1:], 0.)\n"
     "  loss = sum(y) + sum(a) + mean(b) + sum(z) + sum(u) + max(t) + sum(v)\n"
     "  d = w * 0.5 + u[:2]\noutputs: [loss, m]\nupdates: {w: d}\n"},
    {"loops",
     "inputs: {x: 'float64[n, 3]', h: 'float64[3]', w: 'float64[3, 3]'}\n"
     "let: |\n  s = scan(lambda r, a: [tanh(a @ w + r), sum(a)], sequences=[x], "
     "outputs_info=[h, None])\n"
     "  t = scan(lambda p, q: p * q + h, outputs_info=[taps(x[:2], [-2, -1])], "
     "n_steps=4)\n"
     "  u = scan(lambda a: [a * 1.5, until(sum(a) > 9)], outputs_info=[h], n_steps=7)\n"
     "  f = foldl(lambda r, a: a + outer(r, r), x, zeros((3, 3)))\n"
     "  loss = sum(s[0][-1]) + sum(s[1]) + sum(t) + sum(u[-1]) + sum(f * w)\n"
     "outputs: [loss]\n"},
    {"matrices",
     "inputs: {a: 'float64[3, 3]', b: 'float64[3]', q: 'float64[n, 3, 3]'}\n"
     "let: |\n  s = solve(a @ a.T + eye(3), b)\n  d = det(a) * trace(inv(a + eye(3)))\n"
     "  l = cholesky(a @ a.T + 3 * eye(3))\n  e, v = eigh(a + a.T)\n"
     "  t = einsum('nij,j->ni', q, b)\n  k = kron(a, a)\n  c = norm(b) + var(b)\n"
     "  loss = sum(s) + d + sum(l) + sum(e * b) + sum(t) + k[0, 0] + c\n"
     "outputs: [loss]\n"},
    {"images",
     "inputs: {x: 'float64[n, 2, 6, 6]', y: 'int64[n]', q: 'float64[n, 2, k, 4]'}\n"
     "shared:\n  F: float64[3, 2, 3, 3] = ones((3, 2, 3, 3))\n"
     "  W: float64[12, 5] = ones((12, 5))\n"
     "let: |\n  h = max_pool(maximum(conv(x, F), 0), 2)\n"
     "  z = h.reshape((n, -1)) @ W\n  l = -mean(log_softmax(z, axis=1)[arange(n), y])\n"
     "  t = conv_transpose(h, F, strides=2)\n  u = resize(q, (n, 2, 3, 8))\n"
     "  v = avg_pool(q, 2, padding='same_upper')\n  p = pad(q, 1)\n"
     "  loss = l + sum(t ** 2) + sum(u) + sum(v) + sum(p ** 2)\noutputs: [loss]\n"},
    {"places",
     "inputs: {x: 'float64[n, m]', i: 'int64[k]', b: 'bool[n]', w: 'float64[m]'}\n"
     "let: |\n  a = x[i] * w\n  c = x[b]\n  d = inc_subtensor(x[i], w)\n"
     "  e = set_subtensor(x[b], 0.)\n  f = x[:, i[0]:]\n"
     "  g = take_along_axis(x, argsort(x, axis=1), axis=1)\n"
     "  h = sort(x, axis=0)[-1]\n  j = cumsum(x, axis=0) + flip(x) + roll(x, 1)\n"
     "  o = where(b[:, None], x, tile(w, (n, 1)))\n  p = repeat(w, 2)\n"
     "  loss = sum(a) + sum(c ** 2) + sum(d * e) + sum(f) + sum(g * x) + sum(h) + "
     "sum(j * o) + sum(p)\noutputs: [loss]\n"},
    {"rows of all",
     "functions:\n  own:\n    inputs: {a: 'float64[3]', k: float64}\n"
     "    let: {r: 'curved(a, k) + pulled(a)', s: 'sum(pushed(a, k))'}\n"
     "    outputs: [r, s]\n"
     "inputs: {x: 'float64[n, 3]', k: 'float64[n]', l: 'float64[n, 3, 3]'}\n"
     "let: |\n  r, s = vectorize(own)(x, k)\n"
     "  t = vectorize(lambda a, b: solve(a + eye(3), b), in_axes=[0, None])(l, x[0])\n"
     "  u = vectorize(lambda a: scan(lambda e, c: c + e * k[0], sequences=[a], "
     "outputs_info=[0.])[-1])(x)\n"
     "  v = jacobian(vectorize(lambda a: stretched(a, 2.))(x)[0], x)\n"
     "  w = vectorize(lambda a: ifelse(sum(a) > 0, a, -a))(x)\n"
     "  loss = sum(r) + sum(s) + sum(t) + sum(u) + sum(v) + sum(w)\n"
     "outputs: [loss]\n"},
    {"sows in loops and branches",
     "inputs: {x: 'float64[n, 3]', k: bool, w: 'float64[3]'}\n"
     "let: |\n  f = lambda r, a: sow(tanh(a * r), tag='t', name='h', mode='append')\n"
     "  s = scan(f, sequences=[x], outputs_info=[w])\n"
     "  e = ifelse(k, sow(w * 3, tag='t', name='e'), sow(w, tag='t', name='e'))\n"
     "  v = vectorize(lambda r: nest(f, scope='in')(r, w))(x)\n"
     "  g = grad(sum(f(w, w)), w)\n"
     "  loss = sum(s) + sum(e) + sum(v) + sum(g)\noutputs: [loss]\n"},
};

/* ---- stages ---- */

typedef enum Stage {
    READ,
    REVERSE,
    RECOMPUTE,
    FORWARD,
    FORWARD_BY_PULLBACKS,
    PRODUCT,
    OPTIMIZE,
    HARVEST,
    REWRITE,
    SEARCH,
    FLATTEN,
    WRITE_YAML,
    WRITE_ONNX,
    STAGES
} Stage;
static const char *const stage_names[STAGES] = {"read",
                                                "reverse",
                                                "recompute",
                                                "forward",
                                                "forward by pullbacks",
                                                "hvp",
                                                "optimize",
                                                "harvest",
                                                "rewrite",
                                                "search",
                                                "without own ops",
                                                "written as text",
                                                "written as ONNX"};

typedef struct Trial {
    Session *s;
    const Document *d;
    Stage stage;
    Graph *g;
} Trial;

static Graph *read_document(const Trial *t) {
    Str text = STR(t->s);
    str_printf(&text, "thunkline: 1\n%s", t->d->text);
    Graph *g = io_read_mem(t->s, t->d->name, text.p, text.n, NULL);
    str_free(&text);
    return g;
}

static bool derive(Graph *g, Derive d) {
    static const Recomputation parts = {.parts = 2, .loops = true};
    if (d.checkpoint) d.checkpoint = NULL, d.recompute = &parts;
    d.how.disconnected = GRAD_IGNORE;
    d.how.null = NULL_RETURN;
    return derive_agrees(g->s, &d) && graph_derive(g, &d);
}

static bool write_as(Graph *g, IoFormat format) {
    Str out = STR(g->s);
    bool ok = io_text(g, &(WriteOptions){.format = format}, &out);
    str_free(&out);
    return ok;
}

static bool harvest(Trial *t) {
    static const char tags[] = "t";
    uint32_t source = source_add(t->s, "--reap", tags, 1);
    Span reap = {source, 0, 1};
    return graph_harvest(t->g, &(Harvesting){.nreap = 1, .reap = &reap});
}

static bool rewrite(Trial *t) {
    Graph *h = rewrite_run(t->g, &(RewriteOptions){.query = {.mode = "FAST_RUN"}},
                           &(RewriteResult){0});
    graph_free(h);
    return h != NULL;
}

static double one_each(void *ctx, const Graph *g, ApplyId a) {
    (void)ctx;
    return 1 + (double)g->apply[a].nin;
}

static bool search(Trial *t) {
    RewriteSearch x = {.seconds = 20, .nodes = 300, .cost = one_each};
    Graph *h = rewrite_search(t->g, &(RewriteQuery){.mode = "FAST_RUN"}, &x);
    graph_free(h);
    return h != NULL;
}

/* NULL without ops of texts: then there is nothing to do. */
static bool flatten(Trial *t) {
    bool any;
    Graph *h = userop_flatten(t->g, &any);
    graph_free(h);
    return h || !any;
}

static bool work(void *ctx) {
    Trial *t = ctx;
    failing_begin();
    switch (t->stage) {
    case READ:
        return (t->g = read_document(t)) != NULL;
    case REVERSE:
        return derive(t->g, (Derive){.cost = "loss"});
    case RECOMPUTE:
        return derive(t->g, (Derive){.cost = "loss", .checkpoint = ""});
    case FORWARD:
        return derive(t->g, (Derive){.jvp = "loss"});
    case FORWARD_BY_PULLBACKS:
        return derive(t->g, (Derive){.jvp = "loss", .by_pullback = true});
    case PRODUCT:
        return derive(t->g, (Derive){.hvp = "loss"});
    case OPTIMIZE:
        return derive(t->g, (Derive){.cost = "loss", .optimizer = "adam(0.01)"});
    case HARVEST:
        return harvest(t);
    case REWRITE:
        return rewrite(t);
    case SEARCH:
        return search(t);
    case FLATTEN:
        return flatten(t);
    case WRITE_YAML:
        return write_as(t->g, IO_YAML);
    case WRITE_ONNX:
        return write_as(t->g, IO_ONNX);
    case STAGES:
        break;
    }
    return false;
}

static void attempt(void *ctx, size_t at) {
    Trial t = *(Trial *)ctx;
    char name[200];
    snprintf(name, sizeof name, "%s, %s", t.d->name, stage_names[t.stage]);
    t.g = t.stage == READ ? NULL : read_document(&t);
    CHECK(t.g || t.stage == READ, "%s: %s", t.d->name,
          diag_count(t.s) ? diag_get(t.s, 0)->text : "?");
    diag_clear(t.s);
    bool ok = (t.g || t.stage == READ) && failing_try(t.s, at, name, work, &t);
    CHECK(ok || at || t.stage != READ, "%s: %s", name,
          diag_count(t.s) ? diag_get(t.s, 0)->text : "?");
    if (!at && !ways.noting && getenv("VERBOSE"))
        printf("%s: %s %s\n", name, ok ? "works" : "fails",
               diag_count(t.s) ? diag_get(t.s, 0)->text : "");
    graph_free(t.g);
    diag_clear(t.s);
}

static bool read_ops(Session *s) {
    char path[] = "/tmp/thunkline-ops-XXXXXX.yaml";
    int fd = mkstemps(path, 5);
    bool ok = fd >= 0 && write(fd, ops, sizeof ops - 1) == (ssize_t)sizeof ops - 1 &&
              io_read_ops(s, path);
    if (fd < 0) return false;
    close(fd);
    unlink(path);
    return ok;
}

/* A session of its own: what is read stays in it. */
static void test_document(const Document *d, const char *only) {
    if (only && strcmp(only, d->name) != 0) return;
    for (Stage k = 0; k < STAGES; k++) {
        Session *s = tools_session(NULL, NULL);
        session_options(s)->threads = 1;
        CHECK(read_ops(s), "%s", diag_count(s) ? diag_get(s, 0)->text : "?");
        failing_each(d->text, attempt, &(Trial){s, d, k, NULL});
        session_free(s);
    }
}

int main(int argc, char **argv) {
    failing_open(argv, DEPTH);
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++)
        test_document(&documents[i], argc > 1 ? argv[1] : NULL);
    return TEST_END("prop text_building");
}
