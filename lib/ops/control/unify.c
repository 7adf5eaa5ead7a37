/* Binding a function's dim names to its caller's dims. */
#include "ops/control/unify.h"

void unify_open(Unify *u, Session *s) {
    *u = (Unify){s, MAP(s), MAP(s)};
}

void unify_close(Unify *u) {
    map_free(&u->dim);
    map_free(&u->arg);
}

static bool unify_dim_name(Unify *u, Sym name, Dim actual, size_t who, Misfit *why) {
    uint64_t have, by;
    if (!map_get(&u->dim, name, &have)) {
        map_put(&u->dim, name, (uint64_t)actual);
        map_put(&u->arg, name, who);
        return true;
    }
    if (!dim_may_equal((Dim)have, actual)) {
        map_get(&u->arg, name, &by);
        *why = (Misfit){E_SHAPE, name, by, (Dim)have, actual};
        return false;
    }
    map_put(&u->dim, name, (uint64_t)dim_meet((Dim)have, actual));
    return true;
}

static bool unify_dims(Unify *u, const Type *want, const Type *have, size_t who,
                       Misfit *why) {
    *why = (Misfit){.code = E_SHAPE};
    if (want->ndim != have->ndim) return false;
    for (int i = 0; i < want->ndim; i++) {
        Dim d = want->dim[i];
        if (dim_is_known(d) && d != have->dim[i]) return false;
        if (dim_is_named(d) && !unify_dim_name(u, dim_sym(d), have->dim[i], who, why))
            return false;
    }
    return true;
}

bool unify_type(Unify *u, const Type *want, const Type *have, size_t who, Misfit *why) {
    *why = (Misfit){.code = E_TYPE};
    if (want->kind != have->kind) return false;
    if (want->kind != TYPE_TENSOR && want->kind != TYPE_SPARSE)
        return type_is_super(want, have);
    why->code = E_DTYPE;
    if (want->dtype != have->dtype || want->why != have->why) return false;
    return unify_dims(u, want, have, who, why);
}

const Type *type_unnamed(Session *s, const Type *t) {
    Unify none;
    unify_open(&none, s);
    const Type *r = unify_result(&none, t);
    unify_close(&none);
    return r;
}

static bool names_dims(const Type *t) {
    while (t->kind == TYPE_LIST)
        t = t->elem;
    bool tensor = t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE;
    for (int i = 0; tensor && i < t->ndim; i++)
        if (dim_is_named(t->dim[i])) return true;
    return false;
}

const Type *unify_result(const Unify *u, const Type *t) {
    Dim dim[MAX_NDIM];
    int lists = 0;
    if (!names_dims(t)) return t;
    for (; t->kind == TYPE_LIST; t = t->elem)
        lists++;
    if (t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE) {
        for (int i = 0; i < t->ndim; i++) {
            uint64_t d;
            dim[i] = t->dim[i];
            if (!dim_is_named(dim[i])) continue;
            dim[i] = map_get(&u->dim, dim_sym(dim[i]), &d) ? (Dim)d : DIM_UNKNOWN;
        }
        t = t->kind == TYPE_TENSOR ? type_tensor(u->s, t->dtype, t->ndim, dim)
                                   : type_sparse(u->s, t->why, t->dtype, dim);
    }
    while (lists-- > 0)
        t = type_list(u->s, t);
    return t;
}
