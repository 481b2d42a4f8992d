/* Magnitude and direction: log-probabilities and entropy, stability, closed loops, attention. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "learn/mappo/stability/mad.h"
#include "learn/mappo/stability/stability.h"
#include "learn/mappo/support_mappo.h"
#include "sim/particle/particle.h"

static void log_prob_gradients_are_right(void **state) {
    (void)state;
    for (int kind = LUD_MAGNITUDE_ABS; kind <= LUD_MAGNITUDE_RELU; kind++) {
        lud_mappo_options o = {.control = LUD_MAPPO_MAD};
        o.mad = (lud_mappo_mad_options){
            .magnitude = kind, .floor = 0.01, .limit = 10, .entropy = LUD_ENTROPY_REPLAYED};
        float x[5] = {0.3f, -0.2f, -0.4f, 0.1f, 1.7f}; /* mean, log_std, raw */
        const float offset[2] = {0.4f, -0.3f};
        float g[5] = {0}, log_prob, entropy;
        const float dl = 0.7f, de = -0.3f;
        lud_mad_backward(&o, 1, x, x + 2, x + 4, offset, &dl, &de, g, g + 4, g + 2);
        for (int i = 0; i < 5; i++) {
            const float at = x[i], step = 2e-2f;
            double value[2];
            for (int side = 0; side < 2; side++) {
                x[i] = at + (side ? step : -step);
                lud_mad_log_prob(&o, 1, x, x + 2, x + 4, offset, &log_prob, &entropy);
                value[side] = 0.7 * (double)log_prob - 0.3 * (double)entropy;
            }
            x[i] = at;
            assert_float_equal(g[i], (float)((value[1] - value[0]) / (2.0 * (double)step)), 5e-3);
        }
        /* the floor acts in logarithms only */
        assert_true(lud_mad_magnitude(&o, 0.0, true, NULL) == 0.0);
        assert_true(lud_mad_magnitude(&o, 0.0, false, NULL) == 0.01);
    }
}

/* The gradient of the entropy is that of its expectation: with y = mean + std z for a fixed normal number z,
 * and the action moving along. */
static void entropy_gradients_are_pathwise(void **state) {
    (void)state;
    lud_mappo_options o = {.control = LUD_MAPPO_MAD};
    o.mad = (lud_mappo_mad_options){.floor = 0.01, .limit = 10, .entropy = LUD_ENTROPY_PATHWISE};
    static const double normal[][2] = {{0.6, -0.4}, {-1.3, 0.9}, {0.1, 1.7}};
    for (size_t c = 0; c < sizeof normal / sizeof *normal; c++) {
        float x[5] = {0.3f, -0.2f, -0.4f, 0.1f, 1.7f}; /* mean, log_std, raw */
        float g[5] = {0}, offset[2], log_prob, entropy;
        const float dl = 0.0f, de = 1.0f, step = 1e-2f;
        double value[2];
        for (int i = -1; i < 5; i++) {
            const float at = i < 0 ? 0.0f : x[i];
            for (int side = 0; side < 2; side++) {
                if (i >= 0) x[i] = at + (side ? step : -step);
                float y[2];
                for (int k = 0; k < 2; k++)
                    y[k] = (float)((double)x[k] + exp((double)x[2 + k]) * normal[c][k]);
                lud_mad_offset(&o, 1, y, x + 4, offset);
                lud_mad_log_prob(&o, 1, x, x + 2, x + 4, offset, &log_prob, &entropy);
                value[side] = (double)entropy;
            }
            if (i < 0) { /* at the point itself */
                lud_mad_backward(&o, 1, x, x + 2, x + 4, offset, &dl, &de, g, g + 4, g + 2);
                continue;
            }
            x[i] = at;
            assert_float_equal(g[i], (float)((value[1] - value[0]) / (2.0 * (double)step)), 5e-3);
        }
        assert_float_equal(g[4], 2.0f / 1.7f, 1e-4f); /* the magnitude's is 2 / m, whatever was drawn */
    }
}

static void the_magnitude_is_stable(void **state) {
    (void)state;
    support_mappo b = support_mappo_open(support_mappo_mad);
    lud_mappo_learner_state *m = b.learner;
    m->options.learning_rate = 0.05;
    lud_error error = {0};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(support_mappo_collect(&b), LUD_OK);
        assert_int_equal(lud_mappo_update(m, &error), LUD_OK);
    }
    const lud_parameters *p = support_mappo_parameters(&b);
    double nu[6];
    lud_parameters_read(p, lud_parameters_find(p, "actor.magnitude.lru.nu_log"), nu);
    for (int s = 0; s < 6; s++) assert_true(exp(-exp(nu[s])) < 1.0);
    /* zero state and no kick: exactly nothing */
    lud_chunk *chunks = m->groups[0].ppo.core.chunks;
    lud_mappo_buffer_cut(&m->training.buffer, 1, chunks);
    assert_int_equal(lud_mappo_gather(m, &m->groups[0], chunks, 4, &error), LUD_OK);
    memset(m->groups[0].update->inputs.items[LUD_MAPPO_DRIVE].host, 0, 8 * sizeof(float));
    memset(m->groups[0].update->inputs.items[LUD_MAPPO_STATE].host, 0, 48 * sizeof(float));
    lud_mappo_net_forward(&m->groups[0].update->actor, true);
    assert_true(support_mappo_all_zero(
        lud_nn_value(m->groups[0].update->actor.nn, m->groups[0].update->actor.magnitude), 4));
    support_mappo_close(&b);
}

/* sqrt of the sum over agents of |goal - position|^2 + |velocity|^2, mean over environments */
static double error_norm(const lud_mappo_learner_state *m) {
    const lud_particle_model *model = (const lud_particle_model *)m->scenario->model;
    double sum = 0.0;
    for (int e = 0; e < m->training.batch->n_envs; e++) {
        const uint8_t *state = m->training.batch->states + (size_t)e * m->scenario->model->layout.state_bytes;
        double squares = 0.0;
        for (int a = 0; a < m->scenario->model->layout.n_agents; a++) {
            const lud_particle_body body = lud_particle_get_body(model, state, a);
            const lud_particle_body goal =
                lud_particle_get_body(model, state, lud_particle_goal(model, state, a));
            for (int k = 0; k < 2; k++)
                squares += pow(goal.position[k] - body.position[k], 2) + pow(body.velocity[k], 2);
        }
        sum += sqrt(squares);
    }
    return sum / m->training.batch->n_envs;
}

static void untrained_agents_reach_their_goals(void **state) {
    (void)state;
    double last[2];
    for (int direct = 0; direct < 2; direct++) {
        char text[700];
        snprintf(
            text, sizeof text,
            "ludus: 1\nname: t\nworld: particle\n"
            "particle: {task: navigation_graph, agents: 3, obstacles: 0, actions: continuous, "
            "episode_length: 0}\nrun: {environments: 16, seed: 2}\n"
            "learner: {type: graph-mappo, automatic: false, control: %s, rollout_length: 60, centralised: "
            "false, " SUPPORT_MAPPO_SMALL "}\n",
            direct ? "direct" : "mad");
        support_mappo b = support_mappo_open(text);
        assert_int_equal(support_mappo_collect(&b), LUD_OK);
        last[direct] = error_norm(b.learner);
        support_mappo_close(&b);
    }
    print_message("error norm after 60 steps: magnitude and direction %.4f, direct %.4f\n", last[0], last[1]);
    assert_true(last[0] < 0.2 && last[1] > 5.0 * last[0]);
}

/* Largest singular value by Jacobi rotations of W^T W: another way than the one under test. */
static double singular_value(const lud_parameters *p, const char *name) {
    enum { MOST = 64 };
    const int index = lud_parameters_find(p, name);
    const int64_t rows = p->items[index].dimensions[0], n = p->items[index].dimensions[1];
    static double w[MOST * MOST], a[MOST][MOST];
    assert_true(rows <= MOST && n <= MOST && rows * n == p->items[index].n);
    lud_parameters_read(p, index, w);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            a[i][j] = 0.0;
            for (int64_t r = 0; r < rows; r++) a[i][j] += w[r * n + i] * w[r * n + j];
        }
    for (int sweep = 0; sweep < 30; sweep++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = i + 1; j < n; j++) {
                if (fabs(a[i][j]) < 1e-14) continue;
                const double angle = 0.5 * atan2(2.0 * a[i][j], a[j][j] - a[i][i]);
                const double c = cos(angle), q = sin(angle);
                for (int64_t k = 0; k < n; k++) {
                    const double x = a[i][k], y = a[j][k];
                    a[i][k] = c * x - q * y;
                    a[j][k] = q * x + c * y;
                }
                for (int64_t k = 0; k < n; k++) {
                    const double x = a[k][i], y = a[k][j];
                    a[k][i] = c * x - q * y;
                    a[k][j] = q * x + c * y;
                }
            }
    double largest = 0.0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, a[i][i]);
    return sqrt(largest);
}

/* The bound of the gain as the sum of the impulse response of every mode, added up step by step. */
static double gain_by_steps(const lud_parameters *p, double *largest_modulus) {
    enum { MOST = 64, INPUTS = 2 };
    static double nu[MOST], gamma[MOST], b[2 * MOST * INPUTS], c[MOST * 2 * MOST];
    const int at = lud_parameters_find(p, "actor.magnitude.c.weight");
    const int64_t n_out = p->items[at].dimensions[0], wide = p->items[at].dimensions[1], n = wide / 2;
    lud_parameters_read(p, at, c);
    lud_parameters_read(p, lud_parameters_find(p, "actor.magnitude.lru.nu_log"), nu);
    lud_parameters_read(p, lud_parameters_find(p, "actor.magnitude.lru.gamma_log"), gamma);
    lud_parameters_read(p, lud_parameters_find(p, "actor.magnitude.lru.b.weight"), b);
    double gain = singular_value(p, "actor.magnitude.d.weight");
    *largest_modulus = 0.0;
    for (int64_t k = 0; k < n; k++) {
        const double modulus = exp(-exp(nu[k]));
        double in = 0.0, out = 0.0, response = exp(gamma[k]);
        *largest_modulus = fmax(*largest_modulus, modulus);
        for (int i = 0; i < INPUTS; i++)
            in += pow(hypot(b[2 * k * INPUTS + i], b[(2 * k + 1) * INPUTS + i]), 2);
        for (int64_t i = 0; i < n_out; i++)
            out += pow(hypot(c[i * wide + 2 * k], c[i * wide + 2 * k + 1]), 2);
        for (int t = 0; t < 100000 && response > 1e-18; t++, response *= modulus)
            gain += sqrt(in) * sqrt(out) * response;
    }
    for (int k = 0; k < 3; k++) {
        char name[64];
        snprintf(name, sizeof name, "actor.magnitude.layer.%d.weight", k);
        gain *= singular_value(p, name);
    }
    return 1.1 * gain + singular_value(p, "actor.magnitude.skip.weight");
}

static const char *loop_text(char *text, size_t size, int agents, const char *control) {
    snprintf(
        text, size,
        "ludus: 1\nname: t\nworld: particle\n"
        "particle: {task: navigation_graph, agents: %d, obstacles: 0, actions: continuous, disturbance: "
        "{std: 0.1}}\nrun: {environments: 8, seed: 2}\n"
        "learner: {type: graph-mappo, automatic: false, control: %s, centralised: false, " SUPPORT_MAPPO_SMALL
        "}\n",
        agents, control);
    return text;
}

static lud_status try_loop(const support_mappo *trained, const lud_scenario *scenario,
                           const lud_mappo_play *play, int n_steps, lud_mappo_loop *loop, lud_error *error) {
    const lud_mappo_loop_case asked = {scenario, *play, loop};
    return lud_mappo_run_loops(trained->scenario, 1, &asked, n_steps, error);
}

static void run_loop(const support_mappo *trained, const support_mappo *in, const lud_mappo_play *play,
                     int n_steps, lud_mappo_loop *loop) {
    lud_error error = {0};
    if (try_loop(trained, in->scenario, play, n_steps, loop, &error)) fail_msg("%s", error.text);
}

/* Many at a time are the same as one after the other. */
static void loops_at_a_time_are_the_same(void **state) {
    (void)state;
    enum { N = 5, N_STEPS = 20 };
    char text[700];
    support_mappo trained = support_mappo_open(loop_text(text, sizeof text, 2, "mad")), teams[N];
    lud_mappo_loop one[N], all[N];
    lud_mappo_loop_case cases[N];
    double norms[2][N][N_STEPS + 1];
    lud_error error = {0};
    for (int i = 0; i < N; i++) {
        teams[i] = support_mappo_open(loop_text(text, sizeof text, 2 + i, "mad"));
        const lud_mappo_play play = {.deterministic = i % 2 == 0,
                                     .directions = i == 3 ? LUD_DIRECTIONS_AWAY : LUD_DIRECTIONS_POLICY};
        one[i].error_norm = norms[0][i];
        all[i].error_norm = norms[1][i];
        run_loop(&trained, &teams[i], &play, N_STEPS, &one[i]);
        cases[i] = (lud_mappo_loop_case){teams[i].scenario, play, &all[i]};
    }
    if (lud_mappo_run_loops(trained.scenario, N, cases, N_STEPS, &error)) fail_msg("%s", error.text);
    for (int i = 0; i < N; i++) {
        assert_memory_equal(norms[0][i], norms[1][i], sizeof norms[0][i]);
        assert_true(one[i].largest == all[i].largest && one[i].gain_bound == all[i].gain_bound);
        assert_int_equal(one[i].n_held, all[i].n_held);
    }
    for (int i = 0; i < N; i++) support_mappo_close(&teams[i]);
    support_mappo_close(&trained);
}

static void errors_fall_in_any_direction(void **state) {
    (void)state;
    enum { N_STEPS = 200 };
    char text[700], folder[] = "/tmp/ludus-loop-XXXXXX", path[64];
    support_mappo b = support_mappo_open(loop_text(text, sizeof text, 4, "mad")),
                  more = support_mappo_open(loop_text(text, sizeof text, 7, "mad"));
    double norms[2][N_STEPS + 1];
    lud_mappo_loop loop[2] = {{.error_norm = norms[0]}, {.error_norm = norms[1]}};
    lud_error error = {0};
    const lud_parameters *p = support_mappo_parameters(&b);

    /* before training: the policy that training begins with */
    for (int away = 0; away < 2; away++)
        run_loop(&b, &b, &(lud_mappo_play){.deterministic = true, .directions = (lud_mappo_directions)away},
                 N_STEPS, &loop[away]);
    assert_true(loop[0].largest_eigenvalue > 0.85 && loop[0].largest_eigenvalue < 0.9001);
    assert_true(norms[0][0] == norms[1][0] && norms[0][0] > 1.0);
    assert_true(norms[1][8] > norms[0][8]); /* it does make it harder */
    assert_true(lud_mappo_loop_falls(&loop[0]) && lud_mappo_loop_falls(&loop[1]));
    double modulus;
    const double expected = gain_by_steps(p, &modulus);
    assert_true(fabs(loop[0].gain_bound - expected) < 1e-5 * expected);
    assert_true(fabs(loop[0].largest_eigenvalue - modulus) < 1e-6);

    /* the energy of magnitudes after a kick stays within the bound */
    lud_mappo_learner_state *m = b.learner;
    double energy = 0.0, kick = 0.0;
    lud_mappo_evaluation_start(m);
    for (int t = 0; t < 20; t++) {
        assert_int_equal(lud_mappo_evaluation_decide(m, true, &error), LUD_OK);
        const float *raw =
            lud_nn_value(m->groups[0].rollout->actor.nn, m->groups[0].rollout->actor.magnitude);
        const float *drive = m->groups[0].rollout->inputs.items[LUD_MAPPO_DRIVE].host;
        energy += pow((double)raw[0], 2);
        kick += pow((double)drive[0], 2) + pow((double)drive[1], 2);
        lud_mappo_evaluation_step(m);
    }
    assert_true(kick > 0.0 && energy > 0.0 && energy <= expected * expected * kick);

    /* after rough training, from its checkpoint, in a larger team */
    m->options.learning_rate = 0.01;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(support_mappo_collect(&b), LUD_OK);
        assert_int_equal(lud_mappo_update(m, &error), LUD_OK);
    }
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
    lud_checkpoint *c = lud_checkpoint_create();
    m->base.kind->visit(&m->base, c);
    assert_int_equal(lud_checkpoint_write(c, path, &error), LUD_OK);
    lud_checkpoint_destroy(c);
    for (int away = 0; away < 2; away++) {
        const lud_mappo_play play = {
            .folder = folder, .deterministic = true, .directions = (lud_mappo_directions)away};
        run_loop(&b, &more, &play, N_STEPS, &loop[away]);
        assert_true(loop[away].largest_eigenvalue < 1.0);
        assert_true(lud_mappo_loop_falls(&loop[away]));
        assert_true(fabs(loop[away].gain_bound - gain_by_steps(p, &modulus)) < 1e-5 * loop[away].gain_bound);
    }
    unlink(path);
    rmdir(folder);

    /* a plain policy has no such bound, and its errors do not fall */
    support_mappo plain = support_mappo_open(loop_text(text, sizeof text, 4, "direct"));
    run_loop(&plain, &plain, &(lud_mappo_play){.deterministic = true}, N_STEPS, &loop[0]);
    assert_true(isnan(loop[0].largest_eigenvalue) && !lud_mappo_loop_falls(&loop[0]));
    assert_int_equal(try_loop(&plain, plain.scenario, &(lud_mappo_play){.directions = LUD_DIRECTIONS_AWAY}, 1,
                              &loop[0], &error),
                     LUD_ERROR_INPUT);
    assert_string_equal(error.text, "only a policy with control: mad has a magnitude");
    static const char aimless[] = "ludus: 1\nworld: particle\nparticle: {task: simple_tag}\n";
    lud_scenario *scenario;
    assert_int_equal(lud_scenario_read("test", aimless, sizeof aimless - 1, NULL, 0, &scenario, &error),
                     LUD_OK);
    assert_int_equal(try_loop(&plain, scenario, &(lud_mappo_play){0}, 1, &loop[0], &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, "a closed loop needs a particle world in which everybody has a goal");
    lud_scenario_destroy(scenario);
    support_mappo_close(&plain);
    support_mappo_close(&more);
    support_mappo_close(&b);
}

/* A policy with a magnitude in a small disturbed world; keys of `mad` and others of the learner. */
static support_mappo open_disturbed(const char *mad, const char *others) {
    char text[700];
    snprintf(text, sizeof text,
             "ludus: 1\nname: t\nworld: particle\n"
             "particle: {task: navigation_graph, agents: 2, obstacles: 1, actions: continuous, disturbance: "
             "{std: 0.1}}\nrun: {environments: 3, seed: 5}\n"
             "learner: {type: graph-mappo, automatic: false, control: mad, rollout_length: 6, centralised: "
             "false, recurrent: "
             "false, %smad: {state_size: 6, hidden_size: 8, %s}, " SUPPORT_MAPPO_SMALL "}\n",
             others, mad);
    return support_mappo_open(text);
}

/* Zero states and zero disturbances give exactly no magnitude, wherever bodies are and whatever was learned.
 */
static void nothing_disturbed_is_nothing_done(void **state) {
    (void)state;
    static const char *const drives[] = {"input: disturbance", "input: central"};
    for (int k = 0; k < 2; k++) {
        support_mappo b = open_disturbed(drives[k], "");
        lud_mappo_learner_state *m = b.learner;
        lud_error error = {0};
        assert_int_equal(support_mappo_collect(&b), LUD_OK);
        assert_int_equal(lud_mappo_update(m, &error), LUD_OK);
        lud_mappo_buffer_cut(&m->training.buffer, 1, m->groups[0].ppo.core.chunks);
        assert_int_equal(lud_mappo_gather(m, &m->groups[0], m->groups[0].ppo.core.chunks, 6, &error), LUD_OK);
        lud_mappo_net *actor = &m->groups[0].update->actor;
        lud_mappo_net_forward(actor, true);
        assert_false(support_mappo_all_zero(lud_nn_value(actor->nn, actor->magnitude), 6));
        static const lud_mappo_input driving[] = {LUD_MAPPO_DISTURBANCE, LUD_MAPPO_DRIVE, LUD_MAPPO_STATE};
        for (size_t i = 0; i < sizeof driving / sizeof *driving; i++) {
            const lud_mappo_array *item = &m->groups[0].update->inputs.items[driving[i]];
            if (item->host) memset(item->host, 0, (size_t)(item->max_rows * item->width) * sizeof(float));
        }
        lud_mappo_net_forward(actor, true);
        assert_true(support_mappo_all_zero(lud_nn_value(actor->nn, actor->magnitude), 6));
        support_mappo_close(&b);
    }
}

/* `mad.learning_rate` is that of the whole magnitude, of both blocks where there are two, and of nothing
 * else. */
static void the_magnitude_has_its_own_rate(void **state) {
    (void)state;
    static const char *const drives[] = {"input: goal, learning_rate: 1e-9",
                                         "input: disturbance, learning_rate: 1e-9",
                                         "input: central, learning_rate: 1e-9"};
    for (int d = 0; d < 3; d++) {
        support_mappo b = open_disturbed(drives[d], "learning_rate: 0.01, ");
        lud_error error = {0};
        const lud_parameters *p = support_mappo_parameters(&b);
        enum { MOST = 1 << 15 };
        static double before[MOST], after[MOST];
        double fast = 0.0, slow = 0.0;
        int64_t n = 0;
        for (int round = 0; round < 2; round++) {
            double *to = round ? after : before;
            n = 0;
            for (int i = 0; i < p->n; i++) {
                assert_true(n + p->items[i].n <= MOST);
                lud_parameters_read(p, i, to + n);
                n += p->items[i].n;
            }
            if (round == 0) assert_int_equal(support_mappo_collect(&b), LUD_OK);
            if (round == 0) assert_int_equal(lud_mappo_update(b.learner, &error), LUD_OK);
        }
        n = 0;
        for (int i = 0; i < p->n; i++)
            for (int64_t k = 0; k < p->items[i].n; k++, n++) {
                double *change = strncmp(p->items[i].name, "actor.magnitude.", 16) == 0 ? &slow : &fast;
                *change = fmax(*change, fabs(after[n] - before[n]));
                if (strstr(p->items[i].name, "lru.nu_log")) assert_true(fabs(after[n] - before[n]) < 1e-6);
            }
        assert_true(slow < 1e-6 && fast > 1e-3);
        support_mappo_close(&b);
    }
}

/* Evaluations begin as episodes do, whatever was before: mask 0, no states, and the kick, which comes with
 * the first step of an episode and no other. A policy that is played decides the same. */
static void evaluation_begins_with_the_kick(void **state) {
    (void)state;
    support_mappo b = support_mappo_open(support_mappo_mad); /* episodes of 4 steps */
    lud_mappo_learner_state *m = b.learner;
    const lud_mappo_buffer *evaluated = &m->evaluation.buffer;
    const int64_t rows = evaluated->n_rows;
    const size_t n_envs = (size_t)evaluated->n_envs;
    lud_error error = {0};
    lud_cast *cast = NULL;
    assert_int_equal(lud_cast_create(b.scenario->model, NULL, NULL, &cast, &error), LUD_OK);
    const lud_mappo_play play = {.deterministic = true};
    assert_int_equal(lud_mappo_join_as(b.scenario, b.scenario, &play, cast, &error), LUD_OK);
    uint8_t *hidden = calloc(n_envs, lud_cast_hidden_bytes(cast));
    float played[6 * 2];
    assert_int_equal(rows, 6);
    for (int round = 0; round < 2; round++) {
        lud_mappo_evaluation_start(m);
        assert_true(support_mappo_all_zero(evaluated->masks, rows));
        assert_true(support_mappo_all_zero(evaluated->states, rows * evaluated->state_width));
        assert_true(support_mappo_all_zero(evaluated->actor_hidden, rows * evaluated->hidden_width));
        for (int t = 0; t < 10; t++) {
            assert_int_equal(lud_mappo_evaluation_decide(m, true, &error), LUD_OK);
            const float *drive = m->groups[0].rollout->inputs.items[LUD_MAPPO_DRIVE].host;
            const float *seen = m->groups[0].rollout->inputs.items[LUD_MAPPO_OBSERVATION].host;
            for (int64_t i = 0; i < 2 * rows; i++)
                assert_true(drive[i] == (t % 4 == 0 ? seen[6 * (i / 2) + 4 + i % 2] : 0.0f));
            if (round == 0) { /* both untrained */
                const lud_range range = {.seed = m->evaluation.batch->seed,
                                         .first_environment = m->evaluation.batch->first_environment,
                                         .n = m->evaluation.batch->n_envs,
                                         .tick = m->evaluation.batch->tick};
                if (t % 4 == 0) lud_cast_reset(cast, range, m->evaluation.batch->states, hidden);
                lud_cast_act(cast, range, m->evaluation.batch->states, evaluated->parts, hidden, NULL,
                             played);
                for (int i = 0; i < 12; i++) assert_float_equal(played[i], m->actions[i], 1e-6);
            }
            lud_mappo_evaluation_step(m);
        }
        assert_false(
            support_mappo_all_zero(evaluated->states, rows * evaluated->state_width)); /* in mid-episode */
        assert_int_equal(support_mappo_collect(&b), LUD_OK);
        assert_int_equal(lud_mappo_update(m, &error), LUD_OK);
    }
    free(hidden);
    lud_cast_destroy(cast);
    support_mappo_close(&b);
}

/* Attention of trained agents for the viewer: shares of what is within reach. */
static void attention_is_shared_out(void **state) {
    (void)state;
    char text[700];
    support_mappo b = support_mappo_open(loop_text(text, sizeof text, 4, "mad"));
    const lud_model *model = b.scenario->model;
    const lud_particle_model *particle = (const lud_particle_model *)model;
    lud_error error = {0};
    lud_cast *cast = NULL;
    assert_int_equal(lud_cast_create(model, NULL, NULL, &cast, &error), LUD_OK);
    assert_int_equal(lud_mappo_join_as(b.scenario, b.scenario, &(lud_mappo_play){0}, cast, &error), LUD_OK);
    lud_policy *policy = lud_cast_get(cast, 0);
    uint8_t *at = calloc(1, model->layout.state_bytes);
    const uint32_t tick = 0;
    model->world->reset(model, (lud_range){.seed = 3, .n = 1, .tick = &tick}, at);
    enum { N = 8 };
    for (int e = 0; e < N; e++) /* agents 0..2 and goal 0 near each other, everything else far away */
        lud_particle_set_body(particle, at, e,
                              (lud_particle_body){.position = {e < 3 || e == 4 ? 0.2 * e : 10.0 * e, 0.0}});
    float weights[4][N];
    assert_int_equal(lud_policy_attention(policy, at, NULL), N);
    assert_int_equal(lud_policy_attention(policy, at, &weights[0][0]), N);
    for (int a = 0; a < 4; a++) {
        double sum = 0.0;
        for (int e = 0; e < N; e++) {
            assert_true(weights[a][e] >= 0.0f);
            if (e == a || (e > 2 && e != 4)) assert_true(weights[a][e] == 0.0f);
            sum += (double)weights[a][e];
        }
        assert_float_equal(sum, a < 3 ? 1.0 : 0.0, 1e-5);
    }
    free(at);
    lud_cast_destroy(cast);
    support_mappo_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_prob_gradients_are_right),
        cmocka_unit_test(entropy_gradients_are_pathwise),
        cmocka_unit_test(the_magnitude_is_stable),
        cmocka_unit_test(untrained_agents_reach_their_goals),
        cmocka_unit_test(loops_at_a_time_are_the_same),
        cmocka_unit_test(errors_fall_in_any_direction),
        cmocka_unit_test(nothing_disturbed_is_nothing_done),
        cmocka_unit_test(the_magnitude_has_its_own_rate),
        cmocka_unit_test(evaluation_begins_with_the_kick),
        cmocka_unit_test(attention_is_shared_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
