/* Derivatives of user ops: as the file states them, else those of the body. */
#include "op/services.h"
#include "userop/userop_impl.h"

#include <string.h>

bool userop_has_derivative(const Op *op) {
    const UserOp *d = op->body ? op->body->decl : NULL;
    return d && (d->partials.n || d->adjoint.n || d->pullback.n || d->pushforward.n);
}

const UserOp *userop_declaration(const Op *op) {
    return op->body ? op->body->decl : NULL;
}

static const UserOpText *find_text_of(const UserOpTexts *l, Sym name) {
    for (size_t i = 0; i < l->n; i++)
        if (l->p[i].name == name) return &l->p[i];
    return NULL;
}

/* ---- from the file's texts ---- */

/* Gradients of an elementwise op are summed over broadcast dims. */
static bool pull_one_text(Pull *p, size_t i, const UserOpText *t) {
    bool ok = true;
    Graph *g = p->b->g;
    Var x = grad_text_pull(p, t->text, &ok);
    bool stretched = ok && x != GRAD_DISCONNECTED && !var_is_null(g, x) &&
                     p->op->elemwise &&
                     var_type(g, x)->ndim >= var_type(g, p->in[i])->ndim;
    p->grad[i] = stretched ? sum_to_shape(p->b, x, p->in[i]) : x;
    return ok && (!stretched || p->grad[i] != VAR_NONE);
}

static bool pull_by_texts(Pull *p, const UserOpTexts *texts) {
    const Signature *sig = op_signature(p->b->s, p->op);
    for (size_t i = 0; i < p->nin; i++) {
        const UserOpText *t =
            p->wanted[i] ? find_text_of(texts, signature_param(sig, i)->name) : NULL;
        p->grad[i] = GRAD_DISCONNECTED;
        if (t && !pull_one_text(p, i, t)) return false;
    }
    return true;
}

bool userop_push(Push *p) {
    const Signature *sig = op_signature(p->b->s, p->op);
    bool ok = true;
    for (size_t k = 0; ok && k < p->nout; k++) {
        const UserOpText *t =
            find_text_of(&p->op->body->decl->pushforward, sig->out[k]);
        p->result[k] = t ? grad_text_push(p, t->text, &ok) : VAR_NONE;
    }
    return ok;
}

/* ---- from the body ---- */

static Graph *make_gradients(Pull *p, Graph *body, bool *wanted, bool *has) {
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

/* Imports the gradients of `made`, with the Apply's inputs and cotangents as its
 * arguments. */
static bool import_gradients(Pull *p, const Graph *made, const bool *wanted) {
    size_t nin = p->nin, j = 0;
    Var *arg = mem_alloc(p->b->s, (nin + p->nout + made->outputs.n) * sizeof *arg),
        *grad = arg + nin + p->nout;
    bool ok = true;
    memcpy(arg, p->in, nin * sizeof *arg);
    for (size_t k = 0; ok && k < p->nout; k++) {
        if (p->cotangent[k] == VAR_NONE) continue;
        const Type *t = var_type(made, made->inputs.p[nin]);
        arg[nin] = shape_as(p->b, p->cotangent[k], t, p->out[k]);
        ok = arg[nin++] != VAR_NONE;
    }
    ok = ok && graph_inline(p->b->g, made, arg, p->b->intern, grad);
    for (size_t i = 0; ok && i < p->nin; i++)
        if (wanted[i]) p->grad[i] = grad[j++];
    mem_free(arg);
    return ok;
}

static bool pull_by_body(Pull *p) {
    Graph *body = userop_body(p->g, p->id);
    if (!body) return false;
    size_t errors = diag_count(p->b->s);
    bool *flags = mem_zalloc(p->b->s, p->nin + p->nout, sizeof *flags);
    Graph *made = make_gradients(p, body, flags, flags + p->nin);
    bool ok = made ? import_gradients(p, made, flags)
                   : diag_count(p->b->s) == errors; /* no gradient was wanted */
    mem_free(flags);
    return ok;
}

bool userop_pull(Pull *p) {
    const UserOp *d = p->op->body->decl;
    return d->pullback.n ? pull_by_texts(p, &d->pullback) : pull_by_body(p);
}
