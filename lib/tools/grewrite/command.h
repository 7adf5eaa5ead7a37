/* A graph put to the user's command: --bisect, --reduce. */
#ifndef TOOLS_GREWRITE_COMMAND_H
#define TOOLS_GREWRITE_COMMAND_H

#include "os/child.h"
#include "tools/tools.h"

/* Runs the command with the graph, as tlg, on its standard input. False: diagnosed. */
bool graph_try_command(Graph *g, const Command *c, CommandResult *end);

#endif
