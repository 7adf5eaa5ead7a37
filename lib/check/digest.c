/* Digests of tensors, block by block. */
#include "base/map.h"
#include "check/digest_impl.h"
#include "check/trace.h"

#include <math.h>
#include <string.h>

/* The golden ratio's multiples modulo 1 are spread evenly and never repeat. */
static const double GOLDEN = 0.6180339887498949;

static double spread(double i) {
    return i * GOLDEN - floor(i * GOLDEN);
}

void digester_init(Digester *d, Session *s) {
    int level = session_cpu_level(s);
    d->loop = digest_sums_0;
    d->hash = digest_hash_0;
#ifdef __x86_64__
    if (level > 0) d->loop = level == 1 ? digest_sums_1 : digest_sums_2;
    if (level > 0) d->hash = level == 1 ? digest_hash_1 : digest_hash_2;
#endif
    (void)level;
    for (int i = 0; i < DIGEST_BLOCK; i++)
        d->weight[i] = spread(i) - 0.5;
}

typedef struct Sums {
    DigestSums lane;
    int64_t nans, infs;
    double mixed;
} Sums;

/* One by one: what fills no group of lanes, and blocks with numbers that aren't finite,
 * which are no part of the sums. */
static void count_each(Sums *s, const double *x, const double *weight, size_t n) {
    DigestSums *q = &s->lane;
    for (size_t i = 0; i < n; i++) {
        size_t k = i % DIGEST_LANES;
        bool ok = isfinite(x[i]);
        double v = ok ? x[i] : 0;
        s->nans += isnan(x[i]);
        s->infs += isinf(x[i]) != 0;
        q->min[k] = x[i] < q->min[k] ? x[i] : q->min[k];
        q->max[k] = x[i] > q->max[k] ? x[i] : q->max[k];
        q->sum[k] += v;
        q->square[k] += v * v;
        q->mix[k] += v * weight[i];
    }
}

static void count_block(const Digester *d, Sums *q, const double *x, size_t n,
                        uint64_t block) {
    size_t whole = n / DIGEST_LANES * DIGEST_LANES;
    if (whole && !d->loop(&q->lane, x, d->weight, whole)) whole = 0;
    count_each(q, x + whole, d->weight + whole, n - whole);
    double mix = 0;
    for (int k = 0; k < DIGEST_LANES; k++) {
        mix += q->lane.mix[k];
        q->lane.mix[k] = 0;
    }
    q->mixed += mix * (1 + spread((double)block));
}

static uint32_t capped(int64_t n) {
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static Digest sum_up(const Sums *q, int64_t numbers) {
    Digest r = {.min = (double)INFINITY, .max = -(double)INFINITY};
    double sum = 0, square = 0, finite = (double)(numbers - q->nans - q->infs);
    for (int k = 0; k < DIGEST_LANES; k++) {
        r.min = q->lane.min[k] < r.min ? q->lane.min[k] : r.min;
        r.max = q->lane.max[k] > r.max ? q->lane.max[k] : r.max;
        sum += q->lane.sum[k];
        square += q->lane.square[k];
    }
    if (numbers == q->nans) r.min = r.max = (double)NAN;
    r.mean = finite > 0 ? sum / finite : (double)NAN;
    r.rms = finite > 0 ? sqrt(square / finite) : (double)NAN;
    r.mix = finite > 0 ? q->mixed / finite : (double)NAN;
    r.nans = capped(q->nans);
    r.infs = capped(q->infs);
    return r;
}

typedef struct Pass {
    const Digester *d;
    Sums q;
    DigestHash hash;
    DType dtype;
    size_t parts, at_once; /* numbers of an element; elements of a block */
    uint64_t block;
} Pass;

/* What fills no stripe counts as one that ends in zeros; digest_end adds how many bytes
 * there are. */
static void hash_block(Pass *s, const void *p, size_t bytes) {
    size_t stripes = bytes / DIGEST_STRIPE, rest = bytes % DIGEST_STRIPE;
    if (stripes) s->d->hash(&s->hash, p, stripes);
    if (!rest) return;
    char last[DIGEST_STRIPE] = {0};
    memcpy(last, (const char *)p + bytes - rest, rest);
    s->d->hash(&s->hash, last, 1);
}

static inline uint64_t fold(uint64_t h, uint64_t v) {
    h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 32;
}

static uint64_t hash_end(const DigestHash *h, uint64_t bytes) {
    uint64_t a = bytes, b = 0;
    for (int k = 0; k < DIGEST_LANES; k++) {
        a = fold(a, h->a[k]);
        b = fold(b, h->b[k]);
    }
    return fold(a, b);
}

/* At most a block of elements, packed: hashed as they are, counted as numbers while
 * they are in the cache. */
static void digest_block(Pass *s, const void *p, size_t n) {
    hash_block(s, p, n * dtype_size(s->dtype));
    DType wide = s->parts == 2 ? DT_COMPLEX128 : DT_FLOAT64;
    double number[DIGEST_BLOCK];
    const double *x = p;
    if (s->dtype != wide) {
        tensor_cast_elements(wide, number, s->dtype, p, n, 8 * (ptrdiff_t)s->parts,
                             (ptrdiff_t)dtype_size(s->dtype));
        x = number;
    }
    count_block(s->d, &s->q, x, n * s->parts, s->block++);
}

static void digest_packed(Pass *s, const char *p, size_t n) {
    size_t size = dtype_size(s->dtype);
    for (size_t i = 0; i < n; i += s->at_once)
        digest_block(s, p + i * size, n - i < s->at_once ? n - i : s->at_once);
}

/* Blocks are the same as of a packed tensor, whatever the rows. */
static void digest_strided(Pass *s, const Tensor *t) {
    enum { BYTES = 16 };
    _Alignas(16) char packed[DIGEST_BLOCK * BYTES];
    int last = t->ndim - 1;
    int64_t index[MAX_NDIM] = {0}, n = t->shape[last];
    size_t size = dtype_size(t->dtype), held = 0;
    const char *p = t->data;
    for (int64_t done = 0; done < tensor_size(t); done += n) {
        for (int64_t i = 0; i < n;) {
            size_t room = s->at_once - held, left = (size_t)(n - i);
            size_t m = left < room ? left : room;
            tensor_cast_elements(t->dtype, packed + held * size, t->dtype,
                                 p + i * t->stride[last], m, (ptrdiff_t)size,
                                 (ptrdiff_t)t->stride[last]);
            i += (int64_t)m;
            held += m;
            if (held == s->at_once) digest_packed(s, packed, held), held = 0;
        }
        for (int k = last - 1; k >= 0; k--) {
            p += t->stride[k];
            if (++index[k] < t->shape[k]) break;
            p -= index[k] * t->stride[k];
            index[k] = 0;
        }
    }
    digest_packed(s, packed, held);
}

Digest tensor_digest(const Digester *d, const Tensor *t) {
    size_t parts = dtype_is_complex(t->dtype) ? 2 : 1;
    Pass s = {
        .d = d, .dtype = t->dtype, .parts = parts, .at_once = DIGEST_BLOCK / parts};
    for (int k = 0; k < DIGEST_LANES; k++) {
        s.q.lane.min[k] = (double)INFINITY;
        s.q.lane.max[k] = -(double)INFINITY;
    }
    if (tensor_is_contiguous(t))
        digest_packed(&s, t->data, (size_t)tensor_size(t));
    else
        digest_strided(&s, t);
    Digest r = sum_up(&s.q, tensor_size(t) * (int64_t)parts);
    r.hash = hash_end(&s.hash, (uint64_t)tensor_size(t) * dtype_size(t->dtype));
    return r;
}
