/* Jacobians, Hessians and vectorize as functions of the language. */
#include "ad/args.h"
#include "ad/jacobian.h"
#include "vmap/vmap.h"

static const char *const mode_words[] = {"auto", "reverse", "forward", NULL};

static bool expand_jacobian(Compiler *c, const Ast *call, const Ast *const *arg,
                            Node *out) {
    ArgVars f, wrt;
    int mode;
    GradOptions how = {0};
    if (!arg_vars(c, arg[0], &f) || !arg_vars(c, arg[1], &wrt) ||
        !grad_options(c, arg + 2, &how) ||
        !arg_word(c, arg[2 + GRAD_NARG], mode_words, "mode", &mode))
        return false;
    Var *result = NEW_N(compiler_arena(c), f.v.n * wrt.v.n, Var);
    Expansion e = expansion_begin(c, call);
    bool ok = ad_jacobian(e.b, f.v, wrt.v, &how, (JacobianMode)mode, result);
    expansion_end(&e);
    return ok && result_matrix(c, &f, &wrt, result, out->at, out);
}

static bool expand_hessian(Compiler *c, const Ast *call, const Ast *const *arg,
                           Node *out) {
    Node cost;
    ArgVars wrt;
    Var cost_var;
    bool mixed;
    GradOptions how = {0};
    if (!compiler_ast(c, arg[0], &cost) ||
        !compiler_var(c, &cost, DT_NONE, &cost_var) || !arg_vars(c, arg[1], &wrt) ||
        !grad_options(c, arg + 2, &how) ||
        !arg_flag(c, arg[2 + GRAD_NARG], "mixed", &mixed))
        return false;
    Var *result = NEW_N(compiler_arena(c), wrt.v.n * wrt.v.n, Var);
    Expansion e = expansion_begin(c, call);
    bool ok = ad_hessian(e.b, cost_var, wrt.v, &how, mixed, result);
    expansion_end(&e);
    if (!ok) return false;
    return mixed ? result_matrix(c, &wrt, &wrt, result, out->at, out)
                 : result_like(c, &wrt, result, out->at, out);
}

static bool expand_hvp(Compiler *c, const Ast *call, const Ast *const *arg, Node *out) {
    Node cost;
    ArgVars wrt;
    Var cost_var, *p;
    GradOptions how = {0};
    if (!compiler_ast(c, arg[0], &cost) ||
        !compiler_var(c, &cost, DT_NONE, &cost_var) || !arg_vars(c, arg[1], &wrt) ||
        !arg_companions(c, call, arg[2], "vector", &wrt, &p) ||
        !grad_options(c, arg + 3, &how))
        return false;
    Var *result = NEW_N(compiler_arena(c), wrt.v.n, Var);
    Expansion e = expansion_begin(c, call);
    bool ok = ad_hvp(e.b, cost_var, wrt.v, p, &how, result);
    expansion_end(&e);
    return ok && result_like(c, &wrt, result, out->at, out);
}

/* The values for x: any expression if x is a single variable, of x's dtype if that is
 * open. */
static bool vectorize_row_args(Compiler *c, const Ast *call, const Ast *arg,
                               const ArgVars *x, Var **rows) {
    Node node;
    if (x->node.kind != NODE_VAR) return arg_companions(c, call, arg, "value", x, rows);
    *rows = NEW_N(compiler_arena(c), 1, Var);
    return compiler_ast(c, arg, &node) &&
           compiler_var(c, &node, var_type(compiler_builder(c)->g, x->v.p[0])->dtype,
                        *rows);
}

static bool expand_vectorize(Compiler *c, const Ast *call, const Ast *const *arg,
                             Node *out) {
    ArgVars f = {0}, x;
    Var *fs, *rows;
    bool function = !arg[1] && !arg[2];
    if (!(function ? compiler_function_ast : compiler_ast)(c, arg[0], &f.node))
        return false;
    if (f.node.kind == NODE_FUNCTION)
        return vmap_macro_function(c, call, &f.node, arg, out);
    if (!arg[1] || !arg[2] || arg[3])
        return fail(compiler_builder(c)->s, call->at, E_ARITY,
                    "vectorize takes a function, vectorize(f)(rows), or an expression, "
                    "a variable and its replacement, vectorize(y, x, rows)");
    if (!compiler_vars(c, &f.node, &f.v.n, &fs) || !arg_vars(c, arg[1], &x) ||
        !vectorize_row_args(c, call, arg[2], &x, &rows))
        return false;
    f.v.p = fs;
    Var *result = NEW_N(compiler_arena(c), f.v.n, Var);
    Expansion e = expansion_begin(c, call);
    bool ok = vmap_nested(e.b, x.v, rows, &(VmapWant){f.v, f.v.n}, result);
    expansion_end(&e);
    return ok && result_like(c, &f, result, out->at, out);
}

static const Macro table[] = {
    {.name = "jacobian",
     .doc = "Derivatives of every element of f with respect to every element of wrt; "
            "the shape is f's followed by wrt's. They are computed in one batched "
            "program, in forward mode unless wrt has more elements than f; "
            "mode='reverse' or 'forward' decides. A list of f gives a list for each.",
     .signature = "f, wrt, " GRAD_ARGS ", mode='auto'",
     .expand = expand_jacobian,
     .example = "jacobian(x**2, x)"},
    {.name = "hessian",
     .doc = "Second derivatives of a scalar cost with respect to wrt, of wrt's shape "
            "twice. A list of variables gives one for each; with mixed=True each of "
            "them gives a list: its own block and those with all others.",
     .signature = "cost, wrt, " GRAD_ARGS ", mixed=False",
     .expand = expand_hessian,
     .example = "hessian(sum(x**3), x)"},
    {.name = "hvp",
     .doc = "The Hessian of a scalar cost with respect to wrt times a vector v of "
            "wrt's shape, without building the Hessian. With lists, all blocks count.",
     .signature = "cost, wrt, v, " GRAD_ARGS,
     .expand = expand_hvp,
     .example = "hvp(sum(x**3), x, ones_like(x))"},
    {.name = "vectorize",
     .doc = "vectorize(f)(rows, ...) applies f to each row and gives the results as "
            "rows; f is the name of a function or (lambda x: ...). in_axes says which "
            "axis of each argument has the rows, or None if the argument is the same "
            "for all, as in in_axes=[0, None]. vectorize(y, x, rows) computes an "
            "expression y for many values of x at once: `rows` replaces x and has "
            "additional leading dims, which the result then has too; with lists, an "
            "item without additional dims just replaces its x. It is one program, not "
            "a loop. Values that are sown, printed or asserted inside are so once, "
            "with all rows, and no longer for x unless something else reads it.",
     .signature = "f, x=None, rows=None, in_axes=0",
     .expand = expand_vectorize,
     .gives_function = 1,
     .example = "vectorize(lambda v: sum(v**2))(rows)"},
};
const MacroList macros_ad_matrix = LIST_OF(table);
