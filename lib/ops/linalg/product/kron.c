/* kron, block_diag, matrix_power, multi_dot: expand to simpler ops when a graph is
 * built. */
#include "ops/shape/linear.h"

#include <string.h>

/* ---- kron ---- */
/* x with dims of 1 prepended up to n, and another one before or after each dim. */
static Var interleave_ones(Builder *b, Var x, int n, bool behind) {
    int64_t axes[2 * MAX_NDIM];
    int have = var_type(b->g, x)->ndim, k = 0;
    for (int i = 0; i < n; i++) {
        if (i < n - have) {
            axes[k++] = 2 * i;
            axes[k++] = 2 * i + 1;
        } else {
            axes[k++] = behind ? 2 * i + 1 : 2 * i;
        }
    }
    PropArg arg = {"axis", PROP_INTS(axes, (size_t)k)};
    return k ? apply_named(b, "expand_dims", 1, &x, 1, &arg) : x;
}

static Var product_dim(Builder *b, Var x, Var y, int from_right) {
    const Type *t = var_type(b->g, x), *u = var_type(b->g, y);
    Var p = from_right > t->ndim ? const_int(b, 1) : shape_of(b, x, -from_right),
        q = from_right > u->ndim ? const_int(b, 1) : shape_of(b, y, -from_right);
    if (p == VAR_NONE || q == VAR_NONE) return VAR_NONE;
    const Tensor *m = var_const(b->g, p), *n = var_const(b->g, q);
    int64_t all;
    if (!m || !n) return op_call2(b, "multiply", p, q);
    if (i64_mul(tensor_i64(m, 0), tensor_i64(n, 0), &all)) return const_int(b, all);
    fail(b->s, b->from.at, E_VALUE, "kron: a dim of the result is too large");
    return VAR_NONE;
}

static bool kron_expand(Builder *b, const Op *op, const Props *props, size_t nin,
                        const Var *in, Var *out) {
    (void)props, (void)nin;
    int na = var_type(b->g, in[0])->ndim, nb = var_type(b->g, in[1])->ndim,
        n = na > nb ? na : nb;
    Var size[MAX_NDIM];
    if (!type_ndim_fits(b->s, b->from.at, op->name, 2 * n))
        return note(b->s, NOWHERE, "it takes tensors of at most %d dims", MAX_NDIM / 2);
    Var x = interleave_ones(b, in[0], n, true), y = interleave_ones(b, in[1], n, false);
    if (x == VAR_NONE || y == VAR_NONE) return false;
    Var p = op_call2(b, "multiply", x, y);
    for (int i = 0; i < n; i++)
        if ((size[i] = product_dim(b, in[0], in[1], n - i)) == VAR_NONE) return false;
    if (n == 0) return (*out = p) != VAR_NONE;
    Var to[2] = {p, ints_stack(b, (size_t)n, size)};
    return (*out = apply_named(b, "reshape", 2, to, 0, NULL)) != VAR_NONE;
}

/* ---- block_diag ---- */
static Var zero_block(Builder *b, Var rows, Var cols, DType d) {
    Var size[2] = {rows, cols};
    Var in[2] = {ints_stack(b, 2, size), const_number(b, d, 0)};
    return apply_named(b, "full", 2, in, 0, NULL);
}

static Var concatenate_parts(Builder *b, size_t n, const Var *part, int64_t axis) {
    PropArg arg = {"axis", PROP_INT(axis)};
    return n == 1 ? part[0] : apply_named(b, "concatenate", n, part, 1, &arg);
}

/* Number of columns of the inputs [from, to). */
static Var sum_columns(Builder *b, const Var *in, size_t from, size_t to) {
    Var sum = VAR_NONE;
    for (size_t i = from; i < to; i++) {
        Var n = shape_of(b, in[i], 1);
        sum = i == from || n == VAR_NONE ? n : op_call2(b, "add", sum, n);
        if (sum == VAR_NONE) break;
    }
    return sum;
}

static Var block_row(Builder *b, size_t nin, const Var *in, size_t i, DType d) {
    Var part[3], rows = shape_of(b, in[i], 0);
    size_t n = 0;
    if (i > 0) part[n++] = zero_block(b, rows, sum_columns(b, in, 0, i), d);
    part[n++] = in[i];
    if (i + 1 < nin) part[n++] = zero_block(b, rows, sum_columns(b, in, i + 1, nin), d);
    return concatenate_parts(b, n, part, 1);
}

static bool block_diag_expand(Builder *b, const Op *op, const Props *props, size_t nin,
                              const Var *in, Var *out) {
    (void)props;
    if (nin == 0)
        return fail(b->s, b->from.at, E_ARITY, "%s needs at least one matrix",
                    op->name);
    Var *row = mem_zalloc(b->s, 2 * nin, sizeof *row), *m = row + nin;
    bool ok = true;
    for (size_t i = 0; ok && i < nin; i++) {
        const Type *t = var_type(b->g, in[i]);
        m[i] = in[i];
        if (t->ndim > 2)
            ok = fail(b->s, b->from.at, E_SHAPE, "%s takes matrices, not %s", op->name,
                      type_str(b->s, t));
        else if (t->ndim < 2)
            ok = (m[i] = op_insert_axes(b, in[i], 0, 2 - t->ndim)) != VAR_NONE;
    }
    for (size_t i = 0; ok && i < nin; i++)
        ok =
            (row[i] = block_row(b, nin, m, i, var_type(b->g, m[i])->dtype)) != VAR_NONE;
    ok = ok && (*out = concatenate_parts(b, nin, row, 0)) != VAR_NONE;
    mem_free(row);
    return ok;
}

/* ---- matrix_power ---- */
static Var identity_like(Builder *b, Var a) {
    Env env = {.n = 1, .bind = (Bind[]){{sym(b->s, "a"), a}}};
    bool ok = true;
    Var v =
        template_build(b, "zeros_like(a) + eye(a.shape[-1], dtype=bool)", &env, &ok);
    return ok ? v : VAR_NONE;
}

static bool is_square(Builder *b, const Op *op, Var a) {
    const Type *t = var_type(b->g, a);
    if (t->ndim >= 2 && dim_may_equal(t->dim[t->ndim - 1], t->dim[t->ndim - 2]))
        return true;
    return fail(b->s, b->from.at, E_SHAPE, "%s takes a square matrix, not %s", op->name,
                type_str(b->s, t));
}

/* By repeated squaring: about log2(n) products. */
static bool matrix_power_expand(Builder *b, const Op *op, const Props *props,
                                size_t nin, const Var *in, Var *out) {
    (void)nin;
    int64_t n = prop_int(b->s, op, props, "n");
    uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n;
    Var square = in[0], r = VAR_NONE;
    if (!is_square(b, op, in[0])) return false;
    if (n == 0) return (*out = identity_like(b, in[0])) != VAR_NONE;
    if (n < 0) square = op_call1(b, "inv", square);
    for (; left && square != VAR_NONE; left >>= 1) {
        if (left & 1) r = r == VAR_NONE ? square : op_call2(b, "matmul", r, square);
        if (r == VAR_NONE && (left & 1)) return false;
        if (left > 1) square = op_call2(b, "matmul", square, square);
    }
    return square != VAR_NONE && (*out = r) != VAR_NONE;
}

/* ---- multi_dot ---- */
/* From left to right: the rewriting pass chain-order knows the sizes and which order is
 * the cheapest. */
static bool multi_dot_expand(Builder *b, const Op *op, const Props *props, size_t nin,
                             const Var *in, Var *out) {
    (void)props;
    Span at = b->from.at;
    if (nin < 2)
        return fail(b->s, at, E_ARITY, "%s takes at least two tensors, not %zu",
                    op->name, nin);
    for (size_t i = 1; i + 1 < nin; i++)
        if (var_type(b->g, in[i])->ndim < 2)
            return fail(
                b->s, at, E_SHAPE,
                "%s: only the first and the last may be vectors, but number %zu "
                "is %s",
                op->name, i + 1, type_str(b->s, var_type(b->g, in[i])));
    *out = in[0];
    for (size_t i = 1; i < nin && *out != VAR_NONE; i++)
        *out = op_call2(b, "matmul", *out, in[i]);
    return *out != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("kron"),
     .doc =
         "The Kronecker product: blocks of b times each element of a. Missing leading "
         "dims count as 1.",
     .in = "a, b",
     .promote = PROMOTE_SAME,
     .expand = kron_expand,
     .example = "kron([[1, 2]], [[1, 1], [0, 1]]) -> [[1, 1, 2, 2], [0, 1, 0, 2]]\n"
                "kron([1, 10], [1, 2]) -> [1, 2, 10, 20]"},
    {.name = OP_ROW("block_diag"),
     .doc = "A matrix with the given matrices along its diagonal and zeros elsewhere. "
            "A vector counts as a row.",
     .in = "*arrs",
     .promote = PROMOTE_SAME,
     .expand = block_diag_expand,
     .example = "block_diag([[[1, 2]], [[3]]]) -> [[1, 2, 0], [0, 0, 3]]"},
    {.name = OP_ROW("matrix_power"),
     .doc = "The n-th power of a square matrix; if n is negative, of its inverse.",
     .in = "a",
     .props = "n: int",
     .expand = matrix_power_expand,
     .example = "matrix_power([[1, 1], [0, 1]], 5) -> [[1, 5], [0, 1]]"},
    {.name = OP_ROW("multi_dot"),
     .doc = "The matrix product of all of them; the first and the last may be vectors. "
            "Rewriting finds the cheapest order.",
     .in = "*arrs",
     .promote = PROMOTE_SAME,
     .expand = multi_dot_expand,
     .example = "multi_dot([[1, 2]], [[3], [4]], [[1, 0]]) -> [[11, 0]]\n"
                "multi_dot([[[1, 2]], [[3], [4]], [2]]) -> [22]"},
};
const OpList ops_linalg_kron = LIST_OF(table);
