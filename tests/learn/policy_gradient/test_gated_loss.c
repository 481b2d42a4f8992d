/* Gated losses against sums written out, and properties: what is dropped changes nothing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "learn/policy_gradient/gated_loss.h"

enum { ROWS = 9, TOKENS = 40 };

static void assert_near(double got, double expected, double tolerance) {
    if (!(fabs(got - expected) <= tolerance)) fail_msg("%.12g, expected %.12g", got, expected);
}

static float number(uint32_t i, uint32_t lane) {
    return 4.0f * lud_unit_float(lud_draw((lud_random_key){7, 1}, i, lane, LUD_PURPOSE_USER, 0).v[0]) - 2.0f;
}

/* Ragged rows of 0 to 8 tokens; every third row and every fifth token is left out. */
typedef struct sequences {
    int64_t begin[ROWS + 1];
    float mask[TOKENS], advantage[TOKENS], log_prob[TOKENS];
    lud_token_rows rows;
} sequences;

static void fill(sequences *s, uint32_t trial) {
    s->begin[0] = 0;
    for (int i = 0; i < ROWS; i++) s->begin[i + 1] = s->begin[i] + (i * 5 + (int)trial) % 9;
    assert_in_range(s->begin[ROWS], 1, TOKENS);
    for (int i = 0; i < ROWS; i++)
        for (int64_t t = s->begin[i]; t < s->begin[i + 1]; t++) {
            s->mask[t] = i % 3 != 2 && t % 5 != 1;
            s->advantage[t] = number((uint32_t)t, 8 * trial);
            s->log_prob[t] = s->mask[t] > 0.0f ? -fabsf(number((uint32_t)t, 8 * trial + 1)) : -INFINITY;
        }
    s->rows = (lud_token_rows){ROWS, s->begin, s->mask};
}

static void losses_are_their_sums(void **state) {
    (void)state;
    for (uint32_t trial = 0; trial < 4; trial++) {
        sequences s;
        float weight[ROWS], of_token[TOKENS], advantage[ROWS], dlog_prob[TOKENS];
        fill(&s, trial);
        for (int i = 0; i < ROWS; i++) {
            weight[i] = i % 2 ? 0.0f : fabsf(number((uint32_t)i, 100 + trial));
            advantage[i] = number((uint32_t)i, 101 + trial);
        }
        lud_token_spread(&s.rows, weight, of_token);
        const int64_t n = s.begin[ROWS];
        double expected = 0.0,
               got = lud_gated_loss(n, of_token, s.advantage, s.mask, s.log_prob, 7.0, dlog_prob);
        for (int64_t t = 0; t < n; t++) {
            const double d = -(double)(of_token[t] * s.advantage[t] * s.mask[t]) / 7.0;
            assert_near((double)dlog_prob[t], d, 1e-6);
            if (d != 0.0) expected += d * (double)s.log_prob[t];
        }
        assert_near(got, expected, 1e-6);
        got = lud_sequence_loss(&s.rows, weight, advantage, s.log_prob, 3.0, dlog_prob);
        expected = 0.0;
        for (int i = 0; i < ROWS; i++) {
            double total = 0.0, tokens = 0.0, slope = 0.0;
            for (int64_t t = s.begin[i]; t < s.begin[i + 1]; t++) {
                slope += (double)dlog_prob[t];
                if (s.mask[t] <= 0.0f) continue;
                total += (double)s.log_prob[t];
                tokens += 1.0;
            }
            const double d = tokens > 0.0 ? -(double)(weight[i] * advantage[i]) / 3.0 : 0.0;
            if (tokens > 0.0) expected += d * total / tokens;
            assert_near(slope, d, 1e-5); /* of its mean log-probability */
        }
        assert_near(got, expected, 1e-5);
    }
}

/* Rows without tokens leave the price and the other rows' weights alone. */
static void empty_rows_do_not_count(void **state) {
    (void)state;
    int n_empty = 0;
    for (uint32_t trial = 0; trial < 12; trial++) {
        sequences s;
        float mean_advantage[ROWS], mean_log_prob[ROWS], delight[ROWS], uniform[ROWS], weight[ROWS],
            probability[ROWS], scratch[3 * ROWS];
        fill(&s, trial);
        double in_all = 0;
        for (int i = 0; i < ROWS; i++) in_all += lud_token_count(&s.rows, i);
        assert_true(lud_token_count(&s.rows, -1) == in_all);
        const lud_token_rows whole = {ROWS, s.begin, NULL};
        assert_true(lud_token_count(&whole, -1) == (double)s.begin[ROWS]);
        for (int i = 0; i < ROWS; i++) uniform[i] = 0.25f * number((uint32_t)i, 200 + trial) + 0.5f;
        lud_gate gate = lud_gate_default();
        gate.mode = (int)(trial % 5 + 1); /* all but off */
        gate.rate = 0.4;
        const lud_gate_batch batch = {
            .n = ROWS, .uniform = uniform, .weight = weight, .probability = probability, .scratch = scratch};
        const lud_gate_decision got = lud_sequence_gate(&gate, &s.rows, false, s.advantage, s.log_prob,
                                                        mean_advantage, mean_log_prob, delight, &batch);
        float few[ROWS], few_uniform[ROWS], few_weight[ROWS];
        int64_t n = 0;
        for (int i = 0; i < ROWS; i++) {
            if (lud_token_count(&s.rows, i) == 0.0) continue;
            few[n] = delight[i];
            few_uniform[n++] = uniform[i];
        }
        n_empty += ROWS - (int)n;
        const lud_gate_decision expected = lud_gate_decide(
            &gate,
            &(lud_gate_batch){
                .n = n, .delight = few, .uniform = few_uniform, .weight = few_weight, .scratch = scratch});
        assert_true(got.price == expected.price && got.n_kept == expected.n_kept);
        for (int i = 0, k = 0; i < ROWS; i++) {
            const bool counts = lud_token_count(&s.rows, i) > 0.0;
            assert_true(weight[i] == (counts ? few_weight[k] : 0.0f));
            if (counts)
                assert_near((double)delight[i], -(double)mean_advantage[i] * (double)mean_log_prob[i], 1e-6);
            k += counts;
        }
    }
    assert_true(n_empty > 12);
}

/* Tokens one by one: k of them by repeated search, the loss written out. */
static void tokens_one_by_one(void **state) {
    (void)state;
    for (uint32_t trial = 0; trial < 12; trial++) {
        sequences s;
        float reward[ROWS], row_mask[ROWS], baseline[ROWS], advantage[ROWS], sampled[TOKENS], uniform[TOKENS],
            priority[TOKENS], weight[TOKENS], dlog_prob[TOKENS], scratch[TOKENS];
        int32_t group[ROWS];
        fill(&s, trial);
        const int64_t n = s.begin[ROWS];
        for (int i = 0; i < ROWS; i++) {
            reward[i] = number((uint32_t)i, 300 + trial);
            row_mask[i] = i % 3 != 2;
            group[i] = i % 2;
        }
        for (int64_t t = 0; t < n; t++) {
            sampled[t] = s.mask[t] > 0.0f ? s.log_prob[t] + 0.1f * number((uint32_t)t, 400 + trial) : 0.0f;
            uniform[t] = 0.25f * number((uint32_t)t, 500 + trial) + 0.5f;
        }
        const lud_token_gate gate = {
            .rate = 0.3, .alpha = 0.25, .priority = (int)(trial % 6), .beta_kl = trial % 2 ? 0.1 : 0.0};
        const lud_token_experience e = {s.rows, reward, row_mask, group, s.log_prob, sampled, uniform};
        lud_token_gradient got = {.baseline = baseline,
                                  .advantage = advantage,
                                  .priority = priority,
                                  .weight = weight,
                                  .dlog_prob = dlog_prob,
                                  .scratch = scratch};
        lud_token_gate_run(&gate, &e, &got);
        double n_tokens = 0.0, expected = 0.0;
        for (int64_t t = 0; t < n; t++) n_tokens += (double)s.mask[t];
        assert_near(got.n_tokens, n_tokens, 0.0);
        assert_int_equal(got.k, fmax(1.0, nearbyint(0.3 * n_tokens)));
        int64_t n_kept = 0;
        for (int i = 0; i < ROWS; i++)
            for (int64_t t = s.begin[i]; t < s.begin[i + 1]; t++) {
                int64_t before = 0;
                for (int64_t o = 0; o < n; o++)
                    before += s.mask[o] > 0.0f && priority[o] > priority[t] + 1e-6f;
                const bool kept = s.mask[t] > 0.0f && before < got.k;
                /* its own priority, with the advantage of its row */
                float own;
                assert_near((double)advantage[i], (double)(reward[i] - baseline[i]), 1e-6);
                lud_gate_priorities(gate.priority, gate.alpha, 1, &advantage[i], &s.log_prob[t], &uniform[t],
                                    &own);
                if (s.mask[t] > 0.0f) assert_true(priority[t] == own);
                n_kept += kept;
                assert_true(weight[t] == (float)kept);
                if (s.mask[t] <= 0.0f) {
                    assert_true(dlog_prob[t] == 0.0f && priority[t] == -INFINITY);
                    continue;
                }
                expected += ((kept ? -(double)advantage[i] : 0.0) * (double)s.log_prob[t] +
                             gate.beta_kl * ((double)sampled[t] - (double)s.log_prob[t])) /
                            n_tokens;
            }
        assert_near(got.n_kept, (double)n_kept, 0.0);
        assert_near(got.loss, expected, 1e-5);
    }
}

/* As many tokens are kept where priorities are so large that next to them a tie's width is nothing. */
static void large_priorities_keep_as_many(void **state) {
    (void)state;
    enum { N = 12 };
    float log_prob[N], reward[N], row_mask[N], baseline[N], advantage[N], priority[N], weight[N], slope[N],
        scratch[N];
    int32_t group[N];
    int64_t begin[N + 1];
    for (int i = 0; i < N; i++) {
        log_prob[i] = -1.0f;
        reward[i] = 1e6f * (float)(i * 5 % N);
        row_mask[i] = 1.0f;
        group[i] = 0;
        begin[i] = i;
    }
    begin[N] = N;
    const lud_token_experience e = {.rows = {N, begin, NULL},
                                    .reward = reward,
                                    .row_mask = row_mask,
                                    .group = group,
                                    .log_prob = log_prob,
                                    .sampled = log_prob};
    lud_token_gradient got = {.baseline = baseline,
                              .advantage = advantage,
                              .priority = priority,
                              .weight = weight,
                              .dlog_prob = slope,
                              .scratch = scratch};
    for (int k = 1; k <= N; k++) {
        const lud_token_gate gate = {.rate = (double)k / N, .priority = LUD_PRIORITY_ADVANTAGE};
        lud_token_gate_run(&gate, &e, &got);
        assert_int_equal(got.k, k);
        assert_near(got.n_kept, k, 0.0);
        for (int i = 0; i < N; i++) assert_true(weight[i] == (float)(i * 5 % N >= N - k));
    }
}

static void denominators(void **state) {
    (void)state;
    assert_true(lud_gate_denominator(LUD_GATE_BY_KEPT, 30, 3) == 3.0);
    assert_true(lud_gate_denominator(LUD_GATE_BY_ALL, 30, 3) == 30.0);
    assert_true(lud_gate_denominator(LUD_GATE_BY_NONE, 30, 3) == 1.0);
    assert_true(lud_gate_denominator(LUD_GATE_BY_KEPT, 30, 0) == 1.0);
}

/* Sequences of 3 + 2, 1 + 0 and 2 + 3 tokens: 4, 0 and 4 rows of logits. */
static void responses_are_predicted_one_before(void **state) {
    (void)state;
    const int64_t prompt[] = {3, 1, 2}, response[] = {2, 0, 3}, begins[] = {0, 2, 2, 5};
    const int32_t expected[] = {2, 3, 5, 6, 7};
    int64_t begin[4];
    int32_t index[5];
    assert_int_equal(lud_response_rows(3, prompt, response, begin, index), 5);
    for (int i = 0; i < 4; i++) assert_int_equal(begin[i], begins[i]);
    for (int i = 0; i < 5; i++) assert_int_equal(index[i], expected[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_their_sums), cmocka_unit_test(empty_rows_do_not_count),
        cmocka_unit_test(tokens_one_by_one),     cmocka_unit_test(large_priorities_keep_as_many),
        cmocka_unit_test(denominators),          cmocka_unit_test(responses_are_predicted_one_before)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
