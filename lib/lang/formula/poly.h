/* Numbers that may depend on sizes: polynomials in the names of dims, such as
 * 1280*n + 64. NULL means unknown; every operation accepts it and propagates it. */
#ifndef LANG_FORMULA_POLY_H
#define LANG_FORMULA_POLY_H

#include "base/num.h"

typedef struct Poly Poly;  /* immutable, allocated in an arena */
enum { POLY_TERMS = 256 }; /* a sum with more terms is unknown */

const Poly *poly_number(Arena *a, double v);
const Poly *poly_dim(Arena *a, Sym name);
const Poly *poly_add(Arena *a, const Poly *x, const Poly *y);
const Poly *poly_mul(Arena *a, const Poly *x, const Poly *y);
const Poly *poly_power(Arena *a, const Poly *x, double n); /* n = 0, 1, 2 ... */
const Poly *poly_copy(Arena *a, const Poly *p);
/* True if it contains no dim. */
bool poly_is_number(const Poly *p, double *v);
bool poly_is_negative(const Poly *p); /* for all sizes */
/* x <= y for all sizes from 1 on, as far as the coefficients show. */
bool poly_at_most(Arena *a, const Poly *x, const Poly *y);
/* The value with every dim set to n: used to order symbolic costs. */
double poly_at(const Poly *p, double n);
/* "1280*n + 64", highest powers first; "?" for NULL. */
void poly_text(Session *s, const Poly *p, Str *out);

#endif
