/* Systems of one matrix, or of its transpose, from one factorisation: a system and its
 * gradient have the same matrix, but for a transpose, and so have the steps of a loop
 * if none of them changes it. */
#include "rewrite/scan/pass.h"

#include <string.h>

/* What becomes of solve(a, b) where `of` is factorised: lu_solve with this trans. */
typedef struct System {
    ApplyId id;
    Var of;
    int trans;
} System;
typedef struct Factors {
    uint32_t systems;
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
    const Op *solve = op_known(r->s, OP_SOLVE);
    for (ApplyId id = 0; id < r->g->napply; id++) {
        const Apply *a = &r->g->apply[id];
        if (a->op != solve || !live[a->out] || !is_general(r, a)) continue;
        System x = {.id = id};
        x.of = matrix_behind(r, apply_in(r->g, id)[0], &x.trans);
        bool each_step = same && same[x.of] && !same[apply_in(r->g, id)[1]];
        q->of[x.of].systems += each_step ? 2 : 1;
        vec_push(r->s, &q->system, x);
    }
}

/* In the place of the first system that needs the factors, which the others follow. */
static bool factorise(SolvePass *q, Var v, Factors *f) {
    Rewriter *r = q->r;
    const Op *op = op_known(r->s, OP_LU_FACTOR);
    return op_apply(&r->b, op, props_make(r->s, op, 0, NULL), 1, &v, f->out);
}

static bool solve_by_factors(SolvePass *q, const System *x) {
    Rewriter *r = q->r;
    Factors *f = &q->of[x->of];
    size_t mark = diag_count(r->s);
    Var was = r->g->apply[x->id].out;
    r->b.from = (Origin){r->g->origin[x->id].at, r->db->entry.p[r->current].name};
    bool ok = f->out[0] != VAR_NONE || factorise(q, x->of, f);
    Var in[3] = {f->out[0], f->out[1], apply_in(r->g, x->id)[1]};
    PropArg trans = {"trans", PROP_INT(x->trans)};
    Var now = ok ? apply_named(&r->b, "lu_solve", 3, in, 1, &trans) : VAR_NONE;
    rewriter_forget(r, mark);
    rewriter_grow(r);
    if (now == VAR_NONE || !type_keeps(var_type(r->g, was), var_type(r->g, now)))
        return true;
    r->forward[was] = now;
    return rewriter_fired(r, r->current, 1, &was, &now);
}

bool solve_share_pass(Rewriter *r) {
    Arena *a = arena_new(r->s);
    SolvePass q = {.r = r, .of = NEW_N(a, r->g->nvar + 1, Factors)};
    bool ok = true;
    find_systems(&q, graph_live(r->g, a, ROOTS_RUN | ROOTS_INIT),
                 scan_body_invariants(r->g, a));
    for (Var v = 0; v < r->g->nvar; v++)
        q.of[v].out[0] = VAR_NONE;
    for (size_t i = 0; ok && i < q.system.n && !rewriter_limit_reached(r); i++)
        if (q.of[q.system.p[i].of].systems > 1)
            ok = solve_by_factors(&q, &q.system.p[i]);
    vec_free(&q.system);
    arena_free(a);
    return ok;
}
