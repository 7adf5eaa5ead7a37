/* Runs a convolution. */
#include "ops/nn/conv.h"

bool conv_run(Call *c, const Conv *q) {
    return conv_reference(c, q);
}
