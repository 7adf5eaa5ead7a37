/* Reading short rows, one after the other. Where their elements are is the same from
 * row to row, so that it is found once, as a list of offsets; and where the elements of
 * a vector of the CPU are near each other, one load and one permutation take the place
 * of a load for each. Operands that broadcast along a short axis, short axes in another
 * order, and a constant index along the last axis are all such reads. */
#ifndef VALUE_PATTERN_H
#define VALUE_PATTERN_H

#include "base/session.h"

typedef struct Pattern {
    uint32_t size;   /* bytes of an element */
    uint32_t n;      /* elements after which the offsets repeat */
    int64_t step;    /* bytes by which all move then */
    int64_t end;     /* bytes from the first row's beginning to the end of what is read
                      * in any row */
    int32_t *offset; /* n, in bytes */
    struct PatternVectors {
        size_t (*loop)(char *dst, const char *src, const char *end,
                       const int32_t *begin, const uint32_t *pick, size_t n);
        uint32_t lanes; /* elements of a vector: they divide n */
        int32_t *begin; /* by vector: the least of its offsets */
        uint32_t *pick; /* by word of 4 bytes of a vector: which one from there */
    } vectors;          /* loop NULL: none */
} Pattern;

/* Rows of n elements at these offsets, in bytes; each row begins `step` bytes after the
 * one before. size: 1, 2, 4, 8 or 16. False, and nothing to free: rows are too long for
 * this to pay, or their elements too far from each other. */
bool pattern_of_rows(Session *s, Pattern *q, int64_t rows, int64_t step, int64_t n,
                     const int64_t *offset, uint32_t size);
/* The same for the elements of some dims, in order: a row is the dims behind which the
 * outer ones go on like one. Strides in bytes; no extent is 0. */
bool pattern_of_dims(Session *s, Pattern *q, int ndim, const int64_t *extent,
                     const int64_t *stride, uint32_t size);
void pattern_free(Pattern *q);
/* Writes n elements from number `at` on to dst. base: where the first row begins. */
void pattern_read(const Pattern *q, void *dst, const void *base, int64_t at, size_t n);

/* Of a CPU level (pattern.simd.c): writes n vectors, or the first ones, whose loads end
 * before `end`; returns how many. */
typedef size_t PatternLoop(char *dst, const char *src, const char *end,
                           const int32_t *begin, const uint32_t *pick, size_t n);
extern PatternLoop pattern_loop_1, pattern_loop_2;
/* Of two vectors, one after the other: words of the second one are marked. */
extern PatternLoop pattern_far_1, pattern_far_2;
#define PATTERN_SECOND (UINT32_C(1) << 31)

#endif
