/* Acting on an exact solution; the options of the exact solver, and policies that become its hooks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "folder.h"
#include "learn/empo/exact/options.h"
#include "learn/empo/exact/solution.h"
#include "learn/empo/exact/solution_policy.h"
#include "learn/empo/exact/support_solved.h"

TEST_FOLDER("/tmp/ludus-empo-acting-XXXXXX")

/* The upper end of chi-square with n degrees of freedom that chance passes once in a million (Wilson and
 * Hilferty). */
static double chi_square_limit(int n) {
    double a = 2.0 / (9.0 * n);
    return n * pow(1 - a + 4.75 * sqrt(a), 3);
}

static void robots_draw_together(void **context) {
    (void)context;
    enum { N = 20000 };
    support_solved s = support_solve(51, 1, 2, false);
    support_write(&s, in_folder("solution.empo"));
    lud_empo_solution *solution;
    lud_policy *policy[3]; /* one for everybody, and one for each robot as a cast has it */
    lud_error error = {0};
    assert_int_equal(lud_empo_solution_open(in_folder("solution.empo"), &solution, &error), LUD_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(lud_empo_solution_policy_create(solution, &s.m->base, &policy[i], &error), LUD_OK);
    const lud_empo_layout *layout = &s.problem->layout;
    uint32_t *tick = malloc(N * sizeof *tick);
    uint8_t *states = malloc(N * 2);
    int32_t *together = malloc(N * 3 * sizeof *together), *apart = malloc(N * 3 * sizeof *apart);
    int32_t *goals = malloc(N * 3 * sizeof *goals);
    uint64_t at = 0; /* a state in which the policy is far from even */
    double best = 0;
    for (uint64_t i = 0; i < s.space->n_states; i++)
        for (int k = 0; k < layout->n_robot_actions && !lud_statespace_terminal(s.space, i); k++) {
            double p = s.records[i * (uint64_t)layout->record_doubles + (uint64_t)(layout->pi_r + k)];
            if (p > best) at = i;
            if (p > best) best = p;
        }
    const double *record = s.records + at * (uint64_t)layout->record_doubles;
    for (int e = 0; e < N; e++) {
        tick[e] = 7;
        memcpy(states + 2 * e, s.space->states + 2 * at, 2);
        for (int i = 0; i < 3; i++) goals[3 * e + i] = i == layout->humans[0] ? 1 : -1;
    }
    lud_act act = {.model = &s.m->base,
                   .range = {.seed = 3, .n = N, .tick = tick},
                   .states = states,
                   .goals = goals,
                   .goal_stride = 3,
                   .agents = (const int[]){0, 1, 2},
                   .n_agents_acting = 3,
                   .discrete = together};
    policy[0]->kind->act(policy[0], &act);
    act.discrete = apart;
    act.n_agents_acting = 1;
    for (int i = 0; i < 3; i++) {
        act.agents = &i;
        policy[i == layout->robots[0] ? 1 : 2]->kind->act(policy[i == layout->robots[0] ? 1 : 2], &act);
    }
    assert_memory_equal(together, apart, N * 3 * sizeof *together);
    double counts[64] = {0}, people[TABLE_MAX_ACTIONS] = {0}, distance = 0, human_distance = 0;
    for (int e = 0; e < N; e++) {
        counts[lud_empo_robot_action(layout, &s.m->base, together + 3 * e)]++;
        people[together[3 * e + layout->humans[0]]]++;
    }
    for (int k = 0; k < layout->n_robot_actions; k++) {
        double expected = N * record[layout->pi_r + k];
        distance += (counts[k] - expected) * (counts[k] - expected) / expected;
    }
    int n_actions = layout->n_human_actions[0];
    for (int a = 0; a < n_actions; a++) { /* the person acts for the goal it has */
        double expected = N * record[layout->policies + n_actions + a];
        if (expected > 0)
            human_distance += (people[a] - expected) * (people[a] - expected) / expected;
        else
            assert_true(people[a] == 0);
    }
    assert_true(distance < chi_square_limit(layout->n_robot_actions - 1));
    assert_true(human_distance < chi_square_limit(n_actions - 1));

    double pi_r[64];
    policy[0]->kind->joint(policy[0], s.space->states + 2 * at, pi_r);
    assert_memory_equal(pi_r, record + layout->pi_r, (size_t)layout->n_robot_actions * sizeof *pi_r);
    policy[0]->kind->joint(policy[0], (const uint8_t[]){255, 255}, pi_r); /* not in the solution */
    for (int k = 0; k < layout->n_robot_actions; k++)
        support_assert_close(pi_r[k], 1.0 / layout->n_robot_actions);

    support_solved other = support_solve(52, 2, 1, false); /* the same number of agents in other roles */
    lud_policy *refused_policy;
    assert_int_equal(lud_empo_solution_policy_create(solution, &other.m->base, &refused_policy, &error),
                     LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "another world"));
    support_release(&other);
    /* each number that a record's shape follows from */
    for (int field = 0; field < 7; field++) {
        lud_empo_header otherwise = *solution->header;
        lud_empo_solution of_another = *solution;
        of_another.header = &otherwise;
        otherwise.state_bytes += field == 0;
        otherwise.record_doubles += field == 1;
        otherwise.n_humans += field == 2;
        otherwise.n_robots += field == 3;
        otherwise.n_goals += field == 4;
        otherwise.n_robot_actions += field == 5;
        otherwise.policies += field == 6;
        assert_int_equal(lud_empo_solution_policy_create(&of_another, &s.m->base, &refused_policy, &error),
                         LUD_ERROR_INPUT);
        assert_null(refused_policy);
    }
    lud_action_space *own = &s.m->actions[layout->humans[0]];
    for (int n = 256; n <= 257; n++) { /* the most, and one more */
        own->n_discrete = n;
        lud_empo_layout many;
        assert_int_equal(lud_empo_layout_find(&s.m->base, &many, &error), LUD_OK);
        lud_empo_header header = *solution->header;
        header.record_doubles = (uint64_t)many.record_doubles;
        header.n_policies = (uint32_t)many.policy_begin[many.n_humans];
        lud_empo_solution of_many = *solution;
        of_many.header = &header;
        of_many.n_sharers = 1;
        const lud_status status =
            lud_empo_solution_policy_create(&of_many, &s.m->base, &refused_policy, &error);
        assert_int_equal(status, n > 256 ? LUD_ERROR_UNSUPPORTED : LUD_OK);
        if (status) assert_string_equal(error.text, "an agent has more than 256 actions");
        lud_policy_destroy(refused_policy);
    }
    own->n_discrete = layout->n_human_actions[0];
    for (int i = 0; i < 3; i++) lud_policy_destroy(policy[i]);
    lud_empo_solution_close(solution);
    free(tick);
    free(states);
    free(together);
    free(apart);
    free(goals);
    support_release(&s);
}

/* In every state: a person's choices are those for the goal that it has, whichever it is, and over all its
 * goals by their weights where it has none or one that there is not; a robot's are its part of the joint
 * ones; where the world ends anything is as likely. */
static void everybody_has_choices_in_every_state(void **context) {
    (void)context;
    support_solved s = support_solve(53, 2, 1, false);
    support_write(&s, in_folder("choices.empo"));
    lud_empo_solution *solution;
    lud_policy *policy;
    lud_error error = {0};
    assert_int_equal(lud_empo_solution_open(in_folder("choices.empo"), &solution, &error), LUD_OK);
    assert_int_equal(lud_empo_solution_policy_create(solution, &s.m->base, &policy, &error), LUD_OK);
    const lud_empo_layout *layout = &s.problem->layout;
    for (uint64_t i = 0; i < s.space->n_states; i++) {
        const bool ends = lud_statespace_terminal(s.space, i);
        const uint8_t *state = s.space->states + 2 * i;
        const double *record = s.records + i * (uint64_t)layout->record_doubles;
        for (int agent = 0; agent < s.m->base.layout.n_agents; agent++) {
            const int n = s.m->actions[agent].n_discrete, h = lud_empo_person_of(layout, agent),
                      n_goals = h < 0 ? 0 : lud_empo_goals_of(layout, h);
            for (int goal = -1; goal <= n_goals; goal++) {
                double p[TABLE_MAX_ACTIONS], expected[TABLE_MAX_ACTIONS];
                assert_true(lud_policy_distribution(policy, state, agent, goal, p));
                if (h < 0)
                    lud_empo_robot_part(layout, &s.m->base, record + layout->pi_r, agent, expected);
                else if (goal >= 0 && goal < n_goals)
                    memcpy(expected, record + layout->policies + layout->policy_begin[h] + goal * n,
                           (size_t)n * sizeof *expected);
                else
                    lud_empo_marginal_of(layout, s.problem->goal_weight, record, h, expected);
                for (int a = 0; a < n; a++) assert_true(p[a] == (ends ? 1.0 / n : expected[a]));
            }
        }
    }
    lud_policy_destroy(policy);
    lud_empo_solution_close(solution);
    support_release(&s);
}

/* What is done is told with how likely it was: of a robot with its part of the joint choice. */
static void what_is_done_is_as_likely_as_told(void **context) {
    (void)context;
    enum { AGENTS = 3 };
    support_solved s = support_solve(51, 1, 2, false);
    support_write(&s, in_folder("likely.empo"));
    lud_empo_solution *solution;
    lud_policy *policy;
    lud_error error = {0};
    assert_int_equal(lud_empo_solution_open(in_folder("likely.empo"), &solution, &error), LUD_OK);
    assert_int_equal(lud_empo_solution_policy_create(solution, &s.m->base, &policy, &error), LUD_OK);
    const int n = (int)s.space->n_states;
    uint32_t *tick = calloc((size_t)n, sizeof *tick);
    int32_t *actions = malloc((size_t)n * AGENTS * sizeof *actions);
    float *log_prob = malloc((size_t)n * AGENTS * sizeof *log_prob);
    lud_act act = {.model = &s.m->base,
                   .range = {.seed = 3, .n = n, .tick = tick},
                   .states = s.space->states,
                   .agents = (const int[]){0, 1, 2},
                   .n_agents_acting = AGENTS,
                   .discrete = actions,
                   .log_prob = log_prob};
    policy->kind->act(policy, &act);
    for (int i = 0; i < n * AGENTS; i++) {
        double p[TABLE_MAX_ACTIONS];
        assert_true(lud_policy_distribution(policy, s.space->states + 2 * (i / AGENTS), i % AGENTS, -1, p));
        assert_true(fabs(exp((double)log_prob[i]) - p[actions[i]]) < 1e-6);
    }
    /* whoever does not ask what is done is told the same */
    float *again = malloc((size_t)n * AGENTS * sizeof *again);
    act.discrete = NULL;
    act.log_prob = again;
    policy->kind->act(policy, &act);
    assert_memory_equal(again, log_prob, (size_t)n * AGENTS * sizeof *again);
    free(again);
    free(tick);
    free(actions);
    free(log_prob);
    lud_policy_destroy(policy);
    lud_empo_solution_close(solution);
    support_release(&s);
}

/* In a state that the solution does not have everybody does anything as often; and whoever asks only how
 * likely what is done would be gets that. */
static void everybody_acts_in_states_that_are_unknown(void **context) {
    (void)context;
    enum { N = 3000, AGENTS = 3 };
    support_solved s = support_solve(53, 2, 1, false);
    support_write(&s, in_folder("unknown.empo"));
    lud_empo_solution *solution;
    lud_policy *policy;
    lud_error error = {0};
    assert_int_equal(lud_empo_solution_open(in_folder("unknown.empo"), &solution, &error), LUD_OK);
    assert_int_equal(lud_empo_solution_policy_create(solution, &s.m->base, &policy, &error), LUD_OK);
    uint32_t *tick = calloc(N, sizeof *tick);
    uint8_t *states = malloc(N * 2);
    int32_t *actions = malloc(N * AGENTS * sizeof *actions);
    float *log_prob = malloc(N * AGENTS * sizeof *log_prob);
    memset(states, 0xff, N * 2);
    lud_act act = {.model = &s.m->base,
                   .range = {.seed = 3, .n = N, .tick = tick},
                   .states = states,
                   .agents = (const int[]){0, 1, 2},
                   .n_agents_acting = AGENTS,
                   .discrete = actions};
    policy->kind->act(policy, &act);
    for (int agent = 0; agent < AGENTS; agent++) {
        const int n = s.m->actions[agent].n_discrete;
        int times[TABLE_MAX_ACTIONS] = {0};
        for (int e = 0; e < N; e++) {
            assert_in_range(actions[AGENTS * e + agent], 0, n - 1);
            times[actions[AGENTS * e + agent]]++;
        }
        for (int a = 0; a < n; a++) assert_in_range(times[a], N / n - N / 10, N / n + N / 10);
    }
    act.discrete = NULL;
    act.log_prob = log_prob;
    policy->kind->act(policy, &act);
    for (int i = 0; i < N * AGENTS; i++) assert_true(fabs(exp((double)log_prob[i]) - 1.0 / 3) < 1e-6);
    free(tick);
    free(states);
    free(actions);
    free(log_prob);
    lud_policy_destroy(policy);
    lud_empo_solution_close(solution);
    support_release(&s);
}

static lud_status read_options(lud_arena *arena, const char *text, lud_empo_exact_options *options,
                               lud_error *error) {
    lud_tree *tree;
    lud_status status = lud_tree_read_text(arena, "test.yaml", text, strlen(text), &tree, error);
    return status ? status : lud_empo_exact_read(arena, tree, options, error);
}

static void options_are_checked(void **context) {
    (void)context;
    static const char *const wrong[][2] = {
        {"type: mappo", "learner of type mappo"},
        {"{type: empo-exact, beta_h: -1}", "beta_h"},
        {"{type: empo-exact, zeta: 0.5}", "zeta"},
        {"{type: empo-exact, gamma_h: 0.9, rho_h: 0.1}", "rho_h"},
        {"{type: empo-exact, nu_h: 0.2}", "no `habit:`"},
        {"{type: empo-exact, beta_e: 2}", "did you mean"},
        {"{type: empo-exact, aggregate: median}", "aggregate"},
    };
    lud_arena *arena = lud_arena_create(0);
    lud_empo_exact_options options;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        lud_error error = {0};
        assert_int_equal(read_options(arena, wrong[i][0], &options, &error), LUD_ERROR_INPUT);
        if (!strstr(error.text, wrong[i][1]) || !strstr(error.text, "test.yaml"))
            fail_msg("%s: '%s'", wrong[i][0], error.text);
    }
    lud_error error = {0};
    /* another learner's section gives its theory and nothing else */
    assert_int_equal(read_options(arena,
                                  "{type: empo-neural, beta_r: 7, hidden: 12, nu_h: 0.5, habit: random}",
                                  &options, &error),
                     LUD_OK);
    assert_true(options.theory.beta_r == 7 && options.theory.nu_h == 0.5 && options.habit);
    assert_int_equal(read_options(arena, "{type: empo-exact, rho_r: 0.1, beta_h: .inf}", &options, &error),
                     LUD_OK);
    support_assert_close(options.theory.gamma_r, exp(-0.1));
    assert_true(isinf(options.theory.beta_h));
    assert_int_equal(lud_empo_exact_read(arena, NULL, &options, &error), LUD_OK);
    assert_true(options.theory.beta_r == 10 && !options.habit && !options.belief);
    lud_arena_destroy(arena);
}

/* Hooks made of ordinary policies give their distributions: here the uniform one, which as a belief is the
 * default and as habit and robot policy has the value that the theory gives it. */
static void policies_become_hooks(void **context) {
    (void)context;
    support_solved s = support_solve(61, 2, 1, false);
    const lud_empo_layout *layout = &s.problem->layout;
    lud_arena *arena = lud_arena_create(0);
    lud_error error = {0};
    lud_tree *tree;
    lud_policy *uniform;
    assert_int_equal(lud_tree_read_text(arena, "test", "random", 6, &tree, &error), LUD_OK);
    assert_int_equal(lud_policy_create(&s.m->base, tree, "test", &uniform, &error), LUD_OK);
    lud_policy *const robots[] = {uniform}; /* of the only one */
    lud_empo_policies policies = {
        .model = &s.m->base, .layout = *layout, .habit = uniform, .belief = uniform, .robots = robots};
    lud_empo_hooks hooks;
    lud_empo_policies_hook(&policies, &hooks);
    double row[256];
    for (int h = 0; h < layout->n_humans; h++)
        for (int a = 0; a < layout->n_human_actions[h]; a++) {
            double total = 0;
            hooks.belief(hooks.context, s.space->states, h, a, row);
            for (int profile = 0; profile < layout->n_human_profiles; profile++) {
                bool own = lud_empo_own_action(layout, h, profile) == a;
                support_assert_close(row[profile], own ? 1.0 / layout->n_human_actions[1 - h] : 0);
                total += row[profile];
            }
            support_assert_close(total, 1);
        }
    hooks.habit(hooks.context, 0, s.space->states, row);
    for (int i = 0; i < layout->policy_begin[layout->n_humans]; i++) support_assert_close(row[i], 1.0 / 3);
    hooks.robot(hooks.context, 0, s.space->states, row);
    for (int k = 0; k < layout->n_robot_actions; k++) support_assert_close(row[k], 1.0 / 3);

    /* as a belief it changes nothing */
    double *records = calloc(s.space->n_states * (uint64_t)layout->record_doubles, sizeof *records);
    policies.habit = NULL;
    policies.robots = NULL;
    lud_empo_policies_hook(&policies, &hooks);
    assert_null(hooks.habit);
    assert_null(hooks.robot);
    lud_empo_run run = {.records = records, .hooks = &hooks, .first_level = INT32_MAX};
    assert_int_equal(lud_empo_solve(s.problem, &run, &error), LUD_OK);
    for (uint64_t i = 0; i < s.space->n_states * (uint64_t)layout->record_doubles; i++)
        support_assert_close(records[i], s.records[i]);
    free(records);
    lud_policy_destroy(uniform);
    lud_arena_destroy(arena);
    support_release(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(robots_draw_together),
        cmocka_unit_test(everybody_has_choices_in_every_state),
        cmocka_unit_test(what_is_done_is_as_likely_as_told),
        cmocka_unit_test(everybody_acts_in_states_that_are_unknown),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(policies_become_hooks),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
