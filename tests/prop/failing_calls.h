/* Each call that builds a part of something (failing_build.h) fails once, wherever it
 * is first come to by the same innermost calls: there is then a result, made otherwise,
 * or none and exactly one error. A crash is caught and told.
 *
 * DEPTH=n: as many calls tell one way from another. */
#ifndef FAILING_CALLS_H
#define FAILING_CALLS_H

#include "../unit/test.h"
#include "failing_build.h"
#include "ways.h"

#include <setjmp.h>
#include <signal.h>

static struct {
    bool running;
    size_t at, n;            /* 0: none; so far */
    void *from[WAY_DEEPEST]; /* where it struck */
    int nfrom;
    bool crashed;
} plan;
static const char *program;
static sigjmp_buf back;

static bool build_fails(void) {
    if (!plan.running) return false;
    way_note(++plan.n);
    if (plan.n != plan.at) return false;
    plan.nfrom = backtrace(plan.from, WAY_DEEPEST);
    return true;
}

/* What follows counts: its call number `at` fails, if there is one. */
static inline void failing_begin(void) {
    plan.running = plan.at || ways.noting;
}
static inline void failing_end(void) {
    plan.running = false;
}

static void on_crash(int sig) {
    if (plan.running) siglongjmp(back, sig);
    signal(sig, SIG_DFL);
    raise(sig);
}

static void failing_open(char **argv, size_t usual_depth) {
    const char *depth = getenv("DEPTH");
    ways_open(depth ? strtoul(depth, NULL, 10) : usual_depth);
    program = argv[0];
    signal(SIGSEGV, on_crash);
    signal(SIGABRT, on_crash);
}

/* work: true: it works. What it has begun is ended. */
static bool failing_try(Session *s, size_t at, const char *name,
                        bool (*work)(void *ctx), void *ctx) {
    plan.at = at, plan.n = 0;
    plan.crashed = sigsetjmp(back, 1) != 0;
    bool ok = !plan.crashed && work(ctx);
    plan.running = false, plan.at = 0;
    size_t errors = 0;
    for (size_t i = 0; i < diag_count(s); i++)
        errors += diag_get(s, i)->severity == DIAG_ERROR;
    if (at)
        CHECK(!plan.crashed && errors == (ok ? 0u : 1u),
              "%s, call %zu: %zu errors, and it %s: %s", name, at, errors,
              plan.crashed ? "crashes"
              : ok         ? "works"
                           : "fails",
              way_names(program, plan.nfrom, plan.from));
    return ok;
}

/* `attempt` makes a failing_try of call number `at`. The first fills what lasts as long
 * as the session. */
static void failing_each(const void *of, void (*attempt)(void *ctx, size_t at),
                         void *ctx) {
    ways.of = of;
    ways.nfresh = 0;
    attempt(ctx, 0);
    ways.noting = true;
    attempt(ctx, 0);
    ways.noting = false;
    for (size_t i = 0; i < ways.nfresh; i++)
        attempt(ctx, ways.fresh[i]);
}

#endif
