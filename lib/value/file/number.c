/* Numbers as text, for tables and JSON: each is read straight into its dtype. */
#include "value/file/number.h"

#include <math.h>
#include <string.h>

static bool is_any_of(const char *p, size_t n, const char *const *words, size_t count,
                      size_t *which) {
    for (*which = 0; *which < count; ++*which)
        if (strlen(words[*which]) == n && memcmp(words[*which], p, n) == 0) return true;
    return false;
}

bool number_is_missing(const char *p, size_t n) {
    static const char *const words[] = {"NA",  "N/A", "null", "NULL",
                                        "nan", "NaN", "NAN"};
    size_t i;
    return n == 0 || is_any_of(p, n, words, sizeof words / sizeof *words, &i);
}

static NumberResult store_float(DType d, const char *p, size_t n, void *dst) {
    double v;
    FloatWidth w = dtype_float_width(d);
    if (n == 0 || num_read_float(p, n, w, &v) != n) {
        if (!number_is_missing(p, n)) return NUMBER_TEXT;
        v = (double)NAN;
    }
    float narrow = (float)v;
    uint16_t half = w == FLOAT16 ? half_from_double(v) : 0;
    memcpy(dst,
           w == FLOAT64   ? (void *)&v
           : w == FLOAT32 ? (void *)&narrow
                          : (void *)&half,
           dtype_size(d));
    return NUMBER_STORED;
}

/* Digits only, with a sign; false: something else, or too long. */
static bool read_digits(const char *p, size_t n, bool *negative, uint64_t *u) {
    size_t i = n > 0 && (*p == '-' || *p == '+'), start = i;
    *negative = i && *p == '-';
    *u = 0;
    for (; i < n && ascii_is_digit(p[i]); i++)
        if (__builtin_mul_overflow(*u, 10U, u) ||
            __builtin_add_overflow(*u, (unsigned)(p[i] - '0'), u))
            return false;
    return i == n && i > start;
}

/* A whole number that is written as a float, "3.0" or "1e3". */
static NumberResult read_whole_float(const char *p, size_t n, bool *negative,
                                     uint64_t *u) {
    double v;
    if (number_is_missing(p, n)) return NUMBER_MISSING;
    if (num_read_float(p, n, FLOAT64, &v) != n) return NUMBER_TEXT;
    if (isnan(v)) return NUMBER_MISSING;
    if (isinf(v) || v != trunc(v)) return NUMBER_PART;
    if (fabs(v) >= 0x1p64) return NUMBER_RANGE;
    *negative = v < 0;
    *u = (uint64_t)fabs(v);
    return NUMBER_STORED;
}

static void write_bits(DType d, uint64_t bits, void *dst) {
    uint8_t b = (uint8_t)bits;
    uint16_t h = (uint16_t)bits;
    uint32_t w = (uint32_t)bits;
    size_t size = dtype_size(d);
    memcpy(dst,
           size == 1   ? (void *)&b
           : size == 2 ? (void *)&h
           : size == 4 ? (void *)&w
                       : (void *)&bits,
           size);
}

static NumberResult store_whole(DType d, const char *p, size_t n, void *dst) {
    bool negative;
    uint64_t u, hi;
    int64_t lo;
    if (!read_digits(p, n, &negative, &u)) {
        NumberResult k = read_whole_float(p, n, &negative, &u);
        if (k != NUMBER_STORED) return k;
    }
    dtype_int_range(d, &lo, &hi);
    if (negative ? u > 0 - (uint64_t)lo : u > hi) return NUMBER_RANGE;
    write_bits(d, negative ? 0 - u : u, dst);
    return NUMBER_STORED;
}

static NumberResult store_bool(const char *p, size_t n, uint8_t *dst) {
    static const char *const words[] = {"0",     "1",    "False", "True",
                                        "false", "true", "FALSE", "TRUE"};
    size_t i;
    double v;
    if (is_any_of(p, n, words, sizeof words / sizeof *words, &i))
        return *dst = i & 1, NUMBER_STORED;
    if (number_is_missing(p, n)) return NUMBER_MISSING;
    return num_read_float(p, n, FLOAT64, &v) == n ? NUMBER_RANGE : NUMBER_TEXT;
}

NumberResult number_store(DType d, const char *p, size_t n, void *dst) {
    if (d == DT_BOOL) return store_bool(p, n, dst);
    return dtype_is_integer(d) ? store_whole(d, p, n, dst) : store_float(d, p, n, dst);
}

void number_explain(NumberResult why, DType d, const char *p, size_t n, Str *out) {
    enum { SHOWN = 40 };
    if (why == NUMBER_MISSING && n == 0) {
        str_printf(out, "the value is missing, and %s has none for that",
                   dtype_name(d));
        return;
    }
    str_putc(out, '\'');
    str_visible(out, p, n < SHOWN ? n : SHOWN);
    str_puts(out, n < SHOWN ? "'" : "...'");
    switch (why) {
    case NUMBER_STORED:
    case NUMBER_TEXT:
        str_puts(out, " is not a number");
        return;
    case NUMBER_MISSING:
        str_printf(out, " is missing, and %s has no value for that", dtype_name(d));
        return;
    case NUMBER_PART:
        str_printf(out, " is not a whole number, as %s needs", dtype_name(d));
        return;
    case NUMBER_RANGE:
        str_printf(out, " is out of range of %s", dtype_name(d));
        return;
    }
}
