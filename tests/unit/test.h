/* The smallest test harness: CHECK counts, a failure prints where and what, TEST_END
 * reports "NAME: N passed, N failed" and returns the exit status. */
#ifndef TEST_H
#define TEST_H

#include <stdio.h>
#include <string.h>

static int test_passed, test_failed;
/* CHECK(cond) or CHECK(cond, "format", ...): printf's arguments explain a failure. */
#define CHECK(...)                                                                     \
    CHECK_NTH_(__VA_ARGS__, CHECK_SAY_, CHECK_SAY_, CHECK_SAY_, CHECK_SAY_,            \
               CHECK_SAY_, CHECK_SAY_, CHECK_SAY_, CHECK_SAY_, CHECK_SAY_, CHECK_SAY_, \
               CHECK_SAY_, CHECK_ONE_, 0)                                              \
    (__VA_ARGS__)
#define CHECK_NTH_(a, b, c, d, e, f, g, h, i, j, k, l, name, ...) name
#define CHECK_ONE_(cond)                                          CHECK_SAY_(cond, "%s", "")
#define CHECK_SAY_(cond, ...)                                                          \
    do {                                                                               \
        if (cond) {                                                                    \
            test_passed++;                                                             \
        } else {                                                                       \
            test_failed++;                                                             \
            printf("%s:%d: CHECK(%s) failed. ", __FILE__, __LINE__, #cond);            \
            printf(__VA_ARGS__);                                                       \
            printf("\n");                                                              \
        }                                                                              \
    } while (0)
#define CHECK_STR(a, b)                                                                \
    do {                                                                               \
        const char *a_ = (a), *b_ = (b);                                               \
        CHECK(strcmp(a_, b_) == 0, "got \"%s\", expected \"%s\"", a_, b_);             \
    } while (0)
#define TEST_END(name)                                                                 \
    (printf("%s: %d passed, %d failed\n", name, test_passed, test_failed),             \
     test_failed != 0 || test_passed == 0)

#endif
