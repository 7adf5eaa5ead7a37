/* What both sides truly are, and how far rounding may take them from it: the sides in
 * long doubles, with running bounds of first order (Wilkinson 1986). Each number has
 * two bounds: that for arithmetic of the dtypes of the graph, and that for long
 * doubles. How an error of an argument goes on is seen by moving the argument. */
#include "prove/prove_impl.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

typedef long double Real;
typedef long double _Complex Complex;

/* ---- the functions ---- */

typedef struct BoundOp {
    const char *name;
    Real (*one)(Real), (*two)(Real, Real);
    Complex (*c_one)(Complex), (*c_two)(Complex, Complex);
    int units; /* rounding errors that the op itself makes */
} BoundOp;

static Real f_add(Real x, Real y) {
    return x + y;
}
static Real f_subtract(Real x, Real y) {
    return x - y;
}
static Real f_multiply(Real x, Real y) {
    return x * y;
}
static Real f_divide(Real x, Real y) {
    return x / y;
}
static Real f_negative(Real x) {
    return -x;
}
static Real f_same(Real x) {
    return x;
}
static Real f_square(Real x) {
    return x * x;
}
static Real f_reciprocal(Real x) {
    return 1 / x;
}
static Real f_sign(Real x) {
    return x > 0 ? 1 : x < 0 ? -1 : x;
}
static Real f_exp10_log(Real x) {
    return log10l(x);
}
static Real f_sigmoid(Real x) {
    return 1 / (1 + expl(-x));
}
static Real f_softplus(Real x) {
    return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x));
}
static Real f_log1mexp(Real x) {
    return x > -0.6931471805599453L ? logl(-expm1l(x)) : log1pl(-expl(x));
}
static Real f_logaddexp(Real x, Real y) {
    if (x == y) return x + 0.693147180559945309417232121458176568L;
    return fmaxl(x, y) + log1pl(expl(-fabsl(x - y)));
}
static Real f_maximum(Real x, Real y) {
    return x != x ? x : y != y ? y : x > y ? x : y;
}
static Real f_minimum(Real x, Real y) {
    return x != x ? x : y != y ? y : x < y ? x : y;
}
static Real f_less(Real x, Real y) {
    return x < y;
}
static Real f_less_equal(Real x, Real y) {
    return x <= y;
}
static Real f_greater(Real x, Real y) {
    return x > y;
}
static Real f_greater_equal(Real x, Real y) {
    return x >= y;
}
static Real f_equal(Real x, Real y) {
    return x == y;
}
static Real f_not_equal(Real x, Real y) {
    return x != y;
}
static Real f_zero(Real x) {
    (void)x;
    return 0;
}
static Complex c_add(Complex x, Complex y) {
    return x + y;
}
static Complex c_subtract(Complex x, Complex y) {
    return x - y;
}
static Complex c_multiply(Complex x, Complex y) {
    return x * y;
}
static Complex c_divide(Complex x, Complex y) {
    return x / y;
}
static Complex c_negative(Complex x) {
    return -x;
}
static Complex c_same(Complex x) {
    return x;
}
static Complex c_square(Complex x) {
    return x * x;
}
static Complex c_reciprocal(Complex x) {
    return 1 / x;
}
static Complex c_abs(Complex x) {
    return cabsl(x);
}
static Complex c_real(Complex x) {
    return creall(x);
}
static Complex c_imag(Complex x) {
    return cimagl(x);
}
static Complex c_conj(Complex x) {
    return conjl(x);
}
static Complex c_power(Complex x, Complex y) {
    if (y == 0) return 1;
    if (x == 0) return 0;
    return cexpl(y * clogl(x));
}

static const BoundOp bound_ops[] = {
    {"add", .two = f_add, .c_two = c_add, .units = 1},
    {"subtract", .two = f_subtract, .c_two = c_subtract, .units = 1},
    {"multiply", .two = f_multiply, .c_two = c_multiply, .units = 1},
    {"true_divide", .two = f_divide, .c_two = c_divide, .units = 1},
    {"power", .two = powl, .c_two = c_power, .units = 4},
    {"negative", .one = f_negative, .c_one = c_negative},
    {"positive", .one = f_same, .c_one = c_same},
    {"cast", .one = f_same, .c_one = c_same, .units = 1},
    {"square", .one = f_square, .c_one = c_square, .units = 1},
    {"reciprocal", .one = f_reciprocal, .c_one = c_reciprocal, .units = 1},
    {"abs", .one = fabsl, .c_one = c_abs, .units = 1},
    {"real", .one = f_same, .c_one = c_real},
    {"imag", .one = f_zero, .c_one = c_imag},
    {"conj", .one = f_same, .c_one = c_conj},
    {"sqrt", .one = sqrtl, .c_one = csqrtl, .units = 1},
    {"cbrt", .one = cbrtl, .units = 2},
    {"exp", .one = expl, .c_one = cexpl, .units = 2},
    {"exp2", .one = exp2l, .units = 2},
    {"expm1", .one = expm1l, .units = 2},
    {"log", .one = logl, .c_one = clogl, .units = 2},
    {"log1p", .one = log1pl, .units = 2},
    {"log2", .one = log2l, .units = 2},
    {"log10", .one = f_exp10_log, .units = 2},
    {"sin", .one = sinl, .c_one = csinl, .units = 2},
    {"cos", .one = cosl, .c_one = ccosl, .units = 2},
    {"tan", .one = tanl, .c_one = ctanl, .units = 2},
    {"arcsin", .one = asinl, .c_one = casinl, .units = 2},
    {"arccos", .one = acosl, .c_one = cacosl, .units = 2},
    {"arctan", .one = atanl, .c_one = catanl, .units = 2},
    {"sinh", .one = sinhl, .c_one = csinhl, .units = 2},
    {"cosh", .one = coshl, .c_one = ccoshl, .units = 2},
    {"tanh", .one = tanhl, .c_one = ctanhl, .units = 2},
    {"arcsinh", .one = asinhl, .c_one = casinhl, .units = 2},
    {"arccosh", .one = acoshl, .c_one = cacoshl, .units = 2},
    {"arctanh", .one = atanhl, .c_one = catanhl, .units = 2},
    {"arctan2", .two = atan2l, .units = 2},
    {"hypot", .two = hypotl, .units = 2},
    {"erf", .one = erfl, .units = 2},
    {"erfc", .one = erfcl, .units = 4},
    {"sigmoid", .one = f_sigmoid, .units = 4},
    {"softplus", .one = f_softplus, .units = 4},
    {"log1mexp", .one = f_log1mexp, .units = 4},
    {"logaddexp", .two = f_logaddexp, .units = 4},
    {"sign", .one = f_sign},
    {"floor", .one = floorl},
    {"ceil", .one = ceill},
    {"trunc", .one = truncl},
    {"round", .one = rintl},
    {"maximum", .two = f_maximum},
    {"minimum", .two = f_minimum},
    {"less", .two = f_less},
    {"less_equal", .two = f_less_equal},
    {"greater", .two = f_greater},
    {"greater_equal", .two = f_greater_equal},
    {"equal", .two = f_equal},
    {"not_equal", .two = f_not_equal}};

static const BoundOp choice = {"where", .units = 0};

/* ---- an elementwise op ---- */

/* An op as it is used: over complex numbers if one is among inputs and result. */
typedef struct BoundUse {
    const BoundOp *op;
    size_t nin;
    bool is_complex;
} BoundUse;
typedef struct BoundContext {
    Arena *a;
    bool extreme; /* was any number? */
} BoundContext;

/* Integers that may wrap are not followed. */
static const void *bound_find(void *ctx, const Graph *g, ApplyId id) {
    BoundContext *c = ctx;
    const Apply *a = &g->apply[id];
    const BoundOp *found = strcmp(choice.name, a->op->name) == 0 ? &choice : NULL;
    bool is_complex = dtype_is_complex(var_type(g, a->out)->dtype);
    if (dtype_is_integer(var_type(g, a->out)->dtype)) return NULL;
    for (size_t i = 0; i < a->nin; i++) {
        const Type *t = var_type(g, apply_in(g, id)[i]);
        is_complex |= dtype_is_complex(t->dtype);
    }
    for (size_t i = 0; !found && i < sizeof bound_ops / sizeof *bound_ops; i++)
        if (strcmp(bound_ops[i].name, a->op->name) == 0) found = &bound_ops[i];
    if (!found) return NULL;
    bool known = is_complex ? found->c_one || found->c_two : found->one || found->two;
    if (!known && found != &choice) return NULL;
    BoundUse *u = NEW(c->a, BoundUse);
    *u = (BoundUse){found, a->nin, is_complex};
    return u;
}

static Complex call_function(const BoundUse *u, const Complex v[2]) {
    const BoundOp *o = u->op;
    if (u->is_complex) return u->nin == 2 ? o->c_two(v[0], v[1]) : o->c_one(v[0]);
    return u->nin == 2 ? o->two(creall(v[0]), creall(v[1])) : o->one(creall(v[0]));
}

/* How far the result goes if argument i is off by e. */
static Real moved_by(const BoundUse *u, const Complex v[2], size_t i, Real e,
                     Complex r) {
    static const int way[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    Real far = 0;
    if (!(e > 0)) return e == 0 ? 0 : (Real)HUGE_VALL;
    for (int k = 0; k < (u->is_complex ? 4 : 2); k++) {
        Complex w[2] = {v[0], u->nin > 1 ? v[1] : 0};
        w[i] += __builtin_complex(way[k][0] * e, way[k][1] * e);
        Real d = cabsl(call_function(u, w) - r);
        if (isnan(d)) return HUGE_VALL;
        far = fmaxl(far, d);
    }
    return far;
}

static bool is_special(Complex v) {
    return !isfinite(creall(v)) || !isfinite(cimagl(v));
}

/* Does it overflow or underflow, now or once it is rounded? */
static bool is_extreme(DType d, Complex r, Real error) {
    Real size = cabsl(r), may_be = 4 * (error + unit_roundoff(d) * size);
    return !(size + may_be <= points_largest(d)) ||
           (size != 0 && size < points_smallest(d));
}

/* Adds what a dtype's rounding, and that of long doubles, make of a result. `special`:
 * an operand was nan or inf, so that no such result is an overflow. */
static void round_bound(BoundContext *c, DType d, int units, bool special, Bound *b) {
    const Real tiny = 0x1p-63L;
    Real size = cabsl(b->value);
    if (!dtype_is_inexact(d)) return;
    b->extreme |=
        !(special && is_special(b->value)) && is_extreme(d, b->value, b->error);
    c->extreme |= b->extreme;
    if (units == 0) return;
    b->error += units * unit_roundoff(d) * (dtype_is_complex(d) ? 3 : 1) * size +
                units * unit_roundoff(d) * points_smallest(d);
    b->fine += 2 * tiny * size + LDBL_MIN;
}

static void choose_bound(const Bound *c, const Bound *x, const Bound *y, Bound *r) {
    *r = creall(c->value) != 0 ? *x : *y;
    if (c->error == 0) return;
    Real apart = cabsl(x->value - y->value); /* either might have been taken */
    r->error = fmaxl(x->error, y->error) + apart;
    r->fine = fmaxl(x->fine, y->fine) + (c->fine > 0 ? apart : 0);
    r->extreme = x->extreme || y->extreme;
}

static bool bound_apply(void *ctx, const void *op, DType out, const void *const *in,
                        void *result) {
    const BoundUse *u = op;
    Bound *r = result;
    if (u->op == &choice) return choose_bound(in[0], in[1], in[2], r), true;
    Complex v[2] = {0, 0};
    bool special = false;
    for (size_t i = 0; i < u->nin; i++) {
        v[i] = ((const Bound *)in[i])->value;
        special |= is_special(v[i]);
    }
    *r = (Bound){.value = call_function(u, v)};
    for (size_t i = 0; i < u->nin; i++) {
        const Bound *x = in[i];
        r->error += moved_by(u, v, i, x->error, r->value);
        r->fine += moved_by(u, v, i, x->fine, r->value);
        r->extreme |= x->extreme;
    }
    round_bound(ctx, out, u->op->units, special, r);
    return true;
}

/* ---- constants, sums, folds ---- */

static Bound bound_of_element(const Tensor *t, int64_t i) {
    Bound b = {0};
    double z[2];
    if (dtype_is_integer(t->dtype)) {
        int64_t v = tensor_i64(t, i);
        b.value = dtype_kind(t->dtype) == K_UINT ? (Real)(uint64_t)v : (Real)v;
        return b;
    }
    tensor_c128(t, i, z);
    b.value = __builtin_complex((Real)z[0], (Real)z[1]);
    if (dtype_is_inexact(t->dtype) && !is_special(b.value))
        b.extreme = is_extreme(t->dtype, b.value, 0);
    return b;
}

static bool bound_constant(void *ctx, const Tensor *t, int64_t i, void *out) {
    (void)ctx;
    *(Bound *)out = bound_of_element(t, i);
    return true;
}

static Bound bound_product(BoundContext *c, DType d, const Bound *x, const Bound *y) {
    Real a = cabsl(x->value), b = cabsl(y->value);
    Bound r = {.value = x->value * y->value,
               .error = a * y->error + b * x->error + x->error * y->error,
               .fine = a * y->fine + b * x->fine,
               .extreme = x->extreme || y->extreme};
    round_bound(c, d, 1, is_special(x->value) || is_special(y->value), &r);
    return r;
}

static void add_bound(BoundContext *c, DType d, const Bound *x, int32_t coef,
                      Bound *sum) {
    Real size = coef < 0 ? -(Real)coef : (Real)coef;
    bool special = is_special(sum->value) || is_special(x->value);
    sum->value += coef * x->value;
    sum->error += size * x->error;
    sum->fine += size * x->fine;
    sum->extreme |= x->extreme;
    round_bound(c, d, 1, special, sum);
}

static bool bound_sum(void *ctx, const Element *e, int64_t divisor) {
    const Bound *a = e->x, *b = e->y;
    const Summand *t = e->t;
    Bound sum = {0};
    if (e->n == 1 && t->coef == 1 && !b && divisor == 1)
        return *(Bound *)e->r = a[t->i], true;
    if (dtype_is_integer(e->dtype)) return false;
    for (size_t k = 0; k < e->n; k++) {
        Bound term = a[t[k].i];
        if (b) term = bound_product(ctx, e->dtype, &a[t[k].i], &b[t[k].j]);
        add_bound(ctx, e->dtype, &term, t[k].coef, &sum);
    }
    bool special = is_special(sum.value);
    sum.value /= divisor;
    sum.error /= divisor;
    sum.fine /= divisor;
    round_bound(ctx, e->dtype, divisor == 1 ? 0 : 1, special, &sum);
    *(Bound *)e->r = sum;
    return true;
}

static bool bound_fold(void *ctx, Folding how, const Element *e) {
    const Bound *a = e->x;
    if (dtype_is_integer(e->dtype)) return false;
    Bound r = {.value = how == FOLD_PRODUCT   ? 1
                        : how == FOLD_MAXIMUM ? -HUGE_VALL
                                              : HUGE_VALL};
    for (size_t k = 0; k < e->n; k++) {
        const Bound *b = &a[e->t[k].i];
        Real v = creall(b->value), best = creall(r.value);
        if (how == FOLD_PRODUCT) {
            r = bound_product(ctx, e->dtype, &r, b);
            continue;
        }
        if (isnan(v) || (how == FOLD_MAXIMUM ? v > best : v < best)) r.value = b->value;
        r.error = fmaxl(r.error, b->error);
        r.fine = fmaxl(r.fine, b->fine);
        r.extreme |= b->extreme;
    }
    *(Bound *)e->r = r;
    return true;
}

/* log(sum(exp(x))), from which a softmax follows. Its derivatives are at most 1. */
static Bound log_of_sum(const Element *e) {
    const Bound *a = e->x;
    const Summand *t = e->t;
    Real most = -HUGE_VALL, sum = 0;
    Bound r = {0};
    for (size_t k = 0; k < e->n; k++)
        most = fmaxl(most, creall(a[t[k].i].value));
    for (size_t k = 0; k < e->n; k++) {
        const Bound *b = &a[t[k].i];
        sum += isinf(most) ? 1 : expl(creall(b->value) - most);
        r.error = fmaxl(r.error, b->error);
        r.fine = fmaxl(r.fine, b->fine);
        r.extreme |= b->extreme;
    }
    r.value = most + logl(sum);
    r.error += (Real)(e->n + 4) * unit_roundoff(e->dtype) * (1 + fabsl(most));
    r.fine += 0x1p-60L * (1 + fabsl(most));
    return r;
}

static bool bound_softmax(void *ctx, bool logarithm, const Element *e, const void *x) {
    const Bound *own = x;
    Bound r = log_of_sum(e);
    if (own) {
        r.value = own->value - r.value;
        r.error += own->error + 2 * unit_roundoff(e->dtype) * cabsl(own->value);
        r.fine += own->fine;
    }
    if (own && !logarithm) {
        Real v = expl(creall(r.value));
        r = (Bound){
            .value = v, .error = r.error * v, .fine = r.fine * v, .extreme = r.extreme};
    }
    round_bound(ctx, e->dtype, 2, own && is_special(own->value), &r);
    *(Bound *)e->r = r;
    return true;
}

static const Algebra bound_algebra = {.size = sizeof(Bound),
                                      .constant = bound_constant,
                                      .find = bound_find,
                                      .apply = bound_apply,
                                      .sum = bound_sum,
                                      .fold = bound_fold,
                                      .softmax = bound_softmax};

bool bound_sides(const Instance *x, Arena *a, const Tensor *in, size_t n,
                 const int64_t *at, Bound *side[2]) {
    BoundContext ctx = {a, false};
    const void *input[HOLES] = {0};
    void *result[2];
    for (size_t i = 0; i < x->p->nhole; i++) {
        if (x->t->hole[i].stand != STAND_VARIABLE) continue;
        size_t count = at ? n : (size_t)tensor_size(&in[i]);
        Bound *b = NEW_N(a, count + 1, Bound);
        for (size_t k = 0; k < count; k++)
            b[k] = bound_of_element(&in[i], at ? at[k] : (int64_t)k);
        input[i] = b;
    }
    if (!evaluate_sides(x, &bound_algebra, &ctx, a, input, at ? (int64_t)n : 0, result))
        return false;
    for (int k = 0; k < 2; k++) {
        side[k] = result[k];
        int64_t all = at ? 0 : type_size(var_type(x->g, x->side[k]));
        /* an infinity may reach what it isn't part of: 0 * inf of a padding is nan */
        for (int64_t i = 0; i < all; i++)
            side[k][i].extreme |= ctx.extreme;
    }
    return true;
}
