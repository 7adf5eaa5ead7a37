/* call(*args, fn=f): a function of the graph, applied. The function's own dim names are
 * bound by the arguments' types, and its outputs' types follow. */
#include "op/infer.h"
#include "op/services.h"

/* ---- typing ---- */

/* What the function's dim names stand for, and the argument that said so. */
typedef struct Bound {
    Map dim; /* sym -> Dim */
    Map arg; /* sym -> argument */
} Bound;

static const Graph *callee(const Infer *in) {
    return in->g ? graph_function(in->g, in_prop(in, "fn")->sym) : NULL;
}

static bool misfit(Infer *in, const Graph *fn, size_t k, DiagCode code) {
    Sym name = var_name(fn, fn->inputs.p[k]);
    return infer_fail(in, code, k, "argument %zu of %s is %s, but its input %s is %s",
                      k + 1, sym_text(in->s, fn->name), type_str(in->s, in->type[k]),
                      sym_text(in->s, name),
                      type_str(in->s, var_type(fn, fn->inputs.p[k])));
}

static bool bind_name(Infer *in, const Graph *fn, Bound *b, size_t k, Sym name,
                      Dim actual) {
    uint64_t have, by;
    if (!map_get(&b->dim, name, &have)) {
        map_put(&b->dim, name, (uint64_t)actual);
        map_put(&b->arg, name, k);
        return true;
    }
    if (!dim_may_equal((Dim)have, actual)) {
        map_get(&b->arg, name, &by);
        misfit(in, fn, k, E_SHAPE);
        return note(in->s, NOWHERE,
                    "%s is %lld by argument %d and %lld by argument %zu",
                    sym_text(in->s, name), (long long)have, (int)by + 1,
                    (long long)actual, k + 1);
    }
    map_put(&b->dim, name, (uint64_t)dim_meet((Dim)have, actual));
    return true;
}

static bool bind_dims(Infer *in, const Graph *fn, Bound *b, size_t k,
                      const Type *want) {
    const Type *have = in->type[k];
    if (want->ndim != have->ndim) return misfit(in, fn, k, E_SHAPE);
    for (int i = 0; i < want->ndim; i++) {
        Dim d = want->dim[i];
        if (dim_is_known(d) && d != have->dim[i]) return misfit(in, fn, k, E_SHAPE);
        if (dim_is_named(d) && !bind_name(in, fn, b, k, dim_sym(d), have->dim[i]))
            return false;
    }
    return true;
}

static bool bind_argument(Infer *in, const Graph *fn, Bound *b, size_t k) {
    const Type *want = var_type(fn, fn->inputs.p[k]), *have = in->type[k];
    if (want->kind != have->kind) return misfit(in, fn, k, E_TYPE);
    if (want->kind != TYPE_TENSOR && want->kind != TYPE_SPARSE)
        return type_is_super(want, have) || misfit(in, fn, k, E_TYPE);
    if (want->dtype != have->dtype || want->why != have->why)
        return misfit(in, fn, k, E_DTYPE);
    return bind_dims(in, fn, b, k, want);
}

/* The type of a result, in the dims of the caller. */
static const Type *substitute(Session *s, const Bound *b, const Type *t) {
    Dim dim[MAX_NDIM];
    int lists = 0;
    for (; t->kind == TYPE_LIST; t = t->elem)
        lists++;
    if (t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE) {
        for (int i = 0; i < t->ndim; i++) {
            uint64_t d;
            dim[i] = t->dim[i];
            if (!dim_is_named(dim[i])) continue;
            dim[i] = map_get(&b->dim, dim_sym(dim[i]), &d) ? (Dim)d : DIM_UNKNOWN;
        }
        t = t->kind == TYPE_TENSOR ? type_tensor(s, t->dtype, t->ndim, dim)
                                   : type_sparse(s, t->why, t->dtype, dim);
    }
    while (lists-- > 0)
        t = type_list(s, t);
    return t;
}

static bool unify(Infer *in, const Graph *fn, Bound *b) {
    for (size_t k = 0; k < in->nin; k++)
        if (!bind_argument(in, fn, b, k)) return false;
    in->nout = fn->outputs.n;
    for (size_t k = 0; k < in->nout; k++)
        in->out[k] = substitute(in->s, b, var_type(fn, fn->outputs.p[k].var));
    return true;
}

static bool call_type(Infer *in) {
    const Graph *fn = callee(in);
    if (!fn)
        return infer_fail(in, E_NAME, in->nin, "there is no function %s",
                          sym_text(in->s, in_prop(in, "fn")->sym));
    const char *name = sym_text(in->s, fn->name);
    if (in->nin != fn->inputs.n)
        return infer_fail(in, E_ARITY, in->nin, "%s takes %zu argument%s, not %zu",
                          name, fn->inputs.n, fn->inputs.n == 1 ? "" : "s", in->nin);
    if (fn->outputs.n == 0 || fn->outputs.n > OUT_MAX)
        return infer_fail(in, E_ARG, in->nin,
                          "%s has %zu outputs; a call needs 1 to %d", name,
                          fn->outputs.n, OUT_MAX);
    Bound b = {MAP(in->s), MAP(in->s)};
    bool ok = unify(in, fn, &b);
    map_free(&b.dim);
    map_free(&b.arg);
    return ok;
}

/* ---- running ---- */

static bool call_perform(Call *c) {
    const Services *sv = services(c->s);
    const Graph *fn = graph_function(c->g, op_prop(c->s, c->op, c->props, "fn")->sym);
    if (!sv->inner_new || !fn) bug("a call can't run here");
    struct Inner *inner = sv->inner_new(c->s, fn);
    if (!inner) return false;
    size_t n = c->nout + (fn->until != VAR_NONE); /* a loop's condition comes last */
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

static Graph *pulled(const Pull *p) {
    return graph_function(p->g, op_prop(p->b->s, p->op, p->props, "fn")->sym);
}

static bool is_reached(Graph *fn, const Pull *p, size_t i) {
    for (size_t k = 0; k < p->nout; k++)
        if (p->cotangent[k] != VAR_NONE && function_connected(fn, i, k)) return true;
    return false;
}

/* The gradients of `wanted` inputs as a function, without those that are undefined:
 * they get their constant at once. */
static Graph *gradients(Pull *p, const Graph *fn, bool *wanted, const bool *has) {
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

/* A cotangent may know less of its shape than the output that it belongs to. */
static Var fitting(Pull *p, size_t k, const Type *input) {
    Var g = p->cotangent[k];
    if (type_is_super(input, var_type(p->b->g, g))) return g;
    return call2(p->b, "specify_shape", g, shape_vector(p->b, p->out[k]));
}

static bool apply_gradients(Pull *p, const Graph *made, const bool *wanted) {
    Var *in = mem_alloc(p->b->s, made->inputs.n * sizeof *in);
    size_t n = p->nin, j = 0;
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        in[i] = p->in[i];
    for (size_t k = 0; ok && k < p->nout; k++) {
        if (p->cotangent[k] == VAR_NONE) continue;
        in[n] = fitting(p, k, var_type(made, made->inputs.p[n]));
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
        wanted[i] = p->wanted[i] && is_reached(fn, p, i);
        any |= wanted[i];
    }
    if (!any) return true;
    const Graph *made = gradients(p, fn, wanted, has);
    return made && (made->outputs.n == 0 || apply_gradients(p, made, wanted));
}

static bool call_pull(Pull *p) {
    bool *flags = mem_zalloc(p->b->s, p->nin + p->nout, sizeof *flags);
    bool ok = pull_wanted(p, pulled(p), flags, flags + p->nin);
    mem_free(flags);
    return ok;
}

static bool call_connect(const Graph *g, ApplyId a, size_t in, size_t out) {
    const Apply *r = &g->apply[a];
    Graph *fn = graph_function(g, op_prop(g->s, r->op, r->props, "fn")->sym);
    return !fn || function_connected(fn, in, out);
}

static const Op table[] = {
    {.name = "call",
     .doc = "The function fn of the graph, applied to args.",
     .in = "*args: any",
     .props = "fn: graph",
     .type = call_type,
     .perform = call_perform,
     .pull = call_pull,
     .connect = call_connect,
     .file = __FILE__,
     .line = __LINE__},
};
const OpList ops_control_call = {table, sizeof table / sizeof *table};
