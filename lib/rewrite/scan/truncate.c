/* A loop whose first rows alone are read takes only that many steps. The rows read must
 * be constants in the graph; if a later step could fail for lack of rows, the loop
 * stays as it is. */
#include "rewrite/scan/pass.h"

#include <string.h>

enum { MOST_ROWS = 1 << 30, MOST_SEQUENCES = 64 };

/* One index of the text of x[...], by its letters: "$", ":$", "$:$", with the numbers
 * for each $. Returns how many first rows suffice, -1: unknown. */
static int64_t rows_for_index(const char *index, const int64_t *number) {
    size_t n = strcspn(index, ",");
    if (n == 1 && *index == '$') return number[0] >= 0 ? number[0] + 1 : -1;
    if (n == 2 && strncmp(index, ":$", 2) == 0) return number[0];
    if (n == 3 && strncmp(index, "$:$", 3) == 0) return number[0] < 0 ? -1 : number[1];
    return -1;
}

/* How many first rows an Apply reads from its first input; -1: possibly all. */
static int64_t rows_from_start(Rewriter *r, ApplyId id) {
    const Apply *ap = &r->g->apply[id];
    if (!op_is(r->s, ap->op, OP_SUBTENSOR) || ap->nin < 2) return -1;
    const char *index = sym_text(r->s, rewriter_prop(r, ap, "index")->sym);
    int64_t number[2] = {0, 0};
    size_t many = 0;
    for (const char *p = index; *p && *p != ','; p++)
        many += *p == '$';
    for (size_t i = 0; i < many && i < 2; i++) {
        Var v = rewriter_input(r, id, 1 + i);
        const Type *t = var_type(r->g, v);
        if (t->ndim != 0 || t->dtype == DT_BOOL ||
            !rewriter_int_const(r, v, &number[i]))
            return -1;
    }
    for (size_t k = 1; k < ap->nin; k++) /* the rows may themselves be an index */
        if (rewriter_input(r, id, k) == rewriter_input(r, id, 0)) return -1;
    int64_t n = rows_for_index(index, number);
    return n > MOST_ROWS ? -1 : n;
}

/* The most first rows that any client reads; -1: unknown. */
static int64_t first_rows_read(const Scan *l, size_t o) {
    Var v = scan_output(l, o);
    int64_t most = 0;
    if (l->root[v]) return -1;
    for (uint32_t k = l->clients->first[v]; k < l->clients->first[v + 1]; k++) {
        ApplyId user = l->clients->client[k];
        int64_t n = apply_in(l->r->g, user)[0] == v ? rows_from_start(l->r, user) : -1;
        if (n < 0) return -1;
        if (n > most) most = n;
    }
    return most;
}

/* Does a sequence have rows for all steps, so that taking fewer hides no error? Either
 * the step count is its length, alone or as the minimum of several, or both are
 * constants. */
static bool has_rows_for_steps(const Scan *l, const ScanSeq *q) {
    const Graph *g = l->r->g;
    Var x = l->part.arg[q->arg], steps = l->part.arg[0];
    const Tensor *n = var_const(g, steps);
    Dim rows = var_type(g, x)->dim[0];
    if (n && dim_is_known(rows)) return rows - (q->high - q->low) >= tensor_i64(n, 0);
    return q->high == q->low && scan_counts_rows(l, x);
}

/* The number of steps needed, if fewer than there are: as many as are read. 0: no
 * gain. */
static bool steps_needed(Scan *l, int64_t *most) {
    const ScanForm *f = &l->part.f;
    const Tensor *n = var_const(l->r->g, l->part.arg[0]);
    bool any = false;
    *most = 0;
    if (f->fn->until != VAR_NONE || f->fn->effects.n || f->nseq > MOST_SEQUENCES)
        return false;
    for (size_t i = 0; i < f->nseq; i++)
        if (!has_rows_for_steps(l, &f->seq[i])) return false;
    for (size_t o = 0; o < f->nout; o++) {
        if (!scan_output_is_read(l, o)) continue;
        int64_t rows = f->out[o].keep == SCAN_ALL ? first_rows_read(l, o) : -1;
        if (rows < 0) return false;
        if (rows > *most) *most = rows;
        any = true;
    }
    return any && !(n && tensor_i64(n, 0) <= *most);
}

/* Was it truncated before? Then the steps are the minimum of a number and others. */
static bool is_cut_already(const Scan *l, int64_t most) {
    const Graph *g = l->r->g;
    ApplyId a = var_owner(g, l->part.arg[0]);
    if (a == APPLY_NONE || !op_is(g->s, g->apply[a].op, OP_MINIMUM)) return false;
    for (uint32_t i = 0; i < g->apply[a].nin; i++) {
        const Tensor *c = var_const(g, rewriter_input(l->r, a, i));
        if (c && tensor_i64(c, 0) <= most) return true;
    }
    return false;
}

static bool cut_steps(Scan *l, bool *ok) {
    int64_t most;
    scan_take_apart(l);
    if (!steps_needed(l, &most) || is_cut_already(l, most)) return false;
    const Tensor *n = var_const(l->r->g, l->part.arg[0]);
    Var few = const_int(&l->r->b, most);
    l->m.steps =
        n ? few : scan_build_expr(l, "minimum(x, y)", l->part.arg[0], few, VAR_NONE);
    rewriter_grow(l->r);
    if (l->m.steps == VAR_NONE) return false;
    size_t nout = l->part.f.nout;
    for (size_t o = 0; o < nout; o++)
        l->m.out.p[l->part.first + o].wanted = scan_output_is_read(l, o);
    if (!(*ok = scan_copy_body(l) && scan_rebuild(l))) return false;
    for (size_t o = 0; o < nout; o++) {
        Var x = l->m.out.p[l->part.first + o].result;
        if (x != VAR_NONE && !scan_reread_output(l, o, x)) return false;
    }
    return *ok = scan_fired(l);
}

bool scan_truncate_pass(Rewriter *r) {
    return scan_each(r, cut_steps);
}
