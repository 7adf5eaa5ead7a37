/* Loops of arith.def, once per level of CPU. */
#include "ops/elemwise/kernels.h"
#include "ops/elemwise/loops.h"
#include "ops/elemwise/short_quotients.h"
#include "ops/elemwise/vmath_complex.h"
#include "ops/elemwise/vmath_power.h"

/* clang-format off */
#include "ops/elemwise/arith.def"
