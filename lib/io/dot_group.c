/* Groups of a picture: the families of names that begin alike. */
#include "io/dot_impl.h"

#include <string.h>

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
static uint32_t group_of_name(Grouping *k, Purpose kind, Sym name) {
    Session *s = k->d->s;
    const char *text = sym_text(s, name);
    uint32_t at = kind;
    for (size_t from = 0, end; text[from]; from = end) {
        end = family_part_end(text, from);
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

static void group_applies(Grouping *k) {
    Dot *d = k->d;
    const Family *family = family_of_applies(d->g, d->a);
    for (ApplyId id = 0; id < d->g->napply; id++) {
        if (!family[id].name || !dot_draws_apply(d, id)) continue;
        d->apply_group[id] = group_of_name(k, family[id].purpose, family[id].name);
        DotGroup *to = &d->group[d->apply_group[id]];
        to->members++, to->applies++;
        to->last = id;
        to->effect |= d->g->apply[id].op->effect;
    }
}

static void group_shared(Grouping *k) {
    Dot *d = k->d;
    for (size_t i = 0; i < d->g->shared.n; i++) {
        Var v = d->g->shared.p[i];
        if (!d->live[v]) continue;
        d->leaf_group[v] = group_of_name(k, FOR_RESULTS, var_name(d->g, v));
        d->group[d->leaf_group[v]].members++;
        d->group[d->leaf_group[v]].shared++;
    }
}

/* A group of a single Apply is drawn as that Apply, and one of leaves alone is open. */
static void collapse_groups(Dot *d) {
    for (uint32_t i = d->ngroup; i-- > PURPOSES;) {
        DotGroup *k = &d->group[i], *up = &d->group[k->parent];
        up->applies += k->applies;
        up->shared += k->shared;
        up->effect |= k->effect;
        if (!up->members) up->last = k->last;
    }
    d->group[FOR_RESULTS].sole = true;
    for (uint32_t i = PURPOSES; i < d->ngroup; i++) {
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
    Grouping k = {.d = d, .child = MAP(d->s)};
    for (uint32_t i = 0; i < PURPOSES; i++)
        add_group(&k, (DotGroup){.parent = i,
                                 .kind = (Purpose)i,
                                 .twin = i == FOR_RESULTS ? DOT_NONE : FOR_RESULTS,
                                 .within = DOT_NONE});
    if (d->depth) group_applies(&k);
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
