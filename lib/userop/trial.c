/* Tries a user's op: what its texts compute must fit together. Elementwise ops are
 * tried on scalars, every op on its example. */
#include "op/infer.h"
#include "userop/userop_impl.h"

#include <string.h>

typedef struct UserOpTrial {
    const struct OpBody *op;
    const Signature *sig;
    Builder b;
    ApplyId id;
} UserOpTrial;

static bool try_term(UserOpTrial *t, const UserOpText *f, Var like, Var g) {
    Session *s = t->b.g->s;
    bool ok = true;
    Var v = template_build_apply(&t->b, f->text, t->b.g, t->id, g, &ok);
    if (!ok || v == GRAD_DISCONNECTED || var_is_null(t->b.g, v)) return ok;
    const Type *have = var_type(t->b.g, v), *want = var_type(t->b.g, like);
    bool partial = t->op->decl->partials.n > 0; /* is broadcast to the result */
    if (have->kind == TYPE_TENSOR &&
        (have->ndim == want->ndim || (partial && have->ndim < want->ndim)))
        return true;
    fail(s, f->at, have->kind == TYPE_TENSOR ? E_SHAPE : E_TYPE,
         "the op %s: this is %s, but it must have the shape of %s, %s", t->op->op.name,
         type_str(s, have), partial ? "the result" : sym_text(s, f->name),
         type_str(s, want));
    return note(s, NOWHERE, "as tried on %s",
                type_str(s, var_type(t->b.g, apply_in(t->b.g, t->id)[0])));
}

static Var trial_input(UserOpTrial *t, Sym name) {
    for (size_t i = 0; i < t->sig->nin && i < t->b.g->apply[t->id].nin; i++)
        if (t->sig->in[i].name == name) return apply_in(t->b.g, t->id)[i];
    return VAR_NONE;
}

static bool try_gradient(UserOpTrial *t) {
    const UserOp *d = t->op->decl;
    Var out = t->b.g->apply[t->id].out, g;
    const Type *to = var_type(t->b.g, out);
    if (to->kind != TYPE_TENSOR || dtype_is_discrete(to->dtype)) return true;
    g = graph_input(t->b.g, sym(t->b.g->s, "g"), to);
    for (size_t i = 0; i < d->partials.n; i++)
        if (!try_term(t, &d->partials.p[i], out, VAR_NONE)) return false;
    for (size_t i = 0; i < d->adjoint.n; i++) {
        Var x = trial_input(t, d->adjoint.p[i].name);
        if (x != VAR_NONE && !try_term(t, &d->adjoint.p[i], x, g)) return false;
    }
    for (size_t i = 0; t->sig->nout == 1 && i < d->pullback.n; i++) {
        Var x = trial_input(t, d->pullback.p[i].name);
        if (x != VAR_NONE && !try_term(t, &d->pullback.p[i], x, g)) return false;
    }
    return true;
}

static const Props *sample_props(Session *s, const Signature *sig) {
    Prop *p = mem_zalloc(s, sig->nprop, sizeof *p);
    for (size_t i = 0; i < sig->nprop; i++) {
        p[i] = sig->prop[i].value;
        if (!sig->prop[i].required) continue;
        PropType t = sig->prop[i].type;
        p[i] = t == T_BOOL                 ? PROP_BOOL(false)
               : t == T_FLOAT              ? (Prop){.kind = P_FLOAT, .f = 1}
               : t == T_DTYPE              ? PROP_DTYPE(DT_FLOAT64)
               : t == T_STR                ? PROP_STR(sym(s, ""))
               : t == T_INT || t == T_AXIS ? PROP_INT(1)
                                           : PROP_INTS(NULL, 0);
    }
    const Props *props = props_intern(s, sig->nprop, p);
    mem_free(p);
    return props;
}

static bool try_dtype(Session *s, const struct OpBody *op, DType d, bool gradient) {
    const Signature *sig = op_signature(s, &op->op);
    Graph *g = graph_new(s);
    UserOpTrial t = {.op = op, .sig = sig, .b = builder(g, false)};
    Var in[UINT8_MAX], out[OUT_MAX];
    for (size_t i = 0; i < sig->nin; i++)
        in[i] = graph_input(g, sig->in[i].name, type_scalar(s, d));
    bool ok = op_apply(&t.b, &op->op, sample_props(s, sig), sig->nin, in, out);
    if (ok && gradient && !op->decl->replace) {
        t.id = var_owner(g, out[0]);
        ok = try_gradient(&t);
    }
    graph_free(g);
    return ok;
}

/* Tries the first kind of number that the op takes; if it takes none, reports the error
 * for floats. */
static bool try_numbers(Session *s, const struct OpBody *op) {
    static const DType all[] = {DT_FLOAT64, DT_COMPLEX128, DT_INT64, DT_BOOL};
    size_t mark = diag_count(s), first = 0;
    if (op_signature(s, &op->op)->nin > UINT8_MAX) return true;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (op->op.kinds && !(op->op.kinds >> dtype_kind(all[i]) & 1U)) continue;
        if (try_dtype(s, op, all[i], false)) {
            diag_rewind(s, mark);
            return try_dtype(s, op, all[i], true);
        }
        if (first) diag_rewind(s, first);
        first = diag_count(s);
    }
    return !first;
}

static bool try_example(Session *s, const struct OpBody *op) {
    const UserOpText *x = &op->decl->example;
    if (!x->text) return true;
    Graph *g = graph_new(s);
    UserOpTrial t = {.op = op,
                     .sig = op_signature(s, &op->op),
                     .b = builder(g, false),
                     .id = APPLY_NONE};
    Compiler *c = compiler_new(&t.b);
    const char *arrow = strstr(x->text, "->");
    Span at = x->at;
    Var v;
    if (arrow) at.end = at.begin + (uint32_t)(arrow - x->text);
    bool ok =
        arrow || fail(s, at, E_PLUGIN, "the op %s: an example is `%s(...) -> result`",
                      op->op.name, op->op.name);
    ok = ok && compiler_expr(c, at, NULL, &v);
    for (ApplyId a = 0; ok && a < g->napply; a++)
        if (g->apply[a].op == &op->op) t.id = a;
    if (ok && t.id != APPLY_NONE) ok = try_gradient(&t);
    compiler_free(c);
    graph_free(g);
    return ok;
}

bool userop_try(Session *s, const struct OpBody *op, bool on_numbers) {
    return (!on_numbers || try_numbers(s, op)) && try_example(s, op);
}
