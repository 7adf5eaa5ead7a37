/* Special functions that the C library lacks, in double. */
#ifndef OPS_ELEMWISE_SPECIAL_H
#define OPS_ELEMWISE_SPECIAL_H

double gammaln(double x); /* thread-safe, unlike lgamma */
double digamma(double x);
double polygamma(double n, double x);
double erfinv(double y);
double erfcinv(double y);

#endif
