/* Fourier transforms along one axis: of complex numbers, of real ones, and back to real
 * ones. fft and its relatives (names.c) expand to these. */
#include "ops/fft/fft.h"
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "vmap/kit.h"

#include <complex.h>
#include <math.h>
#include <string.h>

typedef enum DftKind { COMPLEX_DFT, REAL_DFT, BACK_TO_REAL } DftKind;

/* ---- typing ---- */
static DType complex_of(DType d) {
    return d == DT_FLOAT64 || d == DT_COMPLEX128 ? DT_COMPLEX128 : DT_COMPLEX64;
}

static bool check_scale(Infer *in) {
    const char *text = sym_text(in->s, infer_prop(in, "scale")->sym);
    return strcmp(text, "1") == 0 || strcmp(text, "1/n") == 0 ||
           strcmp(text, "1/sqrt(n)") == 0 ||
           infer_fail(in, E_ARG, in->nin,
                      "scale must be '1', '1/n' or '1/sqrt(n)', not '%s'", text);
}

static bool dft_axis(Infer *in, int *axis) {
    const Type *x = in->type[0];
    if (!check_scale(in) || !infer_want_rank(in, 0, 1, -1) ||
        !infer_axis(in, infer_prop(in, "axis")->i, x->ndim, axis))
        return false;
    return x->dim[*axis] != 0 ||
           infer_fail(in, E_SHAPE, 0,
                      "there is no transform of no numbers: dim %d is 0", *axis);
}

static bool dft_type(Infer *in) {
    int axis;
    const Type *x = in->type[0];
    return dft_axis(in, &axis) && infer_out_tensor(in, 0, x->dtype, x->ndim, x->dim);
}

static bool real_dft_type(Infer *in) {
    int axis;
    const Type *x = in->type[0];
    Dim dim[MAX_NDIM];
    if (!dft_axis(in, &axis)) return false;
    memcpy(dim, x->dim, (size_t)x->ndim * sizeof *dim);
    if (dim[axis] != 1)
        dim[axis] = dim_is_known(dim[axis]) ? dim[axis] / 2 + 1 : DIM_UNKNOWN;
    return infer_out_tensor(in, 0, complex_of(x->dtype), x->ndim, dim);
}

static bool back_to_real_type(Infer *in) {
    int axis;
    const Type *x = in->type[0];
    Dim dim[MAX_NDIM];
    if (!dft_axis(in, &axis)) return false;
    memcpy(dim, x->dim, (size_t)x->ndim * sizeof *dim);
    dim[axis] = infer_length(in, 1);
    if (dim[axis] == 0)
        return infer_fail(in, E_VALUE, 1, "there is no transform of no numbers");
    Dim m = x->dim[axis];
    if (dim_is_known(dim[axis]) && dim_is_known(m) && m != dim[axis] / 2 + 1)
        return infer_fail(in, E_SHAPE, 0,
                          "n = %lld needs n // 2 + 1 numbers, but dim %d has size %lld",
                          (long long)dim[axis], axis, (long long)m);
    return infer_out_tensor(in, 0, dtype_real(x->dtype), x->ndim, dim);
}

/* ---- lines ---- */
typedef struct DftJob {
    DftKind kind;
    const FftPlan *plan;
    const FftLoops *loops;
    DType part, whole; /* of the computation: float32 and complex64, ... */
    int64_t n;         /* of the transform */
    bool pairs, inverse;
    double scale;
    const Tensor *x;
    Tensor *out;
    int axis, ndim; /* without the axis: */
    int64_t shape[MAX_NDIM], x_step[MAX_NDIM], out_step[MAX_NDIM];
    int64_t lines, per_chunk;
    int64_t group; /* lines at once: neighbours, or short ones; 1: one by one */
    bool turns;    /* their numbers are side by side, not those of all of them */
    size_t line_bytes, tmp_bytes, room_bytes; /* of the lines; of all for a worker */
    char *room;
} DftJob;

typedef struct DftWorker {
    FftLine line;
    char *tmp, *room; /* lines of complex numbers; fft_run's */
} DftWorker;

static size_t round_bytes(size_t n) {
    return (n + 63) & ~(size_t)63;
}

static DftWorker worker_room(const DftJob *j, unsigned worker) {
    char *base = j->room + worker * j->room_bytes;
    DftWorker w = {.line = fft_line(base, j->part, j->n)};
    w.tmp = base + j->line_bytes;
    w.room = w.tmp + j->tmp_bytes;
    return w;
}

/* n elements of x as neighbours of dtype d: x itself, or a copy in tmp. */
static const void *side_by_side(const DftJob *j, DType d, const char *x, int64_t n,
                                char *tmp) {
    int64_t step = j->x->stride[j->axis];
    ptrdiff_t size = (ptrdiff_t)dtype_size(d);
    if (j->x->dtype == d && (step == size || n == 1)) return x;
    tensor_cast_elements(d, tmp, j->x->dtype, x, (size_t)n, size, (ptrdiff_t)step);
    return tmp;
}

/* Where a line of results can be written at once; else tmp. */
static void *result_place(const DftJob *j, DType d, char *out, char *tmp) {
    bool beside = j->out->stride[j->axis] == (int64_t)dtype_size(d) ||
                  j->out->shape[j->axis] == 1;
    return j->out->dtype == d && beside ? out : tmp;
}

static void move_result(const DftJob *j, DType d, const void *from, ptrdiff_t step,
                        char *out) {
    if (from == out) return;
    tensor_cast_elements(j->out->dtype, out, d, from, (size_t)j->out->shape[j->axis],
                         (ptrdiff_t)j->out->stride[j->axis], step);
}

static FftLine run_line(const DftJob *j, const DftWorker *w, FftLine x, int64_t lines) {
    return lines == 1 ? fft_run(j->plan, j->loops, x, w->room)
                      : fft_run_beside(j->plan, j->loops, lines, x, w->room);
}

static FftLine transform_lines(const DftJob *j, const DftWorker *w, FftLine x,
                               int64_t lines, bool inverse) {
    if (!inverse) return run_line(j, w, x, lines);
    return fft_swap_parts(run_line(j, w, fft_swap_parts(x), lines));
}

static void complex_line(const DftJob *j, const DftWorker *w, const char *x,
                         char *out) {
    j->loops->split(side_by_side(j, j->whole, x, j->n, w->tmp), j->n, &w->line);
    FftLine r = transform_lines(j, w, w->line, 1, j->inverse);
    void *to = result_place(j, j->whole, out, w->tmp);
    j->loops->join(&r, j->n, j->scale, to);
    move_result(j, j->whole, to, (ptrdiff_t)dtype_size(j->whole), out);
}

static FftLine line_from(const DftJob *j, FftLine x, int64_t at) {
    size_t bytes = (size_t)at * dtype_size(j->part);
    return (FftLine){(char *)x.re + bytes, (char *)x.im + bytes};
}

/* Neighbours: number k of all of them lies side by side. */
static void lines_beside(const DftJob *j, const DftWorker *w, const char *x, char *out,
                         int64_t lines) {
    FftLine all = fft_line(w->line.re, j->part, j->n * lines);
    const int64_t from = j->x->stride[j->axis], to = j->out->stride[j->axis];
    for (int64_t k = 0; k < j->n; k++, x += from) {
        FftLine part = line_from(j, all, k * lines);
        j->loops->split(x, lines, &part);
    }
    FftLine r = transform_lines(j, w, all, lines, j->inverse);
    for (int64_t k = 0; k < j->n; k++, out += to) {
        FftLine part = line_from(j, r, k * lines);
        j->loops->join(&part, lines, j->scale, out);
    }
}

/* Short ones, turned so that they are neighbours. */
static void lines_turned(const DftJob *j, const DftWorker *w, const char *x, char *out,
                         int64_t lines) {
    const size_t size = dtype_size(j->whole), n = (size_t)j->n, m = (size_t)lines;
    const ptrdiff_t row = (ptrdiff_t)(m * size);
    FftLine all = fft_line(w->line.re, j->part, j->n * lines);
    transpose_in_cache(
        &(Transposition){w->tmp, row, x, j->x_step[j->ndim - 1], n, m, size});
    j->loops->split(w->tmp, j->n * lines, &all);
    FftLine r = transform_lines(j, w, all, lines, j->inverse);
    j->loops->join(&r, j->n * lines, j->scale, w->tmp);
    transpose_in_cache(
        &(Transposition){out, j->out_step[j->ndim - 1], w->tmp, row, m, n, size});
}

/* Up to `most` lines, from number `at` on; returns how many. */
static int64_t complex_lines(const DftJob *j, const DftWorker *w, const char *x,
                             char *out, int64_t at, int64_t most) {
    int64_t lines = j->group < most ? j->group : most;
    if (j->group > 1) {
        int64_t wide = j->shape[j->ndim - 1], left = wide - at % wide;
        if (lines > left) lines = left;
    }
    if (lines == 1)
        complex_line(j, w, x, out);
    else if (j->turns)
        lines_turned(j, w, x, out, lines);
    else
        lines_beside(j, w, x, out, lines);
    return lines;
}

static void real_line(const DftJob *j, const DftWorker *w, const char *x, char *out) {
    void *to = result_place(j, j->whole, out, w->tmp);
    size_t size = dtype_size(j->part);
    if (j->pairs) {
        j->loops->split(side_by_side(j, j->part, x, j->n, w->tmp), j->n / 2, &w->line);
        FftLine z = transform_lines(j, w, w->line, 1, false);
        j->loops->from_pairs(&z, &j->plan->half, j->n, j->scale, to);
    } else {
        memcpy(w->line.re, side_by_side(j, j->part, x, j->n, w->tmp),
               (size_t)j->n * size);
        memset(w->line.im, 0, (size_t)j->n * size);
        FftLine z = transform_lines(j, w, w->line, 1, false);
        j->loops->join(&z, j->n / 2 + 1, j->scale, to);
        memset((char *)to + size, 0, size); /* as with pairs: exactly real */
    }
    move_result(j, j->whole, to, (ptrdiff_t)dtype_size(j->whole), out);
}

/* The other half of what is the transform of real numbers. */
static void mirror_line(const DftJob *j, const FftLine *z) {
    for (int64_t k = 1; 2 * k < j->n; k++)
        if (j->part == DT_FLOAT32) {
            ((float *)z->re)[j->n - k] = ((float *)z->re)[k];
            ((float *)z->im)[j->n - k] = -((float *)z->im)[k];
        } else {
            ((double *)z->re)[j->n - k] = ((double *)z->re)[k];
            ((double *)z->im)[j->n - k] = -((double *)z->im)[k];
        }
    memset(z->im, 0, dtype_size(j->part));
}

static void back_line(const DftJob *j, const DftWorker *w, const char *x, char *out) {
    const void *from = side_by_side(j, j->whole, x, j->n / 2 + 1, w->tmp);
    if (j->pairs) {
        void *to = result_place(j, j->part, out, w->tmp);
        j->loops->to_pairs(from, &j->plan->half, j->n, &w->line);
        FftLine r = transform_lines(j, w, w->line, 1, true);
        j->loops->join(&r, j->n / 2, j->scale, to);
        move_result(j, j->part, to, (ptrdiff_t)dtype_size(j->part), out);
        return;
    }
    j->loops->split(from, j->n / 2 + 1, &w->line);
    mirror_line(j, &w->line);
    FftLine r = transform_lines(j, w, w->line, 1, true);
    j->loops->join(&r, j->n, j->scale, w->tmp);
    move_result(j, j->part, w->tmp, (ptrdiff_t)dtype_size(j->whole), out);
}

static void dft_chunk(void *ctx, size_t chunk, unsigned worker) {
    const DftJob *j = ctx;
    DftWorker w = worker_room(j, worker);
    int64_t at = (int64_t)chunk * j->per_chunk, end = at + j->per_chunk, done = 1;
    if (end > j->lines) end = j->lines;
    for (; at < end; at += done) {
        const char *x =
            (const char *)j->x->data + move_offset(j->ndim, j->shape, j->x_step, at);
        char *out =
            (char *)j->out->data + move_offset(j->ndim, j->shape, j->out_step, at);
        if (j->kind == COMPLEX_DFT)
            done = complex_lines(j, &w, x, out, at, end - at);
        else if (j->kind == REAL_DFT)
            real_line(j, &w, x, out);
        else
            back_line(j, &w, x, out);
    }
}

/* ---- running ---- */
static double dft_scale(Call *c, int64_t n) {
    const char *text = sym_text(c->s, op_prop(c->s, c->op, c->props, "scale")->sym);
    return strcmp(text, "1") == 0     ? 1
           : strcmp(text, "1/n") == 0 ? 1 / (double)n
                                      : 1 / sqrt((double)n);
}

/* Finds n and allocates the results; n = 0: there are none. */
static bool open_dft(Call *c, DftKind kind, DftJob *j) {
    const Tensor *x = call_in(c, 0);
    int axis = shape_axis_index(prop_int(c->s, c->op, c->props, "axis"), x->ndim);
    int64_t shape[MAX_NDIM];
    memcpy(shape, x->shape, sizeof shape);
    *j = (DftJob){.kind = kind, .x = x, .axis = axis, .n = shape[axis]};
    if (kind == BACK_TO_REAL) j->n = tensor_i64(call_in(c, 1), 0);
    if (j->n < 1 || shape[axis] < 1)
        return call_fail(c, E_RUN_SHAPE, "there is no transform of no numbers");
    if (kind == BACK_TO_REAL && shape[axis] != j->n / 2 + 1)
        return call_fail(c, E_RUN_SHAPE,
                         "n = %lld needs n // 2 + 1 numbers, but dim %d has size %lld",
                         (long long)j->n, axis, (long long)shape[axis]);
    shape[axis] = kind == REAL_DFT ? j->n / 2 + 1 : j->n;
    if (!(j->out = call_out(c, 0, x->ndim, shape))) return false;
    j->whole = complex_of(x->dtype);
    j->part = dtype_real(j->whole);
    j->scale = dft_scale(c, j->n);
    j->lines = 1;
    for (int k = 0; k < x->ndim; k++) {
        if (k == axis) continue;
        j->shape[j->ndim] = x->shape[k];
        j->x_step[j->ndim] = x->stride[k];
        j->out_step[j->ndim++] = j->out->stride[k];
        j->lines *= x->shape[k];
    }
    return true;
}

enum {
    CHUNK = 1 << 14,         /* numbers that are worth a thread */
    GROUP = 32,              /* lines at once, */
    GROUP_BYTES = 256 << 10, /* and fewer where they take more than that */
    SHORT_BYTES = 256        /* of the longest lines that are turned for it */
};

/* Several lines at once are longer loops over neighbours, and no strided reads. */
static void choose_group(DftJob *j) {
    const int64_t size = (int64_t)dtype_size(j->whole), last = j->ndim - 1;
    j->group = 1;
    if (j->kind != COMPLEX_DFT || j->plan->longer || j->n == 1 || last < 0) return;
    bool beside = j->x_step[last] == size && j->out_step[last] == size;
    j->turns = !beside && j->n * size <= SHORT_BYTES && j->x->stride[j->axis] == size &&
               j->out->stride[j->axis] == size;
    if (!beside && !j->turns) return;
    j->group = GROUP;
    while (j->group > 4 && j->group * j->n * size > GROUP_BYTES)
        j->group /= 2;
    if (j->group > j->shape[last]) j->group = j->shape[last];
}

static bool run_dft(Call *c, DftKind kind) {
    DftJob j;
    if (!open_dft(c, kind, &j)) return false;
    if (j.lines == 0) return true;
    j.pairs = kind != COMPLEX_DFT && j.n % 2 == 0;
    j.inverse = kind == COMPLEX_DFT && prop_bool(c->s, c->op, c->props, "inverse");
    j.loops = fft_loops(c->s, j.part);
    j.plan = fft_plan(c->s, j.pairs ? j.n / 2 : j.n, j.part, j.pairs);
    if (!j.plan) return false;
    Pool *pool = move_pool(c);
    unsigned threads = pool && j.lines * j.n > 2 * CHUNK ? pool_threads(pool) : 1;
    choose_group(&j);
    j.line_bytes = fft_line_bytes(j.part, j.n * j.group);
    size_t room = j.group > 1 ? j.line_bytes : fft_room(j.plan);
    int64_t copied = j.turns ? j.n * j.group : j.n + 2;
    j.tmp_bytes = round_bytes((size_t)copied * dtype_size(j.whole));
    j.room_bytes = round_bytes(j.line_bytes + room + j.tmp_bytes);
    j.per_chunk = threads > 1 ? CHUNK / j.n + 1 : j.lines;
    if (!(j.room = call_scratch(c, threads * j.room_bytes))) return false;
    pool_run(threads > 1 ? pool : NULL,
             (size_t)((j.lines + j.per_chunk - 1) / j.per_chunk), dft_chunk, &j);
    return true;
}

static bool dft_perform(Call *c) {
    return run_dft(c, COMPLEX_DFT);
}

static bool real_dft_perform(Call *c) {
    return run_dft(c, REAL_DFT);
}

static bool back_to_real_perform(Call *c) {
    return run_dft(c, BACK_TO_REAL);
}

/* ---- reference: the smallest prime factor at a time, in long double ---- */
typedef long double _Complex Long;

static Long long_root(int64_t k, int64_t n) {
    long double z[2];
    fft_root(k % n, n, z);
    return __builtin_complex(z[0], z[1]);
}

/* y[0..n) = the transform of x[0], x[step], ...; room for n more. */
static void slow_dft(int64_t n, const Long *x, int64_t step, Long *y, Long *room) {
    int64_t p = 2;
    while (p < n && n % p)
        p++;
    if (n == 1) {
        y[0] = x[0];
        return;
    }
    int64_t m = n / p;
    for (int64_t j = 0; j < p; j++)
        slow_dft(m, x + j * step, step * p, room + j * m, y);
    for (int64_t k = 0; k < n; k++) {
        y[k] = 0;
        for (int64_t j = 0; j < p; j++)
            y[k] += room[j * m + k % m] * long_root(j * k, n);
    }
}

/* The line as what slow_dft transforms: reals have no imaginary parts, half a line gets
 * its other half. */
static void read_slowly(const DftJob *j, const char *x, Long *to) {
    int64_t have = j->x->shape[j->axis];
    for (int64_t k = 0; k < have; k++) {
        double z[2];
        tensor_cast_elements(DT_COMPLEX128, z, j->x->dtype,
                             x + k * j->x->stride[j->axis], 1, 0, 0);
        to[k] = __builtin_complex((long double)z[0], (long double)z[1]);
    }
    if (j->kind != BACK_TO_REAL) return;
    to[0] = __real__ to[0];
    if (j->n % 2 == 0) to[j->n / 2] = __real__ to[j->n / 2];
    for (int64_t k = 1; 2 * k < j->n; k++)
        to[j->n - k] = conjl(to[k]);
}

static void slow_line(const DftJob *j, const char *x, char *out, Long *line, Long *y,
                      Long *room) {
    bool inverse = j->kind == BACK_TO_REAL || j->inverse;
    read_slowly(j, x, line);
    for (int64_t k = 0; inverse && k < j->n; k++)
        line[k] = conjl(line[k]);
    slow_dft(j->n, line, 1, y, room);
    for (int64_t k = 0; k < j->out->shape[j->axis]; k++) {
        Long v = (inverse ? conjl(y[k]) : y[k]) * (long double)j->scale;
        double z[2] = {(double)__real__ v, (double)__imag__ v};
        tensor_cast_elements(j->out->dtype, out + k * j->out->stride[j->axis],
                             DT_COMPLEX128, z, 1, 0, 0);
    }
}

static bool dft_debug(Call *c) {
    DftJob j;
    DftKind kind = c->nin == 2                              ? BACK_TO_REAL
                   : dtype_is_complex(call_in(c, 0)->dtype) ? COMPLEX_DFT
                                                            : REAL_DFT;
    if (!open_dft(c, kind, &j)) return false;
    j.inverse = kind == COMPLEX_DFT && prop_bool(c->s, c->op, c->props, "inverse");
    Long *room = call_scratch(c, 3 * (size_t)j.n * sizeof *room);
    if (!room) return false;
    for (int64_t at = 0; at < j.lines; at++)
        slow_line(&j,
                  (const char *)j.x->data + move_offset(j.ndim, j.shape, j.x_step, at),
                  (char *)j.out->data + move_offset(j.ndim, j.shape, j.out_step, at),
                  room, room + j.n, room + 2 * j.n);
    return true;
}

/* ---- fit_axis: the first n along an axis, or zeros after all of them ---- */
static bool fit_axis_type(Infer *in) {
    const Type *x = in->type[0];
    int axis;
    Dim dim[MAX_NDIM];
    if (!infer_want_rank(in, 0, 1, -1) ||
        !infer_axis(in, infer_prop(in, "axis")->i, x->ndim, &axis))
        return false;
    memcpy(dim, x->dim, (size_t)x->ndim * sizeof *dim);
    dim[axis] = infer_length(in, 1);
    return infer_out_tensor(in, 0, x->dtype, x->ndim, dim);
}

static bool fit_axis_perform(Call *c) {
    const Tensor *x = call_in(c, 0);
    int axis = shape_axis_index(prop_int(c->s, c->op, c->props, "axis"), x->ndim);
    int64_t n = tensor_i64(call_in(c, 1), 0), shape[MAX_NDIM];
    if (n < 0)
        return call_fail(c, E_RUN_SHAPE, "n must be at least 0, not %lld",
                         (long long)n);
    memcpy(shape, x->shape, sizeof shape);
    shape[axis] = n;
    if (!call_size_fits(c, x->dtype, x->ndim, shape)) return false;
    Tensor *out = call_out(c, 0, x->ndim, shape);
    if (!out) return false;
    if (n > x->shape[axis]) memset(out->data, 0, (size_t)tensor_bytes(out));
    shape[axis] = n < x->shape[axis] ? n : x->shape[axis];
    if (move_count(x->ndim, shape))
        move_strided(move_pool(c), dtype_size(x->dtype), x->ndim, shape, out->data,
                     out->stride, x->data, x->stride);
    return true;
}

/* ---- derivatives: each is linear, and its transpose is the transform back. Half a
 * spectrum stands for both halves, but for its ends. ---- */
static const char *const dft_pullback =
    "g_x = dft(g, axis=axis, scale=scale) when inverse\n"
    "g_x = dft(g, axis=axis, inverse=True, scale=scale)";
#define ENDS                                                                           \
    "places = arange(n // 2 + 1)\n"                                                    \
    "at_end = (places == 0) | (2 * places == n)\n"
static const char *const real_dft_pullback =
    "n = shape(x)[axis]\n" ENDS "v = moveaxis(g, axis, -1)\n"
    "half = moveaxis(where(at_end, v, v / 2), -1, axis)\n"
    "g_x = real_from_dft(half, n, axis=axis, scale=scale)";
static const char *const back_to_real_pullback =
    ENDS "v = moveaxis(real_dft(g, axis=axis, scale=scale), axis, -1)\n"
         "g_x = moveaxis(where(at_end, v, 2 * v), -1, axis)";
static const char *const fit_axis_adjoint[] = {"fit_axis(g, shape(x)[axis], axis=axis)",
                                               "disconnected"};

static const Op table[] = {
    {.name = OP_ROW("dft"),
     .internal = true,
     .doc = "Discrete Fourier transform of complex numbers along an axis: r[k] = scale "
            "* the sum of x[j] exp(-2 pi i j k / n), or with inverse of x[j] exp(2 pi "
            "i j k / n). fft and its relatives expand to it.",
     .in = "x",
     .props = "axis: axis = -1, inverse: bool = False, scale: str = '1'",
     .kinds = KIND_COMPLEX,
     .type = dft_type,
     .perform = dft_perform,
     .debug = dft_debug,
     .flops = "5 * x.size * log2(x.shape[axis])",
     .pullback = dft_pullback,
     .push = push_linear_first,
     .vmap = vmap_axes,
     .example = "dft([1j, 2, 3j, 4]) -> [6 + 4j, 0j, -6 + 4j, -4j]"},
    {.name = OP_ROW("real_dft"),
     .internal = true,
     .doc = "The first n // 2 + 1 numbers of the transform of n real ones along an "
            "axis; rfft expands to it.",
     .in = "x",
     .props = "axis: axis = -1, scale: str = '1'",
     .kinds = KIND_FLOAT,
     .type = real_dft_type,
     .perform = real_dft_perform,
     .debug = dft_debug,
     .flops = "2.5 * x.size * log2(x.shape[axis])",
     .pullback = real_dft_pullback,
     .push = push_linear_first,
     .vmap = vmap_axes,
     .example = "real_dft([1., 2., 3., 4.]) -> [10 + 0j, -2 + 2j, -2 + 0j]"},
    {.name = OP_ROW("real_from_dft"),
     .internal = true,
     .doc = "The n real numbers whose transform back to front has x as its first n // "
            "2 + 1; irfft expands to it.",
     .in = "x, n: int",
     .props = "axis: axis = -1, scale: str = '1/n'",
     .kinds = KIND_COMPLEX,
     .type = back_to_real_type,
     .perform = back_to_real_perform,
     .debug = dft_debug,
     .flops = "2.5 * r.size * log2(r.shape[axis])",
     .pullback = back_to_real_pullback,
     .push = push_linear_first,
     .disconnected = "n",
     .vmap = vmap_axes,
     .example =
         "real_from_dft([10 + 0j, -2 + 2j, -2 + 0j], 4) -> [1.0, 2.0, 3.0, 4.0]"},
    {.name = OP_ROW("fit_axis"),
     .internal = true,
     .doc = "The first n elements along an axis, with zeros after them if there are "
            "fewer.",
     .in = "x, n: int",
     .props = "axis: axis = -1",
     .type = fit_axis_type,
     .perform = fit_axis_perform,
     .flops = "0",
     .adjoint = fit_axis_adjoint,
     .push = push_linear_first,
     .disconnected = "n",
     .vmap = vmap_axes,
     .example = "fit_axis([1, 2, 3], 2) -> [1, 2]\nfit_axis([1, 2], 3) -> [1, 2, 0]"},
};
const OpList ops_fft_dft = LIST_OF(table);
