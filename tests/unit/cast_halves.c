/* Halves by vectors against halves one by one. */
#include "test.h"
#include "value/value_impl.h"

#include <math.h>
#include <stdlib.h>

/* Numbers halfway between halves, just beside that on both sides, and of all sizes with
 * any bits; every half. */
int main(void) {
    enum { N = 4 * 65536 + 5 };
    static double d[N], wide[N];
    static float f[N], narrow[N];
    static uint16_t h[N], r[2][N];
    int bad = 0;
    for (size_t i = 0; i < N; i++) {
        uint64_t bits = (uint64_t)rand() * 0x9E3779B97F4A7C15U;
        h[i] = (uint16_t)i;
        double at = half_to_double(h[i]), next = half_to_double((uint16_t)(h[i] + 1));
        if (i >> 16 == 3)
            memcpy(&d[i], &bits, sizeof bits);
        else
            d[i] = (at + next) / 2;
        if (i >> 16 == 1) d[i] = nextafter(d[i], at);
        if (i >> 16 == 2) d[i] = nextafter(d[i], next);
        f[i] = (float)d[i];
    }
    tensor_cast_elements(DT_FLOAT16, r[0], DT_FLOAT64, d, N, 2, 8);
    tensor_cast_elements(DT_FLOAT16, r[1], DT_FLOAT32, f, N, 2, 4);
    tensor_cast_elements(DT_FLOAT64, wide, DT_FLOAT16, h, N, 8, 2);
    tensor_cast_elements(DT_FLOAT32, narrow, DT_FLOAT16, h, N, 4, 2);
    for (size_t i = 0; i < N; i++) {
        double back = half_to_double(h[i]);
        bad += r[0][i] != half_from_double(d[i]);
        bad += r[1][i] != half_from_double((double)f[i]);
        bad += isnan(back) ? !isnan(wide[i]) || !isnan(narrow[i])
                           : wide[i] != back || (double)narrow[i] != back;
    }
    CHECK(bad == 0, "%d differ", bad);
    return TEST_END("cast_halves");
}
