/* Convolution of two vectors. */
#include "base/complex.h"
#include "op/infer.h"
#include "ops/shape/linear.h"
#include "ops/shape/move.h"

#include <string.h>

enum {
    BLOCK = 2048,    /* results computed at a time, so that they stay in the cache */
    SHARE = 1 << 17, /* products that are worth several threads */
};

typedef enum ConvMode { FULL, SAME, VALID, MODES } ConvMode;

static int convolve_mode(Session *s, const Op *op, const Props *p) {
    static const char *const names[MODES] = {"full", "same", "valid"};
    const char *text = sym_text(s, op_prop(s, op, p, "mode")->sym);
    for (int i = 0; i < MODES; i++)
        if (strcmp(text, names[i]) == 0) return i;
    return -1;
}

/* Of the n + m - 1 results, the first that the mode keeps, and how many; -1 if they are
 * too many to count. */
static int64_t kept_results(int mode, int64_t n, int64_t m, int64_t *first) {
    int64_t most = n > m ? n : m, least = n < m ? n : m, all;
    *first = mode == FULL ? 0 : mode == SAME ? (least - 1) / 2 : least - 1;
    if (mode == FULL) return dim_add(n - 1, m, &all) ? all : -1;
    return mode == SAME ? most : most - least + 1;
}

static bool convolve_type(Infer *in) {
    int mode = convolve_mode(in->s, in->op, in->props);
    int64_t first;
    if (mode < 0)
        return infer_fail(in, E_ARG, in->nin,
                          "mode must be 'full', 'same' or 'valid', not '%s'",
                          sym_text(in->s, infer_prop(in, "mode")->sym));
    for (size_t i = 0; i < 2; i++) {
        if (!infer_want_rank(in, i, 1, 1)) return false;
        if (infer_in_dim(in, i, 0) == 0)
            return infer_fail(in, E_SHAPE, i, "it has no elements");
    }
    Dim n = infer_in_dim(in, 0, 0), m = infer_in_dim(in, 1, 0), r = DIM_UNKNOWN;
    if (dim_is_known(n) && dim_is_known(m)) {
        r = (Dim)kept_results(mode, (int64_t)n, (int64_t)m, &first);
        if (r < 0)
            return infer_fail(in, E_VALUE, in->nin, "the result has too many elements");
    } else if (m == 1) {
        r = n;
    } else if (n == 1) {
        r = m;
    }
    return infer_out_tensor(in, 0, in->type[0]->dtype, 1, &r);
}

typedef struct ConvolveJob {
    const void *x, *y; /* y is the shorter one */
    void *out;
    int64_t n, m, first, count;
} ConvolveJob;

/* A block of out[k - first] = the sum of y[j] x[k - j]. */
#define CONVOLVE(NAME, T, MUL)                                                         \
    static void add_##NAME(T *restrict sum, const T *restrict x, T f, int64_t n) {     \
        for (int64_t k = 0; k < n; k++)                                                \
            sum[k] += MUL(f, x[k]);                                                    \
    }                                                                                  \
    static void convolve_##NAME(void *ctx, size_t block, unsigned worker) {            \
        const ConvolveJob *q = ctx;                                                    \
        const T *x = q->x, *y = q->y;                                                  \
        int64_t at = q->first + (int64_t)block * BLOCK, last = q->first + q->count,    \
                end = at + BLOCK < last ? at + BLOCK : last;                           \
        T *out = (T *)q->out + (at - q->first);                                        \
        (void)worker;                                                                  \
        memset(out, 0, (size_t)(end - at) * sizeof *out);                              \
        for (int64_t j = at < q->n ? 0 : at - q->n + 1; j < q->m && j < end; j++) {    \
            int64_t from = j > at ? j : at, to = j + q->n < end ? j + q->n : end;      \
            add_##NAME(out + (from - at), x + (from - j), y[j], to - from);            \
        }                                                                              \
    }
#define TIMES(a, b) ((a) * (b))
CONVOLVE(u64, uint64_t, TIMES)
CONVOLVE(f32, float, TIMES)
CONVOLVE(f64, double, TIMES)
CONVOLVE(c128, double _Complex, cmul_c128)

/* The dtype of the sums. */
static DType sum_dtype(DType d) {
    return d == DT_FLOAT16 || d == DT_FLOAT32 ? DT_FLOAT32
           : d == DT_FLOAT64                  ? d
           : dtype_is_complex(d)              ? DT_COMPLEX128
                                              : DT_UINT64;
}

static void *pack_vector(DType d, const Tensor *x, void *to) {
    tensor_cast_elements(d, to, x->dtype, x->data, (size_t)x->shape[0],
                         (ptrdiff_t)dtype_size(d), (ptrdiff_t)x->stride[0]);
    return to;
}

static bool convolve_perform(Call *c) {
    Tensor x = *call_in(c, 0), y = *call_in(c, 1);
    int64_t n = x.shape[0], m = y.shape[0], first, count;
    if (n == 0 || m == 0)
        return call_fail(c, E_RUN_SHAPE, "%s has no elements", n ? "y" : "x");
    count = kept_results(convolve_mode(c->s, c->op, c->props), n, m, &first);
    if (count < 0) return call_fail(c, E_LIMIT, "the result has too many elements");
    DType d = sum_dtype(x.dtype);
    size_t bytes = 0, wide = dtype_size(d);
    size_append(&bytes, (size_t)n, wide);
    size_t at_y = size_append(&bytes, (size_t)m, wide);
    size_t at_r = size_append(&bytes, (size_t)count, wide);
    char *room = call_scratch(c, bytes);
    Tensor *out = room ? call_out(c, 0, 1, &count) : NULL;
    if (!out) return false;
    void *a = pack_vector(d, &x, room), *b = pack_vector(d, &y, room + at_y),
         *r = room + at_r;
    ConvolveJob q = {.x = n < m ? b : a,
                     .y = n < m ? a : b,
                     .out = r,
                     .n = n < m ? m : n,
                     .m = n < m ? n : m,
                     .first = first,
                     .count = count};
    ChunkFn *fn = d == DT_FLOAT32      ? convolve_f32
                  : d == DT_FLOAT64    ? convolve_f64
                  : d == DT_COMPLEX128 ? convolve_c128
                                       : convolve_u64;
    double work = (double)q.m * (double)count;
    pool_run(work < SHARE ? NULL : move_pool(c), (size_t)((count + BLOCK - 1) / BLOCK),
             fn, &q);
    ptrdiff_t size = (ptrdiff_t)dtype_size(out->dtype);
    tensor_cast_elements(out->dtype, out->data, d, r, (size_t)count, size,
                         (ptrdiff_t)dtype_size(d));
    return true;
}

/* Each gradient is the correlation of the other input with the cotangent, which gets
 * zeros where the mode leaves results out. */
static const char *const convolve_pullback =
    "n = shape(x)[0]\n"
    "m = shape(y)[0]\n"
    "least = minimum(n, m)\n"
    "first = (least - 1) // 2 when mode == 'same'\n"
    "first = least - 1\n"
    "whole = g when mode == 'full'\n"
    "whole = concatenate([none(first), g, none(n + m - 1 - first - shape(g)[0])])\n"
    "none = lambda k: zeros(int64(k), dtype='int8')\n"
    "g_x = convolve(whole, flip(cj(y)), mode='valid')[:n]\n"
    "g_y = convolve(whole, flip(cj(x)), mode='valid')[:m]";
static const char *const convolve_pushforward =
    "t_r = convolve(t_x, y, mode=mode) + convolve(x, t_y, mode=mode)";

static const Op table[] = {
    {.name = OP_ROW("convolve"),
     .doc = "Convolution of two vectors, r[k] = the sum of x[j] * y[k - j]: 'full' has "
            "every k for which there is a product, 'same' as many in the middle as the "
            "longer vector, 'valid' those with all products.",
     .in = "x, y",
     .props = "mode: str = 'full'",
     .promote = PROMOTE_SAME,
     .kinds = KIND_NUMBER,
     .type = convolve_type,
     .perform = convolve_perform,
     .flops = "2 * x.size * y.size",
     .pullback = convolve_pullback,
     .pushforward = convolve_pushforward,
     .comm = true,
     .example = "convolve([1, 2, 3], [1, 10]) -> [1, 12, 23, 30]\nconvolve([1, 2, 3], "
                "[1, 10], mode='valid') -> [12, 23]"},
};
const OpList ops_linalg_convolve = LIST_OF(table);
