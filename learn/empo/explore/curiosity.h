/* What draws the environments of the neural EMPO learner to states and actions that are new: visits counted
 * by state and action, random network distillation (learn/empo/explore/novelty.h), or both, as one weighted
 * bonus. */
#pragma once

#include "learn/empo/explore/novelty.h"
#include "learn/empo/networks/table.h"

typedef struct lud_empo_curiosity lud_empo_curiosity;

/* For n_envs states at once, as the options say; with the novelty (null without use_rnd). All must outlive
 * it. Null when memory is out. */
lud_empo_curiosity *lud_empo_curiosity_create(const lud_empo_learner_options *options,
                                              lud_empo_novelty *novelty, const lud_empo_features *features,
                                              int n_envs);
/* Null is allowed. */
void lud_empo_curiosity_destroy(lud_empo_curiosity *curiosity);
/* Whether robots prefer what is new, and people; successors need lud_empo_curiosity_evaluate_states. */
bool lud_empo_curiosity_of_robots(const lud_empo_curiosity *curiosity);
bool lud_empo_curiosity_of_people(const lud_empo_curiosity *curiosity);
bool lud_empo_curiosity_needs_novelty(const lud_empo_curiosity *curiosity);

/* Counts a state, and an action of person h in it; only with the count bonus. False when memory is out. */
bool lud_empo_curiosity_count_state(lud_empo_curiosity *curiosity, const int32_t *record);
bool lud_empo_curiosity_count_action(lud_empo_curiosity *curiosity, const int32_t *record, int h, int action);
/* Different states counted; 0 without the count bonus. */
int64_t lud_empo_curiosity_states(const lud_empo_curiosity *curiosity);

/* Finds the bonuses of all people's actions in records[n_envs], after `steps` steps of environments in all;
 * then those of a person in state e, one for each action. */
void lud_empo_curiosity_measure_people(lud_empo_curiosity *curiosity, const int32_t *const *records,
                                       uint64_t steps);
const float *lud_empo_curiosity_of_actions(const lud_empo_curiosity *curiosity, int e, int h);

/* Evaluates successors before their bonuses are read: a list for records[n] of pointers to be filled, then
 * the evaluation itself. Null when memory is out. */
const int32_t **lud_empo_curiosity_reserve(lud_empo_curiosity *curiosity, int n);
void lud_empo_curiosity_evaluate_states(lud_empo_curiosity *curiosity, int n);
/* Bonus of a successor, which was number i of them (not read without novelty). */
double lud_empo_curiosity_of_state(const lud_empo_curiosity *curiosity, const int32_t *record, int i,
                                   uint64_t steps);

/* What was counted: tables `prefix`seen and `prefix`done. */
void lud_empo_curiosity_visit(lud_empo_curiosity *curiosity, const char *prefix, lud_checkpoint *checkpoint);
