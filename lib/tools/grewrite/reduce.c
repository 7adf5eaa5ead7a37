/* --reduce: the smallest graph with which a command fails as it does with the whole.
 * Each step removes something and is kept if the command's status stays the same:
 * roots; all behind an inner value, which becomes the output; stretches of Applies, by
 * halves, each replaced by a leaf, a constant or an input of its type, so that the rest
 * stays well typed; steps of loops; sizes. Rounds go on until none of it helps; then
 * inputs and shared variables that nothing needs go. */
#include "graph/append.h"
#include "op/build.h"
#include "op/op.h"
#include "tools/grewrite/command.h"

#include <string.h>

/* What takes the place of an Apply's result. */
typedef enum CutBy {
    CUT_LEAF,
    CUT_CONSTANT,
    CUT_FIRST_INPUT,
    CUT_LAST_INPUT,
    CUTS
} CutBy;

typedef struct Reduction {
    Session *s;
    const Reducing *how;
    Graph *g; /* the smallest so far */
    int status;
    uint32_t tries;
    bool over; /* stopped, or a command could not be run */
    bool failed;
} Reduction;

/* A candidate that can't be made or isn't well typed is no error; want of memory is. */
static void forget_trial(Reduction *r, size_t mark) {
    if (diag_hit_limit(r->s, mark))
        r->over = r->failed = true;
    else
        diag_rewind(r->s, mark);
}

/* ---- the command's word ---- */
static bool still_fails(Reduction *r, Graph *g) {
    CommandResult end;
    Command c = {.text = r->how->command,
                 .silent = true,
                 .seconds = r->how->seconds,
                 .stop = r->how->stop};
    r->tries++;
    if (!graph_try_command(g, &c, &end)) {
        r->over = r->failed = true;
        return false;
    }
    r->over = end.end == COMMAND_STOPPED || (c.stop && atomic_load(c.stop));
    return end.end == COMMAND_EXITED && end.status == r->status;
}

/* Takes the candidate over if it is well typed and fails as the whole did, else frees
 * it. */
static bool try_candidate(Reduction *r, Graph *c) {
    size_t mark = diag_count(r->s);
    graph_keep_called(c);
    bool ok = !r->over && graph_check(c);
    forget_trial(r, mark);
    ok = ok && !r->over && still_fails(r, c);
    if (!ok) {
        graph_free(c);
        return false;
    }
    graph_free(r->g);
    r->g = c;
    session_log(r->s, "reduced to %s after %u runs",
                str_counted(r->s, graph_all_applies(c), "apply"), r->tries);
    return true;
}

static Graph *copy_of(const Graph *g) {
    return graph_copy(g, ROOTS_RUN | ROOTS_INIT, NULL, false, NULL);
}

/* ---- roots ---- */
/* Outputs, updates and effects, counted through. */
static size_t count_roots(const Graph *g) {
    return g->outputs.n + g->updates.n + g->effects.n;
}

#define DROP(v, first, from, to)                                                       \
    do {                                                                               \
        size_t kept = 0;                                                               \
        for (size_t i = 0; i < (v)->n; i++)                                            \
            if ((first) + i < (from) || (first) + i >= (to))                           \
                (v)->p[kept++] = (v)->p[i];                                            \
        (v)->n = kept;                                                                 \
    } while (0)

static Graph *without_roots(const Graph *g, size_t from, size_t to) {
    Graph *c = copy_of(g);
    size_t updates = c->outputs.n, effects = updates + c->updates.n;
    DROP(&c->effects, effects, from, to);
    DROP(&c->updates, updates, from, to);
    DROP(&c->outputs, 0, from, to);
    graph_outputs_changed(c);
    graph_updates_changed(c);
    graph_compact(c, ROOTS_RUN | ROOTS_INIT, NULL, false);
    return c;
}

static bool reduce_roots(Reduction *r) {
    bool any = false;
    for (size_t size = (count_roots(r->g) + 1) / 2; size && !r->over; size /= 2)
        for (size_t from = 0; from < count_roots(r->g) && !r->over;)
            if (count_roots(r->g) > size &&
                try_candidate(r, without_roots(r->g, from, from + size)))
                any = true;
            else
                from += size;
    return any;
}

/* ---- all behind an inner value ---- */
static Graph *ending_at(const Graph *g, size_t output, Var v) {
    Var *map = mem_zalloc(g->s, g->nvar, sizeof *map);
    Graph *c = graph_copy(g, ROOTS_RUN | ROOTS_INIT, NULL, false, map);
    c->outputs.p[output].var = map[v];
    mem_free(map);
    graph_outputs_changed(c);
    graph_compact(c, ROOTS_RUN | ROOTS_INIT, NULL, false);
    return c;
}

/* What the output is computed from, leaves aside, in order. */
static VarList ancestors(const Graph *g, Arena *a, Var of) {
    uint8_t *need = NEW_N(a, g->nvar, uint8_t);
    Var *v = NEW_N(a, g->nvar, Var);
    size_t n = 0;
    need[of] = 1;
    graph_spread_needs(g, 0, need);
    for (Var i = 0; i < g->nvar; i++)
        if (need[i] && i != of && !var_leaf(g, i) &&
            var_type(g, i)->kind == TYPE_TENSOR)
            v[n++] = i;
    return (VarList){n, v};
}

/* One step: to the middle, or failing that halfway from there to the end, and so on;
 * at last to what the output's Apply reads. */
static bool end_earlier(Reduction *r, size_t output) {
    Arena *a = arena_new(r->s);
    Var of = r->g->outputs.p[output].var;
    VarList v = ancestors(r->g, a, of);
    ApplyId made = var_owner(r->g, of);
    bool ok = false;
    for (size_t at = v.n / 2; !ok && !r->over && at < v.n; at += (v.n - at + 1) / 2)
        ok = try_candidate(r, ending_at(r->g, output, v.p[at]));
    if (!ok && !r->over && made != APPLY_NONE) {
        size_t nin = r->g->apply[made].nin;
        for (size_t i = 0; !ok && !r->over && i < nin && i < 8; i++) {
            Var in = apply_in(r->g, made)[i];
            if (!var_leaf(r->g, in)) ok = try_candidate(r, ending_at(r->g, output, in));
        }
    }
    arena_free(a);
    return ok;
}

static bool reduce_ends(Reduction *r) {
    bool any = false;
    for (size_t i = 0; i < r->g->outputs.n && !r->over; i++)
        while (!r->over && end_earlier(r, i))
            any = true;
    return any;
}

/* ---- Applies ---- */
/* The graph itself, or its function of that name. */
static Graph *part_of(Graph *g, Sym name) {
    return name ? graph_function(g, name) : g;
}

static Var leaf_of_type(const Graph *g, const Type *t) {
    for (size_t i = 0; i < g->inputs.n; i++)
        if (var_type(g, g->inputs.p[i]) == t) return g->inputs.p[i];
    for (size_t i = 0; i < g->shared.n; i++)
        if (var_type(g, g->shared.p[i]) == t) return g->shared.p[i];
    return VAR_NONE;
}

/* Ones: neutral for much, and in the domain of most. */
static Var constant_of_type(Graph *g, const Type *t, Map *made) {
    uint64_t known;
    int64_t shape[MAX_NDIM];
    enum { MOST = 1 << 16 };
    int64_t size = 1;
    if (t->kind != TYPE_TENSOR) return VAR_NONE;
    if (map_get(made, (uint64_t)(uintptr_t)t, &known)) return (Var)known;
    for (int k = 0; k < t->ndim; k++) {
        if (!dim_is_known(t->dim[k])) return VAR_NONE;
        shape[k] = t->dim[k];
        if (!i64_mul(size, shape[k], &size)) return VAR_NONE;
    }
    Tensor one, all;
    if (size > MOST || !tensor_scalar_int(g->s, t->dtype, 1, &one)) return VAR_NONE;
    Var v = VAR_NONE;
    if (tensor_new(g->s, t->dtype, t->ndim, shape, &all)) {
        tensor_assign(&all, &one);
        v = graph_const(g, &all, false);
        tensor_unref(&all);
    }
    tensor_unref(&one);
    if (v != VAR_NONE && var_type(g, v) != t) v = VAR_NONE;
    map_put(made, (uint64_t)(uintptr_t)t, v);
    return v;
}

static Var input_of_type(const Graph *g, ApplyId a, const Type *t, bool last) {
    Var found = VAR_NONE;
    for (size_t i = 0; i < g->apply[a].nin; i++)
        if (var_type(g, apply_in(g, a)[i]) == t && (last || found == VAR_NONE))
            found = apply_in(g, a)[i];
    return found;
}

static Var replacement(Graph *g, ApplyId a, Var v, CutBy by, Map *made) {
    const Type *t = var_type(g, v);
    if (by == CUT_LEAF) return leaf_of_type(g, t);
    if (by == CUT_CONSTANT) return constant_of_type(g, t, made);
    return input_of_type(g, a, t, by == CUT_LAST_INPUT);
}

static void drop_effect(Graph *g, ApplyId a) {
    size_t kept = 0;
    for (size_t i = 0; i < g->effects.n; i++)
        if (g->effects.p[i] != a) g->effects.p[kept++] = g->effects.p[i];
    g->effects.n = kept;
}

/* What is replaced takes its names along: its replacement has its own. */
static void forget_names(Graph *g, const Var *forward) {
    size_t n = g->names.n;
    VarName *was = mem_alloc(g->s, n * sizeof *was + 1);
    if (n) memcpy(was, g->names.p, n * sizeof *was);
    graph_unname_all(g);
    for (size_t i = 0; i < n; i++)
        if (forward[was[i].var] == was[i].var) graph_name(g, was[i].var, was[i].name);
    mem_free(was);
}

/* The Applies from..to of a part, replaced. NULL: none of them can be. */
static Graph *without_applies(Graph *g, Sym part, ApplyId from, ApplyId to, CutBy by) {
    Graph *c = copy_of(g), *h = part_of(c, part);
    if (!h || from >= h->napply) return graph_free(c), NULL;
    if (to > h->napply) to = h->napply;
    Map made = MAP(g->s);
    Vec(Var) with = {0};
    size_t replaced = 0;
    for (ApplyId a = from; a < to; a++)
        for (Var k = 0; k < h->apply[a].nout; k++)
            vec_push(g->s, &with, replacement(h, a, h->apply[a].out + k, by, &made));
    Var *forward = mem_zalloc(g->s, h->nvar, sizeof *forward);
    for (Var v = 0; v < h->nvar; v++)
        forward[v] = v;
    const Var *next = with.p;
    for (ApplyId a = from; a < to; a++) {
        size_t all = 0;
        for (Var v = h->apply[a].out; v < h->apply[a].out + h->apply[a].nout; v++) {
            Var x = *next++;
            if (x == VAR_NONE) continue;
            forward[v] = forward[x];
            all++;
        }
        replaced += all;
        if (h->apply[a].serial && all == h->apply[a].nout) drop_effect(h, a);
    }
    if (replaced) {
        forget_names(h, forward);
        graph_compact(h, ROOTS_RUN | ROOTS_INIT, forward, false);
    }
    mem_free(forward);
    vec_free(&with);
    map_free(&made);
    if (replaced) return c;
    return graph_free(c), NULL;
}

static bool cut_stretch(Reduction *r, Sym part, ApplyId from, ApplyId to) {
    for (int by = 0; by < CUTS && !r->over; by++) {
        size_t mark = diag_count(r->s);
        Graph *c = without_applies(r->g, part, from, to, (CutBy)by);
        forget_trial(r, mark);
        if (c && graph_all_applies(c) >= graph_all_applies(r->g)) {
            graph_free(c);
            continue;
        }
        if (c && try_candidate(r, c)) return true;
    }
    return false;
}

static bool reduce_applies(Reduction *r, Sym part) {
    const Graph *h = part_of(r->g, part);
    bool any = false;
    for (uint32_t size = h ? (h->napply + 1) / 2 : 0; size && !r->over; size /= 2)
        for (ApplyId from = 0;
             !r->over && (h = part_of(r->g, part)) != NULL && from < h->napply;)
            if (cut_stretch(r, part, from, from + size))
                any = true;
            else
                from += size;
    return any;
}

static bool reduce_functions(Reduction *r) {
    bool any = false;
    for (size_t i = 0; i < r->g->functions.n && !r->over; i++)
        any |= reduce_applies(r, r->g->functions.p[i]->name);
    return any;
}

/* ---- steps ---- */
static Graph *with_steps(const Graph *g, Sym part, ApplyId a, int64_t n) {
    Graph *c = copy_of(g), *h = part_of(c, part);
    Tensor t;
    if (!tensor_scalar_int(g->s, DT_INT64, n, &t)) return graph_free(c), NULL;
    Var steps = apply_in(h, a)[0], v = graph_const(h, &t, false);
    tensor_unref(&t);
    Var *forward = mem_zalloc(g->s, h->nvar, sizeof *forward);
    for (Var k = 0; k < h->nvar; k++)
        forward[k] = k;
    forward[steps] = v;
    graph_compact(h, ROOTS_RUN | ROOTS_INIT, forward, false);
    mem_free(forward);
    if (graph_reinfer(c)) return c;
    return graph_free(c), NULL;
}

static bool reduce_steps_of(Reduction *r, Sym part, ApplyId a) {
    const Graph *h = part_of(r->g, part);
    const Tensor *t = var_const(h, apply_in(h, a)[0]);
    if (!t || t->ndim || t->dtype != DT_INT64) return false;
    int64_t now = tensor_i64(t, 0);
    for (int64_t n = 1; n < now && !r->over; n *= 2) {
        size_t mark = diag_count(r->s);
        Graph *c = with_steps(r->g, part, a, n);
        forget_trial(r, mark);
        if (c && try_candidate(r, c)) return true;
    }
    return false;
}

static bool reduce_steps(Reduction *r) {
    bool any = false;
    for (size_t i = 0; i <= r->g->functions.n && !r->over; i++) {
        Sym part = i ? r->g->functions.p[i - 1]->name : 0;
        for (ApplyId a = 0; !r->over; a++) {
            const Graph *h = part_of(r->g, part);
            if (!h || a >= h->napply) break;
            if (op_is(r->s, h->apply[a].op, OP_SCAN))
                any |= reduce_steps_of(r, part, a);
        }
    }
    return any;
}

/* ---- sizes ---- */
static const Type *resized_type(Session *s, const Type *t, int64_t was, int64_t n) {
    Dim dim[MAX_NDIM];
    bool any = false;
    for (int k = 0; k < t->ndim; k++) {
        dim[k] = t->dim[k] == was ? n : t->dim[k];
        any |= dim[k] != t->dim[k];
    }
    return any ? type_clone(s, t, DT_NONE, t->ndim, dim) : t;
}

/* The first elements of a value along the dims of that size. */
static bool resize_value(Session *s, Leaf *leaf, int64_t was, int64_t n) {
    Tensor part = leaf->value->t, packed;
    for (int k = 0; k < part.ndim; k++)
        if (part.shape[k] == was) part.shape[k] = n;
    if (!tensor_clone(s, &part, &packed)) return false;
    value_unref(leaf->value);
    *leaf->value = (Value){.kind = TYPE_TENSOR, .t = packed};
    return true;
}

static bool resize_leaves(Graph *g, int64_t was, int64_t n) {
    for (uint32_t i = 0; i < g->nleaf; i++) {
        Leaf *leaf = &g->leaf[i];
        VarRec *rec = &g->var[leaf->var];
        if (rec->type->kind != TYPE_TENSOR) continue;
        const Type *to = resized_type(g->s, rec->type, was, n);
        if (to == rec->type) continue;
        rec->type = to;
        if (leaf->value && leaf->value->kind == TYPE_TENSOR && leaf->value->t.data &&
            !resize_value(g->s, leaf, was, n))
            return false;
    }
    return true;
}

static Graph *with_size(const Graph *g, int64_t was, int64_t n) {
    Graph *c = copy_of(g);
    bool ok = resize_leaves(c, was, n);
    for (size_t i = 0; ok && i < c->functions.n; i++)
        ok = resize_leaves(c->functions.p[i], was, n);
    /* callees may stand behind their callers */
    for (size_t i = 0; ok && i < 2 * c->functions.n; i++)
        ok = graph_reinfer(c->functions.p[i % c->functions.n]) || i < c->functions.n;
    if (ok && graph_reinfer(c)) return c;
    return graph_free(c), NULL;
}

/* The largest size of a leaf's dim below `below`; 0: none above 1. */
static int64_t next_size(const Graph *g, int64_t below) {
    int64_t most = 0;
    for (uint32_t i = 0; i < g->nleaf; i++) {
        const Type *t = var_type(g, g->leaf[i].var);
        for (int k = 0; t->kind == TYPE_TENSOR && k < t->ndim; k++)
            if (dim_is_known(t->dim[k]) && t->dim[k] > most && t->dim[k] < below)
                most = t->dim[k];
    }
    return most > 1 ? most : 0;
}

static bool reduce_sizes(Reduction *r) {
    bool any = false;
    for (int64_t was = INT64_MAX; !r->over && (was = next_size(r->g, was)) != 0;) {
        bool ok = false;
        for (int64_t n = 1; !ok && n < was && !r->over; n *= 2) {
            size_t mark = diag_count(r->s);
            Graph *c = with_size(r->g, was, n);
            forget_trial(r, mark);
            ok = c && try_candidate(r, c);
        }
        any |= ok;
    }
    return any;
}

/* ---- inputs and shared variables ---- */

static size_t drop_unneeded_shared(Graph *g, const uint8_t *live) {
    size_t had = g->shared.n;
    uint8_t *drop = mem_zalloc(g->s, g->nvar, sizeof *drop);
    for (size_t i = 0; i < had; i++) {
        Var v = g->shared.p[i];
        drop[v] = !graph_needs_input(g, live, v) && graph_update(g, v) == VAR_NONE;
    }
    graph_drop_shared(g, drop);
    mem_free(drop);
    return had - g->shared.n;
}

static size_t drop_unneeded_inputs(Graph *g, const uint8_t *live) {
    size_t had = g->inputs.n, kept = 0;
    for (size_t i = 0; i < had; i++)
        if (graph_needs_input(g, live, g->inputs.p[i]))
            g->inputs.p[kept++] = g->inputs.p[i];
    g->inputs.n = kept;
    return had - kept;
}

typedef size_t DropFn(Graph *g, const uint8_t *live);

/* NULL: all are needed. */
static Graph *without_unneeded(const Graph *g, DropFn *drop) {
    Graph *c = copy_of(g);
    Arena *a = arena_new(g->s);
    size_t dropped = drop(c, graph_live(c, a, ROOTS_RUN | ROOTS_INIT));
    arena_free(a);
    if (!dropped) return graph_free(c), NULL;
    graph_compact(c, ROOTS_RUN | ROOTS_INIT, NULL, false);
    return c;
}

/* A command that gives them values fails in another way then, and they stay. */
static void reduce_inputs(Reduction *r) {
    static DropFn *const drop[] = {drop_unneeded_shared, drop_unneeded_inputs};
    for (size_t i = 0; i < sizeof drop / sizeof *drop && !r->over; i++) {
        Graph *c = without_unneeded(r->g, drop[i]);
        if (c) try_candidate(r, c);
    }
}

/* ---- the whole ---- */
static bool fail_at_start(Reduction *r, const CommandResult *end) {
    if (end->end == COMMAND_LATE)
        return fail(r->s, NOWHERE, E_LIMIT,
                    "the command does not end in time with the whole graph");
    if (end->end == COMMAND_DIED)
        return fail(r->s, NOWHERE, E_VALUE,
                    "the command dies of signal %d with the whole graph: it must exit "
                    "to be reduced for",
                    end->status);
    if (end->status == 126 || end->status == 127)
        return fail(r->s, NOWHERE, E_VALUE,
                    "the command can't be run: it ends with status %d", end->status);
    return fail(r->s, NOWHERE, E_VALUE,
                "the command is fine with the whole graph: there is nothing to reduce");
}

static bool check_start(Reduction *r) {
    CommandResult end;
    Command c = {.text = r->how->command,
                 .seconds = r->how->seconds,
                 .stop = r->how->stop,
                 .silent = true};
    if (!graph_try_command(r->g, &c, &end)) return false;
    if (end.end == COMMAND_STOPPED) return r->over = true;
    bool usable = end.end == COMMAND_EXITED && end.status && end.status != 126 &&
                  end.status != 127;
    r->status = end.status;
    return usable || fail_at_start(r, &end);
}

bool graph_reduce(Graph **g, const Reducing *how) {
    Reduction r = {.s = (*g)->s, .how = how, .g = *g};
    bool ok = check_start(&r), any = ok;
    while (any && !r.over) {
        any = reduce_roots(&r);
        any |= reduce_ends(&r);
        any |= reduce_applies(&r, 0);
        any |= reduce_functions(&r);
        any |= reduce_steps(&r);
        any |= reduce_sizes(&r);
    }
    if (ok) reduce_inputs(&r);
    *g = r.g;
    return ok && !r.failed;
}
