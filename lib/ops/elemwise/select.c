/* The op of select.def. Its gradient selects too: multiplying by 0 would let inf and
 * nan of the branch not taken through. */
#include "ops/elemwise/deriv.h"
#include "ops/elemwise/table.h"

static bool where_push(Push *p) {
    if (p->tangent[1] == VAR_NONE && p->tangent[2] == VAR_NONE) return true;
    Var x = push_tangent(p, 1), y = push_tangent(p, 2);
    if (x == VAR_NONE || y == VAR_NONE) return false;
    p->result[0] = op_call3(p->b, "where", p->in[0], x, y);
    return p->result[0] != VAR_NONE;
}

#define ROW(k, out, name, domain, ...) TABLE_LOOPS(domain, name)
#include "ops/elemwise/select.def"
#undef ROW

#define ROW(k, out, name, domain, kernels, ...) TABLE_OP(k, out, name, __VA_ARGS__)
static const Op table[] = {
#include "ops/elemwise/select.def"
};
const OpList ops_elemwise_select = LIST_OF(table);
