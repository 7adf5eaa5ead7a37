/* Polynomials as sums of monomials in a canonical order: by degree, then by the dims'
 * numbers. A monomial is a sorted list of dims, with powers as repetitions, so that a
 * product merges two lists and equal monomials are equal memory. */
#include "lang/formula/poly.h"

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

const Poly *poly_power(Arena *a, const Poly *x, double n) {
    const Poly *p = poly_number(a, 1);
    if (!(n >= 0 && n <= DEGREE && n == floor(n))) return NULL;
    for (int i = 0; i < (int)n; i++)
        p = poly_mul(a, p, x);
    return p;
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

/* Sizes from 1 on are 1 + m with m >= 0: in m, the difference must have no negative
 * coefficient. */
bool poly_at_most(Arena *a, const Poly *x, const Poly *y) {
    const Poly *d = poly_add(a, y, poly_mul(a, poly_number(a, -1), x)), *sum;
    if (!d) return false;
    sum = poly_number(a, 0);
    for (size_t i = 0; sum && i < d->n; i++) {
        const Poly *part = poly_number(a, d->term[i].c), *one = poly_number(a, 1);
        for (int k = 0; k < d->term[i].degree; k++)
            part = poly_mul(a, part, poly_add(a, poly_dim(a, d->term[i].dim[k]), one));
        sum = poly_add(a, sum, part);
    }
    for (size_t i = 0; sum && i < sum->n; i++)
        if (sum->term[i].c < 0) return false;
    return sum != NULL;
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
