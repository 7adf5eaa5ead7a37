/* Arithmetic on sparse matrices expands, when a graph is built, to arithmetic on the
 * vectors of stored elements, which shares the dense loops and derivatives. */
#include "ops/sparse/sparse.h"

static bool var_is_sparse(const Builder *b, Var v) {
    return var_type(b->g, v)->kind == TYPE_SPARSE;
}

static bool as_text(Builder *b, const char *text, Var x, Var y, Var u, Var *out) {
    Bind bind[] = {{sym(b->s, "x"), x}, {sym(b->s, "y"), y}, {sym(b->s, "u"), u}};
    bool ok = true;
    *out = template_build(b, text, &(Env){.n = 3, .bind = bind}, &ok);
    return ok && *out != VAR_NONE;
}

static bool check_same_shape(Builder *b, Var x, Var y) {
    const Type *a = var_type(b->g, x), *c = var_type(b->g, y);
    bool fits = a->ndim == 2 && c->ndim == 2;
    for (int i = 0; fits && i < 2; i++)
        fits = dim_may_equal(a->dim[i], c->dim[i]);
    return fits ||
           fail(b->s, b->from.at, E_SHAPE, "%s: %s and %s must have the same shape",
                b->asked, type_str(b->s, a), type_str(b->s, c));
}

/* Two sparse operands are first brought to the union of their patterns. */
static bool add_or_subtract(Builder *b, Var x, Var y, const char *sparse,
                            const char *dense, Var *out) {
    if (!check_same_shape(b, x, y)) return false;
    if (!var_is_sparse(b, x) || !var_is_sparse(b, y)) {
        if (var_is_sparse(b, x)) x = op_call1(b, "dense_from_sparse", x);
        if (x != VAR_NONE && var_is_sparse(b, y))
            y = op_call1(b, "dense_from_sparse", y);
        return x != VAR_NONE && y != VAR_NONE && as_text(b, dense, x, y, x, out);
    }
    Var u = x == y ? x : op_call2(b, "sparse_union", x, y);
    return u != VAR_NONE && as_text(b, sparse, x, y, u, out);
}

static bool sparse_add_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                              const Var *in, Var *out) {
    (void)op, (void)p, (void)nin;
    return add_or_subtract(b, in[0], in[1],
                           "sparse_with_data(u, sparse_data(sparse_like(x, u)) + "
                           "sparse_data(sparse_like(y, u)))",
                           "x + y", out);
}
static bool sparse_subtract_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                                   const Var *in, Var *out) {
    (void)op, (void)p, (void)nin;
    return add_or_subtract(b, in[0], in[1],
                           "sparse_with_data(u, sparse_data(sparse_like(x, u)) - "
                           "sparse_data(sparse_like(y, u)))",
                           "x - y", out);
}

/* The result has the pattern of x, or of y when x is dense. */
static bool sparse_multiply_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                                   const Var *in, Var *out) {
    Var x = in[var_is_sparse(b, in[0]) ? 0 : 1],
        y = in[var_is_sparse(b, in[0]) ? 1 : 0];
    (void)op, (void)p, (void)nin;
    bool scalar = var_type(b->g, y)->ndim == 0;
    return as_text(b,
                   scalar ? "sparse_with_data(x, sparse_data(x) * y)"
                          : "sparse_with_data(x, sparse_data(x) * "
                            "sparse_data(sparse_like(y, x)))",
                   x, y, x, out);
}

#define X       "csr_from_dense([[0., 1.], [2., 3.]])"
#define DATA(f) "sparse_with_data(x, " f ")"
static const Op table[] = {
    {.name = OP_ROW("sparse_add"),
     .doc = "x + y. Two sparse matrices give a sparse one in x's format, which stores "
            "what either stores; a sparse and a dense one give a dense one.",
     .in = "x: array, y: array",
     .promote = PROMOTE_SAME,
     .kinds = KIND_NUMBER,
     .expand = sparse_add_expand,
     .example =
         "sparse_data(sparse_add(" X ", csc_from_dense([[5., 0.], [0., 7.]]))) -> "
         "[5.0, 1.0, 2.0, 10.0]"},
    {.name = OP_ROW("sparse_subtract"),
     .doc = "x - y, as sparse_add.",
     .in = "x: array, y: array",
     .promote = PROMOTE_SAME,
     .kinds = KIND_NUMBER,
     .expand = sparse_subtract_expand,
     .example = "sparse_data(sparse_subtract(" X ", csr_from_dense([[0., 0.], [0., "
                "7.]]))) -> [1.0, 2.0, -4.0]"},
    {.name = OP_ROW("sparse_multiply"),
     .doc = "x * y, element by element, for a sparse x and a y that is sparse, dense "
            "and broadcast, or a scalar (or the other way round). The result stores "
            "what x stores.",
     .in = "x: array, y: array",
     .promote = PROMOTE_SAME,
     .kinds = KIND_NUMBER,
     .expand = sparse_multiply_expand,
     .example =
         "sparse_data(sparse_multiply(" X ", [[1., 2.], [3., 4.]])) -> [2.0, 6.0, "
         "12.0]\nsparse_data(sparse_multiply(2., " X ")) -> [2.0, 4.0, 6.0]"},
    {.name = OP_ROW("sparse_negative"),
     .doc = "-x.",
     .in = "x: sparse",
     .def = DATA("-sparse_data(x)"),
     .example = "sparse_data(sparse_negative(" X ")) -> [-1.0, -2.0, -3.0]"},
    {.name = OP_ROW("sparse_cast"),
     .doc = "x with its elements as another dtype.",
     .in = "x: sparse",
     .props = "dtype: dtype",
     .def = DATA("cast(sparse_data(x), dtype)"),
     .example = "sparse_data(sparse_cast(" X ", 'int64')) -> [1, 2, 3]"},
    {.name = OP_ROW("sparse_conj"),
     .doc = "The complex conjugate of each element of x.",
     .in = "x: sparse",
     .def = DATA("conj(sparse_data(x))"),
     .example = "sparse_data(sparse_conj(" X ")) -> [1.0, 2.0, 3.0]"},
    {.name = OP_ROW("sparse_real"),
     .doc = "The real part of each element of x.",
     .in = "x: sparse",
     .def = DATA("real(sparse_data(x))"),
     .example = "sparse_data(sparse_real(" X ")) -> [1.0, 2.0, 3.0]"},
    {.name = OP_ROW("sparse_zeros_like"),
     .doc = "Zeros stored where x stores its elements; of x's dtype unless dtype is "
            "given.",
     .in = "x: sparse",
     .props = "dtype: dtype? = None",
     .def = DATA("zeros_like(sparse_data(x), dtype=dtype)"),
     .example = "sparse_data(sparse_zeros_like(" X ")) -> [0.0, 0.0, 0.0]"},
};
const OpList ops_sparse_arith = LIST_OF(table);
