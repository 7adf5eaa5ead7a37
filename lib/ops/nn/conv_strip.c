/* Cuts a convolution into strips, and fills them. */
#include "ops/nn/conv_strip.h"

#include <string.h>

enum {
    STRIP_COLUMNS = 1024, /* results in a row of a strip, at most */
    MOST_TAPS = 1 << 16   /* along an axis */
};

/* ---- axes ---- */
static const ConvAxis one_axis = {1, 1, 1, 1, 1, 0};

/* Axis k of three, of which the last ones are the convolution's. */
const ConvAxis *conv_axis_of(const Conv *q, int k) {
    int i = k - (CONV_AXES - q->ndim);
    return i < 0 ? &one_axis : &q->axis[i];
}

int64_t conv_stride_of(const Tensor *t, int k) {
    int i = k - (CONV_AXES - (t->ndim - 2));
    return i < 0 ? 0 : t->stride[2 + i];
}

bool conv_is_flat(const Tensor *t, int k) {
    int64_t step = t->stride[t->ndim - 1];
    for (int i = t->ndim; i-- > k; step *= t->shape[i])
        if (t->shape[i] > 1 && t->stride[i] != step) return false;
    return true;
}

/* Adds up the shifts, which are ascending or descending. */
void conv_finish_axis(LatticeAxis *l) {
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

void conv_forward_axis(const ConvAxis *a, LatticeAxis *l) {
    l->count = a->y, l->first = 0, l->step = 1;
    l->source = a->x, l->stride = a->stride;
    for (l->taps = 0; l->taps < a->w; l->taps++) {
        l->index[l->taps] = l->taps;
        l->shift[l->taps] = l->taps * a->dilation - a->before;
    }
    conv_finish_axis(l);
}

/* ---- strips ---- */
/* Few bytes, a multiple of 4. */
static void fill_zeros(char *to, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += 4)
        memset(to + i, 0, 4);
}

static int64_t strip_rows(const ConvStrips *q) {
    return q->rows + q->axis[1].reach;
}

/* Rows of one slot of the row axis, for all slots of the column axis. */
static void pack_rows(const ConvStrips *q, const char *plane, int64_t j, int64_t i,
                      int64_t slot, char *to) {
    const LatticeAxis *l = &q->axis[1], *a = &q->axis[2];
    int64_t n = q->strip_row, size = (int64_t)q->size;
    for (int64_t k = 0; k < a->slots; k++) {
        int64_t at = i * a->stride + a->low + a->slot[k], end = 0;
        int64_t skip = at < 0 ? conv_parts(-at, a->stride) : 0;
        if (at < a->source) end = (a->source - 1 - at) / a->stride + 1;
        skip = conv_least(skip, n);
        end = end < skip ? skip : conv_least(end, n);
        for (int64_t r = 0; r < strip_rows(q); r++, to += n * size) {
            int64_t row = (j + r) * l->stride + l->low + l->slot[slot];
            if (!plane || row < 0 || row >= l->source || end == skip) {
                memset(to, 0, (size_t)(n * size));
                continue;
            }
            fill_zeros(to, skip * size);
            q->copy(to + skip * size,
                    plane + row * q->x_stride[3] +
                        (at + skip * a->stride) * q->x_stride[4],
                    a->stride * q->x_stride[4], end - skip);
            fill_zeros(to + end * size, (n - end) * size);
        }
    }
}

/* Channels c to end. */
void conv_strip_pack(const ConvStrips *q, const StripAt *s, int64_t c, int64_t end,
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
void conv_strip_offsets(ConvStrips *q) {
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

int64_t *conv_axes_room(Session *s, const Conv *q, LatticeAxis axis[CONV_AXES]) {
    size_t total = 0;
    for (int k = 0; k < CONV_AXES; k++) {
        if (conv_axis_of(q, k)->w > MOST_TAPS) return NULL;
        total += (size_t)conv_axis_of(q, k)->w;
    }
    int64_t *room = mem_alloc(s, 4 * total * sizeof *room), *at = room;
    for (int k = 0; k < CONV_AXES; k++) {
        int64_t n = conv_axis_of(q, k)->w;
        axis[k].index = at;
        axis[k].shift = at + n;
        axis[k].slot = at + 2 * n;
        axis[k].rest = at + 3 * n;
        at += 4 * n;
    }
    return room;
}

/* ---- sizes ---- */
/* Bytes of a strip with that many rows and columns of results. */
bool conv_strip_size(ConvStrips *q, int64_t rows, int64_t columns, int64_t *bytes) {
    const LatticeAxis *a = q->axis;
    q->rows = rows, q->columns = columns;
    return !__builtin_add_overflow(columns, a[2].reach, &q->strip_row) &&
           i64_mul(q->strip_row, rows + a[1].reach, &q->strip_slot) &&
           conv_product(q->strip_slot, a[1].slots, a[2].slots, &q->plane) &&
           i64_mul(q->plane, a[0].taps, &q->plane) &&
           conv_product(q->plane, q->channels, (int64_t)q->size, bytes);
}

bool conv_strip_divide(ConvStrips *q, int64_t bytes, int64_t *strip_bytes) {
    const LatticeAxis *a = q->axis;
    int64_t most = q->most_columns ? q->most_columns : STRIP_COLUMNS,
            columns = conv_least(most, a[2].count), one, rows;
    if (!q->most_columns)
        columns = conv_parts(a[2].count, conv_parts(a[2].count, columns));
    if (!conv_strip_size(q, 1, columns, &one)) return false;
    one /= 1 + a[1].reach;
    rows = one ? bytes / one - a[1].reach : 1;
    if (rows < 1) rows = 1;
    if (rows > a[1].count) rows = a[1].count;
    rows = conv_parts(a[1].count, conv_parts(a[1].count, rows));
    return conv_strip_size(q, rows, columns, strip_bytes);
}

void conv_strip_source(ConvStrips *q, const Tensor *x, const ConvTiles *tiles) {
    q->copy = tiles->copy[q->size == 8];
    q->x = x->data;
    q->x_stride[0] = x->stride[0];
    q->x_stride[1] = x->stride[1];
    for (int k = 0; k < CONV_AXES; k++)
        q->x_stride[2 + k] = conv_stride_of(x, k);
}
