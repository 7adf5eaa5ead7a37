/* Turns the rows of a .def file into Loops and Ops. A file includes its rows twice:
 * between LOOPS_ROWS and after OP_ROWS. */
#ifndef OPS_ELEMWISE_TABLE_H
#define OPS_ELEMWISE_TABLE_H

#include "ops/elemwise/domain.h"

#define PROTO_(name, sfx, l, D) Loop LOOP_NAME(name, sfx, l);
#define ENTRY_(name, sfx, l, D) [DT_##D] = LOOP_NAME(name, sfx, l),

#ifdef __x86_64__
#define EACH_LEVEL(domain, P, name)                                                    \
    EACH_##domain(P, name, 0) EACH_##domain(P, name, 1) EACH_##domain(P, name, 2)
#define LEVEL_TABLES(domain, name)                                                     \
    {EACH_##domain(ENTRY_, name, 0)}, {EACH_##domain(ENTRY_, name, 1)}, {              \
        EACH_##domain(ENTRY_, name, 2)                                                 \
    }
#else
#define EACH_LEVEL(domain, P, name) EACH_##domain(P, name, 0)
#define LEVEL_TABLES(domain, name)                                                     \
    { EACH_##domain(ENTRY_, name, 0) }
#endif

/* Loops compiled at all levels, or at the baseline only. */
#define TABLE_LOOPS(domain, name)                                                      \
    EACH_LEVEL(domain, PROTO_, name)                                                   \
    static const Loops loops_##name = {.at = {LEVEL_TABLES(domain, name)}};
#define TABLE_LOOPS_BASE(domain, name)                                                 \
    static const Loops loops_##name = {.at = {{EACH_##domain(ENTRY_, name, 0)}}};

#define TABLE_OP(k, out, id, ...)                                                      \
    {.name = OP_ROW(#id),                                                              \
     .out_dtype = OUT_##out,                                                           \
     .loops = &loops_##id,                                                             \
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
