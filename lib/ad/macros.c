/* Derivatives as functions of the language: gradients, pullbacks, pushforwards. */
#include "ad/args.h"
#include "ad/term.h"

static bool expand_grad(Compiler *c, const Ast *call, const Ast *const *arg,
                        Node *out) {
    Node cost, wrt;
    Var cost_var, *v;
    size_t n;
    GradOptions how = {0};
    if (!compiler_ast(c, arg[0], &cost) ||
        !compiler_var(c, &cost, DT_NONE, &cost_var) ||
        !arg_vars(c, arg[1], &wrt, &n, &v) || !grad_options(c, arg + 2, &how))
        return false;
    Var *grad = NEW_N(compiler_arena(c), n, Var);
    Expansion e = expansion_begin(c, call);
    bool ok = ad_grad(e.b, cost_var, n, v, &how, grad);
    expansion_end(&e);
    return ok && result_like(c, &wrt, n, grad, out->at, out);
}

static bool expand_vjp(Compiler *c, const Ast *call, const Ast *const *arg, Node *out) {
    Node of, wrt;
    Var *f, *g, *v;
    size_t nf, n;
    GradOptions how = {0};
    if (!arg_vars(c, arg[0], &of, &nf, &f) || !arg_vars(c, arg[1], &wrt, &n, &v) ||
        !arg_companions(c, call, arg[2], "cotangent", &of, nf, f, &g) ||
        !grad_options(c, arg + 3, &how))
        return false;
    Var *grad = NEW_N(compiler_arena(c), n, Var);
    Expansion e = expansion_begin(c, call);
    bool ok = ad_vjp(e.b, nf, f, g, n, v, &how, grad);
    expansion_end(&e);
    return ok && result_like(c, &wrt, n, grad, out->at, out);
}

static bool expand_jvp(Compiler *c, const Ast *call, const Ast *const *arg, Node *out) {
    Node f, wrt;
    Var *fs, *v, *t;
    size_t nf, n;
    if (!arg_vars(c, arg[0], &f, &nf, &fs) || !arg_vars(c, arg[1], &wrt, &n, &v) ||
        !arg_companions(c, call, arg[2], "tangent", &wrt, n, v, &t))
        return false;
    Var *result = NEW_N(compiler_arena(c), nf, Var);
    Expansion e = expansion_begin(c, call);
    bool ok = ad_jvp(e.b, nf, fs, n, v, t, false, result);
    for (size_t i = 0; ok && i < nf; i++) /* independence means a zero tangent */
        if (result[i] == GRAD_DISCONNECTED)
            ok = (result[i] = zeros_like(e.b, fs[i], ad_dtype(e.b, fs[i]))) != VAR_NONE;
    expansion_end(&e);
    return ok && result_like(c, &f, nf, result, out->at, out);
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
