/* What the files of lib/op that make ops of texts share. */
#ifndef USEROP_USEROP_IMPL_H
#define USEROP_USEROP_IMPL_H

#include "lang/compile_impl.h"
#include "op/op_impl.h"
#include "userop/userop.h"

/* One line of a definition; an expression is a line without targets. */
typedef struct Statement {
    size_t n;
    const Sym *target;
    const Ast *value;
} Statement;
struct OpBody {
    const UserOp *decl;
    Op op;    /* what is in the catalogue */
    size_t n; /* lines of the definition, each after those that it needs */
    Statement *st;
    bool is_block; /* the outputs are among the targets */
    bool elementwise;
    bool broken;      /* its file was refused */
    unsigned nesting; /* of such ops in its definition */
};
enum { OWN_NESTING = 64 };

/* The hooks of all such ops. */
bool userop_type(Infer *in);
bool userop_pull(Pull *p);
bool userop_push(Push *p);
bool userop_connect(const Graph *g, ApplyId a, size_t in, size_t out);
bool userop_expand(Builder *b, const Op *op, const Props *p, size_t nin, const Var *in,
                   Var *out);

/* check.c: the texts of one file's ops. */
bool userop_check(Session *s, size_t n, struct OpBody *body);

#endif
