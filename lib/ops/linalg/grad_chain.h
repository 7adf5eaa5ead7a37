/* Derivatives of matrix ops as chains of named texts, read like the formulas in papers.
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
    bool ok; /* false: diagnosed; everything after does nothing */
} Rule;

/* Names of an Apply: inputs, outputs (r when there is one) and props under their own;
 * in reverse mode the cotangents g (of one output) or g_NAME, in forward mode the
 * tangents d_NAME of the inputs. What is disconnected has no name. */
Rule rule_pull(const Pull *p);
Rule rule_push(const Push *p);

/* name = text */
bool rule_let(Rule *r, const char *name, const char *text);
void rule_bind(Rule *r, const char *name, Var v); /* VAR_NONE: something went wrong */
bool rule_has(const Rule *r, const char *name);
Var rule_get(Rule *r, const char *name); /* VAR_NONE: diagnosed before */
/* name = of^H; plain transposes and conjugates. */
void rule_hermitian(Rule *r, const char *name, const char *of);
void rule_transpose(Rule *r, const char *name, const char *of);
void rule_conj(Rule *r, const char *name, const char *of);
/* name = the real part; itself when it is real. */
void rule_real(Rule *r, const char *name, const char *of);
/* name = num / den, and 0 where both are 0: what has no share in a cotangent takes none
 * of a pole. */
void rule_quotient(Rule *r, const char *name, const char *num, const char *den);
/* name = a vector as a matrix of one column, and back. */
void rule_column(Rule *r, const char *name);
void rule_uncolumn(Rule *r, const char *name);

/* What a function that reads one triangle of its input takes it for, and what that
 * makes of gradients (Murray, Differentiation of the Cholesky decomposition, 2016:
 * there Phi is a triangle with half of the diagonal). */
typedef enum Half { HALF_LOWER, HALF_UPPER } Half;
/* name = Phi(of) */
void rule_half(Rule *r, const char *name, const char *of, Half half);
/* name = the Hermitian (else symmetric) matrix whose triangle `of` has. */
void rule_mirror(Rule *r, const char *name, const char *of, Half half, bool hermitian);
/* name = the gradient for that triangle from the gradient `of` for the whole matrix. */
void rule_fold(Rule *r, const char *name, const char *of, Half half, bool hermitian);

/* grad[i] = the named variable, summed over the dims along which input i was stretched.
 */
bool rule_grad(Rule *r, const Pull *p, size_t i, const char *name);
bool rule_result(Rule *r, const Push *p, size_t o, const char *name);
/* Nothing is known of the tangents: every result is disconnected. */
bool rule_no_tangent(const Push *p);

#endif
