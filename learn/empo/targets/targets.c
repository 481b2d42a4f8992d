#include "learn/empo/targets/targets.h"

/* Keeps logarithms and quotients finite. */
static const double floor_value = 1e-10;

void lud_empo_flatten(const lud_empo_transitions *transitions, lud_empo_flat *flat) {
    flat->n = flat->n_expanded = 0;
    for (int64_t transition = 0; transition < transitions->n; transition++)
        for (int64_t action = 0; action < transitions->n_actions; action++) {
            const int64_t slot = transition * transitions->n_actions + action;
            for (int32_t s = transitions->offsets[slot]; s < transitions->offsets[slot + 1]; s++) {
                if (!(transitions->probability[s] > 0.0)) continue;
                const int64_t row = flat->n++;
                flat->successor[row] = s;
                flat->slot[row] = (int32_t)slot;
                flat->probability[row] = (float)transitions->probability[s];
                for (int32_t e = transitions->entry_offsets[transition];
                     e < transitions->entry_offsets[transition + 1]; e++) {
                    const int64_t i = flat->n_expanded++;
                    flat->expanded_row[i] = (int32_t)row;
                    flat->entry[i] = e;
                    flat->expanded_slot[i] = (int32_t)slot;
                    flat->expanded_probability[i] = (float)transitions->probability[s];
                }
            }
        }
}

/* The power law with the factor of ln(-q): `factor`, or of each action its own in device memory. */
static void power_law(lud_device *device, int64_t n, int64_t n_actions, double factor, const float *factors,
                      const float *q, float *pi, float *scratch) {
    const lud_ops *ops = device->ops;
    const int64_t size = n * n_actions;
    ops->map(device, (lud_map){LUD_MAP_CLAMP, -1e30, -floor_value}, size, q, pi);
    ops->map(device, (lud_map){LUD_MAP_LOG_NEGATED, 0.0, 0.0}, size, pi, pi);
    if (factors) ops->scale_columns(device, n, n_actions, pi, factors, pi);
    ops->softmax(device, n, n_actions, factor, pi, NULL, pi);
    ops->map(device, (lud_map){LUD_MAP_CLAMP, floor_value, 1.0}, size, pi, pi);
    ops->sum_groups(device, n, n_actions, 1, 1.0, pi, scratch, false);
    ops->map(device, (lud_map){LUD_MAP_POWER, -1.0, 0.0}, n, scratch, scratch);
    ops->scale_rows(device, n, n_actions, pi, scratch, pi);
}

void lud_empo_policy(lud_device *device, int64_t n, int64_t n_actions, double beta, const float *q, float *pi,
                     float *scratch) {
    power_law(device, n, n_actions, -beta, NULL, q, pi, scratch);
}

void lud_empo_policy_by(lud_device *device, int64_t n, int64_t n_actions, const float *exponents,
                        const float *q, float *pi, float *scratch) {
    power_law(device, n, n_actions, 1.0, exponents, q, pi, scratch);
}

void lud_empo_state_value(lud_device *device, int64_t n, int64_t n_actions, const float *u_r, const float *pi,
                          const float *q, float *v, float *scratch) {
    const lud_ops *ops = device->ops;
    ops->multiply(device, n * n_actions, pi, q, scratch);
    ops->combine(device, n, 1.0, u_r, 0.0, NULL, v);
    ops->sum_groups(device, n, n_actions, 1, 1.0, scratch, v, true);
}

void lud_empo_intrinsic_reward(lud_device *device, int64_t n, int64_t n_humans, double xi, double eta,
                               const float *x_h, float *y, float *u, float *scratch) {
    const lud_ops *ops = device->ops;
    ops->map(device, (lud_map){LUD_MAP_POWER, -xi, 0.0}, n * n_humans, x_h, scratch);
    ops->sum_groups(device, n, n_humans, 1, 1.0 / (double)n_humans, scratch, y, false);
    ops->map(device, (lud_map){LUD_MAP_NEG_POWER, eta, 0.0}, n, y, u);
}

void lud_empo_x_h_targets(lud_device *device, int64_t n, double zeta, const float *weight, const float *v_h_e,
                          float *x) {
    device->ops->map(device, (lud_map){LUD_MAP_POWER, zeta, 0.0}, n, v_h_e, x);
    device->ops->multiply(device, n, weight, x, x);
}

void lud_empo_q_r_targets(lud_device *device, int64_t n, int64_t n_slots, double gamma_r, const int32_t *slot,
                          const float *probability, const float *v_r, float *q) {
    const lud_ops *ops = device->ops;
    ops->fill(device, n_slots, 0.0, q);
    ops->scatter_add(device, n, 1, n_slots, v_r, probability, slot, q);
    ops->map(device, (lud_map){LUD_MAP_AFFINE, gamma_r, 0.0}, n_slots, q, q);
}

void lud_empo_v_h_e_targets(lud_device *device, int64_t n_expanded, int64_t n_entries, double gamma_h,
                            const int32_t *entry, const int32_t *expanded_slot,
                            const float *expanded_probability, const float *achieved, const float *continues,
                            const float *pi, const float *v_h_e, float *v, float *scratch) {
    const lud_ops *ops = device->ops;
    float *value = scratch, *weight = scratch + n_expanded;
    /* value = achieved + (1 - achieved) gamma_h continues v */
    ops->map(device, (lud_map){LUD_MAP_AFFINE, -gamma_h, gamma_h}, n_expanded, achieved, weight);
    ops->multiply(device, n_expanded, weight, v_h_e, value);
    if (continues) ops->multiply(device, n_expanded, value, continues, value);
    ops->combine(device, n_expanded, 1.0, value, 1.0, achieved, value);
    ops->gather_rows(device, n_expanded, 1, pi, expanded_slot, weight);
    ops->multiply(device, n_expanded, weight, expanded_probability, weight);
    ops->fill(device, n_entries, 0.0, v);
    ops->scatter_add(device, n_expanded, 1, n_entries, value, weight, entry, v);
}
