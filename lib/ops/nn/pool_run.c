/* The kernels of pooling. A row of results is computed in two steps: the rows of x that
 * its windows cover are folded into one, column by column, then the elements of each
 * window are folded along this row. Sums are doubles. The transposes go the same way
 * back, into a plane of doubles. */
#include "ops/nn/pool.h"
#include "ops/shape/linear.h"
#include "ops/shape/move.h"

#include <math.h>
#include <string.h>

enum { NO_DIMS = 2, CHUNK = 1 << 15 }; /* elements of x per chunk, about */

/* ---- plans ---- */

static const PoolLoops *pool_loops(Session *s) {
#if defined(__x86_64__)
    int level = session_cpu_level(s);
    return level >= 2 ? &pool_loops2 : level == 1 ? &pool_loops1 : &pool_loops0;
#else
    (void)s;
    return &pool_loops0;
#endif
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

static int64_t divide_up(int64_t a, int64_t b) {
    return a / b + (a % b > 0);
}

void pool_axis_taps(const PoolPlan *p, int k, int64_t i, int64_t *first, int64_t *end) {
    int64_t at = i * p->w.stride[k] - p->w.before[k], d = p->w.dilation[k];
    *first = at < 0 ? divide_up(-at, d) : 0;
    *end = at < p->in[k] ? divide_up(p->in[k] - at, d) : 0;
    if (*end > p->w.size[k]) *end = p->w.size[k];
}

int64_t pool_divisor(const PoolPlan *p, int k, int64_t i, bool padding) {
    PoolPlan wide = *p;
    int64_t first, end;
    if (padding) { /* the padding is as good as x */
        wide.in[k] += p->w.before[k] + p->w.after[k];
        wide.w.before[k] = 0;
    }
    pool_axis_taps(&wide, k, i, &first, &end);
    return end > first ? end - first : 0;
}

/* ---- rows ---- */

typedef struct PoolJob {
    PoolPlan p;
    const PoolLoops *loops;
    DType dtype, work; /* of x; of the folded row */
    const char *x;
    char *out;
    DType out_dtype;
    PoolFold *fold, *across;
    bool sum, divide, padding;
    const char *values; /* scatter, spread, gather: what goes to or comes from x */
    double *divisor;    /* of each window along the last axis */
    char *room;
    size_t room_size, visit_room;
    int64_t rows, chunk;
} PoolJob;

/* The windows i of the last axis whose tap k is in x: from *first to one before
 * *end. */
static void tap_windows(const PoolPlan *p, int64_t k, int64_t *first, int64_t *end) {
    int64_t at = k * p->w.dilation[2] - p->w.before[2], s = p->w.stride[2];
    *first = at < 0 ? divide_up(-at, s) : 0;
    *end = at < p->in[2] ? divide_up(p->in[2] - at, s) : 0;
    if (*end > p->out[2]) *end = p->out[2];
}

/* The taps of the last axis that any window has in x. */
static void row_taps(const PoolPlan *p, int64_t *first, int64_t *end) {
    int64_t none;
    pool_axis_taps(p, 2, p->out[2] - 1, first, &none);
    pool_axis_taps(p, 2, 0, &none, end);
}

static int64_t row_before(const PoolPlan *p, int64_t k) {
    return k * p->w.dilation[2] - p->w.before[2];
}

/* The rows of a plane that windows of (d, h) cover, one after the other. */
typedef struct PoolRows {
    const PoolPlan *p;
    int64_t a, b, de, hf, he, z, y;
} PoolRows;

static PoolRows rows_of(const PoolPlan *p, int64_t d, int64_t h) {
    PoolRows r = {.p = p};
    pool_axis_taps(p, 0, d, &r.a, &r.de);
    pool_axis_taps(p, 1, h, &r.hf, &r.he);
    r.b = r.hf - 1;
    r.z = d * p->w.stride[0] - p->w.before[0];
    r.y = h * p->w.stride[1] - p->w.before[1];
    return r;
}

/* The next one's number in the plane; -1: that was all. */
static int64_t next_row(PoolRows *r) {
    const PoolPlan *p = r->p;
    if (++r->b >= r->he) {
        r->b = r->hf;
        r->a++;
    }
    if (r->a >= r->de || r->b >= r->he) return -1;
    return (r->z + r->a * p->w.dilation[0]) * p->in[1] + r->y + r->b * p->w.dilation[1];
}

static void fill_lowest(DType d, char *to, int64_t n) {
    static const double inf = HUGE_VAL;
    int64_t low = 0;
    uint64_t high;
    if (dtype_is_float(d)) {
        double lowest = -inf;
        tensor_cast_elements(d, to, DT_FLOAT64, &lowest, (size_t)n,
                             (ptrdiff_t)dtype_size(d), 0);
        return;
    }
    if (d != DT_BOOL) dtype_int_range(d, &low, &high);
    tensor_cast_elements(d, to, DT_INT64, &low, (size_t)n, (ptrdiff_t)dtype_size(d), 0);
}

static void fill_neutral(const PoolJob *j, char *to, int64_t n) {
    if (j->sum)
        memset(to, 0, (size_t)n * sizeof(double));
    else
        fill_lowest(j->work, to, n);
}

/* Folds the rows of x that the windows of row (d, h) of a plane cover into acc. */
static void fold_rows(const PoolJob *j, const char *plane, int64_t d, int64_t h,
                      char *acc, char *cast) {
    const PoolPlan *p = &j->p;
    int64_t n = p->in[2], at;
    size_t item = dtype_size(j->dtype);
    DType read = j->dtype == DT_FLOAT16 ? DT_FLOAT32 : j->dtype;
    PoolRows rows = rows_of(p, d, h);
    bool none = true;
    while ((at = next_row(&rows)) >= 0) {
        const char *row = plane + (size_t)(at * n) * item;
        if (read != j->dtype) {
            tensor_cast_elements(read, cast, j->dtype, row, (size_t)n,
                                 (ptrdiff_t)dtype_size(read), (ptrdiff_t)item);
            row = cast;
        }
        if (none && j->sum) fill_neutral(j, acc, n);
        if (none && !j->sum)
            memcpy(acc, row, (size_t)n * dtype_size(read));
        else
            j->fold(acc, row, (size_t)n, 1);
        none = false;
    }
    if (none) fill_neutral(j, acc, n);
}

/* Folds the elements of each window along the row acc. */
static void fold_across(const PoolJob *j, const char *acc, char *to) {
    const PoolPlan *p = &j->p;
    int64_t k, end, a, e;
    int64_t item = (int64_t)dtype_size(j->work);
    fill_neutral(j, to, p->out[2]);
    for (row_taps(p, &k, &end); k < end; k++) {
        tap_windows(p, k, &a, &e);
        if (a < e)
            j->across(to + a * item,
                      acc + (a * p->w.stride[2] + row_before(p, k)) * item,
                      (size_t)(e - a), (ptrdiff_t)p->w.stride[2]);
    }
}

/* What rows of the plane that the windows of (d, h) share divides all their sums by. */
static double row_divisor(const PoolJob *j, int64_t d, int64_t h) {
    return (double)pool_divisor(&j->p, 0, d, j->padding) *
           (double)pool_divisor(&j->p, 1, h, j->padding);
}

static int64_t plane_size(const PoolPlan *p) {
    return p->in[0] * p->in[1] * p->in[2];
}

static void pool_row(const PoolJob *j, int64_t r, char *room) {
    const PoolPlan *p = &j->p;
    int64_t h = r % p->out[1], d = r / p->out[1] % p->out[0];
    int64_t plane = r / p->out[1] / p->out[0];
    char *acc = room, *to = acc + p->in[2] * 8, *cast = to + p->out[2] * 8;
    char *out = j->out + r * p->out[2] * (int64_t)dtype_size(j->out_dtype);
    bool direct = j->work == j->out_dtype;
    if (direct) to = out;
    fold_rows(j, j->x + plane * plane_size(p) * (int64_t)dtype_size(j->dtype), d, h,
              acc, cast);
    fold_across(j, acc, to);
    double *sum = (double *)(void *)to, by = j->divide ? row_divisor(j, d, h) : 1;
    for (int64_t i = 0; j->divide && i < p->out[2]; i++)
        sum[i] /= by * j->divisor[i];
    if (!direct)
        tensor_cast_elements(j->out_dtype, out, j->work, to, (size_t)p->out[2],
                             (ptrdiff_t)dtype_size(j->out_dtype),
                             (ptrdiff_t)dtype_size(j->work));
}

static void pool_chunk(void *ctx, size_t chunk, unsigned worker) {
    const PoolJob *j = ctx;
    int64_t r = (int64_t)chunk * j->chunk, end = r + j->chunk;
    for (; r < end && r < j->rows; r++)
        pool_row(j, r, j->room + worker * j->room_size);
}

/* x, contiguous; false: diagnosed. `extra`: more bytes of scratch, before j->room. */
static bool job_room(Call *c, PoolJob *j, const Tensor *x, const Tensor *v,
                     size_t per_worker) {
    Pool *pool = move_pool(c);
    size_t workers = pool ? pool_threads(pool) : 1;
    size_t bytes = 0, at[2];
    const Tensor *t[2] = {x, v};
    for (int i = 0; i < 2; i++)
        at[i] = size_append(
            &bytes, t[i] && !tensor_is_contiguous(t[i]) ? tensor_bytes(t[i]) : 0, 1);
    size_t at_divisor = size_append(&bytes, (size_t)j->p.out[2], sizeof(double));
    j->room_size = (per_worker + 63) / 64 * 64;
    size_t at_room = size_append(&bytes, workers, j->room_size);
    char *mem = call_scratch(c, bytes);
    if (!mem) return false;
    if (x) j->x = move_contiguous(pool, x, mem + at[0]).data;
    if (v) j->values = move_contiguous(pool, v, mem + at[1]).data;
    j->divisor = (double *)(void *)(mem + at_divisor);
    for (int64_t i = 0; j->divide && i < j->p.out[2]; i++)
        j->divisor[i] = (double)pool_divisor(&j->p, 2, i, j->padding);
    j->room = mem + at_room;
    return true;
}

static void job_run(Call *c, PoolJob *j, int64_t rows, int64_t each, ChunkFn *fn) {
    j->rows = rows;
    j->chunk = each < CHUNK ? CHUNK / (each + 1) + 1 : 1;
    size_t chunks = (size_t)((rows + j->chunk - 1) / j->chunk);
    pool_run(move_pool(c), chunks, fn, j);
}

/* Opens the call: the plan, and storage for the result. j->out NULL: there are no
 * elements to compute. */
static bool job_open(Call *c, PoolJob *j) {
    const Tensor *x = call_in(c, 0);
    int64_t shape[MAX_NDIM];
    *j = (PoolJob){.loops = pool_loops(c->s), .dtype = x->dtype};
    if (!pool_plan(c, x->ndim, x->shape, &j->p, shape)) return false;
    Tensor *out = call_out(c, 0, x->ndim, shape);
    if (!out) return false;
    j->out_dtype = out->dtype;
    j->work = x->dtype == DT_FLOAT16 ? DT_FLOAT32 : x->dtype;
    j->out = tensor_size(out) ? out->data : NULL;
    return true;
}

static bool pool_rows(Call *c, PoolJob *j) {
    const PoolPlan *p = &j->p;
    if (!j->out) return true;
    size_t room = (size_t)(2 * p->in[2] + p->out[2]) * 8;
    if (!job_room(c, j, call_in(c, 0), NULL, room)) return false;
    int64_t each = p->in[2] * (p->w.size[0] < p->in[0] ? p->w.size[0] : p->in[0]) *
                   (p->w.size[1] < p->in[1] ? p->w.size[1] : p->in[1]);
    job_run(c, j, p->planes * p->out[0] * p->out[1], each, pool_chunk);
    return true;
}

bool pool_max(Call *c) {
    PoolJob j;
    if (!job_open(c, &j)) return false;
    j.fold = j.across = j.loops->max[j.work];
    return pool_rows(c, &j);
}

static bool pool_sums(Call *c, bool divide) {
    PoolJob j;
    if (!job_open(c, &j)) return false;
    j.sum = true;
    j.divide = divide;
    j.padding = divide && prop_bool(c->s, c->op, c->props, "include_pad");
    j.fold = j.loops->sum[j.work];
    j.work = DT_FLOAT64;
    j.across = j.loops->sum[DT_FLOAT64];
    return pool_rows(c, &j);
}

bool pool_average(Call *c) {
    return pool_sums(c, true);
}
bool pool_sum(Call *c) {
    return pool_sums(c, false);
}

/* ---- positions of maxima ---- */

typedef void PoolVisit(const PoolJob *j, int64_t i, int64_t at, char *room);

/* Where the windows of row (d, h) have their maxima: to->at. */
static void find_row(const PoolJob *j, const char *plane, int64_t d, int64_t h,
                     const PoolBest *acc, const PoolBest *to) {
    const PoolPlan *p = &j->p;
    int64_t n = p->in[2], k, end, a, e, row;
    size_t item = dtype_size(j->work);
    PoolRows rows = rows_of(p, d, h);
    memset(to->at, 0xff, (size_t)p->out[2] * sizeof *to->at); /* -1 */
    row = next_row(&rows);
    if (row < 0) return;
    memcpy(acc->value, plane + (size_t)(row * n) * item, (size_t)n * item);
    for (int64_t i = 0; i < n; i++)
        acc->row[i] = row;
    while ((row = next_row(&rows)) >= 0)
        j->loops->best_row[j->work](acc, plane + (size_t)(row * n) * item, (size_t)n,
                                    row);
    for (row_taps(p, &k, &end); k < end; k++) {
        tap_windows(p, k, &a, &e);
        if (a >= e) continue;
        int64_t at = a * p->w.stride[2] + row_before(p, k);
        PoolBest from = {(char *)acc->value + (size_t)at * item, acc->row + at, NULL};
        PoolBest some = {(char *)to->value + (size_t)a * item, to->row + a, to->at + a};
        j->loops->best_across[j->work](&some, &from, (size_t)(e - a),
                                       (ptrdiff_t)p->w.stride[2], at, n);
    }
}

/* Rows of maxima and of places, and those of a row of windows. */
static size_t best_room(const PoolPlan *p) {
    return (size_t)(2 * p->in[2] + 3 * p->out[2]) * 8;
}

/* The plane of x to search; float16 becomes float32, in room. */
static const char *search_plane(const PoolJob *j, int64_t plane, char *room) {
    size_t n = (size_t)plane_size(&j->p), item = dtype_size(j->dtype);
    const char *x = j->x + (size_t)plane * n * item;
    if (j->work == j->dtype) return x;
    tensor_cast_elements(j->work, room, j->dtype, x, n, (ptrdiff_t)dtype_size(j->work),
                         (ptrdiff_t)item);
    return room;
}

/* Visits the windows of a plane with their maxima. The room begins with what the visits
 * need. */
static void visit_plane(const PoolJob *j, int64_t plane, char *room, PoolVisit *visit) {
    const PoolPlan *p = &j->p;
    int64_t *work = (int64_t *)(void *)(room + j->visit_room);
    PoolBest acc = {work, work + p->in[2], NULL}, to;
    to.value = acc.row + p->in[2];
    to.row = (int64_t *)to.value + p->out[2];
    to.at = to.row + p->out[2];
    const char *x = search_plane(j, plane, (char *)(to.at + p->out[2]));
    int64_t i = plane * p->out[0] * p->out[1] * p->out[2];
    for (int64_t d = 0; d < p->out[0]; d++)
        for (int64_t h = 0; h < p->out[1]; h++) {
            find_row(j, x, d, h, &acc, &to);
            for (int64_t w = 0; w < p->out[2]; w++)
                visit(j, i++, to.at[w], room);
        }
}

/* Room of a worker that visits planes. */
static bool visit_open(Call *c, PoolJob *j, const Tensor *x, const Tensor *v) {
    j->work = x->dtype == DT_FLOAT16 ? DT_FLOAT32 : x->dtype;
    size_t cast = j->work == j->dtype ? 0 : (size_t)plane_size(&j->p) * sizeof(float);
    return job_room(c, j, x, v, j->visit_room + best_room(&j->p) + cast);
}

static void store_position(const PoolJob *j, int64_t i, int64_t at, char *room) {
    (void)room;
    memcpy(j->out + i * 8, &at, 8);
}

static void positions_chunk(void *ctx, size_t chunk, unsigned worker) {
    const PoolJob *j = ctx;
    int64_t r = (int64_t)chunk * j->chunk, end = r + j->chunk;
    for (; r < end && r < j->rows; r++)
        visit_plane(j, r, j->room + worker * j->room_size, store_position);
}

bool pool_positions(Call *c) {
    PoolJob j;
    if (!job_open(c, &j)) return false;
    if (!j.out) return true;
    if (!visit_open(c, &j, call_in(c, 0), NULL)) return false;
    job_run(c, &j, j.p.planes, plane_size(&j.p), positions_chunk);
    return true;
}

static void gather_value(const PoolJob *j, int64_t i, int64_t at, char *room) {
    int64_t item = (int64_t)dtype_size(j->out_dtype);
    int64_t n = plane_size(&j->p);
    int64_t plane = i / (j->p.out[0] * j->p.out[1] * j->p.out[2]);
    (void)room;
    if (at < 0)
        memset(j->out + i * item, 0, (size_t)item);
    else
        memcpy(j->out + i * item, j->values + (plane * n + at) * item, (size_t)item);
}

static void gather_chunk(void *ctx, size_t chunk, unsigned worker) {
    const PoolJob *j = ctx;
    int64_t r = (int64_t)chunk * j->chunk, end = r + j->chunk;
    for (; r < end && r < j->rows; r++)
        visit_plane(j, r, j->room + worker * j->room_size, gather_value);
}

bool pool_gather(Call *c) {
    PoolJob j;
    const Tensor *x = call_in(c, 0), *v = call_in(c, 1);
    if (!tensor_same_shape(x, v))
        return call_fail(c, E_RUN_SHAPE, "x and v must have the same shape");
    if (!job_open(c, &j)) return false;
    if (!j.out) return true;
    if (!visit_open(c, &j, x, v)) return false;
    job_run(c, &j, j.p.planes, plane_size(&j.p), gather_chunk);
    return true;
}

static void add_value(const PoolJob *j, int64_t i, int64_t at, char *room) {
    double v;
    size_t item = dtype_size(j->out_dtype);
    if (at < 0) return;
    tensor_cast_elements(DT_FLOAT64, &v, j->out_dtype, j->values + (size_t)i * item, 1,
                         0, 0);
    ((double *)(void *)room)[at] += v;
}

static void store_plane(const PoolJob *j, int64_t plane, const char *room) {
    size_t n = (size_t)plane_size(&j->p), item = dtype_size(j->out_dtype);
    tensor_cast_elements(j->out_dtype, j->out + (size_t)plane * n * item, DT_FLOAT64,
                         room, n, (ptrdiff_t)item, sizeof(double));
}

static void scatter_chunk(void *ctx, size_t chunk, unsigned worker) {
    const PoolJob *j = ctx;
    char *room = j->room + worker * j->room_size;
    int64_t r = (int64_t)chunk * j->chunk, end = r + j->chunk;
    for (; r < end && r < j->rows; r++) {
        memset(room, 0, (size_t)plane_size(&j->p) * sizeof(double));
        visit_plane(j, r, room, add_value);
        store_plane(j, r, room);
    }
}

/* Opens a call whose result has x's shape: v has that of the windows. */
static bool back_open(Call *c, PoolJob *j, int64_t x_shape[MAX_NDIM], size_t value) {
    const Tensor *v = call_in(c, value);
    int64_t shape[MAX_NDIM];
    *j = (PoolJob){.loops = pool_loops(c->s)};
    if (!pool_plan(c, v->ndim, x_shape, &j->p, shape)) return false;
    for (int k = 0; k < v->ndim; k++)
        if (v->shape[k] != shape[k])
            return call_fail(c, E_RUN_SHAPE,
                             "axis %d of the windows' values has %lld elements, but "
                             "there are %lld windows",
                             k, (long long)v->shape[k], (long long)shape[k]);
    if (!call_size_fits(c, v->dtype, v->ndim, x_shape)) return false;
    Tensor *out = call_out(c, 0, v->ndim, x_shape);
    if (!out) return false;
    j->out_dtype = out->dtype;
    j->out = tensor_size(out) ? out->data : NULL;
    return true;
}

bool pool_scatter(Call *c) {
    PoolJob j;
    const Tensor *x = call_in(c, 0);
    int64_t shape[MAX_NDIM];
    memcpy(shape, x->shape, sizeof shape);
    if (!back_open(c, &j, shape, 1)) return false;
    j.dtype = x->dtype;
    if (!j.out) return true;
    j.visit_room = (size_t)plane_size(&j.p) * sizeof(double);
    if (!visit_open(c, &j, x, call_in(c, 1))) return false;
    job_run(c, &j, j.p.planes, plane_size(&j.p), scatter_chunk);
    return true;
}

/* ---- the transpose of sums ---- */

/* Adds the row r of values to the rows of the plane that its windows cover. */
static void spread_row(const PoolJob *j, int64_t r, double *plane, double *row,
                       double *acc) {
    const PoolPlan *p = &j->p;
    int64_t h = r % p->out[1], d = r / p->out[1] % p->out[0], n = p->out[2];
    int64_t k, end, a, e, at;
    size_t item = dtype_size(j->out_dtype);
    tensor_cast_elements(DT_FLOAT64, row, j->out_dtype,
                         j->values + (size_t)(r * n) * item, (size_t)n, sizeof *row,
                         (ptrdiff_t)item);
    double by = j->divide ? row_divisor(j, d, h) : 1;
    for (int64_t i = 0; j->divide && i < n; i++)
        row[i] = by * j->divisor[i] > 0 ? row[i] / (by * j->divisor[i]) : 0;
    memset(acc, 0, (size_t)p->in[2] * sizeof *acc);
    for (row_taps(p, &k, &end); k < end; k++) {
        tap_windows(p, k, &a, &e);
        if (a < e)
            j->loops->scatter(acc + a * p->w.stride[2] + row_before(p, k), row + a,
                              (size_t)(e - a), (ptrdiff_t)p->w.stride[2]);
    }
    PoolRows rows = rows_of(p, d, h);
    while ((at = next_row(&rows)) >= 0)
        j->loops->scatter(plane + at * p->in[2], acc, (size_t)p->in[2], 1);
}

static void spread_chunk(void *ctx, size_t chunk, unsigned worker) {
    const PoolJob *j = ctx;
    double *plane = (double *)(void *)(j->room + worker * j->room_size);
    double *row = plane + plane_size(&j->p), *acc = row + j->p.out[2];
    int64_t r = (int64_t)chunk * j->chunk, end = r + j->chunk;
    int64_t rows = j->p.out[0] * j->p.out[1];
    for (; r < end && r < j->rows; r++) {
        memset(plane, 0, (size_t)plane_size(&j->p) * sizeof *plane);
        for (int64_t i = 0; i < rows && j->p.out[2]; i++)
            spread_row(j, r * rows + i, plane, row, acc);
        store_plane(j, r, (const char *)plane);
    }
}

static bool pool_spread(Call *c, bool divide) {
    PoolJob j;
    int64_t shape[MAX_NDIM];
    if (!pool_spread_shape(c, shape) || !back_open(c, &j, shape, 0)) return false;
    j.divide = divide;
    j.padding = divide && prop_bool(c->s, c->op, c->props, "include_pad");
    if (!j.out) return true;
    size_t room = (size_t)(plane_size(&j.p) + j.p.out[2] + j.p.in[2]) * sizeof(double);
    if (!job_room(c, &j, NULL, call_in(c, 0), room)) return false;
    job_run(c, &j, j.p.planes, plane_size(&j.p), spread_chunk);
    return true;
}

bool pool_average_spread(Call *c) {
    return pool_spread(c, true);
}
bool pool_sum_spread(Call *c) {
    return pool_spread(c, false);
}
