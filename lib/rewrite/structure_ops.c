/* Facts about the results of ops, from those of their inputs: a row for each op that
 * tells something. */
#include "rewrite/rewrite_impl.h"

#include <stdlib.h>
#include <string.h>

static const Facts mirrored = FACT_SYMMETRIC | FACT_HERMITIAN;

static const Type *type_of_input(Rewriter *r, ApplyId id, size_t i) {
    return var_type(r->g, rewriter_input(r, id, i));
}
static const Type *type_of_output(Rewriter *r, ApplyId id) {
    return var_type(r->g, r->g->apply[id].out);
}
static const Prop *prop_of(Rewriter *r, ApplyId id, const char *name) {
    return rewriter_prop(r, &r->g->apply[id], name);
}
static const char *text_prop(Rewriter *r, ApplyId id, const char *name) {
    return sym_text(r->s, prop_of(r, id, name)->sym);
}

static Facts turned(Facts f) {
    Facts swap = FACT_LOWER | FACT_UPPER | FACT_ROWS | FACT_COLUMNS, t = f & ~swap;
    if (f & FACT_LOWER) t |= FACT_UPPER;
    if (f & FACT_UPPER) t |= FACT_LOWER;
    if (f & FACT_ROWS) t |= FACT_COLUMNS;
    if (f & FACT_COLUMNS) t |= FACT_ROWS;
    return t;
}

/* ---- shapes ---- */

int structure_transposes(Rewriter *r, const Apply *a) {
    int64_t axes[MAX_NDIM];
    int n = var_type(r->g, a->out)->ndim;
    if (n < 2) return -1;
    rewriter_transpose_axes(r, a, n, axes);
    for (int k = 0; k < n - 2; k++)
        if (axes[k] != k) return -1;
    if (axes[n - 1] == n - 1 && axes[n - 2] == n - 2) return 0;
    return axes[n - 1] == n - 2 && axes[n - 2] == n - 1 ? 1 : -1;
}

static Facts of_transpose(Rewriter *r, ApplyId id, size_t out) {
    int how = structure_transposes(r, &r->g->apply[id]);
    Facts f = facts_of_input(r, id, 0);
    (void)out;
    return how < 0 ? 0 : how ? turned(f) : f;
}

static Facts of_identity(Rewriter *r, ApplyId id, size_t out) {
    return out == 0 ? facts_of_input(r, id, 0) : 0;
}

/* New dims in front of the matrices. */
static Facts of_expand_dims(Rewriter *r, ApplyId id, size_t out) {
    const Prop *axis = prop_of(r, id, "axis");
    int n = type_of_output(r, id)->ndim;
    (void)out;
    for (size_t i = 0; axis->kind == P_INTS && i < axis->ints.n; i++)
        if (axis->ints.p[i] < 0 || axis->ints.p[i] >= n - 2) return 0;
    return axis->kind == P_INTS ? facts_of_input(r, id, 0) : 0;
}

static Facts of_broadcast(Rewriter *r, ApplyId id, size_t out) {
    const Type *x = type_of_input(r, id, 0), *to = type_of_output(r, id);
    (void)out;
    if (x->ndim < 2) return 0;
    for (int k = 1; k <= 2; k++)
        if (x->dim[x->ndim - k] == 1 && to->dim[to->ndim - k] != 1) return 0;
    return facts_of_input(r, id, 0);
}

/* Rounding to integers and truth values may tell two nearly equal numbers apart. */
static Facts of_cast(Rewriter *r, ApplyId id, size_t out) {
    DType from = type_of_input(r, id, 0)->dtype, to = type_of_output(r, id)->dtype;
    Facts f = facts_of_input(r, id, 0), zeros = FACT_DIAGONAL | FACT_ZERO | FACT_SQUARE;
    (void)out;
    if (!dtype_is_inexact(from)) {
        bool fits = dtype_is_inexact(to) || from == DT_BOOL;
        return fits ? f : f & (zeros | mirrored);
    }
    if (!dtype_is_inexact(to)) return f & (to == DT_BOOL ? FACT_SQUARE : zeros);
    if (dtype_is_complex(from) && !dtype_is_complex(to)) {
        if (f & FACT_HERMITIAN) f |= FACT_SYMMETRIC;
        return f & (zeros | FACT_SYMMETRIC);
    }
    size_t before = dtype_size(dtype_real(from)), after = dtype_size(dtype_real(to));
    if (after == before) return f;
    return f & (zeros | mirrored | FACT_UNIT); /* the rounding errors are another's */
}

/* ---- creation ---- */

static Facts of_eye(Rewriter *r, ApplyId id, size_t out) {
    int64_t k = prop_of(r, id, "k")->i;
    size_t n = r->g->apply[id].nin;
    (void)out;
    if (k) return k < 0 ? FACT_LOWER : FACT_UPPER;
    return FACT_DIAGONAL | FACT_UNIT |
           (rewriter_input(r, id, 0) == rewriter_input(r, id, n - 1) ? FACT_SQUARE : 0);
}

static bool is_nonnegative_real(Rewriter *r, Var v) {
    return !dtype_is_complex(var_type(r->g, v)->dtype) && rewriter_is_nonnegative(r, v);
}

/* What is written at places [i, i] only changes the diagonal. */
static Facts of_write(Rewriter *r, ApplyId id, size_t out) {
    const Apply *a = &r->g->apply[id];
    Facts f = facts_of_input(r, id, 0);
    (void)out;
    if (a->nin != 4 || !(f & FACT_SQUARE) || type_of_output(r, id)->ndim != 2 ||
        strcmp(text_prop(r, id, "index"), "$, $") != 0 ||
        rewriter_input(r, id, 2) != rewriter_input(r, id, 3))
        return 0;
    Var v = rewriter_input(r, id, 1);
    bool zeros = f & FACT_ZERO;
    f &= FACT_DIAGONAL | FACT_SQUARE | FACT_SYMMETRIC;
    if (zeros && dtype_is_inexact(var_type(r->g, v)->dtype) &&
        is_nonnegative_real(r, v))
        f |= FACT_SEMIDEFINITE;
    return f;
}

/* ---- elementwise ---- */

/* Does input i have the whole matrices of the result, not one row or column of them? */
static bool is_whole(Rewriter *r, ApplyId id, size_t i) {
    const Type *x = type_of_input(r, id, i), *to = type_of_output(r, id);
    if (x->kind != TYPE_TENSOR || x->ndim < 2) return false;
    for (int k = 1; k <= 2; k++)
        if (x->dim[x->ndim - k] == 1 && to->dim[to->ndim - k] != 1) return false;
    return true;
}

/* Is input i one number for each matrix? */
static bool is_number(Rewriter *r, ApplyId id, size_t i) {
    const Type *x = type_of_input(r, id, i);
    for (int k = 1; k <= 2 && k <= x->ndim; k++)
        if (x->dim[x->ndim - k] != 1) return false;
    return x->kind == TYPE_TENSOR;
}

/* The same function of all elements, and so of both sides of the diagonal. It must not
 * make much of rounding errors, as floor and log would. */
static Facts of_elements(Rewriter *r, ApplyId id, size_t out) {
    Facts f = FACT_SYMMETRIC;
    bool any = false;
    (void)out;
    for (size_t i = 0; i < r->g->apply[id].nin; i++) {
        any |= is_whole(r, id, i);
        if (is_whole(r, id, i))
            f &= facts_of_input(r, id, i);
        else if (!is_number(r, id, i))
            return 0;
    }
    return any ? f : 0;
}

/* A smooth function of one number that is 0 at 0. */
static Facts of_odd(Rewriter *r, ApplyId id, size_t out) {
    (void)out;
    return facts_of_input(r, id, 0) &
           (FACT_DIAGONAL | FACT_ZERO | FACT_SQUARE | FACT_SYMMETRIC);
}

static Facts of_negative(Rewriter *r, ApplyId id, size_t out) {
    (void)out;
    return facts_of_input(r, id, 0) & (FACT_DIAGONAL | FACT_ZERO | FACT_SQUARE |
                                       mirrored | FACT_COLUMNS | FACT_ROWS);
}

/* A matrix without its transposes and conjugates. */
typedef struct Plain {
    Var v;
    bool turned, conj;
} Plain;

static Plain plain_of(Rewriter *r, Var v) {
    Plain p = {.v = v};
    for (int depth = 0; depth < 4; depth++) {
        ApplyId id = var_owner(r->g, p.v);
        const Apply *a = id == APPLY_NONE ? NULL : &r->g->apply[id];
        if (rw_is(r, a, OP_TRANSPOSE) && structure_transposes(r, a) == 1)
            p.turned = !p.turned;
        else if (rw_is(r, a, OP_CONJ))
            p.conj = !p.conj;
        else
            break;
        p.v = rewriter_input(r, id, 0);
    }
    return p;
}

/* FACT_SYMMETRIC: one is the transpose of the other; FACT_HERMITIAN: its conjugate
 * transpose. */
static Facts relation(Rewriter *r, Var x, Var y) {
    Plain p = plain_of(r, x), q = plain_of(r, y);
    Facts base = var_type(r->g, p.v)->ndim >= 2 ? r->facts[p.v] : 0, f = 0;
    bool conj = p.conj != q.conj, turned = p.turned != q.turned;
    if (p.v != q.v) return 0;
    if (turned || base & FACT_SYMMETRIC) f |= conj ? FACT_HERMITIAN : FACT_SYMMETRIC;
    if (!turned && base & FACT_HERMITIAN) f |= conj ? FACT_SYMMETRIC : FACT_HERMITIAN;
    if (!dtype_is_complex(var_type(r->g, p.v)->dtype) && f) f |= mirrored;
    return f;
}

static Facts of_sum(Rewriter *r, ApplyId id, bool minus) {
    Facts x = facts_of_input(r, id, 0), y = facts_of_input(r, id, 1);
    Facts keep = FACT_DIAGONAL | FACT_ZERO | mirrored;
    if (!is_whole(r, id, 0) || !is_whole(r, id, 1)) return of_elements(r, id, 0);
    if (y & FACT_ZERO) return x;
    if (x & FACT_ZERO && !minus) return y;
    if (!minus && dtype_is_inexact(type_of_output(r, id)->dtype))
        keep |= FACT_SEMIDEFINITE | FACT_POSITIVE;
    return (x & y & keep) |
           (minus ? 0
                  : relation(r, rewriter_input(r, id, 0), rewriter_input(r, id, 1)));
}

static Facts of_add(Rewriter *r, ApplyId id, size_t out) {
    (void)out;
    return of_sum(r, id, false);
}

static Facts of_subtract(Rewriter *r, ApplyId id, size_t out) {
    (void)out;
    return of_sum(r, id, true);
}

/* Facts of x[:, None] * y by what is known of the vectors. */
typedef struct Line {
    Var v; /* VAR_NONE: no vector */
    bool column, conj;
} Line;

static Line line_of(Rewriter *r, Var v) {
    Line l = {.v = v};
    for (int depth = 0; depth < 4 && l.v != VAR_NONE; depth++) {
        ApplyId id = var_owner(r->g, l.v);
        const Apply *a = id == APPLY_NONE ? NULL : &r->g->apply[id];
        bool expands = rw_is(r, a, OP_EXPAND_DIMS);
        if (!expands && !rw_is(r, a, OP_CONJ)) break;
        l.conj ^= !expands;
        if (expands) {
            const Prop *axis = prop_of(r, id, "axis");
            bool one = var_type(r->g, a->out)->ndim == 2 && axis->kind == P_INTS &&
                       axis->ints.n == 1;
            l.column |= one && axis->ints.p[0] == 1;
            if (!one) break;
        }
        l.v = rewriter_input(r, id, 0);
    }
    if (var_type(r->g, l.v)->ndim != 1) l.v = VAR_NONE;
    return l;
}

static Facts of_outer(Rewriter *r, ApplyId id) {
    Line x = line_of(r, rewriter_input(r, id, 0)),
         y = line_of(r, rewriter_input(r, id, 1));
    DType d = type_of_output(r, id)->dtype;
    if (type_of_output(r, id)->ndim != 2 || x.v == VAR_NONE || x.v != y.v ||
        x.column == y.column)
        return 0;
    if (dtype_is_complex(d))
        return x.conj == y.conj ? FACT_SYMMETRIC : FACT_SEMIDEFINITE;
    return dtype_is_inexact(d) ? FACT_SEMIDEFINITE : FACT_SYMMETRIC;
}

/* Matrices by one number each, about which it is asked only if there is a fact to keep.
 */
static Facts scaled(Rewriter *r, Facts f, Var number) {
    Facts keep = FACT_DIAGONAL | FACT_ZERO | FACT_SYMMETRIC;
    if (!(f & (keep | FACT_SEMIDEFINITE | FACT_POSDEF | FACT_POSITIVE))) return 0;
    if (dtype_is_inexact(var_type(r->g, number)->dtype)) {
        if (is_nonnegative_real(r, number)) keep |= FACT_SEMIDEFINITE;
        if (rewriter_is_positive(r, number)) keep |= FACT_POSDEF | FACT_POSITIVE;
    }
    return f & keep;
}

static Facts of_multiply(Rewriter *r, ApplyId id, size_t out) {
    Facts x = facts_of_input(r, id, 0), y = facts_of_input(r, id, 1), f = 0;
    bool wx = is_whole(r, id, 0), wy = is_whole(r, id, 1);
    (void)out;
    if (wx) f |= x & (FACT_DIAGONAL | FACT_ZERO | FACT_SQUARE);
    if (wy) f |= y & (FACT_DIAGONAL | FACT_ZERO | FACT_SQUARE);
    if (wx && wy) {
        f |= x & y & (mirrored | FACT_UNIT);
        if (dtype_is_inexact(type_of_output(r, id)->dtype))
            f |= x & y & FACT_SEMIDEFINITE;
        return f;
    }
    if (wx && is_number(r, id, 1)) return f | scaled(r, x, rewriter_input(r, id, 1));
    if (wy && is_number(r, id, 0)) return f | scaled(r, y, rewriter_input(r, id, 0));
    return f | of_outer(r, id);
}

static Facts of_divide(Rewriter *r, ApplyId id, size_t out) {
    Var number = rewriter_input(r, id, 1);
    (void)out;
    if (!is_whole(r, id, 0) || !is_number(r, id, 1)) return 0;
    Facts f = scaled(r, facts_of_input(r, id, 0), number);
    return !f || rewriter_is_positive(r, number)
               ? f
               : f & (FACT_DIAGONAL | FACT_ZERO | FACT_SYMMETRIC);
}

enum { COUNT_MAX = 1 << 30 };

/* The same of a constant, which arange becomes where the size is known. */
static bool is_constant_count(const Tensor *t, bool *down, int64_t *plus) {
    if (!dtype_is_integer(t->dtype) || t->ndim < 1 || t->ndim > 2) return false;
    int64_t n = tensor_size(t), first = n ? tensor_i64(t, 0) : 0;
    bool column = t->ndim == 2 && t->shape[1] == 1;
    if (n == 0 || (t->ndim == 2 && !column && t->shape[0] != 1)) return false;
    if (n > COUNT_MAX || first > COUNT_MAX || first < -COUNT_MAX) return false;
    for (int64_t i = 1; i < n; i++)
        if (tensor_i64(t, i) != first + i) return false;
    *down |= column;
    *plus += first;
    return true;
}

/* Numbers 0, 1, ... down the rows or along the columns, plus a constant. */
static bool is_count(Rewriter *r, Var v, bool *down, int64_t *plus) {
    *down = false;
    *plus = 0;
    for (int depth = 0; depth < 4; depth++) {
        ApplyId id = var_owner(r->g, v);
        const Apply *a = id == APPLY_NONE ? NULL : &r->g->apply[id];
        int64_t k;
        size_t rest = 0;
        if (rw_is(r, a, OP_ARANGE)) return a->nin == 1;
        if (rw_is(r, a, OP_ADD)) {
            rest = rewriter_int_const(r, rewriter_input(r, id, 0), &k);
            if (!rest && !rewriter_int_const(r, rewriter_input(r, id, 1), &k))
                return false;
            if (k > COUNT_MAX || k < -COUNT_MAX) return false;
            *plus += k;
        } else if (rw_is(r, a, OP_EXPAND_DIMS)) {
            const Prop *axis = prop_of(r, id, "axis");
            if (var_type(r->g, a->out)->ndim != 2 || axis->kind != P_INTS ||
                axis->ints.n != 1)
                return false;
            *down |= axis->ints.p[0] == 1;
        } else {
            const Tensor *t = var_const(r->g, v);
            return t && is_constant_count(t, down, plus);
        }
        v = rewriter_input(r, id, rest);
    }
    return false;
}

/* The mask of a triangle: i + k >= j. */
static Facts of_compare(Rewriter *r, ApplyId id, size_t out) {
    const char *name = r->g->apply[id].op->name;
    bool down, along, greater = strncmp(name, "greater", 7) == 0,
                      equal = strstr(name, "equal") != NULL;
    int64_t i, j;
    (void)out;
    if (type_of_output(r, id)->ndim != 2 ||
        !is_count(r, rewriter_input(r, id, 0), &down, &i) ||
        !is_count(r, rewriter_input(r, id, 1), &along, &j) || down == along)
        return 0;
    int64_t k = i - j;
    /* row + k >= column, or >, <=, < */
    if (along) greater = !greater, k = -k;
    if (greater) return k - !equal <= 0 ? FACT_LOWER : 0;
    return k + !equal >= 0 ? FACT_UPPER : 0;
}

static Facts of_where(Rewriter *r, ApplyId id, size_t out) {
    Facts x = facts_of_input(r, id, 1), y = facts_of_input(r, id, 2);
    Facts c = is_whole(r, id, 0) ? facts_of_input(r, id, 0) & FACT_DIAGONAL : 0;
    Var other = rewriter_input(r, id, 2);
    if (!is_whole(r, id, 1)) x = 0;
    if (!is_whole(r, id, 2)) y = rewriter_is_zeros(r, other) ? FACT_DIAGONAL : 0;
    if (is_number(r, id, 0) && is_whole(r, id, 1) && is_whole(r, id, 2)) return x & y;
    return ((x | c) & y & FACT_DIAGONAL) | of_elements(r, id, out);
}

/* ---- products ---- */

static Facts triangle_of(Facts f) {
    return f & FACT_DIAGONAL;
}

/* The middle of a.T @ s @ a, of an Apply that multiplies. */
static bool split_sandwich(Rewriter *r, Var x, Var y, Var *first, Var *middle,
                           Var *last) {
    ApplyId left = var_owner(r->g, x), right = var_owner(r->g, y);
    if (rewriter_known_owner(r, x, OP_MATMUL) && type_of_output(r, left)->ndim == 2) {
        *first = rewriter_input(r, left, 0);
        *middle = rewriter_input(r, left, 1);
        *last = y;
        if (relation(r, *first, *last)) return true;
    }
    if (!rewriter_known_owner(r, y, OP_MATMUL) || type_of_output(r, right)->ndim != 2)
        return false;
    *first = x;
    *middle = rewriter_input(r, right, 0);
    *last = rewriter_input(r, right, 1);
    return relation(r, *first, *last) != 0;
}

static Facts definite_product(Rewriter *r, ApplyId id, Facts how) {
    Facts f = how & mirrored;
    DType d = type_of_output(r, id)->dtype;
    if (f & FACT_HERMITIAN && dtype_is_inexact(d)) f |= FACT_SEMIDEFINITE;
    return f;
}

static Facts of_gram(Rewriter *r, ApplyId id) {
    Var x = rewriter_input(r, id, 0), y = rewriter_input(r, id, 1), first, middle, last;
    Facts f = definite_product(r, id, relation(r, x, y));
    if (f || !split_sandwich(r, x, y, &first, &middle, &last) ||
        var_type(r->g, middle)->ndim != 2)
        return f;
    Facts inner = r->facts[middle] & FACTS_ALL;
    f = definite_product(r, id, relation(r, first, last) & inner);
    return inner & FACT_SEMIDEFINITE ? f : f & mirrored;
}

static Facts of_matmul(Rewriter *r, ApplyId id, size_t out) {
    Facts x = facts_of_input(r, id, 0), y = facts_of_input(r, id, 1), both = x & y;
    (void)out;
    if (type_of_input(r, id, 0)->ndim < 2 || type_of_input(r, id, 1)->ndim < 2)
        return 0;
    Facts f = both & (FACT_DIAGONAL | FACT_COLUMNS | FACT_ROWS | FACT_SQUARE);
    f |= (x | y) & FACT_ZERO;
    if (triangle_of(both) && both & FACT_SQUARE) {
        f |= both & FACT_UNIT;
        if (dtype_is_inexact(type_of_output(r, id)->dtype)) f |= both & FACT_POSITIVE;
    }
    return f | of_gram(r, id);
}

/* ---- inverses and factors ---- */

static Facts of_inverse(Rewriter *r, ApplyId id, size_t out) {
    Facts x = facts_of_input(r, id, 0),
          f = x & (FACT_DIAGONAL | mirrored | FACT_ORTHOGONAL | FACT_SEMIDEFINITE |
                   FACT_POSDEF);
    (void)out;
    if (triangle_of(x)) f |= x & (FACT_UNIT | FACT_POSITIVE);
    return f | FACT_SQUARE;
}

static Facts of_pinv(Rewriter *r, ApplyId id, size_t out) {
    (void)out;
    return turned(facts_of_input(r, id, 0) &
                  (FACT_SQUARE | mirrored | FACT_COLUMNS | FACT_ROWS | FACT_ZERO |
                   FACT_SEMIDEFINITE));
}

static bool solves_matrices(Rewriter *r, ApplyId id) {
    return type_of_input(r, id, 1)->ndim >= 2;
}

static Facts of_solve(Rewriter *r, ApplyId id, size_t out) {
    Facts x = facts_of_input(r, id, 0), y = facts_of_input(r, id, 1);
    (void)out;
    if (!solves_matrices(r, id) || strcmp(text_prop(r, id, "assume_a"), "gen") != 0)
        return 0;
    return (x & y & (FACT_DIAGONAL | FACT_ORTHOGONAL)) | (y & FACT_ZERO);
}

static Facts of_solve_triangular(Rewriter *r, ApplyId id, size_t out) {
    Facts y = facts_of_input(r, id, 1);
    bool lower = prop_of(r, id, "lower")->i != 0,
         turn = prop_of(r, id, "trans")->i != 0;
    (void)out;
    if (!solves_matrices(r, id)) return 0;
    return y & ((lower != turn ? FACT_LOWER : FACT_UPPER) | FACT_ZERO);
}

static Facts of_cholesky(Rewriter *r, ApplyId id, size_t out) {
    (void)out;
    return FACT_SQUARE | (prop_of(r, id, "lower")->i ? FACT_LOWER : FACT_UPPER) |
           (prop_of(r, id, "semidefinite")->i ? 0 : FACT_POSITIVE) |
           (facts_of_input(r, id, 0) & FACT_DIAGONAL);
}

static Facts of_cho_factor(Rewriter *r, ApplyId id, size_t out) {
    (void)out;
    return FACT_SQUARE | FACT_POSITIVE |
           (prop_of(r, id, "lower")->i ? FACT_LOWER : FACT_UPPER) |
           (facts_of_input(r, id, 0) & FACT_DIAGONAL);
}

static Facts of_cholesky_inverse(Rewriter *r, ApplyId id, size_t out) {
    (void)r, (void)id, (void)out;
    return FACT_SEMIDEFINITE;
}

static Facts of_qr(Rewriter *r, ApplyId id, size_t out) {
    const char *mode = text_prop(r, id, "mode");
    if (out == 1 || strcmp(mode, "r") == 0) return FACT_UPPER;
    return strcmp(mode, "complete") == 0 ? FACT_ORTHOGONAL : FACT_COLUMNS;
}

static Facts of_eigh(Rewriter *r, ApplyId id, size_t out) {
    (void)r, (void)id;
    return out == 1 ? FACT_ORTHOGONAL : 0;
}

static Facts of_svd(Rewriter *r, ApplyId id, size_t out) {
    if (!prop_of(r, id, "compute_uv")->i) return 0;
    if (prop_of(r, id, "full_matrices")->i) return out == 1 ? 0 : FACT_ORTHOGONAL;
    return out == 0 ? FACT_COLUMNS : out == 2 ? FACT_ROWS : 0;
}

static Facts of_lu(Rewriter *r, ApplyId id, size_t out) {
    (void)r, (void)id;
    return out == 0 ? FACT_ORTHOGONAL : out == 1 ? FACT_LOWER | FACT_UNIT : FACT_UPPER;
}

static Facts of_expm(Rewriter *r, ApplyId id, size_t out) {
    (void)out;
    return FACT_SQUARE | (facts_of_input(r, id, 0) & (FACT_DIAGONAL | mirrored));
}

static Facts of_schur(Rewriter *r, ApplyId id, size_t out) {
    bool complex = dtype_is_complex(type_of_input(r, id, 0)->dtype);
    return out == 1 ? FACT_ORTHOGONAL : FACT_SQUARE | (complex ? FACT_UPPER : 0);
}

static Facts of_assertion(Rewriter *r, ApplyId id, size_t out) {
    static const struct {
        const char *kind;
        Facts facts;
    } claims[] = {{"diagonal", FACT_DIAGONAL},
                  {"hermitian", FACT_HERMITIAN},
                  {"lower", FACT_LOWER},
                  {"orthogonal", FACT_ORTHOGONAL},
                  {"orthonormal", FACT_COLUMNS},
                  {"posdef", FACT_POSDEF},
                  {"semidefinite", FACT_SEMIDEFINITE},
                  {"symmetric", FACT_SYMMETRIC},
                  {"upper", FACT_UPPER}};
    const char *kind = text_prop(r, id, "kind");
    Facts f = facts_of_input(r, id, 0);
    (void)out;
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++)
        if (strcmp(kind, claims[i].kind) == 0) f |= claims[i].facts;
    return f;
}

/* ---- the table ---- */

typedef struct FactRow {
    const char *op;
    FactsOf *of;
} FactRow;
static const FactRow rows[] = {
    /* by name */
    {"abs", of_odd},
    {"add", of_add},
    {"arcsin", of_odd},
    {"arcsinh", of_odd},
    {"arctan", of_odd},
    {"assert_structure", of_assertion},
    {"broadcast_to", of_broadcast},
    {"cast", of_cast},
    {"cho_factor", of_cho_factor},
    {"cholesky", of_cholesky},
    {"cholesky_inverse", of_cholesky_inverse},
    {"conj", of_identity},
    {"cos", of_elements},
    {"cosh", of_elements},
    {"eigh", of_eigh},
    {"erf", of_odd},
    {"exp", of_elements},
    {"expand_dims", of_expand_dims},
    {"expm", of_expm},
    {"expm1", of_odd},
    {"eye", of_eye},
    {"greater", of_compare},
    {"greater_equal", of_compare},
    {"inc_subtensor", of_write},
    {"inv", of_inverse},
    {"less", of_compare},
    {"less_equal", of_compare},
    {"log1p", of_odd},
    {"lu", of_lu},
    {"matmul", of_matmul},
    {"maximum", of_elements},
    {"minimum", of_elements},
    {"multiply", of_multiply},
    {"negative", of_negative},
    {"pinv", of_pinv},
    {"qr", of_qr},
    {"schur", of_schur},
    {"set_subtensor", of_write},
    {"sin", of_odd},
    {"sinh", of_odd},
    {"solve", of_solve},
    {"solve_triangular", of_solve_triangular},
    {"square", of_odd},
    {"subtract", of_subtract},
    {"svd", of_svd},
    {"tan", of_odd},
    {"tanh", of_odd},
    {"transpose", of_transpose},
    {"true_divide", of_divide},
    {"where", of_where},
};

static int compare_fact_row(const void *name, const void *row) {
    return strcmp(name, ((const FactRow *)row)->op);
}

FactsOf *facts_of_op(const Op *op) {
    const FactRow *row = bsearch(op->name, rows, sizeof rows / sizeof *rows,
                                 sizeof *rows, compare_fact_row);
    if (row) return row->of;
    return op->identity && !op->effect ? of_identity
                                       : NULL; /* plant may change a sow */
}
