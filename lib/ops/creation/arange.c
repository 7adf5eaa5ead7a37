/* arange(stop), arange(start, stop[, step]): evenly spaced numbers up to but excluding
 * stop. */
#include "ops/creation/range.h"
#include "ops/shape/linear.h"
#include "ops/shape/move.h"

#include <math.h>

/* The bounds, assigned by the number of inputs. NULL: start 0 or step 1. */
typedef struct Bounds {
    const Tensor *start, *stop, *step;
} Bounds;

static Bounds bounds_of(size_t n, const Tensor *const *t) {
    if (n == 1) return (Bounds){NULL, t[0], NULL};
    return (Bounds){t[0], t[1], n > 2 ? t[2] : NULL};
}

/* In two's complement, so that differences are right for uint64, too. */
static int64_t int_or(const Tensor *t, int64_t otherwise) {
    return t ? tensor_i64(t, 0) : otherwise;
}

static double float_or(const Tensor *t, double otherwise) {
    return t ? tensor_f64(t, 0) : otherwise;
}

/* Number of integer steps from start to stop; unsigned, so that nothing overflows. */
static uint64_t int_length(int64_t start, int64_t stop, int64_t step, bool negative) {
    bool up = step > 0 || !negative;
    uint64_t bias = negative ? (uint64_t)1 << 63 : 0, from = (uint64_t)start ^ bias,
             to = (uint64_t)stop ^ bias;
    if (up ? from >= to : from <= to) return 0;
    uint64_t by = up ? (uint64_t)step : 0 - (uint64_t)step;
    return ((up ? to - from : from - to) - 1) / by + 1;
}

/* n < 0: there is none, with the reason. */
typedef struct RangeLength {
    int64_t n;
    DiagCode code;
    const char *why;
} RangeLength;

static const RangeLength TOO_LONG = {-1, E_LIMIT, "there are too many elements"};

static RangeLength whole_length(int64_t start, int64_t stop, int64_t step,
                                bool negative) {
    if (step == 0) return (RangeLength){-1, E_RUN_SHAPE, "the step is 0"};
    uint64_t n = int_length(start, stop, step, negative);
    return n < (uint64_t)1 << 48 ? (RangeLength){.n = (int64_t)n} : TOO_LONG;
}

static RangeLength range_length(Bounds b, bool whole) {
    if (whole)
        return whole_length(int_or(b.start, 0), int_or(b.stop, 0), int_or(b.step, 1),
                            b.stop->dtype != DT_UINT64);
    double n = ceil((float_or(b.stop, 0) - float_or(b.start, 0)) / float_or(b.step, 1));
    if (isnan(n) || n == (double)INFINITY)
        return (RangeLength){-1, E_RUN_SHAPE,
                             "the step is 0, or a bound is not a finite number"};
    if (n <= 0) return (RangeLength){0};
    return n < 0x1p48 ? (RangeLength){.n = (int64_t)n} : TOO_LONG;
}

static DType range_dtype(Infer *in) {
    const Prop *d = infer_prop(in, "dtype");
    if (d->kind == P_DTYPE) return (DType)d->i;
    DType t = in->type[0]->dtype;
    return dtype_kind(t) == K_BOOL ? DT_INT64 : t;
}

/* With start 0 and step 1, a dim as stop is the length itself. */
static bool dim_alone(Infer *in, Dim *len) {
    int64_t v;
    size_t stop = in->nin == 1 ? 0 : 1;
    if (in->nin > 1 && !(infer_int(in, 0, &v) && v == 0)) return false;
    if (in->nin > 2 && !(infer_int(in, 2, &v) && v == 1)) return false;
    if (!dtype_is_discrete(in->type[stop]->dtype)) return false;
    *len = infer_length(in, stop);
    return dim_is_named(*len);
}

/* False: a bound is unknown. Ints are also known where an op passes them on. */
static bool known_length(const Infer *in, RangeLength *n) {
    const Tensor *at[3] = {NULL, NULL, NULL};
    int64_t v[3] = {0, 0, 1};
    bool constant = true, whole = true;
    size_t first = in->nin == 1; /* of v[] */
    if (in->nin > 3) return false;
    for (size_t i = 0; i < in->nin; i++) {
        at[i] = var_const(infer_graph(in), in->in[i]);
        constant &= at[i] != NULL;
        whole = whole && dtype_is_discrete(in->type[i]->dtype) &&
                infer_int(in, i, &v[first + i]);
    }
    if (constant)
        *n =
            range_length(bounds_of(in->nin, at), dtype_is_discrete(in->type[0]->dtype));
    else if (whole)
        *n = whole_length(v[0], v[1], v[2], in->type[in->nin > 1]->dtype != DT_UINT64);
    return constant || whole;
}

static bool arange_type(Infer *in) {
    RangeLength n;
    Dim len = DIM_UNKNOWN;
    for (size_t i = 0; i < in->nin; i++)
        if (!infer_want_rank(in, i, 0, 0)) return false;
    if (known_length(in, &n)) {
        if (n.n < 0) return infer_fail(in, E_VALUE, in->nin, "%s", n.why);
        len = n.n;
    } else if (!dim_alone(in, &len)) {
        len = DIM_UNKNOWN;
    }
    return infer_out_tensor(in, 0, range_dtype(in), 1, &len);
}

enum { BLOCK = 512 };

/* Are all whole numbers of the range exact as float64, too? */
static bool exact_as_floats(size_t n, double start, double step) {
    return fabs(start) + (double)n * fabs(step) <= 0x1p53;
}

/* What the loops write themselves. */
static bool fill_at_once(const RangeLoops *l, Tensor *out, Bounds b, bool whole) {
    size_t n = (size_t)tensor_size(out);
    if (whole && b.stop->dtype != DT_UINT64 &&
        exact_as_floats(n, (double)int_or(b.start, 0), (double)int_or(b.step, 1)) &&
        (out->dtype == DT_FLOAT64 || out->dtype == DT_FLOAT32))
        whole = false;
    if (whole && out->dtype == DT_INT64)
        l->ints(out->data, n, int_or(b.start, 0), int_or(b.step, 1));
    else if (!whole && out->dtype == DT_FLOAT64)
        l->doubles(out->data, n, 0, float_or(b.start, 0), float_or(b.step, 1));
    else if (!whole && out->dtype == DT_FLOAT32)
        l->floats(out->data, n, 0, float_or(b.start, 0), float_or(b.step, 1));
    else
        return false;
    return true;
}

/* Fills blocks in 64 bits and converts them to the output's dtype. */
static void fill_range(const RangeLoops *l, Tensor *out, Bounds b, bool whole) {
    union {
        int64_t i[BLOCK];
        double f[BLOCK];
    } block;
    int64_t n = tensor_size(out), start = 0, step = 1;
    double fstart = 0, fstep = 1;
    if (whole) {
        start = int_or(b.start, 0);
        step = int_or(b.step, 1);
    } else {
        fstart = float_or(b.start, 0);
        fstep = float_or(b.step, 1);
    }
    size_t item = dtype_size(out->dtype);
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t k = n - at < BLOCK ? n - at : BLOCK;
        if (whole)
            l->ints(block.i, (size_t)k,
                    (int64_t)((uint64_t)start + (uint64_t)at * (uint64_t)step), step);
        else
            l->doubles(block.f, (size_t)k, (double)at, fstart, fstep);
        tensor_cast_elements(out->dtype, (char *)out->data + at * (int64_t)item,
                             whole ? DT_INT64 : DT_FLOAT64, &block, (size_t)k,
                             (ptrdiff_t)item, 8);
    }
}

static bool arange_perform(Call *c) {
    const Tensor *t[3] = {NULL, NULL, NULL};
    for (size_t i = 0; i < c->nin && i < 3; i++)
        t[i] = call_in(c, i);
    Bounds b = bounds_of(c->nin, t);
    bool whole = dtype_is_discrete(t[0]->dtype);
    RangeLength n = range_length(b, whole);
    if (n.n < 0) return call_fail(c, n.code, "%s", n.why);
    Tensor *out = call_out(c, 0, 1, &n.n);
    if (!out) return false;
    const RangeLoops *l = FOR_CPU_LEVEL(c->s, range_loops);
    if (!fill_at_once(l, out, b, whole)) fill_range(l, out, b, whole);
    return true;
}

/* Element i is start + i step; stop has no influence on the elements. */
static bool arange_pull(Pull *p) {
    pull_disconnect(p, 0);
    if (pull_discrete(p)) return true;
    Builder *b = p->b;
    Var g = p->cotangent[0];
    if (p->nin > 1 && p->wanted[0] && (p->grad[0] = op_call1(b, "sum", g)) == VAR_NONE)
        return false;
    if (p->nin < 3 || !p->wanted[2]) return true;
    Var len = shape_of(b, g, 0), i = apply_named(b, "arange", 1, &len, 0, NULL);
    Var w = op_cast_to(b, i, var_type(b->g, g)->dtype);
    Var t = op_call2(b, "multiply", g, w);
    return t != VAR_NONE && (p->grad[2] = op_call1(b, "sum", t)) != VAR_NONE;
}

/* Start and step influence the elements; a single input is the stop. */
static bool arange_connect(const Graph *g, ApplyId a, size_t in, size_t out) {
    (void)out;
    return g->apply[a].nin > 1 && in != 1;
}

static const Op table[] = {
    {.name = OP_ROW("arange"),
     .doc = "Numbers from start (0) up to, not including, stop, step apart. Integers "
            "give int64; arange(n) of a dim n has the type int64[n].",
     .in = "start, stop?, step?",
     .props = "dtype: dtype? = None",
     .creates = true,
     .bounds = true,
     .promote = PROMOTE_SAME,
     .kinds = KIND_BOOL | KIND_REAL,
     .type = arange_type,
     .perform = arange_perform,
     .reentrant = true,
     .flops = "0",
     .pull = arange_pull,
     RARE(.connect = arange_connect),
     .example = "arange(4) -> [0, 1, 2, 3]\narange(1, 7, 2) -> [1, 3, 5]\narange(0.0, "
                "1.0, 0.25) -> [0.0, 0.25, 0.5, 0.75]"},
};
const OpList ops_creation_arange = LIST_OF(table);
