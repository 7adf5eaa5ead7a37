/* Families of names, and details. */
#include "page/family.h"

#include <string.h>

void family_show_through_casts(const Graph *g, Var v, uint8_t *hidden) {
    hidden[v] = 0;
    while (var_owner(g, v) != APPLY_NONE &&
           op_is(g->s, g->apply[var_owner(g, v)].op, OP_CAST)) {
        v = apply_in(g, var_owner(g, v))[0];
        hidden[v] = 0;
    }
}

uint8_t *family_details(const Graph *g, Arena *a) {
    uint8_t *hidden = NEW_N(a, (size_t)g->nvar + 1, uint8_t);
    for (Var v = 0; v < g->nvar; v++)
        hidden[v] = var_leaf(g, v) == LEAF_CONST || var_leaf(g, v) == LEAF_DIM;
    for (ApplyId id = 0; id < g->napply; id++) {
        const Apply *ap = &g->apply[id];
        bool detail = ap->nin > 0 && !ap->op->effect;
        for (size_t i = 0; i < ap->nin && !ap->op->shape_only; i++)
            detail = detail && hidden[apply_in(g, id)[i]];
        for (Var k = 0; k < ap->nout; k++)
            hidden[ap->out + k] = detail;
    }
    for (size_t i = 0; i < g->outputs.n; i++)
        family_show_through_casts(g, g->outputs.p[i].var, hidden);
    for (size_t i = 0; i < g->updates.n; i++)
        family_show_through_casts(g, g->updates.p[i].value, hidden);
    return hidden;
}

/* ---- names ---- */
size_t family_part_end(const char *name, size_t from) {
    size_t i = from + strspn(name + from, "_./");
    i += strcspn(name + i, "_./");
    return name[i + strspn(name + i, "_./")] ? i : strlen(name);
}

bool apply_is_gradient(const Graph *g, ApplyId a) {
    Sym rule = g->origin[a].rule;
    return rule && strncmp(sym_text(g->s, rule), "gradient of", 11) == 0;
}

/* The parts that two names have in common at their beginning; "all" if they have none.
 */
static Sym common_name(Session *s, Sym x, Sym y) {
    const char *a = sym_text(s, x), *b = sym_text(s, y);
    size_t n = 0, end;
    while (a[n] && (end = family_part_end(a, n)) == family_part_end(b, n) &&
           strncmp(a + n, b + n, end - n) == 0)
        n = end;
    return n ? sym_n(s, a, n) : sym(s, "all");
}

/* A reader of v is called `name`. What several updates need belongs to what their
 * names have in common. */
static void inherit_name(Session *s, Sym *name, uint8_t *kind, Sym from, uint8_t use) {
    if (use == FOR_UPDATES && *kind == FOR_RESULTS) return;
    if (use == FOR_UPDATES && *kind == FOR_UPDATES && *name != from)
        from = common_name(s, *name, from);
    *name = from;
    *kind = use;
}

/* By variable: the name that it is known by, inherited from its first reader if it has
 * none, and in kind[] what it is for. */
static Sym *find_names(const Graph *g, Arena *a, uint8_t *kind) {
    Sym *name = NEW_N(a, (size_t)g->nvar + 1, Sym);
    memset(kind, PURPOSES, g->nvar);
    for (size_t i = 0; i < g->updates.n; i++) {
        name[g->updates.p[i].value] = var_name(g, g->updates.p[i].shared);
        kind[g->updates.p[i].value] = FOR_UPDATES;
    }
    for (size_t i = 0; i < g->outputs.n; i++) {
        name[g->outputs.p[i].var] = g->outputs.p[i].label;
        kind[g->outputs.p[i].var] = FOR_RESULTS;
    }
    for (ApplyId id = g->napply; id-- > 0;) {
        const Apply *ap = &g->apply[id];
        Sym first = 0;
        uint8_t use = PURPOSES;
        for (Var v = ap->out + ap->nout; v-- > ap->out;) {
            if (var_name(g, v)) name[v] = var_name(g, v), kind[v] = FOR_RESULTS;
            if (name[v]) first = name[v], use = kind[v];
        }
        for (Var v = ap->out; v < ap->out + ap->nout; v++)
            name[v] = first, kind[v] = use;
        for (size_t i = 0; i < ap->nin && first && !apply_is_gradient(g, id); i++) {
            Var v = apply_in(g, id)[i];
            inherit_name(g->s, &name[v], &kind[v], first, use);
        }
    }
    return name;
}

static uint64_t key_of_place(const Origin *o) {
    return hash_mix(hash_mix(o->at.source, o->at.begin), o->at.end);
}

/* A derivative has the place of the Apply that it was derived from. */
Family *family_of_applies(const Graph *g, Arena *a) {
    uint8_t *kind = NEW_N(a, (size_t)g->nvar + 1, uint8_t);
    Sym *name = find_names(g, a, kind);
    Family *family = NEW_N(a, (size_t)g->napply + 1, Family);
    Map placed = MAP(g->s);
    for (ApplyId id = 0; id < g->napply; id++) {
        Var out = g->apply[id].out;
        uint64_t key = key_of_place(&g->origin[id]), of;
        bool gradient = apply_is_gradient(g, id);
        if (!gradient && name[out]) map_put(&placed, key, name[out]);
        bool known = gradient && map_get(&placed, key, &of);
        family[id] =
            (Family){known ? (Sym)of : name[out], gradient    ? FOR_GRADIENTS
                                                  : name[out] ? (Purpose)kind[out]
                                                              : FOR_RESULTS};
    }
    map_free(&placed);
    return family;
}
