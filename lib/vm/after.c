/* Elementwise work on a kernel's output that the kernel may do itself, while it has the
 * elements in registers: sums, limits. What it does not take runs as usual, so nothing
 * is decided here but that it could: the same ops on the same elements in the same
 * order. */
#include "vm/vm_impl.h"

/* What is known of the cells while looking. */
typedef struct Search {
    Plan *p;
    uint32_t *maker, *readers; /* by cell: the instruction; how often it is read */
} Search;

static bool after_op(Session *s, const Op *op, AfterOp *which) {
    static const struct {
        KnownOp op;
        AfterOp is;
    } known[] = {
        {OP_ADD, AFTER_ADD}, {OP_MAXIMUM, AFTER_MAXIMUM}, {OP_MINIMUM, AFTER_MINIMUM}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (op_is(s, op, known[i].op)) return *which = known[i].is, true;
    return false;
}

/* Is the program a chain of such ops, each on the result of the one before, from input
 * `in` on? */
static bool is_chain(Session *s, const BlockProgram *b, uint32_t in, PlanAfter *a) {
    uint32_t v = in;
    DType d = var_type(b->g, b->var[in])->dtype;
    if (b->fold || b->nout != 1 || b->nop > AFTER_MOST) return false;
    for (a->n = 0; a->n < b->nop; a->n++) {
        const BlockOp *op = &b->op[a->n];
        const uint32_t *value = b->value + op->arg;
        if (!op->loop || op->nin != 2 || !after_op(s, op->op, &a->op[a->n]))
            return false;
        /* of a maximum, the first one of equal zeros is taken */
        bool swapped = value[1] == v && a->op[a->n] == AFTER_ADD;
        uint32_t other = value[!swapped];
        if (value[swapped] != v || other == in || other >= b->nin ||
            var_type(b->g, b->var[other])->dtype != d ||
            (other >= b->nplain && !var_const(b->g, b->var[other])))
            return false;
        a->input[a->n] = other;
        v = value[2];
    }
    return v == b->out_value[0];
}

/* Have all operands been computed before step `at`? */
static bool are_ready(const Search *q, const Ins *in, uint32_t at, const PlanAfter *a) {
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->input[i] >= in->prog->nplain) continue;
        uint32_t cell = q->p->arg[in->arg + a->input[i]];
        if (q->maker[cell] != NONE && q->maker[cell] >= at) return false;
    }
    return true;
}

/* The instruction whose output instruction `step` changes; NONE: there is none. */
static uint32_t changed_by(const Search *q, uint32_t step, PlanAfter *a) {
    const Plan *p = q->p;
    const Ins *in = &p->ins[step];
    if ((in->kind != PLAN_LOOP && in->kind != PLAN_FUSED) || in->nout != 1) return NONE;
    const CellInfo *out = &p->sharing.cell[p->arg[in->arg + in->nin]];
    if (out->how != PLAN_INPLACE || q->maker[out->of] == NONE ||
        q->readers[out->of] != 1)
        return NONE;
    uint32_t at = q->maker[out->of], k = 0;
    const Ins *maker = &p->ins[at];
    if (maker->kind != PLAN_PERFORM || maker->nout != 1 || maker->thunk ||
        !p->g->apply[maker->apply].op->takes_after ||
        p->sharing.cell[out->of].how != PLAN_OWN)
        return NONE;
    while (p->arg[in->arg + k] != out->of)
        k++;
    return is_chain(p->s, in->prog, k, a) && are_ready(q, in, at, a) ? at : NONE;
}

static bool any_takes(const Plan *p) {
    for (uint32_t i = 0; i < p->nins; i++)
        if (p->ins[i].kind == PLAN_PERFORM &&
            p->g->apply[p->ins[i].apply].op->takes_after)
            return true;
    return false;
}

void after_find(Plan *p) {
    if (p->lazy || !any_takes(p)) return;
    Arena *tmp = arena_new(p->s);
    Search q = {.p = p,
                .maker = NEW_N(tmp, p->ncell, uint32_t),
                .readers = NEW_N(tmp, p->ncell, uint32_t)};
    for (uint32_t c = 0; c < p->ncell; c++)
        q.maker[c] = NONE, q.readers[c] = 0;
    for (uint32_t i = 0; i < p->nins; i++) {
        const Ins *in = &p->ins[i];
        for (uint32_t k = 0; k < in->nin; k++)
            q.readers[p->arg[in->arg + k]]++;
        for (uint32_t j = 0; j < in->nout; j++)
            q.maker[p->arg[in->arg + in->nin + j]] = i;
    }
    for (uint32_t i = 0; i < p->nins; i++) {
        PlanAfter a = {.step = i};
        uint32_t at = changed_by(&q, i, &a);
        if (at == NONE) continue;
        p->ins[at].after = arena_copy(p->arena, &a, sizeof a);
        p->has_after = true;
    }
    arena_free(tmp);
}

static uint32_t result_of(const Machine *m, uint32_t step) {
    const Ins *in = &m->p->ins[step];
    return m->p->arg[in->arg + in->nin];
}

void after_offer(Machine *m, uint32_t step, After room[AFTER_MOST], Call *c) {
    const PlanAfter *a = m->p->ins[step].after;
    const Ins *in = &m->p->ins[a->step];
    if (m->place_of[result_of(m, a->step)] != m->place_of[result_of(m, step)] ||
        plan_runs_debug(m->p, c->op))
        return;
    for (uint32_t i = 0; i < a->n; i++) {
        const BlockProgram *b = in->prog;
        Value v;
        room[i].op = a->op[i];
        if (a->input[i] < b->nplain) {
            cell_value(m, m->p->arg[in->arg + a->input[i]], &v);
            room[i].operand = v.t;
        } else {
            room[i].operand = *var_const(b->g, b->var[a->input[i]]);
        }
    }
    c->after = room;
    c->nafter = a->n;
}

void after_pass_on(Machine *m, uint32_t step) {
    uint32_t next = m->p->ins[step].after->step;
    Cell *from = &m->cell[result_of(m, step)];
    if (from->owned) bug("a kernel with storage of its own took what comes after it");
    m->cell[result_of(m, next)] = *from;
    m->done[next] = true;
}
