/* Builds the sides of a match. The right side reuses the terms of the e-graph by their
 * classes, so that what is known already costs a look into one table. Where proofs are
 * wanted, both sides are built letter for letter. */
#include "graph/append.h"
#include "rewrite/search/search_impl.h"

#include <string.h>

/* ---- typing that was done before ---- */

static uint64_t typing_hash(const Typing *t) {
    uint64_t h = hash_mix((uintptr_t)t->op, (uintptr_t)t->given);
    for (size_t i = 0; i < t->nin; i++)
        h = hash_mix(h, (uintptr_t)t->in[i]);
    return h;
}

typedef struct WantedTyping {
    const Search *s;
    const Typing *key;
} WantedTyping;

static bool is_wanted_typing(const void *ctx, uint32_t id) {
    const WantedTyping *w = ctx;
    const Typing *a = w->key, *b = &w->s->typing.p[id];
    if (a->op != b->op || a->given != b->given || a->nin != b->nin) return false;
    for (size_t i = 0; i < a->nin; i++)
        if (a->in[i] != b->in[i]) return false;
    return true;
}

/* What an op makes of floats depends on their types alone, unless it takes sizes from
 * constants, as arange does. */
static bool typing_open(const Graph *g, const Op *op, const Props *given, VarList in,
                        Typing *t) {
    *t = (Typing){.op = op, .given = given, .nin = in.n};
    if (in.n == 0 || in.n > TYPING_IN || op->effect) return false;
    for (size_t i = 0; i < in.n; i++) {
        t->in[i] = var_type(g, in.p[i]);
        if (t->in[i]->kind != TYPE_TENSOR || !dtype_is_inexact(t->in[i]->dtype) ||
            (op->type && var_is_const(g, in.p[i])))
            return false;
    }
    return true;
}

static const Typing *find_typing(const Search *s, const Typing *key) {
    WantedTyping w = {s, key};
    uint32_t at = index_find(&s->typing_of, typing_hash(key), is_wanted_typing, &w);
    return at == UINT32_MAX ? NULL : &s->typing.p[at];
}

/* What op_apply made says how to type such calls, if it is the call itself. */
static void learn_typing(Search *s, Typing *t, const Var *in, Var made) {
    const Graph *g = s->e.g;
    if (g->var[made].leaf) return;
    const Apply *a = &g->apply[g->var[made].owner];
    if (a->op != t->op || a->nout != 1 || a->serial || a->nin != t->nin ||
        memcmp(g->in + a->in, in, t->nin * sizeof *in) != 0)
        return;
    t->props = a->props;
    t->out = g->var[made].type;
    index_add(&s->typing_of, typing_hash(t), (uint32_t)s->typing.n);
    vec_push(s->s, &s->typing, *t);
}

/* ---- right sides ---- */

static Var append_term(Search *s, const Typing *t, VarList in, uint64_t hash) {
    Graph *g = s->e.g;
    graph_reserve(g, 1, 1, (uint32_t)in.n);
    graph_append(g, t->op, t->props, (uint32_t)in.n, in.p, 1, &t->out, s->r.b.from);
    egraph_enter(&s->e, hash);
    return g->nvar - 1;
}

bool search_apply(void *ctx, const Op *op, const Props *props, VarList in, Var *out) {
    Search *s = ctx;
    Var class[TYPING_IN];
    Typing key;
    egraph_grow(&s->e); /* literals are built elsewhere */
    bool plain = !s->e.because && typing_open(s->e.g, op, props, in, &key);
    const Typing *t = plain ? find_typing(s, &key) : NULL;
    if (!t) {
        if (!op_apply(&s->r.b, op, props, in.n, in.p, out)) return false;
        egraph_grow(&s->e);
        if (plain) learn_typing(s, &key, in.p, out[0]);
        return true;
    }
    for (size_t i = 0; i < in.n; i++)
        class[i] = egraph_find(&s->e, in.p[i]);
    VarList named = {in.n, class};
    uint64_t hash;
    Var have = egraph_lookup(&s->e, op, t->props, named, &hash);
    out[0] =
        have == VAR_NONE ? append_term(s, t, named, hash) : egraph_find(&s->e, have);
    return true;
}

/* ---- left sides ---- */

static Var picked_for(const Search *s, const Pat *p) {
    for (size_t i = s->picked.n; i-- > 0;)
        if (s->picked.p[i].p == p) return s->picked.p[i].term;
    return VAR_NONE;
}

Var search_build_left(Search *s, const Pat *p, const Match *m) {
    if (p->kind == PAT_HOLE) return m->var[p->hole];
    Var like = picked_for(s, p), in[8];
    if (p->kind == PAT_LITERAL) return like;
    for (size_t i = 0; i < p->nin; i++)
        in[i] = search_build_left(s, p->in[i], m);
    Graph *g = s->e.g;
    const VarRec at = g->var[like];
    const Apply a = g->apply[at.owner];
    const Type **type = mem_alloc(s->s, a.nout * sizeof *type);
    for (Var k = 0; k < a.nout; k++)
        type[k] = var_type(g, a.out + k);
    Var made = graph_apply(g, a.op, a.props, a.nin, in, a.nout, type, true, false,
                           g->origin[at.owner]);
    mem_free(type);
    rewriter_grow(&s->r);
    egraph_grow(&s->e);
    return made + at.index;
}
