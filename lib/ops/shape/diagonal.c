/* Diagonals: diagonal is a view; diag, trace, tril, triu and outer expand to simpler
 * ops when a graph is built. */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "vmap/kit.h"

#include <string.h>

/* ---- diagonal ---- */
static bool two_axes(Infer *in, int *a, int *b) {
    const Type *x = in->type[0];
    if (!infer_want_rank(in, 0, 2, -1) ||
        !infer_axis(in, infer_prop(in, "axis1")->i, x->ndim, a) ||
        !infer_axis(in, infer_prop(in, "axis2")->i, x->ndim, b))
        return false;
    return *a != *b ||
           infer_fail(in, E_ARG, in->nin, "axis1 and axis2 are the same dim");
}

static int64_t diagonal_length(int64_t rows, int64_t cols, int64_t k) {
    if (k <= -rows || k >= cols) return 0;
    int64_t m = k < 0 ? rows + k : rows, n = k > 0 ? cols - k : cols,
            len = m < n ? m : n;
    return len > 0 ? len : 0;
}

static bool diagonal_type(Infer *in) {
    const Type *x = in->type[0];
    int a = 0, b = 1, n = 0;
    if (!two_axes(in, &a, &b)) return false;
    Dim dim[MAX_NDIM], rows = x->dim[a], cols = x->dim[b], len = DIM_UNKNOWN;
    int64_t k = infer_prop(in, "offset")->i;
    if (dim_is_known(rows) && dim_is_known(cols))
        len = diagonal_length(rows, cols, k);
    else if (k == 0 && rows == cols)
        len = rows;
    for (int d = 0; d < x->ndim; d++)
        if (d != a && d != b) dim[n++] = x->dim[d];
    dim[n++] = len;
    return infer_out_tensor(in, 0, x->dtype, n, dim);
}

static bool diagonal_perform(Call *c) {
    Tensor x = *call_in(c, 0);
    int a = shape_axis_index(prop_int(c->s, c->op, c->props, "axis1"), x.ndim);
    int b = shape_axis_index(prop_int(c->s, c->op, c->props, "axis2"), x.ndim);
    int64_t k = prop_int(c->s, c->op, c->props, "offset"),
            len = diagonal_length(x.shape[a], x.shape[b], k);
    Tensor *v = call_view(c, 0, call_in(c, 0));
    if (!v) return false;
    v->dtype = x.dtype;
    v->ndim = 0;
    v->data = x.data;
    if (len && k > 0) v->data = move_at(&x, k * x.stride[b]);
    if (len && k < 0) v->data = move_at(&x, -k * x.stride[a]);
    for (int d = 0; d < x.ndim; d++) {
        if (d == a || d == b) continue;
        v->shape[v->ndim] = x.shape[d];
        v->stride[v->ndim++] = x.stride[d];
    }
    v->shape[v->ndim] = len;
    v->stride[v->ndim++] = x.stride[a] + x.stride[b];
    return true;
}

static Var move_axes(Builder *b, Var x, int64_t n, const int64_t *from,
                     const int64_t *to) {
    PropArg arg[2] = {{"source", PROP_INTS(from, (size_t)n)},
                      {"destination", PROP_INTS(to, (size_t)n)}};
    return apply_named(b, "moveaxis", 1, &x, 2, arg);
}

/* The positions 0, 1, ... along a diagonal of `like`'s last dim, starting at
 * `first`. */
static Var diagonal_positions(Builder *b, Var like, int64_t first) {
    Var len = shape_of(b, like, -1), at = op_call1(b, "arange", len);
    return at == VAR_NONE || first == 0 ? at
                                        : op_call2(b, "add", at, const_int(b, first));
}

static Var put_diagonal(Builder *b, const char *op, Var into, Var v, int64_t k,
                        Var like) {
    Var rows = diagonal_positions(b, like, k < 0 ? i64_abs(k) : 0);
    if (rows == VAR_NONE)
        return VAR_NONE; /* diagnosed: don't fail again for the
                          * columns */
    Var in[4] = {into, v, rows, diagonal_positions(b, like, k > 0 ? k : 0)};
    PropArg arg = {"index", PROP_STR(sym(b->s, "$, $"))};
    return apply_named(b, op, 4, in, 1, &arg);
}

/* The gradient is zeros with the cotangent on the diagonal. */
static bool diagonal_pull(Pull *p) {
    if (pull_discrete(p)) return true;
    Builder *b = p->b;
    static const int64_t front[2] = {0, 1}, last[1] = {-1};
    int64_t axes[2] = {prop_int(b->s, p->op, p->props, "axis1"),
                       prop_int(b->s, p->op, p->props, "axis2")};
    Var zeros = op_float_zeros(b, p->in[0]), g = p->cotangent[0];
    Var z = zeros == VAR_NONE ? VAR_NONE : move_axes(b, zeros, 2, axes, front),
        h = move_axes(b, g, 1, last, front);
    if (z == VAR_NONE || h == VAR_NONE) return false;
    Var r = put_diagonal(b, "inc_subtensor", z, h,
                         prop_int(b->s, p->op, p->props, "offset"), g);
    return r != VAR_NONE && (p->grad[0] = move_axes(b, r, 2, front, axes)) != VAR_NONE;
}

/* ---- diag: the diagonal of a matrix, or the matrix with that diagonal ---- */
static bool diag_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                        const Var *in, Var *out) {
    (void)nin;
    const Type *x = var_type(b->g, in[0]);
    int64_t k = prop_int(b->s, op, p, "k");
    if (x->ndim == 2) {
        PropArg arg = {"offset", PROP_INT(k)};
        return (*out = apply_named(b, "diagonal", 1, in, 1, &arg)) != VAR_NONE;
    }
    if (x->ndim != 1)
        return fail(b->s, b->from.at, E_SHAPE,
                    "diag takes a vector or a matrix, not %s", type_str(b->s, x));
    if (k > INT32_MAX || k < -INT32_MAX)
        return fail(b->s, b->from.at, E_ARG, "diag: diagonal %lld is out of range",
                    (long long)k);
    Var n = shape_of(b, in[0], 0);
    if (n == VAR_NONE) return false;
    Dim side = 0;
    if (dim_is_known(x->dim[0]) && !dim_add(x->dim[0], i64_abs(k), &side))
        return fail(b->s, b->from.at, E_VALUE, "diag: the matrix is too large");
    if (k && dim_is_known(x->dim[0]))
        n = const_int(b, side);
    else if (k)
        n = op_call2(b, "add", n, const_int(b, i64_abs(k)));
    Var size[2] = {n, n}, shape = n == VAR_NONE ? VAR_NONE : ints_stack(b, 2, size);
    Var fill[2] = {shape, const_number(b, x->dtype, 0)},
        zeros = apply_named(b, "full", 2, fill, 0, NULL);
    return zeros != VAR_NONE && (*out = put_diagonal(b, "set_subtensor", zeros, in[0],
                                                     k, in[0])) != VAR_NONE;
}

/* ---- tril, triu ---- */
static bool mask_triangle(Builder *b, const Op *op, const Props *p, Var x, bool lower,
                          Var *out) {
    const Type *t = var_type(b->g, x);
    if (t->ndim < 2)
        return fail(b->s, b->from.at, E_SHAPE, "%s takes a matrix, not %s", op->name,
                    type_str(b->s, t));
    Var rows = shape_of(b, x, -2), cols = shape_of(b, x, -1);
    Var i = op_call1(b, "arange", rows),
        j = cols == VAR_NONE || i == VAR_NONE ? VAR_NONE : op_call1(b, "arange", cols);
    Var column = op_insert_axes(b, i, 1, 1);
    int64_t k = prop_int(b->s, op, p, "k");
    if (column == VAR_NONE || j == VAR_NONE) return false;
    if (k) column = op_call2(b, "add", column, const_int(b, k));
    Var keep = op_call2(b, lower ? "greater_equal" : "less_equal", column, j);
    return keep != VAR_NONE &&
           (*out = op_call3(b, "where", keep, x, const_number(b, t->dtype, 0))) !=
               VAR_NONE;
}

static bool tril_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                        const Var *in, Var *out) {
    (void)nin;
    return mask_triangle(b, op, p, in[0], true, out);
}

static bool triu_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                        const Var *in, Var *out) {
    (void)nin;
    return mask_triangle(b, op, p, in[0], false, out);
}

static const Op table[] = {
    {.name = OP_ROW("diagonal"),
     .doc = "The elements x[.., i, .., i + offset, ..] along two dims, as the last "
            "dim; a view.",
     .in = "x",
     .props = "offset: int = 0, axis1: axis = 0, axis2: axis = 1",
     .type = diagonal_type,
     .perform = diagonal_perform,
     .reentrant = true,
     .flops = "0",
     .pull = diagonal_pull,
     .push = push_linear_first,
     .view = 1,
     .vmap = vmap_axes,
     .example = "diagonal([[1, 2], [3, 4]]) -> [1, 4]"},
    {.name = OP_ROW("diag"),
     .doc = "The k-th diagonal of a matrix, or the matrix whose k-th diagonal is the "
            "vector x.",
     .in = "x",
     .props = "k: int = 0",
     .expand = diag_expand,
     .example = "diag([1, 2]) -> [[1, 0], [0, 2]]\ndiag([[1, 2], [3, 4]], k=1) -> [2]"},
    {.name = OP_ROW("trace"),
     .doc = "The sum along the diagonal of the first two dims.",
     .in = "x",
     .props = "offset: int = 0",
     .def = "sum(diagonal(x, offset=offset), axis=-1)",
     .example = "trace([[1, 2], [3, 4]]) -> 5"},
    {.name = OP_ROW("tril"),
     .doc = "x with zeros above the k-th diagonal of its last two dims.",
     .in = "x",
     .props = "k: int = 0",
     .expand = tril_expand,
     .example = "tril([[1, 2], [3, 4]]) -> [[1, 0], [3, 4]]"},
    {.name = OP_ROW("triu"),
     .doc = "x with zeros below the k-th diagonal of its last two dims.",
     .in = "x",
     .props = "k: int = 0",
     .expand = triu_expand,
     .example = "triu([[1, 2], [3, 4]]) -> [[1, 2], [0, 4]]"},
    {.name = OP_ROW("outer"),
     .doc = "x[i] * y[j] for all elements of two tensors, flattened.",
     .in = "x, y",
     .def = "expand_dims(ravel(x), 1) * expand_dims(ravel(y), 0)",
     .example = "outer([1, 2], [3, 4]) -> [[3, 4], [6, 8]]"},
};
const OpList ops_shape_diagonal = LIST_OF(table);
