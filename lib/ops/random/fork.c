/* rng_fork(rng, i): streams beside each other, of one state. */
#include "op/build.h"
#include "op/infer.h"
#include "ops/random/random.h"
#include "ops/shape/linear.h"

#include <string.h>

static bool fork_type(Infer *in) {
    if (in->type[0]->kind != TYPE_RANDOM)
        return infer_fail(in, E_TYPE, 0,
                          "expected the state of a random stream, not %s",
                          type_str(in->s, in->type[0]));
    if (!infer_want_kinds(in, 1, KIND_INT) || !infer_want_rank(in, 1, 0, 0))
        return false;
    in->out[0] = in->type[0];
    return true;
}

/* The finisher of SplitMix64 (Steele, Lea, Flood, 2014): a bijection, so that no two
 * numbers share a stream. */
static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

static bool fork_perform(Call *c) {
    Rng rng = rng_from_tensor(call_in(c, 0));
    uint64_t number = (uint64_t)tensor_i64(call_in(c, 1), 0) + 1;
    int64_t four = 4;
    Tensor *t = call_out(c, 0, 1, &four);
    if (!t) return false;
    const uint64_t word[4] = {rng.seed, mix(rng.stream + number * 0x9E3779B97F4A7C15),
                              rng.position, 0};
    memcpy(t->data, word, sizeof word);
    return true;
}

static const Op table[] = {
    {.name = OP_ROW("rng_fork"),
     .doc =
         "A state of a stream of its own for each i, at the position of rng: {seed, "
         "mix(stream + (i + 1) * 0x9E3779B97F4A7C15), position} with the finisher of "
         "SplitMix64 for mix.",
     .in = "rng: any, i",
     .type = fork_type,
     .perform = fork_perform,
     .fails = op_never_fails,
     .flops = "4",
     .pull = pull_nothing,
     .push = push_none,
     .disconnected = "rng, i",
     .example = "integers(0, 100, (3,), rng=rng_fork(rng(1), 0))[1] -> [6, 90, 75]"},
};
const OpList ops_random_fork = LIST_OF(table);
