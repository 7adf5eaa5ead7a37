/* Evaluates formulas over numbers: costs of ops, assertions. Values are doubles and
 * shapes; the syntax is the language's, without a graph. Chains of operators are loops,
 * as in the compiler. */
#include "lang/compile_impl.h"

#include <math.h>
#include <string.h>

enum { CHAIN = 16 };
typedef struct Formula {
    Session *s;
    FormulaLookup *look;
    void *ctx;
    Arena *tmp;
} Formula;

static bool eval_expr(Formula *f, const Ast *e, FormulaValue *v);

static bool fail_number(Formula *f, const Ast *e) {
    return fail(f->s, e->at, E_TYPE, "a number is expected in a formula");
}

static bool eval_number(Formula *f, const Ast *e, double *v) {
    FormulaValue r;
    if (!eval_expr(f, e, &r)) return false;
    *v = r.number;
    return !r.is_shape || fail_number(f, e);
}

static double shape_product(const FormulaValue *v) {
    double r = 1;
    for (int i = 0; i < v->ndim; i++)
        r *= (double)v->shape[i];
    return r;
}

/* ---- operators ---- */

bool formula_binary(const char *op, double a, double b, double *v) {
    switch ((int)infix_of(op, false)) {
    case IN_ADD:
        *v = a + b;
        return true;
    case IN_SUB:
        *v = a - b;
        return true;
    case IN_MUL:
        *v = a * b;
        return true;
    case IN_DIV:
        *v = a / b;
        return true;
    case IN_FLOORDIV:
        *v = floor(a / b);
        return true;
    case IN_MOD:
        *v = a - b * floor(a / b);
        return true;
    case IN_POW:
        *v = pow(a, b);
        return true;
    case IN_AND:
        *v = a != 0 && b != 0;
        return true;
    case IN_OR:
        *v = a != 0 || b != 0;
        return true;
    case IN_LT:
        *v = a < b;
        return true;
    case IN_LE:
        *v = a <= b;
        return true;
    case IN_GT:
        *v = a > b;
        return true;
    case IN_GE:
        *v = a >= b;
        return true;
    case IN_EQ:
        *v = a == b;
        return true;
    case IN_NE:
        *v = a != b;
        return true;
    default:
        return false;
    }
}

double formula_unary(const char *op, double a) {
    Infix k = infix_of(op, true);
    return k == IN_NEG ? -a : k == IN_INVERT ? a == 0 : a;
}

static bool eval_unary(Formula *f, const Ast *e, FormulaValue *v) {
    if (!eval_number(f, e->kid[0], &v->number)) return false;
    v->number = formula_unary(e->op, v->number);
    return true;
}

/* ---- functions ---- */

typedef enum FormulaFn {
    FN_MAX,
    FN_MIN,
    FN_PROD,
    FN_SUM,
    FN_ABS,
    FN_SQRT,
    FN_LOG2,
    FN_FLOOR,
    FN_CEIL,
    FN_N
} FormulaFn;

static double apply_fn1(FormulaFn k, double x) {
    switch ((int)k) {
    case FN_ABS:
        return fabs(x);
    case FN_SQRT:
        return sqrt(x);
    case FN_LOG2:
        return log2(x);
    case FN_FLOOR:
        return floor(x);
    case FN_CEIL:
        return ceil(x);
    default:
        return x;
    }
}

static double apply_fn2(FormulaFn k, double a, double b) {
    switch ((int)k) {
    case FN_MAX:
        return a > b ? a : b;
    case FN_MIN:
        return a < b ? a : b;
    case FN_PROD:
        return a * b;
    default:
        return a + b;
    }
}

/* Adds an argument's numbers to the result of a variadic function. */
static void accumulate_argument(FormulaFn k, const FormulaValue *v, bool *first,
                                double *r) {
    int n = v->is_shape ? v->ndim : 1;
    for (int i = 0; i < n; i++) {
        double x = v->is_shape ? (double)v->shape[i] : v->number;
        *r = *first ? x : apply_fn2(k, *r, x);
        *first = false;
    }
}

static int find_fn(const char *name) {
    static const char *const names[FN_N] = {"max",  "min",  "prod",  "sum", "abs",
                                            "sqrt", "log2", "floor", "ceil"};
    int k = 0;
    while (k < FN_N && strcmp(names[k], name) != 0)
        k++;
    return k;
}

bool formula_gather(const char *name, bool first, double x, double *r) {
    int k = find_fn(name);
    if (k == FN_N || (k >= FN_ABS && !first)) return false;
    *r = first ? apply_fn1((FormulaFn)k, x) : apply_fn2((FormulaFn)k, *r, x);
    return true;
}

static bool eval_call(Formula *f, const Ast *e, FormulaValue *v) {
    const char *name = sym_text(f->s, e->sym);
    int k = find_fn(name);
    if (k == FN_N)
        return fail(f->s, e->at, E_NAME, "there is no function `%s` in formulas", name);
    bool first = true, single = k >= FN_ABS;
    double r = k == FN_PROD;
    if (e->nkid == 0 || (single && e->nkid != 1))
        return fail(f->s, e->at, E_ARITY, "%s takes %s", name,
                    single ? "one argument" : "arguments");
    for (size_t i = 0; i < e->nkid; i++) {
        FormulaValue x;
        if (!eval_expr(f, e->kid[i], &x)) return false;
        if (single && x.is_shape) return fail_number(f, e->kid[i]);
        accumulate_argument((FormulaFn)k, &x, &first, &r);
    }
    v->number = apply_fn1((FormulaFn)k, r);
    return true;
}

/* ---- shapes ---- */

static bool eval_attribute(Formula *f, const Ast *e, FormulaValue *v) {
    const char *name = sym_text(f->s, e->sym);
    FormulaValue x = *v;
    if (strcmp(name, "shape") == 0 && x.is_shape) return true;
    *v = (FormulaValue){.number =
                            strcmp(name, "ndim") == 0 ? x.ndim : shape_product(&x)};
    if (!x.is_shape) v->number = strcmp(name, "size") == 0;
    if (strcmp(name, "ndim") == 0 || strcmp(name, "size") == 0) return true;
    return fail(f->s, e->at, E_NAME,
                "there are .shape .ndim .size in formulas, not `.%s`", name);
}

static bool eval_bound(Formula *f, const Ast *e, int n, int *v) {
    double d;
    if (!e || e->kind == AST_NONE) return true;
    if (!eval_number(f, e, &d)) return false;
    if (d < 0) d += n;
    *v = d < 0 ? 0 : d > n ? n : (int)d;
    return true;
}

static bool eval_shape_index(Formula *f, const Ast *e, FormulaValue *v) {
    double d;
    const Ast *i = e->kid[1];
    if (!v->is_shape || e->nkid != 2)
        return fail(f->s, e->at, E_TYPE,
                    "only a shape is indexed in a formula, with one index");
    if (i->kind == AST_SLICE) {
        int from = 0, to = v->ndim;
        if (i->kid[2])
            return fail(f->s, i->at, E_SYNTAX, "a slice of a shape has no step");
        if (!eval_bound(f, i->kid[0], v->ndim, &from) ||
            !eval_bound(f, i->kid[1], v->ndim, &to))
            return false;
        v->shape += from;
        v->ndim = to > from ? to - from : 0;
        return true;
    }
    if (!eval_number(f, i, &d)) return false;
    if (d < 0) d += v->ndim;
    if (!(d >= 0 && d < v->ndim) || d != floor(d))
        return fail(f->s, i->at, E_VALUE,
                    "the index is out of range of a shape with %s",
                    str_counted(f->s, (size_t)v->ndim, "dim"));
    *v = (FormulaValue){.number = (double)v->shape[(int)d]};
    return true;
}

/* ---- walking ---- */

static bool eval_list(Formula *f, const Ast *e, FormulaValue *v) {
    int64_t *shape = arena_alloc(f->tmp, (e->nkid + 1) * sizeof *shape);
    *v = (FormulaValue){.is_shape = true, .ndim = (int)e->nkid, .shape = shape};
    for (size_t i = 0; i < e->nkid; i++) {
        double d;
        if (!eval_number(f, e->kid[i], &d)) return false;
        if (!(fabs(d) < 0x1p62)) return fail_number(f, e->kid[i]);
        shape[i] = (int64_t)d;
    }
    return true;
}

static bool eval_leaf(Formula *f, const Ast *e, FormulaValue *v) {
    *v = (FormulaValue){.number = e->v};
    switch ((int)e->kind) {
    case AST_INT:
    case AST_BOOL:
        v->number = (double)e->u;
        return true;
    case AST_FLOAT:
        return true;
    case AST_STRING: /* equal iff the texts are */
        v->number = (double)e->sym;
        return true;
    case AST_NAME:
        return f->look(f->ctx, e->sym, v) ||
               fail(f->s, e->at, E_NAME, "`%s` is not known in this formula",
                    sym_text(f->s, e->sym));
    case AST_UNARY:
        return eval_unary(f, e, v);
    case AST_CALL:
        return eval_call(f, e, v);
    case AST_LIST:
    case AST_TUPLE:
        return eval_list(f, e, v);
    default:
        return fail(
            f->s, e->at, E_SYNTAX,
            "this is not for formulas: there are numbers, names, shapes and operators");
    }
}

static bool is_formula_link(const Ast *e) {
    return e->kind == AST_BINARY || e->kind == AST_ATTR || e->kind == AST_INDEX;
}

static bool eval_link(Formula *f, const Ast *e, FormulaValue *v) {
    double b;
    if (e->kind == AST_ATTR) return eval_attribute(f, e, v);
    if (e->kind == AST_INDEX) return eval_shape_index(f, e, v);
    if (v->is_shape) return fail_number(f, e->kid[0]);
    return eval_number(f, e->kid[1], &b) &&
           (formula_binary(e->op, v->number, b, &v->number) ||
            fail(f->s, e->at, E_SYNTAX, "`%s` is not for formulas", e->op));
}

static bool eval_expr(Formula *f, const Ast *e, FormulaValue *v) {
    const Ast *few[CHAIN], **chain = few, *bottom = e;
    size_t n = 0;
    for (; is_formula_link(bottom); bottom = bottom->kid[0])
        n++;
    if (n > CHAIN) chain = mem_alloc(f->s, n * sizeof *chain);
    bottom = e;
    for (size_t i = 0; i < n; i++, bottom = bottom->kid[0])
        chain[i] = bottom;
    bool ok = eval_leaf(f, bottom, v);
    for (size_t i = n; ok && i-- > 0;)
        ok = eval_link(f, chain[i], v);
    if (chain != few) mem_free(chain);
    return ok;
}

static bool eval_formula(Session *s, const Ast *e, Arena *tmp, FormulaLookup *look,
                         void *ctx, double *v) {
    Formula f = {s, look, ctx, tmp};
    return eval_number(&f, e, v);
}

bool formula(Session *s, const char *text, FormulaLookup *look, void *ctx, double *v) {
    Texts *t = texts(s);
    const Ast *e = text_ast(s, t, text, NULL);
    if (t->depth == 0) arena_reset(t->tmp);
    return e && eval_formula(s, e, t->tmp, look, ctx, v);
}

bool formula_span(Session *s, Span text, FormulaLookup *look, void *ctx, double *v) {
    Arena *a = arena_new(s);
    const Ast *e = ast_parse(s, a, text);
    bool ok = e && eval_formula(s, e, a, look, ctx, v);
    arena_free(a);
    return ok;
}
