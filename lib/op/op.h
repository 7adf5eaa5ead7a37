// clang-format off
/* The Op contract. An op is data, a row of a table in lib/ops that is found by name; no
 * file includes it. Which member carries which clause of the contract:
 *
 *   make_node, itypes/otypes   in, props, promote, kinds, out_dtype, type; itypes, otypes
 *   default_output, __call__   default_output; op_apply, op_apply1 (op/build.h); def, expand
 *   __props__, __eq__, __hash__, __str__   props; str
 *   perform                    pick (elementwise) or perform; begin and finish;
 *                              keeps_storage, takes_after, reentrant
 *   make_thunk                 thunk (op/call.h)
 *   debug_perform              debug; debug_instead
 *   infer_shape                type (static dims), shape or infer_shape (symbolic)
 *   flops                      flops, math
 *   do_constant_folding        fold, fold_if
 *   grad, L_op                 partial | adjoint | pullback | pull
 *   R_op                       the same rows, pushforward or push, or two pullbacks
 *   connection_pattern         disconnected, connect
 *   view_map                   view, views
 *   destroy_map                destroys; reuse only permits
 *
 * Members that few ops have are in OpRare. Absent members mean the safe default: no
 * views, nothing overwritten, every output connected to every input, folded when all
 * inputs are constant. tests/unit/contract.def goes through the clauses one by one. */
// clang-format on
#ifndef OP_OP_H
#define OP_OP_H

#include "op/call.h"
#include "op/op_view.h"

/* ---- typing ---- */
/* How inputs' dtypes are brought together before `type` runs: casts are inserted, weak
 * literals take the others' dtype. */
typedef enum Promote {
    PROMOTE_NONE,    /* as they are */
    PROMOTE_SAME,    /* all to their common dtype */
    PROMOTE_INEXACT, /* to the common dtype, bool and integers to floatX */
    PROMOTE_TAIL /* all but the first to their common dtype, the first to bool (where)
                  */
} Promote;
typedef enum OutDType {
    OUT_SAME, /* the dtype of the (last) input */
    OUT_BOOL,
    OUT_REAL, /* float32 for complex64, ... */
    OUT_INT64,
    OUT_PROP /* of the prop `dtype` */
} OutDType;
/* Kinds of dtype that are accepted after promotion. */
enum {
    KIND_BOOL = 1 << K_BOOL,
    KIND_INT = 1 << K_INT | 1 << K_UINT,
    KIND_FLOAT = 1 << K_FLOAT,
    KIND_COMPLEX = 1 << K_COMPLEX,
    KIND_REAL = KIND_INT | KIND_FLOAT,
    KIND_NUMBER = KIND_REAL | KIND_COMPLEX,
    KIND_ANY = KIND_NUMBER | KIND_BOOL
};

/* What a typing rule sees: types, and the variables themselves for shapes given by
 * constants. It fills out[] and returns true, or returns false and diagnoses
 * (infer_fail adds op, argument and types as notes). */
typedef struct Infer {
    Session *s;
    const Graph *graph; /* for infer_graph; may be NULL */
    const Op *op;
    const struct Signature *sig; /* of op */
    const Props *props;
    size_t nin;
    const Var *in;
    const Type *const *type; /* of the inputs */
    size_t nout; /* initially from the signature; `type` may change it (split) */
    const Type **out;
    Span at;
    DType floatX;
    struct MakeNode *make; /* NULL: checking an existing Apply */
    bool *looked; /* becomes true once the rule looks at more than props and types;
                     NULL: nobody asks */
} Infer;
enum { OUT_MAX = 1024 }; /* outputs of one Apply */

/* ---- derivatives in C, written with the same expressions: see op/build.h
 * ---- */
typedef struct Pull {
    Builder *b;
    const Graph *g;
    ApplyId id;
    const Op *op;
    const Props *props;
    size_t nin, nout;
    const Var *in, *out;
    const Var *cotangent; /* of each output; VAR_NONE: disconnected. Float or complex */
    const bool *wanted;   /* inputs whose gradient is needed */
    Var *grad;            /* result: a variable, GRAD_DISCONNECTED, or one of type null
                             (grad_undefined) */
} Pull;
typedef struct Push {
    Builder *b;
    const Graph *g;
    ApplyId id;
    const Op *op;
    const Props *props;
    size_t nin, nout;
    const Var *in, *out;
    const Var *tangent; /* VAR_NONE: disconnected (zero) */
    Var *result;        /* VAR_NONE: disconnected */
} Push;
#define GRAD_DISCONNECTED VAR_NONE

typedef struct Vmap Vmap;
typedef enum Fold { FOLD_ALWAYS, FOLD_NEVER } Fold;

/* What few ops have; `RARE(.thunk = &t)` in a row. The loader writes all rows at each
 * start, so that a member here saves its place in every other one. */
typedef struct OpRare {
    /* typing */
    /* Replaces what Op says of it: exact types of inputs and outputs, "float64[?],
     * int64" (an input may be narrower). */
    const char *itypes, *otypes;
    const char *shape; /* symbolic shape of output 0 if types don't show it:
                          "[x.shape[0] + 1, y.shape[1]]" */
    bool (*infer_shape)(ShapeOf *q); /* the same in C, for any outputs; false without a
                                        diagnostic: declined */
    /* running */
    /* perform in two halves, between which other work may run, for an op that waits
     * for something outside: `begin` sets up the outputs, and *flight unless all is
     * done by then; `finish` is called once for each flight, after a failure, too, with
     * the same outputs. Inputs are valid in `begin` alone. */
    bool (*begin)(Call *c, void **flight);
    bool (*finish)(Call *c, void *flight);
    /* Of an op that isn't reentrant by itself: makes it so for n threads, as long as
     * the session lives. False: it can't be. */
    bool (*share)(Session *s, unsigned n);
    Streams *streams;   /* perform can take an input as Pieces: the only one, */
    uint8_t streamed;   /* or this one */
    const Thunk *thunk; /* replaces perform */
    bool redo; /* perform fills in Call.redo, where the work is small; it reads values
                * of any kind without failing */
    /* derivatives */
    bool (*connect)(const Graph *g, ApplyId a, size_t in, size_t out);
    /* memory: what `view` and `reuse` can't say */
    int (*views)(const Graph *g, ApplyId a, size_t out); /* input or -1 */
    bool (*reuses)(const Graph *g, ApplyId a, size_t out, size_t in);
    /* An op that reads, with these props, what this one changes in input 0, which is
     * all that it writes in place: subtensor for set_subtensor. Its inputs are this
     * op's without the second. NULL: it writes all of output 0. */
    const char *changes;
    /* destroy_map: the input that computing output `out` always overwrites, or -1. The
     * plan runs all other readers first, or refuses. */
    int (*destroys)(const Graph *g, ApplyId a, size_t out);
    /* text and rewriting */
    void (*str)(Session *s, const Op *op, const Props *p, Str *out); /* __str__ */
    /* Prints the call that the language has for it; false: print the generic form. */
    bool (*print)(Printer *p, ApplyId a, Str *out);
    bool (*fold_if)(const GraphView *v, ApplyId a); /* FOLD_ALWAYS: asked first */
    const char *sparse; /* the op to apply to a sparse input instead, with its props */
    const char *list;   /* the same if the only input is a list */
    const char *keywords; /* the op that a call means whose keywords name inputs of that
                             one: sum(x, where=m) is sum_where(x, m). All but the first
                             of its inputs are given so; its props are this one's, or,
                             if this one has none, what follows its inputs: round(x, 2)
                             is around(x, 2) */
} OpRare;
#define RARE(...)                                                                      \
    .rare = &(const OpRare) {                                                          \
        __VA_ARGS__                                                                    \
    }

struct Op {
    const char *name;
    const char *doc;   /* one sentence, then more if needed */
    const char *alias; /* other names in the language, "expit, logistic" */
    const char *infix; /* "+": its operator; unary ones have one input */
    /* Inputs: "x, y"; a tensor unless `name: ints` (int64 vector: a list of ints and
     * dims, or a scalar), `name: int` (int64 0-d), `name: bool`, `name: sparse`, `name:
     * array` (a tensor or sparse), `name: list` (of any Type), `name: any` (any Type),
     * `name: item` (any Type; a weak one takes the dtype of the list and the items
     * beside it). `name?` may be left out, `name = 0.5` has a weak default; a last
     * `*name` takes all remaining inputs, or one list. With several of those, "*then,
     * *other", each takes a list, all of one length; the Apply has the lists one after
     * the other. */
    const char *in;
    /* Props: "axis: axes = None, keepdims: bool = False". Kinds: bool int float str
     * dtype ints axes (None, int or ints; typing makes them sorted and non-negative)
     * axis graph key (number or string) sides (ints, or pairs of them one after the
     * other, or a string); `kind?` also takes None. A prop without a
     * default is required. ints may be two equally long lists, one after the other:
     * ([1], [0]). If the first prop is a required str, a leading string in a call is
     * its value: einsum('ij->ji', x). So is a string in the place of an optional input:
     * pad(x, 1, 'edge'). */
    const char *props;
    const char *out; /* of several outputs, "q, r"; NULL: one, called r in formulas */
    const char *def; /* a text in the inputs and props, or lines that define r, which
                        replace the call when it is built: the op never appears in a
                        graph */
    bool (*expand)(Builder *b, const Op *op, const Props *p, size_t nin, const Var *in,
                   Var *out); /* the same in C; leaves *out alone if the op itself is to
                                 be applied */
    uint16_t version;         /* of its meaning; 0 counts as 1 */
    uint16_t default_output;  /* 1 + the output that a call gives; 0: all of them */
    /* typing */
    Promote promote : 8;
    unsigned kinds : 8; /* 0: KIND_ANY */
    OutDType out_dtype : 8;
    uint8_t digits; /* significant bits of float results, if they are fewer than the
                       dtype's (round_bfloat16: 8) */
    bool (*type)(Infer *in); /* NULL: elementwise (broadcast shape, out_dtype) */
    /* running: pick, perform, or one of OpRare */
    /* Elementwise: the loop for a dtype of the last input and one of the output, at a
     * level of CPU (0: baseline, 1: AVX2, 2: AVX-512). NULL: there is none, and the
     * next lower level is asked. */
    Loop *(*pick)(DType from, DType to, int level);
    bool (*perform)(Call *c);
    bool (*debug)(
        Call *c); /* slow and obviously right; where terms cancel, check/rounding.c
                     learns from it how far rounding may take a result */
    /* May a run fail although its inputs have valid types? NULL: an elementwise op may
     * fail unless its types guarantee that shapes agree; any other op may fail. What
     * may fail is never moved to where it might run unnecessarily. */
    bool (*fails)(const Graph *g, ApplyId a);
    /* costs: per Apply, a text over inputs, outputs and props; for elementwise rows, a
     * number per element of the output */
    const char *flops;
    /* derivatives */
    const char *const *partial; /* elementwise: d r / d input as text, one per input; r
                                   is the result */
    const char *const *
        adjoint; /* linear in that input: its gradient as text in g, inputs, r, props */
    /* any other op, as lines "name = formula when condition, condition": pullback
     * defines g_NAME for inputs from g (g_NAME of several outputs), pushforward t_NAME
     * for outputs from t_NAME of inputs: lang/text_lines.c */
    const char *pullback, *pushforward;
    bool (*pull)(Pull *p); /* the same in C, where it reads better */
    bool (*push)(Push *p);
    bool (*vmap)(Vmap *q); /* vmap: vmap/kit.h. NULL: elementwise ops need none, others
                              run row by row */
    const char *disconnected; /* inputs whose elements influence no output's elements:
                                 "shape, axis" */
    const OpRare *rare;       /* NULL: none of it; op_rare() */
    const char *example;      /* lines "matmul([[1., 2.]], [[3.], [4.]]) -> [[11.0]]":
                                 documentation and tests */
    /* user ops: */
    const char *from;              /* the file or plugin; NULL: an op of the library */
    const struct OpBody *body;     /* its meaning is a text: userop/userop.h */
    const struct PluginOp *plugin; /* it comes from a plugin: thunkline/plugin.h */
    const char *file;
    int line; /* of the row, for messages */
    int math; /* transcendental functions per element: counted once in flops and in
                 math_calls */
    /* memory */
    uint32_t reuse; /* bit i: perform may write output 0 over input i (elementwise: any
                       of the right size) */
    uint8_t view;   /* 1 + the input that output 0 may view; 0: none */
    /* facts */
    Fold fold : 8;
    bool debug_instead; /* DebugMode runs it instead of perform (AllocEmpty) */
    bool keeps_storage; /* run after run, its perform gets back the very storage that it
                           left; others may find anything of the right dtype */
    bool takes_after;   /* its perform may do what comes after it (op/call.h, After) */
    bool reentrant;     /* its perform uses nothing but operands, memory and loops for
                           the level of the CPU, neither OpenBLAS nor what the session
                           keeps: several threads may each run it */
    bool comm;          /* the two inputs may be swapped */
    bool varies;        /* the number of outputs depends on the inputs or props */
    bool uneven; /* comm, except that the first of two equal inputs is the result,
                    and -0 equals 0 */
    bool assoc;
    bool elemwise; /* set by the rows: fusible */
    bool effect;   /* a root even if nothing reads it; never merged */
    bool identity; /* output 0 is input 0 (assert, print, specify_shape) */
    bool promise;  /* checks another op, which DebugMode blames if the check fails */
    bool creates;  /* creates values from nothing (zeros, normal): without dtype= they
                      take the receiver's */
    bool bounds;   /* with creates: integer literals may be out of the dtype's range */
    bool by_macro; /* in the language its name calls a macro */
    bool internal; /* made by rewriting, derivatives and macros, not written by users */
    bool constant; /* applied to constants, it is a constant, made at build time
                      (make_slice, make_list, csr) */
    bool shape_only; /* reads the shapes of its inputs, not their elements (shape) */
    bool
        yields; /* the library's, as text: users' functions and ops may take its name */
};
extern const OpRare op_rare_none;
static inline const OpRare *op_rare(const Op *op) {
    return op->rare ? op->rare : &op_rare_none;
}

/* In a row of a table, `.name = OP_ROW("sum")` also says where the row is. */
#define OP_ROW(text) text, .file = __FILE__, .line = __LINE__
/* A whole table, as an OpList or a MacroList. */
#define LIST_OF(table)                                                                 \
    { table, sizeof table / sizeof *table }
typedef struct OpList {
    const Op *op;
    size_t n;
} OpList;
/* The library's ops (generated), then those added to the session. */
extern const OpList *const catalogue_ops[];
const Op *op_find(Session *s, const char *name, size_t n); /* by name or alias; NULL */
/* The same, if no function or op of a user's may have the name. */
const Op *op_find_firm(Session *s, const char *name, size_t n);
const Op *op_named(Session *s, const char *name); /* one that the library has */
/* Its number in this session, from 0 in the order in which numbers are asked for: the
 * same in each run of a program, as its address isn't. */
size_t op_number(Session *s, const Op *op);
int op_compare_names(const void *a, const void *b); /* of two const Op *, for qsort */
/* Ops that the library itself builds or looks for; every catalogue has them. */
typedef enum KnownOp {
#define KNOWN(NAME, name) OP_##NAME,
#include "op/known.def"
#undef KNOWN
    KNOWN_OPS
} KnownOp;
const Op *op_known(Session *s, KnownOp which);
/* All of them, by KnownOp, for those who ask often; they stay as they are. */
const Op *const *op_known_table(Session *s);
static inline bool op_is(Session *s, const Op *op, KnownOp which) {
    return op == op_known(s, which);
}
const Graph *op_called_function(const Graph *g, const Apply *ap); /* NULL: no call */
size_t op_count(Session *s);
const Op *op_get(Session *s, size_t i); /* sorted by name */
/* The ops that have an operator, no two the same for as many inputs; NULL after the
 * last. */
const Op *op_operator(Session *s, size_t i);
bool op_add(Session *s, const Op *op,
            Span at); /* from a file or plugin: E_DUPLICATE if the name is taken */

/* The loop for these dtypes at the session's CPU level; NULL: there is none. */
Loop *op_loop(Session *s, const Op *op, DType last_in, DType out);
/* view_map: the input that output `out` may view, or -1. */
int op_view(const Graph *g, ApplyId a, size_t out);
/* Must it keep its place, as an effect or because a function among its props has
 * effects? */
bool op_has_effect(const Graph *g, const Op *op, const Props *props);
/* The op's `fails`, or the default. */
bool op_may_fail(const Graph *g, ApplyId a);
bool op_never_fails(const Graph *g, ApplyId a);       /* for .fails: false */
bool op_fails_on_integers(const Graph *g, ApplyId a); /* integer input, or shapes */
/* connection_pattern: do the elements of input `in` influence those of output `out`? */
bool op_connected(const Graph *g, ApplyId a, size_t in, size_t out);
/* The same for a function's inputs and outputs; computed once, in linear time. */
bool graph_connected(Graph *fn, size_t in, size_t out);

#include "op/signature.h"

#endif
