/* The contents of a Session, for the files of lib/base only. */
#ifndef BASE_SESSION_IMPL_H
#define BASE_SESSION_IMPL_H

#include "base/map.h"
#include "base/session.h"

#include <stdatomic.h>

/* A file that a signal handler removes. Nodes are reused, never freed before the
 * session. */
typedef struct TempFile {
    _Atomic(char *) path; /* NULL: unused */
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

/* A mapped file, for a signal handler and for writers. Nodes are reused, never freed
 * before the session. */
typedef struct Mapping {
    _Atomic(const char *) p; /* NULL: unused */
    size_t n;
    char *name;
    uint64_t device, inode;
    int64_t seconds, nanoseconds; /* time of its last change */
    struct Mapping *next;
} Mapping;

/* Where span_place stopped last: usually the next span is further on in the same
 * source. */
typedef struct PlaceCache {
    uint32_t source, byte, line, col;
} PlaceCache;

struct TlSession {
    PanicFn *panic;
    void *panic_ctx;
    LogFn *log; /* may be NULL */
    void *log_ctx;
    unsigned depth; /* of nested calls being processed */
    atomic_bool expired;
    atomic_bool printed; /* something went to stdout */
    LoopProgress loop;
    _Atomic(const char *) doing;
    Arena *arena;
    Options options;
    Pool *pool;
    int cpu_level;       /* this CPU's; -1 until detected */
    uint64_t max_memory; /* this machine's; 0 until detected */
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
