/* conv and conv_input_grad by vectors. Results that use the same taps, a fixed distance
 * apart, form a lattice: all of y; or, of the gradient of a convolution with strides,
 * the elements that leave one rest when divided by the strides. A lattice is computed
 * like a convolution with padding. For some rows of results, the rows of the source
 * that they need go to a strip, which stays in the cache, with the padding as zeros and
 * strides taken out: what neighbouring results need from one tap lies side by side in
 * it, also from the end of a row to the start of the next, where the results between
 * the two are thrown away. */
#include "ops/nn/conv_run.h"
#include "ops/nn/conv_tile.h"

#include <string.h>

enum {
    STRIP_BYTES = 256 << 10, /* at most, if a row is not more */
    STRIP_COLUMNS = 1024,    /* results in a row of it */
    CHUNK_MADDS = 1 << 19,   /* at least, if there is as much */
    SHARED_CHANNELS = 32,
    MOST_TAPS = 1 << 16, /* along an axis */
    CHUNKS = 16          /* if there are as many strips, or filters */
};

/* One axis of a lattice: result j is at first + j * step; tap t takes source element j
 * * stride + low + shift[t] and the weight at index[t]. */
typedef struct LatticeAxis {
    int64_t count, first, step, source, stride, low;
    int64_t taps, *index, *shift;
    int64_t slots, *slot; /* the rests of shifts, divided by stride, that occur */
    int64_t reach;        /* the largest quotient */
} LatticeAxis;

typedef struct Lattice {
    ConvElement element;
    size_t size; /* bytes of an element */
    const ConvTiles *tiles;
    LatticeAxis axis[CONV_AXES];
    int64_t n, groups, channels, filters; /* the latter of a group */
    const char *x, *w;
    char *out;
    int64_t x_stride[2 + CONV_AXES];      /* bytes */
    int64_t w_filter, w_channel, w_group; /* bytes */
    int64_t w_stride[CONV_AXES];          /* bytes */
    int64_t out_stride[2 + CONV_AXES];    /* elements */
    int64_t taps, *offset;                /* of all axes, into a strip */
    int64_t rows, columns;                /* results of a strip */
    int64_t strip_row, strip_slot, plane; /* elements from row to row, ... */
    int64_t row_strips, column_strips, filter_parts, part, units, each;
    char *packed; /* the weights, filter block by block */
    char *strip;  /* of the first worker */
    size_t strip_bytes;
} Lattice;

static int64_t shorter(int64_t most, int64_t left) {
    return left < most ? left : most;
}

static int64_t parts_of(int64_t n, int64_t each) {
    return n / each + (n % each > 0);
}

/* Are the filters divided, too? Then their parts share the strips, which are few. */
static bool is_shared(const Lattice *q) {
    return q->filter_parts > 1;
}

/* ---- lattices ---- */
static int64_t rest_of(int64_t a, int64_t b) {
    int64_t r = a % b;
    return r < 0 ? r + b : r;
}

static int64_t quotient(int64_t a, int64_t b) {
    return (a - rest_of(a, b)) / b;
}

/* Adds up the shifts, which are ascending or descending. */
static void finish_axis(LatticeAxis *l) {
    l->low = l->shift[0] < l->shift[l->taps - 1] ? l->shift[0] : l->shift[l->taps - 1];
    l->slots = l->reach = 0;
    for (int64_t t = 0; t < l->taps; t++) {
        l->shift[t] -= l->low;
        int64_t rest = l->shift[t] % l->stride, k = 0;
        if (l->shift[t] / l->stride > l->reach) l->reach = l->shift[t] / l->stride;
        while (k < l->slots && l->slot[k] != rest)
            k++;
        if (k == l->slots) l->slot[l->slots++] = rest;
    }
}

static void forward_axis(const ConvAxis *a, LatticeAxis *l) {
    l->count = a->y, l->first = 0, l->step = 1;
    l->source = a->x, l->stride = a->stride;
    for (l->taps = 0; l->taps < a->w; l->taps++) {
        l->index[l->taps] = l->taps;
        l->shift[l->taps] = l->taps * a->dilation - a->before;
    }
    finish_axis(l);
}

/* The elements of x that leave the rest `first`; false: they take no taps. */
static bool backward_axis(const ConvAxis *a, int64_t first, LatticeAxis *l) {
    l->first = first, l->step = a->stride;
    l->count = a->x > first ? (a->x - first - 1) / a->stride + 1 : 0;
    l->source = a->y, l->stride = 1;
    l->taps = 0;
    for (int64_t k = 0; k < a->w; k++) {
        int64_t at = first + a->before - k * a->dilation;
        if (rest_of(at, a->stride)) continue;
        l->index[l->taps] = k;
        l->shift[l->taps++] = quotient(at, a->stride);
    }
    if (l->taps) finish_axis(l);
    return l->taps > 0;
}

/* ---- strips ---- */
/* One row of a strip, `columns` results from i on, for one slot. */
static void pack_row(const Lattice *q, const char *from, int64_t i, int64_t slot,
                     char *to) {
    const LatticeAxis *l = &q->axis[2];
    int64_t at = i * l->stride + l->low + l->slot[slot], n = q->strip_row;
    int64_t skip = at < 0 ? (-at + l->stride - 1) / l->stride : 0, end = 0;
    if (at < l->source) end = (l->source - 1 - at) / l->stride + 1;
    if (!from || skip > n) skip = n;
    if (!from || end > n) end = n;
    if (end < skip) end = skip;
    size_t size = q->size;
    int64_t step = l->stride * q->x_stride[4];
    memset(to, 0, (size_t)skip * size);
    from += (at + skip * l->stride) * q->x_stride[4];
    to += (size_t)skip * size;
    if (step == (int64_t)size)
        memcpy(to, from, (size_t)(end - skip) * size);
    else if (size == 4)
        for (int64_t k = skip; k < end; k++, from += step)
            memcpy(to + (k - skip) * 4, from, 4);
    else
        for (int64_t k = skip; k < end; k++, from += step)
            memcpy(to + (k - skip) * 8, from, 8);
    memset(to + (size_t)(end - skip) * size, 0, (size_t)(n - end) * size);
}

static int64_t strip_rows(const Lattice *q) {
    return q->rows + q->axis[1].reach;
}

/* Rows of one slot of the row axis, for all slots of the column axis. */
static void pack_rows(const Lattice *q, const char *plane, int64_t j, int64_t i,
                      int64_t slot, char *to) {
    const LatticeAxis *l = &q->axis[1];
    for (int64_t k = 0; k < q->axis[2].slots; k++)
        for (int64_t r = 0; r < strip_rows(q); r++) {
            int64_t at = (j + r) * l->stride + l->low + l->slot[slot];
            bool inside = plane && at >= 0 && at < l->source;
            pack_row(q, inside ? plane + at * q->x_stride[3] : NULL, i, k, to);
            to += (size_t)q->strip_row * q->size;
        }
}

/* Where a strip is: image, group, and the first result along each axis. */
typedef struct StripAt {
    int64_t n, g, d, j, i;
} StripAt;

/* Channels c to end. */
static void pack_strip(const Lattice *q, const StripAt *s, int64_t c, int64_t end,
                       char *strip) {
    const LatticeAxis *l = &q->axis[0];
    size_t slot = (size_t)q->strip_slot * q->size;
    char *to = strip + (size_t)(c * q->plane) * q->size;
    for (; c < end; c++) {
        const char *from =
            q->x + s->n * q->x_stride[0] + (s->g * q->channels + c) * q->x_stride[1];
        for (int64_t t = 0; t < l->taps; t++) {
            int64_t at = s->d * l->stride + l->low + l->shift[t];
            const char *plane =
                at >= 0 && at < l->source ? from + at * q->x_stride[2] : NULL;
            for (int64_t k = 0; k < q->axis[1].slots; k++) {
                pack_rows(q, plane, s->j, s->i, k, to);
                to += (size_t)q->axis[2].slots * slot;
            }
        }
    }
}

static int64_t slot_of(const LatticeAxis *l, int64_t t) {
    int64_t k = 0;
    while (l->slot[k] != l->shift[t] % l->stride)
        k++;
    return k;
}

/* Where each tap begins in a strip. */
static void set_offsets(Lattice *q) {
    int64_t *to = q->offset;
    for (int64_t d = 0; d < q->axis[0].taps; d++)
        for (int64_t j = 0; j < q->axis[1].taps; j++)
            for (int64_t i = 0; i < q->axis[2].taps; i++) {
                const LatticeAxis *row = &q->axis[1], *column = &q->axis[2];
                int64_t slot = (d * row->slots + slot_of(row, j)) * column->slots +
                               slot_of(column, i);
                *to++ = slot * q->strip_slot +
                        row->shift[j] / row->stride * q->strip_row +
                        column->shift[i] / column->stride;
            }
}

/* ---- weights ---- */
/* The filters from f on that one tile computes. */
static int64_t block_at(const Lattice *q, int64_t f) {
    int64_t left = q->filters - f;
    for (int k = 0; k < CONV_TILE_SHAPES; k++)
        if (q->tiles->shape[k].filters && q->tiles->shape[k].filters <= left)
            return q->tiles->shape[k].filters;
    return 1;
}

static void pack_block(const Lattice *q, const char *w, int64_t filters, char *to) {
    int64_t widths[3] = {q->axis[0].taps, q->axis[1].taps, q->axis[2].taps};
    size_t size = q->size;
    for (int64_t c = 0; c < q->channels; c++, w += q->w_channel)
        for (int64_t d = 0; d < widths[0]; d++)
            for (int64_t j = 0; j < widths[1]; j++)
                for (int64_t i = 0; i < widths[2]; i++) {
                    const char *from = w + q->axis[0].index[d] * q->w_stride[0] +
                                       q->axis[1].index[j] * q->w_stride[1] +
                                       q->axis[2].index[i] * q->w_stride[2];
                    for (int64_t f = 0; f < filters; f++, from += q->w_filter) {
                        if (size == 4)
                            memcpy(to, from, 4);
                        else
                            memcpy(to, from, 8);
                        to += size;
                    }
                }
}

/* Filters of whole convolutions lie as their channels and taps do: a transposition. */
static bool is_dense_filter(const Lattice *q) {
    int64_t step = (int64_t)q->size;
    for (int k = CONV_AXES; k-- > 0; step *= q->axis[k].taps)
        if ((q->w_stride[k] != step && q->axis[k].taps > 1) ||
            q->axis[k].index[q->axis[k].taps - 1] != q->axis[k].taps - 1)
            return false;
    return q->w_channel == step || q->channels == 1;
}

static void pack_weights_chunk(void *ctx, size_t chunk, unsigned worker) {
    const Lattice *q = ctx;
    int64_t most = q->tiles->shape[0].filters, parts = (q->filters + most - 1) / most;
    int64_t g = (int64_t)chunk / parts, f = (int64_t)chunk % parts * most;
    int64_t all = q->channels * q->taps, end = f + most;
    (void)worker;
    for (int64_t n; f < end && f < q->filters; f += n) {
        n = block_at(q, f);
        const char *from = q->w + g * q->w_group + f * q->w_filter;
        char *to = q->packed + (size_t)((g * q->filters + f) * all) * q->size;
        if (is_dense_filter(q) && n > 1)
            transpose_by_tiles(
                &(Transposition){.dst = to,
                                 .dst_row = (ptrdiff_t)((size_t)n * q->size),
                                 .src = from,
                                 .src_column = q->w_filter,
                                 .rows = (size_t)all,
                                 .columns = (size_t)n,
                                 .size = q->size},
                false);
        else
            pack_block(q, from, n, to);
    }
}

/* ---- running ---- */
/* The rows of results of a strip, and what a tile has of them. */
typedef struct StripOut {
    char *out; /* the first result of the first filter */
    int64_t rows, columns;
} StripOut;

/* Stores `n` results of a tile from position p on. */
static void store_tile(const Lattice *q, const StripOut *s, const char *tile,
                       int64_t filters, int64_t each, int64_t p, int64_t n) {
    size_t size = q->size;
    int64_t step = q->out_stride[4];
    for (int64_t row = p / q->strip_row; row * q->strip_row < p + n; row++) {
        int64_t from = row * q->strip_row > p ? row * q->strip_row : p,
                to = row * q->strip_row + s->columns;
        if (to > p + n) to = p + n;
        if (to <= from) continue;
        const char *have = tile + (size_t)(from - p) * size;
        char *out = s->out + (size_t)(row * q->out_stride[3] +
                                      (from - row * q->strip_row) * step) *
                                 size;
        size_t count = (size_t)(to - from);
        for (int64_t f = 0; f < filters; f++) {
            if (step == 1)
                memcpy(out, have, count * size);
            else if (size == 4)
                for (size_t k = 0; k < count; k++)
                    memcpy(out + k * (size_t)step * 4, have + k * 4, 4);
            else
                for (size_t k = 0; k < count; k++)
                    memcpy(out + k * (size_t)step * 8, have + k * 8, 8);
            have += (size_t)each * size;
            out += (size_t)q->out_stride[1] * size;
        }
    }
}

/* The tile of that many filters with enough vectors for n positions, or the largest. */
static int tile_shape(const Lattice *q, int64_t filters, int64_t n) {
    int best = -1;
    int64_t lanes = (int64_t)(q->tiles->bytes / q->size);
    for (int k = 0; k < CONV_TILE_SHAPES; k++) {
        if (q->tiles->shape[k].filters != filters) continue;
        best = k;
        if (q->tiles->shape[k].vectors * lanes >= n) break;
    }
    return best;
}

static void run_filters(const Lattice *q, const StripAt *at, const StripOut *s,
                        const char *strip, int64_t f, int64_t end) {
    _Alignas(64) char tile[CONV_TILE_BYTES];
    int64_t all = q->channels * q->taps, lanes = (int64_t)(q->tiles->bytes / q->size);
    int64_t positions = (s->rows - 1) * q->strip_row + s->columns;
    StripOut out = *s;
    ConvTile t = {.channels = q->channels,
                  .taps = q->taps,
                  .plane = q->plane,
                  .offset = q->offset};
    for (int64_t n; f < end; f += n) {
        n = block_at(q, f);
        t.w = q->packed + (size_t)((at->g * q->filters + f) * all) * q->size;
        out.out = s->out + (size_t)(f * q->out_stride[1]) * q->size;
        for (int64_t p = 0, each; p < positions; p += each) {
            int k = tile_shape(q, n, positions - p);
            each = q->tiles->shape[k].vectors * lanes;
            t.x = strip + (size_t)p * q->size;
            bool direct =
                q->out_stride[4] == 1 && p % q->strip_row + each <= s->columns;
            t.out = direct ? out.out + (size_t)(p / q->strip_row * q->out_stride[3] +
                                                p % q->strip_row) *
                                           q->size
                           : tile;
            t.out_row = direct ? q->out_stride[1] : each;
            q->tiles->shape[k].run[q->element](&t);
            if (!direct)
                store_tile(q, &out, tile, n, each, p, shorter(each, positions - p));
        }
    }
}

static StripAt strip_at(const Lattice *q, int64_t strip) {
    StripAt s;
    s.i = strip % q->column_strips * q->columns, strip /= q->column_strips;
    s.j = strip % q->row_strips * q->rows, strip /= q->row_strips;
    s.d = strip % q->axis[0].count, strip /= q->axis[0].count;
    s.g = strip % q->groups, s.n = strip / q->groups;
    return s;
}

/* Some channels of a strip that several chunks use. */
static void pack_shared_chunk(void *ctx, size_t chunk, unsigned worker) {
    const Lattice *q = ctx;
    int64_t parts = parts_of(q->channels, SHARED_CHANNELS),
            strip = (int64_t)chunk / parts,
            from = (int64_t)chunk % parts * SHARED_CHANNELS;
    StripAt s = strip_at(q, strip);
    (void)worker;
    pack_strip(q, &s, from, shorter(from + SHARED_CHANNELS, q->channels),
               q->strip + (size_t)strip * q->strip_bytes);
}

static void run_unit(const Lattice *q, int64_t unit, char *own) {
    int64_t part = unit % q->filter_parts, strip = unit / q->filter_parts;
    StripAt s = strip_at(q, strip);
    char *room = own;
    if (is_shared(q))
        room = q->strip + (size_t)strip * q->strip_bytes;
    else
        pack_strip(q, &s, 0, q->channels, own);
    const LatticeAxis *a = q->axis;
    int64_t first =
        s.n * q->out_stride[0] + s.g * q->filters * q->out_stride[1] +
        (a[0].first + s.d * a[0].step) * (q->out_stride[2] / a[0].step) +
        a[1].first * (q->out_stride[3] / a[1].step) + s.j * q->out_stride[3] +
        a[2].first * (q->out_stride[4] / a[2].step) + s.i * q->out_stride[4];
    StripOut out = {.out = q->out + (size_t)first * q->size,
                    .rows = shorter(q->rows, a[1].count - s.j),
                    .columns = shorter(q->columns, a[2].count - s.i)};
    run_filters(q, &s, &out, room, part * q->part,
                shorter((part + 1) * q->part, q->filters));
}

static void run_lattice_chunk(void *ctx, size_t chunk, unsigned worker) {
    const Lattice *q = ctx;
    int64_t from = (int64_t)chunk * q->each;
    for (int64_t u = from; u < from + q->each && u < q->units; u++)
        run_unit(q, u, q->strip + worker * q->strip_bytes);
}

/* ---- sizes ---- */
static bool product3(int64_t a, int64_t b, int64_t c, int64_t *r) {
    return i64_mul(a, b, r) && i64_mul(*r, c, r);
}

/* Bytes of a strip with that many rows and columns of results. */
static bool strip_size(Lattice *q, int64_t rows, int64_t columns, int64_t *bytes) {
    const LatticeAxis *a = q->axis;
    q->rows = rows, q->columns = columns;
    return !__builtin_add_overflow(columns, a[2].reach, &q->strip_row) &&
           i64_mul(q->strip_row, rows + a[1].reach, &q->strip_slot) &&
           product3(q->strip_slot, a[1].slots, a[2].slots, &q->plane) &&
           i64_mul(q->plane, a[0].taps, &q->plane) &&
           product3(q->plane, q->channels, (int64_t)q->size, bytes);
}

/* Rows and columns of a strip, and how the work is divided. The sums are the same in
 * any division. */
static bool divide_work(Lattice *q) {
    const LatticeAxis *a = q->axis;
    int64_t columns = shorter(STRIP_COLUMNS, a[2].count), bytes, rows;
    columns = parts_of(a[2].count, parts_of(a[2].count, columns));
    if (!strip_size(q, 1, columns, &bytes)) return false;
    int64_t row = bytes / (1 + a[1].reach);
    rows = row ? STRIP_BYTES / row - a[1].reach : 1;
    if (rows < 1) rows = 1;
    if (rows > a[1].count) rows = a[1].count;
    rows = parts_of(a[1].count, parts_of(a[1].count, rows));
    if (!strip_size(q, rows, columns, &bytes)) return false;
    q->row_strips = parts_of(a[1].count, rows);
    q->column_strips = parts_of(a[2].count, columns);
    int64_t strips = q->n * q->groups * a[0].count * q->row_strips * q->column_strips,
            most = q->tiles->shape[0].filters, least;
    double madds = (double)rows * (double)columns * (double)q->channels *
                   (double)q->taps * (double)q->filters;
    int64_t parts = strips < CHUNKS ? parts_of(CHUNKS, strips) : 1;
    while (parts > 1 && madds / (double)parts < CHUNK_MADDS)
        parts--;
    least = parts_of(parts_of(q->filters, parts), most) * most;
    q->part = least;
    q->filter_parts = parts_of(q->filters, least);
    q->units = strips * q->filter_parts;
    madds /= (double)q->filter_parts;
    q->each = madds < CHUNK_MADDS ? (int64_t)(CHUNK_MADDS / (madds + 1)) : 1;
    if (q->each < 1) q->each = 1;
    return true;
}

/* Room for the offsets, the packed weights and the strips. */
static bool lattice_room(Call *c, Lattice *q) {
    size_t count = is_shared(q) ? (size_t)(q->units / q->filter_parts)
                                : pool_threads(c->host->pool);
    size_t weights, strips, all, slack = q->tiles->bytes * 8;
    int64_t elements, strip;
    if (!strip_size(q, q->rows, q->columns, &strip) ||
        !product3(q->channels, q->taps, q->filters, &elements) ||
        !i64_mul(elements, q->groups, &elements) ||
        !size_mul((size_t)elements, q->size, &weights) ||
        !size_add((size_t)strip, slack + 63, &q->strip_bytes) ||
        !size_mul(q->strip_bytes &= ~(size_t)63, count, &strips) ||
        !size_mul((size_t)q->taps, sizeof *q->offset, &all) ||
        !size_add(all, 127, &all) || !size_add(all, weights, &all) ||
        !size_add(all, strips, &all))
        return call_fail(c, E_LIMIT, "%s is too large for this machine", c->op->name);
    char *room = call_scratch(c, all);
    if (!room) return false;
    q->strip = room;
    for (size_t i = 0; i < count; i++)
        memset(room + (i + 1) * q->strip_bytes - slack, 0, slack);
    q->packed = room + strips;
    q->offset = (int64_t *)(void *)(q->packed + ((weights + 63) & ~(size_t)63));
    return true;
}

static bool run_lattice(Call *c, Lattice *q) {
    const LatticeAxis *a = q->axis;
    if (a[0].count == 0 || a[1].count == 0 || a[2].count == 0) return true;
    if (!product3(a[0].taps, a[1].taps, a[2].taps, &q->taps) || !divide_work(q))
        return call_fail(c, E_LIMIT, "%s is too large for this machine", c->op->name);
    if (!lattice_room(c, q)) return false;
    set_offsets(q);
    int64_t most = q->tiles->shape[0].filters;
    pool_run(c->host->pool, (size_t)(q->groups * parts_of(q->filters, most)),
             pack_weights_chunk, q);
    if (is_shared(q))
        pool_run(c->host->pool,
                 (size_t)(q->units / q->filter_parts *
                          parts_of(q->channels, SHARED_CHANNELS)),
                 pack_shared_chunk, q);
    pool_run(c->host->pool, (size_t)parts_of(q->units, q->each), run_lattice_chunk, q);
    return true;
}

/* ---- convolutions as lattices ---- */
static const ConvTiles *tiles_for(Session *s) {
#if defined(__x86_64__)
    int level = session_cpu_level(s);
    return level == 2 ? &conv_tiles2 : level == 1 ? &conv_tiles1 : &conv_tiles0;
#else
    (void)s;
    return &conv_tiles0;
#endif
}

bool conv_has_lattice(DType d) {
    return d == DT_FLOAT32 || d == DT_FLOAT64 || d == DT_INT32 || d == DT_UINT32;
}

static const ConvAxis one_axis = {1, 1, 1, 1, 1, 0};

/* Axis k of three, of which the last ones are the convolution's. */
static const ConvAxis *axis_of(const Conv *q, int k) {
    int i = k - (CONV_AXES - q->ndim);
    return i < 0 ? &one_axis : &q->axis[i];
}

static int64_t stride_of(const Tensor *t, int k) {
    int i = k - (CONV_AXES - (t->ndim - 2));
    return i < 0 ? 0 : t->stride[2 + i];
}

static void open_lattice(const Conv *v, const ConvTiles *tiles, Lattice *q) {
    bool forward = v->result == CONV_Y;
    const Tensor *x = v->part[forward ? CONV_X : CONV_Y], *w = v->part[CONV_W],
                 *out = v->part[v->result];
    q->tiles = tiles;
    q->size = dtype_size(x->dtype);
    q->element = x->dtype == DT_FLOAT32   ? CONV_F32
                 : x->dtype == DT_FLOAT64 ? CONV_F64
                                          : CONV_I32;
    q->n = v->n, q->groups = v->groups;
    q->channels = (forward ? v->c : v->o) / v->groups;
    q->filters = (forward ? v->o : v->c) / v->groups;
    q->x = x->data, q->w = w->data, q->out = out->data;
    q->w_group = v->o / v->groups * w->stride[0];
    q->w_filter = w->stride[!forward];
    q->w_channel = w->stride[forward];
    for (int k = 0; k < 2; k++) {
        q->x_stride[k] = x->stride[k];
        q->out_stride[k] = out->stride[k] / (int64_t)q->size;
    }
    for (int k = 0; k < CONV_AXES; k++) {
        q->x_stride[2 + k] = stride_of(x, k);
        q->w_stride[k] = stride_of(w, k);
    }
}

/* Strides of results within the lattice. */
static void set_out_strides(const Conv *v, Lattice *q) {
    for (int k = 0; k < CONV_AXES; k++)
        q->out_stride[2 + k] =
            stride_of(v->part[v->result], k) / (int64_t)q->size * q->axis[k].step;
}

/* The rests of x's positions, divided by the stride, that have taps: those of the taps.
 * Returns how many there are. */
static int64_t list_rests(const ConvAxis *a, int64_t *rest) {
    int64_t n = 0;
    for (int64_t k = 0; k < a->w && n < a->stride; k++) {
        int64_t r = rest_of(k * a->dilation - a->before, a->stride), i = 0;
        while (i < n && rest[i] != r)
            i++;
        if (i == n) rest[n++] = r;
    }
    return n;
}

static bool run_backward(Call *c, const Conv *v, Lattice *q, int64_t *const *rest) {
    int64_t n[CONV_AXES];
    bool whole = true;
    for (int k = 0; k < CONV_AXES; k++) {
        n[k] = list_rests(axis_of(v, k), rest[k]);
        whole = whole && n[k] == axis_of(v, k)->stride;
    }
    if (!whole) memset(q->out, 0, tensor_bytes(v->part[CONV_X]));
    for (int64_t d = 0; d < n[0]; d++)
        for (int64_t j = 0; j < n[1]; j++)
            for (int64_t i = 0; i < n[2]; i++) {
                backward_axis(axis_of(v, 0), rest[0][d], &q->axis[0]);
                backward_axis(axis_of(v, 1), rest[1][j], &q->axis[1]);
                backward_axis(axis_of(v, 2), rest[2][i], &q->axis[2]);
                set_out_strides(v, q);
                if (!run_lattice(c, q)) return false;
            }
    return true;
}

bool conv_run_lattice(Call *c, const Conv *v) {
    Lattice q = {0};
    int64_t total = 0, *rest[CONV_AXES];
    for (int k = 0; k < CONV_AXES; k++)
        if (axis_of(v, k)->w > MOST_TAPS) return conv_reference(c, v);
    for (int k = 0; k < CONV_AXES; k++)
        total += axis_of(v, k)->w;
    int64_t *room = mem_alloc(c->s, (size_t)(4 * total) * sizeof *room);
    int64_t *at = room;
    for (int k = 0; k < CONV_AXES; k++, at += 4 * axis_of(v, k - 1)->w) {
        q.axis[k].index = at;
        q.axis[k].shift = at + axis_of(v, k)->w;
        q.axis[k].slot = at + 2 * axis_of(v, k)->w;
        rest[k] = at + 3 * axis_of(v, k)->w;
    }
    open_lattice(v, tiles_for(c->s), &q);
    bool ok;
    if (v->result == CONV_Y) {
        for (int k = 0; k < CONV_AXES; k++)
            forward_axis(axis_of(v, k), &q.axis[k]);
        set_out_strides(v, &q);
        ok = run_lattice(c, &q);
    } else {
        ok = run_backward(c, v, &q, rest);
    }
    mem_free(room);
    return ok;
}
