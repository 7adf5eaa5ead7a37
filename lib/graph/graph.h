/* Symbolic graphs. A Graph is an append-only store of immutable variables and Applies.
 * Ids grow in topological order (an Apply's inputs have smaller ids than its outputs),
 * so every walk is a loop, never a recursion. Names, labels and origins are in side
 * tables. Built with `intern`, equal expressions share a variable; readers append
 * without. To look at all Applies:
 *
 *     for (ApplyId a = 0; a < g->napply; a++) {
 *         const Apply *p = &g->apply[a];
 *         p->op->name; p->nin inputs at apply_in(g, a); p->nout outputs from p->out on
 *     } */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "graph/props.h"

typedef struct TlGraph Graph;
typedef struct Op Op; /* op/op.h */
typedef uint32_t Var;
typedef uint32_t ApplyId;
#define VAR_NONE   UINT32_MAX
#define APPLY_NONE UINT32_MAX
/* Variables of a graph in an order that the reader knows; the memory is another's. */
typedef struct VarList {
    size_t n;
    const Var *p;
} VarList;

/* ---- variables and Applies ---- */
typedef enum LeafKind {
    LEAF_NOT,
    LEAF_INPUT,
    LEAF_SHARED,
    LEAF_CONST,
    LEAF_DIM
} LeafKind;
typedef struct VarRec {
    const Type *type;
    uint32_t owner; /* Apply, or index of the leaf if leaf != LEAF_NOT */
    uint16_t index; /* which output of its Apply */
    uint16_t leaf;  /* LeafKind */
} VarRec;
typedef struct Apply {
    const Op *op;
    const Props *props;
    uint32_t in; /* first input, an index into g->in */
    Var out;     /* first output; outputs are consecutive */
    uint16_t nin, nout;
    uint32_t serial; /* not 0: never merged (effects) */
} Apply;
/* What load() names. */
typedef struct FileRef {
    const char *file; /* "w.npy", relative to the graph's folder */
    const char *key;  /* of a file of several values, else NULL */
} FileRef;
typedef struct Leaf {
    Var var;
    Sym name; /* input, shared: its name; dim: the dim's */
    Var init; /* shared: initial value as a variable of this graph; VAR_NONE if it is in
                 value */
    bool number;  /* value has no room for a shape: see number.c */
    Value *value; /* const: its value; shared: current value; else NULL */
} Leaf;
/* Where a node comes from, for messages: the user's text, and the rule or op whose text
 * built it. */
typedef struct Origin {
    Span at;
    Sym rule; /* rewrite's name, "gradient of mul", ...; 0: written by the user */
} Origin;
typedef struct Output {
    Sym label;
    Var var;
} Output;
typedef struct Update {
    Var shared, value;
} Update;
typedef struct VarName {
    Var var;
    Sym name;
} VarName;
/* How values of one variable are compared, overriding its type (values_eq_approx). */
typedef struct VarApprox {
    Var var;
    Approx how;
} VarApprox;
/* A record of the provenance chain. */
typedef struct Step {
    const char *tool, *version, *args;
} Step;

struct TlGraph {
    Session *s;
    Arena *arena;
    uint32_t nvar, napply, nin, nleaf;
    VarRec *var;
    Apply *apply;
    Var *in;
    Leaf *leaf;
    Origin *origin; /* by Apply */
    /* interface: */
    Vec(Var) inputs; /* in the order declared */
    Vec(Var) shared;
    Vec(Output) outputs;
    Vec(Update) updates;
    Vec(ApplyId) effects; /* sows, prints, asserts, in order: roots even if no output
                             needs them */
    Vec(VarName) names;   /* as given; the first name of a variable is preferred */
    Vec(VarName) trees;   /* "r/y", "r/0": leaves of trees named by definitions; for
                             command lines only, not written to files */
    Vec(VarApprox) approx;
    Vec(VarName) aliases; /* names of a model that it was read from, any text: at most
                             one for a variable */
    Vec(Var) statistics;  /* shared variables that are measured, not learned */
    Vec(Var) rowwise;     /* effects replaced by one for all rows: op/rowwise.h */
    Vec(Var) kept;        /* copied although nothing reads them: lang/lazy_scope.h */
    /* main graph only; functions reach these through `main` */
    Vec(Graph *) functions;
    Graph *main; /* itself for a main graph */
    Sym name;    /* of the file or the function */
    const char *doc;
    Vec(Step) steps;
    Vec(Sym) modes; /* rewrite modes applied */
    bool litter;    /* macros left unneeded Applies behind: see graph_sweep */
    bool fused;     /* function: an elementwise group that the plan runs as one op */
    Sym pullback, pushforward; /* function: names of its custom derivatives; 0: none */
    Var until; /* function used as a loop body: the stop condition, or VAR_NONE */
    const char *folder; /* base for load() references; NULL: none allowed */
    uint32_t source;    /* the YAML that it was read from (base/diag.h), 0: none */
    DType floatX;       /* DT_NONE: the session's */
    bool derived;       /* function: made by ad or vmap for a call that may be gone */
    struct Reach
        *reach; /* function: cached by lib/op: which inputs influence which outputs */
    struct GraphPriv *priv; /* name map, intern table, capacities */
};

Graph *graph_new(Session *s); /* a main graph */
Graph *graph_function_new(Graph *main,
                          Sym name); /* registered in main; freed with it */
Graph *
graph_function(const Graph *g,
               Sym name); /* NULL if it doesn't exist; g may be main or a function */
void graph_function_drop(Graph *fn); /* frees a function that nothing calls */
void graph_function_rename(Graph *fn, Sym name); /* the same; the name is free */
void graph_free(Graph *g);

/* Appends a leaf. Inputs and shared never merge. The name is registered and must be
 * free. */
Var graph_input(Graph *g, Sym name, const Type *t);
/* n inputs at once, the first variables of a blank graph; their names differ. */
void graph_first_inputs(Graph *g, size_t n, const Sym *name, const Type *const *t);
Var graph_shared(Graph *g, Sym name, const Type *t);
/* Gives a shared variable its initial value: a constant becomes the value at once; a
 * constant read from a file stays a reference to it. */
void graph_init_shared(Graph *g, Var shared, Var value);
/* Those that `drop` marks, by variable, and that nothing reads or updates: copies leave
 * them out. */
void graph_drop_shared(Graph *g, const uint8_t *drop);
bool graph_declares_dim(const Graph *g, Sym name); /* is there such a leaf? */
Var graph_dim(Graph *g, Sym name); /* the leaf of a dim name: one per graph; int64, 0-d;
                                      found by graph_find too */
/* Takes a reference to v; a number is copied. Equal constants (tensor_identical) merge
 * if `intern`. The type is the value's, with all dims known. */
Var graph_const(Graph *g, const Tensor *v, bool intern);
Var graph_const_value(Graph *g, const Type *t,
                      const Value *v); /* none, slice, random, ... */
/* A constant number, made of its bytes; recent ones of the same bits share their value,
 * so that a number which the text repeats is stored once. */
Var graph_const_number(Graph *g, DType d, const void *bytes, bool intern);
/* A copy of the constant c of `from`; all copies share the value. */
Var graph_share_const(Graph *g, const Graph *from, Var c, bool intern);
/* The constant came from there; the texts are copied, `key` may be NULL. */
void leaf_set_ref(Graph *g, Var v, const char *file, const char *key);
const FileRef *leaf_ref(const Graph *g,
                        Var v); /* where a constant was loaded from, or NULL */
/* A new value for a leaf that has none. */
Value *leaf_value_new(Graph *g, Leaf *l);
/* Appends an Apply with inferred output types; returns its first output. With `intern`,
 * returns an equal Apply (op, props, inputs) that has no serial, if one exists.
 * `serial` gives the Apply a new serial number. */
Var graph_apply(Graph *g, const Op *op, const Props *props, size_t nin, const Var *in,
                size_t nout, const Type *const *out, bool intern, bool serial,
                Origin from);
/* The Apply that graph_apply would return; APPLY_NONE: none. */
ApplyId graph_equal_apply(Graph *g, const Op *op, const Props *props, size_t nin,
                          const Var *in);
void graph_reserve(Graph *g, uint32_t napply, uint32_t nvar, uint32_t nin); /* a hint */
/* The same for what comes last: no room for more than that. */
void graph_reserve_last(Graph *g, uint32_t napply, uint32_t nvar, uint32_t nin,
                        uint32_t nleaf);
size_t graph_all_applies(const Graph *main); /* with those of its functions */
size_t graph_bytes(const Graph *g); /* of its tables, without values and names */
/* Frees the room reserved for growing and interning; both still work. */
void graph_trim(Graph *g);
/* Before many nodes are added to a large graph: its tables grow once. */
void graph_make_room(Graph *g);
/* All that Applies from..end make was replaced, and a copy with these forwards is all
 * that follows: what the Applies are is lost, and its memory goes back. Those just
 * before and behind them are there. */
void graph_forget_applies(Graph *g, ApplyId from, ApplyId end);
/* Narrows a leaf's type in place; only valid before anything uses the leaf. */
void graph_retype_leaf(Graph *g, Var leaf, const Type *t);

static inline const Type *var_type(const Graph *g, Var v) {
    return g->var[v].type;
}
static inline LeafKind var_leaf(const Graph *g, Var v) {
    return (LeafKind)g->var[v].leaf;
}
static inline bool var_is_const(const Graph *g, Var v) {
    return g->var[v].leaf == LEAF_CONST;
}
static inline Leaf *var_leafrec(const Graph *g, Var v) {
    return &g->leaf[g->var[v].owner];
}
/* The Apply that makes v; APPLY_NONE for a leaf. */
static inline ApplyId var_owner(const Graph *g, Var v) {
    return g->var[v].leaf ? APPLY_NONE : g->var[v].owner;
}
static inline const Var *apply_in(const Graph *g, ApplyId a) {
    return g->in + g->apply[a].in;
}
static inline VarList apply_ins(const Graph *g, ApplyId a) {
    return (VarList){g->apply[a].nin, apply_in(g, a)};
}
/* The line of the file that an Apply was read from or derived from; 0: it comes from an
 * option, or nothing is known. */
uint32_t apply_line(const Graph *g, ApplyId a);
/* The value of a constant tensor, else NULL. */
const Tensor *var_const(const Graph *g, Var v);

/* Names. Variables and dims share a name space. g->names begins with the names of
 * inputs and shared variables, in the order they were added; a dim's own name isn't
 * listed. */
void graph_name(Graph *g, Var v, Sym name);     /* adds a name, which must be free */
bool graph_try_name(Graph *g, Var v, Sym name); /* false if the name is taken */
/* The same for n names; how many there were before the first that is taken. */
size_t graph_try_names(Graph *g, size_t n, const VarName *names);
void graph_reserve_names(Graph *g, size_t n); /* a hint: n more will follow */
Var graph_find(const Graph *g, Sym name);     /* VAR_NONE */
bool graph_has_dim(const Graph *g, Sym name); /* in types of leaves, too */
/* The leaves of dims that no input or shared variable has: a text must declare them,
 * and a run must be given their sizes. */
VarList graph_free_dims(const Graph *g, Arena *a);
bool graph_check_dims(const Graph *g,
                      Span at);      /* E_DUPLICATE if a variable has a dim's name */
Sym var_name(const Graph *g, Var v); /* the preferred one, 0 if anonymous */
/* The name that v of the function fn has where Apply `call` of g calls it: of what an
 * input is given, of a result; inside its own. 0: it has none. */
Sym var_name_in_call(const Graph *fn, Var v, const Graph *g, ApplyId call);
/* Before several threads ask for names: else asking for one may learn all. */
void graph_learn_names(const Graph *g);
void graph_unname(Graph *g, Sym name);
/* Renames `from` to `to`, which must be free, including an input's or shared variable's
 * own name. Not for dims. */
void graph_rename(Graph *g, Sym from, Sym to);
void graph_unname_all(Graph *g);             /* of variables only */
Var graph_output(const Graph *g, Sym label); /* the first of that label, or VAR_NONE */
void graph_outputs_changed(Graph *g); /* call after removing or relabelling outputs */
Var graph_update(const Graph *g, Var shared);  /* VAR_NONE */
void graph_updates_changed(Graph *g);          /* call after removing updates */
Var graph_tree_leaf(const Graph *g, Sym path); /* of a named tree, "r/y"; VAR_NONE */
bool graph_is_rowwise(const Graph *g, Var effect);
/* Removes the named trees and what only they needed; ids change. */
void graph_forget_trees(Graph *g);

/* Comparison overrides, set by the user or by a rewrite that allows larger differences.
 * They stay with the variable and its replacement. NULL: as its type says. */
const Approx *graph_approx(const Graph *g, Var v);
void graph_set_approx(Graph *g, Var v, Approx how);
void graph_loosen_approx(Graph *g, Var v,
                         Approx how); /* on top of what is allowed already */

/* A variable's name in the model that it was read from, which need not be one in the
 * language. The first of a variable stays. 0, VAR_NONE: none. */
void graph_alias(Graph *g, Var v, Sym text);
void graph_unalias(Graph *g, Var v);
Sym graph_alias_of(const Graph *g, Var v);
Var graph_find_alias(const Graph *g, Sym text);
/* Such as running means: state, but no parameter. Leaves that are not shared don't
 * count. */
void graph_mark_statistic(Graph *g, Var v);
bool graph_is_statistic(const Graph *g, Var v);
/* Adds both tables of src; map[v] is the copy of v, or VAR_NONE. */
void graph_copy_marks(Graph *dst, const Graph *src, const Var *map);

/* What a graph is for. */
typedef enum RootsOf {
    ROOTS_RESULTS = 1, /* outputs, new values of shared variables, until */
    ROOTS_EFFECTS = 2, /* all outputs of effects */
    ROOTS_RUN = ROOTS_RESULTS | ROOTS_EFFECTS,
    ROOTS_INIT = 4, /* initial values of shared variables */
    ROOTS_NAMED = 8 /* every named variable, including leaves of trees */
} RootsOf;
VarList graph_roots(const Graph *g, Arena *a, unsigned roots);
uint8_t *graph_root_marks(const Graph *g, Arena *a, unsigned roots); /* nvar flags */
/* Marks the variables that the roots need, and shared variables that get new values. */
uint8_t *graph_live(const Graph *g, Arena *a, unsigned roots);
/* Marks what the marked variables need, as far as Applies from `from` on make them. */
void graph_spread_needs(const Graph *g, ApplyId from, uint8_t *need);
/* Clients of every variable as two arrays: the users of v are client[first[v] ..
 * first[v+1]), ascending, one entry per use. With `live`, Applies whose outputs are all
 * dead are left out. */
typedef struct Clients {
    uint32_t *first;
    ApplyId *client;
} Clients;
Clients graph_clients(const Graph *g, Arena *a, const uint8_t *live);

/* Copies the live nodes of `g` (from all roots, including called functions) to a new
 * graph of the same session, in topological order with compacted ids. `forward`, if not
 * NULL, replaces variables (forward[v] == v: keep; replacements may have larger ids;
 * cycles are a bug). `map`, if not NULL, receives the new id of each old variable
 * (VAR_NONE if removed). Inputs and shared variables stay even if unused. With
 * ROOTS_NAMED all functions stay, else only called ones. Types are copied unchanged: a
 * caller that forwards a variable to one of a different type must rebuild its users. */
Graph *graph_copy(const Graph *g, unsigned roots, const Var *forward, bool intern,
                  Var *map);
/* The same of a graph that ends here, without forwards. */
Graph *graph_copy_take(Graph *g, unsigned roots, bool intern);
/* The same in place: g, a main graph or a function, keeps only what its roots need,
 * with new ids. Functions that it calls don't change. Chains in `forward` are
 * shortened. */
void graph_compact(Graph *g, unsigned roots, Var *forward, bool intern);
/* Removes what macros and derivations left behind in a main graph and its functions:
 * variables that no root needs and that have no name, and derived functions that
 * nothing calls. Ids change. */
void graph_sweep(Graph *main);
/* Removes the functions of a main graph that nothing calls; their names stay taken. */
void graph_keep_called(Graph *g);
bool graph_name_taken(const Graph *g, Sym name); /* by a function, now or earlier */
/* BASE_1, BASE_2, ...: the next free one. */
Sym graph_function_name(Graph *g, const char *base);
/* Adds a copy of one node of src to dst: a leaf as a leaf of the same kind, an Apply
 * with other inputs, of which the first output is returned. src may be dst, but `in` is
 * not part of it. */
Var graph_copy_leaf(Graph *dst, const Graph *src, Var v, bool intern);
Var graph_copy_apply(Graph *dst, const Graph *src, ApplyId a, const Var *in,
                     bool intern);
/* Adds copies of all leaves of a function: its inputs first, in their order. */
void graph_copy_leaves(Graph *dst, const Graph *fn, bool intern, Var *map);
/* Adds copies of what src's variables `want` need to dst. map[v] is what replaces v:
 * what isn't VAR_NONE is given, the rest receives the copies. Constants and dims are
 * copied, inputs and shared variables must be given. Called functions are copied too
 * (E_DUPLICATE if a different one of that name exists). Effects become effects of dst;
 * names aren't copied. src may be dst. */
bool graph_import(Graph *dst, const Graph *src, VarList want, bool intern, Var *map);
/* A map for graph_import in which arg[i] replaces input i; arg NULL: nothing is
 * given. */
Var *graph_import_map(const Graph *src, Arena *a, const Var *arg);
/* Adds the body of a function, with arg[i] in place of input i, and sets out[k] to its
 * output k. Effects that no output needs are left out. */
bool graph_inline(Graph *dst, const Graph *fn, const Var *arg, bool intern, Var *out);
/* Equal up to names and numbering: same interface (main graphs: including names of
 * inputs and labels), same Applies. If false, a_at and b_at are the first differing
 * Applies (APPLY_NONE if the interfaces differ), and why gets one sentence. */
bool graph_equal(const Graph *a, const Graph *b, ApplyId *a_at, ApplyId *b_at,
                 Str *why);
/* What a later main graph still has of an earlier one of the same session. */
typedef struct GraphPairs GraphPairs;
GraphPairs *graph_pairs_new(const Graph *was, const Graph *now);
void graph_pairs_free(GraphPairs *p);
/* Is the function of that name equal in both, with those that it calls? */
bool graph_pairs_function(const GraphPairs *p, Sym name);
/* Is what `name` meant, or an expression without one (0), computed in the same way? The
 * walk ends at variables with names, which must still mean the same; `walked` receives
 * the variables of the later graph on its way, valid until the next call. */
bool graph_pairs_match(GraphPairs *p, Sym name, Var was, Var now, VarList *walked);

/* The place of its first Apply, for what is said of the whole. */
static inline Span graph_place(const Graph *g) {
    return g->napply ? g->origin[0].at : NOWHERE;
}

#endif
