/* The derivative of power, in C because it depends on the exponent: y x ** (y - 1),
 * which is 0 inf where x and y are 0. */
#ifndef OPS_ELEMWISE_POWER_H
#define OPS_ELEMWISE_POWER_H

#include "op/build.h"

bool power_pull(Pull *p);
bool power_push(Push *p);

#endif
