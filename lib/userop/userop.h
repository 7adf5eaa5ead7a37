/* Ops whose meaning is a text in the language: rows of the user's files. Such an op
 * stands in graphs under its own name. Its body is a graph of other ops, made once for
 * each combination of input types and props; typing, running, fusing, cost and (where
 * the file states nothing else) derivatives are the body's. */
#ifndef USEROP_USEROP_H
#define USEROP_USEROP_H

#include "lang/expr.h"

/* A text of a file. For formulas `at` is the text itself, to be compiled. */
typedef struct OwnText {
    Sym name; /* in a list: the input, prop or output that it belongs to */
    Span at;
    const char *text; /* NULL: not given */
} OwnText;
typedef struct OwnList {
    size_t n;
    OwnText *p;
    Span at; /* of the whole */
} OwnList;
/* One op as a file declares it. Everything lives as long as the session. */
typedef struct OwnOp {
    const char *name, *file;
    Span at; /* of the name */
    const char *doc;
    OwnText alias, example; /* as in a row */
    OwnList in, props;      /* "n: int = 3" each, as in a row (op.h) */
    OwnList out;            /* names; none: one output, called r in formulas */
    OwnText def; /* an expression, or lines that define the outputs (r if there is one)
                  */
    OwnText shape, flops;
    OwnList partials;     /* d r / d input of an elementwise op */
    OwnList adjoint;      /* of an op that is linear in that input, in g */
    OwnList pullback;     /* in g, or g_NAME for each output */
    OwnList pushforward;  /* by output, in t_NAME for each input */
    OwnList disconnected; /* inputs */
    Promote promote;
    bool promote_given;
    unsigned kinds;
    uint16_t version;
    int math;
    bool comm, assoc, never_fold;
    bool replace; /* calls are replaced by the body at once */
} OwnOp;
/* Adds the ops of one file, which may use each other, after looking at every text.
 * False: diagnosed at the row. */
bool own_ops_add(Session *s, size_t n, const OwnOp *op);

void own_signature_check(Session *s, const Op *op, SignatureError *e);
/* Has every name in a text of an op a meaning there? False: diagnosed in the text. */
typedef enum OwnMember {
    OWN_SHAPE, /* inputs, props */
    OWN_FLOPS, /* and outputs */
    OWN_PARTIALS,
    OWN_ADJOINT, /* and gradients or tangents */
    OWN_PULLBACK,
    OWN_PUSHFORWARD
} OwnMember;
bool own_text_check(Session *s, const Op *op, OwnMember of, Span text);
/* May an input, prop or output have that name? No keyword or literal. */
bool own_word_ok(const char *name);
/* Do texts of derivatives use it for something else: g, r, g_NAME, t_NAME? */
bool own_word_taken(const char *name);
bool own_default_ok(const char *text); /* of an input: a number, True, False, pi */
/* May an op have that name? No function of the language, keyword or literal. False:
 * diagnosed at `at`. */
bool own_name_ok(Session *s, const char *name, Span at);

/* The body of an Apply of such an op: a main graph of its own, whose inputs and outputs
 * are the Apply's. NULL: it is no such op, or diagnosed. Owned by the session. */
Graph *own_body(const Graph *g, ApplyId a);
/* Does the file state a derivative, which would be lost with the op? */
bool own_has_derivative(const Op *op);
/* A copy of a function in which all these ops are replaced by their bodies; the caller
 * frees it. *any false and NULL: there were none. NULL, *any true: diagnosed. */
Graph *own_flatten(const Graph *fn, bool *any);
/* The texts of an op's file for printing; NULL if it is no such op. */
const OwnOp *own_declaration(const Op *op);

/* The ops of the user's own, texts and plugins', that a main graph and its functions
 * have, by name. */
const Op **graph_own_ops(const Graph *g, Arena *a, size_t *n);
/* Finds an op that a graph names with its version. False: E_NAME or E_VERSION; `where`
 * begins the message where there is no place (NULL: there is). */
bool own_op_known(Session *s, const char *name, uint64_t version, Span at,
                  const char *where, const Op **op);

#endif
