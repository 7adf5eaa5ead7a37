/* How far rounding may take a kernel's result from its reference's. Where large terms
 * cancel, a sum is only as exact as its terms: 1e5 - 99999 + 1 in float32 may be off by
 * a hundredth, which no tolerance in terms of the result can tell from a wrong kernel.
 * A kernel counts as right if it gives the result for inputs that are themselves off by
 * some last digits: the reference runs again on inputs moved by one, and tells how far
 * each element goes. So an element where nothing cancels is compared as strictly as
 * ever. For loops and for what was rewritten, drift.c does the same with each value on
 * the way. */
#include "check/check_impl.h"
#include "check/drift.h"

#include <float.h>
#include <math.h>

/* Runs on moved inputs, whose directions differ: as many as it takes, since of two
 * moves some cancel as the terms do; and the number of last digits that a kernel may
 * lose in all. */
enum { MOVED_RUNS = 24, LAST_DIGITS = 16 };

static double dtype_epsilon(DType d) {
    DType real = dtype_real(d);
    return real == DT_FLOAT16   ? 0x1p-10
           : real == DT_FLOAT32 ? (double)FLT_EPSILON
                                : DBL_EPSILON;
}

/* Moves each element up or down by a last digit, zeros excepted. */
void rounding_move(Tensor *t, int run) {
    double by = dtype_epsilon(t->dtype), z[2];
    size_t size = dtype_size(t->dtype);
    char *p = t->data;
    for (int64_t i = 0; i < tensor_size(t); i++, p += size) {
        uint64_t way = drift_way((uint64_t)run, (uint64_t)i);
        tensor_cast_elements(DT_COMPLEX128, z, t->dtype, p, 1, 16, 0);
        for (int k = 0; k < 2; k++)
            z[k] *= way >> k & 1 ? 1 + by : 1 - by;
        tensor_cast_elements(t->dtype, p, DT_COMPLEX128, z, 1, (ptrdiff_t)size, 0);
    }
}

static bool is_alike(const Tensor *a, const Value *v) {
    return v->kind == TYPE_TENSOR && v->t.dtype == a->dtype &&
           tensor_same_shape(a, &v->t);
}

/* How far each element of output i of `still` goes in that run or went in an earlier
 * one. */
static void measure_drift(KernelTrial *x, int run, const OpRun *still, size_t i,
                          double *far) {
    const Tensor *a = &still->out_value[i].t;
    int64_t index[MAX_NDIM];
    OpRun moved = {
        .kind = KIND_REFERENCE, .impl = RUN_REFERENCE, .how = "", .moved = run};
    bool ok = trial_run(x, &moved) && is_alike(a, &moved.out_value[i]);
    for (int64_t k = 0; ok && k < tensor_size(a); k++) {
        Tensor p = check_element(a, k, index),
               q = check_element(&moved.out_value[i].t, k, index);
        double d = check_distance(&p, &q);
        if (isfinite(d)) far[k] = fmax(far[k], d);
    }
    trial_end(x, &moved);
}

static bool is_within(const Tensor *a, const Tensor *b, const double *far, Approx how) {
    bool ok = true;
    int64_t index[MAX_NDIM];
    for (int64_t k = 0; ok && k < tensor_size(a); k++) {
        Tensor p = check_element(a, k, index), q = check_element(b, k, index);
        ok = tensor_approx(&p, &q, how, NULL) ||
             check_distance(&p, &q) <= LAST_DIGITS * far[k];
    }
    return ok;
}

static bool has_reference(const KernelTrial *x) {
    return x->op->debug && !x->op->debug_instead && !x->inner;
}

/* ---- what is more than a kernel ---- */

static bool kept_value(void *ctx, Var v, Value *out) {
    return reference_get(ctx, v, out);
}

bool rounding_explains_var(const ReferenceRun *f, Var v, const uint8_t *stop,
                           const Value *want, const Value *got, Approx how) {
    Services kept;
    DriftOf of = {f->g, v, stop, kept_value, (void *)(uintptr_t)f};
    inner_swap(f->c, &kept, false);
    bool ok = drift_explains(f->c->s, &of, want, got, how);
    inner_restore(f->c, &kept);
    return ok;
}

static uint8_t *ancestors(const ReferenceRun *f, Var v) {
    uint8_t *need = mem_zalloc(f->c->s, f->g->nvar + 1, 1);
    need[v] = 1;
    graph_spread_needs(f->g, 0, need);
    return need;
}

bool rounding_explains_pair(const ReferenceRun *f, const Pair *p, const Value *want,
                            const Value *got) {
    uint8_t *stop = ancestors(f, p->after), *need = ancestors(f, p->before);
    for (Var v = 0; v < f->g->nvar; v++)
        stop[v] = stop[v] && need[v] && f->kept[v].has;
    bool ok = rounding_explains_var(f, p->before, stop, want, got, p->how);
    mem_free(stop);
    mem_free(need);
    return ok;
}

static bool part_explains(KernelTrial *x, size_t i, const Value *got, Approx how) {
    uint8_t *stop = mem_zalloc(x->s, x->g->nvar + 1, 1);
    for (size_t k = 0; k < x->nin; k++)
        stop[apply_in(x->g, x->id)[k]] = x->there[k];
    bool ok = rounding_explains_var(x->f, x->g->apply[x->id].out + (Var)i, stop,
                                    &x->base[i], got, how);
    mem_free(stop);
    return ok;
}

/* Elementwise ops sum nothing. */
bool rounding_explains(KernelTrial *x, size_t i, const Value *got, Approx how) {
    const Tensor *a = &x->base[i].t;
    if (x->loops || x->by_formula || x->base[i].kind != TYPE_TENSOR) return false;
    if (!has_reference(x)) return part_explains(x, i, got, how);
    if (!dtype_is_inexact(a->dtype) || !is_alike(a, got)) return false;
    OpRun still = {.kind = KIND_REFERENCE, .impl = RUN_REFERENCE, .how = ""};
    double *far = NEW_N(x->a, (size_t)tensor_size(a), double);
    bool ok = trial_run(x, &still) && is_alike(a, &still.out_value[i]);
    bool near = false;
    for (int run = 1; ok && !near && run <= MOVED_RUNS; run++) {
        measure_drift(x, run, &still, i, far);
        near = is_within(a, &got->t, far, how);
    }
    trial_end(x, &still);
    return near;
}
