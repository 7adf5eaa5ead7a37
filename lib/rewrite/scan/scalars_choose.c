/* Which vectors of a loop's body become numbers: those that an op takes and makes
 * element by element belong together, and each set is taken apart if that gains. */
#include "rewrite/scan/scalars.h"

/* In operations on numbers: what running an Apply costs besides, what a loop does for
 * each row, and what nothing outweighs. */
enum { DISPATCH = 50, ROW_COST = 10, NEVER = -(1 << 30) };

static void note_small(Apart *x) {
    for (Var v = 0; v < x->fn->nvar; v++) {
        int64_t n = apart_count(x, v);
        if (n > 0 && n <= x->most && apart_ndim(x, v) && !var_is_const(x->fn, v))
            x->size[v] = (uint8_t)n;
    }
}

static void join_states(LoopApart *q) {
    const ScanForm *f = &q->l->part.f;
    for (size_t o = 0; o < f->nout; o++)
        for (size_t k = 0; k < f->out[o].ntap; k++) {
            Var in = q->x.fn->inputs.p[f->out[o].in + k];
            apart_join(&q->x, in, q->x.fn->outputs.p[o].var);
            apart_join(&q->x, in, q->x.fn->inputs.p[f->out[o].in]);
        }
}

/* ---- what it gains ---- */

static void add_gain_of_apply(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    const Var *in = apply_in(x->fn, id);
    Var of = x->size[a->out] ? a->out : in[0];
    switch ((WayApart)x->way[id]) {
    case APART_NEVER: /* vectors to stack for it, or its result to read */
        for (size_t i = 0; i < a->nin; i++)
            apart_add_gain(x, in[i], -DISPATCH);
        for (Var v = a->out; v < a->out + a->nout; v++)
            apart_add_gain(x, v, -DISPATCH * (int64_t)x->size[v]);
        break;
    case APART_ELEMENTWISE:
        apart_add_gain(x, a->out, 1 - (int64_t)x->size[a->out]);
        break;
    case APART_SUM:
        apart_add_gain(x, in[0], DISPATCH);
        break;
    case APART_KEPT:
    case APART_REPEATED:
    case APART_ARRANGED:
    case APART_INCREASED:
        for (size_t i = 0; i < a->nin && !x->size[of]; i++)
            of = in[i];
        apart_add_gain(x, of, DISPATCH);
        break;
    case APART_FILLED:
    case APART_BRANCHES:
        break;
    }
}

/* Has an argument the shape that the body expects of a row, so that no check is lost?
 */
static bool argument_fits(const LoopApart *q, size_t i, size_t arg, int lead) {
    const Type *want = var_type(q->x.fn, q->x.fn->inputs.p[i]),
               *t = var_type(q->l->r->g, q->l->part.arg[arg]);
    bool same = t->kind == TYPE_TENSOR && t->ndim == want->ndim + lead;
    for (int k = 0; same && k < want->ndim; k++)
        same = t->dim[lead + k] == want->dim[k];
    return same;
}

/* A loop copies a row, whatever its size, of each argument and result. */
static void add_gain_of_input(LoopApart *q, size_t i, size_t arg, int lead) {
    Var in = q->x.fn->inputs.p[i];
    if (!q->x.size[in]) return;
    apart_add_gain(&q->x, in, ROW_COST * (1 - (int64_t)q->x.size[in]));
    if (!argument_fits(q, i, arg, lead)) apart_add_gain(&q->x, in, NEVER);
}

static void add_gain_of_output(LoopApart *q, size_t o) {
    const ScanOut *out = &q->l->part.f.out[o];
    Var v = q->x.fn->outputs.p[o].var;
    const Type *t = var_type(q->x.fn, v);
    apart_add_gain(&q->x, v, ROW_COST * (1 - (int64_t)q->x.size[v]));
    for (size_t k = 0; k < out->ntap; k++) {
        Var in = q->x.fn->inputs.p[out->in + k];
        add_gain_of_input(q, out->in + k, out->arg, !scan_one_row(out));
        if (var_type(q->x.fn, in) == t) continue;
        apart_add_gain(&q->x, in, NEVER);
        apart_add_gain(&q->x, v, NEVER);
    }
}

static void add_gain_of_rows(LoopApart *q) {
    const ScanForm *f = &q->l->part.f;
    for (size_t i = 0; i < f->nseq; i++)
        for (size_t k = 0; k < f->seq[i].ntap; k++)
            add_gain_of_input(q, f->seq[i].in + k, f->seq[i].arg, 1);
    for (size_t i = 0; i < f->nother; i++)
        add_gain_of_input(q, f->other_in + i, f->other_arg + i, 0);
    for (size_t o = 0; o < f->nout; o++)
        add_gain_of_output(q, o);
    if (q->x.fn->until != VAR_NONE) apart_add_gain(&q->x, q->x.fn->until, NEVER);
}

bool scalars_choose(LoopApart *q) {
    Apart *x = &q->x;
    bool any = false;
    note_small(x);
    apart_find_ways(x);
    join_states(q);
    for (ApplyId id = 0; id < x->fn->napply; id++)
        add_gain_of_apply(x, id);
    add_gain_of_rows(q);
    for (Var v = 0; v < x->fn->nvar; v++)
        any |= apart_is_chosen(x, v);
    return any;
}
