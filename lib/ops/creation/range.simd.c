/* The loops of arange. */
#include "ops/creation/range.h"

#include "base/level.h"

/* Sums: few CPUs multiply vectors of int64. */
static void ints(int64_t *restrict p, size_t n, int64_t start, int64_t step) {
    uint64_t next = (uint64_t)start;
    for (size_t i = 0; i < n; i++, next += (uint64_t)step)
        p[i] = (int64_t)next;
}
/* Positions are exact: few CPUs convert vectors of int64, but all those of int32. */
#define FLOATS(NAME, T)                                                                \
    static void NAME(T *restrict p, size_t n, double at, double start, double step) {  \
        enum { MOST = 1 << 30 };                                                       \
        for (size_t m; n; n -= m, p += m, at += (double)m) {                           \
            m = n < MOST ? n : MOST;                                                   \
            for (int32_t i = 0; i < (int32_t)m; i++)                                   \
                p[i] = (T)(start + (at + (double)i) * step);                           \
        }                                                                              \
    }
FLOATS(doubles, double)
FLOATS(floats, float)

const RangeLoops LEVEL(range_loops) = {ints, doubles, floats};
