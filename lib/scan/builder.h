/* Putting a scan together: derivatives and rewrites describe the sequences, states and
 * other arguments in any order, build the body, and get an Apply that has only what its
 * wanted results need. */
#ifndef SCAN_BUILDER_H
#define SCAN_BUILDER_H

#include "op/build.h"
#include "scan/scan.h"

typedef struct MakeTap {
    int64_t tap;
    Var in; /* input of the body */
    bool live;
} MakeTap;
/* A sequence, an output with its initial value if it is fed back, or another argument
 * (one tap, of 0). */
typedef struct MakeArg {
    Sym hint; /* a name for its input, 0: none */
    Var x;    /* the argument, a variable of b->g; may be set after scan_make_live */
    Vec(MakeTap) tap;
    int64_t
        low; /* sequences: where rows are counted from, when not from the least tap */
    /* outputs */
    Var made; /* the variable of the body */
    int64_t keep;
    bool wanted; /* somebody asks for the result; else it may be left out */
    bool live;   /* set by scan_make_live */
    Var result;  /* set by scan_make_apply, if it is live and wanted */
} MakeArg;
typedef struct ScanMake {
    Builder *b;  /* where the Apply goes */
    Builder in;  /* builds in the body */
    Graph *body; /* under construction; a function of the graph for the time being */
    Var steps;   /* of b->g */
    Var until;   /* of the body, or VAR_NONE */
    int64_t truncate;
    bool checkpoint, rows;
    Vec(MakeArg) seq, out, other;
    bool live;
} ScanMake;

/* Frees with scan_make_close, also after an error. */
void scan_make_open(ScanMake *m, Builder *b, Var steps);
void scan_make_close(ScanMake *m);
/* Each returns the number of the argument in its list. `type` is that of one row, in
 * the dims of the body. */
size_t scan_make_seq(ScanMake *m, Sym hint, Var x, int64_t tap, const Type *type);
size_t scan_make_other(ScanMake *m, Sym hint, Var x, const Type *type);
size_t scan_make_out(ScanMake *m, Sym hint, int64_t keep);
/* Another tap of a sequence or output; the input of the body. */
Var scan_make_tap(ScanMake *m, MakeArg *of, int64_t tap, const Type *type);
/* A scan that is taken apart into the new one, perhaps beside others. */
typedef struct MakePart {
    const Graph *g; /* where it stands */
    ScanForm f;
    const Var *arg; /* its inputs */
    Var *in, *y;    /* by input and output of its body: in the new one */
    Var *map;       /* by variable of its body: VAR_NONE, or what stands for it */
    size_t first;   /* number in m->out of its first output */
    bool whole;     /* with its `until` and effects */
} MakePart;
/* Of an Apply of b->g whose inputs are arg; memory from a. Arguments are added (one
 * that is there is used again, single numbers become constants); then `in`, `map` and m
 * may be changed before the body is copied. A body with derivatives of its own is
 * called. */
MakePart scan_part(ScanMake *m, Arena *a, ApplyId id, const Var *arg);
bool scan_part_body(ScanMake *m, MakePart *p);
/* Has the function derivatives of its own? Then its inside is not to be looked at. */
bool scan_is_opaque(const Graph *fn);
/* Works the body of another scan out: in[k] stands for its input k, y[k] gets its
 * output k. A function with derivatives of its own is called, others are copied in.
 * Effects stay behind; `whole`: its `until` comes along. */
bool scan_make_body(ScanMake *m, const ScanForm *f, const Var *in, bool whole, Var *y);
/* x as an argument for an input of type `want`, after `rows` (0 or 1) first axes:
 * itself, or with its shape specified where its type says too little. */
Var scan_fit(Builder *b, Var x, const Type *want, int rows);
/* Marks what the wanted results, until and effects need. */
void scan_make_live(ScanMake *m);
/* Makes the function `name` (or one like it that is free; an equal one is used again)
 * and applies it. False: diagnosed. */
bool scan_make_apply(ScanMake *m, const char *name);

#endif
