/* Transposes elements in tiles that fit in the nearest cache, reading along the source
 * and writing along the destination. Lines that are a power of two apart evict each
 * other from the caches, so a tile passes through a buffer whose rows are not. */
#include "value/value_impl.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { TILE = 64, LINE = 64, AHEAD = 16, SIZE_MAX_ELEMENT = 16, FEW = 8 };

/* ---- a few elements ---- */
/* Columns far apart arrive from memory too late unless prefetched. The last columns of
 * a tile prefetch those of the next. */
static inline void prefetch_ahead(const char *s, ptrdiff_t src_column, size_t bytes) {
    uintptr_t at = (uintptr_t)s + (uintptr_t)src_column * AHEAD;
    for (size_t i = 0; i < bytes; i += LINE)
        __builtin_prefetch((const char *)(at + i));
}

#define PLAIN(SIZE)                                                                    \
    case SIZE:                                                                         \
        for (size_t c = c0; c < columns; c++) {                                        \
            prefetch_ahead(s + (ptrdiff_t)c * src_column, src_column,                  \
                           (rows - r0) * SIZE);                                        \
            for (size_t r = r0; r < rows; r++)                                         \
                memcpy(d + (ptrdiff_t)r * dst_row + c * SIZE,                          \
                       s + (ptrdiff_t)c * src_column + r * SIZE, SIZE);                \
        }                                                                              \
        break;
/* Rows from r0 on of columns from c0 to before `columns`. */
static void transpose_scalars(const Transposition *t, size_t r0, size_t c0,
                              size_t columns) {
    char *d = t->dst;
    const char *s = t->src;
    const ptrdiff_t dst_row = t->dst_row, src_column = t->src_column;
    const size_t rows = t->rows;
    switch (t->size) {
        PLAIN(1)
        PLAIN(2)
        PLAIN(4)
        PLAIN(8)
    default:
        PLAIN(16)
    }
}

#ifdef __SSE2__
/* 4 by 4 elements of 4 bytes. */
static inline void transpose_4x4(char *d, ptrdiff_t dst_row, const char *s,
                                 ptrdiff_t src_column) {
    const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)s),
                  y = _mm_loadu_si128((const __m128i *)(const void *)(s + src_column)),
                  z = _mm_loadu_si128(
                      (const __m128i *)(const void *)(s + 2 * src_column)),
                  w = _mm_loadu_si128(
                      (const __m128i *)(const void *)(s + 3 * src_column));
    __m128i a = _mm_unpacklo_epi32(x, y), b = _mm_unpacklo_epi32(z, w),
            e = _mm_unpackhi_epi32(x, y), f = _mm_unpackhi_epi32(z, w);
    _mm_storeu_si128((__m128i *)(void *)d, _mm_unpacklo_epi64(a, b));
    _mm_storeu_si128((__m128i *)(void *)(d + dst_row), _mm_unpackhi_epi64(a, b));
    _mm_storeu_si128((__m128i *)(void *)(d + 2 * dst_row), _mm_unpacklo_epi64(e, f));
    _mm_storeu_si128((__m128i *)(void *)(d + 3 * dst_row), _mm_unpackhi_epi64(e, f));
}

/* 2 by 2 elements of 8 bytes. */
static inline void transpose_2x2(char *d, ptrdiff_t dst_row, const char *s,
                                 ptrdiff_t src_column) {
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)s),
            y = _mm_loadu_si128((const __m128i *)(const void *)(s + src_column));
    _mm_storeu_si128((__m128i *)(void *)d, _mm_unpacklo_epi64(x, y));
    _mm_storeu_si128((__m128i *)(void *)(d + dst_row), _mm_unpackhi_epi64(x, y));
}
#endif

void transpose_in_cache(const Transposition *t) {
    size_t r = 0, c = 0;
#ifdef __SSE2__
    char *d = t->dst;
    const char *s = t->src;
    const ptrdiff_t dst_row = t->dst_row, src_column = t->src_column;
    const size_t size = t->size, side = size == 4 ? 4 : size == 8 ? 2 : 0;
    if (side) {
        r = t->rows / side * side;
        for (; c + side <= t->columns; c += side) {
            for (size_t i = 0; i < side; i++)
                prefetch_ahead(s + (ptrdiff_t)(c + i) * src_column, src_column,
                               r * size);
            for (size_t i = 0; i < r; i += side) {
                char *to = d + (ptrdiff_t)i * dst_row + c * size;
                const char *from = s + (ptrdiff_t)c * src_column + i * size;
                if (size == 4)
                    transpose_4x4(to, dst_row, from, src_column);
                else
                    transpose_2x2(to, dst_row, from, src_column);
            }
        }
    }
#endif
    transpose_scalars(t, r, 0, c);          /* below the blocks */
    transpose_scalars(t, 0, c, t->columns); /* right of them */
}

/* ---- many ---- */
void value_stream_bytes(void *dst, const void *src, size_t n) {
    char *d = dst;
    const char *s = src;
#ifdef __SSE2__
    size_t head = (LINE - (uintptr_t)d % LINE) % LINE;
    if (head > n) head = n;
    memcpy(d, s, head);
    d += head, s += head, n -= head;
    for (; n >= LINE; d += LINE, s += LINE, n -= LINE) {
        __m128i *to = (__m128i *)(void *)d;
        const __m128i *from = (const __m128i *)(const void *)s;
        for (int i = 0; i < 4; i++)
            _mm_stream_si128(to + i, _mm_loadu_si128(from + i));
    }
#endif
    memcpy(d, s, n);
}

void value_stream_end(void) {
#ifdef __SSE2__
    _mm_sfence();
#endif
}

/* Fewer rows or columns than a block: strided rows, in pieces small enough that their
 * lines stay cached. */
static void transpose_few_rows(const Transposition *t) {
    enum { PIECE = 1024 };
    size_t size = t->size;
    for (size_t c = 0; c < t->columns; c += PIECE) {
        size_t n = t->columns - c < PIECE ? t->columns - c : PIECE;
        for (size_t r = 0; r < t->rows; r++)
            tensor_copy_elements(
                (char *)t->dst + (ptrdiff_t)r * t->dst_row + c * size, (ptrdiff_t)size,
                (const char *)t->src + (ptrdiff_t)c * t->src_column + r * size,
                t->src_column, n, size);
    }
}

void transpose_by_tiles(const Transposition *t, bool stream) {
    _Alignas(LINE) char tile[TILE * (TILE * SIZE_MAX_ELEMENT + LINE)];
    size_t size = t->size, pitch = TILE * size + LINE;
    if (t->rows < FEW) {
        transpose_few_rows(t);
        return;
    }
    for (size_t r = 0; r < t->rows; r += TILE) {
        size_t m = t->rows - r < TILE ? t->rows - r : TILE;
        for (size_t c = 0; c < t->columns; c += TILE) {
            size_t n = t->columns - c < TILE ? t->columns - c : TILE;
            const char *from =
                (const char *)t->src + (ptrdiff_t)c * t->src_column + r * size;
            transpose_in_cache(&(Transposition){tile, (ptrdiff_t)pitch, from,
                                                t->src_column, m, n, size});
            char *to = (char *)t->dst + (ptrdiff_t)r * t->dst_row + c * size;
            for (size_t i = 0; i < m; i++, to += t->dst_row)
                if (stream)
                    value_stream_bytes(to, tile + i * pitch, n * size);
                else
                    memcpy(to, tile + i * pitch, n * size);
        }
    }
    if (stream) value_stream_end();
}
