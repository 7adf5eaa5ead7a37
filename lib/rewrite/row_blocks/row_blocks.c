/* Row blocks: values that are large beside what they are made of and what is made of
 * them, such as all distances between two sets of points, or the scores of attention,
 * are computed for some rows after the others. What makes and reads such a value
 * becomes a function whose call has `rows`; the machine chooses the rows of a block.
 *
 * The rows that a loop keeps of its states for the gradient are such a value, too, and
 * so are all the states of a loop that keeps their last values alone: each step reads
 * and writes them.
 *
 * A group begins with one such value and an axis of it. Its maker joins, and the makers
 * of its large operands; then, in order, what reads results of members, as long as
 * each row of it comes of the same row of these (part/), or it is a sum over the rows.
 * What reads a member without that holds up all that depends on it, so that a group
 * never depends on itself through others. In the end only those stay that make or read
 * large values, or lie between. */
#include "rewrite/row_blocks/row_blocks.h"

#include "lang/lazy_scope.h"
#include "scan/scan.h"

#include <math.h>
#include <stdlib.h>

enum {
    WINDOW = 256,        /* Applies after the last member that are looked at */
    MOST_MEMBERS = 256,  /* of a group */
    MOST_SOURCES = 16,   /* Applies behind a value that are looked at */
    WORK_BASE = 1 << 16, /* looks at Applies, and for each of the graph */
    WORK_EACH = 16,
    WORK_JOIN = 16 /* such looks: trying to let one join */
};
/* A dim without a number is taken for this size. Then values must be this many times
 * as large as what is around them; where all sizes are known, half of it will do. */
static const double open_dim = 1024, least_steps = 4, least_bytes = 4 << 20,
                    open_ratio = 8, known_ratio = 0.5, beside_ratio = 8,
                    open_beside_ratio = 1, least_block = 512 << 10, small_ratio = 8;

/* ---- sizes ---- */

static double bytes_of_type(const Type *t, bool *open) {
    if (t->kind != TYPE_TENSOR) return 0;
    double n = (double)dtype_size(t->dtype);
    for (int k = 0; k < t->ndim; k++) {
        if (!dim_is_known(t->dim[k]) && open) *open = true;
        n *= dim_is_known(t->dim[k]) ? (double)t->dim[k] : open_dim;
    }
    return n;
}

static double bytes_of(const Blocks *b, Var v) {
    return bytes_of_type(var_type(b->g, v), NULL);
}

/* Does fn do little with each element? Then a step takes about the same time for each
 * row in blocks of any size. Products are slower for fewer rows. */
static bool is_light(const Graph *fn, int depth) {
    enum { DEEP = 8 };
    bool light = depth < DEEP;
    for (ApplyId id = 0; light && id < fn->napply; id++) {
        const Op *op = fn->apply[id].op;
        const Graph *called =
            op_is(fn->s, op, OP_CALL) ? op_called_function(fn, &fn->apply[id]) : NULL;
        light = called ? is_light(called, depth + 1)
                       : op->elemwise || op_rare(op)->streams ||
                             op_view(fn, id, 0) >= 0 || op_is(fn->s, op, OP_STACK) ||
                             op_is(fn->s, op, OP_CONCATENATE) ||
                             op_is(fn->s, op, OP_BROADCAST_TO);
    }
    return light;
}

/* Is the Apply a loop that can be cut? */
static bool loop_of(const Rewriter *r, ApplyId id, ScanForm *f) {
    if (!rw_is(r, &r->g->apply[id], OP_SCAN)) return false;
    *f = scan_form_of(r->g, id, r->arena);
    return f->fn && !f->checkpoint && is_light(f->fn, 0);
}

/* Is v all rows of a state of a loop? */
static bool is_trace(const Rewriter *r, ApplyId id, Var v) {
    ScanForm f;
    if (!loop_of(r, id, &f)) return false;
    const ScanOut *o = &f.out[v - r->g->apply[id].out];
    return o->ntap && o->keep == SCAN_ALL;
}

/* A state of which a loop keeps no more than the last values. */
static bool is_last(const ScanOut *o) {
    return o->ntap && o->keep != SCAN_ALL;
}

static double steps_of(const Graph *g, ApplyId id) {
    Var n = apply_in(g, id)[0];
    return var_is_const(g, n) ? (double)tensor_i64(var_const(g, n), 0) : open_dim;
}

/* Bytes of such states in all steps of a loop. */
static double bytes_of_steps(const Rewriter *r, ApplyId id) {
    ScanForm f;
    double bytes = 0;
    if (!loop_of(r, id, &f)) return 0;
    for (size_t k = 0; k < f.nout; k++) {
        const Type *t = var_type(r->g, r->g->apply[id].out + (Var)k);
        double kept = f.out[k].keep > 0 ? (double)f.out[k].keep : 1;
        if (is_last(&f.out[k])) bytes += bytes_of_type(t, NULL) / kept;
    }
    return bytes * steps_of(r->g, id);
}

/* Is v what a loop keeps of such a state, which is large, or may be? */
static bool is_last_state(const Rewriter *r, ApplyId id, Var v) {
    const Type *t = var_type(r->g, v);
    ScanForm f;
    bool open = false;
    if (!loop_of(r, id, &f) || !is_last(&f.out[v - r->g->apply[id].out]) ||
        t->ndim == 0 || steps_of(r->g, id) < least_steps)
        return false;
    double bytes = bytes_of_type(t, &open);
    return open || bytes >= least_block;
}

static bool is_contraction(const Rewriter *r, ApplyId id) {
    const Apply *a = &r->g->apply[id];
    return rw_is(r, a, OP_MATMUL) || rw_is(r, a, OP_SUM);
}

/* The smallest array that v is made of, through elementwise ops and sums of them. */
static double bytes_of_sources(const Graph *g, Var v) {
    Var todo[MOST_SOURCES + MOST_INPUTS];
    size_t n = 1, looks = 0;
    double least = HUGE_VAL;
    todo[0] = v;
    while (n > 0) {
        Var x = todo[--n];
        ApplyId maker = var_owner(g, x);
        const Apply *a = maker == APPLY_NONE ? NULL : &g->apply[maker];
        bool through = a && (x == v || a->op->elemwise) && a->nin <= MOST_INPUTS &&
                       looks++ < MOST_SOURCES && n + a->nin <= MOST_SOURCES;
        for (size_t i = 0; through && i < a->nin; i++)
            todo[n++] = apply_in(g, maker)[i];
        const Type *t = var_type(g, x);
        double bytes = through || t->ndim == 0 ? HUGE_VAL : bytes_of_type(t, NULL);
        if (bytes < least) least = bytes;
    }
    return least;
}

/* Are there results of this op that may be seeds? */
static bool makes_seeds(const Rewriter *r, ApplyId id) {
    return is_contraction(r, id) || rw_is(r, &r->g->apply[id], OP_SCAN);
}

/* Is v, which such an op makes, large beside something that it is made of? */
static bool is_seed(const Rewriter *r, ApplyId maker, Var v) {
    const Type *t = var_type(r->g, v);
    bool open = false;
    if (t->kind != TYPE_TENSOR) return false;
    if (is_last_state(r, maker, v)) return true;
    if (t->ndim < 2) return false;
    double bytes = bytes_of_type(t, &open);
    return bytes >= least_bytes &&
           (is_contraction(r, maker) || is_trace(r, maker, v)) &&
           bytes >= (open ? open_ratio : 1) * bytes_of_sources(r->g, v);
}

/* Is fn called by rows? Then it has a few of them at a time already. */
static bool calls_by_rows(const Graph *g, const Graph *fn) {
    const Op *call = op_known(g->s, OP_CALL);
    for (ApplyId id = 0; id < g->napply; id++) {
        const Apply *a = &g->apply[id];
        if (a->op == call && op_prop(g->s, call, a->props, "rows")->ints.n &&
            op_called_function(g, a) == fn)
            return true;
    }
    return false;
}

static bool is_called_by_rows(const Graph *fn) {
    const Graph *main = fn->main;
    if (fn == main) return false;
    for (size_t i = 0; i < main->functions.n; i++)
        if (calls_by_rows(main->functions.p[i], fn)) return true;
    return calls_by_rows(main, fn);
}

bool row_blocks_worth(Rewriter *r) {
    bool any = false;
    for (ApplyId id = 0; id < r->g->napply && !any; id++) {
        const Apply *a = &r->g->apply[id];
        for (Var k = 0; makes_seeds(r, id) && k < a->nout; k++)
            any |= is_seed(r, id, a->out + k);
    }
    return any && !is_called_by_rows(r->g);
}

/* ---- the group ---- */

static bool may_join(const Blocks *b, ApplyId id) {
    const Apply *a = &b->g->apply[id];
    bool live = false, init = false;
    for (Var v = a->out; v < a->out + a->nout; v++)
        live |= b->live[v], init |= b->init[v];
    return id >= b->floor && !a->serial && !a->op->effect && a->nin <= MOST_INPUTS &&
           !op_rare(a->op)->destroys && live && !init;
}

static bool join(Blocks *b, ApplyId id, const Part *due) {
    const Apply *a = &b->g->apply[id];
    Member m = {.id = id};
    if (!may_join(b, id) || b->members.n >= MOST_MEMBERS) return false;
    b->work -= b->work < WORK_JOIN ? b->work : WORK_JOIN;
    if (!blocks_cut_inputs(b, id, due, &m.cut)) return false;
    b->member[id] = b->number;
    vec_push(b->r->s, &b->members, m);
    for (Var k = 0; k < a->nout; k++)
        map_put(&b->part, a->out + k, (uintptr_t)&m.cut.out[k]);
    return true;
}

/* The maker of v, whose part is `due`, and the makers of its large operands. */
static void find_makers(Blocks *b, Var v, const Part *due) {
    ApplyId id = var_owner(b->g, v);
    if (id == APPLY_NONE || b->member[id] == b->number || !join(b, id, due)) return;
    const Member m = b->members.p[b->members.n - 1];
    vec_push(b->r->s, &b->makers,
             ((Maker){id, blocks_part_of(b, b->g->apply[id].out)}));
    for (size_t i = 0; i < b->g->apply[id].nin; i++) {
        Var in = apply_in(b->g, id)[i];
        if (m.cut.x[i].kind == PART_ROWS && bytes_of(b, in) >= b->large)
            find_makers(b, in, &m.cut.x[i]);
    }
}

static int compare_makers(const void *x, const void *y) {
    const Maker *a = x, *b = y;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* What an Apply reads: results of members, and what is held up. */
static void look_at_inputs(const Blocks *b, ApplyId id, bool *reads, bool *held) {
    *reads = *held = false;
    for (size_t i = 0; i < b->g->apply[id].nin; i++) {
        ApplyId maker = var_owner(b->g, apply_in(b->g, id)[i]);
        if (maker == APPLY_NONE) continue;
        *reads |= b->member[maker] == b->number;
        *held |= b->held[maker] == b->number;
    }
}

/* The makers, and what reads results of members, in order. False: a maker can't be one.
 */
static bool join_in_order(Blocks *b) {
    uint32_t left = WINDOW;
    size_t next = 0;
    for (ApplyId id = b->makers.p[0].id; id < b->napply; id++, left--) {
        bool reads, held, maker = next < b->makers.n && b->makers.p[next].id == id;
        if ((left == 0 && !maker) || b->work == 0) return next == b->makers.n;
        look_at_inputs(b, id, &reads, &held);
        b->work--;
        if (!maker && !reads && !held) continue;
        held |= b->scope && b->scope[id] != b->scope[b->makers.p[0].id];
        if (!held && join(b, id, maker ? b->makers.p[next].due : NULL))
            left = WINDOW;
        else if (maker)
            return false;
        else
            b->held[id] = b->number;
        next += maker;
    }
    return next == b->makers.n;
}

/* What reads something smaller, such as flags, stays too: it may make little of it. */
static void keep_useful(Blocks *b) {
    for (size_t m = b->members.n; m-- > 0;) {
        Member *p = &b->members.p[m];
        const Apply *a = &b->g->apply[p->id];
        bool useful = p->kept;
        for (Var k = 0; k < a->nout; k++)
            useful |= bytes_of(b, a->out + k) >= b->large;
        for (size_t i = 0; i < a->nin; i++) {
            Var v = apply_in(b->g, p->id)[i];
            useful |= blocks_makes(b, v) && bytes_of(b, v) >= b->large / small_ratio;
        }
        p->kept = useful;
        for (size_t i = 0; useful && i < a->nin; i++) {
            Var v = apply_in(b->g, p->id)[i];
            if (!blocks_makes(b, v)) continue;
            for (size_t q = 0; q < m; q++)
                if (b->members.p[q].id == var_owner(b->g, v))
                    b->members.p[q].kept = true;
        }
    }
    size_t n = 0;
    for (size_t m = 0; m < b->members.n; m++) {
        if (b->members.p[m].kept)
            b->members.p[n++] = b->members.p[m];
        else
            b->member[b->members.p[m].id] = 0;
    }
    b->members.n = n;
}

/* Does anything besides members read v? */
bool blocks_is_result(const Blocks *b, Var v) {
    if (b->root[v]) return true;
    for (uint32_t k = b->clients.first[v]; k < b->clients.first[v + 1]; k++)
        if (b->member[b->clients.client[k]] != b->number) return true;
    return false;
}

/* Bytes of what only members see, of rows that come in or go out, and of what all
 * blocks need or add to. */
typedef struct Traffic {
    double inside, rows, beside;
} Traffic;

/* Would v be stored? What elementwise ops make for others, or for a sum, is fused. */
static bool is_stored(const Blocks *b, Var v) {
    const Graph *g = b->g;
    if (!g->apply[var_owner(g, v)].op->elemwise) return true;
    for (uint32_t k = b->clients.first[v]; k < b->clients.first[v + 1]; k++) {
        const Op *op = g->apply[b->clients.client[k]].op;
        if (!op->elemwise && !op_rare(op)->streams) return true;
    }
    return false;
}

static void count_results(const Blocks *b, ApplyId id, Traffic *t) {
    const Apply *a = &b->g->apply[id];
    for (Var v = a->out; v < a->out + a->nout; v++) {
        const Part *p = blocks_part_of(b, v);
        if (blocks_is_result(b, v))
            *(p && p->kind == PART_ROWS ? &t->rows : &t->beside) += bytes_of(b, v);
        else if (is_stored(b, v))
            t->inside += bytes_of(b, v);
    }
    t->inside += bytes_of_steps(b->r, id);
}

static Traffic count_traffic(const Blocks *b) {
    Traffic t = {0};
    Map seen = MAP(b->r->s);
    for (size_t m = 0; m < b->members.n; m++) {
        const Member *p = &b->members.p[m];
        count_results(b, p->id, &t);
        for (size_t i = 0; i < b->g->apply[p->id].nin; i++) {
            Var v = apply_in(b->g, p->id)[i];
            if (blocks_makes(b, v) || p->cut.drawn[i] || map_get(&seen, v, NULL))
                continue;
            map_put(&seen, v, 1);
            *(p->cut.x[i].kind == PART_ROWS ? &t.rows : &t.beside) += bytes_of(b, v);
        }
    }
    map_free(&seen);
    return t;
}

/* What a loop does with its states needs no more than that: few rows are one block. */
static bool pays_off(const Blocks *b, const Traffic *t, bool steps, bool open) {
    double most_beside = dim_is_known(b->rows) ? beside_ratio : open_beside_ratio;
    if (steps)
        return t->inside >= most_beside * t->beside &&
               t->inside >= known_ratio * t->rows;
    return b->members.n > 1 && t->inside >= least_bytes &&
           t->inside >= most_beside * t->beside &&
           t->inside >= (open ? open_ratio : known_ratio) * t->rows;
}

/* ---- all groups ---- */

static void begin_group(Blocks *b) {
    b->number++;
    b->members.n = 0;
    map_free(&b->part);
    b->part = MAP(b->r->s);
    map_free(&b->drawn);
    b->drawn = MAP(b->r->s);
}

/* Finds the group of an axis of the seed. Returns about how many bytes its smallest
 * block takes; NO_GROUP: there is none that pays off. */
#define NO_GROUP HUGE_VAL
static double find_group(Blocks *b, Var seed, int axis) {
    const Type *t = var_type(b->g, seed);
    bool open = false;
    const Part due = {PART_ROWS, .axis = axis, .each = 1};
    begin_group(b);
    b->rows = t->dim[axis];
    b->large = bytes_of_type(t, &open) / 2;
    b->makers.n = 0;
    find_makers(b, seed, &due);
    if (b->makers.n == 0) return NO_GROUP;
    qsort(b->makers.p, b->makers.n, sizeof *b->makers.p, compare_makers);
    begin_group(b);
    if (!join_in_order(b)) return NO_GROUP;
    keep_useful(b);
    Traffic traffic = count_traffic(b);
    bool steps = is_last_state(b->r, var_owner(b->g, seed), seed);
    if (b->members.n == 0 || !pays_off(b, &traffic, steps, open)) return NO_GROUP;
    double row = traffic.inside / (dim_is_known(b->rows) ? (double)b->rows : open_dim);
    return fmax(fmax(row, traffic.beside), least_block);
}

/* Takes the axis that gives the smallest blocks. */
static void try_seed(Blocks *b, Var v) {
    const Type *t = var_type(b->g, v);
    double least = NO_GROUP;
    int axis = 0;
    for (int k = 0; k < t->ndim; k++) {
        if (t->dim[k] == 1 || t->dim[k] == DIM_UNKNOWN) continue;
        double bytes = find_group(b, v, k);
        if (bytes < least) least = bytes, axis = k;
    }
    if (least == NO_GROUP || find_group(b, v, axis) == NO_GROUP || !blocks_call(b))
        return;
    b->floor = b->members.p[b->members.n - 1].id + 1;
}

bool row_blocks_pass(Rewriter *r) {
    Arena *a = arena_new(r->s);
    Graph *g = r->g;
    ApplyId napply = g->napply;
    Blocks b = {.r = r,
                .g = g,
                .a = a,
                .live = graph_live(g, a, ROOTS_RUN | ROOTS_INIT),
                .init = graph_live(g, a, ROOTS_INIT),
                .root = graph_root_marks(g, a, ROOTS_RUN | ROOTS_INIT),
                .napply = napply,
                .work = WORK_BASE + (size_t)WORK_EACH * napply,
                .member = NEW_N(a, napply, uint32_t),
                .held = NEW_N(a, napply, uint32_t),
                .part = MAP(r->s),
                .drawn = MAP(r->s)};
    b.clients = graph_clients(g, a, b.live);
    if (lazy_scope_any(g)) b.scope = lazy_scope_find(g, a, (VarList){0});
    for (ApplyId id = 0; id < napply && b.work > 0; id++) {
        if (!makes_seeds(r, id)) continue;
        const Apply ap = g->apply[id]; /* calls are added to the graph */
        for (Var v = ap.out; v < ap.out + ap.nout; v++)
            if (id >= b.floor && b.live[v] && is_seed(r, id, v) &&
                (!b.root[v] || is_last_state(r, id, v)))
                try_seed(&b, v);
    }
    rewriter_grow(r);
    map_free(&b.part);
    map_free(&b.drawn);
    vec_free(&b.makers);
    vec_free(&b.members);
    arena_free(a);
    return true;
}
