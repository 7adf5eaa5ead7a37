/* Recomputing instead of keeping. Kept variables divide the forward part into levels:
 * the level of an Apply is the largest number of kept variables on a path from a leaf
 * to it. Whatever the gradient of an Apply reads is recomputed at that Apply's level,
 * from kept values read `after` the gradients of the kept variables made at that level:
 * by then the backward walk has reached the segment and needs it. This creates no
 * cycle, since the gradient of a variable made at a level depends only on gradients at
 * higher levels. Where a level has no kept variable (past the last one), or its
 * gradient doesn't exist yet, the gradient reads the forward values directly. */
#include "ad/checkpoint.h"

#include <stdlib.h>

typedef struct Recompute {
    Builder *b;
    const GradTrace *t;
    Checkpoint how;
    Arena *tmp;
    uint8_t *keep;   /* by variable below t->nvar */
    uint32_t *level; /* by variable below t->nvar: level of its Apply */
    uint32_t nlevel;
    Vec(Var) * token; /* by level: gradients of the kept variables made there */
    Map copy;         /* level and variable -> its recomputed value */
    Var *now;         /* by variable from t->nvar on: its replacement */
    Vec(Var) todo;
    Vec(ApplyId) stretch;
} Recompute;

bool ad_is_small(const Graph *g, const Checkpoint *how, Var v) {
    const Type *t = var_type(g, v);
    if (var_leaf(g, v) != LEAF_NOT || t->kind != TYPE_TENSOR) return true;
    int64_t n = type_size(t);
    return t->ndim == 0 || (n >= 0 && n <= how->few);
}

/* ---- levels ---- */
static uint32_t level_of_inputs(const Recompute *c, ApplyId a) {
    const Graph *g = c->b->g;
    uint32_t level = 0;
    for (size_t i = 0; i < g->apply[a].nin; i++) {
        Var x = apply_in(g, a)[i];
        uint32_t at = c->level[x] + (c->keep[x] != 0);
        if (at > level) level = at;
    }
    return level;
}

static void assign_levels(Recompute *c) {
    const Graph *g = c->b->g;
    c->level = NEW_N(c->tmp, c->t->nvar, uint32_t);
    for (ApplyId a = 0; a < c->t->napply; a++) {
        uint32_t level = level_of_inputs(c, a);
        for (size_t k = 0; k < g->apply[a].nout; k++)
            c->level[g->apply[a].out + k] = level;
        if (level >= c->nlevel) c->nlevel = level + 1;
    }
    c->token = arena_zalloc(c->tmp, c->nlevel, sizeof *c->token);
    for (Var v = 0; v < c->t->nvar; v++) {
        Var bar = c->t->bar[v];
        if (!c->keep[v] || bar == GRAD_DISCONNECTED || bar < c->t->nvar) continue;
        if (var_leaf(g, bar) == LEAF_NOT && !var_is_null(g, bar))
            vec_push(c->b->s, &c->token[c->level[v]], bar);
    }
}

/* ---- recomputing ---- */
static uint64_t level_key(uint32_t level, Var v) {
    return (uint64_t)level << 32 | v;
}

/* x, read only after the gradients at `level` are computed; gradients made later than
 * `from` don't exist yet. */
static Var read_after(Recompute *c, uint32_t level, Var x, Var from) {
    Builder *b = c->b;
    Vec(Var) in = {0};
    vec_push(b->s, &in, x);
    for (size_t i = 0; i < c->token[level].n; i++)
        if (c->token[level].p[i] < from)
            vec_push(b->s, &in, c->now[c->token[level].p[i] - c->t->nvar]);
    Var v = apply_named(b, "after", in.n, in.p, 0, NULL);
    vec_free(&in);
    return v;
}

/* A kept value or a leaf, as read at a level: a single Apply shared by all readers
 * there. */
static Var kept_source(Recompute *c, uint32_t level, Var x, Var from) {
    uint64_t have;
    if (map_get(&c->copy, level_key(level, x), &have)) return (Var)have;
    Var v = read_after(c, level, x, from);
    if (v != VAR_NONE) map_put(&c->copy, level_key(level, x), v);
    return v;
}

/* Is v read as it is, because it is kept, small or the result of an effect? */
static bool is_never_recomputed(const Recompute *c, Var v) {
    const Graph *g = c->b->g;
    if (c->keep[v] || ad_is_small(g, &c->how, v)) return true;
    ApplyId a = var_owner(g, v);
    const Apply *ap = &g->apply[a];
    return op_has_effect(g, ap->op, ap->props) && !ap->op->identity;
}

/* Collects the Applies between v and values that aren't recomputed. */
static void find_segment(Recompute *c, uint32_t level, Var v) {
    const Graph *g = c->b->g;
    c->stretch.n = 0;
    c->todo.n = 0;
    vec_push(c->b->s, &c->todo, v);
    while (c->todo.n) {
        Var x = c->todo.p[--c->todo.n];
        if (is_never_recomputed(c, x) || map_get(&c->copy, level_key(level, x), NULL))
            continue;
        ApplyId a = var_owner(g, x);
        for (size_t k = 0; k < g->apply[a].nout; k++)
            map_put(&c->copy, level_key(level, g->apply[a].out + (Var)k), VAR_NONE);
        vec_push(c->b->s, &c->stretch, a);
        for (size_t i = 0; i < g->apply[a].nin; i++)
            vec_push(c->b->s, &c->todo, apply_in(g, a)[i]);
    }
}

/* The variable that a recomputed Apply reads at a level in place of x. Sets
 * *recompute_var if it differs from x. */
static Var recomputed_input(Recompute *c, uint32_t level, Var x, Var from,
                            bool *recompute_var) {
    uint64_t have;
    if (c->keep[x] && !ad_is_small(c->b->g, &c->how, x)) {
        *recompute_var = true;
        return kept_source(c, level, x, from);
    }
    if (map_get(&c->copy, level_key(level, x), &have) && have != VAR_NONE) {
        *recompute_var |= (Var)have != x;
        return (Var)have;
    }
    return x;
}

/* Recomputes an Apply. Effects are not repeated: their input passes through. An Apply
 * whose inputs are all leaves has nothing to wait for, so its first input that isn't
 * constant is read `after` the gradients instead. */
static bool recompute_apply(Recompute *c, uint32_t level, ApplyId a, Var from) {
    Builder *b = c->b;
    const Apply ap = b->g->apply[a];
    Var *in = mem_alloc(b->s, ap.nin * sizeof *in + 1),
        *out = mem_alloc(b->s, ap.nout * sizeof *out);
    bool recompute_var = false, ok = true;
    for (size_t i = 0; ok && i < ap.nin; i++)
        ok = (in[i] = recomputed_input(c, level, apply_in(b->g, a)[i], from,
                                       &recompute_var)) != VAR_NONE;
    for (size_t i = 0; ok && !recompute_var && i < ap.nin; i++) {
        if (var_is_const(b->g, in[i]) || ap.op->effect) continue;
        ok = (in[i] = kept_source(c, level, in[i], from)) != VAR_NONE;
        recompute_var = true;
    }
    if (ok && ap.op->effect)
        out[0] = in[0];
    else if (ok)
        ok = op_apply(b, ap.op, ap.props, ap.nin, in, out);
    for (size_t k = 0; ok && k < ap.nout; k++)
        map_put(&c->copy, level_key(level, ap.out + (Var)k), out[k]);
    mem_free(in);
    mem_free(out);
    return ok;
}

/* The variable that a gradient at this level reads in place of v. */
static Var recompute_var(Recompute *c, uint32_t level, Var v, Var from) {
    uint64_t have;
    if (is_never_recomputed(c, v)) return v;
    if (!map_get(&c->copy, level_key(level, v), &have)) {
        find_segment(c, level, v);
        if (c->stretch.n > 1)
            qsort(c->stretch.p, c->stretch.n, sizeof *c->stretch.p, mem_compare_u32);
        for (size_t i = 0; i < c->stretch.n; i++) {
            Origin was = ad_origin(c->b, c->stretch.p[i], "recomputation");
            bool ok = recompute_apply(c, level, c->stretch.p[i], from);
            c->b->from = was;
            if (!ok) return VAR_NONE;
        }
        map_get(&c->copy, level_key(level, v), &have);
    }
    return (Var)have;
}

/* ---- the gradients' Applies ---- */
static bool has_token(const Recompute *c, uint32_t level, Var from) {
    for (size_t i = 0; i < c->token[level].n; i++)
        if (c->token[level].p[i] < from) return true;
    return false;
}

static bool rewire_gradient_apply(Recompute *c, ApplyId a) {
    Builder *b = c->b;
    const Apply ap = b->g->apply[a];
    ApplyId source_of = c->t->source.p[a - c->t->napply];
    bool recompute = source_of != APPLY_NONE, changed = false, ok = true;
    uint32_t level = recompute ? c->level[b->g->apply[source_of].out] : 0;
    recompute = recompute && has_token(c, level, ap.out);
    Var *in = mem_alloc(b->s, ap.nin * sizeof *in + 1);
    for (size_t i = 0; ok && i < ap.nin; i++) {
        Var x = apply_in(b->g, a)[i];
        in[i] = x >= c->t->nvar ? c->now[x - c->t->nvar]
                : recompute     ? recompute_var(c, level, x, ap.out)
                                : x;
        changed |= in[i] != x;
        ok = in[i] != VAR_NONE;
    }
    if (ok && changed) {
        Origin was = b->from;
        b->from = b->g->origin[a];
        ok = op_apply(b, ap.op, ap.props, ap.nin, in, &c->now[ap.out - c->t->nvar]);
        b->from = was;
    }
    mem_free(in);
    return ok;
}

static bool rewire_gradients(Recompute *c, uint32_t napply, size_t n, Var *grad) {
    for (ApplyId a = c->t->napply; a < napply; a++)
        if (!rewire_gradient_apply(c, a)) return false;
    for (size_t i = 0; i < n; i++)
        if (grad[i] != GRAD_DISCONNECTED && grad[i] >= c->t->nvar)
            grad[i] = c->now[grad[i] - c->t->nvar];
    return true;
}

/* ---- choosing what to keep ---- */
static void mark_gradient_reads(const Graph *g, const GradTrace *t, uint8_t *needed) {
    for (ApplyId a = t->napply; a < g->napply; a++)
        for (size_t i = 0; i < g->apply[a].nin; i++)
            if (apply_in(g, a)[i] < t->nvar) needed[apply_in(g, a)[i]] = 1;
}

/* Tensors of few elements are kept as long as all of them together are an eighth of
 * what the gradient reads: to compute a mean again takes everything that it is of. */
static int64_t choose_few(const Graph *g, uint32_t nvar, const uint8_t *needed) {
    enum { FEW = 64, EIGHTH = 8 };
    const Checkpoint few = {.few = FEW}, one = {.few = 1};
    double small = 0, all = 0;
    for (Var v = 0; v < nvar; v++) {
        if (!needed[v] || ad_is_small(g, &one, v)) continue;
        double bytes = ad_estimate_bytes(g, v);
        if (ad_is_small(g, &few, v)) small += bytes;
        all += bytes;
    }
    return small * EIGHTH <= all ? FEW : 1;
}

static void mark_kept(Recompute *c) {
    Graph *g = c->b->g;
    Checkpoint *how = &c->how;
    uint8_t *needed = NEW_N(c->tmp, c->t->nvar, uint8_t);
    mark_gradient_reads(g, c->t, needed);
    how->few = choose_few(g, c->t->nvar, needed);
    if (how->automatic) ad_choose_kept(c->b, c->t, how, needed, c->keep);
    for (size_t i = 0; i < how->keep.n; i++)
        c->keep[how->keep.p[i]] = var_leaf(g, how->keep.p[i]) == LEAF_NOT;
    for (size_t i = 0; i < how->alive.n; i++) {
        Var v = how->alive.p[i];
        if (v < c->t->nvar && !ad_is_small(g, &c->how, v)) c->keep[v] = 1;
    }
}

bool ad_checkpoint(Builder *b, const GradTrace *t, const Checkpoint *how, size_t n,
                   Var *grad) {
    Recompute c = {
        .b = b, .t = t, .how = *how, .tmp = arena_new(b->s), .copy = MAP(b->s)};
    uint32_t napply = b->g->napply, nvar = b->g->nvar;
    c.keep = NEW_N(c.tmp, t->nvar, uint8_t);
    mark_kept(&c);
    assign_levels(&c);
    c.now = NEW_N(c.tmp, nvar - t->nvar, Var);
    for (Var v = t->nvar; v < nvar; v++)
        c.now[v - t->nvar] = v;
    b->g->litter = true;
    bool ok = rewire_gradients(&c, napply, n, grad);
    for (uint32_t k = 0; k < c.nlevel; k++)
        vec_free(&c.token[k]);
    vec_free(&c.todo);
    vec_free(&c.stretch);
    map_free(&c.copy);
    arena_free(c.tmp);
    return ok;
}
