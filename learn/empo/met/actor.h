/* Environments that act by look-ahead over what was met: every state that somebody is in is expanded, and
 * robots follow pi_r of equations (4) and (5) there, or explore. */
#pragma once

#include "base/progress.h"
#include "learn/empo/memory/environments.h"
#include "learn/empo/met/asker.h"

typedef struct lud_empo_actor lud_empo_actor;

/* All of them outlive it. */
lud_status lud_empo_actor_create(const lud_empo_learner_options *options, lud_empo_asker *asker,
                                 uint64_t seed, lud_empo_actor **actor, lud_error *error);
/* Null is allowed. */
void lud_empo_actor_destroy(lud_empo_actor *actor);
/* One step of every environment. What does not fit makes the table forget; a state whose successors do not
 * fit even then is LUD_ERROR_LIMIT. No state is left marked. */
lud_status lud_empo_actor_step(lud_empo_actor *actor, const lud_empo_now *now, double tolerance,
                               lud_error *error);
/* Steps of single environments, episodes finished, those begun in a met state, goals achieved. */
typedef struct lud_empo_actor_counts {
    uint64_t steps, episodes, restarts, achieved;
} lud_empo_actor_counts;
lud_empo_actor_counts lud_empo_actor_get(const lud_empo_actor *actor);
void lud_empo_actor_visit(lud_empo_actor *actor, const char *prefix, lud_checkpoint *checkpoint);
