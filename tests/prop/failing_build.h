/* Calls that build graphs, which fail where build_fails(), the program's own, says so:
 * the linker wraps them (Makefile: BUILD_WRAP). */
#ifndef FAILING_BUILD_H
#define FAILING_BUILD_H

#include "op/build.h"

static bool build_fails(void);

/* Type, name, parameters, arguments; what it returns when it fails. */
#define WRAPPED(type, name, params, args, failed)                                      \
    type __real_##name params;                                                         \
    type __wrap_##name params;                                                         \
    type __wrap_##name params {                                                        \
        if (!build_fails()) return __real_##name args;                                 \
        fail(b->s, NOWHERE, E_MEM, "no room for an Apply");                            \
        return failed;                                                                 \
    }
WRAPPED(bool, op_apply,
        (Builder * b, const Op *op, const Props *props, size_t nin, const Var *in,
         Var *out),
        (b, op, props, nin, in, out), false)
WRAPPED(Var, op_apply1,
        (Builder * b, const Op *op, const Props *props, size_t nin, const Var *in),
        (b, op, props, nin, in), VAR_NONE)
WRAPPED(Var, op_call1, (Builder * b, const char *op, Var x), (b, op, x), VAR_NONE)
WRAPPED(Var, op_call2, (Builder * b, const char *op, Var x, Var y), (b, op, x, y),
        VAR_NONE)
WRAPPED(Var, op_call3, (Builder * b, const char *op, Var x, Var y, Var z),
        (b, op, x, y, z), VAR_NONE)
WRAPPED(Var, apply_named,
        (Builder * b, const char *op, size_t nin, const Var *in, size_t nprop,
         const PropArg *prop),
        (b, op, nin, in, nprop, prop), VAR_NONE)
WRAPPED(Var, op_cast_to, (Builder * b, Var x, DType d), (b, x, d), VAR_NONE)
WRAPPED(Var, shape_of, (Builder * b, Var x, int axis), (b, x, axis), VAR_NONE)
WRAPPED(Var, shape_vector, (Builder * b, Var x), (b, x), VAR_NONE)
WRAPPED(Var, ints_stack, (Builder * b, size_t n, const Var *v), (b, n, v), VAR_NONE)
WRAPPED(Var, sum_to_shape, (Builder * b, Var g, Var like), (b, g, like), VAR_NONE)
WRAPPED(Var, op_zeros_like, (Builder * b, Var x, DType d), (b, x, d), VAR_NONE)
WRAPPED(Var, const_int, (Builder * b, int64_t v), (b, v), VAR_NONE)
WRAPPED(Var, const_number, (Builder * b, DType d, double v), (b, d, v), VAR_NONE)

#endif
