#include "learn/policy_gradient/ppo.h"

#include <math.h>

bool lud_ppo_create(lud_ppo *p, int64_t max_rows, int64_t max_words) {
    p->scale = p->critic_scale = p->deviation = 1.0;
    p->rows = (lud_row_arrays){.device = p->device,
                               .n_sent = LUD_PPO_SENT,
                               .n_fetched = LUD_PPO_FETCHED,
                               .n_kept = LUD_PPO_ARRAYS - LUD_PPO_SENT - LUD_PPO_FETCHED,
                               .max_rows = max_rows,
                               .max_words = max_words};
    return lud_row_arrays_create(&p->rows);
}

void lud_ppo_destroy(lud_ppo *p) {
    lud_row_arrays_destroy(&p->rows);
}

double lud_ppo_weight(const lud_ppo *p, int32_t sample) {
    return p->weight ? (double)p->weight[sample] : 1.0;
}

bool lud_ppo_of_policy(const lud_ppo *p) {
    return p->pass != LUD_PPO_CRITIC;
}

bool lud_ppo_of_critic(const lud_ppo *p) {
    return p->pass != LUD_PPO_POLICY;
}

void lud_ppo_fill(lud_ppo *p, int64_t n, const int32_t *row, int64_t n_padded, int64_t n_words) {
    float *to[LUD_PPO_SENT];
    lud_row_arrays_set(&p->rows, n_padded, n_words);
    for (int a = 0; a < LUD_PPO_SENT; a++) {
        to[a] = lud_row_host(&p->rows, a);
        for (int64_t i = n; i < n_padded; i++) to[a][i] = 0.0f;
    }
    for (int64_t i = 0; i < n; i++) {
        const int32_t s = row[i];
        const double w = lud_ppo_of_policy(p) ? lud_ppo_weight(p, s) * p->scale : 0.0;
        const double value = p->pass == LUD_PPO_BOTH ? w : lud_ppo_of_critic(p) ? p->critic_scale : 0.0;
        to[LUD_PPO_OLD_LOG_PROB][i] = p->samples.log_prob[s];
        to[LUD_PPO_ADVANTAGE][i] = (float)(((double)p->samples.advantage[s] - p->mean) / p->deviation);
        to[LUD_PPO_OLD_VALUE][i] = p->samples.value[s];
        to[LUD_PPO_RETURN][i] = p->samples.returns[s];
        to[LUD_PPO_POLICY_WEIGHT][i] = (float)w;
        to[LUD_PPO_VALUE_WEIGHT][i] = (float)(value * p->options->value_coefficient);
        to[LUD_PPO_ENTROPY_GRADIENT][i] = (float)(-w * p->entropy_coefficient);
    }
}

void lud_ppo_policy_gradient(const lud_ppo *p, lud_device *device, const lud_ppo_head *head, void *context) {
    const lud_row_arrays *r = &p->rows;
    float *log_prob = lud_row_device(r, LUD_PPO_LOG_PROB), *entropy = lud_row_device(r, LUD_PPO_ENTROPY),
          *dlog_prob = lud_row_device(r, LUD_PPO_LOG_PROB_GRADIENT);
    head->evaluate(context, device, log_prob, entropy);
    device->ops->ppo_policy_loss(
        device, r->n, p->options->clip, log_prob, lud_row_device(r, LUD_PPO_OLD_LOG_PROB),
        lud_row_device(r, LUD_PPO_ADVANTAGE), lud_row_device(r, LUD_PPO_POLICY_WEIGHT), 1.0,
        lud_row_device(r, LUD_PPO_POLICY_LOSS), lud_row_device(r, LUD_PPO_RATIO), dlog_prob, false);
    head->backward(context, device, dlog_prob, lud_row_device(r, LUD_PPO_ENTROPY_GRADIENT));
}

void lud_ppo_value_gradient(const lud_ppo *p, lud_device *device, const float *value, float *dvalue) {
    const lud_row_arrays *r = &p->rows;
    const float *target = lud_row_device(r, LUD_PPO_RETURN);
    if (p->normaliser)
        target = lud_value_normaliser_targets(p->normaliser, device, r->n, target,
                                              lud_row_device(r, LUD_PPO_TARGET));
    device->ops->ppo_value_loss(device, r->n, p->options->value_clip, p->options->huber_delta,
                                p->options->value_clipped, value, lud_row_device(r, LUD_PPO_OLD_VALUE),
                                target, lud_row_device(r, LUD_PPO_VALUE_WEIGHT), 1.0,
                                lud_row_device(r, LUD_PPO_VALUE_LOSS), dvalue, false);
}

void lud_ppo_add_sums(const lud_ppo *p, int64_t n, lud_ppo_sums *sums) {
    const lud_row_arrays *r = &p->rows;
    lud_row_arrays_fetch(r);
    const float *log_prob = lud_row_host(r, LUD_PPO_LOG_PROB), *old = lud_row_host(r, LUD_PPO_OLD_LOG_PROB),
                *entropy = lud_row_host(r, LUD_PPO_ENTROPY), *ratio = lud_row_host(r, LUD_PPO_RATIO),
                *policy_loss = lud_row_host(r, LUD_PPO_POLICY_LOSS),
                *value_loss = lud_row_host(r, LUD_PPO_VALUE_LOSS);
    for (int64_t i = 0; i < n && lud_ppo_of_policy(p); i++) {
        const double log_ratio = (double)log_prob[i] - (double)old[i];
        sums->policy_loss += (double)policy_loss[i];
        sums->entropy += (double)entropy[i];
        sums->ratio += (double)ratio[i];
        sums->kl += expm1(log_ratio) - log_ratio; /* a float's r - 1 would lose what is left of it */
        sums->clipped += fabs((double)ratio[i] - 1.0) > p->options->clip;
    }
    for (int64_t i = 0; i < n && lud_ppo_of_critic(p); i++) sums->value_loss += (double)value_loss[i];
    if (lud_ppo_of_policy(p)) sums->rows += (double)n;
    if (lud_ppo_of_critic(p)) sums->value_rows += (double)n;
}
