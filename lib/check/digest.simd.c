/* A block of a digest, in eight lanes at every CPU level, so that the sums don't depend
 * on it. */
#include "check/digest_impl.h"

#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

typedef double Lanes __attribute__((vector_size(DIGEST_LANES * sizeof(double))));
typedef int64_t Mask __attribute__((vector_size(DIGEST_LANES * sizeof(int64_t))));

#define CHOOSE(m, a, b) ((Lanes)(((m) & (Mask)(a)) | (~(m) & (Mask)(b))))

bool JOIN(digest_sums_, TL_LEVEL)(DigestSums *q, const double *x, const double *weight,
                                  size_t n) {
    Lanes min, max, sum, square, mix, odd = {0}, none = {0};
    memcpy(&min, q->min, sizeof min);
    memcpy(&max, q->max, sizeof max);
    memcpy(&sum, q->sum, sizeof sum);
    memcpy(&square, q->square, sizeof square);
    memcpy(&mix, q->mix, sizeof mix);
    for (size_t i = 0; i + DIGEST_LANES <= n; i += DIGEST_LANES) {
        Lanes v, w;
        memcpy(&v, x + i, sizeof v);
        memcpy(&w, weight + i, sizeof w);
        Lanes zero = v - v; /* nan unless v is finite */
        Lanes finite = CHOOSE(zero == none, v, none);
        odd += zero;
        min = CHOOSE(v < min, v, min);
        max = CHOOSE(v > max, v, max);
        sum += finite;
        square += finite * finite;
        mix += finite * w;
    }
    memcpy(q->min, &min, sizeof min);
    memcpy(q->max, &max, sizeof max);
    memcpy(q->sum, &sum, sizeof sum);
    memcpy(q->square, &square, sizeof square);
    memcpy(q->mix, &mix, sizeof mix);
    double any = 0;
    for (int k = 0; k < DIGEST_LANES; k++)
        any += odd[k];
    return any == 0;
}
