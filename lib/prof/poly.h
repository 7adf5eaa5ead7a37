/* Symbolic costs: polynomials in the names of dims, such as 1280*n + 64, for reports on
 * graphs with unknown sizes. NULL means unknown; every operation accepts it and
 * propagates it. */
#ifndef PROF_POLY_H
#define PROF_POLY_H

#include "base/num.h"
#include "lang/expr.h"

typedef struct Poly Poly;  /* immutable, allocated in an arena */
enum { POLY_TERMS = 256 }; /* a sum with more terms is unknown */

const Poly *poly_number(Arena *a, double v);
const Poly *poly_dim(Arena *a, Sym name);
/* Represents a text by a number, equal for equal texts: a formula may contain (mode ==
 * 'r') n. */
const Poly *poly_text_number(Arena *a, Sym text);
const Poly *poly_add(Arena *a, const Poly *x, const Poly *y);
const Poly *poly_mul(Arena *a, const Poly *x, const Poly *y);
const Poly *poly_copy(Arena *a, const Poly *p);
/* True if it contains no dim. */
bool poly_is_number(const Poly *p, double *v);
bool poly_is_negative(const Poly *p); /* for all sizes */
/* The value with every dim set to n: used to order symbolic costs. */
double poly_at(const Poly *p, double n);
/* "1280*n + 64", highest powers first; "?" for NULL. */
void poly_text(Session *s, const Poly *p, Str *out);

/* The symbolic value of a formula (op/expr.h): sums, products, integer powers, shapes;
 * other functions and operators only if their arguments are numbers. */
typedef struct PolyValue {
    bool is_shape;
    const Poly *number;
    int ndim;
    const Poly *const *shape;
} PolyValue;
typedef bool PolyLookup(void *ctx, Sym name, PolyValue *v);
/* `e` comes from ast_parse. NULL if unknown; never a diagnostic. */
const Poly *poly_formula(Session *s, Arena *a, const Ast *e, PolyLookup *look,
                         void *ctx);

#endif
