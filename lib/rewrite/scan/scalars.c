/* Small vectors of a loop's body become numbers, element by element: a state of two
 * that each step reads by index and stacks anew is two states. A step then has no
 * reads, stacks and small sums, each of which costs as much as some fifty operations on
 * numbers, and what is left fuses into few groups. What arranges elements (an index, a
 * stack, a transpose) is run once on the numbers of the elements, which tells where
 * each comes from. */
#include "rewrite/scan/scalars.h"

#include "rewrite/read/read.h"

#include <string.h>

static Var built(Apart *x, Var v) {
    x->failed |= v == VAR_NONE;
    return v;
}

/* ---- whole and in elements ---- */

/* The elements of a value of type t, from number *k on, below its first `axis` axes, as
 * one: after `lead` axes of rows. */
static Var stack_elements(Builder *b, const Type *t, int axis, int lead, const Var *el,
                          size_t *k) {
    Var in[MOST_ELEMENTS];
    if (axis == t->ndim) return el[(*k)++];
    for (Dim i = 0; i < t->dim[axis]; i++)
        in[i] = stack_elements(b, t, axis + 1, lead, el, k);
    PropArg at = {"axis", PROP_INT(lead)};
    return apply_named(b, "stack", (size_t)t->dim[axis], in, 1, &at);
}

/* Element k of a value of type t, which has `lead` axes of rows before: its index. */
static Var read_element(Apart *x, Var v, const Type *t, int lead, size_t k) {
    Rewriter *r = x->l->r;
    ReadItem item[MAX_NDIM];
    for (int i = t->ndim; i-- > 0;) {
        item[lead + i] = read_item_at(r, (int64_t)k % t->dim[i]);
        if (built(x, item[lead + i].at) == VAR_NONE) return VAR_NONE;
        k /= (size_t)t->dim[i];
    }
    for (int i = 0; i < lead; i++)
        item[i] = read_all;
    Var e = read_of(r, v, lead + t->ndim, item);
    rewriter_grow(r);
    return built(x, e);
}

static Var constant_element(Builder *b, const Tensor *c, size_t k) {
    Tensor t = {.dtype = c->dtype, .buf = c->buf};
    ptrdiff_t at = 0;
    for (int i = c->ndim; i-- > 0;) {
        at += (ptrdiff_t)((int64_t)k % c->shape[i] * c->stride[i]);
        k /= (size_t)c->shape[i];
    }
    t.data = (char *)c->data + at;
    return graph_const(b->g, &t, true);
}

static Var *new_elements(Apart *x, size_t n) {
    return NEW_N(x->l->a, n + 1, Var);
}

static Var whole_of(Apart *x, Var v) {
    size_t k = 0;
    if (x->whole[v] != VAR_NONE) return x->whole[v];
    Builder *b = &x->l->m.in;
    if (x->part[v])
        x->whole[v] = stack_elements(b, var_type(x->fn, v), 0, 0, x->part[v], &k);
    else
        x->whole[v] = graph_copy_leaf(b->g, x->fn, v, true);
    return built(x, x->whole[v]);
}

/* Reads in the new body; the index of the language, as text. */
static Var element_of_whole(Apart *x, Var v, size_t k) {
    const Type *t = var_type(x->fn, v);
    Var in[1 + MAX_NDIM] = {whole_of(x, v)};
    Str text = STR(x->l->r->s);
    Builder *b = &x->l->m.in;
    for (int i = t->ndim; i-- > 0;) {
        in[1 + i] = const_int(b, (int64_t)k % t->dim[i]);
        k /= (size_t)t->dim[i];
        str_puts(&text, text.n ? ", $" : "$");
    }
    PropArg at = {"index", PROP_STR(sym(x->l->r->s, str_text(&text)))};
    Var e = apply_named(b, "subtensor", 1 + (size_t)t->ndim, in, 1, &at);
    str_free(&text);
    return built(x, e);
}

static const Var *elements_of(Apart *x, Var v) {
    const Type *t = var_type(x->fn, v);
    size_t n = (size_t)type_size(t);
    const Tensor *c = t->ndim ? var_const(x->fn, v) : NULL;
    if (x->part[v]) return x->part[v];
    Var *el = new_elements(x, n);
    for (size_t k = 0; k < n; k++)
        el[k] = t->ndim == 0 ? whole_of(x, v)
                : c          ? constant_element(&x->l->m.in, c, k)
                             : element_of_whole(x, v, k);
    return x->part[v] = el;
}

static void set_elements(Apart *x, Var v, Var *el) {
    if (var_type(x->fn, v)->ndim == 0)
        x->whole[v] = el[0];
    else
        x->part[v] = el;
}

/* ---- the Applies of the body, in elements ---- */

/* The element of an operand that element k of the result takes. */
static size_t operand_element(const Type *t, const Type *to, size_t k) {
    size_t at = 0, step = 1;
    for (int i = to->ndim; i-- > 0;) {
        size_t here = k % (size_t)to->dim[i];
        int j = i - (to->ndim - t->ndim);
        k /= (size_t)to->dim[i];
        if (j < 0) continue;
        if (t->dim[j] != 1) at += here * step;
        step *= (size_t)t->dim[j];
    }
    return at;
}

static bool apply_elementwise(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    const Type *to = var_type(x->fn, a->out);
    size_t n = (size_t)type_size(to);
    Var *el = new_elements(x, n), in[16];
    if (a->nin > 16) return false;
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < a->nin; i++) {
            Var v = apply_in(x->fn, id)[i];
            in[i] = elements_of(x, v)[operand_element(var_type(x->fn, v), to, k)];
        }
        el[k] = op_apply1(&x->l->m.in, a->op, a->props, a->nin, in);
        if (el[k] == VAR_NONE) return false;
    }
    set_elements(x, a->out, el);
    return true;
}

/* The element of the sum to which element k goes. */
static size_t summed_element(const Apart *x, const Apply *a, const Type *t, size_t k) {
    size_t at = 0, step = 1;
    for (int i = t->ndim; i-- > 0;) {
        size_t here = k % (size_t)t->dim[i];
        k /= (size_t)t->dim[i];
        if (scalars_sums_axis(x->fn, a, i, t->ndim)) continue;
        at += here * step;
        step *= (size_t)t->dim[i];
    }
    return at;
}

static bool apply_sum(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    Var v = apply_in(x->fn, id)[0];
    const Type *t = var_type(x->fn, v);
    size_t n = (size_t)type_size(var_type(x->fn, a->out));
    const Var *from = elements_of(x, v);
    Var *el = new_elements(x, n);
    for (size_t i = 0; i < n; i++)
        el[i] = VAR_NONE;
    for (size_t k = 0; k < (size_t)type_size(t); k++) {
        Var *to = &el[summed_element(x, a, t, k)];
        *to = *to == VAR_NONE ? from[k]
                              : built(x, op_call2(&x->l->m.in, "add", *to, from[k]));
    }
    set_elements(x, a->out, el);
    return true;
}

/* ---- what arranges elements ---- */

/* A constant like v of the numbers from `first` on; for v a constant itself, v. */
static Var numbered(Apart *x, Var v, int64_t first, bool counted) {
    const Type *t = var_type(x->fn, v);
    Rewriter *r = x->l->r;
    Tensor c;
    int64_t shape[MAX_NDIM];
    if (!counted) return graph_share_const(r->g, x->fn, v, true);
    for (int i = 0; i < t->ndim; i++)
        shape[i] = t->dim[i];
    if (!tensor_new(r->s, DT_INT64, t->ndim, shape, &c)) return VAR_NONE;
    for (int64_t i = 0; i < type_size(t); i++)
        ((int64_t *)c.data)[i] = first + i;
    v = graph_const(r->g, &c, false);
    tensor_unref(&c);
    return v;
}

/* Runs the op on the numbers of its inputs' elements, from 1 on; op: another op in its
 * place, or NULL. NULL: it can't run so. */
static const Tensor *arrange_numbers(Apart *x, ApplyId id, const Op *op) {
    const Apply *a = &x->fn->apply[id];
    Rewriter *r = x->l->r;
    Var *in = new_elements(x, a->nin);
    int64_t first = 1;
    for (size_t i = 0; i < a->nin; i++) {
        Var v = apply_in(x->fn, id)[i];
        bool counted = i < scalars_arranged(x->fn, a);
        in[i] = numbered(x, v, first, counted);
        if (in[i] == VAR_NONE) return NULL;
        if (counted) first += type_size(var_type(x->fn, v));
    }
    rewriter_grow(r);
    Var v = rewriter_apply(r, op ? op : a->op, a->props, a->nin, in);
    if (v != VAR_NONE) v = rewriter_evaluate(r, v);
    const Tensor *t = v == VAR_NONE ? NULL : var_const(r->g, v);
    return t && tensor_size(t) == type_size(var_type(x->fn, a->out)) ? t : NULL;
}

/* Element `number`, from 1 on, of the inputs. */
static Var numbered_element(Apart *x, ApplyId id, int64_t number) {
    const Apply *a = &x->fn->apply[id];
    size_t k = (size_t)number - 1;
    for (size_t i = 0; number > 0 && i < scalars_arranged(x->fn, a); i++) {
        Var v = apply_in(x->fn, id)[i];
        size_t n = (size_t)type_size(var_type(x->fn, v));
        if (k < n) return elements_of(x, v)[k];
        k -= n;
    }
    return VAR_NONE;
}

static bool apply_arranged(Apart *x, ApplyId id) {
    Var out = x->fn->apply[id].out;
    const Tensor *at = arrange_numbers(x, id, NULL);
    int64_t n = type_size(var_type(x->fn, out));
    Var *el = new_elements(x, (size_t)n);
    for (int64_t k = 0; at && k < n; k++)
        if ((el[k] = numbered_element(x, id, tensor_i64(at, k))) == VAR_NONE)
            return false;
    if (at) set_elements(x, out, el);
    return at != NULL;
}

/* Where set_subtensor would write y's elements, inc_subtensor adds them. */
static bool apply_increased(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    const Tensor *at = arrange_numbers(x, id, op_known(x->fn->s, OP_SET_SUBTENSOR));
    Var base = apply_in(x->fn, id)[0];
    int64_t n = type_size(var_type(x->fn, a->out));
    Var *el = new_elements(x, (size_t)n);
    for (int64_t k = 0; at && k < n; k++) {
        int64_t from = tensor_i64(at, k);
        el[k] = elements_of(x, base)[k];
        if (from == k + 1) continue;
        Var y = numbered_element(x, id, from);
        if (y == VAR_NONE) return false;
        el[k] = built(x, op_call2(&x->l->m.in, "add", el[k], y));
    }
    if (at) set_elements(x, a->out, el);
    return at != NULL;
}

static bool apply_filled(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    const Type *t = var_type(x->fn, a->out);
    size_t n = (size_t)type_size(t);
    Var *el = new_elements(x, n);
    bool ones = op_is(x->fn->s, a->op, OP_ONES_LIKE);
    for (size_t k = 0; k < n; k++)
        el[k] = built(x, const_number(&x->l->m.in, t->dtype, ones));
    set_elements(x, a->out, el);
    return true;
}

/* ---- branches ---- */

/* Appends what one value of a branch is now: elements, or itself. */
static size_t put_branch_value(Apart *x, Var out, Var v, Var *in, size_t n) {
    if (!scalars_is_apart(x, out)) {
        in[n] = whole_of(x, v);
        return n + 1;
    }
    memcpy(in + n, elements_of(x, v), x->size[out] * sizeof *in);
    return n + x->size[out];
}

static bool apply_branches(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    const Var *from = apply_in(x->fn, id);
    Var *in = new_elements(x, (size_t)a->nin * MOST_ELEMENTS), *out;
    size_t n = 1;
    in[0] = whole_of(x, from[0]);
    for (size_t i = 1; i < a->nin; i++)
        n = put_branch_value(x, a->out + (Var)((i - 1) % a->nout), from[i], in, n);
    if (n / 2 > OUT_MAX) return false;
    out = new_elements(x, OUT_MAX);
    if (!op_apply(&x->l->m.in, a->op, a->props, n, in, out)) return false;
    for (Var v = a->out; v < a->out + a->nout; v++) {
        set_elements(x, v, out);
        if (!scalars_is_apart(x, v)) x->whole[v] = out[0], x->part[v] = NULL;
        out += scalars_is_apart(x, v) ? x->size[v] : 1;
    }
    return true;
}

/* ---- the body ---- */

/* Is the Apply to be done in elements? */
static bool is_apply_apart(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    bool any = false;
    for (Var v = a->out; v < a->out + a->nout; v++)
        any |= scalars_is_apart(x, v);
    for (size_t i = 0; i < a->nin && x->way[id] != APART_FILLED; i++)
        any |= scalars_is_apart(x, apply_in(x->fn, id)[i]);
    return any && x->way[id] != APART_NEVER;
}

static bool copy_apply(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    Var *in = new_elements(x, a->nin);
    for (size_t i = 0; i < a->nin; i++)
        in[i] = whole_of(x, apply_in(x->fn, id)[i]);
    if (x->failed) return false;
    Var first = graph_copy_apply(x->l->m.body, x->fn, id, in, true);
    for (Var k = 0; k < a->nout; k++)
        x->whole[a->out + k] = first + k;
    return true;
}

static bool apply_apart(Apart *x, ApplyId id) {
    Builder *b = &x->l->m.in;
    b->from = (Origin){x->fn->origin[id].at, x->l->r->b.from.rule};
    switch (is_apply_apart(x, id) ? (WayApart)x->way[id] : APART_NEVER) {
    case APART_NEVER:
        return copy_apply(x, id);
    case APART_ELEMENTWISE:
        return apply_elementwise(x, id);
    case APART_SUM:
        return apply_sum(x, id);
    case APART_ARRANGED:
        return apply_arranged(x, id);
    case APART_INCREASED:
        return apply_increased(x, id);
    case APART_FILLED:
        return apply_filled(x, id);
    case APART_BRANCHES:
        return apply_branches(x, id);
    }
    return false;
}

/* ---- arguments and results ---- */

static const Type *element_type(const Type *t, Session *s) {
    return type_tensor(s, t->dtype, 0, NULL);
}

static void take_sequence_apart(Apart *x, const ScanSeq *q) {
    const ScanBuilderPart *p = &x->l->part;
    ScanBuilder *m = &x->l->m;
    Session *s = x->l->r->s;
    for (size_t j = 0; j < q->ntap; j++) {
        Var in = x->fn->inputs.p[q->in + j];
        const Type *t = var_type(x->fn, in);
        if (!scalars_is_apart(x, in)) continue;
        Var *el = new_elements(x, x->size[in]);
        for (size_t k = 0; k < x->size[in]; k++) {
            Var rows = read_element(x, p->arg[q->arg], t, 1, k);
            if (rows == VAR_NONE) return;
            size_t at = scan_builder_add_seq(m, var_name(x->fn, in), rows, q->tap[j],
                                             element_type(t, s));
            m->seq.p[at].low = q->low;
            el[k] = m->seq.p[at].tap.p[0].in;
        }
        x->part[in] = el;
        x->whole[in] = VAR_NONE;
    }
}

static void take_other_apart(Apart *x, size_t i) {
    const ScanBuilderPart *p = &x->l->part;
    ScanBuilder *m = &x->l->m;
    Var in = x->fn->inputs.p[p->f.other_in + i], arg = p->arg[p->f.other_arg + i];
    const Type *t = var_type(x->fn, in);
    const Tensor *c = var_const(x->l->r->g, arg);
    if (!scalars_is_apart(x, in)) return;
    Var *el = new_elements(x, x->size[in]);
    for (size_t k = 0; k < x->size[in]; k++) {
        if (c) {
            el[k] = constant_element(&m->in, c, k);
            continue;
        }
        Var v = read_element(x, arg, t, 0, k);
        if (v == VAR_NONE) return;
        size_t at = scan_builder_add_other(m, var_name(x->fn, in), v,
                                           element_type(t, x->l->r->s));
        el[k] = m->other.p[at].tap.p[0].in;
    }
    x->part[in] = el;
    x->whole[in] = VAR_NONE;
}

/* Output o becomes one for each element, after all others. */
static void take_output_apart(Apart *x, size_t o) {
    ScanBuilder *m = &x->l->m;
    const ScanBuilderPart *p = &x->l->part;
    const ScanOut *out = &p->f.out[o];
    Var made = x->fn->outputs.p[o].var;
    const Type *t = var_type(x->fn, made);
    Var **in = NEW_N(x->l->a, out->ntap + 1, Var *);
    for (size_t j = 0; j < out->ntap; j++)
        in[j] = x->part[x->fn->inputs.p[out->in + j]] =
            new_elements(x, (size_t)type_size(t));
    x->results[o] = m->out.n;
    for (size_t k = 0; k < (size_t)type_size(t); k++) {
        size_t at = scan_builder_add_out(m, x->fn->outputs.p[o].label, out->keep);
        m->out.p[at].wanted = scan_output_is_read(x->l, o);
        if (out->ntap)
            m->out.p[at].x =
                read_element(x, p->arg[out->arg], t, !scan_one_row(out), k);
        for (size_t j = 0; j < out->ntap; j++)
            in[j][k] = scan_builder_add_tap(m, &m->out.p[at], out->tap[j],
                                            element_type(t, x->l->r->s));
    }
    for (size_t j = 0; j < out->ntap; j++)
        x->whole[x->fn->inputs.p[out->in + j]] = VAR_NONE;
    m->out.p[p->first + o].wanted = false;
    m->out.p[p->first + o].tap.n = 0;
}

/* Output o of the loop: taken apart where its states or what it makes are. */
static bool is_output_apart(Apart *x, size_t o) {
    const ScanOut *out = &x->l->part.f.out[o];
    return scalars_is_apart(x, x->fn->outputs.p[o].var) ||
           (out->ntap && scalars_is_apart(x, x->fn->inputs.p[out->in]));
}

static void take_arguments_apart(Apart *x) {
    const ScanForm *f = &x->l->part.f;
    for (size_t i = 0; i < x->fn->inputs.n; i++)
        x->whole[x->fn->inputs.p[i]] = x->l->part.in[i];
    for (size_t i = 0; i < f->nseq; i++)
        take_sequence_apart(x, &f->seq[i]);
    for (size_t i = 0; i < f->nother; i++)
        take_other_apart(x, i);
    for (size_t o = 0; o < f->nout; o++) {
        x->results[o] = SIZE_MAX;
        x->l->m.out.p[x->l->part.first + o].wanted = scan_output_is_read(x->l, o);
        if (is_output_apart(x, o)) take_output_apart(x, o);
    }
}

static void set_outputs(Apart *x) {
    ScanBuilder *m = &x->l->m;
    for (size_t o = 0; o < x->l->part.f.nout; o++) {
        Var v = x->fn->outputs.p[o].var;
        size_t at = x->results[o];
        if (at == SIZE_MAX) m->out.p[x->l->part.first + o].made = whole_of(x, v);
        size_t n = at == SIZE_MAX ? 0 : (size_t)type_size(var_type(x->fn, v));
        for (size_t k = 0; k < n; k++)
            m->out.p[at + k].made = elements_of(x, v)[k];
    }
    if (x->fn->until != VAR_NONE) m->until = whole_of(x, x->fn->until);
}

static bool replace_results(Apart *x) {
    Scan *l = x->l;
    for (size_t o = 0; o < l->part.f.nout; o++) {
        size_t at = x->results[o], k = 0;
        const Type *t = var_type(x->fn, x->fn->outputs.p[o].var);
        Var result = l->m.out.p[l->part.first + o].result, el[MOST_ELEMENTS];
        if (!scan_output_is_read(l, o)) continue;
        for (size_t i = 0; at != SIZE_MAX && i < (size_t)type_size(t); i++)
            el[i] = l->m.out.p[at + i].result;
        if (at != SIZE_MAX)
            result = stack_elements(&l->r->b, t, 0, l->part.f.out[o].keep != SCAN_LAST,
                                    el, &k);
        rewriter_grow(l->r);
        if (result == VAR_NONE || !scan_replace_output(l, o, result)) return false;
    }
    return true;
}

static void apart_new(Apart *x, Scan *l) {
    const Graph *fn = l->part.f.fn;
    *x = (Apart){.l = l, .fn = fn};
    x->size = NEW_N(l->a, fn->nvar + 1, uint8_t);
    x->set = NEW_N(l->a, fn->nvar + 1, uint32_t);
    x->gain = NEW_N(l->a, fn->nvar + 1, int64_t);
    x->way = NEW_N(l->a, fn->napply + 1, uint8_t);
    x->whole = NEW_N(l->a, fn->nvar + 1, Var);
    x->part = NEW_N(l->a, fn->nvar + 1, Var *);
    x->results = NEW_N(l->a, l->part.f.nout + 1, size_t);
    memset(x->whole, 0xFF, fn->nvar * sizeof *x->whole);
}

static bool take_loop_apart(Scan *l, bool *ok) {
    Apart x;
    scan_take_apart(l);
    const Graph *fn = l->part.f.fn;
    if (scan_is_opaque(fn) || fn->effects.n || l->part.f.checkpoint) return false;
    apart_new(&x, l);
    if (!scalars_choose(&x)) return false;
    take_arguments_apart(&x);
    for (ApplyId id = 0; id < fn->napply && !x.failed; id++)
        if (!apply_apart(&x, id)) return false;
    if (!x.failed) set_outputs(&x);
    if (x.failed) return *ok = false;
    scan_carry_names(l->m.body, fn, x.whole);
    rewriter_grow(l->r);
    if (!(*ok = scan_rebuild(l)) || !replace_results(&x)) return false;
    return *ok = scan_fired(l);
}

bool scan_scalars_pass(Rewriter *r) {
    return scan_each(r, take_loop_apart);
}
