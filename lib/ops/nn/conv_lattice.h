/* Shared by the files that compute convolutions by lattices (conv_lattice.c). */
#ifndef OPS_NN_CONV_LATTICE_H
#define OPS_NN_CONV_LATTICE_H

#include "ops/nn/conv_strip.h"
#include "ops/nn/conv_tile.h"

typedef struct Lattice {
    ConvStrips s;
    ConvElement element;
    const ConvTiles *tiles;
    int64_t n, groups, filters; /* the latter of a group */
    const char *w;
    char *out;
    int64_t w_filter, w_channel, w_group; /* bytes */
    int64_t w_stride[CONV_AXES];          /* bytes */
    int64_t out_stride[2 + CONV_AXES];    /* elements */
    int64_t row_strips, column_strips, filter_parts, part, units, each;
    const ConvAfter *after;   /* NULL: nothing */
    bool alone;               /* the only lattice of this run */
    bool one_loop;            /* channels are listed as taps are, which are few */
    bool direct;              /* the source itself serves as a strip */
    bool flat;                /* rows of a strip, as of results, follow each other .. */
    bool flat_out;            /* .. as they do in the result */
    const ConvBroads *broads; /* NULL: tiles */
    int64_t broad;            /* filters of a block, the last one padded */
    char *packed;             /* the weights, filter block by block; NULL: .. */
    int64_t near_channels;    /* .. of so many channels when they are needed */
    char *strip;              /* of the first worker */
    char *near;               /* results, sums and weights of the first worker */
    size_t strip_bytes, near_bytes, sums_at, weights_at;
} Lattice;

/* The filters from f on that one tile computes. */
int64_t lattice_block(const Lattice *q, int64_t f);
/* The most filters of a block. */
static inline int64_t lattice_most_filters(const Lattice *q) {
    return q->broads ? q->broad : q->tiles->shape[0].filters;
}
/* The filters of a group as they are packed. */
static inline int64_t lattice_packed_filters(const Lattice *q) {
    return q->broads ? conv_parts(q->filters, q->broad) * q->broad : q->filters;
}
/* Packs all weights. */
void lattice_pack(Pool *pool, Lattice *q);
/* Those of channels c to end, of the block of filters from f on: [channels][taps][...].
 */
void lattice_pack_block(const Lattice *q, int64_t g, int64_t f, int64_t c, int64_t end,
                        char *to);

#endif
