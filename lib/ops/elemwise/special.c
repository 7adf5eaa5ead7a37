/* The ops of special.def with their loops, and functions defined by formulas in other
 * ops. */
/* clang-format off */
#include "ops/elemwise/loops.h"
#include "ops/elemwise/kernels.h"
#include "ops/elemwise/special.h"
#include "ops/elemwise/special.def"
#undef ROW
#include "ops/elemwise/table.h"
/* clang-format on */

#define ROW(k, out, name, domain, ...) TABLE_LOOPS_BASE(domain, name)
#include "ops/elemwise/special.def"
#undef ROW

#define ROW(k, out, name, domain, kernels, ...) TABLE_OP(k, out, name, __VA_ARGS__)
#define TEXT(id, ...)                                                                  \
    { .name = OP_ROW(#id), .elemwise = true, __VA_ARGS__ }
static const Op table[] = {
#include "ops/elemwise/special.def"
    TEXT(positive, X, .infix = "+", .def = "x", .doc = "x itself.",
         .example = "positive(2) -> 2"),
    TEXT(trigamma, X, .alias = "tri_gamma", .def = "polygamma(1, x)",
         .doc = "Derivative of digamma.",
         .example = "trigamma(1.) -> 1.6449340668482264"),
    TEXT(relu, X, .def = "maximum(x, 0)", .doc = "x where it is positive, else 0.",
         .example = "relu([-1., 2.]) -> [0.0, 2.0]"),
    TEXT(logit, X, .def = "log(x / (1 - x))", .doc = "Inverse of sigmoid.",
         .example = "logit(0.5) -> 0.0"),
    TEXT(sinc, X, .promote = PROMOTE_INEXACT,
         .def = "where(x == 0, 1, sin(pi * x) / (pi * where(x == 0, 1, x)))",
         .doc = "sin(pi x) / (pi x), 1 at 0.",
         .example = "sinc([0., 1.5]) -> [1.0, "
                    "-0.2122065907891938]"),
    TEXT(entr, X, .promote = PROMOTE_INEXACT, .def = "where(x < 0, -inf, -xlogy(x, x))",
         .doc = "-x log(x), the part of a probability in the entropy: 0 at 0, -inf "
                "below.",
         .example = "entr([0., 1., -1.]) -> [0.0, 0.0, -inf]"),
    TEXT(factorial, .in = "n", .promote = PROMOTE_INEXACT,
         .def = "where(n < 0, 0, gamma(where(n < 0, 0, n) + 1))",
         .doc = "1 * 2 * ... * n; of any n from 0 on gamma(n + 1), below 0.",
         .example = "factorial([0, 4]) -> [1.0, 24.0]"),
    TEXT(chi2sf, .in = "x, k", .promote = PROMOTE_INEXACT,
         .def = "gammaincc(k / 2, x / 2)",
         .doc = "The probability that a chi-squared number with k degrees of freedom "
                "is above x.",
         .example = "chi2sf(0., 3.) -> 1.0"),
    TEXT(rel_entr, XY, .promote = PROMOTE_INEXACT,
         .def = "where((x > 0) & (y > 0), x * log(where((x > 0) & (y > 0), x / y, 1)), "
                "where((x == 0) & (y >= 0), 0, where(isnan(x) | isnan(y), nan, inf)))",
         .doc = "x log(x / y), the part of two probabilities in the relative entropy: "
                "0 where x is 0, inf where y or both are not positive.",
         .example = "rel_entr([0., 1.], [1., 0.]) -> [0.0, inf]"),
    TEXT(ndtri, X, .promote = PROMOTE_INEXACT,
         .def = "-1.4142135623730951 * erfcinv(2 * x)",
         .doc = "Inverse of ndtr, the normal distribution's quantile.",
         .example = "ndtri([0., 1.]) -> [-inf, inf]"),
    TEXT(j0, X, .def = "jv(0, x)",
         .doc = "Bessel function of the first kind of order "
                "0.",
         .example = "j0(0.) -> 1.0"),
    TEXT(j1, X, .def = "jv(1, x)",
         .doc = "Bessel function of the first kind of order "
                "1.",
         .example = "j1(0.) -> 0.0"),
    TEXT(y0, X, .def = "yv(0, x)",
         .doc = "Bessel function of the second kind of order "
                "0.",
         .example = "y0(0.) -> -inf"),
    TEXT(y1, X, .def = "yv(1, x)",
         .doc = "Bessel function of the second kind of order "
                "1.",
         .example = "y1(0.) -> -inf"),
    TEXT(i0, X, .def = "iv(0, x)",
         .doc = "Modified Bessel function of the first kind "
                "of order 0.",
         .example = "i0(0.) -> 1.0"),
    TEXT(i1, X, .def = "iv(1, x)",
         .doc = "Modified Bessel function of the first kind "
                "of order 1.",
         .example = "i1(0.) -> 0.0"),
    TEXT(i0e, X, .def = "ive(0, x)", .doc = "exp(-abs(x)) * i0(x) without overflow.",
         .example = "i0e(0.) -> 1.0"),
    TEXT(i1e, X, .def = "ive(1, x)", .doc = "exp(-abs(x)) * i1(x) without overflow.",
         .example = "i1e(0.) -> 0.0"),
    TEXT(k0, X, .def = "kv(0, x)",
         .doc = "Modified Bessel function of the second kind "
                "of order 0.",
         .example = "k0(0.) -> inf"),
    TEXT(k1, X, .def = "kv(1, x)",
         .doc = "Modified Bessel function of the second kind "
                "of order 1.",
         .example = "k1(0.) -> inf"),
    TEXT(isclose, XY, .promote = PROMOTE_SAME,
         .props = "rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False",
         .def = "where(isfinite(x) & isfinite(y), abs(x - y) <= atol + rtol * "
                "abs(y), "
                "(x == y) | (isnan(x) & isnan(y) & equal_nan))",
         .doc = "True where x and y differ by at most atol + rtol * abs(y). Infinities "
                "equal themselves; nan equals nan only if asked for.",
         .example = "isclose(1., 1.000001) -> True"),
};
const OpList ops_elemwise_special = LIST_OF(table);
