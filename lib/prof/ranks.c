/* What ranks would take for a call of the graph: what they exchange, at the speed of a
 * link, and their share of the shards. */
#include "op/shards.h"
#include "prof/prof_impl.h"

#include <math.h>
#include <string.h>

/* ---- collecting ---- */
bool ranks_is_sharded(const Profile *p, const Graph *g, ApplyId id) {
    return op_is(p->s, g->apply[id].op, OP_EACH_SHARD);
}

bool ranks_exchanges(const Graph *g, ApplyId id) {
    static const char *const ops[] = {"all_sum", "all_max", "all_gather",
                                      "reduce_scatter", "broadcast"};
    const char *name = g->apply[id].op->name; /* asked of each call of a step */
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(name, ops[i]) == 0) return true;
    return false;
}

void ranks_note(Profile *p, const Graph *g, ApplyId id, double bytes, double times) {
    for (size_t i = 0; i < p->exchanged.n; i++) {
        Exchanged *e = &p->exchanged.p[i];
        if (e->g != g || e->id != id) continue;
        if (e->bytes != bytes && !(isnan(e->bytes) && isnan(bytes))) continue;
        e->times += times;
        return;
    }
    vec_push(p->s, &p->exchanged, ((Exchanged){g, id, bytes, times}));
}

/* The inputs of the function: the number of the shard, then the arguments, of which
 * some have a shard's rows. */
LoopStep shard_step(Arena *a, const Costed *c) {
    const Apply *ap = &c->g->apply[c->id];
    Session *s = c->g->s;
    ShardForm f;
    LoopStep l = {.fn = graph_function(c->g, op_prop(s, ap->op, ap->props, "fn")->sym)};
    if (!l.fn || !shard_form(s, ap->op, ap->props, c->nin - 1, c->nout, a, &f))
        return l;
    const Poly *share = poly_number(a, 1 / (double)f.shards);
    l.nin = c->nin;
    l.in = arena_copy(a, c->in, c->nin * sizeof *c->in);
    l.in[0].value = NULL;
    l.steps = poly_number(a, (double)f.shards);
    for (size_t k = 1; k < c->nin; k++) {
        Shape *x = &l.in[k];
        if (!f.split[k - 1] || !x->is_tensor || !x->ndim) continue;
        const Poly **dim = arena_copy(a, x->dim, (size_t)x->ndim * sizeof *dim);
        dim[0] = poly_mul(a, share, dim[0]);
        x->dim = dim;
    }
    return l;
}

/* ---- predicting ---- */
void profile_set_ranks(Profile *p, unsigned n, double bytes_per_s, double latency_s) {
    p->ranks = n;
    p->link = (RankLink){bytes_per_s, latency_s};
}

/* all_gather and reduce_scatter of n rows: of all ranks together. */
static void add_exchange(const Profile *p, const Exchanged *e, unsigned n,
                         RankCost *cost) {
    const Op *op = e->g->apply[e->id].op;
    if (n == 1) return;
    if (isnan(e->bytes)) {
        cost->bytes = cost->messages = cost->time_s = (double)NAN;
    } else if (op_is(p->s, op, OP_ALL_GATHER)) {
        ranks_cost_gather(n, (double)n * MAX_NDIM * sizeof(int64_t), &p->link, cost);
        ranks_cost_gather(n, e->bytes, &p->link, cost);
    } else if (op == op_named(p->s, "broadcast")) {
        ranks_cost_spread(n, e->bytes, &p->link, cost);
    } else {
        ranks_cost_reduce(n, e->bytes, &p->link, cost);
    }
}

Scaled ranks_scaled(const Profile *p, unsigned n) {
    Scaled r = {.ranks = n, .time_s = (double)NAN, .weak_time_s = (double)NAN};
    double calls = p->watched ? (double)p->watched : 1;
    for (size_t i = 0; i < p->exchanged.n; i++) {
        RankCost one = {0};
        double times = p->exchanged.p[i].times / calls;
        add_exchange(p, &p->exchanged.p[i], n, &one);
        r.comm.bytes += times * one.bytes;
        r.comm.messages += times * one.messages;
        r.comm.time_s += times * one.time_s;
    }
    if (!p->has[PF_time_s]) return r;
    double all = p->total[PF_time_s].v, steps = p->total[PF_steps_time_s].v;
    double shards = steps > 0 ? fmin(p->shards_s / steps, 1) * all : 0;
    r.time_s = all - shards + shards / n + r.comm.time_s;
    r.weak_time_s = all + r.comm.time_s;
    return r;
}

void ranks_total(Profile *p) {
    if (!p->ranks) return;
    Scaled r = ranks_scaled(p, p->ranks);
    profile_set(p, PF_ranks, p->ranks);
    profile_set(p, PF_comm_bytes, r.comm.bytes);
    profile_set(p, PF_comm_messages, r.comm.messages);
    profile_set(p, PF_comm_time_s, r.comm.time_s);
    if (!p->has[PF_time_s]) return;
    profile_set(p, PF_ranks_time_s, r.time_s);
    profile_set(p, PF_weak_time_s, r.weak_time_s);
}
