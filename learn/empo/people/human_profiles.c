#include "learn/empo/people/human_profiles.h"

/* own[n_profiles]: probability of person h's part of each profile under its marginal policy. */
static void own_parts(const lud_empo_features *f, const float *policies, int h, double *own) {
    const lud_empo_layout *layout = &f->layout;
    const int n = layout->n_human_actions[h], begin = layout->goal_begin[h],
              n_goals = layout->goal_begin[h + 1] - begin;
    const float *policy = policies + layout->policy_begin[h];
    for (int p = 0; p < layout->n_human_profiles; p++) {
        const int a = lud_empo_own_action(layout, h, p);
        double sum = 0;
        for (int g = 0; g < n_goals; g++) sum += f->goal_weight[begin + g] * (double)policy[g * n + a];
        own[p] = f->weight_sum[h] > 0 ? sum / f->weight_sum[h] : 1.0 / n;
    }
}

void lud_empo_people_profiles(const lud_empo_features *f, const float *policies, double *marginal,
                              double *pursuing, double *scratch) {
    const lud_empo_layout *layout = &f->layout;
    const int n_profiles = layout->n_human_profiles;
    for (int p = 0; p < n_profiles; p++) marginal[p] = 1.0;
    for (int h = 0; h < layout->n_humans; h++) {
        double *own = scratch + h * n_profiles;
        own_parts(f, policies, h, own);
        for (int p = 0; p < n_profiles; p++) marginal[p] *= own[p];
    }
    for (int h = 0; h < layout->n_humans; h++) {
        const int n = layout->n_human_actions[h];
        for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++) {
            const float *policy = policies + layout->policy_begin[h] + (g - layout->goal_begin[h]) * n;
            double *to = pursuing + g * n_profiles;
            for (int p = 0; p < n_profiles; p++) {
                to[p] = (double)policy[lud_empo_own_action(layout, h, p)];
                for (int other = 0; other < layout->n_humans; other++)
                    if (other != h) to[p] *= scratch[other * n_profiles + p];
            }
        }
    }
}

bool lud_empo_people_possible(const lud_empo_layout *layout, const float *policies, int profile) {
    for (int h = 0; h < layout->n_humans; h++) {
        const int n = layout->n_human_actions[h], n_goals = lud_empo_goals_of(layout, h);
        const float *policy = policies + layout->policy_begin[h];
        const int a = lud_empo_own_action(layout, h, profile);
        bool any = false;
        for (int g = 0; g < n_goals; g++) any |= policy[g * n + a] > 0.0f;
        if (!any) return false;
    }
    return true;
}
