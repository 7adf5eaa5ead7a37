/* The ops of compare.def. */
#include "ops/elemwise/table.h"

#define ROW(k, out, name, domain, ...) TABLE_LOOPS(domain, name)
#include "ops/elemwise/compare.def"
#undef ROW

#define ROW(k, out, name, domain, kernels, ...) TABLE_OP(k, out, name, __VA_ARGS__)
static const Op table[] = {
#include "ops/elemwise/compare.def"
};
const OpList ops_elemwise_compare = LIST_OF(table);
