/* conv_weights_grad by vectors: for each filter, channel and tap the sum over positions
 * of the filter's element of dy and of the element of x that the tap finds there. x
 * lies in strips, as for conv. A vector holds neighbouring filters of one position, for
 * which dy is transposed; or, where groups have few filters, neighbouring positions.
 * Several chunks of filters and channels share what is made of x and dy, strip by
 * strip.
 */
#include "ops/nn/conv_run.h"
#include "ops/nn/conv_strip.h"
#include "ops/nn/conv_tile.h"

#include <string.h>

enum {
    STRIP_BYTES = 128 << 10, /* at most, if a row is not more */
    SHARED_BYTES = 1 << 20,  /* the same of all groups, for all chunks, */
    IMAGES_BYTES = 4 << 20,  /* and of several images */
    NEAR_BYTES = 32 << 10,   /* of dy, which all pairs of channel and tap need */
    SHARED_CHANNELS = 32,    /* of a shared strip that are packed at a time */
    CHUNK_PLACES = 144,      /* at least */
    CHUNKS = 16              /* if there are as many groups, channels and filters */
};

typedef struct WeightsGrad {
    ConvStrips s;
    ConvElement element;
    const ConvSums *sums;
    int64_t n, groups, filters;      /* the latter of a group */
    const Tensor *y, *w;             /* w: the result */
    int64_t y_stride[2 + CONV_AXES]; /* bytes */
    bool across, shared;
    int64_t images;        /* whose strips are shared at a time */
    bool first, last;      /* of the shared strips */
    StripAt at;            /* the first of them */
    int64_t places;        /* of one sum */
    int width;             /* of `along`: index of sums->vectors */
    int64_t block, blocks; /* filters of a chunk, padded; chunks of a group */
    int64_t part, parts;   /* channels of a chunk; chunks of a group */
    int64_t row_strips, column_strips, near_rows;
    /* Worker by worker: strip, y, sums, places. Shared, image by image: strips of the
     * groups, y of their blocks; then sums of the chunks, or of the workers if one time
     * is all; places of the workers. */
    char *room;
    size_t y_at, sums_at, places_at;
    size_t strip_bytes, y_bytes, sum_bytes, place_bytes, worker_bytes;
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
    int64_t block = chunk / q->parts; /* of all groups */
    GradChunk k = {.c = chunk % q->parts * q->part,
                   .f = block % q->blocks * q->block,
                   .g = block / q->blocks};
    size_t w = worker;
    k.filters = conv_least(q->block, q->filters - k.f);
    k.channels = conv_least(q->part, q->s.channels - k.c);
    if (q->shared) {
        k.strip = q->room + (size_t)k.g * q->strip_bytes;
        k.y = q->room + q->y_at + (size_t)block * q->y_bytes;
        k.sum = q->room + q->sums_at +
                (q->first && q->last ? w : (size_t)chunk) * q->sum_bytes;
        k.place = (int64_t *)(void *)(q->room + q->places_at + w * q->place_bytes);
    } else {
        k.strip = q->room + w * q->worker_bytes;
        k.y = k.strip + q->strip_bytes;
        k.sum = k.y + q->y_bytes;
        k.place = (int64_t *)(void *)(k.sum + q->sum_bytes);
    }
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
    int64_t *to = k->place, *end = to + places_of(q, k->channels);
    for (int64_t c = k->c; c < k->c + k->channels; c++)
        for (int64_t t = 0; t < q->s.taps; t++)
            *to++ = c * q->s.plane + q->s.offset[t];
    for (; to < end; to++)
        *to = to[-1];
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

/* The results of a strip. */
static int64_t rows_of(const WeightsGrad *q, const StripAt *s) {
    return conv_least(q->s.rows, q->s.axis[1].count - s->j);
}
static int64_t columns_of(const WeightsGrad *q, const StripAt *s) {
    return conv_least(q->s.columns, q->s.axis[2].count - s->i);
}

static void sum_strip(const WeightsGrad *q, const GradChunk *k, const StripAt *s) {
    int64_t rows = rows_of(q, s), columns = columns_of(q, s);
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

static void clear_sums(const WeightsGrad *q, const GradChunk *k) {
    memset(k->sum, 0, (size_t)(places_of(q, k->channels) * q->block) * q->s.size);
}

static void weights_grad_chunk(void *ctx, size_t chunk, unsigned worker) {
    const WeightsGrad *q = ctx;
    GradChunk k = chunk_at(q, (int64_t)chunk, worker);
    StripAt s = {.g = k.g};
    find_places(q, &k);
    clear_sums(q, &k);
    if (!q->across && k.filters < q->block) memset(k.y, 0, q->y_bytes);
    for (s.n = 0; s.n < q->n; s.n++)
        for (s.d = 0; s.d < q->s.axis[0].count; s.d++)
            for (s.j = 0; s.j < q->s.axis[1].count; s.j += q->s.rows)
                for (s.i = 0; s.i < q->s.axis[2].count; s.i += q->s.columns)
                    sum_strip(q, &k, &s);
    store_sums(q, &k);
}

/* ---- strips that all chunks share ---- */
/* The part of a chunk that is of image i. */
static void go_to_image(const WeightsGrad *q, GradChunk *k, int64_t i) {
    k->strip += (size_t)(i * q->groups) * q->strip_bytes;
    k->y += (size_t)(i * q->groups * q->blocks) * q->y_bytes;
}

static int64_t images_of(const WeightsGrad *q) {
    return conv_least(q->images, q->n - q->at.n);
}

static int64_t channel_packs(const WeightsGrad *q) {
    return conv_parts(q->s.channels, SHARED_CHANNELS);
}

/* Image by image some channels of each group, then each block of filters. */
static void pack_chunk(void *ctx, size_t chunk, unsigned worker) {
    const WeightsGrad *q = ctx;
    int64_t packs = channel_packs(q), all = q->groups * (packs + q->blocks),
            image = (int64_t)chunk / all, i = (int64_t)chunk % all,
            block = i - q->groups * packs;
    StripAt s = q->at;
    s.n += image;
    GradChunk k = chunk_at(q, block < 0 ? 0 : block * q->parts, worker);
    go_to_image(q, &k, image);
    if (block < 0) {
        int64_t c = i % packs * SHARED_CHANNELS;
        s.g = i / packs;
        conv_strip_pack(&q->s, &s, c, conv_least(c + SHARED_CHANNELS, q->s.channels),
                        k.strip + (size_t)s.g * q->strip_bytes);
        return;
    }
    if (q->first && k.filters < q->block) memset(k.y, 0, q->y_bytes);
    transpose_y(q, &k, &s, rows_of(q, &s), columns_of(q, &s));
}

static void sum_shared_chunk(void *ctx, size_t chunk, unsigned worker) {
    const WeightsGrad *q = ctx;
    GradChunk k = chunk_at(q, (int64_t)chunk, worker);
    find_places(q, &k);
    if (q->first) clear_sums(q, &k);
    for (int64_t i = 0; i < images_of(q); i++) {
        GradChunk of = k;
        go_to_image(q, &of, i);
        sum_along(q, &of, rows_of(q, &q->at), columns_of(q, &q->at));
    }
    if (q->last) store_sums(q, &k);
}

/* The next strips; false: there are none. */
static bool next_strips(const WeightsGrad *q, StripAt *s) {
    const LatticeAxis *a = q->s.axis;
    if ((s->i += q->s.columns) < a[2].count) return true;
    s->i = 0;
    if ((s->j += q->s.rows) < a[1].count) return true;
    s->j = 0;
    if (++s->d < a[0].count) return true;
    s->d = 0;
    return (s->n += q->images) < q->n;
}

static void run_shared(Pool *pool, WeightsGrad *q) {
    StripAt next = {0};
    size_t sums = (size_t)(q->groups * q->blocks * q->parts), packs;
    q->first = true;
    do {
        q->at = next;
        q->last = !next_strips(q, &next);
        packs = (size_t)(images_of(q) * q->groups * (channel_packs(q) + q->blocks));
        pool_run(pool, packs, pack_chunk, q);
        pool_run(pool, sums, sum_shared_chunk, q);
        q->first = false;
    } while (!q->last);
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

/* Strips of several images, if each is all of its image. */
static int64_t images_at_a_time(const WeightsGrad *q, int64_t strip) {
    const LatticeAxis *a = q->s.axis;
    int64_t images = IMAGES_BYTES / q->groups / (strip + 1);
    bool whole =
        a[0].count == 1 && q->s.rows == a[1].count && q->s.columns == a[2].count;
    return !whole || images < 1 ? 1 : conv_least(images, q->n);
}

static bool is_one_time(const WeightsGrad *q) {
    const LatticeAxis *a = q->s.axis;
    return q->images == q->n && a[0].count == 1 && q->s.rows == a[1].count &&
           q->s.columns == a[2].count;
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
    q->shared = !q->across && q->blocks * q->parts > 1;
    int64_t most_bytes = q->shared ? SHARED_BYTES / q->groups : STRIP_BYTES * q->parts;
    if (!conv_strip_divide(&q->s, most_bytes, &strip) ||
        !conv_product(q->block, q->s.columns, (int64_t)q->s.size, &near_row) ||
        !i64_mul(near_row, q->s.rows, &sums))
        return false;
    q->images = images_at_a_time(q, strip);
    q->near_rows = near_row < NEAR_BYTES ? NEAR_BYTES / near_row : 1;
    q->y_bytes = ((size_t)sums + 63) & ~(size_t)63;
    q->strip_bytes = (size_t)strip;
    return true;
}

static void round_up(size_t *bytes) {
    *bytes = (*bytes + 63) & ~(size_t)63;
}

/* Where the parts of the room begin, and its bytes; slack has been added to a strip. */
static bool place_rooms(WeightsGrad *q, size_t workers, size_t *all) {
    size_t groups, blocks, chunks, strips, ys, sums;
    if (!q->shared)
        return size_add(q->strip_bytes, q->y_bytes, &q->worker_bytes) &&
               size_add(q->worker_bytes, q->sum_bytes, &q->worker_bytes) &&
               size_add(q->worker_bytes, q->place_bytes, &q->worker_bytes) &&
               size_mul(q->worker_bytes, workers, all);
    if (!size_mul((size_t)q->images, (size_t)q->groups, &groups) ||
        !size_mul(groups, (size_t)q->blocks, &blocks) ||
        !size_mul((size_t)(q->groups * q->blocks), (size_t)q->parts, &chunks) ||
        !size_mul(q->strip_bytes, groups, &strips) ||
        !size_mul(q->y_bytes, blocks, &ys) ||
        !size_mul(q->sum_bytes, is_one_time(q) ? workers : chunks, &sums) ||
        !size_mul(q->place_bytes, workers, all) || !size_add(*all, strips, all) ||
        !size_add(*all, ys, all) || !size_add(*all, sums, all))
        return false;
    q->y_at = strips;
    q->sums_at = strips + ys;
    q->places_at = strips + ys + sums;
    return true;
}

static bool grad_room(Call *c, WeightsGrad *q) {
    size_t slack = q->sums->bytes * 8, all, offsets,
           workers = pool_threads(c->host->pool);
    int64_t places, sums;
    bool fits = i64_mul(q->part, q->s.taps, &places) && places < INT64_MAX / 16 &&
                i64_mul(places = places_of(q, q->part), q->block, &sums) &&
                i64_mul(sums, (int64_t)q->s.size, &sums) &&
                size_add(q->strip_bytes, slack + 63, &q->strip_bytes);
    q->sum_bytes = fits ? (size_t)sums : 0;
    q->place_bytes = fits ? (size_t)places * sizeof(int64_t) : 0;
    q->strip_bytes &= ~(size_t)63;
    round_up(&q->sum_bytes);
    round_up(&q->place_bytes);
    fits = fits && place_rooms(q, workers, &all) &&
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
        if (q.shared)
            run_shared(c->host->pool, &q);
        else
            pool_run(c->host->pool, (size_t)(q.groups * q.blocks * q.parts),
                     weights_grad_chunk, &q);
    }
    mem_free(room);
    return ok;
}
