/* Neighbours among the floats, by their bits: nextafter, spacing. */
#include "ops/elemwise/neighbour.h"

#include "ops/elemwise/table.h"

static const NextLoops *next_of(int level) {
#ifdef __x86_64__
    if (level) return level == 1 ? &next_loops1 : &next_loops2;
#endif
    return level ? NULL : &next_loops0;
}

static Loop *pick_nextafter(DType from, DType to, int level) {
    const NextLoops *l = next_of(level);
    (void)to;
    return !l                   ? NULL
           : from == DT_FLOAT16 ? l->f16
           : from == DT_FLOAT32 ? l->f32
           : from == DT_FLOAT64 ? l->f64
                                : NULL;
}

static const Op table[] = {
    TABLE_OP(2, SAME, nextafter, XY, .promote = PROMOTE_INEXACT, .kinds = KIND_FLOAT,
             .flops = "1", D("where(x == r, 0, 1)", "where(x == r, 1, 0)"),
             .doc =
                 "The float next to x in the direction of y; y where they are equal. "
                 "The derivative is that of x.",
             .example = "nextafter(1., 2.) -> 1.0000000000000002"){
        .name = OP_ROW("spacing"),
        .elemwise = true,
        X,
        .promote = PROMOTE_INEXACT,
        .def = "where(isinf(x), nan, where(x < 0, nextafter(x, -inf), nextafter(x, "
               "inf)) - x)",
        .doc = "How far the next float away from 0 is, with the sign of x; nan for "
               "infinities.",
        .example = "spacing(1.) -> 2.220446049250313e-16"},
};
const OpList ops_elemwise_neighbour = LIST_OF(table);
