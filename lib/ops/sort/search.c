/* searchsorted: where elements belong in sorted vectors, by the keys that order them.
 */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "ops/sort/keys.h"
#include "vmap/kit.h"

#include <string.h>

bool sort_search_type(Infer *in, DType out) {
    int64_t batch = infer_prop(in, "batch_dims")->i;
    const Type *v = in->type[1];
    Dim dim[MAX_NDIM];
    if (batch < 0 || batch >= MAX_NDIM)
        return infer_fail(in, E_ARG, in->nin,
                          "batch_dims must be a number of dims, not %lld",
                          (long long)batch);
    if (!infer_want_rank(in, 0, (int)batch + 1, (int)batch + 1) ||
        !infer_want_rank(in, 1, (int)batch, -1))
        return false;
    for (int k = 0; k < v->ndim; k++) {
        dim[k] = v->dim[k];
        if (k < batch && !infer_want_dims_equal(in, 0, k, 1, k, &dim[k])) return false;
    }
    return infer_out_tensor(in, 0, out, v->ndim, dim);
}

static bool searchsorted_type(Infer *in) {
    const char *side = sym_text(in->s, infer_prop(in, "side")->sym);
    if (strcmp(side, "left") != 0 && strcmp(side, "right") != 0)
        return infer_fail(in, E_ARG, in->nin,
                          "side must be 'left' or 'right', not '%s'", side);
    return sort_search_type(in, DT_INT64);
}

typedef struct Search {
    SortForm form;
    const SortLoops *loops;
    bool right;
    Tensor a;
    const char *sought;      /* v, contiguous */
    int64_t n, count, total; /* elements of a vector; sought in each; in all */
    char *key;               /* those of a; NULL: they are computed where needed */
    int64_t *out;
} Search;
enum {
    SEARCHES = 1 << 12, /* of a chunk */
    FEW = 64,           /* elements of a for each that is sought, if keys don't pay */
};

static const char *searched_vector(const Search *q, int64_t k) {
    return (const char *)q->a.data +
           move_offset(q->a.ndim - 1, q->a.shape, q->a.stride, k);
}

static uint64_t key_of(const Search *q, const char *x) {
    uint64_t key;
    q->loops->keys(&q->form, x, 0, 1, &key);
    return sort_key_at(q->form.item, &key, 0);
}

/* The first position of vector k whose key is not below (right: above) that of v. */
static int64_t lower_bound(const Search *q, int64_t k, const char *v) {
    int64_t low = 0, high = q->n, step = (int64_t)q->a.stride[q->a.ndim - 1];
    const char *a = searched_vector(q, k);
    uint64_t key = key_of(q, v);
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        uint64_t here = key_of(q, a + mid * step);
        if (q->right ? here <= key : here < key)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The m elements of v from i on, whose keys are at `sought`, each in its vector. */
static void search_keys(const Search *q, int64_t i, int64_t m, const char *sought) {
    int64_t item = (int64_t)q->form.item, k = i / q->count, end = i + m;
    for (int64_t next; i < end; i = next, k++) {
        next = (k + 1) * q->count < end ? (k + 1) * q->count : end;
        q->loops->search(q->key + k * q->n * item, q->n, sought, next - i, q->right,
                         q->out + i);
        sought += (next - i) * item;
    }
}

static void search_chunk(void *ctx, size_t chunk, unsigned worker) {
    enum { BLOCK = 256 };
    const Search *q = ctx;
    uint64_t sought[BLOCK];
    int64_t item = (int64_t)q->form.item, i = (int64_t)chunk * SEARCHES,
            end = i + SEARCHES < q->total ? i + SEARCHES : q->total;
    (void)worker;
    for (; !q->key && i < end; i++)
        q->out[i] = lower_bound(q, i / q->count, q->sought + i * item);
    for (; i < end; i += BLOCK) {
        int64_t m = end - i < BLOCK ? end - i : BLOCK;
        q->loops->keys(&q->form, q->sought + i * item, item, m, sought);
        search_keys(q, i, m, (const char *)sought);
    }
}

static void compute_keys(const Search *q) {
    int64_t item = (int64_t)q->form.item, count = tensor_size(&q->a), n = q->n;
    if (tensor_is_contiguous(&q->a)) n = count;
    for (int64_t i = 0; i < count; i += n)
        q->loops->keys(&q->form, searched_vector(q, i / q->n),
                       (ptrdiff_t)q->a.stride[q->a.ndim - 1], n, q->key + i * item);
}

bool sort_search_fits(Call *c, const Tensor *a, const Tensor *v) {
    for (int k = 0; k < a->ndim - 1; k++)
        if (a->shape[k] != v->shape[k])
            return call_fail(c, E_RUN_SHAPE, "dim %d of a is %lld, but that of v %lld",
                             k, (long long)a->shape[k], (long long)v->shape[k]);
    return true;
}

static bool searchsorted_perform(Call *c) {
    Tensor a = *call_in(c, 0), v = *call_in(c, 1);
    Tensor *out = sort_search_fits(c, &a, &v) ? call_out(c, 0, v.ndim, v.shape) : NULL;
    if (!out || tensor_size(&v) == 0) return out != NULL;
    const char *side = sym_text(c->s, op_prop(c->s, c->op, c->props, "side")->sym);
    Search q = {.form = sort_form(v.dtype, false),
                .loops = sort_loops(c->s, v.dtype),
                .right = strcmp(side, "right") == 0,
                .a = a,
                .n = a.shape[a.ndim - 1],
                .count = 1,
                .total = tensor_size(&v),
                .out = out->data};
    for (int k = a.ndim - 1; k < v.ndim; k++)
        q.count *= v.shape[k];
    bool many = q.total > tensor_size(&a) / FEW;
    size_t bytes = 0,
           keys = size_append(&bytes, many ? (size_t)tensor_size(&a) : 0, q.form.item),
           copy =
               size_append(&bytes, tensor_is_contiguous(&v) ? 0 : tensor_bytes(&v), 1);
    char *room = call_scratch(c, bytes);
    if (!room) return false;
    q.sought = move_contiguous(move_pool(c), &v, room + copy).data;
    q.key = many ? room + keys : NULL;
    if (many) compute_keys(&q);
    pool_run(move_pool(c), (size_t)((q.total + SEARCHES - 1) / SEARCHES), search_chunk,
             &q);
    return true;
}

/* Rows of v alone are sought in the same vectors: they follow the dims that v shares
 * with them. */
bool sort_search_vmap(Vmap *q) {
    int64_t batch = prop_int(q->b->s, q->op, q->props, "batch_dims");
    Var in[2] = {q->in[0], VAR_NONE};
    if (q->rows[0]) {
        in[1] = vmap_with_rows(q, 1);
        return vmap_apply(q, vmap_replace_prop(q, "batch_dims", PROP_INT(batch + 1)),
                          in);
    }
    in[1] = vmap_move_axis(q->b, q->in[1], 0, batch);
    if (!vmap_apply(q, q->props, in)) return false;
    q->out[0] = vmap_move_axis(q->b, q->out[0], batch, 0);
    return q->out[0] != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("searchsorted"),
     .doc = "The position in the sorted vector a at which each v would be inserted: "
            "before equal elements, with side='right', or right=True, after them. The "
            "first batch_dims "
            "dims of both belong together: there is a vector for each index of them.",
     .in = "a, v",
     .props = "side: str = 'left', batch_dims: int = 0",
     .promote = PROMOTE_SAME,
     .kinds = KIND_BOOL | KIND_REAL,
     .type = searchsorted_type,
     .perform = searchsorted_perform,
     .reentrant = true,
     .flops = "0",
     .pull = pull_discrete,
     .push = push_none,
     .vmap = sort_search_vmap,
     .example = "searchsorted([1, 3, 5], [0, 3, 9]) -> [0, 1, 3]\n"
                "searchsorted([1, 3, 3], 3, side='right') -> 3\n"
                "searchsorted([[1, 3], [2, 4]], [2, 5], batch_dims=1) -> [1, 2]"},
};
const OpList ops_sort_search = LIST_OF(table);
