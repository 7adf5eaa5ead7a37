/* How ops treat rows. Elementwise ops, ops along axes and ops over batches are known by
 * their kind; the rest have a row in the table at the end. */
#include "op/index_text.h"
#include "rewrite/parallel/parallel.h"
#include "vmap/kit.h"

#include <string.h>

typedef bool SplitRule(const SplitApply *p, Spread *out, Crossing *crossing);

static bool any_rows(const SplitApply *p) {
    for (size_t i = 0; i < p->nin; i++)
        if (split_of(p, i)->rows) return true;
    return false;
}

static bool rows_along(const SplitApply *p, Spread *out, int axis) {
    const Type *t = var_type(p->w->g, p->out + (p->nout > 1));
    if (axis < 0 || axis >= t->ndim)
        return split_fail(p, "its result shows no axis of rows");
    out->rows = true;
    out->counts = false;
    out->axis = axis;
    return true;
}

/* By the name that the type of the result gives the number of rows. */
static bool rows_by_type(const SplitApply *p, Spread *out) {
    int axis = split_row_axis(p->w, var_type(p->w->g, p->out + (p->nout > 1)));
    if (axis < 0)
        return split_fail(p,
                          "the type of its result, %s, doesn't show which axis has "
                          "the rows",
                          type_str(p->w->s, var_type(p->w->g, p->out)));
    return rows_along(p, out, axis);
}

bool split_gives_shape(Session *s, const Op *op, size_t nin, size_t i) {
    const Signature *sig = op_signature(s, op);
    if (op_is(s, op, OP_ARANGE)) return true;
    if (op_is(s, op, OP_DRAW)) return i + 1 == nin;
    size_t k = i < signature_fixed(sig) ? i
               : sig->nrest             ? signature_list_of(sig, nin, i)
                                        : i;
    return k < sig->nin && sig->in[k].kind == IN_INTS;
}

/* ---- elementwise ---- */

/* Axes count from the last one, as shapes broadcast. */
static bool elementwise_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    int from_last = -1, ndim = var_type(p->w->g, p->out)->ndim;
    (void)crossing;
    for (size_t i = 0; i < p->nin; i++) {
        if (!split_of(p, i)->rows) continue;
        int at = split_type(p, i)->ndim - 1 - split_of(p, i)->axis;
        if (from_last >= 0 && from_last != at)
            return split_fail(p, "it pairs rows with rows along another axis");
        from_last = at;
    }
    if (from_last < 0) return true;
    for (size_t i = 0; i < p->nin; i++) {
        const Type *t = split_type(p, i);
        int at = t->ndim - 1 - from_last;
        if (!split_of(p, i)->rows && at >= 0 && t->dim[at] != 1)
            return split_fail(p,
                              "input %zu, %s, has a value for each row, too, but isn't "
                              "split",
                              i, type_str(p->w->s, t));
    }
    return rows_along(p, out, ndim - 1 - from_last);
}

/* The result has the shape of the first input. */
static bool like_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    (void)crossing;
    if (!split_of(p, 0)->rows) return any_rows(p) ? rows_by_type(p, out) : true;
    return rows_along(p, out, split_of(p, 0)->axis);
}

/* ---- axes ---- */

static Crossing reduction_of(const SplitApply *p) {
    static const struct {
        KnownOp op;
        Crossing how;
    } known[] = {{OP_SUM, CROSS_SUM},
                 {OP_MEAN, CROSS_MEAN},
                 {OP_MAX, CROSS_MAX},
                 {OP_MIN, CROSS_MIN},
                 {OP_ANY, CROSS_ANY},
                 {OP_ALL, CROSS_ALL},
                 {OP_LOGSUMEXP, CROSS_LOGSUMEXP}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (op_is(p->w->s, p->op, known[i].op)) return known[i].how;
    return CROSS_NONE;
}

/* Flags of the axes that the props name; false: it has no such prop. */
static bool axes_of(const SplitApply *p, int ndim, bool *flag) {
    const Signature *sig = op_signature(p->w->s, p->op);
    bool has = false;
    for (size_t i = 0; i < sig->nprop; i++) {
        const Prop *v = &p->props->p[i];
        bool axis = sig->prop[i].type == T_AXIS || sig->prop[i].type == T_AXES;
        if (!axis && strcmp(sym_text(p->w->s, sig->prop[i].name), "axis") != 0)
            continue;
        has = true;
        for (int k = 0; k < ndim; k++) {
            flag[k] |= v->kind == P_NONE;
            flag[k] |= v->kind == P_INT && (v->i == k || v->i + ndim == k);
            for (size_t j = 0; v->kind == P_INTS && j < v->ints.n; j++)
                flag[k] |= v->ints.p[j] == k || v->ints.p[j] + ndim == k;
        }
    }
    return has;
}

/* Along the axes something happens; along the others nothing. */
static bool axes_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    const Type *t = split_type(p, 0), *r = var_type(p->w->g, p->out);
    bool flag[MAX_NDIM] = {false};
    int row = split_of(p, 0)->axis, before = 0;
    for (size_t i = 1; i < p->nin; i++)
        if (split_of(p, i)->rows != split_of(p, 0)->rows ||
            (split_of(p, i)->rows && split_of(p, i)->axis != row))
            return split_fail(p, "some inputs have rows along another axis, or none");
    axes_of(p, t->ndim, flag);
    if (flag[row]) {
        *crossing = reduction_of(p);
        return *crossing != CROSS_NONE ||
               split_fail(p,
                          "it takes all rows at once, and is no sum or mean of them");
    }
    for (int k = 0; k < row; k++)
        before += flag[k];
    if (r->ndim == t->ndim) return rows_along(p, out, row);
    if (r->ndim < t->ndim) return rows_along(p, out, row - before);
    return rows_by_type(p, out);
}

/* New axes: the flagged ones of the result. */
static bool expand_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    bool flag[MAX_NDIM] = {false};
    int ndim = var_type(p->w->g, p->out)->ndim, left = split_of(p, 0)->axis, k = 0;
    (void)crossing;
    const Prop *v = op_prop(p->w->s, p->op, p->props, "axis");
    for (size_t j = 0; v->kind == P_INTS && j < v->ints.n; j++)
        flag[v->ints.p[j] < 0 ? v->ints.p[j] + ndim : v->ints.p[j]] = true;
    if (v->kind == P_INT) flag[v->i < 0 ? v->i + ndim : v->i] = true;
    for (; k < ndim && (flag[k] || left-- > 0); k++)
        ;
    return rows_along(p, out, k);
}

static bool transpose_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    const Prop *v = op_prop(p->w->s, p->op, p->props, "axes");
    int ndim = split_type(p, 0)->ndim, row = split_of(p, 0)->axis;
    (void)crossing;
    if (v->kind == P_NONE) return rows_along(p, out, ndim - 1 - row);
    for (size_t k = 0; k < v->ints.n; k++)
        if (v->ints.p[k] == row || v->ints.p[k] + ndim == row)
            return rows_along(p, out, (int)k);
    return rows_by_type(p, out);
}

/* ---- shapes ---- */

static bool shape_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    const Type *t = split_type(p, 0);
    (void)crossing;
    *out = (Spread){.counts = true};
    for (int k = 0; k < t->ndim; k++)
        if (k != split_of(p, 0)->axis && t->dim[k] == DIM_UNKNOWN)
            return split_fail(p, "axis %d of %s is not known", k, type_str(p->w->s, t));
    return true;
}

static bool broadcast_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    const Type *t = split_type(p, 0), *r = var_type(p->w->g, p->out);
    (void)crossing;
    if (!split_of(p, 0)->rows) return rows_by_type(p, out);
    return rows_along(p, out, split_of(p, 0)->axis + r->ndim - t->ndim);
}

/* The sizes of dims [from, to) together; 0: not known. */
static int64_t size_between(const Type *t, int from, int to) {
    int64_t n = 1;
    for (int k = from; k < to; k++)
        if (!dim_is_known(t->dim[k]) || !i64_mul(n, t->dim[k], &n)) return 0;
    return n;
}

static int64_t at_least_one(int64_t n) {
    return n ? n : 1;
}

/* The axis whose size isn't known; -1: there are several, or none. */
static int open_axis(const Type *t) {
    int found = -1;
    for (int k = 0; k < t->ndim; k++) {
        if (dim_is_known(t->dim[k])) continue;
        if (found >= 0) return -1;
        found = k;
    }
    return found;
}

/* Axes before and after the rows may merge with them, or leave them again. */
static bool reshape_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    const Type *t = split_type(p, 0), *r = var_type(p->w->g, p->out);
    const Spread *x = split_of(p, 0);
    (void)crossing;
    if (!x->rows) return rows_by_type(p, out);
    int to = open_axis(r);
    if (x->axis == 0 && !split_is_merged(x) && split_row_axis(p->w, r) == 0)
        return rows_along(p, out, 0);
    int64_t had = size_between(t, 0, x->axis),
            after = size_between(t, x->axis + 1, t->ndim),
            has = to < 0 ? 0 : size_between(r, 0, to),
            follow = to < 0 ? 0 : size_between(r, to + 1, r->ndim);
    bool known = had > 0 && after > 0 && has > 0 && follow > 0 &&
                 i64_mul(had, at_least_one(x->before), &had) &&
                 i64_mul(after, at_least_one(x->after), &after);
    if (!known || had % has || after % follow)
        return split_fail(p, "%s has no row for each row of %s", type_str(p->w->s, r),
                          type_str(p->w->s, t));
    out->before = had / has;
    out->after = after / follow;
    return rows_along(p, out, to);
}

static bool arange_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    (void)crossing;
    if (p->nin != 1 || !rows_by_type(p, out))
        return p->nin == 1 ? false : split_fail(p, "only arange(n) counts rows");
    out->position = true;
    return true;
}

/* ---- products ---- */

/* The contracted axis of a factor. */
static int inner_axis(const Type *t, size_t i) {
    return t->ndim == 1 ? 0 : i == 0 ? t->ndim - 1 : t->ndim - 2;
}

static bool product_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    const Type *a = split_type(p, 0), *b = split_type(p, 1),
               *r = var_type(p->w->g, p->out);
    const Spread *x = split_of(p, 0), *y = split_of(p, 1);
    bool xin = x->rows && x->axis == inner_axis(a, 0),
         yin = y->rows && y->axis == inner_axis(b, 1);
    if (xin && yin) return *crossing = CROSS_SUM, true;
    if (xin || yin) return split_fail(p, "it contracts the rows of one factor only");
    if (x->rows && x->axis == a->ndim - 2 && a->ndim > 1) {
        if (y->rows)
            return split_fail(p, "both factors have rows along their own axes");
        return rows_along(p, out, r->ndim - 1 - (b->ndim > 1));
    }
    if (y->rows && y->axis == b->ndim - 1 && b->ndim > 1) {
        if (x->rows)
            return split_fail(p, "both factors have rows along their own axes");
        return rows_along(p, out, r->ndim - 1);
    }
    int xl = x->rows ? a->ndim - x->axis : 0, yl = y->rows ? b->ndim - y->axis : 0;
    if (xl && yl && xl != yl) return split_fail(p, "the factors' rows don't pair");
    if ((!xl && a->ndim >= yl && a->dim[a->ndim - yl] != 1) ||
        (!yl && b->ndim >= xl && b->dim[b->ndim - xl] != 1))
        return split_fail(p, "one factor has a matrix for each row, but isn't split");
    int last = xl ? xl : yl;
    return rows_along(p, out, r->ndim - last + (a->ndim == 1) + (b->ndim == 1));
}

/* ---- index ---- */

/* What an index does at the axis of the rows of input 0. */
typedef struct IndexSeen {
    bool all;      /* takes all rows */
    bool position; /* an array that counts them */
    bool arrays;   /* with rows of their own */
    bool mask;
} IndexSeen;

static bool look_at_index(const SplitApply *p, size_t first, IndexSeen *seen) {
    IndexItems ix;
    int axis = 0, ndim = split_type(p, 0)->ndim, taken = 0;
    *seen = (IndexSeen){.all = true};
    const char *text =
        sym_text(p->w->s, op_prop(p->w->s, p->op, p->props, "index")->sym);
    if (!index_parse(text, &ix)) return split_fail(p, "its index can't be read");
    for (int k = 0; k < ix.n; k++)
        taken += ix.item[k].kind == IX_SLICE || ix.item[k].kind == IX_INPUT;
    for (int k = 0; k < ix.n; k++) {
        const IndexItem *it = &ix.item[k];
        bool here = split_of(p, 0)->rows && axis == split_of(p, 0)->axis;
        if (it->kind == IX_NEW) continue;
        if (it->kind == IX_ELLIPSIS) {
            axis += ndim - taken;
            continue;
        }
        if (it->kind == IX_SLICE) {
            if (here) seen->all = it->start < 0 && it->stop < 0 && it->step < 0;
        } else {
            size_t i = first + (size_t)it->input;
            seen->arrays |= split_of(p, i)->rows;
            seen->mask |= split_type(p, i)->dtype == DT_BOOL;
            if (here) seen->all = false;
            if (here) seen->position = split_of(p, i)->position;
        }
        axis++;
    }
    return true;
}

static bool fail_index(const SplitApply *p) {
    return split_fail(p, "its index takes some of the rows only, or in another order");
}

static bool read_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    IndexSeen seen;
    (void)crossing;
    if (!look_at_index(p, 1, &seen)) return false;
    if (seen.mask && any_rows(p))
        return split_fail(p, "how many rows a mask takes depends on them");
    if (split_of(p, 0)->rows && !seen.all && !seen.position) return fail_index(p);
    if (split_of(p, 0)->rows && seen.all && seen.arrays)
        return split_fail(p, "rows are indexed by an array with rows of its own");
    int axis = split_row_axis(p->w, var_type(p->w->g, p->out));
    bool plain = split_of(p, 0)->rows && seen.all &&
                 var_type(p->w->g, p->out)->ndim == split_type(p, 0)->ndim;
    if (axis < 0 && plain) return rows_along(p, out, split_of(p, 0)->axis);
    return rows_by_type(p, out);
}

/* x with y added or set there: input 1 is y. */
static bool written_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    IndexSeen seen;
    if (!look_at_index(p, 2, &seen)) return false;
    if (seen.mask && any_rows(p))
        return split_fail(p, "how many rows a mask takes depends on them");
    if (split_of(p, 0)->rows) {
        if (!seen.all && !seen.position) return fail_index(p);
        return rows_along(p, out, split_of(p, 0)->axis);
    }
    if (!op_is(p->w->s, p->op, OP_INC_SUBTENSOR))
        return split_fail(p, "rows overwrite elements that they share");
    *crossing = CROSS_INC;
    return true;
}

/* ---- others ---- */

static bool choice_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    int axis = -1;
    (void)crossing;
    if (split_of(p, 0)->rows)
        return split_fail(p, "rows can't decide what is computed");
    for (size_t i = 1; i < p->nin; i++) {
        if (!split_of(p, i)->rows)
            return split_fail(p, "some of its values have no rows");
        if (axis >= 0 && axis != split_of(p, i)->axis)
            return split_fail(p, "rows lie along different axes");
        axis = split_of(p, i)->axis;
    }
    return rows_along(p, out, axis);
}

static bool first_axis_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    (void)crossing;
    for (size_t i = 0; i < p->nin; i++)
        if (!split_gives_shape(p->w->s, p->op, p->nin, i) &&
            (!split_of(p, i)->rows || split_of(p, i)->axis != 0))
            return split_fail(p,
                              "not all of its inputs have rows along their first axis");
    return rows_along(p, out, 0);
}

/* Images by filters that all share. */
static bool conv_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    (void)crossing;
    for (size_t i = 1; i < p->nin; i++)
        if (split_of(p, i)->rows)
            return split_fail(p, "only the images may have rows, not the filters");
    if (split_of(p, 0)->axis != 0) return split_fail(p, "rows must come first");
    return rows_along(p, out, 0);
}

/* Of the images and what flows back to them: a sum over both. */
static bool filters_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    (void)out;
    for (size_t i = 0; i < 2; i++)
        if (!split_of(p, i)->rows || split_of(p, i)->axis != 0)
            return split_fail(p, "rows must come first in both of its inputs");
    return *crossing = CROSS_SUM, true;
}

static bool draw_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    (void)crossing;
    if (split_of(p, 0)->rows) return split_fail(p, "its state has rows");
    return rows_by_type(p, out);
}

static bool seeded_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    (void)out, (void)crossing;
    return split_fail(p,
                      "each shard would draw the same from the seed: draw from a "
                      "random state (rng=r), of which each shard has a stream of its "
                      "own");
}

typedef struct RuleRow {
    const char *op;
    SplitRule *rule;
} RuleRow;
static const RuleRow rules[] = {
    {"after", like_rule},
    {"arange", arange_rule},
    {"broadcast_to", broadcast_rule},
    {"conv", conv_rule},
    {"conv_input_grad", conv_rule},
    {"conv_transpose", conv_rule},
    {"conv_weights_grad", filters_rule},
    {"draw", draw_rule},
    {"expand_dims", expand_rule},
    {"full", broadcast_rule},
    {"full_like", like_rule},
    {"ifelse", choice_rule},
    {"inc_subtensor", written_rule},
    {"integers", seeded_rule},
    {"matmul", product_rule},
    {"normal", seeded_rule},
    {"ones", broadcast_rule},
    {"ones_like", like_rule},
    {"require", like_rule},
    {"reshape", reshape_rule},
    {"scan", split_scan_rule},
    {"set_subtensor", written_rule},
    {"shape", shape_rule},
    {"shape_i", shape_rule},
    {"sow", like_rule},
    {"sow_cond", like_rule},
    {"specify_shape", like_rule},
    {"subtensor", read_rule},
    {"transpose", transpose_rule},
    {"uniform", seeded_rule},
    {"zeros", broadcast_rule},
    {"zeros_like", like_rule},
};

static SplitRule *rule_of(const SplitApply *p) {
    bool flag[MAX_NDIM];
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].op, p->op->name) == 0) return rules[i].rule;
    if (p->op->elemwise || p->op->pick) return elementwise_rule;
    if (p->op->vmap == vmap_first_axis) return first_axis_rule;
    if (axes_of(p, 0, flag) && split_type(p, 0)->kind == TYPE_TENSOR) return axes_rule;
    return NULL;
}

/* Where rows were merged with other axes, what treats all elements of the axis alike
 * may follow. */
static bool merged_rule(const SplitApply *p, SplitRule *rule, Spread *out) {
    const Spread *first = NULL;
    for (size_t i = 0; i < p->nin; i++) {
        const Spread *x = split_of(p, i);
        if (!x->rows) continue;
        if (!first) first = x;
        if (at_least_one(x->before) != at_least_one(first->before) ||
            at_least_one(x->after) != at_least_one(first->after))
            return split_fail(p, "rows are merged with other axes in different ways");
    }
    if (!first || !split_is_merged(first) || rule == reshape_rule) return true;
    if (rule != elementwise_rule && rule != axes_rule && rule != product_rule &&
        rule != transpose_rule && rule != expand_rule && rule != like_rule)
        return split_fail(p, "rows are merged with another axis");
    out->before = first->before;
    out->after = first->after;
    return true;
}

bool split_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    bool rows = any_rows(p), shaped = false;
    for (size_t i = 0; i < p->nin; i++)
        shaped |= split_of(p, i)->counts &&
                  split_gives_shape(p->w->s, p->op, p->nin, i) &&
                  !op_is(p->w->s, p->op, OP_STACK);
    if (!rows && !shaped) return true;
    SplitRule *rule = rule_of(p);
    if (!rule)
        return split_fail(p, rows ? "what it does with rows isn't known"
                                  : "its shape depends on the number of rows");
    return rule(p, out, crossing) && merged_rule(p, rule, out);
}
