/* Inner loops of gathering and scattering. */
#ifndef OPS_INDEX_LOOPS_H
#define OPS_INDEX_LOOPS_H

#include "type/type.h"

/* offset[k] = base + the byte offset of index v[k] along an axis of that size and
 * stride, from the end if it is negative; false if one is out of range. */
typedef bool WrapFn(const int64_t *v, int64_t n, int64_t size, int64_t stride,
                    int64_t base, int64_t *restrict offset);
/* Are all in [0, size)? */
typedef bool WithinFn(const int64_t *v, int64_t n, int64_t size);
/* out[i] = the element at base + offset[i], or the one that many elements from base */
typedef void GatherFn(int64_t n, char *out, const char *base, const int64_t *offset);
/* The same of rows of 1 to SHORT_ROW bytes. */
enum { SHORT_ROW = 128 };
typedef void GatherShortFn(int64_t n, char *out, const char *base,
                           const int64_t *offset, size_t bytes);
/* How an element is combined with what is written there; min and max take nan, and have
 * no complex numbers. */
typedef enum IndexFold {
    INDEX_ADD,
    INDEX_MUL,
    INDEX_MAX,
    INDEX_MIN,
    INDEX_FOLDS
} IndexFold;
/* the element at base + offset[i] = y[i], or is combined with it, in order */
typedef void ScatterFn(int64_t n, char *base, const int64_t *offset, const char *y,
                       int64_t step);
/* dst[i] = y[i], or is combined with it */
typedef void RowFn(int64_t n, char *dst, int64_t dst_step, const char *y, int64_t step);

/* How many of n bytes, each 0 or 1, are 1. */
typedef int64_t CountFn(const uint8_t *flag, int64_t n);

/* Writes the positions, counted from `first`, of those of n bytes that are not 0, at
 * most `room`; returns how many. */
typedef int64_t PositionsFn(const uint8_t *flag, int64_t n, int64_t first, int64_t *to,
                            int64_t room);

enum { INDEX_SIZES = 5 }; /* elements of 1, 2, 4, 8 and 16 bytes */
typedef struct IndexLoops {
    WrapFn *wrap;
    WithinFn *within;
    CountFn *count;
    PositionsFn *positions;
    GatherFn *gather[INDEX_SIZES], *gather_far[INDEX_SIZES];
    GatherFn *pick[INDEX_SIZES], *pick_far[INDEX_SIZES];
    GatherShortFn *gather_short;
    ScatterFn *set[INDEX_SIZES], *fold[INDEX_FOLDS][DT_N];
    RowFn *row_set[INDEX_SIZES], *row_fold[INDEX_FOLDS][DT_N];
} IndexLoops;
const IndexLoops *index_loops(Session *s); /* for the session's CPU level */
/* For elements of this size class that lie all over so many bytes. */
GatherFn *index_gather(Session *s, int size, size_t bytes);
GatherFn *index_pick(Session *s, int size, size_t bytes); /* by elements, not bytes */
int index_size_class(size_t item);

#endif
