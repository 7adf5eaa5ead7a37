/* Formulas over numbers: the flops of ops, assertions over profiles. The syntax is the
 * language's, without a graph; a value is a polynomial in the names of dims, mostly a
 * constant one, or a shape. */
#ifndef LANG_FORMULA_FORMULA_H
#define LANG_FORMULA_FORMULA_H

#include "lang/expr.h"
#include "lang/formula/poly.h"

typedef struct FormulaValue {
    bool is_shape;
    const Poly *number; /* NULL: unknown */
    int ndim;
    const Poly *const *shape;
} FormulaValue;
FormulaValue formula_number(Arena *a, double v);
/* A text counts as a number, equal for equal texts: (mode == 'r') * n. */
FormulaValue formula_text(Arena *a, Sym text);
FormulaValue formula_shape(Arena *a, size_t ndim, const int64_t *dim);

/* What a name means; false: nothing. The value may live in a. */
typedef bool FormulaLookup(void *ctx, Arena *a, Sym name, FormulaValue *v);

/* The value of a formula without names of dims. Comparisons give 0 or 1. False:
 * diagnosed. */
bool formula_span(Session *s, Span text, FormulaLookup *look, void *ctx, double *v);
/* The value as far as the sizes are known, in a; `e` comes from ast_parse. NULL:
 * unknown, as is all that formula_span would refuse; never a diagnostic. */
const Poly *formula_poly(Session *s, Arena *a, const Ast *e, FormulaLookup *look,
                         void *ctx);

#endif
