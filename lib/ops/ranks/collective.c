/* all_sum, all_max, broadcast, rank, ranks. A derivative is that of the sum of what all
 * ranks compute, each from inputs of its own. */
#include "base/map.h"
#include "op/services.h"
#include "ops/ranks/ranks.h"
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "vmap/kit.h"

#include <stdio.h>
#include <string.h>

void call_doing(const Call *c, CallDoing *out) {
    uint32_t line = c->g && c->id != APPLY_NONE ? apply_line(c->g, c->id) : 0;
    if (line)
        snprintf(out->what, sizeof out->what, "%s (line %u)", c->op->name, line);
    else
        snprintf(out->what, sizeof out->what, "%s", c->op->name);
    out->doing = (RankDoing){.what = out->what, .mark = c->id, .at = c->at};
}

/* ---- all_sum ---- */

static bool all_sum_type(Infer *in) {
    if (in->nin == 0)
        return infer_fail(in, E_ARITY, in->nin, "at least one tensor is needed");
    if (in->nin > OUT_MAX)
        return infer_fail(in, E_LIMIT, in->nin, "at most %d tensors at once", OUT_MAX);
    in->nout = in->nin;
    for (size_t i = 0; i < in->nin; i++)
        in->out[i] = in->type[i];
    return true;
}

/* Inputs lie one behind the other, those of large elements first. */
typedef struct Packed {
    size_t n, bytes;
    size_t *of; /* by segment: the input */
    RankSegment *seg;
    char *data, *room;
} Packed;

static Packed packed_inputs(Call *c) {
    Packed p = {.of = mem_alloc(c->s, c->nin * sizeof *p.of),
                .seg = mem_alloc(c->s, c->nin * sizeof *p.seg)};
    for (size_t size = 16; size > 0; size /= 2)
        for (size_t i = 0; i < c->nin; i++) {
            const Tensor *t = call_in(c, i);
            if (dtype_size(t->dtype) != size) continue;
            p.of[p.n] = i;
            p.seg[p.n++] = (RankSegment){t->dtype, (size_t)tensor_size(t)};
            p.bytes += tensor_bytes(t); /* together less than the address space */
        }
    return p;
}

static void packed_free(Packed *p) {
    mem_free(p->of);
    mem_free(p->seg);
}

/* A single one is summed in the storage of the result. */
static bool pack_inputs(Call *c, Packed *p, void *(*memory)(Call *c, size_t bytes)) {
    size_t all = 0;
    size_append(&all, c->nin == 1 ? 0 : p->bytes, 1);
    size_t room = size_append(&all, (c->nin == 1 ? p->bytes / 2 : p->bytes) + 16, 1);
    char *at = memory(c, all);
    if (!at) return false;
    p->room = at + room;
    p->data = at;
    for (size_t k = 0; k < p->n; k++) {
        const Tensor *t = call_in(c, p->of[k]);
        Tensor *out = call_out(c, p->of[k], t->ndim, t->shape);
        if (!out) return false;
        if (c->nin == 1) {
            p->data = out->data;
            move_tensor(move_pool(c), out, t);
            continue;
        }
        move_contiguous(move_pool(c), t, at);
        if (tensor_is_contiguous(t)) memcpy(at, t->data, tensor_bytes(t));
        at += tensor_bytes(t);
    }
    return true;
}

static void unpack_results(Call *c, const Packed *p) {
    const char *at = p->data;
    for (size_t k = 0; c->nin > 1 && k < p->n; k++) {
        const Tensor *out = &c->out[p->of[k]].t;
        memcpy(out->data, at, tensor_bytes(out));
        at += tensor_bytes(out);
    }
}

static bool views_each(Call *c) {
    for (size_t i = 0; i < c->nin; i++)
        if (!call_view(c, i, call_in(c, i))) return false;
    return true;
}

static bool reduce_call_over_ranks(Call *c, KnownOp op) {
    CallDoing w;
    if (ranks_count(c->s) == 1) return views_each(c);
    call_doing(c, &w);
    Packed p = packed_inputs(c);
    bool ok = pack_inputs(c, &p, call_scratch) &&
              ranks_reduce(c->s, &w.doing, op, p.n, p.seg, p.data, p.room);
    if (ok) unpack_results(c, &p);
    packed_free(&p);
    return ok;
}

/* An exchange beside other work, in memory that nothing else uses. */
typedef struct Summing {
    Packed p;
    RankFlight *flight;
} Summing;

static bool begin_reduction(Call *c, KnownOp op, void **flight) {
    CallDoing w;
    Packed p = packed_inputs(c);
    size_t mark = diag_count(c->s);
    call_doing(c, &w);
    if (ranks_reduce_overlaps(c->s, p.bytes) && pack_inputs(c, &p, call_own)) {
        Summing *f = mem_alloc(c->s, sizeof *f);
        f->flight = ranks_reduce_begin(c->s, &w.doing, op, p.n, p.seg, p.data, p.room);
        f->p = p;
        return *flight = f, true;
    }
    packed_free(&p);
    return diag_count(c->s) == mark && reduce_call_over_ranks(c, op);
}

static bool reduction_finish(Call *c, void *flight) {
    Summing *f = flight;
    bool ok = ranks_reduce_end(f->flight);
    if (ok) unpack_results(c, &f->p);
    packed_free(&f->p);
    mem_free(f);
    return ok;
}

static bool all_sum_perform(Call *c) {
    return reduce_call_over_ranks(c, OP_ADD);
}

static bool all_sum_begin(Call *c, void **flight) {
    return begin_reduction(c, OP_ADD, flight);
}

/* Applies the op to those of the variables that there are; out[i] of the others is
 * VAR_NONE. */
static bool apply_to_some(Builder *b, const Op *op, size_t n, const Var *in, Var *out) {
    Var *some = mem_alloc(b->s, 2 * n * sizeof *some), *made = some + n;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (in[i] != VAR_NONE) some[k++] = in[i];
    bool ok = k == 0 || op_apply(b, op, props_make(b->s, op, 0, NULL), k, some, made);
    k = 0;
    for (size_t i = 0; ok && i < n; i++)
        out[i] = in[i] == VAR_NONE ? VAR_NONE : made[k++];
    mem_free(some);
    return ok;
}

static bool all_sum_pull(Pull *p) {
    Var *g = mem_alloc(p->b->s, p->nin * sizeof *g);
    bool ok = true;
    for (size_t i = 0; i < p->nin; i++)
        g[i] = p->wanted[i] && !dtype_is_discrete(var_type(p->g, p->in[i])->dtype)
                   ? p->cotangent[i]
                   : VAR_NONE;
    ok = apply_to_some(p->b, p->op, p->nin, g, p->grad);
    for (size_t i = 0; ok && i < p->nin; i++)
        if (p->wanted[i] && p->cotangent[i] != VAR_NONE && p->grad[i] == VAR_NONE)
            ok = (p->grad[i] = op_float_zeros(p->b, p->in[i])) != VAR_NONE;
    mem_free(g);
    return ok;
}

static bool all_sum_push(Push *p) {
    Var *t = mem_alloc(p->b->s, p->nin * sizeof *t);
    for (size_t i = 0; i < p->nin; i++)
        t[i] = dtype_is_discrete(var_type(p->g, p->in[i])->dtype) ? VAR_NONE
                                                                  : p->tangent[i];
    bool ok = apply_to_some(p->b, p->op, p->nin, t, p->result);
    mem_free(t);
    return ok;
}

/* Element by element: rows are elements like others. */
static bool each_vmap(Vmap *q) {
    for (size_t i = 0; i < q->nout; i++)
        q->out_rows[i] = q->rows[i];
    return vmap_apply(q, q->props, q->in);
}

static bool each_connect(const Graph *g, ApplyId a, size_t in, size_t out) {
    (void)g, (void)a;
    return in == out;
}

int collective_views(const Graph *g, ApplyId a, size_t out) {
    (void)a;
    return ranks_count(g->s) == 1 ? (int)out : -1;
}

/* ---- all_max ---- */

static bool all_max_perform(Call *c) {
    return reduce_call_over_ranks(c, OP_MAXIMUM);
}

static bool all_max_begin(Call *c, void **flight) {
    return begin_reduction(c, OP_MAXIMUM, flight);
}

/* ---- broadcast ---- */

static bool broadcast_type(Infer *in) {
    int64_t root = infer_prop(in, "root")->i;
    return (root >= 0 ||
            infer_fail(in, E_ARG, in->nin, "there is no rank %lld", (long long)root)) &&
           infer_same_type(in);
}

static bool broadcast_perform(Call *c) {
    const Tensor *t = call_in(c, 0);
    unsigned n = ranks_count(c->s);
    int64_t root = prop_int(c->s, c->op, c->props, "root");
    if (root >= n)
        return call_fail(c, E_RUN, "there is no rank %lld, only %s", (long long)root,
                         str_counted(c->s, n, "rank"));
    if (n == 1) return views_each(c);
    Tensor *out = call_out(c, 0, t->ndim, t->shape);
    size_t *from = out ? call_scratch(c, (n + 1) * sizeof *from) : NULL;
    CallDoing w;
    if (!from) return false;
    call_doing(c, &w);
    for (unsigned i = 0; i <= n; i++)
        from[i] = i > root ? tensor_bytes(t) : 0;
    if (ranks_rank(c->s) == root) move_tensor(move_pool(c), out, t);
    return ranks_gather_parts(c->s, &w.doing, out->data, from);
}

/* ---- rank, ranks ---- */

static bool scalar_type(Infer *in) {
    return infer_out_tensor(in, 0, DT_INT64, 0, NULL);
}

static bool put_number(Call *c, unsigned n) {
    Tensor *out = call_out(c, 0, 0, NULL);
    if (out) *(int64_t *)out->data = n;
    return out != NULL;
}

static bool rank_perform(Call *c) {
    return put_number(c, ranks_rank(c->s));
}

static bool ranks_perform(Call *c) {
    return put_number(c, ranks_count(c->s));
}

static bool no_pull(Pull *p) {
    (void)p;
    return true;
}

static bool fails_by_ranks(const Graph *g, ApplyId a) {
    (void)g, (void)a;
    return true;
}

/* One rank's result is nothing that a graph could hold for all. */
#define COLLECTIVE .fold = FOLD_NEVER, .fails = fails_by_ranks, .flops = "0"

static const Op table[] = {
    {.name = OP_ROW("all_sum"),
     .doc = "Each x summed over all ranks, element by element, in one exchange. The "
            "sums follow a binary tree over the ranks, so that they are the same bits "
            "on all of them. With one rank: x.",
     .in = "*x",
     .varies = true,
     .kinds = KIND_NUMBER,
     .type = all_sum_type,
     .perform = all_sum_perform,
     RARE(.begin = all_sum_begin, .finish = reduction_finish, .connect = each_connect,
          .views = collective_views),
     .pull = all_sum_pull,
     .push = all_sum_push,
     .vmap = each_vmap,
     COLLECTIVE,
     .example = "all_sum(1.5) -> 1.5\nall_sum(2.0, [3, 4])[1] -> [3, 4]"},
    {.name = OP_ROW("all_max"),
     .doc = "The largest element of all ranks at each place; nan wins. Every tied "
            "maximum receives the gradient. With one rank: x.",
     .in = "x",
     .kinds = KIND_BOOL | KIND_REAL,
     .type = infer_same_type,
     .perform = all_max_perform,
     RARE(.begin = all_max_begin, .finish = reduction_finish,
          .views = collective_views),
     .pullback = "g_x = where(x == r, all_sum(g), 0)",
     .pushforward = "t_r = all_sum(where(x == r, t_x, 0))",
     .vmap = each_vmap,
     COLLECTIVE,
     .example = "all_max([3, 1]) -> [3, 1]"},
    {.name = OP_ROW("broadcast"),
     .doc = "The x of rank `root`, on all ranks; broadcast_to gives a tensor a shape.",
     .in = "x",
     .props = "root: int = 0",
     .type = broadcast_type,
     .perform = broadcast_perform,
     .pullback = "g_x = where(rank() == root, all_sum(g), 0)",
     .pushforward = "t_r = broadcast(t_x, root=root)",
     .vmap = each_vmap,
     COLLECTIVE,
     RARE(.views = collective_views),
     .example = "broadcast([1.5, 2.5]) -> [1.5, 2.5]"},
    {.name = OP_ROW("rank"),
     .doc = "The number of this process among those that run the graph, from 0.",
     .in = "",
     .type = scalar_type,
     .perform = rank_perform,
     .fails = op_never_fails,
     .fold = FOLD_NEVER,
     .pull = no_pull,
     .push = push_none,
     .flops = "0",
     .example = "rank() -> 0"},
    {.name = OP_ROW("ranks"),
     .doc = "The number of processes that run the graph: 1, or as many as mpirun has "
            "started.",
     .in = "",
     .type = scalar_type,
     .perform = ranks_perform,
     .fails = op_never_fails,
     .fold = FOLD_NEVER,
     .pull = no_pull,
     .push = push_none,
     .flops = "0",
     .example = "ranks() -> 1"},
};
const OpList ops_ranks_collective = LIST_OF(table);
