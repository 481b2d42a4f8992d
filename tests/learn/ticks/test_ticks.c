/* Ticks: the invariants of a tick, who is scored, the gate's rows alone in backward passes, counters,
 * resuming, memory, learning. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "learn/ticks/evaluation.h"
#include "learn/ticks/policy.h"
#include "learn/ticks/support_ticks.h"

enum { AGENTS = 12, TEAMS = 3, ENVS = 2, ROWS = AGENTS * ENVS };

#define near(a, b, room) assert_true(fabs((double)(a) - (double)(b)) <= (double)(room))

/* ---- a policy that stands before another and notes what is asked of it ---- */

typedef struct witness {
    lud_tick_policy base; /* of the other, so that everybody reads what is true */
    lud_tick_policy_kind kind;
    lud_tick_policy *other;
    support_ticks *s;
    int n_acts, n_lessons;
    uint64_t acted_with, taught_with; /* weights at the last act and the last lesson */
    uint32_t clock_at_act, clock_at_lesson;
    int64_t n_rows, n_taught, n_valued;
    double entropy_weights, value_weights; /* sums; below 0: a lesson had none */
    int64_t n_seen;
    bool disagrees; /* a log-probability was not that of the weights at the act */
} witness;

static witness seen;

static uint64_t weights(support_ticks *s) {
    const uint64_t critic = s->learner->policy->has_critic ? support_ticks_hash(s, "critic.") : 0;
    return support_ticks_hash(s, "actor.") ^ critic;
}

static lud_status note_act(lud_tick_policy *policy, const lud_tick_rows *rows,
                           const lud_tick_choices *choices, lud_error *error) {
    witness *w = (witness *)policy;
    const lud_status status = w->other->kind->act(w->other, rows, choices, error);
    if (rows->range.first_environment >= LUD_TICK_FIRST_EVALUATED) return status;
    w->n_acts++;
    w->n_rows = rows->n;
    w->acted_with = weights(w->s);
    w->clock_at_act = rows->range.tick[0];
    float p[ROWS * SUPPORT_CHOICES];
    assert_int_equal(w->other->kind->probabilities(w->other, rows, p, error), LUD_OK);
    for (int64_t i = 0; i < rows->n; i++) {
        const float expected = logf(p[i * SUPPORT_CHOICES + choices->discrete[i]]);
        if (fabsf(choices->log_prob[i] - expected) > 1e-5f * (1.0f + fabsf(expected))) w->disagrees = true;
    }
    return status;
}

static lud_status note_lesson(lud_tick_policy *policy, const lud_tick_lesson *lesson, lud_tick_losses *losses,
                              lud_error *error) {
    witness *w = (witness *)policy;
    w->n_lessons++;
    w->taught_with = weights(w->s);
    w->clock_at_lesson = w->s->learner->training.batch->tick[0];
    w->n_taught = lesson->n;
    w->n_valued = lesson->n_valued;
    w->n_seen = lesson->n_seen;
    w->entropy_weights = w->value_weights = -1.0;
    for (int64_t k = 0; k < lesson->n && lesson->entropy_weight; k++)
        w->entropy_weights = fmax(w->entropy_weights, 0.0) + (double)lesson->entropy_weight[k];
    for (int64_t k = 0; k < lesson->n_valued && lesson->value_weight; k++)
        w->value_weights = fmax(w->value_weights, 0.0) + (double)lesson->value_weight[k];
    return w->other->kind->learn(w->other, lesson, losses, error);
}

static lud_status hand_on_value(lud_tick_policy *policy, const lud_tick_rows *rows, float *value,
                                lud_error *error) {
    lud_tick_policy *other = ((witness *)policy)->other;
    return other->kind->value(other, rows, value, error);
}

static void hand_on_visit(lud_tick_policy *policy, lud_checkpoint *checkpoint) {
    lud_tick_policy *other = ((witness *)policy)->other;
    other->kind->visit(other, checkpoint);
}

static void put_witness(support_ticks *s) {
    seen = (witness){
        .base = *s->learner->policy, .kind = *s->learner->policy->kind, .other = s->learner->policy, .s = s};
    seen.kind.act = note_act;
    seen.kind.learn = note_lesson;
    seen.kind.value = hand_on_value;
    seen.kind.visit = hand_on_visit;
    seen.base.kind = &seen.kind;
    s->learner->policy = &seen.base;
}

static void open_with_witness(int n_agents, int n_teams, int n_envs, const char *options, support_ticks *s) {
    *s = support_ticks_open(n_agents, n_teams, n_envs, options);
    put_witness(s);
}

static void close_with_witness(support_ticks *s) {
    s->learner->policy = seen.other;
    support_ticks_close(s);
}

/* ---- the invariants ---- */

static void I1_one_version_draws_and_judges(void **state) {
    (void)state;
    support_ticks s;
    open_with_witness(AGENTS, TEAMS, ENVS, "learning_rate: 0.01", &s);
    for (int t = 0; t < 12; t++) {
        support_ticks_run(&s, 1);
        assert_int_equal(seen.n_acts, t + 1); /* one batched forward, and no second one to judge */
        assert_false(seen.disagrees);
        assert_true(seen.acted_with == seen.taught_with);
    }
    assert_int_equal(seen.n_lessons, 12);
    close_with_witness(&s);
}

static void I2_nobody_acts_with_the_next_version(void **state) {
    (void)state;
    support_ticks s;
    open_with_witness(AGENTS, TEAMS, ENVS, "learning_rate: 0.01", &s);
    for (int t = 0; t < 12; t++) {
        const uint64_t before = weights(&s), version = s.learner->version;
        support_ticks_run(&s, 1);
        assert_true(seen.acted_with == before);
        assert_int_equal(seen.clock_at_lesson, seen.clock_at_act + 1); /* the worlds have stepped */
        assert_int_equal(s.learner->version, version + 1);
        assert_true(weights(&s) != before);
    }
    close_with_witness(&s);
}

/* All rows of a learner's present in one act, and one by one. */
static void I3_a_batch_is_its_rows(void **state) {
    (void)state;
    support_ticks s = support_ticks_open(AGENTS, TEAMS, ENVS, "learning_rate: 0.01");
    support_ticks_run(&s, 7);
    lud_tick_learner *l = s.learner;
    lud_tick_stepping *t = &l->training;
    lud_error error = {0};
    assert_int_equal(lud_tick_act(l, t, false, &error), LUD_OK);
    const int64_t n = t->rows.n;
    assert_in_range(n, 2, ROWS - 1); /* somebody has left */
    for (int64_t i = 0; i < n; i++) {
        lud_tick_rows row = t->rows;
        row.n = 1;
        row.environment += i;
        row.agent += i;
        int32_t choice, tokens;
        float log_prob, entropy, confidence;
        const lud_tick_choices choices = {.discrete = &choice,
                                          .log_prob = &log_prob,
                                          .n_tokens = &tokens,
                                          .entropy = &entropy,
                                          .confidence = &confidence};
        assert_int_equal(l->policy->kind->act(l->policy, &row, &choices, &error), LUD_OK);
        assert_int_equal(choice, t->choices.discrete[i]);
        near(log_prob, t->choices.log_prob[i], 1e-5f * (1.0f + fabsf(log_prob)));
        near(entropy, t->choices.entropy[i], 1e-5f);
        assert_int_equal(tokens, 1);
        assert_true(confidence >= 1.0f / SUPPORT_CHOICES - 1e-5f && confidence <= 1.0f + 1e-5f);
    }
    support_ticks_close(&s);
}

/* Running baselines judge everybody by those before it: environments and their agents ascending. */
static void I4_order_is_that_of_agents(void **state) {
    (void)state;
    support_ticks s =
        support_ticks_open(AGENTS, TEAMS, ENVS, "baseline: {type: warmup_then_ema, alpha: 0.1}");
    lud_baseline oracle;
    lud_baseline_init(&oracle, &s.learner->options.baseline);
    for (int t = 0; t < 12; t++) {
        support_ticks_run(&s, 1);
        const lud_tick_stepping *a = &s.learner->training;
        for (int64_t i = 0; i < a->rows.n; i++) {
            const int64_t at = (int64_t)a->rows.environment[i] * AGENTS + a->rows.agent[i];
            if (i > 0) assert_true(at > (int64_t)a->rows.environment[i - 1] * AGENTS + a->rows.agent[i - 1]);
            const double expected = lud_baseline_update(&oracle, (double)a->rewards[at]);
            near(s.learner->scoring.advantage[i], (float)expected, 1e-6);
        }
    }
    support_ticks_close(&s);
}

/* With and without the gate the same actions, as long as the weights are the same. */
static void I5_the_gate_never_touches_the_world(void **state) {
    (void)state;
    support_ticks open = support_ticks_open(AGENTS, TEAMS, ENVS, "learning_rate: 0, critic_learning_rate: 0"),
                  gated = support_ticks_open(AGENTS, TEAMS, ENVS,
                                             "learning_rate: 0, critic_learning_rate: 0, "
                                             "gate: {mode: bernoulli, rate: 0.1, temperature: 1}");
    for (int t = 0; t < 25; t++) {
        support_ticks_run(&open, 1);
        support_ticks_run(&gated, 1);
        assert_memory_equal(open.learner->training.discrete, gated.learner->training.discrete,
                            ROWS * sizeof(int32_t));
    }
    assert_true(support_ticks_hash(&open, "ticks.worlds") == support_ticks_hash(&gated, "ticks.worlds"));
    assert_true(gated.learner->sums.selected < 0.6 * open.learner->sums.selected);
    assert_true(gated.learner->sums.selected > 0.0);
    support_ticks_close(&open);
    support_ticks_close(&gated);
}

static void I6_a_tick_may_change_nothing(void **state) {
    (void)state;
    static const struct {
        const char *options;
        lud_tick_end end;
        bool nothing_is_paid;
    } cases[] = {
        {"baseline: {type: zero}", LUD_TICK_NO_SIGNAL, true},
        {"baseline: {type: zero}, gate: {mode: top_k}", LUD_TICK_NO_SIGNAL, true},
        {"baseline: {type: zero}, gate: {mode: threshold, fixed_price: true, price: 1000, min_keep: 0, "
         "warmup_experiences: 0}",
         LUD_TICK_GATED_ALL, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        support_ticks s = support_ticks_open(AGENTS, TEAMS, ENVS, cases[k].options);
        s.model->nothing_is_paid = cases[k].nothing_is_paid;
        const uint64_t actor = support_ticks_hash(&s, "actor."), steps = support_ticks_hash(&s, "optimiser.");
        support_ticks_run(&s, 5);
        assert_true(s.learner->sums.ends[cases[k].end] == 5.0);
        assert_true(support_ticks_hash(&s, "actor.") == actor);
        assert_true(support_ticks_hash(&s, "optimiser.") == steps);
        assert_int_equal(s.learner->version, 0);
        assert_int_equal(s.learner->training.batch->tick[0], 5); /* the world goes on */
        support_ticks_close(&s);
    }
}

/* ---- who is scored ---- */

static void the_dead_are_left_out(void **state) {
    (void)state;
    support_ticks s;
    open_with_witness(AGENTS, TEAMS, ENVS, "ticks: 100", &s);
    for (int t = 0; t < 2 * SUPPORT_STEPS; t++) {
        const int step = t % SUPPORT_STEPS;
        int alive = 0;
        for (int i = 0; i < AGENTS; i++) alive += i % 2 == 0 || step <= 2 + i % 5;
        support_ticks_run(&s, 1);
        assert_int_equal(seen.n_rows, ENVS * alive);
        assert_int_equal(s.learner->scoring.selection.n, ENVS * alive);
        const lud_tick_stepping *a = &s.learner->training;
        for (int i = 0; i < AGENTS; i++)
            if (i % 2 == 1 && step > 2 + i % 5)
                assert_int_equal(a->discrete[i], SUPPORT_CHOICES - 1); /* it idles */
    }
    close_with_witness(&s);
}

static void only_training_teams_are_learned_from(void **state) {
    (void)state;
    support_ticks s = support_ticks_open(AGENTS, TEAMS, ENVS, "training_teams: [red, gray]");
    const lud_tick_learner *l = s.learner;
    for (int t = 0; t < 10; t++) {
        support_ticks_run(&s, 1);
        for (int64_t k = 0; k < l->scoring.selection.n_kept; k++)
            assert_int_not_equal(l->training.rows.agent[l->scoring.row[k]] % TEAMS, 1);
    }
    uint64_t experiences = 0;
    for (int k = 0; k < TEAMS; k++) {
        const lud_tick_team *team = &l->teams[k];
        experiences += team->experiences;
        assert_true(team->experiences > 0 && team->reward != 0.0);
        assert_int_equal(team->backward + team->skipped, k == 1 ? 0 : team->experiences);
    }
    assert_int_equal(experiences, l->experiences);
    support_ticks_close(&s);
    s = support_ticks_open(2, TEAMS, 1, "training_teams: [gray]"); /* which has nobody */
    const uint64_t before = weights(&s);
    support_ticks_run(&s, 3);
    assert_true(s.learner->sums.ends[LUD_TICK_NO_TRAINABLE] == 3.0);
    assert_true(weights(&s) == before);
    support_ticks_close(&s);
}

/* A policy that says nothing where the agent's number is odd. */
static lud_status act_half_silent(lud_tick_policy *policy, const lud_tick_rows *rows,
                                  const lud_tick_choices *choices, lud_error *error) {
    witness *w = (witness *)policy;
    const lud_status status = w->other->kind->act(w->other, rows, choices, error);
    for (int64_t i = 0; i < rows->n && choices->n_tokens; i++)
        if (rows->agent[i] % 2 == 1) {
            choices->n_tokens[i] = 0;
            choices->failed[i] = 1;
            choices->log_prob[i] = 0.0f;
        }
    return status;
}

static void the_silent_are_not_scored_but_their_rewards_count(void **state) {
    (void)state;
    support_ticks s;
    open_with_witness(4, TEAMS, 1, "baseline: {type: ema_only}", &s);
    seen.kind.act = act_half_silent;
    support_ticks_run(&s, 2);
    assert_int_equal(s.learner->scoring.baseline.count, 8);
    assert_int_equal(s.learner->scoring.selection.n, 2);
    assert_true(s.learner->sums.failures == 4.0 && s.learner->sums.rows == 8.0);
    assert_int_equal(s.learner->teams[1].backward, 0); /* agents 1 and 3 are of blue and red */
    close_with_witness(&s);
    open_with_witness(2, 0, 1, "baseline: {type: ema_only}, training_teams: [all]", &s);
    seen.kind.act = act_half_silent;
    support_ticks_run(&s, 1);
    assert_true(s.learner->sums.ends[LUD_TICK_NO_SIGNAL] == 1.0); /* one alone, and the first reward */
    close_with_witness(&s);
}

/* A policy that is not understood where the agent's number is odd. */
static lud_status act_half_failed(lud_tick_policy *policy, const lud_tick_rows *rows,
                                  const lud_tick_choices *choices, lud_error *error) {
    witness *w = (witness *)policy;
    const lud_status status = w->other->kind->act(w->other, rows, choices, error);
    for (int64_t i = 0; i < rows->n && choices->failed; i++) choices->failed[i] = rows->agent[i] % 2 == 1;
    return status;
}

/* What a failure costs is learned from and told of nowhere else. */
static void failures_cost_who_learns(void **state) {
    (void)state;
    support_ticks s;
    open_with_witness(4, TEAMS, 1, "baseline: {type: zero}, failure_cost: 3", &s);
    seen.kind.act = act_half_failed;
    support_ticks_run(&s, 1);
    double paid = 0.0;
    for (int a = 0; a < 4; a++) {
        const double reward = (double)s.learner->training.rewards[a];
        near(s.learner->scoring.advantage[a], reward - (a % 2 ? 3.0 : 0.0), 1e-6);
        paid += reward;
    }
    near(s.learner->sums.reward, paid, 1e-6);
    near(s.learner->training.agent_return[1], s.learner->training.rewards[1], 1e-6);
    close_with_witness(&s);
}

/* ---- the gate ---- */

static void rates_and_prices_are_those_in_force(void **state) {
    (void)state;
    support_ticks s;
    open_with_witness(AGENTS, TEAMS, ENVS,
                      "baseline: {type: zero}, gate: {mode: top_k, rate: 0.125, warmup_experiences: 60, "
                      "warmup_rate: 0.5}",
                      &s);
    static const int kept[] = {12, 12, 3}; /* 24 and 48 experiences are fewer than 60, 72 are not */
    for (int t = 0; t < 3; t++) {
        support_ticks_run(&s, 1);
        assert_int_equal(s.learner->scoring.selection.n, ROWS);
        assert_int_equal(seen.n_taught, kept[t]);
        assert_int_equal(seen.n_valued, 0);
        assert_true(s.learner->scoring.selection.rate == (t < 2 ? 0.5 : 0.125));
    }
    close_with_witness(&s);
}

/* A gate that draws by size weighs what it drew, the critic's rows as well, so that on average all count
 * alike. */
static void drawn_rows_weigh_back(void **state) {
    (void)state;
    enum { TICKS = 400 };
    support_ticks s;
    double rows = 0.0, entropy_weights = 0.0, value_weights = 0.0, taught = 0.0, valued = 0.0;
    open_with_witness(AGENTS, TEAMS, ENVS,
                      "gate: {mode: importance, rate: 0.25, warmup_experiences: 0}, value_rate: 0.5, "
                      "learning_rate: 0, critic_learning_rate: 0",
                      &s);
    for (int t = 0; t < TICKS; t++) {
        support_ticks_run(&s, 1);
        const double n = (double)s.learner->scoring.selection.n;
        assert_int_equal(seen.n_seen, s.learner->scoring.selection.n);
        assert_true((double)seen.n_taught < 0.25 * n + 1.0 && (double)seen.n_valued < 0.5 * n + 1.0);
        assert_true(seen.entropy_weights > 0.0 && seen.value_weights > 0.0);
        rows += n;
        taught += (double)seen.n_taught;
        valued += (double)seen.n_valued;
        entropy_weights += seen.entropy_weights;
        value_weights += seen.value_weights;
    }
    near(entropy_weights / rows, 0.25, 0.01);
    near(value_weights / rows, 0.5, 0.02);
    assert_true(taught > 0.2 * rows && valued > 0.4 * rows);
    close_with_witness(&s);
    open_with_witness(AGENTS, TEAMS, ENVS, "gate: {mode: top_k, rate: 0.25}, value_rate: 0.5", &s);
    support_ticks_run(&s, 1);
    assert_true(seen.entropy_weights < 0.0 && seen.value_weights < 0.0); /* nothing to weigh back */
    close_with_witness(&s);
}

/* One agent alone: its own quantile lets everything pass, the history of delights does not. */
static void a_stream_has_a_price(void **state) {
    (void)state;
    support_ticks s =
        support_ticks_open(1, 0, 1, "gate: {mode: threshold, rate: 0.2}, learning_rate: 0.0001");
    support_ticks_run(&s, 200);
    assert_int_equal(s.learner->teams[0].backward, 200);
    support_ticks_close(&s);
    s = support_ticks_open(
        1, 0, 1,
        "gate: {mode: threshold, rate: 0.2, min_keep: 0, warmup_experiences: 0, history: 64, "
        "history_min: 16}, learning_rate: 0.0001");
    support_ticks_run(&s, 400);
    const double backward = (double)s.learner->teams[0].backward;
    assert_true(backward > 40.0 && backward < 160.0);
    assert_true(s.learner->sums.ends[LUD_TICK_GATED_ALL] == 400.0 - backward);
    support_ticks_close(&s);
}

/* The gradient of what is kept is that of the whole batch with nothing for the rest; by the logits it is
 * coefficient (1[action] - p), so that of the output's bias is known. */
static void dropped_rows_are_out_of_the_backward_pass(void **state) {
    (void)state;
    support_ticks s = support_ticks_open(AGENTS, TEAMS, ENVS, "entropy_coefficient: 0");
    lud_tick_learner *l = s.learner;
    lud_error error = {0};
    support_ticks_run(&s, 4);
    lud_tick_stepping *t = &l->training;
    assert_int_equal(lud_tick_act(l, t, false, &error), LUD_OK);
    const int64_t n = t->rows.n;
    int32_t rows[ROWS], few[2] = {3, (int32_t)n - 1};
    float all[ROWS] = {0}, two[2] = {0.75f, -1.5f}, p[ROWS * SUPPORT_CHOICES];
    for (int32_t i = 0; i < n; i++) rows[i] = i;
    for (int k = 0; k < 2; k++) all[few[k]] = two[k];
    assert_int_equal(l->policy->kind->probabilities(l->policy, &t->rows, p, &error), LUD_OK);
    const int bias = lud_parameters_find(l->policy->parameters, "actor.out.bias"),
              weight = lud_parameters_find(l->policy->parameters, "actor.layer.0.weight");
    const int64_t n_weights = l->policy->parameters->items[weight].n;
    double gradient[2][SUPPORT_CHOICES], *deep[2], expected[SUPPORT_CHOICES] = {0};
    for (int pass = 0; pass < 2; pass++) {
        const lud_tick_lesson lesson = {
            .rows = &t->rows, .n = pass ? 2 : n, .row = pass ? few : rows, .coefficient = pass ? two : all};
        lud_tick_losses losses;
        lud_parameters_zero_gradients(l->policy->parameters);
        assert_int_equal(l->policy->kind->learn(l->policy, &lesson, &losses, &error), LUD_OK);
        lud_parameters_read_gradient(l->policy->parameters, bias, gradient[pass]);
        deep[pass] = calloc((size_t)n_weights, sizeof(double));
        lud_parameters_read_gradient(l->policy->parameters, weight, deep[pass]);
    }
    for (int k = 0; k < 2; k++)
        for (int j = 0; j < SUPPORT_CHOICES; j++)
            expected[j] += (double)two[k] *
                           ((t->choices.discrete[few[k]] == j) - (double)p[few[k] * SUPPORT_CHOICES + j]);
    for (int j = 0; j < SUPPORT_CHOICES; j++) {
        near(gradient[0][j], expected[j], 1e-5);
        near(gradient[1][j], expected[j], 1e-5);
    }
    double size = 0.0;
    for (int64_t i = 0; i < n_weights; i++) {
        near(deep[0][i], deep[1][i], 1e-5);
        size += fabs(deep[0][i]);
    }
    assert_true(size > 1e-4);
    free(deep[0]);
    free(deep[1]);
    support_ticks_close(&s);
}

/* ---- advantages with a critic ---- */

static void the_critic_stands_for_what_follows(void **state) {
    (void)state;
    support_ticks s = support_ticks_open(4, TEAMS, 2, "discount: 0.5, standardise: false");
    lud_tick_learner *l = s.learner;
    for (int t = 0; t < 2 * SUPPORT_STEPS; t++) {
        support_ticks_run(&s, 1);
        float before[8];
        memcpy(before, l->scoring.values, sizeof before);
        support_ticks_run(&s, 1);
        const lud_tick_stepping *a = &l->training;
        for (int64_t i = 0; i < a->rows.n; i++) {
            const int64_t e = a->rows.environment[i], at = e * 4 + a->rows.agent[i];
            const float next = a->truncated[e] ? l->scoring.final_values[at] : l->scoring.values[at];
            near(l->scoring.advantage[i], a->rewards[at] + 0.5f * next - before[at], 1e-6);
            if (a->truncated[e] && a->rows.agent[i] % 2 == 0) assert_true(next != 0.0f);
        }
    }
    support_ticks_close(&s);
    s = support_ticks_open(4, TEAMS, 2, "time_limits: discard");
    support_ticks_run(&s, SUPPORT_STEPS);
    assert_true(s.learner->sums.ends[LUD_TICK_NO_TRAINABLE] == 1.0); /* the last step of both */
    support_ticks_close(&s);
}

/* ---- memory ---- */

static void passes_of_few_rows_change_nothing(void **state) {
    (void)state;
    support_ticks whole = support_ticks_open(AGENTS, TEAMS, ENVS, "gate: {mode: soft, temperature: 1}"),
                  split = support_ticks_open(AGENTS, TEAMS, ENVS,
                                             "gate: {mode: soft, temperature: 1}, max_rows: 5");
    assert_int_equal(split.learner->policy->act_rows, 5);
    assert_int_equal(split.learner->policy->learn_rows, 5);
    for (int t = 0; t < 20; t++) {
        support_ticks_run(&whole, 1);
        support_ticks_run(&split, 1);
        assert_memory_equal(whole.learner->training.discrete, split.learner->training.discrete,
                            ROWS * sizeof(int32_t));
        near(whole.learner->scoring.selection.loss, split.learner->scoring.selection.loss, 1e-4);
    }
    const lud_parameters *a = whole.learner->policy->parameters, *b = split.learner->policy->parameters;
    for (int k = 0; k < a->n; k++) {
        double *x = calloc((size_t)a->items[k].n, sizeof *x), *y = calloc((size_t)a->items[k].n, sizeof *y);
        lud_parameters_read(a, k, x);
        lud_parameters_read(b, k, y);
        for (int64_t i = 0; i < a->items[k].n; i++) near(x[i], y[i], 1e-3);
        free(x);
        free(y);
    }
    support_ticks_close(&whole);
    support_ticks_close(&split);
}

/* ---- resuming ---- */

static void resuming_changes_no_bit(void **state) {
    (void)state;
    static const char *const options[] = {
        "ticks: 1000",
        "baseline: {type: warmup_then_ema, warmup: 400}, gate: {mode: top_k, rate: 0.2}",
        "baseline: {type: group_mean}, gate: {mode: bernoulli, rate: 0.2, temperature: 1}",
        "baseline: {type: expected_confidence}, optimiser: {type: apollo, rank: 2}",
        "gate: {mode: importance, rate: 0.2}, value_rate: 0.4",
        "value_rate: 0.3, normaliser: popart, training_teams: [blue], gate: {mode: threshold, rate: 0.3, "
        "history: 50, "
        "history_min: 10}"};
    for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
        support_ticks s = support_ticks_open(AGENTS, TEAMS, ENVS, options[k]);
        support_ticks_run(&s, 13);
        lud_error error = {0};
        double row[64];
        assert_true(s.learner->base.n_evaluation_columns <= 64);
        char folder[] = "/tmp/ludus-ticks-XXXXXX", path[64];
        assert_non_null(mkdtemp(folder));
        snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
        lud_checkpoint *checkpoint = lud_checkpoint_create();
        s.learner->base.kind->visit(&s.learner->base, checkpoint);
        assert_int_equal(lud_checkpoint_write(checkpoint, path, &error), LUD_OK);
        lud_checkpoint_destroy(checkpoint);
        const uint64_t then = support_ticks_hash(&s, NULL);
        assert_int_equal(lud_tick_evaluation_run(s.learner, row, &error), LUD_OK); /* disturbs nothing */
        assert_true(support_ticks_hash(&s, NULL) == then);
        support_ticks_run(&s, 15);
        const uint64_t expected = support_ticks_hash(&s, NULL);
        support_ticks_again(&s);
        assert_int_equal(lud_checkpoint_open(path, &checkpoint, &error), LUD_OK);
        s.learner->base.kind->visit(&s.learner->base, checkpoint);
        assert_int_equal(lud_checkpoint_status(checkpoint, &error), LUD_OK);
        lud_checkpoint_destroy(checkpoint);
        assert_true(support_ticks_hash(&s, NULL) == then);
        support_ticks_run(&s, 15);
        assert_true(support_ticks_hash(&s, NULL) == expected);
        support_ticks_close(&s);
        unlink(path);
        rmdir(folder);
    }
}

/* ---- acting in a run ---- */

/* The policy of a checkpoint in a cast does what the learner does, knows the same chances and values, and
 * lets the dead idle. */
static void runs_act_as_was_learned(void **state) {
    (void)state;
    support_ticks s = support_ticks_open(AGENTS, TEAMS, ENVS, "learning_rate: 0.01");
    support_ticks_run(&s, 24);
    lud_error error = {0};
    lud_cast *cast = support_ticks_join(&s);
    lud_tick_learner *l = s.learner;
    lud_tick_stepping *t = &l->training;
    const lud_range range = lud_batch_range(t->batch, 0, ENVS);
    uint8_t *hidden = calloc(ENVS, lud_cast_hidden_bytes(cast));
    int32_t discrete[ROWS];
    lud_cast_reset(cast, range, t->batch->states, hidden);
    lud_cast_act(cast, range, t->batch->states, t->sights[t->now].parts, hidden, discrete, NULL);
    assert_int_equal(lud_cast_check(cast, &error), LUD_OK);
    assert_int_equal(lud_tick_act(l, t, false, &error), LUD_OK);
    float p[ROWS * SUPPORT_CHOICES];
    assert_int_equal(l->policy->kind->probabilities(l->policy, &t->rows, p, &error), LUD_OK);
    int32_t expected[ROWS];
    for (int i = 0; i < ROWS; i++) expected[i] = SUPPORT_CHOICES - 1;
    for (int64_t i = 0; i < t->rows.n; i++) {
        const int64_t e = t->rows.environment[i], at = e * AGENTS + t->rows.agent[i];
        const uint8_t *here = t->batch->states + (size_t)e * s.model->base.layout.state_bytes;
        lud_policy *policy = lud_cast_get(cast, t->rows.agent[i]);
        double known[SUPPORT_CHOICES], sum = 0.0, value;
        expected[at] = t->choices.discrete[i];
        assert_true(lud_policy_distribution(policy, here, t->rows.agent[i], -1, known));
        for (int k = 0; k < SUPPORT_CHOICES; k++) {
            near(known[k], p[i * SUPPORT_CHOICES + k], 1e-5);
            sum += known[k];
        }
        near(sum, 1.0, 1e-9);
        assert_true(lud_policy_value(policy, here, t->rows.agent[i], &value));
        assert_true(isfinite(value) && value != 0.0);
    }
    assert_in_range(t->rows.n, 2, ROWS - 1);
    assert_memory_equal(discrete, expected, sizeof expected);
    free(hidden);
    lud_cast_destroy(cast);
    support_ticks_close(&s);
}

/* What a run publishes of a step is the delight that the gate compares, whatever rewards are compared with;
 * nothing of the dead, and nothing is written where nobody writes. */
static void runs_publish_delights(void **state) {
    (void)state;
    static const char *const options[] = {"normaliser: none, discount: 0.5",
                                          "normaliser: none, standardise: false",
                                          "baseline: {type: warmup_then_ema, update: tick}",
                                          "baseline: {type: group_mean}",
                                          "baseline: {type: expected_confidence}",
                                          "baseline: {type: zero}"};
    for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
        support_ticks s = support_ticks_open(AGENTS, TEAMS, 1, options[k]);
        support_ticks_run(&s, SUPPORT_STEPS + 3);
        s.learner->options.learning_rate = s.learner->options.critic_learning_rate = 0.0;
        support_ticks_run(&s, 1); /* what is expected is of the same weights */
        lud_cast *cast = support_ticks_join(&s);
        const lud_policy *policy = lud_cast_get(cast, 0);
        assert_string_equal(policy->kind->agent_number_name, "delight");
        assert_null(policy->kind->agent_text);
        const int n = support_ticks_compare_delights(&s, cast);
        assert_in_range(n, 2, AGENTS - 1);
        lud_cast_destroy(cast);
        support_ticks_close(&s);
    }
}

/* ---- metrics and learning ---- */

static double column(const lud_metric *columns, int n, const double *row, const char *name) {
    for (int k = 0; k < n; k++)
        if (strcmp(columns[k].name, name) == 0) return row[k];
    fail_msg("no column %s", name);
    return 0.0;
}

static void all_is_counted(void **state) {
    (void)state;
    support_ticks s = support_ticks_open(
        AGENTS, TEAMS, ENVS,
        "ticks: 40, ticks_per_iteration: 18, gate: {mode: top_k, rate: 0.25, warmup_experiences: 0}");
    lud_learner *l = &s.learner->base;
    lud_error error = {0};
    double *row = calloc((size_t)l->n_columns, sizeof *row);
    assert_int_equal(l->n_iterations, 3);
    assert_int_equal(l->kind->iterate(l, row, &error), LUD_OK);
#define AT(name) column(l->columns, l->n_columns, row, name)
    assert_true(AT("steps") == 18.0 * ENVS && AT("version") == 18.0);
    assert_true(AT("length") == SUPPORT_STEPS && AT("ended") == 0.0);
    near(AT("component/match") + AT("component/effort"), AT("reward"), 1e-6);
    near(AT("backward_rate"), AT("selected") / AT("scored"), 1e-9);
    assert_true(AT("backward_rate") > 0.2 && AT("backward_rate") < 0.3);
    assert_true(AT("experiences") == 18.0 * AT("scored"));
    const double teams = AT("team/red/reward") + AT("team/blue/reward") + AT("team/gray/reward");
    assert_true(fabs(teams / 3.0 - AT("reward")) < 0.2);
    assert_int_equal(l->kind->iterate(l, row, &error), LUD_OK);
    assert_int_equal(l->kind->iterate(l, row, &error), LUD_OK);
    assert_true(AT("steps") == 40.0 * ENVS);
#undef AT
    free(row);
    support_ticks_close(&s);
}

/* What a cue asks for is learned, with every baseline, and by way of the gate alone. */
static void cues_are_learned(void **state) {
    (void)state;
    static const char *const options[] = {
        "learning_rate: 0.01, discount: 0", "learning_rate: 0.01, baseline: {type: warmup_then_ema}",
        "learning_rate: 0.01, baseline: {type: expected_confidence}, gate: {mode: top_k, rate: 0.1}",
        "learning_rate: 0.01, baseline: {type: group_mean}, gate: {mode: delight, temperature: 1}"};
    for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
        support_ticks s = support_ticks_open(AGENTS, TEAMS, 4, options[k]);
        lud_error error = {0};
        double before[64], after[64];
        assert_int_equal(lud_tick_evaluation_run(s.learner, before, &error), LUD_OK);
        support_ticks_run(&s, 400);
        assert_int_equal(lud_tick_evaluation_run(s.learner, after, &error), LUD_OK);
        const lud_learner *l = &s.learner->base;
        const double first =
                         column(l->evaluation_columns, l->n_evaluation_columns, before, "evaluation/return"),
                     last =
                         column(l->evaluation_columns, l->n_evaluation_columns, after, "evaluation/return");
        double best = 0.0; /* 0.9 in every step that somebody takes part in */
        for (int i = 0; i < AGENTS; i++) best += 0.9 * (i % 2 ? 3 + i % 5 : SUPPORT_STEPS) / AGENTS;
        assert_true(last > 0.85 * best && first < 0.4 * best);
        near(column(l->evaluation_columns, l->n_evaluation_columns, after, "evaluation/component/match") +
                 column(l->evaluation_columns, l->n_evaluation_columns, after, "evaluation/component/effort"),
             last, 1e-5);
        support_ticks_close(&s);
    }
}

/* ---- mistakes ---- */

static void mistakes_are_named(void **state) {
    (void)state;
    static const struct {
        const char *options, *says;
    } cases[] = {{"training_teams: [green]", "no team 'green'"},
                 {"gate: {mode: top_k, rate: 0}", "learner.gate"},
                 {"policy: {encoder: graph}", "learner.encoder"},
                 {"optimiser: {rank: 4}", "rank"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        support_ticks s = support_ticks_open(2, TEAMS, 1, "ticks: 1");
        lud_error error = {0};
        lud_learner *learner = NULL;
        lud_tree *root = NULL;
        char text[256];
        snprintf(text, sizeof text, "learner: {type: ticks, %s}\n", cases[k].options);
        assert_int_equal(lud_tree_read_text(s.arena, "t.yaml", text, strlen(text), &root, &error), LUD_OK);
        s.scenario->learner = lud_tree_get(root, "learner");
        assert_int_not_equal(lud_learner_create(s.scenario, s.device, &learner, &error), LUD_OK);
        assert_non_null(strstr(error.text, cases[k].says));
        support_ticks_close(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(I1_one_version_draws_and_judges),
                                       cmocka_unit_test(I2_nobody_acts_with_the_next_version),
                                       cmocka_unit_test(I3_a_batch_is_its_rows),
                                       cmocka_unit_test(I4_order_is_that_of_agents),
                                       cmocka_unit_test(I5_the_gate_never_touches_the_world),
                                       cmocka_unit_test(I6_a_tick_may_change_nothing),
                                       cmocka_unit_test(the_dead_are_left_out),
                                       cmocka_unit_test(only_training_teams_are_learned_from),
                                       cmocka_unit_test(failures_cost_who_learns),
                                       cmocka_unit_test(the_silent_are_not_scored_but_their_rewards_count),
                                       cmocka_unit_test(rates_and_prices_are_those_in_force),
                                       cmocka_unit_test(drawn_rows_weigh_back),
                                       cmocka_unit_test(a_stream_has_a_price),
                                       cmocka_unit_test(dropped_rows_are_out_of_the_backward_pass),
                                       cmocka_unit_test(the_critic_stands_for_what_follows),
                                       cmocka_unit_test(passes_of_few_rows_change_nothing),
                                       cmocka_unit_test(resuming_changes_no_bit),
                                       cmocka_unit_test(runs_act_as_was_learned),
                                       cmocka_unit_test(runs_publish_delights),
                                       cmocka_unit_test(all_is_counted),
                                       cmocka_unit_test(cues_are_learned),
                                       cmocka_unit_test(mistakes_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
