/* softmax and log_softmax over one axis, or over all elements. */
#include "ops/nn/softmax.h"

#include "op/infer.h"
#include "ops/elemwise/deriv.h"

#include <string.h>

enum { ROWS_CHUNK = 1 << 14 }; /* elements a thread takes at once */

static bool softmax_type(Infer *in) {
    const Prop *axis = in_prop(in, "axis");
    const Type *t = in->type[0];
    int at;
    if (!want_kinds(in, 0, KIND_FLOAT)) return false;
    if (axis->kind != P_NONE && !infer_axis(in, axis->i, t->ndim, &at)) return false;
    return out_tensor(in, 0, t->dtype, t->ndim, t->dim);
}

/* ---- running: rows along the axis, which are contiguous or copied to be ---- */
typedef struct Job {
    const Tensor *x;
    Tensor *out;
    RowFn *row;
    DType dtype; /* of the row's loop */
    int64_t n;   /* elements of a row */
    int64_t outer, inner, count, chunk;
    int64_t step; /* bytes between a row's elements in out, and in x when x is laid out
                     like it */
    char *room;   /* a row for each worker, or NULL: rows are contiguous */
} Job;

static const SoftmaxRows *rows_of(Session *s) {
#if defined(__x86_64__)
    int level = session_cpu_level(s);
    return level == 2 ? &softmax_rows2 : level == 1 ? &softmax_rows1 : &softmax_rows0;
#else
    (void)s;
    return &softmax_rows0;
#endif
}

static void run_rows(void *ctx, size_t k, unsigned worker) {
    const Job *j = ctx;
    ptrdiff_t size = (ptrdiff_t)dtype_size(j->out->dtype),
              wide = (ptrdiff_t)dtype_size(j->dtype);
    char *room =
        j->room ? j->room + (size_t)worker * (size_t)j->n * (size_t)wide : NULL;
    int64_t end = (int64_t)(k + 1) * j->chunk;
    for (int64_t r = (int64_t)k * j->chunk; r < end && r < j->count; r++) {
        int64_t at = r / j->inner * j->n * j->inner + r % j->inner;
        const char *x = (const char *)j->x->data + at * size;
        char *out = (char *)j->out->data + at * size;
        if (!room) {
            j->row(x, out, (size_t)j->n);
            continue;
        }
        element_cast(j->dtype, room, j->out->dtype, x, (size_t)j->n, wide, j->step);
        j->row(room, room, (size_t)j->n);
        element_cast(j->out->dtype, out, j->dtype, room, (size_t)j->n, j->step, wide);
    }
}

static bool run(Call *c, int log) {
    const Tensor *x = call_in(c, 0);
    Tensor *out = call_out(c, 0, x->ndim, x->shape);
    const Prop *axis = op_prop(c->s, c->op, c->props, "axis");
    Job j = {.out = out, .n = tensor_size(x), .outer = 1, .inner = 1};
    if (!out || j.n == 0) return out != NULL;
    if (axis->kind != P_NONE) {
        int a = (int)(axis->i < 0 ? axis->i + x->ndim : axis->i);
        j.n = x->shape[a];
        for (int i = 0; i < a; i++)
            j.outer *= x->shape[i];
        for (int i = a + 1; i < x->ndim; i++)
            j.inner *= x->shape[i];
    }
    j.count = j.outer * j.inner;
    j.x = x;
    if (!tensor_is_contiguous(x)) { /* rows work in place as well */
        tensor_assign(out, x);
        j.x = out;
    }
    j.dtype = x->dtype == DT_FLOAT16 ? DT_FLOAT32 : x->dtype;
    j.row = rows_of(c->s)->row[log][j.dtype == DT_FLOAT64];
    j.step = j.inner * (int64_t)dtype_size(x->dtype);
    j.chunk = j.n >= ROWS_CHUNK ? 1 : ROWS_CHUNK / j.n;
    if (j.inner > 1 || j.dtype != x->dtype) {
        size_t bytes = (size_t)j.n * dtype_size(j.dtype) * pool_threads(c->host->pool);
        if (!(j.room = call_scratch(c, bytes))) return false;
    }
    pool_run(c->host->pool, (size_t)((j.count + j.chunk - 1) / j.chunk), run_rows, &j);
    return true;
}

static bool softmax_perform(Call *c) {
    return run(c, 0);
}
static bool log_softmax_perform(Call *c) {
    return run(c, 1);
}

/* ---- derivatives ---- */
static bool push_as(Push *p, const char *text) {
    bool ok = true;
    Var t = push_tangent(p, 0);
    p->result[0] = t == VAR_NONE ? t : build_for_apply(p->b, text, p->g, p->id, t, &ok);
    return ok && p->result[0] != VAR_NONE;
}

/* The Jacobian of softmax is symmetric: pullback and pushforward are one formula. */
static const char softmax_text[] = "r * (g - sum(g * r, axis=axis, keepdims=True))";
static bool softmax_pull(Pull *p) {
    return pull_text(p, 0, softmax_text);
}
static bool softmax_push(Push *p) {
    return push_as(p, softmax_text);
}
static bool log_softmax_pull(Pull *p) {
    return pull_text(p, 0, "g - exp(r) * sum(g, axis=axis, keepdims=True)");
}
static bool log_softmax_push(Push *p) {
    return push_as(p, "g - sum(exp(r) * g, axis=axis, keepdims=True)");
}

static const Op table[] = {
    {.name = "softmax",
     .doc = "exp(x) over its sum along an axis (None: all elements), without overflow. "
            "float32 rows add up in a fixed "
            "tree of float32 sums.",
     .in = "x",
     .props = "axis: int? = None",
     .promote = PROMOTE_INEXACT,
     .type = softmax_type,
     .perform = softmax_perform,
     .flops = "4 * r.size",
     .math = 1,
     .pull = softmax_pull,
     .push = softmax_push,
     .reuse = 1,
     .example = "softmax([0., 0.]) -> [0.5, 0.5]",
     .file = __FILE__,
     .line = __LINE__},
    {.name = "log_softmax",
     .doc = "The logarithm of softmax, exact where softmax is 0 or 1.",
     .in = "x",
     .props = "axis: int? = None",
     .promote = PROMOTE_INEXACT,
     .type = softmax_type,
     .perform = log_softmax_perform,
     .flops = "4 * r.size",
     .math = 1,
     .pull = log_softmax_pull,
     .push = log_softmax_push,
     .reuse = 1,
     .example = "log_softmax([0., 1000.]) -> [-1000.0, 0.0]",
     .file = __FILE__,
     .line = __LINE__},
};
const OpList ops_nn_softmax = {table, sizeof table / sizeof *table};
