/* Topological order. */
#ifndef BASE_TOPOSORT_H
#define BASE_TOPOSORT_H

#include "base/session.h"

/* Orders n items so that each comes after those it needs; item i needs need[first[i]
 * .. first[i + 1]). True: order is a permutation. False: order begins with a cycle of
 * *cycle items, each of which needs the next. */
bool toposort(Session *s, uint32_t n, const uint32_t *first, const uint32_t *need,
              uint32_t *order, uint32_t *cycle);

#endif
