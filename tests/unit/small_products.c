/* Batches of products of small matrices at every CPU level, for all sizes and orders of
 * the operands' dims, and by tiles for sizes at random, against plain sums, which are
 * exact for the small whole numbers here. */
#include "base/session.h"
#include "ops/linalg/product/small.h"
#include "test.h"

#include <string.h>

enum { COUNT = 5, ROOM = COUNT * (TILES_SIDE + 1) * (TILES_SIDE + 1) * 4 };

static const SmallLoops *const levels[][2] = {
    {&small_loops0, &tile_loops0},
#ifdef __x86_64__
    {&small_loops1, &tile_loops1},
    {&small_loops2, &tile_loops2},
#endif
};

static uint64_t state = 88172645463325252u;
static double whole(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state % 15) - 7;
}

static void put(char *to, size_t item, double x) {
    float f = (float)x;
    memcpy(to, item == 4 ? (void *)&f : (void *)&x, item);
}

static double get(const char *from, size_t item) {
    float f;
    double x;
    memcpy(item == 4 ? (void *)&f : (void *)&x, from, item);
    return item == 4 ? (double)f : x;
}

/* Strides of [COUNT, rows, cols]; by columns, or with gaps, or with one matrix for all.
 */
static void lay_out(int how, int64_t rows, int64_t cols, int64_t size,
                    int64_t stride[3]) {
    int64_t gap = how & 2 ? 1 : 0;
    stride[1] = how & 1 ? size : (cols + gap) * size;
    stride[2] = how & 1 ? (rows + gap) * size : size;
    stride[0] = how & 4 ? 0 : (rows + gap) * (cols + gap) * size;
    if (how & 8) stride[1] *= 2, stride[2] *= 2, stride[0] *= 2;
}

static void check(int level, bool tiles, size_t item, int64_t m, int64_t k, int64_t n,
                  int how) {
    static char a[ROOM * 8], b[ROOM * 8], c[ROOM * 8];
    int64_t sa[3], sb[3], bad = 0;
    size_t used = (size_t)(COUNT * (m + k + 2) * (k + n + 2));
    lay_out(how, m, k, (int64_t)item, sa);
    lay_out(how >> 4, k, n, (int64_t)item, sb);
    for (size_t i = 0; i < ROOM && i < 4 * used; i++) {
        put(a + i * item, item, whole());
        put(b + i * item, item, whole());
        put(c + i * item, item, 99);
    }
    levels[level][tiles]->run[item == 8](&(SmallProducts){
        a, b, c, COUNT, m, k, n, sa[0], sa[1], sa[2], sb[0], sb[1], sb[2]});
    for (int64_t i = 0; i < COUNT * m * n; i++) {
        double sum = 0;
        for (int64_t l = 0; l < k; l++)
            sum += get(a + i / (m * n) * sa[0] + i / n % m * sa[1] + l * sa[2], item) *
                   get(b + i / (m * n) * sb[0] + l * sb[1] + i % n * sb[2], item);
        bad += get(c + (size_t)i * item, item) != sum;
    }
    bad += get(c + (size_t)(COUNT * m * n) * item, item) != 99;
    CHECK(bad == 0,
          "level %d, tiles %d, %zu bytes, [%lld, %lld] by [%lld, %lld], layouts %d",
          level, tiles, item, (long long)m, (long long)k, (long long)k, (long long)n,
          how);
}

/* Of b by rows or columns, with and without gaps, or one b for all. */
static void check_tiles(int level) {
    for (int i = 0; i < 600; i++) {
        int64_t side = i % 4 ? 20 : TILES_SIDE, size[3];
        for (int j = 0; j < 3; j++)
            size[j] = 1 + ((int64_t)whole() + 7) * 131 % side;
        if (i % 50 == 0) size[i / 50 % 3] = TILES_SIDE;
        int how = i % 16 + (i / 16 % 8) * 16;
        check(level, true, i % 3 ? 4 : 8, size[0], size[1], size[2], how);
    }
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    int last = session_cpu_level(s);
    for (int level = 0; level <= last; level++) {
        check_tiles(level);
        for (int64_t size = 0; size < SMALL_SIDE * SMALL_SIDE * SMALL_SIDE; size++) {
            int64_t k = 1 + size % SMALL_SIDE, n = 1 + size / SMALL_SIDE % SMALL_SIDE,
                    m = 2 + size / (SMALL_SIDE * SMALL_SIDE);
            for (int how = 0; how < 256 && n > 1; how++)
                check(level, false, how % 3 ? 8 : 4, how % 7 ? m : SMALL_ROWS, k, n,
                      how);
        }
    }
    session_free(s);
    return TEST_END("small_products");
}
