/* --diff as a page: which Apply of one graph is which of the other. Values that are
 * computed in the same way from the same leaves have one number in both graphs; Applies
 * with equal numbers are pairs. Of the rest, names, outputs and readers say which
 * belong together. */
#include "op/op.h"
#include "page/page.h"
#include "tools/tools.h"
#include "value/class.h"

#include <string.h>

#define NO_PAIR UINT32_MAX
typedef enum PairState {
    PAIR_EQUAL,   /* with all that they are computed from */
    PAIR_DIFFERS, /* in op or props */
    PAIR_INPUTS,  /* in what they are computed from alone */
    PAIR_NONE
} PairState;

/* A graph or function of one side. */
typedef struct Side {
    const Graph *g;
    uint32_t *number; /* by variable */
    uint32_t *pair;   /* by Apply */
    uint32_t *state;
} Side;
typedef struct Pairing {
    Session *s;
    Arena *a;
    Side side[2];
    Index known; /* hash -> value */
    Vec(struct Known {
        const Graph *g;
        Var var; /* a leaf, or the first output of an Apply */
        uint32_t *number;
    }) value;
    Map equal;         /* names of functions that are equal in both graphs */
    Vec(ApplyId) todo; /* of the first graph: pairs whose inputs are yet to be paired */
} Pairing;

/* ---- numbers of values ---- */
typedef struct Asked {
    const Pairing *p;
    const Graph *g;
    Var var;
    const uint32_t *number;
} Asked;

static bool same_leaves(const Graph *a, Var x, const Graph *b, Var y) {
    const Leaf *l = var_leafrec(a, x), *k = var_leafrec(b, y);
    if (var_leaf(a, x) != var_leaf(b, y) || var_type(a, x) != var_type(b, y))
        return false;
    if (!var_is_const(a, x)) return l->name == k->name;
    const Tensor *t = var_const(a, x), *u = var_const(b, y);
    if (t && u) return tensor_identical(t, u);
    return !t && !u && l->value && k->value &&
           value_hash(l->value) == value_hash(k->value);
}

static bool same_props(const Pairing *p, const Props *x, const Props *y) {
    if (x != y) return false;
    for (uint32_t i = 0; x && i < x->n; i++)
        if (x->p[i].kind == P_GRAPH && !map_get(&p->equal, x->p[i].sym, NULL))
            return false;
    return true;
}

static bool is_same_value(const void *ctx, uint32_t id) {
    const Asked *q = ctx;
    const struct Known *k = &q->p->value.p[id];
    ApplyId x = var_owner(q->g, q->var), y = var_owner(k->g, k->var);
    if (x == APPLY_NONE || y == APPLY_NONE)
        return x == y && same_leaves(q->g, q->var, k->g, k->var);
    const Apply *a = &q->g->apply[x], *b = &k->g->apply[y];
    if (a->op != b->op || a->nin != b->nin || a->nout != b->nout ||
        !same_props(q->p, a->props, b->props))
        return false;
    for (size_t i = 0; i < a->nin; i++)
        if (q->number[apply_in(q->g, x)[i]] != k->number[apply_in(k->g, y)[i]])
            return false;
    return true;
}

static uint64_t hash_of_value(const Side *k, Var v) {
    const Graph *g = k->g;
    ApplyId id = var_owner(g, v);
    if (id == APPLY_NONE) {
        const Tensor *t = var_const(g, v);
        return hash_mix(var_leaf(g, v), t ? tensor_hash(t) : var_leafrec(g, v)->name);
    }
    const Apply *ap = &g->apply[id];
    uint64_t h = hash_mix((uintptr_t)ap->op, (uintptr_t)ap->props);
    for (size_t i = 0; i < ap->nin; i++)
        h = hash_mix(h, k->number[apply_in(g, id)[i]]);
    return h;
}

/* Outputs of an Apply have numbers that follow each other. */
static void number_values(Pairing *p, Side *k) {
    uint32_t outputs;
    for (Var v = 0; v < k->g->nvar; v += outputs) {
        ApplyId id = var_owner(k->g, v);
        outputs = id == APPLY_NONE ? 1 : k->g->apply[id].nout;
        Asked q = {p, k->g, v, k->number};
        uint64_t hash = hash_of_value(k, v);
        uint32_t at = index_find(&p->known, hash, is_same_value, &q);
        if (at == UINT32_MAX) {
            at = (uint32_t)p->value.n;
            for (uint32_t i = 0; i < outputs; i++)
                vec_push(p->s, &p->value, ((struct Known){k->g, v, k->number}));
            index_add(&p->known, hash, at);
        }
        for (uint32_t i = 0; i < outputs; i++)
            k->number[v + i] = at + i;
    }
}

/* ---- pairs ---- */
static void make_pair(Pairing *p, ApplyId x, ApplyId y) {
    Side *a = &p->side[0], *b = &p->side[1];
    const Apply *k = &a->g->apply[x], *l = &b->g->apply[y];
    bool same = k->op == l->op && same_props(p, k->props, l->props);
    bool equal = a->number[k->out] == b->number[l->out];
    a->pair[x] = y;
    b->pair[y] = x;
    a->state[x] = b->state[y] = equal ? PAIR_EQUAL : same ? PAIR_INPUTS : PAIR_DIFFERS;
    vec_push(p->s, &p->todo, x);
}

/* The same values, in the order of the graphs. */
static void pair_equal(Pairing *p) {
    Side *a = &p->side[0], *b = &p->side[1];
    uint32_t *next = NEW_N(p->a, p->value.n + 1, uint32_t),
             *after = NEW_N(p->a, (size_t)b->g->napply + 1, uint32_t);
    memset(next, 0xff, p->value.n * sizeof *next);
    for (ApplyId y = b->g->napply; y-- > 0;) {
        uint32_t n = b->number[b->g->apply[y].out];
        after[y] = next[n];
        next[n] = y;
    }
    for (ApplyId x = 0; x < a->g->napply; x++) {
        uint32_t n = a->number[a->g->apply[x].out];
        if (next[n] == NO_PAIR) continue;
        make_pair(p, x, next[n]);
        next[n] = after[next[n]];
    }
}

/* Pairs the Applies that make two variables, unless one of them has a partner. */
static void pair_makers(Pairing *p, Var v, Var w, bool same_op) {
    const Side *a = &p->side[0], *b = &p->side[1];
    ApplyId x = var_owner(a->g, v), y = var_owner(b->g, w);
    if (x == APPLY_NONE || y == APPLY_NONE) return;
    if (a->pair[x] != NO_PAIR || b->pair[y] != NO_PAIR) return;
    if (same_op && a->g->apply[x].op != b->g->apply[y].op) return;
    make_pair(p, x, y);
}

static void pair_names(Pairing *p) {
    const Graph *a = p->side[0].g, *b = p->side[1].g;
    for (size_t i = 0; i < a->names.n; i++) {
        Var w = graph_find(b, a->names.p[i].name);
        if (w != VAR_NONE) pair_makers(p, a->names.p[i].var, w, false);
    }
    for (size_t i = 0; i < a->outputs.n; i++) {
        Var w = b->outputs.n ? graph_output(b, a->outputs.p[i].label) : VAR_NONE;
        if (a->main != a && i < b->outputs.n) w = b->outputs.p[i].var;
        if (w != VAR_NONE) pair_makers(p, a->outputs.p[i].var, w, false);
    }
    for (size_t i = 0; i < a->updates.n; i++) {
        Var shared = graph_find(b, var_name(a, a->updates.p[i].shared));
        Var w = shared == VAR_NONE ? VAR_NONE : graph_update(b, shared);
        if (w != VAR_NONE) pair_makers(p, a->updates.p[i].value, w, false);
    }
}

/* What pairs read in the same place, if it is made by the same op. */
static void pair_inputs(Pairing *p) {
    const Side *a = &p->side[0], *b = &p->side[1];
    for (size_t i = 0; i < p->todo.n; i++) {
        ApplyId x = p->todo.p[i], y = a->pair[x];
        size_t n = a->g->apply[x].nin, m = b->g->apply[y].nin;
        for (size_t k = 0; k < n && k < m; k++)
            pair_makers(p, apply_in(a->g, x)[k], apply_in(b->g, y)[k], true);
    }
}

static Side new_side(Pairing *p, const Graph *g) {
    Side k = {g, NEW_N(p->a, (size_t)g->nvar + 1, uint32_t),
              NEW_N(p->a, (size_t)g->napply + 1, uint32_t),
              NEW_N(p->a, (size_t)g->napply + 1, uint32_t)};
    memset(k.pair, 0xff, g->napply * sizeof *k.pair);
    for (ApplyId id = 0; id < g->napply; id++)
        k.state[id] = PAIR_NONE;
    return k;
}

static void pair_graphs(Pairing *p, const Graph *x, const Graph *y) {
    p->side[0] = new_side(p, x);
    p->side[1] = new_side(p, y);
    p->value.n = p->todo.n = 0;
    index_free(&p->known);
    p->known = INDEX(p->s);
    number_values(p, &p->side[0]);
    number_values(p, &p->side[1]);
    pair_equal(p);
    pair_names(p);
    pair_inputs(p);
}

/* Do both have the same inputs and outputs, in this order? */
static bool sides_are_equal(const Pairing *p) {
    const Side *a = &p->side[0], *b = &p->side[1];
    bool same = a->g->inputs.n == b->g->inputs.n && a->g->outputs.n == b->g->outputs.n;
    for (size_t i = 0; same && i < a->g->outputs.n; i++)
        same = a->number[a->g->outputs.p[i].var] == b->number[b->g->outputs.p[i].var];
    return same;
}

/* ---- the page ---- */
static void put_pairs(Pairing *p, Page *pg) {
    const Side *a = &p->side[0], *b = &p->side[1];
    json_open(&pg->w, '[');
    json_put_int(&pg->w, page_graph_number(pg, a->g));
    json_put_int(&pg->w, page_graph_number(pg, b->g));
    page_put_u32(pg, NULL, a->g->napply, a->pair);
    page_put_u32(pg, NULL, a->g->napply, a->state);
    page_put_u32(pg, NULL, b->g->napply, b->state);
    json_close(&pg->w, "]");
}

/* Functions come before what calls them. */
static void put_all_pairs(Session *s, Page *pg, const Graph *a, const Graph *b) {
    Pairing p = {.s = s, .a = arena_new(s), .known = INDEX(s), .equal = MAP(s)};
    json_put_key(&pg->w, "pairs");
    json_open(&pg->w, '[');
    for (size_t i = 0; i < a->functions.n; i++) {
        const Graph *fn = graph_function(b, a->functions.p[i]->name);
        if (!fn) continue;
        pair_graphs(&p, a->functions.p[i], fn);
        if (sides_are_equal(&p)) map_put(&p.equal, fn->name, 1);
        put_pairs(&p, pg);
    }
    pair_graphs(&p, a, b);
    put_pairs(&p, pg);
    json_close(&pg->w, "]");
    index_free(&p.known);
    map_free(&p.equal);
    vec_free(&p.value);
    vec_free(&p.todo);
    arena_free(p.a);
}

static void put_verdict(Page *pg, const Graph *a, const Graph *b) {
    ApplyId x = APPLY_NONE, y = APPLY_NONE;
    Str why = STR(a->s);
    bool equal = graph_equal(a, b, &x, &y, &why);
    json_put_key(&pg->w, "equal");
    json_put_word(&pg->w, equal ? "true" : "false");
    json_member(&pg->w, "why", str_text(&why));
    json_put_key(&pg->w, "first");
    if (equal || (x == APPLY_NONE && y == APPLY_NONE)) {
        json_put_word(&pg->w, "null");
    } else {
        json_open(&pg->w, '[');
        json_put_int(&pg->w, x == APPLY_NONE ? -1 : (int64_t)x);
        json_put_int(&pg->w, y == APPLY_NONE ? -1 : (int64_t)y);
        json_close(&pg->w, "]");
    }
    str_free(&why);
}

bool graph_diff_page(const Graph *a, const Graph *b, const char *const names[2],
                     Str *out) {
    Page *pg = page_new(
        a->s, "diff", arena_printf(session_arena(a->s), "%s, %s", names[0], names[1]));
    page_steps(pg, a);
    page_add_graph(pg, a);
    uint32_t nleft = page_add_graph(pg, b);
    page_put_graphs(pg);
    page_put_open(pg, "open", a);
    json_line(&pg->w, "");
    json_put_key(&pg->w, "diff");
    json_open(&pg->w, '{');
    json_member_number(&pg->w, "nleft", nleft);
    json_put_key(&pg->w, "names");
    json_open(&pg->w, '[');
    json_put(&pg->w, names[0]);
    json_put(&pg->w, names[1]);
    json_close(&pg->w, "]");
    page_put_open(pg, "open_right", b);
    put_verdict(pg, a, b);
    put_all_pairs(a->s, pg, a, b);
    json_close(&pg->w, "}");
    bool ok = page_finish(pg, out);
    page_free(pg);
    return ok;
}
