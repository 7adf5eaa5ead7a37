/* The kernels of convolutions. */
#ifndef OPS_NN_CONV_RUN_H
#define OPS_NN_CONV_RUN_H

#include "ops/nn/conv.h"

/* Of operands and a result that have elements, in dtypes that have vectors. */
bool conv_has_vectors(DType d);
bool conv_run_lattice(Call *c, const Conv *q); /* conv and conv_input_grad */
bool conv_run_weights_grad(Call *c, const Conv *q);

#endif
