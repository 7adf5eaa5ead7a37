/* Special functions that the C library lacks, in double. */
#ifndef OPS_ELEMWISE_SPECIAL_H
#define OPS_ELEMWISE_SPECIAL_H

double elemwise_gammaln(double x); /* thread-safe, unlike lgamma */
double elemwise_digamma(double x);
double elemwise_polygamma(double n, double x);
double elemwise_erfinv(double y);
double elemwise_erfcinv(double y);
double elemwise_erfcx(double x);
double elemwise_ndtr(double x);
double elemwise_log_ndtr(double x);
double elemwise_ndtri_exp(double y);
double elemwise_owens_t(double h, double a);
double elemwise_zeta(double s, double q);
double elemwise_expn(double n, double x);

/* special_gamma.c */
long double elemwise_gamma_fraction(long double a, long double x); /* e^x E_(1-a)(x) */
double elemwise_gammainc(double a, double x);
double elemwise_gammaincc(double a, double x);
double elemwise_gammaincinv(double a, double p);
double elemwise_gammainccinv(double a, double p);
double elemwise_beta(double a, double b);
double elemwise_betaln(double a, double b);
double elemwise_betainc(double a, double b, double x);
double elemwise_betaincinv(double a, double b, double p);

/* special_hyper.c */
double elemwise_hyp2f1(double a, double b, double c, double z); /* inf for z > 1 */
double elemwise_poch(double x, double n);
double elemwise_binom(double n, double k);

/* special_bessel.c: nan for orders above 1e5, and above sqrt(10 x) where x is above 1e5
 */
double elemwise_jv(double v, double x);
double elemwise_yv(double v, double x);
double elemwise_iv(double v, double x);
double elemwise_kv(double v, double x);
double elemwise_ive(double v, double x); /* e^-|x| I_v */
double elemwise_kve(double v, double x); /* e^x K_v */

#endif
