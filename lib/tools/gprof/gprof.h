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
/* Runs g once for its rounding errors (ulp.h), of q's run and report alone; format
 * text, tsv or json. False: diagnosed. */
bool graph_ulp(Graph *g, const ProfileSpec *q, Str *out);

#endif
