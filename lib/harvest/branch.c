/* Sows in the branches of an ifelse. A sow belongs to a branch if everything that
 * depends on its value goes through that branch. Both branches of an ifelse must sow
 * the same names; a harvest reaps the values of the branch taken. */
#include "harvest/branch.h"

#include <string.h>

enum { TOP = 0 };
static const uint32_t nowhere_yet = UINT32_MAX;

/* An ifelse; its branches are nodes `node` and node + 1. */
struct IfelseChoice {
    Branches *b;
    ApplyId id;
    uint32_t node;
};
/* A branch. Node 0 is TOP, which belongs to no branch. */
typedef struct BranchNode {
    IfelseChoice *choice;
    uint32_t up, depth;
    Level *level;
} BranchNode;
struct Branches {
    Session *s;
    Arena *arena;
    HarvestWalk *w;
    const Graph *src;
    uint32_t *of; /* by Apply: its branch */
    Vec(BranchNode) node;
    const Var *map; /* by variable of src: its replacement, once walked */
    ApplyId done;   /* the walk has passed every Apply before this one */
};

static bool is_ifelse(const Graph *g, ApplyId a) {
    return op_is(g->s, g->apply[a].op, OP_IFELSE);
}

static uint32_t common_branch(const Branches *b, uint32_t x, uint32_t y) {
    if (x == nowhere_yet || x == y) return y;
    if (y == nowhere_yet) return x;
    while (x != y)
        if (b->node.p[x].depth >= b->node.p[y].depth)
            x = b->node.p[x].up;
        else
            y = b->node.p[y].up;
    return x;
}

/* Adds both branches of an ifelse; returns the number of the first. */
static uint32_t add_choice(Branches *b, ApplyId id, uint32_t up) {
    IfelseChoice *c = NEW(b->arena, IfelseChoice);
    *c = (IfelseChoice){b, id, (uint32_t)b->node.n};
    BranchNode n = {c, up, b->node.p[up].depth + 1, NULL};
    vec_push(b->s, &b->node, n);
    vec_push(b->s, &b->node, n);
    return c->node;
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
    uint32_t first = add_choice(b, a, mine);
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
static Branches *find_branches(Session *s, Arena *arena, const Graph *src, ApplyId from,
                               const uint8_t *live, const Var *root, size_t nroot) {
    bool any = false;
    for (ApplyId a = from; a < src->napply && !any; a++)
        any = is_ifelse(src, a);
    if (!any) return NULL;
    Branches *b = NEW(arena, Branches);
    *b = (Branches){.s = s, .arena = arena, .src = src};
    b->of = NEW_N(arena, src->napply, uint32_t);
    vec_push(s, &b->node, ((BranchNode){NULL, TOP, 0, NULL}));
    uint32_t *at = NEW_N(arena, src->nvar, uint32_t);
    memset(at, 0xFF, src->nvar * sizeof *at);
    for (size_t i = 0; i < nroot; i++)
        at[root[i]] = TOP;
    for (ApplyId a = src->napply; a-- > from;) {
        bool needed = false;
        for (Var k = 0; k < src->apply[a].nout; k++)
            needed |= live[src->apply[a].out + k];
        if (needed) assign_branch(b, a, at);
    }
    return b;
}

Branches *branches_new(HarvestWalk *w, Level *top, const Graph *src, ApplyId from,
                       const uint8_t *live, const Var *root, size_t nroot,
                       const Var *map) {
    Branches *b = find_branches(w->b->s, w->arena, src, from, live, root, nroot);
    if (!b) return NULL;
    b->w = w;
    b->map = map;
    b->node.p[TOP].level = top;
    return b;
}

size_t branches_most(const Graph *fn, const uint8_t *live, const Var *root,
                     size_t nroot, const size_t *times) {
    Arena *arena = arena_new(fn->s);
    Branches *b = find_branches(fn->s, arena, fn, 0, live, root, nroot);
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

/* Numbers 1 and 2 are twins, 3 and 4, and so on. */
static uint32_t twin_branch(uint32_t k) {
    return ((k - 1) ^ 1) + 1;
}

static Level *branch_level(Branches *b, uint32_t k) {
    BranchNode *n = &b->node.p[k];
    if (n->level) return n->level;
    Level *l = NEW(b->arena, Level), *up = branch_level(b, n->up),
          *twin = b->node.p[twin_branch(k)].level;
    *l = (Level){.up = up,
                 .scope = up->scope,
                 .loop = up->loop,
                 .choice = n->choice,
                 .twin = twin};
    if (twin) twin->twin = l;
    return n->level = l;
}

Level *branches_level(Branches *b, Level *top, ApplyId a) {
    if (!b) return top;
    b->done = a;
    return branch_level(b, b->of[a]);
}

/* ---- merging the two branches ---- */
static bool fail_missing_sow(const Branches *b, ApplyId id, const SowEntry *e,
                             const char *where) {
    Session *s = b->s;
    fail(s, b->src->origin[id].at, E_NAME,
         "both branches of an ifelse must sow the same names: %s is missing in the %s "
         "branch",
         sym_text(s, e->name), where);
    return note(s, e->at, "it is sown here");
}

static bool check_same_sows(const Branches *b, ApplyId id, const Level *x,
                            const Level *y, const char *where) {
    for (size_t i = 0; x && i < x->entry.n; i++)
        if (!level_find(y, x->entry.p[i].name))
            return fail_missing_sow(b, id, &x->entry.p[i], where);
    return true;
}

/* An ifelse on the same condition that selects one of two parts; VAR_NONE:
 * diagnosed. */
static Var ifelse_of_parts(const Branches *b, ApplyId id, const SowEntry *x,
                           const SowPart *then, const SowPart *other) {
    Session *s = b->s;
    Builder *to = b->w->b;
    Var in[] = {b->map[apply_in(b->src, id)[0]], then->var, other->var};
    Origin was = to->from;
    to->from.at = b->src->origin[id].at;
    Var v = op_apply1(to, op_known(s, OP_IFELSE), NULL, 3, in);
    to->from = was;
    if (v == VAR_NONE)
        note(s, x->at, "both branches must sow %s with one type", sym_text(s, x->name));
    return v;
}

static bool keeps_last_sow(SowMode m) {
    return m == SOW_CLOBBER || m == SOW_COND;
}

/* Merges one name into its slot at the enclosing level, unless a later sow has taken
 * the slot. */
static bool merge_entries(const Branches *b, const IfelseChoice *c, const SowEntry *x,
                          const SowEntry *y) {
    Session *s = b->s;
    if (x->mode != y->mode && !(keeps_last_sow(x->mode) && keeps_last_sow(y->mode)))
        return fail(s, y->at, E_DUPLICATE,
                    "both branches of an ifelse must sow %s in the same mode",
                    sym_text(s, x->name));
    if (x->part.n != y->part.n)
        return fail(s, y->at, E_DUPLICATE,
                    "both branches of an ifelse must sow %s equally often, not %zu and "
                    "%s",
                    sym_text(s, x->name), x->part.n, str_counted(s, y->part.n, "time"));
    Level *around = branch_level(c->b, b->node.p[c->node].up);
    for (size_t k = 0; k < x->part.n; k++) {
        const SowPart *p = &x->part.p[k];
        SowPart *place = &level_find(around, x->name)->part.p[p->slot];
        if (place->by != c || place->var != VAR_NONE || p->var == VAR_NONE) continue;
        if ((place->var = ifelse_of_parts(b, c->id, x, p, &y->part.p[k])) == VAR_NONE)
            return false;
        place->array = p->array;
    }
    return true;
}

static bool merge_choice(const Branches *b, const IfelseChoice *c) {
    const Level *x = b->node.p[c->node].level, *y = b->node.p[c->node + 1].level;
    if (!check_same_sows(b, c->id, x, y, "else") ||
        !check_same_sows(b, c->id, y, x, "then"))
        return false;
    for (size_t i = 0; x && i < x->entry.n; i++) {
        const SowEntry *same = level_find(y, x->entry.p[i].name);
        if (same && !merge_entries(b, c, &x->entry.p[i], same)) return false;
    }
    return true;
}

/* Merges one name, which either branch may lack: diagnosed. */
static bool merge_name(const Branches *b, const IfelseChoice *c, Sym name) {
    const SowEntry *x = level_find(b->node.p[c->node].level, name),
                   *y = level_find(b->node.p[c->node + 1].level, name);
    if (!x && !y) return true;
    if (!y) return fail_missing_sow(b, c->id, x, "else");
    if (!x) return fail_missing_sow(b, c->id, y, "then");
    return merge_entries(b, c, x, y);
}

/* Inner ifelses have higher numbers, so they merge before the outer ones that use
 * them. */
Var branches_chosen(const IfelseChoice *c, Sym name, SowPart *place, Span at) {
    const Branches *b = c->b;
    Session *s = b->s;
    if (c->id >= b->done) {
        fail(s, at, E_DUPLICATE,
             "%s is sown on a condition amid the branches of an ifelse that sow it",
             sym_text(s, name));
        note(s, NOWHERE, "with key= what the ifelse gives it comes after that");
        return VAR_NONE;
    }
    for (uint32_t k = (uint32_t)b->node.n - 2; k > c->node; k -= 2)
        if (b->node.p[k].choice->id < b->done &&
            !merge_name(b, b->node.p[k].choice, name))
            return VAR_NONE;
    const SowEntry *x = level_find(b->node.p[c->node].level, name),
                   *y = level_find(b->node.p[c->node + 1].level, name);
    if (!merge_name(b, c, name)) return VAR_NONE;
    if (place->var == VAR_NONE) /* otherwise the slot already has its value */
        place->var = ifelse_of_parts(b, c->id, x, &x->part.p[0], &y->part.p[0]);
    return place->var;
}

static void free_branch_level(Level *l) {
    for (size_t i = 0; l && i < l->entry.n; i++)
        vec_free(&l->entry.p[i].part);
    if (l) vec_free(&l->entry);
}

bool branches_close(Branches *b, bool ok) {
    if (!b) return ok;
    for (size_t k = b->node.n; k > 1; k -= 2) {
        const BranchNode *then = &b->node.p[k - 2], *other = &b->node.p[k - 1];
        if (ok && (then->level || other->level)) ok = merge_choice(b, then->choice);
        free_branch_level(then->level);
        free_branch_level(other->level);
    }
    vec_free(&b->node);
    return ok;
}
