/* The memory that functions hold while the graph runs: all that are called at one depth
 * of calls share storage that fits the largest call; each loop keeps one for its body.
 */
#include "op/build.h"
#include "part/part.h"
#include "prof/prof_impl.h"
#include "userop/userop.h"

enum { CALLED_MAX = 1000 };

static size_t bound_dims(const Graph *fn, size_t nin, const Shape *in, DimValue *dim) {
    size_t n = 0;
    for (size_t i = 0; i < nin && i < fn->inputs.n; i++) {
        const Type *t = var_type(fn, fn->inputs.p[i]);
        for (int k = 0; t->kind == TYPE_TENSOR && k < t->ndim && k < in[i].ndim; k++) {
            double v;
            if (!dim_is_named(t->dim[k]) || !poly_is_number(in[i].dim[k], &v)) continue;
            if (!(v >= 0 && v < 0x1p62)) continue;
            if (dim) dim[n] = (DimValue){dim_sym(t->dim[k]), (int64_t)v};
            n++;
        }
    }
    return n;
}

/* A copy in p->a, as the shapes of a call live only as long as its cost. */
static Shape *keep_shapes(Profile *p, size_t nin, const Shape *in) {
    Shape *kept = arena_copy(p->a, in, nin * sizeof *in);
    for (size_t i = 0; i < nin; i++) {
        const Poly **dim = NEW_N(p->a, (size_t)in[i].ndim, const Poly *);
        for (int k = 0; k < in[i].ndim; k++)
            dim[k] = poly_copy(p->a, in[i].dim[k]);
        kept[i].dim = dim;
        kept[i].value = poly_copy(p->a, in[i].value);
    }
    return kept;
}

/* Do they depend on dims? */
static bool are_open(size_t nin, const Shape *in) {
    double v;
    for (size_t i = 0; i < nin; i++)
        for (int k = 0; k < in[i].ndim; k++)
            if (!poly_is_number(in[i].dim[k], &v)) return true;
    return false;
}

static uint64_t hash_shapes(const Profile *p, uint64_t key, size_t nin,
                            const Shape *in) {
    Str text = STR(p->s);
    for (size_t i = 0; i < nin; i++)
        for (int k = 0; k < in[i].ndim; k++) {
            poly_text(p->s, in[i].dim[k], &text);
            str_putc(&text, ',');
        }
    key = hash_bytes(str_text(&text), text.n, key);
    str_free(&text);
    return key;
}

static void add_called(Profile *p, Called c, size_t nin, const Shape *in) {
    bool open = p->is_static && are_open(nin, in);
    size_t n = bound_dims(c.fn, nin, in, NULL);
    DimValue *dim = mem_alloc(p->s, (n + 1) * sizeof *dim);
    bound_dims(c.fn, nin, in, dim);
    uint64_t key = hash_mix(hash_mix(hash_mix(1, (uintptr_t)c.fn), c.site), c.more);
    if (c.by_rows) key = hash_mix(key, 1);
    for (size_t i = 0; i < n; i++)
        key = hash_mix(hash_mix(key, dim[i].name), (uint64_t)dim[i].value);
    if (open) key = hash_shapes(p, key, nin, in);
    if (!map_get(&p->called_keys, key, NULL) && p->called.n < CALLED_MAX) {
        map_put(&p->called_keys, key, 0);
        c.ndim = n;
        c.dim = arena_copy(p->a, dim, n * sizeof *dim);
        c.nin = nin;
        c.in = p->is_static ? keep_shapes(p, nin, in) : NULL;
        c.rings = poly_copy(p->a, c.rings);
        const Poly **ring = NEW_N(p->a, c.nstate, const Poly *);
        for (size_t k = 0; k < c.nstate; k++)
            ring[k] = poly_copy(p->a, c.ring[k]);
        c.ring = ring;
        if (c.nstate) c.state = arena_copy(p->a, c.state, c.nstate * sizeof *c.state);
        vec_push(p->s, &p->called, c);
    }
    mem_free(dim);
}

void called_add(Profile *p, const Graph *fn, size_t nin, const Shape *in) {
    add_called(p, (Called){.fn = fn, .rings = poly_number(p->tmp, 0)}, nin, in);
}

/* A block of rows: what is left of the arguments, and the bytes of results that aren't
 * written where they belong: sums, and rows that don't lie together. */
typedef struct CallBlock {
    const Shape *in;
    uint64_t more;
} CallBlock;

static const Shape *cut_shapes(Profile *p, const Costed *c, const CallRows *rows,
                               int64_t n) {
    Shape *in = arena_copy(p->tmp, c->in, c->nin * sizeof *in);
    for (size_t i = 0; i < c->nin; i++) {
        if (rows->in[i] < 0) continue;
        const Poly **size =
            arena_copy(p->tmp, in[i].dim, (size_t)in[i].ndim * sizeof *size);
        size[rows->in[i]] = poly_number(p->tmp, (double)n);
        in[i].dim = size;
    }
    return in;
}

static uint64_t bytes_written_apart(const Plan *plan, const Graph *fn,
                                    const CallRows *rows, size_t ndim,
                                    const DimValue *dim) {
    uint64_t sum = 0;
    for (size_t k = 0; k < fn->outputs.n; k++) {
        int64_t n = plan_bytes(plan, fn->outputs.p[k].var, ndim, dim);
        if (rows->out[k] != 0 && n > 0) sum += (uint64_t)n;
    }
    return sum;
}

/* Where sizes are numbers; else of all rows. */
static CallBlock block_of_call(Profile *p, const Costed *c, const Graph *fn,
                               const CallRows *rows) {
    size_t mark = diag_count(p->s), ndim = bound_dims(fn, c->nin, c->in, NULL);
    DimValue *dim = NEW_N(p->tmp, ndim + 1, DimValue);
    Called how = {.by_rows = true};
    PlanOptions o = p->how;
    CallBlock r = {c->in, 0};
    bound_dims(fn, c->nin, c->in, dim);
    called_plan(&how, &o);
    Plan *plan = plan_new((Graph *)(uintptr_t)fn, &o); /* planning only reads */
    diag_rewind(p->s, mark);
    if (!plan) return r;
    int64_t n = plan_block_rows(plan, rows, ndim, dim), all = 0;
    Sym name = part_rows_dim(fn, rows->in);
    for (size_t i = 0; i < ndim; i++)
        if (dim[i].name == name) all = dim[i].value, dim[i].value = n;
    if (n < all) {
        r.in = cut_shapes(p, c, rows, n);
        r.more = bytes_written_apart(plan, fn, rows, ndim, dim);
    }
    plan_free(plan);
    return r;
}

void called_add_call(Profile *p, const Costed *c, const Graph *fn) {
    const CallRows *rows = call_rows(c->g, c->id, p->tmp);
    CallBlock b = {c->in, 0};
    if (rows) b = block_of_call(p, c, fn, rows);
    if (b.in != c->in) p->block = keep_shapes(p, c->nin, b.in);
    p->whole_rows |= rows && p->is_static && are_open(c->nin, c->in);
    add_called(p,
               (Called){.fn = fn,
                        .by_rows = rows != NULL,
                        .more = b.more,
                        .rings = poly_number(p->tmp, (double)b.more)},
               c->nin, b.in);
}

void called_add_loop(Profile *p, const Costed *c, const LoopStep *l) {
    uint64_t site = hash_mix(hash_mix(2, (uintptr_t)c->g), c->id);
    double rings = 0;
    bool known = poly_is_number(l->rings, &rings) && rings < 0x1p60;
    add_called(p,
               (Called){.fn = l->fn,
                        .site = site ? site : 1,
                        .more = known ? (uint64_t)rings : 0,
                        .rings = l->rings,
                        .nstate = l->nstate,
                        .state = l->state,
                        .ring = l->ring},
               l->nin, l->in);
}

static void take_larger(uint64_t *to, uint64_t v) {
    if (v > *to) *to = v;
}

/* Inference with the numbers that a call has for dims finds sizes of which the types
 * have none: of concatenated rows, of slices. Returns them by variable, in bytes; -1:
 * still unknown. */
static int64_t *sizes_in_call(Arena *a, const Graph *fn, const Called *c) {
    Graph *g = graph_new(fn->s);
    Var *map = graph_import_map(fn, a, NULL), *all = NEW_N(a, fn->nvar + 1, Var);
    VarList want = {0, all};
    for (size_t i = 0; i < fn->inputs.n; i++) {
        Var v = fn->inputs.p[i];
        map[v] = graph_input(g, var_name(fn, v), var_type(fn, v));
    }
    for (Var v = 0; v < fn->nvar; v++)
        if (var_owner(fn, v) != APPLY_NONE) all[want.n++] = v;
    bool ok = graph_import(g, fn, want, false, map);
    for (size_t i = 0; ok && i < c->ndim; i++)
        ok = graph_bind_dim(g, c->dim[i].name, c->dim[i].value);
    ok = ok && graph_reinfer(g);
    int64_t *bytes = NEW_N(a, fn->nvar + 1, int64_t);
    for (Var v = 0; v < fn->nvar; v++) {
        const Type *t = ok && map[v] != VAR_NONE ? var_type(g, map[v]) : NULL;
        int64_t n = t && t->kind == TYPE_TENSOR ? type_size(t) : -1;
        if (n < 0 || !i64_mul(n, (int64_t)dtype_size(t->dtype), &bytes[v]))
            bytes[v] = -1;
    }
    graph_free(g);
    return bytes;
}

static PlanMemory memory_in_call(Session *s, const Plan *plan, const Called *c) {
    PlanMemory m = plan_memory(plan, c->ndim, c->dim, NULL);
    if (!m.unknown || !c->ndim) return m;
    size_t mark = diag_count(s);
    Arena *a = arena_new(s);
    m = plan_memory(plan, c->ndim, c->dim, sizes_in_call(a, c->fn, c));
    arena_free(a);
    diag_rewind(s, mark);
    return m;
}

/* ---- who shares storage ---- */
typedef struct Levels {
    Profile *p;
    Arena *a;
    Map met; /* graph and level */
    Vec(const Graph *) fn;
    Vec(uint32_t) level; /* of each fn: how deep a call of it may be */
} Levels;

enum { LEVELS_MAX = 256 };

/* The function that an Apply calls as a machine of its own, or runs as a loop. */
static const Graph *runs_function(const Graph *g, ApplyId id, bool *loop) {
    const Apply *ap = &g->apply[id];
    *loop = op_is(g->s, ap->op, OP_SCAN);
    if (ap->op->body) return ap->op->elemwise ? NULL : userop_body(g, id);
    if (!*loop && !op_is(g->s, ap->op, OP_CALL)) return NULL;
    const Graph *fn = graph_function(g, op_prop(g->s, ap->op, ap->props, "fn")->sym);
    return fn && fn->fused ? NULL : fn;
}

static void find_levels(Levels *l, const Graph *g, uint32_t level) {
    uint64_t key = hash_mix((uintptr_t)g, level);
    if (level >= LEVELS_MAX || map_get(&l->met, key, NULL)) return;
    map_put(&l->met, key, 0);
    for (ApplyId id = 0; id < g->napply; id++) {
        bool loop;
        const Graph *fn = runs_function(g, id, &loop);
        if (!fn) continue;
        if (!loop) {
            vec_push(l->p->s, &l->fn, fn);
            vec_push(l->p->s, &l->level, level);
        }
        find_levels(l, fn, loop ? level : level + 1);
    }
}

static bool is_in_group(const Levels *l, const Called *c, const Called *first,
                        uint32_t level) {
    if (first) return c->fn == first->fn && c->site == first->site;
    for (size_t i = 0; !c->site && i < l->fn.n; i++)
        if (l->fn.p[i] == c->fn && l->level.p[i] == level) return true;
    return false;
}

static void add_group(const Levels *l, CallGroups *to, const Called *first,
                      uint32_t level) {
    CallGroup g = {.call = NEW_N(l->a, l->p->called.n, uint32_t)};
    for (size_t i = 0; i < l->p->called.n; i++)
        if (is_in_group(l, &l->p->called.p[i], first, level))
            g.call[g.n++] = (uint32_t)i;
    if (g.n) to->p[to->n++] = g;
}

CallGroups called_groups(Profile *p, Arena *a) {
    Levels l = {.p = p, .a = a, .met = MAP(p->s)};
    CallGroups r = {NEW_N(a, p->called.n + LEVELS_MAX, CallGroup), 0};
    Map done = MAP(p->s);
    if (p->called.n) find_levels(&l, p->g, 0);
    for (uint32_t level = 0, last = 1; last && level < LEVELS_MAX; level++) {
        size_t before = r.n;
        add_group(&l, &r, NULL, level);
        last = r.n > before;
    }
    for (size_t i = 0; i < p->called.n; i++) {
        const Called *c = &p->called.p[i];
        uint64_t key = hash_mix((uintptr_t)c->fn, c->site);
        if (!c->site || map_get(&done, key, NULL)) continue;
        map_put(&done, key, 0);
        add_group(&l, &r, c, 0);
    }
    map_free(&done);
    map_free(&l.met);
    vec_free(&l.fn);
    vec_free(&l.level);
    return r;
}

/* ---- how much ---- */
const Poly *called_spares(Arena *a, const Called *c, const Plan *plan) {
    const Poly *sum = poly_number(a, 0);
    for (size_t k = 0; k < c->nstate; k++)
        if (plan_overwrites_state(plan, c->state[k].out))
            sum = poly_add(a, sum, c->ring[k]);
    return sum;
}

/* A call, in the storage of its group. */
static PlanMemory memory_of_call(Profile *p, const Called *c, const Plan *plan) {
    PlanMemory m = memory_in_call(p->s, plan, c);
    double spares = 0;
    bool known = poly_is_number(called_spares(p->tmp, c, plan), &spares);
    uint64_t more =
        known && spares <= (double)c->more ? c->more - (uint64_t)spares : c->more;
    m.peak += more;
    m.least += more;
    m.peak_no_inplace += c->more;
    m.peak_no_reuse += c->more;
    return m;
}

void called_plan(const Called *c, PlanOptions *how) {
    how->own_results = c->site != 0 || c->by_rows;
    how->results_apart = c->by_rows;
    how->nstate = c->nstate;
    how->state = c->state;
}

static void note_loops(Profile *p, const Graph *g) {
    for (ApplyId id = 0; id < g->napply; id++) {
        if (!op_is(g->s, g->apply[id].op, OP_SCAN)) continue;
        ScanForm f = scan_form_of(g, id, p->a);
        if (!f.fn || map_get(&p->loops, (uintptr_t)f.fn, NULL)) continue;
        ScanState *state = NEW_N(p->a, f.nout, ScanState);
        PlanOptions o = {.nstate = scan_last_states(&f, state), .state = state};
        map_put(&p->loops, (uintptr_t)f.fn, p->loop.n);
        vec_push(p->s, &p->loop, o);
    }
}

void called_plan_body(Profile *p, const Graph *fn, PlanOptions *how) {
    uint64_t at;
    if (!p->has_loops) {
        p->has_loops = true;
        note_loops(p, p->g);
        for (size_t i = 0; i < p->g->main->functions.n; i++)
            note_loops(p, p->g->main->functions.p[i]);
    }
    if (!map_get(&p->loops, (uintptr_t)fn, &at)) return;
    how->own_results = true;
    how->nstate = p->loop.p[at].nstate;
    how->state = p->loop.p[at].state;
}

static Plan *plan_called(Profile *p, const Called *c) {
    PlanOptions how = p->how;
    called_plan(c, &how);
    size_t mark = diag_count(p->s);
    Plan *plan = plan_new((Graph *)(uintptr_t)c->fn, &how); /* planning only reads */
    diag_rewind(p->s, mark);
    return plan;
}

/* Memory of each call, planning each function once. */
static PlanMemory *memory_of_calls(Profile *p, Arena *a) {
    PlanMemory *m = NEW_N(a, p->called.n, PlanMemory);
    bool *done = NEW_N(a, p->called.n, bool);
    for (size_t i = 0; i < p->called.n; i++) {
        if (done[i]) continue;
        const Called *c = &p->called.p[i];
        Plan *plan = plan_called(p, c);
        for (size_t k = i; k < p->called.n; k++) {
            const Called *d = &p->called.p[k];
            if (d->fn != c->fn || !d->site != !c->site || d->by_rows != c->by_rows ||
                (c->nstate && d->site != c->site))
                continue;
            m[k] = plan ? memory_of_call(p, d, plan) : (PlanMemory){.unknown = 1};
            done[k] = true;
        }
        plan_free(plan);
    }
    return m;
}

/* The largest call of a group. */
static PlanMemory group_memory(const Profile *p, const CallGroup *g,
                               const PlanMemory *m, Sym *name) {
    PlanMemory most = {0};
    for (size_t i = 0; i < g->n; i++) {
        const PlanMemory *x = &m[g->call[i]];
        if (x->peak >= most.peak) *name = p->called.p[g->call[i]].fn->name;
        take_larger(&most.peak, x->peak);
        take_larger(&most.least, x->least);
        take_larger(&most.peak_no_inplace, x->peak_no_inplace);
        take_larger(&most.peak_no_reuse, x->peak_no_reuse);
        if (x->unknown > most.unknown) most.unknown = x->unknown;
    }
    return most;
}

PlanMemory called_memory(Profile *p) {
    PlanMemory sum = {0};
    Arena *a = arena_new(p->s);
    CallGroups groups = called_groups(p, a);
    PlanMemory *each = memory_of_calls(p, a);
    p->functions.n = 0;
    for (size_t i = 0; i < groups.n; i++) {
        Sym name = 0;
        PlanMemory m = group_memory(p, &groups.p[i], each, &name);
        if (m.peak)
            vec_push(p->s, &p->functions, ((Holder){VAR_NONE, name, (double)m.peak}));
        sum.peak += m.peak;
        sum.least += m.least;
        sum.peak_no_inplace += m.peak_no_inplace;
        sum.peak_no_reuse += m.peak_no_reuse;
        sum.unknown += m.unknown;
    }
    arena_free(a);
    return sum;
}
