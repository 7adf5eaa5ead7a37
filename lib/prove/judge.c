/* Do the values of both sides agree as the class of the rule wants? */
#include "prove/prove_impl.h"

#include <math.h>

/* Last digits that a plain rule may change; and how far above the bounds, which count
 * errors of first order alone, sides may differ. */
static const double plain_ulps = 4;
static const long double slack = 4;

static double hypot_of(const double z[2]) {
    return z[1] == 0 ? fabs(z[0]) : hypot(z[0], z[1]);
}

static bool is_finite_value(const double z[2]) {
    return isfinite(z[0]) && isfinite(z[1]);
}

/* The distance of two finite values in ulp of the larger. */
static double ulps_between(const Pair *v) {
    double d[2] = {v->l[0] - v->r[0], v->l[1] - v->r[1]};
    double size = fmax(hypot_of(v->l), hypot_of(v->r));
    long double at = fmaxl((long double)size, points_smallest(v->dtype));
    return (double)((long double)hypot_of(d) / (2 * unit_roundoff(v->dtype) * at));
}

static bool is_same_part(double a, double b) {
    return (isnan(a) && isnan(b)) || a == b;
}

static bool differs_in_sign_of_zero(const Pair *v) {
    return v->l[0] == 0 && v->r[0] == 0 && signbit(v->l[0]) != signbit(v->r[0]);
}

/* Where the largest numbers end, a last digit decides whether a result overflows. */
static bool is_last_digit_of_overflow(const Pair *v) {
    double inf = isinf(v->l[0]) ? v->l[0] : v->r[0];
    double other = isinf(v->l[0]) ? v->r[0] : v->l[0];
    double least =
        (double)(points_largest(v->dtype) * (1 - 8 * unit_roundoff(v->dtype)));
    return isinf(inf) && isfinite(other) && fabs(other) >= least &&
           signbit(inf) == signbit(other);
}

/* The sides are not both finite, and not the same. */
static Judgement judge_infinite(const Prover *p, const Pair *v, PointKind k) {
    bool left = is_finite_value(v->l), right = is_finite_value(v->r);
    bool special = k.nan || k.inf;
    if (dtype_is_complex(v->dtype)) return EXEMPT;
    switch (p->promise) {
    case PROMISE_EXACT:
        return is_last_digit_of_overflow(v) ? AGREES : DIFFERS;
    case PROMISE_STABLE:
        return left || right ? ASK_BOUND : EXEMPT; /* the true value decides */
    case PROMISE_ROUNDED:
        return special && !left ? EXEMPT : ASK_BOUND;
    case PROMISE_ALGEBRA:
        return special ? EXEMPT : ASK_BOUND;
    case PROMISE_FAST:
        return special || k.zero || !left ? EXEMPT : ASK_BOUND;
    }
    return DIFFERS;
}

Judgement judge_values(const Prover *p, const Pair *v, PointKind k, double *ulps,
                       bool *zero_signs) {
    *ulps = 0;
    if (dtype_is_discrete(v->dtype)) return v->exact ? AGREES : DIFFERS;
    bool same = is_same_part(v->l[0], v->r[0]) && is_same_part(v->l[1], v->r[1]);
    if (same && differs_in_sign_of_zero(v) && !dtype_is_complex(v->dtype)) {
        *zero_signs = true;
        return p->promise == PROMISE_EXACT ? DIFFERS : EXEMPT;
    }
    if (same) return AGREES;
    if (!is_finite_value(v->l) || !is_finite_value(v->r))
        return judge_infinite(p, v, k);
    *ulps = ulps_between(v);
    bool is_complex = dtype_is_complex(v->dtype);
    if (*ulps <= (is_complex ? 2 * plain_ulps : plain_ulps)) return AGREES;
    return p->promise == PROMISE_EXACT && !is_complex ? DIFFERS : ASK_BOUND;
}

/* ---- with bounds ---- */

static long double distance(long double _Complex a, const double z[2]) {
    return hypotl(__real__ a - (long double)z[0], __imag__ a - (long double)z[1]);
}

/* Is the right side as near to the true value as rounding of its own lets it be? */
static bool is_as_good(const Pair *v, const Bound *l, const Bound *r) {
    long double error = slack * (r->error + l->fine) + points_smallest(v->dtype);
    return distance(l->value, v->r) <= error;
}

static bool is_finite_bound(const Bound *b) {
    return isfinite(__real__ b->value) && isfinite(__imag__ b->value);
}

/* Does the right side lose half of the digits that the left one keeps, as terms of its
 * own cancel? A softmax may lose some: what it subtracts keeps it in range. */
static bool is_worse(const Pair *v, const Bound *l, const Bound *r) {
    if (!is_finite_bound(l) || !isfinite(l->fine) || r->error <= l->error) return false;
    long double half = sqrtl((long double)unit_roundoff(v->dtype)),
                error = slack * (l->error + l->fine);
    long double most = fmaxl(error, half * (long double)hypot_of(v->l));
    return distance(l->value, v->r) > most + points_smallest(v->dtype);
}

static Judgement judge_lost(const Prover *p, const Pair *v, const Bound *l,
                            const Bound *r) {
    if (p->promise == PROMISE_STABLE) {
        if (!is_finite_bound(l) || !isfinite(l->fine)) return EXEMPT;
        return is_finite_value(v->r) && is_as_good(v, l, r) ? EXEMPT : DIFFERS;
    }
    return l->extreme || r->extreme ? EXEMPT : DIFFERS;
}

Judgement judge_bounds(const Prover *p, const Pair *v, PointKind k, const Bound *l,
                       const Bound *r, double *ulps) {
    if (!is_finite_value(v->l) || !is_finite_value(v->r)) return judge_lost(p, v, l, r);
    long double error = l->error + r->error;
    long double far = (long double)hypot(v->l[0] - v->r[0], v->l[1] - v->r[1]);
    if (far <= slack * error + points_smallest(v->dtype)) {
        if (p->promise == PROMISE_STABLE && is_worse(v, l, r)) return DIFFERS;
        /* ulp of the terms that cancel, if some do; digits lost to denormals don't
         * count
         */
        long double u = 2 * unit_roundoff(v->dtype);
        long double size = (long double)fmax(hypot_of(v->l), hypot_of(v->r));
        bool underflows = far <= points_smallest(v->dtype);
        *ulps = underflows ? 0 : (double)(far / fmaxl(u * size, error));
        return AGREES;
    }
    if (p->promise == PROMISE_STABLE)
        return is_finite_bound(l) && isfinite(l->fine) && is_as_good(v, l, r) ? EXEMPT
                                                                              : DIFFERS;
    if (p->promise == PROMISE_EXACT) return DIFFERS;
    if (l->extreme || r->extreme) return EXEMPT;
    return p->promise == PROMISE_FAST && (k.zero || k.nan || k.inf) ? EXEMPT : DIFFERS;
}

/* Without bounds: at points where the sides are well-conditioned. */
Judgement judge_ordinary(const Pair *v, PointKind k, double *ulps) {
    double digits = dtype_real(v->dtype) == DT_FLOAT16 ? 64 : 4000;
    if (!is_finite_value(v->l) || !is_finite_value(v->r))
        return k.nan || k.inf || k.zero ? EXEMPT : DIFFERS;
    double far = hypot(v->l[0] - v->r[0], v->l[1] - v->r[1]);
    double size = fmax(1, fmax(hypot_of(v->l), hypot_of(v->r)));
    *ulps = far / (2 * (double)unit_roundoff(v->dtype) * size);
    return *ulps <= digits ? AGREES : DIFFERS;
}
