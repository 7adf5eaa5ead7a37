/* Convolutions and their gradients where every channel has one filter of its own, for
 * float32 and AVX2 or AVX-512: right from the source, without strips. */
#include "ops/nn/conv_run.h"
#include "ops/nn/conv_strip.h"

#include <math.h>
#include <string.h>

enum { CHUNK_MADDS = 1 << 16 }; /* at least, if there is as much: some microseconds */

typedef struct Each {
    ConvEach form; /* all but the channel's own */
    ConvEachFn *run;
    ConvEachSumFn *sum;
    const char *x, *w;
    char *out, *result;
    int64_t n, channels, depth, chunk;
    int64_t x_stride[2], w_stride[1 + CONV_AXES], out_stride[2]; /* bytes */
} Each;

/* Results i take source elements i * step + at[t], elements i of x those of (i + at[t])
 * / up. */
static bool open_axis(const ConvAxis *a, bool forward, int64_t *step, int64_t *up,
                      int64_t *taps, int64_t at[CONV_EACH_TAPS]) {
    *step = forward ? a->stride : 1;
    *up = forward ? 1 : a->stride;
    *taps = a->w;
    if (a->w > CONV_EACH_TAPS || a->stride > 2) return false;
    for (int64_t k = 0; k < a->w; k++)
        at[k] = forward ? k * a->dilation - a->before
                        : a->before - (a->w - 1 - k) * a->dilation;
    return true;
}

/* The weights of some channels by tap, in the order of the places that they take. */
static void gather_weights(const Each *q, int64_t channel, int64_t n, bool forward,
                           float *to) {
    const ConvEach *e = &q->form;
    for (int64_t k = channel; k < channel + n; k++)
        for (int64_t j = 0; j < e->row_taps; j++)
            for (int64_t i = 0; i < e->column_taps; i++, to++) {
                int64_t r = forward ? j : e->row_taps - 1 - j,
                        c = forward ? i : e->column_taps - 1 - i;
                memcpy(to,
                       q->w + k * q->w_stride[0] + r * q->w_stride[2] +
                           c * q->w_stride[3],
                       sizeof *to);
            }
}

static bool is_dense(const Each *q) {
    return q->w_stride[3] == 4 && q->w_stride[2] == 4 * q->form.column_taps &&
           q->w_stride[0] == 4 * q->form.column_taps * q->form.row_taps;
}

typedef struct EachJob {
    const Each *q;
    bool forward;
} EachJob;

/* Neighbouring channels of one image. */
static void run_channels(const EachJob *job, int64_t n, int64_t c, int64_t channels) {
    const Each *q = job->q;
    ConvEach e = q->form;
    float own[CONV_EACH_TAPS * CONV_EACH_TAPS];
    bool dense = job->forward && is_dense(q);
    int64_t taps = e.row_taps * e.column_taps,
            each = dense ? channels : (int64_t)(sizeof own / sizeof *own) / taps;
    for (int64_t end = c + channels; c < end; c += each) {
        e.channels = conv_least(each, end - c);
        e.channel = c;
        e.x = (const float *)(const void *)(q->x + n * q->x_stride[0] +
                                            c * q->x_stride[1]);
        e.out = (float *)(void *)(q->out + n * q->out_stride[0] + c * q->out_stride[1]);
        e.w = own;
        if (dense)
            e.w = (const float *)(const void *)(q->w + c * q->w_stride[0]);
        else
            gather_weights(q, c, e.channels, job->forward, own);
        q->run(&e);
    }
}

static void run_chunk(void *ctx, size_t chunk, unsigned worker) {
    const EachJob *job = ctx;
    const Each *q = job->q;
    int64_t k = (int64_t)chunk * q->chunk,
            end = conv_least(k + q->chunk, q->n * q->channels);
    (void)worker;
    for (int64_t n; k < end; k += n) {
        n = conv_least(end - k, q->channels - k % q->channels);
        run_channels(job, k / q->channels, k % q->channels, n);
    }
}

/* The gradient of neighbouring channels' weights, over all images. */
static void sum_chunk(void *ctx, size_t chunk, unsigned worker) {
    const Each *q = ctx;
    ConvEach e = q->form;
    int64_t c = (int64_t)chunk * q->chunk, taps = e.row_taps * e.column_taps;
    float *sums = (float *)(void *)q->result + c * taps;
    (void)worker;
    e.channels = conv_least(q->chunk, q->channels - c);
    memset(sums, 0, (size_t)(e.channels * taps) * sizeof *sums);
    for (int64_t n = 0; n < q->n; n++) {
        const char *dy = q->out + n * q->out_stride[0] + c * q->out_stride[1];
        e.x = (const float *)(const void *)(q->x + n * q->x_stride[0] +
                                            c * q->x_stride[1]);
        q->sum(&e, (const float *)(const void *)dy, sums);
    }
}

static bool is_each(const Conv *v, const Tensor *x, const Tensor *out) {
    return x->dtype == DT_FLOAT32 && v->ndim <= 2 && v->groups == v->c &&
           v->c == v->o && conv_stride_of(x, 2) == 4 && conv_stride_of(out, 2) == 4;
}

/* False: there are no loops for this CPU. */
static bool find_loops(Session *s, Each *q) {
#if defined(__x86_64__)
    int level = session_cpu_level(s);
    q->run = level == 2 ? conv_each2 : conv_each1;
    q->sum = level == 2 ? conv_each_sums2 : conv_each_sums1;
    return level > 0;
#else
    (void)s, (void)q;
    return false;
#endif
}

/* x, w and what lies as the result does: dy for the gradient of weights. */
static void open_each(const Conv *v, const Tensor *x, const Tensor *w,
                      const Tensor *out, bool forward, Each *q) {
    ConvEach *e = &q->form;
    const ConvAxis *rows = conv_axis_of(v, 1), *columns = conv_axis_of(v, 2);
    q->x = x->data, q->w = w->data, q->out = out->data;
    q->n = v->n, q->channels = v->c;
    e->rows = forward ? rows->y : rows->x, e->x_rows = forward ? rows->x : rows->y;
    e->columns = forward ? columns->y : columns->x;
    e->x_columns = forward ? columns->x : columns->y;
    e->x_row = conv_stride_of(x, 1) / 4, e->out_row = conv_stride_of(out, 1) / 4;
    for (int k = 0; k < 2; k++)
        q->x_stride[k] = x->stride[k], q->out_stride[k] = out->stride[k];
    e->x_channel = x->stride[1] / 4, e->out_channel = out->stride[1] / 4;
    q->w_stride[0] = w->stride[0];
    for (int k = 0; k < CONV_AXES; k++)
        q->w_stride[1 + k] = conv_stride_of(w, k);
    double madds =
        (double)e->rows * (double)e->columns * (double)(e->row_taps * e->column_taps);
    if (v->result == CONV_W) madds *= (double)v->n;
    q->chunk = madds < CHUNK_MADDS ? (int64_t)(CHUNK_MADDS / (madds + 1)) + 1 : 1;
}

bool conv_run_each(Call *c, const Conv *v) {
    static const float none = -0.0F;
    ConvAfter nothing = {&none, 0, NULL, NULL, -INFINITY, INFINITY};
    bool forward = v->result != CONV_X;
    const Tensor *x = v->part[forward ? CONV_X : CONV_Y],
                 *out = v->part[forward ? CONV_Y : CONV_X];
    const ConvAxis *rows = conv_axis_of(v, 1), *columns = conv_axis_of(v, 2);
    Each q = {.form = {.after = v->after ? v->after : &nothing},
              .result = v->part[v->result]->data};
    ConvEach *e = &q.form;
    if (!is_each(v, x, out) || !find_loops(c->s, &q) ||
        !open_axis(rows, forward, &e->row_step, &e->row_up, &e->row_taps, e->row) ||
        !open_axis(columns, forward, &e->column_step, &e->column_up, &e->column_taps,
                   e->column))
        return false;
    open_each(v, x, v->part[CONV_W], out, forward, &q);
    if (v->result == CONV_W)
        pool_run(c->host->pool, (size_t)conv_parts(q.channels, q.chunk), sum_chunk, &q);
    else
        pool_run(c->host->pool, (size_t)conv_parts(q.n * q.channels, q.chunk),
                 run_chunk, &(EachJob){&q, forward});
    return true;
}
