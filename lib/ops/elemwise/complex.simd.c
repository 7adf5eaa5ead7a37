/* Loops of complex.def, once per level of CPU. */
#include "ops/elemwise/kernels.h"
#include "ops/elemwise/loops.h"

/* What x * x loses by rounding, by halves of x whose products are exact (Dekker):
 * without fused instructions, so that all levels give the same bits. */
VINLINE double lost_by_square(double x, double square) {
    double c = 0x1.0000002p27 * x, high = c - (c - x), low = x - high;
    return ((high * high - square) + 2 * (high * low)) + low * low;
}
/* Scaled by a power of 2, so that no square overflows or vanishes; within an ulp. */
VINLINE double cabsolute_c128(double _Complex x) {
    double s = fabs(RE(x)), t = fabs(IM(x)), a = s > t ? s : t, b = s > t ? t : s;
    double down = a > 0x1p500 ? 0x1p-600 : a < 0x1p-400 ? 0x1p600 : 1;
    double up = a > 0x1p500 ? 0x1p600 : a < 0x1p-400 ? 0x1p-600 : 1;
    double p = a * down, q = b * down, pp = p * p, qq = q * q, sum = pp + qq;
    double lost = lost_by_square(p, pp) + lost_by_square(q, qq) + ((pp - sum) + qq);
    double root = sqrt(sum), r = (root + lost / (root + root + 0x1p-1000)) * up;
    bool inf = (s == (double)INFINITY) | (t == (double)INFINITY);
    return inf ? (double)INFINITY : s != s ? s : t != t ? t : r;
}
#define cabsolute(x)                                                                   \
    _Generic((x), float _Complex : cabsolute_c64, double _Complex : cabsolute_c128)(x)

/* clang-format off */
#include "ops/elemwise/complex.def"
