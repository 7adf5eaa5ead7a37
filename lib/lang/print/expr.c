/* An Apply as an expression: infix, index, cast, call of a function of the graph, or
 * the op's name with its arguments. */
#include "lang/compile_impl.h"
#include "lang/print/print_impl.h"

#include <string.h>

static Prec infix_prec(Infix k) {
    switch ((int)k) {
    case IN_POW:
        return BIND_POWER;
    case IN_MUL:
    case IN_DIV:
    case IN_FLOORDIV:
    case IN_MOD:
    case IN_MATMUL:
        return BIND_MUL;
    case IN_ADD:
    case IN_SUB:
        return BIND_ADD;
    case IN_SHL:
    case IN_SHR:
        return BIND_SHIFT;
    case IN_AND:
        return BIND_AND;
    case IN_XOR:
        return BIND_XOR;
    case IN_OR:
        return BIND_OR;
    case IN_NEG:
    case IN_POS:
    case IN_INVERT:
        return BIND_UNARY;
    default:
        return BIND_COMPARE;
    }
}

static void print_infix(Printer *p, ApplyId a, const bool *bare, Prec need, Str *out) {
    const Apply *ap = &p->g->apply[a];
    const Var *in = apply_in(p->g, a);
    Prec own = infix_prec(infix_of(ap->op->infix, ap->nin == 1)), left = own,
         right = own + 1;
    if (own == BIND_POWER) {
        left = BIND_ATOM;
        right = BIND_UNARY;
    }
    if (own == BIND_COMPARE) left = own + 1;
    if (own < need) str_putc(out, '(');
    if (ap->nin == 1) {
        str_puts(out, ap->op->infix);
        print_operand(p, in[0], bare[0], BIND_UNARY, out);
    } else {
        print_operand(p, in[0], bare[0], left, out);
        str_printf(out, " %s ", ap->op->infix);
        print_operand(p, in[1], bare[1], right, out);
    }
    if (own < need) str_putc(out, ')');
}

/* ---- arguments ---- */

/* An op's own text replaces its name and props if nobody reads the text back. */
static bool prints_itself(const Printer *p, const Op *op) {
    return op_rare(op)->str && p->style == PRINT_MATH;
}

/* Integers of which another floatX would make something else are cast: float64 stays
 * float64. */
static bool needs_wide_argument(Printer *p, ApplyId a, Var x) {
    const Apply *ap = &p->g->apply[a];
    const Type *t = var_type(p->g, x);
    return p->style == PRINT_STATEMENTS && p->floatX != DT_FLOAT64 && ap->nin == 1 &&
           t->kind == TYPE_TENSOR && dtype_is_discrete(t->dtype) &&
           !print_is_inline(p, ap->out) &&
           op_dtype_by_floatX(p->g, a, p->floatX) != DT_NONE;
}

static void print_argument(Printer *p, ApplyId a, size_t i, bool bare, Str *out) {
    Var x = apply_in(p->g, a)[i];
    bool wide = needs_wide_argument(p, a, x);
    if (wide) str_puts(out, "float64(");
    print_operand(p, x, bare, BIND_ANY, out);
    if (wide) str_putc(out, ')');
}

static void print_arguments(Printer *p, ApplyId a, size_t first, const bool *bare,
                            Str *out) {
    const Apply *ap = &p->g->apply[a];
    Str props = STR(p->s);
    const Signature *sig = op_signature(p->s, ap->op);
    size_t fixed = signature_fixed(sig),
           each = sig->nrest > 1 ? (ap->nin - fixed) / sig->nrest : 0;
    for (size_t i = first; i < ap->nin; i++) {
        bool list = each > 1 && i >= fixed;
        if (i) str_puts(out, ", ");
        if (list && (i - fixed) % each == 0) str_putc(out, '[');
        print_argument(p, a, i, bare[i], out);
        if (list && (i - fixed + 1) % each == 0) str_putc(out, ']');
    }
    if (!prints_itself(p, ap->op)) print_props(p->s, ap->op, ap->props, false, &props);
    if (props.n) str_printf(out, "%s%s", ap->nin ? ", " : "", str_text(&props));
    str_putc(out, ')');
    str_free(&props);
}

static void print_call(Printer *p, ApplyId a, const bool *bare, Str *out) {
    const Apply *ap = &p->g->apply[a];
    if (prints_itself(p, ap->op))
        op_rare(ap->op)->str(p->s, ap->op, ap->props, out);
    else
        str_puts(out, ap->op->name);
    str_putc(out, '(');
    print_arguments(p, a, 0, bare, out);
}

/* ---- index ---- */

/* Is this constant in an index bare? Integers, lists of integers and of bools read back
 * with the same dtype. */
static bool index_is_bare(Printer *p, Var v) {
    const Tensor *t = var_const(p->g, v);
    if (!t || !const_stands_inline(p, v)) return false;
    if (t->ndim == 0) return t->dtype == DT_INT64;
    bool size = t->ndim == 1 || tensor_size(t) > 0;
    return size &&
           (t->dtype == DT_INT64 || (t->dtype == DT_BOOL && tensor_size(t) > 0));
}

static void print_index(Printer *p, ApplyId a, size_t first, Str *out) {
    const Apply *ap = &p->g->apply[a];
    const Var *in = apply_in(p->g, a);
    const char *index = sym_text(p->s, ap->props->p[0].sym);
    size_t next = first;
    print_operand(p, in[0], false, BIND_ATOM, out);
    str_puts(out, *index ? "[" : "[()");
    for (const char *c = index; *c; c++) {
        if (*c != '$' || next >= ap->nin) {
            str_putc(out, *c);
            continue;
        }
        print_operand(p, in[next], index_is_bare(p, in[next]), BIND_ANY, out);
        next++;
    }
    str_putc(out, ']');
}

static void print_set_subtensor(Printer *p, ApplyId a, Str *out) {
    const Apply *ap = &p->g->apply[a];
    const Var *in = apply_in(p->g, a);
    bool bare = const_is_scalar(p->g, in[1]) &&
                var_type(p->g, in[0])->dtype == var_type(p->g, in[1])->dtype;
    str_printf(out, "%s(", ap->op->name);
    print_index(p, a, 2, out);
    str_puts(out, ", ");
    print_operand(p, in[1], bare, BIND_ANY, out);
    str_putc(out, ')');
}

/* ---- functions of the graph, casts ---- */

/* f(args) if f can only mean this function; else the call op with its prop. */
static bool print_function(Printer *p, ApplyId a, bool *bare, Str *out) {
    const Apply *ap = &p->g->apply[a];
    const char *name = sym_text(p->s, ap->props->p[0].sym);
    const Graph *fn = graph_function(p->g, ap->props->p[0].sym);
    size_t n = strlen(name);
    if (!fn || op_find_firm(p->s, name, n) || macro_find(name, n) ||
        fn->inputs.n != ap->nin)
        return false;
    if (*sym_text(p->s, op_prop(p->s, ap->op, ap->props, "scope")->sym) ||
        op_prop(p->s, ap->op, ap->props, "rows")->ints.n)
        return false;
    if (strspn(name,
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") != n)
        return false;
    str_printf(out, "%s(", name);
    for (size_t i = 0; i < ap->nin; i++) {
        Var v = apply_in(p->g, a)[i];
        const Type *t = var_type(fn, fn->inputs.p[i]);
        bare[i] = const_is_scalar(p->g, v) && t->kind == TYPE_TENSOR &&
                  t->dtype == var_type(p->g, v)->dtype;
        if (i) str_puts(out, ", ");
        print_operand(p, v, bare[i], BIND_ANY, out);
    }
    str_putc(out, ')');
    return true;
}

static bool print_cast(Printer *p, ApplyId a, Str *out) {
    const Apply *ap = &p->g->apply[a];
    Var x = apply_in(p->g, a)[0];
    const Type *t = var_type(p->g, x);
    if (ap->props->p[0].kind != P_DTYPE || t->kind != TYPE_TENSOR) return false;
    DType d = (DType)ap->props->p[0].i;
    /* the short form of these would not read back as an Apply */
    if (t->dtype == d || var_is_const(p->g, x)) return false;
    if (p->style == PRINT_STATEMENTS && print_is_inline(p, x))
        return print_operand(p, x, false, BIND_ANY, out), true;
    str_printf(out, "%s(", dtype_name(d));
    print_operand(p, x, false, BIND_ANY, out);
    str_putc(out, ')');
    return true;
}

static bool is_op_with_inputs(const Printer *p, const Apply *ap, KnownOp op,
                              size_t nin) {
    return ap->nin >= nin && ap->props->n > 0 && op_is(p->s, ap->op, op);
}

/* The short forms of Applies. A cast of a constant, and whatever the compiler would
 * evaluate, need the op's own name. */
static bool print_special(Printer *p, ApplyId a, bool *bare, Str *out) {
    const Apply *ap = &p->g->apply[a];
    if (is_op_with_inputs(p, ap, OP_CAST, 1)) return print_cast(p, a, out);
    if (is_op_with_inputs(p, ap, OP_CALL, 0)) return print_function(p, a, bare, out);
    if (op_rare(ap->op)->print) return op_rare(ap->op)->print(p, a, out);
    if (is_op_with_inputs(p, ap, OP_SUBTENSOR, 1))
        return print_index(p, a, 1, out), true;
    if (is_op_with_inputs(p, ap, OP_SET_SUBTENSOR, 2) ||
        is_op_with_inputs(p, ap, OP_INC_SUBTENSOR, 2))
        return print_set_subtensor(p, a, out), true;
    return false;
}

static bool is_infix(Printer *p, const Apply *ap) {
    if (!ap->op->infix || ap->nin == 0 || ap->nin > 2) return false;
    const Signature *sig = op_signature(p->s, ap->op);
    for (size_t i = 0; i < sig->nprop; i++)
        if (!prop_is_default(&sig->prop[i], &ap->props->p[i])) return false;
    return sig->nin == ap->nin &&
           infix_op(p->s, infix_of(ap->op->infix, ap->nin == 1)) == ap->op;
}

void print_apply_expr(Printer *p, ApplyId a, Prec need, Str *out) {
    const Apply *ap = &p->g->apply[a];
    bool few[16] = {false}, *bare = ap->nin <= 16 ? few : mem_zalloc(p->s, ap->nin, 1);
    bool infix = is_infix(p, ap);
    if (!print_special(p, a, bare, out)) {
        print_find_bare(p, a, infix, bare);
        if (infix)
            print_infix(p, a, bare, need, out);
        else
            print_call(p, a, bare, out);
    }
    if (bare != few) mem_free(bare);
}

/* ---- for messages ---- */
enum { BRIEF = 40 }; /* characters of a constant that isn't a tensor */

static void print_brief(const Graph *g, Var v, Sym name, Str *out) {
    const Tensor *t = var_const(g, v);
    if (!name && t && t->ndim == 0 && t->data) {
        tensor_element_text(g->s, t->dtype, t->data, out);
        return;
    }
    if (!name && !t && var_is_const(g, v) &&
        print_value(g->s, var_type(g, v), var_leafrec(g, v)->value, BRIEF, out))
        return;
    str_printf(out, "%s%s%s", sym_text(g->s, name), name ? ": " : "",
               type_str(g->s, var_type(g, v)));
}

void print_called_apply(const Graph *g, ApplyId a, const Graph *from, ApplyId call,
                        Str *out) {
    enum { SHOWN = 12 };
    const Apply *ap = &g->apply[a];
    Str props = STR(g->s);
    if (op_rare(ap->op)->str)
        op_rare(ap->op)->str(g->s, ap->op, ap->props, out);
    else
        str_puts(out, ap->op->name);
    str_putc(out, '(');
    for (size_t i = 0; i < ap->nin && i < SHOWN; i++) {
        if (i) str_puts(out, ", ");
        Var v = apply_in(g, a)[i];
        print_brief(g, v, from ? var_name_in_call(g, v, from, call) : var_name(g, v),
                    out);
    }
    if (ap->nin > SHOWN) str_printf(out, ", ... %zu more", (size_t)ap->nin - SHOWN);
    if (!op_rare(ap->op)->str) print_props(g->s, ap->op, ap->props, false, &props);
    if (props.n) str_printf(out, "%s%s", ap->nin ? ", " : "", str_text(&props));
    str_putc(out, ')');
    str_free(&props);
}

void print_apply(const Graph *g, ApplyId a, Str *out) {
    print_called_apply(g, a, NULL, APPLY_NONE, out);
}
