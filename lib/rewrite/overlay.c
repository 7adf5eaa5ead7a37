/* The overlay over a graph: the replacement of each variable, and the side arrays that
 * grow with the graph. */
#include "rewrite/rewrite_impl.h"

#include <string.h>

/* By an eighth: a graph grows by little once it is canonical, and is then at its
 * largest. */
static uint32_t roomy(uint32_t n) {
    return n + n / 8 + 64;
}

/* A new array is cleared; of one that grows, what is added is not. */
static void *sized(const Rewriter *r, void *p, uint32_t n, size_t size) {
    return p ? mem_realloc(r->s, p, n, size) : mem_zalloc(r->s, n, size);
}

static void grow_var_arrays(Rewriter *r) {
    uint32_t cap = roomy(r->g->nvar);
    if (!r->cap_var) r->cleared = cap;
    r->forward = mem_realloc(r->s, r->forward, cap, sizeof *r->forward);
    r->cap_var = cap;
    if (!r->fusing) {
        r->uniform = sized(r, r->uniform, cap, sizeof *r->uniform);
        r->facts = sized(r, r->facts, cap, sizeof *r->facts);
    }
    if (!r->sweeping) return;
    r->direct = mem_realloc(r->s, r->direct, cap, sizeof *r->direct);
    r->by = sized(r, r->by, cap, sizeof *r->by);
    r->uses = sized(r, r->uses, cap, sizeof *r->uses);
    r->parts = sized(r, r->parts, cap, sizeof *r->parts);
    r->wish = sized(r, r->wish, cap, sizeof *r->wish);
    r->result = sized(r, r->result, cap, sizeof *r->result);
}

static void grow_apply_arrays(Rewriter *r) {
    uint32_t cap = roomy(r->g->napply);
    r->op_at = mem_realloc(r->s, r->op_at, cap, sizeof *r->op_at);
    r->cap_apply = cap;
    if (!r->sweeping) return;
    r->state = mem_realloc(r->s, r->state, cap, sizeof *r->state);
    r->form_at = mem_realloc(r->s, r->form_at, cap, sizeof *r->form_at);
}

static void clear_var(Rewriter *r, Var v) {
    if (!r->fusing) r->uniform[v] = 0, r->facts[v] = 0;
    if (!r->sweeping) return;
    r->by[v] = 0;
    r->uses[v] = 0;
    r->parts[v] = r->wish[v] = r->result[v] = 0;
}

void rewriter_add_nodes(Rewriter *r) {
    const Graph *g = r->g;
    if (g->nvar > r->cap_var) grow_var_arrays(r);
    if (g->napply > r->cap_apply) grow_apply_arrays(r);
    for (Var v = r->nvar; v < g->nvar; v++) {
        r->forward[v] = v;
        if (r->sweeping) r->direct[v] = v;
        if (v >= r->cleared) clear_var(r, v);
    }
    for (ApplyId a = r->napply; a < g->napply; a++) {
        r->op_at[a] = stage_number_op(r, g->apply[a].op);
        if (r->sweeping) r->state[a] = 0, r->form_at[a] = 0;
    }
    r->nvar = g->nvar;
    r->napply = g->napply;
}

size_t rewriter_bytes(const Rewriter *r) {
    size_t var = sizeof *r->forward, apply = sizeof *r->op_at;
    if (!r->fusing) var += sizeof *r->uniform + sizeof *r->facts;
    if (r->sweeping) {
        var += sizeof *r->direct + sizeof *r->by + sizeof *r->uses + sizeof *r->parts +
               sizeof *r->wish + sizeof *r->result;
        apply += sizeof *r->state + sizeof *r->form_at;
    }
    return r->cap_var * var + r->cap_apply * apply;
}

static void free_sweeps(Rewriter *r) {
    void *of_sweeps[] = {r->direct, r->by,     r->uses,  r->parts,
                         r->wish,   r->result, r->state, r->form_at};
    for (size_t i = 0; i < sizeof of_sweeps / sizeof *of_sweeps; i++)
        mem_free(of_sweeps[i]);
    r->direct = NULL, r->by = NULL, r->uses = NULL, r->parts = NULL;
    r->wish = NULL, r->result = NULL, r->state = NULL, r->form_at = NULL;
    r->counted = false;
    vec_free(&r->order);
}

void rewriter_end_sweeps(Rewriter *r) {
    free_sweeps(r);
    graph_trim(r->g);
    r->sweeping = r->settled = false;
}

static void free_facts(Rewriter *r) {
    mem_free(r->uniform);
    mem_free(r->facts);
    r->uniform = NULL, r->facts = NULL;
}

void rewriter_begin_fusion(Rewriter *r) {
    free_facts(r);
    r->fusing = true;
}

void rewriter_end_fusion(Rewriter *r) {
    r->uniform = mem_zalloc(r->s, r->cap_var, sizeof *r->uniform);
    r->facts = mem_zalloc(r->s, r->cap_var, sizeof *r->facts);
    r->fusing = false;
}

/* What is known of variables and Applies, but for the forwards. */
static void free_arrays(Rewriter *r) {
    free_sweeps(r);
    free_facts(r);
    mem_free(r->op_at);
    r->op_at = NULL;
    r->cap_var = r->cap_apply = 0;
}

/* Two graphs exist for a moment, and this is the peak of memory of a large one: what
 * the second one won't use goes first. */
void rewriter_compact(Rewriter *r) {
    double start = clock_seconds();
    size_t bytes = rewriter_bytes(r);
    free_arrays(r);
    mem_give_back(r->s, bytes);
    /* merged before, and replacements are interned: there is nothing to merge */
    graph_compact(r->g, REWRITE_ROOTS, r->forward, false);
    map_free(&r->literals);
    r->literals = MAP(r->s);
    r->nvar = r->napply = 0;
    r->dirty = r->counted = false;
    r->epoch++;
    r->compacted = r->g->napply;
    ifelse_note_effects(r);
    rewriter_grow(r);
    for (ApplyId a = 0; r->settled && a < r->napply; a++)
        r->state[a] = op_rare(r->g->apply[a].op)->fold_if ? 0 : SETTLED;
    r->copying += clock_seconds() - start;
    r->copies++;
}

void rewriter_open(Rewriter *r, Graph *g, Database *db, const RewriteOptions *o,
                   uint32_t *number, RewriterUse use) {
    *r = (Rewriter){.s = g->s, .g = g, .db = db, .o = o, .number = number};
    r->searching = use == FOR_SEARCH;
    r->sweeping = !r->searching;
    r->arena = arena_new(g->s);
    r->b = builder(g, true);
    r->known = op_known_table(g->s);
    r->op_number = MAP(g->s);
    r->literals = MAP(g->s);
    r->form_number = MAP(g->s);
    r->form_rest = MAP(g->s);
    r->compacted = g->napply;
    ifelse_note_effects(r);
    rewriter_grow(r);
}

void rewriter_close(Rewriter *r) {
    stage_free(r);
    map_free(&r->literals);
    mem_free(r->forward);
    free_arrays(r);
    mem_free(r->conditional);
    view_free(r);
    vec_free(&r->stack);
    vec_free(&r->dropped);
    vec_free(&r->asking);
    arena_free(r->arena);
}

/* ---- reading ---- */

const Apply *rewriter_owner(Rewriter *r, Var v, const Op *op) {
    ApplyId a = var_owner(r->g, v);
    return op && a != APPLY_NONE && r->g->apply[a].op == op ? &r->g->apply[a] : NULL;
}
