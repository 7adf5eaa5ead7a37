/* Reads are pushed to what is read: exp(x)[3] is exp(x[3]), (a @ b)[i] is a[i] @ b, and
 * x[2:][1:] is x[3:]. What is read is then computed no more than it is needed. It
 * happens only where nothing else uses the whole value, and where an index out of range
 * or shapes that don't fit are still errors. */
#include "rewrite/read/read.h"

/* ---- x[:, None] ---- */

bool read_none_pass(Rewriter *r, ApplyId id, Var *out) {
    Read q;
    int64_t axes[ITEMS_MAX];
    if (r->g->apply[id].nin != 1 || !read_parse(r, id, 1, &q) || q.nadd == 0)
        return false;
    for (int k = 0; k < q.nadd; k++)
        axes[k] = q.add[k] + k;
    const Op *op = op_known(r->s, OP_EXPAND_DIMS);
    PropArg arg = {"axis", PROP_INTS(axes, (size_t)q.nadd)};
    out[0] = rewriter_apply(r, op, props_make(r->s, op, 1, &arg), 1, &q.x);
    return out[0] != VAR_NONE &&
           type_keeps(var_type(r->g, r->g->apply[id].out), var_type(r->g, out[0]));
}

/* ---- the passes ---- */

/* In the body of a loop the index may change from step to step, while what is read is
 * computed once, before the loop. */
static bool index_stays(Rewriter *r, ApplyId id) {
    if (r->g == r->g->main) return true;
    for (size_t i = 1; i < r->g->apply[id].nin; i++)
        if (!var_is_const(r->g, rewriter_input(r, id, i))) return false;
    return true;
}

typedef struct ReadRow {
    KnownOp op;
    ReadWay *way;
} ReadRow;

/* Are fewer elements computed of the rows that an array takes, although one may be
 * taken twice and each operand is gathered apart? Of a mask that isn't known. */
static bool array_pays(const Read *q, bool elemwise) {
    const Rewriter *r = q->r;
    int axis = read_array_axis(q);
    int64_t operands = 0;
    if (axis < 0) return true;
    for (size_t i = 0; i < r->g->apply[q->of].nin; i++)
        operands += var_type(r->g, read_input(q, i))->ndim > 0;
    if (!elemwise) operands = 1;
    const Type *t = var_type(r->g, q->item[axis].array);
    if (t->dtype == DT_BOOL) return operands == 1;
    return dim_is_known(t->dim[0]) && dim_is_known(q->t->dim[axis]) &&
           t->dim[0] < q->t->dim[axis] &&
           t->dim[0] <= q->t->dim[axis] / (operands ? operands : 1);
}

static bool push_read(Rewriter *r, ApplyId id, size_t n, const ReadRow *row,
                      bool shared, Var *out) {
    Read q;
    Var x = rewriter_input(r, id, 0);
    ApplyId of = var_owner(r->g, x);
    ReadWay *way = NULL;
    if (of == APPLY_NONE || (!shared && !rewriter_single_use(r, x))) return false;
    const Apply *a = &r->g->apply[of];
    if (a->serial || a->nout != 1) return false;
    if (a->op->elemwise && !shared) way = read_elemwise;
    for (size_t i = 0; i < n; i++)
        if (rw_is(r, a, row[i].op)) way = row[i].way;
    if (!way || !index_stays(r, id)) return false;
    Var v = VAR_NONE;
    if (read_parse(r, id, 1, &q))
        v = array_pays(&q, way == read_elemwise) ? read_add_dims(&q, way(&q))
                                                 : VAR_NONE;
    else if (way == read_elemwise)
        v = read_by_arrays(r, id, of);
    if (v == VAR_NONE ||
        !type_keeps(var_type(r->g, r->g->apply[id].out), var_type(r->g, v)))
        return false;
    if (r->uses[x] <= 1) rewriter_release(r, of);
    out[0] = v;
    return true;
}

bool read_exact_pass(Rewriter *r, ApplyId id, Var *out) {
    static const ReadRow row[] = {{OP_TRANSPOSE, read_transpose},
                                  {OP_EXPAND_DIMS, read_expanded},
                                  {OP_SQUEEZE, read_squeezed},
                                  {OP_RESHAPE, read_reshaped},
                                  {OP_CONCATENATE, read_concatenated},
                                  {OP_STACK, read_stacked},
                                  {OP_ARANGE, read_counting},
                                  {OP_DIAGONAL, read_diagonal},
                                  {OP_EYE, read_eye},
                                  {OP_BROADCAST_TO, read_repeated},
                                  {OP_FULL, read_repeated},
                                  {OP_FULL_LIKE, read_repeated},
                                  {OP_ZEROS_LIKE, read_repeated},
                                  {OP_ONES_LIKE, read_repeated},
                                  {OP_MAX, read_reduced},
                                  {OP_MIN, read_reduced},
                                  {OP_ANY, read_reduced},
                                  {OP_ALL, read_reduced}};
    return push_read(r, id, sizeof row / sizeof *row, row, false, out);
}

bool read_rounded_pass(Rewriter *r, ApplyId id, Var *out) {
    static const ReadRow row[] = {
        {OP_MATMUL, read_product},  {OP_SUM, read_reduced},
        {OP_PROD, read_reduced},    {OP_MEAN, read_reduced},
        {OP_SOFTMAX, read_softmax}, {OP_LOG_SOFTMAX, read_softmax}};
    return push_read(r, id, sizeof row / sizeof *row, row, false, out);
}

bool read_merge_pass(Rewriter *r, ApplyId id, Var *out) {
    static const ReadRow row[] = {{OP_SUBTENSOR, read_read},
                                  {OP_CONCATENATE, read_one_part},
                                  {OP_SET_SUBTENSOR, read_written},
                                  {OP_INC_SUBTENSOR, read_written}};
    return push_read(r, id, sizeof row / sizeof *row, row, true, out);
}

/* ---- split(x, 3)[0] ---- */

/* Slices of x, where not all parts are read: what isn't need not be computed. */
bool read_split_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    const Prop *p = rewriter_prop(r, &a, "axis");
    Var x = rewriter_input(r, id, 0);
    const Type *t = var_type(r->g, x);
    int axis = (int)(p->i < 0 ? p->i + t->ndim : p->i);
    bool all = true;
    int64_t at = 0, size = t->dim[axis];
    ReadItem item[MAX_NDIM];
    for (int k = 0; k < t->ndim; k++)
        item[k] = read_all;
    for (Var i = 0; i < a.nout; i++) {
        all &= !rewriter_no_client(r, a.out + i);
        if (!dim_is_known(var_type(r->g, a.out + i)->dim[axis])) return false;
    }
    if (all || !dim_is_known(size)) return false;
    for (Var i = 0; i < a.nout; i++) {
        const Type *part = var_type(r->g, a.out + i);
        if (part->dim[axis] > size - at) return false;
        int64_t to = at + part->dim[axis];
        item[axis] = read_item_slice(r, at, to, size);
        out[i] = read_of(r, x, t->ndim, item);
        if (out[i] == VAR_NONE || !type_keeps(part, var_type(r->g, out[i])))
            return false;
        at = to;
    }
    return true;
}
