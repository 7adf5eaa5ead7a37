/* The inputs of a call as variables: literals take the dtype of what they meet. */
#include "lang/call_impl.h"
#include "op/infer.h"

#include <string.h>

/* The dtype of literals that meet no tensor: the dtype the op creates, if it is of
 * their kind. */
static DType lone_dtype(const Compiler *c, OperandParts p, DType creates) {
    DType d = operand_dtype(c, p, PROMOTE_NONE);
    bool fits = creates != DT_NONE && p.strong == DT_NONE &&
                (!p.variable || dtype_is_inexact(d)) &&
                (dtype_kind(d) == dtype_kind(creates) ||
                 (dtype_is_integer(d) && dtype_is_integer(creates)));
    return fits ? creates : d;
}

static bool coerce_single(Compiler *c, DType creates, const Node *n, Var *out) {
    OperandParts p;
    if (n->kind == NODE_VAR && !n->weak) {
        *out = n->var;
        return true;
    }
    return node_parts(c, n, &p) && node_to_dtype(c, n, lone_dtype(c, p, creates), out);
}

static bool all_strong(size_t n, const Node *arg) {
    for (size_t i = 0; i < n; i++)
        if (arg[i].kind != NODE_VAR || arg[i].weak) return false;
    return true;
}

static void merge_operand_parts(OperandParts *p, OperandParts q) {
    if (q.strong != DT_NONE)
        p->strong =
            p->strong == DT_NONE ? q.strong : dtype_promote(p->strong, q.strong);
    if (q.weak > p->weak) p->weak = q.weak;
    p->variable |= q.variable;
}

static bool is_tensor_node(const Compiler *c, const Node *n) {
    TypeKind k = n->kind == NODE_VAR ? var_type(c->b->g, n->var)->kind : TYPE_TENSOR;
    return k == TYPE_TENSOR || k == TYPE_SPARSE;
}

bool compiler_coerce(Compiler *c, Promote promote, DType creates, size_t n,
                     const Node *arg, Var *out) {
    size_t first = promote == PROMOTE_NONE            ? n
                   : promote == PROMOTE_TAIL && n > 0 ? 1
                                                      : 0;
    OperandParts p = {DT_NONE, -1, false}, q;
    if (all_strong(n, arg)) { /* op_apply promotes them */
        for (size_t i = 0; i < n; i++)
            out[i] = arg[i].var;
        return true;
    }
    for (size_t i = first; i < n; i++) {
        if (!node_parts(c, &arg[i], &q)) return false;
        merge_operand_parts(&p, q);
    }
    DType d = operand_dtype(c, p, promote);
    if (p.strong == DT_NONE && first < n) {
        d = lone_dtype(c, p, creates);
        if (promote == PROMOTE_INEXACT) d = dtype_inexact(d, c->b->floatX);
    }
    for (size_t i = 0; i < n; i++) {
        if (i < first                    ? !coerce_single(c, creates, &arg[i], &out[i])
            : is_tensor_node(c, &arg[i]) ? !node_to_dtype(c, &arg[i], d, &out[i])
                                         : (out[i] = arg[i].var, false))
            return false;
    }
    return true;
}

/* An empty vector is one of bools, which leave the dtype to the other inputs. */
static bool input_default(Compiler *c, const Param *p, Node *out) {
    if (strcmp(p->value, "[]") == 0) {
        Var none = op_cast_to(c->b, const_ints(c->b, 0, NULL), DT_BOOL);
        *out = node_var(none, NOWHERE);
        return none != VAR_NONE;
    }
    TextCache *t = text_cache(c->s);
    const Ast *e = text_ast(c->s, t, p->value, NULL);
    return e && compile(c, e, DT_NONE, out);
}

/* Adds the parts of items, and of lists within them; false if strong ones have
 * different dtypes. */
static bool add_item_parts(const Compiler *c, size_t n, const Node *arg,
                           OperandParts *p) {
    for (size_t i = 0; i < n; i++) {
        const Node *k = &arg[i];
        if (k->kind == NODE_LIST && !k->sym && !add_item_parts(c, k->n, k->item, p))
            return false;
        bool weak = k->kind == NODE_LITERAL || (k->kind == NODE_VAR && k->weak);
        DKind kind = k->kind == NODE_LITERAL ? k->lit.kind : K_BOOL;
        DType d = k->kind == NODE_VAR
                      ? compiler_receiver_dtype(var_type(c->b->g, k->var))
                      : DT_NONE;
        if (weak && d != DT_NONE) kind = dtype_kind(d);
        if (weak && (int)kind > p->weak) p->weak = (int)kind;
        if (weak || d == DT_NONE) continue;
        if (p->strong != DT_NONE && p->strong != d) return false;
        p->strong = d;
    }
    return true;
}

/* For ops on lists, the first argument determines the type of an item. */
static bool coerce_item(Compiler *c, const Node *list, DType like, const Node *n,
                        Var *out) {
    const Type *t = list->kind == NODE_VAR ? var_type(c->b->g, list->var) : NULL;
    if (t && t->kind == TYPE_LIST) return node_to_type(c, n, t->elem, out);
    return compiler_var(c, n, like, out);
}

/* texts: the op's typing may turn a quoted text into one of its types. */
static bool coerce_special(Compiler *c, const Param *p, const Node *first, DType like,
                           const Node *n, Var *out) {
    bool literal = n->kind == NODE_LITERAL;
    if (p->kind == IN_INTS) return node_ints(c, n, out);
    if (p->kind == IN_LIST && n->kind == NODE_LIST && !n->sym)
        return node_list(c, n, NULL, like, out);

    if ((p->kind == IN_ANY || p->kind == IN_ITEM) && n->kind == NODE_STRING)
        return fail(c->s, n->at, E_TYPE, "a string can't be a value");
    if (p->kind == IN_ITEM) return coerce_item(c, first, like, n, out);
    if (p->kind == IN_BOOL && literal && n->lit.kind != K_BOOL)
        return fail(c->s, n->at, E_TYPE, "expected True or False for `%s`",
                    sym_text(c->s, p->name));
    if (p->kind == IN_INT && literal && n->lit.kind != K_INT)
        return fail(c->s, n->at, E_TYPE, "expected an integer for `%s`",
                    sym_text(c->s, p->name));
    return compiler_var(c, n, DT_NONE, out);
}

bool call_args_fill(Compiler *c, CallArgs *a, size_t *n) {
    size_t fixed = signature_fixed(a->sig);
    *n = fixed;
    if (!a->nrest) /* op_apply adds trailing defaults */
        while (*n > a->sig->min_in && !a->has_in[*n - 1])
            --*n;
    for (size_t i = 0; i < *n; i++) {
        if (a->has_in[i]) continue;
        if (!a->sig->in[i].value)
            return call_args_fail(c, a, a->at, E_ARITY,
                                  "needs, before the later ones, the argument",
                                  sym_text(c->s, a->sig->in[i].name));
        if (!input_default(c, &a->sig->in[i], &a->in[i])) return false;
    }
    return true;
}

/* Can the arguments have one dtype? Literals take that of the tensors beside them, but
 * tensors keep theirs: different ones are left to the typing rule. */
static bool find_common_parts(Compiler *c, size_t n, const Node *arg, bool *common) {
    DType d = DT_NONE;
    int weak = -1;
    *common = true;
    for (size_t k = 0; k < n; k++) {
        OperandParts p;
        if (arg[k].kind == NODE_NONE || !is_tensor_node(c, &arg[k])) {
            *common = false;
            continue;
        }
        if (!node_parts(c, &arg[k], &p)) return false;
        *common = *common && (p.strong == DT_NONE || d == DT_NONE || d == p.strong);
        if (p.strong != DT_NONE) d = p.strong;
        if (p.weak > weak) weak = p.weak;
    }
    if (d != DT_NONE && weak >= 0)
        *common = *common && dtype_weak(d, (DKind)weak, c->b->floatX) == d;
    return true;
}

/* Coerces the values of several rest parameters, those at the same position
 * together. */
static bool coerce_across(Compiler *c, const CallArgs *a, DType creates, size_t nfixed,
                          Var *in) {
    size_t lists = a->sig->nrest, each = a->nrest / lists;
    Node *arg = arena_alloc(c->tmp, lists * sizeof *arg);
    Var *out = arena_alloc(c->tmp, lists * sizeof *out);
    for (size_t i = 0; i < each; i++) {
        bool common;
        for (size_t k = 0; k < lists; k++)
            arg[k] = a->rest[k * each + i];
        if (!find_common_parts(c, lists, arg, &common)) return false;
        if (common && !compiler_coerce(c, PROMOTE_SAME, creates, lists, arg, out))
            return false;
        for (size_t k = 0; k < lists; k++) {
            if (!common && !compiler_var(c, &arg[k], DT_NONE, &out[k])) return false;
            in[nfixed + k * each + i] = out[k];
        }
    }
    return true;
}

/* The dtype that weak items among the arguments take. DT_NONE: no items, or a mixture
 * that the typing rule will reject. */
static DType call_item_dtype(const Compiler *c, const CallArgs *a, size_t nfixed) {
    OperandParts p = {DT_NONE, -1, false};
    for (size_t i = 0; i < a->sig->nin; i++) {
        ParamKind k = a->sig->in[i].kind;
        bool rest = a->sig->in[i].rest;
        if ((k != IN_LIST && k != IN_ITEM) || (!rest && i >= nfixed)) continue;
        if (rest ? !add_item_parts(c, a->nrest, a->rest, &p)
                 : !add_item_parts(c, 1, &a->in[i], &p))
            return DT_NONE;
    }
    if (p.strong != DT_NONE || p.weak < 0) return p.strong;
    return literal_dtype_of_kind((DKind)p.weak, c->b->floatX);
}

bool call_args_coerce(Compiler *c, CallArgs *a, DType creates, size_t nfixed,
                      size_t nin, Var *in) {
    const Node **arg = arena_alloc(c->tmp, (nin + 1) * sizeof *arg);
    Node *tensor = arena_alloc(c->tmp, (nin + 1) * sizeof *tensor);
    Var *out = arena_alloc(c->tmp, (nin + 1) * sizeof *out);
    size_t n = 0;
    DType like = call_item_dtype(c, a, nfixed);
    for (size_t i = 0; i < nin; i++) {
        const Param *p = &a->sig->in[i < nfixed ? i : a->sig->nin - 1];
        arg[i] = i < nfixed ? &a->in[i] : &a->rest[i - nfixed];
        if (i >= nfixed && a->sig->nrest > 1) continue;
        if (param_has_dtype(p->kind))
            tensor[n++] = *arg[i];
        else if (p->kind == IN_ANY && arg[i]->kind == NODE_STRING && a->op->plugin)
            in[i] = text_literal(c->b->g, sym_text(c->s, arg[i]->sym));
        else if (!coerce_special(c, p, arg[0], like, arg[i], &in[i]))
            return false;
    }
    if (!compiler_coerce(c, a->op->promote, creates, n, tensor, out)) return false;
    if (a->sig->nrest > 1 && !coerce_across(c, a, creates, nfixed, in)) return false;
    size_t single = a->sig->nrest > 1 ? nfixed : nin;
    n = 0;
    for (size_t i = 0; i < single; i++)
        if (param_has_dtype(a->sig->in[i < nfixed ? i : a->sig->nin - 1].kind))
            in[i] = out[n++];
    return true;
}
