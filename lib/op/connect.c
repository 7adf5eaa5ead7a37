/* Which inputs of a function influence which of its outputs: composes the connection
 * patterns of its Applies, for 64 inputs at a time, a bit for each. */
#include "op/op.h"

struct Reach {
    uint32_t nvar; /* when this was computed: functions may grow */
    size_t nin, nout;
    uint64_t *bits; /* [blocks of 64 inputs][outputs] */
};

static void spread_reach(const Graph *fn, ApplyId a, uint64_t *mask) {
    const Apply *r = &fn->apply[a];
    for (size_t i = 0; i < r->nin; i++) {
        uint64_t m = mask[apply_in(fn, a)[i]];
        for (size_t k = 0; m && k < r->nout; k++)
            if (op_connected(fn, a, i, k)) mask[r->out + k] |= m;
    }
}

static void reach_block(const Graph *fn, size_t block, uint64_t *mask, uint64_t *bits) {
    for (Var v = 0; v < fn->nvar; v++)
        mask[v] = 0;
    for (size_t i = block * 64; i < fn->inputs.n && i < block * 64 + 64; i++)
        mask[fn->inputs.p[i]] |= UINT64_C(1) << (i % 64);
    for (ApplyId a = 0; a < fn->napply; a++)
        spread_reach(fn, a, mask);
    for (size_t k = 0; k < fn->outputs.n; k++)
        bits[k] = mask[fn->outputs.p[k].var];
}

static struct Reach *reach_new(Graph *fn) {
    struct Reach *r = NEW(fn->arena, struct Reach);
    size_t blocks = (fn->inputs.n + 63) / 64;
    *r = (struct Reach){.nvar = fn->nvar, .nin = fn->inputs.n, .nout = fn->outputs.n};
    r->bits = NEW_N(fn->arena, blocks * r->nout, uint64_t);
    uint64_t *mask = mem_zalloc(fn->s, fn->nvar, sizeof *mask);
    for (size_t k = 0; k < blocks; k++)
        reach_block(fn, k, mask, r->bits + k * r->nout);
    mem_free(mask);
    return r;
}

bool graph_connected(Graph *fn, size_t in, size_t out) {
    struct Reach *r = fn->reach;
    bool fits =
        r && r->nvar == fn->nvar && r->nin == fn->inputs.n && r->nout == fn->outputs.n;
    if (!fits) {
        if (!session_enter(fn->s)) return true; /* the caller will report it */
        r = fn->reach = reach_new(fn);
        session_leave(fn->s);
    }
    if (in >= r->nin || out >= r->nout) return true;
    return r->bits[in / 64 * r->nout + out] >> (in % 64) & 1U;
}
