/* Shared by the files of lib/harvest: the state of a harvest in progress. */
#ifndef HARVEST_WALK_H
#define HARVEST_WALK_H

#include "harvest/harvest.h"

typedef enum SowMode {
    SOW_STRICT,
    SOW_APPEND,
    SOW_CLOBBER,
    SOW_COND,
    SOW_SCOPE
} SowMode;
/* A value collected under a name; var is VAR_NONE where a value was planted instead. A
 * part of an appended name is a row or an array of rows. */
typedef struct SowPart {
    Var var;
    bool array;
    size_t row; /* its number at the level outside all branches */
    /* A sow in a branch has a slot at the enclosing level, which both branches share.
     * The ifelse fills it. */
    size_t slot;                /* in a branch: the number of its slot */
    const struct Level *branch; /* in a slot: the branch that took it, else NULL */
    Var was;                    /* the name's previous value */
    bool was_open;              /* that is a slot which its ifelse has yet to fill */
    Span at;                    /* of the sow */
} SowPart;
typedef struct SowEntry {
    Sym name;
    SowMode mode;
    Span at;
    Vec(SowPart) part; /* one, unless the name is appended */
    Dim rows;          /* planted for the name if known statically, else 0 */
} SowEntry;
typedef struct Scanned Scanned; /* a scan being harvested: loop.c */
typedef struct Level {
    struct Level *up;
    Scanned *loop;      /* the scan whose body holds this level, else NULL */
    Sym scope;          /* path of the enclosing scopes, 0: none */
    struct Level *twin; /* the other branch, if this is one of an ifelse, else NULL */
    Vec(SowEntry) entry;
} Level;
typedef struct PlantedRows {
    size_t number; /* of the plant */
    const Type *type;
    Var var;
} PlantedRows;
/* Who takes the rows of a plant: a single loop takes all of them, or the sows outside
 * of loops (loop 0) take one each. */
typedef struct PlantedTo {
    size_t number, loop;
} PlantedTo;
typedef struct HarvestWalk {
    Builder *b;
    const HarvestSpec *h;
    Arena *arena;
    int depth;     /* of nested function calls */
    size_t *calls; /* calls expanded so far; shared with the bodies of loops */
    Map moved;     /* Apply of b->g that was rebuilt or removed -> its replacement or
                      APPLY_NONE */
    Map touched;   /* function -> does this harvest affect any of its sows? */
    Vec(PlantedRows) planted;
    Vec(PlantedTo) planted_to;
    size_t loops; /* counts the loops met, which are numbered from 1 */
} HarvestWalk;

/* A sow as it is about to be harvested: its inputs are already variables of b->g. */
typedef struct SowCall {
    Sym name;
    SowMode mode;
    Var value, pred; /* pred: SOW_COND only */
    Span at;
} SowCall;
/* Limits on function calls: how deeply they nest, and how many are expanded in all. */
enum { CALLS_DEPTH = 200, CALLS_MOST = 1 << 20 };

/* sown.c */
bool harvest_is_sow(const Graph *g, ApplyId a);
Sym sow_tag(const Graph *g, ApplyId a);
SowCall sow_read(const Graph *g, ApplyId a); /* without its inputs */
Graph *called_function(const Graph *g, ApplyId a);
Sym call_scope(const Graph *g, ApplyId a);
/* "scope/name"; either may be empty. */
Sym harvest_path(Session *s, Sym scope, Sym name);
/* False, diagnosed: fn is the derivative of a function that sows a planted name. */
bool harvest_check_derivative(const Graph *fn, const HarvestSpec *h, Span at);
/* Can one run of the function, with everything it calls once per run, sow the name more
 * than once? */
bool sown_often(const Graph *fn, Sym tag, Sym name);

/* level.c */
/* The value that replaces the sow; VAR_NONE: diagnosed. */
Var level_sow(HarvestWalk *w, Level *l, const SowCall *q);
/* Opens a scope within l. NULL, diagnosed: l already has that scope. */
Level *level_open(HarvestWalk *w, Level *l, Sym scope, Span at);
/* Ends a scope: moves its entries to the level l around it, under the scope's path.
 * Returns `ok`; if false, it only frees. */
bool level_leave(HarvestWalk *w, Level *scope, bool ok, Level *l);
/* Ends the outermost level: appends the collected values to `out`. Returns `ok`; if
 * false, it only frees. */
bool level_close(HarvestWalk *w, Level *l, bool ok, Reaps *out);
void level_free(Level *l); /* its entries */
/* Enters a value that an inner loop or scope has collected. */
bool level_adopt(HarvestWalk *w, Level *l, Sym name, SowMode mode, const SowPart *from);
SowEntry *level_find(const Level *l, Sym name);
/* Is the part a slot of the ifelse of which l is a branch? */
static inline bool sow_is_of_branch(const SowPart *p, const Level *l) {
    return p->branch && (p->branch == l || p->branch == l->twin);
}
static inline bool sow_keeps_last(SowMode m) {
    return m == SOW_CLOBBER || m == SOW_COND;
}

/* May `loop` (0: sows outside of loops) take the rows planted for name k? False,
 * diagnosed: somebody else takes them already. */
bool level_takes_rows(HarvestWalk *w, const Level *l, size_t k, size_t loop);
/* The value to plant for name k in place of a value of type t; for an appended name,
 * all its rows. */
Var level_plant_value(HarvestWalk *w, Level *l, size_t k, const Type *t, bool append);
/* Concatenates the parts of an appended name; VAR_NONE: diagnosed. */
Var level_concatenate(HarvestWalk *w, const SowEntry *e);

/* walk.c */
/* What is walked of a graph: from an Apply on, what is live; the roots need it. */
typedef struct HarvestRange {
    ApplyId from;
    const uint8_t *live; /* by variable */
    VarList root;
} HarvestRange;
bool walk_all(HarvestWalk *w, Level *l, const Graph *fn, const uint8_t *live, Var *map);

/* loop.c */
bool walk_scan(HarvestWalk *w, Level *l, const Graph *src, ApplyId a, const Var *in,
               Var *map);
Var scanned_planted(Scanned *p, size_t k, const Type *t, bool append);
Var scanned_before(Scanned *p, Sym name, const Type *t);
bool scanned_is_vmap(const Scanned *p); /* its steps are rows of a vectorize */
/* Is the name sown more than once in a step? */
bool scanned_is_sown_often(const Scanned *p, Sym name);

#endif
