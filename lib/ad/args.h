/* Arguments and results of the macros that differentiate. */
#ifndef AD_ARGS_H
#define AD_ARGS_H

#include "ad/ad.h"
#include "lang/macro.h"

/* One of several words as a string argument; absent: the first. */
bool arg_word(Compiler *c, const Ast *arg, const char *const *words, const char *name,
              int *which);
/* True or False; absent: false. */
bool arg_flag(Compiler *c, const Ast *arg, const char *name, bool *flag);
/* A list of variables, and the node that told it; absent: none. */
bool arg_vars(Compiler *c, const Ast *arg, Node *node, size_t *n, Var **v);
/* One variable for each of n that the node `like` gave: for a single one any expression
 * for a variable of its dtype, a list of numbers too, or a list of one such; else a
 * list. E_ARITY with the macro's name and `what` they are when there are more or less.
 */
bool arg_companions(Compiler *c, const Ast *call, const Ast *arg, const char *what,
                    const Node *like, size_t n, const Var *of, Var **v);
/* consider_constant, disconnected_inputs, return_disconnected, null_gradients. */
#define GRAD_ARGS                                                                      \
    "consider_constant=[], disconnected_inputs='raise', "                              \
    "return_disconnected='zero', null_gradients='raise'"
enum { GRAD_NARG = 4 };
bool grad_options(Compiler *c, const Ast *const *arg, GradOptions *how);

/* n results in the form of the argument that they belong to: one, a list, a dict.
 * Result i is every `step`-th of v from v[i * step] on, itself in the form of `inner`
 * (of ninner) where that is not NULL. */
bool result_like(Compiler *c, const Node *like, size_t n, const Var *v, Span at,
                 Node *out);
bool result_matrix(Compiler *c, const Node *like, size_t n, const Node *inner,
                   size_t ninner, const Var *v, Span at, Node *out);

#endif
