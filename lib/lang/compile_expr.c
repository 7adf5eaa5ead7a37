/* Compiles an expression to a node. Chains of operators, calls and attributes are
 * processed bottom up in a loop; recursion is limited to what the parser's limit
 * bounds. */
#include "lang/compile_impl.h"
#include "op/services.h"
#include "type/word.h"

#include <string.h>

enum { CHAIN = 16, WORK_MAX = 1 << 24 };
/* x.shape before we know which of its dims are needed: never leaves compile(). */
#define NODE_SHAPE ((NodeKind)100)

/* ---- operators ---- */

static const char *const infixes[INFIX_N] = {
    "+",  "-",  "*", "/",  "//", "%",  "**", "@",  "&", "|", "^",
    "<<", ">>", "<", "<=", ">",  ">=", "==", "!=", "-", "+", "~"};

const char *infix_text(Infix k) {
    return infixes[k];
}

Infix infix_of(const char *op, bool unary) {
    for (int k = unary ? IN_NEG : 0; k < INFIX_N; k++)
        if (infixes[k][0] == op[0] && infixes[k][1] == op[1]) return (Infix)k;
    bug("no operator %s", op);
}

/* Looks through the operators of the catalogue once per session. */
static void find_infixes(Session *s, TextCache *t) {
    const Op *op;
    for (size_t i = 0; (op = op_operator(s, i)); i++) {
        bool unary = op_signature(s, op)->nin == 1;
        for (int k = unary ? IN_NEG : 0; k < (unary ? INFIX_N : IN_NEG); k++)
            if (strcmp(infixes[k], op->infix) == 0 && !t->infix[k]) t->infix[k] = op;
    }
    t->looked = true;
}

const Op *infix_op(Session *s, Infix k) {
    TextCache *t = text_cache(s);
    if (!t->looked) find_infixes(s, t);
    return t->infix[k];
}

static bool all_literal(size_t n, const Node *arg) {
    return arg[0].kind == NODE_LITERAL && (n < 2 || arg[1].kind == NODE_LITERAL);
}

static bool concatenate_lists(Compiler *c, Span at, const Node *a, const Node *b,
                              Node *out) {
    size_t n = a->n + b->n;
    Node *item = arena_alloc(c->nodes, n * sizeof *item);
    if (a->n) memcpy(item, a->item, a->n * sizeof *item);
    if (b->n) memcpy(item + a->n, b->item, b->n * sizeof *item);
    return node_tree(c, n, item, NULL, at, out);
}

static bool is_named_thing(const Node *n) {
    return n->kind == NODE_DTYPE || n->kind == NODE_STRING || n->kind == NODE_NONE;
}

static DType dtype_of_node(const Compiler *c, const Node *n) {
    const char *text = n->kind == NODE_STRING ? sym_text(c->s, n->sym) : "";
    return n->kind == NODE_DTYPE ? n->dtype : dtype_find(text, strlen(text));
}

/* x.dtype == float32, or == 'float32'; texts and None of props. */
static Literal compare_names(const Compiler *c, Infix k, const Node *arg) {
    bool dtypes = arg[0].kind == NODE_DTYPE || arg[1].kind == NODE_DTYPE,
         same = dtypes ? dtype_of_node(c, &arg[0]) == dtype_of_node(c, &arg[1])
                       : arg[0].kind == arg[1].kind && arg[0].sym == arg[1].sym;
    return (Literal){.kind = K_BOOL, .u = same == (k == IN_EQ)};
}

static bool is_floating(Compiler *c, size_t n, const Node *arg) {
    bool is = false;
    for (size_t i = 0; i < n; i++)
        is |= arg[i].kind == NODE_LITERAL
                  ? arg[i].lit.kind == K_FLOAT
                  : arg[i].kind == NODE_VAR &&
                        dtype_is_float(var_type(c->b->g, arg[i].var)->dtype);
    return is;
}

bool compiler_apply_infix(Compiler *c, Infix k, Span at, size_t n, const Node *arg,
                          Node *out) {
    Literal l;
    Var in[2] = {VAR_NONE, VAR_NONE};
    bool lists = n == 2 && arg[0].kind == NODE_LIST && arg[1].kind == NODE_LIST;
    if (c->env && c->env->lines) {
        bool is, ok = text_lines_sum(c, k, at, n, arg, &is, out);
        if (is || !ok) return ok;
    }
    if (all_literal(n, arg)) {
        bool ok = n == 1 ? literal_unary(c->s, k, at, &arg[0].lit, &l)
                         : literal_binary(c->s, k, at, &arg[0].lit, &arg[1].lit, &l);
        if (ok) *out = node_literal(l, at);
        return ok;
    }
    bool none = n == 2 && (arg[0].kind == NODE_NONE || arg[1].kind == NODE_NONE);
    if ((k == IN_EQ || k == IN_NE) &&
        (none || (is_named_thing(&arg[0]) && is_named_thing(&arg[1])))) {
        *out = node_literal(compare_names(c, k, arg), at);
        return true;
    }
    if (lists && k == IN_ADD && !arg[0].sym && !arg[1].sym)
        return concatenate_lists(c, at, &arg[0], &arg[1], out);
    const Op *op = infix_op(c->s, k);
    if (!op && k == IN_POS) {
        *out = arg[0];
        return true;
    }
    if (!op) return fail(c->s, at, E_NAME, "there is no op for `%s`", infix_text(k));
    DType floatX = compiler_weak_floatX(c, op, n, arg);
    bool ok = compiler_coerce(c, op->promote, DT_NONE, n, arg, in) &&
              compiler_apply_op(c, op, NULL, (VarList){n, in}, at, out);
    if (ok) node_weaken(c, op, n, arg, out);
    if (!ok && (k == IN_AND || k == IN_OR) && is_floating(c, n, arg))
        note(c->s, NOWHERE,
             "comparisons beside it stand in brackets: (a > 0) %s (b < 1)",
             infix_text(k));
    if (!ok && k == IN_XOR) note(c->s, NOWHERE, "a power is `a ** b`, not `a ^ b`");
    c->b->floatX = floatX;
    return ok;
}

static bool is_made_of_weak(const Op *op, size_t n, const Node *arg) {
    if (!op->elemwise || n == 0) return false;
    for (size_t i = 0; i < n; i++)
        if (!node_is_weak(&arg[i])) return false;
    return true;
}

DType compiler_weak_floatX(Compiler *c, const Op *op, size_t n, const Node *arg) {
    DType was = c->b->floatX;
    if (is_made_of_weak(op, n, arg)) c->b->floatX = DT_FLOAT64;
    return was;
}

void node_weaken(const Compiler *c, const Op *op, size_t n, const Node *arg,
                 Node *out) {
    if (op->out_dtype == OUT_PROP || !is_made_of_weak(op, n, arg)) return;
    if (out->kind != NODE_VAR || out->n) return;
    const Type *t = var_type(c->b->g, out->var);
    out->weak = t->kind == TYPE_TENSOR &&
                t->dtype == literal_dtype_of_kind(dtype_kind(t->dtype), c->b->floatX);
}

/* ---- ops ---- */

static bool node_from_outputs(Compiler *c, const Op *op, const Var *r, Span at,
                              Node *out) {
    const Graph *g = c->b->g;
    ApplyId a = var_owner(g, r[0]);
    bool own = a != APPLY_NONE && (op->varies || g->apply[a].op == op);
    size_t n = own ? g->apply[a].nout : op_signature(c->s, op)->nout;
    if (n == 1) {
        *out = node_var(r[0], at);
        return true;
    }
    Node *item = arena_alloc(c->nodes, n * sizeof *item);
    for (size_t i = 0; i < n; i++)
        item[i] = node_var(r[i], at);
    if (op->default_output) { /* `a, b = op(x)` can still take all */
        if (op->default_output > n)
            return fail(c->s, at, E_PLUGIN, "%s has no output %u, only %zu", op->name,
                        op->default_output - 1U, n);
        *out = item[op->default_output - 1U];
        out->item = item;
        out->n = n;
        return true;
    }
    if (!node_tree(c, n, item, NULL, at, out)) return false;
    out->sym = sym(c->s, op->name);
    return true;
}

bool compiler_apply_op(Compiler *c, const Op *op, const Props *props, VarList in,
                       Span at, Node *out) {
    Var r[OUT_MAX];
    Span outer = c->b->from.at;
    if (!c->env) c->b->from.at = at;
    bool ok = op_apply(c->b, op, props, in.n, in.p, r);
    c->b->from.at = outer;
    return ok && node_from_outputs(c, op, r, at, out);
}

static bool apply_unary(Compiler *c, const char *name, Var x, Span at, Node *out) {
    const Op *op = op_find(c->s, name, strlen(name));
    if (!op) return fail(c->s, at, E_NAME, "the op `%s` is missing", name);
    return compiler_apply_op(c, op, NULL, (VarList){1, &x}, at, out);
}

/* ---- attributes ---- */

bool shape_item(Compiler *c, const Node *x, int axis, Span at, Node *out) {
    Dim d = var_type(c->b->g, x->var)->dim[axis];
    if (dim_is_known(d)) {
        *out = node_literal(literal_int(d), at);
        return true;
    }
    *out = node_var(shape_of(c->b, x->var, axis), at);
    out->weak = true;
    return out->var != VAR_NONE;
}

/* The chosen dims of a lazy shape as a list. */
static bool shape_list(Compiler *c, const Node *x, int n, const int *axis, Node *out) {
    Node *item = arena_alloc(c->nodes, (size_t)n * sizeof *item);
    for (int i = 0; i < n; i++)
        if (!shape_item(c, x, axis[i], x->at, &item[i])) return false;
    return node_tree(c, (size_t)n, item, NULL, x->at, out);
}

static bool shape_to_list(Compiler *c, Node *x) {
    int axis[MAX_NDIM], n = var_type(c->b->g, x->var)->ndim;
    for (int i = 0; i < n; i++)
        axis[i] = i;
    Node lazy = *x;
    return shape_list(c, &lazy, n, axis, x);
}

/* x.shape[literal] needs only that dim. */
static bool compile_shape_index(Compiler *c, const Ast *e, Node *x) {
    Node lazy = *x;
    int n = var_type(c->b->g, x->var)->ndim;
    int64_t k;
    Literal l;
    const Ast *i = e->kid[1];
    bool minus = i->kind == AST_UNARY && *i->op == '-';
    if (e->nkid == 2 && literal_of(minus ? i->kid[0] : i, &l) && literal_i64(&l, &k)) {
        if (minus) k = -k;
        if (k < -n || k >= n)
            return fail(c->s, i->at, E_VALUE, "axis %lld of a tensor with %s",
                        (long long)k, str_counted(c->s, (size_t)n, "dim"));
        return shape_item(c, &lazy, (int)(k < 0 ? k + n : k), e->at, x);
    }
    return shape_to_list(c, x) && (lazy = *x, compile_index(c, e, &lazy, x));
}

static bool compile_size(Compiler *c, const Node *x, Span at, Node *out) {
    const Type *t = var_type(c->b->g, x->var);
    *out = node_literal(literal_int(1), at);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < t->ndim; i++) {
            Node pair[2] = {*out};
            if (dim_is_known(t->dim[i]) == (pass == 1)) continue;
            if (!shape_item(c, x, i, at, &pair[1])) return false;
            bool one = pair[0].kind == NODE_LITERAL && pair[0].lit.u == 1;
            if (one && pair[1].kind != NODE_LITERAL)
                *out = pair[1];
            else if (!compiler_apply_infix(c, IN_MUL, at, 2, pair, out))
                return false;
        }
    return true;
}

enum { ATTRIBUTES = 5 };
static const char *const attributes[ATTRIBUTES] = {"T", "shape", "ndim", "size",
                                                   "dtype"};

static size_t find_attribute(const char *name) {
    size_t which = 0;
    while (which < ATTRIBUTES && strcmp(attributes[which], name) != 0)
        which++;
    return which;
}

static bool compile_attribute(Compiler *c, const Ast *e, Node *x) {
    const char *name = sym_text(c->s, e->sym);
    Node v = *x;
    Var var;
    size_t which = find_attribute(name);
    if (which == ATTRIBUTES) {
        Str advice = STR(c->s);
        if (!word_advise(&advice, WORD_ATTRIBUTE, name, attributes, ATTRIBUTES))
            str_puts(&advice, "; the attributes are .T .shape .ndim .size .dtype");
        fail(c->s, e->at, E_NAME, "there is no attribute `.%s`%s", name,
             str_text(&advice));
        str_free(&advice);
        return false;
    }
    if (!compiler_var(c, &v, DT_NONE, &var)) return false;
    const Type *t = var_type(c->b->g, var);
    v = node_var(var, e->at);
    if (t->kind != TYPE_TENSOR && t->kind != TYPE_SPARSE)
        return fail(c->s, e->at, E_TYPE, "`.%s` needs a tensor, not %s", name,
                    type_str(c->s, t));
    switch (which) {
    case 0:
        return apply_unary(c, "transpose", var, e->at, x);
    case 1:
        *x = v;
        x->kind = NODE_SHAPE;
        return true;
    case 2:
        *x = node_literal(literal_int(t->ndim), e->at);
        return true;
    case 3:
        return compile_size(c, &v, e->at, x);
    default:
        *x =
            (Node){.kind = NODE_DTYPE, .at = e->at, .var = VAR_NONE, .dtype = t->dtype};
        return true;
    }
}

/* ---- leaves of chains ---- */

static bool compile_items(Compiler *c, const Ast *e, DType want, Node *out) {
    Node *item = arena_alloc(c->nodes, (e->nkid + 1) * sizeof *item);
    Sym *key = e->kind == AST_DICT ? NEW_N(c->nodes, e->nkid, Sym) : NULL;
    for (size_t i = 0; i < e->nkid; i++) {
        if (key) key[i] = e->kid[i]->sym;
        if (!compile(c, key ? e->kid[i]->kid[0] : e->kid[i], want, &item[i]))
            return false;
    }
    if (!node_tree(c, e->nkid, item, key, e->at, out)) return false;
    out->tuple = e->kind == AST_TUPLE;
    return true;
}

static bool compile_unary(Compiler *c, const Ast *e, DType want, Node *out) {
    Node x;
    return compile(c, e->kid[0], want, &x) &&
           compiler_apply_infix(c, infix_of(e->op, true), e->at, 1, &x, out);
}

static bool fail_misplaced(Compiler *c, const Ast *e) {
    if (e->kind == AST_STARS)
        return fail(c->s, e->at, E_SYNTAX, "`**%s` is only for rewrite rules",
                    sym_text(c->s, e->sym));
    if (e->kind == AST_ELLIPSIS)
        return fail(c->s, e->at, E_SYNTAX,
                    "`...` is only for an index, as in x[..., 0]");
    return fail(c->s, e->at, E_SYNTAX, "a slice is only for an index, as in x[1:]");
}

static bool expr_vanishes(Compiler *c, const Ast *e) {
    return c->env && c->env->lines && text_lines_vanish(c, e);
}

static bool compile_leaf(Compiler *c, const Ast *e, DType want, Node *out) {
    Literal l;
    if (expr_vanishes(c, e)) {
        *out = node_disconnected(e->at);
        return true;
    }
    if (literal_of(e, &l)) {
        *out = node_literal(l, e->at);
        return true;
    }
    switch ((int)e->kind) {
    case AST_NONE:
        *out = (Node){.kind = NODE_NONE, .at = e->at, .var = VAR_NONE};
        return true;
    case AST_STRING:
        *out = (Node){.kind = NODE_STRING, .at = e->at, .var = VAR_NONE, .sym = e->sym};
        return true;
    case AST_NAME:
        return compile_name(c, e, out);
    case AST_UNARY:
        return compile_unary(c, e, want, out);
    case AST_CALL:
        return compile_call(c, e, NULL, want, out);
    case AST_LIST:
    case AST_TUPLE:
    case AST_DICT:
        return compile_items(c, e, want, out);
    case AST_CHAIN:
    case AST_NOT:
    case AST_LOGIC:
    case AST_IF:
        return compile_choice(c, e, want, out);
    case AST_BIND:
        return compile_binding(c, e, out);
    case AST_LAMBDA:
        *out = (Node){.kind = NODE_FUNCTION,
                      .at = e->at,
                      .var = VAR_NONE,
                      .lambda = e,
                      .scope = c->scope};
        return true;
    default:
        return fail_misplaced(c, e);
    }
}

/* ---- chains ---- */

static bool is_declared(Compiler *c, const Ast *name) {
    bool undeclared_become_inputs = c->auto_inputs;
    Node n;
    c->auto_inputs = false;
    bool is = compiler_lookup(c, name->sym, name->at, &n);
    c->auto_inputs = undeclared_become_inputs;
    return is;
}

/* Does a call have more arguments that are no numbers than a method would? */
static bool is_full_without_self(Compiler *c, const Ast *call) {
    const char *name = sym_text(c->s, call->sym);
    if (call->kind != AST_METHOD) return false;
    const Op *op = op_find(c->s, name, strlen(name));
    if (!op && services(c->s)->text_op && !services(c->s)->text_op(c->s, name, &op))
        return false;
    if (!op) return false;
    const Signature *sig = op_signature(c->s, op);
    size_t n = 0;
    for (size_t i = 1; i < call->nkid; i++)
        n += call->kid[i]->kind >= AST_NAME && call->kid[i]->kind != AST_KEYWORD;
    return n > 0 && !sig->nrest && n >= sig->nin;
}

/* Is the name at the end of a chain a module's, as in np.linalg.inv(x)? Short ones may
 * be variables that nobody declared: then only a call that makes no sense as that of a
 * method tells. */
static bool is_module(Compiler *c, const Ast *name, const Ast *last) {
    const char *text = sym_text(c->s, name->sym);
    if (!word_is_module(text) || is_declared(c, name)) return false;
    if (last->kind == AST_ATTR ? find_attribute(sym_text(c->s, last->sym)) < ATTRIBUTES
                               : last->nkid == 1)
        return false;
    bool sure = strlen(text) > 2 || strcmp(text, "np") == 0 ||
                strcmp(text, "tf") == 0 ||
                (last->kind == AST_ATTR && word_is_module(sym_text(c->s, last->sym)));
    return sure || is_full_without_self(c, last);
}

static bool is_dotted(const Ast *e) {
    return e->kind == AST_METHOD || e->kind == AST_ATTR;
}

/* The functions of other systems have their module's name in front: chain[n] is the
 * name, chain[0] the whole. */
static bool fail_module(Compiler *c, size_t n, const Ast **chain) {
    Str prefix = STR(c->s);
    Span at = chain[n]->at;
    str_printf(&prefix, "%s.", sym_text(c->s, chain[n]->sym));
    const Ast *last = chain[--n];
    for (; n > 0 && last->kind == AST_ATTR && is_dotted(chain[n - 1]);
         last = chain[--n]) {
        str_printf(&prefix, "%s.", sym_text(c->s, last->sym));
        at.end = last->at.end;
    }
    const char *name = sym_text(c->s, last->sym);
    bool call = last->kind == AST_METHOD;
    const char *ours = word_synonym(call ? WORD_FUNCTION : WORD_NAME, name);
    if (!ours && !call) ours = word_synonym(WORD_TYPE, name);
    fail(c->s, at, E_NAME,
         "names have no module in front: drop the prefix `%s`: write %s%s",
         str_text(&prefix), ours ? ours : name, call && !ours ? "(...)" : "");
    str_free(&prefix);
    return false;
}

static bool is_chain_link(const Ast *e) {
    return e->kind == AST_BINARY || e->kind == AST_METHOD || e->kind == AST_ATTR ||
           e->kind == AST_INDEX || e->kind == AST_APPLY;
}

static bool is_arithmetic(const Ast *e) {
    return e->kind == AST_BINARY && infix_is_arithmetic(infix_of(e->op, false));
}

static bool compile_binary(Compiler *c, const Ast *e, DType want, Node *x) {
    Infix k = infix_of(e->op, false);
    Node pair[2];
    pair[0] = *x;
    return compile(c, e->kid[1], infix_is_arithmetic(k) ? want : DT_NONE, &pair[1]) &&
           compiler_apply_infix(c, k, e->at, 2, pair, x);
}

/* One step up a chain: replaces *x by e applied to *x. */
static bool compile_link(Compiler *c, const Ast *e, DType want, Node *x) {
    if (x->kind == NODE_SHAPE) {
        if (e->kind == AST_INDEX) return compile_shape_index(c, e, x);
        if (!shape_to_list(c, x)) return false;
    }
    if (e->kind == AST_BINARY) return compile_binary(c, e, want, x);
    Node left = *x;
    switch ((int)e->kind) {
    case AST_METHOD:
        return compile_call(c, e, &left, want, x);
    case AST_ATTR:
        return compile_attribute(c, e, x);
    case AST_INDEX:
        return compile_index(c, e, &left, x);
    default:
        return compile_apply(c, e, &left, x);
    }
}

/* Numbers in a file's text have the receiver's dtype also where they are indexed. */
static bool is_indexed_load(Compiler *c, size_t n, const Ast **chain) {
    for (size_t i = 0; i < n; i++)
        if (chain[i]->kind != AST_INDEX) return false;
    return chain[n]->kind == AST_CALL &&
           strcmp(sym_text(c->s, chain[n]->sym), "load") == 0;
}

/* r_[v, w] of NumPy: a name that is only known elsewhere, with brackets behind it, is
 * no new input. */
static bool fail_indexed_name(Compiler *c, const Ast *name, const Ast *link) {
    const char *text = sym_text(c->s, name->sym);
    if (!c->auto_inputs || link->kind != AST_INDEX || !text[1]) return true;
    const char *ours = word_synonym(WORD_NAME, text);
    if (!ours || !strchr(ours, '(') || is_declared(c, name)) return true;
    return fail(c->s, name->at, E_NAME, "`%s` is not defined: write %s", text, ours);
}

/* add.reduce of NumPy, norm.cdf of SciPy, with or without modules in front: chain[n] is
 * a name that nobody declared. */
static bool fail_member(Compiler *c, size_t n, const Ast **chain) {
    Sym of = chain[n]->sym;
    while (--n > 0 && chain[n]->kind == AST_ATTR && is_dotted(chain[n - 1]))
        of = chain[n]->sym;
    if (!is_dotted(chain[n])) return true;
    Str name = STR(c->s), advice = STR(c->s);
    str_printf(&name, "%s.%s", sym_text(c->s, of), sym_text(c->s, chain[n]->sym));
    bool known = word_advise(&advice, WORD_FUNCTION, str_text(&name), NULL, 0);
    if (known)
        fail(c->s, chain[n]->at, E_NAME, "there is no `%s`%s", str_text(&name),
             str_text(&advice));
    str_free(&name);
    str_free(&advice);
    return !known;
}

static bool compile_chain(Compiler *c, size_t n, const Ast **chain, DType want,
                          Node *out) {
    size_t wanted = 1; /* links at the top that the receiver's dtype reaches */
    while (wanted <= n && is_arithmetic(chain[wanted - 1]))
        wanted++;
    bool typed = false,
         reaches =
             n < wanted || (want != DT_NONE &&
                            is_indexed_load(c, n - (wanted - 1), chain + (wanted - 1)));
    if (n && chain[n]->kind == AST_NAME && !c->env && is_dotted(chain[n - 1])) {
        if (!is_declared(c, chain[n]) && !fail_member(c, n, chain)) return false;
        if (is_module(c, chain[n], chain[n - 1])) return fail_module(c, n, chain);
    }
    if (n && chain[n]->kind == AST_NAME && !c->env &&
        !fail_indexed_name(c, chain[n], chain[n - 1]))
        return false;
    if (n && !compile_typed(c, chain[n - 1], &typed, out)) return false;
    if (typed)
        n--;
    else if (!compile_leaf(c, chain[n], reaches ? want : DT_NONE, out))
        return false;
    for (size_t i = n; i-- > 0;)
        if (!compile_link(c, chain[i], i < wanted ? want : DT_NONE, out)) return false;
    return out->kind != NODE_SHAPE || shape_to_list(c, out);
}

bool compile(Compiler *c, const Ast *e, DType want, Node *out) {
    const Ast *few[CHAIN], **chain = few, *bottom = e;
    size_t n = 0;
    if (c->depth > 0 && ++c->work > WORK_MAX)
        return fail(c->s, e->at, E_LIMIT,
                    "lambdas expand to too many expressions: use named functions");
    for (; is_chain_link(bottom) && !expr_vanishes(c, bottom); bottom = bottom->kid[0])
        n++;
    if (n >= CHAIN) chain = mem_alloc(c->s, (n + 1) * sizeof *chain);
    bottom = e;
    for (size_t i = 0; i <= n; i++) {
        chain[i] = bottom;
        if (i < n) bottom = bottom->kid[0];
    }
    bool ok = compile_chain(c, n, chain, want, out);
    if (chain != few) mem_free(chain);
    return ok;
}
