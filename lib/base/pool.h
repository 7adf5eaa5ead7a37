/* A pool of threads that runs the chunks of one job at a time. Any thread may run any
 * chunk; the caller sets the boundaries of chunks, which must not depend on the number
 * of threads. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/mem.h"

typedef struct Pool Pool;
typedef void ChunkFn(void *ctx, size_t chunk,
                     unsigned worker); /* worker < pool_threads() */
/* The first pool_run that needs threads starts them. */
Pool *pool_new(Session *s, unsigned threads);
void pool_free(Pool *p);
unsigned pool_threads(const Pool *p);
/* Runs fn(ctx, 0..n-1), also on the caller's thread; returns when all are done. Waking
 * threads takes microseconds: pass n = 1 for small jobs. Calls from inside a chunk run
 * inline, and so do all calls without a pool (NULL). */
void pool_run(Pool *p, size_t n, ChunkFn *fn, void *ctx);

#endif
