/* Ops whose meaning is a text in the language: rows of the user's files. Such an op
 * stands in graphs under its own name. Its body is a graph of other ops, made once for
 * each combination of input types and props; typing, running, fusing, cost and (where
 * the file states nothing else) derivatives are the body's. */
#ifndef USEROP_USEROP_H
#define USEROP_USEROP_H

#include "lang/expr.h"

/* A text of a file. For formulas `at` is the text itself, to be compiled. */
typedef struct UserOpText {
    Sym name; /* in a list: the input, prop or output that it belongs to */
    Span at;
    const char *text; /* NULL: not given */
} UserOpText;
typedef struct UserOpTexts {
    size_t n;
    UserOpText *p;
    Span at; /* of the whole */
} UserOpTexts;
/* One op as a file declares it. Everything lives as long as the session. */
typedef struct UserOp {
    const char *name, *file;
    Span at; /* of the name */
    const char *doc;
    UserOpText alias, example; /* as in a row */
    UserOpTexts in, props;     /* "n: int = 3" each, as in a row (op.h) */
    UserOpTexts out;           /* names; none: one output, called r in formulas */
    UserOpText
        def; /* an expression, or lines that define the outputs (r if there is one)
              */
    UserOpText shape, flops;
    UserOpTexts partials;     /* d r / d input of an elementwise op */
    UserOpTexts adjoint;      /* of an op that is linear in that input, in g */
    UserOpTexts pullback;     /* in g, or g_NAME for each output */
    UserOpTexts pushforward;  /* by output, in t_NAME for each input */
    UserOpTexts disconnected; /* inputs */
    Promote promote;
    bool promote_given;
    unsigned kinds;
    uint16_t version;
    int math;
    bool comm, assoc, never_fold;
    bool replace; /* calls are replaced by the body at once */
} UserOp;
/* Adds the ops of one file, which may use each other, after looking at every text.
 * False: diagnosed at the row. */
bool userop_add_file(Session *s, size_t n, const UserOp *op);

void userop_check_signature(Session *s, const Op *op, SignatureError *e);
/* Has every name in a text of an op a meaning there? False: diagnosed in the text. */
typedef enum UserOpMember {
    OWN_SHAPE, /* inputs, props */
    OWN_FLOPS, /* and outputs */
    OWN_PARTIALS,
    OWN_ADJOINT, /* and gradients or tangents */
    OWN_PULLBACK,
    OWN_PUSHFORWARD
} UserOpMember;
bool userop_check_text(Session *s, const Op *op, UserOpMember of, Span text);
/* May an input, prop or output have that name? No keyword or literal. */
bool userop_is_word(const char *name);
/* Do texts of derivatives use it for something else: g, r, g_NAME, t_NAME? */
bool userop_is_reserved_word(const char *name);
bool userop_is_default(const char *text); /* of an input: a number, True, False, pi */
/* May an op have that name? No function of the language, keyword or literal. False:
 * diagnosed at `at`. */
bool userop_check_name(Session *s, const char *name, Span at);

/* The body of an Apply of such an op: a main graph of its own, whose inputs and outputs
 * are the Apply's. NULL: it is no such op, or diagnosed. Owned by the session. */
Graph *userop_body(const Graph *g, ApplyId a);
/* Does the file state a derivative, which would be lost with the op? */
bool userop_has_derivative(const Op *op);
/* A copy of a function in which all these ops are replaced by their bodies; the caller
 * frees it. *any false and NULL: there were none. NULL, *any true: diagnosed. */
Graph *userop_flatten(const Graph *fn, bool *any);
/* The texts of an op's file for printing; NULL if it is no such op. */
const UserOp *userop_declaration(const Op *op);

/* The ops of the user's own, texts and plugins', that a main graph and its functions
 * have, by name. */
const Op **userop_list_of_graph(const Graph *g, Arena *a, size_t *n);
/* Finds an op that a graph names with its version. False: E_NAME or E_VERSION; `where`
 * begins the message where there is no place (NULL: there is). */
bool userop_find(Session *s, const char *name, uint64_t version, Span at,
                 const char *where, const Op **op);

#endif
