/* Expresses shapes of results by shapes of inputs, and uses operands before they are
 * broadcast. */
#include "rewrite/rewrite_impl.h"

#include <string.h>

enum { LIFT_STEPS = 64 };

/* ---- where a dim comes from ---- */

/* A dim of some variable: shape_i(v, axis), traced one step towards the inputs. */
typedef struct DimSource {
    Var v;
    int axis;
    Var size; /* or the size itself; v is then VAR_NONE */
} DimSource;

/* The operand of an elementwise Apply that has this dim of the result. */
static bool through_elemwise(Rewriter *r, const Apply *a, DimSource *p) {
    int ndim = var_type(r->g, a->out)->ndim;
    for (size_t i = 0; i < a->nin; i++) {
        Var v = rewriter_resolve(r, r->g->in[a->in + i]);
        const Type *t = var_type(r->g, v);
        int axis = p->axis - (ndim - t->ndim);
        if (axis < 0 || t->dim[axis] == 1) continue;
        *p = (DimSource){v, axis, VAR_NONE};
        return true;
    }
    return false;
}

static bool through_transpose(Rewriter *r, const Apply *a, DimSource *p) {
    int ndim = var_type(r->g, a->out)->ndim;
    const Prop *axes = rewriter_prop(r, a, "axes");
    int64_t k = axes->kind == P_INTS ? axes->ints.p[p->axis] : ndim - 1 - p->axis;
    *p = (DimSource){rewriter_resolve(r, r->g->in[a->in]), (int)(k < 0 ? k + ndim : k),
                     VAR_NONE};
    return true;
}

/* An element of a constant shape argument. */
static bool through_constant(Rewriter *r, const Tensor *shape, DimSource *p) {
    if (shape->ndim != 1 || !dtype_is_integer(shape->dtype)) return false;
    if (p->axis >= shape->shape[0] || tensor_i64(shape, p->axis) < 0) return false;
    *p = (DimSource){VAR_NONE, 0, const_int(&r->b, tensor_i64(shape, p->axis))};
    rewriter_grow(r);
    return true;
}

/* Is it certainly a size that some value has, or at most that? Other integers may turn
 * out negative, where the op that is given them fails or, as a reshape with -1, takes
 * them for something else; and a sum or a product of sizes may wrap. */
static bool is_some_size(Rewriter *r, Var v) {
    int64_t c;
    for (int steps = 0; steps < LIFT_STEPS; steps++) {
        if (rewriter_int_const(r, v, &c)) return c >= 0;
        ApplyId id = var_owner(r->g, v);
        if (id == APPLY_NONE) return var_leaf(r->g, v) == LEAF_DIM;
        const Apply *a = &r->g->apply[id];
        if (rw_is(r, a, OP_SHAPE_I)) return true;
        if (rw_is(r, a, OP_SUBTENSOR))
            return rewriter_known_owner(r, rewriter_input(r, id, 0), OP_SHAPE) != NULL;
        bool least = rewriter_int_const(r, rewriter_input(r, id, a->nin - 1U), &c) &&
                     (rw_is(r, a, OP_MAXIMUM) ? c >= 0 : c > 0);
        if (least && rw_is(r, a, OP_MAXIMUM)) return true;
        if (!least || !rw_is(r, a, OP_FLOOR_DIVIDE)) return false;
        v = rewriter_input(r, id, 0);
    }
    return false;
}

/* An element of a shape that is a stack: of one that an op promises, or of one that it
 * is given. */
static bool through_stack(Rewriter *r, Var shape, bool given, DimSource *p) {
    const Tensor *constant = var_const(r->g, shape);
    if (constant) return through_constant(r, constant, p);
    const Apply *whole = rewriter_known_owner(r, shape, OP_SHAPE);
    if (whole) {
        Var x = rewriter_resolve(r, r->g->in[whole->in]);
        const Type *t = var_type(r->g, x);
        bool has = t->kind == TYPE_TENSOR && p->axis < t->ndim;
        if (has) *p = (DimSource){x, p->axis, VAR_NONE};
        return has;
    }
    const Apply *stack = rewriter_known_owner(r, shape, OP_STACK);
    if (!stack || p->axis >= stack->nin) return false;
    Var size = rewriter_resolve(r, r->g->in[stack->in + (size_t)p->axis]);
    int64_t c;
    if (var_type(r->g, size)->ndim != 0 || (rewriter_int_const(r, size, &c) && c < 0) ||
        (given && !is_some_size(r, size)))
        return false;
    *p = (DimSource){VAR_NONE, 0, size};
    return true;
}

static bool through_reduction(Rewriter *r, const Apply *a, DimSource *p) {
    Var x = rewriter_resolve(r, r->g->in[a->in]);
    const Prop *axis = rewriter_prop(r, a, "axis");
    if (var_type(r->g, x)->ndim == var_type(r->g, a->out)->ndim) {
        *p = (DimSource){x, p->axis, VAR_NONE}; /* kept dims are known to be 1 */
        return true;
    }
    if (axis->kind != P_INTS) return false;
    bool taken[MAX_NDIM] = {false};
    int ndim = var_type(r->g, x)->ndim;
    for (size_t i = 0; i < axis->ints.n; i++)
        taken[axis->ints.p[i] < 0 ? axis->ints.p[i] + ndim : axis->ints.p[i]] = true;
    for (int i = 0, left = p->axis; i < ndim; i++)
        if (!taken[i] && left-- == 0) return *p = (DimSource){x, i, VAR_NONE}, true;
    return false;
}

/* Rows are those of the left operand, columns those of the right one; dims before them
 * are those of the only operand that has some. */
static bool through_matmul(Rewriter *r, const Apply *a, DimSource *p) {
    Var x = rewriter_resolve(r, r->g->in[a->in]),
        y = rewriter_resolve(r, r->g->in[a->in + 1]);
    int nx = var_type(r->g, x)->ndim, ny = var_type(r->g, y)->ndim,
        end = var_type(r->g, a->out)->ndim, columns = ny > 1, rows = nx > 1;
    if (columns && p->axis == end - 1)
        *p = (DimSource){y, ny - 1, VAR_NONE};
    else if (rows && p->axis == end - columns - 1)
        *p = (DimSource){x, nx - 2, VAR_NONE};
    else if (ny <= 2 || nx <= 2)
        *p = (DimSource){nx > 2 ? x : y, p->axis, VAR_NONE};
    else
        return false;
    return true;
}

/* The sum of the parts' sizes, or the size of each. */
static bool through_concatenate(Rewriter *r, const Apply *a, DimSource *p) {
    enum { PARTS = 8 };
    Var part[PARTS];
    const Prop *axis = rewriter_prop(r, a, "axis");
    size_t n = a->nin;
    if (n > PARTS) return false;
    for (size_t i = 0; i < n; i++)
        part[i] = rewriter_resolve(r, r->g->in[a->in + i]);
    int ndim = var_type(r->g, part[0])->ndim;
    if (p->axis != (axis->i < 0 ? axis->i + ndim : axis->i)) {
        p->v = part[0];
        return true;
    }
    Var sum = shape_of(&r->b, part[0], p->axis);
    for (size_t i = 1; i < n && sum != VAR_NONE; i++) {
        Var pair[2] = {sum, shape_of(&r->b, part[i], p->axis)};
        rewriter_grow(r);
        sum = rewriter_apply(r, op_known(r->s, OP_ADD), NULL, 2, pair);
    }
    rewriter_grow(r);
    *p = (DimSource){VAR_NONE, 0, sum};
    return sum != VAR_NONE;
}

static bool trace_dim_one_step(Rewriter *r, const Apply *a, DimSource *p) {
    static const KnownOp like[] = {OP_ZEROS_LIKE, OP_ONES_LIKE, OP_FULL_LIKE,
                                   OP_SET_SUBTENSOR, OP_INC_SUBTENSOR};
    static const KnownOp reductions[] = {OP_SUM, OP_PROD, OP_MAX, OP_MIN,
                                         OP_ANY, OP_ALL,  OP_MEAN};
    if (a->op->elemwise) return through_elemwise(r, a, p);
    for (size_t i = 0; i < sizeof like / sizeof *like; i++)
        if (rw_is(r, a, like[i]))
            return p->v = rewriter_resolve(r, r->g->in[a->in]), true;
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (rw_is(r, a, reductions[i])) return through_reduction(r, a, p);
    if (rw_is(r, a, OP_TRANSPOSE)) return through_transpose(r, a, p);
    if (rw_is(r, a, OP_MATMUL)) return through_matmul(r, a, p);
    if (rw_is(r, a, OP_CONCATENATE)) return through_concatenate(r, a, p);
    if (rw_is(r, a, OP_FULL))
        return through_stack(r, rewriter_input(r, var_owner(r->g, a->out), 0), true, p);
    if (rw_is(r, a, OP_BROADCAST_TO) || rw_is(r, a, OP_RESHAPE))
        return through_stack(r, rewriter_input(r, var_owner(r->g, a->out), 1), true, p);
    return false;
}

/* An op's shape formula must agree with its types: a mismatch is diagnosed. */
static Var wrong_shape(Rewriter *r, Var v, const char *what) {
    ApplyId id = var_owner(r->g, v);
    fail(r->s, r->g->origin[id].at, E_PLUGIN, "%s: the shape that it infers %s",
         r->g->apply[id].op->name, what);
    note(r->s, NOWHERE, "output %u is %s", (unsigned)r->g->var[v].index,
         type_str(r->s, var_type(r->g, v)));
    r->failed = true;
    return VAR_NONE;
}

static bool is_size_scalar(Rewriter *r, Var v) {
    const Type *t = var_type(r->g, v);
    return t->kind == TYPE_TENSOR && t->ndim == 0 && dtype_is_integer(t->dtype);
}

/* The op's own formula for its shape. */
static Var size_by_formula(Rewriter *r, Var v, int axis) {
    ApplyId id = var_owner(r->g, v);
    const Apply *a = &r->g->apply[id];
    if (!op_rare(a->op)->shape || r->g->var[v].index != 0) return VAR_NONE;
    bool ok = true;
    size_t mark = diag_count(r->s);
    Var shape =
        template_build_apply(&r->b, op_rare(a->op)->shape, r->g, id, VAR_NONE, &ok);
    rewriter_grow(r);
    if (!ok || shape == VAR_NONE) {
        rewriter_forget(r, mark);
        return VAR_NONE;
    }
    const Type *t = var_type(r->g, shape);
    if (t->kind != TYPE_TENSOR || !dtype_is_integer(t->dtype))
        return wrong_shape(r, v, "is not made of integers");
    if (t->ndim != 1 || !dim_may_equal(t->dim[0], var_type(r->g, v)->ndim))
        return wrong_shape(r, v, "has another number of dims");
    DimSource p = {VAR_NONE, axis, VAR_NONE};
    return through_stack(r, shape, false, &p) ? p.size : VAR_NONE;
}

/* The dims of an Apply's inputs as variables, for infer_shape. */
static const Var *const *input_shapes(Rewriter *r, Arena *tmp, size_t nin,
                                      const Var *in) {
    const Var **shape = NEW_N(tmp, nin, const Var *);
    for (size_t i = 0; i < nin; i++) {
        const Type *t = var_type(r->g, in[i]);
        if (t->kind != TYPE_TENSOR) continue;
        Var *dim = NEW_N(tmp, (size_t)t->ndim + 1, Var);
        for (int k = 0; k < t->ndim; k++)
            dim[k] = shape_of(&r->b, in[i], k);
        shape[i] = dim;
    }
    return shape;
}

static ShapeOf ask_shape(Rewriter *r, Arena *tmp, ApplyId id) {
    Apply a = r->g->apply[id];
    Var *in = arena_copy(tmp, apply_in(r->g, id), a.nin * sizeof *in);
    for (size_t i = 0; i < a.nin; i++)
        in[i] = rewriter_resolve(r, in[i]);
    ShapeOf q = {.b = &r->b, .g = r->g, .id = id, .op = a.op, .props = a.props};
    q.nin = a.nin;
    q.nout = a.nout;
    q.in = in;
    q.in_shape = input_shapes(r, tmp, a.nin, in);
    q.out_shape = NEW_N(tmp, a.nout, Var *);
    for (size_t k = 0; k < a.nout; k++) {
        size_t ndim = (size_t)var_type(r->g, a.out + (Var)k)->ndim;
        q.out_shape[k] = NEW_N(tmp, ndim + 1, Var);
        for (size_t i = 0; i <= ndim; i++)
            q.out_shape[k][i] = VAR_NONE;
    }
    return q;
}

/* The same, using the op's C function. */
static Var size_by_function(Rewriter *r, Var v, int axis) {
    ApplyId id = var_owner(r->g, v);
    const Op *op = r->g->apply[id].op;
    if (!op_rare(op)->infer_shape) return VAR_NONE;
    Arena *tmp = arena_new(r->s);
    size_t mark = diag_count(r->s), ndim = (size_t)var_type(r->g, v)->ndim,
           known_dims = 0;
    ShapeOf q = ask_shape(r, tmp, id);
    bool ok = !diag_failed(r->s, mark) && op_rare(op)->infer_shape(&q) &&
              !diag_failed(r->s, mark), /* a dim may lack for want of memory */
        sizes = true;
    rewriter_grow(r);
    const Var *dim = q.out_shape[r->g->var[v].index];
    for (size_t i = 0; ok && i <= ndim; i++)
        if (dim[i] != VAR_NONE) {
            known_dims++;
            sizes &= is_size_scalar(r, rewriter_resolve(r, dim[i]));
        }
    Var size = ok && known_dims ? dim[axis] : VAR_NONE;
    if (!ok && diag_failed(r->s, mark)) r->failed = true;
    if (known_dims && known_dims != ndim)
        size = wrong_shape(r, v, "has another number of dims");
    if (known_dims == ndim && !sizes)
        size = wrong_shape(r, v, "is not made of integers");
    arena_free(tmp);
    return size;
}

static Var size_by_op(Rewriter *r, Var v, int axis) {
    Var size = size_by_formula(r, v, axis);
    return size != VAR_NONE || r->failed ? size : size_by_function(r, v, axis);
}

/* shape_i(v, axis) without v, or VAR_NONE. */
static Var lift_dim(Rewriter *r, Var v, int axis) {
    DimSource p = {v, axis, VAR_NONE};
    for (int steps = 0; steps < LIFT_STEPS; steps++) {
        const Type *t = var_type(r->g, p.v);
        if (t->kind != TYPE_TENSOR) return VAR_NONE;
        ApplyId a = var_owner(r->g, p.v);
        if (t->dim[p.axis] != DIM_UNKNOWN || a == APPLY_NONE)
            return p.v == v && a == APPLY_NONE && t->dim[p.axis] == DIM_UNKNOWN
                       ? VAR_NONE
                       : shape_of(&r->b, p.v, p.axis);
        Var before = p.v;
        if (!trace_dim_one_step(r, &r->g->apply[a], &p)) {
            Var size = size_by_op(r, before, p.axis);
            if (r->failed) return VAR_NONE;
            if (size != VAR_NONE) return size;
            return before == v ? VAR_NONE : shape_of(&r->b, before, p.axis);
        }
        if (p.v == VAR_NONE) return p.size;
    }
    return VAR_NONE;
}

Var rewriter_lift_shape(Rewriter *r, Var v, int axis) {
    Var size = lift_dim(r, v, axis);
    rewriter_grow(r);
    return size;
}

/* shape(x) becomes a stack when every dim is known or can be lifted. */
static bool lift_all_dims(Rewriter *r, ApplyId id, Var *out) {
    Var x = rewriter_input(r, id, 0), dim[MAX_NDIM];
    const Type *t = var_type(r->g, x);
    if (t->kind != TYPE_TENSOR || t->ndim == 0) return false;
    for (int i = 0; i < t->ndim; i++) {
        dim[i] = t->dim[i] != DIM_UNKNOWN ? shape_of(&r->b, x, i) : lift_dim(r, x, i);
        rewriter_grow(r);
        if (dim[i] == VAR_NONE) return false;
    }
    out[0] = rewriter_apply(r, op_known(r->s, OP_STACK), NULL, (size_t)t->ndim, dim);
    return out[0] != VAR_NONE;
}

bool shape_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply *a = &r->g->apply[id];
    if (rw_is(r, a, OP_SHAPE)) return lift_all_dims(r, id, out);
    const Prop *axis = rewriter_prop(r, a, "axis");
    Var x = rewriter_input(r, id, 0);
    int ndim = var_type(r->g, x)->ndim;
    out[0] = lift_dim(r, x, (int)(axis->i < 0 ? axis->i + ndim : axis->i));
    rewriter_grow(r);
    return out[0] != VAR_NONE;
}

/* ---- zeros_like(exp(x)) ---- */

/* An operand that has the shape of the elementwise result v, by its type too. */
static Var operand_like(Rewriter *r, Var v) {
    ApplyId id = var_owner(r->g, v);
    const Apply a = r->g->apply[id];
    const Type *t = var_type(r->g, v);
    for (size_t i = 0; i < a.nin; i++) {
        Var x = rewriter_input(r, id, i);
        const Type *of = var_type(r->g, x);
        bool like = of->kind == TYPE_TENSOR && of->ndim == t->ndim;
        for (int k = 0; like && k < t->ndim; k++)
            like = of->dim[k] == t->dim[k];
        if (like) return x;
    }
    return VAR_NONE;
}

/* All dims of v without v, as the shape of a tensor; VAR_NONE: not known. */
static Var lifted_shape(Rewriter *r, Var v) {
    const Type *t = var_type(r->g, v);
    Var dim[MAX_NDIM];
    for (int k = 0; k < t->ndim; k++) {
        dim[k] = t->dim[k] != DIM_UNKNOWN ? shape_of(&r->b, v, k) : lift_dim(r, v, k);
        rewriter_grow(r);
        if (dim[k] == VAR_NONE) return VAR_NONE;
    }
    return rewriter_apply(r, op_known(r->s, OP_STACK), NULL, (size_t)t->ndim, dim);
}

/* Is it only a view of what may be computed anyway? */
static bool is_view(Rewriter *r, const Apply *a) {
    static const KnownOp views[] = {OP_SUBTENSOR, OP_TRANSPOSE,   OP_RESHAPE,
                                    OP_SQUEEZE,   OP_EXPAND_DIMS, OP_BROADCAST_TO};
    bool any = false;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        any |= rw_is(r, a, views[i]);
    return any;
}

bool shape_like_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    const Type *t = var_type(r->g, a.out);
    Var x = rewriter_input(r, id, 0), in[2];
    ApplyId of = var_owner(r->g, x);
    if (of == APPLY_NONE || var_type(r->g, x)->kind != TYPE_TENSOR || t->ndim == 0 ||
        !rewriter_one_client(r, x) || is_view(r, &r->g->apply[of]) ||
        op_may_fail(r->g, of))
        return false;
    bool ones = rw_is(r, &a, OP_ONES_LIKE);
    in[1] = a.nin > 1 ? rewriter_input(r, id, 1) : VAR_NONE;
    in[0] = r->g->apply[of].op->elemwise ? operand_like(r, x) : VAR_NONE;
    if (in[0] != VAR_NONE) {
        Prop dtype = {.kind = P_DTYPE, .i = t->dtype};
        out[0] = rewriter_with_prop(r, &a, "dtype", dtype, a.nin, in);
    } else {
        in[0] = lifted_shape(r, x);
        if (in[0] == VAR_NONE) return false;
        if (a.nin == 1) in[1] = const_number(&r->b, t->dtype, ones);
        in[1] = op_cast_to(&r->b, in[1], t->dtype);
        rewriter_grow(r);
        out[0] = rewriter_apply(r, op_known(r->s, OP_FULL), NULL, 2, in);
    }
    return out[0] != VAR_NONE && type_keeps(t, var_type(r->g, out[0]));
}

/* ---- elements of shapes ---- */

bool shape_read_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply *a = &r->g->apply[id];
    int64_t k;
    if (a->nin != 2 ||
        strcmp(sym_text(r->s, rewriter_prop(r, a, "index")->sym), "$") != 0 ||
        !rewriter_int_const(r, rewriter_input(r, id, 1), &k))
        return false;
    Var x = rewriter_input(r, id, 0);
    const Apply *stack = rewriter_known_owner(r, x, OP_STACK),
                *shape = rewriter_known_owner(r, x, OP_SHAPE);
    Var of = shape ? rewriter_resolve(r, r->g->in[shape->in]) : VAR_NONE;
    int64_t n = stack ? stack->nin : shape ? var_type(r->g, of)->ndim : 0;
    if (k < 0) k += n;
    if (k < 0 || k >= n) return false;
    if (stack && var_type(r->g, x)->ndim != 1)
        return false; /* rows may differ in shape */
    out[0] = stack ? rewriter_resolve(r, r->g->in[stack->in + (size_t)k])
                   : shape_of(&r->b, of, (int)k);
    rewriter_grow(r);
    return out[0] != VAR_NONE &&
           type_keeps(var_type(r->g, r->g->apply[id].out), var_type(r->g, out[0]));
}

/* ---- broadcast operands ---- */

static Var first_element_const(Rewriter *r, Var v) {
    Tensor one = *var_const(r->g, v);
    one.ndim = 0;
    return graph_const(r->g, &one, true);
}

/* The only element of what is repeated and then gets or loses dims of size 1. */
static Var repeated_element(Rewriter *r, Var v) {
    Var y = rewriter_repeated_value(r, v);
    if (y == VAR_NONE || var_type(r->g, y)->ndim == 0) return y;
    return var_is_const(r->g, y) && type_size(var_type(r->g, y)) == 1
               ? first_element_const(r, y)
               : VAR_NONE;
}

Var rewriter_repeated_value(Rewriter *r, Var v) {
    ApplyId id = var_owner(r->g, v);
    DType d = var_type(r->g, v)->dtype;
    if (rewriter_uniform(r, v) && var_type(r->g, v)->ndim > 0)
        return first_element_const(r, v);
    if (id == APPLY_NONE) return VAR_NONE;
    const Apply *a = &r->g->apply[id];
    if (rw_is(r, a, OP_BROADCAST_TO)) return rewriter_input(r, id, 0);
    if (rw_is(r, a, OP_ZEROS_LIKE)) return const_number(&r->b, d, 0);
    if (rw_is(r, a, OP_ONES_LIKE)) return const_number(&r->b, d, 1);
    if (rw_is(r, a, OP_EXPAND_DIMS) || rw_is(r, a, OP_SQUEEZE))
        return repeated_element(r, rewriter_input(r, id, 0));
    if (!rw_is(r, a, OP_FULL) && !rw_is(r, a, OP_FULL_LIKE)) return VAR_NONE;
    Var value = rewriter_input(r, id, 1);
    if (var_type(r->g, value)->ndim != 0) return VAR_NONE;
    return op_cast_to(&r->b, value, d);
}

Var rewriter_size(Rewriter *r, Var v, int axis) {
    Var size = rewriter_lift_shape(r, v, axis);
    if (size == VAR_NONE) size = shape_of(&r->b, v, axis);
    rewriter_grow(r);
    return size;
}

/* Has v, whose dims no type tells, the size of y along each axis? Of what is repeated
 * to y's own shape, as gradients of sums are. */
static bool has_shape_of(Rewriter *r, Var v, Var y) {
    const Type *t = var_type(r->g, v), *to = var_type(r->g, y);
    if (y == v || t->kind != TYPE_TENSOR || to->kind != TYPE_TENSOR ||
        t->ndim != to->ndim)
        return false;
    for (int k = 0; k < t->ndim; k++)
        if ((t->dim[k] == DIM_UNKNOWN || t->dim[k] != to->dim[k]) &&
            rewriter_size(r, v, k) != rewriter_size(r, y, k))
            return false;
    return true;
}

/* Does no dim of the result of `id`, nor a check of one, need operand i? */
static bool fits_others(Rewriter *r, ApplyId id, size_t i) {
    const Apply a = r->g->apply[id];
    Var x = rewriter_input(r, id, i);
    if (rewrite_dims_fit(var_type(r->g, x), var_type(r->g, a.out))) return true;
    static const KnownOp repeats[] = {OP_BROADCAST_TO, OP_FULL, OP_FULL_LIKE,
                                      OP_ZEROS_LIKE, OP_ONES_LIKE};
    bool is_repeated = false;
    for (size_t k = 0; k < sizeof repeats / sizeof *repeats; k++)
        is_repeated |= rewriter_known_owner(r, x, repeats[k]) != NULL;
    for (size_t k = 0; is_repeated && k < a.nin; k++)
        if (has_shape_of(r, x, rewriter_input(r, id, k))) return true;
    return false;
}

/* One operand is broadcast and another one has the result's shape: without the
 * broadcast the result is the same, and types or sizes prove that no check is lost. */
static bool sink_operand(Rewriter *r, ApplyId id, size_t i, Var *out) {
    Apply a = r->g->apply[id];
    const Type *to = var_type(r->g, a.out);
    Var x = rewriter_input(r, id, i);
    if (!fits_others(r, id, i)) return false;
    Var y = rewriter_repeated_value(r, x), in[8];
    rewriter_grow(r);
    if (y == VAR_NONE || y == x) return false;
    for (size_t k = 0; k < a.nin; k++)
        in[k] = k == i ? y : rewriter_input(r, id, k);
    const Type *type[OUT_MAX];
    size_t mark = diag_count(r->s);
    size_t n = op_infer(r->g, a.op, a.props, (VarList){a.nin, in}, NOWHERE, type);
    diag_rewind(r->s, mark);
    if (n != 1 || type[0] != to) return false;
    out[0] = rewriter_apply(r, a.op, a.props, a.nin, in);
    return out[0] != VAR_NONE;
}

/* All operands are broadcast to one shape, or are scalars: broadcast the result
 * instead. */
static bool sink_all_operands(Rewriter *r, ApplyId id, Var *out) {
    Apply a = r->g->apply[id];
    Var in[8], shape = VAR_NONE;
    for (size_t k = 0; k < a.nin; k++) {
        in[k] = rewriter_input(r, id, k);
        const Apply *b = rewriter_known_owner(r, in[k], OP_BROADCAST_TO);
        if (!b && var_type(r->g, in[k])->ndim == 0) continue;
        if (!b) return false;
        Var s = rewriter_resolve(r, r->g->in[b->in + 1]);
        if (shape != VAR_NONE && shape != s) return false;
        shape = s;
        in[k] = rewriter_resolve(r, r->g->in[b->in]);
    }
    if (shape == VAR_NONE) return false;
    Var pair[] = {rewriter_apply(r, a.op, a.props, a.nin, in), shape};
    if (pair[0] == VAR_NONE) return false;
    out[0] = rewriter_apply(r, op_known(r->s, OP_BROADCAST_TO), NULL, 2, pair);
    return out[0] != VAR_NONE &&
           type_keeps(var_type(r->g, a.out), var_type(r->g, out[0]));
}

/* Without what repeats operands, the result is smaller: that is repeated instead. */
static bool sink_smaller(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    const Type *to = var_type(r->g, a.out), *type[OUT_MAX];
    Var in[8];
    bool any = false;
    for (size_t k = 0; k < a.nin; k++) {
        Var x = rewriter_input(r, id, k), y = rewriter_repeated_value(r, x);
        rewriter_grow(r);
        if (!rewrite_dims_fit(var_type(r->g, x), to)) return false;
        in[k] = y == VAR_NONE ? x : y;
        any |= in[k] != x;
    }
    size_t mark = diag_count(r->s);
    size_t n =
        any ? op_infer(r->g, a.op, a.props, (VarList){a.nin, in}, NOWHERE, type) : 0;
    diag_rewind(r->s, mark);
    if (n != 1 || type[0] == to || !rewrite_dims_fit(type[0], to)) return false;
    Var v = rewriter_apply(r, a.op, a.props, a.nin, in);
    if (v != VAR_NONE) v = rewriter_fit(r, v, to);
    rewriter_grow(r);
    return (out[0] = v) != VAR_NONE && var_type(r->g, v) == to;
}

/* May rewriter_repeated_value find one? Most constants are single numbers. */
static bool may_repeat(Rewriter *r, Var v) {
    static const KnownOp repeats[] = {OP_BROADCAST_TO, OP_ZEROS_LIKE, OP_ONES_LIKE,
                                      OP_EXPAND_DIMS,  OP_SQUEEZE,    OP_FULL,
                                      OP_FULL_LIKE};
    ApplyId id = var_owner(r->g, v);
    bool may = var_is_const(r->g, v) && var_type(r->g, v)->ndim > 0;
    for (size_t k = 0; id != APPLY_NONE && k < sizeof repeats / sizeof *repeats; k++)
        may |= rw_is(r, &r->g->apply[id], repeats[k]);
    return may;
}

bool sink_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply *a = &r->g->apply[id];
    bool any = false;
    if (!a->op->elemwise || a->nin > 8 || a->nout != 1) return false;
    for (size_t i = 0; i < a->nin; i++)
        any |= may_repeat(r, rewriter_input(r, id, i));
    if (!any) return false;
    if (sink_all_operands(r, id, out)) return true;
    for (size_t i = 0; i < r->g->apply[id].nin && r->g->apply[id].nin > 1; i++)
        if (sink_operand(r, id, i, out)) return true;
    if (sink_smaller(r, id, out)) return true;
    return false;
}
