/* argmax, argmin: the position of the first extreme; the first nan counts as the
 * extreme. Along the innermost dim, a block is searched only if its extreme (from the
 * vector loops of max) beats the best so far. Along another dim, whole rows are
 * compared, as are short runs, several at a time in a tile. */
#include "ops/reduce/reduce.h"
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "vmap/kit.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 2048, STRIP = 4096, STRIP_SHARED = 1024, CHUNK = 1 << 16, ROWS = 16 };
enum {
    LONG_ROW = 8192,
    FEW_ROWS = 8
}; /* of long rows, few streams keep up with memory */
enum { NARROW = 32, NARROW_STRIP = 64 }; /* longest such run; number of runs per tile */

/* Several axes are merged into one, the last. */
static bool arg_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                       const Var *in, Var *out) {
    (void)nin;
    const Prop *axis = op_prop(b->s, op, p, "axis");
    if (axis->kind == P_NONE || axis->ints.n == 1) return true;
    PropArg how[2] = {{"axis", *axis}, {"keepdims", *op_prop(b->s, op, p, "keepdims")}};
    Var x = apply_named(b, "merge_axes", 1, in, 2, how);
    PropArg last = {"axis", PROP_INT(-1)};
    *out = apply_named(b, op->name, 1, &x, 1, &last);
    return *out != VAR_NONE;
}

static bool arg_type(Infer *in) {
    const Type *x = in->type[0];
    const Prop *axis = infer_prop(in, "axis");
    bool keep = infer_prop(in, "keepdims")->i, all = axis->kind == P_NONE;
    int at = -1, n = 0;
    if (!all && axis->ints.n != 1)
        return infer_fail(in, E_ARG, in->nin, "%s: one axis at a time", in->op->name);
    if (!all && !infer_axis(in, axis->ints.p[0], x->ndim, &at)) return false;
    Dim dim[MAX_NDIM];
    for (int k = 0; k < x->ndim; k++) {
        bool gone = all || k == at;
        if (gone && x->dim[k] == 0)
            return infer_fail(in, E_SHAPE, 0, "dim %d is empty: no elements have no %s",
                              k, in->op->name);
        if (!gone)
            dim[n++] = x->dim[k];
        else if (keep)
            dim[n++] = 1;
    }
    return infer_out_tensor(in, 0, DT_INT64, n, dim);
}

typedef struct ArgReduction {
    const ReduceTable *table;
    const ReduceLoops *loops;
    bool less;
    DType dtype; /* dtype of comparisons: float32 for float16 */
    bool half;
    size_t item, size; /* bytes in memory; bytes of the compared dtype */
    uint8_t final[8];  /* of a dtype without nan: its last number */
    const char *x;
    int64_t *out;
    Tensor kept; /* shape and strides of the other dims, row-major, without the
                  * innermost one when by rows */
    int64_t n, step, wide, wide_step, strip, strips;
    bool by_rows, narrow; /* narrow: by rows of a tile */
    bool short_runs;      /* of one block each, in place */
    char *work;
    size_t work_size;
    int64_t tasks, per_chunk;
} ArgReduction;

static const char *load_elements(const ArgReduction *j, char *buffer, const char *x,
                                 int64_t n, int64_t step) {
    if (j->half) {
        j->table->half(x, step, (size_t)n, (float *)(void *)buffer);
        return buffer;
    }
    if (step == (int64_t)j->item) return x;
    int64_t to = (int64_t)j->item;
    move_strided(NULL, j->item, 1, &n, buffer, &to, x, &step);
    return buffer;
}

/* Can nothing beat it: a nan, or the last number of a dtype without nan? */
static bool is_final(const ArgReduction *j, const void *best) {
    if (j->dtype == DT_FLOAT32) return isnan(*(const float *)best);
    if (j->dtype == DT_FLOAT64) return isnan(*(const double *)best);
    return memcmp(best, j->final, j->size) == 0;
}

static int64_t arg_of_run(const ArgReduction *j, char *work, const char *x,
                          int64_t all) {
    _Alignas(16) char best[16], value[16];
    int64_t at = 0;
    for (int64_t i = 0; i < all; i += BLOCK) {
        int64_t n = all - i < BLOCK ? all - i : BLOCK;
        const char *p = load_elements(j, work, x + i * j->step, n, j->step);
        j->loops->runs(p, 0, 1, (size_t)n, value);
        int64_t beats = i == 0;
        if (i) j->table->arg[j->less][j->dtype](value, 0, 1, 1, best, &beats, 1);
        if (!beats) continue;
        memcpy(best, value, j->size);
        at = i + (int64_t)j->table->find[j->dtype](p, value, (size_t)n);
        if (is_final(j, best)) break;
    }
    return at;
}

static bool reads_in_place(const ArgReduction *j, int64_t step) {
    return !j->half && step == (int64_t)j->item;
}

static void arg_of_rows(const ArgReduction *j, char *work, const char *x, int64_t width,
                        int64_t *out) {
    char *best = work + j->strip * 8;
    bool direct = reads_in_place(j, j->wide_step);
    memcpy(best, load_elements(j, work, x, width, j->wide_step),
           (size_t)width * j->size);
    memset(out, 0, (size_t)width * 8);
    int64_t rows = 1, most = i64_abs(j->step) > LONG_ROW ? FEW_ROWS : ROWS;
    for (int64_t r = 1; r < j->n; r += rows) {
        const char *row = load_elements(j, work, x + r * j->step, width, j->wide_step);
        rows = !direct ? 1 : j->n - r < most ? j->n - r : most;
        j->table->arg[j->less][j->dtype](row, j->step, (size_t)rows, (size_t)width,
                                         best, out, r);
    }
}

static void arg_of_narrow(const ArgReduction *j, char *work, const char *x,
                          int64_t width, int64_t *out) {
    char *best = work, *tile = work + (size_t)NARROW_STRIP * 8;
    ptrdiff_t row = width * (ptrdiff_t)j->item;
    if (j->step == (int64_t)j->item) {
        transpose_in_cache(&(Transposition){tile, row, x, j->wide_step, (size_t)j->n,
                                            (size_t)width, j->item});
    } else {
        const int64_t shape[2] = {j->n, width}, to[2] = {row, (int64_t)j->item},
                      from[2] = {j->step, j->wide_step};
        move_strided(NULL, j->item, 2, shape, tile, to, x, from);
    }
    memcpy(best, tile, (size_t)row);
    memset(out, 0, (size_t)width * 8);
    j->table->arg[j->less][j->dtype](tile + row, row, (size_t)(j->n - 1), (size_t)width,
                                     best, out, 1);
}

/* Rows of one block each, from row t on: the extremes of some rows, then where they
 * are. Returns the number of rows. */
static int64_t arg_of_short_runs(const ArgReduction *j, int64_t t, int64_t end) {
    enum { SOME = 32 };
    _Alignas(16) char value[SOME * 8];
    const Tensor *k = &j->kept;
    int64_t wide = k->ndim ? k->shape[k->ndim - 1] : 1,
            step = k->ndim ? k->stride[k->ndim - 1] : 0, rows = wide - t % wide;
    if (rows > end - t) rows = end - t;
    if (rows > SOME) rows = SOME;
    const char *x = j->x + move_offset(k->ndim, k->shape, k->stride, t);
    j->loops->runs(x, step, (size_t)rows, (size_t)j->n, value);
    FindFirst *find = j->table->find[j->dtype];
    for (int64_t i = 0; i < rows; i++, x += step)
        j->out[t + i] = (int64_t)find(x, value + (size_t)i * j->size, (size_t)j->n);
    return rows;
}

static void arg_chunk(void *ctx, size_t chunk, unsigned worker) {
    const ArgReduction *j = ctx;
    char *work = j->work + worker * j->work_size;
    int64_t t = (int64_t)chunk * j->per_chunk,
            end = t + j->per_chunk < j->tasks ? t + j->per_chunk : j->tasks;
    while (j->short_runs && t < end)
        t += arg_of_short_runs(j, t, end);
    for (; t < end; t++) {
        const char *x = j->x + move_offset(j->kept.ndim, j->kept.shape, j->kept.stride,
                                           t / j->strips);
        int64_t first = t % j->strips * j->strip;
        int64_t width = j->wide - first < j->strip ? j->wide - first : j->strip;
        int64_t *out = j->out + t / j->strips * j->wide + first;
        if (j->narrow)
            arg_of_narrow(j, work, x + first * j->wide_step, width, out);
        else if (j->by_rows)
            arg_of_rows(j, work, x + first * j->wide_step, width, out);
        else
            *out = arg_of_run(j, work, x, j->n);
    }
}

/* ---- a long run, in parts ---- */
enum { PARTS = 16, LONG = 1 << 16 };
typedef struct ArgParts {
    const ArgReduction *j;
    const char *x;
    int64_t part; /* elements of each but the last */
    int64_t at[PARTS];
} ArgParts;

static void arg_part(void *ctx, size_t k, unsigned worker) {
    ArgParts *q = ctx;
    const ArgReduction *j = q->j;
    int64_t first = (int64_t)k * q->part, n = j->n - first;
    q->at[k] = first + arg_of_run(j, j->work + worker * j->work_size,
                                  q->x + first * j->step, n < q->part ? n : q->part);
}

/* The first extreme is the first among those of the parts. */
static int64_t arg_of_parts(Pool *pool, const ArgReduction *j, const char *x) {
    ArgParts q = {.j = j, .x = x, .part = (j->n + PARTS - 1) / PARTS};
    _Alignas(16) char value[PARTS * 16];
    int64_t parts = (j->n + q.part - 1) / q.part;
    pool_run(pool, (size_t)parts, arg_part, &q);
    for (int64_t k = 0; k < parts; k++)
        memcpy(value + k * (int64_t)j->item, x + q.at[k] * j->step, j->item);
    ArgReduction few = *j;
    few.step = (int64_t)j->item;
    return q.at[arg_of_run(&few, j->work, value, parts)];
}

static bool is_long_run(const ArgReduction *j, const Pool *pool) {
    return !j->by_rows && !j->narrow && j->n >= LONG && pool_threads(pool) > 1;
}

static void arg_of_long_runs(Pool *pool, const ArgReduction *j) {
    for (int64_t t = 0; t < j->tasks; t++)
        j->out[t] = arg_of_parts(
            pool, j,
            j->x + move_offset(j->kept.ndim, j->kept.shape, j->kept.stride, t));
}

/* Adds a dim, to the one before it if that goes on where it ends. */
static void add_kept_dim(Tensor *kept, int64_t n, int64_t step) {
    int last = kept->ndim - 1;
    if (last >= 0 && kept->stride[last] == n * step) {
        kept->shape[last] *= n;
        kept->stride[last] = step;
        return;
    }
    kept->shape[kept->ndim] = n;
    kept->stride[kept->ndim++] = step;
}

/* Splits x's dims; `axis` < 0: x is contiguous and treated as one dim. */
static void plan_arg(ArgReduction *j, const Tensor *x, int axis) {
    j->x = x->data;
    j->n = axis < 0 ? tensor_size(x) : x->shape[axis];
    j->step = axis < 0 ? (int64_t)j->item : x->stride[axis];
    j->kept.ndim = 0;
    for (int k = 0; k < x->ndim && axis >= 0; k++)
        if (k != axis) add_kept_dim(&j->kept, x->shape[k], x->stride[k]);
    int last = j->kept.ndim - 1;
    j->wide = j->strips = 1;
    int64_t near = last >= 0 ? j->kept.stride[last] : 0;
    j->by_rows = last >= 0 && j->n > 1 &&
                 (near < 0 ? -near : near) < (j->step < 0 ? -j->step : j->step);
    j->narrow = !j->by_rows && !j->half && j->n > 1 && j->n <= NARROW && last >= 0 &&
                j->kept.shape[last] >= NARROW;
    if (j->narrow) j->strip = NARROW_STRIP;
    if (j->by_rows || j->narrow) {
        j->kept.ndim = last;
        j->wide = j->kept.shape[last];
        j->wide_step = near;
        j->strips = (j->wide + j->strip - 1) / j->strip;
    }
    j->short_runs =
        !j->by_rows && !j->narrow && j->n <= BLOCK && reads_in_place(j, j->step);
    j->tasks = move_count(j->kept.ndim, j->kept.shape) * j->strips;
    int64_t each = j->n * (j->strips > 1 ? j->strip : j->wide);
    j->per_chunk = each < CHUNK ? CHUNK / each : 1;
}

enum { REDO_BYTES = 1 << 17 };

static void run_redo(void *how, const void *const *in, void *const *out) {
    ArgReduction *j = how;
    j->x = in[0];
    j->out = out[0];
    arg_chunk(j, 0, 0);
}

/* For what is one chunk, of the input itself. */
static void offer_redo(Call *c, const ArgReduction *j) {
    if (!c->redo || j->work_size > REDO_BYTES) return;
    ArgReduction *again = mem_alloc(c->s, sizeof *again + j->work_size);
    *again = *j;
    again->work = (char *)(again + 1);
    *c->redo = (Redo){run_redo, again};
}

/* If a flattened x is strided, its copy comes first in scratch. */
static bool run_arg_reduction(Call *c, ArgReduction *j, Tensor x, int axis) {
    Pool *pool = move_pool(c);
    size_t copy =
        axis < 0 && !tensor_is_contiguous(&x) ? (tensor_bytes(&x) + 63) / 64 * 64 : 0;
    size_t workers = pool ? pool_threads(pool) : 1;
    j->strip = workers > 1 ? STRIP_SHARED : STRIP;
    j->work_size = (size_t)(j->strip * 2 + BLOCK) * 8;
    char *mem = call_scratch(c, copy + workers * j->work_size);
    if (!mem) return false;
    if (axis < 0) x = move_contiguous(pool, &x, mem);
    j->work = mem + copy;
    plan_arg(j, &x, axis);
    int64_t chunks = (j->tasks + j->per_chunk - 1) / j->per_chunk;
    if (is_long_run(j, pool)) {
        arg_of_long_runs(pool, j);
    } else if (pool && chunks > 1) {
        pool_run(pool, (size_t)chunks, arg_chunk, j);
    } else {
        j->per_chunk = j->tasks;
        arg_chunk(j, 0, 0);
    }
    if (chunks == 1 && copy == 0) offer_redo(c, j);
    return true;
}

/* The last number of a dtype without nan. */
static void set_final(ArgReduction *j) {
    int bits = 8 * (int)j->size;
    int64_t v = j->less ? 0 : -1; /* of unsigned ones -1 wraps */
    if (dtype_is_inexact(j->dtype)) return;
    if (j->dtype == DT_BOOL)
        v = !j->less;
    else if (dtype_kind(j->dtype) == K_INT)
        v = j->less ? INT64_MIN >> (64 - bits) : INT64_MAX >> (64 - bits);
    tensor_cast_elements(j->dtype, j->final, DT_INT64, &v, 1, 0, 0);
}

static bool arg_perform(Call *c, bool less) {
    Tensor x = *call_in(c, 0);
    const Prop *prop = op_prop(c->s, c->op, c->props, "axis");
    bool keep = prop_bool(c->s, c->op, c->props, "keepdims"),
         all = prop->kind == P_NONE;
    int axis = all ? -1 : shape_axis_index(prop->ints.p[0], x.ndim), n = 0;
    int64_t shape[MAX_NDIM];
    for (int k = 0; k < x.ndim; k++) {
        bool gone = all || k == axis;
        if (gone && x.shape[k] == 0)
            return call_fail(c, E_RUN_SHAPE, "dim %d is empty: no elements have no %s",
                             k, c->op->name);
        if (!gone)
            shape[n++] = x.shape[k];
        else if (keep)
            shape[n++] = 1;
    }
    Tensor *out = call_out(c, 0, n, shape);
    if (!out) return false;
    if (tensor_size(out) == 0) return true;
    ArgReduction j = {.table = reduce_table(c->s),
                      .less = less,
                      .half = x.dtype == DT_FLOAT16,
                      .out = out->data};
    j.dtype = j.half ? DT_FLOAT32 : x.dtype;
    j.item = dtype_size(x.dtype);
    j.size = dtype_size(j.dtype);
    j.loops = &j.table->loops[less ? FOLD_MIN : FOLD_MAX][j.dtype];
    set_final(&j);
    return run_arg_reduction(c, &j, x, axis);
}

static bool argmax_perform(Call *c) {
    return arg_perform(c, false);
}

static bool argmin_perform(Call *c) {
    return arg_perform(c, true);
}

/* A position is piecewise constant: its derivative is zero. */
static bool arg_pull(Pull *p) {
    return pull_discrete(p);
}

/* Without an axis, flatten each row. */
static bool arg_vmap(Vmap *q) {
    Builder *b = q->b;
    const Prop *axis = op_prop(b->s, q->op, q->props, "axis");
    if (axis->kind != P_NONE) return vmap_axes(q);
    bool keep = prop_bool(b->s, q->op, q->props, "keepdims");
    int ndim = vmap_ndim(q, 0);
    PropArg one = {"axis", PROP_INT(1)};
    Var x = vmap_flatten(q, 0), r = apply_named(b, q->op->name, 1, &x, 1, &one);
    if (keep) r = op_insert_axes(b, r, 1, ndim);
    return (q->out[0] = r) != VAR_NONE;
}

#define ARG(NAME, WHAT, KERNEL, EXAMPLE)                                               \
    {                                                                                  \
        .name = OP_ROW(NAME),                                                          \
        .doc =                                                                         \
            "Position of the first " WHAT " element along axis (None: in all of x; "   \
            "several: in those, row-major), as int64; the first nan if there is one.", \
        .in = "x", .props = "axis: axes = None, keepdims: bool = False",               \
        .expand = arg_expand, .kinds = KIND_BOOL | KIND_REAL, .type = arg_type,        \
        .perform = KERNEL, .reentrant = true, .flops = "x.size", .pull = arg_pull,     \
        .push = push_none, .vmap = arg_vmap, .example = EXAMPLE, RARE(.redo = true)    \
    }
static const Op table[] = {
    ARG("argmax", "largest", argmax_perform,
        "argmax([[1, 5], [4, 2]], axis=1) -> [1, 0]\nargmax([3, 9, 9]) -> 1"),
    ARG("argmin", "smallest", argmin_perform,
        "argmin([[1, 5], [4, 2]], axis=1) -> [0, 1]"),
};
const OpList ops_reduce_arg = LIST_OF(table);
