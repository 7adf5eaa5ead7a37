/* Putting a scan together: derivatives and rewrites describe the sequences, states and
 * other arguments in any order, build the body, and get an Apply that has only what its
 * wanted results need. */
#ifndef SCAN_BUILDER_H
#define SCAN_BUILDER_H

#include "op/build.h"
#include "scan/scan.h"

typedef struct ScanBuilderTap {
    int64_t tap;
    Var in; /* input of the body */
    bool live;
} ScanBuilderTap;
/* A sequence, an output with its initial value if it is fed back, or another argument
 * (one tap, of 0). */
typedef struct ScanBuilderArg {
    Sym hint; /* a name for its input, 0: none */
    Var x; /* the argument, a variable of b->g; may be set after scan_builder_mark_live
            */
    Vec(ScanBuilderTap) tap;
    int64_t
        low; /* sequences: where rows are counted from, when not from the least tap */
    /* outputs */
    Var made; /* the variable of the body */
    int64_t keep;
    bool wanted; /* somebody asks for the result; else it may be left out */
    bool live;   /* set by scan_builder_mark_live */
    Var result;  /* set by scan_builder_apply, if it is live and wanted */
} ScanBuilderArg;
typedef struct ScanBuilder {
    Builder *b;  /* where the Apply goes */
    Builder in;  /* builds in the body */
    Graph *body; /* under construction; a function of the graph for the time being */
    Var steps;   /* of b->g */
    Var until;   /* of the body, or VAR_NONE */
    int64_t truncate;
    bool checkpoint, rows;
    Vec(ScanBuilderArg) seq, out, other;
    bool live;
} ScanBuilder;

/* Frees with scan_builder_close, also after an error. */
void scan_builder_open(ScanBuilder *m, Builder *b, Var steps);
void scan_builder_close(ScanBuilder *m);
/* Each returns the number of the argument in its list. `type` is that of one row, in
 * the dims of the body. */
size_t scan_builder_add_seq(ScanBuilder *m, Sym hint, Var x, int64_t tap,
                            const Type *type);
size_t scan_builder_add_other(ScanBuilder *m, Sym hint, Var x, const Type *type);
size_t scan_builder_add_out(ScanBuilder *m, Sym hint, int64_t keep);
/* Another tap of a sequence or output; the input of the body. */
Var scan_builder_add_tap(ScanBuilder *m, ScanBuilderArg *of, int64_t tap,
                         const Type *type);
/* A scan that is taken apart into the new one, perhaps beside others. */
typedef struct ScanBuilderPart {
    const Graph *g; /* where it stands */
    ScanForm f;
    const Var *arg; /* its inputs */
    Var *in, *y;    /* by input and output of its body: in the new one */
    Var *map;       /* by variable of its body: VAR_NONE, or what stands for it */
    size_t first;   /* number in m->out of its first output */
    bool whole;     /* with its `until` and effects */
} ScanBuilderPart;
/* Of an Apply of b->g whose inputs are arg; memory from a. Arguments are added (one
 * that is there is used again, single numbers become constants); then `in`, `map` and m
 * may be changed before the body is copied. A body with derivatives of its own is
 * called. */
ScanBuilderPart scan_part(ScanBuilder *m, Arena *a, ApplyId id, const Var *arg);
bool scan_part_body(ScanBuilder *m, ScanBuilderPart *p);
/* Has the function derivatives of its own? Then its inside is not to be looked at. */
bool scan_is_opaque(const Graph *fn);
/* Works the body of another scan out: in[k] stands for its input k, y[k] gets its
 * output k. A function with derivatives of its own is called, others are copied in.
 * Effects stay behind; `whole`: its `until` comes along. */
bool scan_builder_add_body(ScanBuilder *m, const ScanForm *f, const Var *in, bool whole,
                           Var *y);
/* x as an argument for an input of type `want`, after `rows` (0 or 1) first axes:
 * itself, or with its shape specified where its type says too little. */
Var scan_fit_arg(Builder *b, Var x, const Type *want, int rows);
/* Marks what the wanted results, until and effects need. */
void scan_builder_mark_live(ScanBuilder *m);
/* Makes the function `name` (or one like it that is free; an equal one is used again)
 * and applies it. False: diagnosed. */
bool scan_builder_apply(ScanBuilder *m, const char *name);

#endif
