/* Names that a text of a row may use, each bound to a node: a lambda's scope without a
 * lambda. What a row's own lines define is added as they are compiled. */
#ifndef LANG_BOUND_NAMES_H
#define LANG_BOUND_NAMES_H

#include "lang/compile_impl.h"

typedef struct BoundNames {
    LambdaScope scope;
    Ast head; /* the lambda that the compiler believes to be in */
    const Ast **kid;
    Node *value;
    size_t n, room;
} BoundNames;
/* `room` is the most names that will be added; the nodes belong to the compiler's
 * present frame. `up` may be NULL. */
void bound_names_open(Compiler *c, Arena *a, BoundNames *x, size_t room,
                      BoundNames *up);
void bound_names_add(Arena *a, BoundNames *x, Sym name, Node value);
/* What the name was bound to last; NULL: nothing. */
const Node *bound_names_find(const BoundNames *x, Sym name);
/* Compiles an expression that sees these names; in a row also nothing else. */
bool bound_names_compile(Compiler *c, const Ast *e, BoundNames *x, bool of_row,
                         Node *out);

#endif
