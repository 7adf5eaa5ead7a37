/* Sources: the texts that spans point into, and how spans become lines and columns. */
#include "base/session_impl.h"

#include <string.h>

uint32_t source_add_at(Session *s, const char *name, const char *text, size_t len,
                       uint32_t line, uint32_t col) {
    Source *src = NEW(s->arena, Source);
    src->name = arena_str(s->arena, name, strlen(name));
    src->text = arena_str(s->arena, text, len);
    src->len = len;
    src->first_line = line;
    src->first_col = col;
    vec_push(s, &s->sources, src);
    return (uint32_t)s->sources.n;
}

uint32_t source_add(Session *s, const char *name, const char *text, size_t len) {
    return source_add_at(s, name, text, len, 1, 1);
}

const Source *source_get(Session *s, uint32_t source) {
    return source == 0 || source > s->sources.n ? NULL : s->sources.p[source - 1];
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
