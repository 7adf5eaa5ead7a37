/* Transfer hooks (the Type contract's `transfer`): convert a value for a variable of
 * another kind, in addition to the conversions of the variable's filter. A hook sees
 * the value and the target type, and returns a new value or declines. */
#ifndef VALUE_TRANSFER_H
#define VALUE_TRANSFER_H

#include "value/class.h"

typedef enum Transfer {
    TRANSFER_DECLINED,
    TRANSFER_DONE,  /* the caller owns *out */
    TRANSFER_FAILED /* diagnosed */
} Transfer;
typedef Transfer TransferFn(void *ctx, Session *s, const Type *to, const Value *v,
                            Value *out);
/* Hooks are called in order of registration. */
void transfer_register(Session *s, TransferFn *fn, void *ctx);

/* Converts a value for a variable. Unless strict, a value of a class other than the
 * type's is first offered to the hooks, until one returns a value; then the filter
 * applies. */
bool value_bind(Session *s, const Type *t, const Value *v, const Receiver *to,
                Value *out);

#endif
