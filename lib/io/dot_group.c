/* Groups of a picture: names that begin alike. A name is cut at _ . and /, so that
 * enc_0_q is in enc_0, which is in enc. A value without a name belongs to the first
 * named one that needs it, a derivative to the gradient of the group that its Apply
 * was derived from, and what only updates need to the update of their variables. */
#include "io/dot_impl.h"

#include <string.h>

/* The end of the part of a name that begins at `from`: separators at the beginning or
 * at the end of a name, and repeated ones, belong to a part. */
static size_t end_of_part(const char *name, size_t from) {
    size_t i = from + strspn(name + from, "_./");
    i += strcspn(name + i, "_./");
    return name[i + strspn(name + i, "_./")] ? i : strlen(name);
}

typedef struct Grouping {
    Dot *d;
    Map child; /* parent << 32 | part of a name -> group */
    uint32_t cap;
} Grouping;

static uint32_t add_group(Grouping *k, DotGroup group) {
    Dot *d = k->d;
    if (d->ngroup == k->cap) {
        DotGroup *old = d->group;
        k->cap = k->cap ? 2 * k->cap : 16;
        d->group = NEW_N(d->a, k->cap, DotGroup);
        if (d->ngroup) memcpy(d->group, old, d->ngroup * sizeof *old);
    }
    d->group[d->ngroup] = group;
    return d->ngroup++;
}

static uint32_t twin_of_child(const Grouping *k, uint32_t parent, Sym part) {
    uint32_t twin = k->d->group[parent].twin;
    uint64_t found;
    if (twin == DOT_NONE || !map_get(&k->child, (uint64_t)twin << 32 | part, &found))
        return DOT_NONE;
    return (uint32_t)found;
}

/* The innermost group of a name. */
static uint32_t group_of_name(Grouping *k, DotKind kind, Sym name) {
    Session *s = k->d->s;
    const char *text = sym_text(s, name);
    uint32_t at = kind;
    for (size_t from = 0, end; text[from]; from = end) {
        end = end_of_part(text, from);
        uint64_t key = (uint64_t)at << 32 | sym_n(s, text + from, end - from), found;
        if (!map_get(&k->child, key, &found)) {
            DotGroup new = {.name = name,
                            .len = (uint32_t)end,
                            .parent = at,
                            .twin = twin_of_child(k, at, (uint32_t)key),
                            .kind = kind};
            found = add_group(k, new);
            map_put(&k->child, key, found);
            k->d->group[at].children++;
        }
        at = (uint32_t)found;
    }
    return at;
}

/* ---- who belongs where ---- */
bool dot_is_gradient(const Dot *d, ApplyId a) {
    Sym rule = d->g->origin[a].rule;
    return rule && strncmp(sym_text(d->s, rule), "gradient of", 11) == 0;
}

/* The parts that two names have in common at their beginning; "all" if they have none.
 */
static Sym common_name(Session *s, Sym x, Sym y) {
    const char *a = sym_text(s, x), *b = sym_text(s, y);
    size_t n = 0, end;
    while (a[n] && (end = end_of_part(a, n)) == end_of_part(b, n) &&
           strncmp(a + n, b + n, end - n) == 0)
        n = end;
    return n ? sym_n(s, a, n) : sym(s, "all");
}

/* A reader of v is called `name`. What several updates need belongs to what their
 * names have in common. */
static void inherit_name(Session *s, Sym *name, uint8_t *kind, Sym from, uint8_t use) {
    if (use == DOT_UPDATE && *kind == DOT_FORWARD) return;
    if (use == DOT_UPDATE && *kind == DOT_UPDATE && *name != from)
        from = common_name(s, *name, from);
    *name = from;
    *kind = use;
}

/* By variable: the name that it is known by, inherited from its first reader if it has
 * none, and in kind[] what it is for. */
static Sym *find_names(const Dot *d, uint8_t *kind) {
    const Graph *g = d->g;
    Sym *name = NEW_N(d->a, (size_t)g->nvar + 1, Sym);
    memset(kind, DOT_KINDS, g->nvar);
    for (size_t i = 0; i < g->updates.n; i++) {
        name[g->updates.p[i].value] = var_name(g, g->updates.p[i].shared);
        kind[g->updates.p[i].value] = DOT_UPDATE;
    }
    for (size_t i = 0; i < g->outputs.n; i++) {
        name[g->outputs.p[i].var] = g->outputs.p[i].label;
        kind[g->outputs.p[i].var] = DOT_FORWARD;
    }
    for (ApplyId id = g->napply; id-- > 0;) {
        const Apply *ap = &g->apply[id];
        Sym first = 0;
        uint8_t use = DOT_KINDS;
        for (Var v = ap->out + ap->nout; v-- > ap->out;) {
            if (var_name(g, v)) name[v] = var_name(g, v), kind[v] = DOT_FORWARD;
            if (name[v]) first = name[v], use = kind[v];
        }
        for (Var v = ap->out; v < ap->out + ap->nout; v++)
            name[v] = first, kind[v] = use;
        for (size_t i = 0; i < ap->nin && first && !dot_is_gradient(d, id); i++) {
            Var v = apply_in(g, id)[i];
            inherit_name(d->s, &name[v], &kind[v], first, use);
        }
    }
    return name;
}

static uint64_t key_of_place(const Origin *o) {
    return hash_mix(hash_mix(o->at.source, o->at.begin), o->at.end);
}

/* A derivative has the place of the Apply that it was derived from. */
static void group_applies(Grouping *k, const Sym *name, const uint8_t *kind) {
    Dot *d = k->d;
    Map placed = MAP(d->s);
    for (ApplyId id = 0; id < d->g->napply; id++) {
        Var out = d->g->apply[id].out;
        uint64_t key = key_of_place(&d->g->origin[id]), of;
        bool gradient = dot_is_gradient(d, id);
        if (!gradient && name[out]) map_put(&placed, key, name[out]);
        if (!dot_draws_apply(d, id)) continue;
        Sym group = gradient && map_get(&placed, key, &of) ? (Sym)of : name[out];
        if (!group) continue;
        d->apply_group[id] =
            group_of_name(k, gradient ? DOT_GRADIENT : (DotKind)kind[out], group);
        DotGroup *to = &d->group[d->apply_group[id]];
        to->members++, to->applies++;
        to->last = id;
        to->effect |= d->g->apply[id].op->effect;
    }
    map_free(&placed);
}

static void group_shared(Grouping *k) {
    Dot *d = k->d;
    for (size_t i = 0; i < d->g->shared.n; i++) {
        Var v = d->g->shared.p[i];
        if (!d->live[v]) continue;
        d->leaf_group[v] = group_of_name(k, DOT_FORWARD, var_name(d->g, v));
        d->group[d->leaf_group[v]].members++;
        d->group[d->leaf_group[v]].shared++;
    }
}

/* A group of a single Apply is drawn as that Apply, and one of leaves alone is open. */
static void collapse_groups(Dot *d) {
    for (uint32_t i = d->ngroup; i-- > DOT_KINDS;) {
        DotGroup *k = &d->group[i], *up = &d->group[k->parent];
        up->applies += k->applies;
        up->shared += k->shared;
        up->effect |= k->effect;
        if (!up->members) up->last = k->last;
    }
    d->group[DOT_FORWARD].sole = true;
    for (uint32_t i = DOT_KINDS; i < d->ngroup; i++) {
        DotGroup *k = &d->group[i], *up = &d->group[k->parent];
        k->level = d->group[k->parent].level + 1;
        k->sole = up->sole && up->children == 1 && !up->members;
        k->pass = !k->members && (k->children == 1 || (k->sole && k->children));
        if (k->twin != DOT_NONE) k->pass = d->group[k->twin].pass;
        k->collapsed = !k->pass && k->level == d->depth && k->applies > 1;
        k->level -= k->pass;
        k->within = d->group[k->parent].within;
        if (k->collapsed) k->within = i;
    }
}

void dot_make_groups(Dot *d) {
    size_t nvar = d->g->nvar, napply = d->g->napply;
    d->apply_group = NEW_N(d->a, napply + 1, uint32_t);
    d->leaf_group = NEW_N(d->a, nvar + 1, uint32_t);
    memset(d->apply_group, 0xff, napply * sizeof *d->apply_group);
    memset(d->leaf_group, 0xff, nvar * sizeof *d->leaf_group);
    uint8_t *kind = NEW_N(d->a, nvar + 1, uint8_t);
    Grouping k = {.d = d, .child = MAP(d->s)};
    for (uint32_t i = 0; i < DOT_KINDS; i++)
        add_group(&k, (DotGroup){.parent = i,
                                 .kind = (DotKind)i,
                                 .twin = i == DOT_FORWARD ? DOT_NONE : DOT_FORWARD,
                                 .within = DOT_NONE});
    if (d->depth) group_applies(&k, find_names(d, kind), kind);
    if (d->depth) group_shared(&k);
    map_free(&k.child);
    collapse_groups(d);
}

DotNode dot_twin(const Dot *d, DotNode n) {
    uint32_t group = dot_is_leaf(d, n)    ? DOT_NONE
                     : dot_is_group(d, n) ? n - dot_node_of_group(d, 0)
                                          : d->apply_group[dot_apply_of(d, n)];
    uint32_t twin = group == DOT_NONE ? DOT_NONE : d->group[group].twin;
    if (twin == DOT_NONE) return DOT_NONE;
    if (d->group[twin].collapsed) return dot_node_of_group(d, twin);
    return d->group[twin].applies == 1 ? dot_node_of_apply(d, d->group[twin].last)
                                       : DOT_NONE;
}

void dot_group_title(const Dot *d, const DotGroup *k, Str *out) {
    static const char *const what[] = {"", "gradient of ", "update of "};
    str_puts(out, what[k->kind]);
    str_add(out, sym_text(d->s, k->name), k->len);
}
