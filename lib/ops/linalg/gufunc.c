/* Core-dim signatures: typing and running ops on batches of matrices. */
#include "ops/linalg/gufunc.h"

#include "ops/shape/linear.h"
#include "ops/shape/move.h"

#include <stdatomic.h>
#include <string.h>

/* ---- signatures ---- */
typedef struct CoreSignature {
    int nin, nout, n[CORE_ARGS]; /* core dims of each */
    char dim[CORE_ARGS][2];
} CoreSignature;

static CoreSignature core_parse(const char *sig) {
    CoreSignature k = {0};
    int *side = &k.nin, at = -1;
    for (const char *p = sig; *p; p++) {
        if (*p == '(') ++*side, at++;
        if (*p == '>') side = &k.nout;
        if (*p >= 'a' && *p <= 'z') k.dim[at][k.n[at]++] = *p;
    }
    return k;
}

/* ---- typing ---- */
/* The size known for each letter. */
typedef struct LetterDims {
    bool seen[128];
    Dim dim[128];
    size_t arg[128];
    int axis[128];
} LetterDims;

static bool meet_letter(Infer *in, LetterDims *l, char c, size_t arg, int axis) {
    int k = (int)c;
    Dim d = infer_in_dim(in, arg, axis);
    if (!l->seen[k]) {
        l->seen[k] = true;
        l->dim[k] = d, l->arg[k] = arg, l->axis[k] = axis;
        return true;
    }
    if (l->arg[k] == arg && !dim_may_equal(l->dim[k], d))
        return infer_fail(in, E_SHAPE, arg,
                          "its last two dims must be equal, but are %lld and %lld",
                          (long long)l->dim[k], (long long)d);
    Dim meet = DIM_UNKNOWN;
    if (l->arg[k] != arg &&
        !infer_want_dims_equal(in, l->arg[k], l->axis[k], arg, axis, &meet))
        return false;
    l->dim[k] = dim_meet(l->dim[k], d);
    return true;
}

static Dim letter_dim(const LetterDims *l, char c) {
    if (l->seen[(int)c]) return l->dim[(int)c];
    Dim m = l->dim['m'], n = l->dim['n'];
    if (m == n) return m;
    return dim_is_known(m) && dim_is_known(n) ? (m < n ? m : n) : DIM_UNKNOWN;
}

static bool join_leading_dims(Infer *in, const CoreSignature *k, int *n, Dim *batch) {
    *n = 0;
    for (size_t i = 0; i < (size_t)k->nin; i++) {
        const Type *t = in->type[i];
        *n = shape_broadcast(*n, batch, t->ndim - k->n[i], t->dim, batch);
        if (*n < 0)
            return infer_fail(
                in, E_SHAPE, i,
                "its leading dims do not broadcast with those of the others");
    }
    return true;
}

bool core_type(Infer *in, const char *sig, const DType *dtype) {
    CoreSignature k = core_parse(sig);
    LetterDims l = {.seen = {false}};
    Dim dim[MAX_NDIM + 2];
    int n;
    for (size_t i = 0; i < (size_t)k.nin; i++) {
        if (!infer_want_rank(in, i, k.n[i], -1)) return false;
        for (int j = 0; j < k.n[i]; j++)
            if (!meet_letter(in, &l, k.dim[i][j], i, in->type[i]->ndim - k.n[i] + j))
                return false;
    }
    if (!join_leading_dims(in, &k, &n, dim)) return false;
    in->nout = (size_t)k.nout;
    for (int o = 0; o < k.nout; o++) {
        int core = k.n[k.nin + o];
        if (!infer_ndim(in, n + core)) return false;
        for (int j = 0; j < core; j++)
            dim[n + j] = letter_dim(&l, k.dim[k.nin + o][j]);
        infer_out_tensor(in, (size_t)o, dtype ? dtype[o] : in->type[0]->dtype, n + core,
                         dim);
    }
    return true;
}

/* ---- opening ---- */
static DType packed_dtype(DType d) {
    return d == DT_FLOAT16 ? DT_FLOAT32 : d;
}

/* Size n of dim j of input i is not that of the dim before it with the same letter. */
static bool fail_letters(Gufunc *q, const CoreSignature *k, int i, int j, int64_t n) {
    char letter = k->dim[i][j];
    int first = 0, at = 0;
    while (at == k->n[first] || k->dim[first][at] != letter)
        at = at < k->n[first] ? at + 1 : (first++, 0);
    const Param *in = op_signature(q->c->s, q->c->op)->in;
    if (first == i)
        return call_fail(q->c, E_RUN_SHAPE,
                         "the last two dims of %s must be equal, but are %lld and %lld",
                         sym_text(q->c->s, in[i].name), (long long)q->dim[(int)letter],
                         (long long)n);
    return call_fail(q->c, E_RUN_SHAPE,
                     "dim %d of %s must be as long as dim %d of %s, but they are %lld "
                     "and %lld",
                     j - k->n[i], sym_text(q->c->s, in[i].name), at - k->n[first],
                     sym_text(q->c->s, in[first].name), (long long)n,
                     (long long)q->dim[(int)letter]);
}

static bool bind_letters(Gufunc *q, const CoreSignature *k, int i) {
    const Tensor *t = call_in(q->c, (size_t)i);
    for (int j = 0; j < k->n[i]; j++) {
        int64_t *have = &q->dim[(int)k->dim[i][j]], n = t->shape[t->ndim - k->n[i] + j];
        if (*have < 0) *have = n;
        if (*have != n) return fail_letters(q, k, i, j, n);
        if (n > INT32_MAX)
            return call_fail(q->c, E_LIMIT, "a matrix is too large: a size is %lld",
                             (long long)n);
    }
    return true;
}

/* Joins the batch dims, aligned right: an argument may have fewer leading dims. */
static bool join_leading_sizes(Gufunc *q, const CoreSignature *k) {
    for (int i = 0; i < k->nin; i++) {
        int lead = call_in(q->c, (size_t)i)->ndim - k->n[i];
        q->nbatch = lead > q->nbatch ? lead : q->nbatch;
    }
    bool set[MAX_NDIM] = {false};
    for (int d = 0; d < q->nbatch; d++)
        q->shape[d] = 1;
    for (int i = 0; i < k->nin; i++) {
        const Tensor *t = call_in(q->c, (size_t)i);
        int lead = t->ndim - k->n[i], skip = q->nbatch - lead;
        for (int a = 0; a < lead; a++) {
            int d = a + skip;
            bool one = call_is_one(q->c, (size_t)i, a);
            q->arg[i].step[d] = one ? 0 : t->stride[a];
            if (one) continue;
            if (set[d] && q->shape[d] != t->shape[a])
                return call_fail(q->c, E_RUN_SHAPE,
                                 "batch dim %d is %lld and %lld; a size of 1 "
                                 "broadcasts only if the type declares it",
                                 d, (long long)q->shape[d], (long long)t->shape[a]);
            set[d] = true;
            q->shape[d] = t->shape[a];
        }
    }
    q->count = 1;
    for (int d = 0; d < q->nbatch; d++)
        q->count *= q->shape[d];
    return true;
}

static bool size_packed(const Gufunc *q, struct CoreArg *a) {
    size_t bytes;
    if (size_mul((size_t)a->rows, (size_t)a->cols, &bytes) &&
        size_mul(bytes, dtype_size(a->dtype), &bytes) && size_add(bytes, 63, &a->bytes))
        return a->bytes &= ~(size_t)63, true;
    return call_fail(q->c, E_LIMIT, "the matrices of %s are too large", q->c->op->name);
}

static bool size_arg(Gufunc *q, const CoreSignature *k, int i) {
    struct CoreArg *a = &q->arg[i];
    a->rows = k->n[i] == 2 ? q->dim[(int)k->dim[i][0]] : 1;
    a->cols = k->n[i] ? q->dim[(int)k->dim[i][k->n[i] - 1]] : 1;
    a->row = k->n[i] == 2 ? a->t.stride[a->t.ndim - 2] : 0;
    a->col = k->n[i] ? a->t.stride[a->t.ndim - 1] : 0;
    return size_packed(q, a);
}

static bool open_core_output(Gufunc *q, const CoreSignature *k, int o) {
    int i = k->nin + o, n = q->nbatch;
    int64_t shape[MAX_NDIM + 2];
    struct CoreArg *a = &q->arg[i];
    memcpy(shape, q->shape, (size_t)n * sizeof *shape);
    for (int j = 0; j < k->n[i]; j++)
        shape[n++] = q->dim[(int)k->dim[i][j]];
    if (!call_size_fits(q->c, q->c->out_type[o]->dtype, n, shape)) return false;
    Tensor *t = call_out(q->c, (size_t)o, n, shape);
    if (!t) return false;
    a->t = *t;
    a->dtype = packed_dtype(t->dtype);
    for (int d = 0; d < q->nbatch; d++)
        a->step[d] = t->stride[d];
    return size_arg(q, k, i);
}

static void read_pack(Gufunc *q, const char *pack) {
    int i = 0;
    for (const char *p = pack; *p; p++) {
        if (*p == '>') continue;
        struct CoreArg *a = &q->arg[i];
        bool upper = *p >= 'A' && *p <= 'Z';
        a->columns = (*p == 'c' || upper) && a->rows != 1 && a->cols != 1;
        a->start = ascii_is_digit(*p) ? *p - '0' : upper ? *p - 'A' : -1;
        if (a->start >= 0) {
            q->arg[a->start].moved = true;
            q->arg[a->start].columns = a->columns;
        }
        a->direct = i >= q->nin && a->dtype == a->t.dtype && (!a->columns || q->joined);
        i++;
    }
}

static bool open_args(Gufunc *q, Call *c, const CoreSignature *k) {
    *q = (Gufunc){.c = c, .nin = k->nin, .nout = k->nout};
    for (int l = 0; l < 128; l++)
        q->dim[l] = -1;
    for (int i = 0; i < k->nin; i++)
        if (!bind_letters(q, k, i)) return false;
    int64_t m = q->dim['m'], n = q->dim['n'];
    for (int o = k->nin; o < k->nin + k->nout; o++)
        for (int j = 0; j < k->n[o]; j++)
            if (q->dim[(int)k->dim[o][j]] < 0)
                q->dim[(int)k->dim[o][j]] = m < n ? m : n;
    if (!join_leading_sizes(q, k)) return false;
    for (int i = 0; i < k->nin; i++) {
        q->arg[i].t = *call_in(c, (size_t)i);
        q->arg[i].dtype = packed_dtype(q->arg[i].t.dtype);
        if (!size_arg(q, k, i)) return false;
    }
    q->dtype = q->arg[0].dtype;
    for (int o = 0; o < k->nout; o++)
        if (!open_core_output(q, k, o)) return false;
    return true;
}

bool gufunc_open(Gufunc *q, Call *c, const char *sig, const char *pack) {
    CoreSignature k = core_parse(sig);
    if (!open_args(q, c, &k)) return false;
    read_pack(q, pack);
    return true;
}

/* Do all items along batch dim d have the same matrices before b, and do their
 * right-hand sides follow those of the next dim? */
static bool shares_system(const Gufunc *q, int d) {
    const struct CoreArg *b = &q->arg[q->nin - 1], *x = b + 1;
    for (int i = 0; i < q->nin - 1; i++)
        if (q->arg[i].step[d] != 0) return false;
    int64_t size = (int64_t)dtype_size(x->t.dtype), n = x->rows * size;
    if (x->step[d] != x->cols * n || q->shape[d] > INT32_MAX / x->cols) return false;
    return x->cols == 1 || (b->step[d] == b->cols * b->col && q->joined);
}

bool gufunc_open_systems(Gufunc *q, Call *c, const char *sig, const char *pack) {
    CoreSignature k = core_parse(sig);
    if (!open_args(q, c, &k)) return false;
    struct CoreArg *b = &q->arg[q->nin - 1], *x = b + 1;
    while (q->dim['k'] > 0 && q->count > 1 && shares_system(q, q->nbatch - 1)) {
        int d = --q->nbatch;
        if (x->cols == 1) b->col = b->step[d], x->col = x->step[d];
        b->cols = x->cols *= q->shape[d];
        q->count /= q->shape[d];
        q->dim['k'] = b->cols;
        q->joined = true;
    }
    read_pack(q, pack);
    return size_packed(q, b) && size_packed(q, x);
}

/* ---- moving one matrix ---- */
/* Copies src, with strides in bytes, to dst: row-major and contiguous. */
static void copy_rows(DType to, char *dst, DType from, const char *src, int64_t rows,
                      int64_t cols, int64_t row, int64_t col) {
    int64_t size = (int64_t)dtype_size(to);
    if (to == from && (col == size || cols == 1) && (row == cols * size || rows == 1)) {
        memcpy(dst, src, (size_t)(rows * cols * size));
        return;
    }
    if (to == from && cols > 1 && rows > 1 && row == size && col >= rows * size) {
        transpose_by_tiles(&(Transposition){dst, cols * size, src, col, (size_t)rows,
                                            (size_t)cols, (size_t)size},
                           false);
        return;
    }
    for (int64_t i = 0; i < rows; i++, dst += cols * size, src += row)
        if (to == from && (col == size || cols == 1))
            memcpy(dst, src, (size_t)(cols * size));
        else
            tensor_cast_elements(to, dst, from, src, (size_t)cols, size, col);
}

static int64_t offset_of(const Gufunc *q, const struct CoreArg *a, int64_t item) {
    int64_t at = 0;
    for (int d = q->nbatch; d-- > 0;) {
        at += item % q->shape[d] * a->step[d];
        item /= q->shape[d];
    }
    return at;
}

/* An input that initialises an output uses that output's order. */
static void load_matrix(const Gufunc *q, int i, int64_t item, void *to) {
    const struct CoreArg *a = &q->arg[i];
    const char *from = (const char *)a->t.data + offset_of(q, a, item);
    if (a->columns)
        copy_rows(a->dtype, to, a->t.dtype, from, a->cols, a->rows, a->col, a->row);
    else
        copy_rows(a->dtype, to, a->t.dtype, from, a->rows, a->cols, a->row, a->col);
}

static void store_matrix(const Gufunc *q, int o, int64_t item, const void *from) {
    const struct CoreArg *a = &q->arg[o];
    char *to = (char *)a->t.data + offset_of(q, a, item);
    int64_t size = (int64_t)dtype_size(a->dtype);
    if (a->direct) return;
    if (a->columns && q->joined)
        copy_rows(a->t.dtype, to, a->dtype, from, a->cols, a->rows, a->rows * size,
                  size);
    else
        copy_rows(a->t.dtype, to, a->dtype, from, a->rows, a->cols,
                  a->columns ? size : a->cols * size,
                  a->columns ? a->rows * size : size);
}

/* ---- running ---- */
typedef struct GufuncRun {
    Gufunc *q;
    ItemFn *one;
    char *room;
    size_t per_worker;
    int64_t per_chunk;
    _Atomic uint64_t bad; /* 1 + the first failed item */
} GufuncRun;

/* Worker-local memory starts after the packed inputs and outputs. */
static Item place_item(const GufuncRun *r, char *room, int64_t item) {
    const Gufunc *q = r->q;
    Item it = {.q = q};
    for (int i = 0; i < q->nin; i++) {
        if (q->arg[i].moved) continue;
        it.in[i] = room;
        room += q->arg[i].bytes;
    }
    for (int o = 0; o < q->nout; o++) {
        const struct CoreArg *a = &q->arg[q->nin + o];
        it.out[o] = a->direct ? (char *)a->t.data + offset_of(q, a, item) : room;
        if (!a->direct) room += a->bytes;
        if (a->start >= 0) it.in[a->start] = it.out[o];
    }
    it.room = room;
    return it;
}

static void remember_failure(GufuncRun *r, int64_t item) {
    uint64_t mine = (uint64_t)item + 1, have = atomic_load(&r->bad);
    while ((have == 0 || mine < have) &&
           !atomic_compare_exchange_weak(&r->bad, &have, mine)) {
    }
}

static int64_t run_item(const GufuncRun *r, int64_t item, unsigned worker) {
    const Gufunc *q = r->q;
    Item it = place_item(r, r->room + worker * r->per_worker, item);
    for (int i = 0; i < q->nin; i++)
        load_matrix(q, i, item, it.in[i]);
    int64_t code = r->one(&it);
    for (int o = 0; o < q->nout && code == 0; o++)
        store_matrix(q, q->nin + o, item, it.out[o]);
    return code;
}

static void run_item_chunk(void *ctx, size_t chunk, unsigned worker) {
    GufuncRun *r = ctx;
    int64_t i = (int64_t)chunk * r->per_chunk, end = i + r->per_chunk;
    for (; i < end && i < r->q->count; i++) {
        if (run_item(r, i, worker)) remember_failure(r, i);
    }
}

/* Items per chunk, depending only on their size. */
static int64_t chunk_of(const Gufunc *q) {
    double work = 1000;
    for (int i = 0; i < q->nin; i++) {
        double n = (double)q->arg[i].rows, m = (double)q->arg[i].cols;
        work += n * m * (n < m ? n : m);
    }
    return work > 1 << 18 ? 1 : (int64_t)((1 << 18) / work);
}

bool gufunc_run(Gufunc *q, ItemFn *one, size_t room) {
    GufuncRun r = {.q = q, .one = one, .per_chunk = chunk_of(q)};
    Pool *pool = q->count > r.per_chunk ? move_pool(q->c) : NULL;
    size_t workers = pool ? pool_threads(pool) : 1, bytes = room;
    if (q->count == 0) return true;
    for (int i = 0; i < q->nin + q->nout; i++)
        if (!(q->arg[i].direct || q->arg[i].moved) &&
            !size_add(bytes, q->arg[i].bytes, &bytes))
            bytes = SIZE_MAX / 2;
    r.per_worker = (bytes + 127) & ~(size_t)63;
    if (!size_mul(r.per_worker, workers, &bytes) || bytes > SIZE_MAX / 2)
        return call_fail(q->c, E_LIMIT, "the matrices are too large");
    if (!(r.room = call_scratch(q->c, bytes))) return false;
    size_t chunks = (size_t)((q->count + r.per_chunk - 1) / r.per_chunk);
    pool_run(blas_pool(q->c->s, pool, chunks), chunks, run_item_chunk, &r);
    if (r.bad) {
        q->bad_at = (int64_t)r.bad - 1;
        q->bad = run_item(&r, q->bad_at, 0);
    }
    return true;
}

const char *gufunc_where(const Gufunc *q) {
    return q->count > 1 ? arena_printf(session_arena(q->c->s),
                                       " (matrix %lld of the batch, from 0)",
                                       (long long)q->bad_at)
                        : "";
}
