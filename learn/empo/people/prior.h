/* How people act, as far as the learners know: a policy, networks, or the exact solution. */
#pragma once

#include "learn/empo/evaluation/reference.h"
#include "learn/empo/phase1/networks.h"

typedef struct lud_empo_prior {
    lud_policy *policy;                  /* null: exact */
    lud_empo_human_net *network;         /* behind the policy, for many states at once; or null */
    const lud_empo_reference *reference; /* exact */
} lud_empo_prior;

/* From what `human_prior` says: a policy that looks at the present state only (null: heuristic), or the
 * networks of a run of empo-phase1, `{type: learned, run: FOLDER}`, which fill `net`. The folder in the tree
 * becomes an absolute one, so that what is written back can be read from anywhere. `exact` is the caller's to
 * make. */
lud_status lud_empo_prior_open(lud_arena *arena, lud_tree *tree, const lud_scenario *scenario,
                               lud_device *device, lud_empo_human_net *net, lud_empo_prior *prior,
                               lud_error *error);
/* probability[n_discrete] of person h (within the layout) with its goal. */
void lud_empo_prior_policy(const lud_empo_prior *prior, const lud_empo_features *features,
                           const uint8_t *state, int h, int goal, double *probability);
