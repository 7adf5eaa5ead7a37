/* --why: how far a rule's left side got to match, and what was in its way. The matcher
 * tells of each failure; the one that lies deepest in the pattern counts, since all
 * before it, from left to right, has matched. */
#include "lang/print/print.h"
#include "rewrite/rewrite_impl.h"

#include <string.h>

enum { AT_ALL_NODES = 1000, AT_TYPES = 2000, AT_OTHER = 3000, AT_FIRED = 4000 };

struct Why {
    Session *s;
    const RewriteWhy *asked;
    const Rule *rule;
    size_t entry;
    bool selected, seen; /* was the variable asked for looked at? */
    bool here;           /* is it the Apply being tried? */
    bool off;            /* not in one of the rule's stages */
    int depth;           /* of the reason kept; -1: none */
    Str reason;
};

/* ---- text ---- */
static void put_source(Session *s, Span at, Str *out) {
    const Source *src = source_get(s, at.source);
    if (src) str_add(out, src->text + at.begin, at.end - at.begin);
}

static void put_definition(const Graph *g, Var v, Str *out) {
    Arena *a = arena_new(g->s);
    Printer *p = printer_new(g, PRINT_MATH, NULL, a);
    Str text = STR(g->s);
    enum { MOST = 200 };
    if (var_name(g, v)) str_printf(out, "%s = ", sym_text(g->s, var_name(g, v)));
    if (var_owner(g, v) == APPLY_NONE && !var_is_const(g, v))
        str_clear(out), str_puts(out, sym_text(g->s, var_name(g, v)));
    else
        print_definition(p, v, &text);
    str_add(out, str_text(&text), text.n < MOST ? text.n : MOST);
    if (text.n > MOST) str_puts(out, "...");
    str_printf(out, ", %s", type_str(g->s, var_type(g, v)));
    str_free(&text);
    arena_free(a);
}

/* ---- what the matcher tells ---- */
/* The number of nodes before p in the pattern, from left to right. */
static bool count_before(const Pat *in, const Pat *p, int *n) {
    if (in == p) return true;
    ++*n;
    for (size_t i = 0; in->kind == PAT_APPLY && i < in->nin; i++)
        if (count_before(in->in[i], p, n)) return true;
    return false;
}

static bool is_deeper(Why *w, int depth) {
    if (w->off || depth <= w->depth) return false;
    w->depth = depth;
    str_clear(&w->reason);
    return true;
}

void why_node_failed(Rewriter *r, const Pat *p, Var v, const char *what) {
    Why *w = r->why;
    int depth = 0;
    count_before(w->rule->lhs, p, &depth);
    if (!is_deeper(w, depth)) return;
    Str found = STR(w->s);
    str_puts(&w->reason, "of its left side, ");
    put_source(w->s, p->at, &w->reason);
    put_definition(r->g, v, &found);
    str_printf(&w->reason, " failed: %s\n  found: %s\n", what, str_text(&found));
    str_free(&found);
}

void why_guard_failed(Rewriter *r, size_t guard, const Match *m) {
    Why *w = r->why;
    const Guard *g = &w->rule->guard[guard];
    if (!is_deeper(w, AT_ALL_NODES + (int)guard)) return;
    str_puts(&w->reason, "its left side matched, but its guard ");
    put_source(w->s, g->at, &w->reason);
    str_puts(&w->reason, " said no\n");
    for (size_t i = 0; i < g->narg; i++) {
        Str found = STR(w->s);
        Var v = i == 0 && g->part ? m->part[guard] : m->var[g->arg[i]->hole];
        if (v != VAR_NONE) put_definition(r->g, v, &found);
        str_puts(&w->reason, "  ");
        put_source(w->s, g->arg[i]->at, &w->reason);
        str_printf(&w->reason, ": %s\n", str_text(&found));
        str_free(&found);
    }
}

void why_types_failed(Rewriter *r, const Rule *rule, const char *what) {
    if (r->why->rule == rule && r->why->here && is_deeper(r->why, AT_TYPES))
        str_printf(&r->why->reason, "its left side and guards matched, but %s\n", what);
}

/* ---- what the driver asks ---- */
static bool is_asked_for(Rewriter *r, ApplyId a) {
    Sym name = r->why->asked->at;
    Var v = name ? graph_find(r->g, name) : r->g->apply[a].out;
    if (v == VAR_NONE || (name && v >= r->nvar)) return false;
    v = rewriter_resolve(r, v);
    return v >= r->g->apply[a].out && v < r->g->apply[a].out + r->g->apply[a].nout;
}

bool why_look(Rewriter *r, ApplyId a) {
    Why *w = r->why;
    w->here = is_asked_for(r, a);
    if (!w->here) return false;
    w->seen = true;
    const RewriteEntry *e = &r->db->entry.p[w->entry].pub;
    w->off = w->selected && e->position > CLEANING &&
             e->position != r->db->entry.p[r->first].pub.position;
    size_t k = w->rule->lhs->picks ? w->rule->lhs->out : 0;
    Match m;
    if (k >= r->g->apply[a].nout) return false;
    r->asked = true;
    bool matched = rule_match(r, w->rule, r->g->apply[a].out + (Var)k, &m);
    r->asked = false;
    return matched && !w->off;
}

void why_replaced(Rewriter *r, ApplyId a, size_t by) {
    Why *w = r->why;
    bool own = by == w->entry;
    if (!is_deeper(w, own ? AT_FIRED : AT_OTHER)) return;
    if (own)
        str_puts(&w->reason, "it fired\n");
    else
        str_printf(&w->reason, "it matched, but %s came first\n",
                   r->db->entry.p[by].pub.name);
    Str found = STR(w->s);
    put_definition(r->g, r->g->apply[a].out, &found);
    str_printf(&w->reason, "  at: %s\n", str_text(&found));
    str_free(&found);
}

/* ---- the question ---- */
Why *why_new(Session *s, Database *db, const RewriteWhy *asked) {
    for (size_t i = 0; i < db->entry.n; i++) {
        const DatabaseEntry *e = &db->entry.p[i];
        if (strcmp(e->pub.name, asked->rule) != 0 || !e->rule) continue;
        if (!database_compile(db, e->rule)) return NULL;
        Why *w = mem_zalloc(s, 1, sizeof *w);
        *w = (Why){.s = s,
                   .asked = asked,
                   .rule = e->rule,
                   .entry = i,
                   .selected = e->selected,
                   .depth = -1,
                   .reason = STR(s)};
        return w;
    }
    const char **names = mem_zalloc(s, db->entry.n + 1, sizeof *names);
    size_t n = 0;
    bool is_pass = false;
    for (size_t i = 0; i < db->entry.n; i++) {
        is_pass |= strcmp(db->entry.p[i].pub.name, asked->rule) == 0;
        if (db->entry.p[i].rule) names[n++] = db->entry.p[i].pub.name;
    }
    const char *near = str_nearest(s, asked->rule, names, n);
    fail(s, NOWHERE, E_UNKNOWN, "there is no rule %s", asked->rule);
    if (is_pass)
        note(s, NOWHERE, "%s is a pass, which has no pattern", asked->rule);
    else if (near)
        note(s, NOWHERE, "did you mean %s?", near);
    mem_free(names);
    return NULL;
}

void why_report(const Why *w, const Database *db) {
    Str *out = w->asked->report;
    const RewriteEntry *e = &db->entry.p[w->entry].pub;
    const char *name = sym_text(w->s, w->asked->at);
    str_printf(out, "%s: %s\n", e->name, rule_text(db->entry.p[w->entry].rule));
    if (!w->selected) str_puts(out, "it isn't selected, by name or tag\n");
    if (w->rule->broken)
        str_puts(out, "it names an op that there isn't\n");
    else if (w->asked->at && !w->seen)
        str_printf(out, "%s is not computed while rules are tried\n", name);
    else if (w->depth < 0)
        str_printf(out, "no Apply was looked at in its position, %.2f\n", e->position);
    str_puts(out, str_text(&w->reason));
}

void why_free(Why *w) {
    if (!w) return;
    str_free(&w->reason);
    mem_free(w);
}
