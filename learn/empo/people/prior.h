/* How people act, as far as the learners know: a policy, networks, or the exact solution. */
#ifndef LUDUS_LEARN_EMPO_PEOPLE_PRIOR_H
#define LUDUS_LEARN_EMPO_PEOPLE_PRIOR_H

#include "learn/empo/exact/reference.h"
#include "learn/empo/phase1/networks.h"

typedef struct lud_empo_prior {
    lud_policy *policy;                  /* null: exact */
    lud_empo_human_net *network;         /* behind the policy, to ask for many states at once; or null */
    const lud_empo_reference *reference; /* exact */
} lud_empo_prior;
/* probability[n_discrete] of person h (within the layout) with its goal. */
void lud_empo_prior_policy(const lud_empo_prior *prior, const lud_empo_features *features,
                           const uint8_t *state, int h, int goal, double *probability);

#endif
