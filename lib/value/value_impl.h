/* Shared by the files of lib/value. */
#ifndef VALUE_VALUE_IMPL_H
#define VALUE_VALUE_IMPL_H

#include "format/json.h"
#include "value/value.h"

/* Contiguous conversion loops, compiled once per CPU level (cast.simd.c). */
typedef void CastFn(void *restrict dst, const void *restrict src, size_t n);
typedef CastFn *CastPick(DType to, DType from);
CastPick cast_pick_0, cast_pick_1, cast_pick_2;

/* Copies at least 64 bytes (copy.simd.c). */
typedef void CopyFn(char *restrict dst, const char *restrict src, size_t n);
CopyFn copy_unaligned_0, copy_unaligned_1, copy_unaligned_2;
/* The loop that copies n elements of `size` bytes, the last first; NULL: none. */
CopyFn *copy_backwards_0(size_t size), *copy_backwards_1(size_t size),
    *copy_backwards_2(size_t size);
/* Packs every other one of elements, n of them but for the last few; returns how many.
 */
typedef size_t EveryOtherFn(char *restrict dst, const char *restrict src, size_t n);
EveryOtherFn *copy_every_other_0(size_t size), *copy_every_other_1(size_t size),
    *copy_every_other_2(size_t size);

/* Square blocks (transpose.simd.c): elements along a side, of a size; 0: none. */
typedef size_t SideFn(size_t size);
SideFn transpose_side_0, transpose_side_1, transpose_side_2;
/* What is prefetched: nothing, columns of src, also behind the last one, or rows of
 * dst. */
typedef enum Ahead { AHEAD_NOTHING, AHEAD_COLUMNS, AHEAD_ROWS } Ahead;
/* Transposes whole blocks: what is left below them and right of them stays. */
typedef void BlocksFn(const Transposition *t, Ahead ahead);
BlocksFn transpose_blocks_0, transpose_blocks_1, transpose_blocks_2;

/* The level of loops that this CPU can run; results are the same at every level. */
int value_simd_level(void);

/* Loops of random numbers (rng.simd.c). `open`: uniform numbers are in (0, 1), else in
 * [0, 1); of the normal ones' see rng.h. */
/* The n blocks first, first + step, ... of a draw. */
typedef struct BlockRun {
    uint64_t seed, draw, first, step;
    size_t n;
} BlockRun;
typedef struct RngLoops {
    /* the two words of each of n blocks of a draw, by their numbers */
    void (*blocks)(uint64_t seed, uint64_t draw, size_t n, const uint64_t *block,
                   uint64_t *restrict out);
    void (*run)(const BlockRun *q, uint64_t *restrict out);
    /* low + the upper word of each block's first one times range; false if some may
     * need another word, as the lower one is below range */
    bool (*integers)(const BlockRun *q, uint32_t range, uint64_t low,
                     int64_t *restrict out);
    /* n uniform numbers; 2 n normal ones, a pair of two words */
    void (*units)(bool open, size_t n, const uint64_t *word, double *restrict out);
    void (*normals)(bool open, size_t n, const uint64_t *word, double *restrict out);
} RngLoops;
extern const RngLoops rng_loops_0, rng_loops_1, rng_loops_2;

/* Copies the elements at flat row-major positions first .. first + n - 1 to dst,
 * packed.
 */
void tensor_gather(const Tensor *t, int64_t first, size_t n, void *dst);

/* Row-major strides of a shape; false if the size overflows. *bytes is the size of the
 * buffer. */
bool tensor_row_major(DType d, int ndim, const int64_t *shape, int64_t *stride,
                      size_t *bytes);

/* "1.5 GiB" for messages; buf holds 32. */
const char *buffer_size_text(char *buf, uint64_t n);

/* json.c: the members "dtype", "shape", "data"; a member of nested lists */
void tensor_json_members(Session *s, const Tensor *t, JsonWriter *w);
void tensor_json_data(Session *s, const char *key, const Tensor *t, JsonWriter *w);

/* Describes an array for a message: "float64 array of shape (2, 3)". The caller frees
 * out. */
void tensor_describe(Session *s, const Tensor *t, Str *out);

#endif
