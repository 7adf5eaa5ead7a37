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
