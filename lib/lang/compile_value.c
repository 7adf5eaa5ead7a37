/* Nodes for a receiver of any Type: where a list value is expected, a list becomes one,
 * rather than a stacked tensor. Also values computed at build time: an op whose row
 * says so is evaluated at once if all its inputs are constants. */
#include "lang/compile_impl.h"
#include "op/services.h"

#include <string.h>

DType compiler_receiver_dtype(const Type *t) {
    while (t && t->kind == TYPE_LIST)
        t = t->elem;
    return t && (t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE) ? t->dtype : DT_NONE;
}

/* ---- constants ---- */

static bool all_constant(const Graph *g, VarList v) {
    for (size_t i = 0; i < v.n; i++)
        if (!var_is_const(g, v.p[i])) return false;
    return true;
}

/* Applies the op in a graph of its own, so that only the value enters this one. */
static bool evaluate_constant_apply(Compiler *c, const Op *op, const Props *props,
                                    VarList in, Span at, Node *out) {
    Graph *g = graph_new(c->s);
    Builder b = builder(g, false);
    b.floatX = c->b->floatX;
    b.from.at = at;
    Value value = {0};
    Var *own = arena_alloc(c->tmp, (in.n + 1) * sizeof *own);
    for (size_t i = 0; i < in.n; i++)
        own[i] = graph_share_const(g, c->b->g, in.p[i], false);
    Var v = op_apply1(&b, op, props, in.n, own);
    bool ok = v != VAR_NONE && services(c->s)->eval(g, 1, &v, &value);
    if (ok) {
        *out = node_var(graph_const_value(c->b->g, var_type(g, v), &value), at);
        value_unref(&value);
    }
    graph_free(g);
    return ok;
}

bool compiler_evaluate_or_apply(Compiler *c, const Op *op, const Props *props,
                                VarList in, Span at, Node *out) {
    bool now = op->constant && services(c->s)->eval && all_constant(c->b->g, in);
    return now ? evaluate_constant_apply(c, op, props, in, at, out)
               : compiler_apply_op(c, op, props, in, at, out);
}

/* ---- lists ---- */

static bool make_list(Compiler *c, size_t n, const Var *item, const Type *elem, Span at,
                      Var *out) {
    const Op *op = op_known(c->s, OP_MAKE_LIST);
    const Type *own = n ? var_type(c->b->g, item[0]) : NULL;
    const Props *props = NULL;
    Node r;
    for (size_t i = 1; own && i < n; i++)
        own = type_join(c->s, own, var_type(c->b->g, item[i]));
    if (elem && own != elem) {
        PropArg type = {"type", PROP_STR(sym(c->s, type_str(c->s, elem)))};
        props = props_make(c->s, op, 1, &type);
    }
    const char *outer = c->b->asked;
    if (!outer) c->b->asked = "a list";
    bool ok = compiler_evaluate_or_apply(c, op, props, (VarList){n, item}, at, &r);
    c->b->asked = outer;
    if (ok) *out = r.var;
    return ok;
}

bool node_list(Compiler *c, const Node *n, const Type *elem, DType like, Var *out) {
    Var *item = arena_alloc(c->tmp, (n->n + 1) * sizeof *item);
    for (size_t i = 0; i < n->n; i++)
        if (elem ? !node_to_type(c, &n->item[i], elem, &item[i])
                 : !compiler_var(c, &n->item[i], like, &item[i]))
            return false;
    return make_list(c, n->n, item, elem, n->at, out);
}

/* Converts a dense matrix where a sparse one is expected. The user must convert other
 * formats, and a strict filter rejects what wasn't written as a literal. */
static bool make_sparse(Compiler *c, const Type *t, const Node *n, Var *v) {
    const Type *have = var_type(c->b->g, *v);
    const char *name = strcmp(t->why, "csc") == 0 ? "csc_from_dense" : "csr_from_dense";
    const Op *op = op_find(c->s, name, strlen(name));
    Node r;
    if (have->kind != TYPE_TENSOR || have->ndim != 2 || !op) return true;
    if (c->filter.strict && n->kind != NODE_LIST) return true;
    if (!compiler_apply_op(c, op, NULL, (VarList){1, v}, n->at, &r)) return false;
    *v = r.var;
    return true;
}

bool node_to_type(Compiler *c, const Node *n, const Type *t, Var *out) {
    Node own;
    if (t && t->kind == TYPE_PLUGIN && node_makes_constant(n)) {
        if (!node_plugin_constant(c, n, t, &own)) return false;
        *out = own.var;
        return true;
    }
    if (t && t->kind == TYPE_LIST && n->kind == NODE_LIST && !n->sym)
        return node_list(c, n, t->elem, DT_NONE, out);
    if (t && t->kind == TYPE_EMPTY && n->kind == NODE_DICT && n->n == 0)
        return *out = compiler_empty_var(c), true;
    return compiler_var(c, n, compiler_receiver_dtype(t), out) &&
           (!t || t->kind != TYPE_SPARSE || make_sparse(c, t, n, out));
}
