/* Conversion of strided elements: gathers blocks, converts them with a contiguous loop
 * and scatters the result, so that one loop per pair of dtypes serves every layout. */
#include "base/cpu.h"
#include "value/value_impl.h"

#include <string.h>

enum { BLOCK = 256, SIZE_MAX_ELEMENT = 16, FEW = 8 };

/* The loops need few of their level's instructions, all of which come with these. */
int value_simd_level(void) {
#if defined(__x86_64__)
    if (CPU_HAS(AVX512BW) && CPU_HAS(AVX512VL) && CPU_HAS(AVX512DQ)) return 2;
    if (CPU_HAS(AVX2) && CPU_HAS(FMA) && CPU_HAS(BMI2)) return 1;
#endif
    return 0;
}

void value_copy_bytes(void *dst, const void *src, size_t n) {
    enum { LINE = 64, LONG = 2048, FAR = 1 << 20 };
    if (n < LONG || n >= FAR || (uintptr_t)dst % LINE == 0) {
        memcpy(dst, src, n);
        return;
    }
#if defined(__x86_64__)
    int level = value_simd_level();
    (level == 2   ? copy_unaligned_2
     : level == 1 ? copy_unaligned_1
                  : copy_unaligned_0)(dst, src, n);
#else
    copy_unaligned_0(dst, src, n);
#endif
}

static CastFn *cast_fn(DType to, DType from) {
#if defined(__x86_64__)
    int level = value_simd_level();
    if (level == 2) return cast_pick_2(to, from);
    if (level == 1) return cast_pick_1(to, from);
#endif
    return cast_pick_0(to, from);
}

/* One side of a conversion. */
typedef struct CastSide {
    size_t size;
    ptrdiff_t step;
    bool direct; /* packed and aligned: needs no copy */
} CastSide;

static CastSide cast_side(DType d, const void *p, ptrdiff_t step, size_t n) {
    size_t size = dtype_size(d);
    size_t align = dtype_is_complex(d) ? size / 2 : size;
    bool packed = step == (ptrdiff_t)size || n == 1;
    return (CastSide){size, step, packed && (uintptr_t)p % align == 0};
}

static void cast_strided_block(CastFn *fn, CastSide to, void *dst, CastSide from,
                               const void *src, size_t n) {
    _Alignas(16) char in[BLOCK * SIZE_MAX_ELEMENT], out[BLOCK * SIZE_MAX_ELEMENT];
    if (!from.direct)
        tensor_copy_elements(in, (ptrdiff_t)from.size, src, from.step, n, from.size);
    fn(to.direct ? dst : out, from.direct ? src : in, n);
    if (!to.direct)
        tensor_copy_elements(dst, to.step, out, (ptrdiff_t)to.size, n, to.size);
}

void tensor_cast_elements(DType to, void *dst, DType from, const void *src, size_t n,
                          ptrdiff_t dst_step, ptrdiff_t src_step) {
    if (n == 0) return;
    if (to == from) {
        tensor_copy_elements(dst, dst_step, src, src_step, n, dtype_size(to));
        return;
    }
    CastFn *fn = cast_fn(to, from);
    CastSide d = cast_side(to, dst, dst_step, n), f = cast_side(from, src, src_step, n);
    if (d.direct && f.direct) {
        fn(dst, src, n);
        return;
    }
    if (src_step == 0) { /* a single element, broadcast */
        _Alignas(16) char one[SIZE_MAX_ELEMENT];
        cast_strided_block(fn, (CastSide){d.size, 0, true}, one,
                           (CastSide){f.size, 0, false}, src, 1);
        tensor_copy_elements(dst, dst_step, one, 0, n, d.size);
        return;
    }
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < BLOCK ? n - i : BLOCK;
        cast_strided_block(fn, d, (char *)dst + (ptrdiff_t)i * dst_step, f,
                           (const char *)src + (ptrdiff_t)i * src_step, m);
    }
}

/* The innermost two dims of a walk. */
typedef struct CastPlane {
    int64_t rows, columns;
    int64_t dst_row, src_row, dst_step, src_step;
} CastPlane;

/* Takes outer dim k from the walk, to process it together with the inner one. */
static void take_dim(Iter *it, int k, CastPlane *p) {
    *p = (CastPlane){it->shape[k],     it->inner,   it->stride[0][k],
                     it->stride[1][k], it->step[0], it->step[1]};
    for (it->ndim--; k < it->ndim; k++) {
        it->shape[k] = it->shape[k + 1];
        for (int op = 0; op < it->nop; op++)
            it->stride[op][k] = it->stride[op][k + 1];
    }
}

/* If the source's fast dim differs from the destination's, takes the last outer dim, to
 * process it in tiles together with the inner one. */
static bool take_plane(Iter *it, CastPlane *p) {
    int k = it->ndim - 1;
    if (k < 0) return false;
    int64_t along = i64_abs(it->step[1]), across = i64_abs(it->stride[1][k]);
    if (across == 0 || along == 0 || along <= across) return false;
    take_dim(it, k, p);
    return true;
}

static void assign_plane(const CastPlane *p, DType to, char *dst, DType from,
                         const char *src) {
    enum { TILE = 64, STREAM_BYTES = 16 << 20 };
    int64_t size = (int64_t)dtype_size(to);
    if (to == from && p->dst_step == size && i64_abs(p->src_row) == size) {
        /* rows that are backwards begin with the last one */
        bool back = p->src_row < 0;
        int64_t first = back ? p->rows - 1 : 0;
        Transposition t = {.dst = dst + first * p->dst_row,
                           .dst_row = (ptrdiff_t)(back ? -p->dst_row : p->dst_row),
                           .src = src + first * p->src_row,
                           .src_column = (ptrdiff_t)p->src_step,
                           .rows = (size_t)p->rows,
                           .columns = (size_t)p->columns,
                           .size = (size_t)size};
        transpose_by_tiles(&t, p->rows * p->columns >= STREAM_BYTES / size);
        return;
    }
    for (int64_t c = 0; c < p->columns; c += TILE) {
        int64_t n = p->columns - c < TILE ? p->columns - c : TILE;
        for (int64_t r = 0; r < p->rows; r++)
            tensor_cast_elements(to, dst + r * p->dst_row + c * p->dst_step, from,
                                 src + r * p->src_row + c * p->src_step, (size_t)n,
                                 (ptrdiff_t)p->dst_step, (ptrdiff_t)p->src_step);
    }
}

static void assign_converted(Iter *it, DType to, DType from) {
    CastPlane plane = {0};
    bool planes = take_plane(it, &plane);
    for (; !it->done; iter_next(it))
        if (planes)
            assign_plane(&plane, to, it->ptr[0], from, it->ptr[1]);
        else
            tensor_cast_elements(to, it->ptr[0], from, it->ptr[1], (size_t)it->inner,
                                 (ptrdiff_t)it->step[0], (ptrdiff_t)it->step[1]);
}

/* ---- the same dtype ---- */
/* The rows are long and start to end, or else are a few interleaved ones, of which
 * pieces are copied while their lines are cached. */
static void copy_plane(const CastPlane *p, char *dst, const char *src, size_t size) {
    enum { PIECE = 1024 };
    int64_t piece =
        p->dst_step == (int64_t)size && p->src_step == p->dst_step ? p->columns : PIECE;
    for (int64_t c = 0; c < p->columns; c += piece) {
        int64_t n = p->columns - c < piece ? p->columns - c : piece;
        for (int64_t r = 0; r < p->rows; r++)
            tensor_copy_elements(dst + r * p->dst_row + c * p->dst_step,
                                 (ptrdiff_t)p->dst_step,
                                 src + r * p->src_row + c * p->src_step,
                                 (ptrdiff_t)p->src_step, (size_t)n, size);
    }
}

/* The outer dim along which the source is contiguous, forwards or backwards, if the
 * inner one is a dim along which only the destination is; -1. */
static int turned_dim(const Iter *it, int64_t size) {
    if (it->step[0] != size || i64_abs(it->step[1]) <= size) return -1;
    for (int k = it->ndim - 1; k >= 0; k--)
        if (i64_abs(it->stride[1][k]) == size && it->shape[k] >= FEW) return k;
    return -1;
}

/* Bits are only moved: rows that are contiguous on both sides, several of them with
 * each step of the walk; a plane that is turned, in tiles; one that is narrow, along
 * its longer dim; anything else as a conversion. */
static void assign_moved(Iter *it, DType d) {
    int64_t size = (int64_t)dtype_size(d);
    int turned = turned_dim(it, size);
    bool rows = it->ndim && it->step[0] == size && it->step[1] == size;
    int last = it->ndim - 1;
    bool beside =
        turned < 0 && !rows && last >= 0 && it->inner < FEW && it->shape[last] >= FEW;
    if (turned < 0 && !rows && !beside) {
        assign_converted(it, d, d);
        return;
    }
    CastPlane p, across;
    take_dim(it, rows || beside ? last : turned, &p);
    across =
        (CastPlane){p.columns, p.rows, p.dst_step, p.src_step, p.dst_row, p.src_row};
    bool narrow = !rows && p.columns < FEW;
    for (; !it->done; iter_next(it))
        if (narrow)
            copy_plane(&across, it->ptr[0], it->ptr[1], (size_t)size);
        else if (rows)
            copy_plane(&p, it->ptr[0], it->ptr[1], (size_t)size);
        else
            assign_plane(&p, d, it->ptr[0], d, it->ptr[1]);
}

void tensor_assign(Tensor *dst, const Tensor *src) {
    Iter it;
    const Tensor *const op[2] = {dst, src};
    iter_init(&it, dst->ndim, dst->shape, 2, op);
    if (it.done) return;
    if (dst->dtype == src->dtype)
        assign_moved(&it, dst->dtype);
    else
        assign_converted(&it, dst->dtype, src->dtype);
}

bool tensor_cast(Session *s, const Tensor *src, DType d, Tensor *out) {
    if (!tensor_new(s, d, src->ndim, src->shape, out)) return false;
    tensor_assign(out, src);
    return true;
}
