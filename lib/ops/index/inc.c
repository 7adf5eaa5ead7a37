/* set_subtensor and inc_subtensor: x with the indexed elements replaced by y, or with y
 * added to them. With index arrays every occurrence counts: increments accumulate, and
 * the last of several values set wins. What else combines them is in fold.c. */
#include "ops/index/write.h"
#include "ops/shape/linear.h"
#include "ops/shape/move.h"

#include <string.h>

bool index_write_type(Infer *in) {
    const Type *x = in->type[0], *y = in->type[1];
    Dim dim[MAX_NDIM];
    int n;
    if (!infer_want_rank(in, 0, 0, -1) || !infer_want_rank(in, 1, 0, -1)) return false;
    if (!index_infer(in, x, 2, &n, dim)) return false;
    if (dtype_kind(y->dtype) > dtype_kind(x->dtype))
        return infer_fail(in, E_DTYPE, 1,
                          "%s can't be stored in a tensor of %s: cast it",
                          dtype_name(y->dtype), dtype_name(x->dtype));
    if (y->ndim > n)
        return infer_fail(in, E_SHAPE, 1, "y has %s, but the indexed part only %d",
                          str_counted(in->s, (size_t)y->ndim, "dim"), n);
    for (int k = 0; k < y->ndim; k++) {
        Dim to = dim[n - y->ndim + k];
        if (y->dim[k] != 1 && !dim_may_equal(y->dim[k], to))
            return infer_fail(
                in, E_SHAPE, 1,
                "dim %d of y has size %lld, but the indexed part has size %lld", k,
                (long long)y->dim[k], (long long)to);
    }
    return infer_out_tensor(in, 0, x->dtype, x->ndim, x->dim);
}

/* y's strides, broadcast to the result's dims. */
static bool broadcast_y_strides(Call *c, const Tensor *y, int n, const int64_t *shape,
                                int64_t *stride) {
    int lead = n - y->ndim;
    for (int k = 0; k < n; k++) {
        stride[k] = k < lead || call_is_one(c, 1, k - lead) ? 0 : y->stride[k - lead];
        if (k < lead || call_is_one(c, 1, k - lead) || y->shape[k - lead] == shape[k])
            continue;
        return call_fail(c, E_RUN_SHAPE,
                         "dim %d of y has size %lld, but the indexed part has size "
                         "%lld (a size of 1 broadcasts only if the type declares it)",
                         k - lead, (long long)y->shape[k - lead], (long long)shape[k]);
    }
    return true;
}

typedef struct IncScatter {
    const Indexed *ix;
    RowFn *row;
    ScatterFn *scatter;
    const int64_t *ys; /* y's strides: front dims, the arrays' dims, the rest */
    OffsetList list;   /* of single elements */
    int64_t item;
} IncScatter;

/* Processes the rows over dims [first, ndim) of base: iterates over all dims but the
 * last. */
static void each_row(const IncScatter *j, int first, char *x, const char *y,
                     const int64_t *ys) {
    const Tensor *t = &j->ix->base;
    int last = t->ndim - 1;
    if (first >= last) {
        bool one = first > last;
        j->row(one ? 1 : t->shape[last], x, one ? 0 : t->stride[last], y,
               one ? 0 : ys[0]);
        return;
    }
    int64_t at[MAX_NDIM]; /* clearing all of it costs more than a short row */
    for (int k = first; k < last; k++)
        at[k] = 0;
    for (;;) {
        j->row(t->shape[last], x, t->stride[last], y, ys[last - first]);
        int k = last - 1;
        for (; k >= first; k--) {
            x += t->stride[k];
            y += ys[k - first];
            if (++at[k] < t->shape[k]) break;
            x -= at[k] * t->stride[k];
            y -= at[k] * ys[k - first];
            at[k] = 0;
        }
        if (k < first) return;
    }
}

/* Those of the list from number `at` on, by its runs. */
static void some_runs(const IncScatter *j, int64_t at, int64_t n, char *x,
                      const char *y, int64_t step) {
    const OffsetRun *r = index_run_at(&j->list, at);
    for (int64_t m; n > 0; n -= m, at += m, y += m * step, r++) {
        m = r->at + r->n - at < n ? r->at + r->n - at : n;
        j->row(m, x + j->list.offset[at], j->item, y, step);
    }
}

/* As some_offsets, where a list serves for all of them. */
static bool listed_offsets(const IncScatter *j, int64_t i, int64_t n, char *x,
                           const char *y, int64_t step) {
    int64_t base = 0;
    for (int64_t m, at; n > 0; n -= m, i += m, y += m * step) {
        at = i % j->list.n;
        m = j->list.n - at < n ? j->list.n - at : n;
        if (j->ix->late && !index_mesh_base(j->ix, i, &base)) return false;
        some_runs(j, at, m, x + base, y, step);
    }
    return true;
}

/* Processes n offsets, from number i on, whose y are `step` bytes apart. False: a late
 * index is out of range. */
static bool some_offsets(const IncScatter *j, int64_t i, int64_t n, char *x,
                         const char *y, int64_t step) {
    enum { PART = 512 };
    const Indexed *ix = j->ix;
    const int64_t *rest = j->ys + ix->front + ix->adv_ndim;
    bool single = ix->front == ix->base.ndim;
    int64_t part[PART];
    if (j->list.run) return listed_offsets(j, i, n, x, y, step);
    for (int64_t m; n > 0; n -= m, i += m, y += m * step) {
        m = ix->late && n > PART ? PART : n;
        if (ix->late && !index_offsets(ix, i, m, part)) return false;
        const int64_t *offset = ix->late ? part : ix->offset + i;
        if (single)
            j->scatter(m, x, offset, y, step);
        else
            for (int64_t k = 0; k < m; k++)
                each_row(j, ix->front, x + offset[k], y + k * step, rest);
    }
    return true;
}

/* Processes all offsets at one position of the front dims. */
static bool each_offset(const IncScatter *j, char *x, const char *y) {
    const Indexed *ix = j->ix;
    const int64_t *ys = j->ys + ix->front;
    int last = ix->adv_ndim - 1;
    while (last > 0 && ix->adv_shape[last] == 1)
        last--; /* one index for each row: the rows are the run */
    int64_t n = last < 0 ? 1 : ix->adv_shape[last], step = last < 0 ? 0 : ys[last],
            at[MAX_NDIM];
    for (int k = 0; k < last; k++)
        at[k] = 0;
    for (int64_t i = 0; i < ix->adv_count; i += n) {
        if (!some_offsets(j, i, n, x, y, step)) return false;
        for (int k = last - 1; k >= 0; k--) {
            y += ys[k];
            if (++at[k] < ix->adv_shape[k]) break;
            y -= at[k] * ys[k];
            at[k] = 0;
        }
    }
    return true;
}

static bool scatter_fronts(const IncScatter *j, int64_t fronts, const char *y) {
    const Tensor *t = &j->ix->base;
    for (int64_t f = 0; f < fronts; f++) {
        int64_t rest = f;
        char *x = t->data;
        const char *from = y;
        for (int k = j->ix->front - 1; k >= 0; k--) {
            x += rest % t->shape[k] * t->stride[k];
            from += rest % t->shape[k] * j->ys[k];
            rest /= t->shape[k];
        }
        if (!each_offset(j, x, from)) return false;
    }
    return true;
}

/* ---- counting ----
 * Integers may be added in any order. Many of them, added to few elements, are shared
 * by threads: each adds its part to zeros of its own. */
enum { COUNTS = 1 << 14, COUNTED = 1 << 12, APART = 128 };
typedef struct CountParts {
    const IncScatter *j;
    const char *y;
    int64_t step;
    char *own;    /* of the first worker */
    size_t bytes; /* from a worker's to the next one's */
    ptrdiff_t at; /* in them, of base */
    bool *bad;    /* of each worker: an index is out of range */
} CountParts;

static void count_part(void *ctx, size_t chunk, unsigned worker) {
    const CountParts *q = ctx;
    int64_t i = (int64_t)chunk * COUNTS, left = q->j->ix->adv_count - i;
    char *own = q->own + worker * q->bytes;
    if (!some_offsets(q->j, i, left < COUNTS ? left : COUNTS, own + q->at,
                      q->y + i * q->step, q->step))
        q->bad[worker] = true;
}

/* Are the offsets those of single elements, few ones, and each y a step behind the one
 * before? */
static bool counts_few(const IncScatter *j, const Tensor *out) {
    const Indexed *ix = j->ix;
    bool steps = true;
    for (int k = 0; ix->adv_ndim > 1 && k < ix->adv_ndim; k++)
        steps = steps && j->ys[k] == 0;
    return ix->advanced && ix->base.ndim == 0 && steps && ix->adv_ndim > 0 &&
           tensor_size(out) <= COUNTED && ix->adv_count >= 2 * COUNTS;
}

static bool count_shared(Session *s, Pool *pool, const IncScatter *j, const Tensor *out,
                         const char *y) {
    size_t workers = pool_threads(pool), item = (size_t)j->item,
           bytes = ((size_t)tensor_size(out) * item + APART) & ~(size_t)(APART - 1);
    char *room = mem_zalloc(s, workers, bytes + 1);
    CountParts q = {.j = j,
                    .y = y,
                    .step = j->ys[j->ix->adv_ndim - 1],
                    .own = room,
                    .bytes = bytes,
                    .at = (char *)j->ix->base.data - (char *)out->data,
                    .bad = (bool *)(room + workers * bytes)};
    pool_run(pool, (size_t)((j->ix->adv_count + COUNTS - 1) / COUNTS), count_part, &q);
    bool ok = true;
    for (size_t w = 0; w < workers; w++)
        ok = ok && !q.bad[w];
    for (size_t w = 0; ok && w < workers; w++)
        j->row(tensor_size(out), out->data, j->item, room + w * bytes, j->item);
    mem_free(room);
    return ok;
}

static bool scatter_all(Session *s, IncScatter *j, const char *y) {
    const Tensor *t = &j->ix->base;
    if (!j->ix->advanced) {
        each_row(j, 0, t->data, y, j->ys);
        return true;
    }
    int64_t fronts = move_count(j->ix->front, t->shape);
    bool single = j->ix->front == t->ndim;
    bool ok = (!single || index_list(s, j->ix, fronts, j->item, &j->list)) &&
              scatter_fronts(j, fronts, y);
    index_list_free(&j->list);
    return ok;
}

/* Makes t its elements [first, last) along dim k. */
static void take_along(Tensor *t, int k, int64_t first, int64_t last) {
    t->data = (char *)t->data + first * t->stride[k];
    t->shape[k] = last - first;
}

/* Copies x to the output, but for what a block of it, `part`, replaces: what is before
 * and behind it along each dim, between the ends of the block along earlier ones. */
static void copy_around(Pool *pool, Tensor out, Tensor x, const Tensor *part) {
    ptrdiff_t skipped = (char *)part->data - (char *)out.data;
    for (int k = 0; k < x.ndim; k++) {
        int64_t first = skipped / out.stride[k], last = first + part->shape[k];
        int64_t side[2][2] = {{0, first}, {last, x.shape[k]}};
        skipped %= out.stride[k];
        for (int i = 0; i < 2; i++) {
            Tensor to = out, from = x;
            take_along(&to, k, side[i][0], side[i][1]);
            take_along(&from, k, side[i][0], side[i][1]);
            if (to.shape[k] > 0) move_tensor(pool, &to, &from);
        }
        take_along(&out, k, first, last);
        take_along(&x, k, first, last);
    }
}

/* Does the index point to a block of `out`, which is in C order? */
static bool is_block(const Indexed *ix, const Tensor *out) {
    bool is = ix->base.ndim == out->ndim;
    for (int k = 0; is && k < out->ndim; k++)
        is = ix->base.stride[k] == out->stride[k];
    return is;
}

/* Without arrays in the index, is so much replaced, in rows so long (bytes), that it is
 * worth more calls? */
static bool replaces_much(const Indexed *ix, int64_t much, int64_t row) {
    const Tensor *t = &ix->base;
    int64_t item = (int64_t)dtype_size(t->dtype);
    return !ix->advanced && t->ndim > 0 && t->shape[t->ndim - 1] >= row / item &&
           tensor_size(t) >= much / item;
}

/* Makes the output a copy of x, unless it has x's own storage. much: elements to which
 * the index points may be left out. */
static void copy_x(Call *c, const Tensor *out, const Tensor *x, const Indexed *ix,
                   bool much) {
    if (out->data == x->data || tensor_size(x) == 0) return;
    if (much && is_block(ix, out))
        copy_around(move_pool(c), *out, *x, &ix->base);
    else
        move_tensor(move_pool(c), out, x);
}

bool index_write(Call *c, RowFn *row, ScatterFn *scatter, bool replaces) {
    enum {
        FEW = 256,
        MUCH = 1 << 17,
        LONG = 1024,
        MUCH_MADE = 1 << 14,
        LONG_MADE = 128
    };
    Tensor x = *call_in(c, 0), y = *call_in(c, 1);
    c->overwritten = false;
    Tensor *out = call_out(c, 0, x.ndim, x.shape);
    if (!out) return false;
    Indexed ix;
    void *mem = NULL;
    size_t item = dtype_size(x.dtype);
    bool made = c->pieces != NULL;
    size_t extra = made                 ? index_pieces_room(c, item)
                   : y.dtype == x.dtype ? 0
                                        : (size_t)tensor_size(&y) * item;
    if (!index_apply(c, out, 2, &ix, true, extra, &mem)) return false;
    if (extra && !made) {
        Tensor cast = y;
        cast.dtype = x.dtype;
        cast.data = mem;
        move_strides(item, y.ndim, y.shape, cast.stride);
        tensor_assign(&cast, &y);
        y = cast;
    }
    int64_t shape[MAX_NDIM], ys[MAX_NDIM];
    int n = index_result(&ix, shape);
    size_t mark = diag_count(c->s);
    if (!broadcast_y_strides(c, &y, n, shape, ys)) {
        diag_rewind(c->s, mark); /* an index out of range comes first */
        return index_check_late(c, &ix) && broadcast_y_strides(c, &y, n, shape, ys);
    }
    bool much = replaces &&
                replaces_much(&ix, made ? MUCH_MADE : MUCH, made ? LONG_MADE : LONG);
    copy_x(c, out, &x, &ix, much);
    if (move_count(n, shape) == 0) return index_check_late(c, &ix);
    /* A variable's own storage stays as it is if the index is refused. A few indices
     * are checked first, too, so that the error shows x as it was. */
    bool here = out->data == x.data,
         first = ix.adv_count <= FEW ||
                 var_owner(c->g, apply_in(c->g, c->id)[0]) == APPLY_NONE;
    if (here && first && !index_check_late(c, &ix)) return false;
    if (made) {
        index_write_pieces(c, &ix.base, row, replaces, mem);
        return true;
    }
    if (much) {
        move_strided(move_pool(c), item, n, shape, ix.base.data, ix.base.stride, y.data,
                     ys);
        return true;
    }
    IncScatter j = {
        .ix = &ix, .row = row, .scatter = scatter, .ys = ys, .item = (int64_t)item};
    Pool *pool = move_pool(c);
    bool adds = scatter == index_loops(c->s)->fold[INDEX_ADD][x.dtype],
         shared = adds && !dtype_is_inexact(x.dtype) && pool &&
                  pool_threads(pool) > 1 && counts_few(&j, out);
    if (shared ? count_shared(c->s, pool, &j, out, y.data)
               : scatter_all(c->s, &j, y.data))
        return true;
    c->overwritten = here;
    return index_refuse(c, &ix);
}

static bool set_subtensor_perform(Call *c) {
    int size = index_size_class(dtype_size(call_in(c, 0)->dtype));
    const IndexLoops *l = index_loops(c->s);
    return index_write(c, l->row_set[size], l->set[size], true);
}

static bool inc_subtensor_perform(Call *c) {
    DType d = call_in(c, 0)->dtype;
    const IndexLoops *l = index_loops(c->s);
    return index_write(c, l->row_fold[INDEX_ADD][d], l->fold[INDEX_ADD][d], false);
}

Var index_apply_same(Builder *b, IndexOf at, const char *op, size_t n,
                     const Var *lead) {
    size_t nin = n + at.nin - 2;
    Var *in = mem_alloc(b->s, nin * sizeof *in);
    memcpy(in, lead, n * sizeof *in);
    memcpy(in + n, at.in + 2, (at.nin - 2) * sizeof *in);
    const Op *row = op_named(b->s, op);
    PropArg arg[2] = {{"index", *op_prop(b->s, at.op, at.props, "index")}};
    bool folds = row == at.op && op_signature(b->s, row)->nprop == 2;
    if (folds)
        arg[1] = (PropArg){"reduction", *op_prop(b->s, at.op, at.props, "reduction")};
    Var r = apply_named(b, op, nin, in, folds ? 2 : 1, arg);
    mem_free(in);
    return r;
}

static Var apply_same_index(Pull *p, const char *op, size_t n, const Var *lead) {
    return index_apply_same(p->b, (IndexOf){p->op, p->props, p->nin, p->in}, op, n,
                            lead);
}

/* Are the elements of v certainly distinct? */
static bool is_distinct(const Graph *g, Var v) {
    ApplyId a = var_owner(g, v);
    const Tensor *t = var_const(g, v);
    if (a != APPLY_NONE) return op_is(g->s, g->apply[a].op, OP_ARANGE);
    if (!t || tensor_size(t) > 64) return false;
    for (int64_t i = 0; i < tensor_size(t); i++)
        for (int64_t k = 0; k <= i; k++)
            if ((k < i && tensor_i64(t, i) == tensor_i64(t, k)) ||
                (tensor_i64(t, i) < 0) != (tensor_i64(t, 0) < 0))
                return false;
    return true;
}

/* Can a position be indexed more than once? Not by slices and masks, nor if one of the
 * arrays, all of rank 1, has distinct elements. */
static bool may_repeat(const Pull *p) {
    IndexItems items;
    const Prop *index = op_prop(p->b->s, p->op, p->props, "index");
    if (!index_parse(sym_text(p->b->s, index->sym), &items)) return true;
    int arrays = 0, rank = 0;
    bool distinct = false;
    for (int i = 0; i < items.n; i++) {
        if (items.item[i].kind != IX_INPUT) continue;
        Var v = p->in[2 + items.item[i].input];
        const Type *t = var_type(p->g, v);
        if (t->ndim == 0 || t->dtype == DT_BOOL) continue;
        arrays++;
        rank = t->ndim > rank ? t->ndim : rank;
        distinct |= t->ndim == 1 && t->dim[0] != 1 && is_distinct(p->g, v);
    }
    return arrays > 0 && !(distinct && rank == 1);
}

/* g with zeros for values that were overwritten: every position records the number of
 * the last value set there. */
static Var mask_overwritten(Pull *p, Var g) {
    Builder *b = p->b;
    Bind bind[3] = {{sym(b->s, "g"), g}};
    Env env = {.n = 1, .bind = bind};
    bool ok = true;
    Var number = template_build(b, "reshape(arange(g.size), shape(g))", &env, &ok);
    Var lead[2] = {ok ? op_zeros_like(b, p->in[0], DT_INT64) : VAR_NONE, number};
    if (lead[0] == VAR_NONE || number == VAR_NONE) return VAR_NONE;
    Var place = apply_same_index(p, "set_subtensor", 2, lead);
    if (place == VAR_NONE) return VAR_NONE;
    bind[1] = (Bind){sym(b->s, "number"), number};
    bind[2] = (Bind){sym(b->s, "last"), apply_same_index(p, "subtensor", 1, &place)};
    env.n = 3;
    if (bind[2].var == VAR_NONE) return VAR_NONE;
    return template_build(b, "where(last == number, g, 0)", &env, &ok);
}

static bool pull_y(Pull *p, bool set) {
    p->grad[1] = GRAD_DISCONNECTED;
    if (!p->wanted[1]) return true;
    Var g = apply_same_index(p, "subtensor", 1, p->cotangent);
    if (set && g != VAR_NONE && may_repeat(p)) g = mask_overwritten(p, g);
    return g != VAR_NONE && (p->grad[1] = sum_to_shape(p->b, g, p->in[1])) != VAR_NONE;
}

static bool inc_subtensor_pull(Pull *p) {
    pull_disconnect(p, 2);
    if (pull_discrete(p)) return true;
    p->grad[0] = p->cotangent[0];
    return pull_y(p, false);
}

static bool set_subtensor_pull(Pull *p) {
    pull_disconnect(p, 2);
    if (pull_discrete(p)) return true;
    p->grad[0] = GRAD_DISCONNECTED;
    if (!p->wanted[0]) return pull_y(p, true);
    Var g = p->cotangent[0];
    Var lead[2] = {g, const_number(p->b, var_type(p->b->g, g)->dtype, 0)};
    p->grad[0] = apply_same_index(p, "set_subtensor", 2, lead);
    return p->grad[0] != VAR_NONE && pull_y(p, true);
}

/* Jointly linear in x and y. */
static bool write_subtensor_push(Push *p) {
    return push_linear(p, 2);
}

static const Op table[] = {
    {.name = OP_ROW("set_subtensor"),
     .doc = "x with x[index] replaced by y, which is broadcast (written "
            "set_subtensor(x[index], y)); if an element is indexed several times, the "
            "last value stays.",
     .in = "x, y, *index",
     .props = "index: str",
     .type = index_write_type,
     .perform = set_subtensor_perform,
     .reentrant = true,
     .flops = "0",
     .pull = set_subtensor_pull,
     .push = write_subtensor_push,
     .disconnected = "index",
     .reuse = 1,
     RARE(.changes = "subtensor", .streams = index_write_streams, .streamed = 1),
     .vmap = index_inc_vmap,
     .example = "set_subtensor([1, 2, 3][1:], 0) -> [1, 0, 0]"},
    {.name = OP_ROW("inc_subtensor"),
     .doc = "x with y added to x[index], y being broadcast (written "
            "inc_subtensor(x[index], y)); an element that is indexed several times "
            "receives the sum.",
     .in = "x, y, *index",
     .props = "index: str",
     .type = index_write_type,
     .perform = inc_subtensor_perform,
     .reentrant = true,
     .flops = "y.size",
     .pull = inc_subtensor_pull,
     .push = write_subtensor_push,
     .disconnected = "index",
     .reuse = 1,
     RARE(.changes = "subtensor", .streams = index_write_streams, .streamed = 1),
     .vmap = index_inc_vmap,
     .example = "inc_subtensor([1, 2, 3][[0, 0, 2]], 10) -> [21, 2, 13]"},
};
const OpList ops_index_inc = LIST_OF(table);
