/* conv and conv_input_grad with vector instructions. A lattice is a set of results that
 * lie a fixed distance apart and use the same taps: all of y or, in the gradient of a
 * convolution with strides, the elements whose indices have the same remainder when
 * divided by the strides. It is computed like a convolution with padding. For a few
 * rows of results at a time, the rows of the source that they need are copied to a
 * strip, which stays in the cache. Padding becomes zeros there and strides disappear,
 * so that what neighbouring results need from one tap lies side by side. The end of a
 * row and the start of the next one are neighbours, too; results between them are
 * thrown away. */
#include "ops/nn/conv_lattice.h"

#include "ops/nn/conv_run.h"

#include <string.h>

enum {
    STRIP_BYTES = 256 << 10, /* of a strip at most, unless one row takes more */
    CHUNK_MADDS = 1 << 19,   /* of a thread's chunk at least, if there are so many */
    SHARED_CHANNELS = 32,    /* of a shared strip that are packed at a time */
    CHUNKS = 16,             /* at least, if there are as many strips or filters */
    FEW_CHUNKS = 8,          /* of which a thread may get one more than another */
    LEAST_CHANNELS = 3,      /* for blocks of many filters, and .. */
    FEW_TERMS = 48,          /* .. more terms than these in a sum */
    DIRECT_COLUMNS = 7,      /* of a source that serves as a strip, at least .. */
    DIRECT_MOST = 1024,      /* .. and at most */
    ONE_LOOP = 1024,         /* terms of a sum whose offsets all are listed */
    NEAR_POSITIONS = 112,    /* at least, whose results are transposed at a time */
    NEAR_WEIGHTS = 32 << 10  /* bytes that are packed when they are needed, at most */
};

/* Are the filters divided, too? Then their parts share the strips, which are few. */
static bool is_shared(const Lattice *q) {
    return q->filter_parts > 1;
}

/* ---- lattices ---- */
/* The elements of x whose index has the remainder `first`; false: no tap reaches
 * them. */
static bool backward_axis(const ConvAxis *a, int64_t first, LatticeAxis *l) {
    l->first = first, l->step = a->stride;
    l->count = a->x > first ? (a->x - first - 1) / a->stride + 1 : 0;
    l->source = a->y, l->stride = 1;
    l->taps = 0;
    for (int64_t k = 0; k < a->w; k++) {
        int64_t at = first + a->before - k * a->dilation;
        if (conv_rest(at, a->stride)) continue;
        l->index[l->taps] = k;
        l->shift[l->taps++] = at / a->stride;
    }
    if (l->taps) conv_finish_axis(l);
    return l->taps > 0;
}

/* ---- running ---- */
/* The rows of results of a strip, and what a tile has of them. */
typedef struct StripOut {
    char *out;       /* the first result of the first filter */
    int64_t channel; /* of that filter */
    int64_t rows, columns;
    int64_t step; /* positions from row to row of the strip */
} StripOut;

/* What comes after n neighbouring results of a channel. */
static void do_after(const Lattice *q, int64_t channel, char *row, int64_t n) {
    int64_t step = q->out_stride[4];
    float *at = (float *)(void *)row;
    if (step == 1)
        q->tiles->after(q->after, channel, at, n);
    else
        for (int64_t i = 0; i < n; i++)
            q->tiles->after(q->after, channel, at + i * step, 1);
}

/* Results that a tile has computed beside their place: [filters][each]. */
typedef struct TileOut {
    const char *data;
    int64_t filters, each;
} TileOut;

/* Stores `n` results of a tile from position p on. */
static void store_tile(const Lattice *q, const StripOut *s, const TileOut *tile,
                       int64_t p, int64_t n) {
    size_t size = q->s.size;
    int64_t step = q->out_stride[4];
    for (int64_t row = p / s->step; row * s->step < p + n; row++) {
        int64_t from = row * s->step > p ? row * s->step : p,
                to = row * s->step + s->columns;
        if (to > p + n) to = p + n;
        if (to <= from) continue;
        const char *have = tile->data + (size_t)(from - p) * size;
        char *out =
            s->out +
            (size_t)(row * q->out_stride[3] + (from - row * s->step) * step) * size;
        size_t count = (size_t)(to - from);
        for (int64_t f = 0; f < tile->filters; f++) {
            if (step == 1)
                memcpy(out, have, count * size);
            else if (size == 4)
                for (size_t k = 0; k < count; k++)
                    memcpy(out + k * (size_t)step * 4, have + k * 4, 4);
            else
                for (size_t k = 0; k < count; k++)
                    memcpy(out + k * (size_t)step * 8, have + k * 8, 8);
            if (q->after) do_after(q, s->channel + f, out, to - from);
            have += (size_t)tile->each * size;
            out += (size_t)q->out_stride[1] * size;
        }
    }
}

/* The tile of that many filters with enough vectors for n positions, or the largest. */
static int tile_shape(const Lattice *q, int64_t filters, int64_t n) {
    int best = -1;
    int64_t lanes = (int64_t)(q->tiles->bytes / q->s.size);
    for (int k = 0; k < CONV_TILE_SHAPES; k++) {
        if (q->tiles->shape[k].filters != filters) continue;
        best = k;
        if (q->tiles->shape[k].vectors * lanes >= n) break;
    }
    return best;
}

/* What a sum of so many channels runs over, by tiles. */
static int64_t sum_channels(const Lattice *q, int64_t channels) {
    return q->one_loop ? 1 : channels;
}
static int64_t sum_taps(const Lattice *q, int64_t channels) {
    return q->one_loop ? channels * q->s.taps : q->s.taps;
}

static void run_filters(const Lattice *q, const StripAt *at, const StripOut *s,
                        const char *strip, int64_t f, int64_t end) {
    _Alignas(64) char tile[CONV_TILE_BYTES];
    int64_t all = q->s.channels * q->s.taps,
            lanes = (int64_t)(q->tiles->bytes / q->s.size);
    int64_t positions = (s->rows - 1) * s->step + s->columns;
    StripOut out = *s;
    ConvTile t = {.channels = sum_channels(q, q->s.channels),
                  .taps = sum_taps(q, q->s.channels),
                  .plane = q->s.plane,
                  .offset = q->s.offset};
    for (int64_t n; f < end; f += n) {
        n = lattice_block(q, f);
        t.w = q->packed + (size_t)((at->g * q->filters + f) * all) * q->s.size;
        out.out = s->out + (size_t)(f * q->out_stride[1]) * q->s.size;
        out.channel = s->channel + f;
        for (int64_t p = 0, each; p < positions; p += each) {
            int k = tile_shape(q, n, positions - p);
            each = q->tiles->shape[k].vectors * lanes;
            t.x = strip + (size_t)p * q->s.size;
            bool direct = q->out_stride[4] == 1 && p % s->step + each <= s->columns;
            t.out =
                direct
                    ? out.out + (size_t)(p / s->step * q->out_stride[3] + p % s->step) *
                                    q->s.size
                    : tile;
            t.out_row = direct ? q->out_stride[1] : each;
            t.after = direct ? q->after : NULL;
            t.channel = out.channel;
            q->tiles->shape[k].run[q->element](&t);
            if (!direct)
                store_tile(q, &out, &(TileOut){tile, n, each}, p,
                           conv_least(each, positions - p));
        }
    }
}

/* ---- by blocks of many filters ---- */
/* How many neighbouring positions of a row of `columns` one place of a tile takes: as
 * few as give the same number of places. */
static int broad_shape(const Lattice *q, int64_t columns) {
    int most = CONV_BROAD_SHAPES - 1, k = 0;
    while (!q->broads->shape[most].n)
        most--;
    int64_t each = q->broads->shape[most].n;
    each = conv_parts(columns, conv_parts(columns, each));
    while (q->broads->shape[k].n < each)
        k++;
    return k;
}

static int64_t near_row(const Lattice *q, int64_t columns) {
    int64_t n = q->broads->shape[broad_shape(q, columns)].n;
    return columns > n ? columns : n;
}

/* What a worker has of its own. */
typedef struct LatticeRoom {
    const char *strip;
    char *near, *sums, *weights;
} LatticeRoom;

/* Some channels' part of a sum: `sums` has the parts before, [places][n][broad]; NULL:
 * these are all channels. `near`: where the last part leaves the sums. */
typedef struct LatticePart {
    char *near, *sums;
    bool first, last;
} LatticePart;

/* Results of a block, [rows][near_row][broad]: places that would end after their row
 * begin earlier, and those of a short row also find what is beyond it. */
static void run_rows(const Lattice *q, const char *strip, int64_t rows, int64_t columns,
                     ConvBroad *t, const LatticePart *part) {
    if (q->flat) columns *= rows, rows = 1;
    int k = broad_shape(q, columns);
    int64_t n = q->broads->shape[k].n, places = conv_parts(columns, n),
            row = near_row(q, columns);
    size_t size = q->s.size, block = (size_t)q->broad * size;
    for (int64_t p = 0; p < rows * places; p += 2) {
        int64_t have = conv_least(2, rows * places - p);
        for (int64_t i = 0; i < have; i++) {
            int64_t r = (p + i) / places,
                    at = conv_least((p + i) % places * n, row - n);
            char *sums = part->sums ? part->sums + (size_t)((p + i) * n) * block : NULL;
            t->x[i] = strip + (size_t)(r * q->s.strip_row + at) * size;
            t->from[i] = part->first ? NULL : sums;
            t->out[i] = part->last ? part->near + (size_t)(r * row + at) * block : sums;
        }
        q->broads->shape[k].run[have - 1][q->element](t);
    }
}

static void store_column(const Lattice *q, char *out, const char *near, int64_t n) {
    size_t size = q->s.size, to = (size_t)q->out_stride[4] * size,
           from = (size_t)q->broad * size;
    for (int64_t i = 0; i < n; i++)
        if (size == 4)
            memcpy(out + (size_t)i * to, near + (size_t)i * from, 4);
        else
            memcpy(out + (size_t)i * to, near + (size_t)i * from, 8);
}

/* From [position][filter] to the result. */
static void store_near(const Lattice *q, const StripOut *s, int64_t filters,
                       const char *near) {
    size_t size = q->s.size, block = (size_t)q->broad * size;
    int64_t row = q->flat ? s->columns : near_row(q, s->columns);
    bool whole = q->out_stride[3] == s->columns && row == s->columns;
    for (int64_t r = 0; r < s->rows; r += whole ? s->rows : 1) {
        char *to = s->out + (size_t)(r * q->out_stride[3]) * size;
        const char *from = near + (size_t)(r * row) * block;
        int64_t n = whole ? s->rows * s->columns : s->columns;
        bool other = q->out_stride[4] == 2 && !q->after;
        if ((q->out_stride[4] == 1 || other) && size == 4 && q->broads->store_4) {
            q->broads->store_4(&(ConvBroadOut){to, q->out_stride[1] * 4, other, filters,
                                               s->channel, q->after},
                               from, n);
            continue;
        }
        if (q->out_stride[4] == 1)
            transpose_in_cache(
                &(Transposition){.dst = to,
                                 .dst_row = q->out_stride[1] * (ptrdiff_t)size,
                                 .src = from,
                                 .src_column = (ptrdiff_t)block,
                                 .rows = (size_t)filters,
                                 .columns = (size_t)n,
                                 .size = size});
        else
            for (int64_t f = 0; f < filters; f++)
                store_column(q, to + (size_t)(f * q->out_stride[1]) * size,
                             from + (size_t)f * size, s->columns);
        for (int64_t f = 0; q->after && f < filters; f++)
            do_after(q, s->channel + f, to + (size_t)(f * q->out_stride[1]) * size, n);
    }
}

static int64_t near_rows(int64_t columns) {
    return conv_parts(NEAR_POSITIONS, columns);
}

/* Parts of n positions, at most so many each, of which none is short: a tile of the
 * last one must not find what is beyond the source. */
static int64_t even_part(int64_t n, int64_t most) {
    int64_t each = conv_parts(n, conv_parts(n, most));
    while (n > each && n % each > 0 && n % each < DIRECT_COLUMNS)
        each--;
    return each;
}

/* One strip, by weights that are packed when they are needed: those of some channels
 * stay in the nearest cache for all positions. */
static void run_near_blocks(const Lattice *q, const StripAt *at, const StripOut *s,
                            const LatticeRoom *room, int64_t f, int64_t end) {
    size_t size = q->s.size;
    ConvBroad t = {.plane = q->s.plane, .offset = q->s.offset, .w = room->weights};
    for (int64_t n; f < end; f += n) {
        n = lattice_block(q, f);
        for (int64_t c = 0, have; c < q->s.channels; c += have) {
            have = conv_least(q->near_channels, q->s.channels - c);
            t.channels = sum_channels(q, have);
            t.taps = sum_taps(q, have);
            LatticePart part = {room->near, room->sums, c == 0,
                                c + have == q->s.channels};
            lattice_pack_block(q, at->g, f, c, c + have, room->weights);
            run_rows(q, room->strip + (size_t)(c * q->s.plane) * size, s->rows,
                     s->columns, &t, &part);
        }
        StripOut block = *s;
        block.channel = s->channel + f;
        block.out = s->out + (size_t)(f * q->out_stride[1]) * size;
        store_near(q, &block, n, room->near);
    }
}

static void run_blocks(const Lattice *q, const StripAt *at, const StripOut *s,
                       const LatticeRoom *room, int64_t f, int64_t end) {
    int64_t all = q->s.channels * q->s.taps, each = near_rows(s->columns),
            flat = q->flat_out ? even_part(s->columns, NEAR_POSITIONS) : 0;
    size_t size = q->s.size;
    ConvBroad t = {.channels = sum_channels(q, q->s.channels),
                   .taps = sum_taps(q, q->s.channels),
                   .plane = q->s.plane,
                   .offset = q->s.offset};
    for (int64_t n; f < end; f += n) {
        n = lattice_block(q, f);
        t.w =
            q->packed + (size_t)((at->g * lattice_packed_filters(q) + f) * all) * size;
        StripOut part = *s;
        part.channel = s->channel + f;
        for (int64_t p = 0; flat && p < s->columns; p += flat) {
            part.columns = conv_least(flat, s->columns - p);
            part.out = s->out + (size_t)(f * q->out_stride[1] + p) * size;
            run_rows(q, room->strip + (size_t)p * size, 1, part.columns, &t,
                     &(LatticePart){room->near, NULL, true, true});
            store_near(q, &part, n, room->near);
        }
        for (int64_t r = 0; !flat && r < s->rows; r += each) {
            part.rows = conv_least(each, s->rows - r);
            part.out =
                s->out + (size_t)(f * q->out_stride[1] + r * q->out_stride[3]) * size;
            run_rows(q, room->strip + (size_t)(r * q->s.strip_row) * size, part.rows,
                     s->columns, &t, &(LatticePart){room->near, NULL, true, true});
            store_near(q, &part, n, room->near);
        }
    }
}

static StripAt strip_at(const Lattice *q, int64_t strip) {
    StripAt s;
    s.i = strip % q->column_strips * q->s.columns, strip /= q->column_strips;
    s.j = strip % q->row_strips * q->s.rows, strip /= q->row_strips;
    s.d = strip % q->s.axis[0].count, strip /= q->s.axis[0].count;
    s.g = strip % q->groups, s.n = strip / q->groups;
    return s;
}

/* Some channels of a strip that several chunks use. */
static void pack_shared_chunk(void *ctx, size_t chunk, unsigned worker) {
    const Lattice *q = ctx;
    int64_t parts = conv_parts(q->s.channels, SHARED_CHANNELS),
            strip = (int64_t)chunk / parts,
            from = (int64_t)chunk % parts * SHARED_CHANNELS;
    StripAt s = strip_at(q, strip);
    (void)worker;
    conv_strip_pack(&q->s, &s, from, conv_least(from + SHARED_CHANNELS, q->s.channels),
                    q->strip + (size_t)strip * q->strip_bytes);
}

static void run_unit(const Lattice *q, int64_t unit, char *own, char *near) {
    int64_t part = unit % q->filter_parts, strip = unit / q->filter_parts;
    StripAt s = strip_at(q, strip);
    const char *room = own;
    if (q->direct)
        room = q->s.x + s.n * q->s.x_stride[0] +
               s.g * q->s.channels * q->s.x_stride[1] + s.j * q->s.x_stride[3] +
               s.i * q->s.x_stride[4];
    else if (is_shared(q))
        room = q->strip + (size_t)strip * q->strip_bytes;
    else
        conv_strip_pack(&q->s, &s, 0, q->s.channels, own);
    const LatticeAxis *a = q->s.axis;
    int64_t first =
        s.n * q->out_stride[0] + s.g * q->filters * q->out_stride[1] +
        (a[0].first + s.d * a[0].step) * (q->out_stride[2] / a[0].step) +
        a[1].first * (q->out_stride[3] / a[1].step) + s.j * q->out_stride[3] +
        a[2].first * (q->out_stride[4] / a[2].step) + s.i * q->out_stride[4];
    StripOut out = {.out = q->out + (size_t)first * q->s.size,
                    .channel = s.g * q->filters,
                    .rows = conv_least(q->s.rows, a[1].count - s.j),
                    .columns = conv_least(q->s.columns, a[2].count - s.i),
                    .step = q->s.strip_row};
    if (q->flat_out) {
        out.columns *= out.rows;
        out.rows = 1;
        out.step = out.columns;
    }
    int64_t from = part * q->part, end = conv_least(from + q->part, q->filters);
    LatticeRoom own_room = {room, near, near + q->sums_at, near + q->weights_at};
    if (q->broads && !q->packed)
        run_near_blocks(q, &s, &out, &own_room, from, end);
    else if (q->broads)
        run_blocks(q, &s, &out, &own_room, from, end);
    else
        run_filters(q, &s, &out, room, from, end);
}

static void run_lattice_chunk(void *ctx, size_t chunk, unsigned worker) {
    const Lattice *q = ctx;
    int64_t from = (int64_t)chunk * q->each;
    for (int64_t u = from; u < from + q->each && u < q->units; u++)
        run_unit(q, u, q->strip + worker * q->strip_bytes,
                 q->near + worker * q->near_bytes);
}

/* ---- sizes ---- */
/* For several threads: fewer rows in a strip where there are few strips and blocks of
 * filters, but enough work in each. */
static bool divide_rows(Lattice *q) {
    const LatticeAxis *a = q->s.axis;
    double madds = (double)q->s.columns * (double)q->s.channels * (double)q->s.taps *
                   (double)q->filters;
    int64_t enough = (int64_t)(CHUNK_MADDS / (madds + 1)) + 1, bytes,
            others = conv_parts(a[2].count, q->s.columns) *
                     conv_parts(q->filters, lattice_most_filters(q)),
            strips = conv_parts(a[1].count, q->s.rows);
    if (!conv_product(others, q->n, q->groups, &others) || others >= FEW_CHUNKS ||
        others * strips >= FEW_CHUNKS)
        return true;
    int64_t rows = conv_parts(a[1].count, conv_parts(CHUNKS, others));
    if (rows < enough) rows = enough;
    return rows >= q->s.rows || conv_strip_size(&q->s, rows, q->s.columns, &bytes);
}

/* Rows and columns of a strip, and how the work is divided. The sums are the same in
 * any division. */
static bool divide_work(Lattice *q, unsigned threads) {
    const LatticeAxis *a = q->s.axis;
    int64_t bytes;
    if (!conv_strip_divide(&q->s, STRIP_BYTES, &bytes)) return false;
    if (threads > 1 && !divide_rows(q)) return false;
    int64_t rows = q->s.rows, columns = q->s.columns;
    q->row_strips = conv_parts(a[1].count, rows);
    q->column_strips = conv_parts(a[2].count, columns);
    int64_t strips = q->n * q->groups * a[0].count * q->row_strips * q->column_strips,
            most = lattice_most_filters(q), least;
    double madds = (double)rows * (double)columns * (double)q->s.channels *
                   (double)q->s.taps * (double)q->filters;
    int64_t parts = strips < CHUNKS ? conv_parts(CHUNKS, strips) : 1;
    while (parts > 1 && madds / (double)parts < CHUNK_MADDS)
        parts--;
    least = conv_parts(conv_parts(q->filters, parts), most) * most;
    q->part = least;
    q->filter_parts = conv_parts(q->filters, least);
    q->units = strips * q->filter_parts;
    madds /= (double)q->filter_parts;
    q->each = madds < CHUNK_MADDS ? (int64_t)(CHUNK_MADDS / (madds + 1)) : 1;
    if (q->each < 1) q->each = 1;
    return true;
}

/* Are the weights of a group needed for one strip alone? Then a copy of all of them
 * would leave the caches before it is read. */
static bool has_one_strip(const Lattice *q) {
    return q->broads && q->n == 1 && q->s.axis[0].count == 1 && q->row_strips == 1 &&
           q->column_strips == 1;
}

/* Room for the results of a block by every worker; with weights and sums if they are
 * not packed before. */
static bool near_room(Lattice *q, bool packs, size_t workers, size_t *all) {
    size_t positions = 4 * NEAR_POSITIONS + (size_t)q->s.columns, weights;
    size_t block = (size_t)q->broad * q->s.size;
    *all = q->near_bytes = 0;
    if (!q->broads) return true;
    if (!packs) {
        int64_t rows = q->flat ? 1 : q->s.rows, n,
                columns = q->flat ? q->s.rows * q->s.columns : q->s.columns,
                each = q->broads->shape[broad_shape(q, columns)].n;
        if (!conv_product(conv_parts(columns, each), each, rows, &n)) return false;
        if (positions < (size_t)n) positions = (size_t)n;
    }
    if (!size_mul(positions, block, &q->near_bytes)) return false;
    if (!packs) {
        q->near_channels = NEAR_WEIGHTS / (int64_t)block / q->s.taps;
        if (q->near_channels < 1) q->near_channels = 1;
        q->near_channels = conv_least(q->near_channels, q->s.channels);
        q->sums_at = q->near_bytes;
        if (!size_mul(q->near_bytes, 2, &q->weights_at) ||
            !size_mul((size_t)(q->near_channels * q->s.taps), block, &weights) ||
            !size_add(q->weights_at, weights, &q->near_bytes))
            return false;
    }
    return size_mul(q->near_bytes, workers, all);
}

/* Room for the offsets, the strips and near results, and for the packed weights: those
 * of constants are packed once. */
static bool lattice_room(Call *c, Lattice *q, bool *packed) {
    size_t count = is_shared(q) ? (size_t)(q->units / q->filter_parts)
                                : pool_threads(c->host->pool);
    size_t weights, strips, near, all, sum, slack = q->tiles->bytes * 8;
    int64_t elements, strip;
    if (!conv_product(q->s.channels, q->s.taps, lattice_packed_filters(q), &elements) ||
        !i64_mul(elements, q->groups, &elements) ||
        !size_mul((size_t)elements, q->s.size, &weights))
        return call_fail(c, E_LIMIT, "%s is too large for this machine", c->op->name);
    *packed = false;
    q->packed = q->alone ? call_keep(c, 1, weights, packed) : NULL;
    bool packs = q->packed || !has_one_strip(q);
    if (!conv_strip_size(&q->s, q->s.rows, q->s.columns, &strip) ||
        !size_add((size_t)strip, slack + 63, &q->strip_bytes) ||
        !size_mul(q->strip_bytes &= ~(size_t)63, count, &strips) ||
        !size_mul((size_t)sum_taps(q, q->s.channels), sizeof *q->s.offset, &all) ||
        !size_add(all, 127, &all) ||
        !near_room(q, packs, pool_threads(c->host->pool), &near) ||
        !size_add(all, near, &all) || !size_add(all, strips, &all) ||
        !size_add(all, weights, &sum))
        return call_fail(c, E_LIMIT, "%s is too large for this machine", c->op->name);
    bool own = packs && !q->packed;
    char *room = call_scratch(c, own ? sum : all);
    if (!room) return false;
    if (own) q->packed = room + (all & ~(size_t)63);
    q->strip = room;
    for (size_t i = 0; i < count; i++)
        memset(room + (i + 1) * q->strip_bytes - slack, 0, slack);
    q->near = room + strips;
    q->s.offset = (int64_t *)(void *)(q->near + near);
    return true;
}

/* Kernels of one element, without padding and strides. */
static bool is_direct(const Lattice *q) {
    bool is = q->broads && q->s.x_stride[4] == (int64_t)q->s.size &&
              q->s.axis[2].count >= DIRECT_COLUMNS;
    for (int k = 0; k < CONV_AXES; k++) {
        const LatticeAxis *a = &q->s.axis[k];
        is = is && a->taps == 1 && a->stride == 1 && a->low == 0 &&
             a->count == a->source;
    }
    return is && q->s.axis[0].count == 1;
}

/* Does each result need what is at one position, with nothing in between? */
static void find_flat(Lattice *q) {
    const LatticeAxis *a = q->s.axis;
    q->flat = a[1].reach == 0 && a[2].reach == 0 && q->column_strips == 1 &&
              (a[1].count == 1 || !q->direct ||
               q->s.x_stride[3] == q->s.columns * (int64_t)q->s.size);
    q->flat_out = q->flat && q->out_stride[4] == 1 &&
                  (a[1].count == 1 || q->out_stride[3] == q->s.columns);
}

static bool run_lattice(Call *c, Lattice *q) {
    const LatticeAxis *a = q->s.axis;
    if (a[0].count == 0 || a[1].count == 0 || a[2].count == 0) return true;
    q->direct = is_direct(q);
    if (q->direct)
        q->s.most_columns =
            even_part(a[2].count, a[1].count == 1 ? NEAR_POSITIONS : DIRECT_MOST);
    if (!conv_product(a[0].taps, a[1].taps, a[2].taps, &q->s.taps) ||
        !divide_work(q, pool_threads(c->host->pool)))
        return call_fail(c, E_LIMIT, "%s is too large for this machine", c->op->name);
    find_flat(q);
    q->one_loop = q->s.taps == 1 || q->s.channels * q->s.taps <= ONE_LOOP;
    bool packed;
    if (!lattice_room(c, q, &packed)) return false;
    conv_strip_offsets(&q->s);
    if (q->direct) {
        q->s.plane = q->s.x_stride[1] / (int64_t)q->s.size;
        q->s.strip_row = q->s.x_stride[3] / (int64_t)q->s.size;
    }
    for (int64_t k = q->s.taps; k < sum_taps(q, q->s.channels); k++)
        q->s.offset[k] = q->s.offset[k - q->s.taps] + q->s.plane;
    if (q->packed && !packed) lattice_pack(c->host->pool, q);
    if (is_shared(q) && !q->direct)
        pool_run(c->host->pool,
                 (size_t)(q->units / q->filter_parts *
                          conv_parts(q->s.channels, SHARED_CHANNELS)),
                 pack_shared_chunk, q);
    pool_run(c->host->pool, (size_t)conv_parts(q->units, q->each), run_lattice_chunk,
             q);
    return true;
}

/* ---- convolutions as lattices ---- */
const ConvTiles *conv_tiles_for(Session *s) {
    return FOR_CPU_LEVEL(s, conv_tiles);
}

bool conv_has_vectors(DType d) {
    return d == DT_FLOAT32 || d == DT_FLOAT64 || d == DT_INT32 || d == DT_UINT32;
}

ConvElement conv_element(DType d) {
    return d == DT_FLOAT32 ? CONV_F32 : d == DT_FLOAT64 ? CONV_F64 : CONV_I32;
}

static const ConvBroads *broads_for(Session *s) {
    return FOR_CPU_LEVEL(s, conv_broads);
}

/* Blocks are quicker where they are nearly full, and sums long enough to be worth a
 * transposition of the results. Only w's sizes decide: packed weights may be kept for
 * other images. */
static void choose_blocks(const Conv *v, Lattice *q, const ConvBroads *broads) {
    q->broad = CONV_BROAD * (int64_t)(q->tiles->bytes / q->s.size);
    int64_t padded = conv_parts(q->filters, q->broad) * q->broad, terms = q->s.channels;
    for (int k = 0; k < v->ndim && terms <= FEW_TERMS; k++)
        terms = conv_least(terms * v->axis[k].w, FEW_TERMS + 1);
    if (q->filters * 8 >= padded * 7 && q->s.channels >= LEAST_CHANNELS &&
        terms > FEW_TERMS)
        q->broads = broads;
}

static void open_lattice(const Conv *v, const ConvTiles *tiles, Lattice *q) {
    bool forward = v->result == CONV_Y;
    const Tensor *x = v->part[forward ? CONV_X : CONV_Y], *w = v->part[CONV_W],
                 *out = v->part[v->result];
    q->tiles = tiles;
    q->s.size = dtype_size(x->dtype);
    q->element = conv_element(x->dtype);
    q->n = v->n, q->groups = v->groups;
    q->after = v->after;
    q->s.channels = (forward ? v->c : v->o) / v->groups;
    q->filters = (forward ? v->o : v->c) / v->groups;
    conv_strip_source(&q->s, x, tiles);
    q->w = w->data, q->out = out->data;
    q->w_group = v->o / v->groups * w->stride[0];
    q->w_filter = w->stride[!forward];
    q->w_channel = w->stride[forward];
    for (int k = 0; k < 2; k++) {
        q->out_stride[k] = out->stride[k] / (int64_t)q->s.size;
    }
    for (int k = 0; k < CONV_AXES; k++) {
        q->w_stride[k] = conv_stride_of(w, k);
    }
}

/* Strides of results within the lattice. */
static void set_out_strides(const Conv *v, Lattice *q) {
    for (int k = 0; k < CONV_AXES; k++)
        q->out_stride[2 + k] = conv_stride_of(v->part[v->result], k) /
                               (int64_t)q->s.size * q->s.axis[k].step;
}

/* The rests of x's positions, divided by the stride, that have taps: those of the taps.
 * Returns how many there are. */
static int64_t list_rests(const ConvAxis *a, int64_t *rest) {
    int64_t n = 0;
    for (int64_t k = 0; k < a->w && n < a->stride; k++) {
        int64_t r = conv_rest(k * a->dilation - a->before, a->stride), i = 0;
        while (i < n && rest[i] != r)
            i++;
        if (i == n) rest[n++] = r;
    }
    return n;
}

static bool run_backward(Call *c, const Conv *v, Lattice *q) {
    int64_t n[CONV_AXES];
    bool whole = true;
    for (int k = 0; k < CONV_AXES; k++) {
        n[k] = list_rests(conv_axis_of(v, k), q->s.axis[k].rest);
        whole = whole && n[k] == conv_axis_of(v, k)->stride;
    }
    q->alone = n[0] * n[1] * n[2] == 1;
    if (!whole) memset(q->out, 0, tensor_bytes(v->part[CONV_X]));
    for (int64_t d = 0; d < n[0]; d++)
        for (int64_t j = 0; j < n[1]; j++)
            for (int64_t i = 0; i < n[2]; i++) {
                backward_axis(conv_axis_of(v, 0), q->s.axis[0].rest[d], &q->s.axis[0]);
                backward_axis(conv_axis_of(v, 1), q->s.axis[1].rest[j], &q->s.axis[1]);
                backward_axis(conv_axis_of(v, 2), q->s.axis[2].rest[i], &q->s.axis[2]);
                set_out_strides(v, q);
                if (!run_lattice(c, q)) return false;
            }
    return true;
}

bool conv_run_lattice(Call *c, const Conv *v) {
    Lattice q = {0};
    int64_t *room = conv_axes_room(c->s, v, q.s.axis);
    if (!room) return c->after_done = false, conv_reference(c, v);
    open_lattice(v, conv_tiles_for(c->s), &q);
    choose_blocks(v, &q, broads_for(c->s));
    bool ok;
    if (v->result == CONV_Y) {
        for (int k = 0; k < CONV_AXES; k++)
            conv_forward_axis(conv_axis_of(v, k), &q.s.axis[k]);
        set_out_strides(v, &q);
        q.alone = true;
        ok = run_lattice(c, &q);
    } else {
        ok = run_backward(c, v, &q);
    }
    mem_free(room);
    return ok;
}
