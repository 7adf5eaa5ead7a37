/* grewrite's work around the rewriter: replacing and pruning before it, bisecting and
 * comparing after it. */
#include "lang/expr.h"
#include "lang/print/print.h"
#include "op/convert.h"
#include "op/rowwise.h"
#include "tools/grewrite/command.h"
#include "tools/tools.h"

#include <string.h>

/* ---- --replace, --keep ---- */
static bool depends_on(const Graph *g, Var v, Var on) {
    uint8_t *need = mem_zalloc(g->s, g->nvar, 1);
    need[v] = 1;
    graph_spread_needs(g, 0, need);
    bool yes = need[on];
    mem_free(need);
    return yes;
}

static Graph *graph_forwarded(const Graph *g, Var old, Var new) {
    Var *forward = mem_zalloc(g->s, g->nvar, sizeof *forward);
    for (Var v = 0; v < g->nvar; v++)
        forward[v] = v;
    forward[old] = new;
    Graph *out = graph_copy(g, ROOTS_RUN | ROOTS_INIT, forward, false, NULL);
    mem_free(forward);
    return out;
}

static Span trimmed_span(const char *p, Span at) {
    while (at.begin < at.end && p[at.begin] == ' ')
        at.begin++;
    while (at.end > at.begin && p[at.end - 1] == ' ')
        at.end--;
    return at;
}

/* Splits "a = expression" at the sign. */
static bool split_replacement(Session *s, Span text, Span *name, Span *value) {
    const char *p = source_get(s, text.source)->text;
    uint32_t eq = text.begin;
    while (eq < text.end && p[eq] != '=')
        eq++;
    if (eq == text.end)
        return fail(s, text, E_USAGE, "--replace takes 'NAME = EXPRESSION'");
    *name = trimmed_span(p, (Span){text.source, text.begin, eq});
    *value = trimmed_span(p, (Span){text.source, eq + 1, text.end});
    return true;
}

/* Each name may occur once: afterwards it names the expression, which may be another
 * variable. */
static bool names_differ(Session *s, const Rewriting *r) {
    for (size_t i = 0; i < r->nreplace; i++)
        for (size_t k = 0; k <= i; k++) {
            Span a, b, value;
            if (!split_replacement(s, r->replace[i], &a, &value)) return false;
            if (k == i || !split_replacement(s, r->replace[k], &b, &value)) continue;
            const char *p = source_get(s, a.source)->text + a.begin,
                       *q = source_get(s, b.source)->text + b.begin;
            if (a.end - a.begin == b.end - b.begin &&
                memcmp(p, q, a.end - a.begin) == 0) {
                fail(s, a, E_DUPLICATE, "%.*s is replaced twice",
                     (int)(a.end - a.begin), p);
                return note(s, b, "first here");
            }
        }
    return true;
}

/* All users of `a` read the expression instead; a replaced input becomes an
 * intermediate. */
static bool replace_var(Graph **g, Span text) {
    Session *s = (*g)->s;
    const char *p = source_get(s, text.source)->text;
    Span name, value;
    Var old, new;
    if (!split_replacement(s, text, &name, &value)) return false;
    if (!names_find_var(*g, p + name.begin, name.end - name.begin, name, &old))
        return false;
    Builder b = builder(*g, true);
    Compiler *c = compiler_new(&b);
    bool ok = compiler_expr(c, value, var_type(*g, old), &new);
    compiler_free(c);
    if (!ok) return false;
    b.from.at = value;
    const char *what =
        arena_str(session_arena(s), p + name.begin, name.end - name.begin);
    new = type_filter_variable(&b, var_type(*g, old), new, what);
    if (new == VAR_NONE) return false;
    Graph *out = depends_on(*g, new, old) ? NULL : graph_forwarded(*g, old, new);
    if (!out)
        return fail(s, value, E_CYCLE, "the replacement depends on what it replaces");
    graph_free(*g);
    *g = out;
    return true;
}

/* Keeps only these outputs; updates are removed unless `updates` is in the list. */
static bool keep_outputs(Graph *g, const char *list, Span at) {
    Session *s = g->s;
    Arena *a = arena_new(s);
    char **part;
    size_t n = str_split(a, list, ',', &part);
    bool updates = false, ok = true;
    Outputs out = {0};
    for (size_t i = 0; ok && i < n; i++) {
        if (strcmp(part[i], "updates") == 0) {
            updates = true;
            continue;
        }
        Var labelled = graph_output(g, sym(s, part[i]));
        if (labelled != VAR_NONE)
            vec_push(s, &out, ((Output){sym(s, part[i]), labelled}));
        else
            ok = names_find_outputs(g, part[i], strlen(part[i]), at, &out);
    }
    if (ok) {
        g->outputs.n = 0;
        graph_outputs_changed(g);
        for (size_t i = 0; i < out.n; i++)
            vec_push(s, &g->outputs, out.p[i]);
        if (!updates) g->updates.n = 0;
        graph_updates_changed(g);
        rowwise_settle(g);
    }
    vec_free(&out);
    arena_free(a);
    return ok;
}

/* Drops what only the former outputs and sows needed. */
static void drop_unneeded(Graph *g) {
    graph_compact(g, ROOTS_RUN | ROOTS_INIT, NULL, false);
    graph_keep_called(g);
}

bool graph_prepare(Graph **g, const Rewriting *r) {
    if (!names_differ((*g)->s, r)) return false;
    for (size_t i = 0; i < r->nreplace; i++)
        if (!replace_var(g, r->replace[i])) return false;
    if ((r->keep && !keep_outputs(*g, r->keep, r->keep_at)) ||
        !graph_harvest(*g, &r->harvest))
        return false;
    if (r->keep || r->nreplace || r->harvest.nreap || r->harvest.nplant)
        drop_unneeded(*g);
    return true;
}

/* ---- --diff ---- */
bool graph_diff(Graph *a, Graph *b) {
    ApplyId at, bt;
    Str why = STR(a->s), text = STR(a->s);
    bool same = graph_equal(a, b, &at, &bt, &why);
    if (!same) {
        fail(a->s, NOWHERE, E_VERDICT, "the graphs differ: %s", str_text(&why));
        if (at != APPLY_NONE) {
            print_apply(a, at, &text);
            note(a->s, a->origin[at].at, "the first has %s", str_text(&text));
            str_clear(&text);
        }
        if (bt != APPLY_NONE) {
            print_apply(b, bt, &text);
            note(a->s, b->origin[bt].at, "the other has %s", str_text(&text));
        }
    }
    str_free(&why);
    str_free(&text);
    return same;
}

/* ---- --bisect ---- */
bool graph_try_command(Graph *g, const Command *c, CommandResult *end) {
    Str text = STR(g->s);
    WriteOptions form = {.format = IO_TLG, .no_provenance = true, .pack = true};
    Command with = *c;
    bool ok = io_text(g, &form, &text);
    with.in = str_text(&text);
    with.nin = text.n;
    ok = ok && command_run(g->s, &with, end);
    str_free(&text);
    return ok;
}

/* The verdict of CMD on the graph after `limit` replacements. */
static bool try_limit(Graph *g, const Rewriting *r, uint32_t limit, bool *passes,
                      uint32_t *fired) {
    RewriteOptions how = r->how;
    RewriteResult result;
    how.limit = limit;
    Graph *after = limit ? rewrite_run(g, &how, &result) : g;
    if (!after) return false;
    *fired = limit ? result.fired : 0;
    CommandResult end;
    bool ok = graph_try_command(after, &(Command){.text = r->bisect}, &end);
    *passes = ok && end.end == COMMAND_EXITED && end.status == 0;
    if (after != g) graph_free(after);
    return ok;
}

typedef struct BisectFound {
    uint32_t number;
    Str *report;
} BisectFound;

static bool describe_replacement(void *ctx, const RewriteEvent *e) {
    BisectFound *f = ctx;
    if (e->number != f->number) return true;
    EventText text = {0};
    str_printf(f->report, "replacement %u, %s: ", e->number, e->rule);
    event_text(&text, e, f->report);
    str_putc(f->report, '\n');
    event_text_close(&text);
    return true;
}

bool graph_bisect(Graph *g, const Rewriting *r, Str *report) {
    uint32_t all, fired;
    bool passes;
    if (!try_limit(g, r, 0, &passes, &fired)) return false;
    if (!passes)
        return fail(g->s, NOWHERE, E_VERDICT,
                    "the command fails already before any replacement");
    if (!try_limit(g, r, UINT32_MAX, &passes, &all)) return false;
    if (passes)
        return str_printf(report, "the command passes after all of %s\n",
                          str_counted(g->s, all, "replacement")),
               true;
    uint32_t good = 0, bad = all;
    while (bad - good > 1) {
        uint32_t mid = good + (bad - good) / 2;
        if (!try_limit(g, r, mid, &passes, &fired)) return false;
        if (passes)
            good = mid;
        else
            bad = mid;
    }
    BisectFound f = {bad, report};
    RewriteOptions how = r->how;
    RewriteResult result;
    how.limit = bad;
    how.explain = describe_replacement;
    how.ctx = &f;
    graph_free(rewrite_run(g, &how, &result));
    return fail(g->s, NOWHERE, E_VERDICT,
                "the command fails from replacement %u of %u on", bad, all);
}
