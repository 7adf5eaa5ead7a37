/* What the contract demands of an op's derivatives. Kinds, ranks, dtypes and statically
 * known sizes are checked here. A check that needs values (an unknown size, a zero)
 * becomes an op in the graph around the derivative, for derivatives of user ops. */
#include "ad/claim.h"

#include "op/services.h"

#include <string.h>

/* ---- names ---- */
/* Are properties known only at run time to be checked? An elementwise op's derivatives
 * are products and sums over its own shapes, so they need no check. */
static bool needs_runtime_check(Session *s, const Op *op) {
    bool safe = op->elemwise && op->partial;
    return (op->from && !safe) || services(s)->check_derivatives;
}

static Claimed describe_claim(Builder *b, ApplyId a, size_t i, bool output) {
    const Apply *ap = &b->g->apply[a];
    const Graph *fn = op_called_function(b->g, ap);
    Claimed c = {.kind = output ? "pushforward" : "gradient",
                 .of = fn ? sym_text(b->s, fn->name) : ap->op->name,
                 .output = output,
                 .op = ap->op,
                 .nin = ap->nin,
                 .at = i,
                 .own = needs_runtime_check(b->s, ap->op)};
    if (fn)
        c.part = sym_text(b->s, output ? fn->outputs.p[i].label
                                       : var_name(fn, fn->inputs.p[i]));
    return c;
}

static const char *claimed_part_text(Session *s, const Claimed *c) {
    if (c->part) return c->part;
    if (!c->output) return signature_input_text(s, c->op, c->nin, c->at);
    const Signature *sig = op_signature(s, c->op);
    return c->at < sig->nout ? sym_text(s, sig->out[c->at])
                             : arena_printf(session_arena(s), "%zu", c->at);
}

/* "gradient of f for its input x" */
static const char *claim_text(Session *s, const Claimed *c) {
    return arena_printf(session_arena(s), "%s of %s for its %s %s", c->kind, c->of,
                        c->output ? "output" : "input", claimed_part_text(s, c));
}

static bool fail_claim(Builder *b, const Claimed *c, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static bool fail_claim(Builder *b, const Claimed *c, const char *fmt, ...) {
    Str text = STR(b->s);
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&text, fmt, ap);
    va_end(ap);
    fail(b->s, b->from.at, E_GRADIENT, "the %s %s", claim_text(b->s, c),
         str_text(&text));
    str_free(&text);
    return false;
}

/* ---- constants ---- */
typedef enum Zeroness { UNKNOWN, ZERO, NONZERO } Zeroness;

/* summed: of sums of the elements, among which some may cancel others. */
static Zeroness const_zeroness(const Tensor *t, bool summed) {
    int64_t n = tensor_size(t);
    bool above = false, below = false;
    for (int64_t i = 0; i < n; i++) {
        double part[2];
        tensor_c128(t, i, part);
        above |= !(part[0] <= 0 && part[1] <= 0); /* nan: both */
        below |= !(part[0] >= 0 && part[1] >= 0);
        if (!summed && (part[0] != 0 || part[1] != 0)) return NONZERO;
    }
    return above && below ? UNKNOWN : above || below ? NONZERO : ZERO;
}

/* Ops that map zero to zero and nonzero to nonzero, a sum unless terms cancel. */
static bool keeps_zero(Session *s, const Op *op) {
    static const KnownOp all[] = {OP_CAST,
                                  OP_BROADCAST_TO,
                                  OP_RESHAPE,
                                  OP_TRANSPOSE,
                                  OP_EXPAND_DIMS,
                                  OP_SQUEEZE,
                                  OP_NEGATIVE,
                                  OP_CONJ,
                                  OP_FULL,
                                  OP_FULL_LIKE,
                                  OP_SPECIFY_SHAPE,
                                  OP_SUM,
                                  OP_CHECK_DERIVATIVE};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (op_is(s, op, all[i])) return true;
    return false;
}

/* Is it zero, or surely nonzero, for all inputs? */
static Zeroness infer_zeroness(const Graph *g, Var v) {
    bool summed = false;
    for (int depth = 0; depth < 32; depth++) {
        const Tensor *t = var_const(g, v);
        if (t) return const_zeroness(t, summed);
        ApplyId a = var_owner(g, v);
        if (a == APPLY_NONE) return UNKNOWN;
        Session *s = g->s;
        const Op *op = g->apply[a].op;
        const Graph *fn = op_called_function(g, &g->apply[a]);
        if (fn) {
            v = fn->outputs.p[v - g->apply[a].out].var;
            g = fn;
            continue;
        }
        if (op_is(s, op, OP_ZEROS_LIKE) || op_is(s, op, OP_ZEROS)) return ZERO;
        if (op_is(s, op, OP_ONES_LIKE) || op_is(s, op, OP_ONES)) return NONZERO;
        if (!keeps_zero(s, op)) return UNKNOWN;
        summed |= op_is(s, op, OP_SUM);
        v = apply_in(g, a)[op_is(s, op, OP_FULL_LIKE) || op_is(s, op, OP_FULL)];
    }
    return UNKNOWN;
}

/* ---- checks ---- */

/* False if two statically known sizes differ; *open if some sizes are known only at run
 * time. */
static bool known_sizes_fit(const Type *have, const Type *want, bool *open) {
    *open = false;
    for (int i = 0; i < have->ndim; i++) {
        Dim h = have->dim[i], w = want->dim[i];
        if (dim_is_known(h) && dim_is_known(w) && h != w) return false;
        *open |= h != w || (!dim_is_known(h) && !dim_is_named(h));
    }
    return true;
}

/* Wraps *d in an op that checks at run time. */
static bool insert_runtime_check(Builder *b, const Claimed *c, Var like, bool zero,
                                 Var *d) {
    PropArg prop[] = {{"what", PROP_STR(sym(b->s, claim_text(b->s, c)))},
                      {"zero", PROP_BOOL(zero)}};
    Var in[] = {*d, like};
    *d = apply_named(b, "check_derivative", 2, in, 2, prop);
    return *d != VAR_NONE;
}

static bool fail_nonzero(Builder *b, const Claimed *c) {
    return fail_claim(b, c,
                      c->output ? "is not zero: the output has an integer dtype, so "
                                  "its tangent must be zero"
                                : "is not zero: the input reaches the cost through "
                                  "integers only, so its gradient must be zero");
}

static bool fail_mistyped(Builder *b, const Claimed *c, const Type *t,
                          const Type *want) {
    return fail_claim(b, c, "is %s, but the %s is %s", type_str(b->s, t),
                      c->output ? "output" : "input", type_str(b->s, want));
}

bool ad_claim(Builder *b, const Claimed *c, Var like, Var *d) {
    const Graph *g = b->g;
    if (*d == GRAD_DISCONNECTED || var_is_null(g, *d)) return true;
    const Type *t = var_type(g, *d), *want = var_type(g, like);
    if (ad_is_plugin_value(g, like)) return t == want || fail_mistyped(b, c, t, want);
    bool kind =
        t->kind == want->kind && (t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE);
    if (!kind || dtype_is_discrete(t->dtype))
        return fail_claim(b, c, "must have a float or complex dtype, but it is %s",
                          type_str(b->s, t));
    bool open;
    if (t->ndim != want->ndim || !known_sizes_fit(t, want, &open))
        return fail_mistyped(b, c, t, want);
    Zeroness is = c->zero ? infer_zeroness(g, *d) : ZERO;
    if (is == NONZERO) return fail_nonzero(b, c);
    bool unsure = open || is == UNKNOWN;
    return !c->own || !unsure || insert_runtime_check(b, c, like, is == UNKNOWN, d);
}

/* Is input i connected to the cost, and if so only through outputs of integer dtype? */
static void find_cost_paths(const Graph *g, ApplyId a, size_t i, const Var *cotangent,
                            bool *connected, bool *discrete) {
    *connected = false;
    *discrete = true;
    for (size_t k = 0; k < g->apply[a].nout; k++) {
        if (cotangent[k] == GRAD_DISCONNECTED || !op_connected(g, a, i, k)) continue;
        Var out = g->apply[a].out + (Var)k;
        *connected = true;
        *discrete &=
            !ad_is_plugin_value(g, out) && !dtype_is_inexact(var_type(g, out)->dtype);
    }
}

/* Does the op state a connection pattern? If not, everything counts as connected. */
static bool has_connection_pattern(const Op *op) {
    return op_rare(op)->connect || op->disconnected;
}

static bool claim_disconnected(Builder *b, const Claimed *c, const Op *op) {
    if (!op->from) return true;
    if (has_connection_pattern(op))
        return fail_claim(b, c,
                          "is disconnected, but the op's connection pattern says that "
                          "it is connected");
    warn(b->s, b->from.at, E_GRADIENT,
         "the %s is disconnected, but the op states no connection pattern, so every "
         "input counts as connected",
         claim_text(b->s, c));
    return true;
}

bool ad_claim_gradient(Builder *b, ApplyId a, size_t i, const Var *cotangent, Var in,
                       Var *term) {
    const Op *op = b->g->apply[a].op;
    Claimed c = describe_claim(b, a, i, false);
    bool connected, discrete;
    find_cost_paths(b->g, a, i, cotangent, &connected, &discrete);
    c.zero = discrete;
    if (*term == GRAD_DISCONNECTED) return !connected || claim_disconnected(b, &c, op);
    if (!connected)
        return fail_claim(
            b, &c,
            "is not disconnected, but the op's connection pattern says that it is");
    return ad_claim(b, &c, in, term);
}

bool ad_claim_tangent(Builder *b, const Claimed *c, Var out, Var *result) {
    const Graph *g = b->g;
    if (*result == VAR_NONE || var_is_null(g, *result)) return true;
    const Type *t = var_type(g, out);
    bool array = t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE;
    bool moves = ad_is_plugin_value(g, out) || (array && dtype_is_inexact(t->dtype));
    if (moves) return ad_claim(b, c, out, result);
    return !c->own || infer_zeroness(g, *result) != NONZERO || fail_nonzero(b, c);
}

bool ad_claim_pushforward(Builder *b, ApplyId a, size_t k, Var *result) {
    Claimed c = describe_claim(b, a, k, true);
    return ad_claim_tangent(b, &c, b->g->apply[a].out + (Var)k, result);
}
