/* Every policy can be evaluated in a solved world: exactly where its choices follow from the state, else by
 * playing. Both against a plain enumeration of everything that can happen. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/cast_overlay.h"
#include "folder.h"
#include "learn/empo/evaluation/policy_estimate.h"
#include "learn/empo/exact/options.h"
#include "learn/empo/exact/support_solved.h"
#include "learn/runs/run.h"
#include "learn/train.h"

#define WORLD                                                                                                \
    "ludus: 1\nname: room\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We\n"                     \
    "    We Ay .. .. We\n    We .. Ae .. We\n    We We We We We\n  max_steps: 4\n  actions: small\n"         \
    "  agents: [{facing: east}, {facing: north}]\n"                                                          \
    "goals: [{cell: [1, 1]}, {cell: [1, 2]}, {rectangle: [2, 1, 2, 2]}, {rectangle: [3, 1, 3, 2], weight: "  \
    "2}]\nrun: {environments: 4, seed: 3}\n"
#define SOLVER                                                                                               \
    "learner: {type: empo-exact, gamma_h: 0.9, gamma_r: 0.8, beta_h: 3, zeta: 1.5, xi: 1.2, eta: 1.1}\n"
#define MAPPO                                                                                                \
    "type: graph-mappo, automatic: false, hidden_size: 8, steps: 40, rollout_length: 5, epochs: 2, "         \
    "output_gain: 1"

TEST_FOLDER("/tmp/ludus-policy-XXXXXX")

static lud_scenario *read_text(const char *text) {
    lud_scenario *s;
    lud_error error = {0};
    if (lud_scenario_read("t.yaml", text, strlen(text), NULL, 0, &s, &error)) fail_msg("%s", error.text);
    return s;
}

/* A solved world with one person and one robot. */
typedef struct bed {
    lud_scenario *scenario;
    lud_empo_case c;
    lud_empo_solution *solution;
} bed;

static bed open_bed(void) {
    bed b = {.scenario = read_text(WORLD SOLVER)};
    char run[64];
    lud_error error = {0};
    snprintf(run, sizeof run, "%s/solved", folder);
    const lud_empo_solve_options options = {.run = run, .n_threads = 1};
    if (lud_empo_case_open(b.scenario, &options, &b.c, &error)) fail_msg("%s", error.text);
    if (lud_empo_case_solve(&b.c, &options, &b.solution, &error)) fail_msg("%s", error.text);
    return b;
}

static void close_bed(bed *b) {
    lud_empo_solution_close(b->solution);
    lud_empo_case_close(&b->c);
    lud_scenario_destroy(b->scenario);
}

static lud_policy *policy_from(const lud_model *model, const char *text) {
    lud_arena *arena = lud_arena_create(0);
    lud_tree *tree;
    lud_policy *policy = NULL;
    lud_error error = {0};
    if (lud_tree_read_text(arena, "test", text, strlen(text), &tree, &error) ||
        lud_policy_create(model, tree, "test", &policy, &error))
        fail_msg("%s", error.text);
    lud_arena_destroy(arena);
    return policy;
}

/* The agents of a run of graph-mappo that was trained for two iterations in the world. */
static lud_cast *train(const lud_scenario *world, const char *name, const char *learner) {
    char text[2000], run[64];
    lud_error error = {0};
    snprintf(text, sizeof text, WORLD "learner: {" MAPPO ", %s}\n", learner);
    snprintf(run, sizeof run, "%s/%s", folder, name);
    lud_scenario *scenario = read_text(text);
    lud_device *device;
    lud_learner *trained;
    lud_train_result result;
    assert_int_equal(lud_device_open("cpu", 1, &device, &error), LUD_OK);
    if (lud_learner_create(scenario, device, &trained, &error)) fail_msg("%s", error.text);
    const lud_train_options options = {.folder = run, .configuration = text};
    if (lud_train(trained, &options, &result, &error)) fail_msg("%s", error.text);
    assert_int_equal(result.iterations, 2);
    lud_learner_destroy(trained);
    lud_device_close(device);
    lud_scenario_destroy(scenario);
    lud_cast *cast;
    assert_int_equal(lud_cast_create(world->model, NULL, "t.yaml", &cast, &error), LUD_OK);
    if (lud_run_act(run, world, cast, &error)) fail_msg("%s", error.text);
    return cast;
}

/* ---- enumeration ---- */

enum { MOST = 16 };

typedef struct worth {
    double v_r, x_h, v_h_e[MOST];
} worth;

/* What a robot does in a state with this memory, and the memory behind it. A policy that does not say its
 * probabilities must be one that does not draw. */
static void choices_of(lud_policy *policy, const uint8_t *state, int agent, const uint8_t *memory, double *p,
                       uint8_t *after) {
    const lud_model *model = policy->model;
    static const uint32_t tick = 0;
    int32_t drawn[TABLE_MAX_AGENTS], goals[TABLE_MAX_AGENTS] = {-1, -1, -1, -1};
    void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
    const lud_range range = {.n = 1, .tick = &tick};
    for (int k = 0; k < model->layout.n_parts; k++) parts[k] = calloc(1, model->layout.parts[k].bytes);
    if (policy->needs_observations) model->world->observe(model, range, state, parts);
    memcpy(after, memory, policy->hidden_bytes);
    const lud_act act = {.model = model,
                         .range = range,
                         .states = state,
                         .observations = parts,
                         .goals = goals,
                         .hidden = after,
                         .agents = &agent,
                         .n_agents_acting = 1,
                         .discrete = drawn};
    policy->kind->act(policy, &act);
    for (int k = 0; k < model->layout.n_parts; k++) free(parts[k]);
    if (lud_policy_distribution(policy, state, agent, -1, p)) return;
    for (int k = 0; k < model->layout.actions[agent].n_discrete; k++) p[k] = k == drawn[agent];
}

/* Equations (6) to (9), one branch after the other. */
static worth enumerate(const lud_empo_problem *problem, const double *records, lud_policy *policy,
                       const uint8_t *state, const uint8_t *memory) {
    const lud_model *model = problem->space->model;
    const lud_empo_layout *layout = &problem->layout;
    const lud_empo_theory *theory = &problem->theory;
    const int person = layout->humans[0], robot = layout->robots[0], n_goals = layout->n_goals;
    worth own = {.v_r = theory->terminal_value};
    if (model->world->is_terminal(model, state)) return own;
    const double *record =
        records + (uint64_t)lud_statespace_find(problem->space, state) * (uint64_t)layout->record_doubles;
    double robots[MOST], usual[MOST], next = 0;
    uint8_t *after = calloc(1, policy->hidden_bytes + 1);
    choices_of(policy, state, robot, memory, robots, after);
    lud_empo_marginal_of(layout, problem->goal_weight, record, 0, usual);
    lud_successors out = {0};
    for (int a = 0; a < layout->n_human_actions[0]; a++)
        for (int r = 0; r < model->layout.actions[robot].n_discrete; r++) {
            int32_t joint[2];
            lud_error error = {0};
            joint[person] = a;
            joint[robot] = r;
            if (robots[r] <= 0) continue;
            assert_int_equal(model->world->successors(model, state, joint, &out, &error), LUD_OK);
            for (size_t k = 0; k < out.n; k++) {
                const uint8_t *to = out.states + k * model->layout.state_bytes;
                const worth behind = enumerate(problem, records, policy, to, after);
                const double p = robots[r] * out.probability[k];
                if (usual[a] > 0) next += usual[a] * p * behind.v_r;
                for (int g = 0; g < n_goals; g++) {
                    const double chosen = record[layout->policies + g * layout->n_human_actions[0] + a];
                    own.v_h_e[g] +=
                        chosen * p *
                        (model->world->achieved(model, to, person, g) ? 1
                                                                      : theory->gamma_h * behind.v_h_e[g]);
                }
            }
        }
    for (int g = 0; g < n_goals; g++) own.x_h += problem->goal_weight[g] * pow(own.v_h_e[g], theory->zeta);
    const double u_r = -pow(pow(own.x_h, -theory->xi), theory->eta);
    own.v_r = lud_empo_reward_weight_of(theory) * u_r + theory->gamma_r * next;
    lud_successors_free(&out);
    free(after);
    return own;
}

static worth enumerate_from_start(const lud_empo_problem *problem, const double *records,
                                  lud_policy *policy) {
    uint8_t *memory = calloc(1, policy->hidden_bytes + 1);
    if (policy->kind->reset) policy->kind->reset(policy, memory, policy->hidden_bytes, 1);
    const worth w = enumerate(problem, records, policy, problem->space->states, memory);
    free(memory);
    return w;
}

static const lud_empo_estimate_options few = {.episodes = 40, .rollouts = 32, .seed = 11};

static lud_empo_policy_evaluation evaluate(bed *b, lud_policy *policy) {
    lud_empo_policy_evaluation e;
    lud_error error = {0};
    if (lud_empo_case_evaluate(&b->c, b->solution, &policy, &few, 1, &e, &error)) fail_msg("%s", error.text);
    return e;
}

static void assert_near(double got, double expected, double relative) {
    if (!(fabs(got - expected) <= relative * fabs(expected))) fail_msg("%.17g, not %.17g", got, expected);
}

static void assert_exact(bed *b, lud_policy *policy) {
    const worth expected = enumerate_from_start(b->c.problem, b->solution->records, policy);
    lud_empo_policy_evaluation e = evaluate(b, policy);
    assert_int_equal(e.n_episodes, 0);
    assert_near(e.v_r, expected.v_r, 1e-11);
    assert_near(e.power[0], expected.x_h, 1e-11);
    assert_true(e.v_r <= e.v_r_optimal + 1e-9 || e.mean_regret > 0 || e.divergence > 0);
    assert_true(isfinite(e.divergence));
    lud_empo_policy_evaluation_free(&e);
}

/* Plays with many seeds: nearly all intervals contain what is right, the mean of all plays comes nearer, and
 * no interval is wide enough to contain anything. */
static double assert_covered(const lud_empo_problem *problem, const double *records, lud_policy *policy,
                             double v_r, double x_h) {
    enum { SEEDS = 20 };
    int v_covered = 0, x_covered = 0;
    double v = 0, x = 0, regret = 0, v_width = 0, x_width = 0;
    for (int k = 0; k < SEEDS; k++) {
        lud_empo_estimate_options options = few;
        options.seed = (uint64_t)(100 + k);
        lud_empo_policy_evaluation e;
        lud_error error = {0};
        if (lud_empo_estimate_policy(problem, records, 0, &policy, &options, &e, &error))
            fail_msg("%s", error.text);
        assert_int_equal(e.n_episodes, few.episodes);
        assert_true(isnan(e.divergence) && isnan(e.kl));
        v_covered += fabs(e.v_r - v_r) <= e.v_r_interval;
        x_covered += fabs(e.power[0] - x_h) <= e.power_interval[0];
        v += e.v_r / SEEDS;
        x += e.power[0] / SEEDS;
        regret += e.mean_regret / SEEDS;
        v_width += e.v_r_interval / SEEDS;
        x_width += e.power_interval[0] / SEEDS;
        lud_empo_policy_evaluation_free(&e);
    }
    if (v_covered < 17 || x_covered < 17)
        fail_msg("of %d intervals %d contain V_r and %d X_h", SEEDS, v_covered, x_covered);
    assert_true(v_width > 0 && v_width < 0.1 * fabs(v_r) && x_width > 0 && x_width < 0.1 * x_h);
    assert_near(v, v_r, 2 * v_width / sqrt(SEEDS) / fabs(v_r));
    assert_near(x, x_h, 2 * x_width / sqrt(SEEDS) / x_h);
    return regret;
}

/* ---- tests ---- */

static void a_network_without_memory_is_exact(void **state) {
    (void)state;
    bed b = open_bed();
    static const char *const learners[] = {"recurrent: false, encoder: mlp",
                                           "recurrent: false, encoder: grid",
                                           "recurrent: false, encoder: mlp, deterministic: true"};
    for (int k = 0; k < 3; k++) {
        char name[32];
        snprintf(name, sizeof name, "exact%d", k);
        lud_cast *cast = train(b.scenario, name, learners[k]);
        lud_policy *policy = lud_cast_get(cast, 1);
        assert_int_equal(policy->hidden_bytes, 0);
        assert_exact(&b, policy);
        /* what it says is what it does */
        enum { N = 4000 };
        static int32_t drawn[N][2];
        static uint32_t tick[N];
        double p[4], counted[4] = {0};
        const int agent = 1;
        const lud_model *model = b.scenario->model;
        uint8_t *states = malloc(N * model->layout.state_bytes);
        void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
        const lud_range range = {.seed = 5, .n = N, .tick = tick};
        for (int e = 0; e < N; e++)
            memcpy(states + (size_t)e * model->layout.state_bytes, b.c.space->states,
                   model->layout.state_bytes);
        for (int i = 0; i < model->layout.n_parts; i++) parts[i] = calloc(N, model->layout.parts[i].bytes);
        model->world->observe(model, range, states, parts);
        const lud_act act = {.model = model,
                             .range = range,
                             .states = states,
                             .observations = parts,
                             .agents = &agent,
                             .n_agents_acting = 1,
                             .discrete = drawn[0]};
        policy->kind->act(policy, &act);
        assert_true(lud_policy_distribution(policy, states, agent, -1, p));
        for (int e = 0; e < N; e++) counted[drawn[e][agent]] += 1.0 / N;
        for (int a = 0; a < 4; a++)
            assert_true(fabs(counted[a] - p[a]) <= 4 * sqrt(p[a] * (1 - p[a]) / N) + 1e-12);
        for (int i = 0; i < model->layout.n_parts; i++) free(parts[i]);
        free(states);
        lud_cast_destroy(cast);
    }
    close_bed(&b);
}

static void tables_scripts_and_heuristics_are_exact(void **state) {
    (void)state;
    bed b = open_bed();
    static const char *const policies[] = {"random", "{type: weighted, weights: {forward: 3, left: 1}}",
                                           "{type: heuristic}",
                                           "{type: script, actions: [forward, left, forward]}",
                                           "{type: script, actions: [right, forward], repeat: true}"};
    for (int k = 0; k < 5; k++) {
        lud_policy *policy = policy_from(b.scenario->model, policies[k]);
        assert_exact(&b, policy);
        lud_policy_destroy(policy);
    }
    /* a robot has no goal, so the heuristic does anything */
    lud_policy *random = policy_from(b.scenario->model, "random"),
               *heuristic = policy_from(b.scenario->model, "heuristic");
    lud_empo_policy_evaluation one = evaluate(&b, random), other = evaluate(&b, heuristic);
    assert_near(one.v_r, other.v_r, 1e-14);
    lud_empo_policy_evaluation_free(&one);
    lud_empo_policy_evaluation_free(&other);
    lud_policy_destroy(random);
    lud_policy_destroy(heuristic);
    close_bed(&b);
}

/* A network that remembers and does not draw: everything it can do is a tree. */
static void a_recurrent_network_is_played(void **state) {
    (void)state;
    bed b = open_bed();
    lud_cast *cast = train(b.scenario, "recurrent", "recurrent: true, deterministic: true");
    lud_policy *policy = lud_cast_get(cast, 1);
    double p[4];
    assert_true(policy->hidden_bytes > 0);
    assert_false(lud_policy_distribution(policy, b.c.space->states, 1, -1, p));
    const worth expected = enumerate_from_start(b.c.problem, b.solution->records, policy);
    lud_empo_policy_evaluation e = evaluate(&b, policy);
    assert_int_equal(e.n_episodes, few.episodes);
    lud_empo_policy_evaluation_free(&e);
    (void)assert_covered(b.c.problem, b.solution->records, policy, expected.v_r, expected.x_h);
    lud_cast_destroy(cast);
    close_bed(&b);
}

/* The same script, evaluated and played; in a world whose states do not count steps it has to be played. */
static void a_script_is_played_where_states_do_not_count(void **state) {
    (void)state;
    bed b = open_bed();
    lud_error error = {0};
    lud_policy *policy = policy_from(b.scenario->model, "{type: script, actions: [right, forward, left]}");
    lud_empo_policy_evaluation exact = evaluate(&b, policy), played;
    if (lud_empo_estimate_policy(b.c.problem, b.solution->records, 0, &policy, &few, &played, &error))
        fail_msg("%s", error.text);
    const double regret = assert_covered(b.c.problem, b.solution->records, policy, exact.v_r, exact.power[0]);
    assert_near(regret, exact.mean_regret, 0.2);
    for (int g = 0; g < b.c.problem->layout.n_goals; g++)
        assert_true(fabs(played.v_h_e[g] - exact.v_h_e[g]) < 0.05);
    double visits = 0;
    for (uint64_t s = 0; s < b.c.space->n_states; s++) visits += fabs(played.visits[s] - exact.visits[s]);
    assert_true(visits < 2.5);
    assert_near(played.visits[0], 1, 1e-12);
    lud_empo_policy_evaluation_free(&exact);
    lud_empo_policy_evaluation_free(&played);
    lud_policy_destroy(policy);
    close_bed(&b);

    support_solved s = support_solve(17, 1, 1, true);
    policy = policy_from(&s.m->base, "{type: script, actions: [1, 2, 0, 1], repeat: true}");
    assert_int_equal(lud_empo_check_policy(policy, s.problem->layout.robots[0], &error),
                     LUD_ERROR_UNSUPPORTED);
    const worth tree = enumerate_from_start(s.problem, s.records, policy);
    (void)assert_covered(s.problem, s.records, policy, tree.v_r, tree.x_h);
    lud_policy_destroy(policy);
    support_release(&s);
}

/* Where nobody draws there is nothing to estimate: the interval is empty and right. */
static void a_certain_play_has_no_interval(void **state) {
    (void)state;
    lud_scenario *scenario =
        read_text(WORLD "learner: {type: empo-exact, gamma_h: 0.9, gamma_r: 0.8, zeta: 1.5, nu_h: 1, "
                        "habit: {type: script, actions: [forward, right, forward]}}\n");
    const lud_empo_solve_options options = {.n_threads = 1};
    lud_empo_case c;
    lud_error error = {0};
    if (lud_empo_case_open(scenario, &options, &c, &error)) fail_msg("%s", error.text);
    double *records = calloc(c.space->n_states * (size_t)c.problem->layout.record_doubles, sizeof *records);
    lud_empo_hooks hooks;
    lud_empo_policies_hook(&c.policies, &hooks);
    const lud_empo_run run = {.records = records, .hooks = &hooks, .n_threads = 1, .first_level = INT32_MAX};
    if (lud_empo_solve(c.problem, &run, &error)) fail_msg("%s", error.text);
    lud_policy *policy = policy_from(scenario->model, "{type: script, actions: [right, forward]}");
    const worth expected = enumerate_from_start(c.problem, records, policy);
    const lud_empo_estimate_options two = {.episodes = 2, .rollouts = 2, .seed = 1};
    lud_empo_policy_evaluation e;
    if (lud_empo_estimate_policy(c.problem, records, 0, &policy, &two, &e, &error))
        fail_msg("%s", error.text);
    assert_near(e.v_r, expected.v_r, 1e-12);
    assert_near(e.power[0], expected.x_h, 1e-12);
    assert_true(e.v_r_interval < 1e-9 && e.power_interval[0] < 1e-12);
    lud_empo_policy_evaluation_free(&e);
    /* who wants to be where it started, and is led away, has no power that rollouts could tell */
    for (int g = 1; g < c.problem->layout.n_goals; g++) c.problem->goal_weight[g] = 0;
    assert_int_equal(lud_empo_estimate_policy(c.problem, records, 0, &policy, &two, &e, &error),
                     LUD_ERROR_NUMERIC);
    if (!strstr(error.text, "no goal of agent 0 was reached in 8 rollouts from state"))
        fail_msg("%s", error.text);
    assert_null(e.power);
    lud_policy_destroy(policy);
    free(records);
    lud_empo_case_close(&c);
    lud_scenario_destroy(scenario);
}

/* What a policy that remembers shows at a moment are the chances that it then draws with. */
static void check_recalled(const lud_model *model, const lud_cast *cast) {
    enum { STEPS = 6 };
    lud_overlay_source *source;
    lud_error error = {0};
    uint8_t *at = calloc(1, model->layout.state_bytes), *hidden = calloc(1, lud_cast_hidden_bytes(cast));
    void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
    for (int k = 0; k < model->layout.n_parts; k++) parts[k] = calloc(1, model->layout.parts[k].bytes);
    double first[MOST], p[MOST], moved = 0.0;
    int32_t drawn[TABLE_MAX_AGENTS];
    float log_probs[TABLE_MAX_AGENTS];
    assert_int_equal(lud_cast_overlay(model, cast, &source, &error), LUD_OK);
    assert_non_null(source);
    for (uint32_t tick = 0; tick < STEPS; tick++) { /* the state stays: what changes is what is remembered */
        const lud_range range = {.seed = 3, .n = 1, .tick = &tick};
        if (tick == 0) model->world->reset(model, range, at);
        if (tick == 0) lud_cast_reset(cast, range, at, hidden);
        model->world->observe(model, range, at, parts);
        assert_false(source->action_probabilities(source, at, NULL, 0, -1, p));
        assert_true(source->action_probabilities(source, at, hidden, 0, -1, p));
        if (tick == 0) memcpy(first, p, sizeof first);
        for (int k = 0; k < model->layout.actions[0].n_discrete; k++) moved += fabs(p[k] - first[k]);
        lud_cast_act_told(cast, range, at, parts, hidden, drawn, NULL, log_probs);
        assert_true(fabs(log(p[drawn[0]]) - (double)log_probs[0]) < 1e-5);
    }
    assert_true(moved > 1e-6);
    for (int k = 0; k < model->layout.n_parts; k++) free(parts[k]);
    LUD_FREE(at, hidden);
    lud_overlay_source_destroy(source);
}

/* What a cast of a run publishes to be drawn: the network's own probabilities; nothing where no run acts. */
static void a_run_is_drawn(void **state) {
    (void)state;
    lud_scenario *world = read_text(WORLD SOLVER);
    lud_error error = {0};
    const lud_model *model = world->model;
    lud_cast *plain = train(world, "drawn", "recurrent: false"),
             *recurrent = train(world, "remembers", "deterministic: false"), *scripted;
    lud_overlay_source *source;
    assert_int_equal(lud_run_cast(NULL, world, &scripted, &error), LUD_OK);
    assert_int_equal(lud_run_overlay(NULL, world, scripted, &source, &error), LUD_OK);
    assert_null(source);
    check_recalled(model, recurrent);
    assert_int_equal(lud_cast_overlay(model, plain, &source, &error), LUD_OK);
    assert_non_null(source);
    assert_string_equal(source->policy_name, "policy");
    uint8_t *at = calloc(1, model->layout.state_bytes);
    const uint32_t tick = 0;
    double shown[MOST], own[MOST];
    model->world->reset(model, (lud_range){.seed = 3, .n = 1, .tick = &tick}, at);
    for (int i = 0; i < model->layout.n_agents; i++) {
        assert_true(source->action_probabilities(source, at, NULL, i, -1, shown));
        assert_true(lud_policy_distribution(lud_cast_get(plain, i), at, i, -1, own));
        assert_memory_equal(shown, own, (size_t)model->layout.actions[i].n_discrete * sizeof *own);
    }
    lud_cast_set(plain, 0, policy_from(model, "{type: random}")); /* somebody takes over */
    assert_false(source->action_probabilities(source, at, NULL, 0, -1, shown));
    assert_true(source->action_probabilities(source, at, NULL, 1, -1, shown));
    free(at);
    lud_overlay_source_destroy(source);
    lud_cast_destroy(plain);
    lud_cast_destroy(recurrent);
    lud_cast_destroy(scripted);
    lud_scenario_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_without_memory_is_exact),
        cmocka_unit_test(tables_scripts_and_heuristics_are_exact),
        cmocka_unit_test(a_recurrent_network_is_played),
        cmocka_unit_test(a_script_is_played_where_states_do_not_count),
        cmocka_unit_test(a_certain_play_has_no_interval),
        cmocka_unit_test(a_run_is_drawn),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
