/* --reap, --plant, --harvest: the names and values of the command line as one harvest a
 * tag. */
#include "harvest/harvest.h"
#include "pipeline/pipeline.h"

#include <string.h>

typedef struct Plant {
    Sym tag, path;  /* path without the tag */
    Span at, value; /* value.source 0: an input takes its place */
    Var var;        /* of an input once it was made */
    bool used;
} Plant;
typedef Vec(Sym) Names;
typedef struct Choice {
    Sym tag, path; /* path 0: the whole tag; tag 0: any */
} Choice;
typedef Vec(Choice) Choices;
typedef struct Wanted {
    Graph *g;
    const Harvesting *how;
    Filter filter;
    SownList sown;
    Vec(Plant) plant;
    Choices reap, allow, block;
    Vec(uint32_t) number; /* of the tag's plants */
} Wanted;

/* ---- names ---- */
static bool is_tag(const Wanted *w, Sym tag) {
    for (size_t i = 0; i < w->sown.n; i++)
        if (w->sown.p[i].tag == tag) return true;
    return false;
}

/* Does the path end with these names? */
static bool ends_with(const char *path, const char *names) {
    size_t n = strlen(path), m = strlen(names);
    return n > m && path[n - m - 1] == '/' && strcmp(path + n - m, names) == 0;
}

/* A tag or path that may have been meant; NULL: none is near. */
static const char *nearest(const Wanted *w, const char *text) {
    Session *s = w->g->s;
    Vec(const char *) of = {0};
    const char *near = NULL;
    for (size_t i = 0; i < w->sown.n; i++) {
        const char *path = sym_text(s, w->sown.p[i].name), *slash = strrchr(path, '/');
        vec_push(s, &of, sym_text(s, w->sown.p[i].tag));
        vec_push(s, &of, path);
        if (slash)
            vec_push(s, &of, sym_text(s, sym_n(s, path, (size_t)(slash - path))));
        if (!near && ends_with(path, text)) near = path;
    }
    if (!near) near = str_nearest(s, text, of.p, of.n);
    vec_free(&of);
    return near;
}

static bool fail_name(const Wanted *w, Span at, const char *text) {
    Session *s = w->g->s;
    const char *near = nearest(w, text);
    fail(s, at, E_UNKNOWN, "nothing is sown as %s%s%s%s", text,
         near ? ": did you mean " : "", near ? near : "", near ? "?" : "");
    if (!w->sown.n)
        note(s, NOWHERE, "the graph has no sow(value, tag='...', name='...')");
    else if (!near)
        note(s, NOWHERE, "sown are, among others, %s/%s", sym_text(s, w->sown.p[0].tag),
             sym_text(s, w->sown.p[0].name));
    return false;
}

/* Is it the path, or a scope that it is in? */
static bool leads_to(const char *scope, const char *path) {
    size_t n = strlen(scope);
    return strncmp(path, scope, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* The one tag that has the path; 0: none. Two: diagnosed, false. */
static bool tag_of_name(const Wanted *w, Sym name, Span at, Sym *tag) {
    Session *s = w->g->s;
    *tag = 0;
    for (size_t i = 0; i < w->sown.n; i++) {
        if (!leads_to(sym_text(s, name), sym_text(s, w->sown.p[i].name)) ||
            w->sown.p[i].tag == *tag)
            continue;
        if (*tag)
            return fail(
                s, at, E_UNKNOWN, "%s is sown under %s and under %s: write %s/%s",
                sym_text(s, name), sym_text(s, *tag), sym_text(s, w->sown.p[i].tag),
                sym_text(s, *tag), sym_text(s, name));
        *tag = w->sown.p[i].tag;
    }
    return true;
}

/* TAG, TAG/NAME, TAG/SCOPE/NAME, or NAME where one tag has it. path 0: the whole tag.
 */
static bool resolve(const Wanted *w, Span at, Sym *tag, Sym *path) {
    Session *s = w->g->s;
    const char *p = source_get(s, at.source)->text + at.begin;
    size_t n = at.end - at.begin;
    const char *slash = memchr(p, '/', n);
    size_t len = slash ? (size_t)(slash - p) : n;
    *tag = sym_n(s, p, len);
    *path = 0;
    if (is_tag(w, *tag)) {
        if (slash) *path = sym_n(s, slash + 1, n - len - 1);
        return true;
    }
    *path = sym_n(s, p, n);
    if (!tag_of_name(w, *path, at, tag)) return false;
    return *tag || fail_name(w, at, sym_text(s, *path));
}

/* The parts of a comma list, one after the other; at->begin moves on. */
static bool next_part(Session *s, Span *rest, Span *part) {
    const char *text = source_get(s, rest->source)->text;
    if (rest->begin >= rest->end) return false;
    *part = *rest;
    while (rest->begin < rest->end && text[rest->begin] != ',')
        rest->begin++;
    part->end = rest->begin;
    if (rest->begin < rest->end) rest->begin++;
    while (part->begin < part->end && text[part->begin] == ' ')
        part->begin++;
    while (part->end > part->begin && text[part->end - 1] == ' ')
        part->end--;
    return true;
}

/* ---- values ---- */
static bool is_sown_as(const Graph *g, Var v, Sym name) {
    ApplyId a = var_owner(g, v);
    if (a == APPLY_NONE || strncmp(g->apply[a].op->name, "sow", 3) != 0) return false;
    return op_prop(g->s, g->apply[a].op, g->apply[a].props, "name")->sym == name;
}

/* SCOPE_NAME, or TAG_NAME where there is no scope. */
static Sym longer_name(const Wanted *w, const Plant *p, Sym name) {
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

/* The variable that is sown gives its name to the input that takes its place. */
static Sym input_name(Wanted *w, const Plant *p) {
    Graph *g = w->g;
    Session *s = g->s;
    const char *path = sym_text(s, p->path), *slash = strrchr(path, '/');
    Sym name = sym(s, slash ? slash + 1 : path);
    Var v = graph_find(g, name);
    for (size_t i = 0; i < w->plant.n; i++)
        if (slash && w->plant.p[i].path != p->path &&
            ends_with(sym_text(s, w->plant.p[i].path), slash + 1))
            return longer_name(w, p, name);
    if (v == VAR_NONE) return name;
    if (is_sown_as(g, v, name)) return graph_unname(g, name), name;
    return longer_name(w, p, name);
}

static Var new_input(Wanted *w, Plant *p, const Type *t) {
    Session *s = w->g->s;
    if (p->var != VAR_NONE) return p->var;
    Sym name = input_name(w, p);
    if (graph_find(w->g, name) != VAR_NONE) {
        fail(s, p->at, E_DUPLICATE,
             "there is a variable %s already: rename it, or give "
             "the value, TAG/NAME=VALUE",
             sym_text(s, name));
        return VAR_NONE;
    }
    return p->var = graph_input(w->g, name, t);
}

static Var constant(Wanted *w, const Plant *p, const Type *t) {
    Session *s = w->g->s;
    Value v;
    if (!value_compile(s, p->value, t, w->filter, sym_text(s, p->path), &v))
        return VAR_NONE;
    Var c = v.kind == TYPE_TENSOR ? graph_const(w->g, &v.t, false)
                                  : graph_const_value(w->g, t, &v);
    value_unref(&v);
    return c;
}

static Var planted(void *ctx, size_t k, Builder *b, const Type *t) {
    Wanted *w = ctx;
    Plant *p = &w->plant.p[w->number.p[k]];
    (void)b;
    return p->value.source ? constant(w, p, t) : new_input(w, p, t);
}

/* ---- one harvest a tag ---- */
/* Is it sown, or a scope of what is sown? */
static bool is_known(const Wanted *w, Sym tag, Sym path) {
    Session *s = w->g->s;
    for (size_t i = 0; i < w->sown.n; i++)
        if (w->sown.p[i].tag == tag &&
            leads_to(sym_text(s, path), sym_text(s, w->sown.p[i].name)))
            return true;
    return false;
}

static bool read_plants(Wanted *w) {
    Session *s = w->g->s;
    for (size_t i = 0; i < w->how->nplant; i++) {
        Plant p = {.at = w->how->plant[i], .var = VAR_NONE};
        Span label = p.at;
        label_split(s, p.at, &label, &p.value);
        if (!resolve(w, label, &p.tag, &p.path)) return false;
        if (!p.path)
            return fail(s, label, E_USAGE, "--plant takes TAG/NAME or TAG/NAME=VALUE");
        if (!is_known(w, p.tag, p.path))
            return fail_name(w, label, sym_text(s, p.path));
        vec_push(s, &w->plant, p);
    }
    return true;
}

/* --reap TAG, TAG/NAME or NAME; a name chooses what of its tag is reaped. */
static bool read_reaps(Wanted *w) {
    Session *s = w->g->s;
    for (size_t i = 0; i < w->how->nreap; i++) {
        Span rest = w->how->reap[i], part;
        while (next_part(s, &rest, &part)) {
            Choice c;
            if (!resolve(w, part, &c.tag, &c.path)) return false;
            if (c.path && !is_known(w, c.tag, c.path))
                return fail_name(w, part, sym_text(s, c.path));
            vec_push(s, &w->reap, c);
        }
    }
    return true;
}

/* The same, or the end of a path; tag 0: of any tag. */
static bool is_mentioned(const Wanted *w, Sym tag, Sym path) {
    for (size_t i = 0; i < w->sown.n; i++) {
        const Sown *x = &w->sown.p[i];
        if (tag && x->tag != tag) continue;
        if (is_known(w, x->tag, path) ||
            ends_with(sym_text(w->g->s, x->name), sym_text(w->g->s, path)))
            return true;
    }
    return false;
}

/* --allow and --block: NAME, SCOPE, SCOPE/NAME of any tag, or TAG/ before them. */
static bool read_list(Wanted *w, size_t n, const Span *list, Choices *to) {
    Session *s = w->g->s;
    for (size_t i = 0; i < n; i++) {
        Span rest = list[i], part;
        while (next_part(s, &rest, &part)) {
            Choice c = {0, sym_n(s, source_get(s, part.source)->text + part.begin,
                                 part.end - part.begin)};
            if (!is_mentioned(w, 0, c.path)) {
                if (!resolve(w, part, &c.tag, &c.path)) return false;
                if (!c.path || !is_mentioned(w, c.tag, c.path))
                    return fail_name(w, part, sym_text(s, c.path ? c.path : c.tag));
            }
            vec_push(s, to, c);
        }
    }
    return true;
}

static void add_names(Wanted *w, Sym tag, const Choices *list, Names *to) {
    for (size_t i = 0; i < list->n; i++)
        if (!list->p[i].tag || list->p[i].tag == tag)
            vec_push(w->g->s, to, list->p[i].path);
}

/* What of the tag is reaped: all when it is named as a whole. */
static bool choose(Wanted *w, Sym tag, Names *allow) {
    bool any = false, all = false;
    for (size_t i = 0; i < w->reap.n; i++) {
        const Choice *c = &w->reap.p[i];
        if (c->tag != tag) continue;
        any = true;
        all |= !c->path;
        if (c->path) vec_push(w->g->s, allow, c->path);
    }
    if (all || !any) allow->n = 0;
    add_names(w, tag, &w->allow, allow);
    for (size_t i = 0; allow->n && i < w->number.n; i++) /* planted ones are chosen */
        vec_push(w->g->s, allow, w->plant.p[w->number.p[i]].path);
    return any;
}

/* Why what was to be planted was not. */
static bool fail_unused(const Wanted *w, const Plant *p) {
    Session *s = w->g->s;
    for (size_t i = 0; i < w->sown.n; i++) {
        const Sown *x = &w->sown.p[i];
        if (x->tag != p->tag || !leads_to(sym_text(s, p->path), sym_text(s, x->name)))
            continue;
        if (x->name != p->path)
            return fail(s, p->at, E_UNKNOWN, "%s is a scope: did you mean %s?",
                        sym_text(s, p->path), sym_text(s, x->name));
        return fail(s, p->at, E_USAGE, "%s is left out by --allow or --block",
                    sym_text(s, p->path));
    }
    return fail_name(w, p->at, sym_text(s, p->path));
}

static bool all_used(const Wanted *w, const bool *used) {
    for (size_t k = 0; k < w->number.n; k++)
        if (!used[k]) return fail_unused(w, &w->plant.p[w->number.p[k]]);
    return true;
}

static bool harvest_tag(Wanted *w, Sym tag) {
    Session *s = w->g->s;
    Names allow = {0}, block = {0}, plant = {0};
    w->number.n = 0;
    for (uint32_t i = 0; i < w->plant.n; i++) {
        if (w->plant.p[i].tag != tag) continue;
        vec_push(s, &w->number, i);
        vec_push(s, &plant, w->plant.p[i].path);
    }
    bool reap = choose(w, tag, &allow);
    add_names(w, tag, &w->block, &block);
    bool *used = mem_zalloc(s, plant.n + 1, sizeof *used);
    HarvestSpec h = {.tag = tag,
                     .nplant = plant.n,
                     .plant = plant.p,
                     .used = used,
                     .value = planted,
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

/* Each tag once, in the order in which they were named; ids change with each. */
static bool harvest_all(Wanted *w) {
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
                    "--allow and --block choose what --reap and --plant take");
    }
    Wanted w = {.g = g, .how = how, .filter = how->filter};
    harvest_list(g, &w.sown);
    bool ok = read_plants(&w) && read_reaps(&w) &&
              read_list(&w, how->nallow, how->allow, &w.allow) &&
              read_list(&w, how->nblock, how->block, &w.block) && harvest_all(&w);
    vec_free(&w.sown);
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

void graph_take_shared(Graph *to, const Graph *from) {
    for (size_t i = 0; i < to->shared.n && i < from->shared.n; i++) {
        Leaf *a = var_leafrec(to, to->shared.p[i]);
        const Leaf *b = var_leafrec(from, from->shared.p[i]);
        if (!b->value) continue;
        Value *v = a->value ? a->value : leaf_value_new(to, a), old = *v;
        *v = (Value){0};
        value_copy_view(v, b->value);
        value_unref(&old);
        a->init = VAR_NONE;
    }
}
