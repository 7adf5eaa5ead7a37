/* repeat: each element several times; tile: the whole tensor several times, by reshapes
 * around broadcast_to. */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "vmap/kit.h"

#include <string.h>

/* ---- repeat: one count for all, or one per element along the axis ---- */
static bool repeat_type(Infer *in) {
    const Type *x = in->type[0], *t = in->type[1];
    int axis;
    Dim dim[MAX_NDIM];
    if (!infer_want_rank(in, 0, 1, -1) ||
        !infer_axis(in, infer_prop(in, "axis")->i, x->ndim, &axis))
        return false;
    Dim n = x->dim[axis];
    if (t->dim[0] != 1 && !dim_may_equal(t->dim[0], n))
        return infer_fail(in, E_SHAPE, 1,
                          "expected one count, or one for each of the %lld elements",
                          (long long)n);
    memcpy(dim, x->dim, (size_t)x->ndim * sizeof *dim);
    const Tensor *known = var_const(infer_graph(in), in->in[1]);
    dim[axis] = DIM_UNKNOWN;
    int64_t total = 0;
    for (int64_t i = 0; known && i < tensor_size(known); i++) {
        int64_t v = tensor_i64(known, i);
        if (v < 0 || __builtin_add_overflow(total, v, &total))
            return infer_fail(in, E_VALUE, 1,
                              "a count can't be negative or too large, got %lld",
                              (long long)v);
    }
    if (known && t->dim[0] != 1) dim[axis] = total;
    /* One count may also be an int that an op passes on. */
    int64_t times = INT64_MIN;
    bool one = t->dim[0] == 1 && infer_dims(in, 1, NULL, &times) == 1 && times >= 0;
    if (one && dim_is_known(n) && !i64_mul(n, times, &dim[axis]))
        return infer_fail(in, E_VALUE, 1, "the result has too many elements");
    return infer_out_tensor(in, 0, x->dtype, x->ndim, dim);
}

/* Few copies are written as a vector, whose end the next ones overwrite. */
#define COPIES(T)                                                                      \
    static void copies_##T(char *to, const char *x, int64_t n, int64_t times) {        \
        typedef T Vector __attribute__((vector_size(32)));                             \
        enum { ITEM = sizeof(T), WIDE = sizeof(Vector) };                              \
        const char *end = to + n * times * ITEM;                                       \
        int64_t i = 0;                                                                 \
        T v;                                                                           \
        for (; times * ITEM <= WIDE && end - to >= WIDE; i++, to += times * ITEM) {    \
            memcpy(&v, x + i * ITEM, sizeof v);                                        \
            Vector all = v - (Vector){0};                                              \
            memcpy(to, &all, sizeof all);                                              \
        }                                                                              \
        for (; i < n; i++) {                                                           \
            memcpy(&v, x + i * ITEM, sizeof v);                                        \
            for (int64_t k = 0; k < times; k++, to += ITEM)                            \
                memcpy(to, &v, sizeof v);                                              \
        }                                                                              \
    }
COPIES(uint8_t)
COPIES(uint16_t)
COPIES(uint32_t)
COPIES(uint64_t)

/* A few copies of each of n adjacent elements; false: not of this size. */
static bool repeat_elements(size_t item, char *to, const char *x, int64_t n,
                            int64_t times) {
    enum { FEW = 16 };
    if (times > FEW || item > 8) return false;
    (item == 1   ? copies_uint8_t
     : item == 2 ? copies_uint16_t
     : item == 4 ? copies_uint32_t
                 : copies_uint64_t)(to, x, n, times);
    return true;
}

/* `times` copies of each element along axis k. */
static void repeat_evenly(Pool *pool, const Tensor *out, const Tensor *x, int k,
                          int64_t times) {
    int64_t shape[MAX_NDIM + 1], to[MAX_NDIM + 1], from[MAX_NDIM + 1];
    if (k == x->ndim - 1 && tensor_is_contiguous(x) &&
        repeat_elements(dtype_size(x->dtype), out->data, x->data, tensor_size(x),
                        times))
        return;
    for (int i = 0, at = 0; i < x->ndim; i++) {
        shape[at] = x->shape[i];
        from[at] = x->stride[i];
        to[at++] = out->stride[i] * (i == k ? times : 1);
        if (i != k) continue;
        shape[at] = times;
        from[at] = 0;
        to[at++] = out->stride[i];
    }
    move_strided(pool, dtype_size(x->dtype), x->ndim + 1, shape, out->data, to, x->data,
                 from);
}

static bool repeat_perform(Call *c) {
    Tensor x = *call_in(c, 0), t = *call_in(c, 1);
    int k = shape_axis_index(prop_int(c->s, c->op, c->props, "axis"), x.ndim);
    int64_t n = x.shape[k], m = tensor_size(&t), total = 0, shape[MAX_NDIM];
    if (m != n && !(m == 1 && call_is_one(c, 1, 0)))
        return call_fail(c, E_RUN_SHAPE, "there are %lld counts for %lld elements",
                         (long long)m, (long long)n);
    for (int64_t i = 0; i < m; i++) {
        int64_t v = tensor_index(&t, i);
        if (v < 0)
            return call_fail(c, E_RUN_SHAPE, "a count can't be negative, got %lld",
                             (long long)v);
        if (__builtin_add_overflow(total, v, &total))
            return call_fail(c, E_LIMIT, "the result has too many elements");
    }
    if (m == 1 && n != 1 && !i64_mul(total, n, &total))
        return call_fail(c, E_LIMIT, "the result has too many elements");
    memcpy(shape, x.shape, sizeof shape);
    shape[k] = total;
    if (!call_size_fits(c, x.dtype, x.ndim, shape)) return false;
    Tensor *out = call_out(c, 0, x.ndim, shape);
    if (!out) return false;
    if (m == 1 && x.ndim < MAX_NDIM) {
        repeat_evenly(move_pool(c), out, &x, k, tensor_i64(&t, 0));
        return true;
    }
    Tensor from = x, to = *out;
    from.stride[k] = 0;
    for (int64_t i = 0; i < n; i++) {
        from.shape[k] = to.shape[k] = tensor_i64(&t, m == 1 ? 0 : i);
        if (tensor_size(&from)) move_tensor(NULL, &to, &from);
        to.data = move_at(&to, to.shape[k] * to.stride[k]);
        from.data = move_at(&from, x.stride[k]);
    }
    return true;
}

/* Element i of a list of integers. */
static Var list_item(Builder *b, Var list, int i) {
    const Tensor *known = var_const(b->g, list);
    if (known) return const_int(b, tensor_i64(known, i));
    Var at[2] = {list, const_int(b, i)};
    PropArg arg = {"index", PROP_STR(sym(b->s, "$"))};
    return apply_named(b, "subtensor", 2, at, 1, &arg);
}

/* The axis of the prop, from the first dim on. */
static int repeat_axis_index(Session *s, const Op *op, const Props *p, int ndim) {
    return shape_axis_index(op_prop(s, op, p, "axis")->i, ndim);
}

static bool repeat_shape(ShapeOf *q) {
    Builder *b = q->b;
    const Type *x = var_type(q->g, q->in[0]), *times = var_type(q->g, q->in[1]);
    int k = repeat_axis_index(b->s, q->op, q->props, x->ndim);
    memcpy(q->out_shape[0], q->in_shape[0], (size_t)x->ndim * sizeof(Var));
    q->out_shape[0][k] =
        times->dim[0] == 1
            ? op_call2(b, "multiply", q->in_shape[0][k],
                       op_cast_to(b, list_item(b, q->in[1], 0), DT_INT64))
            : op_cast_to(b, op_call1(b, "sum", q->in[1]), DT_INT64);
    return q->out_shape[0][k] != VAR_NONE;
}

/* The sum over the copies along axis k, of which each element has the same number. */
static Var sum_copies(Pull *p, int k) {
    Builder *b = p->b;
    int ndim = var_type(p->g, p->in[0])->ndim;
    Var size[MAX_NDIM];
    for (int i = 0; i < ndim; i++)
        size[i < k + 1 ? i : i + 1] = shape_of(b, p->in[0], i);
    size[k + 1] = list_item(b, p->in[1], 0);
    Var apart =
        op_call2(b, "reshape", p->cotangent[0], ints_stack(b, (size_t)ndim + 1, size));
    PropArg axis = {"axis", PROP_INT(k + 1)};
    return apply_named(b, "sum", 1, &apart, 1, &axis);
}

/* The same, with a number of copies for each element. */
static Var sum_counted_copies(Pull *p, int k) {
    Builder *b = p->b;
    Var source = op_call1(b, "arange", shape_of(b, p->in[0], k));
    Var in[2] = {source, p->in[1]};
    PropArg first = {"axis", PROP_INT(0)};
    PropArg index = index_at_axis(b->s, k);
    Var to[3] = {op_float_zeros(b, p->in[0]), p->cotangent[0],
                 apply_named(b, "repeat_axis", 2, in, 1, &first)};
    return apply_named(b, "inc_subtensor", 3, to, 1, &index);
}

/* The gradient of an element is the sum over its copies. */
static bool repeat_pull(Pull *p) {
    p->grad[1] = GRAD_DISCONNECTED;
    if (pull_discrete(p)) return true;
    const Type *x = var_type(p->g, p->in[0]);
    int k = repeat_axis_index(p->b->s, p->op, p->props, x->ndim);
    bool even = var_type(p->g, p->in[1])->dim[0] == 1 && x->ndim < MAX_NDIM;
    p->grad[0] = even ? sum_copies(p, k) : sum_counted_copies(p, k);
    return p->grad[0] != VAR_NONE;
}

static bool repeat_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                          const Var *in, Var *out) {
    (void)nin;
    Var args[2] = {in[0], in[1]};
    PropArg arg = shape_ravel_without_axis(b, op, p, &args[0]);
    return (*out = apply_named(b, "repeat_axis", 2, args, 1, &arg)) != VAR_NONE;
}

/* ---- tile ---- */
/* How often dim r of the list repeats; 1 for dims before its first. */
static Var count_repetitions(Builder *b, Var list, int r) {
    return r < 0 ? const_int(b, 1) : list_item(b, list, r);
}

static bool tile_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                        const Var *in, Var *out) {
    (void)p, (void)nin;
    const Type *x = var_type(b->g, in[0]), *t = var_type(b->g, in[1]);
    if (!dim_is_known(t->dim[0]))
        return fail(
            b->s, b->from.at, E_SHAPE,
            "%s: the number of repetitions must be known: give a list, or declare how "
            "many there are, as in s: int64[2]",
            op->name);
    int nrep = (int)t->dim[0], n = nrep > x->ndim ? nrep : x->ndim, lead = n - x->ndim;
    if (!type_ndim_fits(b->s, b->from.at, op->name, 2 * n))
        return note(b->s, NOWHERE, "it takes tensors of at most %d dims", MAX_NDIM / 2);
    Var apart[2 * MAX_NDIM], wide[2 * MAX_NDIM], whole[MAX_NDIM];
    for (int k = 0; k < n; k++) {
        Var size = k < lead ? const_int(b, 1) : shape_of(b, in[0], k - lead),
            rep = count_repetitions(b, in[1], k - (n - nrep));
        apart[2 * k] = const_int(b, 1);
        apart[2 * k + 1] = wide[2 * k + 1] = size;
        wide[2 * k] = rep;
        if (size == VAR_NONE || rep == VAR_NONE) return false;
        const Tensor *a = var_const(b->g, size), *m = var_const(b->g, rep);
        int64_t total;
        if (a && m && i64_mul(tensor_i64(a, 0), tensor_i64(m, 0), &total))
            whole[k] = const_int(b, total);
        else if (a && m)
            return fail(b->s, b->from.at, E_VALUE,
                        "%s: dim %d of the result is too large", op->name, k);
        else if (m && tensor_i64(m, 0) == 1)
            whole[k] = size;
        else
            whole[k] = op_call2(b, "multiply", size, rep);
    }
    Var y =
        n ? op_call2(b, "reshape", in[0], ints_stack(b, 2 * (size_t)n, apart)) : in[0];
    if (n && y != VAR_NONE)
        y = op_call2(b, "broadcast_to", y, ints_stack(b, 2 * (size_t)n, wide));
    if (n && y != VAR_NONE)
        y = op_call2(b, "reshape", y, ints_stack(b, (size_t)n, whole));
    return (*out = y) != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("repeat"),
     .doc = "Each element along axis (None: of x flattened) repeated: one count for "
            "all, or one for each.",
     .in = "x, repeats: ints",
     .props = "axis: axis? = None",
     .expand = repeat_expand,
     .disconnected = "repeats",
     .example = "repeat([1, 2], 2) -> [1, 1, 2, 2]\nrepeat([[1, 2], [3, 4]], [1, 2], "
                "axis=0) -> [[1, 2], [3, 4], [3, 4]]"},
    {.name = OP_ROW("repeat_axis"),
     .internal = true,
     .doc = "repeat along an axis; repeat expands to this.",
     .in = "x, repeats: ints",
     .props = "axis: axis = 0",
     .type = repeat_type,
     RARE(.infer_shape = repeat_shape),
     .perform = repeat_perform,
     .reentrant = true,
     .flops = "0",
     .pull = repeat_pull,
     .push = push_linear_first,
     .disconnected = "repeats",
     .vmap = vmap_axes,
     .example = "repeat_axis([1, 2], [2, 1]) -> [1, 1, 2]"},
    {.name = OP_ROW("tile"),
     .doc = "x repeated as a whole along each dim; missing leading counts are 1.",
     .in = "x, reps: ints",
     .expand = tile_expand,
     .disconnected = "reps",
     .example =
         "tile([1, 2], 2) -> [1, 2, 1, 2]\ntile([1, 2], (2, 1)) -> [[1, 2], [1, 2]]"},
};
const OpList ops_shape_repeat = LIST_OF(table);
