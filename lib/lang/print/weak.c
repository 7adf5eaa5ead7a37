/* Decides which constants of an Apply can be bare literals, so that reading them back
 * gives their dtype: the inverse of the compiler's rules for weak literals. */
#include "lang/print/print_impl.h"

#include <string.h>

typedef struct WeakGroup {
    Printer *p;
    const Apply *ap;
    const Signature *sig;
    const Var *in;
    DType strong;  /* dtype that the group's literals meet; DT_NONE: none */
    bool dim;      /* the group has a dim's leaf: weak, but not a literal */
    DType creates; /* dtype= of an op that creates values */
} WeakGroup;

static bool prints_as_literal(const WeakGroup *g, size_t i) {
    Var v = g->in[i];
    return var_is_const(g->p->g, v) && print_is_inline(g->p, v) &&
           const_is_scalar(g->p->g, v) && const_stands_inline(g->p, v);
}

static bool is_in_group(const WeakGroup *g, size_t i) {
    if (!param_has_dtype(signature_param(g->sig, i)->kind)) return false;
    Promote how = g->ap->op->promote;
    return how != PROMOTE_NONE && !(how == PROMOTE_TAIL && i == 0);
}

static void find_group_dtype(WeakGroup *g) {
    g->strong = DT_NONE;
    for (size_t i = 0; i < g->ap->nin; i++) {
        const Type *t = var_type(g->p->g, g->in[i]);
        if (!is_in_group(g, i) || prints_as_literal(g, i)) continue;
        if (var_leaf(g->p->g, g->in[i]) == LEAF_DIM)
            g->dim = true;
        else if (t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE)
            g->strong = t->dtype;
    }
}

/* A literal that meets no tensor: int64 and bool literals read back as such; floatX may
 * change. */
static bool is_lone_dtype(const WeakGroup *g, DType d) {
    if (g->creates != DT_NONE && !g->dim &&
        dkind_weak(dtype_kind(d)) == dtype_kind(g->creates))
        return d == g->creates;
    return d == DT_INT64 || d == DT_BOOL;
}

static bool is_group_dtype(const WeakGroup *g, DType d) {
    if (g->strong == DT_NONE) return is_lone_dtype(g, d);
    return d == g->strong && dtype_weak(d, dtype_kind(d), g->p->floatX) == d;
}

static bool is_bare_tensor(const WeakGroup *g, size_t i) {
    DType d = var_type(g->p->g, g->in[i])->dtype;
    return prints_as_literal(g, i) &&
           (is_in_group(g, i) ? is_group_dtype(g, d) : is_lone_dtype(g, d));
}

/* With several lists, a literal takes the dtype of a tensor at the same position in
 * another list. */
static bool is_bare_across(const WeakGroup *g, size_t i) {
    size_t fixed = signature_fixed(g->sig), each = (g->ap->nin - fixed) / g->sig->nrest;
    DType d = var_type(g->p->g, g->in[i])->dtype, strong = DT_NONE;
    for (size_t k = fixed + (i - fixed) % each; k < g->ap->nin; k += each) {
        const Type *t = var_type(g->p->g, g->in[k]);
        if (t->kind != TYPE_TENSOR || var_leaf(g->p->g, g->in[k]) == LEAF_DIM)
            return false;
        if (!prints_as_literal(g, k)) strong = t->dtype;
    }
    return d == strong && const_is_scalar(g->p->g, g->in[i]) &&
           dtype_weak(d, dtype_kind(d), g->p->floatX) == d;
}

static bool is_bare_input(const WeakGroup *g, size_t i) {
    const Tensor *t = var_const(g->p->g, g->in[i]);
    if (!t || !print_is_inline(g->p, g->in[i]) || !const_stands_inline(g->p, g->in[i]))
        return false;
    switch (signature_param(g->sig, i)->kind) {
    case IN_TENSOR:
    case IN_SPARSE:
    case IN_ARRAY:
        return is_bare_tensor(g, i);
    case IN_INTS:
        return t->ndim == 1 && t->dtype == DT_INT64;
    case IN_INT:
        return t->ndim == 0 && t->dtype == DT_INT64;
    case IN_BOOL:
        return t->ndim == 0 && t->dtype == DT_BOOL;
    case IN_ANY:
        if (g->sig->nrest > 1 && i >= signature_fixed(g->sig) && is_bare_across(g, i))
            return true;
        break;
    case IN_LIST:
    case IN_ITEM:
        break;
    }
    return t->ndim == 0 && (t->dtype == DT_INT64 || t->dtype == DT_BOOL);
}

static DType created_dtype(const WeakGroup *g) {
    if (!g->ap->op->creates) return DT_NONE;
    for (size_t i = 0; i < g->sig->nprop && i < g->ap->props->n; i++)
        if (g->sig->prop[i].type == T_DTYPE && g->ap->props->p[i].kind == P_DTYPE)
            return (DType)g->ap->props->p[i].i;
    return DT_NONE;
}

void print_find_bare(Printer *p, ApplyId a, bool infix, bool *bare) {
    const Apply *ap = &p->g->apply[a];
    WeakGroup g = {
        .p = p, .ap = ap, .sig = op_signature(p->s, ap->op), .in = apply_in(p->g, a)};
    g.creates = created_dtype(&g);
    find_group_dtype(&g);
    bool all = ap->nin > 0;
    for (size_t i = 0; i < ap->nin; i++) {
        bare[i] = p->style == PRINT_MATH
                      ? prints_as_literal(&g, i) || is_bare_input(&g, i)
                      : is_bare_input(&g, i);
        all = all && bare[i];
    }
    if (infix && all)
        bare[0] = false; /* reading would evaluate an operator on literals */
    if (g.strong != DT_NONE || p->style == PRINT_MATH) return;
    /* only scalars, whose dtype is not a default: the first one states it, the others
     * take it from there */
    size_t first = ap->nin;
    for (size_t i = 0; i < ap->nin && first == ap->nin; i++)
        if (prints_as_literal(&g, i) && is_in_group(&g, i) && !bare[i]) first = i;
    if (first == ap->nin) return;
    g.strong = var_type(p->g, g.in[first])->dtype;
    for (size_t i = 0; i < ap->nin; i++)
        if (i != first && prints_as_literal(&g, i) && is_in_group(&g, i))
            bare[i] = is_bare_input(&g, i);
}
