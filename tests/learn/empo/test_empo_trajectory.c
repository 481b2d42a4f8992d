/* Targets of the learner empo-phase2 over several steps and goals in hindsight: which transition follows
 * which against a search, batched targets against loops over single states, importance weights by
 * enumeration, what both converge to, the dueling network. */
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
#include "effort.h"
#include "learn/empo/support_empo.h"
#include "learn/empo/targets/hindsight.h"

static double unit(uint32_t a, uint32_t b) {
    return lud_unit(lud_draw((lud_random_key){29, a}, b, 0, LUD_PURPOSE_USER, 0).v[0]);
}

static const char networks[] = "learner:\n"
                               "  type: empo-phase2\n  automatic: false\n"
                               "  zeta: 2\n"
                               "  eta: 1.1\n"
                               "  gamma_h: 0.95\n"
                               "  gamma_r: 0.97\n"
                               "  beta_r: 3\n"
                               "  human_prior: {type: heuristic, beta: 5}\n"
                               "  hidden_dim: 8\n"
                               "  goal_feature_dim: 4\n"
                               "  num_training_steps: 24\n"
                               "  updates_per_iteration: 4\n"
                               "  batch_size: 12\n"
                               "  warmup_v_h_e_steps: 4\n"
                               "  warmup_x_h_steps: 4\n"
                               "  warmup_u_r_steps: 4\n"
                               "  warmup_q_r_steps: 4\n"
                               "  warmup_v_r_steps: 4\n"
                               "  beta_r_rampup_steps: 0\n"
                               "  gradual_buffer_clearing: true\n"
                               "  buffer_size: 60\n"
                               "  environments: 3\n"
                               "  epsilon_r_start: 0.2\n"
                               "  epsilon_h_start: 0.1\n"
                               "  goal_resample_prob: 0.1\n"
                               "  exact_max_states: 0\n";

/* ---- which transition follows which ---- */

enum { WORDS = 2, ENVIRONMENTS = 4, PUSHES = 500 };

typedef struct life {
    int32_t state[WORDS], next[WORDS], goals[1], behaviour_goals[1], offsets[2], link[1];
    float probability[1], likelihood[3];
    uint8_t terminal[1];
    lud_empo_transition t;
} life;

/* Transition number i, the same whenever it is asked for. */
static void make_life(uint32_t i, life *l) {
    memset(l, 0, sizeof *l);
    l->state[0] = (int32_t)i;
    l->next[1] = -(int32_t)i;
    l->behaviour_goals[0] = (int32_t)(i * 7);
    l->likelihood[2] = (float)i;
    l->probability[0] = 1.0f;
    l->offsets[1] = 1;
    l->t = (lud_empo_transition){.inserted = i,
                                 .environment = (uint32_t)(unit(1, i) * ENVIRONMENTS),
                                 .episode = i / 40,
                                 .next = 0,
                                 .n_links = 1,
                                 .n_successors = 1,
                                 .state = l->state,
                                 .goals = l->goals,
                                 .offsets = l->offsets,
                                 .link = l->link,
                                 .probability = l->probability,
                                 .terminal = l->terminal,
                                 .successor = l->next,
                                 .behaviour_goals = l->behaviour_goals,
                                 .next_record = l->next,
                                 .likelihood = l->likelihood,
                                 .explored = (int32_t)(i % 4),
                                 .next_terminal = (int32_t)(i % 2)};
}

/* The next transition of the same environment, if its episode is the same. */
static int64_t find_following(const lud_empo_replay *replay, int64_t index) {
    const lud_empo_transition own = lud_empo_replay_get(replay, index);
    for (int64_t i = index + 1; i < lud_empo_replay_count(replay); i++) {
        const lud_empo_transition t = lud_empo_replay_get(replay, i);
        if (t.environment == own.environment) return t.episode == own.episode ? i : -1;
    }
    return -1;
}

static void assert_lives(const lud_empo_replay *replay, uint32_t newest) {
    const int64_t count = lud_empo_replay_count(replay);
    for (int64_t k = 0; k < count; k++) {
        const lud_empo_transition t = lud_empo_replay_get(replay, k);
        life l;
        make_life(newest - (uint32_t)(count - 1 - k), &l);
        assert_int_equal(t.state[0], l.state[0]);
        assert_memory_equal(t.next_record, l.next, sizeof l.next);
        assert_memory_equal(t.successor, l.next, sizeof l.next);
        assert_memory_equal(t.likelihood, l.likelihood, sizeof l.likelihood);
        assert_true(t.behaviour_goals[0] == l.behaviour_goals[0] && t.explored == l.t.explored &&
                    t.next_terminal == l.t.next_terminal && t.terminal[0] == 0);
        assert_int_equal(lud_empo_replay_following(replay, k), find_following(replay, k));
    }
}

static void the_memory_knows_what_followed(void **state) {
    (void)state;
    const struct {
        int64_t capacity;
        size_t bytes;
    } sizes[] = {{25, 1 << 20}, {1000, 3000}, {1, 1000}, {1000, 1 << 20}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        lud_empo_replay *replays[2];
        for (int k = 0; k < 2; k++) {
            replays[k] = lud_empo_replay_create(sizes[s].capacity, sizes[s].bytes, WORDS, 1, 1, 0);
            assert_non_null(replays[k]);
            assert_true(lud_empo_replay_keep_trajectories(replays[k], ENVIRONMENTS, 3));
        }
        int linked = 0;
        for (uint32_t i = 0; i < PUSHES; i++) {
            life l;
            make_life(i, &l);
            assert_true(lud_empo_replay_push(replays[0], &l.t));
            if (i % 20 == 0) assert_lives(replays[0], i);
            linked += lud_empo_replay_count(replays[0]) > 1 && lud_empo_replay_following(replays[0], 0) >= 0;
            if (i == PUSHES / 3) lud_empo_replay_clear(replays[0]); /* what follows begins anew */
            if (i != PUSHES / 2) continue;
            lud_checkpoint *saved = lud_checkpoint_create();
            lud_empo_replay_visit(replays[0], NULL, "r.", saved);
            lud_error error = {0};
            assert_int_equal(lud_checkpoint_write(saved, support_empo_path, &error), LUD_OK);
            lud_checkpoint_destroy(saved);
            assert_int_equal(lud_checkpoint_open(support_empo_path, &saved, &error), LUD_OK);
            lud_empo_replay_visit(replays[1], NULL, "r.", saved);
            if (lud_checkpoint_status(saved, &error)) fail_msg("%s", error.text);
            lud_checkpoint_destroy(saved);
            remove(support_empo_path);
        }
        assert_true(sizes[s].capacity == 1 || linked > 100);
        for (uint32_t i = PUSHES / 2 + 1; i < PUSHES; i++) {
            life l;
            make_life(i, &l);
            assert_true(lud_empo_replay_push(replays[1], &l.t));
        }
        assert_lives(replays[1], PUSHES - 1);
        lud_empo_replay_destroy(replays[0]);
        lud_empo_replay_destroy(replays[1]);
    }
}

/* ---- targets ---- */

enum { MOST = 32 };

/* Everything about one state. */
typedef struct values {
    float v_h_e[MOST], pi[MOST], v_r, u_r;
} values;

static values single(support_empo *r, const int32_t *record, const int32_t *goals, double beta_r) {
    lud_empo_values *v = &r->learner->values;
    values all = {.v_r = 0};
    lud_error error = {0};
    if (lud_empo_values_run(v, 1, &record, &goals, LUD_WANT_ALL, beta_r, 0, &error))
        fail_msg("%s", error.text);
    memcpy(all.v_h_e, v->v_h_e, (size_t)v->n_entries * sizeof *v->v_h_e);
    memcpy(all.pi, v->pi_r, (size_t)r->learner->features.layout.n_robot_actions * sizeof *v->pi_r);
    all.v_r = v->v_r[0];
    all.u_r = v->u_r[0];
    return all;
}

/* How targets ended. */
typedef struct endings {
    int one_step, achieved, terminal, full, cut, other_goal, open;
} endings;

/* Steps from transition `index`, at most `most` and no further than somebody explores. */
static int64_t steps_of(const support_empo *r, int64_t index, int64_t most, int64_t *steps, endings *ends) {
    const lud_empo_replay *replay = r->learner->replay;
    int64_t n = 1;
    steps[0] = index;
    while (n < most) {
        if (lud_empo_replay_get(replay, steps[n - 1]).next_terminal) return n;
        const int64_t next = find_following(replay, steps[n - 1]);
        if (next < 0) {
            ends->open++;
            return n;
        }
        if (r->learner->options.trajectory_cut_at_exploration && lud_empo_replay_get(replay, next).explored) {
            ends->cut++;
            return n;
        }
        steps[n++] = next;
    }
    ends->full++;
    return n;
}

static double person_target(support_empo *r, const lud_empo_now *now, const int64_t *steps, int64_t n, int k,
                            int h, int goal, endings *ends) {
    const lud_empo_replay *replay = r->learner->replay;
    const lud_empo_transition first = lud_empo_replay_get(replay, steps[0]);
    for (int64_t i = 0; i < n; i++) {
        const lud_empo_transition t = lud_empo_replay_get(replay, steps[i]);
        const bool gives_up =
            i + 1 < n && lud_empo_replay_get(replay, steps[i + 1]).behaviour_goals[h] != goal;
        if (lud_empo_features_achieved(&r->learner->features, t.next_record, h, goal)) {
            ends->achieved++;
            return pow(now->gamma_h, (double)i);
        }
        if (t.next_terminal) {
            ends->terminal++;
            return 0.0;
        }
        ends->other_goal += gives_up;
        if (gives_up || i + 1 == n)
            return pow(now->gamma_h, (double)i + 1) *
                   (double)single(r, t.next_record, first.goals, now->beta_r).v_h_e[k];
    }
    return NAN;
}

static double robot_target(support_empo *r, const lud_empo_now *now, const int64_t *steps, int64_t n) {
    const lud_empo_phase2_learner *l = r->learner;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const lud_empo_transition t = lud_empo_replay_get(l->replay, steps[i]);
        const values v = single(r, t.next_record, t.goals, now->beta_r);
        const double beyond = t.next_terminal ? l->options.theory.terminal_value : (double)v.v_r;
        sum +=
            pow(now->gamma_r, (double)i + 1) * (i + 1 < n ? l->values.reward_scale * (double)v.u_r : beyond);
    }
    return sum;
}

/* One-step targets under the people's actions that were drawn: v_h_e[n_humans], q[n_actions]. */
static void one_step(support_empo *r, const lud_empo_transition *t, const lud_empo_now *now, double *v_h_e,
                     double *q) {
    lud_empo_phase2_learner *l = r->learner;
    const int n_humans = l->features.layout.n_humans;
    const values own = single(r, t->state, t->goals, now->beta_r);
    for (int h = 0; h < n_humans; h++) v_h_e[h] = 0;
    for (int a = 0; a < l->features.layout.n_robot_actions; a++) {
        q[a] = 0;
        for (int32_t k = t->offsets[a]; k < t->offsets[a + 1]; k++) {
            const bool ends = t->terminal[t->link[k]];
            const int32_t *record = t->successor + (size_t)t->link[k] * (size_t)l->features.words;
            const values v = single(r, record, t->goals, now->beta_r);
            q[a] += now->gamma_r * (double)t->probability[k] *
                    (ends ? l->options.theory.terminal_value : (double)v.v_r);
            for (int h = 0; h < n_humans; h++) {
                const double later = ends ? 0.0 : now->gamma_h * (double)v.v_h_e[h];
                v_h_e[h] += (double)own.pi[a] * (double)t->probability[k] *
                            (lud_empo_features_achieved(&l->features, record, h, t->goals[h]) ? 1.0 : later);
            }
        }
    }
}

static int64_t most_steps(int mode, int64_t n) {
    return mode == LUD_EMPO_ONE_STEP ? 0 : mode == LUD_EMPO_N_STEP ? n : 1000;
}

/* A batch's targets against loops over transitions and the steps that followed, one state at a time. */
static void check_targets(support_empo *r, int64_t step, double beta_r, endings *ends) {
    lud_empo_phase2_learner *l = r->learner;
    const lud_empo_learner_options *o = &l->options;
    const int n_actions = l->features.layout.n_robot_actions, n_entries = l->values.n_entries;
    lud_empo_now now = lud_empo_stages_at(&o->stages, step);
    now.beta_r = beta_r;
    now.max_age = -1;
    /* what the networks say must not change between the batch and the loops */
    for (int net = 0; net < LUD_EMPO_NETS; net++) now.lr[net] = 0.0;
    lud_error error = {0};
    if (lud_empo_update_run(l->update, step, &now, true, &error)) fail_msg("%s", error.text);
    const lud_empo_batch_view view = lud_empo_update_targets(l->update);
    endings ignored = {0};
    int n_people = 0, n_robots = 0;
    for (int64_t i = 0; i < view.n; i++) {
        const lud_empo_transition t = lud_empo_replay_get(l->replay, view.indices[i]);
        const int explored = o->trajectory_cut_at_exploration ? t.explored : 0;
        int64_t steps[1024];
        double v_h_e[MOST], q[MOST];
        if (!o->expected_people) one_step(r, &t, &now, v_h_e, q);
        int64_t n = most_steps(o->v_h_e_target_mode, o->v_h_e_n_step);
        if (n) n = steps_of(r, view.indices[i], n, steps, ends);
        for (int k = 0; k < n_entries; k++) {
            int h, goal;
            lud_empo_values_entry(&l->values, k, t.goals, &h, &goal);
            const bool followed = n && !explored && t.behaviour_goals[h] == goal;
            n_people += followed;
            if (!followed && o->expected_people) continue;
            const double expected = followed ? person_target(r, &now, steps, n, k, h, goal, ends) : v_h_e[k];
            assert_true(fabs((double)view.v_h_e[i * n_entries + k] - expected) < 1e-6);
            ends->one_step += !followed;
        }
        n = most_steps(o->q_r_target_mode, o->q_r_n_step);
        if (n) n = steps_of(r, view.indices[i], n, steps, &ignored);
        for (int a = 0; a < n_actions; a++) {
            const bool followed = n && a == t.robot_action && !(explored & LUD_EMPO_PEOPLE_EXPLORED);
            n_robots += followed;
            if (!followed && o->expected_people) continue;
            const double expected = followed ? robot_target(r, &now, steps, n) : q[a];
            assert_true(fabs((double)view.q_r[i * n_actions + a] - expected) < 1e-6 * (1.0 + fabs(expected)));
        }
    }
    const lud_empo_trajectory_figures figures = lud_empo_update_get(l->update).trajectories;
    if (o->v_h_e_target_mode != LUD_EMPO_ONE_STEP)
        assert_true(fabs(figures.people * (double)(view.n * n_entries) - n_people) < 1e-6);
    else
        assert_true(isnan(figures.people));
    if (o->q_r_target_mode != LUD_EMPO_ONE_STEP)
        assert_true(fabs(figures.robots * (double)view.n - n_robots) < 1e-6);
}

/* Shares of what there is, be it one; none of what there is not. */
static void figures_are_shares(void **state) {
    (void)state;
    for (int n = 1; n < 4; n++) {
        const double whole = n == 3 ? 0.25 : n;
        const lud_empo_trajectory_counts counts = {.n = whole,
                                                   .steps = 3 * whole,
                                                   .people = whole,
                                                   .people_achieved = whole / 2,
                                                   .people_bootstrapped = whole / 4,
                                                   .of_people = 4 * whole,
                                                   .robots = whole,
                                                   .robots_bootstrapped = whole / 8,
                                                   .of_robots = 2 * whole};
        const lud_empo_trajectory_figures f = lud_empo_trajectory_figures_of(&counts);
        assert_true(f.people == 0.25 && f.achieved == 0.5 && f.people_bootstrapped == 0.25 &&
                    f.robots == 0.5 && f.robots_bootstrapped == 0.125 && f.length == 3);
    }
    const lud_empo_trajectory_figures none = lud_empo_trajectory_figures_of(&(lud_empo_trajectory_counts){0});
    assert_true(isnan(none.people) && isnan(none.achieved) && isnan(none.people_bootstrapped) &&
                isnan(none.robots) && isnan(none.robots_bootstrapped) && isnan(none.length));
}

/* What came after a transition is what it says. */
static void assert_continuous(const support_empo *r) {
    const lud_empo_replay *replay = r->learner->replay;
    const size_t bytes = (size_t)r->learner->features.words * sizeof(int32_t);
    int linked = 0;
    for (int64_t i = 0; i < lud_empo_replay_count(replay); i++) {
        const int64_t next = lud_empo_replay_following(replay, i);
        const lud_empo_transition t = lud_empo_replay_get(replay, i);
        if (next < 0) continue;
        linked++;
        assert_memory_equal(t.next_record, lud_empo_replay_get(replay, next).state, bytes);
        assert_false(t.next_terminal);
    }
    assert_true(linked > 5);
}

static void targets_follow_trajectories(void **state) {
    (void)state;
    static const char *const n_steps[] = {"learner.v_h_e_target_mode=n_step",
                                          "learner.q_r_target_mode=n_step", "learner.v_h_e_n_step=2",
                                          "learner.q_r_n_step=3", "learner.fresh_goals=false"};
    static const char *const episodes[] = {
        "learner.v_h_e_target_mode=episode", "learner.q_r_target_mode=episode", "learner.fresh_goals=false",
        "learner.trajectory_cut_at_exploration=false", "learner.steps_per_episode=3"};
    static const char *const only_people[] = {"learner.v_h_e_target_mode=episode",
                                              "learner.fresh_goals=false", "learner.u_r_use_network=true",
                                              "learner.v_r_use_network=true"};
    static const char *const only_robots[] = {"learner.q_r_target_mode=n_step", "learner.q_r_n_step=1",
                                              "learner.x_h_use_network=false", "learner.x_h_floor=0.05"};
    static const char *const expected[] = {"learner.v_h_e_target_mode=n_step",
                                           "learner.q_r_target_mode=episode", "learner.expected_people=true",
                                           "learner.q_r_dueling=true"};
    static const char *const lookup[] = {"learner.v_h_e_target_mode=n_step",
                                         "learner.q_r_target_mode=episode", "learner.fresh_goals=false",
                                         "learner.use_lookup_tables=true", "learner.lookup_lr=0"};
    const struct {
        const char *world;
        int n_set;
        const char *const *set;
    } cases[] = {{support_empo_corridor, 5, n_steps},     {support_empo_crowd, 5, n_steps},
                 {support_empo_corridor, 5, episodes},    {support_empo_crowd, 5, episodes},
                 {support_empo_corridor, 4, only_people}, {support_empo_crowd, 4, only_robots},
                 {support_empo_corridor, 4, expected},    {support_empo_corridor, 5, lookup}};
    endings ends = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        support_empo r;
        support_empo_open(&r, cases[i].world, networks, cases[i].n_set, cases[i].set);
        support_empo_iterate(&r, 6);
        assert_continuous(&r);
        check_targets(&r, 24, 3.0, &ends);
        check_targets(&r, 25, 0.0, &ends);
        check_targets(&r, 26, 3.0, &ends);
        support_empo_close(&r);
    }
    assert_true(ends.one_step > 5 && ends.achieved > 5 && ends.terminal > 5 && ends.full > 5 &&
                ends.cut > 5 && ends.other_goal > 2 && ends.open > 5);
}

/* Actors in threads have environments of their own, and their episodes are not mixed up. */
/* Who explored in a step is written down: robots only where that changes what they do. */
static void exploration_is_marked(void **state) {
    (void)state;
    static const struct {
        const char *robots, *people, *beta_r, *curiosity;
        int32_t explored;
    } cases[] = {{"0", "0", "3", "false", 0},
                 {"1", "0", "3", "false", LUD_EMPO_ROBOTS_EXPLORED},
                 {"1", "0", "0", "false", 0}, /* they are random anyhow */
                 {"0", "0", "3", "true", LUD_EMPO_ROBOTS_EXPLORED},
                 {"0", "1", "3", "false", LUD_EMPO_PEOPLE_EXPLORED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[6][64];
        const char *set[8];
        snprintf(text[0], sizeof text[0], "learner.epsilon_r_start=%s", cases[i].robots);
        snprintf(text[1], sizeof text[1], "learner.epsilon_r_end=%s", cases[i].robots);
        snprintf(text[2], sizeof text[2], "learner.epsilon_h_start=%s", cases[i].people);
        snprintf(text[3], sizeof text[3], "learner.epsilon_h_end=%s", cases[i].people);
        snprintf(text[4], sizeof text[4], "learner.beta_r=%s", cases[i].beta_r);
        snprintf(text[5], sizeof text[5], "learner.use_rnd=%s", cases[i].curiosity);
        for (int k = 0; k < 6; k++) set[k] = text[k];
        set[6] = "learner.v_h_e_target_mode=n_step"; /* which has to know it */
        set[7] = "learner.fresh_goals=false";
        support_empo r;
        support_empo_open(&r, support_empo_corridor, networks, 8, set);
        support_empo_iterate(&r, 6);
        const lud_empo_replay *replay = r.learner->replay;
        const int64_t count = lud_empo_replay_count(replay);
        assert_true(count >= 6);
        for (int64_t k = count - 3; k < count; k++) /* after the warm-up, in which robots are random too */
            if (lud_empo_replay_get(replay, k).explored != cases[i].explored)
                fail_msg("case %zu: %d", i, lud_empo_replay_get(replay, k).explored);
        support_empo_close(&r);
    }
}

static void lives_of_threads_are_told_apart(void **state) {
    (void)state;
    static const char *const set[] = {"learner.async_training=true",       "learner.num_actors=2",
                                      "learner.v_h_e_target_mode=episode", "learner.fresh_goals=false",
                                      "learner.async_min_buffer_size=40",  "learner.buffer_size=400"};
    support_empo r;
    support_empo_open(&r, support_empo_corridor, networks, 6, set);
    support_empo_iterate(&r, 6);
    lud_error error = {0};
    if (lud_empo_async_pause(r.learner->async, r.learner->replay, r.learner->step, &error))
        fail_msg("%s", error.text);
    assert_continuous(&r);
    support_empo_close(&r);
}

/* ---- what they converge to ---- */

static const char tables[] = "learner:\n"
                             "  type: empo-phase2\n  automatic: false\n"
                             "  zeta: 2\n"
                             "  eta: 1.1\n"
                             "  gamma_h: 0.95\n"
                             "  gamma_r: 0.97\n"
                             "  beta_r: 10\n"
                             "  human_prior: {type: random}\n"
                             "  use_lookup_tables: true\n"
                             "  x_h_use_network: false\n"
                             "  lookup_use_adaptive_lr: true\n"
                             "  lookup_adaptive_lr_power: 0.7\n"
                             "  lookup_default_v_h_e: 0.5\n"
                             "  num_training_steps: 2000\n"
                             "  updates_per_iteration: 500\n"
                             "  warmup_v_h_e_steps: 500\n"
                             "  warmup_q_r_steps: 500\n"
                             "  beta_r_rampup_steps: 500\n"
                             "  steps_per_episode: 0\n"
                             "  training_steps_per_env_step: 0.1\n"
                             "  buffer_size: 200000\n"
                             "  expected_people: true\n"
                             "  epsilon_r_start: 0.2\n"
                             "  epsilon_r_end: 0.2\n"
                             "  epsilon_h_start: 0\n"
                             "  epsilon_h_end: 0\n";

/* People here do the same whatever their goal is, and as the solver has it: so what happened is a sample of
 * its equations, several steps of which must lead to the same values as one. */
static void several_steps_reach_the_exact_solution(void **state) {
    (void)state;
    if (SANITIZED) skip(); /* the other tests run all of it, for fewer steps */
    static const char *const cases[][3] = {
        {"learner.v_h_e_target_mode=n_step", "learner.v_h_e_n_step=3", "learner.q_r_target_mode=one_step"},
        {"learner.v_h_e_target_mode=episode", "learner.q_r_n_step=3", "learner.q_r_target_mode=n_step"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        support_empo r;
        support_empo_open(&r, support_empo_corridor, tables, 3, cases[i]);
        const lud_empo_distance d = support_empo_learn(&r);
        print_message("V_r %.4f, X_h %.4f, V_h^e %.4f, Q_r %.4f, regret %.4f\n", d.exact.v_r, d.exact.x_h,
                      d.v_h_e, d.q_r, d.regret);
        assert_true(d.exact.v_r < 0.01 && d.exact.x_h < 0.01 && d.v_h_e < 0.005 && d.q_r < 0.01);
        assert_true(fabs(d.regret) < 0.1 && d.divergence < 0.02);
        support_empo_close(&r);
    }
}

/* ---- hindsight ---- */

/* The mean of weight times any function of goal and action, over all goals and actions drawn and all choices
 * in hindsight, is what it is without hindsight; exactly, by enumeration. */
static void weights_in_hindsight_keep_means(void **state) {
    (void)state;
    enum { GOALS = 4, ACTIONS = 3, ROUNDS = 40 };
    for (uint32_t round = 0; round < ROUNDS; round++) {
        double p[GOALS], later[GOALS], policy[GOALS][ACTIONS], f[GOALS][ACTIONS], sum = 0, whole = 0, any = 0;
        const double chance = 0.99 * unit(10, round), met = unit(11, round);
        for (uint32_t g = 0; g < GOALS; g++) {
            sum += p[g] = pow(unit(12, round * GOALS + g), 3.0) + 1e-3; /* some are rare */
            whole += later[g] = g == round % GOALS ? 0.0 : unit(13, round * GOALS + g);
            double of_actions = 0;
            for (uint32_t a = 0; a < ACTIONS; a++) {
                const uint32_t id = (round * GOALS + g) * ACTIONS + a;
                of_actions += policy[g][a] = (round + g + a) % 5 ? unit(14, id) : 0.0;
                f[g][a] = unit(15, id) - 0.5;
            }
            for (int a = 0; a < ACTIONS; a++) policy[g][a] /= of_actions;
        }
        for (int g = 0; g < GOALS; g++) {
            p[g] /= sum;
            any += later[g] *= met / whole;
        }
        for (int keeps = 0; keeps < 2; keeps++) {
            double total = 0, without = 0, largest = 0;
            for (int g = 0; g < GOALS; g++) {
                double weighted = 0, weights = 0, own = 0;
                for (int drawn = 0; drawn < GOALS; drawn++)
                    for (int a = 0; a < ACTIONS; a++) {
                        float likelihood[GOALS];
                        for (int k = 0; k < GOALS; k++) likelihood[k] = (float)policy[k][a];
                        const double kept = drawn == g ? 1.0 - chance * any : 0.0,
                                     q = p[drawn] * policy[drawn][a] * (kept + chance * later[g]),
                                     w = lud_empo_hindsight_weight(GOALS, g, chance, keeps, p, later,
                                                                   likelihood);
                        weighted += q * w * f[g][a];
                        weights += q * w;
                        largest = fmax(largest, q > 0 ? w : 0.0);
                    }
                for (int a = 0; a < ACTIONS; a++) own += policy[g][a] * f[g][a];
                assert_true(fabs(weighted - weights * own) < 1e-6); /* each goal's fixed point */
                total += weighted;
                without += p[g] * own;
                const double share = (1.0 - chance * any) * p[g] + chance * later[g];
                assert_true(fabs(weights - (keeps ? p[g] : share)) < 1e-6);
            }
            if (keeps)
                assert_true(fabs(total - without) < 1e-6 && largest <= 1.0 / (1.0 - chance * any) + 1e-6);
        }
    }
}

/* Goals are drawn with the chances that the weights are made for. */
static void hindsight_draws_what_was_achieved(void **state) {
    (void)state;
    enum { DRAWS = 4000 };
    static const char *const set[] = {"learner.hindsight_prob=0.6", "learner.steps_per_episode=5",
                                      "learner.batch_size=12"};
    support_empo r;
    support_empo_open(&r, support_empo_crowd, networks, 3, set);
    support_empo_iterate(&r, 2);
    lud_empo_phase2_learner *l = r.learner;
    const lud_empo_layout *layout = &l->features.layout;
    lud_empo_hindsight *hindsight = lud_empo_hindsight_create(&l->features, l->replay, 12, 0.6, false, 5);
    int64_t indices[12];
    for (int i = 0; i < 12; i++) indices[i] = i;
    static double hits[12][2][3], expected[12][2][3];
    memset(hits, 0, sizeof hits);
    lud_empo_transition t[12];
    for (uint32_t d = 0; d < DRAWS; d++) {
        for (int i = 0; i < 12; i++) t[i] = lud_empo_replay_get(l->replay, i);
        assert_true(lud_empo_hindsight_relabel(hindsight, indices, d, t));
        for (int i = 0; i < 12; i++)
            for (int h = 0; h < 2; h++) hits[i][h][t[i].goals[h]] += 1.0 / DRAWS;
    }
    int replaced = 0;
    for (int i = 0; i < 12; i++) {
        const lud_empo_transition own = lud_empo_replay_get(l->replay, i);
        double n = 0, kept = 1.0;
        for (int64_t k = i; k >= 0; k = find_following(l->replay, k)) n++;
        for (int h = 0; h < 2; h++) {
            memset(expected[i][h], 0, sizeof expected[i][h]);
            kept = 1.0;
            for (int64_t k = i; k >= 0; k = find_following(l->replay, k)) {
                const int32_t *next = lud_empo_replay_get(l->replay, k).next_record;
                int met = 0;
                for (int g = 0; g < 3; g++) met += lud_empo_features_achieved(&l->features, next, h, g);
                for (int g = 0; g < 3 && met; g++)
                    if (lud_empo_features_achieved(&l->features, next, h, g))
                        expected[i][h][g] += 0.6 / (n * met);
                if (met) kept -= 0.6 / n;
            }
            replaced += kept < 1.0;
            expected[i][h][own.goals[h]] += kept;
            for (int g = 0; g < 3; g++) {
                const double deviation = sqrt(expected[i][h][g] * (1.0 - expected[i][h][g]) / DRAWS);
                assert_true(fabs(hits[i][h][g] - expected[i][h][g]) < 5.0 * deviation + 1e-9);
            }
            /* the likelihoods stored are those of the prior: each action that was drawn has a chance */
            assert_true(own.likelihood[layout->goal_begin[h] + own.goals[h]] > 0.0f);
        }
    }
    assert_true(replaced > 5);
    lud_empo_hindsight_destroy(hindsight);
    support_empo_close(&r);
}

static const char rare[] = "ludus: 1\n"
                           "name: rare\n"
                           "world: multigrid\n"
                           "multigrid:\n"
                           "  map: |\n"
                           "    We We We We We We\n"
                           "    We Ay .. .. .. We\n"
                           "    We We Ae .. We We\n"
                           "    We We We We We We\n"
                           "  max_steps: 6\n"
                           "  actions: small\n"
                           "goals:\n"
                           "  - {rectangle: [1, 1, 4, 2]}\n"
                           "  - {cell: [2, 1], weight: 0.01}\n"
                           "  - {cell: [3, 1], weight: 0.01}\n"
                           "  - {cell: [4, 1], weight: 0.01}\n";

/* With the same number of updates the values of goals that are hardly ever drawn are nearer to the exact
 * ones, and none is led astray in the limit. */
static void rare_goals_are_learned_sooner(void **state) {
    (void)state;
    static const char *const set[] = {
        "learner.hindsight_prob=0.8",           "learner.num_training_steps=1500",
        "learner.warmup_v_h_e_steps=1400",      "learner.warmup_q_r_steps=100",
        "learner.beta_r_rampup_steps=0",        "learner.beta_r=0",
        "learner.expected_people=false",        "learner.human_prior={type: random}",
        "learner.lookup_adaptive_lr_power=0.8", "learner.x_h_floor=0.01",
        "learner.lookup_default_v_h_e=0"};
    double error[3];
    for (int round = 0; round < 3; round++) { /* without, with, and with frequencies kept */
        const char *changed[12];
        memcpy(changed, set, sizeof set);
        if (round == 0) changed[0] = "learner.hindsight_prob=0";
        changed[11] = round == 2 ? "learner.hindsight_keeps_frequencies=true"
                                 : "learner.hindsight_keeps_frequencies=false";
        support_empo r;
        support_empo_open(&r, rare, tables, 12, changed);
        error[round] = support_empo_learn(&r).v_h_e; /* each goal counts once in it */
        support_empo_close(&r);
    }
    print_message("error of V_h^e %.4f, in hindsight %.4f, with frequencies kept %.4f\n", error[0], error[1],
                  error[2]);
    assert_true(error[1] < 0.5 * error[0] && error[1] < 0.05);
}

/* ---- other forms of networks ---- */

/* Trains with what the case sets, which may change what stands here; errors of V_r and regret are at most
 * `most`. */
static void learn_in_form(support_empo *r, int n_own, const char *const *own, double most) {
    static const char *const set[] = {"learner.human_prior=exact",
                                      "learner.expected_people=true",
                                      "learner.x_h_use_network=false",
                                      "learner.hidden_dim=32",
                                      "learner.dropout=0",
                                      "learner.batch_size=24",
                                      "learner.restart_prob=0.9",
                                      "learner.restart_from=successors",
                                      "learner.restart_steps=1",
                                      "learner.num_training_steps=2000",
                                      "learner.warmup_v_h_e_steps=300",
                                      "learner.warmup_q_r_steps=100",
                                      "learner.beta_r_rampup_steps=300",
                                      "learner.lr_v_h_e=3e-3",
                                      "learner.lr_q_r=3e-3",
                                      "learner.cosine_lr_decay=true",
                                      "learner.v_h_e_target_update_interval=10",
                                      "learner.q_r_weight_decay=0",
                                      "learner.q_r_target_update_interval=10",
                                      "learner.v_h_e_weight_decay=0",
                                      "learner.lr_constant_fraction=0.3",
                                      "learner.buffer_size=20000",
                                      "learner.exact_max_states=20000",
                                      "learner.steps_per_episode=0",
                                      "learner.updates_per_iteration=400"};
    enum { N = sizeof set / sizeof *set };
    const char *all[N + 4];
    assert_true(n_own <= 4);
    memcpy(all, set, sizeof set);
    memcpy(all + N, own, (size_t)n_own * sizeof *own);
    support_empo_open(r, support_empo_corridor, networks, N + n_own, all);
    const lud_empo_distance d = support_empo_learn(r);
    print_message("V_r %.4f, X_h %.4f, Q_r %.4f, regret %.4f\n", d.exact.v_r, d.exact.x_h, d.q_r, d.regret);
    assert_true(d.exact.v_r < most && d.exact.x_h < 0.12 && fabs(d.regret) < most);
    assert_true(d.start_v_r - d.random_v_r > 0.1);
}

static void dueling_networks_learn(void **state) {
    (void)state;
    if (SANITIZED) skip(); /* the other tests run all of it, for fewer steps */
    static const char *const set[] = {"learner.use_log_space_transform=true", "learner.q_r_dueling=true"};
    support_empo r;
    learn_in_form(&r, 2, set, 0.15);
    assert_true(lud_parameters_find(r.learner->values.online, "q_r.state_head.4.weight") >= 0);
    support_empo_close(&r);
}

/* Values by their power z, and errors in z too. No z says a value above -1, as the ends of this world have.
 */
static void networks_of_powers_learn(void **state) {
    (void)state;
    if (SANITIZED) skip();
    static const char *const set[] = {"learner.use_z_space_transform=true", "learner.use_z_based_loss=true",
                                      "learner.cosine_lr_decay=false"};
    support_empo r;
    learn_in_form(&r, 3, set, 0.3);
    support_empo_close(&r);
}

/* ---- resuming, and what is refused ---- */

static void all_of_it_resumes(void **state) {
    (void)state;
    static const char *const steps[] = {"learner.v_h_e_target_mode=n_step", "learner.q_r_target_mode=episode",
                                        "learner.fresh_goals=false", "learner.q_r_dueling=true",
                                        "learner.trajectory_replay_max_age_training_steps=9"};
    support_empo_assert_resumes(support_empo_crowd, networks, 5, steps, support_empo_path);
    static const char *const hindsight[] = {"learner.hindsight_prob=0.5", "learner.q_r_target_mode=n_step",
                                            "learner.use_lookup_tables=true"};
    support_empo_assert_resumes(support_empo_corridor, networks, 3, hindsight, support_empo_path);
}

static void wrong_options_are_told(void **state) {
    (void)state;
    const struct {
        const char *set[2], *message;
    } cases[] = {{{"learner.v_h_e_target_mode=n_step"}, "fresh_goals"},
                 {{"learner.v_h_e_target_mode=two_step", "learner.fresh_goals=false"}, "one_step"},
                 {{"learner.hindsight_prob=0.5", "learner.fresh_goals=false"}, "fresh_goals"},
                 {{"learner.hindsight_prob=0.5", "learner.expected_people=true"}, "expected_people"},
                 {{"learner.q_r_n_step=0"}, "q_r_n_step"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lud_error error = {0};
        support_empo r;
        const int n_set = cases[i].set[1] ? 2 : 1;
        if (support_empo_try(&r, support_empo_corridor, networks, n_set, cases[i].set, &error) == LUD_OK)
            fail_msg("%s was taken", cases[i].set[0]);
        if (!strstr(error.text, cases[i].message)) fail_msg("%s", error.text);
        support_empo_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_shares),
        cmocka_unit_test(the_memory_knows_what_followed),
        cmocka_unit_test(targets_follow_trajectories),
        cmocka_unit_test(lives_of_threads_are_told_apart),
        cmocka_unit_test(several_steps_reach_the_exact_solution),
        cmocka_unit_test(weights_in_hindsight_keep_means),
        cmocka_unit_test(hindsight_draws_what_was_achieved),
        cmocka_unit_test(rare_goals_are_learned_sooner),
        cmocka_unit_test(dueling_networks_learn),
        cmocka_unit_test(networks_of_powers_learn),
        cmocka_unit_test(exploration_is_marked),
        cmocka_unit_test(all_of_it_resumes),
        cmocka_unit_test(wrong_options_are_told),
    };
    return cmocka_run_group_tests(tests, support_empo_make_folder, support_empo_remove_folder);
}
