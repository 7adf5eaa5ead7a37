/* Equality saturation: the equal forms of a graph that rules reach are collected in an
 * e-graph (egraph.h), without deciding for any; then the cheapest form is taken out.
 * The terms are matched class by class (ematch.c), right sides built where they are new
 * (build.c), what is cheap is found bottom-up (extract.c); search.c goes round until
 * nothing is new or a limit is reached. Rules, guards and typing are those of the
 * sweeps. Leaves, Applies with effects and functions stay as they are; only the main
 * graph is searched. */
#ifndef REWRITE_SEARCH_SEARCH_H
#define REWRITE_SEARCH_SEARCH_H

#include "rewrite/rewrite_impl.h"

/* Replaces what the roots of g, a private copy, compute by cheaper forms. */
void search_run(Graph *g, Database *db, const RewriteOptions *o, RewriteSearch *x);

#endif
