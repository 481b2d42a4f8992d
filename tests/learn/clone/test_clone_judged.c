/* What an evaluation tells of held-out steps, against figures that are added up step by step; actions of more
 * numbers than worlds mostly have. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/clone/policy.h"
#include "learn/clone/support_clone.h"
#include "learn/support_trainings.h"

/* Agents that push in five directions and say 64 numbers. */
#define TALK                                                                                                 \
    "ludus: 1\nname: t\nworld: particle\n"                                                                   \
    "particle: {task: simple_reference, speech_size: 64, actions: continuous, episode_length: 12}\n"         \
    "run: {environments: 8, seed: 3}\n"
enum { MANY = 5 + 64 };

static char talk_file[64];

static int set_up(void **state) {
    if (clone_set_up(state)) return -1;
    snprintf(talk_file, sizeof talk_file, "%s/talk.h5", clone_folder);
    record(TALK, talk_file, 40);
    return 0;
}

/* Gives the minibatch's networks what the learner has learned. */
static void take_over(minibatch *m, lud_learner *learner) {
    char path[96];
    lud_error error = {0};
    lud_checkpoint *saved = support_learner_save(learner), *read;
    snprintf(path, sizeof path, "%s/taken.safetensors", clone_folder);
    if (lud_checkpoint_write(saved, path, &error) || lud_checkpoint_open(path, &read, &error))
        fail_msg("%s", error.text);
    lud_parameters_visit(m->networks.base->parameters, "", read);
    if (lud_checkpoint_status(read, &error)) fail_msg("%s", error.text);
    lud_checkpoint_destroy(saved);
    lud_checkpoint_destroy(read);
}

/* The log-probability of a choice, and whether it is the likeliest one. */
static double judge_choice(const float *logits, int n, int32_t choice, double *hit) {
    double sum = 0;
    *hit = 1;
    for (int k = 0; k < n; k++) {
        sum += exp((double)logits[k]);
        if (logits[k] > logits[choice]) *hit = 0;
    }
    return (double)logits[choice] - log(sum);
}

/* The log-density of numbers under a Gaussian, and their mean squared error. */
static double judge_numbers(const float *mean, const double *log_std, const float *x, int64_t n,
                            double *square) {
    double total = 0;
    *square = 0;
    for (int64_t j = 0; j < n; j++) {
        const double off = (double)x[j] - (double)mean[j], variance = exp(2 * log_std[j]);
        *square += off * off / (double)n;
        total -= off * off / (2 * variance) + 0.5 * log(2 * M_PI * variance);
    }
    return total;
}

typedef struct mean {
    double sum, n;
} mean;

static void add(mean *m, double x) {
    m->sum += x;
    m->n++;
}

/* Sums of a window, told of as actions: the mean error of their numbers. */
static void judge_sums(const minibatch *m, int value, const lud_clone_array *target, int64_t n, double steps,
                       mean *error) {
    const int64_t width = m->networks.width;
    if (value < 0) return;
    const float *found = lud_nn_value(m->networks.base->actor.nn, value), *wanted = target->host;
    for (int64_t i = 0; i < n; i++) {
        double off = 0;
        for (int64_t j = 0; j < width; j++)
            off += fabs((double)found[i * width + j] - (double)wanted[i * width + j]) * steps;
        add(error, off / (double)width);
    }
}

static void expect_judged(const char *world, const char *file, const char *options, double summed,
                          double between) {
    enum { ROWS = 64 };
    char text[2048];
    double row[64], log_std[MANY] = {0};
    lud_error error = {0};
    snprintf(text, sizeof text, "%slearner: {type: clone, agents: all, data: [%s], " SMALL ", %s}\n", world,
             file, options);
    bed b = open_text(text, 1);
    minibatch m;
    if (b.learner->kind->iterate(b.learner, row, &error) || b.learner->kind->evaluate(b.learner, row, &error))
        fail_msg("%s", error.text);
    minibatch_open(&m, &b, ROWS);
    take_over(&m, b.learner);
    const lud_clone_data *d = &m.data;
    const lud_nn *nn = m.networks.base->actor.nn;
    const int64_t width = m.networks.width, horizon = m.networks.horizon;
    if (!d->choices) lud_parameters_read(m.networks.base->parameters, m.networks.base->log_std, log_std);
    for (int64_t j = 0; j < width && !d->choices; j++) assert_true(log_std[j] != 0); /* all have been found */
    mean log_prob = {0}, hits = {0}, later = {0}, sums = {0}, pairs = {0};
    assert_true(d->n_held_out > ROWS);
    for (int64_t first = 0; first < d->n_held_out; first += ROWS) {
        const int64_t n = d->n_held_out - first < ROWS ? d->n_held_out - first : ROWS;
        for (int64_t i = 0; i < n; i++) {
            m.batch.track[i] = d->held_out_track[first + i];
            m.batch.step[i] = d->held_out_step[first + i];
        }
        lud_clone_batch_make(&m.batch, n, true);
        lud_clone_networks_forward(&m.networks, m.batch.n_pairs, false);
        const float *out = lud_nn_value(nn, m.networks.actions);
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < horizon; k++) {
                const lud_clone_track *track = d->tracks + m.batch.track[i];
                const int64_t at = track->first + m.batch.step[i] + k;
                if (m.batch.step[i] + k >= track->length) continue;
                double hit;
                const double p = d->choices ? judge_choice(out + (i * horizon + k) * width, (int)width,
                                                           d->choices[at], &hit)
                                            : judge_numbers(out + (i * horizon + k) * width, log_std,
                                                            d->normal + at * width, width, &hit);
                add(k == 0 ? &log_prob : &later, p);
                if (k == 0) add(&hits, hit);
            }
        judge_sums(&m, m.networks.summary, &m.batch.summary, n, summed, &sums);
        judge_sums(&m, m.networks.pairs, &m.batch.pair_target, m.batch.n_pairs, between, &pairs);
    }
    const struct {
        const char *name;
        double expected;
    } columns[] = {{"held_out/log_prob", log_prob.sum / log_prob.n},
                   {"held_out/hits", d->choices ? hits.sum / hits.n : sqrt(hits.sum / hits.n)},
                   {"held_out/later", later.sum / later.n},
                   {"held_out/summary", sums.sum / sums.n},
                   {"held_out/pairs", pairs.sum / pairs.n}};
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
        const double found = column(b.learner->evaluation_columns, b.learner->n_evaluation_columns, row,
                                    columns[k].name),
                     expected = columns[k].expected;
        if (isnan(found) && isnan(expected)) continue; /* there is nothing of the kind */
        if (!(fabs(found - expected) <= 1e-4 * (1 + fabs(expected))))
            fail_msg("%s: %s is %.9g, expected %.9g", options, columns[k].name, found, expected);
    }
    minibatch_close(&m);
    close_bed(&b);
}

static void test_held_out_steps_are_judged(void **state) {
    (void)state;
    expect_judged(WORLD("discrete"), choices_file, "steps: 50, windows: {horizon: 1}", 0, 0);
    expect_judged(
        WORLD("discrete"), choices_file,
        "steps: 50, windows: {horizon: 3}, summary: {weight: 1}, pairs: {weight: 1, max_horizon: 4, "
        "steps: 5}",
        3, 5);
    expect_judged(WORLD("continuous"), numbers_file,
                  "steps: 50, windows: {horizon: 4}, summary: {weight: 1, steps: 2}, pairs: {weight: 1}", 2,
                  30);
}

/* However many numbers an action has. */
static void test_actions_of_many_numbers_are_judged(void **state) {
    (void)state;
    expect_judged(TALK, talk_file, "steps: 50, windows: {horizon: 2}", 0, 0);
}

/* Numbers of an action are drawn each by itself: two of them are above what is likeliest as often together as
 * not. */
static void test_numbers_are_drawn_apart(void **state) {
    (void)state;
    enum { DRAWS = 400 };
    static float drawn[DRAWS][2 * MANY], likeliest[2 * MANY];
    char text[2048], run[64];
    lud_error error = {0};
    lud_train_result result;
    snprintf(run, sizeof run, "%s/talk", clone_folder);
    for (int deterministic = 1; deterministic >= 0; deterministic--) {
        snprintf(text, sizeof text,
                 TALK "learner: {type: clone, agents: all, data: [%s], " SMALL
                      ", steps: 50, windows: {horizon: 1}, deterministic: %s}\n",
                 talk_file, deterministic ? "true" : "false");
        bed b = open_text(text, 1);
        const lud_layout *layout = &b.scenario->model->layout;
        const lud_train_options options = {.folder = run, .configuration = text};
        if (deterministic && lud_train(b.learner, &options, &result, &error)) fail_msg("%s", error.text);
        lud_cast *cast;
        if (lud_cast_create(b.scenario->model, NULL, "test", &cast, &error) ||
            lud_clone_join(b.scenario, b.scenario, run, cast, &error))
            fail_msg("%s", error.text);
        uint8_t *first = calloc(1, layout->state_bytes);
        void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
        for (int p = 0; p < layout->n_parts; p++) parts[p] = calloc(1, layout->parts[p].bytes);
        uint32_t tick = 0;
        const lud_range one = {.n = 1, .tick = &tick};
        b.scenario->world->reset(b.scenario->model, one, first);
        b.scenario->world->observe(b.scenario->model, one, first, parts);
        const int agent = 0;
        assert_int_equal(lud_max_continuous(layout), MANY);
        for (; tick < (deterministic ? 1 : DRAWS); tick++) {
            const lud_act act = {.model = b.scenario->model,
                                 .range = one,
                                 .states = first,
                                 .observations = parts,
                                 .agents = &agent,
                                 .n_agents_acting = 1,
                                 .continuous = deterministic ? likeliest : drawn[tick]};
            lud_cast_get(cast, 0)->kind->act(lud_cast_get(cast, 0), &act);
        }
        for (int p = 0; p < layout->n_parts; p++) free(parts[p]);
        free(first);
        lud_cast_destroy(cast);
        close_bed(&b);
    }
    for (int i = 0; i < MANY; i++)
        for (int j = 0; j < i; j++) {
            int together = 0;
            for (int t = 0; t < DRAWS; t++)
                together += (drawn[t][i] > likeliest[i]) == (drawn[t][j] > likeliest[j]);
            /* six deviations about the half */
            if (together < DRAWS / 2 - 60 || together > DRAWS / 2 + 60)
                fail_msg("numbers %d and %d: %d of %d together", j, i, together, DRAWS);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_held_out_steps_are_judged),
                                       cmocka_unit_test(test_actions_of_many_numbers_are_judged),
                                       cmocka_unit_test(test_numbers_are_drawn_apart)};
    return cmocka_run_group_tests(tests, set_up, clone_tear_down);
}
