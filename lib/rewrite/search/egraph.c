/* The structure of an e-graph: union-find, hash-consing by classes, deferred
 * rebuilding, a forest of proofs. */
#include "rewrite/search/egraph.h"

#include "op/op.h"

#include <string.h>

static const uint32_t none = UINT32_MAX;

/* ---- terms by content ---- */

typedef struct Content {
    const EGraph *e;
    const Op *op;
    const Props *props;
    uint16_t out; /* which of its outputs */
    uint32_t nin;
    const Var *in; /* of the graph */
} Content;

static Content content_of(const EGraph *e, Var v) {
    const VarRec *r = &e->g->var[v];
    const Apply *a = &e->g->apply[r->owner];
    return (Content){e, a->op, a->props, r->index, a->nin, e->g->in + a->in};
}

/* The two inputs of a commutative op in a fixed order. */
static void ordered_pair(const Content *t, Var pair[2]) {
    Var x = egraph_find(t->e, t->in[0]), y = egraph_find(t->e, t->in[1]);
    pair[0] = x < y ? x : y;
    pair[1] = x < y ? y : x;
}

static bool swaps(const Content *t) {
    return t->nin == 2 && t->op->comm && !t->op->uneven;
}

static uint64_t hash_of_content(const Content *t) {
    uint64_t h = hash_mix((uint64_t)(uintptr_t)t->op, t->props->hash + t->out);
    Var pair[2];
    if (swaps(t)) {
        ordered_pair(t, pair);
        return hash_mix(h, (uint64_t)pair[0] << 32 | pair[1]);
    }
    for (uint32_t i = 0; i < t->nin; i++)
        h = hash_mix(h, egraph_find(t->e, t->in[i]));
    return h;
}

static bool is_same_content(const void *ctx, uint32_t id) {
    const Content *t = ctx;
    Content u = content_of(t->e, id);
    if (t->op != u.op || t->props != u.props || t->nin != u.nin || t->out != u.out)
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
    Content t = content_of(e, v);
    uint64_t h = hash_of_content(&t);
    uint32_t have = index_find(&e->terms, h, is_same_content, &t);
    if (have != none) return have;
    index_add(&e->terms, h, v);
    return v;
}

Var egraph_lookup(const EGraph *e, const Op *op, const Props *props, VarList in,
                  uint64_t *hash) {
    Content t = {e, op, props, 0, (uint32_t)in.n, in.p};
    *hash = hash_of_content(&t);
    return index_find(&e->terms, *hash, is_same_content, &t);
}

/* ---- opening and growing ---- */

void egraph_open(EGraph *e, Graph *g, bool proves) {
    *e = (EGraph){.s = g->s, .g = g, .terms = INDEX(g->s)};
    if (proves) e->because = mem_alloc(g->s, sizeof *e->because);
    egraph_grow(e);
    egraph_rebuild(e, NULL, NULL);
}

void egraph_close(EGraph *e) {
    mem_free(e->parent);
    mem_free(e->term);
    mem_free(e->class);
    mem_free(e->because);
    vec_free(&e->uses);
    vec_free(&e->todo);
    index_free(&e->terms);
}

size_t egraph_bytes(const EGraph *e) {
    size_t each = sizeof *e->parent + sizeof *e->term + sizeof *e->class +
                  (e->because ? sizeof *e->because : 0);
    return e->cap * each + e->uses.cap * sizeof *e->uses.p +
           e->todo.cap * sizeof *e->todo.p +
           (e->terms.slot ? (e->terms.mask + 1) * sizeof *e->terms.slot : 0);
}

static void reserve_terms(EGraph *e) {
    if (e->g->nvar <= e->cap) return;
    e->cap = e->g->nvar + e->g->nvar / 2 + 64;
    e->parent = mem_realloc(e->s, e->parent, e->cap, sizeof *e->parent);
    e->term = mem_realloc(e->s, e->term, e->cap, sizeof *e->term);
    e->class = mem_realloc(e->s, e->class, e->cap, sizeof *e->class);
    if (e->because)
        e->because = mem_realloc(e->s, e->because, e->cap, sizeof *e->because);
}

/* Puts the uses from `first` to `last`, which are a list, behind those of the class. */
static void append_uses(EGraph *e, Class *c, uint32_t first, uint32_t last) {
    if (c->first == none)
        c->first = first;
    else
        e->uses.p[c->last].next = first;
    c->last = last;
}

static void add_use(EGraph *e, Var class, Var term) {
    Use u = {term, none};
    uint32_t at = (uint32_t)e->uses.n;
    vec_push(e->s, &e->uses, u);
    append_uses(e, &e->class[class], at, at);
}

static void add_uses(EGraph *e, Var v) {
    VarList in = egraph_inputs(e, v);
    for (size_t i = 0; i < in.n; i++)
        add_use(e, egraph_find(e, in.p[i]), v);
}

/* A class of its own. */
static void open_class(EGraph *e, Var v) {
    Term t = {.next = v, .since = e->now, .kind = KIND_LEAF};
    Kinds kinds = 0;
    if (!e->g->var[v].leaf) {
        const Apply *a = &e->g->apply[e->g->var[v].owner];
        t.in = a->in, t.nin = a->nin, t.kind = kind_number(e->s, a->op);
        kinds = (Kinds)1 << t.kind;
    }
    e->parent[v] = v;
    e->term[v] = t;
    e->class[v] = (Class){.kinds = kinds, .fresh = e->now, .first = none, .last = none};
    if (e->because) e->because[v] = (Because){VAR_NONE, 0, false};
}

static void bury(EGraph *e, Var v) {
    e->term[v].kind = KIND_DEAD;
}

/* v has nothing to add to the class of `have`, which says the same: not a member, not a
 * user of its inputs. */
static void make_alias(EGraph *e, Var v, Var have) {
    e->parent[v] = egraph_find(e, have);
    bury(e, v);
    if (e->because) e->because[v] = (Because){have, 0, false};
    e->aliases++;
}

void egraph_grow(EGraph *e) {
    reserve_terms(e);
    while (e->n < e->g->nvar) {
        Var v = e->n++;
        open_class(e, v);
        Var have = has_content(e, v) ? enter_term(e, v) : v;
        if (have != v && var_type(e->g, have) == var_type(e->g, v))
            make_alias(e, v, have);
        else
            add_uses(e, v);
    }
}

void egraph_enter(EGraph *e, uint64_t hash) {
    Var v = e->n++;
    reserve_terms(e);
    open_class(e, v);
    index_add(&e->terms, hash, v);
    add_uses(e, v);
}

/* ---- unions ---- */

/* Makes v the root of its tree of proofs. */
static void turn_proofs(EGraph *e, Var v) {
    Because up = {VAR_NONE, 0, false};
    for (Var at = v; at != VAR_NONE;) {
        Because old = e->because[at];
        e->because[at] = up;
        up = (Because){at, old.rule, !old.back};
        at = old.other;
    }
}

static void touch(EGraph *e, Var v) {
    e->term[v].since = e->now;
    e->class[egraph_find(e, v)].fresh = e->now;
}

/* Patterns see new pairs of the members of one class and the users of the other: the
 * users and members of `from`, usually the smaller one, cover both kinds. Its users
 * must be entered anew. */
static void move_users(EGraph *e, Var to, Var from) {
    Class *c = &e->class[from];
    uint32_t first = c->first, last = none, *link = &first;
    while (*link != none) {
        Var v = e->uses.p[*link].term;
        if (egraph_is_dead(e, v)) {
            *link = e->uses.p[*link].next;
            continue;
        }
        touch(e, v);
        vec_push(e->s, &e->todo, v);
        last = *link;
        link = &e->uses.p[*link].next;
    }
    c->first = c->last = none;
    if (first != none) append_uses(e, &e->class[to], first, last);
}

static void move_members(EGraph *e, Var to, Var from) {
    Var v = from;
    do {
        e->term[v].since = e->now;
        v = e->term[v].next;
    } while (v != from);
    e->class[to].fresh = e->now;
    e->class[to].kinds |= e->class[from].kinds;
    Var ring = e->term[to].next;
    e->term[to].next = e->term[from].next;
    e->term[from].next = ring;
}

bool egraph_union(EGraph *e, Var a, Var b, Sym rule) {
    Var x = egraph_find(e, a), y = egraph_find(e, b);
    if (x == y || var_type(e->g, a) != var_type(e->g, b)) return false;
    bool y_first = y < x;
    if (var_is_const(e->g, x) != var_is_const(e->g, y)) y_first = var_is_const(e->g, y);
    Var root = y_first ? y : x, other = y_first ? x : y;
    if (e->because) {
        turn_proofs(e, a);
        e->because[a] = (Because){b, rule, false};
    }
    e->parent[other] = root;
    move_users(e, root, other);
    move_members(e, root, other);
    e->unions++;
    return true;
}

/* ---- rebuilding ---- */

/* The inputs of a term have new classes: it may say what another one says. */
static void renew_term(EGraph *e, Var v) {
    if (egraph_is_dead(e, v) || !has_content(e, v)) return;
    Var have = enter_term(e, v);
    if (have == v) return;
    egraph_union(e, have, v, 0);
    if (egraph_find(e, have) == egraph_find(e, v)) bury(e, v);
}

bool egraph_rebuild(EGraph *e, EGraphStop *stop, void *ctx) {
    enum { ASK_EVERY = 1024 };
    for (uint32_t n = 1; e->todo.n; n++) {
        renew_term(e, e->todo.p[--e->todo.n]);
        if (stop && n % ASK_EVERY == 0 && stop(ctx)) return false;
    }
    return true;
}

/* ---- proofs ---- */

static size_t depth_of(const EGraph *e, Var v) {
    size_t n = 0;
    for (; e->because[v].other != VAR_NONE; v = e->because[v].other)
        n++;
    return n;
}

static Var step_up(const EGraph *e, Var v, ProofStep *step) {
    Because b = e->because[v];
    *step = (ProofStep){v, b.other, b.rule, b.back};
    return b.other;
}

static ProofStep turned(ProofStep s) {
    return (ProofStep){s.to, s.from, s.rule, !s.back};
}

size_t egraph_explain(const EGraph *e, Arena *a, Var from, Var to, ProofStep **step) {
    size_t dx = depth_of(e, from), dy = depth_of(e, to), n = 0, nright = 0;
    *step = NEW_N(a, dx + dy + 1, ProofStep);
    ProofStep *right = NEW_N(a, dy + 1, ProofStep);
    for (Var x = from, y = to; x != y;) {
        if (dx >= dy) {
            x = step_up(e, x, &(*step)[n++]);
            dx--;
        } else {
            y = step_up(e, y, &right[nright++]);
            dy--;
        }
    }
    while (nright)
        (*step)[n++] = turned(right[--nright]);
    return n;
}
