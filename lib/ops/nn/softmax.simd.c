/* softmax(x) = e^(x - m) / sum e^(x - m), where m is the largest element, so that
 * nothing overflows. The maximum and the sum use a fixed number of lanes, combined in a
 * fixed order: the result does not depend on how the compiler vectorises. float32 rows
 * are summed in float32 lanes of at most n / 32 terms. */
#include "ops/nn/softmax.h"

#include "base/level.h"
#include "ops/elemwise/vmath.h"

enum { LANES = SOFTMAX_LANES, PIECE = 8 };

/* The larger one; nan wins. */
#define MORE(a, b) ((((b) > (a)) | ((b) != (b))) ? (b) : (a))

#define ROWS(T, EXP, LOG)                                                              \
    static T max_##T(const T *x, size_t n) {                                           \
        T lane[LANES];                                                                 \
        size_t i = LANES;                                                              \
        if (n < LANES)                                                                 \
            for (size_t l = 0; l < LANES; l++)                                         \
                lane[l] = x[l < n ? l : 0];                                            \
        else                                                                           \
            for (size_t l = 0; l < LANES; l++)                                         \
                lane[l] = x[l];                                                        \
        for (; i + LANES <= n; i += LANES)                                             \
            for (size_t l = 0; l < LANES; l++)                                         \
                lane[l] = MORE(lane[l], x[i + l]);                                     \
        for (size_t l = 0; i + l < n; l++)                                             \
            lane[l] = MORE(lane[l], x[i + l]);                                         \
        for (size_t w = LANES / 2; w; w /= 2)                                          \
            for (size_t l = 0; l < w; l++)                                             \
                lane[l] = MORE(lane[l], lane[l + w]);                                  \
        return lane[0];                                                                \
    }                                                                                  \
    /* The sum of e^(x - m); out, if not NULL, gets the terms. */                      \
    static T sum_##T(const T *x, T m, T *out, size_t n) {                              \
        T lane[LANES] = {0}, tail[LANES], e[LANES];                                    \
        size_t i = 0;                                                                  \
        for (; i + LANES <= n; i += LANES) {                                           \
            for (size_t l = 0; l < LANES; l++)                                         \
                e[l] = EXP(x[i + l] - m);                                              \
            for (size_t l = 0; l < LANES; l++)                                         \
                lane[l] += e[l];                                                       \
            if (out) memcpy(out + i, e, sizeof e);                                     \
        }                                                                              \
        if (i < n) { /* the same code for the rest, beside lanes that add nothing */   \
            for (size_t l = 0; l < LANES; l++)                                         \
                tail[l] = l < n - i ? x[i + l] : m;                                    \
            for (size_t l = 0; l < LANES; l++)                                         \
                e[l] = EXP(tail[l] - m);                                               \
            for (size_t l = 0; l < LANES; l++)                                         \
                lane[l] += l < n - i ? e[l] : 0;                                       \
            if (out) memcpy(out + i, e, (n - i) * sizeof *e);                          \
        }                                                                              \
        for (size_t w = LANES / 2; w; w /= 2)                                          \
            for (size_t l = 0; l < w; l++)                                             \
                lane[l] += lane[l + w];                                                \
        return lane[0];                                                                \
    }                                                                                  \
    static void softmax_##T(const void *from, void *to, size_t n) {                    \
        const T *x = from;                                                             \
        T *out = to, m = max_##T(x, n), scale = 1 / sum_##T(x, m, out, n);             \
        for (size_t i = 0; i < n; i++)                                                 \
            out[i] *= scale;                                                           \
    }                                                                                  \
    static void log_softmax_##T(const void *from, void *to, size_t n) {                \
        const T *x = from;                                                             \
        T *out = to, m = max_##T(x, n), shift = LOG(sum_##T(x, m, NULL, n));           \
        for (size_t i = 0; i < n; i++)                                                 \
            out[i] = (x[i] - m) - shift;                                               \
    }

/* Several columns at a time: each lane is a column, summed in the order of its
 * elements. */
#define COLUMNS(T, EXP, LOG)                                                           \
    static void top_##T(const T *x, T *m, size_t n, size_t step) {                     \
        for (size_t l = 0; l < LANES; l++)                                             \
            m[l] = x[l];                                                               \
        for (size_t j = 1; j < n; j++)                                                 \
            for (size_t l = 0; l < LANES; l++) {                                       \
                T v = x[j * step + l];                                                 \
                m[l] = v > m[l] || v != v ? v : m[l];                                  \
            }                                                                          \
    }                                                                                  \
    static void softmax_columns_##T(const void *from, void *to, size_t n,              \
                                    size_t step) {                                     \
        const T *x = from;                                                             \
        T *out = to, m[LANES], sum[LANES] = {0};                                       \
        top_##T(x, m, n, step);                                                        \
        for (size_t j = 0; j < n; j++)                                                 \
            for (size_t l = 0; l < LANES; l++) {                                       \
                T e = EXP(x[j * step + l] - m[l]);                                     \
                out[j * step + l] = e;                                                 \
                sum[l] += e;                                                           \
            }                                                                          \
        for (size_t l = 0; l < LANES; l++)                                             \
            sum[l] = 1 / sum[l];                                                       \
        for (size_t j = 0; j < n; j++)                                                 \
            for (size_t l = 0; l < LANES; l++)                                         \
                out[j * step + l] *= sum[l];                                           \
    }                                                                                  \
    static void log_softmax_columns_##T(const void *from, void *to, size_t n,          \
                                        size_t step) {                                 \
        const T *x = from;                                                             \
        T *out = to, m[LANES], sum[LANES] = {0};                                       \
        top_##T(x, m, n, step);                                                        \
        for (size_t j = 0; j < n; j++)                                                 \
            for (size_t l = 0; l < LANES; l++)                                         \
                sum[l] += EXP(x[j * step + l] - m[l]);                                 \
        for (size_t l = 0; l < LANES; l++)                                             \
            sum[l] = LOG(sum[l]);                                                      \
        for (size_t j = 0; j < n; j++)                                                 \
            for (size_t l = 0; l < LANES; l++)                                         \
                out[j * step + l] = (x[j * step + l] - m[l]) - sum[l];                 \
    }

/* A single column as adjacent elements: e^(x - m) of several at a time, which are
 * summed in order all the same. */
#define FEW(T, EXP, LOG)                                                               \
    static T few_top_##T(const T *x, size_t n) {                                       \
        T m = x[0];                                                                    \
        for (size_t j = 1; j < n; j++)                                                 \
            m = x[j] > m || x[j] != x[j] ? x[j] : m;                                   \
        return m;                                                                      \
    }                                                                                  \
    static T few_sum_##T(const T *x, T m, T *out, size_t n) {                          \
        T sum = 0, e[PIECE];                                                           \
        for (size_t i = 0; i < n; i += PIECE) {                                        \
            for (size_t l = 0; l < PIECE; l++)                                         \
                e[l] = i + l < n ? x[i + l] : m;                                       \
            for (size_t l = 0; l < PIECE; l++)                                         \
                e[l] = EXP(e[l] - m);                                                  \
            for (size_t l = 0; l < PIECE && i + l < n; l++) {                          \
                sum += e[l];                                                           \
                if (out) out[i + l] = e[l];                                            \
            }                                                                          \
        }                                                                              \
        return sum;                                                                    \
    }                                                                                  \
    static void softmax_few_##T(const void *from, void *to, size_t n) {                \
        const T *x = from;                                                             \
        T *out = to, scale = 1 / few_sum_##T(x, few_top_##T(x, n), out, n);            \
        for (size_t j = 0; j < n; j++)                                                 \
            out[j] *= scale;                                                           \
    }                                                                                  \
    static void log_softmax_few_##T(const void *from, void *to, size_t n) {            \
        const T *x = from;                                                             \
        T *out = to, m = few_top_##T(x, n), shift[PIECE];                              \
        for (size_t l = 0; l < PIECE; l++)                                             \
            shift[l] = l ? 1 : few_sum_##T(x, m, NULL, n);                             \
        for (size_t l = 0; l < PIECE; l++)                                             \
            shift[l] = LOG(shift[l]);                                                  \
        for (size_t j = 0; j < n; j++)                                                 \
            out[j] = (x[j] - m) - shift[0];                                            \
    }

ROWS(float, exp_f32, logf)
ROWS(double, exp_f64, log)
COLUMNS(float, exp_f32, log_f32)
COLUMNS(double, exp_f64, log_f64)
FEW(float, exp_f32, log_f32)
FEW(double, exp_f64, log_f64)

const SoftmaxRows LEVEL(softmax_rows) = {
    {{softmax_float, softmax_double}, {log_softmax_float, log_softmax_double}},
    {{softmax_columns_float, softmax_columns_double},
     {log_softmax_columns_float, log_softmax_columns_double}},
    {{softmax_few_float, softmax_few_double},
     {log_softmax_few_float, log_softmax_few_double}}};
