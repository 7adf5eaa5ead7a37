/* Names and formulas of derivative rules. */
#include "ops/linalg/grad_chain.h"

#include "ops/shape/linear.h"

#include <stdio.h>
#include <string.h>

static void bind_in_rule(Rule *r, Sym name, Var v) {
    for (size_t i = 0; i < r->n; i++)
        if (r->bind[i].name == name) {
            r->bind[i].var = v;
            return;
        }
    if (r->n == RULE_NAMES) bug("too many names in a rule of %s", r->op->name);
    r->bind[r->n++] = (Bind){name, v};
}

static Sym letter_name(Session *s, char letter, Sym name) {
    char text[64];
    snprintf(text, sizeof text, "%c_%s", letter, sym_text(s, name));
    return sym(s, text);
}

static Rule open_rule(Builder *b, const Op *op, const Props *props, size_t nin,
                      const Var *in, size_t nout, const Var *out) {
    Rule r = {.b = b, .op = op, .props = props, .ok = true};
    const Signature *sig = op_signature(b->s, op);
    for (size_t i = 0; i < nin && i < sig->nin; i++)
        bind_in_rule(&r, sig->in[i].name, in[i]);
    for (size_t i = 0; i < nout && i < sig->nout; i++)
        bind_in_rule(&r, sig->out[i], out[i]);
    return r;
}

Rule rule_pull(const Pull *p) {
    Rule r = open_rule(p->b, p->op, p->props, p->nin, p->in, p->nout, p->out);
    const Signature *sig = op_signature(p->b->s, p->op);
    for (size_t i = 0; i < p->nout && i < sig->nout; i++)
        if (p->cotangent[i] != VAR_NONE)
            bind_in_rule(&r,
                         sig->nout == 1 ? sym(p->b->s, "g")
                                        : letter_name(p->b->s, 'g', sig->out[i]),
                         p->cotangent[i]);
    return r;
}

Rule rule_push(const Push *p) {
    Rule r = open_rule(p->b, p->op, p->props, p->nin, p->in, p->nout, p->out);
    const Signature *sig = op_signature(p->b->s, p->op);
    for (size_t i = 0; i < p->nin && i < sig->nin; i++)
        if (p->tangent[i] != VAR_NONE)
            bind_in_rule(&r, letter_name(p->b->s, 'd', sig->in[i].name), p->tangent[i]);
    return r;
}

void rule_bind(Rule *r, const char *name, Var v) {
    if (v == VAR_NONE) r->ok = false;
    if (r->ok) bind_in_rule(r, sym(r->b->s, name), v);
}

bool rule_let(Rule *r, const char *name, const char *text) {
    if (!r->ok) return false;
    Env env = {.n = r->n, .bind = r->bind, .op = r->op, .props = r->props};
    bool ok = true;
    Var v = template_build(r->b, text, &env, &ok);
    rule_bind(r, name, ok ? v : VAR_NONE);
    return r->ok;
}

static Var find_in_rule(const Rule *r, const char *name) {
    Sym y = sym(r->b->s, name);
    for (size_t i = 0; i < r->n; i++)
        if (r->bind[i].name == y) return r->bind[i].var;
    return VAR_NONE;
}

bool rule_has(const Rule *r, const char *name) {
    return find_in_rule(r, name) != VAR_NONE;
}

Var rule_get(Rule *r, const char *name) {
    if (!r->ok) return VAR_NONE;
    Var v = find_in_rule(r, name);
    if (v == VAR_NONE) bug("a rule of %s knows no %s", r->op->name, name);
    return v;
}

static Var swap_last_axes(Builder *b, Var v) {
    PropArg arg[2] = {{"axis1", PROP_INT(-1)}, {"axis2", PROP_INT(-2)}};
    return apply_named(b, "swapaxes", 1, &v, 2, arg);
}

void rule_conj(Rule *r, const char *name, const char *of) {
    rule_bind(r, name, conj_of_complex(r->b, rule_get(r, of)));
}

void rule_transpose(Rule *r, const char *name, const char *of) {
    rule_bind(r, name, swap_last_axes(r->b, rule_get(r, of)));
}

void rule_hermitian(Rule *r, const char *name, const char *of) {
    rule_bind(r, name, conj_of_complex(r->b, swap_last_axes(r->b, rule_get(r, of))));
}

void rule_real(Rule *r, const char *name, const char *of) {
    Var v = rule_get(r, of);
    bool complex = v != VAR_NONE && dtype_is_complex(var_type(r->b->g, v)->dtype);
    rule_bind(r, name, complex ? op_call1(r->b, "real", v) : v);
}

void rule_quotient(Rule *r, const char *name, const char *num, const char *den) {
    rule_bind(r, "num_", rule_get(r, num));
    rule_bind(r, "den_", rule_get(r, den));
    rule_let(r, name, "num_ / where((den_ == 0) & (num_ == 0), 1, den_)");
}

void rule_column(Rule *r, const char *name) {
    static const int64_t last[1] = {-1};
    PropArg arg = {"axis", PROP_INTS(last, 1)};
    Var v = rule_get(r, name);
    rule_bind(r, name, apply_named(r->b, "expand_dims", 1, &v, 1, &arg));
}

void rule_uncolumn(Rule *r, const char *name) {
    static const int64_t last[1] = {-1};
    PropArg arg = {"axis", PROP_INTS(last, 1)};
    Var v = rule_get(r, name);
    rule_bind(r, name, apply_named(r->b, "squeeze", 1, &v, 1, &arg));
}

/* ---- triangles ---- */
void rule_half(Rule *r, const char *name, const char *of, Half half) {
    rule_bind(r, "half_", rule_get(r, of));
    rule_let(r, name,
             half == HALF_LOWER ? "tril(half_) - 0.5 * triu(tril(half_))"
                                : "triu(half_) - 0.5 * tril(triu(half_))");
}

static void let_transposed(Rule *r, const char *name, const char *of, bool hermitian) {
    (hermitian ? rule_hermitian : rule_transpose)(r, name, of);
}

void rule_mirror(Rule *r, const char *name, const char *of, Half half, bool hermitian) {
    rule_half(r, "low_", of, half);
    let_transposed(r, "up_", "low_", hermitian);
    rule_let(r, name, "low_ + up_");
}

void rule_fold(Rule *r, const char *name, const char *of, Half half, bool hermitian) {
    rule_bind(r, "whole_", rule_get(r, of));
    let_transposed(r, "other_", of, hermitian);
    rule_let(r, "both_", "whole_ + other_");
    rule_half(r, name, "both_", half);
}

/* ---- results ---- */
bool rule_grad(Rule *r, const Pull *p, size_t i, const char *name) {
    Var v = rule_get(r, name);
    if (v != VAR_NONE) v = sum_to_shape(r->b, v, p->in[i]);
    p->grad[i] = v;
    return r->ok && v != VAR_NONE;
}

bool rule_result(Rule *r, const Push *p, size_t o, const char *name) {
    p->result[o] = rule_get(r, name);
    return r->ok;
}

bool rule_no_tangent(const Push *p) {
    for (size_t o = 0; o < p->nout; o++)
        p->result[o] = VAR_NONE;
    return true;
}

void rule_eigen_gaps(Rule *r) {
    rule_let(r, "own", "eye(w.shape[-1], dtype=bool)");
    rule_let(r, "gap", "expand_dims(w, -2) - expand_dims(w, -1)");
}

MatrixSides matrix_sides(const Graph *g, Var a) {
    const Type *t = var_type(g, a);
    Dim m = t->dim[t->ndim - 2], n = t->dim[t->ndim - 1];
    bool known = dim_is_known(m) && dim_is_known(n);
    bool open = !known && !(m == n && dim_is_named(m));
    return (MatrixSides){dtype_is_complex(t->dtype), known ? m > n : open,
                         known ? m < n : open, open};
}
