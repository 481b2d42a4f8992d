#include "learn/language/sampling.h"

void lud_sample_tokens(lud_device *device, const lud_sampling *sampling, int64_t n, int64_t vocabulary,
                       const float *logits, const lud_draws *draws, const float *uniform, float *filtered,
                       int32_t *token, float *log_prob) {
    const lud_ops *ops = device->ops;
    ops->filter_logits(device, n, vocabulary, sampling->temperature, sampling->top_k, sampling->top_p, logits,
                       filtered);
    ops->categorical_sample(device, n, vocabulary, filtered, NULL, draws, uniform, token, NULL);
    if (log_prob) ops->categorical_log_prob(device, n, vocabulary, logits, NULL, token, log_prob, NULL);
}
