/* Writes YAML and JSON, which differ in how a key, a text and a block of lines are
 * written. Private to lib/io. */
#ifndef IO_TEXT_H
#define IO_TEXT_H

#include "io/author.h"

typedef struct TextWriter {
    Session *s;
    Str *out;
    bool json;
    int depth;  /* number of open maps */
    bool first; /* the innermost map is still empty */
    Refs *refs;
    Arena *a;
    const Author *au; /* or NULL */
    uint32_t entry;   /* of the author's text: the key being written; */
    uint32_t *in;     /* what it stands below, by depth */
} TextWriter;

/* Members of the map that is open. */
void text_member(TextWriter *e, const char *key, const char *p, size_t n);
void text_word(TextWriter *e, const char *key, const char *text); /* as it is */
void text_list(TextWriter *e, const char *key, size_t n, const char **item);
void text_paragraph(TextWriter *e, const char *key, const char *text);
/* Statements `a = b`, one a line, after those of the author that are kept: a block in
 * YAML, a mapping in JSON. */
void text_statements(TextWriter *e, const char *key, const Str *text);
void text_open(TextWriter *e, const char *key);
void text_close(TextWriter *e);

/* The author's entry of a key below another; NO_ENTRY: none. NULL for that. */
uint32_t text_find_entry(const TextWriter *e, uint32_t up, const char *key);
const Entry *text_entry(const TextWriter *e, uint32_t id);
/* Comments; without an empty line at the `first` place of a map or below another. */
void text_remarks(TextWriter *e, const char *lines, bool first);

#endif
