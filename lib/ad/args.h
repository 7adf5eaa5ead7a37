/* Arguments and results of the differentiation macros. */
#ifndef AD_ARGS_H
#define AD_ARGS_H

#include "ad/ad.h"
#include "lang/macro.h"

/* A string argument, one of `words`; absent: the first. */
bool arg_word(Compiler *c, const Ast *arg, const char *const *words, const char *name,
              int *which);
/* True or False; absent: false. */
bool arg_flag(Compiler *c, const Ast *arg, const char *name, bool *flag);
/* A list of variables, and the node they were read from; absent: none. */
bool arg_vars(Compiler *c, const Ast *arg, Node *node, size_t *n, Var **v);
/* Reads one companion (a cotangent, a tangent, a vector) for each of the n variables
 * that `like` lists. If `like` is a single variable, its companion is any expression of
 * its dtype, a list of numbers or a list of one such expression; else a list. E_ARITY,
 * naming the macro and `what` the companions are, if there are more or fewer than n. */
bool arg_companions(Compiler *c, const Ast *call, const Ast *arg, const char *what,
                    const Node *like, size_t n, const Var *of, Var **v);
/* consider_constant, disconnected_inputs, return_disconnected, null_gradients. */
#define GRAD_ARGS                                                                      \
    "consider_constant=[], disconnected_inputs='raise', "                              \
    "return_disconnected='zero', null_gradients='raise'"
enum { GRAD_NARG = 4 };
bool grad_options(Compiler *c, const Ast *const *arg, GradOptions *how);

/* result_like: n results in the form of the argument they belong to: one, a list, a
 * dict. result_matrix: a row of ninner results for each of n, every row in the form of
 * `inner`. */
bool result_like(Compiler *c, const Node *like, size_t n, const Var *v, Span at,
                 Node *out);
bool result_matrix(Compiler *c, const Node *like, size_t n, const Node *inner,
                   size_t ninner, const Var *v, Span at, Node *out);

#endif
