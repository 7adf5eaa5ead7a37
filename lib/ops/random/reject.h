/* Distributions whose draws take a variable number of words. */
#ifndef OPS_RANDOM_REJECT_H
#define OPS_RANDOM_REJECT_H

#include "ops/random/random.h"

DrawFn draw_gamma, draw_loggamma, draw_vonmises, draw_zipf;
DrawFn draw_poisson, draw_binomial, draw_hypergeometric;
DrawCheck check_gamma, check_vonmises, check_zipf;
DrawCheck check_poisson, check_binomial, check_hypergeometric;

#endif
