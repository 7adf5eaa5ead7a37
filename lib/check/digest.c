/* Digests of tensors, block by block. */
#include "base/pool.h"
#include "check/digest_impl.h"
#include "check/trace.h"

#include <math.h>
#include <string.h>

/* The golden ratio's multiples modulo 1 are spread evenly and never repeat. */
static const double GOLDEN = 0.6180339887498949;

static double spread(double i) {
    return i * GOLDEN - floor(i * GOLDEN);
}

void digester_init(Digester *d, Session *s, unsigned threads) {
    int level = session_cpu_level(s);
    d->pool = threads == 1 ? NULL : session_pool(s);
    d->loop = digest_sums_0;
    d->hash = digest_hash_0;
    d->both = digest_both_0;
#ifdef __x86_64__
    if (level > 0) d->loop = level == 1 ? digest_sums_1 : digest_sums_2;
    if (level > 0) d->hash = level == 1 ? digest_hash_1 : digest_hash_2;
    if (level > 0) d->both = level == 1 ? digest_both_1 : digest_both_2;
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

/* hash: NULL, or that of the whole groups of lanes is to be added, too. */
static void count_block(const Digester *d, Sums *q, DigestHash *hash, const double *x,
                        size_t n, uint64_t block) {
    size_t whole = n / DIGEST_LANES * DIGEST_LANES;
    bool finite = !whole || (hash ? d->both(&q->lane, hash, x, d->weight, whole)
                                  : d->loop(&q->lane, x, d->weight, whole));
    if (!finite) whole = 0;
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

/* Consecutive blocks, digested by one thread. */
typedef struct Section {
    Sums q;
    DigestHash hash;
} Section;
enum { SECTIONS = 64, SECTION_BLOCKS = 256 };

typedef struct Pass {
    const Digester *d;
    DType dtype;
    size_t parts, at_once; /* numbers of an element; elements of a block */
    size_t nblock, per;    /* blocks, and those of a section */
} Pass;

static void section_clear(Section *x) {
    *x = (Section){0};
    for (int k = 0; k < DIGEST_LANES; k++) {
        x->q.lane.min[k] = (double)INFINITY;
        x->q.lane.max[k] = -(double)INFINITY;
    }
}

/* What fills no stripe counts as one that ends in zeros; tensor_digest adds how many
 * bytes there are. */
static void hash_rest(const Pass *s, DigestHash *h, const void *p, size_t bytes) {
    size_t rest = bytes % DIGEST_STRIPE;
    if (!rest) return;
    char last[DIGEST_STRIPE] = {0};
    memcpy(last, (const char *)p + bytes - rest, rest);
    s->d->hash(h, last, 1);
}

static inline uint64_t fold(uint64_t h, uint64_t v) {
    h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 32;
}

static uint64_t hash_end(const DigestHash *h) {
    uint64_t a = 0, b = 0;
    for (int k = 0; k < DIGEST_LANES; k++) {
        a = fold(a, h->a[k]);
        b = fold(b, h->b[k]);
    }
    return fold(a, b);
}

/* At most a block of elements, packed: hashed as they are, counted as numbers while
 * they are in the cache. */
static void digest_block(const Pass *s, Section *to, const void *p, size_t n,
                         size_t block) {
    DType wide = s->parts == 2 ? DT_COMPLEX128 : DT_FLOAT64;
    double number[DIGEST_BLOCK];
    const double *x = p;
    size_t bytes = n * dtype_size(s->dtype), stripes = bytes / DIGEST_STRIPE;
    bool both = s->dtype == wide;
    if (!both) {
        if (stripes) s->d->hash(&to->hash, p, stripes);
        tensor_cast_elements(wide, number, s->dtype, p, n, 8 * (ptrdiff_t)s->parts,
                             (ptrdiff_t)dtype_size(s->dtype));
        x = number;
    }
    count_block(s->d, &to->q, both ? &to->hash : NULL, x, n * s->parts, block);
    hash_rest(s, &to->hash, p, bytes);
}

/* In the order of sections, whoever was ready first. */
static void add_section(Sums *all, uint64_t *hash, const Section *x) {
    *hash = fold(*hash, hash_end(&x->hash));
    for (int k = 0; k < DIGEST_LANES; k++) {
        const DigestSums *q = &x->q.lane;
        all->lane.min[k] = q->min[k] < all->lane.min[k] ? q->min[k] : all->lane.min[k];
        all->lane.max[k] = q->max[k] > all->lane.max[k] ? q->max[k] : all->lane.max[k];
        all->lane.sum[k] += q->sum[k];
        all->lane.square[k] += q->square[k];
    }
    all->mixed += x->q.mixed;
    all->nans += x->q.nans;
    all->infs += x->q.infs;
}

typedef struct Job {
    const Pass *s;
    const char *p;
    size_t n; /* elements */
    Section *section;
} Job;

static void digest_section(void *ctx, size_t i, unsigned worker) {
    const Job *q = ctx;
    const Pass *s = q->s;
    size_t size = dtype_size(s->dtype), end = (i + 1) * s->per;
    (void)worker;
    section_clear(&q->section[i]);
    for (size_t b = i * s->per; b < end && b < s->nblock; b++) {
        size_t at = b * s->at_once, left = q->n - at;
        digest_block(s, &q->section[i], q->p + at * size,
                     left < s->at_once ? left : s->at_once, b);
    }
}

static void digest_large(Job *q, Sums *all, uint64_t *hash) {
    Section section[SECTIONS];
    size_t n = (q->s->nblock + q->s->per - 1) / q->s->per;
    q->section = section;
    pool_run(q->s->d->pool, n, digest_section, q);
    for (size_t i = 0; i < n; i++)
        add_section(all, hash, &section[i]);
}

static void digest_packed(const Pass *s, const Tensor *t, Sums *all, uint64_t *hash) {
    Job q = {.s = s, .p = t->data, .n = (size_t)tensor_size(t)};
    if (s->nblock > s->per) {
        digest_large(&q, all, hash);
        return;
    }
    Section one;
    q.section = &one;
    digest_section(&q, 0, 0);
    *all = one.q;
    *hash = fold(*hash, hash_end(&one.hash));
}

/* Elements on their way from rows to blocks, and from these to sections. */
typedef struct Packing {
    const Pass *s;
    Sums *all;
    uint64_t *hash;
    Section section;
    size_t held, block;
    _Alignas(16) char packed[DIGEST_BLOCK * 16];
} Packing;

static void end_block(Packing *q) {
    digest_block(q->s, &q->section, q->packed, q->held, q->block++);
    q->held = 0;
    if (q->block % q->s->per && q->block < q->s->nblock) return;
    add_section(q->all, q->hash, &q->section);
    section_clear(&q->section);
}

static void pack_row(Packing *q, const Tensor *t, const char *p) {
    size_t size = dtype_size(t->dtype);
    int64_t n = t->shape[t->ndim - 1], step = t->stride[t->ndim - 1];
    for (int64_t i = 0; i < n;) {
        size_t room = q->s->at_once - q->held, left = (size_t)(n - i);
        size_t m = left < room ? left : room;
        tensor_cast_elements(t->dtype, q->packed + q->held * size, t->dtype,
                             p + i * step, m, (ptrdiff_t)size, (ptrdiff_t)step);
        i += (int64_t)m;
        q->held += m;
        if (q->held == q->s->at_once) end_block(q);
    }
}

/* Blocks are the same as of a packed tensor, whatever the rows. */
static void digest_strided(const Pass *s, const Tensor *t, Sums *all, uint64_t *hash) {
    Section none;
    section_clear(&none);
    Packing q = {.s = s, .all = all, .hash = hash, .section = none};
    int last = t->ndim - 1;
    int64_t index[MAX_NDIM] = {0};
    const char *p = t->data;
    for (int64_t done = 0; done < tensor_size(t); done += t->shape[last]) {
        pack_row(&q, t, p);
        for (int k = last - 1; k >= 0; k--) {
            p += t->stride[k];
            if (++index[k] < t->shape[k]) break;
            p -= index[k] * t->stride[k];
            index[k] = 0;
        }
    }
    if (q.held) end_block(&q);
}

Digest tensor_digest(const Digester *d, const Tensor *t) {
    size_t parts = dtype_is_complex(t->dtype) ? 2 : 1, n = (size_t)tensor_size(t);
    Pass s = {
        .d = d, .dtype = t->dtype, .parts = parts, .at_once = DIGEST_BLOCK / parts};
    s.nblock = (n + s.at_once - 1) / s.at_once;
    s.per = (s.nblock + SECTIONS - 1) / SECTIONS;
    if (s.per < SECTION_BLOCKS) s.per = SECTION_BLOCKS;
    Sums all = {0};
    uint64_t hash = n * dtype_size(t->dtype);
    for (int k = 0; k < DIGEST_LANES; k++) {
        all.lane.min[k] = (double)INFINITY;
        all.lane.max[k] = -(double)INFINITY;
    }
    if (tensor_is_contiguous(t))
        digest_packed(&s, t, &all, &hash);
    else
        digest_strided(&s, t, &all, &hash);
    Digest r = sum_up(&all, (int64_t)(n * parts));
    r.hash = hash;
    return r;
}
