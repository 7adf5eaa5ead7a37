/* Proofs of rewrite rules. A rule is built for the dtypes and shapes that its guards
 * allow, and both of its sides are run and compared:
 *   rational identities   are decided by exact arithmetic modulo a prime at random
 *                         points (Schwartz 1980, Zippel 1979)
 *   all others            by a dense search: every value of small dtypes, special
 *                         values, random bit patterns, sizes 0 and 1
 * Where sides differ, the errors that rounding can make of each are bounded, and the
 * rule's tag says what may differ:
 *   plain rules       nothing but the last digits
 *   @stabilize        the right side may be better than the left one, but not lose half
 *                     of the digits that it keeps
 *   @reassociate      rounding, what overflows or underflows on the way, the sign of 0
 *   @algebra          the same; where nan or inf are among the inputs, both sides need
 *                     not meet them
 *   @fast             the same; where zeros are among the inputs, or the left side is
 * no number
 */
#ifndef PROVE_PROVE_H
#define PROVE_PROVE_H

#include "rewrite/rewrite.h"

typedef enum Promise {
    PROMISE_EXACT,
    PROMISE_STABLE,
    PROMISE_ROUNDED,
    PROMISE_ALGEBRA,
    PROMISE_FAST
} Promise;
typedef enum Verdict {
    VERDICT_UNTYPED, /* no types were found that it fits */
    VERDICT_HOLDS,
    VERDICT_PROVED, /* it is a rational identity */
    VERDICT_FALSE
} Verdict;
/* A point at which the sides differ. */
typedef struct CounterInput {
    const char *name, *value,
        *type; /* "x", "-1.0", "float64"; a constant's type is "" */
} CounterInput;
typedef struct CounterExample {
    size_t ninput;
    const CounterInput *input;
    const char *left, *right; /* values of the sides; NULL: the right one fails */
    int64_t at;               /* the element that they show; -1: they are whole */
    const char *failure;      /* of the right side; NULL: it doesn't fail */
} CounterExample;
/* "x = -1.0 (float64), left = 1.0, right = -1.0", in session memory. */
const char *counter_text(Session *s, const CounterExample *c);

/* Session memory. */
typedef struct RuleProof {
    const RewriteEntry *rule;
    Promise promise; /* of its tags */
    Verdict verdict;
    uint64_t typings, points;      /* that were compared */
    double worst;                  /* distance of two sides that hold, in ulp */
    const char *domain;            /* where it holds: "for finite x" */
    const char *dtypes;            /* that fit: "float16 float32 float64" */
    const CounterExample *counter; /* NULL: none was found */
} RuleProof;
/* Decides a rule; the same seed gives the same points. False: diagnosed. */
bool rule_prove(Session *s, const RewriteEntry *e, uint64_t seed, RuleProof *out);

#endif
