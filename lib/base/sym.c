/* Symbols: each text is kept once in the session's arena and known by its number. */
#include "base/session_impl.h"

#include <string.h>

typedef struct Wanted {
    const SymText *syms;
    const char *p;
    size_t n;
} Wanted;

static bool same_text(const void *ctx, uint32_t id) {
    const Wanted *w = ctx;
    const SymText *t = &w->syms[id];
    return t->n == w->n && memcmp(t->p, w->p, w->n) == 0;
}

Sym sym_find(Session *s, const char *p, size_t n) {
    Wanted w = {s->syms.p, n ? p : "", n};
    uint32_t id = index_find(&s->sym_index, hash_bytes(w.p, n, 0), same_text, &w);
    return id == UINT32_MAX ? 0 : id;
}

Sym sym_n(Session *s, const char *p, size_t n) {
    Sym found = sym_find(s, p, n);
    if (found) return found;
    if (s->syms.n == 0) vec_push(s, &s->syms, ((SymText){"", 0}));
    Sym y = (Sym)s->syms.n;
    SymText t = {arena_str(s->arena, p, n), n};
    vec_push(s, &s->syms, t);
    index_add(&s->sym_index, hash_bytes(t.p, n, 0), y);
    return y;
}

Sym sym(Session *s, const char *text) {
    return sym_n(s, text, strlen(text));
}

const char *sym_text(Session *s, Sym y) {
    return y < s->syms.n ? s->syms.p[y].p : "";
}
