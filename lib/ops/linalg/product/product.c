/* Matrix products of any dtype and layout. Operands that OpenBLAS can't read in place
 * are copied first: gemm requires one stride of a matrix to be one element. Integers
 * wrap as in NumPy; for bool the sum is "or". */
#include "ops/linalg/product/product.h"

#include "ops/linalg/product/integers.h"
#include "ops/linalg/product/small.h"

#include <math.h>
#include <string.h>

/* ---- the reference: one element of the result at a time ---- */
#define DOT_INT(NAME, T, U)                                                            \
    static void dot_##NAME(int64_t k, const char *a, int64_t sa, const char *b,        \
                           int64_t sb, void *out) {                                    \
        U sum = 0;                                                                     \
        for (int64_t i = 0; i < k; i++, a += sa, b += sb)                              \
            sum = (U)(sum + (U)((U) * (const T *)(const void *)a * (U) *               \
                                (const T *)(const void *)b));                          \
        *(T *)out = (T)sum;                                                            \
    }
DOT_INT(int8, int8_t, uint32_t)
DOT_INT(int16, int16_t, uint32_t)
DOT_INT(int32, int32_t, uint32_t)
DOT_INT(int64, int64_t, uint64_t)
DOT_INT(uint8, uint8_t, uint32_t)
DOT_INT(uint16, uint16_t, uint32_t)
DOT_INT(uint32, uint32_t, uint32_t)
DOT_INT(uint64, uint64_t, uint64_t)

#define DOT_FLOAT(NAME, T, A)                                                          \
    static void dot_##NAME(int64_t k, const char *a, int64_t sa, const char *b,        \
                           int64_t sb, void *out) {                                    \
        A sum = 0;                                                                     \
        for (int64_t i = 0; i < k; i++, a += sa, b += sb)                              \
            sum +=                                                                     \
                (A) * (const T *)(const void *)a * (A) * (const T *)(const void *)b;   \
        *(T *)out = (T)sum;                                                            \
    }
DOT_FLOAT(float32, float, double)
DOT_FLOAT(float64, double, double)
DOT_FLOAT(complex64, float _Complex, double _Complex)
DOT_FLOAT(complex128, double _Complex, double _Complex)

static void dot_float16(int64_t k, const char *a, int64_t sa, const char *b, int64_t sb,
                        void *out) {
    double sum = 0;
    for (int64_t i = 0; i < k; i++, a += sa, b += sb)
        sum += half_to_double(*(const uint16_t *)(const void *)a) *
               half_to_double(*(const uint16_t *)(const void *)b);
    *(uint16_t *)out = half_from_double(sum);
}

static void dot_bool(int64_t k, const char *a, int64_t sa, const char *b, int64_t sb,
                     void *out) {
    bool any = false;
    for (int64_t i = 0; i < k && !any; i++, a += sa, b += sb)
        any = *a && *b;
    *(uint8_t *)out = any;
}

static DotFn *const dots[DT_N] = {
#define DTYPE(NAME, name, ctype, kind, size, npy) [DT_##NAME] = dot_##name,
#include "type/dtype.def"
#undef DTYPE
};

DotFn *product_dot(DType d) {
    return dots[d];
}

/* ---- batches ---- */
typedef struct MatrixBatch {
    const Tensor *a, *b;
    int n;
    const int64_t *shape;
    int64_t sa[MAX_NDIM], sb[MAX_NDIM]; /* bytes, 0 where broadcast */
    int64_t count;
} MatrixBatch;

/* Set field by field: clearing arrays for 32 dims costs more than a small product. */
static void matrix_batch_set(MatrixBatch *q, const Tensor *a, const Tensor *b, int n,
                             const int64_t *shape) {
    q->a = a, q->b = b;
    q->n = n;
    q->shape = shape;
    q->count = 1;
    for (int i = 0; i < n; i++) {
        int ia = a->ndim - 2 - n + i, ib = b->ndim - 2 - n + i;
        q->sa[i] = ia < 0 || a->shape[ia] == 1 ? 0 : a->stride[ia];
        q->sb[i] = ib < 0 || b->shape[ib] == 1 ? 0 : b->stride[ib];
        q->count *= shape[i];
    }
}

static void matrix_batch_at(const MatrixBatch *q, int64_t i, const char **a,
                            const char **b) {
    *a = q->a->data;
    *b = q->b->data;
    for (int d = q->n; d-- > 0;) {
        int64_t at = i % q->shape[d];
        i /= q->shape[d];
        *a += at * q->sa[d];
        *b += at * q->sb[d];
    }
}

static void reference_one(const Tensor *ta, const Tensor *tb, const char *a,
                          const char *b, char *out) {
    const int64_t *sa = ta->stride + ta->ndim - 2, *sb = tb->stride + tb->ndim - 2;
    int64_t m = ta->shape[ta->ndim - 2], k = ta->shape[ta->ndim - 1],
            n = tb->shape[tb->ndim - 1];
    size_t size = dtype_size(ta->dtype);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++, out += size)
            dots[ta->dtype](k, a + i * sa[0], sa[1], b + j * sb[1], sb[0], out);
}

void product_reference(const Tensor *a, const Tensor *b, int nbatch,
                       const int64_t *batch, void *out) {
    MatrixBatch q;
    matrix_batch_set(&q, a, b, nbatch, batch);
    int64_t size =
        a->shape[a->ndim - 2] * b->shape[b->ndim - 1] * (int64_t)dtype_size(a->dtype);
    for (int64_t i = 0; i < q.count; i++) {
        const char *pa, *pb;
        matrix_batch_at(&q, i, &pa, &pb);
        reference_one(a, b, pa, pb, (char *)out + i * size);
    }
}

/* ---- by OpenBLAS ---- */
/* Can gemm read the last two axes in place? Element sizes are powers of 2. */
static bool fits_blas(const Tensor *t) {
    int64_t size = (int64_t)dtype_size(t->dtype);
    int64_t rows = t->shape[t->ndim - 2], cols = t->shape[t->ndim - 1];
    int64_t r = t->stride[t->ndim - 2], k = t->stride[t->ndim - 1];
    if (((r | k) & (size - 1)) || r > (int64_t)INT32_MAX * size ||
        k > (int64_t)INT32_MAX * size)
        return false;
    bool by_row = (k == size || cols == 1) && (r >= cols * size || rows == 1);
    bool by_col = (r == size || rows == 1) && (k >= rows * size || cols == 1);
    return by_row || by_col;
}

/* A copy in gemm's layout, allocated in *room (which advances). */
static const Tensor *copy_for_blas(const Tensor *t, DType d, Tensor *copy,
                                   char **room) {
    int64_t step = (int64_t)dtype_size(d);
    copy->dtype = d;
    copy->ndim = t->ndim;
    copy->data = *room;
    copy->buf = NULL;
    for (int i = t->ndim; i-- > 0;) {
        copy->shape[i] = t->shape[i];
        copy->stride[i] = step;
        step *= t->shape[i];
    }
    tensor_assign(copy, t);
    *room += ((size_t)step + 63) & ~(size_t)63;
    return copy;
}

static bool add_copy_room(const Tensor *t, DType d, size_t *bytes) {
    size_t n;
    return size_mul((size_t)tensor_size(t), dtype_size(d), &n) &&
           size_add(*bytes, n + 64, bytes);
}

typedef struct BlasProducts {
    const Blas *lib;
    MatrixBatch q;
    Gemm g;
    size_t out_bytes;
    int64_t chunk; /* products per chunk */
} BlasProducts;

static Gemm product_at(const BlasProducts *j, int64_t i) {
    Gemm g = j->g;
    const char *a, *b;
    matrix_batch_at(&j->q, i, &a, &b);
    g.a = a;
    g.b = b;
    g.c = (char *)g.c + (size_t)i * j->out_bytes;
    return g;
}

static void run_product_chunk(void *ctx, size_t chunk, unsigned worker) {
    const BlasProducts *j = ctx;
    int64_t from = (int64_t)chunk * j->chunk, to = from + j->chunk;
    (void)worker;
    for (int64_t i = from; i < to && i < j->q.count; i++) {
        Gemm g = product_at(j, i);
        blas_gemm(j->lib, &g);
    }
}

static Gemm gemm_of(const Tensor *a, const Tensor *b) {
    int shift = __builtin_ctzll(dtype_size(a->dtype));
    const int64_t *sa = a->stride + a->ndim - 2, *sb = b->stride + b->ndim - 2;
    return (Gemm){.dtype = a->dtype,
                  .m = a->shape[a->ndim - 2],
                  .k = a->shape[a->ndim - 1],
                  .n = b->shape[b->ndim - 1],
                  .a = a->data,
                  .b = b->data,
                  .a_row = sa[0] >> shift,
                  .a_col = sa[1] >> shift,
                  .b_row = sb[0] >> shift,
                  .b_col = sb[1] >> shift,
                  .ldc = b->shape[b->ndim - 1]};
}

/* Many matrices by one: where the rows of all follow each other at one distance, they
 * are the rows of a single product. */
static void join_rows(Session *s, BlasProducts *j) {
    MatrixBatch *q = &j->q;
    const int64_t size = (int64_t)dtype_size(j->g.dtype);
    int64_t rows = j->g.m, step = j->g.a_row * size, last = 0;
    if (q->count < 2 || j->g.a_col != 1) return;
    for (int d = q->n; d-- > 0;) {
        if (q->shape[d] == 1) continue;
        if (q->sb[d] != 0) return;
        if (rows == 1) step = q->sa[d];
        if (q->sa[d] != rows * step || !i64_mul(rows, q->shape[d], &rows)) return;
        last = step;
    }
    if (rows > INT32_MAX || last % size || last < j->g.k * size ||
        last > INT32_MAX * size)
        return;
    Gemm one = j->g;
    one.m = rows;
    one.a_row = last / size;
    if (!blas_for(s, &one)) return;
    j->g = one;
    q->n = 0;
    q->count = 1;
}

typedef struct ProductRedo {
    const Blas *lib;
    Gemm g;
} ProductRedo;

static void run_redo(void *how, const void *const *in, void *const *out) {
    const ProductRedo *p = how;
    Gemm g = p->g;
    g.a = in[0];
    g.b = in[1];
    g.c = out[0];
    blas_gemm(p->lib, &g);
}

/* For products of the inputs themselves, not of copies. */
static void offer_redo(Call *c, const Blas *lib, const Gemm *g) {
    if (!c->redo || g->scale || c->nin != 2 || g->a != c->in[0]->t.data ||
        g->b != c->in[1]->t.data || g->c != c->out[0].t.data)
        return;
    ProductRedo *p = mem_alloc(c->s, sizeof *p);
    *p = (ProductRedo){lib, *g};
    *c->redo = (Redo){run_redo, p};
}

/* In pieces, if it is large enough. */
static bool run_single_blas(Call *c, const Gemm *g) {
    double madds = (double)g->m * (double)g->n * (double)g->k;
    if (!g->scale && blas_pays_triangle(g, TRIANGLE_GRAM)) {
        blas_triangle(c->s, g, TRIANGLE_GRAM, c->host->pool);
        return true;
    }
    if (madds < BLAS_SPLIT_LEAST) {
        const Blas *lib = blas_for(c->s, g);
        blas_gemm(lib, g);
        offer_redo(c, lib, g);
        return true;
    }
    size_t bytes = blas_room(g);
    void *room = bytes ? call_scratch(c, bytes) : NULL;
    if (bytes && !room) return false;
    blas_gemm_split(c->s, g, c->host->pool, room);
    return true;
}

/* A single product is split; several are distributed whole, in chunks large enough to
 * pay. */
static bool run_blas(Call *c, const Tensor *a, const Tensor *b, int nbatch,
                     const int64_t *batch, void *out) {
    enum { CHUNK_MADDS = 1 << 18 };
    BlasProducts j;
    j.g = gemm_of(a, b);
    j.g.c = out;
    if (nbatch == 0) return run_single_blas(c, &j.g);
    matrix_batch_set(&j.q, a, b, nbatch, batch);
    join_rows(c->s, &j);
    if (j.q.count == 1) return run_single_blas(c, &j.g);
    j.lib = blas_for(c->s, &j.g);
    double madds = (double)j.g.m * (double)j.g.n * (double)j.g.k;
    j.chunk = madds < CHUNK_MADDS ? (int64_t)(CHUNK_MADDS / madds) : 1;
    j.out_bytes = (size_t)(j.g.m * j.g.n) * dtype_size(a->dtype);
    size_t chunks = (size_t)((j.q.count + j.chunk - 1) / j.chunk);
    Pool *pool = blas_pool_for(c->s, &j.g, c->host->pool, chunks);
    pool_run(pool, chunks, run_product_chunk, &j);
    return true;
}

/* ---- batches of small matrices ---- */
typedef struct SmallBatch {
    MatrixBatch q;
    SmallProductsFn *run;
    SmallProducts p; /* without the operands' places */
    size_t out_bytes;
    int64_t chunk;
} SmallBatch;

static void run_small_chunk(void *ctx, size_t chunk, unsigned worker) {
    const SmallBatch *j = ctx;
    const MatrixBatch *q = &j->q;
    (void)worker;
    int64_t i = (int64_t)chunk * j->chunk, wide = q->shape[q->n - 1],
            to = q->count - i < j->chunk ? q->count : i + j->chunk;
    while (i < to) {
        SmallProducts p = j->p;
        p.count = wide - i % wide < to - i ? wide - i % wide : to - i;
        matrix_batch_at(q, i, &p.a, &p.b);
        p.c += (size_t)i * j->out_bytes;
        j->run(&p);
        i += p.count;
    }
}

static const SmallLoops *small_loops(Session *s) {
    return FOR_CPU_LEVEL(s, small_loops);
}

static const SmallLoops *tile_loops(Session *s) {
    return FOR_CPU_LEVEL(s, tile_loops);
}

/* May tiles read b? Along rows or along columns. */
static bool fits_tiles(const Tensor *b, int64_t k) {
    int64_t size = (int64_t)dtype_size(b->dtype);
    return b->stride[b->ndim - 1] == size || b->stride[b->ndim - 2] == size || k == 1;
}

/* NULL: OpenBLAS is for these. The same for any number of them, so that a part of a
 * batch has the same bits. Where all have one b, larger products may be made of the
 * rows of a. */
static const SmallLoops *loops_for(Session *s, const Tensor *a, const Tensor *b,
                                   int nbatch) {
    int64_t m = a->shape[a->ndim - 2], k = a->shape[a->ndim - 1],
            n = b->shape[b->ndim - 1];
    bool shared = nbatch > 0 && b->ndim == 2 &&
                  a->stride[a->ndim - 1] == (int64_t)dtype_size(a->dtype);
    if (shared || (a->dtype != DT_FLOAT32 && a->dtype != DT_FLOAT64) || m < 2 || n < 2)
        return NULL;
    if (m <= SMALL_ROWS && k <= SMALL_SIDE && n <= SMALL_SIDE) return small_loops(s);
    bool few = m <= TILES_SIDE && k <= TILES_SIDE && n <= TILES_SIDE;
    return few && fits_tiles(b, k) ? tile_loops(s) : NULL;
}

typedef struct SmallRedo {
    SmallProductsFn *run;
    SmallProducts p;
} SmallRedo;

static void run_small_redo(void *how, const void *const *in, void *const *out) {
    const SmallRedo *r = how;
    SmallProducts p = r->p;
    p.a = in[0];
    p.b = in[1];
    p.c = out[0];
    r->run(&p);
}

/* One product. */
static void multiply_one(Call *c, const SmallBatch *j, const Tensor *a,
                         const Tensor *b) {
    SmallProducts p = j->p;
    p.count = 1;
    p.a = a->data;
    p.b = b->data;
    j->run(&p);
    if (!c->redo || a->data != c->in[0]->t.data || b->data != c->in[1]->t.data) return;
    SmallRedo *r = mem_alloc(c->s, sizeof *r);
    *r = (SmallRedo){j->run, p};
    *c->redo = (Redo){run_small_redo, r};
}

static void multiply_small(Call *c, const SmallLoops *loops, const Tensor *a,
                           const Tensor *b, int nbatch, const int64_t *batch,
                           void *out) {
    enum { CHUNK_MADDS = 1 << 17 };
    SmallBatch j = {.run = loops->run[a->dtype == DT_FLOAT64]};
    j.p = (SmallProducts){.c = out,
                          .m = a->shape[a->ndim - 2],
                          .k = a->shape[a->ndim - 1],
                          .n = b->shape[b->ndim - 1],
                          .a_row = a->stride[a->ndim - 2],
                          .a_col = a->stride[a->ndim - 1],
                          .b_row = b->stride[b->ndim - 2],
                          .b_col = b->stride[b->ndim - 1]};
    if (nbatch == 0) {
        multiply_one(c, &j, a, b);
        return;
    }
    matrix_batch_set(&j.q, a, b, nbatch, batch);
    j.p.a_next = j.q.sa[nbatch - 1];
    j.p.b_next = j.q.sb[nbatch - 1];
    j.out_bytes = (size_t)(j.p.m * j.p.n) * dtype_size(a->dtype);
    j.chunk = CHUNK_MADDS / (j.p.m * j.p.k * j.p.n);
    if (j.chunk < 1) j.chunk = 1;
    size_t chunks = (size_t)((j.q.count + j.chunk - 1) / j.chunk);
    Pool *pool = c->host ? c->host->pool : NULL;
    if (pool && chunks > 1)
        pool_run(pool, chunks, run_small_chunk, &j);
    else
        for (size_t i = 0; i < chunks; i++)
            run_small_chunk(&j, i, 0);
}

/* Copies operands with an unsuitable layout, and widens float16. */
static bool multiply_copies(Call *c, const Tensor *a, const Tensor *b, int nbatch,
                            const int64_t *batch, void *out) {
    bool half = a->dtype == DT_FLOAT16;
    DType d = half ? DT_FLOAT32 : a->dtype;
    bool copy_a = half || !fits_blas(a), copy_b = half || !fits_blas(b);
    size_t count = (size_t)tensor_size(&c->out[0].t), bytes = 0,
           result = half ? count * dtype_size(d) + 64 : 0;
    if ((copy_a && !add_copy_room(a, d, &bytes)) ||
        (copy_b && !add_copy_room(b, d, &bytes)) || !size_add(bytes, result, &bytes))
        return call_fail(c, E_LIMIT, "the operands of matmul are too large to copy");
    char *room = call_scratch(c, bytes);
    if (!room) return false;
    Tensor copy[2];
    if (copy_a) a = copy_for_blas(a, d, &copy[0], &room);
    if (copy_b) b = copy_for_blas(b, d, &copy[1], &room);
    if (!run_blas(c, a, b, nbatch, batch, half ? room : out)) return false;
    if (half)
        tensor_cast_elements(DT_FLOAT16, out, d, room, count,
                             (ptrdiff_t)dtype_size(DT_FLOAT16),
                             (ptrdiff_t)dtype_size(d));
    return true;
}

static bool multiply_by_blas(Call *c, const Tensor *a, const Tensor *b, int nbatch,
                             const int64_t *batch, void *out) {
    if (a->dtype != DT_FLOAT16 && fits_blas(a) && fits_blas(b))
        return run_blas(c, a, b, nbatch, batch, out);
    return multiply_copies(c, a, b, nbatch, batch, out);
}

/* ---- integers ---- */
typedef struct IntegerProducts {
    MatrixBatch q;
    IntegerPanelFn *run;
    IntegerPanel p;  /* without the operands' places */
    int64_t n, wide; /* columns of b; of a panel */
    size_t size;
    char *out;
} IntegerProducts;

static void run_panel(void *ctx, size_t chunk, unsigned worker) {
    const IntegerProducts *j = ctx;
    (void)worker;
    int64_t panels = (j->n + j->wide - 1) / j->wide, at = (int64_t)chunk / panels,
            first = (int64_t)chunk % panels * j->wide;
    const char *a, *b;
    matrix_batch_at(&j->q, at, &a, &b);
    IntegerPanel p = j->p;
    p.a = a;
    p.b = b + (size_t)first * j->size;
    p.c = j->out + (size_t)(at * p.m * j->n + first) * j->size;
    p.width = j->n - first < j->wide ? j->n - first : j->wide;
    j->run(&p);
}

static const IntegerLoops *integer_loops(Session *s) {
    return FOR_CPU_LEVEL(s, integer_loops);
}

static bool rows_are_packed(const Tensor *t, DType d) {
    int64_t size = (int64_t)dtype_size(d);
    return dtype_size(t->dtype) == dtype_size(d) &&
           (t->stride[t->ndim - 1] == size || t->shape[t->ndim - 1] == 1) &&
           t->stride[t->ndim - 2] % size == 0;
}

/* Bytes are widened, and their sums cut: they wrap either way. */
static bool multiply_integers(Call *c, const Tensor *a, const Tensor *b, int nbatch,
                              const int64_t *batch, void *out) {
    DType own = a->dtype, d = dtype_size(own) == 8   ? DT_UINT64
                              : dtype_size(own) == 4 ? DT_UINT32
                                                     : DT_UINT16;
    size_t count = (size_t)tensor_size(&c->out[0].t), size = dtype_size(d), bytes = 0,
           result = dtype_size(own) < size ? (count * size + 63) / 64 * 64 : 0;
    bool copy_a = !rows_are_packed(a, d), copy_b = !rows_are_packed(b, d);
    if ((copy_a && !add_copy_room(a, d, &bytes)) ||
        (copy_b && !add_copy_room(b, d, &bytes)) || !size_add(bytes, result, &bytes))
        return call_fail(c, E_LIMIT, "the operands of matmul are too large to copy");
    char *room = bytes ? call_scratch(c, bytes) : NULL;
    if (bytes && !room) return false;
    Tensor copy[2];
    IntegerProducts j = {.size = size, .out = result ? room : out};
    if (result) room += result;
    if (copy_a) a = copy_for_blas(a, d, &copy[0], &room);
    if (copy_b) b = copy_for_blas(b, d, &copy[1], &room);
    matrix_batch_set(&j.q, a, b, nbatch, batch);
    const IntegerLoops *loops = integer_loops(c->s);
    j.run = size == 8 ? loops->u64 : size == 4 ? loops->u32 : loops->u16;
    j.wide = loops->bytes / (int64_t)size;
    j.n = b->shape[b->ndim - 1];
    j.p = (IntegerPanel){.m = a->shape[a->ndim - 2],
                         .k = a->shape[a->ndim - 1],
                         .lda = a->stride[a->ndim - 2] / (int64_t)size,
                         .ldb = b->stride[b->ndim - 2] / (int64_t)size,
                         .ldc = j.n};
    int64_t panels = (j.n + j.wide - 1) / j.wide;
    bool large = (double)count * (double)j.p.k > 1 << 20;
    Pool *pool = large && c->host ? c->host->pool : NULL;
    if (pool)
        pool_run(pool, (size_t)(j.q.count * panels), run_panel, &j);
    else
        for (int64_t i = 0; i < j.q.count * panels; i++)
            run_panel(&j, (size_t)i, 0);
    if (result)
        tensor_cast_elements(own, out, d, j.out, count, (ptrdiff_t)dtype_size(own),
                             (ptrdiff_t)size);
    return true;
}

/* A few products are faster one by one. */
static bool fills_panels(const Tensor *a, const Tensor *b) {
    return a->shape[a->ndim - 2] > 1 && b->shape[b->ndim - 1] > 3 &&
           a->shape[a->ndim - 1] > 3;
}

/* A vector by a matrix whose rows or columns are packed; NULL: not so. */
static IntegerVectorFn *integer_vector_of(Session *s, const Tensor *a, const Tensor *b,
                                          IntegerVector *p) {
    static const int8_t kinds[] = {[1] = 0, [2] = 1, [4] = 2, [8] = 3};
    const int64_t *sa = a->stride + a->ndim - 2, *sb = b->stride + b->ndim - 2,
                  m = a->shape[a->ndim - 2], n = b->shape[b->ndim - 1],
                  size = (int64_t)dtype_size(a->dtype);
    int64_t step = m == 1 ? sa[1] : sb[0], along = m == 1 ? sb[0] : sa[1],
            across = m == 1 ? sb[1] : sa[0];
    bool rows = across == size, sums = along == size && step == size;
    int64_t next = rows ? along : across;
    if ((m > 1 && n > 1) || m * n < 4 || (step | next) % size != 0 || !(rows || sums))
        return NULL;
    *p = (IntegerVector){.k = a->shape[a->ndim - 1],
                         .n = m * n,
                         .step = step / size,
                         .ldb = next / size};
    const IntegerLoops *loops = integer_loops(s);
    return (rows ? loops->rows : loops->dots)[kinds[size]];
}

static void multiply_integer_vectors(IntegerVectorFn *run, IntegerVector *p,
                                     const Tensor *a, const Tensor *b, int nbatch,
                                     const int64_t *batch, char *out) {
    MatrixBatch q;
    bool row = a->shape[a->ndim - 2] == 1;
    matrix_batch_set(&q, a, b, nbatch, batch);
    for (int64_t i = 0; i < q.count; i++) {
        const char *pa, *pb;
        matrix_batch_at(&q, i, &pa, &pb);
        p->a = row ? pa : pb;
        p->b = row ? pb : pa;
        p->c = out + (size_t)(i * p->n) * dtype_size(a->dtype);
        run(p);
    }
}

static bool run_integers(Call *c, const Tensor *a, const Tensor *b, int nbatch,
                         const int64_t *batch, void *out) {
    IntegerVector p;
    IntegerVectorFn *run = integer_vector_of(c->s, a, b, &p);
    if (run) return multiply_integer_vectors(run, &p, a, b, nbatch, batch, out), true;
    if (fills_panels(a, b)) return multiply_integers(c, a, b, nbatch, batch, out);
    product_reference(a, b, nbatch, batch, out);
    return true;
}

/* Where half of the work pays, and the operands need no copies. */
bool product_run_triangular(Call *c, const Tensor *a, const Tensor *b, bool right,
                            bool lower, void *out) {
    static const BlasTriangle kinds[2][2] = {
        {TRIANGLE_LEFT_UPPER, TRIANGLE_LEFT_LOWER},
        {TRIANGLE_RIGHT_UPPER, TRIANGLE_RIGHT_LOWER}};
    bool packed = dtype_is_inexact(a->dtype) && a->dtype != DT_FLOAT16 &&
                  fits_blas(a) && fits_blas(b);
    Gemm g = gemm_of(a, b);
    g.c = out;
    if (!packed || !blas_pays_triangle(&g, kinds[right][lower]) ||
        !blas_get(c->s)->library)
        return product_run(c, a, b, 0, NULL, out);
    blas_triangle(c->s, &g, kinds[right][lower], c->host->pool);
    return true;
}

/* ---- products that are added ---- */

#define COMBINE(NAME, T, A)                                                            \
    static void combine_##NAME(const GemmScale *x, size_t n, const void *product,      \
                               void *out) {                                            \
        const T *p = product;                                                          \
        T *to = out;                                                                   \
        A alpha, beta;                                                                 \
        memcpy(&alpha, x->alpha, sizeof alpha);                                        \
        memcpy(&beta, x->beta, sizeof beta);                                           \
        for (size_t i = 0; i < n; i++)                                                 \
            to[i] = (T)(beta * (A)to[i] + alpha * (A)p[i]);                            \
    }
COMBINE(float32, float, double)
COMBINE(float64, double, double)
COMBINE(complex64, float _Complex, double _Complex)
COMBINE(complex128, double _Complex, double _Complex)

static void combine_float16(const GemmScale *x, size_t n, const void *product,
                            void *out) {
    const uint16_t *p = product;
    uint16_t *to = out;
    for (size_t i = 0; i < n; i++)
        to[i] = half_from_double(x->beta[0] * half_to_double(to[i]) +
                                 x->alpha[0] * half_to_double(p[i]));
}

static void combine(DType d, const GemmScale *x, size_t n, const void *product,
                    void *out) {
    if (d == DT_FLOAT16) combine_float16(x, n, product, out);
    if (d == DT_FLOAT32) combine_float32(x, n, product, out);
    if (d == DT_FLOAT64) combine_float64(x, n, product, out);
    if (d == DT_COMPLEX64) combine_complex64(x, n, product, out);
    if (d == DT_COMPLEX128) combine_complex128(x, n, product, out);
}

/* For 0 the library leaves out what nan or inf would show in. */
static bool is_plain_factor(const double z[2]) {
    return isfinite(z[0]) && isfinite(z[1]) && (z[0] != 0 || z[1] != 0);
}

/* Can the library add to the result as it computes it? */
static bool adds_by_blas(Call *c, const Tensor *a, const Tensor *b,
                         const GemmScale *scale) {
    const int64_t most = INT32_MAX;
    Gemm g = gemm_of(a, b);
    return a->dtype != DT_FLOAT16 && a->shape[1] > 0 && a->shape[0] <= most &&
           a->shape[1] <= most && b->shape[1] <= most && fits_blas(a) && fits_blas(b) &&
           is_plain_factor(scale->alpha) && is_plain_factor(scale->beta) &&
           blas_for(c->s, &g);
}

bool product_run_added(Call *c, const Tensor *a, const Tensor *b,
                       const GemmScale *scale, void *out) {
    size_t n = (size_t)tensor_size(&c->out[0].t);
    if (n == 0) return true;
    if (adds_by_blas(c, a, b, scale)) {
        Gemm g = gemm_of(a, b);
        g.c = out;
        g.scale = scale;
        return run_single_blas(c, &g);
    }
    void *product = call_scratch(c, n * dtype_size(a->dtype));
    if (!product || !product_run(c, a, b, 0, NULL, product)) return false;
    combine(a->dtype, scale, n, product, out);
    return true;
}

bool product_reference_added(Call *c, const Tensor *a, const Tensor *b,
                             const GemmScale *scale, void *out) {
    size_t n = (size_t)tensor_size(&c->out[0].t);
    void *product = call_scratch(c, n * dtype_size(a->dtype));
    if (!product) return false;
    product_reference(a, b, 0, NULL, product);
    combine(a->dtype, scale, n, product, out);
    return true;
}

bool product_run(Call *c, const Tensor *a, const Tensor *b, int nbatch,
                 const int64_t *batch, void *out) {
    int64_t k = a->shape[a->ndim - 1], largest = INT32_MAX;
    bool wide = a->shape[a->ndim - 2] > largest || k > largest ||
                b->shape[b->ndim - 1] > largest;
    Tensor *r = &c->out[0].t;
    if (tensor_size(r) == 0) return true;
    if (k == 0) return memset(out, 0, tensor_bytes(r)), true;
    const SmallLoops *loops = loops_for(c->s, a, b, nbatch);
    if (loops) return multiply_small(c, loops, a, b, nbatch, batch, out), true;
    Gemm g = gemm_of(a, b);
    if (dtype_is_inexact(a->dtype) && !wide && blas_for(c->s, &g))
        return multiply_by_blas(c, a, b, nbatch, batch, out);
    if (dtype_is_integer(a->dtype)) return run_integers(c, a, b, nbatch, batch, out);
    product_reference(a, b, nbatch, batch, out);
    return true;
}
