/* Removes from loops what they don't need: results without readers, arguments that the
 * body ignores or gets twice, states that evolve identically. */
#include "rewrite/scan/pass.h"

/* States with equal initial values are assumed to be twins, until their new values turn
 * out to differ. same[o]: an earlier output, or o. */
typedef struct TwinStates {
    Scan *l;
    size_t n;
    size_t *same;
} TwinStates;

static bool begin_alike(const TwinStates *t, size_t x, size_t y) {
    const ScanForm *f = &t->l->part.f;
    const ScanOut *a = &f->out[x], *b = &f->out[y];
    if (a->ntap == 0 || a->ntap != b->ntap ||
        t->l->part.arg[a->arg] != t->l->part.arg[b->arg])
        return false;
    for (size_t k = 0; k < a->ntap; k++)
        if (a->tap[k] != b->tap[k] || var_type(f->fn, f->fn->inputs.p[a->in + k]) !=
                                          var_type(f->fn, f->fn->inputs.p[b->in + k]))
            return false;
    return true;
}

static void suppose_twins(TwinStates *t) {
    for (size_t o = 0; o < t->n; o++) {
        t->same[o] = o;
        for (size_t k = 0; k < o && t->same[o] == o; k++)
            if (t->same[k] == k && begin_alike(t, k, o)) t->same[o] = k;
    }
}

/* The body with the supposed twins merged; false: diagnosed. */
static bool body_with_twins(TwinStates *t) {
    const ScanForm *f;
    Scan *l = t->l;
    scan_take_apart(l);
    f = &l->part.f;
    for (size_t o = 0; o < t->n; o++)
        for (size_t k = 0; t->same[o] != o && k < f->out[o].ntap; k++)
            l->part.in[f->out[o].in + k] = l->part.in[f->out[t->same[o]].in + k];
    return scan_copy_body(l);
}

/* Supposed twins whose new values differ are parted: those with the same new value
 * stay together. True: all hold. */
static bool part_untrue(TwinStates *t) {
    const Var *y = t->l->part.y;
    size_t *was = arena_copy(t->l->a, t->same, t->n * sizeof *was);
    bool all = true;
    for (size_t o = 0; o < t->n; o++) {
        if (was[o] == o || y[o] == y[was[o]]) continue;
        t->same[o] = o;
        all = false;
        for (size_t k = was[o] + 1; k < o && t->same[o] == o; k++)
            if (was[k] == was[o] && t->same[k] == k && y[k] == y[o]) t->same[o] = k;
    }
    return all;
}

/* Output o is read as k instead, which has its values, if it is read; false: k has
 * other rows of them. */
static bool read_as(ScanBuilderArg *out, size_t *as, size_t o, size_t k) {
    if (!out[o].wanted) return true;
    if (!out[k].wanted) {
        as[k] = o; /* k has o's rows now, and nothing has k's */
        out[k].keep = out[o].keep;
        out[k].wanted = true;
    }
    if (out[k].keep != out[o].keep) return false;
    out[o].wanted = false;
    as[o] = k;
    return true;
}

/* Of the twins k and o, of which both are read, the output that may be the initial
 * value stays fed back. */
static void give_last_to_state(ScanBuilderArg *out, size_t *as, size_t o, size_t k) {
    if (out[o].keep != SCAN_LAST) return;
    out[o].keep = out[k].keep;
    out[k].keep = SCAN_LAST;
    for (size_t i = 0; i < o; i++)
        if (as[i] == k) as[i] = o;
    as[o] = k;
}

/* Outputs that are the same rows: output o is read as `as`. */
static void join_results(TwinStates *t, size_t *as) {
    ScanBuilderArg *out = t->l->m.out.p + t->l->part.first;
    const Var *y = t->l->part.y;
    for (size_t o = 0; o < t->n; o++) {
        as[o] = o;
        out[o].wanted = scan_output_is_read(t->l, o);
    }
    for (size_t o = 0; o < t->n; o++) {
        size_t k = t->same[o];
        if (k != o) {
            if (!read_as(out, as, o, k)) give_last_to_state(out, as, o, k);
            out[o].tap.n = 0;
        }
        for (k = 0; k < o && out[o].wanted && !out[o].tap.n; k++)
            if (out[k].wanted && !out[k].tap.n && y[k] == y[o] &&
                out[k].keep == out[o].keep) {
                for (size_t i = 0; i <= o; i++)
                    if (as[i] == o) as[i] = k;
                out[o].wanted = false;
            }
    }
}

static bool remove_unneeded(Scan *l, bool *ok) {
    TwinStates t = {.l = l};
    scan_take_apart(l);
    t.n = l->part.f.nout;
    t.same = NEW_N(l->a, t.n, size_t);
    size_t *as = NEW_N(l->a, t.n, size_t);
    if (!scan_is_opaque(l->part.f.fn))
        suppose_twins(&t);
    else
        for (size_t o = 0; o < t.n; o++)
            t.same[o] = o;
    do
        if (!(*ok = body_with_twins(&t))) return false;
    while (!part_untrue(&t));
    join_results(&t, as);
    return scan_install(l, as, ok);
}

bool scan_dce_pass(Rewriter *r) {
    return scan_each(r, remove_unneeded);
}
