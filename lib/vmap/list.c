/* vmap of lists: a list with rows is a list whose items have rows. */
#include "vmap/kit.h"

#include <string.h>

/* Gives rows to a list without rows by broadcasting its items, which must come from
 * make_list. */
static Var stretch_list(Vmap *q, size_t i) {
    const Graph *g = q->b->g;
    ApplyId a = var_owner(g, q->in[i]);
    const Apply *ap = a == APPLY_NONE ? NULL : &g->apply[a];
    if (!ap || !op_is(q->b->s, ap->op, OP_MAKE_LIST)) {
        vmap_refuse(q, "the items of a list that is the same for all rows are not "
                       "known; write the list as [...] of its items");
        return VAR_NONE;
    }
    Vmap each = *q;
    bool none = false;
    size_t n = ap->nin;
    const Props *props = ap->props;
    const Op *op = ap->op;
    Var *item = arena_copy(session_arena(q->b->s), apply_in(g, a), n * sizeof *item);
    each.rows = &none;
    for (size_t k = 0; k < n; k++) {
        Var x = item[k];
        each.in = &x;
        if ((item[k] = vmap_with_rows(&each, 0)) == VAR_NONE) return VAR_NONE;
    }
    return op_apply1(q->b, op, props, n, item);
}

static bool is_index_input(const Vmap *q, size_t i) {
    Session *s = q->b->s;
    return i == 1 && (op_is(s, q->op, OP_LIST_GET) || op_is(s, q->op, OP_LIST_INSERT));
}

bool vmap_lists(Vmap *q) {
    Session *s = q->b->s;
    if (op_is(s, q->op, OP_LIST_REMOVE) || op_is(s, q->op, OP_LIST_INDEX) ||
        op_is(s, q->op, OP_LIST_COUNT))
        return vmap_refuse(q, "which items are equal differs from row to row");
    Var *in = mem_alloc(s, (q->nin + 1) * sizeof *in);
    bool ok = true;
    for (size_t i = 0; ok && i < q->nin; i++) {
        TypeKind kind = var_type(q->g, q->was[i])->kind;
        in[i] = q->in[i];
        if (is_index_input(q, i))
            ok = !q->rows[i] || vmap_refuse(q, "the index differs from row to row");
        else if (!q->rows[i] && kind == TYPE_LIST)
            ok = (in[i] = stretch_list(q, i)) != VAR_NONE;
        else if (!q->rows[i] && kind == TYPE_TENSOR)
            ok = (in[i] = vmap_with_rows(q, i)) != VAR_NONE;
        else if (!q->rows[i])
            ok = vmap_refuse(q, "only tensors and lists of tensors have rows");
        else if (kind != TYPE_LIST && kind != TYPE_TENSOR)
            ok = vmap_refuse(q, "a list of sparse matrices has no rows");
    }
    if (ok && op_is(s, q->op, OP_LIST_LENGTH)) q->out_rows[0] = false;
    ok = ok && vmap_apply(q, q->props, in);
    mem_free(in);
    return ok;
}
