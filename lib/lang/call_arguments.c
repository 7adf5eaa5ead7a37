/* Matches the arguments of a call with the op's signature: inputs, then props, by
 * position or by name. */
#include "lang/call_impl.h"
#include "op/services.h"
#include "type/word.h"

#include <string.h>

bool call_args_fail(Compiler *c, const CallArgs *a, Span at, DiagCode code,
                    const char *what, const char *name) {
    const Op *op = a->op;
    const char *in = op->in                ? op->in
                     : op_rare(op)->itypes ? op_rare(op)->itypes
                                           : "",
               *props = op->props ? op->props : "";
    fail(c->s, at, code, "%s %s%s%s; its signature is %s(%s%s%s)", op->name, what,
         *name ? " " : "", name, op->name, in, *in && *props ? ", " : "", props);
    const Macro *draw = macro_find(op->name, strlen(op->name));
    if (draw && strstr(draw->signature, "rng"))
        note(c->s, NOWHERE,
             "with rng=STATE or seed=NUMBER it draws random numbers: %s(%s)",
             draw->name, draw->signature);
    return false;
}

bool call_args_put(Compiler *c, CallArgs *a, size_t k, const Node *n) {
    bool prop = k >= a->sig->nin;
    bool *has = prop ? &a->has_prop[k - a->sig->nin] : &a->has_in[k];
    Sym name = prop ? a->sig->prop[k - a->sig->nin].name : a->sig->in[k].name;
    if (*has)
        return call_args_fail(c, a, n->at, E_ARG, "got a second value for the argument",
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

/* searchsorted(a, v, right=True) is PyTorch's spelling of side='right'. */
static bool is_right(Compiler *c, const CallArgs *a, Sym name) {
    return op_is(c->s, a->op, OP_SEARCHSORTED) &&
           strcmp(sym_text(c->s, name), "right") == 0;
}

static bool put_right(Compiler *c, CallArgs *a, const Node *n) {
    Node side = {.kind = NODE_STRING, .at = n->at, .var = VAR_NONE};
    size_t k = a->sig->nin;
    if (n->kind != NODE_LITERAL || n->lit.kind != K_BOOL)
        return fail(c->s, n->at, E_ARG, "right must be True or False");
    while (strcmp(sym_text(c->s, a->sig->prop[k - a->sig->nin].name), "side") != 0)
        k++;
    side.sym = sym(c->s, n->lit.u ? "right" : "left");
    return call_args_put(c, a, k, &side);
}

const char *call_argument_synonym(Session *s, const char *of, const char *name) {
    Str own = STR(s);
    str_printf(&own, "%s.%s", of, name);
    const char *ours = word_synonym(WORD_ARGUMENT, str_text(&own));
    str_free(&own);
    return ours ? ours : word_synonym(WORD_ARGUMENT, name);
}

bool call_args_advise(Compiler *c, const CallArgs *a, const char *name) {
    const char *ours = call_argument_synonym(c->s, a->op->name, name);
    if (ours && signature_has_name(a->sig, sym(c->s, ours)))
        note(c->s, NOWHERE, "here it is `%s=`", ours);
    else if (ours && strchr(ours, '('))
        note(c->s, NOWHERE, "do it in the expression, as in `%s`", ours);
    return false;
}

static bool put_keyword(Compiler *c, CallArgs *a, Sym name, const Node *n) {
    if (is_right(c, a, name)) return put_right(c, a, n);
    if (!call_foreign_keyword(c, a, &name)) return true;
    for (size_t i = 0; i < a->sig->nin; i++)
        if (a->sig->in[i].name == name) return call_args_put(c, a, i, n);
    for (size_t i = 0; i < a->sig->nprop; i++)
        if (a->sig->prop[i].name == name)
            return call_args_put(c, a, a->sig->nin + i, n);
    call_args_fail(c, a, n->at, E_ARG, "has no argument", sym_text(c->s, name));
    return call_args_advise(c, a, sym_text(c->s, name));
}

/* An op of the library, in C or as text; *op NULL: a user's has its name. False: there
 * is no memory. */
static bool shipped_op(Compiler *c, const char *name, const Op **op) {
    *op = op_find(c->s, name, strlen(name));
    if (!*op && services(c->s)->text_op && !services(c->s)->text_op(c->s, name, op))
        return false;
    if (*op && !(*op)->yields && (*op)->body) *op = NULL;
    return true;
}

/* Has a call more arguments by position than a signature without props has inputs? */
static bool has_more_positions(const Signature *sig, const Ast *e) {
    size_t n = 0;
    while (n < e->nkid && e->kid[n]->kind != AST_KEYWORD &&
           e->kid[n]->kind != AST_STARS)
        n++;
    return sig->nprop == 0 && !sig->nrest && n > sig->nin;
}

/* Has it a keyword that `own` lacks and, unless that is NULL, `theirs` has? */
static bool has_other_keyword(const Signature *own, const Signature *theirs,
                              const Ast *e) {
    for (size_t i = e->nkid; i-- > 0;)
        if (e->kid[i]->kind == AST_KEYWORD &&
            !signature_has_name(own, e->kid[i]->sym) &&
            (!theirs || signature_has_name(theirs, e->kid[i]->sym)))
            return true;
    return false;
}

bool call_op_of_keywords(Compiler *c, const Ast *e, const Op **op) {
    const Signature *own = op_signature(c->s, *op);
    const Op *other;
    bool more = has_more_positions(own, e);
    if (!op_rare(*op)->keywords || !(more || has_other_keyword(own, NULL, e)))
        return true;
    if (!shipped_op(c, op_rare(*op)->keywords, &other)) return false;
    if (other && (more || has_other_keyword(own, op_signature(c->s, other), e)))
        *op = other;
    return true;
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

/* sum(x, 1, True) is PyTorch's spelling of keepdims=True. */
static bool is_keepdims(Compiler *c, const CallArgs *a, size_t k, const Node *arg) {
    return k >= a->sig->nin && a->sig->prop[k - a->sig->nin].type == T_DTYPE &&
           arg->kind == NODE_LITERAL && arg->lit.kind == K_BOOL &&
           signature_has_name(a->sig, sym(c->s, "keepdims"));
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
    if (fixed > a->npositional) fixed = a->npositional;
    bool text = has_leading_text(a, n, arg);
    if (text) {
        if (!call_args_put(c, a, a->sig->nin, arg)) return false;
        arg++;
        n--;
    }
    for (; i < n && i < fixed && !is_text_for_prop(a, i, &arg[i]); i++)
        if (!call_args_put(c, a, i, &arg[i])) return false;
    if (i == n) return true;
    size_t next = a->sig->nin;
    if (i == fixed && a->sig->nrest == 1) {
        bool list = !text && is_whole_rest(a, &arg[i], n - i);
        a->rest = list ? arg[i].item : &arg[i];
        a->nrest = list ? arg[i].n : n - i;
        a->has_in[fixed] = true;
        i = list ? i + 1 : n;
    }
    for (; i < n; i++, next++) {
        if (next >= a->sig->nin + a->sig->nprop) {
            call_args_fail(c, a, arg[i].at, E_ARITY, "got too many arguments", "");
            return note_loose_ints(c, a, n, arg) || call_args_advise(c, a, "(more)");
        }
        if (is_keepdims(c, a, next, &arg[i])) {
            call_args_fail(c, a, arg[i].at, E_ARG, "takes a dtype here, not", "a bool");
            return note(c->s, NOWHERE, "write keepdims= for it"), false;
        }
        if (is_loose_int(a, next, &arg[i])) {
            call_args_fail(c, a, arg[i].at, E_ARITY, "takes one argument as its",
                           name_of_list(c->s, a, next));
            return note_loose_ints(c, a, n, arg);
        }
        if (!call_args_put(c, a, next, &arg[i])) return false;
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
            return call_args_fail(c, a, a->at, E_ARITY, "needs the argument", name);
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

/* clip(x, min=0) and clip(x, None, 1): with one bound it is maximum or minimum. */
static bool take_one_bound(Compiler *c, CallArgs *a) {
    bool bound[2];
    if (!op_is(c->s, a->op, OP_CLIP) || !a->has_in[0]) return true;
    for (int i = 0; i < 2; i++)
        bound[i] = a->has_in[1 + i] && a->in[1 + i].kind != NODE_NONE;
    if (bound[0] && bound[1]) return true;
    if (!bound[0] && !bound[1])
        return fail(c->s, a->at, E_ARITY, "clip needs a bound, min or max");
    if (bound[1]) a->in[1] = a->in[2];
    a->has_in[1] = true;
    a->op = op_named(c->s, bound[0] ? "maximum" : "minimum");
    a->sig = op_signature(c->s, a->op);
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
        bool may_lack = sig->in[i].optional || sig->in[i].value;
        if (may_lack && a->has_in[i] && a->in[i].kind == NODE_NONE)
            a->has_in[i] = false;
        if (!a->has_in[i] && i < sig->min_in)
            return call_args_fail(c, a, a->at, E_ARITY, "needs the argument",
                                  sym_text(c->s, sig->in[i].name));
    }
    if (sig->nrest > 1 && !gather_lists(c, a)) return false;
    for (size_t i = 0; i < sig->nprop; i++)
        if (!a->has_prop[i] && sig->prop[i].required)
            return call_args_fail(c, a, a->at, E_ARITY, "needs the argument",
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

bool call_args_match(Compiler *c, const Ast *e, const Node *self, CallArgs *a) {
    size_t first = e->kind == AST_METHOD, npos = 0;
    Node *arg = arena_alloc(c->tmp, (e->nkid + 2) * sizeof *arg);
    if (self) arg[npos++] = *self;
    size_t i = first;
    for (;
         i < e->nkid && e->kid[i]->kind != AST_KEYWORD && e->kid[i]->kind != AST_STARS;
         i++)
        if (!compile(c, e->kid[i], DT_NONE, &arg[npos++])) return false;
    if (self && !gather_rest_ints(c, a, &npos, arg)) return false;
    Positional given = {npos, arg, self != NULL};
    if (!call_args_foreign(c, a, &given) || !put_positional(c, a, given.n, arg))
        return false;
    for (; i < e->nkid; i++) {
        Node n;
        if (e->kid[i]->kind == AST_STARS) return compile(c, e->kid[i], DT_NONE, &n);
        if (!compile(c, e->kid[i]->kid[0], DT_NONE, &n)) return false;
        n.at = e->kid[i]->at;
        if (!put_keyword(c, a, e->kid[i]->sym, &n)) return false;
    }
    return take_one_bound(c, a) && call_args_check(c, a) && check_required_given(c, a);
}
