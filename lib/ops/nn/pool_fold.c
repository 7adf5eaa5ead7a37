/* Maxima, sums and averages of windows, and the transpose of sums. A row of results is
 * computed in two steps: the rows of x that its windows cover are folded into one,
 * column by column, then the elements of each window are folded along this row. Sums
 * are doubles. The transpose goes the same way back, into a plane of doubles. */
#include "ops/nn/pool_run.h"

#include <math.h>
#include <string.h>

typedef struct FoldJob {
    PoolJob j;
    PoolFold *fold, *across;
    bool sum, divide, padding;
} FoldJob;

/* ---- what windows without elements have ---- */

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

static void fill_neutral(const FoldJob *f, char *to, int64_t n) {
    if (f->sum)
        memset(to, 0, (size_t)n * sizeof(double));
    else
        fill_lowest(f->j.work, to, n);
}

/* ---- averages ---- */

static double *divisors(const FoldJob *f) {
    return (double *)f->j.of_windows;
}

static void find_divisors(const FoldJob *f) {
    for (int64_t i = 0; f->divide && i < f->j.p.out[2]; i++)
        divisors(f)[i] = (double)pool_divisor(&f->j.p, 2, i, f->padding);
}

/* What rows of the plane that the windows of (d, h) share divides all their sums by. */
static double row_divisor(const FoldJob *f, int64_t d, int64_t h) {
    return (double)pool_divisor(&f->j.p, 0, d, f->padding) *
           (double)pool_divisor(&f->j.p, 1, h, f->padding);
}

/* ---- rows ---- */

/* Folds the rows of x that the windows of row (d, h) of a plane cover into acc. */
static void fold_rows(const FoldJob *f, const char *plane, int64_t d, int64_t h,
                      char *acc, char *cast) {
    const PoolJob *j = &f->j;
    int64_t n = j->p.in[2], at;
    size_t item = dtype_size(j->dtype);
    DType read = j->dtype == DT_FLOAT16 ? DT_FLOAT32 : j->dtype;
    PoolRows rows = pool_rows_of(&j->p, d, h);
    bool none = true;
    while ((at = pool_next_row(&rows)) >= 0) {
        const char *row = plane + (size_t)(at * n) * item;
        if (read != j->dtype) {
            tensor_cast_elements(read, cast, j->dtype, row, (size_t)n,
                                 (ptrdiff_t)dtype_size(read), (ptrdiff_t)item);
            row = cast;
        }
        if (none && f->sum) fill_neutral(f, acc, n);
        if (none && !f->sum)
            memcpy(acc, row, (size_t)n * dtype_size(read));
        else
            f->fold(acc, row, (size_t)n);
        none = false;
    }
    if (none) fill_neutral(f, acc, n);
}

/* Folds the elements of each window along the row acc. */
static void fold_across(const FoldJob *f, char *acc, char *split, char *to) {
    const PoolJob *j = &f->j;
    size_t item = dtype_size(j->work);
    const char *x = pool_split(j, item, acc, split);
    if (f->sum)
        memset(to, 0, (size_t)j->p.out[2] * item);
    else
        memcpy(to, j->of_windows, (size_t)j->p.out[2] * item);
    for (int64_t k = j->first_tap; k < j->end_tap; k++) {
        PoolTap t = pool_tap(j, k);
        if (t.first < t.end)
            f->across(to + (size_t)t.first * item, x + (size_t)t.at * item,
                      (size_t)(t.end - t.first));
    }
}

static void pool_row(const FoldJob *f, int64_t r, char *room) {
    const PoolJob *j = &f->j;
    const PoolPlan *p = &j->p;
    int64_t h = r % p->out[1], d = r / p->out[1] % p->out[0];
    int64_t plane = r / p->out[1] / p->out[0];
    char *acc = room, *to = acc + p->in[2] * 8, *cast = to + p->out[2] * 8;
    char *split = cast + p->in[2] * 8;
    char *out = j->out + r * p->out[2] * (int64_t)dtype_size(j->out_dtype);
    bool direct = j->work == j->out_dtype;
    if (direct) to = out;
    fold_rows(f, j->x + plane * pool_plane_size(p) * (int64_t)dtype_size(j->dtype), d,
              h, acc, cast);
    fold_across(f, acc, split, to);
    if (f->divide)
        j->loops->divide((double *)(void *)to, divisors(f), row_divisor(f, d, h),
                         (size_t)p->out[2]);
    if (!direct)
        tensor_cast_elements(j->out_dtype, out, j->work, to, (size_t)p->out[2],
                             (ptrdiff_t)dtype_size(j->out_dtype),
                             (ptrdiff_t)dtype_size(j->work));
}

static void pool_chunk(void *ctx, size_t chunk, unsigned worker) {
    const FoldJob *f = ctx;
    int64_t end, r = pool_chunk_rows(&f->j, chunk, &end);
    for (; r < end; r++)
        pool_row(f, r, pool_worker_room(&f->j, worker));
}

static bool run_rows(Call *c, FoldJob *f) {
    const PoolPlan *p = &f->j.p;
    size_t room = ((size_t)(2 * p->in[2] + p->out[2]) + pool_split_size(p)) * 8;
    if (!pool_job_room(c, &f->j, call_in(c, 0), NULL, room)) return false;
    if (f->sum)
        find_divisors(f);
    else
        fill_lowest(f->j.work, f->j.of_windows, p->out[2]);
    int64_t each = p->in[2] * (p->w.size[0] < p->in[0] ? p->w.size[0] : p->in[0]) *
                   (p->w.size[1] < p->in[1] ? p->w.size[1] : p->in[1]);
    pool_job_run(c, &f->j, p->planes * p->out[0] * p->out[1], each, pool_chunk);
    return true;
}

bool pool_max(Call *c) {
    FoldJob f = {.sum = false};
    if (!pool_job_open(c, &f.j)) return false;
    f.fold = f.across = f.j.loops->max[f.j.work];
    return !f.j.out || run_rows(c, &f);
}

static bool pool_sums(Call *c, bool divide) {
    FoldJob f = {.sum = true, .divide = divide};
    if (!pool_job_open(c, &f.j)) return false;
    f.padding = divide && prop_bool(c->s, c->op, c->props, "include_pad");
    f.fold = f.j.loops->sum[f.j.work];
    f.j.work = DT_FLOAT64;
    f.across = f.j.loops->sum[DT_FLOAT64];
    return !f.j.out || run_rows(c, &f);
}

bool pool_average(Call *c) {
    return pool_sums(c, true);
}
bool pool_sum(Call *c) {
    return pool_sums(c, false);
}

/* ---- the transpose of sums ---- */

/* Adds the row r of values to the rows of the plane that its windows cover. */
static void spread_row(const FoldJob *f, int64_t r, double *plane, double *row,
                       double *acc) {
    const PoolJob *j = &f->j;
    const PoolPlan *p = &j->p;
    int64_t h = r % p->out[1], d = r / p->out[1] % p->out[0], n = p->out[2], at;
    size_t item = dtype_size(j->out_dtype);
    tensor_cast_elements(DT_FLOAT64, row, j->out_dtype,
                         j->values + (size_t)(r * n) * item, (size_t)n, sizeof *row,
                         (ptrdiff_t)item);
    if (f->divide) j->loops->share(row, divisors(f), row_divisor(f, d, h), (size_t)n);
    PoolFold *add = j->loops->sum[DT_FLOAT64];
    double *split = acc + p->in[2], *x = p->w.stride[2] == 1 ? acc : split;
    memset(x, 0, (x == acc ? (size_t)p->in[2] : pool_split_size(p)) * sizeof *x);
    for (int64_t k = j->first_tap; k < j->end_tap; k++) {
        PoolTap t = pool_tap(j, k);
        if (t.first < t.end) add(x + t.at, row + t.first, (size_t)(t.end - t.first));
    }
    if (x != acc) j->loops->join(acc, x, (size_t)p->in[2], (size_t)p->w.stride[2]);
    PoolRows rows = pool_rows_of(p, d, h);
    while ((at = pool_next_row(&rows)) >= 0)
        add(plane + at * p->in[2], acc, (size_t)p->in[2]);
}

static void spread_chunk(void *ctx, size_t chunk, unsigned worker) {
    const FoldJob *f = ctx;
    const PoolJob *j = &f->j;
    double *plane = (double *)(void *)pool_worker_room(j, worker);
    double *row = plane + pool_plane_size(&j->p), *acc = row + j->p.out[2];
    int64_t rows = j->p.out[0] * j->p.out[1], end;
    for (int64_t r = pool_chunk_rows(j, chunk, &end); r < end; r++) {
        memset(plane, 0, (size_t)pool_plane_size(&j->p) * sizeof *plane);
        for (int64_t i = 0; i < rows && j->p.out[2]; i++)
            spread_row(f, r * rows + i, plane, row, acc);
        pool_store_plane(j, r, plane);
    }
}

static bool pool_spread(Call *c, bool divide) {
    FoldJob f = {.sum = true, .divide = divide};
    PoolJob *j = &f.j;
    int64_t shape[MAX_NDIM];
    if (!pool_spread_shape(c, shape) || !pool_job_open_back(c, j, shape, 0))
        return false;
    f.padding = divide && prop_bool(c->s, c->op, c->props, "include_pad");
    if (!j->out) return true;
    size_t room = ((size_t)(pool_plane_size(&j->p) + j->p.out[2] + j->p.in[2]) +
                   pool_split_size(&j->p)) *
                  sizeof(double);
    if (!pool_job_room(c, j, NULL, call_in(c, 0), room)) return false;
    find_divisors(&f);
    pool_job_run(c, j, j->p.planes, pool_plane_size(&j->p), spread_chunk);
    return true;
}

bool pool_average_spread(Call *c) {
    return pool_spread(c, true);
}
bool pool_sum_spread(Call *c) {
    return pool_spread(c, false);
}
