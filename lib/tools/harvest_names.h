/* Names of sows as options say them: TAG, TAG/NAME, TAG/SCOPE/NAME, or without the tag
 * where one tag has the name. */
#ifndef TOOLS_HARVEST_NAMES_H
#define TOOLS_HARVEST_NAMES_H

#include "harvest/harvest.h"

typedef struct SownNames {
    Session *s;
    SownList list; /* of the graph */
} SownNames;

/* *path 0: the whole tag. E_UNKNOWN for what no tag has, or two have. */
bool sown_resolve(const SownNames *n, Span at, Sym *tag, Sym *path);
bool sown_fail(const SownNames *n, Span at, const char *text); /* E_UNKNOWN; false */
/* Is it sown, or a scope of what is sown? */
bool sown_is_known(const SownNames *n, Sym tag, Sym path);
/* The same, or the end of a path; tag 0: of any tag. */
bool sown_is_mentioned(const SownNames *n, Sym tag, Sym path);

/* Does the path end with these names, after others? */
bool harvest_path_ends_with(const char *path, const char *names);
/* Is it the path, or a scope that it is in? */
bool harvest_path_leads_to(const char *scope, const char *path);
/* The parts of a comma list, one after the other; rest->begin moves on. */
bool span_next_part(Session *s, Span *rest, Span *part);

#endif
