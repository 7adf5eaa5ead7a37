/* Calls: what a called name means, an op, a macro, a function of the graph, a builtin
 * or a text; and how an op is called. */
#include "lang/call_impl.h"
#include "op/infer.h"
#include "op/op_impl.h"
#include "op/services.h"

#include <string.h>

/* ---- calls of ops ---- */

/* softmax(x) means what SciPy means, while PyTorch and JAX want an axis or take the
 * last: said once where it makes a difference. */
static void note_all_axes(Compiler *c, const CallArgs *a, Var x) {
    const Type *t = var_type(c->b->g, x);
    bool softmax = op_is(c->s, a->op, OP_SOFTMAX) || op_is(c->s, a->op, OP_LOG_SOFTMAX);
    if (!softmax || c->env || a->has_prop[0] || t->ndim < 2 || c->noted_all_axes)
        return;
    warn(c->s, a->at, E_ARG, "%s without an axis is over all elements of %s",
         a->op->name, type_str(c->s, t));
    note(c->s, NOWHERE,
         "write axis=-1 for the last axis, or axis=None if this is meant");
    c->noted_all_axes = true;
}

static bool compile_op_call(Compiler *c, const Op *called, const Ast *e,
                            const Node *self, DType want, Node *out) {
    const Op *op = called;
    if (!call_op_of_keywords(c, e, &op)) return false;
    const Signature *sig = op_signature(c->s, op);
    CallArgs a = {.op = op, .sig = sig, .at = e->at};
    a.npositional = op == called ? sig->nin : op_signature(c->s, called)->nin;
    a.in = arena_alloc(c->tmp, (sig->nin + sig->nprop + 1) * sizeof *a.in);
    a.prop = a.in + sig->nin;
    a.has_in = NEW_N(c->tmp, sig->nin + sig->nprop + 1, bool);
    a.has_prop = a.has_in + sig->nin;
    const Props *props;
    DType creates;
    size_t nfixed;
    if (!call_args_match(c, e, self, &a)) return false;
    op = a.op;
    sig = a.sig;
    if (c->env && c->env->lines) text_lines_where(op, sig->nin, a.in);
    if (!call_args_props(c, &a, want, &props, &creates) ||
        !call_args_fill(c, &a, &nfixed) || !node_weak_as_itypes(c, op, nfixed, a.in))
        return false;
    size_t nin = nfixed + a.nrest;
    Var *in = arena_alloc(c->tmp, (nin + 1) * sizeof *in);
    DType floatX = compiler_weak_floatX(c, op, a.nrest ? 0 : nin, a.in);
    const char *outer = c->b->asked; /* of sum(x, where=m), messages say sum */
    if (op != called && !outer) c->b->asked = called->name;
    bool ok = call_args_coerce(c, &a, creates, nfixed, nin, in) &&
              compiler_evaluate_or_apply(c, op, props, (VarList){nin, in}, e->at, out);
    c->b->asked = outer;
    if (ok) node_weaken(c, op, a.nrest ? 0 : nin, a.in, out);
    if (ok && nin > 0 && sig->nprop > 0) note_all_axes(c, &a, in[0]);
    c->b->floatX = floatX;
    return ok;
}

/* ---- calls of graph functions ---- */

static bool call_function_node(Compiler *c, const Ast *e, size_t first, const Node *f,
                               const Node *self, Node *out) {
    size_t n = 0;
    Node *arg = arena_alloc(c->tmp, (e->nkid + 2) * sizeof *arg);
    Sym *key = NEW_N(c->tmp, e->nkid + 2, Sym);
    if (self) arg[n++] = *self;
    for (size_t i = first; i < e->nkid; i++, n++) {
        bool keyword = e->kid[i]->kind == AST_KEYWORD;
        if (keyword) key[n] = e->kid[i]->sym;
        if (!compile(c, keyword ? e->kid[i]->kid[0] : e->kid[i], DT_NONE, &arg[n]))
            return false;
    }
    return compiler_apply(c, f, &(Arguments){n, arg, key, e->at}, out);
}

bool compile_apply(Compiler *c, const Ast *e, const Node *f, Node *out) {
    return call_function_node(c, e, 1, f, NULL, out);
}

/* complex(1.0, -0.0) is how a complex literal with such parts is written. */
static bool is_complex_literal(const Ast *e, const char *name) {
    if (strcmp(name, "complex") != 0 || e->kind != AST_CALL || e->nkid != 2)
        return false;
    for (size_t i = 0; i < 2; i++) {
        const Ast *k = e->kid[i]->kind == AST_UNARY ? e->kid[i]->kid[0] : e->kid[i];
        if (k->kind != AST_INT && k->kind != AST_FLOAT) return false;
    }
    return true;
}

/* A draw: normal(..., rng=r) is the macro of that name, normal(..., seed=1) the op;
 * gamma(x) is the function, gamma(..., seed=1) the distribution. */
static bool is_draw(Compiler *c, const Op *op, const Ast *e) {
    for (size_t i = e->nkid; i-- > 0 && e->kid[i]->kind == AST_KEYWORD;) {
        const char *key = sym_text(c->s, e->kid[i]->sym);
        if (strcmp(key, "rng") == 0) return true;
        if (strcmp(key, "seed") == 0) return !op->props || !strstr(op->props, "seed");
    }
    return false;
}

/* A dict for an op that passes its value through: a macro of the same name applies it
 * to each leaf. */
static bool takes_dict(Compiler *c, const Op *op, const Ast *e) {
    const Ast *value = e->nkid ? e->kid[0] : NULL;
    Node n;
    if (!op->identity || !value) return false;
    if (value->kind == AST_DICT) return true;
    return value->kind == AST_NAME && compiler_lookup(c, value->sym, value->at, &n) &&
           n.kind == NODE_DICT;
}

static bool compile_macro_call(Compiler *c, const Macro *m, const Ast *e, DType want,
                               Node *out) {
    if (!compile_macro(c, m, e, out)) return false;
    if (!m->creates || want == DT_NONE || out->kind != NODE_VAR) return true;
    DType have = var_type(c->b->g, out->var)->dtype;
    if (!dtype_is_float(have) || !dtype_is_float(want)) return true;
    return (out->var = op_cast_to(c->b, out->var, want)) != VAR_NONE;
}

/* An op that is given as text; NULL: there is none, or it can't be read (*ok false). */
static const Op *find_text_op(Compiler *c, const char *name, bool *ok) {
    const Op *op = NULL;
    *ok = !services(c->s)->text_op || services(c->s)->text_op(c->s, name, &op);
    return op;
}

/* What is called is no new input. */
static bool lookup_called(Compiler *c, const Ast *e, Node *f) {
    bool inputs = c->auto_inputs;
    c->auto_inputs = false;
    bool found = compiler_lookup(c, e->sym, e->at, f);
    c->auto_inputs = inputs;
    return found;
}

bool compile_call(Compiler *c, const Ast *e, const Node *self, DType want, Node *out) {
    const char *name = sym_text(c->s, e->sym);
    size_t len = strlen(name);
    bool is = true;
    Node f;
    const LineFunction *line = text_lines_callee(c, e);
    if (line) return text_lines_call(c, line, e, out);
    if (!self && compiler_is_own_function(c, e->sym) && lookup_called(c, e, &f))
        return call_function_node(c, e, false, &f, NULL, out);
    if (is_complex_literal(e, name)) return compile_builtin(c, e, self, want, &is, out);
    if (!e->callee->op) e->callee->op = op_find_firm(c->s, name, len);
    const Op *op = e->callee->op;
    bool by_op = op && !op->by_macro && !is_draw(c, op, e) && !takes_dict(c, op, e);
    const Macro *m = by_op ? NULL : macro_find(name, len);
    if (op && !op->by_macro && !m) {
        bool place =
            !self && e->nkid > 0 && e->kid[0]->kind == AST_INDEX &&
            (op_is(c->s, op, OP_SET_SUBTENSOR) || op_is(c->s, op, OP_INC_SUBTENSOR));
        if (place) return call_subtensor(c, op, e, out);
        if (!op_is(c->s, op, OP_CAST) || strcmp(name, "cast") == 0)
            return compile_op_call(c, op, e, self, want, out);
    }
    if (m && self)
        return fail(c->s, e->at, E_NAME, "%s is not a method: write %s(x, ...)", name,
                    name);
    if (m) return compile_macro_call(c, m, e, want, out);
    Graph *fn = c->env ? NULL : graph_function(c->b->g, e->sym);
    f = (Node){.kind = NODE_FUNCTION, .at = e->at, .var = VAR_NONE, .fn = fn};
    if (!fn) {
        bool ok = compile_builtin(c, e, self, want, &is, out);
        if (is) return ok;
    }
    bool ok = true;
    const Op *text = self && !fn ? find_text_op(c, name, &ok) : NULL;
    if (!ok) return false;
    is = false;
    if (!text && c->env && c->env->lines && !text_lines_name(c, e->sym, &is, &f))
        return false;
    if (!text && (fn || ((is || lookup_called(c, e, &f)) && f.kind == NODE_FUNCTION)))
        return call_function_node(c, e, self != NULL, &f, self, out);
    if (!text) text = find_text_op(c, name, &ok);
    if (text) return compile_op_call(c, text, e, self, want, out);
    return ok && compiler_fail_function(c, e);
}
