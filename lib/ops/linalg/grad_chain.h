/* Derivatives of matrix ops as chains of named formulas that read like those in papers.
 * Matrices are the last two dims; H is the conjugate transpose. */
#ifndef OPS_LINALG_GRAD_CHAIN_H
#define OPS_LINALG_GRAD_CHAIN_H

#include "op/build.h"

enum { RULE_NAMES = 40 };
typedef struct Rule {
    Builder *b;
    const Op *op;
    const Props *props;
    size_t n;
    Bind bind[RULE_NAMES];
    bool ok; /* false: diagnosed; all later calls do nothing */
} Rule;

/* Binds the names of an Apply: inputs, outputs (r if there is only one) and props by
 * their own names; in reverse mode the cotangents g (of a single output) or g_NAME, in
 * forward mode the inputs' tangents d_NAME. Disconnected ones are not bound. */
Rule rule_pull(const Pull *p);
Rule rule_push(const Push *p);

/* name = text */
bool rule_let(Rule *r, const char *name, const char *text);
void rule_bind(Rule *r, const char *name, Var v); /* VAR_NONE: an earlier error */
bool rule_has(const Rule *r, const char *name);
Var rule_get(Rule *r, const char *name); /* VAR_NONE: diagnosed earlier */
/* name = of^H; the plain transpose; the conjugate. */
void rule_hermitian(Rule *r, const char *name, const char *of);
void rule_transpose(Rule *r, const char *name, const char *of);
void rule_conj(Rule *r, const char *name, const char *of);
/* name = the real part; `of` itself if it is real. */
void rule_real(Rule *r, const char *name, const char *of);
/* name = num / den, but 0 where both are 0: a component without a cotangent must not
 * pick up a pole. */
void rule_quotient(Rule *r, const char *name, const char *num, const char *den);
/* name = a vector as a matrix of one column, and back. */
void rule_column(Rule *r, const char *name);
void rule_uncolumn(Rule *r, const char *name);
/* own = the diagonal as flags, gap = w_j - w_i, of eigenvalues w. */
void rule_eigen_gaps(Rule *r);

/* A matrix by its type, for rules that differ with it. */
typedef struct MatrixSides {
    bool is_complex, tall, wide; /* more rows than columns, or unknown */
    bool open;                   /* unknown */
} MatrixSides;
MatrixSides matrix_sides(const Graph *g, Var a);

/* How a function that reads one triangle interprets its input, and the effect on
 * gradients (Murray, Differentiation of the Cholesky decomposition, 2016: there Phi is
 * a triangle with half of the diagonal). */
typedef enum Half { HALF_LOWER, HALF_UPPER } Half;
/* name = Phi(of) */
void rule_half(Rule *r, const char *name, const char *of, Half half);
/* name = the Hermitian (else symmetric) matrix with the triangle of `of`. */
void rule_mirror(Rule *r, const char *name, const char *of, Half half, bool hermitian);
/* name = the gradient with respect to that triangle, from the gradient `of` for the
 * whole matrix. */
void rule_fold(Rule *r, const char *name, const char *of, Half half, bool hermitian);

/* grad[i] = the named variable, summed over the dims along which input i was
 * broadcast. */
bool rule_grad(Rule *r, const Pull *p, size_t i, const char *name);
bool rule_result(Rule *r, const Push *p, size_t o, const char *name);
/* No input has a tangent: every result is disconnected. */
bool rule_no_tangent(const Push *p);

#endif
