/* Calls of pooling ops: the plan, storage, and which rows and taps windows have. */
#include "ops/nn/pool_run.h"

#include <string.h>

enum { NO_DIMS = 2, CHUNK = 1 << 15 }; /* elements of x per chunk, about */

/* ---- plans ---- */

static const PoolLoops *pool_loops(Session *s) {
    return FOR_CPU_LEVEL(s, pool_loops);
}

/* Puts axes of one element before those of x. */
static void widen_plan(PoolPlan *p) {
    Window *w = &p->w;
    int more = WINDOW_AXES - w->axes;
    for (int k = WINDOW_AXES - 1; k >= 0; k--) {
        bool own = k >= more;
        int from = own ? k - more : 0;
        w->size[k] = own ? w->size[from] : 1;
        w->stride[k] = own ? w->stride[from] : 1;
        w->dilation[k] = own ? w->dilation[from] : 1;
        w->before[k] = own ? w->before[from] : 0;
        w->after[k] = own ? w->after[from] : 0;
        p->in[k] = own ? p->in[from] : 1;
        p->out[k] = own ? p->out[from] : 1;
    }
    w->axes = WINDOW_AXES;
}

bool pool_plan(Call *c, int ndim, const int64_t *x, PoolPlan *p, int64_t *shape) {
    Tensor like = {.ndim = ndim};
    memcpy(like.shape, x, (size_t)ndim * sizeof *x);
    *p = (PoolPlan){.w.axes = ndim - NO_DIMS, .planes = x[0] * x[1]};
    p->w.ceil = prop_bool(c->s, c->op, c->props, "ceil");
    window_read_ints(op_prop(c->s, c->op, c->props, "size"), p->w.axes, p->w.size);
    window_read_props(c->s, c->op, c->props, &p->w);
    if (!window_call_count(c, &like, &p->w, p->out)) return false;
    for (int k = 0; k < ndim; k++)
        shape[k] = k < NO_DIMS ? x[k] : p->out[k - NO_DIMS];
    memcpy(p->in, x + NO_DIMS, (size_t)p->w.axes * sizeof *x);
    widen_plan(p);
    return true;
}

bool pool_spread_shape(Call *c, int64_t shape[MAX_NDIM]) {
    const Tensor *v = call_in(c, 0);
    int n;
    if (!call_shape(c, 1, &n, shape)) return false;
    memcpy(shape, v->shape, NO_DIMS * sizeof *shape);
    return true;
}

/* ---- taps ---- */

/* Most often by 1, and a division takes longer than all else here. */
static int64_t divide_up(int64_t a, int64_t b) {
    return b == 1 ? a : a / b + (a % b > 0);
}

/* The taps that a window from element `at` on has among n elements. */
static void taps_among(const Window *w, int k, int64_t at, int64_t n, int64_t *first,
                       int64_t *end) {
    *first = at < 0 ? divide_up(-at, w->dilation[k]) : 0;
    *end = at < n ? divide_up(n - at, w->dilation[k]) : 0;
    if (*end > w->size[k]) *end = w->size[k];
}

void pool_axis_taps(const PoolPlan *p, int k, int64_t i, int64_t *first, int64_t *end) {
    taps_among(&p->w, k, i * p->w.stride[k] - p->w.before[k], p->in[k], first, end);
}

int64_t pool_divisor(const PoolPlan *p, int k, int64_t i, bool padding) {
    const Window *w = &p->w;
    int64_t first, end;
    if (padding) /* is as good as x */
        taps_among(w, k, i * w->stride[k], w->before[k] + p->in[k] + w->after[k],
                   &first, &end);
    else
        pool_axis_taps(p, k, i, &first, &end);
    return end > first ? end - first : 0;
}

PoolTap pool_find_tap(const PoolPlan *p, int64_t k) {
    int64_t at = k * p->w.dilation[2] - p->w.before[2], s = p->w.stride[2];
    PoolTap t = {.first = at < 0 ? divide_up(-at, s) : 0,
                 .end = at < p->in[2] ? divide_up(p->in[2] - at, s) : 0};
    if (t.end > p->out[2]) t.end = p->out[2];
    at += t.first * s;
    t.at = at % s * divide_up(p->in[2], s) + at / s;
    return t;
}

static void find_taps(PoolJob *j) {
    const PoolPlan *p = &j->p;
    int64_t none;
    pool_axis_taps(p, 2, p->out[2] - 1, &j->first_tap, &none);
    pool_axis_taps(p, 2, 0, &none, &j->end_tap);
    for (int64_t k = j->first_tap; k < j->end_tap && k - j->first_tap < POOL_TAPS; k++)
        j->tap[k - j->first_tap] = pool_find_tap(p, k);
}

PoolRows pool_rows_of(const PoolPlan *p, int64_t d, int64_t h) {
    PoolRows r = {.p = p};
    pool_axis_taps(p, 0, d, &r.a, &r.de);
    pool_axis_taps(p, 1, h, &r.hf, &r.he);
    r.b = r.hf - 1;
    r.z = d * p->w.stride[0] - p->w.before[0];
    r.y = h * p->w.stride[1] - p->w.before[1];
    return r;
}

int64_t pool_next_row(PoolRows *r) {
    const PoolPlan *p = r->p;
    if (++r->b >= r->he) {
        r->b = r->hf;
        r->a++;
    }
    if (r->a >= r->de || r->b >= r->he) return -1;
    return (r->z + r->a * p->w.dilation[0]) * p->in[1] + r->y + r->b * p->w.dilation[1];
}

/* ---- jobs ---- */

bool pool_job_room(Call *c, PoolJob *j, const Tensor *x, const Tensor *v,
                   size_t per_worker) {
    Pool *pool = move_pool(c);
    size_t workers = pool ? pool_threads(pool) : 1;
    size_t bytes = 0, at[2];
    const Tensor *t[2] = {x, v};
    for (int i = 0; i < 2; i++)
        at[i] = size_append(
            &bytes, t[i] && !tensor_is_contiguous(t[i]) ? tensor_bytes(t[i]) : 0, 1);
    size_t at_windows = size_append(&bytes, (size_t)j->p.out[2], sizeof(double));
    j->room_size = (per_worker + 63) / 64 * 64;
    size_t at_room = size_append(&bytes, workers, j->room_size);
    char *mem = call_scratch(c, bytes);
    if (!mem) return false;
    if (x) j->x = move_contiguous(pool, x, mem + at[0]).data;
    if (v) j->values = move_contiguous(pool, v, mem + at[1]).data;
    j->of_windows = mem + at_windows;
    j->room = mem + at_room;
    return true;
}

void pool_job_run(Call *c, PoolJob *j, int64_t rows, int64_t each, ChunkFn *fn) {
    j->rows = rows;
    j->chunk = each < CHUNK ? CHUNK / (each + 1) + 1 : 1;
    size_t chunks = (size_t)((rows + j->chunk - 1) / j->chunk);
    pool_run(move_pool(c), chunks, fn, j);
}

void pool_store_plane(const PoolJob *j, int64_t plane, const double *from) {
    size_t n = (size_t)pool_plane_size(&j->p), item = dtype_size(j->out_dtype);
    tensor_cast_elements(j->out_dtype, j->out + (size_t)plane * n * item, DT_FLOAT64,
                         from, n, (ptrdiff_t)item, sizeof *from);
}

/* What both ways of opening a call end with. */
static bool open_result(Call *c, PoolJob *j, int ndim, const int64_t *shape) {
    Tensor *out = call_out(c, 0, ndim, shape);
    if (!out) return false;
    j->loops = pool_loops(c->s);
    j->out_dtype = out->dtype;
    j->out = tensor_size(out) ? out->data : NULL;
    find_taps(j);
    return true;
}

bool pool_job_open(Call *c, PoolJob *j) {
    const Tensor *x = call_in(c, 0);
    int64_t shape[MAX_NDIM];
    *j = (PoolJob){.dtype = x->dtype, .work = x->dtype};
    if (x->dtype == DT_FLOAT16) j->work = DT_FLOAT32;
    return pool_plan(c, x->ndim, x->shape, &j->p, shape) &&
           open_result(c, j, x->ndim, shape);
}

bool pool_job_open_back(Call *c, PoolJob *j, const int64_t *x_shape, size_t value) {
    const Tensor *v = call_in(c, value);
    int64_t shape[MAX_NDIM];
    *j = (PoolJob){.out = NULL};
    if (!pool_plan(c, v->ndim, x_shape, &j->p, shape)) return false;
    for (int k = 0; k < v->ndim; k++)
        if (v->shape[k] != shape[k])
            return call_fail(c, E_RUN_SHAPE,
                             "axis %d of the windows' values has %lld elements, but "
                             "there are %lld windows",
                             k, (long long)v->shape[k], (long long)shape[k]);
    return call_size_fits(c, v->dtype, v->ndim, x_shape) &&
           open_result(c, j, v->ndim, x_shape);
}
