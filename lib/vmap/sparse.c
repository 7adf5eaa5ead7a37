/* vmap of sparse matrices. All rows store elements in the same places: a matrix with
 * rows is represented by its stored elements, [size, stored], and a matrix without rows
 * that holds the places (the pattern). Gradients and tangents have the same form. Where
 * a product or sum needs each row as a matrix, the rows become dense. */
#include "vmap/kit.h"

#include <string.h>

enum { NAMES = 24 };

typedef struct SparseRule {
    Vmap *q;
    Bind bind[NAMES];
    size_t n;
    bool ok;
} SparseRule;

static void bind_rule_var(SparseRule *r, const char *name, Var v) {
    if (v == VAR_NONE || r->n == NAMES) r->ok = false;
    if (r->ok) r->bind[r->n++] = (Bind){sym(r->q->b->s, name), v};
}

static Var build_rule_text(SparseRule *r, const char *line) {
    Env env = {.n = r->n, .bind = r->bind, .op = r->q->op, .props = r->q->props};
    Var v = VAR_NONE;
    if (r->ok) v = template_build(r->q->b, line, &env, &r->ok);
    r->ok = r->ok && v != VAR_NONE;
    return v;
}

static void bind_text(SparseRule *r, const char *name, const char *line) {
    bind_rule_var(r, name, build_rule_text(r, line));
}

static bool is_sparse_input(const Vmap *q, size_t i) {
    return var_type(q->g, q->was[i])->kind == TYPE_SPARSE;
}

static SparseRule begin_rule(Vmap *q) {
    SparseRule r = {.q = q, .ok = true};
    bind_rule_var(&r, "rows", q->size);
    return r;
}

static bool end_rule(SparseRule *r, Var out, Var pattern) {
    Vmap *q = r->q;
    q->out[0] = out;
    q->out_pattern[0] = pattern;
    return r->ok && out != VAR_NONE;
}

/* Applies the op to inputs without rows; all rows share the result. */
static bool apply_without_rows(Vmap *q, const Var *in) {
    q->out_rows[0] = false;
    return vmap_apply(q, q->props, in);
}
#define PLACES "the places of its elements would differ from row to row"

/* Binds d to input i's stored elements, by row, and p to its pattern. */
static void bind_data_and_places(SparseRule *r, size_t i) {
    const Vmap *q = r->q;
    bool rows = q->rows[i];
    bind_rule_var(r, "p", rows ? q->pattern[i] : q->in[i]);
    if (rows)
        bind_rule_var(r, "d", q->in[i]);
    else
        bind_text(
            r, "d",
            "broadcast_to(sparse_data(p), (rows, shape_i(sparse_data(p), axis=0)))");
}

/* For each stored element of p, its index in the flattened matrix. */
static const char flat[] = "sparse_data(sparse_like(reshape(arange(p.shape[0] * "
                           "p.shape[1]), (p.shape[0], p.shape[1])), p))";
/* The dense matrices of d and p. */
static const char dense[] =
    "reshape(set_subtensor(zeros((rows, p.shape[0] * p.shape[1]), dtype=d.dtype)"
    "[:, flat], d), (rows, p.shape[0], p.shape[1]))";
/* p with its elements numbered from 1, so that 0 marks a place without an element;
 * `padded` has a zero for that place. */
static const char numbered[] =
    "sparse_with_data(p, arange(1, shape_i(sparse_data(p), axis=0) + 1))";
static const char padded[] =
    "concatenate([zeros((rows, 1), dtype=d.dtype), d], axis=1)";

/* Input i as a dense tensor, with rows if it has them. */
static Var dense_input(Vmap *q, size_t i) {
    if (!is_sparse_input(q, i)) return q->in[i];
    if (!q->rows[i]) return op_call1(q->b, "dense_from_sparse", q->in[i]);
    SparseRule r = begin_rule(q);
    bind_data_and_places(&r, i);
    bind_text(&r, "flat", flat);
    return build_rule_text(&r, dense);
}

/* ---- making matrices ---- */

/* csr, csc, sparse_from_triplets whose data alone has rows. */
static bool from_parts_vmap(Vmap *q) {
    SparseRule r = begin_rule(q);
    Var in[4];
    if (q->nin != 4 || !vmap_is_plain_from(q, 1)) return vmap_refuse(q, PLACES);
    bind_rule_var(&r, "data", q->in[0]);
    in[0] = build_rule_text(&r, "zeros(shape_i(data, axis=1), dtype=data.dtype)");
    for (size_t i = 1; i < 4; i++)
        in[i] = q->in[i];
    Var p = r.ok ? op_apply1(q->b, q->op, q->props, 4, in) : VAR_NONE;
    bind_rule_var(&r, "p", p);
    if (!r.ok) return false;
    bind_rule_var(&r, "d", op_cast_to(q->b, q->in[0], var_type(q->b->g, p)->dtype));
    if (!op_is(q->b->s, q->op, OP_SPARSE_FROM_TRIPLETS))
        return end_rule(&r, build_rule_text(&r, "d"), p);
    bind_rule_var(&r, "i", q->in[1]);
    bind_rule_var(&r, "j", q->in[2]);
    bind_text(&r, "number", numbered);
    bind_text(&r, "place", "sparse_at(number, i, j) - 1");
    bind_text(&r, "none",
              "zeros((rows, shape_i(sparse_data(p), axis=0)), dtype=d.dtype)");
    return end_rule(&r, build_rule_text(&r, "inc_subtensor(none[:, place], d)"), p);
}

static bool from_dense_vmap(Vmap *q) {
    return vmap_refuse(q,
                       PLACES "; sparse_like takes elements at places that are known");
}

static bool to_dense_vmap(Vmap *q) {
    SparseRule r = {.q = q, .ok = true};
    return end_rule(&r, dense_input(q, 0), VAR_NONE);
}

/* Reorders the stored elements for the new pattern: the op applied to element numbers
 * gives the permutation. */
static bool convert_format_vmap(Vmap *q) {
    SparseRule r = begin_rule(q);
    bind_data_and_places(&r, 0);
    Var in = q->pattern[0], to = op_apply1(q->b, q->op, q->props, 1, &in);
    bind_rule_var(&r, "number", build_rule_text(&r, numbered));
    Var n = r.ok ? r.bind[r.n - 1].var : VAR_NONE;
    bind_rule_var(&r, "turned",
                  n == VAR_NONE ? n : op_apply1(q->b, q->op, q->props, 1, &n));
    return end_rule(&r, build_rule_text(&r, "d[:, sparse_data(turned) - 1]"), to);
}

/* csr to csc or back: the stored elements keep their order. */
static bool transpose_pattern_vmap(Vmap *q) {
    SparseRule r = {.q = q, .ok = true};
    return end_rule(&r, q->in[0], op_apply1(q->b, q->op, q->props, 1, &q->pattern[0]));
}

/* ---- parts ---- */

static bool sparse_data_vmap(Vmap *q) {
    SparseRule r = {.q = q, .ok = true};
    return end_rule(&r, q->in[0], VAR_NONE);
}

/* sparse_indices, sparse_indptr, sparse_union need the pattern only. */
static bool places_vmap(Vmap *q) {
    Var in[2];
    for (size_t i = 0; i < q->nin; i++)
        in[i] = q->rows[i] ? q->pattern[i] : q->in[i];
    return apply_without_rows(q, in);
}

static bool with_data_vmap(Vmap *q) {
    SparseRule r = {.q = q, .ok = true};
    Var p = q->rows[0] ? q->pattern[0] : q->in[0];
    if (!q->rows[1]) return apply_without_rows(q, (Var[]){p, q->in[1]});
    return end_rule(&r, q->in[1], p);
}

static bool sparse_at_vmap(Vmap *q) {
    SparseRule r = begin_rule(q);
    bind_rule_var(&r, "i", q->in[1]);
    bind_rule_var(&r, "j", q->in[2]);
    bool many = q->rows[1] || q->rows[2];
    if (many) {
        bind_text(&r, "i2", q->rows[1] ? "i" : "broadcast_to(i, shape(j))");
        bind_text(&r, "j2", q->rows[2] ? "j" : "broadcast_to(j, shape(i))");
    }
    bind_data_and_places(&r, 0);
    bind_text(&r, "number", q->rows[0] ? numbered : "p");
    bind_text(
        &r, "place",
        many ? "reshape(sparse_at(number, reshape(i2, -1), reshape(j2, -1)), shape(i2))"
             : "sparse_at(number, i, j)");
    if (!q->rows[0]) return end_rule(&r, build_rule_text(&r, "place"), VAR_NONE);
    bind_text(&r, "all", padded);
    return end_rule(&r,
                    build_rule_text(&r, many ? "take_along_axis(all, place, axis=1)"
                                             : "all[:, place]"),
                    VAR_NONE);
}

/* Takes the elements of a dense x [size, ...] in the places of `to`. */
static bool take_at_places(Vmap *q, Var x, int ndim, Var to) {
    SparseRule r = begin_rule(q);
    bind_rule_var(&r, "p", to);
    bind_rule_var(&r, "x", x);
    bind_text(&r, "flat", flat);
    bind_text(&r, "one",
              ndim == 2   ? "x"
              : ndim == 1 ? "expand_dims(x, 1)"
                          : "reshape(x, (rows, 1, 1))");
    bind_text(&r, "all", "broadcast_to(one, (rows, p.shape[0], p.shape[1]))");
    return end_rule(
        &r,
        build_rule_text(&r, "reshape(all, (rows, p.shape[0] * p.shape[1]))[:, flat]"),
        to);
}

static bool sparse_like_vmap(Vmap *q) {
    Var to = q->rows[1] ? q->pattern[1] : q->in[1];
    if (!q->rows[0]) return apply_without_rows(q, (Var[]){q->in[0], to});
    if (!is_sparse_input(q, 0)) return take_at_places(q, q->in[0], vmap_ndim(q, 0), to);
    SparseRule r = begin_rule(q);
    bind_data_and_places(&r, 0);
    bind_text(&r, "number", numbered);
    bind_rule_var(&r, "to", to);
    bind_text(&r, "all", padded);
    return end_rule(
        &r, build_rule_text(&r, "all[:, sparse_data(sparse_like(number, to))]"), to);
}

/* ---- products and sums ---- */

/* A matrix without rows times dense rows: one product for all rows. */
static bool dot_shared_matrix(Vmap *q, size_t sparse) {
    SparseRule r = begin_rule(q);
    bind_rule_var(&r, "s", q->in[sparse]);
    bind_rule_var(&r, "x", q->in[1 - sparse]);
    bool vector = vmap_ndim(q, 1 - sparse) == 1;
    if (sparse == 1 && vector)
        return end_rule(&r, build_rule_text(&r, "sparse_dot(x, s)"), VAR_NONE);
    if (vector)
        return end_rule(&r,
                        build_rule_text(&r, "transpose(sparse_dot(s, transpose(x)))"),
                        VAR_NONE);
    if (sparse == 1) {
        bind_text(&r, "y",
                  "sparse_dot(reshape(x, (rows * x.shape[1], x.shape[2])), s)");
        return end_rule(
            &r, build_rule_text(&r, "reshape(y, (rows, x.shape[1], s.shape[1]))"),
            VAR_NONE);
    }
    bind_text(&r, "wide",
              "reshape(transpose(x, axes=[1, 0, 2]), (x.shape[1], rows * x.shape[2]))");
    bind_text(&r, "y", "reshape(sparse_dot(s, wide), (s.shape[0], rows, x.shape[2]))");
    return end_rule(&r, build_rule_text(&r, "transpose(y, axes=[1, 0, 2])"), VAR_NONE);
}

static bool sparse_dot_vmap(Vmap *q) {
    size_t sparse = is_sparse_input(q, 0) ? 0 : 1;
    if (!q->rows[sparse]) return dot_shared_matrix(q, sparse);
    SparseRule r = begin_rule(q);
    bind_rule_var(&r, "x", dense_input(q, 0));
    bind_rule_var(&r, "y", dense_input(q, 1));
    bool left = vmap_ndim(q, 0) == 1, right = vmap_ndim(q, 1) == 1;
    if (left) bind_text(&r, "x2", q->rows[0] ? "expand_dims(x, 1)" : "x");
    if (left)
        return end_rule(
            &r, build_rule_text(&r, q->rows[0] ? "squeeze(x2 @ y, axis=1)" : "x2 @ y"),
            VAR_NONE);
    if (right && q->rows[1])
        return end_rule(&r,
                        build_rule_text(&r, "squeeze(x @ expand_dims(y, -1), axis=-1)"),
                        VAR_NONE);
    return end_rule(&r, build_rule_text(&r, "x @ y"), VAR_NONE);
}

static bool sampled_dot_vmap(Vmap *q) {
    SparseRule r = {.q = q, .ok = true};
    Var to = q->rows[2] ? q->pattern[2] : q->in[2];
    if (!q->rows[0] && !q->rows[1])
        return apply_without_rows(q, (Var[]){q->in[0], q->in[1], to});
    bind_rule_var(&r, "x", q->in[0]);
    bind_rule_var(&r, "y", q->in[1]);
    Var all = build_rule_text(&r, "x @ y");
    return r.ok && take_at_places(q, all, 2, to);
}

static bool sparse_sum_vmap(Vmap *q) {
    SparseRule r = {.q = q, .ok = true};
    const Prop *axis = op_prop(q->b->s, q->op, q->props, "axis");
    int64_t axes[2] = {1, 2};
    size_t n = 2;
    if (axis->kind == P_INTS && axis->ints.n < 2) n = axis->ints.n;
    for (size_t i = 0; axis->kind == P_INTS && i < n; i++)
        axes[i] = axis->ints.p[i] < 0 ? axis->ints.p[i] : axis->ints.p[i] + 1;
    PropArg arg[] = {{"axis", PROP_INTS(axes, n)},
                     {"keepdims", *op_prop(q->b->s, q->op, q->props, "keepdims")}};
    Var x = dense_input(q, 0);
    return end_rule(&r, apply_named(q->b, "sum", 1, &x, 2, arg), VAR_NONE);
}

bool vmap_sparse(Vmap *q) {
    static const struct {
        const char *op;
        bool (*rule)(Vmap *q);
    } rules[] = {{"csr", from_parts_vmap},
                 {"csc", from_parts_vmap},
                 {"sparse_from_triplets", from_parts_vmap},
                 {"csr_from_dense", from_dense_vmap},
                 {"csc_from_dense", from_dense_vmap},
                 {"dense_from_sparse", to_dense_vmap},
                 {"sparse_format", convert_format_vmap},
                 {"sparse_transpose", transpose_pattern_vmap},
                 {"sparse_data", sparse_data_vmap},
                 {"sparse_indices", places_vmap},
                 {"sparse_indptr", places_vmap},
                 {"sparse_union", places_vmap},
                 {"sparse_with_data", with_data_vmap},
                 {"sparse_at", sparse_at_vmap},
                 {"sparse_like", sparse_like_vmap},
                 {"sparse_dot", sparse_dot_vmap},
                 {"sparse_sampled_dot", sampled_dot_vmap},
                 {"sparse_sum", sparse_sum_vmap}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].op, q->op->name) == 0) return rules[i].rule(q);
    return vmap_refuse(q, "its inputs are sparse");
}
