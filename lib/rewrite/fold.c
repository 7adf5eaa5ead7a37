/* Constant folding: an Apply whose inputs are constants runs in a graph of its own, or,
 * elementwise and of single numbers, as a loop over one element. If it fails, it stays,
 * so that the error appears where the user runs it. */
#include "rewrite/rewrite_impl.h"

enum { MOST_BYTES = 1 << 20, FREE_GROWTH = 4096, LOOP_INPUTS = 4 };

/* Bytes of a static tensor type, or -1. Plugin values count as one number. */
static int64_t static_type_bytes(const Type *t) {
    if (t->kind == TYPE_PLUGIN) return 8;
    int64_t n = t->kind == TYPE_TENSOR ? type_size(t) : -1, bytes;
    if (n < 0 || !i64_mul(n, (int64_t)dtype_size(t->dtype), &bytes)) return -1;
    return bytes;
}

/* All inputs are constants; *bytes is their size. */
static bool inputs_const(Rewriter *r, const Apply *a, int64_t *bytes) {
    *bytes = 0;
    for (size_t i = 0; i < a->nin; i++) {
        Var v = rewriter_resolve(r, r->g->in[a->in + i]);
        if (!var_is_const(r->g, v)) return false;
        int64_t n = static_type_bytes(var_type(r->g, v));
        *bytes += n > 0 ? n : 0;
    }
    return a->nin > 0;
}

/* The function that an Apply calls, or NULL. */
static const Graph *called_function(const Rewriter *r, const Apply *a) {
    for (size_t i = 0; i < a->props->n; i++)
        if (a->props->p[i].kind == P_GRAPH)
            return graph_function(r->g, a->props->p[i].sym);
    return NULL;
}

/* A fused group has one type for all its calls, so its results may have no size; they
 * are no larger than its inputs, stretched to one shape. -1: too large. */
static int64_t most_bytes_of_fused(Rewriter *r, const Apply *a, const Type *t) {
    int64_t most[MAX_NDIM], n = (int64_t)dtype_size(t->dtype);
    for (int k = 0; k < MAX_NDIM; k++)
        most[k] = 1;
    for (size_t i = 0; i < a->nin; i++) {
        const Tensor *in = var_const(r->g, rewriter_resolve(r, r->g->in[a->in + i]));
        for (int k = 0; in && k < in->ndim; k++)
            if (in->shape[k] > most[MAX_NDIM - in->ndim + k])
                most[MAX_NDIM - in->ndim + k] = in->shape[k];
    }
    for (int k = 0; k < MAX_NDIM; k++)
        if (!i64_mul(n, most[k], &n)) return -1;
    return n;
}

static int64_t result_bytes(Rewriter *r, const Apply *a, Var v) {
    const Type *t = var_type(r->g, v);
    const Graph *called = called_function(r, a);
    int64_t n = static_type_bytes(t);
    bool fused = called && called->fused && t->kind == TYPE_TENSOR;
    return n < 0 && fused ? most_bytes_of_fused(r, a, t) : n;
}

/* Repeated values and ranges (arange, broadcast_to) are cheaper to compute than to
 * store. */
static bool folded_results_fit(Rewriter *r, const Apply *a, int64_t in_bytes) {
    int64_t total = 0;
    for (Var k = 0; k < a->nout; k++) {
        int64_t n = result_bytes(r, a, a->out + k);
        if (n < 0 || n > MOST_BYTES) return false;
        total += n;
    }
    return total <= MOST_BYTES && (total <= FREE_GROWTH || total <= 2 * in_bytes);
}

/* Single numbers need no machine: the loop that it would run takes one step. False: it
 * has to be a machine, which also tells what fails. */
static bool run_loop_once(Rewriter *r, ApplyId id, Value *out) {
    const Apply *a = &r->g->apply[id];
    const Type *t = var_type(r->g, a->out);
    const void *in[LOOP_INPUTS];
    if (!a->op->pick || a->nout != 1 || a->nin == 0 || a->nin > LOOP_INPUTS ||
        services(r->s)->debugging || t->kind != TYPE_TENSOR || t->ndim > 0)
        return false;
    DType from = DT_NONE;
    for (size_t i = 0; i < a->nin; i++) {
        const Tensor *x = var_const(r->g, rewriter_input(r, id, i));
        if (!x || x->ndim > 0) return false;
        in[i] = x->data;
        from = x->dtype;
    }
    Loop *loop = op_loop(r->s, a->op, from, t->dtype);
    Tensor result;
    if (!loop || !tensor_new(r->s, t->dtype, 0, NULL, &result)) return false;
    void *to = result.data;
    if (loop(1, in, &to)) return tensor_unref(&result), false;
    *out = (Value){.kind = TYPE_TENSOR, .t = result};
    return true;
}

static bool evaluate_apply(Rewriter *r, ApplyId id, Value *out) {
    if (run_loop_once(r, id, out)) return true;
    Graph *g = graph_new(r->s);
    const Apply *a = &r->g->apply[id];
    Var *in = mem_alloc(r->s, (a->nin + a->nout) * sizeof *in);
    for (size_t i = 0; i < a->nin; i++)
        in[i] = graph_share_const(g, r->g, rewriter_input(r, id, i), false);
    const Graph *fused = called_function(r, a);
    Var first = fused ? 0 : graph_copy_apply(g, r->g, id, in, false);
    for (Var k = 0; !fused && k < a->nout; k++)
        in[k] = first + k;
    Var *arg = arena_copy(g->arena, in, a->nin * sizeof *in);
    bool ok = !fused || graph_inline(g, fused, arg, false, in);
    ok = ok && services(r->s)->eval(g, a->nout, in, out);
    mem_free(in);
    graph_free(g);
    return ok;
}

/* Takes ownership of the values. */
static bool results_to_constants(Rewriter *r, const Apply *a, Value *value, Var *out) {
    bool ok = true;
    for (Var k = 0; k < a->nout; k++) {
        const Type *t = var_type(r->g, a->out + k);
        ok &= value[k].kind == TYPE_TENSOR || value[k].kind == TYPE_PLUGIN;
        if (ok && value[k].kind == TYPE_PLUGIN)
            out[k] = graph_const_value(r->g, t, &value[k]);
        else if (ok)
            out[k] = graph_const(r->g, &value[k].t, true);
        value_unref(&value[k]);
    }
    return ok;
}

/* Asks the op itself, which may decide by the Apply's neighbours, and differently once
 * these have changed. */
static bool op_agrees(Rewriter *r, ApplyId id) {
    const Op *op = r->g->apply[id].op;
    if (!op_rare(op)->fold_if) return true;
    const GraphView *view = view_now(r);
    bool agrees = view && op_rare(op)->fold_if(view, id);
    r->loose |= !agrees;
    return agrees;
}

Var rewriter_evaluate(Rewriter *r, Var v) {
    ApplyId id = var_owner(r->g, v);
    if (id == APPLY_NONE || !services(r->s)->eval) return VAR_NONE;
    const Apply own = r->g->apply[id];
    Value *value = mem_zalloc(r->s, own.nout, sizeof *value);
    Var *out = mem_alloc(r->s, own.nout * sizeof *out), result = VAR_NONE;
    size_t mark = diag_count(r->s);
    if (!evaluate_apply(r, id, value))
        rewriter_forget(r, mark);
    else if (results_to_constants(r, &own, value, out))
        result = out[v - own.out];
    rewriter_grow(r);
    mem_free(value);
    mem_free(out);
    return result;
}

bool rewrite_fold_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply *a = &r->g->apply[id];
    int64_t bytes;
    if (a->op->fold == FOLD_NEVER || a->op->effect || r->state[id] & NOFOLD ||
        !inputs_const(r, a, &bytes) || !op_agrees(r, id))
        return false;
    a = &r->g->apply[id];
    r->state[id] |= NOFOLD; /* folded or not, it is not tried again */
    const Graph *called = called_function(r, a);
    if (!folded_results_fit(r, a, bytes) || (called && !called->fused) ||
        !services(r->s)->eval)
        return false;
    Apply own = *a;
    Value *value = mem_zalloc(r->s, own.nout, sizeof *value);
    size_t mark = diag_count(r->s);
    bool ok = evaluate_apply(r, id, value);
    if (!ok) rewriter_forget(r, mark);
    ok = ok && results_to_constants(r, &own, value, out);
    mem_free(value);
    return ok;
}
