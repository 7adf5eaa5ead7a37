/* Decides which cells share storage:
 *   - A cell dies after the last instruction that reads it or anything that may view it
 * (op_view): views are followed backwards, so a slot lives as long as its last view,
 * whether the kernel made a view in the end or a copy.
 *   - A result takes over the storage of an input that dies at the same instruction, if
 * the op allows it, no other operand of the instruction may view that storage, and
 * their types prove the sizes equal. Inputs of the graph, constants, views and values
 * that are outputs are never taken over.
 *   - The result of a concatenate may extend the storage of its first part, which is
 * then not copied; or that of a loop's rows which follow the initial ones, as gradients
 * of loops read them.
 *   - The new value of a shared variable may overwrite the old one under the same
 * conditions: all readers of the old value and of its views have run, and no output is
 * one. An instruction that only computes a new value is moved to the end if that lets
 * it work in place; nothing depends on it, so the order stays topological.
 *   - New values have storage of their own, outputs storage that nothing else takes
 * before the run ends. One that is a leaf, a view of one, or shares storage with an
 * earlier output is copied when the run ends, before any shared variable changes: but a
 * reshape, which may have to copy, then has the storage of that copy as its own. */
#include "scan/scan.h"
#include "vm/vm_impl.h"

/* ---- order ---- */
static void move_back(Plan *p, const bool *last) {
    Ins *order = NEW_N(p->arena, p->nins, Ins);
    uint32_t n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < p->nins; i++)
            if (last[i] == (pass == 1)) order[n++] = p->ins[i];
    p->ins = order;
}

/* The last instruction that reads each cell, directly or through views; NONE. */
static uint32_t *last_reads(const Plan *p, Arena *a, uint32_t *view_of) {
    uint32_t *last = NEW_N(a, p->ncell, uint32_t);
    for (uint32_t c = 0; c < p->ncell; c++)
        last[c] = view_of[c] = NONE;
    for (uint32_t i = 0; i < p->nins; i++) {
        const Ins *in = &p->ins[i];
        const uint32_t *arg = p->arg + in->arg;
        for (uint32_t k = 0; k < in->nin; k++)
            last[arg[k]] = i;
        for (uint32_t j = 0; j < in->nout; j++) {
            int v = ins_views(p, in, j);
            if (v >= 0) view_of[arg[in->nin + j]] = arg[v];
        }
    }
    for (uint32_t c = p->ncell; c-- > p->nleaf;)
        if (view_of[c] != NONE && last[c] != NONE && last[c] > last[view_of[c]])
            last[view_of[c]] = last[c];
    return last;
}

static bool reads_cell(const Plan *p, const Ins *in, uint32_t cell) {
    for (uint32_t k = 0; k < in->nin; k++)
        if (p->arg[in->arg + k] == cell) return true;
    return false;
}

static bool is_read(const Plan *p, const Ins *in, const uint32_t *last) {
    for (uint32_t j = 0; j < in->nout; j++)
        if (last[p->arg[in->arg + in->nin + j]] != NONE) return true;
    return false;
}

/* Such a reader must stay before the destroyer. */
static bool reads_destroyed(const Plan *p, const Ins *in) {
    for (uint32_t k = 0; k < in->nin; k++)
        if (p->sharing.cell[p->arg[in->arg + k]].flags & CELL_DESTROYED) return true;
    return false;
}

/* May the instruction that makes the new value run last, and does it then work in the
 * old value's storage? */
static bool may_run_last(const Plan *p, const Ins *in, uint32_t maker, uint32_t old,
                         const uint32_t *last) {
    return reads_cell(p, in, old) && last[old] != maker && !is_read(p, in, last) &&
           !p->g->apply[in->apply].op->effect && in->kind != PLAN_CALL &&
           !reads_destroyed(p, in);
}

void alias_order(Plan *p) {
    if (p->o.no_inplace || !(p->nupdate + p->o.nstate) || !p->nins) return;
    Arena *a = arena_new(p->s);
    uint32_t *last = last_reads(p, a, NEW_N(a, p->ncell, uint32_t));
    uint32_t *maker = NEW_N(a, p->ncell, uint32_t);
    bool *back = NEW_N(a, p->nins, bool), any = false;
    for (uint32_t i = 0; i < p->nins; i++)
        for (uint32_t j = 0; j < p->ins[i].nout; j++)
            maker[p->arg[p->ins[i].arg + p->ins[i].nin + j]] = i;
    for (size_t u = 0; u < p->nupdate + p->o.nstate; u++) {
        const ScanState *state = u < p->nupdate ? NULL : &p->o.state[u - p->nupdate];
        uint32_t value =
                     plan_cell(p, state ? p->want[state->out] : p->updates[u].value),
                 old = state ? p->input[state->in] : plan_cell(p, p->updates[u].shared);
        if (value >= p->nleaf &&
            may_run_last(p, &p->ins[maker[value]], maker[value], old, last))
            back[maker[value]] = any = true;
    }
    if (any) move_back(p, back);
    arena_free(a);
}

/* ---- lifetimes ---- */
/* Does its op keep storage from run to run? */
static bool is_kept(const Plan *p, const Sharing *h, uint32_t cell) {
    const Ins *in = &p->ins[h->cell[cell].born];
    return in->kind == PLAN_PERFORM && p->g->apply[in->apply].op->keeps_storage &&
           h->cell[cell].how == PLAN_OWN;
}

static void find_lives(const Plan *p, Sharing *h) {
    for (uint32_t c = 0; c < p->ncell; c++) {
        h->cell[c].how = c < p->nleaf ? PLAN_LEAF : PLAN_OWN;
        h->cell[c].born = h->cell[c].dies = 0;
        h->cell[c].of = h->cell[c].store = NONE;
        h->cell[c].root = c;
    }
    for (uint32_t i = 0; i < p->nins; i++) {
        const Ins *in = &p->ins[i];
        const uint32_t *arg = p->arg + in->arg;
        uint32_t last = ins_late(p, i);
        for (uint32_t k = 0; k < in->nin; k++)
            if (h->cell[arg[k]].dies < last) h->cell[arg[k]].dies = last;
        for (uint32_t j = 0; j < in->nout; j++) {
            CellInfo *c = &h->cell[arg[in->nin + j]];
            c->born = i;
            c->dies = last;
            int v = ins_views(p, in, j);
            if (v < 0) continue;
            c->how = PLAN_VIEW;
            c->of = arg[v];
            c->root = h->cell[arg[v]].root;
        }
    }
}

static uint32_t result_cell(const Plan *p, Sharing *h, Var v) {
    uint32_t c = plan_cell(p, v);
    h->cell[c].dies = p->nins;
    return c;
}

static void keep_results(const Plan *p, Arena *a, Sharing *h) {
    h->output = NEW_N(a, p->noutput, Result);
    h->update = NEW_N(a, p->nupdate, Result);
    for (uint32_t i = 0; i < p->noutput; i++)
        h->output[i] = (Result){result_cell(p, h, p->want[i]), NONE, NONE, false};
    h->until = (Result){NONE, NONE, NONE, false};
    if (p->until != VAR_NONE) h->until.cell = result_cell(p, h, p->until);
    for (uint32_t u = 0; u < p->nupdate; u++) {
        uint32_t shared =
            plan_cell(p, p->updates[u].shared) - p->shared[0]; /* shared cells are
                                                                * numbered
                                                                * consecutively */
        h->update[u] =
            (Result){result_cell(p, h, p->updates[u].value), NONE, shared, false};
    }
}

/* An item taken from a list or a sparse matrix holds its own references to the common
 * parts, so the whole may be freed first; a plugin's value may point into another
 * one. */
static bool holds_parts(const CellInfo *c) {
    return (c->flags & CELL_BOXED) && c->type->kind != TYPE_PLUGIN;
}

static void follow_views(const Plan *p, Sharing *h) {
    for (uint32_t c = p->ncell; c-- > 0;) {
        if (c >= p->nleaf && (p->o.no_reuse || is_kept(p, h, c)))
            h->cell[c].dies = p->nins;
        uint32_t of = h->cell[c].of;
        if (of != NONE && !holds_parts(&h->cell[of]) &&
            h->cell[of].dies < h->cell[c].dies)
            h->cell[of].dies = h->cell[c].dies;
    }
}

/* ---- storage ---- */
static uint32_t add_store(const Plan *p, Sharing *h, StoreClass cls, uint32_t cell) {
    Store s = {cls, overlap_born(p, h->cell[cell].born), h->cell[cell].dies, NONE,
               cell};
    vec_push(p->s, &h->store, s);
    return (uint32_t)h->store.n - 1;
}

/* Does an input of type `in` have the size of a result of type `out`? A loop never
 * broadcasts a dim that is not statically 1, so for loops it suffices that no dim
 * is. */
static bool same_extent(const Type *in, const Type *out, bool loop) {
    if (in->kind != TYPE_TENSOR || out->kind != TYPE_TENSOR || in->ndim != out->ndim)
        return false;
    if (dtype_size(in->dtype) != dtype_size(out->dtype)) return false;
    if (!loop && in->dtype != out->dtype) return false;
    for (int i = 0; i < in->ndim; i++) {
        if (in->dim[i] == out->dim[i] && in->dim[i] != DIM_UNKNOWN) continue;
        if (!loop || in->dim[i] == 1) return false;
    }
    return true;
}

static bool op_allows(const Plan *p, const Ins *in, uint32_t out, uint32_t k) {
    switch (in->kind) {
    case PLAN_LOOP:
        return true;
    case PLAN_FUSED:
        return program_may_overwrite(in->prog, out, k);
    case PLAN_PERFORM: {
        const Op *op = p->g->apply[in->apply].op;
        if (ins_copies(p, in, out) >= 0) return false;
        if (op_rare(op)->reuses) return op_rare(op)->reuses(p->g, in->apply, out, k);
        return out == 0 && k < 32 && (op->reuse >> k & 1);
    }
    case PLAN_CALL:
    case PLAN_SCAN:
        return false;
    }
    return false;
}

/* Checks that every operand that is, or may view, the storage of input k is input k
 * itself, and that the program has finished reading it. */
static bool only_reader(const Plan *p, const Sharing *h, const Ins *in, uint32_t out,
                        uint32_t k) {
    const uint32_t *arg = p->arg + in->arg;
    for (uint32_t i = 0; i < in->nin; i++) {
        uint32_t x = h->cell[arg[i]].root, y = h->cell[arg[k]].root;
        bool extends = h->cell[x].store != NONE && h->cell[x].store == h->cell[y].store;
        if (x != y && !extends) continue;
        if (arg[i] != arg[k]) return false;
        if (i != k && (in->kind == PLAN_PERFORM || !op_allows(p, in, out, i)))
            return false;
    }
    return true;
}

/* Is the result input k with some elements changed, whatever its shape is? */
static bool is_changed_input(const Plan *p, const Ins *in, uint32_t out, uint32_t k) {
    if (in->kind == PLAN_FUSED && in->prog->fold)
        return op_rare(in->prog->fold)->changes && out == in->prog->nplaced &&
               k == in->prog->fold_in[0];
    return in->kind == PLAN_PERFORM && op_rare(p->g->apply[in->apply].op)->changes &&
           out == 0 && k == 0;
}

bool alias_fits(const Plan *p, const Sharing *h, uint32_t i, uint32_t out, uint32_t k) {
    const Ins *in = &p->ins[i];
    const CellInfo *c = &h->cell[p->arg[in->arg + k]],
                   *r = &h->cell[p->arg[in->arg + in->nin + out]];
    return c->how != PLAN_VIEW && !(c->flags & CELL_AFTER) &&
           op_allows(p, in, out, k) &&
           (is_changed_input(p, in, out, k) ||
            same_extent(c->type, r->type, in->kind != PLAN_PERFORM)) &&
           only_reader(p, h, in, out, k);
}

static bool may_overwrite(const Plan *p, const Sharing *h, uint32_t i, uint32_t out,
                          uint32_t k) {
    return h->cell[p->arg[p->ins[i].arg + k]].dies == i && alias_fits(p, h, i, out, k);
}

static bool taken_before(const Plan *p, const Sharing *h, const Ins *in, uint32_t out,
                         uint32_t k) {
    for (uint32_t j = 0; j < out; j++)
        if (h->cell[p->arg[in->arg + in->nin + j]].of == p->arg[in->arg + k])
            return true;
    return false;
}

static bool overwrite_dying(const Plan *p, Sharing *h, uint32_t i, uint32_t out) {
    const Ins *in = &p->ins[i];
    uint32_t me = p->arg[in->arg + in->nin + out];
    for (uint32_t k = 0; k < in->nin; k++) {
        uint32_t c = p->arg[in->arg + k];
        if (c < p->nleaf || !may_overwrite(p, h, i, out, k) ||
            taken_before(p, h, in, out, k))
            continue;
        uint32_t s = h->cell[c].store;
        h->cell[me].how = PLAN_INPLACE;
        h->cell[me].of = c;
        h->cell[me].store = s;
        if (h->store.p[s].dies < h->cell[me].dies)
            h->store.p[s].dies = h->cell[me].dies;
        return true;
    }
    return false;
}

/* Is the cell computed only for the lazy instruction, in its turn, and does it have the
 * result's size? */
static bool is_branch_value(const Plan *p, const Sharing *h, uint32_t cell,
                            uint32_t lazy, uint32_t result) {
    const LazyPlan *l = p->lazy;
    uint32_t maker = l->maker[cell];
    return maker != NONE && !l->always[maker] && l->late[maker] == maker &&
           p->ins[maker].nout == 1 && l->reader[cell] == lazy &&
           h->cell[cell].dies == lazy && h->cell[cell].how != PLAN_VIEW &&
           same_extent(h->cell[cell].type, h->cell[result].type, false);
}

/* Only one branch's value for a result is ever computed, so the branches may share
 * storage, which the result takes over. */
static bool share_with_branch(const Plan *p, Sharing *h, uint32_t me) {
    uint32_t lazy = p->lazy ? p->lazy->reader[me] : NONE;
    if (lazy == NONE || !p->ins[lazy].thunk || !p->ins[lazy].thunk->either)
        return false;
    const Ins *in = &p->ins[lazy];
    const Signature *sig = op_signature(p->s, p->g->apply[in->apply].op);
    const uint32_t *arg = p->arg + in->arg;
    uint32_t fixed = (uint32_t)signature_fixed(sig), each = in->nout, k = 0;
    while (k < in->nin && arg[k] != me)
        k++;
    if (k < fixed || p->lazy->late[lazy] != lazy) return false;
    uint32_t i = (k - fixed) % each, result = arg[in->nin + i];
    if (!is_branch_value(p, h, me, lazy, result)) return false;
    for (k = fixed + i; k < in->nin; k += each) {
        uint32_t c = arg[k], s = h->cell[c].store;
        if (c == me || s == NONE || h->store.p[s].cls != STORE_POOL ||
            !is_branch_value(p, h, c, lazy, result))
            continue;
        h->cell[me].store = s;
        return true;
    }
    return false;
}

/* ---- a part written where it ends up ---- */
/* The output of its instruction that a cell is. */
static uint32_t output_number(const Plan *p, const Ins *in, uint32_t cell) {
    uint32_t out = 0;
    while (p->arg[in->arg + in->nin + out] != cell)
        out++;
    return out;
}

/* Does the result begin with all of input 0? */
static bool begins_with_input(const Plan *p, const Ins *in) {
    const Apply *a = &p->g->apply[in->apply];
    if (in->kind != PLAN_PERFORM || in->thunk || in->nout != 1 ||
        !(op_is(p->s, a->op, OP_CONCATENATE) || op_is(p->s, a->op, OP_STACK)))
        return false;
    int64_t axis = op_prop(p->s, a->op, a->props, "axis")->i;
    return axis == 0 || axis == -var_type(p->g, a->out)->ndim;
}

/* The cell whose elements, all of them in order, are those of `cell`; NONE: a view that
 * may be another one. */
static uint32_t whole_of(const Plan *p, const Sharing *h, uint32_t cell) {
    while (h->cell[cell].how == PLAN_VIEW) {
        const Ins *in = &p->ins[h->cell[cell].born];
        const Op *op = p->g->apply[in->apply].op;
        if (in->kind != PLAN_PERFORM ||
            !(op_is(p->s, op, OP_RESHAPE) || op_is(p->s, op, OP_EXPAND_DIMS) ||
              op_is(p->s, op, OP_SQUEEZE)))
            return NONE;
        cell = h->cell[cell].of;
    }
    return cell;
}

/* Elements, where every dim that isn't known is as large as another. */
static double typical_size(const Type *t) {
    enum { TYPICAL = 1000 };
    double n = 1;
    for (int k = 0; k < t->ndim; k++)
        n *= dim_is_known(t->dim[k]) ? (double)t->dim[k] : TYPICAL;
    return n;
}

static void extend_cell(Sharing *h, uint32_t me, uint32_t part) {
    uint32_t s = h->cell[part].store;
    h->cell[me].how = PLAN_INPLACE;
    h->cell[me].of = part;
    h->cell[me].store = s;
    h->cell[me].flags |= CELL_EXTENDS;
    if (h->store.p[s].dies < h->cell[me].dies) h->store.p[s].dies = h->cell[me].dies;
}

/* The first of several parts is computed where it ends up, so that it needn't be
 * copied, if it is most of the whole: a small part would take all that room early. */
static bool extend_first(const Plan *p, Sharing *h, uint32_t i) {
    const Ins *in = &p->ins[i];
    if (p->lazy || in->nin < 2 || !begins_with_input(p, in)) return false;
    uint32_t me = p->arg[in->arg + in->nin], c = whole_of(p, h, p->arg[in->arg]);
    if (c == NONE || c < p->nleaf || h->cell[c].dies != i ||
        h->cell[c].flags & (CELL_BOXED | CELL_FROM_COPY | CELL_AFTER))
        return false;
    uint32_t s = h->cell[c].store;
    if (h->store.p[s].cls != STORE_POOL ||
        2 * typical_size(h->cell[c].type) < typical_size(h->cell[me].type))
        return false;
    extend_cell(h, me, c);
    return true;
}

/* The loop's output that has all rows of a state and is cell c; NULL: it is none. */
static const ScanOut *trace_of(const Plan *p, const Sharing *h, uint32_t c) {
    const Ins *in = c < p->nleaf ? NULL : &p->ins[h->cell[c].born];
    if (!in || in->kind != PLAN_SCAN || in->shards) return NULL;
    ScanForm f = scan_form_of(p->g, in->apply, p->arena);
    const ScanOut *o = &f.out[output_number(p, in, c)];
    return o->ntap && o->keep == SCAN_ALL ? o : NULL;
}

/* The initial rows of a loop followed by those of its steps: the loop leaves room for
 * the initial ones. Its rows may still be read afterwards: both live as long as one of
 * them does. */
static bool extend_trace(const Plan *p, Sharing *h, uint32_t i) {
    const Ins *in = &p->ins[i];
    if (p->lazy || in->nin != 2 || !begins_with_input(p, in) ||
        !op_is(p->s, p->g->apply[in->apply].op, OP_CONCATENATE))
        return false;
    uint32_t me = p->arg[in->arg + 2], c = p->arg[in->arg + 1];
    const ScanOut *o = trace_of(p, h, c);
    if (!o || h->cell[c].flags & CELL_AFTER || /* there is room for one beginning */
        (h->cell[c].flags | h->cell[me].flags) & (CELL_BOXED | CELL_DESTROYED) ||
        h->cell[p->arg[in->arg]].type->dim[0] != o->depth ||
        h->store.p[h->cell[c].store].cls != STORE_POOL)
        return false;
    h->cell[c].flags |= CELL_AFTER;
    if (h->cell[c].dies < h->cell[me].dies)
        h->cell[c].dies = h->cell[me].dies;
    else
        h->cell[me].dies = h->cell[c].dies;
    extend_cell(h, me, c);
    return true;
}

static void give_storage(const Plan *p, Sharing *h, bool inplace) {
    for (uint32_t i = 0; i < p->nins; i++)
        for (uint32_t j = 0; j < p->ins[i].nout; j++) {
            uint32_t c = p->arg[p->ins[i].arg + p->ins[i].nin + j];
            if (is_kept(p, h, c))
                h->cell[c].store = add_store(p, h, STORE_KEPT, c);
            else if (h->cell[c].how == PLAN_VIEW)
                h->cell[c].store = add_store(p, h, STORE_LAZY, c);
            else if (h->cell[c].store == NONE &&
                     !(inplace && share_with_branch(p, h, c)) &&
                     !(inplace && overwrite_dying(p, h, i, j)) &&
                     !(inplace && (extend_first(p, h, i) || extend_trace(p, h, i))))
                h->cell[c].store = add_store(p, h, STORE_POOL, c);
        }
}

/* The cell gets the storage of a leaf, whose next value it is. */
static void take_leaf(const Plan *p, Sharing *h, uint32_t cell, uint32_t old,
                      StoreClass cls) {
    uint32_t s = add_store(p, h, cls, cell);
    h->cell[cell].how = PLAN_INPLACE;
    h->cell[cell].of = old;
    h->cell[cell].store = s;
}

static void take_shared(const Plan *p, Sharing *h, uint32_t cell, uint32_t shared) {
    take_leaf(p, h, cell, p->shared[shared], STORE_SHARED);
    h->store.p[h->cell[cell].store].shared = shared;
}

/* Does a destroyer compute the new value from the old one? */
static bool destroys_shared(const Plan *p, const Sharing *h, uint32_t cell,
                            uint32_t old) {
    if (!(h->cell[old].flags & CELL_DESTROYED) || h->cell[cell].root != old)
        return false;
    const Ins *in = &p->ins[h->cell[cell].born];
    return ins_destroys(p, in, output_number(p, in, cell)) >= 0;
}

/* The input that the cell may overwrite: the old value of its variable, if it is one,
 * else a result. NONE: none. */
static uint32_t overwritable_input(const Plan *p, const Sharing *h, uint32_t cell,
                                   uint32_t old) {
    uint32_t i = h->cell[cell].born, found = NONE;
    const Ins *in = &p->ins[i];
    uint32_t out = output_number(p, in, cell);
    for (uint32_t k = 0; k < in->nin; k++) {
        uint32_t c = p->arg[in->arg + k];
        if ((c != old && c < p->nleaf) || !may_overwrite(p, h, i, out, k)) continue;
        if (c == old) return old;
        if (found == NONE) found = c;
    }
    return found;
}

/* Is the new value computed from the old one by steps each of which may overwrite what
 * the one before made, as when several parts of it are set one after the other? */
static bool comes_by_steps(const Plan *p, const Sharing *h, uint32_t c, uint32_t old) {
    for (uint32_t next = c; next != old; next = overwritable_input(p, h, next, old))
        if (next == NONE || h->cell[next].how == PLAN_VIEW ||
            h->cell[next].store != NONE || (next != c && p->lazy))
            return false; /* a branch may leave out steps */
    return true;
}

/* Then all of them work in the storage that the new value has got. */
static void overwrite_by_steps(const Plan *p, Sharing *h, uint32_t c, uint32_t old) {
    for (uint32_t next; (next = overwritable_input(p, h, c, old)) != old; c = next) {
        h->cell[c].of = next;
        h->cell[next].how = PLAN_INPLACE;
        h->cell[next].of = old;
        h->cell[next].store = h->cell[c].store;
    }
}

/* Takes precedence over the general rule: new values overwrite old ones. */
static void overwrite_shared(const Plan *p, Sharing *h) {
    for (uint32_t u = 0; u < p->nupdate; u++) {
        Result *r = &h->update[u];
        uint32_t old = p->shared[r->shared], c = r->cell;
        if (c >= p->nleaf && destroys_shared(p, h, c, old))
            take_shared(p, h, c, r->shared);
        else if (c >= p->nleaf && !p->o.keep_shared && comes_by_steps(p, h, c, old)) {
            take_shared(p, h, c, r->shared);
            overwrite_by_steps(p, h, c, old);
        }
    }
}

static void overwrite_states(const Plan *p, Sharing *h) {
    for (size_t i = 0; i < p->o.nstate; i++) {
        Result *r = &h->output[p->o.state[i].out];
        uint32_t old = p->input[p->o.state[i].in];
        if (r->cell < p->nleaf || !comes_by_steps(p, h, r->cell, old)) continue;
        take_leaf(p, h, r->cell, old, STORE_GIVEN);
        overwrite_by_steps(p, h, r->cell, old);
        r->over = true;
    }
}

bool plan_overwrites_state(const Plan *p, size_t i) {
    return p->sharing.output[i].over;
}

/* ---- results ---- */
/* Claims the storage behind a cell, with every view on the way, for one output
 * (STORE_OUT, or STORE_OWN) or new value (STORE_OWN); false: already claimed, or a
 * leaf's. */
static bool claim_storage(const Plan *p, Sharing *h, uint32_t cell, StoreClass cls) {
    if (h->cell[cell].root < p->nleaf) return false;
    for (uint32_t c = cell;; c = h->cell[c].of) {
        if (h->cell[c].flags & CELL_BOXED)
            return false; /* an item: others refer to it too */
        if (h->store.p[h->cell[c].store].cls >= STORE_OUT) return false;
        if (h->cell[c].how != PLAN_VIEW) break;
    }
    for (uint32_t c = cell;; c = h->cell[c].of) {
        bool view = h->cell[c].how == PLAN_VIEW; /* needs room only if it is none */
        h->store.p[h->cell[c].store].cls = view ? STORE_OWN : cls;
        if (!view) return true;
    }
}

/* Is it what only the run can tell to be a view or a copy, in storage that is not
 * claimed? */
static bool may_be_copy(const Plan *p, const Sharing *h, uint32_t cell) {
    const CellInfo *c = &h->cell[cell];
    if (c->how != PLAN_VIEW || h->store.p[c->store].cls != STORE_LAZY) return false;
    const Ins *in = &p->ins[c->born];
    return in->kind == PLAN_PERFORM &&
           op_is(p->s, p->g->apply[in->apply].op, OP_RESHAPE);
}

static void add_result_copy(const Plan *p, Sharing *h, Result *r, StoreClass cls) {
    if (may_be_copy(p, h, r->cell)) {
        r->copy = h->cell[r->cell].store = add_store(p, h, cls, r->cell);
        h->cell[r->cell].flags |= CELL_COPY_ROOM;
        return;
    }
    Store s = {cls, p->nins, p->nins, NONE, r->cell};
    r->copy = (uint32_t)h->store.n;
    h->cell[r->cell].flags |= CELL_COPIED;
    vec_push(p->s, &h->store, s);
}

/* Non-tensors are returned as references. */
static bool is_counted(const Sharing *h, const Result *r) {
    return h->cell[r->cell].flags & CELL_BOXED;
}

static void place_output(const Plan *p, Sharing *h, Result *r) {
    StoreClass cls = p->o.own_results ? STORE_OWN : STORE_OUT;
    if (!claim_storage(p, h, r->cell, cls)) add_result_copy(p, h, r, cls);
}

static void place_results(const Plan *p, Sharing *h) {
    for (uint32_t i = 0; i < p->noutput; i++)
        if (!is_counted(h, &h->output[i]) && !h->output[i].over)
            place_output(p, h, &h->output[i]);
    if (h->until.cell != NONE) place_output(p, h, &h->until);
    for (uint32_t u = 0; u < p->nupdate; u++) {
        Result *r = &h->update[u];
        const CellInfo *c = &h->cell[r->cell];
        bool over = c->store != NONE && h->store.p[c->store].cls == STORE_SHARED &&
                    h->store.p[c->store].shared == r->shared && c->how == PLAN_INPLACE;
        if (over || is_counted(h, r)) continue;
        if (c->how == PLAN_VIEW || !claim_storage(p, h, r->cell, STORE_OWN))
            add_result_copy(p, h, r, STORE_OWN);
    }
}

void alias_share(const Plan *p, Arena *a, bool inplace, Sharing *out) {
    Sharing *h = out;
    if (!h->cell) h->cell = arena_copy(a, p->sharing.cell, p->ncell * sizeof *h->cell);
    find_lives(p, h);
    keep_results(p, a, h);
    overlap_keep(p, h);
    follow_views(p, h);
    if (inplace) overwrite_shared(p, h);
    if (inplace) overwrite_states(p, h);
    give_storage(p, h, inplace);
    place_results(p, h);
}

/* ---- cells that die at each instruction ---- */
void alias_kills(Plan *p) {
    const CellInfo *c = p->sharing.cell;
    p->kill = NEW_N(p->arena, p->ncell, uint32_t);
    for (uint32_t i = p->nleaf; i < p->ncell; i++)
        if (c[i].dies < p->nins) p->ins[c[i].dies].nkill++;
    uint32_t at = 0;
    for (uint32_t i = 0; i < p->nins; i++) {
        p->ins[i].kill = at;
        at += p->ins[i].nkill;
        p->ins[i].nkill = 0;
    }
    for (uint32_t i = p->nleaf; i < p->ncell; i++)
        if (c[i].dies < p->nins) {
            Ins *in = &p->ins[c[i].dies];
            p->kill[in->kill + in->nkill++] = i;
        }
}
