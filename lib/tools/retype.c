/* --dim and --narrow: leaves get their narrower types, and all others are inferred
 * again. */
#include "tools/retype.h"

#include "op/convert.h"
#include "tools/grun/run.h"

#include <string.h>

void graph_list_dims(const Graph *g, Str *list) {
    enum { MOST = 8 };
    Sym seen[MOST];
    size_t n = 0, k;
    for (uint32_t i = 0; i < g->nleaf; i++) {
        const Type *t = var_type(g, g->leaf[i].var);
        for (int j = 0; j < t->ndim; j++) {
            if (!dim_is_named(t->dim[j])) continue;
            for (k = 0; k < n && seen[k] != dim_sym(t->dim[j]); k++) {
            }
            if (k < n) continue;
            if (n == MOST) {
                str_puts(list, ", ...");
                return;
            }
            seen[n++] = dim_sym(t->dim[j]);
            str_printf(list, "%s%s", n > 1 ? ", " : "", sym_text(g->s, seen[n - 1]));
        }
    }
}

bool graph_find_dim(Graph *g, const char *p, size_t n, Span at, Sym *name) {
    *name = sym_find(g->s, p, n);
    if (*name && graph_has_dim(g, *name)) return true;
    fail(g->s, at, E_UNKNOWN, "the graph has no dim %.*s", (int)n, p);
    Str have = {.s = g->s};
    graph_list_dims(g, &have);
    if (have.n)
        note(g->s, NOWHERE, "its dims are %s", str_text(&have));
    else
        note(g->s, NOWHERE, "dims are the names in types such as float32[n, 64]");
    str_free(&have);
    return false;
}

/* "n=128" */
bool dim_option(Graph *g, Span text, Sym *dim, int64_t *size) {
    Session *s = g->s;
    const char *p = source_get(s, text.source)->text + text.begin, *eq = strchr(p, '=');
    uint64_t n;
    bool overflow = false;
    size_t len = eq ? num_read_uint(eq + 1, strlen(eq + 1), &n, &overflow) : 0;
    if (!len || eq[1 + len] || overflow || n > INT64_MAX)
        return fail(s, text, E_USAGE, "--dim takes NAME=SIZE, as in --dim n=128");
    *size = (int64_t)n;
    return graph_find_dim(g, p, (size_t)(eq - p), text, dim);
}

/* Redeclares a leaf; its filter then checks each value that is bound. */
static bool narrow_leaf(Graph *g, Var v, const Type *want, const char *name, Span at) {
    const Type *have = var_type(g, v), *met = type_meet(g->s, have, want);
    if (!met)
        return fail(g->s, at, E_TYPE, "cannot convert %s (of %s) into %s",
                    type_str(g->s, have), name, type_str(g->s, want));
    for (int i = 0; i < met->ndim; i++)
        if (dim_is_named(have->dim[i]) && dim_is_known(met->dim[i]) &&
            !graph_bind_dim(g, dim_sym(have->dim[i]), met->dim[i]))
            return false;
    graph_retype_leaf(g, v, met);
    return true;
}

/* Any other variable is checked at run time: its Apply is copied, and the old one's
 * users read the result of the check. */
static bool narrow_result(Graph *g, Var v, const Type *want, const char *name,
                          Span at) {
    const Apply a = g->apply[var_owner(g, v)];
    if (a.serial)
        return fail(g->s, at, E_USAGE, "%s can't be narrowed: %s has an effect", name,
                    a.op->name);
    Var *in = mem_alloc(g->s, (a.nin + 1) * sizeof *in);
    memcpy(in, g->in + a.in, a.nin * sizeof *in);
    Var again = graph_copy_apply(g, g, var_owner(g, v), in, false);
    mem_free(in);
    Builder b = builder(g, false);
    b.from.at = at;
    Var narrow = type_filter_variable(&b, want, again + (v - a.out), name);
    if (narrow == VAR_NONE) return false;
    Var *forward = mem_alloc(g->s, g->nvar * sizeof *forward);
    for (Var x = 0; x < g->nvar; x++)
        forward[x] = x;
    for (Var k = 0; k < a.nout; k++)
        forward[a.out + k] = again + k;
    forward[v] = narrow;
    graph_compact(g, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED, forward, false);
    mem_free(forward);
    return true;
}

/* "x: float32[128, 64]" */
static bool narrow_option(Graph *g, Span text) {
    Session *s = g->s;
    const char *p = source_get(s, text.source)->text + text.begin,
               *colon = strchr(p, ':');
    Var v;
    if (!colon) return fail(s, text, E_USAGE, "--narrow takes NAME: TYPE");
    Span at = {text.source, text.begin + (uint32_t)(colon + 1 - p), text.end};
    if (!names_find_var(g, p, (size_t)(colon - p), text, &v)) return false;
    LeafKind k = var_leaf(g, v);
    if (k == LEAF_DIM || k == LEAF_CONST)
        return fail(s, text, E_USAGE, "a %s can't be narrowed",
                    k == LEAF_DIM ? "dim" : "constant");
    const Type *want = type_parse(s, colon + 1, strlen(colon + 1), at);
    if (!want) return false;
    const char *name = arena_str(session_arena(s), p, (size_t)(colon - p));
    return (k == LEAF_NOT ? narrow_result(g, v, want, name, at)
                          : narrow_leaf(g, v, want, name, at)) &&
           graph_check_dims(g, at);
}

bool graph_narrow(Graph *g, const Edit *e) {
    Sym name;
    int64_t n;
    for (size_t i = 0; i < e->ndim; i++)
        if (!dim_option(g, e->dim[i], &name, &n) || !graph_bind_dim(g, name, n))
            return false;
    for (size_t i = 0; i < e->nnarrow; i++)
        if (!narrow_option(g, e->narrow[i])) return false;
    return graph_reinfer(g);
}
