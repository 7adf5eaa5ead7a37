/* A run rewrites a private copy of the graph: first its functions, then the main graph,
 * each through the stages in order of position. Functions that are no longer called are
 * removed at the end. */
#include "rewrite/rewrite_impl.h"
#include "rewrite/scan/pass.h"
#include "rewrite/search/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double merge_position = 0;

typedef struct RewriteRun {
    Session *s;
    Database *db;
    const RewriteOptions *o;
    uint32_t number, fired, sweeps, epoch; /* epoch: the next one to use */
    bool merged;                           /* as a Rewriter's, of all graphs */
    double start, copying;                 /* seconds */
    uint32_t copies;
    Why *why;
    LoopBodies *bodies; /* while each graph is rewritten, inner ones first */
} RewriteRun;

static bool entry_takes_part(const DatabaseEntry *e, bool graph_pass) {
    bool is_graph = e->pass && e->pass->graph;
    return e->selected && is_graph == graph_pass &&
           (is_graph || e->rule || e->pass->node);
}

/* The first of the entries from `from` to before `end`. */
static const DatabaseEntry *find_entry(const Database *db, size_t from, size_t end,
                                       bool graph_pass) {
    for (size_t i = from; i < end; i++)
        if (entry_takes_part(&db->entry.p[i], graph_pass)) return &db->entry.p[i];
    return NULL;
}

static bool merge_is_selected(const Database *db) {
    for (size_t i = 0; i < db->entry.n; i++)
        if (db->entry.p[i].selected && db->entry.p[i].pub.position == merge_position &&
            db->entry.p[i].pass)
            return true;
    return false;
}

/* ---- one graph ---- */

static void compact_overlay(Rewriter *r) {
    ifelse_drop_effects(r);
    if (r->dirty) rewriter_compact(r);
}

/* `last`: no sweep follows. */
static bool run_graph_pass(Rewriter *r, const DatabaseEntry *e, bool last) {
    double start = clock_seconds() - r->copying; /* which isn't the pass's own */
    if (!stage_has_ops_of(r, e->pass) || (e->pass->worth && !e->pass->worth(r)))
        return true;
    bool compacts = last || !e->pass->forwards || !r->order.n;
    if (compacts) compact_overlay(r);
    if (last) rewriter_end_sweeps(r);
    uint32_t before = r->g->napply, fired = *r->number;
    size_t mark = diag_count(r->s);
    r->current = (size_t)(e - r->db->entry.p);
    r->b.intern = false;
    bool ok = e->pass->graph(r) && !diag_failed(r->s, mark);
    r->b.intern = true;
    bool changed = r->g->napply != before || *r->number != fired;
    r->dirty |= changed;
    r->settled &= !changed;
    r->merged &= !changed || e->pass->graph == fuse_pass;
    if (compacts || changed) compact_overlay(r);
    RewriteProfile *p = &r->db->entry.p[r->current].profile;
    p->tried++;
    p->nodes += (int64_t)r->g->napply - before;
    p->seconds += clock_seconds() - r->copying - start;
    return ok;
}

/* Cleaning entries take part in every stage; they get a stage of their own only if no
 * later one follows. */
static bool has_stage(const Database *db, size_t from, size_t end) {
    if (!find_entry(db, from, end, false)) return false;
    return db->entry.p[from].pub.position > CLEANING ||
           !find_entry(db, end, db->entry.n, false);
}

static bool run_stages(Rewriter *r, double from, double to) {
    const Database *db = r->db;
    size_t n = database_first(db, to), end;
    for (size_t i = database_first(db, from); i < n; i = end) {
        end = i + 1;
        while (end < n && db->entry.p[end].pub.position == db->entry.p[i].pub.position)
            end++;
        const DatabaseEntry *pass = find_entry(db, i, end, true);
        if (pass && !rewriter_limit_reached(r) &&
            !run_graph_pass(r, pass, !find_entry(db, i, n, false)))
            return false;
        if (has_stage(db, i, end) && !rewriter_limit_reached(r) &&
            !drive_stage(r, i, end))
            return false;
    }
    return true;
}

static void open_graph(RewriteRun *run, Rewriter *r, Graph *g) {
    rewriter_open(r, g, run->db, run->o, &run->number, FOR_SWEEPS);
    r->epoch = run->epoch;
    r->why = run->why;
    r->bodies = run->bodies;
    r->merged = run->merged;
}

static bool close_graph(RewriteRun *run, Rewriter *r, bool ok) {
    if (ok) compact_overlay(r);
    graph_trim(r->g);
    run->fired += r->fired;
    run->sweeps += r->sweeps;
    run->merged = r->merged;
    run->copying += r->copying;
    run->copies += r->copies;
    run->epoch = r->epoch + 1;
    rewriter_close(r);
    return ok;
}

static bool rewrite_one_graph(RewriteRun *run, Graph *g, double from, double to) {
    Rewriter r;
    if (from == 0) graph_make_room(g); /* later stages add little */
    open_graph(run, &r, g);
    return close_graph(run, &r, run_stages(&r, from, to));
}

/* ---- the whole run ---- */

static bool run_each_graph(RewriteRun *run, Graph *main, double from, double to) {
    LoopBodies bodies = {0};
    bool ok = true;
    run->bodies = &bodies;
    for (size_t i = 0, n = main->functions.n; ok && i < n; i++)
        if (!main->functions.p[i]->fused)
            ok = rewrite_one_graph(run, main->functions.p[i], from, to);
    ok = ok && rewrite_one_graph(run, main, from, to);
    scan_bodies_close(&bodies);
    run->bodies = NULL;
    return ok;
}

/* ---- loops ---- */
enum { LOOP_ROUNDS = 6 };

static bool has_scans(const Graph *main) {
    for (size_t i = 0; i < main->functions.n; i++)
        if (scan_any(main->functions.p[i])) return true;
    return scan_any(main);
}

static bool selects_scan_passes(const Database *db) {
    for (size_t i = 0; i < db->entry.n; i++)
        if (db->entry.p[i].selected && db->entry.p[i].pub.position >= LOOPS &&
            db->entry.p[i].pub.position < LOOPS_END)
            return true;
    return false;
}

/* The passes of these positions, in each graph with loops. */
static bool run_loop_passes(RewriteRun *run, Graph *main, double from, double to) {
    for (size_t i = 0, n = main->functions.n; i < n; i++)
        if (scan_any(main->functions.p[i]) &&
            !rewrite_one_graph(run, main->functions.p[i], from, to))
            return false;
    if (scan_any(main) && !rewrite_one_graph(run, main, from, to)) return false;
    graph_keep_called(main);
    return true;
}

/* Rewriting the outer graph changes loop bodies, and the other way round: both go
 * through the stages before loops, then the loop passes run, until nothing changes.
 * Functions precede their users, so inner loops come first. */
static bool run_scan_rounds(RewriteRun *run, Graph *main) {
    for (int round = 0; round < LOOP_ROUNDS; round++) {
        if (!run_each_graph(run, main, 0, LOOPS)) return false;
        uint32_t before = run->number;
        if (!run_loop_passes(run, main, LOOPS, LOOPS_SCALARS)) return false;
        if (run->number == before) return true;
    }
    return run_each_graph(run, main, 0, LOOPS);
}

/* Whole vectors say more of a loop than their elements: those wait until all else is
 * done, which then begins again. */
static bool run_loops(RewriteRun *run, Graph *main) {
    for (int round = 0; round < LOOP_ROUNDS; round++) {
        if (!run_scan_rounds(run, main)) return false;
        uint32_t before = run->number;
        if (!run_loop_passes(run, main, LOOPS_SCALARS, LOOPS_END)) return false;
        if (run->number == before) return true;
    }
    return run_scan_rounds(run, main);
}

static bool has_short_rows(const Graph *main) {
    bool any = rows_any(main);
    for (size_t i = 0; i < main->functions.n && !any; i++)
        any = rows_any(main->functions.p[i]);
    return any;
}

/* What a graph's values are taken apart to goes through the earlier stages once more.
 */
static bool run_rows(RewriteRun *run, Graph *main) {
    uint32_t before = run->number;
    return run_each_graph(run, main, LOOPS_END, SHORT_ROWS_END) &&
           (run->number == before || run_each_graph(run, main, 0, LOOPS));
}

/* What bodies are specialized to may need less: zeros that values were added to had
 * their size of an argument, which was the only reason to keep the rows of a state. */
static bool run_specialize(RewriteRun *run, Graph *main, double from, bool loops) {
    if (!run_each_graph(run, main, from, SPECIALIZED)) return false;
    uint32_t before = run->number;
    if (!loops) return true;
    return run_loop_passes(run, main, LOOPS_CLEAN, LOOPS_CLEANED) &&
           (run->number == before || run_each_graph(run, main, from, SPECIALIZED));
}

/* Fusion also looks at the functions that row-blocks has made. */
static bool run_last(RewriteRun *run, Graph *main, double from, bool loops) {
    return run_specialize(run, main, from, loops) &&
           run_each_graph(run, main, SPECIALIZED, ROW_BLOCKS_END) &&
           run_each_graph(run, main, ROW_BLOCKS_END, HUGE_VAL);
}

/* A graph alone goes through the stages without a stop, until one makes a function. */
static bool run_alone(RewriteRun *run, Graph *g) {
    static const double end[] = {SPECIALIZED, ROW_BLOCKS_END, HUGE_VAL};
    enum { ENDS = sizeof end / sizeof *end };
    Rewriter r;
    double from = 0;
    size_t i = 0;
    bool ok = true;
    graph_make_room(g);
    open_graph(run, &r, g);
    for (; ok && i < ENDS && g->functions.n == 0; from = end[i++])
        ok = run_stages(&r, from, end[i]);
    ok = close_graph(run, &r, ok);
    for (; ok && i < ENDS; from = end[i++])
        ok = run_each_graph(run, g, from, end[i]);
    return ok;
}

/* What is inlined must not be fused before: fusion begins once no graph is changed any
 * more by what comes before it. */
static bool run_all_stages(RewriteRun *run, Graph *main) {
    bool loops = has_scans(main) && selects_scan_passes(run->db),
         rows = has_short_rows(main);
    if (main->functions.n == 0 && !loops && !rows) return run_alone(run, main);
    if (!(loops ? run_loops(run, main) : run_each_graph(run, main, 0, LOOPS_END)))
        return false;
    graph_keep_called(main);
    return (!rows || run_rows(run, main)) &&
           run_last(run, main, rows ? SHORT_ROWS_END : LOOPS_END, loops);
}

static void record_rewrite_mode(Graph *g, const char *mode) {
    Sym y = sym(g->s, mode);
    for (size_t i = 0; i < g->modes.n; i++)
        if (g->modes.p[i] == y) return;
    vec_push(g->s, &g->modes, y);
}

/* A graph that is taken ends here. */
static Graph *private_copy(Graph *g, bool take, bool merge, bool apart) {
    bool intern = merge && !apart;
    Graph *work = take ? graph_copy_take(g, REWRITE_ROOTS, intern)
                       : graph_copy(g, REWRITE_ROOTS, NULL, intern, NULL);
    for (size_t i = 0; apart && i <= work->functions.n; i++) {
        Graph *one = i ? work->functions.p[i - 1] : work;
        pin_destroyed_mark(one);
        if (merge) graph_compact(one, REWRITE_ROOTS, NULL, true);
    }
    return work;
}

static Graph *run_copy(RewriteRun *run, Graph *g) {
    bool apart = pin_destroyed_needed(g);
    double start = clock_seconds();
    bool merge = merge_is_selected(run->db);
    Graph *work = private_copy(g, run->o->takes_graph, merge, apart);
    run->merged = merge && !apart;
    run->copying = clock_seconds() - start;
    run->copies = 1;
    if (!run_all_stages(run, work)) return graph_free(work), NULL;
    for (size_t i = 0; apart && i <= work->functions.n; i++)
        pin_destroyed_unmark(i ? work->functions.p[i - 1] : work);
    graph_keep_called(work);
    record_rewrite_mode(work, run->o->query.mode ? run->o->query.mode : "FAST_RUN");
    return work;
}

/* By number of replacements, most first. */
static int compare_fired(const void *a, const void *b) {
    const RewriteProfile *x = *(const RewriteProfile *const *)a,
                         *y = *(const RewriteProfile *const *)b;
    if (x->fired != y->fired) return x->fired < y->fired ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* A user's rule that never fired is a mistake more often than not. */
static void log_unused_rules(const RewriteRun *run) {
    for (size_t i = 0; i < run->db->entry.n; i++) {
        const DatabaseEntry *e = &run->db->entry.p[i];
        if (e->rule && e->profile.fired == 0 && !e->searched &&
            rewrite_tags_have(e->pub.tags, "user"))
            session_log(run->s, "the rule %s never fired, at position %.2f%s",
                        e->pub.name, e->pub.position,
                        e->selected ? "" : ", since it isn't selected");
    }
}

static void log_rewriting(const RewriteRun *run, size_t before, size_t after) {
    Session *s = run->s;
    Arena *a = arena_new(s);
    size_t n, used = 0;
    const RewriteProfile *p = database_profile(run->db, &n),
                         **row = NEW_N(a, n + 1, const RewriteProfile *);
    for (size_t i = 0; i < n; i++)
        if (p[i].fired) row[used++] = &p[i];
    if (used) qsort(row, used, sizeof *row, compare_fired);
    Str rules = STR(s);
    for (size_t i = 0; i < used; i++)
        str_printf(&rules, "%s%s %llu", i ? ", " : ": ", row[i]->name,
                   (unsigned long long)row[i]->fired);
    session_log(s, "rewrote with %s in %s: %zu -> %s, %s%s",
                run->o->query.mode ? run->o->query.mode : "FAST_RUN",
                str_counted(s, run->sweeps, "sweep"), before,
                str_counted(s, after, "Apply"),
                str_counted(s, run->fired, "replacement"), str_text(&rules));
    str_free(&rules);
    arena_free(a);
}

static void open_run(RewriteRun *run, Session *s, const RewriteOptions *o) {
    *run = (RewriteRun){.s = s, .o = o, .start = clock_seconds()};
    run->db = database_open(s, &o->query);
    if (!run->db || !o->why || (run->why = why_new(s, run->db, o->why))) return;
    database_free(run->db);
    run->db = NULL;
}

static void close_run(RewriteRun *run, RewriteResult *r, size_t before,
                      const Graph *done) {
    if (r) {
        *r = (RewriteResult){.fired = run->fired,
                             .sweeps = run->sweeps,
                             .seconds = clock_seconds() - run->start,
                             .copying = run->copying,
                             .copies = run->copies};
        r->before = before;
        r->after = done ? graph_all_applies(done) : 0;
        r->profile = database_profile(run->db, &r->nprofile);
    }
    why_free(run->why);
    database_free(run->db);
}

Graph *rewrite_run(Graph *g, const RewriteOptions *o, RewriteResult *r) {
    Session *s = g->s;
    size_t before = graph_all_applies(g);
    RewriteRun run;
    open_run(&run, s, o);
    if (!run.db) {
        if (o->takes_graph) graph_free(g);
        return NULL;
    }
    const char *was = session_set_doing(s, "rewriting the graph");
    Graph *done = run_copy(&run, g);
    session_set_doing(s, was);
    if (done && !o->trial && session_is_logged(s)) {
        log_rewriting(&run, before, graph_all_applies(done));
        log_unused_rules(&run);
    }
    if (done && run.why) why_report(run.why, run.db);
    close_run(&run, r, before, done);
    return done;
}

Graph *rewrite_search(Graph *g, const RewriteQuery *q, RewriteSearch *x) {
    RewriteOptions o = {.query = *q};
    o.query.search = true;
    Database *db = database_open(g->s, &o.query);
    if (!db) return NULL;
    const char *before = session_set_doing(g->s, "searching for a cheaper graph");
    bool apart = pin_destroyed_needed(g);
    Graph *work = private_copy(g, false, true, apart);
    search_run(work, db, &o, x);
    if (apart) pin_destroyed_unmark(work);
    for (size_t i = 0; apart && i < work->functions.n; i++)
        pin_destroyed_unmark(work->functions.p[i]);
    session_set_doing(g->s, before);
    database_free(db);
    return work;
}

Graph *rewrite_merge(Graph *g) {
    return graph_copy(g, REWRITE_ROOTS, NULL, true, NULL);
}
