/* x with y multiplied into the indexed elements, or the larger or smaller of both: what
 * scatter_elements and scatter_nd become with such a reduction. */
#include "ops/index/write.h"
#include "ops/shape/linear.h"

#include <string.h>

static bool fold_of(Session *s, const Op *op, const Props *props, IndexFold *how) {
    const char *name = sym_text(s, op_prop(s, op, props, "reduction")->sym);
    static const char *const names[INDEX_FOLDS] = {"add", "mul", "max", "min"};
    for (int i = INDEX_MUL; i < INDEX_FOLDS; i++)
        if (strcmp(names[i], name) == 0) return *how = (IndexFold)i, true;
    return false;
}

static bool fold_subtensor_type(Infer *in) {
    IndexFold how;
    if (!fold_of(in->s, in->op, in->props, &how))
        return infer_fail(in, E_ARG, in->nin,
                          "reduction must be 'mul', 'max' or 'min'");
    unsigned kinds = how == INDEX_MUL ? KIND_ANY : KIND_REAL | KIND_BOOL;
    return infer_want_kinds(in, 0, kinds) && index_write_type(in);
}

static bool fold_subtensor_perform(Call *c) {
    IndexFold how;
    DType d = call_in(c, 0)->dtype;
    return fold_of(c->s, c->op, c->props, &how) &&
           index_write(c, index_loops(c->s)->row_fold[how][d],
                       index_loops(c->s)->fold[how][d], false);
}

/* ---- derivatives ---- */
/* What the derivatives by x, and by y broadcast to the indexed part, are multiplied
 * with. Of a product: the product of the others, which is r divided by the factor
 * unless that is the only 0 (or x is one); it is then the product with 1 in its place.
 * Of an extreme: 1 for all that are equal to it, as for max and min. */
typedef struct Factors {
    Builder *b;
    IndexOf at;
    Var x, y, r;
    Env env;
    Bind bind[8];
} Factors;

static void factors_let(Factors *f, const char *name, Var v) {
    f->bind[f->env.n++] = (Bind){sym(f->b->s, name), v};
}

static bool factors_text(Factors *f, const char *name, const char *text) {
    bool ok = true;
    Var v = template_build(f->b, text, &f->env, &ok);
    factors_let(f, name, v);
    return ok;
}

static Var factors_apply(const Factors *f, const char *op, size_t n, Var x, Var y) {
    Var lead[2] = {x, y};
    return x == VAR_NONE || y == VAR_NONE ? VAR_NONE
                                          : index_apply_same(f->b, f->at, op, n, lead);
}

static bool factors_open(Factors *f, Builder *b, IndexOf at, Var r) {
    *f = (Factors){.b = b, .at = at, .x = at.in[0], .r = r};
    DType d = var_type(b->g, f->x)->dtype;
    f->env.bind = f->bind;
    factors_let(f, "x", f->x);
    factors_let(f, "r", r);
    factors_let(f, "part", factors_apply(f, "subtensor", 1, r, r));
    factors_let(f, "value", op_cast_to(b, at.in[1], d));
    if (!factors_text(f, "y", "broadcast_to(value, shape(part))")) return false;
    f->y = f->bind[f->env.n - 1].var;
    return f->y != VAR_NONE;
}

static Var factor_of_x(Factors *f, IndexFold how) {
    bool ok = true;
    if (how != INDEX_MUL)
        return template_build(f->b, "cast(x == r, x.dtype)", &f->env, &ok);
    if (!factors_text(f, "one", "where(x == 0, 1, x)")) return VAR_NONE;
    Var one = f->bind[f->env.n - 1].var;
    factors_let(f, "whole", factors_apply(f, "fold_subtensor", 2, one, f->y));
    return template_build(f->b, "whole / one", &f->env, &ok);
}

static Var factor_of_y(Factors *f, IndexFold how) {
    bool ok = true;
    Builder *b = f->b;
    if (how != INDEX_MUL)
        return template_build(b, "cast(y == part, y.dtype)", &f->env, &ok);
    f->env.n = 5; /* without those of x */
    Var zero = template_build(b, "cast(y == 0, int64)", &f->env, &ok),
        none = op_zeros_like(b, f->x, DT_INT64),
        zeros = factors_apply(f, "inc_subtensor", 2, none, zero);
    factors_let(f, "zeros", factors_apply(f, "subtensor", 1, zeros, zeros));
    if (!factors_text(f, "alone", "(y == 0) & (zeros == 1)")) return VAR_NONE;
    Var ones = template_build(b, "where(alone, 1, y)", &f->env, &ok),
        rest = factors_apply(f, "fold_subtensor", 2, f->x, ones);
    factors_let(f, "rest", factors_apply(f, "subtensor", 1, rest, rest));
    return template_build(b, "where(alone, rest, part / where(y == 0, 1, y))", &f->env,
                          &ok);
}

static bool fold_subtensor_pull(Pull *p) {
    IndexFold how;
    Factors f;
    Builder *b = p->b;
    Var g = p->cotangent[0];
    pull_disconnect(p, 2);
    if (pull_discrete(p)) return true;
    if (!fold_of(b->s, p->op, p->props, &how) ||
        !factors_open(&f, b, (IndexOf){p->op, p->props, p->nin, p->in}, p->out[0]))
        return false;
    p->grad[0] = p->grad[1] = GRAD_DISCONNECTED;
    if (p->wanted[0]) {
        Var k = factor_of_x(&f, how);
        if (k == VAR_NONE) return false;
        p->grad[0] = op_call2(b, "multiply", g, op_conj_of_complex(b, k));
        if (p->grad[0] == VAR_NONE) return false;
    }
    if (!p->wanted[1]) return true;
    Var k = factor_of_y(&f, how), part = factors_apply(&f, "subtensor", 1, g, g);
    if (k == VAR_NONE || part == VAR_NONE) return false;
    part = op_call2(b, "multiply", part, op_conj_of_complex(b, k));
    return part != VAR_NONE &&
           (p->grad[1] = sum_to_shape(b, part, p->in[1])) != VAR_NONE;
}

static bool fold_subtensor_push(Push *p) {
    IndexFold how;
    Factors f;
    Builder *b = p->b;
    Var tx = p->tangent[0], ty = p->tangent[1], t = VAR_NONE;
    p->result[0] = VAR_NONE;
    if ((tx == VAR_NONE && ty == VAR_NONE) ||
        dtype_is_discrete(var_type(p->g, p->out[0])->dtype))
        return true;
    if (!fold_of(b->s, p->op, p->props, &how) ||
        !factors_open(&f, b, (IndexOf){p->op, p->props, p->nin, p->in}, p->out[0]))
        return false;
    if (tx != VAR_NONE) {
        Var k = factor_of_x(&f, how);
        t = op_call2(b, "multiply", tx, k);
        if (t == VAR_NONE) return false;
    }
    if (ty != VAR_NONE) {
        if (t == VAR_NONE) t = op_float_zeros(b, f.x);
        Var k = factor_of_y(&f, how);
        Var part = op_call2(b, "multiply", ty, k);
        t = factors_apply(&f, "inc_subtensor", 2, t, part);
    }
    return (p->result[0] = t) != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("fold_subtensor"),
     .internal = true,
     .doc = "x with y multiplied into x[at], or the larger or smaller of both there, "
            "again for each time that an element is indexed; scatter_elements and "
            "scatter_nd expand to this.",
     .in = "x, y, *at",
     .props = "index: str, reduction: str",
     .type = fold_subtensor_type,
     .perform = fold_subtensor_perform,
     .reentrant = true,
     .flops = "y.size",
     .pull = fold_subtensor_pull,
     .push = fold_subtensor_push,
     .disconnected = "at",
     .reuse = 1,
     .vmap = index_inc_vmap,
     .example = "fold_subtensor([1, 2, 3], 10, array([0, 0, 2]), index='$', "
                "reduction='mul') -> [100, 2, 30]"},
};
const OpList ops_index_fold = LIST_OF(table);
