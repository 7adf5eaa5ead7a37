/* How far rounding may take a kernel's result from its reference's. Where large terms
 * cancel, a sum is only as exact as its terms: 1e5 - 99999 + 1 in float32 may be off by
 * a hundredth, which no tolerance in terms of the result can tell from a wrong kernel.
 * A kernel counts as right if it gives the result for inputs that are themselves off by
 * some last digits: the reference runs again on inputs moved by one, and tells how far
 * each element goes. So an element where nothing cancels is compared as strictly as
 * ever. */
#include "check/check_impl.h"

#include <float.h>
#include <math.h>

/* Runs on moved inputs, whose directions differ; and the number of last digits that a
 * kernel may lose in all. */
enum { MOVED_RUNS = 4, LAST_DIGITS = 16 };

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
        uint64_t way = hash_mix((uint64_t)run, (uint64_t)i);
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

/* How far each element of output i of `still` goes in any of the runs. */
static void measure_drift(KernelTrial *x, const OpRun *still, size_t i, double *far) {
    const Tensor *a = &still->out_value[i].t;
    int64_t index[MAX_NDIM];
    for (int run = 1; run <= MOVED_RUNS; run++) {
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

/* Elementwise ops sum nothing, and what a function runs is checked there. */
static bool has_reference(const KernelTrial *x) {
    return x->op->debug && !x->op->debug_instead && !x->loops && !x->inner;
}

bool rounding_explains(KernelTrial *x, size_t i, const Value *got, Approx how) {
    const Tensor *a = &x->base[i].t;
    if (!has_reference(x) || x->base[i].kind != TYPE_TENSOR ||
        !dtype_is_inexact(a->dtype) || !is_alike(a, got))
        return false;
    OpRun still = {.kind = KIND_REFERENCE, .impl = RUN_REFERENCE, .how = ""};
    double *far = NEW_N(x->a, (size_t)tensor_size(a), double);
    bool ok = trial_run(x, &still) && is_alike(a, &still.out_value[i]);
    if (ok) measure_drift(x, &still, i, far);
    trial_end(x, &still);
    return ok && is_within(a, &got->t, far, how);
}
