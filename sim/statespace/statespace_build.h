/* What building a state space and guessing its size have in common; of use outside this folder is the memory
 * that is free. */
#pragma once

#include "sim/statespace/statespace.h"

/* Memory that this process may still take without swapping, bytes: what the machine and its control group
 * leave. */
uint64_t lud_free_memory(void);
/* The options' limit in bytes: as it is set, else three quarters of that. */
uint64_t lud_statespace_memory_limit(const lud_statespace_options *options);
/* Whether the model has an exact model with a finite number of joint actions; gives that number. */
lud_status lud_statespace_check(const lud_model *model, int32_t *n_joint_actions, lud_error *error);
/* The next joint action in the order of lud_joint_action_encode; after the last comes the first. */
void lud_joint_action_next(const lud_layout *layout, int32_t *joint_action);
