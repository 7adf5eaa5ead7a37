/* The rows of b are loaded into a vector each, and so become rows of c. Sizes are
 * constants within a loop, so that nothing is left of its inner ones. What doesn't fill
 * a vector is moved element by element: a copy of it would pass through memory, and
 * loads of a vector wait long for its parts. */
#include "ops/linalg/product/small.h"

#include "base/level.h"

#include <string.h>

#define PRODUCTS(NAME, T)                                                              \
    typedef T NAME##_row __attribute__((vector_size(SMALL_SIDE * sizeof(T))));         \
    static inline __attribute__((always_inline)) void NAME##_load(                     \
        const char *x, int64_t step, size_t n, NAME##_row *to) {                       \
        NAME##_row r = {0};                                                            \
        bool whole = n == SMALL_SIDE && step == (int64_t)sizeof(T);                    \
        if (whole) memcpy(&r, x, sizeof r);                                            \
        for (size_t j = 0; j < n && !whole; j++) {                                     \
            T v;                                                                       \
            memcpy(&v, x + (int64_t)j * step, sizeof v);                               \
            r[j] = v;                                                                  \
        }                                                                              \
        *to = r;                                                                       \
    }                                                                                  \
    static inline __attribute__((always_inline)) void NAME##_each(                     \
        const SmallProducts *p, size_t k, size_t n) {                                  \
        const char *a = p->a, *b = p->b;                                               \
        char *c = p->c;                                                                \
        for (int64_t q = 0; q < p->count; q++, a += p->a_next, b += p->b_next) {       \
            NAME##_row row[SMALL_SIDE];                                                \
            for (size_t l = 0; l < k; l++)                                             \
                NAME##_load(b + (int64_t)l * p->b_row, p->b_col, n, &row[l]);          \
            for (int64_t i = 0; i < p->m; i++, c += n * sizeof(T)) {                   \
                NAME##_row sum = {0};                                                  \
                for (size_t l = 0; l < k; l++) {                                       \
                    T v;                                                               \
                    memcpy(&v, a + i * p->a_row + (int64_t)l * p->a_col, sizeof v);    \
                    sum += row[l] * v;                                                 \
                }                                                                      \
                if (n == SMALL_SIDE) memcpy(c, &sum, sizeof sum);                      \
                for (size_t j = 0; j < n && n < SMALL_SIDE; j++) {                     \
                    T v = sum[j];                                                      \
                    memcpy(c + j * sizeof v, &v, sizeof v);                            \
                }                                                                      \
            }                                                                          \
        }                                                                              \
    }                                                                                  \
    static void NAME(const SmallProducts *p) {                                         \
        switch (p->k * 8 + p->n) {                                                     \
            CASES(NAME, 1)                                                             \
            CASES(NAME, 2)                                                             \
            CASES(NAME, 3)                                                             \
            CASES(NAME, 4)                                                             \
        default:                                                                       \
            __builtin_unreachable();                                                   \
        }                                                                              \
    }
#define CASE(NAME, K, N)                                                               \
    case (K)*8 + (N):                                                                  \
        NAME##_each(p, K, N);                                                          \
        break;
#define CASES(NAME, K) CASE(NAME, K, 2) CASE(NAME, K, 3) CASE(NAME, K, 4)
PRODUCTS(f32, float)
PRODUCTS(f64, double)

const SmallLoops LEVEL(small_loops) = {{f32, f64}};
