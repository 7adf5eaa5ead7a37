/* What the tools do, as library calls: a session with all rows, edits, derivatives by
 * name, values for inputs, runs with steps and batches, checks. Each tool's main is its
 * option table and one of these. */
#ifndef TOOLS_TOOLS_H
#define TOOLS_TOOLS_H

#include "ad/ad.h"
#include "io/io.h"
#include "rewrite/rewrite.h"
#include "vm/vm.h"

/* A session in which every row offers its services. */
Session *tools_session(PanicFn *panic, void *ctx);

/* Adds the types and ops of a plugin: a library that exports tl_plugin, or one that is
 * part of the program (path: what it is called in messages). False: diagnosed. */
bool plugin_load(Session *s, const char *path);
struct TlPlugin;
bool plugin_add(Session *s, const char *path, const struct TlPlugin *p);

/* Finds a variable by its name, then an output by its label: E_UNKNOWN at `at` with
 * suggestions. */
bool names_find_var(Graph *g, const char *name, size_t n, Span at, Var *v);
/* The same, or all leaves of the tree of that name, as "r/y"; added to `out`. */
typedef Vec(Output) Outputs;
bool names_find_outputs(Graph *g, const char *name, size_t n, Span at, Outputs *out);
bool names_find_output_list(Graph *g, Span list, Outputs *out); /* "a, b" */
/* "a, b" as variables, those of trees too. */
bool names_find_vars(Graph *g, Arena *a, Span list, size_t *n, Var **v);

/* on_unused_input: inputs of the graph as it was read that no output, update or effect
 * needs, nor the dims that these need. False: diagnosed with E_UNUSED. */
typedef enum UnusedInput { UNUSED_IGNORE, UNUSED_WARN, UNUSED_RAISE } UnusedInput;
#define UNUSED_INPUTS "ignore|warn|raise"
bool graph_unused_inputs(Graph *g, UnusedInput how);

/* ---- gload ---- */
typedef struct Edit {
    size_t nexpr, ninput, nshared, nupdate, nset, nrename, ndim, nnarrow, ncompare;
    const Span *expr, *input, *shared, *update, *set, *rename, *dim, *narrow, *compare;
    const char *outputs; /* "a,b": keep these outputs, or make them of variables */
    Span outputs_at;
    bool auto_inputs; /* a new graph: undeclared names are floatX scalars */
} Edit;
/* Edits g in place. False: diagnosed, and g is only good for freeing. */
bool graph_edit(Graph *g, const Edit *e);
/* Puts several graphs together; names must differ (see prefix). Frees the parts. */
Graph *graph_join(Session *s, size_t n, Graph **parts);
bool graph_prefix(Graph *g, const char *prefix);
/* The table of --info. */
bool graph_info(Graph *g, bool json, Str *out);
/* --list-ops, --op, --list-types. */
bool gload_list_ops(Session *s, const char *glob, bool json, Str *out);
bool gload_list_op(Session *s, const char *name, bool json, Str *out);
void gload_list_types(Session *s, bool json, Str *out);

/* ---- values ---- */
/* A VALUE of the command line for a variable of type t (NULL: any): compiled for its
 * receiver, then through the type's filter.
 * "@F", "@F:key", "@F[index]" read files, "@-" is npy on stdin. Dims of t bind at the
 * run. */
bool value_compile(Session *s, Span text, const Type *t, Filter how, const char *what,
                   Value *out);
/* Splits "name=VALUE"; false if it isn't one: the path of a file, where `/` comes
 * before any `=`. */
bool value_split_name(Session *s, Span text, Span *name, Span *value);
/* The same where only an output can be meant, whose label may have a `/`. */
bool value_split_label(Session *s, Span text, Span *label, Span *value);
/* The name=VALUEs of a command line. */
typedef struct Values {
    size_t n;
    const Span *text; /* "x=1.5" each */
} Values;

/* ---- ggrad ---- */
/* What was derived, for the check: `says`, an output called `name`, claims to be the
 * derivatives of each element of `of` by each of wrt[by], of both shapes; or, where by
 * is nwrt, the derivative of `of` along `along`, a direction for each wrt. */
typedef struct Claim {
    Sym name;
    Var says, of;
    size_t by;
} Claim;
typedef struct Derived {
    size_t nwrt, nclaim;
    Var *wrt, *along; /* along: NULL where there are no directions */
    Claim *claim;
} Derived;
typedef struct Derive {
    const char *cost, *vjp, *jvp, *jacobian, *hessian, *hvp; /* at most one */
    const char *wrt, *cotangent, *tangents, *vector, *known, *constant, *name;
    const char *checkpoint; /* names of what is kept, or "sqrt" */
    Span at;                /* of the option that decides, for errors */
    bool by_pullback, mixed, only;
    GradOptions how;
    Derived *made; /* filled in when not NULL; session memory */
} Derive;
bool graph_derive(Graph *g, const Derive *d);
/* verify_grad: derivatives against finite differences of what they are derivatives of,
 * at the given values, random ones for the rest. False with E_VERDICT on a mismatch,
 * which names output, position and both values, or with E_DERIVATIVE, which names an op
 * and its input. */
bool graph_check_grad(Graph *g, const Derive *d, const Values *given, uint64_t seed);

/* ---- harvest ---- */
typedef struct Harvesting {
    size_t nreap, nplant, nallow, nblock;
    const Span *reap;  /* "TAG", "TAG/NAME", "NAME"; commas separate several */
    const Span *plant; /* "TAG/NAME" (an input of the sow's type takes its place),
                          "TAG/NAME=VALUE" */
    const Span *allow, *block; /* names or scopes */
    Filter filter;             /* for values */
} Harvesting;
/* What is reaped becomes outputs TAG/NAME, what is planted inputs or constants; no sow
 * of a tag that was named is left. False: diagnosed, and g is only good for freeing. */
bool graph_harvest(Graph *g, const Harvesting *how);
/* The same of a copy. NULL: diagnosed. */
Graph *graph_harvested(const Graph *g, const Harvesting *how);
/* The current values of the shared variables of a copy. */
void graph_take_shared(Graph *to, const Graph *from);

/* ---- grewrite ---- */
/* Random runs of both graphs give approximately equal outputs and new shared values.
 * False with E_VERDICT. */
bool graph_verify(Graph *before, Graph *after, const Values *given, uint64_t runs);
typedef struct Rewriting {
    RewriteOptions how;
    const char *diff, *bisect, *keep;
    Span keep_at;
    size_t nreplace;
    const Span *replace; /* "a = expression" */
    Harvesting harvest;
} Rewriting;
/* --replace, --keep and harvests, whose outputs are kept, before rewriting; *g may
 * become another graph. */
bool graph_prepare(Graph **g, const Rewriting *r);
/* The number of the first replacement after which CMD, with the graph on its standard
 * input, fails; 0: it never does. */
bool graph_bisect(Graph *g, const Rewriting *r, Str *report);
/* Equal up to names, or E_VERDICT with the first Apply that differs. */
bool graph_diff(Graph *a, Graph *b);

#endif
