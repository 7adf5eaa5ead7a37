/* Convolution of two vectors, or of each of many with one. */
#include "ops/linalg/product/convolve.h"

#include "op/infer.h"
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "vmap/kit.h"

#include <string.h>

enum { SHARE = 1 << 17 }; /* products that are worth several threads */

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
    int64_t batch = infer_prop(in, "batch_dims")->i;
    if (batch < 0 || batch >= MAX_NDIM)
        return infer_fail(in, E_ARG, in->nin,
                          "batch_dims must be a number of dims, not %lld",
                          (long long)batch);
    int last = (int)batch;
    for (size_t i = 0; i < 2; i++) {
        if (!infer_want_rank(in, i, last + 1, last + 1)) return false;
        if (infer_in_dim(in, i, last) == 0)
            return infer_fail(in, E_SHAPE, i, "it has no elements");
    }
    Dim dim[MAX_NDIM];
    for (int k = 0; k < last; k++)
        if (!infer_want_dims_equal(in, 0, k, 1, k, &dim[k])) return false;
    Dim n = infer_in_dim(in, 0, last), m = infer_in_dim(in, 1, last), r = DIM_UNKNOWN;
    if (dim_is_known(n) && dim_is_known(m)) {
        r = (Dim)kept_results(mode, (int64_t)n, (int64_t)m, &first);
        if (r < 0)
            return infer_fail(in, E_VALUE, in->nin, "the result has too many elements");
    } else if (m == 1) {
        r = n;
    } else if (n == 1) {
        r = m;
    }
    dim[last] = r;
    return infer_out_tensor(in, 0, in->type[0]->dtype, last + 1, dim);
}

static const ConvolveLoops *convolve_loops(Session *s) {
    return FOR_CPU_LEVEL(s, convolve_loops);
}

/* The dtype of the sums. */
static DType sum_dtype(DType d) {
    return d == DT_FLOAT16 || d == DT_FLOAT32 ? DT_FLOAT32
           : d == DT_FLOAT64                  ? d
           : dtype_is_complex(d)              ? DT_COMPLEX128
                                              : DT_UINT64;
}

/* The elements of x in the dtype d, contiguous: x's own, or written to `room`. */
static void *pack_vectors(DType d, const Tensor *x, void *room) {
    if (x->dtype == d && tensor_is_contiguous(x)) return x->data;
    Tensor to = {.dtype = d, .data = room, .ndim = x->ndim};
    int64_t step = (int64_t)dtype_size(d);
    for (int k = x->ndim; k-- > 0; step *= x->shape[k]) {
        to.shape[k] = x->shape[k];
        to.stride[k] = step;
    }
    tensor_assign(&to, x);
    return room;
}

/* Checks the shapes and says how much there is to do; count < 0: too much. */
static bool measure_job(Call *c, ConvolveJob *q) {
    const Tensor *x = call_in(c, 0), *y = call_in(c, 1);
    int last = x->ndim - 1;
    q->n = x->shape[last], q->m = y->shape[last], q->pairs = 1;
    for (int k = 0; k < last; k++) {
        if (x->shape[k] != y->shape[k])
            return call_fail(c, E_RUN_SHAPE, "dim %d of x is %lld, but that of y %lld",
                             k, (long long)x->shape[k], (long long)y->shape[k]);
        q->pairs *= x->shape[k];
    }
    if (q->n == 0 || q->m == 0)
        return call_fail(c, E_RUN_SHAPE, "%s has no elements", q->n ? "y" : "x");
    q->count =
        kept_results(convolve_mode(c->s, c->op, c->props), q->n, q->m, &q->first);
    if (q->count < 0) return call_fail(c, E_LIMIT, "the result has too many elements");
    q->blocks = (q->count - 1) / CONVOLVE_BLOCK + 1; /* count may be the largest */
    q->together = q->blocks > 1 ? 1 : (CONVOLVE_BLOCK + q->count - 1) / q->count;
    return true;
}

static void run_convolve(Call *c, const ConvolveJob *q, DType d) {
    const ConvolveLoops *l = convolve_loops(c->s);
    ChunkFn *fn = d == DT_FLOAT32      ? l->f32
                  : d == DT_FLOAT64    ? l->f64
                  : d == DT_COMPLEX128 ? l->c128
                                       : l->u64;
    double work = (double)q->m * (double)q->count * (double)q->pairs;
    int64_t groups = (q->pairs + q->together - 1) / q->together;
    ConvolveJob job = *q;
    pool_run(work < SHARE ? NULL : move_pool(c), (size_t)(groups * q->blocks), fn,
             &job);
}

static bool convolve_perform(Call *c) {
    Tensor x = *call_in(c, 0), y = *call_in(c, 1);
    int64_t shape[MAX_NDIM];
    ConvolveJob q;
    if (!measure_job(c, &q)) return false;
    memcpy(shape, x.shape, sizeof shape);
    shape[x.ndim - 1] = q.count;
    Tensor *out = call_out(c, 0, x.ndim, shape);
    if (!out) return false;
    DType d = sum_dtype(x.dtype);
    bool direct = out->dtype == d;
    size_t bytes = 0, wide = dtype_size(d), count = (size_t)tensor_size(out);
    size_append(&bytes, (size_t)tensor_size(&x), wide);
    size_t at_y = size_append(&bytes, (size_t)tensor_size(&y), wide);
    size_t at_r = size_append(&bytes, direct ? 0 : count, wide);
    char *room = call_scratch(c, bytes);
    if (!room) return false;
    q.x = pack_vectors(d, &x, room);
    q.y = pack_vectors(d, &y, room + at_y);
    q.out = direct ? out->data : room + at_r;
    if (q.n < q.m) {
        const void *longer = q.y;
        int64_t m = q.n;
        q.y = q.x, q.x = longer;
        q.n = q.m, q.m = m;
    }
    run_convolve(c, &q, d);
    if (!direct)
        tensor_cast_elements(out->dtype, out->data, d, q.out, count,
                             (ptrdiff_t)dtype_size(out->dtype), (ptrdiff_t)wide);
    return true;
}

/* Each gradient is the correlation of the other input with the cotangent, which gets
 * zeros where the mode leaves results out. */
static const char *const convolve_pullback =
    "n = shape(x)[-1]\n"
    "m = shape(y)[-1]\n"
    "least = minimum(n, m)\n"
    "first = (least - 1) // 2 when mode == 'same'\n"
    "first = least - 1\n"
    "whole = g when mode == 'full'\n"
    "whole = concatenate([none(first), g, none(n + m - 1 - first - shape(g)[-1])], "
    "axis=-1)\n"
    "none = lambda k: zeros(int64(k), dtype='int8') when batch_dims == 0\n"
    "none = lambda k: zeros(concatenate([shape(g)[:-1], [int64(k)]]), dtype='int8')\n"
    "g_x = convolve(whole, flip(cj(y), axis=-1), mode='valid', "
    "batch_dims=batch_dims)[..., :n]\n"
    "g_y = convolve(whole, flip(cj(x), axis=-1), mode='valid', "
    "batch_dims=batch_dims)[..., :m]";
static const char *const convolve_pushforward =
    "t_r = convolve(t_x, y, mode=mode, batch_dims=batch_dims) + "
    "convolve(x, t_y, mode=mode, batch_dims=batch_dims)";

static bool convolve_vmap(Vmap *q) {
    int64_t batch = prop_int(q->b->s, q->op, q->props, "batch_dims");
    Var in[2] = {vmap_with_rows(q, 0), vmap_with_rows(q, 1)};
    return vmap_apply(q, vmap_replace_prop(q, "batch_dims", PROP_INT(batch + 1)), in);
}

static const Op table[] = {
    {.name = OP_ROW("convolve"),
     .doc = "Convolution of two vectors, r[k] = the sum of x[j] * y[k - j]: 'full' has "
            "every k for which there is a product, 'same' as many in the middle as the "
            "longer vector, 'valid' those with all products. The first batch_dims dims "
            "of both belong together: there is a pair of vectors for each index of "
            "them.",
     .in = "x, y",
     .props = "mode: str = 'full', batch_dims: int = 0",
     .promote = PROMOTE_SAME,
     .kinds = KIND_NUMBER,
     .type = convolve_type,
     .perform = convolve_perform,
     .flops = "2 * x.size * y.shape[-1]",
     .pullback = convolve_pullback,
     .pushforward = convolve_pushforward,
     .vmap = convolve_vmap,
     .comm = true,
     .example = "convolve([1, 2, 3], [1, 10]) -> [1, 12, 23, 30]\nconvolve([1, 2, 3], "
                "[1, 10], mode='valid') -> [12, 23]\n"
                "convolve([[1, 2], [3, 4]], [[1, 10], [0, 1]], batch_dims=1) -> [[1, "
                "12, 20], [0, 3, 4]]"},
};
const OpList ops_linalg_convolve = LIST_OF(table);
