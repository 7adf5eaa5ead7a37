/* Transfer hooks (the Type contract's `transfer`): ways for a value to get to a
 * variable of another kind, beside what the variable's filter takes. A hook looks at
 * the value and the type that it is for, and answers with a new value or declines. */
#ifndef VALUE_TRANSFER_H
#define VALUE_TRANSFER_H

#include "value/class.h"

typedef enum Transfer {
    TRANSFER_DECLINED,
    TRANSFER_DONE,  /* *out is the value, owned */
    TRANSFER_FAILED /* diagnosed */
} Transfer;
typedef Transfer TransferFn(void *ctx, Session *s, const Type *to, const Value *v,
                            Value *out);
/* Hooks are asked in the order in which they were registered. */
void transfer_register(Session *s, TransferFn *fn, void *ctx);

/* What a value goes through on its way to a variable: unless strict, a value of another
 * class than the type's is offered to the hooks, and the first answer taken; then comes
 * the filter. */
bool value_bind(Session *s, const Type *t, const Value *v, Filter how, const char *what,
                Span at, Value *out);

#endif
