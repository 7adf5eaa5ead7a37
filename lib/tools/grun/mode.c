/* Modes of a run: which rewrites they use, and which hooks watch. */
#include "tools/grun/grun_impl.h"

#include <string.h>

typedef struct ModeRow {
    const char *rewrites; /* NULL: FAST_RUN unless the graph was rewritten before */
    const char *without;  /* a tag or rewrite to exclude */
} ModeRow;

static const ModeRow rows[] = {
    [RUN_UNSET] = {NULL, NULL},
    [RUN_FAST_RUN] = {"FAST_RUN", NULL},
    [RUN_FAST_COMPILE] = {"FAST_COMPILE", NULL},
    [RUN_DEBUG] = {"FAST_RUN", "drop-structure"}, /* claims are checked as they run */
    [RUN_NAN_GUARD] = {NULL, "fusion"}, /* inspects the inner values of a fused group,
                                         * too */
    [RUN_MONITOR] = {NULL, NULL},
};

/* What mixes up or loses the names of values: two loops in one, vectors as numbers,
 * bodies in place of calls. */
static const char *const untraced[] = {"scan-merge", "scan-scalars", "short-rows",
                                       "row-blocks", "inline-calls"};
enum { UNTRACED = sizeof untraced / sizeof *untraced };

/* False: run the graph as it is. */
static bool mode_query(const Graph *g, const RunSpec *spec, Arena *a, RewriteQuery *q) {
    const ModeRow *row = &rows[spec->mode];
    *q = spec->rewrites;
    bool more = q->nrules || q->ninclude || q->nexclude;
    if (!row->rewrites && !more && g->modes.n) return false;
    q->mode = row->rewrites ? row->rewrites : "FAST_RUN";
    const char **exclude = NEW_N(a, q->nexclude + 1 + UNTRACED, const char *);
    if (q->nexclude) memcpy(exclude, q->exclude, q->nexclude * sizeof *exclude);
    if (row->without || grun_is_traced(spec))
        exclude[q->nexclude++] = row->without ? row->without : "fusion";
    for (size_t i = 0; grun_is_traced(spec) && i < UNTRACED; i++)
        exclude[q->nexclude++] = untraced[i];
    q->exclude = exclude;
    return true;
}

Graph *graph_ready(Graph *g, const RunSpec *spec) {
    RewriteOptions how = {0};
    RewriteResult what;
    Arena *a = arena_new(g->s);
    Graph *ready = mode_query(g, spec, a, &how.query) ? rewrite_run(g, &how, &what) : g;
    arena_free(a);
    return ready;
}

/* ---- DEBUG ---- */
bool grun_check(GraphRun *r) {
    CheckOptions o = {.sloppy = r->spec->sloppy,
                      .allow_nonfinite = r->spec->allow_nonfinite};
    mode_query(r->g, r->spec, r->a, &o.query);
    r->check = check_new(r->g, &o);
    r->ready = r->check ? check_ready(r->check) : NULL;
    return r->ready != NULL;
}

static bool debug_options(GraphRun *r) {
    const RunSpec *q = r->spec;
    if (q->sloppy < 0 || q->sloppy > 2)
        return fail(r->s, NOWHERE, E_USAGE, "--sloppy must be 0, 1 or 2");
    if (q->mode == RUN_DEBUG || (!q->sloppy && !q->allow_nonfinite)) return true;
    return fail(r->s, NOWHERE, E_USAGE, "--%s needs --mode DEBUG",
                q->sloppy ? "sloppy" : "allow-nonfinite");
}

/* ---- NAN_GUARD ---- */
static bool in_function(const Graph *g, Sym name) {
    for (size_t i = 0; i < g->functions.n; i++)
        if (graph_find(g->functions.p[i], name) != VAR_NONE) return true;
    return false;
}

/* Names are looked up in the graph as read: rewriting may drop some. */
static bool exempt_names(GraphRun *r) {
    char **part;
    size_t n = str_split(r->a, r->spec->unguarded, ',', &part);
    Sym *name = NEW_N(r->a, n, Sym);
    for (size_t i = 0; i < n; i++) {
        Var v;
        name[i] = sym(r->s, part[i]);
        if (!in_function(r->g, name[i]) &&
            !names_find_var(r->g, part[i], strlen(part[i]), r->spec->unguarded_at, &v))
            return false;
    }
    r->guard.exempt = name;
    r->guard.nexempt = n;
    return true;
}

static bool guard_kinds(GraphRun *r) {
    static const char *const kinds[] = {"nan", "inf", "big"};
    char **part;
    size_t n = str_split(r->a, r->spec->guard, ',', &part);
    for (size_t i = 0; i < n; i++) {
        unsigned k = 0;
        while (k < 3 && strcmp(part[i], kinds[k]) != 0)
            k++;
        if (k == 3)
            return fail(r->s, r->spec->guard_at, E_USAGE,
                        "--guard takes some of nan,inf,big, not '%s'", part[i]);
        r->guard.what |= 1U << k;
    }
    return true;
}

static bool guard_options(GraphRun *r) {
    const RunSpec *q = r->spec;
    if (q->mode != RUN_NAN_GUARD && (q->guard || q->unguarded))
        return fail(r->s, q->guard ? q->guard_at : q->unguarded_at, E_USAGE,
                    "--%s needs --mode NAN_GUARD", q->guard ? "guard" : "unguarded");
    r->guard.what = GUARD_ALL;
    if (q->guard) r->guard.what = 0;
    return (!q->guard || guard_kinds(r)) && (!q->unguarded || exempt_names(r));
}

/* ---- watching ---- */
bool grun_watch(GraphRun *r) {
    if (!debug_options(r) || !guard_options(r)) return false;
    VmHooks h = {0};
    if (r->spec->mode == RUN_NAN_GUARD) h = guard_hooks(&r->guard);
    if (r->spec->mode == RUN_MONITOR) h = monitor_hooks(r->s, &r->monitor);
    if (r->check) h = check_hooks(r->check);
    if (grun_is_traced(r->spec)) {
        if (!grun_trace_open(r)) return false;
        h = trace_hooks(r->trace);
    }
    if (h.ctx) vm_set_hooks(r->m, &h);
    return true;
}

/* Chosen by the kind of error and the Apply's origin. */
bool grun_hint(GraphRun *r) {
    const Diag *d = diag_first_error(r->s);
    const char *rule = vm_blamed(r->m);
    RunMode mode = r->spec->mode;
    if (!d || diag_exit(d->code) != diag_exit(E_RUN)) return false;
    if (rule && r->ready != r->g && mode != RUN_FAST_COMPILE)
        return note(r->s, NOWHERE,
                    "hint: --mode FAST_COMPILE, or --exclude %s, runs the graph closer "
                    "to how it was written",
                    rule);
    if (rule && r->ready == r->g)
        return note(r->s, NOWHERE,
                    "hint: an earlier grewrite rewrote the graph; grewrite --exclude "
                    "%s leaves that out",
                    rule);
    if (mode == RUN_MONITOR) return false;
    return note(
        r->s, NOWHERE,
        "hint: --mode MONITOR shows the shape and range of every intermediate value%s",
        mode == RUN_DEBUG || d->code == E_NAN
            ? ""
            : ", --mode DEBUG checks each op and rewrite");
}

bool grun_call(GraphRun *r) {
    if (r->check && !check_begin(r->check, r->m)) return false;
    if (r->trace && !trace_begin(r->trace, r->m)) return false;
    if (!vm_run(r->m)) return false;
    if (r->trace) return trace_end(r->trace);
    if (r->check) return check_end(r->check, r->m);
    return r->spec->mode != RUN_NAN_GUARD || guard_outputs(&r->guard, r->ready, r->m);
}
