/* The contents of a Session, for the files of lib/base only. */
#ifndef BASE_SESSION_IMPL_H
#define BASE_SESSION_IMPL_H

#include "base/map.h"
#include "base/session.h"

#include <stdatomic.h>

typedef struct SymText {
    const char *p;
    size_t n;
} SymText;

typedef struct SlotUse {
    _Atomic(void *) p; /* signal handlers look at it */
    void (*free)(void *);
} SlotUse;

/* Where span_place stopped last: usually the next span is further on in the same
 * source. */
typedef struct PlaceCache {
    uint32_t source, byte, line, col;
} PlaceCache;
enum { PLACE_STRIDE = 4096 };

struct TlSession {
    PanicFn *panic;
    void *panic_ctx;
    LogFn *log; /* may be NULL */
    void *log_ctx;
    unsigned depth; /* of nested calls being processed */
    atomic_bool expired;
    LoopProgress loop;
    _Atomic(const char *) doing;
    Arena *arena;
    _Atomic(uintptr_t) heap_huge; /* the heap beyond this was not advised (mem.c) */
    Options options;
    Pool *pool;
    int cpu_level;       /* this CPU's; -1 until detected */
    uint64_t max_memory; /* this machine's; 0 until detected */
    SlotUse slot[SLOT_N];
    unsigned char slot_order[SLOT_N];
    unsigned nslots;
    Vec(SymText) syms;        /* syms.p[0] is "no symbol" */
    char *text_at, *text_end; /* room for more texts of symbols */
    Index sym_index;
    Vec(Source *) sources;
    Index called_index; /* of those by source_called */
    PlaceCache place;
    Vec(PlaceCache) place_mark; /* of its source: every PLACE_STRIDE bytes */
    Vec(Diag *) diags;
    atomic_bool hushed;
    Str message;
};

#endif
