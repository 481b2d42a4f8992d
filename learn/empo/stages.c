#include "learn/empo/stages.h"

#include <inttypes.h>
#include <math.h>

#include "learn/nn/schedule.h"

static const char *const net_names[LUD_EMPO_NETS] = {"v_h_e", "x_h", "u_r", "q_r", "v_r"};

bool lud_empo_stages_learn(const lud_empo_stages *s, int net) {
    return (net != LUD_NET_X_H || s->x_h_network) && (net != LUD_NET_U_R || s->u_r_network) &&
           (net != LUD_NET_V_R || s->v_r_network);
}

static int64_t length(const lud_empo_stages *s, int stage) {
    if (stage == LUD_STAGE_RAMP) return s->beta_r_ramp;
    return lud_empo_stages_learn(s, stage) ? s->warmup[stage] : 0;
}

int64_t lud_empo_stage_end(const lud_empo_stages *s, int stage) {
    if (stage == LUD_STAGE_FULL) return s->total;
    int64_t end = 0;
    for (int i = 0; i <= stage; i++) end += length(s, i);
    return end;
}

static double logistic(double x) {
    return 1.0 / (1.0 + exp(-x));
}

/* An S-curve from 0 to 1: the logistic function between -3 and 3, stretched to hit both ends. */
static double s_curve(double fraction) {
    const double value =
        (logistic(6.0 * (fraction - 0.5)) - logistic(-3.0)) / (logistic(3.0) - logistic(-3.0));
    return fmin(fmax(value, 0.0), 1.0);
}

static double ramp(double start, double end, int64_t steps, int64_t step) {
    if (step < 0) return start;
    const lud_schedule line = {
        .kind = LUD_SCHEDULE_LINEAR, .start = start, .end = end, .length = (double)steps};
    return lud_schedule_at(&line, (double)step);
}

static int64_t max_age(const lud_empo_stages *s, int64_t step) {
    const int64_t begin = lud_empo_stage_end(s, LUD_STAGE_RAMP - 1);
    const int64_t end = (int64_t)fmax((double)begin, s->constant_fraction * (double)s->total);
    if (!s->gradual_clearing || step < begin) return -1;
    if (step >= end) return s->clearing_lasts ? step - begin : -1;
    const double oldest = (double)begin * (double)(step - begin) / (double)(end - begin);
    return step - (int64_t)floor(oldest);
}

lud_empo_now lud_empo_stages_at(const lud_empo_stages *s, int64_t step) {
    lud_empo_now now = {0};
    while (now.stage < LUD_STAGE_FULL && step >= lud_empo_stage_end(s, now.stage)) now.stage++;
    for (int i = 0; i < LUD_EMPO_NETS; i++) now.active[i] = i <= now.stage && lud_empo_stages_learn(s, i);

    const int64_t ramp_begin = lud_empo_stage_end(s, LUD_STAGE_RAMP - 1);
    if (now.stage == LUD_STAGE_RAMP)
        now.beta_r = s->beta_r * s_curve((double)(step - ramp_begin) / (double)s->beta_r_ramp);
    if (now.stage == LUD_STAGE_FULL) now.beta_r = s->beta_r;
    now.gamma_h =
        s->gamma_h_curriculum ? ramp(s->gamma_h_start, s->gamma_h, s->gamma_h_ramp, step) : s->gamma_h;
    now.gamma_r = s->gamma_r;
    if (s->gamma_r_curriculum)
        now.gamma_r = ramp(s->gamma_r_start, s->gamma_r, s->gamma_r_ramp, step - lud_empo_stage_end(s, 2));
    now.epsilon_r = ramp(s->epsilon_r_start, s->epsilon_r_end, s->epsilon_r_steps, step);
    now.epsilon_h = ramp(s->epsilon_h_start, s->epsilon_h_end, s->epsilon_h_steps, step);

    const double hold =
        fmax((double)lud_empo_stage_end(s, LUD_STAGE_RAMP), s->constant_fraction * (double)s->total);
    lud_schedule lr = {.kind = LUD_SCHEDULE_CONSTANT, .hold = hold};
    if (s->decay_lr) lr.kind = s->inverse_decay ? LUD_SCHEDULE_INVERSE : LUD_SCHEDULE_INVERSE_SQRT;
    if (s->decay_lr && s->cosine_decay) {
        lr.kind = LUD_SCHEDULE_COSINE;
        lr.length = fmax((double)s->total - hold, 1.0);
    }
    for (int i = 0; i < LUD_EMPO_NETS; i++) {
        lr.start = s->lr[i];
        now.lr[i] = lud_schedule_at(&lr, (double)step);
        now.clip[i] = s->clip_follows_lr ? s->clip[i] * now.lr[i] / s->clip_reference_lr : s->clip[i];
    }
    now.lr_decaying = s->decay_lr && (s->inverse_decay || s->cosine_decay) && (double)step >= hold;
    now.z_loss = s->z_loss && !now.lr_decaying;
    now.max_age = max_age(s, step);
    return now;
}

const char *lud_empo_stage_name(const lud_empo_stages *s, int stage) {
    static const char *const names[LUD_EMPO_STAGES] = {"V_h^e only",   "V_h^e + X_h", "V_h^e + X_h + U_r",
                                                       "+ Q_r",        "+ V_r",       "\xce\xb2_r ramp-up",
                                                       "Full training"};
    if (stage == LUD_NET_U_R && !s->x_h_network) return "V_h^e + U_r";
    return names[stage];
}

/* Columns of a name on a terminal: its letters, some of which are two bytes. */
static int width_of(const char *name) {
    int n = 0;
    for (; *name; name++) n += (*name & 0xc0) != 0x80;
    return n;
}

void lud_empo_stages_print(const lud_empo_stages *s, lud_text *out) {
    int64_t begin = 0;
    for (int stage = 0; stage < LUD_EMPO_STAGES; stage++) {
        const int64_t end = lud_empo_stage_end(s, stage);
        if (end <= begin) continue;
        const char *name = lud_empo_stage_name(s, stage);
        lud_text_append(out, "%d  %s%*s %8" PRId64 " %8" PRId64 " ", stage, name, 18 - width_of(name), "",
                        end - begin, end);
        for (int i = 0; i < LUD_EMPO_NETS; i++)
            if (i <= stage && lud_empo_stages_learn(s, i)) lud_text_append(out, " %s", net_names[i]);
        lud_text_append(out, "\n");
        begin = end;
    }
}
