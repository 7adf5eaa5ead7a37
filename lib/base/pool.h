/* A pool of threads that runs chunks of one job at a time. Which thread runs a chunk is
 * not fixed; chunk boundaries are the caller's and must not depend on the number of
 * threads. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/mem.h"

typedef struct Pool Pool;
typedef void ChunkFn(void *ctx, size_t chunk,
                     unsigned worker); /* worker < pool_threads() */
/* Threads are started by the first pool_run that needs them. */
Pool *pool_new(Session *s, unsigned threads);
void pool_free(Pool *p);
unsigned pool_threads(const Pool *p);
/* Runs fn(ctx, 0..n-1), the caller's thread included; returns when all are done. Waking
 * costs microseconds: pass n = 1 for small jobs. Calls from inside a chunk run inline,
 * and so do all without a pool (NULL). */
void pool_run(Pool *p, size_t n, ChunkFn *fn, void *ctx);

#endif
