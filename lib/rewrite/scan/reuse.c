/* A loop that computes anew what an earlier loop of as many steps has computed: the
 * gradient of a loop walks back over its sequences and the states that it kept, and
 * begins each step with what the step itself did. Products and reductions among that
 * become further rows of the first loop, which the second one reads; what is a kept
 * result of the first loop anyway is read from there. The rows kept for this take at
 * most MOST_STATES times the bytes of the states that the first loop keeps. The body of
 * the second loop is compared with that of the first, input by input, then Apply by
 * Apply. */
#include "lang/lazy_scope.h"
#include "rewrite/scan/pass.h"

#include <string.h>

enum { MOST_STATES = 4, UNKNOWN_SIZE = 256 };

/* Rows low .. end - high of base, in this order or backwards; `counted`: its first
 * rows, one for each step. */
typedef struct RowsOf {
    Var base;
    int64_t low, high;
    bool back, counted;
} RowsOf;

/* What becomes of a variable of the second body. */
enum { ANEW, READ_ROWS, KEEP_ROWS };

typedef struct Reuse {
    Scan *l;      /* the second loop */
    Scan first;   /* being built anew */
    bool back;    /* the second loop begins at the last row */
    RowsOf *rows; /* by sequence of the second loop; base VAR_NONE: none */
    bool late;    /* keep arguments of transcendental functions rather than products */
    /* by variable of the second body: */
    Var *twin;       /* its equal in the first loop's new body; VAR_NONE: none */
    uint8_t *heavy;  /* has a twin, and is worth more than a pass over its elements */
    uint8_t *wanted; /* something that stays needs it */
    uint8_t *inner;  /* it is the argument of a transcendental function */
    uint8_t *take;
    uint32_t *uses;
    uint8_t *live;
    size_t *result;   /* by output of the first loop, by variable of its new body */
    uint8_t *certain; /* by variable of the first loop's new body: each step computes
                         it */
} Reuse;
#define NO_RESULT SIZE_MAX

/* ---- which rows a sequence has ---- */

static Dim rows_known(const Graph *g, Var x) {
    const Type *t = var_type(g, x);
    return t->kind == TYPE_TENSOR && t->ndim > 0 ? t->dim[0] : DIM_UNKNOWN;
}

/* The number at a place of an index. False: it isn't known. */
static bool index_number(Rewriter *r, ApplyId id, size_t *at, int64_t *x) {
    Var v = rewriter_input(r, id, (*at)++);
    const Type *t = var_type(r->g, v);
    return t->kind == TYPE_TENSOR && t->ndim == 0 && dtype_is_integer(t->dtype) &&
           rewriter_int_const(r, v, x);
}

/* How many rows lie before `x`, counted from the beginning, and after it; -1: unknown,
 * since so is their number. */
static int64_t rows_before(Dim rows, int64_t x) {
    return x >= 0 ? x : dim_is_known(rows) ? rows + x : -1;
}

static int64_t rows_after(Dim rows, int64_t x) {
    return x < 0 ? -x : dim_is_known(rows) ? rows - x : -1;
}

/* x of x[a:b] or x[a:b:-1] instead: false if `of` isn't made like that. */
static bool look_through_slice(Rewriter *r, RowsOf *of, ApplyId id) {
    const char *p = sym_text(r->s, rewriter_prop(r, &r->g->apply[id], "index")->sym);
    Dim rows = rows_known(r->g, rewriter_input(r, id, 0));
    int64_t from = 0, to = 0, step = 1, low, high;
    size_t at = 1;
    bool has_from = *p == '$';
    if (has_from && (p++, !index_number(r, id, &at, &from))) return false;
    if (*p++ != ':') return false;
    bool has_to = *p == '$';
    if (has_to && (p++, !index_number(r, id, &at, &to))) return false;
    if (*p == ':' && p[1] == '$' && (p += 2, !index_number(r, id, &at, &step)))
        return false;
    if (*p || (step != 1 && step != -1)) return false;
    if (step > 0) {
        low = has_from ? rows_before(rows, from) : 0;
        high = has_to ? rows_after(rows, to) : 0;
    } else {
        low = has_to ? rows_before(rows, to) + 1 : 0;
        high = has_from ? rows_after(rows, from) - 1 : 0;
        if (has_to && low == 0) return false;
    }
    if (low < 0 || high < 0) return false;
    of->base = rewriter_input(r, id, 0);
    int64_t was = of->low;
    of->low = low + (step > 0 ? of->low : of->high);
    of->high = high + (step > 0 ? of->high : was);
    of->back ^= step < 0;
    return true;
}

/* x of x[:steps] or x[0:steps] */
static bool look_through_count(Rewriter *r, RowsOf *of, ApplyId id, Var steps) {
    const char *p = sym_text(r->s, rewriter_prop(r, &r->g->apply[id], "index")->sym);
    int64_t from = 0;
    size_t at = 1;
    if (*p == '$' && (p++, !index_number(r, id, &at, &from))) return false;
    if (strcmp(p, ":$") != 0 || from != 0 || of->low || of->high ||
        rewriter_input(r, id, at) != steps)
        return false;
    of->base = rewriter_input(r, id, 0);
    return of->counted = true;
}

static RowsOf rows_of(Rewriter *r, Var x, Var steps) {
    RowsOf of = {.base = rewriter_resolve(r, x)};
    while (!of.counted) {
        ApplyId a = var_owner(r->g, of.base);
        if (a == APPLY_NONE) return of;
        if (op_is(r->s, r->g->apply[a].op, OP_SPECIFY_SHAPE))
            of.base = rewriter_input(r, a, 0);
        else if (!op_is(r->s, r->g->apply[a].op, OP_SUBTENSOR) ||
                 !(look_through_count(r, &of, a, steps) ||
                   look_through_slice(r, &of, a)))
            return of;
    }
    return of;
}

/* The output of a loop whose rows follow some first rows in x = concatenate([first,
 * output]); VAR_NONE: x isn't that. */
static Var rows_behind(Rewriter *r, Var x, Var *first) {
    ApplyId a = var_owner(r->g, x);
    if (a == APPLY_NONE || !op_is(r->s, r->g->apply[a].op, OP_CONCATENATE) ||
        r->g->apply[a].nin != 2 || rewriter_prop(r, &r->g->apply[a], "axis")->i != 0)
        return VAR_NONE;
    *first = rewriter_input(r, a, 0);
    return rewriter_input(r, a, 1);
}

static ApplyId loop_of(const Reuse *q, Var x) {
    const Graph *g = q->l->r->g;
    ApplyId a = x == VAR_NONE ? APPLY_NONE : var_owner(g, x);
    return a != APPLY_NONE && op_is(g->s, g->apply[a].op, OP_SCAN) ? a : APPLY_NONE;
}

/* ---- the first loop ---- */

static bool has_same_bytes(const Tensor *x, const Tensor *y) {
    return x->dtype == y->dtype && tensor_size(x) == tensor_size(y) &&
           tensor_is_contiguous(x) && tensor_is_contiguous(y) &&
           memcmp(x->data, y->data, (size_t)tensor_size(x) * dtype_size(x->dtype)) == 0;
}

/* x = row[None], as an index, by expand_dims or folded */
static bool is_single_row(Rewriter *r, Var x, Var row) {
    ApplyId id = var_owner(r->g, x);
    const Apply *a = id == APPLY_NONE ? NULL : &r->g->apply[id];
    const Tensor *c = var_const(r->g, x), *d = var_const(r->g, row);
    if (c && d)
        return c->ndim == d->ndim + 1 && c->shape[0] == 1 &&
               memcmp(c->shape + 1, d->shape, (size_t)d->ndim * sizeof *d->shape) ==
                   0 &&
               has_same_bytes(c, d);
    if (!a || rewriter_input(r, id, 0) != row) return false;
    if (rw_is(r, a, OP_SUBTENSOR))
        return strcmp(sym_text(r->s, rewriter_prop(r, a, "index")->sym), "None") == 0;
    if (!rw_is(r, a, OP_EXPAND_DIMS)) return false;
    const Prop *axis = rewriter_prop(r, a, "axis");
    return axis->kind == P_INT ? axis->i == 0
                               : axis->ints.n == 1 && axis->ints.p[0] == 0;
}

/* Is x the rows of an initial value? */
static bool is_initial(Rewriter *r, Var x, Var init, const ScanOut *out) {
    return scan_one_row(out) ? is_single_row(r, x, init) : x == init;
}

/* A loop that is run before, as often and under the same condition. */
static bool fits_before(const Reuse *q, ApplyId id) {
    Scan *l = q->l;
    const Graph *g = l->r->g;
    if (id >= l->pass->napply || g->apply[id].serial) return false;
    ScanForm f = scan_form_of(g, id, l->a);
    const uint32_t *scope = scan_scopes(l);
    return f.fn && f.fn->until == VAR_NONE && !f.checkpoint && !scan_is_opaque(f.fn) &&
           f.truncate == l->part.f.truncate && (!scope || scope[id] == scope[l->id]) &&
           scan_has_same_steps(g, rewriter_input(l->r, id, 0), l->part.arg[0]);
}

/* The rows of the sequences of the second loop, and what loop they come from. */
static ApplyId find_first(Reuse *q) {
    Scan *l = q->l;
    const ScanForm *f = &l->part.f;
    ApplyId found = APPLY_NONE;
    q->rows = NEW_N(l->a, f->nseq, RowsOf);
    for (size_t i = 0; i < f->nseq; i++) {
        Var initial;
        RowsOf *of = &q->rows[i];
        *of = rows_of(l->r, l->part.arg[f->seq[i].arg], l->part.arg[0]);
        ApplyId a = loop_of(q, of->base);
        if (a == APPLY_NONE) a = loop_of(q, rows_behind(l->r, of->base, &initial));
        if (a == APPLY_NONE || found != APPLY_NONE || !fits_before(q, a)) continue;
        found = a;
        q->back = of->back;
    }
    return found;
}

static bool open_first(Reuse *q, ApplyId id) {
    Scan *l = q->l, *first = &q->first;
    *first = (Scan){.r = l->r, .a = l->a, .id = id};
    scan_take_apart(first);
    if (!scan_copy_body(first)) return false;
    const Graph *fn = first->part.f.fn, *body = first->m.body;
    const uint8_t *always = scan_needed_always(first, fn);
    q->certain = NEW_N(l->a, body->nvar + 1, uint8_t);
    for (Var v = 0; v < fn->nvar; v++)
        if (first->part.map[v] != VAR_NONE) q->certain[first->part.map[v]] |= always[v];
    q->result = arena_alloc(l->a, (body->nvar + 1) * sizeof *q->result);
    for (Var v = 0; v < body->nvar; v++)
        q->result[v] = NO_RESULT;
    for (size_t o = first->part.f.nout; o-- > 0;)
        if (first->part.f.out[o].keep == SCAN_ALL) q->result[first->part.y[o]] = o;
    return true;
}

/* ---- equal inputs ---- */

/* Are these the rows off .. off + steps - 1 of steps + more? more -1: that isn't known.
 */
static bool are_steps(const RowsOf *of, int64_t off, int64_t more) {
    if (of->counted) return off == 0;
    return more >= 0 && of->low == off && of->high == more - off;
}

/* How many rows more than steps a sequence of the first loop has; -1: unknown. */
static int64_t more_rows(const Scan *first, const ScanSeq *s) {
    const Graph *g = first->r->g;
    Var x = first->part.arg[s->arg];
    const Tensor *n = var_const(g, first->part.arg[0]);
    Dim rows = rows_known(g, x);
    if (n && dim_is_known(rows)) return rows - tensor_i64(n, 0);
    return scan_has_rows(first, x) ? 0 : -1;
}

/* The state of the first loop whose rows output o has: o itself, or one with the same
 * values of which the last is kept. VAR_NONE: `initial` begins none. */
static Var state_before(const Reuse *q, size_t o, Var initial, const RowsOf *of) {
    const Scan *first = &q->first;
    const ScanForm *f = &first->part.f;
    const ScanBuilderPart *part = &first->part;
    for (size_t s = 0; s < f->nout && f->out[o].keep == SCAN_ALL; s++) {
        const ScanOut *out = &f->out[s];
        if (part->y[s] != part->y[o] || out->ntap == 0 ||
            !is_initial(first->r, initial, part->arg[out->arg], out))
            continue;
        for (size_t k = 0; k < out->ntap; k++)
            if (are_steps(of, out->depth + out->tap[k], out->depth))
                return part->in[out->in + k];
    }
    return VAR_NONE;
}

/* `of` as rows of x: those that it has, or x is all of its base backwards. False: it
 * isn't made of x. */
static bool rows_in(const Reuse *q, RowsOf *of, Var x) {
    if (of->base == x) return true;
    RowsOf turned = rows_of(q->l->r, x, q->first.part.arg[0]);
    if (turned.base != of->base || !turned.back || turned.low || turned.high ||
        turned.counted || of->counted)
        return false;
    *of = (RowsOf){x, of->high, of->low, !of->back, false};
    return true;
}

/* A row of what the first loop walks over. */
static Var twin_of_sequence(const Reuse *q, const RowsOf *of) {
    const Scan *first = &q->first;
    const ScanForm *f = &first->part.f;
    const ScanBuilderPart *part = &first->part;
    for (size_t i = 0; i < f->nseq; i++) {
        RowsOf in = *of;
        if (!rows_in(q, &in, part->arg[f->seq[i].arg]) || in.back != q->back) continue;
        for (size_t k = 0; k < f->seq[i].ntap; k++)
            if (are_steps(&in, f->seq[i].tap[k] - f->seq[i].low,
                          more_rows(first, &f->seq[i])))
                return part->in[f->seq[i].in + k];
    }
    return VAR_NONE;
}

/* What a step of the first loop knows a row of the second one's sequence as. */
static Var twin_of_row(const Reuse *q, const RowsOf *of) {
    const Scan *first = &q->first;
    const ScanForm *f = &first->part.f;
    Var initial, rows = rows_behind(first->r, of->base, &initial);
    bool result = loop_of(q, of->base) == first->id;
    if (!result && loop_of(q, rows) != first->id) return twin_of_sequence(q, of);
    if (of->back != q->back) return VAR_NONE;
    size_t o = (result ? of->base : rows) - scan_output(first, 0);
    if (!result) return state_before(q, o, initial, of);
    return f->out[o].keep == SCAN_ALL && are_steps(of, 0, 0) ? first->part.y[o]
                                                             : VAR_NONE;
}

static void set_twin(Reuse *q, Var v, Var twin) {
    const Graph *fn = q->l->part.f.fn;
    if (twin != VAR_NONE && var_type(q->first.m.body, twin) == var_type(fn, v))
        q->twin[v] = twin;
}

/* Other arguments are the same in each step of both. */
static void match_others(Reuse *q) {
    const ScanBuilderPart *x = &q->first.part, *y = &q->l->part;
    Graph *body = q->first.m.body;
    const Graph *g = q->l->r->g;
    Map in = MAP(g->s);
    for (size_t i = 0; i < x->f.nother; i++)
        map_put(&in, x->arg[x->f.other_arg + i], x->in[x->f.other_in + i]);
    for (size_t i = 0; i < y->f.nother; i++) {
        Var v = y->f.fn->inputs.p[y->f.other_in + i], arg = y->arg[y->f.other_arg + i];
        const Tensor *c = var_const(g, arg);
        uint64_t have;
        if (c && c->ndim == 0)
            set_twin(q, v, graph_share_const(body, g, arg, true));
        else if (map_get(&in, arg, &have))
            set_twin(q, v, (Var)have);
    }
    map_free(&in);
}

static void match_leaves(Reuse *q) {
    const ScanBuilderPart *x = &q->first.part, *y = &q->l->part;
    const Graph *fn = y->f.fn;
    Builder *b = &q->l->r->b;
    for (uint32_t i = 0; i < fn->nleaf; i++) {
        Var v = fn->leaf[i].var;
        if (var_is_const(fn, v))
            set_twin(q, v, graph_share_const(q->first.m.body, fn, v, true));
        for (uint32_t k = 0; var_leaf(fn, v) == LEAF_DIM && k < x->f.fn->nleaf; k++) {
            Var d = x->f.fn->leaf[k].var;
            Sym name = fn->leaf[i].name;
            if (var_leaf(x->f.fn, d) != LEAF_DIM || x->f.fn->leaf[k].name != name)
                continue;
            Var size = scan_dim_outside(b, &y->f, y->arg, name);
            if (size != VAR_NONE && size == scan_dim_outside(b, &x->f, x->arg, name))
                set_twin(q, v, x->map[d]);
        }
    }
    rewriter_grow(q->l->r);
}

static void match_rows(Reuse *q) {
    const ScanForm *f = &q->l->part.f;
    for (size_t i = 0; i < f->nseq; i++)
        if (f->seq[i].ntap == 1 && f->seq[i].tap[0] == 0)
            set_twin(q, f->fn->inputs.p[f->seq[i].in], twin_of_row(q, &q->rows[i]));
}

/* ---- equal values ---- */

static bool is_worth_keeping(Session *s, const Op *op) {
    return op_is(s, op, OP_SCAN) ||
           (!op->elemwise && op->flops && strcmp(op->flops, "0") != 0);
}

static ApplyId twin_apply(Reuse *q, ApplyId id) {
    const Graph *fn = q->l->part.f.fn;
    const Apply *a = &fn->apply[id];
    Graph *body = q->first.m.body;
    Var few[16], *in = a->nin <= 16 ? few : NEW_N(q->l->a, a->nin, Var);
    if (a->serial || a->nin == 0) return APPLY_NONE;
    for (size_t i = 0; i < a->nin; i++)
        if ((in[i] = q->twin[apply_in(fn, id)[i]]) == VAR_NONE) return APPLY_NONE;
    ApplyId have = graph_equal_apply(body, a->op, a->props, a->nin, in);
    if (have != APPLY_NONE || !a->op->comm || a->op->uneven || a->nin != 2) return have;
    Var turned[2] = {in[1], in[0]};
    return graph_equal_apply(body, a->op, a->props, 2, turned);
}

static void match_applies(Reuse *q) {
    const Graph *fn = q->l->part.f.fn;
    for (ApplyId id = 0; id < fn->napply; id++) {
        const Apply *a = &fn->apply[id];
        ApplyId twin = twin_apply(q, id);
        bool heavy = is_worth_keeping(fn->s, a->op);
        if (twin == APPLY_NONE) continue;
        for (size_t i = 0; i < a->nin; i++)
            heavy |= q->heavy[apply_in(fn, id)[i]] != 0;
        for (Var k = 0; k < a->nout; k++) {
            set_twin(q, a->out + k, q->first.m.body->apply[twin].out + k);
            q->heavy[a->out + k] = heavy && q->twin[a->out + k] != VAR_NONE;
        }
    }
}

/* ---- what to read ---- */

/* Is it a result of the first loop? */
static bool is_result(const Reuse *q, Var v) {
    return q->result[q->twin[v]] != NO_RESULT;
}

/* A tensor that every step of the first loop computes. If it takes no steps, types must
 * show the size. */
static bool may_keep(const Reuse *q, Var v) {
    const Type *t = var_type(q->l->part.f.fn, v);
    bool known = t->kind == TYPE_TENSOR && q->certain[q->twin[v]];
    for (int k = 0; known && k < t->ndim; k++)
        known = t->dim[k] != DIM_UNKNOWN || scan_takes_steps(q->l);
    return known && t->ndim < MAX_NDIM;
}

static void take_or_go_on(Reuse *q, ApplyId id) {
    const Graph *fn = q->l->part.f.fn;
    const Apply *a = &fn->apply[id];
    bool stays = false, goes_on = false, own = is_worth_keeping(fn->s, a->op);
    if (q->late)
        for (Var v = a->out; v < a->out + a->nout; v++)
            own |= q->inner[v] != 0;
    for (Var v = a->out; v < a->out + a->nout; v++) {
        stays |= !q->heavy[v] && q->live[v];
        if (!q->heavy[v] || !q->wanted[v]) continue;
        q->take[v] = is_result(q, v)         ? READ_ROWS
                     : own && may_keep(q, v) ? KEEP_ROWS
                                             : ANEW;
        goes_on |= q->take[v] == ANEW;
    }
    if (!stays && !goes_on) return;
    for (size_t i = 0; i < a->nin; i++) {
        q->wanted[apply_in(fn, id)[i]] = 1;
        q->inner[apply_in(fn, id)[i]] |= !stays && a->op->math > 0;
    }
}

/* Of tensors: other states, such as those of random numbers, are few bytes. */
static double estimate_bytes(const Type *t) {
    if (t->kind != TYPE_TENSOR) return 0;
    double n = (double)dtype_size(t->dtype);
    for (int k = 0; k < t->ndim; k++)
        n *= dim_is_known(t->dim[k]) ? (double)t->dim[k] : UNKNOWN_SIZE;
    return n;
}

/* x @ W + h @ U is kept as the sum rather than as two terms, if nothing else reads
 * these. */
static void take_later(Reuse *q, ApplyId id) {
    const Graph *fn = q->l->part.f.fn;
    const Apply *a = &fn->apply[id];
    double before = 0;
    if (a->nout != 1 || !q->heavy[a->out] || !q->wanted[a->out] || q->take[a->out] ||
        !may_keep(q, a->out))
        return;
    for (size_t i = 0; i < a->nin; i++) {
        Var v = apply_in(fn, id)[i];
        if (!q->heavy[v]) continue;
        if (q->take[v] != KEEP_ROWS || q->uses[v] != 1) return;
        before += estimate_bytes(var_type(fn, v));
    }
    if (estimate_bytes(var_type(fn, a->out)) > before) return;
    q->take[a->out] = KEEP_ROWS;
    for (size_t i = 0; i < a->nin; i++)
        q->take[apply_in(fn, id)[i]] = ANEW;
}

static void count_uses(Reuse *q) {
    const Graph *fn = q->l->part.f.fn;
    for (ApplyId id = 0; id < fn->napply; id++)
        for (size_t i = 0; q->live[fn->apply[id].out] && i < fn->apply[id].nin; i++)
            q->uses[apply_in(fn, id)[i]]++;
    for (size_t o = 0; o < fn->outputs.n; o++)
        q->uses[fn->outputs.p[o].var] += 2;
}

/* Products are kept where the second loop's own work begins to need them; `late`: what
 * follows from them. Of gates, sigmoid(x @ W[:, :n] + h @ U), the latter may be less.
 */
static void choose_from(Reuse *q, bool late) {
    const Graph *fn = q->l->part.f.fn;
    q->late = late;
    memset(q->take, ANEW, fn->nvar);
    memset(q->wanted, 0, fn->nvar);
    for (size_t o = 0; o < fn->outputs.n; o++)
        q->wanted[fn->outputs.p[o].var] = 1;
    for (ApplyId id = fn->napply; id-- > 0;)
        take_or_go_on(q, id);
    for (ApplyId id = 0; id < fn->napply; id++)
        take_later(q, id);
}

/* Of states, or of what has a state's values. */
static bool keeps_states(const Reuse *q, size_t o) {
    const ScanForm *f = &q->first.part.f;
    bool state = false;
    for (size_t s = 0; s < f->nout; s++)
        state |= f->out[s].ntap && q->first.part.y[s] == q->first.part.y[o];
    return state && f->out[o].keep == SCAN_ALL && !scan_out_is_object(f, o);
}

/* Does what would be kept take too much beside the states that are? */
static bool keeps_too_much(const Reuse *q) {
    const ScanForm *f = &q->first.part.f;
    const Graph *fn = q->l->part.f.fn;
    double states = 0, more = 0;
    for (size_t o = 0; o < f->nout; o++)
        if (keeps_states(q, o))
            states += estimate_bytes(var_type(f->fn, f->fn->outputs.p[o].var));
    for (Var v = 0; v < fn->nvar; v++)
        if (q->take[v] == KEEP_ROWS) more += estimate_bytes(var_type(fn, v));
    return more > MOST_STATES * states;
}

static void choose_taken(Reuse *q, bool *any, bool *keeps) {
    const Graph *fn = q->l->part.f.fn;
    count_uses(q);
    choose_from(q, false);
    if (keeps_too_much(q)) choose_from(q, true);
    *any = *keeps = false;
    for (Var v = 0; v < fn->nvar; v++)
        *keeps |= q->take[v] == KEEP_ROWS;
    bool drop = *keeps && (keeps_too_much(q) || scan_recomputes(q->l));
    for (Var v = 0; v < fn->nvar; v++) {
        if (drop && q->take[v] == KEEP_ROWS) q->take[v] = ANEW;
        *any |= q->take[v] != ANEW;
    }
    *keeps &= !drop;
}

/* ---- both loops anew ---- */

/* The first loop with what is kept. False: *ok says whether it failed. */
static bool rebuild_first(Reuse *q, bool *ok) {
    Scan *first = &q->first, *l = q->l;
    const Graph *fn = l->part.f.fn, *g = l->r->g;
    for (Var v = 0; v < fn->nvar; v++) {
        if (q->take[v] != KEEP_ROWS || is_result(q, v)) continue;
        size_t at = scan_builder_add_out(&first->m, var_name(fn, v), SCAN_ALL);
        first->m.out.p[at].wanted = true;
        first->m.out.p[at].made = q->twin[v];
        q->result[q->twin[v]] = at - first->part.first;
    }
    if (!(*ok = scan_rebuild(first))) return false;
    const ScanBuilderArg *out = first->m.out.p + first->part.first;
    for (size_t o = 0; o < first->part.f.nout; o++)
        if (out[o].result == VAR_NONE ||
            !type_keeps(var_type(g, scan_output(first, o)), var_type(g, out[o].result)))
            return false;
    for (size_t o = 0; o < first->part.f.nout; o++)
        scan_forward_var(l, scan_output(first, o), out[o].result);
    return true;
}

static bool read_rows(Reuse *q, Var v, bool rebuilt) {
    Scan *l = q->l;
    const Type *t = var_type(l->part.f.fn, v);
    size_t o = q->result[q->twin[v]];
    Var x = rebuilt ? q->first.m.out.p[q->first.part.first + o].result
                    : scan_output(&q->first, o);
    if (q->back) x = scan_build_expr(l, "x[::-1]", x, VAR_NONE, VAR_NONE);
    x = scan_fit_arg(&l->r->b, x, t, 1);
    rewriter_grow(l->r);
    if (x == VAR_NONE) return false;
    size_t at = scan_builder_add_seq(&l->m, var_name(l->part.f.fn, v), x, 0, t);
    l->part.map[v] = l->m.seq.p[at].tap.p[0].in;
    return true;
}

static bool reuse_values(Reuse *q, ApplyId id, bool *ok) {
    Scan *l = q->l;
    const Graph *fn = l->part.f.fn;
    bool any, keeps;
    if (!(*ok = open_first(q, id))) return false;
    q->twin = arena_alloc(l->a, (fn->nvar + 1) * sizeof(Var));
    for (Var v = 0; v < fn->nvar; v++)
        q->twin[v] = VAR_NONE;
    q->heavy = NEW_N(l->a, fn->nvar, uint8_t);
    q->wanted = NEW_N(l->a, fn->nvar, uint8_t);
    q->inner = NEW_N(l->a, fn->nvar, uint8_t);
    q->take = NEW_N(l->a, fn->nvar, uint8_t);
    q->uses = NEW_N(l->a, fn->nvar, uint32_t);
    q->live = graph_live(fn, l->a, ROOTS_RUN);
    match_leaves(q);
    match_others(q);
    match_rows(q);
    match_applies(q);
    choose_taken(q, &any, &keeps);
    if (!any || (keeps && !rebuild_first(q, ok))) return false;
    for (Var v = 0; v < fn->nvar; v++)
        if (q->take[v] != ANEW && !read_rows(q, v, keeps)) return false;
    *ok = scan_copy_body(l);
    return *ok && scan_install(l, NULL, ok);
}

static bool reuse(Scan *l, bool *ok) {
    Reuse q = {.l = l};
    scan_take_apart(l);
    const ScanForm *f = &l->part.f;
    if (scan_is_opaque(f->fn) || f->nseq == 0 || f->checkpoint ||
        f->fn->until != VAR_NONE)
        return false;
    ApplyId first = find_first(&q);
    if (first == APPLY_NONE) return false;
    bool did = reuse_values(&q, first, ok);
    scan_builder_close(&q.first.m);
    return did;
}

bool scan_reuse_pass(Rewriter *r) {
    return scan_each(r, reuse);
}
