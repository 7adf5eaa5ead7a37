/* The ops of bits.def. */
#include "ops/elemwise/table.h"

#define ROW(k, out, name, domain, ...) TABLE_LOOPS(domain, name)
#include "ops/elemwise/bits.def"
#undef ROW

#define ROW(k, out, name, domain, kernels, ...) TABLE_OP(k, out, name, __VA_ARGS__)
static const Op table[] = {
#include "ops/elemwise/bits.def"
};
const OpList ops_elemwise_bits = LIST_OF(table);
