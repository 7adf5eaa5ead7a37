/* Slow reference reductions, for checks: gathers the elements of each result as plain
 * numbers and applies the definition. */
#include "ops/reduce/reduce.h"

#include <math.h>

typedef struct RefNumber {
    double re, im;
    uint64_t bits; /* integers and bools, in 64 bits */
} RefNumber;

static RefNumber load_number(DType d, const char *p) {
    RefNumber v = {0};
    double z[2];
    if (dtype_is_discrete(d)) {
        tensor_cast_elements(dtype_kind(d) == K_UINT ? DT_UINT64 : DT_INT64, &v.bits, d,
                             p, 1, 0, 0);
        v.re = dtype_kind(d) == K_UINT ? (double)v.bits : (double)(int64_t)v.bits;
        return v;
    }
    tensor_cast_elements(DT_COMPLEX128, z, d, p, 1, 0, 0);
    v.re = z[0];
    v.im = z[1];
    return v;
}

static void store_number(DType d, char *p, RefNumber v) {
    double z[2] = {v.re, v.im};
    if (d == DT_BOOL)
        *(uint8_t *)p = v.re != 0;
    else if (dtype_is_discrete(d))
        tensor_cast_elements(d, p, DT_UINT64, &v.bits, 1, 0, 0);
    else if (dtype_is_complex(d))
        tensor_cast_elements(d, p, DT_COMPLEX128, z, 1, 0, 0);
    else
        tensor_cast_elements(d, p, DT_FLOAT64, z, 1, 0, 0);
}

/* ---- definitions ---- */
static RefNumber sum_numbers(const RefNumber *v, int64_t n) {
    RefNumber r = {0};
    for (int64_t i = 0; i < n; i++) {
        r.re += v[i].re;
        r.im += v[i].im;
        r.bits += v[i].bits;
    }
    return r;
}

static RefNumber product_numbers(const RefNumber *v, int64_t n) {
    RefNumber r = {1, 0, 1};
    for (int64_t i = 0; i < n; i++) {
        double re = r.re * v[i].re - r.im * v[i].im;
        r.im = r.im == 0 && v[i].im == 0 ? 0 : r.re * v[i].im + r.im * v[i].re;
        r.re = r.im == 0 && v[i].im == 0 ? r.re * v[i].re : re;
        r.bits *= v[i].bits;
    }
    return r;
}

static RefNumber mean_numbers(const RefNumber *v, int64_t n) {
    RefNumber r = sum_numbers(v, n);
    r.re /= (double)n;
    r.im /= (double)n;
    return r;
}

/* The first element that no other exceeds; nan exceeds all. Integers compare by their
 * bits: float64 would round them. */
static bool is_beyond(DType d, RefNumber a, RefNumber b, bool largest) {
    if (isnan(b.re)) return false;
    if (isnan(a.re)) return true;
    if (dtype_kind(d) == K_UINT) return largest ? a.bits > b.bits : a.bits < b.bits;
    if (dtype_is_discrete(d))
        return largest ? (int64_t)a.bits > (int64_t)b.bits
                       : (int64_t)a.bits < (int64_t)b.bits;
    return largest ? a.re > b.re : a.re < b.re;
}

static RefNumber extreme_number(DType d, const RefNumber *v, int64_t n, bool largest) {
    RefNumber r = v[0];
    for (int64_t i = 1; i < n; i++)
        if (is_beyond(d, v[i], r, largest)) r = v[i];
    return r;
}

static RefNumber truth_of_numbers(const RefNumber *v, int64_t n, bool all) {
    RefNumber r = {.re = all};
    for (int64_t i = 0; i < n; i++)
        if ((v[i].re != 0 || v[i].im != 0) != all) r.re = !all;
    return r;
}

static RefNumber variance_of_numbers(const RefNumber *v, int64_t n, double ddof) {
    RefNumber m = mean_numbers(v, n), r = {0};
    for (int64_t i = 0; i < n; i++)
        r.re +=
            (v[i].re - m.re) * (v[i].re - m.re) + (v[i].im - m.im) * (v[i].im - m.im);
    r.re /= (double)n - ddof > 0 ? (double)n - ddof : 0;
    return r;
}

static RefNumber log_sum_exp(const RefNumber *v, int64_t n) {
    RefNumber r = {.re = -HUGE_VAL},
              top = n ? extreme_number(DT_FLOAT64, v, n, true) : r;
    if (isinf(top.re) || isnan(top.re)) return top;
    r.re = 0;
    for (int64_t i = 0; i < n; i++)
        r.re += exp(v[i].re - top.re);
    r.re = log(r.re) + top.re;
    return r;
}

static RefNumber reduce_by_definition(ReduceKind kind, DType d, const RefNumber *v,
                                      int64_t n, double ddof) {
    switch (kind) {
    case FOLD_SUM:
        return sum_numbers(v, n);
    case FOLD_MEAN:
        return mean_numbers(v, n);
    case FOLD_PROD:
        return product_numbers(v, n);
    case FOLD_MAX:
    case FOLD_MIN:
        return extreme_number(d, v, n, kind == FOLD_MAX);
    case FOLD_ANY:
    case FOLD_ALL:
        return truth_of_numbers(v, n, kind == FOLD_ALL);
    case FOLD_VAR:
        return variance_of_numbers(v, n, ddof);
    case FOLD_KINDS:
        break;
    }
    return log_sum_exp(v, n);
}

/* ---- groups ---- */
/* The result that element i of x contributes to, and the element's address. */
static int64_t group_of(const Tensor *x, const bool *flag, int64_t i, const char **at) {
    int64_t group = 0, step = 1;
    *at = x->data;
    for (int k = x->ndim - 1; k >= 0; k--) {
        int64_t index = i % x->shape[k];
        i /= x->shape[k];
        *at += index * x->stride[k];
        if (flag[k]) continue;
        group += index * step;
        step *= x->shape[k];
    }
    return group;
}

static void group_all(const Tensor *x, const bool *flag, int64_t n, RefNumber *v,
                      int64_t *filled) {
    for (int64_t i = 0, size = tensor_size(x); i < size; i++) {
        const char *at;
        int64_t g = group_of(x, flag, i, &at);
        v[g * n + filled[g]++] = load_number(x->dtype, at);
    }
}

bool reduce_reference(Call *c, ReduceKind kind, double ddof, bool root) {
    Tensor x = *call_in(c, 0);
    bool flag[MAX_NDIM], keepdims;
    int64_t shape[MAX_NDIM], n = 1;
    int ndim = 0;
    reduce_prop_flags(c, flag, &keepdims);
    for (int k = 0; k < x.ndim; k++) {
        n *= flag[k] ? x.shape[k] : 1;
        if (!flag[k] || keepdims) shape[ndim++] = flag[k] ? 1 : x.shape[k];
    }
    Tensor *out = call_out(c, 0, ndim, shape);
    if (!out) return false;
    int64_t groups = tensor_size(out);
    RefNumber *v = mem_zalloc(c->s, (size_t)tensor_size(&x), sizeof *v);
    int64_t *filled = mem_zalloc(c->s, (size_t)groups, sizeof *filled);
    group_all(&x, flag, n, v, filled);
    for (int64_t g = 0; g < groups; g++) {
        RefNumber r = reduce_by_definition(kind, x.dtype, v + g * n, n, ddof);
        if (root) r.re = sqrt(r.re);
        store_number(out->dtype,
                     (char *)out->data + g * (int64_t)dtype_size(out->dtype), r);
    }
    mem_free(v);
    mem_free(filled);
    return true;
}
