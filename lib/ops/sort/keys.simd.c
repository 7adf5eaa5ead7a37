/* Keys of elements, whether any is below a limit, sorting of many short lines at once,
 * and searching for many keys at once. */
#include "ops/sort/keys.h"

#include <string.h>

#define JOIN2(a, b) a##b
#define JOIN1(a, b) JOIN2(a, b)
#define LEVEL(name) JOIN1(name, TL_LEVEL)

/* The sign of a negative float inverts the order of its other bits. */
#define KEYS(T, S)                                                                     \
    static inline T T##_of_float(T b, T top, T inf) {                                  \
        T down = (T)((S)b >> (8 * sizeof(T) - 1));                                     \
        T key = (T)(b ^ (down | top));                                                 \
        key = b == top ? top : key;                                                    \
        return (T)(b & (T)~top) > inf ? (T) ~(T)0 : key;                               \
    }                                                                                  \
    static void T##_keys(const SortForm *f, const char *x, int64_t step, int64_t n,    \
                         void *to) {                                                   \
        T *key = to, top = (T)f->top, inf = (T)f->inf,                                 \
          flip = (T)(f->descending ? ~(T)0 : 0);                                       \
        T sign = f->is_signed ? top : 0;                                               \
        if (step == (int64_t)sizeof(T))                                                \
            memcpy(key, x, (size_t)n * sizeof(T));                                     \
        else                                                                           \
            for (int64_t i = 0; i < n; i++)                                            \
                memcpy(key + i, x + i * step, sizeof(T));                              \
        if (f->is_float)                                                               \
            for (int64_t i = 0; i < n; i++)                                            \
                key[i] = (T)(T##_of_float(key[i], top, inf) ^ flip);                   \
        else                                                                           \
            for (int64_t i = 0; i < n; i++)                                            \
                key[i] = (T)(key[i] ^ sign ^ flip);                                    \
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

#define COLUMN(T)                                                                      \
    static bool T##_spread(const SortForm *f, const char *x, int64_t step, int64_t n,  \
                           void *key) {                                                \
        enum { L = SORT_COLUMN / sizeof(T), PART = 256 };                              \
        T *to = key, part[PART], top = (T)f->top, inf = (T)f->inf, bad = 0;            \
        for (int64_t i = 0; i < n; i += PART) {                                        \
            int64_t m = n - i < PART ? n - i : PART;                                   \
            T##_keys(f, x + i * step, step, m, part);                                  \
            for (int64_t k = 0; k < m; k++)                                            \
                to[(i + k) * L] = part[k];                                             \
            if (!f->is_float) continue;                                                \
            if (step == (int64_t)sizeof(T))                                            \
                memcpy(part, x + i * step, (size_t)m * sizeof(T));                     \
            else                                                                       \
                for (int64_t k = 0; k < m; k++)                                        \
                    memcpy(part + k, x + (i + k) * step, sizeof(T));                   \
            for (int64_t k = 0; k < m; k++)                                            \
                bad |= (T)(((T)(part[k] & (T)~top) > inf) | (part[k] == top));         \
        }                                                                              \
        return !bad;                                                                   \
    }                                                                                  \
    static void T##_collect(const SortForm *f, const void *key, int64_t n, char *r,    \
                            int64_t step) {                                            \
        enum { L = SORT_COLUMN / sizeof(T) };                                          \
        const T *from = key;                                                           \
        T top = (T)f->top, flip = (T)(f->descending ? ~(T)0 : 0),                      \
          sign = f->is_signed ? top : 0, floats = (T)(f->is_float ? ~(T)0 : 0);        \
        for (int64_t i = 0; i < n; i++) {                                              \
            T b = (T)(from[i * L] ^ flip);                                             \
            T as_float = (T)(b & top ? b ^ top : ~b), as_int = (T)(b ^ sign);          \
            b = (T)((as_float & floats) | (as_int & (T)~floats));                      \
            memcpy(r + i * step, &b, sizeof b);                                        \
        }                                                                              \
    }                                                                                  \
    static void T##_search(const void *key, int64_t n, const void *sought, int64_t m,  \
                           bool right, int64_t *at) {                                  \
        enum { TOGETHER = 32 };                                                        \
        const T *a = key, *v = sought;                                                 \
        for (int64_t i = 0; i < m; i += TOGETHER) {                                    \
            int64_t k = m - i < TOGETHER ? m - i : TOGETHER, base[TOGETHER] = {0};     \
            for (int64_t left = n, half; left > 1; left -= half) {                     \
                half = left / 2;                                                       \
                for (int64_t q = 0; q < k; q++) {                                      \
                    T here = a[base[q] + half - 1];                                    \
                    bool on = right ? here <= v[i + q] : here < v[i + q];              \
                    base[q] += on ? half : 0;                                          \
                }                                                                      \
            }                                                                          \
            for (int64_t q = 0; q < k && n > 0; q++) {                                 \
                T here = a[base[q]];                                                   \
                base[q] += right ? here <= v[i + q] : here < v[i + q];                 \
            }                                                                          \
            memcpy(at + i, base, (size_t)k * sizeof *base);                            \
        }                                                                              \
    }
COLUMN(uint8_t)
COLUMN(uint16_t)
COLUMN(uint32_t)
COLUMN(uint64_t)

#define LOOPS_OF(T)                                                                    \
    {                                                                                  \
        T##_keys, T##_any_below, T##_network, T##_line, T##_spread, T##_collect,       \
            T##_search                                                                 \
    }
const SortLoops LEVEL(sort_loops)[4] = {LOOPS_OF(uint8_t), LOOPS_OF(uint16_t),
                                        LOOPS_OF(uint32_t), LOOPS_OF(uint64_t)};
