/* Planning: orders the live Applies, numbers their operands as cells, and decides how
 * each one runs. Everything is linear in the live part; a plan for a few variables of a
 * large graph never looks at the rest. */
#include "lang/lazy_scope.h"
#include "scan/scan.h"
#include "userop/userop.h"
#include "vm/vm_impl.h"

#include <stdlib.h>
#include <string.h>

uint32_t plan_cell(const Plan *p, Var v) {
    if (p->flat) return p->flat[v];
    uint64_t c;
    return map_get(&p->cell_of, v, &c) ? (uint32_t)c : NONE;
}

static void set_cell(Plan *p, Var v, uint32_t cell) {
    if (p->flat)
        p->flat[v] = cell;
    else
        map_put(&p->cell_of, v, cell);
}

/* ---- the live part ---- */
typedef struct Live {
    Plan *p;
    Vec(ApplyId) todo, found;
    Vec(Var) leaves;
} Live;

/* Marks a variable, and its Apply with all outputs; cells are numbered later. */
static void mark_live_var(Live *l, Var v) {
    const Graph *g = l->p->g;
    if (plan_cell(l->p, v) != NONE) return;
    ApplyId a = var_owner(g, v);
    if (a == APPLY_NONE) {
        set_cell(l->p, v, 0);
        vec_push(l->p->s, &l->leaves, v);
        return;
    }
    for (uint32_t j = 0; j < g->apply[a].nout; j++)
        set_cell(l->p, g->apply[a].out + j, 0);
    vec_push(l->p->s, &l->todo, a);
}

static void follow_inputs(Live *l) {
    const Graph *g = l->p->g;
    while (l->todo.n) {
        ApplyId a = l->todo.p[--l->todo.n];
        vec_push(l->p->s, &l->found, a);
        for (uint32_t k = 0; k < g->apply[a].nin; k++)
            mark_live_var(l, apply_in(g, a)[k]);
    }
}

/* Effects that only a branch needs are not roots: the branch requests them. */
static void find_conditional(Plan *p) {
    if (p->o.only_want || !p->g->effects.n || !lazy_scope_any(p->g)) return;
    p->conditional = lazy_scope_conditional(
        p->g, p->arena,
        lazy_scope_find(p->g, p->arena, (VarList){p->noutput, p->want}));
}

static void find_live(Live *l) {
    Plan *p = l->p;
    find_conditional(p);
    for (uint32_t i = 0; i < p->noutput; i++)
        mark_live_var(l, p->want[i]);
    for (uint32_t i = 0; i < p->nupdate; i++)
        mark_live_var(l, p->updates[i].value);
    if (p->until != VAR_NONE) mark_live_var(l, p->until);
    for (size_t i = 0; i < p->g->kept.n && !p->o.only_want; i++)
        mark_live_var(l, p->g->kept.p[i]);
    for (size_t i = 0; i < p->g->effects.n && !p->o.only_want; i++)
        if (!p->conditional || !p->conditional[i])
            mark_live_var(l, p->g->apply[p->g->effects.p[i]].out);
    follow_inputs(l);
    if (l->found.n) qsort(l->found.p, l->found.n, sizeof *l->found.p, mem_compare_u32);
}

/* ---- cells ---- */
static uint32_t add_cell(Plan *p, Var v) {
    const Type *t = var_type(p->g, v);
    bool boxed = t->kind != TYPE_TENSOR && t->kind != TYPE_RANDOM;
    p->has_boxes |= boxed;
    p->sharing.cell[p->ncell] = (CellInfo){.var = v,
                                           .type = t,
                                           .store = NONE,
                                           .of = NONE,
                                           .root = p->ncell,
                                           .flags = boxed ? CELL_BOXED : 0};
    set_cell(p, v, p->ncell);
    return p->ncell++;
}

static const uint32_t *interface_cells(Plan *p, size_t n, const Var *v) {
    uint32_t *cell = NEW_N(p->arena, n, uint32_t);
    for (size_t i = 0; i < n; i++)
        cell[i] = add_cell(p, v[i]);
    return cell;
}

static size_t count_outputs(const Live *l, size_t *args) {
    size_t n = 0;
    *args = 0;
    for (size_t i = 0; i < l->found.n; i++) {
        const Apply *a = &l->p->g->apply[l->found.p[i]];
        n += a->nout;
        *args += (size_t)a->nin + a->nout;
    }
    return n;
}

static void add_leaves(Plan *p, Live *l) {
    const Graph *g = p->g;
    size_t args, nout = count_outputs(l, &args);
    p->sharing.cell =
        NEW_N(p->arena, nout + g->inputs.n + g->shared.n + l->leaves.n, CellInfo);
    p->arg = NEW_N(p->arena, args, uint32_t);
    p->arg_var = NEW_N(p->arena, args, Var);
    for (size_t i = 0; i < l->leaves.n; i++)
        set_cell(p, l->leaves.p[i], NONE);
    p->input = interface_cells(p, g->inputs.n, g->inputs.p);
    p->shared = interface_cells(p, g->shared.n, g->shared.p);
    for (size_t i = 0; i < l->leaves.n; i++) {
        Var v = l->leaves.p[i];
        if (plan_cell(p, v) == NONE) add_cell(p, v);
        p->sharing.cell[plan_cell(p, v)].flags |= CELL_LIVE;
    }
    p->nleaf = p->ncell;
}

/* ---- instructions ---- */
static bool choose_call(Plan *p, Ins *in) {
    in->kind = PLAN_CALL;
    if (in->fn->fused && !p->o.no_fuse && (in->prog = program_of_function(p, in->fn)))
        in->kind = PLAN_FUSED;
    if (in->kind == PLAN_CALL && !p->o.keep_all)
        in->rows = call_rows(p->g, in->apply, p->arena);
    if (in->fn->inputs.n == in->nin && in->fn->outputs.n == in->nout) return true;
    return fail(
        p->s, p->g->origin[in->apply].at, E_ARITY,
        "a call gives %u inputs and takes %u outputs, but the function has %zu and %zu",
        in->nin, in->nout, in->fn->inputs.n, in->fn->outputs.n);
}

static bool choose_kind(Plan *p, Ins *in) {
    const Op *op = p->g->apply[in->apply].op;
    in->fn = op->body ? userop_body(p->g, in->apply)
                      : op_called_function(p->g, &p->g->apply[in->apply]);
    if (in->fn) return choose_call(p, in);
    if (op->body) return false;
    bool debug = plan_runs_debug(p, op);
    in->shards = op_is(p->s, op, OP_EACH_SHARD);
    if (in->shards || (op_is(p->s, op, OP_SCAN) && !debug)) {
        in->kind = PLAN_SCAN;
        in->fn = graph_function(
            p->g, op_prop(p->s, op, p->g->apply[in->apply].props, "fn")->sym);
        return in->fn != NULL;
    }
    if (op->pick && !debug) {
        in->kind = PLAN_LOOP;
        in->prog = program_of_apply(p->arena, p->g, in->apply);
        return in->prog != NULL;
    }
    in->kind = PLAN_PERFORM;
    in->thunk = op_rare(op)->thunk;
    p->has_thunks |= op_rare(op)->thunk != NULL;
    p->has_destroyers |= op_rare(op)->destroys != NULL;
    if (op->perform || op_rare(op)->thunk || debug) return true;
    return fail(p->s, p->g->origin[in->apply].at, E_TYPE, "%s can't be run", op->name);
}

static bool add_instructions(Plan *p, const Live *l) {
    const Graph *g = p->g;
    p->ins = NEW_N(p->arena, l->found.n, Ins);
    uint32_t at = 0;
    for (size_t i = 0; i < l->found.n; i++) {
        const Apply *a = &g->apply[l->found.p[i]];
        Ins *in = &p->ins[p->nins++];
        *in = (Ins){.apply = l->found.p[i], .arg = at, .nin = a->nin, .nout = a->nout};
        for (uint32_t k = 0; k < a->nin; k++, at++) {
            p->arg_var[at] = apply_in(g, in->apply)[k];
            p->arg[at] = plan_cell(p, p->arg_var[at]);
        }
        for (uint32_t k = 0; k < a->nout; k++, at++) {
            p->arg_var[at] = a->out + k;
            p->arg[at] = add_cell(p, a->out + k);
        }
        if (a->nin > p->max_in) p->max_in = a->nin;
        if (a->nout > p->max_out) p->max_out = a->nout;
        if (!choose_kind(p, in)) return false;
    }
    return true;
}

static void take_roots(Plan *p, Graph *g) {
    const PlanOptions *o = &p->o;
    p->noutput = (uint32_t)(o->want ? o->nwant : g->outputs.n);
    p->want = NEW_N(p->arena, p->noutput, Var);
    for (uint32_t i = 0; i < p->noutput; i++)
        p->want[i] = o->want ? o->want[i] : g->outputs.p[i].var;
    p->o.want = p->want;
    if (!o->only_want && !o->no_updates) {
        p->nupdate = (uint32_t)g->updates.n;
        p->updates =
            arena_copy(p->arena, g->updates.p, g->updates.n * sizeof *p->updates);
    }
    p->until = o->only_want ? VAR_NONE : g->until;
}

static bool build_plan(Plan *p) {
    Live l = {.p = p};
    find_live(&l);
    add_leaves(p, &l);
    bool ok = add_instructions(p, &l);
    vec_free(&l.todo);
    vec_free(&l.found);
    vec_free(&l.leaves);
    if (!ok) return false;
    overlap_order(p);
    if (!destroy_order(p)) return false;
    order_lazy(p);
    alias_order(p);
    order_memory(p);
    order_late(p);
    destroy_keep_late(p);
    overlap_early(p);
    alias_share(p, p->arena, !p->o.no_inplace, &p->sharing);
    alias_kills(p);
    after_find(p);
    overlap_find(p);
    return true;
}

Plan *plan_new(Graph *g, const PlanOptions *o) {
    Arena *a = arena_new(g->s);
    Plan *p = NEW(a, Plan);
    *p = (Plan){.s = g->s, .g = g, .o = *o, .arena = a, .cell_of = MAP(g->s)};
    if (o->keep_all) p->o.no_reuse = p->o.no_inplace = true;
    take_roots(p, g);
    if (o->threads != 1) graph_learn_names(g);
    if (!o->only_want) {
        p->flat = arena_alloc(a, g->nvar * sizeof *p->flat);
        memset(p->flat, 0xff, g->nvar * sizeof *p->flat);
    }
    if (build_plan(p)) return plan_build_code(p), p;
    plan_free(p);
    return NULL;
}

void plan_free(Plan *p) {
    if (!p) return;
    map_free(&p->cell_of);
    vec_free(&p->sharing.store);
    for (size_t i = 0; i < p->flat_fn.n; i++)
        graph_free(p->flat_fn.p[i]);
    vec_free(&p->flat_fn);
    cpu_unmap_code(p->code, p->code_bytes);
    arena_free(p->arena);
}

/* ---- questions ---- */
const Graph *plan_graph(const Plan *p) {
    return p->g;
}

bool plan_overwrites_shared(const Plan *p) {
    for (uint32_t u = 0; u < p->nupdate; u++) {
        const CellInfo *c = &p->sharing.cell[p->sharing.update[u].cell];
        uint32_t old = p->shared[p->sharing.update[u].shared];
        if (p->sharing.cell[old].flags & CELL_DESTROYED) return true;
        if (c->store != NONE && p->sharing.store.p[c->store].cls == STORE_SHARED)
            return true;
    }
    return false;
}

size_t plan_steps(const Plan *p) {
    return p->nins;
}

PlanStep plan_step(const Plan *p, size_t i) {
    const Ins *in = &p->ins[i];
    return (PlanStep){.kind = in->kind,
                      .apply = in->apply,
                      .op = p->g->apply[in->apply].op,
                      .nin = in->nin,
                      .nout = in->nout,
                      .in = p->arg_var + in->arg,
                      .out = p->arg_var + in->arg + in->nin,
                      .fn = in->fn,
                      .after = in->after ? in->after->step : SIZE_MAX};
}

size_t plan_vars(const Plan *p) {
    return p->ncell;
}

PlanVar plan_var(const Plan *p, size_t i) {
    const CellInfo *c = &p->sharing.cell[i];
    PlanHow how = c->flags & CELL_COPY_ROOM ? PLAN_OWN : (PlanHow)c->how;
    return (PlanVar){.var = c->var,
                     .how = how,
                     .of = c->of == NONE ? VAR_NONE : p->sharing.cell[c->of].var,
                     .store = c->store,
                     .born = c->born,
                     .dies = c->dies,
                     .copied = c->flags & CELL_COPIED,
                     .apart = p->o.results_apart && c->store != NONE &&
                              p->sharing.store.p[c->store].cls == STORE_OWN};
}

int64_t plan_bytes(const Plan *p, Var v, size_t ndim, const DimValue *dim) {
    Map dims = dim_value_map(p->s, ndim, dim);
    int64_t n = type_bytes(var_type(p->g, v), &dims);
    map_free(&dims);
    return n;
}
