/* Builds a rule's right side, then casts and broadcasts it to the type of the variable
 * that it replaces. Nothing is replaced where the types can't prove the two equal for
 * every run: a shape error that the old graph would have reported must still be
 * reported. */
#include "op/infer.h"
#include "rewrite/rewrite_impl.h"

#include <string.h>

/* ---- types ---- */

bool type_keeps(const Type *old, const Type *new) {
    if (old == new) return true;
    if (old->kind != TYPE_TENSOR || new->kind != TYPE_TENSOR) return false;
    if (old->dtype != new->dtype || old->ndim != new->ndim) return false;
    for (int i = 0; i < old->ndim; i++)
        if (old->dim[i] != DIM_UNKNOWN && old->dim[i] != new->dim[i]) return false;
    return true;
}

bool rewrite_dims_fit(const Type *t, const Type *to) {
    if (t->kind != TYPE_TENSOR || t->ndim > to->ndim) return false;
    for (int i = 0; i < t->ndim; i++) {
        Dim d = t->dim[i], want = to->dim[i + to->ndim - t->ndim];
        if (d != 1 && (d != want || d == DIM_UNKNOWN)) return false;
    }
    return true;
}

/* A type's shape as an int64 vector; VAR_NONE when a dim is unknown. */
static Var shape_of_type(Rewriter *r, const Type *t) {
    int64_t known[MAX_NDIM];
    Var dim[MAX_NDIM];
    bool all = true;
    for (int i = 0; i < t->ndim; i++) {
        if (t->dim[i] == DIM_UNKNOWN) return VAR_NONE;
        known[i] = t->dim[i];
        all &= dim_is_known(t->dim[i]);
    }
    if (all) return const_ints(&r->b, (size_t)t->ndim, known);
    for (int i = 0; i < t->ndim; i++)
        dim[i] = dim_is_known(t->dim[i]) ? const_int(&r->b, t->dim[i])
                                         : graph_dim(r->g, dim_sym(t->dim[i]));
    return op_apply1(&r->b, op_known(r->s, OP_STACK), NULL, (size_t)t->ndim, dim);
}

Var rewriter_fit(Rewriter *r, Var x, const Type *t) {
    if (x == VAR_NONE) return VAR_NONE;
    const Type *have = var_type(r->g, x);
    if (type_keeps(t, have)) return x;
    if (have->kind != TYPE_TENSOR || t->kind != TYPE_TENSOR) return VAR_NONE;
    if (have->dtype != t->dtype) x = op_cast_to(&r->b, x, t->dtype);
    if (x == VAR_NONE || type_keeps(t, var_type(r->g, x))) return x;
    if (!rewrite_dims_fit(have, t)) return VAR_NONE;
    Var in[] = {x, shape_of_type(r, t)};
    x = op_apply1(&r->b, op_known(r->s, OP_BROADCAST_TO), NULL, 2, in);
    return x != VAR_NONE && type_keeps(t, var_type(r->g, x)) ? x : VAR_NONE;
}

/* ---- literals ---- */

static Var build_literal(Rewriter *r, const Pat *p, DType like) {
    DType d = dtype_weak(like == DT_NONE ? DT_BOOL : like, p->lit, r->b.floatX);
    Tensor t;
    bool ok;
    if (dtype_is_integer(d)) {
        ok = tensor_scalar_int(r->s, d, p->negative ? -(int64_t)p->u : (int64_t)p->u,
                               &t);
    } else {
        ok = tensor_scalar(r->s, d, p->re, p->im, &t);
    }
    if (!ok) return VAR_NONE;
    Var v = graph_const(r->g, &t, true);
    tensor_unref(&t);
    return v;
}

/* While nothing is compacted, a constant stays where it is. */
static Var known_literal(Rewriter *r, const Pat *p, DType like) {
    uint64_t key = (uint64_t)(uintptr_t)p << 8 | ((unsigned)like & 255), v;
    if (map_get(&r->literals, key, &v)) return (Var)v;
    v = build_literal(r, p, like);
    if (v != VAR_NONE) map_put(&r->literals, key, v);
    return (Var)v;
}

/* ---- Applies ---- */

static const Prop *rest_prop_value(Rewriter *r, const Match *m, const Pat *p,
                                   Sym name) {
    const Signature *sig = op_signature(r->s, m->rest_op[p->rest]);
    for (size_t i = 0; i < sig->nprop; i++)
        if (sig->prop[i].name == name) return &m->rest[p->rest]->p[i];
    return NULL;
}

static bool signature_has_prop(const Signature *sig, Sym name) {
    for (size_t i = 0; i < sig->nprop; i++)
        if (sig->prop[i].name == name) return true;
    return false;
}

/* Props of **p that the op lacks must have their defaults, or their meaning would be
 * lost. */
static bool rest_props_fit(Rewriter *r, const Match *m, const Pat *p) {
    if (p->rest < 0 || !m->rest_op[p->rest]) return true;
    const Signature *from = op_signature(r->s, m->rest_op[p->rest]);
    const Signature *to = op_signature(r->s, p->op);
    for (size_t i = 0; i < from->nprop; i++) {
        if (signature_has_prop(to, from->prop[i].name)) continue;
        const Prop *pair[] = {&m->rest[p->rest]->p[i], &from->prop[i].value};
        if (props_intern(r->s, 1, pair[0]) != props_intern(r->s, 1, pair[1]))
            return false;
    }
    return true;
}

/* A list of one axis, for an op that takes a single axis; otherwise P_NONE with *ok
 * false. */
static Prop prop_as_param(const PropDef *def, Prop v, bool *ok) {
    bool list = def->type == T_AXES || def->type == T_INTS || def->type == T_SIDES;
    if (v.kind == P_INT && list) *ok = false;
    if (v.kind != P_INTS || list) return v;
    if (v.ints.n == 1) return PROP_INT(v.ints.p[0]);
    *ok = false;
    return v;
}

static const Props *build_props(Rewriter *r, const Pat *p, const Match *m) {
    if (p->defaults) return p->defaults;
    if (!rest_props_fit(r, m, p)) return NULL;
    const Signature *sig = op_signature(r->s, p->op);
    bool ok = true;
    Prop *v = mem_zalloc(r->s, sig->nprop + 1, sizeof *v);
    for (size_t i = 0; i < sig->nprop; i++) {
        v[i] = sig->prop[i].value;
        const Prop *rest = p->rest >= 0 && m->rest_op[p->rest]
                               ? rest_prop_value(r, m, p, sig->prop[i].name)
                               : NULL;
        if (rest) v[i] = *rest;
    }
    for (size_t k = 0; k < p->nprop; k++) {
        const PatProp *x = &p->prop[k];
        if (!x->is_hole)
            v[x->index] = x->value;
        else if (m->bound[x->hole])
            v[x->index] = m->prop[x->hole];
    }
    for (size_t i = 0; i < sig->nprop; i++)
        v[i] = prop_as_param(&sig->prop[i], v[i], &ok);
    const Props *props = ok ? props_intern(r->s, sig->nprop, v) : NULL;
    mem_free(v);
    return props;
}

/* The dtype for a literal among the inputs: that of the last input that isn't a
 * literal. */
static DType sibling_dtype(Rewriter *r, const Pat *p, const Var *in, DType like) {
    size_t first = p->op->promote == PROMOTE_TAIL ? 1 : 0;
    for (size_t i = p->nin; i-- > first;)
        if (p->in[i]->kind != PAT_LITERAL && in[i] != VAR_NONE &&
            var_type(r->g, in[i])->kind == TYPE_TENSOR)
            return var_type(r->g, in[i])->dtype;
    return like;
}

/* The dtype for a literal that is input i: indices, sizes and truth values have their
 * own. */
static DType literal_dtype(Rewriter *r, const Pat *p, size_t i, DType sibling) {
    const Signature *sig = op_signature(r->s, p->op);
    ParamKind kind = sig->in[i < sig->nin ? i : sig->nin - 1].kind;
    if (p->in[i]->kind != PAT_LITERAL) return sibling;
    bool whole =
        kind == IN_INT || kind == IN_INTS ||
        (i > 0 && (op_is(r->s, p->op, OP_SPLIT) || op_is(r->s, p->op, OP_LIST_GET)));
    return whole ? DT_INT64 : kind == IN_BOOL ? DT_BOOL : sibling;
}

/* A literal, or an elementwise expression of literals only. */
static bool is_weak_pattern(const Pat *p) {
    if (p->kind != PAT_APPLY) return p->kind == PAT_LITERAL;
    if (!p->op->elemwise || p->op->out_dtype == OUT_PROP) return false;
    for (size_t i = 0; i < p->nin; i++)
        if (!is_weak_pattern(p->in[i])) return false;
    return true;
}

static Var build_apply(Rewriter *r, const Rule *rule, const Pat *p, const Match *m,
                       DType like) {
    Var in[BUILT_MAX], out[OUT_MAX];
    if (p->nin > BUILT_MAX) return VAR_NONE;
    for (size_t i = 0; i < p->nin; i++) {
        in[i] = VAR_NONE;
        if (is_weak_pattern(p->in[i])) continue;
        in[i] = rule_build(r, rule, p->in[i], m, like);
        if (in[i] == VAR_NONE) return VAR_NONE;
    }
    DType d = sibling_dtype(r, p, in, like);
    for (size_t i = 0; i < p->nin; i++)
        if (in[i] == VAR_NONE &&
            (in[i] = rule_build(r, rule, p->in[i], m, literal_dtype(r, p, i, d))) ==
                VAR_NONE)
            return VAR_NONE;
    const Props *props = build_props(r, p, m);
    if (!props) return VAR_NONE;
    VarList ins = {p->nin, in};
    bool ok = r->apply ? r->apply(r->apply_ctx, p->op, props, ins, out)
                       : op_apply(&r->b, p->op, props, p->nin, in, out);
    rewriter_grow(r);
    if (!ok || !p->picks) return ok ? out[0] : VAR_NONE;
    ApplyId made = var_owner(r->g, out[0]);
    return made != APPLY_NONE && p->out < r->g->apply[made].nout ? out[p->out]
                                                                 : VAR_NONE;
}

Var rule_build(Rewriter *r, const Rule *rule, const Pat *p, const Match *m,
               DType like) {
    Var v = VAR_NONE;
    switch (p->kind) {
    case PAT_HOLE:
        return m->var[p->hole];
    case PAT_LITERAL:
        v = known_literal(r, p, like);
        break;
    case PAT_APPLY:
        v = build_apply(r, rule, p, m, like);
        break;
    }
    rewriter_grow(r);
    return v;
}

/* ---- firing ---- */

/* Names that the right side drops took part in the old value's shape: the types must
 * prove that they could not have raised an error. */
static bool drops_safely(Rewriter *r, const Rule *rule, const Match *m,
                         const Type *to) {
    if (rule->shape_unsafe) return true;
    for (size_t i = 0; i < rule->nhole; i++) {
        if (rule->in_rhs[i] || rule->prop_hole[i] || rule->rest_hole[i]) continue;
        if (rule->ints_hole[i]) {
            for (int k = 0; k < to->ndim; k++)
                if (to->dim[k] == DIM_UNKNOWN) return false;
        } else if (var_type(r->g, m->var[i])->kind != TYPE_PLUGIN &&
                   !rewrite_dims_fit(var_type(r->g, m->var[i]), to)) {
            return false;
        }
    }
    return true;
}

Var rule_replace(Rewriter *r, const Rule *rule, const Match *m, Var v) {
    const Type *t = var_type(r->g, v);
    if (t->kind != TYPE_TENSOR && t->kind != TYPE_PLUGIN) return VAR_NONE;
    if (!drops_safely(r, rule, m, t)) {
        if (r->why)
            why_types_failed(r, rule,
                             "what its right side drops may have decided the shape");
        return VAR_NONE;
    }
    size_t mark = diag_count(r->s);
    Var x = rule_build(r, rule, rule->rhs, m, t->dtype);
    x = rewriter_fit(r, x, t);
    rewriter_grow(r);
    if (x == VAR_NONE) {
        rewriter_forget(r, mark);
        if (r->why)
            why_types_failed(r, rule, "its right side does not have the type here");
    }
    return x == v ? VAR_NONE : x;
}

Var rule_fire(Rewriter *r, const Rule *rule, Var v) {
    Match m;
    return rule_match(r, rule, v, &m) ? rule_replace(r, rule, &m, v) : VAR_NONE;
}
