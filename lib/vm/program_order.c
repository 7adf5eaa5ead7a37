/* In which order a block program computes. Values that are alive at once have a
 * register each, and machine code, which never spills, is cut where there are too many:
 * the pairs of a tree that is written level by level would all be alive at once. Then
 * each Apply comes just behind what it needs, and of that first what needs most
 * registers itself (R. Sethi, J. D. Ullman: The generation of optimal code for
 * arithmetic expressions, 1970; optimal for trees, and good where few values are
 * shared). */
#include "vm/vm_impl.h"

#include <string.h>

enum { ENOUGH_REGISTERS = 8 }; /* any machine has them */

typedef struct Schedule {
    const Graph *fn;
    uint32_t n;
    const ApplyId *given;
    uint32_t *reads; /* by variable: by Applies of the program */
    uint32_t *left;  /* by variable: those to come */
    uint32_t *need;  /* by first output: registers to compute it; 0: not computed here,
                        or listed */
    ApplyId *listed, *stack;
    uint32_t nlisted, nstack;
} Schedule;

static void count_program_reads(Schedule *x) {
    for (uint32_t i = 0; i < x->n; i++) {
        VarList in = apply_ins(x->fn, x->given[i]);
        for (size_t k = 0; k < in.n; k++)
            x->reads[in.p[k]]++;
    }
}

/* Results that are alive at once: each from its Apply to its last read. */
static uint32_t most_alive(Schedule *x, const ApplyId *order) {
    uint32_t alive = 0, most = 0;
    memcpy(x->left, x->reads, x->fn->nvar * sizeof *x->left);
    for (uint32_t i = 0; i < x->n; i++) {
        const Apply *a = &x->fn->apply[order[i]];
        VarList in = apply_ins(x->fn, order[i]);
        for (size_t k = 0; k < in.n; k++)
            alive -= --x->left[in.p[k]] == 0 && !var_leaf(x->fn, in.p[k]);
        alive += a->nout;
        if (alive > most) most = alive;
        for (Var v = a->out; v < a->out + a->nout; v++)
            alive -= x->reads[v] == 0;
    }
    return most;
}

/* What is computed of the Apply's inputs, isn't listed yet and needs most registers. */
static ApplyId most_needing_input(const Schedule *x, ApplyId id) {
    VarList in = apply_ins(x->fn, id);
    ApplyId best = APPLY_NONE;
    uint32_t most = 0;
    for (size_t k = 0; k < in.n; k++) {
        ApplyId maker = var_owner(x->fn, in.p[k]);
        uint32_t need = maker == APPLY_NONE ? 0 : x->need[x->fn->apply[maker].out];
        if (need > most) most = need, best = maker;
    }
    return best;
}

/* While one input is computed, those before it keep a register each. */
static uint32_t registers_for(const Schedule *x, ApplyId id) {
    uint32_t most = 1, second = 0;
    VarList in = apply_ins(x->fn, id);
    for (size_t k = 0; k < in.n; k++) {
        ApplyId maker = var_owner(x->fn, in.p[k]);
        if (maker == APPLY_NONE) continue;
        uint32_t need = x->need[x->fn->apply[maker].out];
        if (need > second) second = need;
        if (second > most) second = most, most = need;
    }
    return second == most ? most + 1 : most;
}

static void list_behind_inputs(Schedule *x, ApplyId id) {
    x->stack[x->nstack++] = id;
    while (x->nstack > 0) {
        ApplyId top = x->stack[x->nstack - 1], next = most_needing_input(x, top);
        if (next != APPLY_NONE) {
            x->stack[x->nstack++] = next;
            continue;
        }
        x->need[x->fn->apply[top].out] = 0;
        x->listed[x->nlisted++] = top;
        x->nstack--;
    }
}

static bool is_read_here(const Schedule *x, ApplyId id) {
    const Apply *a = &x->fn->apply[id];
    for (Var v = a->out; v < a->out + a->nout; v++)
        if (x->reads[v]) return true;
    return false;
}

static void list_by_need(Schedule *x) {
    for (uint32_t i = 0; i < x->n; i++)
        x->need[x->fn->apply[x->given[i]].out] = registers_for(x, x->given[i]);
    for (uint32_t i = 0; i < x->n; i++)
        if (!is_read_here(x, x->given[i])) list_behind_inputs(x, x->given[i]);
}

void program_order(const Graph *fn, uint32_t n, ApplyId *order) {
    if (n <= ENOUGH_REGISTERS) return;
    Arena *a = arena_new(fn->s);
    Schedule x = {.fn = fn, .n = n, .given = order};
    x.reads = NEW_N(a, fn->nvar, uint32_t);
    x.left = NEW_N(a, fn->nvar, uint32_t);
    count_program_reads(&x);
    uint32_t most = most_alive(&x, order);
    if (most > ENOUGH_REGISTERS) {
        x.need = NEW_N(a, fn->nvar, uint32_t);
        x.listed = NEW_N(a, n, ApplyId);
        x.stack = NEW_N(a, n, ApplyId);
        list_by_need(&x);
        if (most_alive(&x, x.listed) < most) memcpy(order, x.listed, n * sizeof *order);
    }
    arena_free(a);
}
