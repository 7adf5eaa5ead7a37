/* The cost of one run of an Apply, from its op's row and the shapes of its inputs and
 * outputs. Sizes are polynomials, which in a run are all numbers. Flops of elementwise
 * ops are given per element of the result. */
#include "op/build.h"
#include "prof/prof_impl.h"
#include "userop/userop.h"

#include <string.h>

/* ---- shapes ---- */
Shape shape_of_type(Arena *a, const Type *t, const Map *dims, bool symbols) {
    Shape h = {.is_tensor = t->kind == TYPE_TENSOR};
    if (!h.is_tensor) return h;
    const Poly **dim = NEW_N(a, (size_t)t->ndim, const Poly *);
    for (int i = 0; i < t->ndim; i++) {
        uint64_t bound;
        if (dim_is_known(t->dim[i]))
            dim[i] = poly_number(a, (double)t->dim[i]);
        else if (!dim_is_named(t->dim[i]))
            dim[i] = NULL;
        else if (map_get(dims, dim_sym(t->dim[i]), &bound))
            dim[i] = (const Poly *)(uintptr_t)bound;
        else
            dim[i] = symbols ? poly_dim(a, dim_sym(t->dim[i])) : NULL;
    }
    h.dtype = t->dtype;
    h.ndim = t->ndim;
    h.dim = dim;
    return h;
}

Shape shape_of_tensor(Arena *a, const Tensor *t) {
    const Poly **dim = NEW_N(a, (size_t)t->ndim, const Poly *);
    for (int i = 0; i < t->ndim; i++)
        dim[i] = poly_number(a, (double)t->shape[i]);
    return (Shape){.is_tensor = true, .dtype = t->dtype, .ndim = t->ndim, .dim = dim};
}

static const Poly *broadcast_dim(size_t nin, const Shape *in, int from_right) {
    const Poly *found = NULL;
    for (size_t k = 0; k < nin; k++) {
        double one;
        if (!in[k].is_tensor || in[k].ndim <= from_right) continue;
        const Poly *d = in[k].dim[in[k].ndim - 1 - from_right];
        bool is_one = poly_is_number(d, &one) && one == 1;
        if (!found || (d && !is_one)) found = d ? d : found;
    }
    return found;
}

Shape shape_of_result(Arena *a, const Op *op, Shape typed, size_t nin,
                      const Shape *in) {
    if (!op->elemwise || !typed.is_tensor) return typed;
    const Poly **dim = NEW_N(a, (size_t)typed.ndim, const Poly *);
    for (int i = 0; i < typed.ndim; i++) {
        dim[i] = typed.dim[i];
        if (!dim[i]) dim[i] = broadcast_dim(nin, in, typed.ndim - 1 - i);
    }
    typed.dim = dim;
    return typed;
}

/* The joined axis of a concatenation is the sum of its parts. */
static Shape shape_of_joined(Arena *a, const Graph *g, ApplyId id, Shape typed,
                             const Shape *in) {
    const Apply *ap = &g->apply[id];
    if (!op_is(g->s, ap->op, OP_CONCATENATE) || !typed.is_tensor) return typed;
    int64_t axis = op_prop(g->s, ap->op, ap->props, "axis")->i;
    if (axis < 0) axis += typed.ndim;
    if (axis < 0 || axis >= typed.ndim || typed.dim[axis]) return typed;
    const Poly **dim = NEW_N(a, (size_t)typed.ndim, const Poly *);
    memcpy(dim, typed.dim, (size_t)typed.ndim * sizeof *dim);
    dim[axis] = poly_number(a, 0);
    for (size_t i = 0; i < ap->nin; i++)
        dim[axis] =
            in[i].ndim == typed.ndim ? poly_add(a, dim[axis], in[i].dim[axis]) : NULL;
    typed.dim = dim;
    return typed;
}

static const Poly *size_of(Arena *a, const Shape *h) {
    const Poly *n = poly_number(a, 1);
    for (int i = 0; i < h->ndim; i++)
        n = poly_mul(a, n, h->dim[i]);
    return h->is_tensor ? n : NULL;
}

const Poly *bytes_of_shape(Arena *a, const Shape *h) {
    if (!h->is_tensor) return poly_number(a, 0); /* None, slices, random states */
    return poly_mul(a, poly_number(a, (double)dtype_size(h->dtype)), size_of(a, h));
}

const Poly *cost_bytes_in(Arena *a, const Costed *c) {
    const Poly *sum = poly_number(a, 0);
    for (size_t i = 0; i < c->nin; i++)
        sum = poly_add(a, sum, bytes_of_shape(a, &c->in[i]));
    return sum;
}

/* ---- formulas ---- */
typedef struct FormulaNames {
    Costing *k;
    const Costed *c;
} FormulaNames;

static FormulaValue of_shape(const Shape *h) {
    return (FormulaValue){.is_shape = h->is_tensor, .ndim = h->ndim, .shape = h->dim};
}

static FormulaValue of_prop(Arena *a, const Prop *q) {
    switch ((int)q->kind) {
    case P_BOOL:
    case P_INT:
        return formula_number(a, (double)q->i);
    case P_FLOAT:
        return formula_number(a, q->f);
    case P_STR:
        return formula_text(a, q->sym);
    case P_INTS:
        return formula_shape(a, q->ints.n, q->ints.p);
    default:
        return (FormulaValue){0};
    }
}

static bool find_formula_name(void *ctx, Arena *a, Sym name, FormulaValue *v) {
    const FormulaNames *n = ctx;
    const Apply *ap = &n->c->g->apply[n->c->id];
    const Signature *sig = op_signature(n->k->s, ap->op);
    for (size_t i = 0; i < sig->nin && i < n->c->nin; i++)
        if (sig->in[i].name == name && !sig->in[i].rest)
            return *v = of_shape(&n->c->in[i]), true;
    for (size_t i = 0; ap->op->out && i < sig->nout && i < n->c->nout; i++)
        if (sig->out[i] == name) return *v = of_shape(&n->c->out[i]), true;
    if (n->c->nout && strcmp(sym_text(n->k->s, name), "r") == 0)
        return *v = of_shape(&n->c->out[0]), true;
    for (size_t i = 0; ap->props && i < sig->nprop && i < ap->props->n; i++)
        if (sig->prop[i].name == name) return *v = of_prop(a, &ap->props->p[i]), true;
    return false;
}

static const Ast *parse_flops(Costing *k, const char *text) {
    uint64_t found;
    if (map_get(&k->parsed, (uintptr_t)text, &found))
        return (const Ast *)(uintptr_t)found;
    size_t mark = diag_count(k->s), n = strlen(text);
    Span at = {source_add(k->s, "flops", text, n), 0, (uint32_t)n};
    const Ast *e = ast_parse(k->s, k->keep, at);
    diag_rewind(k->s, mark);
    map_put(&k->parsed, (uintptr_t)text, (uintptr_t)e);
    return e;
}

/* Once for each formula: its count is then unknown. */
static void warn_negative(Costing *k, const Op *op, const Ast *e) {
    uint64_t warned;
    if (map_get(&k->negative, (uintptr_t)op->flops, &warned)) return;
    map_put(&k->negative, (uintptr_t)op->flops, 1);
    warn(k->s, e->at, E_VALUE, "%s: a number of operations can't be negative",
         op->name);
    note(k->s, NOWHERE, "it counts as unknown: `?`");
}

static const Poly *flops_of(Costing *k, Arena *a, const Costed *c) {
    const Op *op = c->g->apply[c->id].op;
    FormulaNames n = {k, c};
    const Poly *each = NULL;
    if (op->flops) {
        const Ast *e = parse_flops(k, op->flops);
        each = e ? formula_poly(k->s, a, e, find_formula_name, &n) : NULL;
        if (poly_is_negative(each)) {
            warn_negative(k, op, e);
            each = NULL;
        }
    } else if (op->math) {
        each = poly_number(a, op->math);
    } else if (op->shape_only || op->identity) {
        return poly_number(a, 0);
    }
    bool per_element = op->elemwise || !op->flops;
    return per_element && each && c->nout ? poly_mul(a, each, size_of(a, &c->out[0]))
                                          : each;
}

static const Poly *math_of(Arena *a, const Costed *c) {
    const Op *op = c->g->apply[c->id].op;
    if (!op->math || !c->nout) return poly_number(a, 0);
    return poly_mul(a, poly_number(a, op->math), size_of(a, &c->out[0]));
}

/* ---- bytes ---- */
/* An input given twice is read once; views move no data. */
static const Poly *read_of(Arena *a, const Costed *c) {
    const Poly *sum = poly_number(a, 0);
    const Var *in = apply_in(c->g, c->id);
    bool moves = c->nout == 0;
    for (size_t k = 0; k < c->nout; k++)
        moves |= !c->view[k];
    if (!moves || c->g->apply[c->id].op->shape_only) return sum;
    for (size_t i = 0; i < c->nin; i++) {
        bool again = false;
        for (size_t k = 0; k < i && k < 16; k++)
            again |= in[k] == in[i];
        if (!again) sum = poly_add(a, sum, bytes_of_shape(a, &c->in[i]));
    }
    return sum;
}

static const Poly *written_of(Arena *a, const Costed *c) {
    const Poly *sum = poly_number(a, 0);
    for (size_t k = 0; k < c->nout; k++)
        if (!c->view[k]) sum = poly_add(a, sum, bytes_of_shape(a, &c->out[k]));
    return sum;
}

/* Has y an element for each of the part's? Sizes that the part's type leaves open are
 * then y's. */
static bool replaces_each(const Type *part, const Type *y) {
    bool each = y->ndim == part->ndim && y->dtype == part->dtype;
    for (int k = 0; each && k < y->ndim; k++)
        each = y->dim[k] != 1;
    return each;
}

/* The elements that an op changes of input 0, in bytes: the result of the op that reads
 * them. NULL: unknown. */
static const Poly *changed_bytes(Costing *k, Arena *a, const Costed *c) {
    const Apply *ap = &c->g->apply[c->id];
    const Type **out = NEW_N(a, OUT_MAX, const Type *);
    Var *in = NEW_N(a, ap->nin, Var);
    Map dims = MAP(k->s);
    size_t n = 0, mark = diag_count(k->s);
    for (size_t i = 0; i < ap->nin; i++) {
        const Type *t = var_type(c->g, apply_in(c->g, c->id)[i]);
        if (i != 1) in[n++] = apply_in(c->g, c->id)[i];
        for (int d = 0; c->in[i].is_tensor && d < t->ndim && d < c->in[i].ndim; d++)
            if (dim_is_named(t->dim[d]) && c->in[i].dim[d])
                map_put(&dims, dim_sym(t->dim[d]), (uintptr_t)c->in[i].dim[d]);
    }
    const Poly *bytes = NULL;
    if (op_infer(c->g, op_named(k->s, op_rare(ap->op)->changes), ap->props,
                 (VarList){n, in}, NOWHERE, out) == 1) {
        Shape h = shape_of_type(a, out[0], &dims, false);
        const Type *y = var_type(c->g, apply_in(c->g, c->id)[1]);
        bytes = bytes_of_shape(a, replaces_each(out[0], y) ? &c->in[1] : &h);
    }
    diag_rewind(k->s, mark);
    map_free(&dims);
    return bytes;
}

/* Nothing is read of input 0 but what is added to. */
static Cost cost_in_place(Costing *k, Arena *a, const Costed *c) {
    Cost cost = {flops_of(k, a, c), math_of(a, c), NULL, changed_bytes(k, a, c)};
    double none;
    bool adds = !poly_is_number(cost.flops, &none) || none != 0;
    cost.read = adds ? cost.written : poly_number(a, 0);
    for (size_t i = 1; i < c->nin; i++)
        cost.read = poly_add(a, cost.read, bytes_of_shape(a, &c->in[i]));
    return cost;
}

Cost cost_apply(Costing *k, Arena *a, const Costed *c) {
    const Op *op = c->g->apply[c->id].op;
    if (c->in_place && op_rare(op)->changes) return cost_in_place(k, a, c);
    bool stated = !op->body || op->flops || op->math;
    const Graph *body = stated ? NULL : userop_body(c->g, c->id);
    if (body) return cost_fused(k, a, body, c);
    return (Cost){flops_of(k, a, c), math_of(a, c), read_of(a, c), written_of(a, c)};
}

/* ---- fused groups ---- */
void bind_inputs(const Graph *fn, Map *dims, size_t n, const Shape *in) {
    for (size_t i = 0; i < n && i < fn->inputs.n; i++) {
        const Type *t = var_type(fn, fn->inputs.p[i]);
        for (int k = 0; t->kind == TYPE_TENSOR && k < t->ndim && k < in[i].ndim; k++)
            if (dim_is_named(t->dim[k]) && in[i].dim[k])
                map_put(dims, dim_sym(t->dim[k]), (uintptr_t)in[i].dim[k]);
    }
}

Shape *cost_shapes(Arena *a, const Graph *g, const Map *dims, bool symbols, size_t nin,
                   const Shape *in) {
    size_t most = 0;
    for (ApplyId id = 0; id < g->napply; id++)
        if (g->apply[id].nin > most) most = g->apply[id].nin;
    Shape *h = NEW_N(a, g->nvar, Shape), *at = NEW_N(a, most, Shape);
    for (Var v = 0; v < g->nvar; v++)
        if (var_leaf(g, v)) {
            h[v] = shape_of_type(a, var_type(g, v), dims, symbols);
            h[v].value = value_of_leaf(a, g, v, dims, symbols);
        }
    for (size_t i = 0; i < nin && i < g->inputs.n; i++)
        h[g->inputs.p[i]] = in[i];
    for (ApplyId id = 0; id < g->napply; id++) {
        const Apply *ap = &g->apply[id];
        for (size_t i = 0; i < ap->nin; i++)
            at[i] = h[apply_in(g, id)[i]];
        for (Var k = 0; k < ap->nout; k++) {
            Shape typed = shape_of_type(a, var_type(g, ap->out + k), dims, symbols);
            typed = shape_of_joined(a, g, id, typed, at);
            h[ap->out + k] = shape_of_result(a, ap->op, typed, ap->nin, at);
        }
        h[ap->out].value = value_of_result(a, g, id, at);
    }
    return h;
}

/* The group's end changes elements of an array that is not read or written as a
 * whole. */
static void end_in_place(Costing *k, Arena *a, const Graph *fn, const Shape *h,
                         Cost *sum) {
    ApplyId id = fn->napply - 1;
    const Apply *ap = &fn->apply[id];
    Shape *in = NEW_N(a, ap->nin, Shape);
    bool view = false;
    for (size_t i = 0; i < ap->nin; i++)
        in[i] = h[apply_in(fn, id)[i]];
    Costed end = {fn, id, ap->nin, ap->nout, in, &h[ap->out], &view, true};
    const Poly *changed = changed_bytes(k, a, &end),
               *less = poly_mul(a, poly_number(a, -1), bytes_of_shape(a, &in[0]));
    double none;
    const Poly *flops = flops_of(k, a, &end);
    bool adds = !poly_is_number(flops, &none) || none != 0;
    sum->written = poly_add(a, poly_add(a, sum->written, less), changed);
    sum->read = poly_add(a, sum->read, less);
    if (adds) sum->read = poly_add(a, sum->read, changed);
}

Cost cost_fused(Costing *k, Arena *a, const Graph *fn, const Costed *c) {
    Cost sum = {poly_number(a, 0), poly_number(a, 0), read_of(a, c), written_of(a, c)};
    Map dims = MAP(k->s);
    bind_inputs(fn, &dims, c->nin, c->in);
    Shape *h = cost_shapes(a, fn, &dims, false, c->nin, c->in);
    Shape in[8];
    bool view[8] = {false};
    for (ApplyId id = 0; id < fn->napply; id++) {
        const Apply *ap = &fn->apply[id];
        if (ap->nin > 8 || ap->nout > 8) {
            sum.flops = sum.math = NULL;
            break;
        }
        for (size_t i = 0; i < ap->nin; i++)
            in[i] = h[apply_in(fn, id)[i]];
        Costed inner = {fn, id, ap->nin, ap->nout, in, &h[ap->out], view, false};
        Cost cost = cost_apply(k, a, &inner);
        sum.flops = poly_add(a, sum.flops, cost.flops);
        sum.math = poly_add(a, sum.math, cost.math);
    }
    if (c->in_place && fn->napply) end_in_place(k, a, fn, h, &sum);
    map_free(&dims);
    return sum;
}

/* ---- sums ---- */
void amount_add(Arena *a, Amount *x, const Poly *p) {
    double v;
    if (!p) {
        x->unknown++;
    } else if (poly_is_number(p, &v)) {
        x->v += v;
    } else {
        const Poly *sum = x->sym ? poly_add(a, x->sym, p) : poly_copy(a, p);
        if (sum)
            x->sym = sum;
        else
            x->unknown++;
    }
}

void amount_sum(Arena *a, Amount *x, const Amount *y) {
    x->v += y->v;
    x->unknown += y->unknown;
    if (y->sym) amount_add(a, x, y->sym);
}
