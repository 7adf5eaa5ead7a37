/* Derivatives as functions of the language: gradients, pullbacks, pushforwards. */
#include "ad/args.h"
#include "ad/term.h"

static bool expand_grad(Compiler *c, const Ast *call, const Ast *const *arg,
                        Node *out) {
    Node cost;
    ArgVars wrt;
    Var cost_var;
    GradOptions how = {0};
    if (!compiler_ast(c, arg[0], &cost) ||
        !compiler_var(c, &cost, DT_NONE, &cost_var) || !arg_vars(c, arg[1], &wrt) ||
        !grad_options(c, arg + 2, &how))
        return false;
    Var *grad = NEW_N(compiler_arena(c), wrt.v.n, Var);
    Expansion e = expansion_begin(c, call);
    bool ok = ad_grad(e.b, cost_var, wrt.v, &how, grad);
    expansion_end(&e);
    return ok && result_like(c, &wrt, grad, out->at, out);
}

static bool expand_vjp(Compiler *c, const Ast *call, const Ast *const *arg, Node *out) {
    ArgVars f, wrt;
    Var *cotangent;
    GradOptions how = {0};
    if (!arg_vars(c, arg[0], &f) || !arg_vars(c, arg[1], &wrt) ||
        !arg_companions(c, call, arg[2], "cotangent", &f, &cotangent) ||
        !grad_options(c, arg + 3, &how))
        return false;
    Var *grad = NEW_N(compiler_arena(c), wrt.v.n, Var);
    Expansion e = expansion_begin(c, call);
    bool ok = ad_vjp(e.b, f.v, cotangent, wrt.v, &how, grad);
    expansion_end(&e);
    return ok && result_like(c, &wrt, grad, out->at, out);
}

static bool expand_jvp(Compiler *c, const Ast *call, const Ast *const *arg, Node *out) {
    ArgVars f, wrt;
    Var *t;
    if (!arg_vars(c, arg[0], &f) || !arg_vars(c, arg[1], &wrt) ||
        !arg_companions(c, call, arg[2], "tangent", &wrt, &t))
        return false;
    Var *result = NEW_N(compiler_arena(c), f.v.n, Var);
    Expansion e = expansion_begin(c, call);
    bool ok = ad_jvp_parts(e.b, f.v, wrt.v, t, false, result);
    for (size_t i = 0; ok && i < f.v.n; i++) /* independence means a zero tangent */
        if (result[i] == GRAD_DISCONNECTED) {
            Var like = f.v.p[i];
            ok =
                (result[i] = op_zeros_like(e.b, like, ad_dtype(e.b, like))) != VAR_NONE;
        }
    expansion_end(&e);
    return ok && result_like(c, &f, result, out->at, out);
}

static const Macro table[] = {
    {.name = "grad",
     .doc =
         "Gradient of a scalar cost with respect to a variable or a list of variables.",
     .signature = "cost, wrt, " GRAD_ARGS,
     .expand = expand_grad},
    {.name = "vjp",
     .doc = "Pullback: the gradient of sum(f * cotangent) with respect to wrt.",
     .signature = "f, wrt, cotangent, " GRAD_ARGS,
     .expand = expand_vjp},
    {.name = "jvp",
     .doc = "Pushforward: the directional derivative of f along tangents of wrt.",
     .signature = "f, wrt, tangent",
     .expand = expand_jvp},
};
const MacroList macros_ad = LIST_OF(table);
