/* The functions of vmath512.h for one of the two types; vmath512.h includes this file
 * twice. min and max return their second argument if one is nan, hence the order of
 * arguments. */
#define ALL(c)     P(set1)((T)(c))
#define CALL(name) WIDE(wide_##name)

/* Coefficients from the highest power down. */
VINLINE VEC CALL(horner)(VEC x, size_t n, const T *c) {
    VEC q = ALL(c[0]);
    for (size_t i = 1; i < n; i++)
        q = P(fmadd)(q, x, ALL(c[i]));
    return q;
}
#define HORNER(x, name)                                                                \
    CALL(horner)                                                                       \
    (x, sizeof((const T[]){WIDE(name)}) / sizeof(T), (const T[]){WIDE(name)})
VINLINE VEC CALL(sign_of)(VEC x, VEC y) { /* y >= 0 with the sign of x */
    return P(or)(P(and)(x, ALL(-0.0)), y);
}

/* 2^(j/16) e^r with j in the last bits of m. */
VINLINE VEC CALL(exp_tail)(VEC m, VEC r) {
    VEC power = CALL(power)(WIDE(WIDE_POWER), m);
    VEC y = P(fmadd)(P(mul)(r, r), HORNER(r, WIDE_EXP), r);
    return P(fmadd)(power, y, power);
}
/* The same, rounded once; *rest is the rounding error. */
VINLINE VEC CALL(exp_tail_exact)(VEC m, VEC r, VEC *rest) {
    VEC power = CALL(power)(WIDE(WIDE_POWER), m);
    VEC y = P(fmadd)(P(mul)(r, r), HORNER(r, WIDE_EXP), r);
    VEC low = P(fmadd)(power, y, CALL(power)(WIDE(WIDE_POWER_LOW), m));
    VEC sum = P(add)(power, low);
    *rest = P(add)(P(sub)(power, sum), low);
    return sum;
}
/* x = k log 2 + the result, with j sixteenths of k in the last bits of m. */
VINLINE VEC CALL(exp_split)(VEC x, VEC *m, VEC *k) {
    *m = P(fmadd)(x, ALL(LOG2E), ALL(SIXTEENTHS));
    *k = P(sub)(*m, ALL(SIXTEENTHS));
    return P(fnmadd)(*k, ALL(LN2_LO), P(fnmadd)(*k, ALL(LN2_HI), x));
}
/* e^x = 2^k times the result, which stays far from overflow and underflow. */
VINLINE VEC CALL(exp_core)(VEC x, VEC *k) {
    VEC m, r = CALL(exp_split)(x, &m, k);
    return CALL(exp_tail)(m, r);
}
/* y 2^k where x is not below `least`, else 0, without the time of an underflow. */
VINLINE VEC CALL(scale_above)(VEC x, double least, VEC y, VEC k) {
    return P(maskz_scalef)(M(cmp)(x, ALL(least), _CMP_NLT_UQ), y, k);
}
VINLINE VEC CALL(exp)(VEC x) {
    VEC k, y = CALL(exp_core)(P(min)(ALL(EXP_HI), x), &k);
    return CALL(scale_above)(x, EXP_LO, y, k);
}
VINLINE VEC CALL(exp2)(VEC x) {
    VEC c = P(max)(ALL(-1100), P(min)(ALL(1100), x)), m = P(add)(c, ALL(SIXTEENTHS));
    VEC k = P(sub)(m, ALL(SIXTEENTHS)), r = P(mul)(P(sub)(c, k), ALL(LN2));
    return CALL(scale_above)(x, EXP_LO * LOG2E, CALL(exp_tail)(m, r), k);
}
/* e^-|x| and its rounding error, unless that would be subnormal. */
VINLINE VEC CALL(exp_minus)(VEC x, VEC *rest) {
    VEC m, k, down = P(or)(x, ALL(-0.0)), r = CALL(exp_split)(down, &m, &k);
    VEC y = CALL(exp_tail_exact)(m, r, rest);
    *rest = CALL(scale_above)(down, EXP_REST, *rest, k);
    return CALL(scale_above)(down, EXP_LO, y, k);
}
/* (e^x - 1) / 2 = 2^h (e^r - 1) + (2^h - 1/2) with h = k - 1. r and the sum of the two
 * larger terms are kept in two parts, because the sum may cancel. */
VINLINE VEC CALL(expm1)(VEC x) {
    VEC c = P(max)(ALL(-40), P(min)(ALL(EXP_HI), x));
    VEC k = P(sub)(P(fmadd)(c, ALL(LOG2E), ALL(WHOLE)), ALL(WHOLE));
    VEC a = P(fnmadd)(k, ALL(LN2_HI), c), r = P(fnmadd)(k, ALL(LN2_LO), a);
    VEC rest = P(fnmadd)(k, ALL(LN2_LO), P(sub)(a, r));
    rest = P(fmadd)(P(mul)(r, r), HORNER(r, WIDE_EXPM1), rest);
    VEC scale = P(scalef)(ALL(0.5), k), one = P(sub)(scale, ALL(0.5));
    VEC sum = P(fmadd)(scale, r, one), lost = P(fmadd)(scale, r, P(sub)(one, sum));
    VEC half = P(add)(sum, P(fmadd)(scale, rest, lost));
    MASK small = M(cmp)(P(abs)(x), ALL(EXPM1_SAME), _CMP_LE_OQ); /* half may be 0 */
    return P(mask_mov)(CALL(sign_of)(x, P(add)(half, half)), small, x);
}

/* x = 2^k m; the result is c m - 1, where c is about 1 / m. */
VINLINE VEC CALL(log_split)(VEC x, VEC *m, VEC *k, VEC *c) {
    *m = P(getmant)(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
    *k = P(sub)(P(getexp)(x), P(getexp)(*m));
    *c = CALL(pick)(WIDE(WIDE_C), *m);
    return P(fmsub)(*m, *c, ALL(1));
}
VINLINE VEC CALL(log_tail)(VEC m, VEC k, VEC r) {
    VEC y = P(fmadd)(P(mul)(r, r), HORNER(r, WIDE_LOG1P), r);
    VEC top = P(fmadd)(k, ALL(LN2_HI), CALL(pick)(WIDE(WIDE_LOG), m));
    return P(add)(top, P(fmadd)(k, ALL(LN2_LO), y));
}
VINLINE VEC CALL(log)(VEC x) {
    VEC m, k, c, r = CALL(log_split)(x, &m, &k, &c);
    return CALL(log_tail)(m, k, r);
}
/* log(x + lost); lost is below the last place of x. */
VINLINE VEC CALL(log_sum)(VEC x, VEC lost) {
    VEC m, k, c, r = CALL(log_split)(x, &m, &k, &c);
    MASK any = M(cmp)(lost, ALL(0), _CMP_NEQ_OQ);
    VEC down = P(sub)(ALL(0), k);
    return CALL(log_tail)(m, k, P(fmadd)(P(maskz_scalef)(any, lost, down), c, r));
}
VINLINE VEC CALL(log1p)(VEC x) {
    VEC u = P(add)(x, ALL(1)), b = P(sub)(u, ALL(1));
    VEC lost = P(add)(P(sub)(ALL(1), P(sub)(u, b)), P(sub)(x, b));
    return CALL(sign_of)(x, CALL(log_sum)(u, lost));
}
/* log(1 + e^-|x|) */
VINLINE VEC CALL(log1p_exp)(VEC x) {
    VEC rest, e = CALL(exp_minus)(x, &rest), u = P(add)(e, ALL(1));
    VEC lost = P(add)(P(sub)(e, P(sub)(u, ALL(1))), rest);
    return CALL(log_sum)(u, lost);
}

/* Near 0 x + x z P/Q, else sign (1 - 2 / (e^(2|x|) + 1)): one division serves both.
 * Adding 0 preserves x = -0. */
VINLINE VEC CALL(tanh)(VEC x) {
    VEC z = P(mul)(x, x), a = P(min)(ALL(TANH_ONE), P(abs)(x)), k;
    VEC e = CALL(exp_core)(P(add)(a, a), &k);
    VEC far = P(add)(P(scalef)(e, k), ALL(1));
    MASK near = M(cmp)(z, ALL(0.390625), _CMP_LT_OQ);
    VEC p = P(fmadd)(HORNER(z, WIDE_TANH_P), z, ALL(0));
    VEC b = P(mask_mov)(CALL(sign_of)(x, ALL(1)), near, x);
    VEC y = P(div)(P(mask_mov)(ALL(-2), near, p),
                   P(mask_mov)(far, near, HORNER(z, WIDE_TANH_Q)));
    return P(fmadd)(b, y, b);
}
/* 1 / (1 + e) or e / (1 + e) with e = e^-|x|. The rounding error of the sum is
 * corrected to first order, using 1 / (1 + e) derived again from the result. */
VINLINE VEC CALL(sigmoid)(VEC x) {
    VEC rest, e = CALL(exp_minus)(x, &rest), d = P(add)(e, ALL(1));
    VEC lost = P(sub)(e, P(sub)(d, ALL(1)));
    MASK left = M(cmp)(x, ALL(0), _CMP_LT_OQ);
    VEC y = P(div)(P(mask_mov)(ALL(1), left, e), d);
    return P(fnmadd)(P(mul)(y, lost), P(mask_sub)(y, left, ALL(1), y), y);
}
VINLINE VEC CALL(softplus)(VEC x) {
    return P(add)(P(max)(ALL(0), x), CALL(log1p_exp)(x));
}
/* x 2^n for whole n, also where 2^n is out of range. */
VINLINE VEC CALL(scale_exponent)(VEC x, VEC n) {
    VEC by = P(max)(ALL(-5000), P(min)(ALL(5000), n));
    return P(scalef)(x, P(roundscale)(by, _MM_FROUND_TO_NEAREST_INT));
}
VINLINE VEC CALL(float_exponent)(VEC x) {
    VEC e = P(getexp)(x); /* infinite for 0, and nan or infinite as x is */
    MASK finite = M(cmp)(P(abs)(e), ALL(5000), _CMP_LT_OQ);
    return P(mask_add)(ALL(0), finite, e, ALL(1));
}
#undef WIDE
#undef P
#undef M
#undef T
#undef VEC
#undef MASK
#undef EXP_LO
#undef EXP_REST
#undef EXP_HI
#undef EXPM1_SAME
#undef TANH_ONE
#undef SIXTEENTHS
#undef WHOLE
#undef LN2_HI
#undef LN2_LO
#undef ALL
#undef CALL
#undef HORNER
