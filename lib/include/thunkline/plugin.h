/* Types and Ops of your own in C, for `--plugin ./mine.so`. A whole plugin:
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
 * Rules. Every function returns false (or NULL, or TL_NONE) when it fails, and has then
 * said why, once, with api->fail: pass that on. Structs that you get are the library's
 * and stay for the call. Those that you give (defs, texts, tables) must stay as they
 * are while the plugin is loaded; their first member says how large they are, so that a
 * plugin goes on working when later versions add members: absent ones mean the default.
 * Keep no results, variables, types or hosts from one call to the next: there may be
 * several sessions. perform must be a function of its inputs alone. Nothing may throw,
 * exit or print. */
#ifndef THUNKLINE_PLUGIN_H
#define THUNKLINE_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when plugins must be compiled anew. */
#define TL_PLUGIN_ABI 1u

typedef struct TlApi TlApi;
typedef struct TlHost TlHost;   /* what the library is doing when it calls you */
typedef struct TlType TlType;   /* equal types are one pointer within a session */
typedef struct TlValue TlValue; /* of any type; borrowed */
typedef uint32_t TlVar;         /* a variable of the graph that is being built */
/* What is no variable. TL_NONE: there is none. It is what a function that failed
 * returns, having said why, and what you are given where there is nothing: the
 * gradient of an output that is disconnected from the cost, a tangent that is zero.
 * TL_DISCONNECTED: you say so: no element of the input influences the output.
 * TL_FORGOTTEN: nothing was said; what you have to fill in holds it at first. */
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
    TL_FLOAT16, /* its bits in a uint16_t */
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

/* The class of an error. While an op runs, all of them end a tool with status 5, else
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

/* A parameter of a type, as in money('EUR', 2): a text or an integer. */
typedef struct TlParam {
    const char *text; /* NULL: it is `number` */
    int64_t number;
} TlParam;

/* The filter of a type: is `value` one of it, or can it be made into one? */
typedef struct TlFilter {
    TlHost *host;
    const TlApi *api;
    const TlType *type;
    const TlValue *value; /* of this type, of another, or an array: numbers and lists of
                             numbers that the user wrote come as arrays */
    bool strict;          /* only what is of the type already, which is taken without
                             asking: refuse */
    int allow_downcast; /* 1: whatever is lost; 0, -1 (not said): nothing may be lost */
} TlFilter;

/* A value is value_size bytes that filter, from_text, from_bytes or an op fill in; they
 * are never changed afterwards and moved by copying the bytes. What they own beside is
 * freed by clear. Types are compared by name and parameters. */
typedef struct TlTypeDef {
    size_t size;            /* sizeof(TlTypeDef) */
    const char *name, *doc; /* as it is written: "double" */
    size_t value_size;
    /* Kinds of the parameters, "str, int"; NULL: none. check may refuse them. */
    const char *params;
    bool (*check)(TlHost *h, const TlApi *api, size_t n, const TlParam *param);
    /* Required. Fills in *out. */
    bool (*filter)(const TlFilter *f, void *out);
    void (*clear)(void *value);
    /* values_eq and values_eq_approx; absent: equal to_bytes, or the value's own bytes,
     * and equal. Needed with clear, unless there is to_bytes. A tolerance that
     * is negative was not given. */
    bool (*equal)(const TlType *t, const void *a, const void *b);
    bool (*approx)(const TlType *t, const void *a, const void *b, double rtol,
                   double atol);
    /* Do they have memory in common, beside what they share as one value? DebugMode
     * asks it of inputs and results. Absent: no. */
    bool (*may_share_memory)(const void *a, const void *b);
    size_t (*memory)(const void *value); /* bytes, for profiles; absent: value_size */
    /* As text: api->put or put_number write a number, a list or a 'quoted text' that
     * filter takes back, or from_text for a quoted text. NAME(text) is a constant in a
     * graph; of a type with parameters, NAME(PARAMETERS)(text): fixed(2)(1.25). A type
     * without text has values only while a graph runs and in the binary form. */
    bool (*text)(TlHost *h, const TlApi *api, const void *value);
    bool (*from_text)(const TlFilter *f, const char *text, void *out);
    /* As bytes in files, the same on every machine. to_bytes returns their number and
     * writes them unless buf is NULL. Both absent: the value's own bytes, if there is
     * no clear. */
    size_t (*to_bytes)(const void *value, unsigned char *buf);
    bool (*from_bytes)(const TlFilter *f, size_t n, const unsigned char *bytes,
                       void *out);
    /* For derivatives: the op that adds two values; 0.0 and 1.0 must pass the filter.
     */
    const char *add;
    /* is_valid_value of what an op or a file made: absent: every value is valid. */
    bool (*is_valid)(const TlType *t, const void *value);
    /* A value of its own that equals `value` and has no memory in common with it, in
     * *out. With copies DebugMode sees whether an op changes an input. Absent:
     * from_bytes of to_bytes, else the bytes; none for a type with clear but neither.
     */
    bool (*copy)(TlHost *h, const TlApi *api, const void *value, void *out);
    /* Any valid value, made of api->uniform and api->normal: what grewrite --verify and
     * ggrad --check give to inputs that have no value. Absent: these must be given. */
    bool (*random)(TlHost *h, const TlApi *api, const TlType *t, void *out);
} TlTypeDef;

/* transfer: a way for a value to get to a variable of another kind, whose own filter
 * does not take it. Functions are asked in the order in which they were added, unless
 * the check is strict; what one makes goes through the filter like any value. */
typedef struct TlTransfer {
    TlHost *host;
    const TlApi *api;
    const TlType *to;
    const TlValue *value;
} TlTransfer;
typedef enum TlTransferResult {
    TL_TRANSFER_DECLINED, /* not this value, not to this type: the next is asked */
    TL_TRANSFER_DONE,     /* it is in transfer_object or transfer_tensor */
    TL_TRANSFER_FAILED
} TlTransferResult;
typedef TlTransferResult TlTransferFn(TlTransfer *t);

/* ---- Ops ---- */

/* What all contexts of an op begin with. */
#define TL_CONTEXT                                                                     \
    TlHost *host;                                                                      \
    const TlApi *api;                                                                  \
    const char *op;   /* its name */                                                   \
    const void *user; /* of its def */                                                 \
    size_t nin, nout

/* make_node: types of the outputs from those of the inputs. It is asked again with the
 * inputs that it led to, and must then say the same. */
typedef struct TlNode {
    TL_CONTEXT;
    const TlType *const *in;
    const TlType **out; /* to fill; nout may be set, to at most 1024 */
} TlNode;

/* A run. compute_map: what a lazy thunk finds of its inputs. */
enum { TL_NOT_COMPUTED, TL_COMPUTED, TL_COLLECTED };
typedef struct TlCall {
    TL_CONTEXT;
    const TlValue *const *in;
    const TlType *const *out_type;
    const uint8_t *computed;  /* thunks: by input */
    bool *need;               /* lazy thunks: set those that must be computed first */
    const bool *no_recycling; /* thunks: by output: not what an earlier run left */
} TlCall;

/* make_thunk: another way to run an Apply, with a state. */
enum { TL_IMPL_ANY, TL_IMPL_FAST, TL_IMPL_DEBUG };
typedef enum TlThunkResult {
    TL_THUNK_FAILED,
    TL_THUNK_DONE,
    TL_THUNK_NEEDS
} TlThunkResult;
typedef struct TlThunk {
    size_t size;
    bool lazy; /* runs when an output is wanted, whatever inputs there are */
    bool (*make)(const TlCall *c, int impl, void **state); /* c has no values yet */
    TlThunkResult (*run)(void *state, TlCall *c);
    void (*free)(void *state);
} TlThunk;

/* grad, L_op: the gradient by each wanted input, built from expressions. It has the
 * input's shape and a float or complex dtype, and is zero if the input reaches the cost
 * through integers only; what types can't tell of that is checked when it runs. */
typedef struct TlGrad {
    TL_CONTEXT;
    const TlVar *in, *out;
    const TlVar *g; /* by output; TL_NONE: disconnected from the cost. In texts g_NAME
                       of such an output is zeros */
    const bool *wanted; /* others may be forgotten */
    /* To fill: a variable, api->undefined, or TL_DISCONNECTED, which is an error
     * against the op's own connection pattern and a warning where it has none. To be
     * silent is an error, too; but for an op without a pattern it says disconnected
     * while one of several outputs is so. */
    TlVar *grad;
} TlGrad;
/* R_op: the tangent of each output, of its shape and a float or complex dtype. */
typedef struct TlPush {
    TL_CONTEXT;
    const TlVar *in, *out;
    const TlVar *tangent; /* TL_NONE: zero */
    /* To fill, by output; TL_DISCONNECTED, or TL_NONE as a tangent that is handed on:
     * zero. One may be forgotten that no tangent is connected to. */
    TlVar *result;
} TlPush;
/* infer_shape: a list [n, m, ...] as a text (api->text) or with api->ints for each
 * output, from the inputs; the op is not run. False without api->fail: declined. */
typedef struct TlShape {
    TL_CONTEXT;
    const TlVar *in;
    TlVar *shape; /* by output: an int64 vector; TL_NONE: can't be told */
} TlShape;
/* What decisions about one Apply may look at: connection_pattern, view_map, destroy_map
 * by case, do_constant_folding. */
typedef struct TlApply {
    TL_CONTEXT;
    const TlType *const *in, *const *out;
} TlApply;

typedef struct TlOpDef {
    size_t size; /* sizeof(TlOpDef) */
    const char *name, *doc, *alias;
    /* Texts may name what is said below, functions of the language, and all ops of the
     * plugin; anything else is refused when the plugin is loaded. */
    /* Inputs "x, y", props "beta: float = 1.0" and, if there are several, names of the
     * outputs "q, r"; the only output of an op without `out` is r. An input is a
     * tensor, or `x: any` (any Type), `n: int`, `shape: ints`, `flag: bool`; `y?` may
     * be left out; a last `*rest` takes the rest. Kinds of props: bool int float str
     * dtype ints axes axis. Equal props make equal ops. */
    const char *in, *props, *out;
    uint16_t version;   /* of its meaning; graphs keep it. 0 counts as 1 */
    int default_output; /* 1 + the output that a call gives; 0: all */
    const void *user;   /* yours, found again in every context */
    /* Typing: either types as text, "float64[?], double", or a function. */
    const char *itypes, *otypes;
    bool (*make_node)(TlNode *n);
    /* Running: perform or thunk. */
    bool (*perform)(TlCall *c);
    /* What DebugMode runs in the place of perform, for an op whose perform would
     * trouble it: one that leaves its result uninitialised, say. See
     * debug_is_reference. */
    bool (*debug_perform)(TlCall *c);
    const TlThunk *thunk;
    bool keeps_storage; /* an output's storage is what this op put there last, or new */
    /* Derivatives: one of these texts, or C. A text is one expression for each input,
     * with semicolons, in inputs, props, the result r and its gradient g; of an op with
     * several outputs in these and g_NAME of each, which is zeros for one that the cost
     * does not depend on. "disconnected" and "undefined('why')" are such expressions,
     * too; where neither `disconnected` nor `connected` is given, an input whose text
     * is the former is disconnected from all outputs. pushforward is optional. Without
     * any, differentiating is an error. */
    const char *partials; /* d r / d x of an elementwise op: "y; x" */
    const char *adjoint;  /* of an op that is linear in each input:
                             "mul(g, y); mul(g, x)" */
    const char *pullback; /* of any op: "div(g, y); ..." */
    bool (*grad)(TlGrad *g);
    bool (*pushforward)(TlPush *p);
    const char *disconnected; /* inputs whose elements influence nothing: "n, shape" */
    bool (*connected)(const TlApply *a, size_t in, size_t out);
    /* Shape and cost. */
    const char *shape; /* of output 0: "[n, x.shape[1]]" */
    bool (*infer_shape)(TlShape *s);
    const char *flops; /* "2 * x.size" */
    /* Memory: which input an output may view, which one making it overwrites (perform
     * then changes the input, a tensor, and passes it on): "r: x", "q: x, p: y". */
    const char *view_map, *destroy_map;
    int (*view)(const TlApply *a, size_t out); /* by case; -1: none */
    int (*destroy)(const TlApply *a, size_t out);
    /* do_constant_folding; absent: always. */
    bool never_fold;
    bool (*fold)(const TlApply *a);
    bool commutative; /* its two inputs may change places */
    bool (*str)(TlHost *h,
                const TlApi *api); /* __str__, by api->put; absent: name(props) */
    const char *example;           /* "twice(1.5) -> 3.0" */
    /* debug_perform is slow and obviously right: DebugMode runs perform as ever, and
     * compares the two. */
    bool debug_is_reference;
} TlOpDef;

/* ---- what you may ask for ---- */
#if defined(__GNUC__)
#define TL_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define TL_PRINTF(fmt, first)
#endif

struct TlApi {
    size_t size; /* later versions are larger */
    uint32_t abi;
    const char *version; /* of thunkline */

    /* Says what is wrong; returns false. */
    bool (*fail)(TlHost *h, TlError e, const char *fmt, ...) TL_PRINTF(3, 4);

    /* -- init only -- */
    bool (*add_type)(TlHost *h, const TlTypeDef *def);
    bool (*add_op)(TlHost *h, const TlOpDef *def);

    /* -- types -- */
    /* Of a text: "double", "float64[3, ?]", "list(double)". */
    const TlType *(*type)(TlHost *h, const char *text);
    const char *(*type_text)(TlHost *h, const TlType *t);
    bool (*type_is)(const TlType *t, const TlTypeDef *def); /* with any parameters */
    size_t (*type_params)(const TlType *t, const TlParam **param);
    /* Dims are sizes; -1: not known; other negative ones are names, to be passed on:
     * equal numbers are one name within a session, and different ones (or -1) may still
     * turn out to be one size. They must not be kept, ordered or reckoned with. */
    bool (*tensor_type)(const TlType *t, TlDType *d, int *ndim, const int64_t **dim);
    const TlType *(*make_tensor)(TlHost *h, TlDType d, int ndim, const int64_t *dim);

    /* -- props of the op at hand; the name must be right -- */
    bool (*prop_bool)(TlHost *h, const char *name);
    int64_t (*prop_int)(TlHost *h, const char *name);
    double (*prop_float)(TlHost *h, const char *name);
    const char *(*prop_str)(TlHost *h, const char *name);
    TlDType (*prop_dtype)(TlHost *h, const char *name);
    size_t (*prop_ints)(TlHost *h, const char *name, const int64_t **v);
    bool (*prop_is_none)(TlHost *h, const char *name);

    /* -- make_node -- */
    /* Was the input written in place: a number as 2 in mul(x, 2), a list of numbers as
     * in scale(x, [1, 2]), or for an input `x: any` a text as in label_cat(a, 'b')? */
    bool (*is_literal)(TlNode *n, size_t i);
    /* Makes it a constant of type t, through the type's filter, or from_text for a
     * text; n->in[i] is then t. A text must be wrapped. With itypes this happens by
     * itself. */
    bool (*wrap)(TlNode *n, size_t i, const TlType *t);

    /* -- values -- */
    const TlType *(*value_type)(TlHost *h, const TlValue *v);
    bool (*tensor)(const TlValue *v, TlTensor *t); /* false: it is none */
    /* A number of any real dtype as a double; *exact: nothing was lost. False: it is no
     * number. */
    bool (*to_double)(const TlValue *v, double *x, bool *exact);
    /* The bytes of a value of a plugin's type; NULL: it is another's. */
    const void *(*object)(const TlValue *v, const TlTypeDef *def);
    const char *(*describe)(TlHost *h, const TlValue *v); /* "an array float64[3]" */

    /* -- perform, thunks -- */
    /* An input that must be a tensor or of the plugin's type; the type said so. */
    bool (*input)(const TlCall *c, size_t i, TlTensor *t);
    const void *(*input_object)(const TlCall *c, size_t i);
    /* Storage of output i: row-major, of its type's dtype, uninitialised. It is the
     * library's, good for this call only: the next run may get the same, another or
     * none, unless keeps_storage. Every output must be made in every call, by one of
     * output, output_object, pass and view. */
    bool (*output)(TlCall *c, size_t i, int ndim, const int64_t *shape, TlTensor *t);
    /* What perform left there in the last run (keeps_storage); false: nothing. */
    bool (*kept)(TlCall *c, size_t i, TlTensor *t);
    /* Bytes for a value of output i's type, zeroed. */
    void *(*output_object)(TlCall *c, size_t i);
    /* Output i is the whole of input `of`, or a part of its memory. */
    bool (*pass)(TlCall *c, size_t i, size_t of);
    bool (*view)(TlCall *c, size_t i, size_t of, const TlTensor *part);
    void *(*scratch)(TlCall *c, size_t bytes); /* 64-byte aligned, for this call */

    /* -- building expressions: grad, pushforward, infer_shape -- */
    /* A text in the language. Names: inputs, props, r or the outputs' names, and in
     * grad g (g_NAME for each of several outputs), in pushforward t_NAME for each
     * input. */
    TlVar (*text)(TlHost *h, const char *text);
    /* op(in...), with props as text, "axis=0, keepdims=True", or NULL. All outputs go
     * to out, if it is not NULL; the first is returned. */
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
    void (*put_number)(TlHost *h, double v); /* shortest that reads back equal */
    void (*put_quoted)(TlHost *h, const char *text);

    /* -- init only -- */
    bool (*add_transfer)(TlHost *h, TlTransferFn *fn);
    /* -- transfers -- */
    /* What the value becomes: bytes of a value of the plugin's type `to`, zeroed, or a
     * row-major array, uninitialised. */
    void *(*transfer_object)(TlTransfer *t);
    bool (*transfer_tensor)(TlTransfer *t, TlDType d, int ndim, const int64_t *shape,
                            TlTensor *out);

    /* -- random -- */
    double (*uniform)(TlHost *h); /* in [0, 1); each call gives another */
    double (*normal)(TlHost *h);  /* standard normal */

    /* -- perform, thunks -- */
    /* Input i as api->input gives it, but row-major: where it is not so already, a copy
     * in scratch. Only to be read. */
    bool (*contiguous)(TlCall *c, size_t i, TlTensor *t);
};

/* What a plugin exports, by the name tl_plugin. init adds its types, then its ops. */
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
