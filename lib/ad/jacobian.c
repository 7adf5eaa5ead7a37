/* Jacobians, Hessians and Hessian-vector products. A Jacobian is the pullback or
 * pushforward of one direction, built once and then vmapped over all unit directions,
 * the rows of an identity. */
#include "ad/jacobian.h"

#include "ad/term.h"
#include "vmap/vmap.h"

typedef struct Jacobian {
    Builder *b;
    Arena *tmp;
    const GradOptions *how;
    VarList f, wrt;
    Var *result;
} Jacobian;

static int ndim_of(const Jacobian *j, Var v) {
    return var_type(j->b->g, v)->ndim;
}

/* ---- shapes ---- */
static Var joint_shape(Builder *b, Var x, Var y) {
    Var item[2 * MAX_NDIM];
    size_t n = shape_items(b, x, 0, 0, item);
    n = shape_items(b, y, 0, n, item);
    return ints_stack(b, n, item);
}

/* All unit directions of x, [n, *x.shape]: the rows of an identity. */
static Var unit_directions(Builder *b, Var x, Var *n) {
    PropArg dtype = {"dtype", PROP_DTYPE(ad_dtype(b, x))};
    Var item[MAX_NDIM + 1], e;
    *n = shape_leading_size(b, var_type(b->g, x)->ndim, x);
    e = apply_named(b, "eye", 1, n, 1, &dtype);
    if (e == VAR_NONE || var_type(b->g, x)->ndim == 1) return e;
    item[0] = *n;
    Var in[2] = {e, ints_stack(b, shape_items(b, x, 0, 1, item), item)};
    return apply_named(b, "reshape", 2, in, 0, NULL);
}

/* Repeats what doesn't depend on the direction, for all directions. */
static Var broadcast_to_directions(Builder *b, Var x, Var n) {
    Var item[MAX_NDIM + 1] = {n};
    Var in[2] = {x, ints_stack(b, shape_items(b, x, 0, 1, item), item)};
    return apply_named(b, "broadcast_to", 2, in, 0, NULL);
}

static bool check_result_ndim(Jacobian *j, Var f, Var wrt) {
    /* plus one for the dim of rows */
    if (type_ndim_fits(j->b->s, j->b->from.at, NULL,
                       ndim_of(j, f) + ndim_of(j, wrt) + 1))
        return true;
    return note(j->b->s, NOWHERE, "for the derivative of %s by %s",
                type_str(j->b->s, var_type(j->b->g, f)),
                type_str(j->b->s, var_type(j->b->g, wrt)));
}

/* ---- reverse ---- */
/* Reshapes [n, *wrt.shape], the pullbacks of f's unit cotangents. */
static Var shape_from_rows(Jacobian *j, Var x, Var f, Var wrt) {
    if (ndim_of(j, f) == 1 || x == VAR_NONE) return x;
    Var in[2] = {x, joint_shape(j->b, f, wrt)};
    return apply_named(j->b, "reshape", 2, in, 0, NULL);
}

static bool place_rows(Jacobian *j, size_t k, Var n, const Var *row, const bool *has) {
    for (size_t i = 0, at = 0; i < j->wrt.n; i++) {
        Var *r = &j->result[k * j->wrt.n + i];
        if (*r == GRAD_DISCONNECTED || var_is_null(j->b->g, *r)) continue;
        Var x = has[at] ? row[at] : broadcast_to_directions(j->b, row[at], n);
        at++;
        *r = shape_from_rows(j, x, j->f.p[k], j->wrt.p[i]);
        if (*r == VAR_NONE) return false;
    }
    return true;
}

static bool jacobian_by_rows(Jacobian *j, size_t k) {
    Builder *b = j->b;
    Var f = j->f.p[k], n = VAR_NONE, *r = j->result + k * j->wrt.n;
    bool scalar = ndim_of(j, f) == 0;
    Var all = scalar ? const_number(b, ad_dtype(b, f), 1) : unit_directions(b, f, &n);
    bool empty = type_size(var_type(b->g, f)) == 0;
    Var one = scalar || all == VAR_NONE ? all
              : empty                   ? ad_zero(b, f)
                                        : op_first_row(b, all);
    if (one == VAR_NONE || !ad_vjp(b, (VarList){1, &f}, &one, j->wrt, j->how, r))
        return false;
    if (scalar) return true;
    Var *want = NEW_N(j->tmp, j->wrt.n, Var), *row = NEW_N(j->tmp, j->wrt.n, Var);
    bool *has = NEW_N(j->tmp, j->wrt.n, bool);
    size_t nwant = 0;
    for (size_t i = 0; i < j->wrt.n; i++)
        if (r[i] != GRAD_DISCONNECTED && !var_is_null(b->g, r[i])) want[nwant++] = r[i];
    if (empty) return place_rows(j, k, n, want, has); /* a row for its type */
    VmapRows directions = {{1, &one}, &all, NULL, n, false};
    return vmap_graph(b, &directions, &(VmapWant){{nwant, want}, nwant}, row, has) &&
           place_rows(j, k, n, row, has);
}

/* ---- forward ---- */
/* Moves the dim of the tangents of [n, *f.shape], the pushforwards of wrt's unit
 * tangents, to the end and reshapes it to wrt's dims. */
static Var shape_from_columns(Jacobian *j, Var x, Var f, Var wrt) {
    Builder *b = j->b;
    int nf = ndim_of(j, f);
    int64_t axes[MAX_NDIM + 1];
    for (int k = 0; k <= nf; k++)
        axes[k] = (k + 1) % (nf + 1);
    PropArg arg = {"axes", PROP_INTS(axes, (size_t)nf + 1)};
    if (nf > 0 && x != VAR_NONE) x = apply_named(b, "transpose", 1, &x, 1, &arg);
    if (x != VAR_NONE) x = op_cast_to(b, x, ad_dtype(b, wrt));
    if (ndim_of(j, wrt) == 1 || x == VAR_NONE) return x;
    Var in[2] = {x, joint_shape(b, f, wrt)};
    return apply_named(b, "reshape", 2, in, 0, NULL);
}

/* The derivative of all f by wrt[i]. *undecided: no dependence or an undefined
 * derivative, which reverse mode knows how to report. */
static bool jacobian_by_columns(Jacobian *j, size_t i, bool *undecided) {
    Builder *b = j->b;
    Var wrt = j->wrt.p[i], n = VAR_NONE;
    bool scalar = ndim_of(j, wrt) == 0;
    Var all =
        scalar ? const_number(b, ad_dtype(b, wrt), 1) : unit_directions(b, wrt, &n);
    bool empty = type_size(var_type(b->g, wrt)) == 0;
    Var one = scalar || all == VAR_NONE ? all
              : empty                   ? ad_zero(b, wrt)
                                        : op_first_row(b, all);
    Var *dot = NEW_N(j->tmp, j->f.n, Var), *column = NEW_N(j->tmp, j->f.n, Var);
    bool *has = NEW_N(j->tmp, j->f.n, bool);
    if (one == VAR_NONE || !ad_jvp(b, j->f, (VarList){1, &wrt}, &one, false, dot))
        return false;
    for (size_t k = 0; k < j->f.n; k++)
        if (dot[k] == GRAD_DISCONNECTED || var_is_null(b->g, dot[k]))
            return *undecided = true;
    for (size_t k = 0; k < j->f.n; k++)
        column[k] = dot[k]; /* a column for its type */
    VmapRows directions = {{1, &one}, &all, NULL, n, false};
    if (!scalar && !empty &&
        !vmap_graph(b, &directions, &(VmapWant){{j->f.n, dot}, j->f.n}, column, has))
        return false;
    for (size_t k = 0; k < j->f.n; k++) {
        Var x = scalar   ? op_cast_to(b, dot[k], ad_dtype(b, wrt))
                : has[k] ? column[k]
                         : broadcast_to_directions(b, column[k], n);
        if (!scalar) x = shape_from_columns(j, x, j->f.p[k], wrt);
        if ((j->result[k * j->wrt.n + i] = x) == VAR_NONE) return false;
    }
    return true;
}

/* ---- choosing the mode ---- */
/* Has a surely more elements than b? Unknown sizes count as no. */
static bool has_more_elements(const Graph *g, VarList a, VarList b) {
    int64_t x = 0, y = 0;
    for (size_t i = 0; i < a.n; i++) {
        int64_t n = type_size(var_type(g, a.p[i]));
        if (n < 0 || __builtin_add_overflow(x, n, &x)) return false;
    }
    for (size_t i = 0; i < b.n; i++) {
        int64_t n = type_size(var_type(g, b.p[i]));
        if (n < 0 || __builtin_add_overflow(y, n, &y)) return false;
    }
    return x > y;
}

static bool prefers_forward(const Jacobian *j, JacobianMode mode) {
    const Graph *g = j->b->g;
    if (j->how->constant.n || (j->how->parts && ad_has_parts(j->b, j->f, j->wrt)))
        return false;
    for (size_t i = 0; i < j->wrt.n; i++) {
        const Type *t = var_type(g, j->wrt.p[i]);
        if (t->kind == TYPE_TENSOR && dtype_is_complex(t->dtype)) return false;
    }
    if (mode != JACOBIAN_AUTO) return mode == JACOBIAN_FORWARD;
    return !has_more_elements(g, j->wrt, j->f);
}

static bool check_real(Jacobian *j, Var f) {
    const Type *t = var_type(j->b->g, f);
    if (t->kind == TYPE_NULL)
        return fail(j->b->s, j->b->from.at, E_NULL,
                    "can't differentiate an undefined value: %s", t->why);
    if (t->kind != TYPE_TENSOR)
        return fail(j->b->s, j->b->from.at, E_TYPE,
                    "can't take the Jacobian of %s: it must be a tensor",
                    type_str(j->b->s, t));
    if (!dtype_is_complex(t->dtype)) return true;
    fail(j->b->s, j->b->from.at, E_DTYPE,
         "can't take the Jacobian of %s: it must be real", type_str(j->b->s, t));
    return note(j->b->s, NOWHERE, "differentiate its real part and its imaginary part");
}

static bool check_dense(Jacobian *j, Var wrt) {
    const Type *t = var_type(j->b->g, wrt);
    if (t->kind != TYPE_SPARSE) return true;
    fail(j->b->s, j->b->from.at, E_TYPE, "can't take the Jacobian with respect to %s",
         type_str(j->b->s, t));
    return note(j->b->s, NOWHERE,
                "differentiate with respect to what it is built from: the data of "
                "csr(data, ...), or a tensor");
}

static bool build_jacobian(Jacobian *j, JacobianMode mode) {
    bool undecided = false;
    for (size_t i = 0; i < j->wrt.n; i++)
        if (!check_dense(j, j->wrt.p[i])) return false;
    for (size_t k = 0; k < j->f.n; k++) {
        if (!check_real(j, j->f.p[k])) return false;
        for (size_t i = 0; i < j->wrt.n; i++)
            if (var_type(j->b->g, j->wrt.p[i])->kind == TYPE_TENSOR &&
                !check_result_ndim(j, j->f.p[k], j->wrt.p[i]))
                return false;
    }
    bool forward = prefers_forward(j, mode);
    for (size_t i = 0; forward && i < j->wrt.n && !undecided; i++)
        if (!jacobian_by_columns(j, i, &undecided)) return false;
    if (forward && !undecided) return true;
    for (size_t k = 0; k < j->f.n; k++)
        if (!jacobian_by_rows(j, k)) return false;
    return true;
}

static const GradOptions usual;

bool ad_jacobian(Builder *b, VarList f, VarList wrt, const GradOptions *how,
                 JacobianMode mode, Var *result) {
    Jacobian j = {.b = b,
                  .tmp = arena_new(b->s),
                  .how = how ? how : &usual,
                  .f = f,
                  .wrt = wrt,
                  .result = result};
    bool ok = build_jacobian(&j, mode);
    arena_free(j.tmp);
    return ok;
}

/* ---- second derivatives ---- */
typedef struct SecondOrder {
    Builder *b;
    Arena *tmp;
    VarList wrt;
    Var *grad;       /* the first derivatives, by wrt */
    GradOptions how; /* of the second ones, for which independence is no error */
} SecondOrder;

static bool first_gradients(SecondOrder *h, Var cost, const GradOptions *how) {
    h->tmp = arena_new(h->b->s);
    h->grad = NEW_N(h->tmp, h->wrt.n, Var);
    h->how = *how;
    h->how.disconnected = GRAD_IGNORE;
    h->how.return_disconnected = GRAD_ZERO;
    h->how.nknown = 0;
    return ad_grad(h->b, cost, h->wrt, how, h->grad);
}

static bool has_gradient_value(const SecondOrder *h, size_t i) {
    return h->grad[i] != GRAD_DISCONNECTED && !var_is_null(h->b->g, h->grad[i]);
}

static bool diagonal_blocks(SecondOrder *h, Var *result) {
    for (size_t i = 0; i < h->wrt.n; i++) {
        VarList of = {1, &h->grad[i]}, by = {1, &h->wrt.p[i]};
        result[i] = h->grad[i];
        if (has_gradient_value(h, i) &&
            !ad_jacobian(h->b, of, by, &h->how, JACOBIAN_FORWARD, &result[i]))
            return false;
    }
    return true;
}

/* If a variable's gradient has no value, its whole row of blocks gets that gradient
 * (disconnected or null). */
static bool mixed_blocks(SecondOrder *h, Var *result) {
    size_t nwrt = h->wrt.n, n = 0;
    Var *f = NEW_N(h->tmp, nwrt, Var), *part = NEW_N(h->tmp, nwrt * nwrt, Var);
    for (size_t i = 0; i < nwrt; i++)
        if (has_gradient_value(h, i)) f[n++] = h->grad[i];
    if (n &&
        !ad_jacobian(h->b, (VarList){n, f}, h->wrt, &h->how, JACOBIAN_FORWARD, part))
        return false;
    for (size_t i = 0, at = 0; i < nwrt; i++) {
        bool value = has_gradient_value(h, i);
        for (size_t k = 0; k < nwrt; k++)
            result[i * nwrt + k] = value ? part[at * nwrt + k] : h->grad[i];
        at += value;
    }
    return true;
}

/* Real second derivatives by the parts of complex variables don't fit in a complex
 * matrix. */
static bool check_hessian_wrt(Builder *b, Var wrt) {
    const Type *t = var_type(b->g, wrt);
    if (t->kind != TYPE_TENSOR || !dtype_is_complex(t->dtype)) return true;
    fail(b->s, b->from.at, E_DTYPE,
         "can't take the Hessian with respect to %s: it must be real",
         type_str(b->s, t));
    return note(b->s, NOWHERE,
                "differentiate with respect to its real and imaginary parts, as in x = "
                "complex(re, im); Hessian-vector products accept complex variables");
}

bool ad_hessian(Builder *b, Var cost, VarList wrt, const GradOptions *how, bool mixed,
                Var *result) {
    SecondOrder h = {.b = b, .wrt = wrt};
    for (size_t i = 0; i < wrt.n; i++)
        if (!check_hessian_wrt(b, wrt.p[i])) return false;
    bool ok = first_gradients(&h, cost, how ? how : &usual) &&
              (mixed ? mixed_blocks(&h, result) : diagonal_blocks(&h, result));
    arena_free(h.tmp);
    return ok;
}

static bool add_pushforward_term(Builder *b, Var *sum, Var term) {
    if (term == GRAD_DISCONNECTED || (*sum != VAR_NONE && var_is_null(b->g, *sum)))
        return true;
    bool alone = *sum == VAR_NONE || var_is_null(b->g, term);
    *sum = alone ? term : op_call2(b, "add", *sum, term);
    return *sum != VAR_NONE;
}

/* The pushforward of the gradients f. If wrt has computed variables, one may depend on
 * another, and a variable with a given tangent passes none on: then each wrt gets a
 * pushforward of its own. */
static bool push_gradients(SecondOrder *h, VarList f, const Var *v, Var *dot) {
    Builder *b = h->b;
    VarList wrt = h->wrt;
    Var *part = NEW_N(h->tmp, f.n, Var);
    bool leaves = true;
    for (size_t i = 0; i < wrt.n; i++)
        leaves &= var_leaf(b->g, wrt.p[i]) != LEAF_NOT;
    if (leaves || wrt.n == 1) return ad_jvp(b, f, wrt, v, false, dot);
    for (size_t k = 0; k < f.n; k++)
        dot[k] = VAR_NONE;
    for (size_t i = 0; i < wrt.n; i++) {
        if (!ad_jvp(b, f, (VarList){1, &wrt.p[i]}, &v[i], false, part)) return false;
        for (size_t k = 0; k < f.n; k++)
            if (!add_pushforward_term(b, &dot[k], part[k])) return false;
    }
    return true;
}

/* With constants or complex variables, the gradient of <grad, v>; else the pushforward
 * of the gradient. */
static bool hessian_times_vectors(SecondOrder *h, const Var *v, Var *result) {
    Builder *b = h->b;
    VarList wrt = h->wrt;
    Var *f = NEW_N(h->tmp, wrt.n, Var), *dot = NEW_N(h->tmp, wrt.n, Var);
    Var *with = NEW_N(h->tmp, wrt.n, Var);
    size_t n = 0;
    bool complex = false;
    for (size_t i = 0; i < wrt.n; i++) {
        complex |= dtype_is_complex(var_type(b->g, wrt.p[i])->dtype);
        if (!has_gradient_value(h, i)) continue;
        with[n] = v[i];
        f[n++] = h->grad[i];
    }
    bool parts = h->how.parts && ad_has_parts(b, (VarList){n, f}, wrt);
    if (h->how.constant.n || complex || parts)
        return ad_vjp(b, (VarList){n, f}, with, wrt, &h->how, result);
    if (!push_gradients(h, (VarList){n, f}, v, dot)) return false;
    for (size_t i = 0, at = 0; i < wrt.n; i++) {
        result[i] = h->grad[i];
        if (!has_gradient_value(h, i)) continue;
        result[i] = dot[at++];
        if (result[i] == GRAD_DISCONNECTED) result[i] = ad_zero(b, wrt.p[i]);
        if (result[i] == VAR_NONE) return false;
        if (var_is_null(b->g, result[i]) && h->how.null == NULL_RAISE)
            return fail(b->s, b->from.at, E_NULL,
                        "the Hessian-vector product is undefined: %s",
                        var_type(b->g, result[i])->why);
    }
    return true;
}

bool ad_hvp(Builder *b, Var cost, VarList wrt, const Var *v, const GradOptions *how,
            Var *result) {
    SecondOrder h = {.b = b, .wrt = wrt};
    for (size_t i = 0; i < wrt.n; i++)
        if (!ad_check_direction(b, "vector", v[i], wrt.p[i])) return false;
    bool ok = first_gradients(&h, cost, how ? how : &usual) &&
              hessian_times_vectors(&h, v, result);
    arena_free(h.tmp);
    return ok;
}
