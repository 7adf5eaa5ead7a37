/* each_shard(rows, *args, fn=f, shards=S): a function of the graph for one shard of the
 * rows after the other (op/shards.h). rewrite/parallel makes it. Its gradient is
 * each_shard again, of the function's pullback: what was split has its gradient split,
 * what all shards share gets a sum. */
#include "op/services.h"
#include "op/shards.h"
#include "ops/control/unify.h"
#include "ops/shape/linear.h"
#include "vmap/kit.h"

#include <string.h>

/* ---- typing ---- */

static bool want_shards(Infer *in) {
    int64_t n = infer_prop(in, "shards")->i;
    return (n > 0 && n <= SHARDS_MOST && (n & (n - 1)) == 0) ||
           infer_fail(in, E_ARG, in->nin,
                      "shards must be a power of two, up to %d, not %lld", SHARDS_MOST,
                      (long long)n);
}

/* An argument as the function sees it: with a shard's rows. */
static bool argument_type(Infer *in, const ShardForm *f, size_t k, const Type **out) {
    const Type *t = *out = in->type[k + 1];
    Dim dim[MAX_NDIM];
    if (!f->split[k]) return true;
    if (t->kind != TYPE_TENSOR || t->ndim == 0)
        return infer_fail(in, E_TYPE, k + 1,
                          "only arrays with rows can be split, not %s",
                          type_str(in->s, t));
    memcpy(dim, t->dim, (size_t)t->ndim * sizeof *dim);
    dim[0] = DIM_UNKNOWN;
    *out = type_tensor(in->s, t->dtype, t->ndim, dim);
    return true;
}

static bool unify_shard(Infer *in, const Graph *fn, const ShardForm *f, Unify *u) {
    Misfit why;
    const Type *t = type_tensor(in->s, DT_INT64, 0, NULL);
    for (size_t k = 0; k < fn->inputs.n; k++) {
        if (k > 0 && !argument_type(in, f, k - 1, &t)) return false;
        const Type *want = var_type(fn, fn->inputs.p[k]);
        if (!unify_type(u, want, t, k, &why))
            return infer_fail(in, why.code, k, "input %s of %s is %s, but gets %s",
                              sym_text(in->s, var_name(fn, fn->inputs.p[k])),
                              sym_text(in->s, fn->name), type_str(in->s, want),
                              type_str(in->s, t));
    }
    return true;
}

static bool result_type(Infer *in, const ShardForm *f, const Type *t, size_t k) {
    Dim dim[MAX_NDIM + 1], rows = DIM_UNKNOWN;
    ShardResult what = f->result[k];
    int stack = what == SHARD_STACK;
    if (t->kind != TYPE_TENSOR || (what == SHARD_ROWS && t->ndim == 0))
        return infer_fail(in, E_TYPE, in->nin,
                          "output %zu is %s, which can't be joined row by row", k,
                          type_str(in->s, t));
    if (what == SHARD_SUM && t->dtype == DT_BOOL)
        return infer_fail(in, E_DTYPE, in->nin, "output %zu is bool: it has no sum", k);
    if (!infer_ndim(in, t->ndim + stack)) return false;
    if (t->ndim) memcpy(dim + stack, t->dim, (size_t)t->ndim * sizeof *dim);
    for (size_t i = 0; i + 1 < in->nin && rows == DIM_UNKNOWN; i++)
        if (f->split[i]) rows = in->type[i + 1]->dim[0];
    if (what != SHARD_SUM) dim[0] = stack ? DIM_UNKNOWN : rows;
    return infer_out_tensor(in, k, t->dtype, t->ndim + stack, dim);
}

static bool type_with_form(Infer *in, const Graph *fn, const ShardForm *f) {
    Unify u;
    unify_open(&u, in->s);
    bool ok = unify_shard(in, fn, f, &u);
    for (size_t k = 0; ok && k < in->nout; k++)
        ok =
            result_type(in, f, unify_result(&u, var_type(fn, fn->outputs.p[k].var)), k);
    unify_close(&u);
    return ok;
}

static bool each_shard_type(Infer *in) {
    Sym name = infer_prop(in, "fn")->sym;
    const Graph *g = infer_graph(in), *fn = g ? graph_function(g, name) : NULL;
    if (!fn)
        return infer_fail(in, E_NAME, in->nin, "there is no function %s",
                          sym_text(in->s, name));
    if (fn->inputs.n != in->nin || fn->outputs.n == 0 || fn->outputs.n > OUT_MAX)
        return infer_fail(in, E_ARITY, in->nin,
                          "%s must have outputs, and take the number of the shard and "
                          "%s: it has %s and %s",
                          sym_text(in->s, name),
                          str_counted(in->s, in->nin - 1, "argument"),
                          str_counted(in->s, fn->inputs.n, "input"),
                          str_counted(in->s, fn->outputs.n, "output"));
    if (op_has_effect(infer_graph(in), in->op, in->props))
        return infer_fail(in, E_ARG, in->nin, "%s has effects, which no shard can have",
                          sym_text(in->s, name));
    ShardForm f;
    Arena *a = arena_new(in->s);
    in->nout = fn->outputs.n;
    bool ok = want_shards(in) &&
              (shard_form(in->s, in->op, in->props, in->nin - 1, in->nout, a, &f) ||
               infer_fail(in, E_ARG, in->nin,
                          "split has positions of arguments, sum and stack different "
                          "ones of outputs")) &&
              type_with_form(in, fn, &f);
    arena_free(a);
    return ok;
}

/* ---- running, where no machine does it (vm/shards.c) ---- */

typedef struct InnerShards {
    const Services *sv;
    struct Inner *inner;
    size_t n;
    Value *out;
    Span at;
} InnerShards;

static bool run_inner(void *ctx, int64_t i, const Value *const *in, const Value **out) {
    InnerShards *w = ctx;
    (void)i;
    for (size_t k = 0; k < w->n; k++)
        value_unref(&w->out[k]);
    if (!w->sv->inner_run(w->inner, in, w->out, w->at)) return false;
    for (size_t k = 0; k < w->n; k++)
        out[k] = &w->out[k];
    return true;
}

static bool run_with_inner(Call *c, InnerShards *w) {
    Arena *a = arena_new(c->s);
    ShardRun r = {.s = c->s,
                  .at = c->at,
                  .nargs = c->nin - 1,
                  .nout = c->nout,
                  .rows = tensor_i64(call_in(c, 0), 0),
                  .arg = c->in + 1,
                  .out = c->out,
                  .run = run_inner,
                  .ctx = w};
    bool ok = shard_form(c->s, c->op, c->props, r.nargs, r.nout, a, &r.form) &&
              shards_run(&r);
    arena_free(a);
    return ok;
}

static bool each_shard_perform(Call *c) {
    const Services *sv = services(c->s);
    const Graph *fn = graph_function(c->g, op_prop(c->s, c->op, c->props, "fn")->sym);
    if (!sv->inner_new || !fn) bug("shards can't run here");
    InnerShards w = {.sv = sv,
                     .inner = sv->inner_new(c->s, fn),
                     .n = c->nout,
                     .out = mem_zalloc(c->s, c->nout, sizeof *w.out),
                     .at = c->at};
    bool ok = w.inner && run_with_inner(c, &w);
    for (size_t k = 0; k < w.n; k++)
        value_unref(&w.out[k]);
    mem_free(w.out);
    sv->inner_free(w.inner);
    return ok;
}

/* ---- derivatives ---- */

typedef struct ShardPull {
    Pull *p;
    Graph *fn;
    ShardForm form;
    bool *wanted, *has; /* by input of fn; by output */
    Vec(int64_t) split, sum;
    Vec(Var) in;
} ShardPull;

/* Which gradients the function must give; false: none. */
static bool find_wanted(ShardPull *w) {
    Pull *p = w->p;
    bool any = false;
    for (size_t k = 0; k < p->nout; k++)
        w->has[k] = p->cotangent[k] != VAR_NONE;
    for (size_t i = 0; i < p->nin; i++) {
        p->grad[i] = GRAD_DISCONNECTED;
        for (size_t k = 0; i > 0 && p->wanted[i] && k < p->nout; k++)
            w->wanted[i] |= w->has[k] && graph_connected(w->fn, i, k);
        any |= w->wanted[i];
    }
    return any;
}

static bool add_cotangents(ShardPull *w, const Graph *made) {
    Pull *p = w->p;
    for (size_t i = 0; i < p->nin; i++) {
        vec_push(p->b->s, &w->in, p->in[i]);
        if (i > 0 && w->form.split[i - 1]) vec_push(p->b->s, &w->split, (int64_t)i - 1);
    }
    for (size_t k = 0; k < p->nout; k++) {
        if (!w->has[k]) continue;
        if (w->form.result[k] == SHARD_STACK)
            return fail(p->b->s, p->g->origin[p->id].at, E_NULL,
                        "each_shard has no derivative by an output that is stacked");
        if (w->form.result[k] == SHARD_ROWS)
            vec_push(p->b->s, &w->split, (int64_t)w->in.n - 1);
        const Type *due = var_type(made, made->inputs.p[w->in.n]);
        Var g = w->form.result[k] == SHARD_ROWS
                    ? p->cotangent[k]
                    : shape_as(p->b, p->cotangent[k], due, p->out[k]);
        if (g == VAR_NONE) return false;
        vec_push(p->b->s, &w->in, g);
    }
    return true;
}

static bool apply_pullback(ShardPull *w, const Graph *made) {
    Pull *p = w->p;
    Session *s = p->b->s;
    size_t j = 0;
    for (size_t i = 1; i < p->nin; i++) {
        if (!w->wanted[i]) continue;
        if (!w->form.split[i - 1]) vec_push(s, &w->sum, (int64_t)j);
        if (var_is_null(made, made->outputs.p[j].var))
            return fail(s, p->g->origin[p->id].at, E_NULL,
                        "the derivative of %s by argument %zu is undefined: %s",
                        sym_text(s, w->fn->name), i,
                        var_type(made, made->outputs.p[j].var)->why);
        j++;
    }
    PropArg prop[] = {{"fn", {.kind = P_GRAPH, .sym = made->name}},
                      {"shards", PROP_INT(w->form.shards)},
                      {"split", PROP_INTS(w->split.p, w->split.n)},
                      {"sum", PROP_INTS(w->sum.p, w->sum.n)}};
    Var *out = mem_alloc(s, made->outputs.n * sizeof *out);
    bool ok =
        op_apply(p->b, p->op, props_make(s, p->op, 4, prop), w->in.n, w->in.p, out);
    j = 0;
    for (size_t i = 1; ok && i < p->nin; i++)
        if (w->wanted[i]) p->grad[i] = out[j++];
    mem_free(out);
    return ok;
}

static bool each_shard_pull(Pull *p) {
    Session *s = p->b->s;
    Arena *a = arena_new(s);
    ShardPull w = {.p = p,
                   .fn = graph_function(p->g, op_prop(s, p->op, p->props, "fn")->sym),
                   .wanted = NEW_N(a, p->nin + 1, bool),
                   .has = NEW_N(a, p->nout + 1, bool)};
    bool ok = shard_form(s, p->op, p->props, p->nin - 1, p->nout, a, &w.form);
    if (ok && find_wanted(&w)) {
        Graph *made = services(s)->pullback(p->b->g->main, w.fn, w.wanted, w.has);
        ok = made && add_cotangents(&w, made) && apply_pullback(&w, made);
    }
    vec_free(&w.split);
    vec_free(&w.sum);
    vec_free(&w.in);
    arena_free(a);
    return ok;
}

static bool each_shard_connect(const Graph *g, ApplyId a, size_t in, size_t out) {
    const Apply *r = &g->apply[a];
    Graph *fn = graph_function(g, op_prop(g->s, r->op, r->props, "fn")->sym);
    return in > 0 && (!fn || graph_connected(fn, in, out));
}

/* Known once the function has run. */
static bool no_shapes(ShapeOf *q) {
    for (size_t k = 0; k < q->nout; k++)
        if (q->out_shape[k]) q->out_shape[k][0] = VAR_NONE;
    return true;
}

static const Op table[] = {
    {.name = OP_ROW("each_shard"),
     .varies = true,
     .doc =
         "The function fn for one shard of the rows after the other. Of n rows, shard "
         "i of S = shards has those from n i / S to n (i + 1) / S, rounded down; "
         "`rows` is the n of all ranks, of which each has the rows of S / ranks "
         "adjacent shards. fn takes the number of the shard, then args, of which "
         "those at the places `split` have only the shard's rows. Its outputs are "
         "joined row by row; those at the places `sum` are added up in pairs, pairs "
         "of pairs and so on, and those at `stack` get a leading axis with an element "
         "for each shard. Graphs that are split have it.",
     .in = "rows: int, *args: any",
     .props = "fn: graph, shards: int, split: ints, sum: ints = [], stack: ints = []",
     .type = each_shard_type,
     RARE(.infer_shape = no_shapes, .connect = each_shard_connect),
     .perform = each_shard_perform,
     .fold = FOLD_NEVER,
     .pull = each_shard_pull,
     .disconnected = "rows"},
};
const OpList ops_ranks_each_shard = LIST_OF(table);
