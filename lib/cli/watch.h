/* A run of the graph on its way: the progress line of a terminal, SIGUSR1, and signals
 * that end the run in order: its call ends, or is left after 2 s. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "cli/cli.h"
#include "tools/grun/run.h"

typedef struct Watch Watch;
typedef struct WatchOptions {
    bool line, at_once; /* a progress line; not only after a second */
    bool keeps;         /* SIGINT and SIGTERM end the run in order, since it has
                         * something to keep */
    bool quiet;         /* another rank says how the run ended */
    bool ranks;         /* there are others, who soon kill what doesn't end */
    const char *save;   /* the file for that; NULL: none */
} WatchOptions;
/* Fills in the callbacks; close it after the run. */
Watch *watch_open(Run *r, const WatchOptions *o, RunWatch *calls);
bool watch_ended_early(const Watch *w); /* by a signal; what is kept was kept */
void watch_close(Watch *w);

/* In signal handlers. False: nobody watches a run that could end in order, or this is
 * the second request. */
bool watch_stop(Watch *w, int sig);
void watch_poke(Watch *w); /* shows the progress line */
/* Around other output to the terminal, and before the program ends. */
void watch_screen(Watch *w, bool taken);
void watch_erase(Watch *w); /* async-signal-safe */

#endif
