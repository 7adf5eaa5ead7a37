/* The ops of complex.def. */
#include "op/infer.h"
#include "ops/elemwise/deriv.h"
#include "ops/elemwise/table.h"

static bool complex_type(Infer *in) {
    if (!type_elemwise(in)) return false;
    DType d = in->type[0]->dtype == DT_FLOAT64 ? DT_COMPLEX128 : DT_COMPLEX64;
    in->out[0] = type_with_dtype(in->s, in->out[0], d);
    return true;
}
static bool complex_push(Push *p) {
    Var re = push_tangent(p, 0), im = push_tangent(p, 1);
    if (re == VAR_NONE || im == VAR_NONE) return false;
    p->result[0] = op_call2(p->b, "complex", re, im);
    return p->result[0] != VAR_NONE;
}

#define ROW(k, out, name, domain, ...) TABLE_LOOPS(domain, name)
#include "ops/elemwise/complex.def"
#undef ROW

#define ROW(k, out, name, domain, kernels, ...) TABLE_OP(k, out, name, __VA_ARGS__)
static const Op table[] = {
#include "ops/elemwise/complex.def"
};
const OpList ops_elemwise_complex = LIST_OF(table);
