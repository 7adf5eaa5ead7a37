/* Running sums, products and extremes, and recurrence, s[i] = a[i] s[i - 1] + b[i].
 * With it the derivatives of cumprod (and so of prod) need no division: they are
 * correct where elements are zero, and can be differentiated again. */
#include "ops/reduce/reduce.h"
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "vmap/kit.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 64, NARROW = 8, SHORT = 16, BLOCK = 256, CHUNK = 1 << 15 };

/* A scan along one axis of tensors of equal shape. Lines are processed COLUMNS at a
 * time, or one by one if their elements are closer together than the lines, or if there
 * are few lines. */
typedef struct CumLines {
    int ndim; /* without the axis */
    int64_t shape[MAX_NDIM], x[MAX_NDIM], y[MAX_NDIM], out[MAX_NDIM];
    int64_t n, x_step, y_step, out_step; /* along the axis; negative if reversed */
} CumLines;

typedef enum CumKind {
    RUN_SUM,
    RUN_PROD,
    RUN_RECURRENCE,
    RUN_LOGSUMEXP, /* of floats only */
    RUN_MAX,
    RUN_MIN
} CumKind;
typedef struct Cumulation {
    CumKind what;
    DType acc, load, store; /* dtype of the state, of x and y, and of the output */
    bool exclusive, reverse;
    CumLines l;
    const char *x, *y;
    char *out;
    int64_t columns, lines, per_chunk; /* of the innermost kept dim; groups of lines */
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

/* log(exp(s) + exp(x)) */
static double add_exponents(double s, double x) {
    double most = s > x ? s : x, least = s > x ? x : s;
    if (isnan(s) || isnan(x)) return s + x;
    return isinf(most) ? most : most + log1p(exp(least - most));
}

static void add_exponents_along(double *state, const double *x, double *to, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        to[i] = *state = add_exponents(*state, x[i]);
}

typedef union CumRow {
    uint64_t u[COLUMNS];
    int64_t i[COLUMNS];
    double f[COLUMNS];
    c128 c[COLUMNS];
} CumRow;

static void step_row(const Cumulation *j, CumRow *s, const CumRow *x, const CumRow *y,
                     int64_t k) {
    bool extreme = j->what == RUN_MAX || j->what == RUN_MIN;
    if (j->what == RUN_LOGSUMEXP)
        for (int64_t i = 0; i < k; i++)
            s->f[i] = add_exponents(s->f[i], x->f[i]);
    else if (extreme && j->acc == DT_FLOAT64)
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
    double v = j->what == RUN_PROD        ? 1
               : j->what == RUN_MAX       ? -(double)INFINITY
               : j->what == RUN_LOGSUMEXP ? -(double)INFINITY
               : j->what == RUN_MIN       ? (double)INFINITY
                                          : 0;
    int64_t lowest = j->what == RUN_MAX ? INT64_MIN : INT64_MAX;
    bool whole = j->what >= RUN_MAX && j->acc != DT_FLOAT64;
    if (whole && j->acc == DT_UINT64) lowest = j->what == RUN_MAX ? 0 : -1;
    tensor_cast_elements(j->acc, s, whole ? j->acc : DT_FLOAT64,
                         whole ? (void *)&lowest : (void *)&v, (size_t)k,
                         (ptrdiff_t)dtype_size(j->acc), 0);
}

/* Adjacent lines: where the first one begins, and how many bytes the next is away. */
typedef struct LineGroup {
    const char *x, *y;
    char *out;
    int64_t n, x_next, y_next, out_next;
} LineGroup;

static void cumulate_lines(const Cumulation *j, const LineGroup *g) {
    CumRow state, xv, yv;
    const char *x = g->x, *y = g->y;
    char *out = g->out;
    int64_t k = g->n, xs = g->x_next, ys = g->y_next, os = g->out_next;
    ptrdiff_t size = (ptrdiff_t)dtype_size(j->acc);
    start_row(j, &state, k);
    for (int64_t i = 0; i < j->l.n; i++) {
        if (j->exclusive)
            tensor_cast_elements(j->store, out + i * j->l.out_step, j->acc, &state,
                                 (size_t)k, os, size);
        tensor_cast_elements(j->acc, &xv, j->load, x + i * j->l.x_step, (size_t)k, size,
                             xs);
        if (j->what == RUN_RECURRENCE)
            tensor_cast_elements(j->acc, i ? &yv : &state, j->load, y + i * j->l.y_step,
                                 (size_t)k, size, ys);
        if (i || j->what != RUN_RECURRENCE) step_row(j, &state, &xv, &yv, k);
        if (!j->exclusive)
            tensor_cast_elements(j->store, out + i * j->l.out_step, j->acc, &state,
                                 (size_t)k, os, size);
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

/* Of float32, converted on the way: the additions wait for each other, conversions
 * don't. */
static void along_f32(const Cumulation *j, double s, const float *x, float *to) {
    for (int64_t i = 0; i < j->l.n; i++) {
        double before = s, one = (double)x[i];
        s = j->what == RUN_SUM ? s + one : s * one;
        to[i] = (float)(j->exclusive ? before : s);
    }
}

typedef union CumBlock {
    uint64_t u[BLOCK];
    int64_t i[BLOCK];
    double f[BLOCK];
    c128 c[BLOCK];
} CumBlock;

static void along_block(const Cumulation *j, bool first, CumRow *s, const CumBlock *x,
                        const CumBlock *y, CumBlock *to, int64_t n) {
    bool extreme = j->what == RUN_MAX || j->what == RUN_MIN;
    if (j->what == RUN_LOGSUMEXP)
        add_exponents_along(s->f, x->f, to->f, n);
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

/* Is the line one of along_f32? */
static bool is_float32(const Cumulation *j, const char *x, const char *out) {
    return j->load == DT_FLOAT32 && j->store == DT_FLOAT32 && j->acc == DT_FLOAT64 &&
           (j->what == RUN_SUM || j->what == RUN_PROD) && j->l.x_step == 4 &&
           j->l.out_step == 4 && ((uintptr_t)x | (uintptr_t)out) % 4 == 0;
}

/* A block of inputs as the loops take them: where they are, or converted in `room`. */
static const CumBlock *load_line(const Cumulation *j, const char *x, int64_t step,
                                 int64_t n, CumBlock *room) {
    if (is_direct(j, j->load, x, step)) return (const CumBlock *)(const void *)x;
    tensor_cast_elements(j->acc, room, j->load, x, (size_t)n,
                         (ptrdiff_t)dtype_size(j->acc), step);
    return room;
}

static void cumulate_line(const Cumulation *j, const char *x, const char *y,
                          char *out) {
    CumRow state;
    CumBlock xv, yv;
    const CumBlock *from, *with = &yv;
    const CumLines *l = &j->l;
    bool direct = is_direct(j, j->store, out, l->out_step);
    start_row(j, &state, 1);
    if (is_float32(j, x, out)) {
        along_f32(j, state.f[0], (const float *)(const void *)x, (float *)(void *)out);
        return;
    }
    for (int64_t at = 0; at < l->n; at += BLOCK) {
        int64_t n = l->n - at < BLOCK ? l->n - at : BLOCK;
        char *to = out + at * l->out_step;
        from = load_line(j, x + at * l->x_step, l->x_step, n, &xv);
        if (j->what == RUN_RECURRENCE)
            with = load_line(j, y + at * l->y_step, l->y_step, n, &yv);
        along_block(j, at == 0, &state, from, with,
                    direct ? (CumBlock *)(void *)to : &xv, n);
        if (!direct)
            tensor_cast_elements(j->store, to, j->acc, &xv, (size_t)n, l->out_step,
                                 (ptrdiff_t)dtype_size(j->acc));
    }
}

static bool is_along(int64_t step, int64_t across) {
    return (step < 0 ? -step : step) < (across < 0 ? -across : across);
}

static void cumulate_group(const Cumulation *j, const LineGroup *g) {
    if (j->l.n < SHORT || (g->n > NARROW && !is_along(j->l.x_step, g->x_next))) {
        cumulate_lines(j, g);
        return;
    }
    for (int64_t i = 0; i < g->n; i++)
        cumulate_line(j, g->x + i * g->x_next, g->y + i * g->y_next,
                      g->out + i * g->out_next);
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
        int64_t rest = at / j->columns, first = at % j->columns * COLUMNS;
        LineGroup g = {.x = j->x, .y = j->y, .out = j->out};
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
        g.n = wide - first < COLUMNS ? wide - first : COLUMNS;
        cumulate_group(j, &g);
    }
}

static void swap_sizes(int64_t *v, int a, int b) {
    int64_t was = v[a];
    v[a] = v[b];
    v[b] = was;
}

/* Short lines are done in groups along the last dim: where it is short, too, another
 * dim takes its place. */
static void take_long_dim_last(CumLines *l) {
    int last = l->ndim - 1, most = last;
    for (int k = 0; k < last; k++)
        if (l->shape[k] > l->shape[most]) most = k;
    if (l->n >= SHORT || last < 1 || l->shape[last] >= SHORT) return;
    swap_sizes(l->shape, most, last);
    swap_sizes(l->x, most, last);
    swap_sizes(l->y, most, last);
    swap_sizes(l->out, most, last);
}

static void run_cumulation(Call *c, Cumulation *j, const Tensor *x, const Tensor *y,
                           const Tensor *out, int axis) {
    CumLines *l = &j->l;
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
    take_long_dim_last(l);
    int64_t wide = l->ndim ? l->shape[l->ndim - 1] : 1;
    j->columns = (wide + COLUMNS - 1) / COLUMNS;
    j->lines = move_count(l->ndim ? l->ndim - 1 : 0, l->shape) * j->columns;
    int64_t each = l->n * (wide < COLUMNS ? wide : COLUMNS);
    j->per_chunk = each < CHUNK ? CHUNK / each + 1 : 1;
    int64_t chunks = (j->lines + j->per_chunk - 1) / j->per_chunk;
    if (move_pool(c) && chunks > 3) {
        pool_run(move_pool(c), (size_t)chunks, cumulate_chunk, j);
    } else {
        j->per_chunk = j->lines;
        cumulate_chunk(j, 0, 0);
    }
}

static DType state_dtype(DType d) {
    return dtype_is_complex(d) ? DT_COMPLEX128
           : dtype_is_float(d) ? DT_FLOAT64
                               : DT_UINT64;
}

/* ---- cumsum, cumprod: without an axis, over all elements in row-major order ---- */
static bool cum_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                       const Var *in, Var *out) {
    (void)nin;
    bool product = op_is(b->s, op, OP_CUMPROD);
    const Prop *dtype = op_prop(b->s, op, p, "dtype");
    Var x = in[0];
    PropArg axis = shape_ravel_without_axis(b, op, p, &x);
    if (dtype->kind != P_NONE && x != VAR_NONE) x = op_cast_to(b, x, (DType)dtype->i);
    PropArg arg[3] = {axis,
                      {"exclusive", *op_prop(b->s, op, p, "exclusive")},
                      {"reverse", *op_prop(b->s, op, p, "reverse")}};
    *out = apply_named(b, product ? "running_prod" : "running_sum", 1, &x, 3, arg);
    if (dtype->kind != P_NONE && *out != VAR_NONE)
        *out = op_cast_to(b, *out, (DType)dtype->i);
    return *out != VAR_NONE;
}

static bool running_type(Infer *in) {
    const Type *x = in->type[0];
    int axis;
    if (!infer_want_rank(in, 0, 1, -1) ||
        !infer_axis(in, infer_prop(in, "axis")->i, x->ndim, &axis))
        return false;
    return infer_out_tensor(in, 0, reduce_dtype(x->dtype), x->ndim, x->dim);
}

/* A running sum, product or extreme of the input; acc is the dtype of its state. */
static bool run_running_op(Call *c, CumKind what, DType acc, bool exclusive) {
    Tensor x = *call_in(c, 0);
    int axis = shape_axis_index(prop_int(c->s, c->op, c->props, "axis"), x.ndim);
    Tensor *out = call_out(c, 0, x.ndim, x.shape);
    if (!out) return false;
    if (tensor_size(out) == 0) return true;
    Cumulation j = {.what = what,
                    .acc = acc,
                    .load = x.dtype,
                    .store = out->dtype,
                    .exclusive = exclusive};
    j.reverse = prop_bool(c->s, c->op, c->props, "reverse");
    run_cumulation(c, &j, &x, &x, out, axis);
    return true;
}

static bool run_running_total(Call *c, CumKind what) {
    return run_running_op(c, what, state_dtype(call_in(c, 0)->dtype),
                          prop_bool(c->s, c->op, c->props, "exclusive"));
}
static bool running_sum_perform(Call *c) {
    return run_running_total(c, RUN_SUM);
}
static bool running_prod_perform(Call *c) {
    return run_running_total(c, RUN_PROD);
}

/* The other way of the loop; what the loop meets next in x, at each place. */
#define OTHER_WAY                                                                      \
    "back = False when reverse\n"                                                      \
    "back = True\n"
#define NEIGHBOURS                                                                     \
    "ahead = lambda x: shift(x, 1, axis=axis) when reverse\n"                          \
    "ahead = lambda x: shift(x, -1, axis=axis)\n"
static const char *const running_sum_pullback =
    OTHER_WAY "g_x = running_sum(g, axis=axis, exclusive=exclusive, reverse=back)";

/* d r[i] / d x[j] is the product before j times the product between j and i. Summed
 * over i with the gradient, the second factor is a recurrence from the other end. An
 * exclusive product is an inclusive one shifted by one. */
static const char *const running_prod_pullback = OTHER_WAY NEIGHBOURS
    "g_x = cj(others) * recurrence(cj(ahead(x)), v, axis=axis, reverse=back)\n"
    "others = running_prod(x, axis=axis, exclusive=True, reverse=reverse)\n"
    "v = ahead(g) when exclusive\n"
    "v = g";

/* The result one step before. */
#define PREVIOUS                                                                       \
    "previous = shift(r, -1, axis=axis) when reverse\n"                                \
    "previous = shift(r, 1, axis=axis)\n"

/* ---- cummax, cummin ---- */
static bool cum_extreme_expand(Builder *b, const char *name, const Op *op,
                               const Props *p, const Var *in, Var *out) {
    Var x = in[0];
    PropArg axis = shape_ravel_without_axis(b, op, p, &x);
    PropArg arg[2] = {axis, {"reverse", *op_prop(b->s, op, p, "reverse")}};
    if (x != VAR_NONE) x = apply_named(b, name, 1, &x, 2, arg);
    return (*out = x) != VAR_NONE;
}
static bool cummax_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                          const Var *in, Var *out) {
    (void)nin;
    return cum_extreme_expand(b, "running_max", op, p, in, out);
}
static bool cummin_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                          const Var *in, Var *out) {
    (void)nin;
    return cum_extreme_expand(b, "running_min", op, p, in, out);
}

static bool logcumsumexp_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                                const Var *in, Var *out) {
    (void)nin;
    return cum_extreme_expand(b, "running_logsumexp", op, p, in, out);
}

static bool running_extreme_type(Infer *in) {
    const Type *x = in->type[0];
    int axis;
    return infer_want_rank(in, 0, 1, -1) &&
           infer_axis(in, infer_prop(in, "axis")->i, x->ndim, &axis) &&
           infer_out_tensor(in, 0, x->dtype, x->ndim, x->dim);
}

static bool run_extreme(Call *c, CumKind what) {
    DType d = call_in(c, 0)->dtype;
    return run_running_op(c, what,
                          dtype_is_float(d)        ? DT_FLOAT64
                          : dtype_kind(d) == K_INT ? DT_INT64
                                                   : DT_UINT64,
                          false);
}
static bool running_max_perform(Call *c) {
    return run_extreme(c, RUN_MAX);
}
static bool running_min_perform(Call *c) {
    return run_extreme(c, RUN_MIN);
}

static bool running_logsumexp_perform(Call *c) {
    return run_extreme(c, RUN_LOGSUMEXP);
}

/* Sums of exp(x[j] - r[i]) times a gradient or a tangent, as recurrences whose factors
 * are at most 1: no exponential overflows, and where it underflows nothing is lost. At
 * the ends of a line, where there is no neighbour, the factor does not count. */
static const char *const running_logsumexp_pullback = OTHER_WAY NEIGHBOURS
    "g_x = exp(x - r) * recurrence(exp(where(d > 0, 0, d)), g, axis=axis, "
    "reverse=back)\n"
    "d = r - ahead(r)";
static const char *const running_logsumexp_pushforward =
    PREVIOUS "t_r = recurrence(exp(where(d > 0, 0, d)), exp(x - r) * t_x, axis=axis, "
             "reverse=reverse)\n"
             "d = previous - r";

/* The gradient goes to where each extreme was met first: `steps` counts along the way
 * of the loop. */
#define FIRST_MET                                                                      \
    "index = shape_i(r, axis=axis) - 1 - start when reverse\n"                         \
    "index = start\n"                                                                  \
    "start = running_max(where((steps == 0) | (r != previous), steps, 0), axis=axis, " \
    "reverse=reverse)\n"                                                               \
    "steps = running_sum(ones_like(cast(r, 'int64')), axis=axis, exclusive=True, "     \
    "reverse=reverse)\n"
static const char *const running_extreme_pullback =
    "g_x = scatter_elements(zeros_like(g), index, g, axis=axis, "
    "reduction='add')\n" FIRST_MET PREVIOUS;
static const char *const running_extreme_pushforward =
    "t_r = take_along_axis(t_x, index, axis=axis)\n" FIRST_MET PREVIOUS;

/* ---- recurrence ---- */
static bool recurrence_type(Infer *in) {
    const Type *a = in->type[0], *x = in->type[1];
    int axis;
    Dim dim[MAX_NDIM];
    if (!infer_want_rank(in, 0, 1, -1) || !infer_want_rank(in, 1, a->ndim, a->ndim))
        return false;
    if (!infer_axis(in, infer_prop(in, "axis")->i, x->ndim, &axis)) return false;
    for (int k = 0; k < x->ndim; k++)
        if (!infer_want_dims_equal(in, 0, k, 1, k, &dim[k])) return false;
    return infer_out_tensor(in, 0, x->dtype, x->ndim, dim);
}

static bool recurrence_perform(Call *c) {
    Tensor a = *call_in(c, 0), x = *call_in(c, 1);
    if (!tensor_same_shape(&a, &x))
        return call_fail(c, E_RUN_SHAPE, "a and b have different shapes");
    int axis = shape_axis_index(prop_int(c->s, c->op, c->props, "axis"), x.ndim);
    Tensor *out = call_out(c, 0, x.ndim, x.shape);
    if (!out) return false;
    if (tensor_size(out) == 0) return true;
    Cumulation j = {.what = RUN_RECURRENCE,
                    .acc = state_dtype(x.dtype),
                    .load = x.dtype,
                    .store = out->dtype};
    j.reverse = prop_bool(c->s, c->op, c->props, "reverse");
    run_cumulation(c, &j, &a, &x, out, axis);
    return true;
}

/* b's gradient is the recurrence from the other end with a shifted by one; a's is that
 * times the previous state. */
static const char *const recurrence_pullback = OTHER_WAY NEIGHBOURS PREVIOUS
    "g_a = g_b * cj(previous)\n"
    "g_b = recurrence(cj(ahead(a)), g, axis=axis, reverse=back)";
/* The tangent follows a recurrence with the same a, fed by b's tangent plus a's tangent
 * times the previous state. */
static const char *const recurrence_pushforward =
    PREVIOUS "t_r = recurrence(a, t_b + t_a * previous, axis=axis, reverse=reverse)";

#define EXTREMES                                                                       \
    .in = "x", .kinds = KIND_BOOL | KIND_REAL,                                         \
    .props = "axis: axis? = None, reverse: bool = False"
#define RUNNING_EXTREMES                                                               \
    .internal = true, .in = "x", .kinds = KIND_BOOL | KIND_REAL,                       \
    .props = "axis: axis = 0, reverse: bool = False", .type = running_extreme_type,    \
    .fails = op_never_fails, .flops = "x.size", .pullback = running_extreme_pullback,  \
    .pushforward = running_extreme_pushforward, .vmap = vmap_axes
#define CUM_PROPS                                                                      \
    "axis: axis? = None, dtype: dtype? = None, exclusive: bool = False, "              \
    "reverse: bool = False"
#define RUNNING_PROPS "axis: axis = 0, exclusive: bool = False, reverse: bool = False"

static const Op table[] = {
    {.name = OP_ROW("cumsum"),
     .doc = "Sums of the elements up to each one along axis (None: of x flattened). "
            "exclusive leaves the element itself out, reverse starts at the end. The "
            "result dtype and dtype= are as for sum; accumulated in float64.",
     .in = "x",
     .props = CUM_PROPS,
     .expand = cum_expand,
     .example = "cumsum([1, 2, 3]) -> [1, 3, 6]\ncumsum([1, 2, 3], exclusive=True) -> "
                "[0, 1, 3]"},
    {.name = OP_ROW("cumprod"),
     .doc = "Products of the elements up to each one along axis (None: of x "
            "flattened); dtype, exclusive and reverse are as for cumsum.",
     .in = "x",
     .props = CUM_PROPS,
     .expand = cum_expand,
     .example = "cumprod([1, 2, 3, 4]) -> [1, 2, 6, 24]"},
    {.name = OP_ROW("cummax"),
     EXTREMES,
     .doc =
         "The largest of the elements up to each one along axis (None: of x "
         "flattened), NumPy's maximum.accumulate; nan from the first nan on. reverse "
         "starts at the end. The derivative is that of the first of equal ones.",
     .expand = cummax_expand,
     .example = "cummax([1, 3, 2]) -> [1, 3, 3]\ncummax([1, 3, 2], reverse=True) -> "
                "[3, 3, 2]"},
    {.name = OP_ROW("cummin"),
     EXTREMES,
     .doc = "The smallest of the elements up to each one along axis, otherwise as "
            "cummax.",
     .expand = cummin_expand,
     .example = "cummin([2, 1, 3]) -> [2, 1, 1]"},
    {.name = OP_ROW("logcumsumexp"),
     .in = "x",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_BOOL | KIND_REAL,
     .props = "axis: axis? = None, reverse: bool = False",
     .doc = "log(cumsum(exp(x))) along axis (None: of x flattened), without overflow. "
            "reverse starts at the end.",
     .expand = logcumsumexp_expand,
     .example = "logcumsumexp([-1000., -1000.]) -> [-1000.0, -999.3068528194401]"},
    {.name = OP_ROW("running_logsumexp"),
     .internal = true,
     .in = "x",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_BOOL | KIND_REAL,
     .props = "axis: axis = 0, reverse: bool = False",
     .type = running_extreme_type,
     .fails = op_never_fails,
     .flops = "4 * x.size",
     .pullback = running_logsumexp_pullback,
     .pushforward = running_logsumexp_pushforward,
     .vmap = vmap_axes,
     .doc = "logcumsumexp along an axis; logcumsumexp expands to this.",
     .perform = running_logsumexp_perform,
     .example = "running_logsumexp([0., 0.]) -> [0.0, 0.6931471805599453]"},
    {.name = OP_ROW("running_max"),
     RUNNING_EXTREMES,
     .doc = "cummax along an axis; cummax expands to this.",
     .perform = running_max_perform,
     .example = "running_max([1, 3, 2]) -> [1, 3, 3]"},
    {.name = OP_ROW("running_min"),
     RUNNING_EXTREMES,
     .doc = "cummin along an axis; cummin expands to this.",
     .perform = running_min_perform,
     .example = "running_min([2, 1, 3]) -> [2, 1, 1]"},
    {.name = OP_ROW("running_sum"),
     .internal = true,
     .doc = "cumsum along an axis; cumsum expands to this.",
     .in = "x",
     .props = RUNNING_PROPS,
     .type = running_type,
     .perform = running_sum_perform,
     .fails = op_never_fails,
     .flops = "x.size",
     .pullback = running_sum_pullback,
     .push = push_linear_first,
     .vmap = vmap_axes,
     .example = "running_sum([1, 2, 3], reverse=True) -> [6, 5, 3]"},
    {.name = OP_ROW("running_prod"),
     .internal = true,
     .doc = "cumprod along an axis; cumprod expands to this.",
     .in = "x",
     .props = RUNNING_PROPS,
     .type = running_type,
     .perform = running_prod_perform,
     .fails = op_never_fails,
     .flops = "x.size",
     .pullback = running_prod_pullback,
     .vmap = vmap_axes,
     .example = "running_prod([2, 3, 4], exclusive=True) -> [1, 2, 6]"},
    {.name = OP_ROW("recurrence"),
     .doc = "s[i] = a[i] * s[i - 1] + b[i] along an axis, from s[-1] = 0; reverse "
            "starts at the end.",
     .in = "a, b",
     .props = "axis: axis = 0, reverse: bool = False",
     .promote = PROMOTE_SAME,
     .type = recurrence_type,
     .perform = recurrence_perform,
     .flops = "2 * b.size",
     .pullback = recurrence_pullback,
     .pushforward = recurrence_pushforward,
     .vmap = vmap_axes,
     .example = "recurrence([0, 2, 2], [1, 1, 1]) -> [1, 3, 7]"},
};
const OpList ops_reduce_cumulate = LIST_OF(table);
