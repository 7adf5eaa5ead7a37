/* The rule files of lib/rewrite/rules, embedded when the library is built. */
#ifndef REWRITE_RULES_TEXT_H
#define REWRITE_RULES_TEXT_H

#include <stddef.h>

typedef struct RulesText {
    const char *file, *text;
} RulesText;
extern const RulesText rules_text[]; /* ended by a NULL file */

#endif
