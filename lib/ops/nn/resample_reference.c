/* Resampling element by element, for DEBUG: every result is the sum over all
 * combinations of the taps along the axes. */
#include "ops/nn/resample.h"

#include <string.h>

/* The taps of all results along one axis. */
typedef struct AxisTaps {
    int64_t taps;
    int32_t *index;
    double *weight;
} AxisTaps;

typedef struct Resampling {
    ResampleFilter f;
    int ndim, first;
    int64_t n[MAX_NDIM], m[MAX_NDIM]; /* shapes of x and of the result */
    AxisTaps axis[MAX_NDIM];
    void (*visit)(void *ctx, int64_t result, int64_t element, double weight);
    void *ctx;
} Resampling;

/* Visits what result `at` of the axes up to k - 1 takes of the axes from k on. */
static void visit_taps(const Resampling *r, const int64_t *at, int k, int64_t result,
                       int64_t element, double weight) {
    if (k == r->ndim) {
        r->visit(r->ctx, result, element, weight);
        return;
    }
    const AxisTaps *a = &r->axis[k];
    for (int64_t t = 0; t < a->taps; t++) {
        int64_t tap = at[k] * a->taps + t;
        visit_taps(r, at, k + 1, result, element * r->n[k] + a->index[tap],
                   weight * a->weight[tap]);
    }
}

static void visit_all(const Resampling *r) {
    int64_t at[MAX_NDIM] = {0}, total = 1;
    for (int k = 0; k < r->ndim; k++)
        total *= r->m[k];
    for (int64_t i = 0; i < total; i++) {
        visit_taps(r, at, 0, i, 0, 1);
        for (int k = r->ndim - 1; k >= 0 && ++at[k] == r->m[k]; k--)
            at[k] = 0;
    }
}

static void open_axes(Call *c, Resampling *r) {
    r->f = resample_filter(c->s, c->op, c->props);
    for (int k = 0; k < r->ndim; k++) {
        double place[RESAMPLE_PLACE] = {0, 1, 1, 0}; /* as it is */
        ResampleFilter f = k < r->first ? (ResampleFilter){0} : r->f;
        for (int j = 0; k >= r->first && j < RESAMPLE_PLACE; j++)
            place[j] =
                tensor_f64(call_in(c, 2), (int64_t)(k - r->first) * RESAMPLE_PLACE + j);
        AxisTaps *a = &r->axis[k];
        a->taps = resample_taps(&f, place);
        size_t n = (size_t)(a->taps * r->m[k]);
        a->index = mem_zalloc(c->s, n + 1, sizeof *a->index);
        a->weight = mem_zalloc(c->s, n + 1, sizeof *a->weight);
        for (int64_t i = 0; r->n[k] && i < r->m[k]; i++)
            resample_tap_weights(&f, place, r->n[k], i,
                                 &(ResampleTaps){a->taps, 1, a->index + i * a->taps,
                                                 a->weight + i * a->taps});
    }
}

static void close_axes(Resampling *r) {
    for (int k = 0; k < r->ndim; k++) {
        mem_free(r->axis[k].index);
        mem_free(r->axis[k].weight);
    }
}

static void add_number(const Tensor *to, int64_t i, double v) {
    size_t item = dtype_size(to->dtype);
    tensor_cast_elements(to->dtype, (char *)to->data + (size_t)i * item, DT_FLOAT64, &v,
                         1, 0, 0);
}

/* ---- forward ---- */

typedef struct Forward {
    const Tensor *x; /* contiguous */
    Tensor *out;
    double *sum; /* NULL: elements are copied */
} Forward;

static void visit_forward(void *ctx, int64_t result, int64_t element, double weight) {
    const Forward *f = ctx;
    size_t item = dtype_size(f->x->dtype);
    if (f->sum)
        f->sum[result] += weight * tensor_f64(f->x, element);
    else if (weight != 0)
        memcpy((char *)f->out->data + (size_t)result * item,
               (const char *)f->x->data + (size_t)element * item, item);
}

bool resample_reference(Call *c) {
    Tensor x;
    Resampling r = {.ndim = call_in(c, 0)->ndim, .visit = visit_forward};
    Forward f = {.x = &x};
    memcpy(r.n, call_in(c, 0)->shape, sizeof r.n);
    if (!resample_shape(c, r.m, &r.first)) return false;
    f.out = call_out(c, 0, r.ndim, r.m);
    if (!f.out || !tensor_clone(c->s, call_in(c, 0), &x)) return false;
    open_axes(c, &r);
    memset(f.out->data, 0, tensor_bytes(f.out));
    int64_t n = tensor_size(f.out);
    if (r.f.mode != RESAMPLE_NEAREST)
        f.sum = mem_zalloc(c->s, (size_t)n + 1, sizeof *f.sum);
    r.ctx = &f;
    visit_all(&r);
    for (int64_t i = 0; f.sum && i < n; i++)
        add_number(f.out, i, f.sum[i]);
    mem_free(f.sum);
    tensor_unref(&x);
    close_axes(&r);
    return true;
}

/* ---- its transpose ---- */

typedef struct Back {
    const Tensor *v;
    double *sum;
} Back;

static void visit_back(void *ctx, int64_t result, int64_t element, double weight) {
    const Back *b = ctx;
    b->sum[element] += weight * tensor_f64(b->v, result);
}

bool resample_back_reference(Call *c) {
    Resampling r = {.ndim = call_in(c, 0)->ndim, .visit = visit_back};
    Back b = {.v = call_in(c, 0)};
    memcpy(r.m, b.v->shape, sizeof r.m);
    if (!resample_shape(c, r.n, &r.first)) return false;
    Tensor *out = call_out(c, 0, r.ndim, r.n);
    if (!out) return false;
    int64_t n = tensor_size(out);
    open_axes(c, &r);
    b.sum = mem_zalloc(c->s, (size_t)n + 1, sizeof *b.sum);
    r.ctx = &b;
    if (n) visit_all(&r);
    for (int64_t i = 0; i < n; i++)
        add_number(out, i, b.sum[i]);
    mem_free(b.sum);
    close_axes(&r);
    return true;
}
