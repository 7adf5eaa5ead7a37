/* The read of what ops make that have no other content: repeated values, counting, an
 * identity, a diagonal. */
#include "op/build.h"
#include "rewrite/read/read.h"

/* ---- repeated values ---- */

static bool has_all_dims(const Type *t) {
    for (int k = 0; k < t->ndim; k++)
        if (t->dim[k] == DIM_UNKNOWN) return false;
    return true;
}

/* The index must still be checked, which a view of the value does. */
static Var read_repeated_view(const Read *q) {
    Rewriter *r = q->r;
    Var in[2] = {read_input(q, 1), read_input(q, 0)};
    if (var_type(r->g, in[0])->dtype != q->t->dtype ||
        !rewrite_dims_fit(var_type(r->g, in[0]), q->t))
        return VAR_NONE;
    Var v = rewriter_apply(r, op_known(r->s, OP_BROADCAST_TO), NULL, 2, in);
    return v == VAR_NONE || !type_keeps(q->t, var_type(r->g, v))
               ? VAR_NONE
               : read_of(r, v, q->t->ndim, q->item);
}

/* broadcast_to, full, full_like, zeros_like, ones_like. */
Var read_repeated(Read *q) {
    Rewriter *r = q->r;
    const Apply *a = &r->g->apply[q->of];
    const Type *t = var_type(r->g, r->g->apply[q->id].out);
    bool zeros = rw_is(r, a, OP_ZEROS_LIKE), ones = rw_is(r, a, OP_ONES_LIKE);
    if (!read_is_safe(q) && rw_is(r, a, OP_FULL)) return read_repeated_view(q);
    if (q->nadd || !read_is_safe(q) || !has_all_dims(q->t) || !has_all_dims(t))
        return VAR_NONE;
    if (zeros || ones) {
        Var v = const_number(&r->b, t->dtype, ones);
        rewriter_grow(r);
        return rewriter_fit(r, v, t);
    }
    Var value =
        read_input(q, rw_is(r, a, OP_FULL) || rw_is(r, a, OP_FULL_LIKE) ? 1 : 0);
    if (!rewrite_dims_fit(var_type(r->g, value), q->t)) return VAR_NONE;
    value = read_operand(q, value);
    return rewriter_fit(r, value, t);
}

/* An element of start, start + step, .. by its number. */
Var read_counting(Read *q) {
    Rewriter *r = q->r;
    const Apply *a = &r->g->apply[q->of];
    int64_t at, to, start = 0, step = 1;
    static const int64_t most = INT64_MAX / 2;
    if (!q->item[0].is_at || !dtype_is_integer(q->t->dtype) ||
        !read_constant_rows(q, 0, &at, &to) ||
        (a->nin > 1 && !rewriter_int_const(r, read_input(q, 0), &start)) ||
        (a->nin > 2 && !rewriter_int_const(r, read_input(q, 2), &step)) ||
        !i64_mul(at, step, &at) || at > most || at < -most || start > most ||
        start < -most)
        return VAR_NONE;
    Var v = op_cast_to(&r->b, const_int(&r->b, start + at), q->t->dtype);
    rewriter_grow(r);
    return v;
}

/* ---- identities and diagonals ---- */

/* zeros with `value` at an index, which is checked. */
static Var one_among_zeros(Rewriter *r, Var zeros, Var value, Var at) {
    const Op *op = op_known(r->s, OP_SET_SUBTENSOR);
    PropArg arg = {"index", PROP_STR(sym(r->s, "$"))};
    Var in[3] = {zeros, value, at};
    return zeros == VAR_NONE || value == VAR_NONE
               ? VAR_NONE
               : rewriter_apply(r, op, props_make(r->s, op, 1, &arg), 3, in);
}

/* The axis that is read at an integer, of a read of one row or column; else -1. */
static int read_line(const Read *q) {
    for (int k = 0; k < 2; k++)
        if (q->item[k].is_at && read_takes_all(&q->item[!k])) return k;
    return -1;
}

/* Rows and columns of an identity are those of a smaller one, shifted. */
static Var read_eye_part(Read *q, int64_t k, int64_t from[2], const int64_t to[2]) {
    Rewriter *r = q->r;
    const Type *t = var_type(r->g, r->g->apply[q->id].out);
    ReadItem item[2];
    Var size[2];
    k += from[0] - from[1];
    if (q->item[0].is_at && q->item[1].is_at) {
        Var v = const_number(&r->b, t->dtype, k == 0);
        rewriter_grow(r);
        return v;
    }
    for (int i = 0; i < 2; i++) {
        size[i] = const_int(&r->b, to[i] - from[i]);
        item[i] = q->item[i].is_at ? read_item_at(r, 0) : read_all;
    }
    rewriter_grow(r);
    Var v = rewriter_with_prop(r, &r->g->apply[q->of], "k", PROP_INT(k), 2, size);
    return read_of(r, v, 2, item);
}

Var read_eye(Read *q) {
    Rewriter *r = q->r;
    const Apply *a = &r->g->apply[q->of];
    int64_t from[2], to[2], k = rewriter_prop(r, a, "k")->i;
    if (read_constant_rows(q, 0, &from[0], &to[0]) &&
        read_constant_rows(q, 1, &from[1], &to[1]))
        return read_eye_part(q, k, from, to);
    int line = q->item[0].is_at ? 0 : 1;
    if (!q->item[line].is_at || a->nin != 1 || k != 0) return VAR_NONE;
    Var n = read_input(q, 0),
        in[2] = {ints_stack(&r->b, 1, &n), const_number(&r->b, q->t->dtype, 0)},
        one = const_number(&r->b, q->t->dtype, 1);
    rewriter_grow(r);
    Var zeros = rewriter_apply(r, op_known(r->s, OP_FULL), NULL, 2, in);
    Var v = one_among_zeros(r, zeros, one, q->item[line].at);
    return read_of(r, v, 1, &q->item[!line]);
}

/* Of a matrix with d on its diagonal and zeros elsewhere. */
Var read_diagonal_matrix(Read *q) {
    Rewriter *r = q->r;
    Var d = chain_diagonal_of(r, q->x);
    int64_t from[2], to[2];
    if (d == VAR_NONE || !rewriter_one_client(r, q->x)) return VAR_NONE;
    int line = read_line(q);
    if (line >= 0) {
        ReadItem it = q->item[line];
        Var zeros = op_zeros_like(&r->b, d, q->t->dtype);
        rewriter_grow(r);
        return one_among_zeros(r, zeros, read_of(r, d, 1, &it), it.at);
    }
    if (!q->item[0].is_at || !q->item[1].is_at) return VAR_NONE;
    if (q->item[0].at == q->item[1].at) return read_of(r, d, 1, q->item);
    if (!read_constant_rows(q, 0, &from[0], &to[0]) ||
        !read_constant_rows(q, 1, &from[1], &to[1]))
        return VAR_NONE;
    if (from[0] == from[1]) return read_of(r, d, 1, q->item);
    Var v = const_number(&r->b, q->t->dtype, 0);
    rewriter_grow(r);
    return v;
}

/* The diagonal of a square matrix is as long as its rows are; of others, an index from
 * 0 on is out of range for one of the axes where it is for the diagonal. */
Var read_diagonal(Read *q) {
    Rewriter *r = q->r;
    const Apply *a = &r->g->apply[q->of];
    Var x = read_input(q, 0);
    const Type *t = var_type(r->g, x);
    ReadItem both[2] = {q->item[0], q->item[0]};
    int64_t i;
    if (t->ndim != 2 || !both[0].is_at || rewriter_prop(r, a, "offset")->i != 0 ||
        rewriter_prop(r, a, "axis1")->i != 0 || rewriter_prop(r, a, "axis2")->i != 1)
        return VAR_NONE;
    bool square = t->dim[0] == t->dim[1] && t->dim[0] != DIM_UNKNOWN;
    if (!square && (!rewriter_int_const(r, both[0].at, &i) || i < 0)) return VAR_NONE;
    return read_of(r, x, 2, both);
}
