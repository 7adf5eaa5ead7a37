/* Sows in the branches of an ifelse. A sow belongs to a branch if everything that
 * depends on its value goes through that branch. Both branches of an ifelse must sow
 * the same names; a harvest reaps the values of the branch taken. */
#include "harvest/branch.h"

#include <string.h>

enum { TOP = 0 };
static const uint32_t nowhere_yet = UINT32_MAX;

/* A branch, or, as number 0, TOP. Both branches of an ifelse follow each other; later
 * ifelses come first. */
typedef struct BranchNode {
    uint32_t up, depth;
    uint32_t jump; /* a branch around it, far enough out for few steps to any other */
    Level *level;  /* NULL: nothing is sown there yet */
} BranchNode;
struct Branches {
    Session *s;
    Arena *arena;
    HarvestWalk *w;
    const Graph *src;
    uint32_t *of; /* by Apply: its branch */
    Vec(BranchNode) node;
    size_t ahead; /* nodes of the ifelses that the walk has not passed, and TOP */
};

static bool is_ifelse(const Graph *g, ApplyId a) {
    return op_is(g->s, g->apply[a].op, OP_IFELSE);
}

/* The branch around x at this depth, or x itself if it isn't deeper. */
static uint32_t branch_at_depth(const Branches *b, uint32_t x, uint32_t depth) {
    while (b->node.p[x].depth > depth) {
        uint32_t jump = b->node.p[x].jump;
        x = b->node.p[jump].depth >= depth ? jump : b->node.p[x].up;
    }
    return x;
}

static uint32_t common_branch(const Branches *b, uint32_t x, uint32_t y) {
    if (x == nowhere_yet || x == y) return y;
    if (y == nowhere_yet) return x;
    x = branch_at_depth(b, x, b->node.p[y].depth);
    y = branch_at_depth(b, y, b->node.p[x].depth);
    while (x != y) {
        const BranchNode *p = &b->node.p[x], *q = &b->node.p[y];
        bool far = p->jump != q->jump;
        x = far ? p->jump : p->up;
        y = far ? q->jump : q->up;
    }
    return x;
}

/* Adds both branches of an ifelse; returns the number of the first. */
static uint32_t add_branches(Branches *b, uint32_t up) {
    const BranchNode *p = &b->node.p[up], *q = &b->node.p[p->jump];
    bool far = p->depth - q->depth == q->depth - b->node.p[q->jump].depth;
    BranchNode n = {
        .up = up, .depth = p->depth + 1, .jump = far ? q->jump : up, .level = NULL};
    vec_push(b->s, &b->node, n);
    vec_push(b->s, &b->node, n);
    return (uint32_t)b->node.n - 2;
}

static void assign_branch(Branches *b, ApplyId a, uint32_t *at) {
    const Apply *r = &b->src->apply[a];
    const Var *in = apply_in(b->src, a);
    uint32_t mine = nowhere_yet;
    for (Var k = 0; k < r->nout; k++)
        mine = common_branch(b, mine, at[r->out + k]);
    if (mine == nowhere_yet) mine = TOP;
    bool effect = r->op->effect && !harvest_is_sow(b->src, a);
    if (effect) mine = TOP;
    b->of[a] = mine;
    if (!is_ifelse(b->src, a)) {
        for (size_t i = 0; i < r->nin; i++)
            at[in[i]] = common_branch(b, at[in[i]], mine);
        return;
    }
    size_t n = (r->nin - 1u) / 2;
    uint32_t first = add_branches(b, mine);
    at[in[0]] = common_branch(b, at[in[0]], mine);
    for (size_t i = 0; i < 2 * n; i++)
        at[in[1 + i]] = common_branch(b, at[in[1 + i]], first + (i >= n));
}

void branches_wake(const Graph *g, Arena *arena, ApplyId from, uint8_t *live) {
    uint8_t *sows = NEW_N(arena, g->napply, uint8_t); /* it, or what it needs */
    for (size_t i = 0; i < g->effects.n; i++) {
        ApplyId a = g->effects.p[i];
        sows[a] = harvest_is_sow(g, a) || !g->apply[a].op->effect;
    }
    for (ApplyId a = from; a < g->napply; a++)
        for (size_t i = 0; i < g->apply[a].nin && !sows[a]; i++) {
            ApplyId of = var_owner(g, apply_in(g, a)[i]);
            sows[a] = of != APPLY_NONE && of >= from && sows[of];
        }
    for (ApplyId a = g->napply; a-- > from;) {
        const Apply *r = &g->apply[a];
        bool needed = is_ifelse(g, a) && sows[a];
        for (Var k = 0; k < r->nout && !needed; k++)
            needed = live[r->out + k];
        if (!needed) continue;
        live[r->out] = 1;
        for (size_t i = 0; i < r->nin; i++)
            live[apply_in(g, a)[i]] = 1;
    }
}

/* Finds the branch of each Apply that `live` needs. NULL: no ifelse, so no branches. */
static Branches *find_branches(Session *s, Arena *arena, const Graph *src,
                               const HarvestRange *r) {
    bool any = false;
    for (ApplyId a = r->from; a < src->napply && !any; a++)
        any = is_ifelse(src, a);
    if (!any) return NULL;
    Branches *b = NEW(arena, Branches);
    *b = (Branches){.s = s, .arena = arena, .src = src};
    b->of = NEW_N(arena, src->napply, uint32_t);
    vec_push(s, &b->node, ((BranchNode){.up = TOP, .jump = TOP}));
    uint32_t *at = NEW_N(arena, src->nvar, uint32_t);
    memset(at, 0xFF, src->nvar * sizeof *at);
    for (size_t i = 0; i < r->root.n; i++)
        at[r->root.p[i]] = TOP;
    for (ApplyId a = src->napply; a-- > r->from;) {
        bool needed = false;
        for (Var k = 0; k < src->apply[a].nout; k++)
            needed |= r->live[src->apply[a].out + k];
        if (needed) assign_branch(b, a, at);
    }
    return b;
}

Branches *branches_new(HarvestWalk *w, Level *top, const Graph *src,
                       const HarvestRange *r) {
    Branches *b = find_branches(w->b->s, w->arena, src, r);
    if (!b) return NULL;
    b->w = w;
    b->ahead = b->node.n;
    b->node.p[TOP].level = top;
    return b;
}

size_t branches_most(const Graph *fn, const uint8_t *live, const size_t *times) {
    Arena *arena = arena_new(fn->s);
    HarvestRange all = {0, live, graph_roots(fn, arena, HARVEST_ROOTS)};
    Branches *b = find_branches(fn->s, arena, fn, &all);
    size_t most = 0;
    for (ApplyId a = 0; a < fn->napply && !b; a++)
        most += times[a];
    if (b) {
        size_t *n = NEW_N(arena, b->node.n, size_t);
        for (ApplyId a = 0; a < fn->napply; a++)
            n[b->of[a]] += times[a];
        for (size_t k = b->node.n; k > 1; k -= 2)
            n[b->node.p[k - 1].up] += n[k - 1] > n[k - 2] ? n[k - 1] : n[k - 2];
        most = n[TOP];
        vec_free(&b->node);
    }
    arena_free(arena);
    return most;
}

/* Makes the levels of both branches of an ifelse, k being one of them. */
static void add_branch_levels(Branches *b, uint32_t k) {
    Level *up = b->node.p[b->node.p[k].up].level, *pair = NEW_N(b->arena, 2, Level);
    uint32_t first = (k - 1) / 2 * 2 + 1;
    for (uint32_t i = 0; i < 2; i++) {
        pair[i] = (Level){
            .up = up, .scope = up->scope, .loop = up->loop, .twin = &pair[1 - i]};
        b->node.p[first + i].level = &pair[i];
    }
}

/* The level of branch k. Levels around it are made before it, without recursion: they
 * may be many. */
static Level *branch_level(Branches *b, uint32_t k) {
    Vec(uint32_t) path = {0};
    for (uint32_t i = k; !b->node.p[i].level; i = b->node.p[i].up)
        vec_push(b->s, &path, i);
    while (path.n)
        add_branch_levels(b, path.p[--path.n]);
    vec_free(&path);
    return b->node.p[k].level;
}

Level *branches_level(Branches *b, Level *top, ApplyId a) {
    return b ? branch_level(b, b->of[a]) : top;
}

/* ---- merging the two branches ---- */
static bool check_same_sows(const Branches *b, ApplyId id, const Level *x,
                            const Level *y, const char *where) {
    Session *s = b->s;
    for (size_t i = 0; i < x->entry.n; i++) {
        const SowEntry *e = &x->entry.p[i];
        if (level_find(y, e->name)) continue;
        fail(s, b->src->origin[id].at, E_NAME,
             "both branches of an ifelse must sow the same names: %s is missing in the "
             "%s branch",
             sym_text(s, e->name), where);
        return note(s, e->at, "it is sown here");
    }
    return true;
}

static bool check_same_times(const Branches *b, const SowEntry *x, const SowEntry *y) {
    Session *s = b->s;
    bool last = sow_keeps_last(x->mode) && sow_keeps_last(y->mode);
    if (x->mode != y->mode && !last)
        return fail(s, y->at, E_DUPLICATE,
                    "both branches of an ifelse must sow %s in the same mode",
                    sym_text(s, x->name));
    return x->part.n == y->part.n ||
           fail(s, y->at, E_DUPLICATE,
                "both branches of an ifelse must sow %s equally often, not %zu and %s",
                sym_text(s, x->name), x->part.n, str_counted(s, y->part.n, "time"));
}

/* An ifelse on the same condition that selects one of two parts; VAR_NONE:
 * diagnosed. */
static Var ifelse_of_parts(const Branches *b, Var condition, const SowEntry *x,
                           const SowPart *then, const SowPart *other) {
    Session *s = b->s;
    Var in[] = {condition, then->var, other->var};
    Var v = op_apply1(b->w->b, op_known(s, OP_IFELSE), NULL, 3, in);
    if (v == VAR_NONE)
        note(s, x->at, "both branches must sow %s with the same type",
             sym_text(s, x->name));
    return v;
}

/* Fills the slots of a name at the enclosing level, unless a later sow has taken
 * them. */
static bool fill_slots(const Branches *b, Var condition, const Level *then,
                       const SowEntry *x, const SowEntry *y) {
    for (size_t k = 0; k < x->part.n; k++) {
        const SowPart *p = &x->part.p[k];
        SowPart *slot = &level_find(then->up, x->name)->part.p[p->slot];
        if (!sow_is_of_branch(slot, then) || p->var == VAR_NONE) continue;
        slot->var = ifelse_of_parts(b, condition, x, p, &y->part.p[k]);
        slot->array = p->array;
        if (slot->var == VAR_NONE) return false;
    }
    return true;
}

bool branches_pass(Branches *b, ApplyId a, const Var *map) {
    if (!b || !is_ifelse(b->src, a)) return true;
    b->ahead -= 2;
    const Level *x = b->node.p[b->ahead].level, *y = b->node.p[b->ahead + 1].level;
    if (!x) return true;
    if (!check_same_sows(b, a, x, y, "else") || !check_same_sows(b, a, y, x, "then"))
        return false;
    for (size_t i = 0; i < x->entry.n; i++) {
        const SowEntry *e = &x->entry.p[i], *same = level_find(y, e->name);
        if (!check_same_times(b, e, same) ||
            !fill_slots(b, map[apply_in(b->src, a)[0]], x, e, same))
            return false;
    }
    return true;
}

void branches_close(Branches *b) {
    if (!b) return;
    for (size_t k = 1; k < b->node.n; k++)
        if (b->node.p[k].level) level_free(b->node.p[k].level);
    vec_free(&b->node);
}
