/* Bessel functions of the orders 0 and 1, for finite x other than 0. */
#ifndef OPS_ELEMWISE_SPECIAL_BESSEL01_H
#define OPS_ELEMWISE_SPECIAL_BESSEL01_H

#include <stdbool.h>

#define BESSEL01_MOST 0x1p24 /* the largest |x| of J and Y */

double bessel_j01(int order, double x);
double bessel_y01(int order, double x);              /* x > 0 */
double bessel_i01(int order, double x, bool scaled); /* e^-|x| I */
double bessel_k01(int order, double x, bool scaled); /* e^x K; x > 0 */

#endif
