/* Numbers from text. A float is read as its digits and a power of ten. Few digits and a
 * small power are exact in a double's arithmetic (one rounding); the rest goes to
 * strtod as DIGITSeEXP, which doesn't depend on the locale. A narrower width needs a
 * second rounding, which is correct unless the double lies halfway between two narrow
 * numbers: only then are the digits compared again. */
#include "base/num_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A double halfway between two doubles has at most 767 digits; further digits can only
 * mean "above". */
enum { DIGITS_MAX = 770, EXP_MAX = 100000 };

typedef struct ScannedDecimal {
    const char *first, *end; /* significant digits, possibly with a point */
    uint64_t lead;           /* the first 19 of them as a number */
    size_t ndigits;          /* of first..end, without leading zeros */
    int64_t exp;             /* value = DIGITS * 10^exp */
} ScannedDecimal;

/* Reads [digits][.digits]; returns the end, or p if there is no digit. */
static const char *scan_digits(const char *p, const char *end, ScannedDecimal *d) {
    const char *start = p;
    bool point = false, any = false;
    *d = (ScannedDecimal){p, p, 0, 0, 0};
    for (; p < end; p++) {
        if (*p == '.' && !point) {
            point = true;
            continue;
        }
        if (!ascii_is_digit(*p)) break;
        any = true;
        if (point) d->exp--;
        if (d->ndigits == 0 && *p == '0') continue;
        if (d->ndigits == 0) d->first = p;
        if (d->ndigits++ < 19) d->lead = 10 * d->lead + (uint64_t)(*p - '0');
    }
    d->end = p;
    return any ? p : start;
}

/* Reads e[+-]digits, if present. */
static const char *scan_exponent(const char *p, const char *end, ScannedDecimal *d) {
    const char *q = p;
    int64_t e = 0;
    if (q == end || (*q != 'e' && *q != 'E')) return p;
    bool negative = ++q < end && *q == '-';
    if (q < end && (*q == '+' || *q == '-')) q++;
    if (q == end || !ascii_is_digit(*q)) return p;
    for (; q < end && ascii_is_digit(*q); q++)
        if (e < INT64_MAX / 100) e = 10 * e + (*q - '0');
    d->exp += negative ? -e : e;
    return q;
}

/* The digits as text, at most DIGITS_MAX of them, followed by a 1 if any but zeros were
 * cut off. */
static size_t copy_digits(const ScannedDecimal *d, char *buf, int64_t *exp) {
    size_t n = 0;
    bool more = false;
    *exp = d->exp;
    for (const char *p = d->first; p < d->end; p++) {
        if (*p == '.') continue;
        if (n < DIGITS_MAX) {
            buf[n++] = *p;
        } else {
            more |= *p != '0';
            (*exp)++;
        }
    }
    if (more) {
        buf[n++] = '1';
        (*exp)--;
    }
    buf[n] = '\0';
    return n;
}

static double read_by_strtod(const ScannedDecimal *d) {
    char buf[DIGITS_MAX + 32];
    int64_t exp;
    size_t n = copy_digits(d, buf, &exp);
    if (exp > EXP_MAX) exp = EXP_MAX;
    if (exp < -EXP_MAX) exp = -EXP_MAX;
    snprintf(buf + n, sizeof buf - n, "e%d", (int)exp);
    return strtod(buf, NULL);
}

/* top * 2^e, rounded to a double, where top has its highest bit set; `more` says that a
 * bit below top is set. False outside the range of normal doubles. */
static bool round_normal(uint64_t top, bool more, int e, double *v) {
    uint64_t c = top >> 11, rest = top & 0x7FF, bits;
    c += rest > 0x400 || (rest == 0x400 && (more || (c & 1)));
    int biased = e + 11 + 52 + 1023;
    if (biased < 1 || biased > 2045) return false;
    bits = ((uint64_t)biased << 52) + (c - (UINT64_C(1) << 52)); /* may carry upwards */
    memcpy(v, &bits, sizeof bits);
    return true;
}

static bool round_product(U128 p, int e, double *v) {
    int shift = (p >> 127) == 0;
    p <<= shift;
    return round_normal((uint64_t)(p >> 64), (uint64_t)p != 0, e + 64 - shift, v);
}

/* lead * 10^exp, using a 128-bit power of ten: the product lies in [p, p + 2), and if
 * both ends round to the same double, that is the result. False: undecided. */
static bool multiply_pow10(uint64_t lead, int64_t exp, double *v) {
    if (exp < POW10_MIN || exp > POW10_MAX) return false;
    int e = (int)exp, shift = __builtin_clzll(lead);
    lead <<= shift;
    Pow10 g = pow10_get(e);
    U128 p = (U128)g.hi * lead + (uint64_t)(((U128)g.lo * lead) >> 64);
    int e2 = num_log2_pow10(e) - 127 + 64 - shift;
    double above;
    if (p > ~(U128)0 - 2) return false;
    return round_product(p, e2, v) && round_product(p + 2, e2, &above) && *v == above;
}

static double decimal_to_double(const ScannedDecimal *d) {
    static const double pow10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double v, above;
    if (d->ndigits == 0) return 0;
    if (d->ndigits <= 19) {
        if (d->lead <= UINT64_C(1) << 53 && d->exp >= -22 && d->exp <= 22)
            return d->exp < 0 ? (double)d->lead / pow10[-d->exp]
                              : (double)d->lead * pow10[d->exp];
        return multiply_pow10(d->lead, d->exp, &v) ? v : read_by_strtod(d);
    }
    int64_t exp =
        d->exp + (int64_t)d->ndigits - 19; /* lead is truncated: try both sides */
    if (multiply_pow10(d->lead, exp, &v) && multiply_pow10(d->lead + 1, exp, &above) &&
        v == above)
        return v;
    return read_by_strtod(d);
}

double float_round(double v, FloatWidth w) {
    if (w == FLOAT64) return v;
    return w == FLOAT32 ? (double)(float)v : half_to_double(half_from_double(v));
}

/* Sign of the decimal minus v, for a positive v whose digits end within 180. */
static int compare_exactly(const ScannedDecimal *d, double v) {
    char a[DIGITS_MAX + 32], text[220], b[220];
    int64_t exp_a;
    size_t na = copy_digits(d, a, &exp_a), nb = 0;
    snprintf(text, sizeof text, "%.180e", v);
    char *p = text;
    for (; *p && *p != 'e'; p++) /* skips the point, whatever the locale calls it */
        if (ascii_is_digit(*p)) b[nb++] = *p;
    int64_t top_a = exp_a + (int64_t)na - 1, top_b = strtol(p + 1, NULL, 10);
    if (top_a != top_b) return top_a < top_b ? -1 : 1;
    for (size_t i = 0; i < na || i < nb; i++) {
        char x = i < na ? a[i] : '0', y = i < nb ? b[i] : '0';
        if (x != y) return x < y ? -1 : 1;
    }
    return 0;
}

/* If v lies exactly between two numbers of the width, the neighbour other than `near`;
 * else `near`. */
static double across_tie(double v, double near, FloatWidth w) {
    double edge = w == FLOAT32 ? 0x1.ffffffp127 : 65520.0; /* first to round to inf */
    if (v >= edge) return v == edge ? (w == FLOAT32 ? 0x1.fffffep127 : 65504.0) : near;
    double other = 2 * v - near;
    return float_round(other, w) == other ? other : near;
}

/* v: the positive decimal, rounded to double. */
static double narrow_to_width(const ScannedDecimal *d, double v, FloatWidth w) {
    double near = float_round(v, w);
    if (near == v) return v;
    double other = across_tie(v, near, w);
    if (other == near) return near;
    int side = compare_exactly(d, v);
    if (side == 0) return near; /* an exact tie: to even */
    return (side > 0) == (near > v) ? near : other;
}

static bool is_word_at(const char *p, size_t n, const char *word, size_t len) {
    if (n < len) return false;
    for (size_t i = 0; i < len; i++)
        if ((p[i] | 0x20) != word[i]) return false;
    return n == len || !ascii_is_word(p[len]);
}

static size_t read_inf_or_nan(const char *p, size_t n, double *v) {
    static const struct {
        const char *text;
        size_t len;
        bool is_nan;
    } words[] = {{"inf", 3, false}, {"infinity", 8, false}, {"nan", 3, true}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!is_word_at(p, n, words[i].text, words[i].len)) continue;
        *v = words[i].is_nan ? __builtin_nan("") : __builtin_inf();
        return words[i].len;
    }
    return 0;
}

size_t num_read_float(const char *p, size_t n, FloatWidth w, double *v) {
    size_t sign = n > 0 && (p[0] == '-' || p[0] == '+');
    const char *start = p + sign, *end = p + n;
    double r;
    size_t len = read_inf_or_nan(start, n - sign, &r);
    if (len == 0) {
        ScannedDecimal d;
        const char *q = scan_digits(start, end, &d);
        if (q == start) return 0;
        q = scan_exponent(q, end, &d);
        r = decimal_to_double(&d);
        if (w != FLOAT64) r = narrow_to_width(&d, r, w);
        len = (size_t)(q - start);
    }
    *v = sign && p[0] == '-' ? -r : r;
    return sign + len;
}

/* For any base; other characters exceed every digit. */
static unsigned digit_value(char c) {
    return (unsigned)ascii_hex_digit(c);
}

size_t num_read_uint(const char *p, size_t n, uint64_t *v, bool *overflow) {
    unsigned base = 10;
    size_t i = 0;
    if (n > 2 && p[0] == '0') {
        char c = (char)(p[1] | 0x20);
        base = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 10;
        if (base != 10 && digit_value(p[2]) < base) i = 2;
        if (i == 0) base = 10;
    }
    *v = 0;
    *overflow = false;
    size_t start = i;
    for (; i < n; i++) {
        if (p[i] == '_' && i > start && i + 1 < n && digit_value(p[i + 1]) < base)
            continue;
        unsigned digit = digit_value(p[i]);
        if (digit >= base) break;
        if (__builtin_mul_overflow(*v, base, v) || __builtin_add_overflow(*v, digit, v))
            *overflow = true;
    }
    return i;
}

/* The power of 1000 or 1024 that a unit's letter means; 0 if it isn't a unit. */
static unsigned unit_power(char c) {
    static const char units[] = "kmgt";
    const char *at = c ? strchr(units, c | 0x20) : NULL;
    return at ? (unsigned)(at - units) + 1 : 0;
}

bool num_read_size(const char *text, uint64_t *bytes) {
    bool overflow;
    uint64_t v;
    size_t n =
        ascii_is_digit(text[0]) ? num_read_uint(text, strlen(text), &v, &overflow) : 0;
    if (n == 0 || overflow) return false;
    unsigned power = unit_power(text[n]);
    n += power > 0;
    uint64_t base = 1024;
    if (power && strcmp(text + n, "iB") == 0) {
        n += 2;
    } else if (text[n] == 'B') {
        base = 1000;
        n++;
    }
    if (text[n] != '\0') return false;
    while (power-- > 0)
        if (__builtin_mul_overflow(v, base, &v)) return false;
    *bytes = v;
    return true;
}
