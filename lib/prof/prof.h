/* Profiles: where a graph spends time, flops and memory. A Profile collects data,
 * either from types alone (profile_static) or from runs with hooks, and then produces
 * reports, assertions and comparisons. All figures are for one call of the graph:
 *
 *     Profile *p = profile_new(plan, ndim, dim);
 *     profile_static(p)       or      vm_run, profile_call(p, seconds), ...;
 *                                     vm_set_hooks(m, &h), vm_run, profile_watched(p);
 *     profile_finish(p); profile_report(p, &how, &text); */
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
/* The plan, for the graph as it runs and made with these options, must outlive the
 * profile. */
Profile *profile_new(const Plan *p, const PlanOptions *how, size_t ndim,
                     const DimValue *dim);
void profile_free(Profile *p); /* NULL is allowed */

/* Costs from types and the given dims; the rest stays symbolic or unknown. */
void profile_static(Profile *p);
/* Sets input i for the coming calls, which determines sizes. NULL: none. */
void profile_input(Profile *p, size_t i, const Value *x);
/* Says in the report that an input's values are random ones. */
void profile_drawn(Profile *p, Var input);
/* Sets the bytes of an array whose type doesn't determine them. */
void profile_size(Profile *p, Var v, int64_t bytes);
/* Records the duration of a call without hooks. */
void profile_call(Profile *p, double seconds);
/* Hooks for profiled calls; call profile_watched after each. */
VmHooks profile_hooks(Profile *p);
void profile_watched(Profile *p);
void profile_set(Profile *p, ProfileField f, double v);
/* What the machine can do at best, each for a second. */
typedef struct Peaks {
    double memory, cache;    /* bytes of arrays that don't fit in the caches, or do */
    double flops32, flops64; /* of float32 and float64 */
} Peaks;
void profile_set_peaks(Profile *p, const Peaks *peaks);
/* What n ranks, a power of two, would take for a call, each two of them connected so.
 */
void profile_set_ranks(Profile *p, unsigned n, double bytes_per_s, double latency_s);
/* "10e9", "10GB", "1.25GB,20us": bytes for each second, and seconds for each message.
 * False: diagnosed. */
bool profile_link(Session *s, Span text, double *bytes_per_s, double *latency_s);
/* Computes the totals; required before any report. */
void profile_finish(Profile *p);

/* The value of a total by its name (prof/fields.def), NAN if it wasn't measured, or is
 * unknown or depends on dims that aren't given. False: there is no such total;
 * diagnosed. */
bool profile_total(const Profile *p, const char *field, double *v);

/* ---- one number, for choosing between equal graphs (model.c) ---- */
typedef struct CostModel CostModel;
/* What an Apply, a call of a mathematical function and a byte that moves cost, in
 * flops. */
typedef struct CostWeights {
    double apply, math, byte;
} CostWeights;
extern const CostWeights cost_weights;
/* With these sizes of dims; others count as large. */
CostModel *cost_model_new(Session *s, size_t ndim, const DimValue *dim);
void cost_model_free(CostModel *m); /* NULL is allowed */
/* An Apply by its types alone. model: a CostModel. */
double cost_model_apply(void *model, const Graph *g, ApplyId id);
/* A graph as it runs, as profile_static counts it. Infinite: it can't be planned. */
double cost_model_graph(CostModel *m, Graph *g);

#define PROFILE_TABLES "class|op|apply|rule|function|prefix|line"
#define PROFILE_BY     "all|" PROFILE_TABLES
typedef enum ProfileBy {
    BY_ALL,
    BY_CLASS,
    BY_OP,
    BY_APPLY,
    BY_RULE,
    BY_FUNCTION,
    BY_PREFIX, /* of names: layer1 of layer1_h and layer1/h */
    BY_LINE    /* of the file */
} ProfileBy;
typedef enum ProfileSort {
    SORT_TIME, /* static reports: by flops */
    SORT_FLOPS,
    SORT_BYTES,
    SORT_CALLS,
    SORT_NAME
} ProfileSort;
/* A row of a table as data: NAN for what is unknown or depends on dims that aren't
 * given. The name lives as long as the session. */
typedef struct ProfileCost {
    const char *name;
    double applies, calls, time_s, flops, math_calls, read_bytes, written_bytes;
} ProfileCost;
/* Free the n rows with mem_free. */
ProfileCost *profile_costs(Profile *p, ProfileBy by, ProfileSort sort, size_t *n);

#define PROFILE_FORMATS "text|json|tsv|trace|folded|svg|dot|roofline|html"
typedef enum ProfileFormat {
    PROFILE_TEXT,
    PROFILE_JSON,
    PROFILE_TSV,
    PROFILE_TRACE,    /* Chrome trace events of the last profiled call */
    PROFILE_FOLDED,   /* folded stacks, in ns; static reports: in flops */
    PROFILE_SVG,      /* live bytes by instruction */
    PROFILE_DOT,      /* the graph, coloured by time */
    PROFILE_ROOFLINE, /* speed by flops for each byte, as SVG; needs profile_set_peaks
                       */
    PROFILE_PAGE      /* all of it, to look at in a browser: page/page.h */
} ProfileFormat;
typedef struct ReportOptions {
    ProfileFormat format;
    ProfileBy by;
    ProfileSort sort;
    int64_t top;         /* rows of a table; -1: 20 in text, else all */
    bool memory;         /* include the timeline */
    const char *compare; /* a JSON report to compare with, or NULL */
    double fail_above;   /* 0: never; else E_VERDICT if a total grew by more */
} ReportOptions;
/* False: diagnosed. A failed comparison still produces its report. */
bool profile_report(Profile *p, const ReportOptions *how, Str *out);

/* 'peak_bytes < 10e6', a formula in the fields of the totals. The first function only
 * checks its syntax and names; the second is E_VERDICT with both sides if it doesn't
 * hold. */
bool profile_assert_check(Session *s, Span text);
bool profile_assert(const Profile *p, Span text);
/* The same as an answer. False: the formula has no value; diagnosed. */
bool profile_holds(const Profile *p, Span text, bool *yes);

#endif
