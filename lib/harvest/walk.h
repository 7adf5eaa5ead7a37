/* What the files of lib/harvest share: one harvest under way. */
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
/* What was collected under one name, VAR_NONE where it was planted. Appended parts are
 * rows, or arrays of rows. */
typedef struct SowPart SowPart;
typedef struct IfelseChoice IfelseChoice; /* an ifelse: branch.c */
struct SowPart {
    Var var;
    bool array;
    size_t row; /* its number at the level around all branches */
    /* In a branch: its number at the level around. There it stands for what is chosen
     * between the branches of `by`. */
    size_t slot;
    IfelseChoice *by;
    Var was; /* what the name had before that; or it is what another ifelse chooses: */
    SowPart *before;
    Span at; /* of the sow */
};
typedef struct SowEntry {
    Sym name;
    SowMode mode;
    Span at;
    Vec(SowPart) part; /* one unless they are appended */
    Dim rows;          /* that are planted for them, 0: none, or not by themselves */
} SowEntry;
typedef struct Scanned Scanned; /* a scan that is being harvested */
typedef struct Level {
    struct Level *up;
    Scanned *loop;        /* of a scan's body, else NULL */
    Sym scope;            /* path of the scopes around it, 0: none */
    IfelseChoice *choice; /* a branch of this ifelse; NULL: no branch */
    struct Level *twin;   /* its other branch, once something is sown there */
    Vec(SowEntry) entry;
} Level;
typedef struct PlantedRows {
    size_t number; /* of the plant */
    const Type *type;
    Var var;
} PlantedRows;
/* Who takes the rows of a plant: a loop all, or sows beside loops (0) one by one. */
typedef struct PlantedTo {
    size_t number, loop;
} PlantedTo;
typedef struct HarvestWalk {
    Builder *b;
    const HarvestSpec *h;
    Arena *arena;
    int depth;     /* of functions */
    size_t *calls; /* that were worked out */
    Map moved;     /* Apply of b->g that was made anew or dropped -> its successor or
                      APPLY_NONE */
    Map touched;   /* function -> has it sows that are harvested? */
    Vec(PlantedRows) planted;
    Vec(PlantedTo) planted_to;
    size_t loops; /* that were met: their numbers begin at 1 */
} HarvestWalk;

/* One sow as it stands: its inputs are variables of b->g already. */
typedef struct SowCall {
    Sym name;
    SowMode mode;
    Var value, pred; /* pred: SOW_COND */
    Span at;
} SowCall;
/* Of functions that call each other: how deep, and how many in all. */
enum { CALLS_DEPTH = 200, CALLS_MOST = 1 << 20 };

/* sown.c */
bool harvest_is_sow(const Graph *g, ApplyId a);
Sym sow_tag(const Graph *g, ApplyId a);
SowCall sow_read(const Graph *g, ApplyId a); /* without its inputs */
Graph *called_function(const Graph *g, ApplyId a);
Sym call_scope(const Graph *g, ApplyId a);
typedef Vec(Var) Vars;
Vars harvest_roots(const Graph *g); /* what a graph is for; free it */
/* "scope/name"; either may be empty. */
Sym harvest_path(Session *s, Sym scope, Sym name);
/* Not, if fn is the derivative of a function that sows what is planted: false,
 * diagnosed. */
bool harvest_check_derivative(const Graph *fn, const HarvestSpec *h, Span at);
/* Does the function, or what it calls once for each of its runs, sow the name more than
 * once? */
bool sown_often(const Graph *fn, Sym tag, Sym name);

/* level.c */
/* What stands for the sow; VAR_NONE: diagnosed. */
Var level_sow(HarvestWalk *w, Level *l, const SowCall *q);
/* A scope of its own inside of l. NULL: diagnosed, it was there before. */
Level *level_open(HarvestWalk *w, Level *l, Sym scope, Span at);
/* Ends a scope: what it collected is the level's around it, under its path. Not `ok`:
 * it is freed, and that is all; false. */
bool level_leave(HarvestWalk *w, Level *scope, bool ok, Level *l);
/* Ends the outermost level in the same way: what was collected goes to `out`. */
bool level_close(HarvestWalk *w, Level *l, bool ok, Reaps *out);
/* What a loop collected, at the level around it. */
bool level_adopt(HarvestWalk *w, Level *l, Sym name, SowMode mode, Var var, bool array,
                 Span at);
SowEntry *level_find(const Level *l, Sym name);

/* What is planted for name k where t is sown; for an appended name the rows of all. */
/* Does nobody else take the rows that are planted for name k? Diagnosed if not. */
bool level_takes_rows(HarvestWalk *w, const Level *l, size_t k, size_t loop);
Var level_plant_value(HarvestWalk *w, Level *l, size_t k, const Type *t, bool append);
/* The parts of an appended name one after the other; VAR_NONE: diagnosed. */
Var level_concatenate(HarvestWalk *w, const SowEntry *e);

/* branch.c */
/* What an ifelse of which all has been seen chooses of a name that is kept once; it is
 * put in its place. VAR_NONE: diagnosed. */
Var branches_chosen(const IfelseChoice *c, Sym name, SowPart *place, Span at);

/* walk.c */
bool walk_all(HarvestWalk *w, Level *l, const Graph *fn, const uint8_t *live, Var *map);

/* loop.c */
bool walk_scan(HarvestWalk *w, Level *l, const Graph *src, ApplyId a, Graph *fn,
               const Var *in, Var *map);
Var scanned_planted(Scanned *p, size_t k, const Type *t, bool append);
Var scanned_before(Scanned *p, Sym name, const Type *t);
bool scanned_is_vmap(const Scanned *p); /* its steps are rows of a vectorize */
/* Is the name sown more than once in a step? */
bool scanned_is_sown_often(const Scanned *p, Sym name);

#endif
