/* The outputs of a reduction, group by group. A task is a segment of what is reduced to
 * one group: a strip of rows, or several runs, which are reduced at once if they are
 * short. Threads share the tasks. The outputs are finished with their only segment, or
 * else after all tasks, when the segments' partial results are joined in order. */
#include "ops/reduce/fold.h"
#include "ops/shape/move.h"

#include <string.h>

enum { IN_ORDER = 32 }; /* runs of fewer elements are summed one after the other */

/* ---- from partial results to outputs ---- */
static inline __attribute__((always_inline)) void
take_parts(char *to, const char *acc, size_t n, size_t step, size_t size) {
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * size, acc + i * step, size);
}

/* Transposes accumulators: those with number k of all outputs become adjacent, for each
 * k. */
static void sort_parts(char *to, const char *acc, size_t n, size_t parts, size_t size) {
    for (size_t k = 0; k < parts; k++, acc += size, to += n * size)
        switch (size) { /* constant sizes compile to plain copies */
        case 4:
            take_parts(to, acc, n, parts * size, 4);
            break;
        case 8:
            take_parts(to, acc, n, parts * size, 8);
            break;
        case 16:
            take_parts(to, acc, n, parts * size, 16);
            break;
        default:
            take_parts(to, acc, n, parts * size, size);
        }
}

/* `room`: a worker's workspace, as large as acc. */
static void finish_group(const Reduction *j, int64_t group, char *acc, char *room) {
    int64_t first = group % j->strips * j->width,
            n = j->wide - first < j->width ? j->wide - first : j->width;
    size_t size = j->f.loops->acc_size;
    first /= j->parts;
    n /= j->parts;
    char *out = j->out +
                move_offset(j->kept.n, j->kept.shape, j->kept.out, group / j->strips) +
                first * j->wide_out;
    if (j->parts > 1) {
        sort_parts(room, acc, (size_t)n, (size_t)j->parts, size);
        acc = room;
    }
    for (int64_t k = 1; k < j->parts; k++)
        j->f.loops->join(acc, acc + (size_t)(k * n) * size, (size_t)n,
                         (double)(k * j->count), (double)j->count);
    j->f.finish(&j->f, acc, (size_t)n, out, j->wide_out);
}

/* n outputs of few elements each, which aren't adjacent: as many outputs' at once as
 * the buffer holds are copied there. */
static void reduce_short_strided(const Reduction *j, const ReduceWorker *w,
                                 const char *x, int64_t n, char *acc) {
    int64_t shape[MAX_NDIM + 1], to[MAX_NDIM + 1], from[MAX_NDIM + 1],
        step = (int64_t)j->item, most = RUN / j->count;
    for (int k = j->red.n; k > 0; k--) {
        shape[k] = j->red.shape[k - 1];
        from[k] = j->red.in[k - 1];
        to[k] = step;
        step *= shape[k];
    }
    from[0] = j->wide_in;
    to[0] = step;
    char *buffer = w->work + j->acc_bytes;
    for (; n > 0; n -= most) {
        shape[0] = n < most ? n : most;
        move_strided(NULL, j->item, j->red.n + 1, shape, buffer, to, x, from);
        j->f.loops->runs(buffer, step, (size_t)shape[0], (size_t)j->count, acc);
        x += most * j->wide_in;
        acc += (size_t)most * j->f.loops->acc_size;
    }
}

/* n outputs of one run each; in pieces, the runs are consecutive. */
static void reduce_short(const Reduction *j, const ReduceWorker *w, int64_t x,
                         int64_t n, void *acc) {
    const char *from = j->pieces ? NULL : j->x + x;
    int64_t step = j->wide_in;
    if (reduce_is_scattered(j)) {
        reduce_short_strided(j, w, from, n, acc);
        return;
    }
    if (j->rest && adds_made(j, j->count)) {
        for (int64_t i = 0; i < n; i++)
            reduce_sum_made(j, w, x / (int64_t)j->item + i * j->count, j->count,
                            (double *)acc + i);
        return;
    }
    if (j->sums && j->count < IN_ORDER && j->pieces->sum_runs &&
        j->pieces->sum_runs(j->pieces->ctx, w->number, x / (int64_t)j->item, n,
                            j->count, acc))
        return;
    if (j->pieces) {
        ptrdiff_t row;
        Piece p = {x / (int64_t)j->item, 1, 0, n * j->count};
        from =
            j->pieces->make(j->pieces->ctx, w->number, &p, w->work + j->made_at, &row);
    }
    if (j->f.loops->load != DT_NONE) {
        char *buffer = w->work + j->acc_bytes;
        reduce_load_row(j, buffer, from, n * j->count, (int64_t)j->item);
        from = buffer;
        step = j->count * (int64_t)j->loaded;
    }
    j->f.loops->runs(from, step, (size_t)n, (size_t)j->count, acc);
}

/* ---- tasks ---- */
bool reduce_is_scattered(const Reduction *j) {
    if (j->by_rows || j->pieces || j->f.loops->load != DT_NONE || j->count > j->block)
        return false;
    return j->inner_in != (int64_t)j->item ||
           (j->inner < j->count && j->inner < IN_ORDER);
}

bool reduce_is_short(const Reduction *j) {
    if (reduce_is_scattered(j)) return true;
    return !j->by_rows && j->count == j->inner && j->count <= j->block &&
           (j->pieces || reads_without_load(j, j->inner_in));
}

static void reduce_group(const Reduction *j, const ReduceWorker *w, int64_t group,
                         int64_t segment) {
    int64_t outer = group / j->strips, first = group % j->strips * j->width;
    int64_t n = j->wide - first < j->width ? j->wide - first : j->width;
    int64_t begin = segment * j->segment,
            end = begin + j->segment < j->count ? begin + j->segment : j->count;
    size_t size = j->f.loops->acc_size;
    int64_t x =
        move_offset(j->kept.n, j->kept.shape, j->kept.in, outer) + first * j->wide_in;
    char *acc = j->nsegment > 1
                    ? j->partial + ((size_t)(segment * j->groups) + (size_t)group) *
                                       (size_t)j->width * size
                    : w->work + j->work_size - (size_t)j->width * size;
    if (j->by_rows)
        reduce_range(j, w, (ReduceRange){x, n, begin, end}, acc);
    else if (reduce_is_short(j))
        reduce_short(j, w, x, n, acc);
    else
        for (int64_t i = 0; i < n; i++)
            reduce_range(j, w, (ReduceRange){x + i * j->wide_in, 1, begin, end},
                         acc + (size_t)i * size);
    if (j->nsegment == 1) finish_group(j, group, acc, w->work);
}

void reduce_chunk(void *ctx, size_t chunk, unsigned worker) {
    const Reduction *j = ctx;
    const ReduceWorker w = {j->work + worker * j->work_size, worker};
    int64_t t = (int64_t)chunk * j->per_chunk,
            end = t + j->per_chunk < j->tasks ? t + j->per_chunk : j->tasks;
    for (; t < end; t++)
        reduce_group(j, &w, t / j->nsegment, t % j->nsegment);
}

void reduce_join_segments(const Reduction *j) {
    size_t width = (size_t)j->width, all = width * (size_t)j->groups,
           step = all * j->f.loops->acc_size;
    for (int64_t g = 1; g < j->nsegment; g++) {
        double have = (double)(g * j->segment),
               last = (double)(j->count - g * j->segment);
        double more = last < (double)j->segment ? last : (double)j->segment;
        j->f.loops->join(j->partial, j->partial + (size_t)g * step, all, have, more);
    }
    for (int64_t g = 0; g < j->groups; g++)
        finish_group(j, g, j->partial + (size_t)g * width * j->f.loops->acc_size,
                     j->work);
}
