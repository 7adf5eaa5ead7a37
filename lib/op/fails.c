/* May a run of an Apply fail because of its inputs' values, or of shapes that aren't
 * known statically? Running out of memory doesn't count. */
#include "op/op.h"

/* Do the types guarantee that the operands broadcast? At each position, all dims other
 * than 1 must be the same number or name; if only one operand has such a dim, it may be
 * unknown. */
static bool shapes_agree(const Graph *g, ApplyId a) {
    const Apply *ap = &g->apply[a];
    Dim is[MAX_NDIM];
    for (int k = 0; k < MAX_NDIM; k++)
        is[k] = 1;
    for (size_t i = 0; i < ap->nin; i++) {
        const Type *t = var_type(g, apply_in(g, a)[i]);
        if (t->kind != TYPE_TENSOR) return false;
        for (int k = 0; k < t->ndim; k++) {
            Dim d = t->dim[t->ndim - 1 - k];
            if (d == 1) continue;
            if (is[k] != 1 && (d != is[k] || d == DIM_UNKNOWN)) return false;
            is[k] = d;
        }
    }
    return true;
}

bool op_never_fails(const Graph *g, ApplyId a) {
    (void)g;
    (void)a;
    return false;
}

bool op_fails_on_integers(const Graph *g, ApplyId a) {
    const Type *t = var_type(g, g->apply[a].out);
    return t->kind != TYPE_TENSOR || dtype_is_integer(t->dtype) || !shapes_agree(g, a);
}

bool op_may_fail(const Graph *g, ApplyId a) {
    const Op *op = g->apply[a].op;
    if (op->effect || g->apply[a].serial) return true;
    if (op->fails) return op->fails(g, a);
    return !op->elemwise || op->from || !shapes_agree(g, a);
}
