/* Ops that ask the library whatever an op may ask, and make the one mistake that each
 * question answers with an error. */
#include <string.h>
#include <thunkline/plugin.h>
static const TlType *scalar(TlNode *n) {
    return n->api->make_tensor(n->host, TL_FLOAT64, 0, NULL);
}
static bool one(TlNode *n) {
    n->out[0] = scalar(n);
    return n->out[0] != NULL;
}
static bool nine(TlNode *n) {
    const int64_t dim[1] = {9};
    n->out[0] = n->api->make_tensor(n->host, TL_FLOAT64, 1, dim);
    return n->out[0] != NULL;
}
static bool some(TlNode *n) {
    const int64_t dim[1] = {-1};
    n->out[0] = n->api->make_tensor(n->host, TL_FLOAT64, 1, dim);
    return n->out[0] != NULL;
}
static bool put1(TlCall *c, double v) {
    TlTensor r;
    if (!c->api->output(c, 0, 0, NULL, &r)) return false;
    *(double *)r.data = v;
    return true;
}
static double number_of(TlCall *c, size_t i) {
    double v = 0;
    bool exact;
    c->api->to_double(c->in[i], &v, &exact);
    return v;
}
static double first(TlCall *c) {
    return number_of(c, 0);
}

static bool ask(TlCall *c) {
    const int64_t nine[1] = {9}, *v;
    TlTensor r;
    if (!c->api->output(c, 0, 1, nine, &r)) return false;
    double *p = r.data;
    p[0] = c->api->prop_bool(c->host, "flag"),
    p[1] = (double)c->api->prop_int(c->host, "k"),
    p[2] = c->api->prop_float(c->host, "f");
    p[3] = (double)strlen(c->api->prop_str(c->host, "s")),
    p[4] = c->api->prop_dtype(c->host, "d") == TL_INT16;
    p[5] = (double)c->api->prop_ints(c->host, "v", &v);
    p[6] = p[5] > 1 ? (double)v[1] : -1, p[7] = c->api->prop_is_none(c->host, "o"),
    p[8] = c->api->prop_is_none(c->host, "k");
    return true;
}
static bool ask_str(TlHost *h, const TlApi *a) {
    a->put(h, "ask<");
    a->put_number(h, (double)a->prop_int(h, "k"));
    a->put_quoted(h, "it's");
    a->put(h, ">");
    return true;
}
static bool bad_str(TlHost *h, const TlApi *a) {
    a->put(h, "half of a");
    return a->fail(h, TL_FAILED, "no text");
}
static bool triple(TlCall *c) {
    return put1(c, 3 * first(c));
}
static bool lonely(const TlApply *a) {
    size_t in = 7, out = 7;
    return !a->api->is_output(a) && a->api->clients(a) == 1 &&
           strcmp(a->api->client(a, 0, &in, &out), "subtract") == 0 && in == 1 &&
           out == 0 && !*a->api->client(a, 1, NULL, NULL);
}
static bool total(TlCall *c) {
    TlTensor x;
    double s = 0;
    if (!c->api->contiguous(c, 0, &x)) return false;
    for (int64_t i = 0; i < x.shape[0]; i++)
        s += ((double *)x.data)[i];
    return put1(c, s * number_of(c, 1));
}
static bool total_grad(TlGrad *g) {
    const TlApi *a = g->api;
    const TlType *t = a->var_type(g->host, g->in[0]), *f = a->type(g->host, "float64");
    TlVar none = a->number(g->host, TL_FLOAT64, 0), two = a->constant(g->host, f, 2),
          half = a->number(g->host, TL_FLOAT64, 0.5), all[1];
    TlVar zeros[2] = {g->in[0], none},
          zero = a->apply(g->host, "multiply", NULL, 2, zeros, NULL);
    TlVar by[2] = {g->g[0], g->in[1]},
          gk = a->apply(g->host, "multiply", "", 2, by, all), up[2] = {all[0], two},
          k2 = a->apply(g->host, "multiply", NULL, 2, up, NULL);
    TlVar down[2] = {k2, half}, k = a->apply(g->host, "multiply", NULL, 2, down, NULL),
          sum[2] = {zero, k};
    (void)gk;
    if (!t) return false;
    g->grad[0] = a->apply(g->host, "add", NULL, 2, sum, NULL);
    g->grad[1] = a->undefined(g->host, "nobody asked for k");
    return true;
}
static bool total_push(TlPush *p) {
    TlVar s = p->api->apply(p->host, "sum", "axis=0", 1, p->tangent, NULL),
          by[2] = {s, p->in[1]};
    p->result[0] = p->api->apply(p->host, "multiply", NULL, 2, by, NULL);
    return true;
}
static bool three(TlCall *c) {
    const int64_t n[1] = {3};
    TlTensor r;
    if (!c->api->output(c, 0, 1, n, &r)) return false;
    for (int i = 0; i < 3; i++)
        ((double *)r.data)[i] = first(c);
    return true;
}
static bool three_shape(TlShape *s) {
    const int64_t n[1] = {3};
    s->shape[0] = s->api->ints(s->host, 1, n);
    return true;
}
static bool wrong_shape(TlShape *s) {
    const int64_t n[2] = {3, 1};
    s->shape[0] = s->api->ints(s->host, 2, n);
    return true;
}
static bool no_shape(TlShape *s) {
    s->shape[0] = TL_NONE;
    return true;
}
#define SLIP(n, e)                                                                     \
    static bool n(TlGrad *g) {                                                         \
        TlHost *h = g->host;                                                           \
        const TlApi *a = g->api;                                                       \
        TlVar far[2] = {g->g[0], 123456789};                                           \
        (void)h, (void)a, (void)far;                                                   \
        e;                                                                             \
        return true;                                                                   \
    }
SLIP(g_op, g->grad[0] = a->apply(h, "nothing", NULL, 1, far, NULL))
SLIP(g_far, g->grad[0] = a->apply(h, "add", NULL, 2, far, NULL))
SLIP(g_props, g->grad[0] = a->apply(h, "sum", "axes=0", 1, far, NULL))
SLIP(g_value, g->grad[0] = a->apply(h, "sum", "axis='up'", 1, far, NULL))
SLIP(g_place, g->grad[0] = a->apply(h, "sum", "0", 1, far, NULL))
SLIP(g_number, g->grad[0] = a->number(h, (TlDType)99, 0))
SLIP(g_const, g->grad[0] = a->constant(h, NULL, 0))
SLIP(g_filter, g->grad[0] = a->constant(h, a->type(h, "int8"), 1000))
SLIP(g_type, a->var_type(h, 123456789))
#define OP(n, i, node, f)                                                              \
    .size = sizeof(TlOpDef), .name = n, .in = i, .make_node = node, .perform = f
static const TlOpDef d[] = {
    {OP("ask", "x", nine, ask),
     .props = "flag: bool = False, k: int = 0, f: float = 0.0, s: str = '', d: dtype = "
              "None, v: ints = [], o: axis = None",
     .str = ask_str},
    {OP("ask_bad", "x", nine, three), .str = bad_str},
    {OP("seen", "x", one, triple), .fold = lonely},
    {OP("total", "x, k", one, total), .grad = total_grad, .pushforward = total_push},
    {OP("three", "x", some, three), .infer_shape = three_shape},
    {OP("three_bad", "x", some, three), .infer_shape = wrong_shape},
    {OP("three_not", "x", some, three), .infer_shape = no_shape},
    {OP("g_op", "x", one, triple), .grad = g_op},
    {OP("g_far", "x", one, triple), .grad = g_far},
    {OP("g_props", "x", one, triple), .grad = g_props},
    {OP("g_value", "x", one, triple), .grad = g_value},
    {OP("g_place", "x", one, triple), .grad = g_place},
    {OP("g_number", "x", one, triple), .grad = g_number},
    {OP("g_const", "x", one, triple), .grad = g_const},
    {OP("g_filter", "x", one, triple), .grad = g_filter},
    {OP("g_type", "x", one, triple), .grad = g_type}};
static bool init(TlHost *h, const TlApi *a) {
    for (size_t i = 0; i < sizeof d / sizeof *d; i++)
        if (!a->add_op(h, &d[i])) return false;
    return true;
}
TL_PLUGIN("asks", "1", init)
