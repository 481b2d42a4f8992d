/* The tree search while acting: what it backs up against values worked out by hand, what it prefers, that it
 * depends on nothing but its inputs, and the learner and its policy that act by it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/empo/support_empo.h"

/* A person that stands still (by its prior) and a robot on a strip. */
static const char strip[] = "ludus: 1\n"
                            "name: strip\n"
                            "world: multigrid\n"
                            "multigrid:\n"
                            "  map: |\n"
                            "    We We We We We We\n"
                            "    We Ay We Ae .. We\n"
                            "    We .. We .. .. We\n"
                            "    We We We We We We\n"
                            "  max_steps: 6\n"
                            "  actions: small\n"
                            "goals:\n"
                            "  - {cell: [1, 1]}\n"
                            "  - {cell: [1, 2]}\n"
                            "learner:\n"
                            "  type: empo-phase2\n  automatic: false\n"
                            "  human_prior: {type: weighted, weights: {still: 1}}\n"
                            "  gamma_r: 0.9\n"
                            "  beta_r: 5\n"
                            "  hidden_dim: 8\n"
                            "  goal_feature_dim: 4\n"
                            "  num_training_steps: 40\n"
                            "  updates_per_iteration: 10\n"
                            "  batch_size: 6\n"
                            "  warmup_v_h_e_steps: 4\n"
                            "  warmup_x_h_steps: 4\n"
                            "  warmup_q_r_steps: 4\n"
                            "  beta_r_rampup_steps: 0\n"
                            "  epsilon_r_start: 0\n"
                            "  epsilon_r_end: 0\n"
                            "  buffer_size: 200\n"
                            "  environments: 3\n"
                            "  exact_max_states: 0\n";

/* Made-up values: the further the robot stands from the lower right corner the worse; all actions alike. */
typedef struct made_up {
    const lud_empo_features *features;
    int asked;
} made_up;

static double worth(const lud_empo_features *f, const int32_t *record) {
    const float *robot = lud_empo_features_agent(f, record, f->layout.robots[0]);
    return -1.0 - 5.0 * ((4.0 - (double)robot[0]) + (2.0 - (double)robot[1]));
}

static lud_status made_up_values(void *context, int n, const int32_t *const *records,
                                 const int32_t *const *goals, double beta_r, float *q, float *u, float *v,
                                 lud_error *error) {
    made_up *m = context;
    (void)goals;
    (void)beta_r;
    (void)error;
    for (int i = 0; i < n; i++) {
        v[i] = (float)worth(m->features, records[i]);
        u[i] = -1.0f;
        for (int a = 0; a < m->features->layout.n_robot_actions; a++)
            q[i * m->features->layout.n_robot_actions + a] = -20.0f;
    }
    m->asked += n;
    return LUD_OK;
}

static uint8_t *start(const support_empo *r) {
    const lud_model *model = r->scenario->model;
    uint8_t *state = calloc(1, model->layout.state_bytes);
    uint32_t tick = 0;
    model->world->reset(model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, state);
    return state;
}

/* A search with other options than the learner's own, which it changes. */
static lud_empo_search *make_search(const support_empo *r, int n_envs, lud_empo_learner_options wanted) {
    lud_empo_search *search = NULL;
    lud_error error = {0};
    lud_empo_learner_options *o = &r->learner->options;
    o->mcts_num_simulations = wanted.mcts_num_simulations;
    o->mcts_max_depth = wanted.mcts_max_depth;
    o->mcts_c_puct = wanted.mcts_c_puct;
    o->mcts_temperature = wanted.mcts_temperature;
    o->mcts_root_noise_frac = wanted.mcts_root_noise_frac;
    assert_true(o->theory.terminal_value == -1e-10 && o->mcts_dirichlet_alpha == 0.3);
    if (lud_empo_search_create(o, n_envs, 5, &r->learner->features, &r->learner->prior, &search, &error))
        fail_msg("%s", error.text);
    return search;
}

/* One step deep, every action tried: the mean backed up is gamma times the value of where it leads. */
static void one_step_backs_up_what_follows(void **state) {
    (void)state;
    support_empo r;
    support_empo_open(&r, strip, "", 0, NULL);
    const lud_empo_features *f = &r.learner->features;
    const lud_model *model = r.scenario->model;
    uint8_t *at = start(&r);
    const int32_t goals[1] = {0};
    const uint32_t tick[1] = {7};
    enum { SIMULATIONS = 40 };
    lud_empo_search *search = make_search(&r, 1,
                                          (lud_empo_learner_options){.mcts_num_simulations = SIMULATIONS,
                                                                     .mcts_max_depth = 1,
                                                                     .mcts_c_puct = 100,
                                                                     .mcts_temperature = 2});
    made_up values = {.features = f};
    double policy[4], q[4], value = 0, sum = 0;
    int32_t visits[4], total = 0;
    lud_error error = {0};
    assert_int_equal(
        lud_empo_search_run(search, 1, 0, at, goals, tick, 5.0, 0.9, made_up_values, &values, policy, &error),
        LUD_OK);
    lud_empo_search_root(search, 0, visits, q, &value);
    int32_t *record = calloc((size_t)f->words, sizeof *record);
    lud_successors found = {0};
    double expected_value = -1.0;
    for (int a = 0; a < 4; a++) {
        int32_t joint[2] = {0, 0};
        lud_empo_robot_decode(&f->layout, model, a, joint);
        assert_int_equal(model->world->successors(model, at, joint, &found, &error), LUD_OK);
        assert_int_equal(found.n, 1);
        lud_empo_features_encode(f, found.states, record);
        assert_true(visits[a] > 0 && fabs(q[a] - 0.9 * worth(f, record)) < 1e-5);
        total += visits[a];
        sum += sqrt(visits[a]); /* temperature 2 */
    }
    for (int a = 0; a < 4; a++) {
        assert_true(fabs(policy[a] - sqrt(visits[a]) / sum) < 1e-9);
        expected_value += policy[a] * q[a];
    }
    assert_int_equal(total, SIMULATIONS);
    assert_true(fabs(value - expected_value) < 1e-9);
    assert_true(values.asked <= 5); /* the root and four states, each once */
    lud_successors_free(&found);
    free(record);
    free(at);
    lud_empo_search_destroy(search);
    support_empo_close(&r);
}

/* Deep enough, it finds the way to the better corner where the values at hand say nothing about actions: the
 * robot faces east or whatever the map says, so what is preferred is what exact lookahead prefers. */
static double lookahead(const support_empo *r, const uint8_t *at, int depth) {
    const lud_empo_features *f = &r->learner->features;
    const lud_model *model = r->scenario->model;
    if (model->world->is_terminal(model, at)) return -1e-10;
    if (depth == 0) {
        int32_t *record = calloc((size_t)f->words, sizeof *record);
        lud_empo_features_encode(f, at, record);
        const double value = worth(f, record);
        free(record);
        return value;
    }
    double best = -INFINITY;
    for (int a = 0; a < 4; a++) {
        int32_t joint[2] = {0, 0};
        lud_successors found = {0};
        lud_error error = {0};
        lud_empo_robot_decode(&f->layout, model, a, joint);
        assert_int_equal(model->world->successors(model, at, joint, &found, &error), LUD_OK);
        best = fmax(best, -1.0 + 0.9 * lookahead(r, found.states, depth - 1));
        lud_successors_free(&found);
    }
    return best;
}

static void it_prefers_what_lookahead_prefers(void **state) {
    (void)state;
    support_empo r;
    support_empo_open(&r, strip, "", 0, NULL);
    const lud_empo_features *f = &r.learner->features;
    const lud_model *model = r.scenario->model;
    uint8_t *at = start(&r);
    const int32_t goals[1] = {0};
    const uint32_t tick[1] = {7};
    lud_empo_search *search = make_search(
        &r, 1,
        (lud_empo_learner_options){
            .mcts_num_simulations = 600, .mcts_max_depth = 4, .mcts_c_puct = 6, .mcts_temperature = 1});
    made_up values = {.features = f};
    double policy[4], exact[4];
    lud_error error = {0};
    assert_int_equal(
        lud_empo_search_run(search, 1, 0, at, goals, tick, 5.0, 0.9, made_up_values, &values, policy, &error),
        LUD_OK);
    int best = 0, preferred = 0;
    for (int a = 0; a < 4; a++) {
        int32_t joint[2] = {0, 0};
        lud_successors found = {0};
        lud_empo_robot_decode(&f->layout, model, a, joint);
        assert_int_equal(model->world->successors(model, at, joint, &found, &error), LUD_OK);
        exact[a] = 0.9 * lookahead(&r, found.states, 3);
        lud_successors_free(&found);
        if (exact[a] > exact[best]) best = a;
        if (policy[a] > policy[preferred]) preferred = a;
    }
    assert_true(exact[preferred] >= exact[best] - 1e-6);
    assert_true(policy[preferred] > 0.3);
    free(at);
    lud_empo_search_destroy(search);
    support_empo_close(&r);
}

/* Three environments together and one by one give the same bytes, twice; noise stays a distribution. */
static void nothing_but_its_inputs_counts(void **state) {
    (void)state;
    support_empo r;
    static const char *const random[] = {"learner.human_prior={type: random}"};
    support_empo_open(&r, strip, "", 1, random);
    const lud_model *model = r.scenario->model;
    const size_t bytes = model->layout.state_bytes;
    uint8_t *states = calloc(3, bytes), *one = start(&r);
    for (size_t i = 0; i < 3; i++) memcpy(states + i * bytes, one, bytes);
    const int32_t goals[3] = {0, 1, 0};
    const uint32_t tick[3] = {3, 4, 5};
    for (int noise = 0; noise < 2; noise++) {
        const lud_empo_learner_options options = {.mcts_num_simulations = 25,
                                                  .mcts_max_depth = 3,
                                                  .mcts_c_puct = 1.5,
                                                  .mcts_temperature = 1,
                                                  .mcts_root_noise_frac = noise ? 0.5 : 0.0};
        lud_empo_search *together = make_search(&r, 3, options), *alone = make_search(&r, 3, options);
        made_up values = {.features = &r.learner->features};
        double all[3][4], again[3][4], own[4];
        lud_error error = {0};
        for (int round = 0; round < 2; round++)
            assert_int_equal(lud_empo_search_run(together, 3, 10, states, goals, tick, 5.0, 0.9,
                                                 made_up_values, &values, round ? again[0] : all[0], &error),
                             LUD_OK);
        assert_memory_equal(all, again, sizeof all);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(lud_empo_search_run(alone, 1, 10 + i, one, goals + i, tick + i, 5.0, 0.9,
                                                 made_up_values, &values, own, &error),
                             LUD_OK);
            assert_memory_equal(own, all[i], sizeof own);
            assert_true(fabs(own[0] + own[1] + own[2] + own[3] - 1) < 1e-9);
        }
        lud_empo_search_destroy(together);
        lud_empo_search_destroy(alone);
    }
    free(states);
    free(one);
    support_empo_close(&r);
}

/* The learner acts by it after the warm-up, the same twice, and so does the policy that it makes. */
static void the_learner_and_its_policy_search(void **state) {
    (void)state;
    static const char *const set[] = {"learner.pi_r_mode=mcts", "learner.mcts_num_simulations=6",
                                      "learner.mcts_root_noise_frac=0.25"};
    double rows[2][128], policy[3][4];
    for (int run = 0; run < 3; run++) {
        support_empo r;
        support_empo_open(&r, strip, "", run == 2 ? 0 : 3, set);
        lud_error error = {0};
        assert_true(r.learner->base.n_columns <= 128);
        double ignored[128];
        for (int i = 0; i < 4; i++)
            if (lud_empo_phase2.iterate(&r.learner->base, run < 2 ? rows[run] : ignored, &error))
                fail_msg("%s", error.text);
        assert_true((r.learner->search != NULL) == (run < 2));
        lud_policy *made = NULL;
        assert_int_equal(lud_empo_phase2.policy(&r.learner->base, &made, &error), LUD_OK);
        uint8_t *at = start(&r);
        assert_true(lud_policy_distribution(made, at, r.learner->features.layout.robots[0], -1, policy[run]));
        double sum = 0;
        for (int a = 0; a < 4; a++) {
            sum += policy[run][a];
            /* shares of six visits */
            if (run < 2) assert_true(fabs(6 * policy[run][a] - round(6 * policy[run][a])) < 1e-9);
        }
        assert_true(fabs(sum - 1) < 1e-9);
        free(at);
        lud_policy_destroy(made);
        support_empo_close(&r);
    }
    assert_memory_equal(policy[0], policy[1], sizeof policy[0]);
    for (int i = 0; i < 20; i++) assert_true(rows[0][i] == rows[1][i] || isnan(rows[0][i]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_step_backs_up_what_follows),
        cmocka_unit_test(it_prefers_what_lookahead_prefers),
        cmocka_unit_test(nothing_but_its_inputs_counts),
        cmocka_unit_test(the_learner_and_its_policy_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
