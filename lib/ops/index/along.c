/* One index for each element of a result or of what is written, along an axis or as a
 * vector of several dims: ONNX's gathering and scattering, and NumPy's along an axis.
 * They become indexing by one array for each dim. */
#include "op/build.h"

#include <string.h>

/* ---- along an axis ---- */
/* 0, 1, .. as the index of dim k, among n dims. */
static Var own_positions(Builder *b, Var length, int k, int n) {
    int64_t ones[MAX_NDIM];
    size_t others = 0;
    for (int d = 0; d < n; d++)
        if (d != k) ones[others++] = d;
    PropArg arg = {"axis", PROP_INTS(ones, others)};
    Var row = op_call1(b, "arange", length);
    return others ? apply_named(b, "expand_dims", 1, &row, 1, &arg) : row;
}

/* An index along an axis. NumPy's `broadcast`: a dim of 1 of x or of indices, but for
 * the axis, stretches as in arithmetic; ONNX's and PyTorch's don't, and take the first
 * rows of x only. */
typedef struct Along {
    int axis;
    bool broadcast;
    const Type *x, *indices;
} Along;

static bool check_along(Builder *b, const Op *op, const Props *p, Var v, Var indices,
                        bool broadcast, Along *a) {
    const Type *x = var_type(b->g, v), *t = var_type(b->g, indices);
    int64_t axis = prop_int(b->s, op, p, "axis");
    if (t->ndim != x->ndim || axis < -x->ndim || axis >= x->ndim)
        return fail(b->s, b->from.at, E_SHAPE,
                    "%s: x has %s, indices %d; axis is %lld. The ranks must be equal",
                    op->name, str_counted(b->s, (size_t)x->ndim, "dim"), t->ndim,
                    (long long)axis);
    *a = (Along){(int)(axis < 0 ? axis + x->ndim : axis), broadcast, x, t};
    for (int k = 0; k < x->ndim; k++)
        if (k != a->axis && dim_is_known(t->dim[k]) && dim_is_known(x->dim[k]) &&
            t->dim[k] > x->dim[k] && !(broadcast && x->dim[k] == 1))
            return fail(
                b->s, b->from.at, E_SHAPE,
                "%s: dim %d of indices has size %lld, but x has only %lld there",
                op->name, k, (long long)t->dim[k], (long long)x->dim[k]);
    return true;
}

/* Do the indices stretch along dim k of x? */
static bool stretches(const Along *a, int k) {
    return a->broadcast && k != a->axis && a->indices->dim[k] == 1 && a->x->dim[k] != 1;
}

/* The dims of what is read or written. */
static void dims_along(const Along *a, Dim *dim) {
    for (int k = 0; k < a->x->ndim; k++)
        dim[k] = (stretches(a, k) ? a->x : a->indices)->dim[k];
}

/* Applies `name`, whose first inputs are lead[0..n), to the index that takes the dim
 * `axis` from indices and every other dim as it is. Dims before and behind all others
 * along which indices stretch are slices, which cost less than arrays. */
static Var apply_along(Builder *b, const Along *a, size_t n, const Var *lead,
                       Var indices, const char *name, const char *reduction) {
    int ndim = a->x->ndim, from = 0, to = ndim;
    while (from < ndim && stretches(a, from))
        from++;
    while (to > from && stretches(a, to - 1))
        to--;
    int64_t slices[MAX_NDIM];
    Var args[2 + MAX_NDIM], inner = indices;
    memcpy(args, lead, n * sizeof *args);
    size_t nargs = n, nslices = 0;
    for (int k = 0; k < ndim; k++)
        if (k < from || k >= to) slices[nslices++] = k;
    PropArg axes = {"axis", PROP_INTS(slices, nslices)};
    if (nslices) inner = apply_named(b, "squeeze", 1, &indices, 1, &axes);
    Str text = STR(b->s);
    bool ok = inner != VAR_NONE;
    for (int k = 0; k < ndim && ok; k++) {
        bool slice = k < from || k >= to;
        str_puts(&text, k ? ", " : "");
        str_puts(&text, slice ? ":" : "$");
        if (slice) continue;
        bool whole = stretches(a, k) || (a->broadcast && a->x->dim[k] == 1);
        args[nargs] = k == a->axis
                          ? inner
                          : own_positions(b, shape_of(b, whole ? lead[0] : indices, k),
                                          k - from, to - from);
        ok = args[nargs++] != VAR_NONE;
    }
    PropArg arg[2] = {{"index", PROP_STR(sym(b->s, str_text(&text)))}};
    if (reduction) arg[1] = (PropArg){"reduction", PROP_STR(sym(b->s, reduction))};
    str_free(&text);
    if (!ok) return VAR_NONE;
    return apply_named(b, name, nargs, args, reduction ? 2 : 1, arg);
}

static bool take_along(Builder *b, const Op *op, const Props *p, const Var *in,
                       bool broadcast, Var *out) {
    Along a;
    if (!check_along(b, op, p, in[0], in[1], broadcast, &a)) return false;
    return (*out = apply_along(b, &a, 1, in, in[1], "subtensor", NULL)) != VAR_NONE;
}

static bool take_along_axis_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                                   const Var *in, Var *out) {
    (void)nin;
    return take_along(b, op, p, in, true, out);
}

static bool gather_elements_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                                   const Var *in, Var *out) {
    (void)nin;
    return take_along(b, op, p, in, false, out);
}

/* The op that writes with this reduction; *fold: its name is a prop of that op. NULL:
 * diagnosed. */
static const char *writer_of(Builder *b, const Op *op, const Props *p,
                             const char **fold) {
    const char *how = sym_text(b->s, op_prop(b->s, op, p, "reduction")->sym);
    *fold = NULL;
    if (strcmp(how, "none") == 0) return "set_subtensor";
    if (strcmp(how, "add") == 0) return "inc_subtensor";
    *fold = how;
    if (strcmp(how, "mul") == 0 || strcmp(how, "max") == 0 || strcmp(how, "min") == 0)
        return "fold_subtensor";
    fail(b->s, b->from.at, E_ARG,
         "%s: reduction must be 'none', 'add', 'mul', 'max' or 'min', not '%s'",
         op->name, how);
    return NULL;
}

/* Do the updates broadcast to that shape? */
static bool check_updates(Builder *b, const Op *op, Var updates, int n,
                          const Dim *dim) {
    const Type *t = var_type(b->g, updates);
    if (t->ndim > n)
        return fail(b->s, b->from.at, E_SHAPE,
                    "%s: updates has %s, but there are only %d to write to", op->name,
                    str_counted(b->s, (size_t)t->ndim, "dim"), n);
    for (int k = 0; k < t->ndim; k++) {
        Dim d = t->dim[k], to = dim[n - t->ndim + k];
        if (d != 1 && !dim_may_equal(d, to))
            return fail(
                b->s, b->from.at, E_SHAPE,
                "%s: dim %d of updates has size %lld, but the part that is written "
                "to has size %lld",
                op->name, k, (long long)d, (long long)to);
    }
    return true;
}

static bool put_along(Builder *b, const Op *op, const Props *p, const Var *in,
                      bool broadcast, const char *writer, const char *fold, Var *out) {
    Along a;
    Dim dim[MAX_NDIM];
    Var lead[2] = {in[0], in[2]};
    if (!check_along(b, op, p, in[0], in[1], broadcast, &a)) return false;
    dims_along(&a, dim);
    if (!check_updates(b, op, in[2], a.x->ndim, dim)) return false;
    return (*out = apply_along(b, &a, 2, lead, in[1], writer, fold)) != VAR_NONE;
}

static bool scatter_elements_expand(Builder *b, const Op *op, const Props *p,
                                    size_t nin, const Var *in, Var *out) {
    (void)nin;
    const char *fold, *writer = writer_of(b, op, p, &fold);
    return writer && put_along(b, op, p, in, false, writer, fold, out);
}

static bool put_along_axis_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                                  const Var *in, Var *out) {
    (void)nin;
    return put_along(b, op, p, in, true, "set_subtensor", NULL, out);
}

/* ---- vectors of indices ---- */
/* The last dim of `indices` lists positions along x's dims from `batch` on; dims before
 * that are shared. */
typedef struct NdIndex {
    int batch, k; /* dims that are shared; dims that are indexed */
    const char *text;
    Var at[MAX_NDIM];
} NdIndex;

static bool nd_index(Builder *b, const Op *op, int batch, Var x, Var indices,
                     NdIndex *nd) {
    const Type *tx = var_type(b->g, x), *t = var_type(b->g, indices);
    Dim k = t->ndim ? t->dim[t->ndim - 1] : 0;
    if (t->ndim == 0 || !dim_is_known(k))
        return fail(
            b->s, b->from.at, E_SHAPE,
            "%s: the last dim of indices must have a known size, as in indices: "
            "int64[n, 2]: it says how many dims of x are indexed",
            op->name);
    if (batch < 0 || batch >= t->ndim || batch > tx->ndim)
        return fail(b->s, b->from.at, E_ARG,
                    "%s: batch_dims is %d, but x has %s and indices %d", op->name,
                    batch, str_counted(b->s, (size_t)tx->ndim, "dim"), t->ndim);
    if (k < 1 || k > tx->ndim - batch)
        return fail(b->s, b->from.at, E_SHAPE,
                    "%s: the last dim of indices has size %lld, but x has %s to index",
                    op->name, (long long)k,
                    str_counted(b->s, (size_t)(tx->ndim - batch), "dim"));
    *nd = (NdIndex){.batch = batch, .k = (int)k};
    for (int i = 0; i < batch; i++) {
        if (!dim_may_equal(tx->dim[i], t->dim[i]))
            return fail(
                b->s, b->from.at, E_SHAPE,
                "%s: dim %d is shared, but x has size %lld there and indices %lld",
                op->name, i, (long long)tx->dim[i], (long long)t->dim[i]);
        nd->at[i] = own_positions(b, shape_of(b, x, i), i, t->ndim - 1);
    }
    Str text = STR(b->s);
    for (int i = 0; i < nd->k; i++) {
        Var of[2] = {indices, const_int(b, i)};
        PropArg arg = {"index", PROP_STR(sym(b->s, "..., $"))};
        nd->at[batch + i] = apply_named(b, "subtensor", 2, of, 1, &arg);
    }
    bool ok = true;
    for (int i = 0; i < batch + nd->k; i++) {
        str_puts(&text, i ? ", $" : "$");
        ok &= nd->at[i] != VAR_NONE;
    }
    nd->text = sym_text(b->s, sym(b->s, str_text(&text)));
    str_free(&text);
    return ok;
}

static bool gather_nd_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                             const Var *in, Var *out) {
    (void)nin;
    NdIndex nd;
    Var args[1 + MAX_NDIM] = {in[0]};
    int64_t batch = prop_int(b->s, op, p, "batch_dims");
    batch = batch < 0 || batch > MAX_NDIM ? -1 : batch;
    if (!nd_index(b, op, (int)batch, in[0], in[1], &nd)) return false;
    size_t n = (size_t)(nd.batch + nd.k);
    memcpy(args + 1, nd.at, n * sizeof *args);
    PropArg arg = {"index", PROP_STR(sym(b->s, nd.text))};
    return (*out = apply_named(b, "subtensor", 1 + n, args, 1, &arg)) != VAR_NONE;
}

static bool scatter_nd_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                              const Var *in, Var *out) {
    (void)nin;
    NdIndex nd;
    const char *fold, *writer = writer_of(b, op, p, &fold);
    Var args[2 + MAX_NDIM] = {in[0], in[2]};
    if (!writer || !nd_index(b, op, 0, in[0], in[1], &nd)) return false;
    const Type *x = var_type(b->g, in[0]), *t = var_type(b->g, in[1]);
    Dim dim[2 * MAX_NDIM];
    int n = t->ndim - 1;
    memcpy(dim, t->dim, (size_t)n * sizeof *dim);
    for (int k = nd.k; k < x->ndim; k++)
        dim[n++] = x->dim[k];
    if (!check_updates(b, op, in[2], n, dim)) return false;
    memcpy(args + 2, nd.at, (size_t)nd.k * sizeof *args);
    PropArg arg[2] = {{"index", PROP_STR(sym(b->s, nd.text))}};
    if (fold) arg[1] = (PropArg){"reduction", PROP_STR(sym(b->s, fold))};
    *out = apply_named(b, writer, 2 + (size_t)nd.k, args, fold ? 2 : 1, arg);
    return *out != VAR_NONE;
}

#define REDUCTIONS                                                                     \
    "reduction: 'none' (the last value written stays), 'add', 'mul', 'max' or 'min', " \
    "which combine x and all that is written to an element; of equal extremes each "   \
    "gets "                                                                            \
    "the whole derivative. A negative index counts from the end."
static const Op table[] = {
    {.name = OP_ROW("take_along_axis"),
     .doc = "r[.., i, ..] = x[.., indices[.., i, ..], ..]: one index for each element, "
            "as argsort returns. The other dims broadcast.",
     .in = "x, indices",
     .props = "axis: int",
     .expand = take_along_axis_expand,
     .disconnected = "indices",
     .example = "take_along_axis([[10, 20], [30, 40]], [[1, 0], [0, 0]], axis=1) -> "
                "[[20, 10], [30, 30]]\n"
                "take_along_axis([[10, 20], [30, 40]], [[1]], axis=0) -> [[30, 40]]"},
    {.name = OP_ROW("gather_elements"),
     .doc = "take_along_axis of the first rows of x where indices have fewer, also "
            "where they have only one: ONNX's, and the gather of PyTorch.",
     .in = "x, indices",
     .props = "axis: int = 0",
     .expand = gather_elements_expand,
     .disconnected = "indices",
     .example = "gather_elements([[10, 20], [30, 40]], [[1]]) -> [[30]]"},
    {.name = OP_ROW("scatter_elements"),
     .doc =
         "x after x[.., indices[.., i, ..], ..] = updates[.., i, ..]: one index along "
         "axis for each update. " REDUCTIONS,
     .in = "x, indices, updates",
     .props = "axis: int = 0, reduction: str = 'none'",
     .expand = scatter_elements_expand,
     .disconnected = "indices",
     .example = "scatter_elements([1, 2, 3], [2, 0], [10, 20]) -> [20, 2, 10]\n"
                "scatter_elements([[1, 2, 3]], [[1, 1]], [[5, 6]], axis=1, "
                "reduction='mul') -> [[1, 60, 3]]"},
    {.name = OP_ROW("put_along_axis"),
     .doc =
         "x after x[.., indices[.., i, ..], ..] = values[.., i, ..]: the values and "
         "the other dims of indices broadcast. NumPy's, but x itself is not changed.",
     .in = "x, indices, values",
     .props = "axis: int",
     .expand = put_along_axis_expand,
     .disconnected = "indices",
     .example =
         "put_along_axis([[10, 20], [30, 40]], [[1], [0]], 0, axis=1) -> [[10, 0], "
         "[0, 40]]"},
    {.name = OP_ROW("gather_nd"),
     .doc =
         "Elements or parts of x, each at a vector of positions along the first dims "
         "of x: the vectors are along the last dim of indices. The first batch_dims "
         "dims of both belong together. A negative position counts from the end.",
     .in = "x, indices",
     .props = "batch_dims: int = 0",
     .expand = gather_nd_expand,
     .disconnected = "indices",
     .example = "gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]) -> [2, 3]\n"
                "gather_nd([[1, 2], [3, 4]], [[1], [0]], batch_dims=1) -> [2, 3]"},
    {.name = OP_ROW("scatter_nd"),
     .doc =
         "x with updates written to the elements or parts that gather_nd(x, indices) "
         "reads. " REDUCTIONS,
     .in = "x, indices, updates",
     .props = "reduction: str = 'none'",
     .expand = scatter_nd_expand,
     .disconnected = "indices",
     .example = "scatter_nd([1, 2, 3, 4], [[3], [1]], [9, 8]) -> [1, 8, 3, 9]\n"
                "scatter_nd([[1, 2], [3, 4]], [[0]], [[5, 0]], reduction='max') -> "
                "[[5, 2], [3, 4]]"},
};
const OpList ops_index_along = LIST_OF(table);
