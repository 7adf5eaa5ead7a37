/* Sums of pixels at computed positions, what grid_sample and roi_align consist of. Each
 * of three ops is linear in two of the tensors and gives the third:
 *
 *   mix_pixels           r[m, c, p] = sum over k of weight[m, k, p] x[rows[m], c, at[m,
 * k, p]] mix_pixels_back      the x that takes its weighted v[m, c, p] there
 *   mix_pixels_weights   weight[m, k, p] = sum over c of v[m, c, p] x[rows[m], c, at[m,
 * k, p]]
 *
 * At position -1 there is nothing. float16 is computed in float32. */
#include "ops/nn/mix.h"

#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "vmap/kit.h"

#include <string.h>

typedef enum MixPart { MIX_X, MIX_WEIGHT, MIX_V, MIX_PARTS } MixPart;
typedef struct MixForm {
    const char *name;
    int input[MIX_PARTS]; /* by part; -1: it is the result */
    MixPart result;
} MixForm;
static const MixForm forms[] = {
    {"mix_pixels", {0, 3, -1}, MIX_V},
    {"mix_pixels_back", {-1, 3, 0}, MIX_X},
    {"mix_pixels_weights", {0, -1, 3}, MIX_WEIGHT},
};
enum { ROWS = 1, AT = 2, SIZES = 4 }; /* inputs of all forms; of mix_pixels_back */

static const MixForm *form_of(const Op *op) {
    size_t i = 0;
    while (strcmp(forms[i].name, op->name) != 0)
        i++;
    return &forms[i];
}

/* ---- typing ---- */

static bool meet_dims(Infer *in, size_t arg, int axis, Dim *d) {
    Dim own = infer_in_dim(in, arg, axis);
    if (!dim_may_equal(*d, own))
        return infer_fail(in, E_SHAPE, arg, "axis %d has %lld elements, not %lld", axis,
                          (long long)own, (long long)*d);
    *d = dim_meet(*d, own);
    return true;
}

static bool mix_type(Infer *in) {
    const MixForm *f = form_of(in->op);
    Dim n = DIM_UNKNOWN, c = n, s = n, m = n, k = n, p = n;
    DType d = in->type[f->input[f->result == MIX_X ? MIX_V : MIX_X]]->dtype;
    if (!infer_want_rank(in, ROWS, 1, 1) || !infer_want_rank(in, AT, 3, 3) ||
        !infer_want_kinds(in, ROWS, KIND_INT) || !infer_want_kinds(in, AT, KIND_INT) ||
        !meet_dims(in, ROWS, 0, &m) || !meet_dims(in, AT, 0, &m) ||
        !meet_dims(in, AT, 1, &k) || !meet_dims(in, AT, 2, &p))
        return false;
    for (int part = 0; part < MIX_PARTS; part++) {
        if (f->input[part] < 0) continue;
        size_t arg = (size_t)f->input[part];
        Dim *dims[MIX_PARTS][3] = {{&n, &c, &s}, {&m, &k, &p}, {&m, &c, &p}};
        if (!infer_want_rank(in, arg, 3, 3) || !infer_want_kinds(in, arg, KIND_FLOAT))
            return false;
        if (in->type[arg]->dtype != d)
            return infer_fail(in, E_DTYPE, arg, "expected %s, not %s", dtype_name(d),
                              dtype_name(in->type[arg]->dtype));
        for (int j = 0; j < 3; j++)
            if (!meet_dims(in, arg, j, dims[part][j])) return false;
    }
    if (f->result == MIX_X) {
        Dim size[MAX_NDIM];
        int count;
        if (!infer_want_shape(in, SIZES, &count, size, NULL)) return false;
        if (count != 3)
            return infer_fail(in, E_SHAPE, SIZES, "expected 3 sizes, got %d", count);
        if (!dim_may_equal(c, size[1]))
            return infer_fail(in, E_SHAPE, SIZES, "expected %lld channels",
                              (long long)c);
        n = size[0];
        c = dim_meet(c, size[1]);
        s = size[2];
    }
    Dim out[MIX_PARTS][3] = {{n, c, s}, {m, k, p}, {m, c, p}};
    return infer_out_tensor(in, 0, d, 3, out[f->result]);
}

/* ---- running ---- */

typedef struct MixJob {
    const MixLoops *loops;
    bool wide; /* float64 */
    size_t item;
    int64_t n, c, s, m, k, p;
    char *part[MIX_PARTS]; /* contiguous, in the dtype of the loops */
    const int64_t *rows;
    const int32_t *at;
    int64_t chunk;
} MixJob;

static const MixLoops *mix_loops(Session *s) {
    return FOR_CPU_LEVEL(s, mix_loops);
}

static bool check_shapes(Call *c, const MixForm *f, MixJob *j) {
    const Tensor *rows = call_in(c, ROWS), *at = call_in(c, AT);
    int64_t x[MAX_NDIM] = {0};
    int count;
    if (f->result == MIX_X && !call_shape(c, SIZES, &count, x)) return false;
    if (f->result != MIX_X) memcpy(x, call_in(c, 0)->shape, 3 * sizeof *x);
    j->n = x[0], j->c = x[1], j->s = x[2];
    j->m = at->shape[0], j->k = at->shape[1], j->p = at->shape[2];
    int64_t want[MIX_PARTS][3] = {
        {j->n, j->c, j->s}, {j->m, j->k, j->p}, {j->m, j->c, j->p}};
    bool fits = rows->shape[0] == j->m;
    for (int part = 0; part < MIX_PARTS; part++)
        for (int k = 0; f->input[part] >= 0 && k < 3; k++)
            fits &= call_in(c, (size_t)f->input[part])->shape[k] == want[part][k];
    if (!fits) return call_fail(c, E_RUN_SHAPE, "the shapes do not fit together");
    return j->s <= INT32_MAX ||
           call_fail(c, E_LIMIT, "a plane has more than 2^31 - 1 pixels");
}

/* Positions as int64, contiguous, all valid; false: diagnosed. */
static bool read_positions(Call *c, size_t arg, int64_t least, int64_t limit,
                           int64_t *to) {
    const Tensor *t = call_in(c, arg);
    Tensor own = {.dtype = DT_INT64, .ndim = t->ndim, .data = to};
    memcpy(own.shape, t->shape, sizeof own.shape);
    move_strides(sizeof *to, t->ndim, t->shape, own.stride);
    tensor_assign(&own, t);
    for (int64_t i = 0; i < tensor_size(t); i++)
        if (to[i] < least || to[i] >= limit)
            return call_fail(c, E_INDEX, "position %lld is out of range for %lld",
                             (long long)to[i], (long long)limit);
    return true;
}

/* Part `which` for the loops: in its own memory if that will do. */
static char *open_part(const Tensor *t, DType work, char *mem) {
    if (t->dtype == work && tensor_is_contiguous(t)) return t->data;
    Tensor own = {.dtype = work, .ndim = t->ndim, .data = mem};
    memcpy(own.shape, t->shape, sizeof own.shape);
    move_strides(dtype_size(work), t->ndim, t->shape, own.stride);
    tensor_assign(&own, t);
    return mem;
}

static char *row_of(const MixJob *j, MixPart part, int64_t a, int64_t b) {
    int64_t wide = part == MIX_X ? j->s : j->p, rows = part == MIX_WEIGHT ? j->k : j->c;
    return j->part[part] + (size_t)((a * rows + b) * wide) * j->item;
}

/* Blocks of the points of each m. */
enum { POINTS = 1024 };
static int64_t point_blocks(const MixJob *j) {
    return (j->p + POINTS - 1) / POINTS;
}

/* Chunks of planes (m, c), of channels, or of blocks of points. */
static void mix_chunk(void *ctx, size_t chunk, unsigned worker) {
    const MixJob *j = ctx;
    (void)worker;
    int64_t i = (int64_t)chunk * j->chunk, end = i + j->chunk;
    for (; i < end && i < j->m * j->c; i++)
        j->loops->gather[j->wide](
            row_of(j, MIX_V, i / j->c, i % j->c), row_of(j, MIX_WEIGHT, i / j->c, 0),
            row_of(j, MIX_X, j->rows[i / j->c], i % j->c),
            j->at + i / j->c * j->k * j->p, (size_t)j->p, (size_t)j->k);
}

static void back_chunk(void *ctx, size_t chunk, unsigned worker) {
    const MixJob *j = ctx;
    (void)worker;
    int64_t c = (int64_t)chunk * j->chunk, end = c + j->chunk;
    for (; c < end && c < j->c; c++)
        for (int64_t i = 0, m = 0; i < j->m * j->k; i++, m = i / j->k)
            j->loops->scatter[j->wide](
                row_of(j, MIX_X, j->rows[m], c), row_of(j, MIX_WEIGHT, m, i % j->k),
                row_of(j, MIX_V, m, c), j->at + i * j->p, (size_t)j->p);
}

static void weights_chunk(void *ctx, size_t chunk, unsigned worker) {
    const MixJob *j = ctx;
    (void)worker;
    int64_t i = (int64_t)chunk * j->chunk, end = i + j->chunk;
    for (; i < end && i < j->m * point_blocks(j); i++) {
        int64_t m = i / point_blocks(j), from = i % point_blocks(j) * POINTS;
        int64_t n = j->p - from < POINTS ? j->p - from : POINTS;
        size_t skip = (size_t)from * j->item;
        for (int64_t c = 0; c < j->c; c++) /* a plane of x stays in the cache */
            for (int64_t k = 0; k < j->k; k++)
                j->loops->gather[j->wide](
                    row_of(j, MIX_WEIGHT, m, k) + skip, row_of(j, MIX_V, m, c) + skip,
                    row_of(j, MIX_X, j->rows[m], c),
                    j->at + (m * j->k + k) * j->p + from, (size_t)n, 1);
    }
}

/* Scratch for all parts in the loops' dtype, and the positions. */
static bool open_job(Call *c, const MixForm *f, MixJob *j, DType work,
                     const Tensor *out) {
    size_t bytes = 0, at[MIX_PARTS] = {0};
    size_append(&bytes, (size_t)tensor_size(out), j->item);
    for (int part = 0; part < MIX_PARTS; part++)
        if (f->input[part] >= 0)
            at[part] = size_append(
                &bytes, (size_t)tensor_size(call_in(c, (size_t)f->input[part])),
                j->item);
    size_t places = (size_t)tensor_size(call_in(c, AT));
    size_t at_rows = size_append(&bytes, (size_t)j->m, sizeof(int64_t));
    size_t at_wide = size_append(&bytes, places, sizeof(int64_t));
    size_t at_narrow = size_append(&bytes, places, sizeof(int32_t));
    char *mem = call_scratch(c, bytes);
    if (!mem) return false;
    for (int part = 0; part < MIX_PARTS; part++)
        if (f->input[part] >= 0)
            j->part[part] =
                open_part(call_in(c, (size_t)f->input[part]), work, mem + at[part]);
    j->part[f->result] = out->dtype == work ? out->data : mem;
    memset(j->part[f->result], 0, (size_t)tensor_size(out) * j->item);
    int64_t *row = (int64_t *)(void *)(mem + at_rows);
    int64_t *wide = (int64_t *)(void *)(mem + at_wide);
    int32_t *narrow = (int32_t *)(void *)(mem + at_narrow);
    j->rows = row;
    j->at = narrow;
    if (!read_positions(c, ROWS, 0, j->n, row) ||
        !read_positions(c, AT, -1, j->s, wide))
        return false;
    for (int64_t i = 0; i < j->m * j->k * j->p; i++)
        narrow[i] = (int32_t)wide[i];
    return true;
}

static bool mix_perform(Call *c) {
    enum { CHUNK = 1 << 15 };
    const MixForm *f = form_of(c->op);
    MixJob j = {.loops = mix_loops(c->s)};
    if (!check_shapes(c, f, &j)) return false;
    int64_t shape[MIX_PARTS][3] = {{j.n, j.c, j.s}, {j.m, j.k, j.p}, {j.m, j.c, j.p}};
    DType d = c->out_type[0]->dtype, work = d == DT_FLOAT16 ? DT_FLOAT32 : d;
    if (!call_size_fits(c, work, 3, shape[f->result])) return false;
    Tensor *out = call_out(c, 0, 3, shape[f->result]);
    if (!out) return false;
    j.wide = work == DT_FLOAT64;
    j.item = dtype_size(work);
    if (!open_job(c, f, &j, work, out)) return false;
    int64_t tasks = f->result == MIX_V   ? j.m * j.c
                    : f->result == MIX_X ? j.c
                                         : j.m * point_blocks(&j);
    int64_t all = j.m * j.k * j.p * j.c;
    if (all == 0 || j.s == 0) tasks = 0;
    j.chunk = tasks && all / tasks < CHUNK ? CHUNK / (all / tasks + 1) + 1 : 1;
    static ChunkFn *const fn[] = {back_chunk, weights_chunk, mix_chunk};
    if (tasks)
        pool_run(move_pool(c), (size_t)((tasks + j.chunk - 1) / j.chunk), fn[f->result],
                 &j);
    if (d != work)
        tensor_cast_elements(d, out->data, work, j.part[f->result],
                             (size_t)tensor_size(out), (ptrdiff_t)dtype_size(d),
                             (ptrdiff_t)j.item);
    return true;
}

/* Element by element, in doubles. */
static bool mix_reference(Call *c) {
    const MixForm *f = form_of(c->op);
    MixJob j = {0};
    if (!check_shapes(c, f, &j)) return false;
    int64_t shape[MIX_PARTS][3] = {{j.n, j.c, j.s}, {j.m, j.k, j.p}, {j.m, j.c, j.p}};
    Tensor *out = call_out(c, 0, 3, shape[f->result]);
    if (!out) return false;
    double *sum = mem_zalloc(c->s, (size_t)tensor_size(out) + 1, sizeof *sum);
    const Tensor *part[MIX_PARTS] = {NULL};
    for (int i = 0; i < MIX_PARTS; i++)
        if (f->input[i] >= 0) part[i] = call_in(c, (size_t)f->input[i]);
    for (int64_t i = 0; i < j.m * j.k * j.p * j.c; i++) {
        int64_t ch = i % j.c, at = i / j.c, p = at % j.p, m = at / j.p / j.k;
        int64_t pixel = tensor_i64(call_in(c, AT), at);
        int64_t x = (tensor_i64(call_in(c, ROWS), m) * j.c + ch) * j.s + pixel;
        int64_t v = (m * j.c + ch) * j.p + p;
        if (pixel < 0) continue;
        if (f->result == MIX_X)
            sum[x] += tensor_f64(part[MIX_WEIGHT], at) * tensor_f64(part[MIX_V], v);
        else if (f->result == MIX_WEIGHT)
            sum[at] += tensor_f64(part[MIX_X], x) * tensor_f64(part[MIX_V], v);
        else
            sum[v] += tensor_f64(part[MIX_X], x) * tensor_f64(part[MIX_WEIGHT], at);
    }
    tensor_cast_elements(out->dtype, out->data, DT_FLOAT64, sum,
                         (size_t)tensor_size(out), (ptrdiff_t)dtype_size(out->dtype),
                         sizeof *sum);
    mem_free(sum);
    return true;
}

#define X_OF(v, weight) "mix_pixels_back(" v ", rows, at, " weight ", "

static const Op table[] = {
    {.name = OP_ROW("mix_pixels"),
     .internal = true,
     .doc = "r[m, c, p], the sum over k of weight[m, k, p] times x[rows[m], c, at[m, "
            "k, p]], "
            "where at is not -1; grid_sample and roi_align consist of it.",
     .in = "x, rows, at, weight",
     .type = mix_type,
     RARE(.shape = "[rows.shape[0], x.shape[1], at.shape[2]]"),
     .perform = mix_perform,
     .debug = mix_reference,
     .flops = "2 * x.shape[1] * at.size",
     .pullback =
         "g_x = " X_OF("g", "weight") "shape(x))\n"
                                      "g_weight = mix_pixels_weights(x, rows, at, g)",
     .pushforward = "t_r = mix_pixels(t_x, rows, at, weight) + "
                    "mix_pixels(x, rows, at, t_weight)",
     .disconnected = "rows, at",
     .example =
         "mix_pixels([[[1., 2., 4.]]], [0], [[[0, 1], [2, -1]]], [[[1., 1.], [0.5, "
         "1.]]]) -> [[[3.0, 2.0]]]"},
    {.name = OP_ROW("mix_pixels_back"),
     .internal = true,
     .doc = "The transpose of mix_pixels in x, which has these sizes.",
     .in = "v, rows, at, weight, sizes: ints",
     .type = mix_type,
     RARE(.shape = "sizes"),
     .perform = mix_perform,
     .debug = mix_reference,
     .flops = "2 * v.shape[1] * at.size",
     .pullback = "g_v = mix_pixels(g, rows, at, weight)\n"
                 "g_weight = mix_pixels_weights(g, rows, at, v)",
     .pushforward =
         "t_r = " X_OF("t_v", "weight") "sizes) + " X_OF("v", "t_weight") "sizes)",
     .disconnected = "rows, at, sizes",
     .example =
         "mix_pixels_back([[[3., 2.]]], [0], [[[0, 2]]], [[[1., 0.5]]], [1, 1, 3]) -> "
         "[[[3.0, 0.0, 1.0]]]"},
    {.name = OP_ROW("mix_pixels_weights"),
     .internal = true,
     .doc = "The transpose of mix_pixels in its weights.",
     .in = "x, rows, at, v",
     .type = mix_type,
     RARE(.shape = "shape(at)"),
     .perform = mix_perform,
     .debug = mix_reference,
     .flops = "2 * x.shape[1] * at.size",
     .pullback = "g_x = " X_OF("v", "g") "shape(x))\n"
                                         "g_v = mix_pixels(x, rows, at, g)",
     .pushforward = "t_r = mix_pixels_weights(t_x, rows, at, v) + "
                    "mix_pixels_weights(x, rows, at, t_v)",
     .disconnected = "rows, at",
     .example = "mix_pixels_weights([[[1., 2., 4.]]], [0], [[[0, 2]]], [[[3., 2.]]]) "
                "-> [[[3.0, "
                "8.0]]]"},
};
const OpList ops_nn_mix = LIST_OF(table);
