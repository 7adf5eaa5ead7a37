/* The driver of reductions. Dims of x are either kept or reduced; each group is sorted
 * by stride and merged where memory is contiguous. If the innermost dim of all is
 * reduced, elements are reduced in runs; if it is kept, whole rows are combined element
 * by element, in strips that fit the cache.
 *
 * If the innermost dim is reduced but short, and a kept dim lies between it and other
 * reduced ones, rows run over both: each output then has one accumulator per element of
 * the innermost dim, adjacent in memory and combined at the end.
 *
 * Either way a block (a run of at most RUN elements, or at most ROWS rows, or as many
 * narrow rows as RUN elements) yields a partial result, and fold_range.c combines
 * these. A reduction of more than SEGMENT elements is cut into segments, the unit of
 * work for threads (fold_groups.c). All these limits are constants: the result does not
 * depend on the number of threads. Elements computed on demand (Pieces) take the same
 * way, so that the result has the same bits. */
#include "ops/reduce/fold.h"

#include "ops/shape/linear.h"
#include "ops/shape/move.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum {
    RUN_WIDE = 1024,
    RUN_SELECTED = 2048,
    ROWS = 32,
    STRIP = 4096,
    SEGMENT = 1 << 15,
    CHUNK = 1 << 16,
    BATCH = 256,
    /* for rows that are touched: */
    ROW_TINY = 128,
    ROW_SHORT = 2048,
    FAR_BYTES = 16 << 20,
    /* for pieces: */
    ROW_BYTES = 16384,    /* bytes per row of a window: longer reads count for more than
                           * windows in the nearest cache */
    WINDOW_BYTES = 16384, /* bytes of a window, if that is several blocks */
    NARROW = 64,          /* an innermost dim up to this size is short */
    ROW_MIN = 16,         /* fewest accumulators worth a row */
    PIECE_MIN = 256,      /* fewest elements worth requesting */
    CHUNK_MADE = 1 << 15  /* replaces CHUNK, by their work: they cost more */
};

extern const ReduceTable fold_table_0;
#ifdef __x86_64__
extern const ReduceTable fold_table_1, fold_table_2;
#endif

const ReduceTable *reduce_table(Session *s) {
    return FOR_CPU_LEVEL(s, fold_table_);
}

static void reduce_dims_insert(ReduceDims *x, int64_t n, int64_t in, int64_t out) {
    int k = x->n++;
    for (; k > 0 && i64_abs(x->in[k - 1]) < i64_abs(in); k--) {
        x->shape[k] = x->shape[k - 1];
        x->in[k] = x->in[k - 1];
        x->out[k] = x->out[k - 1];
    }
    x->shape[k] = n;
    x->in[k] = in;
    x->out[k] = out;
}

static void reduce_dims_merge(ReduceDims *x) {
    int n = 0;
    for (int k = 0; k < x->n; k++) {
        bool runs_on = n && x->in[n - 1] == x->shape[k] * x->in[k] &&
                       x->out[n - 1] == x->shape[k] * x->out[k];
        if (runs_on)
            x->shape[n - 1] *= x->shape[k];
        else
            x->shape[n++] = x->shape[k];
        x->in[n - 1] = x->in[k];
        x->out[n - 1] = x->out[k];
    }
    x->n = n;
}

/* ---- planning ---- */
/* Makes rows span the innermost kept dim and the short reduced dim within it. */
static void plan_parts(Reduction *j) {
    ReduceDims *red = &j->red;
    if (j->inner > NARROW || j->wide * j->inner < ROW_MIN ||
        j->wide_in != j->inner * j->inner_in ||
        i64_abs(red->in[red->n - 2]) < i64_abs(j->wide_in))
        return;
    j->by_rows = true;
    j->parts = j->inner;
    j->count /= j->parts;
    j->wide *= j->parts;
    j->wide_in = j->inner_in;
    red->n--;
    j->inner = red->shape[red->n - 1];
    j->inner_in = red->in[red->n - 1];
}

static void plan_dims(Reduction *j, const Tensor *x, const bool *flag,
                      int64_t *out_stride) {
    j->count = j->parts = 1;
    for (int k = 0; k < x->ndim; k++) {
        if (flag[k]) j->count *= x->shape[k];
        if (x->shape[k] == 1) continue;
        reduce_dims_insert(flag[k] ? &j->red : &j->kept, x->shape[k], x->stride[k],
                           flag[k] ? 0 : out_stride[k]);
    }
    for (int k = 0; k < j->red.n; k++) /* merging considers only the input */
        j->red.out[k] = j->red.in[k];
    reduce_dims_merge(&j->red);
    reduce_dims_merge(&j->kept);
    ReduceDims *kept = &j->kept, *red = &j->red;
    j->inner = red->n ? red->shape[red->n - 1] : 1;
    j->inner_in = red->n ? red->in[red->n - 1] : (int64_t)j->item;
    j->wide = j->wide_in = j->wide_out = 1;
    if (kept->n) {
        kept->n--;
        j->wide = kept->shape[kept->n];
        j->wide_in = kept->in[kept->n];
        j->wide_out = kept->out[kept->n];
        j->by_rows = !red->n || i64_abs(j->wide_in) < i64_abs(j->inner_in);
        if (!j->by_rows && red->n > 1) plan_parts(j);
    }
}

/* Limits the outputs per group so that the elements computed for them stay in the
 * nearest caches; the group size doesn't change results. Returns the bytes of a
 * window. */
static size_t plan_pieces(Reduction *j) {
    int64_t item = (int64_t)j->item,
            most = j->by_rows ? ROW_BYTES / item : RUN / j->count;
    if (!j->by_rows && !reduce_is_short(j)) most = j->width;
    if (j->width > most) j->width = most > 0 ? most : 1;
    j->window = j->block;
    if (!j->by_rows) return (size_t)(RUN * item);
    int64_t rows = WINDOW_BYTES / (j->width * item) / j->block;
    j->window *= rows > 0 ? rows : 1;
    return (size_t)(j->window * j->width * item);
}

/* Elements of a run. What selects has longer ones, as it rounds nothing, if they need
 * no buffer. */
static int64_t run_length(const Reduction *j) {
    bool whole = j->selects && reads_without_load(j, j->inner_in);
    return j->loaded < 8 ? RUN : whole ? RUN_SELECTED : RUN_WIDE;
}

static void plan_work(Reduction *j) {
    j->width = j->by_rows ? STRIP : BATCH;
    if (j->width > j->wide) j->width = j->wide;
    j->narrow = j->by_rows && j->wide <= NARROW_MOST &&
                j->wide_in == (int64_t)j->item && j->inner_in == j->wide * j->wide_in;
    j->block = j->narrow    ? RUN / j->wide / NARROW_ROWS * NARROW_ROWS
               : j->by_rows ? ROWS
                            : run_length(j);
    j->segment = j->by_rows ? SEGMENT / j->width : SEGMENT;
    if (j->segment < 4 * ROWS) j->segment = 4 * ROWS;
    size_t made = j->pieces ? plan_pieces(j) : 0;
    j->width -= j->width % j->parts;
    j->strips = (j->wide + j->width - 1) / j->width;
    j->groups = move_count(j->kept.n, j->kept.shape) * j->strips;
    j->nsegment = j->count ? (j->count + j->segment - 1) / j->segment : 1;
    if (j->nsegment == 1) j->segment = j->count;
    size_t size = j->f.loops->acc_size;
    int levels = 3;
    for (int64_t n = j->segment; n > 1; n /= 2)
        levels++;
    j->acc_bytes =
        ((size_t)levels * (j->by_rows ? (size_t)j->width : 1) * size + 63) / 64 * 64;
    size_t buffer = (j->by_rows ? (size_t)(j->width * j->block) : RUN) * j->loaded;
    bool direct = reads_without_load(j, j->by_rows ? j->wide_in : j->inner_in) &&
                  !reduce_is_scattered(j) && !(j->narrow && j->pieces);
    j->made_at = j->acc_bytes + (direct ? 0 : (buffer + 63) / 64 * 64);
    j->work_size = j->made_at + made + (size_t)j->width * size;
    j->work_size = (j->work_size + 127) / 64 * 64;
    j->tasks = j->groups * j->nsegment;
    int64_t each = j->segment * j->width,
            chunk = j->pieces ? CHUNK_MADE / j->pieces->work : CHUNK;
    j->per_chunk = each < chunk ? chunk / (each ? each : 1) : 1;
}

/* Rows are combined several at a time, an order that the CPU doesn't prefetch if they
 * are short and follow each other. From memory it pays to read a block of them as one
 * stream first, so that they come from the near caches. */
static bool should_touch(const Reduction *j) {
    int64_t row = j->wide * (int64_t)j->item;
    return j->by_rows && !j->pieces && row > ROW_TINY && row <= ROW_SHORT &&
           j->inner_in == row && j->inner >= FAR_BYTES / row;
}

enum { REDO_BYTES = 1 << 16 }; /* of a worker */

static void run_redo(void *how, const void *const *in, void *const *out) {
    Reduction *j = how;
    j->x = in[0];
    j->out = out[0];
    reduce_chunk(j, 0, 0);
}

/* For what is reduced in one go, and is the input itself. */
static void offer_redo(Call *c, const Reduction *j, int64_t chunks) {
    if (!c->redo || chunks > 1 || j->nsegment > 1 || j->work_size > REDO_BYTES ||
        j->pieces || j->f.add || j->x != c->in[0]->t.data)
        return;
    size_t head = (sizeof *j + 63) / 64 * 64;
    char *room = mem_alloc(c->s, head + 64 + j->work_size);
    Reduction *kept = (Reduction *)(void *)room;
    *kept = *j;
    kept->partial = NULL;
    kept->work = room + head + (-(uintptr_t)room & 63);
    *c->redo = (Redo){run_redo, room};
}

static bool run_reduction(Call *c, Reduction *j) {
    Pool *pool = move_pool(c);
    int64_t chunks = (j->tasks + j->per_chunk - 1) / j->per_chunk;
    size_t workers = pool && chunks > 1 ? pool_threads(pool) : 1;
    size_t partial = 0;
    if (j->nsegment > 1) partial = (size_t)(j->tasks * j->width) * j->f.loops->acc_size;
    partial = (partial + 63) / 64 * 64;
    j->partial = call_scratch(c, partial + workers * j->work_size);
    if (!j->partial) return false;
    j->work = j->partial + partial;
    if (workers > 1) {
        pool_run(pool, (size_t)chunks, reduce_chunk, j);
    } else {
        j->per_chunk = j->tasks;
        reduce_chunk(j, 0, 0);
    }
    if (j->nsegment > 1) reduce_join_segments(j);
    offer_redo(c, j, chunks);
    return true;
}

/* Counting from the last dim, adjacent dims that are all reduced or all kept form a
 * group. One request can cover the last group if it is reduced, the last two if it is
 * kept, and several of these if there are at most two groups. */
bool reduce_streams(const Graph *g, ApplyId id, int ndim, const int64_t *dim) {
    const Apply *a = &g->apply[id];
    bool flag[MAX_NDIM], last = false;
    int64_t size[2] = {1, 1};
    int n = 0;
    shape_axes_flags(op_prop(g->s, a->op, a->props, "axis"), ndim, flag);
    for (int k = ndim; k-- > 0;) {
        if (dim[k] == 1) continue;
        if (n == 0 || flag[k] != last) n++;
        if (n > 2) break;
        last = flag[k];
        if (dim[k] < 0 || !i64_mul(size[n - 1], dim[k], &size[n - 1]) ||
            size[n - 1] > INT32_MAX)
            size[n - 1] = INT32_MAX;
    }
    if (n <= 2) return true;
    return (last ? size[0] * size[1] : size[0]) >= PIECE_MIN;
}

/* Output 0, with its strides by the input's dims. */
static Tensor *reduced_output(Call *c, const Tensor *x, const bool *flag, bool keepdims,
                              int64_t stride[MAX_NDIM]) {
    int64_t shape[MAX_NDIM];
    int n = 0;
    for (int k = 0; k < x->ndim; k++)
        if (!flag[k])
            shape[n++] = x->shape[k];
        else if (keepdims)
            shape[n++] = 1;
    Tensor *out = call_out(c, 0, n, shape);
    int64_t step = out ? (int64_t)dtype_size(out->dtype) : 0;
    for (int k = x->ndim - 1; k >= 0; k--) {
        stride[k] = step;
        if (!flag[k]) step *= x->shape[k];
    }
    return out;
}

/* The output may overwrite the input's struct. */
static void copy_layout(Tensor *to, const Tensor *x) {
    to->dtype = x->dtype;
    to->ndim = x->ndim;
    to->data = x->data;
    for (int k = 0; k < x->ndim; k++) {
        to->shape[k] = x->shape[k];
        to->stride[k] = x->stride[k];
    }
}

bool reduce_call(Call *c, ReduceKind kind, const Tensor *x, const bool flag[MAX_NDIM],
                 bool keepdims, ReduceSpec f) {
    Tensor in;
    Reduction j;
    copy_layout(&in, x);
    memset(&j, 0, offsetof(Reduction, kept)); /* not the dims, which takes longer */
    j.kept.n = j.red.n = 0;
    j.table = reduce_table(c->s);
    j.f = f;
    j.dtype = in.dtype;
    j.item = dtype_size(in.dtype);
    j.pieces = c->pieces;
    /* what is computed on demand may fail, later elements too */
    j.ends_early = (kind == FOLD_ANY || kind == FOLD_ALL) && !c->pieces;
    j.decided = kind == FOLD_ANY;
    j.selects = kind == FOLD_MAX || kind == FOLD_MIN;
    j.f.table = j.table;
    j.f.loops = &j.table->loops[kind][in.dtype];
    if (!j.f.loops->acc_size)
        bug("%s has no loops for %s", c->op->name, dtype_name(in.dtype));
    j.loaded = j.f.loops->load == DT_NONE ? j.item : dtype_size(j.f.loops->load);
    int64_t stride[MAX_NDIM];
    Tensor *out = f.add ? &c->out[0].t : reduced_output(c, &in, flag, keepdims, stride);
    if (!out) return false;
    if (f.add) {
        int64_t step = (int64_t)dtype_size(out->dtype);
        for (int k = in.ndim - 1; k >= 0; k--) {
            stride[k] = step;
            if (!flag[k]) step *= in.shape[k];
        }
    }
    int64_t n = tensor_size(out);
    if (n == 0) return true;
    j.x = in.data;
    j.out = out->data;
    plan_dims(&j, &in, flag, stride);
    if (j.count == 0) {
        char element[16];
        tensor_cast_elements(out->dtype, element, DT_FLOAT64, &f.empty, 1, 0, 0);
        move_fill(NULL, dtype_size(out->dtype), n, out->data, element);
        return true;
    }
    j.f.count = (double)j.count * (double)j.parts;
    j.f.out = out->dtype;
    plan_work(&j);
    j.touches = should_touch(&j);
    j.sums = j.pieces && (kind == FOLD_SUM || kind == FOLD_MEAN) &&
             (in.dtype == DT_FLOAT32 || in.dtype == DT_FLOAT64);
    if (j.sums && j.pieces->add && !j.by_rows)
        j.rest = j.table->rest[in.dtype == DT_FLOAT64];
    return run_reduction(c, &j);
}

/* ---- from accumulators to elements ---- */
void reduce_cast(const ReduceSpec *f, void *acc, size_t n, char *out, int64_t step) {
    tensor_cast_elements(f->out, out, f->loops->acc, acc, n, step,
                         (ptrdiff_t)f->loops->acc_size);
}

void reduce_mean(const ReduceSpec *f, void *acc, size_t n, char *out, int64_t step) {
    f->table->divide(acc, f->loops->acc == DT_COMPLEX128 ? 2 * n : n, f->count);
    reduce_cast(f, acc, n, out, step);
}

/* The accumulator's second number is the sum of squared deviations. With `add` the
 * output already holds the variance of the real parts. */
void reduce_var(const ReduceSpec *f, void *acc, size_t n, char *out, int64_t step) {
    double *a = acc, by = f->count - f->ddof > 0 ? f->count - f->ddof : 0;
    f->table->variances(a, n, by);
    for (size_t i = 0; i < n && f->add; i++) {
        double before;
        tensor_cast_elements(DT_FLOAT64, &before, f->out, out + (int64_t)i * step, 1, 0,
                             0);
        a[i] += before;
    }
    for (size_t i = 0; i < n && f->root; i++)
        a[i] = sqrt(a[i]);
    tensor_cast_elements(f->out, out, DT_FLOAT64, a, n, step, sizeof *a);
}
