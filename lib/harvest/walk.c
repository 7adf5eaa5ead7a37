/* Walks the Applies of a graph and of the functions it calls in topological order,
 * removes sows and rebuilds what depends on them. */
#include "harvest/branch.h"
#include "scan/scan.h"

#include <string.h>

/* Does this harvest affect any sow in the function? */
static bool is_harvested(HarvestWalk *w, const Graph *fn) {
    uint64_t known;
    if (map_get(&w->touched, (uintptr_t)fn, &known)) return known;
    bool yes = harvest_sows(fn, w->h->exclusive ? 0 : w->h->tag);
    map_put(&w->touched, (uintptr_t)fn, yes);
    return yes;
}

/* ---- one Apply ---- */
static void note_moved(HarvestWalk *w, const Graph *src, ApplyId a, ApplyId to) {
    if (src == w->b->g) map_put(&w->moved, a, to);
}

/* Applies the same op to the replaced inputs. */
static bool reapply_op(HarvestWalk *w, const Graph *src, ApplyId a, const Var *in,
                       Var *map) {
    Apply r = src->apply[a];
    Var out[OUT_MAX];
    if (!op_apply(w->b, r.op, r.props, r.nin, in, out)) return false;
    for (Var k = 0; k < r.nout; k++)
        map[r.out + k] = out[k];
    ApplyId made = var_owner(w->b->g, out[0]);
    note_moved(w, src, a, made);
    return true;
}

static bool walk_sow(HarvestWalk *w, Level *l, const Graph *src, ApplyId a,
                     const Var *in, Var *map) {
    SowCall q = sow_read(src, a);
    q.value = in[0];
    q.pred = q.mode == SOW_COND ? in[1] : VAR_NONE;
    Var out = sow_tag(src, a) == w->h->tag ? level_sow(w, l, &q) : q.value;
    if (out == VAR_NONE) return false;
    map[src->apply[a].out] = out;
    note_moved(w, src, a, APPLY_NONE);
    return true;
}

/* ---- functions ---- */
static bool bind_call_leaves(HarvestWalk *w, const Graph *fn, const Var *arg,
                             Var *map) {
    for (uint32_t i = 0; i < fn->nleaf; i++) {
        Var v = fn->leaf[i].var;
        if (var_is_const(fn, v))
            map[v] = graph_share_const(w->b->g, fn, v, w->b->intern);
        else if (var_leaf(fn, v) == LEAF_DIM)
            map[v] = shape_of_call_dim(w->b, fn, arg, fn->leaf[i].name);
        if (var_leaf(fn, v) == LEAF_DIM && map[v] == VAR_NONE) return false;
    }
    for (size_t i = 0; i < fn->inputs.n; i++)
        map[fn->inputs.p[i]] = arg[i];
    return true;
}

/* Inlines the body of a called function at the call. */
static bool walk_call(HarvestWalk *w, Level *l, const Graph *src, ApplyId a,
                      const Var *in, Var *map) {
    Session *s = w->b->s;
    const Graph *fn = called_function(src, a);
    Sym scope = call_scope(src, a);
    Span at = src->origin[a].at;
    if (w->depth >= CALLS_DEPTH)
        return fail(s, at, E_LIMIT, "functions call each other more than %d deep",
                    CALLS_DEPTH);
    if (++*w->calls > CALLS_MOST)
        return fail(s, at, E_LIMIT, "more than %d calls would be expanded", CALLS_MOST);
    bool scoped = *sym_text(s, scope) != '\0';
    Level *inner = scoped ? level_open(w, l, scope, at) : l;
    if (!inner) return false;
    Var *body = NEW_N(w->arena, fn->nvar, Var);
    memset(body, 0xFF, fn->nvar * sizeof *body);
    uint8_t *live = graph_live(fn, w->arena, ROOTS_RUN);
    branches_wake(fn, w->arena, 0, live);
    Var first = src->apply[a].out;
    w->depth++;
    bool ok = bind_call_leaves(w, fn, in, body) && walk_all(w, inner, fn, live, body);
    w->depth--;
    if (scoped) ok = level_leave(w, inner, ok, l);
    for (size_t k = 0; ok && k < fn->outputs.n; k++)
        map[first + k] = body[fn->outputs.p[k].var];
    return ok || note(s, at, "called here");
}

static bool walk_apply(HarvestWalk *w, Level *l, const Graph *src, ApplyId a,
                       Var *map) {
    const Apply *r = &src->apply[a];
    bool changed = src != w->b->g;
    Var few[8], *in = r->nin <= 8 ? few : NEW_N(w->arena, r->nin, Var);
    for (size_t i = 0; i < r->nin; i++) {
        in[i] = map[apply_in(src, a)[i]];
        changed |= in[i] != apply_in(src, a)[i];
    }
    w->b->from = (Origin){src->origin[a].at, src->origin[a].rule};
    if (harvest_is_sow(src, a) && (w->h->exclusive || sow_tag(src, a) == w->h->tag))
        return walk_sow(w, l, src, a, in, map);
    Graph *fn = called_function(src, a);
    if (fn && is_harvested(w, fn)) {
        note_moved(w, src, a, APPLY_NONE);
        if (op_is(w->b->s, r->op, OP_CALL)) return walk_call(w, l, src, a, in, map);
        if (op_is(w->b->s, r->op, OP_SCAN)) return walk_scan(w, l, src, a, in, map);
        return fail(w->b->s, w->b->from.at, E_TYPE, "can't harvest through %s",
                    r->op->name);
    }
    if (fn && !harvest_check_derivative(fn, w->h, w->b->from.at)) return false;
    return !changed || reapply_op(w, src, a, in, map);
}

static bool walk_range(HarvestWalk *w, Level *l, const Graph *src,
                       const HarvestRange *r, Var *map) {
    Branches *b = branches_new(w, l, src, r);
    bool ok = true;
    for (ApplyId a = r->from, n = src->napply; ok && a < n; a++) {
        bool any = false;
        for (Var k = 0; k < src->apply[a].nout; k++)
            any |= r->live[src->apply[a].out + k];
        if (any)
            ok = walk_apply(w, branches_level(b, l, a), src, a, map) &&
                 branches_pass(b, a, map);
    }
    branches_close(b);
    return ok;
}

bool walk_all(HarvestWalk *w, Level *l, const Graph *fn, const uint8_t *live,
              Var *map) {
    HarvestRange all = {0, live, graph_roots(fn, w->arena, HARVEST_ROOTS)};
    return walk_range(w, l, fn, &all, map);
}

/* ---- ranges and graphs ---- */
/* Rebuilt effects take the places of the originals; removed sows leave the list. */
static void settle_effects(HarvestWalk *w, size_t before) {
    Graph *g = w->b->g;
    size_t n = 0;
    Map placed = MAP(g->s);
    for (size_t i = 0; i < g->effects.n; i++) {
        uint64_t to = g->effects.p[i];
        if (map_get(&placed, to, NULL)) continue;
        if (i < before && map_get(&w->moved, to, &to)) {
            if (to == APPLY_NONE) continue;
            map_put(&placed, to, 1);
        }
        g->effects.p[n++] = (ApplyId)to;
    }
    g->effects.n = n;
    map_free(&placed);
}

/* Marks the variables of the Applies from `from` on that the roots and the effects
 * need. */
static uint8_t *mark_needed_vars(Arena *a, const Graph *g, ApplyId from, VarList root) {
    uint8_t *live = NEW_N(a, g->nvar, uint8_t);
    for (size_t i = 0; i < root.n; i++)
        live[root.p[i]] = 1;
    uint8_t *row = NEW_N(a, g->nvar, uint8_t); /* a vectorize replaced them */
    for (size_t i = 0; i < g->rowwise.n; i++)
        row[g->rowwise.p[i]] = 1;
    for (size_t i = 0; i < g->effects.n; i++)
        live[g->apply[g->effects.p[i]].out] |= !row[g->apply[g->effects.p[i]].out];
    graph_spread_needs(g, from, live);
    branches_wake(g, a, from, live);
    return live;
}

static bool harvest_live(Builder *b, const HarvestSpec *h, const HarvestRange *r,
                         Var *map, Reaps *reaps) {
    Session *s = b->s;
    size_t calls = 0;
    HarvestWalk w = {.b = b,
                     .h = h,
                     .arena = arena_new(s),
                     .calls = &calls,
                     .moved = MAP(s),
                     .touched = MAP(s)};
    Origin was = b->from;
    size_t before = b->g->effects.n;
    Level top = {0};
    bool ok = walk_range(&w, &top, b->g, r, map);
    ok = level_close(&w, &top, ok, reaps);
    if (ok) settle_effects(&w, before);
    b->from = was;
    map_free(&w.moved);
    map_free(&w.touched);
    vec_free(&w.planted);
    vec_free(&w.planted_to);
    arena_free(w.arena);
    return ok;
}

bool harvest_range(Builder *b, const HarvestSpec *h, ApplyId from, VarList root,
                   Var *map, Reaps *reaps) {
    Arena *a = arena_new(b->s);
    HarvestRange r = {from, mark_needed_vars(a, b->g, from, root), root};
    bool ok = harvest_live(b, h, &r, map, reaps);
    b->g->litter = true;
    arena_free(a);
    return ok;
}

static bool add_reap_outputs(Graph *g, Sym tag, const Reaps *r) {
    Session *s = g->s;
    Str label = STR(s);
    bool ok = true;
    for (size_t i = 0; ok && i < r->n; i++) {
        str_clear(&label);
        str_printf(&label, "%s/%s", sym_text(s, tag), sym_text(s, r->p[i].name));
        Sym y = sym(s, str_text(&label));
        if (graph_output(g, y) != VAR_NONE)
            ok = fail(s, r->p[i].at, E_DUPLICATE, "there is already an output %s",
                      str_text(&label));
        vec_push(s, &g->outputs, ((Output){y, r->p[i].var}));
    }
    str_free(&label);
    return ok;
}

bool harvest_graph(Graph *g, const HarvestSpec *h, bool reap) {
    Session *s = g->s;
    Builder b = builder(g, false);
    Reaps reaps = {0};
    Var n = g->nvar, *map = mem_alloc(s, ((size_t)n + 1) * sizeof *map);
    for (Var v = 0; v < n; v++)
        map[v] = v;
    Arena *a = arena_new(s);
    uint8_t *live = graph_live(g, a, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED);
    branches_wake(g, a, 0, live);
    HarvestRange all = {0, live, graph_roots(g, a, HARVEST_ROOTS)};
    bool ok = harvest_live(&b, h, &all, map, &reaps) &&
              (!reap || add_reap_outputs(g, h->tag, &reaps));
    if (ok) {
        map = mem_realloc(s, map, (size_t)g->nvar + 1, sizeof *map);
        for (Var v = n; v < g->nvar; v++)
            map[v] = v;
        graph_compact(g, ROOTS_RUN | ROOTS_INIT, map, false);
    }
    vec_free(&reaps);
    arena_free(a);
    mem_free(map);
    return ok;
}
