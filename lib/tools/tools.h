/* The tools' work as library calls: a session with all rows, edits, derivatives by
 * name, values for inputs, runs with steps and batches, checks. A tool's main is its
 * option table and one of these. */
#ifndef TOOLS_TOOLS_H
#define TOOLS_TOOLS_H

#include "ad/ad.h"
#include "io/io.h"
#include "rewrite/rewrite.h"
#include "vm/vm.h"

#include <stdatomic.h>

/* A session with the services of every row registered. */
Session *tools_session(PanicFn *panic, void *ctx);

/* Adds the types and ops of a plugin: a library that exports tl_plugin, or one linked
 * into the program (path: its name in messages). False: diagnosed. */
bool plugin_load(Session *s, const char *path);
/* Opens any library, after the same check of who may write it. NULL: diagnosed. It
 * stays open as long as the session. */
void *plugin_open(Session *s, const char *path);
struct TlPlugin;
bool plugin_add(Session *s, const char *path, const struct TlPlugin *p);

/* Finds a variable by name, then an output by label: E_UNKNOWN at `at` with
 * suggestions. */
bool names_find_var(Graph *g, const char *name, size_t n, Span at, Var *v);
/* The same, or all leaves of the tree with that name, as "r/y"; appended to `out`. */
typedef Vec(Output) Outputs;
bool names_find_outputs(Graph *g, const char *name, size_t n, Span at, Outputs *out);
bool names_find_output_list(Graph *g, Span list, Outputs *out); /* "a, b" */
/* Resolves "a, b" to variables, including those of trees. */
bool names_find_vars(Graph *g, Arena *a, Span list, VarList *out);

/* on_unused_input: looks for inputs of the graph, as read, that no output, update or
 * effect needs, nor a dim used by these. False: diagnosed with E_UNUSED. */
typedef enum UnusedInput { UNUSED_IGNORE, UNUSED_WARN, UNUSED_RAISE } UnusedInput;
#define UNUSED_INPUTS "ignore|warn|raise"
bool graph_unused_inputs(Graph *g, UnusedInput how);
/* Is the input or shared variable live (graph_live), or a dim that it may determine? */
bool graph_needs_input(const Graph *g, const uint8_t *live, Var v);
/* Warns of a graph that does nothing when it is run. name: its file, or NULL. */
void graph_warn_idle(Graph *g, const char *name);

/* ---- gload ---- */
typedef struct Edit {
    size_t nexpr, ninput, nshared, nupdate, nset, nrename, ndim, nnarrow, ncompare;
    const Span *expr, *input, *shared, *update, *set, *rename, *dim, *narrow, *compare;
    const char *outputs; /* "a,b": keep these outputs, or make outputs of these
                          * variables */
    Span outputs_at;
    const char *freeze; /* "a,b" or "*": these shared variables become constants */
    Span freeze_at;
    bool auto_inputs; /* a new graph: undeclared names are floatX scalars */
    bool *is_set;     /* by `set`: reading has used it for an input */
} Edit;
/* Lets readers take values of `set` for inputs: those become constants. */
ReadFix edit_fix(Edit *e);
/* Edits g in place. False: diagnosed, and g can only be freed. */
bool graph_edit(Graph *g, const Edit *e);
/* Joins several graphs; names must differ (see prefix). Frees the parts. */
Graph *graph_join(Session *s, size_t n, Graph **parts);
bool graph_prefix(Graph *g, const char *prefix);
/* How often each op stands in g, functions aside; most first. Free with mem_free. */
typedef struct OpCount {
    const Op *op;
    uint32_t n;
} OpCount;
OpCount *graph_count_ops(const Graph *g, size_t *count);
/* The table of --info. */
bool graph_info(Graph *g, bool json, Str *out);
/* The same of a model of another system, of which not all ops are known. */
void model_info(Session *s, const ModelOverview *v, bool json, Str *out);
/* The Applies and variables as data, in JSON (schemas/nodes.schema.json). */
void graph_nodes(const Graph *g, Str *out);
/* The same of a file of arrays. */
bool values_info(Session *s, const char *path, bool json, Str *out);
/* Writes the values of all shared variables, initial ones where the graph hasn't run,
 * in the format that the path's suffix names. */
bool graph_write_shared(Graph *g, const char *path);
/* Sets each shared variable that has the name of an array in the file; warns of all
 * that is left on either side. False: diagnosed, also if nothing matches. */
bool graph_set_shared(Graph *g, const char *path, Span at);
/* The new value of a shared variable; takes ownership of v. */
void graph_give_shared(Graph *g, Var shared, Value *v);
/* Gives g the values of its shared variables in m, which runs g or a copy of it.
 * False: diagnosed (an initial value can't be computed). */
bool graph_store_shared(Graph *g, Machine *m);
/* The same from a copy, as far as it has values. */
void graph_take_shared(Graph *to, const Graph *from);
/* What a name's suffix says: a form of graphs (IO_AUTO: nothing), or a format of
 * values, for those of the shared variables. False: it is a suffix of neither;
 * diagnosed. */
bool graph_save_form(Session *s, const char *path, IoFormat *graph, bool *values);
/* Writes g with its current values so that it survives a power failure: in the format
 * of the path's suffix, tlg without one; to a .npz or .safetensors, the values of the
 * shared variables alone. Drops what computed initial values from g: ids change. */
bool graph_save(Graph *g, const char *path, const WriteOptions *how);
/* --list-ops, --op, --list-types. */
/* what: a pattern of names (with *, ? or [), or a word in names and texts; all: also
 * ops that users don't write. */
bool gload_list_ops(Session *s, const char *what, bool all, bool json, Str *out);
bool gload_list_op(Session *s, const char *name, bool json, Str *out);
bool gload_list_optimizers(Session *s, bool json, Str *out);
void gload_list_types(Session *s, bool json, Str *out);
/* For the manual: family, signature, text, other names and example of each function,
 * between tabs. */
bool gload_dump_ops(Session *s, Str *out);

/* ---- values ---- */
/* Compiles a VALUE of the command line for a receiver of type t (NULL: any) and applies
 * the type's filter. "@F", "@F:key", "@F[index]" read files, "@-" is npy on stdin. Dims
 * of t bind when the graph runs. */
bool value_compile(Session *s, Span text, const Type *t, Filter how, const char *what,
                   Value *out);
/* Rows of a value along its leading axis: those of part `part` (from 0) of `of`. Parts
 * have whole units of so many rows; with `full`, rows beyond the last full unit belong
 * to none. */
typedef struct ValueRows {
    int64_t part, of, unit;
    bool full;
    int64_t rows, begin, end; /* filled in: of all, and of the part */
    int64_t units;            /* of all */
} ValueRows;
/* The same for these rows alone: of a mapped file, nothing else is read. */
bool value_compile_rows(Session *s, Span text, const Type *t, Filter how,
                        const char *what, ValueRows *rows, Value *out);
/* Splits "name=VALUE"; false if it isn't one but a file's path, with a `/` before any
 * `=`. */
bool value_split_name(Session *s, Span text, Span *name, Span *value);
/* The same where only an output can be meant; its label may contain `/`. */
bool value_split_label(Session *s, Span text, Span *label, Span *value);
/* The name=VALUEs of a command line. */
typedef struct Values {
    size_t n;
    const Span *text; /* "x=1.5" each */
} Values;

/* ---- ggrad ---- */
/* What the check compares: `says`, an output called `name`, claims to be the derivative
 * of each element of `of` by each of wrt[by], with both shapes; or, if by is nwrt, the
 * derivative of `of` along `along`, a direction for each wrt. */
typedef struct Claim {
    Sym name;
    Var says, of;
    size_t by;
} Claim;
typedef struct Derived {
    size_t nwrt, nclaim;
    Var *wrt, *along; /* along: NULL without directions */
    Claim *claim;
} Derived;
/* How much a gradient recomputes. */
typedef struct Recomputation {
    size_t parts;  /* of the forward part, between kept values; 0: it keeps all */
    bool loops;    /* loops recompute, too, in segments of */
    int64_t steps; /* so many steps; 0: the square root of all; < 0: by calls that keep
                    * so many states */
    double share;  /* of the forward part, by bytes, that is cut; 0: all */
} Recomputation;
typedef struct Derive {
    const char *cost, *vjp, *jvp, *jacobian, *hessian, *hvp; /* at most one */
    const char *wrt, *cotangent, *tangents, *vector, *known, *constant, *name;
    const char *checkpoint;         /* names of variables to keep, or "sqrt" */
    const Recomputation *recompute; /* in place of checkpoint; NULL: none */
    const char *budget;             /* for graph_derive_within: "200MB", or "list" */
    size_t ndim;
    const Span *dim;       /* sizes for its comparison: "n=128" */
    const char *optimizer; /* a chain of rules, which make updates of the gradients */
    Span at;               /* position of the deciding option, for errors: set by
                            * derive_agrees */
    bool by_pullback, mixed, only;
    GradOptions how;
    Derived *made; /* filled in when not NULL; session memory */
} Derive;
/* Is one derivative asked for, with options that go with it? False: diagnosed. */
bool derive_agrees(Session *s, Derive *d);
bool graph_derive(Graph *g, const Derive *d);
/* Adds the derivative that takes the fewest flops of those whose planned peak is at
 * most d->budget; for "list" puts the ways that none other beats into `list`, as TSV,
 * and leaves g as it is. False: diagnosed; E_VERDICT if none fits. */
bool graph_derive_within(Graph *g, const Derive *d, Str *list);
/* verify_grad: compares derivatives with finite differences at the given values, with
 * random ones for the rest. False with E_VERDICT on a mismatch, which names output,
 * position and both values, or with E_DERIVATIVE, which names an op and its input. */
bool graph_check_grad(Graph *g, const Derive *d, const Values *given, uint64_t seed);

/* ---- harvest ---- */
typedef struct Harvesting {
    size_t nreap, nplant, nallow, nblock;
    const Span *reap;          /* "TAG", "TAG/NAME", "NAME"; commas separate several */
    const Span *plant;         /* "TAG/NAME" (an input of the sow's type replaces it),
                                * "TAG/NAME=VALUE" */
    const Span *allow, *block; /* names or scopes */
    Filter filter;             /* for values */
} Harvesting;
/* Reaped values become outputs TAG/NAME, planted ones inputs or constants; no sow of a
 * named tag remains. False: diagnosed, and g can only be freed. */
bool graph_harvest(Graph *g, const Harvesting *how);
/* The same on a copy. NULL: diagnosed. */
Graph *graph_harvested(const Graph *g, const Harvesting *how);

/* ---- grewrite ---- */
/* Runs both graphs on random inputs and compares outputs and new shared values
 * approximately. False with E_VERDICT. */
bool graph_verify(Graph *before, Graph *after, const Values *given, uint64_t runs);
typedef struct Rewriting {
    RewriteOptions how;
    const char *diff, *bisect, *keep;
    Span keep_at;
    size_t nreplace;
    const Span *replace; /* "a = expression" */
    Harvesting harvest;
} Rewriting;
/* Applies --replace, --keep and harvests, whose outputs are kept, before rewriting; *g
 * may become another graph. */
bool graph_prepare(Graph **g, const Rewriting *r);
/* The number of the first replacement after which CMD fails, given the graph on its
 * standard input; 0: it never does. */
bool graph_bisect(Graph *g, const Rewriting *r, Str *report);
/* What CMD still fails with as it did, made as small as it goes. */
typedef struct Reducing {
    const char *command;
    double seconds;         /* for each run of it; 0: no limit */
    const atomic_int *stop; /* not 0: the smallest so far will do; NULL: never */
} Reducing;
/* *g becomes the smallest graph found. False: diagnosed. */
bool graph_reduce(Graph **g, const Reducing *how);
/* --prove: a line for each rule that has the name or tag `what`, or JSON; "": for all
 * rules of the query's files, or of the library if it has none. False: diagnosed, with
 * E_VERDICT if a rule is false. */
bool grewrite_prove(Session *s, const RewriteQuery *q, const char *what, bool json,
                    Str *out);
/* --search: equality saturation before the other rewrites. */
typedef struct Searching {
    double seconds;
    uint32_t nodes;         /* terms at most */
    const atomic_int *stop; /* not 0: what was found so far will do; NULL: never */
    size_t ndim;
    const Span *dim; /* "n=1000": sizes for the costs */
    bool explain;    /* report the unions on the way to what was found, too */
    Str *report;     /* a line about the search; NULL: nobody asks */
} Searching;
/* The graph as `how` rewrites it, after a search or, where that costs no less, without
 * one. NULL: diagnosed. */
Graph *graph_search(Graph *g, const RewriteOptions *how, const Searching *search,
                    RewriteResult *result);
/* Equal up to names, or E_VERDICT with the first differing Apply. */
bool graph_diff(Graph *a, Graph *b);
/* Both side by side, as a page. */
bool graph_diff_page(const Graph *a, const Graph *b, const char *const names[2],
                     Str *out);
/* The replacements of a rewriting as a page: steps_page_event is a
 * RewriteOptions.explain, with the page as its context. */
typedef struct StepsPage StepsPage;
StepsPage *steps_page_new(Session *s, const char *title);
bool steps_page_event(void *ctx, const RewriteEvent *ev);
bool steps_page_finish(StepsPage *x, const Graph *result, Str *out);
void steps_page_free(StepsPage *x); /* NULL is allowed */

#endif
