/* vmap with several leading dims: they are flattened to one dim of rows and restored in
 * the results. */
#include "vmap/vmap.h"

typedef struct Vectorize {
    Builder *b;
    Arena *tmp;
    VarList var;
    const Var *with;
    Var *flat; /* with[], its leading dims flattened to one */
    bool *has;
    int extra; /* number of leading dims */
    Var lead;  /* the first of with[] that has leading dims */
} Vectorize;

static bool fail_vectorize(Vectorize *v, size_t i, const char *why) {
    Builder *b = v->b;
    fail(b->s, b->from.at, E_SHAPE, "%s can't replace %s: %s",
         type_str(b->s, var_type(b->g, v->with[i])),
         type_str(b->s, var_type(b->g, v->var.p[i])), why);
    return note(b->s, NOWHERE,
                "it must have the same dtype, with the dims for the rows in front");
}

static bool check_row_value(Vectorize *v, size_t i) {
    const Type *row = var_type(v->b->g, v->var.p[i]),
               *all = var_type(v->b->g, v->with[i]);
    if (row->kind != TYPE_TENSOR || all->kind != TYPE_TENSOR)
        return fail_vectorize(v, i, "only tensors have rows");
    if (row->dtype != all->dtype) return fail_vectorize(v, i, "the dtypes differ");
    int extra = all->ndim - row->ndim;
    if (extra < 0) return fail_vectorize(v, i, "it has fewer dims");
    for (int k = 0; k < row->ndim; k++)
        if (!dim_may_equal(row->dim[k], all->dim[extra + k]) ||
            (row->dim[k] == 1) != (all->dim[extra + k] == 1))
            return fail_vectorize(v, i, "the shapes of a row differ");
    v->has[i] = extra > 0;
    if (extra == 0) return true;
    if (v->extra && v->extra != extra)
        return fail_vectorize(v, i,
                              "another one has a different number of dims in front");
    if (!v->extra) v->lead = v->with[i];
    v->extra = extra;
    return true;
}

static bool flatten_rows(Vectorize *v, Var size) {
    Builder *b = v->b;
    for (size_t i = 0; i < v->var.n; i++) {
        Var item[MAX_NDIM] = {size};
        v->flat[i] = v->with[i];
        if (!v->has[i] || v->extra == 1) continue;
        Var in[2] = {
            v->with[i],
            ints_stack(b, shape_items(b, v->with[i], v->extra, 1, item), item)};
        if ((v->flat[i] = apply_named(b, "reshape", 2, in, 0, NULL)) == VAR_NONE)
            return false;
    }
    return true;
}

/* Restores the original leading dims of x, which has one dim of rows or none. */
static Var unflatten_rows(Vectorize *v, Var x, bool rows) {
    Builder *b = v->b;
    Var item[2 * MAX_NDIM];
    if (v->extra == 0 || (rows && v->extra == 1)) return x;
    size_t n = 0;
    for (int k = 0; k < v->extra; k++)
        item[n++] = shape_of(b, v->lead, k);
    n = shape_items(b, x, rows, n, item);
    if (!type_ndim_fits(b->s, b->from.at, "vectorize", (int64_t)n)) return VAR_NONE;
    Var in[2] = {x, ints_stack(b, n, item)};
    return apply_named(b, rows ? "reshape" : "broadcast_to", 2, in, 0, NULL);
}

static bool check_is_tensor(Builder *b, Var want) {
    const Type *t = var_type(b->g, want);
    return t->kind == TYPE_TENSOR ||
           fail(b->s, b->from.at, E_TYPE, "only tensors have rows, not %s%s",
                type_str(b->s, t),
                t->kind == TYPE_SPARSE ? ": use dense_from_sparse"
                : t->kind == TYPE_LIST ? ": use its items"
                                       : "");
}

static bool vmap_flattened(Vectorize *v, const VmapWant *want, Var *result) {
    Builder *b = v->b;
    bool *rows = NEW_N(v->tmp, want->var.n, bool);
    for (size_t i = 0; i < v->var.n; i++)
        if (!check_row_value(v, i)) return false;
    Var size = v->extra ? shape_leading_size(b, v->extra, v->lead) : const_int(b, 1);
    if (size == VAR_NONE || !flatten_rows(v, size) ||
        !vmap_graph(b, &(VmapRows){v->var, v->flat, v->has, size, false}, want, result,
                    rows))
        return false;
    for (size_t k = 0; k < want->nout; k++)
        if (v->extra && !check_is_tensor(b, want->var.p[k])) return false;
    for (size_t k = 0; k < want->nout; k++)
        if ((result[k] = unflatten_rows(v, result[k], rows[k])) == VAR_NONE)
            return false;
    return true;
}

bool vmap_nested(Builder *b, VarList var, const Var *with, const VmapWant *want,
                 Var *result) {
    Vectorize v = {.b = b, .tmp = arena_new(b->s), .var = var, .with = with};
    v.flat = NEW_N(v.tmp, var.n, Var);
    v.has = NEW_N(v.tmp, var.n, bool);
    bool ok = vmap_flattened(&v, want, result);
    arena_free(v.tmp);
    return ok;
}
