/* Numbers to text. */
#include "base/num.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t num_write_uint(char *buf, uint64_t v) {
    char back[24];
    size_t n = 0;
    do {
        back[n++] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    for (size_t i = 0; i < n; i++)
        buf[i] = back[n - 1 - i];
    buf[n] = '\0';
    return n;
}

size_t num_write_int(char *buf, int64_t v) {
    if (v >= 0) return num_write_uint(buf, (uint64_t)v);
    buf[0] = '-';
    return 1 + num_write_uint(buf + 1, 0 - (uint64_t)v);
}

static void shortest(double v, FloatWidth w, uint64_t *digits, int *exp) {
    char text[64];
    for (int p = 1; p <= 17; p++) {
        snprintf(text, sizeof text, "%.*e", p - 1, v);
        *digits = 0;
        char *q = text;
        int n = 0;
        for (; *q != 'e'; q++)
            if (*q >= '0' && *q <= '9') {
                *digits = *digits * 10 + (uint64_t)(*q - '0');
                n++;
            }
        *exp = atoi(q + 1) - n + 1;
        char again[64];
        double back;
        snprintf(again, sizeof again, "%llue%d", (unsigned long long)*digits, *exp);
        num_read_float(again, strlen(again), w, &back);
        if (back == v) return;
    }
}

/* DIGITS * 10^exp in Python's form: an exponent below 1e-4 and from 1e16 on. */
static size_t lay_out(char *buf, uint64_t digits, int exp) {
    char d[24];
    int n = (int)num_write_uint(d, digits), top = exp + n - 1; /* of the first digit */
    char *p = buf;
    if (top < -4 || top >= 16) {
        *p++ = d[0];
        if (n > 1) *p++ = '.';
        memcpy(p, d + 1, (size_t)(n - 1));
        p += n - 1;
        *p++ = 'e';
        *p++ = top < 0 ? '-' : '+';
        unsigned e = (unsigned)(top < 0 ? -top : top);
        if (e < 10) *p++ = '0';
        return (size_t)(p - buf) + num_write_uint(p, e);
    }
    if (top < 0) *p++ = '0';
    for (int i = top < 0 ? top + 1 : 0; i <= top || i < n; i++) {
        if (i == top + 1) *p++ = '.';
        *p++ = i < 0 || i >= n ? '0' : d[i];
    }
    if (top >= n - 1) {
        *p++ = '.';
        *p++ = '0';
    }
    *p = '\0';
    return (size_t)(p - buf);
}

size_t num_write_float(char *buf, double v, FloatWidth w) {
    const char *word = isnan(v) ? "nan" : isinf(v) ? (v < 0 ? "-inf" : "inf") : NULL;
    if (!word && v == 0) word = signbit(v) ? "-0.0" : "0.0";
    if (word) {
        size_t n = strlen(word);
        memcpy(buf, word, n + 1);
        return n;
    }
    uint64_t digits;
    int exp;
    size_t sign = v < 0;
    buf[0] = '-';
    shortest(fabs(v), w, &digits, &exp);
    while (digits % 10 == 0) {
        digits /= 10;
        exp++;
    }
    return sign + lay_out(buf + sign, digits, exp);
}
