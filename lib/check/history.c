/* An op of a plugin may remember in its own memory what it was given first, where no
 * later run shows it. So before its first run here it runs in a copy of the process, on
 * other values and then on these; its results there must be the same. Constant folding,
 * which comes before, happens in a copy, too. */
#include "check/check_impl.h"
#include "os/child.h"

#include <string.h>

enum { MOST_BYTES = 1 << 20 };
static const double SECONDS = 5; /* other values may keep it busy for ever */

static bool has_history(const KernelTrial *x) {
    int64_t bytes = 0;
    for (size_t i = 0; i < x->nin; i++)
        if (x->there[i] && check_is_array(&x->in[i]))
            bytes += (int64_t)tensor_bytes(&x->in[i].t);
    for (size_t i = 0; i < x->nout; i++)
        if (x->type[i]->kind != TYPE_TENSOR) return false;
    return x->op->plugin && !x->by_formula && bytes <= MOST_BYTES;
}

static void write_results(const Value *v, size_t n, Str *out) {
    for (size_t i = 0; i < n; i++) {
        Tensor t;
        if (!tensor_clone(out->s, &v[i].t, &t)) return;
        str_add(out, (const char *)&t.dtype, sizeof t.dtype);
        str_add(out, (const char *)&t.ndim, sizeof t.ndim);
        str_add(out, (const char *)t.shape, (size_t)t.ndim * sizeof *t.shape);
        str_add(out, t.data, tensor_bytes(&t));
        tensor_unref(&t);
    }
}

/* In the copy. Other values may well be refused. */
static void run_after_others(void *ctx, Str *out) {
    KernelTrial *x = ctx;
    OpRun floats = {.kind = KIND_REPEAT, .how = "", .others = true},
          all = {.kind = KIND_REPEAT, .how = "", .blank = true},
          these = {.kind = KIND_REPEAT, .how = ""};
    trial_run(x, &floats);
    trial_run(x, &all);
    if (!trial_run(x, &these)) return;
    for (size_t i = 0; i < x->nout; i++)
        if (!these.out_value[i].t.data) return;
    write_results(these.out_value, x->nout, out);
}

static bool read_bytes(const Str *from, size_t *at, void *to, size_t n) {
    if (from->n - *at < n) return false;
    if (n) memcpy(to, from->p + *at, n);
    *at += n;
    return true;
}

static bool read_result(Session *s, const Str *from, size_t *at, Value *v) {
    DType d;
    int ndim;
    int64_t shape[MAX_NDIM];
    return read_bytes(from, at, &d, sizeof d) &&
           read_bytes(from, at, &ndim, sizeof ndim) && ndim <= MAX_NDIM &&
           read_bytes(from, at, shape, (size_t)ndim * sizeof *shape) &&
           tensor_new(s, d, ndim, shape, &v->t) &&
           read_bytes(from, at, v->t.data, tensor_bytes(&v->t));
}

Value *history_run(KernelTrial *x) {
    Str bytes = STR(x->s);
    size_t at = 0;
    bool ok = has_history(x) && child_run(run_after_others, x, SECONDS, &bytes);
    Value *result = ok ? NEW_N(x->a, x->nout, Value) : NULL;
    for (size_t i = 0; ok && i < x->nout; i++) {
        result[i].kind = TYPE_TENSOR;
        ok = read_result(x->s, &bytes, &at, &result[i]);
    }
    str_free(&bytes);
    if (ok) return result;
    history_free(x, result);
    return NULL;
}

void history_check(KernelTrial *x, Value *result) {
    OpRun r = {.kind = KIND_REPEAT,
               .how = "in a run that follows a run with other inputs"};
    r.out_value = result;
    trial_same(x, &r, true);
}

/* ---- constant folding ---- */
typedef struct Folding {
    Check *c;
    Graph *g;
    size_t n;
    const Var *want;
} Folding;

static void fold_apart(void *ctx, Str *out) {
    Folding *f = ctx;
    Value *v = mem_zalloc(f->c->s, f->n, sizeof *v);
    if (f->c->real.eval(f->g, f->n, f->want, v)) write_results(v, f->n, out);
    mem_free(v);
}

static bool may_remember(const Graph *g, size_t n, const Var *want) {
    bool plugin = false;
    for (ApplyId a = 0; a < g->napply; a++)
        plugin |= g->apply[a].op->plugin != NULL;
    for (size_t i = 0; i < n; i++)
        if (var_type(g, want[i])->kind != TYPE_TENSOR) return false;
    return plugin;
}

bool history_fold(Graph *g, size_t n, const Var *want, Value *out) {
    Session *s = g->s;
    Folding f = {session_slot(s, SLOT_CHECK), g, n, want};
    Str bytes = STR(s);
    size_t at = 0, read = 0;
    if (!may_remember(g, n, want) || !child_run(fold_apart, &f, SECONDS, &bytes)) {
        str_free(&bytes);
        return f.c->real.eval(g, n, want, out);
    }
    for (; read < n; read++) {
        out[read] = (Value){.kind = TYPE_TENSOR};
        if (!read_result(s, &bytes, &at, &out[read])) break;
    }
    str_free(&bytes);
    for (size_t i = 0; read < n && i < read; i++)
        value_unref(&out[i]);
    return read == n;
}

void history_free(const KernelTrial *x, Value *result) {
    for (size_t i = 0; result && i < x->nout; i++)
        value_unref(&result[i]);
}
