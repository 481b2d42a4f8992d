/* The schedule that recorded runs and tests of it begin with: 100,000 training steps. */
#pragma once

#include "learn/empo/stages.h"

static inline lud_empo_stages support_stages(void) {
    lud_empo_stages s = {.x_h_network = true,
                         .warmup = {10000, 10000, 5000, 10000, 5000},
                         .beta_r_ramp = 20000,
                         .total = 100000,
                         .beta_r = 10.0,
                         .gamma_h = 0.99,
                         .gamma_r = 0.99,
                         .gamma_h_ramp = 5000,
                         .gamma_r_ramp = 5000,
                         .decay_lr = true,
                         .constant_fraction = 0.7,
                         .inverse_decay = true,
                         .clip_follows_lr = true,
                         .clip_reference_lr = 1e-4,
                         .epsilon_r_start = 1.0,
                         .epsilon_r_end = 0.01,
                         .epsilon_h_start = 1.0,
                         .epsilon_h_end = 0.01,
                         .epsilon_r_steps = 10000,
                         .epsilon_h_steps = 10000,
                         .gradual_clearing = true,
                         .clearing_lasts = true};
    for (int i = 0; i < LUD_EMPO_NETS; i++) {
        s.lr[i] = i == LUD_NET_V_H_E ? 1e-3 : 1e-4;
        s.clip[i] = 10.0;
    }
    return s;
}
