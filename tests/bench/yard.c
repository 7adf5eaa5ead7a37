/* Yardsticks: plain loops as a C programmer writes them, compiled with -O3
 * -march=native, and the speed of memory. */
#include "bench.h"

#include <math.h>
#include <string.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

#define FMA(T, name)                                                                   \
    void name(void *ctx) {                                                             \
        Yard *y = ctx;                                                                 \
        const T *a = y->a, *b = y->b, *c = y->c;                                       \
        T *restrict out = y->out;                                                      \
        for (size_t i = 0; i < y->n; i++)                                              \
            out[i] = a[i] * b[i] + c[i];                                               \
    }
FMA(float, yard_fma_f32)
FMA(double, yard_fma_f64)

void yard_twelve_f32(void *ctx) {
    Yard *y = ctx;
    const float *a = y->a, *b = y->b, *c = y->c;
    float *restrict out = y->out;
    for (size_t i = 0; i < y->n; i++)
        out[i] = ((a[i] * b[i] + c[i]) * 2 - a[i] / (b[i] + 3)) * (c[i] - a[i]) +
                 (a[i] >= b[i] ? a[i] : b[i]) * c[i] - b[i];
}

/* STREAM's triad with stores that don't read the target first, where the CPU has them.
 */
#ifdef __AVX__
#define TRIAD(T, name, V, load, set, mul, add, stream)                                 \
    void name(void *ctx) {                                                             \
        Yard *y = ctx;                                                                 \
        const T *a = y->a, *b = y->b;                                                  \
        T *out = y->out;                                                               \
        V three = set(3);                                                              \
        size_t step = sizeof(V) / sizeof(T), i = 0;                                    \
        for (; i + step <= y->n; i += step)                                            \
            stream(out + i, add(load(a + i), mul(three, load(b + i))));                \
        for (; i < y->n; i++)                                                          \
            out[i] = a[i] + 3 * b[i];                                                  \
        _mm_sfence();                                                                  \
    }
TRIAD(float, yard_triad_f32, __m256, _mm256_loadu_ps, _mm256_set1_ps, _mm256_mul_ps,
      _mm256_add_ps, _mm256_stream_ps)
TRIAD(double, yard_triad_f64, __m256d, _mm256_loadu_pd, _mm256_set1_pd, _mm256_mul_pd,
      _mm256_add_pd, _mm256_stream_pd)
#else
#define TRIAD(T, name)                                                                 \
    void name(void *ctx) {                                                             \
        Yard *y = ctx;                                                                 \
        const T *a = y->a, *b = y->b;                                                  \
        T *restrict out = y->out;                                                      \
        for (size_t i = 0; i < y->n; i++)                                              \
            out[i] = a[i] + 3 * b[i];                                                  \
    }
TRIAD(float, yard_triad_f32)
TRIAD(double, yard_triad_f64)
#endif

void yard_chain_f32(void *ctx) {
    Yard *y = ctx;
    const float *a = y->a, *b = y->b;
    float *out = y->out;
    for (size_t i = 0; i < y->n; i++)
        out[i] = tanhf(logf(expf(a[i]) + 2)) * (1 / (1 + expf(-b[i])));
}

void yard_chain_f64(void *ctx) {
    Yard *y = ctx;
    const double *a = y->a, *b = y->b;
    double *out = y->out;
    for (size_t i = 0; i < y->n; i++)
        out[i] = tanh(log(exp(a[i]) + 2)) * (1 / (1 + exp(-b[i])));
}

/* In lanes that a compiler can keep in vectors. */
void yard_distance_f32(void *ctx) {
    Yard *y = ctx;
    const float *a = y->a, *b = y->b;
    double sum[32] = {0}, all = 0;
    for (size_t i = 0; i + 32 <= y->n; i += 32)
        for (size_t k = 0; k < 32; k++) {
            float d = a[i + k] - b[i + k];
            sum[k] += (double)(d * d);
        }
    for (size_t k = 0; k < 32; k++)
        all += sum[k];
    *(volatile float *)y->out = (float)all;
}

void yard_exp_rows_f32(void *ctx) {
    Yard *y = ctx;
    const float *a = y->a, *b = y->b;
    float *out = y->out;
    for (size_t i = 0; i < y->n / ROW; i++) {
        double sum = 0;
        for (size_t k = 0; k < ROW; k++)
            sum += (double)expf(a[i * ROW + k] - b[i]);
        out[i] = (float)sum;
    }
}

void yard_copy(void *ctx) {
    Yard *y = ctx;
    memcpy(y->out, y->a, y->n);
}

void yard_read(void *ctx) {
    Yard *y = ctx;
    const uint64_t *a = y->a;
    uint64_t sum[64] = {0}, all = 0;
    for (size_t i = 0; i + 64 <= y->n / 8; i += 64)
        for (size_t k = 0; k < 64; k++)
            sum[k] += a[i + k];
    for (size_t k = 0; k < 64; k++)
        all += sum[k];
    *(volatile uint64_t *)y->out = all;
}

void yard_gather_f32(void *ctx) {
    Yard *y = ctx;
    const float *a = y->a;
    const int64_t *at = y->b;
    float *restrict out = y->out;
    for (size_t i = 0; i < y->n; i++)
        out[i] = a[at[i]];
}

void yard_scatter_f32(void *ctx) {
    Yard *y = ctx;
    const float *a = y->a;
    const int64_t *at = y->b;
    float *out = y->out;
    for (size_t i = 0; i < y->n; i++)
        out[at[i]] += a[i];
}

void yard_recurrence(void *ctx) {
    Yard *y = ctx;
    const double *a = y->a;
    double *restrict out = y->out, c = 0;
    for (size_t i = 0; i < y->n; i++)
        out[i] = c = 0.9 * c + a[i];
}

void yard_hmm(void *ctx) {
    Yard *y = ctx;
    const double *x = y->a, *weight = y->b;
    double *out = y->out, w[LOOP_IN * LOOP_IN], h[LOOP_IN];
    for (size_t k = 0; k < LOOP_IN * LOOP_IN; k++)
        w[k] = exp(weight[k]);
    for (size_t j = 0; j < LOOP_IN; j++)
        h[j] = 1.0 / LOOP_IN;
    for (size_t i = 0; i < y->n; i++, x += LOOP_IN, out += LOOP_IN) {
        double sum = 0;
        memset(out, 0, sizeof h);
        for (size_t k = 0; k < LOOP_IN; k++)
            for (size_t j = 0; j < LOOP_IN; j++)
                out[j] += h[k] * w[k * LOOP_IN + j];
        for (size_t j = 0; j < LOOP_IN; j++)
            sum += out[j] *= exp(x[j]);
        for (size_t j = 0; j < LOOP_IN; j++)
            h[j] = out[j] /= sum;
    }
}

/* z = x @ W + h @ U, row by row of the weights. */
static void affine(const double *x, const double *h, const double *w, size_t width,
                   double *restrict z) {
    memset(z, 0, width * sizeof *z);
    for (size_t k = 0; k < LOOP_IN; k++, w += width)
        for (size_t j = 0; j < width; j++)
            z[j] += x[k] * w[j];
    for (size_t k = 0; k < LOOP_OUT; k++, w += width)
        for (size_t j = 0; j < width; j++)
            z[j] += h[k] * w[j];
}

void yard_rnn(void *ctx) {
    Yard *y = ctx;
    const double *x = y->a, zero[LOOP_OUT] = {0}, *h = zero;
    double *out = y->out, z[LOOP_OUT];
    for (size_t i = 0; i < y->n; i++, x += LOOP_IN, out += LOOP_OUT) {
        affine(x, h, y->b, LOOP_OUT, z);
        for (size_t j = 0; j < LOOP_OUT; j++)
            out[j] = tanh(z[j]);
        h = out;
    }
}

void yard_lstm(void *ctx) {
    Yard *y = ctx;
    const double *x = y->a, zero[LOOP_OUT] = {0}, *h = zero;
    double *out = y->out, z[4 * LOOP_OUT], c[LOOP_OUT] = {0};
    for (size_t i = 0; i < y->n; i++, x += LOOP_IN, out += LOOP_OUT) {
        affine(x, h, y->b, 4 * LOOP_OUT, z);
        for (size_t j = 0; j < LOOP_OUT; j++) {
            double forget = 1 / (1 + exp(-z[j])), in = 1 / (1 + exp(-z[LOOP_OUT + j]));
            double gate = 1 / (1 + exp(-z[3 * LOOP_OUT + j]));
            c[j] = forget * c[j] + in * tanh(z[2 * LOOP_OUT + j]);
            out[j] = gate * tanh(c[j]);
        }
        h = out;
    }
}
