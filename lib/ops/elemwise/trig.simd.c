/* Loops of trig.def, once per level of CPU. */
#include "ops/elemwise/kernels.h"
#include "ops/elemwise/loops.h"
#include "ops/elemwise/vmath_inverse.h"

/* clang-format off */
#include "ops/elemwise/trig.def"
