/* What the files that build the split graph share (build.c, function.c, whole.c). */
#ifndef REWRITE_PARALLEL_BUILD_H
#define REWRITE_PARALLEL_BUILD_H

#include "rewrite/parallel/parallel.h"

/* A result of a function that leaves it. */
typedef struct ShardOutput {
    Var of;   /* in the main graph: with rows, or what a crossing makes */
    Var part; /* in the function */
    ShardResult how;
    Var value; /* in the main graph, once the function is called */
} ShardOutput;
/* What a function has of a variable; VAR_NONE: nothing so far. */
typedef struct ShardCopy {
    Var rows;   /* its copy, with this shard's rows */
    Var local;  /* of what counts rows: with the shard's number of them */
    Var offset; /* of positions: the same from the first row of all shards on */
} ShardCopy;
typedef struct ShardFunction {
    Graph *fn;
    Builder b;
    Var number;       /* of the shard: its first input */
    ShardCopy *copy;  /* by variable of the main graph */
    Vec(Var) touched; /* those that may have some */
    Var rows;         /* of all ranks, as an input; VAR_NONE so far */
    Vec(Var) arg;
    Vec(int64_t) split;
    Vec(ShardOutput) out;
} ShardFunction;
typedef struct SplitBuild {
    Split *w;
    Builder b;
    Var rows;    /* of all ranks */
    Var *main;   /* by variable: the whole value that replaces it */
    Var *joined; /* by variable with rows: this rank's, rows first */
    bool
        *leaves; /* by variable with rows: something outside of its function needs it */
    uint8_t *dropped;  /* by Apply: an effect that was made anew */
    ShardCopy *copy;   /* by variable: of the function that is being made */
    ApplyId *of_level; /* Applies in their order, by the levels that they concern */
    size_t *first;     /* by level: the first of these */
} SplitBuild;

/* ---- whole.c ---- */

/* The Apply with a copy of its inputs: the graph's move when it grows. */
SplitApply split_apply_at(SplitBuild *q, ApplyId id);
bool split_is_live(const SplitBuild *q, const SplitApply *p);
/* Moves axis `from` to `to`. VAR_NONE: diagnosed. */
Var split_transposed(Builder *b, Var x, int ndim, int from, int to);
/* What an Apply of shape or shape_i gives of something with rows, where there are
 * `rows` of them: of all ranks, or of a shard. VAR_NONE: diagnosed. */
Var split_shape_with(const SplitApply *p, Builder *b, Var rows);
bool split_is_shape_of_rows(const SplitApply *p);
/* What became of a whole value of the graph as it was. */
Var split_whole(SplitBuild *q, Var v);
/* Makes the whole values of a level, in their order. False: diagnosed. */
bool split_whole_applies(SplitBuild *q, uint32_t level);

/* ---- function.c: false: diagnosed ---- */

void split_function_open(SplitBuild *q, ShardFunction *f);
/* Adds an Apply that has rows, makes parts or crosses rows. */
bool split_function_apply(SplitBuild *q, ShardFunction *f, const SplitApply *p);
/* Calls it in the main graph: the values of f->out. */
bool split_function_call(SplitBuild *q, ShardFunction *f);
void split_function_close(ShardFunction *f); /* its graph stays */

#endif
