/* Where windows have their maxima, for positions, the gradient and the pushforward. The
 * search takes the two steps of maxima, with the number of the row of x, among those
 * that the windows cover, and then the tap along with each number. */
#include "ops/nn/pool_run.h"

#include <string.h>

/* Takes a row of windows from number `first` on, of which window i has its maximum at
 * element at[i] of its plane of x; -1: it has no element. */
typedef void PoolVisit(const PoolJob *j, int64_t first, const int64_t *at, char *room);
typedef struct BestJob {
    PoolJob j;
    PoolVisit *visit;
    size_t visit_room; /* of a worker, before what the search needs */
} BestJob;

/* A worker's room for the search. */
typedef struct PoolSearch {
    PoolBest row;   /* of x: the best elements of each column */
    PoolBest split; /* the same, split */
    PoolBest found; /* by window */
    int64_t *place; /* in the plane, of each row that the windows cover */
    int64_t *at;    /* by window */
    char *cast;     /* a plane of float16 as float32 */
} PoolSearch;

/* How many rows of a plane a window covers, at most. */
static int64_t rows_covered(const PoolPlan *p) {
    return (p->w.size[0] < p->in[0] ? p->w.size[0] : p->in[0]) *
           (p->w.size[1] < p->in[1] ? p->w.size[1] : p->in[1]);
}

/* mem NULL: only the size in bytes. */
static size_t search_room(const PoolJob *j, char *mem, PoolSearch *s) {
    const PoolPlan *p = &j->p;
    size_t in = (size_t)p->in[2], out = (size_t)p->out[2], bytes = 0;
    size_t cast = j->work == j->dtype ? 0 : (size_t)pool_plane_size(p);
    size_t at[10] = {
        size_append(&bytes, in, sizeof(int64_t)), /* of any dtype */
        size_append(&bytes, out, sizeof(int64_t)),
        size_append(&bytes, (size_t)rows_covered(p), sizeof(int64_t)),
        size_append(&bytes, out, sizeof(int64_t)),
        size_append(&bytes, in, sizeof(int32_t)),
        size_append(&bytes, out, sizeof(int32_t)),
        size_append(&bytes, out, sizeof(int32_t)),
        size_append(&bytes, pool_split_size(p), sizeof(int64_t)),
        size_append(&bytes, pool_split_size(p), sizeof(int32_t)),
        size_append(&bytes, cast, sizeof(float)),
    };
    if (mem)
        *s =
            (PoolSearch){.row = {mem + at[0], (int32_t *)(void *)(mem + at[4]), NULL},
                         .found = {mem + at[1], (int32_t *)(void *)(mem + at[5]),
                                   (int32_t *)(void *)(mem + at[6])},
                         .place = (int64_t *)(void *)(mem + at[2]),
                         .at = (int64_t *)(void *)(mem + at[3]),
                         .split = {mem + at[7], (int32_t *)(void *)(mem + at[8]), NULL},
                         .cast = mem + at[9]};
    return bytes;
}

/* The best elements of the columns of the rows that windows of row (d, h) cover. False:
 * there are no such rows. */
static bool search_rows(const PoolJob *j, const char *plane, int64_t d, int64_t h,
                        const PoolSearch *s) {
    int64_t n = j->p.in[2], at;
    size_t item = dtype_size(j->work);
    PoolRows rows = pool_rows_of(&j->p, d, h);
    int32_t r = 0;
    for (; (at = pool_next_row(&rows)) >= 0; r++) {
        const char *row = plane + (size_t)(at * n) * item;
        s->place[r] = at * n;
        if (r == 0) {
            memcpy(s->row.value, row, (size_t)n * item);
            memset(s->row.row, 0, (size_t)n * sizeof *s->row.row);
        } else {
            j->loops->best_row[j->work](&s->row, row, (size_t)n, r);
        }
    }
    return r > 0;
}

static void search_across(const PoolJob *j, const PoolSearch *s) {
    size_t item = dtype_size(j->work);
    char *value = pool_split(j, item, s->row.value, s->split.value);
    int32_t *row = pool_split(j, sizeof *row, s->row.row, s->split.row);
    for (int64_t k = j->first_tap; k < j->end_tap; k++) {
        PoolTap t = pool_tap(j, k);
        if (t.first >= t.end) continue;
        PoolBest from = {value + (size_t)t.at * item, row + t.at, NULL};
        PoolBest to = {(char *)s->found.value + (size_t)t.first * item,
                       s->found.row + t.first, s->found.tap + t.first};
        j->loops->best_tap[j->work](&to, &from, (size_t)(t.end - t.first),
                                    (int32_t)(k - j->first_tap));
    }
}

/* Finds at[] of row (d, h) of the windows of a plane. */
static void search_windows(const PoolJob *j, const char *plane, int64_t d, int64_t h,
                           const PoolSearch *s) {
    const Window *w = &j->p.w;
    int64_t n = j->p.out[2];
    int64_t column = j->first_tap * w->dilation[2] - w->before[2];
    memset(s->found.tap, 0xff, (size_t)n * sizeof *s->found.tap); /* -1 */
    if (search_rows(j, plane, d, h, s)) search_across(j, s);
    for (int64_t i = 0; i < n; i++)
        s->at[i] = s->found.tap[i] < 0
                       ? -1
                       : s->place[s->found.row[i]] + column +
                             s->found.tap[i] * w->dilation[2] + i * w->stride[2];
}

/* The plane of x to search; float16 becomes float32. */
static const char *search_plane(const PoolJob *j, int64_t plane, char *cast) {
    size_t n = (size_t)pool_plane_size(&j->p), item = dtype_size(j->dtype);
    const char *x = j->x + (size_t)plane * n * item;
    if (j->work == j->dtype) return x;
    tensor_cast_elements(j->work, cast, j->dtype, x, n, (ptrdiff_t)dtype_size(j->work),
                         (ptrdiff_t)item);
    return cast;
}

static void visit_plane(const BestJob *b, int64_t plane, char *room) {
    const PoolJob *j = &b->j;
    const PoolPlan *p = &j->p;
    PoolSearch s;
    search_room(j, room + b->visit_room, &s);
    const char *x = search_plane(j, plane, s.cast);
    int64_t first = plane * p->out[0] * p->out[1] * p->out[2];
    for (int64_t d = 0; d < p->out[0]; d++)
        for (int64_t h = 0; h < p->out[1]; h++, first += p->out[2]) {
            search_windows(j, x, d, h, &s);
            b->visit(j, first, s.at, room);
        }
}

static void visit_chunk(void *ctx, size_t chunk, unsigned worker) {
    const BestJob *b = ctx;
    int64_t end, r = pool_chunk_rows(&b->j, chunk, &end);
    for (; r < end; r++)
        visit_plane(b, r, pool_worker_room(&b->j, worker));
}

/* Rows and taps are counted in 32 bits. */
static bool check_counts(Call *c, const PoolJob *j) {
    return (rows_covered(&j->p) <= INT32_MAX &&
            j->end_tap - j->first_tap <= INT32_MAX) ||
           call_fail(c, E_RUN_SHAPE,
                     "a window has more than 2^31 rows or columns of x");
}

/* Visits the windows of all planes with their maxima. */
static bool visit_all(Call *c, BestJob *b, const Tensor *x, const Tensor *v,
                      ChunkFn *fn) {
    PoolJob *j = &b->j;
    if (!j->out) return true;
    if (!check_counts(c, j) ||
        !pool_job_room(c, j, x, v, b->visit_room + search_room(j, NULL, NULL)))
        return false;
    pool_job_run(c, j, j->p.planes, pool_plane_size(&j->p), fn);
    return true;
}

/* ---- positions and the pushforward ---- */

static void store_positions(const PoolJob *j, int64_t first, const int64_t *at,
                            char *room) {
    (void)room;
    memcpy(j->out + first * 8, at, (size_t)j->p.out[2] * sizeof *at);
}

bool pool_positions(Call *c) {
    BestJob b = {.visit = store_positions};
    return pool_job_open(c, &b.j) && visit_all(c, &b, call_in(c, 0), NULL, visit_chunk);
}

static void gather_values(const PoolJob *j, int64_t first, const int64_t *at,
                          char *room) {
    size_t item = dtype_size(j->out_dtype);
    int64_t plane = first / (j->p.out[0] * j->p.out[1] * j->p.out[2]);
    const char *from = j->values + (size_t)(plane * pool_plane_size(&j->p)) * item;
    char *to = j->out + (size_t)first * item;
    (void)room;
    for (int64_t i = 0; i < j->p.out[2]; i++, to += item) {
        if (at[i] < 0)
            memset(to, 0, item);
        else
            memcpy(to, from + (size_t)at[i] * item, item);
    }
}

bool pool_gather(Call *c) {
    BestJob b = {.visit = gather_values};
    const Tensor *x = call_in(c, 0), *v = call_in(c, 1);
    if (!tensor_same_shape(x, v))
        return call_fail(c, E_RUN_SHAPE, "x and v must have the same shape");
    return pool_job_open(c, &b.j) && visit_all(c, &b, x, v, visit_chunk);
}

/* ---- the gradient ---- */

/* The room is a plane of doubles, and one for each window of a row. */
static void add_values(const PoolJob *j, int64_t first, const int64_t *at, char *room) {
    double *plane = (double *)(void *)room, *v = plane + pool_plane_size(&j->p);
    size_t item = dtype_size(j->out_dtype);
    tensor_cast_elements(DT_FLOAT64, v, j->out_dtype, j->values + (size_t)first * item,
                         (size_t)j->p.out[2], sizeof *v, (ptrdiff_t)item);
    for (int64_t i = 0; i < j->p.out[2]; i++)
        if (at[i] >= 0) plane[at[i]] += v[i];
}

static void scatter_chunk(void *ctx, size_t chunk, unsigned worker) {
    const BestJob *b = ctx;
    const PoolJob *j = &b->j;
    char *room = pool_worker_room(j, worker);
    int64_t end, r = pool_chunk_rows(j, chunk, &end);
    for (; r < end; r++) {
        memset(room, 0, (size_t)pool_plane_size(&j->p) * sizeof(double));
        visit_plane(b, r, room);
        pool_store_plane(j, r, (const double *)(const void *)room);
    }
}

bool pool_scatter(Call *c) {
    BestJob b = {.visit = add_values};
    PoolJob *j = &b.j;
    const Tensor *x = call_in(c, 0);
    if (!pool_job_open_back(c, j, x->shape, 1)) return false;
    j->dtype = x->dtype;
    j->work = x->dtype == DT_FLOAT16 ? DT_FLOAT32 : x->dtype;
    b.visit_room = (size_t)(pool_plane_size(&j->p) + j->p.out[2]) * sizeof(double);
    return visit_all(c, &b, x, call_in(c, 1), scatter_chunk);
}
