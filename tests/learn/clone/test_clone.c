/* Cloning end to end: episodes of a scripted agent are recorded, learned, and played; stopped and resumed;
 * labels of an expert; chunks carried out and averaged; a clone as the beginning of graph MAPPO. */
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

#include "agents/rollout.h"
#include "learn/clone/clone.h"
#include "learn/clone/policy.h"
#include "learn/clone/support_clone.h"
#include "learn/mappo/mappo.h"
#include "learn/mappo/start.h"
#include "learn/runs/parameters.h"
#include "learn/support_trainings.h"
#include "learn/train.h"

static void iterate(bed *b, int n) {
    double row[64];
    lud_error error = {0};
    for (int i = 0; i < n; i++)
        if (b->learner->kind->iterate(b->learner, row, &error)) fail_msg("%s", error.text);
}

static lud_checkpoint *save(bed *b) {
    return support_learner_save(b->learner);
}

static void expect_same(lud_checkpoint *a, lud_checkpoint *b) {
    assert_int_equal(lud_checkpoint_n_tensors(a), lud_checkpoint_n_tensors(b));
    for (int i = 0; i < lud_checkpoint_n_tensors(a); i++) {
        const lud_tensor *x = lud_checkpoint_get(a, i), *y = lud_checkpoint_find(b, x->name);
        if (!y || x->bytes != y->bytes || memcmp(x->data, y->data, x->bytes) != 0)
            fail_msg("%s differs", x->name);
    }
    lud_checkpoint_destroy(a);
    lud_checkpoint_destroy(b);
}

/* ---- learning ---- */

static void test_choices_are_learned(void **state) {
    (void)state;
    bed b = open_bed("discrete", choices_file,
                     "steps: 1500, learning_rate: 0.003, windows: {horizon: 4}, summary: {weight: 1}, "
                     "pairs: {weight: 1, prob: 1, max_horizon: 8, steps: 8}",
                     1);
    const double before = judged(&b, "held_out/pairs"), unlearned = judged(&b, "held_out/summary");
    assert_true(judged(&b, "held_out/hits") < 0.6);
    iterate(&b, 30);
    assert_true(judged(&b, "held_out/hits") > 0.95); /* the next action */
    assert_true(judged(&b, "held_out/log_prob") > -0.2);
    assert_true(judged(&b, "held_out/later") > -1.0); /* those after it; ln 1/5 is -1.6 */
    assert_true(judged(&b, "held_out/pairs") < 0.7 * before);
    assert_true(judged(&b, "held_out/summary") < 0.8 * unlearned);
    close_bed(&b);
}

static void test_numbers_are_learned(void **state) {
    (void)state;
    bed b = open_bed("continuous", numbers_file,
                     "steps: 1500, learning_rate: 0.003, windows: {horizon: 3}, deterministic: true", 1);
    iterate(&b, 30);
    assert_true(judged(&b, "held_out/hits") < 0.5); /* half a deviation: the path forks */
    close_bed(&b);
}

/* Stopped and resumed, and for any number of threads, it ends with the same bytes; labels come back too. */
static void test_resume_and_threads(void **state) {
    (void)state;
    static const char *const options = "steps: 200, windows: {horizon: 3}, "
                                       "dagger: {rounds: 3, labels: 40, environments: 4, "
                                       "expert: {type: controller, brake: 0.5}}";
    char path[96], from_disk[256];
    snprintf(from_disk, sizeof from_disk, "%s, frame_memory: 1e-6", options);
    bed whole = open_bed("discrete", choices_file, options, 1),
        begun = open_bed("discrete", choices_file, options, 2),
        resumed = open_bed("discrete", choices_file, from_disk, 1);
    lud_error error = {0};
    iterate(&whole, 4);
    iterate(&begun, 2);
    snprintf(path, sizeof path, "%s/half.safetensors", clone_folder);
    lud_checkpoint *half = save(&begun);
    if (lud_checkpoint_write(half, path, &error)) fail_msg("%s", error.text);
    lud_checkpoint_destroy(half);
    if (lud_checkpoint_open(path, &half, &error)) fail_msg("%s", error.text);
    resumed.learner->kind->visit(resumed.learner, half);
    if (lud_checkpoint_status(half, &error)) fail_msg("%s", error.text);
    lud_checkpoint_destroy(half);
    iterate(&resumed, 2);
    iterate(&begun, 2);
    lud_checkpoint *end = save(&whole);
    const lud_tensor *labels = lud_checkpoint_find(end, "clone.label.agent");
    assert_non_null(labels);
    assert_int_equal(labels->dimensions[0], 120); /* this expert does not say how likely its choices are */
    expect_same(end, save(&resumed));
    expect_same(save(&whole), save(&begun));
    close_bed(&whole);
    close_bed(&begun);
    close_bed(&resumed);
}

/* With labels alone the expert acts in the first round, the clone in later ones. */
static void test_labels_alone(void **state) {
    (void)state;
    bed b = open_bed("discrete", "",
                     "steps: 1000, learning_rate: 0.003, windows: {horizon: 1}, dagger: {rounds: 5, "
                     "labels: 100, expert: {type: controller, brake: 0.5}}",
                     1);
    double row[64];
    lud_error error = {0};
    for (int i = 0; i < 20; i++)
        if (b.learner->kind->iterate(b.learner, row, &error)) fail_msg("%s", error.text);
    assert_true(column(b.learner->columns, b.learner->n_columns, row, "labels") == 500);
    assert_true(column(b.learner->columns, b.learner->n_columns, row, "loss") < 0.3);
    close_bed(&b);
}

/* A RUN may be asked, named by its folder or by a file of its parameters. */
static void test_a_run_is_asked(void **state) {
    (void)state;
    char run[128], options[512];
    lud_error error = {0};
    lud_train_result result;
    snprintf(run, sizeof run, "%s/asked", clone_folder);
    bed trained = open_text(WORLD("discrete") "learner: {type: graph-mappo, automatic: false, steps: 128, "
                                              "rollout_length: 8, hidden_size: 8}\n",
                            1);
    const lud_train_options train = {.folder = run};
    if (support_train(trained.scenario, trained.learner, &train, &result, &error)) fail_msg("%s", error.text);
    close_bed(&trained);
    static const char *const names[] = {"", "/policy.safetensors", "/checkpoint.safetensors"};
    lud_checkpoint *labelled[3];
    for (int i = 0; i < 3; i++) {
        snprintf(options, sizeof options,
                 "steps: 50, windows: {horizon: 1}, dagger: {rounds: 1, labels: 40, expert: \"%s%s\"}", run,
                 names[i]);
        bed b = open_bed("discrete", choices_file, options, 1);
        iterate(&b, 1);
        labelled[i] = save(&b);
        assert_int_equal(lud_checkpoint_find(labelled[i], "clone.label.agent")->dimensions[0], 40);
        close_bed(&b);
    }
    expect_same(labelled[0], labelled[1]);
    lud_checkpoint_destroy(labelled[2]);
}

/* As many labels as are asked for, also where they are no multiple of the agents of an environment. */
static void test_as_many_labels_as_asked(void **state) {
    (void)state;
    static const struct {
        const char *actions;
        int labels;
    } cases[] = {{"discrete", 7}, {"continuous", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "ludus: 1\nname: t\nworld: particle\n"
                 "particle: {task: navigation, agents: 3, obstacles: 0, episode_length: 12, actions: %s}\n"
                 "run: {environments: 2, seed: 3}\n"
                 "learner: {type: clone, " SMALL ", steps: 20, windows: {horizon: 1}, "
                 "dagger: {rounds: 1, labels: %d, expert: {type: controller, brake: 0.5}}}\n",
                 cases[i].actions, cases[i].labels);
        bed b = open_text(text, 1);
        double row[64];
        lud_error error = {0};
        if (b.learner->kind->iterate(b.learner, row, &error)) fail_msg("%s", error.text);
        assert_true(column(b.learner->columns, b.learner->n_columns, row, "labels") == cases[i].labels);
        lud_checkpoint *checkpoint = save(&b);
        const lud_tensor *labels = lud_checkpoint_find(checkpoint, "clone.label.n");
        assert_non_null(labels);
        assert_int_equal(*(const uint64_t *)labels->data, cases[i].labels);
        lud_checkpoint_destroy(checkpoint);
        close_bed(&b);
    }
}

/* ---- acting ---- */

static lud_cast *cast_of(const bed *b, const char *options) {
    lud_cast *cast;
    lud_error error = {0};
    char text[2048], run[64];
    snprintf(run, sizeof run, "%s/run", clone_folder);
    snprintf(text, sizeof text,
             "%slearner: {type: clone, data: [%s], " SMALL ", windows: {horizon: 3}, %s}\n",
             WORLD("discrete"), choices_file, options);
    lud_scenario *as = read_scenario(text);
    if (lud_cast_create(b->scenario->model, NULL, "test", &cast, &error)) fail_msg("%s", error.text);
    /* the model is that of the bed; how to act is that of the text */
    lud_scenario both = *b->scenario;
    both.learner = as->learner;
    if (lud_clone_join(b->scenario, &both, run, cast, &error)) fail_msg("%s", error.text);
    lud_scenario_destroy(as);
    return cast;
}

static double play(const bed *b, const char *options) {
    lud_cast *cast = cast_of(b, options);
    lud_rollout rollout = {0};
    lud_error error = {0};
    if (lud_rollout_run(b->scenario, cast, 64, 0, NULL, &rollout, &error)) fail_msg("%s", error.text);
    const double mean = rollout.agents[0].episode_return.mean;
    lud_rollout_free(&rollout);
    lud_cast_destroy(cast);
    return mean;
}

static void test_acting(void **state) {
    (void)state;
    bed b = open_bed("discrete", choices_file, "steps: 1000, learning_rate: 0.003, windows: {horizon: 3}", 1);
    char run[64];
    lud_error error = {0};
    lud_train_result result;
    snprintf(run, sizeof run, "%s/run", clone_folder);
    const lud_train_options options = {.folder = run, .configuration = "ludus: 1\n"};
    if (lud_train(b.learner, &options, &result, &error)) fail_msg("%s", error.text);
    lud_cast *scripted, *clueless;
    lud_rollout rollout = {0};
    double expert, random;
    assert_int_equal(lud_cast_create(b.scenario->model, b.scenario->policies, "t", &scripted, &error),
                     LUD_OK);
    assert_int_equal(lud_cast_create(b.scenario->model, NULL, "t", &clueless, &error), LUD_OK);
    assert_int_equal(lud_rollout_run(b.scenario, scripted, 64, 0, NULL, &rollout, &error), LUD_OK);
    expert = rollout.agents[0].episode_return.mean;
    lud_rollout_free(&rollout);
    assert_int_equal(lud_rollout_run(b.scenario, clueless, 64, 0, NULL, &rollout, &error), LUD_OK);
    random = rollout.agents[0].episode_return.mean;
    lud_rollout_free(&rollout);
    lud_cast_destroy(scripted);
    lud_cast_destroy(clueless);
    static const char *const ways[] = {"deterministic: true", "deterministic: true, execute: 2",
                                       "deterministic: true, ensemble: true",
                                       "deterministic: true, ensemble: true, ensemble_decay: 50"};
    double returns[4];
    for (int k = 0; k < 4; k++) {
        returns[k] = play(&b, ways[k]);
        if (!(returns[k] > random + 0.8 * (expert - random)))
            fail_msg("%s: %g; the expert has %g, chance %g", ways[k], returns[k], expert, random);
    }
    assert_true(returns[0] == returns[3]); /* older predictions count nothing: the next action alone */
    assert_true(returns[0] != returns[1]);
    /* what follows from the state alone can be asked for; what is remembered cannot */
    lud_cast *plain = cast_of(&b, "deterministic: false"), *mixed = cast_of(&b, "ensemble: true");
    uint8_t *first = calloc(1, b.scenario->model->layout.state_bytes);
    const uint32_t tick = 0;
    double p[5], sum = 0.0;
    b.scenario->world->reset(b.scenario->model, (lud_range){.n = 1, .tick = &tick}, first);
    assert_true(lud_policy_distribution(lud_cast_get(plain, 0), first, 0, -1, p));
    for (int k = 0; k < 5; k++) sum += p[k];
    assert_true(fabs(sum - 1.0) < 1e-9);
    assert_false(lud_policy_distribution(lud_cast_get(mixed, 0), first, 0, -1, p));
    /* unless it is told what is remembered: with nothing yet it is the plain first prediction */
    lud_cast *unmixed = cast_of(&b, "deterministic: true");
    double alone[5];
    uint8_t *hidden = calloc(1, lud_cast_hidden_bytes(mixed));
    const lud_policy *mixing = lud_cast_get(mixed, 0);
    assert_true(lud_policy_distribution(lud_cast_get(unmixed, 0), first, 0, -1, alone));
    assert_true(mixing->kind->recalled_distribution(lud_cast_get(mixed, 0), first,
                                                    lud_cast_remembered(mixed, hidden, 0), 0, p));
    int best = 0;
    for (int k = 1; k < 5; k++) best = p[k] > p[best] ? k : best;
    assert_true(alone[best] == 1.0);
    free(hidden);
    lud_cast_destroy(unmixed);
    free(first);
    lud_cast_destroy(plain);
    lud_cast_destroy(mixed);
    close_bed(&b);
}

/* A clone of numbers that were normalised gives the same means as the actor that graph MAPPO begins with. */
static void test_start_of_mappo(void **state) {
    (void)state;
    bed b = open_bed("continuous", numbers_file, "steps: 50, windows: {horizon: 2}, deterministic: true", 1);
    char run[64], text[2048];
    lud_error error = {0};
    lud_train_result result;
    snprintf(run, sizeof run, "%s/start", clone_folder);
    const lud_train_options options = {.folder = run, .configuration = "ludus: 1\n"};
    if (lud_train(b.learner, &options, &result, &error)) fail_msg("%s", error.text);
    snprintf(text, sizeof text,
             "%slearner: {type: graph-mappo, automatic: false, start: %s, recurrent: false, encoder: mlp, "
             "hidden_size: 32, "
             "steps: 64, rollout_length: 8, evaluation_episodes: 4}\n",
             WORLD("continuous"), run);
    bed m = {.scenario = read_scenario(text)};
    if (lud_device_open("cpu", 1, &m.device, &error) ||
        lud_learner_create(m.scenario, m.device, &m.learner, &error))
        fail_msg("%s", error.text);
    lud_mappo_networks *networks = ((lud_mappo_learner_state *)m.learner)->groups[0].update;
    if (lud_mappo_begin_with(networks, run, &error)) fail_msg("%s", error.text);
    /* the same observation through both */
    const lud_layout *layout = &b.scenario->model->layout;
    uint8_t *first = calloc(1, layout->state_bytes);
    void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
    const uint32_t tick = 0;
    const lud_range one = {.n = 1, .tick = &tick};
    const int32_t nought = 0;
    const float mask = 1.0f;
    const int agent = 0;
    float numbers[2] = {0};
    for (int p = 0; p < layout->n_parts; p++) parts[p] = calloc(1, layout->parts[p].bytes);
    b.scenario->world->reset(b.scenario->model, one, first);
    b.scenario->world->observe(b.scenario->model, one, first, parts);
    lud_mappo_inputs_observe(&networks->inputs, (const void *const *)parts, 1, &nought, &nought);
    const lud_mappo_memory memory = {.masks = &mask};
    assert_int_equal(lud_mappo_inputs_remember(&networks->inputs, 1, &nought, &memory, &error), LUD_OK);
    lud_mappo_inputs_upload(&networks->inputs);
    lud_mappo_net_forward(&networks->actor, false);
    const float *means = lud_nn_value(networks->actor.nn, networks->actor.out);
    lud_cast *cast;
    if (lud_cast_create(b.scenario->model, NULL, "test", &cast, &error) ||
        lud_clone_join(b.scenario, b.scenario, run, cast, &error))
        fail_msg("%s", error.text);
    const lud_act act = {.model = b.scenario->model,
                         .range = one,
                         .states = first,
                         .observations = parts,
                         .agents = &agent,
                         .n_agents_acting = 1,
                         .continuous = numbers};
    lud_cast_get(cast, 0)->kind->act(lud_cast_get(cast, 0), &act);
    for (int j = 0; j < 2; j++) {
        const double bounded =
            fmin(fmax((double)means[j], (double)layout->actions[0].low), (double)layout->actions[0].high);
        assert_true(fabs(bounded - (double)numbers[j]) < 1e-4);
    }
    assert_true(fabs((double)numbers[0]) > 1e-3);
    iterate(&m, 1); /* which begins with it again, and trains */
    lud_cast_destroy(cast);
    for (int p = 0; p < layout->n_parts; p++) free(parts[p]);
    free(first);
    close_bed(&b);
    close_bed(&m);
}

static bed open_ticks(const char *start, const char *options) {
    char text[2048];
    lud_error error = {0};
    snprintf(text, sizeof text,
             "%slearner: {type: ticks, start: %s, ticks: 8, ticks_per_iteration: 4, evaluation_episodes: 4, "
             "%s}\n",
             WORLD("discrete"), start, options);
    bed b = {.scenario = read_scenario(text)};
    if (lud_device_open("cpu", 1, &b.device, &error)) fail_msg("%s", error.text);
    if (lud_learner_create(b.scenario, b.device, &b.learner, &error)) {
        assert_non_null(strstr(error.text, "learner.start"));
        b.learner = NULL;
    }
    return b;
}

/* Ticks whose rate is 0 have the very actor of the clone after an iteration; with another rate they learn on.
 */
static void test_start_of_ticks(void **state) {
    (void)state;
    bed b = open_bed("discrete", choices_file, "steps: 50, windows: {horizon: 2}", 1);
    char run[64];
    lud_error error = {0};
    lud_train_result result;
    snprintf(run, sizeof run, "%s/start_of_ticks", clone_folder);
    const lud_train_options options = {.folder = run, .configuration = "ludus: 1\n"};
    if (lud_train(b.learner, &options, &result, &error)) fail_msg("%s", error.text);
    lud_checkpoint *cloned;
    if (lud_run_parameters(run, NULL, NULL, &cloned, NULL, &error)) fail_msg("%s", error.text);
    for (int moving = 0; moving < 2; moving++) {
        bed t = open_ticks(run, moving ? "policy: {hidden_size: 32, encoder: mlp}, learning_rate: 0.01"
                                       : "policy: {hidden_size: 32, encoder: mlp}, learning_rate: 0");
        assert_non_null(t.learner);
        iterate(&t, 1);
        lud_checkpoint *after = save(&t);
        int same = 0, other = 0;
        for (int i = 0; i < lud_checkpoint_n_tensors(after); i++) {
            const lud_tensor *x = lud_checkpoint_get(after, i), *y = lud_checkpoint_find(cloned, x->name);
            if (strncmp(x->name, "actor.", 6) != 0) continue;
            assert_non_null(y);
            assert_int_equal(x->bytes, y->bytes);
            if (memcmp(x->data, y->data, x->bytes) == 0)
                same++;
            else
                other++;
        }
        assert_true(moving ? other > 0 : same > 3 && other == 0);
        lud_checkpoint_destroy(after);
        close_bed(&t);
    }
    lud_checkpoint_destroy(cloned);
    bed t = open_ticks(run, "policy: {hidden_size: 16, encoder: mlp}"); /* of another size */
    double row[64];
    assert_int_equal(t.learner->kind->iterate(t.learner, row, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "learner.start"));
    close_bed(&t);
    t = open_ticks(run, "policy: {type: tokens}");
    assert_null(t.learner);
    close_bed(&t);
    close_bed(&b);
}

/* ---- mistakes ---- */

static void expect_mistake(const char *text, const char *part) {
    lud_device *device;
    lud_learner *learner;
    lud_error error = {0};
    lud_scenario *scenario = read_scenario(text);
    assert_int_equal(lud_device_open("cpu", 1, &device, &error), LUD_OK);
    if (!lud_learner_create(scenario, device, &learner, &error)) fail_msg("no mistake: %s", part);
    if (!strstr(error.text, part)) fail_msg("'%s' does not say '%s'", error.text, part);
    lud_device_close(device);
    lud_scenario_destroy(scenario);
}

static void test_mistakes(void **state) {
    (void)state;
    char text[2048];
#define MISTAKE(world, options, part)                                                                        \
    snprintf(text, sizeof text, world "learner: {type: clone, " options "}\n");                              \
    expect_mistake(text, part)
    MISTAKE(WORLD("discrete"), "data: []", "learner.data: expected a file");
    MISTAKE(WORLD("discrete"), "data: [nowhere.h5]", "nowhere.h5");
    MISTAKE(WORLD("discrete"), "data: [a, b], weights: [1]", "learner.weights");
    MISTAKE(WORLD("discrete"), "data: [a], dagger: {rounds: 1}", "learner.dagger.expert");
    MISTAKE(WORLD("discrete"), "data: [a], ensemble: true, execute: 2", "learner.execute");
    MISTAKE(WORLD("discrete"), "data: [a], execute: 9", "learner.execute");
    MISTAKE(WORLD("discrete"), "data: [a], agents: robots", "learner.agents");
    snprintf(text, sizeof text, "%slearner: {type: clone, data: [%s]}\n", WORLD("continuous"), choices_file);
    expect_mistake(text, "expected 0 choices and 2 numbers");
    snprintf(text, sizeof text,
             "ludus: 1\nname: t\nworld: particle\n"
             "particle: {task: navigation, agents: 2, obstacles: 0}\nlearner: {type: clone, data: [%s]}\n",
             choices_file);
    expect_mistake(text, "expected episodes of 2 agents");
    /* who sees something else, in whichever part of what it sees */
    snprintf(text, sizeof text,
             "ludus: 1\nname: t\nworld: particle\nparticle: {task: navigation, agents: 1, obstacles: 2, "
             "actions: discrete}\nlearner: {type: clone, data: [%s]}\n",
             choices_file);
    expect_mistake(text, "expected observations 'observation' of");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices_are_learned),
        cmocka_unit_test(test_numbers_are_learned),
        cmocka_unit_test(test_resume_and_threads),
        cmocka_unit_test(test_a_run_is_asked),
        cmocka_unit_test(test_labels_alone),
        cmocka_unit_test(test_as_many_labels_as_asked),
        cmocka_unit_test(test_acting),
        cmocka_unit_test(test_start_of_mappo),
        cmocka_unit_test(test_start_of_ticks),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, clone_set_up, clone_tear_down);
}
