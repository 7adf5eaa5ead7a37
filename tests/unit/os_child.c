/* A function in a copy of the process: what it says arrives, what it does stays there.
 */
#include "base/session.h"
#include "os/child.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int here = 1;

static void says(void *ctx, Str *out) {
    here = 2;
    puts("to nobody");
    fflush(stdout);
    for (int i = 0; i < *(int *)ctx; i++)
        str_printf(out, "%d ", i);
}
static void crashes(void *ctx, Str *out) {
    (void)ctx;
    str_puts(out, "half");
    abort();
}
static void hangs(void *ctx, Str *out) {
    (void)ctx, (void)out;
    for (;;)
        pause();
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    Str out = STR(s);
    str_puts(&out, "before ");
    int few = 3, many = 100000; /* more than a pipe holds */
    CHECK(child_run(says, &few, 20, &out));
    CHECK_STR(str_text(&out), "before 0 1 2 ");
    CHECK(here == 1);
    size_t n = out.n;
    CHECK(!child_run(crashes, NULL, 20, &out) && out.n == n);
    CHECK(!child_run(hangs, NULL, 0.05, &out) && out.n == n);
    CHECK(child_run(says, &many, 20, &out) && out.n == n + 588890);
    str_free(&out);
    session_free(s);
    return TEST_END("os_child");
}
