/* Dims become numbers: leaves get their narrower types, a dim's leaf becomes a
 * constant, and one pass in topological order infers all other types again. */
#include "op/bind_input.h"

/* Replaces dim `name` by n in a type. */
static const Type *bind_type(Session *s, const Type *t, Sym name, int64_t n) {
    Dim dim[MAX_NDIM];
    bool any = false;
    if (t->kind == TYPE_LIST) {
        const Type *elem = bind_type(s, t->elem, name, n);
        return elem == t->elem ? t : type_list(s, elem);
    }
    for (int i = 0; i < t->ndim; i++) {
        dim[i] = t->dim[i] == DIM_NAMED(name) ? n : t->dim[i];
        any |= dim[i] != t->dim[i];
    }
    return any ? type_clone(s, t, DT_NONE, t->ndim, dim) : t;
}

bool graph_bind_dim(Graph *g, Sym name, int64_t n) {
    for (uint32_t i = 0; i < g->nleaf; i++) {
        Leaf *leaf = &g->leaf[i];
        VarRec *rec = &g->var[leaf->var];
        if (rec->leaf == LEAF_DIM && leaf->name == name) {
            Value *value = leaf_value_new(g, leaf);
            if (!tensor_scalar_int(g->s, DT_INT64, n, &value->t)) return false;
            value->kind = TYPE_TENSOR;
            rec->leaf = LEAF_CONST;
        } else if (rec->leaf == LEAF_INPUT || rec->leaf == LEAF_SHARED) {
            graph_retype_leaf(g, leaf->var, bind_type(g->s, rec->type, name, n));
        }
    }
    return true;
}

bool graph_bind_input(Graph *g, Var input, int64_t n) {
    VarRec *rec = &g->var[input];
    Value *value = leaf_value_new(g, var_leafrec(g, input));
    size_t kept = 0;
    if (!tensor_scalar_int(g->s, rec->type->dtype, n, &value->t)) return false;
    value->kind = TYPE_TENSOR;
    rec->leaf = LEAF_CONST;
    for (size_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.p[i] != input) g->inputs.p[kept++] = g->inputs.p[i];
    g->inputs.n = kept;
    return true;
}

bool graph_reinfer(Graph *g) {
    const Type **out = mem_zalloc(g->s, OUT_MAX, sizeof *out);
    bool ok = true;
    for (ApplyId a = 0; ok && a < g->napply; a++) {
        const Apply *ap = &g->apply[a];
        size_t n =
            op_infer(g, ap->op, ap->props, apply_ins(g, a), g->origin[a].at, out);
        ok = n == ap->nout;
        for (size_t k = 0; ok && k < n; k++) {
            VarRec *rec = &g->var[ap->out + k];
            const Type *met = type_meet(g->s, rec->type, out[k]);
            rec->type = met ? met : out[k];
        }
    }
    mem_free(out);
    return ok;
}
