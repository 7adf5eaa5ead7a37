/* Loops of complex.def, once per level of CPU. */
#include "ops/elemwise/kernels.h"
#include "ops/elemwise/loops.h"

/* clang-format off */
#include "ops/elemwise/complex.def"
