/* What an op or macro needs from a higher row of the library. The row that provides a
 * service enters it here when the session is opened. */
#ifndef OP_SERVICES_H
#define OP_SERVICES_H

#include "op/build.h"

typedef enum OnDisconnected { GRAD_RAISE, GRAD_WARN, GRAD_IGNORE } OnDisconnected;
typedef enum ReturnDisconnected { GRAD_ZERO, GRAD_NONE } ReturnDisconnected;
typedef enum OnNull { NULL_RAISE, NULL_RETURN } OnNull;
typedef struct GradOptions {
    VarList constant; /* consider_constant */
    size_t nknown;
    const Var *known_of, *known_grad; /* known_grads: override */
    OnDisconnected disconnected;
    ReturnDisconnected return_disconnected;
    OnNull null;
    bool parts; /* wrt may be slices that the cost does not use: ad/slices.c */
} GradOptions;

/* What the core asks of the language, which lies above it: expressions in rows
 * (build.h: definition_build), and Applies and ops as text for messages. */
typedef struct Language {
    Var (*definition_build)(Builder *b, const char *text, const Env *env, bool *ok);
    void (*print_apply)(const Graph *g, ApplyId a, const Graph *from, ApplyId call,
                        Str *out); /* from: print_called_apply, or NULL */
    void (*print_op)(Session *s, const Op *op, const Props *props, Str *out);
} Language;
extern const Language language; /* lang/template.c */

typedef struct Services {
    /* vm: runs the part of a graph without inputs that `want` needs; the caller owns
     * the values. */
    bool (*eval)(Graph *g, size_t n, const Var *want, Value *out);
    /* vm: an inner graph, prepared once and run many times (call, scan). */
    struct Inner *(*inner_new)(Session *s, const Graph *fn);
    bool (*inner_run)(struct Inner *r, const Value *const *in, Value *out, Span at);
    void (*inner_free)(struct Inner *r);
    /* ad: reverse mode in b->g; grad[i] may be GRAD_DISCONNECTED with GRAD_NONE. */
    bool (*grad)(Builder *b, Var cost, VarList wrt, const GradOptions *how, Var *grad);
    /* ad: vjp: the gradients of sum_i <f[i], cotangent[i]>; jvp: the tangents of f. */
    bool (*vjp)(Builder *b, VarList f, const Var *cotangent, VarList wrt,
                const GradOptions *how, Var *grad);
    bool (*jvp)(Builder *b, VarList f, VarList wrt, const Var *tangent,
                bool by_pullback, Var *result);
    /* ad: the gradients of fn as a function: its inputs are fn's, then the cotangents;
     * its outputs are the gradients of `wanted` inputs. */
    Graph *(*pullback)(Graph *main, const Graph *fn, const bool *wanted,
                       const bool *has_cotangent);
    /* ad: check derivatives of the library's ops at run time, too, not only those of
     * user ops. */
    bool check_derivatives;
    /* ad: fn for many rows at once: rows[i] says which inputs have the leading dim. An
     * output has it if it has one dim more than fn's. */
    Graph *(*vmap)(Graph *main, const Graph *fn, const bool *rows);
    /* cli: shows a line printed by an op of the graph; NULL: print nothing. */
    void (*print)(void *ctx, const char *text);
    void *print_ctx;
    /* io: an op that the library defines as text; NULL: it has none of that name. All
     * are added if name is NULL. False: E_MEM. */
    bool (*text_op)(Session *s, const char *name, const Op **op);
    struct Ranks *ranks; /* cli: the processes that run the graph together (op/ranks.h);
                          * NULL: this one alone */
    bool debugging;      /* runs are for DebugMode (PlanOptions.debugging) */
} Services;
Services *services(Session *s); /* never NULL; members may be, below a tool */

#endif
