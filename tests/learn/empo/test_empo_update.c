/* The learner empo-phase2: replay memory against a plain list, tables, compact records against the world,
 * batched targets against a naive loop over single states, exact resume, convergence of tables to the exact
 * solution. */
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

#include "base/random.h"
#include "learn/empo/support_empo.h"
#include "learn/empo/theory.h"

static double unit(uint32_t a, uint32_t b) {
    return lud_unit(lud_draw((lud_random_key){23, a}, b, 0, LUD_PURPOSE_USER, 0).v[0]);
}

static const char tables[] = "learner:\n"
                             "  type: empo-phase2\n  automatic: false\n"
                             "  zeta: 2\n"
                             "  eta: 1.1\n"
                             "  gamma_h: 0.95\n"
                             "  gamma_r: 0.97\n"
                             "  beta_r: 10\n"
                             "  human_prior: exact\n"
                             "  use_lookup_tables: true\n"
                             "  lookup_use_adaptive_lr: true\n"
                             "  lookup_adaptive_lr_power: 0.7\n"
                             "  lookup_default_v_h_e: 0.5\n"
                             "  lookup_default_x_h: 0.3\n"
                             "  num_training_steps: 12000\n"
                             "  updates_per_iteration: 500\n"
                             "  warmup_v_h_e_steps: 500\n"
                             "  warmup_x_h_steps: 500\n"
                             "  warmup_u_r_steps: 500\n"
                             "  warmup_q_r_steps: 500\n"
                             "  warmup_v_r_steps: 500\n"
                             "  beta_r_rampup_steps: 500\n"
                             "  steps_per_episode: 0\n"
                             "  training_steps_per_env_step: 0.1\n"
                             "  buffer_size: 200000\n"
                             "  epsilon_r_end: 0.3\n"
                             "  epsilon_h_end: 0.3\n";

static const char networks[] = "learner:\n"
                               "  type: empo-phase2\n  automatic: false\n"
                               "  zeta: 2\n"
                               "  eta: 1.1\n"
                               "  gamma_h: 0.95\n"
                               "  gamma_r: 0.97\n"
                               "  beta_r: 3\n"
                               "  human_prior: {type: random}\n"
                               "  hidden_dim: 8\n"
                               "  goal_feature_dim: 4\n"
                               "  num_training_steps: 24\n"
                               "  updates_per_iteration: 4\n"
                               "  batch_size: 6\n"
                               "  warmup_v_h_e_steps: 4\n"
                               "  warmup_x_h_steps: 4\n"
                               "  warmup_u_r_steps: 4\n"
                               "  warmup_q_r_steps: 4\n"
                               "  warmup_v_r_steps: 4\n"
                               "  beta_r_rampup_steps: 0\n"
                               "  v_h_e_target_update_interval: 3\n"
                               "  q_r_target_update_interval: 2\n"
                               "  buffer_size: 40\n"
                               "  environments: 2\n"
                               "  exact_max_states: 0\n";

/* ---- replay memory ---- */

enum { WORDS = 3, ACTIONS = 2, HUMANS = 2, PUSHES = 400, MOST = 5 };

/* Transition number i, the same whenever it is asked for. */
typedef struct example {
    int32_t state[WORDS], goals[HUMANS], offsets[ACTIONS + 1], link[MOST], successor[MOST * WORDS];
    float probability[MOST];
    uint8_t terminal[MOST];
    lud_empo_transition t;
} example;

static void make_example(int i, example *e) {
    const uint32_t id = (uint32_t)i;
    const int n = (int)(unit(1, id) * (MOST + 1)), first = (int)(unit(2, id) * (n + 1));
    memset(e, 0, sizeof *e);
    for (int k = 0; k < WORDS; k++) e->state[k] = i * 10 + k;
    for (int k = 0; k < HUMANS; k++) e->goals[k] = i + k;
    e->offsets[1] = first;
    e->offsets[2] = n;
    for (int k = 0; k < n; k++) {
        e->link[k] = n - 1 - k;
        e->probability[k] = (float)unit(3, id * MOST + (uint32_t)k);
        e->terminal[k] = unit(4, id * MOST + (uint32_t)k) < 0.5;
        for (int w = 0; w < WORDS; w++) e->successor[k * WORDS + w] = -(i * 100 + k * 10 + w);
    }
    e->t = (lud_empo_transition){.inserted = i / 3,
                                 .environment = id % 4,
                                 .episode = id / 7,
                                 .robot_action = i % 2,
                                 .next = n ? i % n : -1,
                                 .n_links = n,
                                 .n_successors = n,
                                 .state = e->state,
                                 .goals = e->goals,
                                 .offsets = e->offsets,
                                 .link = e->link,
                                 .probability = e->probability,
                                 .terminal = e->terminal,
                                 .successor = e->successor};
}

static void assert_example(const lud_empo_transition *t, int i) {
    example e;
    make_example(i, &e);
    const size_t n = (size_t)e.t.n_links;
    assert_true(t->inserted == e.t.inserted && t->environment == e.t.environment &&
                t->episode == e.t.episode && t->robot_action == e.t.robot_action && t->next == e.t.next &&
                t->n_links == e.t.n_links && t->n_successors == e.t.n_successors);
    assert_memory_equal(t->state, e.state, sizeof e.state);
    assert_memory_equal(t->goals, e.goals, sizeof e.goals);
    assert_memory_equal(t->offsets, e.offsets, sizeof e.offsets);
    if (!n) return; /* an empty list is a list too */
    assert_memory_equal(t->link, e.link, n * sizeof *e.link);
    assert_memory_equal(t->probability, e.probability, n * sizeof *e.probability);
    assert_memory_equal(t->terminal, e.terminal, n);
    assert_memory_equal(t->successor, e.successor, n * WORDS * sizeof *e.successor);
}

static void replay_keeps_the_youngest(void **state) {
    (void)state;
    const struct {
        int64_t capacity;
        size_t bytes;
    } sizes[] = {{7, 1 << 20}, {1000, 1500}, {20, 2000}, {1, 400}, {1000, 1 << 20}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        lud_empo_replay *replay =
            lud_empo_replay_create(sizes[s].capacity, sizes[s].bytes, WORDS, ACTIONS, HUMANS, 0);
        lud_empo_replay *copy =
            lud_empo_replay_create(sizes[s].capacity, sizes[s].bytes, WORDS, ACTIONS, HUMANS, 0);
        assert_non_null(replay);
        assert_non_null(copy);
        assert_true(lud_empo_replay_mean_bytes(replay) == 0.0);
        int64_t before = 0;
        for (int i = 0; i < PUSHES; i++) {
            example e;
            make_example(i, &e);
            const bool fits = lud_empo_replay_fits(replay, &e.t);
            assert_true(lud_empo_replay_push(replay, &e.t));
            assert_int_equal(fits, lud_empo_replay_count(replay) == before + 1); /* none had to go */
            const int64_t count = lud_empo_replay_count(replay);
            assert_true(count >= 1 && count <= sizes[s].capacity && count <= before + 1);
            assert_true(lud_empo_replay_mean_bytes(replay) * (double)count <= (double)sizes[s].bytes + 0.5);
            before = count;
            for (int64_t k = 0; k < count; k++) {
                const lud_empo_transition t = lud_empo_replay_get(replay, k);
                assert_example(&t, (int)(i - (count - 1) + k));
            }
            if (i != PUSHES / 2) continue;
            /* a copy by way of a checkpoint goes on as this one does */
            lud_checkpoint *saved = lud_checkpoint_create();
            lud_empo_replay_visit(replay, NULL, "r.", saved);
            lud_error error = {0};
            assert_int_equal(lud_checkpoint_write(saved, support_empo_path, &error), LUD_OK);
            lud_checkpoint_destroy(saved);
            assert_int_equal(lud_checkpoint_open(support_empo_path, &saved, &error), LUD_OK);
            lud_empo_replay_visit(copy, NULL, "r.", saved);
            if (lud_checkpoint_status(saved, &error)) fail_msg("%s", error.text);
            lud_checkpoint_destroy(saved);
            remove(support_empo_path);
        }
        for (int i = PUSHES / 2 + 1; i < PUSHES; i++) {
            example e;
            make_example(i, &e);
            assert_true(lud_empo_replay_push(copy, &e.t));
        }
        assert_int_equal(lud_empo_replay_count(copy), lud_empo_replay_count(replay));
        /* a transition larger than the memory is refused and nothing is lost */
        example e;
        make_example(PUSHES, &e);
        lud_empo_transition huge = e.t;
        huge.n_successors = 1 << 24;
        assert_false(lud_empo_replay_push(replay, &huge));
        assert_int_equal(lud_empo_replay_count(replay), before);
        lud_empo_replay_destroy(replay);
        lud_empo_replay_destroy(copy);
    }
}

static void sampling_is_uniform_and_minds_age(void **state) {
    (void)state;
    enum { N = 60, DRAWS = 4000, TAKE = 5 };
    lud_empo_replay *replay = lud_empo_replay_create(N, 1 << 20, WORDS, ACTIONS, HUMANS, 0);
    for (int i = 0; i < N; i++) {
        example e;
        make_example(i, &e);
        assert_true(lud_empo_replay_push(replay, &e.t));
    }
    int hits[N] = {0}, young[N] = {0};
    int64_t indices[N], again[N];
    for (uint32_t d = 0; d < DRAWS; d++) {
        lud_empo_replay_sample(replay, TAKE, INT64_MIN, 1, d, indices);
        lud_empo_replay_sample(replay, TAKE, INT64_MIN, 1, d, again);
        assert_memory_equal(indices, again, TAKE * sizeof *indices);
        for (int i = 0; i < TAKE; i++) {
            assert_true(indices[i] >= 0 && indices[i] < N);
            for (int k = 0; k < i; k++) assert_true(indices[i] != indices[k]);
            hits[indices[i]]++;
        }
        lud_empo_replay_sample(replay, TAKE, 10, 1, d, indices); /* inserted at 10: numbers 30 to 59 */
        for (int i = 0; i < TAKE; i++) young[indices[i]]++;
    }
    for (int i = 0; i < N; i++) {
        const double expected = (double)DRAWS * TAKE / N; /* binomial: five deviations */
        assert_true(fabs(hits[i] - expected) < 5 * sqrt(expected));
        assert_true(i >= 30 ? fabs(young[i] - 2 * expected) < 5 * sqrt(2 * expected) : young[i] == 0);
    }
    /* too few young ones: all are drawn from; the whole memory is a permutation */
    lud_empo_replay_sample(replay, N, 10, 1, 0, indices);
    bool seen[N] = {false};
    for (int i = 0; i < N; i++) seen[indices[i]] = true;
    for (int i = 0; i < N; i++) assert_true(seen[i]);
    lud_empo_replay_destroy(replay);
}

/* ---- tables ---- */

/* A table of a file has a power of two of places, at most half of them taken. */
static void tables_that_make_no_sense(void **state) {
    (void)state;
    enum { PLACES = 4096 };
    static const struct {
        uint64_t capacity, n;
        bool sound;
    } cases[] = {{PLACES, PLACES / 2, true},
                 {PLACES, PLACES / 2 + 1, false},
                 {PLACES, PLACES, false},
                 {PLACES + 1, 1, false},
                 {PLACES - PLACES / 4, 1, false},
                 {0, 0, false},
                 {1, 0, false},
                 {UINT64_C(1) << 35, 1, false},
                 {UINT64_C(1) << 63, 0, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        lud_error error = {0};
        uint64_t capacity = cases[k].capacity, n = cases[k].n;
        lud_checkpoint *made = lud_checkpoint_create(), *read = NULL;
        lud_checkpoint_u64(made, "t.capacity", &capacity);
        lud_checkpoint_u64(made, "t.n", &n);
        char path[64];
        snprintf(path, sizeof path, "/tmp/ludus-test-table-%ld.safetensors", (long)getpid());
        assert_int_equal(lud_checkpoint_write(made, path, &error), LUD_OK);
        assert_int_equal(lud_checkpoint_open(path, &read, &error), LUD_OK);
        unlink(path);
        lud_empo_table *table = lud_empo_table_create(2, -1.0);
        lud_empo_table_visit(table, "t", read);
        assert_int_not_equal(lud_checkpoint_status(read, &error),
                             LUD_OK); /* its rows are missing in any case */
        assert_int_equal(strstr(error.text, "the table t makes no sense") == NULL, cases[k].sound);
        lud_empo_table_destroy(table);
        lud_checkpoint_destroy(made);
        lud_checkpoint_destroy(read);
    }
}

static void tables_average_their_targets(void **state) {
    (void)state;
    enum { KEYS = 3000 };
    lud_empo_table *table = lud_empo_table_create(2, -1.0);
    assert_true(lud_empo_table_read(table, 5)[1] == -1.0f && lud_empo_table_rows(table) == 0);
    for (int round = 1; round <= 4; round++)
        for (uint64_t key = 0; key < KEYS; key++) { /* 0 is a key like any other, collisions or not */
            const float target[2] = {(float)round, (float)key};
            assert_true(lud_empo_table_move(table, key * 4096, target, true, 0.0, 1.0, 1.0));
        }
    assert_int_equal(lud_empo_table_rows(table), KEYS);
    for (uint64_t key = 1; key < KEYS; key++) {
        const float *row = lud_empo_table_read(table, key * 4096);
        assert_true(fabsf(row[0] - 2.5f) < 1e-5f && fabsf(row[1] - (float)key) < 1e-2f);
        assert_int_equal(lud_empo_table_visits(table, key * 4096), 4);
    }
    const float target[2] = {10.0f, 10.0f};
    assert_true(lud_empo_table_move(table, 77, target, false, 0.25, 1.0, 1.0));
    assert_true(fabsf(lud_empo_table_read(table, 77)[0] - (-1.0f + 0.25f * 11.0f)) < 1e-6f);
    lud_empo_table_destroy(table);
}

/* ---- records ---- */

static void records_agree_with_the_world(void **state) {
    (void)state;
    support_empo r;
    support_empo_open(&r, support_empo_crowd, networks, 0, NULL);
    const lud_model *model = r.scenario->model;
    const lud_empo_features *f = &r.learner->features;
    uint8_t *now = calloc(1, model->layout.state_bytes);
    int32_t *record = calloc((size_t)f->words, sizeof *record);
    int moved = 0, met = 0;
    for (uint32_t walk = 0; walk < 200; walk++) {
        uint32_t tick = 0;
        lud_range range = {.seed = 3, .first_environment = walk, .n = 1, .tick = &tick};
        model->world->reset(model, range, now);
        for (; tick < 4; tick++) {
            lud_empo_features_encode(f, now, record);
            for (int h = 0; h < f->layout.n_humans; h++)
                for (int g = 0; g < 3; g++) {
                    const bool achieved = model->world->achieved(model, now, f->layout.humans[h], g);
                    assert_int_equal(lud_empo_features_achieved(f, record, h, g), achieved);
                    met += achieved;
                }
            int32_t actions[8];
            for (int i = 0; i < model->layout.n_agents; i++)
                actions[i] =
                    (int32_t)(unit(walk, tick * 8 + (uint32_t)i) * model->layout.actions[i].n_discrete);
            model->world->step(model, range, now, (lud_actions){.discrete = actions}, (lud_outcome){0});
            moved++;
        }
    }
    assert_true(moved == 800 && met > 100);
    /* goals are drawn by weight */
    assert_int_equal(lud_empo_features_draw_goal(f, 0, 0.0), 0);
    const double whole = f->weight_sum[0], a = f->goal_weight[0] / whole,
                 b = (f->goal_weight[0] + f->goal_weight[1]) / whole;
    assert_int_equal(lud_empo_features_draw_goal(f, 0, a + 1e-6), 1);
    assert_int_equal(lud_empo_features_draw_goal(f, 0, b + 1e-6), 2);
    assert_int_equal(lud_empo_features_draw_goal(f, 0, 0.999999), 2);
    free(now);
    free(record);
    support_empo_close(&r);
}

/* ---- targets ---- */

/* V_h^e, V_r and pi_r of a single state: what the naive loop calls again and again. */
static void single(support_empo *r, const int32_t *record, const int32_t *goals, double beta_r, float *v_h_e,
                   float *v_r, float *pi) {
    lud_empo_values *v = &r->learner->values;
    const int32_t *records[1] = {record}, *goal[1] = {goals};
    lud_error error = {0};
    if (lud_empo_values_run(v, 1, records, goal, LUD_WANT_ALL, beta_r, 0, &error)) fail_msg("%s", error.text);
    memcpy(v_h_e, v->v_h_e, (size_t)r->learner->features.layout.n_humans * sizeof *v_h_e);
    memcpy(pi, v->pi_r, (size_t)r->learner->features.layout.n_robot_actions * sizeof *pi);
    *v_r = v->v_r[0];
}

/* A batch's targets against loops over transitions, joint robot actions and successors, one state at a time:
 * no (n) + (n, 1), no lost dimension at a batch of one, slots by transition and action, empty lists. */
static void check_targets(support_empo *r, int64_t step, double beta_r) {
    lud_empo_phase2_learner *l = r->learner;
    const int n_humans = l->features.layout.n_humans, n_actions = l->features.layout.n_robot_actions;
    lud_empo_now now = lud_empo_stages_at(&l->options.stages, step);
    now.beta_r = beta_r;
    /* what the networks say must not change between the batch and the loops */
    for (int net = 0; net < LUD_EMPO_NETS; net++) now.lr[net] = 0.0;
    lud_error error = {0};
    if (lud_empo_update_run(l->update, step, &now, true, &error)) fail_msg("%s", error.text);
    const lud_empo_batch_view view = lud_empo_update_targets(l->update);
    float v_h_e[4], pi[32], unused[32], v_r, own;
    int terminal = 0;
    for (int64_t i = 0; i < view.n; i++) {
        const lud_empo_transition t = lud_empo_replay_get(l->replay, view.indices[i]);
        double people[4] = {0};
        single(r, t.state, t.goals, beta_r, v_h_e, &own, pi);
        for (int a = 0; a < n_actions; a++) {
            double q = 0;
            for (int32_t k = t.offsets[a]; k < t.offsets[a + 1]; k++) {
                const int32_t s = t.link[k];
                const int32_t *record = t.successor + (size_t)s * (size_t)l->features.words;
                single(r, record, t.goals, beta_r, v_h_e, &v_r, unused);
                terminal += t.terminal[s];
                q += (double)t.probability[k] *
                     (t.terminal[s] ? l->options.theory.terminal_value : (double)v_r);
                for (int h = 0; h < n_humans; h++) {
                    const double later = t.terminal[s] ? 0.0 : now.gamma_h * (double)v_h_e[h];
                    people[h] +=
                        (double)pi[a] * (double)t.probability[k] *
                        (lud_empo_features_achieved(&l->features, record, h, t.goals[h]) ? 1.0 : later);
                }
            }
            assert_true(fabs((double)view.q_r[i * n_actions + a] - now.gamma_r * q) <
                        1e-6 * (1.0 + fabs(now.gamma_r * q)));
        }
        for (int h = 0; h < n_humans; h++)
            assert_true(fabs((double)view.v_h_e[i * n_humans + h] - people[h]) < 1e-6);
    }
    assert_true(terminal > 0 || view.n < 3);
}

static void batched_targets_equal_naive_loops(void **state) {
    (void)state;
    static const char *const batch_of_one[] = {"learner.batch_size=1", "learner.buffer_size=3"};
    static const char *const all_networks[] = {"learner.u_r_use_network=true",
                                               "learner.v_r_use_network=true"};
    static const char *const composed[] = {"learner.x_h_use_network=false", "learner.dropout=0.3"};
    const struct {
        const char *world;
        int n_set;
        const char *const *set;
    } cases[] = {{support_empo_crowd, 0, NULL},
                 {support_empo_corridor, 0, NULL},
                 {support_empo_corridor, 2, batch_of_one},
                 {support_empo_crowd, 2, batch_of_one},
                 {support_empo_crowd, 2, all_networks},
                 {support_empo_crowd, 2, composed}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        support_empo r;
        support_empo_open(&r, cases[i].world, networks, cases[i].n_set, cases[i].set);
        support_empo_iterate(&r, 3);
        check_targets(&r, 24, 3.0);
        check_targets(&r, 25, 0.0);
        support_empo_close(&r);
    }
}

/* X_h that no network says is (3) of the paper over all goals, whatever the exponent. */
static void ability_is_a_sum_over_goals(void **state) {
    (void)state;
    static const char *const exponents[] = {"learner.zeta=1", "learner.zeta=1.5", "learner.zeta=2",
                                            "learner.zeta=3"};
    static const double zetas[] = {1, 1.5, 2, 3};
    for (int k = 0; k < 4; k++) {
        const char *const set[] = {"learner.x_h_use_network=false", exponents[k]};
        support_empo r;
        support_empo_open(&r, support_empo_crowd, networks, 2, set);
        support_empo_iterate(&r, 3);
        lud_empo_phase2_learner *l = r.learner;
        const lud_empo_layout *layout = &l->features.layout;
        double weights[64];
        assert_true(layout->n_goals <= 64);
        lud_empo_goal_weights(layout, r.scenario->model, weights);
        for (int64_t i = 0; i < 5; i++) {
            const lud_empo_transition t = lud_empo_replay_get(l->replay, i);
            float v_h_e[4], v_r, pi[32], x_h[4];
            single(&r, t.state, t.goals, 3.0, v_h_e, &v_r, pi);
            memcpy(x_h, l->values.x_h, (size_t)layout->n_humans * sizeof *x_h);
            for (int h = 0; h < layout->n_humans; h++) {
                double sum = 0;
                for (int g = 0; g < lud_empo_goals_of(layout, h); g++) {
                    int32_t goals[4] = {t.goals[0], t.goals[1]};
                    goals[h] = g;
                    single(&r, t.state, goals, 3.0, v_h_e, &v_r, pi);
                    sum += weights[layout->goal_begin[h] + g] * pow((double)v_h_e[h], zetas[k]);
                }
                if (!(fabs((double)x_h[h] - sum) < 1e-5)) fail_msg("%g, %g", (double)x_h[h], sum);
            }
        }
        support_empo_close(&r);
    }
}

/* Target networks are copied one by one: those that are named, and no other. */
static void targets_are_copied_by_name(void **state) {
    (void)state;
    static const char *const set[] = {"learner.u_r_use_network=true", "learner.v_r_use_network=true"};
    support_empo r;
    support_empo_open(&r, support_empo_corridor, networks, 2, set);
    support_empo_iterate(&r, 6);
    lud_empo_values *v = &r.learner->values;
    for (int net = 0; net < LUD_EMPO_NETS; net++) {
        int n_copied = 0;
        for (int i = 0; i < v->online->n; i++) /* what targets hold is nowhere what is to be copied */
            for (int64_t k = 0; k < v->online->items[i].n; k++)
                ((float *)lud_parameters_value(v->target, i))[k] =
                    ((float *)lud_parameters_value(v->online, i))[k] + 1;
        lud_empo_values_copy(v, 1u << net);
        for (int i = 0; i < v->online->n; i++) {
            const char *prefix = lud_empo_net_prefixes[net];
            const bool own = strncmp(v->online->items[i].name, prefix, strlen(prefix)) == 0;
            for (int64_t k = 0; k < v->online->items[i].n; k++) {
                const float *target = lud_parameters_value(v->target, i),
                            *online = lud_parameters_value(v->online, i);
                assert_true((target[k] == online[k]) == own);
            }
            n_copied += own;
        }
        assert_true(n_copied > 0);
    }
    support_empo_close(&r);
}

/* What is learned, as a policy: robots draw from pi_r, which falls into each one's own choices; people with a
 * goal act as the prior says, and without one anyhow. */
static void the_policy_says_what_is_learned(void **state) {
    (void)state;
    support_empo r;
    support_empo_open(&r, support_empo_crowd, networks, 0, NULL);
    support_empo_iterate(&r, 6);
    lud_empo_phase2_learner *l = r.learner;
    const lud_model *model = r.scenario->model;
    const lud_empo_layout *layout = &l->features.layout;
    lud_policy *policy;
    lud_error error = {0};
    if (lud_empo_learned_policy_create(l, &policy, &error)) fail_msg("%s", error.text);
    uint8_t *at = calloc(1, model->layout.state_bytes);
    int32_t record[512], goals[4] = {0};
    float v_h_e[4], v_r, pi[32];
    double own[16], joint[32], expected[16];
    const uint32_t tick = 0;
    model->world->reset(model, (lud_range){.seed = 3, .n = 1, .tick = &tick}, at);
    assert_true(l->features.words <= 512 && layout->n_robot_actions <= 32);
    lud_empo_features_encode(&l->features, at, record);
    single(&r, record, goals, l->options.theory.beta_r, v_h_e, &v_r, pi);
    policy->kind->joint(policy, at, joint);
    for (int k = 0; k < layout->n_robot_actions; k++) assert_true(fabs(joint[k] - (double)pi[k]) < 1e-6);
    for (int agent = 0; agent < model->layout.n_agents; agent++) {
        const int n = model->layout.actions[agent].n_discrete, h = lud_empo_person_of(layout, agent);
        assert_true(lud_policy_distribution(policy, at, agent, -1, own));
        if (h < 0) lud_empo_robot_part(layout, model, joint, agent, expected);
        for (int a = 0; a < n; a++) assert_true(fabs(own[a] - (h < 0 ? expected[a] : 1.0 / n)) < 1e-9);
        for (int goal = 0; h >= 0 && goal < lud_empo_goals_of(layout, h); goal++) {
            assert_true(lud_policy_distribution(policy, at, agent, goal, own));
            lud_empo_prior_policy(&l->prior, &l->features, at, h, goal, expected);
            assert_memory_equal(own, expected, (size_t)n * sizeof *own);
        }
    }
    free(at);
    lud_policy_destroy(policy);
    support_empo_close(&r);
}

/* A joint robot action without successors (a terminal state that slipped in) gives the target 0. */
static void empty_successor_lists_count_nothing(void **state) {
    (void)state;
    static const char *const set[] = {"learner.batch_size=2", "learner.buffer_size=2"};
    support_empo r;
    support_empo_open(&r, support_empo_corridor, networks, 2, set);
    lud_empo_phase2_learner *l = r.learner;
    int32_t *records = calloc((size_t)l->features.words * 2, sizeof *records), goals[1] = {0};
    const int n_actions = l->features.layout.n_robot_actions;
    int32_t offsets[16] = {0}, link[1] = {0};
    const float probability[1] = {1.0f};
    const uint8_t terminal[1] = {0};
    assert_true(n_actions < 15);
    for (int i = 0; i < 2;
         i++) { /* the second has nothing at all, the first one successor of the last action */
        offsets[n_actions] = 1 - i;
        const lud_empo_transition t = {.next = -1,
                                       .n_links = 1 - i,
                                       .n_successors = 1 - i,
                                       .state = records,
                                       .goals = goals,
                                       .offsets = offsets,
                                       .link = link,
                                       .probability = probability,
                                       .terminal = terminal,
                                       .successor = records + l->features.words};
        assert_true(lud_empo_replay_push(l->replay, &t));
    }
    lud_empo_now now = lud_empo_stages_at(&l->options.stages, 24);
    lud_error error = {0};
    assert_int_equal(lud_empo_update_run(l->update, 24, &now, true, &error), LUD_OK);
    const lud_empo_batch_view view = lud_empo_update_targets(l->update);
    for (int64_t i = 0; i < 2; i++)
        for (int a = 0; a < n_actions; a++) {
            const bool has = view.indices[i] == 0 && a == n_actions - 1;
            assert_true(has ? view.q_r[i * n_actions + a] < 0.0f : view.q_r[i * n_actions + a] == 0.0f);
        }
    free(records);
    support_empo_close(&r);
}

/* ---- resuming ---- */

static void resuming_equals_no_interruption(void **state) {
    (void)state;
    static const char *const everything[] = {"learner.u_r_use_network=true", "learner.v_r_use_network=true",
                                             "learner.use_count_based_curiosity=true", "learner.use_rnd=true",
                                             "learner.use_human_action_rnd=true"};
    static const char *const in_tables[] = {"learner.use_lookup_tables=true", "learner.use_lookup_q_r=false",
                                            "learner.gradual_buffer_clearing=false"};
    for (int round = 0; round < 2; round++)
        support_empo_assert_resumes(support_empo_crowd, networks, round ? 3 : 5,
                                    round ? in_tables : everything, support_empo_path);
}

/* ---- the limit ---- */

static lud_empo_distance learn_to_the_end(const char *world, int n_set, const char *const *set) {
    support_empo r;
    support_empo_open(&r, world, tables, n_set, set);
    const lud_empo_distance distance = support_empo_learn(&r);
    support_empo_close(&r);
    return distance;
}

/* Tables reach the exact solution: the reward's weight by duration, terminal values, achievements of the last
 * step, the marginal behaviour of people and the power law all have to be those of the exact solver. */
static void tables_reach_the_exact_solution(void **state) {
    (void)state;
    static const char *const composed[] = {"learner.x_h_use_network=false"};
    lud_empo_distance d = learn_to_the_end(support_empo_corridor, 1, composed);
    assert_true(d.exact.v_r < 0.03 && d.exact.x_h < 0.02 && d.v_h_e < 0.01 && d.q_r < 0.05);
    assert_true(fabs(d.regret) < 0.03 && d.divergence < 0.05);
    assert_true(d.start_v_r - d.random_v_r > 1.0); /* there was something to learn */

    /* every quantity learned for itself, X_h summed over people, another prior */
    static const char *const all_learned[] = {"learner.u_r_use_network=true", "learner.v_r_use_network=true",
                                              "learner.human_prior={type: heuristic, beta: 20}",
                                              "learner.aggregate=sum", "learner.reward_weight=one"};
    d = learn_to_the_end(support_empo_corridor, 5, all_learned);
    assert_true(d.exact.v_r < 0.1 && d.exact.x_h < 0.05 && d.v_h_e < 0.02);
    assert_true(d.regret < 0.05);
}

/* Robots that look for what is new come to more states in the same number of steps. */
static void the_count_bonus_widens_what_is_seen(void **state) {
    (void)state;
    int64_t seen[2];
    for (int round = 0; round < 2; round++) {
        const char *const set[] = {"learner.use_count_based_curiosity=true",
                                   round ? "learner.count_curiosity_bonus_coef_r=30"
                                         : "learner.count_curiosity_bonus_coef_r=0",
                                   "learner.count_curiosity_scale=1",
                                   "multigrid.max_steps=12",
                                   "learner.human_prior={type: heuristic}",
                                   "learner.use_lookup_tables=true"};
        support_empo r;
        support_empo_open(&r, support_empo_corridor, networks, 6, set);
        lud_empo_now now = lud_empo_stages_at(&r.learner->options.stages, 0);
        now.epsilon_h = 0.0; /* robots at random or after the bonus: beta_r is 0 */
        lud_error error = {0};
        for (int i = 0; i < 1000; i++)
            assert_int_equal(lud_empo_rollout_step(r.learner->rollout, &now, 0, r.learner->replay, &error),
                             LUD_OK);
        seen[round] = lud_empo_rollout_get_counts(r.learner->rollout).states_seen;
        support_empo_close(&r);
    }
    assert_true(seen[0] > 100 && (double)seen[1] > 1.2 * (double)seen[0]);
}

/* The stored successors are those under people drawn anew: what happened follows another draw, and its
 * successor is named only when both agree. Each joint robot action's probabilities sum to 1. */
static void stored_transitions_are_complete(void **state) {
    (void)state;
    for (int fresh = 0; fresh < 2; fresh++) {
        const char *const set[] = {fresh ? "learner.fresh_goals=true" : "learner.fresh_goals=false",
                                   "learner.buffer_size=2000"};
        support_empo r;
        support_empo_open(&r, support_empo_crowd, networks, 2, set);
        lud_empo_now now = lud_empo_stages_at(&r.learner->options.stages, 0);
        lud_error error = {0};
        for (int i = 0; i < 300; i++)
            assert_int_equal(lud_empo_rollout_step(r.learner->rollout, &now, 0, r.learner->replay, &error),
                             LUD_OK);
        const lud_empo_features *f = &r.learner->features;
        int named = 0, goals[3] = {0};
        const int64_t n = lud_empo_replay_count(r.learner->replay);
        for (int64_t i = 0; i < n; i++) {
            const lud_empo_transition t = lud_empo_replay_get(r.learner->replay, i);
            named += t.next >= 0;
            goals[t.goals[0]]++;
            const float left = ((const float *)(const void *)t.state)[0];
            for (int a = 0; a < f->layout.n_robot_actions; a++) {
                double sum = 0;
                for (int32_t k = t.offsets[a]; k < t.offsets[a + 1]; k++) {
                    const int32_t *record = t.successor + (size_t)t.link[k] * (size_t)f->words;
                    sum += (double)t.probability[k];
                    assert_true(((const float *)(const void *)record)[0] == left - 1.0f);
                    assert_int_equal(t.terminal[t.link[k]], left == 1.0f);
                }
                assert_true(fabs(sum - 1.0) < 1e-6);
            }
            for (int32_t s = 1; s < t.n_successors; s++) /* successors are distinct */
                for (int32_t k = 0; k < s; k++)
                    assert_memory_not_equal(t.successor + (size_t)s * (size_t)f->words,
                                            t.successor + (size_t)k * (size_t)f->words,
                                            (size_t)f->words * sizeof(int32_t));
        }
        assert_true(n == 600 && (fresh ? named < n / 2 : named == n));
        /* drawn in proportion to 1, 0.5 and 1 */
        if (fresh) assert_true(abs(goals[0] - 240) < 60 && abs(goals[1] - 120) < 50);
        support_empo_close(&r);
    }
}

/* Without a human_prior people follow the heuristic; the effective options read back as the same. */
static void defaults_are_written_back(void **state) {
    (void)state;
    static const char bare[] =
        "learner: {type: empo-phase2, automatic: false, num_training_steps: 10, hidden_dim: 8}\n";
    support_empo r;
    support_empo_open(&r, support_empo_corridor, bare, 0, NULL);
    assert_string_equal(r.learner->prior.policy->kind->name, "heuristic");
    lud_arena *arena = lud_arena_create(0);
    lud_tree *root = NULL;
    lud_error error = {0};
    char *text = NULL;
    size_t length = 0;
    assert_int_equal(lud_scenario_effective(r.scenario, arena, &root, &error), LUD_OK);
    assert_int_equal(lud_learner_write(&r.learner->base, arena, root, &error), LUD_OK);
    assert_int_equal(lud_tree_write(arena, root, &text, &length, &error), LUD_OK);
    lud_scenario *again = NULL;
    if (lud_scenario_read("again.yaml", text, length, NULL, 0, &again, &error)) fail_msg("%s", error.text);
    lud_learner *learner = NULL;
    if (lud_learner_create(again, r.device, &learner, &error)) fail_msg("%s", error.text);
    lud_empo_learner_options one = r.learner->options, other = ((lud_empo_phase2_learner *)learner)->options;
    assert_string_equal(one.type, other.type);
    one.type = other.type = NULL;
    assert_memory_equal(&one, &other, sizeof one);
    lud_learner_destroy(learner);
    lud_scenario_destroy(again);
    lud_arena_destroy(arena);
    support_empo_close(&r);
}

static void wrong_options_are_told(void **state) {
    (void)state;
    const struct {
        const char *set, *message;
    } cases[] = {{"learner.nu_h=0.5", "human_prior"},
                 {"learner.use_z_based_loss=true", "use_z_space_transform"},
                 {"learner.batch_size=50", "buffer_size"},
                 {"learner.gamma_r_curriculum=true", "warmup_q_r_steps"},
                 {"learner.human_prior={type: keyboard}", "human prior"},
                 {"learner.batchsize=3", "batch_size"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lud_error error = {0};
        lud_text text = {0};
        lud_scenario *scenario = NULL;
        lud_device *device = NULL;
        lud_learner *learner = NULL;
        lud_text_append(&text, "%s%s", support_empo_corridor, networks);
        assert_int_equal(
            lud_scenario_read("test.yaml", text.bytes, text.length, &cases[i].set, 1, &scenario, &error),
            LUD_OK);
        assert_int_equal(lud_device_open("cpu", 1, &device, &error), LUD_OK);
        if (lud_learner_create(scenario, device, &learner, &error) == LUD_OK)
            fail_msg("%s was taken", cases[i].set);
        if (!strstr(error.text, cases[i].message)) fail_msg("%s", error.text);
        lud_device_close(device);
        lud_scenario_destroy(scenario);
        lud_text_free(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replay_keeps_the_youngest),
        cmocka_unit_test(sampling_is_uniform_and_minds_age),
        cmocka_unit_test(tables_average_their_targets),
        cmocka_unit_test(tables_that_make_no_sense),
        cmocka_unit_test(records_agree_with_the_world),
        cmocka_unit_test(batched_targets_equal_naive_loops),
        cmocka_unit_test(ability_is_a_sum_over_goals),
        cmocka_unit_test(targets_are_copied_by_name),
        cmocka_unit_test(the_policy_says_what_is_learned),
        cmocka_unit_test(empty_successor_lists_count_nothing),
        cmocka_unit_test(resuming_equals_no_interruption),
        cmocka_unit_test(tables_reach_the_exact_solution),
        cmocka_unit_test(the_count_bonus_widens_what_is_seen),
        cmocka_unit_test(stored_transitions_are_complete),
        cmocka_unit_test(defaults_are_written_back),
        cmocka_unit_test(wrong_options_are_told),
    };
    return cmocka_run_group_tests(tests, support_empo_make_folder, support_empo_remove_folder);
}
