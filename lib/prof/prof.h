/* Profiles: where time, flops and memory of a graph go. A Profile collects, either from
 * types alone (profile_static) or from watched runs, and then answers with reports,
 * assertions and comparisons. All its figures are for one call of the graph:
 *
 *     Profile *p = profile_new(plan, ndim, dim);
 *     profile_static(p)       or      vm_run, profile_call(p, seconds), ...;
 *                                     vm_set_hooks(m, &h), vm_run, profile_watched(p);
 *     profile_finish(p); profile_report(p, &how, &text);
 */
#ifndef PROF_PROF_H
#define PROF_PROF_H

#include "vm/vm.h"

typedef enum ProfileField {
#define FIELD(name, measured, worse, doc) PF_##name,
#include "prof/fields.def"
#undef FIELD
    PF_N
} ProfileField;

typedef struct Profile Profile;
/* The plan, of a graph as it runs and made with these options, must outlive the
 * profile. */
Profile *profile_new(const Plan *p, const PlanOptions *how, size_t ndim,
                     const DimValue *dim);
void profile_free(Profile *p); /* NULL is fine */

/* Costs from types and the dims given; what they don't tell stays symbolic or unknown.
 */
void profile_static(Profile *p);
/* Input i is that in the calls to come: it tells sizes. NULL: there is none. */
void profile_input(Profile *p, size_t i, const Value *x);
/* An array is of that size, though its type does not tell. */
void profile_size(Profile *p, Var v, int64_t bytes);
/* A call that nothing watched took so long. */
void profile_call(Profile *p, double seconds);
/* Hooks for watched calls; each is followed by profile_watched. */
VmHooks profile_hooks(Profile *p);
void profile_watched(Profile *p);
void profile_set(Profile *p, ProfileField f, double v);
/* Adds everything up; reports only after it. */
void profile_finish(Profile *p);

typedef enum ProfileBy { BY_ALL, BY_CLASS, BY_OP, BY_APPLY, BY_RULE } ProfileBy;
typedef enum ProfileSort {
    SORT_TIME, /* static reports: by flops */
    SORT_FLOPS,
    SORT_BYTES,
    SORT_CALLS,
    SORT_NAME
} ProfileSort;
typedef enum ProfileFormat {
    PROFILE_TEXT,
    PROFILE_JSON,
    PROFILE_TSV,
    PROFILE_TRACE,  /* Chrome trace events of the last watched call */
    PROFILE_FOLDED, /* folded stacks, in ns; static reports: in flops */
    PROFILE_SVG,    /* live bytes by instruction */
    PROFILE_DOT     /* the graph, coloured by time */
} ProfileFormat;
typedef struct ReportOptions {
    ProfileFormat format;
    ProfileBy by;
    ProfileSort sort;
    int64_t top;         /* rows of a table; -1: 20 in text, else all */
    bool memory;         /* the timeline, too */
    const char *compare; /* a JSON report to compare with, or NULL */
    double fail_above;   /* 0: never; else E_VERDICT when a total grew by more */
} ReportOptions;
/* False: diagnosed. A comparison that fails has its report all the same. */
bool profile_report(Profile *p, const ReportOptions *how, Str *out);

/* 'peak_bytes < 10e6', a formula over the total's fields. The first only looks at its
 * syntax and names; the second is E_VERDICT with both sides if it doesn't hold. */
bool profile_assert_check(Session *s, Span text);
bool profile_assert(const Profile *p, Span text);

#endif
