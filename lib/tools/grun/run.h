/* grun's work: values for inputs, one or more calls (steps, rows, batches, epochs),
 * results to files and text, checks. */
#ifndef TOOLS_GRUN_RUN_H
#define TOOLS_GRUN_RUN_H

#include "tools/tools.h"

typedef struct Series {
    int64_t steps;    /* total calls; 0: one, or as many as the data gives */
    const char *each; /* "x,y": inputs that iterate over the leading axis of their
                       * values; NULL: none */
    Span each_at;
    int64_t batch; /* rows per call; 0: single rows without the axis */
    bool drop_last;
    int64_t epochs;  /* 0: 1 */
    int64_t shuffle; /* seed of the rows' order, reshuffled each epoch; -1: in order */
    int64_t every;   /* also report every K-th call; 0: only the last */
    int64_t save_every; /* save after every K-th call; 0: don't */
} Series;
typedef enum ResultFormat {
    RESULT_TEXT,
    RESULT_JSON,
    RESULT_NPY,
    RESULT_TSV
} ResultFormat;
/* How far a run has come. */
typedef struct RunState {
    int64_t done, calls; /* calls INT64_MAX: nobody knows */
    const char *name;    /* the first output that is a number; NULL: none is */
    double value;        /* of that output in the last call */
    bool until;          /* the run ended since `until` held */
    bool left;           /* a call was left before its end */
    bool kept;           /* what `keeps` promises was done when the run was stopped */
} RunState;
struct GraphRun;
/* Whoever watches a run: it may end it, from another thread or a signal handler, too.
 */
typedef struct RunWatch {
    void *ctx;
    /* before the first call */
    void (*begin)(void *ctx, struct GraphRun *r, const RunState *now);
    void (*call)(void *ctx, const RunState *now); /* after each call */
    bool (*stopped)(void *ctx);                   /* shall the run end here? */
    void (*screen)(void *ctx, bool taken); /* around output that a terminal may show */
    void (*end)(void *ctx);                /* after the last call, or a failure */
    void (*ended)(void *ctx, const RunState *at); /* early, but in order */
} RunWatch;
/* The purpose of a run: how the graph is rewritten, planned and watched. */
typedef enum RunMode {
    RUN_UNSET, /* FAST_RUN unless the graph was rewritten before */
    RUN_FAST_RUN,
    RUN_FAST_COMPILE,
    RUN_DEBUG,     /* checks every op and rewrite */
    RUN_NAN_GUARD, /* without fusion, inspects every value */
    RUN_MONITOR
} RunMode;
#define RUN_MODES "unset|FAST_RUN|FAST_COMPILE|DEBUG|NAN_GUARD|MONITOR"
typedef struct RunSpec {
    RunMode mode;
    RewriteQuery rewrites; /* in addition to the mode's: include, exclude, rules */
    int sloppy;            /* DEBUG: 0 to 2 */
    bool allow_nonfinite;  /* DEBUG: nan and inf don't count as findings */
    const char *guard;     /* "nan,inf,big": what NAN_GUARD looks for; NULL: all */
    const char *unguarded; /* "a,b": variables that it ignores; NULL: none */
    Span guard_at, unguarded_at;
    Values values;
    Filter filter;
    const char *outputs; /* "a,b": run for these instead of the graph's; NULL: its */
    Span outputs_at;
    bool no_updates;   /* leave the shared variables alone */
    bool lines;        /* one call, or `steps`, for each line of standard input */
    const char *until; /* "loss < 0.03": the last call is the first for which it holds;
                        * NULL: none */
    Span until_at;
    size_t nreaped; /* the last outputs, which `outputs` doesn't drop */
    Series series;
    size_t nresult, nexpect, ndim;
    const Span *result; /* "NAME=FILE" */
    const Span *expect; /* "NAME=VALUE" */
    const Span *dim;    /* "n=128" */
    const char *part; /* "3/16", "n=3/16": run on this part of the rows; NULL: on all */
    Span part_at;
    struct RunParts *parts; /* put these together instead; NULL: run */
    double rtol, atol;      /* of `expect` and `against`; negative: the dtype's */
    ResultFormat format;
    const char *output; /* for printed text; "-" */
    const char *plot;   /* SVG file for curves of the outputs that are numbers, of the
                         * calls that `every` reports, else of all; NULL: none */
    const char *report; /* page of the same curves, the results and the graph; NULL */
    int64_t seed;       /* for random inputs without a value; -1: they need one */
    bool draw; /* from `seed`, also the other inputs without a value, if their types fix
                * their sizes */
    unsigned threads;
    bool no_gc;
    const char *trace, *against;  /* files of traces: written, compared with; NULL */
    int64_t trace_samples;        /* elements of each value that a trace keeps */
    const char *receipt;          /* file for the run's receipt; NULL: none */
    const struct Receipt *verify; /* receipt.h: what the run must give; NULL: nothing */
    size_t nhidden;        /* graph_chosen: the last outputs, which are not printed */
    size_t until_output;   /* graph_chosen: the value of `until` */
    bool time;             /* with `lines`: answers have the seconds of their calls */
    bool quiet;            /* another rank prints and writes */
    const RunWatch *watch; /* NULL: nobody */
    const Graph *saved;    /* g as it is saved, with other outputs and updates, maybe */
    bool (*save)(void *ctx, Graph *g); /* writes it; NULL: don't */
    void *save_ctx;
} RunSpec;
/* The graph with the outputs and updates that q asks for, as the other calls take it:
 * a copy, or g itself if it has them. Notes in q which outputs are not shown. NULL:
 * diagnosed. */
Graph *graph_chosen(Graph *g, RunSpec *q);
/* Runs g; its shared variables then have their new values. Printed and written results
 * appear only if everything succeeded, except for reports by `every`. False: diagnosed;
 * a failed expectation is E_VERDICT. */
bool graph_run(Graph *g, const RunSpec *spec);
/* For a run that is to end now: saves the values of its last whole call, and completes
 * the files of what `every` reported. The watcher may call this in a copy of the
 * process. */
bool graph_run_keep(struct GraphRun *r);
/* The graph as the mode rewrites it; g itself if it was rewritten before and the mode
 * asks for no more. NULL: diagnosed. */
Graph *graph_ready(Graph *g, const RunSpec *spec);
/* Files of parts of a run, opened to be put together. NULL: diagnosed. */
struct RunParts *run_parts_open(Session *s, size_t n, const char *const *path);
void run_parts_close(struct RunParts *p);
/* graph_chosen for graph_merge: the outputs are those that the parts have. */
Graph *graph_merged(Graph *g, RunSpec *q);
/* Puts q->parts together as what graph_run would have given, and prints, writes and
 * compares that. */
bool graph_merge(Graph *g, const RunSpec *q);
/* "n=128" of --dim. */
bool dim_option(Graph *g, Span text, Sym *name, int64_t *n);

#endif
