/* Shared by gload's lists of ops and of optimizers: entries of lists, and facts of one
 * row. */
#ifndef TOOLS_GLOAD_LIST_H
#define TOOLS_GLOAD_LIST_H

#include "format/json.h"
#include "tools/tools.h"

/* What a list says of a function. */
typedef struct ListEntry {
    const char *name, *alias, *doc, *kind; /* kind: "op", "macro" or "language" */
} ListEntry;

/* One fact of an op's contract: a name, possibly of an input or a prop, and a text. */
typedef struct OpFacts {
    Session *s;
    Str *out;
    bool json, open; /* open: inside a list of facts with the same name */
    JsonWriter w;
    const char *name;
} OpFacts;

/* In text, kinds other than "op" are shown. */
void list_put_entry(OpFacts *f, const ListEntry *e);
void list_put_head(OpFacts *f, const char *name, const char *signature,
                   const char *doc);
/* Skips a NULL or empty text. */
void list_put_fact(OpFacts *f, const char *name, const char *text);
void list_put_fact_of(OpFacts *f, const char *name, const char *of, const char *text);
void list_close_list(OpFacts *f);
/* For manuals: a row of fields between tabs. */
void list_dump_function(Str *out, const char *family, const char *signature,
                        const ListEntry *e, const char *example);

/* The sheets of the optimizer and the schedule of that name. *any: there is one. */
bool gload_list_optimizer(OpFacts *f, const char *name, bool *any);
void gload_dump_optimizers(Session *s, Str *out);

#endif
