/* Which vectors of a loop's body become numbers: those that an op takes and makes
 * element by element belong together, and each set is taken apart if that gains. */
#include "rewrite/scan/scalars.h"

/* In operations on numbers: what running an Apply costs besides, what a loop does for
 * each row, and what nothing outweighs. */
enum { DISPATCH = 50, ROW_COST = 10, NEVER = -(1 << 30) };

/* ---- which vectors belong together ---- */

static uint32_t set_of(Apart *x, Var v) {
    while (x->set[v] != v)
        v = x->set[v] = x->set[x->set[v]];
    return v;
}

static void join_sets(Apart *x, Var v, Var w) {
    if (x->size[v] && x->size[w]) x->set[set_of(x, v)] = set_of(x, w);
}

bool scalars_is_apart(Apart *x, Var v) {
    return x->size[v] && x->gain[set_of(x, v)] > 0;
}

static void note_small(Apart *x) {
    for (Var v = 0; v < x->fn->nvar; v++) {
        const Type *t = var_type(x->fn, v);
        int64_t n = t->kind == TYPE_TENSOR && t->ndim > 0 ? type_size(t) : -1;
        x->set[v] = v;
        x->size[v] =
            n > 0 && n <= MOST_ELEMENTS && !var_is_const(x->fn, v) ? (uint8_t)n : 0;
    }
}

size_t scalars_arranged(const Graph *fn, const Apply *a) {
    KnownOp all[] = {OP_STACK, OP_CONCATENATE};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (op_is(fn->s, a->op, all[i])) return a->nin;
    return op_is(fn->s, a->op, OP_SET_SUBTENSOR) ||
                   op_is(fn->s, a->op, OP_INC_SUBTENSOR)
               ? 2
               : 1;
}

static WayApart way_of_op(const Graph *fn, const Op *op) {
    static const struct {
        KnownOp op;
        WayApart way;
    } row[] = {{OP_SUM, APART_SUM},
               {OP_SUBTENSOR, APART_ARRANGED},
               {OP_SET_SUBTENSOR, APART_ARRANGED},
               {OP_INC_SUBTENSOR, APART_INCREASED},
               {OP_STACK, APART_ARRANGED},
               {OP_CONCATENATE, APART_ARRANGED},
               {OP_EXPAND_DIMS, APART_ARRANGED},
               {OP_SQUEEZE, APART_ARRANGED},
               {OP_TRANSPOSE, APART_ARRANGED},
               {OP_RESHAPE, APART_ARRANGED},
               {OP_BROADCAST_TO, APART_ARRANGED},
               {OP_SPECIFY_SHAPE, APART_ARRANGED},
               {OP_ZEROS_LIKE, APART_FILLED},
               {OP_ONES_LIKE, APART_FILLED},
               {OP_IFELSE, APART_BRANCHES}};
    if (op->elemwise) return APART_ELEMENTWISE;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (op_is(fn->s, op, row[i].op)) return row[i].way;
    return APART_NEVER;
}

static bool is_number(const Graph *fn, Var v) {
    const Type *t = var_type(fn, v);
    return t->kind == TYPE_TENSOR && t->ndim == 0;
}

/* Can v be had in elements: small, a constant as small, or a number? */
static bool has_elements(const Apart *x, Var v) {
    const Type *t = var_type(x->fn, v);
    int64_t n = t->kind == TYPE_TENSOR ? type_size(t) : -1;
    return n > 0 && n <= MOST_ELEMENTS &&
           (t->ndim == 0 || x->size[v] || var_is_const(x->fn, v));
}

bool scalars_sums_axis(const Graph *fn, const Apply *a, int axis, int ndim) {
    const Prop *p = op_prop(fn->s, a->op, a->props, "axis");
    bool summed = p->kind == P_NONE ||
                  (p->kind == P_INT && (p->i == axis || p->i == axis - ndim));
    for (size_t j = 0; p->kind == P_INTS && j < p->ints.n; j++)
        summed |= p->ints.p[j] == axis || p->ints.p[j] == axis - ndim;
    return summed;
}

/* Does the op sum in the order of the elements, in their own dtype? Over several axes
 * it takes them as they lie in memory. */
static bool sums_in_order(const Graph *fn, const Apply *a) {
    const Type *from = var_type(fn, fn->in[a->in]), *to = var_type(fn, a->out);
    int axes = 0;
    for (int i = 0; i < from->ndim; i++)
        axes += from->dim[i] != 1 && scalars_sums_axis(fn, a, i, from->ndim);
    return axes <= 1 && from->dtype == to->dtype &&
           (to->dtype == DT_FLOAT64 || to->dtype == DT_COMPLEX128 ||
            to->dtype == DT_INT64 || to->dtype == DT_UINT64);
}

static size_t inputs_in_elements(const Apart *x, const Apply *a, WayApart way) {
    return way == APART_ARRANGED || way == APART_INCREASED ? scalars_arranged(x->fn, a)
           : way == APART_FILLED                           ? 0
                                                           : a->nin;
}

static WayApart way_of_apply(const Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    WayApart way = way_of_op(x->fn, a->op);
    size_t n = inputs_in_elements(x, a, way);
    bool ok = !a->serial && !a->op->effect &&
              (way != APART_ELEMENTWISE || (a->nout == 1 && !op_may_fail(x->fn, id))) &&
              (way != APART_SUM || sums_in_order(x->fn, a));
    for (size_t i = 0; ok && i < a->nin; i++) {
        Var v = apply_in(x->fn, id)[i];
        ok = i < n ? has_elements(x, v) : way == APART_FILLED || var_is_const(x->fn, v);
        /* an array may name an element twice */
        if (way == APART_INCREASED && i >= n) ok = ok && is_number(x->fn, v);
        if (ok && i < n && (way == APART_ARRANGED || way == APART_INCREASED))
            ok = var_type(x->fn, v)->dtype == var_type(x->fn, a->out)->dtype;
    }
    for (Var k = 0; ok && k < a->nout; k++)
        ok = has_elements(x, a->out + k);
    return ok ? way : APART_NEVER;
}

/* Branches have each value's elements, all others any input's in any output. */
static void join_apply(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    const Var *in = apply_in(x->fn, id);
    WayApart way = x->way[id];
    size_t n = way == APART_NEVER ? 0 : inputs_in_elements(x, a, way);
    Var first = VAR_NONE;
    for (size_t k = 0; way == APART_BRANCHES && k < a->nout; k++) {
        join_sets(x, a->out + (Var)k, in[1 + k]);
        join_sets(x, a->out + (Var)k, in[1 + a->nout + k]);
    }
    if (way == APART_BRANCHES || n == 0) return;
    if (x->size[a->out]) first = a->out;
    for (size_t i = 0; i < n; i++) {
        if (!x->size[in[i]]) continue;
        if (first != VAR_NONE) join_sets(x, in[i], first);
        first = in[i];
    }
}

static void join_states(Apart *x) {
    const ScanForm *f = &x->l->part.f;
    for (size_t o = 0; o < f->nout; o++)
        for (size_t k = 0; k < f->out[o].ntap; k++) {
            Var in = x->fn->inputs.p[f->out[o].in + k];
            join_sets(x, in, x->fn->outputs.p[o].var);
            join_sets(x, in, x->fn->inputs.p[f->out[o].in]);
        }
}

/* ---- what it gains ---- */

static void add_gain(Apart *x, Var v, int64_t gain) {
    if (x->size[v]) x->gain[set_of(x, v)] += gain;
}

static void add_gain_of_apply(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    const Var *in = apply_in(x->fn, id);
    Var of = x->size[a->out] ? a->out : in[0];
    switch ((WayApart)x->way[id]) {
    case APART_NEVER: /* vectors to stack for it, or its result to read */
        for (size_t i = 0; i < a->nin; i++)
            add_gain(x, in[i], -DISPATCH);
        for (Var v = a->out; v < a->out + a->nout; v++)
            add_gain(x, v, -DISPATCH * (int64_t)x->size[v]);
        break;
    case APART_ELEMENTWISE:
        add_gain(x, a->out, 1 - (int64_t)x->size[a->out]);
        break;
    case APART_SUM:
        add_gain(x, in[0], DISPATCH);
        break;
    case APART_ARRANGED:
    case APART_INCREASED:
        for (size_t i = 0; i < a->nin && !x->size[of]; i++)
            of = in[i];
        add_gain(x, of, DISPATCH);
        break;
    case APART_FILLED:
    case APART_BRANCHES:
        break;
    }
}

/* Has an argument the shape that the body expects of a row, so that no check is lost?
 */
static bool argument_fits(const Apart *x, size_t i, size_t arg, int lead) {
    const Type *want = var_type(x->fn, x->fn->inputs.p[i]),
               *t = var_type(x->l->r->g, x->l->part.arg[arg]);
    bool same = t->kind == TYPE_TENSOR && t->ndim == want->ndim + lead;
    for (int k = 0; same && k < want->ndim; k++)
        same = t->dim[lead + k] == want->dim[k];
    return same;
}

/* A loop copies a row, whatever its size, of each argument and result. */
static void add_gain_of_input(Apart *x, size_t i, size_t arg, int lead) {
    Var in = x->fn->inputs.p[i];
    if (!x->size[in]) return;
    add_gain(x, in, ROW_COST * (1 - (int64_t)x->size[in]));
    if (!argument_fits(x, i, arg, lead)) add_gain(x, in, NEVER);
}

static void add_gain_of_output(Apart *x, size_t o) {
    const ScanOut *out = &x->l->part.f.out[o];
    Var v = x->fn->outputs.p[o].var;
    const Type *t = var_type(x->fn, v);
    add_gain(x, v, ROW_COST * (1 - (int64_t)x->size[v]));
    for (size_t k = 0; k < out->ntap; k++) {
        Var in = x->fn->inputs.p[out->in + k];
        add_gain_of_input(x, out->in + k, out->arg, !scan_one_row(out));
        if (var_type(x->fn, in) == t) continue;
        add_gain(x, in, NEVER);
        add_gain(x, v, NEVER);
    }
}

static void add_gain_of_rows(Apart *x) {
    const ScanForm *f = &x->l->part.f;
    for (size_t i = 0; i < f->nseq; i++)
        for (size_t k = 0; k < f->seq[i].ntap; k++)
            add_gain_of_input(x, f->seq[i].in + k, f->seq[i].arg, 1);
    for (size_t i = 0; i < f->nother; i++)
        add_gain_of_input(x, f->other_in + i, f->other_arg + i, 0);
    for (size_t o = 0; o < f->nout; o++)
        add_gain_of_output(x, o);
    if (x->fn->until != VAR_NONE) add_gain(x, x->fn->until, NEVER);
}

bool scalars_choose(Apart *x) {
    bool any = false;
    note_small(x);
    for (ApplyId id = 0; id < x->fn->napply; id++) {
        x->way[id] = (uint8_t)way_of_apply(x, id);
        join_apply(x, id);
    }
    join_states(x);
    for (ApplyId id = 0; id < x->fn->napply; id++)
        add_gain_of_apply(x, id);
    add_gain_of_rows(x);
    for (Var v = 0; v < x->fn->nvar; v++)
        any |= scalars_is_apart(x, v);
    return any;
}
