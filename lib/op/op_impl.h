/* Shared by the files of lib/op that look up ops and build with them. */
#ifndef OP_OP_IMPL_H
#define OP_OP_IMPL_H

#include "op/build.h"

/* The session's view of the catalogue: one entry for each name and alias. */
typedef struct OpName {
    const char *text;
    size_t n;
    const Op *op;
} OpName;
/* A cached call (infer_cache.c): `given` are the props asked for (NULL: all defaults),
 * `props` those of the Apply. */
enum { TYPED_IN = 5 };
typedef struct Typed {
    const Op *op;
    const Props *given, *props;
    const Type *in[TYPED_IN], *out;
    DType floatX;
    size_t nin;
} Typed;
/* NULL: not cached. An op's `expand` comes before what is found. */
const Typed *typed_find(const Graph *g, const Op *op, const Props *given, VarList in,
                        DType floatX);
/* in->props, in->type and in->out describe an Apply whose inputs needed no coercion. */
void typed_keep(const Infer *in, const Props *given);

/* The props with dtype=d, for an op that creates values; NULL: it has no dtype, or one
 * is given. */
const Props *op_say_dtype(Session *s, const Op *op, const Props *props, DType d);

enum { LATEST_SIGNATURES = 64 };
typedef struct SignatureOf {
    const Op *op; /* NULL: none yet */
    const Signature *sig;
} SignatureOf;

typedef struct OpTable {
    Arena *arena;
    Typed *typed; /* of fixed size, in the arena; NULL until needed */
    Index index;  /* of names */
    Vec(OpName) names;
    Vec(const Op *) ops, operators; /* operators: those of them with one */
    const Op *known[KNOWN_OPS];
    bool sorted;                           /* are ops sorted by name? */
    Map signature;                         /* Op * -> Signature * */
    Map number;                            /* Op * -> op_number */
    SignatureOf latest[LATEST_SIGNATURES]; /* of those asked for last, by address */
} OpTable;
OpTable *op_table(Session *s);

/* Parses the three little languages of a row. */
const Signature *signature_parse(Session *s, Arena *a, const Op *op,
                                 SignatureError *error);
/* The parameter that takes input i. */
const Param *signature_param(const Signature *sig, size_t i);
/* Notes the call with its inputs' types. */
void infer_note_call(const Infer *in, Span at);
/* "x", or "args[2]" for a rest parameter. */
const char *infer_arg_name(const Infer *in, size_t i);

/* ---- make_node in two halves; in->in and in->type are the arrays below ---- */
typedef struct MakeNode {
    Infer in;
    Builder *b;        /* NULL: typing only */
    Var *var;          /* in.in */
    const Type **type; /* in.type */
    bool looked;       /* in.looked */
    Var small_var[8];
    const Type *small_type[8];
} MakeNode;
/* Reserves room for nin inputs and for those that have defaults. */
void make_node_open(MakeNode *m, Session *s, const Graph *g, const Op *op, size_t nin,
                    const Var *in);
void make_node_close(MakeNode *m);

bool infer_check_arity(Infer *in, size_t least);
/* Completes props to those of an Apply: defaults for NULL, a list for an int where ints
 * are expected. */
bool props_complete(Infer *in, const Props *p);
bool props_check(Infer *in); /* do they fit the signature as given? */
/* Adds defaults, casts and conversions as the op's row demands. */
bool coerce_inputs(Builder *b, MakeNode *m);
/* Do the inputs have what coerce_inputs provides? */
bool infer_check_inputs(Infer *in);
bool infer_check_kinds(Infer *in);

#endif
