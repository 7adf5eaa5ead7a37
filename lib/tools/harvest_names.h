/* Names of sows in options: TAG, TAG/NAME, TAG/SCOPE/NAME, or without the tag if only
 * one tag has the name. */
#ifndef TOOLS_HARVEST_NAMES_H
#define TOOLS_HARVEST_NAMES_H

#include "harvest/harvest.h"

typedef struct SownNames {
    Session *s;
    SownList list; /* of the graph */
} SownNames;

/* *path 0: the whole tag. E_UNKNOWN if no tag has the name, or two do. */
bool sown_resolve(const SownNames *n, Span at, Sym *tag, Sym *path);
bool sown_fail(const SownNames *n, Span at, const char *text); /* E_UNKNOWN; false */
/* Is it a sow, or a scope of sows? */
bool sown_is_known(const SownNames *n, Sym tag, Sym path);
/* The same, or the end of a path; tag 0: any tag. */
bool sown_is_mentioned(const SownNames *n, Sym tag, Sym path);

/* Does the path end with these names, after a scope? */
bool harvest_path_ends_with(const char *path, const char *names);
/* Is it the path, or a scope around it? */
bool harvest_path_leads_to(const char *scope, const char *path);
/* The next part of a comma-separated list; advances rest->begin. */
bool span_next_part(Session *s, Span *rest, Span *part);

#endif
