/* What the files of this world share and others need not know. */
#pragma once

#include "sim/tribes/tribes.h"

/* lud_world's functions of the same names. */
lud_status lud_tribes_parse(const lud_world *world, lud_tree *root, const char *file, uint64_t seed,
                            lud_model **model, lud_error *error);
void lud_tribes_free(lud_model *model);
lud_status lud_tribes_write(const lud_model *model, lud_arena *arena, lud_tree *root, lud_error *error);
void lud_tribes_reset(const lud_model *model, lud_range range, uint8_t *states);
void lud_tribes_step(const lud_model *model, lud_range range, uint8_t *states, lud_actions actions,
                     lud_outcome outcome);
/* Fails with LUD_ERROR_LIMIT when chance can take more than 2^20 courses in the step. */
lud_status lud_tribes_successors(const lud_model *model, const uint8_t *state, const int32_t *joint_action,
                                 lud_successors *out, lud_error *error);
bool lud_tribes_is_terminal(const lud_model *model, const uint8_t *state);
lud_status lud_tribes_check_state(const lud_model *model, const uint8_t *state, lud_error *error);
bool lud_tribes_is_alive(const lud_model *model, const uint8_t *state, int agent);
void lud_tribes_observe(const lud_model *model, lud_range range, const uint8_t *states, void *const *parts);
void lud_tribes_measure(const lud_model *model, int n, const uint8_t *states, double *values);
void lud_tribes_describe(const lud_model *model, const uint8_t *state, lud_text *out);
void lud_tribes_describe_agent(const lud_model *model, const uint8_t *state, int agent, lud_text *out);
void lud_tribes_describe_team(const lud_model *model, int team, lud_text *out);

/* Describe the parts of observations and the measures in the layout; false when memory is out. */
bool lud_tribes_compile_observations(lud_tribes_model *m);
bool lud_tribes_compile_measures(lud_tribes_model *m);
