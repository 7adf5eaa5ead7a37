/* Graph rewriting. Rules are text in the expression language (built-in ones in
 * lib/rewrite/rules, the user's through --rules); passes are C code for rewrites that
 * text can't express. Both are database entries with names, tags and positions. Nodes
 * are immutable: a replacement is an entry forward[old] = new laid over the graph. A
 * sweep walks inputs first and re-interns each node at most once, so it costs O(n)
 * however many replacements it makes. Stages run in order of position, and one copy of
 * the live nodes ends each stage. */
#ifndef REWRITE_REWRITE_H
#define REWRITE_REWRITE_H

#include "op/services.h"

#include <stdatomic.h>

/* ---- the database ---- */
typedef struct RewriteEntry {
    const char *name;
    const char *tags; /* "canonicalize fast_run" */
    double position;  /* stages run in order of position */
    const char *text; /* "log(1 + x) => log1p(x)"; passes: one sentence */
    bool is_pass;
    Span at;
} RewriteEntry;
/* The entries that a mode selects: any tag or name in include, all in require, none in
 * exclude. */
typedef struct RewriteQuery {
    const char *mode; /* FAST_RUN, FAST_COMPILE, STABILIZE, NONE */
    size_t ninclude, nexclude, nrequire;
    const char *const *include, *const *exclude, *const *require;
    size_t nrules;
    const char *const *rules; /* the user's files */
    bool search;              /* the rules @search are needed too */
} RewriteQuery;
/* Reads the library's rules, which the first run does otherwise: for the time in which
 * the graph isn't there yet. */
void rewrite_prepare(Session *s);
/* Every entry of the database and of the user's files, by position, then name. False:
 * diagnosed (a rule that can't be parsed, or an unknown name, with suggestions). */
bool rewrite_list(Session *s, const RewriteQuery *q, const RewriteEntry **entries,
                  size_t *n);

/* Warns of the user's rules that no graph lets fire, since what the query selects
 * changes their left sides first. False: diagnosed. */
bool rewrite_warn_of_hidden(Session *s, const RewriteQuery *q);

/* ---- running ---- */
/* One replacement, for --explain, --bisect and DebugMode. The graph is the overlay at
 * that moment; within an epoch it only grows, and a new epoch renumbers it. */
typedef struct RewriteEvent {
    const char *rule, *tags;
    uint32_t number; /* from 1 */
    uint32_t epoch;
    const Graph *g;
    Var before, after;
    size_t nmore; /* replaced along with it (fused groups, calls) */
    const Var *more_before, *more_after;
    const Var *forward; /* by variable: what stands for it now; itself if none does */
    uint32_t nforward;
} RewriteEvent;
/* Replacements as text, "a + 0  =>  a", in which variables without a name keep their
 * numbers within an epoch. Starts as {0}; close it at last. */
typedef struct EventText {
    Arena *arena;
    struct Printer *printer;
    const Graph *g;
    uint32_t epoch, number; /* of the last event */
} EventText;
void event_text(EventText *x, const RewriteEvent *e, Str *out);
/* Only v, one of the two. */
void event_text_of(EventText *x, const RewriteEvent *e, Var v, Str *out);
void event_text_close(EventText *x);
typedef struct RewriteProfile {
    const char *name;
    double seconds;
    uint64_t tried, fired;
    int64_t nodes; /* Applies added minus Applies removed */
} RewriteProfile;
/* Why a rule did not fire: `report` gets the deepest partial match, what was wanted and
 * found there, the guard that said no, or the rewrite that came first. */
typedef struct RewriteWhy {
    const char *rule;
    Sym at; /* the variable asked about; 0: anywhere */
    Str *report;
} RewriteWhy;
typedef struct RewriteOptions {
    RewriteQuery query;
    uint32_t limit; /* stop after this many replacements; 0: no limit (--bisect) */
    bool (*explain)(void *ctx, const RewriteEvent *e);
    void *ctx;
    bool profile;
    bool trial;             /* -v has nothing to say of it */
    bool takes_graph;       /* g is freed as soon as it was copied */
    const RewriteWhy *why;  /* NULL: nobody asks */
    double sweeps_per_node; /* budget: replacements by one rule per node of the graph;
                             * 0: 8 */
} RewriteOptions;
typedef struct RewriteResult {
    uint32_t fired, sweeps;
    size_t before, after; /* Applies */
    double seconds;       /* all of it, with choosing rules and copying */
    double copying;       /* copies of graphs without what was replaced, */
    uint32_t copies;      /* and how many there were */
    size_t nprofile;
    const RewriteProfile *profile; /* session memory of the last call */
} RewriteResult;
/* Returns a new graph; g is unchanged, unless the options take it. Called functions are
 * rewritten too. NULL: diagnosed; if a user's rule exhausts the budget, the rules that
 * undo each other are named (E_LIMIT). The library's own stop there. */
Graph *rewrite_run(Graph *g, const RewriteOptions *o, RewriteResult *r);
/* Equality saturation: the cheapest form of the main graph that the query's rules
 * reach, with those @search. */
typedef struct RewriteSearch {
    double seconds; /* at most */
    uint32_t nodes; /* stop when there are so many terms */
    /* What an Apply costs: a number > 0 that depends on its op, props and types. */
    double (*cost)(void *ctx, const Graph *g, ApplyId a);
    void *ctx;
    const atomic_int *stop; /* not 0: what was found so far will do; NULL: never */
    Str *chain; /* receives a line for each rule on the way to what was chosen; NULL:
                 * nobody asks */
    /* filled in: */
    uint32_t terms, classes, rounds;
    double before, after;     /* costs of the graph */
    double finding, choosing; /* seconds */
    const char *ended; /* "saturated", "out of nodes", "out of memory", "out of time",
                        * "stopped" */
} RewriteSearch;
/* Returns a new graph, which rewrite_run makes the most of; g is unchanged. NULL:
 * diagnosed. */
Graph *rewrite_search(Graph *g, const RewriteQuery *q, RewriteSearch *x);
/* For several processes: inputs cut along their leading axis into shards, a power of
 * two, with collectives where results cross them. */
enum { REWRITE_SHARDS = 1 << 16 };
typedef struct ParallelOptions {
    VarList inputs;
    int64_t shards;
    int64_t bucket; /* bytes of sums in an exchange, unless one alone has more; 0: a few
                     * MB */
} ParallelOptions;
/* Returns a new graph; g is unchanged. NULL: diagnosed, naming an op that takes rows of
 * several shards. */
Graph *rewrite_parallel(Graph *g, const ParallelOptions *o);
/* Only merges equal expressions and removes what no root needs. */
Graph *rewrite_merge(Graph *g);

/* ---- single rules, for proofs and tests ---- */
typedef struct Rule Rule;
const Rule *rule_parse(Session *s, Span text); /* "name @tags: lhs => rhs when guard" */
/* A rule for both directions from right to left; NULL: it has one direction. */
const Rule *rule_reverse(const Rule *r);
/* A name of the left side that stands for a variable. */
typedef struct RuleHole {
    Sym name;
    bool constant; /* a guard wants a constant */
    bool sizes;    /* an op takes it for a shape */
    int ndim;      /* what guards want; -1: any */
    /* A text in x: what guards ask for, made of any matrix; NULL: they ask for none. */
    const char *made;
    bool tall; /* x may have more rows than columns */
} RuleHole;
/* Writes at most max of them and returns how many there are. */
size_t rule_holes(const Rule *r, RuleHole *hole, size_t max);
/* Are both sides made of elementwise ops, zeros_like and ones_like alone? */
bool rule_is_elementwise(const Rule *r);
/* In how many ways are the props tried that the rule leaves open? Way 0: all have their
 * defaults. */
size_t rule_forms(const Rule *r);
/* Both sides built over these variables: false where the rule doesn't fire for them
 * (not diagnosed). */
bool rule_sides(const Rule *r, Graph *g, size_t n, const Var *hole, size_t form,
                Var *lhs, Var *rhs);

#endif
