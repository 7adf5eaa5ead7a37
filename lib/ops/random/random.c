/* Random tensors as pure functions of a seed; value/rng.h defines the streams.
 * Parameters broadcast against each other and to size. Threads share the chunks of a
 * draw, because element i depends on i alone. */
#include "ops/random/random.h"

#include "ops/elemwise/deriv.h"
#include "ops/random/words.h"
#include "ops/shape/linear.h"
#include "ops/shape/move.h"

#include <math.h>
#include <string.h>

/* ---- typing: size, or the broadcast shape of the parameters ---- */
static DType draw_dtype(const Infer *in, DType otherwise) {
    const Prop *d = infer_prop(in, "dtype");
    return d->kind == P_DTYPE ? (DType)d->i : otherwise;
}

bool draw_type(Infer *in, const DrawForm *f, DType d) {
    Dim dim[MAX_NDIM], both[MAX_NDIM];
    int n = 0, size;
    for (size_t i = f->first; i < f->first + f->nparam; i++) {
        const Type *t = in->type[i];
        n = shape_broadcast(n, both, t->ndim, t->dim, both);
        if (n < 0)
            return infer_fail(in, E_SHAPE, i,
                              "the shapes of the parameters do not broadcast");
    }
    if (f->size == SIZE_MAX) return infer_out_tensor(in, f->out, d, n, both);
    if (!infer_want_shape(in, f->size, &size, dim, NULL)) return false;
    Dim meet[MAX_NDIM];
    bool fits = shape_broadcast(n, both, size, dim, meet) == size;
    for (int i = 0; fits && i < size; i++)
        fits = dim[i] < 0 || meet[i] < 0 || meet[i] == dim[i];
    if (!fits)
        return infer_fail(in, E_SHAPE, f->size,
                          "draws with these parameters are %s, which does not "
                          "broadcast to %s, which the size asks for",
                          type_str(in->s, type_tensor(in->s, d, n, both)),
                          type_str(in->s, type_tensor(in->s, d, size, dim)));
    return infer_out_tensor(in, f->out, d, size, dim);
}

static DrawForm seeded_form(size_t nin) {
    return (DrawForm){.nparam = 2, .size = nin > 2 ? 2 : SIZE_MAX, .param = DT_FLOAT64};
}

static bool seeded_type(Infer *in, DType d) {
    DrawForm f = seeded_form(in->nin);
    return draw_type(in, &f, d);
}

static bool float_draw_type(Infer *in) {
    DType d = draw_dtype(in, in->floatX);
    if (!dtype_is_float(d))
        return infer_fail(in, E_DTYPE, in->nin,
                          "the draws must have a float dtype, not %s", dtype_name(d));
    return infer_want_kinds(in, 0, KIND_BOOL | KIND_REAL) &&
           infer_want_kinds(in, 1, KIND_BOOL | KIND_REAL) && seeded_type(in, d);
}

static bool integers_type(Infer *in) {
    DType d = draw_dtype(in, DT_INT64);
    if (!dtype_is_integer(d) && d != DT_BOOL)
        return infer_fail(in, E_DTYPE, in->nin,
                          "the draws must have an integer dtype or bool, not %s",
                          dtype_name(d));
    return infer_want_kinds(in, 0, KIND_INT) && infer_want_kinds(in, 1, KIND_INT) &&
           seeded_type(in, d);
}

bool random_permutation_type(Infer *in, size_t i, size_t out) {
    Dim dim = DIM_UNKNOWN;
    int64_t n;
    if (!infer_want_rank(in, i, 0, 0)) return false;
    if (infer_int(in, i, &n)) {
        if (n < 0)
            return infer_fail(in, E_VALUE, i,
                              "there is no permutation of %lld elements", (long long)n);
        dim = n;
    }
    return infer_out_tensor(in, out, DT_INT64, 1, &dim);
}

static bool seeded_permutation_type(Infer *in) {
    return random_permutation_type(in, 0, 0);
}

/* ---- running ---- */
typedef void UnitFn(const Rng *r, DType d, uint64_t first, size_t n, void *out);

/* low + u (high - low), computed in float32 for narrow floats. */
static void draw_between(const Draw *w, const DrawPart *part, UnitFn *fill) {
    double low[DRAW_CHUNK], wide[DRAW_CHUNK];
    const double *lo = part->p[0], *hi = part->p[1];
    const size_t n = part->n;
    const ptrdiff_t step = part->step;
    char raw[DRAW_CHUNK * sizeof(double)];
    ptrdiff_t size = (ptrdiff_t)dtype_size(w->dtype);
    fill(&w->rng, w->dtype, part->from, n, raw);
    tensor_cast_elements(DT_FLOAT64, wide, w->dtype, raw, n, sizeof(double), size);
    bool narrow = w->dtype != DT_FLOAT64;
    for (size_t i = 0; i < n; i++) {
        double l = lo[(ptrdiff_t)i * step], h = hi[(ptrdiff_t)i * step];
        low[i] = narrow ? (double)((float)l + (float)wide[i] * ((float)h - (float)l))
                        : l + wide[i] * (h - l);
    }
    tensor_cast_elements(w->dtype, part->out, DT_FLOAT64, low, n, size, sizeof(double));
}

void draw_uniform(const Draw *w, const DrawPart *part) {
    draw_between(w, part, rng_uniform);
}

void draw_open(const Draw *w, const DrawPart *part) {
    draw_between(w, part, rng_uniform_open);
}

void draw_normal(const Draw *w, const DrawPart *part) {
    double z[DRAW_CHUNK];
    const double *loc = part->p[0], *scale = part->p[1];
    const size_t n = part->n;
    const ptrdiff_t step = part->step;
    rng_normal(&w->rng, part->from, n, z);
    for (size_t i = 0; i < n; i++)
        z[i] = loc[(ptrdiff_t)i * step] + scale[(ptrdiff_t)i * step] * z[i];
    tensor_cast_elements(w->dtype, part->out, DT_FLOAT64, z, n,
                         (ptrdiff_t)dtype_size(w->dtype), sizeof(double));
}

void draw_integers(const Draw *w, const DrawPart *part) {
    int64_t room[DRAW_CHUNK],
        *v = w->dtype == DT_INT64 ? (int64_t *)(void *)part->out : room;
    const int64_t *low = part->p[0], *high = part->p[1];
    const size_t n = part->n;
    const ptrdiff_t step = part->step;
    for (size_t i = 0; i < n;) { /* draws elements that share a range together */
        size_t run = step ? 1 : n;
        int64_t lo = low[(ptrdiff_t)i * step];
        rng_integers(&w->rng, lo, (uint64_t)high[(ptrdiff_t)i * step] - (uint64_t)lo,
                     part->from + i, run, v + i);
        i += run;
    }
    if (v == room)
        tensor_cast_elements(w->dtype, part->out, DT_INT64, v, n,
                             (ptrdiff_t)dtype_size(w->dtype), sizeof(int64_t));
}

static bool is_single(const Draw *w) {
    bool single = true;
    for (size_t k = 0; k < w->nparam; k++)
        single &= w->p[k].ndim == 0;
    return single;
}

int64_t draw_nparams(const Draw *w) {
    return is_single(w) ? 1 : tensor_size(w->out);
}

static void run_draw_chunk(void *ctx, size_t k, unsigned worker) {
    const Draw *w = ctx;
    size_t size = dtype_size(w->dtype), all = (size_t)tensor_size(w->out),
           from = k * DRAW_CHUNK;
    size_t n = all - from < DRAW_CHUNK ? all - from : DRAW_CHUNK;
    int step = is_single(w) ? 0 : 1;
    const void *p[DRAW_PARAMS] = {0};
    (void)worker;
    for (size_t i = 0; i < w->nparam; i++)
        p[i] = (const char *)w->p[i].data + from * 8 * (size_t)step;
    w->fn(w, &(DrawPart){from, n, p, step, (char *)w->out->data + from * size});
}

/* The parameter as w->param: one element if 0-d, else broadcast to the output's shape
 * in scratch memory. */
static void broadcast_param(const Tensor *t, const Draw *w, bool scalar, char *room,
                            Tensor *out) {
    *out = (Tensor){.dtype = w->param, .data = room, .ndim = scalar ? 0 : w->out->ndim};
    int64_t step = 8;
    for (int i = out->ndim; i-- > 0; step *= out->shape[i]) {
        out->shape[i] = w->out->shape[i];
        out->stride[i] = step;
    }
    tensor_assign(out, t);
}

static bool draw_shape(Call *c, const DrawForm *f, int *ndim, int64_t *shape) {
    if (f->size != SIZE_MAX) return call_shape(c, f->size, ndim, shape);
    *ndim = 0;
    for (size_t k = f->first; k < f->first + f->nparam; k++)
        if (call_in(c, k)->ndim > *ndim) *ndim = call_in(c, k)->ndim;
    for (int i = 0; i < *ndim; i++) {
        shape[i] = 1;
        for (size_t k = f->first; k < f->first + f->nparam; k++) {
            const Tensor *t = call_in(c, k);
            int d = i - (*ndim - t->ndim);
            if (d >= 0 && t->shape[d] != 1) shape[i] = t->shape[d];
        }
    }
    return true;
}

/* Does parameter i broadcast to the shape of the draw? Only dims that are 1 by type
 * may. */
static bool check_param(Call *c, size_t i, const Tensor *out) {
    const Tensor *t = call_in(c, i);
    bool ok = t->ndim <= out->ndim;
    for (int k = 0; ok && k < t->ndim; k++)
        ok = t->shape[k] == out->shape[out->ndim - t->ndim + k] || call_is_one(c, i, k);
    if (ok) return true;
    Str has = STR(c->s), due = STR(c->s);
    shape_text(c->s, t->ndim, t->shape, &has);
    shape_text(c->s, out->ndim, out->shape, &due);
    call_fail(c, E_RUN_SHAPE,
              "a parameter of shape %s does not broadcast to draws of shape %s",
              str_text(&has), str_text(&due));
    str_free(&has), str_free(&due);
    return false;
}

static bool is_range(const double *p) {
    return p[0] <= p[1] && isfinite(p[1] - p[0]);
}
bool check_range(Call *c, const Draw *w) {
    return words_check(c, w, is_range,
                       "low must be at most high, and high - low finite");
}

static bool is_scale(const double *p) {
    return p[1] >= 0;
}
bool check_scale(Call *c, const Draw *w) {
    return words_check(c, w, is_scale, "the scale must be at least 0");
}

/* A bound as text; the int64 holds the bits of a uint64 parameter. */
static void bound_text(const Draw *w, size_t k, int64_t v, char *buf) {
    buf[w->wide[k] ? num_write_uint(buf, (uint64_t)v) : num_write_int(buf, v)] = '\0';
}

static bool below_zero(const Draw *w, size_t k, int64_t v) {
    return v < 0 && !w->wide[k];
}

bool check_integers(Call *c, const Draw *w) {
    const int64_t *low = w->p[0].data, *high = w->p[1].data;
    int64_t lo;
    uint64_t hi;
    char a[NUM_MAX + 1], b[NUM_MAX + 1];
    dtype_int_range(w->dtype, &lo, &hi);
    for (int64_t i = 0, n = draw_nparams(w); i < n; i++) {
        bool from = below_zero(w, 0, low[i]), to = below_zero(w, 1, high[i]);
        bool empty = from == to ? (uint64_t)low[i] >= (uint64_t)high[i] : to;
        bool fits = (!from || low[i] >= lo) &&
                    (to || high[i] == 0 || (uint64_t)high[i] - 1 <= hi);
        if (!empty && fits) continue;
        bound_text(w, 0, low[i], a), bound_text(w, 1, high[i], b);
        return empty
                   ? call_fail(c, E_ARITHMETIC, "low (%s) is not below high (%s)", a, b)
                   : call_fail(c, E_ARITHMETIC, "the range [%s, %s) is beyond %s", a, b,
                               dtype_name(w->dtype));
    }
    return true;
}

bool draw_run(Call *c, const DrawForm *f, Rng rng) {
    int ndim;
    int64_t shape[MAX_NDIM];
    Draw w = {.fn = f->fn,
              .level = session_cpu_level(c->s),
              .param = f->param,
              .nparam = f->nparam,
              .dtype = c->out_type[f->out]->dtype,
              .rng = rng};
    if (!draw_shape(c, f, &ndim, shape) || !call_size_fits(c, w.dtype, ndim, shape))
        return false;
    w.out = call_out(c, f->out, ndim, shape);
    if (!w.out) return false;
    bool scalar = true;
    for (size_t k = 0; k < f->nparam; k++) {
        if (!check_param(c, f->first + k, w.out)) return false;
        w.wide[k] = call_in(c, f->first + k)->dtype == DT_UINT64;
        scalar &= call_in(c, f->first + k)->ndim == 0;
    }
    if (tensor_size(w.out) == 0) return true;
    size_t each = scalar ? 64 : (size_t)tensor_size(w.out) * 8;
    char *room = call_scratch(c, f->nparam * each);
    if (!room) return false;
    for (size_t k = 0; k < f->nparam; k++)
        broadcast_param(call_in(c, f->first + k), &w, scalar, room + k * each, &w.p[k]);
    if (f->check && !f->check(c, &w)) return false;
    pool_run(c->host->pool, ((size_t)tensor_size(w.out) + DRAW_CHUNK - 1) / DRAW_CHUNK,
             run_draw_chunk, &w);
    return true;
}

static Rng seed_of(const Call *c) {
    return rng_seed((uint64_t)prop_int(c->s, c->op, c->props, "seed"));
}

static bool draw_seeded(Call *c, DrawFn *fn, DrawCheck *check, DType param) {
    DrawForm f = seeded_form(c->nin);
    f.fn = fn;
    f.check = check;
    f.param = param;
    return draw_run(c, &f, seed_of(c));
}

static bool uniform_perform(Call *c) {
    return draw_seeded(c, draw_uniform, check_range, DT_FLOAT64);
}
static bool normal_perform(Call *c) {
    return draw_seeded(c, draw_normal, check_scale, DT_FLOAT64);
}
static bool integers_perform(Call *c) {
    return draw_seeded(c, draw_integers, check_integers, DT_INT64);
}

/* ---- permutations ---- */
/* Elements are exchanged one after the other, but the places that they are exchanged
 * with can be drawn before: those of a window while the last window's are used. */
enum { WINDOW = 1 << 15, PIECE = 1 << 10 };
typedef struct Shuffle {
    Rng rng;
    int64_t n, *order;
    int64_t *with[2]; /* by window, in turn */
    int64_t window;
} Shuffle;

static int64_t window_size(const Shuffle *q, int64_t window) {
    int64_t left = q->n - window * WINDOW;
    return window < 0 || left < 0 ? 0 : left < WINDOW ? left : WINDOW;
}

/* The first chunk exchanges the elements of the window before; the others draw. */
static void shuffle_chunk(void *ctx, size_t chunk, unsigned worker) {
    const Shuffle *q = ctx;
    int64_t w = q->window, from = (int64_t)(chunk - 1) * PIECE,
            left = window_size(q, w) - from;
    (void)worker;
    if (chunk == 0)
        rng_exchange(q->n, (w - 1) * WINDOW, window_size(q, w - 1),
                     q->with[(w - 1) & 1], q->order);
    else if (left > 0)
        rng_exchanges(&q->rng, q->n, w * WINDOW + from, left < PIECE ? left : PIECE,
                      q->with[w & 1] + from);
}

static void shuffle(Pool *pool, Shuffle *q) {
    for (int64_t i = 0; i < q->n; i++)
        q->order[i] = i;
    for (q->window = 0; (q->window - 1) * WINDOW < q->n; q->window++)
        pool_run(pool, 1 + WINDOW / PIECE, shuffle_chunk, q);
}

bool random_permutation_run(Call *c, size_t i, size_t out, Rng rng) {
    int64_t n = tensor_i64(call_in(c, i), 0);
    if (n < 0)
        return call_fail(c, E_ARITHMETIC, "there is no permutation of %lld elements",
                         (long long)n);
    if (!call_size_fits(c, DT_INT64, 1, &n)) return false;
    Tensor *t = call_out(c, out, 1, &n);
    if (!t) return false;
    if (n < WINDOW / 4 || pool_threads(c->host->pool) == 1)
        return rng_permutation(&rng, n, t->data), true;
    int64_t *room = call_scratch(c, (size_t)2 * WINDOW * sizeof *room);
    if (!room) return false;
    shuffle(c->host->pool,
            &(Shuffle){.rng = rng, .n = n, .order = t->data, {room, room + WINDOW}});
    return true;
}

static bool permutation_perform(Call *c) {
    return random_permutation_run(c, 0, 0, seed_of(c));
}

/* ---- derivatives: the draw as a function of its parameters, for fixed random words
 * ---- */
bool draw_pull_by(Pull *p, size_t i, size_t out, const char *text) {
    Session *s = p->b->s;
    Var z[2] = {VAR_NONE, VAR_NONE}, r = p->out[out];
    bool ok = true;
    if (!p->wanted[i]) return true;
    if (strchr(text, 'z')) { /* the same draw with parameters 0 and 1 */
        size_t n = 0, first = p->nout - 1;
        Var in[4];
        if (first) in[n++] = p->in[0];
        in[n++] = const_number(p->b, DT_FLOAT64, 0);
        in[n++] = const_number(p->b, DT_FLOAT64, 1);
        if ((in[n++] = shape_vector(p->b, r)) == VAR_NONE ||
            !op_apply(p->b, p->op, p->props, n, in, z))
            return false;
    }
    Bind bind[2] = {{sym(s, "g"), p->cotangent[out]}, {sym(s, "z"), z[out]}};
    Env env = {.n = 1 + (z[out] != VAR_NONE), .bind = bind};
    Var g = template_build(p->b, text, &env, &ok);
    return ok && (p->grad[i] = sum_to_shape(p->b, g, p->in[i])) != VAR_NONE;
}

static bool pull_by(Pull *p, const char *first, const char *second) {
    for (size_t i = 0; i < p->nin; i++)
        p->grad[i] = GRAD_DISCONNECTED;
    return draw_pull_by(p, 0, 0, first) && draw_pull_by(p, 1, 0, second);
}

static bool normal_pull(Pull *p) {
    return pull_by(p, "g", "g * z");
}
static bool uniform_pull(Pull *p) {
    return pull_by(p, "g * (1 - z)", "g * z");
}

static const char *const nothing[] = {"0", "0", "disconnected"};
static const char *const none[] = {"disconnected"};

static const Op table[] = {
    {.name = OP_ROW("normal"),
     .doc = "Normal draws with mean loc and standard deviation scale, from a seed.",
     .in = "loc = 0.0, scale = 1.0, size?: ints",
     .props = "seed: int, dtype: dtype? = None",
     .creates = true,
     .type = float_draw_type,
     .perform = normal_perform,
     .reentrant = true,
     .flops = "2 * r.size",
     .math = 2,
     .pull = normal_pull,
     .disconnected = "size",
     .example = "normal(0, 1, (2,), seed=1).shape[0] -> 2"},
    {.name = OP_ROW("uniform"),
     .doc = "Uniform draws from [low, high), from a seed.",
     .in = "low = 0.0, high = 1.0, size?: ints",
     .props = "seed: int, dtype: dtype? = None",
     .creates = true,
     .type = float_draw_type,
     .perform = uniform_perform,
     .reentrant = true,
     .flops = "2 * r.size",
     .pull = uniform_pull,
     .disconnected = "size",
     .example = "uniform(0, 1, (2,), seed=1).shape[0] -> 2"},
    {.name = OP_ROW("integers"),
     .doc = "Integers drawn from [low, high), from a seed.",
     .in = "low, high, size?: ints",
     .props = "seed: int, dtype: dtype? = None",
     .creates = true,
     .bounds = true,
     .type = integers_type,
     .perform = integers_perform,
     .reentrant = true,
     .flops = "r.size",
     .adjoint = nothing,
     .disconnected = "size",
     .example = "integers(3, 4, (2,), seed=1) -> [3, 3]"},
    {.name = OP_ROW("permutation"),
     .doc = "The numbers 0 to n - 1 in a random order, from a seed.",
     .in = "n: int",
     .props = "seed: int",
     .by_macro = true,
     .type = seeded_permutation_type,
     .perform = permutation_perform,
     .reentrant = true,
     .flops = "r.size",
     .adjoint = none,
     .disconnected = "n",
     .example = "permutation(1, seed=1) -> [0]"},
};
const OpList ops_random_random = LIST_OF(table);
