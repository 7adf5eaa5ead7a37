/* The kernels of convolutions. */
#ifndef OPS_NN_CONV_RUN_H
#define OPS_NN_CONV_RUN_H

#include "ops/nn/conv.h"

/* conv and conv_input_grad, of operands and a result that have elements. */
bool conv_has_lattice(DType d);
bool conv_run_lattice(Call *c, const Conv *q);

#endif
