/* Shared by by_rows.c and by_rows_threads.c. */
#ifndef VM_BY_ROWS_H
#define VM_BY_ROWS_H

#include "vm/vm_impl.h"

/* Where a block writes an output; data NULL: in storage of the machine's own. */
typedef struct Aim {
    char *data;
    size_t bytes;
} Aim;
struct RowsBlock {
    const Layout **in; /* by input: for which it was chosen */
    uint64_t chosen;   /* how often */
    int64_t rows;
    const Layout **whole; /* by output: of all rows; NULL: its shape is not known */
    Aim *aim;             /* by output, of the current block */
    bool ran;             /* the function's machine has */
    bool alone;           /* blocks can't be shared by threads */
    struct RowsThreads *threads; /* NULL: they have not been */
};
/* A call, by one of the machines that compute blocks of it. */
typedef struct RowsRun {
    Machine *m, *sub;
    uint32_t step;
    const Ins *in;
    const uint32_t *arg;
    RowsBlock *block; /* how it is cut */
    Aim *aim;
    int64_t rows;
} RowsRun;

/* The n rows from `at` on, along an axis. */
void rows_take(Tensor *t, int64_t axis, int64_t at, int64_t n);
/* Finds where a block writes its results, and lets the machine's places lead there. */
void rows_aim(const RowsRun *w, int64_t at, int64_t n);
void rows_point(const RowsRun *w);
void rows_free_places(const RowsRun *w); /* they lead nowhere then */
/* Puts rows of an output where they belong, unless they were written there. */
void rows_place(const RowsRun *w, uint32_t k, const Tensor *t, int64_t at, int64_t n);
/* Adds a sum to that of the blocks before; at == 0: it is the first. */
bool rows_add(const RowsRun *w, uint32_t k, const Tensor *t, int64_t at);

/* by_rows_threads.c: computes whole blocks from row `from` on on several threads, if
 * that is possible. Returns the row up to which that was done, `from` if it wasn't. */
int64_t rows_share(const RowsRun *w, int64_t from);
void rows_threads_free(struct RowsThreads *q); /* NULL is allowed */
size_t rows_threads_bytes(const struct RowsThreads *q);

#endif
