/* The learner empo-phase1: its targets against equation (1) worked out by hand, its limit against the exact
 * solver, exact resume, the policy it makes, and phase 2 with learned people. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "effort.h"
#include "learn/empo/phase1/phase1.h"
#include "learn/empo/phase2/phase2.h"
#include "learn/train.h"

/* A robot stands in a corridor that a person wants to pass; there is a niche. */
static const char corridor[] = "ludus: 1\n"
                               "name: corridor\n"
                               "world: multigrid\n"
                               "multigrid:\n"
                               "  map: |\n"
                               "    We We We We We\n"
                               "    We Ay Ae .. We\n"
                               "    We We .. We We\n"
                               "    We We We We We\n"
                               "  max_steps: 5\n"
                               "  actions: small\n"
                               "goals:\n"
                               "  - {cell: [1, 1]}\n"
                               "  - {cell: [2, 1]}\n"
                               "  - {cell: [3, 1], weight: 0.5}\n"
                               "  - {cell: [2, 2]}\n";

/* Two people, two robots, ground on which one stumbles. */
#define CROWD                                                                                                \
    "ludus: 1\nname: crowd\nworld: multigrid\nmultigrid:\n  map: |\n"                                        \
    "    We We We We We We\n    We Ay Un .. Ae We\n    We .. .. .. .. We\n    We Ay .. Un Ae We\n"           \
    "    We We We We We We\n  max_steps: 4\n  actions: small\ngoals:\n"
static const char crowd[] = CROWD "  - {rectangle: [1, 1, 2, 3]}\n"
                                  "  - {cell: [4, 3], weight: 0.5}\n"
                                  "  - {rectangle: [2, 1, 4, 2]}\n";

/* One of them has one goal, the other three. */
static const char unequal[] = CROWD "  - {rectangle: [1, 1, 2, 3]}\n"
                                    "  - {cell: [4, 3], weight: 0.5, agents: [2]}\n"
                                    "  - {rectangle: [2, 1, 4, 2], agents: [2]}\n";

static const char small[] = "learner:\n"
                            "  type: empo-phase1\n"
                            "  gamma_h: 0.9\n"
                            "  beta_h: 5\n"
                            "  hidden_dim: 8\n"
                            "  goal_feature_dim: 4\n"
                            "  num_training_steps: 24\n"
                            "  updates_per_iteration: 4\n"
                            "  batch_size: 12\n"
                            "  buffer_size: 60\n"
                            "  environments: 2\n"
                            "  target_update_interval: 3\n"
                            "  epsilon_h_decay_steps: 10\n"
                            "  exact_max_states: 0\n";

static const char thorough[] = "learner:\n"
                               "  type: empo-phase1\n"
                               "  gamma_h: 0.9\n"
                               "  beta_h: 5\n"
                               "  hidden_dim: 32\n"
                               "  goal_feature_dim: 16\n"
                               "  num_training_steps: 3000\n"
                               "  updates_per_iteration: 500\n"
                               "  batch_size: 32\n"
                               "  training_steps_per_env_step: 0.2\n"
                               "  target_update_interval: 50\n"
                               "  lr_q_h: 2e-3\n"
                               "  lr_marginal: 2e-3\n"
                               "  epsilon_h_end: 0.5\n"
                               "  epsilon_h_decay_steps: 1000\n";

typedef struct rig {
    lud_scenario *scenario;
    lud_device *device;
    lud_empo_phase1_learner *learner;
} rig;

static void open_rig(rig *r, const char *world, const char *section, int n_set, const char *const *set) {
    lud_error error = {0};
    lud_text text = {0};
    lud_text_append(&text, "%s%s", world, section);
    if (lud_scenario_read("test.yaml", text.bytes, text.length, set, n_set, &r->scenario, &error))
        fail_msg("%s", error.text);
    lud_text_free(&text);
    assert_int_equal(lud_device_open("cpu", 1, &r->device, &error), LUD_OK);
    lud_learner *made = NULL;
    if (lud_learner_create(r->scenario, r->device, &made, &error)) fail_msg("%s", error.text);
    assert_ptr_equal(made->kind, &lud_empo_phase1);
    r->learner = (lud_empo_phase1_learner *)made;
}

static void close_rig(rig *r) {
    lud_learner_destroy(&r->learner->base);
    lud_device_close(r->device);
    lud_scenario_destroy(r->scenario);
}

static void iterate(rig *r, int n) {
    lud_error error = {0};
    double row[32];
    assert_true(r->learner->base.n_columns <= 32);
    for (int i = 0; i < n; i++)
        if (lud_empo_phase1.iterate(&r->learner->base, row, &error)) fail_msg("%s", error.text);
}

/* V_h^m of one state by itself, after the definition: mean of Q under the policy, 0 where the goal is met. */
static double single_value(rig *r, const int32_t *record, int h, int goal) {
    lud_empo_human_net *net = &r->learner->net;
    const int32_t *records[1] = {record}, begin[2] = {0, 1}, person[1] = {h}, goals[1] = {goal};
    const lud_empo_human_query question = {
        .n = 1, .records = records, .begin = begin, .person = person, .goal = goals};
    double value = NAN;
    lud_empo_human_net_evaluate(net, &question, true, NULL, &value);
    return value;
}

static void targets_follow_the_equation(void **state) {
    (void)state;
    static const char *const drawn[] = {"learner.goals_per_state=2"};
    static const char *const hopeful[] = {"learner.optimistic=true", "learner.marginal_network=false"};
    const struct {
        const char *world;
        int n_set;
        const char *const *set;
    } cases[] = {{corridor, 0, NULL}, {crowd, 1, drawn}, {crowd, 2, hopeful}, {unequal, 0, NULL}};
    int counted = 0, met = 0;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        rig r;
        open_rig(&r, cases[c].world, small, cases[c].n_set, cases[c].set);
        iterate(&r, 3);
        lud_empo_phase1_learner *l = r.learner;
        const lud_empo_features *f = &l->net.features;
        const lud_empo_phase1_now still = {.epsilon =
                                               1}; /* what the networks say must not change meanwhile */
        lud_error error = {0};
        assert_int_equal(lud_empo_phase1_update_run(l->update, 12, &still, true, &error), LUD_OK);
        const lud_empo_phase1_view view = lud_empo_phase1_update_view(l->update);
        const int n_robots = f->layout.n_robot_actions;
        for (int64_t i = 0; i < view.n; i++) {
            const lud_empo_transition t = lud_empo_replay_get(l->replay, view.indices[i]);
            const int h = t.goals[0], n_own = f->layout.n_human_actions[h];
            for (int64_t k = 0; k < view.goals; k++)
                for (int a = 0; a < n_own; a++) {
                    const int64_t at = (i * view.goals + k) * l->net.n_actions + a;
                    const int goal = view.goal[i * view.goals + k],
                              n_goals = lud_empo_goals_of(&f->layout, h);
                    const bool is_one = n_goals > view.goals || k < n_goals; /* not one that others have */
                    const bool open = is_one && !lud_empo_features_achieved(f, t.state, h, goal);
                    assert_true(view.weight[at] == (open ? 1.0f : 0.0f));
                    if (!open) continue;
                    counted++;
                    double best = NAN;
                    for (int robots = 0; robots < n_robots; robots++) {
                        double expected = 0, total = 0;
                        for (int32_t m = t.offsets[a * n_robots + robots];
                             m < t.offsets[a * n_robots + robots + 1]; m++) {
                            const int32_t *next = t.successor + (size_t)t.link[m] * (size_t)f->words;
                            double value = l->options.theory.gamma_h * single_value(&r, next, h, goal);
                            if (t.terminal[t.link[m]]) value = 0;
                            if (lud_empo_features_achieved(f, next, h, goal)) value = 1, met++;
                            expected += (double)t.probability[m] * value;
                            total += (double)t.probability[m];
                        }
                        assert_true(fabs(total - 1) < 1e-6);
                        best = isnan(best)                    ? expected
                               : l->options.theory.optimistic ? fmax(best, expected)
                                                              : fmin(best, expected);
                    }
                    assert_true(fabs((double)view.q[at] - best) < 1e-5);
                }
        }
        close_rig(&r);
    }
    assert_true(counted > 100 && met > 10);
}

/* People learned by networks come close to those of the exact solver, for every goal and in the marginal; by
 * chance they would be several times as far away. */
static void networks_come_close_to_the_exact_people(void **state) {
    (void)state;
    if (SANITIZED) skip(); /* the other tests run all of it, for fewer steps */
    rig r;
    open_rig(&r, corridor, thorough, 0, NULL);
    double row[8];
    lud_error error = {0};
    if (lud_empo_phase1.evaluate(&r.learner->base, row, &error)) fail_msg("%s", error.text);
    const lud_empo_phase1_distance before = r.learner->distance;
    iterate(&r, (int)r.learner->base.n_iterations);
    if (lud_empo_phase1.evaluate(&r.learner->base, row, &error)) fail_msg("%s", error.text);
    const lud_empo_phase1_distance d = r.learner->distance;
    assert_true(d.v_h_m < 0.12 && d.v_h_m_everywhere < 0.1);
    assert_true(d.divergence < 0.1 && d.divergence_everywhere < 0.1 && d.marginal < 0.1);
    assert_true(before.divergence > 2 * d.divergence && before.marginal > 2 * d.marginal);
    close_rig(&r);
}

static lud_checkpoint *saved(rig *r) {
    lud_checkpoint *checkpoint = lud_checkpoint_create();
    lud_empo_phase1.visit(&r->learner->base, checkpoint);
    lud_error error = {0};
    if (lud_checkpoint_status(checkpoint, &error)) fail_msg("%s", error.text);
    return checkpoint;
}

static void resuming_equals_no_interruption(void **state) {
    (void)state;
    rig whole, first, second;
    open_rig(&whole, crowd, small, 0, NULL);
    open_rig(&first, crowd, small, 0, NULL);
    open_rig(&second, crowd, small, 0, NULL);
    iterate(&whole, 6);
    iterate(&first, 4);
    lud_error error = {0};
    static const char path[] = LUDUS_BINARY_DIR "/test_empo_phase1_resume.safetensors";
    lud_checkpoint *checkpoint = saved(&first);
    assert_int_equal(lud_checkpoint_write(checkpoint, path, &error), LUD_OK);
    lud_checkpoint_destroy(checkpoint);
    assert_int_equal(lud_checkpoint_open(path, &checkpoint, &error), LUD_OK);
    lud_empo_phase1.visit(&second.learner->base, checkpoint);
    if (lud_checkpoint_status(checkpoint, &error)) fail_msg("%s", error.text);
    lud_checkpoint_destroy(checkpoint);
    remove(path);
    iterate(&second, 2);
    lud_checkpoint *x = saved(&whole), *y = saved(&second);
    assert_int_equal(lud_checkpoint_n_tensors(x), lud_checkpoint_n_tensors(y));
    for (int i = 0; i < lud_checkpoint_n_tensors(x); i++) {
        const lud_tensor *one = lud_checkpoint_get(x, i), *other = lud_checkpoint_find(y, one->name);
        assert_non_null(other);
        assert_int_equal(one->bytes, other->bytes);
        if (one->bytes && memcmp(one->data, other->data, one->bytes) != 0) fail_msg("%s differs", one->name);
    }
    lud_checkpoint_destroy(x);
    lud_checkpoint_destroy(y);
    close_rig(&whole);
    close_rig(&first);
    close_rig(&second);
}

/* Asked in a batch and one by one, with a goal and without, the answers are the same distributions; who has
 * achieved the goal stands still. Without a network of its own, what somebody does whose goal is not known is
 * the mean over goals. */
static void compare_policy(bool marginal_network) {
    rig r;
    const char *const without[] = {"learner.marginal_network=false"};
    open_rig(&r, crowd, small, !marginal_network, without);
    iterate(&r, 2);
    lud_empo_human_net *net = &r.learner->net;
    const lud_empo_layout *layout = &net->features.layout;
    const lud_model *model = r.scenario->model;
    lud_policy *policy = NULL;
    lud_error error = {0};
    assert_int_equal(lud_empo_human_policy_create(net, model, &policy, &error), LUD_OK);
    enum { N = 5 };
    uint8_t *states = calloc(N, model->layout.state_bytes);
    int32_t *records = calloc((size_t)N * (size_t)net->features.words, sizeof *records);
    const int32_t *record_of[N];
    const int width = layout->policy_begin[layout->n_humans];
    double *policies = calloc((size_t)(N * width), sizeof *policies), own[8];
    double *marginals = calloc((size_t)(N * layout->n_humans) * (size_t)net->n_actions, sizeof *marginals);
    int still = 0;
    for (int i = 0; i < N; i++) {
        uint8_t *own_state = states + (size_t)i * model->layout.state_bytes;
        uint32_t tick = 0;
        const lud_range range = {.seed = 5, .first_environment = (uint32_t)i, .n = 1, .tick = &tick};
        model->world->reset(model, range, own_state);
        for (; tick < (uint32_t)i % 4; tick++)
            model->world->step(model, range, own_state,
                               (lud_actions){.discrete = (const int32_t[]){3, 1, 3, 2}}, (lud_outcome){0});
        record_of[i] = records + (size_t)i * (size_t)net->features.words;
        lud_empo_features_encode(&net->features, own_state,
                                 records + (size_t)i * (size_t)net->features.words);
    }
    lud_empo_human_net_policies(net, N, record_of, policies, NULL);
    lud_empo_human_net_marginals(net, N, record_of, marginals);
    for (int i = 0; i < N; i++)
        for (int h = 0; h < layout->n_humans; h++)
            for (int g = -1; g < layout->goal_begin[h + 1] - layout->goal_begin[h]; g++) {
                const int n = layout->n_human_actions[h];
                assert_true(lud_policy_distribution(policy, states + (size_t)i * model->layout.state_bytes,
                                                    layout->humans[h], g, own));
                const double *expected =
                    g < 0 ? marginals +
                                ((size_t)i * (size_t)layout->n_humans + (size_t)h) * (size_t)net->n_actions
                          : policies + i * width + layout->policy_begin[h] + g * n;
                double sum = 0;
                for (int a = 0; a < n; a++) {
                    assert_true(fabs(own[a] - expected[a]) < 1e-5);
                    sum += own[a];
                    double mean = 0, weights = 0;
                    for (int k = 0; k < layout->goal_begin[h + 1] - layout->goal_begin[h]; k++) {
                        const double weight = net->features.goal_weight[layout->goal_begin[h] + k];
                        mean += weight * policies[i * width + layout->policy_begin[h] + k * n + a];
                        weights += weight;
                    }
                    if (g < 0 && !marginal_network) assert_true(fabs(expected[a] - mean / weights) < 1e-5);
                }
                assert_true(fabs(sum - 1) < 1e-9);
                if (g < 0 || !lud_empo_features_achieved(&net->features, record_of[i], h, g)) continue;
                assert_true(own[0] == 1.0);
                still++;
            }
    assert_true(still > 0);
    /* robots act at random */
    assert_true(lud_policy_distribution(policy, states, layout->robots[0], -1, own));
    assert_true(own[0] == 0.25 && own[3] == 0.25);
    lud_policy_destroy(policy);
    free(states);
    free(records);
    free(policies);
    free(marginals);
    close_rig(&r);
}

static void the_policy_says_what_the_networks_say(void **state) {
    (void)state;
    compare_policy(true);
    compare_policy(false);
}

/* Phase 2 takes people from a run of phase 1; its actor and its exact comparison ask the same networks. */
static void phase_2_takes_learned_people(void **state) {
    (void)state;
    char folder[] = "/tmp/ludus_phase1_XXXXXX";
    assert_non_null(mkdtemp(folder));
    rig r;
    open_rig(&r, corridor, small, 0, NULL);
    lud_error error = {0};
    lud_text configuration = {0};
    lud_text_append(&configuration, "%s%s", corridor, small);
    const lud_train_options options = {.folder = folder, .configuration = configuration.bytes};
    lud_train_result result;
    if (lud_train(&r.learner->base, &options, &result, &error)) fail_msg("%s", error.text);
    lud_text prior = {0}, text = {0};
    lud_text_append(&prior, "learner.human_prior={type: learned, run: %s}", folder);
    lud_text_append(&text, "%s%s", corridor,
                    "learner: {type: empo-phase2, automatic: false, hidden_dim: 8, num_training_steps: 12, "
                    "batch_size: 4,\n"
                    "  updates_per_iteration: 6, environments: 2, epsilon_h_start: 0, epsilon_h_end: 0}\n");
    const char *const set[] = {prior.bytes};
    lud_scenario *scenario = NULL;
    lud_learner *made = NULL;
    if (lud_scenario_read("test.yaml", text.bytes, text.length, set, 1, &scenario, &error) ||
        lud_learner_create(scenario, r.device, &made, &error))
        fail_msg("%s", error.text);
    lud_empo_phase2_learner *phase2 = (lud_empo_phase2_learner *)made;
    double row[128], own[8], theirs[8];
    assert_true(made->n_columns <= 128);
    if (lud_empo_phase2.iterate(made, row, &error) || lud_empo_phase2.evaluate(made, row, &error))
        fail_msg("%s", error.text);
    assert_true(phase2->evaluated);
    /* the exact comparison's people are those of the networks that were trained */
    const lud_statespace *space = phase2->reference.space;
    lud_policy *policy = NULL;
    assert_int_equal(lud_empo_human_policy_create(&r.learner->net, r.scenario->model, &policy, &error),
                     LUD_OK);
    const lud_empo_layout *layout = &phase2->features.layout;
    for (uint64_t s = 0; s < space->n_states; s += 7)
        for (int g = 0; g < layout->n_goals && !lud_statespace_terminal(space, s); g++) {
            const uint8_t *at = space->states + s * space->state_bytes;
            assert_true(lud_policy_distribution(policy, at, layout->humans[0], g, own));
            lud_empo_prior_policy(&phase2->prior, &phase2->features, at, 0, g, theirs);
            const double *exact = phase2->reference.records + s * (uint64_t)layout->record_doubles +
                                  layout->policies + g * layout->n_human_actions[0];
            for (int a = 0; a < layout->n_human_actions[0]; a++)
                assert_true(own[a] == theirs[a] && fabs(own[a] - exact[a]) < 1e-12);
        }
    lud_policy_destroy(policy);
    lud_learner_destroy(made);
    lud_scenario_destroy(scenario);
    /* a folder that is none, and a run of another kind of learner, are told */
    static const char *const wrong[] = {"learner.human_prior={type: learned, run: /nowhere/at/all}",
                                        "learner.human_prior={type: learned}"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            lud_scenario_read("test.yaml", text.bytes, text.length, wrong + i, 1, &scenario, &error), LUD_OK);
        assert_int_not_equal(lud_learner_create(scenario, r.device, &made, &error), LUD_OK);
        assert_non_null(strstr(error.text, i ? "run:" : "/nowhere/at/all"));
        lud_scenario_destroy(scenario);
    }
    close_rig(&r);
    lud_text_free(&configuration);
    lud_text_free(&prior);
    lud_text_free(&text);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_follow_the_equation),
        cmocka_unit_test(networks_come_close_to_the_exact_people),
        cmocka_unit_test(resuming_equals_no_interruption),
        cmocka_unit_test(the_policy_says_what_the_networks_say),
        cmocka_unit_test(phase_2_takes_learned_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
