/* solve_triangular. */
#include "ops/linalg/factor.h"
#include "ops/linalg/grad_chain.h"
#include "ops/shape/linear.h"

#include <complex.h>
#include <string.h>

static bool solve_triangular_type(Infer *in) {
    int64_t trans = infer_prop(in, "trans")->i;
    if (trans < 0 || trans > 2)
        return infer_fail(in, E_ARG, in->nin,
                          "trans is 0 (a @ x), 1 (a.T @ x) or 2 (a^H @ x), not %lld",
                          (long long)trans);
    return infer_want_rank(in, 1, 1, -1) && infer_want_same_dtype(in) &&
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
    if (!gufunc_open(&q, c, factor_solve_signature(call_in(c, 1)->ndim), "c->B") ||
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
static const char *solve_again_text(const Rule *r, int64_t trans) {
    static const char *const text[] = {
        "solve_triangular(a, v, trans=0, lower=lower, unit_diagonal=unit_diagonal)",
        "solve_triangular(a, v, trans=1, lower=lower, unit_diagonal=unit_diagonal)",
        "solve_triangular(a, v, trans=2, lower=lower, unit_diagonal=unit_diagonal)"};
    (void)r;
    return text[trans];
}

/* Keeps only the part of a whole matrix that the solve reads. */
static void read_part(Rule *r, const char *name, const char *of, bool lower,
                      bool unit) {
    rule_bind(r, "part_", rule_get(r, of));
    rule_let(r, name,
             lower  ? unit ? "tril(part_, k=-1)" : "tril(part_)"
             : unit ? "triu(part_, k=1)"
                    : "triu(part_)");
}

/* With op(A) x = b: gb = op(A)^-H g, and the gradient of op(A) is -gb x^H. */
static bool solve_triangular_pull(Pull *p) {
    Rule r = rule_pull(p);
    int64_t trans = prop_int(p->b->s, p->op, p->props, "trans");
    bool lower = prop_bool(p->b->s, p->op, p->props, "lower"),
         unit = prop_bool(p->b->s, p->op, p->props, "unit_diagonal"),
         vector = var_type(p->g, p->in[1])->ndim == 1;
    if (vector) rule_column(&r, "g"), rule_column(&r, "r");
    rule_bind(&r, "v", rule_get(&r, "g"));
    if (trans == 1) { /* A^-* g, which no value of trans expresses */
        rule_conj(&r, "v", "v");
        rule_let(&r, "y", solve_again_text(&r, 0));
        rule_conj(&r, "y", "y");
    } else {
        rule_let(&r, "y", solve_again_text(&r, 2 - trans));
    }
    if (p->wanted[0]) {
        rule_bind(&r, "left", rule_get(&r, trans == 0 ? "y" : "r"));
        rule_bind(&r, "right", rule_get(&r, trans == 0 ? "r" : "y"));
        if (trans == 1) {
            rule_conj(&r, "left", "left");
            rule_transpose(&r, "right", "right");
        } else {
            rule_hermitian(&r, "right", "right");
        }
        rule_let(&r, "m", "-(left @ right)");
        read_part(&r, "ga", "m", lower, unit);
        if (!rule_grad(&r, p, 0, "ga")) return false;
    }
    if (vector) rule_uncolumn(&r, "y");
    return !p->wanted[1] || rule_grad(&r, p, 1, "y");
}

/* dx = op(A)^-1 (db - op(dA) x) */
static bool solve_triangular_push(Push *p) {
    Rule r = rule_push(p);
    int64_t trans = prop_int(p->b->s, p->op, p->props, "trans");
    bool lower = prop_bool(p->b->s, p->op, p->props, "lower"),
         unit = prop_bool(p->b->s, p->op, p->props, "unit_diagonal"),
         vector = var_type(p->g, p->in[1])->ndim == 1;
    bool da = rule_has(&r, "d_a"), db = rule_has(&r, "d_b");
    if (!da && !db) return rule_no_tangent(p);
    if (vector) rule_column(&r, "r");
    if (vector && db) rule_column(&r, "d_b");
    if (da) {
        read_part(&r, "t", "d_a", lower, unit);
        if (trans) (trans == 1 ? rule_transpose : rule_hermitian)(&r, "t", "t");
    }
    rule_let(&r, "v", !da ? "d_b" : db ? "d_b - t @ r" : "-(t @ r)");
    rule_let(&r, "y", solve_again_text(&r, trans));
    if (vector) rule_uncolumn(&r, "y");
    return rule_result(&r, p, 0, "y");
}

static const Op table[] = {
    {.name = OP_ROW("solve_triangular"),
     .doc =
         "Solves a @ x = b for a triangular a, with trans=1 a.T @ x = b, with trans=2 "
         "a^H @ x = b. Only the upper triangle of a is read, with lower=True the "
         "lower one; with unit_diagonal its diagonal is taken for ones. A one-dim b "
         "is a vector, else its last two dims are a matrix.",
     .in = "a, b",
     .props = "trans: int = 0, lower: bool = False, unit_diagonal: bool = False",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = solve_triangular_type,
     .perform = solve_triangular_perform,
     .debug = solve_triangular_debug,
     .flops = "r.size * a.shape[-1]",
     .pull = solve_triangular_pull,
     .push = solve_triangular_push,
     .example = "solve_triangular([[2.0, 0.0], [1.0, 4.0]], [2.0, 9.0], lower=True) -> "
                "[1.0, 2.0]"},
};
const OpList ops_linalg_triangular = LIST_OF(table);
