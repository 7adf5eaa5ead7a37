/* The weights of a lattice as its tiles read them: for each block of filters, channel
 * by channel and tap by tap, those of all its filters side by side. */
#include "ops/nn/conv_lattice.h"

#include <string.h>

enum {
    WEIGHT_CHANNELS = 16, /* whose weights are packed at a time */
    MOST_ROWS = 64        /* of a tile that is transposed, or one channel */
};

int64_t lattice_block(const Lattice *q, int64_t f) {
    int64_t left = q->filters - f;
    if (q->broads) return conv_least(left, q->broad);
    for (int k = 0; k < CONV_TILE_SHAPES; k++)
        if (q->tiles->shape[k].filters && q->tiles->shape[k].filters <= left)
            return q->tiles->shape[k].filters;
    return 1;
}

/* Those of a block of n as they are packed. */
static int64_t packed_block(const Lattice *q, int64_t n) {
    return q->broads ? q->broad : n;
}

/* Do the taps of a filter's channel lie side by side, and are they all there? */
static bool has_dense_taps(const Lattice *q) {
    int64_t step = (int64_t)q->s.size;
    for (int k = CONV_AXES; k-- > 0; step *= q->s.axis[k].taps)
        if ((q->w_stride[k] != step && q->s.axis[k].taps > 1) ||
            q->s.axis[k].index[q->s.axis[k].taps - 1] != q->s.axis[k].taps - 1)
            return false;
    return true;
}

/* Elements that lie side by side, of each filter of a block: [n][room of filters]. What
 * lies `ahead` of them is packed soon. */
static void transpose_block(const Lattice *q, const char *w, int64_t filters,
                            int64_t room, int64_t n, ptrdiff_t ahead, char *to) {
    size_t size = q->s.size;
    if (q->broads && q->broads->pack_4 && size == 4) {
        q->broads->pack_4(&(ConvBroadPack){w, q->w_filter, ahead, filters, n}, to);
        return;
    }
    if (filters < room) memset(to, 0, (size_t)(room * n) * size);
    transpose_in_cache(&(Transposition){.dst = to,
                                        .dst_row = (ptrdiff_t)((size_t)room * size),
                                        .src = w,
                                        .src_column = q->w_filter,
                                        .rows = (size_t)n,
                                        .columns = (size_t)filters,
                                        .size = size});
}

/* The weights of a channel and tap. */
static void copy_filters(const Lattice *q, const char *from, int64_t filters,
                         char *to) {
    size_t size = q->s.size;
    if (q->w_filter == (int64_t)size)
        memcpy(to, from, (size_t)filters * size);
    else if (size == 4)
        for (int64_t f = 0; f < filters; f++, from += q->w_filter)
            memcpy(to + f * 4, from, 4);
    else
        for (int64_t f = 0; f < filters; f++, from += q->w_filter)
            memcpy(to + f * 8, from, 8);
}

/* One channel, element by element. */
static void pack_elements(const Lattice *q, const char *w, int64_t filters,
                          int64_t room, char *to) {
    const LatticeAxis *a = q->s.axis;
    size_t row = (size_t)room * q->s.size, have = (size_t)filters * q->s.size;
    for (int64_t d = 0; d < a[0].taps; d++)
        for (int64_t j = 0; j < a[1].taps; j++)
            for (int64_t i = 0; i < a[2].taps; i++, to += row) {
                const char *from = w + a[0].index[d] * q->w_stride[0] +
                                   a[1].index[j] * q->w_stride[1] +
                                   a[2].index[i] * q->w_stride[2];
                copy_filters(q, from, filters, to);
                memset(to + have, 0, row - have);
            }
}

/* Channels whose filters are a whole block, side by side. The next block's are on the
 * same lines or the next ones; no other prefetching finds them. */
static void copy_channels(const Lattice *q, const char *from, int64_t n, char *to) {
    enum { STEP = 32, LINE = 64 };
    size_t row = (size_t)q->broad * q->s.size;
    for (int64_t c = 0; c < n; c++, from += q->w_channel, to += row) {
        uintptr_t next = (uintptr_t)from + row; /* may be beyond the last weights */
        for (size_t i = 0; i < row; i += LINE)
            __builtin_prefetch((const char *)(next + i), 0, 2);
        for (size_t i = 0; i < row; i += STEP)
            memcpy(to + i, from + i, STEP);
    }
}

/* Filters of whole convolutions lie as their channels and taps do. */
static bool is_dense_filter(const Lattice *q) {
    return has_dense_taps(q) &&
           (q->w_channel == q->s.taps * (int64_t)q->s.size || q->s.channels == 1);
}

void lattice_pack_block(const Lattice *q, int64_t g, int64_t f, int64_t c, int64_t end,
                        char *to) {
    int64_t n = lattice_block(q, f), room = packed_block(q, n);
    const char *w = q->w + g * q->w_group + f * q->w_filter + c * q->w_channel;
    bool dense = q->s.taps > 1 && has_dense_taps(q);
    ptrdiff_t ahead = (end - c) * q->w_channel;
    if (is_dense_filter(q)) {
        transpose_block(q, w, n, room, (end - c) * q->s.taps, ahead, to);
        return;
    }
    if (q->s.taps == 1 && q->w_filter == (int64_t)q->s.size && n == q->broad) {
        copy_channels(q, w, end - c, to);
        return;
    }
    for (; c < end; c++, w += q->w_channel) {
        if (dense)
            transpose_block(q, w, n, room, q->s.taps, ahead, to);
        else
            pack_elements(q, w, n, room, to);
        to += (size_t)(room * q->s.taps) * q->s.size;
    }
}

/* Some channels of all filters of a group: few, so that what is read and what is
 * written both lie side by side. */
static void pack_channels_chunk(void *ctx, size_t chunk, unsigned worker) {
    const Lattice *q = ctx;
    int64_t parts = conv_parts(q->s.channels, WEIGHT_CHANNELS),
            g = (int64_t)chunk / parts, c = (int64_t)chunk % parts * WEIGHT_CHANNELS,
            end = conv_least(c + WEIGHT_CHANNELS, q->s.channels);
    (void)worker;
    for (int64_t f = 0; f < q->filters; f += lattice_block(q, f)) {
        int64_t at = (g * lattice_packed_filters(q) + f) * q->s.channels +
                     c * packed_block(q, lattice_block(q, f));
        lattice_pack_block(q, g, f, c, end,
                           q->packed + (size_t)(at * q->s.taps) * q->s.size);
    }
}

/* All channels of some filters, by tiles that are transposed in the cache. */
static void pack_filters_chunk(void *ctx, size_t chunk, unsigned worker) {
    const Lattice *q = ctx;
    int64_t most = lattice_most_filters(q), parts = conv_parts(q->filters, most);
    int64_t g = (int64_t)chunk / parts, f = (int64_t)chunk % parts * most;
    int64_t all = q->s.channels * q->s.taps, end = conv_least(f + most, q->filters);
    (void)worker;
    for (int64_t n; f < end; f += n) {
        n = lattice_block(q, f);
        size_t row = (size_t)packed_block(q, n) * q->s.size;
        char *to =
            q->packed + (size_t)((g * lattice_packed_filters(q) + f) * all) * q->s.size;
        for (int64_t c = 0, each = MOST_ROWS / q->s.taps + 1; c < q->s.channels;
             c += each)
            lattice_pack_block(q, g, f, c, conv_least(c + each, q->s.channels),
                               to + (size_t)(c * q->s.taps) * row);
    }
}

void lattice_pack(Pool *pool, Lattice *q) {
    if (is_dense_filter(q))
        pool_run(pool,
                 (size_t)(q->groups * conv_parts(q->filters, lattice_most_filters(q))),
                 pack_filters_chunk, q);
    else
        pool_run(pool, (size_t)(q->groups * conv_parts(q->s.channels, WEIGHT_CHANNELS)),
                 pack_channels_chunk, q);
}
