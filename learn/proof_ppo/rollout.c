#include "learn/proof_ppo/rollout.h"

#include "learn/proof_ppo/proof_ppo.h"

/* Values of the decisions of slots begin .. end - 1 of a step, which begins at decision `first`, and, with
 * actions, choices for them. */
static void decide_slots(lud_proof_learner_state *p, int32_t first, int32_t begin, int32_t end, uint32_t step,
                         uint32_t chunk, bool choose) {
    const uint64_t seed = (uint64_t)p->scenario->run.seed;
    for (int32_t done = begin; done < end; chunk++) {
        const int32_t at = first + done;
        lud_profile_begin(&p->profile, LUD_PROOF_STAGE_ROLLOUT_NET);
        lud_proof_net_set_step(p->net, seed, (step << 8) + chunk);
        done += lud_proof_net_load(p->net, &p->decisions, NULL, at, end - done);
        if (choose)
            lud_proof_head_act(&p->head, p->uniform + at - first, p->action + at, p->log_prob + at,
                               p->value + at);
        else
            lud_proof_head_act(&p->head, NULL, NULL, NULL, p->value + at);
        p->rollout_flops += 2.0 * lud_proof_net_multiply_adds(p->net);
        lud_profile_end(&p->profile, LUD_PROOF_STAGE_ROLLOUT_NET);
    }
}

/* Of all slots. Every process has all environments, which cost little; of the network it runs the slots of
 * its shares. */
static lud_status decide(lud_proof_learner_state *p, int32_t first, uint32_t step, bool choose,
                         lud_error *error) {
    const lud_shares *shares = &p->update.shares;
    const uint64_t seed = (uint64_t)p->scenario->run.seed;
    for (int32_t slot = 0; choose && slot < p->n_envs; slot++) {
        const lud_words w = lud_draw((lud_random_key){seed, (uint32_t)slot}, step, 0, LUD_PURPOSE_ACTION, 0);
        p->uniform[slot] = lud_unit53(w.v[0], w.v[1]);
    }
    for (int s = shares->first; s < shares->end; s++)
        decide_slots(p, first, (int32_t)lud_share_begin(p->n_envs, shares->n, s),
                     (int32_t)lud_share_begin(p->n_envs, shares->n, s + 1), step,
                     (uint32_t)(s * LUD_UPDATE_SLICES / shares->n), choose);
    const lud_ranks_array arrays[] = {
        {p->value + first, sizeof *p->value, 1, p->n_envs},
        {choose ? p->action + first : NULL, sizeof *p->action, 1, p->n_envs},
        {choose ? p->log_prob + first : NULL, sizeof *p->log_prob, 1, p->n_envs}};
    return lud_ranks_complete(shares->ranks, arrays, sizeof arrays / sizeof *arrays, shares->n, error);
}

static void count_episode(lud_proof_episodes *t, const lud_proof_batch *batch, int slot) {
    t->n++;
    t->returns += (double)batch->episode_return[slot];
    t->length += batch->length[slot];
    if (batch->label[slot]) {
        t->positives++;
        t->proved += batch->success[slot];
    } else {
        t->negatives++;
        t->proved_false += batch->success[slot];
    }
}

lud_status lud_proof_collect(lud_proof_learner_state *p, lud_proof_episodes *episodes, lud_error *error) {
    lud_proof_batch *batch = p->batch;
    *episodes = (lud_proof_episodes){0};
    lud_proof_decisions_clear(&p->decisions);
    for (int32_t slot = 0; slot < p->n_envs; slot++) p->mask[slot] = 1.0f;
    for (int32_t step = 0; step <= p->n_steps; step++) {
        const int32_t first = step * p->n_envs;
        const double done = (double)step / (double)p->n_steps;
        const double part =
            LUD_PROOF_ROLLOUT_BEGINS + (LUD_PROOF_UPDATE_BEGINS - LUD_PROOF_ROLLOUT_BEGINS) * done;
        lud_profile_begin(&p->profile, LUD_PROOF_STAGE_RECORD);
        lud_proof_decisions_add_batch(&p->decisions, batch);
        lud_profile_end(&p->profile, LUD_PROOF_STAGE_RECORD);
        LUD_TRY(lud_ranks_agree(p->device->ranks, lud_progress_beat(p->base.progress, part, error), error));
        LUD_TRY(decide(p, first, (uint32_t)p->env_steps, step < p->n_steps, error));
        if (step == p->n_steps) break;
        lud_profile_begin(&p->profile, LUD_PROOF_STAGE_EXPAND);
        lud_proof_batch_step_reset(batch, p->action + first);
        lud_profile_end(&p->profile, LUD_PROOF_STAGE_EXPAND);
        p->env_steps++;
        for (int32_t slot = 0; slot < p->n_envs; slot++) {
            const bool ended = batch->terminated[slot] || batch->truncated[slot];
            p->reward[first + slot] = batch->rewards[slot];
            p->mask[first + p->n_envs + slot] = ended ? 0.0f : 1.0f;
            if (ended) count_episode(episodes, batch, slot);
        }
    }
    return LUD_OK;
}
