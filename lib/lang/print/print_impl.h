/* Shared by the files of this folder: const.c has constants, expr.c calls and
 * operators, weak.c decides which constants may be bare. */
#ifndef LANG_PRINT_PRINT_IMPL_H
#define LANG_PRINT_PRINT_IMPL_H

#include "lang/print/print.h"
#include "op/op_impl.h"

/* How tightly an expression binds; an operand that binds less tightly than needed gets
 * brackets. */
typedef enum Prec {
    BIND_ANY,
    BIND_COMPARE,
    BIND_OR,
    BIND_XOR,
    BIND_AND,
    BIND_SHIFT,
    BIND_ADD,
    BIND_MUL,
    BIND_UNARY,
    BIND_POWER,
    BIND_ATOM
} Prec;

struct Printer {
    Session *s;
    const Graph *g;
    Arena *arena;
    PrintStyle style;
    const uint8_t *live;
    uint32_t nvar, napply; /* when the printer was made, or followed the graph */
    uint32_t room;     /* how many Applies may still be printed where they are used */
    uint32_t nroom;    /* ... of each definition */
    Sym *name;         /* 0: none yet, or inline */
    uint8_t *in_place; /* Apply outputs printed where they are used: PRINT_MATH; and
                        * what a cast that floatX implies converts */
    uint32_t *uses;    /* PRINT_MATH: by variable, clients among these Applies */
    uint16_t *depth, *nodes; /* ... and of what is in place: the size of its text */
    uint32_t cap;            /* of the arrays by variable */
    uint32_t fresh;
    const char *(*ref)(void *ctx, const Graph *g, Var v);
    void *ref_ctx;
    DType floatX;
};

enum { INLINE_MAX = 64 }; /* constants up to this many elements are inline */

void print_operand(Printer *p, Var v, bool bare, Prec need, Str *out);
/* The right-hand side of a statement. */
void print_apply_expr(Printer *p, ApplyId a, Prec need, Str *out);

/* A constant as text. bare: a literal that takes its dtype from the
 * context. */
void print_const(Printer *p, Var v, bool bare, Prec need, Str *out);
bool const_is_scalar(const Graph *g, Var v); /* a 0-d tensor */
bool const_stands_inline(Printer *p, Var v); /* small, and not from a file */

/* Which constant inputs of an Apply can be bare. */
void print_find_bare(Printer *p, ApplyId a, bool infix, bool *bare);
bool prop_is_default(const PropDef *d, const Prop *v);

#endif
