/* Graphs as text: the inverse of lang/expr.h. Reading the text gives an equal graph. */
#ifndef LANG_PRINT_PRINT_H
#define LANG_PRINT_PRINT_H

#include "op/op.h"

/* Names of all variables of a graph for one printing: their own, or _1, _2, ... in
 * print order for those that need one. Small constants and (in maths mode) single-use
 * Applies have none and are printed inline. */
typedef struct Printer Printer;
typedef enum PrintStyle {
    PRINT_STATEMENTS, /* one statement per Apply */
    PRINT_MATH        /* infix, single-use Applies inline */
} PrintStyle;
Printer *printer_new(const Graph *g, PrintStyle style, const uint8_t *live, Arena *a);
/* Takes in the Applies that the graph got since; variables keep the numbers that they
 * have. Only without `live` and with PRINT_MATH. */
void printer_follow(Printer *p);
/* Called for constants that are too large for the text: returns "load('w.npy')", or
 * NULL for the full text. */
void printer_set_ref(Printer *p, const char *(*ref)(void *ctx, const Graph *g, Var v),
                     void *ctx);
/* All statements of the graph, one per line after `indent`: named constants, Applies,
 * further names of variables. */
void print_block(Printer *p, const char *indent, Str *out);
/* "y = x @ W", "q, r = qr(a)": an Apply's statement without a line end. Constant inputs
 * are literals if reading them back gives their dtype, else float32(...), array([...],
 * dtype='...') or load('...'). */
void print_statement(Printer *p, ApplyId a, Str *out);
void print_expression(Printer *p, Var v,
                      Str *out); /* a name, a literal, or (math) the expression */
/* The expression that computes v, even if v has a name. */
void print_definition(Printer *p, Var v, Str *out);
bool print_is_inline(Printer *p, Var v);
Sym printer_name(Printer *p, Var v);
void print_props(Session *s, const Op *op, const Props *props, bool all,
                 Str *out); /* "axis=0, keepdims=True" */
void print_prop(Session *s, const PropDef *def, const Prop *value, Str *out);
/* A value other than a tensor, as in a graph's text, if it has at most `most`
 * characters; false: it is longer or has no value, and nothing is written. */
bool print_value(Session *s, const Type *t, const Value *v, size_t most, Str *out);
/* "mul(x: float32[3], 2.0)": an Apply for messages. */
void print_apply(const Graph *g, ApplyId a, Str *out);
/* The same with the names that the variables of the function g have where Apply `call`
 * of `from` calls it; NULL: those of g. */
void print_called_apply(const Graph *g, ApplyId a, const Graph *from, ApplyId call,
                        Str *out);
/* The op with its props: sum(axis=(0,)). */
void print_op(Session *s, const Op *op, const Props *props, Str *out);

#endif
