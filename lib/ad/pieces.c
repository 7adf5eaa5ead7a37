/* Small pieces of the graphs that derivations make. */
#include "ad/pieces.h"

size_t ad_dims(Builder *b, Var x, int first, size_t n, Var *item) {
    for (int k = first; k < var_type(b->g, x)->ndim; k++)
        item[n++] = shape_of(b, x, k);
    return n;
}

Var ad_count(Builder *b, int ndim, Var x) {
    int64_t known = 1;
    Var n = VAR_NONE;
    for (int k = 0; k < ndim; k++) {
        Dim d = var_type(b->g, x)->dim[k];
        if (dim_is_known(d) && i64_mul(known, d, &known)) continue;
        Var size = shape_of(b, x, k);
        n = n == VAR_NONE || size == VAR_NONE ? size : call2(b, "multiply", n, size);
        if (n == VAR_NONE) return n;
    }
    if (n == VAR_NONE) return const_int(b, known);
    return known == 1 ? n : call2(b, "multiply", n, const_int(b, known));
}

Var ad_first_row(Builder *b, Var x) {
    Var in[2] = {x, const_int(b, 0)};
    PropArg index = {"index", PROP_STR(sym(b->s, "$"))};
    return apply_named(b, "subtensor", 2, in, 1, &index);
}
