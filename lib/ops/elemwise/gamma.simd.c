/* Loops of gamma.def, once per level of CPU. */
#include "ops/elemwise/kernels.h"
#include "ops/elemwise/loops.h"
#include "ops/elemwise/special.h"
#include "ops/elemwise/vmath_gamma.h"

/* clang-format off */
#include "ops/elemwise/gamma.def"
