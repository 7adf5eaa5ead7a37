/* Polynomials of special functions. */
#ifndef OPS_ELEMWISE_SPECIAL_POLY_H
#define OPS_ELEMWISE_SPECIAL_POLY_H

/* A polynomial with n coefficients, by its even and its odd part: half the steps wait
 * for each other. */
static inline __attribute__((always_inline)) double poly(const double *c, int n,
                                                         double x) {
    double u = x * x, even = n % 2 ? c[n - 1] : 0, odd = 0;
#pragma GCC unroll 16
    for (int k = (n & ~1) - 2; k >= 0; k -= 2) {
        even = even * u + c[k];
        odd = odd * u + c[k + 1];
    }
    return even + x * odd;
}
#define POLY(table, x) poly(table, (int)(sizeof(table) / sizeof *(table)), x)

#endif
