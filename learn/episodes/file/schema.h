/* What a data set says about itself, as text in its file: agents, actions and parts of observations. */
#pragma once

#include <jansson.h>

#include "learn/episodes/data_set.h"
#include "sim/scenario.h"

/* The info of what a scenario's world gives, in the arena: everything but path, policy and counts. */
lud_status lud_data_schema_of(const lud_scenario *scenario, lud_arena *arena, lud_data_info *info,
                              lud_error *error);
/* The names, types and shapes of parts of observations as a JSON array. */
json_t *lud_data_schema_parts(const lud_observation_part *parts, int n);
/* As JSON, to be freed; null when memory is out. */
char *lud_data_schema_write(const lud_data_info *info);
/* Fills n_agents, agents, actions, parts and state_bytes from JSON, checked; `path` is for messages. */
lud_status lud_data_schema_read(const char *text, const char *path, lud_arena *arena, lud_data_info *info,
                                lud_error *error);

/* "forward 3, left 1" from n rows of an agent's discrete actions: counts in the order of their first use; -1
 * is passed over. And for continuous ones their sums: "sums +1.25 -0.30". */
void lud_data_summarise_choices(const lud_data_info *info, int agent, const int32_t *actions, size_t stride,
                                int32_t n, lud_text *text);
void lud_data_summarise_moves(const lud_data_info *info, const float *actions, size_t stride, int32_t n,
                              lud_text *text);
