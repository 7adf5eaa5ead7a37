/* Turns the rows of a .def file into functions that know their loops, and Ops. A file
 * includes its rows twice, for the one and for the other. */
#ifndef OPS_ELEMWISE_TABLE_H
#define OPS_ELEMWISE_TABLE_H

#include "ops/elemwise/domain.h"

#define PROTO_(name, sfx, l, D) Loop LOOP_NAME(name, sfx, l);
#define CASE_(name, sfx, l, D)                                                         \
    case (l)*DT_N + DT_##D:                                                            \
        return LOOP_NAME(name, sfx, l);

#ifdef __x86_64__
#define EACH_LEVEL(domain, P, name)                                                    \
    EACH_##domain(P, name, 0) EACH_##domain(P, name, 1) EACH_##domain(P, name, 2)
#else
#define EACH_LEVEL(domain, P, name) EACH_##domain(P, name, 0)
#endif

/* Loops compiled at all levels, or at the baseline only. */
#define TABLE_LOOPS(domain, name)                                                      \
    EACH_LEVEL(domain, PROTO_, name)                                                   \
    PICK_(name, EACH_LEVEL(domain, CASE_, name))
#define TABLE_LOOPS_BASE(domain, name) PICK_(name, EACH_##domain(CASE_, name, 0))
#define PICK_(name, ...)                                                               \
    static Loop *pick_##name(DType from, DType to, int level) {                        \
        (void)to;                                                                      \
        switch (level * DT_N + (int)from) {                                            \
            __VA_ARGS__                                                                \
        default:                                                                       \
            return NULL;                                                               \
        }                                                                              \
    }

#define TABLE_OP(k, out, id, ...)                                                      \
    {.name = OP_ROW(#id),                                                              \
     .out_dtype = OUT_##out,                                                           \
     .pick = pick_##id,                                                                \
     .elemwise = true,                                                                 \
     .reuse = REUSE_##k,                                                               \
     __VA_ARGS__},
/* The output may reuse any input of the right size. */
#define REUSE_1    1
#define REUSE_2    3
#define REUSE_3    7
#define REUSE_4    15
#define REUSE_COND 7
#define OUT_PAIR   OUT_SAME /* with a typing rule */

/* The usual names of the inputs. */
#define X  .in = "x"
#define XY .in = "x, y"
/* Partial derivatives, one formula per input. */
#define D(...)                                                                         \
    .partial = (const char *const[]) {                                                 \
        __VA_ARGS__                                                                    \
    }

#endif
