/* Feeds the command line's values to a machine's inputs and shared variables. */
#include "tools/grun/grun_impl.h"
#include "tools/random_inputs.h"
#include "value/rng.h"

#include <string.h>

bool grun_no_input(GraphRun *r, DiagCode code, Span at, const char *text) {
    Graph *g = r->g;
    Vec(const char *) names = {0};
    for (size_t i = 0; i < g->inputs.n; i++)
        vec_push(r->s, &names, sym_text(r->s, var_name(g, g->inputs.p[i])));
    for (size_t i = 0; i < g->shared.n; i++)
        vec_push(r->s, &names, sym_text(r->s, var_name(g, g->shared.p[i])));
    const char *near = str_nearest(r->s, text, names.p, names.n);
    fail(r->s, at, code, "the graph has no input %s", text);
    if (near) note(r->s, NOWHERE, "did you mean %s?", near);
    vec_free(&names);
    return false;
}

/* The type for compiling a VALUE: iterated values have an additional axis, or a longer
 * first one. */
static const Type *feed_type(GraphRun *r, size_t i) {
    const Type *t = var_type(r->g, r->g->inputs.p[i]);
    Dim dim[MAX_NDIM + 1] = {DIM_UNKNOWN};
    if (!r->feed[i].each || t->kind != TYPE_TENSOR) return t;
    int skip = r->spec->series.batch ? 1 : 0, n = t->ndim + 1 - skip;
    if (n > MAX_NDIM || t->ndim < skip) return t;
    for (int k = skip; k < t->ndim; k++)
        dim[k + 1 - skip] = t->dim[k];
    return type_tensor(r->s, t->dtype, n, dim);
}

static bool feed_one_value(GraphRun *r, Span text) {
    Span name, value;
    Graph *g = r->g;
    value_split_name(r->s, text, &name, &value);
    const char *p = arena_str(r->a, source_get(r->s, name.source)->text + name.begin,
                              name.end - name.begin);
    Sym y = sym_find(r->s, p, strlen(p));
    for (size_t i = 0; y && i < g->inputs.n; i++) {
        if (var_leafrec(g, g->inputs.p[i])->name != y) continue;
        if (r->feed[i].given) return fail(r->s, name, E_USAGE, "%s is given twice", p);
        r->feed[i].given = true;
        if (!r->part.on || !r->part.cut[i])
            return value_compile(r->s, value, feed_type(r, i), r->spec->filter, p,
                                 &r->feed[i].value);
        ValueRows rows = grun_part_rows(r);
        return value_compile_rows(r->s, value, feed_type(r, i), r->spec->filter, p,
                                  &rows, &r->feed[i].value) &&
               grun_note_rows(r, i, &rows);
    }
    for (size_t i = 0; y && i < g->shared.n; i++) {
        if (var_leafrec(g, g->shared.p[i])->name != y) continue;
        Value v = {0};
        bool ok = value_compile(r->s, value, var_type(g, g->shared.p[i]),
                                r->spec->filter, p, &v) &&
                  grun_note_shared(r, p, &v) && vm_set_shared(r->m, i, &v);
        value_unref(&v);
        return ok;
    }
    return grun_no_input(r, E_UNKNOWN, name, p);
}

static bool mark_each(GraphRun *r) {
    if (!r->spec->series.each) return true;
    VarList v;
    if (!names_find_vars(r->g, r->a, r->spec->series.each_at, &v)) return false;
    for (size_t k = 0; k < v.n; k++) {
        size_t i = 0;
        while (i < r->g->inputs.n && r->g->inputs.p[i] != v.p[k])
            i++;
        if (i == r->g->inputs.n)
            return fail(r->s, r->spec->series.each_at, E_USAGE,
                        "--each takes inputs, but %s is not one",
                        sym_text(r->s, var_name(r->g, v.p[k])));
        r->feed[i].each = true;
    }
    return true;
}

/* --seed: each random input without a value starts a stream of its own. */
static bool seed_inputs(GraphRun *r) {
    for (size_t i = 0; i < r->g->inputs.n; i++) {
        if (r->feed[i].given || r->spec->seed < 0 ||
            var_type(r->g, r->g->inputs.p[i])->kind != TYPE_RANDOM)
            continue;
        Rng rng = {.seed = (uint64_t)r->spec->seed, .stream = i};
        r->feed[i].value.kind = TYPE_RANDOM;
        if (!rng_to_tensor(r->s, &rng, &r->feed[i].value.t)) return false;
        r->feed[i].given = true;
    }
    return true;
}

/* What outputs and effects need: the rest of what is live is there for the updates. */
static const uint8_t *needed_without_updates(GraphRun *r) {
    const Graph *g = r->ready;
    uint8_t *need = NEW_N(r->a, g->nvar, uint8_t);
    for (size_t i = 0; i < g->outputs.n; i++)
        need[g->outputs.p[i].var] = 1;
    VarList effect = graph_roots(g, r->a, ROOTS_EFFECTS);
    for (size_t i = 0; i < effect.n; i++)
        need[effect.p[i]] = 1;
    graph_spread_needs(g, 0, need);
    return need;
}

/* Names the missing inputs that a run without updates could do without. */
static void note_needed_by_updates(GraphRun *r, const uint8_t *live, size_t missing) {
    const uint8_t *need = needed_without_updates(r);
    Str list = STR(r->s);
    size_t n = 0;
    for (size_t i = 0; i < r->g->inputs.n; i++) {
        Var v = r->ready->inputs.p[i];
        if (r->feed[i].given || !live[v] || need[v]) continue;
        str_printf(&list, "%s%s", n++ ? ", " : "",
                   sym_text(r->s, var_name(r->g, r->g->inputs.p[i])));
    }
    if (n)
        note(r->s, NOWHERE,
             "only the updates need %s: --no-updates runs the graph without them",
             n < missing ? str_text(&list)
             : n > 1     ? "them"
                         : "it");
    str_free(&list);
}

/* Inputs without a value, if a random one is wanted and their type fixes its size. */
static bool draw_inputs(GraphRun *r, const uint8_t *live) {
    for (size_t i = 0; r->spec->draw && i < r->g->inputs.n; i++) {
        const Type *t = var_type(r->g, r->g->inputs.p[i]);
        Rng rng = {.seed = (uint64_t)r->spec->seed, .stream = i};
        if (r->feed[i].given || !live[r->ready->inputs.p[i]] || !random_sizes_known(t))
            continue;
        if (!random_value(r->s, t, rng, &r->feed[i].value)) return false;
        r->feed[i].given = r->feed[i].drawn = true;
    }
    return true;
}

static bool all_given(GraphRun *r, const uint8_t *live) {
    Str list = STR(r->s);
    size_t missing = 0;
    const char *first = "";
    bool state = false; /* is the first one a random state? */
    for (size_t i = 0; i < r->g->inputs.n; i++) {
        if (r->feed[i].given || !live[r->ready->inputs.p[i]]) continue;
        const char *name = sym_text(r->s, var_name(r->g, r->g->inputs.p[i]));
        str_printf(&list, "%s%s: %s", missing ? ", " : "", name,
                   type_str(r->s, var_type(r->g, r->g->inputs.p[i])));
        if (missing++) continue;
        first = name;
        state = var_type(r->g, r->g->inputs.p[i])->kind == TYPE_RANDOM;
    }
    if (missing) {
        fail(r->s, NOWHERE, E_MISSING, "missing input%s %s", missing > 1 ? "s" : "",
             str_text(&list));
        note_needed_by_updates(r, live, missing);
        if (state)
            note(r->s, NOWHERE,
                 "--seed 1 sets every random state that is missing, %s='rng(1)' this "
                 "one",
                 first);
        else
            note(r->s, NOWHERE,
                 "give values as %s=VALUE, for example %s=@%s.npy or %s=1.5", first,
                 first, first, first);
        if (r->spec->draw)
            note(r->s, NOWHERE,
                 "or fix the sizes with --dim NAME=SIZE: the values are then drawn at "
                 "random");
    }
    str_free(&list);
    return missing == 0;
}

/* Lines give what is missing. */
static bool open_lines(GraphRun *r, const uint8_t *live) {
    bool *missing = NEW_N(r->a, r->g->inputs.n, bool);
    for (size_t i = 0; i < r->g->inputs.n; i++)
        missing[i] = !r->feed[i].given && live[r->ready->inputs.p[i]];
    return grun_open_lines(r, missing);
}

bool grun_given(GraphRun *r) {
    for (size_t i = 0; i < r->spec->values.n; i++)
        if (!feed_one_value(r, r->spec->values.text[i])) return false;
    return true;
}

bool grun_values(GraphRun *r) {
    if (!mark_each(r)) return false;
    for (size_t i = 0; r->part.on && i < r->g->inputs.n; i++)
        r->part.cut[i] |= r->feed[i].each;
    if (!grun_given(r) || !seed_inputs(r)) return false;
    const uint8_t *live = graph_live(r->ready, r->a, ROOTS_RUN);
    if (r->spec->lines && !open_lines(r, live)) return false;
    if (!draw_inputs(r, live) || (!r->lines && !all_given(r, live)) ||
        !grun_ranks_inputs(r))
        return false;
    for (size_t i = 0; i < r->g->inputs.n; i++)
        if (r->feed[i].given && !r->feed[i].each &&
            !vm_set_input(r->m, i, &r->feed[i].value))
            return false;
    return true;
}
