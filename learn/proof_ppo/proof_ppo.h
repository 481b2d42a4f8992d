/* Learner `proof-ppo`: proximal policy optimisation (Schulman et al., 2017) of a policy that searches for
 * proofs over a knowledge graph (proof_net.h), with ranking of validation queries while it learns
 * (ranking.h). */
#ifndef LUDUS_LEARN_PROOF_PPO_PROOF_PPO_H
#define LUDUS_LEARN_PROOF_PPO_PROOF_PPO_H

#include "learn/learner.h"
#include "learn/proof_ppo/ranking.h"

extern const lud_learner_kind lud_learner_proof_ppo;

/* Looking into a learner of this kind; all belongs to it. `best`: run the network with the weights that
 * ranked best so far (when evaluation.keep_best is on), else with the present ones. */
lud_proof_net *lud_proof_ppo_net(lud_learner *learner, bool best);
const lud_proof_ppo_options *lud_proof_ppo_get_options(const lud_learner *learner);
const lud_proof_model *lud_proof_ppo_model(const lud_learner *learner);
/* Plays the steps of one rollout, as an iteration does, and learns nothing from them: to time them. */
void lud_proof_ppo_rollout(lud_learner *learner);
/* Pieces of device work so far (learn/nn/capture.h): runs of the network, on CUDA with choices and losses
 * (device_ppo.h), and steps of the optimiser. */
void lud_proof_ppo_pieces(const lud_learner *learner, uint64_t *n, uint64_t *n_replayed);

#endif
