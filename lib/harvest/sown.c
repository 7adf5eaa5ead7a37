/* Lists and counts the sows of a graph and of the functions it calls, without
 * harvesting them. */
#include "harvest/branch.h"

#include <string.h>

static const Prop *sow_prop(const Graph *g, ApplyId a, const char *name) {
    return op_prop(g->s, g->apply[a].op, g->apply[a].props, name);
}

bool harvest_is_sow(const Graph *g, ApplyId a) {
    const Op *op = g->apply[a].op;
    return op_is(g->s, op, OP_SOW) || op_is(g->s, op, OP_SOW_COND);
}

Sym sow_tag(const Graph *g, ApplyId a) {
    return sow_prop(g, a, "tag")->sym;
}

SowCall sow_read(const Graph *g, ApplyId a) {
    static const char *const modes[] = {"strict", "append", "clobber", "cond_clobber"};
    SowCall q = {.name = sow_prop(g, a, "name")->sym, .at = g->origin[a].at};
    const char *mode = sym_text(g->s, sow_prop(g, a, "mode")->sym);
    while (strcmp(modes[q.mode], mode) != 0)
        q.mode++;
    return q;
}

/* The function that an Apply runs, whatever its op; NULL: none. */
Graph *called_function(const Graph *g, ApplyId a) {
    const Props *p = g->apply[a].props;
    for (size_t i = 0; i < p->n; i++)
        if (p->p[i].kind == P_GRAPH) return graph_function(g, p->p[i].sym);
    return NULL;
}

/* The scope of a call, "" for none. */
Sym call_scope(const Graph *g, ApplyId a) {
    return op_is(g->s, g->apply[a].op, OP_CALL) ? sow_prop(g, a, "scope")->sym
                                                : sym(g->s, "");
}

Sym harvest_path(Session *s, Sym scope, Sym name) {
    if (!scope || !*sym_text(s, scope)) return name;
    if (!*sym_text(s, name)) return scope;
    Str text = STR(s);
    str_printf(&text, "%s/%s", sym_text(s, scope), sym_text(s, name));
    Sym y = sym(s, str_text(&text));
    str_free(&text);
    return y;
}

/* ---- listing sows ---- */
/* A function, called within a scope. */
typedef struct ScopedFunction {
    const Graph *g;
    Sym scope;
} ScopedFunction;
typedef struct ScopedFunctions {
    Vec(ScopedFunction) all;
    Map number, seen; /* number: by function; seen: by function number and scope */
} ScopedFunctions;

static void visit_scoped_function(ScopedFunctions *p, const Graph *g, Sym scope) {
    uint64_t n;
    if (!map_get(&p->number, (uintptr_t)g, &n))
        map_put(&p->number, (uintptr_t)g, n = p->number.n);
    if (map_get(&p->seen, n << 32 | scope, NULL) || p->all.n == CALLS_MOST) return;
    map_put(&p->seen, n << 32 | scope, 1);
    vec_push(g->s, &p->all, ((ScopedFunction){g, scope}));
}

void harvest_list(const Graph *g, SownList *out) {
    Session *s = g->s;
    ScopedFunctions p = {.number = MAP(s), .seen = MAP(s)};
    visit_scoped_function(&p, g, 0);
    for (size_t i = 0; i < p.all.n; i++) {
        const ScopedFunction at = p.all.p[i];
        for (ApplyId a = 0; a < at.g->napply; a++) {
            const Graph *fn = called_function(at.g, a);
            if (fn)
                visit_scoped_function(&p, fn,
                                      harvest_path(s, at.scope, call_scope(at.g, a)));
            if (!harvest_is_sow(at.g, a)) continue;
            Sym name = harvest_path(s, at.scope, sow_read(at.g, a).name);
            vec_push(s, out, ((Sown){sow_tag(at.g, a), name, at.g->origin[a].at}));
        }
    }
    map_free(&p.number);
    map_free(&p.seen);
    vec_free(&p.all);
}

bool harvest_sows(const Graph *fn, Sym tag) {
    ScopedFunctions p = {.number = MAP(fn->s), .seen = MAP(fn->s)};
    bool any = false;
    visit_scoped_function(&p, fn, 0);
    for (size_t i = 0; i < p.all.n && !any; i++) {
        const Graph *g = p.all.p[i].g;
        for (ApplyId a = 0; a < g->napply && !any; a++) {
            const Graph *called = called_function(g, a);
            if (called) visit_scoped_function(&p, called, 0);
            any = harvest_is_sow(g, a) && (!tag || sow_tag(g, a) == tag);
        }
    }
    map_free(&p.number);
    map_free(&p.seen);
    vec_free(&p.all);
    return any;
}

/* ---- derivatives ---- */
/* The function whose derivative fn is, judging by its name; NULL: fn is no
 * derivative. */
static const Graph *derivative_of(const Graph *fn) {
    static const char *const made[] = {"_pullback", "_pushforward", "_backward",
                                       "_forward"};
    const char *name = sym_text(fn->s, fn->name);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        const char *end = strstr(name, made[i]);
        const Graph *g =
            end ? graph_function(fn, sym_n(fn->s, name, (size_t)(end - name))) : NULL;
        if (g) return g;
    }
    return NULL;
}

/* Is y the whole path or its tail? */
static bool ends_path(const char *path, const char *y) {
    size_t n = strlen(path), m = strlen(y);
    return n >= m && strcmp(path + n - m, y) == 0 && (n == m || path[n - m - 1] == '/');
}

bool harvest_check_derivative(const Graph *fn, const HarvestSpec *h, Span at) {
    Session *s = fn->s;
    const Graph *of = h->nplant ? derivative_of(fn) : NULL;
    SownList sown = {0};
    bool ok = true;
    if (of) harvest_list(of, &sown);
    for (size_t i = 0; ok && i < sown.n; i++)
        for (size_t k = 0; ok && k < h->nplant && sown.p[i].tag == h->tag; k++) {
            const char *name = sym_text(s, sown.p[i].name);
            ok = !ends_path(sym_text(s, h->plant[k]), name);
            if (ok) continue;
            fail(s, at, E_ARG,
                 "%s can't be planted any more: %s is a derivative of %s, which sows "
                 "it, and would remain the derivative for the sown value",
                 sym_text(s, h->plant[k]), sym_text(s, fn->name),
                 sym_text(s, of->name));
            note(s, sown.p[i].at, "%s is sown here", name);
            hint(s, HINT_PLANT_FIRST);
        }
    vec_free(&sown);
    return ok;
}

/* ---- counting sows ---- */
typedef struct SownTimes {
    Sym tag, name;
    Map known; /* function -> how often one run of it sows the name, capped at 2 */
} SownTimes;

static size_t times_sown(SownTimes *t, const Graph *fn, int depth) {
    uint64_t known;
    if (map_get(&t->known, (uintptr_t)fn, &known)) return known;
    Arena *arena = arena_new(fn->s);
    size_t *times = NEW_N(arena, fn->napply + 1, size_t);
    for (ApplyId a = 0; a < fn->napply; a++) {
        const Graph *called = called_function(fn, a);
        if (harvest_is_sow(fn, a))
            times[a] = sow_tag(fn, a) == t->tag && sow_read(fn, a).name == t->name;
        else if (called && depth < CALLS_DEPTH)
            times[a] = times_sown(t, called, depth + 1);
    }
    uint8_t *live = graph_live(fn, arena, ROOTS_RUN);
    branches_wake(fn, arena, 0, live);
    size_t most = branches_most(fn, live, times);
    arena_free(arena);
    if (most > 2) most = 2;
    map_put(&t->known, (uintptr_t)fn, most);
    return most;
}

bool sown_often(const Graph *fn, Sym tag, Sym name) {
    SownTimes t = {tag, name, MAP(fn->s)};
    bool often = times_sown(&t, fn, 0) > 1;
    map_free(&t.known);
    return often;
}
