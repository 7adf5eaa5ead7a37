#include "op/shards.h"

#include "op/services.h"

#include <string.h>

/* ---- the props ---- */

static bool flag_places(const Prop *p, size_t n, ShardResult flag, ShardResult *out) {
    for (size_t i = 0; i < p->ints.n; i++) {
        int64_t k = p->ints.p[i];
        if (k < 0 || (uint64_t)k >= n || out[k] != SHARD_ROWS) return false;
        out[k] = flag;
    }
    return true;
}

bool shard_form(Session *s, const Op *op, const Props *props, size_t nargs, size_t nout,
                Arena *a, ShardForm *out) {
    const Prop *split = op_prop(s, op, props, "split");
    *out = (ShardForm){.shards = op_prop(s, op, props, "shards")->i,
                       .split = NEW_N(a, nargs + 1, bool),
                       .result = NEW_N(a, nout + 1, ShardResult)};
    for (size_t i = 0; i < split->ints.n; i++) {
        int64_t k = split->ints.p[i];
        if (k < 0 || (uint64_t)k >= nargs) return false;
        out->split[k] = true;
    }
    return flag_places(op_prop(s, op, props, "sum"), nout, SHARD_SUM, out->result) &&
           flag_places(op_prop(s, op, props, "stack"), nout, SHARD_STACK, out->result);
}

bool *shards_inputs(const Graph *g, Arena *a) {
    bool *is = NEW_N(a, g->inputs.n + 1, bool);
    for (ApplyId id = 0; id < g->napply; id++) {
        const Apply *p = &g->apply[id];
        if (!op_is(g->s, p->op, OP_EACH_SHARD)) continue;
        ShardForm f;
        if (!shard_form(g->s, p->op, p->props, p->nin - 1U, p->nout, a, &f)) continue;
        for (size_t k = 0; k + 1 < p->nin; k++)
            for (size_t i = 0; f.split[k] && i < g->inputs.n; i++)
                is[i] |= g->inputs.p[i] == apply_in(g, id)[k + 1];
    }
    return is;
}

/* ---- sums ---- */
/* level[k] is the sum of 2^k adjacent shards that waits for its neighbour. */
enum { LEVELS = 17 };
typedef struct TreeSum {
    Tensor level[LEVELS];
    bool has[LEVELS];
} TreeSum;

static bool copy_to_level(Session *s, TreeSum *t, const Tensor *v) {
    Tensor *to = &t->level[0];
    if (to->data && !tensor_same_shape(to, v)) tensor_unref(to);
    if (!to->data && !tensor_new(s, v->dtype, v->ndim, v->shape, to)) return false;
    tensor_assign(to, v);
    return true;
}

static bool fail_shapes(const ShardRun *r, size_t k, const char *why) {
    return fail(
        r->s, r->at, E_RUN_SHAPE,
        "each_shard: output %zu has not the same shape for all shards: it can't "
        "be %s",
        k, why);
}

/* Adds what comes next, as long as there is a neighbour for it; the sum moves up, and
 * the storage that was there comes down. */
static bool add_contiguous(const ShardRun *r, size_t k, TreeSum *t, const Tensor *v) {
    unsigned at = 0;
    for (const Tensor *high = v; t->has[at]; high = &t->level[at++]) {
        if (!tensor_same_shape(&t->level[at], high)) return fail_shapes(r, k, "summed");
        ranks_combine(r->s, OP_ADD, v->dtype, (size_t)tensor_size(v), t->level[at].data,
                      high->data, t->level[at].data);
        t->has[at] = false;
    }
    t->has[at] = true;
    if (at == 0) return copy_to_level(r->s, t, v);
    Tensor sum = t->level[at - 1];
    t->level[at - 1] = t->level[at];
    t->level[at] = sum;
    return true;
}

static bool add_to_tree(const ShardRun *r, size_t k, TreeSum *t, const Tensor *v) {
    Tensor copy = {0};
    if (tensor_is_contiguous(v)) return add_contiguous(r, k, t, v);
    bool ok = tensor_clone(r->s, v, &copy) && add_contiguous(r, k, t, &copy);
    tensor_unref(&copy);
    return ok;
}

/* A power of two of shards leaves one sum. */
static void take_sum(TreeSum *t, Value *out) {
    for (unsigned i = 0; i < LEVELS; i++) {
        if (t->has[i]) {
            value_unref(out);
            *out = (Value){.kind = TYPE_TENSOR, .t = t->level[i]};
        } else {
            tensor_unref(&t->level[i]);
        }
        t->level[i] = (Tensor){0};
        t->has[i] = false;
    }
}

/* ---- rows ---- */

static bool rows_new(const ShardRun *r, const Tensor *v, bool stack, int64_t n,
                     Value *out) {
    int64_t shape[MAX_NDIM + 1];
    if (!type_ndim_fits(r->s, r->at, "a stack of results", v->ndim + stack))
        return false;
    memcpy(shape + stack, v->shape, (size_t)v->ndim * sizeof *shape);
    shape[0] = n;
    value_unref(out);
    *out = (Value){.kind = TYPE_TENSOR};
    return tensor_new(r->s, v->dtype, v->ndim + stack, shape, &out->t);
}

/* Rows [from, to) of all rows of this rank, or place `from` of a stack. */
static bool put_rows(const ShardRun *r, size_t k, const Tensor *v, int64_t from,
                     int64_t to) {
    bool stack = r->form.result[k] == SHARD_STACK;
    Tensor part = r->out[k].t;
    bool fits = part.ndim == v->ndim + stack && (stack || v->shape[0] == to - from);
    for (int d = 1; fits && d < part.ndim; d++)
        fits = part.shape[d] == v->shape[d - stack];
    if (!fits) return fail_shapes(r, k, stack ? "stacked" : "joined, row by row");
    part.data = (char *)part.data + from * part.stride[0];
    part.shape[0] = to - from;
    tensor_assign(&part, v);
    return true;
}

/* ---- all shards ---- */

typedef struct Shards {
    ShardRun *r;
    int64_t first, n; /* of this rank */
    int64_t row;      /* the first of them */
    TreeSum *sum;     /* by output */
    Value *part;      /* by argument: a shard's rows */
    const Value **in;
    bool *added; /* by output: complete, of all shards */
} Shards;

static int64_t bound(const Shards *w, int64_t i) {
    return ranks_bound(w->r->rows, w->first + i, w->r->form.shards) - w->row;
}

static bool check_rows(const Shards *w) {
    const ShardRun *r = w->r;
    int64_t due = bound(w, w->n);
    unsigned ranks = ranks_count(r->s);
    for (size_t k = 0; k < r->nargs; k++) {
        if (!r->form.split[k] || r->arg[k]->t.shape[0] == due) continue;
        Str due_text = STR(r->s);
        if (ranks > 1)
            str_printf(&due_text, " here, but this rank's share of %lld rows is %lld",
                       (long long)r->rows, (long long)due);
        else
            str_printf(&due_text, ", not %lld", (long long)due);
        fail(r->s, r->at, E_RUN_SHAPE, "each_shard: argument %zu has %lld rows%s",
             k + 1, (long long)r->arg[k]->t.shape[0], str_text(&due_text));
        str_free(&due_text);
        return note(r->s, NOWHERE,
                    "all inputs that are split must have the same number of rows");
    }
    return true;
}

static bool take_results(Shards *w, int64_t i, const Value **out) {
    ShardRun *r = w->r;
    int64_t from = bound(w, i), to = bound(w, i + 1);
    for (size_t k = 0; k < r->nout; k++) {
        const Tensor *v = &out[k]->t;
        bool stack = r->form.result[k] == SHARD_STACK;
        if (r->form.result[k] == SHARD_SUM) {
            if (w->added[k]) continue;
            if (!add_to_tree(r, k, &w->sum[k], v)) return false;
            continue;
        }
        if (i == 0 && !rows_new(r, v, stack, stack ? w->n : bound(w, w->n), &r->out[k]))
            return false;
        if (!put_rows(r, k, v, stack ? i : from, stack ? i + 1 : to)) return false;
    }
    return true;
}

static bool run_shard(Shards *w, int64_t i, const Value **out) {
    ShardRun *r = w->r;
    int64_t number = w->first + i, from = bound(w, i), to = bound(w, i + 1);
    Value id = {.kind = TYPE_TENSOR, .t = {.dtype = DT_INT64, .data = &number}};
    w->in[0] = &id;
    for (size_t k = 0; k < r->nargs; k++) {
        w->in[k + 1] = r->arg[k];
        if (!r->form.split[k]) continue;
        w->part[k] = *r->arg[k];
        Tensor *t = &w->part[k].t;
        t->data = (char *)t->data + from * t->stride[0];
        t->shape[0] = to - from;
        w->in[k + 1] = &w->part[k];
    }
    return r->run(r->ctx, i, w->in, out) && take_results(w, i, out);
}

int64_t shards_here(const ShardRun *r) {
    return r->form.shards / ranks_count(r->s);
}

bool shards_add_last(ShardRun *r, size_t k, const Tensor *v) {
    TreeSum *t = &r->now->sum[k];
    if (!add_to_tree(r, k, t, v)) return false;
    take_sum(t, &r->out[k]);
    return r->now->added[k] = true;
}

bool shards_run(ShardRun *r) {
    int64_t ranks = ranks_count(r->s), shards = r->form.shards;
    if (shards % ranks)
        return fail(r->s, r->at, E_RUN,
                    "each_shard: %lld shards can't be divided among %lld ranks: use at "
                    "most one rank for each shard",
                    (long long)shards, (long long)ranks);
    Arena *a = arena_new(r->s);
    Shards w = {.r = r,
                .n = shards_here(r),
                .first = shards_here(r) * ranks_rank(r->s),
                .sum = NEW_N(a, r->nout + 1, TreeSum),
                .part = NEW_N(a, r->nargs + 1, Value),
                .in = NEW_N(a, r->nargs + 1, const Value *),
                .added = NEW_N(a, r->nout + 1, bool)};
    r->now = &w;
    w.row = ranks_bound(r->rows, w.first, shards);
    const Value **out = NEW_N(a, r->nout + 1, const Value *);
    bool ok = check_rows(&w);
    for (int64_t i = 0; ok && i < w.n; i++)
        ok = run_shard(&w, i, out);
    for (size_t k = 0; k < r->nout; k++)
        take_sum(&w.sum[k], &r->out[k]);
    arena_free(a);
    return ok;
}
