/* Machine code for all steps of a loop whose body is one program of single elements.
 * What is the same in each step stays in a register; so does a state that the next step
 * reads, and if only its last value is kept, memory sees no other. */
#include "vm/jit/jit_impl.h"

#if HAS_ASM

bool jit_is_step(const Plan *p) {
    const BlockProgram *b = p->ins->prog;
    if (!p->o.loop || p->nins != 1 || !b || b->fold) return false;
    for (uint32_t v = 0; v < b->nvalue; v++)
        if (jit_type(b, v)->ndim > 0) return false;
    return true;
}

/* ---- what a step reads and writes ---- */

/* A state whose value before a step is one value of the program, and after it another
 * one. */
typedef struct State {
    uint32_t before, after;
    bool last; /* no other value is kept */
} State;
typedef struct Steps {
    Coder *c;
    Run r;
    State state[ASM_KEPT];
    uint32_t nstate;
    int next; /* a register, from the last one down */
} Steps;
enum { ENOUGH = 6 }; /* registers for what is computed */

/* The input of the body that supplies input i of the program; SIZE_MAX: none. */
static size_t body_input(const Plan *p, uint32_t i) {
    if (i >= p->ins->prog->nplain) return SIZE_MAX;
    for (size_t k = 0; k < p->g->inputs.n; k++)
        if (p->input[k] == p->arg[p->ins->arg + i]) return k;
    return SIZE_MAX;
}

static bool is_same_in_all(const ScanForm *f, size_t k) {
    return k == SIZE_MAX || (k >= f->other_in && k < f->other_in + f->nother);
}

/* The result whose last value input k of the body is, with no other tap; NULL: none. */
static const ScanOut *last_value(const ScanForm *f, size_t k) {
    for (size_t o = 0; o < f->nout; o++)
        if (scan_one_row(&f->out[o]) && f->out[o].in == k) return &f->out[o];
    return NULL;
}

/* The value of the program that is output o of the body; NONE: there is none. */
static uint32_t value_of_output(const Plan *p, size_t o) {
    const Ins *in = p->ins;
    for (uint32_t j = 0; j < in->nout; j++)
        if (p->arg[in->arg + in->nin + j] == p->sharing.output[o].cell)
            return in->prog->out_value[j];
    return NONE;
}

static bool is_state_already(const Steps *s, uint32_t after) {
    bool any = false;
    for (uint32_t i = 0; i < s->nstate; i++)
        any |= s->state[i].after == after;
    return any;
}

static bool take_register(Steps *s, uint32_t value) {
    Coder *c = s->c;
    if (s->r.once.n == ASM_KEPT || s->next < ENOUGH + c->nconstant) return false;
    s->r.once.slot[s->r.once.n] = s->r.once.value[s->r.once.n] = value;
    s->r.once.n++;
    c->reg[value] = (int8_t)s->next;
    c->fixed |= 1U << s->next--;
    return true;
}

/* Takes inputs that need a register only, and a place in memory once. */
static void take_once(Steps *s, bool states) {
    const Plan *p = s->c->p;
    const ScanForm *f = p->o.loop;
    s->next = ASM_SPARE - 1;
    for (uint32_t v = 0; v < s->c->b->nin; v++) {
        if (s->c->last[v] == NONE || s->c->reg[v] >= 0) continue;
        size_t k = body_input(p, v);
        const ScanOut *of = last_value(f, k);
        uint32_t after = of ? value_of_output(p, (size_t)(of - f->out)) : NONE;
        bool state = states && after != NONE && !is_state_already(s, after);
        if (!(state || is_same_in_all(f, k)) || !take_register(s, v)) continue;
        if (state) s->state[s->nstate++] = (State){v, after, of->keep == SCAN_LAST};
    }
}

/* Results that are stored after the last step are no operands of a step. */
static void take_last_values(Steps *s) {
    Operands *out = &s->r.out, all = *out;
    out->n = 0;
    for (uint32_t j = 0; j < all.n; j++) {
        bool last = false;
        for (uint32_t i = 0; i < s->nstate; i++)
            last |= s->state[i].after == all.value[j] && s->state[i].last;
        Operands *to = last ? &s->r.end : out;
        to->slot[to->n] = all.slot[j];
        to->value[to->n++] = all.value[j];
    }
    for (uint32_t i = 0; i < s->nstate; i++) /* to the end of a step */
        s->c->here[s->state[i].after] = s->r.to;
}

enum { NO_OPERAND = -1, ELSEWHERE = -2 };
/* The operand that ends the loop. */
static int until_operand(const Steps *s) {
    const Plan *p = s->c->p;
    const Ins *in = p->ins;
    const Run *r = &s->r;
    uint32_t cell = p->sharing.until.cell;
    if (cell == NONE) return NO_OPERAND;
    for (uint32_t j = 0; j < r->out.n; j++)
        if (p->arg[in->arg + in->nin + r->out.slot[j] - s->c->b->nin] == cell)
            return (int)(r->in.n + j);
    return ELSEWHERE;
}

/* Has it the registers, and words for distances and the number of steps? */
static bool is_in_reach(const Run *r) {
    return r->in.n + r->out.n < ASM_POINTERS &&
           r->in.n + r->once.n + 2 * (r->out.n + r->end.n) < ASM_WORDS;
}

/* ---- the loop ---- */

/* Operand n is a register for addresses, and counts. */
static void emit_loads_once(Steps *s, int n) {
    for (uint32_t i = 0; i < s->r.once.n; i++) {
        asm_take_input(&s->c->a, n, s->r.in.n + i);
        asm_spread_element(&s->c->a, s->c->reg[s->r.once.value[i]], n);
    }
}

static void emit_next_states(Steps *s) {
    static const int none[ASM_CONSTANTS];
    for (uint32_t i = 0; i < s->nstate; i++) {
        int from[ASM_INPUTS] = {s->c->reg[s->state[i].after]};
        asm_op(&s->c->a, ASM_SAME, s->c->reg[s->state[i].before], from, none);
    }
}

static void emit_stores_at_end(Steps *s, int n) {
    for (uint32_t j = 0; j < s->r.end.n; j++) {
        asm_take_output(&s->c->a, n, s->r.out.n + j);
        asm_store(&s->c->a, s->c->reg[s->r.end.value[j]], n, false);
    }
}

/* Step after step, each operand by its own distance; what is left of their number
 * replaces it. */
static bool emit_steps(Steps *s) {
    const Run *r = &s->r;
    Asm *a = &s->c->a;
    uint32_t nin = r->in.n + r->once.n, nout = r->out.n + r->end.n,
             n = r->in.n + r->out.n, count = nin + 2 * nout;
    int until = until_operand(s);
    a->width = a->widest;
    asm_begin(a, r->in.n, r->out.n, 1);
    jit_spread_constants(s->c);
    asm_start(a);
    a->width = WIDTH_ONE;
    emit_loads_once(s, (int)n);
    size_t none = asm_count(a, (int)n, count), top = a->code.n, over = 0;
    if (!jit_emit_body(s->c, r, false, NULL)) return false;
    emit_next_states(s);
    if (until >= 0) over = asm_if_true(a, until);
    for (uint32_t i = 0; i < r->in.n; i++)
        asm_move(a, (int)i, nout + i);
    for (uint32_t j = 0; j < r->out.n; j++)
        asm_move(a, (int)(r->in.n + j), nout + nin + j);
    asm_count_down(a, (int)n, top);
    if (until >= 0) asm_here(a, over);
    asm_store_count(a, (int)n, count);
    emit_stores_at_end(s, (int)n);
    asm_here(a, none);
    asm_end(a, n + 1);
    return true;
}

/* states: they stay in registers. False: there are too few of these. */
static bool code_steps(Coder *c, bool states) {
    Steps s = {.c = c,
               .r = {.b = c->b,
                     .to = c->b->nop,
                     .past = NO_LOOP,
                     .nest = NO_LOOP,
                     .steps = true}};
    size_t begin = c->a.code.n;
    c->a.eight = jit_op_size(c->b, 0) == 8;
    bool ok = jit_take_constants(c, &s.r);
    if (ok) take_once(&s, states);
    ok = ok && jit_take_operands(c, &s.r) && s.r.out.n == c->b->nout;
    if (ok) take_last_values(&s);
    ok = ok && is_in_reach(&s.r) && until_operand(&s) != ELSEWHERE;
    s.r.loop = c->a.code.n;
    ok = ok && emit_steps(&s);
    if (ok)
        vec_push(c->p->s, &c->runs, s.r);
    else
        c->a.code.n = begin;
    return ok;
}

void jit_code_steps(Coder *c) {
    enum { MOST = 64 }; /* ops */
    if (c->b->nop > MOST) return;
    for (uint32_t k = 0; k < c->b->nop; k++)
        if (!c->coded[k] || !jit_fits(c->b, 0, k)) return;
    if (!code_steps(c, true)) code_steps(c, false);
}

#endif
