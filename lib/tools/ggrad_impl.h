/* Shared by the files behind graph_derive. */
#ifndef TOOLS_GGRAD_IMPL_H
#define TOOLS_GGRAD_IMPL_H

#include "tools/tools.h"

typedef struct Derivation {
    Graph *g;
    Session *s;
    Arena *a;
    const Derive *d;
    Builder b;
    size_t nwrt;
    Var *wrt;
    size_t kept; /* outputs that existed before */
    Var *along;  /* directions, by wrt */
    Vec(Claim) claims;
} Derivation;

/* The name for v in errors. */
const char *derive_shown(const Derivation *d, Var v);
Span derive_span(const Derivation *d, const char *option, const char *text);
/* --wrt, or by default the variables that the cost depends on. */
bool derive_wrt(Derivation *d, Var cost);
/* The options of gradients. */
bool derive_options(Derivation *d, GradOptions *how);
/* One variable for each of n: the named ones, or new inputs of the same type if they
 * don't exist; without a list, names are the prefix plus the variable's name. */
bool derive_companions(Derivation *d, const char *list, const char *option,
                       const char *prefix, size_t n, const Var *of, Var *v);
/* Adds v as an output named by --name or `pattern`, "d_{cost}_d_{wrt}"; v claims to be
 * the derivative of `of` (Claim). Does nothing if v is disconnected. */
bool derive_output(Derivation *d, const char *pattern, const char *cost,
                   const char *wrt, Var v, Var of, size_t by);

/* Gradients of a cost, or of nf variables with cotangents, following --checkpoint. */
bool derive_gradients(Derivation *d, Var cost, size_t nf, const Var *f,
                      const Var *cotangent, const GradOptions *how, Var *grad);
/* For --checkpoint sqrt, before differentiation: makes loops recompute too. */
bool derive_loops(Graph *g, const Derive *how);
/* --jacobian, --hessian, --hvp. */
bool derive_jacobian(Derivation *d);
bool derive_hessian(Derivation *d);
bool derive_hvp(Derivation *d);

#endif
