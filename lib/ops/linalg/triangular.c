/* solve_triangular. */
#include "ops/linalg/factor.h"

#include <complex.h>
#include <string.h>

static bool solve_triangular_type(Infer *in) {
    return factor_want_trans(in) && infer_want_rank(in, 1, 1, -1) &&
           infer_want_same_dtype(in) &&
           core_type(in, factor_solve_signature(in->type[1]->ndim), NULL);
}

enum { TRANS, LOWER, UNIT };

static void read_options(Gufunc *q) {
    Call *c = q->c;
    q->option[TRANS] = prop_int(c->s, c->op, c->props, "trans");
    q->option[LOWER] = prop_bool(c->s, c->op, c->props, "lower");
    q->option[UNIT] = prop_bool(c->s, c->op, c->props, "unit_diagonal");
}

static int64_t triangular_one(const Item *it) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n'), k = gufunc_columns(q, 'k'), ld = gufunc_lead(q, 'n'),
        info = 0;
    if (n == 0 || k == 0) return 0;
    ((Trtrs *)q->fn[0])(q->option[LOWER] ? "L" : "U",
                        q->option[TRANS] == 0   ? "N"
                        : q->option[TRANS] == 1 ? "T"
                                                : "C",
                        q->option[UNIT] ? "U" : "N", &n, &k, it->in[0], &ld, it->out[0],
                        &ld, &info, 1, 1, 1);
    return info;
}

static bool run_substitution(Gufunc *q, ItemFn *one, size_t room) {
    if (!gufunc_run(q, one, room)) return false;
    return !q->bad || call_fail(q->c, E_SINGULAR,
                                "the matrix%s is singular: element "
                                "%lld of its diagonal is 0",
                                gufunc_where(q), (long long)q->bad - 1);
}

static bool solve_triangular_perform(Call *c) {
    Gufunc q;
    if (!gufunc_open_systems(&q, c, factor_solve_signature(call_in(c, 1)->ndim),
                             "c->B") ||
        !lapack_get(&q, 0, "trtrs"))
        return false;
    read_options(&q);
    return run_substitution(&q, triangular_one, 0);
}

/* Element (i, j) of the effective matrix. */
static Wide solved_element(const Gufunc *q, const Wide *a, int n, int i, int j) {
    Wide v = q->option[TRANS] ? a[j * n + i] : a[i * n + j];
    if (i == j && q->option[UNIT]) return 1;
    return q->option[TRANS] == 2 ? conj(v) : v;
}

/* By forward or back substitution. */
static int64_t triangular_slow(const Item *it) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n'), k = gufunc_columns(q, 'k');
    Wide *a = (Wide *)(void *)it->room, *b = a + (size_t)n * (size_t)n;
    bool forward = q->option[LOWER] != (q->option[TRANS] != 0);
    wide_read(q, 0, it->in[0], a);
    wide_read(q, 1, it->in[1], b);
    for (int step = 0; step < n; step++) {
        int i = forward ? step : n - 1 - step;
        Wide d = solved_element(q, a, n, i, i);
        if (d == 0 && k > 0) return i + 1;
        for (int c = 0; c < k; c++) {
            for (int j = forward ? 0 : i + 1; j < (forward ? i : n); j++)
                b[i * k + c] -= solved_element(q, a, n, i, j) * b[j * k + c];
            b[i * k + c] /= d;
        }
    }
    wide_write(q, 1, b, it->out[0]);
    return 0;
}

static bool solve_triangular_debug(Call *c) {
    Gufunc q;
    if (!gufunc_open(&q, c, factor_solve_signature(call_in(c, 1)->ndim), "rr>r"))
        return false;
    read_options(&q);
    return run_substitution(&q, triangular_slow,
                            sizeof(Wide) * (q.arg[0].bytes + q.arg[1].bytes));
}

/* ---- derivatives ---- */
/* `part` keeps what the solve reads of a matrix. */
#define TRIANGULAR_NAMES                                                               \
    "x = column(r, b)\n"                                                               \
    "again = lambda v, t: solve_triangular(a, v, trans=t, lower=lower, "               \
    "unit_diagonal=unit_diagonal)\n"                                                   \
    "part = lambda m: tril(m, k=-1) when lower, unit_diagonal\n"                       \
    "part = lambda m: tril(m) when lower\n"                                            \
    "part = lambda m: triu(m, k=1) when unit_diagonal\n"                               \
    "part = lambda m: triu(m)\n"
/* With op(A) x = b: y = gb = op(A)^-H g, and the gradient of op(A) is -gb x^H. */
static const char *const solve_triangular_pullback = TRIANGULAR_NAMES
    "g_b = uncolumn(y, b)\n"
    "v = column(g, b)\n"
    "y = again(v, 2) when trans == 0\n"
    "y = cj(again(cj(v), 0)) when trans == 1\n" /* A^-* g, for which there's no trans */
    "y = again(v, 0)\n"
    "g_a = part(-(y @ mH(x))) when trans == 0\n"
    "g_a = part(-(cj(x) @ mT(y))) when trans == 1\n"
    "g_a = part(-(x @ mH(y)))";
/* dx = op(A)^-1 (db - op(dA) x) */
static const char *const solve_triangular_pushforward =
    TRIANGULAR_NAMES "t_r = uncolumn(again(column(t_b, b) - t @ x, trans), b)\n"
                     "t = part(t_a) when trans == 0\n"
                     "t = mT(part(t_a)) when trans == 1\n"
                     "t = mH(part(t_a))";

static const Op table[] = {
    {.name = OP_ROW("solve_triangular"),
     .doc = "Solves a @ x = b for a triangular a; trans=1 solves a.T @ x = b, trans=2 "
            "a^H @ x = b. Only the upper triangle of a is read, with lower=True the "
            "lower one; with unit_diagonal its diagonal counts as ones. A one-dim b is "
            "a vector, otherwise its last two dims are a matrix.",
     .in = "a, b",
     .props = "trans: int = 0, lower: bool = False, unit_diagonal: bool = False",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = solve_triangular_type,
     .perform = solve_triangular_perform,
     .debug = solve_triangular_debug,
     .flops = "r.size * a.shape[-1]",
     .pullback = solve_triangular_pullback,
     .pushforward = solve_triangular_pushforward,
     .vmap = core_vmap_solve,
     .example = "solve_triangular([[2.0, 0.0], [1.0, 4.0]], [2.0, 9.0], lower=True) -> "
                "[1.0, 2.0]"},
};
const OpList ops_linalg_triangular = LIST_OF(table);
