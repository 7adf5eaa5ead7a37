/* This folder reads and writes formats that others have defined: JSON, Protocol
 * buffers, SVG, gzip and zstd. It knows their syntax alone: what a piece means, and
 * that there are tensors and graphs, is its callers' affair.
 *
 * JSON in the strict form of RFC 8259, read piece by piece and written piece by
 * piece. */
#ifndef FORMAT_JSON_H
#define FORMAT_JSON_H

#include "base/str.h"

typedef struct JsonReader {
    Session *s;
    Arena *a; /* strings are kept here */
    const char *p, *end;
    uint32_t line; /* from 1 */
    const char *line_begin;
    const char *wrong; /* what is wrong at p; nothing is read after it */
} JsonReader;
JsonReader json_reader(Session *s, Arena *a, const char *p, size_t n);
bool json_fail(JsonReader *j, const char *what); /* false; only the first counts */

bool json_next_is(JsonReader *j, char c); /* behind white space */
bool json_at_end(JsonReader *j);
bool json_take(JsonReader *j, char c); /* takes it if it is next */
bool json_want(JsonReader *j, char c, const char *what);
/* Is there one more item before `close`? Takes the comma before it, or `close`. The
 * count of items *n starts at 0. */
bool json_item(JsonReader *j, char close, size_t *n);

typedef struct JsonText {
    const char *p;
    size_t n;
    bool exact; /* as in the source: it has no escapes */
} JsonText;
bool json_string(JsonReader *j, JsonText *t); /* without quotes */
bool json_key(JsonReader *j, JsonText *t);    /* with its colon */
/* A number, true, false or null, as it is written. */
bool json_scalar(JsonReader *j, const char **p, size_t *n);
/* A value of any kind and depth; doesn't check how brackets nest. */
bool json_skip(JsonReader *j);

/* Commas and colons come by themselves. */
typedef struct JsonWriter {
    Str *out;
    bool more;    /* a comma is due before the next item */
    bool compact; /* no spaces */
} JsonWriter;
void json_open(JsonWriter *w, char bracket);
void json_close(JsonWriter *w, const char *bracket); /* or "\n  ]" */
void json_line(JsonWriter *w,
               const char *indent); /* the next item is on a line of its own */
void json_put_key(JsonWriter *w, const char *key);
void json_put(JsonWriter *w, const char *text);
void json_put_n(JsonWriter *w, const char *text, size_t n);
void json_put_number(JsonWriter *w, double v); /* null if it isn't finite */
void json_put_int(JsonWriter *w, int64_t v);
void json_put_ints(JsonWriter *w, size_t n, const int64_t *v); /* a list */
void json_put_word(JsonWriter *w, const char *word); /* true, false, null; any JSON */
/* Members of an object. */
void json_put_numbers(JsonWriter *w, const char *key, size_t n, const uint32_t *v);
void json_member(JsonWriter *w, const char *key, const char *text);
void json_member_number(JsonWriter *w, const char *key, double v);

/* An integer without point or exponent; null if it isn't finite. */
void json_number(double v, Str *out);

#endif
