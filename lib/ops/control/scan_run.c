/* Runs a scan step by step on an ordinary machine for the body and keeps every row
 * until the end: slow, a reference for the VM's own loop. */
#include "op/services.h"
#include "ops/control/scan.h"
#include "value/object.h"

#include <string.h>

typedef Vec(Value) Values;
typedef struct ScanRun {
    Call *c;
    const ScanForm *f;
    struct Inner *inner;
    int64_t steps, done;
    Values *row;      /* by output: the value of each step */
    Value *in, *made; /* of the body */
    const Value **arg;
} ScanRun;

static Value row_value(const Value *x, int64_t i) {
    Value v = {.kind = TYPE_TENSOR};
    v.t = (Tensor){.dtype = x->t.dtype, .ndim = x->t.ndim - 1};
    v.t.data = (char *)x->t.data + i * x->t.stride[0];
    for (int k = 0; k < v.t.ndim; k++) {
        v.t.shape[k] = x->t.shape[k + 1];
        v.t.stride[k] = x->t.stride[k + 1];
    }
    return v;
}

/* The value of output o `tap` steps relative to step i. */
static Value past_value(const ScanRun *r, size_t o, int64_t i, int64_t tap) {
    const ScanOut *q = &r->f->out[o];
    const Value *init = r->c->in[q->arg];
    if (i + tap >= 0) return r->row[o].p[i + tap];
    return scan_one_row(q) ? *init : row_value(init, q->depth + i + tap);
}

static void gather_step_inputs(ScanRun *r, int64_t i) {
    const ScanForm *f = r->f;
    for (size_t q = 0; q < f->nseq; q++)
        for (size_t k = 0; k < f->seq[q].ntap; k++)
            r->in[f->seq[q].in + k] = row_value(r->c->in[f->seq[q].arg],
                                                i + f->seq[q].tap[k] - f->seq[q].low);
    for (size_t o = 0; o < f->nout; o++)
        for (size_t k = 0; k < f->out[o].ntap; k++)
            r->in[f->out[o].in + k] = past_value(r, o, i, f->out[o].tap[k]);
    for (size_t k = 0; k < f->nother; k++)
        r->in[f->other_in + k] = *r->c->in[f->other_arg + k];
    for (size_t k = 0; k < f->nin; k++)
        r->arg[k] = &r->in[k];
}

static bool keep_object(ScanRun *r, size_t o) {
    Value v = {0};
    value_copy_view(&v, &r->made[o]);
    vec_push(r->c->s, &r->row[o], v);
    return scan_check_object(r->c, r->f, o, r->done, &v);
}

/* The machine reuses its outputs in its next run, so a row is a copy. */
static bool keep_row(ScanRun *r, size_t o) {
    if (scan_out_is_object(r->f, o)) return keep_object(r, o);
    Value v = {.kind = r->made[o].kind}, first;
    bool any = r->f->out[o].ntap || r->done > 0;
    if (any) {
        first = r->f->out[o].ntap ? past_value(r, o, 0, -1) : r->row[o].p[0];
        if (!tensor_same_shape(&first.t, &r->made[o].t)) {
            Str text[2] = {STR(r->c->s), STR(r->c->s)};
            shape_text(r->c->s, first.t.ndim, first.t.shape, &text[0]);
            shape_text(r->c->s, r->made[o].t.ndim, r->made[o].t.shape, &text[1]);
            scan_other_shape(r->c, r->f, o, str_text(&text[0]), str_text(&text[1]),
                             r->done);
            str_free(&text[0]);
            str_free(&text[1]);
            return false;
        }
    }
    if (!tensor_clone(r->c->s, &r->made[o].t, &v.t)) return false;
    vec_push(r->c->s, &r->row[o], v);
    return true;
}

static bool run_step(ScanRun *r, bool *end) {
    const Services *sv = services(r->c->s);
    gather_step_inputs(r, r->done);
    if (!sv->inner_run(r->inner, r->arg, r->made, r->c->at)) return false;
    bool ok = true;
    for (size_t o = 0; o < r->f->nout; o++) {
        ok = ok && keep_row(r, o);
        value_unref(&r->made[o]);
    }
    if (r->f->fn->until != VAR_NONE) {
        *end = *(const bool *)r->made[r->f->nout].t.data;
        value_unref(&r->made[r->f->nout]);
    }
    r->done += ok;
    return ok;
}

/* ---- results ---- */

/* Runs a step on zeros, only to learn the result's shape. */
static bool try_zero_step(ScanRun *r, size_t o, int64_t *shape, int ndim) {
    const Services *sv = services(r->c->s);
    const ScanForm *f = r->f;
    Session *s = r->c->s;
    size_t mark = diag_count(s);
    Value *zero = mem_zalloc(s, f->nin, sizeof *zero);
    bool ok = f->fn->effects.n == 0;
    for (size_t k = 0; k < f->nin; k++) {
        const Value *x = r->c->in[scan_arg(f, k)];
        size_t i = 0;
        while (i < f->nseq && k - f->seq[i].in >= f->seq[i].ntap)
            i++;
        Value row = i < f->nseq ? row_value(x, 0) : *x;
        if (i < f->nseq)
            ok =
                ok && tensor_zeros(s, row.t.dtype, row.t.ndim, row.t.shape, &zero[k].t);
        if (i < f->nseq) zero[k].kind = TYPE_TENSOR;
        for (size_t j = 0; j < f->nout; j++)
            if (k - f->out[j].in < f->out[j].ntap)
                row = past_value(r, j, 0, f->out[j].tap[k - f->out[j].in]);
        r->in[k] = i < f->nseq ? zero[k] : row;
        r->arg[k] = &r->in[k];
    }
    ok = ok && sv->inner_run(r->inner, r->arg, r->made, r->c->at);
    for (int k = 0; ok && k < ndim; k++)
        shape[k] = r->made[o].t.shape[k];
    for (size_t j = 0; ok && j < f->nout + (f->fn->until != VAR_NONE); j++)
        value_unref(&r->made[j]);
    for (size_t k = 0; k < f->nin; k++)
        value_unref(&zero[k]);
    mem_free(zero);
    diag_rewind(s, mark);
    return ok;
}

/* Size of a dim of the body, from the loop's inputs; -1: unknown. */
static int64_t body_dim_size(const ScanRun *r, Dim d) {
    const ScanForm *f = r->f;
    if (dim_is_known(d)) return d;
    for (size_t k = 0; dim_is_named(d) && k < f->nin; k++) {
        const Type *t = var_type(f->fn, f->fn->inputs.p[k]);
        const Value *x = r->c->in[scan_arg(f, k)];
        for (int i = 0; t->kind == TYPE_TENSOR && i < t->ndim; i++)
            if (t->dim[i] == d) return x->t.shape[x->t.ndim - t->ndim + i];
    }
    return -1;
}

/* The shape of a row if no step ran: that of the initial value if the type allows it,
 * else the type's, with unknown dims from a step on zeros. */
static int row_shape(ScanRun *r, size_t o, int64_t *shape) {
    const Type *t = var_type(r->f->fn, r->f->fn->outputs.p[o].var);
    bool some = r->row[o].n || r->f->out[o].ntap, known = true;
    Value v = {0};
    if (some) v = r->row[o].n ? r->row[o].p[0] : past_value(r, o, 0, -1);
    some = some && (r->done > 0 || scan_row_fits(r->f, o, v.t.shape));
    for (int k = 0; k < t->ndim; k++) {
        shape[k] = some ? v.t.shape[k] : body_dim_size(r, t->dim[k]);
        known &= shape[k] >= 0;
    }
    bool tried = !known && try_zero_step(r, o, shape, t->ndim);
    for (int k = 0; !known && !tried && k < t->ndim; k++)
        if (shape[k] < 0) shape[k] = 0;
    return t->ndim;
}

static void put_row(Tensor *out, int64_t i, const Value *row) {
    Tensor to = *out;
    if (to.ndim > row->t.ndim) {
        Value whole = {.t = *out};
        to = row_value(&whole, i).t;
    }
    tensor_assign(&to, &row->t);
}

/* The last value, or a list of those kept. */
static void put_objects(ScanRun *r, size_t o, const Value *last) {
    int64_t keep = r->f->out[o].keep, n = keep && keep < r->done ? keep : r->done;
    Value *out = &r->c->out[o];
    value_unref(out);
    if (last) {
        value_copy_view(out, last);
        return;
    }
    Value *item = mem_zalloc(r->c->s, (size_t)n, sizeof *item);
    for (int64_t i = 0; i < n; i++)
        value_copy_view(&item[i], &r->row[o].p[r->done - n + i]);
    *out = (Value){.kind = TYPE_LIST, .obj = list_new_take(r->c->s, (size_t)n, item)};
    mem_free(item);
}

static bool give_last_value(ScanRun *r, size_t o) {
    Value v;
    if (r->row[o].n == 0 && r->f->out[o].ntap == 0)
        return call_fail(r->c, E_INDEX, "there is no last value of %s: no step was run",
                         sym_text(r->c->s, r->f->fn->outputs.p[o].label));
    v = r->row[o].n ? r->row[o].p[r->row[o].n - 1] : past_value(r, o, 0, -1);
    if (scan_out_is_object(r->f, o)) return put_objects(r, o, &v), true;
    if (r->done == 0 && !scan_row_fits(r->f, o, v.t.shape))
        return scan_fail_initial(r->c, r->f, o, v.t.shape);
    Tensor *t = call_out(r->c, o, v.t.ndim, v.t.shape);
    if (t) put_row(t, 0, &v);
    return t != NULL;
}

static bool give_all_rows(ScanRun *r, size_t o) {
    int64_t shape[MAX_NDIM + 1], keep = r->f->out[o].keep, from;
    if (r->c->out_type[o]->kind == TYPE_LIST) return put_objects(r, o, NULL), true;
    int n = row_shape(r, o, shape + 1);
    from = keep == SCAN_ALL || keep > r->done ? 0 : r->done - keep;
    shape[0] = r->done - from;
    Tensor *t = call_out(r->c, o, n + 1, shape);
    for (int64_t i = from; t && i < r->done; i++)
        put_row(t, i - from, &r->row[o].p[i]);
    return t != NULL;
}

static bool run_all_steps(ScanRun *r) {
    bool end = false, ok = true;
    while (ok && !end && r->done < r->steps)
        ok = run_step(r, &end);
    for (size_t o = 0; ok && o < r->f->nout; o++)
        ok = r->f->out[o].keep == SCAN_LAST ? give_last_value(r, o)
                                            : give_all_rows(r, o);
    for (size_t o = 0; o < r->f->nout; o++) {
        for (size_t i = 0; i < r->row[o].n; i++)
            value_unref(&r->row[o].p[i]);
        vec_free(&r->row[o]);
    }
    return ok;
}

bool scan_perform(Call *c) {
    const Services *sv = services(c->s);
    Arena *a = arena_new(c->s);
    ScanForm f;
    const char *why = scan_form(c->g, c->op, c->props, c->nin, a, &f);
    if (why || !f.fn || !sv->inner_new) bug("a scan can't run here");
    ScanRun r = {.c = c, .f = &f, .steps = tensor_i64(call_in(c, 0), 0)};
    r.row = NEW_N(a, f.nout, Values);
    r.in = NEW_N(a, f.nin, Value);
    r.made = NEW_N(a, f.nout + 1, Value);
    r.arg = NEW_N(a, f.nin, const Value *);
    bool ok = scan_check_rows(c, &f, r.steps) &&
              (r.inner = sv->inner_new(c->s, f.fn)) && run_all_steps(&r);
    sv->inner_free(r.inner);
    arena_free(a);
    return ok;
}
