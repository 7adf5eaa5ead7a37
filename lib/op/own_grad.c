/* Derivatives of ops that are texts: what the file states, else those of the body. */
#include "op/own_impl.h"
#include "op/services.h"

#include <string.h>

bool own_has_derivative(const Op *op) {
    const OwnOp *d = op->body ? op->body->decl : NULL;
    return d && (d->partials.n || d->adjoint.n || d->pullback.n || d->pushforward.n);
}

const OwnOp *own_declaration(const Op *op) {
    return op->body ? op->body->decl : NULL;
}

/* ---- what a text may name ---- */

typedef struct Names {
    Session *s;
    Vec(Bind) bind;
    Arena *tmp;
} Names;

static void bind(Names *n, Sym name, Var v) {
    vec_push(n->s, &n->bind, ((Bind){name, v}));
}

/* "g_q" of prefix and name; only the prefix where there is one output. */
static Sym prefixed(Names *n, const char *prefix, Sym name, bool alone) {
    return alone
               ? sym(n->s, prefix)
               : sym(n->s, arena_printf(n->tmp, "%s_%s", prefix, sym_text(n->s, name)));
}

static void bind_apply(Names *n, const Signature *sig, size_t nin, const Var *in,
                       size_t nout, const Var *out) {
    for (size_t i = 0; i < nin && i < sig->nin; i++)
        bind(n, sig->in[i].name, in[i]);
    for (size_t k = 0; k < nout && k < sig->nout; k++)
        bind(n, sig->out[k], out[k]);
}

static DType slope_dtype(const Builder *b, Var x) {
    DType d = var_type(b->g, x)->dtype;
    return dtype_is_inexact(d) ? d : b->floatX;
}

static bool zero_for(Builder *b, Var x, Var *v) {
    if (*v == VAR_NONE) *v = zeros_like(b, x, slope_dtype(b, x));
    return *v != VAR_NONE;
}

static const OwnText *find(const OwnList *l, Sym name) {
    for (size_t i = 0; i < l->n; i++)
        if (l->p[i].name == name) return &l->p[i];
    return NULL;
}

/* ---- by the file's texts ---- */

static bool pull_texts(Pull *p, const OwnList *texts, Names *n) {
    const Signature *sig = op_signature(p->b->s, p->op);
    bind_apply(n, sig, p->nin, p->in, p->nout, p->out);
    for (size_t k = 0; k < p->nout; k++) {
        Var g = p->cotangent[k];
        if (!zero_for(p->b, p->out[k], &g)) return false;
        bind(n, prefixed(n, "g", sig->out[k], p->nout == 1), g);
    }
    Env env = {n->bind.n, n->bind.p, p->op, p->props};
    bool ok = true;
    for (size_t i = 0; ok && i < p->nin; i++) {
        const OwnText *t = p->wanted[i] ? find(texts, sig_param(sig, i)->name) : NULL;
        Var x = t ? build_text(p->b, t->text, &env, &ok) : GRAD_DISCONNECTED;
        bool stretched = ok && x != GRAD_DISCONNECTED && !var_is_null(p->b->g, x) &&
                         p->op->elemwise &&
                         var_type(p->b->g, x)->ndim > var_type(p->b->g, p->in[i])->ndim;
        p->grad[i] = stretched ? sum_to_shape(p->b, x, p->in[i]) : x;
        ok = ok && (!stretched || p->grad[i] != VAR_NONE);
    }
    return ok;
}

bool own_push(Push *p) {
    const Signature *sig = op_signature(p->b->s, p->op);
    Names n = {.s = p->b->s, .tmp = arena_new(p->b->s)};
    bool ok = true;
    bind_apply(&n, sig, p->nin, p->in, p->nout, p->out);
    for (size_t i = 0; ok && i < p->nin && i < sig->nin; i++) {
        Var t = p->tangent[i];
        if (var_type(p->g, p->in[i])->kind != TYPE_TENSOR) continue;
        ok = zero_for(p->b, p->in[i], &t);
        bind(&n, prefixed(&n, "t", sig->in[i].name, false), t);
    }
    Env env = {n.bind.n, n.bind.p, p->op, p->props};
    for (size_t k = 0; ok && k < p->nout; k++) {
        const OwnText *t = find(&p->op->body->decl->pushforward, sig->out[k]);
        p->result[k] = t ? build_text(p->b, t->text, &env, &ok) : VAR_NONE;
    }
    vec_free(&n.bind);
    arena_free(n.tmp);
    return ok;
}

/* ---- by the body ---- */

static Graph *gradients(Pull *p, Graph *body, bool *wanted, bool *has) {
    bool any = false;
    for (size_t k = 0; k < p->nout; k++)
        has[k] = p->cotangent[k] != VAR_NONE;
    for (size_t i = 0; i < p->nin; i++) {
        p->grad[i] = GRAD_DISCONNECTED;
        wanted[i] = false;
        for (size_t k = 0; k < p->nout; k++)
            wanted[i] |= p->wanted[i] && has[k] && op_connected(p->g, p->id, i, k);
        any |= wanted[i];
    }
    return any ? services(p->b->s)->pullback(body, body, wanted, has) : NULL;
}

/* The expressions of `made` over the Apply's inputs and cotangents. */
static bool import_gradients(Pull *p, const Graph *made, const bool *wanted) {
    Session *s = p->b->s;
    size_t n = made->outputs.n, at = p->nin, j = 0;
    Var *leaf = mem_alloc(s, (made->nleaf + made->nvar + n) * sizeof *leaf),
        *map = leaf + made->nleaf, *want = map + made->nvar;
    memset(leaf, 0xff, made->nleaf * sizeof *leaf); /* VAR_NONE */
    bool ok = true;
    for (size_t i = 0; i < p->nin; i++)
        leaf[made->var[made->inputs.p[i]].owner] = p->in[i];
    for (size_t k = 0; ok && k < p->nout; k++) {
        if (p->cotangent[k] == VAR_NONE) continue;
        Var input = made->inputs.p[at++];
        Var g = shape_as(p->b, p->cotangent[k], var_type(made, input), p->out[k]);
        leaf[made->var[input].owner] = g;
        ok = g != VAR_NONE;
    }
    for (size_t k = 0; k < n; k++)
        want[k] = made->outputs.p[k].var;
    ok = ok && graph_import(p->b->g, made, n, want, leaf, p->b->intern, map);
    for (size_t i = 0; ok && i < p->nin; i++)
        if (wanted[i]) p->grad[i] = map[want[j++]];
    mem_free(leaf);
    return ok;
}

static bool pull_body(Pull *p) {
    Graph *body = own_body(p->g, p->id);
    if (!body) return false;
    size_t errors = diag_count(p->b->s);
    bool *flags = mem_zalloc(p->b->s, p->nin + p->nout, sizeof *flags);
    Graph *made = gradients(p, body, flags, flags + p->nin);
    bool ok = made ? import_gradients(p, made, flags)
                   : diag_count(p->b->s) == errors; /* nothing was wanted */
    mem_free(flags);
    return ok;
}

bool own_pull(Pull *p) {
    const OwnOp *d = p->op->body->decl;
    if (!d->pullback.n) return pull_body(p);
    Names n = {.s = p->b->s, .tmp = arena_new(p->b->s)};
    bool ok = pull_texts(p, &d->pullback, &n);
    vec_free(&n.bind);
    arena_free(n.tmp);
    return ok;
}
