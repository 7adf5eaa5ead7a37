/* Sorting of adjacent keys of 32 and 64 bits by AVX-512: partitions by vectors, after
 * Bramas (2017), until a part fits into registers; there, as in vqsort (Wassenberg and
 * others, 2022), a network sorts columns that others merge. */
#include "op/vector.h"
#include "ops/sort/keys.h"

#if TL_LEVEL == 2

typedef __m512i V;

/* ---- vectors of keys ---- */
#define LANES(T) ((int)(sizeof(V) / sizeof(T)))
#define INLINE   static inline __attribute__((always_inline))
#define EACH     _Pragma("GCC unroll 16")

#define NUMBERS_epi64 0, 1, 2, 3, 4, 5, 6, 7
#define NUMBERS_epi32 NUMBERS_epi64, 8, 9, 10, 11, 12, 13, 14, 15
#define VECTOR(T, S, M, E, U)                                                          \
    typedef T T##Lanes __attribute__((vector_size(sizeof(V))));                        \
    INLINE V T##_all(T x) {                                                            \
        return _mm512_set1_##E((S)x);                                                  \
    }                                                                                  \
    /* The first n lanes, of any n. */                                                 \
    INLINE M T##_first(int64_t n) {                                                    \
        return (M)(n <= 0 ? 0 : (UINT64_C(1) << (n < LANES(T) ? n : LANES(T))) - 1);   \
    }                                                                                  \
    /* Lanes whose number has the bit d. */                                            \
    INLINE M T##_upper(int d) {                                                        \
        return (M)(d == 1 ? 0xaaaa : d == 2 ? 0xcccc : d == 4 ? 0xf0f0 : 0xff00);      \
    }                                                                                  \
    /* Lane l has the one of lane l ^ d. */                                            \
    INLINE V T##_across(V v, int d) {                                                  \
        return _mm512_permutexvar_##E((V)(((T##Lanes){NUMBERS_##E}) ^ (T)d), v);       \
    }                                                                                  \
    /* The lower (0) or upper (1) halves of a and b, their lanes in turn. */           \
    INLINE V T##_zipped(V a, V b, int half) {                                          \
        T##Lanes at = (((T##Lanes){NUMBERS_##E}) >> 1) + (T)(half * LANES(T) / 2);     \
        return _mm512_permutex2var_##E(                                                \
            a, (V)(at | (((T##Lanes){NUMBERS_##E}) & 1) * LANES(T)), b);               \
    }                                                                                  \
    /* The greater ones in the lanes `greater`, the smaller ones elsewhere. */         \
    INLINE V T##_ordered(V a, V b, M greater) {                                        \
        return _mm512_mask_max_##U(_mm512_min_##U(a, b), greater, a, b);               \
    }                                                                                  \
    INLINE void T##_exchange(V *a, V *b) {                                             \
        V least = _mm512_min_##U(*a, *b);                                              \
        *b = _mm512_max_##U(*a, *b);                                                   \
        *a = least;                                                                    \
    }
VECTOR(uint32_t, int32_t, __mmask16, epi32, epu32)
VECTOR(uint64_t, int64_t, __mmask8, epi64, epu64)

/* ---- networks ---- */
/* Bitonic: rows of vectors sort each column, then columns that are neighbours are
 * merged, two, four and so on, until the order is by column, then by row. */
#define NETWORK(T)                                                                     \
    INLINE void T##_rows_apart(V *v, const int rows, const int d) {                    \
        if (d >= rows) return;                                                         \
        EACH for (int r = 0; r < rows; r++) if ((r & d) == 0)                          \
            T##_exchange(v + r, v + (r | d));                                          \
    }                                                                                  \
    INLINE void T##_rows_mirrored(V *v, const int rows, const int group) {             \
        if (group > rows) return;                                                      \
        EACH for (int r = 0; r < rows; r++) if ((r & group / 2) == 0)                  \
            T##_exchange(v + r, v + (r ^ (group - 1)));                                \
    }                                                                                  \
    INLINE void T##_sort_columns(V *v, const int rows) {                               \
        T##_rows_mirrored(v, rows, 2);                                                 \
        T##_rows_mirrored(v, rows, 4);                                                 \
        if (rows >= 4) T##_rows_apart(v, rows, 1);                                     \
        T##_rows_mirrored(v, rows, 8);                                                 \
        if (rows >= 8) T##_rows_apart(v, rows, 2), T##_rows_apart(v, rows, 1);         \
        T##_rows_mirrored(v, rows, 16);                                                \
        if (rows < 16) return;                                                         \
        T##_rows_apart(v, rows, 4);                                                    \
        T##_rows_apart(v, rows, 2);                                                    \
        T##_rows_apart(v, rows, 1);                                                    \
    }                                                                                  \
    INLINE void T##_columns_apart(V *v, const int rows, const int d) {                 \
        EACH for (int r = 0; r < rows; r++) v[r] =                                     \
            T##_ordered(v[r], T##_across(v[r], d), T##_upper(d));                      \
    }                                                                                  \
    INLINE void T##_merge_columns(V *v, const int rows, const int group) {             \
        if (group > LANES(T)) return;                                                  \
        EACH for (int r = 0; r < (rows + 1) / 2; r++) {                                \
            V a = v[r], b = v[rows - 1 - r];                                           \
            v[r] = T##_ordered(a, T##_across(b, group - 1), T##_upper(group / 2));     \
            v[rows - 1 - r] =                                                          \
                T##_ordered(b, T##_across(a, group - 1), T##_upper(group / 2));        \
        }                                                                              \
        if (group >= 16) T##_columns_apart(v, rows, 4);                                \
        if (group >= 8) T##_columns_apart(v, rows, 2);                                 \
        if (group >= 4) T##_columns_apart(v, rows, 1);                                 \
        T##_rows_apart(v, rows, 8);                                                    \
        T##_rows_apart(v, rows, 4);                                                    \
        T##_rows_apart(v, rows, 2);                                                    \
        T##_rows_apart(v, rows, 1);                                                    \
    }                                                                                  \
    /* From the order by column to that by row: each turn makes the highest bit of the \
     * row the lowest of the place. */                                                 \
    INLINE void T##_turn_columns(V *v, const int rows) {                               \
        V w[ROWS];                                                                     \
        EACH for (int r = 0; r < rows; r++) w[r] = v[r];                               \
        EACH for (int r = 0; r < rows; r++) v[r] =                                     \
            T##_zipped(w[r / 2], w[r / 2 + rows / 2], r % 2);                          \
    }                                                                                  \
    INLINE void T##_sort_rows(V *v, const int rows) {                                  \
        T##_sort_columns(v, rows);                                                     \
        T##_merge_columns(v, rows, 2);                                                 \
        T##_merge_columns(v, rows, 4);                                                 \
        T##_merge_columns(v, rows, 8);                                                 \
        T##_merge_columns(v, rows, 16);                                                \
        if (rows >= 2) T##_turn_columns(v, rows);                                      \
        if (rows >= 4) T##_turn_columns(v, rows);                                      \
        if (rows >= 8) T##_turn_columns(v, rows);                                      \
        if (rows >= 16) T##_turn_columns(v, rows);                                     \
    }
enum { ROWS = 16 };
NETWORK(uint32_t)
NETWORK(uint64_t)

/* ---- elements and keys ---- */
/* For floats, all bits of a negative one are inverted, of others the sign: sign | those
 * that a sign inverts. */
#define FORM(T, M, E, S, CLASS)                                                        \
    typedef struct T##Form {                                                           \
        V flip, sign, below; /* descending; the sign's bit, or 0; floats: the rest */  \
        bool is_float;                                                                 \
    } T##Form;                                                                         \
    static T##Form T##_form(const SortForm *f) {                                       \
        T top = (T)f->top;                                                             \
        return (T##Form){T##_all(f->descending ? (T) ~(T)0 : 0),                       \
                         T##_all(f->is_float || f->is_signed ? top : 0),               \
                         T##_all(f->is_float ? (T)~top : 0), f->is_float};             \
    }                                                                                  \
    INLINE V T##_negative(V v) {                                                       \
        return _mm512_srai_##E(v, 8 * sizeof(T) - 1);                                  \
    }                                                                                  \
    INLINE V T##_to_key(const T##Form *f, V v) {                                       \
        V change = (T##_negative(v) & f->below) | f->sign;                             \
        return v ^ change ^ f->flip;                                                   \
    }                                                                                  \
    INLINE V T##_to_element(const T##Form *f, V key) {                                 \
        V v = key ^ f->flip;                                                           \
        return v ^ ((~T##_negative(v) & f->below) | f->sign);                          \
    }                                                                                  \
    /* Floats that are equal to others with other bits: nans, and -0. */               \
    INLINE M T##_untold(const T##Form *f, V v) {                                       \
        enum { QUIET_NAN = 1, NEGATIVE_ZERO = 4, SIGNALING_NAN = 128 };                \
        return f->is_float ? _mm512_fpclass_##CLASS##_mask(                            \
                                 (S)v, QUIET_NAN | NEGATIVE_ZERO | SIGNALING_NAN)      \
                           : (M)0;                                                     \
    }                                                                                  \
    /* Keys of adjacent elements; false if any is untold. */                           \
    static bool T##_make_keys(const T##Form *f, const T *x, int64_t n, T *key) {       \
        M untold = 0;                                                                  \
        for (int64_t i = 0; i < n; i += LANES(T)) {                                    \
            M some = T##_first(n - i);                                                 \
            V v = _mm512_maskz_loadu_##E(some, x + i);                                 \
            untold = (M)(untold | T##_untold(f, v));                                   \
            _mm512_mask_storeu_##E(key + i, some, T##_to_key(f, v));                   \
        }                                                                              \
        return untold == 0;                                                            \
    }
FORM(uint32_t, __mmask16, epi32, __m512, ps)
FORM(uint64_t, __mmask8, epi64, __m512d, pd)

/* ---- what fits into registers ---- */
/* Sorts up to rows x LANES keys, or elements if not `keys`, to r as elements; false if
 * any is untold. */
#define SMALL(T, E)                                                                    \
    INLINE bool T##_in_rows(const T##Form *f, const T *x, int64_t n, T *to, bool keys, \
                            const int rows) {                                          \
        V v[ROWS];                                                                     \
        bool told = true;                                                              \
        EACH for (int r = 0; r < rows; r++) {                                          \
            v[r] = _mm512_mask_loadu_##E(                                              \
                T##_all((T) ~(T)0), T##_first(n - r * LANES(T)), x + r * LANES(T));    \
        }                                                                              \
        if (!keys) {                                                                   \
            EACH for (int r = 0; r < rows; r++) {                                      \
                told &= (T##_untold(f, v[r]) & T##_first(n - r * LANES(T))) == 0;      \
                v[r] = _mm512_mask_mov_##E(T##_all((T) ~(T)0),                         \
                                           T##_first(n - r * LANES(T)),                \
                                           T##_to_key(f, v[r]));                       \
            }                                                                          \
        }                                                                              \
        T##_sort_rows(v, rows);                                                        \
        EACH for (int r = 0; r < rows; r++) _mm512_mask_storeu_##E(                    \
            to + r * LANES(T), T##_first(n - r * LANES(T)), T##_to_element(f, v[r]));  \
        return told;                                                                   \
    }                                                                                  \
    static bool T##_small(const T##Form *f, const T *x, int64_t n, T *to, bool keys) { \
        return n <= LANES(T)       ? T##_in_rows(f, x, n, to, keys, 1)                 \
               : n <= 2 * LANES(T) ? T##_in_rows(f, x, n, to, keys, 2)                 \
               : n <= 4 * LANES(T) ? T##_in_rows(f, x, n, to, keys, 4)                 \
               : n <= 8 * LANES(T) ? T##_in_rows(f, x, n, to, keys, 8)                 \
                                   : T##_in_rows(f, x, n, to, keys, ROWS);             \
    }
SMALL(uint32_t, epi32)
SMALL(uint64_t, epi64)

/* ---- parts ---- */
/* The keys below the pivot from the start of `to` on, the others up to its end; how
 * many are below. A vector is stored whole at the start: what is too much of it falls
 * where the keys that are left will go. */
#define PARTS(T, M, E, U)                                                              \
    static int64_t T##_split(const T *key, int64_t n, T pivot, T *to) {                \
        int64_t low = 0, high = n, i = 0;                                              \
        V limit = T##_all(pivot);                                                      \
        for (; i + LANES(T) <= n; i += LANES(T)) {                                     \
            V v = _mm512_loadu_si512(key + i);                                         \
            M below = _mm512_cmplt_##U##_mask(v, limit);                               \
            int less = __builtin_popcount(below), more = LANES(T) - less;              \
            _mm512_storeu_si512(to + low, _mm512_maskz_compress_##E(below, v));        \
            low += less;                                                               \
            high -= more;                                                              \
            _mm512_mask_storeu_##E(to + high, T##_first(more),                         \
                                   _mm512_maskz_compress_##E((M)~below, v));           \
        }                                                                              \
        V v = _mm512_maskz_loadu_##E(T##_first(n - i), key + i);                       \
        M below = _mm512_mask_cmplt_##U##_mask(T##_first(n - i), v, limit);            \
        int less = __builtin_popcount(below);                                          \
        _mm512_mask_storeu_##E(to + low, T##_first(less),                              \
                               _mm512_maskz_compress_##E(below, v));                   \
        low += less;                                                                   \
        _mm512_mask_storeu_##E(to + low, T##_first(high - low),                        \
                               _mm512_maskz_compress_##E((M)~below, v));               \
        return low;                                                                    \
    }                                                                                  \
    /* About the median. */                                                            \
    static T T##_sampled(const T##Form *as_keys, const T *key, int64_t n) {            \
        enum { FEW = 16, MANY = 64, LONG = 4096 };                                     \
        T some[MANY];                                                                  \
        int64_t m = n < LONG ? FEW : MANY, step = n / m;                               \
        for (int64_t i = 0; i < m; i++)                                                \
            some[i] = key[i * step + step / 2];                                        \
        T##_small(as_keys, some, m, some, true);                                       \
        return some[m / 2];                                                            \
    }                                                                                  \
    /* What cuts the range of the keys in halves. */                                   \
    static T T##_middle(const T *key, int64_t n) {                                     \
        T least = key[0], most = key[0];                                               \
        for (int64_t i = 1; i < n; i++) {                                              \
            least = key[i] < least ? key[i] : least;                                   \
            most = key[i] > most ? key[i] : most;                                      \
        }                                                                              \
        return (T)(least + (T)(most - least) / 2 + (least < most));                    \
    }                                                                                  \
    static void T##_fill(const T##Form *f, T key, T *to, int64_t n) {                  \
        V v = T##_to_element(f, T##_all(key));                                         \
        for (int64_t i = 0; i < n; i += LANES(T))                                      \
            _mm512_mask_storeu_##E(to + i, T##_first(n - i), v);                       \
    }

PARTS(uint32_t, __mmask16, epi32, epu32)
PARTS(uint64_t, __mmask8, epi64, epu64)

/* Sorts n keys to r, as elements; room: as many. A key of a sample halves most parts;
 * once `bad` of them around a key were lopsided, their ranges are halved instead, which
 * ends after as many times as keys have bits. */
typedef struct QuickForms {
    const void *form, *as_keys;
} QuickForms;

#define QUICK(T)                                                                       \
    static void T##_part(const QuickForms *f, T *key, T *room, int64_t n, T *r,        \
                         int bad) {                                                    \
        while (n > ROWS * LANES(T)) {                                                  \
            T pivot = bad > 0 ? T##_sampled(f->as_keys, key, n) : T##_middle(key, n);  \
            int64_t low = T##_split(key, n, pivot, room);                              \
            bool none = low == 0, all = pivot == (T) ~(T)0;                            \
            T *swap = key;                                                             \
            if (none) low = all ? n : T##_split(key, n, (T)(pivot + 1), room);         \
            bad -= low < n / 8 || (!none && n - low < n / 8);                          \
            if (none)                                                                  \
                T##_fill(f->form, pivot, r, low);                                      \
            else                                                                       \
                T##_part(f, room, key, low, r, bad);                                   \
            key = room + low;                                                          \
            room = swap + low;                                                         \
            r += low;                                                                  \
            n -= low;                                                                  \
        }                                                                              \
        T##_small(f->form, key, n, r, true);                                           \
    }                                                                                  \
    static void T##_keys_part(const SortForm *form, void *key, void *room, int64_t n,  \
                              void *r, int bad) {                                      \
        static const SortForm keys = {.item = sizeof(T)};                              \
        T##Form f = T##_form(form), as_keys = T##_form(&keys);                         \
        T##_part(&(QuickForms){&f, &as_keys}, key, room, n, r, bad);                   \
    }                                                                                  \
    static bool T##_line(const SortForm *form, const void *x, int64_t n, void *room,   \
                         void *r, int bad) {                                           \
        T##Form f = T##_form(form);                                                    \
        T *key = room;                                                                 \
        if (n <= ROWS * LANES(T)) return T##_small(&f, x, n, r, false);                \
        if (!T##_make_keys(&f, x, n, key)) return false;                               \
        T##_keys_part(form, key, key + n, n, r, bad);                                  \
        return true;                                                                   \
    }                                                                                  \
    static int64_t T##_halve(const void *key, int64_t n, void *to) {                   \
        static const SortForm keys = {.item = sizeof(T)};                              \
        T##Form f = T##_form(&keys);                                                   \
        return T##_split(key, n, T##_sampled(&f, key, n), to);                         \
    }
QUICK(uint32_t)
QUICK(uint64_t)

const SortQuick LEVEL(sort_quick)[2] = {
    {uint32_t_line, uint32_t_halve, uint32_t_keys_part},
    {uint64_t_line, uint64_t_halve, uint64_t_keys_part}};
#else
const SortQuick LEVEL(sort_quick)[2] = {{NULL, NULL, NULL}, {NULL, NULL, NULL}};
#endif
