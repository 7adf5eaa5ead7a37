/* on_unused_input: finds declared inputs that no output, update or effect needs. */
#include "tools/tools.h"

#include <string.h>

/* Any input that has a needed dim may determine it. */
static bool determines_dim(const Graph *g, const uint8_t *live, const Type *t) {
    for (int i = 0; t->kind == TYPE_TENSOR && i < t->ndim; i++) {
        if (!dim_is_named(t->dim[i])) continue;
        Var d = graph_find(g, dim_sym(t->dim[i]));
        if (d != VAR_NONE && live[d]) return true;
    }
    return false;
}

bool graph_needs_input(const Graph *g, const uint8_t *live, Var v) {
    return live[v] || determines_dim(g, live, var_type(g, v));
}

bool graph_unused_inputs(Graph *g, UnusedInput how) {
    if (how == UNUSED_IGNORE) return true;
    Arena *a = arena_new(g->s);
    Str list = STR(g->s);
    size_t n = 0;
    uint8_t *live = graph_live(g, a, ROOTS_RUN | ROOTS_INIT);
    for (size_t i = 0; i < g->inputs.n; i++) {
        Var v = g->inputs.p[i];
        if (graph_needs_input(g, live, v)) continue;
        str_printf(&list, "%s%s: %s", n++ ? ", " : "", sym_text(g->s, var_name(g, v)),
                   type_str(g->s, var_type(g, v)));
    }
    if (n) {
        static const char text[] = "nothing needs the input%s %s";
        if (how == UNUSED_RAISE)
            fail(g->s, NOWHERE, E_UNUSED, text, n > 1 ? "s" : "", str_text(&list));
        else
            warn(g->s, NOWHERE, E_UNUSED, text, n > 1 ? "s" : "", str_text(&list));
        note(g->s, NOWHERE,
             "no output, update or effect reads %s; --on-unused-input ignore accepts "
             "that",
             n > 1 ? "them" : "it");
    }
    str_free(&list);
    arena_free(a);
    return !n || how != UNUSED_RAISE;
}

void graph_warn_idle(Graph *g, const char *name) {
    if (g->outputs.n + g->updates.n + g->effects.n > 0) return;
    warn(g->s, NOWHERE, E_UNUSED, "%s%sthe graph has no outputs, updates or effects",
         name ? name : "", name ? ": " : "");
    note(g->s, NOWHERE,
         "`outputs: [NAME]` in its file, or gload --outputs, says what a run gives");
}
