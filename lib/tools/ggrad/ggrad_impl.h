/* Shared by the files behind graph_derive. */
#ifndef TOOLS_GGRAD_GGRAD_IMPL_H
#define TOOLS_GGRAD_GGRAD_IMPL_H

#include "ad/term.h"
#include "tools/tools.h"

typedef struct Derivation {
    Graph *g;
    Session *s;
    Arena *a;
    const Derive *d;
    Builder b;
    VarList wrt;
    size_t kept; /* outputs that existed before */
    Var *along;  /* directions, by wrt */
    Vec(Claim) claims;
    Map asked; /* variable -> the first name that an option gives it */
} Derivation;

/* Finds what an option names, and keeps the names. False: diagnosed. */
bool derive_find(Derivation *d, const char *option, const char *list, VarList *out);
bool derive_find_one(Derivation *d, const char *name, Var *v);
/* The name for v in errors and results: the one that was asked for, if any was. */
const char *derive_shown(const Derivation *d, Var v);
Span derive_span(const Derivation *d, const char *option, const char *text);
/* --wrt, or by default the variables that the cost depends on. */
bool derive_wrt(Derivation *d, Var cost);
/* The options of gradients. */
bool derive_options(Derivation *d, GradOptions *how);
/* The option that names companions of variables (--cotangent, --tangents, --vector),
 * its value or NULL, and the prefix of their names without it. */
typedef struct Companions {
    const char *option, *list, *prefix;
} Companions;
/* A variable for each of `of`: the named ones, or new inputs of the same type if they
 * don't exist. */
bool derive_companions(Derivation *d, const Companions *how, VarList of, Var *v);
/* What an output that is a derivative is called, by --name or `pattern`,
 * "d_{cost}_d_{wrt}". */
typedef struct OutputName {
    const char *pattern, *cost, *wrt;
} OutputName;
/* Adds v as an output; v claims to be the derivative of `of` (Claim). Does nothing if v
 * is disconnected. */
bool derive_output(Derivation *d, OutputName name, Var v, Var of, size_t by);

/* Gradients, following --checkpoint. */
bool derive_gradients(Derivation *d, const GradTarget *of, const GradOptions *how,
                      Var *grad);
/* For --checkpoint sqrt, before differentiation: makes loops recompute too. */
bool derive_loops(Graph *g, const Derive *how);
/* --jacobian, --hessian, --hvp. */
bool derive_jacobian(Derivation *d);
bool derive_hessian(Derivation *d);
bool derive_hvp(Derivation *d);

#endif
