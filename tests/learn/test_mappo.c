/* Graph MAPPO: the life of states, replay, invariances, gradients, stability, learning, resuming. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "learn/mappo/mad.h"
#include "learn/mappo/mappo.h"
#include "learn/mappo/stability.h"
#include "sim/particle/particle.h"

typedef struct bed {
    lud_device *device;
    lud_scenario *scenario;
    lud_mappo_learner_state *learner;
} bed;

static bed open_text(const char *text) {
    bed b = {0};
    lud_error error = {0};
    assert_int_equal(lud_device_open("cpu", 1, &b.device, &error), LUD_OK);
    if (lud_scenario_read("test", text, strlen(text), NULL, 0, &b.scenario, &error))
        fail_msg("%s", error.text);
    lud_learner *learner = NULL;
    if (lud_learner_create(b.scenario, b.device, &learner, &error)) fail_msg("%s", error.text);
    b.learner = (lud_mappo_learner_state *)learner;
    return b;
}

static void close_bed(bed *b) {
    lud_learner_destroy(&b->learner->base);
    lud_scenario_destroy(b->scenario);
    lud_device_close(b->device);
}

#define SMALL                                                                                                \
    "hidden_size: 16, steps: 100000, epochs: 2, minibatches: 2, "                                            \
    "graph: {hidden_size: 4, heads: 2, embed_hidden_size: 8, layers: 1}"

/* Episodes of 4 steps in rollouts of 6: they begin and end in the middle. */
static const char *const mad_text =
    "ludus: 1\nname: t\nworld: particle\n"
    "particle: {task: navigation_graph, agents: 2, obstacles: 1, actions: continuous, episode_length: 4}\n"
    "run: {environments: 3, seed: 5}\n"
    "learner: {type: graph-mappo, control: mad, rollout_length: 6, chunk_length: 5, centralised: false, "
    "mad: {state_size: 6, hidden_size: 8}, " SMALL "}\n";

static lud_status collect(bed *b) {
    double row[LUD_MAPPO_COLUMNS];
    lud_error error = {0};
    return lud_mappo_collect(b->learner, row, &error);
}

static const lud_parameters *parameters_of(const bed *b) {
    return b->learner->update->parameters;
}

static bool all_zero(const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (x[i] != 0.0f) return false;
    return true;
}

/* --- states --- */

static void states_live_as_they_should(void **state) {
    (void)state;
    bed b = open_text(mad_text);
    assert_int_equal(collect(&b), LUD_OK);
    lud_mappo_learner_state *m = b.learner;
    lud_mappo_buffer *buffer = &m->buffer;
    const int64_t rows = buffer->n_rows, width = buffer->state_width;
    assert_int_equal(width, 12);
    assert_true(all_zero(buffer->states, rows * width)); /* slot 0 */
    assert_true(all_zero(buffer->masks, rows));
    int n_reset = 0;
    for (int64_t t = 0; t < buffer->n_steps; t++)
        for (int64_t row = 0; row < rows; row++) {
            const int64_t at = (t + 1) * rows + row;
            const bool reset = (t + 1) % 4 == 0;
            assert_true((buffer->masks[at] == 0.0f) == reset);
            assert_true(all_zero(buffer->states + at * width, width) == reset);
            if (reset) assert_true(all_zero(buffer->actor_hidden + at * 16, 16));
            n_reset += reset;
        }
    assert_true(n_reset > 0);

    /* slot t + 1 is one step from slot t, by the recurrence itself */
    const lud_parameters *p = parameters_of(&b);
    double nu[6], theta[6], gamma[6], input[12 * 2];
    lud_parameters_read(p, lud_parameters_find(p, "actor.magnitude.lru.nu_log"), nu);
    lud_parameters_read(p, lud_parameters_find(p, "actor.magnitude.lru.theta_log"), theta);
    lud_parameters_read(p, lud_parameters_find(p, "actor.magnitude.lru.gamma_log"), gamma);
    lud_parameters_read(p, lud_parameters_find(p, "actor.magnitude.lru.b.weight"), input);
    const int part = m->rollout->shape.pieces[0].part, offset = m->rollout->shape.goal_offset;
    assert_int_equal(offset, 4);
    for (int64_t t = 0; t < buffer->n_steps; t++)
        for (int64_t row = 0; row < rows; row++) {
            const int64_t at = t * rows + row;
            if (buffer->masks[at + rows] == 0.0f) continue;
            const float *seen = (const float *)buffer->parts[part] + at * 6;
            for (int s = 0; s < 6; s++) {
                const bool kick = buffer->masks[at] == 0.0f;
                const double modulus = exp(-exp(nu[s])), angle = exp(theta[s]);
                const double re = (double)buffer->states[at * width + 2 * s];
                const double im = (double)buffer->states[at * width + 2 * s + 1];
                double next[2] = {modulus * (cos(angle) * re - sin(angle) * im),
                                  modulus * (sin(angle) * re + cos(angle) * im)};
                for (int k = 0; k < 2 && kick; k++)
                    next[k] += exp(gamma[s]) * (input[(2 * s + k) * 2] * (double)seen[offset] +
                                                input[(2 * s + k) * 2 + 1] * (double)seen[offset + 1]);
                for (int k = 0; k < 2; k++)
                    assert_float_equal(buffer->states[(at + rows) * width + 2 * s + k], (float)next[k],
                                       1e-5f);
            }
        }

    /* slot 0 := slot T */
    float last[12 * 6], mask[6];
    memcpy(last, buffer->states + buffer->n_steps * rows * width, sizeof last);
    memcpy(mask, buffer->masks + buffer->n_steps * rows, sizeof mask);
    lud_error error = {0};
    assert_int_equal(lud_mappo_update(m, &error), LUD_OK);
    assert_memory_equal(buffer->states, last, sizeof last);
    assert_memory_equal(buffer->masks, mask, sizeof mask);
    assert_false(all_zero(last, 12 * 6));
    close_bed(&b);
}

static void replay_needs_the_stored_states(void **state) {
    (void)state;
    bed b = open_text(mad_text);
    assert_int_equal(collect(&b), LUD_OK);
    lud_mappo_learner_state *m = b.learner;
    lud_mappo_trainer *u = m->update;
    lud_error error = {0};
    const int64_t n = lud_mappo_buffer_cut(&m->buffer, 5, m->chunks);
    double largest = 0.0;
    for (int64_t c = 0; c < n; c++) {
        assert_int_equal(lud_mappo_gather(m, m->chunks + c, 1, &error), LUD_OK);
        /* the kick is the relative goal where an episode begins, else nothing */
        const float *drive = u->inputs.items[LUD_MAPPO_DRIVE].host;
        const float *mask = u->inputs.items[LUD_MAPPO_MASK].host;
        const float *seen = u->inputs.items[LUD_MAPPO_OBSERVATION].host;
        for (int64_t i = 0; i < u->inputs.n; i++)
            for (int k = 0; k < 2; k++)
                assert_true(drive[2 * i + k] == (mask[i] == 0.0f ? seen[6 * i + 4 + k] : 0.0f));
        lud_mappo_net_forward(&u->actor, true);
        lud_mappo_evaluate(u);
        const float *log_prob = u->fields[LUD_FIELD_LOG_PROB].host;
        const float *old = u->fields[LUD_FIELD_OLD_LOG_PROB].host;
        for (int64_t i = 0; i < u->inputs.n; i++) assert_float_equal(log_prob[i], old[i], 1e-4);
        /* action = base + m D with |D| < 1 */
        const float *raw = lud_nn_value(u->actor.nn, u->actor.magnitude);
        const float *number = u->fields[LUD_FIELD_NUMBER].host;
        for (int64_t i = 0; i < u->inputs.n; i++)
            for (int k = 0; k < 2; k++)
                assert_true(fabs((double)number[2 * i + k]) <=
                            lud_mad_magnitude(&m->options, (double)raw[i], true, NULL) + 1e-6);
        /* without states it is another probability */
        float *states = u->inputs.items[LUD_MAPPO_STATE].host;
        memset(states, 0, (size_t)u->inputs.n * 12 * sizeof *states);
        lud_mappo_net_forward(&u->actor, true);
        lud_mappo_evaluate(u);
        for (int64_t i = 0; i < u->inputs.n; i++)
            largest = fmax(largest, fabs((double)(log_prob[i] - old[i])));
    }
    assert_true(largest > 0.1);
    /* and giving none is an error */
    lud_mappo_memory memory = lud_mappo_buffer_memory(&m->buffer);
    memory.states = NULL;
    assert_int_equal(lud_mappo_inputs_remember(&u->inputs, 1, m->row, &memory, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "states"));
    /* so is giving states of another size */
    memory = lud_mappo_buffer_memory(&m->buffer);
    memory.state_width -= 2;
    assert_int_equal(lud_mappo_inputs_remember(&u->inputs, 1, m->row, &memory, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "12 numbers a sample, and it was given 10"));
    close_bed(&b);
}

static void gradients_reach_the_magnitude(void **state) {
    (void)state;
    bed b = open_text(mad_text);
    assert_int_equal(collect(&b), LUD_OK);
    lud_mappo_learner_state *m = b.learner;
    lud_error error = {0};
    lud_mappo_buffer_cut(&m->buffer, 1, m->chunks);
    lud_parameters_zero_gradients(m->update->parameters);
    assert_int_equal(lud_mappo_gather(m, m->chunks, 12, &error), LUD_OK);
    for (int i = 0; i < 12; i++) ((float *)m->update->fields[LUD_FIELD_ADVANTAGE].host)[i] = (float)(i - 5);
    lud_mappo_minibatch_add(m->update, 1.0 / 12);
    const lud_parameters *p = parameters_of(&b);
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        if (strncmp(p->items[i].name, "actor.magnitude.", 16) != 0) continue;
        double gradient[4096], sum = 0.0;
        lud_parameters_read_gradient(p, i, gradient);
        for (int64_t k = 0; k < p->items[i].n; k++) sum += fabs(gradient[k]);
        if (!(sum > 0.0)) fail_msg("%s has no gradient", p->items[i].name);
        n++;
    }
    assert_int_equal(n, 10);
    close_bed(&b);
}

static void chunks_keep_to_episodes(void **state) {
    (void)state;
    bed b = open_text(mad_text);
    assert_int_equal(collect(&b), LUD_OK);
    const lud_mappo_buffer *buffer = &b.learner->buffer;
    const int64_t n = lud_mappo_buffer_cut(buffer, 3, b.learner->chunks);
    int seen[6 * 6] = {0};
    for (int64_t c = 0; c < n; c++) {
        const lud_mappo_chunk *chunk = &b.learner->chunks[c];
        assert_true(chunk->length >= 1 && chunk->length <= 3);
        for (int s = 0; s < chunk->length; s++) {
            const int64_t row = chunk->first + s * buffer->n_rows;
            seen[row]++;
            if (s > 0) assert_true(buffer->masks[row] != 0.0f);
        }
    }
    for (int i = 0; i < 36; i++) assert_int_equal(seen[i], 1);
    assert_int_equal(n, 6 * 3); /* 3 + 1 steps of the first episode, 2 of the second */
    close_bed(&b);
}

/* --- magnitude and direction --- */

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
    bed b = open_text(mad_text);
    lud_mappo_learner_state *m = b.learner;
    m->update->options.learning_rate = 0.05;
    lud_error error = {0};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(collect(&b), LUD_OK);
        assert_int_equal(lud_mappo_update(m, &error), LUD_OK);
    }
    const lud_parameters *p = parameters_of(&b);
    double nu[6];
    lud_parameters_read(p, lud_parameters_find(p, "actor.magnitude.lru.nu_log"), nu);
    for (int s = 0; s < 6; s++) assert_true(exp(-exp(nu[s])) < 1.0);
    /* zero state and no kick: exactly nothing */
    lud_mappo_chunk *chunks = m->chunks;
    lud_mappo_buffer_cut(&m->buffer, 1, chunks);
    assert_int_equal(lud_mappo_gather(m, chunks, 4, &error), LUD_OK);
    memset(m->update->inputs.items[LUD_MAPPO_DRIVE].host, 0, 8 * sizeof(float));
    memset(m->update->inputs.items[LUD_MAPPO_STATE].host, 0, 48 * sizeof(float));
    lud_mappo_net_forward(&m->update->actor, true);
    assert_true(all_zero(lud_nn_value(m->update->actor.nn, m->update->actor.magnitude), 4));
    close_bed(&b);
}

/* sqrt of the sum over agents of |goal - position|^2 + |velocity|^2, mean over environments */
static double error_norm(const lud_mappo_learner_state *m) {
    const lud_particle_model *model = (const lud_particle_model *)m->scenario->model;
    double sum = 0.0;
    for (int e = 0; e < m->batch->n_envs; e++) {
        const uint8_t *state = m->batch->states + (size_t)e * m->scenario->model->layout.state_bytes;
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
    return sum / m->batch->n_envs;
}

static void untrained_agents_reach_their_goals(void **state) {
    (void)state;
    double last[2];
    for (int direct = 0; direct < 2; direct++) {
        char text[700];
        snprintf(text, sizeof text,
                 "ludus: 1\nname: t\nworld: particle\n"
                 "particle: {task: navigation_graph, agents: 3, obstacles: 0, actions: continuous, "
                 "episode_length: 0}\nrun: {environments: 16, seed: 2}\n"
                 "learner: {type: graph-mappo, control: %s, rollout_length: 60, centralised: false, " SMALL
                 "}\n",
                 direct ? "direct" : "mad");
        bed b = open_text(text);
        assert_int_equal(collect(&b), LUD_OK);
        last[direct] = error_norm(b.learner);
        close_bed(&b);
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
    snprintf(text, size,
             "ludus: 1\nname: t\nworld: particle\n"
             "particle: {task: navigation_graph, agents: %d, obstacles: 0, actions: continuous, disturbance: "
             "{std: 0.1}}\nrun: {environments: 8, seed: 2}\n"
             "learner: {type: graph-mappo, control: %s, centralised: false, " SMALL "}\n",
             agents, control);
    return text;
}

static void run_loop(const bed *trained, const bed *in, const lud_mappo_play *play, int n_steps,
                     lud_mappo_loop *loop) {
    lud_error error = {0};
    if (lud_mappo_run_loop(trained->scenario, in->scenario, play, n_steps, loop, &error))
        fail_msg("%s", error.text);
}

static void errors_fall_in_any_direction(void **state) {
    (void)state;
    enum { N_STEPS = 200 };
    char text[700], folder[] = "/tmp/ludus-loop-XXXXXX", path[64];
    bed b = open_text(loop_text(text, sizeof text, 4, "mad")),
        more = open_text(loop_text(text, sizeof text, 7, "mad"));
    double norms[2][N_STEPS + 1];
    lud_mappo_loop loop[2] = {{.error_norm = norms[0]}, {.error_norm = norms[1]}};
    lud_error error = {0};
    const lud_parameters *p = parameters_of(&b);

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
    lud_mappo_trial_start(m);
    for (int t = 0; t < 20; t++) {
        assert_int_equal(lud_mappo_trial_decide(m, true, &error), LUD_OK);
        const float *raw = lud_nn_value(m->rollout->actor.nn, m->rollout->actor.magnitude);
        const float *drive = m->rollout->inputs.items[LUD_MAPPO_DRIVE].host;
        energy += pow((double)raw[0], 2);
        kick += pow((double)drive[0], 2) + pow((double)drive[1], 2);
        lud_mappo_trial_step(m);
    }
    assert_true(kick > 0.0 && energy > 0.0 && energy <= expected * expected * kick);

    /* after rough training, from its checkpoint, in a larger team */
    m->update->options.learning_rate = 0.01;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(collect(&b), LUD_OK);
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
    bed plain = open_text(loop_text(text, sizeof text, 4, "direct"));
    run_loop(&plain, &plain, &(lud_mappo_play){.deterministic = true}, N_STEPS, &loop[0]);
    assert_true(isnan(loop[0].largest_eigenvalue) && !lud_mappo_loop_falls(&loop[0]));
    assert_int_equal(lud_mappo_run_loop(plain.scenario, plain.scenario,
                                        &(lud_mappo_play){.directions = LUD_DIRECTIONS_AWAY}, 1, &loop[0],
                                        &error),
                     LUD_ERROR_INPUT);
    close_bed(&plain);
    close_bed(&more);
    close_bed(&b);
}

/* Attention of trained agents for the viewer: shares of what is within reach. */
static void attention_is_shared_out(void **state) {
    (void)state;
    char text[700];
    bed b = open_text(loop_text(text, sizeof text, 4, "mad"));
    const lud_model *model = b.scenario->model;
    const lud_particle_model *particle = (const lud_particle_model *)model;
    lud_error error = {0};
    lud_cast *cast = NULL;
    assert_int_equal(lud_cast_create(model, NULL, NULL, &cast, &error), LUD_OK);
    assert_int_equal(lud_mappo_join_as(b.scenario, b.scenario, &(lud_mappo_play){0}, cast, &error), LUD_OK);
    lud_policy *policy = lud_cast_get(cast, 0);
    assert_true(lud_mappo_policy_is(policy) && !lud_mappo_policy_is(NULL));
    uint8_t *at = calloc(1, model->layout.state_bytes);
    const uint32_t tick = 0;
    model->world->reset(model, (lud_range){.seed = 3, .n = 1, .tick = &tick}, at);
    enum { N = 8 };
    for (int e = 0; e < N; e++) /* agents 0..2 and goal 0 near each other, everything else far away */
        lud_particle_set_body(particle, at, e,
                              (lud_particle_body){.position = {e < 3 || e == 4 ? 0.2 * e : 10.0 * e, 0.0}});
    float weights[4][N];
    assert_true(lud_mappo_policy_attention(policy, at, &weights[0][0]));
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
    close_bed(&b);
}

/* --- invariances --- */

static const char *graph_text(char *text, size_t size, int obstacles) {
    snprintf(text, size,
             "ludus: 1\nname: t\nworld: particle\n"
             "particle: {task: navigation_graph, agents: 3, obstacles: %d}\nrun: {environments: 1, seed: 3}\n"
             "learner: {type: graph-mappo, rollout_length: 2, centralised: false, output_gain: 1, " SMALL
             "}\n",
             obstacles);
    return text;
}

/* Logits of the three agents in a state. */
static void logits_of(lud_mappo_trainer *t, const lud_model *model, const uint8_t *state, float *logits) {
    void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
    for (int p = 0; p < model->layout.n_parts; p++) parts[p] = calloc(1, model->layout.parts[p].bytes);
    const uint32_t tick = 0;
    model->world->observe(model, (lud_range){.n = 1, .tick = &tick}, state, parts);
    const int32_t place[3] = {0}, agent[3] = {0, 1, 2}, row[3] = {0, 1, 2};
    const float masks[3] = {0}, hidden[3 * 16] = {0};
    lud_mappo_inputs_observe(&t->inputs, (const void *const *)parts, 3, place, agent);
    lud_error error = {0};
    const lud_mappo_memory memory = {
        .masks = masks, .actor_hidden = hidden, .critic_hidden = hidden, .hidden_width = 16};
    assert_int_equal(lud_mappo_inputs_remember(&t->inputs, 3, row, &memory, &error), LUD_OK);
    lud_mappo_inputs_upload(&t->inputs);
    lud_mappo_net_forward(&t->actor, false);
    memcpy(logits, lud_nn_value(t->actor.nn, t->actor.out), 15 * sizeof *logits);
    for (int p = 0; p < model->layout.n_parts; p++) free(parts[p]);
}

static void invariances_hold(void **state) {
    (void)state;
    char text[800];
    bed a = open_text(graph_text(text, sizeof text, 1)), b = open_text(graph_text(text, sizeof text, 2));
    assert_int_equal(collect(&a), LUD_OK);
    const lud_model *model = a.scenario->model;
    const lud_particle_model *pm = (const lud_particle_model *)model;
    uint8_t *start = malloc(model->layout.state_bytes),
            *other = malloc(b.scenario->model->layout.state_bytes);
    memcpy(start, a.learner->batch->states, model->layout.state_bytes);
    lud_particle_body bodies[7];
    /* near enough to see each other */
    for (int e = 0; e < 7; e++) {
        bodies[e] = (lud_particle_body){.position = {0.2 * e - 0.6, 0.07 * e * e - 0.5}};
        if (e < 3) bodies[e].velocity[0] = 0.1 * (e + 1);
        lud_particle_set_body(pm, start, e, bodies[e]);
    }
    float logits[15], swapped[15], with_far[15];
    logits_of(a.learner->update, model, start, logits);
    assert_true(fabs((double)(logits[0] - logits[5])) > 1e-4); /* they do differ */

    /* agents 0 and 2 change places, with their goals */
    for (int e = 0; e < 2; e++) {
        lud_particle_set_body(pm, start, 3 * e, bodies[3 * e + 2]);
        lud_particle_set_body(pm, start, 3 * e + 2, bodies[3 * e]);
    }
    logits_of(a.learner->update, model, start, swapped);
    const int to[3] = {2, 1, 0};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 5; k++) assert_float_equal(swapped[5 * to[i] + k], logits[5 * i + k], 1e-5);

    /* one more obstacle, far away, under the same parameters */
    lud_parameters_copy(b.learner->update->parameters, a.learner->update->parameters);
    assert_int_equal(collect(&b), LUD_OK);
    memcpy(other, b.learner->batch->states, b.scenario->model->layout.state_bytes);
    const lud_particle_model *qm = (const lud_particle_model *)b.scenario->model;
    for (int e = 0; e < 7; e++) lud_particle_set_body(qm, other, e, bodies[e]);
    lud_particle_set_body(qm, other, 7, (lud_particle_body){.position = {100, 100}});
    logits_of(b.learner->update, b.scenario->model, other, with_far);
    for (int i = 0; i < 15; i++) assert_float_equal(with_far[i], logits[i], 1e-6);
    free(start);
    free(other);
    close_bed(&a);
    close_bed(&b);
}

static void scan_equals_step(void **state) {
    (void)state;
    enum { T = 40, S = 5 };
    lud_device *device = NULL;
    lud_error error = {0};
    assert_int_equal(lud_device_open("cpu", 1, &device, &error), LUD_OK);
    float nu[S], theta[S], gamma[S], v[T * 2 * S], whole[T * 2 * S], h[2 * S] = {0}, next[2 * S];
    for (int s = 0; s < S; s++) {
        nu[s] = -1.0f - 0.3f * (float)s;
        theta[s] = 0.2f * (float)s;
        gamma[s] = -0.5f;
    }
    for (int i = 0; i < T * 2 * S; i++) v[i] = (float)sin(1.7 * i);
    device->ops->lru(device, T, 1, S, nu, theta, gamma, v, NULL, NULL, whole);
    for (int t = 0; t < T; t++) {
        device->ops->lru(device, 1, 1, S, nu, theta, gamma, v + t * 2 * S, h, NULL, next);
        memcpy(h, next, sizeof h);
        for (int i = 0; i < 2 * S; i++) assert_float_equal(h[i], whole[t * 2 * S + i], 1e-5);
    }
    lud_device_close(device);
}

/* --- learning --- */

static void popart_keeps_values_and_trains(void **state) {
    (void)state;
    bed b = open_text("ludus: 1\nname: t\nworld: particle\nparticle: {task: simple}\n"
                      "run: {environments: 4, seed: 1}\n"
                      "learner: {type: graph-mappo, recurrent: false, normaliser: popart, steps: 1000, "
                      "normaliser_beta: 0.9}\n");
    assert_int_equal(collect(&b), LUD_OK);
    lud_mappo_trainer *u = b.learner->update;
    lud_error error = {0};
    float values[3][4];
    lud_mappo_buffer_cut(&b.learner->buffer, 1, b.learner->chunks);
    const float first[4] = {5, 6, 7, 9}, second[4] = {-20, 3, 40, 1};
    for (int i = 0; i < 3; i++) {
        if (i > 0) lud_mappo_minibatch_begin(u, 4, i == 1 ? first : second);
        assert_int_equal(lud_mappo_gather(b.learner, b.learner->chunks, 4, &error), LUD_OK);
        lud_mappo_net_forward(&u->critic, false);
        memcpy(values[i], lud_nn_value(u->critic.nn, u->critic.out), sizeof values[i]);
        lud_mappo_denormalise(u, 4, values[i]);
    }
    for (int k = 0; k < 4; k++) {
        assert_float_equal(values[1][k], values[0][k], 1e-3);
        assert_float_equal(values[2][k], values[0][k], 1e-3);
    }
    /* the optimiser moves the rescaled head */
    const int head = lud_parameters_find(u->parameters, "critic.out.weight");
    double before[64], after[64], change = 0.0;
    lud_parameters_read(u->parameters, head, before);
    lud_mappo_minibatch_add(u, 0.25);
    lud_mappo_minibatch_end(u, 1.0);
    lud_parameters_read(u->parameters, head, after);
    for (int i = 0; i < 64; i++) change += fabs(after[i] - before[i]);
    assert_true(change > 1e-3);
    close_bed(&b);
}

static void training_improves(void **state) {
    (void)state;
    bed b =
        open_text("ludus: 1\nname: t\nworld: particle\nparticle: {task: simple}\n"
                  "run: {environments: 32, seed: 1}\n"
                  "learner: {type: graph-mappo, recurrent: false, hidden_size: 32, steps: 1000000, epochs: "
                  "5, minibatches: 4, learning_rate: 0.003, critic_learning_rate: 0.003, "
                  "evaluation_episodes: 64}\n");
    lud_learner *l = &b.learner->base;
    double before[8], after[8], row[LUD_MAPPO_COLUMNS];
    lud_error error = {0};
    assert_int_equal(l->kind->evaluate(l, before, &error), LUD_OK);
    for (int i = 0; i < 40; i++) assert_int_equal(l->kind->iterate(l, row, &error), LUD_OK);
    assert_int_equal(l->kind->evaluate(l, after, &error), LUD_OK);
    print_message("simple: return %.2f -> %.2f\n", before[0], after[0]);
    assert_true(after[0] > 0.6 * before[0]); /* returns are costs */
    close_bed(&b);
}

static void resuming_is_exact(void **state) {
    (void)state;
    char folder[] = "/tmp/ludus-mappo-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/half.safetensors", folder);
    double row[LUD_MAPPO_COLUMNS];
    lud_error error = {0};
    bed whole = open_text(mad_text), half = open_text(mad_text), rest = open_text(mad_text);
    lud_learner *w = &whole.learner->base, *h = &half.learner->base, *r = &rest.learner->base;
    for (int i = 0; i < 4; i++) assert_int_equal(w->kind->iterate(w, row, &error), LUD_OK);
    for (int i = 0; i < 2; i++) assert_int_equal(h->kind->iterate(h, row, &error), LUD_OK);
    double evaluation[8];
    assert_int_equal(h->kind->evaluate(h, evaluation, &error), LUD_OK); /* must not matter */
    lud_checkpoint *c = lud_checkpoint_create();
    h->kind->visit(h, c);
    assert_int_equal(lud_checkpoint_write(c, path, &error), LUD_OK);
    lud_checkpoint_destroy(c);
    assert_int_equal(lud_checkpoint_open(path, &c, &error), LUD_OK);
    r->kind->visit(r, c);
    assert_int_equal(lud_checkpoint_status(c, &error), LUD_OK);
    lud_checkpoint_destroy(c);
    for (int i = 0; i < 2; i++) assert_int_equal(r->kind->iterate(r, row, &error), LUD_OK);
    const lud_parameters *a = parameters_of(&whole), *b = parameters_of(&rest);
    assert_memory_equal(a->values, b->values, (size_t)a->size * sizeof(float));
    assert_memory_equal(whole.learner->buffer.states, rest.learner->buffer.states,
                        (size_t)(6 * 12) * sizeof(float));
    close_bed(&whole);
    close_bed(&half);
    close_bed(&rest);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

/* Other worlds and kinds of agents: one update each, all numbers finite. */
static void other_worlds_train(void **state) {
    (void)state;
    static const char *const texts[] = {
        "world: particle\nparticle: {task: simple_tag}\n"
        "learner: {type: graph-mappo, identify: true, hidden_size: 8, steps: 100, rollout_length: 3, epochs: "
        "1}\n",
        "world: particle\nparticle: {task: simple_speaker_listener}\n"
        "learner: {type: graph-mappo, identify: true, hidden_size: 8, steps: 100, rollout_length: 3, epochs: "
        "1}\n",
        "world: particle\nparticle: {task: simple_spread, actions: continuous}\n"
        "learner: {type: graph-mappo, hidden_size: 8, steps: 100, rollout_length: 3, epochs: 1, huber_delta: "
        "0, gae: false, time_limits: discard, normaliser: none}\n",
        "world: particle\nparticle: {task: navigation_graph, actions: continuous, disturbance: {std: 0.1}}\n"
        "learner: {type: graph-mappo, control: mad, hidden_size: 8, steps: 100, rollout_length: 3, epochs: "
        "1, "
        "mad: {input: disturbance}}\n",
        "world: particle\nparticle: {task: navigation_graph, actions: continuous}\n"
        "learner: {type: graph-mappo, control: base, hidden_size: 8, steps: 100, rollout_length: 3, epochs: "
        "1}\n",
        "world: multigrid\nmultigrid:\n  map: |\n    We We We We We\n    We Ar .. .. We\n    We .. Ag Gg We\n"
        "    We We We We We\n  observation: {view: partial, size: 5}\n  max_steps: 20\n"
        "learner: {type: graph-mappo, hidden_size: 8, channels: 4, steps: 100, rollout_length: 3, epochs: "
        "1}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[1200];
        snprintf(text, sizeof text, "ludus: 1\nname: t\nrun: {environments: 2, seed: 1}\n%s", texts[i]);
        bed b = open_text(text);
        lud_learner *l = &b.learner->base;
        double row[LUD_MAPPO_COLUMNS];
        lud_error error = {0};
        for (int k = 0; k < 2; k++)
            if (l->kind->iterate(l, row, &error)) fail_msg("%zu: %s", i, error.text);
        assert_true(isfinite(row[LUD_MAPPO_POLICY_LOSS]) && isfinite(row[LUD_MAPPO_VALUE_LOSS]));
        assert_true(isfinite(row[LUD_MAPPO_ENTROPY]) && row[LUD_MAPPO_ACTOR_NORM] > 0.0);
        /* agents with fewer choices never take one that is not theirs */
        const lud_mappo_buffer *buffer = &b.learner->buffer;
        for (int64_t k = 0; buffer->actions && k < buffer->n_steps * buffer->n_rows; k++)
            assert_true(buffer->actions[k] <
                        b.scenario->model->layout.actions[k % buffer->shape->n_agents].n_discrete);
        close_bed(&b);
    }
}

static void wrong_options_are_told(void **state) {
    (void)state;
    static const struct {
        const char *learner, *part;
    } cases[] = {{"control: mad", "control"},
                 {"encoder: graph", "graph"},
                 {"encoder: grid", "grid"},
                 {"hiden_size: 3", "hidden_size"},
                 {"mad: {r_min: 0.9, r_max: 0.8}", "r_min"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "ludus: 1\nname: t\nworld: particle\nparticle: {task: simple}\n"
                 "learner: {type: graph-mappo, %s}\n",
                 cases[i].learner);
        lud_device *device = NULL;
        lud_scenario *scenario = NULL;
        lud_learner *learner = NULL;
        lud_error error = {0};
        assert_int_equal(lud_device_open("cpu", 1, &device, &error), LUD_OK);
        assert_int_equal(lud_scenario_read("test", text, strlen(text), NULL, 0, &scenario, &error), LUD_OK);
        assert_int_equal(lud_learner_create(scenario, device, &learner, &error), LUD_ERROR_INPUT);
        assert_null(learner);
        if (!strstr(error.text, cases[i].part)) fail_msg("%s", error.text);
        lud_scenario_destroy(scenario);
        lud_device_close(device);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_live_as_they_should),
        cmocka_unit_test(replay_needs_the_stored_states),
        cmocka_unit_test(gradients_reach_the_magnitude),
        cmocka_unit_test(chunks_keep_to_episodes),
        cmocka_unit_test(log_prob_gradients_are_right),
        cmocka_unit_test(entropy_gradients_are_pathwise),
        cmocka_unit_test(the_magnitude_is_stable),
        cmocka_unit_test(untrained_agents_reach_their_goals),
        cmocka_unit_test(errors_fall_in_any_direction),
        cmocka_unit_test(attention_is_shared_out),
        cmocka_unit_test(invariances_hold),
        cmocka_unit_test(scan_equals_step),
        cmocka_unit_test(popart_keeps_values_and_trains),
        cmocka_unit_test(training_improves),
        cmocka_unit_test(resuming_is_exact),
        cmocka_unit_test(other_worlds_train),
        cmocka_unit_test(wrong_options_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
