/* Numbers as text, independent of locale: one reader, one writer. */
#ifndef BASE_NUM_H
#define BASE_NUM_H

#include "base/str.h"

/* A float's width for reading and writing: text is rounded once, directly to this width
 * (no double rounding), ties to even. */
typedef enum FloatWidth { FLOAT16 = 16, FLOAT32 = 32, FLOAT64 = 64 } FloatWidth;

/* Reads a decimal float [digits][.digits][e[+-]digits] or inf, infinity, nan with
 * an optional sign. Returns the bytes read, 0 if there is no number. *v holds the value
 * rounded to w (every float16 and float32 is a double). Overflow gives inf. `_` between
 * digits is not accepted. */
size_t num_read_float(const char *p, size_t n, FloatWidth w, double *v);
/* Reads a decimal or 0x/0o/0b integer without sign, `_` allowed between digits.
 * Returns the bytes read; *overflow is set when it exceeds uint64. */
size_t num_read_uint(const char *p, size_t n, uint64_t *v, bool *overflow);

/* The shortest text that reads back to exactly v at width w. Floats remain recognisable
 * as such ("1.0", "1e+300", "inf", "nan", "-0.0"), as in Python's repr. Returns the
 * length; buf has room for NUM_MAX. */
enum { NUM_MAX = 40 };
size_t num_write_float(char *buf, double v, FloatWidth w);
size_t num_write_int(char *buf, int64_t v);
size_t num_write_uint(char *buf, uint64_t v);

/* IEEE binary16 <-> binary32/64, round to nearest even, nan kept nan. */
double half_to_double(uint16_t h);
uint16_t half_from_double(double v);

/* "10M" (1024-based: K M G T), "10MB" (10^6-based), "512": bytes. False if malformed or
 * too large. */
bool num_read_size(const char *text, uint64_t *bytes);

#endif
