/* Transposes square blocks of elements, in registers: of the sizes that vectors of a
 * level have shuffles for. */
#include "base/level.h"
#include "value/value_impl.h"

#ifdef __SSE2__
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#define UNROLLED(i, n) _Pragma("GCC unroll 16") for (size_t i = 0; i < (n); i++)

#if TL_LEVEL == 2
enum { SIDE_4 = 16, SIDE_8 = 8 };

/* Of quarters: 0 and 2 of both, 1 and 3 of both. */
#define EVEN 0x88
#define ODD  0xDD

static inline void block_4(char *d, ptrdiff_t dst_row, const char *s,
                           ptrdiff_t src_column) {
    __m512 x[16], y[16];
    for (int i = 0; i < 16; i++)
        x[i] = _mm512_loadu_ps(s + i * src_column);
    for (int i = 0; i < 16; i += 2) {
        y[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
    }
    for (int i = 0; i < 16; i += 4)
        for (int k = 0; k < 2; k++) {
            __m512d a = _mm512_castps_pd(y[i + k]), b = _mm512_castps_pd(y[i + k + 2]);
            x[i + 2 * k] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
            x[i + 2 * k + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
        }
    for (int k = 0; k < 4; k++) {
        __m512 a = _mm512_shuffle_f32x4(x[k], x[k + 4], EVEN),
               b = _mm512_shuffle_f32x4(x[k + 8], x[k + 12], EVEN),
               e = _mm512_shuffle_f32x4(x[k], x[k + 4], ODD),
               f = _mm512_shuffle_f32x4(x[k + 8], x[k + 12], ODD);
        y[k] = _mm512_shuffle_f32x4(a, b, EVEN);
        y[k + 4] = _mm512_shuffle_f32x4(e, f, EVEN);
        y[k + 8] = _mm512_shuffle_f32x4(a, b, ODD);
        y[k + 12] = _mm512_shuffle_f32x4(e, f, ODD);
    }
    for (int i = 0; i < 16; i++)
        _mm512_storeu_ps(d + i * dst_row, y[i]);
}

static inline void block_8(char *d, ptrdiff_t dst_row, const char *s,
                           ptrdiff_t src_column) {
    __m512d x[8], y[8];
    for (int i = 0; i < 8; i++)
        x[i] = _mm512_loadu_pd(s + i * src_column);
    for (int i = 0; i < 8; i += 2) {
        y[i] = _mm512_unpacklo_pd(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_pd(x[i], x[i + 1]);
    }
    for (int k = 0; k < 2; k++) {
        __m512d a = _mm512_shuffle_f64x2(y[k], y[k + 2], EVEN),
                b = _mm512_shuffle_f64x2(y[k + 4], y[k + 6], EVEN),
                e = _mm512_shuffle_f64x2(y[k], y[k + 2], ODD),
                f = _mm512_shuffle_f64x2(y[k + 4], y[k + 6], ODD);
        x[k] = _mm512_shuffle_f64x2(a, b, EVEN);
        x[k + 2] = _mm512_shuffle_f64x2(e, f, EVEN);
        x[k + 4] = _mm512_shuffle_f64x2(a, b, ODD);
        x[k + 6] = _mm512_shuffle_f64x2(e, f, ODD);
    }
    for (int i = 0; i < 8; i++)
        _mm512_storeu_pd(d + i * dst_row, x[i]);
}

#elif TL_LEVEL == 1
enum { SIDE_4 = 8, SIDE_8 = 4 };

/* Of halves: 0 of both, 1 of both. */
#define LOWER 0x20
#define UPPER 0x31

static inline void block_4(char *d, ptrdiff_t dst_row, const char *s,
                           ptrdiff_t src_column) {
    __m256 x[8], y[8];
    for (int i = 0; i < 8; i++)
        x[i] = _mm256_loadu_ps((const float *)(const void *)(s + i * src_column));
    for (int i = 0; i < 8; i += 2) {
        y[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
        y[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; k++) {
            __m256d a = _mm256_castps_pd(y[i + k]), b = _mm256_castps_pd(y[i + k + 2]);
            x[i + 2 * k] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, b));
            x[i + 2 * k + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, b));
        }
    for (int k = 0; k < 4; k++) {
        y[k] = _mm256_permute2f128_ps(x[k], x[k + 4], LOWER);
        y[k + 4] = _mm256_permute2f128_ps(x[k], x[k + 4], UPPER);
    }
    for (int i = 0; i < 8; i++)
        _mm256_storeu_ps((float *)(void *)(d + i * dst_row), y[i]);
}

static inline void block_8(char *d, ptrdiff_t dst_row, const char *s,
                           ptrdiff_t src_column) {
    __m256d x[4], y[4];
    for (int i = 0; i < 4; i++)
        x[i] = _mm256_loadu_pd((const double *)(const void *)(s + i * src_column));
    for (int i = 0; i < 4; i += 2) {
        y[i] = _mm256_unpacklo_pd(x[i], x[i + 1]);
        y[i + 1] = _mm256_unpackhi_pd(x[i], x[i + 1]);
    }
    for (int k = 0; k < 2; k++) {
        x[k] = _mm256_permute2f128_pd(y[k], y[k + 2], LOWER);
        x[k + 2] = _mm256_permute2f128_pd(y[k], y[k + 2], UPPER);
    }
    for (int i = 0; i < 4; i++)
        _mm256_storeu_pd((double *)(void *)(d + i * dst_row), x[i]);
}

#endif

/* Vectors of 16 bytes: as many rounds as make 1 of their number, of zipping each with
 * the one that is half of them after it, transpose a block. */
#if defined(__SSE2__)
#define HAS_ZIP 1
typedef __m128i Zip;
#define ZIP_LOAD(s)     _mm_loadu_si128((const __m128i *)(const void *)(s))
#define ZIP_STORE(d, x) _mm_storeu_si128((__m128i *)(void *)(d), x)
#define ZIP_LOW_1       _mm_unpacklo_epi8
#define ZIP_HIGH_1      _mm_unpackhi_epi8
#define ZIP_LOW_2       _mm_unpacklo_epi16
#define ZIP_HIGH_2      _mm_unpackhi_epi16
#define ZIP_LOW_4       _mm_unpacklo_epi32
#define ZIP_HIGH_4      _mm_unpackhi_epi32
#define ZIP_LOW_8       _mm_unpacklo_epi64
#define ZIP_HIGH_8      _mm_unpackhi_epi64
#elif defined(__ARM_NEON) && defined(__aarch64__)
#define HAS_ZIP         1
typedef uint8x16_t Zip;
#define ZIP_LOAD(s)     vld1q_u8((const uint8_t *)(s))
#define ZIP_STORE(d, x) vst1q_u8((uint8_t *)(d), x)
#define ZIP_LOW_1       vzip1q_u8
#define ZIP_HIGH_1      vzip2q_u8
#define ZIP_LOW_2(a, b)                                                                \
    vreinterpretq_u8_u16(vzip1q_u16((uint16x8_t)(a), (uint16x8_t)(b)))
#define ZIP_HIGH_2(a, b)                                                               \
    vreinterpretq_u8_u16(vzip2q_u16((uint16x8_t)(a), (uint16x8_t)(b)))
#define ZIP_LOW_4(a, b)                                                                \
    vreinterpretq_u8_u32(vzip1q_u32((uint32x4_t)(a), (uint32x4_t)(b)))
#define ZIP_HIGH_4(a, b)                                                               \
    vreinterpretq_u8_u32(vzip2q_u32((uint32x4_t)(a), (uint32x4_t)(b)))
#define ZIP_LOW_8(a, b)                                                                \
    vreinterpretq_u8_u64(vzip1q_u64((uint64x2_t)(a), (uint64x2_t)(b)))
#define ZIP_HIGH_8(a, b)                                                               \
    vreinterpretq_u8_u64(vzip2q_u64((uint64x2_t)(a), (uint64x2_t)(b)))
#else
#define HAS_ZIP 0
enum { SIDE_1 = 0, SIDE_2 = 0, SIDE_4 = 0, SIDE_8 = 0 };
#endif

#if HAS_ZIP
#define ZIP_BLOCK(SIZE)                                                                \
    static inline void block_##SIZE(char *d, ptrdiff_t dst_row, const char *s,         \
                                    ptrdiff_t src_column) {                            \
        enum { N = 16 / SIZE };                                                        \
        Zip x[N], y[N];                                                                \
        UNROLLED (i, N)                                                                \
            x[i] = ZIP_LOAD(s + (ptrdiff_t)i * src_column);                            \
        for (int round = N; round > 1; round /= 2) {                                   \
            UNROLLED (i, N / 2) {                                                      \
                y[2 * i] = ZIP_LOW_##SIZE(x[i], x[i + N / 2]);                         \
                y[2 * i + 1] = ZIP_HIGH_##SIZE(x[i], x[i + N / 2]);                    \
            }                                                                          \
            UNROLLED (i, N)                                                            \
                x[i] = y[i];                                                           \
        }                                                                              \
        UNROLLED (i, N)                                                                \
            ZIP_STORE(d + (ptrdiff_t)i * dst_row, x[i]);                               \
    }
enum { SIDE_1 = 16, SIDE_2 = 8 };
ZIP_BLOCK(1)
ZIP_BLOCK(2)
#if TL_LEVEL == 0
enum { SIDE_4 = 4, SIDE_8 = 2 };
ZIP_BLOCK(4)
ZIP_BLOCK(8)
#endif
#endif

size_t LEVEL(transpose_side_)(size_t size) {
    static const size_t side[] = {
        [1] = SIDE_1, [2] = SIDE_2, [4] = SIDE_4, [8] = SIDE_8};
    return size < sizeof side / sizeof *side ? side[size] : 0;
}

#if HAS_ZIP
enum { AHEAD_BY = 16, LINE = 64 };

static inline void prefetch(const char *at, ptrdiff_t bytes, bool write) {
    uintptr_t p = (uintptr_t)at + (uintptr_t)bytes;
    if (write)
        __builtin_prefetch((const char *)p, 1);
    else
        __builtin_prefetch((const char *)p);
}

/* Columns far apart arrive from memory too late unless prefetched. The last ones of a
 * tile prefetch those of the next. */
static inline void prefetch_columns(const Transposition *t, const char *s, size_t n) {
    for (size_t i = 0; i < n; i++, s += t->src_column)
        for (size_t k = 0; k < t->rows * t->size; k += LINE)
            prefetch(s + k, AHEAD_BY * t->src_column, false);
}

#define BLOCKS(SIZE)                                                                   \
    static void blocks_##SIZE(const Transposition *t, Ahead ahead) {                   \
        enum { N = SIDE_##SIZE };                                                      \
        for (size_t c = 0; c + N <= t->columns; c += N) {                              \
            const char *s = (const char *)t->src + (ptrdiff_t)c * t->src_column;       \
            char *d = (char *)t->dst + c * SIZE;                                       \
            if (ahead == AHEAD_COLUMNS) prefetch_columns(t, s, N);                     \
            for (size_t r = 0; r + N <= t->rows; r += N) {                             \
                if (ahead == AHEAD_ROWS && r + AHEAD_BY + N <= t->rows)                \
                    for (int i = 0; i < N; i++)                                        \
                        prefetch(d, (AHEAD_BY + i) * t->dst_row, true);                \
                block_##SIZE(d, t->dst_row, s, t->src_column);                         \
                s += N * SIZE;                                                         \
                d += N * t->dst_row;                                                   \
            }                                                                          \
        }                                                                              \
    }
BLOCKS(1)
BLOCKS(2)
BLOCKS(4)
BLOCKS(8)

void LEVEL(transpose_blocks_)(const Transposition *t, Ahead ahead) {
    (t->size == 1   ? blocks_1
     : t->size == 2 ? blocks_2
     : t->size == 4 ? blocks_4
                    : blocks_8)(t, ahead);
}
#else
void LEVEL(transpose_blocks_)(const Transposition *t, Ahead ahead) {
    (void)t, (void)ahead;
}
#endif
