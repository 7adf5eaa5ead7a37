/* Short vectors in rows, as vectorize makes them of vectors of two or three: x of [n,
 * 3] becomes three vectors of n. Sums over a short axis are then sums of vectors, what
 * broadcasts along it is used as it is, what is read by a constant index is one of the
 * vectors, and elements that are zero or one in all rows, as in Jacobians, are
 * constants which the other rewrites remove. All of it is elementwise work on
 * contiguous vectors, and fuses. Where values come in or go out whole, their columns
 * are read or stacked, so that it must be worth that. */
#include "rewrite/apart.h"

enum {
    SHORT_MOST = 36,   /* elements of a row, such as a matrix of 6 by 6 */
    MANY_ROWS = 256,   /* a known number of rows is at least this */
    MOST_BUILT = 4096, /* Applies */
    /* For each element of a row, in operations on a vector of rows: */
    GAIN_SUM = 4, /* over up to FEW elements, else half of it */
    GAIN_BROADCAST = 1,
    GAIN_MOVE = 2,
    GAIN_ADD_AT = 20, /* inc_subtensor */
    COST_READ = 2,    /* of a column; of more than two times FEW, which lie in several
                       * cache lines, twice that */
    COST_STACK = 4,
    FEW = 4,
    COST_BUILT = 10, /* once for what is taken apart: more Applies, larger groups */
};

static bool has_rows(const Type *t) {
    return t->kind == TYPE_TENSOR && t->ndim > 0 &&
           (dim_is_named(t->dim[0]) || t->dim[0] >= MANY_ROWS);
}

static bool has_short_rows(const Type *t) {
    int64_t n = 1;
    if (!has_rows(t) || t->ndim < 2) return false;
    for (int i = 1; n <= SHORT_MOST && i < t->ndim; i++) {
        if (!dim_is_known(t->dim[i]) || t->dim[i] > SHORT_MOST) return false;
        n *= t->dim[i];
    }
    return n > 0 && n <= SHORT_MOST;
}

/* Types are few, and neighbours share theirs. */
bool rows_any(const Graph *g) {
    const Type *last = NULL;
    for (Var v = 0; v < g->nvar; v++) {
        if (var_type(g, v) == last) continue;
        last = var_type(g, v);
        if (has_short_rows(last)) return true;
    }
    return false;
}

bool rows_worth(Rewriter *r) {
    return rows_any(r->g);
}

static void note_rows(Apart *x, const uint8_t *live) {
    for (Var v = 0; v < x->fn->nvar; v++) {
        x->lead[v] = has_rows(var_type(x->fn, v));
        int64_t n = x->lead[v] ? apart_count(x, v) : -1;
        if (live[v] && n > 0 && n <= x->most && apart_ndim(x, v) &&
            !var_is_const(x->fn, v))
            x->size[v] = (uint8_t)n;
    }
}

/* Operands with fewer elements than the result that aren't the same in all rows. */
static int64_t broadcast_operands(const Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    int64_t n = 0, all = apart_count(x, a->out);
    for (size_t i = 0; i < a->nin; i++) {
        Var v = apply_in(x->fn, id)[i];
        n += x->lead[v] ? apart_count(x, v) < all : apart_ndim(x, v) > 0;
    }
    return n;
}

static int64_t cost_of_reads(int64_t size) {
    return size > 2 * FEW ? 2 * COST_READ * size : COST_READ * size;
}

static int64_t gain_of_sum(const Apart *x, const Apply *sum, Var in) {
    int64_t size = x->size[in], results = apart_count(x, sum->out);
    return size / results > FEW ? GAIN_SUM * size / 2 : GAIN_SUM * size;
}

static void add_gain_of_apply(Apart *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    const Var *in = apply_in(x->fn, id);
    int64_t size = x->size[a->out];
    Var of = size ? a->out : in[0];
    switch ((WayApart)x->way[id]) {
    case APART_NEVER:
        for (size_t i = 0; i < a->nin; i++)
            apart_add_gain(x, in[i], -COST_STACK * (int64_t)x->size[in[i]]);
        for (Var v = a->out; v < a->out + a->nout; v++)
            apart_add_gain(x, v, -cost_of_reads(x->size[v]));
        break;
    case APART_ELEMENTWISE:
        apart_add_gain(x, a->out, GAIN_BROADCAST * size * broadcast_operands(x, id));
        break;
    case APART_SUM:
        apart_add_gain(x, in[0], gain_of_sum(x, a, in[0]));
        break;
    case APART_ARRANGED:
        for (size_t i = 0; i < a->nin && !x->size[of]; i++)
            of = in[i];
        apart_add_gain(x, of, GAIN_MOVE * (size ? size : 1));
        break;
    case APART_INCREASED:
        apart_add_gain(x, a->out, GAIN_ADD_AT * size);
        break;
    case APART_KEPT:
    case APART_REPEATED:
    case APART_FILLED:
    case APART_BRANCHES:
        break;
    }
}

/* Chooses: is there anything that is worth it, and not too much? */
static bool choose(Apart *x, const uint8_t *live, const uint8_t *root) {
    int64_t built = 0;
    bool any = false;
    note_rows(x, live);
    apart_find_ways(x);
    for (ApplyId id = 0; id < x->fn->napply; id++)
        if (live[x->fn->apply[id].out]) add_gain_of_apply(x, id);
    for (Var v = 0; v < x->fn->nvar; v++) {
        if (root[v]) apart_add_gain(x, v, -COST_STACK * (int64_t)x->size[v]);
        if (var_leaf(x->fn, v)) apart_add_gain(x, v, -cost_of_reads(x->size[v]));
        if (x->set[v] == v) apart_add_gain(x, v, -COST_BUILT);
    }
    for (Var v = 0; v < x->fn->nvar; v++)
        if (apart_is_chosen(x, v)) any = true, built += x->size[v];
    return any && built <= MOST_BUILT;
}

/* Which values have been built anew and are needed whole. */
static void mark_wanted(Apart *x, const uint8_t *live, const uint8_t *root,
                        uint8_t *wanted) {
    for (Var v = 0; v < x->fn->nvar; v++)
        wanted[v] = root[v];
    for (ApplyId id = 0; id < x->fn->napply; id++) {
        const Apply *a = &x->fn->apply[id];
        if (!live[a->out] && a->nout == 1) continue;
        if (apart_takes(x, id)) continue;
        for (size_t i = 0; i < a->nin; i++)
            wanted[apply_in(x->fn, id)[i]] = 1;
    }
}

/* Replaces them. False: diagnosed. */
static bool replace_wanted(Apart *x, const uint8_t *made, const uint8_t *wanted,
                           Var nvar) {
    Rewriter *r = x->r;
    size_t n = 0;
    Var *was = apart_room(x, nvar), *now = apart_room(x, nvar);
    for (Var v = 0; v < nvar; v++) {
        if (!made[v] || !wanted[v]) continue;
        Var w = apart_whole(x, v);
        if (x->failed || !type_keeps(var_type(r->g, v), var_type(r->g, w))) return true;
        was[n] = v;
        now[n++] = w;
    }
    rewriter_grow(r);
    for (size_t i = 0; i < n; i++)
        r->forward[was[i]] = now[i];
    return n == 0 || rewriter_fired(r, r->current, n, was, now);
}

static bool take_apart(Apart *x, const uint8_t *live, const uint8_t *root) {
    Rewriter *r = x->r;
    ApplyId napply = r->g->napply;
    Var nvar = r->g->nvar;
    uint8_t *wanted = NEW_N(x->a, nvar + 1, uint8_t),
            *made = NEW_N(x->a, nvar + 1, uint8_t);
    size_t mark = diag_count(r->s);
    mark_wanted(x, live, root, wanted);
    for (Var v = 0; v < nvar; v++)
        x->whole[v] = v;
    for (ApplyId id = 0; id < napply; id++) {
        const Apply a = r->g->apply[id];
        if (!live[a.out] || !apart_takes(x, id)) continue;
        r->b.from = (Origin){r->g->origin[id].at, r->db->entry.p[r->current].name};
        if (!apart_apply(x, id)) return rewriter_forget(r, mark), true;
        made[a.out] = 1;
    }
    bool ok = replace_wanted(x, made, wanted, nvar);
    if (x->failed) rewriter_forget(r, mark);
    return ok;
}

bool rows_pass(Rewriter *r) {
    Arena *a = arena_new(r->s);
    Apart x;
    apart_new(&x, r, a, r->g, &r->b);
    x.most = SHORT_MOST;
    const uint8_t *live = graph_live(r->g, a, ROOTS_RUN | ROOTS_INIT),
                  *root = graph_root_marks(r->g, a, ROOTS_RUN | ROOTS_INIT);
    bool ok = !choose(&x, live, root) || take_apart(&x, live, root);
    rewriter_grow(r);
    arena_free(a);
    return ok;
}
