/* A thread that does one job after the other, in the order in which it gets them,
 * beside the one that gives them. */
#ifndef BASE_WORKER_H
#define BASE_WORKER_H

#include "base/mem.h"

#include <stdbool.h>

typedef struct Worker Worker;
typedef struct WorkerJob WorkerJob;
/* The giver's, until it is done. */
struct WorkerJob {
    void (*fn)(void *ctx);
    void *ctx;
    /* the worker's: */
    WorkerJob *next;
    bool done;
};
Worker *worker_new(Session *s); /* NULL: no thread can be started */
void worker_free(Worker *w);    /* once all is done; NULL is allowed */
void worker_give(Worker *w, WorkerJob *job);
/* Returns when this job is done; NULL: when all are. */
void worker_wait(Worker *w, const WorkerJob *job);

#endif
