/* Names in files that are compiled for each level of the CPU, TL_LEVEL: where that is
 * 2, LEVEL(gemv_loops) is gemv_loops2. FOR_CPU_LEVEL of base/session.h chooses among
 * them. */
#ifndef BASE_LEVEL_H
#define BASE_LEVEL_H

#define JOIN2(a, b) a##b
#define JOIN1(a, b) JOIN2(a, b)
#define LEVEL(name) JOIN1(name, TL_LEVEL)

#endif
