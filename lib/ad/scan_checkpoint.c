/* Recomputing inside of loops: turns long scans into scans over segments of their steps
 * (scan/checkpoint.h) before their gradient is taken. */
#include "ad/checkpoint.h"
#include "scan/revolve.h"

#include <string.h>

enum { FEW_STEPS = 8 };

typedef struct LongScans {
    Builder b;
    Graph *g;
    Arena *tmp;
    Clients clients; /* of the original Applies */
    uint8_t *root;   /* by variable: an output, or a shared variable's new value */
    Var *forward;    /* by variable: its replacement */
    int64_t every;
} LongScans;

/* Does the Apply compute x[-1], and only that? */
static bool reads_only_last_row(const Graph *g, ApplyId id) {
    const Apply *ap = &g->apply[id];
    if (!op_is(g->s, ap->op, OP_SUBTENSOR) || ap->nin != 2) return false;
    const Tensor *c = var_const(g, apply_in(g, id)[1]);
    const Prop *index = op_prop(g->s, ap->op, ap->props, "index");
    return strcmp(sym_text(g->s, index->sym), "$") == 0 && c && c->ndim == 0 &&
           dtype_is_discrete(c->dtype) && c->dtype != DT_BOOL && tensor_i64(c, 0) == -1;
}

/* How many rows of v do others than the gradient read? 0: none, 1: the last one, 2:
 * all. */
static int rows_read_elsewhere(const LongScans *l, Var v) {
    int most = 0;
    if (l->root[v]) return 2;
    for (uint32_t i = l->clients.first[v]; i < l->clients.first[v + 1]; i++) {
        int n = reads_only_last_row(l->g, l->clients.client[i]) ? 1 : 2;
        if (n > most) most = n;
    }
    return most;
}

/* Sets keep[] for the new scan. False: it gains nothing, since others read all rows of
 * its states. */
static bool choose_kept_rows(const LongScans *l, ApplyId id, const ScanForm *f,
                             int64_t *keep) {
    bool gain = false;
    for (size_t o = 0; o < f->nout; o++) {
        Var v = l->g->apply[id].out + (Var)o;
        const Type *t = var_type(l->g, v);
        int rows = f->out[o].keep == SCAN_LAST ? 0 : rows_read_elsewhere(l, v);
        keep[o] = f->out[o].keep;
        if (rows == 1 && keep[o] == SCAN_ALL) keep[o] = 1;
        bool carried = f->out[o].ntap && t->kind == TYPE_TENSOR;
        gain |= carried && dtype_is_inexact(t->dtype) && rows < 2;
    }
    return gain;
}

static bool forward_to(LongScans *l, Var v, Var x) {
    if (!type_is_super(var_type(l->g, v), var_type(l->g, x))) return false;
    l->forward[v] = x;
    return true;
}

/* Makes the clients of v, all of which only read the last row, read that of x. */
static bool reread_last_row(LongScans *l, Var v, Var x) {
    for (uint32_t i = l->clients.first[v]; i < l->clients.first[v + 1]; i++) {
        Apply ap = l->g->apply[l->clients.client[i]];
        Var in[2] = {x, l->g->in[ap.in + 1]},
            y = op_apply1(&l->b, ap.op, ap.props, 2, in);
        if (y == VAR_NONE) return false;
        forward_to(l, ap.out, y);
    }
    return true;
}

static bool has_many_steps(const Graph *g, Var steps) {
    const Tensor *n = var_const(g, steps);
    return !n || tensor_i64(n, 0) >= FEW_STEPS;
}

/* Do others read at most the last rows? */
static bool revolve_fits(const LongScans *l, ApplyId id, const ScanForm *f,
                         int64_t *keep) {
    if (revolve_why_not(l->g, id, f)) return false;
    for (size_t o = 0; o < f->nout; o++) {
        Var v = l->g->apply[id].out + (Var)o;
        if (keep[o] != SCAN_LAST && keep[o] != 1 && rows_read_elsewhere(l, v) > 0)
            return false;
    }
    for (size_t o = 0; o < f->nout; o++)
        if (keep[o] != SCAN_LAST) keep[o] = 1;
    return true;
}

static bool revolve_states(LongScans *l, ApplyId id, const ScanForm *f,
                           const int64_t *keep, Var *out) {
    bool ok = scan_revolve(&l->b, id, -l->every, out);
    for (size_t o = 0; ok && o < f->nout; o++)
        if (keep[o] == 1)
            ok = (out[o] = op_insert_axes(&l->b, out[o], 0, 1)) != VAR_NONE;
    return ok;
}

static bool segment_scan(LongScans *l, ApplyId id) {
    Var *out = NEW_N(l->tmp, OUT_MAX, Var);
    int64_t *keep = NEW_N(l->tmp, OUT_MAX, int64_t);
    ScanForm f = scan_form_of(l->g, id, l->tmp);
    Var first = l->g->apply[id].out;
    if (scan_why_no_segments(&f) || !has_many_steps(l->g, apply_in(l->g, id)[0]) ||
        !choose_kept_rows(l, id, &f, keep))
        return true;
    Origin was = ad_origin(&l->b, id, "recomputation");
    bool calls = l->every < 0 && revolve_fits(l, id, &f, keep),
         ok = calls ? revolve_states(l, id, &f, keep, out)
                    : scan_in_segments(
                          &l->b, id, l->every < 0 ? STRETCH_SQRT : l->every, keep, out);
    for (size_t o = 0; ok && o < f.nout; o++) {
        if (keep[o] != f.out[o].keep)
            ok = reread_last_row(l, first + (Var)o, out[o]);
        else
            forward_to(l, first + (Var)o, out[o]);
    }
    l->b.from = was;
    return ok;
}

static void mark_scan_reader_root(LongScans *l, Var v) {
    if (v != VAR_NONE) l->root[v] = 1;
}

bool ad_segment_scans(Graph *g, int64_t every) {
    LongScans l = {
        .b = builder(g, true), .g = g, .tmp = arena_new(g->s), .every = every};
    ApplyId n = g->napply;
    Var nvar = g->nvar;
    l.clients = graph_clients(g, l.tmp, NULL);
    l.root = NEW_N(l.tmp, nvar, uint8_t);
    l.forward = arena_alloc(l.tmp, (nvar + 1) * sizeof(Var));
    for (Var v = 0; v < nvar; v++)
        l.forward[v] = v;
    for (size_t i = 0; i < g->outputs.n; i++)
        mark_scan_reader_root(&l, g->outputs.p[i].var);
    for (size_t i = 0; i < g->updates.n; i++)
        mark_scan_reader_root(&l, g->updates.p[i].value);
    bool ok = true;
    for (ApplyId id = 0; ok && id < n; id++)
        if (op_is(g->s, g->apply[id].op, OP_SCAN) && !g->apply[id].serial)
            ok = segment_scan(&l, id);
    if (ok && g->napply > n) {
        Var *forward = arena_alloc(l.tmp, g->nvar * sizeof(Var));
        for (Var v = 0; v < g->nvar; v++)
            forward[v] = v < nvar ? l.forward[v] : v;
        graph_compact(g, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED, forward, false);
    }
    arena_free(l.tmp);
    return ok;
}
