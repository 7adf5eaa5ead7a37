/* What is decided while the graph is made: conditional expressions, `and`, `or`, `not`,
 * chained comparisons. As in Python, a part that is not needed is not computed; here it
 * is not even compiled. Conditions are numbers that are known: literals, sizes that
 * types give, and what is computed from constants. */
#include "lang/compile_impl.h"
#include "op/services.h"

#include <string.h>

/* ---- truth ---- */

static bool literal_truth(const Literal *l) {
    if (l->kind == K_COMPLEX) return l->re != 0 || l->im != 0;
    return l->kind == K_FLOAT ? l->re != 0 : l->u != 0;
}

static bool tensor_truth(const Tensor *t) {
    double part[2];
    if (!dtype_is_complex(t->dtype)) return tensor_f64(t, 0) != 0;
    tensor_c128(t, 0, part);
    return part[0] != 0 || part[1] != 0;
}

/* A constant, or something small that a few ops compute from constants. */
static bool is_cheap_constant(const Graph *g, Var v, int *budget) {
    enum { ELEMENTS = 1 << 16 };
    const Type *t = var_type(g, v);
    if (var_is_const(g, v)) return true;
    ApplyId a = var_owner(g, v);
    int64_t n = t->kind == TYPE_TENSOR ? type_size(t) : -1;
    if (a == APPLY_NONE || n < 0 || n > ELEMENTS || --*budget < 0) return false;
    const Apply *ap = &g->apply[a];
    if (op_called_function(g, ap) || op_has_effect(g, ap->op, ap->props)) return false;
    for (size_t i = 0; i < ap->nin; i++)
        if (!is_cheap_constant(g, apply_in(g, a)[i], budget)) return false;
    return true;
}

bool compiler_constant(Compiler *c, Var v, bool *known, Value *out) {
    int budget = 64;
    *known = services(c->s)->eval && is_cheap_constant(c->b->g, v, &budget);
    return !*known || services(c->s)->eval(c->b->g, 1, &v, out);
}

/* *known false: the value is not known before a run. False: diagnosed. */
static bool node_truth(Compiler *c, const Node *n, bool *known, bool *yes) {
    *known = n->kind == NODE_LITERAL;
    if (*known) return *yes = literal_truth(&n->lit), true;
    const Type *t = n->kind == NODE_VAR ? var_type(c->b->g, n->var) : NULL;
    Value v = {0};
    if (!t || t->kind != TYPE_TENSOR || t->ndim > 0 || c->env) return true;
    if (!compiler_constant(c, n->var, known, &v)) return false;
    if (!*known) return true;
    *yes = tensor_truth(&v.t);
    value_unref(&v);
    return true;
}

/* ---- messages ---- */

/* The text of an expression, or a letter if it is long. */
static const char *short_text(Compiler *c, const Ast *e, const char *letter) {
    enum { LONG = 30 };
    size_t n = e->at.end - e->at.begin;
    const Source *src = source_get(c->s, e->at.source);
    if (!src || n > LONG || memchr(src->text + e->at.begin, '\n', n)) return letter;
    return arena_str(c->tmp, src->text + e->at.begin, n);
}

static bool fail_unknown_choice(Compiler *c, const Ast *e) {
    const char *cond = short_text(c, e->kid[0], "c"),
               *a = short_text(c, e->kid[1], "a"), *b = short_text(c, e->kid[2], "b");
    fail(c->s, e->kid[0]->at, E_TYPE,
         "`if` takes a number that is known when the graph is made, and this is known "
         "when it runs: write `where(%s, %s, %s)`",
         cond, a, b);
    return note(
        c->s, NOWHERE,
        "ifelse(condition, a, b) takes one condition for the whole, and computes "
        "one side only");
}

static bool fail_unknown_logic(Compiler *c, const Ast *e, const Ast *operand) {
    bool either = *e->op == 'o';
    return fail(c->s, operand->at, E_TYPE,
                "`%s` takes numbers that are known when the graph is made, and this is "
                "known when it runs: write `(%s) %c (%s)`, or logical_%s(a, b)",
                e->op, short_text(c, e->kid[0], "a"), either ? '|' : '&',
                short_text(c, e->kid[1], "b"), e->op);
}

static bool fail_unknown_not(Compiler *c, const Ast *e) {
    return fail(
        c->s, e->at, E_TYPE,
        "`not` takes a number that is known when the graph is made, and this is "
        "known when it runs: write `~(%s)`, or logical_not(a)",
        short_text(c, e->kid[0], "a"));
}

static bool fail_unknown_chain(Compiler *c, const Ast *e, size_t i) {
    const Ast *left = i > 1 ? e->kid[i - 1]->kid[0] : e->kid[0], *mid = e->kid[i],
              *right = e->kid[i + 1];
    const char *b = short_text(c, mid->kid[0], "b");
    return fail(c->s, e->at, E_TYPE,
                "comparisons are chained only where they are known when the graph is "
                "made: write `(%s %s %s) & (%s %s %s)`",
                short_text(c, left, "a"), mid->op, b, b, right->op,
                short_text(c, right->kid[0], "c"));
}

/* ---- compiling ---- */

static bool compile_if(Compiler *c, const Ast *e, DType want, Node *out) {
    Node cond;
    bool known, yes;
    if (!compile(c, e->kid[0], DT_NONE, &cond) || !node_truth(c, &cond, &known, &yes))
        return false;
    if (!known) return fail_unknown_choice(c, e);
    return compile(c, e->kid[yes ? 1 : 2], want, out);
}

/* The first operand that decides, or the last one. */
static bool compile_logic(Compiler *c, const Ast *e, Node *out) {
    bool either = *e->op == 'o', known, yes;
    for (size_t i = 0;; i++) {
        if (!compile(c, e->kid[i], DT_NONE, out)) return false;
        if (i + 1 == e->nkid) return true;
        if (!node_truth(c, out, &known, &yes)) return false;
        if (!known) return fail_unknown_logic(c, e, e->kid[i]);
        if (yes == either) return true;
    }
}

static bool compile_not(Compiler *c, const Ast *e, Node *out) {
    Node x;
    bool known, yes;
    if (!compile(c, e->kid[0], DT_NONE, &x) || !node_truth(c, &x, &known, &yes))
        return false;
    if (!known) return fail_unknown_not(c, e);
    *out = node_literal((Literal){.kind = K_BOOL, .u = !yes}, e->at);
    return true;
}

static bool compile_comparisons(Compiler *c, const Ast *e, Node *out) {
    Node pair[2];
    bool known, yes;
    if (!compile(c, e->kid[0], DT_NONE, &pair[0])) return false;
    for (size_t i = 1;; i++, pair[0] = pair[1]) {
        const Ast *link = e->kid[i];
        Span at = {e->at.source, e->at.begin, link->at.end};
        if (!compile(c, link->kid[0], DT_NONE, &pair[1]) ||
            !compiler_apply_infix(c, infix_of(link->op, false), at, 2, pair, out))
            return false;
        if (i + 1 == e->nkid) return true;
        if (!node_truth(c, out, &known, &yes)) return false;
        if (!known) return fail_unknown_chain(c, e, i);
        if (!yes) return true;
    }
}

bool compile_choice(Compiler *c, const Ast *e, DType want, Node *out) {
    switch ((int)e->kind) {
    case AST_IF:
        return compile_if(c, e, want, out);
    case AST_LOGIC:
        return compile_logic(c, e, out);
    case AST_NOT:
        return compile_not(c, e, out);
    default:
        return compile_comparisons(c, e, out);
    }
}
