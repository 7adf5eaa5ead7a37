/* Batching: the graph between some variables and others is built once more, for many
 * rows at once. Ids are a topological order, so a walk back from the results marks what
 * is needed, and a walk forward rebuilds it, Apply by Apply, by the ops' rules. */
#include "ad/batch.h"

typedef struct Rebuild {
    Builder *b;
    Arena *tmp, *scratch; /* of all, of one Apply */
    Var first;            /* the first variable that changes */
    uint32_t n, napply;   /* when the walk began */
    Var size;
    uint8_t *needed; /* by variable, from `first` on */
    Var *now;        /* what stands for it: itself where nothing changed */
    bool *rows;
} Rebuild;

static Var now(const Rebuild *r, Var v) {
    return v < r->first ? v : r->now[v - r->first];
}

static bool has_rows(const Rebuild *r, Var v) {
    return v >= r->first && r->rows[v - r->first];
}

/* Is it asked for, and not one of those that are given? */
static bool wanted(const Rebuild *r, Var v) {
    return r->needed[v - r->first] && r->now[v - r->first] == v;
}

static bool any_wanted(const Rebuild *r, const Apply *ap) {
    bool any = false;
    for (size_t k = 0; k < ap->nout; k++)
        any |= wanted(r, ap->out + (Var)k);
    return any;
}

static void mark_needed(Rebuild *r, size_t nwant, const Var *want) {
    const Graph *g = r->b->g;
    for (size_t k = 0; k < nwant; k++)
        if (want[k] >= r->first) r->needed[want[k] - r->first] = 1;
    for (ApplyId a = r->napply; a-- > 0 && g->apply[a].out >= r->first;) {
        const Apply *ap = &g->apply[a];
        bool any = any_wanted(r, ap);
        for (size_t i = 0; any && i < ap->nin; i++)
            if (apply_in(g, a)[i] >= r->first)
                r->needed[apply_in(g, a)[i] - r->first] = 1;
    }
}

static bool by_rule(Batching *q) {
    const Op *op = q->op;
    if (op->batch) return op->batch(q);
    if (op->elemwise) return batch_elementwise(q);
    return op->identity ? batch_first(q) : batch_loop(q);
}

/* Makes an Apply anew; its inputs changed, some have rows or none has. */
static bool rebuild_apply(Rebuild *r, ApplyId a, bool any_rows) {
    const Apply ap = r->b->g->apply[a];
    Arena *tmp = r->scratch;
    arena_reset(tmp);
    Var *in = NEW_N(tmp, ap.nin, Var), *out = NEW_N(tmp, ap.nout, Var);
    Var *was = arena_copy(tmp, apply_in(r->b->g, a), ap.nin * sizeof *was);
    bool *rows = NEW_N(tmp, ap.nin, bool), *out_rows = NEW_N(tmp, ap.nout, bool);
    for (size_t i = 0; i < ap.nin; i++) {
        in[i] = now(r, was[i]);
        rows[i] = has_rows(r, was[i]);
    }
    for (size_t k = 0; k < ap.nout; k++)
        out_rows[k] = any_rows;
    Batching q = {.b = r->b,
                  .g = r->b->g,
                  .id = a,
                  .op = ap.op,
                  .props = ap.props,
                  .nin = ap.nin,
                  .nout = ap.nout,
                  .was = was,
                  .in = in,
                  .rows = rows,
                  .size = r->size,
                  .out = out,
                  .out_rows = out_rows};
    bool ok = any_rows ? by_rule(&q) : op_apply(r->b, ap.op, ap.props, ap.nin, in, out);
    for (size_t k = 0; ok && k < ap.nout; k++) {
        Var at = ap.out + (Var)k - r->first;
        if (r->now[at] != ap.out + (Var)k) continue; /* given */
        r->now[at] = out[k];
        r->rows[at] = out_rows[k];
    }
    return ok;
}

static bool rebuild(Rebuild *r) {
    const Graph *g = r->b->g;
    ApplyId a = r->napply;
    while (a > 0 && g->apply[a - 1].out >= r->first)
        a--;
    for (; a < r->napply; a++) {
        const Apply *ap = &g->apply[a];
        bool needed = any_wanted(r, ap), changed = false, rows = false;
        for (size_t i = 0; needed && i < ap->nin; i++) {
            Var x = apply_in(g, a)[i];
            changed |= now(r, x) != x;
            rows |= has_rows(r, x);
        }
        if (!changed && !rows) continue;
        Origin was = r->b->from;
        r->b->from = g->origin[a];
        if (!rebuild_apply(r, a, rows)) return false;
        r->b->from = was;
    }
    return true;
}

bool ad_batch(Builder *b, size_t n, const Var *var, const Var *with, const bool *has,
              Var size, size_t nwant, const Var *want, Var *result, bool *rows) {
    Rebuild r = {.b = b,
                 .tmp = arena_new(b->s),
                 .scratch = arena_new(b->s),
                 .first = b->g->nvar,
                 .n = b->g->nvar,
                 .napply = b->g->napply,
                 .size = size};
    for (size_t i = 0; i < n; i++)
        if (var[i] < r.first) r.first = var[i];
    uint32_t room = r.n - r.first;
    r.needed = NEW_N(r.tmp, room, uint8_t);
    r.now = NEW_N(r.tmp, room, Var);
    r.rows = NEW_N(r.tmp, room, bool);
    for (uint32_t i = 0; i < room; i++)
        r.now[i] = r.first + i;
    for (size_t i = 0; i < n; i++) {
        r.now[var[i] - r.first] = with[i];
        r.rows[var[i] - r.first] = !has || has[i];
    }
    b->g->litter = true; /* one row's part of the graph */
    mark_needed(&r, nwant, want);
    bool ok = rebuild(&r);
    for (size_t k = 0; ok && k < nwant; k++) {
        result[k] = now(&r, want[k]);
        rows[k] = has_rows(&r, want[k]);
    }
    arena_free(r.tmp);
    arena_free(r.scratch);
    return ok;
}
