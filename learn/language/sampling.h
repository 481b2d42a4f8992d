/* Drawing tokens. */
#pragma once

#include "kernels/device.h"

typedef struct lud_sampling {
    double temperature; /* 0: the first most probable token */
    int64_t top_k;      /* 0: off */
    double top_p;       /* 1: off */
} lud_sampling;

/* Divides logits[n][vocabulary] by the temperature, keeps the top_k largest (with what ties), of these the
 * smallest set of the largest that has the probability top_p, and draws: token[n] is the first whose
 * cumulative probability, tokens ascending, exceeds the draw. log_prob[n] (may be null) is that of the
 * distribution without temperature and filters: the one that is trained. `uniform` [n] stands for draws when
 * it is not null. filtered[n][vocabulary] is what was drawn from. All arrays in device memory. */
void lud_sample_tokens(lud_device *device, const lud_sampling *sampling, int64_t n, int64_t vocabulary,
                       const float *logits, const lud_draws *draws, const float *uniform, float *filtered,
                       int32_t *token, float *log_prob);
