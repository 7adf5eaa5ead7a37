/* diff: differences of neighbours, one subtraction of views for each order. */
#include "ops/shape/linear.h"

#include <stdio.h>
#include <string.h>

enum { DIFF_ORDERS = 100 };

static Var move_axis(Builder *b, Var x, int64_t from, int64_t to) {
    PropArg arg[] = {{"source", PROP_INT(from)}, {"destination", PROP_INT(to)}};
    return x == VAR_NONE ? x : apply_named(b, "moveaxis", 1, &x, 2, arg);
}

/* The step's text: slices of the axis itself, because what is computed of transposes
 * is read and written out of order. Texts are known by where they are: a symbol's
 * stays. */
static const char *diff_step(Builder *b, const Type *t, int64_t axis) {
    char rest[3 * MAX_NDIM + 1], text[2 * sizeof rest + 32];
    size_t n = 0;
    for (int64_t k = axis + 1; k < t->ndim; k++, n += 3)
        memcpy(rest + n, ", :", 3);
    rest[n] = '\0';
    snprintf(text, sizeof text, "x[..., 1:%s] %s x[..., :-1%s]", rest,
             t->dtype == DT_BOOL ? "!=" : "-", rest);
    return sym_text(b->s, sym(b->s, text));
}

static bool diff_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                        const Var *in, Var *out) {
    (void)nin;
    int64_t n = prop_int(b->s, op, p, "n"), axis = prop_int(b->s, op, p, "axis");
    const Type *t = var_type(b->g, in[0]);
    if (n < 0 || n > DIFF_ORDERS)
        return fail(b->s, b->from.at, E_ARG, "diff: n must be from 0 to %d, not %lld",
                    DIFF_ORDERS, (long long)n);
    if (n && (axis < -t->ndim || axis >= t->ndim))
        return fail(b->s, b->from.at, E_ARG,
                    "diff: axis %lld is out of range for a tensor of %d dims",
                    (long long)axis, t->ndim);
    const char *step = diff_step(b, t, axis < 0 ? axis + t->ndim : axis);
    Var v = in[0];
    for (int64_t i = 0; i < n && v != VAR_NONE; i++) {
        bool ok = true;
        Bind x = {sym(b->s, "x"), v};
        v = template_build(b, step, &(Env){.n = 1, .bind = &x, .op = op, .props = p},
                           &ok);
    }
    return (*out = v) != VAR_NONE;
}

/* The values before or after x along the axis: a scalar is one of them everywhere. */
static Var diff_part(Builder *b, Var x, Var part, const char *name, int64_t axis) {
    bool ok = true;
    int ndim = var_type(b->g, part)->ndim, want = var_type(b->g, x)->ndim;
    if (ndim == want) return part;
    if (ndim)
        return fail(b->s, b->from.at, E_SHAPE,
                    "diff: %s has %d dims, but x %d: as many, or none for a scalar",
                    name, ndim, want),
               VAR_NONE;
    Var last = move_axis(b, x, axis, -1);
    if (last == VAR_NONE) return VAR_NONE;
    Bind bind[] = {{sym(b->s, "x"), last}, {sym(b->s, "p"), part}};
    Var one = template_build(b, "broadcast_to(p, concatenate([shape(x)[:-1], [1]]))",
                             &(Env){.n = 2, .bind = bind}, &ok);
    return ok ? move_axis(b, one, -1, axis) : VAR_NONE;
}

static bool is_no_part(Builder *b, Var v) {
    const Type *t = var_type(b->g, v);
    return t->ndim == 1 && t->dim[0] == 0;
}

static bool diff_between_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                                const Var *in, Var *out) {
    int64_t n = prop_int(b->s, op, p, "n"), axis = prop_int(b->s, op, p, "axis");
    Var part[3];
    size_t parts = 0;
    for (int i = 0; n && i < 3; i++) {
        Var v = in[i == 0 ? 1 : i == 1 ? 0 : 2];
        if (i != 1 && ((size_t)i >= nin || is_no_part(b, v))) continue;
        part[parts] =
            i == 1 ? v : diff_part(b, in[0], v, i ? "append" : "prepend", axis);
        if (part[parts++] == VAR_NONE) return false;
    }
    PropArg arg[] = {{"n", PROP_INT(n)}, {"axis", PROP_INT(axis)}};
    Var all =
        parts > 1 ? apply_named(b, "concatenate", parts, part, 1, arg + 1) : in[0];
    return all != VAR_NONE &&
           (*out = apply_named(b, "diff", 1, &all, 2, arg)) != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("diff"),
     .doc = "Each element along an axis minus the one before, n times over; of bools, "
            "whether they differ. prepend= and append= are as in diff_between.",
     .in = "x",
     RARE(.keywords = "diff_between"),
     .props = "n: int = 1, axis: axis = -1",
     .expand = diff_expand,
     .example = "diff([1, 4, 9]) -> [3, 5]\ndiff([1, 4, 9], n=2) -> [2]"},
    {.name = OP_ROW("diff_between"),
     .doc =
         "diff of x with the values `prepend` before it and `append` after it along "
         "the axis: scalars, or tensors with the other dims of x. diff(x, prepend=a, "
         "append=b) is the same.",
     .in = "x, prepend = [], append = []",
     .props = "n: int = 1, axis: axis = -1",
     .promote = PROMOTE_SAME,
     .expand = diff_between_expand,
     .example = "diff([1, 4, 9], prepend=0) -> [1, 3, 5]\n"
                "diff([[1], [4]], axis=0, append=[[9]]) -> [[3], [5]]"},
};
const OpList ops_reduce_diff = LIST_OF(table);
