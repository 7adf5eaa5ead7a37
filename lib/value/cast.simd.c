/* Contiguous conversion loops for every pair of dtypes, compiled once per CPU level. An
 * element is read into a carrier (its own C type; float for float16, the real part for
 * complex), and the target determines how an integer or floating carrier is stored. */
#include "value/value_impl.h"

#include <string.h>
#if TL_LEVEL > 0
#include <immintrin.h>
#elif defined(__x86_64__)
#include <emmintrin.h>
#endif

#define JOIN_(a, b)    a##b
#define JOIN(a, b)     JOIN_(a, b)
#define CAST(to, from) JOIN(cast_##to##_##from##_, TL_LEVEL)

/* ---- single elements ---- */

/* Toward zero; what int64 can't represent becomes its smallest value, as with the CPU's
 * own instruction. Narrower integers keep the low bits. */
#if defined(__x86_64__) && TL_LEVEL < 2
static inline int64_t int_from_double(double v) {
    return _mm_cvttsd_si64(_mm_set_sd(v));
}
static inline int64_t int_from_float(float v) {
    return _mm_cvttss_si64(_mm_set_ss(v));
}
#else
static inline int64_t int_from_double(double v) {
    return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN;
}
static inline int64_t int_from_float(float v) {
    return int_from_double((double)v);
}
#endif
static inline uint64_t uint_from_double(double v) {
    return v >= 0 && v < 0x1p64 ? (uint64_t)v : (uint64_t)int_from_double(v);
}

static inline float float_of_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}
static inline uint32_t bits_of_float(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

/* The half's bits, moved to the place of a float's, are too small by a factor of 2^112;
 * multiplying by it also makes subnormals right. */
static inline float half_read(uint16_t h) {
    uint32_t low = h & 0x7FFFU, sign = (uint32_t)(h & 0x8000U) << 16;
    uint32_t u = bits_of_float(float_of_bits(low << 13) * 0x1p112F);
    return float_of_bits((low >= 0x7C00U ? 0x7F800000U | low << 13 : u) | sign);
}

/* Ties to even. Subnormal halves: adding 0.5 leaves the rounded result in the low bits.
 */
static inline uint16_t half_write(float f) {
    uint32_t u = bits_of_float(f), sign = u >> 16 & 0x8000U;
    u &= 0x7FFFFFFFU;
    uint32_t normal = (u - (112U << 23) + 0xFFFU + (u >> 13 & 1U)) >> 13;
    uint32_t tiny = bits_of_float(float_of_bits(u) + 0.5F) - 0x3F000000U;
    uint32_t nan = 0x7E00U | (u >> 13 & 0x3FFU);
    uint32_t h = u > 0x7F800000U    ? nan
                 : u >= 0x477FF000U ? 0x7C00U
                 : u < 0x38800000U  ? tiny
                                    : normal;
    return (uint16_t)(h | sign);
}

/* ---- carriers: R_* the number or real part at i, I_* the imaginary part ---- */

#define R_BOOL(p, i)       (p[i] != 0)
#define R_INT8(p, i)       p[i]
#define R_INT16(p, i)      p[i]
#define R_INT32(p, i)      p[i]
#define R_INT64(p, i)      p[i]
#define R_UINT8(p, i)      p[i]
#define R_UINT16(p, i)     p[i]
#define R_UINT32(p, i)     p[i]
#define R_UINT64(p, i)     p[i]
#define R_FLOAT16(p, i)    half_read(p[i])
#define R_FLOAT32(p, i)    p[i]
#define R_FLOAT64(p, i)    p[i]
#define R_COMPLEX64(p, i)  p[2 * (i)]
#define R_COMPLEX128(p, i) p[2 * (i)]
#define I_BOOL(p, i)       0
#define I_INT8(p, i)       0
#define I_INT16(p, i)      0
#define I_INT32(p, i)      0
#define I_INT64(p, i)      0
#define I_UINT8(p, i)      0
#define I_UINT16(p, i)     0
#define I_UINT32(p, i)     0
#define I_UINT64(p, i)     0
#define I_FLOAT16(p, i)    0
#define I_FLOAT32(p, i)    0
#define I_FLOAT64(p, i)    0
#define I_COMPLEX64(p, i)  p[2 * (i) + 1]
#define I_COMPLEX128(p, i) p[2 * (i) + 1]

/* ---- targets: store real part r and imaginary part m at i ---- */

#define TO_INT(T, r)                                                                   \
    _Generic((r), float                                                                \
             : (T)int_from_float((float)(r)), double                                   \
             : (T)int_from_double((double)(r)), default                                \
             : (T)(r))
#define W_BOOL(q, i, r, m)   q[i] = (uint8_t)((r) != 0 || (m) != 0)
#define W_INT8(q, i, r, m)   q[i] = TO_INT(int8_t, r)
#define W_INT16(q, i, r, m)  q[i] = TO_INT(int16_t, r)
#define W_INT32(q, i, r, m)  q[i] = TO_INT(int32_t, r)
#define W_INT64(q, i, r, m)  q[i] = TO_INT(int64_t, r)
#define W_UINT8(q, i, r, m)  q[i] = TO_INT(uint8_t, r)
#define W_UINT16(q, i, r, m) q[i] = TO_INT(uint16_t, r)
#define W_UINT32(q, i, r, m) q[i] = TO_INT(uint32_t, r)
#define W_UINT64(q, i, r, m)                                                           \
    q[i] = _Generic((r), float                                                         \
                    : uint_from_double((double)(r)), double                            \
                    : uint_from_double((double)(r)), default                           \
                    : (uint64_t)(r))
/* An integer that float would round is beyond float16 anyway; a double must be rounded
 * once only. */
#define W_FLOAT16(q, i, r, m)                                                          \
    q[i] = _Generic((r), double                                                        \
                    : half_from_double((double)(r)), default                           \
                    : half_write((float)(r)))
#define W_FLOAT32(q, i, r, m)   q[i] = (float)(r)
#define W_FLOAT64(q, i, r, m)   q[i] = (double)(r)
#define W_COMPLEX64(q, i, r, m) (q[2 * (i)] = (float)(r), q[2 * (i) + 1] = (float)(m))
#define W_COMPLEX128(q, i, r, m)                                                       \
    (q[2 * (i)] = (double)(r), q[2 * (i) + 1] = (double)(m))

/* In memory, a complex number is two floats. */
#define T_BOOL       uint8_t
#define T_INT8       int8_t
#define T_INT16      int16_t
#define T_INT32      int32_t
#define T_INT64      int64_t
#define T_UINT8      uint8_t
#define T_UINT16     uint16_t
#define T_UINT32     uint32_t
#define T_UINT64     uint64_t
#define T_FLOAT16    uint16_t
#define T_FLOAT32    float
#define T_FLOAT64    double
#define T_COMPLEX64  float
#define T_COMPLEX128 double

/* ---- float16 by the CPU's instructions ---- */

#if TL_LEVEL > 0
enum { HALVES = 8 };

static inline __m128i narrow_floats(__m256 v) {
    return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
}
/* As float32, with the last bit set if any is lost: what that makes of it is rounded
 * once. What is too small for it is 0 as a half. */
static inline __m128 odd_floats(const double *p) {
    const __m256i lost = _mm256_set1_epi64x(0x1FFFFFFF);
    __m256i u = _mm256_loadu_si256((const void *)p), low = _mm256_and_si256(u, lost);
    __m256i none = _mm256_cmpeq_epi64(low, _mm256_setzero_si256());
    u = _mm256_or_si256(_mm256_andnot_si256(lost, u),
                        _mm256_andnot_si256(none, _mm256_set1_epi64x(0x20000000)));
    return _mm256_cvtpd_ps(_mm256_castsi256_pd(u));
}
/* False: there is a nan among them, which would become a quiet one. */
static inline bool widen_halves(const uint16_t *p, __m256 *v) {
    *v = _mm256_cvtph_ps(_mm_loadu_si128((const void *)p));
    return !_mm256_movemask_ps(_mm256_cmp_ps(*v, *v, _CMP_UNORD_Q));
}
/* Converts HALVES elements at q and p. False: this pair isn't converted so. */
static inline bool cast_halves(int to, int from, void *q, const void *p) {
    __m256 v;
    double *d = q;
    if (to == DT_FLOAT16 && from == DT_FLOAT32)
        return _mm_storeu_si128(q, narrow_floats(_mm256_loadu_ps(p))), true;
    if (to == DT_FLOAT16 && from == DT_FLOAT64) {
        const double *x = p;
        v = _mm256_set_m128(odd_floats(x + HALVES / 2), odd_floats(x));
        return _mm_storeu_si128(q, narrow_floats(v)), true;
    }
    if (from != DT_FLOAT16 || !widen_halves(p, &v)) return false;
    if (to == DT_FLOAT32) return _mm256_storeu_ps(q, v), true;
    _mm256_storeu_pd(d, _mm256_cvtps_pd(_mm256_castps256_ps128(v)));
    _mm256_storeu_pd(d + HALVES / 2, _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)));
    return true;
}
#define HAS_HALVES(to, from)                                                           \
    ((DT_##to == DT_FLOAT16 &&                                                         \
      (DT_##from == DT_FLOAT32 || DT_##from == DT_FLOAT64)) ||                         \
     (DT_##from == DT_FLOAT16 && (DT_##to == DT_FLOAT32 || DT_##to == DT_FLOAT64)))
#else
enum { HALVES = 1 };
#define HAS_HALVES(to, from)        false
#define cast_halves(to, from, q, p) false
#endif

/* ---- every pair ---- */

/* Floats that are int32s when cut, as nearly all are, become short integers by blocks:
 * of those vectors are made. (AVX-512 has instructions for int64.) */
enum { BLOCK = 128 };
#define IS_SHORT(to, from)                                                             \
    (TL_LEVEL < 2 && (DT_##from == DT_FLOAT32 || DT_##from == DT_FLOAT64) &&           \
     DT_##to >= DT_INT8 && DT_##to <= DT_UINT32 && sizeof(T_##to) <= sizeof(int32_t))
#define IS_NEAR(v) ((v) > -0x1p31F && (v) < 0x1p31F)
#define SHORT_BLOCK(to, from)                                                          \
    int far = 0;                                                                       \
    for (size_t k = i; k < i + BLOCK; k++)                                             \
        far |= !IS_NEAR((float)R_##from(p, k));                                        \
    for (size_t k = i; k < i + BLOCK && !far; k++)                                     \
        q[k] = (T_##to)(int32_t)R_##from(p, k);                                        \
    for (size_t k = i; k < i + BLOCK && far; k++)                                      \
        W_##to(q, k, R_##from(p, k), I_##from(p, k));
/* AVX2: what isn't an int32 when cut becomes the smallest one, so that one pass cuts
 * and tells whether to do it again. */
#if TL_LEVEL == 1
static inline __m256i cut_floats(const float *p) {
    return _mm256_cvttps_epi32(_mm256_loadu_ps(p));
}
static inline __m256i cut_doubles(const double *p) {
    return _mm256_set_m128i(_mm256_cvttpd_epi32(_mm256_loadu_pd(p + 4)),
                            _mm256_cvttpd_epi32(_mm256_loadu_pd(p)));
}
#define CUT_BLOCK(NAME, T, CUT)                                                        \
    static inline bool NAME(const T *p, int32_t *to) {                                 \
        const __m256i least = _mm256_set1_epi32(INT32_MIN);                            \
        __m256i far = _mm256_setzero_si256();                                          \
        for (size_t k = 0; k < BLOCK; k += 8) {                                        \
            __m256i v = CUT(p + k);                                                    \
            far = _mm256_or_si256(far, _mm256_cmpeq_epi32(v, least));                  \
            _mm256_storeu_si256((void *)(to + k), v);                                  \
        }                                                                              \
        return _mm256_testz_si256(far, far);                                           \
    }
CUT_BLOCK(cut_block_FLOAT32, float, cut_floats)
CUT_BLOCK(cut_block_FLOAT64, double, cut_doubles)
#define CUT(from, p, to)                                                               \
    (DT_##from == DT_FLOAT32 ? cut_block_FLOAT32((const void *)(p), to)                \
                             : cut_block_FLOAT64((const void *)(p), to))
#undef SHORT_BLOCK
#define SHORT_BLOCK(to, from)                                                          \
    int32_t cut[BLOCK];                                                                \
    bool whole = sizeof(T_##to) == sizeof *cut, near;                                  \
    near = CUT(from, p + i, whole ? (int32_t *)(void *)(q + i) : cut);                 \
    for (size_t k = 0; k < BLOCK && near && !whole; k++)                               \
        q[i + k] = (T_##to)cut[k];                                                     \
    for (size_t k = i; k < i + BLOCK && !near; k++)                                    \
        W_##to(q, k, R_##from(p, k), I_##from(p, k));
#endif
#define LOOP(to, from)                                                                 \
    static void CAST(to, from)(void *restrict dst, const void *restrict src,           \
                               size_t n) {                                             \
        T_##to *restrict q = dst;                                                      \
        const T_##from *restrict p = src;                                              \
        size_t i = 0;                                                                  \
        for (; IS_SHORT(to, from) && i + BLOCK <= n; i += BLOCK) {                     \
            SHORT_BLOCK(to, from)                                                      \
        }                                                                              \
        for (; HAS_HALVES(to, from) && i + HALVES <= n; i += HALVES) {                 \
            if (cast_halves(DT_##to, DT_##from, q + i, p + i)) continue;               \
            for (size_t k = i; k < i + HALVES; k++)                                    \
                W_##to(q, k, R_##from(p, k), I_##from(p, k));                          \
        }                                                                              \
        for (; i < n; i++)                                                             \
            W_##to(q, i, R_##from(p, i), I_##from(p, i));                              \
    }
#define FROM_EACH(X, to)                                                               \
    X(to, BOOL)                                                                        \
    X(to, INT8)                                                                        \
    X(to, INT16)                                                                       \
    X(to, INT32)                                                                       \
    X(to, INT64)                                                                       \
    X(to, UINT8)                                                                       \
    X(to, UINT16)                                                                      \
    X(to, UINT32)                                                                      \
    X(to, UINT64)                                                                      \
    X(to, FLOAT16)                                                                     \
    X(to, FLOAT32)                                                                     \
    X(to, FLOAT64)                                                                     \
    X(to, COMPLEX64)                                                                   \
    X(to, COMPLEX128)

#define DTYPE(NAME, name, ctype, kind, size, npy) FROM_EACH(LOOP, NAME)
#include "type/dtype.def"
#undef DTYPE

/* A function: the loader would fill a table of addresses at every start. */
#define CASE(to, from)                                                                 \
    case DT_##to *DT_N + DT_##from:                                                    \
        return CAST(to, from);
CastFn *JOIN(cast_pick_, TL_LEVEL)(DType to, DType from) {
    switch ((int)to * DT_N + (int)from) {
#define DTYPE(NAME, name, ctype, kind, size, npy) FROM_EACH(CASE, NAME)
#include "type/dtype.def"
#undef DTYPE
    default:
        return NULL;
    }
}
