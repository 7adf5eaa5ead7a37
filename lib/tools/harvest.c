/* --reap, --plant, --harvest: turns the names and values of a command line into one
 * harvest per tag. */
#include "tools/harvest_names.h"
#include "tools/tools.h"

#include <string.h>

typedef struct Plant {
    Sym tag, path;  /* path without the tag */
    Span at, value; /* value.source 0: an input replaces it */
    Var var;        /* the input, once created */
} Plant;
typedef Vec(Sym) Names;
typedef struct ReapChoice {
    Sym tag, path; /* path 0: the whole tag; tag 0: any */
} ReapChoice;
typedef Vec(ReapChoice) Choices;
typedef struct HarvestPlan {
    Graph *g;
    const Harvesting *how;
    Filter filter;
    SownNames names;
    Vec(Plant) plant;
    Choices reap, allow, block;
    Vec(uint32_t) number; /* of the tag's plants */
} HarvestPlan;

/* ---- values ---- */
static bool is_sown_as(const Graph *g, Var v, Sym name) {
    ApplyId a = var_owner(g, v);
    if (a == APPLY_NONE || strncmp(g->apply[a].op->name, "sow", 3) != 0) return false;
    return op_prop(g->s, g->apply[a].op, g->apply[a].props, "name")->sym == name;
}

/* SCOPE_NAME, or TAG_NAME where there is no scope. */
static Sym longer_name(const HarvestPlan *w, const Plant *p, Sym name) {
    Session *s = w->g->s;
    Str text = STR(s);
    if (name == p->path) str_printf(&text, "%s/", sym_text(s, p->tag));
    str_puts(&text, sym_text(s, p->path));
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == '/') text.p[i] = '_';
    Sym y = sym(s, str_text(&text));
    str_free(&text);
    return y;
}

/* The input is named after the sown variable that it replaces. */
static Sym plant_input_name(HarvestPlan *w, const Plant *p) {
    Graph *g = w->g;
    Session *s = g->s;
    const char *path = sym_text(s, p->path), *slash = strrchr(path, '/');
    Sym name = sym(s, slash ? slash + 1 : path);
    Var v = graph_find(g, name);
    for (size_t i = 0; i < w->plant.n; i++)
        if (slash && w->plant.p[i].path != p->path &&
            harvest_path_ends_with(sym_text(s, w->plant.p[i].path), slash + 1))
            return longer_name(w, p, name);
    if (v == VAR_NONE) return name;
    if (is_sown_as(g, v, name)) return graph_unname(g, name), name;
    return longer_name(w, p, name);
}

static Var make_plant_input(HarvestPlan *w, Plant *p, const Type *t) {
    Session *s = w->g->s;
    if (p->var != VAR_NONE) return p->var;
    Sym name = plant_input_name(w, p);
    if (graph_find(w->g, name) != VAR_NONE || graph_has_dim(w->g, name)) {
        fail(s, p->at, E_DUPLICATE,
             "there is already a variable or dim %s: rename it, or give the value, "
             "TAG/NAME=VALUE",
             sym_text(s, name));
        return VAR_NONE;
    }
    return p->var = graph_input(w->g, name, t);
}

static Var plant_constant(HarvestPlan *w, const Plant *p, const Type *t) {
    Session *s = w->g->s;
    Value v;
    if (!value_compile(s, p->value, t, w->filter, sym_text(s, p->path), &v))
        return VAR_NONE;
    Var c = v.kind == TYPE_TENSOR ? graph_const(w->g, &v.t, false)
                                  : graph_const_value(w->g, t, &v);
    value_unref(&v);
    return c;
}

static Var plant_value(void *ctx, size_t k, Builder *b, const Type *t) {
    HarvestPlan *w = ctx;
    Plant *p = &w->plant.p[w->number.p[k]];
    (void)b;
    return p->value.source ? plant_constant(w, p, t) : make_plant_input(w, p, t);
}

/* ---- one harvest per tag ---- */
static bool read_plants(HarvestPlan *w) {
    Session *s = w->g->s;
    for (size_t i = 0; i < w->how->nplant; i++) {
        Plant p = {.at = w->how->plant[i], .var = VAR_NONE};
        Span label = p.at;
        value_split_label(s, p.at, &label, &p.value);
        if (!sown_resolve(&w->names, label, &p.tag, &p.path)) return false;
        if (!p.path)
            return fail(s, label, E_USAGE, "--plant takes TAG/NAME or TAG/NAME=VALUE");
        if (!sown_is_known(&w->names, p.tag, p.path))
            return sown_fail(&w->names, label, sym_text(s, p.path));
        for (size_t k = 0; k < w->plant.n; k++)
            if (w->plant.p[k].tag == p.tag && w->plant.p[k].path == p.path)
                return fail(s, label, E_USAGE, "%s/%s is planted twice",
                            sym_text(s, p.tag), sym_text(s, p.path));
        vec_push(s, &w->plant, p);
    }
    return true;
}

/* --reap TAG, TAG/NAME or NAME; a name selects what is reaped from its tag. */
static bool read_reaps(HarvestPlan *w) {
    Session *s = w->g->s;
    for (size_t i = 0; i < w->how->nreap; i++) {
        Span rest = w->how->reap[i], part;
        while (span_next_part(s, &rest, &part)) {
            ReapChoice c;
            if (!sown_resolve(&w->names, part, &c.tag, &c.path)) return false;
            if (c.path && !sown_is_known(&w->names, c.tag, c.path))
                return sown_fail(&w->names, part, sym_text(s, c.path));
            vec_push(s, &w->reap, c);
        }
    }
    return true;
}

/* --allow and --block: NAME, SCOPE, SCOPE/NAME of any tag, or with TAG/ in front. */
static bool read_path_list(HarvestPlan *w, size_t n, const Span *list, Choices *to) {
    Session *s = w->g->s;
    for (size_t i = 0; i < n; i++) {
        Span rest = list[i], part;
        while (span_next_part(s, &rest, &part)) {
            ReapChoice c = {0, sym_n(s, source_get(s, part.source)->text + part.begin,
                                     part.end - part.begin)};
            if (!sown_is_mentioned(&w->names, 0, c.path)) {
                if (!sown_resolve(&w->names, part, &c.tag, &c.path)) return false;
                if (!c.path)
                    return fail(s, part, E_USAGE,
                                "%s is a tag: --allow and --block take names and "
                                "scopes, alone or as %s/NAME",
                                sym_text(s, c.tag), sym_text(s, c.tag));
                if (!sown_is_mentioned(&w->names, c.tag, c.path))
                    return sown_fail(&w->names, part, sym_text(s, c.path));
            }
            vec_push(s, to, c);
        }
    }
    return true;
}

static void add_names(HarvestPlan *w, Sym tag, const Choices *list, Names *to) {
    for (size_t i = 0; i < list->n; i++)
        if (!list->p[i].tag || list->p[i].tag == tag)
            vec_push(w->g->s, to, list->p[i].path);
}

/* Selects what is reaped from the tag: everything if the tag itself is named. */
static bool choose_reaped(HarvestPlan *w, Sym tag, Names *allow) {
    bool any = false, all = false;
    for (size_t i = 0; i < w->reap.n; i++) {
        const ReapChoice *c = &w->reap.p[i];
        if (c->tag != tag) continue;
        any = true;
        all |= !c->path;
        if (c->path) vec_push(w->g->s, allow, c->path);
    }
    if (all || !any) allow->n = 0;
    add_names(w, tag, &w->allow, allow);
    for (size_t i = 0; allow->n && i < w->number.n; i++) /* planted names are selected
                                                          * too */
        vec_push(w->g->s, allow, w->plant.p[w->number.p[i]].path);
    return any;
}

/* Explains why a value was not planted. */
static bool fail_unused(const HarvestPlan *w, const Plant *p) {
    Session *s = w->g->s;
    for (size_t i = 0; i < w->names.list.n; i++) {
        const Sown *x = &w->names.list.p[i];
        if (x->tag != p->tag ||
            !harvest_path_leads_to(sym_text(s, p->path), sym_text(s, x->name)))
            continue;
        if (x->name != p->path)
            return fail(s, p->at, E_UNKNOWN, "%s is a scope: did you mean %s?",
                        sym_text(s, p->path), sym_text(s, x->name));
        return fail(s, p->at, E_USAGE, "%s is left out by --allow or --block",
                    sym_text(s, p->path));
    }
    return sown_fail(&w->names, p->at, sym_text(s, p->path));
}

static bool all_used(const HarvestPlan *w, const bool *used) {
    for (size_t k = 0; k < w->number.n; k++)
        if (!used[k]) return fail_unused(w, &w->plant.p[w->number.p[k]]);
    return true;
}

static bool harvest_tag(HarvestPlan *w, Sym tag) {
    Session *s = w->g->s;
    Names allow = {0}, block = {0}, plant = {0};
    w->number.n = 0;
    for (uint32_t i = 0; i < w->plant.n; i++) {
        if (w->plant.p[i].tag != tag) continue;
        vec_push(s, &w->number, i);
        vec_push(s, &plant, w->plant.p[i].path);
    }
    bool reap = choose_reaped(w, tag, &allow);
    add_names(w, tag, &w->block, &block);
    bool *used = mem_zalloc(s, plant.n + 1, sizeof *used);
    HarvestSpec h = {.tag = tag,
                     .nplant = plant.n,
                     .plant = plant.p,
                     .used = used,
                     .value = plant_value,
                     .ctx = w,
                     .nallow = allow.n,
                     .allow = allow.p,
                     .nblock = block.n,
                     .block = block.p};
    if (!allow.n) h.allow = NULL;
    bool ok = harvest_graph(w->g, &h, reap) && all_used(w, used);
    mem_free(used);
    vec_free(&allow);
    vec_free(&block);
    vec_free(&plant);
    return ok;
}

/* Each tag once, in the order of first mention; each harvest renumbers ids. */
static bool harvest_all(HarvestPlan *w) {
    Map done = MAP(w->g->s);
    bool ok = true;
    for (size_t i = 0; ok && i < w->reap.n + w->plant.n; i++) {
        Sym tag = i < w->reap.n ? w->reap.p[i].tag : w->plant.p[i - w->reap.n].tag;
        if (map_get(&done, tag, NULL)) continue;
        map_put(&done, tag, 1);
        ok = harvest_tag(w, tag);
    }
    map_free(&done);
    return ok;
}

bool graph_harvest(Graph *g, const Harvesting *how) {
    if (!how->nreap && !how->nplant) {
        if (!how->nallow && !how->nblock) return true;
        return fail(g->s, how->nallow ? how->allow[0] : how->block[0], E_USAGE,
                    "--allow and --block need --reap or --plant");
    }
    HarvestPlan w = {.g = g, .how = how, .filter = how->filter, .names = {.s = g->s}};
    harvest_list(g, &w.names.list);
    bool ok = read_plants(&w) && read_reaps(&w) &&
              read_path_list(&w, how->nallow, how->allow, &w.allow) &&
              read_path_list(&w, how->nblock, how->block, &w.block) && harvest_all(&w);
    vec_free(&w.names.list);
    vec_free(&w.plant);
    vec_free(&w.reap);
    vec_free(&w.allow);
    vec_free(&w.block);
    vec_free(&w.number);
    return ok;
}

Graph *graph_harvested(const Graph *g, const Harvesting *how) {
    Graph *made =
        graph_copy(g, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED, NULL, false, NULL);
    if (graph_harvest(made, how)) return made;
    graph_free(made);
    return NULL;
}
