/* Functions of the language that are neither ops nor macros, for help and
 * completions. */
#ifndef LANG_BUILTIN_H
#define LANG_BUILTIN_H

#include <stddef.h>

typedef struct Builtin {
    const char *name, *signature, *doc, *example;
} Builtin;
/* NULL: no function of that name. Names of dtypes are functions, too (casts). */
const Builtin *builtin_find(const char *name);
/* NULL behind the last. */
const Builtin *builtin_at(size_t i);

#endif
