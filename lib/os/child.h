/* Work in other processes. */
#ifndef OS_CHILD_H
#define OS_CHILD_H

#include "base/str.h"

#include <stdatomic.h>

/* A function run in a copy of the process: what it changes, remembers or breaks stays
 * there. What `work` adds to `out` in the copy is added to `out` here. False, not
 * diagnosed: the copy crashed or took too long, or there can't be one. It has no
 * threads but its own, and nothing to read or to print to. */
bool child_run(void (*work)(void *ctx, Str *out), void *ctx, double seconds, Str *out);

/* A command of sh, in a process group of its own. */
typedef struct Command {
    const char *text;
    const void *in; /* its standard input, which it may leave unread */
    size_t nin;
    bool silent;            /* what it prints goes nowhere */
    double seconds;         /* it is killed after so many; 0: never */
    const atomic_int *stop; /* it is killed once this isn't 0; NULL: never */
} Command;
typedef enum CommandEnd {
    COMMAND_EXITED,
    COMMAND_DIED, /* of a signal */
    COMMAND_LATE,
    COMMAND_STOPPED
} CommandEnd;
typedef struct CommandResult {
    CommandEnd end;
    int status; /* of the exit; the signal */
} CommandResult;
/* False: it can't be run, diagnosed. */
bool command_run(Session *s, const Command *c, CommandResult *r);

#endif
