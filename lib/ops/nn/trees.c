/* tree_leaves: where rows of features end in decision trees. */
#include "op/infer.h"
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "vmap/kit.h"

#include <math.h>
#include <string.h>

enum { X, FEATURE, THRESHOLD, YES, NO, MISSING, ROOT };

/* ---- typing ---- */

static bool leaves_type(Infer *in) {
    Dim dim[MAX_NDIM], meet = infer_in_dim(in, FEATURE, 0);
    const Type *x = in->type[X];
    if (!infer_want_rank(in, X, 1, -1) || !infer_want_kinds(in, X, KIND_REAL) ||
        !infer_want_kinds(in, THRESHOLD, KIND_REAL) ||
        !infer_want_kinds(in, MISSING, KIND_BOOL))
        return false;
    for (size_t i = THRESHOLD; i < ROOT; i++)
        if (!infer_want_rank(in, i, 1, 1) ||
            !infer_want_dims_equal(in, FEATURE, 0, i, 0, &meet))
            return false;
    for (int k = 0; k < x->ndim - 1; k++)
        dim[k] = x->dim[k];
    dim[x->ndim - 1] = infer_in_dim(in, ROOT, 0);
    return infer_out_tensor(in, 0, DT_INT64, x->ndim, dim);
}

static bool leaves_shape(ShapeOf *q) {
    int last = var_type(q->g, q->in[X])->ndim - 1;
    for (int k = 0; k < last; k++)
        q->out_shape[0][k] = q->in_shape[X][k];
    q->out_shape[0][last] = q->in_shape[ROOT][0];
    return true;
}

/* ---- the trees ---- */

/* A leaf leads to itself. */
typedef struct TreeNode {
    double threshold;
    int32_t feature, yes, no, missing;
} TreeNode;
typedef struct Trees {
    TreeNode *node;
    int32_t *root, *height; /* height: of a node, the steps to its lowest leaf */
    int64_t nnode, ntree, features, rows;
    const Tensor *x;
    int64_t *out, per_block;
    double *block; /* per_block rows for each worker */
} Trees;

static bool fail_node(Call *c, int64_t i, const char *what, int64_t v, int64_t from,
                      int64_t below) {
    return call_fail(c, E_INDEX,
                     "%s of node %lld is %lld, which is not in [%lld, %lld)", what,
                     (long long)i, (long long)v, (long long)from, (long long)below);
}

/* Children come after their parents, so that every way has an end. */
static bool find_branches(Call *c, const Trees *t, int64_t i, int64_t *feature,
                          int64_t *yes, int64_t *no) {
    *feature = tensor_i64(call_in(c, FEATURE), i);
    *yes = *no = i;
    if (*feature < 0) return true;
    if (*feature >= t->features)
        return fail_node(c, i, "the feature", *feature, 0, t->features);
    *yes = tensor_i64(call_in(c, YES), i), *no = tensor_i64(call_in(c, NO), i);
    if (*yes <= i || *yes >= t->nnode)
        return fail_node(c, i, "the branch yes", *yes, i + 1, t->nnode);
    if (*no <= i || *no >= t->nnode)
        return fail_node(c, i, "the branch no", *no, i + 1, t->nnode);
    return true;
}

static bool read_node(Call *c, Trees *t, int64_t i) {
    int64_t feature, yes, no;
    if (!find_branches(c, t, i, &feature, &yes, &no)) return false;
    t->node[i] = (TreeNode){.threshold = tensor_f64(call_in(c, THRESHOLD), i),
                            .feature = feature < 0 ? 0 : (int32_t)feature,
                            .missing = tensor_i64(call_in(c, MISSING), i) != 0,
                            .yes = (int32_t)yes,
                            .no = (int32_t)no};
    return true;
}

static bool read_root(Call *c, const Trees *t, int64_t i, int64_t *root) {
    *root = tensor_i64(call_in(c, ROOT), i);
    return (*root >= 0 && *root < t->nnode) ||
           call_fail(c, E_INDEX, "root %lld is %lld, but there are %lld nodes",
                     (long long)i, (long long)*root, (long long)t->nnode);
}

static bool read_trees(Call *c, Trees *t) {
    for (int64_t i = 0; i < t->nnode; i++)
        if (!read_node(c, t, i)) return false;
    for (int64_t i = t->nnode; i-- > 0;) {
        const TreeNode *n = &t->node[i];
        if (n->yes == i) continue;
        int32_t a = t->height[n->yes], b = t->height[n->no];
        t->height[i] = 1 + (a > b ? a : b);
    }
    for (int64_t i = 0; i < t->ntree; i++) {
        int64_t root;
        if (!read_root(c, t, i, &root)) return false;
        t->root[i] = (int32_t)root;
    }
    return true;
}

static bool same_length(Call *c, Trees *t) {
    t->nnode = call_in(c, FEATURE)->shape[0];
    for (size_t i = THRESHOLD; i < ROOT; i++)
        if (call_in(c, i)->shape[0] != t->nnode)
            return call_fail(c, E_RUN_SHAPE,
                             "the vectors of nodes have different lengths: %lld, %lld",
                             (long long)t->nnode, (long long)call_in(c, i)->shape[0]);
    return t->nnode < INT32_MAX || call_fail(c, E_LIMIT, "more than 2^31 nodes");
}

/* ---- walking ---- */

static inline int32_t next_node(const Trees *t, int32_t at, const double *x) {
    const TreeNode *n = &t->node[at];
    double v = x[n->feature];
    int32_t yes = (v <= n->threshold) | (n->missing & (v != v));
    return n->no ^ ((n->yes ^ n->no) & -yes); /* no jump, which would often be missed */
}

/* Rows walk side by side: one's memory is awaited while others compare. */
static void walk_tree(const Trees *t, int64_t tree, const double *x, int64_t rows,
                      int64_t *out) {
    enum { SIDE = 8 };
    int64_t i = 0, f = t->features;
    int32_t root = t->root[tree], height = t->height[root];
    for (; i + SIDE <= rows; i += SIDE) {
        int32_t at[SIDE], moved = 1;
        for (int k = 0; k < SIDE; k++)
            at[k] = root;
        for (int32_t h = 0; h < height && moved; h++) {
            moved = 0;
#pragma GCC unroll 8
            for (int k = 0; k < SIDE; k++) {
                int32_t next = next_node(t, at[k], x + (i + k) * f);
                moved |= next ^ at[k];
                at[k] = next;
            }
        }
        for (int k = 0; k < SIDE; k++)
            out[(i + k) * t->ntree + tree] = at[k];
    }
    for (; i < rows; i++) {
        int32_t at = root;
        for (int32_t h = 0; h < height; h++)
            at = next_node(t, at, x + i * f);
        out[i * t->ntree + tree] = at;
    }
}

static void walk_block(void *ctx, size_t block, unsigned worker) {
    const Trees *t = ctx;
    int64_t from = (int64_t)block * t->per_block, f = t->features;
    int64_t rows = t->rows - from < t->per_block ? t->rows - from : t->per_block;
    double *x = t->block + (int64_t)worker * (t->per_block * f + 1);
    for (int64_t i = 0; i < rows * f; i++)
        x[i] = tensor_f64(t->x, from * f + i);
    for (int64_t i = 0; i < t->ntree; i++)
        walk_tree(t, i, x, rows, t->out + from * t->ntree);
}

static bool leaves_open(Call *c, Trees *t) {
    const Tensor *x = call_in(c, X);
    int64_t shape[MAX_NDIM];
    if (!same_length(c, t)) return false;
    t->x = x;
    t->ntree = call_in(c, ROOT)->shape[0];
    t->features = x->shape[x->ndim - 1];
    t->rows = move_count(x->ndim - 1, x->shape);
    if (t->features >= INT32_MAX)
        return call_fail(c, E_LIMIT, "more than 2^31 features");
    memcpy(shape, x->shape, sizeof shape);
    shape[x->ndim - 1] = t->ntree;
    Tensor *out = call_out(c, 0, x->ndim, shape);
    if (out) t->out = out->data;
    return out != NULL;
}

static bool leaves_perform(Call *c) {
    enum { BLOCK = 8192, LEAST = 16, MOST = 512 };
    Trees t = {0};
    if (!leaves_open(c, &t)) return false;
    if (t.rows == 0 || t.ntree == 0) return true;
    Pool *pool = move_pool(c);
    t.per_block = t.features ? BLOCK / t.features : MOST;
    if (t.per_block < LEAST) t.per_block = LEAST;
    if (t.per_block > MOST) t.per_block = MOST;
    if (t.per_block > t.rows) t.per_block = t.rows;
    int64_t blocks = (t.rows + t.per_block - 1) / t.per_block;
    size_t workers = pool && blocks > 1 ? pool_threads(pool) : 1;
    size_t room = workers * (size_t)(t.per_block * t.features + 1) * sizeof(double);
    size_t nodes = (size_t)t.nnode * (sizeof(TreeNode) + sizeof(int32_t));
    char *p = call_scratch(c, room + nodes + (size_t)t.ntree * sizeof(int32_t));
    if (!p) return false;
    t.block = (double *)(void *)p;
    t.node = (TreeNode *)(void *)(p + room);
    t.height = (int32_t *)(void *)(t.node + t.nnode);
    t.root = t.height + t.nnode;
    memset(t.height, 0, (size_t)t.nnode * sizeof *t.height);
    if (!read_trees(c, &t)) return false;
    pool_run(workers > 1 ? pool : NULL, (size_t)blocks, walk_block, &t);
    return true;
}

/* One row and tree after the other, from the inputs themselves. */
static bool leaves_debug(Call *c) {
    Trees t = {0};
    if (!leaves_open(c, &t)) return false;
    for (int64_t i = 0; i < t.rows * t.ntree; i++) {
        int64_t at, feature, yes, no;
        if (!read_root(c, &t, i % t.ntree, &at)) return false;
        for (;; at = t.out[i]) {
            if (!find_branches(c, &t, at, &feature, &yes, &no)) return false;
            t.out[i] = at;
            if (feature < 0) break;
            double v = tensor_f64(t.x, i / t.ntree * t.features + feature);
            bool left = v <= tensor_f64(call_in(c, THRESHOLD), at) ||
                        (isnan(v) && tensor_i64(call_in(c, MISSING), at));
            t.out[i] = left ? yes : no;
        }
    }
    return true;
}

/* Axes of x before the last one stay as they are: rows are another. */
static bool leaves_vmap(Vmap *q) {
    for (size_t i = FEATURE; i <= ROOT; i++)
        if (q->rows[i]) return vmap_by_scan(q);
    return vmap_apply(q, q->props, q->in);
}

static const Op table[] = {
    {.name = OP_ROW("tree_leaves"),
     .doc =
         "The leaves in which rows of features x end in decision trees, as indices "
         "of nodes: an axis of trees in place of that of features. A row goes from "
         "a node to yes if its feature is at most the threshold, else to no; where "
         "missing, also nan goes to yes. A leaf has a feature below 0. Branches lead "
         "to nodes further on; root has the first node of each tree.",
     .in = "x, feature: ints, threshold, yes: ints, no: ints, missing, root: ints",
     .type = leaves_type,
     RARE(.infer_shape = leaves_shape),
     .perform = leaves_perform,
     .debug = leaves_debug,
     .flops = "0",
     .pull = pull_discrete,
     .push = push_none,
     .disconnected = "feature, yes, no, missing, root",
     .vmap = leaves_vmap,
     .example =
         "tree_leaves([[1., 0.], [3., 0.]], [0, -1, -1], [2., 0., 0.], [1, 0, 0], "
         "[2, 0, 0], [False, False, False], [0]) -> [[1], [2]]"},
};
const OpList ops_nn_trees = LIST_OF(table);
