/* The session: created first, freed last; everything else in it is created on first
 * use. */
#include "base/session_impl.h"

#include <stdarg.h>
#include <stdlib.h>

Session *session_new(PanicFn *panic, void *ctx) {
    Session *s = calloc(1, sizeof *s);
    if (!s) {
        if (panic) panic(ctx, E_MEM, "out of memory");
        abort();
    }
    s->panic = panic;
    s->panic_ctx = ctx;
    s->cpu_level = -1;
    atomic_store(&s->heap_huge, UINTPTR_MAX);
    s->options = (Options){.floatX = -1, .cpu_level = -1};
    s->sym_index = INDEX(s);
    s->called_index = INDEX(s);
    s->arena = arena_new(s);
    return s;
}

void session_free(Session *s) {
    if (!s) return;
    while (s->nslots > 0) {
        SlotUse *u = &s->slot[s->slot_order[--s->nslots]];
        void *p = atomic_load(&u->p);
        if (u->free && p) u->free(p);
        atomic_store(&u->p, NULL);
        u->free = NULL;
    }
    pool_free(s->pool);
    diag_clear(s);
    vec_free(&s->diags);
    vec_free(&s->sources);
    vec_free(&s->place_mark);
    vec_free(&s->syms);
    index_free(&s->sym_index);
    index_free(&s->called_index);
    str_free(&s->message);
    arena_free(s->arena);
    free(s);
}

Options *session_options(Session *s) {
    return &s->options;
}
Str *session_message(Session *s) {
    s->message.s = s;
    return &s->message;
}
Arena *session_arena(Session *s) {
    return s->arena;
}

Pool *session_pool(Session *s) {
    if (!s->pool) s->pool = pool_new(s, s->options.threads);
    return s->pool;
}

_Noreturn void session_panic(Session *s, DiagCode code, const char *message) {
    if (s && s->panic) s->panic(s->panic_ctx, code, message);
    abort();
}

bool session_too_deep(Session *s, Span at) {
    return fail(s, at, E_LIMIT, "functions call each other more than %d deep",
                CALL_DEPTH);
}

bool session_enter(Session *s) {
    return s->depth < CALL_DEPTH && ++s->depth;
}

void session_leave(Session *s) {
    s->depth--;
}

void session_expire(Session *s) {
    atomic_store(&s->expired, true);
}

void session_continue(Session *s) {
    atomic_store(&s->expired, false);
}

LoopProgress *session_loop(Session *s) {
    return &s->loop;
}

const atomic_bool *session_expired(const Session *s) {
    return &s->expired;
}

void session_hush(Session *s, bool hushed) {
    atomic_store(&s->hushed, hushed);
}

bool session_is_hushed(const Session *s) {
    return atomic_load_explicit(&s->hushed, memory_order_relaxed);
}

bool session_fail_expired(Session *s, Span at) {
    const char *doing = at.source ? NULL : s->doing;
    fail(s, at, E_LIMIT, "the time allowed is over%s%s", doing ? " while " : "",
         doing ? doing : "");
    return hint(s, HINT_MAX_TIME);
}

const char *session_set_doing(Session *s, const char *what) {
    return atomic_exchange(&s->doing, what);
}

void session_set_log(Session *s, LogFn *log, void *ctx) {
    s->log = log;
    s->log_ctx = ctx;
}

bool session_is_logged(const Session *s) {
    return s->log != NULL;
}

void session_log(Session *s, const char *format, ...) {
    Str line = STR(s);
    va_list ap;
    if (!s->log) return;
    va_start(ap, format);
    str_vprintf(&line, format, ap);
    va_end(ap);
    s->log(s->log_ctx, str_text(&line));
    str_free(&line);
}

void *session_slot(Session *s, Slot slot) {
    return atomic_load(&s->slot[slot].p);
}

static bool is_slot_known(const Session *s, Slot slot) {
    for (unsigned i = 0; i < s->nslots; i++)
        if (s->slot_order[i] == slot) return true;
    return false;
}

void session_set_slot(Session *s, Slot slot, void *p, void (*free_fn)(void *)) {
    SlotUse *u = &s->slot[slot];
    void (*free_old)(void *) = u->free;
    if (!is_slot_known(s, slot)) s->slot_order[s->nslots++] = (unsigned char)slot;
    u->free = free_fn;
    void *old = atomic_exchange(&u->p, p);
    if (old && old != p && free_old) free_old(old);
}
