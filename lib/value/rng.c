/* Philox4x32-10 streams, as rng.h defines them: a draw is a function of a state and a
 * position, so any part of it can be computed separately. Many blocks are computed at a
 * time (rng.simd.c). */
#include "value/rng.h"

#include "value/value_impl.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 10, MANY = 128 /* blocks */ };

Rng rng_seed(uint64_t seed) {
    return (Rng){.seed = seed};
}
Rng rng_next(const Rng *r) {
    Rng next = *r;
    next.position++;
    return next;
}

void rng_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c[4], k0 = key[0], k1 = key[1];
    memcpy(c, counter, sizeof c);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = UINT64_C(0xD2511F53) * c[0], p1 = UINT64_C(0xCD9E8D57) * c[2];
        c[0] = (uint32_t)(p1 >> 32) ^ c[1] ^ k0;
        c[1] = (uint32_t)p1;
        c[2] = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
        c[3] = (uint32_t)p0;
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    memcpy(out, c, sizeof c);
}

/* The half of the counter that distinguishes draws. */
static uint64_t draw_number(const Rng *r) {
    return r->stream ^ (r->position * UINT64_C(0x9E3779B97F4A7C15));
}

static const RngLoops *loops(void) {
#if defined(__x86_64__)
    int level = value_simd_level();
    if (level == 2) return &rng_loops_2;
    if (level == 1) return &rng_loops_1;
#endif
    return &rng_loops_0;
}

void rng_blocks(const Rng *r, size_t n, const uint64_t *block, uint64_t *out) {
    loops()->blocks(r->seed, draw_number(r), n, block, out);
}

static BlockRun block_run(const Rng *r, uint64_t first, uint64_t step, size_t n) {
    return (BlockRun){r->seed, draw_number(r), first, step, n};
}

static void draw_blocks(const Rng *r, uint64_t first, uint64_t step, size_t n,
                        uint64_t *out) {
    BlockRun q = block_run(r, first, step, n);
    loops()->run(&q, out);
}

void rng_normal_pairs(size_t n, const uint64_t *word, double *out) {
    loops()->normals(true, n, word, out);
}

void rng_words32(const Rng *r, uint64_t first, size_t n, uint32_t *out) {
    uint64_t w[MANY * 2];
    while (n > 0) {
        size_t skip = first % 4, m = MANY * 4 - skip;
        if (m > n) m = n;
        draw_blocks(r, first / 4, 1, (skip + m + 3) / 4, w);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        memcpy(out, (const char *)w + skip * sizeof *out, m * sizeof *out);
#else
        for (size_t i = 0, k = skip; i < m; i++, k++)
            out[i] = (uint32_t)(w[k / 2] >> 32 * (k % 2));
#endif
        out += m;
        first += m;
        n -= m;
    }
}

/* The words from `first` on, at most n of them and some before: sets *skip to the
 * number of these and returns that of the others. */
static size_t words_around(const Rng *r, uint64_t first, size_t n, size_t *skip,
                           uint64_t w[MANY * 2]) {
    *skip = first % 2;
    if (n > MANY * 2 - *skip) n = MANY * 2 - *skip;
    draw_blocks(r, first / 2, 1, (*skip + n + 1) / 2, w);
    return n;
}

void rng_words64(const Rng *r, uint64_t first, size_t n, uint64_t *out) {
    uint64_t w[MANY * 2];
    for (size_t i = 0, m, skip; i < n; i += m) {
        m = words_around(r, first + i, n - i, &skip, w);
        memcpy(out + i, w + skip, m * sizeof *w);
    }
}

enum { CHUNK = 256 };

/* How leading bits of a word become a number: (bits + offset) / 2^nbits. */
typedef struct UnitScale {
    int nbits;
    double offset;
} UnitScale;

static void draw_unit32(const Rng *r, DType d, UnitScale u, uint64_t first, size_t n,
                        char *out) {
    uint32_t w[CHUNK];
    float f[CHUNK], scale = (float)ldexp(1, -u.nbits), offset = (float)u.offset;
    size_t size = dtype_size(d);
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < CHUNK ? n - i : CHUNK;
        rng_words32(r, first + i, m, w);
        for (size_t k = 0; k < m; k++)
            f[k] = ((float)(int32_t)(w[k] >> (32 - u.nbits)) + offset) * scale;
        tensor_cast_elements(d, out + i * size, DT_FLOAT32, f, m, (ptrdiff_t)size,
                             sizeof *f);
    }
}

static void draw_unit64(const Rng *r, bool open, uint64_t first, size_t n,
                        double *out) {
    uint64_t w[MANY * 2];
    for (size_t i = 0, m, skip; i < n; i += m) {
        m = words_around(r, first + i, n - i, &skip, w);
        loops()->units(open, m, w + skip, out + i);
    }
}

/* By the significant bits of the dtype; for `open` one less, to leave room for the
 * half. */
static void draw_units(const Rng *r, DType d, bool open, uint64_t first, size_t n,
                       void *out) {
    UnitScale u = {(d == DT_FLOAT32 ? 24 : 11) - open, open ? 0.5 : 0};
    if (d == DT_FLOAT64)
        draw_unit64(r, open, first, n, out);
    else if (d == DT_FLOAT32 || d == DT_FLOAT16)
        draw_unit32(r, d, u, first, n, out);
    else
        bug("uniform numbers of dtype %s", dtype_name(d));
}

void rng_uniform(const Rng *r, DType d, uint64_t first, size_t n, void *out) {
    draw_units(r, d, false, first, n, out);
}

void rng_uniform_open(const Rng *r, DType d, uint64_t first, size_t n, void *out) {
    draw_units(r, d, true, first, n, out);
}

void rng_normal(const Rng *r, uint64_t first, size_t n, double *out) {
    uint64_t w[MANY * 2];
    double z[MANY * 2];
    for (size_t i = 0, m, skip; i < n; i += m) {
        m = words_around(r, first + i, n - i, &skip, w);
        loops()->normals(false, (skip + m + 1) / 2, w, z);
        memcpy(out + i, z + skip, m * sizeof *z);
    }
}

static uint64_t multiply_high(uint64_t a, uint64_t b, uint64_t *low) {
    __extension__ typedef unsigned __int128 Wide;
    Wide p = (Wide)a * b;
    *low = (uint64_t)p;
    return (uint64_t)(p >> 64);
}

/* 2^64 mod range; range 0 is 2^64. */
static uint64_t rejection_bound(uint64_t range) {
    return range ? (0 - range) % range : 0;
}

/* Lemire's rejection: does one of the block's two words give a number below range? */
static bool block_below(const uint64_t w[2], uint64_t range, uint64_t reject,
                        uint64_t *v) {
    if (range == 0) return *v = w[0], true;
    for (int k = 0; k < 2; k++) {
        uint64_t low;
        *v = multiply_high(w[k], range, &low);
        if (low >= reject) return true;
    }
    return false;
}

void rng_block(const Rng *r, uint64_t block, uint64_t out[2]) {
    uint64_t draw = draw_number(r);
    uint32_t key[2] = {(uint32_t)r->seed, (uint32_t)(r->seed >> 32)};
    uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)draw,
                     (uint32_t)(draw >> 32)};
    rng_philox(c, key, c);
    out[0] = c[0] | (uint64_t)c[1] << 32;
    out[1] = c[2] | (uint64_t)c[3] << 32;
}

/* Element i below range, starting at its block t. */
static uint64_t draw_below(const Rng *r, uint64_t i, uint64_t t, uint64_t range) {
    uint64_t v, w[2], reject = rejection_bound(range);
    do
        rng_block(r, (i << 16) + t++, w);
    while (!block_below(w, range, reject, &v));
    return v;
}

/* The first blocks of n elements that have 2^16 each, but at most of MANY. */
static void draw_firsts(const Rng *r, uint64_t first, size_t n, uint64_t *w) {
    draw_blocks(r, first << 16, 1U << 16, n < MANY ? n : MANY, w);
}

/* Integers of up to MANY elements. */
static void draw_integers(const Rng *r, uint64_t low, uint64_t range, uint64_t first,
                          size_t n, int64_t *out) {
    uint64_t v, below, w[MANY * 2], reject = rejection_bound(range);
    BlockRun q = block_run(r, first << 16, 1U << 16, n);
    if (range && range <= UINT32_MAX &&
        loops()->integers(&q, (uint32_t)range, low, out))
        return;
    draw_firsts(r, first, n, w);
    for (size_t k = 0; k < n; k++) {
        v = multiply_high(w[2 * k], range, &below);
        /* rare, but for large ranges */
        if ((below < reject || range == 0) &&
            !block_below(w + 2 * k, range, reject, &v))
            v = draw_below(r, first + k, 1, range);
        out[k] = (int64_t)(low + v);
    }
}

void rng_integers(const Rng *r, int64_t low, uint64_t range, uint64_t first, size_t n,
                  int64_t *out) {
    for (size_t i = 0; i < n; i += MANY)
        draw_integers(r, (uint64_t)low, range, first + i, n - i < MANY ? n - i : MANY,
                      out + i);
}

/* As block_below, but divides only where the bound may matter: it is below range. */
static bool block_below_some(const uint64_t w[2], uint64_t range, uint64_t *v) {
    for (int k = 0; k < 2; k++) {
        uint64_t low;
        *v = multiply_high(w[k], range, &low);
        if (low >= range || low >= rejection_bound(range)) return true;
    }
    return false;
}

void rng_exchanges(const Rng *r, int64_t n, int64_t first, int64_t count,
                   int64_t *with) {
    uint64_t v, w[MANY * 2];
    for (int64_t k = 0; k < count; k++) {
        size_t lane = (size_t)k % MANY;
        uint64_t i = (uint64_t)(first + k), range = (uint64_t)n - i;
        if (lane == 0) draw_firsts(r, i, (size_t)(count - k), w);
        if (!block_below_some(w + lane * 2, range, &v)) v = draw_below(r, i, 1, range);
        with[k] = (int64_t)v;
    }
}

void rng_exchange(int64_t n, int64_t first, int64_t count, const int64_t *with,
                  int64_t *order) {
    enum { AHEAD = 32 };
    int64_t *at = order + (n - 1 - first);
    for (int64_t k = 0; k < count; k++, at--) {
        if (k + AHEAD < count) __builtin_prefetch(order + with[k + AHEAD], 1);
        int64_t t = *at;
        *at = order[with[k]];
        order[with[k]] = t;
    }
}

void rng_permutation(const Rng *r, int64_t n, int64_t *out) {
    enum { BLOCK = 512 };
    int64_t with[BLOCK];
    for (int64_t i = 0; i < n; i++)
        out[i] = i;
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = n - i < BLOCK ? n - i : BLOCK;
        rng_exchanges(r, n, i, m, with);
        rng_exchange(n, i, m, with, out);
    }
}

bool rng_to_tensor(Session *s, const Rng *r, Tensor *out) {
    const uint64_t state[4] = {r->seed, r->stream, r->position, 0};
    const int64_t shape[1] = {4};
    if (!tensor_new(s, DT_UINT64, 1, shape, out)) return false;
    memcpy(out->data, state, sizeof state);
    return true;
}

Rng rng_from_tensor(const Tensor *t) {
    uint64_t state[4];
    tensor_gather(t, 0, 4, state);
    return (Rng){state[0], state[1], state[2]};
}
