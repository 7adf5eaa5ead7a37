/* Reading the props of a scan. `sequences` and `states` are lists of lists: the number
 * of taps, then the taps, for each sequence or output. */
#include "scan/scan.h"
#include "value/class.h"

#include <string.h>

enum { TAP_MAX = 1 << 20 };

typedef struct TapReader {
    Arena *a;
    const char *what;
    const int64_t *p;
    size_t n;
} TapReader;

/* Reads the taps of the next entry, which must differ. */
static const char *read_tap_list(TapReader *r, size_t *ntap, const int64_t **tap) {
    int64_t n = r->p[0];
    if (n < 0 || (uint64_t)n >= r->n)
        return arena_printf(r->a, "its prop %s is cut off", r->what);
    *ntap = (size_t)n;
    *tap = r->p + 1;
    r->p += 1 + n;
    r->n -= (size_t)(1 + n);
    for (size_t i = 0; i < *ntap; i++) {
        if ((*tap)[i] < -TAP_MAX || (*tap)[i] > TAP_MAX)
            return arena_printf(r->a, "the tap %lld is out of range",
                                (long long)(*tap)[i]);
        for (size_t k = 0; k < i; k++)
            if ((*tap)[k] == (*tap)[i])
                return arena_printf(r->a, "the tap %lld is given twice",
                                    (long long)(*tap)[i]);
    }
    return NULL;
}

static const char *read_sequence(TapReader *r, size_t number, ScanSeq *q) {
    const char *why = read_tap_list(r, &q->ntap, &q->tap);
    if (why) return why;
    if (q->ntap == 0) return arena_printf(r->a, "sequence %zu has no taps", number + 1);
    for (size_t i = 0; i < q->ntap; i++) {
        if (q->tap[i] < q->low) q->low = q->tap[i];
        if (q->tap[i] > q->high) q->high = q->tap[i];
    }
    return NULL;
}

static const char *read_state(TapReader *r, size_t number, ScanOut *o) {
    const char *why = read_tap_list(r, &o->ntap, &o->tap);
    for (size_t i = 0; !why && i < o->ntap; i++) {
        if (o->tap[i] >= 0)
            why = arena_printf(r->a,
                               "output %zu has the tap %lld, but only earlier steps "
                               "(negative taps) are known",
                               number + 1, (long long)o->tap[i]);
        if (-o->tap[i] > o->depth) o->depth = -o->tap[i];
    }
    return why;
}

static const char *read_all_sequences(TapReader r, ScanForm *f) {
    ScanSeq *seq = NEW_N(r.a, r.n, ScanSeq);
    const char *why = NULL;
    f->seq = seq;
    for (; !why && r.n; f->nseq++)
        why = read_sequence(&r, f->nseq, &seq[f->nseq]);
    return why;
}

static const char *read_all_states(TapReader r, const Prop *keep, ScanForm *f) {
    ScanOut *out = NEW_N(r.a, r.n, ScanOut);
    const char *why = NULL;
    f->out = out;
    for (; !why && r.n; f->nout++)
        why = read_state(&r, f->nout, &out[f->nout]);
    if (why) return why;
    if (keep->ints.n != 0 && keep->ints.n != f->nout)
        return arena_printf(r.a, "keep has %zu numbers for %zu outputs", keep->ints.n,
                            f->nout);
    for (size_t i = 0; i < keep->ints.n; i++) {
        out[i].keep = keep->ints.p[i];
        if (out[i].keep < SCAN_LAST)
            return arena_printf(r.a,
                                "keep must be a number of rows, 0 (all) or -1 (the "
                                "last row itself), not %lld",
                                (long long)out[i].keep);
    }
    return NULL;
}

/* Numbers the scan's arguments and the body's inputs. */
static const char *number_arguments(Arena *a, size_t nin, ScanForm *f) {
    ScanSeq *seq = arena_copy(a, f->seq, f->nseq * sizeof *seq);
    ScanOut *out = arena_copy(a, f->out, f->nout * sizeof *out);
    size_t arg = 1, in = 0;
    for (size_t i = 0; i < f->nseq; i++) {
        seq[i].arg = arg++;
        seq[i].in = in;
        in += seq[i].ntap;
    }
    for (size_t i = 0; i < f->nout; i++) {
        out[i].in = in;
        in += out[i].ntap;
        if (out[i].ntap) out[i].arg = arg++;
    }
    f->seq = seq;
    f->out = out;
    f->other_arg = arg;
    f->other_in = in;
    if (nin < arg)
        return arena_printf(a,
                            "it has %zu inputs, but its sequences and initial values "
                            "are %zu",
                            nin, arg);
    f->nother = nin - arg;
    f->nin = in + f->nother;
    return NULL;
}

const char *scan_form(const Graph *g, const Op *op, const Props *props, size_t nin,
                      Arena *a, ScanForm *f) {
    Session *s = g->s;
    const Prop *seq = op_prop(s, op, props, "sequences"),
               *states = op_prop(s, op, props, "states"),
               *truncate = op_prop(s, op, props, "truncate");
    *f = (ScanForm){.truncate = truncate->i};
    f->checkpoint = op_prop(s, op, props, "checkpoint")->i != 0;
    f->rows = op_prop(s, op, props, "rows")->i != 0;
    f->fn = graph_function(g, op_prop(s, op, props, "fn")->sym);
    if (truncate->i < -1 || truncate->i == 0)
        return arena_printf(
            a, "truncate_gradient must be a number of steps or -1 (all), not %lld",
            (long long)truncate->i);
    const char *why =
        read_all_sequences((TapReader){a, "sequences", seq->ints.p, seq->ints.n}, f);
    if (!why)
        why = read_all_states((TapReader){a, "states", states->ints.p, states->ints.n},
                              op_prop(s, op, props, "keep"), f);
    return why ? why : number_arguments(a, nin, f);
}

ScanForm scan_form_of(const Graph *g, ApplyId id, Arena *a) {
    const Apply *ap = &g->apply[id];
    ScanForm f;
    const char *why = scan_form(g, ap->op, ap->props, ap->nin, a, &f);
    if (why) bug("a scan that was typed: %s", why);
    return f;
}

size_t scan_arg(const ScanForm *f, size_t k) {
    for (size_t i = 0; i < f->nseq; i++)
        if (k - f->seq[i].in < f->seq[i].ntap) return f->seq[i].arg;
    for (size_t i = 0; i < f->nout; i++)
        if (k - f->out[i].in < f->out[i].ntap) return f->out[i].arg;
    return f->other_arg + (k - f->other_in);
}

bool scan_reads(Graph *fn, size_t first, size_t n, size_t out) {
    for (size_t k = 0; k < n; k++)
        if (graph_connected(fn, first + k, out)) return true;
    return false;
}

bool scan_check_rows(Call *c, const ScanForm *f, int64_t steps) {
    if (steps < 0)
        return call_fail(c, E_RUN_SHAPE,
                         "the number of steps is %lld: it must not be negative",
                         (long long)steps);
    for (size_t i = 0; i < f->nseq; i++) {
        const ScanSeq *q = &f->seq[i];
        int64_t have = c->in[q->arg]->t.shape[0], need;
        if (__builtin_add_overflow(steps, q->high - q->low, &need)) need = INT64_MAX;
        if (steps > 0 && have < need)
            return call_fail(c, E_RUN_SHAPE,
                             "sequence %zu has %lld rows, but %lld steps%s need %lld",
                             i + 1, (long long)have, (long long)steps,
                             q->high > q->low ? " with its taps" : "", (long long)need);
    }
    for (size_t i = 0; i < f->nout; i++) {
        const ScanOut *o = &f->out[i];
        if (o->ntap == 0 || scan_one_row(o)) continue;
        int64_t have = c->in[o->arg]->t.shape[0];
        if (have != o->depth)
            return call_fail(c, E_RUN_SHAPE,
                             "the initial value of %s needs %lld rows, for its taps, "
                             "but it has %lld",
                             sym_text(c->s, f->fn->outputs.p[i].label),
                             (long long)o->depth, (long long)have);
    }
    return true;
}

bool scan_out_is_object(const ScanForm *f, size_t o) {
    return scan_is_object(var_type(f->fn, f->fn->outputs.p[o].var));
}

bool scan_out_is_float(const ScanForm *f, size_t o) {
    const Type *t = var_type(f->fn, f->fn->outputs.p[o].var);
    return t->kind == TYPE_TENSOR && dtype_is_inexact(t->dtype);
}

bool scan_is_sure(const ScanForm *f, size_t o) {
    const Graph *fn = f->fn;
    const ScanOut *out = &f->out[o];
    return out->ntap == 0 || type_is_super(var_type(fn, fn->inputs.p[out->in]),
                                           var_type(fn, fn->outputs.p[o].var));
}

bool scan_check_object(Call *c, const ScanForm *f, size_t o, int64_t step,
                       const Value *v) {
    const Graph *fn = f->fn;
    if (scan_is_sure(f, o)) return true;
    const Type *want = var_type(fn, fn->inputs.p[f->out[o].in]);
    return value_is_valid(c->s, want, v) ||
           call_fail(c, E_RUN_SHAPE,
                     "%s starts as %s, but has another type in step %lld: write ? for "
                     "the dims that change in its initial type",
                     sym_text(c->s, fn->outputs.p[o].label), type_str(c->s, want),
                     (long long)step);
}

bool scan_row_fits(const ScanForm *f, size_t o, const int64_t *shape) {
    const Type *t = var_type(f->fn, f->fn->outputs.p[o].var);
    for (int k = 0; t->kind == TYPE_TENSOR && k < t->ndim; k++)
        if (dim_is_known(t->dim[k]) && shape[k] != t->dim[k]) return false;
    return true;
}

bool scan_other_shape(Call *c, const ScanForm *f, size_t o, const char *had,
                      const char *has, int64_t step) {
    call_fail(c, E_RUN_SHAPE,
              "%s had the shape %s and has the shape %s in step %lld: all rows must "
              "have the same shape",
              sym_text(c->s, f->fn->outputs.p[o].label), had, has, (long long)step);
    return note(c->s, NOWHERE,
                "pad it to the largest shape, or make it a list, whose items may have "
                "any shape: make_list(x)");
}

bool scan_fail_initial(Call *c, const ScanForm *f, size_t o, const int64_t *shape) {
    const Output *out = &f->fn->outputs.p[o];
    const Type *t = var_type(f->fn, out->var);
    Str has = STR(c->s);
    shape_text(c->s, t->ndim, shape, &has);
    call_fail(c, E_RUN_SHAPE, "%s begins with the shape %s, but a step gives %s",
              sym_text(c->s, out->label), str_text(&has), type_str(c->s, t));
    str_free(&has);
    return false;
}

bool scan_has_same_steps(const Graph *g, Var x, Var y) {
    const Tensor *a = var_const(g, x), *b = var_const(g, y);
    return x == y || (a && b && tensor_i64(a, 0) == tensor_i64(b, 0));
}

size_t scan_last_states(const ScanForm *f, ScanState *to) {
    size_t n = 0;
    for (size_t i = 0; i < f->nout; i++) {
        const ScanOut *o = &f->out[i];
        if (o->ntap == 1 && o->depth == 1 && o->keep == SCAN_LAST &&
            var_type(f->fn, f->fn->inputs.p[o->in])->kind == TYPE_TENSOR)
            to[n++] = (ScanState){o->in, i};
    }
    return n;
}
