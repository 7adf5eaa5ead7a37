/* NAN_GUARD: the first nan, inf or huge number stops the run. */
#include "check/check.h"
#include "lang/print/print.h"

static bool is_exempt(const Guard *w, const Graph *g, Var v) {
    if (w->nexempt == 0) return false;
    for (size_t i = 0; i < g->names.n; i++)
        for (size_t k = 0; g->names.p[i].var == v && k < w->nexempt; k++)
            if (g->names.p[i].name == w->exempt[k]) return true;
    return false;
}

static void put_fault_count(Str *out, int64_t n, const char *what) {
    if (n) str_printf(out, "%s%lld %s", out->n ? ", " : "", (long long)n, what);
}

/* "2 nan, 1 inf"; empty: nothing found. */
static void put_faults(const Guard *w, const Stats *q, Str *out) {
    if (w->what & GUARD_NAN) put_fault_count(out, q->nans, "nan");
    if (w->what & GUARD_INF) put_fault_count(out, q->infs, "inf");
    if (w->what & GUARD_BIG) put_fault_count(out, q->big, "beyond 1e10");
}

static bool is_watched(const Value *v) {
    return v && v->kind == TYPE_TENSOR && v->t.data && dtype_is_inexact(v->t.dtype);
}

static void note_range(Session *s, const char *what, size_t i, const Tensor *t) {
    Stats q = tensor_stats(t);
    note(s, NOWHERE, "%s %zu: min %.9g, max %.9g, mean %.9g; %lld nan, %lld inf", what,
         i, q.min, q.max, q.mean, (long long)q.nans, (long long)q.infs);
}

static void note_where(const Call *c, const Tensor *t, const Stats *q) {
    int64_t index[MAX_NDIM], at = q->first < 0 ? q->first_big : q->first;
    if (at >= 0) {
        for (int k = t->ndim - 1; k >= 0; k--) {
            index[k] = at % t->shape[k];
            at /= t->shape[k];
        }
        Str text = STR(c->s);
        shape_text(c->s, t->ndim, index, &text);
        note(c->s, NOWHERE, "the first is at %s", str_text(&text));
        str_free(&text);
    }
    if (c->g->main != c->g)
        note(c->s, NOWHERE, "in the function %s", sym_text(c->s, c->g->name));
    hint(c->s, HINT_UNGUARDED);
}

/* Has the op computed in the input's storage? */
static bool is_overwritten(const Call *c, size_t j) {
    for (size_t i = 0; i < c->nout; i++)
        if (c->out[i].kind == TYPE_TENSOR && c->out[i].t.data == c->in[j]->t.data &&
            op_view(c->g, c->id, i) != (int)j)
            return true;
    return false;
}

/* Says what the op was given; what it has written over is left out. */
static void fail_with_inputs(const Call *c, size_t i, const char *what) {
    static const Value nothing;
    Call k = *c;
    Str size = STR(c->s);
    const Tensor *t = &c->out[i].t;
    const Value **in = mem_alloc(c->s, (c->nin + 1) * sizeof *in);
    for (size_t j = 0; j < c->nin; j++)
        in[j] = is_watched(c->in[j]) && is_overwritten(c, j) ? &nothing : c->in[j];
    k.in = in;
    shape_text(c->s, t->ndim, t->shape, &size);
    call_fail(&k, E_NAN, "output %zu, %s%s, has %s", i, dtype_name(t->dtype),
              str_text(&size), what);
    for (size_t j = 0; j < c->nin; j++)
        if (in[j] == &nothing)
            note(c->s, NOWHERE, "input %zu is not shown: the result went over it", j);
        else if (is_watched(in[j]))
            note_range(c->s, "input", j, call_in(c, j));
    str_free(&size);
    mem_free((void *)in);
}

static bool output_fault(const Call *c, size_t i, const Stats *q, const char *what) {
    fail_with_inputs(c, i, what);
    note_range(c->s, "output", i, &c->out[i].t);
    note_where(c, &c->out[i].t, q);
    return false;
}

static bool leaf_fault(const Call *c, Var v, const Tensor *t, const Stats *q,
                       const char *what) {
    const char *kind = var_leaf(c->g, v) == LEAF_INPUT ? "input" : "shared variable";
    fail(c->s, NOWHERE, E_NAN, "the %s %s: %s has %s", kind,
         sym_text(c->s, var_name(c->g, v)), type_str(c->s, var_type(c->g, v)), what);
    note_where(c, t, q);
    return false;
}

static bool guard_step_outputs(void *ctx, size_t step, const Call *c, double seconds) {
    const Guard *w = ctx;
    Str what = STR(c->s);
    bool ok = true;
    (void)step, (void)seconds;
    for (size_t i = 0; ok && i < c->nout; i++) {
        if (!is_watched(&c->out[i])) continue;
        Stats q = tensor_stats(&c->out[i].t);
        put_faults(w, &q, &what);
        if (what.n && !is_exempt(w, c->g, c->g->apply[c->id].out + (Var)i))
            ok = output_fault(c, i, &q, str_text(&what));
        str_clear(&what);
    }
    str_free(&what);
    return ok;
}

/* A function's inputs were checked at their origin. */
static bool is_guarded_leaf(const Graph *g, Var v) {
    LeafKind k = var_leaf(g, v);
    return g->main == g && (k == LEAF_INPUT || k == LEAF_SHARED);
}

static bool guard_leaf(const Guard *w, const Call *c, Var v, const Value *x) {
    if (!is_guarded_leaf(c->g, v) || !is_watched(x)) return true;
    Str what = STR(c->s);
    Stats q = tensor_stats(&x->t);
    put_faults(w, &q, &what);
    bool ok = !what.n || is_exempt(w, c->g, v) ||
              leaf_fault(c, v, &x->t, &q, str_text(&what));
    str_free(&what);
    return ok;
}

static bool guard_step_inputs(void *ctx, size_t step, const Call *c) {
    (void)step;
    for (size_t i = 0; i < c->nin; i++)
        if (!guard_leaf(ctx, c, apply_in(c->g, c->id)[i], c->in[i])) return false;
    return true;
}

VmHooks guard_hooks(const Guard *g) {
    return (VmHooks){.ctx = (void *)(uintptr_t)g,
                     .before = guard_step_inputs,
                     .after = guard_step_outputs};
}

bool guard_outputs(const Guard *w, const Graph *ran, const Machine *m) {
    Call c = {.s = ran->s, .g = ran};
    for (size_t i = 0; i < ran->outputs.n; i++)
        if (!guard_leaf(w, &c, ran->outputs.p[i].var, vm_output(m, i))) return false;
    return true;
}
