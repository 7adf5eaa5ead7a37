/* Walks the lines of running sums, products, extremes and recurrences: in groups of
 * adjacent ones, by the loops of cumulate.h where these read and write the dtypes and
 * the layout, else converted on the way. */
#include "ops/reduce/cumulate.h"
#include "ops/shape/move.h"

#include <math.h>
#include <string.h>

enum {
    STRIP = 64,      /* lines of a group, where there are many */
    NARROW = 3,      /* lines that are better read one by one, though packed */
    FEW = 8,         /* the same where elements are converted, */
    FEW_LOGS = 31,   /* and of logarithms */
    SHORT = 16,      /* elements of a line for which a block isn't worth its costs */
    CHUNK = 1 << 15, /* elements for which a thread is */
};

/* A scan along one axis of tensors of equal shape. */
typedef struct CumLines {
    int ndim; /* without the axis */
    int64_t shape[MAX_NDIM], x[MAX_NDIM], y[MAX_NDIM], out[MAX_NDIM];
    int64_t n, x_step, y_step, out_step; /* along the axis; negative if reversed */
} CumLines;

typedef struct Cumulation {
    CumKind what;
    DType acc, load, store; /* dtype of the state, of x and y, and of the output */
    bool exclusive, reverse;
    CumLines l;
    const char *x, *y;
    char *out;
    const CumTable *table;
    const CumLoops *loops; /* NULL: elements are converted */
    /* lines of a group; groups of the innermost kept dim, of all, of a chunk */
    int64_t strip, columns, lines, per_chunk;
} Cumulation;

/* One step for k columns: updates the state from the loaded rows x and y. Integers are
 * unsigned, so they wrap. */
#define STEP(NAME, T, MUL)                                                             \
    static void step_##NAME(CumKind what, T *s, const T *x, const T *y, int64_t k) {   \
        for (int64_t i = 0; i < k; i++)                                                \
            s[i] = what == RUN_SUM    ? s[i] + x[i]                                    \
                   : what == RUN_PROD ? MUL(s[i], x[i])                                \
                                      : MUL(x[i], s[i]) + y[i];                        \
    }
#define TIMES(a, b) ((a) * (b))
STEP(u64, uint64_t, TIMES)
STEP(f64, double, TIMES)
STEP(c128, c128, c128_mul)

/* nan wins, and stays. */
#define BEYOND(what, x, s) ((what) == RUN_MAX ? (x) > (s) : (x) < (s))
#define EXTREME(NAME, T)                                                               \
    static void extreme_##NAME(CumKind what, T *s, const T *x, int64_t k) {            \
        for (int64_t i = 0; i < k; i++)                                                \
            if (BEYOND(what, x[i], s[i]) || x[i] != x[i]) s[i] = x[i];                 \
    }                                                                                  \
    static void extreme_along_##NAME(CumKind what, T *state, const T *x, T *to,        \
                                     int64_t n) {                                      \
        T s = *state;                                                                  \
        for (int64_t i = 0; i < n; i++)                                                \
            to[i] = s = BEYOND(what, x[i], s) || x[i] != x[i] ? x[i] : s;              \
        *state = s;                                                                    \
    }
EXTREME(u64, uint64_t)
EXTREME(i64, int64_t)
EXTREME(f64, double)

typedef union CumRow {
    uint64_t u[CUM_LINES];
    int64_t i[CUM_LINES];
    double f[CUM_LINES];
    c128 c[CUM_LINES];
} CumRow;

static void step_row(const Cumulation *j, CumRow *s, const CumRow *x, const CumRow *y,
                     int64_t k) {
    bool extreme = j->what == RUN_MAX || j->what == RUN_MIN;
    if (extreme && j->acc == DT_FLOAT64)
        extreme_f64(j->what, s->f, x->f, k);
    else if (extreme && j->acc == DT_INT64)
        extreme_i64(j->what, s->i, x->i, k);
    else if (extreme)
        extreme_u64(j->what, s->u, x->u, k);
    else if (j->acc == DT_FLOAT64)
        step_f64(j->what, s->f, x->f, y->f, k);
    else if (j->acc == DT_COMPLEX128)
        step_c128(j->what, s->c, x->c, y->c, k);
    else
        step_u64(j->what, s->u, x->u, y->u, k);
}

static void start_row(const Cumulation *j, CumRow *s, int64_t k) {
    double v = j->what == RUN_PROD  ? 1
               : j->what == RUN_MAX ? -(double)INFINITY
               : j->what == RUN_MIN ? (double)INFINITY
                                    : 0;
    int64_t lowest = j->what == RUN_MAX ? INT64_MIN : INT64_MAX;
    bool whole = j->what >= RUN_MAX && j->acc != DT_FLOAT64;
    if (whole && j->acc == DT_UINT64) lowest = j->what == RUN_MAX ? 0 : -1;
    tensor_cast_elements(j->acc, s, whole ? j->acc : DT_FLOAT64,
                         whole ? (void *)&lowest : (void *)&v, (size_t)k,
                         (ptrdiff_t)dtype_size(j->acc), 0);
}

static void load_row(const Cumulation *j, CumRow *to, const char *x, int64_t next,
                     int64_t k) {
    tensor_cast_elements(j->acc, to, j->load, x, (size_t)k,
                         (ptrdiff_t)dtype_size(j->acc), next);
}
static void store_row(const Cumulation *j, char *out, int64_t next, const CumRow *from,
                      int64_t k) {
    tensor_cast_elements(j->store, out, j->acc, from, (size_t)k, next,
                         (ptrdiff_t)dtype_size(j->acc));
}

static void cumulate_lines(const Cumulation *j, const CumGroup *g) {
    CumRow state, xv, yv;
    int64_t k = g->lines;
    start_row(j, &state, k);
    for (int64_t i = 0; i < g->n; i++) {
        char *out = g->out + i * g->out_step;
        if (j->exclusive) store_row(j, out, g->out_next, &state, k);
        load_row(j, &xv, g->x + i * g->x_step, g->x_next, k);
        if (j->what == RUN_RECURRENCE)
            load_row(j, i ? &yv : &state, g->y + i * g->y_step, g->y_next, k);
        if (i || j->what != RUN_RECURRENCE) step_row(j, &state, &xv, &yv, k);
        if (!j->exclusive) store_row(j, out, g->out_next, &state, k);
    }
}

static void exponents_of_lines(const Cumulation *j, const CumGroup *g) {
    CumRow most, rest, x, to;
    size_t k = ((size_t)g->lines + 7) / 8 * 8; /* vectors are whole */
    for (size_t i = 0; i < k; i++)
        most.f[i] = -(double)INFINITY, rest.f[i] = -1, x.f[i] = 0;
    for (int64_t i = 0; i < g->n; i++) {
        load_row(j, &x, g->x + i * g->x_step, g->x_next, g->lines);
        j->table->exponents_across(most.f, rest.f, x.f, to.f, k);
        store_row(j, g->out + i * g->out_step, g->out_next, &to, g->lines);
    }
}

/* ---- one line ---- */
/* The loop for n steps; `to`, what is stored, may be x or y. With `first` the state is
 * still unset: a recurrence begins with y. */
#define EACH(NEXT)                                                                     \
    for (; i < n; i++) {                                                               \
        before = s;                                                                    \
        s = NEXT;                                                                      \
        to[i] = exclusive ? before : s;                                                \
    }                                                                                  \
    break
#define ALONG(NAME, T, MUL)                                                            \
    static void along_##NAME(CumKind what, bool exclusive, bool first, T *state,       \
                             const T *x, const T *y, T *to, int64_t n) {               \
        T s = *state, before;                                                          \
        int64_t i = 0;                                                                 \
        switch (what) {                                                                \
        case RUN_SUM:                                                                  \
            EACH(s + x[i]);                                                            \
        case RUN_PROD:                                                                 \
            EACH(MUL(s, x[i]));                                                        \
        case RUN_RECURRENCE:                                                           \
            if (first) to[i] = s = y[i], i++;                                          \
            EACH(MUL(x[i], s) + y[i]);                                                 \
        case RUN_LOGSUMEXP:                                                            \
        case RUN_MAX:                                                                  \
        case RUN_MIN:                                                                  \
            break;                                                                     \
        }                                                                              \
        *state = s;                                                                    \
    }
ALONG(u64, uint64_t, TIMES)
ALONG(f64, double, TIMES)
ALONG(c128, c128, c128_mul)

typedef union CumBlock {
    uint64_t u[CUM_BLOCK];
    int64_t i[CUM_BLOCK];
    double f[CUM_BLOCK];
    c128 c[CUM_BLOCK];
} CumBlock;

static void along_block(const Cumulation *j, bool first, CumRow *s, const CumBlock *x,
                        const CumBlock *y, CumBlock *to, int64_t n) {
    bool extreme = j->what == RUN_MAX || j->what == RUN_MIN;
    if (j->what == RUN_LOGSUMEXP)
        j->table->exponents_along(&s->f[0], &s->f[1], x->f, to->f, (size_t)n);
    else if (extreme && j->acc == DT_FLOAT64)
        extreme_along_f64(j->what, s->f, x->f, to->f, n);
    else if (extreme && j->acc == DT_INT64)
        extreme_along_i64(j->what, s->i, x->i, to->i, n);
    else if (extreme)
        extreme_along_u64(j->what, s->u, x->u, to->u, n);
    else if (j->acc == DT_FLOAT64)
        along_f64(j->what, j->exclusive, first, s->f, x->f, y->f, to->f, n);
    else if (j->acc == DT_COMPLEX128)
        along_c128(j->what, j->exclusive, first, s->c, x->c, y->c, to->c, n);
    else
        along_u64(j->what, j->exclusive, first, s->u, x->u, y->u, to->u, n);
}

/* Are elements of dtype d, `step` bytes apart, what the state is made of, and packed?
 */
static bool is_direct(const Cumulation *j, DType d, const void *p, int64_t step) {
    size_t size = dtype_size(j->acc);
    return step == (int64_t)size && dtype_size(d) == size && (uintptr_t)p % 8 == 0 &&
           dtype_is_discrete(d) == dtype_is_discrete(j->acc);
}

/* A block of inputs as the loops take them: where they are, or converted in `room`. */
static const CumBlock *load_line(const Cumulation *j, const char *x, int64_t step,
                                 int64_t n, CumBlock *room) {
    if (is_direct(j, j->load, x, step)) return (const CumBlock *)(const void *)x;
    tensor_cast_elements(j->acc, room, j->load, x, (size_t)n,
                         (ptrdiff_t)dtype_size(j->acc), step);
    return room;
}

static void cumulate_line(const Cumulation *j, const CumGroup *g, int64_t line) {
    CumRow state;
    CumBlock xv, yv;
    const CumBlock *from, *with = &yv;
    const char *x = g->x + line * g->x_next, *y = g->y + line * g->y_next;
    char *out = g->out + line * g->out_next;
    bool direct = is_direct(j, j->store, out, g->out_step);
    start_row(j, &state, 1);
    if (j->what == RUN_LOGSUMEXP) state.f[0] = -(double)INFINITY, state.f[1] = -1;
    for (int64_t at = 0; at < g->n; at += CUM_BLOCK) {
        int64_t n = g->n - at < CUM_BLOCK ? g->n - at : CUM_BLOCK;
        char *to = out + at * g->out_step;
        from = load_line(j, x + at * g->x_step, g->x_step, n, &xv);
        if (j->what == RUN_RECURRENCE)
            with = load_line(j, y + at * g->y_step, g->y_step, n, &yv);
        along_block(j, at == 0, &state, from, with,
                    direct ? (CumBlock *)(void *)to : &xv, n);
        if (!direct)
            tensor_cast_elements(j->store, to, j->acc, &xv, (size_t)n, g->out_step,
                                 (ptrdiff_t)dtype_size(j->acc));
    }
}

static bool is_along(int64_t step, int64_t across) {
    return (step < 0 ? -step : step) < (across < 0 ? -across : across);
}

/* Do elements of dtype d lie where their type may? */
static bool is_aligned(DType d, const char *p, int64_t step, int64_t next) {
    uint64_t part = dtype_size(d) / (dtype_is_complex(d) ? 2 : 1);
    return (((uintptr_t)p | (uint64_t)step | (uint64_t)next) & (part - 1)) == 0;
}
static bool has_loops(const Cumulation *j, const CumGroup *g) {
    return j->loops && is_aligned(j->load, g->x, g->x_step, g->x_next) &&
           is_aligned(j->load, g->y, g->y_step, g->y_next) &&
           is_aligned(j->store, g->out, g->out_step, g->out_next);
}
static bool is_packed(const Cumulation *j, const CumGroup *g) {
    int64_t size = (int64_t)dtype_size(j->load);
    return g->x_next == size && g->y_next == size &&
           g->out_next == (int64_t)dtype_size(j->store);
}

static void cumulate_group(const Cumulation *j, const CumGroup *g) {
    bool across = !is_along(g->x_step, g->x_next);
    int64_t few = j->what == RUN_LOGSUMEXP ? FEW_LOGS : FEW;
    if (has_loops(j, g)) {
        bool packed = across && g->lines > NARROW && is_packed(j, g);
        (packed ? j->loops->across : j->loops->along)(g);
    } else if (j->what == RUN_LOGSUMEXP &&
               (g->n < SHORT || (g->lines > few && across))) {
        exponents_of_lines(j, g);
    } else if (g->n < SHORT || (g->lines > few && across)) {
        cumulate_lines(j, g);
    } else {
        for (int64_t i = 0; i < g->lines; i++)
            cumulate_line(j, g, i);
    }
}

static void cumulate_chunk(void *ctx, size_t chunk, unsigned worker) {
    (void)worker;
    const Cumulation *j = ctx;
    const CumLines *l = &j->l;
    int64_t at = (int64_t)chunk * j->per_chunk,
            end = at + j->per_chunk < j->lines ? at + j->per_chunk : j->lines;
    int last = l->ndim - 1;
    int64_t wide = last < 0 ? 1 : l->shape[last];
    for (; at < end; at++) {
        int64_t rest = at / j->columns, first = at % j->columns * j->strip;
        CumGroup g = {.what = j->what,
                      .exclusive = j->exclusive,
                      .x = j->x,
                      .y = j->y,
                      .out = j->out,
                      .n = l->n,
                      .x_step = l->x_step,
                      .y_step = l->y_step,
                      .out_step = l->out_step};
        for (int k = last - 1; k >= 0; k--) {
            int64_t i = rest % l->shape[k];
            rest /= l->shape[k];
            g.x += i * l->x[k];
            g.y += i * l->y[k];
            g.out += i * l->out[k];
        }
        if (last >= 0) {
            g.x += first * (g.x_next = l->x[last]);
            g.y += first * (g.y_next = l->y[last]);
            g.out += first * (g.out_next = l->out[last]);
        }
        g.lines = wide - first < j->strip ? wide - first : j->strip;
        cumulate_group(j, &g);
    }
}

static const CumTable *cum_table(Session *s) {
    return FOR_CPU_LEVEL(s, cum_table);
}

/* Groups are wide where that leaves several: rows of one are read in one go. */
static void share_lines(Call *c, Cumulation *j) {
    const CumLines *l = &j->l;
    int64_t wide = l->ndim ? l->shape[l->ndim - 1] : 1;
    int64_t outer = move_count(l->ndim ? l->ndim - 1 : 0, l->shape);
    for (j->strip = CUM_LINES; j->strip > STRIP && outer * (wide / j->strip) < 16;)
        j->strip /= 2;
    j->columns = (wide + j->strip - 1) / j->strip;
    j->lines = outer * j->columns;
    int64_t each = l->n * (wide < j->strip ? wide : j->strip);
    j->per_chunk = each < CHUNK ? CHUNK / each + 1 : 1;
    int64_t chunks = (j->lines + j->per_chunk - 1) / j->per_chunk;
    if (move_pool(c) && chunks > 1) {
        pool_run(move_pool(c), (size_t)chunks, cumulate_chunk, j);
    } else {
        j->per_chunk = j->lines;
        cumulate_chunk(j, 0, 0);
    }
}

void cumulate(Call *c, const CumSpec *f, const Tensor *x, const Tensor *y,
              const Tensor *out, int axis) {
    Cumulation job = {.what = f->what,
                      .acc = f->acc,
                      .load = x->dtype,
                      .store = out->dtype,
                      .exclusive = f->exclusive,
                      .reverse = f->reverse,
                      .table = cum_table(c->s)},
               *j = &job;
    CumLines *l = &j->l;
    if (tensor_size(out) == 0) return;
    for (int k = 0; k < x->ndim; k++) {
        if (k == axis) continue;
        l->shape[l->ndim] = x->shape[k];
        l->x[l->ndim] = x->stride[k];
        l->y[l->ndim] = y->stride[k];
        l->out[l->ndim++] = out->stride[k];
    }
    l->n = x->shape[axis];
    l->x_step = x->stride[axis];
    l->y_step = y->stride[axis];
    l->out_step = out->stride[axis];
    j->x = x->data;
    j->y = y->data;
    j->out = out->data;
    if (j->reverse) {
        j->x += (l->n - 1) * l->x_step;
        j->y += (l->n - 1) * l->y_step;
        j->out += (l->n - 1) * l->out_step;
        l->x_step = -l->x_step;
        l->y_step = -l->y_step;
        l->out_step = -l->out_step;
    }
    const CumLoops *loops =
        &(j->what >= RUN_MAX ? j->table->extreme : j->table->fold)[j->load];
    bool fits = loops->along && loops->store == j->store && j->what != RUN_LOGSUMEXP;
    j->loops = fits ? loops : NULL;
    share_lines(c, j);
}
