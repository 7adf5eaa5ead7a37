/* Panels of products of integers, and products with vectors, at every CPU level, for
 * sizes at random, rows with gaps and numbers of all bits, against plain sums. */
#include "base/session.h"
#include "ops/linalg/product/integers.h"
#include "test.h"

#include <string.h>

enum { MOST_M = 20, MOST_K = 1100, MOST_WIDTH = 64, GAP = 3, MOST_N = 1030 };

static const IntegerLoops *const levels[] = {
    &integer_loops0,
#ifdef __x86_64__
    &integer_loops1,
    &integer_loops2,
#endif
};

static uint64_t state = 88172645463325252u;
static uint64_t any(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

static uint64_t get(const void *from, int64_t i, size_t size) {
    uint64_t x = 0;
    memcpy(&x, (const char *)from + (size_t)i * size, size); /* little-endian */
    return x;
}

static void check(int level, size_t size, int64_t m, int64_t k, int64_t width) {
    static uint64_t a[MOST_M * (MOST_K + GAP)], b[MOST_K * (MOST_WIDTH + GAP)],
        c[MOST_M * (MOST_WIDTH + GAP)];
    const IntegerLoops *l = levels[level];
    IntegerPanel p = {.a = a, .b = b, .c = c, .m = m, .k = k, .width = width};
    p.lda = k + (int64_t)(any() % GAP);
    p.ldb = width + (int64_t)(any() % GAP);
    p.ldc = width + (int64_t)(any() % GAP);
    for (size_t i = 0; i < sizeof a / 8; i++)
        a[i] = any();
    for (size_t i = 0; i < sizeof b / 8; i++)
        b[i] = any();
    memset(c, 99, sizeof c);
    (size == 2 ? l->u16 : size == 4 ? l->u32 : l->u64)(&p);
    int64_t bad = 0;
    uint64_t mask = ~(uint64_t)0 >> (64 - 8 * size);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < p.ldc; j++) {
            uint64_t sum = 0;
            for (int64_t n = 0; n < k; n++)
                sum += get(a, i * p.lda + n, size) * get(b, n * p.ldb + j, size);
            if (j >= width) memset(&sum, 99, sizeof sum);
            bad += get(c, i * p.ldc + j, size) != (sum & mask);
        }
    CHECK(bad == 0, "level %d, %zu bytes, [%lld, %lld] by [%lld, %lld]", level, size,
          (long long)m, (long long)k, (long long)k, (long long)width);
}

/* A vector with steps backwards, too, by rows or columns of a matrix. */
static void check_vector(int level, int kind, bool dots, int64_t k, int64_t n) {
    static uint64_t a[3 * MOST_K], b[MOST_K * MOST_N], c[MOST_N + 1];
    const IntegerLoops *l = levels[level];
    const size_t size = (size_t)1 << kind;
    const int64_t step = dots ? 1 : (int64_t)(any() % 3) - 1,
                  ldb = (dots ? k : n) + (int64_t)(any() % GAP);
    for (size_t i = 0; i < sizeof a / 8; i++)
        a[i] = any();
    for (size_t i = 0; i < sizeof b / 8; i++)
        b[i] = any();
    memset(c, 99, sizeof c);
    const char *first = (const char *)a + (size_t)(step < 0 ? k : 0) * size;
    (dots ? l->dots : l->rows)[kind](&(IntegerVector){first, b, c, k, n, step, ldb});
    int64_t bad = 0;
    uint64_t mask = ~(uint64_t)0 >> (64 - 8 * size);
    for (int64_t j = 0; j <= n; j++) {
        uint64_t sum = 0;
        for (int64_t i = 0; i < k; i++)
            sum += get(first, i * step, size) *
                   get(b, dots ? j * ldb + i : i * ldb + j, size);
        if (j == n) memset(&sum, 99, sizeof sum);
        bad += get(c, j, size) != (sum & mask);
    }
    CHECK(bad == 0, "level %d, %zu bytes, dots %d, k %lld, n %lld", level, size, dots,
          (long long)k, (long long)n);
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    int last = session_cpu_level(s);
    for (int level = 0; level <= last; level++) {
        for (int i = 0; i < 80; i++)
            check_vector(level, i % 4, i / 4 % 2, 1 + (int64_t)(any() % 70),
                         1 + (int64_t)(any() % (i % 5 ? 70 : MOST_N)));
        for (int i = 0; i < 240; i++) {
            size_t size = (size_t)2 << i % 3;
            int64_t wide = levels[level]->bytes / (int64_t)size,
                    width = i % 4 ? 1 + (int64_t)any() % wide : wide / (1 + i % 8 / 4);
            if (width <= 0) width = wide;
            check(level, size, 1 + (int64_t)(any() % MOST_M),
                  1 + (int64_t)(any() % (i % 10 ? 40 : MOST_K)), width);
        }
    }
    session_free(s);
    return TEST_END("integer_products");
}
