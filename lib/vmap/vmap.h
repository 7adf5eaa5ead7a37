/* Many rows of a computation at once. */
#ifndef VMAP_VMAP_H
#define VMAP_VMAP_H

#include "lang/macro.h"
#include "op/services.h"
#include "vmap/kit.h"

/* Rebuilds what lies between var[] and want[] with with[i] in the place of var[i]: the
 * same variable, where has[i] (NULL: always) with an extra leading dim of `size`
 * (int64, 0-d). result[k] stands for want[k]; rows[k] tells whether it has the dim:
 * what does not depend on var[] is as it was. One program, no loop, but for ops that
 * have no rule. Of what is wanted from nout on, for what it does, result may be
 * VAR_NONE. Costs time linear in the part of the graph behind the first var. */
bool vmap_graph(Builder *b, size_t n, const Var *var, const Var *with, const bool *has,
                Var size, size_t nout, size_t nwant, const Var *want, Var *result,
                bool *rows);
/* want[k] for many values of var[] at once: with[i] has the same number of extra
 * leading dims as all others that have some, and so have the results, in front of their
 * own. result has the first nout; the rest is wanted for what it does. */
bool vmap_nested(Builder *b, size_t n, const Var *var, const Var *with, size_t nout,
                 size_t nwant, const Var *want, Var *result);
/* fn with rows in some of its inputs, as a function of main made once for each choice:
 * an output has rows when it has one dim more than fn's. */
Graph *vmap_function(Graph *main, const Graph *fn, const bool *rows);
/* Gives made, fn with those rows and with rows in all outputs, fn's own pullback and
 * pushforward for rows. */
bool vmap_custom_grad(Graph *main, const Graph *fn, const bool *rows, Graph *made);

/* vectorize of a function: the function of rows; arg as vectorize's. */
bool vmap_macro_function(Compiler *c, const Ast *call, const Node *f,
                         const Ast *const *arg, Node *out);

#endif
