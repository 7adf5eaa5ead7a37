/* make_node: coercion, typing rule, append. Readers and checks use the typing rule
 * only. */
#include "op/infer.h"
#include "op/op_impl.h"
#include "op/services.h"

#include <string.h>

Builder builder(Graph *g, bool intern) {
    int session = session_options(g->s)->floatX;
    DType floatX = g->floatX != DT_NONE ? g->floatX
                   : session >= 0       ? (DType)session
                                        : DT_FLOAT64;
    return (Builder){.s = g->s, .g = g, .intern = intern, .floatX = floatX};
}

/* Runs the op's rule; in->out has room for OUT_MAX. */
static bool run_type_rule(Infer *in) {
    memset(in->out, 0, in->sig->nout * sizeof *in->out);
    in->nout = in->sig->nout;
    bool (*rule)(Infer *) = in->op->type              ? in->op->type
                            : op_rare(in->op)->itypes ? type_by_itypes
                                                      : type_elemwise;
    if (!rule(in)) return false;
    if (in->nout == 0 || in->nout > OUT_MAX)
        bug("%s has %zu outputs", in->op->name, in->nout);
    for (size_t i = 0; i < in->nout; i++)
        if (!in->out[i])
            bug("the typing rule of %s sets no type for output %zu", in->op->name, i);
    return true;
}

static Var append_apply(Builder *b, const Op *op, const Props *props, VarList in,
                        size_t nout, const Type *const *type) {
    bool effect = op_has_effect(b->g, op, props);
    Var first = graph_apply(b->g, op, props, in.n, in.p, nout, type, b->intern, effect,
                            b->from);
    if (effect) vec_push(b->s, &b->g->effects, var_owner(b->g, first));
    return first;
}

static void append_inferred(Builder *b, const Infer *in, const Type *const *type,
                            Var *out) {
    Var first =
        append_apply(b, in->op, in->props, (VarList){in->nin, in->in}, in->nout, type);
    for (size_t i = 0; i < in->nout; i++)
        out[i] = first + (Var)i;
}

const Props *op_say_dtype(Session *s, const Op *op, const Props *props, DType d) {
    const Signature *sig = op_signature(s, op);
    for (size_t i = 0; op->creates && i < sig->nprop; i++) {
        if (sig->prop[i].type != T_DTYPE || props->p[i].kind != P_NONE) continue;
        Prop *p = mem_alloc(s, sig->nprop * sizeof *p);
        memcpy(p, props->p, sig->nprop * sizeof *p);
        p[i] = PROP_DTYPE(d);
        props = props_intern(s, sig->nprop, p);
        mem_free(p);
        return props;
    }
    return NULL;
}

/* In a graph an op means what it means if floatX is float64 (op_infer). If another
 * floatX changes the result, the graph says so: by dtype= or by a cast of the
 * result. */
static void append_plainly(Builder *b, Infer *in, const Props *given, bool as_given,
                           Var *out) {
    const Type *wide[OUT_MAX], *const *type = in->out;
    in->out = wide;
    in->floatX = DT_FLOAT64;
    bool same = run_type_rule(in) && memcmp(wide, type, in->nout * sizeof *type) == 0;
    in->floatX = b->floatX;
    if (same && as_given) typed_keep(in, given);
    const Props *saying =
        same ? in->props : op_say_dtype(in->s, in->op, in->props, type[0]->dtype);
    bool said = saying != NULL;
    if (said) in->props = saying;
    append_inferred(b, in, said ? type : wide, out);
    for (size_t i = 0; !said && i < in->nout; i++)
        out[i] = op_cast_to(b, out[i], type[i]->dtype);
}

/* m's inputs are what the op takes; as_given: they and their number needed no
 * coercion. */
static bool type_and_append(Builder *b, MakeNode *m, const Props *given, bool as_given,
                            Var *out) {
    const Type *type[OUT_MAX];
    Infer *in = &m->in;
    in->out = type;
    if (!run_type_rule(in)) return false;
    if (in->op->type && b->floatX != DT_FLOAT64)
        return append_plainly(b, in, given, as_given, out), true;
    if (as_given) typed_keep(in, given);
    append_inferred(b, in, type, out);
    return true;
}

/* Builds the text that defines a call, with the inputs bound to their parameters'
 * names. */
static bool apply_def_text(Builder *b, MakeNode *m, Var *out) {
    const Signature *sig = m->in.sig;
    Bind *bind = mem_zalloc(b->s, m->in.nin, sizeof *bind);
    for (size_t i = 0; i < m->in.nin; i++)
        bind[i] = (Bind){signature_param(sig, i)->name, m->var[i]};
    Env env = {.n = m->in.nin, .bind = bind, .op = m->in.op, .props = m->in.props};
    bool ok = true;
    *out = language.definition_build(b, m->in.op->def, &env, &ok);
    mem_free(bind);
    const Prop *dtype =
        ok && m->in.op->creates ? op_prop(b->s, m->in.op, m->in.props, "dtype") : NULL;
    if (dtype && dtype->kind == P_DTYPE) *out = op_cast_to(b, *out, (DType)dtype->i);
    return ok && *out != VAR_NONE;
}

/* Builds what replaces a call; errors name the outermost function, which the user
 * called. */
static bool make_stand_in(Builder *b, MakeNode *m, Var *out) {
    const Op *op = m->in.op;
    const char *outer = b->asked;
    if (!outer) b->asked = op->name;
    bool ok = !op->expand || op->expand(b, op, m->in.props, m->in.nin, m->var, out);
    if (ok && *out == VAR_NONE && op->def) ok = apply_def_text(b, m, out);
    b->asked = outer;
    return ok;
}

static bool make_node(Builder *b, MakeNode *m, const Props *props, const Var *given,
                      Var *out) {
    size_t nin = m->in.nin;
    m->in.at = b->from.at;
    m->in.floatX = b->floatX;
    m->in.make = m;
    m->b = b;
    if (!infer_check_arity(&m->in, m->in.sig->min_in) ||
        !props_complete(&m->in, props) || !coerce_inputs(b, m))
        return false;
    *out = VAR_NONE;
    if (!make_stand_in(b, m, out)) return false;
    if (*out != VAR_NONE) return true;
    bool same = m->in.nin == nin && memcmp(m->var, given, nin * sizeof *given) == 0;
    return type_and_append(b, m, props, same, out);
}

/* The op for these inputs: a sparse matrix among them, or a list as the only input, may
 * select another. */
static const Op *op_for_inputs(Builder *b, const Op *op, size_t nin, const Var *in) {
    for (size_t i = 0; op_rare(op)->sparse && i < nin; i++)
        if (var_type(b->g, in[i])->kind == TYPE_SPARSE)
            return op_named(b->s, op_rare(op)->sparse);
    bool list =
        op_rare(op)->list && nin == 1 && var_type(b->g, in[0])->kind == TYPE_LIST;
    return list ? op_named(b->s, op_rare(op)->list) : op;
}

bool op_apply(Builder *b, const Op *op, const Props *props, size_t nin, const Var *in,
              Var *out) {
    MakeNode m;
    for (size_t i = 0; i < nin; i++)
        if (in[i] == VAR_NONE) return false; /* diagnosed where it was made */
    const char *outer = b->asked;
    const Op *asked = op;
    op = op_for_inputs(b, op, nin, in);
    if (op != asked && !outer) b->asked = asked->name;
    const Typed *t =
        op->expand ? NULL : typed_find(b->g, op, props, (VarList){nin, in}, b->floatX);
    bool ok = true;
    if (t) {
        *out = append_apply(b, op, t->props, (VarList){nin, in}, 1, &t->out);
    } else {
        make_node_open(&m, b->s, b->g, op, nin, in);
        ok = make_node(b, &m, props, in, out);
        make_node_close(&m);
    }
    b->asked = outer;
    return ok;
}

Var op_apply1(Builder *b, const Op *op, const Props *props, size_t nin, const Var *in) {
    Var out[OUT_MAX];
    size_t k = op->default_output ? op->default_output - 1U : 0;
    return op_apply(b, op, props, nin, in, out) ? out[k] : VAR_NONE;
}

Var op_call1(Builder *b, const char *op, Var x) {
    return op_apply1(b, op_named(b->s, op), NULL, 1, &x);
}

Var op_conj_of_complex(Builder *b, Var x) {
    bool is = x != VAR_NONE && dtype_is_complex(var_type(b->g, x)->dtype);
    return is ? op_call1(b, "conj", x) : x;
}

Var op_call2(Builder *b, const char *op, Var x, Var y) {
    Var in[] = {x, y};
    return op_apply1(b, op_named(b->s, op), NULL, 2, in);
}

Var op_call3(Builder *b, const char *op, Var x, Var y, Var z) {
    Var in[] = {x, y, z};
    return op_apply1(b, op_named(b->s, op), NULL, 3, in);
}

static bool infer_as_is(Infer *in) {
    if ((in->op->expand && !in->op->perform) || in->op->def)
        return infer_fail(in, E_TYPE, in->nin,
                          "%s is an abbreviation, which can't be in a graph",
                          in->op->name);
    return infer_check_arity(in, in->sig->least) && props_check(in) &&
           infer_check_inputs(in) && run_type_rule(in);
}

size_t op_infer(const Graph *g, const Op *op, const Props *props, VarList in, Span at,
                const Type *out[OUT_MAX]) {
    MakeNode m;
    const Typed *t = typed_find(g, op, props, in, DT_FLOAT64);
    if (t && t->props == props) return *out = t->out, 1;
    make_node_open(&m, g->s, g, op, in.n, in.p);
    m.in.props = props;
    m.in.at = at;
    m.in.floatX = DT_FLOAT64;
    m.in.out = out;
    bool ok = infer_as_is(&m.in);
    if (ok) typed_keep(&m.in, props);
    make_node_close(&m);
    return ok ? m.in.nout : 0;
}

DType op_dtype_by_floatX(const Graph *g, ApplyId a, DType floatX) {
    const Apply *ap = &g->apply[a];
    const Type *out[OUT_MAX];
    DType d = DT_NONE;
    if (floatX == DT_FLOAT64 || !ap->op->type || ap->nout != 1) return DT_NONE;
    const Type *t = var_type(g, ap->out);
    if (t->kind != TYPE_TENSOR || t->dtype != DT_FLOAT64) return DT_NONE;
    size_t mark = diag_count(g->s);
    MakeNode m;
    make_node_open(&m, g->s, g, ap->op, ap->nin, apply_in(g, a));
    m.in.props = ap->props;
    m.in.floatX = floatX;
    m.in.out = out;
    if (infer_as_is(&m.in) && out[0]->kind == TYPE_TENSOR && out[0]->dtype != t->dtype)
        d = out[0]->dtype;
    make_node_close(&m);
    diag_rewind(g->s, mark);
    return d;
}
