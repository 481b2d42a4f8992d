/* What must hold for every particle task: results do not depend on split, threads, instruction set or
 * neighbours in a block; states can be saved and set; mirrored and renumbered worlds behave mirrored and
 * renumbered; contacts conserve momentum. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <xxhash.h>

#include "sim/particle/particle_model.h"
#include "sim/particle/support_particle.h"

enum { ENVS = 150, STEPS = 40, MAX = 32 };

static const char *const sections[] = {
    "task: simple",
    "task: simple_adversary, agent_neighbours: 1, landmark_neighbours: 3",
    "task: simple_crypto, actions: continuous",
    "task: simple_push",
    "task: simple_reference",
    "task: simple_speaker_listener, actions: continuous",
    "task: simple_spread, agents: 4, terminate_on_success: true",
    "task: simple_tag, agents: 2, terminate_on_success: true, agent_neighbours: 3",
    "task: simple_world_comm, actions: continuous",
    "task: navigation, observation: nearby, use_speech: true, actions: continuous",
    "task: navigation_graph, agents: 7, disturbance: {std: 0.1}, graph: {distances: true}",
    /* noise, walls, ghosts and a body that is pushed about */
    "bodies: [{name: a, type: agent, count: 3, control_noise: 1, speech_noise: 0.3, speaks: true, ghost: "
    "true, mass: 2, "
    "observes: [{term: position}, {term: speech, of: other}, {term: distance, of: [other, ball], nearest: "
    "2}]}, "
    "{name: ball, count: 2, movable: true, radius: 0.2}], speech_size: 3, physics: {family: navigation}, "
    "walls: [{at: 0.3}, {at: -0.2, orientation: vertical, hard: false, from: -0.5, to: 0.5}], "
    "rewards: [{term: control, cost: 0.1}, {term: constant, cost: 1}, {term: boundary, from: ball, "
    "over_from: mean, cost: 1}]",
};
enum { N_SECTIONS = sizeof sections / sizeof *sections };

/* Everything a run shows, as one run of bytes to compare. */
typedef struct trace {
    size_t length, capacity;
    uint8_t *bytes;
} trace;

static void record(trace *t, const void *bytes, size_t length) {
    if (t->length + length > t->capacity) {
        t->capacity = 2 * (t->length + length);
        t->bytes = realloc(t->bytes, t->capacity);
        assert_non_null(t->bytes);
    }
    memcpy(t->bytes + t->length, bytes, length);
    t->length += length;
}

/* Runs environments in batches of `split` and records each environment's life one after the other. */
static trace run(const lud_model *model, int split, int n_threads) {
    const lud_layout *layout = &model->layout;
    size_t n_agents = (size_t)layout->n_agents;
    int width = ((const lud_particle_model *)model)->max_continuous;
    trace *lives = calloc(ENVS, sizeof *lives);
    for (int first = 0; first < ENVS; first += split) {
        int n = ENVS - first < split ? ENVS - first : split;
        lud_error error = {0};
        lud_batch *batch;
        assert_int_equal(lud_batch_create(model, n, 9, (uint32_t)first, &batch, &error), LUD_OK);
        batch->n_threads = n_threads;
        void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
        for (int p = 0; p < layout->n_parts; p++) parts[p] = malloc((size_t)n * layout->parts[p].bytes);
        float *rewards = malloc((size_t)n * n_agents * sizeof *rewards);
        uint8_t *done = malloc(2 * (size_t)n);
        int32_t *discrete = malloc((size_t)n * n_agents * sizeof *discrete);
        float *continuous = malloc(((size_t)n * n_agents * (size_t)width + 1) * sizeof *continuous);
        lud_batch_out out = {
            .observations = parts, .rewards = rewards, .terminated = done, .truncated = done + n};
        lud_batch_reset(batch, &out);
        for (uint32_t t = 0; t < STEPS; t++) {
            for (int e = 0; e < n; e++)
                particle_random_actions(model, (uint32_t)(first + e), t, discrete + (size_t)e * n_agents,
                                        continuous + (size_t)e * n_agents * (size_t)width);
            lud_batch_step(batch, (lud_actions){discrete, continuous}, &out);
            for (int e = 0; e < n; e++) {
                trace *life = &lives[first + e];
                record(life, batch->states + (size_t)e * layout->state_bytes, layout->state_bytes);
                record(life, rewards + (size_t)e * n_agents, n_agents * sizeof *rewards);
                record(life, done + e, 1);
                record(life, done + n + e, 1);
                for (int p = 0; p < layout->n_parts; p++)
                    record(life, (uint8_t *)parts[p] + (size_t)e * layout->parts[p].bytes,
                           layout->parts[p].bytes);
            }
        }
        for (int p = 0; p < layout->n_parts; p++) free(parts[p]);
        free(rewards);
        free(done);
        free(discrete);
        free(continuous);
        lud_batch_destroy(batch);
    }
    trace whole = {0};
    for (int e = 0; e < ENVS; e++) {
        record(&whole, lives[e].bytes, lives[e].length);
        free(lives[e].bytes);
    }
    free(lives);
    return whole;
}

static void assert_same(trace a, trace b) {
    assert_int_equal(a.length, b.length);
    assert_memory_equal(a.bytes, b.bytes, a.length);
    free(b.bytes);
}

static void test_split_threads_and_instruction_set(void **unused) {
    (void)unused;
    for (int s = 0; s < N_SECTIONS; s++) {
        lud_model *model = particle_model(sections[s]);
        lud_particle_model *m = (lud_particle_model *)model;
        const particle_code *chosen = m->code;
        trace whole = run(model, ENVS, 1);
        assert_same(whole, run(model, ENVS, 3));
        assert_same(whole, run(model, 37, 1));
        assert_same(whole, run(model, 1, 1));
        m->code = &lud_particle_float_code;
        assert_same(whole, run(model, ENVS, 1));
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx2")) {
            m->code = &lud_particle_avx2_code;
            assert_same(whole, run(model, ENVS, 1));
        }
#endif
        m->code = chosen;
        free(whole.bytes);
        lud_particle_world.free(model);
    }
}

/* The same bytes for every compiler, level of optimisation and machine. The tasks that draw normal numbers
 * are left out: those go through the library's cosine and logarithm. */
static void test_golden(void **unused) {
    (void)unused;
    static const uint64_t golden[] = {
        0x45ee2805234edab7, 0xc0167f38466b7032, 0xe512ebe43fd06604, 0xa73060b0b4d41976, 0x92d769670e98d831,
        0x538ee614b9932845, 0xdcf70494b51df570, 0xfac6b6c895548982, 0xa0db8036f07a59c5, 0xe2f814dd6bf861db};
    for (int s = 0; s < (int)(sizeof golden / sizeof *golden); s++) {
        lud_model *model = particle_model(sections[s]);
        trace whole = run(model, ENVS, 1);
        uint64_t hash = XXH3_64bits(whole.bytes, whole.length);
        if (hash != golden[s]) fail_msg("%s: hash 0x%016llx", sections[s], (unsigned long long)hash);
        free(whole.bytes);
        lud_particle_world.free(model);
    }
}

static void test_save_and_restore(void **unused) {
    (void)unused;
    for (int s = 0; s < N_SECTIONS; s++) {
        lud_model *model = particle_model(sections[s]);
        size_t bytes = model->layout.state_bytes;
        uint8_t *state = malloc(bytes), *saved = malloc(bytes), *after = malloc(bytes);
        int32_t discrete[MAX];
        float continuous[MAX * 16];
        uint32_t tick = 3;
        lud_range range = {4, 2, 1, &tick};
        lud_particle_world.reset(model, range, state);
        memcpy(saved, state, bytes);
        particle_random_actions(model, 0, 0, discrete, continuous);
        lud_particle_world.step(model, range, state, (lud_actions){discrete, continuous}, (lud_outcome){0});
        memcpy(after, state, bytes);
        assert_memory_not_equal(after, saved, bytes);
        lud_particle_world.step(model, range, saved, (lud_actions){discrete, continuous}, (lud_outcome){0});
        assert_memory_equal(after, saved, bytes);
        /* setting every body, speech and choice to what it is changes nothing */
        const lud_particle_model *m = particle_of(model);
        for (int e = 0; e < lud_particle_entity_count(m); e++)
            lud_particle_set_body(m, state, e, lud_particle_get_body(m, state, e));
        for (int a = 0; a < model->layout.n_agents; a++) {
            double speech[LUD_PARTICLE_MAX_SPEECH];
            lud_particle_get_speech(m, state, a, speech);
            lud_particle_set_speech(m, state, a, speech);
            for (int c = 0; c < m->n_choices; c++)
                lud_particle_set_choice(m, state, m->choices[c].name, a,
                                        lud_particle_get_choice(m, state, m->choices[c].name, a));
        }
        assert_memory_equal(after, state, bytes);
        lud_text text = {0};
        lud_particle_world.describe(model, state, &text);
        assert_false(text.failed);
        assert_non_null(strstr(text.bytes, "step 1"));
        lud_text_free(&text);
        free(state);
        free(saved);
        free(after);
        lud_particle_world.free(model);
    }
}

/* Two free bodies in contact: what one gains the other loses. */
static void test_momentum(void **unused) {
    (void)unused;
    lud_model *model =
        particle_model("precision: double, physics: {damping: 0}, bodies: [{name: a, type: agent, count: 4, "
                       "radius: 0.3, mass: 2.5}]");
    uint8_t *state = calloc(1, model->layout.state_bytes);
    for (uint32_t trial = 0; trial < 50; trial++) {
        particle_scatter(model, state, trial, 0.5);
        double before[2] = {0}, after[2] = {0}, moved = 0;
        const int32_t still[4] = {0};
        for (int e = 0; e < 4; e++)
            for (int k = 0; k < 2; k++)
                before[k] += lud_particle_get_body(particle_of(model), state, e).velocity[k];
        lud_particle_body first = lud_particle_get_body(particle_of(model), state, 0);
        particle_step_double(model, state, still, NULL, NULL);
        for (int e = 0; e < 4; e++)
            for (int k = 0; k < 2; k++)
                after[k] += lud_particle_get_body(particle_of(model), state, e).velocity[k];
        moved += fabs(lud_particle_get_body(particle_of(model), state, 0).velocity[0] - first.velocity[0]);
        for (int k = 0; k < 2; k++) assert_near(after[k], before[k], 1e-12);
        if (trial < 5) assert_true(moved > 1e-3);
    }
    free(state);
    lud_particle_world.free(model);
}

/* Coincident centres have a defined, opposite push. */
static void test_coincident(void **unused) {
    (void)unused;
    lud_model *model = particle_model(
        "precision: double, bodies: [{name: a, type: agent, count: 2, at: [[0.2, 0.1], [0.2, 0.1]]}]");
    uint8_t *state = calloc(1, model->layout.state_bytes);
    uint32_t tick = 0;
    const int32_t still[2] = {0};
    lud_particle_world.reset(model, (lud_range){1, 0, 1, &tick}, state);
    particle_step_double(model, state, still, NULL, NULL);
    lud_particle_body a = lud_particle_get_body(particle_of(model), state, 0);
    lud_particle_body b = lud_particle_get_body(particle_of(model), state, 1);
    assert_near(a.position[0], 0.2, 0);
    assert_near(a.velocity[0], 1, 1e-12); /* 100 * (reach 0.1) * dt */
    assert_near(b.velocity[0], -1, 1e-12);
    assert_near(a.velocity[1], 0, 0);
    free(state);
    lud_particle_world.free(model);
}

/* The world mirrored at the y axis, with left and right exchanged, goes on mirrored; rewards stay. */
static void test_mirror(void **unused) {
    (void)unused;
    static const int32_t mirrored_move[] = {0, 2, 1, 3, 4};
    const char *tasks[] = {"task: simple_tag, agents: 2", "task: navigation_graph, agents: 4"};
    for (int s = 0; s < 2; s++) {
        lud_model *model = particle_model(tasks[s]);
        const lud_particle_model *m = particle_of(model);
        int n = lud_particle_entity_count(m), n_agents = model->layout.n_agents;
        size_t bytes = model->layout.state_bytes;
        uint8_t *states = calloc(2, bytes);
        for (uint32_t trial = 0; trial < 20; trial++) {
            uint32_t tick[2] = {0};
            lud_range range = {1, 0, 2, tick};
            int32_t actions[2 * MAX];
            float rewards[2 * MAX];
            lud_particle_world.reset(model, range, states);
            memcpy(states + bytes, states, bytes);
            particle_scatter(model, states, trial, 0.6);
            for (int e = 0; e < n; e++) {
                lud_particle_body body = lud_particle_get_body(m, states, e);
                body.position[0] = -body.position[0];
                body.velocity[0] = -body.velocity[0];
                lud_particle_set_body(m, states + bytes, e, body);
            }
            for (uint32_t t = 0; t < 5; t++) {
                particle_random_actions(model, trial, t, actions, NULL);
                for (int a = 0; a < n_agents; a++) actions[n_agents + a] = mirrored_move[actions[a]];
                lud_particle_world.step(model, range, states, (lud_actions){.discrete = actions},
                                        (lud_outcome){.rewards = rewards});
                for (int e = 0; e < n; e++) {
                    lud_particle_body x = lud_particle_get_body(m, states, e);
                    lud_particle_body y = lud_particle_get_body(m, states + bytes, e);
                    assert_true(x.position[0] == -y.position[0] && x.position[1] == y.position[1]);
                    assert_true(x.velocity[0] == -y.velocity[0] && x.velocity[1] == y.velocity[1]);
                }
                for (int a = 0; a < n_agents; a++) assert_true(rewards[a] == rewards[n_agents + a]);
            }
        }
        free(states);
        lud_particle_world.free(model);
    }
}

/* Renumbering the agents of simple_spread renumbers their rewards and motion (up to the order of sums). */
static void test_permutation(void **unused) {
    (void)unused;
    enum { N = 4 };
    lud_model *model = particle_model("task: simple_spread, agents: 4, precision: double");
    const lud_particle_model *m = particle_of(model);
    size_t bytes = model->layout.state_bytes;
    uint8_t *a = calloc(1, bytes), *b = calloc(1, bytes);
    static const int place[N] = {2, 0, 3, 1};
    for (uint32_t trial = 0; trial < 30; trial++) {
        int32_t actions[N], permuted[N];
        double rewards[N], permuted_rewards[N];
        particle_scatter(model, a, trial, 0.4);
        memcpy(b, a, bytes);
        particle_random_actions(model, trial, 0, actions, NULL);
        for (int i = 0; i < N; i++) {
            lud_particle_set_body(m, b, place[i], lud_particle_get_body(m, a, i));
            permuted[place[i]] = actions[i];
        }
        particle_step_double(model, a, actions, NULL, rewards);
        particle_step_double(model, b, permuted, NULL, permuted_rewards);
        for (int i = 0; i < N; i++) {
            lud_particle_body x = lud_particle_get_body(m, a, i), y = lud_particle_get_body(m, b, place[i]);
            for (int k = 0; k < 2; k++) assert_near(x.velocity[k], y.velocity[k], 1e-12);
            assert_near(rewards[i], permuted_rewards[place[i]], 1e-12);
        }
    }
    free(a);
    free(b);
    lud_particle_world.free(model);
}

/* Starts keep clear of what they must and stay in their region; choices take every value. */
static void test_reset(void **unused) {
    (void)unused;
    lud_model *model = particle_model("task: navigation_graph, agents: 10, obstacles: 8, world_size: 3");
    const lud_particle_model *m = particle_of(model);
    size_t bytes = model->layout.state_bytes;
    uint32_t tick[ENVS] = {0};
    uint8_t *states = malloc(ENVS * bytes);
    lud_particle_world.reset(model, (lud_range){6, 0, ENVS, tick}, states);
    double widest = 0;
    for (int e = 0; e < ENVS; e++)
        for (int i = 0; i < 28; i++) {
            lud_particle_body x = lud_particle_get_body(m, states + (size_t)e * bytes, i);
            double limit = i < 10 ? 1.5 : 1.2;
            for (int k = 0; k < 2; k++) {
                assert_true(fabs(x.position[k]) <= limit);
                widest = fmax(widest, fabs(x.position[k]));
            }
            for (int j = 0; j < i; j++) {
                lud_particle_body y = lud_particle_get_body(m, states + (size_t)e * bytes, j);
                bool goal_on_agent = i >= 10 && i < 20 && j < 10, obstacles = j >= 20;
                if (!goal_on_agent && !obstacles)
                    assert_true(hypot(x.position[0] - y.position[0], x.position[1] - y.position[1]) >=
                                0.0999999);
            }
        }
    assert_true(widest > 1.45);
    assert_int_equal(lud_particle_get_choice(m, states, "own_goal", 4), 14);
    assert_int_equal(lud_particle_get_choice(m, states, "another", 4), -1); /* nobody has it */
    free(states);
    lud_particle_world.free(model);

    model = particle_model("task: simple_reference");
    m = particle_of(model);
    bytes = model->layout.state_bytes;
    states = malloc(ENVS * bytes);
    lud_particle_world.reset(model, (lud_range){6, 0, ENVS, tick}, states);
    int seen[2][5] = {{0}}, equal = 0;
    for (int e = 0; e < ENVS; e++) {
        for (int a = 0; a < 2; a++)
            seen[a][lud_particle_get_choice(m, states + (size_t)e * bytes, "target", a)]++;
        equal += lud_particle_get_choice(m, states + (size_t)e * bytes, "target", 0) ==
                 lud_particle_get_choice(m, states + (size_t)e * bytes, "target", 1);
    }
    for (int a = 0; a < 2; a++)
        for (int l = 2; l < 5; l++) assert_in_range(seen[a][l], ENVS / 5, ENVS / 2);
    assert_in_range(equal, ENVS / 5, ENVS / 2); /* drawn independently */
    free(states);
    lud_particle_world.free(model);
}

/* Noise and disturbances have the size that was asked for in every component, none is drawn from another, and
 * disturbances fade as they should. */
static void test_noise(void **unused) {
    (void)unused;
    enum { N = 4000, WORDS = 3, VALUES = 4 + WORDS };
    lud_model *model =
        particle_model("physics: {damping: 0}, disturbance: {std: 0.2, decay: 0.5}, speech_size: 3, "
                       "bodies: [{name: a, type: agent, collides: false, speaks: true, control_noise: 3, "
                       "speech_noise: 0.5, at: [[0, 0]]}]");
    const lud_particle_model *m = particle_of(model);
    size_t bytes = model->layout.state_bytes;
    uint8_t *states = malloc(N * bytes);
    uint32_t *tick = calloc(N, sizeof *tick);
    int32_t *still = calloc(N, sizeof *still);
    lud_range range = {8, 0, N, tick};
    lud_particle_world.reset(model, range, states);
    lud_particle_world.step(model, range, states, (lud_actions){.discrete = still}, (lud_outcome){0});
    double products[VALUES][VALUES] = {{0}}, mean[VALUES] = {0};
    for (int e = 0; e < N; e++) {
        lud_particle_body body = lud_particle_get_body(m, states + (size_t)e * bytes, 0);
        double values[VALUES] = {body.position[0], body.position[1], body.velocity[0], body.velocity[1]};
        lud_particle_get_speech(m, states + (size_t)e * bytes, 0, values + 4);
        values[4] -= 1.0; /* the first word is said */
        for (int i = 0; i < VALUES; i++) {
            mean[i] += values[i] / N;
            for (int j = 0; j < VALUES; j++) products[i][j] += values[i] * values[j] / N;
        }
    }
    /* old velocity 0: the position has only the disturbance */
    const double kick = 0.2 * exp(-0.5), push = kick * kick + 0.3 * 0.3;
    const double expected[VALUES] = {kick * kick, kick * kick, push, push, 0.25, 0.25, 0.25};
    for (int i = 0; i < VALUES; i++) {
        assert_near(mean[i], 0, 4 * sqrt(expected[i] / N));
        for (int j = 0; j < VALUES; j++)
            assert_near(products[i][j] / sqrt(expected[i] * expected[j]), i == j, 0.1);
    }
    free(states);
    free(tick);
    free(still);
    lud_particle_world.free(model);
}

/* A far body changes nothing for the others but the observations that show it. */
static void test_far_body(void **unused) {
    (void)unused;
    lud_model *model = particle_model("task: navigation_graph, agents: 3, obstacles: 4");
    const lud_particle_model *m = particle_of(model);
    size_t bytes = model->layout.state_bytes;
    uint8_t *near = calloc(1, bytes), *far = calloc(1, bytes);
    uint32_t tick = 0;
    lud_range range = {1, 0, 1, &tick};
    for (uint32_t trial = 0; trial < 20; trial++) {
        int32_t actions[3];
        float rewards[2][3];
        lud_particle_world.reset(model, range, near);
        particle_scatter(model, near, trial, 0.4);
        lud_particle_set_body(m, near, 9, (lud_particle_body){{50, 50}, {0, 0}});
        memcpy(far, near, bytes);
        lud_particle_set_body(m, far, 9, (lud_particle_body){{-300, 70}, {0, 0}});
        particle_random_actions(model, trial, 0, actions, NULL);
        lud_particle_world.step(model, range, near, (lud_actions){.discrete = actions},
                                (lud_outcome){.rewards = rewards[0]});
        lud_particle_world.step(model, range, far, (lud_actions){.discrete = actions},
                                (lud_outcome){.rewards = rewards[1]});
        assert_memory_equal(rewards[0], rewards[1], sizeof rewards[0]);
        lud_particle_set_body(m, far, 9, (lud_particle_body){{50, 50}, {0, 0}});
        assert_memory_equal(near, far, bytes);
    }
    free(near);
    free(far);
    lud_particle_world.free(model);
}

/* An episode succeeds when its goals are met before the limit; with the last step it is too late. */
static void test_success_in_time(void **unused) {
    (void)unused;
    enum { LIMIT = 4 };
    lud_model *model = particle_model(
        "task: navigation_graph, agents: 1, obstacles: 0, episode_length: 4, actions: discrete");
    uint8_t *state = malloc(model->layout.state_bytes);
    for (int arrival = 1; arrival <= LIMIT + 1; arrival++) {
        uint32_t tick = 0;
        const lud_range range = {.seed = 3, .n = 1, .tick = &tick};
        const int32_t still = 0;
        model->world->reset(model, range, state);
        lud_particle_set_body(particle_of(model), state, 0, (lud_particle_body){.position = {5, 5}});
        for (int step = 1; step <= LIMIT; step++) {
            if (step == arrival)
                lud_particle_set_body(particle_of(model), state, 0,
                                      lud_particle_get_body(particle_of(model), state, 1));
            assert_true(lud_particle_get_metrics(particle_of(model), state).success == 0.0 || step > arrival);
            tick = (uint32_t)step;
            model->world->step(model, range, state, (lud_actions){.discrete = &still}, (lud_outcome){0});
        }
        assert_true(lud_particle_get_metrics(particle_of(model), state).success == (arrival < LIMIT));
    }
    free(state);
    model->world->free(model);
}

/* The success rule of a state, in plain words: each of the first `n` has one of the others (from `first_to`
 * on) nearer than that. */
static bool all_met(const lud_model *model, const uint8_t *state, int n, int first_to, int end_to,
                    double within) {
    for (int i = 0; i < n; i++) {
        bool met = false;
        for (int k = first_to; k < end_to; k++) {
            const lud_particle_body a = lud_particle_get_body(particle_of(model), state, i),
                                    b = lud_particle_get_body(particle_of(model), state, k);
            met |= k != i && hypot(a.position[0] - b.position[0], a.position[1] - b.position[1]) < within;
        }
        if (!met) return false;
    }
    return true;
}

/* A state is terminal where its last step says so, which is when the success rule holds, and never at the
 * start. */
static void test_terminal_states(void **unused) {
    (void)unused;
#define BODIES                                                                                               \
    "bodies: [{name: dog, type: agent, count: 3, radius: 0.1, collides: false}, {name: pen, count: 2, "      \
    "radius: 0.2, collides: false}], rewards: [{term: distance, from: dog, to: pen, cost: 1}], success: "
    static const struct {
        const char *section;
        int n, first_to, end_to;
        double within;
        bool ends;
    } cases[] = {{BODIES "{every: dog, reaches: pen, terminate: true}", 3, 3, 5, 0.1 + 0.2, true},
                 {BODIES "{every: dog, reaches: pen, within: 0.5, terminate: true}", 3, 3, 5, 0.5, true},
                 {BODIES "{every: dog, reaches: dog, within: 0.4, terminate: true}", 3, 0, 3, 0.4, true},
                 {BODIES "{every: dog, reaches: pen, within: 0.5}", 3, 3, 5, 0.5, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        lud_model *model = particle_model(cases[k].section);
        int n_met = 0, n_not = 0;
        uint8_t state[512];
        assert_true(model->layout.state_bytes <= sizeof state);
        for (uint32_t i = 0; i < 600; i++) {
            uint32_t tick = 0;
            const lud_range range = {.seed = 1, .first_environment = i, .n = 1, .tick = &tick};
            int32_t actions[3];
            float continuous[6], rewards[3];
            uint8_t terminated;
            lud_particle_world.reset(model, range, state);
            particle_scatter(model, state, i, 0.5);
            assert_false(lud_particle_world.is_terminal(model, state));
            particle_random_actions(model, i, 0, actions, continuous);
            lud_particle_world.step(model, range, state, (lud_actions){.discrete = actions},
                                    (lud_outcome){.rewards = rewards, .terminated = &terminated});
            const bool met =
                all_met(model, state, cases[k].n, cases[k].first_to, cases[k].end_to, cases[k].within);
            assert_int_equal(terminated, met && cases[k].ends);
            assert_int_equal(lud_particle_world.is_terminal(model, state), met && cases[k].ends);
            *(met ? &n_met : &n_not) += 1;
        }
        assert_true(n_met > 10 && n_not > 10);
        lud_particle_world.free(model);
    }
}

/* The measures of an episode are its figures and what each reward came to, by their names. */
static void test_measures(void **unused) {
    (void)unused;
    lud_model *model = particle_model(
        "bodies: [{name: dog, type: agent, count: 3, radius: 0.1}, {name: pen, count: 2, radius: 0.2}], "
        "rewards: [{name: near, term: distance, from: dog, to: pen, cost: 1}, {name: apart, term: distance, "
        "from: dog, to: dog, cost: 2}]");
    const lud_particle_model *m = particle_of(model);
    uint8_t state[512];
    double values[16] = {0};
    uint32_t tick = 0;
    const lud_range range = {.seed = 1, .n = 1, .tick = &tick};
    assert_true(model->layout.state_bytes <= sizeof state && model->layout.n_measures <= 16);
    model->world->reset(model, range, state);
    for (tick = 0; tick < 5; tick++) {
        int32_t actions[3];
        float continuous[6], rewards[3];
        particle_random_actions(model, 0, tick, actions, continuous);
        model->world->step(model, range, state, (lud_actions){.discrete = actions},
                           (lud_outcome){.rewards = rewards});
    }
    model->world->measure(model, 1, state, values);
    int n = 0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < model->layout.n_measures; i++) {
            if (strcmp(model->layout.measures[i].name, lud_particle_reward_name(m, k)) != 0) continue;
            assert_true(values[i] == lud_particle_reward_return(m, state, k) && values[i] < 0);
            n++;
        }
    assert_int_equal(n, 2);
    const lud_particle_metrics metrics = lud_particle_get_metrics(m, state);
    assert_true(values[0] == metrics.success && values[1] == metrics.fraction &&
                values[2] == metrics.collisions);
    model->world->free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split_threads_and_instruction_set),
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_save_and_restore),
        cmocka_unit_test(test_momentum),
        cmocka_unit_test(test_coincident),
        cmocka_unit_test(test_mirror),
        cmocka_unit_test(test_permutation),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_far_body),
        cmocka_unit_test(test_success_in_time),
        cmocka_unit_test(test_terminal_states),
        cmocka_unit_test(test_measures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
