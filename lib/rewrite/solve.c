/* Systems of one matrix, or of its transpose, and its determinant from one
 * factorisation: a system and its gradient have the same matrix, but for a transpose,
 * and so have the steps of a loop if none of them changes it. */
#include "rewrite/scan/pass.h"

#include <string.h>

/* What becomes of solve(a, b) where `of` is factorised: lu_solve with this trans; or a
 * slogdet, which follows from the factors, too. */
typedef struct System {
    ApplyId id;
    Var of;
    int trans;
    bool det;
} System;
typedef struct Factors {
    uint32_t systems, dets;
    Var out[2]; /* lu and piv, once they are made */
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

static bool is_general(Rewriter *r, const Apply *solve) {
    const Prop *assume = op_prop(r->s, solve->op, solve->props, "assume_a");
    return strcmp(sym_text(r->s, assume->sym), "gen") == 0;
}

/* same: of a loop's body, what no step changes; a system of it is one in each step. */
static void find_systems(SolvePass *q, const uint8_t *live, const uint8_t *same) {
    Rewriter *r = q->r;
    const Op *solve = op_known(r->s, OP_SOLVE), *det = op_known(r->s, OP_SLOGDET);
    for (ApplyId id = 0; id < r->g->napply; id++) {
        const Apply *a = &r->g->apply[id];
        System x = {.id = id, .det = a->op == det};
        bool is = x.det ? live[a->out] || live[a->out + 1]
                        : a->op == solve && live[a->out] && is_general(r, a);
        if (!is) continue;
        Var in = apply_in(r->g, id)[0];
        x.of = matrix_behind(r, in, &x.trans);
        if (x.det && dtype_is_complex(var_type(r->g, in)->dtype)) continue;
        vec_push(r->s, &q->system, x);
        if (x.det) {
            q->of[x.of].dets++;
            continue;
        }
        bool each_step = same && same[x.of] && !same[apply_in(r->g, id)[1]];
        q->of[x.of].systems += each_step ? 2 : 1;
    }
}

/* In the place of the first system that needs the factors, which the others follow. */
static bool factorise(SolvePass *q, Var v, Factors *f) {
    Rewriter *r = q->r;
    const Op *op = op_known(r->s, OP_LU_FACTOR);
    return op_apply(&r->b, op, props_make(r->s, op, 0, NULL), 1, &v, f->out);
}

static bool solve_by_factors(SolvePass *q, const System *x, Var *out) {
    Rewriter *r = q->r;
    const Var *f = q->of[x->of].out;
    Var in[3] = {f[0], f[1], apply_in(r->g, x->id)[1]};
    PropArg trans = {"trans", PROP_INT(x->trans)};
    return (*out = apply_named(&r->b, "lu_solve", 3, in, 1, &trans)) != VAR_NONE;
}

/* Each row that was swapped with another one turns the sign. */
static bool det_by_factors(SolvePass *q, const System *x, Var *out) {
    Rewriter *r = q->r;
    const Var *f = q->of[x->of].out;
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

static bool use_factors(SolvePass *q, const System *x) {
    Rewriter *r = q->r;
    Factors *f = &q->of[x->of];
    size_t mark = diag_count(r->s), n = x->det ? 2 : 1;
    Var was[2] = {r->g->apply[x->id].out, r->g->apply[x->id].out + 1}, now[2];
    r->b.from = (Origin){r->g->origin[x->id].at, r->db->entry.p[r->current].name};
    bool ok = (f->out[0] != VAR_NONE || factorise(q, x->of, f)) &&
              (x->det ? det_by_factors(q, x, now) : solve_by_factors(q, x, now));
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
    find_systems(&q, graph_live(r->g, a, ROOTS_RUN | ROOTS_INIT),
                 scan_body_invariants(r, a));
    for (Var v = 0; v < r->g->nvar; v++)
        q.of[v].out[0] = VAR_NONE;
    for (size_t i = 0; ok && i < q.system.n && !rewriter_limit_reached(r); i++) {
        const Factors *f = &q.of[q.system.p[i].of];
        if (f->systems && f->systems + f->dets > 1)
            ok = use_factors(&q, &q.system.p[i]);
    }
    vec_free(&q.system);
    arena_free(a);
    return ok;
}
