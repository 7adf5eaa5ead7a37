/* The structure of an e-graph: union-find, hash-consing by classes, deferred
 * rebuilding, a forest of proofs. */
#include "rewrite/search/egraph.h"

#include "op/op.h"

#include <string.h>

static const uint32_t none = UINT32_MAX;

/* ---- terms by content ---- */

typedef struct Term {
    const EGraph *e;
    const Apply *a;
    uint16_t out; /* which of its outputs */
    uint32_t nin;
    const Var *in; /* of the graph */
} Term;

static Term term_of(const EGraph *e, Var v) {
    const VarRec *r = &e->g->var[v];
    const Apply *a = &e->g->apply[r->owner];
    return (Term){e, a, r->index, a->nin, e->g->in + a->in};
}

/* The two inputs of a commutative op in a fixed order. */
static void ordered_pair(const Term *t, Var pair[2]) {
    Var x = egraph_find(t->e, t->in[0]), y = egraph_find(t->e, t->in[1]);
    pair[0] = x < y ? x : y;
    pair[1] = x < y ? y : x;
}

static bool swaps(const Term *t) {
    return t->a->op->comm && !t->a->op->uneven && t->nin == 2;
}

static uint64_t hash_of_term(const Term *t) {
    uint64_t h = hash_mix((uint64_t)(uintptr_t)t->a->op, t->a->props->hash);
    h = hash_mix(h, t->out);
    Var pair[2];
    if (swaps(t)) {
        ordered_pair(t, pair);
        return hash_mix(hash_mix(h, pair[0]), pair[1]);
    }
    for (uint32_t i = 0; i < t->nin; i++)
        h = hash_mix(h, egraph_find(t->e, t->in[i]));
    return h;
}

static bool is_same_term(const void *ctx, uint32_t id) {
    const Term *t = ctx;
    Term u = term_of(t->e, id);
    if (t->a->op != u.a->op || t->a->props != u.a->props || t->nin != u.nin ||
        t->out != u.out)
        return false;
    if (swaps(t)) {
        Var x[2], y[2];
        ordered_pair(t, x);
        ordered_pair(&u, y);
        return x[0] == y[0] && x[1] == y[1];
    }
    for (uint32_t i = 0; i < t->nin; i++)
        if (egraph_find(t->e, t->in[i]) != egraph_find(t->e, u.in[i])) return false;
    return true;
}

/* Leaves and Applies with effects are equal only to themselves. */
static bool has_content(const EGraph *e, Var v) {
    return !e->g->var[v].leaf && !e->g->apply[e->g->var[v].owner].serial;
}

/* The term that was entered before with the content of v, else v, entered now. */
static Var enter_term(EGraph *e, Var v) {
    Term t = term_of(e, v);
    uint64_t h = hash_of_term(&t);
    uint32_t have = index_find(&e->terms, h, is_same_term, &t);
    if (have != none) return have;
    index_add(&e->terms, h, v);
    return v;
}

/* ---- opening and growing ---- */

void egraph_open(EGraph *e, Graph *g) {
    *e = (EGraph){.s = g->s, .g = g, .terms = INDEX(g->s)};
    egraph_grow(e);
    egraph_rebuild(e);
}

void egraph_close(EGraph *e) {
    mem_free(e->parent);
    mem_free(e->next);
    mem_free(e->first);
    mem_free(e->last);
    mem_free(e->dead);
    mem_free(e->because);
    vec_free(&e->uses);
    vec_free(&e->todo);
    index_free(&e->terms);
}

static void reserve_terms(EGraph *e) {
    if (e->g->nvar <= e->cap) return;
    e->cap = e->g->nvar + e->g->nvar / 2 + 64;
    e->parent = mem_realloc(e->s, e->parent, e->cap, sizeof *e->parent);
    e->next = mem_realloc(e->s, e->next, e->cap, sizeof *e->next);
    e->first = mem_realloc(e->s, e->first, e->cap, sizeof *e->first);
    e->last = mem_realloc(e->s, e->last, e->cap, sizeof *e->last);
    e->dead = mem_realloc(e->s, e->dead, e->cap, sizeof *e->dead);
    e->because = mem_realloc(e->s, e->because, e->cap, sizeof *e->because);
}

static void add_use(EGraph *e, Var class, Var term) {
    Use u = {term, none};
    uint32_t at = (uint32_t)e->uses.n;
    vec_push(e->s, &e->uses, u);
    if (e->first[class] == none)
        e->first[class] = at;
    else
        e->uses.p[e->last[class]].next = at;
    e->last[class] = at;
}

static void add_uses(EGraph *e, Var v) {
    Term t = term_of(e, v);
    for (uint32_t i = 0; i < t.nin; i++)
        add_use(e, egraph_find(e, t.in[i]), v);
}

void egraph_grow(EGraph *e) {
    reserve_terms(e);
    while (e->n < e->g->nvar) {
        Var v = e->n++;
        e->parent[v] = e->next[v] = v;
        e->first[v] = e->last[v] = none;
        e->dead[v] = false;
        e->because[v] = (Because){VAR_NONE, 0};
        if (!e->g->var[v].leaf) add_uses(e, v);
        if (!has_content(e, v)) continue;
        Var have = enter_term(e, v);
        if (have != v && egraph_union(e, have, v, 0)) e->dead[v] = true;
    }
}

/* ---- unions ---- */

/* Makes v the root of its tree of proofs. */
static void turn_proofs(EGraph *e, Var v) {
    Because up = {VAR_NONE, 0};
    for (Var at = v; at != VAR_NONE;) {
        Because old = e->because[at];
        e->because[at] = up;
        up = (Because){at, old.rule};
        at = old.other;
    }
}

static void join_uses(EGraph *e, Var to, Var from) {
    if (e->first[from] == none) return;
    if (e->first[to] == none)
        e->first[to] = e->first[from];
    else
        e->uses.p[e->last[to]].next = e->first[from];
    e->last[to] = e->last[from];
    e->first[from] = e->last[from] = none;
}

bool egraph_union(EGraph *e, Var a, Var b, Sym rule) {
    Var x = egraph_find(e, a), y = egraph_find(e, b);
    if (x == y || var_type(e->g, a) != var_type(e->g, b)) return false;
    bool y_first = y < x;
    if (var_is_const(e->g, x) != var_is_const(e->g, y)) y_first = var_is_const(e->g, y);
    Var root = y_first ? y : x, other = y_first ? x : y;
    turn_proofs(e, a);
    e->because[a] = (Because){b, rule};
    e->parent[other] = root;
    Var ring = e->next[root];
    e->next[root] = e->next[other];
    e->next[other] = ring;
    join_uses(e, root, other);
    vec_push(e->s, &e->todo, root);
    e->unions++;
    return true;
}

/* ---- rebuilding ---- */

/* The inputs of a term have new classes: it may say what another one says. */
static void renew_term(EGraph *e, Var v) {
    if (e->dead[v] || !has_content(e, v)) return;
    Var have = enter_term(e, v);
    if (have == v) return;
    egraph_union(e, have, v, 0);
    e->dead[v] = egraph_find(e, have) == egraph_find(e, v);
}

/* Dead terms need not be looked at again. */
static void drop_dead_uses(EGraph *e, Var class) {
    uint32_t *link = &e->first[class], last = none;
    while (*link != none) {
        Use *u = &e->uses.p[*link];
        if (e->dead[u->term]) {
            *link = u->next;
        } else {
            last = *link;
            link = &u->next;
        }
    }
    e->last[class] = last;
}

static void renew_users(EGraph *e, Var class) {
    Vec(Var) users = {0};
    drop_dead_uses(e, class);
    for (uint32_t at = e->first[class]; at != none; at = e->uses.p[at].next)
        vec_push(e->s, &users, e->uses.p[at].term);
    for (size_t i = 0; i < users.n; i++)
        renew_term(e, users.p[i]);
    vec_free(&users);
}

void egraph_rebuild(EGraph *e) {
    while (e->todo.n) {
        Var class = egraph_find(e, e->todo.p[--e->todo.n]);
        renew_users(e, class);
    }
}

/* ---- proofs ---- */

static size_t depth_of(const EGraph *e, Var v) {
    size_t n = 0;
    for (; e->because[v].other != VAR_NONE; v = e->because[v].other)
        n++;
    return n;
}

size_t egraph_explain(const EGraph *e, Arena *a, Var from, Var to, Var **path,
                      Sym **rule) {
    size_t up = depth_of(e, from), down = depth_of(e, to), n = 0;
    *path = NEW_N(a, up + down + 1, Var);
    *rule = NEW_N(a, up + down + 1, Sym);
    Var *right = NEW_N(a, down + 1, Var), x = from, y = to;
    size_t nright = 0, dx = up, dy = down;
    (*path)[0] = x;
    while (x != y) {
        if (dx >= dy) {
            (*rule)[n++] = e->because[x].rule;
            (*path)[n] = x = e->because[x].other;
            dx--;
        } else {
            right[nright++] = y;
            y = e->because[y].other;
            dy--;
        }
    }
    while (nright) {
        y = right[--nright];
        (*rule)[n++] = e->because[y].rule;
        (*path)[n] = y;
    }
    return n;
}
