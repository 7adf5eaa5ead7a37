/* gprof's work: runs a graph and measures it, or estimates from its types. */
#ifndef TOOLS_GPROF_GPROF_H
#define TOOLS_GPROF_GPROF_H

#include "prof/prof.h"
#include "tools/grun/run.h"

typedef struct MeasuredCalls {
    int64_t warmup; /* calls before the measured ones */
    int64_t repeat; /* measured calls; 0: until 0.2 s or 10 calls have passed */
} MeasuredCalls;
typedef struct ProfileSpec {
    RunSpec run;    /* mode, values, filter, dims, threads, no_gc */
    unsigned ranks; /* to predict for; 0: none */
    double link[2]; /* bytes a second, seconds a message */
    bool is_static; /* nothing runs; values only determine dims */
    MeasuredCalls calls;
    size_t nassert;
    const Span *assertion; /* "peak_bytes < 10e6" */
    ReportOptions report;
} ProfileSpec;
/* Runs m, whose inputs are set and whose plan is of g, for a profile of that plan: the
 * updates happen. False: diagnosed. */
bool profile_measure(Profile *p, const Graph *g, Machine *m, const MeasuredCalls *how);
/* Measures what this machine can do at best, in less than half a second. False:
 * diagnosed. */
bool profile_measure_peaks(Session *s, unsigned threads, Peaks *out);
/* `out` has the report even if a verdict fails. False: diagnosed. */
bool graph_profile(Graph *g, const ProfileSpec *q, Str *out);
/* Does a formula in the totals hold? False: diagnosed. */
bool graph_profile_holds(Graph *g, const ProfileSpec *q, Span formula, bool *yes);
/* The values of totals by name, NAN for what is unknown or depends on dims. False:
 * diagnosed. */
bool graph_profile_totals(Graph *g, const ProfileSpec *q, size_t n,
                          const char *const *field, double *v);
/* gprof --solve: text is "n: peak_bytes <= 16e9", out the largest size of that dim for
 * which it holds, "n=4000000". E_VERDICT if it holds for none, or always. */
bool graph_solve(Graph *g, const ProfileSpec *q, Span text, Str *out);
/* Runs g once for its rounding errors (ulp.h), of q's run and report alone; format
 * text, tsv or json. False: diagnosed. */
bool graph_ulp(Graph *g, const ProfileSpec *q, Str *out);

/* gprof --pack: a table of buffers as CSV with columns id, lower, upper (exclusive) and
 * size. */
typedef struct PackSpec {
    const char *file;
    uint64_t capacity; /* 0: none; else E_VERDICT if they take more */
} PackSpec;
/* out: the rows with a column `offset`; verdict: a line about them. False:
 * diagnosed. */
bool gprof_pack(Session *s, const PackSpec *q, Str *out, Str *verdict);

#endif
