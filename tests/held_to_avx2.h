/* For tests of known bytes of real numbers, which are those of AVX2 and FMA, in Ludus and in oneDNN. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <dnnl.h>

/* Holds oneDNN to AVX2, before its first call. What keeps this processor, or oneDNN, from it; null: nothing.
 */
static inline const char *held_to_avx2(void) {
#if defined(__x86_64__)
    setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
    setenv("DNNL_MAX_CPU_ISA", "AVX2", 1);
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return "the values are those of AVX2 and FMA, which this processor has not";
    if (dnnl_get_effective_cpu_isa() != dnnl_cpu_isa_avx2) return "oneDNN cannot be held to AVX2 here";
    return NULL;
#else
    return "the values are those of x86-64 with AVX2";
#endif
}
