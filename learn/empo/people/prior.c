#include "learn/empo/people/prior.h"

void lud_empo_prior_policy(const lud_empo_prior *prior, const lud_empo_features *features,
                           const uint8_t *state, int h, int goal, double *probability) {
    const lud_empo_layout *layout = &features->layout;
    if (prior->policy) {
        (void)lud_policy_distribution(prior->policy, state, layout->humans[h], goal, probability);
        return;
    }
    const lud_empo_reference *r = prior->reference;
    const uint32_t index = lud_statespace_find(r->space, state);
    const int n = layout->n_human_actions[h];
    for (int a = 0; a < n; a++) /* a start that the reference has not met: anything */
        probability[a] =
            index == UINT32_MAX
                ? 1.0 / n
                : r->records[index * (uint64_t)layout->record_doubles +
                             (uint64_t)(layout->policies + layout->policy_begin[h] + goal * n + a)];
}
