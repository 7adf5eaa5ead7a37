/* Splitting a graph into shards (op/shards.h). What depends on the rows of the split
 * inputs alone is computed shard by shard, in functions; what crosses rows (a sum, a
 * mean, a product that contracts them, ...) becomes a part for each shard, which
 * each_shard adds up, and all_sum over ranks; the rest is computed once on each rank.
 *
 * Values are spread in one of two ways: they are whole, or one axis holds the rows. A
 * value that depends on the number of rows alone is whole, computed from that of all
 * ranks; where it gives a shape it means the number of rows of the shard. */
#ifndef REWRITE_PARALLEL_PARALLEL_H
#define REWRITE_PARALLEL_PARALLEL_H

#include "op/build.h"
#include "op/shards.h"
#include "rewrite/rewrite.h"

/* How a variable is spread. A whole one of level n needs what crosses rows in the first
 * n functions; one with rows is computed in function `level`. */
typedef struct Spread {
    bool rows;
    bool counts;   /* whole; depends on the number of rows */
    bool position; /* with rows: its elements count them, from 0 */
    bool part;     /* what steps of a loop sum over a shard's rows: a whole value, once
                    * shards are added up */
    int axis;      /* of the rows */
    /* With rows that a reshape has merged with other axes: the axis has `before` times
     * the rows, each `after` times; 0 is 1. */
    int64_t before, after;
    uint32_t level;
} Spread;
static inline bool split_is_merged(const Spread *x) {
    return x->before > 1 || x->after > 1;
}
typedef enum Crossing {
    CROSS_NONE,
    CROSS_SUM,  /* the op itself, whose results of shards add up */
    CROSS_MEAN, /* a sum, to be divided */
    CROSS_MAX,
    CROSS_MIN,
    CROSS_ANY,
    CROSS_ALL,
    CROSS_LOGSUMEXP, /* that of the results of all shards */
    CROSS_INC        /* added to elements of a whole array */
} Crossing;
typedef struct Split {
    Session *s;
    Graph *g;
    Arena *a;
    const ParallelOptions *o;
    uint8_t *live;
    Spread *spread;     /* by variable */
    Crossing *crossing; /* by Apply */
    bool *split;        /* by input */
    Var first;          /* the first input that is split */
    uint32_t levels;
    bool steps;   /* g is the body of a loop: sums over rows stay parts */
    bool sure;    /* of a body: all states that are parts are known */
    size_t nname; /* names of the number of rows */
    Dim *name;
} Split;
/* The Apply being looked at. */
typedef struct SplitApply {
    Split *w;
    ApplyId id;
    const Op *op;
    const Props *props;
    size_t nin, nout;
    const Var *in;
    Var out;
} SplitApply;

/* expand.c: in place; `a` is scratch. False: diagnosed. */
bool split_expand(Graph *g, Arena *a);
/* analyse.c: fills spread and crossing. False: diagnosed, with the op and its line. */
bool split_analyse(Split *w);
static inline const Spread *split_of(const SplitApply *p, size_t i) {
    return &p->w->spread[p->in[i]];
}
static inline const Type *split_type(const SplitApply *p, size_t i) {
    return var_type(p->w->g, p->in[i]);
}
bool split_is_row_dim(const Split *w, Dim d); /* a name of the rows' number */
/* The only axis of t with the name of the rows' number; -1. */
int split_row_axis(const Split *w, const Type *t);
bool split_fail(const SplitApply *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* analyse.c: all live Applies of w->g. */
bool split_analyse_applies(Split *w);
/* Of the output that tells how an Apply is spread: the first one with rows, or else the
 * first part, if any. */
const Spread *split_of_apply(const Split *w, ApplyId id);
/* loop.c: a scan whose steps treat rows apart; fills spread of its outputs. */
bool split_scan_rule(const SplitApply *p, Spread *out, Crossing *crossing);
/* rules.c: how the op spreads its inputs. `out` is that of all outputs. */
bool split_rule(const SplitApply *p, Spread *out, Crossing *crossing);
/* Reads or writes input 0 by an index. */
bool split_is_index_op(Session *s, const Op *op);
/* Does input i give a shape: is it of `ints`? */
bool split_gives_shape(Session *s, const Op *op, size_t nin, size_t i);
/* crossing.c: VAR_NONE: diagnosed. In the function of a shard, from its inputs `in`;
 * all_rows, of a maximum or minimum: the number of rows of all ranks. */
Var crossing_part(const SplitApply *p, Builder *b, const Var *in, Var all_rows);
/* In the main graph, where v is what became of the parts: their sum, or all of them.
 * whole, of CROSS_INC: the array that they are added to. */
Var crossing_finish(const SplitApply *p, Builder *b, Var v, Var rows, Var whole);
/* The length of an axis of the first input, with the rows of all ranks. */
Var crossing_size(const SplitApply *p, Builder *b, Var rows, int axis);
/* build.c: NULL: diagnosed. */
bool split_build(Split *w);

#endif
