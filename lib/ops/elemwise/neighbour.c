/* Neighbours among the floats, by their bits: nextafter, spacing. */
#include "base/num.h"
#include "ops/elemwise/table.h"

#include <string.h>

/* Bits of floats of one sign are ordered as their absolute values are. V(u) is the
 * number that the bits u are. */
#define NEXT(name, U, F, V)                                                            \
    static U next_##name(U x, U y) {                                                   \
        const U sign = (U)((U)1 << (8 * sizeof(U) - 1));                               \
        const F a = V(x), b = V(y);                                                    \
        if (a != a || b != b) return a != a ? x : y;                                   \
        if (a == b) return y;                                                          \
        if (a == 0) return (U)((y & sign) | 1);                                        \
        return (U)((a < b) == !(x & sign) ? x + 1 : x - 1);                            \
    }                                                                                  \
    static unsigned loop_##name(size_t n, const void *const *in, void *const *out) {   \
        const U *x = in[0], *y = in[1];                                                \
        U *r = out[0];                                                                 \
        for (size_t i = 0; i < n; i++)                                                 \
            r[i] = next_##name(x[i], y[i]);                                            \
        return 0;                                                                      \
    }

static float single_of(uint32_t u) {
    float v;
    memcpy(&v, &u, sizeof v);
    return v;
}
static double double_of(uint64_t u) {
    double v;
    memcpy(&v, &u, sizeof v);
    return v;
}
NEXT(f16, uint16_t, double, half_to_double)
NEXT(f32, uint32_t, float, single_of)
NEXT(f64, uint64_t, double, double_of)

static Loop *pick_nextafter(DType from, DType to, int level) {
    (void)to;
    if (level > 0) return NULL;
    return from == DT_FLOAT16   ? loop_f16
           : from == DT_FLOAT32 ? loop_f32
           : from == DT_FLOAT64 ? loop_f64
                                : NULL;
}

static const Op table[] = {
    TABLE_OP(2, SAME, nextafter, XY, .promote = PROMOTE_INEXACT, .kinds = KIND_FLOAT,
             .flops = "1", D("where(x == r, 0, 1)", "where(x == r, 1, 0)"),
             .doc =
                 "The float next to x in the direction of y; y where they are equal. "
                 "The derivative is that of x.",
             .example = "nextafter(1., 2.) -> 1.0000000000000002"){
        .name = OP_ROW("spacing"),
        .elemwise = true,
        X,
        .promote = PROMOTE_INEXACT,
        .def = "where(isinf(x), nan, where(x < 0, nextafter(x, -inf), nextafter(x, "
               "inf)) - x)",
        .doc = "How far the next float away from 0 is, with the sign of x; nan for "
               "infinities.",
        .example = "spacing(1.) -> 2.220446049250313e-16"},
};
const OpList ops_elemwise_neighbour = LIST_OF(table);
