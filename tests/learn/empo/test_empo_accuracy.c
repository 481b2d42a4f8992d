/* What brings the learner empo-phase2 to the exact solution: targets in expectation over people against sums
 * over joint actions, the archive of states, contests in the replay memory, ensembles of maps, robot values
 * in log space, and the shapes that batched targets are known to go wrong in. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "learn/empo/memory/archive.h"
#include "learn/empo/people/human_profiles.h"
#include "learn/empo/support_empo.h"
#include "learn/empo/support_stages.h"
#include "learn/empo/targets/targets.h"

static const char networks[] = "learner:\n"
                               "  type: empo-phase2\n  automatic: false\n"
                               "  zeta: 2\n"
                               "  eta: 1.1\n"
                               "  gamma_h: 0.95\n"
                               "  gamma_r: 0.97\n"
                               "  beta_r: 3\n"
                               "  human_prior: {type: heuristic, beta: 5}\n"
                               "  expected_people: true\n"
                               "  hidden_dim: 8\n"
                               "  goal_feature_dim: 4\n"
                               "  num_training_steps: 24\n"
                               "  updates_per_iteration: 4\n"
                               "  batch_size: 5\n"
                               "  warmup_v_h_e_steps: 4\n"
                               "  warmup_x_h_steps: 4\n"
                               "  warmup_u_r_steps: 4\n"
                               "  warmup_q_r_steps: 4\n"
                               "  warmup_v_r_steps: 4\n"
                               "  beta_r_rampup_steps: 0\n"
                               "  buffer_size: 40\n"
                               "  environments: 2\n"
                               "  exact_max_states: 0\n";

static const char tables[] = "learner:\n"
                             "  type: empo-phase2\n  automatic: false\n"
                             "  zeta: 2\n"
                             "  eta: 1.1\n"
                             "  gamma_h: 0.95\n"
                             "  gamma_r: 0.97\n"
                             "  beta_r: 10\n"
                             "  human_prior: exact\n"
                             "  expected_people: true\n"
                             "  use_lookup_tables: true\n"
                             "  x_h_use_network: false\n"
                             "  lookup_lr: 1\n"
                             "  lookup_default_v_h_e: 0.5\n"
                             "  restart_prob: 0.95\n"
                             "  restart_from: successors\n"
                             "  restart_steps: 1\n"
                             "  restart_choices: 8\n"
                             "  steps_per_episode: 0\n"
                             "  num_training_steps: 3000\n"
                             "  updates_per_iteration: 500\n"
                             "  training_steps_per_env_step: 0.25\n"
                             "  warmup_v_h_e_steps: 300\n"
                             "  warmup_q_r_steps: 200\n"
                             "  beta_r_rampup_steps: 200\n";

/* Three rooms of different shape in one model: an episode draws one of them. */
static const char rooms[] =
    "ludus: 1\n"
    "name: rooms\n"
    "world: multigrid\n"
    "multigrid:\n"
    "  generate: {style: open, size: [5, 4], walls: 0.2, humans: 1, robots: 1, maps: 3, seed: 1}\n"
    "  max_steps: 4\n"
    "  actions: small\n"
    "goals:\n"
    "  - {rectangle: [1, 1, 2, 2]}\n"
    "  - {rectangle: [2, 1, 3, 2]}\n"
    "  - {cell: [1, 1]}\n";

/* ---- people ---- */

/* Profiles' probabilities sum to one, and the mean of those that pursue a goal, by its weight, is the
 * marginal. */
static void profiles_are_distributions(void **state) {
    (void)state;
    support_empo r;
    support_empo_open(&r, support_empo_crowd, networks, 0, NULL);
    const lud_empo_features *f = &r.learner->features;
    const lud_empo_layout *layout = &f->layout;
    float policies[64];
    double marginal[64], pursuing[6 * 64], scratch[2 * 64];
    const int n_profiles = layout->n_human_profiles;
    assert_true(layout->policy_begin[2] <= 64 && n_profiles <= 64 && layout->n_goals <= 6);
    for (int h = 0, at = 0; h < 2; h++)
        for (int g = 0; g < 3; g++) {
            const int n = layout->n_human_actions[h], skipped = (g + h) % n;
            double sum = 0;
            for (int a = 0; a < n; a++) sum += a == skipped ? 0.0 : a + 1.0 + g + 3 * h;
            for (int a = 0; a < n; a++)
                policies[at++] = a == skipped ? 0.0f : (float)((a + 1.0 + g + 3 * h) / sum);
        }
    lud_empo_people_profiles(f, policies, marginal, pursuing, scratch);
    double whole = 0;
    for (int p = 0; p < n_profiles; p++) {
        whole += marginal[p];
        assert_true(lud_empo_people_possible(layout, policies, p) == (marginal[p] > 0));
        for (int h = 0; h < 2; h++) {
            double mean = 0;
            for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++)
                mean += f->goal_weight[g] / f->weight_sum[h] * pursuing[g * n_profiles + p];
            assert_true(fabs(mean - marginal[p]) < 1e-6);
        }
    }
    assert_true(fabs(whole - 1.0) < 1e-6);
    support_empo_close(&r);
}

/* Everything about one state: V_h^e of all goals, V_r and pi_r. */
static void single(support_empo *r, const int32_t *record, double beta_r, float *v_h_e, float *v_r,
                   float *pi) {
    lud_empo_values *v = &r->learner->values;
    lud_error error = {0};
    if (lud_empo_values_run(v, 1, &record, NULL, LUD_WANT_ALL, beta_r, 0, &error)) fail_msg("%s", error.text);
    memcpy(v_h_e, v->v_h_e, (size_t)v->n_entries * sizeof *v_h_e);
    memcpy(pi, v->pi_r, (size_t)r->learner->features.layout.n_robot_actions * sizeof *pi);
    *v_r = v->v_r[0];
}

/* Targets in expectation against loops over all joint actions with the world's own successors and the prior's
 * own probabilities: nothing of what was stored is used but the state. The state itself is found by playing
 * the world again, since a record cannot be turned back into one. */
static void check_expectation(support_empo *r, double beta_r) {
    lud_empo_phase2_learner *l = r->learner;
    const lud_empo_features *f = &l->features;
    const lud_empo_layout *layout = &f->layout;
    const lud_model *model = r->scenario->model;
    const int n_actions = layout->n_robot_actions, n_profiles = layout->n_human_profiles;
    lud_empo_now now = lud_empo_stages_at(&l->options.stages, 24);
    now.beta_r = beta_r;
    /* what networks and tables say must not change between the batch and the loops */
    for (int net = 0; net < LUD_EMPO_NETS; net++) now.lr[net] = 0.0;
    l->options.lookup_lr = 0.0;
    lud_error error = {0};
    if (lud_empo_update_run(l->update, 24, &now, true, &error)) fail_msg("%s", error.text);
    const lud_empo_batch_view view = lud_empo_update_targets(l->update);
    lud_statespace *space = NULL;
    const lud_statespace_options reach = {.seed = 1, .n_threads = 1};
    assert_int_equal(lud_statespace_build(model, &reach, &space, &error), LUD_OK);
    int32_t *record = calloc((size_t)f->words, sizeof *record), joint[8] = {0};
    lud_successors found = {0};
    int checked = 0;
    for (uint64_t s = 0; s < space->n_states; s++) {
        const uint8_t *at = space->states + s * space->state_bytes;
        lud_empo_features_encode(f, at, record);
        int64_t row = -1;
        for (int64_t i = 0; i < view.n; i++)
            if (!memcmp(lud_empo_replay_get(l->replay, view.indices[i]).state, record, (size_t)f->words * 4))
                row = i;
        if (row < 0) continue;
        checked++;
        float v_h_e[8], own[8], pi[64], unused[64], v_r;
        double people[8] = {0};
        single(r, record, beta_r, own, &v_r, pi);
        for (int a = 0; a < n_actions; a++) {
            double q = 0;
            for (int p = 0; p < n_profiles; p++) {
                double given[8], marginal = 1.0, others[2] = {1.0, 1.0};
                for (int h = 0; h < layout->n_humans; h++) {
                    double mean = 0, policy[16];
                    const int action = lud_empo_own_action(layout, h, p);
                    for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++) {
                        lud_empo_prior_policy(&l->prior, f, at, h, g - layout->goal_begin[h], policy);
                        given[g] = policy[action];
                        mean += f->goal_weight[g] / f->weight_sum[h] * policy[action];
                    }
                    joint[layout->humans[h]] = action;
                    marginal *= mean;
                    for (int k = 0; k < layout->n_humans; k++)
                        if (k != h) others[k] *= mean;
                }
                lud_empo_robot_decode(layout, model, a, joint);
                assert_int_equal(model->world->successors(model, at, joint, &found, &error), LUD_OK);
                for (size_t i = 0; i < found.n; i++) {
                    const uint8_t *next = found.states + i * space->state_bytes;
                    const bool ends = model->world->is_terminal(model, next);
                    lud_empo_features_encode(f, next, record);
                    single(r, record, beta_r, v_h_e, &v_r, unused);
                    q += marginal * found.probability[i] *
                         (ends ? l->options.theory.terminal_value : (double)v_r);
                    for (int h = 0; h < layout->n_humans; h++)
                        for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++) {
                            const bool there = model->world->achieved(model, next, layout->humans[h],
                                                                      g - layout->goal_begin[h]);
                            const double later = ends ? 0.0 : now.gamma_h * (double)v_h_e[g];
                            people[g] += (double)pi[a] * given[g] * others[h] * found.probability[i] *
                                         (there ? 1.0 : later);
                        }
                }
            }
            assert_true(fabs((double)view.q_r[row * n_actions + a] - now.gamma_r * q) <
                        1e-6 * (1.0 + fabs(now.gamma_r * q)));
        }
        for (int g = 0; g < layout->n_goals; g++)
            assert_true(fabs((double)view.v_h_e[row * layout->n_goals + g] - people[g]) < 1e-6);
    }
    assert_true(checked > 0);
    lud_successors_free(&found);
    free(record);
    lud_statespace_destroy(space);
}

static void expected_targets_equal_sums_over_everything(void **state) {
    (void)state;
    /* the floor keeps X_h^-xi of networks that have not learned from magnifying what rounding does to V_h^e
     */
    static const char *const composed[] = {"learner.x_h_use_network=false", "learner.x_h_floor=0.05"};
    static const char *const logs[] = {"learner.use_log_space_transform=true", "learner.v_r_use_network=true",
                                       "learner.replay_contest=3"};
    static const char *const lookup[] = {"learner.use_lookup_tables=true"};
    const struct {
        const char *world;
        int n_set;
        const char *const *set;
    } cases[] = {{support_empo_corridor, 0, NULL},
                 {support_empo_corridor, 2, composed},
                 {support_empo_corridor, 3, logs},
                 {support_empo_crowd, 2, composed},
                 {support_empo_crowd, 1, lookup}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        support_empo r;
        const bool crowd = cases[i].world == support_empo_crowd;
        const char *set[8] = {crowd ? "multigrid.max_steps=2" : "multigrid.max_steps=4"};
        for (int k = 0; k < cases[i].n_set; k++) set[k + 1] = cases[i].set[k];
        support_empo_open(&r, cases[i].world, networks, cases[i].n_set + 1, set);
        support_empo_iterate(&r, 6);
        check_expectation(&r, 3.0);
        support_empo_close(&r);
    }
}

/* ---- archive ---- */

static void archive_keeps_each_state_once(void **state) {
    (void)state;
    enum { N = 1500, BYTES = 5, CAPACITY = 1000 };
    lud_empo_archive *archive = lud_empo_archive_create(BYTES, CAPACITY);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < N; i++) {
            const uint8_t bytes[BYTES] = {(uint8_t)(i & 255), (uint8_t)(i >> 8), 7, 7, 7};
            assert_true(lud_empo_archive_add(archive, bytes));
            const int known = round ? CAPACITY : i + 1 < CAPACITY ? i + 1 : CAPACITY;
            assert_int_equal(lud_empo_archive_count(archive), known);
        }
    /* one draw is where it is told to be; of several, the one started from least */
    const double half[1] = {0.5};
    const uint8_t *drawn = lud_empo_archive_draw(archive, 1, half);
    assert_int_equal(drawn[0] + 256 * drawn[1], CAPACITY / 2);
    assert_int_equal(lud_empo_archive_starts(archive, CAPACITY / 2), 1);
    const double three[3] = {0.5, 0.9, 0.1};
    drawn = lud_empo_archive_draw(archive, 3, three);
    assert_int_equal(drawn[0] + 256 * drawn[1], 900);
    /* a copy by way of a checkpoint goes on as this one does */
    lud_checkpoint *saved = lud_checkpoint_create();
    lud_empo_archive_visit(archive, NULL, "a.", saved);
    lud_error error = {0};
    assert_int_equal(lud_checkpoint_write(saved, support_empo_path, &error), LUD_OK);
    lud_checkpoint_destroy(saved);
    assert_int_equal(lud_checkpoint_open(support_empo_path, &saved, &error), LUD_OK);
    lud_empo_archive *copy = lud_empo_archive_create(BYTES, CAPACITY),
                     *small = lud_empo_archive_create(BYTES, 9);
    lud_empo_archive_visit(copy, NULL, "a.", saved);
    assert_int_equal(lud_checkpoint_status(saved, NULL), LUD_OK);
    assert_int_equal(lud_empo_archive_count(copy), CAPACITY);
    for (int i = 0; i < CAPACITY; i++)
        assert_int_equal(lud_empo_archive_starts(copy, i), lud_empo_archive_starts(archive, i));
    const uint8_t known[BYTES] = {3, 2, 7, 7, 7};
    assert_true(lud_empo_archive_add(copy, known));
    assert_int_equal(lud_empo_archive_count(copy), CAPACITY);
    lud_empo_archive_visit(small, NULL, "a.", saved);
    assert_int_not_equal(lud_checkpoint_status(saved, NULL), LUD_OK);
    lud_checkpoint_destroy(saved);
    remove(support_empo_path);
    lud_empo_archive_destroy(archive);
    lud_empo_archive_destroy(copy);
    lud_empo_archive_destroy(small);
}

/* Restarts from the archive come to all states that do not end the world, where the world's own starts under
 * random actions do not in the same number of steps. */
static void restarts_reach_every_state(void **state) {
    (void)state;
    int64_t missed[2];
    for (int round = 0; round < 2; round++) {
        const char *const set[] = {round ? "learner.restart_prob=0.95" : "learner.restart_prob=0",
                                   "learner.use_count_based_curiosity=true",
                                   "learner.count_curiosity_bonus_coef_r=0", "multigrid.max_steps=9"};
        support_empo r;
        support_empo_open(&r, support_empo_corridor, tables, 4, set);
        const lud_statespace *space = r.learner->reference.space;
        int64_t there = 0;
        for (uint64_t s = 0; s < space->n_states; s++) there += !lud_statespace_terminal(space, s);
        const lud_empo_now now = lud_empo_stages_at(&r.learner->options.stages, 0);
        lud_error error = {0};
        for (int64_t i = 0; i < there / 2; i++) /* eight environments: four steps a state */
            assert_int_equal(lud_empo_rollout_step(r.learner->rollout, &now, 0, r.learner->replay, &error),
                             LUD_OK);
        const lud_empo_rollout_counts counts = lud_empo_rollout_get_counts(r.learner->rollout);
        missed[round] = there - counts.states_seen;
        assert_int_equal(counts.restarts > 0, round == 1);
        assert_true(counts.archived == (round ? there : 0) || counts.archived == there - 1);
        support_empo_close(&r);
    }
    assert_int_equal(missed[1], 0);
    assert_true(missed[0] > 50);
}

/* ---- replay ---- */

static void contests_are_won_by_the_largest_priority(void **state) {
    (void)state;
    support_empo r;
    support_empo_open(&r, support_empo_corridor, networks, 0, NULL);
    support_empo_iterate(&r, 6);
    lud_empo_replay *replay = r.learner->replay;
    const int64_t n = lud_empo_replay_count(replay);
    assert_true(n >= 20 && n <= 40);
    for (int64_t i = 0; i < n; i++) lud_empo_replay_set_priority(replay, i, (float)i);
    int64_t plain[40], won[40];
    for (uint32_t draw = 0; draw < 50; draw++) {
        lud_empo_replay_sample(replay, 20, INT64_MIN, 5, draw, plain);
        lud_empo_replay_contest(replay, 5, 4, INT64_MIN, 5, draw, won);
        for (int i = 0; i < 5; i++) {
            int64_t best = 0;
            for (int k = 0; k < 4; k++) best = plain[4 * i + k] > best ? plain[4 * i + k] : best;
            assert_int_equal(won[i], best);
        }
        /* a contest of one is a plain draw; too few for a contest: as many as there are */
        lud_empo_replay_sample(replay, 5, INT64_MIN, 5, draw, plain);
        lud_empo_replay_contest(replay, 5, 1, INT64_MIN, 5, draw, won);
        assert_memory_equal(plain, won, 5 * sizeof *won);
        lud_empo_replay_contest(replay, n, 64, INT64_MIN, 5, draw, won);
        int64_t sum = 0;
        for (int64_t i = 0; i < n; i++) sum += won[i];
        assert_int_equal(sum, n * (n - 1) / 2);
    }
    support_empo_close(&r);
}

/* Old transitions are phased out between the ramp's start and the end of constant rates, and stay out. */
static void cleared_transitions_stay_out(void **state) {
    (void)state;
    lud_empo_stages s = support_stages();
    const int64_t begin = lud_empo_stage_end(&s, LUD_STAGE_RAMP - 1), end = 70000;
    assert_true(lud_empo_stages_at(&s, begin - 1).max_age == -1);
    int64_t oldest = 0;
    for (int64_t step = begin; step < s.total; step += 500) {
        const lud_empo_now now = lud_empo_stages_at(&s, step);
        assert_true(now.max_age >= 0 && step - now.max_age >= oldest);
        oldest = step - now.max_age;
        assert_true(step < end ? oldest <= begin : oldest == begin);
    }
    s.clearing_lasts = false;
    assert_true(lud_empo_stages_at(&s, end - 1).max_age > 0 && lud_empo_stages_at(&s, end).max_age == -1);
}

/* ---- known pitfalls of batched targets ---- */

/* (n) + (n, 1) must not become (n, n); a batch of one keeps its dimension; slots are transition x actions +
 * action; an empty list of successors counts nothing. */
static void batched_shapes(void **state) {
    (void)state;
    lud_device *device = NULL;
    assert_int_equal(lud_device_open("cpu", 1, &device, NULL), LUD_OK);
    enum { N = 3, A = 2, GUARD = 4 };
    const float u_r[N] = {-1.0f, -2.0f, -3.0f}, pi[N * A] = {0.5f, 0.5f, 1.0f, 0.0f, 0.25f, 0.75f},
                q[N * A] = {-2.0f, -4.0f, -8.0f, -1.0f, -4.0f, -8.0f};
    const float expected[N] = {-4.0f, -10.0f, -10.0f};
    for (int n = N; n >= 1; n -= 2) {
        float v[N * N + GUARD], scratch[N * A];
        for (int i = 0; i < N * N + GUARD; i++) v[i] = 77.0f;
        lud_empo_state_value(device, n, A, u_r, pi, q, v, scratch);
        for (int i = 0; i < N * N + GUARD; i++) assert_true(v[i] == (i < n ? expected[i] : 77.0f));
    }
    /* transition 0 has nothing under action 1, transition 1 nothing at all, transition 2 nothing under action
     * 0 */
    const int32_t offsets[N * A + 1] = {0, 2, 2, 2, 2, 2, 3}, entries[N + 1] = {0, 1, 2, 3};
    const double probability[3] = {0.25, 0.75, 1.0};
    const lud_empo_transitions transitions = {N, A, offsets, probability, entries};
    int32_t successor[3], slot[3], row[3], entry[3], expanded_slot[3];
    float p[3], expanded_p[3];
    lud_empo_flat flat = {.successor = successor,
                          .slot = slot,
                          .probability = p,
                          .expanded_row = row,
                          .entry = entry,
                          .expanded_slot = expanded_slot,
                          .expanded_probability = expanded_p};
    lud_empo_flatten(&transitions, &flat);
    assert_true(flat.n == 3 && slot[0] == 0 && slot[1] == 0 && slot[2] == 5 && entry[2] == 2);
    const float v_r[3] = {-4.0f, -8.0f, -2.0f};
    float targets[N * A + GUARD];
    for (int i = 0; i < N * A + GUARD; i++) targets[i] = 77.0f;
    lud_empo_q_r_targets(device, flat.n, N * A, 0.5, slot, p, v_r, targets);
    const float wanted[N * A] = {-3.5f, 0.0f, 0.0f, 0.0f, 0.0f, -1.0f};
    for (int i = 0; i < N * A + GUARD; i++) assert_true(targets[i] == (i < N * A ? wanted[i] : 77.0f));
    lud_device_close(device);
}

/* ---- the limit ---- */

static void assert_exact(lud_empo_distance d) {
    const lud_empo_errors means[] = {d.exact, d.learned, d.random, d.everywhere};
    for (size_t i = 0; i < sizeof means / sizeof *means; i++)
        assert_true(means[i].v_r < 1e-5 && means[i].x_h < 1e-5);
    assert_true(d.v_h_e < 1e-5 && d.q_r < 1e-5 && fabs(d.regret) < 1e-4 && d.divergence < 1e-4);
    assert_true(d.start_v_r - d.random_v_r > 0.05); /* there was something to learn */
}

/* With nothing left to chance but the order of updates, tables end at the exact solution, in every state. */
static void expected_targets_end_at_the_exact_solution(void **state) {
    (void)state;
    support_empo r;
    support_empo_open(&r, support_empo_corridor, tables, 0, NULL);
    assert_exact(support_empo_learn(&r));
    support_empo_close(&r);
    static const char *const priced[] = {"learner.human_prior={type: heuristic, beta: 20}",
                                         "learner.replay_contest=2", "learner.aggregate=sum"};
    support_empo_open(&r, support_empo_corridor, tables, 3, priced);
    assert_exact(support_empo_learn(&r));
    support_empo_close(&r);
}

/* Several maps in one model: one set of values is learned for all, and judged against the exact solution from
 * all their starts. */
static void ensembles_are_learned_and_judged(void **state) {
    (void)state;
    support_empo r;
    support_empo_open(&r, rooms, tables, 0, NULL);
    const lud_empo_distance d = support_empo_learn(&r);
    assert_int_equal(r.learner->reference.n_starts, 3);
    assert_exact(d);
    /* what the mean over starts says is what each start says */
    const lud_empo_reference *reference = &r.learner->reference;
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += reference->records[reference->starts[i] * (uint64_t)reference->problem->layout.record_doubles +
                                  (uint64_t)reference->problem->layout.v_r];
    assert_true(fabs(sum / 3 - d.start_v_r) < 1e-9 && fabs(sum / 3 - d.policy_v_r) < 1e-3);
    support_empo_close(&r);
}

static void all_of_it_resumes(void **state) {
    (void)state;
    static const char *const set[] = {"learner.restart_prob=0.6", "learner.restart_from=successors",
                                      "learner.replay_contest=3", "learner.use_log_space_transform=true",
                                      "learner.cosine_lr_decay=true"};
    support_empo_assert_resumes(support_empo_crowd, networks, 5, set, support_empo_path);
    static const char *const lookup[] = {"learner.restart_prob=0.6", "learner.replay_contest=3",
                                         "learner.use_lookup_tables=true"};
    support_empo_assert_resumes(support_empo_corridor, networks, 3, lookup, support_empo_path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles_are_distributions),
        cmocka_unit_test(expected_targets_equal_sums_over_everything),
        cmocka_unit_test(archive_keeps_each_state_once),
        cmocka_unit_test(restarts_reach_every_state),
        cmocka_unit_test(contests_are_won_by_the_largest_priority),
        cmocka_unit_test(cleared_transitions_stay_out),
        cmocka_unit_test(batched_shapes),
        cmocka_unit_test(expected_targets_end_at_the_exact_solution),
        cmocka_unit_test(ensembles_are_learned_and_judged),
        cmocka_unit_test(all_of_it_resumes),
    };
    return cmocka_run_group_tests(tests, support_empo_make_folder, support_empo_remove_folder);
}
