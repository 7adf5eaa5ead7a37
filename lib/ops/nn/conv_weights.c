/* conv_weights_grad by vectors: for each filter, channel and tap the sum over positions
 * of the filter's element of dy and of the element of x that the tap finds there. x
 * lies in strips, as for conv. A vector holds neighbouring filters of one position, for
 * which dy is transposed; or, where groups have few filters, neighbouring positions. */
#include "ops/nn/conv_run.h"
#include "ops/nn/conv_strip.h"
#include "ops/nn/conv_tile.h"

#include <string.h>

enum {
    STRIP_BYTES = 128 << 10, /* at most, if a row is not more */
    NEAR_BYTES = 32 << 10,   /* of dy, which all pairs of channel and tap need */
    CHUNK_PLACES = 144,      /* at least: dy is transposed for each chunk */
    CHUNKS = 16              /* if there are as many groups, channels and filters */
};

typedef struct WeightsGrad {
    ConvStrips s;
    ConvElement element;
    const ConvSums *sums;
    int64_t n, groups, filters;      /* the latter of a group */
    const Tensor *y, *w;             /* w: the result */
    int64_t y_stride[2 + CONV_AXES]; /* bytes */
    bool across;
    int64_t places;        /* of one sum */
    int width;             /* of `along`: index of sums->vectors */
    int64_t block, blocks; /* filters of a chunk, padded; chunks of a group */
    int64_t part, parts;   /* channels of a chunk; chunks of a group */
    int64_t row_strips, column_strips, near_rows;
    char *room; /* by worker: strip, y, sums */
    size_t strip_bytes, y_bytes, sum_bytes, worker_bytes;
} WeightsGrad;

/* ---- what a chunk works on ---- */
typedef struct GradChunk {
    int64_t g, f, filters, c, channels; /* f, c: the first in the group */
    char *strip, *y, *sum;              /* sum: [places][block], places padded */
    int64_t *place;                     /* elements of the strip */
} GradChunk;

static int64_t places_of(const WeightsGrad *q, int64_t channels) {
    return conv_parts(channels * q->s.taps, q->places) * q->places;
}

static GradChunk chunk_at(const WeightsGrad *q, int64_t chunk, unsigned worker) {
    GradChunk k = {.strip = q->room + worker * q->worker_bytes};
    k.c = chunk % q->parts * q->part, chunk /= q->parts;
    k.f = chunk % q->blocks * q->block, k.g = chunk / q->blocks;
    k.filters = conv_least(q->block, q->filters - k.f);
    k.channels = conv_least(q->part, q->s.channels - k.c);
    k.y = k.strip + q->strip_bytes;
    k.sum = k.y + q->y_bytes;
    k.place = (int64_t *)(void *)(k.sum + q->sum_bytes);
    return k;
}

/* dy's elements of a strip, by position and filter. */
static const char *y_row(const WeightsGrad *q, const GradChunk *k, const StripAt *s,
                         int64_t f, int64_t row) {
    return (const char *)q->y->data + s->n * q->y_stride[0] +
           (k->g * q->filters + k->f + f) * q->y_stride[1] + s->d * q->y_stride[2] +
           (s->j + row) * q->y_stride[3] + s->i * q->y_stride[4];
}

static void copy_elements(char *to, ptrdiff_t to_step, const char *from,
                          ptrdiff_t from_step, int64_t n, size_t size) {
    for (int64_t i = 0; i < n; i++, to += to_step, from += from_step)
        if (size == 4)
            memcpy(to, from, 4);
        else
            memcpy(to, from, 8);
}

/* [row][column][block] */
static void transpose_y(const WeightsGrad *q, const GradChunk *k, const StripAt *s,
                        int64_t rows, int64_t columns) {
    size_t size = q->s.size, step = (size_t)q->block * size;
    char *to = k->y;
    for (int64_t row = 0; row < rows; row++, to += (size_t)columns * step) {
        if (q->y_stride[4] == (int64_t)size)
            transpose_in_cache(&(Transposition){.dst = to,
                                                .dst_row = (ptrdiff_t)step,
                                                .src = y_row(q, k, s, 0, row),
                                                .src_column = q->y_stride[1],
                                                .rows = (size_t)columns,
                                                .columns = (size_t)k->filters,
                                                .size = size});
        else
            for (int64_t f = 0; f < k->filters; f++)
                copy_elements(to + (size_t)f * size, (ptrdiff_t)step,
                              y_row(q, k, s, f, row), q->y_stride[4], columns, size);
    }
}

/* Where the pairs of channel and tap begin in the strip; those beyond the last repeat
 * it. */
static void find_places(const WeightsGrad *q, const GradChunk *k) {
    int64_t taps = q->s.taps, n = k->channels * taps, all = places_of(q, k->channels);
    for (int64_t i = 0; i < all; i++) {
        int64_t at = conv_least(i, n - 1);
        k->place[i] = (k->c + at / taps) * q->s.plane + q->s.offset[at % taps];
    }
}

static void set_places(const WeightsGrad *q, const GradChunk *k, int64_t p, int64_t row,
                       ConvSum *t) {
    const char *from = k->strip + (size_t)(row * q->s.strip_row) * q->s.size;
    for (int64_t i = 0; i < q->places; i++)
        t->x[i] = from + (size_t)k->place[p + i] * q->s.size;
}

static void sum_along(const WeightsGrad *q, const GradChunk *k, int64_t rows,
                      int64_t columns) {
    int64_t places = places_of(q, k->channels);
    size_t step = (size_t)q->block * q->s.size;
    for (int64_t row = 0; row < rows; row += q->near_rows) {
        ConvSum t = {.rows = conv_least(q->near_rows, rows - row),
                     .columns = columns,
                     .x_row = q->s.strip_row,
                     .y = k->y + (size_t)(row * columns) * step};
        for (int64_t p = 0; p < places; p += q->places) {
            set_places(q, k, p, row, &t);
            t.out = k->sum + (size_t)p * step;
            q->sums->along[q->width][q->element](&t);
        }
    }
}

static void sum_across(const WeightsGrad *q, const GradChunk *k, const StripAt *s,
                       int64_t rows, int64_t columns) {
    int64_t places = places_of(q, k->channels);
    size_t size = q->s.size;
    bool dense = q->y_stride[4] == (int64_t)size;
    for (int64_t f = 0; f < k->filters; f++) {
        ConvSum t = {.rows = rows,
                     .columns = columns,
                     .x_row = q->s.strip_row,
                     .y_row = dense ? q->y_stride[3] / (int64_t)size : columns,
                     .y = dense ? y_row(q, k, s, f, 0) : k->y};
        for (int64_t row = 0; !dense && row < rows; row++)
            copy_elements(k->y + (size_t)(row * columns) * size, (ptrdiff_t)size,
                          y_row(q, k, s, f, row), q->y_stride[4], columns, size);
        for (int64_t p = 0; p < places; p += q->places) {
            set_places(q, k, p, 0, &t);
            t.out = k->sum + (size_t)(f * places + p) * size;
            q->sums->across[q->element](&t);
        }
    }
}

static void sum_strip(const WeightsGrad *q, const GradChunk *k, const StripAt *s) {
    int64_t rows = conv_least(q->s.rows, q->s.axis[1].count - s->j),
            columns = conv_least(q->s.columns, q->s.axis[2].count - s->i);
    conv_strip_pack(&q->s, s, k->c, k->c + k->channels, k->strip);
    if (q->across) {
        sum_across(q, k, s, rows, columns);
    } else {
        transpose_y(q, k, s, rows, columns);
        sum_along(q, k, rows, columns);
    }
}

/* From [place][filter] or [filter][place] to w. */
static void store_sums(const WeightsGrad *q, const GradChunk *k) {
    int64_t taps = q->s.taps, places = places_of(q, k->channels);
    size_t size = q->s.size, out_row = (size_t)(q->s.channels * taps) * size;
    char *out = (char *)q->w->data + (size_t)(k->g * q->filters + k->f) * out_row +
                (size_t)(k->c * taps) * size;
    for (int64_t f = 0; q->across && f < k->filters; f++)
        memcpy(out + (size_t)f * out_row, k->sum + (size_t)(f * places) * size,
               (size_t)(k->channels * taps) * size);
    if (!q->across)
        transpose_by_tiles(
            &(Transposition){.dst = out,
                             .dst_row = (ptrdiff_t)out_row,
                             .src = k->sum,
                             .src_column = (ptrdiff_t)((size_t)q->block * size),
                             .rows = (size_t)k->filters,
                             .columns = (size_t)(k->channels * taps),
                             .size = size},
            false);
}

static void weights_grad_chunk(void *ctx, size_t chunk, unsigned worker) {
    const WeightsGrad *q = ctx;
    GradChunk k = chunk_at(q, (int64_t)chunk, worker);
    StripAt s = {.g = k.g};
    find_places(q, &k);
    memset(k.sum, 0, (size_t)(places_of(q, q->part) * q->block) * q->s.size);
    if (!q->across && k.filters < q->block) memset(k.y, 0, q->y_bytes);
    for (s.n = 0; s.n < q->n; s.n++)
        for (s.d = 0; s.d < q->s.axis[0].count; s.d++)
            for (s.j = 0; s.j < q->s.axis[1].count; s.j += q->s.rows)
                for (s.i = 0; s.i < q->s.axis[2].count; s.i += q->s.columns)
                    sum_strip(q, &k, &s);
    store_sums(q, &k);
}

/* ---- dividing the work ---- */
static void choose_vectors(WeightsGrad *q) {
    int64_t lanes = (int64_t)(q->sums->bytes / q->s.size);
    q->across = q->filters * 4 <= lanes;
    q->width = 0;
    while (q->width < CONV_WIDTHS - 1 &&
           q->sums->vectors[q->width] * lanes < q->filters)
        q->width++;
    q->block = q->across ? q->filters : q->sums->vectors[q->width] * lanes;
    q->blocks = conv_parts(q->filters, q->block);
}

/* The sums are the same for any number of channels in a chunk, but not for any strip.
 */
static bool divide_grad(WeightsGrad *q) {
    int64_t near_row, strip, sums;
    choose_vectors(q);
    int64_t least = conv_parts(CHUNKS, q->groups * q->blocks),
            most = q->s.channels * q->s.taps / CHUNK_PLACES;
    if (least > most) least = most > 1 ? most : 1;
    q->places = q->across ? CONV_ACROSS : CONV_ALONG;
    q->part = conv_parts(q->s.channels, conv_least(least, q->s.channels));
    q->parts = conv_parts(q->s.channels, q->part);
    if (!conv_strip_divide(&q->s, STRIP_BYTES * q->parts, &strip) ||
        !conv_product(q->block, q->s.columns, (int64_t)q->s.size, &near_row) ||
        !i64_mul(near_row, q->s.rows, &sums))
        return false;
    q->near_rows = near_row < NEAR_BYTES ? NEAR_BYTES / near_row : 1;
    q->y_bytes = ((size_t)sums + 63) & ~(size_t)63;
    q->strip_bytes = (size_t)strip;
    return true;
}

static bool grad_room(Call *c, WeightsGrad *q) {
    size_t slack = q->sums->bytes * 8, all, offsets;
    int64_t places, sums;
    bool fits =
        i64_mul(q->part, q->s.taps, &places) && places < INT64_MAX / 16 &&
        i64_mul(places = places_of(q, q->part), q->block, &sums) &&
        i64_mul(sums, (int64_t)q->s.size, &sums) &&
        size_add(q->strip_bytes, slack + 63, &q->strip_bytes) &&
        size_add(q->strip_bytes &= ~(size_t)63, q->y_bytes, &q->worker_bytes) &&
        size_add(q->worker_bytes, q->sum_bytes = ((size_t)sums + 63) & ~(size_t)63,
                 &q->worker_bytes) &&
        size_add(q->worker_bytes, (size_t)places * sizeof(int64_t) + 63,
                 &q->worker_bytes) &&
        size_mul(q->worker_bytes &= ~(size_t)63, pool_threads(c->host->pool), &all) &&
        size_mul((size_t)q->s.taps, sizeof *q->s.offset, &offsets) &&
        size_add(all, offsets, &offsets);
    if (!fits)
        return call_fail(c, E_LIMIT, "%s is too large for this machine", c->op->name);
    q->room = call_scratch(c, offsets);
    if (!q->room) return false;
    q->s.offset = (int64_t *)(void *)(q->room + all);
    return true;
}

static const ConvSums *sums_for(Session *s) {
    return FOR_CPU_LEVEL(s, conv_sums);
}

static void open_grad(const Conv *v, const ConvTiles *tiles, WeightsGrad *q) {
    const Tensor *x = v->part[CONV_X];
    q->y = v->part[CONV_Y], q->w = v->part[CONV_W];
    q->s.size = dtype_size(x->dtype);
    q->element = conv_element(x->dtype);
    q->n = v->n, q->groups = v->groups;
    q->s.channels = v->c / v->groups;
    q->filters = v->o / v->groups;
    conv_strip_source(&q->s, x, tiles);
    for (int k = 0; k < CONV_AXES; k++) {
        conv_forward_axis(conv_axis_of(v, k), &q->s.axis[k]);
        q->y_stride[2 + k] = conv_stride_of(q->y, k);
    }
    q->y_stride[0] = q->y->stride[0];
    q->y_stride[1] = q->y->stride[1];
}

bool conv_run_weights_grad(Call *c, const Conv *v) {
    WeightsGrad q = {.sums = sums_for(c->s)};
    int64_t *room = conv_axes_room(c->s, v, q.s.axis);
    if (!room) return conv_reference(c, v);
    open_grad(v, conv_tiles_for(c->s), &q);
    const LatticeAxis *a = q.s.axis;
    bool ok =
        (conv_product(a[0].taps, a[1].taps, a[2].taps, &q.s.taps) && divide_grad(&q)) ||
        call_fail(c, E_LIMIT, "%s is too large for this machine", c->op->name);
    ok = ok && grad_room(c, &q);
    if (ok) {
        conv_strip_offsets(&q.s);
        pool_run(c->host->pool, (size_t)(q.groups * q.blocks * q.parts),
                 weights_grad_chunk, &q);
    }
    mem_free(room);
    return ok;
}
