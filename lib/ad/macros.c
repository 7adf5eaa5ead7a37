/* Derivatives as functions of the language. */
#include "ad/term.h"
#include "op/macro.h"

#include <string.h>

/* One of several words as a string argument; absent: the first. */
static bool word(Compiler *c, const Ast *arg, const char *const *words,
                 const char *name, int *which) {
    Session *s = compiler_builder(c)->s;
    Node n;
    *which = 0;
    if (!arg) return true;
    if (!compiler_ast(c, arg, &n)) return false;
    for (int i = 0; words[i]; i++)
        if (n.kind == NODE_STRING && strcmp(words[i], sym_text(s, n.sym)) == 0)
            return *which = i, true;
    Str list = STR(s);
    for (int i = 0; words[i]; i++)
        str_printf(&list, "%s'%s'", i ? ", " : "", words[i]);
    fail(s, arg->at, E_ARG, "%s must be one of %s", name, str_text(&list));
    str_free(&list);
    return false;
}

/* A list of variables; absent: none. */
static bool vars(Compiler *c, const Ast *arg, size_t *n, Var **v) {
    Node node;
    *n = 0;
    return !arg || (compiler_ast(c, arg, &node) && compiler_vars(c, &node, n, v));
}

/* The result in the form of wrt: one, or a list. */
static Node as_node(Var v, Span at) {
    if (v == GRAD_DISCONNECTED) return (Node){.kind = NODE_DISCONNECTED, .at = at};
    return node_var(v, at);
}

static void like_wrt(Compiler *c, const Node *wrt, size_t n, const Var *v, Node *out) {
    if (wrt->kind == NODE_VAR) {
        *out = as_node(v[0], out->at);
        return;
    }
    *out = (Node){.kind = NODE_LIST,
                  .at = out->at,
                  .n = n,
                  .item = NEW_N(compiler_arena(c), n, Node)};
    for (size_t i = 0; i < n; i++)
        out->item[i] = as_node(v[i], out->at);
}

static const char *const raise_words[] = {"raise", "warn", "ignore", NULL};
static const char *const zero_words[] = {"zero", "none", NULL};
static const char *const null_words[] = {"raise", "return", NULL};

static bool options(Compiler *c, const Ast *const *arg, GradOptions *how) {
    int disconnected, zero, null;
    Var *v = NULL;
    if (!vars(c, arg[0], &how->nconstant, &v)) return false;
    how->constant = v;
    if (!word(c, arg[1], raise_words, "disconnected_inputs", &disconnected) ||
        !word(c, arg[2], zero_words, "return_disconnected", &zero) ||
        !word(c, arg[3], null_words, "null_gradients", &null))
        return false;
    how->disconnected = (OnDisconnected)disconnected;
    how->return_disconnected = (ReturnDisconnected)zero;
    how->null = (OnNull)null;
    return true;
}

static bool expand_grad(Compiler *c, const Ast *call, const Ast *const *arg,
                        Node *out) {
    Builder *b = compiler_builder(c);
    Node cost, wrt;
    Var cost_var, *v, *grad;
    size_t n;
    GradOptions how = {0};
    Origin was = b->from;
    if (!compiler_ast(c, arg[0], &cost) ||
        !compiler_var(c, &cost, DT_NONE, &cost_var) || !compiler_ast(c, arg[1], &wrt) ||
        !compiler_vars(c, &wrt, &n, &v) || !options(c, arg + 2, &how))
        return false;
    grad = NEW_N(compiler_arena(c), n, Var);
    b->from.at = call->at;
    bool intern = b->intern;
    b->intern = true;
    bool ok = ad_grad(b, cost_var, n, v, &how, grad);
    b->intern = intern;
    b->from = was;
    if (ok) like_wrt(c, &wrt, n, grad, out);
    return ok;
}

static bool expand_vjp(Compiler *c, const Ast *call, const Ast *const *arg, Node *out) {
    Builder *b = compiler_builder(c);
    Node wrt;
    Var *f, *g, *v;
    size_t nf, ng, n;
    GradOptions how = {0};
    Origin was = b->from;
    if (!vars(c, arg[0], &nf, &f) || !compiler_ast(c, arg[1], &wrt) ||
        !compiler_vars(c, &wrt, &n, &v) || !vars(c, arg[2], &ng, &g) ||
        !options(c, arg + 3, &how))
        return false;
    if (nf != ng)
        return fail(b->s, call->at, E_ARITY, "vjp has %zu variables but %zu cotangents",
                    nf, ng);
    Var *grad = NEW_N(compiler_arena(c), n, Var);
    b->from.at = call->at;
    bool ok = ad_vjp(b, nf, f, g, n, v, &how, grad);
    b->from = was;
    if (ok) like_wrt(c, &wrt, n, grad, out);
    return ok;
}

static bool expand_jvp(Compiler *c, const Ast *call, const Ast *const *arg, Node *out) {
    Builder *b = compiler_builder(c);
    Node f;
    Var *fs, *v, *t;
    size_t nf, n, nt;
    Origin was = b->from;
    if (!compiler_ast(c, arg[0], &f) || !compiler_vars(c, &f, &nf, &fs) ||
        !vars(c, arg[1], &n, &v) || !vars(c, arg[2], &nt, &t))
        return false;
    if (n != nt)
        return fail(b->s, call->at, E_ARITY, "jvp has %zu variables but %zu tangents",
                    n, nt);
    Var *result = NEW_N(compiler_arena(c), nf, Var);
    b->from.at = call->at;
    bool ok = ad_jvp(b, nf, fs, n, v, t, false, result);
    for (size_t i = 0; ok && i < nf; i++) /* no dependence is a zero tangent */
        if (result[i] == GRAD_DISCONNECTED)
            ok = (result[i] = zeros_like(b, fs[i], ad_dtype(b, fs[i]))) != VAR_NONE;
    b->from = was;
    if (ok) like_wrt(c, &f, nf, result, out);
    return ok;
}

static const Macro table[] = {
    {.name = "grad",
     .doc =
         "Gradient of a scalar cost with respect to a variable or a list of variables.",
     .signature = "cost, wrt, consider_constant=[], disconnected_inputs='raise', "
                  "return_disconnected='zero', "
                  "null_gradients='raise'",
     .expand = expand_grad},
    {.name = "vjp",
     .doc = "Pullback: the gradient of sum(f * cotangent) with respect to wrt.",
     .signature =
         "f, wrt, cotangent, consider_constant=[], disconnected_inputs='raise', "
         "return_disconnected='zero', null_gradients='raise'",
     .expand = expand_vjp},
    {.name = "jvp",
     .doc = "Pushforward: the directional derivative of f along tangents of wrt.",
     .signature = "f, wrt, tangent",
     .expand = expand_jvp},
};
const MacroList macros_ad = {table, sizeof table / sizeof *table};
