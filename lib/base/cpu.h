/* Which instructions the CPU has and the operating system lets programs use:
 * CPU_HAS(AVX2). glibc knows, because it has asked for itself. To ask again costs
 * microseconds for each question in a virtual machine, and what compilers'
 * __builtin_cpu_supports needs is a dozen of them at every start. */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdbool.h>

#if defined(__x86_64__)
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif
#ifdef CPU_FEATURE_ACTIVE
#define CPU_HAS(NAME) cpu_has(x86_cpu_##NAME)
/* glibc's own function shifts a 1 into the sign, which sanitizers report. */
static inline bool cpu_has(unsigned feature) {
    const struct cpuid_feature *leaf = __x86_get_cpuid_feature_leaf(feature / 128);
    return leaf->active_array[feature % 128 / 32] >> feature % 32 & 1;
}
#else
#define CPU_HAS(NAME)         (__builtin_cpu_init(), __builtin_cpu_supports(CPU_NAME_##NAME))
#define CPU_NAME_AVX2         "avx2"
#define CPU_NAME_AVX512BW     "avx512bw"
#define CPU_NAME_AVX512CD     "avx512cd"
#define CPU_NAME_AVX512DQ     "avx512dq"
#define CPU_NAME_AVX512F      "avx512f"
#define CPU_NAME_AVX512VL     "avx512vl"
#define CPU_NAME_AVX512_BF16  "avx512bf16"
#define CPU_NAME_AVX512_VBMI2 "avx512vbmi2"
#define CPU_NAME_BMI1         "bmi"
#define CPU_NAME_BMI2         "bmi2"
#define CPU_NAME_FMA          "fma"
#define CPU_NAME_SSE4A        "sse4a"
/* not all compilers have names for what comes with AVX2 in every CPU so far */
#define CPU_NAME_F16C         "avx2"
#define CPU_NAME_LZCNT        "avx2"
#define CPU_NAME_MOVBE        "avx2"
#endif
/* Only AMD's have it. */
#define CPU_IS_AMD() CPU_HAS(SSE4A)
#else
#define CPU_IS_AMD() false
#endif

#endif
