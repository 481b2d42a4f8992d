/* Put before every source of the instrumented copy that tests/mutants/mutants.py makes: which of its mutants
 * is switched on, and which functions with mutants were entered. */
#pragma once

#ifdef __cplusplus
#define LUD_MUTANT(number) 0 /* the emulation of CUDA stays as it is */
#else
enum { LUD_MUTANTS_MOST = 1 << 16 };
extern int lud_mutant_active;
extern unsigned char lud_mutant_entered[LUD_MUTANTS_MOST];
#define LUD_MUTANT(number)                                                                                   \
    (lud_mutant_entered[number] = 1, __builtin_expect(lud_mutant_active == (number), 0))
#endif
