/* conv and conv_input_grad where every channel has one filter of its own, for float32
 * and AVX-512: right from the source, without strips. */
#include "ops/nn/conv_run.h"
#include "ops/nn/conv_strip.h"

#include <string.h>

enum { CHUNK_MADDS = 1 << 19 }; /* at least, if there is as much */

typedef struct Each {
    ConvEach form; /* all but the channel's own */
    const char *x, *w;
    char *out;
    int64_t n, channels, depth, chunk;
    int64_t x_stride[2], w_stride[1 + CONV_AXES], out_stride[2]; /* bytes */
} Each;

/* Results i, or elements i of x, take source elements i * step + at[t]. */
static bool open_axis(const ConvAxis *a, bool forward, int64_t *step, int64_t *taps,
                      int64_t at[CONV_EACH_TAPS]) {
    *step = forward ? a->stride : 1;
    *taps = a->w;
    if (a->w > CONV_EACH_TAPS || a->stride > (forward ? 2 : 1)) return false;
    for (int64_t k = 0; k < a->w; k++)
        at[k] = forward ? k * a->dilation - a->before
                        : a->before - (a->w - 1 - k) * a->dilation;
    return true;
}

/* The weights by tap, in the order of the places that they take. */
static void gather_weights(const Each *q, int64_t channel, bool forward, ConvEach *e) {
    const char *w = q->w + channel * q->w_stride[0];
    for (int64_t j = 0; j < e->row_taps; j++)
        for (int64_t i = 0; i < e->column_taps; i++) {
            int64_t r = forward ? j : e->row_taps - 1 - j,
                    c = forward ? i : e->column_taps - 1 - i;
            memcpy(&e->w[j * e->column_taps + i],
                   w + r * q->w_stride[2] + c * q->w_stride[3], sizeof e->w[0]);
        }
}

typedef struct EachJob {
    const Each *q;
    bool forward;
} EachJob;

static void run_chunk(void *ctx, size_t chunk, unsigned worker) {
    const EachJob *job = ctx;
    const Each *q = job->q;
    ConvEach e = q->form;
    int64_t from = (int64_t)chunk * q->chunk;
    (void)worker;
    for (int64_t k = from; k < conv_least(from + q->chunk, q->n * q->channels); k++) {
        int64_t n = k / q->channels, c = k % q->channels;
        gather_weights(q, c, job->forward, &e);
        e.x = (const float *)(const void *)(q->x + n * q->x_stride[0] +
                                            c * q->x_stride[1]);
        e.out = (float *)(void *)(q->out + n * q->out_stride[0] + c * q->out_stride[1]);
        conv_each2(&e);
    }
}

static bool is_each(Call *c, const Conv *v, const Tensor *x, const Tensor *out) {
#if defined(__x86_64__)
    return x->dtype == DT_FLOAT32 && session_cpu_level(c->s) == 2 && v->ndim <= 2 &&
           v->groups == v->c && v->c == v->o && conv_stride_of(x, 2) == 4 &&
           conv_stride_of(out, 2) == 4;
#else
    (void)c, (void)v, (void)x, (void)out;
    return false;
#endif
}

bool conv_run_each(Call *c, const Conv *v) {
    bool forward = v->result == CONV_Y;
    const Tensor *x = v->part[forward ? CONV_X : CONV_Y], *w = v->part[CONV_W],
                 *out = v->part[v->result];
    const ConvAxis *rows = conv_axis_of(v, 1), *columns = conv_axis_of(v, 2);
    Each q = {
        .x = x->data, .w = w->data, .out = out->data, .n = v->n, .channels = v->c};
    ConvEach *e = &q.form;
    if (v->result == CONV_W || !is_each(c, v, x, out) ||
        !open_axis(rows, forward, &e->row_step, &e->row_taps, e->row) ||
        !open_axis(columns, forward, &e->column_step, &e->column_taps, e->column))
        return false;
    e->rows = forward ? rows->y : rows->x, e->x_rows = forward ? rows->x : rows->y;
    e->columns = forward ? columns->y : columns->x;
    e->x_columns = forward ? columns->x : columns->y;
    e->x_row = conv_stride_of(x, 1) / 4, e->out_row = conv_stride_of(out, 1) / 4;
    for (int k = 0; k < 2; k++)
        q.x_stride[k] = x->stride[k], q.out_stride[k] = out->stride[k];
    q.w_stride[0] = w->stride[0];
    for (int k = 0; k < CONV_AXES; k++)
        q.w_stride[1 + k] = conv_stride_of(w, k);
    double madds =
        (double)e->rows * (double)e->columns * (double)(e->row_taps * e->column_taps);
    q.chunk = madds < CHUNK_MADDS ? (int64_t)(CHUNK_MADDS / (madds + 1)) + 1 : 1;
    pool_run(c->host->pool, (size_t)conv_parts(q.n * q.channels, q.chunk), run_chunk,
             &(EachJob){&q, forward});
    return true;
}
