/* Symbols: the session's arena keeps each text once; a symbol is its number. */
#include "base/session_impl.h"

#include <string.h>

/* At most eight bytes as a number: from 4 on of overlapping halves. */
static uint64_t few_bytes(const char *p, size_t n) {
    uint32_t first, last;
    uint64_t x = 0;
    if (n >= 4) {
        memcpy(&first, p, sizeof first);
        memcpy(&last, p + n - 4, sizeof last);
        return first | (uint64_t)last << 32;
    }
    for (size_t i = 0; i < n; i++)
        x = x << 8 | (unsigned char)p[i];
    return x;
}

typedef struct WantedSym {
    const SymText *syms;
    const char *p;
    size_t n;
} WantedSym;

static inline bool is_wanted_sym(const void *ctx, uint32_t id) {
    const WantedSym *w = ctx;
    const SymText *t = &w->syms[id];
    if (t->n != w->n) return false;
    if (w->n <= 8) return few_bytes(t->p, w->n) == few_bytes(w->p, w->n);
    return memcmp(t->p, w->p, w->n) == 0;
}

/* Names that count up (h1, h2, ...) become neighbours in the index: of the last byte,
 * only the last four bits are hashed, as the low bits. */
static uint32_t hash_sym_text(const char *p, size_t n) {
    if (n == 0) return index_short_hash(0);
    size_t m = n - 1;
    uint64_t h = m <= 8 ? hash_mix(m, few_bytes(p, m)) : hash_bytes(p, m, 0);
    return index_short_hash(h << 4 | (p[m] & 15));
}

static uint64_t *sym_slot(const Session *s, uint32_t hash, const char *p, size_t n) {
    WantedSym w = {s->syms.p, p, n};
    return index_slot(&s->sym_index, hash, is_wanted_sym, &w);
}

Sym sym_find(Session *s, const char *p, size_t n) {
    if (s->sym_index.n == 0) return 0;
    uint32_t id = (uint32_t)*sym_slot(s, hash_sym_text(p, n), p, n);
    return id ? id - 1 : 0;
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

/* The index has room for one more. */
static Sym intern(Session *s, uint32_t hash, const char *p, size_t n) {
    uint64_t *slot = sym_slot(s, hash, p, n);
    if (*slot) return (uint32_t)*slot - 1;
    Sym y = (Sym)s->syms.n;
    vec_push(s, &s->syms, ((SymText){keep_text(s, p, n), n}));
    index_fill(&s->sym_index, slot, hash, y);
    return y;
}

static void reserve_slots(Session *s, size_t extra) {
    const Index *x = &s->sym_index;
    if (s->syms.n == 0) vec_push(s, &s->syms, ((SymText){"", 0}));
    if (!index_has_room(x->mask + 1, x->n + extra)) index_reserve(&s->sym_index, extra);
}

void sym_reserve(Session *s, size_t extra) {
    reserve_slots(s, extra);
    vec_reserve(s, &s->syms, extra);
}

Sym sym_n(Session *s, const char *p, size_t n) {
    reserve_slots(s, 1);
    return intern(s, hash_sym_text(p, n), p, n);
}

/* In blocks whose places in the index are on their way before the first is looked at.
 */
void sym_all(Session *s, size_t n, const char *const *p, const size_t *len, Sym *out) {
    enum { BLOCK = 32 };
    uint32_t hash[BLOCK];
    for (size_t k = 0; k < n; k += BLOCK) {
        size_t m = n - k < BLOCK ? n - k : BLOCK;
        reserve_slots(s, m);
        for (size_t i = 0; i < m; i++) {
            hash[i] = hash_sym_text(p[k + i], len[k + i]);
            index_prefetch(&s->sym_index, hash[i]);
        }
        for (size_t i = 0; i < m; i++)
            out[k + i] = intern(s, hash[i], p[k + i], len[k + i]);
    }
}

Sym sym(Session *s, const char *text) {
    return sym_n(s, text, strlen(text));
}

const char *sym_text(Session *s, Sym y) {
    return y < s->syms.n ? s->syms.p[y].p : "";
}
