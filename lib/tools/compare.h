/* Compares two values and explains how they differ, for --expect and --verify. */
#ifndef TOOLS_COMPARE_H
#define TOOLS_COMPARE_H

#include "value/class.h"

/* values_eq_approx for values of one type; `where` gets the flat index of the worst
 * mismatch between tensors of one shape. */
bool compare_values(Session *s, const Value *a, const Value *b, Approx how,
                    int64_t *where);
/* Adds a note to the newest diagnostic that shows a (called `as`) and b (`bs`). */
bool compare_note(Session *s, const Value *a, const char *as, const Value *b,
                  const char *bs, int64_t where);
/* t without its known and named dims, so that another shape counts as a difference
 * rather than an error. */
const Type *type_of_any_shape(Session *s, const Type *t);

#endif
