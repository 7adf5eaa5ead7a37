/* x[index]: a view if there are only slices, None and integers; with arrays or masks, a
 * gathered copy. */
#include "ops/index/index.h"
#include "ops/index/loops.h"
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "value/pattern.h"

#include <stdatomic.h>
#include <string.h>

enum { CHUNK = 1 << 18, PART = 512 };

static bool subtensor_type(Infer *in) {
    Dim dim[MAX_NDIM];
    int n;
    return index_infer(in, in->type[0], 1, &n, dim) &&
           infer_out_tensor(in, 0, in->type[0]->dtype, n, dim);
}

/* A result row is identified by (position in the dims before the arrays', number of the
 * offset) and spans the dims after them. */
typedef struct RowGather {
    const Indexed *ix;
    OffsetList list;
    char *out;
    size_t item, row_bytes;
    int64_t rows, per_chunk;
    bool whole;                  /* a row's elements are contiguous in x */
    GatherFn *gather, *pick;     /* for rows of one small element or piece; else NULL */
    GatherShortFn *gather_short; /* for other short rows; else NULL */
    atomic_bool refused;
} RowGather;

static void copy_indexed_row(const RowGather *j, char *out, const char *x) {
    const Indexed *ix = j->ix;
    int n = ix->base.ndim - ix->front;
    int64_t to[MAX_NDIM];
    if (j->whole) {
        memcpy(out, x, j->row_bytes);
        return;
    }
    move_strides(j->item, n, ix->base.shape + ix->front, to);
    move_strided(NULL, j->item, n, ix->base.shape + ix->front, out, to, x,
                 ix->base.stride + ix->front);
}

/* Run by run. */
static void gather_runs(const RowGather *j, int64_t n, char *out, const char *x,
                        int64_t first) {
    int64_t bytes = (int64_t)j->row_bytes;
    const OffsetRun *r = index_run_at(&j->list, first);
    for (int64_t m; n > 0; n -= m, first += m, out += m * bytes, r++) {
        m = r->at + r->n - first < n ? r->at + r->n - first : n;
        memcpy(out, x + j->list.offset[first], (size_t)(m * bytes));
    }
}

static void gather_each(const RowGather *j, int64_t n, char *out, const char *x,
                        const int64_t *offset) {
    int64_t bytes = (int64_t)j->row_bytes;
    if (j->gather)
        j->gather(n, out, x, offset);
    else if (j->gather_short)
        j->gather_short(n, out, x, offset, j->row_bytes);
    else
        for (int64_t i = 0; i < n; i++)
            copy_indexed_row(j, out + i * bytes, x + offset[i]);
}

/* Rows [first, first + n) at one position of the front dims, by the list. */
static bool gather_listed(const RowGather *j, int64_t n, char *out, const char *x,
                          int64_t first) {
    int64_t bytes = (int64_t)j->row_bytes, base = 0;
    for (int64_t m, at; n > 0; n -= m, first += m, out += m * bytes) {
        at = first % j->list.n;
        m = j->list.n - at < n ? j->list.n - at : n;
        if (j->ix->late && !index_mesh_base(j->ix, first, &base)) return false;
        if (j->list.run)
            gather_runs(j, m, out, x + base, at);
        else
            gather_each(j, m, out, x + base, j->list.offset + at);
    }
    return true;
}

/* The same by offsets that are made for some rows at a time. */
static bool gather_late(const RowGather *j, int64_t n, char *out, const char *x,
                        int64_t first) {
    const Indexed *ix = j->ix;
    int64_t part[PART], bytes = (int64_t)j->row_bytes;
    for (int64_t m; n > 0; n -= m, first += m, out += m * bytes) {
        const int64_t *v;
        int64_t base;
        m = n > PART ? PART : n;
        int64_t direct = j->pick ? index_direct(ix, first, m, bytes, &v, &base) : 0;
        if (direct) {
            m = direct;
            j->pick(m, out, x + base, v);
            continue;
        }
        if (!index_offsets(ix, first, m, part)) return false;
        gather_each(j, m, out, x, part);
    }
    return true;
}

static void gather_chunk(void *ctx, size_t chunk, unsigned worker) {
    (void)worker;
    RowGather *j = ctx;
    int64_t row = (int64_t)chunk * j->per_chunk, count = j->ix->adv_count;
    int64_t end = row + j->per_chunk < j->rows ? row + j->per_chunk : j->rows;
    while (row < end) {
        int64_t first = row % count,
                n = count - first < end - row ? count - first : end - row;
        const char *x = (const char *)j->ix->base.data +
                        move_offset(j->ix->front, j->ix->base.shape, j->ix->base.stride,
                                    row / count);
        if (!(j->list.n ? gather_listed : gather_late)(
                j, n, j->out + row * (int64_t)j->row_bytes, x, first)) {
            atomic_store_explicit(&j->refused, true, memory_order_relaxed);
            return;
        }
        row += n;
    }
}

/* Where several arrays index x, its rows are mostly taken in turn. */
static void choose_loop(const Call *c, RowGather *j, int64_t fronts) {
    size_t bytes = j->row_bytes;
    bool piece = bytes <= 16 && (bytes & (bytes - 1)) == 0,
         all_over = j->ix->late && j->ix->narray == 1;
    if (!j->whole) return;
    if (piece) {
        size_t over = all_over ? tensor_bytes(call_in(c, 0)) / (size_t)fronts : 0;
        j->gather = index_gather(c->s, index_size_class(bytes), over);
        j->pick = index_pick(c->s, index_size_class(bytes), over);
    } else if (bytes <= SHORT_ROW)
        j->gather_short = index_loops(c->s)->gather_short;
}

/* ---- a short index along the last axes ---- */

enum {
    PATTERN_ROWS = 16,
    PATTERN_ROW = 256,
    PATTERN_RUN = 64,
    LIST_ITEM = 4,   /* bytes: smaller ones are gathered one by one */
    LIST_MIN = 8,    /* elements of a row */
    LIST_MOST = 8192 /* of the result */
};
typedef struct PatternGather {
    Pattern pattern;
    const char *x;
    char *out;
    int64_t n, per_chunk; /* elements */
} PatternGather;

/* The bytes from one position of the front dims to the next, if that is always the same
 * distance. */
static bool front_step(const Indexed *ix, int64_t *step) {
    const Tensor *x = &ix->base;
    int64_t across;
    for (int d = ix->front - 1; d > 0; d--)
        if (!i64_mul(x->stride[d], x->shape[d], &across) || x->stride[d - 1] != across)
            return false;
    *step = x->stride[ix->front - 1];
    return true;
}

/* Where the elements of a result row are, of `inner` elements behind each indexed one.
 * False: an index is out of range. */
static bool row_offsets(const Indexed *ix, int64_t inner, int64_t *offset) {
    int64_t at[PATTERN_ROW];
    const Tensor *x = &ix->base;
    if (ix->late && !index_offsets(ix, 0, ix->adv_count, at)) return false;
    for (int64_t k = 0; k < ix->adv_count * inner; k++)
        offset[k] = (ix->late ? at : ix->offset)[k / inner] +
                    move_offset(x->ndim - ix->front, x->shape + ix->front,
                                x->stride + ix->front, k % inner);
    return true;
}

static void read_pattern_chunk(void *ctx, size_t chunk, unsigned worker) {
    PatternGather *j = ctx;
    int64_t from = (int64_t)chunk * j->per_chunk,
            n = j->n - from < j->per_chunk ? j->n - from : j->per_chunk;
    size_t size = j->pattern.size;
    (void)worker;
    pattern_read(&j->pattern, j->out + (size_t)from * size, j->x, from, (size_t)n);
}

/* By a list of offsets that serves every row: of few elements, making a pattern takes
 * as long as reading them. */
static void gather_by_list(const Call *c, const Tensor *x, const Tensor *out,
                           int64_t rows, int64_t step, int64_t n,
                           const int64_t *offset) {
    size_t item = dtype_size(x->dtype);
    GatherFn *gather = index_gather(c->s, index_size_class(item), 0);
    char *to = out->data;
    const char *from = x->data;
    for (int64_t r = 0; r < rows; r++, to += n * (int64_t)item, from += step)
        gather(n, to, from, offset);
}

/* False: it isn't one (longer runs than a cache line are copied as such), or an index
 * is out of range, and nothing is written. */
static bool gather_pattern(Call *c, const Indexed *ix, const Tensor *out) {
    const Tensor *x = &ix->base;
    int64_t fronts = move_count(ix->front, x->shape), step,
            inner = move_count(x->ndim - ix->front, x->shape + ix->front),
            offset[PATTERN_ROW], n, run = inner * (int64_t)dtype_size(x->dtype);
    PatternGather j = {.x = x->data, .out = out->data, .n = tensor_size(out)};
    if (ix->front == 0 || fronts < PATTERN_ROWS || run > PATTERN_RUN ||
        !front_step(ix, &step) || !i64_mul(ix->adv_count, inner, &n) ||
        n > PATTERN_ROW || !row_offsets(ix, inner, offset))
        return false;
    if (n >= LIST_MIN && j.n <= LIST_MOST && dtype_size(x->dtype) >= LIST_ITEM) {
        gather_by_list(c, x, out, fronts, step, n, offset);
        return true;
    }
    if (!pattern_of_rows(c->s, &j.pattern, fronts, step, n, offset,
                         (uint32_t)dtype_size(x->dtype)))
        return false;
    j.per_chunk = CHUNK / (int64_t)dtype_size(x->dtype);
    int64_t chunks = (j.n + j.per_chunk - 1) / j.per_chunk;
    if (move_pool(c) && chunks > 3) {
        pool_run(move_pool(c), (size_t)chunks, read_pattern_chunk, &j);
    } else {
        j.per_chunk = j.n;
        read_pattern_chunk(&j, 0, 0);
    }
    pattern_free(&j.pattern);
    return true;
}

static bool gather_indexed(Call *c, const Indexed *ix) {
    int64_t shape[MAX_NDIM];
    int n = index_result(ix, shape);
    Tensor *out = call_out(c, 0, n, shape);
    if (!out) return false;
    if (tensor_size(out) == 0) return index_check_late(c, ix);
    if (gather_pattern(c, ix, out)) return true;
    RowGather j = {.ix = ix, .out = out->data, .item = dtype_size(ix->base.dtype)};
    Tensor row = {.dtype = ix->base.dtype, .ndim = ix->base.ndim - ix->front};
    for (int k = 0; k < row.ndim; k++) {
        row.shape[k] = ix->base.shape[ix->front + k];
        row.stride[k] = ix->base.stride[ix->front + k];
    }
    j.row_bytes = tensor_bytes(&row);
    j.whole = tensor_is_contiguous(&row);
    int64_t fronts = move_count(ix->front, ix->base.shape);
    choose_loop(c, &j, fronts);
    bool ok = index_list(c->s, ix, fronts, j.whole ? (int64_t)j.row_bytes : 0, &j.list);
    j.rows = fronts * ix->adv_count;
    j.per_chunk = CHUNK / (int64_t)j.row_bytes + 1;
    int64_t chunks = (j.rows + j.per_chunk - 1) / j.per_chunk;
    if (ok && move_pool(c) && chunks > 3) {
        pool_run(move_pool(c), (size_t)chunks, gather_chunk, &j);
    } else if (ok) {
        j.per_chunk = j.rows;
        gather_chunk(&j, 0, 0);
    }
    index_list_free(&j.list);
    return (ok && !atomic_load(&j.refused)) || index_refuse(c, ix);
}

static bool subtensor_perform(Call *c) {
    const Tensor *x = call_in(c, 0);
    Indexed ix;
    if (!index_apply(c, x, 1, &ix, true, 0, NULL)) return false;
    if (ix.advanced) return gather_indexed(c, &ix);
    Tensor *v = call_view(c, 0, x);
    if (!v) return false;
    v->ndim = ix.base.ndim;
    v->data = ix.base.data;
    for (int k = 0; k < v->ndim; k++) {
        v->shape[k] = ix.base.shape[k];
        v->stride[k] = ix.base.stride[k];
    }
    return true;
}

/* Only an index array or a mask makes a copy. */
static int subtensor_views(const Graph *g, ApplyId a, size_t out) {
    (void)out;
    for (size_t i = 1; i < g->apply[a].nin; i++) {
        const Type *t = var_type(g, apply_in(g, a)[i]);
        if (t->kind == TYPE_TENSOR && (t->ndim > 0 || t->dtype == DT_BOOL)) return -1;
    }
    return 0;
}

/* An element read several times accumulates several gradients. */
static bool subtensor_pull(Pull *p) {
    pull_disconnect(p, 1);
    if (pull_discrete(p) || !p->wanted[0]) return true;
    Builder *b = p->b;
    size_t n = p->nin + 1;
    Var *in = mem_alloc(b->s, n * sizeof *in);
    in[0] = op_zeros_like(b, p->in[0], var_type(b->g, p->cotangent[0])->dtype);
    in[1] = p->cotangent[0];
    memcpy(in + 2, p->in + 1, (p->nin - 1) * sizeof *in);
    PropArg arg = {"index", *op_prop(b->s, p->op, p->props, "index")};
    p->grad[0] = apply_named(b, "inc_subtensor", n, in, 1, &arg);
    mem_free(in);
    return p->grad[0] != VAR_NONE;
}

/* ---- take ---- */
static bool take_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                        const Var *in, Var *out) {
    (void)nin;
    const Prop *axis = op_prop(b->s, op, p, "axis");
    Var x = in[0];
    int ndim = var_type(b->g, x)->ndim, k = 0;
    if (axis->kind == P_NONE) {
        x = op_call1(b, "ravel", x);
        if (x == VAR_NONE) return false;
    } else if (axis->i < -ndim || axis->i >= ndim) {
        return fail(b->s, b->from.at, E_ARG,
                    "take: axis %lld is out of range for a tensor of %s",
                    (long long)axis->i, str_counted(b->s, (size_t)ndim, "dim"));
    } else {
        k = shape_axis_index(axis->i, ndim);
    }
    PropArg arg = index_at_axis(b->s, k);
    Var args[2] = {x, in[1]};
    return (*out = apply_named(b, "subtensor", 2, args, 1, &arg)) != VAR_NONE;
}

/* In a dim of known size, slices with a constant step and constant integers can't
 * fail. */
static bool subtensor_fails(const Graph *g, ApplyId id) {
    const Apply *a = &g->apply[id];
    const Var *in = apply_in(g, id);
    const Type *x = var_type(g, in[0]);
    IndexItems ix;
    int axis = 0;
    if (!index_parse(sym_text(g->s, op_prop(g->s, a->op, a->props, "index")->sym), &ix))
        return true;
    for (int i = 0; i < ix.n; i++) {
        const IndexItem *it = &ix.item[i];
        if (it->kind == IX_ELLIPSIS) axis = MAX_NDIM;
        if (it->kind == IX_SLICE && it->step >= 0 && !var_is_const(g, in[1 + it->step]))
            return true;
        if (it->kind == IX_INPUT && (axis >= x->ndim || !dim_is_known(x->dim[axis]) ||
                                     !var_is_const(g, in[1 + it->input]) ||
                                     var_type(g, in[1 + it->input])->ndim != 0))
            return true;
        axis += it->kind == IX_SLICE || it->kind == IX_INPUT;
    }
    return false;
}

static const Op table[] = {
    {.name = OP_ROW("subtensor"),
     .doc = "x[index]: integers, slices, None, ..., integer arrays and boolean masks, "
            "as in NumPy. It is a view if there are no arrays and masks. The prop "
            "index is the text between the brackets, with $ for each index input.",
     .in = "x, *index",
     .props = "index: str",
     .type = subtensor_type,
     .perform = subtensor_perform,
     .reentrant = true,
     .fails = subtensor_fails,
     .flops = "0",
     .pull = subtensor_pull,
     .push = push_linear_first,
     .disconnected = "index",
     RARE(.views = subtensor_views),
     .vmap = index_subtensor_vmap,
     .example =
         "arange(4)[1:3] -> [1, 2]\neye(2)[:, [1, 0]] -> [[0.0, 1.0], [1.0, 0.0]]"},
    {.name = OP_ROW("take"),
     .doc = "Elements of x at the given positions along axis (None: of x flattened).",
     .in = "x, indices",
     .props = "axis: axis? = None",
     .expand = take_expand,
     .disconnected = "indices",
     .example = "take([10, 20, 30], [2, 0]) -> [30, 10]\ntake([[1, 2], [3, 4]], [1], "
                "axis=1) -> [[2], [4]]"},
};
const OpList ops_index_subtensor = LIST_OF(table);
