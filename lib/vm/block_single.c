/* Block programs that run once over one small block, mostly in a loop's body, by the
 * shortest path. Everything that is the same from run to run is cached. */
#include "vm/vm_impl.h"

#include <string.h>

enum { QUICK_ARGS = 12 };

bool block_is_single(const BlockProgram *b, const Prep *p) {
    if (p->nest || p->rows != 1 || p->chunks != 1 || p->row > p->block || p->ntile ||
        p->split || p->stream != NONE || b->nslot > QUICK_SLOTS ||
        b->max_arg > QUICK_ARGS)
        return false;
    for (uint32_t i = 0; i < b->nin; i++)
        if (p->row > 1 && p->access[i] > ACC_SCALAR && p->access[i] != ACC_UNUSED)
            return false;
    return true;
}

/* Is it a single loop over all slots in order? */
static bool is_direct(const BlockProgram *b) {
    const BlockOp *op = &b->run[0];
    uint32_t narg = (uint32_t)op->nin + op->nout;
    if (b->nrun != 1 || !op->loop || narg != b->nin + b->nout || op->nin != b->nin)
        return false;
    for (uint32_t i = 0; i < narg; i++)
        if (b->slot[op->arg + i] != i) return false;
    return true;
}

void block_settle_quick(const BlockProgram *b, Prep *p) {
    p->quick = !b->fold && block_is_single(b, p);
    p->direct = p->quick && is_direct(b);
    for (uint32_t i = 0; i < b->nin; i++)
        p->broadcasts |= p->access[i] == ACC_SCALAR && p->row > 1;
}

static char *first_reg(const Machine *m, const BlockProgram *b) {
    return (char *)m->block->data +
           round_up((size_t)(b->nin + b->nout) * sizeof(void *)) + block_pointers(b);
}

void *block_quick_register(const Machine *m, const BlockProgram *b, const Prep *p,
                           uint32_t k) {
    return first_reg(m, b) + k * p->reg_bytes;
}

/* Caches registers and the function's own data, which stay valid as long as m->block
 * doesn't move. */
static void keep_slots(const Machine *m, const BlockProgram *b, Prep *p) {
    char *reg = first_reg(m, b);
    for (uint32_t i = b->nplain; i < b->nin; i++)
        memcpy(&p->slot[i], &p->data[i], sizeof(void *)); /* read only */
    for (uint32_t k = 0; k < b->nreg; k++)
        p->slot[b->nin + b->nout + k] = reg + k * p->reg_bytes;
    p->slots_of = m->block->data;
}

/* Broadcasts single elements into registers each time, because other steps use the same
 * registers; if the result is a single element, they are read in place. */
static void broadcast_slots(const Machine *m, const BlockProgram *b, const Prep *p) {
    char *reg = first_reg(m, b);
    for (uint32_t i = 0; i < b->nin; i++) {
        if (p->access[i] != ACC_SCALAR) continue;
        char *to = reg + (b->nreg + p->fill[i]) * p->reg_bytes;
        const void *from = i < b->nplain ? p->slot[i] : p->data[i];
        block_fill(to, from, b->size[i], (size_t)p->row);
        p->slot[i] = to;
    }
}

static unsigned quick_ops(const BlockProgram *b, void *const *slot, size_t n) {
    void *at[QUICK_ARGS];
    unsigned fault = 0;
    for (uint32_t k = 0; k < b->nrun; k++) {
        const BlockOp *op = &b->run[k];
        const uint32_t *of = b->slot + op->arg;
        uint32_t narg = (uint32_t)op->nin + op->nout;
        for (uint32_t i = 0; i < narg; i++)
            at[i] = slot[of[i]];
        if (op->loop)
            fault |= op->loop(n, (const void *const *)at, at + op->nin);
        else
            memmove(at[1], at[0], n * program_bytes(b, b->value[op->arg]));
    }
    return fault;
}

/* Runs a program once over one block. */
bool block_quick(Machine *m, const Ins *in, Prep *p, unsigned *fault) {
    const BlockProgram *b = in->prog;
    const uint32_t *arg = m->p->arg + in->arg, *out = arg + in->nin;
    void **slot = p->slot, **result = slot + b->nin;
    size_t n = (size_t)p->row;
    for (uint32_t i = 0; i < b->nplain; i++) {
        const Cell *c = &m->cell[arg[i]];
        if (c->layout != p->layout[i]) return false;
        slot[i] = c->data;
    }
    if (p->slots_of != (const char *)m->block->data) keep_slots(m, b, p);
    if (p->broadcasts) broadcast_slots(m, b, p);
    for (uint32_t j = 0; j < b->nout; j++)
        result[j] = m->place[m->place_of[out[j]]].ptr;
    *fault = p->direct ? b->run[0].loop(n, (const void *const *)slot, result)
                       : quick_ops(b, slot, n);
    if (!*fault) block_outputs(m, in, p);
    return true;
}
