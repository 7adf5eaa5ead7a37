/* The shortest path of steps, for the files that prepare and run them: a list of calls
 * whose arguments are the same pointers in every step, but for those to rows; cursors
 * go from row to row, and write where they are into the calls that read them. */
#ifndef VM_SCAN_QUICK_H
#define VM_SCAN_QUICK_H

#include "vm/scan.h"

typedef struct Cursor {
    char *at, *base;
    int64_t step, left, count; /* goes back to `base` after `left` steps, then after
                                * every `count` */
    bool turned;               /* it has */
} Cursor;
typedef enum QuickKind {
    QUICK_LOOP,
    QUICK_COPY,  /* n bytes */
    QUICK_FILL,  /* n elements of `size` bytes */
    QUICK_BLOCK, /* a block program; `folded`: its reduced output, or NULL */
    QUICK_REDO,  /* a kernel */
    QUICK_STEP   /* instruction n, as ever; its results are made[size] and on */
} QuickKind;
typedef struct QuickCall {
    QuickKind kind;
    uint32_t nin, size; /* QUICK_LOOP: bytes of all operands' elements, which are
                         * floats; 0: they aren't */
    size_t n;
    void **arg; /* inputs, then outputs */
    Loop *loop;
    const BlockProgram *prog;
    const Prep *prep;
    void *folded;
    Redo redo;
} QuickCall;
typedef struct Patch {
    void **to;
    uint32_t cursor; /* of a result: the next patch */
    int64_t offset;
} Patch;
/* A result of an instruction that runs as ever: it may be anywhere. */
typedef struct Made {
    uint32_t cell, patch; /* patch: the first one of those that read it, NONE */
    const Layout *layout;
} Made;
struct QuickSteps {
    uint32_t *of_cell, *of_place; /* cursors, NONE */
    size_t nplace;
    int64_t *view; /* by cell: bytes from what it views */
    bool viewed;   /* they are known */
    Vec(QuickCall) call;
    Vec(void *) arg;
    Vec(Patch) patch, later; /* of cursors; of what a step makes */
    Vec(Made) made;          /* numbered on from the cursors */
    Vec(Cursor) cursor;      /* of feeds, pasts, rows */
    Buffer *reg;             /* broadcast elements, and what is reduced */
    size_t used;             /* bytes of it */
    void **until;            /* NULL: runs all steps */
};

/* Where an operand is: at a pointer, or so far from a cursor. */
typedef struct Where {
    char *ptr;
    uint32_t cursor; /* NONE: it doesn't move */
    int64_t offset;
} Where;

static inline uint32_t cursor_of_row(const ScanRun *l, size_t i) {
    return (uint32_t)(l->nfeed + l->npast + i);
}

/* scan_quick_prepare.c: the calls, from the step at hand on. False: these steps can't
 * be run so. */
bool quick_prepare(ScanRun *l);
void quick_clear(QuickSteps *q); /* without calls */
/* A place moves with a row; a view with what it views. */
Where quick_where(const QuickSteps *q, const Machine *m, uint32_t cell);
Where quick_own_data(const Prep *p, uint32_t i); /* input i of a program, its own */

/* scan_quick.c: cursors go on by a step. */
void quick_advance(Cursor *c, size_t n);

/* scan_quick_share.c: after quick_prepare, n steps on several threads. False: they
 * aren't worth it, though some may have been taken. */
bool quick_share_steps(ScanRun *l, int64_t n, LoopProgress *shown, QuickEnd *end);

/* scan_quick_code.c: after that, up to n steps as machine code. False: there is none
 * for them. */
bool quick_code_steps(ScanRun *l, int64_t n, LoopProgress *shown, QuickEnd *end);

#endif
