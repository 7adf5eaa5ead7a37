/* A Session owns everything mutable: diagnostics, symbols, sources, types, options,
 * threads. One thread uses a session at a time. */
#ifndef BASE_SESSION_H
#define BASE_SESSION_H

#include "base/diag.h"
#include "base/pool.h"
#include "base/str.h"

#include <stdatomic.h>

/* Called when small memory runs out or a bug is found: must not return. The default
 * writes nothing and aborts. */
typedef void PanicFn(void *ctx, DiagCode code, const char *message);

/* What rows above base keep in a session: freed in reverse order of first use. */
typedef enum Slot {
    SLOT_TYPES,    /* type: interned types */
    SLOT_VALUE,    /* value: memory accounting */
    SLOT_TRANSFER, /* value: transfer hooks */
    SLOT_PROPS,    /* graph: interned props */
    SLOT_OPS,   /* op: the names of ops, those from files and plugins, parsed signatures
                 */
    SLOT_TEXTS, /* op: parsed texts of the rows */
    SLOT_OWN,   /* op: bodies of ops that are texts */
    SLOT_SERVICES, /* op: what higher rows offer to lower ones (op/services.h) */
    SLOT_RULES,    /* rewrite: parsed rule sets */
    SLOT_BLAS,     /* ops: libraries opened on first use */
    SLOT_AD,
    SLOT_VM,
    SLOT_PLUGINS, /* pipeline: libraries that were opened */
    SLOT_CHECK,   /* check: what DebugMode looks at */
    SLOT_N
} Slot;

typedef struct Options {
    int floatX;          /* a DType; -1 in a new session: float64 */
    unsigned threads;    /* 0: as many as cores */
    uint64_t max_memory; /* bytes of tensor data; 0: 90% of the smaller of RAM and
                            cgroup limit */
    int cpu_level; /* 0 baseline, 1 AVX2 (x86-64-v3), 2 AVX-512 (x86-64-v4); -1: this
                      CPU's */
    bool verbose;
} Options;

Session *session_new(PanicFn *panic, void *ctx); /* NULL panic: abort() */
void session_free(Session *s);
Options *session_options(Session *s);
Arena *session_arena(
    Session *s); /* lives as long as the session: use for small, bounded things */
Str *session_message(Session *s); /* the text that tl_error returned last */
Pool *session_pool(Session *s);   /* made on first use from options.threads */
/* A copy of machine code that may be run; NULL where that is not allowed. */
double clock_seconds(void); /* from any moment on; never goes back */
void *cpu_map_code(const void *code, size_t n);
void cpu_unmap_code(void *code, size_t n); /* NULL is fine */
int session_cpu_level(
    Session *s); /* options.cpu_level, but no more than this CPU has */
uint64_t
session_max_memory(Session *s); /* options.max_memory, or what its default comes to */
_Noreturn void session_panic(Session *s, DiagCode code, const char *message);

/* Functions call functions, and so does what works on them: only so deep, whatever is
 * done and however small the stack is. False: too deep; leave only what was entered. */
enum { CALL_DEPTH = 200 };
bool session_enter(Session *s);
void session_leave(Session *s);
bool session_too_deep(Session *s, Span at); /* E_LIMIT; false */

/* A limit of time that whoever opened the session watches. Loops look at the flag where
 * that costs little and end with session_fail_expired(); a signal handler may set it.
 */
void session_expire(Session *s);
const atomic_bool *session_expired(const Session *s);
bool session_fail_expired(Session *s, Span at); /* E_LIMIT; false */
/* What is being done, for the message of a limit that no loop noticed: "rewriting". The
 * text must stay; returns the one before. */
const char *session_set_doing(Session *s, const char *what);

void *session_slot(Session *s, Slot slot); /* NULL until set */
void session_set_slot(Session *s, Slot slot, void *p, void (*free)(void *));

#endif
