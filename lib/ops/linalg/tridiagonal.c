/* Systems of equations with a tridiagonal matrix. */
#include "ops/linalg/factor.h"

typedef void Gtsv(const int *n, const int *columns, void *lower, void *main,
                  void *upper, void *b, const int *ldb, int *info);

static const char *tridiagonal_signature(int b_ndim) {
    return b_ndim == 1 ? "(n),(n),(n),(n)->(n)" : "(n),(n),(n),(n,k)->(n,k)";
}

static bool tridiagonal_type(Infer *in) {
    return core_type(in, tridiagonal_signature(in->type[3]->ndim), NULL);
}

static int64_t tridiagonal_one(const Item *it) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n'), k = gufunc_columns(q, 'k'), info = 0;
    char *lower = it->in[0];
    if (n > 0 && k > 0)
        ((Gtsv *)q->fn[0])(&n, &k, lower + dtype_size(q->dtype), it->in[1], it->in[2],
                           it->out[0], &n, &info);
    return info;
}

static bool tridiagonal_perform(Call *c) {
    Gufunc q;
    bool vector = call_in(c, 3)->ndim == 1;
    if (!gufunc_open(&q, c, tridiagonal_signature(call_in(c, 3)->ndim),
                     vector ? "rrr->3" : "rrr->D") ||
        !lapack_get(&q, 0, "gtsv"))
        return false;
    return gufunc_run(&q, tridiagonal_one, 0) && (!q.bad || factor_fail_singular(&q));
}

/* The matrix has lower[i] left of main[i] and upper[i] right of it, in row i. */
static const char *const tridiagonal_pullback =
    "to = lambda x, by: cj(shift(x, by, axis=-1))\n"
    "u = solve_tridiagonal(to(upper, 1), cj(main), to(lower, -1), column(g, b))\n"
    "g_b = uncolumn(u, b)\n"
    "x = cj(column(r, b))\n"
    "g_lower = -sum(u * shift(x, 1, axis=-2), axis=-1)\n"
    "g_main = -sum(u * x, axis=-1)\n"
    "g_upper = -sum(u * shift(x, -1, axis=-2), axis=-1)";
static const char *const tridiagonal_pushforward =
    "t_r = uncolumn(solve_tridiagonal(lower, main, upper, column(t_b, b) - d), b)\n"
    "x = column(r, b)\n"
    "d = tall(t_lower) * shift(x, 1, axis=-2) + tall(t_main) * x + tall(t_upper) * "
    "shift(x, -1, axis=-2)\n"
    "tall = lambda x: expand_dims(x, -1)";

static bool tridiagonal_vmap(Vmap *q) {
    return core_vmap_system(q, (const int[]){1, 1, 1});
}

static const Op table[] = {
    {.name = OP_ROW("solve_tridiagonal"),
     .doc = "x with a @ x = b, where row i of the matrix a has lower[i], main[i] and "
            "upper[i] around its diagonal; lower[0] and upper[-1] are ignored.",
     .in = "lower, main, upper, b",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = tridiagonal_type,
     .perform = tridiagonal_perform,
     .flops = "8 * r.size",
     .pullback = tridiagonal_pullback,
     .pushforward = tridiagonal_pushforward,
     .vmap = tridiagonal_vmap,
     .example = "solve_tridiagonal([0.0, 1.0], [2.0, 2.0], [1.0, 0.0], [4.0, 5.0]) -> "
                "[1.0, 2.0]"},
};
const OpList ops_linalg_tridiagonal = LIST_OF(table);
