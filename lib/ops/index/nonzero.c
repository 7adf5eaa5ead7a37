/* nonzero: where a tensor is not zero. The elements are counted first, then their
 * positions are written, a row for each dim. */
#include "ops/index/loops.h"
#include "ops/shape/linear.h"
#include "vmap/kit.h"

enum { BLOCK = 512 };

static bool nonzero_type(Infer *in) {
    Dim dim[2] = {in->type[0]->ndim, DIM_UNKNOWN};
    return infer_out_tensor(in, 0, DT_INT64, 2, dim);
}

/* Its elements in row-major order: rows along the last dim. */
typedef struct Rows {
    const Tensor *x;
    int64_t n, step, at[MAX_NDIM]; /* position of the row */
    const char *p;
} Rows;

/* False where there are no elements. */
static bool rows_open(Rows *r, const Tensor *x) {
    int last = x->ndim - 1;
    *r = (Rows){.x = x, .n = 1, .p = x->data};
    if (last >= 0) {
        r->n = x->shape[last];
        r->step = x->stride[last];
    }
    return tensor_size(x) > 0;
}

static bool rows_next(Rows *r) {
    for (int k = r->x->ndim - 2; k >= 0; k--) {
        r->p += r->x->stride[k];
        if (++r->at[k] < r->x->shape[k]) return true;
        r->p -= r->at[k] * r->x->stride[k];
        r->at[k] = 0;
    }
    return false;
}

/* Which of n elements of the row, from `first` on, are not 0. */
static void read_flags(const Rows *r, int64_t first, int64_t n, uint8_t *flag) {
    ptrdiff_t item = (ptrdiff_t)dtype_size(r->x->dtype);
    tensor_cast_elements(DT_BOOL, flag, r->x->dtype, r->p + first * r->step, (size_t)n,
                         1, r->n == 1 ? item : (ptrdiff_t)r->step);
}

static int64_t count_nonzero(const IndexLoops *l, const Tensor *x) {
    int64_t count = 0;
    uint8_t flag[BLOCK];
    Rows r;
    if (!rows_open(&r, x)) return 0;
    if (x->dtype == DT_BOOL && tensor_is_contiguous(x))
        return l->count(x->data, tensor_size(x));
    do
        for (int64_t i = 0; i < r.n; i += BLOCK) {
            int64_t m = r.n - i < BLOCK ? r.n - i : BLOCK;
            read_flags(&r, i, m, flag);
            count += l->count(flag, m);
        }
    while (rows_next(&r));
    return count;
}

/* to[d * count] .. are the positions along dim d. */
static void write_nonzero(const IndexLoops *l, const Tensor *x, int64_t count,
                          int64_t *to) {
    int64_t n = 0;
    uint8_t flag[BLOCK];
    int last = x->ndim - 1;
    Rows r;
    if (count == 0 || last < 0 || !rows_open(&r, x)) return;
    do {
        int64_t first = n;
        for (int64_t i = 0; i < r.n; i += BLOCK) {
            int64_t m = r.n - i < BLOCK ? r.n - i : BLOCK;
            read_flags(&r, i, m, flag);
            n += l->positions(flag, m, i, to + last * count + n, count - n);
        }
        for (int d = 0; d < last; d++)
            for (int64_t k = first; k < n; k++)
                to[d * count + k] = r.at[d];
    } while (rows_next(&r));
}

static bool nonzero_perform(Call *c) {
    Tensor x = *call_in(c, 0);
    const IndexLoops *l = index_loops(c->s);
    int64_t shape[2] = {x.ndim, count_nonzero(l, &x)};
    Tensor *out = call_out(c, 0, 2, shape);
    if (out) write_nonzero(l, &x, shape[1], out->data);
    return out != NULL;
}

static bool nonzero_pull(Pull *p) {
    return pull_discrete(p);
}

static const Op table[] = {
    {.name = OP_ROW("nonzero"),
     .doc =
         "Positions of the elements that are not zero, in row-major order: int64, with "
         "a row for each dim of x and a column for each element, as in ONNX; NumPy's "
         "is a tuple of the rows, and so is a call as an index: x[nonzero(m)]. nan is "
         "not "
         "zero.",
     .in = "x",
     .type = nonzero_type,
     .perform = nonzero_perform,
     .reentrant = true,
     .fails = op_never_fails,
     .flops = "0",
     .pull = nonzero_pull,
     .push = push_none,
     .vmap = vmap_by_scan,
     .example = "nonzero([[0, 5], [7, 0]]) -> [[0, 1], [1, 0]]"},
};
const OpList ops_index_nonzero = LIST_OF(table);
