/* What a stage tries at each Apply. Entries are sorted by the op at which they begin;
 * those whose left side names an op that the graph doesn't have are left out, until
 * it has. An Apply at which nothing fired needs fewer of them the next time: the
 * cleaning entries look only at what it is made of, which never changes, and so do
 * those of the stage, but for the ones that ask about clients. So each op has three
 * lists, of which the last is the shortest. */
#include "rewrite/rewrite_impl.h"

#include <string.h>

/* ---- ops by number ---- */

/* The number of an op in this run; NO_OP: no Apply has it. */
enum { NO_OP = OPS_MAX };
static uint16_t number_of_op(const Rewriter *r, const Op *op) {
    uint64_t n;
    return op && map_get(&r->op_number, (uintptr_t)op, &n) ? (uint16_t)n : NO_OP;
}

static uint16_t add_op(Rewriter *r, const Op *op) {
    uint16_t n = (uint16_t)r->tries.n;
    if (n == NO_OP) session_panic(r->s, E_LIMIT, "a graph has too many ops");
    map_put(&r->op_number, (uintptr_t)op, n);
    vec_push(r->s, &r->tries,
             ((OpTries){.op = op,
                        .kind = kind_of_op(r->s, op),
                        .facts = facts_of_op(op),
                        .takes_part = uses_takes_part(r, op)}));
    r->new_op = true;
    return n;
}

uint16_t stage_look_up_op(Rewriter *r, const Op *op, OpNumber *last) {
    uint16_t n = number_of_op(r, op);
    *last = (OpNumber){op, n != NO_OP ? n : add_op(r, op)};
    return last->n;
}

/* ---- which entries can fire ---- */

static bool has_op(const void *ctx, const Op *op) {
    return number_of_op(ctx, op) != NO_OP;
}

static bool has_ops_of_pattern(const Rewriter *r, const Pat *p) {
    if (p->kind != PAT_APPLY) return true;
    bool all = number_of_op(r, p->op) != NO_OP;
    for (size_t i = 0; all && i < p->nin; i++)
        all = has_ops_of_pattern(r, p->in[i]);
    return all;
}

/* NULL: no matter which. */
static bool has_any_op(const Rewriter *r, const char *const *ops) {
    for (size_t k = 0; ops && ops[k]; k++)
        if (number_of_op(r, op_find(r->s, ops[k], strlen(ops[k]))) != NO_OP)
            return true;
    return !ops;
}

bool stage_has_ops_of(const Rewriter *r, const Pass *p) {
    return has_any_op(r, p->ops);
}

/* ---- the lists ---- */

/* At all Applies of an op, those that settled, and those tried before. */
static void add_try(Rewriter *r, uint16_t op, Try t, TryLevel most) {
    for (unsigned level = 0; level <= most; level++)
        vec_push(r->s, &r->tries.p[op].level[level], t);
    r->works |= most > TRY_ALL;
}

static TryLevel level_of(const DatabaseEntry *e, bool uses) {
    return uses ? TRY_AGAIN : e->pub.position <= CLEANING ? TRY_ALL : TRY_SETTLED;
}

/* Of constants and of those of the ops that the graph has. */
static Kinds kinds_of_ops(const Rewriter *r, const char *const *ops) {
    Kinds kinds = KIND_CONST;
    for (size_t k = 0; ops[k]; k++) {
        uint16_t n = number_of_op(r, op_find(r->s, ops[k], strlen(ops[k])));
        if (n != NO_OP) kinds |= r->tries.p[n].kind;
    }
    return kinds;
}

static void add_pass(Rewriter *r, const DatabaseEntry *e, uint16_t entry) {
    const Pass *p = e->pass;
    Try t = {.entry = entry, .guard = {-1, -1}};
    TryLevel most = level_of(e, p->uses);
    r->uses_matter |= p->uses;
    if (!has_any_op(r, p->among)) return;
    if (p->of) t.any = kinds_of_ops(r, p->of);
    if (p->all_const) t.in[0] = t.in[1] = KIND_CONST;
    for (size_t k = 0; p->ops && p->ops[k]; k++) {
        uint16_t n = number_of_op(r, op_find(r->s, p->ops[k], strlen(p->ops[k])));
        if (n != NO_OP) add_try(r, n, t, most);
    }
    for (size_t n = 0; !p->ops && n < r->tries.n; n++)
        if (!p->takes || p->takes(r->tries.p[n].op)) add_try(r, (uint16_t)n, t, most);
}

static Kinds kinds_of_class(unsigned class) {
    return KIND_CONST | (class ? (Kinds)1 << (OP_KINDS + class - 1) : 0);
}

static Kinds kinds_of_pattern(const Rule *rule, const Pat *p) {
    if (p->kind == PAT_APPLY) return (Kinds)1 << p->op_kind;
    if (p->kind == PAT_LITERAL) return kinds_of_class(match_literal_class(p));
    return rule->const_hole[p->hole] ? KIND_CONST : 0;
}

/* A guard that asks about what p, a name, stands for; -1: there is none. */
static int guard_of_hole(const Rule *rule, const Pat *p) {
    for (size_t i = 0; i < rule->nguard; i++) {
        const Guard *g = &rule->guard[i];
        if (p->kind == PAT_HOLE && g->narg == 1 && !g->part &&
            !rule->prop_hole[p->hole] && g->arg[0]->hole == p->hole)
            return g->test;
    }
    return -1;
}

static Kinds kinds_below_pattern(const Rule *rule, const Pat *p) {
    Kinds kinds = 0;
    for (size_t i = 0; p->kind == PAT_APPLY && i < p->nin; i++)
        kinds |= kinds_of_pattern(rule, p->in[i]);
    return kinds;
}

Try stage_needs(const Rule *rule) {
    const Pat *p = rule->lhs;
    Try t = {.guard = {-1, -1}, .swaps = p->op->comm && p->nin == 2};
    for (size_t i = 0; i < p->nin; i++) {
        Kinds kinds = kinds_of_pattern(rule, p->in[i]);
        if (i >= FEW_INPUTS)
            t.rest |= kinds;
        else
            t.in[i] = kinds;
    }
    t.same = p->nin >= 2 && p->in[0]->kind == PAT_HOLE && p->in[1]->kind == PAT_HOLE &&
             p->in[0]->hole == p->in[1]->hole;
    return t;
}

static Try try_of_rule(const Rule *rule, uint16_t entry) {
    const Pat *p = rule->lhs;
    Try t = stage_needs(rule);
    t.entry = entry;
    for (size_t i = 0; i < p->nin && i < FEW_INPUTS; i++) {
        t.below[i] = kinds_below_pattern(rule, p->in[i]);
        if (!t.swaps) t.guard[i] = guard_of_hole(rule, p->in[i]);
        t.looks |= t.below[i] || t.guard[i] >= 0;
    }
    return t;
}

/* Moves the last try of a list before the rules that are less specific. */
static void sort_in(const Rewriter *r, Bucket *b) {
    Try t = b->p[b->n - 1];
    unsigned weight = r->db->entry.p[t.entry].rule->weight;
    size_t k = b->n - 1;
    for (; k > 0; k--) {
        const Rule *before = r->db->entry.p[b->p[k - 1].entry].rule;
        if (!before || before->weight >= weight) break;
        b->p[k] = b->p[k - 1];
    }
    b->p[k] = t;
}

/* Specific rules precede general ones; passes, added first, precede all rules. */
static void add_rule(Rewriter *r, const DatabaseEntry *e, uint16_t entry) {
    const Rule *rule = e->rule;
    r->uses_matter |= rule->counts_uses;
    bool known = rule->lhs || rule->broken;
    if (!known && !(r->why || rule_names_ops(rule, has_op, r))) return;
    if (!database_compile_left(r->db, e->rule)) r->failed = true;
    if (r->failed || rule->broken) return;
    uint16_t op = number_of_op(r, rule->lhs->op);
    if (op == NO_OP || !(r->why || has_ops_of_pattern(r, rule->lhs))) return;
    if (!database_compile_when(r->db, e->rule)) r->failed = true;
    if (r->failed || rule->broken) return;
    TryLevel most = level_of(e, rule->counts_uses);
    add_try(r, op, try_of_rule(rule, entry), most);
    for (unsigned level = 0; level <= most; level++)
        sort_in(r, &r->tries.p[op].level[level]);
}

size_t stage_entry(const Rewriter *r, size_t i) {
    return i >= r->clean_end && i < r->first ? r->first : i;
}

void stage_sort_entries(Rewriter *r) {
    for (size_t n = 0; n < r->tries.n; n++)
        for (unsigned level = 0; level < TRY_LEVELS; level++)
            r->tries.p[n].level[level].n = 0;
    r->uses_matter = r->works = r->new_op = false;
    form_forget_tries(r);
    for (int step = 0; step < 3; step++)
        for (size_t i = stage_entry(r, 0); i < r->end; i = stage_entry(r, i + 1)) {
            const DatabaseEntry *e = &r->db->entry.p[i];
            if (!e->selected) continue;
            if (step == 2 && e->rule) add_rule(r, e, (uint16_t)i);
            if (step < 2 && e->pass && e->pass->node && !e->pass->ops == (step == 0))
                add_pass(r, e, (uint16_t)i);
        }
}

/* ---- at an Apply ---- */

Kinds stage_kinds_of_const(Rewriter *r, Var v) {
    return var_is_const(r->g, v) ? kinds_of_class(match_class_of(r, v)) : 0;
}

Kinds stage_kinds_of(Rewriter *r, Var v) {
    ApplyId maker = var_owner(r->g, v);
    return maker != APPLY_NONE ? r->tries.p[r->op_at[maker]].kind
                               : stage_kinds_of_const(r, v);
}

void stage_add_input(InputKinds *x, Kinds kinds) {
    x->all |= kinds;
    if (x->n >= FEW_INPUTS)
        x->rest |= kinds;
    else
        x->in[x->n] = kinds;
    x->n++;
}

static bool inputs_fit(const Try *t, const InputKinds *x, bool swapped) {
    return !(t->in[0] & ~x->in[swapped] || t->in[1] & ~x->in[!swapped]);
}

unsigned stage_orders(const Try *t, const InputKinds *x) {
    if ((t->same && !x->same) || t->rest & ~x->rest || (t->any && !(t->any & x->all)))
        return 0;
    return (inputs_fit(t, x, false) ? AS_IS : 0U) |
           (t->swaps && inputs_fit(t, x, true) ? SWAPPED : 0U);
}

static Kinds kinds_below(Rewriter *r, FirstInputs *x, size_t i) {
    if (x->has_below[i]) return x->below[i];
    ApplyId a = i < x->n ? var_owner(r->g, x->v[i]) : APPLY_NONE;
    x->has_below[i] = true;
    x->below[i] = 0;
    for (size_t k = 0; a != APPLY_NONE && k < r->g->apply[a].nin; k++)
        x->below[i] |= stage_kinds_of(r, rewriter_input(r, a, k));
    return x->below[i];
}

/* Input i for what the try wants first, the other one for the second. */
static bool fits_below(Rewriter *r, const Try *t, FirstInputs *x, size_t i) {
    for (size_t k = 0; k < FEW_INPUTS; k++, i = 1 - i)
        if (t->below[k] && t->below[k] & ~kinds_below(r, x, i)) return false;
    return true;
}

bool stage_may_fire(Rewriter *r, const Try *t, unsigned orders, FirstInputs *x) {
    if (!(orders & AS_IS && fits_below(r, t, x, 0)) &&
        !(orders & SWAPPED && fits_below(r, t, x, 1)))
        return false;
    for (size_t i = 0; i < FEW_INPUTS && i < x->n; i++)
        if (t->guard[i] >= 0 && !guard_holds_of(r, t->guard[i], x->v[i])) return false;
    return true;
}

void stage_free(Rewriter *r) {
    for (size_t n = 0; n < r->tries.n; n++)
        for (unsigned level = 0; level < TRY_LEVELS; level++)
            vec_free(&r->tries.p[n].level[level]);
    vec_free(&r->tries);
    form_free_all(r);
    map_free(&r->op_number);
}
