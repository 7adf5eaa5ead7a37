/* Moves elements along dims: roll (wraps around), shift (fills with zeros), flip (a
 * view through an index). */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "vmap/kit.h"

#include <string.h>

static int64_t wrap_distance(int64_t by, int64_t n) {
    int64_t r = n ? by % n : 0;
    return r < 0 ? r + n : r;
}

/* ---- roll: out[(i + by) mod n] = x[i], for each axis ---- */
static bool roll_type(Infer *in) {
    const Type *x = in->type[0];
    bool flag[MAX_NDIM];
    const Prop *axis = infer_prop(in, "axis");
    size_t n = axis->ints.n;
    int shifts = infer_dims(in, 1, NULL, NULL);
    if (!infer_axes(in, axis, x->ndim, flag)) return false;
    if (shifts < 0 || (shifts != 1 && (size_t)shifts != n))
        return infer_fail(in, E_SHAPE, 1,
                          "expected one shift, or one for each of the %zu axes", n);
    return infer_out_tensor(in, 0, x->dtype, x->ndim, x->dim);
}

/* Copies the boxes between the cuts: along each dim, the part that stays in order and
 * the part that wraps. */
static void roll_boxes(Pool *pool, const Tensor *out, const Tensor *x,
                       const int64_t *by) {
    int moved[MAX_NDIM], n = 0;
    for (int k = 0; k < x->ndim; k++)
        if (by[k]) moved[n++] = k;
    for (uint64_t box = 0; box < (uint64_t)1 << n; box++) {
        Tensor from = *x, to = *out;
        for (int i = 0; i < n; i++) {
            int k = moved[i];
            bool around = box >> i & 1;
            from.shape[k] = around ? by[k] : x->shape[k] - by[k];
            if (around)
                from.data = move_at(&from, (x->shape[k] - by[k]) * x->stride[k]);
            if (!around) to.data = move_at(&to, by[k] * to.stride[k]);
        }
        move_tensor(pool, &to, &from);
    }
}

static bool roll_perform(Call *c) {
    Tensor x = *call_in(c, 0), t = *call_in(c, 1);
    const Prop *axis = op_prop(c->s, c->op, c->props, "axis");
    int64_t by[MAX_NDIM] = {0};
    for (size_t i = 0; i < axis->ints.n; i++) {
        int k = shape_axis_index(axis->ints.p[i], x.ndim);
        int64_t n = x.shape[k],
                v = tensor_i64(&t, tensor_size(&t) == 1 ? 0 : (int64_t)i);
        if (v == INT64_MAX) /* or more: see tensor_index */
            return call_fail(c, E_RUN_SHAPE, "a shift must be less than 2^63 - 1");
        by[k] = wrap_distance(by[k] + wrap_distance(v, n), n);
    }
    Tensor *out = call_out(c, 0, x.ndim, x.shape);
    if (!out) return false;
    if (tensor_size(out)) roll_boxes(move_pool(c), out, &x, by);
    return true;
}

static bool roll_vmap(Vmap *q) {
    const Prop *axis = op_prop(q->b->s, q->op, q->props, "axis");
    int64_t moved[MAX_NDIM];
    if (q->rows[1] || axis->ints.n > MAX_NDIM) return vmap_by_scan(q);
    for (size_t i = 0; i < axis->ints.n; i++)
        moved[i] = shape_axis_index(axis->ints.p[i], vmap_ndim(q, 0)) + 1;
    Prop to = PROP_INTS(moved, axis->ints.n);
    return vmap_apply(q, vmap_replace_prop(q, "axis", to), q->in);
}

/* Without an axis, x is rolled as a flat vector. */
static bool roll_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                        const Var *in, Var *out) {
    (void)nin;
    static const int64_t zero[1] = {0};
    const Prop *axis = op_prop(b->s, op, p, "axis");
    bool flat = axis->kind == P_NONE;
    Var args[2] = {flat ? op_call1(b, "ravel", in[0]) : in[0], in[1]};
    PropArg arg = {"axis", flat ? PROP_INTS(zero, 1) : *axis};
    Var r = apply_named(b, "roll_axes", 2, args, 1, &arg);
    if (flat && r != VAR_NONE) {
        Var shape = shape_vector(b, in[0]);
        r = op_call2(b, "reshape", r, shape);
    }
    return (*out = r) != VAR_NONE;
}

/* ---- shift ---- */
static bool shift_type(Infer *in) {
    const Type *x = in->type[0];
    int axis;
    return infer_axis(in, infer_prop(in, "axis")->i, x->ndim, &axis) &&
           infer_out_tensor(in, 0, x->dtype, x->ndim, x->dim);
}

static bool shift_perform(Call *c) {
    static const char zero[16];
    Tensor x = *call_in(c, 0);
    int k = shape_axis_index(prop_int(c->s, c->op, c->props, "axis"), x.ndim);
    int64_t by = tensor_i64(call_in(c, 1), 0), n = x.shape[k];
    if (by > n) by = n;
    if (by < -n) by = -n;
    Tensor *out = call_out(c, 0, x.ndim, x.shape);
    if (!out) return false;
    size_t item = dtype_size(x.dtype);
    Tensor to = *out, blank = *out;
    int64_t none[MAX_NDIM] = {0}, gap = by < 0 ? -by : by;
    x.shape[k] = to.shape[k] = n - gap;
    if (by > 0) to.data = move_at(&to, gap * to.stride[k]);
    if (by < 0) x.data = move_at(&x, gap * x.stride[k]);
    if (by < 0) blank.data = move_at(&blank, (n - gap) * blank.stride[k]);
    blank.shape[k] = gap;
    move_tensor(move_pool(c), &to, &x);
    move_strided(move_pool(c), item, blank.ndim, blank.shape, blank.data, blank.stride,
                 zero, none);
    return true;
}

static const char *const roll_adjoint[] = {"roll_axes(g, -shift, axis=axis)",
                                           "disconnected"};
static const char *const shift_adjoint[] = {"shift(g, -by, axis=axis)", "disconnected"};

/* ---- flip ---- */
static bool flip_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                        const Var *in, Var *out) {
    (void)nin;
    bool flag[MAX_NDIM];
    const Prop *axis = op_prop(b->s, op, p, "axis");
    int ndim = var_type(b->g, in[0])->ndim;
    for (size_t i = 0; axis->kind == P_INTS && i < axis->ints.n; i++)
        if (axis->ints.p[i] < -ndim || axis->ints.p[i] >= ndim)
            return fail(
                b->s, b->from.at, E_VALUE, "flip: axis %lld is out of range for %s",
                (long long)axis->ints.p[i], str_counted(b->s, (size_t)ndim, "dim"));
    shape_axes_flags(axis, ndim, flag);
    Var args[MAX_NDIM + 1] = {in[0]};
    size_t n = 1;
    Str text = STR(b->s);
    for (int k = 0; k < ndim; k++) {
        str_printf(&text, "%s%s", k ? ", " : "", flag[k] ? "::$" : ":");
        if (flag[k]) args[n++] = const_int(b, -1);
    }
    PropArg arg = {"index", PROP_STR(sym(b->s, str_text(&text)))};
    str_free(&text);
    if (n == 1) return *out = in[0], true;
    return (*out = apply_named(b, "subtensor", n, args, 1, &arg)) != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("roll"),
     .doc = "Elements moved by shift positions along axis; those that leave at the end "
            "come in at the start. Without axis, x is rolled as one vector.",
     .in = "x, shift: ints",
     .props = "axis: axes = None",
     .expand = roll_expand,
     .disconnected = "shift",
     .example = "roll([1, 2, 3, 4], 1) -> [4, 1, 2, 3]\nroll([[1, 2], [3, 4]], 1, "
                "axis=1) -> [[2, 1], [4, 3]]"},
    {.name = OP_ROW("roll_axes"),
     .internal = true,
     .doc = "roll along given axes; roll expands to this.",
     .in = "x, shift: ints",
     .props = "axis: ints",
     .type = roll_type,
     .perform = roll_perform,
     .reentrant = true,
     .flops = "0",
     .adjoint = roll_adjoint,
     .push = push_linear_first,
     .disconnected = "shift",
     .vmap = roll_vmap,
     .example = "roll_axes([1, 2, 3], -1, axis=0) -> [2, 3, 1]"},
    {.name = OP_ROW("shift"),
     .doc = "Elements moved by `by` positions along axis; zeros come in.",
     .in = "x, by: int",
     .props = "axis: axis = 0",
     .type = shift_type,
     .perform = shift_perform,
     .flops = "0",
     .adjoint = shift_adjoint,
     .disconnected = "by",
     .vmap = vmap_axes,
     .example = "shift([1, 2, 3], 1) -> [0, 1, 2]\nshift([1, 2, 3], -2) -> [3, 0, 0]"},
    {.name = OP_ROW("flip"),
     .doc = "x reversed along the given axes (None: all); a view.",
     .in = "x",
     .props = "axis: axes = None",
     .expand = flip_expand,
     .example = "flip([1, 2, 3]) -> [3, 2, 1]"},
};
const OpList ops_shape_roll = LIST_OF(table);
