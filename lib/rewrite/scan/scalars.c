/* Small vectors of a loop's body become numbers, element by element: a state of two
 * that each step reads by index and stacks anew is two states. A step then has no
 * reads, stacks and small sums, each of which costs as much as some fifty operations on
 * numbers, and what is left fuses into few groups. */
#include "rewrite/scan/scalars.h"

#include "rewrite/read/read.h"

/* Element k of a value of type t, which has `lead` axes of rows before: its index. */
static Var read_element(Apart *x, Var v, const Type *t, int lead, size_t k) {
    Rewriter *r = x->r;
    ReadItem item[MAX_NDIM];
    for (int i = t->ndim; i-- > 0;) {
        item[lead + i] = read_item_at(r, (int64_t)k % t->dim[i]);
        if (apart_built(x, item[lead + i].at) == VAR_NONE) return VAR_NONE;
        k /= (size_t)t->dim[i];
    }
    for (int i = 0; i < lead; i++)
        item[i] = read_all;
    Var e = read_of(r, v, lead + t->ndim, item);
    rewriter_grow(r);
    return apart_built(x, e);
}

/* ---- the body ---- */

static bool copy_apply(LoopApart *q, ApplyId id) {
    Apart *x = &q->x;
    const Apply *a = &x->fn->apply[id];
    Var *in = apart_room(x, a->nin);
    for (size_t i = 0; i < a->nin; i++)
        in[i] = apart_whole(x, apply_in(x->fn, id)[i]);
    if (x->failed) return false;
    Var first = graph_copy_apply(q->l->m.body, x->fn, id, in, true);
    for (Var k = 0; k < a->nout; k++)
        x->whole[a->out + k] = first + k;
    return true;
}

static bool build_apply(LoopApart *q, ApplyId id) {
    q->x.b->from = (Origin){q->x.fn->origin[id].at, q->l->r->b.from.rule};
    return apart_takes(&q->x, id) ? apart_apply(&q->x, id) : copy_apply(q, id);
}

/* ---- arguments and results ---- */

static const Type *element_type(const Type *t, Session *s) {
    return type_tensor(s, t->dtype, 0, NULL);
}

static void take_sequence_apart(LoopApart *q, const ScanSeq *seq) {
    const ScanBuilderPart *p = &q->l->part;
    ScanBuilder *m = &q->l->m;
    Session *s = q->l->r->s;
    for (size_t j = 0; j < seq->ntap; j++) {
        Var in = q->x.fn->inputs.p[seq->in + j];
        const Type *t = var_type(q->x.fn, in);
        if (!apart_is_chosen(&q->x, in)) continue;
        Var *el = apart_room(&q->x, q->x.size[in]);
        for (size_t k = 0; k < q->x.size[in]; k++) {
            Var rows = read_element(&q->x, p->arg[seq->arg], t, 1, k);
            if (rows == VAR_NONE) return;
            size_t at = scan_builder_add_seq(m, var_name(q->x.fn, in), rows,
                                             seq->tap[j], element_type(t, s));
            m->seq.p[at].low = seq->low;
            el[k] = m->seq.p[at].tap.p[0].in;
        }
        q->x.part[in] = el;
        q->x.whole[in] = VAR_NONE;
    }
}

static void take_other_apart(LoopApart *q, size_t i) {
    const ScanBuilderPart *p = &q->l->part;
    ScanBuilder *m = &q->l->m;
    Var in = q->x.fn->inputs.p[p->f.other_in + i], arg = p->arg[p->f.other_arg + i];
    const Type *t = var_type(q->x.fn, in);
    const Tensor *c = var_const(q->l->r->g, arg);
    if (!apart_is_chosen(&q->x, in)) return;
    Var *el = apart_room(&q->x, q->x.size[in]);
    for (size_t k = 0; k < q->x.size[in]; k++) {
        if (c) {
            el[k] = apart_constant(&m->in, c, k);
            continue;
        }
        Var v = read_element(&q->x, arg, t, 0, k);
        if (v == VAR_NONE) return;
        size_t at = scan_builder_add_other(m, var_name(q->x.fn, in), v,
                                           element_type(t, q->l->r->s));
        el[k] = m->other.p[at].tap.p[0].in;
    }
    q->x.part[in] = el;
    q->x.whole[in] = VAR_NONE;
}

/* Output o becomes one for each element, after all others. */
static void take_output_apart(LoopApart *q, size_t o) {
    ScanBuilder *m = &q->l->m;
    const ScanBuilderPart *p = &q->l->part;
    const ScanOut *out = &p->f.out[o];
    Var made = q->x.fn->outputs.p[o].var;
    const Type *t = var_type(q->x.fn, made);
    Var **in = NEW_N(q->l->a, out->ntap + 1, Var *);
    for (size_t j = 0; j < out->ntap; j++)
        in[j] = q->x.part[q->x.fn->inputs.p[out->in + j]] =
            apart_room(&q->x, (size_t)type_size(t));
    q->results[o] = m->out.n;
    for (size_t k = 0; k < (size_t)type_size(t); k++) {
        size_t at = scan_builder_add_out(m, q->x.fn->outputs.p[o].label, out->keep);
        m->out.p[at].wanted = scan_output_is_read(q->l, o);
        if (out->ntap)
            m->out.p[at].x =
                read_element(&q->x, p->arg[out->arg], t, !scan_one_row(out), k);
        for (size_t j = 0; j < out->ntap; j++)
            in[j][k] = scan_builder_add_tap(m, &m->out.p[at], out->tap[j],
                                            element_type(t, q->l->r->s));
    }
    for (size_t j = 0; j < out->ntap; j++)
        q->x.whole[q->x.fn->inputs.p[out->in + j]] = VAR_NONE;
    m->out.p[p->first + o].wanted = false;
    m->out.p[p->first + o].tap.n = 0;
}

/* Output o of the loop: taken apart where its states or what it makes are. */
static bool is_output_apart(LoopApart *q, size_t o) {
    const ScanOut *out = &q->l->part.f.out[o];
    return apart_is_chosen(&q->x, q->x.fn->outputs.p[o].var) ||
           (out->ntap && apart_is_chosen(&q->x, q->x.fn->inputs.p[out->in]));
}

static void take_arguments_apart(LoopApart *q) {
    const ScanForm *f = &q->l->part.f;
    for (size_t i = 0; i < q->x.fn->inputs.n; i++)
        q->x.whole[q->x.fn->inputs.p[i]] = q->l->part.in[i];
    for (size_t i = 0; i < f->nseq; i++)
        take_sequence_apart(q, &f->seq[i]);
    for (size_t i = 0; i < f->nother; i++)
        take_other_apart(q, i);
    for (size_t o = 0; o < f->nout; o++) {
        q->results[o] = SIZE_MAX;
        q->l->m.out.p[q->l->part.first + o].wanted = scan_output_is_read(q->l, o);
        if (is_output_apart(q, o)) take_output_apart(q, o);
    }
}

static void set_outputs(LoopApart *q) {
    ScanBuilder *m = &q->l->m;
    for (size_t o = 0; o < q->l->part.f.nout; o++) {
        Var v = q->x.fn->outputs.p[o].var;
        size_t at = q->results[o];
        if (at == SIZE_MAX) m->out.p[q->l->part.first + o].made = apart_whole(&q->x, v);
        size_t n = at == SIZE_MAX ? 0 : (size_t)type_size(var_type(q->x.fn, v));
        for (size_t k = 0; k < n; k++)
            m->out.p[at + k].made = apart_elements(&q->x, v)[k];
    }
    if (q->x.fn->until != VAR_NONE) m->until = apart_whole(&q->x, q->x.fn->until);
}

static bool replace_results(LoopApart *q) {
    Scan *l = q->l;
    for (size_t o = 0; o < l->part.f.nout; o++) {
        size_t at = q->results[o];
        const Type *t = var_type(q->x.fn, q->x.fn->outputs.p[o].var);
        Var result = l->m.out.p[l->part.first + o].result, el[LOOP_ELEMENTS];
        if (!scan_output_is_read(l, o)) continue;
        for (size_t i = 0; at != SIZE_MAX && i < (size_t)type_size(t); i++)
            el[i] = l->m.out.p[at + i].result;
        if (at != SIZE_MAX)
            result =
                apart_stack(&l->r->b, t, 0, l->part.f.out[o].keep != SCAN_LAST, el);
        rewriter_grow(l->r);
        if (result == VAR_NONE || !scan_replace_output(l, o, result)) return false;
    }
    return true;
}

static bool take_loop_apart(Scan *l, bool *ok) {
    LoopApart q = {.l = l};
    scan_take_apart(l);
    const Graph *fn = l->part.f.fn;
    if (scan_is_opaque(fn) || fn->effects.n || l->part.f.checkpoint) return false;
    apart_new(&q.x, l->r, l->a, fn, &l->m.in);
    q.x.most = LOOP_ELEMENTS;
    q.results = NEW_N(l->a, l->part.f.nout + 1, size_t);
    if (!scalars_choose(&q)) return false;
    take_arguments_apart(&q);
    for (ApplyId id = 0; id < fn->napply && !q.x.failed; id++)
        if (!build_apply(&q, id)) return false;
    if (!q.x.failed) set_outputs(&q);
    if (q.x.failed) return *ok = false;
    scan_carry_names(l->m.body, fn, q.x.whole);
    rewriter_grow(l->r);
    if (!(*ok = scan_rebuild(l)) || !replace_results(&q)) return false;
    return *ok = scan_fired(l);
}

bool scan_scalars_pass(Rewriter *r) {
    return scan_each(r, take_loop_apart);
}
