/* Rewriting graphs. Rules are text in the language (rules of the house in
 * lib/rewrite/rules, the user's by --rules), passes are C for what text cannot say;
 * both stand in one database with names, tags and positions. Nodes are immutable: a
 * replacement is an entry forward[old] = new over the graph. A sweep walks inputs first
 * and re-interns a node at most once, so it costs O(n) however much is replaced; stages
 * follow each other by position, and one copy of the live nodes ends it. */
#ifndef REWRITE_REWRITE_H
#define REWRITE_REWRITE_H

#include "op/services.h"

/* ---- the database ---- */
typedef struct RewriteEntry {
    const char *name;
    const char *tags; /* "canonicalize fast_run" */
    double position;  /* stages run in order of position */
    const char *text; /* "log(1 + x) => log1p(x)"; passes: one sentence */
    bool is_pass;
    Span at;
} RewriteEntry;
/* What a mode asks for: entries with any tag or name of include, all of require, none
 * of exclude. */
typedef struct RewriteQuery {
    const char *mode; /* FAST_RUN, FAST_COMPILE, STABILIZE, NONE */
    size_t ninclude, nexclude, nrequire;
    const char *const *include, *const *exclude, *const *require;
    size_t nrules;
    const char *const *rules; /* files of the user */
} RewriteQuery;
/* Every entry of the database and the user's files, by position then name. False:
 * diagnosed (a rule that can't be read, a name that no entry has: with suggestions). */
bool rewrite_list(Session *s, const RewriteQuery *q, const RewriteEntry **entries,
                  size_t *n);

/* ---- running ---- */
/* One replacement, for --explain, --bisect and DebugMode. The graph is the overlay at
 * that moment; it only grows while its epoch stays the same, and gets new ids with a
 * new one. */
typedef struct RewriteEvent {
    const char *rule, *tags;
    uint32_t number; /* from 1 */
    uint32_t epoch;
    const Graph *g;
    Var before, after;
    size_t nmore; /* replaced together with it (fused groups, calls) */
    const Var *more_before, *more_after;
} RewriteEvent;
typedef struct RewriteProfile {
    const char *name;
    double seconds;
    uint64_t tried, fired;
    int64_t nodes; /* Applies added minus removed by its replacements */
} RewriteProfile;
typedef struct RewriteOptions {
    RewriteQuery query;
    uint32_t limit; /* stop after so many replacements; 0: none (--bisect) */
    bool (*explain)(void *ctx, const RewriteEvent *e);
    void *ctx;
    bool profile;
    double sweeps_per_node; /* budget: replacements of one rule per node of the graph;
                               0: 8 */
} RewriteOptions;
typedef struct RewriteResult {
    uint32_t fired, sweeps;
    uint32_t before, after; /* Applies */
    size_t nprofile;
    const RewriteProfile *profile; /* session memory of the last call */
} RewriteResult;
/* A new graph; g is unchanged. Functions that are called are rewritten too. NULL:
 * diagnosed; a budget that ends names the rules that go in circles (E_LIMIT). */
Graph *rewrite_run(Graph *g, const RewriteOptions *o, RewriteResult *r);
/* Only the merge of equal expressions and removal of what no root needs. */
Graph *rewrite_merge(Graph *g);

/* ---- single steps, for tests and rules' property tests ---- */
typedef struct Rule Rule;
const Rule *rule_parse(Session *s, Span text); /* "name @tags: lhs => rhs when guard" */
/* The pattern's variables, and both sides built over inputs of given types: false when
 * the rule is not typed for them (not diagnosed). */
size_t rule_holes(const Rule *r, Sym *names, size_t max);
bool rule_sides(const Rule *r, Graph *g, size_t n, const Var *hole, Var *lhs, Var *rhs);

#endif
