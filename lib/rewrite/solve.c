/* Systems of one matrix, or of its transpose, and its determinant from one
 * factorisation: a system and its gradient have the same matrix, but for a transpose,
 * and so have the steps of a loop if none of them changes it. */
#include "rewrite/scan/pass.h"

#include <string.h>

typedef enum SystemKind {
    GENERAL,  /* solve(a, b): lu_solve with this trans */
    PROBABLY, /* of a matrix that is probably positive definite: as the general ones */
    POSITIVE, /* of a triangle of a positive definite matrix: cho_solve with this lower
               */
    DET,      /* slogdet(a), which follows from the factors */
    FACTOR,   /* cho_factor(a) beside cholesky(a) */
    KIND_N
} SystemKind;
typedef struct System {
    SystemKind kind;
    ApplyId id;
    Var of;
    int trans;
    bool lower;
} System;

/* What is asked of the matrix that a variable is. Work is counted in n^3 / 3 flops: it
 * pays to factorise once if that takes less than they take alone. */
enum { LU_WORK = 2 };
static const uint8_t own_work[KIND_N] = {[GENERAL] = 2, [PROBABLY] = 1, [DET] = 2};
typedef struct Factors {
    bool systems;
    uint32_t work;
    Var lu[2]; /* lu and piv, once they are made */
    struct Cholesky {
        uint32_t systems;
        Var c;     /* once it is made, or the graph's own */
    } triangle[2]; /* the upper, the lower */
} Factors;
typedef struct SolvePass {
    Rewriter *r;
    Factors *of; /* by variable */
    Vec(System) system;
} SolvePass;

/* The matrix that v is, is the transpose of, or the conjugate transpose of. */
static Var matrix_behind(Rewriter *r, Var v, int *trans) {
    bool transposed = false, conj = false;
    Var best = v;
    *trans = 0;
    for (int depth = 0; depth < 4; depth++) {
        ApplyId id = var_owner(r->g, v);
        if (id == APPLY_NONE) break;
        const Apply *a = &r->g->apply[id];
        if (op_is(r->s, a->op, OP_CONJ))
            conj = !conj;
        else if (op_is(r->s, a->op, OP_TRANSPOSE) && structure_transposes(r, a) == 1)
            transposed = !transposed;
        else
            break;
        v = apply_in(r->g, id)[0];
        if (conj && !transposed) continue; /* lu_solve takes no conjugate alone */
        best = v;
        *trans = conj ? 2 : transposed;
    }
    return best;
}

static SystemKind kind_of(Rewriter *r, const Apply *a) {
    if (op_is(r->s, a->op, OP_SLOGDET)) return DET;
    if (op_is(r->s, a->op, OP_CHO_FACTOR)) return FACTOR;
    if (!op_is(r->s, a->op, OP_SOLVE)) return KIND_N;
    const char *assume =
        sym_text(r->s, op_prop(r->s, a->op, a->props, "assume_a")->sym);
    return strcmp(assume, "gen") == 0    ? GENERAL
           : strcmp(assume, "semi") == 0 ? PROBABLY
           : strcmp(assume, "pos") == 0  ? POSITIVE
                                         : KIND_N;
}

static bool reads_lower(Rewriter *r, const Apply *a) {
    return op_prop(r->s, a->op, a->props, "lower")->i != 0;
}

/* same: of a loop's body, what no step changes; a system of it is one in each step. */
static void add_system(SolvePass *q, System x, const uint8_t *same) {
    Rewriter *r = q->r;
    const Var *in = apply_in(r->g, x.id);
    bool complex = dtype_is_complex(var_type(r->g, in[0])->dtype);
    if (x.kind == DET && complex) return;
    x.of = matrix_behind(r, in[0], &x.trans);
    if (x.kind == POSITIVE || x.kind == FACTOR) {
        x.lower = reads_lower(r, &r->g->apply[x.id]);
        if (x.trans == (complex ? 2 : 1))
            x.lower = !x.lower; /* the same matrix by its other triangle */
        else
            x.of = in[0];
    }
    vec_push(r->s, &q->system, x);
    Factors *f = &q->of[x.of];
    bool solves = x.kind <= POSITIVE,
         each_step = solves && same && same[x.of] && !same[in[1]];
    if (x.kind == POSITIVE || x.kind == FACTOR) {
        f->triangle[x.lower].systems += each_step ? 2 : 1;
    } else {
        f->systems |= solves;
        f->work += own_work[x.kind] * (each_step ? LU_WORK + 1u : 1u);
    }
}

static void find_systems(SolvePass *q, const uint8_t *live, const uint8_t *same) {
    Rewriter *r = q->r;
    for (ApplyId id = 0; id < r->g->napply; id++) {
        const Apply *a = &r->g->apply[id];
        if (!live[a->out] && (a->nout == 1 || !live[a->out + 1])) continue;
        System x = {.kind = kind_of(r, a), .id = id};
        if (x.kind < KIND_N) add_system(q, x, same);
        if (op_is(r->s, a->op, OP_CHOLESKY) &&
            !op_prop(r->s, a->op, a->props, "semidefinite")->i)
            q->of[apply_in(r->g, id)[0]].triangle[reads_lower(r, a)].c = a->out;
    }
}

/* Is it worth it to solve, or have the determinant, by factors that are shared? */
static bool is_shared(const SolvePass *q, const System *x) {
    const Factors *f = &q->of[x->of];
    const struct Cholesky *c = &f->triangle[x->lower];
    if (x->kind == FACTOR || x->kind == POSITIVE)
        return c->c != VAR_NONE || (x->kind == POSITIVE && c->systems > 1);
    return f->systems && f->work > LU_WORK;
}

/* In the place of the first system that needs the factors, which the others follow. */
static bool factorise(SolvePass *q, const System *x, Factors *f) {
    Rewriter *r = q->r;
    if (x->kind != POSITIVE && x->kind != FACTOR) {
        const Op *op = op_known(r->s, OP_LU_FACTOR);
        return f->lu[0] != VAR_NONE ||
               op_apply(&r->b, op, props_make(r->s, op, 0, NULL), 1, &x->of, f->lu);
    }
    Var *c = &f->triangle[x->lower].c;
    PropArg lower = {"lower", PROP_BOOL(x->lower)};
    if (*c == VAR_NONE) *c = apply_named(&r->b, "cho_factor", 1, &x->of, 1, &lower);
    return *c != VAR_NONE;
}

static bool solve_by_factors(SolvePass *q, const System *x, Var *out) {
    Rewriter *r = q->r;
    const Factors *f = &q->of[x->of];
    Var b = apply_in(r->g, x->id)[1];
    PropArg trans = {"trans", PROP_INT(x->trans)},
            lower = {"lower", PROP_BOOL(x->lower)};
    if (x->kind == POSITIVE)
        *out = apply_named(&r->b, "cho_solve", 2, (Var[]){f->triangle[x->lower].c, b},
                           1, &lower);
    else
        *out = apply_named(&r->b, "lu_solve", 3, (Var[]){f->lu[0], f->lu[1], b}, 1,
                           &trans);
    return *out != VAR_NONE;
}

/* Each row that was swapped with another one turns the sign. */
static bool det_by_factors(SolvePass *q, const System *x, Var *out) {
    Rewriter *r = q->r;
    const Var *f = q->of[x->of].lu;
    bool ok = true;
    Bind bind[] = {{sym(r->s, "u"), f[0]}, {sym(r->s, "p"), f[1]}, {sym(r->s, "s"), 0}};
    Env env = {.n = 2, .bind = bind};
    out[1] = template_build(
        &r->b, "sum(log(abs(diagonal(u, axis1=-2, axis2=-1))), axis=-1)", &env, &ok);
    bind[2].var = template_build(
        &r->b, "prod(sign(diagonal(u, axis1=-2, axis2=-1)), axis=-1)", &env, &ok);
    env.n = 3;
    if (!ok || bind[2].var == VAR_NONE) return false;
    out[0] = template_build(
        &r->b, "where(sum(p != arange(u.shape[-1]), axis=-1) % 2 == 0, s, -s)", &env,
        &ok);
    return ok && out[0] != VAR_NONE && out[1] != VAR_NONE;
}

static bool from_factors(SolvePass *q, const System *x, Var out[2]) {
    if (x->kind == DET) return det_by_factors(q, x, out);
    if (x->kind == FACTOR) return *out = q->of[x->of].triangle[x->lower].c, true;
    return solve_by_factors(q, x, out);
}

static bool use_factors(SolvePass *q, const System *x) {
    Rewriter *r = q->r;
    size_t mark = diag_count(r->s), n = x->kind == DET ? 2 : 1;
    Var was[2] = {r->g->apply[x->id].out, r->g->apply[x->id].out + 1}, now[2];
    r->b.from = (Origin){r->g->origin[x->id].at, r->db->entry.p[r->current].name};
    bool ok = factorise(q, x, &q->of[x->of]) && from_factors(q, x, now);
    rewriter_forget(r, mark);
    rewriter_grow(r);
    for (size_t k = 0; ok && k < n; k++)
        ok = type_keeps(var_type(r->g, was[k]), var_type(r->g, now[k]));
    for (size_t k = 0; ok && k < n; k++)
        r->forward[was[k]] = now[k];
    return !ok || rewriter_fired(r, r->current, n, was, now);
}

bool solve_share_pass(Rewriter *r) {
    Arena *a = arena_new(r->s);
    SolvePass q = {.r = r, .of = NEW_N(a, r->g->nvar + 1, Factors)};
    bool ok = true;
    for (Var v = 0; v < r->g->nvar; v++)
        q.of[v] = (Factors){.lu = {VAR_NONE, VAR_NONE},
                            .triangle = {{.c = VAR_NONE}, {.c = VAR_NONE}}};
    find_systems(&q, graph_live(r->g, a, ROOTS_RUN | ROOTS_INIT),
                 scan_body_invariants(r, a));
    for (size_t i = 0; ok && i < q.system.n && !rewriter_limit_reached(r); i++)
        if (is_shared(&q, &q.system.p[i])) ok = use_factors(&q, &q.system.p[i]);
    vec_free(&q.system);
    arena_free(a);
    return ok;
}
