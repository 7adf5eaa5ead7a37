/* Keys of elements, whether any is below a limit, sorting of many short lines at once,
 * and searching for many keys at once. */
#include "ops/sort/keys.h"

#include "base/level.h"
#include "op/vector.h"

#include <string.h>

/* The sign of a negative float inverts the order of its other bits. */
#define KEYS(T, S)                                                                     \
    static inline T T##_of_float(T b, T top, T inf) {                                  \
        T down = (T)((S)b >> (8 * sizeof(T) - 1));                                     \
        T key = (T)(b ^ (down | top));                                                 \
        key = b == top ? top : key;                                                    \
        return (T)(b & (T)~top) > inf ? (T) ~(T)0 : key;                               \
    }                                                                                  \
    static inline T T##_unaligned(const char *x, int64_t at) {                         \
        T one;                                                                         \
        memcpy(&one, x + at, sizeof one);                                              \
        return one;                                                                    \
    }                                                                                  \
    static inline void T##_keys_apart(const SortForm *f, const char *x, int64_t step,  \
                                      int64_t n, T *key) {                             \
        T top = (T)f->top, inf = (T)f->inf, flip = (T)(f->descending ? ~(T)0 : 0),     \
          sign = f->is_signed ? top : 0;                                               \
        if (f->is_float)                                                               \
            for (int64_t i = 0; i < n; i++)                                            \
                key[i] =                                                               \
                    (T)(T##_of_float(T##_unaligned(x, i * step), top, inf) ^ flip);    \
        else                                                                           \
            for (int64_t i = 0; i < n; i++)                                            \
                key[i] = (T)(T##_unaligned(x, i * step) ^ sign ^ flip);                \
    }                                                                                  \
    static void T##_keys(const SortForm *f, const char *x, int64_t step, int64_t n,    \
                         void *to) {                                                   \
        if (step == (int64_t)sizeof(T))                                                \
            T##_keys_apart(f, x, sizeof(T), n, to);                                    \
        else                                                                           \
            T##_keys_apart(f, x, step, n, to);                                         \
    }                                                                                  \
    static bool T##_any_below(const void *from, int64_t n, uint64_t limit) {           \
        const T *key = from, most = (T)limit;                                          \
        T any = 0;                                                                     \
        for (int64_t i = 0; i < n; i++)                                                \
            any |= key[i] < most;                                                      \
        return any;                                                                    \
    }
KEYS(uint8_t, int8_t)
KEYS(uint16_t, int16_t)
KEYS(uint32_t, int32_t)
KEYS(uint64_t, int64_t)

/* ---- the smallest, for a small k ---- */
static inline void insert_short(SortFew *f, uint64_t key, int64_t at) {
    int64_t to = f->n < f->k ? f->n++ : f->k - 1;
    for (; to > 0 && f->key[to - 1] > key; to--) {
        f->key[to] = f->key[to - 1];
        f->at[to] = f->at[to - 1];
    }
    f->key[to] = key;
    f->at[to] = at;
}

#if TL_LEVEL == 2
/* Where k are there already, without a branch that depends on the place. */
static inline void insert_full(SortFew *f, uint64_t key, int64_t at) {
    __m512i one = _mm512_set1_epi64((int64_t)key), its = _mm512_set1_epi64(at),
            zero = _mm512_setzero_si512();
    for (int64_t i = (f->k - 1) / 8 * 8; i >= 0; i -= 8) {
        __m512i keys = _mm512_loadu_si512(f->key + i),
                ats = _mm512_loadu_si512(f->at + i),
                last_keys = i ? _mm512_loadu_si512(f->key + i - 8) : zero,
                last_ats = i ? _mm512_loadu_si512(f->at + i - 8) : zero;
        last_keys = _mm512_alignr_epi64(keys, last_keys, 7);
        last_ats = _mm512_alignr_epi64(ats, last_ats, 7);
        __mmask8 below = _mm512_cmplt_epu64_mask(one, keys),
                 moves = _mm512_cmplt_epu64_mask(one, last_keys);
        keys = _mm512_mask_mov_epi64(keys, below, one);
        ats = _mm512_mask_mov_epi64(ats, below, its);
        _mm512_storeu_si512(f->key + i, _mm512_mask_mov_epi64(keys, moves, last_keys));
        _mm512_storeu_si512(f->at + i, _mm512_mask_mov_epi64(ats, moves, last_ats));
    }
}
#define FEW_BELOW(T, S, M, E, U)                                                       \
    static void T##_few_below(const T *key, int64_t n, int64_t at, SortFew *f) {       \
        enum { LANES = sizeof(__m512i) / sizeof(T) };                                  \
        for (int64_t i = 0; i < n; i += LANES) {                                       \
            M rest = (M)(n - i < LANES ? (UINT64_C(1) << (n - i)) - 1 : ~UINT64_C(0)); \
            uint64_t in = _mm512_mask_cmplt_##U##_mask(                                \
                rest, _mm512_maskz_loadu_##E(rest, key + i),                           \
                _mm512_set1_##E((S)f->key[f->k - 1]));                                 \
            for (; in; in &= in - 1) {                                                 \
                int64_t k = i + __builtin_ctzll(in);                                   \
                if (key[k] < f->key[f->k - 1]) insert_full(f, key[k], at + k);         \
            }                                                                          \
        }                                                                              \
    }
FEW_BELOW(uint8_t, int8_t, __mmask64, epi8, epu8)
FEW_BELOW(uint16_t, int16_t, __mmask32, epi16, epu16)
FEW_BELOW(uint32_t, int32_t, __mmask16, epi32, epu32)
FEW_BELOW(uint64_t, int64_t, __mmask8, epi64, epu64)
#else
#define FEW_BELOW(T)                                                                   \
    static void T##_few_below(const T *key, int64_t n, int64_t at, SortFew *f) {       \
        enum { PART = 32 };                                                            \
        for (int64_t i = 0, m; i < n; i += m) {                                        \
            m = n - i < PART ? n - i : PART;                                           \
            if (m == PART ? !T##_any_below(key + i, PART, f->key[f->k - 1])            \
                          : !T##_any_below(key + i, m, f->key[f->k - 1]))              \
                continue;                                                              \
            for (int64_t k = i; k < i + m; k++)                                        \
                if (key[k] < f->key[f->k - 1]) insert_short(f, key[k], at + k);        \
        }                                                                              \
    }
FEW_BELOW(uint8_t)
FEW_BELOW(uint16_t)
FEW_BELOW(uint32_t)
FEW_BELOW(uint64_t)
#endif
#define FEW(T)                                                                         \
    static void T##_few(const void *from, int64_t n, int64_t at, SortFew *f) {         \
        const T *key = from;                                                           \
        int64_t i = 0;                                                                 \
        for (; i < n && f->n < f->k; i++)                                              \
            insert_short(f, key[i], at + i);                                           \
        T##_few_below(key + i, n - i, at + i, f);                                      \
    }
FEW(uint8_t)
FEW(uint16_t)
FEW(uint32_t)
FEW(uint64_t)

/* Batcher's merge exchange (Knuth, 5.2.2 M): which elements are compared depends on n
 * alone, so that a vector holds the same element of different columns. */
#define NETWORK(T)                                                                     \
    static inline void T##_exchange(T *restrict x, T *restrict y) {                    \
        for (size_t l = 0; l < SORT_COLUMN / sizeof(T); l++) {                         \
            T u = x[l], v = y[l];                                                      \
            x[l] = u < v ? u : v;                                                      \
            y[l] = u < v ? v : u;                                                      \
        }                                                                              \
    }                                                                                  \
    static void T##_network(void *key, int64_t n) {                                    \
        enum { L = SORT_COLUMN / sizeof(T) };                                          \
        T *a = key;                                                                    \
        int64_t top = 1;                                                               \
        while (2 * top < n)                                                            \
            top *= 2;                                                                  \
        for (int64_t p = top; p > 0; p /= 2)                                           \
            for (int64_t q = top, r = 0, d = p; q >= p; d = q - p, q /= 2, r = p)      \
                for (int64_t i = r; i < n - d; i += 2 * p)                             \
                    for (int64_t k = i; k < i + p && k < n - d; k++)                   \
                        T##_exchange(a + k * L, a + (k + d) * L);                      \
    }
NETWORK(uint8_t)
NETWORK(uint16_t)
NETWORK(uint32_t)
NETWORK(uint64_t)

/* Sorts a line as columns, which are then merged in pairs, two runs of equal length
 * from both ends at once: neither end can run out of keys before the other has met it,
 * so that no step has a branch (the parity merge of van den Hoven's quadsort, 2021). */
#define LINE(T)                                                                        \
    static void T##_merge(const T *a, int64_t n, T *to) {                              \
        const T *b = a + n, *c = b - 1, *d = c + n;                                    \
        T *end = to + 2 * n - 1;                                                       \
        for (int64_t i = 0; i < n; i++) {                                              \
            T u = *a, v = *b, w = *c, x = *d;                                          \
            bool right = v<u, left = w> x;                                             \
            *to++ = right ? v : u;                                                     \
            *end-- = left ? w : x;                                                     \
            b += right;                                                                \
            a += !right;                                                               \
            c -= left;                                                                 \
            d -= !left;                                                                \
        }                                                                              \
    }                                                                                  \
    static void *T##_line(void *keys, void *room, int64_t n) {                         \
        enum { L = SORT_COLUMN / sizeof(T) };                                          \
        T *from = keys, *to = room;                                                    \
        int64_t rows = (n + L - 1) / L;                                                \
        for (int64_t i = n; i < rows * L; i++)                                         \
            from[i] = (T) ~(T)0;                                                       \
        T##_network(from, rows);                                                       \
        for (int64_t r = 0; r < rows; r++)                                             \
            for (int64_t l = 0; l < L; l++)                                            \
                to[l * rows + r] = from[r * L + l];                                    \
        for (int64_t run = rows; run < rows * L; run *= 2) {                           \
            T *swap = from;                                                            \
            from = to;                                                                 \
            to = swap;                                                                 \
            for (int64_t at = 0; at < rows * L; at += 2 * run)                         \
                T##_merge(from + at, run, to + at);                                    \
        }                                                                              \
        return to;                                                                     \
    }
LINE(uint8_t)
LINE(uint16_t)
LINE(uint32_t)
LINE(uint64_t)

/* ---- number kth of keys ---- */
/* Those from `least` to `least + span`, in order; *below: how many are below them. */
#define BETWEEN(T)                                                                     \
    static int64_t T##_between(const T *key, int64_t n, T least, T span, T *to,        \
                               int64_t *below) {                                       \
        int64_t m = 0, under = 0;                                                      \
        for (int64_t i = 0; i < n; i++) {                                              \
            T one = key[i];                                                            \
            to[m] = one;                                                               \
            m += (T)(one - least) <= span;                                             \
            under += one < least;                                                      \
        }                                                                              \
        *below = under;                                                                \
        return m;                                                                      \
    }
/* The same by vectors, stored whole: what is too much of one falls where later keys
 * will go. */
#define BETWEEN_512(T, S, M, E, U)                                                     \
    static int64_t T##_between(const T *key, int64_t n, T least, T span, T *to,        \
                               int64_t *below) {                                       \
        enum { LANES = sizeof(__m512i) / sizeof(T) };                                  \
        int64_t m = 0, under = 0, i = 0;                                               \
        __m512i low = _mm512_set1_##E((S)least), most = _mm512_set1_##E((S)span);      \
        for (; i + LANES <= n; i += LANES) {                                           \
            __m512i v = _mm512_loadu_si512(key + i), up = _mm512_sub_##E(v, low);      \
            M in = _mm512_cmple_##U##_mask(up, most);                                  \
            _mm512_storeu_si512(to + m, _mm512_maskz_compress_##E(in, v));             \
            m += __builtin_popcount(in);                                               \
            under += __builtin_popcount(_mm512_cmplt_##U##_mask(v, low));              \
        }                                                                              \
        for (; i < n; i++) {                                                           \
            to[m] = key[i];                                                            \
            m += (T)(key[i] - least) <= span;                                          \
            under += key[i] < least;                                                   \
        }                                                                              \
        *below = under;                                                                \
        return m;                                                                      \
    }
/* How many are not above v; *next: the least one that is. */
#define ABOVE(T)                                                                       \
    static int64_t T##_above(const void *from, int64_t n, uint64_t v,                  \
                             uint64_t *next) {                                         \
        const T *key = from, most = (T)v;                                              \
        T least = (T) ~(T)0;                                                           \
        int64_t all = 0;                                                               \
        for (int64_t i = 0; i < n; i += 128) {                                         \
            T upto = 0;                                                                \
            int64_t m = n - i < 128 ? n - i : 128;                                     \
            for (int64_t k = 0; k < m; k++) {                                          \
                T one = key[i + k], over = one > most ? one : (T) ~(T)0;               \
                upto = (T)(upto + (one <= most));                                      \
                least = over < least ? over : least;                                   \
            }                                                                          \
            all += (int64_t)upto;                                                      \
        }                                                                              \
        *next = least;                                                                 \
        return all;                                                                    \
    }
#define ABOVE_512(T, S, M, E, U)                                                       \
    static int64_t T##_above(const void *from, int64_t n, uint64_t v,                  \
                             uint64_t *next) {                                         \
        enum { LANES = sizeof(__m512i) / sizeof(T) };                                  \
        const T *key = from;                                                           \
        int64_t all = 0;                                                               \
        __m512i most = _mm512_set1_##E((S)v), least = _mm512_set1_##E(-1);             \
        for (int64_t i = 0; i < n; i += LANES) {                                       \
            M rest = (M)(n - i < LANES ? (1U << (n - i)) - 1 : ~0U);                   \
            __m512i one = _mm512_maskz_loadu_##E(rest, key + i);                       \
            M over = _mm512_mask_cmpgt_##U##_mask(rest, one, most);                    \
            least = _mm512_mask_min_##U(least, over, least, one);                      \
            all += __builtin_popcount((M)(rest & ~over));                              \
        }                                                                              \
        *next = _mm512_reduce_min_##U(least);                                          \
        return all;                                                                    \
    }
BETWEEN(uint8_t)
BETWEEN(uint16_t)
ABOVE(uint8_t)
ABOVE(uint16_t)
#if TL_LEVEL == 2
BETWEEN_512(uint32_t, int32_t, __mmask16, epi32, epu32)
BETWEEN_512(uint64_t, int64_t, __mmask8, epi64, epu64)
ABOVE_512(uint32_t, int32_t, __mmask16, epi32, epu32)
ABOVE_512(uint64_t, int64_t, __mmask8, epi64, epu64)
#else
BETWEEN(uint32_t)
BETWEEN(uint64_t)
ABOVE(uint32_t)
ABOVE(uint64_t)
#endif

/* Of very many keys, a sample tells between which two number kth most likely is, and
 * only what is between them is kept (Floyd and Rivest, 1975). Then by groups of bits,
 * the highest first: many keys are counted by the next DIGIT bits, and those that share
 * the ones of number kth are kept; of few, those below are counted for each bit, until
 * one key is left. A bit that tells nothing apart, as in the exponents of floats, has
 * more such bits below it: narrow. */
enum { DIGIT = 11, SHORT = 2048, SAMPLE = 1024, MARGIN = 48, MANY = 16 * SAMPLE };
#define NTH(T)                                                                         \
    static int64_t T##_below(const T *key, int64_t n, T limit) {                       \
        int64_t all = 0;                                                               \
        for (int64_t i = 0; i < n; i += 128) {                                         \
            T below = 0;                                                               \
            int64_t m = n - i < 128 ? n - i : 128;                                     \
            for (int64_t k = 0; k < m; k++)                                            \
                below = (T)(below + (key[i + k] < limit));                             \
            all += (int64_t)below;                                                     \
        }                                                                              \
        return all;                                                                    \
    }                                                                                  \
    static int64_t T##_keep(const T *key, int64_t n, int down, T low, T *to) {         \
        int64_t m = 0;                                                                 \
        for (int64_t i = 0; i < n; i++) {                                              \
            T one = key[i];                                                            \
            to[m] = one;                                                               \
            m += (T)(one - low) >> down == 0;                                          \
        }                                                                              \
        return m;                                                                      \
    }                                                                                  \
    static T T##_digit(const T *key, int64_t n, int down, T low, int64_t kth,          \
                       int64_t *below) {                                               \
        int64_t count[1 << DIGIT] = {0};                                               \
        size_t v = 0;                                                                  \
        for (int64_t i = 0; i < n; i++)                                                \
            count[(size_t)((T)(key[i] - low) >> down)]++;                              \
        while (*below + count[v] <= kth)                                               \
            *below += count[v++];                                                      \
        return (T)(low | (T)((T)v << down));                                           \
    }                                                                                  \
    /* Narrows the range of 2^*bits keys from *low on, *bits > 0, to what the bits     \
     * leave in which its keys differ. */                                              \
    static void T##_narrow(const T *key, int64_t n, int *bits, T *low) {               \
        T either = 0, both = (T) ~(T)0, base = *low,                                   \
          most = (T)((T) ~(T)0 >> (8 * (int)sizeof(T) - *bits));                       \
        for (int64_t i = 0; i < n; i++) {                                              \
            T out = (T)((T)(key[i] - base) > most ? ~(T)0 : 0);                        \
            either |= (T)(key[i] & (T)~out);                                           \
            both &= (T)(key[i] | out);                                                 \
        }                                                                              \
        uint64_t vary = (T)(either ^ both);                                            \
        *bits = vary ? 64 - __builtin_clzll(vary) : 0;                                 \
        *low =                                                                         \
            (T)(vary ? (uint64_t)both >> (*bits - 1) >> 1 << (*bits - 1) << 1 : both); \
    }                                                                                  \
    /* How many were kept; 0: it isn't one of them. */                                 \
    static int64_t T##_keep_near(const T *key, int64_t n, int64_t kth, T *to,          \
                                 int64_t *before) {                                    \
        int64_t at = (int64_t)((double)kth / (double)n * SAMPLE), under;               \
        for (int64_t i = 0; i < SAMPLE; i++)                                           \
            to[i] = key[i * (n / SAMPLE)];                                             \
        const T *some = T##_line(to, to + 2 * SAMPLE, SAMPLE);                         \
        T least = at < MARGIN ? 0 : some[at - MARGIN],                                 \
          most = at + MARGIN < SAMPLE ? some[at + MARGIN] : (T) ~(T)0;                 \
        int64_t m = T##_between(key, n, least, (T)(most - least), to, &under);         \
        if (kth < under || kth >= under + m) return 0;                                 \
        *before = under;                                                               \
        return m;                                                                      \
    }                                                                                  \
    static int64_t T##_within(const void *key, int64_t n, uint64_t least,              \
                              uint64_t most, void *to, int64_t *below) {               \
        return T##_between(key, n, (T)least, (T)(most - least), to, below);            \
    }                                                                                  \
    static uint64_t T##_nth(const void *from, void *room, int64_t n, int64_t kth,      \
                            int64_t *below) {                                          \
        const T *key = from;                                                           \
        T low = 0, one;                                                                \
        int bits = 8 * sizeof(T);                                                      \
        int64_t before = 0, from_low = 0,                                              \
                near = n < MANY || sizeof(T) < 4                                       \
                           ? 0                                                         \
                           : T##_keep_near(key, n, kth, room, &before);                \
        if (near) key = room, n = near;                                                \
        T##_narrow(key, n, &bits, &low);                                               \
        for (; n > SHORT && bits > 0; key = room) {                                    \
            bits = bits > DIGIT ? bits - DIGIT : 0;                                    \
            low = T##_digit(key, n, bits, low, kth, &before);                          \
            n = T##_keep(key, n, bits, low, room);                                     \
        }                                                                              \
        for (int64_t to_high = n; bits > 0 && to_high - from_low > 1;) {               \
            T middle = (T)(low | (T)((T)1 << --bits));                                 \
            int64_t under = T##_below(key, n, middle);                                 \
            bool up = before + under <= kth,                                           \
                 same = under == (up ? from_low : to_high);                            \
            low = up ? middle : low;                                                   \
            from_low = up ? under : from_low;                                          \
            to_high = up ? to_high : under;                                            \
            if (same && bits > 0) T##_narrow(key, n, &bits, &low);                     \
        }                                                                              \
        *below = before + from_low;                                                    \
        one = low;                                                                     \
        for (int64_t i = 0; i < n && bits > 0; i++)                                    \
            one = (T)(key[i] - low) >> bits == 0 ? key[i] : one;                       \
        return one;                                                                    \
    }                                                                                  \
    static void T##_part(const void *from, int64_t n, uint64_t limit, int64_t below,   \
                         int64_t kth, int64_t *to, int64_t step) {                     \
        const T *key = from, most = (T)limit;                                          \
        int64_t at = 0, lower = 0, higher = kth + 1;                                   \
        for (int64_t equal = kth - below; key[at] != most || equal-- > 0; at++)        \
            ;                                                                          \
        for (int64_t i = 0; i < at; i++) {                                             \
            bool before = key[i] <= most;                                              \
            to[(before ? lower : higher) * step] = i;                                  \
            lower += before;                                                           \
            higher += !before;                                                         \
        }                                                                              \
        to[kth * step] = at;                                                           \
        for (int64_t i = at + 1; i < n; i++) {                                         \
            bool before = key[i] < most;                                               \
            to[(before ? lower : higher) * step] = i;                                  \
            lower += before;                                                           \
            higher += !before;                                                         \
        }                                                                              \
    }
NTH(uint8_t)
NTH(uint16_t)
NTH(uint32_t)
NTH(uint64_t)

#define COLUMN(T)                                                                      \
    static inline __attribute__((always_inline)) bool T##_told_by(                     \
        const SortForm *f, const char *x, int64_t step, int64_t n, T *key) {           \
        T top = (T)f->top, inf = (T)f->inf, flip = (T)(f->descending ? ~(T)0 : 0),     \
          bad = 0;                                                                     \
        for (int64_t i = 0; i < n; i++) {                                              \
            T b = T##_unaligned(x, i * step);                                          \
            bad |= (T)(((T)(b & (T)~top) > inf) | (b == top));                         \
            key[i] = (T)(T##_of_float(b, top, inf) ^ flip);                            \
        }                                                                              \
        return !bad;                                                                   \
    }                                                                                  \
    static bool T##_told(const SortForm *f, const char *x, int64_t step, int64_t n,    \
                         void *to) {                                                   \
        enum { ITEM = sizeof(T), ROW = SORT_COLUMN / ITEM };                           \
        if (!f->is_float) {                                                            \
            T##_keys(f, x, step, n, to);                                               \
            return true;                                                               \
        }                                                                              \
        return step == ITEM && n == ROW ? T##_told_by(f, x, ITEM, ROW, to)             \
               : step == ITEM           ? T##_told_by(f, x, ITEM, n, to)               \
                                        : T##_told_by(f, x, step, n, to);                        \
    }                                                                                  \
    static inline T T##_element(T key, T flip, T top, T sign, T floats) {              \
        T b = (T)(key ^ flip), as_float = (T)(b & top ? b ^ top : ~b);                 \
        return (T)((as_float & floats) | ((T)(b ^ sign) & (T)~floats));                \
    }                                                                                  \
    static inline __attribute__((always_inline)) void T##_elements_by(                 \
        const SortForm *f, const T *key, int64_t n, char *r, int64_t step) {           \
        T top = (T)f->top, flip = (T)(f->descending ? ~(T)0 : 0),                      \
          sign = f->is_signed ? top : 0, floats = (T)(f->is_float ? ~(T)0 : 0);        \
        for (int64_t i = 0; i < n; i++) {                                              \
            T one = T##_element(key[i], flip, top, sign, floats);                      \
            memcpy(r + i * step, &one, sizeof one);                                    \
        }                                                                              \
    }                                                                                  \
    static void T##_elements(const SortForm *f, const void *key, int64_t n, char *r,   \
                             int64_t step) {                                           \
        enum { ITEM = sizeof(T), ROW = SORT_COLUMN / ITEM };                           \
        if (step == ITEM && n == ROW)                                                  \
            T##_elements_by(f, key, ROW, r, ITEM);                                     \
        else if (step == ITEM)                                                         \
            T##_elements_by(f, key, n, r, ITEM);                                       \
        else                                                                           \
            T##_elements_by(f, key, n, r, step);                                       \
    }                                                                                  \
    static inline bool T##_passes(T here, T v, bool right) {                           \
        return right ? here <= v : here < v;                                           \
    }                                                                                  \
    /* Without branches, which random keys would mispredict. */                        \
    static inline void T##_bisect(const T *a, int64_t n, const T *v, bool right,       \
                                  int64_t k, int64_t *base) {                          \
        for (int64_t q = 0; q < k; q++)                                                \
            base[q] = 0;                                                               \
        for (int64_t left = n, half; left > 1; left -= half) {                         \
            half = left / 2;                                                           \
            const T *mid = a + half - 1;                                               \
            for (int64_t q = 0; q < k; q++)                                            \
                base[q] += half & -(int64_t)T##_passes(mid[base[q]], v[q], right);     \
        }                                                                              \
        for (int64_t q = 0; q < k && n > 0; q++)                                       \
            base[q] += T##_passes(a[base[q]], v[q], right);                            \
    }                                                                                  \
    /* Among few keys: how many of them pass. Comparing with all of them by vectors    \
     * takes less than log n steps that gather. */                                     \
    static inline void T##_count(const T *a, int64_t n, const T *v, bool right,        \
                                 int64_t *at) {                                        \
        enum { TOGETHER = 4 * BYTES / sizeof(T) };                                     \
        T count[TOGETHER] = {0};                                                       \
        for (int64_t k = 0; k < n; k++)                                                \
            for (int64_t q = 0; q < TOGETHER; q++)                                     \
                count[q] = (T)(count[q] + T##_passes(a[k], v[q], right));              \
        for (int64_t q = 0; q < TOGETHER; q++)                                         \
            at[q] = (int64_t)count[q];                                                 \
    }
COLUMN(uint8_t)
COLUMN(uint16_t)
COLUMN(uint32_t)
COLUMN(uint64_t)

#if TL_LEVEL == 2
/* Among more keys, in groups of a vector: how many groups pass as a whole, each beside
 * all that are sought, then how many keys of the next group do (Schlegel, Gemulla and
 * Lehner, k-ary search, 2009). Greatest keys fill the last group. */
#define GROUPED(T, S, M, E, U)                                                         \
    enum { T##_MOST = 32 * BYTES / sizeof(T) };                                        \
    static inline M T##_passing(__m512i here, __m512i v, bool right) {                 \
        return right ? _mm512_cmple_##U##_mask(here, v)                                \
                     : _mm512_cmplt_##U##_mask(here, v);                               \
    }                                                                                  \
    static inline __attribute__((always_inline)) int64_t T##_grouped_by(               \
        const T *a, int64_t n, const T *v, int64_t m, bool right, int64_t *at) {       \
        enum { L = BYTES / sizeof(T) };                                                \
        _Alignas(BYTES) T key[T##_MOST], first[L];                                     \
        int64_t all = (n + L - 1) / L * L, i = 0;                                      \
        memcpy(key, a, (size_t)n * sizeof *a);                                         \
        for (int64_t k = n; k < all; k++)                                              \
            key[k] = (T) ~(T)0;                                                        \
        for (; i + L <= m; i += L) {                                                   \
            __m512i x = _mm512_loadu_si512(v + i), from = _mm512_setzero_si512();      \
            for (int64_t k = L; k < all; k += L)                                       \
                from = _mm512_mask_add_##E(                                            \
                    from, T##_passing(_mm512_set1_##E((S)key[k - 1]), x, right), from, \
                    _mm512_set1_##E(L));                                               \
            _mm512_store_si512(first, from);                                           \
            for (int64_t q = 0; q < L; q++)                                            \
                at[i + q] = (int64_t)first[q];                                         \
        }                                                                              \
        for (int64_t q = 0; q < i; q++) {                                              \
            M in = T##_passing(_mm512_load_si512(key + at[q]),                         \
                               _mm512_set1_##E((S)v[q]), right);                       \
            int64_t before = at[q] + __builtin_popcount(in);                           \
            at[q] = before < n ? before : n;                                           \
        }                                                                              \
        return i;                                                                      \
    }                                                                                  \
    static int64_t T##_grouped(const T *a, int64_t n, const T *v, int64_t m,           \
                               bool right, int64_t *at) {                              \
        if (n <= 5 * BYTES / (2 * (int64_t)sizeof(T)) || n > T##_MOST || n > 8 * m)    \
            return 0;                                                                  \
        return right ? T##_grouped_by(a, n, v, m, true, at)                            \
                     : T##_grouped_by(a, n, v, m, false, at);                          \
    }
GROUPED(uint32_t, int32_t, __mmask16, epi32, epu32)
GROUPED(uint64_t, int64_t, __mmask8, epi64, epu64)
#else
#define uint32_t_grouped(a, n, v, m, right, at) 0
#define uint64_t_grouped(a, n, v, m, right, at) 0
#endif
#define uint8_t_grouped(a, n, v, m, right, at)  0
#define uint16_t_grouped(a, n, v, m, right, at) 0

/* at[i], see SortLoops. */
#define SEARCH(T)                                                                      \
    static void T##_search(const void *key, int64_t n, const void *sought, int64_t m,  \
                           bool right, int64_t *at) {                                  \
        enum {                                                                         \
            TOGETHER = 32,                                                             \
            COUNTED = 4 * BYTES / sizeof(T),                                           \
            FEW_KEYS = sizeof(T) == 1 ? 128 : 8 * BYTES / sizeof(T)                    \
        };                                                                             \
        const T *a = key, *v = sought;                                                 \
        int64_t i = T##_grouped(a, n, v, m, right, at);                                \
        for (; n <= FEW_KEYS && i + COUNTED <= m; i += COUNTED)                        \
            if (right)                                                                 \
                T##_count(a, n, v + i, true, at + i);                                  \
            else                                                                       \
                T##_count(a, n, v + i, false, at + i);                                 \
        for (; i + TOGETHER <= m; i += TOGETHER) {                                     \
            if (right)                                                                 \
                T##_bisect(a, n, v + i, true, TOGETHER, at + i);                       \
            else                                                                       \
                T##_bisect(a, n, v + i, false, TOGETHER, at + i);                      \
        }                                                                              \
        T##_bisect(a, n, v + i, right, m - i, at + i);                                 \
    }
SEARCH(uint8_t)
SEARCH(uint16_t)
SEARCH(uint32_t)
SEARCH(uint64_t)

#define PACK(T)                                                                        \
    static uint64_t T##_varying(const void *from, int64_t n, uint64_t first) {         \
        const T *key = from, one = (T)first;                                           \
        T vary = 0;                                                                    \
        for (int64_t i = 0; i < n; i++)                                                \
            vary |= (T)(key[i] ^ one);                                                 \
        return vary;                                                                   \
    }                                                                                  \
    static void T##_pack(const void *from, int64_t n, SortPacking k, int64_t at,       \
                         uint64_t *to) {                                               \
        const T *key = from;                                                           \
        for (int64_t i = 0; i < n; i++)                                                \
            to[i] = ((uint64_t)key[i] << k.up & ~k.position) | (uint64_t)(at + i);     \
    }                                                                                  \
    static bool T##_apart(const void *from, int64_t n, uint64_t low) {                 \
        const T *key = from, most = (T)low;                                            \
        T same = 0;                                                                    \
        for (int64_t i = 1; i < n; i++)                                                \
            same |= (T)(key[i] ^ key[i - 1]) <= most;                                  \
        return !same;                                                                  \
    }                                                                                  \
    static void T##_low_bits(const void *from, int64_t n, uint64_t low, int64_t *to,   \
                             int64_t step) {                                           \
        const T *key = from, mask = (T)low;                                            \
        for (int64_t i = 0; step == 1 && i < n; i++)                                   \
            to[i] = (int64_t)(T)(key[i] & mask);                                       \
        for (int64_t i = 0; step != 1 && i < n; i++)                                   \
            to[i * step] = (int64_t)(T)(key[i] & mask);                                \
    }
PACK(uint8_t)
PACK(uint16_t)
PACK(uint32_t)
PACK(uint64_t)

#define LOOPS_OF(T)                                                                    \
    {                                                                                  \
        T##_keys, T##_any_below, T##_few, T##_network, T##_line, T##_nth, T##_within,  \
            T##_above, T##_part, T##_told, T##_elements, T##_varying, T##_pack,        \
            T##_apart, T##_low_bits, T##_search                                        \
    }
const SortLoops LEVEL(sort_loops)[4] = {LOOPS_OF(uint8_t), LOOPS_OF(uint16_t),
                                        LOOPS_OF(uint32_t), LOOPS_OF(uint64_t)};
