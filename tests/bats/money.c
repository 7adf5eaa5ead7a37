/* A type with a text and a number as parameters, and ops that look at them. */
#include <string.h>
#include <thunkline/plugin.h>
typedef struct Money {
    double v;
} Money;
static bool check(TlHost *h, const TlApi *a, size_t n, const TlParam *p) {
    return n != 2 || strlen(p[0].text) == 3 ||
           a->fail(h, TL_WRONG_VALUE, "a currency has three letters, not '%s'",
                   p[0].text);
}
static bool filter(const TlFilter *f, void *out) {
    const TlParam *p;
    bool exact;
    Money *m = out;
    if (!f->api->to_double(f->value, &m->v, &exact))
        return f->api->fail(f->host, TL_WRONG_TYPE, "%s is no amount",
                            f->api->describe(f->host, f->value));
    if (f->api->type_params(f->type, &p) != 2)
        return f->api->fail(f->host, TL_FAILED, "it has no parameters");
    return m->v <= (double)p[1].number ||
           f->api->fail(f->host, TL_WRONG_VALUE, "at most %lld %s",
                        (long long)p[1].number, p[0].text);
}
static bool text(TlHost *h, const TlApi *a, const void *v) {
    a->put_number(h, ((const Money *)v)->v);
    return true;
}
static bool empty(TlHost *h, const TlApi *a, const void *v) {
    (void)h, (void)a, (void)v;
    return true;
}
static const TlTypeDef money = {.size = sizeof money,
                                .name = "money",
                                .doc = "An amount.",
                                .value_size = sizeof(Money),
                                .params = "str, int",
                                .check = check,
                                .filter = filter,
                                .text = text};
static const TlTypeDef mute = {.size = sizeof mute,
                               .name = "mute",
                               .value_size = sizeof(Money),
                               .params = "str, int",
                               .filter = filter,
                               .text = empty};
static bool node(TlNode *n) {
    const TlParam *p;
    if (!n->api->type_is(n->in[0], &money))
        return n->api->fail(n->host, TL_WRONG_TYPE, "it is %s",
                            n->api->type_text(n->host, n->in[0]));
    n->out[0] = n->api->type_params(n->in[0], &p) == 2
                    ? n->api->make_tensor(n->host, TL_FLOAT64, 0, NULL)
                    : NULL;
    return n->out[0] != NULL;
}
static bool limit(TlCall *c) {
    const TlParam *p;
    TlTensor r;
    if (c->api->type_params(c->api->value_type(c->host, c->in[0]), &p) != 2 ||
        !c->api->output(c, 0, 0, NULL, &r))
        return false;
    *(double *)r.data =
        (double)p[1].number - ((const Money *)c->api->input_object(c, 0))->v;
    return true;
}
static bool params_of(TlNode *n) {
    const TlParam *p;
    n->out[0] = n->api->make_tensor(
        n->host, n->api->type_params(n->in[0], &p) || p ? TL_INT8 : TL_FLOAT64, 0,
        NULL);
    return true;
}
static bool zero(TlCall *c) {
    TlTensor r;
    if (!c->api->output(c, 0, 0, NULL, &r)) return false;
    memset(r.data, 0, 8);
    return true;
}
static const TlOpDef d[] = {{.size = sizeof(TlOpDef),
                             .name = "left",
                             .in = "m: any",
                             .make_node = node,
                             .perform = limit},
                            {.size = sizeof(TlOpDef),
                             .name = "without",
                             .in = "x",
                             .make_node = params_of,
                             .perform = zero}};
static bool init(TlHost *h, const TlApi *a) {
    return a->add_type(h, &money) && a->add_type(h, &mute) && a->add_op(h, &d[0]) &&
           a->add_op(h, &d[1]);
}
TL_PLUGIN("money", "1", init)
