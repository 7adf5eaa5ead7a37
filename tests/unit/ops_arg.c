/* argmax and argmin end where nothing that follows can beat what they have. */
#include "harness.h"

#include <math.h>

/* The last number of a dtype, of which the first one counts, in each of several blocks;
 * and nan, behind which nothing counts. */
static void final_extremes(DType d, bool least) {
    enum { N = 9000, STEP = 1013 };
    for (int64_t first = 7; first < N; first += STEP) {
        Lab l = lab_new(1);
        const int64_t n = N, bits = 8 * (int64_t)dtype_size(d);
        double top = dtype_kind(d) == K_UINT  ? ldexp(1, (int)bits)
                     : dtype_kind(d) == K_INT ? ldexp(1, (int)bits - 1)
                                              : 2,
               last = dtype_is_float(d) ? (double)NAN
                      : least           ? (dtype_kind(d) == K_INT ? -top : 0)
                      : bits > 53       ? nextafter(top, 0)
                                        : top - 1,
               other = dtype_is_float(d) ? (double)INFINITY
                       : least           ? 1
                                         : 0;
        Tensor x = lab_tensor(&l, d, 1, &n, 0);
        for (int64_t i = 0; i < n; i++)
            lab_put(&x, i, i >= first && (i - first) % STEP == 0 ? last : other);
        Var in = lab_input(&l, x, true);
        const Tensor *r =
            lab_run(&l, lab_apply(&l, least ? "argmin" : "argmax", 1, &in, 0, NULL));
        CHECK(r && tensor_i64(r, 0) == first, "%s, least %d: %lld instead of %lld",
              dtype_name(d), least, (long long)tensor_i64(r, 0), (long long)first);
        lab_free(&l);
    }
}

int main(void) {
    for (int d = 0; d < DT_COMPLEX64; d++)
        for (int least = 0; least < 2; least++)
            final_extremes((DType)d, least);
    return TEST_END("ops_arg");
}
