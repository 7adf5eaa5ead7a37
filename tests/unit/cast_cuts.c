/* Floats to short integers by blocks against floats one by one: blocks of int32s, and
 * blocks in which one number isn't one. */
#include "test.h"
#include "value/value_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 128 * 60 + 77 };

static void check(DType to, DType from, const void *x) {
    static uint64_t all[N];
    size_t a = dtype_size(from), b = dtype_size(to), bad = 0;
    memset(all, 99, sizeof all);
    tensor_cast_elements(to, all, from, x, N, (ptrdiff_t)b, (ptrdiff_t)a);
    for (size_t i = 0; i < N; i++) {
        uint64_t one;
        tensor_cast_elements(to, &one, from, (const char *)x + i * a, 1, (ptrdiff_t)b,
                             (ptrdiff_t)a);
        bad += memcmp((const char *)all + i * b, &one, b) != 0;
    }
    CHECK(bad == 0, "%s to %s: %zu differ", dtype_name(from), dtype_name(to), bad);
}

int main(void) {
    static const double rare[] = {
        -0x1p31,      -0x1p31 - 1,  -0x1p31 - 0.5, 0x1p31,           0x1p31 - 1,
        0x1p31 - 0.5, 0x1p31 - 129, (double)NAN,   (double)INFINITY, -0x1p40,
        0x1p62,       -0x1p63,      0x1p64,        -1e300,           -0.0};
    static double d[N];
    static float f[N];
    for (size_t i = 0; i < N; i++) {
        d[i] = (double)(rand() % 200001 - 100000) / 7 * (i / 128 % 2 ? 1 : 1e5);
        if (i / 128 % 3 && i % 128 == i / 128 % 128) d[i] = rare[i / 128 % 15];
        f[i] = (float)d[i];
    }
    for (int to = DT_BOOL; to < DT_FLOAT16; to++) {
        check((DType)to, DT_FLOAT64, d);
        check((DType)to, DT_FLOAT32, f);
    }
    int32_t first;
    tensor_cast_elements(DT_INT32, &first, DT_FLOAT64, &(double){-2.75}, 1, 4, 8);
    CHECK(first == -2);
    return TEST_END("cast_cuts");
}
