/* grewrite: simplify, stabilise, fuse. */
#include "cli/cli.h"
#include "tools/tools.h"

#include <stdio.h>
#include <string.h>

typedef struct Grewrite {
    Common common;
    Texts include, exclude, require, rules, replace, reap, plant, harvest, allow, block;
    Texts dim;
    int mode;
    bool list, explain, profile;
    int64_t verify;
    const char *bisect, *diff, *keep, *prove, *reduce, *why;
    double cmd_timeout, search;
    int64_t search_nodes;
    const char *parallel;
    int64_t shards;
} Grewrite;
#define AT(field) offsetof(Grewrite, field)

static const Opt options[] = {
    {"mode", 0, OPT_ENUM, AT(mode), "unset|FAST_RUN|FAST_COMPILE|STABILIZE|NONE",
     "Which rewrites to apply (default FAST_RUN; NONE with --replace, --keep, --reap, "
     "--plant or --harvest, unless an option asks for rewriting).",
     NULL, GROUP_WORK},
    {"include", 0, OPT_LIST, AT(include), "NAME",
     "Add the rewrites with this tag or name; commas separate several.", "rules",
     GROUP_WORK},
    {"exclude", 0, OPT_LIST, AT(exclude), "NAME",
     "Exclude the rewrites with this tag or name.", "rules", GROUP_WORK},
    {"require", 0, OPT_LIST, AT(require), "NAME",
     "Apply only the rewrites with this tag.", "rules", GROUP_WORK},
    {"rules", 0, OPT_FILES, AT(rules), "FILE", "Add the rewrite rules of a file.", NULL,
     GROUP_INPUT},
    {"search", 0, OPT_TIME, AT(search), "SECONDS",
     "First search for a cheaper form among all that rules reach, also in other orders "
     "of sums and products, for so long at most.",
     NULL, GROUP_WORK},
    {"search-nodes", 0, OPT_INT, AT(search_nodes), "N",
     "With --search: stop when the search has N terms (default 200000).", NULL,
     GROUP_WORK},
    {"parallel", 0, OPT_NAMES, AT(parallel), "NAMES",
     "Split the leading axis of these inputs into shards, for the ranks of mpirun: "
     "sums "
     "over rows become sums of shards and ranks.",
     "graph", GROUP_WORK},
    {"shards", 0, OPT_INT, AT(shards), "N",
     "With --parallel: the number of shards, a power of two (default 64); results "
     "don't "
     "depend on how many ranks share them.",
     NULL, GROUP_WORK},
    {"dim", 0, OPT_LIST, AT(dim), "NAME=SIZE",
     "With --search: the size of a named dim, for the costs (default 1000).", NULL,
     GROUP_WORK},
    {"list", 0, OPT_FLAG, AT(list), NULL,
     "List the rules and passes with their positions and tags.", NULL, GROUP_OUTPUT},
    {"explain", 0, OPT_FLAG, AT(explain), NULL,
     "Print each replacement to standard error: rule, before, after; with -O html, "
     "write "
     "a page that shows the graph after each.",
     NULL, GROUP_OUTPUT},
    {"profile", 0, OPT_FLAG, AT(profile), NULL,
     "Print to standard error the time, the uses and the nodes of each rule.", NULL,
     GROUP_OUTPUT},
    {"verify", 0, OPT_INT, AT(verify), "N",
     "Compare the graphs before and after in N random runs; NAME=VALUE operands set "
     "inputs.",
     NULL, GROUP_OUTPUT},
    {"bisect", 0, OPT_STR, AT(bisect), "CMD",
     "Find the first replacement after which CMD fails; CMD gets the graph on standard "
     "input.",
     NULL, GROUP_OUTPUT},
    {"why", 0, OPT_STR, AT(why), "RULE[@NAME]",
     "Print why a rule did not fire at the variable NAME, or anywhere: how much of its "
     "left side matched, what stood in its way.",
     "rules", GROUP_OUTPUT},
    {"prove", 0, OPT_MAYBE, AT(prove), "RULE",
     "Read no graph, but decide whether a rule, those with a tag, those of --rules, or "
     "all of the library are true: a certificate or a counter-example each.",
     "rules", GROUP_OUTPUT},
    {"reduce", 0, OPT_STR, AT(reduce), "CMD",
     "Write the smallest graph found for which CMD fails as it does for this one; CMD "
     "gets the graph on standard input.",
     NULL, GROUP_WORK},
    {"cmd-timeout", 0, OPT_FLOAT, AT(cmd_timeout), "S",
     "With --reduce: kill CMD after S seconds, which is then no failure.", NULL,
     GROUP_WORK},
    {"diff", 0, OPT_FILE, AT(diff), "FILE",
     "Only compare with another graph, ignoring names; exit 1 at the first Apply that "
     "differs. With -O html, write a page that shows both.",
     NULL, GROUP_OUTPUT},
    {"replace", 0, OPT_LIST, AT(replace), "NAME=EXPR",
     "Replace a variable by an expression of the same type.", "graph", GROUP_WORK},
    {"keep", 0, OPT_NAMES, AT(keep), "NAMES",
     "Keep only these outputs; updates are dropped unless `updates' is listed.",
     "graph", GROUP_WORK},
    {"reap", 0, OPT_LIST, AT(reap), "TAG",
     "Turn the values sown under a tag into outputs TAG/NAME; TAG/NAME selects one.",
     NULL, GROUP_WORK},
    {"plant", 0, OPT_LIST, AT(plant), "TAG/NAME[=VALUE]",
     "Replace a sown value by VALUE, or by a new input NAME.", NULL, GROUP_WORK},
    {"harvest", 0, OPT_LIST, AT(harvest), "TAG",
     "Reap everything of a tag that isn't planted; the same as --reap TAG.", NULL,
     GROUP_WORK},
    {"allow", 0, OPT_LIST, AT(allow), "NAMES",
     "Reap and plant only these names or scopes.", NULL, GROUP_WORK},
    {"block", 0, OPT_LIST, AT(block), "NAMES",
     "Don't reap or plant these names or scopes.", NULL, GROUP_WORK},
    OPSET_OPTION(Grewrite),
};

static bool print_replacement(void *ctx, const RewriteEvent *e) {
    Str text = STR(e->g->s);
    event_text(ctx, e, &text);
    fprintf(stderr, "%u %s: %s\n", e->number, e->rule, str_text(&text));
    str_free(&text);
    return true;
}

static void show_profile(Session *s, const RewriteResult *q) {
    fprintf(stderr, "%s in %s, %s before, %zu after\n",
            str_counted(s, q->fired, "replacement"), str_counted(s, q->sweeps, "sweep"),
            str_counted(s, q->before, "apply"), q->after);
    fprintf(stderr, "%10s %10s %10s %8s  %s\n", "time_us", "tried", "fired", "nodes",
            "rule");
    double rest = q->seconds - q->copying;
    for (size_t i = 0; i < q->nprofile; i++) {
        const RewriteProfile *p = &q->profile[i];
        if (!p->tried) continue;
        rest -= p->seconds;
        fprintf(stderr, "%10.1f %10llu %10llu %+8lld  %s\n", p->seconds * 1e6,
                (unsigned long long)p->tried, (unsigned long long)p->fired,
                (long long)p->nodes, p->name);
    }
    fprintf(stderr, "%10.1f %10u %10s %8s  %s\n", q->copying * 1e6, q->copies, "", "",
            "(copying the graph)");
    fprintf(stderr, "%10.1f %10s %10s %8s  %s\n", rest * 1e6, "", "", "",
            "(visiting Applies)");
}

static bool list_rewrites(Run *r, const RewriteQuery *q) {
    const RewriteEntry *e;
    size_t n;
    Str text = STR(r->s);
    if (!rewrite_list(r->s, q, &e, &n)) return false;
    for (size_t i = 0; i < n; i++)
        str_printf(&text, "%7.2f  %-24s %-34s %s\n", e[i].position, e[i].name,
                   e[i].tags, e[i].text);
    bool ok = run_print(r, &text);
    str_free(&text);
    return ok;
}

static RewriteQuery rewrite_query(Run *r, const Grewrite *o) {
    static const char *const modes[] = {"FAST_RUN", "FAST_RUN", "FAST_COMPILE",
                                        "STABILIZE", "NONE"};
    RewriteQuery q = {.mode = modes[o->mode]};
    q.ninclude = run_names(r, &o->include, &q.include);
    q.nexclude = run_names(r, &o->exclude, &q.exclude);
    q.nrequire = run_names(r, &o->require, &q.require);
    const char **files = NEW_N(session_arena(r->s), o->rules.n, const char *);
    for (size_t i = 0; i < o->rules.n; i++)
        files[q.nrules++] = o->rules.p[i].p;
    q.rules = files;
    return q;
}

/* The page is of use above all where the verdict is no. */
static bool print_diff(Run *r, const Graph *g, const Graph *other, const char *path,
                       const char *with) {
    if (!run_wants_format(r->common, IO_HTML)) return true;
    Str page = STR(r->s);
    const char *const names[2] = {path ? path : "standard input", with};
    bool ok = graph_diff_page(g, other, names, &page) && run_print(r, &page);
    str_free(&page);
    return ok;
}

static bool compare_with_file(Run *r, Graph *g, const char *path, const char *with) {
    Graph *other = run_read(r, with);
    bool same = other && graph_check(other) && print_diff(r, g, other, path, with) &&
                graph_diff(g, other);
    graph_free(other);
    return same;
}

static bool print_why(Run *r, Graph *g, const Grewrite *o, const Rewriting *w) {
    const char *at = strchr(o->why, '@');
    size_t n = at ? (size_t)(at - o->why) : strlen(o->why);
    Str text = STR(r->s);
    RewriteWhy why = {.rule = arena_str(session_arena(r->s), o->why, n),
                      .report = &text};
    RewriteOptions how = w->how;
    Var v;
    if (at &&
        !names_find_var(g, at + 1, strlen(at + 1), run_text(r, "--why", o->why), &v))
        return false;
    if (at) why.at = sym(r->s, at + 1);
    how.why = &why;
    Graph *after = rewrite_run(g, &how, NULL);
    bool ok = after && run_print(r, &text);
    graph_free(after);
    str_free(&text);
    return ok;
}

static bool prove_rules(Run *r, const Grewrite *o, const RewriteQuery *q) {
    Str text = STR(r->s);
    if (o->common.operands.n)
        return fail(r->s, o->common.operands.p[0].at, E_USAGE,
                    "--prove reads no graph and takes no values");
    bool json = run_wants_format(r->common, IO_JSON);
    if (o->common.format >= 0 && !json)
        return fail(r->s, NOWHERE, E_USAGE,
                    "--prove prints text, or json with -O json");
    bool ok = grewrite_prove(r->s, q, o->prove, json, &text);
    if (text.n) ok = run_print(r, &text) && ok;
    str_free(&text);
    return ok;
}

static bool bisect_rewrites(Run *r, Graph *g, const Rewriting *w) {
    Str text = STR(r->s);
    bool ok = graph_bisect(g, w, &text);
    if (text.n) ok = run_print(r, &text) && ok;
    str_free(&text);
    return ok;
}

/* A signal ends the search, not the program: what was found so far is written. */
static bool reduce_and_write(Run *r, const Grewrite *o, Graph **g) {
    atomic_int stop = 0;
    Reducing how = {.command = o->reduce, .seconds = o->cmd_timeout, .stop = &stop};
    r->stop = &stop;
    bool ok = graph_reduce(g, &how);
    r->stop = NULL;
    r->stopped_by = atomic_load(&stop);
    return ok && run_write(r, *g);
}

/* A signal ends this search, too. */
static Graph *search_and_rewrite(Run *r, const Grewrite *o, Graph *g,
                                 const Rewriting *w, RewriteResult *result) {
    enum { NODES = 200000 };
    Str report = STR(r->s);
    Span *dim = NEW_N(session_arena(r->s), o->dim.n, Span);
    for (size_t i = 0; i < o->dim.n; i++)
        dim[i] = o->dim.p[i].at;
    atomic_int stop = 0;
    Searching how = {.seconds = o->search,
                     .stop = &stop,
                     .nodes = o->search_nodes ? (uint32_t)o->search_nodes : NODES,
                     .ndim = o->dim.n,
                     .dim = dim,
                     .explain = o->explain,
                     .report = o->explain || o->profile ? &report : NULL};
    r->stop = &stop;
    Graph *after = graph_search(g, &w->how, &how, result);
    r->stop = NULL;
    r->stopped_by = atomic_load(&stop);
    if (after) fputs(str_text(&report), stderr);
    str_free(&report);
    return after;
}

/* --explain -O html: the steps instead of the result. */
static bool rewrite_and_show(Run *r, const Grewrite *o, Graph *g, Rewriting *w,
                             const Values *given) {
    RewriteResult result;
    StepsPage *x = steps_page_new(r->s, g->name ? sym_text(r->s, g->name) : "graph");
    Str page = STR(r->s);
    w->how.explain = steps_page_event;
    w->how.ctx = x;
    Graph *after = rewrite_run(g, &w->how, &result);
    if (after && o->profile) show_profile(r->s, &result);
    bool ok = after &&
              (!o->verify || graph_verify(g, after, given, (uint64_t)o->verify)) &&
              steps_page_finish(x, after, &page) && run_print(r, &page);
    graph_free(after);
    steps_page_free(x);
    str_free(&page);
    return ok;
}

/* Simplified, then split, then simplified again and fused: what is fused before can't
 * be split. */
static Graph *split_and_rewrite(Run *r, const Grewrite *o, Graph *g, const Rewriting *w,
                                RewriteResult *result) {
    Arena *a = session_arena(r->s);
    ParallelOptions how = {.shards = o->shards ? o->shards : 64};
    RewriteOptions first = w->how;
    const char **exclude = NEW_N(a, first.query.nexclude + 2, const char *);
    for (size_t i = 0; i < first.query.nexclude; i++)
        exclude[i] = first.query.exclude[i];
    exclude[first.query.nexclude++] = "fusion";
    exclude[first.query.nexclude++] = "row-blocks";
    first.query.exclude = exclude;
    Graph *plain = rewrite_run(g, &first, NULL);
    if (!plain) return NULL;
    Span at = run_text(r, "--parallel", o->parallel);
    bool ok = names_find_vars(plain, a, at, &how.inputs);
    Graph *split = ok ? rewrite_parallel(plain, &how) : NULL;
    graph_free(plain);
    Graph *after = split ? rewrite_run(split, &w->how, result) : NULL;
    graph_free(split);
    return after;
}

/* Keeps only one graph where no option compares the two. */
static bool rewrite_and_write(Run *r, const Grewrite *o, Graph **g, const Rewriting *w,
                              const Values *given) {
    RewriteResult result;
    RewriteOptions how = w->how;
    how.takes_graph = !o->verify && !o->parallel && !(o->search > 0);
    Graph *after = o->search > 0 ? search_and_rewrite(r, o, *g, w, &result)
                   : o->parallel ? split_and_rewrite(r, o, *g, w, &result)
                                 : rewrite_run(*g, &how, &result);
    if (how.takes_graph) *g = NULL;
    if (!after) return false;
    if (o->profile) show_profile(r->s, &result);
    bool ok = !o->verify || graph_verify(*g, after, given, (uint64_t)o->verify);
    ok = ok && run_write(r, after);
    graph_free(after);
    return ok;
}

static const Span *collect_spans(Run *r, const Texts *a, const Texts *b) {
    Span *at = NEW_N(session_arena(r->s), a->n + b->n, Span);
    for (size_t i = 0; i < a->n + b->n; i++)
        at[i] = i < a->n ? a->p[i].at : b->p[i - a->n].at;
    return at;
}

static Harvesting harvest_request(Run *r, const Grewrite *o) {
    static const Texts none = {0};
    return (Harvesting){.nreap = o->reap.n + o->harvest.n,
                        .reap = collect_spans(r, &o->reap, &o->harvest),
                        .nplant = o->plant.n,
                        .plant = collect_spans(r, &o->plant, &none),
                        .nallow = o->allow.n,
                        .allow = collect_spans(r, &o->allow, &none),
                        .nblock = o->block.n,
                        .block = collect_spans(r, &o->block, &none),
                        .filter = {.allow_downcast = -1}};
}

/* Does the command line transform the graph without asking for a rewrite? */
static bool only_transforms(const Grewrite *o) {
    bool transforms =
        o->replace.n || o->keep || o->reap.n || o->plant.n || o->harvest.n;
    bool rewrites = o->mode || o->include.n || o->exclude.n || o->require.n ||
                    o->rules.n || o->explain || o->profile || o->verify || o->bisect ||
                    o->reduce || o->why || o->search > 0 || o->parallel;
    return transforms && !rewrites;
}

static bool shows_steps(const Run *r) {
    const Grewrite *o = (const Grewrite *)r->common;
    return o->explain && run_wants_format(r->common, IO_HTML);
}

static bool search_agrees(Run *r, const Grewrite *o) {
    Session *s = r->s;
    if (!(o->search >= 0))
        return fail(s, NOWHERE, E_USAGE, "--search can't be negative");
    if (o->search_nodes < 0 || o->search_nodes > UINT32_MAX / 2)
        return fail(s, NOWHERE, E_USAGE, "--search-nodes must be from 1 to %u",
                    UINT32_MAX / 2);
    if (o->search > 0 && (o->bisect || o->reduce || o->why || o->diff || o->list))
        return fail(s, NOWHERE, E_USAGE,
                    "--search doesn't go with --bisect, --reduce, --why, --diff and "
                    "--list");
    if (o->search > 0 && shows_steps(r))
        return fail(s, NOWHERE, E_USAGE,
                    "--explain -O html shows the steps of rules and passes: leave "
                    "--search out");
    if (!(o->search > 0) && (o->search_nodes || o->dim.n))
        return fail(s, NOWHERE, E_USAGE, "%s needs --search SECONDS",
                    o->dim.n ? "--dim" : "--search-nodes");
    return true;
}

static bool parallel_agrees(Run *r, const Grewrite *o) {
    if (o->shards && !o->parallel)
        return fail(r->s, NOWHERE, E_USAGE, "--shards needs --parallel NAMES");
    if (o->shards < 0 || o->shards > REWRITE_SHARDS || (o->shards & (o->shards - 1)))
        return fail(r->s, NOWHERE, E_USAGE,
                    "--shards must be a power of two, up to %d, not %lld",
                    REWRITE_SHARDS, (long long)o->shards);
    if (o->parallel && (o->search > 0 || o->bisect || o->reduce || o->why || o->diff))
        return fail(
            r->s, NOWHERE, E_USAGE,
            "--parallel doesn't go with --search, --bisect, --reduce, --why and "
            "--diff");
    return true;
}

static bool grewrite_run(Run *r) {
    const Grewrite *o = (const Grewrite *)r->common;
    EventText text = {0};
    Rewriting w = {.how = {.query = rewrite_query(r, o),
                           .profile = o->profile,
                           .explain = o->explain ? print_replacement : NULL,
                           .ctx = &text},
                   .bisect = o->bisect,
                   .keep = o->keep,
                   .nreplace = o->replace.n,
                   .harvest = harvest_request(r, o)};
    Span *at = NEW_N(session_arena(r->s), o->replace.n, Span);
    for (size_t i = 0; i < o->replace.n; i++)
        at[i] = o->replace.p[i].at;
    w.replace = at;
    if (o->keep) w.keep_at = run_text(r, "--keep", o->keep);
    if (o->cmd_timeout != 0 && !o->reduce)
        return fail(r->s, NOWHERE, E_USAGE, "--cmd-timeout needs --reduce CMD");
    if (!(o->cmd_timeout >= 0))
        return fail(r->s, NOWHERE, E_USAGE, "--cmd-timeout can't be negative");
    if (o->reduce && o->bisect)
        return fail(r->s, NOWHERE, E_USAGE,
                    "--reduce and --bisect can't be given together");
    if (o->verify < 0)
        return fail(r->s, NOWHERE, E_USAGE, "--verify can't be negative");
    if (!search_agrees(r, o) || !parallel_agrees(r, o)) return false;
    r->no_graph = o->list || o->diff || o->bisect || o->why || o->prove;
    if (o->prove) return prove_rules(r, o, &w.how.query);
    if (!rewrite_warn_of_hidden(r->s, &w.how.query)) return false;
    if (o->list) return list_rewrites(r, &w.how.query);
    const char *path;
    Values given;
    if (!run_operands(r, o->verify > 0, &path, &given)) return false;
    if (!o->diff && !only_transforms(o)) rewrite_prepare(r->s);
    Graph *g = run_read(r, path);
    if (!g) return false;
    bool ok = graph_check(g);
    if (ok && o->diff)
        ok = compare_with_file(r, g, path, o->diff);
    else if (ok)
        ok = graph_prepare(&g, &w) &&
             (only_transforms(o) ? run_write(r, g)
              : o->why           ? print_why(r, g, o, &w)
              : o->reduce        ? reduce_and_write(r, o, &g)
              : o->bisect        ? bisect_rewrites(r, g, &w)
              : shows_steps(r)   ? rewrite_and_show(r, o, g, &w, &given)
                                 : rewrite_and_write(r, o, &g, &w, &given));
    event_text_close(&text);
    graph_free(g);
    return ok;
}

static const Tool tool = {
    .name = "grewrite",
    .brief = "rewrite tensor graphs: simplify, stabilise, fuse",
    .operands = "[FILE] [NAME=VALUE...]",
    .work = "Rewriting",
    .examples = "grewrite model.yaml --explain -o fast.tlg\n"
                "grewrite model.yaml --verify 5 -O math\n"
                "grewrite model.yaml --replace 'loss = 2 * mean(e)' -o other.tlg\n",
    .formats = IO_FORMAT_NAMES,
    .opt = options,
    .nopt = sizeof options / sizeof *options,
    .settings = sizeof(Grewrite),
    .writes_graph = true,
    .run = grewrite_run};

int main(int argc, char **argv) {
    return tool_main(&tool, argc, argv);
}
