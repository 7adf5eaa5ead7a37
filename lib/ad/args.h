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
/* The variables that an argument lists, and the node they were read from: results take
 * its form. */
typedef struct ArgVars {
    Node node;
    VarList v;
} ArgVars;
bool arg_vars(Compiler *c, const Ast *arg, ArgVars *out); /* absent: none */
/* Reads one companion (a cotangent, a tangent, a vector) for each of the variables
 * `of`. If that is a single variable, its companion is any expression of its dtype, a
 * list of numbers or a list of one such expression; else a list. E_ARITY, naming the
 * macro and `what` the companions are, if there are more or fewer. */
bool arg_companions(Compiler *c, const Ast *call, const Ast *arg, const char *what,
                    const ArgVars *of, Var **v);
/* consider_constant, disconnected_inputs, return_disconnected, null_gradients. */
#define GRAD_ARGS                                                                      \
    "consider_constant=[], disconnected_inputs='raise', "                              \
    "return_disconnected='zero', null_gradients='raise'"
enum { GRAD_NARG = 4 };
bool grad_options(Compiler *c, const Ast *const *arg, GradOptions *how);

/* result_like: results in the form of the argument they belong to: one, a list, a dict.
 * result_matrix: a row of results for each of `rows`, every row in the form of `row`.
 */
bool result_like(Compiler *c, const ArgVars *like, const Var *v, Span at, Node *out);
bool result_matrix(Compiler *c, const ArgVars *rows, const ArgVars *row, const Var *v,
                   Span at, Node *out);

#endif
