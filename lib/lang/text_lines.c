/* TextCache of rows that are several lines, "name = formula when condition, ...", and
 * read like equations in papers. A row's `pullback` defines g_NAME for inputs, from the
 * cotangents g (g_NAME of several outputs); its `pushforward` defines t_NAME for
 * outputs (t_r of a single one), from the inputs' tangents t_NAME; a `def` defines r.
 * Inputs, outputs and props have their own names.
 *
 * A name means the first of its lines whose conditions hold; if none does, what it
 * means in the row, else 0. A formula may be a lambda. Lines are in any order: only
 * those that a wanted result needs are built, each once. Conditions are known when the
 * graph is built.
 *
 * A derivative is linear in its cotangents or tangents, and a disconnected one is 0:
 * what it is multiplied with, solved for or transposed by disappears, and of a sum the
 * rest remains. is_connected(g_x) asks for it where 0 needs another formula, as in a
 * list. A connected input whose gradient disappears gets zeros. */
#include "lang/compile_impl.h"

#include <string.h>

typedef struct TextLines TextLines;
typedef struct TextBlock {
    size_t n;
    const AstCase *line;
    bool partial; /* a name may be 0 though nothing is disconnected */
} TextBlock;

/* A helper of derivatives: a condition (holds), or a text that defines r; where that is
 * only_if something holds of x, r is x itself otherwise. */
struct LineFunction {
    const char *name;
    const char *param[3];
    const char *text;
    bool (*holds)(const Graph *g, Var x), (*only_if)(const Graph *g, Var x);
};

typedef enum LineState { LINE_WAITS, LINE_OPEN, LINE_DONE, LINE_FAILED } LineState;
typedef struct LineValue {
    LineState state, weighed, asked;
    bool holds; /* its conditions, once they were asked */
    bool zero;  /* once it is weighed */
    Node node;  /* once it is done */
} LineValue;
struct TextLines {
    const TextBlock *block;
    LineValue *value;             /* by line */
    bool may_vanish;              /* else nothing in it is 0 */
    const LineFunction *function; /* whose text this is; NULL: a row's */
    const Node *arg;              /* of the function */
};

/* ---- conditions ---- */

static bool is_complex(const Graph *g, Var x) {
    return dtype_is_complex(var_type(g, x)->dtype);
}

static bool is_double(const Graph *g, Var x) {
    return dtype_real(var_type(g, x)->dtype) == DT_FLOAT64;
}

/* Rows and columns of a matrix or a batch of them. */
typedef struct Sides {
    Dim m, n;
    bool known, square; /* both are known; they are the same dim */
} Sides;
static Sides sides_of(const Graph *g, Var a) {
    const Type *t = var_type(g, a);
    Dim m = t->dim[t->ndim - 2], n = t->dim[t->ndim - 1];
    return (Sides){m, n, dim_is_known(m) && dim_is_known(n), m == n && dim_is_named(m)};
}

static bool sides_unknown(const Graph *g, Var a) {
    Sides s = sides_of(g, a);
    return !s.known && !s.square;
}
static bool may_be_tall(const Graph *g, Var a) {
    Sides s = sides_of(g, a);
    return s.known ? s.m > s.n : !s.square;
}
static bool may_be_wide(const Graph *g, Var a) {
    Sides s = sides_of(g, a);
    return s.known ? s.m < s.n : !s.square;
}

/* ---- functions ---- */

static const LineFunction functions[] = {
    {"is_complex", {"x"}, .holds = is_complex},
    {"is_double", {"x"}, .holds = is_double},
    {"is_tall", {"a"}, .holds = may_be_tall}, /* more rows than columns, or unknown */
    {"is_wide", {"a"}, .holds = may_be_wide}, /* more columns, or unknown */
    {"sides_unknown", {"a"}, .holds = sides_unknown},
    /* transposes of matrices: plain; conjugate */
    {"mT", {"x"}, .text = "r = swapaxes(x, -1, -2)"},
    {"mH", {"x"}, .text = "r = cj(mT(x))"},
    {"cj", {"x"}, .text = "r = conj(x)", .only_if = is_complex},
    {"re", {"x"}, .text = "r = real(x)", .only_if = is_complex},
    /* 0 where both are 0: a component without a cotangent must not pick up a pole */
    {"quotient", {"x", "y"}, .text = "r = x / where((y == 0) & (x == 0), 1, y)"},
    /* w_j - w_i, of eigenvalues w; the diagonal of a matrix of them, as flags */
    {"gaps", {"w"}, .text = "r = expand_dims(w, -2) - expand_dims(w, -1)"},
    {"on_diagonal", {"w"}, .text = "r = eye(w.shape[-1], dtype=bool)"},
    /* a vector as a matrix of one column, if b is a vector; and back */
    {"column", {"x", "b"}, .text = "r = expand_dims(x, -1) when b.ndim == 1\nr = x"},
    {"uncolumn", {"x", "b"}, .text = "r = squeeze(x, -1) when b.ndim == 1\nr = x"},
    /* a triangle with half of the diagonal (Murray, Differentiation of the Cholesky
     * decomposition, 2016: Phi) */
    {"half",
     {"x", "lower"},
     .text = "r = tril(x) - 0.5 * triu(tril(x)) when lower\n"
             "r = triu(x) - 0.5 * tril(triu(x))"},
    /* the Hermitian matrix with that triangle of x; the gradient with respect to the
     * triangle, from the gradient x for the whole matrix */
    {"mirror", {"x", "lower"}, .text = "r = half(x, lower) + mH(half(x, lower))"},
    {"fold", {"x", "lower"}, .text = "r = half(x + mH(x), lower)"},
};

static size_t count_params(const LineFunction *f) {
    size_t n = 0;
    while (n < 3 && f->param[n])
        n++;
    return n;
}

static const LineFunction *find_function(const char *name) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0) return &functions[i];
    return NULL;
}

const char *text_lines_function(size_t i) {
    return i < sizeof functions / sizeof *functions ? functions[i].name : NULL;
}

/* ---- lines ---- */

/* Which of a line's targets the name is; the number of targets: none. */
static size_t find_target(const AstCase *line, Sym name) {
    size_t n = line->line->nkid - 1, k = 0;
    while (k < n && line->line->kid[k]->sym != name)
        k++;
    return k;
}

static bool is_target(const AstCase *line, Sym name) {
    return find_target(line, name) < line->line->nkid - 1U;
}

static bool has_line_for_all_cases(const TextBlock *b, Sym name) {
    for (size_t i = 0; i < b->n; i++)
        if (b->line[i].nwhen == 0 && is_target(&b->line[i], name)) return true;
    return false;
}

static bool is_partial(const TextBlock *b) {
    for (size_t i = 0; i < b->n; i++)
        for (size_t k = 0; k + 1 < b->line[i].line->nkid; k++)
            if (!has_line_for_all_cases(b, b->line[i].line->kid[k]->sym)) return true;
    return false;
}

static const TextBlock *text_block(Session *s, const char *text, const Op *op) {
    TextCache *t = text_cache(s);
    uint64_t have;
    if (map_get(&t->block, (uintptr_t)text, &have))
        return (const TextBlock *)(uintptr_t)have;
    size_t n = strlen(text);
    TextBlock *b = NEW(t->arena, TextBlock);
    uint32_t source =
        source_add_at(s, op && op->file ? op->file : "<derivatives>", text, n,
                      op && op->line > 0 ? (uint32_t)op->line : 1, 1);
    if (!ast_parse_cases(s, t->arena, (Span){source, 0, (uint32_t)n}, &b->line, &b->n))
        return NULL;
    b->partial = is_partial(b) || strstr(text, "disconnected");
    map_put(&t->block, (uintptr_t)text, (uintptr_t)b);
    return b;
}

static bool open_lines(Compiler *c, TextLines *l, const char *text, const Op *op) {
    l->block = text_block(c->s, text, op);
    if (!l->block) return false;
    l->value = NEW_N(c->tmp, l->block->n, LineValue);
    l->may_vanish = l->block->partial;
    return true;
}

static const char *block_name(const Compiler *c) {
    const LineFunction *f = c->env->lines->function;
    return f ? f->name : c->env->op->name;
}

static bool is_bound(const Env *env, Sym name) {
    for (size_t i = 0; i < env->n; i++)
        if (env->bind[i].name == name) return true;
    return false;
}

static bool condition_holds(Compiler *c, const Ast *e, bool *yes);

/* x == 'text' or x == None, of a prop. */
static bool prop_equals(Compiler *c, const Ast *e, bool *yes) {
    Node x, y;
    if (!compile(c, e->kid[0], DT_NONE, &x) || !compile(c, e->kid[1], DT_NONE, &y))
        return false;
    *yes = x.kind == y.kind && x.sym == y.sym;
    return true;
}

static bool binary_holds(Compiler *c, const Ast *e, bool *is, bool *yes) {
    AstKind right = e->kid[1]->kind;
    *is = true;
    if (strcmp(e->op, "==") == 0 && (right == AST_STRING || right == AST_NONE))
        return prop_equals(c, e, yes);
    bool both = strcmp(e->op, "&") == 0, either = strcmp(e->op, "|") == 0;
    *is = both || either;
    if (!*is) return true;
    if (!condition_holds(c, e->kid[0], yes)) return false;
    return *yes == either || condition_holds(c, e->kid[1], yes);
}

/* is_connected(g_x): has it a cotangent or tangent? */
static bool asks_connection(const Ast *e, Session *s) {
    return e->kind == AST_CALL && e->nkid == 1 &&
           strcmp(sym_text(s, e->sym), "is_connected") == 0;
}

/* x.ndim == 1, which most conditions of linear algebra are, without compiling it. */
static bool asks_ndim(const Compiler *c, const Ast *e, bool *yes) {
    const Ast *x = e->kind == AST_BINARY ? e->kid[0] : NULL;
    if (!x || strcmp(e->op, "==") != 0 || e->kid[1]->kind != AST_INT ||
        x->kind != AST_ATTR || x->kid[0]->kind != AST_NAME ||
        strcmp(sym_text(c->s, x->sym), "ndim") != 0)
        return false;
    for (size_t i = 0; i < c->env->n; i++) {
        const Bind *b = &c->env->bind[i];
        if (b->name != x->kid[0]->sym || b->var == VAR_NONE) continue;
        *yes = (uint64_t)var_type(c->b->g, b->var)->ndim == e->kid[1]->u;
        return true;
    }
    return false;
}

static bool condition_holds(Compiler *c, const Ast *e, bool *yes) {
    Node n;
    bool is = false;
    if (asks_ndim(c, e, yes)) return true;
    if (asks_connection(e, c->s)) {
        *yes = !text_lines_vanish(c, e->kid[0]);
        return true;
    }
    if (e->kind == AST_UNARY && strcmp(e->op, "~") == 0) {
        if (!condition_holds(c, e->kid[0], yes)) return false;
        *yes = !*yes;
        return true;
    }
    if (e->kind == AST_BINARY && !binary_holds(c, e, &is, yes)) return false;
    if (is) return true;
    if (!compile(c, e, DT_NONE, &n)) return false;
    if (n.kind != NODE_LITERAL || n.lit.kind != K_BOOL)
        bug("a condition in the derivatives of %s isn't known when they are built",
            block_name(c));
    *yes = n.lit.u != 0;
    return true;
}

static bool line_holds(Compiler *c, const AstCase *line, LineValue *v) {
    LambdaScope *scope = c->scope; /* conditions don't see the parameters of a lambda */
    bool ok = true;
    if (v->asked == LINE_DONE) return true;
    v->holds = true;
    c->scope = NULL;
    for (size_t i = 0; ok && v->holds && i < line->nwhen; i++)
        ok = condition_holds(c, line->when[i], &v->holds);
    c->scope = scope;
    if (ok) v->asked = LINE_DONE;
    return ok;
}

/* What a formula gives stays as it is if it can be a prop or is a function; anything
 * else becomes a variable. */
static bool settle_node(Compiler *c, size_t targets, Node *n) {
    bool value = n->kind == NODE_VAR || n->kind == NODE_LIST;
    return !value || targets > 1 || text_node_var(c, n, n);
}

_Noreturn static void fail_cycle(const Compiler *c, const AstCase *line) {
    bug("%s is defined by itself in the derivatives of %s",
        sym_text(c->s, line->line->kid[0]->sym), block_name(c));
}

/* The line that defines the name. *i is the number of lines if none does. *some: there
 * are lines for it. */
static bool find_line(Compiler *c, Sym name, size_t *i, bool *some) {
    const TextBlock *b = c->env->lines->block;
    LineValue *v = c->env->lines->value;
    *some = false;
    for (*i = 0; *i < b->n; ++*i) {
        if (!is_target(&b->line[*i], name)) continue;
        *some = true;
        if (!line_holds(c, &b->line[*i], &v[*i])) return false;
        if (v[*i].holds) break;
    }
    return true;
}

static bool compute_line(Compiler *c, const AstCase *line, LineValue *v) {
    LambdaScope *scope = c->scope;
    size_t targets = line->line->nkid - 1;
    if (v->state == LINE_DONE || v->state == LINE_FAILED) return v->state == LINE_DONE;
    if (v->state == LINE_OPEN) fail_cycle(c, line);
    v->state = LINE_OPEN;
    c->scope = NULL;
    bool ok = compile(c, line->line->kid[targets], DT_NONE, &v->node) &&
              settle_node(c, targets, &v->node);
    c->scope = scope;
    v->state = ok ? LINE_DONE : LINE_FAILED;
    return ok;
}

bool text_lines_name(Compiler *c, Sym name, bool *is, Node *out) {
    TextLines *l = c->env->lines;
    size_t i;
    bool some;
    *is = true;
    if (!find_line(c, name, &i, &some)) return false;
    if (i == l->block->n) {
        *is = some && !is_bound(c->env, name);
        *out = node_disconnected(NOWHERE);
        return true;
    }
    const AstCase *line = &l->block->line[i];
    const Node *v = &l->value[i].node;
    if (!compute_line(c, line, &l->value[i])) return false;
    bool one = line->line->nkid == 2 || v->kind == NODE_DISCONNECTED;
    *out = one ? *v : v->item[find_target(line, name)];
    return true;
}

/* ---- what is 0 ---- */

static bool line_vanishes(Compiler *c, const AstCase *line, LineValue *v) {
    LambdaScope *scope = c->scope;
    if (v->weighed == LINE_DONE) return v->zero;
    if (v->weighed == LINE_OPEN) fail_cycle(c, line);
    v->weighed = LINE_OPEN;
    c->scope = NULL;
    v->zero = text_lines_vanish(c, line->line->kid[line->line->nkid - 1]);
    c->scope = scope;
    v->weighed = LINE_DONE;
    return v->zero;
}

static bool name_vanishes(Compiler *c, const Ast *e) {
    TextLines *l = c->env->lines;
    size_t i;
    bool some;
    Node n;
    if (scope_has_param(c, e->sym) || !find_line(c, e->sym, &i, &some)) return false;
    if (i < l->block->n) return line_vanishes(c, &l->block->line[i], &l->value[i]);
    if (!is_bound(c->env, e->sym))
        return some || strcmp(sym_text(c->s, e->sym), "disconnected") == 0;
    return compiler_lookup(c, e->sym, e->at, &n) && n.kind == NODE_DISCONNECTED;
}

/* where(c, x, y) is linear in both, and literals beside what vanishes are 0. */
static bool where_vanishes(Compiler *c, const Ast *e) {
    Literal l;
    bool x = text_lines_vanish(c, e->kid[1]), y = text_lines_vanish(c, e->kid[2]);
    return (x && y) || (x && literal_of(e->kid[2], &l)) ||
           (y && literal_of(e->kid[1], &l));
}

static bool is_where(const Ast *e, Session *s) {
    return e->kind == AST_CALL && e->nkid == 3 &&
           strcmp(sym_text(s, e->sym), "where") == 0;
}

bool text_lines_vanish(Compiler *c, const Ast *e) {
    bool sum = false; /* does it vanish only if all parts do? */
    if (!c->env->lines->may_vanish) return false;
    switch ((int)e->kind) {
    case AST_NAME:
        return name_vanishes(c, e);
    case AST_LAMBDA:
        return false;
    case AST_INDEX:
    case AST_ATTR:
        return text_lines_vanish(c, e->kid[0]);
    case AST_BINARY:
        sum = strcmp(e->op, "+") == 0 || strcmp(e->op, "-") == 0;
        break;
    case AST_LIST:
    case AST_TUPLE:
        sum = e->nkid > 0;
        break;
    case AST_IF:
        return text_lines_vanish(c, e->kid[1]) && text_lines_vanish(c, e->kid[2]);
    case AST_CALL:
        if (is_where(e, c->s)) return where_vanishes(c, e);
        break;
    }
    for (size_t i = 0; i < e->nkid; i++)
        if (text_lines_vanish(c, e->kid[i]) != sum) return !sum;
    return sum;
}

/* ---- calls of the functions ---- */

static Node literal_flag(bool yes, Span at) {
    return node_literal((Literal){.kind = K_BOOL, .u = yes}, at);
}

static bool apply_line_function(Compiler *c, const LineFunction *f, const Node *arg,
                                Span at, Node *out) {
    if (!f->text) {
        *out = literal_flag(f->holds(c->b->g, arg->var), at);
        return true;
    }
    if (f->only_if && !f->only_if(c->b->g, arg->var)) return *out = *arg, true;
    const Env *env = c->env;
    TextLines l = {.function = f, .arg = arg};
    Env inner = {.lines = &l};
    bool is, ok = open_lines(c, &l, f->text, NULL);
    c->env = &inner;
    ok = ok && text_lines_name(c, text_cache(c->s)->r, &is, out);
    c->env = env;
    return ok;
}

const LineFunction *text_lines_callee(const Compiler *c, const Ast *e) {
    Callee *found = e->callee;
    if (!c->env || !c->env->lines || e->kind != AST_CALL) return NULL;
    if (!found->line_known) found->line = find_function(sym_text(c->s, e->sym));
    found->line_known = true;
    return found->line;
}

bool text_lines_call(Compiler *c, const LineFunction *f, const Ast *e, Node *out) {
    Node arg[3];
    bool in_order = e->nkid == count_params(f);
    for (size_t i = 0; i < e->nkid; i++)
        in_order &= e->kid[i]->kind != AST_KEYWORD;
    if (!in_order)
        bug("in lines of derivatives %s is a function of text_lines.c, whose %zu "
            "arguments have no names",
            f->name, count_params(f));
    for (size_t i = 0; i < e->nkid; i++)
        if (!compile(c, e->kid[i], DT_NONE, &arg[i])) return false;
    return apply_line_function(c, f, arg, e->at, out);
}

bool text_lines_param(const Compiler *c, Sym name, Node *out) {
    const TextLines *l = c->env->lines;
    if (!l->function) return false;
    const char *text = sym_text(c->s, name);
    for (size_t i = 0; i < count_params(l->function); i++)
        if (strcmp(l->function->param[i], text) == 0) return *out = l->arg[i], true;
    return false;
}

/* ---- sums and choices of which a part is 0 ---- */

Node node_disconnected(Span at) {
    return (Node){.kind = NODE_DISCONNECTED, .at = at, .var = VAR_NONE};
}

bool text_lines_sum(Compiler *c, Infix k, Span at, size_t n, const Node *arg, bool *is,
                    Node *out) {
    bool left = arg[0].kind == NODE_DISCONNECTED;
    *is = left || (n == 2 && arg[1].kind == NODE_DISCONNECTED);
    if (*is) *out = arg[left];
    return !*is || !left || k == IN_ADD ||
           compiler_apply_infix(c, IN_NEG, at, 1, &arg[1], out);
}

void text_lines_where(const Op *op, size_t n, Node *arg) {
    for (size_t i = 1; op->promote == PROMOTE_TAIL && i < n; i++)
        if (arg[i].kind == NODE_DISCONNECTED)
            arg[i] = node_literal(literal_int(0), arg[i].at);
}

/* ---- results ---- */

bool text_lines_open(Compiler *c, Builder *b, Env *env, const char *text) {
    text_compiler_open(c, b, env);
    TextLines *l = env->lines = NEW(c->tmp, TextLines);
    if (!open_lines(c, l, text, env->op)) return false;
    for (size_t i = 0; i < env->n; i++)
        l->may_vanish |= env->bind[i].var == VAR_NONE;
    return true;
}

bool text_lines_result(Compiler *c, Sym name, Var *v) {
    Node n;
    bool is;
    *v = VAR_NONE;
    if (!text_lines_name(c, name, &is, &n)) return false;
    if (!is || n.kind == NODE_DISCONNECTED) return true;
    if (!text_node_var(c, &n, &n)) return false;
    *v = n.var;
    return true;
}

Var definition_build(Builder *b, const char *text, const Env *env, bool *ok) {
    if (!strchr(text, '\n')) return template_build(b, text, env, ok);
    Compiler c;
    Env with = *env;
    Var v = VAR_NONE;
    *ok = text_lines_open(&c, b, &with, text) &&
          text_lines_result(&c, text_cache(b->s)->r, &v);
    text_compiler_close(&c);
    return v;
}
