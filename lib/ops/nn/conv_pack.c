/* The weights of a lattice as its tiles read them: for each block of filters, channel
 * by channel and tap by tap, those of all its filters side by side. */
#include "ops/nn/conv_lattice.h"

#include <string.h>

enum { WEIGHT_CHANNELS = 16 }; /* whose weights are packed at a time */

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

/* One channel of a block of filters, to `room` of them: a small transposition, or
 * element by element. */
static void transpose_taps(const Lattice *q, const char *w, int64_t filters,
                           int64_t room, char *to) {
    size_t size = q->s.size;
    if (filters < room) memset(to, 0, (size_t)(room * q->s.taps) * size);
    transpose_in_cache(&(Transposition){.dst = to,
                                        .dst_row = (ptrdiff_t)((size_t)room * size),
                                        .src = w,
                                        .src_column = q->w_filter,
                                        .rows = (size_t)q->s.taps,
                                        .columns = (size_t)filters,
                                        .size = size});
}

static inline __attribute__((always_inline)) void
pack_elements(const Lattice *q, const char *w, int64_t filters, size_t size, char *to,
              size_t skip) {
    const LatticeAxis *a = q->s.axis;
    for (int64_t d = 0; d < a[0].taps; d++)
        for (int64_t j = 0; j < a[1].taps; j++)
            for (int64_t i = 0; i < a[2].taps; i++) {
                const char *from = w + a[0].index[d] * q->w_stride[0] +
                                   a[1].index[j] * q->w_stride[1] +
                                   a[2].index[i] * q->w_stride[2];
                for (int64_t f = 0; f < filters; f++, from += q->w_filter, to += size)
                    memcpy(to, from, size);
                memset(to, 0, skip);
                to += skip;
            }
}

/* Some channels of all filters of a group: few, so that what is read and what is
 * written both lie side by side. */
static void pack_channels(const Lattice *q, int64_t g, int64_t begin, int64_t end) {
    size_t size = q->s.size;
    bool dense = q->s.taps > 1 && has_dense_taps(q);
    for (int64_t f = 0, n; f < q->filters; f += n) {
        n = lattice_block(q, f);
        const char *w = q->w + g * q->w_group + f * q->w_filter + begin * q->w_channel;
        int64_t room = packed_block(q, n),
                at = ((g * lattice_packed_filters(q) + f) * q->s.channels +
                      begin * room) *
                     q->s.taps;
        char *to = q->packed + (size_t)at * size;
        size_t skip = (size_t)(room - n) * size;
        for (int64_t c = begin; c < end; c++, w += q->w_channel) {
            if (dense)
                transpose_taps(q, w, n, room, to);
            else if (size == 4 && n == 32)
                pack_elements(q, w, 32, 4, to, skip);
            else if (size == 4)
                pack_elements(q, w, n, 4, to, skip);
            else
                pack_elements(q, w, n, 8, to, skip);
            to += (size_t)(room * q->s.taps) * size;
        }
    }
}

/* Filters of whole convolutions lie as their channels and taps do: a transposition. */
static bool is_dense_filter(const Lattice *q) {
    return has_dense_taps(q) &&
           (q->w_channel == q->s.taps * (int64_t)q->s.size || q->s.channels == 1);
}

static void transpose_chunk(void *ctx, size_t chunk, unsigned worker) {
    const Lattice *q = ctx;
    int64_t most = lattice_most_filters(q), parts = conv_parts(q->filters, most);
    int64_t g = (int64_t)chunk / parts, f = (int64_t)chunk % parts * most;
    int64_t all = q->s.channels * q->s.taps, end = conv_least(f + most, q->filters);
    size_t size = q->s.size;
    (void)worker;
    for (int64_t n; f < end; f += n) {
        n = lattice_block(q, f);
        size_t row = (size_t)packed_block(q, n) * size;
        char *to =
            q->packed + (size_t)((g * lattice_packed_filters(q) + f) * all) * size;
        if (n < packed_block(q, n)) memset(to, 0, (size_t)all * row);
        Transposition t = {.dst = to,
                           .dst_row = (ptrdiff_t)row,
                           .src = q->w + g * q->w_group + f * q->w_filter,
                           .src_column = q->w_filter,
                           .rows = (size_t)all,
                           .columns = (size_t)n,
                           .size = size};
        transpose_by_tiles(&t, false);
    }
}

static void pack_weights_chunk(void *ctx, size_t chunk, unsigned worker) {
    const Lattice *q = ctx;
    int64_t parts = conv_parts(q->s.channels, WEIGHT_CHANNELS),
            from = (int64_t)chunk % parts * WEIGHT_CHANNELS;
    (void)worker;
    pack_channels(q, (int64_t)chunk / parts, from,
                  conv_least(from + WEIGHT_CHANNELS, q->s.channels));
}

void lattice_pack(Pool *pool, Lattice *q) {
    if (is_dense_filter(q))
        pool_run(pool,
                 (size_t)(q->groups * conv_parts(q->filters, lattice_most_filters(q))),
                 transpose_chunk, q);
    else
        pool_run(pool, (size_t)(q->groups * conv_parts(q->s.channels, WEIGHT_CHANNELS)),
                 pack_weights_chunk, q);
}
