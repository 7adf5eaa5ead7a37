/* Your own Types and Ops in C, for `--plugin ./mine.so`. A complete plugin:
 *
 *     #include <thunkline/plugin.h>
 *
 *     static bool make(TlNode *n) {
 *         n->out[0] = n->in[0];
 *         return true;
 *     }
 *     static bool run(TlCall *c) {
 *         TlTensor x, r;
 *         if (!c->api->input(c, 0, &x) || !c->api->output(c, 0, x.ndim, x.shape, &r))
 *             return false;
 *         ... x.data, x.stride -> r.data, which is row-major ...
 *         return true;
 *     }
 *     static const TlOpDef twice = {
 *         .size = sizeof twice, .name = "twice", .in = "x", .doc = "Two times x.",
 *         .make_node = make, .perform = run, .adjoint = "2 * g"};
 *
 *     static bool init(TlHost *h, const TlApi *api) { return api->add_op(h, &twice); }
 *     TL_PLUGIN("mine", "1.0", init)
 *
 *     cc -std=c11 -shared -fPIC -o mine.so mine.c
 *
 * Rules. A function of the api that fails has reported the reason and returns false (or
 * NULL, or TL_NONE): return the same. A function of yours that fails reports the reason
 * once, with api->fail. Structs that you receive belong
 * to the library and are valid during the call. Those that you provide (defs, texts,
 * tables) must remain unchanged while the plugin is loaded. Their first member is their
 * size, so that a plugin keeps working when later versions add members: a missing
 * member has its default. Don't keep results, variables, types or hosts between calls:
 * there may be several sessions. perform must depend on its inputs alone. Nothing may
 * throw, exit or print. */
#ifndef THUNKLINE_PLUGIN_H
#define THUNKLINE_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when plugins must be recompiled. */
#define TL_PLUGIN_ABI 1u

typedef struct TlApi TlApi;
typedef struct TlHost TlHost;   /* the context in which the library calls you */
typedef struct TlType TlType;   /* equal types are the same pointer within a session */
typedef struct TlValue TlValue; /* of any type; borrowed */
typedef uint32_t TlVar;         /* a variable of the graph being built */
/* Special values of TlVar. TL_NONE: no variable. A function that failed returns it,
 * after reporting why; and you receive it for the gradient of an output that is
 * disconnected from the cost and for a zero tangent. TL_DISCONNECTED: you declare that
 * no element of the input influences the output. TL_FORGOTTEN: the initial value of
 * whatever you have to fill in. */
#define TL_NONE         UINT32_MAX
#define TL_DISCONNECTED (UINT32_MAX - 1)
#define TL_FORGOTTEN    (UINT32_MAX - 2)

typedef enum TlDType {
    TL_BOOL, /* a byte, 0 or 1 */
    TL_INT8,
    TL_INT16,
    TL_INT32,
    TL_INT64,
    TL_UINT8,
    TL_UINT16,
    TL_UINT32,
    TL_UINT64,
    TL_FLOAT16, /* bits in a uint16_t */
    TL_FLOAT32,
    TL_FLOAT64,
    TL_COMPLEX64,
    TL_COMPLEX128
} TlDType;

enum { TL_NDIM = 32 };
/* Shape in elements, strides in bytes. */
typedef struct TlTensor {
    TlDType dtype;
    int ndim;
    int64_t shape[TL_NDIM], stride[TL_NDIM];
    void *data;
} TlTensor;

/* The class of an error. At run time all of them end a tool with status 5, otherwise
 * with 3. */
typedef enum TlError {
    TL_WRONG_TYPE = 1,
    TL_WRONG_DTYPE,
    TL_WRONG_SHAPE,
    TL_WRONG_VALUE,
    TL_WRONG_INDEX,
    TL_WRONG_COUNT, /* of arguments */
    TL_FAILED       /* anything else */
} TlError;

/* ---- Types ---- */

/* A type's parameter, as in money('EUR', 2): a text or an integer. */
typedef struct TlParam {
    const char *text; /* NULL: use `number` */
    int64_t number;
} TlParam;

/* The filter of a type: does `value` have the type, or can it be converted? */
typedef struct TlFilter {
    TlHost *host;
    const TlApi *api;
    const TlType *type;
    const TlValue *value; /* of this type, of another, or an array: numbers and lists of
                           * numbers written by the user arrive as arrays */
    bool strict;          /* convert nothing: refuse. Values that already have the type
                           * are accepted without a call */
    int allow_downcast;   /* 1: any loss is allowed; 0, -1 (not given): none is */
} TlFilter;

/* A value is value_size bytes, filled in by filter, from_text, from_bytes or an op; it
 * is immutable afterwards and may be moved by copying the bytes. clear frees what the
 * value owns. Types are compared by name and parameters. */
typedef struct TlTypeDef {
    size_t size;            /* sizeof(TlTypeDef) */
    const char *name, *doc; /* as written: "double" */
    size_t value_size;
    /* Kinds of the parameters, "str, int"; NULL: none. check may reject them. */
    const char *params;
    bool (*check)(TlHost *h, const TlApi *api, size_t n, const TlParam *param);
    /* Required. Fills in *out. */
    bool (*filter)(const TlFilter *f, void *out);
    void (*clear)(void *value);
    /* values_eq and values_eq_approx. Without `equal`, values are compared by to_bytes,
     * else by their own bytes, so a type with clear needs `equal` or to_bytes. Without
     * `approx`, `equal` is asked. A negative tolerance: the user gave none. */
    bool (*equal)(const TlType *t, const void *a, const void *b);
    bool (*approx)(const TlType *t, const void *a, const void *b, double rtol,
                   double atol);
    /* Do two values share memory, other than by being the same value? DebugMode asks
     * this for inputs and results. If absent: no. */
    bool (*may_share_memory)(const void *a, const void *b);
    size_t (*memory)(const void *value); /* bytes, for profiles; if absent:
                                          * value_size */
    /* The text of a value: api->put or put_number write a number, a list or a 'quoted
     * text' that filter accepts back, or from_text for a quoted text. NAME(text) is a
     * constant in a graph; for a type with parameters, NAME(PARAMETERS)(text):
     * fixed(2)(1.25). Values of a type without text exist only while a graph runs and
     * in the binary form. */
    bool (*text)(TlHost *h, const TlApi *api, const void *value);
    bool (*from_text)(const TlFilter *f, const char *text, void *out);
    /* The bytes of a value in files, the same on every machine. to_bytes returns their
     * number and writes them unless buf is NULL. If both are absent: the value's own
     * bytes, provided there is no clear. */
    size_t (*to_bytes)(const void *value, unsigned char *buf);
    bool (*from_bytes)(const TlFilter *f, size_t n, const unsigned char *bytes,
                       void *out);
    /* For derivatives: the op that adds two values; the filter must accept 0.0 and
     * 1.0. */
    const char *add;
    /* is_valid_value for a value made by an op or read from a file; if absent, every
     * value is valid. */
    bool (*is_valid)(const TlType *t, const void *value);
    /* Makes in *out an independent value that equals `value` and shares no memory with
     * it. DebugMode compares copies to see whether an op changes an input. If absent:
     * from_bytes of to_bytes, else the bytes; a type with clear but neither of these
     * has no copies. */
    bool (*copy)(TlHost *h, const TlApi *api, const void *value, void *out);
    /* Any valid value, made with api->uniform and api->normal: used by grewrite
     * --verify and ggrad --check for inputs without a value. If absent, these must be
     * given. */
    bool (*random)(TlHost *h, const TlApi *api, const TlType *t, void *out);
} TlTypeDef;

/* transfer: converts a value for a variable of another kind, whose own filter doesn't
 * accept it. Functions are tried in the order in which they were added, unless the
 * check is strict; the result goes through the filter like any value. */
typedef struct TlTransfer {
    TlHost *host;
    const TlApi *api;
    const TlType *to;
    const TlValue *value;
} TlTransfer;
typedef enum TlTransferResult {
    TL_TRANSFER_DECLINED, /* not for this value or type: try the next function */
    TL_TRANSFER_DONE,     /* the result is in transfer_object or transfer_tensor */
    TL_TRANSFER_FAILED
} TlTransferResult;
typedef TlTransferResult TlTransferFn(TlTransfer *t);

/* ---- Ops ---- */

/* The first members of every op context. */
#define TL_CONTEXT                                                                     \
    TlHost *host;                                                                      \
    const TlApi *api;                                                                  \
    const char *op;   /* its name */                                                   \
    const void *user; /* of its def */                                                 \
    size_t nin, nout

/* make_node: infers the outputs' types from the inputs'. It is called again with the
 * inputs as it has left them, and must then return the same types. */
typedef struct TlNode {
    TL_CONTEXT;
    const TlType *const *in;
    const TlType **out; /* fill these in; nout may be set, to at most 1024 */
} TlNode;

/* A run. compute_map: the state of a lazy thunk's inputs. */
enum { TL_NOT_COMPUTED, TL_COMPUTED, TL_COLLECTED };
typedef struct TlCall {
    TL_CONTEXT;
    const TlValue *const *in;
    const TlType *const *out_type;
    const uint8_t *computed;  /* thunks: by input */
    bool *need;               /* lazy thunks: mark those to compute first */
    const bool *no_recycling; /* thunks: by output: don't reuse what an earlier run
                               * left */
} TlCall;

/* make_thunk: an alternative way to run an Apply, with a state. */
enum { TL_IMPL_ANY, TL_IMPL_FAST, TL_IMPL_DEBUG };
typedef enum TlThunkResult {
    TL_THUNK_FAILED,
    TL_THUNK_DONE,
    TL_THUNK_NEEDS
} TlThunkResult;
typedef struct TlThunk {
    size_t size;
    bool lazy; /* runs as soon as an output is wanted, whether or not its inputs
                * exist */
    bool (*make)(const TlCall *c, int impl, void **state); /* c has no values yet */
    TlThunkResult (*run)(void *state, TlCall *c);
    void (*free)(void *state);
} TlThunk;

/* grad, L_op: builds the gradient with respect to each wanted input. It has the input's
 * shape and a float or complex dtype, and is zero if the input reaches the cost only
 * through integers; what types can't prove is checked at run time. */
typedef struct TlGrad {
    TL_CONTEXT;
    const TlVar *in, *out;
    const TlVar *g;     /* by output; TL_NONE: disconnected from the cost. In formulas,
                         * g_NAME of such an output is zeros */
    const bool *wanted; /* others may be left out */
    /* Fill in: a variable, api->undefined, or TL_DISCONNECTED. The latter is an error
     * if the op's connection pattern says otherwise, and a warning if the op has none;
     * a variable is an error for an input that the pattern connects to no output. To
     * leave out a wanted gradient is an error, too, unless the op has no pattern and
     * one of its outputs is disconnected: then the input counts as disconnected. */
    TlVar *grad;
} TlGrad;
/* R_op: builds the tangent of each output, with the output's shape and a float or
 * complex dtype. */
typedef struct TlPush {
    TL_CONTEXT;
    const TlVar *in, *out;
    const TlVar *tangent; /* TL_NONE: zero */
    /* Fill in, by output; TL_DISCONNECTED, or TL_NONE passed on as a tangent: zero. An
     * output without a connected tangent may be left out. */
    TlVar *result;
} TlPush;
/* infer_shape: a list [n, m, ...] for each output, as a formula (api->text) or with
 * api->ints, in terms of the inputs; the op doesn't run. False without api->fail:
 * declined. */
typedef struct TlShape {
    TL_CONTEXT;
    const TlVar *in;
    TlVar *shape; /* by output: an int64 vector; TL_NONE: unknown */
} TlShape;
/* Context for decisions about one Apply: connection_pattern, view_map and destroy_map
 * by case, do_constant_folding. */
typedef struct TlApply {
    TL_CONTEXT;
    const TlType *const *in, *const *out;
} TlApply;

typedef struct TlOpDef {
    size_t size; /* sizeof(TlOpDef) */
    const char *name, *doc, *alias;
    /* Formulas may use the names below, functions of the language, and all ops of the
     * plugin; anything else is rejected when the plugin is loaded. */
    /* Inputs "x, y", props "beta: float = 1.0" and, if there are several, names of the
     * outputs "q, r"; the only output of an op without `out` is r. An input is a
     * tensor, or `x: any` (any Type), `n: int`, `shape: ints`, `flag: bool`; `y?` is
     * optional; a last `*rest` takes all the remaining ones. Kinds of props: bool int
     * float str dtype ints axes axis. Equal props make equal ops. */
    const char *in, *props, *out;
    uint16_t version;   /* of its meaning; graphs store it. 0 counts as 1 */
    int default_output; /* 1 + the output that a call returns; 0: all */
    const void *user;   /* yours, available in every context */
    /* Typing: either types as text, "float64[?], double", or a function. */
    const char *itypes, *otypes;
    bool (*make_node)(TlNode *n);
    /* Running: perform or thunk. */
    bool (*perform)(TlCall *c);
    /* DebugMode runs this instead of perform, for an op whose perform DebugMode would
     * report wrongly, such as one that leaves its result uninitialised. See
     * debug_is_reference. */
    bool (*debug_perform)(TlCall *c);
    const TlThunk *thunk;
    bool keeps_storage; /* an output gets the storage that this op's last run left,
                         * content and all, or new storage */
    /* Derivatives: one of these texts, or C. A text has one expression per input,
     * separated by semicolons, in inputs, props, the result r and its gradient g; for
     * several outputs, in these and g_NAME of each, which is zeros if the cost doesn't
     * depend on it. "disconnected" and "undefined('why')" are expressions, too; unless
     * `disconnected` or `connected` is given, an input with the former is disconnected
     * from all outputs. pushforward is optional. Without any of these, differentiating
     * is an error. */
    const char *partials; /* d r / d x of an elementwise op: "y; x" */
    const char *adjoint;  /* for an op linear in each input: "mul(g, y); mul(g, x)" */
    const char *pullback; /* for any op: "div(g, y); ..." */
    bool (*grad)(TlGrad *g);
    bool (*pushforward)(TlPush *p);
    const char *disconnected; /* inputs whose elements influence no output: "n,
                               * shape" */
    bool (*connected)(const TlApply *a, size_t in, size_t out);
    /* Shape and cost. */
    const char *shape; /* of output 0: "[n, x.shape[1]]" */
    bool (*infer_shape)(TlShape *s);
    const char *flops; /* "2 * x.size" */
    /* Memory: the input that an output may view, and the input that computing an output
     * overwrites (perform then changes the input, a tensor, and passes it on): "r: x",
     * "q: x, p: y". All other readers of such an input run first; where they can't,
     * because it is an output of the graph, say, perform gets a copy. */
    const char *view_map, *destroy_map;
    int (*view)(const TlApply *a, size_t out); /* by case; -1: none */
    int (*destroy)(const TlApply *a, size_t out);
    /* do_constant_folding; if absent: always. */
    bool never_fold;
    bool (*fold)(const TlApply *a);
    bool commutative; /* its two inputs may be swapped */
    bool (*str)(TlHost *h,
                const TlApi *api); /* __str__, with api->put; if absent: name(props) */
    const char *example;           /* "twice(1.5) -> 3.0" */
    /* debug_perform is slow and obviously correct: DebugMode runs perform as usual and
     * compares both. Where they differ because large terms cancel, it runs
     * debug_perform a few times more, on inputs that are off by their last digit:
     * perform may be off by as much as those results are. */
    bool debug_is_reference;
} TlOpDef;

/* ---- the functions offered to you ---- */
#if defined(__GNUC__)
#define TL_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define TL_PRINTF(fmt, first)
#endif

struct TlApi {
    size_t size; /* larger in later versions */
    uint32_t abi;
    const char *version; /* of thunkline */

    /* Reports an error; returns false. */
    bool (*fail)(TlHost *h, TlError e, const char *fmt, ...) TL_PRINTF(3, 4);

    /* -- init only -- */
    bool (*add_type)(TlHost *h, const TlTypeDef *def);
    bool (*add_op)(TlHost *h, const TlOpDef *def);

    /* -- types -- */
    /* From a text: "double", "float64[3, ?]", "list(double)". */
    const TlType *(*type)(TlHost *h, const char *text);
    const char *(*type_text)(TlHost *h, const TlType *t);
    bool (*type_is)(const TlType *t, const TlTypeDef *def); /* with any parameters */
    size_t (*type_params)(const TlType *t, const TlParam **param);
    /* Dims are sizes; -1: unknown; other negative numbers stand for names. Within a
     * session equal numbers are the same name; different ones, or -1, may still turn
     * out to be equal sizes. Pass names on, but don't store them, order them or compute
     * with them. */
    bool (*tensor_type)(const TlType *t, TlDType *d, int *ndim, const int64_t **dim);
    const TlType *(*make_tensor)(TlHost *h, TlDType d, int ndim, const int64_t *dim);

    /* -- props of the current op; the name must exist -- */
    bool (*prop_bool)(TlHost *h, const char *name);
    int64_t (*prop_int)(TlHost *h, const char *name);
    double (*prop_float)(TlHost *h, const char *name);
    const char *(*prop_str)(TlHost *h, const char *name);
    TlDType (*prop_dtype)(TlHost *h, const char *name);
    size_t (*prop_ints)(TlHost *h, const char *name, const int64_t **v);
    bool (*prop_is_none)(TlHost *h, const char *name);

    /* -- make_node -- */
    /* Is the input a literal: a number such as the 2 of mul(x, 2), a list of numbers as
     * in scale(x, [1, 2]), or, where the input is `x: any`, a text as in
     * label_cat(a, 'b')? */
    bool (*is_literal)(TlNode *n, size_t i);
    /* Turns it into a constant of type t, through the type's filter, or through
     * from_text for a text; n->in[i] is then t. A text must be wrapped. With itypes
     * this is automatic. */
    bool (*wrap)(TlNode *n, size_t i, const TlType *t);

    /* -- values -- */
    const TlType *(*value_type)(TlHost *h, const TlValue *v);
    bool (*tensor)(const TlValue *v, TlTensor *t); /* false: not an array */
    /* A number of any real dtype as a double; *exact: without loss. False: not a
     * number. */
    bool (*to_double)(const TlValue *v, double *x, bool *exact);
    /* The bytes of a value of a plugin's type; NULL: it has another type. */
    const void *(*object)(const TlValue *v, const TlTypeDef *def);
    const char *(*describe)(TlHost *h, const TlValue *v); /* "an array float64[3]" */

    /* -- perform, thunks -- */
    /* An input of which the op's typing guarantees that it is a tensor, or of the
     * plugin's type. */
    bool (*input)(const TlCall *c, size_t i, TlTensor *t);
    const void *(*input_object)(const TlCall *c, size_t i);
    /* Storage for output i: row-major, of its type's dtype, uninitialised. It belongs
     * to the library and is valid for this call only: the next run may get the same,
     * another or none, unless keeps_storage. Every call must make every output, with
     * one of output, output_object, pass and view. */
    bool (*output)(TlCall *c, size_t i, int ndim, const int64_t *shape, TlTensor *t);
    /* What perform left there in its last run (keeps_storage); false: nothing. */
    bool (*kept)(TlCall *c, size_t i, TlTensor *t);
    /* Zeroed bytes for a value of output i's type. */
    void *(*output_object)(TlCall *c, size_t i);
    /* Makes output i the whole of input `of`, or a part of its memory. */
    bool (*pass)(TlCall *c, size_t i, size_t of);
    bool (*view)(TlCall *c, size_t i, size_t of, const TlTensor *part);
    void *(*scratch)(TlCall *c, size_t bytes); /* 64-byte aligned, valid for this
                                                * call */

    /* -- building expressions: grad, pushforward, infer_shape -- */
    /* A formula in the language. Names: inputs, props, r or the outputs' names; in
     * grad, g (g_NAME for each of several outputs); in pushforward, t_NAME for each
     * input. */
    TlVar (*text)(TlHost *h, const char *text);
    /* op(in...), with props as text, "axis=0, keepdims=True", or NULL. Stores all
     * outputs in out unless it is NULL; returns the first. */
    TlVar (*apply)(TlHost *h, const char *op, const char *props, size_t nin,
                   const TlVar *in, TlVar *out);
    TlVar (*number)(TlHost *h, TlDType d, double v);
    TlVar (*ints)(TlHost *h, size_t n, const int64_t *v);
    TlVar (*constant)(TlHost *h, const TlType *t, double v); /* through its filter */
    TlVar (*undefined)(TlHost *h, const char *why);
    const TlType *(*var_type)(TlHost *h, TlVar v);

    /* -- the graph around an Apply: fold -- */
    bool (*is_output)(const TlApply *a);
    size_t (*clients)(const TlApply *a);
    /* Client i reads output *out as its input *in. */
    const char *(*client)(const TlApply *a, size_t i, size_t *in, size_t *out);

    /* -- text and str -- */
    void (*put)(TlHost *h, const char *text);
    void (*put_number)(TlHost *h, double v); /* shortest text that reads back equal */
    void (*put_quoted)(TlHost *h, const char *text);

    /* -- init only -- */
    bool (*add_transfer)(TlHost *h, TlTransferFn *fn);
    /* -- transfers -- */
    /* The result of the transfer: zeroed bytes of a value of the plugin's type `to`, or
     * an uninitialised row-major array. */
    void *(*transfer_object)(TlTransfer *t);
    bool (*transfer_tensor)(TlTransfer *t, TlDType d, int ndim, const int64_t *shape,
                            TlTensor *out);

    /* -- random -- */
    double (*uniform)(TlHost *h); /* in [0, 1); each call returns another */
    double (*normal)(TlHost *h);  /* standard normal */

    /* -- perform, thunks -- */
    /* Input i as from api->input, but row-major: copied to scratch if it isn't already.
     * Read only. */
    bool (*contiguous)(TlCall *c, size_t i, TlTensor *t);
};

/* The symbol tl_plugin that a plugin exports. init adds its types, then its ops. */
typedef struct TlPlugin {
    uint32_t abi;
    const char *name, *version;
    bool (*init)(TlHost *h, const TlApi *api);
} TlPlugin;

#if defined(__GNUC__)
#define TL_EXPORT __attribute__((visibility("default")))
#else
#define TL_EXPORT
#endif
#define TL_PLUGIN(name, version, init)                                                 \
    extern TL_EXPORT const TlPlugin tl_plugin;                                         \
    const TlPlugin tl_plugin = {TL_PLUGIN_ABI, name, version, init};

#ifdef __cplusplus
}
#endif

#endif
