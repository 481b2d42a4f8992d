/* One slice of proximal policy optimisation against its formulas, row by row: what is sent of each sample in
 * each pass, losses and gradients of the policy and of the critic, and the sums that are told. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "cpu_device.h"
#include "learn/policy_gradient/ppo.h"

TEST_DEVICE(1)

enum { SAMPLES = 50, ROWS = 11, PADDED = 14, PASSES = 3 };

static lud_policy_gradient_options options = {
    .clip = 0.2, .value_clip = 0.3, .huber_delta = 1.5, .value_clipped = true, .value_coefficient = 0.7};

static double number(uint32_t stream, int i) {
    double pair[2];
    const lud_words w = lud_draw((lud_random_key){17, stream}, (uint32_t)i, 0, LUD_PURPOSE_USER, 0);
    lud_normal_pair(w.v[0], w.v[1], pair);
    return pair[0];
}

/* A rollout, a slice of it, and a distribution that says what it is told. */
typedef struct rig {
    float log_prob[SAMPLES], value[SAMPLES], advantage[SAMPLES], returns[SAMPLES], weight[SAMPLES];
    int32_t row[ROWS];
    float new_log_prob[PADDED], entropy[PADDED], new_value[PADDED];
    float dlog_prob[PADDED], dentropy[PADDED], dvalue[PADDED]; /* as they arrive */
    lud_ppo ppo;
} rig;

static void evaluate(void *context, lud_device *own, float *log_prob, float *entropy) {
    const rig *r = context;
    assert_ptr_equal(own, device);
    memcpy(log_prob, r->new_log_prob, sizeof r->new_log_prob);
    memcpy(entropy, r->entropy, sizeof r->entropy);
}

static void backward(void *context, lud_device *own, const float *dlog_prob, const float *dentropy) {
    rig *r = context;
    assert_ptr_equal(own, device);
    memcpy(r->dlog_prob, dlog_prob, sizeof r->dlog_prob);
    memcpy(r->dentropy, dentropy, sizeof r->dentropy);
}

static void open_rig(rig *r, int pass, bool weighted) {
    *r = (rig){.ppo = {.device = device, .options = &options}};
    for (int s = 0; s < SAMPLES; s++) {
        r->log_prob[s] = (float)number(1, s);
        r->value[s] = (float)number(2, s);
        r->advantage[s] = (float)number(3, s);
        r->returns[s] = (float)number(4, s);
        r->weight[s] = (float)fabs(number(5, s));
    }
    for (int i = 0; i < PADDED; i++) { /* near the old policy, so that some ratios are clipped and some not */
        if (i < ROWS) r->row[i] = (7 * i + 3) % SAMPLES;
        r->new_log_prob[i] = (i < ROWS ? r->log_prob[r->row[i]] : 0.0f) + (float)(0.3 * number(6, i));
        r->entropy[i] = (float)number(7, i);
        r->new_value[i] = (i < ROWS ? r->value[r->row[i]] : 0.0f) + (float)(0.5 * number(8, i));
    }
    assert_true(lud_ppo_create(&r->ppo, PADDED, 4));
    assert_true(r->ppo.scale == 1.0 && r->ppo.critic_scale == 1.0 && r->ppo.deviation == 1.0);
    r->ppo.samples = (lud_samples){r->log_prob, r->value, r->advantage, r->returns};
    r->ppo.pass = pass;
    r->ppo.scale = 1.0 / 40;
    r->ppo.critic_scale = 1.0 / 30;
    r->ppo.entropy_coefficient = 0.05;
    r->ppo.mean = 0.4;
    r->ppo.deviation = 2.5;
    r->ppo.weight = weighted ? r->weight : NULL;
}

static void expect(double found, double expected) {
    if (!(fabs(found - expected) <= 2e-6 * (1.0 + fabs(expected))))
        fail_msg("%.9g, expected %.9g", found, expected);
}

/* l of the header: the square's half up to huber_delta, then a line. */
static double loss_of(double error) {
    const double size = fabs(error), delta = options.huber_delta;
    return size <= delta ? 0.5 * error * error : delta * (size - 0.5 * delta);
}

static double value_loss(double value, double old, double target) {
    const double moved = fmin(fmax(value - old, -options.value_clip), options.value_clip);
    const double clipped = loss_of(old + moved - target);
    return options.value_clipped ? clipped : fmax(loss_of(value - target), clipped);
}

static void a_slice_follows_its_formulas(void **state) {
    (void)state;
    static const lud_ppo_head head = {evaluate, backward};
    for (int pass = 0; pass < PASSES; pass++)
        for (int kind = 0; kind < 4; kind++) {
            const bool weighted = kind & 1;
            static rig r;
            options.value_clipped = kind & 2;
            lud_ppo_sums sums = {.rows = 100, .value_rows = 200, .kl = 5}, wanted = sums;
            open_rig(&r, pass, weighted);
            lud_ppo *p = &r.ppo;
            assert_int_equal(lud_ppo_of_policy(p), pass != LUD_PPO_CRITIC);
            assert_int_equal(lud_ppo_of_critic(p), pass != LUD_PPO_POLICY);
            for (int time = 0; time < 2; time++) { /* what a slice before left is gone */
                lud_ppo_fill(p, ROWS, r.row, PADDED, 2);
                for (int a = 0; a < LUD_PPO_SENT && time == 0; a++)
                    for (int i = 0; i < PADDED; i++) lud_row_host(&p->rows, a)[i] = 9.0f;
            }
            assert_int_equal(p->rows.n, PADDED);
            for (int a = 0; a < LUD_PPO_SENT; a++)
                for (int i = ROWS; i < PADDED; i++) assert_true(lud_row_host(&p->rows, a)[i] == 0.0f);
            lud_row_arrays_send(&p->rows);
            lud_ppo_policy_gradient(p, device, &head, &r);
            lud_ppo_value_gradient(p, device, r.new_value, r.dvalue);
            lud_ppo_add_sums(p, ROWS, &sums);
            int n_clipped = 0;
            for (int i = 0; i < ROWS; i++) {
                const int32_t s = r.row[i];
                const double w = pass == LUD_PPO_CRITIC ? 0.0 : (weighted ? (double)r.weight[s] : 1.0) / 40;
                const double of_value = pass == LUD_PPO_BOTH ? w : pass == LUD_PPO_CRITIC ? 1.0 / 30 : 0.0;
                const double advantage = ((double)r.advantage[s] - 0.4) / 2.5;
                const double log_ratio = (double)r.new_log_prob[i] - (double)r.log_prob[s];
                const double ratio = exp(log_ratio), bounded = fmin(fmax(ratio, 0.8), 1.2);
                const bool is_clipped = bounded * advantage < ratio * advantage;
                const double of_policy = -fmin(ratio * advantage, bounded * advantage);
                const double target = (double)r.returns[s], old = (double)r.value[s];
                const double h = 1e-4, value = (double)r.new_value[i];
                expect((double)lud_row_host(&p->rows, LUD_PPO_OLD_LOG_PROB)[i], (double)r.log_prob[s]);
                expect((double)lud_row_host(&p->rows, LUD_PPO_ADVANTAGE)[i], advantage);
                expect((double)lud_row_host(&p->rows, LUD_PPO_OLD_VALUE)[i], old);
                expect((double)lud_row_host(&p->rows, LUD_PPO_RETURN)[i], target);
                expect((double)lud_row_host(&p->rows, LUD_PPO_POLICY_WEIGHT)[i], w);
                expect((double)lud_row_host(&p->rows, LUD_PPO_VALUE_WEIGHT)[i], 0.7 * of_value);
                expect((double)r.dentropy[i], -0.05 * w);
                expect((double)r.dlog_prob[i], is_clipped ? 0.0 : -w * ratio * advantage);
                const double slope =
                    (value_loss(value + h, old, target) - value_loss(value - h, old, target)) / (2 * h);
                assert_true(fabs((double)r.dvalue[i] - 0.7 * of_value * slope) < 1e-4);
                n_clipped += fabs(ratio - 1.0) > 0.2;
                if (pass != LUD_PPO_CRITIC) {
                    wanted.policy_loss += of_policy;
                    wanted.entropy += (double)r.entropy[i];
                    wanted.ratio += ratio;
                    wanted.kl += ratio - 1.0 - log_ratio;
                    wanted.clipped += fabs(ratio - 1.0) > 0.2;
                    wanted.rows++;
                }
                if (pass != LUD_PPO_POLICY) {
                    wanted.value_loss += value_loss(value, old, target);
                    wanted.value_rows++;
                }
            }
            assert_in_range(n_clipped, 2, ROWS - 2);
            expect(sums.rows, wanted.rows);
            expect(sums.value_rows, wanted.value_rows);
            expect(sums.policy_loss, wanted.policy_loss);
            expect(sums.value_loss, wanted.value_loss);
            expect(sums.entropy, wanted.entropy);
            expect(sums.ratio, wanted.ratio);
            expect(sums.kl, wanted.kl);
            expect(sums.clipped, wanted.clipped);
            lud_ppo_destroy(p);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_slice_follows_its_formulas)};
    return cmocka_run_group_tests(tests, open_device, close_device);
}
