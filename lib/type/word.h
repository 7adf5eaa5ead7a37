/* Words of the expression language: dims, variables and ops share them. */
#ifndef TYPE_WORD_H
#define TYPE_WORD_H

#include <stdbool.h>
#include <stddef.h>

bool word_is_keyword(const char *p, size_t n); /* one of Python's, but for literals */
bool word_is_literal(const char *p, size_t n); /* True False None inf nan pi */
static inline bool word_is_reserved(const char *p, size_t n) {
    return word_is_keyword(p, n) || word_is_literal(p, n);
}
/* An ASCII identifier that is not reserved. */
bool word_is_name(const char *p, size_t n);

#endif
