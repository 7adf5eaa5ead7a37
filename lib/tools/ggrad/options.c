/* Which derivative is asked for, and whether the other options go with it. */
#include "tools/tools.h"

#include <string.h>

typedef struct DerivativeKind {
    const char *option, *names;
} DerivativeKind;

/* Finds the option that says what to derive; without any it is --cost, of no name.
 * Several: diagnosed, false. */
static bool choose_kind(Session *s, const Derive *d, DerivativeKind *kind) {
    const DerivativeKind all[] = {
        {"--cost", d->cost},         {"--vjp", d->vjp},         {"--jvp", d->jvp},
        {"--jacobian", d->jacobian}, {"--hessian", d->hessian}, {"--hvp", d->hvp}};
    *kind = (DerivativeKind){"--cost", NULL};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i].names) continue;
        if (kind->names)
            return fail(s, NOWHERE, E_USAGE,
                        "%s and %s exclude each other: take one derivative at a time",
                        kind->option, all[i].option);
        *kind = all[i];
    }
    return true;
}

/* Checks that options go with the kind of derivative that reads them. */
static bool options_agree(Session *s, const Derive *d) {
    const struct {
        bool given, fits;
        const char *option, *with;
    } pair[] = {{d->cotangent, d->vjp, "cotangent", "vjp"},
                {d->tangents, d->jvp, "tangents", "jvp"},
                {d->by_pullback, d->jvp, "by-pullback", "jvp"},
                {d->vector, d->hvp, "vector", "hvp"},
                {d->checkpoint, !d->jvp && !d->jacobian && !d->hessian && !d->hvp,
                 "checkpoint", "cost"},
                {d->budget, !d->jvp && !d->jacobian && !d->hessian && !d->hvp,
                 "memory-budget", "cost"},
                {d->mixed, d->hessian, "mixed", "hessian"},
                {d->known, !d->jvp && !d->jacobian, "known-grads", "cost"},
                {d->optimizer,
                 !d->vjp && !d->jvp && !d->jacobian && !d->hessian && !d->hvp,
                 "optimizer", "cost"}};
    if (d->wrt && !*d->wrt) return fail(s, NOWHERE, E_USAGE, "--wrt needs names");
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        if (pair[i].given && !pair[i].fits)
            return fail(s, NOWHERE, E_USAGE, "--%s is for --%s", pair[i].option,
                        pair[i].with);
    if (d->budget && d->checkpoint)
        return fail(s, NOWHERE, E_USAGE,
                    "--memory-budget chooses what --checkpoint says: give one of them");
    if (d->ndim && !d->budget)
        return fail(s, NOWHERE, E_USAGE,
                    "--dim is for --memory-budget: gload --dim changes a graph");
    if (d->optimizer && d->only)
        return fail(s, NOWHERE, E_USAGE,
                    "--optimizer writes updates, so it excludes --only");
    return true;
}

bool derive_agrees(Session *s, Derive *d) {
    DerivativeKind kind;
    if (!choose_kind(s, d, &kind) || !options_agree(s, d)) return false;
    if (!kind.names) return true;
    uint32_t n = (uint32_t)strlen(kind.names);
    d->at = (Span){source_add(s, kind.option, kind.names, n), 0, n};
    return true;
}
