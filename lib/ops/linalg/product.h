/* Batches of matrix products over strided operands. */
#ifndef OPS_LINALG_PRODUCT_H
#define OPS_LINALG_PRODUCT_H

#include "op/op.h"

/* out[batch..., m, n] = a[..., m, k] b[..., k, n]; a and b have at least two dims,
 * whose leading ones broadcast to batch (missing, or size 1); out is contiguous. By
 * OpenBLAS where it has the dtype; float16 in float32. */
bool product_run(Call *c, const Tensor *a, const Tensor *b, int nbatch,
                 const int64_t *batch, void *out);
/* The same by three loops. */
void product_reference(const Tensor *a, const Tensor *b, int nbatch,
                       const int64_t *batch, void *out);

#endif
