/* gload's edits: definitions, inputs, updates, outputs, values, names, dims. Edits that
 * only add are appended to the graph; after a leaf's type changes, every type is
 * inferred again (retype.h). */
#include "lang/approx.h"
#include "lang/expr.h"
#include "op/rowwise.h"
#include "tools/retype.h"
#include "value/class.h"

#include <string.h>

static const char *at_text(Session *s, Span at) {
    return source_get(s, at.source)->text + at.begin;
}

/* The name before `=` or `:`, without blanks; false: no sign. */
static bool split_at_sign(Session *s, Span text, char sep, Span *name, Span *rest) {
    const char *p = source_get(s, text.source)->text;
    uint32_t i = text.begin;
    while (i < text.end && p[i] != sep)
        i++;
    *name = (Span){text.source, text.begin, i};
    *rest = (Span){text.source, i + 1, text.end};
    while (name->begin < name->end && p[name->begin] == ' ')
        name->begin++;
    while (name->end > name->begin && p[name->end - 1] == ' ')
        name->end--;
    while (rest->begin < rest->end && p[rest->begin] == ' ')
        rest->begin++;
    while (rest->end > rest->begin && p[rest->end - 1] == ' ')
        rest->end--;
    return i < text.end && name->begin < name->end;
}

static bool find_span(Graph *g, Span name, Var *v) {
    return names_find_var(g, at_text(g->s, name), name.end - name.begin, name, v);
}

/* ---- edits that only add ---- */
/* "name = expression" defines; a bare expression is the output `out`. */
static bool is_definition(Session *s, Span text) {
    const char *p = source_get(s, text.source)->text;
    int depth = 0;
    for (uint32_t i = text.begin; i < text.end; i++) {
        if (strchr("([{", p[i]))
            depth++;
        else if (strchr(")]}", p[i]))
            depth--;
        else if (p[i] == '\'' || p[i] == '"')
            return false;
        else if (p[i] == '=' && !depth)
            return !(i + 1 < text.end && p[i + 1] == '=') &&
                   !(i > text.begin && strchr("<>!=", p[i - 1]));
    }
    return false;
}

/* "a", "a, b" and "a: type" before the sign: each name becomes an output, unless it is
 * a function. */
static bool add_targets(Session *s, Compiler *c, Span targets) {
    const char *p = source_get(s, targets.source)->text;
    for (uint32_t at = targets.begin; at < targets.end; at++) {
        Span name = {targets.source, at, at};
        while (at < targets.end && p[at] != ',' && p[at] != ':')
            at++;
        name.end = at;
        while (name.begin < name.end && p[name.begin] == ' ')
            name.begin++;
        while (name.begin < name.end && p[name.end - 1] == ' ')
            name.end--;
        if (!compiler_output_defined(c, name)) return false;
        if (at < targets.end && p[at] == ':') break;
    }
    return true;
}

/* Splits the first statement off `rest`: up to the end of a line outside brackets,
 * strings and comments. */
static Span next_statement(Session *s, Span *rest) {
    const char *p = source_get(s, rest->source)->text;
    Span one = *rest;
    uint32_t i = rest->begin;
    int depth = 0;
    char quote = 0;
    for (; i < rest->end && (depth > 0 || quote || p[i] != '\n'); i++) {
        if (quote)
            quote = p[i] == quote ? 0 : quote;
        else if (p[i] == '\'' || p[i] == '"')
            quote = p[i];
        else if (p[i] == '#')
            while (i + 1 < rest->end && p[i + 1] != '\n')
                i++;
        else
            depth += (strchr("([{", p[i]) != NULL) - (strchr(")]}", p[i]) != NULL);
    }
    one.end = i;
    rest->begin = i < rest->end ? i + 1 : i;
    return one;
}

/* Defined variables become outputs only if the graph has none. */
static bool add_expr_outputs(Graph *g, Compiler *c, const Edit *e) {
    Session *s = g->s;
    bool none = g->outputs.n == 0 && !e->outputs;
    for (size_t i = 0; i < e->nexpr; i++) {
        Span targets, rest;
        if (!is_definition(s, e->expr[i])) {
            if (!compiler_output(c, sym(s, "out"), e->expr[i])) return false;
            continue;
        }
        for (Span text = e->expr[i]; none && text.begin < text.end;) {
            Span one = next_statement(s, &text);
            if (!is_definition(s, one) || !split_at_sign(s, one, '=', &targets, &rest))
                continue;
            if (!add_targets(s, c, targets)) return false;
        }
    }
    return true;
}

static bool replace_update(Graph *g, Compiler *c, Span text) {
    Span name, rest;
    if (split_at_sign(g->s, text, '=', &name, &rest)) {
        Var w;
        if (!find_span(g, name, &w)) return false;
        for (size_t i = 0; i < g->updates.n; i++)
            if (g->updates.p[i].shared == w)
                memmove(&g->updates.p[i], &g->updates.p[i + 1],
                        (--g->updates.n - i) * sizeof *g->updates.p);
        graph_updates_changed(g);
    }
    return compiler_update(c, text);
}

/* The type of an undeclared name is a guess: note it when types don't fit. `guessed`:
 * the index of the first undeclared input. */
static void note_guesses(Graph *g, size_t guessed) {
    const Diag *d = diag_first_error(g->s);
    if (guessed >= g->inputs.n || !d) return;
    if (d->code != E_SHAPE && d->code != E_TYPE && d->code != E_DTYPE) return;
    Str names = STR(g->s);
    for (size_t i = guessed; i < g->inputs.n; i++)
        str_printf(&names, "%s%s", i > guessed ? ", " : "",
                   sym_text(g->s, var_name(g, g->inputs.p[i])));
    Var first = g->inputs.p[guessed];
    note(g->s, NOWHERE,
         "not declared, so %s: %s; to declare dims, write -i '%s: %s[n, m]'",
         type_str(g->s, var_type(g, first)), str_text(&names),
         sym_text(g->s, var_name(g, first)), type_str(g->s, var_type(g, first)));
    str_free(&names);
}

static bool append_parts(Graph *g, const Edit *e) {
    Builder b = builder(g, false);
    Compiler *c = compiler_new(&b);
    bool ok = true;
    io_allow_load(c, NULL);
    compiler_auto_inputs(c, e->auto_inputs);
    for (size_t i = 0; ok && i < e->ninput; i++)
        ok = io_add_input(c, e->input[i]);
    for (size_t i = 0; ok && i < e->nshared; i++)
        ok = io_add_shared(c, e->shared[i]);
    size_t declared = g->inputs.n;
    for (size_t i = 0; ok && i < e->nexpr; i++)
        if (is_definition(g->s, e->expr[i]))
            ok = compiler_define(c, e->expr[i], e->nexpr == 1);
    ok = ok && compiler_run(c) && add_expr_outputs(g, c, e);
    for (size_t i = 0; ok && i < e->nupdate; i++)
        ok = replace_update(g, c, e->update[i]);
    compiler_free(c);
    if (ok)
        graph_sweep(g);
    else if (e->auto_inputs)
        note_guesses(g, declared);
    return ok;
}

/* ---- names and outputs ---- */
static bool rename_one(Graph *g, Span text) {
    Session *s = g->s;
    Span old, new;
    Var v;
    if (!split_at_sign(s, text, '=', &old, &new))
        return fail(s, text, E_USAGE, "--rename takes OLD=NEW");
    if (!find_span(g, old, &v)) return false;
    Sym from = sym_n(s, at_text(s, old), old.end - old.begin),
        to = sym_n(s, at_text(s, new), new.end - new.begin);
    if (graph_find(g, from) != v && graph_find_alias(g, from) == v)
        from = var_name(g, v);
    if (from == to) return true;
    if (var_leaf(g, v) == LEAF_DIM)
        return fail(s, old, E_USAGE,
                    "%s is a dim, whose name is part of types: it can't be renamed",
                    sym_text(s, from));
    if (!compiler_check_var_name(s, new)) return false;
    if (graph_find(g, to) != VAR_NONE || graph_has_dim(g, to) ||
        graph_output(g, to) != VAR_NONE)
        return fail(s, new, E_DUPLICATE, "the graph already has a %s", sym_text(s, to));
    if (graph_find(g, from) == v)
        graph_rename(g, from, to);
    else if (graph_tree_leaf(g, from) == v)
        graph_name(g, v, to);
    for (size_t i = 0; i < g->outputs.n; i++)
        if (g->outputs.p[i].label == from) g->outputs.p[i].label = to;
    graph_outputs_changed(g);
    graph_unalias(g, v);
    return true;
}

static bool choose_outputs(Graph *g, Span list) {
    Outputs found = {0};
    bool ok = names_find_output_list(g, list, &found);
    if (ok) {
        g->outputs.n = 0;
        graph_outputs_changed(g);
    }
    for (size_t i = 0; ok && i < found.n; i++) {
        ok = graph_output(g, found.p[i].label) == VAR_NONE ||
             fail(g->s, list, E_DUPLICATE, "output %s is listed twice",
                  sym_text(g->s, found.p[i].label));
        vec_push(g->s, &g->outputs, found.p[i]);
    }
    vec_free(&found);
    return ok;
}

static Sym prefixed_name(Session *s, const char *prefix, Sym name) {
    Str text = STR(s);
    str_printf(&text, "%s%s", prefix, sym_text(s, name));
    Sym y = sym(s, str_text(&text));
    str_free(&text);
    return y;
}

static bool prefix_ok(Session *s, const char *prefix, Span *at) {
    Str name = STR(s);
    str_printf(&name, "%sx", prefix);
    uint32_t source = source_add(s, "--prefix", str_text(&name), name.n);
    *at = (Span){source, 0, (uint32_t)name.n};
    str_free(&name);
    bool ok = compiler_check_var_name(s, *at);
    at->end--;
    return ok;
}

/* Renames all at once: names are removed first, so that none collides with another. */
bool graph_prefix(Graph *g, const char *prefix) {
    Session *s = g->s;
    Span at;
    if (!prefix_ok(s, prefix, &at)) return false;
    size_t n = g->names.n;
    VarName *was = mem_alloc(s, (n + 1) * sizeof *was);
    for (size_t i = 0; i < n; i++)
        was[i] = g->names.p[i];
    graph_unname_all(g);
    for (size_t i = 0; i < n; i++) {
        Sym to = prefixed_name(s, prefix, was[i].name);
        LeafKind k = var_leaf(g, was[i].var);
        if (k == LEAF_INPUT || k == LEAF_SHARED) {
            Leaf *leaf = var_leafrec(g, was[i].var);
            if (leaf->name == was[i].name) leaf->name = to;
        }
        graph_name(g, was[i].var, to);
    }
    mem_free(was);
    for (size_t i = 0; i < g->trees.n; i++)
        g->trees.p[i].name = prefixed_name(s, prefix, g->trees.p[i].name);
    for (size_t i = 0; i < g->outputs.n; i++)
        g->outputs.p[i].label = prefixed_name(s, prefix, g->outputs.p[i].label);
    graph_outputs_changed(g);
    return graph_check_dims(g, at);
}

/* ---- edits that change leaves ---- */
/* "NAME=VALUE", or "@FILE" for all shared variables with names in a file. */
static bool set_value(Graph *g, Span text) {
    Session *s = g->s;
    Span name, value;
    Var v;
    const char *file = at_text(s, text);
    if (text.end - text.begin > 1 && *file == '@') {
        Arena *a = arena_new(s);
        bool ok = graph_set_shared(g, arena_str(a, file + 1, text.end - text.begin - 1),
                                   text);
        arena_free(a);
        return ok;
    }
    if (!split_at_sign(s, text, '=', &name, &value))
        return fail(s, text, E_USAGE, "--set takes NAME=VALUE or @FILE");
    if (!find_span(g, name, &v)) return false;
    if (var_leaf(g, v) != LEAF_SHARED)
        return fail(s, name, E_USAGE,
                    "--set takes shared variables, but %.*s is not one",
                    (int)(name.end - name.begin), at_text(s, name));
    Leaf *leaf = var_leafrec(g, v);
    Value new = {0};
    if (!value_compile(s, value, var_type(g, v), (Filter){.allow_downcast = -1},
                       sym_text(s, leaf->name), &new))
        return false;
    leaf = var_leafrec(g, v);
    value_unref(leaf->value);
    *leaf->value = new;
    leaf->init = VAR_NONE;
    return true;
}

/* --set axes=[1] of an input of a model that needs to know it while it is read. */
static bool fix_input(void *ctx, Session *s, const char *input, const Type *t, bool *is,
                      Value *out) {
    Edit *e = ctx;
    *is = false;
    for (size_t i = 0; i < e->nset && !*is; i++) {
        Span name, value;
        const char *text = at_text(s, e->set[i]);
        if (*text == '@' || !split_at_sign(s, e->set[i], '=', &name, &value)) continue;
        size_t n = name.end - name.begin;
        if (strlen(input) != n || memcmp(at_text(s, name), input, n) != 0) continue;
        *is = e->is_set[i] = true;
        return value_compile(s, value, t, (Filter){.allow_downcast = -1}, input, out);
    }
    return true;
}

ReadFix edit_fix(Edit *e) {
    return (ReadFix){fix_input, e};
}

static bool check_freezable(Graph *g, Var v, Span at) {
    if (var_leaf(g, v) != LEAF_SHARED)
        return fail(g->s, at, E_USAGE,
                    "--freeze takes shared variables, but %s is not one",
                    sym_text(g->s, var_name(g, v)));
    const Leaf *leaf = var_leafrec(g, v);
    const char *why = graph_update(g, v) != VAR_NONE
                          ? "has an update, so it is no constant"
                      : leaf->init != VAR_NONE || value_has_data(leaf->value)
                          ? NULL
                          : "has no value: --set gives it one";
    return !why ||
           fail(g->s, at, E_USAGE, "--freeze: %s %s", sym_text(g->s, leaf->name), why);
}

/* The leaf itself becomes a constant, which has the type of its value. */
static void freeze_leaf(Graph *g, Var v) {
    Leaf *leaf = var_leafrec(g, v);
    const Type *t = var_type(g, v);
    if (leaf->value->kind == TYPE_TENSOR && t->kind == TYPE_TENSOR)
        t = type_tensor(g->s, t->dtype, t->ndim, leaf->value->t.shape);
    g->var[v].leaf = LEAF_CONST;
    graph_retype_leaf(g, v, t);
    leaf->name = 0;
    size_t kept = 0;
    for (size_t i = 0; i < g->shared.n; i++)
        if (g->shared.p[i] != v) g->shared.p[kept++] = g->shared.p[i];
    g->shared.n = kept;
}

/* An initial value that is an expression is computed. */
static bool compute_initial(Graph *g, Var v) {
    Value value;
    Var init = var_leafrec(g, v)->init;
    if (init == VAR_NONE) return true;
    if (!services(g->s)->eval(g, 1, &init, &value)) return false;
    graph_give_shared(g, v, &value);
    return true;
}

static bool freeze_shared(Graph *g, const Edit *e) {
    Arena *a = arena_new(g->s);
    bool computed = false;
    VarList all = {g->shared.n, arena_copy(a, g->shared.p, g->shared.n * sizeof(Var))};
    bool ok = strcmp(e->freeze, "*") == 0 || names_find_vars(g, a, e->freeze_at, &all);
    for (size_t i = 0; ok && i < all.n; i++) {
        ok = check_freezable(g, all.p[i], e->freeze_at);
        computed |= ok && var_leafrec(g, all.p[i])->init != VAR_NONE;
        ok = ok && compute_initial(g, all.p[i]);
    }
    for (size_t i = 0; ok && i < all.n; i++)
        freeze_leaf(g, all.p[i]);
    arena_free(a);
    if (ok && computed)
        graph_compact(g, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED, NULL, false);
    return ok && graph_reinfer(g);
}

static bool simple_edits(Graph *g, const Edit *e) {
    for (size_t i = 0; i < e->nrename; i++)
        if (!rename_one(g, e->rename[i])) return false;
    for (size_t i = 0; i < e->nset; i++)
        if (!(e->is_set && e->is_set[i]) && !set_value(g, e->set[i])) return false;
    /* drop what only computed the replaced values */
    if (e->nset) graph_compact(g, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED, NULL, false);
    if (e->freeze && !freeze_shared(g, e)) return false;
    return !e->outputs || choose_outputs(g, e->outputs_at);
}

/* "y: rtol=1e-3" */
static bool compare_option(Graph *g, Span text) {
    Session *s = g->s;
    Span name, how;
    Var v;
    Approx approx;
    if (!split_at_sign(s, text, ':', &name, &how))
        return fail(s, text, E_USAGE, "--compare takes NAME: HOW");
    if (!find_span(g, name, &v) || !approx_read(s, how, &approx)) return false;
    graph_set_approx(g, v, approx);
    return true;
}

bool graph_edit(Graph *g, const Edit *e) {
    if (!append_parts(g, e) || !simple_edits(g, e)) return false;
    rowwise_settle(g);
    if ((e->ndim || e->nnarrow) && !graph_narrow(g, e)) return false;
    for (size_t i = 0; i < e->ncompare; i++)
        if (!compare_option(g, e->compare[i])) return false;
    return true;
}
