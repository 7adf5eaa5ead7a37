/* Channels by filters of their own: a vector holds neighbouring results of a row, whose
 * taps are read where they lie in the source. */
#include "base/level.h"
#include "ops/nn/conv_tile.h"

#if TL_LEVEL > 0
#include <immintrin.h>

#endif

#if TL_LEVEL == 2
typedef __m512 EachVec;
typedef __mmask16 Mask;
enum { EACH = 16 };
#define each_set1            _mm512_set1_ps
#define each_zero            _mm512_setzero_ps
#define each_add             _mm512_add_ps
#define each_mul             _mm512_mul_ps
#define each_fma             _mm512_fmadd_ps
#define each_sum             _mm512_reduce_add_ps
#define each_max             _mm512_max_ps
#define each_min             _mm512_min_ps
#define each_load(mask, p)   _mm512_maskz_loadu_ps(mask, p)
#define each_put(p, mask, v) _mm512_mask_storeu_ps(p, mask, v)

/* Those of the elements from `at` on that there are in a row of n. */
static Mask mask_of(int64_t at, int64_t n) {
    int64_t from = at < 0 ? -at : 0, to = n - at < EACH ? n - at : EACH;
    if (from >= to) return 0;
    return (Mask)((0xffffU << from) & (0xffffU >> (EACH - to)));
}

/* Every other element of two vectors. */
static inline EachVec each_even(EachVec a, EachVec b) {
    const __m512i even =
        _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    return _mm512_permutex2var_ps(a, even, b);
}

/* a0, b0, a1, b1, ... */
static inline void each_mix(EachVec a, EachVec b, EachVec to[2]) {
    const __m512i low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17,
                                         1, 16, 0),
                  high = _mm512_set_epi32(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26,
                                          10, 25, 9, 24, 8);
    to[0] = _mm512_permutex2var_ps(a, low, b);
    to[1] = _mm512_permutex2var_ps(a, high, b);
}
#elif TL_LEVEL == 1
typedef __m256 EachVec;
typedef __m256i Mask;
enum { EACH = 8 };
#define each_set1          _mm256_set1_ps
#define each_zero          _mm256_setzero_ps
#define each_add           _mm256_add_ps
#define each_mul           _mm256_mul_ps
#define each_fma           _mm256_fmadd_ps
#define each_max           _mm256_max_ps
#define each_min           _mm256_min_ps
#define each_load(mask, p) _mm256_maskload_ps(p, mask)

/* Those of the elements from `at` on that there are in a row of n. */
static Mask mask_of(int64_t at, int64_t n) {
    int64_t from = at < 0 ? -at : 0, to = n - at < EACH ? n - at : EACH;
    if (from >= to) return _mm256_setzero_si256();
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32((int)from), lane),
                               _mm256_cmpgt_epi32(_mm256_set1_epi32((int)to), lane));
}

/* Every other element of two vectors. */
static inline EachVec each_even(EachVec a, EachVec b) {
    __m256d mixed = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88));
    return _mm256_castpd_ps(_mm256_permute4x64_pd(mixed, 0xd8));
}

/* a0, b0, a1, b1, ... */
static inline void each_mix(EachVec a, EachVec b, EachVec to[2]) {
    EachVec low = _mm256_unpacklo_ps(a, b), high = _mm256_unpackhi_ps(a, b);
    to[0] = _mm256_permute2f128_ps(low, high, 0x20);
    to[1] = _mm256_permute2f128_ps(low, high, 0x31);
}

static inline void each_put(float *p, Mask mask, EachVec v) {
    if (_mm256_testc_si256(mask, _mm256_set1_epi32(-1)))
        _mm256_storeu_ps(p, v);
    else
        _mm256_maskstore_ps(p, mask, v);
}

static inline float each_sum(EachVec v) {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}
#endif

#if TL_LEVEL > 0
/* What a tap takes for a vector of results of a row: the elements of one or two vectors
 * that there are, and none for results beyond the row's end. */
typedef struct TapPart {
    int64_t at;
    Mask mask[2];
} TapPart;

static void find_parts(const ConvEach *a, int64_t i, TapPart *part) {
    for (int64_t t = 0; t < a->column_taps; t++) {
        int64_t at = i * a->column_step + a->column[t],
                end = (a->columns - 1) * a->column_step + a->column[t] + 1;
        if (end > a->x_columns) end = a->x_columns;
        part[t] = (TapPart){at, {mask_of(at, end), mask_of(at + EACH, end)}};
    }
}

static inline __attribute__((always_inline)) void
load_taps(const ConvEach *a, int64_t row, const TapPart *part, size_t taps,
          int64_t step, EachVec *v) {
    const float *x = a->x + row * a->x_row;
    bool has = row >= 0 && row < a->x_rows;
    for (size_t t = 0; t < taps; t++) {
        v[t] = has ? each_load(part[t].mask[0], x + part[t].at) : each_zero();
        if (step == 2 && has)
            v[t] = each_even(v[t], each_load(part[t].mask[1], x + part[t].at + EACH));
    }
}

/* What comes after a row's vector at `out`, in registers. */
typedef struct EachAfter {
    const ConvAfter *a;
    EachVec sum, low, high;
} EachAfter;

static EachAfter each_after(const ConvEach *a, int64_t channel) {
    const ConvAfter *f = a->after;
    return (EachAfter){f, each_set1(f->sum[(a->channel + channel) * f->sum_step]),
                       each_set1(f->low), each_set1(f->high)};
}

static inline __attribute__((always_inline)) void
each_store(const EachAfter *f, float *out, Mask mask, EachVec y) {
    y = each_add(y, f->sum);
    if (f->a->more) y = each_add(y, each_load(mask, f->a->more + (out - f->a->out)));
    each_put(out, mask, each_min(f->high, each_max(f->low, y)));
}

/* Three rows of three taps, side by side: the rows that the next results take, too, are
 * not loaded again. */
static inline __attribute__((always_inline)) void
each_3x3(const ConvEach *a, int64_t step, const float *taps, int64_t i,
         const TapPart *part, const EachAfter *f) {
    EachVec w[3][3], v[3][3];
    size_t old = 3 - (size_t)step;
    for (size_t j = 0; j < 3; j++)
        for (size_t k = 0; k < 3; k++)
            w[j][k] = each_set1(taps[3 * j + k]);
    Mask mask = mask_of(i, a->columns);
    int64_t row = a->row[0];
    float *out = a->out + i;
    for (size_t k = 0; k < old; k++)
        load_taps(a, row + (int64_t)k, part, 3, step, v[k]);
    for (int64_t j = 0; j < a->rows; j++, row += step, out += a->out_row) {
        for (size_t k = old; k < 3; k++)
            load_taps(a, row + (int64_t)k, part, 3, step, v[k]);
        EachVec sum[3];
        for (size_t k = 0; k < 3; k++) {
            sum[k] = each_mul(v[k][0], w[k][0]);
            sum[k] = each_fma(v[k][1], w[k][1], sum[k]);
            sum[k] = each_fma(v[k][2], w[k][2], sum[k]);
        }
        each_store(f, out, mask, each_add(each_add(sum[0], sum[1]), sum[2]));
        for (size_t k = 0; k < old; k++)
            for (size_t t = 0; t < 3; t++)
                v[k][t] = v[k + (size_t)step][t];
    }
}

static void each_any(const ConvEach *a, const float *taps, int64_t i,
                     const TapPart *part, const EachAfter *f) {
    Mask mask = mask_of(i, a->columns);
    for (int64_t j = 0; j < a->rows; j++) {
        const float *w = taps;
        EachVec sum = each_zero(), v[CONV_EACH_TAPS];
        for (int64_t t = 0; t < a->row_taps; t++) {
            load_taps(a, j * a->row_step + a->row[t], part, (size_t)a->column_taps,
                      a->column_step, v);
            for (int64_t k = 0; k < a->column_taps; k++)
                sum = each_fma(v[k], each_set1(*w++), sum);
        }
        each_store(f, a->out + j * a->out_row + i, mask, sum);
    }
}

/* The gradient of a convolution with strides: every other column takes the same taps,
 * the first `even` ones, and the columns between them the next `odd` ones. */
typedef struct EachUp {
    struct {
        int64_t at, tap;
        Mask mask;
    } part[CONV_EACH_TAPS];
    int64_t even, odd;
} EachUp;

static void find_up(const ConvEach *a, int64_t i, EachUp *u) {
    int64_t n[2] = {0}, all = 0;
    for (int64_t p = 0; p < a->column_up; p++)
        for (int64_t t = 0; t < a->column_taps; t++) {
            int64_t at = p + a->column[t];
            if (at & (a->column_up - 1)) continue;
            at = i + at / a->column_up;
            u->part[all].at = at;
            u->part[all].tap = t;
            u->part[all++].mask = mask_of(at, a->x_columns);
            n[p]++;
        }
    u->even = n[0];
    u->odd = n[1];
}

/* The sum over n taps of a row, from part k on. */
static inline __attribute__((always_inline)) EachVec sum_up(const EachUp *u,
                                                            const float *x,
                                                            const float *w, int64_t k,
                                                            int64_t n, EachVec sum) {
    for (int64_t end = k + n; k < end; k++)
        sum = each_fma(each_load(u->part[k].mask, x + u->part[k].at),
                       each_set1(w[u->part[k].tap]), sum);
    return sum;
}

/* Neighbouring results of all rows: each vector of x's columns gives column_up vectors
 * of them. `even` and `odd`, the numbers of taps, are constants where it matters. */
static inline __attribute__((always_inline)) void each_up(const ConvEach *a,
                                                          const float *taps, int64_t i,
                                                          const EachUp *u, int64_t even,
                                                          int64_t odd) {
    Mask mask[2] = {mask_of(i * a->column_up, a->columns),
                    mask_of(i * a->column_up + EACH, a->columns)};
    int64_t shift = a->row_up - 1;
    float *out = a->out + i * a->column_up;
    for (int64_t j = 0; j < a->rows; j++, out += a->out_row) {
        EachVec sum = each_zero(), between = each_zero(), mixed[2];
        for (int64_t t = 0; t < a->row_taps; t++) {
            int64_t row = j + a->row[t];
            if (row < 0 || (row & shift) || row >> shift >= a->x_rows) continue;
            const float *x = a->x + (row >> shift) * a->x_row,
                        *w = taps + t * a->column_taps;
            sum = sum_up(u, x, w, 0, even, sum);
            between = sum_up(u, x, w, even, odd, between);
        }
        if (a->column_up == 2) {
            each_mix(sum, between, mixed);
            each_put(out, mask[0], mixed[0]);
            each_put(out + EACH, mask[1], mixed[1]);
        } else {
            each_put(out, mask[0], sum);
        }
    }
}

static void each_ups(ConvEach a) {
    EachUp u = {.even = 0};
    for (int64_t c = 0; c < a.channels; c++) {
        for (int64_t i = 0; i * a.column_up < a.columns; i += EACH) {
            if (c == 0 || a.columns > EACH * a.column_up) find_up(&a, i, &u);
            if (u.even == 1 && u.odd == 2)
                each_up(&a, a.w, i, &u, 1, 2);
            else if (u.even == 2 && u.odd == 1)
                each_up(&a, a.w, i, &u, 2, 1);
            else
                each_up(&a, a.w, i, &u, u.even, u.odd);
        }
        a.x += a.x_channel, a.out += a.out_channel;
        a.w += a.row_taps * a.column_taps;
    }
}

static bool are_neighbours(const int64_t *at, int64_t n) {
    for (int64_t k = 1; k < n; k++)
        if (at[k] != at[0] + k) return false;
    return true;
}

static bool is_3x3(const ConvEach *a) {
    return a->row_taps == 3 && a->column_taps == 3 && are_neighbours(a->row, 3) &&
           are_neighbours(a->column, 3) && a->row_step == a->column_step;
}

void LEVEL(conv_each)(const ConvEach *all) {
    ConvEach a = *all;
    TapPart part[CONV_EACH_TAPS];
    bool three = is_3x3(&a);
    if (a.row_up > 1 || a.column_up > 1) {
        each_ups(a);
        return;
    }
    for (int64_t c = 0; c < a.channels; c++) {
        EachAfter f = each_after(&a, c);
        for (int64_t i = 0; i < a.columns; i += EACH) {
            if (c == 0 || a.columns > EACH) find_parts(&a, i, part);
            if (three && a.row_step == 1)
                each_3x3(&a, 1, a.w, i, part, &f);
            else if (three)
                each_3x3(&a, 2, a.w, i, part, &f);
            else
                each_any(&a, a.w, i, part, &f);
        }
        a.x += a.x_channel, a.out += a.out_channel;
        a.w += a.row_taps * a.column_taps;
    }
}

static inline __attribute__((always_inline)) void
sums_3x3(const ConvEach *a, int64_t step, const float *dy, int64_t i,
         const TapPart *part, EachVec all[9]) {
    EachVec v[3][3], sum[9]; /* in registers: dy might lie where `all` does */
    size_t old = 3 - (size_t)step;
    Mask mask = mask_of(i, a->columns);
    int64_t row = a->row[0];
    dy += i;
    for (size_t k = 0; k < 9; k++)
        sum[k] = all[k];
    for (size_t k = 0; k < old; k++)
        load_taps(a, row + (int64_t)k, part, 3, step, v[k]);
    for (int64_t j = 0; j < a->rows; j++, row += step, dy += a->out_row) {
        EachVec g = each_load(mask, dy);
        for (size_t k = old; k < 3; k++)
            load_taps(a, row + (int64_t)k, part, 3, step, v[k]);
        for (size_t k = 0; k < 9; k++)
            sum[k] = each_fma(v[k / 3][k % 3], g, sum[k]);
        for (size_t k = 0; k < old; k++)
            for (size_t t = 0; t < 3; t++)
                v[k][t] = v[k + (size_t)step][t];
    }
    for (size_t k = 0; k < 9; k++)
        all[k] = sum[k];
}

/* For the taps of one row of a filter. */
static void sums_any(const ConvEach *a, int64_t tap, const float *dy, int64_t i,
                     const TapPart *part, EachVec *sum) {
    Mask mask = mask_of(i, a->columns);
    EachVec v[CONV_EACH_TAPS];
    for (int64_t j = 0; j < a->rows; j++) {
        EachVec g = each_load(mask, dy + j * a->out_row + i);
        load_taps(a, j * a->row_step + a->row[tap], part, (size_t)a->column_taps,
                  a->column_step, v);
        for (int64_t k = 0; k < a->column_taps; k++)
            sum[k] = each_fma(v[k], g, sum[k]);
    }
}

static void add_sums(const EachVec *sum, int64_t n, float *to) {
    for (int64_t k = 0; k < n; k++)
        to[k] += each_sum(sum[k]);
}

void LEVEL(conv_each_sums)(const ConvEach *all, const float *dy, float *sums) {
    ConvEach a = *all;
    TapPart part[CONV_EACH_TAPS];
    bool three = is_3x3(&a);
    for (int64_t c = 0; c < a.channels; c++, a.x += a.x_channel, dy += a.out_channel) {
        int64_t rows = three ? 1 : a.row_taps, taps = three ? 9 : a.column_taps;
        for (int64_t tap = 0; tap < rows; tap++, sums += taps) {
            EachVec sum[CONV_EACH_TAPS] = {{0}};
            for (int64_t i = 0; i < a.columns; i += EACH) {
                if ((c == 0 && tap == 0) || a.columns > EACH) find_parts(&a, i, part);
                if (three && a.row_step == 1)
                    sums_3x3(&a, 1, dy, i, part, sum);
                else if (three)
                    sums_3x3(&a, 2, dy, i, part, sum);
                else
                    sums_any(&a, tap, dy, i, part, sum);
            }
            add_sums(sum, taps, sums);
        }
    }
}
#endif
