/* Loops of compare.def, once per level of CPU. */
#include "ops/elemwise/kernels.h"
#include "ops/elemwise/loops.h"

#if TL_LEVEL == 1
#include "ops/elemwise/compare256.h"
#endif

/* clang-format off */
#include "ops/elemwise/compare.def"
