/* Facts about matrices (Facts of rewrite_impl.h), found when a guard asks: from the
 * types, the values of constants, and the ops that make them (structure_ops.c). Each
 * variable is looked at once; since nodes never change, what is known of one stays
 * true. */
#include "rewrite/rewrite_impl.h"

#include <string.h>

enum { CONSTANT_MAX = 1 << 20 }; /* elements of a constant that are looked at */

/* ---- what facts imply ---- */

static bool has(Facts have, Facts all) {
    return (have & all) == all;
}

static Facts implied_once(Facts f, bool real) {
    if (f & FACT_ZERO) f |= FACT_DIAGONAL;
    if (has(f, FACT_ZERO | FACT_SQUARE)) f |= FACT_SYMMETRIC | FACT_SEMIDEFINITE;
    if (f & FACT_POSDEF) f |= FACT_SEMIDEFINITE | FACT_POSITIVE;
    if (f & FACT_SEMIDEFINITE) f |= FACT_HERMITIAN;
    if (f & (FACT_SYMMETRIC | FACT_HERMITIAN)) f |= FACT_SQUARE;
    if (real && f & (FACT_SYMMETRIC | FACT_HERMITIAN))
        f |= FACT_SYMMETRIC | FACT_HERMITIAN;
    if (f & (FACT_SYMMETRIC | FACT_HERMITIAN) && f & FACT_DIAGONAL) f |= FACT_DIAGONAL;
    if (has(f, FACT_DIAGONAL | FACT_SQUARE)) f |= FACT_SYMMETRIC;
    if (f & FACT_SQUARE && f & (FACT_COLUMNS | FACT_ROWS)) f |= FACT_ORTHOGONAL;
    if (f & FACT_UNIT) f |= FACT_POSITIVE;
    if (has(f, FACT_IDENTITY)) f |= FACT_ORTHOGONAL;
    if (has(f, FACT_DIAGONAL | FACT_SQUARE | FACT_POSITIVE)) f |= FACT_POSDEF;
    return f;
}

static Facts implied(Facts f, bool real) {
    Facts before;
    if (!(f & ~FACT_SQUARE)) return f; /* most often */
    do {
        before = f;
        f = implied_once(f, real);
    } while (f != before);
    return f;
}

/* ---- types ---- */

/* A matrix without elements is all that elements could contradict. */
static Facts facts_of_type(const Type *t) {
    Dim rows = t->dim[t->ndim - 2], cols = t->dim[t->ndim - 1];
    Facts f = rows == cols && rows != DIM_UNKNOWN ? FACT_SQUARE : 0;
    if (rows == 0 || cols == 0) f |= FACT_ZERO;
    if (rows == 0 && cols == 0) f |= FACT_IDENTITY;
    return f;
}

/* ---- constants ---- */

typedef struct Number {
    double re, im;
} Number;

static Number number_at(const Tensor *t, const char *matrix, int64_t i, int64_t j) {
    double z[2] = {0, 0};
    const char *p = matrix + i * t->stride[t->ndim - 2] + j * t->stride[t->ndim - 1];
    if (t->dtype == DT_BOOL) return (Number){*p, 0};
    if (t->dtype == DT_FLOAT64) {
        memcpy(z, p, sizeof *z);
        return (Number){z[0], 0};
    }
    tensor_cast_elements(DT_COMPLEX128, z, t->dtype, p, 1, sizeof z, sizeof z);
    return (Number){z[0], z[1]};
}

static Facts facts_of_diagonal_element(Number a) {
    Facts f = 0;
    if (a.re == 1 && a.im == 0) f |= FACT_UNIT;
    if (a.re > 0 && a.im == 0) f |= FACT_POSITIVE;
    if (a.im == 0) f |= FACT_HERMITIAN;
    return f | FACT_SYMMETRIC;
}

static Facts facts_of_pair(Number below, Number above) {
    Facts f = FACT_UNIT | FACT_POSITIVE;
    if (below.re == 0 && below.im == 0) f |= FACT_UPPER;
    if (above.re == 0 && above.im == 0) f |= FACT_LOWER;
    if (below.re == above.re && below.im == above.im) f |= FACT_SYMMETRIC;
    if (below.re == above.re && below.im == -above.im) f |= FACT_HERMITIAN;
    return f;
}

static Facts facts_of_square(const Tensor *t, const char *matrix) {
    const Facts off = FACT_DIAGONAL;
    Facts f = off | FACT_UNIT | FACT_POSITIVE | FACT_SYMMETRIC | FACT_HERMITIAN;
    for (int64_t i = 0; f && i < t->shape[t->ndim - 1]; i++) {
        f &= facts_of_diagonal_element(number_at(t, matrix, i, i)) | off;
        for (int64_t j = 0; f && j < i; j++)
            f &= facts_of_pair(number_at(t, matrix, i, j), number_at(t, matrix, j, i));
    }
    return f;
}

static Facts facts_of_oblong(const Tensor *t, const char *matrix) {
    Facts f = FACT_DIAGONAL;
    for (int64_t i = 0; f && i < t->shape[t->ndim - 2]; i++)
        for (int64_t j = 0; f && j < t->shape[t->ndim - 1]; j++) {
            Number a = number_at(t, matrix, i, j);
            if (i != j && !(a.re == 0 && a.im == 0))
                f &= i > j ? FACT_LOWER : FACT_UPPER;
        }
    return f;
}

/* Integers beyond 2^53 may look equal as double: they tell nothing of symmetry. */
static Facts facts_of_const(const Tensor *t) {
    int64_t count = 1;
    bool square = t->shape[t->ndim - 2] == t->shape[t->ndim - 1];
    Facts f = FACTS_ALL;
    if (tensor_size(t) > CONSTANT_MAX) return 0;
    for (int k = 0; k < t->ndim - 2; k++)
        count *= t->shape[k];
    for (int64_t at = 0; f && at < count; at++) {
        const char *matrix = t->data;
        int64_t rest = at;
        for (int k = t->ndim - 2; k-- > 0; rest /= t->shape[k])
            matrix += rest % t->shape[k] * t->stride[k];
        f &= square ? facts_of_square(t, matrix) : facts_of_oblong(t, matrix);
    }
    bool wide = dtype_is_integer(t->dtype) && dtype_size(t->dtype) == 8;
    return count == 0 ? 0 : wide ? f & (FACT_DIAGONAL | FACT_UNIT | FACT_POSITIVE) : f;
}

/* ---- variables ---- */

static bool is_matrices(const Rewriter *r, Var v) {
    const Type *t = var_type(r->g, v);
    return v < r->nvar && t->kind == TYPE_TENSOR && t->ndim >= 2;
}

Facts facts_of_input(Rewriter *r, ApplyId id, size_t i) {
    Var v = rewriter_input(r, id, i);
    if (!is_matrices(r, v) || !(r->facts[v] & FACTS_DONE)) return 0;
    return r->facts[v] & FACTS_ALL;
}

static Facts find_facts(Rewriter *r, Var v, ApplyId id, FactsOf *of) {
    const Type *t = var_type(r->g, v);
    const Tensor *value = var_const(r->g, v);
    Facts f = facts_of_type(t);
    if (value) f |= facts_of_const(value);
    if (of) f |= of(r, id, v - r->g->apply[id].out);
    if (rewriter_is_zeros(r, v)) f |= FACT_ZERO;
    return implied(f, !dtype_is_complex(t->dtype)) | FACTS_DONE;
}

static inline FactsOf *facts_of_maker(const Rewriter *r, ApplyId id) {
    return id == APPLY_NONE ? NULL : r->tries.p[r->op_at[id]].facts;
}

/* Asks for the inputs of v's Apply first. An input that is being found already leads
 * back to v through a replacement: nothing is known of it. */
static bool inputs_are_known(Rewriter *r, ApplyId id) {
    bool known = true;
    for (size_t i = 0; i < r->g->apply[id].nin; i++) {
        Var v = rewriter_input(r, id, i);
        if (r->facts[v] || !is_matrices(r, v)) continue;
        ApplyId maker = var_owner(r->g, v);
        if (facts_of_maker(r, maker)) {
            vec_push(r->s, &r->asking, v);
            known = false;
        } else {
            r->facts[v] = find_facts(r, v, maker, NULL);
        }
    }
    return known;
}

static Facts facts_of(Rewriter *r, Var v) {
    vec_push(r->s, &r->asking, v);
    while (r->asking.n) {
        Var u = r->asking.p[r->asking.n - 1];
        ApplyId id = var_owner(r->g, u);
        FactsOf *of = facts_of_maker(r, id);
        bool open = r->facts[u] & FACTS_OPEN;
        if (!(r->facts[u] & FACTS_DONE)) {
            r->facts[u] = FACTS_OPEN;
            if (of && !open && !inputs_are_known(r, id)) continue;
            r->facts[u] = find_facts(r, u, id, of);
        }
        r->asking.n--;
    }
    return r->facts[v];
}

/* What only square matrices have, most matrices can't have by their types. */
static bool may_have(const Type *t, Facts facts) {
    static const Facts of_square =
        FACT_SQUARE | FACT_SYMMETRIC | FACT_HERMITIAN | FACT_SEMIDEFINITE | FACT_POSDEF;
    Dim rows = t->dim[t->ndim - 2], cols = t->dim[t->ndim - 1];
    return !(facts & of_square) || rows == cols || !dim_is_known(rows) ||
           !dim_is_known(cols);
}

bool rewriter_has_facts(Rewriter *r, Var v, Facts facts) {
    if (v < r->nvar && r->facts[v] & FACTS_DONE) return has(r->facts[v], facts);
    return is_matrices(r, v) && may_have(var_type(r->g, v), facts) &&
           has(facts_of(r, v), facts);
}
