// clang-format off
/* The Op contract. An op is data: a row of lib/ops or a file there, found by name,
 * included by nobody. Which member carries which clause of the contract:
 *
 *   make_node, itypes/otypes   in, props, promote, kinds, out_dtype, type; itypes, otypes
 *   default_output, __call__   default_output; op_apply, op_apply1 (op/build.h); def, expand
 *   __props__, __eq__, __hash__, __str__   props; str
 *   perform                    loops (elementwise), pick or perform; keeps_storage
 *   make_thunk                 thunk (op/call.h)
 *   debug_perform              debug; debug_instead
 *   infer_shape                type (static dims), shape or infer_shape (symbolic)
 *   flops                      flops, math
 *   do_constant_folding        fold, fold_if
 *   grad, L_op                 partial | adjoint | pull
 *   R_op                       the same rows, or push, or two pullbacks
 *   connection_pattern         disconnected, connect
 *   view_map                   view, views
 *   destroy_map                destroys; reuse only permits
 *
 * Absent members mean the safe default: no views, nothing overwritten, every output
 * connected to every input, folded when all inputs are constant. tests/unit/contract.def
 * goes through the clauses one by one. */
// clang-format on
#ifndef OP_OP_H
#define OP_OP_H

#include "op/call.h"
#include "op/op_view.h"

/* ---- typing ---- */
/* How the inputs' dtypes are brought together before `type` runs: casts are inserted,
 * weak literals take the others' dtype. */
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

/* What a typing rule sees: types, and where they matter (shapes given by constants) the
 * variables themselves. It fills out[] and returns true, or diagnoses and returns false
 * (infer_fail adds op, argument and types as notes). */
typedef struct Infer {
    Session *s;
    const Graph *g;
    const Op *op;
    const struct Signature *sig; /* of op */
    const Props *props;
    size_t nin;
    const Var *in;
    const Type *const *type; /* of the inputs */
    size_t nout; /* set before by the op's signature; `type` may change it (split) */
    const Type **out;
    Span at;
    DType floatX;
    struct MakeNode *make; /* NULL: an Apply that exists is checked */
} Infer;
enum { OUT_MAX = 1024 }; /* outputs of one Apply */

/* ---- derivatives in C (tier 3), written with the same expressions: see op/build.h
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
    const bool *wanted;   /* inputs whose gradient will be used; others may be left
                             disconnected */
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

struct Op {
    const char *name;
    const char *doc;   /* one sentence, then more if needed */
    const char *alias; /* other names in the language, "expit, logistic" */
    const char *infix; /* "+": how it is written; unary ones have one input */
    /* Inputs: "x, y"; a tensor unless `name: ints` (int64 vector: a list of ints and
     * dims, or a scalar), `name: int` (int64 0-d), `name: bool`, `name: sparse`,
     * `name: array` (a tensor or sparse), `name: list` (of any Type), `name: any` (any
     * Type), `name: item` (any Type; where it is weak it takes the dtype of the list
     * and the items beside it); `name?` may be left out, `name = 0.5` has a weak
     * default; a last `*name` takes the rest, or one list. Several of those, "*then,
     * *other", take a list each, all of one length; the Apply has them one after the
     * other. */
    const char *in;
    /* Props: "axis: axes = None, keepdims: bool = False". Kinds: bool int float str
     * dtype ints axes (None, int or ints; kept sorted and non-negative by canonical
     * typing) axis graph key (number or string); `kind?` also takes None. Without a
     * default a prop must be given. ints may be two equally long lists, one after the
     * other: ([1], [0]). A string that comes first in a call is the first prop's when
     * that is a str that must be given: einsum('ij->ji', x). One at the place of an
     * input that may be left out is so, too: pad(x, 1, 'edge'). */
    const char *props;
    const char *out; /* of several outputs, "q, r"; NULL: one, called r in formulas */
    const char *def; /* a text in the inputs and props that replaces the call at once:
                        the op never stands in a graph */
    bool (*expand)(Builder *b, const Op *op, const Props *p, size_t nin, const Var *in,
                   Var *out); /* the same in C; leaves *out as it is where the op itself
                                 is to stand */
    uint16_t version;         /* of its meaning; 0 counts as 1 */
    uint16_t default_output;  /* 1 + the output that a call gives; 0: all of them */
    /* typing */
    /* Instead of the rest of this block: exact types of the inputs and of the outputs,
     * "float64[?], int64" (an input may be narrower). */
    const char *itypes, *otypes;
    Promote promote;
    unsigned kinds; /* 0: KIND_ANY */
    OutDType out_dtype;
    bool (*type)(Infer *in); /* NULL: elementwise (broadcast shape, out_dtype) */
    const char *shape;       /* symbolic shape of output 0 where types can't tell:
                                "[x.shape[0] + 1, y.shape[1]]" */
    bool (*infer_shape)(ShapeOf *q); /* the same in C, for any outputs; false without a
                                        diagnostic: declined */
    /* running: loops, perform or thunk */
    const Loops *loops;
    /* instead of loops where the output's dtype matters (cast) */
    Loop *(*pick)(DType from, DType to, int level);
    bool (*perform)(Call *c);
    bool (*debug)(Call *c); /* slow and obviously right */
    bool debug_instead;     /* DebugMode runs it in the place of perform (AllocEmpty) */
    Streams *streams;       /* perform can take its only input as Pieces */
    const Thunk *thunk;     /* then perform is not needed */
    /* May a run fail although its inputs are what their types say? NULL: an elementwise
     * op may where types can't tell that shapes agree, any other may. Nothing that may
     * fail is moved to where it might run in vain. */
    bool (*fails)(const Graph *g, ApplyId a);
    bool keeps_storage; /* its perform is given back, run after run, the very storage
                           that it left; others may find anything of the right
                           dtype */
    /* costs: per Apply, a text over inputs, outputs and props; elementwise rows: per
     * element of the output, a number */
    const char *flops;
    int math; /* transcendental functions per element: counted once in flops and in
                 math_calls */
    /* derivatives */
    const char *const *partial; /* elementwise: d r / d input as text, one per input; r
                                   is the result */
    const char *const *
        adjoint; /* linear in that input: its gradient as text in g, inputs, r, props */
    bool (*pull)(Pull *p);
    bool (*push)(Push *p);
    bool (*vmap)(Vmap *q);    /* for many rows at once: vmap/kit.h. NULL:
                                             elementwise ops as such, others row by row */
    const char *disconnected; /* inputs whose elements influence no output's elements:
                                 "shape, axis" */
    bool (*connect)(const Graph *g, ApplyId a, size_t in, size_t out);
    /* memory */
    uint8_t view; /* 1 + the input that output 0 may view; 0: none */
    int (*views)(const Graph *g, ApplyId a, size_t out); /* for the rest: input or -1 */
    uint32_t reuse; /* bit i: perform may write output 0 over input i (elementwise: any
                       of the right size) */
    bool (*reuses)(const Graph *g, ApplyId a, size_t out, size_t in); /* for the rest */
    /* destroy_map: the input that making output `out` always overwrites, or -1. The
     * plan runs every other reader first, or refuses. */
    int (*destroys)(const Graph *g, ApplyId a, size_t out);
    /* text and rewriting */
    void (*str)(Session *s, const Op *op, const Props *p, Str *out); /* __str__ */
    /* As the call that the language has for it; false: only its own form tells it. */
    bool (*print)(Printer *p, ApplyId a, Str *out);
    Fold fold;
    bool (*fold_if)(const GraphView *v, ApplyId a); /* FOLD_ALWAYS: asked first */
    bool comm;                                      /* two inputs may change places */
    bool varies; /* the number of outputs depends on the inputs or props */
    bool uneven; /* comm: of equal inputs the first counts, as -0 and 0 are equal */
    bool assoc;
    bool elemwise; /* set by the rows: may be fused */
    bool effect;   /* a root even when nothing reads it; never merged */
    bool identity; /* output 0 is input 0 (assert, print, specify_shape) */
    bool promise;  /* it checks another op, which DebugMode blames if it fails */
    bool creates;  /* makes values from nothing (zeros, normal): without dtype= it takes
                      that of the receiver */
    bool bounds;   /* with creates: integers written out may be beyond the dtype */
    bool by_macro; /* a call of its name in the language is that of the macro */
    bool constant; /* of constants alone it is one itself, made while the graph is built
                      (make_slice, make_list, csr) */
    const char *sparse; /* the op applied instead to a sparse input, with its props */
    const char *list;   /* the same when the one input is a list */
    bool shape_only;    /* reads the shapes of its inputs, not their elements (shape) */
    const char *example; /* lines "matmul([[1., 2.]], [[3.], [4.]]) -> [[11.0]]":
                            documentation and tests */
    const char *file;
    int line; /* of the row, for messages */
    /* of the user's own: */
    const char *from;              /* the file or plugin; NULL: an op of the library */
    const struct OpBody *body;     /* its meaning is a text: userop/userop.h */
    const struct PluginOp *plugin; /* it is a plugin's: thunkline/plugin.h */
};

/* Of a row of a table: `.name = OP_ROW("sum")` says where the row is, too. */
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
/* Ops that the library itself builds or looks for; every catalogue has them. */
typedef enum KnownOp {
#define KNOWN(NAME, name) OP_##NAME,
#include "op/known.def"
#undef KNOWN
    KNOWN_OPS
} KnownOp;
const Op *op_known(Session *s, KnownOp which);
static inline bool op_is(Session *s, const Op *op, KnownOp which) {
    return op == op_known(s, which);
}
size_t op_count(Session *s);
const Op *op_get(Session *s, size_t i); /* sorted by name */
bool op_add(Session *s, const Op *op,
            Span at); /* from a file or plugin: E_DUPLICATE if the name is taken */

/* The loop for these dtypes at the session's CPU level; NULL: there is none. */
Loop *op_loop(Session *s, const Op *op, DType last_in, DType out);
/* view_map: the input that output `out` may view, or -1. */
int op_view(const Graph *g, ApplyId a, size_t out);
/* Does it keep its place: is it an effect, or a function among its props? */
bool op_has_effect(const Graph *g, const Op *op, const Props *props);
/* What `fails` says, or the default. */
bool op_may_fail(const Graph *g, ApplyId a);
bool op_never_fails(const Graph *g, ApplyId a);       /* for .fails: false */
bool op_fails_on_integers(const Graph *g, ApplyId a); /* or by shapes */
/* connection_pattern: do the elements of input `in` influence those of output `out`? */
bool op_connected(const Graph *g, ApplyId a, size_t in, size_t out);
/* The same for a function's inputs and outputs; worked out once, in linear time. */
bool graph_connected(Graph *fn, size_t in, size_t out);

#include "op/signature.h"

#endif
