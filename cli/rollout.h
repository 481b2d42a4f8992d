/* Running the agents of a scenario in many environments for a number of episodes, and adding up what
 * happened. */
#ifndef LUDUS_CLI_ROLLOUT_H
#define LUDUS_CLI_ROLLOUT_H

#include "agents/policy.h"
#include "base/progress.h"
#include "sim/scenario.h"

/* Mean and spread of a stream of numbers (Welford, "Note on a method for calculating corrected sums of
 * squares and products", 1962). */
typedef struct lud_mean {
    double n, mean, squares;
} lud_mean;
void lud_mean_add(lud_mean *mean, double value);
/* Standard deviation of the numbers; 0 for fewer than two. */
double lud_mean_deviation(const lud_mean *mean);
struct json_t *lud_mean_json(const lud_mean *mean);

typedef struct lud_agent_result {
    lud_mean episode_return; /* sum of rewards of an episode */
    lud_mean goals;          /* goals reached in an episode */
    bool has_goals;
} lud_agent_result;

/* What a world itself counts in an episode. */
typedef struct lud_measure {
    const char *name, *help;
    lud_mean value;
} lud_measure;

typedef struct lud_rollout {
    int n_agents, n_envs;
    int64_t episodes; /* finished and counted */
    int64_t terminated, truncated;
    lud_mean length; /* steps of an episode */
    uint64_t steps;  /* environment steps taken */
    double seconds;
    lud_agent_result *agents; /* [n_agents] */
    int n_measures;        /* particle: success, fraction, collisions, error norm, return of every reward */
    lud_measure *measures; /* [n_measures] */
} lud_rollout;

/* Runs `episodes` whole episodes, each environment an equal share, so that long episodes count as often as
 * short ones; at most `max_steps` environment steps in all (0: no limit). On Ctrl-C returns LUD_INTERRUPTED
 * with what was finished. Free the result with lud_rollout_free in either case. */
lud_status lud_rollout_run(const lud_scenario *scenario, lud_cast *cast, int64_t episodes, uint64_t max_steps,
                           FILE *progress, lud_rollout *result, lud_error *error);
/* The measures as a table; nothing when there are none. */
void lud_rollout_print_measures(const lud_rollout *result);
/* The same by name. */
struct json_t *lud_rollout_measures_json(const lud_rollout *result);
void lud_rollout_free(lud_rollout *result);

#endif
