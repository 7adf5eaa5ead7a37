/* What the author of a YAML text wrote: keys, statements, and the comments around them.
 * Comments belong to what follows, those beside a key or a statement to it, and
 * indented ones at the end of a section to the section. */
#include "io/author.h"

#include <string.h>

typedef struct AuthorReader {
    Session *s;
    Author *au;
    const char *text;
    size_t len, pos; /* all before pos has been read */
    uint32_t last;   /* the entry whose line pos is on; NO_ENTRY: none */
    uint32_t closed; /* the section that has just ended; NO_ENTRY: none */
    Str above;       /* lines between the last entry and the next */
    bool ok;
} AuthorReader;

/* ---- comments ---- */

static size_t end_of_line(const AuthorReader *r, size_t at) {
    const char *eol = at < r->len ? memchr(r->text + at, '\n', r->len - at) : NULL;
    return eol ? (size_t)(eol - r->text) : r->len;
}

static size_t start_of_line(const AuthorReader *r, size_t at) {
    while (at > 0 && r->text[at - 1] != '\n')
        at--;
    return at;
}

/* Where the comment of a line begins, or `end`. */
static size_t find_comment(const AuthorReader *r, size_t at, size_t end) {
    for (size_t i = at; i < end; i++)
        if (r->text[i] == '#' && (i == 0 || ascii_is_blank(r->text[i - 1]))) return i;
    return end;
}

static void trim_end(const AuthorReader *r, size_t at, size_t *end) {
    while (*end > at && ascii_is_blank(r->text[*end - 1]))
        --*end;
}

static bool ends_in_blank_line(const Str *b) {
    return b->n && (b->n == 1 || b->p[b->n - 2] == '\n');
}

static bool is_blank(const AuthorReader *r, size_t at, size_t end) {
    trim_end(r, at, &end);
    return at == end;
}

/* The comments up to `end`. Those that begin beyond the column `inside` go to `below`,
 * if there is one. */
static void read_comments(AuthorReader *r, size_t end, size_t inside, Str *below) {
    bool beside = r->last != NO_ENTRY;
    while (r->pos < end) {
        size_t eol = end_of_line(r, r->pos), stop = eol < end ? eol : end;
        size_t from = find_comment(r, r->pos, stop), to = stop;
        trim_end(r, from, &to);
        Str *out = &r->above;
        if (below && r->above.n < 2 && from < stop &&
            from - start_of_line(r, from) > inside) {
            out = below;
            str_puts(below, str_text(&r->above));
            str_clear(&r->above);
        }
        if (from < stop && beside && !r->au->entry.p[r->last].beside) {
            r->au->entry.p[r->last].beside =
                arena_str(r->au->a, r->text + from, to - from);
        } else if (from < stop) {
            str_add(out, r->text + from, to - from);
            str_putc(out, '\n');
        } else if (!beside && eol < end && is_blank(r, r->pos, eol) &&
                   !ends_in_blank_line(out)) {
            str_putc(out, '\n');
        }
        r->pos = stop + 1;
        beside = false;
    }
    r->pos = end;
    r->last = NO_ENTRY;
}

static const char *take_lines(AuthorReader *r, Str *lines) {
    const char *p = lines->n ? arena_str(r->au->a, lines->p, lines->n) : NULL;
    str_clear(lines);
    return p;
}

/* ---- entries ---- */

static uint32_t add_entry(AuthorReader *r, uint32_t up, Sym key) {
    Author *au = r->au;
    uint32_t id = (uint32_t)au->entry.n;
    vec_push(r->s, &au->entry, ((Entry){.up = up, .key = key}));
    map_put(&au->by_key, (uint64_t)(up + 1) << 32 | key, id);
    au->entry.p[id].above = take_lines(r, &r->above);
    return id;
}

static const char *text_between(AuthorReader *r, size_t from, size_t to) {
    return arena_str(r->au->a, r->text + from, to - from);
}

/* Comments behind a section, up to what follows it in this column. */
static void read_comments_between(AuthorReader *r, size_t end, size_t column) {
    Str below = STR(r->s);
    read_comments(r, end, column, r->closed == NO_ENTRY ? NULL : &below);
    if (below.n) r->au->entry.p[r->closed].below = take_lines(r, &below);
    str_free(&below);
    r->closed = NO_ENTRY;
}

/* Reads up to a key, and over it. */
static uint32_t read_key(AuthorReader *r, uint32_t up, const Doc *d) {
    size_t from = d->key_at.begin, to = d->key_at.end;
    bool quoted = from > 0 && (r->text[from - 1] == '"' || r->text[from - 1] == '\'');
    from -= quoted;
    to += quoted;
    read_comments_between(r, from, from - start_of_line(r, from));
    uint32_t id = add_entry(r, up, d->key);
    r->au->entry.p[id].word = text_between(r, from, to);
    r->pos = to;
    r->last = id;
    return id;
}

/* Do the lines of a text after the first have one indentation? */
static bool is_even(const AuthorReader *r, size_t from, size_t to) {
    size_t first = SIZE_MAX;
    for (size_t at = end_of_line(r, from) + 1; at < to; at = end_of_line(r, at) + 1) {
        size_t n = strspn(r->text + at, " ");
        if (r->text[at + n] == '\n') return false;
        if (first != SIZE_MAX && n != first) return false;
        first = n;
    }
    return true;
}

/* A text that is no literal block, as it stands in the source. */
static void read_scalar_text(AuthorReader *r, uint32_t id, const Doc *d) {
    size_t from = d->at.begin, to = d->at.end;
    bool quoted = from > r->pos && to < r->len && r->text[from - 1] == r->text[to] &&
                  (r->text[to] == '"' || r->text[to] == '\'');
    from -= quoted;
    to += quoted;
    trim_end(r, from, &to);
    if (from >= to || to < r->pos) return;
    if (is_even(r, from, to)) r->au->entry.p[id].text = text_between(r, from, to);
    r->pos = to;
    r->last = id;
}

static size_t behind_colon(const AuthorReader *r) {
    return r->pos + 1 + strspn(r->text + r->pos + 1, " \t");
}

static bool is_literal_block(const AuthorReader *r, const Doc *d) {
    return d->kind == DOC_TEXT && r->text[behind_colon(r)] == '|';
}

/* An expression in a literal block, with the comments in it and behind the bar. */
static void read_literal_text(AuthorReader *r, uint32_t id, const Doc *d) {
    size_t bar = behind_colon(r), from = bar + 1 + (r->text[bar + 1] == '-');
    size_t eol = end_of_line(r, from);
    if (!is_blank(r, from, find_comment(r, from, eol)) || !is_even(r, bar, d->at.end))
        return;
    r->au->entry.p[id].text = text_between(r, bar, d->at.end);
    r->pos = eol;
}

/* A statement without the indentation that the block has. */
static const char *statement_text(AuthorReader *r, Span at, size_t indent) {
    Str out = STR(r->s);
    for (size_t i = at.begin; i < at.end;) {
        size_t eol = end_of_line(r, i), stop = eol < at.end ? eol : at.end;
        str_add(&out, r->text + i, stop - i);
        if (stop < at.end) str_putc(&out, '\n');
        i = stop + 1;
        for (size_t k = 0; k < indent && i < at.end && r->text[i] == ' '; k++)
            i++;
    }
    const char *text = arena_str(r->au->a, str_text(&out), out.n);
    str_free(&out);
    return text;
}

static void set_targets(AuthorReader *r, uint32_t id, const Ast *e) {
    size_t n = e->kind == AST_ASSIGN ? e->nkid - 1 : 1;
    Sym *target = NEW_N(r->au->a, n, Sym);
    for (size_t i = 0; i < n; i++)
        target[i] = e->kind == AST_ASSIGN ? e->kid[i]->sym : e->sym;
    r->au->entry.p[id].target = target;
    r->au->entry.p[id].ntarget = n;
}

static Sym first_target(const Ast *e) {
    return e->kind == AST_ASSIGN ? e->kid[0]->sym : e->sym;
}

/* NULL: a comment stands between the lines. */
static const char *one_line(const AuthorReader *r, const char *text) {
    if (!strchr(text, '\n')) return text;
    if (strchr(text, '#')) return NULL;
    Str out = STR(r->s);
    while (*text) {
        size_t n = strcspn(text, "\n"), blanks = strspn(text, " \t");
        if (blanks < n && out.n) str_putc(&out, ' ');
        if (blanks < n) str_add(&out, text + blanks, n - blanks);
        text += n + (text[n] == '\n');
    }
    const char *line = arena_str(r->au->a, out.p, out.n);
    str_free(&out);
    return line;
}

/* Declarations are kept as a mapping has them: what stands behind the name. */
static void set_declaration(AuthorReader *r, uint32_t id, const char *text) {
    size_t n = strspn(text, " ");
    while (ascii_is_word(text[n]))
        n++;
    r->au->entry.p[id].word = arena_str(r->au->a, text, n);
    n += strspn(text + n, " ");
    n += text[n] == ':';
    n += strspn(text + n, " ");
    r->au->entry.p[id].text = one_line(r, text + n);
}

static void read_block(AuthorReader *r, uint32_t section, const Doc *d, bool declares) {
    const Ast **st;
    size_t n;
    Str below = STR(r->s);
    r->ok = r->ok && d->exact && ast_parse_block(r->s, r->au->a, d->at, &st, &n);
    if (!r->ok) return;
    read_comments(r, d->at.begin, 0, NULL);
    size_t indent = n ? st[0]->at.begin - start_of_line(r, st[0]->at.begin) : 0;
    for (size_t i = 0; i < n; i++) {
        read_comments(r, st[i]->at.begin, 0, NULL);
        uint32_t id = add_entry(r, section, first_target(st[i]));
        const char *text = statement_text(r, st[i]->at, indent);
        set_targets(r, id, st[i]);
        if (declares)
            set_declaration(r, id, text);
        else
            r->au->entry.p[id].text = text;
        r->pos = st[i]->at.end;
        r->last = id;
    }
    read_comments(r, d->at.end, 0, &below);
    r->pos += r->pos < r->len && r->text[r->pos] == '\n';
    r->au->entry.p[section].below = take_lines(r, &below);
    str_free(&below);
}

/* An entry of a mapping as a statement; one that is no line has no text. */
static void read_line(AuthorReader *r, uint32_t id, const Doc *d) {
    Str line = STR(r->s);
    const Ast **st;
    size_t n;
    doc_line(r->s, d, &line);
    uint32_t own = source_add(r->s, "", str_text(&line), line.n);
    Span all = {own, 0, (uint32_t)line.n};
    bool whole = ast_parse_block(r->s, r->au->a, all, &st, &n) && n == 1;
    r->au->entry.p[id].text = whole ? arena_str(r->au->a, line.p, line.n) : NULL;
    if (whole) set_targets(r, id, st[0]);
    str_free(&line);
}

static size_t end_of_doc(const Doc *d) {
    size_t end = d->at.end;
    for (const Doc *k = d->first; k; k = k->next) {
        size_t at = end_of_doc(k);
        end = at > end ? at : end;
    }
    return end;
}

/* The items of a list, as they are written, on one line. */
static const char *list_text(const AuthorReader *r, const Doc *d) {
    Str out = STR(r->s);
    str_putc(&out, '[');
    for (const Doc *k = d->first; k; k = k->next) {
        bool quoted = r->text[k->at.end] == '"' || r->text[k->at.end] == '\'';
        str_puts(&out, k == d->first ? "" : ", ");
        str_add(&out, r->text + k->at.begin - quoted,
                k->at.end - k->at.begin + 2 * (size_t)quoted);
    }
    str_putc(&out, ']');
    const char *text = arena_str(r->au->a, out.p, out.n);
    str_free(&out);
    return text;
}

/* Comments in a list go above it; a list on one line stays as it is. */
static void read_list(AuthorReader *r, uint32_t id, const Doc *d) {
    size_t eol = end_of_line(r, d->at.begin);
    const char *stop = memchr(r->text + d->at.begin, ']', eol - d->at.begin);
    r->au->entry.p[id].text =
        r->text[d->at.begin] == '[' && stop
            ? text_between(r, d->at.begin, (size_t)(stop - r->text) + 1)
            : list_text(r, d);
    for (const Doc *k = d->first; k; k = k->next) {
        read_comments(r, k->at.begin, 0, NULL);
        r->pos = end_of_doc(k);
        r->last = id;
    }
    if (!r->above.n) return;
    Entry *e = &r->au->entry.p[id];
    Str all = STR(r->s);
    str_puts(&all, e->above ? e->above : "");
    str_puts(&all, str_text(&r->above));
    e->above = take_lines(r, &all);
    str_clear(&r->above);
    str_free(&all);
}

typedef enum EntryKind {
    ENTRY_PLAIN,
    ENTRY_GRAPH,
    ENTRY_FUNCTIONS,
    ENTRY_STATEMENTS,
    ENTRY_DECLARATIONS
} EntryKind;

static EntryKind kind_of_key(const char *key) {
    static const struct {
        const char *key;
        EntryKind kind;
    } kinds[] = {{"functions", ENTRY_FUNCTIONS},
                 {"let", ENTRY_STATEMENTS},
                 {"updates", ENTRY_STATEMENTS},
                 {"inputs", ENTRY_DECLARATIONS},
                 {"shared", ENTRY_DECLARATIONS}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].key, key) == 0) return kinds[i].kind;
    return ENTRY_PLAIN;
}

static void read_map(AuthorReader *r, uint32_t up, const Doc *map, EntryKind kind);

static void read_value(AuthorReader *r, uint32_t id, const Doc *d, EntryKind in) {
    EntryKind kind = in == ENTRY_GRAPH       ? kind_of_key(sym_text(r->s, d->key))
                     : in == ENTRY_FUNCTIONS ? ENTRY_GRAPH
                                             : ENTRY_PLAIN;
    if (d->kind == DOC_MAP) {
        read_map(r, id, d, kind);
        r->closed = id;
    } else if (d->kind == DOC_LIST) {
        read_list(r, id, d);
    } else if (is_literal_block(r, d)) {
        if (kind >= ENTRY_STATEMENTS) {
            read_block(r, id, d, kind == ENTRY_DECLARATIONS);
        } else {
            if (in == ENTRY_PLAIN) read_literal_text(r, id, d);
            read_comments(r, d->at.begin, 0, NULL);
            r->pos = d->at.end + (d->at.end < r->len);
            if (in == ENTRY_STATEMENTS) read_line(r, id, d);
        }
    } else {
        read_scalar_text(r, id, d);
        if (in == ENTRY_STATEMENTS) read_line(r, id, d);
    }
}

static void read_map(AuthorReader *r, uint32_t up, const Doc *map, EntryKind kind) {
    for (const Doc *d = map->first; d && r->ok; d = d->next) {
        uint32_t id = read_key(r, up, d);
        read_value(r, id, d, kind);
    }
}

Author *author_read(Session *s, const Doc *root, uint32_t source) {
    const Source *src = source_get(s, source);
    Arena *a = arena_new(s);
    Author *au = NEW(a, Author);
    *au = (Author){
        .s = s, .a = a, .by_key = MAP(s), .defined = MAP(s), .omitted = MAP(s)};
    AuthorReader r = {.s = s,
                      .au = au,
                      .text = src->text,
                      .len = src->len,
                      .last = NO_ENTRY,
                      .closed = NO_ENTRY,
                      .above = STR(s),
                      .ok = root->kind == DOC_MAP};
    read_map(&r, NO_ENTRY, root, ENTRY_GRAPH);
    if (r.ok) read_comments_between(&r, r.len, 0);
    au->below = take_lines(&r, &r.above);
    str_free(&r.above);
    if (r.ok) return au;
    author_free(au);
    return NULL;
}

void author_free(Author *au) {
    if (!au) return;
    if (au->was) graph_free(au->was);
    map_free(&au->by_key);
    map_free(&au->defined);
    map_free(&au->omitted);
    vec_free(&au->entry);
    arena_free(au->a);
}

uint32_t author_find(const Author *au, uint32_t up, Sym key) {
    uint64_t id;
    if (!au || !map_get(&au->by_key, (uint64_t)(up + 1) << 32 | key, &id))
        return NO_ENTRY;
    return (uint32_t)id;
}
