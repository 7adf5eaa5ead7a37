/* A block of a digest, in eight lanes at every CPU level, so that the sums don't depend
 * on it. */
#include "check/digest_impl.h"

#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

typedef double Lanes __attribute__((vector_size(DIGEST_LANES * sizeof(double))));
typedef int64_t Mask __attribute__((vector_size(DIGEST_LANES * sizeof(int64_t))));
typedef uint64_t Words __attribute__((vector_size(DIGEST_STRIPE)));

#define CHOOSE(m, a, b) ((Lanes)(((m) & (Mask)(a)) | (~(m) & (Mask)(b))))

/* The loops work on copies, which stay in registers. */
typedef struct SumLanes {
    Lanes min, max, sum, square, mix;
} SumLanes;
typedef struct HashLanes {
    Words a, b;
} HashLanes;

static inline __attribute__((always_inline)) void
add_numbers(SumLanes *q, const double *x, const double *weight) {
    Lanes v, w;
    memcpy(&v, x, sizeof v);
    memcpy(&w, weight, sizeof w);
    q->min = CHOOSE(v < q->min, v, q->min);
    q->max = CHOOSE(v > q->max, v, q->max);
    q->sum += v;
    q->square += v * v;
    q->mix += v * w;
}

static inline __attribute__((always_inline)) void add_stripe(HashLanes *h,
                                                             const void *p) {
    enum { FIRST = 23, SECOND = 41, BITS = 64 };
    Words v;
    memcpy(&v, p, sizeof v);
    h->a += v;
    h->a = h->a << FIRST | h->a >> (BITS - FIRST);
    h->b ^= h->a;
    h->b = (h->b << SECOND | h->b >> (BITS - SECOND)) + v;
}

/* Every other group of lanes has sums of its own, which wait for their own last step
 * only. */
static SumLanes no_sums(void) {
    const double inf = __builtin_inf();
    SumLanes l = {.sum = {0}, .square = {0}, .mix = {0}};
    for (int k = 0; k < DIGEST_LANES; k++)
        l.min[k] = inf, l.max[k] = -inf;
    return l;
}

static void join_sums(SumLanes *q, const SumLanes *other) {
    q->min = CHOOSE(other->min < q->min, other->min, q->min);
    q->max = CHOOSE(other->max > q->max, other->max, q->max);
    q->sum += other->sum;
    q->square += other->square;
    q->mix += other->mix;
}

static SumLanes load_sums(const DigestSums *q) {
    SumLanes l;
    memcpy(&l.min, q->min, sizeof l.min);
    memcpy(&l.max, q->max, sizeof l.max);
    memcpy(&l.sum, q->sum, sizeof l.sum);
    memcpy(&l.square, q->square, sizeof l.square);
    memcpy(&l.mix, q->mix, sizeof l.mix);
    return l;
}

/* An infinite number or a nan is in the sums, too: there's no need to ask each. */
static bool store_sums(DigestSums *q, const SumLanes *l) {
    Lanes zero = (l->sum - l->sum) + (l->square - l->square);
    double all = 0;
    for (int k = 0; k < DIGEST_LANES; k++)
        all += zero[k];
    if (!(all == 0)) return false;
    memcpy(q->min, &l->min, sizeof l->min);
    memcpy(q->max, &l->max, sizeof l->max);
    memcpy(q->sum, &l->sum, sizeof l->sum);
    memcpy(q->square, &l->square, sizeof l->square);
    memcpy(q->mix, &l->mix, sizeof l->mix);
    return true;
}

static HashLanes load_hash(const DigestHash *h) {
    HashLanes l;
    memcpy(&l.a, h->a, sizeof l.a);
    memcpy(&l.b, h->b, sizeof l.b);
    return l;
}

static void store_hash(DigestHash *h, const HashLanes *l) {
    memcpy(h->a, &l->a, sizeof l->a);
    memcpy(h->b, &l->b, sizeof l->b);
}

bool JOIN(digest_sums_, TL_LEVEL)(DigestSums *q, const double *x, const double *weight,
                                  size_t n) {
    SumLanes l = load_sums(q), other = no_sums();
    size_t i = 0;
    for (; i + 2 * DIGEST_LANES <= n; i += 2 * DIGEST_LANES) {
        add_numbers(&l, x + i, weight + i);
        add_numbers(&other, x + i + DIGEST_LANES, weight + i + DIGEST_LANES);
    }
    if (i + DIGEST_LANES <= n) add_numbers(&l, x + i, weight + i);
    join_sums(&l, &other);
    return store_sums(q, &l);
}

void JOIN(digest_hash_, TL_LEVEL)(DigestHash *h, const void *p, size_t stripes) {
    HashLanes l = load_hash(h);
    for (size_t i = 0; i < stripes; i++)
        add_stripe(&l, (const char *)p + i * DIGEST_STRIPE);
    store_hash(h, &l);
}

/* Each waits for its own last step: together they take the time of one. */
bool JOIN(digest_both_, TL_LEVEL)(DigestSums *q, DigestHash *h, const double *x,
                                  const double *weight, size_t n) {
    SumLanes l = load_sums(q), other = no_sums();
    HashLanes hash = load_hash(h);
    size_t i = 0;
    for (; i + 2 * DIGEST_LANES <= n; i += 2 * DIGEST_LANES) {
        add_numbers(&l, x + i, weight + i);
        add_stripe(&hash, x + i);
        add_numbers(&other, x + i + DIGEST_LANES, weight + i + DIGEST_LANES);
        add_stripe(&hash, x + i + DIGEST_LANES);
    }
    if (i + DIGEST_LANES <= n) {
        add_numbers(&l, x + i, weight + i);
        add_stripe(&hash, x + i);
    }
    join_sums(&l, &other);
    store_hash(h, &hash);
    return store_sums(q, &l);
}
