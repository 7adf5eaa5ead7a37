/* Exchanges between ranks beside other work: an op with `begin` is begun in its turn,
 * or as soon as the last shard has made what it sums, and finished right before the
 * first instruction that reads its results. So that there is something to do in
 * between, instructions are ordered by the exchanges whose results they need: first
 * those that need none, then those that need the first, and so on; among them first
 * what the next exchanges need. The order depends on the graph alone: all ranks have
 * the same. */
#include "op/ranks.h"
#include "vm/vm_impl.h"

#include <stdlib.h>
#include <string.h>

bool overlap_can_begin(const Plan *p, const Ins *in) {
    return in->kind == PLAN_PERFORM && op_rare(p->g->apply[in->apply].op)->begin;
}

static bool is_effect(const Plan *p, const Ins *in) {
    const Apply *a = &p->g->apply[in->apply];
    return op_has_effect(p->g, a->op, a->props);
}

static bool any_overlap(const Plan *p) {
    bool any = false;
    for (uint32_t i = 0; i < p->nins; i++) {
        if (ins_is_lazy(&p->ins[i])) return false;
        any |= overlap_can_begin(p, &p->ins[i]);
    }
    return any;
}

/* ---- order ---- */
typedef struct Turn {
    uint32_t exchange; /* the last one that it needs, counted from 1; 0: none */
    bool waits;        /* no exchange that needs as many needs it */
    uint32_t at;
} Turn;
typedef struct Turns {
    Plan *p;
    uint32_t *maker;  /* by cell; NONE: a leaf */
    uint32_t *before; /* by instruction: the effect before it, if it is one; NONE */
    uint32_t *gives;  /* by instruction: what its readers need */
    Turn *turn;
} Turns;

static void find_edges(Turns *t) {
    const Plan *p = t->p;
    uint32_t effect = NONE;
    for (uint32_t c = 0; c < p->ncell; c++)
        t->maker[c] = NONE;
    for (uint32_t i = 0; i < p->nins; i++) {
        const Ins *in = &p->ins[i];
        for (uint32_t j = 0; j < in->nout; j++)
            t->maker[p->arg[in->arg + in->nin + j]] = i;
        t->before[i] = NONE;
        if (!is_effect(p, in)) continue;
        t->before[i] = effect;
        effect = i;
    }
}

/* Instruction k of those that must come before i, by inputs, then effects. NONE: it is
 * a leaf, or there is none. */
static uint32_t needed_by(const Turns *t, uint32_t i, uint32_t k) {
    const Ins *in = &t->p->ins[i];
    return k == in->nin ? t->before[i] : t->maker[t->p->arg[in->arg + k]];
}

static void find_turns(Turns *t) {
    const Plan *p = t->p;
    uint32_t exchanges = 0;
    for (uint32_t i = 0; i < p->nins; i++) {
        Turn *turn = &t->turn[i];
        *turn = (Turn){.waits = true, .at = i};
        for (uint32_t k = 0; k <= p->ins[i].nin; k++) {
            uint32_t m = needed_by(t, i, k);
            if (m != NONE && t->gives[m] > turn->exchange) turn->exchange = t->gives[m];
        }
        t->gives[i] = overlap_can_begin(p, &p->ins[i]) ? ++exchanges : turn->exchange;
    }
    for (uint32_t i = p->nins; i-- > 0;) {
        if (overlap_can_begin(p, &p->ins[i])) t->turn[i].waits = false;
        for (uint32_t k = 0; !t->turn[i].waits && k <= p->ins[i].nin; k++) {
            uint32_t m = needed_by(t, i, k);
            if (m != NONE && t->turn[m].exchange == t->turn[i].exchange)
                t->turn[m].waits = false;
        }
    }
}

static int compare_turns(const void *a, const void *b) {
    const Turn *x = a, *y = b;
    if (x->exchange != y->exchange) return x->exchange < y->exchange ? -1 : 1;
    if (x->waits != y->waits) return x->waits ? 1 : -1;
    return x->at < y->at ? -1 : x->at > y->at;
}

void overlap_order(Plan *p) {
    if (!any_overlap(p)) return;
    Arena *a = arena_new(p->s);
    Turns t = {.p = p,
               .maker = NEW_N(a, p->ncell, uint32_t),
               .before = NEW_N(a, p->nins, uint32_t),
               .gives = NEW_N(a, p->nins, uint32_t),
               .turn = NEW_N(a, p->nins, Turn)};
    Ins *order = NEW_N(p->arena, p->nins, Ins);
    find_edges(&t);
    find_turns(&t);
    qsort(t.turn, p->nins, sizeof *t.turn, compare_turns);
    for (uint32_t i = 0; i < p->nins; i++)
        order[i] = p->ins[t.turn[i].at];
    p->ins = order;
    arena_free(a);
}

/* ---- which instructions ---- */
/* The function over shards that makes all inputs of the instruction; NONE. */
static uint32_t shards_before(const Plan *p, const uint32_t *maker, const Ins *in) {
    uint32_t s = in->nin ? maker[p->arg[in->arg]] : NONE;
    if (s == NONE || !p->ins[s].shards) return NONE;
    for (uint32_t k = 1; k < in->nin; k++)
        if (maker[p->arg[in->arg + k]] != s) return NONE;
    return s;
}

void overlap_early(Plan *p) {
    if (!any_overlap(p)) return;
    Arena *a = arena_new(p->s);
    uint32_t *maker = NEW_N(a, p->ncell, uint32_t);
    p->early = NEW_N(p->arena, p->nins, uint32_t);
    for (uint32_t c = 0; c < p->ncell; c++)
        maker[c] = NONE;
    for (uint32_t i = 0; i < p->nins; i++) {
        const Ins *in = &p->ins[i];
        for (uint32_t j = 0; j < in->nout; j++)
            maker[p->arg[in->arg + in->nin + j]] = i;
        p->early[i] = overlap_can_begin(p, in) ? shards_before(p, maker, in) : NONE;
    }
    arena_free(a);
}

uint32_t overlap_born(const Plan *p, uint32_t step) {
    return p->early && p->early[step] != NONE ? p->early[step] : step;
}

static bool has_cell(const Plan *p, const Ins *in, uint32_t from, uint32_t to,
                     const Ins *maker) {
    for (uint32_t k = from; k < to; k++)
        for (uint32_t j = 0; j < maker->nout; j++)
            if (p->arg[in->arg + k] == p->arg[maker->arg + maker->nin + j]) return true;
    return false;
}

/* Does an instruction read a result of another, by itself or for what it may do, too?
 */
static bool reads_result(const Plan *p, const Ins *in, const Ins *maker) {
    const Ins *after = in->after ? &p->ins[in->after->step] : NULL;
    return has_cell(p, in, 0, in->nin, maker) ||
           (after && has_cell(p, after, 0, after->nin, maker));
}

void overlap_find(Plan *p) {
    if (!any_overlap(p)) return;
    for (uint32_t i = 0; i < p->nins; i++) {
        Ins *in = &p->ins[i];
        if (!overlap_can_begin(p, in)) continue;
        uint32_t reader = i + 1;
        while (reader < p->nins && !reads_result(p, &p->ins[reader], in))
            reader++;
        in->begins = reader > i + 1 || reader == p->nins || p->early[i] != NONE;
        if (in->begins && reader < p->nins) p->ins[reader].lands = true;
        p->has_overlap |= in->begins;
    }
}

/* All results exist until the exchange is finished, even those that nothing reads. */
void overlap_keep(const Plan *p, Sharing *h) {
    for (uint32_t i = 0; i < p->nins; i++) {
        const Ins *in = &p->ins[i];
        const uint32_t *out = p->arg + in->arg + in->nin;
        uint32_t last = i;
        if (!overlap_can_begin(p, in)) continue;
        for (uint32_t j = 0; j < in->nout; j++)
            if (h->cell[out[j]].dies > last) last = h->cell[out[j]].dies;
        for (uint32_t j = 0; j < in->nout; j++)
            h->cell[out[j]].dies = last;
    }
}

/* ---- running ---- */
bool overlap_begin(Machine *m, uint32_t step, Call *c) {
    void *flight = NULL;
    if (!op_rare(c->op)->begin(c, &flight)) return false;
    if (flight) vec_push(m->s, &m->flight, ((Flight){step, flight}));
    return true;
}

static bool land(Machine *m, Flight f) {
    Call c;
    step_call(m, f.step, &c);
    step_outputs(m, f.step, &c);
    return op_rare(c.op)->finish(&c, f.of) || step_failed(m, f.step);
}

static bool land_before(Machine *m, uint32_t step) {
    const Ins *ins = m->p->ins;
    size_t kept = 0, n = m->flight.n;
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        Flight f = m->flight.p[i];
        if (ok && reads_result(m->p, &ins[step], &ins[f.step]))
            ok = land(m, f);
        else
            m->flight.p[kept++] = f;
    }
    m->flight.n = kept;
    return ok;
}

/* After a failure, nothing is said of what fails because of it. */
static bool land_all(Machine *m, bool ok) {
    for (size_t i = 0; i < m->flight.n; i++) {
        size_t mark = diag_count(m->s);
        bool landed = land(m, m->flight.p[i]);
        if (!ok) diag_rewind(m->s, mark);
        ok &= landed;
    }
    m->flight.n = 0;
    return ok;
}

static bool has_inputs(const Plan *p, const Ins *in, const Ins *maker,
                       const bool *there) {
    for (uint32_t k = 0; k < in->nin; k++)
        for (uint32_t j = 0; j < maker->nout; j++)
            if (p->arg[in->arg + k] == p->arg[maker->arg + maker->nin + j] && !there[j])
                return false;
    return true;
}

static size_t bytes_of_inputs(const Machine *m, const Ins *in) {
    size_t n = 0;
    for (uint32_t k = 0; k < in->nin; k++)
        n += m->cell[m->p->arg[in->arg + k]].layout->bytes;
    return n;
}

/* In the order of their turns, whichever is complete first: so do ranks that begin none
 * early. Few bytes are not worth it. */
bool overlap_begin_early(Machine *m, uint32_t step, const bool *there) {
    const Plan *p = m->p;
    for (uint32_t i = step + 1; i < p->nins; i++) {
        const Ins *in = &p->ins[i];
        if (p->early[i] != step || m->done[i]) continue;
        if (!has_inputs(p, in, &p->ins[step], there) ||
            bytes_of_inputs(m, in) < RANKS_OVERLAP)
            return true;
        if (step_perform(m, i) != THUNK_DONE) return step_failed(m, i);
        m->done[i] = true;
    }
    return true;
}

bool overlap_told_steps(Machine *m) {
    if (m->done) memset(m->done, 0, m->p->nins * sizeof *m->done);
    for (uint32_t i = 0; i < m->p->nins; i++) {
        if (!(m->done && m->done[i]) && !step_run(m, i)) return false;
        if (!m->told->made(m->told->ctx, i)) return false;
        step_end(m, i);
    }
    return true;
}

bool overlap_steps(Machine *m) {
    bool ok = true;
    memset(m->done, 0, m->p->nins * sizeof *m->done);
    m->overlaps = true;
    for (uint32_t i = 0; ok && i < m->p->nins; i++) {
        if (m->p->ins[i].lands) ok = land_before(m, i);
        if (ok && !m->done[i]) ok = step_run(m, i);
        if (ok) step_end(m, i);
    }
    ok = land_all(m, ok);
    m->overlaps = false;
    return ok;
}
