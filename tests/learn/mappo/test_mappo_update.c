/* Graph MAPPO against slow oracles written here: returns and advantages, what follows an episode cut off by
 * its length, minibatches, the gradient of the whole objective; and that a running rollout allocates nothing.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/mappo/support_mappo.h"
#include "sim/multigrid/grid_observe.h"

/* Allocations are counted by standing in for the C library's functions; the sanitizers want these themselves.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef COUNTS_ALLOCATIONS
#define COUNTS_ALLOCATIONS 1
#endif

static volatile long n_allocations; /* the compiler takes malloc to touch nothing */
static volatile bool counting;
#if COUNTS_ALLOCATIONS
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

/* OpenMP's library takes and gives back a team for a parallel region of one thread, oneDNN (and the C++
 * library for it) its room for packing in a matrix product: theirs, not ours to change. */
static void count(void *caller) {
    static const char *const others[] = {"omp.so", "libdnnl", "libstdc++"};
    Dl_info from;
    if (!counting) return;
    counting = false; /* looking up may allocate */
    bool ours = true;
    const bool known = dladdr(caller, &from) != 0;
    for (size_t i = 0; i < sizeof others / sizeof *others && known; i++)
        if (strstr(from.dli_fname, others[i])) ours = false;
    n_allocations = n_allocations + ours;
    counting = true;
}

void *malloc(size_t bytes) {
    count(__builtin_return_address(0));
    return __libc_malloc(bytes);
}
void *calloc(size_t n, size_t bytes) {
    count(__builtin_return_address(0));
    return __libc_calloc(n, bytes);
}
void *realloc(void *memory, size_t bytes) {
    count(__builtin_return_address(0));
    return __libc_realloc(memory, bytes);
}
void *memalign(size_t alignment, size_t bytes) {
    count(__builtin_return_address(0));
    return __libc_memalign(alignment, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
    count(__builtin_return_address(0));
    return __libc_memalign(alignment, bytes);
}
int posix_memalign(void **memory, size_t alignment, size_t bytes) {
    count(__builtin_return_address(0));
    *memory = __libc_memalign(alignment, bytes);
    return *memory ? 0 : ENOMEM;
}
#endif

static void collect(support_mappo *b) {
    double row[64];
    lud_error error = {0};
    if (lud_mappo_collect(b->learner, row, &error)) fail_msg("%s", error.text);
}

/* Numbers in [0, 1) for the tests. */
static double number(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / 16777216.0;
}

/* --- returns --- */

/* Each advantage as the sum over the rest of its episode, from the definition (Schulman et al.,
 * "High-dimensional continuous control using generalised advantage estimation", ICLR 2016, equation 16). */
static void returns_match_the_definition(void **state) {
    (void)state;
    static const char *const limits[] = {"terminal", "discard", "bootstrap"};
    for (int kind = 0; kind < 3; kind++) {
        char text[600];
        snprintf(text, sizeof text,
                 "ludus: 1\nname: t\nworld: particle\nparticle: {task: simple_spread}\n"
                 "run: {environments: 5, seed: 1}\nlearner: {type: graph-mappo, automatic: false, "
                 "rollout_length: 23, recurrent: "
                 "false, normaliser: none, discount: 0.9, lambda: 0.8, time_limits: %s, " SUPPORT_MAPPO_SMALL
                 "}\n",
                 limits[kind]);
        support_mappo b = support_mappo_open(text);
        lud_mappo_buffer *buffer = &b.learner->training.buffer;
        const int64_t rows = buffer->n_rows, steps = buffer->n_steps;
        const int n_agents = b.scenario->model->layout.n_agents;
        float *values = calloc((size_t)((steps + 1) * rows), sizeof *values);
        float *final = calloc((size_t)(steps * rows), sizeof *final);
        uint32_t random = 17;
        for (int64_t t = 0; t < steps; t++) {
            uint8_t terminated[5], truncated[5];
            for (int e = 0; e < 5; e++) {
                terminated[e] = number(&random) < 0.1;
                truncated[e] = number(&random) < 0.1; /* both at once is an end by the rules */
            }
            lud_mappo_buffer_end_episodes(buffer, t, terminated, truncated);
        }
        for (int64_t i = 0; i < steps * rows; i++) {
            buffer->rewards[i] = (float)(4.0 * number(&random) - 2.0);
            final[i] = (float)(4.0 * number(&random) - 2.0);
        }
        for (int64_t i = 0; i < (steps + 1) * rows; i++) values[i] = (float)(6.0 * number(&random) - 3.0);
        const lud_returns estimate = lud_mappo_buffer_returns(buffer, values, final);
        lud_returns_estimate(&estimate, &b.learner->options.update);

        double *advantage = calloc((size_t)(steps * rows), sizeof *advantage), mean = 0.0, square = 0.0;
        int n_cut = 0, n_ended = 0;
        for (int64_t t = 0; t < steps; t++)
            for (int64_t r = 0; r < rows; r++) {
                double weight = 1.0, sum = 0.0;
                for (int64_t k = t; k < steps; k++, weight *= 0.9 * 0.8) {
                    const bool done = buffer->masks[(k + 1) * rows + r] == 0.0f;
                    const bool cut = buffer->bad_masks[(k + 1) * rows + r] == 0.0f;
                    double next = (double)values[(k + 1) * rows + r];
                    if (done) next = cut && kind == LUD_LIMIT_BOOTSTRAP ? (double) final[k * rows + r] : 0.0;
                    if (!(cut && kind == LUD_LIMIT_DISCARD))
                        sum += weight * ((double)buffer->rewards[k * rows + r] + 0.9 * next -
                                         (double)values[k * rows + r]);
                    n_cut += k == t && cut;
                    n_ended += k == t && done;
                    if (done) break;
                }
                const int64_t i = t * rows + r;
                advantage[i] = sum;
                assert_float_equal(buffer->returns[i], (float)(sum + (double)values[i]), 1e-4f);
                mean += sum / (double)(steps * rows);
            }
        assert_true(n_cut > n_agents && n_ended > n_cut);
        for (int64_t i = 0; i < steps * rows; i++)
            square += (advantage[i] - mean) * (advantage[i] - mean) / (double)(steps * rows);
        for (int64_t i = 0; i < steps * rows; i++)
            assert_float_equal(buffer->advantages[i], (float)((advantage[i] - mean) / (sqrt(square) + 1e-5)),
                               1e-4f);
        free(values);
        free(final);
        free(advantage);
        support_mappo_close(&b);
    }
}

/* The value of what was seen last is that of the same episode in a world without a limit. */
static void cut_episodes_keep_their_value(void **state) {
    (void)state;
    for (int recurrent = 0; recurrent < 2; recurrent++) {
        support_mappo limited = {0}, endless = {0};
        for (int k = 0; k < 2; k++) {
            char text[700];
            snprintf(text, sizeof text,
                     "ludus: 1\nname: t\nworld: particle\n"
                     "particle: {task: navigation_graph, agents: 2, obstacles: 1, episode_length: %d}\n"
                     "run: {environments: 3, seed: 5}\n"
                     "learner: {type: graph-mappo, automatic: false, rollout_length: 5, recurrent: %s, "
                     "centralised: false, "
                     "time_limits: bootstrap, " SUPPORT_MAPPO_SMALL "}\n",
                     k == 0 ? 4 : 0, recurrent ? "true" : "false");
            *(k == 0 ? &limited : &endless) = support_mappo_open(text);
        }
        collect(&limited);
        collect(&endless);
        const lud_mappo_buffer *a = &limited.learner->training.buffer, *b = &endless.learner->training.buffer;
        double difference = 0.0;
        for (int64_t r = 0; r < a->n_rows; r++) {
            assert_true(a->masks[4 * a->n_rows + r] == 0.0f && a->bad_masks[4 * a->n_rows + r] == 0.0f);
            assert_true(b->masks[4 * b->n_rows + r] == 1.0f);
            assert_float_equal(a->final_values[3 * a->n_rows + r], b->values[4 * b->n_rows + r], 1e-5);
            difference += fabs((double)(a->values[4 * a->n_rows + r] - b->values[4 * b->n_rows + r]));
        }
        assert_true(difference > 1e-3); /* the episode that began anew has other values */
        support_mappo_close(&limited);
        support_mappo_close(&endless);
    }
}

/* --- minibatches --- */

static void samples_are_used_once_an_epoch(void **state) {
    (void)state;
    support_mappo b = support_mappo_open(
        "ludus: 1\nname: t\nworld: particle\n"
        "particle: {task: navigation_graph, agents: 2, obstacles: 1, episode_length: 4}\n"
        "run: {environments: 3, seed: 5}\nlearner: {type: graph-mappo, automatic: false, rollout_length: 7, "
        "chunk_length: 3, centralised: false, steps: 1000, epochs: 3, minibatches: 4, hidden_size: 8, "
        "graph: {hidden_size: 4, heads: 1, embed_hidden_size: 4, layers: 0}}\n");
    collect(&b);
    lud_error error = {0};
    assert_int_equal(lud_mappo_update(b.learner, &error), LUD_OK);
    const lud_update *u = &b.learner->groups[0].ppo.core;
    assert_true(u->sums.rows == 3.0 * 7 * 3 * 2); /* epochs, steps, environments, agents */
    assert_int_equal(u->n_stepped, 3 * 4);
    /* after the last epoch the chunks still are all of them, each once */
    int seen[7 * 6] = {0};
    const int64_t n =
        lud_mappo_buffer_cut(&b.learner->training.buffer, 3, b.learner->groups[0].ppo.core.chosen);
    for (int64_t c = 0; c < n; c++)
        for (int s = 0; s < b.learner->groups[0].ppo.core.chunks[c].length; s++)
            seen[b.learner->groups[0].ppo.core.chunks[c].first + 6 * s]++;
    for (int i = 0; i < 7 * 6; i++) assert_int_equal(seen[i], 1);
    support_mappo_close(&b);
}

/* --- the objective and its gradient --- */

/* Mean over the rows in the inputs of the clipped surrogate, the entropy bonus and the value loss, in double
 * from the networks' outputs (Schulman et al., 2017, equations 7 and 9; values clipped and Huber as in Yu et
 * al., 2022). */
static double objective(const lud_mappo_ppo *p) {
    lud_mappo_networks *u = p->networks;
    const lud_policy_gradient_options *o = &u->options.update;
    const lud_row_arrays *rows = &p->core.ppo.rows;
    const float *old_log_prob = lud_row_host(rows, LUD_PPO_OLD_LOG_PROB),
                *advantage = lud_row_host(rows, LUD_PPO_ADVANTAGE),
                *old_value = lud_row_host(rows, LUD_PPO_OLD_VALUE),
                *returns = lud_row_host(rows, LUD_PPO_RETURN), *state = p->normaliser.state;
    const int64_t n = u->inputs.n, width = u->actor.out_width;
    lud_mappo_net_forward(&u->actor, true);
    lud_mappo_net_forward(&u->critic, true);
    const float *logits = lud_nn_value(u->actor.nn, u->actor.out);
    const float *values = lud_nn_value(u->critic.nn, u->critic.out);
    const double debias = (double)state[LUD_NORMALISER_DEBIAS];
    const double mean = (double)state[LUD_NORMALISER_MEAN] / debias;
    const double variance = fmax((double)state[LUD_NORMALISER_MEAN_SQUARE] / debias - mean * mean, 1e-2);
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double largest = -1e300, total = 0.0, entropy = 0.0;
        for (int64_t k = 0; k < width; k++) largest = fmax(largest, (double)logits[i * width + k]);
        for (int64_t k = 0; k < width; k++) total += exp((double)logits[i * width + k] - largest);
        for (int64_t k = 0; k < width; k++) {
            const double log_p = (double)logits[i * width + k] - largest - log(total);
            entropy -= exp(log_p) * log_p;
        }
        const int32_t action = ((int32_t *)u->fields[LUD_FIELD_ACTION].host)[i];
        const double log_p = (double)logits[i * width + action] - largest - log(total);
        const double ratio = exp(log_p - (double)old_log_prob[i]);
        const double a = (double)advantage[i];
        sum -= fmin(ratio * a, fmin(fmax(ratio, 1 - o->clip), 1 + o->clip) * a);
        sum -= o->entropy_coefficient * entropy;
        const double target = ((double)returns[i] - mean) / sqrt(variance);
        const double old = (double)old_value[i];
        const double free_value = (double)values[i];
        const double clipped = old + fmin(fmax(free_value - old, -o->clip), o->clip);
        double worst = 0.0;
        for (int k = 0; k < 2; k++) {
            const double e = fabs(target - (k == 0 ? free_value : clipped)), d = o->huber_delta;
            worst = fmax(worst, e <= d ? e * e / 2 : d * (e - d / 2));
        }
        sum += o->value_coefficient * worst;
    }
    return sum / (double)n;
}

static void gradients_match_the_objective(void **state) {
    (void)state;
    enum { ROWS = 40, DIRECTIONS = 6 };
    support_mappo b = support_mappo_open(
        "ludus: 1\nname: t\nworld: particle\nparticle: {task: simple_tag}\n"
        "run: {environments: 5, seed: 9}\nlearner: {type: graph-mappo, automatic: false, rollout_length: 2, "
        "identify: true, recurrent: false, tanh: true, entropy_coefficient: 0.3, huber_delta: 1, "
        "output_gain: 1, " SUPPORT_MAPPO_SMALL "}\n");
    collect(&b);
    lud_mappo_learner_state *m = b.learner;
    lud_mappo_networks *u = m->groups[0].update;
    lud_error error = {0};
    assert_int_equal(lud_mappo_buffer_cut(&m->training.buffer, 1, m->groups[0].ppo.core.chunks), ROWS);
    float returns[ROWS];
    uint32_t random = 3;
    for (int i = 0; i < ROWS; i++) returns[i] = (float)(8.0 * number(&random) - 2.0);
    int32_t row[ROWS];
    for (int i = 0; i < ROWS; i++) row[i] = i;
    lud_parameters_zero_gradients(u->parameters);
    lud_value_normaliser_update(&m->groups[0].ppo.normaliser, ROWS, row, returns);
    m->groups[0].ppo.core.ppo.scale = 1.0 / ROWS;
    assert_int_equal(lud_mappo_gather(m, &m->groups[0], m->groups[0].ppo.core.chunks, ROWS, &error), LUD_OK);
    lud_mappo_net_forward(&u->critic, true);
    const float *values = lud_nn_value(u->critic.nn, u->critic.out);
    const lud_row_arrays *rows = &m->groups[0].ppo.core.ppo.rows;
    for (int i = 0; i < ROWS; i++) {
        /* well inside or outside of every corner of the objective */
        static const float shifts[4] = {-0.4f, -0.08f, 0.08f, 0.4f};
        lud_row_host(rows, LUD_PPO_OLD_LOG_PROB)[i] += shifts[i % 4];
        lud_row_host(rows, LUD_PPO_ADVANTAGE)[i] = (float)(2.0 * number(&random) - 1.0);
        lud_row_host(rows, LUD_PPO_OLD_VALUE)[i] = values[i] + shifts[(i / 4) % 4];
        lud_row_host(rows, LUD_PPO_RETURN)[i] = returns[i];
    }
    lud_mappo_ppo_add_slice(&m->groups[0].ppo);
    lud_parameters *p = u->parameters;
    float *weights = p->values, *start = malloc((size_t)p->size * sizeof *start);
    const float *gradient = p->gradients;
    double *direction = calloc((size_t)p->size, sizeof *direction);
    memcpy(start, weights, (size_t)p->size * sizeof *start);
    for (int d = 0; d < DIRECTIONS; d++) {
        /* along the gradient of one network, then at random beside it */
        double slope = 0.0, norm = 0.0;
        memset(direction, 0, (size_t)p->size * sizeof *direction);
        for (int k = 0; k < p->n; k++) {
            const lud_parameter *item = &p->items[k];
            if (strncmp(item->name, d % 2 == 0 ? "actor." : "critic.", 6) != 0 && d < 4) continue;
            for (int64_t i = item->offset; i < item->offset + item->n; i++) {
                direction[i] = (double)gradient[i];
                if (d >= 2) direction[i] *= 2.0 * number(&random);
            }
        }
        for (int64_t i = 0; i < p->size; i++) norm += direction[i] * direction[i];
        assert_true(norm > 0.0);
        const double step = 2e-3 / sqrt(norm);
        for (int64_t i = 0; i < p->size; i++) slope += direction[i] * (double)gradient[i];
        double side[2];
        for (int s = 0; s < 2; s++) {
            for (int64_t i = 0; i < p->size; i++)
                weights[i] = start[i] + (float)((s ? step : -step) * direction[i]);
            side[s] = objective(&m->groups[0].ppo);
        }
        memcpy(weights, start, (size_t)p->size * sizeof *start);
        const double measured = (side[1] - side[0]) / (2.0 * step);
        if (fabs(measured - slope) > 0.01 * slope) fail_msg("direction %d: %g, not %g", d, slope, measured);
    }
    free(start);
    free(direction);
    support_mappo_close(&b);
}

/* --- what the networks read --- */

/* Numbers of a grid reach the networks within about -1 .. 1, whatever the size of the map and the limit. */
static void features_are_scaled(void **state) {
    (void)state;
    support_mappo b = support_mappo_open(
        "ludus: 1\nname: t\nworld: multigrid\nmultigrid:\n  map: |\n"
        "    We We We We We We We We We\n    We Ar .. Ky .. .. Ag Ky We\n"
        "    We We We We We We We We We\n  max_steps: 500\n  observation: {view: partial, size: 3}\n"
        "run: {environments: 8, seed: 1}\n"
        "learner: {type: graph-mappo, automatic: false, rollout_length: 40, identify: true, channels: "
        "4, " SUPPORT_MAPPO_SMALL "}\n");
    collect(&b);
    lud_mappo_learner_state *m = b.learner;
    lud_error error = {0};
    const int64_t n = lud_mappo_buffer_cut(&m->training.buffer, 1, m->groups[0].ppo.core.chunks),
                  width = m->groups[0].update->shape.observation;
    assert_int_equal(width, LUD_GRID_GLOBALS + LUD_GRID_AGENT_FEATURES + 2);
    double largest = 0.0, carried = -1.0;
    for (int64_t c = 0; c < n; c++) {
        assert_int_equal(lud_mappo_gather(m, &m->groups[0], m->groups[0].ppo.core.chunks + c, 1, &error),
                         LUD_OK);
        const float *seen = m->groups[0].update->inputs.items[LUD_MAPPO_OBSERVATION].host;
        const float *shared = m->groups[0].update->inputs.items[LUD_MAPPO_SHARED].host;
        const int64_t agent = m->groups[0].ppo.core.chunks[c].first % 2;
        for (int64_t k = 0; k < width; k++) largest = fmax(largest, fabs((double)seen[k]));
        carried = fmax(carried, (double)seen[LUD_GRID_GLOBALS + 8]);
        assert_true(seen[width - 2 + agent] == 1.0f && seen[width - 1 - agent] == 0.0f);
        /* the other agent's numbers stand behind, scaled alike */
        assert_memory_equal(shared, seen, (size_t)width * sizeof *seen);
        const float *other = shared + width;
        const float *raw =
            (const float *)m->training.buffer.parts[m->groups[0].update->shape.pieces[1].part] +
            (m->groups[0].ppo.core.chunks[c].first - agent + (1 - agent)) * LUD_GRID_AGENT_FEATURES;
        assert_float_equal(other[0], raw[0] / 9.0f, 1e-6);
        assert_float_equal(other[2], raw[2], 1e-6);
    }
    assert_true(largest <= 1.0 && largest > 0.5);
    assert_true(carried == 1.0); /* somebody picked up a key */
    support_mappo_close(&b);
}

/* --- memory --- */

static void running_allocates_nothing(void **state) {
    (void)state;
    if (!COUNTS_ALLOCATIONS) skip();
    static const char *const texts[] = {
        "world: particle\nparticle: {task: navigation_graph, actions: continuous, disturbance: {std: 0.1}}\n"
        "learner: {type: graph-mappo, automatic: false, control: mad, mad: {input: disturbance}, ",
        "world: particle\nparticle: {task: navigation_graph}\n"
        "learner: {type: graph-mappo, automatic: false, centralised: false, recurrent: false, ",
        "world: particle\nparticle: {task: simple_world_comm}\nlearner: {type: graph-mappo, automatic: "
        "false, identify: true, ",
        "world: multigrid\nmultigrid:\n  map: |\n    We We We We We\n    We Ar .. .. We\n    We .. Ag Gg We\n"
        "    We We We We We\n  observation: {view: partial, size: 5}\n  max_steps: 7\n"
        "learner: {type: graph-mappo, automatic: false, channels: 4, identify: true, recurrent: false, "};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[1200];
        snprintf(text, sizeof text,
                 "ludus: 1\nname: t\nrun: {environments: 4, seed: 1}\n%stime_limits: bootstrap, "
                 "rollout_length: 30, " SUPPORT_MAPPO_SMALL "}\n",
                 texts[i]);
        support_mappo b = support_mappo_open(text);
        lud_learner *l = &b.learner->base;
        double row[32];
        lud_error error = {0};
        /* kernels prepare for a number of rows once and keep it; all have been seen in the end */
        for (int k = 0; k < 6; k++) assert_int_equal(l->kind->iterate(l, row, &error), LUD_OK);
        const long before_rollout = n_allocations;
        counting = true;
        collect(&b);
        const long before_update = n_allocations;
        const lud_status status = lud_mappo_update(b.learner, &error);
        const long after = n_allocations;
        counting = false;
        assert_int_equal(status, LUD_OK);
        if (before_update != before_rollout || after != before_update)
            fail_msg("case %zu: %ld allocations in a rollout, %ld in an update", i,
                     before_update - before_rollout, after - before_update);
        support_mappo_close(&b);
    }
    counting = true;
    void *volatile memory = malloc(1);
    free(memory);
    counting = false;
    assert_int_equal(n_allocations, 1); /* they are counted */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returns_match_the_definition),
        cmocka_unit_test(cut_episodes_keep_their_value),
        cmocka_unit_test(samples_are_used_once_an_epoch),
        cmocka_unit_test(gradients_match_the_objective),
        cmocka_unit_test(features_are_scaled),
        cmocka_unit_test(running_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
