/* A Session owns everything mutable: diagnostics, symbols, sources, types, options,
 * threads. One thread uses a session at a time. */
#ifndef BASE_SESSION_H
#define BASE_SESSION_H

#include "base/diag.h"
#include "base/pool.h"
#include "base/str.h"

#include <stdatomic.h>

/* Called when small memory runs out or a bug is found; must not return. The default
 * prints nothing and aborts. */
typedef void PanicFn(void *ctx, DiagCode code, const char *message);

/* What rows above base keep in a session. Freed in reverse order of first use. */
typedef enum Slot {
    SLOT_FILES,    /* os: what signal handlers know of open files */
    SLOT_TYPES,    /* type: interned types */
    SLOT_VALUE,    /* value: memory accounting */
    SLOT_TRANSFER, /* value: transfer hooks */
    SLOT_STDIN,    /* value: what standard input held */
    SLOT_PROPS,    /* graph: interned props */
    SLOT_OPS,      /* op: names of ops, ops from files and plugins, signatures */
    SLOT_TEXTS,    /* op: parsed texts of the rows */
    SLOT_OWN,      /* userop: bodies of user ops */
    SLOT_SERVICES, /* op: what higher rows provide for lower ones (op/services.h) */
    SLOT_INPUTS,   /* io: files that sources lie in */
    SLOT_RULES,    /* rewrite: parsed rule sets */
    SLOT_BLAS,     /* ops: libraries opened on first use */
    SLOT_FFT,      /* ops: plans of Fourier transforms */
    SLOT_AD,
    SLOT_OPTIM, /* optim: optimizers and schedules */
    SLOT_VM,
    SLOT_PLUGINS, /* tools: opened libraries */
    SLOT_CHECK,   /* check: state of DebugMode */
    SLOT_N
} Slot;

typedef struct Options {
    int floatX;          /* a DType; -1 in a new session: float64 */
    unsigned threads;    /* 0: as many as cores */
    uint64_t max_memory; /* bytes of tensor data; 0: 90% of the smaller of RAM and
                            cgroup limit */
    int cpu_level; /* 0 baseline, 1 AVX2 (x86-64-v3), 2 AVX-512 (x86-64-v4); -1: this
                      CPU's */
} Options;

Session *session_new(PanicFn *panic, void *ctx); /* NULL panic: abort() */
void session_free(Session *s);
Options *session_options(Session *s);
Arena *session_arena(
    Session *s); /* lives as long as the session: use for small, bounded things */
Str *session_message(Session *s); /* the text last returned by tl_error */
Pool *session_pool(Session *s);   /* created on first use, from options.threads */
double clock_seconds(void);       /* since some fixed moment; monotonic */
/* A copy of machine code that can be executed; NULL where that is not allowed. */
void *cpu_map_code(const void *code, size_t n);
void cpu_unmap_code(void *code, size_t n); /* NULL is fine */
int session_cpu_level(Session *s); /* options.cpu_level, limited to what this CPU has */
/* A pointer to that of NAME0, NAME1 and NAME2, loops compiled for each level, which
 * this CPU runs best. */
#if defined(__x86_64__)
#define FOR_CPU_LEVEL(s, NAME)                                                         \
    (session_cpu_level(s) >= 2   ? &NAME##2                                            \
     : session_cpu_level(s) == 1 ? &NAME##1                                            \
                                 : &NAME##0)
#else
#define FOR_CPU_LEVEL(s, NAME) ((void)(s), &NAME##0)
#endif
uint64_t
session_max_memory(Session *s); /* options.max_memory, or its default in bytes */
/* Are these bytes more than that? Of few, the machine needn't be asked. */
bool session_exceeds_memory(Session *s, uint64_t bytes);
_Noreturn void session_panic(Session *s, DiagCode code, const char *message);

/* Limits how deeply functions that call functions are processed, whatever the operation
 * and however small the stack. False: too deep; call session_leave only after a
 * successful session_enter. */
enum { CALL_DEPTH = 200 };
bool session_enter(Session *s);
void session_leave(Session *s);
bool session_too_deep(Session *s, Span at); /* E_LIMIT; false */

/* A time limit, watched by whoever opened the session. Loops check the flag where that
 * costs little and end with session_fail_expired(); a signal handler may set it. */
void session_expire(Session *s);
void session_continue(Session *s); /* work goes on although the time had expired */
const atomic_bool *session_expired(const Session *s);
bool session_fail_expired(Session *s, Span at); /* E_LIMIT; false */
/* The current activity, "rewriting", for the message if no loop notices that the time
 * has expired. The text must stay valid; returns the previous one. */
const char *session_set_doing(Session *s, const char *what);

/* What is being done, line by line, for people who ask for it. */
typedef void LogFn(void *ctx, const char *line);
void session_set_log(Session *s, LogFn *log, void *ctx); /* NULL, at first: no one */
bool session_is_logged(const Session *s); /* else a line needn't be made */
void session_log(Session *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* How far the outermost loop that runs has come, for whoever watches from another
 * thread. */
typedef struct LoopProgress {
    atomic_llong done, steps; /* steps 0: none runs */
} LoopProgress;
LoopProgress *session_loop(Session *s);
/* While several threads run what may fail and can be run again by one: diagnostics are
 * dropped, and nothing may be planned. */
void session_hush(Session *s, bool hushed);
bool session_is_hushed(const Session *s);

void *session_slot(Session *s, Slot slot); /* NULL until set */
void session_set_slot(Session *s, Slot slot, void *p, void (*free)(void *));

#endif
