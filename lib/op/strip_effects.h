/* Functions as derivatives run them once more: without effects, which the first run
 * had. */
#ifndef OP_STRIP_EFFECTS_H
#define OP_STRIP_EFFECTS_H

#include "op/op.h"

/* fn itself when it has no effects; else a function NAME_quiet of the main graph, made
 * once, in which what passed through a sow, a print or an assertion goes past it, also
 * in the functions that it calls. Derivatives of its own stay. Ops of plugins that have
 * effects and pass nothing on are kept. NULL: functions call each other too deep,
 * E_LIMIT. */
const Graph *graph_strip_effects(Graph *main, const Graph *fn);

#endif
