/* What a state brings along to the equations of exact EMPO, from the world and the hooks. */
#pragma once

#include "learn/empo/equations.h"
#include "learn/empo/exact/exact.h"

/* What the hooks say about the state with this number, and which goals it achieves (achieved[n_goals]); the
 * other arrays are filled where there is a hook, for states that are not terminal. `hooks` may be null. */
void lud_empo_state_inputs_fill(const lud_empo_problem *problem, const lud_empo_hooks *hooks, uint64_t index,
                                const uint8_t *state, bool terminal, uint8_t *achieved, double *habit,
                                double *belief, double *robot, lud_empo_state_inputs *inputs);
/* Whether habits count. */
static inline bool lud_empo_uses_habit(const lud_empo_problem *problem, const lud_empo_hooks *hooks) {
    return hooks && hooks->habit && problem->theory.nu_h > 0;
}
