/* Functions of the language that are neither ops nor macros, for who asks about one. */
#ifndef LANG_BUILTIN_H
#define LANG_BUILTIN_H

typedef struct Builtin {
    const char *name, *signature, *doc, *example;
} Builtin;
/* NULL: there is none of that name. Names of dtypes are functions, too (casts). */
const Builtin *builtin_find(const char *name);

#endif
