/* Neighbours among the floats, by their bits, without branches: floats of one sign are
 * ordered as their bits are. */
#include "ops/elemwise/neighbour.h"

#include "base/level.h"
#include "ops/elemwise/loops.h"

/* U: unsigned, S: signed, of the float's size; MOST: the bits of infinity. */
#define NEXT(name, U, S, MOST)                                                         \
    static unsigned name(size_t n, const void *const *in, void *const *out) {          \
        const U *x = in[0], *y = in[1], sign = (U)((U)1 << (8 * sizeof(U) - 1));       \
        U *r = out[0];                                                                 \
        VECTOR_LOOP for (size_t i = 0; i < n; i++) {                                   \
            const U a = x[i], b = y[i], m = a & (U)~sign, k = b & (U)~sign;            \
            const S from = (S)(a & sign ? -(S)m : (S)m),                               \
                    to = (S)(b & sign ? -(S)k : (S)k);                                 \
            U next = (U)((from < to) == !(a & sign) ? a + 1 : a - 1);                  \
            next = m == 0 ? (U)((b & sign) | 1) : next;                                \
            next = from == to ? b : next;                                              \
            next = k > (U)(MOST) ? b : next;                                           \
            r[i] = m > (U)(MOST) ? a : next;                                           \
        }                                                                              \
        return 0;                                                                      \
    }
NEXT(next_f16, uint16_t, int16_t, 0x7C00)
NEXT(next_f32, uint32_t, int32_t, 0x7F800000)
NEXT(next_f64, uint64_t, int64_t, 0x7FF0000000000000)

const NextLoops LEVEL(next_loops) = {next_f16, next_f32, next_f64};
