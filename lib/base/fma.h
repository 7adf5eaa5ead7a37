/* Does a multiply-add round once at the CPU level that a file is compiled for? On
 * x86-64 above the baseline, on 64-bit Arm always. A file that defines ROUND_EACH has
 * the same bits at every level and on every machine: no multiply-add is fused. */
#ifndef BASE_FMA_H
#define BASE_FMA_H

#if !defined(ROUND_EACH) && (TL_LEVEL > 0 || defined(__ARM_FEATURE_FMA))
#define HAS_FMA 1
#else
#define HAS_FMA 0
#endif

#endif
