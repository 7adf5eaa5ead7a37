/* vmap: the same computation for many rows at once. */
#ifndef VMAP_VMAP_H
#define VMAP_VMAP_H

#include "lang/macro.h"
#include "op/services.h"
#include "vmap/kit.h"

/* Rebuilds the graph between var[] and want[], with with[i] in place of var[i]. with[i]
 * has an additional leading dim of `size` (int64, 0-d) where has[i] is true (NULL:
 * everywhere). result[k] replaces want[k]; rows[k] says whether it has the leading dim:
 * what doesn't depend on var[] stays as it is. There is no loop, except for ops without
 * a rule. want[nout] and later are wanted for their effects only, and their result may
 * be VAR_NONE. Takes time linear in the size of the graph after the first var. */
bool vmap_graph(Builder *b, size_t n, const Var *var, const Var *with, const bool *has,
                Var size, size_t nout, size_t nwant, const Var *want, Var *result,
                bool *rows);
/* want[k] for many values of var[] at once. Every with[i] has additional leading dims
 * or none; all that have some have equally many, and so have the results. The first
 * nout results are stored; the rest is wanted for its effects. */
bool vmap_nested(Builder *b, size_t n, const Var *var, const Var *with, size_t nout,
                 size_t nwant, const Var *want, Var *result);
/* vmap of fn over the inputs chosen by `rows`, as a function of main, made once for
 * each choice. An output has rows if it has one dim more than fn's. */
Graph *vmap_function(Graph *main, const Graph *fn, const bool *rows);
/* Gives made, the vmap of fn whose outputs all have rows, the vmaps of fn's custom
 * pullback and pushforward. */
bool vmap_custom_grad(Graph *main, const Graph *fn, const bool *rows, Graph *made);

/* The macro vectorize applied to a function gives a function of rows; arg are
 * vectorize's arguments. */
bool vmap_macro_function(Compiler *c, const Ast *call, const Node *f,
                         const Ast *const *arg, Node *out);

#endif
