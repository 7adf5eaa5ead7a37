/* Loops of complex.def, once per level of CPU. */
#include "ops/elemwise/kernels.h"
#include "ops/elemwise/loops.h"
#include "ops/elemwise/vmath_complex.h"

/* Scaled by the power of 2 in the larger part, so that no square overflows or vanishes;
 * within an ulp. */
VINLINE double cabsolute_c128(double _Complex x) {
    double s = fabs(RE(x)), t = fabs(IM(x)), a = s > t ? s : t, b = t < s ? t : s;
    double up = power_in(a), down = inverse_power(up);
    double r = length_scaled(a * down, b * down);
    bool inf = (s == (double)INFINITY) | (t == (double)INFINITY);
    return inf ? (double)INFINITY : r * up;
}
/* The same in float32, whose roots take a third of the time of those in float64, with
 * what the root lost. */
#if HAS_FMA
VINLINE float lost_by_square32(float x, float square) {
    return MADD32(x, x, -square);
}
#else
VINLINE float lost_by_square32(float x, float square) {
    float c = 0x1.002p12F * x, high = c - (c - x), low = x - high;
    return ((high * high - square) + 2 * (high * low)) + low * low;
}
#endif
VINLINE float rough_inverse32(float x) {
    float y = bits_f32(0x7EF311C7 - f32_bits(x));
    return y * (2 - x * y);
}
VINLINE float cabsolute_c64(float _Complex x) {
    float s = fabsf(RE(x)), t = fabsf(IM(x)), a = s > t ? s : t, b = t < s ? t : s;
    const int32_t least = 1 << 23, most = 253 << 23;
    int32_t up = (int32_t)(f32_bits(a) & 255u << 23);
    up = up > least ? up : least;
    up = up < most ? up : most;
    float down = bits_f32((254u << 23) - (uint32_t)up), p = a * down, q = b * down,
          pp = p * p, qq = q * q, sum = pp + qq, root = sqrtf(sum);
    float lost = lost_by_square32(p, pp) + lost_by_square32(q, qq) + ((pp - sum) + qq) -
                 lost_by_square32(root, sum);
    float r = root + lost * rough_inverse32(root + root);
    return ((s == INFINITY) | (t == INFINITY)) ? INFINITY : r * bits_f32((uint32_t)up);
}
#define cabsolute(x)                                                                   \
    _Generic((x), float _Complex : cabsolute_c64, double _Complex : cabsolute_c128)(x)

/* clang-format off */
#include "ops/elemwise/complex.def"
