/* A call of an op, between the matching of its arguments and the op's Apply: shared by
 * the files call_*.c and compile_call.c. */
#ifndef LANG_CALL_IMPL_H
#define LANG_CALL_IMPL_H

#include "lang/compile_impl.h"

/* The arguments of a call, in the order of the signature. */
typedef struct CallArgs {
    const Op *op;
    const Signature *sig;
    Node *in; /* sig->nin of them; those of rest parameters are also in `rest` */
    bool *has_in;
    Node *prop;
    bool *has_prop;
    size_t nrest;
    const Node *rest;
    size_t npositional; /* the inputs that have a position: all, or the first if the op
                           is that of another's keywords */
    Span at;
} CallArgs;

/* The arguments by position, before they are matched; there is room for one more. */
typedef struct Positional {
    size_t n;
    Node *arg;
    bool method; /* the first is what stands before the dot */
} Positional;

/* Always false: "sum got ... `name`; its signature is ...". */
bool call_args_fail(Compiler *c, const CallArgs *a, Span at, DiagCode code,
                    const char *what, const char *name);

/* call_arguments.c: replaces the op that is called by the one that the keywords select
 * (Op.keywords), or more arguments than it has. False: E_MEM, diagnosed. */
bool call_op_of_keywords(Compiler *c, const Ast *e, const Op **op);
/* Fills *a, whose op, sig and arrays are set, and may replace the op: clip with one
 * bound is another one. self: of a method */
bool call_args_match(Compiler *c, const Ast *e, const Node *self, CallArgs *a);
/* Puts an argument in its place, the inputs before the props. */
bool call_args_put(Compiler *c, CallArgs *a, size_t k, const Node *n);
/* What an argument is here that a function has in another system, or NULL. */
const char *call_argument_synonym(Session *s, const char *of, const char *name);
/* Always false: notes what an argument of another system is here. */
bool call_args_advise(Compiler *c, const CallArgs *a, const char *name);
/* call_foreign.c. False: refused */
bool call_args_foreign(Compiler *c, CallArgs *a, Positional *p);
bool call_args_check(Compiler *c, const CallArgs *a);
/* False: a keyword of another system that says nothing here. */
bool call_foreign_keyword(Compiler *c, const CallArgs *a, Sym *name);
/* call_props.c. Sets *creates to the dtype of values created from nothing: given, or
 * the receiver's. */
bool call_args_props(Compiler *c, const CallArgs *a, DType want, const Props **props,
                     DType *creates);
/* call_inputs.c. Fills inputs that are given, or that have a default and precede one
 * that is given; *n: how many. */
bool call_args_fill(Compiler *c, CallArgs *a, size_t *n);
/* Gives literals the dtype of what they meet. The rest parameters' values come after
 * nfixed others. */
bool call_args_coerce(Compiler *c, CallArgs *a, DType creates, size_t nfixed,
                      size_t nin, Var *in);

#endif
