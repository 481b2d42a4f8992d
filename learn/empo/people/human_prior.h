/* People learned by a run of empo-phase1 as the human prior of another learner:
 * `human_prior: {type: learned, run: FOLDER}`. */
#ifndef LUDUS_LEARN_EMPO_PEOPLE_HUMAN_PRIOR_H
#define LUDUS_LEARN_EMPO_PEOPLE_HUMAN_PRIOR_H

#include "learn/empo/phase1/networks.h"

/* Whether a human_prior's mapping asks for learned people. */
bool lud_empo_human_prior_is_learned(lud_tree *prior);
/* Opens the run that the mapping names (a path from the working directory) and makes a policy of it. The path
 * in the tree becomes an absolute one, so that what is written back can be read from anywhere. The policy
 * must be destroyed before the net is freed. */
lud_status lud_empo_human_prior_open(lud_arena *arena, lud_tree *prior, lud_device *device,
                                     const lud_model *model, lud_empo_human_net *net, lud_policy **policy,
                                     lud_error *error);

#endif
