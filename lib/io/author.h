/* The text that an author wrote for a graph, so that YAML of the graph keeps of it what
 * still holds: keys, expressions, functions, macros and comments. Private to lib/io. */
#ifndef IO_AUTHOR_H
#define IO_AUTHOR_H

#include "io/io_impl.h"

/* A key of a YAML text, or a statement of a block. */
typedef struct Entry {
    uint32_t up; /* the entry that it stands below; NO_ENTRY: none */
    bool kept;   /* the graph still says this */
    Sym key;     /* of a statement: the first name that it defines */
    size_t ntarget;
    const Sym *target; /* the names that a statement defines */
    const char *word;  /* the key as it is written, with quotes if it has any */
    const char
        *text; /* a value as it is written; a statement; NULL: none, or a block */
    const char *above, *below; /* comments and empty lines before it, and at the end of
                                * a section; NULL: none */
    const char *beside;        /* "# comment"; NULL: none */
} Entry;
#define NO_ENTRY      UINT32_MAX
#define NOWHERE_ENTRY (UINT32_MAX - 1) /* nothing stands below it */

typedef struct Author {
    Session *s;
    Arena *a;
    Vec(Entry) entry; /* in the order of the text: what stands below one follows it */
    Map by_key;
    const char *below; /* comments at the end of the text */
    /* what the graph still says: */
    Graph *was;      /* the graph that the text means */
    bool unchanged;  /* it is the graph */
    uint32_t *owner; /* by variable of the graph: the number of the entry that computes
                      * it, plus 1 */
    Map defined;     /* names that statements of the text define, and their entries */
    Map omitted;     /* functions that the text does not name, and need not */
} Author;

/* Of a document of this source, without what the graph says. NULL: it has parts that
 * are not located in the source. */
Author *author_read(Session *s, const Doc *root, uint32_t source);
/* What g still says of the text that it was read from. NULL: there is none, or E_MEM or
 * E_LIMIT, all that these two report. */
Author *author_open(const Graph *g);
void author_free(Author *au);
/* The entry `key` below `up` (NO_ENTRY: at the top); NO_ENTRY: there is none. */
uint32_t author_find(const Author *au, uint32_t up, Sym key);
/* Is v computed by a statement that is kept? */
bool author_owns(const Author *au, Var v);
/* Does a statement that is kept define the name? */
bool author_defines(const Author *au, Sym name);
/* Does the text, which keeps the author's, read back as g? */
bool author_holds(const Graph *g, const Str *text, const Refs *refs);

#endif
