/* Parses the text of an index, and resolves slices. */
#include "op/index_text.h"

#include <string.h>

static const char *skip_spaces(const char *p) {
    while (*p == ' ')
        p++;
    return p;
}

/* `$` or nothing. */
static const char *parse_bound(const char *p, IndexItems *x, int *input) {
    p = skip_spaces(p);
    *input = -1;
    if (*p == '$') {
        *input = x->inputs++;
        p = skip_spaces(p + 1);
    }
    return p;
}

static const char *parse_item(const char *p, IndexItems *x, IndexItem *it) {
    p = skip_spaces(p);
    *it =
        (IndexItem){.kind = IX_SLICE, .start = -1, .stop = -1, .step = -1, .input = -1};
    if (strncmp(p, "None", 4) == 0) {
        it->kind = IX_NEW;
        return skip_spaces(p + 4);
    }
    if (strncmp(p, "...", 3) == 0) {
        it->kind = IX_ELLIPSIS;
        return skip_spaces(p + 3);
    }
    p = parse_bound(p, x, &it->start);
    if (*p != ':') {
        it->kind = IX_INPUT;
        it->input = it->start;
        return it->start < 0 ? NULL : p;
    }
    p = parse_bound(p + 1, x, &it->stop);
    if (*p == ':') p = parse_bound(p + 1, x, &it->step);
    return p;
}

bool index_parse(const char *text, IndexItems *out) {
    out->n = out->inputs = 0; /* each item is assigned as a whole */
    const char *p = skip_spaces(text);
    while (*p) {
        if (out->n == ITEMS_MAX) return false;
        p = parse_item(p, out, &out->item[out->n++]);
        if (!p || (*p && *p != ',')) return false;
        if (*p == ',') p = skip_spaces(p + 1);
    }
    return true;
}

static int64_t clip_bound(int64_t v, int64_t size, int64_t low, int64_t high) {
    if (v < 0) v = v < -size ? low : v + size;
    return v < low ? low : v > high ? high : v;
}

Slice slice_of(int64_t size, bool has_start, int64_t start, bool has_stop, int64_t stop,
               int64_t step) {
    Slice s = {.step = step};
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    int64_t from = has_start  ? clip_bound(start, size, low, high)
                   : step > 0 ? low
                              : high;
    int64_t to = has_stop ? clip_bound(stop, size, low, high) : step > 0 ? high : low;
    s.start = from;
    if (step > 0 && to > from) s.length = (to - from - 1) / step + 1;
    if (step < 0 && to < from)
        s.length = (int64_t)((uint64_t)(from - to - 1) / (0 - (uint64_t)step)) + 1;
    if (s.length <= 1)
        s.step = 1; /* never used; keeps huge steps out of the stride arithmetic */
    return s;
}
