/* Backward induction against an independent recursive solver on random games, and identities of the theory.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/empo/exact/exact.h"
#include "learn/empo/exact/support_table_world.h"

/* ---- a slow solver: plain recursion with memory, written from the paper's equations ---- */

enum { MAX_H = TABLE_MAX_AGENTS, MAX_A = TABLE_MAX_ACTIONS, MAX_G = TABLE_MAX_GOALS };

typedef struct slow_state {
    bool known;
    double v_m[MAX_H][MAX_G], v_e[MAX_H][MAX_G], pi_h[MAX_H][MAX_G][MAX_A], x[MAX_H];
    double u, v, q_r[TABLE_MAX_JOINT], pi_r[TABLE_MAX_JOINT];
} slow_state;

typedef struct slow {
    const table_model *m;
    lud_empo_theory theory;
    double w;
    slow_state *states;
    bool believes; /* people expect the others to act by belief_in(), else uniformly */
} slow;

/* Made-up habits and beliefs, different for every state and person. */
static double share(int s, int h, int g, int a, int n) {
    double sum = 0;
    for (int b = 0; b < n; b++) sum += 1 + (s * 7 + h * 5 + g * 3 + b * b + b) % 4;
    return (1 + (s * 7 + h * 5 + g * 3 + a * a + a) % 4) / sum;
}
static double habit_of(const table_model *m, int s, int h, int g, int a) {
    return share(s, h, g, a, m->actions[h].n_discrete);
}
/* what h expects of `other` when doing `own` */
static double belief_in(const table_model *m, int s, int h, int own, int other, int a) {
    return share(s + own, h, other, a, m->actions[other].n_discrete);
}

static void decode(const table_model *m, int k, int *a) {
    for (int i = 0; i < m->base.layout.n_agents; i++) {
        a[i] = k % m->actions[i].n_discrete;
        k /= m->actions[i].n_discrete;
    }
}

/* index of the robots' part of a joint action, last robot fastest */
static int robots_of(const table_model *m, const int *a) {
    int r = 0;
    for (int i = 0; i < m->base.layout.n_agents; i++)
        if (m->roles[i] == LUD_ROLE_ROBOT) r = r * m->actions[i].n_discrete + a[i];
    return r;
}

static slow_state *visit(slow *w, int s);

static double expect_goal(slow *w, int s, int k, int h, int g, bool effective) {
    double sum = 0;
    for (int i = 0; i < w->m->n_out[s][k]; i++) {
        int next = w->m->out[s][k][i];
        slow_state *later = visit(w, next);
        double value = w->theory.gamma_h * (effective ? later->v_e[h][g] : later->v_m[h][g]);
        if (w->m->achieved[next][h][g]) value = 1;
        sum += w->m->probability[s][k][i] * value;
    }
    return sum;
}

static void slow_phase_1(slow *w, int s, int h) {
    const table_model *m = w->m;
    slow_state *state = &w->states[s];
    int n_agents = m->base.layout.n_agents, n_actions = m->actions[h].n_discrete;
    for (int g = 0; g < m->n_goals; g++) {
        double q[MAX_A] = {0};
        for (int a = 0; a < n_actions; a++) {
            /* every choice of the other people, and within it the worst (best) robot choice */
            int n_others = 0;
            double total = 0;
            for (int k = 0; k < m->n_joint; k++) {
                int act[TABLE_MAX_AGENTS];
                decode(m, k, act);
                bool first = act[h] == a; /* representative of its human profile: all robots at action 0 */
                for (int i = 0; i < n_agents; i++) first &= m->roles[i] == LUD_ROLE_HUMAN || act[i] == 0;
                if (!first) continue;
                double best = 0;
                bool any = false;
                for (int j = 0; j < m->n_joint; j++) {
                    int other[TABLE_MAX_AGENTS];
                    decode(m, j, other);
                    bool same = true;
                    for (int i = 0; i < n_agents; i++)
                        same &= m->roles[i] == LUD_ROLE_ROBOT || other[i] == act[i];
                    if (!same) continue;
                    double value = expect_goal(w, s, j, h, g, false);
                    if (!any || (w->theory.optimistic ? value > best : value < best)) best = value;
                    any = true;
                }
                double weight = 1;
                for (int i = 0; i < n_agents && w->believes; i++)
                    if (i != h && m->roles[i] == LUD_ROLE_HUMAN) weight *= belief_in(m, s, h, a, i, act[i]);
                total += weight * best;
                n_others++;
            }
            q[a] = w->believes ? total : total / n_others;
        }
        double *pi = state->pi_h[h][g], sum = 0, top = -INFINITY;
        for (int a = 0; a < n_actions; a++) top = fmax(top, q[a]);
        for (int a = 0; a < n_actions; a++) {
            pi[a] = isinf(w->theory.beta_h) ? (q[a] >= top) : exp(w->theory.beta_h * (q[a] - top));
            sum += pi[a];
        }
        state->v_m[h][g] = 0;
        for (int a = 0; a < n_actions; a++) {
            pi[a] = m->achieved[s][h][g] ? (a == 0) : pi[a] / sum;
            if (w->theory.nu_h > 0)
                pi[a] = w->theory.nu_h * habit_of(m, s, h, g, a) + (1 - w->theory.nu_h) * pi[a];
            if (!m->achieved[s][h][g]) state->v_m[h][g] += pi[a] * q[a];
        }
    }
}

static double marginal(const slow *w, int s, int h, int a) {
    double up = 0, down = 0;
    for (int g = 0; g < w->m->n_goals; g++) {
        up += w->m->weight[h][g] * w->states[s].pi_h[h][g][a];
        down += w->m->weight[h][g];
    }
    return up / down;
}

static slow_state *visit(slow *w, int s) {
    const table_model *m = w->m;
    slow_state *state = &w->states[s];
    if (state->known) return state;
    state->known = true;
    if (m->n_out[s][0] == 0) {
        state->v = w->theory.terminal_value;
        return state;
    }
    int n_agents = m->base.layout.n_agents, n_robot = 1, n_humans = 0;
    for (int i = 0; i < n_agents; i++) {
        if (m->roles[i] == LUD_ROLE_ROBOT) n_robot *= m->actions[i].n_discrete;
        n_humans += m->roles[i] == LUD_ROLE_HUMAN;
    }
    for (int h = 0; h < n_agents; h++)
        if (m->roles[h] == LUD_ROLE_HUMAN) slow_phase_1(w, s, h);
    for (int k = 0; k < m->n_joint; k++) {
        int a[TABLE_MAX_AGENTS];
        decode(m, k, a);
        double p = 1, value = 0;
        for (int i = 0; i < n_agents; i++)
            if (m->roles[i] == LUD_ROLE_HUMAN) p *= marginal(w, s, i, a[i]);
        for (int i = 0; i < m->n_out[s][k]; i++)
            value += m->probability[s][k][i] * w->theory.gamma_r * visit(w, m->out[s][k][i])->v;
        state->q_r[robots_of(m, a)] += p * value;
    }
    double sum = 0;
    for (int r = 0; r < n_robot; r++) sum += state->pi_r[r] = pow(-state->q_r[r], -w->theory.beta_r);
    for (int r = 0; r < n_robot; r++) state->pi_r[r] /= sum;
    double y = 0;
    for (int h = 0; h < n_agents; h++) {
        if (m->roles[h] != LUD_ROLE_HUMAN) continue;
        for (int g = 0; g < m->n_goals; g++) {
            for (int k = 0; k < m->n_joint; k++) {
                int a[TABLE_MAX_AGENTS];
                decode(m, k, a);
                double p = state->pi_r[robots_of(m, a)];
                for (int i = 0; i < n_agents; i++)
                    if (m->roles[i] == LUD_ROLE_HUMAN)
                        p *= i == h ? state->pi_h[h][g][a[i]] : marginal(w, s, i, a[i]);
                state->v_e[h][g] += p * expect_goal(w, s, k, h, g, true);
            }
            state->x[h] += m->weight[h][g] * pow(state->v_e[h][g], w->theory.zeta);
        }
        y += pow(state->x[h], -w->theory.xi);
    }
    if (w->theory.aggregate == LUD_EMPO_MEAN) y /= n_humans;
    state->u = -pow(y, w->theory.eta);
    state->v = w->w * state->u;
    for (int r = 0; r < n_robot; r++) state->v += state->pi_r[r] * state->q_r[r];
    return state;
}

/* ---- comparison ---- */

static void assert_close(double got, double expected) {
    if (!(fabs(got - expected) <= 1e-11 * fmax(1, fabs(expected))))
        fail_msg("got %.17g, expected %.17g", got, expected);
}

static lud_empo_theory theory_with(double beta_h, double beta_r, double gamma) {
    return (lud_empo_theory){.beta_h = beta_h,
                             .gamma_h = gamma,
                             .rho_h = -1,
                             .gamma_r = gamma,
                             .rho_r = -1,
                             .beta_r = beta_r,
                             .zeta = 2,
                             .xi = 1.5,
                             .eta = 1.1,
                             .terminal_value = -1e-10};
}

static int number_of(const uint8_t *state) {
    return state[0] | state[1] << 8;
}

/* The made-up habits and beliefs as hooks. */
typedef struct hooked {
    const table_model *m;
    lud_empo_layout layout;
} hooked;

static void habit_hook(void *context, uint64_t index, const uint8_t *state, double *policies) {
    const hooked *c = context;
    (void)index;
    for (int h = 0; h < c->layout.n_humans; h++)
        for (int g = 0; g < c->m->n_goals; g++)
            for (int a = 0; a < c->layout.n_human_actions[h]; a++)
                policies[c->layout.policy_begin[h] + g * c->layout.n_human_actions[h] + a] =
                    habit_of(c->m, number_of(state), c->layout.humans[h], g, a);
}

static void belief_hook(void *context, const uint8_t *state, int human, int action, double *probability) {
    const hooked *c = context;
    const lud_empo_layout *layout = &c->layout;
    for (int profile = 0; profile < layout->n_human_profiles; profile++) {
        double p = lud_empo_own_action(layout, human, profile) == action;
        for (int h = 0; h < layout->n_humans; h++)
            if (h != human)
                p *= belief_in(c->m, number_of(state), layout->humans[human], action, layout->humans[h],
                               lud_empo_own_action(layout, h, profile));
        probability[profile] = p;
    }
}

static double *solve_with(const table_model *m, const lud_empo_theory *theory, int n_threads, bool believes,
                          lud_statespace **space, lud_empo_problem **problem) {
    lud_error error = {0};
    lud_status status =
        lud_statespace_build(&m->base, &(lud_statespace_options){.n_threads = n_threads}, space, &error);
    if (status == LUD_OK) status = lud_empo_problem_create(*space, theory, problem, &error);
    if (status != LUD_OK) fail_msg("%s", error.text);
    double *records =
        calloc((*space)->n_states * (uint64_t)(*problem)->layout.record_doubles, sizeof *records);
    hooked context = {m, (*problem)->layout};
    lud_empo_hooks hooks = {.habit = theory->nu_h > 0 ? habit_hook : NULL,
                            .belief = believes ? belief_hook : NULL,
                            .context = &context};
    lud_empo_run run = {
        .records = records, .hooks = &hooks, .n_threads = n_threads, .first_level = INT32_MAX};
    if (lud_empo_solve(*problem, &run, &error) != LUD_OK) fail_msg("%s", error.text);
    return records;
}

static double *solve(const table_model *m, const lud_empo_theory *theory, int n_threads,
                     lud_statespace **space, lud_empo_problem **problem) {
    return solve_with(m, theory, n_threads, false, space, problem);
}

static void compare(const table_model *m, lud_empo_theory theory, bool believes) {
    lud_statespace *space;
    lud_empo_problem *problem;
    double *records = solve_with(m, &theory, 2, believes, &space, &problem);
    slow w = {m, theory, lud_empo_reward_weight_of(&theory), calloc((size_t)m->n_states, sizeof(slow_state)),
              believes};
    const lud_empo_layout *layout = &problem->layout;
    for (uint64_t s = 0; s < space->n_states; s++) {
        int number = space->states[2 * s] | space->states[2 * s + 1] << 8;
        const slow_state *expected = visit(&w, number);
        const double *record = records + s * (uint64_t)layout->record_doubles;
        assert_close(record[layout->v_r], expected->v);
        assert_close(record[layout->u_r], expected->u);
        for (int r = 0; r < layout->n_robot_actions; r++) {
            assert_close(record[layout->q_r + r], expected->q_r[r]);
            assert_close(record[layout->pi_r + r], expected->pi_r[r]);
        }
        for (int h = 0; h < layout->n_humans; h++) {
            int agent = layout->humans[h];
            assert_close(record[layout->x_h + h], expected->x[agent]);
            for (int g = 0; g < m->n_goals; g++) {
                assert_close(record[layout->v_h_m + layout->goal_begin[h] + g], expected->v_m[agent][g]);
                assert_close(record[layout->v_h_e + layout->goal_begin[h] + g], expected->v_e[agent][g]);
                for (int a = 0; a < layout->n_human_actions[h]; a++)
                    assert_close(record[layout->policies + layout->policy_begin[h] +
                                        g * layout->n_human_actions[h] + a],
                                 expected->pi_h[agent][g][a]);
            }
        }
    }
    free(w.states);
    free(records);
    lud_empo_problem_destroy(problem);
    lud_statespace_destroy(space);
}

static void equals_the_slow_solver(void **context) {
    (void)context;
    static const struct {
        int humans, robots, actions;
    } shapes[] = {{1, 1, 4}, {1, 0, 3}, {2, 1, 3}, {1, 2, 3}, {3, 0, 3}, {2, 2, 2}};
    for (uint64_t seed = 0; seed < 36; seed++) {
        int i = (int)(seed % (sizeof shapes / sizeof *shapes));
        table_model *m = table_world_random(seed, shapes[i].humans, shapes[i].robots, shapes[i].actions, 5, 9,
                                            seed % 4 == 3);
        lud_empo_theory theory = theory_with(seed % 5 == 4 ? INFINITY : 3 + (double)(seed % 7),
                                             (double)(seed % 6), seed % 3 ? 0.9 : 1);
        theory.optimistic = seed % 2;
        theory.aggregate = seed % 7 == 1 ? LUD_EMPO_SUM : LUD_EMPO_MEAN;
        theory.reward_weight = seed % 7 == 2 ? LUD_EMPO_ONE : LUD_EMPO_BY_DURATION;
        compare(m, theory, false);
        theory.nu_h = (double)(seed % 3) / 3;
        compare(m, theory, seed % 4 != 1);
        free(m);
    }
}

static void threads_give_the_same_bytes(void **context) {
    (void)context;
    lud_empo_theory theory = theory_with(5, 4, 0.95);
    for (int skips = 0; skips < 2; skips++) {
        table_model *m = table_world_random(77, 2, 1, 3, 8, 60, skips);
        lud_statespace *space;
        lud_empo_problem *problem;
        double *one = solve(m, &theory, 1, &space, &problem);
        size_t bytes = space->n_states * (size_t)problem->layout.record_doubles * sizeof(double);
        lud_empo_problem_destroy(problem);
        lud_statespace_destroy(space);
        for (int n = 2; n <= 4; n++) {
            double *many = solve(m, &theory, n, &space, &problem);
            assert_memory_equal(one, many, bytes);
            free(many);
            lud_empo_problem_destroy(problem);
            lud_statespace_destroy(space);
        }
        free(one);
        free(m);
    }
}

static lud_status stop_at_level(void *context, int level, lud_error *error) {
    (void)error;
    return level == *(int *)context ? LUD_INTERRUPTED : LUD_OK;
}

static void resuming_gives_the_same_bytes(void **context) {
    (void)context;
    lud_empo_theory theory = theory_with(5, 4, 0.95);
    for (int skips = 0; skips < 2; skips++) {
        table_model *m = table_world_random(5, 1, 1, 3, 7, 20, skips);
        lud_statespace *space;
        lud_empo_problem *problem;
        double *whole = solve(m, &theory, 2, &space, &problem);
        size_t bytes = space->n_states * (size_t)problem->layout.record_doubles * sizeof(double);
        double *parts = calloc(1, bytes);
        int level = 3;
        lud_error error = {0};
        lud_empo_run run = {
            .records = parts, .first_level = INT32_MAX, .level_done = stop_at_level, .context = &level};
        assert_int_equal(lud_empo_solve(problem, &run, &error), LUD_INTERRUPTED);
        assert_memory_not_equal(whole, parts, bytes);
        run.level_done = NULL;
        run.first_level = 3;
        assert_int_equal(lud_empo_solve(problem, &run, &error), LUD_OK);
        assert_memory_equal(whole, parts, bytes);
        free(parts);
        free(whole);
        lud_empo_problem_destroy(problem);
        lud_statespace_destroy(space);
        free(m);
    }
}

/* V_r = w U_r + sum pi_r Q_r; policies sum to 1; values within their ranges; X_h falls as zeta grows (all V
 * <= 1). */
static void identities_hold(void **context) {
    (void)context;
    table_model *m = table_world_random(11, 2, 1, 3, 6, 15, false);
    lud_empo_theory theory = theory_with(4, 3, 0.97);
    lud_statespace *space;
    lud_empo_problem *problem;
    double *records = solve(m, &theory, 2, &space, &problem);
    const lud_empo_layout *layout = &problem->layout;
    double w = lud_empo_reward_weight_of(&theory);
    for (uint64_t s = 0; s < space->n_states; s++) {
        const double *record = records + s * (uint64_t)layout->record_doubles;
        assert_true(record[layout->v_r] < 0);
        if (lud_statespace_terminal(space, s)) continue;
        double value = w * record[layout->u_r], total = 0;
        for (int r = 0; r < layout->n_robot_actions; r++) {
            value += record[layout->pi_r + r] * record[layout->q_r + r];
            total += record[layout->pi_r + r];
        }
        assert_close(record[layout->v_r], value);
        assert_close(total, 1);
        for (int h = 0; h < layout->n_humans; h++) {
            const double *v = record + layout->v_h_e + layout->goal_begin[h];
            const double *weights = problem->goal_weight + layout->goal_begin[h];
            double last = INFINITY, policy[MAX_A], sum = 0;
            for (double zeta = 1; zeta < 4; zeta += 0.5) {
                double power = lud_empo_power_sum(zeta, v, weights, m->n_goals);
                assert_true(power <= last);
                last = power;
            }
            for (int g = 0; g < m->n_goals; g++) assert_true(v[g] >= 0 && v[g] <= 1 + 1e-12);
            lud_empo_marginal_of(layout, problem->goal_weight, record, h, policy);
            for (int a = 0; a < layout->n_human_actions[h]; a++) sum += policy[a];
            assert_close(sum, 1);
        }
    }
    free(records);
    lud_empo_problem_destroy(problem);
    lud_statespace_destroy(space);
    free(m);
}

static void uniform_robot(void *context, uint64_t index, const uint8_t *state, double *pi_r) {
    (void)index;
    (void)state;
    for (int r = 0; r < *(int *)context; r++) pi_r[r] = 1.0 / *(int *)context;
}

/* beta_r = 0 makes equation (5) uniform, so evaluating the uniform policy gives the same solution. */
static void evaluating_a_given_policy(void **context) {
    (void)context;
    table_model *m = table_world_random(3, 1, 1, 4, 5, 10, false);
    lud_empo_theory theory = theory_with(4, 0, 0.97);
    lud_statespace *space;
    lud_empo_problem *problem;
    double *records = solve(m, &theory, 2, &space, &problem);
    size_t n = space->n_states * (size_t)problem->layout.record_doubles;
    double *given = calloc(n, sizeof *given);
    int n_robot = problem->layout.n_robot_actions;
    lud_empo_hooks hooks = {.robot = uniform_robot, .context = &n_robot};
    lud_error error = {0};
    lud_empo_run run = {.records = given, .hooks = &hooks, .first_level = INT32_MAX};
    assert_int_equal(lud_empo_solve(problem, &run, &error), LUD_OK);
    for (size_t i = 0; i < n; i++) assert_close(given[i], records[i]);
    free(given);
    free(records);
    lud_empo_problem_destroy(problem);
    lud_statespace_destroy(space);
    free(m);
}

static void wrong_problems_are_refused(void **context) {
    (void)context;
    table_model *m = table_world_random(3, 1, 1, 3, 4, 5, false);
    lud_empo_theory theory = theory_with(4, 2, 0.97);
    lud_statespace *space;
    lud_empo_problem *problem;
    lud_error error = {0};
    assert_int_equal(lud_statespace_build(&m->base, &(lud_statespace_options){0}, &space, &error), LUD_OK);
    lud_role human = m->roles[0];
    m->roles[0] = LUD_ROLE_NONE;
    assert_int_equal(lud_empo_problem_create(space, &theory, &problem, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "agent 0 has no role"));
    m->roles[0] = human;
    int n_goals = m->n_goals;
    m->n_goals = 0;
    assert_int_equal(lud_empo_problem_create(space, &theory, &problem, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "without goals"));
    m->n_goals = n_goals;
    theory.gamma_r = 1.5;
    assert_int_equal(lud_empo_problem_create(space, &theory, &problem, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "gamma_r"));
    theory.gamma_r = 0.9;
    theory.rho_r = 0.1;
    assert_int_equal(lud_empo_problem_create(space, &theory, &problem, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "rho_r"));
    theory.rho_r = -0.5;
    assert_int_equal(lud_empo_problem_create(space, &theory, &problem, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "rho_r is -0.5; expected a rate >= 0"));
    theory.rho_r = -1;
    const double beta_h = theory.beta_h;
    theory.beta_h = 0;
    assert_int_equal(lud_empo_problem_create(space, &theory, &problem, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "beta_h is 0; expected a number above 0 or .inf"));
    theory.beta_h = beta_h;

    /* nobody achieves anything any more: power is 0 somewhere, and the message says where */
    memset(m->achieved, 0, sizeof m->achieved);
    assert_int_equal(lud_empo_problem_create(space, &theory, &problem, &error), LUD_OK);
    double *records = calloc(space->n_states * (uint64_t)problem->layout.record_doubles, sizeof *records);
    lud_empo_run run = {.records = records, .first_level = INT32_MAX};
    assert_int_equal(lud_empo_solve(problem, &run, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "no goal is open to agent"));
    assert_non_null(strstr(error.text, "of the table"));
    free(records);
    lud_empo_problem_destroy(problem);
    lud_statespace_destroy(space);
    free(m);
}

/* Worlds that EMPO cannot take as its own. */
static void wrong_worlds_are_refused(void **context) {
    (void)context;
    table_model *m = table_world_random(3, 1, 1, 3, 4, 5, false);
    lud_empo_layout layout;
    lud_error error = {0};
    lud_action_space many[65];
    lud_role roles[65];
    for (int i = 0; i < 65; i++) {
        many[i] = (lud_action_space){.n_discrete = 3};
        roles[i] = i ? LUD_ROLE_ROBOT : LUD_ROLE_HUMAN;
    }
    lud_model wide = m->base;
    wide.layout.actions = many;
    wide.layout.roles = roles;
    wide.layout.n_agents = 65;
    assert_int_equal(lud_empo_layout_find(&wide, &layout, &error), LUD_ERROR_LIMIT);
    assert_string_equal(error.text, "65 agents; EMPO takes at most 64");
    wide.layout.n_agents = 20; /* 3^20 joint actions */
    assert_int_equal(lud_empo_layout_find(&wide, &layout, &error), LUD_ERROR_LIMIT);
    assert_string_equal(error.text, "too many joint actions; expected at most 2^31 - 1");
    wide.layout.n_agents = 2;
    many[1] = (lud_action_space){.n_continuous = 2};
    assert_int_equal(lud_empo_layout_find(&wide, &layout, &error), LUD_ERROR_UNSUPPORTED);
    assert_string_equal(error.text, "agent 1 has continuous actions; EMPO needs discrete ones");
    lud_world inexact = *m->base.world;
    inexact.successors = NULL;
    wide = m->base;
    wide.world = &inexact;
    assert_int_equal(lud_empo_layout_find(&wide, &layout, &error), LUD_ERROR_UNSUPPORTED);
    assert_string_equal(error.text, "the world table has no exact model with goals");

    /* a world that can come back to where it was */
    for (int at = 0; at < 2; at++)
        for (int k = 0; k < m->n_joint; k++) {
            m->n_out[at][k] = 1;
            m->out[at][k][0] = (uint16_t)(1 - at);
            m->probability[at][k][0] = 1;
        }
    const lud_empo_theory theory = theory_with(4, 2, 0.97);
    lud_statespace *space;
    lud_empo_problem *problem;
    if (lud_statespace_build(&m->base, &(lud_statespace_options){0}, &space, &error))
        fail_msg("%s", error.text);
    assert_int_equal(space->n_states, 2);
    if (lud_empo_problem_create(space, &theory, &problem, &error)) fail_msg("%s", error.text);
    double *records = calloc(space->n_states * (uint64_t)problem->layout.record_doubles, sizeof *records);
    lud_empo_run run = {.records = records, .first_level = INT32_MAX};
    assert_int_equal(lud_empo_solve(problem, &run, &error), LUD_ERROR_UNSUPPORTED);
    assert_string_equal(error.text,
                        "state 0 can be reached from itself; backward induction needs a world whose "
                        "episodes end, e.g. by max_steps");
    free(records);
    lud_empo_problem_destroy(problem);
    lud_statespace_destroy(space);
    free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_slow_solver),        cmocka_unit_test(threads_give_the_same_bytes),
        cmocka_unit_test(resuming_gives_the_same_bytes), cmocka_unit_test(identities_hold),
        cmocka_unit_test(evaluating_a_given_policy),     cmocka_unit_test(wrong_problems_are_refused),
        cmocka_unit_test(wrong_worlds_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
