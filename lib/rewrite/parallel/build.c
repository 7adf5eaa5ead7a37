/* The functions of the shards, their calls, and what follows from sums over shards. All
 * is appended to the graph; what it replaces is then left out. */
#include "rewrite/parallel/build.h"

#include <string.h>

/* ---- exchanges ---- */

/* Of a result with a known shape; 0: nothing is known. */
static int64_t bytes_of(const Type *t) {
    int64_t n = (int64_t)dtype_size(t->dtype);
    for (int k = 0; k < t->ndim; k++)
        if (!dim_is_known(t->dim[k]) || !i64_mul(n, t->dim[k], &n)) return 0;
    return n;
}

/* Replaces each by its sum over all ranks, in one exchange. */
static bool sum_bucket(SplitBuild *q, size_t n, ShardOutput **x) {
    Var *in = NEW_N(q->w->a, n, Var), *out = NEW_N(q->w->a, n, Var);
    const Op *op = op_known(q->w->s, OP_ALL_SUM);
    for (size_t i = 0; i < n; i++)
        in[i] = x[i]->value;
    if (n && !op_apply(&q->b, op, props_make(q->w->s, op, 0, NULL), n, in, out))
        return false;
    for (size_t i = 0; i < n; i++)
        x[i]->value = out[i];
    return true;
}

typedef struct Bucket {
    ShardOutput **x;
    size_t n;
    int64_t bytes;
} Bucket;

static bool close_bucket(SplitBuild *q, Bucket *b) {
    bool ok = sum_bucket(q, b->n, b->x);
    b->n = 0;
    b->bytes = 0;
    return ok;
}

/* The sums of a function in few exchanges, in the order in which it makes them: each
 * large one by itself, then the small ones together. They begin as soon as the last
 * shard has made them, and some are computed with while others are under way. */
static bool sum_over_ranks(SplitBuild *q, ShardFunction *f) {
    enum { BUCKET_BYTES = 4 << 20 };
    int64_t most = q->w->o->bucket ? q->w->o->bucket : BUCKET_BYTES;
    Bucket b = {.x = NEW_N(q->w->a, f->out.n, ShardOutput *)};
    bool ok = true;
    for (int small = 0; small < 2; small++) {
        for (size_t i = 0; ok && i < f->out.n; i++) {
            ShardOutput *x = &f->out.p[i];
            if (x->how != SHARD_SUM) continue;
            int64_t own = bytes_of(var_type(q->w->g, x->value));
            if ((own < most) != (small == 1)) continue;
            if (b.n && own > most - b.bytes) ok = close_bucket(q, &b);
            b.x[b.n++] = x;
            b.bytes += own;
        }
        ok = ok && close_bucket(q, &b);
    }
    return ok;
}

/* ---- levels ---- */

/* The level of the function in which an Apply is computed, if it is from rows. */
static uint32_t function_level(const SplitBuild *q, ApplyId id) {
    const Spread *x = split_of_apply(q->w, id);
    return x->level - (q->w->crossing[id] != CROSS_NONE || x->part);
}

/* An Apply concerns its function, and the level at which a whole value is made. */
static void sort_by_level(SplitBuild *q, ApplyId n) {
    const Split *w = q->w;
    size_t *at = NEW_N(w->a, w->levels + 2, size_t);
    q->first = NEW_N(w->a, w->levels + 2, size_t);
    q->of_level = NEW_N(w->a, 2 * (size_t)n + 1, ApplyId);
    for (int fill = 0; fill < 2; fill++) {
        for (ApplyId id = 0; id < n; id++) {
            uint32_t in = function_level(q, id),
                     whole = w->spread[w->g->apply[id].out].level;
            if (fill) q->of_level[at[in]] = id;
            at[in]++;
            if (whole == in) continue;
            if (fill) q->of_level[at[whole]] = id;
            at[whole]++;
        }
        for (uint32_t k = 0; !fill && k <= w->levels; k++)
            q->first[k + 1] = q->first[k] + at[k];
        memcpy(at, q->first, (w->levels + 2) * sizeof *at);
    }
}

static bool take_results(SplitBuild *q, ShardFunction *f) {
    for (size_t i = 0; i < f->out.n; i++) {
        const ShardOutput *x = &f->out.p[i];
        if (x->how == SHARD_ROWS) {
            q->joined[x->of] = x->value;
            continue;
        }
        SplitApply p = split_apply_at(q, var_owner(q->w->g, x->of));
        q->b.from = q->w->g->origin[p.id];
        bool adds = q->w->crossing[p.id] == CROSS_INC;
        Var whole = adds ? split_whole(q, p.in[0]) : VAR_NONE;
        q->main[x->of] = crossing_finish(&p, &q->b, x->value, q->rows, whole);
        if (q->main[x->of] == VAR_NONE) return false;
    }
    return true;
}

static bool build_function(SplitBuild *q, uint32_t level) {
    ShardFunction f;
    bool ok = true;
    split_function_open(q, &f);
    for (size_t i = q->first[level]; ok && i < q->first[level + 1]; i++) {
        SplitApply p = split_apply_at(q, q->of_level[i]);
        if (split_is_live(q, &p) && function_level(q, p.id) == level)
            ok = split_function_apply(q, &f, &p);
    }
    if (ok && f.out.n)
        ok = split_function_call(q, &f) && sum_over_ranks(q, &f) && take_results(q, &f);
    else if (ok)
        graph_function_drop(f.fn);
    split_function_close(&f);
    return ok;
}

/* ---- the graph ---- */

/* Which rows are needed outside of the function that computes them? */
static bool find_leaving(SplitBuild *q, ApplyId n, Var nvar) {
    const Graph *g = q->w->g;
    for (ApplyId id = 0; id < n; id++) {
        SplitApply p = split_apply_at(q, id);
        if (!split_is_live(q, &p)) continue;
        const Spread *x = split_of_apply(q->w, id);
        uint32_t level = function_level(q, id);
        bool inside = x->rows || q->w->crossing[id] != CROSS_NONE || x->part;
        for (size_t i = 0; inside && i < p.nin; i++) {
            const Spread *in = split_of(&p, i);
            if (in->rows && !in->position && in->level < level)
                q->leaves[p.in[i]] = true;
        }
    }
    for (size_t i = 0; i < g->outputs.n; i++)
        if (q->w->spread[g->outputs.p[i].var].rows)
            q->leaves[g->outputs.p[i].var] = true;
    for (Var v = 0; v < nvar; v++) {
        if (!q->leaves[v] || !split_is_merged(&q->w->spread[v])) continue;
        SplitApply p = split_apply_at(q, var_owner(g, v));
        return split_fail(&p,
                          "its rows are merged with another axis, and are needed as "
                          "they are");
    }
    return true;
}

/* The rows of all ranks, for outputs. */
static bool gather_output(SplitBuild *q, Var v) {
    if (q->main[v] != VAR_NONE) return true;
    Var all = op_call1(&q->b, "all_gather", q->joined[v]);
    if (all != VAR_NONE)
        all = split_transposed(&q->b, all, var_type(q->w->g, v)->ndim, 0,
                               q->w->spread[v].axis);
    q->main[v] = all;
    return all != VAR_NONE;
}

static void drop_effects(SplitBuild *q, ApplyId n) {
    Graph *g = q->w->g;
    size_t kept = 0;
    for (size_t i = 0; i < g->effects.n; i++) {
        ApplyId id = g->effects.p[i];
        bool rows = id < n && q->w->spread[g->apply[id].out].rows;
        if (id >= n || (!q->dropped[id] && !rows)) g->effects.p[kept++] = id;
    }
    g->effects.n = kept;
}

static Var *none_of(SplitBuild *q) {
    Var *v = NEW_N(q->w->a, q->w->g->nvar, Var);
    memset(v, 0xff, q->w->g->nvar * sizeof *v);
    return v;
}

static bool build_all(SplitBuild *q) {
    Graph *g = q->w->g;
    const ApplyId n = g->napply;
    const Var nvar = g->nvar;
    Var own = shape_of(&q->b, q->w->first, 0);
    if (own == VAR_NONE) return false;
    if ((q->rows = op_call1(&q->b, "all_sum", own)) == VAR_NONE) return false;
    for (Var v = 0; v < nvar; v++)
        if (var_leaf(g, v) == LEAF_DIM && q->w->spread[v].counts) q->main[v] = q->rows;
    for (size_t i = 0; i < q->w->o->inputs.n; i++)
        q->joined[q->w->o->inputs.p[i]] = q->w->o->inputs.p[i];
    if (!find_leaving(q, n, nvar)) return false;
    sort_by_level(q, n);
    for (uint32_t level = 0; level < q->w->levels; level++)
        if (!split_whole_applies(q, level) || !build_function(q, level)) return false;
    for (size_t i = 0; i < g->outputs.n; i++)
        if (q->w->spread[g->outputs.p[i].var].rows &&
            !gather_output(q, g->outputs.p[i].var))
            return false;
    Var *forward = NEW_N(q->w->a, g->nvar, Var);
    for (Var v = 0; v < g->nvar; v++)
        forward[v] = v < nvar && q->main[v] != VAR_NONE ? q->main[v] : v;
    for (Var v = 0; v < nvar; v++) /* the rank's own number of rows stays its own */
        if (var_leaf(g, v) == LEAF_DIM) forward[v] = v;
    drop_effects(q, n);
    for (size_t i = 0; i < g->outputs.n; i++)
        g->outputs.p[i].var = forward[g->outputs.p[i].var];
    graph_outputs_changed(g);
    for (size_t i = 0; i < g->updates.n; i++)
        g->updates.p[i].value = forward[g->updates.p[i].value];
    graph_updates_changed(g);
    graph_compact(g, ROOTS_RUN | ROOTS_INIT, NULL, false);
    return true;
}

bool split_build(Split *w) {
    SplitBuild q = {.w = w, .b = builder(w->g, true)};
    q.main = none_of(&q);
    q.joined = none_of(&q);
    q.copy = NEW_N(w->a, w->g->nvar, ShardCopy);
    memset(q.copy, 0xff, w->g->nvar * sizeof *q.copy);
    q.leaves = NEW_N(w->a, w->g->nvar, bool);
    q.dropped = NEW_N(w->a, w->g->napply + 1, uint8_t);
    return build_all(&q);
}
