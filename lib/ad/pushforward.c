/* The tangents of a function's results, as a function of its inputs and their tangents:
 * made once for each choice of inputs that have a tangent, called wherever forward mode
 * passes a call of the function. A custom `pushforward` takes the inputs, then a
 * tangent for each, and returns a tangent for each output. */
#include "ad/claim.h"
#include "op/strip_effects.h"

#include <stdio.h>
#include <string.h>

typedef struct PushforwardRecipe {
    Graph *main, *made;
    const Graph *fn; /* without effects: the original call has them */
    Sym name;        /* of the original function */
    const bool *has; /* by input: is there a tangent? */
    Builder b;
    Arena *tmp;
    Var *in, *out, *tangent; /* of fn, in `made` */
} PushforwardRecipe;

static Sym pushforward_name(Session *s, const Graph *fn, const bool *has) {
    Str text = STR(s);
    bool all = true;
    str_printf(&text, "%s_pushforward", sym_text(s, fn->name));
    for (size_t i = 0; i < fn->inputs.n; i++)
        all &= has[i];
    if (!all) str_putc(&text, '_');
    for (size_t i = 0; !all && i < fn->inputs.n; i++)
        str_putc(&text, has[i] ? '1' : '0');
    Sym y = sym(s, str_text(&text));
    str_free(&text);
    return y;
}

static Var tangent_input(PushforwardRecipe *r, size_t i) {
    Session *s = r->main->s;
    const Type *t = var_type(r->fn, r->fn->inputs.p[i]);
    char name[40];
    snprintf(name, sizeof name, "t%zu", i);
    for (unsigned j = 0; graph_find(r->made, sym(s, name)) != VAR_NONE; j++)
        snprintf(name, sizeof name, "t%zu_%u", i, j);
    if (dtype_is_discrete(t->dtype)) t = type_with_dtype(s, t, r->b.floatX);
    return graph_input(r->made, sym(s, name), t);
}

/* Copies inputs and body of fn, then adds the tangents. */
static bool copy_with_tangents(PushforwardRecipe *r) {
    const Graph *fn = r->fn;
    for (size_t i = 0; i < fn->inputs.n; i++) {
        Var x = fn->inputs.p[i];
        r->in[i] = graph_input(r->made, var_leafrec(fn, x)->name, var_type(fn, x));
    }
    if (!graph_inline(r->made, fn, r->in, true, r->out)) return false;
    for (size_t i = 0; i < fn->inputs.n; i++)
        r->tangent[i] = r->has[i] ? tangent_input(r, i) : VAR_NONE;
    return true;
}

static bool push_by_rules(PushforwardRecipe *r, Var *result) {
    const Graph *fn = r->fn;
    Var *wrt = NEW_N(r->tmp, fn->inputs.n, Var), *t = NEW_N(r->tmp, fn->inputs.n, Var);
    size_t n = 0;
    for (size_t i = 0; i < fn->inputs.n; i++) {
        if (!r->has[i]) continue;
        wrt[n] = r->in[i];
        t[n++] = r->tangent[i];
    }
    VarList f = {fn->outputs.n, r->out}, by = {n, wrt};
    return ad_jvp(&r->b, f, by, t, false, result);
}

static bool push_by_override(PushforwardRecipe *r, const Graph *own, Var *result) {
    Session *s = r->main->s;
    const Graph *fn = r->fn;
    size_t nin = fn->inputs.n, nout = fn->outputs.n;
    if (own->inputs.n != 2 * nin || own->outputs.n != nout)
        return fail(
            s, r->b.from.at, E_ARITY,
            "pushforward %s of function %s must take its %zu inputs and %zu tangents "
            "and return %zu tangents, but it takes %zu and returns %zu",
            sym_text(s, own->name), sym_text(s, r->name), nin, nin, nout, own->inputs.n,
            own->outputs.n);
    const Op *call = op_known(s, OP_CALL);
    Var *arg = NEW_N(r->tmp, 2 * nin, Var);
    for (size_t i = 0; i < nin; i++) {
        arg[i] = r->in[i];
        arg[nin + i] = r->has[i] ? r->tangent[i] : ad_zero(&r->b, r->in[i]);
        if (arg[nin + i] == VAR_NONE) return false;
    }
    PropArg which = {"fn", {.kind = P_GRAPH, .sym = own->name}};
    if (!op_apply(&r->b, call, props_make(s, call, 1, &which), 2 * nin, arg, result))
        return false;
    for (size_t k = 0; k < nout; k++) {
        Claimed c = {.kind = "pushforward",
                     .of = sym_text(s, r->name),
                     .output = true,
                     .part = sym_text(s, fn->outputs.p[k].label),
                     .own = true};
        if (!ad_claim_tangent(&r->b, &c, r->out[k], &result[k])) return false;
    }
    return true;
}

static bool depends_on_tangents(PushforwardRecipe *r, size_t k) {
    for (size_t i = 0; i < r->fn->inputs.n; i++)
        if (r->has[i] && graph_connected((Graph *)(uintptr_t)r->fn, i, k)) return true;
    return false; /* graph_connected only caches its answer */
}

/* An output tK for each tangent that there is. */
static void add_tangent_outputs(PushforwardRecipe *r, const Var *result) {
    Session *s = r->main->s;
    for (size_t k = 0; k < r->fn->outputs.n; k++) {
        char label[32];
        if (result[k] == GRAD_DISCONNECTED || var_is_null(r->made, result[k]) ||
            !depends_on_tangents(r, k))
            continue;
        snprintf(label, sizeof label, "t%zu", k);
        vec_push(s, &r->made->outputs, ((Output){sym(s, label), result[k]}));
    }
}

/* A function can't have outputs of type null. */
static bool has_null_tangent(const Graph *g, size_t n, const Var *v) {
    for (size_t k = 0; k < n; k++)
        if (var_is_null(g, v[k])) return true;
    return false;
}

static Graph *make_pushforward(Graph *main, const Graph *fn, const bool *has) {
    Session *s = main->s;
    Sym name = pushforward_name(s, fn, has);
    Graph *old = graph_function(main, name);
    if (old) return old;
    const Graph *quiet = graph_strip_effects(main, fn);
    if (!quiet) return NULL;
    if (!session_enter(s)) return session_too_deep(s, graph_place(fn)), NULL;
    PushforwardRecipe r = {
        .main = main, .fn = quiet, .name = fn->name, .has = has, .tmp = arena_new(s)};
    r.made = graph_function_new(main, name);
    r.made->derived = true;
    r.b = builder(r.made, true);
    r.in = NEW_N(r.tmp, fn->inputs.n, Var);
    r.tangent = NEW_N(r.tmp, fn->inputs.n, Var);
    r.out = NEW_N(r.tmp, fn->outputs.n, Var);
    Var *result = NEW_N(r.tmp, fn->outputs.n, Var);
    const Graph *own = fn->pushforward ? graph_function(main, fn->pushforward) : NULL;
    bool ok = copy_with_tangents(&r) &&
              (own ? push_by_override(&r, own, result) : push_by_rules(&r, result));
    if (ok && has_null_tangent(r.made, fn->outputs.n, result))
        r.made->litter = true; /* not to be used */
    else if (ok)
        add_tangent_outputs(&r, result);
    arena_free(r.tmp);
    session_leave(s);
    return ok ? r.made : NULL;
}

/* ---- a call ---- */
static Var tangent_output(Builder *b, const Graph *made, size_t k) {
    char label[32];
    snprintf(label, sizeof label, "t%zu", k);
    return graph_output(made, sym(b->s, label));
}

static bool call_pushforward(Builder *b, ApplyId a, const Graph *made,
                             const Var *tangent, Var *result) {
    const Apply ap = b->g->apply[a];
    Arena *tmp = arena_new(b->s);
    Var *arg = NEW_N(tmp, 2 * (size_t)ap.nin, Var), *out = NEW_N(tmp, OUT_MAX, Var);
    size_t n = ap.nin, at = 0;
    bool ok = true;
    for (size_t i = 0; i < ap.nin; i++)
        arg[i] = apply_in(b->g, a)[i];
    for (size_t i = 0; ok && i < ap.nin; i++) {
        if (tangent[i] == VAR_NONE) continue;
        const Type *want = var_type(made, made->inputs.p[n]);
        arg[n] = shape_as(b, op_cast_to(b, tangent[i], want->dtype), want, arg[i]);
        ok = arg[n++] != VAR_NONE;
    }
    PropArg which = {"fn", {.kind = P_GRAPH, .sym = made->name}};
    ok = ok && (made->outputs.n == 0 ||
                op_apply(b, ap.op, props_make(b->s, ap.op, 1, &which), n, arg, out));
    for (size_t k = 0; ok && k < ap.nout; k++)
        if (tangent_output(b, made, k) != VAR_NONE) result[k] = out[at++];
    arena_free(tmp);
    return ok;
}

bool ad_push_call(Builder *b, ApplyId a, const Graph *fn, const Var *tangent,
                  Var *result, bool *done) {
    size_t nin = fn->inputs.n;
    bool *has = mem_zalloc(b->s, nin + 1, sizeof *has);
    for (size_t i = 0; i < nin; i++)
        has[i] = tangent[i] != VAR_NONE;
    const Graph *made = make_pushforward(b->g->main, fn, has);
    *done = made && !made->litter;
    bool ok = made && (!*done || call_pushforward(b, a, made, tangent, result));
    mem_free(has);
    return ok;
}
