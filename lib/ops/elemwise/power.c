#include "ops/elemwise/power.h"

#include "ops/elemwise/deriv.h"

/* The derivative by x for any exponent: the exponent drops by one, except where x and y
 * are both zero. */
#define BY_BASE     "y * x**(y - ((x != 0) | (y != 0)))"
#define BY_EXPONENT "where(x == 0, 0, r * log(x))"

typedef struct PowerSlope {
    Builder *b;
    Var x, y, r;
    DType d;
} PowerSlope;

static Var build_slope_text(const PowerSlope *w, const char *line, Var less) {
    Bind bind[] = {{sym(w->b->s, "x"), w->x},
                   {sym(w->b->s, "y"), w->y},
                   {sym(w->b->s, "r"), w->r},
                   {sym(w->b->s, "less"), less}};
    bool ok = true;
    Var v = template_build(w->b, line, &(Env){.n = 4, .bind = bind}, &ok);
    return ok ? v : VAR_NONE;
}

/* The derivative by x. A constant exponent gives a constant one again, which keeps
 * repeated derivatives short; *one if it is 1, *zero if it is 0. */
static Var by_base(const PowerSlope *w, bool *zero, bool *one) {
    const Tensor *t = var_const(w->b->g, w->y);
    if (!t || t->ndim || dtype_is_complex(t->dtype))
        return build_slope_text(w, BY_BASE, w->y);
    double k = tensor_f64(t, 0);
    *zero = k == 0;
    *one = k == 1;
    if (*zero || *one) return w->y;
    if (k == 2) return build_slope_text(w, "y * x", w->y);
    return build_slope_text(w, "y * x**less", const_number(w->b, t->dtype, k - 1));
}

/* d times v in dtype d; d is conjugated for a pullback. */
static Var slope_times(const PowerSlope *w, Var d, Var v, bool pull) {
    if (pull) d = op_conj_of_complex(w->b, d);
    if (d == VAR_NONE) return d;
    return pull ? op_call2(w->b, "multiply", v, d) : op_call2(w->b, "multiply", d, v);
}

static Var gradient_term(const PowerSlope *w, size_t i, Var v, bool pull) {
    bool zero = false, one = false;
    Var d = i == 0 ? by_base(w, &zero, &one) : build_slope_text(w, BY_EXPONENT, w->y);
    if (zero) return op_zeros_like(w->b, w->r, w->d);
    return one ? v : slope_times(w, d, v, pull);
}

bool power_pull(Pull *p) {
    DType d = var_type(p->g, p->out[0])->dtype;
    PowerSlope w = {p->b, p->in[0], p->in[1], p->out[0], d};
    for (size_t i = 0; i < 2; i++) {
        if (!p->wanted[i]) continue;
        Var v = dtype_is_discrete(d) ? op_zeros_like(p->b, p->out[0], p->b->floatX)
                                     : gradient_term(&w, i, p->cotangent[0], true);
        if (v == VAR_NONE) return false;
        p->grad[i] = sum_to_shape(p->b, v, p->in[i]);
        if (p->grad[i] == VAR_NONE) return false;
    }
    return true;
}

bool power_push(Push *p) {
    DType d = var_type(p->g, p->out[0])->dtype;
    PowerSlope w = {p->b, p->in[0], p->in[1], p->out[0], d};
    Var sum = VAR_NONE;
    for (size_t i = 0; i < 2 && !dtype_is_discrete(d); i++) {
        if (p->tangent[i] == VAR_NONE) continue;
        Var v = gradient_term(&w, i, p->tangent[i], false);
        if (v == VAR_NONE) return false;
        sum = sum == VAR_NONE ? v : op_call2(p->b, "add", sum, v);
        if (sum == VAR_NONE) return false;
    }
    p->result[0] = sum;
    return true;
}
