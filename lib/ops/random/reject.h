#ifndef OPS_RANDOM_REJECT_H
#define OPS_RANDOM_REJECT_H

#include "ops/random/random.h"

DrawFn draw_gamma, draw_poisson, draw_binomial;
bool check_gamma(Call *c, const Draw *w);
bool check_poisson(Call *c, const Draw *w);
bool check_binomial(Call *c, const Draw *w);

#endif
