/* A profile as a page: the graph as it ran, with what each Apply cost, live memory and
 * who holds it, where the time of a call went, and what an earlier report said. */
#include "prof/prof_impl.h"

#include <math.h>
#include <string.h>

/* Events that are kept: a loop has many for each Apply. */
enum { EVENTS_LEAST = 1000, EVENTS_EACH = 8 };

static void put_key_number(Page *pg, const char *key, double v) {
    json_member_number(&pg->w, key, v);
}

/* ---- costs ---- */
static const char *const cost_names[] = {"flops", "math", "read", "written"};
enum { COSTS = sizeof cost_names / sizeof *cost_names };

typedef struct CostColumns { /* by Apply of a graph */
    double *time, *calls, *cost[COSTS];
    bool any;
} CostColumns;

static const Amount *cost_of_row(const Row *r, int k) {
    const Amount *all[COSTS] = {&r->flops, &r->math, &r->read, &r->written};
    return all[k];
}

static CostColumns cost_columns(const Profile *p, Arena *a, const Graph *g) {
    CostColumns c = {NEW_N(a, (size_t)g->napply + 1, double),
                     NEW_N(a, (size_t)g->napply + 1, double),
                     {0},
                     false};
    for (int k = 0; k < COSTS; k++)
        c.cost[k] = NEW_N(a, (size_t)g->napply + 1, double);
    for (size_t i = 0; i < p->rows.n; i++) {
        const Row *r = &p->rows.p[i];
        if (r->g != g) continue;
        c.any = true;
        c.time[r->id] = r->time_s;
        c.calls[r->id] = r->calls;
        for (int k = 0; k < COSTS; k++) {
            const Amount *x = cost_of_row(r, k);
            c.cost[k][r->id] = x->sym || (x->unknown && x->v == 0) ? (double)NAN : x->v;
        }
    }
    return c;
}

/* What depends on dims that aren't known, as text. */
static void put_symbolic(Profile *p, Page *pg, const Graph *g) {
    Str text = STR(p->s);
    json_put_key(&pg->w, "sym");
    json_open(&pg->w, '[');
    for (size_t i = 0; i < p->rows.n; i++) {
        const Row *r = &p->rows.p[i];
        for (int k = 0; r->g == g && k < COSTS; k++) {
            const Amount *x = cost_of_row(r, k);
            if (!x->sym) continue;
            str_clear(&text);
            poly_text(p->s, poly_add(p->a, x->sym, poly_number(p->a, x->v)), &text);
            json_open(&pg->w, '[');
            json_put_int(&pg->w, r->id);
            json_put(&pg->w, cost_names[k]);
            json_put(&pg->w, str_text(&text));
            json_close(&pg->w, "]");
        }
    }
    json_close(&pg->w, "]");
    str_free(&text);
}

static void put_costs_of(Profile *p, Page *pg, const Graph *g) {
    CostColumns c = cost_columns(p, pg->a, g);
    if (!c.any) {
        json_put_word(&pg->w, "null");
        return;
    }
    json_open(&pg->w, '{');
    if (!p->is_static) page_put_f64(pg, "time_s", g->napply, c.time);
    page_put_f64(pg, "calls", g->napply, c.calls);
    for (int k = 0; k < COSTS; k++)
        page_put_f64(pg, cost_names[k], g->napply, c.cost[k]);
    put_symbolic(p, pg, g);
    json_close(&pg->w, "}");
}

static void put_costs(Profile *p, Page *pg) {
    json_line(&pg->w, "");
    json_put_key(&pg->w, "cost");
    json_open(&pg->w, '[');
    put_costs_of(p, pg, p->g);
    for (size_t i = 0; i < p->g->functions.n; i++)
        put_costs_of(p, pg, p->g->functions.p[i]);
    json_close(&pg->w, "]");
}

static void put_peaks(const Profile *p, Page *pg) {
    if (!(p->peaks.memory > 0)) return;
    json_put_key(&pg->w, "peaks");
    json_open(&pg->w, '{');
    put_key_number(pg, "memory", p->peaks.memory);
    put_key_number(pg, "cache", p->peaks.cache);
    put_key_number(pg, "flops32", p->peaks.flops32);
    put_key_number(pg, "flops64", p->peaks.flops64);
    json_close(&pg->w, "}");
}

/* ---- memory ---- */
static void put_steps(const Profile *p, Page *pg, const Timeline *m) {
    uint32_t *step = NEW_N(pg->a, m->nstep + 1, uint32_t);
    double *live = NEW_N(pg->a, m->nstep + 1, double);
    for (size_t i = 0; i < m->nstep; i++)
        step[i] = plan_step(p->plan, i).apply;
    for (size_t i = 0; i <= m->nstep; i++)
        live[i] = m->live[i].bytes;
    put_key_number(pg, "n", (double)m->nstep);
    page_put_u32(pg, "step", m->nstep, step);
    page_put_f64(pg, "live", m->nstep + 1, live);
    put_key_number(pg, "peak_at", m->peak_at);
    put_key_number(pg, "unknown", (double)m->unknown);
}

/* Storage, and what is copied at the end. */
static void put_stores(const Profile *p, Page *pg, const Timeline *m) {
    size_t vars = plan_vars(p->plan), most = m->nstore + vars + 1, n = 0;
    uint32_t *born = NEW_N(pg->a, most, uint32_t), *dies = NEW_N(pg->a, most, uint32_t),
             *var = NEW_N(pg->a, most, uint32_t),
             *number = NEW_N(pg->a, m->nstore + 1, uint32_t);
    double *bytes = NEW_N(pg->a, most, double);
    for (size_t i = 0; i < m->nstore; i++) {
        const Store *st = &m->store[i];
        number[i] = UINT32_MAX;
        if (st->first == VAR_NONE) continue;
        number[i] = (uint32_t)n;
        born[n] = st->born, dies[n] = st->dies, var[n] = st->first;
        bytes[n++] = st->bytes < 0 ? (double)NAN : (double)st->bytes;
    }
    size_t stores = n;
    for (size_t i = 0; i < vars; i++) {
        PlanVar x = plan_var(p->plan, i);
        if (!x.copied) continue;
        int64_t size = var_bytes(p, x.var);
        born[n] = dies[n] = (uint32_t)m->nstep, var[n] = x.var;
        bytes[n++] = size < 0 ? (double)NAN : (double)size;
    }
    json_put_key(&pg->w, "store");
    json_open(&pg->w, '{');
    put_key_number(pg, "n", (double)n);
    page_put_u32(pg, "born", n, born);
    page_put_u32(pg, "dies", n, dies);
    page_put_f64(pg, "bytes", n, bytes);
    page_put_u32(pg, "var", n, var);
    json_close(&pg->w, "}");
    /* the values that share them, in the order of birth */
    uint32_t *value = born, *store = dies, *since = var,
             *how = NEW_N(pg->a, vars + 1, uint32_t);
    n = 0;
    for (size_t i = 0; i < vars && stores; i++) {
        PlanVar x = plan_var(p->plan, i);
        if (x.store == UINT32_MAX || number[x.store] == UINT32_MAX) continue;
        value[n] = x.var, store[n] = number[x.store], since[n] = x.born;
        how[n++] = x.how == PLAN_INPLACE ? 1 : x.how == PLAN_VIEW ? 2 : 0;
    }
    json_put_key(&pg->w, "value");
    json_open(&pg->w, '{');
    put_key_number(pg, "n", (double)n);
    page_put_u32(pg, "var", n, value);
    page_put_u32(pg, "store", n, store);
    page_put_u32(pg, "born", n, since);
    page_put_u32(pg, "how", n, how);
    json_close(&pg->w, "}");
}

static void put_held(Profile *p, Page *pg, const Timeline *m) {
    Holders h = memory_peak_holders(p, m, pg->a);
    json_put_key(&pg->w, "functions");
    json_open(&pg->w, '[');
    for (size_t i = 0; i < p->functions.n; i++) {
        json_open(&pg->w, '[');
        json_put_int(&pg->w, page_text(pg, p->functions.p[i].function));
        json_put_number(&pg->w, p->functions.p[i].bytes);
        json_close(&pg->w, "]");
    }
    json_close(&pg->w, "]");
    json_put_key(&pg->w, "holders");
    json_open(&pg->w, '[');
    for (size_t i = 0; i < h.n; i++) {
        Var v = h.p[i].var;
        json_open(&pg->w, '[');
        json_put_int(&pg->w, v == VAR_NONE ? -1 : (int64_t)v);
        json_put_int(&pg->w,
                     page_text(pg, v == VAR_NONE ? h.p[i].function : value_name(p, v)));
        json_put_number(&pg->w, h.p[i].bytes);
        json_close(&pg->w, "]");
    }
    json_close(&pg->w, "]");
}

static void put_memory(Profile *p, Page *pg) {
    Timeline m = timeline_new(p, pg->a);
    json_line(&pg->w, "");
    json_put_key(&pg->w, "memory");
    json_open(&pg->w, '{');
    put_steps(p, pg, &m);
    put_stores(p, pg, &m);
    put_held(p, pg, &m);
    json_close(&pg->w, "}");
}

/* ---- where a call goes ---- */
typedef struct Frame {
    uint32_t parent;
    const Graph *g;
    ApplyId id;
    double value, calls;
} Frame;
typedef struct Flame {
    Profile *p;
    Vec(Frame) frame; /* 0 is the whole call */
    Map known;        /* parent, graph and Apply -> frame */
} Flame;

static uint32_t frame_of(Flame *f, uint32_t parent, const Graph *g, ApplyId id) {
    uint64_t key = hash_mix(hash_mix(parent, (uintptr_t)g), id), found;
    if (map_get(&f->known, key, &found)) return (uint32_t)found;
    Frame new = {.parent = parent, .g = g, .id = id};
    vec_push(f->p->s, &f->frame, new);
    map_put(&f->known, key, f->frame.n - 1);
    return (uint32_t)f->frame.n - 1;
}

/* Events are in the order in which they end: from the last on, each follows the one
 * that it is in. */
static void frames_of_events(Flame *f) {
    const Profile *p = f->p;
    Vec(uint32_t) path = {0};
    for (size_t i = p->events.n; i-- > 0;) {
        const Event *e = &p->events.p[i];
        size_t depth = (size_t)e->depth;
        uint32_t parent = depth && depth <= path.n ? path.p[depth - 1] : 0,
                 frame = frame_of(f, parent, e->g, e->id);
        while (path.n <= depth)
            vec_push(p->s, &path, 0);
        path.p[depth] = frame;
        f->frame.p[frame].value += e->seconds;
        f->frame.p[frame].calls += 1;
        if (!depth) f->frame.p[0].value += e->seconds;
    }
    vec_free(&path);
}

/* The Apply that calls a function, the first one; false: none does. */
static bool find_caller(const Profile *p, const Graph *fn, const Graph **g,
                        ApplyId *id) {
    for (size_t i = 0; i < p->rows.n; i++) {
        const Row *r = &p->rows.p[i];
        const Props *props = r->g->apply[r->id].props;
        for (uint32_t k = 0; props && k < props->n; k++)
            if (props->p[k].kind == P_GRAPH &&
                graph_function(r->g, props->p[k].sym) == fn && r->g != fn)
                return *g = r->g, *id = r->id, true;
    }
    return false;
}

/* By types alone: what a function does is that of its first caller. */
static void frames_of_rows(Flame *f) {
    Profile *p = f->p;
    Map frames = MAP(p->s); /* of functions */
    map_put(&frames, (uintptr_t)p->g, 0);
    for (size_t i = 0; i < p->g->functions.n; i++) {
        const Graph *g = p->g->functions.p[p->g->functions.n - 1 - i], *from;
        ApplyId id;
        uint64_t at = 0;
        if (find_caller(p, g, &from, &id) && map_get(&frames, (uintptr_t)from, &at))
            at = frame_of(f, (uint32_t)at, from, id);
        map_put(&frames, (uintptr_t)g, at);
    }
    for (size_t i = 0; i < p->rows.n; i++) {
        const Row *r = &p->rows.p[i];
        uint64_t at = 0;
        map_get(&frames, (uintptr_t)r->g, &at);
        uint32_t k = frame_of(f, (uint32_t)at, r->g, r->id);
        f->frame.p[k].calls = r->calls;
        for (;; k = f->frame.p[k].parent) {
            f->frame.p[k].value += row_weight(p, r);
            if (!k) break;
        }
    }
    map_free(&frames);
}

static uint32_t graph_number(const Page *pg, const Graph *g) {
    uint32_t n = page_graph_number(pg, g);
    return n == UINT32_MAX ? 0 : n;
}

static void put_flame(Profile *p, Page *pg) {
    Flame f = {.p = p, .known = MAP(p->s)};
    vec_push(p->s, &f.frame, ((Frame){.g = p->g, .id = APPLY_NONE, .calls = 1}));
    if (p->is_static)
        frames_of_rows(&f);
    else
        frames_of_events(&f);
    size_t n = f.frame.n;
    uint32_t *parent = NEW_N(pg->a, n, uint32_t), *graph = NEW_N(pg->a, n, uint32_t),
             *apply = NEW_N(pg->a, n, uint32_t);
    double *value = NEW_N(pg->a, n, double), *calls = NEW_N(pg->a, n, double);
    for (size_t i = 0; i < n; i++) {
        parent[i] = f.frame.p[i].parent;
        graph[i] = graph_number(pg, f.frame.p[i].g);
        apply[i] = f.frame.p[i].id;
        value[i] = f.frame.p[i].value;
        calls[i] = f.frame.p[i].calls;
    }
    json_line(&pg->w, "");
    json_put_key(&pg->w, "flame");
    json_open(&pg->w, '{');
    put_key_number(pg, "n", (double)n);
    page_put_u32(pg, "parent", n, parent);
    page_put_u32(pg, "graph", n, graph);
    page_put_u32(pg, "apply", n, apply);
    page_put_f64(pg, "value", n, value);
    page_put_f64(pg, "calls", n, calls);
    json_close(&pg->w, "}");
    vec_free(&f.frame);
    map_free(&f.known);
}

/* The first ones of the last call that was observed, in the order in which they end. */
static void put_events(const Profile *p, Page *pg) {
    size_t most = EVENTS_LEAST + EVENTS_EACH * p->rows.n,
           n = p->events.n < most ? p->events.n : most;
    if (!n) return;
    uint32_t *depth = NEW_N(pg->a, n, uint32_t), *graph = NEW_N(pg->a, n, uint32_t),
             *apply = NEW_N(pg->a, n, uint32_t);
    double *start = NEW_N(pg->a, n, double), *dur = NEW_N(pg->a, n, double),
           zero = HUGE_VAL;
    for (size_t i = 0; i < p->events.n; i++)
        zero = fmin(zero, p->events.p[i].start);
    for (size_t i = 0; i < n; i++) {
        const Event *e = &p->events.p[i];
        depth[i] = (uint32_t)e->depth;
        graph[i] = graph_number(pg, e->g);
        apply[i] = e->id;
        start[i] = e->start - zero;
        dur[i] = (double)(float)e->seconds;
    }
    json_line(&pg->w, "");
    json_put_key(&pg->w, "events");
    json_open(&pg->w, '{');
    put_key_number(pg, "n", (double)n);
    put_key_number(pg, "left_out", (double)(p->events.n - n));
    page_put_f64(pg, "start", n, start);
    page_put_f64(pg, "dur", n, dur);
    page_put_u32(pg, "depth", n, depth);
    page_put_u32(pg, "graph", n, graph);
    page_put_u32(pg, "apply", n, apply);
    json_close(&pg->w, "}");
}

static void put_profile(Profile *p, Page *pg) {
    json_line(&pg->w, "");
    json_put_key(&pg->w, "profile");
    json_open(&pg->w, '{');
    json_put_key(&pg->w, "static");
    json_put_word(&pg->w, p->is_static ? "true" : "false");
    report_put_setting(p, &pg->w);
    put_costs(p, pg);
    put_peaks(p, pg);
    put_memory(p, pg);
    put_flame(p, pg);
    put_events(p, pg);
    json_close(&pg->w, "}");
}

bool report_page(Profile *p, const ReportOptions *how, const Compared *c, Str *out) {
    Page *pg =
        page_new(p->s, "profile", p->g->name ? sym_text(p->s, p->g->name) : "graph");
    page_steps(pg, p->g);
    page_add_graph(pg, p->g);
    page_put_graphs(pg);
    page_put_open(pg, "open", p->g);
    put_profile(p, pg);
    if (c) profile_compare_page(p, c, how, pg);
    bool ok = page_finish(pg, out);
    page_free(pg);
    return ok;
}
