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

bool JOIN(digest_sums_, TL_LEVEL)(DigestSums *q, const double *x, const double *weight,
                                  size_t n) {
    Lanes min, max, sum, square, mix;
    memcpy(&min, q->min, sizeof min);
    memcpy(&max, q->max, sizeof max);
    memcpy(&sum, q->sum, sizeof sum);
    memcpy(&square, q->square, sizeof square);
    memcpy(&mix, q->mix, sizeof mix);
    for (size_t i = 0; i + DIGEST_LANES <= n; i += DIGEST_LANES) {
        Lanes v, w;
        memcpy(&v, x + i, sizeof v);
        memcpy(&w, weight + i, sizeof w);
        min = CHOOSE(v < min, v, min);
        max = CHOOSE(v > max, v, max);
        sum += v;
        square += v * v;
        mix += v * w;
    }
    /* an infinite number or a nan is in the sums, too: there's no need to ask each */
    Lanes zero = (sum - sum) + (square - square);
    double all = 0;
    for (int k = 0; k < DIGEST_LANES; k++)
        all += zero[k];
    if (!(all == 0)) return false;
    memcpy(q->min, &min, sizeof min);
    memcpy(q->max, &max, sizeof max);
    memcpy(q->sum, &sum, sizeof sum);
    memcpy(q->square, &square, sizeof square);
    memcpy(q->mix, &mix, sizeof mix);
    return true;
}

void JOIN(digest_hash_, TL_LEVEL)(DigestHash *h, const void *p, size_t stripes) {
    enum { FIRST = 23, SECOND = 41, BITS = 64 };
    Words a, b;
    memcpy(&a, h->a, sizeof a);
    memcpy(&b, h->b, sizeof b);
    for (size_t i = 0; i < stripes; i++) {
        Words v;
        memcpy(&v, (const char *)p + i * DIGEST_STRIPE, sizeof v);
        a += v;
        a = a << FIRST | a >> (BITS - FIRST);
        b ^= a;
        b = (b << SECOND | b >> (BITS - SECOND)) + v;
    }
    memcpy(h->a, &a, sizeof a);
    memcpy(h->b, &b, sizeof b);
}
