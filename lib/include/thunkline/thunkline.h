/* thunkline as a library: read a graph, differentiate it, rewrite it, run it, as the
 * five tools do.
 *
 *     TlSession *s = tl_session_new();
 *     TlGraph *g = tl_graph_read(s, "model.yaml");
 *     if (!g || !tl_graph_grad(g, "loss", "W,b")) fprintf(stderr, "%s\n", tl_error(s));
 *
 * A session owns all state; only one thread may use it at a time, and sessions are
 * independent. Functions that return bool or a pointer return false or NULL on failure,
 * and tl_error says why. Nothing prints or exits; if a small allocation fails, the
 * library calls abort(). Free machines before their graph, and everything before the
 * session. */
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

enum { TL_MAX_NDIM = 32 };

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

TL_API const char *tl_version(void); /* "0.1.0" */

TL_API TlSession *tl_session_new(void);
TL_API void tl_session_free(TlSession *s); /* NULL is allowed */
/* The errors and warnings since the last call, each as "place: error[CODE]: text" with
 * its notes; "" if there were none. Valid until the next call with this session. */
TL_API const char *tl_error(TlSession *s);
/* The exit status of a tool for the first error (see the manuals); 0 if there is none.
 * Call before tl_error, which clears the errors. */
TL_API int tl_status(TlSession *s);

/* Loads user-defined types and ops for the graphs that this session reads from then on:
 * a plugin (a library built with <thunkline/plugin.h>), or a file of ops as text. If
 * loading fails, the session may only be used for tl_error and tl_session_free. */
TL_API bool tl_plugin_load(TlSession *s, const char *path);
TL_API bool tl_ops_load(TlSession *s, const char *path);

/* Reads YAML, JSON or tlg, distinguished by content; "-" is standard input. load() in a
 * text reads below the file's folder. */
TL_API TlGraph *tl_graph_read(TlSession *s, const char *path);
TL_API TlGraph *tl_graph_read_memory(TlSession *s, const void *data, size_t size);
/* format is "yaml", "json", "tlg", "dot", "tree" or "math"; NULL: by the suffix. A
 * regular file appears whole or not at all. */
TL_API bool tl_graph_write(TlGraph *g, const char *path, const char *format);
TL_API void tl_graph_free(TlGraph *g); /* NULL is allowed */

/* Adds outputs d_COST_d_WRT. cost NULL: the only output; wrt "W,b", NULL: the float
 * inputs and shared variables that reach the cost. */
TL_API bool tl_graph_grad(TlGraph *g, const char *cost, const char *wrt);
/* Returns a new graph; g is unchanged. mode is FAST_RUN, FAST_COMPILE, STABILIZE or
 * NONE. */
TL_API TlGraph *tl_graph_rewrite(TlGraph *g, const char *mode);

/* Prepares a graph to run as it is (rewrite it first for speed); it must outlive the
 * machine. */
TL_API TlMachine *tl_machine_new(TlGraph *g);
TL_API void tl_machine_free(TlMachine *m); /* NULL is allowed */
/* Sets an input or a shared variable through its type's filter, which converts the
 * array if its dtype loses nothing. An array that needs no conversion is used in place:
 * for an input it must remain valid until the next set or the machine's end. */
TL_API bool tl_machine_set(TlMachine *m, const char *name, const TlArray *value);
/* One call: computes all outputs from the old shared values, then applies all
 * updates. */
TL_API bool tl_machine_run(TlMachine *m);
/* An output by label, or a shared variable's value; the data belongs to the machine and
 * is valid until the next run. */
TL_API bool tl_machine_get(TlMachine *m, const char *name, TlArray *value);

/* The same from a text in the language, as in grun's name=VALUE, for a variable of any
 * type: "[[1, 2], [3, 4]]", "normal(0, 1, (3,), seed=1)", "double(2.5)". */
TL_API bool tl_machine_set_text(TlMachine *m, const char *name, const char *text);
/* A value of any type as grun prints it, valid until the next call of this function.
 * NULL: no such name, or its type has no text. */
TL_API const char *tl_machine_get_text(TlMachine *m, const char *name);

#ifdef __cplusplus
}
#endif

#endif
