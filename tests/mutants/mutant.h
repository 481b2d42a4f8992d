/* What instrumented sources of the copy that tests/mutants/mutants.py makes begin with: which mutant is
 * switched on, and which functions with mutants were entered. */
#pragma once

#if defined(__cplusplus) || defined(LUD_MUTANTS_OFF) /* the emulation of CUDA stays as it is */
#define LUD_MUTANT(number) 0
#else
enum { LUD_MUTANTS_MOST = 1 << 16 };
extern int lud_mutant_active;
extern unsigned char lud_mutant_entered[LUD_MUTANTS_MOST];
#define LUD_MUTANT(number)                                                                                   \
    (lud_mutant_entered[number] = 1, __builtin_expect(lud_mutant_active == (number), 0))
#endif
