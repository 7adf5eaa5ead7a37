/* Functions without effects: a derivative runs a function's body once more, and only
 * the first run must have the effects. */
#ifndef OP_STRIP_EFFECTS_H
#define OP_STRIP_EFFECTS_H

#include "op/op.h"

/* fn itself if it has no effects; else a function NAME_quiet of the main graph, made
 * once, in which values bypass every sow, print and assertion, also in the functions it
 * calls. Custom derivatives are kept, and so are plugin ops that have effects but don't
 * pass their input through. NULL: function calls nest too deeply, E_LIMIT. */
const Graph *graph_strip_effects(Graph *main, const Graph *fn);

#endif
