/* Evaluates formulas. Where a part has no value, that is an error, or (lenient) the
 * part is unknown. Chains of operators are loops, as in the compiler. */
#include "lang/formula/formula.h"

#include "lang/compile_impl.h"

#include <math.h>
#include <string.h>

enum { CHAIN = 16 };
typedef struct Formula {
    Session *s;
    Arena *a;
    FormulaLookup *look;
    void *ctx;
    bool lenient;
} Formula;

FormulaValue formula_number(Arena *a, double v) {
    return (FormulaValue){.number = poly_number(a, v)};
}

FormulaValue formula_text(Arena *a, Sym text) {
    return formula_number(a, (double)text);
}

FormulaValue formula_shape(Arena *a, size_t ndim, const int64_t *dim) {
    const Poly **shape = NEW_N(a, ndim, const Poly *);
    for (size_t i = 0; i < ndim; i++)
        shape[i] = poly_number(a, (double)dim[i]);
    return (FormulaValue){.is_shape = true, .ndim = (int)ndim, .shape = shape};
}

static bool eval_expr(Formula *f, const Ast *e, FormulaValue *v);

/* True: an unknown value will do. */
static bool no_value(const Formula *f, FormulaValue *v) {
    *v = (FormulaValue){0};
    return f->lenient;
}

static bool fail_no_number(Formula *f, const Ast *e) {
    return fail(f->s, e->at, E_TYPE, "expected a number in a formula");
}

static bool want_number(Formula *f, const Ast *e, FormulaValue *v) {
    return !v->is_shape || no_value(f, v) || fail_no_number(f, e);
}

static bool eval_number(Formula *f, const Ast *e, FormulaValue *v) {
    return eval_expr(f, e, v) && want_number(f, e, v);
}

/* ---- operators ---- */

static bool apply_operator(Infix k, double a, double b, double *v) {
    switch ((int)k) {
    case IN_ADD:
        return *v = a + b, true;
    case IN_SUB:
        return *v = a - b, true;
    case IN_MUL:
        return *v = a * b, true;
    case IN_DIV:
        return *v = a / b, true;
    case IN_FLOORDIV:
        return *v = floor(a / b), true;
    case IN_MOD:
        return *v = a - b * floor(a / b), true;
    case IN_POW:
        return *v = pow(a, b), true;
    case IN_AND:
        return *v = a != 0 && b != 0, true;
    case IN_OR:
        return *v = a != 0 || b != 0, true;
    case IN_LT:
        return *v = a < b, true;
    case IN_LE:
        return *v = a <= b, true;
    case IN_GT:
        return *v = a > b, true;
    case IN_GE:
        return *v = a >= b, true;
    case IN_EQ:
        return *v = a == b, true;
    case IN_NE:
        return *v = a != b, true;
    default:
        return false;
    }
}

static const Poly *poly_operator(Arena *a, Infix k, const Poly *x, const Poly *y) {
    double n;
    if (k == IN_MUL) return poly_mul(a, x, y);
    if (k == IN_ADD) return poly_add(a, x, y);
    if (k == IN_SUB) return poly_add(a, x, poly_mul(a, poly_number(a, -1), y));
    if (!x || !poly_is_number(y, &n)) return NULL;
    if (k == IN_DIV) return n != 0 ? poly_mul(a, x, poly_number(a, 1 / n)) : NULL;
    return k == IN_POW ? poly_power(a, x, n) : NULL;
}

/* False: there is no such operator in formulas. */
static bool combine_numbers(Arena *a, Infix k, const Poly *x, const Poly *y,
                            const Poly **v) {
    double u = 0, w = 0, r;
    bool x_known = poly_is_number(x, &u), y_known = poly_is_number(y, &w);
    if (!apply_operator(k, u, w, &r)) return false;
    *v = x_known && y_known ? poly_number(a, r) : poly_operator(a, k, x, y);
    return true;
}

static bool eval_unary(Formula *f, const Ast *e, FormulaValue *v) {
    Infix k = infix_of(e->op, true);
    double x;
    if (!eval_number(f, e->kid[0], v)) return false;
    if (k == IN_POS) return true;
    if (poly_is_number(v->number, &x))
        v->number = poly_number(f->a, k == IN_NEG ? -x : x == 0);
    else
        v->number =
            k == IN_NEG ? poly_mul(f->a, poly_number(f->a, -1), v->number) : NULL;
    return true;
}

static bool eval_binary(Formula *f, const Ast *e, FormulaValue *v) {
    FormulaValue y;
    return want_number(f, e->kid[0], v) && eval_number(f, e->kid[1], &y) &&
           (combine_numbers(f->a, infix_of(e->op, false), v->number, y.number,
                            &v->number) ||
            no_value(f, v) ||
            fail(f->s, e->at, E_SYNTAX, "`%s` can't be in a formula", e->op));
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

static const Poly *apply_fn2(Arena *a, FormulaFn k, const Poly *x, const Poly *y) {
    double u, v;
    if (k == FN_PROD || k == FN_SUM) {
        combine_numbers(a, k == FN_PROD ? IN_MUL : IN_ADD, x, y, &x);
        return x;
    }
    if (!poly_is_number(x, &u) || !poly_is_number(y, &v)) return NULL;
    return (k == FN_MAX ? u > v : u < v) ? x : y;
}

static FormulaFn find_fn(const char *name) {
    static const char *const names[FN_N] = {"max",  "min",  "prod",  "sum", "abs",
                                            "sqrt", "log2", "floor", "ceil"};
    unsigned k = 0;
    while (k < FN_N && strcmp(names[k], name) != 0)
        k++;
    return (FormulaFn)k;
}

/* Adds an argument's numbers to the result of a function of many. */
static void add_argument(Formula *f, FormulaFn k, const FormulaValue *v, bool *first,
                         const Poly **r) {
    const Poly *const *p = v->is_shape ? v->shape : &v->number;
    int n = v->is_shape ? v->ndim : 1;
    for (int i = 0; i < n; i++, *first = false)
        *r = *first ? p[i] : apply_fn2(f->a, k, *r, p[i]);
}

static bool eval_call(Formula *f, const Ast *e, FormulaValue *v) {
    const char *name = sym_text(f->s, e->sym);
    FormulaFn k = find_fn(name);
    if (k == FN_N)
        return no_value(f, v) ||
               fail(f->s, e->at, E_NAME, "formulas have no function `%s`", name);
    bool first = true, single = k >= FN_ABS;
    const Poly *r = poly_number(f->a, k == FN_PROD);
    double x;
    if (e->nkid == 0 || (single && e->nkid != 1))
        return no_value(f, v) || fail(f->s, e->at, E_ARITY, "%s takes %s", name,
                                      single ? "one argument" : "arguments");
    for (size_t i = 0; i < e->nkid; i++) {
        if (!eval_expr(f, e->kid[i], v) || (single && !want_number(f, e->kid[i], v)))
            return false;
        add_argument(f, k, v, &first, &r);
    }
    if (k != FN_PROD && k != FN_SUM)
        r = poly_is_number(r, &x) ? poly_number(f->a, apply_fn1(k, x)) : NULL;
    *v = (FormulaValue){.number = r};
    return true;
}

/* ---- shapes ---- */

static const Poly *shape_product(Arena *a, const FormulaValue *v) {
    const Poly *n = poly_number(a, 1);
    for (int i = 0; i < v->ndim; i++)
        combine_numbers(a, IN_MUL, n, v->shape[i], &n);
    return n;
}

static bool eval_attribute(Formula *f, const Ast *e, FormulaValue *v) {
    const char *name = sym_text(f->s, e->sym);
    if (strcmp(name, "shape") == 0 && v->is_shape) return true;
    if (strcmp(name, "ndim") == 0)
        *v = formula_number(f->a, v->ndim);
    else if (strcmp(name, "size") == 0)
        *v = (FormulaValue){.number = shape_product(f->a, v)};
    else
        return no_value(f, v) ||
               fail(f->s, e->at, E_NAME,
                    "formulas have .shape, .ndim and .size, not `.%s`", name);
    return true;
}

/* A number that says where in a shape, negative from its end. False: unknown or
 * diagnosed. */
static bool eval_place(Formula *f, const Ast *e, int n, double *at) {
    FormulaValue v;
    if (!eval_number(f, e, &v)) return false;
    if (!poly_is_number(v.number, at)) return !f->lenient && fail_no_number(f, e);
    if (*at < 0) *at += n;
    return true;
}

static bool eval_bound(Formula *f, const Ast *e, int n, int *v) {
    double d;
    if (!e || e->kind == AST_NONE) return true;
    if (!eval_place(f, e, n, &d)) return false;
    *v = d > 0 ? d < n ? (int)d : n : 0;
    return true;
}

static bool eval_slice(Formula *f, const Ast *i, FormulaValue *v) {
    int from = 0, to = v->ndim;
    if (i->kid[2])
        return no_value(f, v) ||
               fail(f->s, i->at, E_SYNTAX, "a slice of a shape can't have a step");
    if (!eval_bound(f, i->kid[0], v->ndim, &from) ||
        !eval_bound(f, i->kid[1], v->ndim, &to))
        return no_value(f, v);
    v->shape += from;
    v->ndim = to > from ? to - from : 0;
    return true;
}

static bool eval_index(Formula *f, const Ast *e, FormulaValue *v) {
    const Ast *i = e->kid[1];
    double d;
    if (!v->is_shape || e->nkid != 2)
        return no_value(f, v) ||
               fail(f->s, e->at, E_TYPE,
                    "in a formula only a shape can be indexed, with one index");
    if (i->kind == AST_SLICE) return eval_slice(f, i, v);
    if (!eval_place(f, i, v->ndim, &d)) return no_value(f, v);
    if (!(d >= 0 && d < v->ndim) || d != floor(d)) {
        size_t ndim = (size_t)v->ndim;
        return no_value(f, v) || fail(f->s, i->at, E_VALUE,
                                      "the index is out of range for a shape with %s",
                                      str_counted(f->s, ndim, "dim"));
    }
    *v = (FormulaValue){.number = v->shape[(int)d]};
    return true;
}

/* ---- walking ---- */

static bool eval_list(Formula *f, const Ast *e, FormulaValue *v) {
    const Poly **shape = NEW_N(f->a, e->nkid, const Poly *);
    for (size_t i = 0; i < e->nkid; i++) {
        if (!eval_number(f, e->kid[i], v)) return false;
        shape[i] = v->number;
    }
    *v = (FormulaValue){.is_shape = true, .ndim = (int)e->nkid, .shape = shape};
    return true;
}

/* Is it not 0? *known false: that depends on what is unknown. */
static bool eval_truth(Formula *f, const Ast *e, bool *known, bool *yes) {
    FormulaValue v;
    double x = 0;
    if (!eval_number(f, e, &v)) return false;
    *known = poly_is_number(v.number, &x);
    *yes = x != 0;
    return *known || f->lenient || fail_no_number(f, e);
}

static bool eval_choice(Formula *f, const Ast *e, FormulaValue *v) {
    bool known, yes;
    if (!eval_truth(f, e->kid[0], &known, &yes)) return false;
    return known ? eval_expr(f, e->kid[yes ? 1 : 2], v) : no_value(f, v);
}

static bool eval_not(Formula *f, const Ast *e, FormulaValue *v) {
    bool known, yes;
    if (!eval_truth(f, e->kid[0], &known, &yes)) return false;
    if (!known) return no_value(f, v);
    *v = formula_number(f->a, !yes);
    return true;
}

static bool eval_logic(Formula *f, const Ast *e, FormulaValue *v) {
    bool known, yes;
    for (size_t i = 0; i + 1 < e->nkid; i++) {
        if (!eval_truth(f, e->kid[i], &known, &yes)) return false;
        if (!known) return no_value(f, v);
        if (yes == (*e->op == 'o')) return eval_expr(f, e->kid[i], v);
    }
    return eval_expr(f, e->kid[e->nkid - 1], v);
}

/* a < b < c */
static bool eval_comparisons(Formula *f, const Ast *e, FormulaValue *v) {
    FormulaValue left, right;
    double holds = 1;
    if (!eval_number(f, e->kid[0], &left)) return false;
    for (size_t i = 1; i < e->nkid && holds != 0; i++, left = right) {
        const Ast *link = e->kid[i];
        *v = left;
        if (!eval_number(f, link->kid[0], &right) ||
            !combine_numbers(f->a, infix_of(link->op, false), left.number, right.number,
                             &v->number))
            return false;
        if (!poly_is_number(v->number, &holds)) return true;
    }
    return true;
}

static bool eval_leaf(Formula *f, const Ast *e, FormulaValue *v) {
    switch ((int)e->kind) {
    case AST_INT:
    case AST_BOOL:
        return *v = formula_number(f->a, (double)e->u), true;
    case AST_FLOAT:
        return *v = formula_number(f->a, e->v), true;
    case AST_STRING:
        return *v = formula_text(f->a, e->sym), true;
    case AST_NAME:
        return f->look(f->ctx, f->a, e->sym, v) || no_value(f, v) ||
               fail(f->s, e->at, E_NAME, "`%s` is not defined in this formula",
                    sym_text(f->s, e->sym));
    case AST_UNARY:
        return eval_unary(f, e, v);
    case AST_CHAIN:
        return eval_comparisons(f, e, v);
    case AST_NOT:
        return eval_not(f, e, v);
    case AST_LOGIC:
        return eval_logic(f, e, v);
    case AST_IF:
        return eval_choice(f, e, v);
    case AST_CALL:
        return eval_call(f, e, v);
    case AST_LIST:
    case AST_TUPLE:
        return eval_list(f, e, v);
    default:
        return no_value(f, v) || fail(f->s, e->at, E_SYNTAX,
                                      "this can't be in a formula, which has numbers, "
                                      "names, shapes and operators");
    }
}

static bool is_formula_link(const Ast *e) {
    return e->kind == AST_BINARY || e->kind == AST_ATTR || e->kind == AST_INDEX;
}

static bool eval_link(Formula *f, const Ast *e, FormulaValue *v) {
    if (e->kind == AST_ATTR) return eval_attribute(f, e, v);
    return e->kind == AST_INDEX ? eval_index(f, e, v) : eval_binary(f, e, v);
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

const Poly *formula_poly(Session *s, Arena *a, const Ast *e, FormulaLookup *look,
                         void *ctx) {
    Formula f = {s, a, look, ctx, true};
    FormulaValue v;
    double n;
    if (!eval_number(&f, e, &v)) return NULL;
    return poly_is_number(v.number, &n) && !isfinite(n) ? NULL : v.number;
}

bool formula_span(Session *s, Span text, FormulaLookup *look, void *ctx, double *v) {
    Formula f = {s, arena_new(s), look, ctx, false};
    const Ast *e = ast_parse(s, f.a, text);
    FormulaValue r;
    bool ok = e && eval_number(&f, e, &r) &&
              (poly_is_number(r.number, v) || fail_no_number(&f, e));
    arena_free(f.a);
    return ok;
}
