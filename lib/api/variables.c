/* What a graph has: inputs, shared variables, outputs and dims, one by one. */
#include "api/api_impl.h"

static const char *dtype_of(const Type *t) {
    return t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE ? dtype_name(t->dtype)
                                                            : NULL;
}

static void describe_type(Session *s, const Type *t, TlVariable *v) {
    v->type = type_str(s, t);
    v->dtype = dtype_of(t);
    v->ndim = v->dtype ? t->ndim : 0;
    for (int k = 0; k < v->ndim; k++) {
        v->dim[k] = dim_is_known(t->dim[k]) ? t->dim[k] : -1;
        if (dim_is_named(t->dim[k])) v->dim_name[k] = sym_text(s, dim_sym(t->dim[k]));
    }
}

typedef Vec(Sym) Names;

static void add_name_once(const Graph *g, Names *names, Sym name) {
    for (size_t i = 0; i < names->n; i++)
        if (names->p[i] == name) return;
    vec_push(g->s, names, name);
}

static void find_dims(const Graph *g, Names *dims) {
    for (uint32_t i = 0; i < g->nleaf; i++) {
        const Leaf *leaf = &g->leaf[i];
        const Type *t = var_type(g, leaf->var);
        if (var_leaf(g, leaf->var) == LEAF_DIM) add_name_once(g, dims, leaf->name);
        while (t->kind == TYPE_LIST)
            t = t->elem;
        for (int k = 0; k < t->ndim; k++)
            if (dim_is_named(t->dim[k])) add_name_once(g, dims, dim_sym(t->dim[k]));
    }
}

static bool describe_dim(const Graph *g, size_t i, TlVariable *v) {
    Names dims = {0};
    find_dims(g, &dims);
    bool found = i < dims.n;
    if (found) {
        v->name = sym_text(g->s, dims.p[i]);
        describe_type(g->s, type_scalar(g->s, DT_INT64), v);
    }
    vec_free(&dims);
    return found;
}

static bool describe_leaf(const Graph *g, size_t n, const Var *leaf, size_t i,
                          TlVariable *v) {
    if (i >= n) return false;
    v->name = sym_text(g->s, var_leafrec(g, leaf[i])->name);
    v->updated = graph_update(g, leaf[i]) != VAR_NONE;
    describe_type(g->s, var_type(g, leaf[i]), v);
    return true;
}

static bool describe_output(const Graph *g, size_t i, TlVariable *v) {
    if (i >= g->outputs.n) return false;
    v->name = sym_text(g->s, g->outputs.p[i].label);
    describe_type(g->s, var_type(g, g->outputs.p[i].var), v);
    return true;
}

bool tl_graph_variable(const TlGraph *g, TlRole role, size_t i, TlVariable *out) {
    TlVariable v = {.size = sizeof v};
    bool found = false;
    switch (role) {
    case TL_INPUT:
        found = describe_leaf(g, g->inputs.n, g->inputs.p, i, &v);
        break;
    case TL_SHARED:
        found = describe_leaf(g, g->shared.n, g->shared.p, i, &v);
        break;
    case TL_OUTPUT:
        found = describe_output(g, i, &v);
        break;
    case TL_DIM:
        found = describe_dim(g, i, &v);
        break;
    default:
        return fail(g->s, NOWHERE, E_USAGE, "there is no role %d", (int)role);
    }
    return found && api_give(g->s, "TlVariable", &v, sizeof v, out);
}
