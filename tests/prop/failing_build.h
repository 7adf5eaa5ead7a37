/* Calls that build graphs, which fail where build_fails(), the program's own, says so:
 * the linker wraps them (Makefile: BUILD_WRAP). */
#ifndef FAILING_BUILD_H
#define FAILING_BUILD_H

#include "lang/compile_impl.h"
#include "op/build.h"

static bool build_fails(void);

/* Type, name, session, parameters, arguments; what it returns when it fails. */
#define WRAPPED(type, name, session, params, args, failed)                             \
    type __real_##name params;                                                         \
    type __wrap_##name params;                                                         \
    type __wrap_##name params {                                                        \
        if (!build_fails()) return __real_##name args;                                 \
        fail(session, NOWHERE, E_MEM, "no room for an Apply");                         \
        return failed;                                                                 \
    }
WRAPPED(bool, op_apply, b->s,
        (Builder * b, const Op *op, const Props *props, size_t nin, const Var *in,
         Var *out),
        (b, op, props, nin, in, out), false)
WRAPPED(Var, op_apply1, b->s,
        (Builder * b, const Op *op, const Props *props, size_t nin, const Var *in),
        (b, op, props, nin, in), VAR_NONE)
WRAPPED(Var, op_call1, b->s, (Builder * b, const char *op, Var x), (b, op, x), VAR_NONE)
WRAPPED(Var, op_call2, b->s, (Builder * b, const char *op, Var x, Var y), (b, op, x, y),
        VAR_NONE)
WRAPPED(Var, op_call3, b->s, (Builder * b, const char *op, Var x, Var y, Var z),
        (b, op, x, y, z), VAR_NONE)
WRAPPED(Var, apply_named, b->s,
        (Builder * b, const char *op, size_t nin, const Var *in, size_t nprop,
         const PropArg *prop),
        (b, op, nin, in, nprop, prop), VAR_NONE)
WRAPPED(Var, op_cast_to, b->s, (Builder * b, Var x, DType d), (b, x, d), VAR_NONE)
WRAPPED(Var, shape_of, b->s, (Builder * b, Var x, int axis), (b, x, axis), VAR_NONE)
WRAPPED(Var, shape_vector, b->s, (Builder * b, Var x), (b, x), VAR_NONE)
WRAPPED(Var, ints_stack, b->s, (Builder * b, size_t n, const Var *v), (b, n, v),
        VAR_NONE)
WRAPPED(Var, sum_to_shape, b->s, (Builder * b, Var g, Var like), (b, g, like), VAR_NONE)
WRAPPED(Var, op_zeros_like, b->s, (Builder * b, Var x, DType d), (b, x, d), VAR_NONE)
WRAPPED(Var, const_int, b->s, (Builder * b, int64_t v), (b, v), VAR_NONE)
WRAPPED(Var, const_number, b->s, (Builder * b, DType d, double v), (b, d, v), VAR_NONE)
WRAPPED(bool, compiler_var, c->s, (Compiler * c, const Node *n, DType like, Var *out),
        (c, n, like, out), false)
WRAPPED(bool, compiler_ints, c->s, (Compiler * c, const Node *n, Var *out), (c, n, out),
        false)
WRAPPED(bool, compiler_tree, c->s,
        (Compiler * c, size_t n, const Node *item, const Sym *key, Span at, Node *out),
        (c, n, item, key, at, out), false)
WRAPPED(bool, compiler_constant, c->s, (Compiler * c, Var v, bool *known, Value *out),
        (c, v, known, out), false)
WRAPPED(bool, tensor_new, s,
        (Session * s, DType d, int ndim, const int64_t *shape, Tensor *out),
        (s, d, ndim, shape, out), false)
WRAPPED(bool, tensor_clone, s, (Session * s, const Tensor *src, Tensor *out),
        (s, src, out), false)
WRAPPED(bool, tensor_cast, s, (Session * s, const Tensor *src, DType d, Tensor *out),
        (s, src, d, out), false)

#endif
