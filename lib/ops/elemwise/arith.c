/* The ops of arith.def. */
#include "ops/elemwise/power.h"
#include "ops/elemwise/table.h"

#define ROW(k, out, name, domain, ...) TABLE_LOOPS(domain, name)
#include "ops/elemwise/arith.def"
#undef ROW

#define ROW(k, out, name, domain, kernels, ...) TABLE_OP(k, out, name, __VA_ARGS__)
static const Op table[] = {
#include "ops/elemwise/arith.def"
};
const OpList ops_elemwise_arith = LIST_OF(table);
