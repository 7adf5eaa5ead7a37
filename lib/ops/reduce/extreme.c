/* max, min, any, all: reductions that select. */
#include "ops/reduce/reduce.h"
#include "ops/shape/linear.h"
#include "vmap/kit.h"

static bool extreme_type(Infer *in) {
    const Type *x = in->type[0];
    bool flag[MAX_NDIM];
    if (!infer_axes(in, infer_prop(in, "axis"), x->ndim, flag)) return false;
    for (int k = 0; k < x->ndim; k++)
        if (flag[k] && x->dim[k] == 0)
            return infer_fail(in, E_SHAPE, 0, "dim %d is empty: no elements have no %s",
                              k, in->op->name);
    return reduce_out(in, x->dtype);
}

static bool reduce_extreme(Call *c, ReduceKind kind) {
    const Tensor *x = call_in(c, 0);
    bool flag[MAX_NDIM], keepdims;
    reduce_prop_flags(c, flag, &keepdims);
    for (int k = 0; k < x->ndim; k++)
        if (flag[k] && x->shape[k] == 0)
            return call_fail(c, E_RUN_SHAPE, "dim %d is empty: no elements have no %s",
                             k, c->op->name);
    return reduce_call(c, kind, x, flag, keepdims, (ReduceSpec){.finish = reduce_cast});
}

static bool max_perform(Call *c) {
    return reduce_extreme(c, FOLD_MAX);
}

static bool min_perform(Call *c) {
    return reduce_extreme(c, FOLD_MIN);
}

static bool max_debug(Call *c) {
    return reduce_reference(c, FOLD_MAX, 0, false);
}
static bool min_debug(Call *c) {
    return reduce_reference(c, FOLD_MIN, 0, false);
}

/* 1 wherever x equals the extreme of its group (all ties), in x's dtype. */
static Var tie_mask(Builder *b, const Op *op, const Props *props, Var x, Var r) {
    Var wide = reduce_spread(b, r, op, props, x);
    Var is = op_call2(b, "equal", x, wide);
    return op_cast_to(b, is, var_type(b->g, x)->dtype);
}

static bool extreme_pull(Pull *p) {
    if (pull_discrete(p)) return true;
    Var g = reduce_spread(p->b, p->cotangent[0], p->op, p->props, p->in[0]);
    Var is = tie_mask(p->b, p->op, p->props, p->in[0], p->out[0]);
    if (g == VAR_NONE || is == VAR_NONE) return false;
    return (p->grad[0] = op_call2(p->b, "multiply", g, is)) != VAR_NONE;
}

/* The transpose of the pullback: sums the tangents at the ties. */
static bool extreme_push(Push *p) {
    p->result[0] = VAR_NONE;
    if (p->tangent[0] == VAR_NONE ||
        dtype_is_discrete(var_type(p->g, p->out[0])->dtype))
        return true;
    Var is = tie_mask(p->b, p->op, p->props, p->in[0], p->out[0]);
    Var t = op_call2(p->b, "multiply", is, p->tangent[0]);
    if (t == VAR_NONE) return false;
    PropArg arg[2] = {{"axis", *op_prop(p->b->s, p->op, p->props, "axis")},
                      {"keepdims", *op_prop(p->b->s, p->op, p->props, "keepdims")}};
    return (p->result[0] = apply_named(p->b, "sum", 1, &t, 2, arg)) != VAR_NONE;
}

static bool truth_type(Infer *in) {
    return reduce_out(in, DT_BOOL);
}

static bool reduce_truth(Call *c, ReduceKind kind, double empty) {
    bool flag[MAX_NDIM], keepdims;
    reduce_prop_flags(c, flag, &keepdims);
    return reduce_call(c, kind, call_in(c, 0), flag, keepdims,
                       (ReduceSpec){.finish = reduce_cast, .empty = empty});
}

static bool any_perform(Call *c) {
    return reduce_truth(c, FOLD_ANY, 0);
}

static bool all_perform(Call *c) {
    return reduce_truth(c, FOLD_ALL, 1);
}

static bool any_debug(Call *c) {
    return reduce_reference(c, FOLD_ANY, 0, false);
}
static bool all_debug(Call *c) {
    return reduce_reference(c, FOLD_ALL, 0, false);
}

static bool truth_pull(Pull *p) {
    return pull_discrete(p);
}

/* Of bools, what is to be counted is already there; the rest is the definition's. */
static bool count_bools(Builder *b, const Op *op, const Props *p, size_t nin,
                        const Var *in, Var *out) {
    (void)nin;
    PropArg arg[] = {{"axis", *op_prop(b->s, op, p, "axis")},
                     {"keepdims", *op_prop(b->s, op, p, "keepdims")}};
    *out = VAR_NONE;
    return var_type(b->g, in[0])->dtype != DT_BOOL ||
           (*out = apply_named(b, "sum", 1, in, 2, arg)) != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("max"),
     .doc = "Largest element over the given axes (None: all); nan wins. Every tied "
            "maximum receives the gradient. where= and initial= are as in max_where.",
     .alias = "amax",
     RARE(.keywords = "max_where", .streams = reduce_streams, .redo = true),
     .in = "x",
     .props = FOLD_PROPS,
     .kinds = KIND_BOOL | KIND_REAL,
     .type = extreme_type,
     .perform = max_perform,
     .reentrant = true,
     .debug = max_debug,
     .flops = "x.size",
     .pull = extreme_pull,
     .push = extreme_push,
     .vmap = vmap_axes,
     .example = "max([[1, 5], [4, 2]], axis=1) -> [5, 4]\nmax([1.0, nan, 2.0]) -> nan"},
    {.name = OP_ROW("min"),
     .doc = "Smallest element over the given axes (None: all); nan wins. Every tied "
            "minimum receives the gradient. where= and initial= are as in min_where.",
     .alias = "amin",
     RARE(.keywords = "min_where", .streams = reduce_streams, .redo = true),
     .in = "x",
     .props = FOLD_PROPS,
     .kinds = KIND_BOOL | KIND_REAL,
     .type = extreme_type,
     .perform = min_perform,
     .reentrant = true,
     .debug = min_debug,
     .flops = "x.size",
     .pull = extreme_pull,
     .push = extreme_push,
     .vmap = vmap_axes,
     .example = "min([[1, 5], [4, 2]], axis=1) -> [1, 2]"},
    {.name = OP_ROW("any"),
     .doc =
         "True if any element over the given axes is not zero; nan is not zero. where= "
         "is as in any_where.",
     RARE(.keywords = "any_where", .streams = reduce_streams, .redo = true),
     .in = "x",
     .props = FOLD_PROPS,
     .type = truth_type,
     .perform = any_perform,
     .reentrant = true,
     .debug = any_debug,
     .fails = op_never_fails,
     .flops = "x.size",
     .pull = truth_pull,
     .push = push_none,
     .vmap = vmap_axes,
     .example = "any([[0, 1], [0, 0]], axis=1) -> [True, False]"},
    {.name = OP_ROW("all"),
     .doc =
         "True if all elements over the given axes are not zero, or if there are none. "
         "where= is as in all_where.",
     RARE(.keywords = "all_where", .streams = reduce_streams, .redo = true),
     .in = "x",
     .props = FOLD_PROPS,
     .type = truth_type,
     .perform = all_perform,
     .reentrant = true,
     .debug = all_debug,
     .fails = op_never_fails,
     .flops = "x.size",
     .pull = truth_pull,
     .push = push_none,
     .vmap = vmap_axes,
     .example = "all([[1, 1], [0, 1]], axis=1) -> [True, False]"},
    {.name = OP_ROW("count_nonzero"),
     .doc = "How many elements over the given axes are not zero, as int64.",
     .in = "x",
     .props = FOLD_PROPS,
     .expand = count_bools,
     .def = "sum(x != 0, axis=axis, keepdims=keepdims)",
     .example = "count_nonzero([[0, 1], [2, 3]]) -> 3"},
};
const OpList ops_reduce_extreme = LIST_OF(table);
