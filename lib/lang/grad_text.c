/* Builds derivatives of an Apply from text, with the names of the op's row: its inputs,
 * outputs and props, the cotangents g (g_NAME of several outputs), the tangents t_NAME
 * of the inputs. The text is one result's expression, where disconnected cotangents and
 * tangents are zeros, or all results' lines (text_lines.c). */
#include "lang/compile_impl.h"

typedef struct GradText {
    Builder *b;
    const Signature *sig;
    size_t nin, nout;
    Vec(Bind) bind;
    Env env;
    Arena *tmp;
} GradText;

static void bind_grad_name(GradText *t, Sym name, Var v) {
    vec_push(t->b->s, &t->bind, ((Bind){name, v}));
    t->env.bind = t->bind.p;
    t->env.n = t->bind.n;
}

/* PREFIX_NAME, or the prefix alone. */
static Sym grad_name(GradText *t, const char *prefix, Sym name) {
    Session *s = t->b->s;
    return sym(s, name ? arena_printf(t->tmp, "%s_%s", prefix, sym_text(s, name))
                       : prefix);
}

/* A single output is called r, whatever others the op can have. */
static Sym output_name(const GradText *t, size_t k) {
    return t->nout == 1 && t->sig->nout > 1 ? text_cache(t->b->s)->r : t->sig->out[k];
}

static Sym cotangent_name(GradText *t, size_t k) {
    return grad_name(t, "g", t->nout > 1 ? t->sig->out[k] : 0);
}

static GradText open_grad_text(Builder *b, const Op *op, const Props *props, size_t nin,
                               const Var *in, size_t nout, const Var *out) {
    const Signature *sig = op_signature(b->s, op);
    GradText t = {.b = b,
                  .sig = sig,
                  .nin = nin < sig->nin ? nin : sig->nin,
                  .nout = nout,
                  .env = {.op = op, .props = props},
                  .tmp = arena_new(b->s)};
    for (size_t i = 0; i < t.nin; i++)
        bind_grad_name(&t, sig->in[i].name, in[i]);
    for (size_t k = 0; k < nout && k < sig->nout; k++)
        bind_grad_name(&t, output_name(&t, k), out[k]);
    return t;
}

static void close_grad_text(GradText *t) {
    vec_free(&t->bind);
    arena_free(t->tmp);
}

/* ---- one result ---- */

/* v, or zeros of x's shape. */
static bool bind_or_zeros(GradText *t, Sym name, Var v, Var x) {
    if (v == VAR_NONE) v = op_float_zeros(t->b, x);
    bind_grad_name(t, name, v);
    return v != VAR_NONE;
}

static Var build_and_close(GradText *t, const char *text, bool *ok) {
    Var v = *ok ? template_build(t->b, text, &t->env, ok) : VAR_NONE;
    close_grad_text(t);
    return v;
}

Var grad_text_pull(const Pull *p, const char *text, bool *ok) {
    GradText t = open_grad_text(p->b, p->op, p->props, p->nin, p->in, p->nout, p->out);
    *ok = true;
    for (size_t k = 0; *ok && k < p->nout && k < t.sig->nout; k++)
        *ok = bind_or_zeros(&t, cotangent_name(&t, k), p->cotangent[k], p->out[k]);
    return build_and_close(&t, text, ok);
}

Var grad_text_push(const Push *p, const char *text, bool *ok) {
    GradText t = open_grad_text(p->b, p->op, p->props, p->nin, p->in, p->nout, p->out);
    *ok = true;
    for (size_t i = 0; *ok && i < t.nin; i++) {
        if (var_type(p->b->g, p->in[i])->kind != TYPE_TENSOR &&
            p->tangent[i] == VAR_NONE)
            continue;
        *ok = bind_or_zeros(&t, grad_name(&t, "t", t.sig->in[i].name), p->tangent[i],
                            p->in[i]);
    }
    return build_and_close(&t, text, ok);
}

/* ---- all results ---- */

/* No small change of an input moves integers or bools. */
static bool has_discrete_outputs(const Graph *g, size_t n, const Var *out) {
    for (size_t k = 0; k < n; k++) {
        const Type *t = var_type(g, out[k]);
        if (t->kind != TYPE_TENSOR || !dtype_is_discrete(t->dtype)) return false;
    }
    return true;
}

static bool reaches_cotangent(const Pull *p, size_t i) {
    for (size_t k = 0; k < p->nout; k++)
        if (p->cotangent[k] != VAR_NONE && op_connected(p->g, p->id, i, k)) return true;
    return false;
}

/* The gradient of one input, summed over the dims along which it was broadcast. What
 * vanishes is zeros where the input is connected. */
static bool pull_by_lines(Compiler *c, Pull *p, size_t i, Sym name) {
    Var v = VAR_NONE;
    if (!has_discrete_outputs(p->g, p->nout, p->out) && !text_lines_result(c, name, &v))
        return false;
    if (v != VAR_NONE)
        v = var_is_null(p->g, v) ? v : sum_to_shape(p->b, v, p->in[i]);
    else if (reaches_cotangent(p, i))
        v = op_float_zeros(p->b, p->in[i]);
    else
        return true;
    return (p->grad[i] = v) != VAR_NONE;
}

bool grad_lines_pull(Pull *p, const char *text) {
    GradText t = open_grad_text(p->b, p->op, p->props, p->nin, p->in, p->nout, p->out);
    Compiler c;
    for (size_t k = 0; k < p->nout && k < t.sig->nout; k++)
        bind_grad_name(&t, cotangent_name(&t, k), p->cotangent[k]);
    for (size_t i = 0; i < p->nin; i++)
        p->grad[i] = GRAD_DISCONNECTED;
    bool ok = text_lines_open(&c, p->b, &t.env, text);
    for (size_t i = 0; ok && i < t.nin; i++)
        ok = !p->wanted[i] ||
             pull_by_lines(&c, p, i, grad_name(&t, "g", t.sig->in[i].name));
    text_compiler_close(&c);
    close_grad_text(&t);
    return ok;
}

bool grad_lines_push(Push *p, const char *text) {
    GradText t = open_grad_text(p->b, p->op, p->props, p->nin, p->in, p->nout, p->out);
    Compiler c;
    for (size_t i = 0; i < t.nin; i++)
        bind_grad_name(&t, grad_name(&t, "t", t.sig->in[i].name), p->tangent[i]);
    for (size_t k = 0; k < p->nout; k++)
        p->result[k] = VAR_NONE;
    bool ok = text_lines_open(&c, p->b, &t.env, text);
    if (has_discrete_outputs(p->g, p->nout, p->out)) t.nout = 0;
    for (size_t k = 0; ok && k < t.nout && k < t.sig->nout; k++)
        ok = text_lines_result(&c, grad_name(&t, "t", output_name(&t, k)),
                               &p->result[k]);
    text_compiler_close(&c);
    close_grad_text(&t);
    return ok;
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
        fail(c->s, e->at, E_ARG, "a prop of %s is written NAME=VALUE%s", op->name,
             str_text(&all));
    str_free(&all);
    return false;
}

bool props_from_text(Builder *b, const Op *op, const char *text, const Props **out) {
    TextCache *t = text_cache(b->s);
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
