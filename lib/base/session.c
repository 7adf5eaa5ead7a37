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
    s->options = (Options){.floatX = -1, .cpu_level = -1};
    s->sym_index = INDEX(s);
    s->arena = arena_new(s);
    return s;
}

void session_free(Session *s) {
    if (!s) return;
    while (s->nslots > 0) {
        SlotUse *u = &s->slot[s->slot_order[--s->nslots]];
        if (u->free && u->p) u->free(u->p);
        *u = (SlotUse){NULL, NULL};
    }
    pool_free(s->pool);
    diag_clear(s);
    vec_free(&s->diags);
    vec_free(&s->sources);
    vec_free(&s->syms);
    index_free(&s->sym_index);
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

bool session_has_printed(const Session *s) {
    return atomic_load(&s->printed);
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
    return s->slot[slot].p;
}

static bool is_slot_known(const Session *s, Slot slot) {
    for (unsigned i = 0; i < s->nslots; i++)
        if (s->slot_order[i] == slot) return true;
    return false;
}

void session_set_slot(Session *s, Slot slot, void *p, void (*free_fn)(void *)) {
    SlotUse old = s->slot[slot];
    if (!is_slot_known(s, slot)) s->slot_order[s->nslots++] = (unsigned char)slot;
    s->slot[slot] = (SlotUse){p, free_fn};
    if (old.p && old.p != p && old.free) old.free(old.p);
}

void temp_register(Session *s, char *path) {
    TempFile *t = atomic_load(&s->temps);
    while (t && atomic_load(&t->path))
        t = t->next;
    if (!t) {
        t = NEW(s->arena, TempFile);
        t->next = atomic_load(&s->temps);
        atomic_store(&s->temps, t);
    }
    atomic_store(&t->path, path);
}

void temp_forget(Session *s, const char *path) {
    for (TempFile *t = atomic_load(&s->temps); t; t = t->next)
        if (atomic_load(&t->path) == path) atomic_store(&t->path, NULL);
}
