/* logsumexp: log of the sum of exponentials without overflow, in float64. A long
 * contiguous run is processed in blocks: when a block's largest element is a new
 * maximum, the previous sum is rescaled to it. Otherwise neighbouring results are
 * computed together, in two passes over their elements, or one where each has a short
 * run. */
#include "ops/reduce/reduce.h"
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "vmap/kit.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK = 512,
    WIDTH = 64,
    SHORT = 32,
    ADJACENT = 128,  /* elements of a short run */
    TOGETHER = 2048, /* of several such runs */
    CHUNK = 1 << 14
};

static bool logsumexp_type(Infer *in) {
    return reduce_out(in, in->type[0]->dtype);
}

typedef struct LogSumExp {
    Loop *exp;
    const ReduceTable *table;
    const ReduceLoops *max, *sum; /* the float64 loops */
    DType dtype;
    const char *x;
    char *out;
    int nkept, nred;
    int64_t kept[MAX_NDIM], kept_in[MAX_NDIM], red[MAX_NDIM], red_in[MAX_NDIM];
    int64_t groups, count, per_chunk;
    int64_t wide, width, strips; /* the innermost kept dim, and its strips */
    bool adjacent;               /* results have short runs of adjacent elements */
} LogSumExp;

typedef struct ScaledSum {
    double max, sum;
} ScaledSum;

static void exp_in_place(const LogSumExp *j, double *v, size_t n) {
    const void *in[1] = {v};
    void *out[1] = {v};
    j->exp(n, in, out);
}

static double log_sum(double max, double sum) {
    return fabs(max) == HUGE_VAL || max != max ? max : log(sum) + max;
}

/* ---- one result ---- */
/* What the exponentials of more elements, up to `top`, are divided by the exponential
 * of. */
static double offset_of(ScaledSum *s, double top) {
    if (!(top <= s->max)) {
        /* -inf: the sum is still empty; an infinite maximum takes no offset */
        s->sum = s->max == -HUGE_VAL ? 0 : s->sum * exp(s->max - top);
        s->max = top;
    }
    return fabs(s->max) == HUGE_VAL ? 0 : s->max;
}

static void add_to_sum(const LogSumExp *j, ScaledSum *s, double *v, size_t n) {
    double top, more;
    j->max->runs((const char *)v, 0, 1, n, &top);
    j->table->subtract(v, n, offset_of(s, top));
    exp_in_place(j, v, n);
    j->sum->runs((const char *)v, 0, 1, n, &more);
    s->sum += more;
}

/* The same of adjacent float32s, whose largest is found before they are converted. */
static void add_floats(const LogSumExp *j, ScaledSum *s, const char *x, double *v,
                       size_t n) {
    double more;
    float top;
    j->table->loops[FOLD_MAX][DT_FLOAT32].runs(x, 0, 1, n, &top);
    j->table->exps((const float *)(const void *)x, n, offset_of(s, (double)top), v);
    j->sum->runs((const char *)v, 0, 1, n, &more);
    s->sum += more;
}

static double logsumexp_group(const LogSumExp *j, const char *x) {
    double block[BLOCK];
    ScaledSum s = {-HUGE_VAL, 0};
    int last = j->nred - 1;
    int64_t inner = last < 0 ? 1 : j->red[last], step = last < 0 ? 0 : j->red_in[last];
    bool floats = j->table->exps && j->dtype == DT_FLOAT32 && step == sizeof(float);
    for (int64_t at = 0; at < j->count; at += inner) {
        int64_t rest = at / inner;
        const char *p = x;
        for (int k = last - 1; k >= 0; k--) {
            p += rest % j->red[k] * j->red_in[k];
            rest /= j->red[k];
        }
        for (int64_t i = 0; i < inner; i += BLOCK) {
            size_t n = (size_t)(inner - i < BLOCK ? inner - i : BLOCK);
            if (floats) {
                add_floats(j, &s, p + i * step, block, n);
                continue;
            }
            tensor_cast_elements(DT_FLOAT64, block, j->dtype, p + i * step, n, 8, step);
            add_to_sum(j, &s, block, n);
        }
    }
    return log_sum(s.max, s.sum);
}

/* ---- neighbouring results ---- */
/* Moves to the next reduced position. */
static void next_position(const LogSumExp *j, int64_t *index, const char **x) {
    for (int k = j->nred - 1; k >= 0; k--) {
        *x += j->red_in[k];
        if (++index[k] < j->red[k]) return;
        *x -= j->red_in[k] * j->red[k];
        index[k] = 0;
    }
}

static void find_offsets(const double *r, size_t n, double *offset) {
    for (size_t i = 0; i < n; i++)
        offset[i] = fabs(r[i]) == HUGE_VAL ? 0 : r[i];
}

/* The results of n neighbours `step` bytes apart, of few elements: each is converted
 * once, and all exponentials are one call. */
static void logsumexp_few(const LogSumExp *j, const char *x, int64_t step, size_t n,
                          double *r) {
    double v[TOGETHER], offset[WIDTH], sum[WIDTH] = {0},
                                       *end = v + j->count * (int64_t)n;
    int64_t index[MAX_NDIM] = {0};
    for (size_t i = 0; i < n; i++)
        r[i] = -HUGE_VAL;
    for (double *row = v; row < end; row += n, next_position(j, index, &x)) {
        tensor_cast_elements(DT_FLOAT64, row, j->dtype, x, n, 8, step);
        j->max->join(r, row, n, 0, 0);
    }
    find_offsets(r, n, offset);
    for (double *row = v; row < end; row += n)
        j->table->subtract_each(row, n, offset);
    exp_in_place(j, v, (size_t)(end - v));
    for (double *row = v; row < end; row += n)
        j->sum->join(sum, row, n, 0, 0);
    for (size_t i = 0; i < n; i++)
        r[i] = log_sum(r[i], sum[i]);
}

/* The results of n neighbours `step` bytes apart. */
static void logsumexp_beside(const LogSumExp *j, const char *x, int64_t step, size_t n,
                             double *r) {
    double v[WIDTH], offset[WIDTH], sum[WIDTH] = {0};
    int64_t index[MAX_NDIM] = {0};
    for (size_t i = 0; i < n; i++)
        r[i] = -HUGE_VAL;
    for (int64_t at = 0; at < j->count; at++, next_position(j, index, &x)) {
        tensor_cast_elements(DT_FLOAT64, v, j->dtype, x, n, 8, step);
        j->max->join(r, v, n, 0, 0);
    }
    find_offsets(r, n, offset);
    for (int64_t at = 0; at < j->count; at++, next_position(j, index, &x)) {
        tensor_cast_elements(DT_FLOAT64, v, j->dtype, x, n, 8, step);
        j->table->subtract_each(v, n, offset);
        exp_in_place(j, v, n);
        j->sum->join(sum, v, n, 0, 0);
    }
    for (size_t i = 0; i < n; i++)
        r[i] = log_sum(r[i], sum[i]);
}

/* The same of few elements each, which are adjacent. */
static void logsumexp_runs(const LogSumExp *j, const char *x, int64_t step, size_t n,
                           double *r) {
    double v[TOGETHER], sum[WIDTH];
    size_t each = (size_t)j->count, row = each * sizeof *v;
    int64_t item = (int64_t)dtype_size(j->dtype);
    bool one = step == (int64_t)each * item; /* run after run */
    for (size_t i = 0; i < (one ? 1 : n); i++)
        tensor_cast_elements(DT_FLOAT64, v + i * each, j->dtype, x + (int64_t)i * step,
                             one ? n * each : each, 8, item);
    j->max->runs((const char *)v, (ptrdiff_t)row, n, each, r);
    for (size_t i = 0; i < n; i++) /* log_sum makes good for infinite ones */
        j->table->subtract(v + i * each, each, r[i]);
    exp_in_place(j, v, n * each);
    j->sum->runs((const char *)v, (ptrdiff_t)row, n, each, sum);
    for (size_t i = 0; i < n; i++)
        r[i] = log_sum(r[i], sum[i]);
}

/* ---- all ---- */
static void logsumexp_strip(const LogSumExp *j, int64_t strip) {
    int64_t item = (int64_t)dtype_size(j->dtype), rest = strip / j->strips,
            first = strip % j->strips * j->width, last = j->nkept - 1;
    int64_t n = j->wide - first < j->width ? j->wide - first : j->width,
            step = last < 0 ? 0 : j->kept_in[last];
    char *out = j->out + (rest * j->wide + first) * item;
    const char *x = j->x + first * step;
    for (int64_t k = last - 1; k >= 0; k--) {
        x += rest % j->kept[k] * j->kept_in[k];
        rest /= j->kept[k];
    }
    double r[WIDTH];
    if (j->adjacent)
        logsumexp_runs(j, x, step, (size_t)n, r);
    else if (j->width > 1 && j->count <= TOGETHER / n)
        logsumexp_few(j, x, step, (size_t)n, r);
    else if (j->width > 1)
        logsumexp_beside(j, x, step, (size_t)n, r);
    else
        r[0] = logsumexp_group(j, x);
    tensor_cast_elements(j->dtype, out, DT_FLOAT64, r, (size_t)n, item, 8);
}

static void logsumexp_chunk(void *ctx, size_t chunk, unsigned worker) {
    (void)worker;
    const LogSumExp *j = ctx;
    int64_t at = (int64_t)chunk * j->per_chunk, all = j->groups / j->wide * j->strips,
            end = at + j->per_chunk < all ? at + j->per_chunk : all;
    for (; at < end; at++)
        logsumexp_strip(j, at);
}

/* Computes neighbours together if results are closer in memory than their elements, or
 * elements are few. */
static void plan_strips(LogSumExp *j) {
    int kept = j->nkept - 1, red = j->nred - 1;
    j->wide = kept < 0 ? 1 : j->kept[kept];
    bool closer =
        kept >= 0 && (red < 0 || i64_abs(j->kept_in[kept]) < i64_abs(j->red_in[red]));
    j->width = j->wide > 1 && (closer || j->count <= SHORT) ? WIDTH : 1;
    j->adjacent = !closer && red == 0 && j->wide > 1 && j->count > 0 &&
                  j->count <= ADJACENT && j->red_in[0] == (int64_t)dtype_size(j->dtype);
    if (j->adjacent) j->width = j->count > SHORT ? TOGETHER / j->count : WIDTH;
    j->strips = (j->wide + j->width - 1) / j->width;
    int64_t each = j->count * j->width;
    j->per_chunk = each < CHUNK ? CHUNK / (each + 1) + 1 : 1;
}

static void run_redo(void *how, const void *const *in, void *const *out) {
    LogSumExp *j = how;
    j->x = in[0];
    j->out = out[0];
    logsumexp_chunk(j, 0, 0);
}

static bool logsumexp_perform(Call *c) {
    Tensor x = *call_in(c, 0);
    bool flag[MAX_NDIM], keepdims;
    reduce_prop_flags(c, flag, &keepdims);
    LogSumExp j = {.dtype = x.dtype, .x = x.data, .count = 1, .groups = 1};
    int64_t shape[MAX_NDIM];
    int n = 0;
    for (int k = 0; k < x.ndim; k++) {
        if (!flag[k] || keepdims) shape[n++] = flag[k] ? 1 : x.shape[k];
        int64_t *size = flag[k] ? j.red : j.kept, *in = flag[k] ? j.red_in : j.kept_in;
        int at = flag[k] ? j.nred++ : j.nkept++;
        size[at] = x.shape[k];
        in[at] = x.stride[k];
        *(flag[k] ? &j.count : &j.groups) *= x.shape[k];
    }
    Tensor *out = call_out(c, 0, n, shape);
    if (!out) return false;
    j.out = out->data;
    j.exp = op_loop(c->s, op_known(c->s, OP_EXP), DT_FLOAT64, DT_FLOAT64);
    if (j.groups == 0) return true;
    j.table = reduce_table(c->s);
    j.max = &j.table->loops[FOLD_MAX][DT_FLOAT64];
    j.sum = &j.table->loops[FOLD_SUM][DT_FLOAT64];
    plan_strips(&j);
    int64_t all = j.groups / j.wide * j.strips,
            chunks = (all + j.per_chunk - 1) / j.per_chunk;
    if (move_pool(c) && chunks > 1) {
        pool_run(move_pool(c), (size_t)chunks, logsumexp_chunk, &j);
    } else {
        j.per_chunk = all;
        logsumexp_chunk(&j, 0, 0);
    }
    if (c->redo && chunks == 1) {
        LogSumExp *again = mem_alloc(c->s, sizeof *again);
        *again = j;
        *c->redo = (Redo){run_redo, again};
    }
    return true;
}

/* The gradient is distributed by softmax. */
static bool logsumexp_pull(Pull *p) {
    if (pull_discrete(p)) return true;
    Builder *b = p->b;
    Var g = reduce_spread(b, p->cotangent[0], p->op, p->props, p->in[0]);
    Var r = reduce_spread(b, p->out[0], p->op, p->props, p->in[0]);
    Var d = op_call2(b, "subtract", p->in[0], r), e = op_call1(b, "exp", d);
    return e != VAR_NONE && g != VAR_NONE &&
           (p->grad[0] = op_call2(b, "multiply", g, e)) != VAR_NONE;
}

static bool logsumexp_debug(Call *c) {
    return reduce_reference(c, FOLD_KINDS, 0, false);
}

static const Op table[] = {
    {.name = OP_ROW("logsumexp"),
     .doc = "log(sum(exp(x))) over the given axes (None: all), without overflow; -inf "
            "for no elements.",
     .in = "x",
     .props = "axis: axes = None, keepdims: bool = False",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_BOOL | KIND_REAL,
     .type = logsumexp_type,
     .perform = logsumexp_perform,
     .reentrant = true,
     .debug = logsumexp_debug,
     .flops = "3 * x.size + 2 * r.size",
     .pull = logsumexp_pull,
     RARE(.redo = true),
     .vmap = vmap_axes,
     .example = "logsumexp([1000.0, 1000.0]) -> 1000.6931471805599\nlogsumexp([[0.0], "
                "[0.0]], axis=1) -> [0.0, 0.0]"},
};
const OpList ops_reduce_logsumexp = LIST_OF(table);
