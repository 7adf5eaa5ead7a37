/* Collects a profile while a graph runs. An instruction's cost is computed when its
 * shapes change and cached otherwise. The clock is stopped meanwhile: an Apply that
 * calls a function is charged its time minus that of the hooks and of the function's
 * own instructions. */
#include "prof/prof_impl.h"
#include "scan/scan.h"
#include "userop/userop.h"
#include "value/class.h"

#include <math.h>
#include <string.h>

enum { EVENTS_MAX = 200000 };

/* ---- records ---- */
Rec *rec_of(Profile *p, const Graph *g, ApplyId id) {
    if (g == p->last_g) return &p->last_rec[id];
    uint64_t i;
    if (!map_get(&p->table, (uintptr_t)g, &i)) {
        i = p->tables.n;
        RecTable t = {g, NEW_N(p->a, g->napply, Rec)};
        vec_push(p->s, &p->tables, t);
        map_put(&p->table, (uintptr_t)g, i);
    }
    p->last_g = g;
    p->last_rec = p->tables.p[i].rec;
    return &p->last_rec[id];
}

bool dim_known(const Profile *p, Sym name, int64_t *v) {
    for (size_t i = 0; i < p->dims.n; i++)
        if (p->dims.p[i].name == name) return *v = p->dims.p[i].value, true;
    return false;
}

static void learn_dim_values(Profile *p, const Type *t, const Value *v) {
    int64_t n;
    const int64_t *shape = value_sizes(v);
    for (int i = 0; shape && i < t->ndim; i++)
        if (dim_is_named(t->dim[i]) && !dim_known(p, dim_sym(t->dim[i]), &n))
            vec_push(p->s, &p->dims, ((DimValue){dim_sym(t->dim[i]), shape[i]}));
}

static void learn_value(Profile *p, Var v, const Value *x) {
    ShapeInfo info;
    learn_dim_values(p, var_type(p->g, v), x);
    value_shape_info(x, &info);
    p->bytes[v] = (int64_t)shape_info_size(&info);
}

void profile_input(Profile *p, size_t i, const Value *x) {
    if (x && x->kind == TYPE_TENSOR) learn_value(p, p->g->inputs.p[i], x);
}

void profile_size(Profile *p, Var v, int64_t bytes) {
    p->bytes[v] = bytes;
}

/* An input that a lazy Apply didn't need has no type, so nothing is learned from it. */
static void learn_all(Profile *p, const Call *c) {
    for (size_t i = 0; i < c->nin; i++)
        if (c->in[i]->kind == TYPE_TENSOR)
            learn_value(p, apply_in(p->g, c->id)[i], c->in[i]);
    for (size_t i = 0; i < c->nout; i++)
        learn_value(p, p->g->apply[c->id].out + (Var)i, &c->out[i]);
}

/* ---- costs ---- */
static uint64_t value_key(uint64_t h, const Value *v) {
    h = hash_mix(h, (uint64_t)v->kind);
    if (v->kind != TYPE_TENSOR) return h;
    for (int i = 0; i < v->t.ndim; i++)
        h = hash_mix(h, (uint64_t)v->t.shape[i]);
    return h;
}

static bool is_view(const Call *c, size_t k) {
    int i = op_view(c->g, c->id, k);
    return i >= 0 && (size_t)i < c->nin && c->out[k].kind == TYPE_TENSOR &&
           c->in[i]->kind == TYPE_TENSOR &&
           tensor_may_share_memory(&c->out[k].t, call_in(c, (size_t)i));
}

static uint64_t call_key(const Call *c) {
    uint64_t h = 1;
    for (size_t i = 0; i < c->nin; i++)
        h = value_key(h, c->in[i]);
    for (size_t k = 0; k < c->nout; k++)
        h = hash_mix(value_key(h, &c->out[k]), is_view(c, k));
    return h ? h : 1;
}

static const Graph *function_of(const Graph *g, ApplyId id) {
    const Apply *ap = &g->apply[id];
    if (ap->op->body) return userop_body(g, id);
    for (uint32_t i = 0; ap->props && i < ap->props->n; i++)
        if (ap->props->p[i].kind == P_GRAPH)
            return graph_function(g, ap->props->p[i].sym);
    return NULL;
}

/* A call costs nothing itself: the function's instructions do. An op defined by a
 * formula is one row. */
static bool is_call(const Graph *g, ApplyId id, const Graph **fn) {
    const Op *op = g->apply[id].op;
    *fn = function_of(g, id);
    return *fn && (op->body || op_is(g->s, op, OP_CALL));
}

/* Where the plan of a graph or function works in place, by variable. */
static const uint8_t *places_of(Profile *p, const Graph *g) {
    uint64_t found;
    if (map_get(&p->in_place, (uintptr_t)g, &found))
        return (const uint8_t *)(uintptr_t)found;
    uint8_t *at = NEW_N(p->a, (size_t)g->nvar + 1, uint8_t);
    size_t mark = diag_count(p->s);
    PlanOptions how = p->how;
    called_plan_body(p, g, &how);
    Plan *own = g == p->g ? NULL : plan_new((Graph *)(uintptr_t)g, &how);
    const Plan *plan = g == p->g ? p->plan : own; /* planning only reads */
    diag_rewind(p->s, mark);
    for (size_t i = 0; plan && i < plan_vars(plan); i++) {
        PlanVar v = plan_var(plan, i);
        at[v.var] = v.how == PLAN_INPLACE;
    }
    plan_free(own);
    map_put(&p->in_place, (uintptr_t)g, (uintptr_t)at);
    return at;
}

/* Does the Apply, or what ends the fused group that it calls, change elements of an
 * array in place? */
static bool works_in_place(Profile *p, const Graph *g, ApplyId id) {
    const Graph *fn = function_of(g, id);
    const Op *op = g->apply[id].op;
    Var out = g->apply[id].out + g->apply[id].nout - 1U;
    if (fn && fn->fused && fn->napply) op = fn->apply[fn->napply - 1].op;
    return op_rare(op)->changes && places_of(p, g)[out];
}

static Cost cost_of(Profile *p, const Costed *c) {
    const Graph *fn;
    bool call = is_call(c->g, c->id, &fn), planned = !p->costs_only;
    const Op *op = c->g->apply[c->id].op;
    p->block = NULL;
    if (op_is(c->g->s, op, OP_SCAN) && planned) {
        LoopStep l = loop_step(p->tmp, c);
        called_add_loop(p, c, &l);
    }
    if (op->body && !op->elemwise && planned) called_add(p, fn, c->nin, c->in);
    if (op->body) return cost_apply(&p->costing, p->tmp, c);
    if (call && fn->fused) return cost_fused(&p->costing, p->tmp, fn, c);
    const Poly *zero = poly_number(p->tmp, 0);
    if (ranks_is_sharded(p, c->g, c->id)) {
        LoopStep l = shard_step(p->tmp, c);
        if (l.fn && planned) called_add(p, l.fn, l.nin, l.in);
        return (Cost){zero, zero, zero, zero};
    }
    if (call) {
        if (planned) called_add_call(p, c, fn);
        return (Cost){zero, zero, zero, zero};
    }
    return cost_apply(&p->costing, p->tmp, c);
}

static void cost_call(Profile *p, Rec *r, const Call *c) {
    arena_reset(p->tmp);
    Shape *in = NEW_N(p->tmp, c->nin, Shape), *out = NEW_N(p->tmp, c->nout, Shape);
    bool *view = NEW_N(p->tmp, c->nout, bool);
    for (size_t i = 0; i < c->nin; i++)
        if (c->in[i]->kind == TYPE_TENSOR)
            in[i] = shape_of_tensor(p->tmp, call_in(c, i));
    for (size_t k = 0; k < c->nout; k++) {
        if (c->out[k].kind == TYPE_TENSOR)
            out[k] = shape_of_tensor(p->tmp, &c->out[k].t);
        view[k] = is_view(c, k);
    }
    Costed what = {c->g, c->id, c->nin, c->nout,
                   in,   out,   view,   works_in_place(p, c->g, c->id)};
    Cost cost = cost_of(p, &what);
    const Poly *part[] = {cost.flops, cost.math, cost.read, cost.written};
    for (int i = 0; i < 4; i++)
        r->known[i] = poly_is_number(part[i], &r->last[i]);
    if (c->g == p->g) learn_all(p, c);
}

static void add_cost(Rec *r) {
    Amount *to[] = {&r->flops, &r->math, &r->read, &r->written};
    for (int i = 0; i < 4; i++)
        if (r->known[i])
            to[i]->v += r->last[i];
        else
            to[i]->unknown++;
}

static double bytes_in(const Call *c) {
    double bytes = 0;
    for (size_t i = 0; i < c->nin; i++)
        bytes +=
            c->in[i]->kind == TYPE_TENSOR ? (double)tensor_bytes(call_in(c, i)) : 0;
    return bytes;
}

/* ---- hooks ---- */
/* A fused group that must run as an ordinary function is still one row. */
static bool open_step(void *ctx, size_t step, const Call *c) {
    Profile *p = ctx;
    (void)step;
    bool skipped = c->g->fused || (p->frames.n && p->frames.p[p->frames.n - 1].skipped);
    bool sharded = ranks_is_sharded(p, c->g, c->id) ||
                   (p->frames.n && p->frames.p[p->frames.n - 1].sharded);
    OpenApply f = {.skipped = skipped, .sharded = sharded};
    vec_push(p->s, &p->frames, f);
    p->frames.p[p->frames.n - 1].start = clock_seconds();
    return true;
}

static bool record_step(void *ctx, size_t step, const Call *c, double seconds) {
    Profile *p = ctx;
    (void)step;
    OpenApply f = p->frames.p[--p->frames.n];
    if (f.skipped) return true;
    Rec *r = rec_of(p, c->g, c->id);
    uint64_t key = call_key(c);
    if (r->key != key) cost_call(p, r, c);
    r->key = key;
    r->calls++;
    double own = seconds > f.inner ? seconds - f.inner : 0;
    r->now_s += own;
    if (f.sharded) p->shards_now_s += own;
    if (ranks_exchanges(c->g, c->id)) ranks_note(p, c->g, c->id, bytes_in(c), 1);
    add_cost(r);
    if (p->events.n < EVENTS_MAX) {
        Event e = {c->g, c->id, f.start, seconds, (int)p->frames.n};
        vec_push(p->s, &p->events, e);
    }
    if (p->frames.n) p->frames.p[p->frames.n - 1].inner += clock_seconds() - f.start;
    return true;
}

VmHooks profile_hooks(Profile *p) {
    p->events.n = p->frames.n = 0;
    return (VmHooks){.ctx = p, .before = open_step, .after = record_step};
}

/* Times come from the fastest call: they are consistent with each other, and
 * disturbances of other calls don't enter. */
void profile_watched(Profile *p) {
    double sum = 0;
    for (size_t t = 0; t < p->tables.n; t++)
        for (ApplyId id = 0; id < p->tables.p[t].g->napply; id++)
            sum += p->tables.p[t].rec[id].now_s;
    bool best = !p->watched++ || sum < p->fastest;
    if (best) p->fastest = sum, p->shards_s = p->shards_now_s;
    p->shards_now_s = 0;
    for (size_t t = 0; t < p->tables.n; t++)
        for (ApplyId id = 0; id < p->tables.p[t].g->napply; id++) {
            Rec *r = &p->tables.p[t].rec[id];
            if (best) r->time_s = r->now_s;
            r->now_s = 0;
        }
}

/* ---- static ---- */
enum { VISITS_MAX = 1 << 22, DEEP = 200 };

/* A graph, or a function run some number of times. */
typedef struct Walk {
    const Graph *g;
    const Shape *h;
    const Poly *times; /* NULL: unknown */
    uint64_t calls;    /* the same as a number; 1 if unknown */
    unsigned depth;
} Walk;

static void add_times(Profile *p, const Walk *w, Amount *to, const Poly *cost) {
    const Poly *sum = poly_mul(p->tmp, w->times, cost);
    uint64_t unknown = to->unknown;
    amount_add(p->a, to, sum);
    if (to->unknown > unknown) to->unknown = unknown + w->calls;
}

static void cost_all_applies(Profile *p, const Walk *w);

/* Walks a function that each run of its caller runs l->steps times. */
static void walk_function(Profile *p, const Walk *w, const LoopStep *l, Rec *r) {
    double n = 1;
    if (l->steps && poly_is_number(l->steps, &n) && n < 1) return;
    if (w->depth >= DEEP || p->visits > VISITS_MAX) {
        r->flops.unknown++, r->read.unknown++;
        return;
    }
    Map dims = MAP(p->s);
    bind_inputs(l->fn, &dims, l->nin, l->in);
    Arena *a = arena_new(p->s);
    Walk inner = {l->fn, cost_shapes(a, l->fn, &dims, false, l->nin, l->in),
                  poly_mul(a, w->times, l->steps),
                  n < 0x1p40 ? (uint64_t)n * w->calls : w->calls, w->depth + 1};
    cost_all_applies(p, &inner);
    arena_free(a);
    map_free(&dims);
}

/* The costs are those of all rows; what it calls is planned for a block of them. */
static void walk_by_rows(Profile *p, const Walk *w, const LoopStep *l, Rec *r) {
    LoopStep block = *l;
    block.in = p->block;
    p->costs_only = true;
    walk_function(p, w, l, r);
    p->costs_only = false;
    bool was = p->plans_only;
    p->plans_only = true;
    walk_function(p, w, &block, r);
    p->plans_only = was;
}

/* Walks the function that an Apply runs, with its inputs and number of runs; its costs
 * use p->tmp. */
static void visit_function(Profile *p, const Walk *w, const Costed *c, Rec *r) {
    const Graph *fn;
    bool call = is_call(c->g, c->id, &fn) && !fn->fused;
    bool shards = ranks_is_sharded(p, c->g, c->id);
    if (!call && !shards && !op_is(c->g->s, c->g->apply[c->id].op, OP_SCAN)) return;
    Arena *a = arena_new(p->s);
    Costed kept = *c;
    Shape *in = arena_copy(a, c->in, c->nin * sizeof *c->in);
    kept.in = in;
    LoopStep once = {.fn = fn, .nin = c->nin, .in = in, .steps = poly_number(a, 1)};
    LoopStep l = call ? once : shards ? shard_step(a, &kept) : loop_step(a, &kept);
    if (l.fn && p->block)
        walk_by_rows(p, w, &l, r);
    else if (l.fn)
        walk_function(p, w, &l, r);
    arena_free(a);
}

static double static_bytes(Arena *a, const Costed *c) {
    const Poly *sum = cost_bytes_in(a, c);
    double bytes;
    return poly_is_number(sum, &bytes) ? bytes : (double)NAN;
}

static void add_costs(Profile *p, const Walk *w, const Costed *c, Rec *r,
                      const Cost *cost) {
    r->calls += w->calls;
    add_times(p, w, &r->flops, cost->flops);
    add_times(p, w, &r->math, cost->math);
    add_times(p, w, &r->read, cost->read);
    add_times(p, w, &r->written, cost->written);
    if (ranks_exchanges(c->g, c->id))
        ranks_note(p, c->g, c->id, static_bytes(p->tmp, c), (double)w->calls);
}

static void cost_static_apply(Profile *p, const Walk *w, ApplyId id) {
    const Graph *g = w->g;
    const Apply *ap = &g->apply[id];
    p->visits++;
    arena_reset(p->tmp);
    Shape *in = NEW_N(p->tmp, ap->nin, Shape);
    bool *view = NEW_N(p->tmp, ap->nout, bool);
    for (size_t i = 0; i < ap->nin; i++)
        in[i] = w->h[apply_in(g, id)[i]];
    for (size_t k = 0; k < ap->nout; k++)
        view[k] = op_view(g, id, k) >= 0;
    Costed what = {
        g, id, ap->nin, ap->nout, in, &w->h[ap->out], view, works_in_place(p, g, id)};
    Cost cost = cost_of(p, &what);
    Rec *r = rec_of(p, g, id);
    if (!p->plans_only) add_costs(p, w, &what, r, &cost);
    visit_function(p, w, &what, r);
}

static void cost_all_applies(Profile *p, const Walk *w) {
    for (ApplyId id = 0; id < w->g->napply; id++)
        cost_static_apply(p, w, id);
}

void profile_static(Profile *p) {
    Map dims = MAP(p->s);
    p->is_static = true;
    for (size_t i = 0; i < p->dims.n; i++)
        map_put(&dims, p->dims.p[i].name,
                (uintptr_t)poly_number(p->a, (double)p->dims.p[i].value));
    Shape *h = cost_shapes(p->a, p->g, &dims, true, 0, NULL);
    p->shape = h;
    Walk w = {.g = p->g, .h = h, .times = poly_number(p->a, 1), .calls = 1};
    for (size_t i = 0; i < plan_steps(p->plan); i++)
        cost_static_apply(p, &w, plan_step(p->plan, i).apply);
    p->watched = 1;
    map_free(&dims);
}
