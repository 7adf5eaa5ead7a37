/* The Type `double` and arithmetic on it. One C function runs four ops, told apart by
 * their rows; another takes any number of arguments. */
#include <math.h>
#include <string.h>
#include <thunkline/plugin.h>

/* ---- the Type ---- */

static bool filter(const TlFilter *f, void *out) {
    double x;
    bool exact;
    if (f->strict)
        return f->api->fail(f->host, TL_WRONG_TYPE, "expected a double, got %s",
                            f->api->describe(f->host, f->value));
    if (!f->api->to_double(f->value, &x, &exact))
        return f->api->fail(f->host, TL_WRONG_TYPE,
                            "a double is made of a number, not of %s",
                            f->api->describe(f->host, f->value));
    if (!exact && f->allow_downcast != 1)
        return f->api->fail(f->host, TL_WRONG_VALUE,
                            "a double can't represent it accurately: allow downcasting "
                            "to take the nearest");
    *(double *)out = x;
    return true;
}

static bool approx(const TlType *t, const void *a, const void *b, double rtol,
                   double atol) {
    double x = *(const double *)a, y = *(const double *)b;
    (void)t, (void)atol;
    if (x == y || (isnan(x) && isnan(y))) return true; /* 0 and 0, too: no 0/0 below */
    return fabs(x - y) / (fabs(x) + fabs(y)) < (rtol < 0 ? 1e-4 : rtol);
}

static bool text(TlHost *h, const TlApi *api, const void *value) {
    api->put_number(h, *(const double *)value);
    return true;
}

/* A value to try, where none is given. */
static bool any(TlHost *h, const TlApi *api, const TlType *t, void *out) {
    (void)t;
    *(double *)out = api->normal(h);
    return true;
}

static const TlTypeDef double_type = {
    .size = sizeof double_type,
    .name = "double",
    .doc = "A number in double precision.",
    .value_size = sizeof(double),
    .filter = filter,
    .approx = approx,
    .text = text,
    .random = any,
    .add = "double_add",
};

/* A double that is given for a scalar becomes that number. */
static TlTransferResult to_scalar(TlTransfer *t) {
    const double *x = t->api->object(t->value, &double_type);
    TlTensor number;
    int ndim;
    if (!x || !t->api->tensor_type(t->to, NULL, &ndim, NULL) || ndim > 0)
        return TL_TRANSFER_DECLINED;
    if (!t->api->transfer_tensor(t, TL_FLOAT64, 0, NULL, &number))
        return TL_TRANSFER_FAILED;
    *(double *)number.data = *x;
    return TL_TRANSFER_DONE;
}

/* ---- add, sub, mul, div: one op in four rows ---- */

/* A number that was written in place becomes a constant; all else must be a double. */
static bool make_node(TlNode *n) {
    const TlType *type = n->api->type(n->host, "double");
    for (size_t i = 0; i < n->nin; i++) {
        if (n->api->is_literal(n, i) && !n->api->wrap(n, i, type)) return false;
        if (n->in[i] != type)
            return n->api->fail(n->host, TL_WRONG_TYPE, "%s only works on doubles",
                                n->op);
    }
    n->out[0] = type;
    return true;
}

typedef struct Row {
    double (*fn)(double x, double y);
} Row;

static bool perform(TlCall *c) {
    const double *x = c->api->input_object(c, 0), *y = c->api->input_object(c, 1);
    double *z = c->api->output_object(c, 0);
    if (!x || !y || !z) return false;
    *z = ((const Row *)c->user)->fn(*x, *y);
    return true;
}

static double add(double x, double y) {
    return x + y;
}
static double sub(double x, double y) {
    return x - y;
}
static double mul(double x, double y) {
    return x * y;
}
static double divide(double x, double y) {
    return x / y;
}

/* Derivatives are texts: g is the gradient of the result r. */
#define BINARY(NAME, FN, ...)                                                          \
    {                                                                                  \
        .size = sizeof(TlOpDef), .name = NAME, .in = "x: any, y: any",                 \
        .user = &(const Row){FN}, .make_node = make_node, .perform = perform,          \
        .flops = "1", __VA_ARGS__                                                      \
    }
static const TlOpDef binary[] = {
    BINARY("double_add", add, .doc = "Sum of two doubles.", .commutative = true,
           .adjoint = "g; g", .example = "double_add(1, 2.5) -> 3.5"),
    BINARY("double_sub", sub, .doc = "Difference of two doubles.",
           .pullback = "g; double_sub(0, g)", .example = "double_sub(1, 2.5) -> -1.5"),
    BINARY("double_mul", mul, .doc = "Product of two doubles.", .commutative = true,
           .adjoint = "double_mul(g, y); double_mul(g, x)",
           .example = "double_mul(5.6, 6.7) -> 37.519999999999996"),
    BINARY("double_div", divide, .doc = "Quotient of two doubles.",
           .pullback = "double_div(g, y);"
                       "double_sub(0, double_div(double_mul(g, r), y))",
           .example = "double_div(1, 4) -> 0.25"),
};

/* ---- any number of arguments ---- */

static bool fold_node(TlNode *n) {
    const char *fn = n->api->prop_str(n->host, "fn");
    if (strcmp(fn, "add") != 0 && strcmp(fn, "mul") != 0)
        return n->api->fail(n->host, TL_WRONG_VALUE, "fn is 'add' or 'mul', not '%s'",
                            fn);
    if (n->nin == 0)
        return n->api->fail(n->host, TL_WRONG_COUNT, "it takes one argument at least");
    return make_node(n);
}

static bool fold(TlCall *c) {
    bool product = strcmp(c->api->prop_str(c->host, "fn"), "mul") == 0;
    double r = product ? 1 : 0, *z;
    for (size_t i = 0; i < c->nin; i++) {
        const double *x = c->api->input_object(c, i);
        if (!x) return false;
        r = product ? r * *x : r + *x;
    }
    if (!(z = c->api->output_object(c, 0))) return false;
    *z = r;
    return true;
}

/* Of a sum the gradient itself, of a product the gradient times all the others. */
static bool fold_grad(TlGrad *g) {
    bool product = strcmp(g->api->prop_str(g->host, "fn"), "mul") == 0;
    for (size_t i = 0; i < g->nin; i++) {
        g->grad[i] = g->g[0];
        for (size_t k = 0; product && k < g->nin; k++) {
            TlVar pair[] = {g->grad[i], g->in[k]};
            if (k == i) continue;
            g->grad[i] = g->api->apply(g->host, "double_mul", NULL, 2, pair, NULL);
            if (g->grad[i] == TL_NONE) return false;
        }
    }
    return true;
}

static const TlOpDef n_argument = {
    .size = sizeof n_argument,
    .name = "double_op",
    .doc = "Sum or product of any number of doubles.",
    .in = "*args: any",
    .props = "fn: str = 'add'",
    .make_node = fold_node,
    .perform = fold,
    .grad = fold_grad,
    .example = "double_op(1, 2, 3, 4, fn='mul') -> 24.0",
};

/* ---- what the plugin brings ---- */

static bool init(TlHost *h, const TlApi *api) {
    if (!api->add_type(h, &double_type) || !api->add_transfer(h, to_scalar))
        return false;
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++)
        if (!api->add_op(h, &binary[i])) return false;
    return api->add_op(h, &n_argument);
}
TL_PLUGIN("double", "1.0", init)
