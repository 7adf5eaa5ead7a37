/* Numbers to text. A float becomes the shortest decimal that reads back to it, and the
 * nearest of these, by R. Giulietti's "Schubfach": with 10^k just below the gap between
 * two neighbouring floats, the result is a multiple of 10^k or 10^(k+1), and only those
 * around the float itself are candidates. Products are rounded to odd, which preserves
 * all comparisons. */
#include "base/num_impl.h"

#include <math.h>
#include <string.h>

static size_t decimal_length(uint64_t v) {
    size_t n = 1;
    for (; v >= 10000; v /= 10000)
        n += 4;
    return n + (v >= 10) + (v >= 100) + (v >= 1000);
}

size_t num_write_uint(char *buf, uint64_t v) {
    size_t n = decimal_length(v);
    buf[n] = '\0';
    for (size_t i = n; i-- > 0; v /= 10)
        buf[i] = (char)('0' + v % 10);
    return n;
}

size_t num_write_int(char *buf, int64_t v) {
    if (v >= 0) return num_write_uint(buf, (uint64_t)v);
    buf[0] = '-';
    return 1 + num_write_uint(buf + 1, 0 - (uint64_t)v);
}

/* digits * 10^exp */
typedef struct Decimal {
    uint64_t digits;
    int exp;
} Decimal;

/* c * 2^q, the parts of a float of some width */
typedef struct BinaryFloat {
    uint64_t c;
    int q;
    bool closer_below; /* a power of two: the gap below is half the gap above */
} BinaryFloat;

static BinaryFloat split_float(double v, FloatWidth w) {
    int bits = w == FLOAT64 ? 53 : w == FLOAT32 ? 24 : 11;
    int least = w == FLOAT64 ? -1074 : w == FLOAT32 ? -149 : -24;
    uint64_t raw;
    memcpy(&raw, &v, sizeof raw);
    int biased = (int)(raw >> 52);
    uint64_t c = raw & ((UINT64_C(1) << 52) - 1);
    if (biased == 0) return (BinaryFloat){c, -1074, false};
    c |= UINT64_C(1) << 52;
    int q = biased - 1075, drop = 53 - bits > least - q ? 53 - bits : least - q;
    if (drop > 0) {
        c >>= drop;
        q += drop;
    }
    return (BinaryFloat){c, q, c == UINT64_C(1) << (bits - 1) && q > least};
}

/* g * c / 2^128; the last bit is also set if anything was cut off. */
static uint64_t scale_to_odd(Pow10 g, uint64_t c) {
    U128 y = (U128)g.hi * c + (uint64_t)(((U128)g.lo * c) >> 64);
    return (uint64_t)(y >> 64) | ((uint64_t)y > 1);
}

/* 10^e rounded up to 128 bits. */
static Pow10 pow10_above(int e) {
    Pow10 g = pow10_get(e);
    if (e >= 0 && e <= POW10_EXACT) return g;
    g.lo++;
    g.hi += g.lo == 0;
    return g;
}

static Decimal shortest_decimal(BinaryFloat b) {
    /* 4 c, and the bounds of what rounds to it, inclusive if c is even */
    uint64_t c4 = 4 * b.c, odd = b.c & 1;
    /* k = floor(log10(gap)), where the gap is 2^q, or 3/4 of that */
    int k = (b.q * 1262611 - (b.closer_below ? 524031 : 0)) >> 22;
    int h = b.q + num_log2_pow10(-k) + 1;
    Pow10 g = pow10_above(-k);
    uint64_t v = scale_to_odd(g, c4 << h);
    uint64_t low = scale_to_odd(g, (c4 - 2 + b.closer_below) << h) + odd;
    uint64_t high = scale_to_odd(g, (c4 + 2) << h) - odd;
    uint64_t s = v / 4, t = s / 10; /* in units of 10^k and 10^(k+1) */
    if (t > 0) {
        bool down = low <= 40 * t, up = 40 * t + 40 <= high;
        if (down != up) return (Decimal){t + up, k + 1};
    }
    bool down = low <= 4 * s, up = 4 * s + 4 <= high;
    if (down == up) up = v > 4 * s + 2 || (v == 4 * s + 2 && (s & 1));
    return (Decimal){s + up, k};
}

static Decimal float_to_decimal(double v, FloatWidth w) {
    BinaryFloat b = split_float(v, w);
    Decimal d;
    if (b.q <= 0 && b.q > -53 && (b.c & ((UINT64_C(1) << -b.q) - 1)) == 0)
        d = (Decimal){b.c >> -b.q, 0}; /* an integer: no shorter text is as near */
    else
        d = shortest_decimal(b);
    while (d.digits % 10 == 0) {
        d.digits /= 10;
        d.exp++;
    }
    return d;
}

static size_t write_scientific(char *buf, const char *digits, size_t n, int top) {
    char *p = buf;
    *p++ = digits[0];
    if (n > 1) {
        *p++ = '.';
        memcpy(p, digits + 1, n - 1);
        p += n - 1;
    }
    *p++ = 'e';
    *p++ = top < 0 ? '-' : '+';
    unsigned e = (unsigned)(top < 0 ? -top : top);
    if (e < 10) *p++ = '0';
    return (size_t)(p - buf) + num_write_uint(p, e);
}

/* top: the power of ten of the first digit */
static size_t write_fixed(char *buf, const char *digits, int n, int top) {
    char *p = buf;
    if (top < 0) *p++ = '0';
    for (int i = top < 0 ? top + 1 : 0; i <= top || i < n; i++) {
        if (i == top + 1) *p++ = '.';
        *p++ = i < 0 || i >= n ? '0' : digits[i];
    }
    if (top >= n - 1) {
        *p++ = '.';
        *p++ = '0';
    }
    *p = '\0';
    return (size_t)(p - buf);
}

size_t num_write_float(char *buf, double v, FloatWidth w) {
    v = float_round(v, w);
    const char *word = isnan(v) ? "nan" : isinf(v) ? (v < 0 ? "-inf" : "inf") : NULL;
    if (v == 0) word = signbit(v) ? "-0.0" : "0.0";
    if (word) {
        size_t n = strlen(word);
        memcpy(buf, word, n + 1);
        return n;
    }
    char digits[24];
    size_t sign = v < 0;
    buf[0] = '-';
    Decimal d = float_to_decimal(fabs(v), w);
    size_t n = num_write_uint(digits, d.digits);
    int top = d.exp + (int)n - 1;
    if (top < -4 || top >= 16) /* as in Python */
        return sign + write_scientific(buf + sign, digits, n, top);
    return sign + write_fixed(buf + sign, digits, (int)n, top);
}
