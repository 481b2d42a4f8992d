/* The trainings of support_golden.h. */
#pragma once

/* A scenario as text or a file, and what is set in it. */
typedef struct golden_case {
    const char *name, *text, *file, *set[16];
} golden_case;
extern const golden_case golden_cases[];
extern const int n_golden_cases;
