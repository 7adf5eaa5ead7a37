/* A tool as one of several ranks that mpirun has started: opens the messages between
 * them, and decides which rank says what. */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H

#include "cli/cli.h"
#include "op/ranks.h"

#include <signal.h>

/* Does nothing unless the environment is that of a rank. False: diagnosed. */
bool rank_open(Run *r);
/* Before the end: have all ranks succeeded? *reports: this rank says why not. */
bool rank_settle(Run *r, bool ok, bool *reports);
/* After a failure: false if another rank has said why all end; else a note tells whose
 * this one is. */
bool rank_explains(const Run *r);
/* The exit status on which the ranks agreed; else `status`. */
int rank_status(const Run *r, int status);
void rank_close(Run *r, int status);
/* A rank that ends at once says why by itself, and tells the others of its machine by a
 * signal, which does nothing else: then they don't. Both are for signal handlers.
 * False: another rank says why. */
enum { RANK_TOLD = SIGURG };
bool rank_may_panic(const Run *r);
void rank_where(const Run *r, char text[48]); /* " on rank 1 of 4"; "" of one alone */
void rank_told(const Run *r, int by);
/* In signal handlers: one line, if a rank of this machine is gone and no other says
 * so. */
void rank_note_gone(const Run *r);
/* Is this rank 0, or alone? */
bool rank_is_first(const Run *r);
/* Threads for each rank on this machine, if --threads doesn't say. */
unsigned rank_threads(const Run *r);

#endif
