/* Sows of ifelse's branches. A sow belongs to a branch when everything that its value
 * reaches goes through that branch. The branches of one ifelse must sow the same names;
 * what is reaped is that of the branch that is taken. */
#include "harvest/branch.h"

#include <string.h>

enum { TOP = 0 };
static const uint32_t nowhere_yet = UINT32_MAX;

/* A branch: 0 stands for none. */
typedef struct Node {
    ApplyId id;
    unsigned side; /* 0: then, 1: else */
    uint32_t up, depth;
    Level *level;
} Node;
struct Branches {
    Session *s;
    Arena *arena;
    Walk *w;
    const Graph *src;
    uint32_t *of; /* by Apply: the branch that it belongs to */
    Vec(Node) node;
};

static bool is_ifelse(const Graph *g, ApplyId a) {
    return strcmp(g->apply[a].op->name, "ifelse") == 0;
}

static uint32_t common(const Branches *b, uint32_t x, uint32_t y) {
    if (x == nowhere_yet || x == y) return y;
    if (y == nowhere_yet) return x;
    while (x != y)
        if (b->node.p[x].depth >= b->node.p[y].depth)
            x = b->node.p[x].up;
        else
            y = b->node.p[y].up;
    return x;
}

static uint32_t add_node(Branches *b, ApplyId id, unsigned side, uint32_t up) {
    Node n = {id, side, up, b->node.p[up].depth + 1, NULL};
    vec_push(b->s, &b->node, n);
    return (uint32_t)b->node.n - 1;
}

static void spread(Branches *b, ApplyId a, uint32_t *at) {
    const Apply *r = &b->src->apply[a];
    const Var *in = apply_in(b->src, a);
    uint32_t mine = nowhere_yet;
    for (Var k = 0; k < r->nout; k++)
        mine = common(b, mine, at[r->out + k]);
    if (mine == nowhere_yet) mine = TOP;
    bool effect = r->op->effect && !is_sow(b->src, a);
    if (effect) mine = TOP;
    b->of[a] = mine;
    if (!is_ifelse(b->src, a)) {
        for (size_t i = 0; i < r->nin; i++)
            at[in[i]] = common(b, at[in[i]], mine);
        return;
    }
    size_t n = (r->nin - 1u) / 2;
    uint32_t side[] = {add_node(b, a, 0, mine), add_node(b, a, 1, mine)};
    at[in[0]] = common(b, at[in[0]], mine);
    for (size_t i = 0; i < 2 * n; i++)
        at[in[1 + i]] = common(b, at[in[1 + i]], side[i >= n]);
}

/* Finds the branch of each Apply that `live` needs. NULL: there are no branches. */
static Branches *branches_of(Session *s, Arena *arena, const Graph *src, ApplyId from,
                             const uint8_t *live, const Var *root, size_t nroot) {
    bool any = false;
    for (ApplyId a = from; a < src->napply && !any; a++)
        any = is_ifelse(src, a);
    if (!any) return NULL;
    Branches *b = NEW(arena, Branches);
    *b = (Branches){.s = s, .arena = arena, .src = src};
    b->of = NEW_N(arena, src->napply, uint32_t);
    vec_push(s, &b->node, ((Node){APPLY_NONE, 0, TOP, 0, NULL}));
    uint32_t *at = NEW_N(arena, src->nvar, uint32_t);
    memset(at, 0xFF, src->nvar * sizeof *at);
    for (size_t i = 0; i < nroot; i++)
        at[root[i]] = TOP;
    for (ApplyId a = src->napply; a-- > from;) {
        bool needed = false;
        for (Var k = 0; k < src->apply[a].nout; k++)
            needed |= live[src->apply[a].out + k];
        if (needed) spread(b, a, at);
    }
    return b;
}

Branches *branches_new(Walk *w, Level *top, const Graph *src, ApplyId from,
                       const uint8_t *live, const Var *root, size_t nroot) {
    Branches *b = branches_of(w->b->s, w->arena, src, from, live, root, nroot);
    if (!b) return NULL;
    b->w = w;
    b->node.p[TOP].level = top;
    return b;
}

size_t branches_most(const Graph *fn, const uint8_t *live, const Var *root,
                     size_t nroot, const size_t *times) {
    Arena *arena = arena_new(fn->s);
    Branches *b = branches_of(fn->s, arena, fn, 0, live, root, nroot);
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

/* Branches come in pairs: 1 and 2, 3 and 4. */
static uint32_t twin_of(uint32_t k) {
    return ((k - 1) ^ 1) + 1;
}

static Level *level_of(Branches *b, uint32_t k) {
    Node *n = &b->node.p[k];
    if (n->level) return n->level;
    Level *l = NEW(b->arena, Level), *up = level_of(b, n->up),
          *twin = b->node.p[twin_of(k)].level;
    *l = (Level){
        .up = up, .scope = up->scope, .loop = up->loop, .choice = n->id, .twin = twin};
    if (twin) twin->twin = l;
    return n->level = l;
}

Level *branches_level(Branches *b, Level *top, ApplyId a) {
    return b ? level_of(b, b->of[a]) : top;
}

/* ---- what the two sides have in common ---- */
static bool same_names(Branches *b, ApplyId id, const Level *x, const Level *y,
                       const char *where) {
    Session *s = b->w->b->s;
    for (size_t i = 0; x && i < x->entry.n; i++) {
        const Entry *e = &x->entry.p[i];
        if (level_find(y, e->name)) continue;
        fail(s, b->src->origin[id].at, E_NAME,
             "both branches of an ifelse must sow the same names: %s is missing in the "
             "%s branch",
             sym_text(s, e->name), where);
        return note(s, e->at, "it is sown here");
    }
    return true;
}

/* What the condition chooses of part k, to its place at the level around, unless
 * something came after. */
static bool choose_part(Branches *b, const Node *n, const Entry *x, const Entry *y,
                        size_t k, Var condition) {
    Session *s = b->w->b->s;
    const Part *p = &x->part.p[k];
    Part *place = &level_find(level_of(b, n->up), x->name)->part.p[p->slot];
    if (place->by != n->id || p->var == VAR_NONE) return true;
    Var in[] = {condition, p->var, y->part.p[k].var};
    b->w->b->from.at = b->src->origin[n->id].at;
    place->var = op_apply1(b->w->b, op_find(s, "ifelse", 6), NULL, 3, in);
    place->array = p->array;
    return place->var != VAR_NONE ||
           note(s, x->at, "both branches must sow %s with one type",
                sym_text(s, x->name));
}

static bool choose(Branches *b, const Node *n, const Entry *x, const Entry *y,
                   Var condition) {
    Session *s = b->w->b->s;
    if (x->mode != y->mode)
        return fail(s, y->at, E_DUPLICATE,
                    "both branches of an ifelse must sow %s in the same mode",
                    sym_text(s, x->name));
    if (x->part.n != y->part.n)
        return fail(s, y->at, E_DUPLICATE,
                    "both branches of an ifelse must sow %s equally often, not %zu and "
                    "%zu times",
                    sym_text(s, x->name), x->part.n, y->part.n);
    for (size_t k = 0; k < x->part.n; k++)
        if (!choose_part(b, n, x, y, k, condition)) return false;
    return true;
}

static bool merge(Branches *b, const Node *then, const Node *other, Var condition) {
    const Level *x = then->level, *y = other->level;
    if (!same_names(b, then->id, x, y, "else") ||
        !same_names(b, then->id, y, x, "then"))
        return false;
    for (size_t i = 0; x && i < x->entry.n; i++) {
        const Entry *same = level_find(y, x->entry.p[i].name);
        if (same && !choose(b, then, &x->entry.p[i], same, condition)) return false;
    }
    return true;
}

static void drop(Level *l) {
    for (size_t i = 0; l && i < l->entry.n; i++)
        vec_free(&l->entry.p[i].part);
    if (l) vec_free(&l->entry);
}

/* Inner branches come after outer ones: their nodes were added later. */
bool branches_close(Branches *b, bool ok, const Var *map) {
    if (!b) return ok;
    for (size_t k = b->node.n; k > 1; k -= 2) {
        const Node *then = &b->node.p[k - 2], *other = &b->node.p[k - 1];
        if (ok && (then->level || other->level))
            ok = merge(b, then, other, map[apply_in(b->src, then->id)[0]]);
        drop(b->node.p[k - 2].level);
        drop(b->node.p[k - 1].level);
    }
    vec_free(&b->node);
    return ok;
}
