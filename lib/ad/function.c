/* The gradient of a function, as a function: made once, called wherever a call of the
 * function is differentiated. */
#include "ad/claim.h"
#include "op/strip_effects.h"

#include <stdio.h>
#include <string.h>

typedef struct PullbackRecipe {
    Graph *main, *made;
    const Graph *fn; /* without effects: the original call has them */
    Sym name;        /* of the original function */
    const bool *wanted, *has;
    Builder b;
    Arena *tmp;
    Var *in, *out, *cotangent; /* of fn, in `made` */
} PullbackRecipe;

/* "f_pullback", followed by the selection unless it is everything: one name for each
 * recipe. */
static Sym pullback_name(Session *s, const Graph *fn, const bool *wanted,
                         const bool *has) {
    Str text = STR(s);
    str_printf(&text, "%s_pullback", sym_text(s, fn->name));
    bool all = true;
    for (size_t i = 0; i < fn->inputs.n; i++)
        all &= wanted[i];
    for (size_t k = 0; k < fn->outputs.n; k++)
        all &= has[k];
    if (!all) {
        str_putc(&text, '_');
        for (size_t i = 0; i < fn->inputs.n; i++)
            str_putc(&text, wanted[i] ? '1' : '0');
        str_putc(&text, '_');
        for (size_t k = 0; k < fn->outputs.n; k++)
            str_putc(&text, has[k] ? '1' : '0');
    }
    Sym y = sym(s, str_text(&text));
    str_free(&text);
    return y;
}

/* Copies inputs and body of fn, then adds a cotangent for each output that has one. */
static bool copy_with_cotangents(PullbackRecipe *r) {
    Session *s = r->main->s;
    const Graph *fn = r->fn;
    for (size_t i = 0; i < fn->inputs.n; i++) {
        Var x = fn->inputs.p[i];
        r->in[i] = graph_input(r->made, var_name(fn, x), var_type(fn, x));
    }
    if (!graph_inline(r->made, fn, r->in, true, r->out)) return false;
    for (size_t k = 0; k < fn->outputs.n; k++) {
        if (!r->has[k]) continue;
        char name[32];
        snprintf(name, sizeof name, "g%zu", k);
        for (unsigned j = 0; graph_find(r->made, sym(s, name)) != VAR_NONE; j++)
            snprintf(name, sizeof name, "g%zu_%u", k, j);
        const Type *t = var_type(fn, fn->outputs.p[k].var);
        if (dtype_is_discrete(t->dtype)) t = type_with_dtype(s, t, r->b.floatX);
        r->cotangent[k] = graph_input(r->made, sym(s, name), t);
    }
    return true;
}

static bool pull_by_rules(PullbackRecipe *r, Var *grad) {
    const Graph *fn = r->fn;
    size_t nf = 0, nwrt = 0;
    Var *f = NEW_N(r->tmp, fn->outputs.n, Var), *g = NEW_N(r->tmp, fn->outputs.n, Var);
    Var *wrt = NEW_N(r->tmp, fn->inputs.n, Var),
        *part = NEW_N(r->tmp, fn->inputs.n, Var);
    for (size_t k = 0; k < fn->outputs.n; k++)
        if (r->has[k]) {
            /* two outputs may be one variable: add their cotangents */
            size_t same = 0;
            while (same < nf && f[same] != r->out[k])
                same++;
            g[same] = same < nf ? op_call2(&r->b, "add", g[same], r->cotangent[k])
                                : r->cotangent[k];
            if (g[same] == VAR_NONE) return false;
            f[same] = r->out[k];
            nf += same == nf;
        }
    for (size_t i = 0; i < fn->inputs.n; i++)
        if (r->wanted[i]) wrt[nwrt++] = r->in[i];
    GradOptions how = {.disconnected = GRAD_IGNORE,
                       .return_disconnected = GRAD_ZERO,
                       .null = NULL_RETURN};
    if (!ad_vjp(&r->b, (VarList){nf, f}, g, (VarList){nwrt, wrt}, &how, part))
        return false;
    for (size_t i = 0, j = 0; i < fn->inputs.n; i++)
        if (r->wanted[i]) grad[i] = part[j++];
    return true;
}

/* Among the outputs that have a cotangent, does input i reach those of integer dtype
 * only? */
static bool is_discrete_path(const PullbackRecipe *r, size_t i) {
    const Graph *fn = r->fn;
    for (size_t k = 0; k < fn->outputs.n; k++) {
        const Type *t = var_type(fn, fn->outputs.p[k].var);
        bool moves = t->kind == TYPE_PLUGIN || dtype_is_inexact(t->dtype);
        if (r->has[k] && moves &&
            graph_connected((Graph *)(uintptr_t)fn, i, k)) /* caches its answer */
            return false;
    }
    return true;
}

/* Calls the custom pullback: a function of the inputs and all cotangents with one
 * output for each input. */
static bool pull_by_override(PullbackRecipe *r, const Graph *own, Var *grad) {
    const Graph *fn = r->fn;
    size_t nin = fn->inputs.n, nout = fn->outputs.n;
    if (own->inputs.n != nin + nout || own->outputs.n != nin)
        return fail(
            r->main->s, r->b.from.at, E_ARITY,
            "pullback %s of function %s must take its %zu inputs and %zu cotangents "
            "and return %zu gradients, but it takes %zu and returns %zu",
            sym_text(r->main->s, own->name), sym_text(r->main->s, r->name), nin, nout,
            nin, own->inputs.n, own->outputs.n);
    const Op *call = op_known(r->main->s, OP_CALL);
    Var *arg = NEW_N(r->tmp, nin + nout, Var);
    for (size_t i = 0; i < nin; i++)
        arg[i] = r->in[i];
    for (size_t k = 0; k < nout; k++) {
        arg[nin + k] = r->has[k] ? r->cotangent[k] : ad_zero(&r->b, r->out[k]);
        if (arg[nin + k] == VAR_NONE) return false;
    }
    PropArg which = {"fn", {.kind = P_GRAPH, .sym = own->name}};
    if (!op_apply(&r->b, call, props_make(r->main->s, call, 1, &which), nin + nout, arg,
                  grad))
        return false;
    for (size_t i = 0; i < nin; i++) {
        Claimed c = {.kind = "gradient",
                     .of = sym_text(r->main->s, r->name),
                     .part = sym_text(r->main->s, var_name(fn, fn->inputs.p[i])),
                     .own = true,
                     .zero = is_discrete_path(r, i)};
        if (r->wanted[i] && !ad_claim(&r->b, &c, r->in[i], &grad[i])) return false;
    }
    return true;
}

Graph *ad_pullback(Graph *main, const Graph *fn, const bool *wanted, const bool *has) {
    Session *s = main->s;
    Sym name = pullback_name(s, fn, wanted, has);
    Graph *old = graph_function(main, name);
    if (old) return old;
    const Graph *quiet = graph_strip_effects(main, fn);
    if (!quiet) return NULL;
    if (!session_enter(s)) return session_too_deep(s, graph_place(fn)), NULL;
    PullbackRecipe r = {.main = main,
                        .fn = quiet,
                        .name = fn->name,
                        .wanted = wanted,
                        .has = has,
                        .tmp = arena_new(s)};
    r.made = graph_function_new(main, name);
    r.made->derived = true;
    r.b = builder(r.made, true);
    r.in = NEW_N(r.tmp, fn->inputs.n, Var);
    r.out = NEW_N(r.tmp, fn->outputs.n, Var);
    r.cotangent = NEW_N(r.tmp, fn->outputs.n, Var);
    Var *grad = NEW_N(r.tmp, fn->inputs.n, Var);
    const Graph *own = fn->pullback ? graph_function(main, fn->pullback) : NULL;
    bool ok = copy_with_cotangents(&r) &&
              (own ? pull_by_override(&r, own, grad) : pull_by_rules(&r, grad));
    for (size_t i = 0; ok && i < fn->inputs.n; i++) {
        if (!wanted[i]) continue;
        char label[32];
        snprintf(label, sizeof label, "d%zu", i);
        Output out = {sym(s, label), grad[i]};
        vec_push(s, &r.made->outputs, out);
    }
    arena_free(r.tmp);
    session_leave(s);
    return ok ? r.made : NULL;
}
