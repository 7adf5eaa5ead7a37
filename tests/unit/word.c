/* Names: what is looked at in several bytes at once is what each byte says by itself.
 */
#include "type/word.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 34 };

static bool is_name(const char *p, size_t n) {
    if (n == 0 || ascii_is_digit(p[0])) return false;
    for (size_t i = 0; i < n; i++)
        if (!ascii_is_word(p[i])) return false;
    return !word_is_reserved(p, n);
}

/* In blocks of their own length, so that a sanitizer sees what is read beyond. */
static void test_names(void) {
    static const char plain[] = "abzAZ_09my";
    for (size_t n = 0; n <= LONGEST; n++)
        for (size_t at = 0; at < n || at == 0; at++) {
            char *p = malloc(n ? n : 1);
            unsigned wrong = 0;
            for (size_t i = 0; p && i < n; i++)
                p[i] = i ? plain[(n * 7 + at * 3 + i) % (sizeof plain - 1)] : 'h';
            for (int c = 0; p && n && c < 256; c++) {
                p[at] = (char)c;
                wrong += word_is_name(p, n) != is_name(p, n);
            }
            CHECK(p && wrong == 0, "%zu of %zu: %u", at, n, wrong);
            free(p);
        }
    CHECK(!word_is_name("", 0));
}

static void test_reserved(void) {
    static const char *const reserved[] = {"if",  "lambda", "None", "pi",
                                           "nan", "True",   "in",   "continue"},
                             *const names[] = {"iff", "lambdas", "none", "pi2",
                                               "x",   "_",       "in_",  "continued"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK(!word_is_name(reserved[i], strlen(reserved[i])), "%s", reserved[i]);
        CHECK(word_is_name(names[i], strlen(names[i])), "%s", names[i]);
    }
}

int main(void) {
    test_names();
    test_reserved();
    return TEST_END("word");
}
