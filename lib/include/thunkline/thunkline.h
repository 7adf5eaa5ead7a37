/* thunkline as a library: read a graph, differentiate it, rewrite it, run it, profile
 * it, as the five tools do.
 *
 *     TlSession *s = tl_session_new();
 *     TlGraph *g = tl_graph_read(s, "model.yaml");
 *     if (!g || !tl_graph_grad(g, "loss", "W,b")) fprintf(stderr, "%s\n", tl_error(s));
 *
 * A session owns all state; only one thread may use it at a time, and sessions are
 * independent. Functions that return bool or a pointer return false or NULL on failure,
 * and tl_error says why. Nothing prints or exits; if a small allocation fails, the
 * library calls abort(). Free profiles before their machine, machines before their
 * graph, and everything before the session; each once. A NULL handle may only be freed;
 * any other NULL is reported as an error unless the function says what it means.
 *
 * Structs that begin with `size` may get members in later versions, and programs that
 * were compiled before keep working. Set it to the struct's size. A member that is zero
 * has its default, and options that are NULL have all defaults:
 *
 *     TlGradOptions how = {.size = sizeof how, .jvp = "y"};   in C
 *     TlGradOptions how{}; how.size = sizeof how;             in C++
 *
 * Members and arguments have the names of the tools' options and take the same texts:
 * known_grads is --known-grads of ggrad(1). Messages name these options. */
#ifndef THUNKLINE_THUNKLINE_H
#define THUNKLINE_THUNKLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TL_API __attribute__((visibility("default")))
#else
#define TL_API
#endif

typedef struct TlSession TlSession;
typedef struct TlGraph TlGraph;
typedef struct TlMachine TlMachine;
typedef struct TlProfile TlProfile;

enum { TL_MAX_NDIM = 32 };

/* ---- Sessions ---- */

TL_API const char *tl_version(void); /* "0.1.0" */

TL_API TlSession *tl_session_new(void);
TL_API void tl_session_free(TlSession *s); /* NULL is allowed */
/* The errors and warnings since the last call, each as "place: error[CODE]: text" with
 * its notes; "" if there were none. Valid until the next call with this session. */
TL_API const char *tl_error(TlSession *s);
/* The exit status of a tool for the first error (see the manuals); 0 if there is none.
 * Call before tl_error, which clears the errors. */
TL_API int tl_status(TlSession *s);

typedef struct TlSessionOptions {
    size_t size;
    const char *floatX; /* float32 or float64: of graphs that don't say it themselves */
    unsigned threads;   /* 0: as many as cores. Results do not depend on it */
    uint64_t max_memory; /* bytes of arrays; 0: most of the machine's */
    /* Shows what print() in a graph writes, a line; NULL: nothing is shown. */
    void (*print)(void *ctx, const char *line);
    void *ctx;
} TlSessionOptions;
/* Call before the session's first graph is read. */
TL_API bool tl_session_set(TlSession *s, const TlSessionOptions *how);

/* Loads user-defined types, ops and optimizers for the graphs that this session reads
 * from then on: a plugin (a library built with <thunkline/plugin.h>), or a file of ops
 * and optimizers as text. If loading fails, the session may only be used for tl_error,
 * tl_status and tl_session_free. */
TL_API bool tl_plugin_load(TlSession *s, const char *path);
TL_API bool tl_ops_load(TlSession *s, const char *path);

/* ---- Graphs ---- */

/* Reads YAML, JSON or tlg, distinguished by content; "-" is standard input. load() in a
 * text reads below the file's folder. */
TL_API TlGraph *tl_graph_read(TlSession *s, const char *path);
TL_API TlGraph *tl_graph_read_memory(TlSession *s, const void *data, size_t size);
/* format is "yaml", "json", "tlg", "onnx", "dot", "tree" or "math"; NULL: by the
 * suffix. A regular file appears whole or not at all. */
TL_API bool tl_graph_write(TlGraph *g, const char *path, const char *format);
TL_API void tl_graph_free(TlGraph *g); /* NULL is allowed */

/* What a graph has, in the order of its file. */
typedef enum TlRole {
    TL_INPUT,
    TL_SHARED,
    TL_OUTPUT,
    TL_DIM /* names of sizes, such as n in float64[n, 3] */
} TlRole;
typedef struct TlVariable {
    size_t size;
    const char *name;  /* of an output: its label */
    const char *type;  /* as a graph file has it: "float64[n, 3]", "random" */
    const char *dtype; /* NULL: its values hold no numbers, or are lists */
    int ndim;
    int64_t dim[TL_MAX_NDIM];          /* -1: known only when the graph runs */
    const char *dim_name[TL_MAX_NDIM]; /* NULL: it has none */
    bool updated;                      /* shared: each call gives it a new value */
} TlVariable;
/* Describes the i-th of its kind, from 0; the texts live as long as the session. False
 * without an error if there are no more:
 *
 *     TlVariable v = {.size = sizeof v};
 *     for (size_t i = 0; tl_graph_variable(g, TL_INPUT, i, &v); i++) puts(v.name); */
TL_API bool tl_graph_variable(const TlGraph *g, TlRole role, size_t i, TlVariable *v);

/* Replaces a named dim by a number, in all types. If it fails, g may only be freed. */
TL_API bool tl_graph_set_dim(TlGraph *g, const char *name, int64_t size);

/* Adds outputs d_COST_d_WRT. cost NULL: the only output; wrt "W,b", NULL: the shared
 * variables that reach the cost, or if there are none, the float inputs. */
TL_API bool tl_graph_grad(TlGraph *g, const char *cost, const char *wrt);

/* At most one of cost, vjp, jvp, jacobian, hessian and hvp; without any, the cost is
 * the only output. Lists have commas: "W,b". */
typedef struct TlGradOptions {
    size_t size;
    const char *cost;       /* a scalar: d_{cost}_d_{wrt} */
    const char *vjp;        /* names: their pullback, d_{cost}_d_{wrt} */
    const char *jvp;        /* names: their pushforward in forward mode, jvp_{cost} */
    const char *jacobian;   /* names: jacobian_{cost}_{wrt} */
    const char *hessian;    /* a scalar: hessian_{cost}_{wrt} */
    const char *hvp;        /* a scalar: its Hessian times a vector, hvp_{cost}_{wrt} */
    const char *wrt;        /* NULL: as tl_graph_grad */
    const char *cotangent;  /* of vjp; names of variables, or of new inputs. NULL:
                             * g_{cost} */
    const char *tangents;   /* of jvp, for each wrt. NULL: t_{wrt} */
    const char *vector;     /* of hvp, for each wrt. NULL: v_{wrt} */
    const char *optimizer;  /* with cost: instead of outputs, updates of wrt by these
                             * rules: "clip_norm(1.0), adam(1e-3)" */
    const char *checkpoint; /* with cost or vjp: names of variables to keep, the others
                             * are computed again; "sqrt" chooses them */
    const char *consider_constant; /* names that gradients do not pass through */
    const char *known_grads;       /* "h=g_h": gradients that are known already */
    const char *name;              /* pattern for the names of results */
    const char *disconnected; /* if the cost doesn't depend on a wrt: "raise" (default),
                               * "warn", "ignore" */
    const char *return_disconnected; /* and its gradient then: "zero" (default),
                                      * "none" */
    const char *null; /* if a gradient is undefined: "raise" (default), "return" */
    bool mixed;       /* hessian: a block for each pair of wrt */
    bool by_pullback; /* jvp: from two pullbacks */
    bool only;        /* drops the outputs that the graph already had */
} TlGradOptions;
/* Adds derivatives to g. If it fails, g may only be freed. */
TL_API bool tl_graph_derive(TlGraph *g, const TlGradOptions *how);

/* Returns a new graph; g is unchanged. mode is FAST_RUN, FAST_COMPILE, STABILIZE or
 * NONE; NULL: FAST_RUN. */
TL_API TlGraph *tl_graph_rewrite(TlGraph *g, const char *mode);

typedef struct TlRewriteOptions {
    size_t size;
    const char *mode;         /* as above */
    const char *include;      /* "a,b": also the rewrites with these tags or names */
    const char *exclude;      /* not those */
    const char *require;      /* only those with all these tags */
    const char *const *rules; /* paths of files of rules */
    size_t nrules;
} TlRewriteOptions;
TL_API TlGraph *tl_graph_rewrite_with(TlGraph *g, const TlRewriteOptions *how);

/* Sets each shared variable that has the name of an array in the file (npz,
 * safetensors, GGUF, a state dict of PyTorch). Warns of arrays and of variables
 * that have no partner; if none has one, that is an error. */
TL_API bool tl_graph_load_shared(TlGraph *g, const char *path);
/* Writes g with the current values of its shared variables, in the format of the
 * suffix, tlg without one; a .npz or .safetensors gets these values alone. The file
 * appears whole or not at all, and survives a power failure. g is unchanged. */
TL_API bool tl_graph_save(TlGraph *g, const char *path);

/* ---- Machines ---- */

/* An array: shape in elements, strides in bytes. dtype is its name in NumPy: bool, int8
 * .. int64, uint8 .. uint64, float16, float32, float64, complex64, complex128. Bools
 * are bytes of 0 and 1. */
typedef struct TlArray {
    const char *dtype;
    int ndim;
    int64_t shape[TL_MAX_NDIM];
    int64_t stride[TL_MAX_NDIM];
    void *data;
} TlArray;

/* Prepares a graph to run as it is (rewrite it first for speed); it must outlive the
 * machine, and must not be changed except by tl_machine_store and
 * tl_graph_load_shared. */
TL_API TlMachine *tl_machine_new(TlGraph *g);
TL_API void tl_machine_free(TlMachine *m); /* NULL is allowed */

typedef struct TlMachineOptions {
    size_t size;
    const char *outputs; /* "a,b": these variables instead of the graph's outputs */
    bool no_updates;     /* shared variables keep their values */
} TlMachineOptions;
/* For a part of the graph: the inputs that only the rest needs need no value. */
TL_API TlMachine *tl_machine_new_with(TlGraph *g, const TlMachineOptions *how);

/* Sets an input or a shared variable through its type's filter, which converts the
 * array if its dtype loses nothing. An input's array that needs no conversion is used
 * in place: it must remain valid until the next set or the machine's end. A shared
 * variable gets a copy. */
TL_API bool tl_machine_set(TlMachine *m, const char *name, const TlArray *value);
/* One call: computes all outputs from the old shared values, then applies all
 * updates. */
TL_API bool tl_machine_run(TlMachine *m);
/* An output by label, or a shared variable's value; the data belongs to the machine and
 * is valid until the next run. */
TL_API bool tl_machine_get(TlMachine *m, const char *name, TlArray *value);

/* The same from a text in the language, as in grun's name=VALUE, for a variable of any
 * type: "[[1, 2], [3, 4]]", "@x.npy", "normal(0, 1, (3,), seed=1)", "double(2.5)". */
TL_API bool tl_machine_set_text(TlMachine *m, const char *name, const char *text);
/* A value of any type as grun prints it, valid until the next call of this function.
 * NULL: no such name, or its type has no text. */
TL_API const char *tl_machine_get_text(TlMachine *m, const char *name);

/* Sets a dim that no input determines; a run fails if an input disagrees. */
TL_API bool tl_machine_set_dim(TlMachine *m, const char *name, int64_t size);
/* Sets all inputs of type random: each starts a stream of its own of this seed, as with
 * grun --seed. */
TL_API bool tl_machine_seed(TlMachine *m, uint64_t seed);
/* Gives the shared variables of g, of the same session, the values that those of the
 * same names have in m; others keep theirs. g may be the graph that m runs, or the one
 * that it was rewritten from. Machines that have not run yet begin with these values.
 */
TL_API bool tl_machine_store(TlMachine *m, TlGraph *g);

/* ---- Profiles ---- */

typedef struct TlProfileOptions {
    size_t size;
    bool is_static; /* runs nothing: costs from the types, the inputs that are set and
                     * the machine's dims */
    int64_t warmup; /* calls before the measured ones; 0: one, -1: none */
    int64_t repeat; /* calls to measure, and then to observe; 0: until 0.2 s or 10 calls
                     * have passed */
} TlProfileOptions;
/* Runs m, whose inputs are set, and measures it. Afterwards shared variables have the
 * values that they had before, and outputs those of the last call. m must outlive the
 * profile. */
TL_API TlProfile *tl_machine_profile(TlMachine *m, const TlProfileOptions *how);
TL_API void tl_profile_free(TlProfile *p); /* NULL is allowed */
/* A total of gprof(1) by its name, for one call: "time_s", "flops", "peak_bytes". NAN
 * if it was not measured, is unknown or depends on dims that are not set. */
TL_API bool tl_profile_total(TlProfile *p, const char *name, double *value);
/* What a part costs in one call; NAN as above. Its name lives as long as the
 * session. */
typedef struct TlCost {
    size_t size;
    const char *name; /* of an op, a rule, ..., or an Apply as text */
    double applies;   /* how many Applies of the graph these are */
    double calls;     /* how often they ran */
    double time_s;    /* NAN if static */
    double flops;
    double math_calls; /* of exp, tanh and the like, which flops include */
    double read_bytes;
    double written_bytes;
} TlCost;
/* The i-th row of the table `by` "class", "op", "apply", "rule", "function", "prefix"
 * or "line", from 0, the longest time first; of a static one, the most flops. False
 * without an error if there are no more. */
TL_API bool tl_profile_cost(TlProfile *p, const char *by, size_t i, TlCost *cost);
/* The report as gprof prints it: format is "text", "json", "tsv", "trace", "folded",
 * "svg", "dot", "roofline" or "html" (a page for a browser). Valid until the next call
 * of this function. */
TL_API const char *tl_profile_text(TlProfile *p, const char *format);

#ifdef __cplusplus
}
#endif

#endif
