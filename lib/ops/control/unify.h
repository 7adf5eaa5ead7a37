/* Matches a function's dims with its caller's: a function has its own dim names, and
 * the argument types bind them at each call. */
#ifndef OPS_CONTROL_UNIFY_H
#define OPS_CONTROL_UNIFY_H

#include "op/infer.h"

typedef struct Unify {
    Session *s;
    Map dim; /* name in the function -> Dim of the caller */
    Map arg; /* name -> the argument that bound it */
} Unify;
/* The reason why a type does not fit. */
typedef struct Misfit {
    DiagCode code;
    Sym name;    /* 0, or the dim that two arguments disagree on */
    size_t by;   /* the other argument */
    Dim was, is; /* the sizes from each */
} Misfit;

void unify_open(Unify *u, Session *s);
void unify_close(Unify *u);
/* Binds the dim names in `want`, a type in the function, to the dims of `have`; `who`
 * is the argument's number. False: *why is set, nothing is diagnosed. */
bool unify_type(Unify *u, const Type *want, const Type *have, size_t who, Misfit *why);
/* A type of the function, in the caller's dims. */
const Type *unify_result(const Unify *u, const Type *t);
/* The type with ? for named dims. */
const Type *type_unnamed(Session *s, const Type *t);

#endif
