/* Topological order. */
#ifndef BASE_TOPOSORT_H
#define BASE_TOPOSORT_H

#include "base/session.h"

/* Orders n things after those that they need, need[first[i] .. first[i + 1]) for thing
 * i. True: order is a permutation. False: it begins with a circle of *circle things,
 * each of which needs the next. */
bool toposort(Session *s, uint32_t n, const uint32_t *first, const uint32_t *need,
              uint32_t *order, uint32_t *circle);

#endif
