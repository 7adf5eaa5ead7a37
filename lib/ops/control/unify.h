/* The dims of a function against those of its caller: a function's dim names are its
 * own and are bound at each call by the types of the arguments. */
#ifndef OPS_CONTROL_UNIFY_H
#define OPS_CONTROL_UNIFY_H

#include "op/infer.h"

typedef struct Unify {
    Session *s;
    Map dim; /* name in the function -> Dim of the caller */
    Map arg; /* name -> argument that said so */
} Unify;
/* Why a type does not fit. */
typedef struct Misfit {
    DiagCode code;
    Sym name;    /* 0, or the dim that two arguments disagree on */
    size_t by;   /* the other argument */
    Dim was, is; /* what each says */
} Misfit;

void unify_open(Unify *u, Session *s);
void unify_close(Unify *u);
/* Binds the names of `want`, a type in the function, to what `have` says; `who` is the
 * number of the argument. False: *why is set, nothing is diagnosed. */
bool unify_type(Unify *u, const Type *want, const Type *have, size_t who, Misfit *why);
/* A type of the function in the dims of the caller. */
const Type *unify_result(const Unify *u, const Type *t);
/* With ? for dims that have names. */
const Type *type_unnamed(Session *s, const Type *t);

#endif
