/* Identities that only derivatives interpret: zero_grad, disconnected_grad,
 * undefined_grad, grad_clip, grad_scale. At run time they are views. Rules tagged
 * specialize remove them, after derivatives have been taken. */
#include "ops/shape/linear.h"

static bool inexact_type(Infer *in) {
    return infer_want_kinds(in, 0, KIND_FLOAT | KIND_COMPLEX) && infer_same_type(in);
}

static double prop_float(Session *s, const Op *op, const Props *p, const char *name) {
    return op_prop(s, op, p, name)->f;
}

static bool grad_clip_type(Infer *in) {
    double lo = prop_float(in->s, in->op, in->props, "lower_bound"),
           hi = prop_float(in->s, in->op, in->props, "upper_bound");
    if (!(lo <= hi))
        return infer_fail(in, E_ARG, in->nin,
                          "upper_bound (%g) must be at least lower_bound (%g)", hi, lo);
    return infer_want_kinds(in, 0, KIND_FLOAT) && infer_same_type(in);
}

static Var prop_const(Builder *b, const Op *op, const Props *p, const char *name,
                      Var like) {
    return const_number(b, var_type(b->g, like)->dtype, prop_float(b->s, op, p, name));
}

/* ---- forward mode: the same operation on the tangent ---- */
static bool undefined_grad_push(Push *p) {
    p->result[0] = grad_undefined(p->b, "undefined_grad makes it undefined");
    return true;
}

/* For a sparse gradient, only its stored elements. */
static Var clip_gradient(Builder *b, const Op *op, const Props *p, Var g) {
    Var lo = prop_const(b, op, p, "lower_bound", g),
        hi = prop_const(b, op, p, "upper_bound", g);
    if (var_type(b->g, g)->kind != TYPE_SPARSE) return op_call3(b, "clip", g, lo, hi);
    return op_call2(b, "sparse_with_data", g,
                    op_call3(b, "clip", op_call1(b, "sparse_data", g), lo, hi));
}

static bool grad_clip_push(Push *p) {
    Var t = p->tangent[0];
    p->result[0] = t == VAR_NONE ? t : clip_gradient(p->b, p->op, p->props, t);
    return t == VAR_NONE || p->result[0] != VAR_NONE;
}

static Var scale_gradient(Builder *b, const Op *op, const Props *p, Var g) {
    return op_call2(b, "multiply", g, prop_const(b, op, p, "multiplier", g));
}

static bool grad_scale_push(Push *p) {
    Var t = p->tangent[0];
    p->result[0] = t == VAR_NONE ? t : scale_gradient(p->b, p->op, p->props, t);
    return t == VAR_NONE || p->result[0] != VAR_NONE;
}

/* ---- reverse mode ---- */
static bool grad_clip_pull(Pull *p) {
    p->grad[0] = clip_gradient(p->b, p->op, p->props, p->cotangent[0]);
    return p->grad[0] != VAR_NONE;
}

static bool grad_scale_pull(Pull *p) {
    p->grad[0] = scale_gradient(p->b, p->op, p->props, p->cotangent[0]);
    return p->grad[0] != VAR_NONE;
}

static const char *const zero[] = {"0"};
static const char *const disconnected[] = {"disconnected"};
static const char *const undefined[] = {
    "undefined('undefined_grad makes it undefined')"};

#define IDENTITY .in = "x: any", .perform = call_pass_on, .view = 1, .identity = true

static const Op table[] = {
    {.name = OP_ROW("zero_grad"),
     .doc = "x; its gradient is zero, but it stays connected.",
     .alias = "consider_constant",
     .type = infer_same_type,
     .adjoint = zero,
     .push = push_none,
     .example = "zero_grad(1.5) -> 1.5",
     IDENTITY},
    {.name = OP_ROW("disconnected_grad"),
     .doc =
         "x; derivatives are disconnected from it, and nothing before it is visited.",
     .type = infer_same_type,
     .adjoint = disconnected,
     .push = push_none,
     .disconnected = "x",
     .example = "disconnected_grad(1.5) -> 1.5",
     IDENTITY},
    {.name = OP_ROW("undefined_grad"),
     .doc = "x; a gradient through it is an error.",
     .type = infer_same_type,
     .adjoint = undefined,
     .push = undefined_grad_push,
     .example = "undefined_grad(1.5) -> 1.5",
     IDENTITY},
    {.name = OP_ROW("grad_clip"),
     .doc = "x; gradients through it are clipped to [lower_bound, upper_bound].",
     .props = "lower_bound: float = -1.0, upper_bound: float = 1.0",
     .type = grad_clip_type,
     .pull = grad_clip_pull,
     .push = grad_clip_push,
     .example = "grad_clip(1.5, lower_bound=-1., upper_bound=1.) -> 1.5",
     IDENTITY},
    {.name = OP_ROW("grad_scale"),
     .doc = "x; gradients through it are multiplied.",
     .props = "multiplier: float = 1.0",
     .type = inexact_type,
     .pull = grad_scale_pull,
     .push = grad_scale_push,
     .example = "grad_scale(1.5, multiplier=2.) -> 1.5",
     IDENTITY},
};
const OpList ops_control_gradient = LIST_OF(table);
