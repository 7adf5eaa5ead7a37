/* Merges two loops that run the same number of steps, if neither needs a result of the
 * other; work common to both is then done once. Loops with `until` end together only if
 * they are the same but for the rows that they keep, as those of a value and of its
 * gradient are. */
#include "lang/lazy_scope.h"
#include "rewrite/scan/pass.h"

#include <string.h>

enum { MOST = 64 };

typedef struct ScanMerge {
    Rewriter *r;
    Arena *a;
    size_t n;
    ApplyId loop[MOST];
    uint32_t scope[MOST]; /* control dependence: lang/lazy_scope.h */
    uint64_t *needs;      /* by variable: loops that it depends on */
} ScanMerge;

static void find_live_scans(ScanMerge *m) {
    const Graph *g = m->r->g;
    uint8_t *live = graph_live(g, m->a, ROOTS_RUN | ROOTS_INIT);
    const uint32_t *scope =
        lazy_scope_any(g) ? lazy_scope_find(g, m->a, (VarList){0}) : NULL;
    m->needs = NEW_N(m->a, g->nvar, uint64_t);
    for (ApplyId id = 0; id < g->napply; id++) {
        const Apply *ap = &g->apply[id];
        uint64_t bits = 0;
        bool used = false;
        for (size_t i = 0; i < ap->nin; i++)
            bits |= m->needs[apply_in(g, id)[i]];
        for (Var k = 0; k < ap->nout; k++)
            used |= live[ap->out + k];
        if (used && op_is(g->s, ap->op, OP_SCAN) && !ap->serial && m->n < MOST) {
            m->loop[m->n] = id;
            m->scope[m->n] = scope ? scope[id] : 0;
            bits |= UINT64_C(1) << m->n++;
        }
        for (Var k = 0; k < ap->nout; k++)
            m->needs[ap->out + k] = bits;
    }
}

static uint64_t inputs_need_scans(const ScanMerge *m, ApplyId id) {
    const Graph *g = m->r->g;
    uint64_t bits = 0;
    for (size_t i = 0; i < g->apply[id].nin; i++)
        bits |= m->needs[apply_in(g, id)[i]];
    return bits;
}

static bool is_same_function(const Graph *f, const Graph *h) {
    ApplyId x, y;
    return f == h || (f->pullback == h->pullback && f->pushforward == h->pushforward &&
                      graph_equal(f, h, &x, &y, NULL));
}

static bool are_same_taps(size_t n, const int64_t *a, size_t m, const int64_t *b) {
    return n == m && (n == 0 || memcmp(a, b, n * sizeof *a) == 0);
}

/* But for the rows that are kept. */
static bool is_same_form(const ScanForm *f, const ScanForm *h) {
    bool same = f->nin == h->nin && f->nseq == h->nseq && f->nout == h->nout;
    for (size_t k = 0; same && k < f->nseq; k++)
        same =
            are_same_taps(f->seq[k].ntap, f->seq[k].tap, h->seq[k].ntap, h->seq[k].tap);
    for (size_t o = 0; same && o < f->nout; o++)
        same =
            are_same_taps(f->out[o].ntap, f->out[o].tap, h->out[o].ntap, h->out[o].tap);
    return same;
}

static bool is_same_loop(const Graph *g, ApplyId x, const ScanForm *f, ApplyId y,
                         const ScanForm *h) {
    bool same = is_same_form(f, h);
    for (size_t k = 0; same && k < f->nin; k++)
        same = apply_in(g, x)[scan_arg(f, k)] == apply_in(g, y)[scan_arg(h, k)];
    return same && is_same_function(f->fn, h->fn);
}

/* Do they end after the same step? */
static bool end_together(const Graph *g, ApplyId x, const ScanForm *f, ApplyId y,
                         const ScanForm *h) {
    return (f->fn->until == VAR_NONE && h->fn->until == VAR_NONE) ||
           is_same_loop(g, x, f, y, h);
}

static bool may_merge_scans(const ScanMerge *m, size_t x, size_t y) {
    const Graph *g = m->r->g;
    ScanForm f = scan_form_of(g, m->loop[x], m->a),
             h = scan_form_of(g, m->loop[y], m->a);
    return m->scope[x] == m->scope[y] &&
           scan_has_same_steps(g, apply_in(g, m->loop[x])[0],
                               apply_in(g, m->loop[y])[0]) &&
           end_together(g, m->loop[x], &f, m->loop[y], &h) &&
           f.truncate == h.truncate && f.checkpoint == h.checkpoint &&
           f.rows == h.rows && f.nout + h.nout <= OUT_MAX &&
           f.nin + h.nin <= UINT16_MAX / 2 &&
           !(inputs_need_scans(m, m->loop[y]) >> x & 1) &&
           !(inputs_need_scans(m, m->loop[x]) >> y & 1);
}

/* ---- dims of two bodies in one ---- */

/* Each body names its own dims. Two bodies can share one body if no name means two
 * different things, which the dims of the arguments outside show. */
static bool record_body_dims(const Graph *g, ApplyId id, const ScanForm *f, Map *dims) {
    for (size_t k = 0; k < f->nin; k++) {
        const Type *t = var_type(f->fn, f->fn->inputs.p[k]);
        const Type *x = var_type(g, apply_in(g, id)[scan_arg(f, k)]);
        int lead = x->ndim - t->ndim;
        for (int i = 0; t->kind == TYPE_TENSOR && i < t->ndim; i++) {
            uint64_t have;
            if (!dim_is_named(t->dim[i])) continue;
            Dim is = x->dim[i + lead];
            if (is == DIM_UNKNOWN) return false;
            if (map_get(dims, dim_sym(t->dim[i]), &have) && (Dim)have != is)
                return false;
            map_put(dims, dim_sym(t->dim[i]), (uint64_t)is);
        }
    }
    return true;
}

/* A last value without an initial one fails if the loop takes no step. The results of
 * another loop must not fail with it. */
static bool may_lack_last_value(const ScanMerge *m, ApplyId id) {
    const Graph *g = m->r->g;
    const Tensor *steps = var_const(g, apply_in(g, id)[0]);
    ScanForm f = scan_form_of(g, id, m->a);
    if (steps && tensor_i64(steps, 0) > 0) return false;
    for (size_t o = 0; o < f.nout; o++)
        if (f.out[o].keep == SCAN_LAST && f.out[o].ntap == 0) return true;
    return false;
}

static bool body_dims_agree(const ScanMerge *m, ApplyId x, ApplyId y) {
    const Graph *g = m->r->g;
    ScanForm f = scan_form_of(g, x, m->a), h = scan_form_of(g, y, m->a);
    Map dims = MAP(g->s);
    bool ok = record_body_dims(g, x, &f, &dims) && record_body_dims(g, y, &h, &dims);
    map_free(&dims);
    return ok;
}

/* ---- one pair ---- */

static const Var *copy_scan_args(const ScanMerge *m, ApplyId id) {
    const Apply *ap = &m->r->g->apply[id];
    return arena_copy(m->a, apply_in(m->r->g, id), ap->nin * sizeof(Var));
}

/* The results for the outputs of one of the two, which are those of `make` with the
 * numbers in `at`; false: a type would guarantee less than before. */
static bool merged_results(const ScanMerge *m, ApplyId id, const size_t *at,
                           const ScanBuilder *make, Var *before, Var *after) {
    const Graph *g = m->r->g;
    for (size_t o = 0; o < g->apply[id].nout; o++) {
        before[o] = g->apply[id].out + (Var)o;
        after[o] = make->out.p[at[o]].result;
        if (after[o] == VAR_NONE ||
            !type_keeps(var_type(g, before[o]), var_type(g, after[o])))
            return false;
    }
    return true;
}

/* One of the two. */
typedef struct MergedScan {
    ApplyId id;
    ScanForm f;
    const Var *arg;
    size_t *at; /* by output: its number in the new loop */
} MergedScan;

static MergedScan merged_scan(const ScanMerge *m, ApplyId id) {
    MergedScan x = {id, scan_form_of(m->r->g, id, m->a), copy_scan_args(m, id), NULL};
    x.at = NEW_N(m->a, x.f.nout, size_t);
    return x;
}

/* The bodies of both. */
static bool join_bodies(ScanMerge *m, ScanBuilder *make, MergedScan *x, MergedScan *y) {
    ScanBuilderPart p = scan_part(make, m->a, x->f, x->arg),
                    q = scan_part(make, m->a, y->f, y->arg);
    for (size_t o = 0; o < x->f.nout; o++)
        x->at[o] = p.first + o;
    for (size_t o = 0; o < y->f.nout; o++)
        y->at[o] = q.first + o;
    return scan_part_body(make, &p) && scan_part_body(make, &q);
}

/* The body that both have, with a further output for each value of which they keep
 * different rows. That isn't a state, so it must not be the one that is the initial
 * value if no step runs. */
static bool share_body(ScanMerge *m, ScanBuilder *make, MergedScan *x, MergedScan *y) {
    ScanBuilderPart p = scan_part(make, m->a, x->f, x->arg);
    if (!scan_part_body(make, &p)) return false;
    for (size_t o = 0; o < x->f.nout; o++) {
        x->at[o] = y->at[o] = p.first + o;
        if (x->f.out[o].keep == y->f.out[o].keep) continue;
        MergedScan *last = x->f.out[o].keep == SCAN_LAST ? x : y,
                   *other = last == x ? y : x;
        other->at[o] = scan_builder_add_out(make, x->f.fn->outputs.p[o].label,
                                            other->f.out[o].keep);
        make->out.p[other->at[o]].wanted = true;
        make->out.p[other->at[o]].made = p.y[o];
        make->out.p[last->at[o]].keep = last->f.out[o].keep;
    }
    return true;
}

static bool merge_scans(ScanMerge *m, ApplyId first, ApplyId second, bool *did) {
    Rewriter *r = m->r;
    MergedScan x = merged_scan(m, first), y = merged_scan(m, second);
    ScanBuilder make;
    scan_builder_open(&make, &r->b, x.arg[0]);
    size_t n = x.f.nout + y.f.nout;
    Var *before = NEW_N(m->a, n, Var), *after = NEW_N(m->a, n, Var);
    bool ok = x.f.fn->until == VAR_NONE ? join_bodies(m, &make, &x, &y)
                                        : share_body(m, &make, &x, &y);
    ok = ok && scan_builder_apply(&make, sym_text(r->s, x.f.fn->name));
    rewriter_grow(r);
    if (ok && merged_results(m, first, x.at, &make, before, after) &&
        merged_results(m, second, y.at, &make, before + x.f.nout, after + x.f.nout)) {
        for (size_t i = 0; i < n; i++)
            r->forward[before[i]] = after[i];
        r->dirty = *did = true;
        ok = rewriter_fired(r, r->current, n, before, after);
    }
    scan_builder_close(&make);
    return ok;
}

static bool merge_first_pair(ScanMerge *m, bool *did) {
    for (size_t x = 0; x < m->n; x++)
        for (size_t y = x + 1; y < m->n; y++)
            if (may_merge_scans(m, x, y) &&
                body_dims_agree(m, m->loop[x], m->loop[y]) &&
                may_lack_last_value(m, m->loop[x]) ==
                    may_lack_last_value(m, m->loop[y])) {
                if (!merge_scans(m, m->loop[x], m->loop[y], did)) return false;
                if (*did) return true;
            }
    return true;
}

/* One pair at a time: a merge changes which of the others can still be merged. */
bool scan_merge_pass(Rewriter *r) {
    ScanMerge m = {.r = r, .a = arena_new(r->s)};
    bool intern = r->b.intern, did = false;
    r->b.intern = true;
    find_live_scans(&m);
    bool ok = rewriter_limit_reached(r) || merge_first_pair(&m, &did);
    r->b.intern = intern;
    arena_free(m.a);
    return ok;
}
