/* This folder multiplies: products of matrices, contractions by letters, BLAS. The
 * decompositions and solvers of the folder above know it; it doesn't know them. Here:
 * batches of matrix products over strided operands. */
#ifndef OPS_LINALG_PRODUCT_PRODUCT_H
#define OPS_LINALG_PRODUCT_PRODUCT_H

#include "ops/linalg/product/blas.h"

/* out[batch..., m, n] = a[..., m, k] b[..., k, n]; a and b have at least two dims,
 * whose leading ones broadcast to batch (missing, or size 1); out is contiguous. Uses
 * OpenBLAS for dtypes that it has; float16 is computed in float32. */
bool product_run(Call *c, const Tensor *a, const Tensor *b, int nbatch,
                 const int64_t *batch, void *out);
/* Of two matrices, of which a or (right) b has zeros above (lower) or below its
 * diagonal. */
bool product_run_triangular(Call *c, const Tensor *a, const Tensor *b, bool right,
                            bool lower, void *out);
/* out = alpha a b + beta out, of two matrices. */
bool product_run_added(Call *c, const Tensor *a, const Tensor *b,
                       const GemmScale *scale, void *out);
bool product_reference_added(Call *c, const Tensor *a, const Tensor *b,
                             const GemmScale *scale, void *out);
/* product_run with three loops. */
void product_reference(const Tensor *a, const Tensor *b, int nbatch,
                       const int64_t *batch, void *out);
/* The inner product of k elements, as the reference computes it; strides in bytes. */
typedef void DotFn(int64_t k, const char *a, int64_t sa, const char *b, int64_t sb,
                   void *out);
DotFn *product_dot(DType d);

#endif
