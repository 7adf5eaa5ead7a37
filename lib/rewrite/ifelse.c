/* ifelse: branches known statically, values equal in both branches, unused results; and
 * effects that only a removed branch needed. */
#include "lang/lazy_scope.h"
#include "rewrite/rewrite_impl.h"

#include <string.h>

/* ---- one Apply ---- */

/* 1: true, 0: false, -1: unknown. */
static int known_condition(Rewriter *r, Var condition) {
    const Tensor *t = var_const(r->g, condition);
    if (!t || tensor_size(t) != 1) return -1;
    const unsigned char *p = t->data;
    if (dtype_is_complex(t->dtype)) return -1;
    if (dtype_is_inexact(t->dtype)) return tensor_f64(t, 0) != 0;
    for (size_t i = 0; i < dtype_size(t->dtype); i++)
        if (p[i]) return 1;
    return 0;
}

/* A branch's value that is itself an ifelse on the same condition reduces to the value
 * that the inner one would choose. */
static Var branch_taken(Rewriter *r, const Op *op, Var condition, Var v, bool then) {
    const Apply *a = rewriter_owner(r, v, op);
    if (!a || rewriter_resolve(r, r->g->in[a->in]) != condition) return v;
    return rewriter_resolve(r,
                            r->g->in[a->in + 1 + (v - a->out) + (then ? 0 : a->nout)]);
}

static bool simplify_branches(Rewriter *r, ApplyId id, Var *out) {
    Apply a = r->g->apply[id];
    Var few[17], *in = a.nin <= 17 ? few : mem_alloc(r->s, a.nin * sizeof *in);
    bool changed = false, typed = true;
    in[0] = rewriter_input(r, id, 0);
    for (size_t k = 1; k < a.nin; k++) {
        Var v = rewriter_input(r, id, k);
        in[k] = branch_taken(r, a.op, in[0], v, k <= a.nout);
        changed |= in[k] != v;
        typed = typed && type_keeps(var_type(r->g, v), var_type(r->g, in[k]));
    }
    size_t mark = diag_count(r->s);
    bool ok = changed && typed && op_apply(&r->b, a.op, a.props, a.nin, in, out);
    rewriter_forget(r, mark);
    rewriter_grow(r);
    if (in != few) mem_free(in);
    return ok;
}

bool ifelse_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply *a = &r->g->apply[id];
    int holds = known_condition(r, rewriter_input(r, id, 0));
    bool same = true;
    for (size_t k = 0; k < a->nout; k++) {
        Var x = rewriter_input(r, id, 1 + k),
            y = rewriter_input(r, id, 1 + a->nout + k);
        out[k] = holds == 0 ? y : x;
        same &= x == y;
        if (!type_keeps(var_type(r->g, a->out + (Var)k), var_type(r->g, out[k])))
            return false;
    }
    return holds >= 0 || same || simplify_branches(r, id, out);
}

/* ---- unused results, whose values would be computed in vain ---- */

static bool drop_unused_results(Rewriter *r, ApplyId id, const uint8_t *live,
                                uint32_t used) {
    Apply a = r->g->apply[id];
    Var *in = mem_alloc(r->s, (1 + 2 * (size_t)a.nout) * sizeof *in);
    size_t n = 1;
    in[0] = apply_in(r->g, id)[0];
    for (uint32_t k = 1; k < a.nin; k++)
        if (live[a.out + (k - 1) % a.nout]) in[n++] = apply_in(r->g, id)[k];
    Var out[OUT_MAX], before[OUT_MAX];
    size_t mark = diag_count(r->s);
    r->b.from = (Origin){r->g->origin[id].at, r->db->entry.p[r->current].name};
    bool ok = n == 1 + 2 * (size_t)used && op_apply(&r->b, a.op, a.props, n, in, out);
    rewriter_forget(r, mark);
    rewriter_grow(r);
    for (Var k = 0, j = 0; ok && k < a.nout; k++) {
        if (!live[a.out + k]) continue;
        before[j] = a.out + k;
        r->forward[a.out + k] = out[j++];
    }
    mem_free(in);
    return !ok || rewriter_fired(r, r->current, used, before, out);
}

/* In a branch, an effect may depend on a result that nothing reads. */
static bool has_conditional_effect(const Rewriter *r) {
    for (size_t i = 0; r->conditional && i < r->g->effects.n; i++)
        if (r->conditional[i]) return true;
    return false;
}

bool ifelse_results_pass(Rewriter *r) {
    if (has_conditional_effect(r)) return true;
    const Op *op = op_known(r->s, OP_IFELSE);
    Arena *a = arena_new(r->s);
    uint8_t *live = graph_live(r->g, a, ROOTS_RUN | ROOTS_INIT);
    bool ok = true;
    for (ApplyId id = 0, n = r->g->napply; ok && id < n; id++) {
        const Apply *ap = &r->g->apply[id];
        uint32_t used = 0;
        if (ap->op != op || rewriter_limit_reached(r)) continue;
        for (Var k = 0; k < ap->nout; k++)
            used += live[ap->out + k];
        if (used && used < ap->nout) ok = drop_unused_results(r, id, live, used);
    }
    arena_free(a);
    return ok;
}

/* ---- branches of numbers ---- */

typedef struct ChooseNumbers {
    Rewriter *r;
    ApplyId napply;        /* when the pass began */
    const uint32_t *scope; /* of lazy_scope_find */
    uint8_t *live;         /* by variable */
} ChooseNumbers;

/* No more Applies than this, which together take less time than an ifelse. */
enum { CHEAP = 16 };

static bool is_number(const Graph *g, Var v) {
    const Type *t = var_type(g, v);
    return t->kind == TYPE_TENSOR && t->ndim == 0;
}

/* Ops of numbers that make neither nan nor inf, short of overflow: nobody chooses a
 * branch to keep away from them. */
static bool is_tame(Rewriter *r, const Op *op) {
    static const char *const tame[] = {
        "add",   "subtract",   "multiply", "negative",     "square",
        "abs",   "maximum",    "minimum",  "where",        "less",
        "equal", "less_equal", "greater",  "greater_equal"};
    for (size_t i = 0; i < sizeof tame / sizeof *tame; i++)
        if (op == op_find(r->s, tame[i], strlen(tame[i]))) return true;
    return false;
}

static bool runs_anyway(const ChooseNumbers *x, ApplyId id, ApplyId maker) {
    return maker < x->napply &&
           (x->scope[maker] == 0 || x->scope[maker] == x->scope[id]);
}

/* Is v there whichever branch `id` takes, or as good as there? */
static bool is_there(const ChooseNumbers *x, ApplyId id, Var v) {
    const Graph *g = x->r->g;
    Var todo[4 * CHEAP] = {v};
    for (uint32_t n = 1, made = 0; n > 0;) {
        ApplyId maker = var_owner(g, rewriter_resolve(x->r, todo[--n]));
        if (maker == APPLY_NONE || runs_anyway(x, id, maker)) continue;
        const Apply *a = &g->apply[maker];
        if (++made > CHEAP || a->nin > 3 || !is_number(g, a->out) ||
            op_may_fail(g, maker) || !is_tame(x->r, a->op))
            return false;
        for (uint32_t i = 0; i < a->nin; i++)
            todo[n++] = apply_in(g, maker)[i];
    }
    return true;
}

static bool choose_by_where(Rewriter *r, ApplyId id, Var k) {
    const Apply a = r->g->apply[id];
    const Var *from = apply_in(r->g, id);
    Var v = a.out + k;
    r->b.from = (Origin){r->g->origin[id].at, r->db->entry.p[r->current].name};
    Var w = op_call3(&r->b, "where", from[0], from[1 + k], from[1 + a.nout + k]);
    rewriter_grow(r);
    if (w == VAR_NONE || !type_keeps(var_type(r->g, v), var_type(r->g, w)))
        return false;
    r->forward[v] = w;
    return true;
}

static bool may_choose(const ChooseNumbers *x, ApplyId id, Var k) {
    const Graph *g = x->r->g;
    const Apply *a = &g->apply[id];
    Var then = apply_in(g, id)[1 + k], otherwise = apply_in(g, id)[1 + a->nout + k];
    return x->live[a->out + k] && is_number(g, then) && is_number(g, otherwise) &&
           is_there(x, id, then) && is_there(x, id, otherwise);
}

static bool choose_numbers(ChooseNumbers *x, ApplyId id) {
    Rewriter *r = x->r;
    const Apply a = r->g->apply[id];
    Var before[OUT_MAX], after[OUT_MAX];
    uint32_t n = 0, used = 0;
    if (var_type(r->g, apply_in(r->g, id)[0])->dtype != DT_BOOL) return true;
    for (Var k = 0; k < a.nout; k++) {
        used += x->live[a.out + k];
        if (!may_choose(x, id, k) || !choose_by_where(r, id, k)) continue;
        before[n] = a.out + k;
        after[n++] = r->forward[a.out + k];
        x->live[a.out + k] = 0;
    }
    if (n == 0) return true;
    return rewriter_fired(r, r->current, n, before, after) &&
           (n == used || drop_unused_results(r, id, x->live, used - n));
}

/* An ifelse takes the time of many operations on numbers, and where fuses with them:
 * that counts in the steps of loops. */
bool ifelse_numbers_pass(Rewriter *r) {
    if (r->g == r->g->main || has_conditional_effect(r)) return true;
    Arena *a = arena_new(r->s);
    ChooseNumbers x = {r, r->g->napply, lazy_scope_find(r->g, a, (VarList){0}),
                       graph_live(r->g, a, ROOTS_RUN | ROOTS_INIT)};
    bool ok = true;
    for (ApplyId id = 0; ok && id < x.napply; id++)
        if (op_is(r->s, r->g->apply[id].op, OP_IFELSE) && x.scope[id] != SCOPE_NONE &&
            !rewriter_limit_reached(r))
            ok = choose_numbers(&x, id);
    arena_free(a);
    return ok;
}

/* ---- effects ---- */

/* Records which effects only a branch needs. */
void ifelse_note_effects(Rewriter *r) {
    const Graph *g = r->g;
    mem_free(r->conditional);
    r->conditional = NULL;
    if (!g->effects.n || !lazy_scope_any(g)) return;
    Arena *a = arena_new(r->s);
    const bool *c = lazy_scope_conditional(g, a, lazy_scope_find(g, a, (VarList){0}));
    r->conditional = mem_zalloc(r->s, g->effects.n, 1);
    for (size_t i = 0; i < g->effects.n; i++)
        r->conditional[i] = c[i];
    arena_free(a);
}

typedef struct EffectReach {
    Rewriter *r;
    uint8_t *seen; /* by Apply */
    Vec(ApplyId) todo;
} EffectReach;

static void reach_apply(EffectReach *x, ApplyId a) {
    if (a == APPLY_NONE || x->seen[a]) return;
    x->seen[a] = 1;
    vec_push(x->r->s, &x->todo, a);
}

static void reach_var(EffectReach *x, Var v) {
    if (v != VAR_NONE) reach_apply(x, var_owner(x->r->g, rewriter_resolve(x->r, v)));
}

static void reach_from_roots(EffectReach *x) {
    const Graph *g = x->r->g;
    Arena *tmp = arena_new(x->r->s);
    VarList root = graph_roots(g, tmp, ROOTS_RESULTS | ROOTS_INIT);
    for (size_t i = 0; i < root.n; i++)
        reach_var(x, root.p[i]);
    arena_free(tmp);
    for (size_t i = 0; i < g->kept.n; i++)
        reach_var(x, g->kept.p[i]);
    for (size_t i = 0; i < g->effects.n; i++)
        if (!x->r->conditional[i]) reach_apply(x, g->effects.p[i]);
    while (x->todo.n) {
        ApplyId a = x->todo.p[--x->todo.n];
        for (size_t i = 0; i < g->apply[a].nin; i++)
            reach_var(x, apply_in(g, a)[i]);
    }
}

/* Without its branch, a conditional effect would become unconditional. A function left
 * without effects no longer counts as having any. */
void ifelse_drop_effects(Rewriter *r) {
    Graph *g = r->g;
    EffectReach x = {.r = r};
    if (r->conditional) {
        x.seen = mem_zalloc(r->s, g->napply, 1);
        for (size_t i = 0; i < g->kept.n; i++) /* now a branch, if that is known */
            reach_var(&x, g->kept.p[i]);
    }
    lazy_scope_keep_unread(g, r->compacted, r->forward);
    if (r->conditional) reach_from_roots(&x);
    size_t n = 0;
    for (size_t i = 0; i < g->effects.n; i++) {
        const Apply *a = &g->apply[g->effects.p[i]];
        bool gone = r->conditional && r->conditional[i] && !x.seen[g->effects.p[i]];
        if (gone || !op_has_effect(g, a->op, a->props)) continue;
        g->effects.p[n++] = g->effects.p[i];
    }
    g->effects.n = n;
    mem_free(x.seen);
    vec_free(&x.todo);
    if (r->conditional) ifelse_note_effects(r);
}
