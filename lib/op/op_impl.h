/* What the files of lib/op that look ops up and build with them share. */
#ifndef OP_OP_IMPL_H
#define OP_OP_IMPL_H

#include "op/build.h"

/* The session's view of the catalogue: one entry for each name and alias. */
typedef struct OpName {
    const char *text;
    size_t n;
    const Op *op;
} OpName;
/* What infer_cache.c remembers of a call: `given` (NULL: all defaults) are the props
 * asked for, `props` those that the Apply gets. */
enum { TYPED_IN = 3 };
typedef struct Typed {
    const Op *op;
    const Props *given, *props;
    const Type *in[TYPED_IN]; /* NULL after the last */
    const Type *out;
    DType floatX;
} Typed;
/* NULL: not known. */
const Typed *typed_find(Session *s, const Op *op, const Props *given, size_t nin,
                        const Type *const *in, DType floatX);
/* in->props, in->type and in->out are those of an Apply; the inputs were given as they
 * are. */
void typed_keep(const Infer *in, const Props *given);

typedef struct OpTable {
    Arena *arena;
    Typed *typed; /* a table of fixed size in the arena; NULL until needed */
    Index index;  /* of names */
    Vec(OpName) names;
    Vec(const Op *) ops;
    const Op *known[KNOWN_OPS];
    bool sorted;   /* ops are in order of their names */
    Map signature; /* Op * -> Signature * */
} OpTable;
OpTable *op_table(Session *s);

/* Parses the three little languages of a row. */
const Signature *signature_parse(Session *s, Arena *a, const Op *op,
                                 SignatureError *error);
/* The parameter that takes input i. */
const Param *signature_param(const Signature *sig, size_t i);
/* Notes the call with the types of its inputs. */
void infer_note_call(const Infer *in, Span at);
/* "x", or "args[2]" for one of a rest parameter. */
const char *infer_arg_name(const Infer *in, size_t i);

/* ---- make_node in two halves; in->in and in->type are the arrays below ---- */
typedef struct MakeNode {
    Infer in;
    Builder *b;        /* NULL: nothing is built */
    Var *var;          /* in.in */
    const Type **type; /* in.type */
    Var small_var[8];
    const Type *small_type[8];
} MakeNode;
/* Room for nin inputs and those that have defaults. */
void make_node_open(MakeNode *m, Session *s, const Graph *g, const Op *op, size_t nin,
                    const Var *in);
void make_node_close(MakeNode *m);

bool infer_check_arity(Infer *in, size_t least);
/* The props that an Apply gets: defaults for NULL, a list where an int was given for
 * ints. */
bool props_complete(Infer *in, const Props *p);
bool props_check(Infer *in); /* do they fit the signature as they are? */
/* Adds defaults, casts and converts as the op's row says. */
bool coerce_inputs(Builder *b, MakeNode *m);
/* Do inputs satisfy what coerce_inputs brings about? */
bool infer_check_inputs(Infer *in);
bool infer_check_kinds(Infer *in);

#endif
