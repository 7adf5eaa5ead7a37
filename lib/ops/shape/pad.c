/* pad: a constant around x, as x set into a full tensor when the graph is built. */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"

/* Widths before and after each dim from a constant: one number, one pair, or a pair a
 * dim. */
static bool widths(Builder *b, Var v, int ndim, int64_t before[MAX_NDIM],
                   int64_t after[MAX_NDIM]) {
    const Tensor *t = var_const(b->g, v);
    Span at = b->from.at;
    if (!t || !dtype_is_integer(t->dtype))
        return fail(b->s, at, E_VALUE, "pad: the widths must be constant integers");
    bool one = tensor_size(t) == 1, pair = t->ndim == 1 && t->shape[0] == 2;
    bool each = t->ndim == 2 && t->shape[0] == ndim && t->shape[1] == 2;
    if (!one && !pair && !each)
        return fail(
            b->s, at, E_SHAPE,
            "pad: the widths are one number, a pair, or a pair for each of %d dims",
            ndim);
    for (int k = 0; k < ndim; k++) {
        before[k] = tensor_i64(t, one || pair ? 0 : 2 * k);
        after[k] = tensor_i64(t, one ? 0 : pair ? 1 : 2 * k + 1);
        if (before[k] < 0 || after[k] < 0 || before[k] > INT64_MAX / 4 ||
            after[k] > INT64_MAX / 4)
            return fail(b->s, at, E_VALUE,
                        "pad: a width can't be negative or too large");
    }
    return true;
}

static Var plus(Builder *b, Var n, int64_t v) {
    const Tensor *t = n == VAR_NONE ? NULL : var_const(b->g, n);
    if (n == VAR_NONE || v == 0) return n;
    return t ? const_int(b, tensor_i64(t, 0) + v) : call2(b, "add", n, const_int(b, v));
}

static bool pad_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                       const Var *in, Var *out) {
    (void)op, (void)p, (void)nin;
    const Type *x = var_type(b->g, in[0]);
    int64_t before[MAX_NDIM], after[MAX_NDIM];
    if (!widths(b, in[1], x->ndim, before, after)) return false;
    if (x->ndim == 0) return *out = in[0], true;
    Var size[MAX_NDIM], args[2 + 2 * MAX_NDIM] = {VAR_NONE, in[0]};
    Str text = STR(b->s);
    for (int k = 0; k < x->ndim; k++) {
        Var n = shape_of(b, in[0], k);
        args[2 + 2 * k] = const_int(b, before[k]);
        args[3 + 2 * k] = plus(b, n, before[k]);
        size[k] = plus(b, n, before[k] + after[k]);
        str_printf(&text, "%s$:$", k ? ", " : "");
    }
    PropArg index = {"index", PROP_STR(sym(b->s, str_text(&text)))},
            dtype = {"dtype", PROP_DTYPE(x->dtype)};
    str_free(&text);
    Var fill[2] = {ints_stack(b, (size_t)x->ndim, size), in[2]};
    args[0] = apply_named(b, "full", 2, fill, 1, &dtype);
    return (*out = apply_named(b, "set_subtensor", 2 + 2 * (size_t)x->ndim, args, 1,
                               &index)) != VAR_NONE;
}

static const Op table[] = {
    {.name = "pad",
     .doc = "x with a constant around it. The widths are one number, a pair (before, "
            "after), or a pair for each dim.",
     .in = "x, pad_width, constant_values = 0",
     .expand = pad_expand,
     .disconnected = "pad_width",
     .example = "pad([1, 2], (1, 2)) -> [0, 1, 2, 0, 0]\npad([[1]], 1) -> [[0, 0, 0], "
                "[0, 1, 0], [0, 0, 0]]",
     .file = __FILE__,
     .line = __LINE__},
};
const OpList ops_shape_pad = {table, sizeof table / sizeof *table};
