/* The overlay over a graph: the replacement of each variable, and the side arrays that
 * grow with the graph. */
#include "rewrite/rewrite_impl.h"

#include <string.h>

static void grow_var_arrays(Rewriter *r) {
    uint32_t cap = r->g->nvar + r->g->nvar / 2 + 64;
    r->forward = mem_realloc(r->s, r->forward, cap, sizeof *r->forward);
    r->direct = mem_realloc(r->s, r->direct, cap, sizeof *r->direct);
    r->by = mem_realloc(r->s, r->by, cap, sizeof *r->by);
    r->uses = mem_realloc(r->s, r->uses, cap, sizeof *r->uses);
    r->parts = mem_realloc(r->s, r->parts, cap, sizeof *r->parts);
    r->uniform = mem_realloc(r->s, r->uniform, cap, sizeof *r->uniform);
    r->facts = mem_realloc(r->s, r->facts, cap, sizeof *r->facts);
    r->cap_var = cap;
}

static void grow_apply_arrays(Rewriter *r) {
    uint32_t cap = r->g->napply + r->g->napply / 2 + 64;
    r->state = mem_realloc(r->s, r->state, cap, sizeof *r->state);
    r->nofold = mem_realloc(r->s, r->nofold, cap, sizeof *r->nofold);
    r->cap_apply = cap;
}

void rewriter_grow(Rewriter *r) {
    if (r->g->nvar > r->cap_var) grow_var_arrays(r);
    if (r->g->napply > r->cap_apply) grow_apply_arrays(r);
    for (; r->nvar < r->g->nvar; r->nvar++) {
        Var v = r->nvar;
        r->forward[v] = r->direct[v] = v;
        r->by[v] = 0;
        r->uses[v] = r->parts[v] = 0;
        r->uniform[v] = 0;
        r->facts[v] = 0;
    }
    for (; r->napply < r->g->napply; r->napply++)
        r->state[r->napply] = r->nofold[r->napply] = 0;
}

size_t rewriter_bytes(const Rewriter *r) {
    size_t var = sizeof *r->forward + sizeof *r->direct + sizeof *r->by +
                 sizeof *r->uses + sizeof *r->parts + sizeof *r->uniform;
    return r->cap_var * var + r->cap_apply * (sizeof *r->state + sizeof *r->nofold);
}

void rewriter_reset(Rewriter *r) {
    r->nvar = r->napply = 0;
    r->dirty = false;
    r->epoch++;
    r->compacted = r->g->napply;
    ifelse_note_effects(r);
    rewriter_grow(r);
}

void rewriter_open(Rewriter *r, Graph *g, Database *db, const RewriteOptions *o,
                   uint32_t *number) {
    *r = (Rewriter){.s = g->s, .g = g, .db = db, .o = o, .number = number};
    r->arena = arena_new(g->s);
    r->b = builder(g, true);
    r->bucket_of = MAP(g->s);
    r->literals = MAP(g->s);
    r->compacted = g->napply;
    ifelse_note_effects(r);
    rewriter_grow(r);
}

static void free_buckets(Rewriter *r) {
    for (size_t i = 0; i < r->bucket.n; i++)
        vec_free(&r->bucket.p[i]);
    vec_free(&r->bucket);
    vec_free(&r->general);
    map_free(&r->bucket_of);
}

void rewriter_close(Rewriter *r) {
    free_buckets(r);
    map_free(&r->literals);
    mem_free(r->forward);
    mem_free(r->direct);
    mem_free(r->by);
    mem_free(r->uses);
    mem_free(r->parts);
    mem_free(r->uniform);
    mem_free(r->facts);
    mem_free(r->state);
    mem_free(r->nofold);
    mem_free(r->conditional);
    view_free(r);
    vec_free(&r->stack);
    vec_free(&r->asking);
    arena_free(r->arena);
}

/* ---- entries by op ---- */

static Bucket *bucket_for_op(Rewriter *r, const Op *op) {
    uint64_t i;
    if (!map_get(&r->bucket_of, (uint64_t)(uintptr_t)op, &i)) {
        i = r->bucket.n;
        map_put(&r->bucket_of, (uint64_t)(uintptr_t)op, i);
        Bucket none = {0};
        vec_push(r->s, &r->bucket, none);
    }
    return &r->bucket.p[i];
}

static void bucket_pass(Rewriter *r, const Pass *p, uint16_t i) {
    Try t = {0, i};
    r->uses_matter |= p->uses;
    if (!p->ops) vec_push(r->s, &r->general, t);
    for (size_t k = 0; p->ops && p->ops[k]; k++) {
        const Op *op = op_find(r->s, p->ops[k], strlen(p->ops[k]));
        if (op) vec_push(r->s, bucket_for_op(r, op), t);
    }
}

static Kinds rule_input_kinds(const Rule *rule) {
    Kinds needs = 0;
    for (size_t i = 0; i < rule->lhs->nin; i++) {
        const Pat *p = rule->lhs->in[i];
        if (p->kind == PAT_APPLY)
            needs |= kind_of_op(p->op);
        else if (p->kind == PAT_LITERAL || rule->const_hole[p->hole])
            needs |= KIND_CONST;
    }
    return needs;
}

/* Specific rules precede general ones; passes, added first, precede all rules. */
static void bucket_rule(Rewriter *r, const Rule *rule, uint16_t i) {
    if (rule->broken) return;
    Bucket *b = bucket_for_op(r, rule->lhs->op);
    for (size_t k = 0; k < rule->nguard; k++)
        r->uses_matter |= guard_counts_uses(rule->guard[k].test);
    Try t = {rule_input_kinds(rule), i};
    vec_push(r->s, b, t);
    for (size_t k = b->n - 1; k > 0; k--) {
        const Rule *before = r->db->entry.p[b->p[k - 1].entry].rule;
        if (!before || before->weight >= rule->weight) break;
        b->p[k] = b->p[k - 1];
        b->p[k - 1] = t;
    }
}

void overlay_entries(Rewriter *r, double from, double to) {
    free_buckets(r);
    r->bucket_of = MAP(r->s);
    r->uses_matter = false;
    r->from = from;
    r->to = to;
    for (int rules = 0; rules < 2; rules++) {
        for (size_t i = 0; i < r->db->entry.n; i++) {
            const DatabaseEntry *e = &r->db->entry.p[i];
            bool cleaning = e->pub.position <= CLEANING;
            bool here = (e->pub.position >= from && e->pub.position <= to) || cleaning;
            if (!e->selected || !here || (e->rule != NULL) != (rules == 1)) continue;
            if (e->rule) bucket_rule(r, e->rule, (uint16_t)i);
            if (e->pass && e->pass->node) bucket_pass(r, e->pass, (uint16_t)i);
        }
    }
}

/* ---- reading ---- */

const Apply *rewriter_owner(Rewriter *r, Var v, const Op *op) {
    ApplyId a = var_owner(r->g, v);
    return op && a != APPLY_NONE && r->g->apply[a].op == op ? &r->g->apply[a] : NULL;
}

const Apply *rewriter_known_owner(Rewriter *r, Var v, KnownOp op) {
    return rewriter_owner(r, v, op_known(r->s, op));
}
