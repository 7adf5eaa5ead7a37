/* Shared by the files of lib/userop. */
#ifndef USEROP_USEROP_IMPL_H
#define USEROP_USEROP_IMPL_H

#include "lang/compile_impl.h"
#include "lang/formula/formula.h"
#include "op/op_impl.h"
#include "userop/userop.h"

/* A line of a definition; an expression is a line without targets. */
typedef struct Statement {
    size_t n;
    const Sym *target;
    const Ast *value;
} Statement;
struct OpBody {
    const UserOp *decl;
    Op op; /* the entry in the catalogue */
    OpRare rare;
    size_t n; /* number of lines, sorted by dependency */
    Statement *st;
    bool is_block; /* lines define the outputs by name */
    bool elementwise;
    bool broken;      /* its file was rejected */
    unsigned nesting; /* how deep user ops nest in its definition */
};
enum { OWN_NESTING = 64 };

/* Hooks of every user op. */
bool userop_type(Infer *in);
bool userop_pull(Pull *p);
bool userop_push(Push *p);
bool userop_connect(const Graph *g, ApplyId a, size_t in, size_t out);
bool userop_expand(Builder *b, const Op *op, const Props *p, size_t nin, const Var *in,
                   Var *out);

/* Checks the texts of one file's ops (check.c). */
bool userop_check(Session *s, size_t n, struct OpBody *body);
/* Builds the op, on numbers and as its example says, and its derivatives (trial.c). */
bool userop_try(Session *s, const struct OpBody *op, bool on_numbers);

#endif
