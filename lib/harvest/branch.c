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
    Walk *w;
    Level *top;
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
    vec_push(b->w->b->s, &b->node, n);
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

Branches *branches_new(Walk *w, Level *top, const Graph *src, ApplyId from,
                       const uint8_t *live, const Var *root, size_t nroot) {
    bool any = false;
    for (ApplyId a = from; a < src->napply && !any; a++)
        any = is_ifelse(src, a);
    if (!any) return NULL;
    Branches *b = NEW(w->arena, Branches);
    *b = (Branches){.w = w, .top = top, .src = src};
    b->of = NEW_N(w->arena, src->napply, uint32_t);
    vec_push(w->b->s, &b->node, ((Node){APPLY_NONE, 0, TOP, 0, top}));
    uint32_t *at = NEW_N(w->arena, src->nvar, uint32_t);
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

static Level *level_of(Branches *b, Level *top, uint32_t k) {
    Node *n = &b->node.p[k];
    if (!n->level) {
        n->level = NEW(b->w->arena, Level);
        *n->level = (Level){.up = top, .scope = top->scope, .loop = top->loop};
    }
    return n->level;
}

Level *branches_level(Branches *b, Level *top, ApplyId a) {
    return b ? level_of(b, top, b->of[a]) : top;
}

/* ---- what the two sides have in common ---- */
static const Entry *find(const Level *l, Sym name) {
    for (size_t i = 0; l && i < l->entry.n; i++)
        if (l->entry.p[i].name == name) return &l->entry.p[i];
    return NULL;
}

static bool same_names(Branches *b, ApplyId id, const Level *x, const Level *y,
                       const char *where) {
    Session *s = b->w->b->s;
    for (size_t i = 0; x && i < x->entry.n; i++) {
        const Entry *e = &x->entry.p[i];
        if (find(y, e->name)) continue;
        fail(s, b->src->origin[id].at, E_NAME,
             "both branches of an ifelse must sow the same names: %s is missing in the "
             "%s branch",
             sym_text(s, e->name), where);
        return note(s, e->at, "it is sown here");
    }
    return true;
}

static Var value_of(Branches *b, const Entry *e) {
    b->w->b->from.at = e->at;
    return e->mode == SOW_APPEND ? level_grown(b->w, e) : e->part.p[0].var;
}

static bool choose(Branches *b, const Node *n, const Entry *x, const Entry *y,
                   Var condition) {
    Session *s = b->w->b->s;
    Level *up = b->node.p[n->up].level;
    if (x->mode != y->mode)
        return fail(s, y->at, E_DUPLICATE,
                    "both branches of an ifelse must sow %s in the same mode",
                    sym_text(s, x->name));
    if (!x->part.n || !y->part.n) return true; /* planted */
    Var in[] = {condition, value_of(b, x), value_of(b, y)};
    if (in[1] == VAR_NONE || in[2] == VAR_NONE) return false;
    b->w->b->from.at = b->src->origin[n->id].at;
    Var v = op_apply1(b->w->b, op_find(s, "ifelse", 6), NULL, 3, in);
    if (v == VAR_NONE)
        return note(s, x->at, "both branches must sow %s with one type",
                    sym_text(s, x->name));
    return level_adopt(b->w, up, x->name, x->mode, v, x->mode == SOW_APPEND, x->at);
}

static bool merge(Branches *b, const Node *then, const Node *other, Var condition) {
    const Level *x = then->level, *y = other->level;
    if (!same_names(b, then->id, x, y, "else") ||
        !same_names(b, then->id, y, x, "then"))
        return false;
    level_of(b, b->top, then->up);
    for (size_t i = 0; x && i < x->entry.n; i++) {
        const Entry *same = find(y, x->entry.p[i].name);
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
