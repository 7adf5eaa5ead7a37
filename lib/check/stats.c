/* Statistics of a tensor's elements. */
#include "check/check.h"

#include <math.h>

enum { BLOCK = 256 };
static const double BIG = 1e10;

static void count_number(Stats *q, double *sum, double x, int64_t at) {
    bool odd = !isfinite(x);
    q->nans += isnan(x);
    q->infs += isinf(x) != 0;
    bool big = !odd && fabs(x) > BIG;
    q->big += big;
    if (odd && q->first < 0) q->first = at;
    if (big && q->first_big < 0) q->first_big = at;
    if (!odd) *sum += x;
    if (isnan(x)) return;
    if (!(q->min <= x)) q->min = x;
    if (!(q->max >= x)) q->max = x;
}

/* The row of t that begins at p, with flat index `at`. */
static void count_row(Stats *q, double *sum, const Tensor *t, const char *p,
                      int64_t at) {
    int parts = dtype_is_complex(t->dtype) ? 2 : 1, last = t->ndim - 1;
    int64_t n = last < 0 ? 1 : t->shape[last], step = last < 0 ? 0 : t->stride[last];
    double block[2 * BLOCK];
    for (int64_t i = 0; i < n; i += BLOCK) {
        size_t m = n - i < BLOCK ? (size_t)(n - i) : BLOCK;
        tensor_cast_elements(parts == 2 ? DT_COMPLEX128 : DT_FLOAT64, block, t->dtype,
                             p + i * step, m, 8 * (ptrdiff_t)parts, (ptrdiff_t)step);
        for (size_t k = 0; k < m * (size_t)parts; k++)
            count_number(q, sum, block[k], at + i + (int64_t)k / parts);
    }
}

/* Row by row, so that "first" follows the printed order. */
Stats tensor_stats(const Tensor *t) {
    Stats q = {.size = tensor_size(t), .first = -1, .first_big = -1};
    q.min = q.max = (double)NAN;
    int outer = t->ndim ? t->ndim - 1 : 0;
    int64_t n = t->ndim ? t->shape[outer] : 1;
    int64_t index[MAX_NDIM] = {0};
    const char *p = t->data;
    double sum = 0;
    for (int64_t at = 0; at < q.size; at += n) {
        count_row(&q, &sum, t, p, at);
        for (int k = outer - 1; k >= 0; k--) {
            p += t->stride[k];
            if (++index[k] < t->shape[k]) break;
            p -= index[k] * t->stride[k];
            index[k] = 0;
        }
    }
    int64_t parts = dtype_is_complex(t->dtype) ? 2 : 1;
    int64_t finite = q.size * parts - q.nans - q.infs;
    q.mean = finite ? sum / (double)finite : (double)NAN;
    return q;
}
