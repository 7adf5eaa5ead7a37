/* Constants of plugins' types: double(2.5), constant('money("EUR")', '12.50'), or a
 * number, a list of numbers or a text where such a type is expected. The type's filter
 * makes the value. */
#include "lang/compile_impl.h"
#include "value/class.h"

#include <string.h>

bool node_makes_constant(const Node *n) {
    return n->kind == NODE_STRING || node_is_literal(n);
}

static bool keep_constant(Compiler *c, const Type *t, Value *v, Span at, Node *out) {
    *out = node_var(graph_const_value(c->b->g, t, v), at);
    value_unref(v);
    return true;
}

static Receiver constant_receiver(const Compiler *c, Span at) {
    return (Receiver){c->filter, c->filter_what ? c->filter_what : "the constant", at};
}

static bool constant_from_text(Compiler *c, const Node *n, const Type *t, Node *out) {
    Value v;
    const TypeClass *cls = type_class(t);
    if (!cls->from_text)
        return fail(c->s, n->at, E_TYPE, "a value of type %s can't be made from a text",
                    type_str(c->s, t));
    Receiver to = constant_receiver(c, n->at);
    return cls->from_text(c->s, t, sym_text(c->s, n->sym), &to, &v) &&
           keep_constant(c, t, &v, n->at, out);
}

static bool constant_from_numbers(Compiler *c, const Node *n, const Type *t,
                                  Node *out) {
    Var x;
    Value v;
    if (!compiler_var(c, n, DT_NONE, &x)) return false;
    const Value *have = var_leafrec(c->b->g, x)->value;
    Receiver to = constant_receiver(c, n->at);
    if (value_filter(c->s, t, have, &to, &v))
        return keep_constant(c, t, &v, n->at, out);
    return c->filter.strict &&
           note(c->s, NOWHERE, "a strict check converts nothing: write %s(...)",
                type_str(c->s, t));
}

/* Makes a constant that names its type, however strict the receiver is. */
static bool force_constant(Compiler *c, const Node *n, const Type *t, Node *out) {
    Filter kept = c->filter;
    c->filter.strict = false;
    bool ok = node_plugin_constant(c, n, t, out);
    c->filter = kept;
    return ok;
}

bool node_plugin_constant(Compiler *c, const Node *n, const Type *t, Node *out) {
    if (n->kind == NODE_VAR && var_type(c->b->g, n->var) == t) return *out = *n, true;
    if (n->kind == NODE_STRING) return constant_from_text(c, n, t, out);
    if (node_is_literal(n)) return constant_from_numbers(c, n, t, out);
    return fail(c->s, n->at, E_TYPE,
                "a constant of type %s is made from numbers or a text, not from %s",
                type_str(c->s, t), node_kind_text(n));
}

/* constant('TYPE', value) */
bool call_constant(Compiler *c, const Ast *e, Node *out) {
    Node n;
    if (e->nkid != 2 || e->kid[0]->kind != AST_STRING || e->kid[1]->kind == AST_KEYWORD)
        return fail(c->s, e->at, E_ARG, "write constant('type', value)");
    const char *text = sym_text(c->s, e->kid[0]->sym);
    const Type *t = type_parse(c->s, text, strlen(text), e->kid[0]->at);
    if (!t || !compile(c, e->kid[1], DT_NONE, &n)) return false;
    if (t->kind != TYPE_PLUGIN)
        return fail(c->s, e->kid[0]->at, E_TYPE,
                    "constant() is for types of plugins; %s has its own form",
                    type_str(c->s, t));
    return force_constant(c, &n, t, out);
}

static bool is_type_name(Compiler *c, Sym name) {
    const char *own;
    for (size_t i = 0; type_maker_class(c->s, i, &own); i++)
        if (strcmp(own, sym_text(c->s, name)) == 0) return true;
    return false;
}

bool compile_typed(Compiler *c, const Ast *e, bool *is, Node *out) {
    const Ast *type = e->kind == AST_APPLY ? e->kid[0] : NULL;
    Node n;
    *is = type && type->kind == AST_CALL && is_type_name(c, type->sym);
    if (!*is) return true;
    const char *text = source_get(c->s, type->at.source)->text + type->at.begin;
    const Type *t = type_parse(c->s, text, type->at.end - type->at.begin, type->at);
    if (!t) return false;
    if (e->nkid != 2 || e->kid[1]->kind == AST_KEYWORD)
        return fail(c->s, e->at, E_ARITY, "write %s(value)", type_str(c->s, t));
    return compile(c, e->kid[1], DT_NONE, &n) && force_constant(c, &n, t, out);
}

/* NAME(value) */
bool call_type(Compiler *c, const Ast *e, const Type *t, Node *out) {
    Node n;
    if (e->nkid != 1 || e->kid[0]->kind == AST_KEYWORD)
        return fail(c->s, e->at, E_ARITY, "write %s(value)", sym_text(c->s, e->sym));
    return compile(c, e->kid[0], DT_NONE, &n) && force_constant(c, &n, t, out);
}
