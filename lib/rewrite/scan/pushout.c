/* Moves work out of a loop. What a step computes from invariants is computed once,
 * before the loop. What it computes from rows of sequences alone is computed for all
 * steps at once: products of rows become one matrix product. */
#include "op/index_text.h"
#include "rewrite/scan/pass.h"

#include <string.h>

/* ---- invariants ---- */

/* Variables of the body that depend on no row and no state. */
static uint8_t *find_invariants(const Scan *l) {
    const ScanForm *f = &l->part.f;
    uint8_t *fixed = NEW_N(l->a, f->fn->nvar, uint8_t);
    for (size_t i = 0; i < f->nother; i++)
        fixed[f->fn->inputs.p[f->other_in + i]] = 1;
    scan_spread_invariants(f->fn, fixed);
    return fixed;
}

static bool is_computed(const Graph *fn, Var v) {
    return var_owner(fn, v) != APPLY_NONE;
}

/* The edge of a marked part of the body: computed inside it, read outside it. */
static uint8_t *find_edge(const Scan *l, const uint8_t *in) {
    const Graph *fn = l->part.f.fn;
    uint8_t *edge = NEW_N(l->a, fn->nvar, uint8_t);
    for (ApplyId a = 0; a < fn->napply; a++)
        for (size_t i = 0; !in[fn->apply[a].out] && i < fn->apply[a].nin; i++) {
            Var v = apply_in(fn, a)[i];
            edge[v] |= in[v] && is_computed(fn, v);
        }
    for (size_t o = 0; o < fn->outputs.n; o++) {
        Var v = fn->outputs.p[o].var;
        edge[v] |= in[v] && is_computed(fn, v);
    }
    if (fn->until != VAR_NONE && in[fn->until] && is_computed(fn, fn->until))
        edge[fn->until] = 1;
    return edge;
}

/* Sizes computed from dims stay in the body, where types depend on them. */
static void keep_sizes(const Scan *l, uint8_t *edge) {
    const Graph *fn = l->part.f.fn;
    uint8_t *size = NEW_N(l->a, fn->nvar, uint8_t);
    for (Var v = 0; v < fn->nvar; v++)
        size[v] = var_is_const(fn, v) || var_leaf(fn, v) == LEAF_DIM;
    for (ApplyId a = 0; a < fn->napply; a++) {
        const Apply *ap = &fn->apply[a];
        const Type *t = var_type(fn, ap->out);
        bool all = ap->nout == 1 && t->kind == TYPE_TENSOR && t->ndim <= 1 &&
                   dtype_is_integer(t->dtype);
        for (size_t i = 0; all && i < ap->nin; i++)
            all = size[apply_in(fn, a)[i]];
        size[ap->out] = all;
        if (all) edge[ap->out] = 0;
    }
}

/* Fills stay in the body; what gives them their sizes may come from outside. */
static void keep_fills(const Scan *l, const uint8_t *in, uint8_t *edge) {
    const Graph *fn = l->part.f.fn;
    for (ApplyId a = fn->napply; a-- > 0;) {
        if (!edge[fn->apply[a].out] || !scan_is_fill(fn, fn->apply[a].out)) continue;
        edge[fn->apply[a].out] = 0;
        for (size_t i = 0; i < fn->apply[a].nin; i++) {
            Var v = apply_in(fn, a)[i];
            edge[v] |= in[v] && is_computed(fn, v);
        }
    }
}

static bool hoist_invariants(Scan *l, bool *ok) {
    bool any = false;
    scan_take_apart(l);
    const Graph *fn = l->part.f.fn;
    if (scan_is_opaque(fn)) return false;
    uint8_t *fixed = find_invariants(l), *edge = find_edge(l, fixed),
            *always = scan_needed_always(l, fn);
    keep_fills(l, fixed, edge);
    keep_sizes(l, edge);
    Outside out = outside_new(l);
    for (Var v = 0; v < fn->nvar; v++) {
        const Type *t = var_type(fn, v);
        if (!edge[v] || !always[v]) continue;
        Var made = outside_make(&out, v), x = scan_fit_arg(&l->r->b, made, t, 0);
        rewriter_grow(l->r);
        bool fails = out.fails[v] || x != made;
        if (fails) x = scan_tries_step(l) ? VAR_NONE : scan_if_steps(l, x, false);
        if (x == VAR_NONE) continue;
        size_t at = scan_builder_add_other(&l->m, var_name(fn, v), x, t);
        l->part.map[v] = l->m.other.p[at].tap.p[0].in;
        any = true;
    }
    if (!any) return false;
    *ok = scan_copy_body(l);
    return *ok && scan_install(l, NULL, ok);
}

bool scan_hoist_pass(Rewriter *r) {
    return scan_each(r, hoist_invariants);
}

/* ---- work on rows ---- */

enum { IN_LOOP, FIXED, ROWS };
typedef struct PushOut {
    Scan *l;
    const Graph *fn;
    Outside out;     /* invariants, and all rows of other variables */
    uint8_t *kind;   /* by variable of the body */
    uint8_t *heavy;  /* worth more than a pass over its elements */
    uint8_t *take;   /* chosen to come from outside */
    uint8_t *always; /* every step needs it */
    uint8_t *sizing; /* its values may decide a size */
    bool sure;       /* what was just made can't fail itself */
    bool turned;     /* all sequences are read backwards: rows are in their stored
                      * order */
} PushOut;

static const Apply *body_maker(const PushOut *q, Var v) {
    ApplyId a = var_owner(q->fn, v);
    return a == APPLY_NONE ? NULL : &q->fn->apply[a];
}

static int body_rank(const PushOut *q, Var v) {
    return var_type(q->fn, v)->ndim;
}

/* The x of an argument x[::-1]. VAR_NONE: it isn't one. */
static Var turned_from(Scan *l, Var x) {
    Rewriter *r = l->r;
    ApplyId a = var_owner(r->g, x);
    int64_t step;
    if (a == APPLY_NONE || !rw_is(r, &r->g->apply[a], OP_SUBTENSOR) ||
        r->g->apply[a].nin != 2 ||
        strcmp(sym_text(r->s, rewriter_prop(r, &r->g->apply[a], "index")->sym),
               "::$") != 0 ||
        !rewriter_int_const(r, rewriter_input(r, a, 1), &step) || step != -1)
        return VAR_NONE;
    return rewriter_input(r, a, 0);
}

/* Does a sequence certainly have enough rows for a tap? */
static bool reaches_all(const Scan *l, Var x, int64_t first) {
    const Tensor *n = var_const(l->r->g, l->part.arg[0]);
    Dim rows = var_type(l->r->g, x)->dim[0];
    return n && dim_is_known(rows) && rows - first >= tensor_i64(n, 0);
}

/* The rows of a sequence that one tap reads, in the order of the steps, or in stored
 * order for a reversed sequence. VAR_NONE: there may be too few rows, an error that
 * only the loop would report. */
static Var rows_of_tap(PushOut *q, const ScanSeq *s, int64_t tap) {
    Scan *l = q->l;
    Var x = l->part.arg[s->arg];
    bool whole = s->low == 0 && s->high == 0 && scan_has_rows(l, x);
    if (q->turned) return turned_from(l, x);
    if (whole) return x;
    if (!reaches_all(l, x, tap - s->low)) return VAR_NONE;
    return scan_build_expr(l, "x[y:y + n]", x, const_int(&l->r->b, tap - s->low),
                           l->part.arg[0]);
}

static bool all_turned(PushOut *q) {
    const ScanForm *f = &q->l->part.f;
    for (size_t i = 0; i < f->nseq; i++) {
        Var x = q->l->part.arg[f->seq[i].arg], base = turned_from(q->l, x);
        if (base == VAR_NONE || f->seq[i].low || f->seq[i].high ||
            !(scan_has_rows(q->l, x) || scan_has_rows(q->l, base)))
            return false;
    }
    return f->nseq > 0;
}

/* Classifies the inputs of a step. False: nothing to gain. */
static bool init_row_kinds(PushOut *q) {
    const ScanForm *f = &q->l->part.f;
    bool any = false;
    q->out = outside_new(q->l);
    q->turned = all_turned(q);
    for (Var v = 0; v < q->fn->nvar; v++)
        if (q->out.var[v] != VAR_NONE) q->kind[v] = FIXED;
    for (size_t i = 0; i < f->nseq; i++)
        for (size_t k = 0; k < f->seq[i].ntap; k++) {
            Var v = q->fn->inputs.p[f->seq[i].in + k];
            Var x = rows_of_tap(q, &f->seq[i], f->seq[i].tap[k]);
            if (x == VAR_NONE) continue;
            any = true;
            q->out.var[v] = x;
            q->kind[v] = ROWS;
        }
    return any;
}

/* ---- ops over all rows ---- */

static Var apply_with_axes(PushOut *q, const char *op, const char *prop, Var x,
                           Prop value) {
    Rewriter *r = q->l->r;
    const Op *o = op_find(r->s, op, strlen(op));
    PropArg arg = {prop, value};
    return rewriter_apply(r, o, props_make(r->s, o, 1, &arg), 1, &x);
}

/* Rows of lower rank than the result get axes of 1 after the first. */
static Var raise_rank(PushOut *q, Var x, int from, int to) {
    int64_t axis[MAX_NDIM];
    for (int i = 0; i < to - from; i++)
        axis[i] = 1 + i;
    if (from == to) return x;
    return apply_with_axes(q, "expand_dims", "axis", x,
                           PROP_INTS(axis, (size_t)(to - from)));
}

static Var elementwise_rows(PushOut *q, const Apply *a, const Var *in) {
    Rewriter *r = q->l->r;
    int most = var_type(q->fn, a->out)->ndim;
    Var x[8];
    if (a->nin > 8 || most + 1 > MAX_NDIM) return VAR_NONE;
    for (size_t i = 0; i < a->nin; i++) {
        x[i] = q->out.var[in[i]];
        if (q->kind[in[i]] == ROWS)
            x[i] = raise_rank(q, x[i], body_rank(q, in[i]), most);
        if (x[i] == VAR_NONE) return VAR_NONE;
    }
    return rewriter_apply(r, a->op, a->props, a->nin, x);
}

/* Rows times a matrix, a matrix times rows, rows times rows. */
static Var matmul_rows(PushOut *q, const Apply *a, const Var *in) {
    bool left = q->kind[in[0]] == ROWS, right = q->kind[in[1]] == ROWS;
    int x = body_rank(q, in[0]), y = body_rank(q, in[1]);
    Var pair[2] = {q->out.var[in[0]], q->out.var[in[1]]};
    if (left && right && !(x == 2 && y == 2)) return VAR_NONE;
    if (left && !right && (x > 2 || y != 2)) return VAR_NONE;
    if (!left && (x != 2 || y > 2)) return VAR_NONE;
    if (!left && y == 1) { /* W @ x: rows of x @ W.T */
        Var w = scan_build_expr(q->l, "transpose(x)", pair[0], VAR_NONE, VAR_NONE);
        pair[0] = pair[1];
        pair[1] = w;
        if (w == VAR_NONE) return w;
    }
    return rewriter_apply(q->l->r, a->op, a->props, 2, pair);
}

static Var transpose_rows(PushOut *q, const Apply *a, Var x, int n) {
    Rewriter *r = q->l->r;
    const Prop *axes = rewriter_prop(r, a, "axes");
    int64_t to[MAX_NDIM] = {0};
    if (n + 1 > MAX_NDIM) return VAR_NONE;
    for (int i = 0; i < n; i++) {
        int64_t k = axes->kind == P_INTS ? axes->ints.p[i] : n - 1 - i;
        to[i + 1] = 1 + (k < 0 ? k + n : k);
    }
    return apply_with_axes(q, "transpose", "axes", x, PROP_INTS(to, (size_t)n + 1));
}

/* A reduction over all or some axes of a row. */
static Var reduce_rows(PushOut *q, const Apply *a, Var x, int n) {
    Rewriter *r = q->l->r;
    const Signature *sig = op_signature(r->s, a->op);
    Prop *p = NEW_N(q->l->a, sig->nprop, Prop);
    int64_t axis[MAX_NDIM];
    size_t count = 0;
    memcpy(p, a->props->p, sig->nprop * sizeof *p);
    for (size_t i = 0; i < sig->nprop; i++) {
        if (sig->prop[i].type != T_AXES) continue;
        for (int k = 0; p[i].kind == P_NONE && k < n; k++)
            axis[count++] = 1 + k;
        for (size_t k = 0; p[i].kind == P_INTS && k < p[i].ints.n; k++)
            axis[count++] =
                1 + (p[i].ints.p[k] < 0 ? p[i].ints.p[k] + n : p[i].ints.p[k]);
        p[i] = PROP_INTS(axis, count);
    }
    if (count == 0) return VAR_NONE;
    return rewriter_apply(r, a->op, props_intern(r->s, sig->nprop, p), 1, &x);
}

/* x[a:b, ...] of a row, with constant numbers only: the same index behind an untouched
 * leading axis. */
static Var slice_rows(PushOut *q, const Apply *a, const Var *in) {
    Rewriter *r = q->l->r;
    const char *index = sym_text(r->s, rewriter_prop(r, a, "index")->sym);
    Var x[10];
    if (a->nin > 10) return VAR_NONE;
    for (size_t i = 0; i < a->nin; i++) {
        if (i && (q->kind[in[i]] != FIXED || body_rank(q, in[i]) != 0 ||
                  var_type(q->fn, in[i])->dtype == DT_BOOL))
            return VAR_NONE;
        x[i] = q->out.var[in[i]];
    }
    PropArg arg = {"index", PROP_STR(sym(r->s, arena_printf(q->l->a, ":, %s", index)))};
    return rewriter_apply(r, a->op, props_make(r->s, a->op, 1, &arg), a->nin, x);
}

/* The axis of x[:, i] that the only number of the index reads, beside whole axes; -1:
 * it has other parts. */
static int axis_of_number(const PushOut *q, const Apply *a, const Var *in) {
    IndexItems ix;
    int found = -1;
    const Type *t = var_type(q->fn, in[1]);
    if (a->nin != 2 || t->kind != TYPE_TENSOR || t->ndim != 0 ||
        !dtype_is_integer(t->dtype) ||
        !index_parse(sym_text(q->l->r->s, rewriter_prop(q->l->r, a, "index")->sym),
                     &ix))
        return -1;
    for (int i = 0; i < ix.n; i++) {
        const IndexItem *it = &ix.item[i];
        bool whole =
            it->kind == IX_SLICE && it->start < 0 && it->stop < 0 && it->step < 0;
        if (it->kind == IX_INPUT)
            found = i;
        else if (!whole)
            return -1;
    }
    return found;
}

static Var axis_first(PushOut *q, Var x, int axis) {
    int64_t to[MAX_NDIM];
    int n = var_type(q->l->r->g, x)->ndim;
    if (axis == 0) return x;
    to[0] = axis;
    for (int i = 0, k = 1; i < n; i++)
        if (i != axis) to[k++] = i;
    return apply_with_axes(q, "transpose", "axes", x, PROP_INTS(to, (size_t)n));
}

/* x[i] of an x that is the same in each step, by numbers i that count and certainly
 * stay within x: a slice of x has these rows. Of others the step says which one fails.
 */
static Var counted_rows(PushOut *q, const Apply *a, const Var *in) {
    int axis = q->fn->until == VAR_NONE ? axis_of_number(q, a, in) : -1;
    if (axis < 0) return VAR_NONE;
    Var x = axis_first(q, q->out.var[in[0]], axis);
    if (x == VAR_NONE) return x;
    q->sure = true;
    return read_counted_rows(q->l->r, x, q->out.var[in[1]]);
}

static Var apply_to_all_rows(PushOut *q, ApplyId id) {
    static const KnownOp reductions[] = {OP_SUM, OP_MEAN, OP_MAX, OP_MIN, OP_PROD};
    const Apply *a = &q->fn->apply[id];
    const Var *in = apply_in(q->fn, id);
    Var x = q->out.var[in[0]];
    int n = body_rank(q, in[0]);
    if (a->nout != 1 || a->serial) return VAR_NONE;
    if (a->op->elemwise) return elementwise_rows(q, a, in);
    if (rw_is(q->l->r, a, OP_MATMUL)) return matmul_rows(q, a, in);
    if (rw_is(q->l->r, a, OP_TRANSPOSE)) return transpose_rows(q, a, x, n);
    if (rw_is(q->l->r, a, OP_SUBTENSOR))
        return (q->kind[in[0]] == ROWS ? slice_rows : counted_rows)(q, a, in);
    if (rw_is(q->l->r, a, OP_ZEROS_LIKE) || rw_is(q->l->r, a, OP_ONES_LIKE))
        return rewriter_apply(q->l->r, a->op, a->props, 1, &x);
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (rw_is(q->l->r, a, reductions[i])) return reduce_rows(q, a, x, n);
    return VAR_NONE;
}

/* Does it only view its input, or take its shape? */
static bool is_view_or_fill(const PushOut *q, const Apply *a) {
    return rw_is(q->l->r, a, OP_TRANSPOSE) || rw_is(q->l->r, a, OP_SUBTENSOR) ||
           scan_is_fill(q->fn, a->out);
}

/* ---- selection ---- */

/* Can a row fail where the first one doesn't? Only by its values; all rows have one
 * shape. A loop that may end early must then not process rows beyond its end. */
static bool fails_by_row(const PushOut *q, ApplyId id) {
    const Op *op = q->fn->apply[id].op;
    return q->fn->until != VAR_NONE && op->elemwise &&
           (op->from || (op->fails && op->fails(q->fn, id)));
}

static uint8_t inputs_fail(const PushOut *q, ApplyId id) {
    uint8_t any = 0;
    for (size_t i = 0; i < q->fn->apply[id].nin; i++)
        any |= q->out.fails[apply_in(q->fn, id)[i]];
    return any;
}

static void classify_body(PushOut *q) {
    for (ApplyId id = 0; id < q->fn->napply; id++) {
        const Apply *a = &q->fn->apply[id];
        bool rows = false, all = true,
             heavy = !a->op->elemwise && !is_view_or_fill(q, a);
        for (size_t i = 0; i < a->nin; i++) {
            Var v = apply_in(q->fn, id)[i];
            rows |= q->kind[v] == ROWS;
            all &= q->kind[v] != IN_LOOP;
            heavy |= q->heavy[v] != 0;
        }
        if (!rows || !all || fails_by_row(q, id)) continue;
        q->sure = false;
        Var x = apply_to_all_rows(q, id);
        if (x == VAR_NONE) continue;
        q->out.var[a->out] = x;
        outside_note(&q->out, id);
        if (q->sure) q->out.fails[a->out] = inputs_fail(q, id);
        q->kind[a->out] = ROWS;
        q->heavy[a->out] = heavy;
    }
}

/* May the values of input i decide a size of the results? */
static bool values_decide_size(const PushOut *q, const Apply *a, size_t i) {
    static const KnownOp by_sizes[] = {
        OP_SUM,           OP_MEAN,          OP_MAX,         OP_MIN,
        OP_PROD,          OP_ANY,           OP_ALL,         OP_TRANSPOSE,
        OP_MATMUL,        OP_ZEROS_LIKE,    OP_ONES_LIKE,   OP_FULL_LIKE,
        OP_INC_SUBTENSOR, OP_SET_SUBTENSOR, OP_CONCATENATE, OP_STACK,
        OP_EXPAND_DIMS,   OP_SQUEEZE,       OP_SHAPE,       OP_SHAPE_I};
    bool unknown = false;
    for (Var v = a->out; v < a->out + a->nout; v++)
        for (int k = 0; k < var_type(q->fn, v)->ndim; k++)
            unknown |= var_type(q->fn, v)->dim[k] == DIM_UNKNOWN;
    if (!unknown || a->op->elemwise) return false;
    for (size_t k = 0; k < sizeof by_sizes / sizeof *by_sizes; k++)
        if (rw_is(q->l->r, a, by_sizes[k])) return false;
    bool reads_first = rw_is(q->l->r, a, OP_SUBTENSOR) ||
                       rw_is(q->l->r, a, OP_BROADCAST_TO) ||
                       rw_is(q->l->r, a, OP_RESHAPE);
    return !reads_first || i > 0;
}

/* Without steps, a step on zeros tells unknown sizes of rows. Where its values decide
 * them, they must stay values of the step: for others the zeros would come in later. */
static void find_sizing(PushOut *q) {
    q->sizing = NEW_N(q->l->a, q->fn->nvar, uint8_t);
    for (ApplyId id = q->fn->napply; scan_tries_step(q->l) && id-- > 0;) {
        const Apply *a = &q->fn->apply[id];
        bool passes = false;
        for (Var v = a->out; v < a->out + a->nout; v++)
            passes |= q->sizing[v];
        for (size_t i = 0; i < a->nin; i++)
            q->sizing[apply_in(q->fn, id)[i]] |= passes || values_decide_size(q, a, i);
    }
}

/* Something that stays in the loop reads v. Fills stay, too, and read no more than its
 * shape. Elementwise work on unchanged rows stays
 * with an elementwise reader: it is cheap there, whereas outside all rows of its result
 * would have to be kept. */
static void want_outside(PushOut *q, Var v, bool elementwise_reader) {
    const Apply *a = body_maker(q, v);
    if (!a || q->kind[v] != ROWS || q->take[v] || !q->always[v] || q->sizing[v]) return;
    if (scan_is_fill(q->fn, v)) return;
    if (!elementwise_reader || !a->op->elemwise || q->heavy[v]) q->take[v] = 1;
}

static void choose_taken(PushOut *q) {
    const Graph *fn = q->fn;
    for (size_t o = 0; o < fn->outputs.n; o++)
        want_outside(q, fn->outputs.p[o].var, false);
    if (fn->until != VAR_NONE) want_outside(q, fn->until, true);
    for (ApplyId id = fn->napply; id-- > 0;) {
        const Apply *a = &fn->apply[id];
        bool stays = a->nout != 1 || q->kind[a->out] == IN_LOOP ||
                     (q->kind[a->out] == ROWS && !q->take[a->out]);
        for (size_t i = 0; stays && i < a->nin; i++)
            want_outside(q, apply_in(fn, id)[i],
                         a->op->elemwise || scan_is_fill(fn, a->out));
    }
}

/* Output o from rows computed outside. */
static Var result_outside(PushOut *q, size_t o, Var rows) {
    int64_t keep = q->l->part.f.out[o].keep;
    if (keep == SCAN_ALL) return rows;
    if (keep == SCAN_LAST)
        return scan_build_expr(q->l, "x[-1]", rows, VAR_NONE, VAR_NONE);
    return scan_build_expr(q->l, "x[-n:]", rows, VAR_NONE,
                           const_int(&q->l->r->b, keep));
}

/* The rows of v in the order of the steps. */
static Var rows_in_step_order(PushOut *q, Var v) {
    Var x = q->out.var[v];
    if (q->out.fails[v]) x = scan_if_steps(q->l, x, true);
    if (x == VAR_NONE) return x;
    return q->turned ? scan_build_expr(q->l, "x[::-1]", x, VAR_NONE, VAR_NONE) : x;
}

/* An output that isn't fed back and depends on rows alone needs no loop. */
static bool replace_row_outputs(PushOut *q) {
    bool any = false;
    for (size_t o = 0; o < q->fn->outputs.n; o++) {
        Var v = q->fn->outputs.p[o].var;
        ScanBuilderArg *out = &q->l->m.out.p[q->l->part.first + o];
        if (q->kind[v] != ROWS || q->l->part.f.out[o].ntap ||
            q->fn->until != VAR_NONE || !scan_output_is_read(q->l, o))
            continue;
        Var rows = rows_in_step_order(q, v);
        if (rows == VAR_NONE ||
            !scan_replace_output(q->l, o, result_outside(q, o, rows)))
            continue;
        out->wanted = false;
        any = true;
    }
    return any;
}

static bool push_out(Scan *l, bool *ok) {
    scan_take_apart(l);
    PushOut q = {.l = l, .fn = l->part.f.fn};
    if (scan_is_opaque(q.fn) || l->part.f.nseq == 0 || l->part.f.checkpoint)
        return false;
    q.kind = NEW_N(l->a, q.fn->nvar, uint8_t);
    q.heavy = NEW_N(l->a, q.fn->nvar, uint8_t);
    q.take = NEW_N(l->a, q.fn->nvar, uint8_t);
    q.always = scan_needed_always(l, q.fn);
    if (!init_row_kinds(&q)) return false;
    classify_body(&q);
    find_sizing(&q);
    bool any = replace_row_outputs(&q);
    choose_taken(&q);
    for (Var v = 0; v < q.fn->nvar; v++) {
        const Type *t = var_type(q.fn, v);
        if (!q.take[v]) continue;
        Var x = scan_fit_arg(&l->r->b, rows_in_step_order(&q, v), t, 1);
        rewriter_grow(l->r);
        if (x == VAR_NONE) continue;
        size_t at = scan_builder_add_seq(&l->m, var_name(q.fn, v), x, 0, t);
        l->part.map[v] = l->m.seq.p[at].tap.p[0].in;
        any = true;
    }
    if (!any) return false;
    *ok = scan_copy_body(l);
    return *ok && scan_install(l, NULL, ok);
}

bool scan_pushout_pass(Rewriter *r) {
    return scan_each(r, push_out);
}
