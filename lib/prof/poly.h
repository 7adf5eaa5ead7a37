/* Costs in symbols: polynomials over the names of dims, such as 1280*n + 64, for
 * reports on graphs whose sizes are not known. NULL stands for what can't be told
 * everywhere: every operation takes it and gives it on. */
#ifndef PROF_POLY_H
#define PROF_POLY_H

#include "base/num.h"
#include "lang/expr.h"

typedef struct Poly Poly;  /* immutable, of an arena */
enum { POLY_TERMS = 256 }; /* a sum with more terms can't be told */

const Poly *poly_number(Arena *a, double v);
const Poly *poly_dim(Arena *a, Sym name);
/* A text as a number, equal where the texts are: formulas may say (mode == 'r') * n. */
const Poly *poly_text_number(Arena *a, Sym text);
const Poly *poly_add(Arena *a, const Poly *x, const Poly *y);
const Poly *poly_mul(Arena *a, const Poly *x, const Poly *y);
const Poly *poly_copy(Arena *a, const Poly *p);
/* True if no dim is in it. */
bool poly_is_number(const Poly *p, double *v);
bool poly_is_negative(const Poly *p); /* for all sizes */
/* With every dim put to n: an order for symbols. */
double poly_at(const Poly *p, double n);
/* "1280*n + 64", highest powers first; "?" for NULL. */
void poly_text(Session *s, const Poly *p, Str *out);

/* The value of a formula (op/expr.h) on symbols: sums, products, whole powers, shapes;
 * the other functions and operators of formulas where their arguments are numbers. */
typedef struct PolyValue {
    bool is_shape;
    const Poly *number;
    int ndim;
    const Poly *const *shape;
} PolyValue;
typedef bool PolyLookup(void *ctx, Sym name, PolyValue *v);
/* `e` was parsed by ast_parse. NULL if it can't be told; never a diagnostic. */
const Poly *poly_formula(Session *s, Arena *a, const Ast *e, PolyLookup *look,
                         void *ctx);

#endif
