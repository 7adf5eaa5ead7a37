/* What a Session holds: for the files of lib/base only. */
#ifndef BASE_SESSION_IMPL_H
#define BASE_SESSION_IMPL_H

#include "base/map.h"
#include "base/session.h"

#include <stdatomic.h>

/* A file that a signal handler removes. A node is made once and used again. */
typedef struct TempFile {
    _Atomic(char *) path; /* NULL: none now */
    struct TempFile *next;
} TempFile;

typedef struct SymText {
    const char *p;
    size_t n;
} SymText;

typedef struct SlotUse {
    void *p;
    void (*free)(void *);
} SlotUse;

/* A mapped file: what a signal handler and writers ask about. A node is made once and
 * used again. */
typedef struct Mapping {
    _Atomic(const char *) p; /* NULL: none now */
    size_t n;
    char *name;
    uint64_t device, inode;
    int64_t seconds, nanoseconds; /* when it was last changed */
    struct Mapping *next;
} Mapping;

/* Where span_place stopped last: the next span is usually further on in the same
 * source. */
typedef struct PlaceCache {
    uint32_t source, byte, line, col;
} PlaceCache;

struct TlSession {
    PanicFn *panic;
    void *panic_ctx;
    unsigned depth; /* of calls that are being worked on */
    atomic_bool expired;
    _Atomic(const char *) doing;
    Arena *arena;
    Options options;
    Pool *pool;
    int cpu_level;       /* this CPU's; -1 before the first look */
    uint64_t max_memory; /* this machine's; 0 before the first look */
    SlotUse slot[SLOT_N];
    unsigned char slot_order[SLOT_N];
    unsigned nslots;
    Vec(SymText) syms; /* syms.p[0] is "no symbol" */
    Index sym_index;
    Vec(Source *) sources;
    PlaceCache place;
    Vec(Diag *) diags;
    Str message;
    _Atomic(TempFile *) temps;
    _Atomic(Mapping *) mappings;
};

void temp_register(Session *s, char *path);
void temp_forget(Session *s, const char *path);

#endif
