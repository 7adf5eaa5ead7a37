/* Calls of ops: matches arguments with the signature (inputs, then props, by position
 * or by name), gives literals the dtype of what they meet, reads props from
 * literals. */
#include "lang/compile_impl.h"
#include "op/infer.h"
#include "op/op_impl.h"
#include "op/services.h"
#include "type/word.h"

#include <math.h>
#include <string.h>

/* The arguments of a call, in the order of the signature. */
typedef struct CallArgs {
    const Op *op;
    const Signature *sig;
    Node *in; /* sig->nin of them; those of rest parameters are also in `rest` */
    bool *has_in;
    Node *prop;
    bool *has_prop;
    size_t nrest;
    const Node *rest;
    Span at;
} CallArgs;

bool signature_text(Compiler *c, const Op *op, Str *out) {
    (void)c;
    const char *in = op->in       ? op->in
                     : op->itypes ? op->itypes
                                  : "",
               *props = op->props ? op->props : "";
    str_printf(out, "%s(%s%s%s)", op->name, in, *in && *props ? ", " : "", props);
    return false;
}

static bool fail_op_call(Compiler *c, const CallArgs *a, Span at, DiagCode code,
                         const char *what, const char *name) {
    Str b = STR(c->s);
    signature_text(c, a->op, &b);
    fail(c->s, at, code, "%s %s%s%s; its signature is %s", a->op->name, what,
         *name ? " " : "", name, str_text(&b));
    str_free(&b);
    const Macro *draw = macro_find(a->op->name, strlen(a->op->name));
    if (draw && strstr(draw->signature, "rng"))
        note(c->s, NOWHERE,
             "with rng=STATE or seed=NUMBER it draws random numbers: %s(%s)",
             draw->name, draw->signature);
    return false;
}

/* ---- matching ---- */

static bool put_call_argument(Compiler *c, CallArgs *a, size_t k, const Node *n) {
    bool prop = k >= a->sig->nin;
    bool *has = prop ? &a->has_prop[k - a->sig->nin] : &a->has_in[k];
    Sym name = prop ? a->sig->prop[k - a->sig->nin].name : a->sig->in[k].name;
    if (*has)
        return fail_op_call(c, a, n->at, E_ARG, "got a second value for the argument",
                            sym_text(c->s, name));
    *has = true;
    *(prop ? &a->prop[k - a->sig->nin] : &a->in[k]) = *n;
    return true;
}

static bool signature_has_name(const Signature *sig, Sym name) {
    bool has = false;
    for (size_t i = 0; i < sig->nin; i++)
        has |= sig->in[i].name == name;
    for (size_t i = 0; i < sig->nprop; i++)
        has |= sig->prop[i].name == name;
    return has;
}

static bool put_keyword(Compiler *c, CallArgs *a, Sym name, const Node *n) {
    for (size_t i = 0; i < a->sig->nin; i++)
        if (a->sig->in[i].name == name) return put_call_argument(c, a, i, n);
    for (size_t i = 0; i < a->sig->nprop; i++)
        if (a->sig->prop[i].name == name)
            return put_call_argument(c, a, a->sig->nin + i, n);
    fail_op_call(c, a, n->at, E_ARG, "has no argument", sym_text(c->s, name));
    const char *ours = word_synonym(WORD_ARGUMENT, sym_text(c->s, name));
    if (ours && signature_has_name(a->sig, sym(c->s, ours)))
        note(c->s, NOWHERE, "here it is `%s=`", ours);
    return false;
}

/* A text can't be an input: a leading one is the value of the first prop, as in
 * einsum('ij->ji', x). */
static bool has_leading_text(const CallArgs *a, size_t n, const Node *arg) {
    return n > 0 && arg[0].kind == NODE_STRING && a->sig->nin > 0 &&
           a->sig->in[0].kind == IN_TENSOR && a->sig->nprop > 0 &&
           a->sig->prop[0].type == T_STR && a->sig->prop[0].required;
}

/* So is a text in the place of an optional input, as in pad(x, 1, 'edge'). */
static bool is_text_for_prop(const CallArgs *a, size_t i, const Node *arg) {
    return arg->kind == NODE_STRING && i >= a->sig->min_in &&
           a->sig->in[i].kind == IN_TENSOR && a->sig->nprop > 0 &&
           a->sig->prop[0].type == T_STR;
}

/* Is the list in the place of a rest parameter all that it gets? A second list beside
 * it can only be another item, unless it is for a prop. */
static bool is_whole_rest(const CallArgs *a, const Node *arg, size_t left) {
    const Signature *sig = a->sig;
    bool prop =
        sig->nprop > 0 && (sig->prop[0].type == T_INTS || sig->prop[0].type == T_AXES);
    return arg[0].kind == NODE_LIST && (prop || left < 2 || arg[1].kind != NODE_LIST);
}

/* zeros(3, 4), sum(x, 0, 1): the second size or axis stands where a dtype belongs. */
static bool is_loose_int(const CallArgs *a, size_t k, const Node *arg) {
    return k >= a->sig->nin && a->sig->prop[k - a->sig->nin].type == T_DTYPE &&
           arg->kind == NODE_LITERAL && arg->lit.kind == K_INT;
}

/* The name of the sizes or axes before argument k; "shape" if there are none. */
static const char *name_of_list(Session *s, const CallArgs *a, size_t k) {
    const Signature *sig = a->sig;
    while (k-- > sig->nin) {
        PropType t = sig->prop[k - sig->nin].type;
        if (t == T_INTS || t == T_AXES || t == T_AXIS)
            return sym_text(s, sig->prop[k - sig->nin].name);
    }
    return "shape";
}

/* Always false: adds how integers are written as one argument, if the op takes a list
 * of them after `before` others. */
static bool note_loose_ints(Compiler *c, const CallArgs *a, size_t n, const Node *arg) {
    const Signature *sig = a->sig;
    size_t before = 0;
    while (before < sig->nin && sig->in[before].kind != IN_INTS)
        before++;
    if (before == sig->nin && (sig->nprop == 0 || (sig->prop[0].type != T_INTS &&
                                                   sig->prop[0].type != T_AXES)))
        return false;
    Str b = STR(c->s);
    for (size_t i = before; i < n; i++) {
        int64_t v;
        if (arg[i].kind != NODE_LITERAL || !literal_i64(&arg[i].lit, &v)) break;
        str_printf(&b, "%s%lld", i > before ? ", " : "", (long long)v);
    }
    if (b.n)
        note(c->s, NOWHERE, "put the numbers in brackets: %s(%s(%s))", a->op->name,
             before ? "x, " : "", str_text(&b));
    str_free(&b);
    return false;
}

/* Matches positional arguments. A rest parameter takes a list or, always after a text,
 * all remaining arguments. */
static bool put_positional(Compiler *c, CallArgs *a, size_t n, const Node *arg) {
    size_t fixed = a->sig->nrest > 1 ? a->sig->nin : signature_fixed(a->sig), i = 0;
    bool text = has_leading_text(a, n, arg);
    if (text) {
        if (!put_call_argument(c, a, a->sig->nin, arg)) return false;
        arg++;
        n--;
    }
    for (; i < n && i < fixed && !is_text_for_prop(a, i, &arg[i]); i++)
        if (!put_call_argument(c, a, i, &arg[i])) return false;
    if (i == n) return true;
    size_t next = a->sig->nin;
    if (i == fixed && fixed < a->sig->nin) {
        bool list = !text && is_whole_rest(a, &arg[i], n - i);
        a->rest = list ? arg[i].item : &arg[i];
        a->nrest = list ? arg[i].n : n - i;
        a->has_in[fixed] = true;
        i = list ? i + 1 : n;
    }
    for (; i < n; i++, next++) {
        if (next >= a->sig->nin + a->sig->nprop) {
            fail_op_call(c, a, arg[i].at, E_ARITY, "got too many arguments", "");
            return note_loose_ints(c, a, n, arg);
        }
        if (is_loose_int(a, next, &arg[i])) {
            fail_op_call(c, a, arg[i].at, E_ARITY, "takes one argument as its",
                         name_of_list(c->s, a, next));
            return note_loose_ints(c, a, n, arg);
        }
        if (!put_call_argument(c, a, next, &arg[i])) return false;
    }
    return true;
}

/* Gathers several rest parameters: each is a list or a single value, all of one
 * length. */
static bool gather_lists(Compiler *c, CallArgs *a) {
    const Signature *sig = a->sig;
    size_t first = signature_fixed(sig), each = 0, at = 0;
    for (size_t k = first; k < sig->nin; k++) {
        const char *name = sym_text(c->s, sig->in[k].name);
        if (!a->has_in[k])
            return fail_op_call(c, a, a->at, E_ARITY, "needs the argument", name);
        size_t n = a->in[k].kind == NODE_LIST ? a->in[k].n : 1;
        if (k > first && n != each)
            return fail(
                c->s, a->in[k].at, E_ARITY,
                "%s has %zu values for %s but %zu for %s: the numbers must be equal",
                a->op->name, each, sym_text(c->s, sig->in[first].name), n, name);
        each = n;
    }
    Node *all = arena_alloc(c->tmp, (each * sig->nrest + 1) * sizeof *all);
    for (size_t k = first; k < sig->nin; k++, at += each) {
        const Node *n = &a->in[k];
        if (each)
            memcpy(all + at, n->kind == NODE_LIST ? n->item : n, each * sizeof *all);
    }
    a->rest = all;
    a->nrest = at;
    return true;
}

static bool check_required_given(Compiler *c, CallArgs *a) {
    const Signature *sig = a->sig;
    size_t fixed = signature_fixed(sig);
    if (sig->nrest == 1 && a->has_in[fixed] && !a->rest) {
        const Node *n = &a->in[fixed];
        a->rest = n->kind == NODE_LIST ? n->item : n;
        a->nrest = n->kind == NODE_LIST ? n->n : 1;
    }
    for (size_t i = 0; i < fixed; i++) {
        if (a->has_in[i] && a->in[i].kind == NODE_NONE && sig->in[i].optional)
            a->has_in[i] = false;
        if (!a->has_in[i] && i < sig->min_in)
            return fail_op_call(c, a, a->at, E_ARITY, "needs the argument",
                                sym_text(c->s, sig->in[i].name));
    }
    if (sig->nrest > 1 && !gather_lists(c, a)) return false;
    for (size_t i = 0; i < sig->nprop; i++)
        if (!a->has_prop[i] && sig->prop[i].required)
            return fail_op_call(c, a, a->at, E_ARITY, "needs the argument",
                                sym_text(c->s, sig->prop[i].name));
    return true;
}

/* A method whose last parameter is a list of integers also takes them as separate
 * arguments: x.reshape(4, 3), x.transpose(1, 0). */
static bool gather_rest_ints(Compiler *c, const CallArgs *a, size_t *n, Node *arg) {
    const Signature *sig = a->sig;
    size_t all = sig->nin + sig->nprop;
    if (*n <= all || all < 2 || sig->nrest) return true;
    bool ints = sig->nprop ? sig->prop[sig->nprop - 1].type == T_INTS
                           : sig->in[sig->nin - 1].kind == IN_INTS;
    if (!ints) return true;
    size_t last = all - 1, rest = *n - last;
    *n = all;
    return compiler_tree(c, rest, &arg[last], NULL, arg[last].at, &arg[last]);
}

static bool match_arguments(Compiler *c, const Ast *e, const Node *self, CallArgs *a) {
    size_t first = e->kind == AST_METHOD, npos = 0;
    Node *arg = arena_alloc(c->tmp, (e->nkid + 1) * sizeof *arg);
    if (self) arg[npos++] = *self;
    size_t i = first;
    for (;
         i < e->nkid && e->kid[i]->kind != AST_KEYWORD && e->kid[i]->kind != AST_STARS;
         i++)
        if (!compile(c, e->kid[i], DT_NONE, &arg[npos++])) return false;
    if (self && !gather_rest_ints(c, a, &npos, arg)) return false;
    if (!put_positional(c, a, npos, arg)) return false;
    for (; i < e->nkid; i++) {
        Node n;
        if (e->kid[i]->kind == AST_STARS) return compile(c, e->kid[i], DT_NONE, &n);
        if (!compile(c, e->kid[i]->kid[0], DT_NONE, &n)) return false;
        n.at = e->kid[i]->at;
        if (!put_keyword(c, a, e->kid[i]->sym, &n)) return false;
    }
    return check_required_given(c, a);
}

/* ---- props ---- */

static const char *prop_wants(const PropDef *def) {
    static const char *const text[] = {
        [T_BOOL] = "True or False",
        [T_INT] = "an integer",
        [T_FLOAT] = "a number",
        [T_STR] = "a string such as 'text'",
        [T_DTYPE] = "a dtype such as float32",
        [T_INTS] = "a list of integers",
        [T_AXES] = "an axis or a list of axes",
        [T_AXIS] = "an axis",
        [T_GRAPH] = "the name of a function of the graph",
        [T_KEY] = "a number or a string such as 'text'",
        [T_SIDES] = "an integer, a list of integers or of "
                    "pairs, or a string such as 'text'"};
    return text[def->type];
}

static bool read_ints_into(const Node *n, int64_t *v) {
    size_t count = n->kind == NODE_LIST ? n->n : 1;
    for (size_t i = 0; i < count; i++) {
        const Node *k = n->kind == NODE_LIST ? &n->item[i] : n;
        if (k->kind != NODE_LITERAL || !literal_i64(&k->lit, &v[i])) return false;
    }
    return true;
}

/* Does a prop of that type take the node's lists, one after the other? Two of one
 * length, as tensordot's ([1, 2], [0, 1]), or several pairs; a single pair could mean
 * two axes as well. */
static bool takes_lists(PropType t, const Node *n) {
    bool fits = n->kind == NODE_LIST && (t == T_INTS ? n->n == 2 : n->n >= 2);
    for (size_t i = 0; fits && i < n->n; i++)
        fits = n->item[i].kind == NODE_LIST &&
               n->item[i].n == (t == T_INTS ? n->item[0].n : 2);
    return fits && t != T_AXES;
}

/* Reads a number or a list, or lists, one after the other. */
static bool read_prop_ints(Compiler *c, PropType t, const Node *n, Prop *out) {
    bool lists = takes_lists(t, n);
    size_t each = lists ? n->item[0].n : 1;
    size_t count = n->kind == NODE_LIST ? n->n * each : 1;
    int64_t *v = arena_alloc(c->tmp, (count + 1) * sizeof *v);
    *out = PROP_INTS(v, count);
    if (!lists) return read_ints_into(n, v);
    for (size_t i = 0; i < n->n; i++)
        if (!read_ints_into(&n->item[i], v + i * each)) return false;
    return true;
}

static bool read_prop_dtype(Compiler *c, const Node *n, Prop *out) {
    DType d = n->dtype;
    if (n->kind == NODE_STRING) {
        const char *text = sym_text(c->s, n->sym);
        d = strcmp(text, "floatX") == 0 ? c->b->floatX : dtype_find(text, strlen(text));
    }
    *out = PROP_DTYPE(d);
    return (n->kind == NODE_DTYPE || n->kind == NODE_STRING) && d != DT_NONE;
}

static bool read_prop_graph(Compiler *c, const Node *n, Prop *out) {
    Graph *fn = n->kind == NODE_FUNCTION ? n->fn
                : n->kind == NODE_STRING ? graph_function(c->b->g, n->sym)
                                         : NULL;
    if (fn) *out = (Prop){.kind = P_GRAPH, .sym = fn->name};
    return fn != NULL;
}

static bool read_prop_value(Compiler *c, const PropDef *def, const Node *n, Prop *out) {
    bool number = n->kind == NODE_LITERAL;
    int64_t i = 0;
    if (n->kind == NODE_NONE && def->none) {
        *out = (Prop){.kind = P_NONE};
        return true;
    }
    switch (def->type) {
    case T_BOOL:
        *out = PROP_BOOL(n->lit.u != 0);
        return number && n->lit.kind == K_BOOL;
    case T_INT:
    case T_AXIS:
        if (!number || !literal_i64(&n->lit, &i)) return false;
        *out = PROP_INT(i);
        return true;
    case T_KEY:
    case T_FLOAT:
        if (n->kind == NODE_STRING && def->type == T_KEY)
            return *out = PROP_STR(n->sym), true;
        *out = (Prop){.kind = P_FLOAT, .f = number ? literal_f64(&n->lit) : 0};
        return number && n->lit.kind != K_COMPLEX;
    case T_STR:
        *out = PROP_STR(n->sym);
        return n->kind == NODE_STRING;
    case T_DTYPE:
        return read_prop_dtype(c, n, out);
    case T_SIDES:
        if (n->kind == NODE_STRING) return *out = PROP_STR(n->sym), true;
        return read_prop_ints(c, def->type, n, out);
    case T_INTS:
    case T_AXES:
        return read_prop_ints(c, def->type, n, out);
    case T_GRAPH:
        break;
    }
    return read_prop_graph(c, n, out);
}

bool node_prop(Compiler *c, const Op *op, const PropDef *def, const Node *n,
               Prop *out) {
    if (read_prop_value(c, def, n, out)) return true;
    if (def->type == T_DTYPE && n->kind == NODE_STRING)
        return fail(c->s, n->at, E_DTYPE, "%s: there is no dtype '%s'", op->name,
                    sym_text(c->s, n->sym));
    return fail(c->s, n->at, E_ARG,
                "%s: %s must be %s%s, known when the graph is built, not %s", op->name,
                sym_text(c->s, def->name), prop_wants(def), def->none ? " or None" : "",
                node_kind_text(n));
}

/* Is a tensor among the arguments? Then values aren't created from nothing. Nor are
 * they for an integer receiver if something computed, such as sqrt(2.), is a float. */
static bool has_own_dtype(const Compiler *c, const CallArgs *a, DType want) {
    for (size_t i = 0; i < a->sig->nin; i++) {
        const Node *n = &a->in[i];
        if (a->sig->in[i].kind != IN_TENSOR || !a->has_in[i] || n->kind != NODE_VAR)
            continue;
        if (!n->weak || (dtype_is_discrete(want) &&
                         dtype_is_inexact(var_type(c->b->g, n->var)->dtype)))
            return true;
    }
    return false;
}

/* full(3, 2.5) and arange(0, 1, 0.5) are made of their numbers, which a receiver takes
 * as it takes [2.5, 2.5, 2.5]: without loss. */
static bool check_whole_literals(Compiler *c, const Node *n, DType d) {
    _Alignas(16) char bytes[16];
    for (size_t i = 0; n->kind == NODE_LIST && i < n->n; i++)
        if (!check_whole_literals(c, &n->item[i], d)) return false;
    bool part = n->kind == NODE_LITERAL && n->lit.kind == K_FLOAT &&
                !(n->lit.re == floor(n->lit.re) && isfinite(n->lit.re));
    return !part || literal_store(c->s, &n->lit, d, false, n->at, bytes);
}

/* The first and the last element of arange(...) with known integers; false: another
 * call, or there are no elements. */
static bool arange_ends(const CallArgs *a, int64_t end[2]) {
    int64_t v[3] = {0, 0, 1}; /* start, stop, step */
    bool alone = !a->has_in[1];
    for (size_t i = 0; i < 3; i++) {
        if (!a->has_in[i]) continue;
        const Node *n = &a->in[i];
        if (n->kind != NODE_LITERAL || !literal_i64(&n->lit, &v[alone ? 1 : i]))
            return false;
    }
    int64_t way;
    if (v[2] == 0 || (v[2] > 0 ? v[1] <= v[0] : v[1] >= v[0]) ||
        __builtin_sub_overflow(v[2] > 0 ? v[1] - 1 : v[1] + 1, v[0], &way))
        return false;
    end[0] = v[0];
    end[1] = v[0] + way / v[2] * v[2];
    return true;
}

static bool check_receiver_takes(Compiler *c, const CallArgs *a, DType want) {
    bool made = op_is(c->s, a->op, OP_FULL) || op_is(c->s, a->op, OP_ARANGE);
    for (size_t i = 0; made && dtype_is_discrete(want) && i < a->sig->nin; i++)
        if (a->has_in[i] && !check_whole_literals(c, &a->in[i], want)) return false;
    int64_t end[2];
    if (!op_is(c->s, a->op, OP_ARANGE) || !dtype_is_integer(want) ||
        !arange_ends(a, end))
        return true;
    _Alignas(16) char bytes[16];
    Literal first = literal_int(end[0]), last = literal_int(end[1]);
    return literal_store(c->s, &first, want, false, a->at, bytes) &&
           literal_store(c->s, &last, want, false, a->at, bytes);
}

/* Sets *creates to the dtype of values created from nothing: given, or the
 * receiver's. */
static bool read_call_props(Compiler *c, const CallArgs *a, DType want,
                            const Props **props, DType *creates) {
    const Signature *sig = a->sig;
    bool any = false;
    *props = NULL;
    *creates = DT_NONE;
    Prop *p = arena_alloc(c->tmp, (sig->nprop + 1) * sizeof *p);
    if (a->op->creates && want != DT_NONE && has_own_dtype(c, a, want)) want = DT_NONE;
    for (size_t i = 0; i < sig->nprop; i++) {
        const PropDef *def = &sig->prop[i];
        bool dtype = a->op->creates && def->type == T_DTYPE;
        p[i] = def->value;
        if (a->has_prop[i]) {
            if (!node_prop(c, a->op, def, &a->prop[i], &p[i])) return false;
        } else if (dtype && want != DT_NONE && p[i].kind == P_NONE) {
            if (!check_receiver_takes(c, a, want)) return false;
            p[i] = PROP_DTYPE(want);
        } else {
            continue;
        }
        any = true;
        if (dtype && p[i].kind == P_DTYPE) *creates = (DType)p[i].i;
    }
    if (a->op->def ||
        (a->op->bounds && *creates != DT_NONE && dtype_is_integer(*creates)))
        *creates = DT_NONE; /* of what a definition computes, only the result is cast */
    if (any) *props = props_intern(c->s, sig->nprop, p);
    return true;
}

/* ---- inputs ---- */

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

static bool input_default(Compiler *c, const Param *p, Node *out) {
    Texts *t = texts(c->s);
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

/* Fills inputs that are given, or that have a default and precede one that is given. */
static bool fill_inputs(Compiler *c, CallArgs *a, size_t *n) {
    size_t fixed = signature_fixed(a->sig);
    *n = fixed;
    if (!a->nrest) /* op_apply adds trailing defaults */
        while (*n > a->sig->min_in && !a->has_in[*n - 1])
            --*n;
    for (size_t i = 0; i < *n; i++) {
        if (a->has_in[i]) continue;
        if (!a->sig->in[i].value)
            return fail_op_call(c, a, a->at, E_ARITY,
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

static bool coerce_call_inputs(Compiler *c, CallArgs *a, DType creates, size_t nfixed,
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

static bool compile_op_call(Compiler *c, const Op *op, const Ast *e, const Node *self,
                            DType want, Node *out) {
    const Signature *sig = op_signature(c->s, op);
    CallArgs a = {.op = op, .sig = sig, .at = e->at};
    a.in = arena_alloc(c->tmp, (sig->nin + sig->nprop + 1) * sizeof *a.in);
    a.prop = a.in + sig->nin;
    a.has_in = NEW_N(c->tmp, sig->nin + sig->nprop + 1, bool);
    a.has_prop = a.has_in + sig->nin;
    const Props *props;
    DType creates;
    size_t nfixed;
    if (!match_arguments(c, e, self, &a)) return false;
    if (c->env && c->env->lines) text_lines_where(op, sig->nin, a.in);
    if (!read_call_props(c, &a, want, &props, &creates) ||
        !fill_inputs(c, &a, &nfixed) || !node_weak_as_itypes(c, op, nfixed, a.in))
        return false;
    size_t nin = nfixed + a.nrest;
    Var *in = arena_alloc(c->tmp, (nin + 1) * sizeof *in);
    DType floatX = compiler_weak_floatX(c, op, a.nrest ? 0 : nin, a.in);
    bool ok = coerce_call_inputs(c, &a, creates, nfixed, nin, in) &&
              compiler_evaluate_or_apply(c, op, props, (VarList){nin, in}, e->at, out);
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
    is = false;
    if (c->env && c->env->lines && !text_lines_name(c, e->sym, &is, &f)) return false;
    if (fn || ((is || lookup_called(c, e, &f)) && f.kind == NODE_FUNCTION))
        return call_function_node(c, e, self != NULL, &f, self, out);
    const Op *text = NULL;
    if (services(c->s)->text_op && !services(c->s)->text_op(c->s, name, &text))
        return false;
    if (text) return compile_op_call(c, text, e, self, want, out);
    return compiler_fail_function(c, e);
}
