/* Does a multiply-add round once at the CPU level that a file is compiled for? On
 * x86-64 above the baseline, on 64-bit Arm always. */
#ifndef OP_FMA_H
#define OP_FMA_H

#if TL_LEVEL > 0 || defined(__ARM_FEATURE_FMA)
#define HAS_FMA 1
#else
#define HAS_FMA 0
#endif

#endif
