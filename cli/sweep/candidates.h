/* The points of a sweep as variants of an experiment. */
#pragma once

#include "cli/experiment/plan.h"
#include "cli/sweep/sweep.h"

enum { LUD_SWEEP_CANDIDATES = 4096 };

typedef struct lud_candidates {
    lud_experiment experiment;     /* of one scenario */
    const char *const *texts;      /* [variants][ranges] values as YAML */
    const char *const *short_keys; /* [ranges] as names of candidates have them */
    int n_repeated;                /* points that were there already and are left out */
} lud_candidates;

/* Points with the same values are one candidate. Its name is made of its values, so that another plan that
 * has it too finds its RUNs: `learning_rate-0.01__hidden_size-64`, or `settings-DIGITS` where they make no
 * name. Everything lies in the arena. */
lud_status lud_candidates_make(lud_arena *arena, const lud_sweep *sweep, lud_candidates *candidates,
                               lud_error *error);
/* Appends `learning_rate 0.01, hidden_size 64`. */
void lud_candidate_describe(const lud_candidates *candidates, int n_ranges, int variant, lud_text *out);
