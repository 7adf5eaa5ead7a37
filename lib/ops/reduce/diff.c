/* diff: differences of neighbours, one subtraction of views for each order. */
#include "ops/shape/linear.h"

enum { DIFF_ORDERS = 100 };

static Var move_axis(Builder *b, Var x, int64_t from, int64_t to) {
    PropArg arg[] = {{"source", PROP_INT(from)}, {"destination", PROP_INT(to)}};
    return x == VAR_NONE ? x : apply_named(b, "moveaxis", 1, &x, 2, arg);
}

static bool diff_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                        const Var *in, Var *out) {
    (void)nin;
    int64_t n = prop_int(b->s, op, p, "n"), axis = prop_int(b->s, op, p, "axis");
    const Type *t = var_type(b->g, in[0]);
    if (n < 0 || n > DIFF_ORDERS)
        return fail(b->s, b->from.at, E_ARG, "diff: n must be from 0 to %d, not %lld",
                    DIFF_ORDERS, (long long)n);
    const char *step =
        t->dtype == DT_BOOL ? "x[..., 1:] != x[..., :-1]" : "x[..., 1:] - x[..., :-1]";
    Var v = n ? move_axis(b, in[0], axis, -1) : in[0];
    for (int64_t i = 0; i < n && v != VAR_NONE; i++) {
        bool ok = true;
        Bind x = {sym(b->s, "x"), v};
        v = template_build(b, step, &(Env){.n = 1, .bind = &x, .op = op, .props = p},
                           &ok);
    }
    return (*out = n ? move_axis(b, v, -1, axis) : v) != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("diff"),
     .doc = "Each element along an axis minus the one before, n times over; of bools, "
            "whether they differ.",
     .in = "x",
     .props = "n: int = 1, axis: axis = -1",
     .expand = diff_expand,
     .example = "diff([1, 4, 9]) -> [3, 5]\ndiff([1, 4, 9], n=2) -> [2]"},
};
const OpList ops_reduce_diff = LIST_OF(table);
