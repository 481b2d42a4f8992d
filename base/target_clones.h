/* LUD_TARGET_CLONES: a function that the compiler makes once for each instruction set, of which the first
 * call picks the machine's. Sums stay in the order written, so its results are the same on all. */
#pragma once

/* Clang 14 has no such clones in C, and the sanitizers run before what picks them can. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&                \
    !defined(__clang__)
#define LUD_TARGET_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define LUD_TARGET_CLONES
#endif
