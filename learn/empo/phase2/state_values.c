#include "learn/empo/phase2/state_values.h"

#include <math.h>
#include <stdlib.h>

/* Host copies of one state's results; room for all of them in one piece. */
typedef struct scratch {
    int32_t *words; /* the state's record, then a goal for each person */
    float *reals;
} scratch;

static void fill(lud_empo_phase2_learner *l, const float *reals, double *record) {
    const lud_empo_layout *layout = &l->features.layout;
    const float *x_h = reals, *v_h_e = x_h + layout->n_humans, *q_r = v_h_e + layout->n_goals,
                *pi_r = q_r + layout->n_robot_actions, *rest = pi_r + layout->n_robot_actions;
    /* of U_r itself, without its weight in V_r */
    const double scale = l->values.reward_scale / lud_empo_reward_weight_of(&l->options.theory);
    record[layout->v_r] = (double)rest[0];
    record[layout->u_r] = scale * (double)rest[1];
    for (int h = 0; h < layout->n_humans; h++) record[layout->x_h + h] = (double)x_h[h];
    for (int g = 0; g < layout->n_goals; g++) {
        record[layout->v_h_e + g] = (double)v_h_e[g];
        record[layout->v_h_m + g] = NAN;
    }
    for (int a = 0; a < layout->n_robot_actions; a++) {
        record[layout->q_r + a] = (double)q_r[a];
        record[layout->pi_r + a] = (double)pi_r[a];
    }
}

lud_status lud_empo_state_values(lud_empo_phase2_learner *l, const uint8_t *state, double *record,
                                 lud_error *error) {
    const lud_empo_layout *layout = &l->features.layout;
    const size_t humans = (size_t)layout->n_humans, goals = (size_t)layout->n_goals,
                 actions = (size_t)layout->n_robot_actions, real = sizeof(float);
    scratch s = {.words = calloc((size_t)l->features.words + humans, sizeof(int32_t)),
                 .reals = calloc(2 * humans + goals + 2 * actions + 2, real)};
    lud_status status =
        s.words && s.reals ? LUD_OK : lud_fail(error, LUD_ERROR_MEMORY, "no memory for a state's values");
    if (status == LUD_OK) {
        const int32_t *const records[1] = {s.words}, *const own_goals[1] = {s.words + l->features.words};
        lud_profile *profile = l->values.profile;
        l->values.profile = NULL;
        lud_empo_features_encode(&l->features, state, s.words);
        status = lud_empo_values_run(&l->values, 1, records, own_goals, LUD_WANT_ALL,
                                     l->options.theory.beta_r, 0, error);
        if (status == LUD_OK) {
            float *q_r = s.reals + humans + goals, *pi_r = q_r + actions, *rest = pi_r + actions;
            lud_device_download(l->device, q_r, l->values.q_r, actions * real);
            lud_device_download(l->device, pi_r, l->values.pi_r, actions * real);
            lud_device_download(l->device, rest, l->values.v_r, real);
            lud_device_download(l->device, rest + 1, l->values.u_r, real);
            lud_device_download(l->device, s.reals, l->values.x_h, humans * real);
            status = lud_empo_values_power(&l->values, 1, records, 0, rest + 2, s.reals + humans, error);
            if (status == LUD_OK) fill(l, s.reals, record);
        }
        l->values.profile = profile;
    }
    for (int h = 0; status == LUD_OK && h < layout->n_humans; h++)
        for (int g = 0; g < layout->goal_begin[h + 1] - layout->goal_begin[h]; g++)
            lud_empo_prior_policy(&l->prior, &l->features, state, h, g,
                                  record + layout->policies + layout->policy_begin[h] +
                                      g * layout->n_human_actions[h]);
    free(s.words);
    free(s.reals);
    return status;
}
