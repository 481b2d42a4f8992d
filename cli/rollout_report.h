/* What a rollout measured, as a table and as JSON. */
#pragma once

#include <jansson.h>

#include "agents/rollout.h"

json_t *lud_mean_json(const lud_mean *mean);
/* The measures that the model has, as a table; nothing when it has none. */
void lud_rollout_print_measures(const lud_rollout *rollout);
/* The same by name. */
json_t *lud_rollout_measures_json(const lud_rollout *rollout);
