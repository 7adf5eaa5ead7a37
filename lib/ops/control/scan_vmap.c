/* vmap of a scan: one scan whose step computes all rows. In the sequences and in states
 * of several taps the rows come after the axis of steps, so that a step gets all rows
 * of what one had. */
#include "ops/control/scan.h"
#include "scan/builder.h"
#include "vmap/vmap.h"

#include <stdio.h>

typedef struct ScanRows {
    Vmap *q;
    Builder *b;
    Session *s;
    Arena *a;
    ScanForm f;
    bool *rows; /* by input of the body: does it have rows? */
    Dim dim;    /* of the rows, in the body */
    ScanBuilder m;
    Var *all, *one; /* by input: its variable in the new body, and one row of it */
    Var *y;         /* by output, and `until` after them: what a step computes */
    bool *y_rows;
} ScanRows;

/* ---- arguments ---- */

/* The rows' dim: a number, or a name that the body doesn't use. */
static Dim rows_dim(const ScanRows *k) {
    const Vmap *q = k->q;
    char name[32] = "rows";
    for (size_t i = 0; i < q->nin; i++) {
        Dim d = q->rows[i] ? var_type(k->b->g, q->in[i])->dim[0] : 0;
        if (dim_is_known(d) && d > 0) return d;
    }
    for (unsigned i = 1; graph_find(k->f.fn, sym(k->s, name)) != VAR_NONE ||
                         graph_has_dim(k->f.fn, sym(k->s, name));
         i++)
        snprintf(name, sizeof name, "rows_%u", i);
    return DIM_NAMED(sym(k->s, name));
}

static const Type *input_type(const ScanRows *k, size_t in) {
    const Type *t = var_type(k->f.fn, k->f.fn->inputs.p[in]);
    return k->rows[in] ? type_of_rows(k->s, k->dim, t) : t;
}

/* Argument `arg` for the body's input `in`, after an axis of steps if it has one; with
 * rows if the input has some. */
static Var argument(ScanRows *k, size_t arg, size_t in, bool steps) {
    Vmap *q = k->q;
    Var x = q->in[arg];
    if (k->rows[in]) x = vmap_move_axis(k->b, vmap_with_rows(q, arg), 0, steps);
    return scan_fit_arg(k->b, x, input_type(k, in), steps);
}

static Sym input_name(const ScanRows *k, size_t in) {
    return var_name(k->f.fn, k->f.fn->inputs.p[in]);
}

static bool add_row_sequences(ScanRows *k) {
    for (size_t i = 0; i < k->f.nseq; i++) {
        const ScanSeq *q = &k->f.seq[i];
        Var x = argument(k, q->arg, q->in, true);
        if (x == VAR_NONE) return false;
        size_t at = scan_builder_add_seq(&k->m, input_name(k, q->in), x, q->tap[0],
                                         input_type(k, q->in));
        for (size_t t = 0; t < q->ntap; t++)
            k->all[q->in + t] = scan_builder_add_tap(&k->m, &k->m.seq.p[at], q->tap[t],
                                                     input_type(k, q->in + t));
    }
    return true;
}

static bool add_row_outputs(ScanRows *k) {
    for (size_t i = 0; i < k->f.nout; i++) {
        const ScanOut *o = &k->f.out[i];
        Sym label = k->f.fn->outputs.p[i].label;
        size_t at = scan_builder_add_out(&k->m, label, o->keep);
        ScanBuilderArg *out = &k->m.out.p[at];
        out->wanted = true;
        if (o->ntap &&
            (out->x = argument(k, o->arg, o->in, !scan_one_row(o))) == VAR_NONE)
            return false;
        for (size_t t = 0; t < o->ntap; t++)
            k->all[o->in + t] =
                scan_builder_add_tap(&k->m, out, o->tap[t], input_type(k, o->in + t));
    }
    return true;
}

static bool add_row_others(ScanRows *k) {
    for (size_t i = 0; i < k->f.nother; i++) {
        size_t in = k->f.other_in + i;
        Var x = argument(k, k->f.other_arg + i, in, false);
        if (x == VAR_NONE) return false;
        size_t at =
            scan_builder_add_other(&k->m, input_name(k, in), x, input_type(k, in));
        k->all[in] = k->m.other.p[at].tap.p[0].in;
    }
    return true;
}

/* ---- the step ---- */

/* The step on one row, then for all. */
static bool rebuild_step(ScanRows *k, Var size) {
    Builder *b = &k->m.in;
    size_t n = k->f.nout, nrow = 0;
    Var *given = NEW_N(k->a, k->f.nin, Var), *with = NEW_N(k->a, k->f.nin, Var);
    for (size_t i = 0; i < k->f.nin; i++) {
        k->one[i] = k->rows[i] ? op_first_row(b, k->all[i]) : k->all[i];
        if (k->one[i] == VAR_NONE) return false;
        if (!k->rows[i]) continue;
        given[nrow] = k->one[i];
        with[nrow++] = k->all[i];
    }
    if (!scan_builder_add_body(&k->m, &k->f, k->one, true, k->y)) return false;
    if (k->m.until != VAR_NONE) k->y[n++] = k->m.until;
    VmapRows rows = {.var = {nrow, given}, .with = with, .size = size, .at_once = true};
    Var *want = arena_copy(k->a, k->y, n * sizeof *want);
    if (!vmap_graph(b, &rows, &(VmapWant){{n, want}, n}, k->y, k->y_rows)) return false;
    if (k->m.until != VAR_NONE) k->m.until = k->y[k->f.nout];
    return true;
}

/* Marks the states that get rows in a step. Was there none? */
static bool states_settle(ScanRows *k) {
    bool settled = true;
    for (size_t i = 0; i < k->f.nout; i++) {
        const ScanOut *o = &k->f.out[i];
        for (size_t t = 0; t < o->ntap && k->y_rows[i]; t++) {
            settled &= k->rows[o->in + t];
            k->rows[o->in + t] = true;
        }
    }
    return settled;
}

/* Can a step's results be kept? Each row would end when its `until` says so, and only
 * tensors have rows. */
static bool can_keep(const ScanRows *k) {
    bool can = k->m.until == VAR_NONE || !k->y_rows[k->f.nout];
    for (size_t i = 0; i < k->f.nout; i++)
        can &= !k->y_rows[i] || !scan_out_is_object(&k->f, i);
    return can;
}

static bool set_step_results(ScanRows *k, Var size) {
    for (size_t i = 0; i < k->f.nout; i++) {
        const ScanOut *o = &k->f.out[i];
        if (o->ntap && k->rows[o->in] && !k->y_rows[i]) {
            k->y[i] = vmap_broadcast(&k->m.in, k->y[i], size);
            k->y_rows[i] = true;
        }
        if ((k->m.out.p[i].made = k->y[i]) == VAR_NONE) return false;
    }
    return true;
}

/* ---- the scan ---- */

static bool set_results(ScanRows *k) {
    Vmap *q = k->q;
    for (size_t i = 0; i < k->f.nout; i++) {
        Var r = k->m.out.p[i].result;
        q->out_rows[i] = k->y_rows[i];
        if (k->y_rows[i] && k->f.out[i].keep != SCAN_LAST)
            r = vmap_move_axis(k->b, r, 1, 0);
        if ((q->out[i] = r) == VAR_NONE) return false;
    }
    return true;
}

/* *again: some state has rows, too. */
static bool build_rows_scan(ScanRows *k, bool *again) {
    const char *name = sym_text(k->s, k->f.fn->name);
    *again = false;
    if (!add_row_sequences(k) || !add_row_outputs(k) || !add_row_others(k))
        return false;
    Var size = dim_is_known(k->dim) ? const_int(&k->m.in, k->dim)
                                    : graph_dim(k->m.body, dim_sym(k->dim));
    if (!rebuild_step(k, size) || !can_keep(k)) return false;
    if (!states_settle(k)) return *again = true;
    if (!set_step_results(k, size)) return false;
    scan_builder_mark_all(&k->m);
    return scan_builder_apply(&k->m, arena_printf(k->a, "%s_rows", name)) &&
           set_results(k);
}

static bool scan_of_rows(ScanRows *k) {
    for (bool again = true; again;) {
        scan_builder_open(&k->m, k->b, k->q->in[0]);
        k->m.truncate = k->f.truncate;
        k->m.checkpoint = k->f.checkpoint;
        bool ok = build_rows_scan(k, &again);
        scan_builder_close(&k->m);
        if (!ok) return false;
    }
    return true;
}

bool scan_vmap(Vmap *q) {
    Session *s = q->b->s;
    ScanRows k = {.q = q, .b = q->b, .s = s, .a = arena_new(s)};
    size_t mark = diag_count(s);
    k.f = scan_form_of(q->g, q->id, k.a);
    k.rows = NEW_N(k.a, k.f.nin, bool);
    k.all = NEW_N(k.a, k.f.nin, Var);
    k.one = NEW_N(k.a, k.f.nin, Var);
    k.y = NEW_N(k.a, k.f.nout + 1, Var);
    k.y_rows = NEW_N(k.a, k.f.nout + 1, bool);
    for (size_t i = 0; i < k.f.nin; i++)
        k.rows[i] = q->rows[scan_arg(&k.f, i)];
    k.dim = rows_dim(&k);
    /* effects happen row by row, each in all steps, before the next */
    bool loop = q->rows[0] || k.f.fn->effects.n > 0;
    bool ok = !loop && scan_of_rows(&k);
    arena_free(k.a);
    if (!ok && (loop || !diag_hit_limit(s, mark))) {
        diag_rewind(s, mark);
        for (size_t i = 0; i < q->nout; i++)
            q->out_rows[i] = true;
        ok = vmap_by_scan(q);
    }
    return ok;
}
