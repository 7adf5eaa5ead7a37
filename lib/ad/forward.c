/* Forward mode: carries tangents along the graph in a single walk, with the same rows
 * of the catalogue as reverse mode. An elementwise op sums partial * tangent over its
 * inputs; an op that is linear in an input is applied to the tangent in place of the
 * input. If an op has only a gradient in C, two pullbacks give its pushforward: the
 * pullback h(c) of a cotangent c is linear in c, and the pullback of h at t is the
 * pushforward of t. */
#include "ad/claim.h"
#include "ad/term.h"
#include "value/class.h"

#include <string.h>

/* t broadcast to out's shape: the tangent of a broadcast input is smaller than the
 * output. */
static Var broadcast_tangent(Builder *b, Var t, Var out) {
    const Type *have = var_type(b->g, t), *want = var_type(b->g, out);
    if (have->kind != TYPE_TENSOR) return t;
    bool same = have->ndim == want->ndim;
    for (int i = 0; same && i < want->ndim; i++)
        same = have->dim[i] == want->dim[i];
    return same ? t : op_call2(b, "add", t, op_zeros_like(b, out, have->dtype));
}

static bool add_tangent(Builder *b, Var term, Var *sum) {
    if (term == VAR_NONE) return false;
    *sum = *sum == VAR_NONE ? term : ad_add(b, *sum, term);
    return *sum != VAR_NONE;
}

static bool push_partial(Builder *b, ApplyId a, const char *text, Var t, Var *sum) {
    if (strcmp(text, "0") == 0 || strcmp(text, "disconnected") == 0) return true;
    if (strcmp(text, "1") == 0) return add_tangent(b, t, sum);
    if (strcmp(text, "-1") == 0) return add_tangent(b, op_call1(b, "negative", t), sum);
    bool ok = true;
    Var d = template_build_apply(b, text, b->g, a, VAR_NONE, &ok);
    if (!ok) return false;
    if (d == GRAD_DISCONNECTED) return true;
    if (var_is_null(b->g, d)) return *sum = d, true;
    return add_tangent(
        b, op_call2(b, "multiply", op_cast_to(b, d, var_type(b->g, t)->dtype), t), sum);
}

static bool elementwise_push(Builder *b, ApplyId a, const Var *in, const Var *tangent,
                             Var *result) {
    const Apply ap = b->g->apply[a];
    Var sum = VAR_NONE;
    for (size_t i = 0; i < ap.nin; i++) {
        if (tangent[i] == VAR_NONE || (sum != VAR_NONE && var_is_null(b->g, sum)))
            continue;
        if (!ap.op->partial[i])
            return fail(b->s, b->from.at, E_GRADIENT, "%s has no derivative",
                        ap.op->name);
        Var t = op_cast_to(b, tangent[i], ad_dtype(b, in[i]));
        if (t == VAR_NONE || !push_partial(b, a, ap.op->partial[i], t, &sum))
            return false;
    }
    if (sum != VAR_NONE && !var_is_null(b->g, sum)) {
        sum = broadcast_tangent(b, sum, ap.out);
        if (sum == VAR_NONE) return false;
    }
    return *result = sum, true;
}

static bool linear_push(Builder *b, ApplyId a, const Var *in, const Var *tangent,
                        Var *result) {
    const Apply ap = b->g->apply[a];
    Arena *tmp = arena_new(b->s);
    Var *with = NEW_N(tmp, ap.nin, Var), sum = VAR_NONE;
    bool ok = true;
    for (size_t i = 0; ok && i < ap.nin; i++) {
        if (tangent[i] == VAR_NONE || !op_connected(b->g, a, i, 0)) continue;
        for (size_t j = 0; j < ap.nin; j++)
            with[j] = j == i ? tangent[i] : in[j];
        ok = op_copy_destroyed(b, b->g, a, with) &&
             add_tangent(b, op_apply1(b, ap.op, ap.props, ap.nin, with), &sum);
    }
    arena_free(tmp);
    return *result = sum, ok;
}

/* A zero of x's type that interning doesn't merge with any other, so that we can
 * differentiate with respect to it. */
static Var fresh_zero(Builder *b, Var x) {
    Var z = ad_zero(b, x);
    if (z == VAR_NONE) return z;
    const Type *t = var_type(b->g, z);
    bool sparse = t->kind == TYPE_SPARSE;
    const char *add = sparse                        ? "sparse_with_data"
                      : ad_is_plugin_value(b->g, x) ? type_class(t)->add
                                                    : "add";
    const Op *op = op_find(b->s, add, strlen(add));
    if (!op) return ad_add(b, z, z); /* reports the missing op */
    Var two[2] = {z, sparse ? op_call1(b, "sparse_data", z) : z};
    if (two[1] == VAR_NONE) return VAR_NONE;
    return graph_apply(b->g, op, props_make(b->s, op, 0, NULL), 2, two, 1, &t, false,
                       true, b->from);
}

/* Pulls t back through h, which is linear in c: h[i] belongs to t[i]. Compacts both. */
static bool second_pullback(Builder *b, size_t n, Var *h, Var *t, VarList c,
                            Var *result) {
    GradOptions loose = {.disconnected = GRAD_IGNORE,
                         .return_disconnected = GRAD_NONE,
                         .null = NULL_RETURN};
    size_t live = 0;
    for (size_t i = 0; i < n; i++) {
        if (h[i] == GRAD_DISCONNECTED || var_is_null(b->g, h[i])) continue;
        t[live] = t[i];
        h[live++] = h[i];
    }
    return ad_vjp(b, (VarList){live, h}, t, c, &loose, result);
}

static uint8_t *mark_dependents(const Graph *g, Arena *a, uint32_t nvar, VarList wrt);

/* An undefined gradient of wrt makes the tangent of every f that depends on wrt
 * undefined. */
static void null_dependents(Builder *b, uint32_t nvar, Var null, Var wrt, VarList f,
                            Var *result) {
    Arena *tmp = arena_new(b->s);
    const uint8_t *on = mark_dependents(b->g, tmp, nvar, (VarList){1, &wrt});
    for (size_t k = 0; k < f.n; k++)
        if (on[f.p[k]]) result[k] = null;
    arena_free(tmp);
}

static bool jvp_by_pullbacks(Builder *b, VarList f, VarList wrt, const Var *tangent,
                             Var *result) {
    size_t n = wrt.n;
    Arena *tmp = arena_new(b->s);
    GradOptions loose = {.disconnected = GRAD_IGNORE,
                         .return_disconnected = GRAD_NONE,
                         .null = NULL_RETURN};
    Var *c = NEW_N(tmp, f.n, Var), *h = NEW_N(tmp, n, Var), *first = NEW_N(tmp, n, Var);
    Var *t = arena_copy(tmp, tangent, n * sizeof *t);
    uint32_t nvar = b->g->nvar;
    bool ok = true;
    for (size_t k = 0; ok && k < f.n; k++)
        ok = (c[k] = fresh_zero(b, f.p[k])) != VAR_NONE;
    ok = ok && ad_vjp(b, f, c, wrt, &loose, first);
    for (size_t i = 0; i < n; i++)
        h[i] = first[i];
    ok = ok && second_pullback(b, n, h, t, (VarList){f.n, c}, result);
    for (size_t i = 0; ok && i < n; i++)
        if (var_is_null(b->g, first[i]))
            null_dependents(b, nvar, first[i], wrt.p[i], f, result);
    arena_free(tmp);
    return ok;
}

/* Like jvp_by_pullbacks for a single Apply: only its own terms count, not paths between
 * its inputs. */
static bool push_by_terms(Builder *b, ApplyId a, const Var *tangent, Var *result) {
    const Apply ap = b->g->apply[a];
    Arena *tmp = arena_new(b->s);
    Var *c = NEW_N(tmp, ap.nout, Var), *h = NEW_N(tmp, ap.nin, Var);
    Var *t = arena_copy(tmp, tangent, ap.nin * sizeof *t);
    bool *wanted = NEW_N(tmp, ap.nin, bool), ok = true;
    for (size_t k = 0; ok && k < ap.nout; k++)
        ok = (c[k] = fresh_zero(b, ap.out + (Var)k)) != VAR_NONE;
    for (size_t i = 0; i < ap.nin; i++)
        wanted[i] = tangent[i] != VAR_NONE;
    ok = ok && ad_terms(b, a, c, wanted, h);
    Var *first = arena_copy(tmp, h, ap.nin * sizeof *first);
    ok = ok && second_pullback(b, ap.nin, h, t, (VarList){ap.nout, c}, result);
    for (size_t i = 0; ok && i < ap.nin; i++)
        for (size_t k = 0; wanted[i] && k < ap.nout; k++)
            if (var_is_null(b->g, first[i]) && op_connected(b->g, a, i, k))
                result[k] = first[i];
    arena_free(tmp);
    return ok;
}

static bool push_apply(Builder *b, ApplyId a, const Var *tangent, Var *result) {
    const Apply ap = b->g->apply[a];
    const Graph *fn = op_called_function(b->g, &ap);
    for (size_t k = 0; k < ap.nout; k++)
        result[k] = VAR_NONE;
    bool done = false;
    /* a custom pullback defines the derivative in forward mode too */
    if (fn && fn->pullback && !fn->pushforward) fn = NULL;
    if (fn && !ad_push_call(b, a, fn, tangent, result, &done)) return false;
    if (done) return true;
    Arena *tmp = arena_new(b->s);
    Var *in = arena_copy(tmp, apply_in(b->g, a), ap.nin * sizeof *in),
        *out = NEW_N(tmp, ap.nout, Var);
    size_t mark = diag_count(b->s);
    bool ok;
    for (size_t k = 0; k < ap.nout; k++)
        out[k] = ap.out + (Var)k, result[k] = VAR_NONE;
    if (ap.op->pushforward || ap.op->push) {
        Push p = {.b = b,
                  .g = b->g,
                  .id = a,
                  .op = ap.op,
                  .props = ap.props,
                  .nin = ap.nin,
                  .nout = ap.nout,
                  .in = in,
                  .out = out,
                  .tangent = tangent,
                  .result = result};
        ok = ap.op->pushforward ? grad_lines_push(&p, ap.op->pushforward)
                                : ap.op->push(&p);
    } else if (ap.op->partial) {
        ok = elementwise_push(b, a, in, tangent, result);
    } else if (ap.op->adjoint) {
        ok = linear_push(b, a, in, tangent, result);
    } else {
        ok = push_by_terms(b, a, tangent, result);
    }
    ok = ok && !diag_failed(b->s, mark);
    for (size_t k = 0; ok && k < ap.nout; k++)
        ok = ad_claim_pushforward(b, a, k, &result[k]);
    arena_free(tmp);
    return ok;
}

/* push_apply for the defined tangents; an undefined tangent makes every output
 * connected to it undefined. */
static bool push_or_null(Builder *b, ApplyId a, Var *tangent, Var *result) {
    const Apply ap = b->g->apply[a];
    bool live = false;
    for (size_t k = 0; k < ap.nout; k++)
        result[k] = VAR_NONE;
    Arena *tmp = arena_new(b->s);
    Var *null = NEW_N(tmp, ap.nin, Var);
    for (size_t i = 0; i < ap.nin; i++) {
        null[i] = var_is_null(b->g, tangent[i]) ? tangent[i] : VAR_NONE;
        if (null[i] != VAR_NONE) tangent[i] = VAR_NONE;
        live |= tangent[i] != VAR_NONE;
    }
    bool ok = !live || push_apply(b, a, tangent, result);
    for (size_t i = 0; i < ap.nin; i++)
        for (size_t k = 0; ok && null[i] != VAR_NONE && k < ap.nout; k++)
            if (op_connected(b->g, a, i, k)) result[k] = null[i];
    arena_free(tmp);
    return ok;
}

/* Integer outputs have zero tangents: small changes don't move them. */
static void drop_discrete_tangents(Builder *b, ApplyId a, Var *result) {
    for (size_t k = 0; k < b->g->apply[a].nout; k++) {
        const Type *t = var_type(b->g, b->g->apply[a].out + (Var)k);
        bool moves = t->kind == TYPE_PLUGIN ||
                     ((t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE) &&
                      dtype_is_inexact(t->dtype));
        if (!moves && !var_is_null(b->g, result[k])) result[k] = VAR_NONE;
    }
}

/* Marks the Applies that f needs; tangents elsewhere aren't computed. */
static uint8_t *mark_needed_applies(const Graph *g, Arena *tmp, VarList f) {
    uint8_t *var = NEW_N(tmp, g->nvar, uint8_t), *on = NEW_N(tmp, g->napply, uint8_t);
    for (size_t k = 0; k < f.n; k++)
        var[f.p[k]] = 1;
    graph_spread_needs(g, 0, var);
    for (ApplyId a = 0; a < g->napply; a++)
        for (size_t k = 0; k < g->apply[a].nout; k++)
            on[a] |= var[g->apply[a].out + k];
    return on;
}

static bool carry_tangents(Builder *b, Arena *tmp, VarList f, VarList wrt,
                           const Var *tangent, Var *dot) {
    uint32_t napply = b->g->napply;
    const uint8_t *on = mark_needed_applies(b->g, tmp, f);
    size_t widest = 1;
    for (ApplyId a = 0; a < napply; a++) {
        if (b->g->apply[a].nin > widest) widest = b->g->apply[a].nin;
        if (b->g->apply[a].nout > widest) widest = b->g->apply[a].nout;
    }
    Var *t = NEW_N(tmp, widest, Var), *r = NEW_N(tmp, widest, Var);
    for (size_t i = 0; i < wrt.n; i++)
        dot[wrt.p[i]] = tangent[i];
    for (ApplyId a = 0; a < napply; a++) {
        const Apply ap = b->g->apply[a];
        bool any = false;
        for (size_t i = 0; on[a] && i < ap.nin; i++) {
            bool connected = false;
            Var x = apply_in(b->g, a)[i];
            for (size_t k = 0; k < ap.nout && dot[x] != VAR_NONE; k++)
                connected |= op_connected(b->g, a, i, k);
            t[i] = connected ? dot[x] : VAR_NONE;
            any |= connected;
        }
        if (!any) continue;
        Origin was = ad_origin(b, a, "pushforward");
        if (!push_or_null(b, a, t, r)) return false;
        b->from = was;
        drop_discrete_tangents(b, a, r);
        for (size_t k = 0; k < ap.nout; k++)
            if (dot[ap.out + k] == VAR_NONE)
                dot[ap.out + k] = r[k]; /* a tangent that the caller gave stays */
    }
    return true;
}

/* Marks what depends on wrt through connected paths, whether or not its tangent is
 * zero. */
static uint8_t *mark_dependents(const Graph *g, Arena *a, uint32_t nvar, VarList wrt) {
    uint8_t *on = NEW_N(a, nvar, uint8_t);
    for (size_t i = 0; i < wrt.n; i++)
        on[wrt.p[i]] = 1;
    for (ApplyId k = 0; k < g->napply && g->apply[k].out < nvar; k++)
        for (size_t i = 0; i < g->apply[k].nin; i++)
            for (size_t j = 0; on[apply_in(g, k)[i]] && j < g->apply[k].nout; j++)
                on[g->apply[k].out + j] |= op_connected(g, k, i, j);
    return on;
}

static bool is_complex(const Graph *g, Var v) {
    const Type *t = var_type(g, v);
    return (t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE) &&
           dtype_is_complex(t->dtype);
}

bool ad_check_direction(Builder *b, const char *what, Var v, Var of) {
    const Type *t = var_type(b->g, v), *want = var_type(b->g, of);
    bool dense = t->kind == TYPE_TENSOR || want->kind != TYPE_TENSOR;
    if (!dense || t->ndim != want->ndim)
        return fail(b->s, b->from.at, E_SHAPE, "a %s is %s, but its variable is %s",
                    what, type_str(b->s, t), type_str(b->s, want));
    if (is_complex(b->g, v) && !is_complex(b->g, of))
        return fail(b->s, b->from.at, E_DTYPE,
                    "a %s is %s, but its variable, %s, is real: take the %s's real "
                    "part",
                    what, type_str(b->s, t), type_str(b->s, want), what);
    return true;
}

bool ad_check_tangents(Builder *b, VarList wrt, const Var *tangent) {
    for (size_t i = 0; i < wrt.n; i++)
        if (!ad_check_direction(b, "tangent", tangent[i], wrt.p[i])) return false;
    return true;
}

bool ad_jvp(Builder *b, VarList f, VarList wrt, const Var *tangent, bool by_pullback,
            Var *result) {
    if (!ad_check_tangents(b, wrt, tangent)) return false;
    if (by_pullback) return jvp_by_pullbacks(b, f, wrt, tangent, result);
    Arena *tmp = arena_new(b->s);
    uint32_t n = b->g->nvar;
    Var *dot = NEW_N(tmp, n, Var);
    for (uint32_t v = 0; v < n; v++)
        dot[v] = VAR_NONE;
    bool ok = carry_tangents(b, tmp, f, wrt, tangent, dot);
    uint8_t *on = ok ? mark_dependents(b->g, tmp, n, wrt) : NULL;
    for (size_t k = 0; ok && k < f.n; k++) {
        result[k] = dot[f.p[k]];
        if (result[k] == GRAD_DISCONNECTED && on[f.p[k]])
            ok = (result[k] = ad_zero(b, f.p[k])) != VAR_NONE;
    }
    arena_free(tmp);
    return ok;
}
