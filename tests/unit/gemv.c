/* Products of a matrix and a vector at every CPU level against plain sums, which are
 * exact for the small whole numbers here. The matrix ends where memory ends, so that
 * no element beyond it is read. */
#include "ops/linalg/product/gemv.h"

#include "base/session.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROOM = 1 << 22, VECTOR = 1 << 15 };

static const GemvLoops *const levels[] = {
    &gemv_loops0,
#ifdef __x86_64__
    &gemv_loops1,
    &gemv_loops2,
#endif
};

typedef struct Bench {
    char *end; /* of what may be read */
    double a[1 << 19], b[VECTOR], c[VECTOR];
    double vector[2 * VECTOR], result[2 * VECTOR];
} Bench;

static uint64_t state = 88172645463325252u;
static double whole(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state % 15) - 7;
}

static void put(void *to, size_t item, int64_t i, double x) {
    if (item == 4)
        ((float *)to)[i] = (float)x;
    else
        ((double *)to)[i] = x;
}
static double get(const void *from, size_t item, int64_t i) {
    return item == 4 ? (double)((const float *)from)[i] : ((const double *)from)[i];
}

/* One product; `gap`: elements between the runs, `odd`: one of a's elements. */
static void check(Bench *q, int level, size_t item, bool cols, int64_t m, int64_t k,
                  int64_t gap, const double step[2], const double scale[2],
                  double odd) {
    int64_t run = cols ? m : k, runs = cols ? k : m, lda = run + gap,
            last = (runs - 1) * lda + run, bad = 0;
    char *a = q->end - (size_t)last * item;
    Gemv g = {m,
              k,
              a,
              q->vector,
              q->result,
              lda,
              (int64_t)step[0],
              (int64_t)step[1],
              scale[0],
              scale[1],
              false};
    for (int64_t r = 0; r < runs; r++)
        for (int64_t j = 0; j < run; j++) {
            double x = whole();
            if (r == runs / 2 && j == run / 2 && odd != 0) x = odd;
            q->a[r * run + j] = x;
            put(a, item, r * lda + j, x);
        }
    for (int64_t j = 0; j < k; j++)
        put(q->vector, item, j * g.b_step, q->b[j] = j % 5 ? whole() : 0);
    for (int64_t i = 0; i < m; i++)
        put(q->result, item, i * g.c_step,
            q->c[i] = scale[1] == 0 ? (double)NAN : whole());
    (cols ? levels[level]->cols : levels[level]->rows)[item == 8](&g);
    for (int64_t i = 0; i < m; i++) {
        double sum = 0, have = get(q->result, item, i * g.c_step);
        for (int64_t j = 0; j < k; j++)
            sum += q->a[cols ? j * run + i : i * run + j] * q->b[j];
        sum *= scale[0];
        if (scale[1] != 0) sum += scale[1] * q->c[i];
        bad += !(have == sum || (isnan(have) && isnan(sum)));
    }
    char text[160];
    snprintf(text, sizeof text,
             "level %d, %zu bytes, %s, %lld by %lld, gap %lld, steps %g %g, scales %g "
             "%g",
             level, item, cols ? "cols" : "rows", (long long)m, (long long)k,
             (long long)gap, step[0], step[1], scale[0], scale[1]);
    CHECK(bad == 0, "%s: %lld wrong", text, (long long)bad);
}

static void check_size(Bench *q, int level, int64_t m, int64_t k) {
    static const double steps[][2] = {{1, 1}, {3, 2}},
                        scales[][2] = {{1, 0}, {-2, 0}, {1, 1}, {2, -3}};
    for (size_t item = 4; item <= 8; item += 4)
        for (int cols = 0; cols < 2; cols++)
            for (int i = 0; i < 4; i++) {
                bool apart = i % 2;
                check(q, level, item, cols, m, k, apart ? 3 : 0, steps[i / 2],
                      scales[i], 0);
                check(q, level, item, cols, m, k, 0, steps[apart], scales[3 - i],
                      i == 0   ? (double)INFINITY
                      : i == 1 ? -(double)INFINITY
                               : (double)NAN);
            }
}

/* An element of the result doesn't depend on the rows beside it. */
static void check_alone(Bench *q, int level) {
    static const int64_t widths[] = {3, 10, 100, 5000};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        int64_t k = widths[w], m = 32, bad = 0;
        float *a = (float *)(void *)q->end - m * k, *b = (float *)q->vector,
              *c = (float *)q->result, all[32];
        for (int64_t i = 0; i < m * k; i++)
            a[i] = 1 / (float)(i + 3);
        for (int64_t i = 0; i < k; i++)
            b[i] = 1 / (float)(i % 7 + 1);
        Gemv g = {m, k, a, b, c, k, 1, 1, 1, 0, false};
        levels[level]->rows[0](&g);
        memcpy(all, c, sizeof all);
        for (int64_t from = 0; from < m; from += 16) {
            g.m = 16;
            g.a = a + from * k;
            levels[level]->rows[0](&g);
            bad += memcmp(c, all + from, 16 * sizeof *c) != 0;
        }
        CHECK(bad == 0, "level %d, %lld columns", level, (long long)k);
    }
}

/* Nor on what lies between the columns and how the CPU prefetches them, which decides
 * how they are read. */
static void check_gap(Bench *q, int level, int64_t m, int64_t k) {
    float *b = (float *)q->vector, *c = (float *)q->result, *near = c + m,
          *side = near + m;
    for (int64_t j = 0; j < k; j++)
        b[j] = 1 / (float)(j % 7 + 1);
    for (int64_t gap = 0; gap < 2; gap++) {
        int64_t lda = m + gap;
        float *a = (float *)(void *)q->end - k * lda;
        for (int64_t i = 0; i < m * k; i++)
            a[i / m * lda + i % m] = 1 / (float)(i % 1009 + 3);
        Gemv g = {m, k, a, b, gap ? c : near, lda, 1, 1, 1, 0, false};
        levels[level]->cols[0](&g);
        if (gap) continue;
        g.side_by_side = true;
        g.c = side;
        levels[level]->cols[0](&g);
    }
    CHECK(memcmp(c, near, (size_t)m * sizeof *c) == 0, "level %d, columns of %lld",
          level, (long long)m);
    CHECK(memcmp(side, near, (size_t)m * sizeof *c) == 0, "level %d, columns of %lld",
          level, (long long)m);
}

int main(void) {
    static const int64_t few[] = {1,  2,  3,  4,  5,  7,  8,  9,
                                  15, 16, 17, 31, 33, 47, 64, 65},
                         sizes[][2] = {{400, 300},  {1, 9000},  {9000, 1}, {3, 5000},
                                       {5000, 3},   {131, 70},  {70, 131}, {9000, 20},
                                       {1001, 270}, {270, 1001}};
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = sizeof few / sizeof *few;
    char *room = mmap(NULL, ROOM + page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    Bench *q = malloc(sizeof *q);
    if (room == MAP_FAILED || !q || mprotect(room + ROOM, page, PROT_NONE)) return 1;
    q->end = room + ROOM;
    Session *s = session_new(NULL, NULL);
    int last = session_cpu_level(s);
    for (int level = 0; level <= last; level++) {
        for (size_t i = 0; i < n * n; i++)
            check_size(q, level, few[i / n], few[i % n]);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            check_size(q, level, sizes[i][0], sizes[i][1]);
        check_alone(q, level);
        check_gap(q, level, 100, 200);
        check_gap(q, level, 150, 203);
        check_gap(q, level, 600, 450);
    }
    session_free(s);
    free(q);
    munmap(room, ROOM + page);
    return TEST_END("gemv");
}
