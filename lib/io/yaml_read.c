/* YAML through libyaml's events, in a safe subset: no anchors, aliases, tags or merge
 * keys, one document, limited depth. Scalars stay text, whatever YAML makes of `yes`,
 * `~` or `1e3`. */
#include "io/io_impl.h"

#include <string.h>
#include <yaml.h>

typedef struct MarkPlace {
    size_t line, column, at; /* column in characters; `at` in bytes of the text */
} MarkPlace;

typedef struct YamlLine {
    uint32_t begin; /* byte */
    bool ascii;     /* its characters are bytes */
} YamlLine;

typedef struct YamlReader {
    Session *s;
    Arena *a;
    uint32_t source;
    const char *text;
    size_t len;
    Vec(YamlLine) line;
    MarkPlace last; /* last result of byte_of */
    Map seen;
    yaml_parser_t parser;
    yaml_event_t event;
    bool have; /* event must be deleted */
    int flow;  /* depth of {...} and [...] */
} YamlReader;

/* ---- positions: libyaml counts characters and lines, spans count bytes ---- */

static bool is_ascii(const char *p, size_t n) {
    uint64_t seen = 0, word;
    for (; n >= sizeof word; p += sizeof word, n -= sizeof word) {
        memcpy(&word, p, sizeof word);
        seen |= word;
    }
    for (; n > 0; n--)
        seen |= (unsigned char)*p++;
    return (seen & UINT64_C(0x8080808080808080)) == 0;
}

/* Adds the lines that begin behind YAML's other separators, NEL, LS and PS. */
static void add_separated_lines(YamlReader *y, size_t begin, size_t end) {
    const unsigned char *p = (const unsigned char *)y->text;
    for (size_t i = begin; i < end; i++) {
        if (p[i] < 0x80) continue;
        bool next = i > 0 && p[i] == 0x85 && p[i - 1] == 0xC2;
        bool separator =
            i > 1 && (p[i] | 1) == 0xA9 && p[i - 1] == 0x80 && p[i - 2] == 0xE2;
        if (next || separator)
            vec_push(y->s, &y->line, ((YamlLine){(uint32_t)i + 1, false}));
    }
}

static void add_lines(YamlReader *y) {
    const char *stop = y->text;
    for (size_t begin = 0, end; stop; begin = end + 1) {
        stop = memchr(y->text + begin, '\n', y->len - begin);
        end = stop ? (size_t)(stop - y->text) : y->len;
        bool ascii = is_ascii(y->text + begin, end - begin);
        vec_push(y->s, &y->line, ((YamlLine){(uint32_t)begin, ascii}));
        if (!ascii) add_separated_lines(y, begin, end);
    }
}

static bool within_character(const YamlReader *y, size_t at) {
    return at < y->len && ((unsigned char)y->text[at] & 0xC0) == 0x80;
}

/* The byte offset of a mark. Successive marks are close together, so starting at the
 * last one keeps this fast even in very long lines. */
static uint32_t byte_of(YamlReader *y, yaml_mark_t m) {
    MarkPlace *p = &y->last;
    if (m.line >= y->line.n) return (uint32_t)y->len;
    size_t begin = y->line.p[m.line].begin;
    if (y->line.p[m.line].ascii && m.column <= y->len - begin)
        return (uint32_t)(begin + m.column);
    if (m.line != p->line || m.column < p->column / 2)
        *p = (MarkPlace){.line = m.line, .at = begin};
    for (; p->column > m.column && p->at > begin; p->column--)
        do
            p->at--;
        while (p->at > begin && within_character(y, p->at));
    for (; p->column < m.column && p->at < y->len; p->column++)
        do
            p->at++;
        while (within_character(y, p->at));
    return (uint32_t)p->at;
}

static Span span_of_marks(YamlReader *y, yaml_mark_t begin, yaml_mark_t end) {
    uint32_t from = byte_of(y, begin), to = byte_of(y, end);
    return (Span){y->source, from, to > from ? to : from};
}

/* ---- mistakes: in flow context a comma ends a plain scalar, even inside f(a, b) ----
 */

/* The number of unclosed brackets in a text; quotes are skipped. */
static int open_brackets(const char *p, size_t n) {
    int depth = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\'' || p[i] == '"') {
            char quote = p[i++];
            while (i < n && p[i] != quote)
                i++;
            continue;
        }
        depth += p[i] == '(' || p[i] == '[' || p[i] == '{';
        depth -= p[i] == ')' || p[i] == ']' || p[i] == '}';
    }
    return depth;
}

/* The length of the expression probably meant: up to where its brackets close. */
static size_t intended_length(const YamlReader *y, size_t from) {
    int depth = 0;
    for (size_t i = from; i < y->len && y->text[i] != '\n'; i++) {
        char c = y->text[i];
        depth += c == '(' || c == '[' || c == '{';
        if (depth == 0 && (c == ',' || c == '}' || c == ']')) return i - from;
        depth -= c == ')' || c == ']' || c == '}';
    }
    return 0;
}

static bool fail_in_flow(const YamlReader *y, Span at) {
    fail(y->s, at, E_FORMAT,
         "YAML ends this text at the comma or bracket inside {...} or [...]");
    size_t n = intended_length(y, at.begin);
    if (n > at.end - at.begin)
        note(y->s, NOWHERE, "write it in quotes: \"%.*s\"", (int)n, y->text + at.begin);
    return note(y->s, NOWHERE,
                "or write one `name: expression` a line, without braces");
}

/* A bracket right behind a word, which YAML takes for the beginning of a list. */
static bool fail_bracket(const YamlReader *y, Span at) {
    size_t from = at.begin;
    while (from > 0 && ascii_is_word(y->text[from - 1]))
        from--;
    if (!y->flow || from == at.begin || at.begin >= y->len) return false;
    if (y->text[at.begin] != '[' && y->text[at.begin] != '{') return false;
    fail_in_flow(y, (Span){y->source, (uint32_t)from, at.begin});
    return true;
}

/* ---- events ---- */

/* The characters that a line begins with, of these. */
static size_t count_leading(const YamlReader *y, size_t line, const char *of) {
    size_t at = y->line.p[line].begin, n = 0;
    while (at + n < y->len && y->text[at + n] && strchr(of, y->text[at + n]))
        n++;
    return n;
}

static bool is_blank_line(const YamlReader *y, size_t line) {
    size_t at = y->line.p[line].begin + count_leading(y, line, " \t\r");
    return at >= y->len || y->text[at] == '\n' || y->text[at] == '#';
}

/* Is the colon at byte `at` the first one of its line, after a key? */
static bool ends_key(const YamlReader *y, size_t line, size_t at) {
    size_t i = y->line.p[line].begin + count_leading(y, line, " ");
    while (i < at && ascii_is_word(y->text[i]))
        i++;
    return i == at;
}

/* Reports a tab in front of a line, or a line that begins in another column than the
 * one above. False: the mistake is another one. */
static bool fail_indentation(YamlReader *y, Span at) {
    size_t line = y->parser.problem_mark.line, above = line;
    if (line >= y->line.n) return false;
    size_t begin = y->line.p[line].begin, blanks = count_leading(y, line, " ");
    if (begin + blanks < y->len && y->text[begin + blanks] == '\t' &&
        at.begin <= begin + count_leading(y, line, " \t")) {
        at.begin = (uint32_t)(begin + blanks);
        at.end = at.begin + 1;
        fail(y->s, at, E_FORMAT,
             "a tab at the beginning of a line: YAML takes blanks only");
        return note(y->s, NOWHERE, "indent this line, and those below, by blanks"),
               true;
    }
    while (above > 0 && (above == line || is_blank_line(y, above)))
        above--;
    size_t want = count_leading(y, above, " ");
    bool starts = at.begin == begin + blanks, key = ends_key(y, line, at.begin);
    if (above == line || want == blanks || (!starts && !key)) return false;
    at.begin = (uint32_t)begin;
    at.end = (uint32_t)(begin + blanks);
    fail(y->s, at, E_FORMAT,
         "this line is indented by %zu, the one above by %zu: the keys of a mapping, "
         "and the lines of a block, begin in one column",
         blanks, want);
    return true;
}

static bool fail_yaml_syntax(YamlReader *y) {
    const yaml_parser_t *p = &y->parser;
    if (p->error == YAML_MEMORY_ERROR || !p->problem) mem_panic(y->s);
    Span at = span_of_marks(y, p->problem_mark, p->problem_mark);
    if (p->error != YAML_READER_ERROR && !y->flow && fail_indentation(y, at))
        return false;
    if (fail_bracket(y, at)) return false;
    if (p->error == YAML_READER_ERROR) {
        at.begin = at.end =
            (uint32_t)(p->problem_offset < y->len ? p->problem_offset : y->len);
        return fail(y->s, at, E_FORMAT, "this is no graph file: %s", p->problem);
    }
    return doc_unsafe(y->s, at, "not YAML: %s%s%s", p->problem, p->context ? ", " : "",
                      p->context ? p->context : "");
}

static bool next_event(YamlReader *y) {
    if (y->have) yaml_event_delete(&y->event);
    y->have = yaml_parser_parse(&y->parser, &y->event);
    return y->have || fail_yaml_syntax(y);
}

static bool no_extras(YamlReader *y, const yaml_char_t *anchor,
                      const yaml_char_t *tag) {
    Span at = span_of_marks(y, y->event.start_mark, y->event.end_mark);
    if (anchor)
        return doc_unsafe(y->s, at, "YAML anchors (&) are not used in graph files");
    if (tag) return doc_unsafe(y->s, at, "YAML tags (!) are not used in graph files");
    return true;
}

/* ---- scalars ---- */

/* Locates a literal block in the source, line by line after its indentation. */
static bool locate_block(const YamlReader *y, Doc *d, size_t first_line) {
    if (first_line >= y->line.n) return false;
    size_t at = y->line.p[first_line].begin;
    Span span = {y->source, (uint32_t)at, (uint32_t)at};
    for (const char *v = d->p, *end = d->p + d->n; v < end;) {
        const char *stop = memchr(v, '\n', (size_t)(end - v));
        size_t n = stop ? (size_t)(stop - v) : (size_t)(end - v);
        const char *eol = at < y->len ? memchr(y->text + at, '\n', y->len - at) : NULL;
        size_t here = eol ? (size_t)(eol - y->text) : y->len;
        if (here < at + n || memcmp(y->text + here - n, v, n) != 0) return false;
        for (size_t i = at; i < here - n; i++)
            if (y->text[i] != ' ') return false;
        span.end = (uint32_t)here;
        at = here + (eol != NULL);
        v += n + (stop != NULL);
    }
    d->at = span;
    return true;
}

static Doc *read_scalar(YamlReader *y) {
    const yaml_event_t *e = &y->event;
    yaml_scalar_style_t style = e->data.scalar.style;
    Doc *d = NEW(y->a, Doc);
    d->n = e->data.scalar.length;
    d->p = arena_str(y->a, (const char *)e->data.scalar.value, d->n);
    d->at = span_of_marks(y, e->start_mark, e->end_mark);
    d->line = (uint32_t)e->start_mark.line + 1;
    d->col = (uint32_t)e->start_mark.column + 1;
    bool lines = e->start_mark.line != e->end_mark.line;
    if (style == YAML_LITERAL_SCALAR_STYLE) {
        d->exact = locate_block(y, d, e->start_mark.line + 1);
        d->line++;
        d->col = 1;
        return d;
    }
    d->folded = lines;
    if (style == YAML_FOLDED_SCALAR_STYLE) {
        d->folded = true;
        d->line++;
        d->col = 1;
        return d;
    }
    if (style != YAML_PLAIN_SCALAR_STYLE && d->at.end > d->at.begin + 1) {
        d->at.begin++;
        d->at.end--;
        d->col++;
    }
    d->exact = d->at.end - d->at.begin == d->n &&
               memcmp(y->text + d->at.begin, d->p, d->n) == 0;
    return d;
}

static bool whole_in_flow(YamlReader *y, const Doc *d) {
    if (!y->flow || y->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE) return true;
    if (open_brackets(d->p, d->n) == 0) return true;
    return fail_in_flow(y, d->at);
}

/* ---- nodes ---- */

static Doc *read_yaml_node(YamlReader *y, int depth);

static bool read_yaml_key(YamlReader *y, Doc *key) {
    if (y->event.type != YAML_SCALAR_EVENT)
        return doc_unsafe(y->s,
                          span_of_marks(y, y->event.start_mark, y->event.start_mark),
                          "a key is a name, not a collection");
    Doc *k = read_scalar(y);
    if (!no_extras(y, y->event.data.scalar.anchor, y->event.data.scalar.tag))
        return false;
    if (k->n == 2 && memcmp(k->p, "<<", 2) == 0)
        return fail(y->s, k->at, E_FORMAT,
                    "YAML merge keys (<<) are not used in graph files");
    if (memchr(k->p, 0, k->n) || k->n == 0)
        return fail(y->s, k->at, E_FORMAT, "a key is empty or has a zero byte");
    key->key = sym_n(y->s, k->p, k->n);
    key->key_at = k->at;
    return true;
}

static Doc *read_yaml_collection(YamlReader *y, DocKind kind, int depth) {
    Doc *d = NEW(y->a, Doc);
    d->kind = kind;
    d->at = span_of_marks(y, y->event.start_mark, y->event.start_mark);
    d->line = (uint32_t)y->event.start_mark.line + 1;
    d->col = (uint32_t)y->event.start_mark.column + 1;
    yaml_event_type_t end =
        kind == DOC_MAP ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
    if (depth == DOC_DEPTH) {
        fail(y->s, d->at, E_FORMAT, "nested more than %d levels deep", DOC_DEPTH);
        return NULL;
    }
    bool flow = kind == DOC_MAP
                    ? y->event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE
                    : y->event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
    y->flow += flow;
    if (!next_event(y)) return NULL;
    while (y->event.type != end) {
        Doc key = {0};
        if (kind == DOC_MAP && (!read_yaml_key(y, &key) || !next_event(y))) return NULL;
        Doc *kid = read_yaml_node(y, depth + 1);
        if (!kid) return NULL;
        kid->key = key.key;
        kid->key_at = key.key_at;
        if (!doc_add(y->s, d, kid, &y->seen) || !next_event(y)) return NULL;
    }
    y->flow -= flow;
    return d;
}

/* Reads the node that the current event begins; its last event is then current. */
static Doc *read_yaml_node(YamlReader *y, int depth) {
    const yaml_event_t *e = &y->event;
    switch ((int)e->type) {
    case YAML_SCALAR_EVENT: {
        if (!no_extras(y, e->data.scalar.anchor, e->data.scalar.tag)) return NULL;
        Doc *d = read_scalar(y);
        if (memchr(d->p, '\0', d->n)) {
            fail(y->s, d->at, E_FORMAT, "a NUL character in a text");
            return NULL;
        }
        return whole_in_flow(y, d) ? d : NULL;
    }
    case YAML_SEQUENCE_START_EVENT:
        if (!no_extras(y, e->data.sequence_start.anchor, e->data.sequence_start.tag))
            return NULL;
        return read_yaml_collection(y, DOC_LIST, depth);
    case YAML_MAPPING_START_EVENT:
        if (!no_extras(y, e->data.mapping_start.anchor, e->data.mapping_start.tag))
            return NULL;
        return read_yaml_collection(y, DOC_MAP, depth);
    case YAML_ALIAS_EVENT:
        doc_unsafe(y->s, span_of_marks(y, e->start_mark, e->end_mark),
                   "YAML aliases (*) are not used in graph files");
        return NULL;
    default:
        fail(y->s, span_of_marks(y, e->start_mark, e->start_mark), E_FORMAT,
             "there is nothing to read");
        return NULL;
    }
}

static Doc *read_yaml_document(YamlReader *y) {
    if (!next_event(y) || !next_event(y))
        return NULL; /* stream start, document start */
    if (y->event.type != YAML_DOCUMENT_START_EVENT) {
        fail(y->s, (Span){y->source, 0, 0}, E_FORMAT,
             "there is no document, only comments and space");
        return NULL;
    }
    if (!next_event(y)) return NULL;
    Doc *d = read_yaml_node(y, 0);
    if (!d || !next_event(y) || !next_event(y)) return NULL;
    if (y->event.type == YAML_STREAM_END_EVENT) return d;
    fail(y->s, span_of_marks(y, y->event.start_mark, y->event.start_mark), E_FORMAT,
         "there is more than one YAML document; a graph file holds one");
    return NULL;
}

Doc *yaml_read(Session *s, Arena *a, uint32_t source) {
    const Source *src = source_get(s, source);
    YamlReader y = {.s = s,
                    .a = a,
                    .source = source,
                    .text = src->text,
                    .len = src->len,
                    .seen = MAP(s)};
    if (!yaml_parser_initialize(&y.parser)) mem_panic(s);
    yaml_parser_set_encoding(&y.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&y.parser, (const unsigned char *)src->text, src->len);
    add_lines(&y);
    Doc *d = read_yaml_document(&y);
    if (y.have) yaml_event_delete(&y.event);
    yaml_parser_delete(&y.parser);
    vec_free(&y.line);
    map_free(&y.seen);
    return d;
}
