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
typedef struct Part Part;
typedef struct Choice Choice; /* an ifelse: branch.c */
struct Part {
    Var var;
    bool array;
    size_t row; /* its number at the level around all branches */
    /* In a branch: its number at the level around. There it stands for what is chosen
     * between the branches of `by`. */
    size_t slot;
    Choice *by;
    Var was; /* what the name had before that; or it is what another ifelse chooses: */
    Part *before;
    Span at; /* of the sow */
};
typedef struct Entry {
    Sym name;
    SowMode mode;
    Span at;
    Vec(Part) part; /* one unless they are appended */
    Dim rows;       /* that are planted for them, 0: none, or not by themselves */
} Entry;
typedef struct Scanned Scanned; /* a scan that is being harvested */
typedef struct Level {
    struct Level *up;
    Scanned *loop;      /* of a scan's body, else NULL */
    Sym scope;          /* path of the scopes around it, 0: none */
    Choice *choice;     /* a branch of this ifelse; NULL: no branch */
    struct Level *twin; /* its other branch, once something is sown there */
    Vec(Entry) entry;
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
typedef struct Walk {
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
} Walk;

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
bool is_sow(const Graph *g, ApplyId a);
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
bool check_derivative(const Graph *fn, const HarvestSpec *h, Span at);
/* Does the function, or what it calls once for each of its runs, sow the name more than
 * once? */
bool sown_often(const Graph *fn, Sym tag, Sym name);

/* level.c */
/* What stands for the sow; VAR_NONE: diagnosed. */
Var level_sow(Walk *w, Level *l, const SowCall *q);
/* A scope of its own inside of l. NULL: diagnosed, it was there before. */
Level *level_open(Walk *w, Level *l, Sym scope, Span at);
/* Ends a scope: what it collected is the level's around it, under its path. Not `ok`:
 * it is freed, and that is all; false. */
bool level_leave(Walk *w, Level *scope, bool ok, Level *l);
/* Ends the outermost level in the same way: what was collected goes to `out`. */
bool level_close(Walk *w, Level *l, bool ok, Reaps *out);
/* What a loop collected, at the level around it. */
bool level_adopt(Walk *w, Level *l, Sym name, SowMode mode, Var var, bool array,
                 Span at);
Entry *level_find(const Level *l, Sym name);

/* What is planted for name k where t is sown; for an appended name the rows of all. */
/* Does nobody else take the rows that are planted for name k? Diagnosed if not. */
bool level_takes_rows(Walk *w, const Level *l, size_t k, size_t loop);
Var level_value(Walk *w, Level *l, size_t k, const Type *t, bool append);
/* The parts of an appended name one after the other; VAR_NONE: diagnosed. */
Var level_grown(Walk *w, const Entry *e);

/* branch.c */
/* What an ifelse of which all has been seen chooses of a name that is kept once; it is
 * put in its place. VAR_NONE: diagnosed. */
Var branches_chosen(const Choice *c, Sym name, Part *place, Span at);

/* walk.c */
bool walk_all(Walk *w, Level *l, const Graph *fn, const uint8_t *live, Var *map);

/* loop.c */
bool walk_scan(Walk *w, Level *l, const Graph *src, ApplyId a, Graph *fn, const Var *in,
               Var *map);
Var loop_planted(Scanned *p, size_t k, const Type *t, bool append);
Var loop_before(Scanned *p, Sym name, const Type *t);
bool loop_is_rows(const Scanned *p); /* its steps are rows of a vectorize */
/* Is the name sown more than once in a step? */
bool loop_often(const Scanned *p, Sym name);

#endif
