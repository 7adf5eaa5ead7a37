/* vmap: the same computation for many rows at once. */
#ifndef VMAP_VMAP_H
#define VMAP_VMAP_H

#include "lang/macro.h"
#include "op/services.h"
#include "vmap/kit.h"

/* Variables of one row, and what replaces them: with[i] has an
 * additional leading dim of `size` (int64, 0-d) where has[i] is true (NULL:
 * everywhere). */
typedef struct VmapRows {
    VarList var;
    const Var *with;
    const bool *has;
    Var size;
    bool at_once; /* fails rather than compute everything row by row */
} VmapRows;
/* What to rebuild for all rows: from nout on only for its effects. */
typedef struct VmapWant {
    VarList var;
    size_t nout;
} VmapWant;
/* Rebuilds the graph between the rows' variables and the wanted ones. result[k]
 * replaces want->var.p[k]; rows[k] says whether it has the leading dim: what doesn't
 * depend on the rows stays as it is. There is no loop, except for ops without a rule.
 * The results of effects may be VAR_NONE. Takes time linear in the size of the graph
 * after the first of the rows' variables. */
bool vmap_graph(Builder *b, const VmapRows *given, const VmapWant *want, Var *result,
                bool *rows);
/* The wanted variables for many values of var at once. Every with[i] has additional
 * leading dims or none; all that have some have equally many, and so have the results.
 * Only the first want->nout results are stored. */
bool vmap_nested(Builder *b, VarList var, const Var *with, const VmapWant *want,
                 Var *result);
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
