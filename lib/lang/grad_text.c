/* Builds derivatives of an Apply from text, with the names of the op's row: its inputs,
 * outputs and props, the cotangents g (g_NAME of several outputs), the tangents t_NAME
 * of the inputs. */
#include "lang/compile_impl.h"

typedef struct GradNames {
    Session *s;
    Vec(Bind) bind;
    Arena *tmp;
} GradNames;

static GradNames open_grad_names(Session *s, const Op *op, size_t nin, const Var *in,
                                 size_t nout, const Var *out) {
    GradNames n = {.s = s, .tmp = arena_new(s)};
    const Signature *sig = op_signature(s, op);
    for (size_t i = 0; i < nin && i < sig->nin; i++)
        vec_push(s, &n.bind, ((Bind){sig->in[i].name, in[i]}));
    for (size_t k = 0; k < nout && k < sig->nout; k++)
        vec_push(s, &n.bind, ((Bind){sig->out[k], out[k]}));
    return n;
}

static void bind_prefixed(GradNames *n, const char *prefix, Sym name, Var v) {
    Sym y = name
                ? sym(n->s, arena_printf(n->tmp, "%s_%s", prefix, sym_text(n->s, name)))
                : sym(n->s, prefix);
    vec_push(n->s, &n->bind, ((Bind){y, v}));
}

static Var build_and_close(GradNames *n, Builder *b, const char *text, const Op *op,
                           const Props *props, bool *ok) {
    Env env = {n->bind.n, n->bind.p, op, props};
    Var v = *ok ? template_build(b, text, &env, ok) : VAR_NONE;
    vec_free(&n->bind);
    arena_free(n->tmp);
    return v;
}

/* v, or a zero of x's shape. */
static Var or_zeros_like(Builder *b, Var v, Var x) {
    if (v != VAR_NONE) return v;
    DType d = var_type(b->g, x)->dtype;
    return zeros_like(b, x, dtype_is_inexact(d) ? d : b->floatX);
}

Var grad_text_pull(const Pull *p, const char *text, bool *ok) {
    const Signature *sig = op_signature(p->b->s, p->op);
    GradNames n = open_grad_names(p->b->s, p->op, p->nin, p->in, p->nout, p->out);
    *ok = true;
    for (size_t k = 0; *ok && k < p->nout && k < sig->nout; k++) {
        Var g = or_zeros_like(p->b, p->cotangent[k], p->out[k]);
        *ok = g != VAR_NONE;
        bind_prefixed(&n, "g", p->nout > 1 ? sig->out[k] : 0, g);
    }
    return build_and_close(&n, p->b, text, p->op, p->props, ok);
}

Var grad_text_push(const Push *p, const char *text, bool *ok) {
    const Signature *sig = op_signature(p->b->s, p->op);
    GradNames n = open_grad_names(p->b->s, p->op, p->nin, p->in, p->nout, p->out);
    *ok = true;
    for (size_t i = 0; *ok && i < p->nin && i < sig->nin; i++) {
        if (var_type(p->b->g, p->in[i])->kind != TYPE_TENSOR &&
            p->tangent[i] == VAR_NONE)
            continue;
        Var t = or_zeros_like(p->b, p->tangent[i], p->in[i]);
        *ok = t != VAR_NONE;
        bind_prefixed(&n, "t", sig->in[i].name, t);
    }
    return build_and_close(&n, p->b, text, p->op, p->props, ok);
}

/* ---- props as text ---- */

static bool read_prop_keyword(Compiler *c, const Op *op, const Ast *e, Prop *value) {
    const Signature *sig = op_signature(c->s, op);
    Node n;
    for (size_t i = 0; e->kind == AST_KEYWORD && i < sig->nprop; i++)
        if (sig->prop[i].name == e->sym)
            return compile(c, e->kid[0], DT_NONE, &n) &&
                   node_prop(c, op, &sig->prop[i], &n, &value[i]);
    Str all = STR(c->s);
    for (size_t i = 0; i < sig->nprop; i++)
        str_printf(&all, "%s%s", i ? ", " : ": it has ",
                   sym_text(c->s, sig->prop[i].name));
    if (e->kind == AST_KEYWORD)
        fail(c->s, e->at, E_ARG, "%s has no prop %s%s", op->name,
             sym_text(c->s, e->sym), str_text(&all));
    else
        fail(c->s, e->at, E_ARG, "a prop of %s is NAME=VALUE%s", op->name,
             str_text(&all));
    str_free(&all);
    return false;
}

bool props_from_text(Builder *b, const Op *op, const char *text, const Props **out) {
    Texts *t = texts(b->s);
    const Signature *sig = op_signature(b->s, op);
    Arena *tmp = arena_new(b->s);
    const char *call = arena_printf(tmp, "%s(%s)", op->name, text);
    const Ast *e = text_ast_in(b->s, t, sym_text(b->s, sym(b->s, call)),
                               arena_printf(tmp, "<props of %s>", op->name), 1);
    Env none = {0};
    Compiler c = {.s = b->s, .b = b, .arena = tmp, .tmp = tmp, .env = &none};
    c.filter.allow_downcast = -1;
    c.top.b = b;
    c.frame = &c.top;
    c.named = c.definition = c.dims = MAP(b->s);
    Prop *value = NEW_N(tmp, sig->nprop + 1, Prop);
    for (size_t i = 0; i < sig->nprop; i++)
        value[i] = sig->prop[i].value;
    bool ok = e && e->kind == AST_CALL;
    for (size_t i = 0; ok && i < e->nkid; i++)
        ok = read_prop_keyword(&c, op, e->kid[i], value);
    if (ok) *out = props_intern(b->s, sig->nprop, value);
    arena_free(tmp);
    return ok;
}
