/* conv_input_grad with strides where y has few positions, so that much of the time
 * would go into picking weights for every rest of x's positions: as a product of
 * matrices, in which w serves as it lies in memory, and whose columns are pairs of a
 * channel and a tap. The elements of x then add up what their taps have. */
#include "ops/nn/conv_run.h"
#include "ops/nn/conv_strip.h"

#include <string.h>

enum {
    MOST_POSITIONS = 256, /* in all images */
    LEAST_SUMS = 64,      /* channels of y, which pay for what is added up */
    CHUNK_SUMS = 1 << 15, /* that are added up at a time, at least */
    MOST_COLUMN_BYTES = 8 << 20
};

typedef struct Columns {
    const Conv *v;
    const char *column; /* [n][channels of x][taps][positions] */
    size_t size;
    ConvElement element;
    int64_t taps, positions, each;                /* channels of a chunk */
    int64_t w[CONV_AXES], y[CONV_AXES];           /* sizes */
    int64_t x_stride[CONV_AXES], step[CONV_AXES]; /* bytes; the latter for one of y */
} Columns;

/* ---- adding up ---- */
/* Results from to before `end` of y along an axis have an element of x at tap k; that
 * of the first is x bytes from the start. */
typedef struct TapRange {
    int64_t from, end, x;
} TapRange;

static TapRange tap_range(const Columns *q, int axis, int64_t k) {
    const ConvAxis *a = conv_axis_of(q->v, axis);
    int64_t at = k * a->dilation - a->before, last = a->x - 1 - at;
    TapRange r = {at < 0 ? conv_parts(-at, a->stride) : 0, 0, 0};
    if (last >= 0) r.end = conv_least(a->y, last / a->stride + 1);
    r.x = (r.from * a->stride + at) * q->x_stride[axis];
    return r;
}

typedef void AddRow(char *x, int64_t step, const char *sum, int64_t n);
#define ADD_ROW(T)                                                                     \
    static void add_row_##T(char *x, int64_t step, const char *sum, int64_t n) {       \
        const T *from = (const T *)(const void *)sum;                                  \
        T *to = (T *)(void *)x;                                                        \
        for (int64_t i = 0; i < n; i++)                                                \
            to[i * step] += from[i];                                                   \
    }
ADD_ROW(float)
ADD_ROW(double)
ADD_ROW(uint32_t)

/* One tap of one channel. */
static void add_tap(const Columns *q, const TapRange range[CONV_AXES], char *x,
                    const char *sum) {
    static AddRow *const add_row[CONV_ELEMENTS] = {add_row_float, add_row_double,
                                                   add_row_uint32_t};
    int64_t n = range[2].end - range[2].from, step = q->step[2] / (int64_t)q->size;
    x += range[0].x + range[1].x + range[2].x;
    for (int64_t d = range[0].from; n > 0 && d < range[0].end; d++)
        for (int64_t j = range[1].from; j < range[1].end; j++) {
            char *to =
                x + (d - range[0].from) * q->step[0] + (j - range[1].from) * q->step[1];
            int64_t at = (d * q->y[1] + j) * q->y[2] + range[2].from;
            add_row[q->element](to, step, sum + (size_t)at * q->size, n);
        }
}

static void add_channel(const Columns *q, char *x, const char *sum) {
    TapRange range[CONV_AXES];
    for (int64_t d = 0; d < q->w[0]; d++) {
        range[0] = tap_range(q, 0, d);
        for (int64_t j = 0; j < q->w[1]; j++) {
            range[1] = tap_range(q, 1, j);
            for (int64_t i = 0; i < q->w[2]; i++) {
                range[2] = tap_range(q, 2, i);
                add_tap(q, range, x, sum);
                sum += (size_t)q->positions * q->size;
            }
        }
    }
}

static void add_chunk(void *ctx, size_t chunk, unsigned worker) {
    const Columns *q = ctx;
    const Tensor *x = q->v->part[CONV_X];
    int64_t k = (int64_t)chunk * q->each,
            end = conv_least(k + q->each, q->v->n * q->v->c);
    (void)worker;
    for (; k < end; k++)
        add_channel(q,
                    (char *)x->data + k / q->v->c * x->stride[0] +
                        k % q->v->c * x->stride[1],
                    q->column + (size_t)(k * q->taps * q->positions) * q->size);
}

/* ---- the product ---- */
/* As a convolution of a kernel of one element, with a channel of x for each column. */
static bool run_product(Call *c, const Conv *v, const Columns *q, void *column) {
    const Tensor *y = v->part[CONV_Y], *w = v->part[CONV_W];
    int64_t n = q->positions, size = (int64_t)q->size, all = v->c * q->taps;
    Tensor part[3] = {
        [CONV_X] = {.dtype = y->dtype,
                    .ndim = 3,
                    .shape = {v->n, all, n},
                    .stride = {all * n * size, n * size, size},
                    .data = column},
        [CONV_W] = {.dtype = y->dtype,
                    .ndim = 3,
                    .shape = {v->o, all / v->groups, 1},
                    .stride = {w->stride[0], size, size},
                    .data = w->data},
        [CONV_Y] = {.dtype = y->dtype,
                    .ndim = 3,
                    .shape = {v->n, v->o, n},
                    .stride = {y->stride[0], y->stride[1], y->stride[y->ndim - 1]},
                    .data = y->data}};
    Conv flat = {.result = CONV_X,
                 .ndim = 1,
                 .n = v->n,
                 .c = all,
                 .o = v->o,
                 .groups = v->groups,
                 .axis = {{n, 1, n, 1, 1, 0}},
                 .part = {&part[CONV_X], &part[CONV_W], &part[CONV_Y]}};
    return conv_run_lattice(c, &flat);
}

/* Sizes; false: they are not for this. */
static bool open_columns(const Conv *v, Columns *q, size_t *bytes) {
    const Tensor *w = v->part[CONV_W];
    int64_t all;
    q->positions = q->taps = 1;
    bool strides = false;
    if (v->result != CONV_X || v->after || v->o / v->groups < LEAST_SUMS) return false;
    for (int k = 0; k < v->ndim; k++) {
        strides = strides || v->axis[k].stride > 1;
        if (!i64_mul(q->positions, v->axis[k].y, &q->positions) ||
            !i64_mul(q->taps, v->axis[k].w, &q->taps))
            return false;
    }
    for (int k = 0; k < CONV_AXES; k++) {
        const ConvAxis *a = conv_axis_of(v, k);
        q->w[k] = a->w, q->y[k] = a->y;
        q->x_stride[k] = conv_stride_of(v->part[CONV_X], k);
        q->step[k] = q->x_stride[k] * a->stride;
    }
    q->size = dtype_size(w->dtype);
    q->element = conv_element(w->dtype);
    return strides && conv_product(v->n, v->c, q->taps, &all) &&
           conv_product(all, q->positions, (int64_t)q->size, &all) &&
           v->n * q->positions <= MOST_POSITIONS && all <= MOST_COLUMN_BYTES &&
           w->stride[w->ndim - 1] == (int64_t)q->size && conv_is_flat(w, 1) &&
           conv_is_flat(v->part[CONV_Y], 2) && ((*bytes = (size_t)all), true);
}

bool conv_run_columns(Call *c, const Conv *v, bool *ok) {
    Columns q = {.v = v};
    const Tensor *x = v->part[CONV_X];
    size_t bytes;
    if (!open_columns(v, &q, &bytes)) return false;
    void *column = call_scratch(c, bytes);
    *ok = column && run_product(c, v, &q, column);
    if (!*ok) return true;
    q.column = column;
    q.each = CHUNK_SUMS / (q.taps * q.positions) + 1;
    memset(x->data, 0, tensor_bytes(x));
    pool_run(c->host->pool, (size_t)conv_parts(v->n * v->c, q.each), add_chunk, &q);
    return true;
}
