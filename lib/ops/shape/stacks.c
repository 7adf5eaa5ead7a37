/* Joining tensors as pictures and tables are joined: hstack, vstack, dstack,
 * column_stack and block; meshgrid. They expand to concatenate, reshape and
 * broadcast_to when a graph is built. */
#include "lang/macro.h"
#include "ops/shape/linear.h"

#include <string.h>

/* ---- hstack, vstack, dstack, column_stack ---- */
static Var with_new_dims(Builder *b, Var x, size_t n, const int64_t *at) {
    PropArg arg = {"axis", PROP_INTS(at, n)};
    return n && x != VAR_NONE ? apply_named(b, "expand_dims", 1, &x, 1, &arg) : x;
}

static Var at_least_3d(Builder *b, Var x) {
    static const int64_t around[] = {0, 1, 2}, sides[] = {0, 2}, behind[] = {2};
    switch (var_type(b->g, x)->ndim) {
    case 0:
        return with_new_dims(b, x, 3, around);
    case 1:
        return with_new_dims(b, x, 2, sides);
    case 2:
        return with_new_dims(b, x, 1, behind);
    default:
        return x;
    }
}

/* Vectors and numbers as columns, the rest as they are. */
static Var as_columns(Builder *b, Var x) {
    static const int64_t both[] = {0, 1}, behind[] = {1};
    int ndim = var_type(b->g, x)->ndim;
    return ndim == 0   ? with_new_dims(b, x, 2, both)
           : ndim == 1 ? with_new_dims(b, x, 1, behind)
                       : x;
}

static Var at_least_1d(Builder *b, Var x) {
    return op_call1(b, "atleast_1d", x);
}

static Var at_least_2d(Builder *b, Var x) {
    return op_call1(b, "atleast_2d", x);
}

/* Each input made by `prepare`, then joined along an axis: -1 is 0 for vectors. */
static bool prepare_and_join(Builder *b, size_t nin, const Var *in,
                             Var (*prepare)(Builder *, Var), int64_t axis, Var *out) {
    Var *part = mem_alloc(b->s, (nin + 1) * sizeof *part);
    bool ok = true;
    for (size_t i = 0; ok && i < nin; i++)
        ok = (part[i] = prepare(b, in[i])) != VAR_NONE;
    if (ok && axis < 0) axis = nin && var_type(b->g, part[0])->ndim > 1;
    PropArg arg = {"axis", PROP_INT(axis)};
    *out = ok ? apply_named(b, "concatenate", nin, part, 1, &arg) : VAR_NONE;
    mem_free(part);
    return *out != VAR_NONE;
}

static bool hstack_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                          const Var *in, Var *out) {
    (void)op, (void)p;
    return prepare_and_join(b, nin, in, at_least_1d, -1, out);
}

static bool vstack_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                          const Var *in, Var *out) {
    (void)op, (void)p;
    return prepare_and_join(b, nin, in, at_least_2d, 0, out);
}

static bool dstack_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                          const Var *in, Var *out) {
    (void)op, (void)p;
    return prepare_and_join(b, nin, in, at_least_3d, 2, out);
}

static bool column_stack_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                                const Var *in, Var *out) {
    (void)op, (void)p;
    return prepare_and_join(b, nin, in, as_columns, 1, out);
}

static bool atleast_3d_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                              const Var *in, Var *out) {
    (void)op, (void)p, (void)nin;
    return (*out = at_least_3d(b, in[0])) != VAR_NONE;
}

/* ---- meshgrid ---- */
typedef struct Grid {
    Compiler *c;
    Builder *b;
    Span at;
    size_t n;
    bool swap; /* the first two dims, as on a page: indexing='xy' */
    Var *x, size[MAX_NDIM];
} Grid;

static bool read_indexing(Compiler *c, const Ast *arg, bool *swap) {
    Node n;
    *swap = true;
    if (!arg) return true;
    if (!compiler_ast(c, arg, &n)) return false;
    Session *s = compiler_builder(c)->s;
    const char *text = n.kind == NODE_STRING ? sym_text(s, n.sym) : "";
    *swap = strcmp(text, "xy") == 0;
    return *swap || strcmp(text, "ij") == 0 ||
           fail(s, arg->at, E_ARG, "indexing must be 'xy' or 'ij'");
}

/* The dim of the results along which vector i lies. */
static size_t grid_axis(const Grid *q, size_t i) {
    return q->swap && q->n > 1 && i < 2 ? 1 - i : i;
}

static bool read_grid_vector(Grid *q, size_t i, const Node *item) {
    if (!compiler_var(q->c, item, DT_NONE, &q->x[i])) return false;
    const Type *t = var_type(q->b->g, q->x[i]);
    if (t->kind != TYPE_TENSOR || t->ndim > 1)
        return fail(q->b->s, item->at, E_SHAPE,
                    "meshgrid takes vectors, each a dim of the grid, not %s",
                    type_str(q->b->s, t));
    q->x[i] = at_least_1d(q->b, q->x[i]);
    Var n = q->x[i] == VAR_NONE ? VAR_NONE : shape_of(q->b, q->x[i], 0);
    q->size[grid_axis(q, i)] = n;
    return n != VAR_NONE;
}

static bool spread_grid_vector(Grid *q, size_t i, Node *out) {
    int64_t at[MAX_NDIM];
    size_t n = 0;
    for (size_t k = 0; k < q->n; k++)
        if (k != grid_axis(q, i)) at[n++] = (int64_t)k;
    Var in[2] = {with_new_dims(q->b, q->x[i], n, at), ints_stack(q->b, q->n, q->size)};
    if (in[0] == VAR_NONE || in[1] == VAR_NONE) return false;
    *out = node_var(apply_named(q->b, "broadcast_to", 2, in, 0, NULL), q->at);
    return out->var != VAR_NONE;
}

/* Arguments: the vectors, indexing. */
static bool meshgrid_expand(Compiler *c, const Ast *call, const Ast *const *arg,
                            Node *out) {
    Node xs, result[MAX_NDIM];
    Grid q = {.c = c, .b = compiler_builder(c), .at = call->at};
    if (!compiler_ast(c, arg[0], &xs) || !read_indexing(c, arg[1], &q.swap))
        return false;
    if (xs.n == 0 || xs.n > MAX_NDIM)
        return fail(q.b->s, call->at, E_ARITY,
                    "meshgrid takes 1 to %d vectors, not %zu", MAX_NDIM, xs.n);
    q.n = xs.n;
    q.x = NEW_N(compiler_arena(c), q.n, Var);
    for (size_t i = 0; i < q.n; i++)
        if (!read_grid_vector(&q, i, &xs.item[i])) return false;
    for (size_t i = 0; i < q.n; i++)
        if (!spread_grid_vector(&q, i, &result[i])) return false;
    return compiler_tuple(c, q.n, result, call->at, out);
}

/* ---- ix_ ---- */

static Var positions_of_true(Builder *b, Var mask) {
    static const int64_t first = 0;
    PropArg arg = {"axis", PROP_INTS(&first, 1)};
    Var rows = apply_named(b, "nonzero", 1, &mask, 0, NULL);
    return rows == VAR_NONE ? rows : apply_named(b, "squeeze", 1, &rows, 1, &arg);
}

/* Index vector i of n, along dim i; a mask stands for the positions where it holds. */
static bool spread_index(Compiler *c, const Node *x, size_t i, size_t n, Node *out) {
    Builder *b = compiler_builder(c);
    int64_t at[MAX_NDIM];
    Var v;
    bool empty = x->kind == NODE_LIST && x->n == 0;
    if (!compiler_var(c, x, empty ? DT_INT64 : DT_NONE, &v)) return false;
    const Type *t = var_type(b->g, v);
    if (t->kind != TYPE_TENSOR || t->ndim != 1 || !dtype_is_discrete(t->dtype))
        return fail(b->s, x->at, E_TYPE,
                    "ix_ takes vectors of integers or bools, one for each dim, not %s",
                    type_str(b->s, t));
    for (size_t k = 0, m = 0; k < n; k++)
        if (k != i) at[m++] = (int64_t)k;
    if (t->dtype == DT_BOOL) v = positions_of_true(b, v);
    if (v == VAR_NONE) return false;
    *out = node_var(with_new_dims(b, v, n - 1, at), x->at);
    return out->var != VAR_NONE;
}

static bool ix_expand(Compiler *c, const Ast *call, const Ast *const *arg, Node *out) {
    Node xs, result[MAX_NDIM];
    if (!compiler_ast(c, arg[0], &xs)) return false;
    if (xs.n == 0 || xs.n > MAX_NDIM)
        return fail(compiler_builder(c)->s, call->at, E_ARITY,
                    "ix_ takes 1 to %d vectors, not %zu", MAX_NDIM, xs.n);
    for (size_t i = 0; i < xs.n; i++)
        if (!spread_index(c, &xs.item[i], i, xs.n, &result[i])) return false;
    return compiler_tuple(c, xs.n, result, call->at, out);
}

/* ---- block ---- */
enum { BLOCK_DEPTH = 8 };

static int list_depth(const Node *n) {
    int d = 0;
    for (; n->kind == NODE_LIST && n->n; n = &n->item[0])
        d++;
    return n->kind == NODE_LIST ? d + 1 : d;
}

/* A tensor of at least `ndim` dims; new ones come first. */
static Var block_part(Compiler *c, const Node *n, int ndim) {
    static const int64_t front[BLOCK_DEPTH] = {0, 1, 2, 3, 4, 5, 6, 7};
    Builder *b = compiler_builder(c);
    Var v;
    if (!compiler_var(c, n, DT_NONE, &v)) return VAR_NONE;
    int missing = ndim - var_type(b->g, v)->ndim;
    return missing > 0 ? with_new_dims(b, v, (size_t)missing, front) : v;
}

/* The blocks of a list `depth` deep, joined along the dim that it stands for, of at
 * least ndim dims. */
static Var join_blocks(Compiler *c, const Node *n, int depth, int ndim) {
    Builder *b = compiler_builder(c);
    if (depth == 0) return block_part(c, n, ndim);
    Var *part = NEW_N(compiler_arena(c), n->n + 1, Var);
    for (size_t i = 0; i < n->n; i++) {
        if (list_depth(&n->item[i]) != depth - 1) {
            fail(b->s, n->item[i].at, E_SHAPE,
                 "block takes lists of equal depth: this one is %d deep, not %d",
                 list_depth(&n->item[i]), depth - 1);
            return VAR_NONE;
        }
        part[i] = join_blocks(c, &n->item[i], depth - 1, ndim);
        if (part[i] == VAR_NONE) return VAR_NONE;
    }
    PropArg arg = {"axis", PROP_INT(-depth)};
    return apply_named(b, "concatenate", n->n, part, 1, &arg);
}

static bool block_expand(Compiler *c, const Ast *call, const Ast *const *arg,
                         Node *out) {
    Node n;
    if (!compiler_ast(c, arg[0], &n)) return false;
    int depth = list_depth(&n);
    if (depth > BLOCK_DEPTH)
        return fail(compiler_builder(c)->s, call->at, E_LIMIT,
                    "block takes lists that are at most %d deep", BLOCK_DEPTH);
    *out = node_var(join_blocks(c, &n, depth, depth), call->at);
    return out->var != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("hstack"),
     .doc = "Tensors side by side: joined along the second dim, vectors and numbers "
            "along the first.",
     .in = "*xs",
     .promote = PROMOTE_SAME,
     .expand = hstack_expand,
     .example = "hstack([[1, 2], [3, 4]]) -> [1, 2, 3, 4]\nhstack([[[1], [2]], [[3], "
                "[4]]]) -> [[1, 3], [2, 4]]"},
    {.name = OP_ROW("vstack"),
     .doc = "Tensors one below the other: joined along the first dim; vectors and "
            "numbers are rows.",
     .in = "*xs",
     .promote = PROMOTE_SAME,
     .expand = vstack_expand,
     .example = "vstack([[1, 2], [3, 4]]) -> [[1, 2], [3, 4]]"},
    {.name = OP_ROW("dstack"),
     .doc = "Tensors one behind the other: joined along the third dim, which "
            "atleast_3d gives to those that lack it.",
     .in = "*xs",
     .promote = PROMOTE_SAME,
     .expand = dstack_expand,
     .example = "dstack([[1, 2], [3, 4]]) -> [[[1, 3], [2, 4]]]"},
    {.name = OP_ROW("column_stack"),
     .doc = "Vectors as the columns of a matrix; matrices give all of theirs.",
     .in = "*xs",
     .promote = PROMOTE_SAME,
     .expand = column_stack_expand,
     .example = "column_stack([[1, 2], [3, 4]]) -> [[1, 3], [2, 4]]"},
    {.name = OP_ROW("atleast_3d"),
     .doc = "x with at least three dims: a vector becomes the second, a matrix the "
            "first two.",
     .in = "x",
     .expand = atleast_3d_expand,
     .example = "atleast_3d([1, 2]) -> [[[1], [2]]]"},
};
const OpList ops_shape_stacks = LIST_OF(table);

static const Macro macros[] = {
    {.name = "meshgrid",
     .doc = "A tuple of the coordinates of the points of a grid, of vectors with the "
            "coordinates along each dim. With indexing='xy' the first vector runs "
            "along the second dim, as on a page; with 'ij' along the first. Views.",
     .signature = "*xs, indexing='xy'",
     .expand = meshgrid_expand,
     .example = "meshgrid([1, 2], [3, 4])[1] -> [[3, 3], [4, 4]]"},
    {.name = "ix_",
     .doc =
         "A tuple of index arrays that broadcast together, of a vector for each dim: "
         "x[ix_(i, j)] is the matrix of the elements of x in the rows i and the "
         "columns "
         "j. A vector of bools stands for the positions where it is true.",
     .signature = "*xs",
     .expand = ix_expand,
     .example = "[[1, 2, 3], [4, 5, 6]][ix_([1, 0], [0, 2])] -> [[4, 6], [1, 3]]"},
    {.name = "block",
     .doc = "A tensor of blocks in nested lists: the innermost lists are joined along "
            "the last dim, those around them along the dim before.",
     .signature = "blocks",
     .expand = block_expand,
     .example =
         "block([[eye(1), eye(1)], [zeros((1, 2))]]) -> [[1.0, 1.0], [0.0, 0.0]]"},
};
const MacroList macros_shape_stacks = LIST_OF(macros);
