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

/* run.c: the parts of a run, in this order; whatever failed, grun_end frees. */
void grun_begin(GraphRun *r, Graph *g, const RunSpec *spec);
bool grun_ready(GraphRun *r); /* rewrites if that is still to do */
bool grun_plan(GraphRun *r);
bool grun_check(GraphRun *r); /* grun_mode.c: rewrites under DebugMode */
bool grun_watch(
    GraphRun *r); /* grun_mode.c: hooks of modes that look at each instruction */
bool grun_call(GraphRun *r); /* grun_mode.c: one call of the machine, and what a mode
                               does after it */
/* grun_mode.c: after a call that failed: notes what to try next. Returns false. */
bool grun_hint(GraphRun *r);
bool grun_bind_dims(GraphRun *r); /* those of the command line, for the machine */
void grun_end(GraphRun *r);
bool grun_given(GraphRun *r);  /* grun_feed.c: compiles the given values */
bool grun_values(GraphRun *r); /* grun_feed.c: given values, filters, what is missing */
bool grun_series(GraphRun *r); /* grun_batches.c: the calls */
bool grun_open_results(GraphRun *r);    /* grun_results.c */
bool grun_collect_results(GraphRun *r); /* after each call */
bool grun_report_results(GraphRun *r,
                         int64_t call); /* prints outputs that go to no file */
bool grun_write_results(GraphRun *r);   /* files, at the end */
void grun_free_results(GraphRun *r);
bool grun_check_expected(GraphRun *r); /* grun_expect.c */

#endif
