/* Sow, harvest, reap, plant as transformations of graphs. A sow is an
 * identity with a tag and a name; harvesting a tag takes its sows away: a planted name
 * gives its value to what follows, all others are collected, and nothing of that tag is
 * left to harvest again.
 *
 * Several sows of one name at one level: `strict` refuses; `clobber` keeps the last;
 * `cond_clobber` keeps the last whose predicate held, zeros if none did; `append` grows
 * one array, a row a sow, in the order in which the sows depend on each other, else
 * that of the file (a key makes an order). A planted appended name gives its rows in
 * the same order. Calls of functions belong to the level of the caller, except those
 * with a scope: their names become SCOPE/NAME, and a scope stands once at a level. */
#ifndef HARVEST_HARVEST_H
#define HARVEST_HARVEST_H

#include "op/services.h"

/* The value that is planted for spec->plant[k], where one of type t is sown: a variable
 * of b->g; VAR_NONE: diagnosed. Asked once for each sow. */
typedef Var PlantFn(void *ctx, size_t k, Builder *b, const Type *t);
typedef struct HarvestSpec {
    Sym tag;
    size_t nplant, nallow, nblock;
    const Sym *plant; /* "y", "scope/y"; names that nothing sows are ignored */
    bool *used;       /* by plant: set where something sows it; may be NULL */
    PlantFn *value;
    void *ctx;
    /* Names or scopes, from the outermost scope on, that are taken, all others being no
     * more than identities. nallow 0: all, unless `allow` is not NULL. Then those that
     * are not, wherever they stand in a path. */
    const Sym *allow, *block;
    bool exclusive; /* sows of other tags are dropped too */
} HarvestSpec;
typedef struct Reap {
    Sym name; /* "y", "scope/y" */
    Var var;
    Span at; /* of the sow */
} Reap;
typedef Vec(Reap) Reaps;

/* Harvests what the Applies from `from` on do for the roots and by their effects: a
 * function was expanded to them. map, nvar entries at the time of the call, holds each
 * variable itself before and what stands for it after. */
bool harvest_range(Builder *b, const HarvestSpec *h, ApplyId from, size_t nroot,
                   const Var *root, Var *map, Reaps *reaps);
/* Harvests a whole graph in place, and drops what only the sows needed; with `reap`
 * what was collected becomes outputs TAG/NAME. */
bool harvest_graph(Graph *g, const HarvestSpec *h, bool reap);

/* Do allow and block take the path? */
bool harvest_takes(Session *s, const HarvestSpec *h, Sym path);
/* Is there a sow of this tag (0: any) in a function, or in what it calls? */
bool harvest_sows(const Graph *fn, Sym tag);
/* The sows of a graph and of the functions it uses, by tag and name, "y" or "scope/y";
 * one for each way to it. */
typedef struct Sown {
    Sym tag, name;
    Span at;
} Sown;
typedef Vec(Sown) SownList;
void harvest_list(const Graph *g, SownList *out);

#endif
