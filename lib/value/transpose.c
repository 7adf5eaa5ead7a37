/* Transposes elements in blocks that registers hold (transpose.simd.c). Blocks that are
 * whole lines of the destination go there; others pass through a tile that fits in the
 * nearest cache, whose rows are copied line by line. So do lines that are pages apart,
 * which evict each other from the caches. */
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
        for (size_t c = 0; c < columns; c++) {                                         \
            if (ahead == AHEAD_COLUMNS)                                                \
                prefetch_ahead(s + (ptrdiff_t)c * src_column, src_column,              \
                               rows * SIZE);                                           \
            for (size_t r = 0; r < rows; r++)                                          \
                memcpy(d + (ptrdiff_t)r * dst_row + c * SIZE,                          \
                       s + (ptrdiff_t)c * src_column + r * SIZE, SIZE);                \
        }                                                                              \
        break;
static void transpose_scalars(const Transposition *t, Ahead ahead) {
    char *d = t->dst;
    const char *s = t->src;
    const ptrdiff_t dst_row = t->dst_row, src_column = t->src_column;
    const size_t rows = t->rows, columns = t->columns;
    switch (t->size) {
        PLAIN(1)
        PLAIN(2)
        PLAIN(4)
        PLAIN(8)
    default:
        PLAIN(16)
    }
}

static size_t side_of(int level, size_t size) {
#ifdef __x86_64__
    if (level == 2) return transpose_side_2(size);
    if (level == 1) return transpose_side_1(size);
#endif
    (void)level;
    return transpose_side_0(size);
}

static void transpose_blocks(int level, const Transposition *t, Ahead ahead) {
#ifdef __x86_64__
    if (level > 0) {
        (level == 2 ? transpose_blocks_2 : transpose_blocks_1)(t, ahead);
        return;
    }
#endif
    (void)level;
    transpose_blocks_0(t, ahead);
}

/* Rows from r and columns from c on. */
static Transposition part_of(const Transposition *t, size_t r, size_t c, size_t rows,
                             size_t columns) {
    Transposition part = *t;
    part.dst = (char *)t->dst + (ptrdiff_t)r * t->dst_row + c * t->size;
    part.src = (const char *)t->src + (ptrdiff_t)c * t->src_column + r * t->size;
    part.rows = rows;
    part.columns = columns;
    return part;
}

/* In blocks of a level, what is left over in those of the lowest. */
static void transpose_in_blocks(int level, const Transposition *t, Ahead ahead) {
    size_t side = side_of(level, t->size);
    size_t r = side ? t->rows / side * side : 0,
           c = side ? t->columns / side * side : 0;
    if (r == 0 || c == 0) {
        if (level == 0 || side == 0)
            transpose_scalars(t, ahead);
        else
            transpose_in_blocks(0, t, ahead);
        return;
    }
    transpose_blocks(level, t, ahead);
    Transposition below = part_of(t, r, 0, t->rows - r, c),
                  right = part_of(t, 0, c, t->rows, t->columns - c);
    if (below.rows) transpose_in_blocks(0, &below, ahead);
    if (right.columns) transpose_in_blocks(0, &right, ahead);
}

void transpose_in_cache(const Transposition *t) {
    transpose_in_blocks(value_simd_level(), t, AHEAD_COLUMNS);
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

/* Copies to the rows of dst as whole lines. */
static void copy_tile(int level, const Transposition *t, const char *tile, size_t pitch,
                      bool stream) {
    enum { LONG = 2 * LINE };
    char *to = t->dst;
    size_t n = t->columns * t->size;
    for (size_t i = 0; i < t->rows; i++, to += t->dst_row, tile += pitch)
        if (stream)
            value_stream_bytes(to, tile, n);
        else if (n < LONG || (uintptr_t)to % LINE == 0 || level == 0)
            memcpy(to, tile, n);
#ifdef __x86_64__
        else
            (level == 2 ? copy_unaligned_2 : copy_unaligned_1)(to, tile, n);
#endif
}

/* Are blocks whole lines of dst, which don't evict each other? */
static bool fills_lines(const Transposition *t, size_t side) {
    enum { PAGE = 4096 };
    return side * t->size == LINE && (uintptr_t)t->dst % LINE == 0 &&
           t->dst_row % LINE == 0 && (t->dst_row % PAGE != 0 || t->columns == side);
}

void transpose_by_tiles(const Transposition *t, bool stream) {
    enum { ROW = 1024, ROWS = 1024, BYTES = 128 };
    _Alignas(LINE) char tile[TILE * (TILE * SIZE_MAX_ELEMENT + LINE)];
    int level = value_simd_level();
    size_t side = side_of(level, t->size), rows = TILE, columns = TILE;
    if (t->rows < FEW) {
        transpose_few_rows(t);
        return;
    }
    bool direct = !stream && fills_lines(t, side);
    if (direct)
        rows = ROWS, columns = t->columns;
    else if (level > 0 && side)
        rows = t->size > 2 ? BYTES / t->size : TILE, columns = ROW / t->size;
    if (columns > t->columns) columns = t->columns;
    size_t pitch = columns * t->size + LINE;
    for (size_t r = 0; r < t->rows; r += rows)
        for (size_t c = 0; c < t->columns; c += columns) {
            size_t m = t->rows - r < rows ? t->rows - r : rows,
                   n = t->columns - c < columns ? t->columns - c : columns;
            Transposition to = part_of(t, r, c, m, n), in = to;
            in.dst = tile;
            in.dst_row = (ptrdiff_t)pitch;
            bool next = c + n < t->columns; /* the last tile has none to prefetch */
            transpose_in_blocks(level, direct ? &to : &in,
                                direct ? AHEAD_ROWS
                                : next ? AHEAD_COLUMNS
                                       : AHEAD_NOTHING);
            if (!direct) copy_tile(level, &to, tile, pitch, stream);
        }
    if (stream) value_stream_end();
}
