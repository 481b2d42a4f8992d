/* Stepping in ticks: who idles, sums of episodes, the time that it takes; evaluations, which are the same
 * episodes as their policy has in a run of its own, and as many as were asked for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "agents/rollout.h"
#include "base/clock.h"
#include "learn/ticks/evaluation.h"
#include "learn/ticks/support_ticks.h"

enum { AGENTS = 12, TEAMS = 3, ENVS = 2, COMPONENTS = 2 };

/* ---- episodes in progress ---- */

/* Sums of episodes begin anew for every team, component and measure, and nothing behind them is touched. */
static void sums_of_episodes_begin_anew(void **state) {
    (void)state;
    enum { N_TEAMS = 3, N_COMPONENTS = 2, N_MEASURES = 4 };
    double teams[N_TEAMS + 1], components[N_COMPONENTS + 1], measures[N_MEASURES + 1];
    lud_model model = {
        .layout = {.n_teams = N_TEAMS, .n_components = N_COMPONENTS, .n_measures = N_MEASURES}};
    lud_batch batch = {.model = &model};
    for (int n_teams = 0; n_teams <= N_TEAMS; n_teams++) {
        for (int k = 0; k <= N_TEAMS; k++) teams[k] = 7;
        for (int k = 0; k <= N_COMPONENTS; k++) components[k] = 7;
        for (int k = 0; k <= N_MEASURES; k++) measures[k] = 7;
        model.layout.n_teams = n_teams;
        lud_tick_stepping s = {.batch = &batch, .episodes = {3, 2, 1, teams, components, measures}};
        lud_tick_clear_episodes(&s);
        assert_true(s.episodes.n == 0 && s.episodes.returns == 0 && s.episodes.ended == 0);
        const int all = n_teams > 0 ? n_teams : 1; /* without teams all are one */
        for (int k = 0; k <= N_TEAMS; k++) assert_true(teams[k] == (k < all ? 0 : 7));
        for (int k = 0; k <= N_COMPONENTS; k++) assert_true(components[k] == (k < N_COMPONENTS ? 0 : 7));
        for (int k = 0; k <= N_MEASURES; k++) assert_true(measures[k] == (k < N_MEASURES ? 0 : 7));
    }
}

/* The choice that does nothing, whichever it is; the first where there is none. */
static void the_idle_do_nothing(void **state) {
    (void)state;
    static const int idle[] = {0, 1, 7, -1};
    const lud_layout layout = {.n_agents = 4, .idle = idle}, none = {.n_agents = 4};
    static const int expected[] = {0, 1, 7, 0};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(lud_tick_idle(&layout, i), expected[i]);
        assert_int_equal(lud_tick_idle(&none, i), 0);
    }
}

/* Stages of a tick take no more time than the iteration, in each of several. */
static void times_are_of_the_iteration(void **state) {
    (void)state;
    enum { TICKS = 20 };
    support_ticks s = support_ticks_open(AGENTS, TEAMS, ENVS, "ticks: 100, ticks_per_iteration: 20");
    lud_learner *l = &s.learner->base;
    for (int i = 0; i < 5; i++) {
        double row[LUD_TICK_COLUMNS + 32], sum = 0;
        lud_error error = {0};
        const double began = lud_clock_seconds();
        if (l->kind->iterate(l, row, &error)) fail_msg("%s", error.text);
        const double took = lud_clock_seconds() - began;
        for (int k = 0; k < LUD_TICK_STAGES; k++) {
            assert_true(row[LUD_TICK_ACT_TIME + k] >= 0);
            sum += TICKS * row[LUD_TICK_ACT_TIME + k] / 1000;
        }
        assert_true(sum > 0 && sum <= took);
        assert_true(row[LUD_TICK_SPEED] >= TICKS * ENVS / took);
    }
    support_ticks_close(&s);
}

/* ---- evaluations ---- */

/* What an evaluation tells of, added up from the policy of the learner's checkpoint in a run of its own. */
typedef struct expected {
    double returns, teams[TEAMS], components[COMPONENTS];
} expected;

static void play(support_ticks *s, int wanted, expected *x) {
    lud_cast *cast = support_ticks_join(s);
    lud_runner runner = {0};
    lud_error error = {0};
    double now[ENVS][AGENTS] = {{0}}, parts[ENVS][COMPONENTS] = {{0}};
    int left[ENVS], n = 0;
    if (lud_runner_create(&s->model->base, cast, ENVS, s->learner->seed, LUD_TICK_FIRST_EVALUATED, &runner,
                          &error))
        fail_msg("%s", error.text);
    *x = (expected){0};
    for (int e = 0; e < ENVS; e++) left[e] = wanted / ENVS + (e < wanted % ENVS);
    lud_runner_start(&runner);
    while (n < wanted) {
        lud_runner_step(&runner);
        for (int e = 0; e < ENVS; e++) {
            for (int a = 0; a < AGENTS; a++) {
                now[e][a] += (double)runner.rewards[e * AGENTS + a];
                for (int k = 0; k < COMPONENTS; k++)
                    parts[e][k] += (double)runner.components[(e * AGENTS + a) * COMPONENTS + k] / AGENTS;
            }
            if (!runner.terminated[e] && !runner.truncated[e]) continue;
            for (int a = 0; a < AGENTS && left[e] > 0; a++) {
                x->returns += now[e][a] / AGENTS / wanted;
                x->teams[a % TEAMS] += now[e][a] / (AGENTS / TEAMS) / wanted;
            }
            for (int k = 0; k < COMPONENTS && left[e] > 0; k++) x->components[k] += parts[e][k] / wanted;
            for (int a = 0; a < AGENTS; a++) now[e][a] = 0;
            for (int k = 0; k < COMPONENTS; k++) parts[e][k] = 0;
            n += left[e]-- > 0;
        }
        lud_runner_renew(&runner);
    }
    lud_runner_destroy(&runner);
    lud_cast_destroy(cast);
}

/* Each environment has its share of the episodes, whichever ends first; returns are means over all agents,
 * over those of a team, and by their parts; another evaluation is the same. */
static void evaluations_are_runs(void **state) {
    (void)state;
    for (int wanted = 1; wanted < 8; wanted++)
        for (int deterministic = 0; deterministic < 2; deterministic++) {
            char options[128];
            double row[32], again[32];
            lud_error error = {0};
            expected x;
            snprintf(options, sizeof options,
                     "learning_rate: 0.01, evaluation_episodes: %d, deterministic: %s", wanted,
                     deterministic ? "true" : "false");
            support_ticks s = support_ticks_open(AGENTS, TEAMS, ENVS, options);
            support_ticks_run(&s, 7);
            if (lud_tick_evaluation_run(s.learner, row, &error)) fail_msg("%s", error.text);
            play(&s, wanted, &x);
            assert_true(s.learner->evaluation.episodes.n == wanted);
            assert_true(fabs(row[LUD_TICK_EVALUATION_RETURN] - x.returns) < 1e-9);
            assert_true(row[LUD_TICK_EVALUATION_ENDED] == 0); /* they are cut off */
            const double *behind = row + LUD_TICK_EVALUATION_COLUMNS;
            assert_true(behind[0] == SUPPORT_STEPS); /* the length */
            for (int k = 0; k < TEAMS; k++) assert_true(fabs(behind[1 + k] - x.teams[k]) < 1e-9);
            for (int k = 0; k < COMPONENTS; k++)
                assert_true(fabs(behind[1 + TEAMS + k] - x.components[k]) < 1e-9);
            if (lud_tick_evaluation_run(s.learner, again, &error)) fail_msg("%s", error.text);
            for (int k = 0; k < s.learner->base.n_evaluation_columns; k++) assert_true(row[k] == again[k]);
            support_ticks_close(&s);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_idle_do_nothing), cmocka_unit_test(sums_of_episodes_begin_anew),
        cmocka_unit_test(times_are_of_the_iteration), cmocka_unit_test(evaluations_are_runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
