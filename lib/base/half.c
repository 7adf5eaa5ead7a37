/* IEEE binary16 to and from double, bitwise. Every half is a double, so only one
 * direction rounds, and it rounds once. */
#include "base/num.h"

#include <string.h>

double half_to_double(uint16_t h) {
    uint64_t sign = (uint64_t)(h & 0x8000U) << 48, frac = h & 0x3FFU, bits;
    unsigned exp = h >> 10 & 31U;
    double v;
    if (exp == 0) { /* zero or subnormal: frac * 2^-24, exactly */
        v = (double)frac * 0x1p-24;
        return sign ? -v : v;
    }
    bits = exp == 31 ? UINT64_C(0x7FF) << 52 : (uint64_t)(exp + 1023 - 15) << 52;
    bits |= sign | frac << 42;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* v >> shift, rounded to nearest, ties to even; 0 < shift < 64. */
static uint64_t shift_even(uint64_t v, unsigned shift) {
    uint64_t q = v >> shift, rest = v & ((UINT64_C(1) << shift) - 1);
    uint64_t tie = UINT64_C(1) << (shift - 1);
    return q + (rest > tie || (rest == tie && (q & 1)));
}

uint16_t half_from_double(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    uint64_t sign = bits >> 48 & 0x8000U, frac = bits & ((UINT64_C(1) << 52) - 1), h;
    int exp = (int)(bits >> 52 & 0x7FFU) - 1023;
    if (exp == 1024)
        h = frac ? 0x7E00U | frac >> 42 : 0x7C00U; /* a nan keeps its payload's top */
    else if (exp > 15)
        h = 0x7C00U;
    else if (exp >= -14) /* a carry out of the fraction moves the exponent, up to inf */
        h = shift_even((uint64_t)(exp + 15) << 52 | frac, 42);
    else if (exp >= -25)
        h = shift_even(UINT64_C(1) << 52 | frac, (unsigned)(28 - exp));
    else
        h = 0;
    return (uint16_t)(sign | h);
}
