/* User ops: ops defined as text in the language, as rows of a user's file. Such an op
 * appears in graphs under its own name. Its body is a graph of other ops, made once for
 * each combination of input types and props; typing, running, fusing, costs and (unless
 * the file states others) derivatives are those of the body. */
#ifndef USEROP_USEROP_H
#define USEROP_USEROP_H

#include "lang/expr.h"

/* A text from a file. Formulas are compiled from the span `at`. */
typedef struct UserOpText {
    Sym name; /* in a list: the input, prop or output it belongs to */
    Span at;
    const char *text; /* NULL: absent */
} UserOpText;
typedef struct UserOpTexts {
    size_t n;
    UserOpText *p;
    Span at; /* of the whole list */
} UserOpTexts;
/* An op as a file declares it. Must live as long as the session. */
typedef struct UserOp {
    const char *name, *file;
    Span at; /* of the name */
    const char *doc;
    UserOpText alias, example; /* as in a row of the catalogue */
    UserOpTexts in, props;     /* each "n: int = 3", as in a row (op.h) */
    UserOpTexts out;           /* names; none: one output, which formulas call r */
    UserOpText
        def; /* an expression, or lines that define the outputs (r if there is one) */
    UserOpText shape, flops;
    UserOpTexts partials;     /* d r / d input of an elementwise op */
    UserOpTexts adjoint;      /* by input in which the op is linear; formulas in g */
    UserOpTexts pullback;     /* by input; formulas in g, or g_NAME for each output */
    UserOpTexts pushforward;  /* by output; formulas in t_NAME for each input */
    UserOpTexts disconnected; /* names of inputs */
    Promote promote;
    bool promote_given;
    unsigned kinds;
    uint16_t version;
    int math;
    bool comm, assoc, never_fold;
    bool shipped; /* by the library: users may take its name */
    bool replace; /* each call is replaced by the body when it is built */
} UserOp;
/* Adds the ops of one file, which may use each other, after checking all their texts.
 * False: diagnosed at the row. */
bool userop_add_file(Session *s, size_t n, const UserOp *op);

void userop_check_signature(Session *s, const Op *op, SignatureError *e);
/* Has every name in an op's text a meaning there? False: diagnosed in the text. */
typedef enum UserOpMember {
    OWN_SHAPE, /* may use inputs and props */
    OWN_FLOPS, /* and outputs */
    OWN_PARTIALS,
    OWN_ADJOINT, /* and gradients or tangents */
    OWN_PULLBACK,
    OWN_PUSHFORWARD
} UserOpMember;
bool userop_check_text(Session *s, const Op *op, UserOpMember of, Span text);
/* Does the name have a meaning in derivative texts: g, r, disconnected, g_NAME,
 * t_NAME? */
bool userop_is_reserved_word(const char *name);
bool userop_is_default(const char *text); /* number, True, False, pi */
/* May an op have this name? Functions of the language, keywords and literals are
 * excluded. False: diagnosed at `at`. */
bool userop_check_name(Session *s, const char *name, Span at);

/* The body of a user op's Apply: a main graph of its own, whose inputs and outputs are
 * the Apply's. NULL: not a user op, or diagnosed. The session owns it. */
Graph *userop_body(const Graph *g, ApplyId a);
/* Does the file state a derivative, which inlining the body would lose? */
bool userop_has_derivative(const Op *op);
/* A copy of a function in which bodies replace all user ops; the caller frees it. *any
 * false and NULL: there are none. NULL, *any true: diagnosed. */
Graph *userop_flatten(const Graph *fn, bool *any);
/* The texts of an op's file, for printing; NULL if it isn't a user op. */
const UserOp *userop_declaration(const Op *op);

/* The user's ops (as text or from plugins) that a main graph and its functions use, by
 * name. */
const Op **userop_list_of_graph(const Graph *g, Arena *a, size_t *n);
/* Finds the op that a graph names, and checks its version. False: E_NAME or E_VERSION.
 * `where` precedes a message that has no place in a text (else NULL). */
bool userop_find(Session *s, const char *name, uint64_t version, Span at,
                 const char *where, const Op **op);

#endif
