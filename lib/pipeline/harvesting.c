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
    Sym tag, path; /* path 0: the whole tag */
} Choice;
typedef struct Wanted {
    Graph *g;
    const Harvesting *how;
    Filter filter;
    SownList sown;
    Vec(Plant) plant;
    Vec(Choice) reap;
    Vec(uint32_t) number; /* of the tag's plants */
} Wanted;

/* ---- names ---- */
static bool is_tag(const Wanted *w, Sym tag) {
    for (size_t i = 0; i < w->sown.n; i++)
        if (w->sown.p[i].tag == tag) return true;
    return false;
}

static bool fail_name(const Wanted *w, Span at, const char *text, const char *what) {
    Session *s = w->g->s;
    const char **of = mem_zalloc(s, 2 * w->sown.n + 1, sizeof *of);
    size_t n = 0;
    for (size_t i = 0; i < w->sown.n; i++) {
        of[n++] = sym_text(s, w->sown.p[i].tag);
        of[n++] = sym_text(s, w->sown.p[i].name);
    }
    const char *near = str_nearest(s, text, of, n);
    fail(s, at, E_UNKNOWN, "nothing is sown %s %s%s%s%s", what, text,
         near ? ": did you mean " : "", near ? near : "", near ? "?" : "");
    if (!w->sown.n)
        note(s, NOWHERE, "the graph has no sow(value, tag='...', name='...')");
    else if (!near)
        note(s, NOWHERE, "sown are, among others, %s/%s", of[0], of[1]);
    mem_free(of);
    return false;
}

/* The one tag that has the name; 0: none. Two: diagnosed, false. */
static bool tag_of_name(const Wanted *w, Sym name, Span at, Sym *tag) {
    Session *s = w->g->s;
    *tag = 0;
    for (size_t i = 0; i < w->sown.n; i++) {
        if (w->sown.p[i].name != name || w->sown.p[i].tag == *tag) continue;
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
    const char *last = p + n;
    while (last > p && last[-1] != '/')
        last--;
    Sym name = sym_n(s, last, n - (size_t)(last - p));
    if (!tag_of_name(w, name, at, tag)) return false;
    *path = sym_n(s, p, n);
    return *tag || fail_name(w, at, sym_text(s, *path), "as");
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
/* The variable that is sown gives its name to the input that takes its place. */
static Sym input_name(Wanted *w, const Plant *p) {
    Graph *g = w->g;
    Session *s = g->s;
    const char *path = sym_text(s, p->path), *slash = strrchr(path, '/');
    Sym name = sym(s, slash ? slash + 1 : path);
    Var v = graph_find(g, name);
    if (v == VAR_NONE) return name;
    ApplyId a = var_owner(g, v);
    if (a != APPLY_NONE && strncmp(g->apply[a].op->name, "sow", 3) == 0)
        return graph_unname(g, name), name;
    Str longer = STR(s);
    str_printf(&longer, "%s_%s", sym_text(s, p->tag), sym_text(s, name));
    Sym y = sym(s, str_text(&longer));
    str_free(&longer);
    return y;
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
static bool is_known_name(const Wanted *w, Sym tag, Sym path) {
    const char *text = sym_text(w->g->s, path), *slash = strrchr(text, '/');
    Sym name = sym(w->g->s, slash ? slash + 1 : text);
    for (size_t i = 0; i < w->sown.n; i++)
        if (w->sown.p[i].tag == tag && w->sown.p[i].name == name) return true;
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
        if (!is_known_name(w, p.tag, p.path))
            return fail_name(w, label, sym_text(s, p.path), "as");
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
            if (c.path && !is_known_name(w, c.tag, c.path))
                return fail_name(w, part, sym_text(s, c.path), "as");
            vec_push(s, &w->reap, c);
        }
    }
    return true;
}

static void add_names(Wanted *w, size_t n, const Span *list, Names *to) {
    Session *s = w->g->s;
    for (size_t i = 0; i < n; i++) {
        Span rest = list[i], part;
        while (next_part(s, &rest, &part))
            vec_push(s, to,
                     sym_n(s, source_get(s, part.source)->text + part.begin,
                           part.end - part.begin));
    }
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
    add_names(w, w->how->nallow, w->how->allow, allow);
    for (size_t i = 0; allow->n && i < w->number.n; i++) /* planted ones are chosen */
        vec_push(w->g->s, allow, w->plant.p[w->number.p[i]].path);
    return any;
}

static bool all_used(const Wanted *w, const bool *used) {
    for (size_t k = 0; k < w->number.n; k++) {
        const Plant *p = &w->plant.p[w->number.p[k]];
        if (!used[k]) return fail_name(w, p->at, sym_text(w->g->s, p->path), "as");
    }
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
    add_names(w, w->how->nblock, w->how->block, &block);
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
    bool ok = read_plants(&w) && read_reaps(&w) && harvest_all(&w);
    vec_free(&w.sown);
    vec_free(&w.plant);
    vec_free(&w.reap);
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
