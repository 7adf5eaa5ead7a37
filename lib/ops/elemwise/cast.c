/* cast(x, dtype): NumPy's astype, using the common conversion of values. */
#include "op/build.h"
#include "op/infer.h"
#include "value/value.h"

#include <string.h>

enum { BLOCK = 256, LARGEST = 16 };

/* If source and target are the same block, copies first: the conversion's arguments
 * must not alias. */
static unsigned cast_elements(DType to, DType from, size_t n, const char *in,
                              char *out) {
    _Alignas(16) char keep[BLOCK * LARGEST];
    size_t a = dtype_size(from), b = dtype_size(to);
    if (in != out) {
        tensor_cast_elements(to, out, from, in, n, (ptrdiff_t)b, (ptrdiff_t)a);
        return 0;
    }
    for (size_t at = 0, m; at < n && to != from; at += m) {
        m = n - at < BLOCK ? n - at : BLOCK;
        memcpy(keep, in + at * a, m * a);
        tensor_cast_elements(to, out + at * b, from, keep, m, (ptrdiff_t)b,
                             (ptrdiff_t)a);
    }
    return 0;
}

/* clang-format off */
#define FROM_EACH(M, to)                                                               \
    M(to, BOOL)                                                                        \
    M(to, INT8)                                                                        \
    M(to, INT16)                                                                       \
    M(to, INT32)                                                                       \
    M(to, INT64)                                                                       \
    M(to, UINT8)                                                                       \
    M(to, UINT16) M(to, UINT32) M(to, UINT64) M(to, FLOAT16) M(to, FLOAT32)            \
        M(to, FLOAT64) M(to, COMPLEX64) M(to, COMPLEX128)
/* clang-format on */
#define LOOP(to, from)                                                                 \
    static unsigned cast_##to##_##from(size_t n, const void *const *in,                \
                                       void *const *out) {                             \
        return cast_elements(DT_##to, DT_##from, n, in[0], out[0]);                    \
    }
#define CASE(to, from)                                                                 \
    case DT_##to *DT_N + DT_##from:                                                    \
        return cast_##to##_##from;
#define DTYPE(NAME, ...) FROM_EACH(LOOP, NAME)
#include "type/dtype.def"
#undef DTYPE

/* tensor_cast_elements selects by CPU itself. */
static Loop *cast_pick(DType from, DType to, int level) {
    if (level > 0) return NULL;
    switch ((int)to * DT_N + (int)from) {
#define DTYPE(NAME, ...) FROM_EACH(CASE, NAME)
#include "type/dtype.def"
#undef DTYPE
    default:
        return NULL;
    }
}

static bool cast_type(Infer *in) {
    return infer_want_castable(in, 0, (DType)infer_prop(in, "dtype")->i) &&
           type_elemwise(in);
}

/* Truncation has zero slope. The engine casts a gradient of another float dtype back to
 * x's. */
static bool cast_pull(Pull *p) {
    DType from = var_type(p->g, p->in[0])->dtype, to = var_type(p->g, p->out[0])->dtype;
    Var g = p->cotangent[0];
    if (!dtype_is_inexact(from)) from = p->b->floatX;
    if (dtype_is_discrete(to))
        g = op_zeros_like(p->b, p->in[0], from);
    else if (dtype_is_complex(to) && !dtype_is_complex(from))
        g = op_call1(p->b, "real", g);
    if (g != VAR_NONE) g = op_cast_to(p->b, g, from);
    return (p->grad[0] = g) != VAR_NONE;
}
static bool cast_push(Push *p) {
    DType to = var_type(p->g, p->out[0])->dtype;
    if (p->tangent[0] == VAR_NONE || dtype_is_discrete(to)) return true;
    p->result[0] = op_cast_to(p->b, p->tangent[0], to);
    return p->result[0] != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("cast"),
     .alias = "astype",
     .doc = "x converted to another dtype as NumPy does: floats to integers towards "
            "zero, integers to narrower ones by their low bits, nonzero to True.",
     RARE(.sparse = "sparse_cast"),
     .in = "x",
     .props = "dtype: dtype",
     .out_dtype = OUT_PROP,
     .type = cast_type,
     .pick = cast_pick,
     .flops = "0",
     .pull = cast_pull,
     .push = cast_push,
     .elemwise = true,
     .reuse = 1,
     .example = "cast(2.7, dtype='int64') -> 2\ncast(300, dtype='uint8') -> 44"},
};
const OpList ops_elemwise_cast = LIST_OF(table);
