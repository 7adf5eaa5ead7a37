/* Products of several matrices in the order that costs least, vectors first; products
 * that are transposes of each other, computed once; and products by matrices that are
 * known to be an identity or diagonal. */
#include "rewrite/rewrite_impl.h"

#include <string.h>

/* ---- the factors of a product ---- */

enum { FACTORS = 8 };

typedef struct ProductNode {
    Var v;
    int left, right; /* nodes; -1: a factor */
} ProductNode;
typedef struct Chain {
    Rewriter *r;
    const Apply *top;
    const Type *batch; /* whose dims before the last two most factors have */
    double batches;    /* how many matrices these are, for the costs */
    bool one[FACTORS]; /* by factor: a single matrix, the same in each product */
    int nnode, nfactor;
    ProductNode node[2 * FACTORS];
    int factor[FACTORS];      /* nodes, from left to right */
    Dim dim[FACTORS + 1];     /* factor i is dim[i] by dim[i + 1] */
    double size[FACTORS + 1]; /* for the costs */
    double cost[FACTORS][FACTORS];
    int split[FACTORS][FACTORS];
} Chain;

/* A matrix or vector; if the product is a batch of matrices, a matrix or such a
 * batch. */
static bool is_dense_factor(const Chain *c, const Type *t) {
    int lead = c->batch->ndim - 2;
    if (t->kind != TYPE_TENSOR || t->ndim == 2 || lead <= 0)
        return t->kind == TYPE_TENSOR && (t->ndim == 1 || t->ndim == 2);
    bool same = t->ndim == c->batch->ndim;
    for (int k = 0; same && k < lead; k++)
        same = t->dim[k] == c->batch->dim[k] && t->dim[k] != DIM_UNKNOWN;
    return same;
}

/* A product that only this one reads; as a vector it must be a row on the left side and
 * a column on the right. */
static const Apply *inner_product(const Chain *c, Var v, bool left) {
    Rewriter *r = c->r;
    const Apply *a = rewriter_owner(r, v, c->top->op);
    if (!a || !rewriter_single_use(r, v) || a->serial) return NULL;
    ApplyId id = var_owner(r->g, v);
    const Type *x = var_type(r->g, rewriter_input(r, id, 0)),
               *y = var_type(r->g, rewriter_input(r, id, 1));
    if (!is_dense_factor(c, x) || !is_dense_factor(c, y) ||
        var_type(r->g, v)->dtype != x->dtype)
        return NULL;
    if (var_type(r->g, v)->ndim == 1 && (left ? x : y)->ndim != 1) return NULL;
    return var_type(r->g, v)->ndim > 0 ? a : NULL;
}

static int add_node(Chain *c, Var v) {
    c->node[c->nnode] = (ProductNode){v, -1, -1};
    return c->nnode++;
}

static void open_node(Chain *c, int at, const Apply *a) {
    Rewriter *r = c->r;
    Var in[2] = {rewriter_resolve(r, r->g->in[a->in]),
                 rewriter_resolve(r, r->g->in[a->in + 1])};
    c->node[at].left = add_node(c, in[0]);
    c->node[at].right = add_node(c, in[1]);
    c->nfactor++;
}

/* A node is opened after those before it, so nearer products come first. */
static void open_products(Chain *c) {
    c->nfactor = 1;
    open_node(c, add_node(c, c->top->out), c->top);
    for (int at = 0; at < c->nnode; at++) {
        for (int side = 0; side < 2; side++) {
            if (c->node[at].left < 0 || c->nfactor == FACTORS) break;
            int kid = side ? c->node[at].right : c->node[at].left;
            const Apply *a = inner_product(c, c->node[kid].v, side == 0);
            if (a) open_node(c, kid, a);
        }
    }
}

static void list_factors(Chain *c, int at) {
    if (c->node[at].left < 0) {
        c->factor[c->nfactor++] = at;
        return;
    }
    list_factors(c, c->node[at].left);
    list_factors(c, c->node[at].right);
}

/* ---- costs ---- */

static Dim better_dim(Dim a, Dim b) {
    return a == DIM_UNKNOWN || (dim_is_named(a) && dim_is_known(b)) ? b : a;
}

static void find_dims(Chain *c) {
    const Graph *g = c->r->g;
    for (int i = 0; i <= c->nfactor; i++)
        c->dim[i] = i == 0 || i == c->nfactor ? 1 : DIM_UNKNOWN;
    for (int i = 0; i < c->nfactor; i++) {
        const Type *t = var_type(g, c->node[c->factor[i]].v);
        bool row = t->ndim == 1 && i == 0;
        Dim rows = row ? 1 : t->ndim == 1 ? t->dim[0] : t->dim[t->ndim - 2];
        Dim cols = t->ndim > 1 ? t->dim[t->ndim - 1] : row ? t->dim[0] : 1;
        c->one[i] = t->ndim == 2 && c->batch->ndim > 2;
        c->dim[i] = i == 0 ? rows : better_dim(c->dim[i], rows);
        c->dim[i + 1] = cols;
    }
}

/* Of the product of factors i to m by those after it, to k. */
static double product_cost(const Chain *c, int i, int m, int k) {
    bool one = true;
    for (int f = i; one && f <= k; f++)
        one = c->one[f];
    return 2 * c->size[i] * c->size[m + 1] * c->size[k + 1] * (one ? 1 : c->batches);
}

/* The cost of the product as it is. */
static double present_cost(Chain *c, int at, int *first, int *end) {
    if (c->node[at].left < 0) {
        for (*first = 0; c->factor[*first] != at;)
            ++*first;
        *end = *first + 1;
        return 0;
    }
    int mid;
    double left = present_cost(c, c->node[at].left, first, &mid),
           right = present_cost(c, c->node[at].right, &mid, end);
    return left + right + product_cost(c, *first, mid - 1, *end - 1);
}

static void find_best_order(Chain *c) {
    for (int i = 0; i < c->nfactor; i++)
        c->cost[i][i] = 0;
    for (int n = 1; n < c->nfactor; n++)
        for (int i = 0, k = n; k < c->nfactor; i++, k++) {
            c->cost[i][k] = -1;
            for (int m = i; m < k; m++) {
                double cost =
                    c->cost[i][m] + c->cost[m + 1][k] + product_cost(c, i, m, k);
                if (c->cost[i][k] >= 0 && cost >= c->cost[i][k]) continue;
                c->cost[i][k] = cost;
                c->split[i][k] = m;
            }
        }
}

static double cost_of_splits(const Chain *c, int i, int k) {
    if (i == k) return 0;
    int m = c->split[i][k];
    return cost_of_splits(c, i, m) + cost_of_splits(c, m + 1, k) +
           product_cost(c, i, m, k);
}

/* Sizes for dims that only a run knows: all small, all large, and one unlike the
 * rest. */
static const double some = 2, many = 1000;

static void set_sizes(Chain *c, int odd, double rest, double one) {
    for (int i = 0; i <= c->nfactor; i++) {
        Dim d = c->dim[i];
        bool is_odd = i == odd || (odd >= 0 && odd <= c->nfactor && d == c->dim[odd] &&
                                   dim_is_named(d));
        c->size[i] = dim_is_known(d) ? (double)d : is_odd ? one : rest;
    }
    c->batches = 1;
    for (int k = 0; k + 2 < c->batch->ndim; k++) {
        Dim d = c->batch->dim[k];
        c->batches *= dim_is_known(d) ? (double)d : odd > c->nfactor ? one : rest;
    }
}

/* The best order for large sizes must be no worse for any others. */
static bool is_cheaper(Chain *c) {
    int first, end;
    bool open = false;
    set_sizes(c, -1, many, many);
    find_best_order(c);
    double best = c->cost[0][c->nfactor - 1];
    if (best >= present_cost(c, 0, &first, &end) * (1 - 1e-9)) return false;
    for (int i = 0; i <= c->nfactor; i++)
        open |= !dim_is_known(c->dim[i]);
    for (int k = 0; k + 2 < c->batch->ndim; k++)
        open |= !dim_is_known(c->batch->dim[k]);
    for (int i = -1; open && i <= c->nfactor + 1; i++)
        for (int large = 0; large < 2; large++) {
            set_sizes(c, i, large ? many : some, large ? some : many);
            if (cost_of_splits(c, 0, c->nfactor - 1) > present_cost(c, 0, &first, &end))
                return false;
        }
    return true;
}

static Var build_product(Chain *c, int i, int k) {
    if (i == k) return c->node[c->factor[i]].v;
    int m = c->split[i][k];
    Var in[2] = {build_product(c, i, m), build_product(c, m + 1, k)};
    return rewriter_apply(c->r, op_known(c->r->s, OP_MATMUL), NULL, 2, in);
}

/* In the body of a loop a product that is the same in every step is computed once,
 * before the loop: its cost is unlike the others'. */
bool chain_order_pass(Rewriter *r, ApplyId id, Var *out) {
    Chain c = {
        .r = r, .top = &r->g->apply[id], .batch = var_type(r->g, r->g->apply[id].out)};
    if (r->g != r->g->main ||
        !is_dense_factor(&c, var_type(r->g, rewriter_input(r, id, 0))) ||
        !is_dense_factor(&c, var_type(r->g, rewriter_input(r, id, 1))))
        return false;
    if (!inner_product(&c, rewriter_input(r, id, 0), true) &&
        !inner_product(&c, rewriter_input(r, id, 1), false))
        return false;
    open_products(&c);
    c.nfactor = 0;
    list_factors(&c, 0);
    find_dims(&c);
    if (!is_cheaper(&c)) return false;
    Var v = build_product(&c, 0, c.nfactor - 1);
    if (v == VAR_NONE ||
        !type_keeps(var_type(r->g, r->g->apply[id].out), var_type(r->g, v)))
        return false;
    for (int i = 1; i < c.nnode; i++)
        if (c.node[i].left >= 0) rewriter_release(r, var_owner(r->g, c.node[i].v));
    out[0] = v;
    return true;
}

/* ---- transposes of each other ---- */

/* The variable that is the transpose of matrix v, if there is one in the graph. */
static Var transpose_at_hand(Rewriter *r, Var v) {
    const Op *op = op_known(r->s, OP_TRANSPOSE);
    const Apply *a = rewriter_owner(r, v, op);
    if (a) return rewriter_resolve(r, r->g->in[a->in]);
    ApplyId t = graph_equal_apply(r->g, op, props_make(r->s, op, 0, NULL), 1, &v);
    return t == APPLY_NONE ? VAR_NONE : rewriter_resolve(r, r->g->apply[t].out);
}

/* b.T @ a is (a.T @ b).T, which this sweep has computed already. Products without a
 * transpose stay. */
bool chain_share_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    Var in[2] = {rewriter_input(r, id, 1), rewriter_input(r, id, 0)};
    bool any = false;
    for (int k = 0; k < 2; k++) {
        if (var_type(r->g, in[k])->ndim != 2) return false;
        any |= rewriter_known_owner(r, in[k], OP_TRANSPOSE) != NULL;
    }
    for (int k = 0; any && k < 2; k++) {
        in[k] = transpose_at_hand(r, in[k]);
        if (in[k] == VAR_NONE) return false;
    }
    if (!any) return false;
    ApplyId b = graph_equal_apply(r->g, a.op, a.props, 2, in);
    if (b == APPLY_NONE || b == id || (r->state[b] & SEEN) != SEEN_DONE) return false;
    Var v = rewriter_resolve(r, r->g->apply[b].out);
    out[0] = rewriter_apply(r, op_known(r->s, OP_TRANSPOSE), NULL, 1, &v);
    return out[0] != VAR_NONE &&
           type_keeps(var_type(r->g, a.out), var_type(r->g, out[0]));
}

/* ---- identities and diagonals ---- */

/* 0, 1, .., n - 1 as the rows and columns of a diagonal. */
static bool is_counting(Rewriter *r, Var v, Dim n) {
    const Tensor *t = var_const(r->g, v);
    const Apply *a = rewriter_known_owner(r, v, OP_ARANGE);
    if (a) return a->nin == 1 && var_type(r->g, v)->dim[0] == n && n != DIM_UNKNOWN;
    if (!t || t->ndim != 1 || t->shape[0] != n || t->dtype == DT_BOOL) return false;
    for (int64_t i = 0; i < n; i++)
        if (tensor_i64(t, i) != i) return false;
    return true;
}

Var chain_diagonal_of(Rewriter *r, Var v) {
    const Apply *a = rewriter_known_owner(r, v, OP_SET_SUBTENSOR);
    const Type *t = var_type(r->g, v);
    if (!a || a->nin != 4 || t->ndim != 2 || t->dim[0] != t->dim[1] ||
        strcmp(sym_text(r->s, rewriter_prop(r, a, "index")->sym), "$, $") != 0)
        return VAR_NONE;
    ApplyId id = var_owner(r->g, v);
    Var rows = rewriter_input(r, id, 2), d = rewriter_input(r, id, 1);
    const Type *td = var_type(r->g, d);
    if (rows != rewriter_input(r, id, 3) || !is_counting(r, rows, t->dim[0]) ||
        td->ndim != 1 || td->dim[0] != t->dim[0] || td->dtype != t->dtype ||
        !rewriter_is_zeros(r, rewriter_input(r, id, 0)))
        return VAR_NONE;
    return d;
}

static bool is_identity(Rewriter *r, Var v) {
    const Type *t = var_type(r->g, v);
    return t->ndim == 2 && t->dim[0] != 0 && rewriter_has_facts(r, v, FACT_IDENTITY);
}

/* The same dims, which no product needs to check. */
static bool dims_meet(Rewriter *r, Var a, Var b) {
    const Type *x = var_type(r->g, a), *y = var_type(r->g, b);
    Dim n = y->dim[y->ndim > 1 ? y->ndim - 2 : 0];
    return x->dim[x->ndim - 1] == n && n != DIM_UNKNOWN;
}

static Var raised(Rewriter *r, Var v, int64_t axis) {
    const Op *op = op_known(r->s, OP_EXPAND_DIMS);
    PropArg arg = {"axis", PROP_INTS(&axis, 1)};
    return rewriter_apply(r, op, props_make(r->s, op, 1, &arg), 1, &v);
}

/* Unlike a product, a scaled matrix doesn't spread inf and nan: 0 * inf is nan. */
bool chain_diagonal_pass(Rewriter *r, ApplyId id, Var *out) {
    const Type *t = var_type(r->g, r->g->apply[id].out);
    Var in[2] = {rewriter_input(r, id, 0), rewriter_input(r, id, 1)};
    if (!dims_meet(r, in[0], in[1])) return false;
    for (int k = 0; k < 2; k++) {
        Var other = in[!k];
        if (is_identity(r, in[k])) {
            out[0] = other;
            return type_keeps(t, var_type(r->g, other));
        }
        Var d =
            var_type(r->g, other)->ndim <= 2 ? chain_diagonal_of(r, in[k]) : VAR_NONE;
        if (d == VAR_NONE) continue;
        if (k == 0 && var_type(r->g, other)->ndim == 2) d = raised(r, d, 1);
        Var pair[2] = {k == 0 ? d : other, k == 0 ? other : d};
        if (d == VAR_NONE) return false;
        out[0] = rewriter_apply(r, op_known(r->s, OP_MULTIPLY), NULL, 2, pair);
        return out[0] != VAR_NONE && type_keeps(t, var_type(r->g, out[0]));
    }
    return false;
}

/* The diagonal of a matrix that is made of it, or of ones. */
bool chain_read_diagonal_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    const Type *t = var_type(r->g, a.out);
    Var x = rewriter_input(r, id, 0);
    if (var_type(r->g, x)->ndim != 2 || rewriter_prop(r, &a, "offset")->i) return false;
    out[0] = chain_diagonal_of(r, x);
    if (out[0] == VAR_NONE && rewriter_has_facts(r, x, FACT_UNIT)) {
        Var one = const_number(&r->b, t->dtype, 1);
        rewriter_grow(r);
        out[0] = rewriter_fit(r, one, t);
        rewriter_grow(r);
    }
    return out[0] != VAR_NONE && type_keeps(t, var_type(r->g, out[0]));
}
