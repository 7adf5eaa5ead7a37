/* Standard input that somebody writes while we read. */
#ifndef OS_STDIN_H
#define OS_STDIN_H

#include <stdbool.h>

/* Waits until it has more bytes, or its end. False: a signal came first. */
bool stdin_wait(void);

#endif
