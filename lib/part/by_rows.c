/* Functions that may be computed for some rows after the others. */
#include "part/part_impl.h"

Sym part_rows_dim(const Graph *fn, const int64_t *axis) {
    Sym rows = 0;
    for (size_t i = 0; i < fn->inputs.n; i++) {
        const Type *t = var_type(fn, fn->inputs.p[i]);
        if (axis[i] < 0) continue;
        if (t->kind != TYPE_TENSOR || axis[i] >= t->ndim ||
            !dim_is_named(t->dim[axis[i]]))
            return 0;
        Sym dim = dim_sym(t->dim[axis[i]]);
        if (rows && rows != dim) return 0;
        rows = dim;
    }
    return rows;
}

bool part_may_add_up(const Type *t) {
    return t->dtype != DT_BOOL &&
           !(dtype_is_float(t->dtype) && dtype_size(t->dtype) < 4);
}

static bool place_output(const Type *t, const Part *p, int *axis) {
    if (p->power || t->kind != TYPE_TENSOR) return false;
    bool rows = p->kind == PART_ROWS && p->each == 1;
    *axis = rows ? p->axis : -1;
    return rows || (p->kind == PART_TERM && p->term == TERM_SUM && part_may_add_up(t));
}

static const char *refusal(const Graph *fn, Arena *a, size_t k, const Part *p) {
    Var v = fn->outputs.p[k].var;
    const char *name = sym_text(fn->s, fn->outputs.p[k].label);
    if (p->kind == PART_NONE)
        return arena_printf(a, "what makes its output %s %s", name,
                            p->why.said ? p->why.said : "needs all rows at once");
    if (p->kind == PART_TERM && p->term == TERM_SUM && !p->power)
        return arena_printf(a,
                            "its output %s is a sum over the rows in %s, of which "
                            "parts can't be added up",
                            name, dtype_name(var_type(fn, v)->dtype));
    return arena_printf(a, "its output %s is %s, neither rows nor a sum over them",
                        name, part_text(a, p));
}

bool part_by_rows(const Graph *fn, Arena *a, const int64_t *axis, int *out_axis,
                  const char **why) {
    *why = "the inputs that are cut have no named dim in common";
    if (!part_rows_dim(fn, axis)) return false;
    PartWalk w = {.s = fn->s, .a = a};
    Part *in = NEW_N(a, fn->inputs.n + 1, Part);
    for (size_t i = 0; i < fn->inputs.n; i++)
        if (axis[i] >= 0)
            in[i] = (Part){.kind = PART_ROWS, .axis = (int)axis[i], .each = 1};
    const Part *out = part_function(&w, fn, in);
    vec_free(&w.memo);
    *why = "the dim of the rows is also that of an axis that isn't cut";
    if (!out || w.failed) return false;
    for (size_t k = 0; k < fn->outputs.n; k++) {
        if (place_output(var_type(fn, fn->outputs.p[k].var), &out[k], &out_axis[k]))
            continue;
        *why = refusal(fn, a, k, &out[k]);
        return false;
    }
    return true;
}
