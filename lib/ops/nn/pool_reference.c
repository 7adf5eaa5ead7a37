/* Pooling straight from the definitions, for DEBUG: every element of a plane is asked
 * whether it is in the window. */
#include "ops/nn/pool.h"

#include <string.h>

/* Is element i of n in window w of axis k? */
static bool window_has(const PoolPlan *p, int k, int64_t w, int64_t i) {
    int64_t from = i - (w * p->w.stride[k] - p->w.before[k]);
    return from >= 0 && from % p->w.dilation[k] == 0 &&
           from / p->w.dilation[k] < p->w.size[k];
}

/* What a window sees of a plane, element after element. */
typedef void WindowVisit(void *ctx, int64_t element);

static void visit_window(const PoolPlan *p, int64_t window, WindowVisit *visit,
                         void *ctx) {
    int64_t w = window % p->out[2], h = window / p->out[2] % p->out[1];
    int64_t d = window / p->out[2] / p->out[1] % p->out[0];
    int64_t plane = window / p->out[2] / p->out[1] / p->out[0];
    for (int64_t z = 0; z < p->in[0]; z++)
        for (int64_t y = 0; window_has(p, 0, d, z) && y < p->in[1]; y++)
            for (int64_t x = 0; window_has(p, 1, h, y) && x < p->in[2]; x++)
                if (window_has(p, 2, w, x))
                    visit(ctx, ((plane * p->in[0] + z) * p->in[1] + y) * p->in[2] + x);
}

static void store_number(const Tensor *out, int64_t i, double v) {
    size_t item = dtype_size(out->dtype);
    tensor_cast_elements(out->dtype, (char *)out->data + (size_t)i * item, DT_FLOAT64,
                         &v, 1, 0, 0);
}

/* ---- maxima ---- */

typedef struct Best {
    const Tensor *x;
    int64_t at; /* -1: none yet */
} Best;

static bool is_better(const Tensor *x, int64_t a, int64_t b) {
    if (dtype_is_float(x->dtype)) {
        double u = tensor_f64(x, a), v = tensor_f64(x, b);
        return u > v || (u != u && v == v);
    }
    int64_t u = tensor_i64(x, a), v = tensor_i64(x, b);
    return x->dtype == DT_UINT64 ? (uint64_t)u > (uint64_t)v : u > v;
}

static void visit_best(void *ctx, int64_t element) {
    Best *b = ctx;
    if (b->at < 0 || is_better(b->x, element, b->at)) b->at = element;
}

/* Of x's elements in row-major order. */
static int64_t best_of_window(const PoolPlan *p, const Tensor *x, int64_t window) {
    Best b = {x, -1};
    visit_window(p, window, visit_best, &b);
    return b.at;
}

static Tensor *reference_out(Call *c, PoolPlan *p) {
    const Tensor *x = call_in(c, 0);
    int64_t shape[MAX_NDIM];
    if (!pool_plan(c, x->ndim, x->shape, p, shape)) return NULL;
    return call_out(c, 0, x->ndim, shape);
}

static void store_lowest(const Tensor *out, int64_t i) {
    int64_t low = 0;
    uint64_t high;
    size_t item = dtype_size(out->dtype);
    if (dtype_is_float(out->dtype)) {
        store_number(out, i, -1.0 / 0.0);
        return;
    }
    if (out->dtype != DT_BOOL) dtype_int_range(out->dtype, &low, &high);
    tensor_cast_elements(out->dtype, (char *)out->data + (size_t)i * item, DT_INT64,
                         &low, 1, 0, 0);
}

/* Element i of to = element `at` of from, of the same dtype. */
static void copy_number(const Tensor *to, int64_t i, const Tensor *from, int64_t at) {
    if (dtype_is_float(to->dtype)) {
        store_number(to, i, tensor_f64(from, at));
        return;
    }
    int64_t v = tensor_i64(from, at);
    tensor_cast_elements(to->dtype,
                         (char *)to->data + (size_t)i * dtype_size(to->dtype), DT_INT64,
                         &v, 1, 0, 0);
}

bool pool_max_reference(Call *c) {
    PoolPlan p;
    const Tensor *x = call_in(c, 0);
    Tensor *out = reference_out(c, &p);
    for (int64_t i = 0; out && i < tensor_size(out); i++) {
        int64_t at = best_of_window(&p, x, i);
        if (at < 0)
            store_lowest(out, i);
        else
            copy_number(out, i, x, at);
    }
    return out != NULL;
}

bool pool_positions_reference(Call *c) {
    PoolPlan p;
    Tensor *out = reference_out(c, &p);
    for (int64_t i = 0; out && i < tensor_size(out); i++) {
        int64_t at = best_of_window(&p, call_in(c, 0), i);
        ((int64_t *)out->data)[i] = at < 0 ? -1 : at % (p.in[0] * p.in[1] * p.in[2]);
    }
    return out != NULL;
}

bool pool_gather_reference(Call *c) {
    PoolPlan p;
    Tensor *out = reference_out(c, &p);
    for (int64_t i = 0; out && i < tensor_size(out); i++) {
        int64_t at = best_of_window(&p, call_in(c, 0), i);
        store_number(out, i, at < 0 ? 0 : tensor_f64(call_in(c, 1), at));
    }
    return out != NULL;
}

/* out = the sums. */
static void store_sums(const Tensor *out, const double *sum) {
    for (int64_t i = 0; i < tensor_size(out); i++)
        store_number(out, i, sum[i]);
}

bool pool_scatter_reference(Call *c) {
    PoolPlan p;
    const Tensor *x = call_in(c, 0), *v = call_in(c, 1);
    int64_t shape[MAX_NDIM];
    if (!pool_plan(c, x->ndim, x->shape, &p, shape)) return false;
    Tensor *out = call_out(c, 0, x->ndim, x->shape);
    if (!out) return false;
    double *sum = mem_zalloc(c->s, (size_t)tensor_size(out) + 1, sizeof *sum);
    for (int64_t i = 0; i < tensor_size(v); i++) {
        int64_t at = best_of_window(&p, x, i);
        if (at >= 0) sum[at] += tensor_f64(v, i);
    }
    store_sums(out, sum);
    mem_free(sum);
    return true;
}

/* ---- sums ---- */

typedef struct Total {
    const Tensor *x;
    double sum;
} Total;

static void visit_sum(void *ctx, int64_t element) {
    Total *t = ctx;
    t->sum += tensor_f64(t->x, element);
}

static void visit_count(void *ctx, int64_t element) {
    (void)element;
    ++*(double *)ctx;
}

/* How many elements the window has, of x or also of the padding around it. */
static double window_elements(const PoolPlan *p, int64_t window, bool padding) {
    PoolPlan wide = *p;
    double n = 0;
    for (int k = 0; padding && k < WINDOW_AXES; k++) {
        wide.in[k] += p->w.before[k] + p->w.after[k];
        wide.w.before[k] = 0;
    }
    visit_window(&wide, window, visit_count, &n);
    return n;
}

static bool sums_reference(Call *c, bool divide) {
    PoolPlan p;
    Tensor *out = reference_out(c, &p);
    bool padding = divide && prop_bool(c->s, c->op, c->props, "include_pad");
    for (int64_t i = 0; out && i < tensor_size(out); i++) {
        Total t = {call_in(c, 0), 0};
        visit_window(&p, i, visit_sum, &t);
        store_number(out, i, divide ? t.sum / window_elements(&p, i, padding) : t.sum);
    }
    return out != NULL;
}

bool pool_average_reference(Call *c) {
    return sums_reference(c, true);
}
bool pool_sum_reference(Call *c) {
    return sums_reference(c, false);
}

typedef struct Share {
    double *to, share;
} Share;

static void visit_share(void *ctx, int64_t element) {
    Share *s = ctx;
    s->to[element] += s->share;
}

static bool spread_reference(Call *c, bool divide) {
    PoolPlan p;
    const Tensor *v = call_in(c, 0);
    int64_t shape[MAX_NDIM], windows[MAX_NDIM];
    bool padding = divide && prop_bool(c->s, c->op, c->props, "include_pad");
    if (!pool_spread_shape(c, shape) || !pool_plan(c, v->ndim, shape, &p, windows))
        return false;
    Tensor *out = call_out(c, 0, v->ndim, shape);
    if (!out) return false;
    double *sum = mem_zalloc(c->s, (size_t)tensor_size(out) + 1, sizeof *sum);
    for (int64_t i = 0; i < tensor_size(v); i++) {
        double by = divide ? window_elements(&p, i, padding) : 1;
        Share share = {sum, tensor_f64(v, i) / by};
        visit_window(&p, i, visit_share, &share);
    }
    store_sums(out, sum);
    mem_free(sum);
    return true;
}

bool pool_average_spread_reference(Call *c) {
    return spread_reference(c, true);
}
bool pool_sum_spread_reference(Call *c) {
    return spread_reference(c, false);
}
