/* The panel of b is packed, block by block of its rows; then four rows of a at a time
 * are multiplied with it, in sums that stay in registers. */
#include "ops/linalg/product/integers.h"

#include "base/level.h"

#include <string.h>

enum { BLOCK = 256, ROWS = 4 };

#define PANEL(NAME, T)                                                                 \
    typedef T NAME##_row __attribute__((vector_size(INTEGER_PANEL)));                  \
    enum { NAME##_LANES = INTEGER_PANEL / sizeof(T) };                                 \
    static void NAME##_pack(const T *b, int64_t ldb, int64_t k, int64_t width,         \
                            NAME##_row *to) {                                          \
        for (int64_t i = 0; i < k; i++) {                                              \
            NAME##_row row = {0};                                                      \
            memcpy(&row, b + i * ldb, (size_t)width * sizeof(T));                      \
            to[i] = row;                                                               \
        }                                                                              \
    }                                                                                  \
    static void NAME##_add(const NAME##_row *sum, int64_t width, T *c) {               \
        T part[NAME##_LANES];                                                          \
        memcpy(part, sum, sizeof part);                                                \
        for (int64_t i = 0; i < width; i++)                                            \
            c[i] += part[i];                                                           \
    }                                                                                  \
    static void NAME##_panel(const IntegerPanel *p) {                                  \
        NAME##_row b[BLOCK];                                                           \
        T *c = p->c;                                                                   \
        for (int64_t first = 0; first < p->k; first += BLOCK) {                        \
            int64_t k = p->k - first < BLOCK ? p->k - first : BLOCK;                   \
            NAME##_pack((const T *)p->b + first * p->ldb, p->ldb, k, p->width, b);     \
            for (int64_t i = 0; i < p->m; i += ROWS) {                                 \
                const T *a[ROWS];                                                      \
                NAME##_row s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};                     \
                for (int64_t r = 0; r < ROWS; r++)                                     \
                    a[r] = (const T *)p->a +                                           \
                           (i + r < p->m ? i + r : p->m - 1) * p->lda + first;         \
                for (int64_t j = 0; j < k; j++) {                                      \
                    s0 += b[j] * a[0][j];                                              \
                    s1 += b[j] * a[1][j];                                              \
                    s2 += b[j] * a[2][j];                                              \
                    s3 += b[j] * a[3][j];                                              \
                }                                                                      \
                const NAME##_row *sum[ROWS] = {&s0, &s1, &s2, &s3};                    \
                for (int64_t r = 0; r < ROWS && i + r < p->m; r++)                     \
                    NAME##_add(sum[r], p->width, c + (i + r) * p->ldc);                \
            }                                                                          \
        }                                                                              \
    }
PANEL(u32, uint32_t)
PANEL(u64, uint64_t)

const IntegerLoops LEVEL(integer_loops) = {u32_panel, u64_panel};
