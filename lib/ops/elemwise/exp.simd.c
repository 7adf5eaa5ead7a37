/* Loops of exp.def, once per level of CPU. */
#include "ops/elemwise/kernels.h"
#include "ops/elemwise/loops.h"
#include "ops/elemwise/vmath_complex.h"
#include "ops/elemwise/vmath_erf.h"

/* clang-format off */
#include "ops/elemwise/exp.def"
