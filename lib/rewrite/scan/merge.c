/* Merges two loops that run the same number of steps under the same condition, if
 * neither needs a result of the other; work common to both is then done once. */
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

static bool may_merge_scans(const ScanMerge *m, size_t x, size_t y) {
    const Graph *g = m->r->g;
    ScanForm f = scan_form_of(g, m->loop[x], m->a),
             h = scan_form_of(g, m->loop[y], m->a);
    return m->scope[x] == m->scope[y] &&
           scan_has_same_steps(g, apply_in(g, m->loop[x])[0],
                               apply_in(g, m->loop[y])[0]) &&
           f.fn->until == VAR_NONE && h.fn->until == VAR_NONE &&
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

/* The results for the outputs of one of the two; false: a type would guarantee less
 * than before. */
static bool merged_results(const ScanMerge *m, ApplyId id, const ScanBuilderPart *p,
                           const ScanBuilder *make, Var *before, Var *after) {
    const Graph *g = m->r->g;
    for (size_t o = 0; o < p->f.nout; o++) {
        before[o] = g->apply[id].out + (Var)o;
        after[o] = make->out.p[p->first + o].result;
        if (after[o] == VAR_NONE ||
            !type_keeps(var_type(g, before[o]), var_type(g, after[o])))
            return false;
    }
    return true;
}

static bool merge_scans(ScanMerge *m, ApplyId x, ApplyId y, bool *did) {
    Rewriter *r = m->r;
    const Var *ax = copy_scan_args(m, x), *ay = copy_scan_args(m, y);
    ScanBuilder make;
    scan_builder_open(&make, &r->b, ax[0]);
    ScanBuilderPart p = scan_part(&make, m->a, scan_form_of(r->g, x, m->a), ax),
                    q = scan_part(&make, m->a, scan_form_of(r->g, y, m->a), ay);
    size_t n = p.f.nout + q.f.nout;
    Var *before = NEW_N(m->a, n, Var), *after = NEW_N(m->a, n, Var);
    bool ok = scan_part_body(&make, &p) && scan_part_body(&make, &q) &&
              scan_builder_apply(&make, sym_text(r->s, p.f.fn->name));
    rewriter_grow(r);
    if (ok && merged_results(m, x, &p, &make, before, after) &&
        merged_results(m, y, &q, &make, before + p.f.nout, after + p.f.nout)) {
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
