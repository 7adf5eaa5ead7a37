/* Do two values agree, and if not, how do they differ? For --expect and --verify. */
#ifndef TOOLS_COMPARE_H
#define TOOLS_COMPARE_H

#include "value/class.h"

/* values_eq_approx of values of one type; `where` gets the flat index of the worst
 * mismatch of tensors of one shape. */
bool compare_values(Session *s, const Value *a, const Value *b, Approx how,
                    int64_t *where);
/* A note to the newest diagnostic: what a (called `as`) and b (`bs`) are. */
bool compare_note(Session *s, const Value *a, const char *as, const Value *b,
                  const char *bs, int64_t where);
/* t without its dims, known and named: another shape is a difference, no error. */
const Type *type_of_any_shape(Session *s, const Type *t);

#endif
