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
/* What was collected under one name. Appended parts are rows, or arrays of rows. */
typedef struct Part {
    Var var;
    bool array;
} Part;
typedef struct Entry {
    Sym name;
    SowMode mode;
    Span at;
    Vec(Part) part;
    size_t nplanted;
} Entry;
typedef struct Level {
    struct Level *up;
    Sym scope; /* path of the scopes around it, 0: none */
    Vec(Entry) entry;
} Level;
typedef struct Walk {
    Builder *b;
    const HarvestSpec *h;
    Arena *arena;
    int depth;    /* of functions */
    Map moved;    /* Apply of b->g that was made anew or dropped -> its successor or
                     APPLY_NONE */
    Map touched;  /* function -> has it sows that are harvested? */
    Reaps scoped; /* of scopes that were closed */
} Walk;

/* One sow as it stands: its inputs are variables of b->g already. */
typedef struct SowCall {
    Sym name;
    SowMode mode;
    Var value, pred; /* pred: SOW_COND */
    Span at;
} SowCall;
bool is_sow(const Graph *g, ApplyId a);
Sym sow_tag(const Graph *g, ApplyId a);
SowCall sow_read(const Graph *g, ApplyId a); /* without its inputs */

/* level.c */
/* What stands for the sow; VAR_NONE: diagnosed. */
Var level_sow(Walk *w, Level *l, const SowCall *q);
/* A scope of its own inside of l. NULL: diagnosed, it was there before. */
Level *level_open(Walk *w, Level *l, Sym scope, Span at);
/* Ends a level: what it collected goes to `out`, with the names of its scopes. */
bool level_close(Walk *w, Level *l, Reaps *out);
bool level_adopt(Walk *w, Level *l, Sym name, SowMode mode, Var var, bool array,
                 Span at);

#endif
