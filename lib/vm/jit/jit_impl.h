/* What the files share that make machine code of block programs: a run of ops that
 * becomes a loop, and what is known while its code is put together. */
#ifndef VM_JIT_IMPL_H
#define VM_JIT_IMPL_H

#include "vm/jit/asm.h"
#include "vm/vm_impl.h"

#if HAS_ASM

#define NO_LOOP SIZE_MAX

typedef struct Coded {
    const char *name;
    AsmOp op;
} Coded;

typedef struct Operands {
    uint32_t n, slot[ASM_POINTERS], value[ASM_POINTERS];
} Operands;
typedef struct Run {
    BlockProgram *b;
    uint32_t from, to;
    size_t loop, past, nest;   /* offsets in the code, or NO_LOOP */
    bool single[ASM_POINTERS]; /* of `nest` or columns, by input: a single element */
    bool adds;                 /* its results are added to sums */
    bool columns, turned;      /* of columns, along the dim before the last one */
    bool steps;                /* of a loop, on single elements */
    Operands in, out;
    Operands once,
        end; /* of steps: loaded before the first one, stored after the last */
} Run;
enum { CONSTANTS = 6 }; /* of a run */
typedef struct Coder {
    Plan *p;
    Asm a;
    Vec(Run) runs;
    BlockProgram *b;
    bool parts; /* its instruction reads parts of arrays, or writes one */
    bool bools; /* a mask may be a result, as a bool: of steps */
    Arena *tmp;
    uint32_t *last;       /* by value: the last op that reads it, NONE */
    uint32_t *here;       /* by value: the last one in the run */
    uint32_t *made;       /* by value: the run whose ops make it */
    uint32_t nrun;        /* numbers the runs that were tried */
    uint32_t full;        /* the first op whose operands such a run has no room for */
    int8_t *reg;          /* by value, -1 */
    const Coded **coded;  /* by op, NULL */
    unsigned free, fixed; /* sets of vector registers; fixed: of constants, sums */
    int nconstant;
    int sum, nsum; /* the first register with sums, those with sums */
    struct {
        uint64_t bits;
        size_t at;
        int reg;
    } constant[CONSTANTS];
} Coder;

static inline const Type *jit_type(const BlockProgram *b, uint32_t value) {
    return var_type(b->g, b->var[value]);
}

static inline const Type *jit_result_type(const BlockProgram *b) {
    return jit_type(b, b->out_value[0]);
}

/* The dtype of the vectors of op k; DT_BOOL: of any masks. */
static inline DType jit_op_dtype(const BlockProgram *b, uint32_t k) {
    const BlockOp *op = &b->op[k];
    DType d = jit_type(b, b->value[op->arg + op->nin])->dtype;
    for (uint32_t i = 0; d == DT_BOOL && i < op->nin; i++)
        d = jit_type(b, b->value[op->arg + i])->dtype;
    return d;
}

/* The bytes of their elements. */
static inline size_t jit_op_size(const BlockProgram *b, uint32_t k) {
    return dtype_size(jit_op_dtype(b, k));
}

/* Can op k be in a run that begins with op `from`? */
static inline bool jit_fits(const BlockProgram *b, uint32_t from, uint32_t k) {
    return jit_op_dtype(b, k) == DT_BOOL || jit_op_size(b, k) == jit_op_size(b, from);
}

/* A constant of a single element that the function holds, or NULL. */
static inline const Tensor *jit_constant(const BlockProgram *b, uint32_t value) {
    const Tensor *t =
        value < b->nin && value >= b->nplain ? var_const(b->g, b->var[value]) : NULL;
    return t && tensor_size(t) == 1 ? t : NULL;
}

static inline bool jit_is_output(const BlockProgram *b, uint32_t slot) {
    return slot >= b->nin && slot < b->nin + b->nout;
}

/* Before a question about op k, or its code. */
void jit_set_kind(Coder *c, uint32_t k);

/* ---- body.c, in this order ---- */
/* Registers for the constants of a run; false: its ops need too many. */
bool jit_take_constants(Coder *c, const Run *r);
/* What its loop reads and writes in memory; false: too much. */
bool jit_take_operands(Coder *c, Run *r);
void jit_spread_constants(Coder *c); /* into their registers */
/* The ops for one step of the loop; false: they need more registers. Loads inputs at
 * their first read and stores results where they are computed, in program order, on
 * which the sharing of storage relies. sum: where r->adds, the first of the sums to
 * which results are added; of columns, the row. */
bool jit_emit_body(Coder *c, const Run *r, bool past, int *sum);

/* ---- sums.c ---- */
/* Is the only result read by nothing but a sum? */
bool jit_is_summed(const BlockProgram *b);
/* Loops that sum what the ops from `from` to the last one make, and columns of the
 * whole program's result, where they can be. */
void jit_code_sums(Coder *c, uint32_t from);
/* In a body: adds a result to sums. */
void jit_emit_sum(Coder *c, const Run *r, int result, int *sum);
/* What follows output 0 of a loop that sums columns. */
uint32_t jit_column_word(const Run *r, ColumnWord what);

/* ---- steps.c ---- */
/* Is a program whose values are single elements all that a step of a loop computes? */
bool jit_is_step(const Plan *p);
void jit_code_steps(Coder *c); /* the whole program, once more: as steps */

/* ---- jit.c ---- */
/* By the types, has the input one element along the last dim of the result, or the one
 * before that: back 1, 2? */
bool jit_is_single(const BlockProgram *b, uint32_t value, int back);
/* Does the program broadcast, with rows that are long enough, or columns, where they
 * are the rows of what is turned? */
bool jit_has_rows(const BlockProgram *b, bool turned);

#endif
#endif
