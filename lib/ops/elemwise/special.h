/* Special functions that the C library lacks, in double. */
#ifndef OPS_ELEMWISE_SPECIAL_H
#define OPS_ELEMWISE_SPECIAL_H

double elemwise_gammaln(double x); /* thread-safe, unlike lgamma */
double elemwise_digamma(double x);
double elemwise_polygamma(double n, double x);
double elemwise_erfinv(double y);
double elemwise_erfcinv(double y);

#endif
