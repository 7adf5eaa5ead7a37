/* What the tests of elementwise ops share: finding loops, random numbers, distances of
 * floats. */
#ifndef TEST_ELEMWISE_H
#define TEST_ELEMWISE_H

#include "base/base.h"
#include "op/op.h"
#include "test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wunused-function"

extern const OpList ops_elemwise_arith, ops_elemwise_bits, ops_elemwise_cast,
    ops_elemwise_compare, ops_elemwise_complex, ops_elemwise_exp, ops_elemwise_gamma,
    ops_elemwise_neighbour, ops_elemwise_select, ops_elemwise_special,
    ops_elemwise_trig;
static const OpList *const lists[] = {
    &ops_elemwise_arith,   &ops_elemwise_bits,      &ops_elemwise_cast,
    &ops_elemwise_compare, &ops_elemwise_complex,   &ops_elemwise_exp,
    &ops_elemwise_gamma,   &ops_elemwise_neighbour, &ops_elemwise_select,
    &ops_elemwise_special, &ops_elemwise_trig,      NULL};
#define INF ((double)INFINITY)
#define NOT ((double)NAN)
static int cpu_level;

static const Op *op(const char *name) {
    for (const OpList *const *l = lists; *l; l++)
        for (size_t i = 0; i < (*l)->n; i++)
            if (strcmp((*l)->op[i].name, name) == 0) return &(*l)->op[i];
    printf("no op %s\n", name);
    abort();
}
static Loop *loop_at(const Op *o, DType d, int level) {
    Loop *found = NULL;
    for (; level >= 0 && !found; level--)
        found = o->pick(d, d, level);
    return found;
}
static Loop *loop_of(const char *name, DType d) {
    return loop_at(op(name), d, cpu_level);
}

static uint64_t state = 88172645463325252U;
static uint64_t random_bits(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}
static double random_unit(void) {
    return (double)(random_bits() >> 11) * 0x1p-53;
}

static size_t arity(const Op *o) {
    size_t n = 1;
    for (const char *c = o->in; *c; c++)
        n += *c == ',';
    return n;
}
static bool is_where(const Op *o) {
    return o->promote == PROMOTE_TAIL;
}
static bool is_cast(const Op *o) {
    return o->out_dtype == OUT_PROP;
}
static bool has_loops(const Op *o) {
    return o->elemwise && o->pick && !is_cast(o);
}

/* Distance in units of want's last place; 0 for the same special value, 1e9 for a
 * different one. */
static double ulps(double got, long double want, int digits, int least) {
    bool finite = isfinite(got) && fabsl(want) < (long double)INFINITY;
    if (isnan(got) || isnan((double)want))
        return isnan(got) && isnan((double)want) ? 0 : 1e9;
    if (!finite) { /* rounding may reach inf */
        long double max = digits == 24 ? (long double)FLT_MAX : (long double)DBL_MAX;
        if ((long double)got == want) return 0;
        return isinf(got) && fabsl(want) > max && (got > 0) == (want > 0) ? 0 : 1e9;
    }
    if (want == 0 && got == 0) return signbit(got) == signbit((double)want) ? 0 : 1e9;
    int e;
    frexpl(want, &e);
    return (double)(fabsl((long double)got - want) /
                    ldexpl(1, (e < least ? least : e) - digits));
}
static double ulps64(double got, long double want) {
    return ulps(got, want, 53, -1021);
}
static double ulps32(float got, long double want) {
    return ulps((double)got, want, 24, -125);
}

static void start(void) {
    Session *s = session_new(NULL, NULL);
    cpu_level = session_cpu_level(s);
    session_free(s);
}

#endif
