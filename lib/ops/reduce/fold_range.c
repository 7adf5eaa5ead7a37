/* Reduces a range of elements to one output, or to a row of them. Each block of it
 * (rows, or elements of a run, as many as were planned) yields a partial result, and
 * partials are combined pairwise like the carries of a binary counter, so that rounding
 * errors grow with the logarithm of the count.
 *
 * Elements computed on demand (Pieces) follow the same path: one window at a time is
 * computed instead of being read from memory, and the result has the same bits. Sums of
 * runs may be taken as the elements are computed, in the lanes of the loops of sums. */
#include "ops/reduce/fold.h"
#include "ops/shape/move.h"

#include <string.h>

/* ---- blocks ---- */
void reduce_load_row(const Reduction *j, char *to, const char *x, int64_t n,
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

/* n rows that follow each other, elements as the loops load them. Narrow ones are read
 * as a few rows of NARROW_ROWS of them, whose results are then joined in order, and
 * with what is left. */
static void reduce_narrow(const Reduction *j, const char *x, int64_t n, int64_t width,
                          char *acc) {
    enum { ACC_MOST = 16 };
    _Alignas(64) char part[NARROW_ROWS * NARROW_MOST * ACC_MOST];
    const ReduceLoops *f = j->f.loops;
    int64_t row = width * (int64_t)j->loaded, whole = n / NARROW_ROWS,
            left = n % NARROW_ROWS;
    size_t one = (size_t)width * f->acc_size;
    f->rows(x, row * NARROW_ROWS, (size_t)whole, (size_t)(width * NARROW_ROWS), part);
    for (size_t k = 1; k < NARROW_ROWS; k *= 2)
        for (size_t i = 0; i < NARROW_ROWS; i += 2 * k)
            f->join(part + i * one, part + (i + k) * one, (size_t)width,
                    (double)whole * (double)k, (double)whole * (double)k);
    memcpy(acc, part, one);
    if (!left) return;
    f->rows(x + (n - left) * row, row, (size_t)left, (size_t)width, part);
    f->join(acc, part, (size_t)width, (double)(n - left), (double)left);
}

/* One after the other, without gaps. */
static void load_rows(const Reduction *j, char *to, const ReduceBlock *b) {
    int64_t row = b->width * (int64_t)j->loaded, n = b->n;
    if (j->f.loops->load == DT_NONE) {
        const int64_t shape[2] = {n, b->width}, dst[2] = {row, (int64_t)j->item},
                      src[2] = {b->step, j->wide_in};
        move_strided(NULL, j->item, 2, shape, to, dst, b->x, src);
    } else if (b->step == b->width * j->wide_in) {
        reduce_load_row(j, to, b->x, n * b->width, j->wide_in);
    } else {
        for (int64_t r = 0; r < n; r++)
            reduce_load_row(j, to + r * row, b->x + r * b->step, b->width, j->wide_in);
    }
}

static void reduce_block(const Reduction *j, char *buffer, const ReduceBlock *b,
                         void *acc) {
    const char *x = b->x;
    int64_t n = b->n, width = b->width, step = b->step;
    if (!j->by_rows) {
        const char *from = x;
        if (!reads_without_load(j, j->inner_in)) {
            reduce_load_row(j, buffer, x, n, j->inner_in);
            from = buffer;
        }
        j->f.loops->runs(from, 0, 1, (size_t)n, acc);
        return;
    }
    bool narrow = j->narrow && n >= NARROW_FEWEST;
    if (narrow && reads_without_load(j, j->wide_in) && step == width * j->wide_in) {
        reduce_narrow(j, x, n, width, acc);
        return;
    }
    if (reads_without_load(j, j->wide_in) && !narrow) {
        if (j->touches) touch_lines(x, (size_t)(n * step));
        j->f.loops->rows(x, step, (size_t)n, (size_t)width, acc);
        return;
    }
    load_rows(j, buffer, b);
    if (narrow)
        reduce_narrow(j, buffer, n, width, acc);
    else
        j->f.loops->rows(buffer, width * (int64_t)j->loaded, (size_t)n, (size_t)width,
                         acc);
}

/* ---- a range of reduced elements, by a binary counter ---- */
enum { LEVELS = 40 };
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

void reduce_sum_made(const Reduction *j, const ReduceWorker *w, int64_t at, int64_t n,
                     void *acc) {
    _Alignas(64) double sum[PIECE_SUMS];
    j->table->begin_sums(sum);
    int64_t have =
        adds_made(j, n) ? j->pieces->add(j->pieces->ctx, w->number, at, n, sum) : 0;
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
    return j->sums && j->by_rows && !j->narrow && j->pieces->sum_rows &&
           j->pieces->sum_rows(j->pieces->ctx, w->number, &p, acc);
}

void reduce_range(const Reduction *j, const ReduceWorker *w, ReduceRange r, void *acc) {
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
            reduce_sum_made(j, w, from / (int64_t)j->item, n, stack_top(&s));
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
