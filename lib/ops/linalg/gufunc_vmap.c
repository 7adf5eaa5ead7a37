/* vmap of ops on matrices: rows are one more of the leading dims, which broadcast. */
#include "ops/linalg/gufunc.h"

static bool apply_to_rows(Vmap *q, const int *core, const Var *given) {
    Var in[CORE_ARGS];
    int batch = 0;
    for (size_t i = 0; i < q->nin; i++)
        if (vmap_ndim(q, i) - core[i] > batch) batch = vmap_ndim(q, i) - core[i];
    for (size_t i = 0; i < q->nin; i++) {
        Vmap one = *q;
        one.in = given;
        in[i] = vmap_pad_rank(&one, i, batch + core[i]);
    }
    return vmap_apply(q, q->props, in);
}

bool core_vmap(Vmap *q) {
    int core[CORE_ARGS];
    for (size_t i = 0; i < q->nin; i++)
        core[i] = 2;
    return apply_to_rows(q, core, q->in);
}

/* What output k of a matrix of right-hand sides has besides that of one: a last dim for
 * the columns. */
static bool has_columns(const Vmap *q, size_t k, int more) {
    int one = var_type(q->g, q->g->apply[q->id].out + (Var)k)->ndim;
    return var_type(q->b->g, q->out[k])->ndim == one + more + 1;
}

/* Rows of vectors for one system: they are the columns of a matrix, and the last dim of
 * the results. */
static bool solve_for_columns(Vmap *q) {
    Var in[CORE_ARGS];
    for (size_t i = 0; i < q->nin; i++)
        in[i] = i + 1 < q->nin ? q->in[i]
                               : apply_named(q->b, "transpose", 1, &q->in[i], 0, NULL);
    if (!vmap_apply(q, q->props, in)) return false;
    for (size_t k = 0; k < q->nout; k++) {
        int ndim = var_type(q->b->g, q->out[k])->ndim;
        int64_t axes[MAX_NDIM] = {ndim - 1};
        q->out_rows[k] = has_columns(q, k, 0);
        for (int d = 1; d < ndim; d++)
            axes[d] = d - 1;
        PropArg arg = {"axes", PROP_INTS(axes, (size_t)ndim)};
        if (q->out_rows[k] && ndim > 1)
            q->out[k] = apply_named(q->b, "transpose", 1, &q->out[k], 1, &arg);
        if (q->out[k] == VAR_NONE) return false;
    }
    return true;
}

/* Vectors as matrices of one column, of which the results' last dim is dropped. */
static bool solve_for_one_column(Vmap *q, const int *core) {
    Var in[CORE_ARGS];
    size_t last = q->nin - 1;
    int cores[CORE_ARGS];
    for (size_t i = 0; i < last; i++)
        in[i] = q->in[i], cores[i] = core[i];
    in[last] = op_insert_axes(q->b, q->in[last], 2, 1);
    cores[last] = 1; /* of what is padded: the column's dim comes after it */
    if (in[last] == VAR_NONE || !apply_to_rows(q, cores, in)) return false;
    for (size_t k = 0; k < q->nout; k++) {
        int64_t axis = -1;
        PropArg arg = {"axis", PROP_INTS(&axis, 1)};
        if (has_columns(q, k, 1))
            q->out[k] = apply_named(q->b, "squeeze", 1, &q->out[k], 1, &arg);
        if (q->out[k] == VAR_NONE) return false;
    }
    return true;
}

bool core_vmap_system(Vmap *q, const int *core) {
    size_t last = q->nin - 1;
    bool vector = vmap_ndim(q, last) == 1, plain = true;
    int cores[CORE_ARGS];
    for (size_t i = 0; i < last; i++) {
        plain &= !q->rows[i] && vmap_ndim(q, i) == core[i];
        cores[i] = core[i];
    }
    cores[last] = vector ? 1 : 2;
    if (vector && q->rows[last])
        return plain ? solve_for_columns(q) : solve_for_one_column(q, core);
    return apply_to_rows(q, cores, q->in);
}

bool core_vmap_solve(Vmap *q) {
    return core_vmap_system(q, (const int[]){2});
}
