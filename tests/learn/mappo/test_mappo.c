/* Graph MAPPO: the life of states, replay, invariances, gradients, learning, resuming. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "learn/mappo/policy.h"
#include "learn/mappo/stability/mad.h"
#include "learn/mappo/stability/stability.h"
#include "learn/mappo/support_mappo.h"
#include "sim/particle/particle.h"

/* --- states --- */

static void states_live_as_they_should(void **state) {
    (void)state;
    support_mappo b = support_mappo_open(support_mappo_mad);
    assert_int_equal(support_mappo_collect(&b), LUD_OK);
    lud_mappo_learner_state *m = b.learner;
    lud_mappo_buffer *buffer = &m->training.buffer;
    const int64_t rows = buffer->n_rows, width = buffer->state_width;
    assert_int_equal(width, 12);
    assert_true(support_mappo_all_zero(buffer->states, rows * width)); /* slot 0 */
    assert_true(support_mappo_all_zero(buffer->masks, rows));
    int n_reset = 0;
    for (int64_t t = 0; t < buffer->n_steps; t++)
        for (int64_t row = 0; row < rows; row++) {
            const int64_t at = (t + 1) * rows + row;
            const bool reset = (t + 1) % 4 == 0;
            assert_true((buffer->masks[at] == 0.0f) == reset);
            assert_true(support_mappo_all_zero(buffer->states + at * width, width) == reset);
            if (reset) assert_true(support_mappo_all_zero(buffer->actor_hidden + at * 16, 16));
            if (reset) assert_true(support_mappo_all_zero(buffer->critic_hidden + at * 16, 16));
            n_reset += reset;
        }
    assert_true(n_reset > 0);

    /* slot t + 1 is one step from slot t, by the recurrence itself */
    const lud_parameters *p = support_mappo_parameters(&b);
    double nu[6], theta[6], gamma[6], input[12 * 2];
    lud_parameters_read(p, lud_parameters_find(p, "actor.magnitude.lru.nu_log"), nu);
    lud_parameters_read(p, lud_parameters_find(p, "actor.magnitude.lru.theta_log"), theta);
    lud_parameters_read(p, lud_parameters_find(p, "actor.magnitude.lru.gamma_log"), gamma);
    lud_parameters_read(p, lud_parameters_find(p, "actor.magnitude.lru.b.weight"), input);
    const int part = m->groups[0].rollout->shape.pieces[0].part,
              offset = m->groups[0].rollout->shape.goal_offset;
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
    assert_false(support_mappo_all_zero(last, 12 * 6));
    support_mappo_close(&b);
}

static void replay_needs_the_stored_states(void **state) {
    (void)state;
    support_mappo b = support_mappo_open(support_mappo_mad);
    assert_int_equal(support_mappo_collect(&b), LUD_OK);
    lud_mappo_learner_state *m = b.learner;
    lud_mappo_networks *u = m->groups[0].update;
    lud_error error = {0};
    const int64_t n = lud_mappo_buffer_cut(&m->training.buffer, 5, m->groups[0].ppo.core.chunks);
    double largest = 0.0;
    for (int64_t c = 0; c < n; c++) {
        assert_int_equal(lud_mappo_gather(m, &m->groups[0], m->groups[0].ppo.core.chunks + c, 1, &error),
                         LUD_OK);
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
        const float *old = lud_row_host(&m->groups[0].ppo.core.ppo.rows, LUD_PPO_OLD_LOG_PROB);
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
    lud_mappo_memory memory = lud_mappo_buffer_memory(&m->training.buffer);
    memory.states = NULL;
    assert_int_equal(lud_mappo_inputs_remember(&u->inputs, 1, m->row, &memory, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "states"));
    /* so is giving states of another size */
    memory = lud_mappo_buffer_memory(&m->training.buffer);
    memory.state_width -= 2;
    assert_int_equal(lud_mappo_inputs_remember(&u->inputs, 1, m->row, &memory, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "12 numbers a sample, and it was given 10"));
    support_mappo_close(&b);
}

static void gradients_reach_the_magnitude(void **state) {
    (void)state;
    support_mappo b = support_mappo_open(support_mappo_mad);
    assert_int_equal(support_mappo_collect(&b), LUD_OK);
    lud_mappo_learner_state *m = b.learner;
    lud_error error = {0};
    lud_mappo_buffer_cut(&m->training.buffer, 1, m->groups[0].ppo.core.chunks);
    lud_parameters_zero_gradients(m->groups[0].update->parameters);
    m->groups[0].ppo.core.ppo.scale = 1.0 / 12;
    assert_int_equal(lud_mappo_gather(m, &m->groups[0], m->groups[0].ppo.core.chunks, 12, &error), LUD_OK);
    float *advantage = lud_row_host(&m->groups[0].ppo.core.ppo.rows, LUD_PPO_ADVANTAGE);
    for (int i = 0; i < 12; i++) advantage[i] = (float)(i - 5);
    lud_mappo_ppo_add_slice(&m->groups[0].ppo);
    const lud_parameters *p = support_mappo_parameters(&b);
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
    support_mappo_close(&b);
}

static void chunks_keep_to_episodes(void **state) {
    (void)state;
    support_mappo b = support_mappo_open(support_mappo_mad);
    assert_int_equal(support_mappo_collect(&b), LUD_OK);
    const lud_mappo_buffer *buffer = &b.learner->training.buffer;
    const int64_t n = lud_mappo_buffer_cut(buffer, 3, b.learner->groups[0].ppo.core.chunks);
    int seen[6 * 6] = {0};
    for (int64_t c = 0; c < n; c++) {
        const lud_chunk *chunk = &b.learner->groups[0].ppo.core.chunks[c];
        assert_true(chunk->length >= 1 && chunk->length <= 3);
        for (int s = 0; s < chunk->length; s++) {
            const int64_t row = chunk->first + s * buffer->n_rows;
            seen[row]++;
            if (s > 0) assert_true(buffer->masks[row] != 0.0f);
        }
    }
    for (int i = 0; i < 36; i++) assert_int_equal(seen[i], 1);
    assert_int_equal(n, 6 * 3); /* 3 + 1 steps of the first episode, 2 of the second */
    support_mappo_close(&b);
}

/* --- invariances --- */

static const char *graph_text(char *text, size_t size, int obstacles) {
    snprintf(
        text, size,
        "ludus: 1\nname: t\nworld: particle\n"
        "particle: {task: navigation_graph, agents: 3, obstacles: %d}\nrun: {environments: 1, seed: 3}\n"
        "learner: {type: graph-mappo, automatic: false, rollout_length: 2, centralised: false, output_gain: "
        "1, " SUPPORT_MAPPO_SMALL "}\n",
        obstacles);
    return text;
}

/* Logits of the three agents in a state. */
static void logits_of(lud_mappo_networks *t, const lud_model *model, const uint8_t *state, float *logits) {
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
    support_mappo a = support_mappo_open(graph_text(text, sizeof text, 1)),
                  b = support_mappo_open(graph_text(text, sizeof text, 2));
    assert_int_equal(support_mappo_collect(&a), LUD_OK);
    const lud_model *model = a.scenario->model;
    const lud_particle_model *pm = (const lud_particle_model *)model;
    uint8_t *start = malloc(model->layout.state_bytes),
            *other = malloc(b.scenario->model->layout.state_bytes);
    memcpy(start, a.learner->training.batch->states, model->layout.state_bytes);
    lud_particle_body bodies[7];
    /* near enough to see each other */
    for (int e = 0; e < 7; e++) {
        bodies[e] = (lud_particle_body){.position = {0.2 * e - 0.6, 0.07 * e * e - 0.5}};
        if (e < 3) bodies[e].velocity[0] = 0.1 * (e + 1);
        lud_particle_set_body(pm, start, e, bodies[e]);
    }
    float logits[15], swapped[15], with_far[15];
    logits_of(a.learner->groups[0].update, model, start, logits);
    assert_true(fabs((double)(logits[0] - logits[5])) > 1e-4); /* they do differ */

    /* agents 0 and 2 change places, with their goals */
    for (int e = 0; e < 2; e++) {
        lud_particle_set_body(pm, start, 3 * e, bodies[3 * e + 2]);
        lud_particle_set_body(pm, start, 3 * e + 2, bodies[3 * e]);
    }
    logits_of(a.learner->groups[0].update, model, start, swapped);
    const int to[3] = {2, 1, 0};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 5; k++) assert_float_equal(swapped[5 * to[i] + k], logits[5 * i + k], 1e-5);

    /* one more obstacle, far away, under the same parameters */
    lud_parameters_copy(b.learner->groups[0].update->parameters, a.learner->groups[0].update->parameters);
    assert_int_equal(support_mappo_collect(&b), LUD_OK);
    memcpy(other, b.learner->training.batch->states, b.scenario->model->layout.state_bytes);
    const lud_particle_model *qm = (const lud_particle_model *)b.scenario->model;
    for (int e = 0; e < 7; e++) lud_particle_set_body(qm, other, e, bodies[e]);
    lud_particle_set_body(qm, other, 7, (lud_particle_body){.position = {100, 100}});
    logits_of(b.learner->groups[0].update, b.scenario->model, other, with_far);
    for (int i = 0; i < 15; i++) assert_float_equal(with_far[i], logits[i], 1e-6);
    free(start);
    free(other);
    support_mappo_close(&a);
    support_mappo_close(&b);
}

/* Where work is recorded there are at most seventeen numbers of edges, whatever agents see: those added come
 * behind the others, have no length, end in no node and begin at different ones. */
static void padded_edges_end_nowhere(void **state) {
    (void)state;
    char text[800];
    support_mappo b = support_mappo_open(graph_text(text, sizeof text, 2));
    lud_mappo_inputs *in = &b.learner->groups[0].update->inputs;
    const int64_t per_row = in->shape->n_nodes, n_nodes = 3 * per_row, most = n_nodes * (per_row - 1);
    int32_t *offsets = in->items[LUD_MAPPO_NODE_OFFSETS].host,
            *source = in->items[LUD_MAPPO_EDGE_SOURCE].host;
    float *length = in->items[LUD_MAPPO_EDGE_LENGTH].host;
    int64_t sizes = 0, last = -1;
    in->pads_edges = true;
    for (int64_t n = 0; n <= most; n++) {
        for (int64_t node = 0; node <= n_nodes; node++) offsets[node] = (int32_t)(n * node / n_nodes);
        for (int64_t e = 0; e < most; e++) {
            source[e] = e < n ? (int32_t)(7 * e % n_nodes) : -1;
            length[e] = 1.0f + (float)e;
        }
        lud_mappo_inputs_set_edges(in, n_nodes, n);
        assert_true(in->n_edges >= n && in->n_edges <= most && in->n_edges - n < most / 16);
        assert_int_equal(in->edges.n_edges, in->n_edges);
        assert_int_equal(in->source_edges.rows, n);
        sizes += in->n_edges != last;
        last = in->n_edges;
        for (int64_t e = 0; e < in->n_edges; e++) {
            assert_true(length[e] == (e < n ? 1.0f + (float)e : 0.0f));
            if (e < n) assert_int_equal(source[e], 7 * e % n_nodes);
            assert_in_range(source[e], 0, n_nodes - 1);
            if (e > n) assert_int_not_equal(source[e], source[e - 1]);
        }
    }
    assert_in_range(sizes, 2, 17 + 1); /* and none at all */
    in->pads_edges = false;
    support_mappo_close(&b);
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
    support_mappo b = support_mappo_open(
        "ludus: 1\nname: t\nworld: particle\nparticle: {task: simple}\n"
        "run: {environments: 4, seed: 1}\n"
        "learner: {type: graph-mappo, automatic: false, recurrent: false, normaliser: popart, steps: 1000, "
        "normaliser_beta: 0.9}\n");
    assert_int_equal(support_mappo_collect(&b), LUD_OK);
    lud_mappo_networks *u = b.learner->groups[0].update;
    lud_mappo_ppo *ppo = &b.learner->groups[0].ppo;
    lud_error error = {0};
    float values[3][4];
    ppo->core.ppo.scale = 0.25;
    lud_mappo_buffer_cut(&b.learner->training.buffer, 1, b.learner->groups[0].ppo.core.chunks);
    const float first[4] = {5, 6, 7, 9}, second[4] = {-20, 3, 40, 1};
    for (int i = 0; i < 3; i++) {
        if (i > 0)
            lud_value_normaliser_update(&ppo->normaliser, 4, (const int32_t[]){0, 1, 2, 3},
                                        i == 1 ? first : second);
        assert_int_equal(lud_mappo_gather(b.learner, &b.learner->groups[0],
                                          b.learner->groups[0].ppo.core.chunks, 4, &error),
                         LUD_OK);
        lud_mappo_net_forward(&u->critic, false);
        memcpy(values[i], lud_nn_value(u->critic.nn, u->critic.out), sizeof values[i]);
        lud_value_normaliser_denormalise(&ppo->normaliser, 4, values[i]);
    }
    for (int k = 0; k < 4; k++) {
        assert_float_equal(values[1][k], values[0][k], 1e-3);
        assert_float_equal(values[2][k], values[0][k], 1e-3);
    }
    /* the optimiser moves the rescaled head */
    const int head = lud_parameters_find(u->parameters, "critic.out.weight");
    double before[64], after[64], change = 0.0;
    lud_parameters_read(u->parameters, head, before);
    lud_parameters_zero_gradients(u->parameters);
    lud_mappo_ppo_add_slice(ppo);
    lud_update_step(&ppo->core);
    lud_parameters_read(u->parameters, head, after);
    for (int i = 0; i < 64; i++) change += fabs(after[i] - before[i]);
    assert_true(change > 1e-3);
    support_mappo_close(&b);
}

/* The policy of a run values states as the learner's critic does, in units of reward, in worlds whose critic
 * fits; it publishes none where the critic sees other numbers. */
static void runs_publish_values(void **state) {
    (void)state;
    static const char *const learners[] = {"normaliser: valuenorm", "normaliser: popart",
                                           "normaliser: none, centralised: false", "recurrent: true"};
    for (size_t k = 0; k < sizeof learners / sizeof *learners; k++) {
        char text[512], folder[] = "/tmp/ludus-mappo-XXXXXX", path[64];
        const bool recurrent = strstr(learners[k], "recurrent"), own = strstr(learners[k], "centralised");
        for (int n = 3; n <= 4; n++) { /* trained with three agents, then opened with four as well */
            lud_error error = {0};
            lud_cast *cast;
            double row[64], value;
            snprintf(text, sizeof text,
                     "ludus: 1\nname: t\nworld: particle\nparticle: {task: navigation_graph, agents: %d}\n"
                     "run: {environments: 2, seed: 1}\nlearner: {type: graph-mappo, automatic: false, "
                     "rollout_length: 6, %s"
                     "encoder: graph, %s, " SUPPORT_MAPPO_SMALL "}\n",
                     n, recurrent ? "" : "recurrent: false, ", learners[k]);
            support_mappo b = support_mappo_open(text);
            lud_learner *l = &b.learner->base;
            const lud_model *model = b.scenario->model;
            if (n == 3) {
                for (int i = 0; i < 3; i++) assert_int_equal(l->kind->iterate(l, row, &error), LUD_OK);
                assert_non_null(mkdtemp(folder));
                snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
                lud_checkpoint *c = lud_checkpoint_create();
                l->kind->visit(l, c);
                assert_int_equal(lud_checkpoint_write(c, path, &error), LUD_OK);
                lud_checkpoint_destroy(c);
            }
            assert_int_equal(lud_cast_create(model, NULL, "t.yaml", &cast, &error), LUD_OK);
            if (lud_mappo_join(b.scenario, b.scenario, folder, cast, &error)) fail_msg("%s", error.text);
            const lud_mappo_stepping *s = &b.learner->training;
            const lud_mappo_buffer *buffer = &s->buffer;
            if (n == 3) assert_int_equal(support_mappo_collect(&b), LUD_OK);
            const int64_t last = buffer->n_steps * buffer->n_rows;
            for (int a = 0; a < n; a++) {
                lud_policy *policy = lud_cast_get(cast, a);
                const bool known = n == 3 || (own && !recurrent);
                uint8_t *states = calloc(2, model->layout.state_bytes);
                const uint32_t ticks[2] = {0};
                model->world->reset(model, (lud_range){.n = 2, .tick = ticks}, states);
                if (n == 3) memcpy(states, s->batch->states, 2 * model->layout.state_bytes);
                for (int e = 0; e < 2; e++) {
                    const uint8_t *at = states + (size_t)e * model->layout.state_bytes;
                    assert_int_equal(lud_policy_value(policy, at, a, &value), known);
                    if (!known || n != 3 || recurrent) continue; /* see the next test */
                    float expected = buffer->values[last + e * n + a];
                    lud_value_normaliser_denormalise(&b.learner->groups[0].ppo.normaliser, 1, &expected);
                    assert_float_equal(value, expected, 1e-4f * (1.0f + fabsf(expected)));
                }
                free(states);
            }
            lud_cast_destroy(cast);
            support_mappo_close(&b);
        }
        unlink(path);
        rmdir(folder);
    }
}

/* A critic that remembers values the states of an episode one after the other as the learner's does. */
static void recurrent_values_follow_the_episode(void **state) {
    (void)state;
    enum { AGENTS = 3, STEPS = 9 };
    char folder[] = "/tmp/ludus-mappo-XXXXXX", path[64];
    lud_error error = {0};
    lud_cast *cast;
    support_mappo b = support_mappo_open(
        "ludus: 1\nname: t\nworld: particle\nparticle: {task: navigation_graph, agents: 3, episode_length: "
        "10}\n"
        "run: {environments: 1, seed: 1}\nlearner: {type: graph-mappo, automatic: false, rollout_length: 1, "
        "recurrent: true, encoder: graph, normaliser: popart, " SUPPORT_MAPPO_SMALL "}\n");
    lud_learner *l = &b.learner->base;
    const lud_model *model = b.scenario->model;
    const size_t bytes = model->layout.state_bytes;
    double row[64];
    for (int i = 0; i < 10; i++) /* a whole episode */
        assert_int_equal(l->kind->iterate(l, row, &error), LUD_OK);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
    lud_checkpoint *c = lud_checkpoint_create();
    l->kind->visit(l, c);
    assert_int_equal(lud_checkpoint_write(c, path, &error), LUD_OK);
    lud_checkpoint_destroy(c);
    assert_int_equal(lud_cast_create(model, NULL, "t.yaml", &cast, &error), LUD_OK);
    if (lud_mappo_join(b.scenario, b.scenario, folder, cast, &error)) fail_msg("%s", error.text);
    lud_policy *policy = lud_cast_get(cast, 0);
    assert_true(policy->value_remembers);
    const lud_mappo_stepping *s = &b.learner->training;
    uint8_t *states = malloc(STEPS * bytes);
    double values[STEPS][AGENTS], other;
    for (int t = 0; t < STEPS; t++) { /* what the learner's critic says in steps of its own */
        memcpy(states + (size_t)t * bytes, s->batch->states, bytes);
        assert_int_equal(support_mappo_collect(&b), LUD_OK);
        for (int a = 0; a < AGENTS; a++) {
            float expected = s->buffer.values[a];
            lud_value_normaliser_denormalise(&b.learner->groups[0].ppo.normaliser, 1, &expected);
            values[t][a] = (double)expected;
        }
        lud_mappo_buffer_after_update(&b.learner->training.buffer); /* nothing was learned: the same critic */
    }
    for (int again = 0; again < 2; again++) {
        policy->kind->restart_values(policy);
        for (int t = 0; t < STEPS; t++)
            for (int a = 0; a < AGENTS; a++) {
                assert_true(lud_policy_value(policy, states + (size_t)t * bytes, a, &other));
                assert_true(fabs(other - values[t][a]) <= 1e-4 * (1.0 + fabs(values[t][a])));
            }
    }
    double change = 0; /* by what was before */
    for (int a = 0; a < AGENTS; a++) {
        policy->kind->restart_values(policy);
        assert_true(lud_policy_value(policy, states + (STEPS - 1) * bytes, a, &other));
        change += fabs(other - values[STEPS - 1][a]);
    }
    assert_true(change > 1e-3);
    free(states);
    lud_cast_destroy(cast);
    support_mappo_close(&b);
    unlink(path);
    rmdir(folder);
}

static void training_improves(void **state) {
    (void)state;
    support_mappo b =
        support_mappo_open("ludus: 1\nname: t\nworld: particle\nparticle: {task: simple}\n"
                           "run: {environments: 32, seed: 1}\n"
                           "learner: {type: graph-mappo, automatic: false, recurrent: false, hidden_size: "
                           "32, steps: 1000000, epochs: "
                           "5, minibatches: 4, learning_rate: 0.003, critic_learning_rate: 0.003, "
                           "evaluation_episodes: 64}\n");
    lud_learner *l = &b.learner->base;
    double before[8], after[8], row[64];
    lud_error error = {0};
    assert_int_equal(l->kind->evaluate(l, before, &error), LUD_OK);
    for (int i = 0; i < 40; i++) assert_int_equal(l->kind->iterate(l, row, &error), LUD_OK);
    assert_int_equal(l->kind->evaluate(l, after, &error), LUD_OK);
    print_message("simple: return %.2f -> %.2f\n", before[0], after[0]);
    assert_true(after[0] > 0.6 * before[0]); /* returns are costs */
    support_mappo_close(&b);
}

static void resuming_is_exact(void **state) {
    (void)state;
    char folder[] = "/tmp/ludus-mappo-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/half.safetensors", folder);
    double row[64];
    lud_error error = {0};
    support_mappo whole = support_mappo_open(support_mappo_mad), half = support_mappo_open(support_mappo_mad),
                  rest = support_mappo_open(support_mappo_mad);
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
    int n_observations = 0;
    for (int i = 0; i < lud_checkpoint_n_tensors(c);
         i++) { /* they follow from the states, whatever it says */
        const lud_tensor *tensor = lud_checkpoint_get(c, i);
        if (strncmp(tensor->name, "mappo.observation.", 18) != 0) continue;
        memset((void *)(uintptr_t)tensor->data, 0, tensor->bytes);
        n_observations++;
    }
    assert_true(n_observations > 0);
    r->kind->visit(r, c);
    assert_int_equal(lud_checkpoint_status(c, &error), LUD_OK);
    lud_checkpoint_destroy(c);
    for (int i = 0; i < 2; i++) assert_int_equal(r->kind->iterate(r, row, &error), LUD_OK);
    const lud_parameters *a = support_mappo_parameters(&whole), *b = support_mappo_parameters(&rest);
    assert_memory_equal(a->values, b->values, (size_t)a->size * sizeof(float));
    assert_memory_equal(whole.learner->training.buffer.states, rest.learner->training.buffer.states,
                        (size_t)(6 * 12) * sizeof(float));
    support_mappo_close(&whole);
    support_mappo_close(&half);
    support_mappo_close(&rest);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

/* Other worlds and kinds of agents: one update each, all numbers finite. */
static void other_worlds_train(void **state) {
    (void)state;
    static const char *const texts[] = {
        "world: particle\nparticle: {task: simple_tag}\n"
        "learner: {type: graph-mappo, automatic: false, identify: true, hidden_size: 8, steps: 100, "
        "rollout_length: 3, epochs: "
        "1}\n",
        "world: particle\nparticle: {task: simple_speaker_listener}\n"
        "learner: {type: graph-mappo, automatic: false, identify: true, hidden_size: 8, steps: 100, "
        "rollout_length: 3, epochs: "
        "1}\n",
        "world: particle\nparticle: {task: simple_spread, actions: continuous}\n"
        "learner: {type: graph-mappo, automatic: false, hidden_size: 8, steps: 100, rollout_length: 3, "
        "epochs: 1, huber_delta: "
        "0, gae: false, time_limits: discard, normaliser: none}\n",
        "world: particle\nparticle: {task: navigation_graph, actions: continuous, disturbance: {std: 0.1}}\n"
        "learner: {type: graph-mappo, automatic: false, control: mad, hidden_size: 8, steps: 100, "
        "rollout_length: 3, epochs: "
        "1, "
        "mad: {input: disturbance}}\n",
        "world: particle\nparticle: {task: navigation_graph, actions: continuous}\n"
        "learner: {type: graph-mappo, automatic: false, control: base, hidden_size: 8, steps: 100, "
        "rollout_length: 3, epochs: "
        "1}\n",
        "world: multigrid\nmultigrid:\n  map: |\n    We We We We We\n    We Ar .. .. We\n    We .. Ag Gg We\n"
        "    We We We We We\n  observation: {view: partial, size: 5}\n  max_steps: 20\n"
        "learner: {type: graph-mappo, automatic: false, hidden_size: 8, channels: 4, steps: 100, "
        "rollout_length: 3, epochs: "
        "1}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[1200];
        snprintf(text, sizeof text, "ludus: 1\nname: t\nrun: {environments: 2, seed: 1}\n%s", texts[i]);
        support_mappo b = support_mappo_open(text);
        lud_learner *l = &b.learner->base;
        double row[64];
        lud_error error = {0};
        for (int k = 0; k < 2; k++)
            if (l->kind->iterate(l, row, &error)) fail_msg("%zu: %s", i, error.text);
        const double *own = row + b.learner->n_measures;
        assert_true(isfinite(own[LUD_MAPPO_POLICY_LOSS]) && isfinite(own[LUD_MAPPO_VALUE_LOSS]));
        assert_true(isfinite(own[LUD_MAPPO_ENTROPY]) && own[LUD_MAPPO_ACTOR_NORM] > 0.0);
        /* agents with fewer choices never take one that is not theirs */
        const lud_mappo_buffer *buffer = &b.learner->training.buffer;
        for (int64_t k = 0; buffer->actions && k < buffer->n_steps * buffer->n_rows; k++)
            assert_true(buffer->actions[k] <
                        b.scenario->model->layout.actions[k % buffer->shape->n_agents].n_discrete);
        support_mappo_close(&b);
    }
}

/* Logits of 5 * word + move: differences between moves do not depend on the word, nor the other way round; a
 * number of words that is no multiple of the pieces they are put together from. */
static void words_and_moves_are_drawn_apart(void **state) {
    (void)state;
    support_mappo b = support_mappo_open(
        "ludus: 1\nname: t\nworld: particle\nparticle: {task: simple_reference, speech_size: 11}\n"
        "run: {environments: 3, seed: 5}\n"
        "learner: {type: graph-mappo, automatic: false, rollout_length: 4, factored: true, output_gain: "
        "1, " SUPPORT_MAPPO_SMALL "}\n");
    assert_int_equal(support_mappo_collect(&b), LUD_OK);
    const lud_mappo_net *actor = &b.learner->groups[0].rollout->actor;
    assert_int_equal(actor->out_width, 55);
    const float *logits = lud_nn_value(actor->nn, actor->out);
    float spread[2] = {0, 0};
    for (int row = 0; row < 6; row++, logits += 55)
        for (int k = 0; k < 55; k++) {
            const int word = k / 5, move = k % 5;
            assert_float_equal(logits[k] - logits[5 * word], logits[move] - logits[0], 1e-5);
            spread[0] = fmaxf(spread[0], fabsf(logits[move] - logits[0]));
            spread[1] = fmaxf(spread[1], fabsf(logits[5 * word] - logits[0]));
        }
    assert_true(spread[0] > 0.01f && spread[1] > 0.01f);
    double row[64];
    lud_error error = {0};
    for (int i = 0; i < 2; i++)
        if (b.learner->base.kind->iterate(&b.learner->base, row, &error)) fail_msg("%s", error.text);
    assert_true(row[b.learner->n_measures + LUD_MAPPO_ACTOR_NORM] > 0.0);
    support_mappo_close(&b);
}

/* Defaults: magnitudes by absolute value, a floor in logarithms only, the kick of the goal, and the settings
 * of the published programs as far as they have the same. */
static void defaults_are_the_published_ones(void **state) {
    (void)state;
    lud_arena *arena = lud_arena_create(0);
    lud_mappo_options o;
    lud_error error = {0};
    assert_int_equal(lud_options_default(&lud_mappo_option_table, arena, &o, &error), LUD_OK);
    assert_int_equal(o.control, LUD_MAPPO_DIRECT);
    assert_int_equal(o.mad.magnitude, LUD_MAGNITUDE_ABS);
    assert_int_equal(o.mad.drive, LUD_DRIVE_GOAL);
    assert_false(o.mad.floor_in_action || o.mad.detach);
    assert_true(o.mad.floor == 0.01 && o.mad.limit == 10.0 && o.mad.base_gain == 1.0);
    assert_true(o.mad.r_min == 0.85 && o.mad.r_max == 0.9);
    assert_true(o.mad.state_size == 64 && o.mad.hidden_size == 64);
    assert_true(o.hidden_size == 64 && o.layers == 1 && o.chunk_length == 10 && o.output_gain == 0.01);
    assert_true(o.centralised && o.recurrent && o.orthogonal && o.feature_normalisation && !o.tanh);
    assert_true(o.graph.embedding_size == 2 && o.graph.embed_hidden_size == 16 && o.graph.embed_layers == 1);
    assert_true(o.graph.hidden_size == 16 && o.graph.heads == 3 && o.graph.layers == 2);
    assert_true(o.graph.embed_relu && o.graph.relu && !o.graph.concatenate_heads);
    assert_true(o.graph.pooling == LUD_REDUCE_MEAN && !o.graph.actor_pools && !o.graph.ego_critic);
    assert_true(o.learning_rate == 5e-4 && o.critic_learning_rate == 5e-4 && o.optimiser.epsilon == 1e-5);
    assert_true(o.optimiser.weight_decay == 0.0 && !o.decay_learning_rate && o.update.epochs == 15 &&
                o.minibatches == 1);
    assert_true(o.update.clip == 0.2 && o.clip_value && o.update.entropy_coefficient == 0.01 &&
                o.update.value_coefficient == 1.0);
    assert_true(o.max_norm == 10.0 && o.update.gamma == 0.99 && o.update.lambda == 0.95 && o.update.gae);
    assert_true(o.update.huber_delta == 10.0 && o.normaliser == LUD_VALUE_NORM &&
                o.normaliser_beta == 0.99999);
    assert_int_equal(o.update.time_limits, LUD_LIMIT_TERMINAL);
    lud_arena_destroy(arena);
}

static void wrong_options_are_told(void **state) {
    (void)state;
    static const struct {
        const char *learner, *part;
    } cases[] = {{"control: mad", "control"},
                 {"encoder: graph", "graph"},
                 {"encoder: grid", "grid"},
                 {"factored: true", "learner.factored"},
                 {"novelty: 0.1", "learner.novelty"},
                 {"hiden_size: 3", "hidden_size"},
                 {"mad: {r_min: 0.9, r_max: 0.8}", "r_min"},
                 {"gate: {mode: soft, temperature: 0}", "learner.gate: gate temperature"},
                 {"gate: {mode: threshold, rate: 0}", "learner.gate: gate rate"},
                 {"gate: {mode: threshold, warmup_rate: 0}", "learner.gate: gate warmup_rate"},
                 {"gate: {mode: threshold, history: 10}", "learner.gate: gate history_min"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "ludus: 1\nname: t\nworld: particle\nparticle: {task: simple}\n"
                 "learner: {type: graph-mappo, automatic: false, %s}\n",
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

/* The share of episodes that rules ended: all where everything is a success, none where only the length ends
 * them. */
static void endings_are_counted(void **state) {
    (void)state;
    for (int rules = 0; rules < 2; rules++) {
        char text[1024];
        snprintf(
            text, sizeof text,
            "ludus: 1\nname: t\nworld: particle\nparticle:\n  episode_length: 3\n  bodies:\n"
            "    - {name: agent, type: agent, count: 1, radius: 0.2, observes: [{term: position}]}\n"
            "    - {name: goal, type: landmark, count: 1, radius: 0.2, collides: false}\n  rewards: []\n"
            "  success: {every: goal, reaches: agent, within: 100, terminate: %s}\nrun: {environments: 2}\n"
            "learner: {type: graph-mappo, automatic: false, rollout_length: 7, hidden_size: 4, steps: 28, "
            "evaluation_episodes: 2, graph: {hidden_size: 4, embed_hidden_size: 4}}\n",
            rules ? "true" : "false");
        support_mappo b = support_mappo_open(text);
        lud_learner *learner = &b.learner->base;
        double row[64];
        lud_error error = {0};
        if (learner->kind->iterate(learner, row, &error)) fail_msg("%s", error.text);
        int found = 0;
        for (int i = 0; i < learner->n_columns; i++) {
            if (strcmp(learner->columns[i].name, "ended") != 0) continue;
            assert_true(row[i] == rules);
            found++;
        }
        assert_int_equal(found, 1);
        if (learner->kind->evaluate(learner, row, &error)) fail_msg("%s", error.text);
        for (int i = 0; i < learner->n_evaluation_columns; i++) {
            if (!strstr(learner->evaluation_columns[i].name, "ended")) continue;
            assert_true(row[i] == rules);
            found++;
        }
        assert_int_equal(found, 2);
        support_mappo_close(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_live_as_they_should),
        cmocka_unit_test(replay_needs_the_stored_states),
        cmocka_unit_test(gradients_reach_the_magnitude),
        cmocka_unit_test(chunks_keep_to_episodes),
        cmocka_unit_test(invariances_hold),
        cmocka_unit_test(padded_edges_end_nowhere),
        cmocka_unit_test(scan_equals_step),
        cmocka_unit_test(popart_keeps_values_and_trains),
        cmocka_unit_test(runs_publish_values),
        cmocka_unit_test(recurrent_values_follow_the_episode),
        cmocka_unit_test(endings_are_counted),
        cmocka_unit_test(training_improves),
        cmocka_unit_test(resuming_is_exact),
        cmocka_unit_test(other_worlds_train),
        cmocka_unit_test(words_and_moves_are_drawn_apart),
        cmocka_unit_test(defaults_are_the_published_ones),
        cmocka_unit_test(wrong_options_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
