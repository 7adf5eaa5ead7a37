/* Optimizers as text: rules that turn gradients into updates of shared variables, and
 * schedules, which are functions of the step. Their rows are lines of the language, in
 * the shipped files here and in users' files. This folder reads and applies rows; it
 * knows nothing of derivatives, nor of the form of files. */
#ifndef OPTIM_OPTIM_H
#define OPTIM_OPTIM_H

#include "lang/expr.h"

/* Lines `name = expression when condition, ...` of one section of a row, in one or
 * several texts. */
typedef struct OptimLines {
    size_t n;
    const AstCase *line;
    size_t ntext;
    const Span *text;
} OptimLines;
/* A parameter of a row; required: there is no default. */
typedef struct OptimProp {
    Sym name;
    Span at, text; /* text: of the default */
    const Ast *value;
} OptimProp;
/* What a file says of an optimizer or a schedule. Names in its lines: `w`, a parameter;
 * `g`, its gradient; `t`, the number of steps done; props; state; names defined above.
 * Within a chain of rules, `w` and `g` are what the rules before have made of them. */
typedef enum OptimKind {
    OPTIM_OPTIMIZER, /* moves w by g */
    OPTIM_WRAPPER,   /* changes g for the rules behind it, or only looks on */
    OPTIM_SCHEDULE
} OptimKind;
typedef struct OptimRow {
    const char *name, *doc, *example, *file;
    Span at;
    bool schedule;  /* as the file says */
    OptimKind kind; /* as its lines show */
    size_t nprop;
    OptimProp *prop;
    OptimLines state;   /* of each parameter, and how it begins: in w */
    OptimLines common;  /* state that all parameters share, and how it begins */
    OptimLines sums;    /* sums over all parameters */
    OptimLines let;     /* definitions */
    OptimLines updates; /* new values of w, g, state, common: read before any is new */
    Span value;         /* a schedule's */
    const Ast *result;
} OptimRow;
const char *optim_kind_text(OptimKind kind); /* "optimizer" */

/* Adds the rows of one file, which may use each other's schedules, after checking them.
 * The rows and their texts must live as long as the session. False: diagnosed. */
bool optim_add_file(Session *s, size_t n, OptimRow *row);
size_t optim_count(Session *s);
const OptimRow *optim_get(Session *s, size_t i);
const OptimRow *optim_find(Session *s, const char *name, bool schedule);
/* "adam(rate = 1e-3, beta1 = 0.9)" */
void optim_signature(Session *s, const OptimRow *row, Str *out);

/* What --optimizer asks for. */
typedef struct OptimRequest {
    Span chain;       /* "clip_norm(1.0), adam(1e-3)" */
    const char *name; /* the pattern for names of state; NULL: {wrt}_{state} */
    VarList w;        /* the parameters */
} OptimRequest;
/* Can all of them be updated? False: diagnosed. */
bool optim_check_parameters(const Graph *g, const OptimRequest *how);
/* Adds state and updates, for these gradients; a parameter whose gradient is
 * GRAD_DISCONNECTED stays as it is. */
bool optim_apply(Builder *b, const OptimRequest *how, const Var *grad);

#endif
