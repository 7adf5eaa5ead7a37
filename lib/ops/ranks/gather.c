/* all_gather and reduce_scatter: rows of all ranks, one after the other. Of n rows,
 * rank r of R has those from n r / R to n (r + 1) / R, rounded down: each is the
 * other's transpose. */
#include "op/services.h"
#include "ops/ranks/ranks.h"
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "vmap/kit.h"

#include <string.h>

/* The type of the input, with any number of rows. */
static bool rows_type(Infer *in) {
    Dim dim[MAX_NDIM];
    const Type *x = in->type[0];
    if (!infer_want_rank(in, 0, 1, -1)) return false;
    memcpy(dim, x->dim, (size_t)x->ndim * sizeof *dim);
    dim[0] = DIM_UNKNOWN;
    return infer_out_tensor(in, 0, x->dtype, x->ndim, dim);
}

/* The shape of the result isn't known before all ranks have told theirs. */
static bool no_shape(ShapeOf *q) {
    q->out_shape[0][0] = VAR_NONE;
    return true;
}

/* from[r]: the first row of rank r; from[n]: all rows. */
static bool count_rows(Call *c, CallDoing *w, int64_t *from) {
    const Tensor *x = call_in(c, 0);
    unsigned n = ranks_count(c->s);
    int64_t own[MAX_NDIM];
    int64_t(*all)[MAX_NDIM] = mem_alloc(c->s, n * sizeof *all);
    memcpy(own, x->shape, sizeof own);
    bool ok = ranks_gather(c->s, &w->doing, own, sizeof own, all);
    from[0] = 0;
    for (unsigned r = 0; ok && r < n; r++)
        if (!dim_add(from[r], all[r][0], &from[r + 1]))
            ok = call_fail(c, E_LIMIT, "all rows together are too many");
    for (unsigned r = 0; ok && r < n; r++)
        if (memcmp(all[r] + 1, all[0] + 1, (size_t)(x->ndim - 1) * sizeof **all) != 0)
            ok = call_fail(c, E_RUN_SHAPE,
                           "the rows of rank %u have a different shape than those of "
                           "rank 0",
                           r);
    for (unsigned r = 0; ok && r < n; r++)
        if (from[r] != ranks_bound(from[n], r, n))
            ok =
                call_fail(c, E_RUN_SHAPE,
                          "rank %u has %lld of %lld rows, not %lld: rank r of %u has "
                          "those from %lld * r / %u to %lld * (r + 1) / %u",
                          r - 1, (long long)(from[r] - from[r - 1]), (long long)from[n],
                          (long long)(ranks_bound(from[n], r, n) -
                                      ranks_bound(from[n], r - 1, n)),
                          n, (long long)from[n], n, (long long)from[n], n);
    mem_free(all);
    return ok;
}

static bool gather_rows(Call *c, int64_t *from, size_t *byte) {
    const Tensor *x = call_in(c, 0);
    unsigned n = ranks_count(c->s), rank = ranks_rank(c->s);
    int64_t shape[MAX_NDIM];
    CallDoing w;
    call_doing(c, &w);
    if (!count_rows(c, &w, from)) return false;
    memcpy(shape, x->shape, sizeof shape);
    shape[0] = from[n];
    if (!call_size_fits(c, x->dtype, x->ndim, shape)) return false;
    Tensor *out = call_out(c, 0, x->ndim, shape);
    if (!out) return false;
    for (unsigned r = 0; r <= n; r++)
        byte[r] = (size_t)(from[r] * out->stride[0]);
    Tensor part = *out;
    part.data = move_at(out, from[rank] * out->stride[0]);
    part.shape[0] = x->shape[0];
    if (tensor_size(x)) move_tensor(move_pool(c), &part, x);
    return ranks_gather_parts(c->s, &w.doing, out->data, byte);
}

static bool all_gather_perform(Call *c) {
    unsigned n = ranks_count(c->s);
    if (n == 1) return call_pass_on(c);
    size_t *byte = mem_alloc(c->s, (n + 1) * sizeof *byte);
    int64_t *from = mem_alloc(c->s, (n + 1) * sizeof *from);
    bool ok = gather_rows(c, from, byte);
    mem_free(byte);
    mem_free(from);
    return ok;
}

/* Sums all rows, and takes this rank's of them. */
static bool reduce_scatter_perform(Call *c) {
    const Tensor *x = call_in(c, 0);
    unsigned n = ranks_count(c->s), rank = ranks_rank(c->s);
    if (n == 1) return call_pass_on(c);
    CallDoing w;
    call_doing(c, &w);
    size_t all = 0, bytes = tensor_bytes(x);
    size_append(&all, bytes, 1);
    size_t room = size_append(&all, bytes, 1);
    char *data = call_scratch(c, all);
    if (!data) return false;
    Tensor sum = *x;
    sum.data = data;
    move_strides(dtype_size(x->dtype), x->ndim, x->shape, sum.stride);
    move_tensor(move_pool(c), &sum, x);
    RankSegment seg = {x->dtype, (size_t)tensor_size(x)};
    if (!ranks_reduce(c->s, &w.doing, OP_ADD, 1, &seg, data, data + room)) return false;
    int64_t first = ranks_bound(x->shape[0], rank, n);
    sum.data = move_at(&sum, first * sum.stride[0]);
    sum.shape[0] = ranks_bound(x->shape[0], rank + 1, n) - first;
    Tensor *out = call_out(c, 0, x->ndim, sum.shape);
    if (out && tensor_size(out)) move_tensor(move_pool(c), out, &sum);
    return out != NULL;
}

static bool fails_by_ranks(const Graph *g, ApplyId a) {
    (void)g, (void)a;
    return true;
}

static const char *const gather_adjoint[] = {"reduce_scatter(g)"};
static const char *const scatter_adjoint[] = {"all_gather(g)"};

#define ROWS                                                                           \
    .fold = FOLD_NEVER, .fails = fails_by_ranks, .flops = "0", .type = rows_type,      \
    .push = push_linear_first,                                                         \
    RARE(.views = collective_views, .infer_shape = no_shape)

static const Op table[] = {
    {.name = OP_ROW("all_gather"),
     .doc = "The rows of all ranks, one after the other: x joined along its leading "
            "axis. Of n rows, rank r of R must have those from n r / R to n (r + 1) / "
            "R, rounded down. With one rank: x.",
     .in = "x",
     .perform = all_gather_perform,
     .adjoint = gather_adjoint,
     ROWS,
     .example = "all_gather([1.0, 2.0]) -> [1.0, 2.0]"},
    {.name = OP_ROW("reduce_scatter"),
     .doc = "This rank's rows of the sum of x over all ranks: of n rows, rank r of R "
            "gets those from n r / R to n (r + 1) / R, rounded down. With one rank: x.",
     .in = "x",
     .kinds = KIND_NUMBER,
     .perform = reduce_scatter_perform,
     .adjoint = scatter_adjoint,
     ROWS,
     .example = "reduce_scatter([1.0, 2.0]) -> [1.0, 2.0]"},
};
const OpList ops_ranks_gather = LIST_OF(table);
