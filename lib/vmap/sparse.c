/* Batching of sparse matrices. All rows store elements at the same places: what stands
 * for a matrix is what is stored there, [size, stored], beside a matrix without rows
 * that tells the places (the pattern). Gradients and tangents are of that kind. Where a
 * product or sum needs the rows as matrices they become dense. */
#include "vmap/kit.h"

#include <string.h>

enum { NAMES = 24 };

typedef struct Sparse {
    Batching *q;
    Bind bind[NAMES];
    size_t n;
    bool ok;
} Sparse;

static void bind(Sparse *r, const char *name, Var v) {
    if (v == VAR_NONE || r->n == NAMES) r->ok = false;
    if (r->ok) r->bind[r->n++] = (Bind){sym(r->q->b->s, name), v};
}

static Var text(Sparse *r, const char *line) {
    Env env = {.n = r->n, .bind = r->bind, .op = r->q->op, .props = r->q->props};
    Var v = VAR_NONE;
    if (r->ok) v = build_text(r->q->b, line, &env, &r->ok);
    r->ok = r->ok && v != VAR_NONE;
    return v;
}

static void let(Sparse *r, const char *name, const char *line) {
    bind(r, name, text(r, line));
}

static bool is_sparse(const Batching *q, size_t i) {
    return var_type(q->g, q->was[i])->kind == TYPE_SPARSE;
}

static Sparse begin(Batching *q) {
    Sparse r = {.q = q, .ok = true};
    bind(&r, "rows", q->size);
    return r;
}

static bool end(Sparse *r, Var out, Var pattern) {
    Batching *q = r->q;
    q->out[0] = out;
    q->out_pattern[0] = pattern;
    return r->ok && out != VAR_NONE;
}

/* The op itself, on inputs without rows: the same for all. */
static bool same_for_all(Batching *q, const Var *in) {
    q->out_rows[0] = false;
    return batch_apply(q, q->props, in);
}
#define PLACES "the places of its elements would differ from row to row"

/* Stored elements of input i by row, and their places: names d and p. */
static void open_data(Sparse *r, size_t i) {
    const Batching *q = r->q;
    bool rows = q->rows[i];
    bind(r, "p", rows ? q->pattern[i] : q->in[i]);
    if (rows)
        bind(r, "d", q->in[i]);
    else
        let(r, "d",
            "broadcast_to(sparse_data(p), (rows, shape_i(sparse_data(p), axis=0)))");
}

/* Where p's elements are in a matrix that is laid out in one dim. */
static const char flat[] = "sparse_data(sparse_like(reshape(arange(p.shape[0] * "
                           "p.shape[1]), (p.shape[0], p.shape[1])), p))";
/* d and p as matrices. */
static const char dense[] =
    "reshape(set_subtensor(zeros((rows, p.shape[0] * p.shape[1]), dtype=d.dtype)"
    "[:, flat], d), (rows, p.shape[0], p.shape[1]))";
/* The number of each element of p, counted from 1: 0 is where none is stored. */
static const char numbered[] =
    "sparse_with_data(p, arange(1, shape_i(sparse_data(p), axis=0) + 1))";
static const char padded[] =
    "concatenate([zeros((rows, 1), dtype=d.dtype), d], axis=1)";

/* Input i with rows as dense matrices or as the tensor that it is; without rows as it
 * is, dense. */
static Var as_dense(Batching *q, size_t i) {
    if (!is_sparse(q, i)) return q->in[i];
    if (!q->rows[i]) return call1(q->b, "dense_from_sparse", q->in[i]);
    Sparse r = begin(q);
    open_data(&r, i);
    let(&r, "flat", flat);
    return text(&r, dense);
}

/* ---- making matrices ---- */

/* csr, csc, sparse_from_triplets of data with rows. */
static bool from_parts(Batching *q) {
    Sparse r = begin(q);
    Var in[4];
    if (q->nin != 4 || !batch_plain_from(q, 1)) return batch_refuse(q, PLACES);
    bind(&r, "data", q->in[0]);
    in[0] = text(&r, "zeros(shape_i(data, axis=1), dtype=data.dtype)");
    for (size_t i = 1; i < 4; i++)
        in[i] = q->in[i];
    Var p = r.ok ? op_apply1(q->b, q->op, q->props, 4, in) : VAR_NONE;
    bind(&r, "p", p);
    if (!r.ok) return false;
    bind(&r, "d", cast_to(q->b, q->in[0], var_type(q->b->g, p)->dtype));
    if (!op_is(q->b->s, q->op, OP_SPARSE_FROM_TRIPLETS))
        return end(&r, text(&r, "d"), p);
    bind(&r, "i", q->in[1]);
    bind(&r, "j", q->in[2]);
    let(&r, "number", numbered);
    let(&r, "place", "sparse_at(number, i, j) - 1");
    let(&r, "none", "zeros((rows, shape_i(sparse_data(p), axis=0)), dtype=d.dtype)");
    return end(&r, text(&r, "inc_subtensor(none[:, place], d)"), p);
}

static bool from_dense(Batching *q) {
    return batch_refuse(q,
                        PLACES "; sparse_like takes elements at places that are known");
}

static bool to_dense(Batching *q) {
    Sparse r = {.q = q, .ok = true};
    return end(&r, as_dense(q, 0), VAR_NONE);
}

/* The elements in the order of the new pattern. */
static bool reorder(Batching *q) {
    Sparse r = begin(q);
    open_data(&r, 0);
    Var in = q->pattern[0], to = op_apply1(q->b, q->op, q->props, 1, &in);
    bind(&r, "number", text(&r, numbered));
    Var n = r.ok ? r.bind[r.n - 1].var : VAR_NONE;
    bind(&r, "turned", n == VAR_NONE ? n : op_apply1(q->b, q->op, q->props, 1, &n));
    return end(&r, text(&r, "d[:, sparse_data(turned) - 1]"), to);
}

/* A transpose has the same elements in the same order. */
static bool transposed(Batching *q) {
    Sparse r = {.q = q, .ok = true};
    return end(&r, q->in[0], op_apply1(q->b, q->op, q->props, 1, &q->pattern[0]));
}

/* ---- parts ---- */

static bool data(Batching *q) {
    Sparse r = {.q = q, .ok = true};
    return end(&r, q->in[0], VAR_NONE);
}

/* sparse_indices, sparse_indptr, sparse_union: places only. */
static bool places(Batching *q) {
    Var in[2];
    for (size_t i = 0; i < q->nin; i++)
        in[i] = q->rows[i] ? q->pattern[i] : q->in[i];
    return same_for_all(q, in);
}

static bool with_data(Batching *q) {
    Sparse r = {.q = q, .ok = true};
    Var p = q->rows[0] ? q->pattern[0] : q->in[0];
    if (!q->rows[1]) return same_for_all(q, (Var[]){p, q->in[1]});
    return end(&r, q->in[1], p);
}

static bool at(Batching *q) {
    Sparse r = begin(q);
    bind(&r, "i", q->in[1]);
    bind(&r, "j", q->in[2]);
    bool many = q->rows[1] || q->rows[2];
    if (many) {
        let(&r, "i2", q->rows[1] ? "i" : "broadcast_to(i, shape(j))");
        let(&r, "j2", q->rows[2] ? "j" : "broadcast_to(j, shape(i))");
    }
    open_data(&r, 0);
    let(&r, "number", q->rows[0] ? numbered : "p");
    let(&r, "place",
        many ? "reshape(sparse_at(number, reshape(i2, -1), reshape(j2, -1)), shape(i2))"
             : "sparse_at(number, i, j)");
    if (!q->rows[0]) return end(&r, text(&r, "place"), VAR_NONE);
    let(&r, "all", padded);
    return end(&r,
               text(&r, many ? "take_along_axis(all, place, axis=1)" : "all[:, place]"),
               VAR_NONE);
}

/* A dense x [size, ...] at the places of `to`. */
static bool dense_like(Batching *q, Var x, int ndim, Var to) {
    Sparse r = begin(q);
    bind(&r, "p", to);
    bind(&r, "x", x);
    let(&r, "flat", flat);
    let(&r, "one",
        ndim == 2   ? "x"
        : ndim == 1 ? "expand_dims(x, 1)"
                    : "reshape(x, (rows, 1, 1))");
    let(&r, "all", "broadcast_to(one, (rows, p.shape[0], p.shape[1]))");
    return end(&r, text(&r, "reshape(all, (rows, p.shape[0] * p.shape[1]))[:, flat]"),
               to);
}

static bool like(Batching *q) {
    Var to = q->rows[1] ? q->pattern[1] : q->in[1];
    if (!q->rows[0]) return same_for_all(q, (Var[]){q->in[0], to});
    if (!is_sparse(q, 0)) return dense_like(q, q->in[0], batch_ndim(q, 0), to);
    Sparse r = begin(q);
    open_data(&r, 0);
    let(&r, "number", numbered);
    bind(&r, "to", to);
    let(&r, "all", padded);
    return end(&r, text(&r, "all[:, sparse_data(sparse_like(number, to))]"), to);
}

/* ---- products and sums ---- */

/* A matrix without rows and dense rows: one product for all of them. */
static bool dot_one(Batching *q, size_t sparse) {
    Sparse r = begin(q);
    bind(&r, "s", q->in[sparse]);
    bind(&r, "x", q->in[1 - sparse]);
    bool vector = batch_ndim(q, 1 - sparse) == 1;
    if (sparse == 1 && vector) return end(&r, text(&r, "sparse_dot(x, s)"), VAR_NONE);
    if (vector)
        return end(&r, text(&r, "transpose(sparse_dot(s, transpose(x)))"), VAR_NONE);
    if (sparse == 1) {
        let(&r, "y", "sparse_dot(reshape(x, (rows * x.shape[1], x.shape[2])), s)");
        return end(&r, text(&r, "reshape(y, (rows, x.shape[1], s.shape[1]))"),
                   VAR_NONE);
    }
    let(&r, "wide",
        "reshape(transpose(x, axes=[1, 0, 2]), (x.shape[1], rows * x.shape[2]))");
    let(&r, "y", "reshape(sparse_dot(s, wide), (s.shape[0], rows, x.shape[2]))");
    return end(&r, text(&r, "transpose(y, axes=[1, 0, 2])"), VAR_NONE);
}

static bool dot(Batching *q) {
    size_t sparse = is_sparse(q, 0) ? 0 : 1;
    if (!q->rows[sparse]) return dot_one(q, sparse);
    Sparse r = begin(q);
    bind(&r, "x", as_dense(q, 0));
    bind(&r, "y", as_dense(q, 1));
    bool left = batch_ndim(q, 0) == 1, right = batch_ndim(q, 1) == 1;
    if (left) let(&r, "x2", q->rows[0] ? "expand_dims(x, 1)" : "x");
    if (left)
        return end(&r, text(&r, q->rows[0] ? "squeeze(x2 @ y, axis=1)" : "x2 @ y"),
                   VAR_NONE);
    if (right && q->rows[1])
        return end(&r, text(&r, "squeeze(x @ expand_dims(y, -1), axis=-1)"), VAR_NONE);
    return end(&r, text(&r, "x @ y"), VAR_NONE);
}

static bool sampled_dot(Batching *q) {
    Sparse r = {.q = q, .ok = true};
    Var to = q->rows[2] ? q->pattern[2] : q->in[2];
    if (!q->rows[0] && !q->rows[1])
        return same_for_all(q, (Var[]){q->in[0], q->in[1], to});
    bind(&r, "x", q->in[0]);
    bind(&r, "y", q->in[1]);
    Var all = text(&r, "x @ y");
    return r.ok && dense_like(q, all, 2, to);
}

static bool sum(Batching *q) {
    Sparse r = {.q = q, .ok = true};
    const Prop *axis = op_prop(q->b->s, q->op, q->props, "axis");
    int64_t axes[2] = {1, 2};
    size_t n = 2;
    if (axis->kind == P_INTS && axis->ints.n < 2) n = axis->ints.n;
    for (size_t i = 0; axis->kind == P_INTS && i < n; i++)
        axes[i] = axis->ints.p[i] < 0 ? axis->ints.p[i] : axis->ints.p[i] + 1;
    PropArg arg[] = {{"axis", PROP_INTS(axes, n)},
                     {"keepdims", *op_prop(q->b->s, q->op, q->props, "keepdims")}};
    Var x = as_dense(q, 0);
    return end(&r, apply_named(q->b, "sum", 1, &x, 2, arg), VAR_NONE);
}

bool batch_sparse(Batching *q) {
    static const struct {
        const char *op;
        bool (*rule)(Batching *q);
    } rules[] = {{"csr", from_parts},
                 {"csc", from_parts},
                 {"sparse_from_triplets", from_parts},
                 {"csr_from_dense", from_dense},
                 {"csc_from_dense", from_dense},
                 {"dense_from_sparse", to_dense},
                 {"sparse_format", reorder},
                 {"sparse_transpose", transposed},
                 {"sparse_data", data},
                 {"sparse_indices", places},
                 {"sparse_indptr", places},
                 {"sparse_union", places},
                 {"sparse_with_data", with_data},
                 {"sparse_at", at},
                 {"sparse_like", like},
                 {"sparse_dot", dot},
                 {"sparse_sampled_dot", sampled_dot},
                 {"sparse_sum", sum}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].op, q->op->name) == 0) return rules[i].rule(q);
    return batch_refuse(q, "its inputs are sparse");
}
