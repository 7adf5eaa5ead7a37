/* eye, tri, one_hot, linspace. */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"

static DType dtype_or_float(Session *s, const Op *op, const Props *p, DType floatX) {
    const Prop *d = op_prop(s, op, p, "dtype");
    return d->kind == P_DTYPE ? (DType)d->i : floatX;
}

/* ---- eye ---- */
static bool eye_type(Infer *in) {
    int64_t v;
    for (size_t i = 0; i < in->nin; i++)
        if (infer_int(in, i, &v) && v < 0)
            return infer_fail(in, E_VALUE, i, "a size can't be negative, got %lld",
                              (long long)v);
    Dim dim[2] = {infer_length(in, 0), infer_length(in, in->nin - 1)};
    return infer_out_tensor(in, 0, dtype_or_float(in->s, in->op, in->props, in->floatX),
                            2, dim);
}

static bool eye_perform(Call *c) {
    int64_t shape[2] = {tensor_i64(call_in(c, 0), 0),
                        tensor_i64(call_in(c, c->nin - 1), 0)};
    int64_t k = prop_int(c->s, c->op, c->props, "k");
    if (shape[0] < 0 || shape[1] < 0)
        return call_fail(c, E_RUN_SHAPE, "a size can't be negative");
    if (!call_size_fits(c, c->out_type[0]->dtype, 2, shape)) return false;
    Tensor *out = call_out(c, 0, 2, shape);
    if (!out) return false;
    static const double zero = 0, one = 1;
    char element[16];
    size_t item = dtype_size(out->dtype);
    tensor_cast_elements(out->dtype, element, DT_FLOAT64, &zero, 1, 0, 0);
    move_fill(move_pool(c), item, tensor_size(out), out->data, element);
    int64_t i = k >= 0 ? 0 : k < -shape[0] ? shape[0] : -k, j = k > 0 ? k : 0;
    int64_t n = shape[0] - i < shape[1] - j ? shape[0] - i : shape[1] - j;
    if (n > 0)
        tensor_cast_elements(
            out->dtype, move_at(out, i * out->stride[0] + j * out->stride[1]),
            DT_FLOAT64, &one, (size_t)n, out->stride[0] + out->stride[1], 0);
    return true;
}

/* ---- tri: 1 where column <= row + k ---- */
static bool tri_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                       const Var *in, Var *out) {
    Var i = op_call1(b, "arange", in[0]),
        j = i == VAR_NONE ? VAR_NONE : op_call1(b, "arange", in[nin - 1]),
        column = j == VAR_NONE ? VAR_NONE : op_insert_axes(b, i, 1, 1);
    int64_t k = prop_int(b->s, op, p, "k");
    if (column == VAR_NONE) return false;
    if (k) column = op_call2(b, "add", column, const_int(b, k));
    Var is = op_call2(b, "greater_equal", column, j);
    return is != VAR_NONE &&
           (*out = op_cast_to(b, is, dtype_or_float(b->s, op, p, b->floatX))) !=
               VAR_NONE;
}

static bool one_hot_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                           const Var *in, Var *out) {
    (void)nin;
    if (!dtype_is_integer(var_type(b->g, in[0])->dtype))
        return fail(b->s, b->from.at, E_DTYPE, "one_hot takes integers, not %s",
                    dtype_name(var_type(b->g, in[0])->dtype));
    int ndim = var_type(b->g, in[0])->ndim;
    int64_t axis = prop_int(b->s, op, p, "axis"), shape[MAX_NDIM + 1];
    if (axis < -ndim - 1 || axis > ndim)
        return fail(b->s, b->from.at, E_VALUE,
                    "one_hot: axis %lld is out of range for a result of %d dims",
                    (long long)axis, ndim + 1);
    if (axis < 0) axis += ndim + 1;
    for (int k = 0; k <= ndim; k++)
        shape[k] = k == axis ? -1 : 1;
    Var x = op_insert_axes(b, in[0], (int)axis, 1), j = op_call1(b, "arange", in[1]);
    if (j != VAR_NONE && axis < ndim)
        j = op_call2(b, "reshape", j,
                     const_ints(b, (size_t)ndim - (size_t)axis + 1, shape + axis));
    Var is = op_call2(b, "equal", x, j);
    return is != VAR_NONE &&
           (*out = op_cast_to(b, is, dtype_or_float(b->s, op, p, b->floatX))) !=
               VAR_NONE;
}

/* Leaves the rest to the definition. */
static bool linspace_check(Builder *b, const Op *op, const Props *p, size_t nin,
                           const Var *in, Var *out) {
    (void)nin, (void)in;
    DType d = dtype_or_float(b->s, op, p, b->floatX);
    *out = VAR_NONE;
    return dtype_is_inexact(d) ||
           fail(
               b->s, b->from.at, E_DTYPE,
               "linspace: the numbers must have a float or complex dtype, not %s: cast "
               "the result",
               dtype_name(d));
}

static const Op table[] = {
    {.name = OP_ROW("eye"),
     .doc = "A matrix of n rows and m (default n) columns with ones on its k-th "
            "diagonal; floatX unless dtype is given.",
     .in = "n: int, m: int?",
     .props = "k: int = 0, dtype: dtype? = None",
     .creates = true,
     .type = eye_type,
     .perform = eye_perform,
     .reentrant = true,
     .flops = "0",
     .pull = pull_nothing,
     .push = push_none,
     .disconnected = "n, m",
     .example = "eye(2) -> [[1.0, 0.0], [0.0, 1.0]]\neye(2, 3, k=1, dtype=int64) -> "
                "[[0, 1, 0], [0, 0, 1]]"},
    {.name = OP_ROW("tri"),
     .doc = "Ones on and below the k-th diagonal of a matrix of n rows and m (default "
            "n) columns; floatX unless dtype is given.",
     .in = "n: int, m: int?",
     .props = "k: int = 0, dtype: dtype? = None",
     .creates = true,
     .expand = tri_expand,
     .example = "tri(2) -> [[1.0, 0.0], [1.0, 1.0]]"},
    {.name = OP_ROW("one_hot"),
     .doc = "Adds a dim of size n at axis (the last) with a 1 at the position of each "
            "integer, and only zeros if it is out of range. floatX unless dtype is "
            "given; where(one_hot(x, n, dtype=bool), on, off) has other values.",
     .in = "x, n: int",
     .props = "dtype: dtype? = None, axis: int = -1",
     .expand = one_hot_expand,
     .example = "one_hot([0, 2], 3) -> [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]\n"
                "one_hot([0, 2], 3, dtype=int64, axis=0) -> [[1, 0], [0, 0], [0, 1]]"},
    {.name = OP_ROW("linspace"),
     .doc =
         "num numbers evenly spaced from start to stop, both included; cast to dtype, "
         "which must be a float or complex, if that is given.",
     .in = "start, stop, num: int = 50",
     .props = "dtype: dtype? = None",
     .promote = PROMOTE_INEXACT,
     .creates = true,
     .expand = linspace_check,
     /* In NumPy's order of operations, so that the bits are the same, but for i / parts
      * where steps are too small for a number. One pass: choices are of scalars. */
     .def = "(lambda i, step, parts: where(i == parts, stop, i * where(step == 0, "
            "1 / parts, 1) * where(step == 0, stop - start, step) + start))("
            "arange(num, dtype=start.dtype), "
            "(stop - start) / cast(maximum(num - 1, 1), start.dtype), "
            "cast(maximum(num - 1, 1), start.dtype))",
     .example = "linspace(0.0, 1.0, 5) -> [0.0, 0.25, 0.5, 0.75, 1.0]"},
};
const OpList ops_creation_eye = LIST_OF(table);
