/* softmax and log_softmax over one axis, or over all elements. */
#include "ops/nn/softmax.h"

#include "op/infer.h"
#include "vmap/kit.h"

#include <math.h>
#include <string.h>

enum {
    ROWS_CHUNK = 1 << 14, /* elements per thread and chunk */
    REDO_BYTES = 1 << 16
};

static bool softmax_type(Infer *in) {
    const Prop *axis = infer_prop(in, "axis");
    const Type *t = in->type[0];
    int at;
    if (!infer_want_kinds(in, 0, KIND_FLOAT)) return false;
    if (axis->kind != P_NONE && !infer_axis(in, axis->i, t->ndim, &at)) return false;
    return infer_out_tensor(in, 0, t->dtype, t->ndim, t->dim);
}

/* ---- running ----
 * Three methods: long contiguous rows one at a time; columns (an axis other than the
 * last) several at a time in memory; short rows several at a time in a tile they are
 * copied to. Anything else (float16, a few long columns) goes through a row of scratch
 * memory. */
enum {
    SHORT = 64, /* rows up to this length use tiles */
    FEW = 6     /* as many of them take less time one by one */
};

typedef struct SoftmaxJob {
    const Tensor *x;
    Tensor *out;
    RowFn *row, *few;
    ColumnsFn *columns;
    DType dtype;             /* dtype of the loops */
    int64_t n, inner, count; /* elements per row, distance between them, rows */
    int64_t chunk;           /* groups of SOFTMAX_LANES rows per chunk */
    char *room;              /* one row per worker */
} SoftmaxJob;

static const SoftmaxRows *row_kernels(Session *s) {
    return FOR_CPU_LEVEL(s, softmax_rows);
}

/* Position of the first element of a row, in elements. */
static int64_t row_position(const SoftmaxJob *j, int64_t r) {
    return r / j->inner * j->n * j->inner + r % j->inner;
}

static void softmax_row(const SoftmaxJob *j, int64_t r, char *room) {
    ptrdiff_t size = (ptrdiff_t)dtype_size(j->out->dtype);
    ptrdiff_t wide = (ptrdiff_t)dtype_size(j->dtype), step = j->inner * size;
    const char *x = (const char *)j->x->data + row_position(j, r) * size;
    char *out = (char *)j->out->data + row_position(j, r) * size;
    if (j->inner == 1 && j->dtype == j->out->dtype) {
        j->row(x, out, (size_t)j->n);
        return;
    }
    tensor_cast_elements(j->dtype, room, j->out->dtype, x, (size_t)j->n, wide, step);
    j->row(room, room, (size_t)j->n);
    tensor_cast_elements(j->out->dtype, out, j->dtype, room, (size_t)j->n, step, wide);
}

/* Transposes up to SOFTMAX_LANES, but more than FEW, short rows into the columns of a
 * tile and back. Unused lanes hold zeros. */
static void softmax_tile(const SoftmaxJob *j, int64_t first, int64_t rows) {
    _Alignas(64) char tile[SHORT * SOFTMAX_LANES * sizeof(double)];
    size_t size = dtype_size(j->dtype), n = (size_t)j->n, count = (size_t)rows;
    ptrdiff_t lane = SOFTMAX_LANES * (ptrdiff_t)size, step = j->inner * (ptrdiff_t)size;
    const char *x = j->x->data;
    char *out = j->out->data;
    if (j->inner == 1 && rows <= FEW) {
        for (size_t l = 0; l < count; l++)
            j->few(x + ((size_t)first + l) * n * size,
                   out + ((size_t)first + l) * n * size, n);
        return;
    }
    if (rows < SOFTMAX_LANES) memset(tile, 0, n * (size_t)lane);
    if (j->inner == 1) {
        ptrdiff_t row = j->n * (ptrdiff_t)size;
        transpose_in_cache(
            &(Transposition){tile, lane, x + first * row, row, n, count, size});
        j->columns(tile, tile, n, SOFTMAX_LANES);
        transpose_in_cache(
            &(Transposition){out + first * row, row, tile, lane, count, n, size});
        return;
    }
    for (size_t l = 0; l < count; l++)
        tensor_cast_elements(j->dtype, tile + l * size, j->dtype,
                             x + row_position(j, first + (int64_t)l) * (int64_t)size, n,
                             lane, step);
    j->columns(tile, tile, n, SOFTMAX_LANES);
    for (size_t l = 0; l < count; l++)
        tensor_cast_elements(j->dtype,
                             out + row_position(j, first + (int64_t)l) * (int64_t)size,
                             j->dtype, tile + l * size, n, step, lane);
}

static void softmax_group(const SoftmaxJob *j, int64_t first, int64_t rows,
                          char *room) {
    size_t size = dtype_size(j->dtype);
    bool same = j->dtype == j->out->dtype;
    int64_t at = row_position(j, first) * (int64_t)size;
    bool beside = j->inner > 1 && rows == SOFTMAX_LANES &&
                  first % j->inner + SOFTMAX_LANES <= j->inner;
    if (same && beside)
        j->columns((const char *)j->x->data + at, (char *)j->out->data + at,
                   (size_t)j->n, (size_t)j->inner);
    else if (same && j->n <= SHORT)
        softmax_tile(j, first, rows);
    else
        for (int64_t r = first; r < first + rows; r++)
            softmax_row(j, r, room);
}

static void softmax_chunk(void *ctx, size_t k, unsigned worker) {
    const SoftmaxJob *j = ctx;
    int64_t first = (int64_t)k * j->chunk * SOFTMAX_LANES;
    int64_t end = first + j->chunk * SOFTMAX_LANES;
    char *room = j->room + (size_t)worker * (size_t)j->n * dtype_size(j->dtype);
    if (end > j->count) end = j->count;
    for (int64_t r = first; r < end; r += SOFTMAX_LANES)
        softmax_group(j, r, end - r < SOFTMAX_LANES ? end - r : SOFTMAX_LANES, room);
}

/* Sets up the operands and the layout of rows; count 0: nothing to do. */
static bool softmax_open(Call *c, SoftmaxJob *j) {
    const Tensor *x = call_in(c, 0);
    Tensor *out = call_out(c, 0, x->ndim, x->shape);
    const Prop *axis = op_prop(c->s, c->op, c->props, "axis");
    *j = (SoftmaxJob){.x = x, .out = out, .n = tensor_size(x), .inner = 1};
    if (!out || j->n == 0) return out != NULL;
    if (axis->kind != P_NONE) {
        int a = (int)(axis->i < 0 ? axis->i + x->ndim : axis->i);
        j->n = x->shape[a];
        for (int i = a + 1; i < x->ndim; i++)
            j->inner *= x->shape[i];
    }
    j->count = tensor_size(x) / j->n;
    return true;
}

typedef struct SoftmaxRedo {
    SoftmaxJob j;
    Tensor x, out;
} SoftmaxRedo;

static void run_redo(void *how, const void *const *in, void *const *out) {
    SoftmaxRedo *r = how;
    memcpy(&r->x.data, in, sizeof r->x.data); /* read only */
    r->out.data = out[0];
    softmax_chunk(&r->j, 0, 0);
}

/* For what is one chunk, and is the input itself. */
static void offer_redo(Call *c, const SoftmaxJob *j, size_t chunks) {
    size_t room = (size_t)j->n * dtype_size(j->dtype);
    if (!c->redo || chunks > 1 || j->x == j->out || room > REDO_BYTES) return;
    SoftmaxRedo *r = mem_alloc(c->s, sizeof *r + room);
    *r = (SoftmaxRedo){.j = *j, .x = *j->x, .out = *j->out};
    r->j.x = &r->x;
    r->j.out = &r->out;
    r->j.room = (char *)(r + 1);
    *c->redo = (Redo){run_redo, r};
}

static bool run_softmax(Call *c, int logs) {
    SoftmaxJob j;
    if (!softmax_open(c, &j) || j.count == 0) return j.out != NULL;
    const Tensor *x = j.x;
    if (!tensor_is_contiguous(x)) { /* all methods also work in place */
        tensor_assign(j.out, x);
        j.x = j.out;
    }
    j.dtype = x->dtype == DT_FLOAT16 ? DT_FLOAT32 : x->dtype;
    j.row = row_kernels(c->s)->row[logs][j.dtype == DT_FLOAT64];
    j.few = row_kernels(c->s)->few[logs][j.dtype == DT_FLOAT64];
    j.columns = row_kernels(c->s)->columns[logs][j.dtype == DT_FLOAT64];
    j.chunk = 1 + ROWS_CHUNK / (j.n * SOFTMAX_LANES);
    j.room = call_scratch(c, (size_t)j.n * dtype_size(j.dtype) *
                                 pool_threads(c->host->pool));
    if (!j.room) return false;
    int64_t group = j.chunk * SOFTMAX_LANES;
    size_t chunks = (size_t)((j.count + group - 1) / group);
    pool_run(c->host->pool, chunks, softmax_chunk, &j);
    offer_redo(c, &j, chunks);
    return true;
}

static bool softmax_perform(Call *c) {
    return run_softmax(c, 0);
}
static bool log_softmax_perform(Call *c) {
    return run_softmax(c, 1);
}

/* One row at a time in float64, straight from the definition. */
static void reference_row(const SoftmaxJob *j, int64_t r, int logs) {
    int64_t size = (int64_t)dtype_size(j->out->dtype), at = row_position(j, r);
    double top = -HUGE_VAL, sum = 0;
    for (int64_t i = 0; i < j->n; i++)
        top = fmax(top, tensor_f64(j->x, at + i * j->inner));
    for (int64_t i = 0; i < j->n; i++)
        sum += exp(tensor_f64(j->x, at + i * j->inner) - top);
    for (int64_t i = 0; i < j->n; i++) {
        double v = tensor_f64(j->x, at + i * j->inner) - top;
        v = logs ? v - log(sum) : exp(v) / sum;
        tensor_cast_elements(j->out->dtype,
                             (char *)j->out->data + (at + i * j->inner) * size,
                             DT_FLOAT64, &v, 1, 0, 0);
    }
}

static bool run_reference(Call *c, int logs) {
    SoftmaxJob j;
    if (!softmax_open(c, &j)) return false;
    for (int64_t r = 0; r < j.count; r++)
        reference_row(&j, r, logs);
    return true;
}

static bool softmax_debug(Call *c) {
    return run_reference(c, 0);
}
static bool log_softmax_debug(Call *c) {
    return run_reference(c, 1);
}

/* Without an axis, flatten each row. */
static bool softmax_vmap(Vmap *q) {
    const Prop *axis = op_prop(q->b->s, q->op, q->props, "axis");
    int64_t k = axis->kind == P_NONE || axis->i < 0 ? axis->i : axis->i + 1;
    if (axis->kind != P_NONE)
        return vmap_apply(q, vmap_replace_prop(q, "axis", PROP_INT(k)), q->in);
    Var x = vmap_flatten(q, 0);
    if (!vmap_apply(q, vmap_replace_prop(q, "axis", PROP_INT(1)), &x)) return false;
    if (vmap_ndim(q, 0) == 1) return true;
    return (q->out[0] = vmap_unflatten(q, q->out[0], vmap_row_shape(q, 0))) != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("softmax"),
     .doc = "exp(x) divided by its sum along an axis (None: all elements), without "
            "overflow. Rows of float32 add up in a fixed tree of float32 sums.",
     RARE(.redo = true),
     .in = "x",
     .props = "axis: int? = None",
     .promote = PROMOTE_INEXACT,
     .type = softmax_type,
     .perform = softmax_perform,
     .reentrant = true,
     .debug = softmax_debug,
     .fails = op_never_fails,
     .flops = "4 * r.size",
     .math = 1,
     /* the Jacobian is symmetric */
     .pullback = "g_x = r * (g - sum(g * r, axis=axis, keepdims=True))",
     .pushforward = "t_r = r * (t_x - sum(t_x * r, axis=axis, keepdims=True))",
     .reuse = 1,
     .vmap = softmax_vmap,
     .example = "softmax([0., 0.]) -> [0.5, 0.5]"},
    {.name = OP_ROW("log_softmax"),
     .doc = "The logarithm of softmax, exact where softmax is 0 or 1.",
     RARE(.redo = true),
     .in = "x",
     .props = "axis: int? = None",
     .promote = PROMOTE_INEXACT,
     .type = softmax_type,
     .perform = log_softmax_perform,
     .reentrant = true,
     .debug = log_softmax_debug,
     .fails = op_never_fails,
     .flops = "4 * r.size",
     .math = 1,
     .pullback = "g_x = g - exp(r) * sum(g, axis=axis, keepdims=True)",
     .pushforward = "t_r = t_x - sum(exp(r) * t_x, axis=axis, keepdims=True)",
     .reuse = 1,
     .vmap = softmax_vmap,
     .example = "log_softmax([0., 1000.]) -> [-1000.0, 0.0]"},
};
const OpList ops_nn_softmax = LIST_OF(table);
