/* Polynomials as sums of monomials in a canonical order: by degree, then by the dims'
 * numbers. A monomial is a sorted list of dims, with powers as repetitions, so that a
 * product merges two lists and equal monomials are equal memory. */
#include "prof/poly.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEGREE = 12 };
typedef struct Term {
    double c;
    int degree;
    Sym dim[DEGREE];
} Term;
struct Poly {
    size_t n;
    Term term[];
};

static Poly *poly_new(Arena *a, size_t n) {
    return arena_zalloc(a, 1, sizeof(Poly) + n * sizeof(Term));
}

const Poly *poly_number(Arena *a, double v) {
    Poly *p = poly_new(a, v != 0);
    p->n = v != 0;
    if (v != 0) p->term[0].c = v;
    return p;
}

const Poly *poly_text_number(Arena *a, Sym text) {
    return poly_number(a, (double)text);
}

const Poly *poly_dim(Arena *a, Sym name) {
    Poly *p = poly_new(a, 1);
    p->n = 1;
    p->term[0] = (Term){1, 1, {name}};
    return p;
}

const Poly *poly_copy(Arena *a, const Poly *p) {
    return p ? arena_copy(a, p, sizeof *p + p->n * sizeof *p->term) : NULL;
}

/* Descending degree. */
static int compare_terms(const Term *x, const Term *y) {
    if (x->degree != y->degree) return x->degree > y->degree ? -1 : 1;
    for (int i = 0; i < x->degree; i++)
        if (x->dim[i] != y->dim[i]) return x->dim[i] < y->dim[i] ? -1 : 1;
    return 0;
}

const Poly *poly_add(Arena *a, const Poly *x, const Poly *y) {
    if (!x || !y) return NULL;
    if (!x->n || !y->n) return x->n ? x : y;
    Poly *p = poly_new(a, x->n + y->n);
    for (size_t i = 0, k = 0; i < x->n || k < y->n;) {
        int o = i == x->n   ? 1
                : k == y->n ? -1
                            : compare_terms(&x->term[i], &y->term[k]);
        Term t = o <= 0 ? x->term[i++] : y->term[k++];
        if (o == 0) t.c += y->term[k++].c;
        if (!isfinite(t.c)) return NULL;
        if (t.c != 0) p->term[p->n++] = t;
    }
    return p->n > POLY_TERMS ? NULL : p;
}

static bool multiply_terms(const Term *x, const Term *y, Term *out) {
    int i = 0, k = 0, n = x->degree + y->degree;
    double c = x->c * y->c;
    if (n > DEGREE || !isfinite(c)) return false;
    *out = (Term){.c = c, .degree = n};
    for (int j = 0; j < n; j++) {
        bool left = k == y->degree || (i < x->degree && x->dim[i] <= y->dim[k]);
        out->dim[j] = left ? x->dim[i++] : y->dim[k++];
    }
    return true;
}

const Poly *poly_mul(Arena *a, const Poly *x, const Poly *y) {
    if ((x && !x->n) || (y && !y->n)) return poly_number(a, 0);
    if (!x || !y) return NULL;
    const Poly *sum = poly_number(a, 0);
    for (size_t i = 0; sum && i < x->n; i++) {
        Poly *row = poly_new(a, y->n);
        for (size_t k = 0; k < y->n; k++)
            if (!multiply_terms(&x->term[i], &y->term[k], &row->term[row->n++]))
                return NULL;
        sum = poly_add(a, sum, row);
    }
    return sum;
}

bool poly_is_negative(const Poly *p) {
    bool all = p && p->n;
    for (size_t i = 0; all && i < p->n; i++)
        all = p->term[i].c < 0;
    return all;
}

bool poly_is_number(const Poly *p, double *v) {
    if (!p || p->n > 1 || (p->n && p->term[0].degree)) return false;
    *v = p->n ? p->term[0].c : 0;
    return true;
}

double poly_at(const Poly *p, double n) {
    double sum = 0;
    for (size_t i = 0; p && i < p->n; i++)
        sum += p->term[i].c * pow(n, p->term[i].degree);
    return sum;
}

/* ---- text ---- */
static void number_text(double v, Str *out) {
    char buf[NUM_MAX];
    if (v == floor(v) && fabs(v) < 0x1p53)
        str_add(out, buf, num_write_int(buf, (int64_t)v));
    else
        str_add(out, buf, num_write_float(buf, v, FLOAT64));
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "k*n**2" */
static const char *dims_text(Session *s, Arena *a, const Term *t) {
    const char *name[DEGREE];
    Str b = STR(s);
    for (int i = 0; i < t->degree; i++)
        name[i] = sym_text(s, t->dim[i]);
    qsort(name, (size_t)t->degree, sizeof *name, compare_names);
    for (int i = 0, n; i < t->degree; i += n) {
        for (n = 1; i + n < t->degree && strcmp(name[i + n], name[i]) == 0;)
            n++;
        str_printf(&b, "%s%s", i ? "*" : "", name[i]);
        if (n > 1) str_printf(&b, "**%d", n);
    }
    const char *text = arena_str(a, str_text(&b), b.n);
    str_free(&b);
    return text;
}

typedef struct Shown {
    double c;
    int degree;
    const char *dims;
} Shown;

static int compare_degrees(const void *a, const void *b) {
    const Shown *x = a, *y = b;
    if (x->degree != y->degree) return x->degree > y->degree ? -1 : 1;
    return strcmp(x->dims, y->dims);
}

static void shown_text(const Shown *t, bool first, Str *out) {
    bool minus = t->c < 0, one = t->degree && fabs(t->c) == 1;
    str_puts(out, first ? minus ? "-" : "" : minus ? " - " : " + ");
    if (!one) number_text(fabs(t->c), out);
    str_printf(out, "%s%s", one || !t->degree ? "" : "*", t->dims);
}

/* Symbol numbers depend on the order of interning, so the text is sorted by name. */
void poly_text(Session *s, const Poly *p, Str *out) {
    if (!p || !p->n) {
        str_putc(out, p ? '0' : '?');
        return;
    }
    Arena *a = arena_new(s);
    Shown *t = NEW_N(a, p->n, Shown);
    for (size_t i = 0; i < p->n; i++)
        t[i] = (Shown){p->term[i].c, p->term[i].degree, dims_text(s, a, &p->term[i])};
    qsort(t, p->n, sizeof *t, compare_degrees);
    for (size_t i = 0; i < p->n; i++)
        shown_text(&t[i], i == 0, out);
    arena_free(a);
}

/* ---- formulas ---- */
typedef struct PolyFormula {
    Session *s;
    Arena *a;
    PolyLookup *look;
    void *ctx;
    int depth;
} PolyFormula;
enum { DEEPEST = 1000 }; /* a longer chain of operators is unknown */

static PolyValue poly_eval_formula(PolyFormula *f, const Ast *e);

static const Poly *poly_eval_number(PolyFormula *f, const Ast *e) {
    PolyValue v = poly_eval_formula(f, e);
    return v.is_shape ? NULL : v.number;
}

static PolyValue no_value(void) {
    return (PolyValue){0};
}

static const Poly *poly_power(PolyFormula *f, const Poly *x, double n) {
    const Poly *p = poly_number(f->a, 1);
    if (!(n >= 0 && n <= DEGREE && n == floor(n))) return NULL;
    for (int i = 0; i < (int)n; i++)
        p = poly_mul(f->a, p, x);
    return p;
}

/* If both are numbers, every operator of formulas applies. */
static const Poly *numbers_formula(PolyFormula *f, const char *op, double x, double y) {
    double v;
    return formula_binary(op, x, y, &v) && isfinite(v) ? poly_number(f->a, v) : NULL;
}

static const Poly *poly_eval_binary(PolyFormula *f, const Ast *e) {
    const Poly *x = poly_eval_number(f, e->kid[0]), *y = poly_eval_number(f, e->kid[1]);
    double u, v;
    if (strcmp(e->op, "*") == 0) return poly_mul(f->a, x, y);
    if (!x || !y) return NULL;
    if (strcmp(e->op, "+") == 0) return poly_add(f->a, x, y);
    if (strcmp(e->op, "-") == 0)
        return poly_add(f->a, x, poly_mul(f->a, poly_number(f->a, -1), y));
    if (!poly_is_number(y, &v)) return NULL;
    if (poly_is_number(x, &u)) return numbers_formula(f, e->op, u, v);
    if (strcmp(e->op, "/") == 0 && v != 0)
        return poly_mul(f->a, x, poly_number(f->a, 1 / v));
    return strcmp(e->op, "**") == 0 ? poly_power(f, x, v) : NULL;
}

static const Poly *poly_eval_unary(PolyFormula *f, const char *op, const Poly *x) {
    double v;
    if (poly_is_number(x, &v)) return poly_number(f->a, formula_unary(op, v));
    if (strcmp(op, "-") == 0) return poly_mul(f->a, poly_number(f->a, -1), x);
    return strcmp(op, "+") == 0 ? x : NULL;
}

static const Poly *poly_shape_product(PolyFormula *f, const PolyValue *v) {
    const Poly *p = poly_number(f->a, 1);
    for (int i = 0; i < v->ndim; i++)
        p = poly_mul(f->a, p, v->shape[i]);
    return p;
}

static PolyValue poly_eval_attribute(PolyFormula *f, const Ast *e) {
    PolyValue v = poly_eval_formula(f, e->kid[0]);
    const char *name = sym_text(f->s, e->sym);
    if (strcmp(name, "shape") == 0) return v;
    if (strcmp(name, "ndim") == 0)
        return (PolyValue){.number = poly_number(f->a, v.ndim)};
    if (strcmp(name, "size") != 0) return no_value();
    return (PolyValue){.number = v.is_shape ? poly_shape_product(f, &v)
                                            : poly_number(f->a, 1)};
}

static bool poly_eval_slice_bound(PolyFormula *f, const Ast *e, int n, int *at) {
    double d;
    if (!e || e->kind == AST_NONE) return true;
    if (!poly_is_number(poly_eval_number(f, e), &d)) return false;
    if (d < 0) d += n;
    *at = d < 0 ? 0 : d > n ? n : (int)d;
    return true;
}

static PolyValue index_shape(PolyFormula *f, const Ast *e) {
    PolyValue v = poly_eval_formula(f, e->kid[0]);
    double d;
    if (!v.is_shape || e->nkid != 2) return no_value();
    const Ast *i = e->kid[1];
    if (i->kind == AST_SLICE) {
        int from = 0, to = v.ndim;
        if (i->kid[2] || !poly_eval_slice_bound(f, i->kid[0], v.ndim, &from) ||
            !poly_eval_slice_bound(f, i->kid[1], v.ndim, &to))
            return no_value();
        v.shape += from;
        v.ndim = to > from ? to - from : 0;
        return v;
    }
    if (!poly_is_number(poly_eval_number(f, i), &d)) return no_value();
    if (d < 0) d += v.ndim;
    return d >= 0 && d < v.ndim ? (PolyValue){.number = v.shape[(int)d]} : no_value();
}

static const Poly *poly_eval_call(PolyFormula *f, const Ast *e) {
    const char *name = sym_text(f->s, e->sym);
    bool prod = strcmp(name, "prod") == 0, sum = strcmp(name, "sum") == 0, first = true;
    const Poly *all = poly_number(f->a, prod);
    double r = 0, x;
    for (size_t i = 0; i < e->nkid; i++) {
        PolyValue v = poly_eval_formula(f, e->kid[i]);
        const Poly *one = v.number, *const *p = v.is_shape ? v.shape : &one;
        int n = v.is_shape ? v.ndim : 1;
        for (int k = 0; k < n; k++, first = false) {
            if (prod) all = poly_mul(f->a, all, p[k]);
            if (sum) all = poly_add(f->a, all, p[k]);
            if (prod || sum) continue;
            if (!poly_is_number(p[k], &x) || !formula_gather(name, first, x, &r))
                return NULL;
        }
    }
    return prod || sum ? all : poly_number(f->a, r);
}

static PolyValue poly_eval_list(PolyFormula *f, const Ast *e) {
    const Poly **dim = NEW_N(f->a, e->nkid, const Poly *);
    for (size_t i = 0; i < e->nkid; i++)
        dim[i] = poly_eval_number(f, e->kid[i]);
    return (PolyValue){.is_shape = true, .ndim = (int)e->nkid, .shape = dim};
}

static PolyValue eval_node(PolyFormula *f, const Ast *e) {
    PolyValue v = {0};
    switch ((int)e->kind) {
    case AST_INT:
    case AST_BOOL:
        v.number = poly_number(f->a, (double)e->u);
        return v;
    case AST_FLOAT:
        v.number = poly_number(f->a, e->v);
        return v;
    case AST_STRING:
        v.number = poly_text_number(f->a, e->sym);
        return v;
    case AST_NAME:
        return f->look(f->ctx, e->sym, &v) ? v : no_value();
    case AST_UNARY:
        v.number = poly_eval_unary(f, e->op, poly_eval_number(f, e->kid[0]));
        return v;
    case AST_BINARY:
        v.number = poly_eval_binary(f, e);
        return v;
    case AST_CALL:
        v.number = poly_eval_call(f, e);
        return v;
    case AST_ATTR:
        return poly_eval_attribute(f, e);
    case AST_INDEX:
        return index_shape(f, e);
    case AST_LIST:
    case AST_TUPLE:
        return poly_eval_list(f, e);
    default:
        return v;
    }
}

static PolyValue poly_eval_formula(PolyFormula *f, const Ast *e) {
    PolyValue v = {0};
    if (++f->depth < DEEPEST) v = eval_node(f, e);
    f->depth--;
    return v;
}

const Poly *poly_formula(Session *s, Arena *a, const Ast *e, PolyLookup *look,
                         void *ctx) {
    PolyFormula f = {s, a, look, ctx, 0};
    return poly_eval_number(&f, e);
}
