/* Makes variables and constants of a type, and converts variables to a type. */
#include "op/convert.h"

#include "value/class.h"

#include <stdio.h>
#include <string.h>

Var type_make_variable(Graph *g, const Type *t, Sym name) {
    char text[24];
    if (name && graph_find(g, name) != VAR_NONE)
        bug("the name %s of an input is already taken", sym_text(g->s, name));
    for (unsigned i = 1; !name || graph_find(g, name) != VAR_NONE; i++) {
        snprintf(text, sizeof text, "in%u", i);
        name = sym(g->s, text);
    }
    return graph_input(g, name, t);
}

static Var fail_convert(Builder *b, const Type *t, const Type *have, const char *what) {
    bool kind = t->kind == have->kind, cast = kind && t->dtype != have->dtype;
    fail(b->s, b->from.at,
         !kind  ? E_TYPE
         : cast ? E_DTYPE
                : E_SHAPE,
         "%s is %s, but the value is %s%s%s%s", what, type_str(b->s, t),
         type_str(b->s, have), cast ? ": cast it with " : "",
         cast ? dtype_name(t->dtype) : "", cast ? "(...)" : "");
    return VAR_NONE;
}

static Var specify_dims(Builder *b, const Type *t, Var v) {
    Var dim[MAX_NDIM], in[2] = {v, VAR_NONE};
    bool known = true;
    int64_t n[MAX_NDIM];
    for (int i = 0; i < t->ndim; i++) {
        known = known && !dim_is_named(t->dim[i]);
        n[i] = dim_is_known(t->dim[i]) ? t->dim[i] : -1;
        dim[i] = dim_is_named(t->dim[i]) ? graph_dim(b->g, dim_sym(t->dim[i]))
                                         : const_int(b, n[i]);
        if (dim[i] == VAR_NONE) return VAR_NONE;
    }
    const Op *op = op_known(b->s, OP_SPECIFY_SHAPE), *stack = op_known(b->s, OP_STACK);
    in[1] = known ? const_ints(b, (size_t)t->ndim, n)
                  : op_apply1(b, stack, NULL, (size_t)t->ndim, dim);
    return in[1] == VAR_NONE ? VAR_NONE : op_apply1(b, op, NULL, 2, in);
}

Var type_filter_variable(Builder *b, const Type *t, Var v, const char *what) {
    const Type *have = var_type(b->g, v);
    if (type_is_super(t, have)) return v;
    bool array = t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE;
    if (!type_meet(b->s, t, have) || !array) return fail_convert(b, t, have, what);
    return specify_dims(b, t, v);
}
