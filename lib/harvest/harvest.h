/* Sow, reap, plant and harvest as graph transformations. A sow is an identity with a
 * tag and a name. Harvesting a tag removes all its sows: users of a planted name read
 * the planted value instead; the values of all other names are collected. No sow of
 * that tag is left to harvest again.
 *
 * Several sows of one name at one level: `strict` is an error; `clobber` keeps the
 * last; `cond_clobber` keeps the last whose predicate held, zeros if none did; `append`
 * stacks one array, a row for each sow, in dependency order, else in file order (a key
 * adds a dependency). A value planted for an appended name is split into rows in the
 * same order. Calls of functions sow at the caller's level, except calls with a scope:
 * their names become SCOPE/NAME, and each scope may occur only once at a level. */
#ifndef HARVEST_HARVEST_H
#define HARVEST_HARVEST_H

#include "op/services.h"

/* The value to plant for spec->plant[k] in place of a sown value of type t: a variable
 * of b->g; VAR_NONE: diagnosed. Called once for each sow. */
typedef Var PlantFn(void *ctx, size_t k, Builder *b, const Type *t);
typedef struct HarvestSpec {
    Sym tag;
    size_t nplant, nallow, nblock;
    const Sym *plant; /* "y", "scope/y"; names that nothing sows are ignored */
    bool *used;       /* by plant: set if something sows it; may be NULL */
    PlantFn *value;
    void *ctx;
    /* Names or scopes. `allow` matches from the outermost scope on; all other sows
     * become plain identities. nallow 0 allows everything, unless `allow` is not NULL.
     * `block` then excludes names, wherever they occur in a path. */
    const Sym *allow, *block;
    bool exclusive; /* removes sows of other tags too */
} HarvestSpec;
typedef struct Reap {
    Sym name; /* "y", "scope/y" */
    Var var;
    Span at; /* of the sow */
} Reap;
typedef Vec(Reap) Reaps;

/* Harvests the Applies from `from` on, the expansion of a function, as far as roots and
 * effects need them. map has nvar entries, as of the call: the caller sets each to the
 * variable itself, and finds its replacement there afterwards. */
bool harvest_range(Builder *b, const HarvestSpec *h, ApplyId from, VarList root,
                   Var *map, Reaps *reaps);
/* Harvests a whole graph in place and removes whatever only the sows needed. With
 * `reap`, the collected values become outputs TAG/NAME. */
bool harvest_graph(Graph *g, const HarvestSpec *h, bool reap);

/* Do allow and block let this path be harvested? */
bool harvest_takes(Session *s, const HarvestSpec *h, Sym path);
/* Does a function, or anything it calls, sow under this tag (0: any)? */
bool harvest_sows(const Graph *fn, Sym tag);
/* The sows of a graph and of the functions it calls, by tag and name ("y" or
 * "scope/y"): one entry for each path of scopes. */
typedef struct Sown {
    Sym tag, name;
    Span at;
} Sown;
typedef Vec(Sown) SownList;
void harvest_list(const Graph *g, SownList *out);

#endif
