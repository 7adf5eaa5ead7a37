/* The kernels of convolutions. */
#ifndef OPS_NN_CONV_RUN_H
#define OPS_NN_CONV_RUN_H

#include "ops/nn/conv.h"

/* Of operands and a result that have elements, in dtypes that have vectors. */
bool conv_has_vectors(DType d);
bool conv_run_lattice(Call *c, const Conv *q); /* conv and conv_input_grad */
/* Any of the three, if it is for channels with one filter each that this CPU can do at
 * once; else false, and nothing is done. */
bool conv_run_each(Call *c, const Conv *q);
/* conv_input_grad, if it has strides, and y few positions and many channels; else
 * false, and nothing is done. *ok: did it succeed? */
bool conv_run_columns(Call *c, const Conv *q, bool *ok);
bool conv_run_weights_grad(Call *c, const Conv *q);

#endif
