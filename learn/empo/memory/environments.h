/* What the environments of both EMPO learners have in common (learn/empo/phase2/rollout.h,
 * learn/empo/phase1/phase1.h): states, ticks, records and the goals that people pursue, side by side.
 *
 * They are not a lud_batch (sim/batch.h): episodes begin in archived states, end where the learner says, and
 * the next state of phase 2 is drawn from the successors that it lists anyway. */
#pragma once

#include "base/arena.h"
#include "learn/empo/memory/features.h"
#include "learn/store/checkpoint.h"

/* What a goal is drawn for: one number each, so that draws are independent. */
enum {
    LUD_EMPO_GOAL_AT_START,
    LUD_EMPO_GOAL_AFTER_ACHIEVEMENT,
    LUD_EMPO_GOAL_AT_RANDOM,
    LUD_EMPO_GOAL_ANEW /* in every step, apart from the behaviour */
};

typedef struct lud_empo_environments {
    const lud_empo_features *features;
    const lud_model *model;
    uint64_t seed;
    int n;
    uint8_t *states;       /* [n][state_bytes] */
    uint32_t *tick;        /* [n] */
    int64_t *episode_step; /* [n] */
    int32_t *goals;        /* [n][n_humans] */
    int32_t *records;      /* [n][words] of the states when they were encoded last */
} lud_empo_environments;

/* n environments with memory of the arena; no episode has begun. False when memory is out. */
bool lud_empo_environments_create(lud_arena *arena, const lud_empo_features *features, const lud_model *model,
                                  uint64_t seed, int n, lud_empo_environments *environments);
/* A goal for person h of environment e, by weight. */
int lud_empo_environments_goal(const lud_empo_environments *environments, int e, int h, uint32_t purpose);
static inline uint8_t *lud_empo_environments_state(const lud_empo_environments *v, int e) {
    return v->states + (size_t)e * v->model->layout.state_bytes;
}
/* After a step of environment e: counts it and encodes the state. */
int32_t *lud_empo_environments_advance(lud_empo_environments *environments, int e);
/* Then: who has achieved a goal gets another one, and with chance `resample` everybody does. Returns how many
 * were achieved. */
int lud_empo_environments_renew_goals(lud_empo_environments *environments, int e, double resample);
/* Whether its episode ends there: after `limit` steps (0: none), or because the world does. */
bool lud_empo_environments_over(const lud_empo_environments *environments, int e, int64_t limit);
/* Begins an episode: step 0, new goals. And where the world begins it; its caller may know another state. */
void lud_empo_environments_begin(lud_empo_environments *environments, int e);
void lud_empo_environments_reset(lud_empo_environments *environments, int e);
/* Encodes the state of environment e, and those of all. */
int32_t *lud_empo_environments_encode(lud_empo_environments *environments, int e);
void lud_empo_environments_encode_all(lud_empo_environments *environments);
/* An error when some state is terminal, after all episodes have begun for the first time. */
lud_status lud_empo_environments_check(const lud_empo_environments *environments, lud_error *error);
/* Makes loading fail when states[n] that were read as `name` are none of the model, or the world ends there.
 */
void lud_empo_check_states(const lud_model *model, int64_t n, const uint8_t *states, const char *name,
                           lud_checkpoint *checkpoint);
/* Makes loading fail when there is a debt of training steps, or more of them than can be. */
void lud_empo_check_credit(lud_checkpoint *checkpoint, double credit);
/* Tensors states, tick, episode_step, goals under `prefix`. */
void lud_empo_environments_visit(lud_empo_environments *environments, const char *prefix,
                                 lud_checkpoint *checkpoint);
