/* Sources: the texts that spans point into, and how spans become lines and columns. */
#include "base/session_impl.h"

#include <string.h>

uint32_t source_add_there(Session *s, const char *name, const char *text, size_t len,
                          uint32_t line, uint32_t col) {
    Source *src = NEW(s->arena, Source);
    src->name = arena_str(s->arena, name, strlen(name));
    src->text = text;
    src->len = len;
    src->first_line = line;
    src->first_col = col;
    vec_push(s, &s->sources, src);
    return src->of = (uint32_t)s->sources.n;
}

uint32_t source_add_at(Session *s, const char *name, const char *text, size_t len,
                       uint32_t line, uint32_t col) {
    return source_add_there(s, name, arena_str(s->arena, text, len), len, line, col);
}

uint32_t source_add(Session *s, const char *name, const char *text, size_t len) {
    return source_add_at(s, name, text, len, 1, 1);
}

typedef struct CalledSource {
    const Session *s;
    uint32_t of;
    Span call;
} CalledSource;

static bool is_called_source(const void *ctx, uint32_t id) {
    const CalledSource *want = ctx;
    const Source *src = want->s->sources.p[id - 1];
    return src->of == want->of && src->called.source == want->call.source &&
           src->called.begin == want->call.begin && src->called.end == want->call.end;
}

static uint32_t called_source(Session *s, uint32_t of, Span call) {
    CalledSource want = {s, of, call};
    uint64_t hash =
        hash_mix(hash_mix(hash_mix(of, call.source), call.begin), call.end) * 16;
    uint32_t have = index_find(&s->called_index, hash, is_called_source, &want);
    if (have != UINT32_MAX) return have;
    Source *src = NEW(s->arena, Source);
    *src = *s->sources.p[of - 1];
    src->calls = 1 + s->sources.p[call.source - 1]->calls;
    src->called = call;
    vec_push(s, &s->sources, src);
    index_add(&s->called_index, hash, (uint32_t)s->sources.n);
    return (uint32_t)s->sources.n;
}

/* A text that was called is called from elsewhere if its caller is. */
uint32_t source_called(Session *s, uint32_t source, Span call) {
    const Source *src = source_get(s, source), *from = source_get(s, call.source);
    if (!src || !from || src->calls + from->calls >= CALL_DEPTH) return source;
    if (!src->calls) return called_source(s, source, call);
    Span at = src->called;
    at.source = source_called(s, at.source, call);
    return called_source(s, src->of, at);
}

const Source *source_get(Session *s, uint32_t source) {
    return source == 0 || source > s->sources.n ? NULL : s->sources.p[source - 1];
}

bool source_is_same(Session *s, uint32_t x, uint32_t y) {
    const Source *a = source_get(s, x), *b = source_get(s, y);
    return a && b && a->of == b->of;
}

size_t source_count(Session *s) {
    return s->sources.n;
}

static void advance_place(Session *s, const Source *src, uint32_t to) {
    PlaceCache *at = &s->place;
    for (; at->byte < to; at->byte++) {
        if (at->byte % PLACE_STRIDE == 0 && at->byte / PLACE_STRIDE == s->place_mark.n)
            vec_push(s, &s->place_mark, *at);
        unsigned char c = (unsigned char)src->text[at->byte];
        if (c == '\n') {
            at->line++;
            at->col = 1;
        } else if ((c & 0xC0U) != 0x80U) { /* one for each UTF-8 character */
            at->col++;
        }
    }
}

void span_place(Session *s, Span at, uint32_t *line, uint32_t *col) {
    const Source *src = source_get(s, at.source);
    *line = *col = 1;
    if (!src) return;
    uint32_t to = at.begin < src->len ? at.begin : (uint32_t)src->len;
    if (s->place.source != at.source) {
        s->place = (PlaceCache){at.source, 0, src->first_line, src->first_col};
        s->place_mark.n = 0;
    }
    if (s->place.byte > to) s->place = s->place_mark.p[to / PLACE_STRIDE];
    advance_place(s, src, to);
    *line = s->place.line;
    *col = s->place.col;
}
