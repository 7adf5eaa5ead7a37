/* The ops of gamma.def. */
#include "ops/elemwise/table.h"

#define ROW(k, out, name, domain, ...) TABLE_LOOPS(domain, name)
#include "ops/elemwise/gamma.def"
#undef ROW

#define ROW(k, out, name, domain, kernels, ...) TABLE_OP(k, out, name, __VA_ARGS__)
static const Op table[] = {
#include "ops/elemwise/gamma.def"
};
const OpList ops_elemwise_gamma = LIST_OF(table);
