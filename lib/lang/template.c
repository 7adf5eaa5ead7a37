/* Builds variables from texts of rows (gradients, shapes, definitions). A text is
 * parsed once per session and its calls cache their ops, so building it again costs
 * little more than the Applies. */
#include "lang/compile_impl.h"
#include "lang/print/print.h"
#include "op/services.h"

#include <string.h>

static void free_texts(void *p) {
    TextCache *t = p;
    arena_free(t->arena);
    arena_free(t->tmp);
    map_free(&t->ast);
    map_free(&t->block);
    mem_free(t);
}

TextCache *text_cache(Session *s) {
    TextCache *t = session_slot(s, SLOT_TEXTS);
    if (t) return t;
    t = mem_zalloc(s, 1, sizeof *t);
    t->ast = t->block = MAP(s);
    t->arena = arena_new(s);
    t->tmp = arena_new(s);
    t->g = sym(s, "g");
    t->r = sym(s, "r");
    session_set_slot(s, SLOT_TEXTS, t, free_texts);
    return t;
}

const Ast *text_ast(Session *s, TextCache *t, const char *text, const Op *op) {
    return text_ast_in(s, t, text, op && op->file ? op->file : "<text>",
                       op && op->line > 0 ? (uint32_t)op->line : 1);
}

const Ast *text_ast_in(Session *s, TextCache *t, const char *text, const char *name,
                       uint32_t line) {
    uint64_t have;
    if (map_get(&t->ast, (uintptr_t)text, &have)) return (const Ast *)(uintptr_t)have;
    size_t n = strlen(text);
    uint32_t source = source_add_at(s, name, text, n, line, 1);
    const Ast *e = ast_parse(s, t->arena, (Span){source, 0, (uint32_t)n});
    if (e) map_put(&t->ast, (uintptr_t)text, (uintptr_t)e);
    return e;
}

/* The dtype for bare numbers: that of the cotangent, else of the result, if the text
 * has one. */
static DType cotangent_dtype(const Builder *b, const Env *env) {
    const TextCache *t = text_cache(b->s);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < env->n; i++) {
            if (env->bind[i].name != (pass ? t->r : t->g) ||
                env->bind[i].var == VAR_NONE)
                continue;
            const Type *type = var_type(b->g, env->bind[i].var);
            if (type->kind == TYPE_TENSOR) return type->dtype;
        }
    return DT_NONE;
}

void text_compiler_open(Compiler *c, Builder *b, const Env *env) {
    TextCache *t = text_cache(b->s);
    if (t->depth++ == 0) arena_reset(t->tmp);
    *c = (Compiler){.s = b->s,
                    .b = b,
                    .arena = t->tmp,
                    .tmp = t->tmp,
                    .nodes = t->tmp,
                    .env = env,
                    .busy = 1};
    c->filter.allow_downcast = -1;
    c->top.b = b;
    c->frame = &c->top;
    c->named = c->definition = c->lambda = c->dims = MAP(b->s);
}

void text_compiler_close(Compiler *c) {
    map_free(&c->dims); /* functions ask for them */
    map_free(&c->named);
    map_free(&c->definition);
    text_cache(c->s)->depth--;
}

bool text_node_var(Compiler *c, const Node *n, Node *out) {
    Var v;
    DType like = n->kind == NODE_LIST ? DT_NONE : cotangent_dtype(c->b, c->env);
    if (like != DT_NONE && n->kind == NODE_LITERAL)
        like = dtype_weak(like, n->lit.kind, c->b->floatX);
    if (!compiler_var(c, n, like, &v)) return false;
    *out = node_var(v, n->at);
    return true;
}

Var template_build(Builder *b, const char *text, const Env *env, bool *ok) {
    const Ast *e = text_ast(b->s, text_cache(b->s), text, env->op);
    Node n;
    *ok = e != NULL;
    for (size_t i = 0; i < env->n; i++) /* already diagnosed */
        *ok &= env->bind[i].var != VAR_NONE;
    if (!*ok) return VAR_NONE;
    Compiler c;
    text_compiler_open(&c, b, env);
    *ok = compile(&c, e, DT_NONE, &n) &&
          (n.kind == NODE_DISCONNECTED || text_node_var(&c, &n, &n));
    text_compiler_close(&c);
    return *ok && n.kind == NODE_VAR ? n.var : GRAD_DISCONNECTED;
}

/* ---- with an op's signature ---- */

enum { FEW = 16 };

/* Binds inputs to their names (a rest parameter's name to its first input), outputs to
 * r or their names, the cotangent to g. */
static size_t bind_signature_names(Session *s, const Graph *g, ApplyId a, Var cotangent,
                                   Bind *bind) {
    const TextCache *t = text_cache(s);
    const Apply *ap = &g->apply[a];
    const Signature *sig = op_signature(s, ap->op);
    size_t n = 0;
    for (size_t i = 0; i < ap->nin && i < sig->nin; i++)
        bind[n++] = (Bind){sig->in[i].name, apply_in(g, a)[i]};
    for (size_t i = 0; i < ap->nout && i < sig->nout; i++)
        bind[n++] = (Bind){sig->out ? sig->out[i] : t->r, ap->out + (Var)i};
    if (cotangent != VAR_NONE) bind[n++] = (Bind){t->g, cotangent};
    return n;
}

Var template_build_apply(Builder *b, const char *text, const Graph *g, ApplyId a,
                         Var cotangent, bool *ok) {
    const Apply *ap = &g->apply[a];
    const Signature *sig = op_signature(b->s, ap->op);
    size_t most = sig->nin + sig->nout + 1;
    Bind few[FEW], *bind = most <= FEW ? few : mem_alloc(b->s, most * sizeof *bind);
    Env env = {.bind = bind, .op = ap->op, .props = ap->props};
    env.n = bind_signature_names(b->s, g, a, cotangent, bind);
    Var v = template_build(b, text, &env, ok);
    if (bind != few) mem_free(bind);
    return v;
}

const Language language = {definition_build, print_called_apply, print_op};
