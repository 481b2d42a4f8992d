#include "learn/proof_ppo/update.h"

#include "learn/proof_ppo/proof_ppo.h"

typedef lud_proof_learner_state prover;

static lud_status build_optimiser(prover *p, lud_error *error) {
    const lud_proof_ppo_options *o = &p->options;
    p->optimiser = lud_optimiser_create(p->parameters);
    if (!p->optimiser) return lud_no_memory(error, "the optimiser");
    lud_optimiser_options steps = o->optimiser;
    steps.max_norm = o->max_grad_norm;
    const bool apart = o->learning_rate.value > 0.0;
    const int value = apart ? lud_optimiser_group(p->optimiser, "value.", &steps, false) : -1;
    const int others = lud_optimiser_group(p->optimiser, "", &steps, false);
    if (others < 0 || (apart && value < 0)) return lud_no_memory(error, "the optimiser");
    p->value_group = lud_update_add_group(&p->update, value, 0.0);
    if (p->value_group >= 0) p->update.groups[p->value_group].pass = LUD_PPO_CRITIC;
    p->group = lud_update_add_group(&p->update, others, 0.0);
    return lud_optimiser_build(p->optimiser, (uint64_t)p->scenario->run.seed, error);
}

lud_status lud_proof_update_create(prover *p, lud_error *error) {
    const lud_proof_ppo_options *o = &p->options;
    lud_update *u = &p->update;
    const int64_t n = p->n_samples, size = o->batch_size < n ? o->batch_size : n;
    LUD_TRY(build_optimiser(p, error));
    LUD_TRY(lud_proof_head_create(p->net, size > p->n_envs ? size : p->n_envs, &p->head, error));
    u->ppo.device = p->device;
    u->ppo.options = &o->update;
    u->ppo.samples = (lud_samples){p->log_prob, p->value, p->advantage, p->returns};
    u->parameters = p->parameters;
    u->optimiser = p->optimiser;
    u->profile = &p->profile;
    u->step_stage = LUD_PROOF_STAGE_STEP;
    u->seed = (uint64_t)p->scenario->run.seed;
    u->alone = true;
    u->n_chunks = n;
    u->stride = u->n_environments = p->n_envs;
    u->minibatch_size = size;
    u->n_minibatches = (n + size - 1) / size;
    return lud_update_create(u, n, p->head.max_decisions, lud_proof_head_words(&p->head), error);
}

void lud_proof_update_destroy(prover *p) {
    lud_update_destroy(&p->update);
    lud_proof_head_destroy(&p->head);
    lud_optimiser_destroy(p->optimiser);
}

/* The same decay for the value network's own rate. */
static void schedule(void *learner, double place) {
    prover *p = learner;
    const double start = p->options.learning_rate.start, value = p->options.learning_rate.value;
    const double rate = lud_schedule_at(&p->rate, place);
    p->update.groups[p->group].rate = rate;
    if (p->value_group >= 0)
        p->update.groups[p->value_group].rate = start > 0.0 ? rate / start * value : value;
    p->update.ppo.entropy_coefficient = lud_schedule_at(&p->entropy, place);
}

/* A chunk of a minibatch: the sum of gradients is the same for any size of chunk. */
static lud_status add_chunk(void *learner, const lud_chunk *chunks, int64_t n, int64_t *n_taken,
                            lud_error *error) {
    prover *p = learner;
    lud_update *u = &p->update;
    (void)error;
    for (int64_t i = 0; i < n; i++) p->order[i] = chunks[i].first;
    lud_profile_begin(&p->profile, LUD_PROOF_STAGE_UPDATE_NET);
    lud_proof_net_set_step(p->net, u->seed ^ UINT64_C(0x9e3779b97f4a7c15),
                           (uint32_t)(u->n_steps << 8) + u->n_slices);
    /* values follow from the states that decisions are made in */
    *n_taken = u->ppo.pass == LUD_PPO_CRITIC
                   ? lud_proof_net_load_states(p->net, &p->decisions, p->order, 0, (int32_t)n)
                   : lud_proof_net_load(p->net, &p->decisions, p->order, 0, (int32_t)n);
    lud_proof_head_learn(&p->head, &u->ppo, p->action, p->order, &u->minibatch);
    p->update_flops += 6.0 * lud_proof_net_multiply_adds(p->net); /* backward: two products for each */
    lud_profile_end(&p->profile, LUD_PROOF_STAGE_UPDATE_NET);
    return LUD_OK;
}

static void add_up(void *learner) {
    lud_proof_net_add_up(((prover *)learner)->net);
}

lud_status lud_proof_update(prover *p, lud_error *error) {
    static const lud_update_calls calls = {schedule, add_chunk, add_up};
    const lud_returns returns = {.device = p->device,
                                 .workspace = p->workspace,
                                 .n_steps = p->n_steps,
                                 .n = p->n_envs,
                                 .reward = p->reward,
                                 .value = p->value,
                                 .mask = p->mask,
                                 .advantage = p->advantage,
                                 .returns = p->returns,
                                 .baseline = &p->update.baseline};
    lud_returns_estimate(&returns, &p->options.update);
    p->update.progress = p->base.progress;
    p->update.part_begin = LUD_PROOF_UPDATE_BEGINS;
    p->update.part_end = LUD_PROOF_RANKING_BEGINS;
    return lud_update_run(&p->update, p->iteration, &calls, p, error);
}
