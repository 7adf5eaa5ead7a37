/* Arguments and results of the differentiation macros. */
#include "ad/args.h"

#include <string.h>

bool arg_word(Compiler *c, const Ast *arg, const char *const *words, const char *name,
              int *which) {
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

bool arg_flag(Compiler *c, const Ast *arg, const char *name, bool *flag) {
    Node n;
    *flag = false;
    if (!arg) return true;
    if (!compiler_ast(c, arg, &n)) return false;
    if (n.kind != NODE_LITERAL || n.lit.kind != K_BOOL)
        return fail(compiler_builder(c)->s, arg->at, E_ARG, "%s must be True or False",
                    name);
    *flag = n.lit.u != 0;
    return true;
}

bool arg_vars(Compiler *c, const Ast *arg, ArgVars *out) {
    Var *v = NULL;
    *out = (ArgVars){0};
    if (arg && !(compiler_ast(c, arg, &out->node) &&
                 compiler_vars(c, &out->node, &out->v.n, &v)))
        return false;
    return out->v.p = v, true;
}

static bool is_list_or_dict(const Node *n) {
    return n->kind == NODE_LIST || n->kind == NODE_DICT;
}

static int literal_rank(const Graph *g, const Node *n) {
    if (n->kind == NODE_LIST) return n->n ? 1 + literal_rank(g, &n->item[0]) : 1;
    return n->kind == NODE_VAR ? var_type(g, n->var)->ndim : 0;
}

/* Reads the companion of a single variable. */
static bool read_companion(Compiler *c, const Node *n, Var of, Var *v) {
    const Graph *g = compiler_builder(c)->g;
    const Type *t = var_type(g, of);
    DType d = t->kind == TYPE_TENSOR ? t->dtype : DT_NONE;
    if (d != DT_NONE && dtype_is_discrete(d)) d = compiler_builder(c)->floatX;
    bool one =
        is_list_or_dict(n) && n->n == 1 && literal_rank(g, &n->item[0]) == t->ndim;
    return compiler_var(c, one ? &n->item[0] : n, d, v);
}

bool arg_companions(Compiler *c, const Ast *call, const Ast *arg, const char *what,
                    const ArgVars *of, Var **v) {
    Session *s = compiler_builder(c)->s;
    Node node;
    size_t have;
    if (!compiler_ast(c, arg, &node)) return false;
    if (!is_list_or_dict(&of->node)) {
        *v = NEW_N(compiler_arena(c), 1, Var);
        return read_companion(c, &node, of->v.p[0], *v);
    }
    if (!compiler_vars(c, &node, &have, v)) return false;
    return have == of->v.n ||
           fail(s, call->at, E_ARITY, "%s has %s but %s", sym_text(s, call->sym),
                str_counted(s, of->v.n, "variable"), str_counted(s, have, what));
}

static const char *const raise_words[] = {"raise", "warn", "ignore", NULL};
static const char *const zero_words[] = {"zero", "none", NULL};
static const char *const null_words[] = {"raise", "return", NULL};

bool grad_options(Compiler *c, const Ast *const *arg, GradOptions *how) {
    int disconnected, zero, null;
    ArgVars constant;
    if (!arg_vars(c, arg[0], &constant) ||
        !arg_word(c, arg[1], raise_words, "disconnected_inputs", &disconnected) ||
        !arg_word(c, arg[2], zero_words, "return_disconnected", &zero) ||
        !arg_word(c, arg[3], null_words, "null_gradients", &null))
        return false;
    how->constant = constant.v;
    how->disconnected = (OnDisconnected)disconnected;
    how->return_disconnected = (ReturnDisconnected)zero;
    how->null = (OnNull)null;
    how->parts = true;
    return true;
}

/* ---- results ---- */
static Node gradient_node(Var v, Span at) {
    if (v == GRAD_DISCONNECTED) return (Node){.kind = NODE_DISCONNECTED, .at = at};
    return node_var(v, at);
}

static bool items_like(Compiler *c, const ArgVars *like, Node *item, Span at,
                       Node *out) {
    const Sym *key = like->node.kind == NODE_DICT ? like->node.key : NULL;
    return compiler_tree(c, like->v.n, item, key, at, out);
}

bool result_like(Compiler *c, const ArgVars *like, const Var *v, Span at, Node *out) {
    if (!is_list_or_dict(&like->node)) return *out = gradient_node(v[0], at), true;
    Node *item = NEW_N(compiler_arena(c), like->v.n, Node);
    for (size_t i = 0; i < like->v.n; i++)
        item[i] = gradient_node(v[i], at);
    return items_like(c, like, item, at, out);
}

bool result_matrix(Compiler *c, const ArgVars *rows, const ArgVars *row, const Var *v,
                   Span at, Node *out) {
    if (!is_list_or_dict(&rows->node)) return result_like(c, row, v, at, out);
    Node *item = NEW_N(compiler_arena(c), rows->v.n, Node);
    for (size_t i = 0; i < rows->v.n; i++)
        if (!result_like(c, row, v + i * row->v.n, at, &item[i])) return false;
    return items_like(c, rows, item, at, out);
}
