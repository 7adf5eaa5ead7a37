/* call(*args, fn=f): applies a function of the graph. The arguments' types bind the
 * function's own dim names, which determine the outputs' types. */
#include "op/services.h"
#include "ops/control/unify.h"
#include "part/part.h"
#include "vmap/kit.h"

/* ---- typing ---- */

static const Graph *infer_callee(const Infer *in) {
    const Graph *g = infer_graph(in);
    return g ? graph_function(g, infer_prop(in, "fn")->sym) : NULL;
}

static bool fail_argument(Infer *in, const Graph *fn, size_t k, Misfit why) {
    Sym name = var_name(fn, fn->inputs.p[k]);
    infer_fail(in, why.code, k, "argument %zu of %s is %s, but its input %s is %s",
               k + 1, sym_text(in->s, fn->name), type_str(in->s, in->type[k]),
               sym_text(in->s, name), type_str(in->s, var_type(fn, fn->inputs.p[k])));
    if (why.name)
        note(in->s, NOWHERE, "%s is %lld by argument %zu and %lld by argument %zu",
             sym_text(in->s, why.name), (long long)why.was, why.by + 1,
             (long long)why.is, k + 1);
    return false;
}

static bool unify_arguments(Infer *in, const Graph *fn, Unify *u) {
    Misfit why;
    for (size_t k = 0; k < in->nin; k++)
        if (!unify_type(u, var_type(fn, fn->inputs.p[k]), in->type[k], k, &why))
            return fail_argument(in, fn, k, why);
    in->nout = fn->outputs.n;
    for (size_t k = 0; k < in->nout; k++)
        in->out[k] = unify_result(u, var_type(fn, fn->outputs.p[k].var));
    return true;
}

/* Is it true that fn may be computed for some rows after the others? */
static bool check_rows(Infer *in, const Graph *fn) {
    const Prop *rows = infer_prop(in, "rows");
    if (!rows->ints.n) return true;
    if (rows->ints.n != in->nin)
        return infer_fail(in, E_ARG, in->nin,
                          "rows needs an axis, or -1, for each of the %s",
                          str_counted(in->s, in->nin, "argument"));
    Arena *a = arena_new(in->s);
    const char *why;
    bool ok = part_by_rows(fn, a, rows->ints.p, NEW_N(a, in->nout + 1, int), &why) ||
              infer_fail(in, E_ARG, in->nin,
                         "%s can't be computed for some rows after the others: %s",
                         sym_text(in->s, fn->name), why);
    arena_free(a);
    return ok;
}

static bool call_op_type(Infer *in) {
    const Graph *fn = infer_callee(in);
    if (!fn)
        return infer_fail(in, E_NAME, in->nin, "there is no function %s",
                          sym_text(in->s, infer_prop(in, "fn")->sym));
    const char *name = sym_text(in->s, fn->name);
    if (in->nin != fn->inputs.n)
        return infer_fail(in, E_ARITY, in->nin, "%s takes %s, not %zu", name,
                          str_counted(in->s, fn->inputs.n, "argument"), in->nin);
    if (fn->outputs.n == 0 || fn->outputs.n > OUT_MAX)
        return infer_fail(in, E_ARG, in->nin,
                          "%s has %zu outputs; a call needs 1 to %d", name,
                          fn->outputs.n, OUT_MAX);
    Unify u;
    unify_open(&u, in->s);
    bool ok = unify_arguments(in, fn, &u);
    unify_close(&u);
    return ok && check_rows(in, fn);
}

/* ---- running ---- */

static bool call_perform(Call *c) {
    const Services *sv = services(c->s);
    const Graph *fn = graph_function(c->g, op_prop(c->s, c->op, c->props, "fn")->sym);
    if (!sv->inner_new || !fn) bug("a call can't run here");
    struct Inner *inner = sv->inner_new(c->s, fn);
    if (!inner) return false;
    size_t n = c->nout + (fn->until != VAR_NONE); /* a loop's condition is the last
                                                   * output */
    Value *out = mem_zalloc(c->s, n, sizeof *out);
    bool ok = sv->inner_run(inner, c->in, out, c->at);
    for (size_t k = 0; k < n; k++) {
        if (!ok || k >= c->nout) {
            value_unref(&out[k]);
            continue;
        }
        value_unref(&c->out[k]);
        c->out[k] = out[k];
    }
    mem_free(out);
    sv->inner_free(inner);
    return ok;
}

/* ---- derivatives ---- */

static Graph *pulled_function(const Pull *p) {
    return graph_function(p->g, op_prop(p->b->s, p->op, p->props, "fn")->sym);
}

static bool input_is_reached(Graph *fn, const Pull *p, size_t i) {
    for (size_t k = 0; k < p->nout; k++)
        if (p->cotangent[k] != VAR_NONE && graph_connected(fn, i, k)) return true;
    return false;
}

/* The gradients of the `wanted` inputs as a function. Undefined gradients are left out
 * and become their constant at once. */
static Graph *gradient_function(Pull *p, const Graph *fn, bool *wanted,
                                const bool *has) {
    for (;;) {
        Graph *made = services(p->b->s)->pullback(p->b->g->main, fn, wanted, has);
        if (!made) return NULL;
        bool again = false;
        for (size_t i = 0, j = 0; i < p->nin; i++) {
            if (!wanted[i]) continue;
            const Type *t = var_type(made, made->outputs.p[j++].var);
            if (t->kind != TYPE_NULL) continue;
            p->grad[i] = grad_undefined(p->b, t->why);
            wanted[i] = false;
            again = true;
        }
        if (!again) return made;
    }
}

static bool apply_gradients(Pull *p, const Graph *made, const bool *wanted) {
    Var *in = mem_alloc(p->b->s, made->inputs.n * sizeof *in);
    size_t n = p->nin, j = 0;
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        in[i] = p->in[i];
    for (size_t k = 0; ok && k < p->nout; k++) {
        if (p->cotangent[k] == VAR_NONE) continue;
        in[n] = shape_as(p->b, p->cotangent[k], var_type(made, made->inputs.p[n]),
                         p->out[k]);
        ok = in[n++] != VAR_NONE;
    }
    Var *out = mem_alloc(p->b->s, made->outputs.n * sizeof *out);
    PropArg fn = {"fn", {.kind = P_GRAPH, .sym = made->name}};
    ok = ok && op_apply(p->b, p->op, props_make(p->b->s, p->op, 1, &fn), n, in, out);
    for (size_t i = 0; ok && i < p->nin; i++)
        if (wanted[i]) p->grad[i] = out[j++];
    mem_free(in);
    mem_free(out);
    return ok;
}

static bool pull_wanted(Pull *p, Graph *fn, bool *wanted, bool *has) {
    bool any = false;
    for (size_t k = 0; k < p->nout; k++)
        has[k] = p->cotangent[k] != VAR_NONE;
    for (size_t i = 0; i < p->nin; i++) {
        p->grad[i] = GRAD_DISCONNECTED;
        wanted[i] = p->wanted[i] && input_is_reached(fn, p, i);
        any |= wanted[i];
    }
    if (!any) return true;
    const Graph *made = gradient_function(p, fn, wanted, has);
    return made && (made->outputs.n == 0 || apply_gradients(p, made, wanted));
}

static bool call_pull(Pull *p) {
    bool *flags = mem_zalloc(p->b->s, p->nin + p->nout, sizeof *flags);
    bool ok = pull_wanted(p, pulled_function(p), flags, flags + p->nin);
    mem_free(flags);
    return ok;
}

/* ---- vmap ---- */

/* An argument's type may know less about its shape than the function's input type. */
static Var rows_for_argument(Vmap *q, size_t i, const Type *input) {
    Builder *b = q->b;
    const Type *have = var_type(b->g, q->in[i]), *row = var_type(q->g, q->was[i]);
    bool known = true;
    for (int k = 0; k < row->ndim; k++)
        known &=
            !dim_is_known(input->dim[k + 1]) || input->dim[k + 1] == have->dim[k + 1];
    if (known) return q->in[i];
    Var shape = shape_vector(b, q->was[i]);
    return op_call2(b, "specify_shape", q->in[i], vmap_prepend_size(q, shape));
}

static bool call_vmap(Vmap *q) {
    Builder *b = q->b;
    const Graph *fn = graph_function(q->g, op_prop(b->s, q->op, q->props, "fn")->sym);
    Graph *made = services(b->s)->vmap(b->g->main, fn, q->rows);
    if (!made) return false;
    Var *in = mem_alloc(b->s, q->nin * sizeof *in);
    for (size_t i = 0; i < q->nin; i++)
        in[i] = q->rows[i] ? rows_for_argument(q, i, var_type(made, made->inputs.p[i]))
                           : q->in[i];
    for (size_t k = 0; k < q->nout; k++) {
        const Type *t = var_type(made, made->outputs.p[k].var),
                   *row = var_type(fn, fn->outputs.p[k].var);
        q->out_rows[k] = t->kind == TYPE_TENSOR && t->ndim > row->ndim;
    }
    PropArg prop[] = {
        {"fn", {.kind = P_GRAPH, .sym = made->name}},
        {"scope", *op_prop(b->s, q->op, q->props, "scope")},
    }; /* rows would be along other axes */
    bool ok = vmap_apply(q, props_make(b->s, q->op, 2, prop), in);
    mem_free(in);
    return ok;
}

static bool call_connect(const Graph *g, ApplyId a, size_t in, size_t out) {
    const Apply *r = &g->apply[a];
    Graph *fn = graph_function(g, op_prop(g->s, r->op, r->props, "fn")->sym);
    return !fn || graph_connected(fn, in, out);
}

static const Op table[] = {
    {.name = OP_ROW("call"),
     .varies = true,
     .doc = "The function fn of the graph, applied to args. If scope is given, the "
            "values that the function sows are harvested under that name. rows lets it "
            "be computed for a block of rows after the other, so that what it needs in "
            "between stays small: it has for each argument the axis of the rows, or -1 "
            "if all rows need the whole argument. Results are joined, or added up if "
            "they are sums over the rows.",
     .in = "*args: any",
     .props = "fn: graph, scope: str = '', rows: ints = []",
     .type = call_op_type,
     .perform = call_perform,
     .pull = call_pull,
     .vmap = call_vmap,
     RARE(.connect = call_connect)},
};
const OpList ops_control_call = LIST_OF(table);
