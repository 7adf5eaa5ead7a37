/* Ways: the innermost calls that lead to one that may fail. Where each call is to fail
 * once, the first by each way stands for the others. */
#ifndef PROP_WAYS_H
#define PROP_WAYS_H

#include <execinfo.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WAY_DEEPEST = 32, WAY_SLOTS = 1 << 20, WAYS_FRESH = 1 << 16 };

/* Of all runs that were noted. */
static struct {
    size_t depth; /* calls of a way */
    bool noting;
    const void *of; /* ways that begin here are others */
    uint64_t *slot; /* hashes of what was seen; 0: free */
    size_t *fresh;  /* numbers of calls that new ways led to, in this run */
    size_t n, nfresh;
} ways;

static inline void ways_open(size_t depth) {
    ways.depth = depth < WAY_DEEPEST ? depth : WAY_DEEPEST;
    ways.slot = calloc(WAY_SLOTS, sizeof *ways.slot);
    ways.fresh = calloc(WAYS_FRESH, sizeof *ways.fresh);
    if (!ways.slot || !ways.fresh) abort();
}

static inline uint64_t way_hash(void) {
    void *from[WAY_DEEPEST];
    int n = backtrace(from, (int)ways.depth);
    uint64_t h = 14695981039346656037u ^ (uintptr_t)ways.of;
    for (int i = 0; i < n; i++)
        h = (h ^ (uintptr_t)from[i]) * 1099511628211u;
    return h ? h : 1;
}

static inline bool way_is_new(void) {
    uint64_t h = way_hash();
    size_t i = (size_t)(h >> 44) % WAY_SLOTS;
    for (; ways.slot[i]; i = (i + 1) % WAY_SLOTS)
        if (ways.slot[i] == h) return false;
    ways.slot[i] = h;
    return ++ways.n < WAY_SLOTS / 2;
}

/* Call `number` of this run. */
static inline void way_note(size_t number) {
    if (ways.noting && ways.nfresh < WAYS_FRESH && way_is_new())
        ways.fresh[ways.nfresh++] = number;
}

/* A command that shows the names of the calls that a backtrace came from. */
extern const char __executable_start[];
static inline const char *way_names(const char *program, int n, void *const *from) {
    static char text[1000];
    size_t len = (size_t)snprintf(text, sizeof text, "addr2line -fspe %s", program);
    for (int i = 1; i < n && len < sizeof text; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, " %#tx",
                                (const char *)from[i] - __executable_start);
    return text;
}

#endif
