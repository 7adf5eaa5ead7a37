/* Shared by the files of lib/rewrite: parsed rules, the database, the state of a
 * run. */
#ifndef REWRITE_REWRITE_IMPL_H
#define REWRITE_REWRITE_IMPL_H

#include "lang/expr.h"
#include "rewrite/rewrite.h"

/* ---- rules as data ---- */
enum { HOLE_MAX = 24, BUILT_MAX = 64 };

typedef enum PatKind { PAT_HOLE, PAT_LITERAL, PAT_APPLY } PatKind;
/* A prop mentioned in a pattern: a value, or a hole to bind or to fill in. */
typedef struct PatProp {
    uint16_t index; /* in the op's signature */
    bool is_hole;
    uint16_t hole;
    Prop value;
} PatProp;
typedef struct Pat Pat;
struct Pat {
    PatKind kind;
    Span at;
    uint16_t hole;
    /* literals */
    DKind lit; /* K_BOOL, K_INT, K_FLOAT, K_COMPLEX */
    bool negative;
    uint64_t u;    /* size of an integer */
    double re, im; /* of any literal */
    /* Applies */
    const Op *op;
    uint8_t op_kind; /* kind_number of op */
    size_t nin;
    const Pat **in;
    size_t nprop;
    const PatProp *prop;
    int rest;              /* hole of **p, or -1 */
    const Props *defaults; /* when no prop is mentioned and there is no **p */
    bool picks;            /* svd(a)[1]: the output `out` of several */
    size_t out;
};

typedef struct Guard {
    int test; /* in the table of guard.c */
    size_t narg;
    const Pat *arg[2];
    bool part;  /* arg[0] is an Apply of the rule's lhs */
    bool early; /* asked when the name is bound */
    Span at;
} Guard;
typedef uint64_t GuardSet; /* a bit for each test */
enum { PART_MAX = 8 };     /* guards per rule that ask about a part of its lhs */

struct Rule {
    Session *s;
    const char *name, *tags; /* tags: separated by spaces */
    const char *text;        /* see rule_text; NULL: not asked for yet */
    double position;
    Span at, lhs_at, rhs_at, guard_at;
    /* compiled on first use, the right side when the left one matches */
    bool compiled, broken; /* broken: names an op that this build lacks */
    const Pat *lhs, *rhs;
    size_t nguard;
    const Guard *guard;
    size_t nhole;
    Sym hole[HOLE_MAX];
    bool prop_hole[HOLE_MAX]; /* binds one prop */
    bool rest_hole[HOLE_MAX]; /* binds **p */
    bool ints_hole[HOLE_MAX]; /* an argument that gives a shape */
    bool in_rhs[HOLE_MAX];
    bool const_hole[HOLE_MAX];  /* a guard requires const() of it */
    GuardSet by_type[HOLE_MAX]; /* guards of it that the type decides: early ones */
    bool shape_unsafe;
    bool parts;       /* a guard asks about a part of lhs */
    bool counts_uses; /* a guard asks about clients */
    bool both;        /* lhs <=> rhs */
    Rule *reverse;    /* of such a rule, once it is compiled: from right to left */
    unsigned weight;  /* nodes of lhs: rules with more are tried first */
};

/* The bindings of the holes. */
typedef struct Match {
    Var var[HOLE_MAX];
    Prop prop[HOLE_MAX];
    const Op *rest_op[HOLE_MAX];
    const Props *rest[HOLE_MAX];
    bool bound[HOLE_MAX];
    Var part[PART_MAX]; /* by guard: the part of lhs that it asks about, if it does */
} Match;

/* ---- passes ---- */
typedef struct Rewriter Rewriter;
/* Tries one Apply; on true out[k] replaces its output k (nout variables; an output that
 * stays is given itself). */
typedef bool NodePass(Rewriter *r, ApplyId a, Var *out);
/* Works on the whole graph r->g, which is sorted and has no forwards, but see
 * `forwards`; fills r->forward. False: diagnosed. */
typedef bool GraphPass(Rewriter *r);
typedef struct Pass {
    const char *name, *tags, *doc;
    double position;
    NodePass *node;
    GraphPass *graph;
    const char *const *ops; /* names of the ops that `node` handles, or that a graph
                             * must have for `graph` to be worth while; NULL: all */
    const char *const *of;  /* ops one of which must make an input of the Apply, if it
                             * isn't a constant; NULL: no matter */
    const char *const
        *among; /* ops one of which the graph must have; NULL: no matter */
    bool (*takes)(const Op *op); /* may `node` handle Applies of the op? NULL: yes */
    bool all_const;              /* all inputs must be constants */
    bool uses;                   /* reads r->uses */
    bool forwards; /* `graph` takes forwards, and r->order if there is one */
    bool (*worth)(Rewriter *r); /* may `graph` find something? Asked of a graph with
                                 * forwards; NULL: yes */
} Pass;
extern const Pass rewrite_passes[];
extern const size_t rewrite_npasses;

NodePass rewrite_fold_pass, rewrite_swapped_pass, rewrite_specify_pass,
    rewrite_claim_pass, rewrite_cast_pass, rewrite_reshape_pass, rewrite_transpose_pass,
    rewrite_broadcast_pass, rewrite_reduce_pass, rewrite_slice_pass,
    rewrite_concat_pass, shape_pass, shape_read_pass, shape_like_pass, sink_pass,
    scatter_pass, scatter_value_pass, scatter_scaled_pass, scatter_into_pass,
    ifelse_pass, conv_scale_pass, conv_shift_pass, read_exact_pass, read_rounded_pass,
    read_merge_pass, chain_order_pass, chain_share_pass, chain_diagonal_pass,
    chain_read_diagonal_pass, reduce_parts_pass, reduce_repeated_pass, reduce_all_pass,
    reduce_empty_pass, batch_reduce_transposed_pass, batch_reduce_product_pass,
    batch_transposed_product_pass, batch_diagonal_product_pass, batch_sum_factor_pass,
    batch_outer_product_pass, read_none_pass, read_reorder_pass, read_split_pass,
    read_write_pass, read_from_end_pass, read_counted_pass, terms_power_pass;
GraphPass fuse_pass, inline_pass, inline_expand_pass, ifelse_results_pass,
    ifelse_numbers_pass, read_join_pass, rows_pass, solve_share_pass, terms_pass,
    terms_float_pass, factors_float_pass, terms_fast_pass, factors_fast_pass,
    rewrite_true_pass, row_blocks_pass;
bool rows_any(const Graph *g); /* has it short vectors in rows? */
bool rows_worth(Rewriter *r), row_blocks_worth(Rewriter *r), terms_worth(Rewriter *r),
    terms_float_worth(Rewriter *r), factors_float_worth(Rewriter *r),
    terms_fast_worth(Rewriter *r), factors_fast_worth(Rewriter *r);
GraphPass scan_merge_pass, scan_dce_pass, scan_save_last_pass, scan_last_value_pass,
    scan_last_of_rows_pass, scan_truncate_pass, scan_hoist_pass, scan_reuse_pass,
    scan_pushout_pass, scan_sum_pass, scan_unroll_pass, scan_scalars_pass,
    scan_carry_pass;
bool scan_carry_worth(
    Rewriter *r); /* is r->g a function of numbers that passes one on? */

/* Node entries up to this position clean up after all others. */
#define CLEANING 0.6
/* Between the stages "stabilize" and loops. */
#define ALGEBRA 1.55
/* Passes over loops have positions between these: loop bodies have been through the
 * earlier stages but are not fused yet. Those from LOOPS_SCALARS on wait until the
 * others find nothing more. */
#define LOOPS         1.6
#define LOOPS_CLEAN   1.61 /* from here on to LOOPS_CLEANED: what nothing reads */
#define LOOPS_CLEANED 1.632
#define LOOPS_SCALARS 1.68
#define LOOPS_END     1.7
/* Before this: the last stages that change an Apply without its surroundings. */
#define SPECIALIZED 2.7
/* Values are taken apart last, since they say more as wholes. */
#define SHORT_ROWS     1.8
#define SHORT_ROWS_END 1.9
/* Makes functions that have been through all earlier stages. */
#define ROW_BLOCKS     47
#define ROW_BLOCKS_END 47.5

/* ---- the database ---- */
typedef struct DatabaseEntry {
    RewriteEntry pub;
    Rule *rule; /* or */
    const Pass *pass;
    Sym name;      /* recorded as the origin of the nodes that it builds */
    unsigned tags; /* those of them that db.c knows, as bits */
    bool selected;
    bool searched;  /* @search: for equality saturation only, not for sweeps */
    bool fast;      /* @fast: changes results at inf, nan */
    uint64_t spent; /* replacements so far in this stage */
    /* of this run */
    RewriteProfile profile;
} DatabaseEntry;
typedef struct Database {
    Session *s;
    Arena *arena;
    Vec(DatabaseEntry) entry; /* by position, then name */
    Map by_name;              /* while the list is built: symbol -> entry */
} Database;
/* All entries, with those selected by the query marked. NULL: diagnosed. */
Database *database_open(Session *s, const RewriteQuery *q);
void database_free(Database *db);
/* The number of the first entry at the position or after it. */
size_t database_first(const Database *db, double position);
/* Of an entry: those of the library are compiled when a graph has their ops. */
bool database_compile_left(Database *db, Rule *rule);
bool database_compile_when(Database *db, Rule *rule);
bool database_compile(Database *db, Rule *rule);
/* The selected entries by position; session memory of the last call. */
const RewriteProfile *database_profile(Database *db, size_t *n);

bool rewrite_tags_have(const char *tags, const char *tag);
/* Parses the headers of all rules in a text. */
typedef Vec(Rule *) RuleVec;
bool rules_read(Session *s, Arena *a, uint32_t source, RuleVec *out);
/* Compiles the left side, which says whether a graph has the rule's ops; the guards,
 * too, with which it can be matched; or all of it. False: diagnosed. `lenient`: an
 * unknown op marks the rule as broken instead. */
typedef struct RuleArenas {
    Arena *keep, *scratch; /* scratch: emptied */
} RuleArenas;
typedef bool RuleCompileFn(Rule *r, const RuleArenas *m, bool lenient);
RuleCompileFn rule_compile_left, rule_compile_when, rule_compile;
const char *rule_text(Rule *r); /* "lhs => rhs when ..." on one line */
/* Of a rule that needn't be compiled: calls `see` with each op that the left side names
 * as a function; false as soon as it says so. */
bool rule_names_ops(const Rule *r, bool (*see)(const void *ctx, const Op *op),
                    const void *ctx);
const Pat *pattern_compile(Rule *r, Arena *a, const Ast *e, bool rhs);

/* ---- a run over one graph ---- */
/* structure.c: what is known of all matrices in the last two dims of a variable, as if
 * nothing were rounded. A fact says nothing of matrices with inf or nan. */
typedef uint16_t Facts;
enum {
    FACT_LOWER = 1 << 0, /* zeros above the diagonal */
    FACT_UPPER = 1 << 1,
    FACT_ZERO = 1 << 2,
    FACT_SQUARE = 1 << 3,
    FACT_SYMMETRIC = 1 << 4,
    FACT_HERMITIAN = 1 << 5,
    FACT_COLUMNS = 1 << 6,       /* orthonormal columns */
    FACT_ROWS = 1 << 7,          /* orthonormal rows */
    FACT_UNIT = 1 << 8,          /* ones on the diagonal */
    FACT_POSITIVE = 1 << 9,      /* positive numbers on the diagonal */
    FACT_SEMIDEFINITE = 1 << 10, /* Hermitian, positive semidefinite: rounding may make
                                    it slightly indefinite */
    FACT_POSDEF = 1 << 11, /* positive definite: declared, or certain after rounding */
    FACT_DIAGONAL = FACT_LOWER | FACT_UPPER,
    FACT_ORTHOGONAL = FACT_COLUMNS | FACT_ROWS | FACT_SQUARE,
    FACT_IDENTITY = FACT_DIAGONAL | FACT_UNIT | FACT_SQUARE,
    FACTS_ALL = (1 << 12) - 1,
    FACTS_OPEN = 1 << 12, /* being found */
    FACTS_DONE = 1 << 13
};

/* structure_ops.c: the facts of output `out` of an Apply that follow from those of its
 * inputs, which are known. */
typedef Facts FactsOf(Rewriter *r, ApplyId id, size_t out);
FactsOf *facts_of_op(const Op *op); /* NULL: nothing follows */
/* Of a transpose: 0: all dims stay in place, 1: the last two are swapped, -1: neither.
 */
int structure_transposes(Rewriter *r, const Apply *a);

/* What makes a variable, as a set of bits: one for its op, which the first OP_KINDS ops
 * of a session share with none, or for constants one and another by value. */
typedef uint64_t Kinds;
enum { OP_KINDS = 54, KIND_CONST_AT = 63, FEW_INPUTS = 2 };
#define KIND_CONST ((Kinds)1 << KIND_CONST_AT)
static inline uint8_t kind_number(Session *s, const Op *op) {
    return (uint8_t)(op_number(s, op) % OP_KINDS);
}
static inline Kinds kind_of_op(Session *s, const Op *op) {
    return (Kinds)1 << kind_number(s, op);
}
/* An entry to try, and what it needs, to rule out most without a closer look: kinds of
 * the first inputs (in either order if it swaps them), of one of the rest, of any;
 * kinds of what the first inputs are made of; and a guard that each of these must pass,
 * or -1. */
typedef struct Try {
    Kinds in[FEW_INPUTS], below[FEW_INPUTS], rest, any;
    int guard[FEW_INPUTS];
    uint16_t entry;   /* in the database */
    bool swaps, same; /* same: the first two inputs are one variable */
    bool looks;       /* has it `below` or `guard`? */
} Try;
/* Of the inputs of an Apply. */
typedef struct InputKinds {
    Kinds in[FEW_INPUTS], rest, all;
    bool same; /* the first two are one variable */
    size_t n;
} InputKinds;
#define NO_INPUTS ((InputKinds){.in = {~(Kinds)0, ~(Kinds)0}})
/* The first inputs, up to n; what is below them is found when a try asks for it. */
typedef struct FirstInputs {
    size_t n;
    Var v[FEW_INPUTS];
    Kinds below[FEW_INPUTS];
    bool has_below[FEW_INPUTS];
} FirstInputs;
typedef Vec(Try) Bucket; /* in the order to try */
/* What is tried at an Apply: everything; what the stage adds, where the cleaning
 * entries found nothing to do; where those of the stage found nothing either, what may
 * fire since something has a client less. */
typedef enum TryLevel { TRY_ALL, TRY_SETTLED, TRY_AGAIN, TRY_LEVELS } TryLevel;
typedef struct OpTries {
    const Op *op;
    Kinds kind;
    FactsOf *facts;  /* NULL: nothing follows for what the op makes */
    bool takes_part; /* may it need little of a product? (uses.c) */
    Bucket level[TRY_LEVELS];
} OpTries;
/* form.c: Applies with one op and inputs that are made alike; what is tried at them, as
 * far as it has been asked for. */
typedef struct FormTry {
    const Try *t;
    uint8_t orders; /* of the first inputs in which it may match, of Orders */
} FormTry;
typedef Vec(FormTry) FormTries;
typedef struct Form {
    InputKinds kinds;
    uint16_t op;    /* in tries */
    uint8_t listed; /* a bit for each level */
    FormTries list[TRY_LEVELS];
} Form;
/* States of an Apply. Counted: the sweep needs it, so it is a client of its inputs.
 * Frozen: left as it is in this stage. Settled and tried: see TryLevel. No fold: folded
 * already, or folding failed. Changed: something that it is made of was replaced in
 * this sweep. */
enum {
    SEEN_NOT,
    SEEN_OPEN,
    SEEN_DONE,
    SEEN = 3,
    COUNTED = 4,
    FROZEN = 8,
    SETTLED = 16,
    TRIED = 32,
    NOFOLD = 64,
    CHANGED = 128
};
/* Why an entry that asked about a variable's clients let it be: it has more than one,
 * or any; it is no result. */
typedef enum Wish { WISH_ONE = 1, WISH_NONE = 2, WISH_RESULT = 4 } Wish;
/* The number of an op in a run; NULL: none. */
typedef struct OpNumber {
    const Op *op;
    uint16_t n;
} OpNumber;
enum { LATEST_OPS = 256 };
typedef struct Visit Visit;
struct Visit {
    ApplyId a;
    uint32_t next; /* the next input, or output of a replaced one, to visit */
    bool waiting;  /* replaced, and the replacement is not done yet */
};

/* Which inputs of the bodies of all loops are the same in each step: by function, an
 * array by input. Found when first asked for; arena NULL: not yet. */
typedef struct LoopBodies {
    Arena *arena;
    Map steady;
} LoopBodies;

struct Rewriter {
    Session *s;
    Graph *g;
    Arena *arena; /* of this run */
    Database *db;
    const RewriteOptions *o;
    const Op *const *known; /* by KnownOp */
    Builder b;
    /* by variable; they grow with the graph */
    uint32_t cap_var, cap_apply, cleared; /* cleared: variables of new arrays */
    Var *forward;     /* replacement by variable, with path compression */
    uint8_t *uniform; /* of constants: 0 unknown, 1 no, else all elements are equal: 2 +
                         match_number_class */
    Facts *facts;     /* of matrices, once they are asked for */
    uint16_t *op_at;  /* by Apply: the number of its op, in tries */
    uint16_t *form_at; /* and of its form, from 1 on; 0: not known */
    /* of sweeps; NULL in a search, and once no sweep follows */
    Var *direct;     /* the replacement as the rule returned it */
    uint16_t *by;    /* 1 + the entry that replaced it; 0: only its inputs changed */
    uint32_t *uses;  /* number of clients, a lower bound */
    uint8_t *parts;  /* of these, the ones that need little of a product; up to 255 */
    uint8_t *wish;   /* what an entry found missing in this sweep, of Wish */
    uint8_t *result; /* 1 for what outputs and updates are in this sweep */
    uint8_t *state;  /* by Apply: SEEN_* and others */
    uint32_t nvar, napply; /* the filled length of the arrays */
    uint32_t compacted;    /* Applies when the graph was last compacted */
    /* state of a stage */
    Map op_number;               /* Op * -> its number in this run */
    OpNumber latest[LATEST_OPS]; /* what was found there last, by address */
    Vec(OpTries) tries;          /* by that number */
    Vec(Form) forms;             /* by number - 1 */
    Map form_number, form_rest;  /* form.c */
    bool new_op;  /* since the entries were sorted, the graph got an op */
    bool works;   /* entries besides the cleaning ones may fire */
    bool loose;   /* an Apply is left that did not settle */
    bool settled; /* all are, if nothing has changed since the last stage */
    bool news;    /* there may be some of inputs: something was replaced in this sweep,
                   * or before it, when not all had settled */
    Vec(Visit) stack;
    Vec(ApplyId) dropped; /* uses.c: those whose inputs are looked at next */
    Vec(ApplyId) order;   /* what the last sweep needed, inputs first; empty: all, as
                             numbered */
    Vec(Var) asking; /* the variables whose facts are being found, outermost first */
    uint64_t budget; /* replacements allowed per entry and stage */
    uint16_t recent[64]; /* ring buffer of the entries that fired last */
    uint32_t fired, sweeps;
    double copying;   /* seconds in compact, */
    uint32_t copies;  /* and how often */
    uint32_t *number; /* replacements so far, over all graphs of a run */
    uint32_t epoch;   /* how often g was compacted */
    size_t current;   /* the graph pass being run */
    /* the entries of the stage: the cleaning ones, up to clean_end, and its own */
    size_t clean_end, first, end;
    struct Why *why;    /* --why; NULL: nobody asks */
    LoopBodies *bodies; /* scan_body_invariants; NULL: not known */
    bool asked;         /* the matcher is to tell `why` where it fails */
    bool failed;
    /* Of a search: applies the ops of right sides in place of op_apply; NULL: none. */
    bool (*apply)(void *ctx, const Op *op, const Props *props, VarList in, Var *out);
    void *apply_ctx;
    Map literals;     /* pattern and dtype -> constant, until g is compacted */
    bool searching;   /* costs decide how often a value is used: single_use holds */
    bool sweeping;    /* the arrays of sweeps are there */
    bool fusing;      /* uniform and facts aren't */
    bool dirty;       /* something was replaced since the graph was compacted */
    bool merged;      /* no two Applies are equal: nothing was built but by sweeps */
    bool uses_matter; /* an entry of the stage asks for clients */
    bool counted;     /* clients are as counting them again would find them */
    uint8_t *conditional; /* by effect: only a branch needed it when the graph was
                           * compacted; NULL: none */
    /* view.c */
    Arena *view_arena;
    GraphView view;
    Clients view_clients;
    uint32_t view_epoch, view_fired, view_napply;
    uint64_t view_work;
};
/* pin_destroyed.c: in a private copy, keeps variables that destroyers overwrite from
 * merging */
bool pin_destroyed_needed(const Graph *main);
void pin_destroyed_mark(Graph *g);
void pin_destroyed_unmark(Graph *g);
/* view.c: the current graph; NULL when it was requested too often. Valid until the next
 * change. */
const GraphView *view_now(Rewriter *r);
void view_free(Rewriter *r);
/* shape.c: v.shape[axis] computed without v, or VAR_NONE */
Var rewriter_lift_shape(Rewriter *r, Var v, int axis);
/* The same, or shape_i(v, axis): two values with the same one have that size. */
Var rewriter_size(Rewriter *r, Var v, int axis);
/* structure.c: are all of these facts known of v? */
bool rewriter_has_facts(Rewriter *r, Var v, Facts facts);
/* chain.c: the diagonal of a matrix made of it, with zeros elsewhere; VAR_NONE: not
 * such a matrix. */
Var chain_diagonal_of(Rewriter *r, Var v);
/* reduce_parts.c: which of ndim axes the reduction `a` takes; that of v over others. */
void reduce_axes(Rewriter *r, const Apply *a, int ndim, bool *flag);
Var reduce_over(Rewriter *r, const Apply *a, Var v, int ndim, const bool *flag);
/* Of input i, as far as they are known. */
Facts facts_of_input(Rewriter *r, ApplyId id, size_t i);
/* ifelse.c */
void ifelse_note_effects(Rewriter *r);
void ifelse_drop_effects(Rewriter *r);

/* ---- reading the overlay ---- */
static inline Var rewriter_resolve(Rewriter *r, Var v) {
    while (r->forward[v] != v) {
        r->forward[v] = r->forward[r->forward[v]];
        v = r->forward[v];
    }
    return v;
}
void rewriter_add_nodes(Rewriter *r);
/* Call after appending nodes. */
static inline void rewriter_grow(Rewriter *r) {
    if (r->nvar != r->g->nvar || r->napply != r->g->napply) rewriter_add_nodes(r);
}
size_t rewriter_bytes(const Rewriter *r); /* of its arrays by variable and Apply */
/* Drops the diagnostics since `mark`: they explain why an optional result is
 * unavailable, which is no error. Out of memory is kept, because it would make the
 * rewriting non-deterministic. */
void rewriter_forget(Rewriter *r, size_t mark);
static inline Var rewriter_input(Rewriter *r, ApplyId a, size_t i) {
    return rewriter_resolve(r, apply_in(r->g, a)[i]);
}
/* The Apply that makes v if it has that op; else NULL. */
const Apply *rewriter_owner(Rewriter *r, Var v, const Op *op);
static inline const Apply *rewriter_known_owner(Rewriter *r, Var v, KnownOp op) {
    return rewriter_owner(r, v, r->known[op]);
}
/* Is `a` an Apply (or NULL: no) of that op? */
static inline bool rw_is(const Rewriter *r, const Apply *a, KnownOp op) {
    return a && a->op == r->known[op];
}
/* The element shared by all elements of a constant, else NULL. */
const void *rewriter_uniform(Rewriter *r, Var v);
bool rewriter_is_number(Rewriter *r, Var v,
                        double x); /* a uniform constant of that value; -0 is not 0 */
bool read_counts_from(Rewriter *r, Var v, int64_t *first); /* in order */
/* Is each number of v by *back less than that of w? */
bool read_counts_behind(Rewriter *r, Var v, Var w, int64_t *back);
/* Is `at` an index array that counts, or turned, and certainly stays within x? */
bool read_counts_within(Rewriter *r, Var x, Var at);
/* x[at] as a slice, if it is one; VAR_NONE: it isn't. */
Var read_counted_rows(Rewriter *r, Var x, Var at);
bool rewriter_is_zeros(Rewriter *r, Var v); /* certainly, whatever its shape */
/* Is no element negative, by its dtype, value or op? Is every element of a constant
 * positive? (guard.c) */
bool rewriter_is_nonnegative(Rewriter *r, Var v);
bool rewriter_is_positive(Rewriter *r, Var v);
/* A variable that broadcasts to v; VAR_NONE if v isn't such a broadcast. */
Var rewriter_repeated_value(Rewriter *r, Var v);
/* Does `new` guarantee everything that `old` does? */
bool type_keeps(const Type *old, const Type *new);
/* x cast and broadcast to t; VAR_NONE if x is, or if the types can't prove that it
 * fits.
 */
Var rewriter_fit(Rewriter *r, Var x, const Type *t);
/* The value of v, whose Apply has constant inputs, as a constant of whatever size;
 * VAR_NONE without a diagnostic if it fails. */
Var rewriter_evaluate(Rewriter *r, Var v);
/* Can an operand of type t be broadcast to `to` without a check at run time? */
bool rewrite_dims_fit(const Type *t, const Type *to);
/* A 0-d or one-element integer constant. */
bool rewriter_int_const(Rewriter *r, Var v, int64_t *i);
/* The input axis of each axis of a transpose of ndim dims. */
void rewriter_transpose_axes(Rewriter *r, const Apply *a, int ndim, int64_t *axes);
/* Counts the Apply as a client of its inputs, at most once per sweep. */
void rewriter_count(Rewriter *r, ApplyId a);
/* The same of an Apply that isn't counted but marked; marks what makes its inputs. */
void uses_need_inputs(Rewriter *r, ApplyId a);
bool uses_takes_part(const Rewriter *r, const Op *op); /* see OpTries */
/* A pass replaces the only client of `a`: what `a` reads has a client less. */
void rewriter_release(Rewriter *r, ApplyId a);
/* If a is replaced, what took its place being counted: it is no client any more, nor is
 * what only it needed. */
void uses_drop_replaced(Rewriter *r, ApplyId a);
/* a, which was dropped, is needed after all. */
void uses_revive(Rewriter *r, ApplyId a);
/* Moves the clients of a replaced variable to what replaced it. */
void uses_move(Rewriter *r, Var from, Var to);
/* What entries may ask about clients; where the answer is no, the sweep notes the wish.
 * Will nothing need x once this client does without it? */
bool rewriter_single_use(Rewriter *r, Var x);
bool rewriter_one_client(Rewriter *r, Var x); /* at most */
bool rewriter_no_client(Rewriter *r, Var x);
bool rewriter_only_result(Rewriter *r, Var x); /* a result that nothing else needs */
/* Has a wish of this sweep come true? */
bool uses_grant_wishes(Rewriter *r);
/* A value prop of the Apply. */
const Prop *rewriter_prop(Rewriter *r, const Apply *a, const char *name);
/* op(x, y, ...) with these props; VAR_NONE without a diagnostic if it doesn't
 * type-check. */
Var rewriter_apply(Rewriter *r, const Op *op, const Props *props, size_t nin,
                   const Var *in);
/* The op of an Apply with one prop changed. */
Var rewriter_with_prop(Rewriter *r, const Apply *a, const char *name, Prop value,
                       size_t nin, const Var *in);

/* ---- matching and building ---- */
bool rule_match(Rewriter *r, const Rule *rule, Var v, Match *m);
/* Its steps, for matching over the classes of an e-graph (search/). */
typedef struct MatchSearch {
    Rewriter *r;
    const Rule *rule;
    Match *m;
} MatchSearch;
bool match_literal(Rewriter *r, const Pat *p, Var v);
/* The place of a number among those that literals of rules are most often, from 1 on;
 * 0: another number. */
unsigned match_number_class(double re, double im);
/* Of a constant tensor with equal elements; of a literal that only constants of its own
 * class match. 0: any. */
unsigned match_class_of(Rewriter *r, Var v);
unsigned match_literal_class(const Pat *p);
/* Is v the result of an Apply with the pattern's op and arity? */
bool match_op(const Pat *p, const Apply *a, Var v);
bool match_props(MatchSearch *s, const Pat *p, const Apply *a);
bool match_bind_rest(MatchSearch *s, const Pat *p, const Apply *a);
/* Marks the holes of props that this pattern is the first to bind, and returns them. */
uint32_t match_mark_props(MatchSearch *s, const Pat *p);
void match_unmark_props(MatchSearch *s, uint32_t set);
Var rule_build(Rewriter *r, const Rule *rule, const Pat *p, const Match *m, DType like);
/* The right side in the type of v, at which the rule matched; VAR_NONE: the types don't
 * prove that it fits. */
Var rule_replace(Rewriter *r, const Rule *rule, const Match *m, Var v);
/* Matches and builds: VAR_NONE when the rule does not fire at v. */
Var rule_fire(Rewriter *r, const Rule *rule, Var v);
int guard_find(Session *s, Sym name);
size_t guard_arity(int test);
/* part: the part of the pattern that the guard asks about, or VAR_NONE. */
bool guard_holds(Rewriter *r, const Guard *g, const Match *m, Var part);
bool guard_holds_of(Rewriter *r, int test, Var x); /* of one argument */
/* Only the test, if its answer follows from a variable's type and whether it is
 * constant; 0: it doesn't. */
GuardSet guard_by_type(int test);
bool guard_all_hold(Rewriter *r, GuardSet tests, Var x);
const char *guard_name(size_t i); /* NULL after the last */

/* ---- why.c: how far a rule got, if somebody asks ---- */
typedef struct Why Why;
Why *why_new(Session *s, Database *db, const RewriteWhy *asked); /* NULL: diagnosed */
void why_report(const Why *w, const Database *db);
void why_free(Why *w); /* NULL is allowed */
/* Told by the matcher: */
void why_node_failed(Rewriter *r, const Pat *p, Var v, const char *what);
void why_guard_failed(Rewriter *r, size_t guard, const Match *m);
void why_types_failed(Rewriter *r, const Rule *rule, const char *what);
/* Asked by the driver before it tries an Apply: does the rule match there, in one of
 * its stages? And after something replaced it, where it does. */
bool why_look(Rewriter *r, ApplyId a);
void why_replaced(Rewriter *r, ApplyId a, size_t by);

/* ---- the driver ---- */
typedef enum RewriterUse { FOR_SWEEPS, FOR_SEARCH } RewriterUse;
void rewriter_open(Rewriter *r, Graph *g, Database *db, const RewriteOptions *o,
                   uint32_t *number, RewriterUse use);
enum { REWRITE_ROOTS = ROOTS_RUN | ROOTS_INIT };
/* The graph without what these roots don't need, forwards applied: then there are none.
 */
void rewriter_compact(Rewriter *r);
void rewriter_end_sweeps(Rewriter *r); /* frees what only they need */
/* In between nobody asks what is known of constants and matrices, and memory is at its
 * peak. */
void rewriter_begin_fusion(Rewriter *r);
void rewriter_end_fusion(Rewriter *r);
void rewriter_close(Rewriter *r);
/* The entry i or, between the cleaning ones and the stage's own, the first of these: up
 * to r->end, those of the stage follow each other. */
size_t stage_entry(const Rewriter *r, size_t i);
/* Sorts the stage's entries by op. */
void stage_sort_entries(Rewriter *r);
/* The kinds of an Apply's inputs; may the entry fire there? */
Try stage_needs(const Rule *rule);              /* of its inputs' own kinds */
Kinds stage_kinds_of_const(Rewriter *r, Var v); /* 0: it is none */
Kinds stage_kinds_of(Rewriter *r, Var v);
void stage_add_input(InputKinds *x, Kinds kinds);
/* In which orders of the first inputs may the entry match, by what Applies of a form
 * have in common? 0: in none. */
enum Orders { AS_IS = 1, SWAPPED = 2 };
unsigned stage_orders(const Try *t, const InputKinds *x);
/* A closer look, if it may match in these orders. */
bool stage_may_fire(Rewriter *r, const Try *t, unsigned orders, FirstInputs *x);
/* What a level tries at an Apply whose inputs are all resolved. Valid until the next
 * call or stage. */
const FormTries *form_list_tries(Rewriter *r, ApplyId a, TryLevel level);
static inline const FormTries *form_tries(Rewriter *r, ApplyId a, TryLevel level) {
    uint16_t n = r->form_at[a];
    const Form *f = n ? &r->forms.p[n - 1] : NULL;
    return f && f->listed >> level & 1 ? &f->list[level] : form_list_tries(r, a, level);
}
void form_forget_tries(Rewriter *r); /* the stage has others */
void form_free_all(Rewriter *r);
enum { OPS_MAX = 0x7FEF }; /* in a run */
uint16_t stage_look_up_op(Rewriter *r, const Op *op, OpNumber *last);
/* Each Apply asks, and a graph has few ops: the map is asked when two of them take
 * turns at one place. */
static inline uint16_t stage_number_op(Rewriter *r, const Op *op) {
    OpNumber *last = &r->latest[(uintptr_t)op / sizeof *op % LATEST_OPS];
    return last->op == op ? last->n : stage_look_up_op(r, op, last);
}
/* Has the graph one of the ops that the pass is for? */
bool stage_has_ops_of(const Rewriter *r, const Pass *p);
void stage_free(Rewriter *r);
/* One stage: sweeps with the selected entries from `first` to before `end` and the
 * cleaning entries until nothing fires. False: diagnosed. */
bool drive_stage(Rewriter *r, size_t first, size_t end);
/* Reports n >= 1 variables replaced together as one replacement. False: stop,
 * diagnosed. */
bool rewriter_fired(Rewriter *r, size_t entry, size_t n, const Var *before,
                    const Var *after);
bool rewriter_limit_reached(const Rewriter *r);
/* Comparisons of v tolerate that inf and nan are gone. */
void rewriter_loosen(Rewriter *r, Var v);

#endif
