/* The driver of reductions. Dims of x are either kept or reduced; each group is sorted
 * by stride and merged where memory is contiguous. If the innermost dim of all is
 * reduced, elements are reduced in runs; if it is kept, whole rows are combined element
 * by element, in strips that fit the cache.
 *
 * If the innermost dim is reduced but short, and a kept dim lies between it and other
 * reduced ones, rows run over both: each output then has one accumulator per element of
 * the innermost dim, adjacent in memory and combined at the end.
 *
 * Either way a block (a run of at most RUN elements, or at most ROWS rows) yields a
 * partial result, and partials are combined pairwise like the carries of a binary
 * counter, so that rounding errors grow with the logarithm of the count. A reduction of
 * more than SEGMENT elements is cut into segments, the unit of work for threads. All
 * these limits are constants: the result does not depend on the number of threads.
 *
 * Elements computed on demand (Pieces) follow the same path: one window at a time is
 * computed instead of being read from memory, and the result has the same bits. Sums of
 * runs may be taken as the elements are computed, in the lanes of the loops here. */
#include "ops/reduce/reduce.h"
#include "ops/shape/linear.h"
#include "ops/shape/move.h"

#include <math.h>
#include <string.h>

enum {
    RUN = 4096,
    RUN_WIDE = 1024,
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
    SUM_MIN = 128,        /* fewest worth adding as they are computed */
    IN_ORDER = 32,        /* runs of fewer elements are summed one after the other */
    CHUNK_MADE = 1 << 15  /* replaces CHUNK, by their work: they cost more */
};

extern const ReduceTable fold_table_0;
#ifdef __x86_64__
extern const ReduceTable fold_table_1, fold_table_2;
#endif

const ReduceTable *reduce_table(Session *s) {
#ifdef __x86_64__
    int level = session_cpu_level(s);
    return level >= 2 ? &fold_table_2 : level == 1 ? &fold_table_1 : &fold_table_0;
#else
    (void)s;
    return &fold_table_0;
#endif
}

typedef struct ReduceDims {
    int n;
    int64_t shape[MAX_NDIM], in[MAX_NDIM], out[MAX_NDIM]; /* strides in bytes */
} ReduceDims;

typedef struct Reduction {
    const ReduceTable *table;
    ReduceSpec f;
    DType dtype;
    size_t item, loaded; /* bytes of an element in memory, and as the loops load it */
    const char *x;
    const Pieces *pieces; /* replaces x; NULL: none */
    void (*rest)(const double *sum, const void *x, size_t n,
                 double *acc); /* the pieces' sums can be had; NULL: no */
    bool sums;                 /* of columns and short runs, too */
    char *out;
    ReduceDims kept, red;            /* without the innermost dim of `kept`: */
    int64_t wide, wide_in, wide_out; /* the innermost dim of `kept` */
    bool by_rows;
    bool touches;    /* rows are read once more before they are combined */
    bool ends_early; /* an accumulator that is `decided` stays so */
    uint8_t decided;
    int64_t parts; /* accumulators per output, adjacent in `wide` */
    int64_t width, strips,
        groups; /* outputs are processed in groups of at most `width` along `wide` */
    int64_t inner, inner_in; /* the innermost dim of `red`, which also still has it */
    int64_t count, segment, nsegment, block;
    int64_t window; /* for pieces: rows, or elements of a run, computed per request */
    size_t made_at; /* offset of the window in a worker's memory */
    char *partial;  /* [segment][output], if there are several segments */
    char *work;     /* per worker */
    size_t work_size, acc_bytes;
    int64_t tasks, per_chunk;
} Reduction;

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

/* ---- blocks ---- */
static void load_row(const Reduction *j, char *to, const char *x, int64_t n,
                     int64_t step) {
    if (j->dtype == DT_FLOAT16 && j->f.loops->load == DT_FLOAT32) {
        j->table->half(x, step, (size_t)n, (float *)(void *)to);
    } else if (j->f.loops->load != DT_NONE) {
        tensor_cast_elements(j->f.loops->load, to, j->dtype, x, (size_t)n,
                             (ptrdiff_t)j->loaded, step);
    } else {
        int64_t dst = (int64_t)j->item;
        move_strided(NULL, j->item, 1, &n, to, &dst, x, &step);
    }
}

static bool reads_without_load(const Reduction *j, int64_t step) {
    return j->f.loops->load == DT_NONE && step == (int64_t)j->item;
}

/* Reads a part of each cache line, in the order of memory. */
static void touch_lines(const char *x, size_t n) {
    enum { LINE = 64 };
    for (size_t i = 0; i < n; i += LINE)
        (void)*(const volatile char *)(x + i);
}

/* n elements, or n rows of `width`, `step` bytes apart. */
typedef struct ReduceBlock {
    const char *x;
    int64_t step, n, width;
} ReduceBlock;

static void reduce_block(const Reduction *j, char *buffer, const ReduceBlock *b,
                         void *acc) {
    const char *x = b->x;
    int64_t n = b->n, width = b->width, step = b->step;
    if (!j->by_rows) {
        const char *from = x;
        if (!reads_without_load(j, j->inner_in)) {
            load_row(j, buffer, x, n, j->inner_in);
            from = buffer;
        }
        j->f.loops->runs(from, 0, 1, (size_t)n, acc);
        return;
    }
    if (reads_without_load(j, j->wide_in)) {
        if (j->touches) touch_lines(x, (size_t)(n * step));
        j->f.loops->rows(x, step, (size_t)n, (size_t)width, acc);
        return;
    }
    int64_t row = width * (int64_t)j->loaded;
    for (int64_t r = 0; r < n; r++)
        load_row(j, buffer + r * row, x + r * step, width, j->wide_in);
    j->f.loops->rows(buffer, row, (size_t)n, (size_t)width, acc);
}

/* ---- a range of reduced elements, by a binary counter ---- */
enum { LEVELS = 40 };
typedef struct ReduceWorker {
    char *work;
    unsigned number;
} ReduceWorker;
typedef struct PartialStack {
    const Reduction *j;
    int64_t width;
    size_t step;
    char *slot;
    int top;
    uint64_t pushed;
    double count[LEVELS];
} PartialStack;

static void stack_join_top(PartialStack *s) {
    s->top--;
    s->j->f.loops->join(s->slot + (size_t)(s->top - 1) * s->step,
                        s->slot + (size_t)s->top * s->step, (size_t)s->width,
                        s->count[s->top - 1], s->count[s->top]);
    s->count[s->top - 1] += s->count[s->top];
}

static void *stack_top(const PartialStack *s) {
    return s->slot + (size_t)s->top * s->step;
}

/* stack_top is the reduction of n more elements. */
static void stack_push(PartialStack *s, int64_t n) {
    s->count[s->top++] = (double)n;
    s->pushed++;
    for (uint64_t carry = s->pushed; (carry & 1) == 0; carry >>= 1)
        stack_join_top(s);
}

/* Will what follows leave the latest partial result as it is, and those before it? */
static bool is_decided(PartialStack *s) {
    const char *top = s->slot + (size_t)(s->top - 1) * s->step;
    return *(const uint8_t *)top == s->j->decided;
}

/* The byte distance to the next run of red's innermost dim. */
static int64_t next_inner(const ReduceDims *red, int64_t *index) {
    int64_t bytes = 0;
    for (int k = red->n - 2; k >= 0; k--) {
        bytes += red->in[k];
        if (++index[k] < red->shape[k]) break;
        bytes -= red->in[k] * red->shape[k];
        index[k] = 0;
    }
    return bytes;
}

/* The offset of the run that contains element `at` of the reduced dims; *skip: the
 * position within it. */
static int64_t find_inner(const Reduction *j, int64_t at, int64_t *index,
                          int64_t *skip) {
    int64_t bytes = 0;
    *skip = 0;
    if (at == 0) {
        memset(index, 0, (size_t)j->red.n * sizeof *index);
        return 0;
    }
    *skip = at % j->inner;
    at /= j->inner;
    for (int k = j->red.n - 2; k >= 0; k--) {
        index[k] = at % j->red.shape[k];
        bytes += index[k] * j->red.in[k];
        at /= j->red.shape[k];
    }
    return bytes;
}

/* Reduced elements computed by one request. */
typedef struct ElementWindow {
    const char *x;
    ptrdiff_t step;
    int64_t first, last;
} ElementWindow;

/* Computes at most n elements, from reduced element `at`, which is at x. */
static ElementWindow make_window(const Reduction *j, const ReduceWorker *w, int64_t x,
                                 int64_t width, int64_t at, int64_t n) {
    int64_t item = (int64_t)j->item;
    ElementWindow to;
    if (n > j->window) n = j->window;
    Piece p = {x / item, 1, 0, n};
    if (j->by_rows) p = (Piece){x / item, n, j->inner_in / item, width};
    to.x =
        j->pieces->make(j->pieces->ctx, w->number, &p, w->work + j->made_at, &to.step);
    if (!j->by_rows) to.step = item;
    to.first = at;
    to.last = at + n;
    return to;
}

/* The sum of n elements that are computed, at most a block, from flat index `at` on. */
static void sum_made(const Reduction *j, const ReduceWorker *w, int64_t at, int64_t n,
                     void *acc) {
    _Alignas(64) double sum[PIECE_SUMS];
    j->table->begin_sums(sum);
    int64_t have =
        n < SUM_MIN ? 0 : j->pieces->add(j->pieces->ctx, w->number, at, n, sum);
    const char *x = NULL;
    ptrdiff_t step;
    Piece p = {at + have, 1, 0, n - have};
    if (p.n)
        x = j->pieces->make(j->pieces->ctx, w->number, &p, w->work + j->made_at, &step);
    if (have)
        j->rest(sum, x, (size_t)p.n, acc);
    else
        j->f.loops->runs(x, 0, 1, (size_t)n, acc);
}

/* The sums of `width` columns of n rows, at most a block, which are computed; false:
 * all else must be tried. */
static bool sum_rows(const Reduction *j, const ReduceWorker *w, int64_t x, int64_t n,
                     int64_t width, void *acc) {
    int64_t item = (int64_t)j->item;
    Piece p = {x / item, n, j->inner_in / item, width};
    return j->sums && j->by_rows && j->pieces->sum_rows &&
           j->pieces->sum_rows(j->pieces->ctx, w->number, &p, acc);
}

/* The reduced elements [begin, end) of `width` outputs, the first of which is at x. */
typedef struct ReduceRange {
    int64_t x, width, begin, end;
} ReduceRange;

static void reduce_range(const Reduction *j, const ReduceWorker *w, ReduceRange r,
                         void *acc) {
    int64_t x = r.x, width = r.width;
    size_t step = (size_t)width * j->f.loops->acc_size;
    PartialStack s = {.j = j, .width = width, .step = step, .slot = w->work};
    char *buffer = w->work + j->acc_bytes;
    ElementWindow made = {0};
    int64_t index[MAX_NDIM], skip;
    x += find_inner(j, r.begin, index, &skip);
    for (int64_t at = r.begin; at < r.end;) {
        int64_t left = j->inner - skip, n = j->block, from = x + skip * j->inner_in;
        if (left > r.end - at) left = r.end - at;
        if (n > left) n = left;
        ReduceBlock b = {j->pieces ? NULL : j->x + from, j->inner_in, n, width};
        if (j->rest) {
            sum_made(j, w, from / (int64_t)j->item, n, stack_top(&s));
        } else if (at < made.last || !sum_rows(j, w, from, n, width, stack_top(&s))) {
            if (j->pieces && at >= made.last)
                made = make_window(j, w, from, width, at, left);
            if (j->pieces) b.x = made.x + (at - made.first) * made.step;
            if (j->pieces) b.step = made.step;
            reduce_block(j, buffer, &b, stack_top(&s));
        }
        stack_push(&s, n);
        if (j->ends_early && width == 1 && is_decided(&s)) break;
        at += n;
        skip += n;
        if (skip < j->inner) continue;
        skip = 0;
        x += next_inner(&j->red, index);
    }
    while (s.top > 1)
        stack_join_top(&s);
    memcpy(acc, w->work, step);
}

/* ---- groups of outputs ---- */
static inline __attribute__((always_inline)) void
take_parts(char *to, const char *acc, size_t n, size_t step, size_t size) {
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * size, acc + i * step, size);
}

/* Transposes accumulators: those with number k of all outputs become adjacent, for each
 * k. */
static void sort_parts(char *to, const char *acc, size_t n, size_t parts, size_t size) {
    for (size_t k = 0; k < parts; k++, acc += size, to += n * size)
        switch (size) { /* constant sizes compile to plain copies */
        case 4:
            take_parts(to, acc, n, parts * size, 4);
            break;
        case 8:
            take_parts(to, acc, n, parts * size, 8);
            break;
        case 16:
            take_parts(to, acc, n, parts * size, 16);
            break;
        default:
            take_parts(to, acc, n, parts * size, size);
        }
}

/* `room`: a worker's workspace, as large as acc. */
static void finish_group(const Reduction *j, int64_t group, char *acc, char *room) {
    int64_t first = group % j->strips * j->width,
            n = j->wide - first < j->width ? j->wide - first : j->width;
    size_t size = j->f.loops->acc_size;
    first /= j->parts;
    n /= j->parts;
    char *out = j->out +
                move_offset(j->kept.n, j->kept.shape, j->kept.out, group / j->strips) +
                first * j->wide_out;
    if (j->parts > 1) {
        sort_parts(room, acc, (size_t)n, (size_t)j->parts, size);
        acc = room;
    }
    for (int64_t k = 1; k < j->parts; k++)
        j->f.loops->join(acc, acc + (size_t)(k * n) * size, (size_t)n,
                         (double)(k * j->count), (double)j->count);
    j->f.finish(&j->f, acc, (size_t)n, out, j->wide_out);
}

/* n outputs of one run each; in pieces, the runs are consecutive. */
static void reduce_short(const Reduction *j, const ReduceWorker *w, int64_t x,
                         int64_t n, void *acc) {
    const char *from = j->pieces ? NULL : j->x + x;
    int64_t step = j->wide_in;
    if (j->rest && j->count >= SUM_MIN) {
        for (int64_t i = 0; i < n; i++)
            sum_made(j, w, x / (int64_t)j->item + i * j->count, j->count,
                     (double *)acc + i);
        return;
    }
    if (j->sums && j->count < IN_ORDER && j->pieces->sum_runs &&
        j->pieces->sum_runs(j->pieces->ctx, w->number, x / (int64_t)j->item, n,
                            j->count, acc))
        return;
    if (j->pieces) {
        ptrdiff_t row;
        Piece p = {x / (int64_t)j->item, 1, 0, n * j->count};
        from =
            j->pieces->make(j->pieces->ctx, w->number, &p, w->work + j->made_at, &row);
    }
    if (j->f.loops->load != DT_NONE) {
        char *buffer = w->work + j->acc_bytes;
        load_row(j, buffer, from, n * j->count, (int64_t)j->item);
        from = buffer;
        step = j->count * (int64_t)j->loaded;
    }
    j->f.loops->runs(from, step, (size_t)n, (size_t)j->count, acc);
}

static bool is_short(const Reduction *j) {
    return !j->by_rows && j->count == j->inner && j->count <= j->block &&
           (j->pieces || reads_without_load(j, j->inner_in));
}

static void reduce_group(const Reduction *j, const ReduceWorker *w, int64_t group,
                         int64_t segment) {
    int64_t outer = group / j->strips, first = group % j->strips * j->width;
    int64_t n = j->wide - first < j->width ? j->wide - first : j->width;
    int64_t begin = segment * j->segment,
            end = begin + j->segment < j->count ? begin + j->segment : j->count;
    size_t size = j->f.loops->acc_size;
    int64_t x =
        move_offset(j->kept.n, j->kept.shape, j->kept.in, outer) + first * j->wide_in;
    char *acc = j->nsegment > 1
                    ? j->partial + ((size_t)(segment * j->groups) + (size_t)group) *
                                       (size_t)j->width * size
                    : w->work + j->work_size - (size_t)j->width * size;
    if (j->by_rows)
        reduce_range(j, w, (ReduceRange){x, n, begin, end}, acc);
    else if (is_short(j))
        reduce_short(j, w, x, n, acc);
    else
        for (int64_t i = 0; i < n; i++)
            reduce_range(j, w, (ReduceRange){x + i * j->wide_in, 1, begin, end},
                         acc + (size_t)i * size);
    if (j->nsegment == 1) finish_group(j, group, acc, w->work);
}

static void reduce_chunk(void *ctx, size_t chunk, unsigned worker) {
    const Reduction *j = ctx;
    const ReduceWorker w = {j->work + worker * j->work_size, worker};
    int64_t t = (int64_t)chunk * j->per_chunk,
            end = t + j->per_chunk < j->tasks ? t + j->per_chunk : j->tasks;
    for (; t < end; t++)
        reduce_group(j, &w, t / j->nsegment, t % j->nsegment);
}

/* Combines the segments' partials in order. */
static void join_segments(const Reduction *j) {
    size_t width = (size_t)j->width, all = width * (size_t)j->groups,
           step = all * j->f.loops->acc_size;
    for (int64_t g = 1; g < j->nsegment; g++) {
        double have = (double)(g * j->segment),
               last = (double)(j->count - g * j->segment);
        double more = last < (double)j->segment ? last : (double)j->segment;
        j->f.loops->join(j->partial, j->partial + (size_t)g * step, all, have, more);
    }
    for (int64_t g = 0; g < j->groups; g++)
        finish_group(j, g, j->partial + (size_t)g * width * j->f.loops->acc_size,
                     j->work);
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
    if (!j->by_rows && !is_short(j)) most = j->width;
    if (j->width > most) j->width = most > 0 ? most : 1;
    j->window = j->block;
    if (!j->by_rows) return (size_t)(RUN * item);
    int64_t rows = WINDOW_BYTES / (j->width * item) / j->block;
    j->window *= rows > 0 ? rows : 1;
    return (size_t)(j->window * j->width * item);
}

static void plan_work(Reduction *j) {
    j->width = j->by_rows ? STRIP : BATCH;
    if (j->width > j->wide) j->width = j->wide;
    j->block = j->by_rows ? ROWS : j->loaded < 8 ? RUN : RUN_WIDE;
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
    size_t buffer = j->by_rows ? (size_t)j->width * ROWS * j->loaded : RUN * j->loaded;
    bool direct = reads_without_load(j, j->by_rows ? j->wide_in : j->inner_in);
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
    if (j->nsegment > 1) join_segments(j);
    return true;
}

/* Counting from the last dim, adjacent dims that are all reduced or all kept form a
 * group. One request can cover the last group if it is reduced, the last two if it is
 * kept, and several of these if there are at most two groups. */
bool reduce_streams(Session *s, const Op *op, const Props *p, DType d, int ndim,
                    const int64_t *dim) {
    (void)d;
    bool flag[MAX_NDIM], last = false;
    int64_t size[2] = {1, 1};
    int n = 0;
    shape_axes_flags(op_prop(s, op, p, "axis"), ndim, flag);
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

bool reduce_call(Call *c, ReduceKind kind, const Tensor *x, const bool flag[MAX_NDIM],
                 bool keepdims, ReduceSpec f) {
    Tensor in = *x; /* the output may overwrite the input's struct */
    Reduction j = {.table = reduce_table(c->s),
                   .f = f,
                   .dtype = in.dtype,
                   .item = dtype_size(in.dtype),
                   .pieces = c->pieces};
    /* what is computed on demand may fail, later elements too */
    j.ends_early = (kind == FOLD_ANY || kind == FOLD_ALL) && !c->pieces;
    j.decided = kind == FOLD_ANY;
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
