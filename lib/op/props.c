/* An Apply's props against the op's signature. */
#include "op/infer.h"
#include "op/op_impl.h"

static const char *const wanted[] = {
    [T_BOOL] = "True or False",
    [T_INT] = "an integer",
    [T_FLOAT] = "a number",
    [T_STR] = "a string",
    [T_DTYPE] = "a dtype",
    [T_INTS] = "a list of integers",
    [T_AXES] = "None, an integer or a list of integers",
    [T_AXIS] = "an integer",
    [T_GRAPH] = "a function",
    [T_KEY] = "a number or a string",
    [T_SIDES] = "a list of integers or a string",
};

static PropKind prop_kind_of_type(PropType t) {
    static const PropKind kind[] = {
        [T_BOOL] = P_BOOL,   [T_INT] = P_INT,   [T_FLOAT] = P_FLOAT, [T_STR] = P_STR,
        [T_DTYPE] = P_DTYPE, [T_INTS] = P_INTS, [T_AXES] = P_INTS,   [T_AXIS] = P_INT,
        [T_GRAPH] = P_GRAPH, [T_KEY] = P_FLOAT, [T_SIDES] = P_INTS,
    };
    return kind[t];
}

bool prop_is_of(const PropDef *d, PropKind kind) {
    if (kind == P_NONE) return d->none;
    return kind == prop_kind_of_type(d->type) ||
           (kind == P_STR && (d->type == T_KEY || d->type == T_SIDES));
}

const char *prop_wanted(const PropDef *d) {
    return wanted[d->type];
}

const char *prop_or_none(const PropDef *d) {
    return d->none && d->type != T_AXES ? " or None" : "";
}

static bool fail_prop(Infer *in, const PropDef *d) {
    return infer_fail(in, E_ARG, in->nin, "%s must be %s%s", sym_text(in->s, d->name),
                      prop_wanted(d), prop_or_none(d));
}

static bool check_prop(Infer *in, const PropDef *d, const Prop *p) {
    const char *name = sym_text(in->s, d->name);
    if (p->kind == P_NONE && d->required && !d->none)
        return infer_fail(in, E_ARG, in->nin, "%s needs %s=, which must be %s",
                          in->op->name, name, prop_wanted(d));
    if (!prop_is_of(d, p->kind)) return fail_prop(in, d);
    if (p->kind == P_NONE) return true;
    if (p->kind == P_DTYPE && (p->i < 0 || p->i >= DT_N)) return fail_prop(in, d);
    if (p->kind == P_GRAPH && in->graph && !graph_function(infer_graph(in), p->sym))
        return infer_fail(in, E_NAME, in->nin, "there is no function %s",
                          sym_text(in->s, p->sym));
    return true;
}

bool props_check(Infer *in) {
    const Signature *sig = in->sig;
    if (in->props->n != sig->nprop)
        return infer_fail(in, E_ARG, in->nin, "%s has %zu props, not %u", in->op->name,
                          sig->nprop, (unsigned)in->props->n);
    for (size_t i = 0; i < sig->nprop; i++)
        if (!check_prop(in, &sig->prop[i], &in->props->p[i])) return false;
    return true;
}

/* Expands the short form of a prop. */
static Prop expand_prop(const PropDef *d, Prop p, const int64_t *one) {
    bool list = d->type == T_INTS || d->type == T_AXES || d->type == T_SIDES;
    if (list && p.kind == P_INT) return PROP_INTS(one, 1);
    if ((d->type == T_FLOAT || d->type == T_KEY) && p.kind == P_INT)
        return (Prop){.kind = P_FLOAT, .f = (double)p.i};
    return p;
}

bool props_complete(Infer *in, const Props *p) {
    const Signature *sig = in->sig;
    in->props = p ? p : sig->defaults;
    if (in->props->n != sig->nprop || sig->nprop == 0) return props_check(in);
    Prop *full = mem_zalloc(in->s, sig->nprop, sizeof *full);
    for (size_t i = 0; i < sig->nprop; i++)
        full[i] = expand_prop(&sig->prop[i], in->props->p[i], &in->props->p[i].i);
    in->props = props_intern(in->s, sig->nprop, full);
    mem_free(full);
    return props_check(in);
}
