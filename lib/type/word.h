/* Words of the expression language: dims, variables and ops share them. */
#ifndef TYPE_WORD_H
#define TYPE_WORD_H

#include "base/str.h"

bool word_is_keyword(const char *p, size_t n); /* one of Python's, but for literals */
bool word_is_literal(const char *p, size_t n); /* True False None inf nan pi */
static inline bool word_is_reserved(const char *p, size_t n) {
    return word_is_keyword(p, n) || word_is_literal(p, n);
}
/* An ASCII identifier that is not reserved. */
bool word_is_name(const char *p, size_t n);

/* What other systems call what the language has (synonym.def). */
typedef enum WordKind {
    WORD_FUNCTION,
    WORD_ARGUMENT,
    WORD_NAME,
    WORD_ATTRIBUTE,
    WORD_TYPE,
    WORD_OPTIMIZER /* and what its arguments are called */
} WordKind;
/* Our name for it, or what to write instead. NULL: no synonym. */
const char *word_synonym(WordKind kind, const char *theirs);
/* Ends a message about an unknown word: ": here it is `concatenate`", ": write a ** b"
 * or, if one of n names is near, ": did you mean `sin`?". False: there is no advice. */
bool word_advise(Str *out, WordKind kind, const char *word, const char *const *of,
                 size_t n);
/* Is it a module's name in other systems, as in np.sin? */
bool word_is_module(const char *name);

#endif
