/* Orders of execution and the bytes alive in them: what order.c and order_search.c
 * share. A step is an instruction, by its place in the plan as it is given; a block is
 * storage for a result and all views of it, by the cell of that result. */
#ifndef VM_ORDER_H
#define VM_ORDER_H

#include "vm/vm_impl.h"

/* For each of some things a list of others: item[first[i] .. first[i + 1]). */
typedef struct Lists {
    uint32_t *first, *item;
} Lists;
#define EACH_ITEM(lists, i, x)                                                         \
    for (const uint32_t *x = (lists).item + (lists).first[i],                          \
                        *end_##x = (lists).item + (lists).first[(i) + 1];              \
         x < end_##x; x++)
typedef struct OrderGraph {
    Session *s;
    uint32_t nstep, nblock;
    Lists before, after; /* by step: steps that must have run before it, or run after */
    Lists reads, makes;  /* by step: blocks */
    Lists readers;       /* by block: steps, each once */
    Lists takes;         /* by step: pairs of blocks: one that it reads, and one of its
                          * results that may overwrite that one if it dies here */
    double *bytes;       /* by block; 0: none to count */
    bool *kept;          /* by block: until the run ends */
} OrderGraph;
/* The bytes that the step's results take over, if it runs where `dies` says which
 * blocks it is the last to read. */
double order_taken(const OrderGraph *g, uint32_t step,
                   bool (*dies)(const void *ctx, uint32_t block), const void *ctx);
/* Bytes alive before a step, and the most while it runs. Constants, inputs and shared
 * variables don't count. */
typedef struct Live {
    double before, most;
} Live;
/* live[nstep].before: at the end. */
void order_live(const OrderGraph *g, const uint32_t *order, Live *live);
/* No order has a lower one: what is kept, or what a step reads and makes. */
double order_bound(const OrderGraph *g);
/* order_search.c: an order with a lower peak, if a search finds one within a fixed
 * number of tries, so that a plan is the same each time. */
void order_search(const OrderGraph *g, uint32_t *order);

#endif
