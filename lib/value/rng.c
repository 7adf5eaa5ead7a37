/* Philox4x32-10 streams, as rng.h defines them: a draw is a function of a state and a
 * position, so that any part of it can be made by itself. Blocks are made LANES at a
 * time, which lets the compiler keep several in one register. */
#include "value/rng.h"

#include "value/value_impl.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 10, LANES = 8 };

Rng rng_seed(uint64_t seed) {
    return (Rng){.seed = seed};
}
Rng rng_next(const Rng *r) {
    Rng next = *r;
    next.position++;
    return next;
}

/* The rounds, on `lanes` blocks at once; c[word][lane] is the counter before and the
 * block after. */
static inline void philox_rounds(uint32_t (*c)[LANES], int lanes, uint32_t k0,
                                 uint32_t k1) {
    for (int round = 0; round < ROUNDS; round++) {
        for (int l = 0; l < lanes; l++) {
            uint64_t p0 = UINT64_C(0xD2511F53) * c[0][l];
            uint64_t p1 = UINT64_C(0xCD9E8D57) * c[2][l];
            uint32_t c1 = c[1][l], c3 = c[3][l];
            c[0][l] = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
            c[1][l] = (uint32_t)p1;
            c[2][l] = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
            c[3][l] = (uint32_t)p0;
        }
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
}

void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c[4][LANES];
    for (int w = 0; w < 4; w++)
        c[w][0] = counter[w];
    philox_rounds(c, 1, key[0], key[1]);
    for (int w = 0; w < 4; w++)
        out[w] = c[w][0];
}

/* The half of the counter that tells one draw from another. */
static uint64_t draw_number(const Rng *r) {
    return r->stream ^ (r->position * UINT64_C(0x9E3779B97F4A7C15));
}

/* The four words of each of the blocks number block, block + step, ... of a draw. */
static void draw_blocks(const Rng *r, uint64_t block, uint64_t step,
                        uint32_t out[LANES * 4]) {
    uint64_t draw = draw_number(r);
    uint32_t c[4][LANES];
    for (int l = 0; l < LANES; l++) {
        uint64_t number = block + (uint64_t)l * step;
        c[0][l] = (uint32_t)number;
        c[1][l] = (uint32_t)(number >> 32);
        c[2][l] = (uint32_t)draw;
        c[3][l] = (uint32_t)(draw >> 32);
    }
    philox_rounds(c, LANES, (uint32_t)r->seed, (uint32_t)(r->seed >> 32));
    for (int l = 0; l < LANES; l++)
        for (int w = 0; w < 4; w++)
            out[l * 4 + w] = c[w][l];
}

static uint64_t word64(const uint32_t *w) {
    return w[0] | (uint64_t)w[1] << 32;
}

static void draw_words64(const Rng *r, uint64_t block, uint64_t out[LANES * 2]) {
    uint32_t w[LANES * 4];
    draw_blocks(r, block, 1, w);
    for (int i = 0; i < LANES * 2; i++)
        out[i] = word64(w + 2 * i);
}

void rng_words32(const Rng *r, uint64_t first, size_t n, uint32_t *out) {
    uint32_t w[LANES * 4];
    while (n > 0) {
        size_t skip = first % 4, m = LANES * 4 - skip;
        if (m > n) m = n;
        draw_blocks(r, first / 4, 1, w);
        memcpy(out, w + skip, m * sizeof *w);
        out += m;
        first += m;
        n -= m;
    }
}

void rng_words64(const Rng *r, uint64_t first, size_t n, uint64_t *out) {
    uint64_t w[LANES * 2];
    while (n > 0) {
        size_t skip = first % 2, m = LANES * 2 - skip;
        if (m > n) m = n;
        draw_words64(r, first / 2, w);
        memcpy(out, w + skip, m * sizeof *w);
        out += m;
        first += m;
        n -= m;
    }
}

enum { CHUNK = 256 };

static void uniform32(const Rng *r, DType d, uint64_t first, size_t n, char *out) {
    uint32_t w[CHUNK];
    float f[CHUNK];
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < CHUNK ? n - i : CHUNK;
        rng_words32(r, first + i, m, w);
        for (size_t k = 0; k < m; k++)
            f[k] = d == DT_FLOAT32 ? (float)(w[k] >> 8) * 0x1p-24F
                                   : (float)(w[k] >> 21) * 0x1p-11F;
        size_t size = dtype_size(d);
        element_cast(d, out + i * size, DT_FLOAT32, f, m, (ptrdiff_t)size, sizeof *f);
    }
}

void rng_uniform(const Rng *r, DType d, uint64_t first, size_t n, void *out) {
    uint64_t w[CHUNK];
    double *v = out;
    if (d == DT_FLOAT32 || d == DT_FLOAT16) {
        uniform32(r, d, first, n, out);
        return;
    }
    if (d != DT_FLOAT64) bug("uniform numbers of dtype %s", dtype_name(d));
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < CHUNK ? n - i : CHUNK;
        rng_words64(r, first + i, m, w);
        for (size_t k = 0; k < m; k++)
            v[i + k] = (double)(w[k] >> 11) * 0x1p-53;
    }
}

/* The two elements that the words of one block make. */
static void box_muller(const uint64_t w[2], double z[2]) {
    const double two_pi = 6.283185307179586;
    double u = (double)((w[0] >> 11) + 1) * 0x1p-53, v = (double)(w[1] >> 11) * 0x1p-53;
    double radius = sqrt(-2 * log(u)), angle = two_pi * v;
    z[0] = radius * cos(angle);
    z[1] = radius * sin(angle);
}

void rng_normal(const Rng *r, uint64_t first, size_t n, double *out) {
    uint64_t w[LANES * 2];
    double z[LANES * 2];
    while (n > 0) {
        size_t skip = first % 2, m = LANES * 2 - skip;
        if (m > n) m = n;
        draw_words64(r, first / 2, w);
        for (size_t i = 0; i < skip + m; i += 2)
            box_muller(w + i, z + i);
        memcpy(out, z + skip, m * sizeof *z);
        out += m;
        first += m;
        n -= m;
    }
}

static uint64_t multiply_high(uint64_t a, uint64_t b, uint64_t *low) {
    __extension__ typedef unsigned __int128 Wide;
    Wide p = (Wide)a * b;
    *low = (uint64_t)p;
    return (uint64_t)(p >> 64);
}

/* Lemire's bound: is one of the block's two words good for a number below range? */
static bool block_below(const uint32_t w[4], uint64_t range, uint64_t reject,
                        uint64_t *v) {
    for (int k = 0; k < 4; k += 2) {
        uint64_t low;
        *v = multiply_high(word64(w + k), range, &low);
        if (low >= reject) return true;
    }
    return false;
}

/* Element i below range, from its block number t on. */
static uint64_t below(const Rng *r, uint64_t i, uint64_t t, uint64_t range) {
    uint64_t v, draw = draw_number(r), reject = (0 - range) % range;
    uint32_t key[2] = {(uint32_t)r->seed, (uint32_t)(r->seed >> 32)}, w[4];
    do {
        uint64_t block = (i << 16) + t++;
        uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)draw,
                         (uint32_t)(draw >> 32)};
        philox(c, key, w);
    } while (!block_below(w, range, reject, &v));
    return v;
}

void rng_integers(const Rng *r, int64_t low, uint64_t range, uint64_t first, size_t n,
                  int64_t *out) {
    uint64_t v, reject = (0 - range) % range;
    uint32_t w[LANES * 4];
    for (size_t i = 0; i < n; i++) {
        size_t lane = i % LANES;
        if (lane == 0) draw_blocks(r, (first + i) << 16, 1U << 16, w);
        if (!block_below(w + lane * 4, range, reject, &v))
            v = below(r, first + i, 1, range);
        out[i] = (int64_t)((uint64_t)low + v);
    }
}

void rng_permutation(const Rng *r, int64_t n, int64_t *out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        uint64_t j = below(r, (uint64_t)(n - 1 - i), 0, (uint64_t)i + 1);
        int64_t t = out[i];
        out[i] = out[j];
        out[j] = t;
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
