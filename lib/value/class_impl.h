/* The rows of the table of classes, and what their files share. */
#ifndef VALUE_CLASS_IMPL_H
#define VALUE_CLASS_IMPL_H

#include "value/object.h"
#include "value/value_impl.h"

extern const TypeClass class_tensor, class_sparse, class_random, class_list,
    class_slice, class_none, class_empty, class_null, class_disconnected;

/* "x: expected slice, got a list of 3 items" */
bool class_fail_kind(Session *s, const Type *t, const Value *v, const Receiver *to);
/* An object of a kind in the table, zeroed except for its head. */
void *object_new(Session *s, TypeKind kind, size_t size, void (*release)(Object *));

#endif
