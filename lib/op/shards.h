/* Shards: the leading axis of arrays cut into a fixed number of parts, whichever rank
 * has them. Of n rows, shard i of S has those from n i / S to n (i + 1) / S; of R
 * ranks, each has S / R adjacent shards. A function is computed for one shard after the
 * other, and results that are sums are added in pairs, pairs of pairs and so on: with
 * the sums of op/ranks.h, one binary tree over all shards, which doesn't depend on R.
 */
#ifndef OP_SHARDS_H
#define OP_SHARDS_H

#include "op/ranks.h"

/* What becomes of an output of all shards. */
typedef enum ShardResult {
    SHARD_ROWS, /* joined along the leading axis: this rank's rows */
    SHARD_SUM,  /* added up */
    SHARD_STACK /* a new leading axis, an element for each shard of this rank */
} ShardResult;
/* An Apply of each_shard(rows, *args, fn=f, shards=S, split=[...], sum=[...],
 * stack=[...]): the props as flags. */
typedef struct ShardForm {
    int64_t shards;
    bool *split;         /* by argument */
    ShardResult *result; /* by output */
} ShardForm;
enum { SHARDS_MOST = 1 << 16 };
/* Lists with positions of other arguments or outputs are wrong: false, nothing is
 * diagnosed. */
bool shard_form(Session *s, const Op *op, const Props *props, size_t nargs, size_t nout,
                Arena *a, ShardForm *out);

typedef struct ShardRun {
    Session *s;
    ShardForm form;
    Span at;
    size_t nargs, nout;
    int64_t rows;            /* of all ranks */
    const Value *const *arg; /* borrowed */
    Value *out;              /* to fill; owned by the caller */
    /* Computes the function for one shard: in[0] is its number, then the arguments. The
     * outputs stay valid until the next call. */
    bool (*run)(void *ctx, int64_t i, const Value *const *in, const Value **out);
    void *ctx;
    struct Shards *now; /* shards_run's */
} ShardRun;
bool shards_run(ShardRun *r);
/* How many shards this rank has; the number in the form must be a multiple of ranks. */
int64_t shards_here(const ShardRun *r);
/* While `run` computes the last shard: takes output k of it, which is summed, so that
 * r->out[k] is complete before the others are. False: diagnosed. */
bool shards_add_last(ShardRun *r, size_t k, const Tensor *v);
/* The inputs of g that are cut into shards, as flags: those that are arguments of
 * each_shard. */
bool *shards_inputs(const Graph *g, Arena *a);

#endif
