/* Keys of elements, and whether any is below a limit. */
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

const SortLoops LEVEL(sort_loops)[4] = {{uint8_t_keys, uint8_t_any_below},
                                        {uint16_t_keys, uint16_t_any_below},
                                        {uint32_t_keys, uint32_t_any_below},
                                        {uint64_t_keys, uint64_t_any_below}};
