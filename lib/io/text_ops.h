/* Ops that the library itself defines as text (lib/ops/FAMILY/NAME.ops.yaml), in the
 * form of users' op files. An op is read when a text calls it and nothing else has its
 * name, so that graphs and op files may use such names for functions of their own; a
 * call is replaced by the definition at once. */
#ifndef IO_TEXT_OPS_H
#define IO_TEXT_OPS_H

#include "op/op.h"

/* *op: the op of that name, added to the session's; NULL: there is none. With name
 * NULL, all are added, for lists, and *op is NULL. False: E_MEM. */
bool io_text_op(Session *s, const char *name, const Op **op);

#endif
