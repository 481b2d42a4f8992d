/* Learner `proof-ppo`: proximal policy optimisation (Schulman et al., 2017) of a policy that searches for
 * proofs over a knowledge graph (networks.h), with ranking of validation queries while it learns
 * (ranking.h). */
#pragma once

#include "learn/learner.h"
#include "learn/policy_gradient/update.h"
#include "learn/proof_ppo/evaluation/evaluation.h"
#include "learn/proof_ppo/head.h"
#include "learn/proof_ppo/rollout.h"
#include "learn/proof_ppo/update.h"

extern const lud_learner_kind lud_learner_proof_ppo;

/* Where the time of an iteration goes. */
enum {
    LUD_PROOF_STAGE_EXPAND,
    LUD_PROOF_STAGE_ROLLOUT_NET, /* choices included */
    LUD_PROOF_STAGE_RECORD,
    LUD_PROOF_STAGE_UPDATE_NET, /* losses included */
    LUD_PROOF_STAGE_STEP,
    LUD_PROOF_STAGE_RANK,
    LUD_PROOF_STAGES
};

/* Where in the progress of an iteration its parts begin; before the first one untrained weights are ranked.
 */
#define LUD_PROOF_ROLLOUT_BEGINS 0.1
#define LUD_PROOF_UPDATE_BEGINS  0.3
#define LUD_PROOF_RANKING_BEGINS 0.9

/* The parts of a learner, for its own files and tests. */
struct lud_proof_learner_state {
    lud_learner base;
    lud_arena *arena; /* of the options' texts */
    lud_arrays arrays;
    const lud_scenario *scenario;
    const lud_proof_model *model;
    lud_device *device;
    lud_proof_ppo_options options;
    lud_parameters *parameters, *best;
    lud_proof_net *net;
    lud_proof_head head;
    lud_optimiser *optimiser;
    lud_update update;
    int value_group, group; /* of the update; value_group -1: all parameters are in one */
    lud_proof_batch *batch;
    uint8_t *snapshot;
    lud_proof_ranker *ranker;
    lud_proof_ranking_query *ranking; /* [n_ranked] */
    int32_t n_ranked;
    lud_schedule rate, entropy;
    lud_profile profile;
    double rollout_flops, update_flops; /* of matrix products */

    /* one rollout: decisions t * n_envs + slot, and one more row for the value behind the end */
    lud_proof_decisions decisions;
    int32_t n_envs, n_steps, n_samples;
    int32_t *action;
    float *log_prob, *value, *reward, *mask, *advantage, *returns; /* value, mask: n_steps + 1 rows */
    float *workspace;                                              /* of the device, for returns */
    double *uniform;                                               /* [n_envs] */
    int32_t *order;                                                /* [n_samples] of a minibatch */

    uint64_t iteration, env_steps;
    double best_mrr;
};

/* Looking into a learner of this kind; all belongs to it. `best`: run the network with the weights that
 * ranked best so far (when evaluation.keep_best is on), else with the present ones. */
lud_proof_net *lud_proof_ppo_net(lud_learner *learner, bool best);
const lud_proof_ppo_options *lud_proof_ppo_get_options(const lud_learner *learner);
const lud_proof_model *lud_proof_ppo_model(const lud_learner *learner);
/* Plays the steps of one rollout, as an iteration does, and learns nothing from them: to time them. It
 * ends early when it is interrupted. */
void lud_proof_ppo_rollout(lud_learner *learner);
/* For tests: device work is called operation by operation. */
void lud_proof_ppo_never_record(lud_learner *learner, bool never);
/* Pieces of device work so far (learn/nn/capture.h): runs of the network, on CUDA with choices and losses
 * (head.h), and steps of the optimiser. */
void lud_proof_ppo_pieces(const lud_learner *learner, uint64_t *n, uint64_t *n_replayed);
