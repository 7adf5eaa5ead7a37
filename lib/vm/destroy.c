/* Ops that always overwrite an input (destroy_map). All other readers of the destroyed
 * variable, or of a view of its root, run first. The destroyer gets a copy of the input
 * instead (CELL_FROM_COPY) if the value is needed for longer, as derivatives and
 * rewriting may have it:
 *   - the root or a view of it is an output, the new value of a shared variable, or the
 * condition of a loop,
 *   - a reader needs the result of the destroyer, or may be asked for later,
 *   - the op that made it keeps its storage from run to run.
 * A graph is refused if it asks for what can't be meant:
 *   - one root has two destroyers,
 *   - the root is not a tensor: lists and others share their values,
 *   - the root is a constant, an input or a dim; a shared variable, unless its update
 * is the result of the destroyer,
 *   - the destroyer reads an alias of it as another input.
 * The result of a destroyer uses its input's memory but is a separate variable: readers
 * of the result don't count as readers of the input, and it may be destroyed again. */
#include "lang/print/print.h"
#include "vm/vm_impl.h"

#include <string.h>

static CellInfo *output_info(const Plan *p, const Ins *in, uint32_t out) {
    return &p->sharing.cell[p->arg[in->arg + in->nin + out]];
}

/* As the op says, on whatever it will work. */
static int declared_victim(const Plan *p, const Ins *in, uint32_t out) {
    const Op *op = p->g->apply[in->apply].op;
    if (in->kind != PLAN_PERFORM || !op_rare(op)->destroys) return -1;
    int k = op_rare(op)->destroys(p->g, in->apply, out);
    return k < in->nin ? k : -1;
}

int ins_destroys(const Plan *p, const Ins *in, uint32_t out) {
    if (output_info(p, in, out)->flags & CELL_FROM_COPY) return -1;
    return declared_victim(p, in, out);
}

int ins_copies(const Plan *p, const Ins *in, uint32_t out) {
    if (!(output_info(p, in, out)->flags & CELL_FROM_COPY)) return -1;
    return declared_victim(p, in, out);
}

int ins_views(const Plan *p, const Ins *in, uint32_t out) {
    if (in->kind != PLAN_PERFORM || output_info(p, in, out)->flags & CELL_FROM_COPY)
        return -1;
    int k = op_view(p->g, in->apply, out);
    return k >= 0 && k < in->nin ? k : ins_destroys(p, in, out);
}

typedef struct Destroy {
    Plan *p;
    Arena *a;
    uint32_t *root;      /* by cell: through views, not through destroyers */
    uint32_t *destroyer; /* by root: instruction, NONE */
    uint32_t *maker;     /* by cell */
    bool *allowed; /* by shared cell: its update is what a destroyer makes of it */
} Destroy;

/* ---- messages ---- */
static void put_cell_name(const Destroy *d, uint32_t cell, Str *out) {
    const Graph *g = d->p->g;
    Var v = d->p->sharing.cell[cell].var;
    Sym name = var_name(g, v);
    ApplyId a = var_owner(g, v);
    if (name)
        str_puts(out, sym_text(g->s, name));
    else if (a == APPLY_NONE)
        str_puts(out, "a value");
    else
        print_apply(g, a, out);
}

static const char *step_op_name(const Destroy *d, uint32_t i) {
    return d->p->g->apply[d->p->ins[i].apply].op->name;
}

/* "add_inplace would overwrite x, WHY". */
static bool refuse_overwrite(const Destroy *d, uint32_t i, uint32_t victim,
                             DiagCode code, const char *why) {
    Session *s = d->p->s;
    Str name = STR(s);
    put_cell_name(d, victim, &name);
    fail(s, d->p->g->origin[d->p->ins[i].apply].at, code, "%s would overwrite %s%s",
         step_op_name(d, i), str_text(&name), why);
    str_free(&name);
    return false;
}

static bool refuse_beside(const Destroy *d, uint32_t i, uint32_t victim,
                          const char *why, uint32_t other, const char *end) {
    Session *s = d->p->s;
    Str text = STR(s);
    str_puts(&text, why);
    print_apply(d->p->g, d->p->ins[other].apply, &text);
    str_puts(&text, end);
    refuse_overwrite(d, i, victim, E_DESTROY, str_text(&text));
    str_free(&text);
    note(s, d->p->g->origin[d->p->ins[other].apply].at, "the other one is here");
    return false;
}

/* ---- destroyers and their inputs ---- */
static void find_roots(Destroy *d) {
    const Plan *p = d->p;
    for (uint32_t c = 0; c < p->ncell; c++) {
        d->root[c] = c;
        d->destroyer[c] = d->maker[c] = NONE;
    }
    for (uint32_t i = 0; i < p->nins; i++) {
        const Ins *in = &p->ins[i];
        const uint32_t *arg = p->arg + in->arg;
        for (uint32_t j = 0; j < in->nout; j++) {
            int k = ins_views(p, in, j);
            d->maker[arg[in->nin + j]] = i;
            if (k >= 0 && ins_destroys(p, in, j) < 0)
                d->root[arg[in->nin + j]] = d->root[arg[k]];
        }
    }
}

/* A shared variable may be overwritten while its own new value is computed. */
static void find_allowed(Destroy *d) {
    const Plan *p = d->p;
    for (uint32_t u = 0; u < p->nupdate; u++) {
        uint32_t shared = plan_cell(p, p->updates[u].shared),
                 c = plan_cell(p, p->updates[u].value);
        bool destroyed = false;
        while (c >= p->nleaf) {
            const Ins *in = &p->ins[d->maker[c]];
            uint32_t out = 0;
            while (p->arg[in->arg + in->nin + out] != c)
                out++;
            int over = declared_victim(p, in, out),
                k = over >= 0 ? over : ins_views(p, in, out);
            if (k < 0) break;
            destroyed |= over >= 0;
            c = p->arg[in->arg + (uint32_t)k];
        }
        if (destroyed && c == shared) d->allowed[shared] = true;
    }
}

static bool check_leaf_victim(const Destroy *d, uint32_t i, uint32_t victim,
                              uint32_t root) {
    static const char *const why[] = {
        [LEAF_CONST] = ", which is a constant",
        [LEAF_INPUT] = ", which is an input: its memory is the caller's",
        [LEAF_DIM] = ", which is a dim",
        [LEAF_SHARED] = ", a shared variable whose update is not the result"};
    if (root >= d->p->nleaf || d->allowed[root]) return true;
    LeafKind k = var_leaf(d->p->g, d->p->sharing.cell[root].var);
    return refuse_overwrite(d, i, victim, E_DESTROY, why[k]);
}

static bool check_aliases(const Destroy *d, uint32_t i, uint32_t k, uint32_t root) {
    const Ins *in = &d->p->ins[i];
    const uint32_t *arg = d->p->arg + in->arg;
    for (uint32_t other = 0; other < in->nin; other++)
        if (other != k && d->root[arg[other]] == root)
            return refuse_overwrite(d, i, arg[k], E_DESTROY,
                                    arg[other] == arg[k]
                                        ? ", which it also reads as another input"
                                        : ", but another input is a view of it");
    return true;
}

static bool add_destroyer(Destroy *d, uint32_t i, uint32_t k) {
    uint32_t victim = d->p->arg[d->p->ins[i].arg + k], root = d->root[victim];
    if (d->destroyer[root] != NONE)
        return refuse_beside(d, i, victim, ", but ", d->destroyer[root],
                             " overwrites it already");
    if (d->p->sharing.cell[root].flags & CELL_BOXED)
        return refuse_overwrite(d, i, victim, E_DESTROY,
                                victim == root
                                    ? ", which is not a tensor: such values are shared "
                                      "and never overwritten"
                                    : ", which is in a list: others may have it, too");
    if (!check_leaf_victim(d, i, victim, root) || !check_aliases(d, i, k, root))
        return false;
    d->destroyer[root] = i;
    return true;
}

static bool find_destroyers(Destroy *d) {
    const Plan *p = d->p;
    for (uint32_t i = 0; i < p->nins; i++)
        for (uint32_t j = 0; j < p->ins[i].nout; j++) {
            int k = ins_destroys(p, &p->ins[i], j);
            int v = k < 0 ? -1 : op_view(p->g, p->ins[i].apply, j);
            if (v >= 0 && v != k)
                return refuse_overwrite(
                    d, i, p->arg[p->ins[i].arg + (uint32_t)k], E_DESTROY,
                    " and view another input: a result has one input's memory");
            if (k >= 0 && !add_destroyer(d, i, (uint32_t)k)) return false;
        }
    return true;
}

/* ---- values to keep ---- */
/* Lets instruction i work on copies; what it would have overwritten stays. */
static void leave_victims(Destroy *d, uint32_t i) {
    Plan *p = d->p;
    const Ins *in = &p->ins[i];
    for (uint32_t j = 0; j < in->nout; j++) {
        int k = ins_destroys(p, in, j);
        if (k < 0) continue;
        d->destroyer[d->root[p->arg[in->arg + (uint32_t)k]]] = NONE;
        output_info(p, in, j)->flags |= CELL_FROM_COPY;
    }
}

static void keep_root(Destroy *d, uint32_t root) {
    if (d->destroyer[root] != NONE) leave_victims(d, d->destroyer[root]);
}

static void keep_value(Destroy *d, Var v) {
    uint32_t cell = v == VAR_NONE ? NONE : plan_cell(d->p, v);
    if (cell != NONE) keep_root(d, d->root[cell]);
}

static void keep_wanted(Destroy *d) {
    const Plan *p = d->p;
    for (uint32_t i = 0; i < p->noutput; i++)
        keep_value(d, p->want[i]);
    for (uint32_t u = 0; u < p->nupdate; u++)
        keep_value(d, p->updates[u].value);
    keep_value(d, p->until);
    for (uint32_t c = p->nleaf; c < p->ncell; c++)
        if (p->g->apply[p->ins[d->maker[c]].apply].op->keeps_storage) keep_root(d, c);
}

/* ---- the order ---- */
/* Kahn's algorithm over inputs and over readers of destroyed variables; among ready
 * instructions it picks the first in the old order. If none is ready, the first one
 * left has its inputs, so it is a destroyer whose readers wait for others: it gets a
 * copy. */
typedef struct Topo {
    const Destroy *d;
    uint32_t *waits;         /* by instruction: number of predecessors left */
    uint32_t *first, *after; /* successors of instruction i: after[first[i] ..] */
} Topo;

static void each_edge(Topo *t, void (*edge)(Topo *t, uint32_t from, uint32_t to)) {
    const Destroy *d = t->d;
    const Plan *p = d->p;
    for (uint32_t i = 0; i < p->nins; i++)
        for (uint32_t k = 0; k < p->ins[i].nin; k++) {
            uint32_t cell = p->arg[p->ins[i].arg + k];
            uint32_t end = d->destroyer[d->root[cell]];
            if (d->maker[cell] != NONE) edge(t, d->maker[cell], i);
            if (end != NONE && end != i) edge(t, i, end);
        }
}

static void count_edge(Topo *t, uint32_t from, uint32_t to) {
    t->first[from + 2]++;
    t->waits[to]++;
}

static void put_edge(Topo *t, uint32_t from, uint32_t to) {
    t->after[t->first[from + 1]++] = to;
}

static void sort_instructions(Destroy *d) {
    const uint32_t done = NONE;
    Plan *p = d->p;
    Topo t = {.d = d, .waits = NEW_N(d->a, p->nins, uint32_t)};
    t.first = NEW_N(d->a, (size_t)p->nins + 3, uint32_t);
    each_edge(&t, count_edge);
    for (uint32_t i = 2; i < p->nins + 2; i++)
        t.first[i] += t.first[i - 1];
    t.after = NEW_N(d->a, t.first[p->nins + 1], uint32_t);
    each_edge(&t, put_edge);
    Ins *order = NEW_N(p->arena, p->nins, Ins);
    Heap ready = {0};
    for (uint32_t i = 0; i < p->nins; i++)
        if (!t.waits[i]) heap_push(p->s, &ready, i);
    for (uint32_t n = 0, left = 0; n < p->nins; n++) {
        while (!ready.n && t.waits[left] == done)
            left++;
        uint32_t i = ready.n ? heap_pop(&ready) : left;
        if (t.waits[i]) leave_victims(d, i);
        t.waits[i] = done;
        order[n] = p->ins[i];
        for (uint32_t k = t.first[i]; k < t.first[i + 1]; k++) {
            uint32_t *waits = &t.waits[t.after[k]];
            if (*waits != done && --*waits == 0) heap_push(p->s, &ready, t.after[k]);
        }
    }
    vec_free(&ready);
    p->ins = order;
}

static Destroy destroy_open(Plan *p) {
    Destroy d = {.p = p, .a = arena_new(p->s)};
    d.root = NEW_N(d.a, p->ncell, uint32_t);
    d.destroyer = NEW_N(d.a, p->ncell, uint32_t);
    d.maker = NEW_N(d.a, p->ncell, uint32_t);
    d.allowed = NEW_N(d.a, p->nleaf, bool);
    find_roots(&d);
    find_allowed(&d);
    return d;
}

static void mark_destroyed(const Destroy *d) {
    for (uint32_t c = 0; c < d->p->ncell; c++) {
        uint8_t *flags = &d->p->sharing.cell[c].flags;
        *flags &= (uint8_t)~CELL_DESTROYED;
        if (d->destroyer[d->root[c]] != NONE) *flags |= CELL_DESTROYED;
    }
}

bool destroy_order(Plan *p) {
    if (!p->has_destroyers) return true;
    Destroy d = destroy_open(p);
    bool ok = find_destroyers(&d);
    if (ok) {
        keep_wanted(&d);
        sort_instructions(&d);
        mark_destroyed(&d);
    }
    arena_free(d.a);
    return ok;
}

void destroy_keep_late(Plan *p) {
    if (!p->has_destroyers || !p->lazy) return;
    Destroy d = destroy_open(p);
    if (!find_destroyers(&d)) bug("an accepted plan is refused");
    for (uint32_t i = 0; i < p->nins; i++)
        for (uint32_t k = 0; k < p->ins[i].nin; k++) {
            uint32_t root = d.root[p->arg[p->ins[i].arg + k]], end = d.destroyer[root];
            if (end == NONE || end == i || (i < end && ins_late(p, i) <= end)) continue;
            leave_victims(&d, end);
        }
    mark_destroyed(&d);
    arena_free(d.a);
}
