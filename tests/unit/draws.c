/* Draws by rejection: the same bits at each level of CPU, in parts of any size, and for
 * parameters that elements share or have each for itself. */
#include "ops/random/reject.h"
#include "test.h"

#include <math.h>

enum { N = 1000 };
typedef struct Sampled {
    const char *name;
    DrawFn *fn;
    size_t nparam;
    double p[DRAW_PARAMS], most[DRAW_PARAMS]; /* of element 0, of the last */
} Sampled;
static const Sampled sampled[] = {
    {"gamma", draw_gamma, 1, {0}, {3}},
    {"gamma", draw_gamma, 1, {1}, {1e8}},
    {"loggamma", draw_loggamma, 1, {1e-3}, {2}},
    {"vonmises", draw_vonmises, 1, {0}, {4}},
    {"zipf", draw_zipf, 1, {1.1}, {4}},
    {"poisson", draw_poisson, 1, {0}, {10}},
    {"poisson", draw_poisson, 1, {0}, {40}}, /* small ones and large ones together */
    {"poisson", draw_poisson, 1, {10}, {1e12}},
    {"binomial", draw_binomial, 2, {0, 0}, {N - 1, 1}},
    {"binomial", draw_binomial, 2, {1e6, 1e-9}, {1e6, 0.999}},
    {"hypergeometric", draw_hypergeometric, 3, {0, N, 0}, {N - 1, 1, 30}},
    {"hypergeometric", draw_hypergeometric, 3, {7000, 5000, 9000}, {7000, 5000, 9000}},
};

static double param_at(const Sampled *q, size_t k, size_t i) {
    double p = q->p[k] + (q->most[k] - q->p[k]) / (N - 1) * (double)i;
    return q->fn == draw_hypergeometric || (q->fn == draw_binomial && k == 0) ? floor(p)
                                                                              : p;
}

/* Elements from `from` on at a level, all with the parameters of element `like` unless
 * it is N. */
static void sample(const Sampled *q, int level, size_t from, size_t n, size_t like,
                   double *out) {
    static double p[DRAW_PARAMS][N];
    const void *param[DRAW_PARAMS] = {p[0], p[1], p[2]};
    Draw w = {.rng = rng_seed(5),
              .level = level,
              .dtype = DT_FLOAT64,
              .param = DT_FLOAT64,
              .nparam = q->nparam};
    for (size_t k = 0; k < q->nparam; k++)
        for (size_t i = 0; i < n; i++)
            p[k][i] = param_at(q, k, like < N ? like : from + i);
    q->fn(&w, &(DrawPart){from, n, param, like == N, (char *)out});
}

static void check(const Sampled *q, int last) {
    static double want[N], got[N];
    sample(q, 0, 0, N, N, want);
    for (int level = 0; level <= last; level++) {
        for (size_t from = 0, n; from < N; from += n) {
            n = 1 + from % 150;
            if (n > N - from) n = N - from;
            sample(q, level, from, n, N, got + from);
        }
        CHECK(memcmp(got, want, sizeof got) == 0, "%s at level %d", q->name, level);
        for (size_t like = 0; like < N; like += 27) {
            sample(q, level, 0, N, like, got);
            CHECK(got[like] == want[like], "%s at level %d: %zu", q->name, level, like);
        }
    }
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    for (size_t i = 0; i < sizeof sampled / sizeof *sampled; i++)
        check(&sampled[i], session_cpu_level(s));
    session_free(s);
    return TEST_END("draws");
}
