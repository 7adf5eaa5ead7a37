/* What the parts of a run share. */
#ifndef TOOLS_RUN_IMPL_H
#define TOOLS_RUN_IMPL_H

#include "check/check.h"
#include "tools/run.h"

/* One input: its value, and whether calls take rows of it. */
typedef struct Feed {
    Value value;
    bool given, each;
} Feed;
/* An output that goes to a file, collected over calls when rows were walked and nothing
 * is updated. */
typedef struct Result {
    Sym label;
    const char *path;
    size_t output;
    Tensor all; /* collected; data NULL at first */
    int64_t filled;
} Result;
typedef struct GraphRun {
    Graph *g;     /* as it was read */
    Graph *ready; /* as it runs: rewritten, or g itself */
    Session *s;
    Arena *a;
    const RunSpec *spec;
    PlanOptions how;
    Plan *plan;
    Machine *m;
    Feed *feed; /* by input */
    Result *result;
    int64_t rows;             /* of the values that are walked */
    int64_t per_epoch, calls; /* calls of an epoch, in all */
    int64_t *order;           /* of the rows, shuffled; NULL: as they stand */
    Tensor *row;              /* by input: what this call gets */
    bool collect;
    Writer *out;  /* opened by the first report */
    bool header;  /* tsv: written */
    Check *check; /* of DEBUG; has `ready` then */
    Guard guard;
    Monitor monitor;
} GraphRun;

/* run.c: the parts of a run, in this order; whatever failed, run_end frees. */
void run_begin(GraphRun *r, Graph *g, const RunSpec *spec);
bool run_ready(GraphRun *r); /* rewrites if that is still to do */
bool run_plan(GraphRun *r);
bool run_check(GraphRun *r); /* grun_mode.c: rewrites under DebugMode */
bool run_watch(
    GraphRun *r); /* grun_mode.c: hooks of modes that look at each instruction */
bool run_call(GraphRun *r); /* grun_mode.c: one call of the machine, and what a mode
                               does after it */
/* grun_mode.c: after a call that failed: notes what to try next. Returns false. */
bool run_hint(GraphRun *r);
bool run_dims(GraphRun *r); /* those of the command line, for the machine */
void run_end(GraphRun *r);
bool run_given(GraphRun *r);  /* grun_feed.c: compiles the given values */
bool run_values(GraphRun *r); /* grun_feed.c: given values, filters, what is missing */
bool run_series(GraphRun *r); /* grun_batches.c: the calls */
bool results_open(GraphRun *r);                 /* grun_results.c */
bool results_collect(GraphRun *r);              /* after each call */
bool results_report(GraphRun *r, int64_t call); /* prints outputs that go to no file */
bool results_write(GraphRun *r);                /* files, at the end */
void results_free(GraphRun *r);
bool check_expectations(GraphRun *r); /* grun_expect.c */

#endif
