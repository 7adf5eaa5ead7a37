/* The dtypes for which a row of elementwise ops has loops, and the names of those
 * loops. Included both where loops are compiled (loops.h) and where they are listed
 * (table.h), so that the two cannot differ.
 *
 * A row of a .def file is
 *     ROW(inputs, OUT, name, DOMAIN, (kernels), facts...)
 * with one kernel, a C expression in x (y, z, w), for each letter of DOMAIN:
 * - B: bool; x is unsigned, 0 or 1
 * - W: all integers, by wrapping; x is unsigned, of at least 32 bits; the result is cut
 *   to size
 * - I: all integers; x has the dtype's own type
 * - S: signed integers, U: unsigned ones, where they differ
 * - F: float32 and float64; float16 is computed in float32 and rounded once
 * - P: as F, with three expressions: the kernel, the arguments for which it doesn't
 *   hold, and the kernel for those
 * - A: as P, with two expressions more after the kernel: arguments for which it doesn't
 *   hold either, and the kernel for those, by vectors
 * - E: as P, with another expression before these: of x, what the kernel takes as b
 * - V: as F, and by wide_NAME of vmath512.h where the CPU has AVX-512
 * - N: as P, where the last kernel holds for all arguments, and by wide_NAME
 * - Q: as S and U, with an expression for each in x and y, and QUICK_name(q, x, y), the
 *   same in float64 from the rounded down quotient q, where that is exact
 * - H: as SU, and by SAME_name(X, x, y) where all y of a block are the same
 * - C: complex64 and complex128
 * - D: as C, and by NAME of complex256.h where the CPU has AVX2, but not AVX-512
 * - K: as C, by NAME_parts of vmath_complex.h; the kernel for what that leaves
 *
 * OUT is SAME, BOOL or REAL: the dtype of the result (OUT_SAME, ...). T is the type of
 * x in a kernel. A kernel may set bits of `fault`. */
#ifndef OPS_ELEMWISE_DOMAIN_H
#define OPS_ELEMWISE_DOMAIN_H

#include "op/op.h"

/* loop_add_f32_2: the loop of add for float32 at level 2. */
#define LOOP_NAME_(name, sfx, level) loop_##name##_##sfx##_##level
#define LOOP_NAME(name, sfx, level)  LOOP_NAME_(name, sfx, level)

/* EACH_x(P, name, level): P(name, sfx, level, DTYPE) for each loop of a domain. W
 * shares one loop between an unsigned dtype and the signed one of its size. */
#define EACH_B(P, name, l) P(name, b, l, BOOL)
#define EACH_S(P, name, l)                                                             \
    P(name, i8, l, INT8)                                                               \
    P(name, i16, l, INT16) P(name, i32, l, INT32) P(name, i64, l, INT64)
#define EACH_U(P, name, l)                                                             \
    P(name, u8, l, UINT8)                                                              \
    P(name, u16, l, UINT16) P(name, u32, l, UINT32) P(name, u64, l, UINT64)
#define EACH_W(P, name, l)                                                             \
    EACH_U(P, name, l)                                                                 \
    P(name, u8, l, INT8)                                                               \
    P(name, u16, l, INT16) P(name, u32, l, INT32) P(name, u64, l, INT64)
#define EACH_I(P, name, l) EACH_S(P, name, l) EACH_U(P, name, l)
#define EACH_F(P, name, l)                                                             \
    P(name, f16, l, FLOAT16) P(name, f32, l, FLOAT32) P(name, f64, l, FLOAT64)
#define EACH_C(P, name, l) P(name, c64, l, COMPLEX64) P(name, c128, l, COMPLEX128)

#define EACH_H(P, name, l) EACH_SU(P, name, l)
#define EACH_K(P, name, l) EACH_C(P, name, l)
#define EACH_D(P, name, l) EACH_C(P, name, l)
#define EACH_P(P, name, l) EACH_F(P, name, l)
#define EACH_A(P, name, l) EACH_F(P, name, l)
#define EACH_V(P, name, l) EACH_F(P, name, l)
#define EACH_N(P, name, l) EACH_F(P, name, l)
#define EACH_M(P, name, l)                                                             \
    EACH_BW(P, name, l)                                                                \
    EACH_C(P, name, l)                                                                 \
    P(name, u16, l, FLOAT16) P(name, f32, l, FLOAT32) P(name, f64, l, FLOAT64)

#define EACH_BW(P, n, l)   EACH_B(P, n, l) EACH_W(P, n, l)
#define EACH_BI(P, n, l)   EACH_B(P, n, l) EACH_I(P, n, l)
#define EACH_SU(P, n, l)   EACH_S(P, n, l) EACH_U(P, n, l)
#define EACH_IF(P, n, l)   EACH_I(P, n, l) EACH_F(P, n, l)
#define EACH_PC(P, n, l)   EACH_P(P, n, l) EACH_C(P, n, l)
#define EACH_VC(P, n, l)   EACH_V(P, n, l) EACH_C(P, n, l)
#define EACH_VK(P, n, l)   EACH_V(P, n, l) EACH_K(P, n, l)
#define EACH_FK(P, n, l)   EACH_F(P, n, l) EACH_K(P, n, l)
#define EACH_FC(P, n, l)   EACH_F(P, n, l) EACH_C(P, n, l)
#define EACH_FD(P, n, l)   EACH_F(P, n, l) EACH_D(P, n, l)
#define EACH_WFC(P, n, l)  EACH_W(P, n, l) EACH_FC(P, n, l)
#define EACH_WFD(P, n, l)  EACH_W(P, n, l) EACH_FD(P, n, l)
#define EACH_BWFD(P, n, l) EACH_BW(P, n, l) EACH_FD(P, n, l)
#define EACH_SUF(P, n, l)  EACH_SU(P, n, l) EACH_F(P, n, l)
#define EACH_SUFC(P, n, l) EACH_SUF(P, n, l) EACH_C(P, n, l)
#define EACH_SUP(P, n, l)  EACH_SUF(P, n, l)
#define EACH_SUEK(P, n, l) EACH_SUFC(P, n, l)
#define EACH_QP(P, n, l)   EACH_SUF(P, n, l)
#define EACH_BIF(P, n, l)  EACH_BI(P, n, l) EACH_F(P, n, l)
#define EACH_BIFC(P, n, l) EACH_BIF(P, n, l) EACH_C(P, n, l)
#define EACH_BWFC(P, n, l) EACH_BW(P, n, l) EACH_FC(P, n, l)
#define EACH_BSU(P, n, l)  EACH_B(P, n, l) EACH_SU(P, n, l)

/* M(a, b) for arguments that expand to several. */
#define SPREAD(M, ...) M(__VA_ARGS__)
#define COLUMNS(...)   __VA_ARGS__

#endif
