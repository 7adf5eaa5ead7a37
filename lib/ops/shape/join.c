/* concatenate and stack; and split, the inverse of concatenate, whose outputs are
 * views. */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "value/object.h"
#include "vmap/kit.h"

#include <string.h>

/* ---- concatenate ---- */
static bool same_ranks(Infer *in) {
    if (in->nin == 0)
        return infer_fail(in, E_ARITY, in->nin, "at least one tensor is needed");
    for (size_t i = 1; i < in->nin; i++)
        if (in->type[i]->ndim != in->type[0]->ndim)
            return infer_fail(
                in, E_SHAPE, i,
                "it has %s, but the first has %d: all must have the same number",
                str_counted(in->s, (size_t)in->type[i]->ndim, "dim"),
                in->type[0]->ndim);
    return true;
}

/* Dim k, which must be equal in all inputs. */
static bool common_dim(Infer *in, int k, Dim *d) {
    *d = in->type[0]->dim[k];
    for (size_t i = 1; i < in->nin; i++) {
        Dim next = in->type[i]->dim[k];
        if (!dim_may_equal(*d, next))
            return infer_fail(
                in, E_SHAPE, i,
                "dim %d has size %lld, but that of the others has size %lld", k,
                (long long)next, (long long)*d);
        *d = dim_meet(*d, next);
    }
    return true;
}

static bool sum_of_dims(Infer *in, int axis, Dim *sum) {
    Dim n = 0, other = 0;
    for (size_t i = 0; i < in->nin; i++) {
        Dim d = in->type[i]->dim[axis];
        if (!dim_is_known(d))
            other = other == 0 ? d : DIM_UNKNOWN;
        else if (!dim_add(n, d, &n))
            return infer_fail(in, E_VALUE, i, "dim %d of the result is too large",
                              axis);
    }
    *sum = other == 0 ? n : n == 0 ? other : DIM_UNKNOWN;
    return true;
}

static bool concatenate_type(Infer *in) {
    int axis;
    if (!same_ranks(in)) return false;
    const Type *x = in->type[0];
    if (x->ndim == 0)
        return infer_fail(in, E_SHAPE, 0,
                          "0-d tensors can't be joined along a dim: use stack");
    if (!infer_axis(in, infer_prop(in, "axis")->i, x->ndim, &axis)) return false;
    Dim dim[MAX_NDIM];
    for (int k = 0; k < x->ndim; k++)
        if (k == axis ? !sum_of_dims(in, axis, &dim[k]) : !common_dim(in, k, &dim[k]))
            return false;
    return infer_out_tensor(in, 0, x->dtype, x->ndim, dim);
}

/* Is the part the elements of `out` from `at` on? */
static bool is_there(const Tensor *out, const char *at, const Tensor *part) {
    bool there = part->data == at;
    for (int k = 0; there && k < part->ndim; k++)
        there = part->shape[k] == 1 || part->stride[k] == out->stride[k];
    return there;
}

/* ---- the same again ---- */

enum { REDO_PARTS = 4, REDO_BYTES = 1 << 12 };

/* Rows of adjacent bytes, or else any elements. */
typedef struct JoinPart {
    Tensor from;
    int64_t rows, at, step; /* in the result: bytes to the first row, to the next */
    size_t bytes;           /* of a row; 0: elements that aren't adjacent */
} JoinPart;
typedef struct JoinRedo {
    Tensor out;
    size_t n, item;
    JoinPart part[REDO_PARTS];
} JoinRedo;

static void run_redo(void *how, const void *const *in, void *const *out) {
    const JoinRedo *r = how;
    for (size_t i = 0; i < r->n; i++) {
        const JoinPart *p = &r->part[i];
        const char *from = in[i];
        char *to = (char *)out[0] + p->at;
        if (from == to || p->rows == 0) continue; /* it was made there */
        if (p->bytes == 0)
            move_strided(NULL, r->item, r->out.ndim, p->from.shape, to, r->out.stride,
                         from, p->from.stride);
        for (int64_t k = 0; p->bytes && k < p->rows; k++, to += p->step)
            memcpy(to, from + k * (int64_t)p->bytes, p->bytes);
    }
}

static JoinPart redo_part(const Tensor *out, int axis, const Tensor *part, int64_t at) {
    JoinPart p = {.from = *part, .at = at, .rows = tensor_size(part) > 0};
    if (!tensor_is_contiguous(part)) return p;
    p.bytes = dtype_size(out->dtype);
    for (int k = 0; k < out->ndim; k++)
        if (k < axis)
            p.rows *= part->shape[k];
        else
            p.bytes *= (size_t)part->shape[k];
    p.step = axis ? out->stride[axis - 1] : 0;
    return p;
}

/* For a few small parts. */
static void offer_redo(Call *c, const Tensor *out, int axis, const Tensor *part) {
    if (!c->redo || c->nin > REDO_PARTS || tensor_bytes(out) > REDO_BYTES) return;
    JoinRedo *r = mem_alloc(c->s, sizeof *r);
    int64_t at = 0;
    *r = (JoinRedo){.out = *out, .n = c->nin, .item = dtype_size(out->dtype)};
    for (size_t i = 0; i < c->nin; i++) {
        r->part[i] = redo_part(out, axis, &part[i], at);
        at += part[i].shape[axis] * out->stride[axis];
    }
    *c->redo = (Redo){run_redo, r};
}

/* Writes the parts, which have the dims of the result, one after the other along the
 * axis. */
static void join_parts(Call *c, const Tensor *out, int axis, const Tensor *part) {
    size_t item = dtype_size(out->dtype);
    char *at = out->data;
    if (join_by_rows(move_pool(c), c->s, out, axis, c->nin, part)) return;
    for (size_t i = 0; i < c->nin; i++) {
        if (tensor_size(&part[i]) && !is_there(out, at, &part[i]))
            move_strided(move_pool(c), item, out->ndim, part[i].shape, at, out->stride,
                         part[i].data, part[i].stride);
        at += part[i].shape[axis] * out->stride[axis];
    }
}

static bool concatenate_perform(Call *c) {
    const Tensor *x = call_in(c, 0);
    int axis = shape_axis_index(prop_int(c->s, c->op, c->props, "axis"), x->ndim),
        ndim = x->ndim;
    int64_t shape[MAX_NDIM];
    memcpy(shape, x->shape, sizeof shape);
    for (size_t i = 1; i < c->nin; i++) {
        const Tensor *t = call_in(c, i);
        for (int k = 0; k < ndim; k++)
            if (k != axis && t->shape[k] != shape[k])
                return call_fail(c, E_RUN_SHAPE,
                                 "dim %d of tensor %zu has size %lld, but that of the "
                                 "first has size %lld",
                                 k, i, (long long)t->shape[k], (long long)shape[k]);
        if (!dim_add(shape[axis], t->shape[axis], &shape[axis]))
            return call_fail(c, E_LIMIT, "dim %d of the result is too large", axis);
    }
    Tensor *out = call_out(c, 0, ndim, shape);
    if (!out) return false;
    Tensor *part = mem_alloc(c->s, c->nin * sizeof *part);
    for (size_t i = 0; i < c->nin; i++)
        part[i] = *call_in(c, i);
    join_parts(c, out, axis, part);
    offer_redo(c, out, axis, part);
    mem_free(part);
    return true;
}

static Var add_sizes(Builder *b, Var x, Var y) {
    const Tensor *s = x == VAR_NONE ? NULL : var_const(b->g, x),
                 *t = y == VAR_NONE ? NULL : var_const(b->g, y);
    return s && t ? const_int(b, tensor_i64(s, 0) + tensor_i64(t, 0))
                  : op_call2(b, "add", x, y);
}

static bool split_once(Builder *b, Var x, int axis, size_t n, const Var *size,
                       Var *part) {
    Var *cut = mem_alloc(b->s, n * sizeof *cut);
    for (size_t i = 0; i + 1 < n; i++)
        cut[i] = i == 0 ? size[0] : add_sizes(b, cut[i - 1], size[i]);
    Var in[2] = {x, ints_stack(b, n - 1, cut)};
    mem_free(cut);
    const Op *split = op_known(b->s, OP_SPLIT);
    PropArg arg = {"axis", PROP_INT(axis)};
    return in[1] != VAR_NONE &&
           op_apply(b, split, props_make(b->s, split, 1, &arg), 2, in, part);
}

/* Any number of parts, while a split gives OUT_MAX at most: parts of parts. */
static bool split_by_sizes(Builder *b, Var x, int axis, size_t n, const Var *size,
                           Var *part) {
    if (n == 1) return part[0] = x, true;
    if (n <= OUT_MAX) return split_once(b, x, axis, n, size, part);
    size_t groups = (n - 1) / OUT_MAX + 1;
    Var *total = mem_alloc(b->s, 2 * groups * sizeof *total), *group = total + groups;
    for (size_t i = 0; i < n; i++) {
        Var *t = &total[i / OUT_MAX];
        *t = i % OUT_MAX == 0 ? size[i] : add_sizes(b, *t, size[i]);
    }
    bool ok = split_by_sizes(b, x, axis, groups, total, group);
    for (size_t k = 0; ok && k < groups; k++) {
        size_t from = k * OUT_MAX, left = n - from;
        ok = split_by_sizes(b, group[k], axis, left < OUT_MAX ? left : OUT_MAX,
                            size + from, part + from);
    }
    mem_free(total);
    return ok;
}

/* Splits the gradient where the inputs meet. */
static bool concatenate_pull(Pull *p) {
    if (pull_discrete(p)) return true;
    Builder *b = p->b;
    const Type *x = var_type(p->g, p->in[0]);
    int axis = shape_axis_index(prop_int(b->s, p->op, p->props, "axis"), x->ndim);
    Var *size = mem_alloc(b->s, p->nin * sizeof *size);
    bool ok = true;
    for (size_t i = 0; ok && i < p->nin; i++)
        ok = (size[i] = shape_of(b, p->in[i], axis)) != VAR_NONE;
    ok = ok && split_by_sizes(b, p->cotangent[0], axis, p->nin, size, p->grad);
    mem_free(size);
    /* A dim that is 1 by type must become 1 again: it may have been broadcast. */
    for (size_t i = 0; ok && i < p->nin; i++)
        ok = (p->grad[i] = sum_to_shape(b, p->grad[i], p->in[i])) != VAR_NONE;
    return ok;
}

/* ---- stack ---- */
static bool stack_type(Infer *in) {
    int axis;
    if (!same_ranks(in)) return false;
    const Type *x = in->type[0];
    if (!infer_ndim(in, x->ndim + 1)) return false;
    if (!infer_axis(in, infer_prop(in, "axis")->i, x->ndim + 1, &axis)) return false;
    Dim dim[MAX_NDIM];
    for (int k = 0, to = 0; to <= x->ndim; to++)
        if (to == axis)
            dim[to] = (Dim)in->nin;
        else if (!common_dim(in, k++, &dim[to]))
            return false;
    return infer_out_tensor(in, 0, x->dtype, x->ndim + 1, dim);
}

static bool stack_fails(const Graph *g, ApplyId a) {
    const Type *x = var_type(g, apply_in(g, a)[0]);
    bool known = true;
    for (int k = 0; k < x->ndim; k++)
        for (size_t i = 0; i < g->apply[a].nin; i++)
            known &= x->dim[k] != DIM_UNKNOWN &&
                     var_type(g, apply_in(g, a)[i])->dim[k] == x->dim[k];
    return !known;
}

/* The same elements with a dim of size 1. */
static Tensor with_axis(const Tensor *t, int axis) {
    Tensor v = *t;
    for (int k = v.ndim++; k > axis; k--) {
        v.shape[k] = t->shape[k - 1];
        v.stride[k] = t->stride[k - 1];
    }
    v.shape[axis] = 1;
    v.stride[axis] = (int64_t)dtype_size(t->dtype);
    return v;
}

static bool stack_perform(Call *c) {
    const Tensor *x = call_in(c, 0);
    int ndim = x->ndim,
        axis = shape_axis_index(prop_int(c->s, c->op, c->props, "axis"), ndim + 1);
    int64_t shape[MAX_NDIM];
    for (int k = 0, i = 0; k <= ndim; k++)
        shape[k] = k == axis ? (int64_t)c->nin : x->shape[i++];
    for (size_t i = 1; i < c->nin; i++)
        if (!tensor_same_shape(x, call_in(c, i)))
            return call_fail(c, E_RUN_SHAPE,
                             "tensor %zu has a different shape than the first", i);
    Tensor *out = call_out(c, 0, ndim + 1, shape);
    if (!out) return false;
    Tensor *part = mem_alloc(c->s, c->nin * sizeof *part);
    for (size_t i = 0; i < c->nin; i++)
        part[i] = with_axis(call_in(c, i), axis);
    join_parts(c, out, axis, part);
    offer_redo(c, out, axis, part);
    mem_free(part);
    return true;
}

static Var pick_at_axis(Builder *b, Var x, int axis, int64_t i) {
    PropArg arg = index_at_axis(b->s, axis);
    Var in[2] = {x, const_int(b, i)};
    return apply_named(b, "subtensor", 2, in, 1, &arg);
}

static bool stack_pull(Pull *p) {
    if (pull_discrete(p)) return true;
    Var g = p->cotangent[0];
    int axis = shape_axis_index(prop_int(p->b->s, p->op, p->props, "axis"),
                                var_type(p->g, p->out[0])->ndim);
    for (size_t i = 0; i < p->nin; i++) {
        p->grad[i] = GRAD_DISCONNECTED;
        if (p->wanted[i] &&
            (p->grad[i] = pick_at_axis(p->b, g, axis, (int64_t)i)) == VAR_NONE)
            return false;
    }
    return true;
}

/* ---- the same for a list, whose length is known only at run time ---- */
static const Type *tensor_items(Infer *in) {
    const Type *t = in->type[0]->elem;
    if (t->kind == TYPE_TENSOR) return t;
    infer_fail(in, E_TYPE, 0, "the items of the list must be tensors, not %s",
               type_str(in->s, t));
    return NULL;
}

static bool list_concatenate_type(Infer *in) {
    const Type *x = tensor_items(in);
    int axis;
    if (!x) return false;
    if (x->ndim == 0)
        return infer_fail(in, E_SHAPE, 0,
                          "0-d items can't be joined along a dim: use stack");
    if (!infer_axis(in, infer_prop(in, "axis")->i, x->ndim, &axis)) return false;
    Dim dim[MAX_NDIM];
    for (int k = 0; k < x->ndim; k++)
        dim[k] = k == axis ? DIM_UNKNOWN : x->dim[k];
    return infer_out_tensor(in, 0, x->dtype, x->ndim, dim);
}

static bool list_stack_type(Infer *in) {
    const Type *x = tensor_items(in);
    int axis;
    if (!x) return false;
    if (!infer_ndim(in, x->ndim + 1)) return false;
    if (!infer_axis(in, infer_prop(in, "axis")->i, x->ndim + 1, &axis)) return false;
    Dim dim[MAX_NDIM];
    for (int k = 0, to = 0; to <= x->ndim; to++)
        dim[to] = to == axis ? DIM_UNKNOWN : x->dim[k++];
    return infer_out_tensor(in, 0, x->dtype, x->ndim + 1, dim);
}

/* Calls `join` with the list's items as inputs. */
static bool join_items(Call *c, bool (*join)(Call *c)) {
    const ListObject *list = c->in[0]->obj;
    if (list->n == 0)
        return call_fail(c, E_RUN_SHAPE, "the list is empty: there is nothing to join");
    const Value **item = mem_alloc(c->s, list->n * sizeof *item);
    for (size_t i = 0; i < list->n; i++)
        item[i] = &list->item[i];
    Call each = *c;
    each.nin = list->n;
    each.in = item;
    bool ok = join(&each);
    mem_free((void *)item);
    return ok;
}
static bool list_concatenate_perform(Call *c) {
    return join_items(c, concatenate_perform);
}
static bool list_stack_perform(Call *c) {
    return join_items(c, stack_perform);
}

#define WHY                                                                            \
    "derivatives do not pass through lists: give the tensors themselves, as in "       \
    "stack([x, y])"
static const char *const through_list[] = {"undefined('" WHY "')"};
static bool list_join_push(Push *p) {
    p->result[0] = grad_undefined(p->b, WHY);
    return p->result[0] != VAR_NONE;
}

/* The items have one more leading dim. */
static bool list_axes_vmap(Vmap *q) {
    int axis = shape_axis_index(prop_int(q->b->s, q->op, q->props, "axis"),
                                var_type(q->g, q->g->apply[q->id].out)->ndim);
    return vmap_apply(q, vmap_replace_prop(q, "axis", PROP_INT(axis + 1)), q->in);
}

/* ---- split ---- */
/* Splits a dim into a number of equal parts, or at given positions. */
static bool split_type(Infer *in) {
    const Type *x = in->type[0], *t = in->type[1];
    int axis;
    int64_t parts = 0;
    if (!infer_axis(in, infer_prop(in, "axis")->i, x->ndim, &axis) ||
        !infer_want_rank(in, 1, 0, 1) || !infer_want_kinds(in, 1, KIND_INT))
        return false;
    bool equal = t->ndim == 0;
    if (equal && (!infer_int(in, 1, &parts) || parts < 1))
        return infer_fail(in, E_VALUE, 1,
                          "the number of parts must be a constant of at least 1");
    if (!equal && !dim_is_known(t->dim[0]))
        return infer_fail(
            in, E_SHAPE, 1,
            "the number of cuts must be known: give a list, or declare how many there "
            "are, as in s: int64[2]");
    if (!equal) parts = t->dim[0] < OUT_MAX ? t->dim[0] + 1 : OUT_MAX + 1;
    if (parts > OUT_MAX)
        return infer_fail(in, E_VALUE, 1, "there are at most %d parts", OUT_MAX);
    Dim dim[MAX_NDIM], n = x->dim[axis], cut[OUT_MAX + 1] = {0};
    memcpy(dim, x->dim, (size_t)x->ndim * sizeof *dim);
    const Tensor *known = var_const(infer_graph(in), in->in[1]);
    if (equal && dim_is_known(n) && n % parts) {
        infer_fail(in, E_SHAPE, 1, "size %lld can't be divided into %lld equal parts",
                   (long long)n, (long long)parts);
        note(in->s, NOWHERE,
             "a number is how many parts, not their size: array_split has parts that "
             "differ by one, and split(x, [i, j]) cuts at positions");
        return false;
    }
    for (int64_t i = 0; !equal && known && dim_is_known(n) && i < parts - 1; i++)
        cut[i + 1] = slice_clamp(tensor_index(known, i), n, 0, n);
    cut[parts] = n;
    in->nout = (size_t)parts;
    for (int64_t i = 0; i < parts; i++) {
        dim[axis] = DIM_UNKNOWN;
        if (equal && dim_is_known(n)) dim[axis] = n / parts;
        if (!equal && known && dim_is_known(n))
            dim[axis] = cut[i + 1] > cut[i] ? cut[i + 1] - cut[i] : 0;
        if (parts == 1) dim[axis] = n;
        if (!infer_out_tensor(in, (size_t)i, x->dtype, x->ndim, dim)) return false;
    }
    return true;
}

static bool split_perform(Call *c) {
    Tensor x = *call_in(c, 0), t = *call_in(c, 1);
    int axis = shape_axis_index(prop_int(c->s, c->op, c->props, "axis"), x.ndim);
    int64_t n = x.shape[axis], parts = (int64_t)c->nout, from = 0;
    if (t.ndim == 0 && n % parts)
        return call_fail(c, E_RUN_SHAPE,
                         "size %lld can't be divided into %lld equal parts",
                         (long long)n, (long long)parts);
    for (int64_t i = 0; i < parts; i++) {
        int64_t to = t.ndim == 0      ? (i + 1) * (n / parts)
                     : i == parts - 1 ? n
                                      : slice_clamp(tensor_index(&t, i), n, 0, n);
        Tensor *v = call_view(c, (size_t)i, call_in(c, 0));
        if (!v) return false;
        v->dtype = x.dtype;
        v->ndim = x.ndim;
        memcpy(v->shape, x.shape, sizeof v->shape);
        memcpy(v->stride, x.stride, sizeof v->stride);
        v->shape[axis] = to > from ? to - from : 0;
        v->data = v->shape[axis] ? move_at(&x, from * x.stride[axis]) : x.data;
        from = to;
    }
    return true;
}

static int split_views(const Graph *g, ApplyId a, size_t out) {
    (void)g, (void)a, (void)out;
    return 0;
}

static bool split_pull(Pull *p) {
    p->grad[1] = GRAD_DISCONNECTED;
    if (pull_discrete(p)) return true;
    Var *part = mem_alloc(p->b->s, p->nout * sizeof *part);
    for (size_t i = 0; i < p->nout; i++)
        part[i] = p->cotangent[i] == VAR_NONE ? op_float_zeros(p->b, p->out[i])
                                              : p->cotangent[i];
    int axis = shape_axis_index(prop_int(p->b->s, p->op, p->props, "axis"),
                                var_type(p->g, p->in[0])->ndim);
    PropArg arg = {"axis", PROP_INT(axis)};
    p->grad[0] = apply_named(p->b, "concatenate", p->nout, part, 1, &arg);
    mem_free(part);
    return p->grad[0] != VAR_NONE;
}

static bool split_vmap(Vmap *q) {
    int axis =
        shape_axis_index(prop_int(q->b->s, q->op, q->props, "axis"), vmap_ndim(q, 0));
    if (q->rows[1]) return vmap_by_scan(q);
    return vmap_apply(q, vmap_replace_prop(q, "axis", PROP_INT(axis + 1)), q->in);
}

/* ---- array_split ---- */
/* The first n % parts of the parts have one element more than the others. */
static Var uneven_cuts(Builder *b, Var n, int64_t parts) {
    int64_t at[OUT_MAX];
    for (int64_t i = 1; i < parts; i++)
        at[i - 1] = i;
    bool ok = true;
    Bind bind[] = {{sym(b->s, "n"), n},
                   {sym(b->s, "k"), const_int(b, parts)},
                   {sym(b->s, "i"), const_ints(b, (size_t)parts - 1, at)}};
    Var cuts = template_build(b, "n // k * i + minimum(i, n % k)",
                              &(Env){.n = 3, .bind = bind}, &ok);
    return ok ? cuts : VAR_NONE;
}

static Var known_cuts(Builder *b, int64_t n, int64_t parts) {
    int64_t cut[OUT_MAX];
    for (int64_t i = 1; i < parts; i++)
        cut[i - 1] = n / parts * i + (i < n % parts ? i : n % parts);
    return const_ints(b, (size_t)parts - 1, cut);
}

static bool array_split_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                               const Var *in, Var *out) {
    (void)nin;
    const Type *x = var_type(b->g, in[0]), *t = var_type(b->g, in[1]);
    const Tensor *known = var_const(b->g, in[1]);
    int64_t axis = prop_int(b->s, op, p, "axis");
    PropArg arg = {"axis", PROP_INT(axis)};
    Var to[2] = {in[0], in[1]};
    if (t->ndim == 0 && known && dtype_is_integer(t->dtype) && axis >= -x->ndim &&
        axis < x->ndim) {
        int64_t parts = tensor_index(known, 0);
        int k = shape_axis_index(axis, x->ndim);
        if (parts < 1 || parts > OUT_MAX)
            return fail(b->s, b->from.at, E_VALUE,
                        "%s: the number of parts must be from 1 to %d, not %lld",
                        op->name, OUT_MAX, (long long)parts);
        to[1] = dim_is_known(x->dim[k]) ? known_cuts(b, x->dim[k], parts)
                                        : uneven_cuts(b, shape_of(b, in[0], k), parts);
        if (to[1] == VAR_NONE) return false;
    }
    const Op *split = op_known(b->s, OP_SPLIT);
    return op_apply(b, split, props_make(b->s, split, 1, &arg), 2, to, out);
}

static const Op table[] = {
    {.name = OP_ROW("concatenate"),
     .doc = "Tensors joined along an existing dim.",
     .in = "*xs",
     .props = "axis: axis = 0",
     RARE(.list = "list_concatenate", .redo = true),
     .promote = PROMOTE_SAME,
     .type = concatenate_type,
     .perform = concatenate_perform,
     .reentrant = true,
     .flops = "0",
     .pull = concatenate_pull,
     .push = push_linear_all,
     .vmap = vmap_axes,
     .example =
         "concatenate([[[1, 2]], [[3, 4]]]) -> [[1, 2], [3, 4]]\nconcatenate([[[1], "
         "[2]], [[3], [4]]], axis=1) -> [[1, 3], [2, 4]]"},
    {.name = OP_ROW("stack"),
     .doc = "Tensors of equal shape joined along a new dim.",
     .in = "*xs",
     .props = "axis: axis = 0",
     RARE(.list = "list_stack", .redo = true),
     .promote = PROMOTE_SAME,
     .type = stack_type,
     .perform = stack_perform,
     .reentrant = true,
     .fails = stack_fails,
     .flops = "0",
     .pull = stack_pull,
     .push = push_linear_all,
     .vmap = vmap_axes,
     .example = "stack([[1, 2], [3, 4]], axis=1) -> [[1, 3], [2, 4]]"},
    {.name = OP_ROW("list_concatenate"),
     .doc = "The items of the list x, tensors, joined along an existing dim. "
            "concatenate(x) is the same.",
     .in = "x: list",
     .props = "axis: axis = 0",
     .type = list_concatenate_type,
     .perform = list_concatenate_perform,
     .flops = "0",
     .adjoint = through_list,
     .push = list_join_push,
     .vmap = list_axes_vmap,
     .example =
         "concatenate(list_reverse(make_list([1., 2.], [3.]))) -> [3.0, 1.0, 2.0]"},
    {.name = OP_ROW("list_stack"),
     .doc = "The items of the list x, tensors of equal shape, joined along a new dim. "
            "stack(x) is the same.",
     .in = "x: list",
     .props = "axis: axis = 0",
     .type = list_stack_type,
     .perform = list_stack_perform,
     .flops = "0",
     .adjoint = through_list,
     .push = list_join_push,
     .vmap = list_axes_vmap,
     .example = "stack(list_reverse(make_list(1, 2))) -> [2, 1]"},
    {.name = OP_ROW("split"),
     .varies = true,
     .doc = "x cut along a dim: into equal parts if a number is given, otherwise at "
            "the given positions. The parts are views.",
     .in = "x, indices_or_sections",
     .props = "axis: axis = 0",
     .type = split_type,
     .perform = split_perform,
     .flops = "0",
     .pull = split_pull,
     .push = push_linear_first,
     .disconnected = "indices_or_sections",
     .view = 1,
     RARE(.views = split_views),
     .vmap = split_vmap,
     .example = "split([1, 2, 3, 4], 2) -> [1, 2], [3, 4]\nsplit([1, 2, 3, 4], [1]) -> "
                "[1], [2, 3, 4]"},
    {.name = OP_ROW("array_split"),
     .varies = true,
     .doc =
         "x cut along a dim into a number of parts that need not be equal: the first "
         "ones have an element more. At given positions as split. The parts are "
         "views.",
     .in = "x, indices_or_sections",
     .props = "axis: axis = 0",
     .expand = array_split_expand,
     .example = "array_split([1, 2, 3, 4, 5], 3) -> [1, 2], [3, 4], [5]"},
};
const OpList ops_shape_join = LIST_OF(table);
