/* Compiles syntax trees to patterns. Both sides of a rule become small trees of holes,
 * literals and Applies with the props that are mentioned. The parser limits the nesting
 * of a rule's text, and with it the recursion here. */
#include "rewrite/rewrite_impl.h"

#include <string.h>

typedef struct PatternCompiler {
    Rule *r;
    Arena *a;
    bool rhs;
} PatternCompiler;

static const Pat *compile_pattern(PatternCompiler *c, const Ast *e);

static Pat *new_pat(PatternCompiler *c, PatKind kind, const Ast *e) {
    Pat *p = NEW(c->a, Pat);
    p->kind = kind;
    p->at = e->at;
    p->rest = -1;
    return p;
}

static const char *sym_name(PatternCompiler *c, Sym y) {
    return sym_text(c->r->s, y);
}

/* ---- holes ---- */

static int find_hole(const Rule *r, Sym name) {
    for (size_t i = 0; i < r->nhole; i++)
        if (r->hole[i] == name) return (int)i;
    return -1;
}

/* The number of a hole. A name missing from the left side is an error on the right. */
static int number_hole(PatternCompiler *c, Sym name, Span at) {
    int i = find_hole(c->r, name);
    if (i >= 0) return i;
    if (c->rhs) {
        fail(c->r->s, at, E_REWRITE, "%s does not occur in the left side of rule %s",
             sym_name(c, name), c->r->name);
        return -1;
    }
    if (c->r->nhole == HOLE_MAX) {
        fail(c->r->s, at, E_LIMIT, "rule %s has more than %d names", c->r->name,
             HOLE_MAX);
        return -1;
    }
    c->r->hole[c->r->nhole] = name;
    return (int)c->r->nhole++;
}

static const Pat *compile_hole(PatternCompiler *c, const Ast *e) {
    int i = number_hole(c, e->sym, e->at);
    if (i < 0) return NULL;
    if (c->r->prop_hole[i] || c->r->rest_hole[i]) {
        fail(c->r->s, e->at, E_REWRITE, "%s is a parameter, not a variable",
             sym_name(c, e->sym));
        return NULL;
    }
    Pat *p = new_pat(c, PAT_HOLE, e);
    p->hole = (uint16_t)i;
    return p;
}

/* ---- literals ---- */

static bool is_literal_ast(const Ast *e) {
    return e->kind == AST_INT || e->kind == AST_FLOAT || e->kind == AST_IMAG ||
           e->kind == AST_BOOL;
}

static const Pat *compile_literal(PatternCompiler *c, const Ast *e, bool negative) {
    Pat *p = new_pat(c, PAT_LITERAL, e);
    double sign = negative ? -1 : 1;
    p->negative = negative;
    p->u = e->u;
    p->lit = e->kind == AST_BOOL   ? K_BOOL
             : e->kind == AST_INT  ? K_INT
             : e->kind == AST_IMAG ? K_COMPLEX
                                   : K_FLOAT;
    double v = e->kind == AST_INT || e->kind == AST_BOOL ? (double)e->u : e->v;
    *(e->kind == AST_IMAG ? &p->im : &p->re) = sign * v;
    if (e->kind == AST_INT && e->u == 0) p->re = 0; /* there is no integer -0 */
    return p;
}

/* ---- props ---- */

static bool fail_rule_prop(PatternCompiler *c, const Ast *e, const char *what) {
    return fail(c->r->s, e->at, E_REWRITE, "a parameter in a rule must be %s", what);
}

static bool read_int_literal(const Ast *e, int64_t *v) {
    bool negative = e->kind == AST_UNARY && strcmp(e->op, "-") == 0;
    if (negative) e = e->kid[0];
    if (e->kind != AST_INT || e->u > INT64_MAX) return false;
    *v = negative ? -(int64_t)e->u : (int64_t)e->u;
    return true;
}

static bool read_int_literals(PatternCompiler *c, const Ast *e, Prop *out) {
    int64_t *v = NEW_N(c->a, e->nkid, int64_t);
    for (size_t i = 0; i < e->nkid; i++)
        if (!read_int_literal(e->kid[i], &v[i]))
            return fail_rule_prop(c, e->kid[i], "an integer here");
    *out = PROP_INTS(v, e->nkid);
    return true;
}

static bool compile_int_prop(PatternCompiler *c, const Ast *e, const PropDef *def,
                             Prop *out) {
    int64_t *v = NEW(c->a, int64_t);
    if (!read_int_literal(e, v)) return fail_rule_prop(c, e, "a literal or a name");
    *out = PROP_INT(*v);
    if (def->type == T_AXES || def->type == T_INTS || def->type == T_SIDES)
        *out = PROP_INTS(v, 1);
    if (def->type == T_FLOAT || def->type == T_KEY)
        *out = (Prop){.kind = P_FLOAT, .f = (double)*v};
    return true;
}

static bool read_prop(PatternCompiler *c, const Ast *e, const PropDef *def, Prop *out) {
    if (e->kind == AST_NONE) return *out = (Prop){.kind = P_NONE}, true;
    if (e->kind == AST_BOOL) return *out = PROP_BOOL((int64_t)e->u), true;
    if (e->kind == AST_FLOAT) return *out = (Prop){.kind = P_FLOAT, .f = e->v}, true;
    if (e->kind == AST_STRING) return *out = PROP_STR(e->sym), true;
    if (e->kind == AST_TUPLE || e->kind == AST_LIST)
        return read_int_literals(c, e, out);
    return compile_int_prop(c, e, def, out);
}

static bool is_of(PatternCompiler *c, const Ast *e, const PropDef *def, PropKind kind) {
    return prop_is_of(def, kind) ||
           fail(c->r->s, e->at, E_REWRITE, "%s must be %s%s", sym_name(c, def->name),
                prop_wanted(def), prop_or_none(def));
}

static bool compile_prop_value(PatternCompiler *c, const Ast *e, const PropDef *def,
                               Prop *out) {
    if (!read_prop(c, e, def, out)) return false;
    DType d = DT_NONE;
    if (def->type == T_DTYPE && out->kind == P_STR) {
        const char *word = sym_name(c, out->sym);
        d = dtype_find(word, strlen(word));
    }
    if (d != DT_NONE) *out = PROP_DTYPE(d);
    return is_of(c, e, def, out->kind);
}

/* A bare name as a value is a dtype or a hole. */
static bool compile_prop_name(PatternCompiler *c, const Ast *e, const PropDef *def,
                              PatProp *p) {
    const char *word = sym_name(c, e->sym);
    DType d = dtype_find(word, strlen(word));
    if (d != DT_NONE) return p->value = PROP_DTYPE(d), is_of(c, e, def, P_DTYPE);
    int i = number_hole(c, e->sym, e->at);
    if (i < 0) return false;
    c->r->prop_hole[i] = true;
    p->is_hole = true;
    p->hole = (uint16_t)i;
    return true;
}

static bool add_pattern_prop(PatternCompiler *c, Pat *p, size_t index,
                             const Ast *value) {
    const Signature *sig = op_signature(c->r->s, p->op);
    PatProp *more = NEW_N(c->a, p->nprop + 1, PatProp);
    for (size_t i = 0; i < p->nprop; i++)
        more[i] = p->prop[i];
    PatProp *x = &more[p->nprop++];
    x->index = (uint16_t)index;
    p->prop = more;
    return value->kind == AST_NAME
               ? compile_prop_name(c, value, &sig->prop[index], x)
               : compile_prop_value(c, value, &sig->prop[index], &x->value);
}

static bool compile_keyword(PatternCompiler *c, Pat *p, const Ast *e) {
    const Signature *sig = op_signature(c->r->s, p->op);
    for (size_t i = 0; i < sig->nprop; i++)
        if (sig->prop[i].name == e->sym) return add_pattern_prop(c, p, i, e->kid[0]);
    return fail(c->r->s, e->at, E_REWRITE, "%s has no parameter %s", p->op->name,
                sym_name(c, e->sym));
}

static bool compile_stars(PatternCompiler *c, Pat *p, const Ast *e) {
    int i = number_hole(c, e->sym, e->at);
    if (i < 0) return false;
    c->r->rest_hole[i] = true;
    p->rest = i;
    return true;
}

/* ---- calls ---- */

static bool compile_argument(PatternCompiler *c, Pat *p, const Ast *e) {
    const Signature *sig = op_signature(c->r->s, p->op);
    bool rest = sig->nin > 0 && sig->in[sig->nin - 1].rest;
    if (e->kind == AST_KEYWORD) return compile_keyword(c, p, e);
    if (e->kind == AST_STARS) return compile_stars(c, p, e);
    if (!rest && p->nin == sig->nin) {
        size_t index = p->nprop;
        if (index < sig->nprop) return add_pattern_prop(c, p, index, e);
        return fail(c->r->s, e->at, E_REWRITE, "%s takes %s", p->op->name,
                    str_counted(c->r->s, sig->nin, "argument"));
    }
    const Pat *x = compile_pattern(c, e);
    if (!x) return false;
    const Param *param = p->nin < sig->nin ? &sig->in[p->nin] : &sig->in[sig->nin - 1];
    if (x->kind == PAT_HOLE && param->kind == IN_INTS) c->r->ints_hole[x->hole] = true;
    p->in[p->nin++] = x;
    return true;
}

/* Defaults for a pattern without props. On the left, required props must be
 * mentioned. */
static bool fill_default_props(PatternCompiler *c, Pat *p) {
    const Signature *sig = op_signature(c->r->s, p->op);
    if (p->rest >= 0) return true;
    Prop *v = NEW_N(c->a, sig->nprop, Prop);
    for (size_t i = 0; i < sig->nprop; i++) {
        bool mentioned = false;
        for (size_t k = 0; k < p->nprop; k++)
            mentioned |= p->prop[k].index == i;
        if (sig->prop[i].required && !mentioned)
            return fail(c->r->s, p->at, E_REWRITE, "%s needs %s= or **p in a rule",
                        p->op->name, sym_name(c, sig->prop[i].name));
        v[i] = sig->prop[i].value;
    }
    if (p->nprop == 0) p->defaults = props_intern(c->r->s, sig->nprop, v);
    return true;
}

static const Pat *compile_op(PatternCompiler *c, const Ast *e, const Op *op,
                             const Ast *const *arg, size_t narg) {
    Pat *p = new_pat(c, PAT_APPLY, e);
    p->op = op;
    p->op_kind = kind_number(c->r->s, op);
    p->in = NEW_N(c->a, narg, const Pat *);
    if (!c->rhs && (op->def || (op->expand && !op->perform))) {
        fail(c->r->s, e->at, E_REWRITE,
             "%s is an abbreviation, which is never in a graph: write its expansion",
             op->name);
        return NULL;
    }
    for (size_t i = 0; i < narg; i++)
        if (!compile_argument(c, p, arg[i])) return NULL;
    if (p->nin < op_signature(c->r->s, op)->min_in) {
        fail(c->r->s, e->at, E_REWRITE, "%s takes more arguments", op->name);
        return NULL;
    }
    return fill_default_props(c, p) ? p : NULL;
}

static const Pat *compile_call(PatternCompiler *c, const Ast *e) {
    const char *word = sym_name(c, e->sym);
    const Op *op = op_find(c->r->s, word, strlen(word));
    if (!op) {
        fail(c->r->s, e->at, E_NAME, "there is no op %s", word);
        return NULL;
    }
    return compile_op(c, e, op, e->kid, e->nkid);
}

/* The op behind an operator. */
static const Op *infix_op(Session *s, const char *text, size_t nin) {
    static const struct {
        const char *text, *name[2]; /* for one input, for two */
    } table[] = {{"+", {"positive", "add"}},     {"-", {"negative", "subtract"}},
                 {"*", {NULL, "multiply"}},      {"/", {NULL, "true_divide"}},
                 {"//", {NULL, "floor_divide"}}, {"%", {NULL, "remainder"}},
                 {"**", {NULL, "power"}},        {"@", {NULL, "matmul"}},
                 {"~", {"invert", NULL}},        {"&", {NULL, "bitwise_and"}},
                 {"|", {NULL, "bitwise_or"}},    {"^", {NULL, "bitwise_xor"}},
                 {"<<", {NULL, "left_shift"}},   {">>", {NULL, "right_shift"}},
                 {"==", {NULL, "equal"}},        {"!=", {NULL, "not_equal"}},
                 {"<", {NULL, "less"}},          {"<=", {NULL, "less_equal"}},
                 {">", {NULL, "greater"}},       {">=", {NULL, "greater_equal"}}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *name = table[i].name[nin - 1];
        if (strcmp(table[i].text, text) == 0 && name)
            return op_find(s, name, strlen(name));
    }
    return NULL;
}

static const Pat *compile_operator(PatternCompiler *c, const Ast *e) {
    if (e->kind == AST_UNARY && strcmp(e->op, "-") == 0 && is_literal_ast(e->kid[0]))
        return compile_literal(c, e->kid[0], true);
    const Op *op = infix_op(c->r->s, e->op, e->nkid);
    if (op) return compile_op(c, e, op, e->kid, e->nkid);
    fail(c->r->s, e->at, E_NAME, "there is no op for `%s`", e->op);
    return NULL;
}

static const Pat *compile_transpose(PatternCompiler *c, const Ast *e) {
    const Op *op = op_known(c->r->s, OP_TRANSPOSE);
    if (op && strcmp(sym_name(c, e->sym), "T") == 0)
        return compile_op(c, e, op, e->kid, 1);
    fail(c->r->s, e->at, E_REWRITE, "the only attribute in rules is T");
    return NULL;
}

/* The number of outputs, as far as the pattern tells. */
static size_t count_pattern_outputs(PatternCompiler *c, const Pat *p) {
    if (!p->op->varies) return op_signature(c->r->s, p->op)->nout;
    if (op_is(c->r->s, p->op, OP_IFELSE)) return (p->nin - 1) / 2;
    bool counted = op_is(c->r->s, p->op, OP_SPLIT) && p->in[1]->kind == PAT_LITERAL;
    return counted && p->in[1]->u < OUT_MAX ? (size_t)p->in[1]->u : OUT_MAX;
}

/* svd(a)[1]: one output of an op that has several. */
static const Pat *compile_output(PatternCompiler *c, const Ast *e) {
    int64_t out;
    bool call = e->kid[0]->kind == AST_CALL || e->kid[0]->kind == AST_METHOD;
    if (!call || e->nkid != 2 || !read_int_literal(e->kid[1], &out) || out < 0) {
        fail(c->r->s, e->at, E_REWRITE,
             "in a rule an index picks an output of a call, counted from 0");
        return NULL;
    }
    const Pat *of = compile_pattern(c, e->kid[0]);
    if (!of) return NULL;
    size_t n = count_pattern_outputs(c, of);
    if ((size_t)out >= n) {
        fail(c->r->s, e->kid[1]->at, E_REWRITE, "%s has %s%s, counted from 0",
             of->op->name, n == OUT_MAX ? "at most " : "",
             str_counted(c->r->s, n, "output"));
        return NULL;
    }
    Pat *p = arena_copy(c->a, of, sizeof *of);
    p->picks = true;
    p->out = (size_t)out;
    return p;
}

static const Pat *compile_pattern(PatternCompiler *c, const Ast *e) {
    if (is_literal_ast(e)) return compile_literal(c, e, false);
    if (e->kind == AST_NAME) return compile_hole(c, e);
    if (e->kind == AST_UNARY || e->kind == AST_BINARY) return compile_operator(c, e);
    if (e->kind == AST_CALL || e->kind == AST_METHOD) return compile_call(c, e);
    if (e->kind == AST_ATTR) return compile_transpose(c, e);
    if (e->kind == AST_INDEX) return compile_output(c, e);
    fail(c->r->s, e->at, E_REWRITE,
         "a rule consists of names, numbers, operators and calls");
    return NULL;
}

const Pat *pattern_compile(Rule *r, Arena *a, const Ast *e, bool rhs) {
    PatternCompiler c = {r, a, rhs};
    return compile_pattern(&c, e);
}
