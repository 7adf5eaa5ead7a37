/* Shared by the parts of a run. */
#ifndef TOOLS_GRUN_GRUN_IMPL_H
#define TOOLS_GRUN_GRUN_IMPL_H

#include "check/check.h"
#include "check/trace.h"
#include "os/file.h"
#include "tools/grun/run.h"

/* One input: its value, and whether calls iterate over its rows. */
typedef struct Feed {
    Value value;
    bool given, each;
    bool drawn; /* at random: no value was given */
} Feed;
/* An output written to a file. */
typedef struct Result {
    Sym label;
    const char *path;
    size_t output;
} Result;
/* What several calls gave for an output. */
typedef struct Collected {
    bool any, along_batch;
    Tensor all; /* with room for more rows */
    int64_t rows;
    Vec(Value) item; /* values other than arrays */
    Value value;     /* as a whole */
} Collected;
/* Numbers to plot, call by call. */
typedef struct Curve {
    size_t output;
    Vec(double) value;
} Curve;
typedef struct Plot {
    Curve *curve;
    size_t n;         /* 0: nothing is plotted */
    Vec(double) call; /* numbers from 1 on */
    Vec(double) time; /* in seconds since the first began */
    double start;
    uint64_t seen, every; /* reported calls; every so many are kept */
    bool passing;         /* the last point isn't one of these */
} Plot;
/* The part of the rows that --part chooses. */
typedef struct RunPart {
    bool on;
    int64_t number, of;
    bool *cut;                /* by input */
    int64_t rows, begin, end; /* of all, -1: not known yet; this part's */
    bool empty;               /* it has none, but others have */
    const char *first;        /* an input with so many */
    uint64_t shared;          /* hash of the values that shared variables are given */
} RunPart;
typedef struct GraphRun GraphRun;
struct GraphRun {
    Graph *g;     /* as read */
    Graph *ready; /* as run: rewritten, or g itself */
    Session *s;
    Arena *a;
    const RunSpec *spec;
    PlanOptions how;
    Plan *plan;
    Machine *m;
    Feed *feed; /* by input */
    Vec(Result) result;
    Collected *collected; /* by output */
    Plot plot;
    int64_t rows;             /* of the iterated values */
    int64_t per_epoch, calls; /* calls per epoch, and in total */
    int64_t *order;           /* of the rows, shuffled; NULL: in order */
    Tensor *row;              /* by input: the rows of this call */
    RunState now;
    size_t number;     /* the output of now.name */
    int64_t odd_since; /* the call since which it is nan or infinite; 0: it is not */
    bool collect;      /* results are those of all calls together */
    Writer *out;       /* opened by the first report */
    bool header;       /* tsv: the header has been written */
    Check *check;      /* of DEBUG, which then owns `ready` */
    Guard guard;
    Monitor monitor;
    Trace *trace;
    RunPart part;
    struct Lines *lines; /* lines.c: the inputs of its calls; NULL: it has none */
    bool *split;         /* by input: its rows are divided among ranks */
    Tensor *whole; /* by input: as it was given, before this rank took its rows; borrows
                    * from feed */
    bool stopped;  /* some rank was told to end the run */
};

/* run.c: the parts of a run, in this order; call grun_end even after a failure. */
void grun_begin(GraphRun *r, Graph *g, const RunSpec *spec);
bool grun_ready(GraphRun *r); /* rewrites if not done yet */
bool grun_plan(GraphRun *r);
bool grun_check(GraphRun *r); /* mode.c: rewrites under DebugMode */
bool grun_watch(GraphRun *r); /* mode.c: hooks of modes that inspect each instruction */
bool grun_call(GraphRun *r);  /* mode.c: one call of the machine, and the mode's
                               * follow-up */
/* ranks.c: before the first call: do all ranks do the same? */
bool grun_ranks_begin(GraphRun *r);
bool grun_ranks_inputs(GraphRun *r); /* this rank's rows of what is given */
/* This rank's rows of those of a call. */
void grun_ranks_rows(const GraphRun *r, size_t i, Tensor *t);
/* The file of this rank: "out.2.npy" for out.npy; rank 0 has the name itself. */
const char *grun_ranks_path(const GraphRun *r, const char *path);
bool grun_ranks_agree(GraphRun *r, bool *stop); /* after each call */
/* Input i as it was given, whichever rows of it are this rank's. */
Value grun_ranks_given(const GraphRun *r, size_t i);
/* For receipts, which rank 0 writes: were all ranks given the same data? */
bool grun_ranks_same_data(GraphRun *r);
/* receipt.c: after the last call, writes the receipt, or compares with one */
bool grun_receipt(GraphRun *r);
/* trace.c */
bool grun_is_traced(const RunSpec *q);
bool grun_trace_ready(GraphRun *r); /* rewrites for a run with a trace */
bool grun_trace_open(GraphRun *r);
/* mode.c: after a failed call, notes what to try next. Returns false. */
bool grun_hint(GraphRun *r);
bool grun_bind_dims(GraphRun *r); /* binds the command line's dims for the machine */
void grun_end(GraphRun *r);
/* part.c: what --part cuts, and whether the outputs can be put together; the rows of
 * an input, and what is given to a shared variable; the array that says which part a
 * file holds. */
bool grun_open_part(GraphRun *r);
ValueRows grun_part_rows(const GraphRun *r);
bool grun_note_rows(GraphRun *r, size_t i, const ValueRows *rows);
bool grun_note_shared(GraphRun *r, const char *name, const Value *v);
bool grun_part_head(GraphRun *r, Value *out);
/* outputs.c: is this name of -r `*`, all outputs? */
bool grun_is_all(Session *s, Span name);
bool grun_given(GraphRun *r);  /* feed.c: compiles the given values */
bool grun_values(GraphRun *r); /* feed.c: given values, filters, missing ones */
/* feed.c: nobody has a name of an input like this one: false */
bool grun_no_input(GraphRun *r, DiagCode code, Span at, const char *text);
/* lines.c: which inputs they have to give (by input); before a call, the values of the
 * next line if one is due, and *end if there is none; after a call, how long it took;
 * an answer is due; "in line 3 of standard input". */
bool grun_open_lines(GraphRun *r, const bool *missing);
bool grun_next_line(GraphRun *r, bool *end);
void grun_line_called(GraphRun *r, double seconds);
bool grun_line_done(const GraphRun *r);
void grun_line_times(const GraphRun *r, JsonWriter *w);
void grun_note_line(const GraphRun *r);
void grun_close_lines(GraphRun *r);
bool grun_series(GraphRun *r); /* batches.c: the calls */
bool grun_commit(GraphRun *r); /* run.c: completes what is printed */
bool grun_save(GraphRun *r);   /* run.c: saves the values of the last call */
/* state.c: calls of RunSpec.watch */
void grun_state_begin(GraphRun *r);
void grun_state_value(GraphRun *r); /* after each call */
void grun_state_call(GraphRun *r);  /* after each but the last */
void grun_warn_of_nan(GraphRun *r); /* of a training run that went astray */
bool grun_stopped(const GraphRun *r);
void grun_screen(const GraphRun *r, bool taken);
/* outputs.c: splits -r's "NAME=FILE" and --expect's "NAME=VALUE". */
bool grun_split_result(Session *s, Span text, Span *name, Span *file);
bool grun_split_expected(Session *s, Span text, Span *name, Span *value);
bool grun_open_results(GraphRun *r); /* results.c */
size_t grun_output(const GraphRun *r, Sym label);
bool grun_goes_to_file(const GraphRun *r, size_t output);
bool grun_open_output(GraphRun *r);
/* Prints the outputs that no file gets. */
bool grun_report_results(GraphRun *r, int64_t call);
bool grun_write_results(GraphRun *r);   /* writes files, at the end */
bool grun_collect_results(GraphRun *r); /* collect.c: after a call */
/* What was collected of an output, else its value in the last call. */
const Value *grun_collected(GraphRun *r, size_t output);
/* What a run returns: of all calls, or of the last one. */
const Value *grun_result(GraphRun *r, size_t output);
void grun_free_collected(GraphRun *r);
bool grun_check_expected(GraphRun *r); /* expect.c */
/* plot.c: finds what there is to plot; after a call; at the end */
bool grun_open_plot(GraphRun *r);
void grun_plot_call(GraphRun *r, int64_t call);
bool grun_write_plot(GraphRun *r);
void grun_free_plot(GraphRun *r);
/* report.c; whole: the run has come to its end, and so has its trace */
bool grun_write_report(GraphRun *r, bool whole);

#endif
