/* What changes over the training of the neural EMPO learner: which networks learn, and every scheduled value.
 * The unit of all lengths is the training step. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* Order of the networks in arrays. */
enum { LUD_NET_V_H_E, LUD_NET_X_H, LUD_NET_U_R, LUD_NET_Q_R, LUD_NET_V_R, LUD_EMPO_NETS };
/* Networks join one by one (0-4), then beta_r rises (5), then everything is at its final value (6). */
enum { LUD_STAGE_RAMP = 5, LUD_STAGE_FULL = 6, LUD_EMPO_STAGES = 7 };

typedef struct lud_empo_stages {
    bool x_h_network, u_r_network, v_r_network; /* without its network a stage has no length */
    int64_t warmup[LUD_EMPO_NETS];              /* lengths of stages 0-4 */
    int64_t beta_r_ramp;                        /* length of stage 5 */
    int64_t total;
    double beta_r, gamma_h, gamma_r;
    bool gamma_h_curriculum,
        gamma_r_curriculum; /* linear from the start value, from step 0 and from stage 3 */
    int64_t gamma_h_ramp, gamma_r_ramp;
    double gamma_h_start, gamma_r_start;
    double lr[LUD_EMPO_NETS];
    bool decay_lr; /* after max(end of stage 5, constant_fraction total) */
    double constant_fraction;
    bool inverse_decay;         /* 1/t, else 1/sqrt t */
    bool cosine_decay;          /* half a cosine to 0 at the end instead of either */
    double clip[LUD_EMPO_NETS]; /* limits of the gradient norm, 0: off */
    bool clip_follows_lr;       /* limit x lr / clip_reference_lr */
    double clip_reference_lr;
    double epsilon_r_start, epsilon_r_end, epsilon_h_start, epsilon_h_end;
    int64_t epsilon_r_steps, epsilon_h_steps;
    bool gradual_clearing; /* phase old transitions out, else empty the buffer on entering stages 5 and 6 */
    bool clearing_lasts;   /* what was phased out stays out; false: it comes back when the phase has ended */
    bool z_loss;           /* errors in z while the rate is constant */
} lud_empo_stages;

typedef struct lud_empo_now {
    int stage;
    bool active[LUD_EMPO_NETS];
    double beta_r, gamma_h, gamma_r, epsilon_r, epsilon_h;
    double lr[LUD_EMPO_NETS], clip[LUD_EMPO_NETS];
    int64_t max_age; /* transitions stored more training steps ago are not sampled; -1: no limit */
    bool lr_decaying, z_loss;
} lud_empo_now;

lud_empo_now lud_empo_stages_at(const lud_empo_stages *stages, int64_t step);
/* Whether a quantity is learned at all, by a network or a table, instead of computed from the others. */
bool lud_empo_stages_learn(const lud_empo_stages *stages, int net);
/* First step after a stage (the total for the last). */
int64_t lud_empo_stage_end(const lud_empo_stages *stages, int stage);
const char *lud_empo_stage_name(const lud_empo_stages *stages, int stage);
/* The stages that have a length: number, name, duration, end, networks; one line each. */
void lud_empo_stages_print(const lud_empo_stages *stages, lud_text *out);
