/* Evaluates integers that are known statically, so that reshape(x, [n, 2 * 3]) has a
 * static shape. It follows a few ops backwards, with limits on depth and steps, since
 * the graph may be arbitrary. */
#include "op/infer.h"

#include <string.h>

/* An integer: known, a dim's name, or neither. */
typedef struct KnownInt {
    bool is_int;
    int64_t v;
    Sym name;
} KnownInt;
static const KnownInt unknown;

typedef struct DimEval {
    const Graph *g;
    unsigned steps;
} DimEval;
enum { MAX_DEPTH = 64, MAX_STEPS = 2000 };

static KnownInt make_known_int(int64_t v) {
    return (KnownInt){.is_int = true, .v = v};
}

static KnownInt known_from_dim(Dim d) {
    if (dim_is_known(d)) return make_known_int(d);
    return dim_is_named(d) ? (KnownInt){.name = dim_sym(d)} : unknown;
}

static KnownInt eval_element(DimEval *e, Var v, int64_t k, int depth);

/* ---- the ops that are followed ---- */

typedef struct DimQuery {
    DimEval *e;
    const Apply *a;
    const Var *in;
    int64_t k; /* the element wanted */
    int depth;
} DimQuery;

static KnownInt eval_input(const DimQuery *p, size_t i, int64_t k) {
    return eval_element(p->e, p->in[i], k, p->depth + 1);
}

static const Type *query_input_type(const DimQuery *p, size_t i) {
    return var_type(p->e->g, p->in[i]);
}

/* An elementwise op's input: a single element is broadcast. */
static KnownInt eval_operand(const DimQuery *p, size_t i) {
    return eval_input(p, i, type_size(query_input_type(p, i)) == 1 ? 0 : p->k);
}

static KnownInt from_stack(const DimQuery *p) {
    return p->k < p->a->nin ? eval_input(p, (size_t)p->k, 0) : unknown;
}

static KnownInt from_concatenate(const DimQuery *p) {
    int64_t k = p->k;
    for (size_t i = 0; i < p->a->nin; i++) {
        Dim n = query_input_type(p, i)->dim[0];
        if (!dim_is_known(n)) return unknown;
        if (k < n) return eval_input(p, i, k);
        k -= n;
    }
    return unknown;
}

static KnownInt from_shape(const DimQuery *p) {
    const Type *t = query_input_type(p, 0);
    return t->kind == TYPE_TENSOR && p->k < t->ndim ? known_from_dim(t->dim[p->k])
                                                    : unknown;
}

static KnownInt from_shape_i(const DimQuery *p) {
    const Type *t = query_input_type(p, 0);
    int64_t axis = prop_int(p->e->g->s, p->a->op, p->a->props, "axis");
    if (axis < 0) axis += t->ndim;
    return t->kind == TYPE_TENSOR && axis >= 0 && axis < t->ndim
               ? known_from_dim(t->dim[axis])
               : unknown;
}

/* x[i] with a constant i. */
static KnownInt from_subtensor(const DimQuery *p) {
    const Graph *g = p->e->g;
    const Type *t = query_input_type(p, 0);
    if (t->ndim != 1 || query_input_type(p, 1)->ndim != 0) return unknown;
    const Prop *index = op_prop(g->s, p->a->op, p->a->props, "index");
    if (strcmp(sym_text(g->s, index->sym), "$") != 0) return unknown;
    KnownInt i = eval_input(p, 1, 0);
    if (i.is_int && i.v < 0 && dim_is_known(t->dim[0])) i.v += t->dim[0];
    if (!i.is_int || i.v < 0) return unknown;
    return eval_input(p, 0, i.v);
}

/* Ops that only change the shape: followed if there is a single element. */
static KnownInt from_same_elements(const DimQuery *p) {
    return type_size(query_input_type(p, 0)) == 1 ? eval_input(p, 0, 0) : unknown;
}

static KnownInt from_identity(const DimQuery *p) {
    return eval_input(p, 0, p->k);
}

static KnownInt from_negative(const DimQuery *p) {
    KnownInt x = eval_operand(p, 0);
    return x.is_int && x.v != INT64_MIN ? make_known_int(-x.v) : unknown;
}

static bool is_known_int(KnownInt x, int64_t v) {
    return x.is_int && x.v == v;
}

static KnownInt from_add(const DimQuery *p) {
    KnownInt x = eval_operand(p, 0), y = eval_operand(p, 1);
    int64_t r;
    if (is_known_int(y, 0)) return x;
    if (is_known_int(x, 0)) return y;
    return x.is_int && y.is_int && !__builtin_add_overflow(x.v, y.v, &r)
               ? make_known_int(r)
               : unknown;
}

static KnownInt from_subtract(const DimQuery *p) {
    KnownInt x = eval_operand(p, 0), y = eval_operand(p, 1);
    int64_t r;
    if (is_known_int(y, 0)) return x;
    if (x.name && x.name == y.name) return make_known_int(0);
    return x.is_int && y.is_int && !__builtin_sub_overflow(x.v, y.v, &r)
               ? make_known_int(r)
               : unknown;
}

static KnownInt from_multiply(const DimQuery *p) {
    KnownInt x = eval_operand(p, 0), y = eval_operand(p, 1);
    int64_t r;
    if (is_known_int(y, 1)) return x;
    if (is_known_int(x, 1)) return y;
    return x.is_int && y.is_int && i64_mul(x.v, y.v, &r) ? make_known_int(r) : unknown;
}

static KnownInt from_floor_divide(const DimQuery *p) {
    KnownInt x = eval_operand(p, 0), y = eval_operand(p, 1);
    if (is_known_int(y, 1)) return x;
    if (!x.is_int || !y.is_int || y.v <= 0) return unknown;
    return make_known_int(x.v / y.v - (x.v % y.v < 0));
}

static KnownInt from_minimum(const DimQuery *p) {
    KnownInt x = eval_operand(p, 0), y = eval_operand(p, 1);
    return x.is_int && y.is_int ? make_known_int(x.v < y.v ? x.v : y.v) : unknown;
}

static KnownInt from_maximum(const DimQuery *p) {
    KnownInt x = eval_operand(p, 0), y = eval_operand(p, 1);
    return x.is_int && y.is_int ? make_known_int(x.v > y.v ? x.v : y.v) : unknown;
}

typedef struct FollowedOp {
    KnownOp op;
    size_t nin; /* 0: any */
    KnownInt (*value)(const DimQuery *p);
} FollowedOp;
static const FollowedOp followed[] = {
    {OP_ADD, 2, from_add},
    {OP_SUBTRACT, 2, from_subtract},
    {OP_MULTIPLY, 2, from_multiply},
    {OP_FLOOR_DIVIDE, 2, from_floor_divide},
    {OP_MINIMUM, 2, from_minimum},
    {OP_MAXIMUM, 2, from_maximum},
    {OP_NEGATIVE, 1, from_negative},
    {OP_STACK, 0, from_stack},
    {OP_CONCATENATE, 0, from_concatenate},
    {OP_SHAPE, 1, from_shape},
    {OP_SHAPE_I, 1, from_shape_i},
    {OP_CAST, 1, from_identity},
    {OP_SUBTENSOR, 2, from_subtensor},
    {OP_EXPAND_DIMS, 1, from_same_elements},
    {OP_SQUEEZE, 1, from_same_elements},
    {OP_RESHAPE, 2, from_same_elements},
};

static KnownInt from_apply(const DimQuery *p) {
    const Op *op = p->a->op;
    if (op->identity) return from_identity(p);
    for (size_t i = 0; i < sizeof followed / sizeof *followed; i++)
        if (op_is(p->e->g->s, op, followed[i].op) &&
            (followed[i].nin == 0 || followed[i].nin == p->a->nin))
            return followed[i].value(p);
    return unknown;
}

static KnownInt known_from_const(const Tensor *t, int64_t k) {
    if (k >= tensor_size(t)) return unknown;
    int64_t v = tensor_i64(t, k);
    return t->dtype == DT_UINT64 && v < 0 ? unknown : make_known_int(v);
}

/* A narrow integer that wrapped around counts as unknown. */
static KnownInt known_if_in_range(KnownInt k, DType d) {
    int64_t lo;
    uint64_t hi;
    if (d == DT_INT64) return k;
    dtype_int_range(d, &lo, &hi);
    return k.is_int && k.v >= lo && (k.v < 0 || (uint64_t)k.v <= hi) ? k : unknown;
}

/* Element k, in row-major order, of an integer variable. */
static KnownInt eval_element(DimEval *e, Var v, int64_t k, int depth) {
    const Type *t = var_type(e->g, v);
    if (depth > MAX_DEPTH || e->steps++ > MAX_STEPS) return unknown;
    if (t->kind != TYPE_TENSOR || !dtype_is_integer(t->dtype) || t->ndim > 1)
        return unknown;
    if (var_leaf(e->g, v) == LEAF_DIM)
        return (KnownInt){.name = var_leafrec(e->g, v)->name};
    if (var_is_const(e->g, v)) return known_from_const(var_const(e->g, v), k);
    ApplyId a = var_owner(e->g, v);
    if (a == APPLY_NONE || e->g->var[v].index != 0) return unknown;
    return known_if_in_range(
        from_apply(&(DimQuery){e, &e->g->apply[a], apply_in(e->g, a), k, depth}),
        t->dtype);
}

/* ---- for typing rules ---- */

bool infer_int(const Infer *in, size_t arg, int64_t *v) {
    DimEval e = {.g = infer_graph(in)};
    if (!e.g || in->type[arg]->kind != TYPE_TENSOR || in->type[arg]->ndim != 0)
        return false;
    KnownInt k = eval_element(&e, in->in[arg], 0, 0);
    if (k.is_int) *v = k.v;
    return k.is_int;
}

static Dim dim_from_known(KnownInt k) {
    if (k.name) return DIM_NAMED(k.name);
    return k.is_int && k.v >= 0 ? k.v : DIM_UNKNOWN;
}

int infer_dims(const Infer *in, size_t arg, Dim *dims, int64_t *raw) {
    const Type *t = in->type[arg];
    if (t->kind != TYPE_TENSOR || t->ndim > 1) return -1;
    int64_t n = t->ndim == 0 ? 1 : t->dim[0];
    if (n < 0 || n > INT32_MAX) return -1;
    for (int64_t i = 0; i < n && i < MAX_NDIM; i++) {
        DimEval e = {.g = infer_graph(in)};
        KnownInt k = e.g ? eval_element(&e, in->in[arg], i, 0) : unknown;
        if (dims) dims[i] = dim_from_known(k);
        if (raw) raw[i] = k.is_int ? k.v : INT64_MIN;
    }
    return (int)n;
}
