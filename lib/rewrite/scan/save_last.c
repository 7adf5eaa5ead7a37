/* A loop whose last rows alone are read keeps only those; a last value beside all rows
 * is read from these. */
#include "rewrite/scan/pass.h"

#include <string.h>

/* ---- rows that are read ---- */

/* How many of the last rows an Apply reads from its first input by x[-1], x[-1, ...] or
 * x[-m:], or by the same counted from the first row; 0: also others. *to_end: not just
 * rows before the last one, without which a loop needs fewer steps. */
static int64_t rows_from_end(Rewriter *r, ApplyId id, bool *to_end) {
    const Apply *ap = &r->g->apply[id];
    int64_t i;
    if (!op_is(r->s, ap->op, OP_SUBTENSOR) || ap->nin < 2) return 0;
    const char *index = sym_text(r->s, rewriter_prop(r, ap, "index")->sym);
    Var first = rewriter_input(r, id, 1);
    bool one = index[0] == '$' && (index[1] == 0 || index[1] == ',');
    bool tail =
        index[0] == '$' && index[1] == ':' && (index[2] == 0 || index[2] == ',');
    if (!(one || tail) || var_type(r->g, first)->ndim != 0 ||
        !rewriter_int_const(r, first, &i))
        return 0;
    Dim rows = var_type(r->g, rewriter_input(r, id, 0))->dim[0];
    *to_end = tail || i < 0 || i == rows - 1;
    if (i >= 0 && dim_is_known(rows)) i -= rows;
    if (i >= 0 || i < -(1 << 30)) return 0;
    for (size_t k = 2; k < ap->nin; k++) /* the rows may themselves be an index */
        if (rewriter_input(r, id, k) == rewriter_input(r, id, 0)) return 0;
    return -i;
}

/* The most rows that any client reads; 0: all of them. */
static int64_t last_rows_read(const Scan *l, size_t o) {
    Var v = scan_output(l, o);
    int64_t most = 0;
    bool to_end = false, any_to_end = false;
    if (l->root[v]) return 0;
    for (uint32_t k = l->clients->first[v]; k < l->clients->first[v + 1]; k++) {
        ApplyId user = l->clients->client[k];
        int64_t n =
            apply_in(l->r->g, user)[0] == v ? rows_from_end(l->r, user, &to_end) : 0;
        if (n == 0) return 0;
        if (n > most) most = n;
        any_to_end |= to_end;
    }
    return any_to_end ? most : 0;
}

bool scan_reread_output(Scan *l, size_t o, Var rows) {
    Var v = scan_output(l, o);
    Rewriter *r = l->r;
    for (uint32_t k = l->clients->first[v]; k < l->clients->first[v + 1]; k++) {
        ApplyId user = l->clients->client[k];
        Apply ap = r->g->apply[user];
        Var *in = NEW_N(l->a, ap.nin, Var);
        for (size_t i = 0; i < ap.nin; i++)
            in[i] = i ? rewriter_input(r, user, i) : rows;
        Var x = rewriter_apply(r, ap.op, ap.props, ap.nin, in);
        if (!scan_forward_var(l, ap.out, x)) return false;
    }
    return true;
}

/* The same rows of what is kept, counted from its end. */
static bool read_last_rows(Scan *l, size_t o, Var rows) {
    Var v = scan_output(l, o);
    Rewriter *r = l->r;
    for (uint32_t k = l->clients->first[v]; k < l->clients->first[v + 1]; k++) {
        ApplyId user = l->clients->client[k];
        Apply ap = r->g->apply[user];
        Var *in = NEW_N(l->a, ap.nin, Var);
        bool to_end;
        in[0] = rows;
        in[1] = const_int(&r->b, -rows_from_end(r, user, &to_end));
        rewriter_grow(r);
        for (size_t i = 2; i < ap.nin; i++)
            in[i] = rewriter_input(r, user, i);
        Var x = rewriter_apply(r, ap.op, ap.props, ap.nin, in);
        if (!scan_forward_var(l, ap.out, x)) return false;
    }
    return true;
}

static bool keep_only_read_rows(Scan *l, bool *ok) {
    bool any = false;
    scan_take_apart(l);
    size_t n = l->part.f.nout;
    int64_t *rows = NEW_N(l->a, n, int64_t);
    for (size_t o = 0; o < n; o++) {
        int64_t keep = l->part.f.out[o].keep;
        ScanBuilderArg *out = &l->m.out.p[l->part.first + o];
        out->wanted = scan_output_is_read(l, o);
        if (!out->wanted || keep == SCAN_LAST) continue;
        rows[o] = last_rows_read(l, o);
        if (rows[o] == 0 || (keep > 0 && keep <= rows[o])) {
            rows[o] = 0;
            continue;
        }
        out->keep = rows[o];
        any = true;
    }
    if (!any) return false;
    if (!(*ok = scan_copy_body(l) && scan_rebuild(l))) return false;
    for (size_t o = 0; o < n; o++) {
        Var x = l->m.out.p[l->part.first + o].result;
        if (x == VAR_NONE) continue;
        if (rows[o] ? !read_last_rows(l, o, x) : !scan_replace_output(l, o, x))
            return false;
    }
    return *ok = scan_fired(l);
}

bool scan_save_last_pass(Rewriter *r) {
    return scan_each(r, keep_only_read_rows);
}

/* x[-1] of the only row kept, if it certainly exists: the value itself. */
static bool keep_last_value(Scan *l, bool *ok) {
    bool any = false;
    scan_take_apart(l);
    if (!scan_takes_steps(l)) return false;
    size_t n = l->part.f.nout;
    bool *itself = NEW_N(l->a, n, bool);
    for (size_t o = 0; o < n; o++) {
        Var v = scan_output(l, o);
        ScanBuilderArg *out = &l->m.out.p[l->part.first + o];
        out->wanted = scan_output_is_read(l, o);
        if (!out->wanted || l->part.f.out[o].keep != 1 || l->root[v]) continue;
        itself[o] = true;
        for (uint32_t k = l->clients->first[v]; k < l->clients->first[v + 1]; k++) {
            ApplyId user = l->clients->client[k];
            const Apply *ap = &l->r->g->apply[user];
            bool to_end;
            itself[o] &=
                ap->nin == 2 && apply_in(l->r->g, user)[0] == v &&
                rows_from_end(l->r, user, &to_end) == 1 &&
                strcmp(sym_text(l->r->s, rewriter_prop(l->r, ap, "index")->sym), "$") ==
                    0;
        }
        if (itself[o]) out->keep = SCAN_LAST;
        any |= itself[o];
    }
    if (!any) return false;
    if (!(*ok = scan_copy_body(l) && scan_rebuild(l))) return false;
    for (size_t o = 0; o < n; o++) {
        Var x = l->m.out.p[l->part.first + o].result, v = scan_output(l, o);
        if (x == VAR_NONE) continue;
        if (!itself[o] && !scan_replace_output(l, o, x)) return false;
        for (uint32_t k = l->clients->first[v];
             itself[o] && k < l->clients->first[v + 1]; k++) {
            if (!scan_forward_var(l, l->r->g->apply[l->clients->client[k]].out, x))
                return false;
        }
    }
    return *ok = scan_fired(l);
}

bool scan_last_value_pass(Rewriter *r) {
    return scan_each(r, keep_last_value);
}

/* ---- a last value beside all rows ---- */

/* The output with all rows of the values of which state o keeps the last; NONE_SUCH:
 * there is none. Keeping both, a step would copy each value to a row. */
#define NONE_SUCH SIZE_MAX
static size_t rows_of_state(const Scan *l, size_t o) {
    const ScanBuilderArg *out = l->m.out.p + l->part.first;
    const Var *y = l->part.y;
    if (!out[o].tap.n || !out[o].wanted || out[o].keep != SCAN_LAST) return NONE_SUCH;
    for (size_t q = 0; q < l->part.f.nout; q++)
        if (!out[q].tap.n && out[q].wanted && out[q].keep == SCAN_ALL && y[q] == y[o])
            return q;
    return NONE_SUCH;
}

/* Is v what state o begins with, as rows? */
static bool is_initial(const Scan *l, size_t o, Var v) {
    Rewriter *r = l->r;
    const ScanOut *out = &l->part.f.out[o];
    Var init = rewriter_resolve(r, l->part.arg[out->arg]);
    v = rewriter_resolve(r, v);
    if (!scan_one_row(out)) return v == init;
    ApplyId a = var_owner(r->g, v);
    return a != APPLY_NONE && op_is(r->s, r->g->apply[a].op, OP_EXPAND_DIMS) &&
           rewriter_input(r, a, 0) == init && var_type(r->g, v)->dim[0] == 1;
}

/* The client of v that puts the initial rows before it, as a gradient reads them. */
static ApplyId client_after_initial(const Scan *l, size_t o, Var v) {
    const Graph *g = l->r->g;
    for (uint32_t k = l->clients->first[v]; k < l->clients->first[v + 1]; k++) {
        ApplyId id = l->clients->client[k];
        const Apply *a = &g->apply[id];
        if (op_is(g->s, a->op, OP_CONCATENATE) && a->nin == 2 &&
            apply_in(g, id)[1] == v && is_initial(l, o, apply_in(g, id)[0]) &&
            op_prop(g->s, a->op, a->props, "axis")->i == 0)
            return id;
    }
    return APPLY_NONE;
}

/* The last of the rows, or of the initial ones if there may be none. */
static Var last_of_rows(Scan *l, ApplyId after_initial, Var rows) {
    if (after_initial != APPLY_NONE) {
        Apply a = l->r->g->apply[after_initial];
        Var in[2] = {rewriter_input(l->r, after_initial, 0), rows};
        rows = rewriter_apply(l->r, a.op, a.props, 2, in);
        if (rows == VAR_NONE || !scan_forward_var(l, a.out, rows)) return VAR_NONE;
    }
    return scan_build_expr(l, "x[-1]", rows, VAR_NONE, VAR_NONE);
}

static bool read_last_from_rows(Scan *l, bool *ok) {
    scan_take_apart(l);
    size_t n = l->part.f.nout, *rows = NEW_N(l->a, n, size_t);
    ApplyId *after = NEW_N(l->a, n, ApplyId);
    ScanBuilderArg *out = l->m.out.p + l->part.first;
    bool any = false;
    for (size_t o = 0; o < n; o++)
        out[o].wanted = scan_output_is_read(l, o);
    if (!(*ok = scan_copy_body(l))) return false;
    for (size_t o = 0; o < n; o++) {
        rows[o] = rows_of_state(l, o);
        if (rows[o] == NONE_SUCH) continue;
        after[o] = client_after_initial(l, o, scan_output(l, rows[o]));
        if (after[o] == APPLY_NONE && !scan_takes_steps(l)) {
            rows[o] = NONE_SUCH;
            continue;
        }
        out[o].keep = SCAN_ALL;
        out[rows[o]].wanted = false;
        any = true;
    }
    if (!any || !(*ok = scan_rebuild(l))) return false;
    for (size_t o = 0; o < n; o++) {
        Var x = out[o].result;
        if (x == VAR_NONE) continue;
        if (rows[o] == NONE_SUCH) {
            if (!scan_replace_output(l, o, x)) return false;
        } else if (!scan_replace_output(l, rows[o], x) ||
                   !scan_replace_output(l, o, last_of_rows(l, after[o], x))) {
            return false;
        }
    }
    return *ok = scan_fired(l);
}

bool scan_last_of_rows_pass(Rewriter *r) {
    return scan_each(r, read_last_from_rows);
}
