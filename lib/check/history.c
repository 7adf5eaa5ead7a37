/* An op of a plugin may remember in its own memory what it was given first, where no
 * later run shows it. So before its first run here it runs in a copy of the process, on
 * other values and then on these; its results there must be the same. */
#include "base/child.h"
#include "check/check_impl.h"

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

static void write_results(const OpRun *r, size_t nout, Str *out) {
    for (size_t i = 0; i < nout; i++) {
        Tensor t;
        if (!tensor_clone(out->s, &r->out_value[i].t, &t)) return;
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
    write_results(&these, x->nout, out);
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

void history_free(const KernelTrial *x, Value *result) {
    for (size_t i = 0; result && i < x->nout; i++)
        value_unref(&result[i]);
}
