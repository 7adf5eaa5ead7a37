/* YAML and JSON as texts: keys, values, lists, blocks of statements, with the comments
 * of the author around them. */
#include "io/text.h"

#include <string.h>
#include <strings.h>

/* ---- texts ---- */

/* Words that YAML 1.1 readers parse as booleans or null. */
static bool yaml_word(const char *p, size_t n) {
    static const char *const words[] = {"y",     "yes", "n",   "no",  "true",
                                        "false", "on",  "off", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && strncasecmp(words[i], p, n) == 0) return true;
    return false;
}

/* Does every YAML reader parse this text verbatim in a block context? */
static bool is_plain_scalar(const char *p, size_t n) {
    if (n == 0 || yaml_word(p, n)) return false;
    if (!ascii_is_letter(p[0]) || p[n - 1] == ' ' || p[n - 1] == ':') return false;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < ' ' || p[i] > '~') return false;
        if (p[i] == ':' && p[i + 1] == ' ') return false;
        if (p[i] == '#' && p[i - 1] == ' ') return false;
    }
    return true;
}

static void put_scalar(TextWriter *e, const char *p, size_t n) {
    if (!e->json && is_plain_scalar(p, n))
        str_add(e->out, p, n);
    else
        str_json(e->out, p, n);
}

static void put_indent(TextWriter *e) {
    for (int i = 0; i < e->depth; i++)
        str_puts(e->out, "  ");
}

static void put_text_lines(TextWriter *e, const char *p, size_t n) {
    for (const char *end = p + n; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t len = stop ? (size_t)(stop - p) : (size_t)(end - p);
        if (len) put_indent(e);
        str_add(e->out, p, len);
        str_putc(e->out, '\n');
        p += len + (stop != NULL);
    }
}

/* ---- the author's text ---- */

const Entry *text_entry(const TextWriter *e, uint32_t id) {
    return e->au && id < e->au->entry.n ? &e->au->entry.p[id] : NULL;
}

uint32_t text_find_entry(const TextWriter *e, uint32_t up, const char *key) {
    Sym y = e->au ? sym_find(e->s, key, strlen(key)) : 0;
    return y ? author_find(e->au, up, y) : NO_ENTRY;
}

void text_remarks(TextWriter *e, const char *lines, bool first) {
    if (!lines) return;
    const Str *out = e->out;
    bool empty = out->n > 1 && out->p[out->n - 1] == '\n' && out->p[out->n - 2] == '\n';
    lines += (first || empty) && *lines == '\n';
    put_text_lines(e, lines, strlen(lines));
}

/* The end of a line, behind the comment beside it. */
static void end_line(TextWriter *e, const Entry *at) {
    if (e->json) return;
    if (at && at->beside) str_printf(e->out, "  %s", at->beside);
    str_putc(e->out, '\n');
}

/* A value as the author wrote it; further lines are indented by one step. */
static void put_author_value(TextWriter *e, const char *text) {
    const char *eol = strchr(text, '\n');
    str_add(e->out, text, eol ? (size_t)(eol - text) : strlen(text));
    for (; eol; eol = strchr(text, '\n')) {
        text = eol + 1;
        text += strspn(text, " ");
        str_putc(e->out, '\n');
        put_indent(e);
        size_t n = strcspn(text, "\n");
        str_printf(e->out, "  %.*s", (int)n, text);
    }
}

/* ---- members ---- */

/* Writes the next member's key, ready for its value. */
static void text_key(TextWriter *e, const char *key, size_t n) {
    if (e->json) str_puts(e->out, e->first ? "\n" : ",\n");
    e->entry = e->au ? text_find_entry(e, e->in[e->depth], key) : NO_ENTRY;
    const Entry *at = text_entry(e, e->entry);
    if (at) text_remarks(e, at->above, e->first);
    e->first = false;
    put_indent(e);
    if (at)
        str_puts(e->out, at->word);
    else
        put_scalar(e, key, n);
    str_puts(e->out, e->json ? ": " : ":");
}

void text_member(TextWriter *e, const char *key, const char *p, size_t n) {
    text_key(e, key, strlen(key));
    const Entry *at = text_entry(e, e->entry);
    if (!e->json) str_putc(e->out, ' ');
    if (at && at->kept && at->text)
        put_author_value(e, at->text);
    else
        put_scalar(e, p, n);
    end_line(e, at);
}

void text_word(TextWriter *e, const char *key, const char *text) {
    text_key(e, key, strlen(key));
    str_printf(e->out, e->json ? "%s" : " %s", text);
    end_line(e, text_entry(e, e->entry));
}

void text_open(TextWriter *e, const char *key) {
    text_key(e, key, strlen(key));
    if (e->json) str_putc(e->out, '{');
    end_line(e, text_entry(e, e->entry));
    e->depth++;
    if (e->au) e->in[e->depth] = e->entry == NO_ENTRY ? NOWHERE_ENTRY : e->entry;
    e->first = true;
}

void text_close(TextWriter *e) {
    const Entry *at = e->au ? text_entry(e, e->in[e->depth]) : NULL;
    if (at) text_remarks(e, at->below, e->first);
    e->depth--;
    if (e->json) {
        str_putc(e->out, '\n');
        put_indent(e);
        str_putc(e->out, '}');
    }
    e->first = false;
}

/* Items of flow lists: plain if safe, otherwise quoted. */
static void put_item(TextWriter *e, const char *p) {
    if (!e->json && word_is_name(p, strlen(p)) && !yaml_word(p, strlen(p)))
        str_puts(e->out, p);
    else
        str_json(e->out, p, strlen(p));
}

void text_list(TextWriter *e, const char *key, size_t n, const char **item) {
    text_key(e, key, strlen(key));
    const Entry *at = text_entry(e, e->entry);
    if (!e->json) str_putc(e->out, ' ');
    if (at && at->kept && at->text) {
        str_puts(e->out, at->text);
    } else {
        str_putc(e->out, '[');
        for (size_t i = 0; i < n; i++) {
            if (i) str_puts(e->out, ", ");
            put_item(e, item[i]);
        }
        str_putc(e->out, ']');
    }
    end_line(e, at);
}

/* Does the text survive a round trip as a literal block? */
static bool is_block(const char *p, size_t n) {
    if (n < 2 || !memchr(p, '\n', n - 1) || p[0] == ' ' || p[0] == '\n') return false;
    if (p[n - 1] == '\n' && p[n - 2] == '\n') return false;
    for (size_t i = 0; i < n; i++)
        if ((p[i] < ' ' || p[i] > '~') && p[i] != '\n') return false;
    return true;
}

void text_paragraph(TextWriter *e, const char *key, const char *text) {
    size_t n = strlen(text);
    const Entry *at =
        e->au ? text_entry(e, text_find_entry(e, e->in[e->depth], key)) : NULL;
    if (e->json || !is_block(text, n) || (at && at->kept && at->text)) {
        text_member(e, key, text, n);
        return;
    }
    text_key(e, key, strlen(key));
    str_puts(e->out, text[n - 1] == '\n' ? " |" : " |-");
    end_line(e, at);
    e->depth++;
    put_text_lines(e, text, n);
    e->depth--;
}

/* The next statement of a section that is kept, after the entry `last`. */
static const Entry *next_kept(const TextWriter *e, uint32_t section, uint32_t *last) {
    const Entry *at;
    while ((at = text_entry(e, ++*last)) && at->up == section)
        if (at->kept) return at;
    return NULL;
}

/* With their comments. */
static void put_kept_statements(TextWriter *e, uint32_t section) {
    const Entry *at, *all = text_entry(e, section);
    bool first = true;
    for (uint32_t id = section; (at = next_kept(e, section, &id)); first = false) {
        text_remarks(e, at->above, first);
        put_text_lines(e, at->text, strlen(at->text));
        e->out->n -= at->beside != NULL;
        if (at->beside) end_line(e, at);
    }
    if (all) text_remarks(e, all->below, first);
}

/* Statements `a = b`, one a line: a block in YAML, a mapping in JSON. */
void text_statements(TextWriter *e, const char *key, const Str *text) {
    uint32_t section = e->au ? text_find_entry(e, e->in[e->depth], key) : NO_ENTRY;
    uint32_t first = section;
    bool keeps = section != NO_ENTRY && next_kept(e, section, &first);
    if (text->n == 0 && !keeps) return;
    if (!e->json) {
        text_key(e, key, strlen(key));
        str_puts(e->out, " |");
        end_line(e, text_entry(e, section));
        e->depth++;
        if (keeps) put_kept_statements(e, section);
        put_text_lines(e, str_text(text), text->n);
        e->depth--;
        return;
    }
    text_open(e, key);
    for (const char *p = text->p, *end = p + text->n; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p)), *eq = strstr(p, " = ");
        if (!eq || eq > stop) bug("a statement without \" = \"");
        text_key(e, p, (size_t)(eq - p));
        str_json(e->out, eq + 3, (size_t)(stop - eq - 3));
        p = stop + 1;
    }
    text_close(e);
}
