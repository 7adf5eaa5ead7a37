/* How ops treat rows: by their rows in part/rows.c, where it matters only that each row
 * is computed from its own, or that all rows are summed and the like. What a shard can
 * do and a part of its own can't, or the other way around, has a row in the table at
 * the end: shapes and positions of rows, reshapes that merge rows with other axes,
 * draws, loops. */
#include "part/part.h"
#include "rewrite/parallel/parallel.h"

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

bool split_is_index_op(Session *s, const Op *op) {
    return op_is(s, op, OP_SUBTENSOR) || op_is(s, op, OP_INC_SUBTENSOR) ||
           op_is(s, op, OP_SET_SUBTENSOR);
}

/* ---- ops that part/rows.c knows ---- */

static int64_t at_least_one(int64_t n) {
    return n ? n : 1;
}

static Crossing crossing_of(const SplitApply *p, const Part *y) {
    static const struct {
        KnownOp op;
        Crossing how;
    } known[] = {{OP_MEAN, CROSS_MEAN},        {OP_MAX, CROSS_MAX},
                 {OP_MIN, CROSS_MIN},          {OP_ANY, CROSS_ANY},
                 {OP_ALL, CROSS_ALL},          {OP_LOGSUMEXP, CROSS_LOGSUMEXP},
                 {OP_INC_SUBTENSOR, CROSS_INC}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (op_is(p->w->s, p->op, known[i].op)) return known[i].how;
    return y->term == TERM_SUM ? CROSS_SUM : CROSS_NONE;
}

static bool take_part(const SplitApply *p, const Part *y, Spread *out,
                      Crossing *crossing) {
    for (size_t k = 1; k < p->nout; k++)
        if (y[k].kind != y->kind || y[k].axis != y->axis || y[k].term != y->term)
            return split_fail(p, "its results treat rows in different ways");
    if (y->kind != PART_NONE && y->power && !op_is(p->w->s, p->op, OP_MEAN))
        return split_fail(p, "it counts the rows of a shard only");
    switch (y->kind) {
    case PART_ROWS:
        return rows_along(p, out, y->axis);
    case PART_TERM:
        *crossing = crossing_of(p, y);
        return *crossing != CROSS_NONE ||
               split_fail(p,
                          "it takes all rows at once, and is no sum or mean of them");
    case PART_NONE:
        return split_fail(p, "it %s", y->why.said);
    case PART_SAME:
    case PART_INDEX:
    case PART_SHAPE:
        break;
    }
    return split_fail(p, "what it does with rows isn't known");
}

/* Rows that are merged with other axes are as good as any along their axis. Positions
 * of rows are those of the shard where they index rows. */
static Part part_of(const SplitApply *p, size_t i) {
    const Spread *x = split_of(p, i);
    bool index = i > 0 && split_of(p, 0)->rows && split_is_index_op(p->w->s, p->op) &&
                 x->position;
    Part rows = {.kind = index ? PART_INDEX : PART_ROWS,
                 .axis = x->axis,
                 .each = at_least_one(x->before) * at_least_one(x->after)};
    return x->rows ? rows : (Part){0};
}

static bool part_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    Part *x = NEW_N(p->w->a, p->nin + 1, Part), *y = NEW_N(p->w->a, p->nout, Part);
    if (!any_rows(p)) return split_fail(p, "its shape depends on the number of rows");
    for (size_t i = 0; i < p->nin; i++)
        x[i] = part_of(p, i);
    /* What is added to a whole array is added to zeros first. */
    x[0].zero = x[0].kind == PART_SAME && op_is(p->w->s, p->op, OP_INC_SUBTENSOR);
    return part_apply(p->w->g, p->w->a, p->id, x, y) && take_part(p, y, out, crossing);
}

/* The result has the shape of the first input. */
static bool like_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    (void)crossing;
    if (!split_of(p, 0)->rows) return any_rows(p) ? rows_by_type(p, out) : true;
    return rows_along(p, out, split_of(p, 0)->axis);
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
    int axis = split_of(p, 0)->axis + r->ndim - t->ndim;
    bool counts = split_is_row_dim(p->w, r->dim[axis]) ||
                  (!dim_is_known(r->dim[axis]) && split_of(p, p->nin - 1)->counts);
    return counts ? rows_along(p, out, axis)
                  : split_fail(p, "its shape doesn't depend on the number of rows");
}

/* The sizes of dims [from, to) together; 0: not known. */
static int64_t size_between(const Type *t, int from, int to) {
    int64_t n = 1;
    for (int k = from; k < to; k++)
        if (!dim_is_known(t->dim[k]) || !i64_mul(n, t->dim[k], &n)) return 0;
    return n;
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

/* In a step of a loop: is size k of the result all rows' number, which a step has from
 * outside, rather than the shard's, or -1? */
static bool counts_all_rows(const SplitApply *p, int k) {
    const Graph *g = p->w->g;
    Var size = p->in[1];
    ApplyId a = var_owner(g, size);
    if (!p->w->steps) return false;
    if (a != APPLY_NONE && op_is(p->w->s, g->apply[a].op, OP_STACK))
        size = apply_in(g, a)[k];
    return !var_const(g, size) && !p->w->spread[size].counts;
}

/* Axes before and after the rows may merge with them, or leave them again. */
static bool reshape_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    const Type *t = split_type(p, 0), *r = var_type(p->w->g, p->out);
    const Spread *x = split_of(p, 0);
    (void)crossing;
    if (!x->rows) return split_fail(p, "it makes rows of what isn't split");
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
    if (counts_all_rows(p, to))
        return split_fail(p, "it counts all rows in a step of a loop");
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

/* ---- others ---- */

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
    {"draw", draw_rule},
    {"full", broadcast_rule},
    {"full_like", like_rule},
    {"integers", seeded_rule},
    {"normal", seeded_rule},
    {"ones", broadcast_rule},
    {"ones_like", like_rule},
    {"require", like_rule},
    {"reshape", reshape_rule},
    {"scan", split_scan_rule},
    {"shape", shape_rule},
    {"shape_i", shape_rule},
    {"sow", like_rule},
    {"sow_cond", like_rule},
    {"specify_shape", broadcast_rule},
    {"uniform", seeded_rule},
    {"zeros", broadcast_rule},
    {"zeros_like", like_rule},
};

static SplitRule *rule_of(const SplitApply *p) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].op, p->op->name) == 0) return rules[i].rule;
    return part_rule;
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
    if (rule != part_rule && rule != like_rule)
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
    return rule(p, out, crossing) && merged_rule(p, rule, out);
}
