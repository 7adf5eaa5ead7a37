/* Symbols: the session's arena keeps each text once; a symbol is its number. */
#include "base/session_impl.h"

#include <string.h>

typedef struct WantedSym {
    const SymText *syms;
    const char *p;
    size_t n;
} WantedSym;

static bool is_wanted_sym(const void *ctx, uint32_t id) {
    const WantedSym *w = ctx;
    const SymText *t = &w->syms[id];
    return t->n == w->n && memcmp(t->p, w->p, w->n) == 0;
}

/* Names that count up (h1, h2, ...) become neighbours in the index: of the last byte,
 * only the last four bits are hashed, as the low bits. */
static uint64_t hash_sym_text(const char *p, size_t n) {
    if (n == 0) return 0;
    return hash_bytes(p, n - 1, 0) << 4 | (p[n - 1] & 15);
}

static Sym find_interned(Session *s, uint64_t hash, const char *p, size_t n) {
    WantedSym w = {s->syms.p, n ? p : "", n};
    uint32_t id = index_find(&s->sym_index, hash, is_wanted_sym, &w);
    return id == UINT32_MAX ? 0 : id;
}

Sym sym_find(Session *s, const char *p, size_t n) {
    return find_interned(s, hash_sym_text(p, n), p, n);
}

/* Texts lie side by side: an arena would align each. */
static const char *keep_text(Session *s, const char *p, size_t n) {
    enum { BLOCK = 1 << 14, LONG = BLOCK / 8 };
    if (n >= LONG) return arena_str(s->arena, p, n);
    if (n >= (size_t)(s->text_end - s->text_at)) {
        s->text_at = arena_alloc(s->arena, BLOCK);
        s->text_end = s->text_at + BLOCK;
    }
    char *q = s->text_at;
    s->text_at += n + 1;
    if (n) memcpy(q, p, n);
    q[n] = '\0';
    return q;
}

static Sym intern(Session *s, uint64_t hash, const char *p, size_t n) {
    Sym found = find_interned(s, hash, p, n);
    if (found) return found;
    if (s->syms.n == 0) vec_push(s, &s->syms, ((SymText){"", 0}));
    Sym y = (Sym)s->syms.n;
    SymText t = {keep_text(s, p, n), n};
    vec_push(s, &s->syms, t);
    index_add(&s->sym_index, hash, y);
    return y;
}

Sym sym_n(Session *s, const char *p, size_t n) {
    return intern(s, hash_sym_text(p, n), p, n);
}

/* In blocks whose places in the index are on their way before the first is looked at.
 */
void sym_all(Session *s, size_t n, const char *const *p, const size_t *len, Sym *out) {
    enum { BLOCK = 32 };
    uint64_t hash[BLOCK];
    for (size_t k = 0; k < n; k += BLOCK) {
        size_t m = n - k < BLOCK ? n - k : BLOCK;
        for (size_t i = 0; i < m; i++)
            index_expect(&s->sym_index, hash[i] = hash_sym_text(p[k + i], len[k + i]));
        for (size_t i = 0; i < m; i++)
            out[k + i] = intern(s, hash[i], p[k + i], len[k + i]);
    }
}

void sym_reserve(Session *s, size_t extra) {
    if (s->syms.n == 0) vec_push(s, &s->syms, ((SymText){"", 0}));
    vec_reserve(s, &s->syms, extra);
    index_reserve(&s->sym_index, extra);
}

Sym sym(Session *s, const char *text) {
    return sym_n(s, text, strlen(text));
}

const char *sym_text(Session *s, Sym y) {
    return y < s->syms.n ? s->syms.p[y].p : "";
}
