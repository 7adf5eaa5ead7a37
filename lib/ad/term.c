/* The gradient of one Apply. An op states it in one of three ways: partials of an
 * elementwise op, adjoints of an op that is linear in an input (both as text), or C.
 * Zero, disconnected, undefined and forgotten remain four different things. */
#include "ad/term.h"

#include "ad/claim.h"

#include <string.h>

/* "gradient of mul": made for every differentiated Apply, so avoid printf for speed. */
static Sym origin_name(Session *s, const char *what, const char *op) {
    const char *const part[] = {what, " of ", op};
    char text[128];
    size_t n = 0;
    for (size_t i = 0; i < 3; i++) {
        size_t len = strlen(part[i]), room = sizeof text - n;
        memcpy(text + n, part[i], len < room ? len : room);
        n += len < room ? len : room;
    }
    return sym_n(s, text, n);
}

Origin ad_origin(Builder *b, ApplyId a, const char *what) {
    Origin was = b->from;
    b->from =
        (Origin){b->g->origin[a].at, origin_name(b->s, what, b->g->apply[a].op->name)};
    return was;
}

DType ad_dtype(const Builder *b, Var x) {
    DType d = var_type(b->g, x)->dtype;
    return d != DT_NONE && dtype_is_inexact(d) ? d : b->floatX;
}

Var ad_zero(Builder *b, Var x) {
    return op_zeros_like(b, x, ad_dtype(b, x));
}

/* Casts a term to the dtype of x's gradient; a real input takes the real part. */
static Var cast_to_gradient(Builder *b, Var term, Var x) {
    if (ad_is_plugin_value(b->g, term) || ad_is_plugin_value(b->g, x)) return term;
    DType have = var_type(b->g, term)->dtype, want = ad_dtype(b, x);
    if (have == want) return term;
    if (dtype_is_complex(have) && !dtype_is_complex(want)) {
        term = op_call1(b, "real", term);
        if (term == VAR_NONE) return VAR_NONE;
    }
    return dtype_is_discrete(var_type(b->g, x)->dtype) ? term
                                                       : op_cast_to(b, term, want);
}

/* Has the term a rank that summing over broadcast dims can reduce to x's? */
static bool can_be_summed(const Graph *g, ApplyId a, Var term, Var x) {
    int have = var_type(g, term)->ndim, least = var_type(g, x)->ndim,
        most = var_type(g, g->apply[a].out)->ndim;
    return have >= least && (have <= least || have <= most);
}

/* g times a partial of an elementwise op, summed over broadcast dims to x's shape. */
static bool partial_term(Builder *b, ApplyId a, const char *text, Var g, Var x,
                         Var *out) {
    bool ok = true;
    Var d = VAR_NONE, term = g;
    if (strcmp(text, "0") == 0) return (*out = ad_zero(b, x)) != VAR_NONE;
    if (strcmp(text, "-1") == 0) {
        term = op_call1(b, "negative", g);
    } else if (strcmp(text, "1") != 0) {
        d = template_build_apply(b, text, b->g, a, g, &ok);
        if (!ok) return false;
        if (d == GRAD_DISCONNECTED || var_is_null(b->g, d)) return *out = d, true;
        if ((d = op_conj_of_complex(b, d)) == VAR_NONE) return false;
        term = op_call2(b, "multiply", g, op_cast_to(b, d, var_type(b->g, g)->dtype));
    }
    if (term == VAR_NONE) return false;
    if (!can_be_summed(b->g, a, term, x)) return *out = term, true; /* is refused */
    term = sum_to_shape(b, term, x);
    return term != VAR_NONE && (*out = cast_to_gradient(b, term, x)) != VAR_NONE;
}

static bool adjoint_term(Builder *b, ApplyId a, const char *text, Var g, Var x,
                         Var *out) {
    bool ok = true;
    if (strcmp(text, "0") == 0) return (*out = ad_zero(b, x)) != VAR_NONE;
    Var term = template_build_apply(b, text, b->g, a, g, &ok);
    if (!ok) return false;
    if (term != GRAD_DISCONNECTED && !var_is_null(b->g, term)) {
        term = cast_to_gradient(b, term, x);
        if (term == VAR_NONE) return false;
    }
    return *out = term, true;
}

static bool fail_no_gradient(Builder *b, ApplyId a, size_t i) {
    const Op *op = b->g->apply[a].op;
    const Signature *sig = op_signature(b->s, op);
    fail(b->s, b->from.at, E_GRADIENT, "%s has no gradient for its input %s", op->name,
         i < sig->nin ? sym_text(b->s, sig->in[i].name) : "");
    return note(b->s, NOWHERE,
                "if that is intended, wrap it in consider_constant(...); otherwise "
                "change the function so that this gradient is not needed");
}

/* The text for input i. The list ends where the signature's inputs do; its last entry
 * also serves the rest of a rest parameter. */
static const char *input_derivative_text(Session *s, const Op *op,
                                         const char *const *list, size_t i) {
    size_t n = op_signature(s, op)->nin;
    return list[i < n ? i : n - 1];
}

static bool terms_by_text(Builder *b, ApplyId a, const Var *cotangent,
                          const bool *wanted, Var *grad) {
    const Apply *ap = &b->g->apply[a];
    const Op *op = ap->op;
    size_t nin = ap->nin;
    bool discrete = !ad_is_plugin_value(b->g, ap->out) &&
                    dtype_is_discrete(var_type(b->g, ap->out)->dtype);
    for (size_t i = 0; i < nin; i++) {
        Var x = apply_in(b->g, a)[i];
        if (!wanted[i]) continue;
        const char *const *list = op->partial ? op->partial : op->adjoint;
        const char *text = input_derivative_text(b->s, op, list, i);
        if (!text) return fail_no_gradient(b, a, i);
        bool undefined = strncmp(text, "undefined", 9) == 0;
        if (strcmp(text, "disconnected") == 0) continue;
        /* integer outputs: small changes of an input don't move them */
        if (discrete && !undefined) {
            if ((grad[i] = ad_zero(b, x)) == VAR_NONE) return false;
        } else if (op->partial ? !partial_term(b, a, text, cotangent[0], x, &grad[i])
                               : !adjoint_term(b, a, text, cotangent[0], x, &grad[i])) {
            return false;
        }
    }
    return true;
}

static bool terms_by_pull(Builder *b, ApplyId a, const Var *cotangent,
                          const bool *wanted, Var *grad) {
    const Apply ap = b->g->apply[a];
    Arena *tmp = arena_new(b->s);
    Var *in = arena_copy(tmp, apply_in(b->g, a),
                         ap.nin * sizeof *in); /* the store may move */
    Var *out = NEW_N(tmp, ap.nout, Var);
    for (size_t i = 0; i < ap.nout; i++)
        out[i] = ap.out + (Var)i;
    Pull p = {.b = b,
              .g = b->g,
              .id = a,
              .op = ap.op,
              .props = ap.props,
              .nin = ap.nin,
              .nout = ap.nout,
              .in = in,
              .out = out,
              .cotangent = cotangent,
              .wanted = wanted,
              .grad = grad};
    bool ok = ap.op->pullback ? grad_lines_pull(&p, ap.op->pullback) : ap.op->pull(&p);
    for (size_t i = 0; ok && i < ap.nin; i++) {
        const Type *t = grad[i] == GRAD_DISCONNECTED ? NULL : var_type(b->g, grad[i]);
        if (t && t->dtype != DT_NONE && dtype_is_inexact(t->dtype))
            ok = (grad[i] = cast_to_gradient(b, grad[i], in[i])) != VAR_NONE;
    }
    arena_free(tmp);
    return ok;
}

/* Casts an output's cotangent to the dtype that the op's gradient expects. */
static Var cast_cotangent(Builder *b, Var out, Var g) {
    if (g == GRAD_DISCONNECTED || var_is_null(b->g, g) || ad_is_plugin_value(b->g, out))
        return g;
    DType d = var_type(b->g, out)->dtype;
    return d != DT_NONE && dtype_is_inexact(d) ? op_cast_to(b, g, d) : g;
}

/* A null cotangent makes the gradient of every connected input null. *nulls counts the
 * null cotangents; true if there are any. */
static bool spread_null_cotangent(Builder *b, ApplyId a, const Var *cotangent,
                                  const bool *wanted, Var *grad, size_t *nulls) {
    const Apply *ap = &b->g->apply[a];
    *nulls = 0;
    for (size_t k = 0; k < ap->nout; k++) {
        if (!var_is_null(b->g, cotangent[k])) continue;
        ++*nulls;
        for (size_t i = 0; i < ap->nin; i++)
            if (wanted[i] && op_connected(b->g, a, i, k)) grad[i] = cotangent[k];
    }
    return *nulls > 0;
}

bool ad_terms(Builder *b, ApplyId a, const Var *cotangent, const bool *wanted,
              Var *grad) {
    const Apply ap = b->g->apply[a];
    Arena *tmp = arena_new(b->s);
    Var *in = arena_copy(tmp, apply_in(b->g, a), ap.nin * sizeof *in);
    Var *cot = NEW_N(tmp, ap.nout, Var), *term = NEW_N(tmp, ap.nin, Var);
    size_t nulls, live = 0, mark = diag_count(b->s);
    bool ok = true;
    for (size_t i = 0; i < ap.nin; i++)
        grad[i] = term[i] = GRAD_DISCONNECTED;
    bool any_null = spread_null_cotangent(b, a, cotangent, wanted, grad, &nulls);
    for (size_t k = 0; k < ap.nout; k++) {
        cot[k] = var_is_null(b->g, cotangent[k])
                     ? GRAD_DISCONNECTED
                     : cast_cotangent(b, ap.out + (Var)k, cotangent[k]);
        live += cot[k] != GRAD_DISCONNECTED;
    }
    if (diag_failed(b->s, mark)) {
        ok = false;
    } else if (live) {
        if (ap.op->partial || ap.op->adjoint)
            ok = terms_by_text(b, a, cot, wanted, term);
        else if (ap.op->pullback || ap.op->pull)
            ok = terms_by_pull(b, a, cot, wanted, term);
        else
            ok = fail_no_gradient(b, a, 0);
    }
    ok = ok && !diag_failed(b->s, mark); /* what failed may look disconnected */
    for (size_t i = 0; ok && i < ap.nin; i++) {
        if (!wanted[i]) continue;
        ok = !live || ad_claim_gradient(b, a, i, cot, in[i], &term[i]);
        bool is_null = any_null && grad[i] != GRAD_DISCONNECTED;
        if (!is_null) grad[i] = term[i];
    }
    arena_free(tmp);
    return ok;
}
