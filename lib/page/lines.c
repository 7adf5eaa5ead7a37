/* The lines of files that Applies come from, with their text. */
#include "page/page_impl.h"

#include <stdlib.h>
#include <string.h>

typedef struct LineIndex { /* where the lines of a source begin */
    uint32_t *begin;
    uint32_t n;
    uint32_t number; /* of the file's name in the page */
    bool known, none;
} LineIndex;

static uint32_t source_of_name(Page *p, const char *name) {
    PageTables *t = p->tables;
    Sym y = sym(p->s, name);
    uint64_t found;
    if (map_get(&t->source_number, y, &found)) return (uint32_t)found;
    SourceLines new = {y, MAP(p->s)};
    vec_push(p->s, &t->source, new);
    map_put(&t->source_number, y, t->source.n - 1);
    return (uint32_t)(t->source.n - 1);
}

/* The text of an option is no file. */
static void index_lines(Page *p, const Source *src, LineIndex *x) {
    uint32_t n = 1;
    x->known = true;
    x->none = strncmp(src->name, "--", 2) == 0;
    if (x->none) return;
    for (size_t i = 0; i < src->len; i++)
        n += src->text[i] == '\n';
    x->begin = NEW_N(p->a, (size_t)n, uint32_t);
    for (size_t i = 0; i < src->len; i++)
        if (src->text[i] == '\n') x->begin[++x->n] = (uint32_t)i + 1;
    x->n++;
    x->number = source_of_name(p, src->name);
}

static LineIndex *index_of(Page *p, uint32_t source) {
    PageTables *t = p->tables;
    if (source >= t->nindex) {
        size_t n = source_count(p->s) + 1;
        LineIndex *all = NEW_N(p->a, n, LineIndex);
        if (t->nindex) memcpy(all, t->index, t->nindex * sizeof *all);
        t->index = all;
        t->nindex = n;
    }
    return &t->index[source];
}

/* The last line that begins at or before a byte. */
static uint32_t line_at(const LineIndex *x, uint32_t byte) {
    uint32_t lo = 0, hi = x->n;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (x->begin[mid] <= byte)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

enum { LINE_SHOWN = 400 }; /* bytes */

static uint32_t text_of_line(Page *p, const Source *src, const LineIndex *x,
                             uint32_t line) {
    size_t from = x->begin[line], n = 0;
    while (from + n < src->len && src->text[from + n] != '\n')
        n++;
    while (n > 0 && src->text[from + n - 1] == '\r')
        n--;
    bool cut = n > LINE_SHOWN;
    if (cut) n = LINE_SHOWN;
    while (cut && n > 0 && ((unsigned char)src->text[from + n] & 0xc0) == 0x80)
        n--;
    Str text = STR(p->s);
    str_add(&text, src->text + from, n);
    if (cut) str_puts(&text, " \xe2\x80\xa6");
    uint32_t number = page_string(p, str_text(&text));
    str_free(&text);
    return number;
}

uint32_t page_line(Page *p, const Graph *g, ApplyId id, uint32_t *source) {
    Span at = g->origin[id].at;
    const Source *src = source_get(p->s, at.source);
    *source = 0;
    if (!src) return 0;
    LineIndex *x = index_of(p, src->of);
    if (!x->known) index_lines(p, src, x);
    if (x->none) return 0;
    uint32_t line = line_at(x, at.begin), number = src->first_line + line;
    Map *lines = &p->tables->source.p[x->number].line;
    if (!map_get(lines, number, NULL))
        map_put(lines, number, text_of_line(p, src, x, line));
    *source = x->number;
    return number;
}

static int compare_lines(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void put_source(Page *p, const SourceLines *src) {
    size_t n = 0;
    uint64_t *row = mem_zalloc(p->s, src->line.n + 1, sizeof *row);
    uint32_t *line = mem_zalloc(p->s, src->line.n + 1, sizeof *line),
             *text = mem_zalloc(p->s, src->line.n + 1, sizeof *text);
    for (size_t k = 0; src->line.n && k <= src->line.mask; k++)
        if (src->line.used[k]) row[n++] = src->line.key[k] << 32 | src->line.val[k];
    qsort(row, n, sizeof *row, compare_lines);
    for (size_t i = 0; i < n; i++)
        line[i] = (uint32_t)(row[i] >> 32), text[i] = (uint32_t)row[i];
    json_open(&p->w, '{');
    json_member(&p->w, "name", sym_text(p->s, src->name));
    json_member_number(&p->w, "n", (double)n);
    page_put_u32(p, "line", n, line);
    page_put_u32(p, "text", n, text);
    json_close(&p->w, "}");
    mem_free(row);
    mem_free(line);
    mem_free(text);
}

void page_put_sources(Page *p) {
    PageTables *t = p->tables;
    json_put_key(&p->w, "sources");
    json_open(&p->w, '[');
    for (size_t i = 0; i < t->source.n; i++)
        put_source(p, &t->source.p[i]);
    json_close(&p->w, "]");
}

void page_free_lines(PageTables *t) {
    for (size_t i = 0; i < t->source.n; i++)
        map_free(&t->source.p[i].line);
    vec_free(&t->source);
    map_free(&t->source_number);
}
