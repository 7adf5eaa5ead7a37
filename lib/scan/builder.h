/* Building a scan: derivatives and rewrites describe the sequences, states and other
 * arguments in any order, then build the body. The resulting Apply has only what its
 * wanted results need. */
#ifndef SCAN_BUILDER_H
#define SCAN_BUILDER_H

#include "op/build.h"
#include "scan/scan.h"

typedef struct ScanBuilderTap {
    int64_t tap;
    Var in; /* its input of the body */
    bool live;
} ScanBuilderTap;
/* A sequence, an output (with its initial value if it is a state), or another argument
 * (with a single tap, 0). */
typedef struct ScanBuilderArg {
    Sym hint; /* a name for its input; 0: none */
    Var x; /* its argument, a variable of b->g; may be set after scan_builder_mark_live
            */
    Vec(ScanBuilderTap) tap;
    int64_t low; /* sequences: first row counts from here if below all taps */
    /* outputs: */
    Var made; /* its variable in the body */
    int64_t keep;
    bool wanted; /* does anybody use the result? else it may be dropped */
    bool live;   /* set by scan_builder_mark_live */
    Var result;  /* set by scan_builder_apply if live and wanted */
    size_t
        same; /* sequences and others: the one that was added for the same x before */
} ScanBuilderArg;
typedef Vec(ScanBuilderArg) ScanBuilderArgs;
typedef struct ScanBuilder {
    Builder *b;  /* where the Apply is added */
    Builder in;  /* builds in the body */
    Graph *body; /* under construction; temporarily a function of the graph */
    Var steps;   /* a variable of b->g */
    Var until;   /* a variable of the body, or VAR_NONE */
    int64_t truncate;
    bool checkpoint, rows;
    ScanBuilderArgs seq, out, other;
    Map seq_of, other_of; /* by x: the last sequence and the last other added for it */
    bool live;
} ScanBuilder;

/* scan_builder_close frees, also after an error. */
void scan_builder_open(ScanBuilder *m, Builder *b, Var steps);
void scan_builder_close(ScanBuilder *m);
/* Each returns the index of the argument in its list. `type` is that of a single row,
 * in dims of the body. */
size_t scan_builder_add_seq(ScanBuilder *m, Sym hint, Var x, int64_t tap,
                            const Type *type);
size_t scan_builder_add_other(ScanBuilder *m, Sym hint, Var x, const Type *type);
size_t scan_builder_add_out(ScanBuilder *m, Sym hint, int64_t keep);
/* Adds another tap to a sequence or output; returns the body's input. */
Var scan_builder_add_tap(ScanBuilder *m, ScanBuilderArg *of, int64_t tap,
                         const Type *type);
/* A scan whose body becomes part of the new one, perhaps beside others. */
typedef struct ScanBuilderPart {
    ScanForm f;
    const Var *arg; /* its arguments */
    Var *in, *y;    /* by input and output of its body: the variable of the new body */
    Var *map;       /* by variable of its body: VAR_NONE, or that of the new body */
    size_t first;   /* index in m->out of its first output */
    bool listed;    /* are its outputs in m->out? */
    bool whole;     /* including its `until` and effects */
} ScanBuilderPart;
/* The part for a scan of the form f, with arg, variables of b->g, as its arguments;
 * allocates from a. Adds the arguments to m (reuses equal ones, turns scalars into
 * constants); `in`, `map` and m may then be changed before scan_part_body copies the
 * body. A body with custom derivatives is called, not copied. */
ScanBuilderPart scan_part(ScanBuilder *m, Arena *a, ScanForm f, const Var *arg);
bool scan_part_body(ScanBuilder *m, ScanBuilderPart *p);
/* Values that were computed in `from` and are in `to` keep their names, as far as these
 * are free: of a body that was copied alone, not of several in one. */
void scan_carry_names(Graph *to, const Graph *from, const Var *map);
/* Has the function custom derivatives? Then nobody may look into it. */
bool scan_is_opaque(const Graph *fn);
/* Adds the body of another scan: in[k] replaces its input k, y[k] is set to its output
 * k. A function with custom derivatives is called, others are copied. Effects are left
 * out; `whole` includes its `until`. */
bool scan_builder_add_body(ScanBuilder *m, const ScanForm *f, const Var *in, bool whole,
                           Var *y);
/* x as an argument for an input of type `want`, after `rows` (0 or 1) leading axes: x
 * itself, or x with a specified shape if its type says less than `want`. */
Var scan_fit_arg(Builder *b, Var x, const Type *want, int rows);
/* The size of the body's dim `name`, as the arguments of a scan show it; VAR_NONE: they
 * don't. */
Var scan_dim_outside(Builder *b, const ScanForm *f, const Var *arg, Sym name);
/* Marks what the wanted results, `until` and effects need. */
void scan_builder_mark_live(ScanBuilder *m);
/* Marks everything instead: what the run would check of an argument stays checked. */
void scan_builder_mark_all(ScanBuilder *m);
/* Makes the function `name` (or a similar free name; reuses an equal function) and
 * applies it. False: diagnosed. */
bool scan_builder_apply(ScanBuilder *m, const char *name);

#endif
