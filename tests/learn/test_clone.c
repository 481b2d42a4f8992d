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
#include "learn/clone/batch.h"
#include "learn/clone/clone.h"
#include "learn/clone/policy.h"
#include "learn/episodes/recorder.h"
#include "learn/mappo/mappo.h"
#include "learn/mappo/start.h"
#include "learn/runs/parameters.h"
#include "learn/support_trainings.h"
#include "learn/train.h"

static char folder[] = "/tmp/ludus-clone-XXXXXX";
static char choices_file[64], numbers_file[64];

#define WORLD(actions)                                                                                       \
    "ludus: 1\nname: t\nworld: particle\n"                                                                   \
    "particle: {task: navigation, agents: 1, obstacles: 0, episode_length: 12, actions: " actions "}\n"      \
    "policies: {other: {type: controller, brake: 0.5}}\n"                                                    \
    "run: {environments: 8, seed: 3}\n"
#define SMALL                                                                                                \
    "batch: 64, report_every: 50, evaluation_episodes: 16, network: {hidden_size: 32, encoder: mlp}, "       \
    "idle_weight: 1, val_fraction: 0.2"

static lud_scenario *read_scenario(const char *text) {
    lud_scenario *scenario;
    lud_error error = {0};
    if (lud_scenario_read("test.yaml", text, strlen(text), NULL, 0, &scenario, &error))
        fail_msg("%s", error.text);
    return scenario;
}

/* Episodes of the scenario's own policies. */
static void record(const char *text, const char *path, int64_t episodes) {
    lud_scenario *scenario = read_scenario(text);
    lud_cast *cast;
    lud_error error = {0};
    lud_recording_result result;
    if (lud_cast_create(scenario->model, scenario->policies, scenario->path, &cast, &error))
        fail_msg("%s", error.text);
    const lud_recording_options options = {
        .path = path, .policy = "a test", .episodes = episodes, .frames = true, .level = LUD_RECORDING_LEVEL};
    if (lud_record_data(scenario, cast, &options, &result, &error)) fail_msg("%s", error.text);
    assert_int_equal(result.episodes, episodes);
    lud_cast_destroy(cast);
    lud_scenario_destroy(scenario);
}

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(choices_file, sizeof choices_file, "%s/choices.h5", folder);
    snprintf(numbers_file, sizeof numbers_file, "%s/numbers.h5", folder);
    record(WORLD("discrete"), choices_file, 400);
    record(WORLD("continuous"), numbers_file, 400);
    return 0;
}

static int tear_down(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* A learner of type clone on so many threads. */
typedef struct bed {
    lud_device *device;
    lud_scenario *scenario;
    lud_learner *learner;
} bed;

static bed open_text(const char *text, int threads) {
    lud_error error = {0};
    bed b = {.scenario = read_scenario(text)};
    if (lud_device_open("cpu", threads, &b.device, &error) ||
        lud_learner_create(b.scenario, b.device, &b.learner, &error))
        fail_msg("%s", error.text);
    return b;
}

static bed open_bed(const char *actions, const char *file, const char *options, int threads) {
    char text[2048];
    snprintf(text, sizeof text, "%slearner: {type: clone, data: [%s], " SMALL ", %s}\n",
             actions[0] == 'd' ? WORLD("discrete") : WORLD("continuous"), file, options);
    return open_text(text, threads);
}

static void close_bed(bed *b) {
    lud_learner_destroy(b->learner);
    lud_device_close(b->device);
    lud_scenario_destroy(b->scenario);
}

static double column(const lud_metric *columns, int n, const double *row, const char *name) {
    for (int i = 0; i < n; i++)
        if (!strcmp(columns[i].name, name)) return row[i];
    fail_msg("no column %s", name);
    return NAN;
}

static void iterate(bed *b, int n) {
    double row[64];
    lud_error error = {0};
    for (int i = 0; i < n; i++)
        if (b->learner->kind->iterate(b->learner, row, &error)) fail_msg("%s", error.text);
}

static double judged(bed *b, const char *name) {
    double row[64];
    lud_error error = {0};
    if (b->learner->kind->evaluate(b->learner, row, &error)) fail_msg("%s", error.text);
    return column(b->learner->evaluation_columns, b->learner->n_evaluation_columns, row, name);
}

static lud_checkpoint *save(bed *b) {
    lud_checkpoint *checkpoint = lud_checkpoint_create();
    lud_error error = {0};
    assert_non_null(checkpoint);
    b->learner->kind->visit(b->learner, checkpoint);
    if (lud_checkpoint_status(checkpoint, &error)) fail_msg("%s", error.text);
    return checkpoint;
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
    snprintf(path, sizeof path, "%s/half.safetensors", folder);
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

static void read_shape(bed *b, lud_arena *arena, lud_clone_options *o, lud_mappo_shape *shape) {
    lud_error error = {0};
    if (lud_clone_options_read(arena, b->scenario, o, &error) ||
        lud_mappo_shape_find(b->scenario->model, &o->network, shape, &error))
        fail_msg("%s", error.text);
}

/* Frames that memory does not hold are the same in a file, of which nothing is left; a folder that cannot
 * hold them is named. */
static void test_frames_on_the_disk(void **state) {
    (void)state;
    lud_error error = {0};
    lud_arena *arena = lud_arena_create(0);
    lud_clone_options o;
    lud_mappo_shape shape;
    lud_clone_data data[2] = {0};
    bed b = open_bed("discrete", choices_file, "steps: 1", 1);
    read_shape(&b, arena, &o, &shape);
    for (int i = 0; i < 2; i++) {
        o.frame_memory = i == 0 ? 1.0 : 1e-6;
        if (lud_clone_data_open(&o, &shape, 3, 0, &data[i], &error)) fail_msg("%s", error.text);
        assert_int_equal(data[i].store.on_disk, i == 1);
    }
    const lud_layout *layout = &b.scenario->model->layout;
    int n_parts = 0;
    for (int p = 0; p < layout->n_parts; p++) {
        if (!data[0].parts[p]) continue;
        assert_memory_equal(data[0].parts[p], data[1].parts[p],
                            (size_t)data[0].n_frames * layout->parts[p].bytes);
        n_parts++;
    }
    assert_true(n_parts > 0);
    assert_int_equal(data[0].n_frames, data[1].n_frames);
    setenv("TMPDIR", "/no/such/folder", 1);
    lud_clone_data nowhere;
    assert_int_equal(lud_clone_data_open(&o, &shape, 3, 0, &nowhere, &error), LUD_ERROR_IO);
    assert_non_null(strstr(error.text, "/no/such/folder"));
    unsetenv("TMPDIR");
    lud_clone_data_close(&nowhere);
    for (int i = 0; i < 2; i++) lud_clone_data_close(&data[i]);
    lud_arena_destroy(arena);
    close_bed(&b);
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
    snprintf(run, sizeof run, "%s/asked", folder);
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
    snprintf(run, sizeof run, "%s/run", folder);
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
    snprintf(run, sizeof run, "%s/run", folder);
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
    snprintf(run, sizeof run, "%s/start", folder);
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
    snprintf(run, sizeof run, "%s/start_of_ticks", folder);
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

/* ---- targets ---- */

/* What a minibatch of the first episode's steps learns: targets, and how much each position counts. */
static void expect_targets(const char *windows, bool counts_last, bool counts_padding, int32_t padding) {
    char options[256];
    lud_error error = {0};
    lud_arena *arena = lud_arena_create(0);
    lud_clone_options o;
    lud_mappo_shape shape;
    lud_clone_data data;
    lud_clone_networks networks;
    lud_clone_batch batch;
    snprintf(options, sizeof options, "steps: 1, windows: {horizon: 3, %s}", windows);
    bed b = open_bed("discrete", choices_file, options, 1);
    read_shape(&b, arena, &o, &shape);
    if (lud_clone_data_open(&o, &shape, 3, 0, &data, &error) ||
        lud_clone_networks_open(b.scenario->model, &o, b.device, 1, 36, 12, LUD_CLONE_UPDATE, NULL, &networks,
                                &error) ||
        lud_clone_batch_open(&data, &networks, 12, &batch, &error))
        fail_msg("%s", error.text);
    assert_int_equal(data.tracks[0].length, 12);
    for (int i = 0; i < 12; i++) {
        batch.track[i] = 0;
        batch.step[i] = i;
    }
    lud_clone_batch_make(&batch, 12, false);
    const int32_t *target = batch.target.host;
    const float *weight = batch.weights.host;
    for (int i = 0; i < 12; i++) {
        int n = 0;
        double total = 0.0;
        for (int k = 0; k < 3; k++) {
            const bool there = i + k < (counts_last ? 12 : 11);
            total += (double)weight[3 * i + k];
            assert_int_equal(weight[3 * i + k] > 0.0f, there || counts_padding);
            if (there) assert_int_equal(target[3 * i + k], data.choices[i + k]);
            if (!there && counts_padding)
                assert_int_equal(target[3 * i + k], padding == -2 ? data.choices[11] : padding);
            n += there || counts_padding;
        }
        assert_true(fabs(total - (n > 0 ? 1.0 / 12.0 : 0.0)) < 1e-6); /* a sample counts once */
    }
    lud_clone_batch_close(&batch);
    lud_clone_networks_close(&networks);
    lud_clone_data_close(&data);
    lud_arena_destroy(arena);
    close_bed(&b);
}

static void test_targets(void **state) {
    (void)state;
    expect_targets("pad: auto", true, false, 0);
    expect_targets("pad: last, train_on_padding: true", true, true, -2);
    expect_targets("pad: zero, train_on_padding: true", true, true, 0);
    expect_targets("layout: aligned", false, false, 0);
    expect_targets("layout: aligned, last_action: valid", true, false, 0);
}

/* What a sum of a sample has to be: the actions from `first` to `last`, choices counted or numbers added, as
 * parts of so many steps. */
static void expect_sum(const lud_clone_data *data, int64_t track, int64_t first, int64_t last, int64_t steps,
                       const float *sum) {
    const int64_t width = data->choices ? data->shape->n_discrete : data->shape->n_continuous;
    for (int64_t j = 0; j < width; j++) {
        double expected = 0.0;
        for (int64_t t = first; t < last && t < data->tracks[track].length; t++) {
            const int64_t row = data->tracks[track].first + t;
            expected += data->choices ? data->choices[row] == j : (double)data->normal[row * width + j];
        }
        assert_true(fabs((double)sum[j] - expected / (double)steps) < 1e-5);
    }
}

/* Sums of the coming window, of its own length or another, and of what lies between the frames of pairs. */
static void test_sums(void **state) {
    (void)state;
    enum { ROWS = 60 };
    for (int numbers = 0; numbers < 2; numbers++)
        for (int steps = 0; steps < 2; steps++) {
            lud_error error = {0};
            lud_arena *arena = lud_arena_create(0);
            lud_clone_options o;
            lud_mappo_shape shape;
            lud_clone_data data;
            lud_clone_networks networks;
            lud_clone_batch batch;
            bed b =
                open_bed(numbers ? "continuous" : "discrete", numbers ? numbers_file : choices_file,
                         steps ? "steps: 1, windows: {horizon: 3}, summary: {weight: 1, steps: 5}, pairs: "
                                 "{weight: 1, prob: 1, max_horizon: 6, steps: 6}"
                               : "steps: 1, windows: {horizon: 3}, summary: {weight: 1}, pairs: {weight: 1, "
                                 "prob: 1, max_horizon: 4, steps: 4}",
                         1);
            read_shape(&b, arena, &o, &shape);
            if (lud_clone_data_open(&o, &shape, 3, 0, &data, &error) ||
                lud_clone_networks_open(b.scenario->model, &o, b.device, 1, 3 * ROWS, ROWS, LUD_CLONE_UPDATE,
                                        NULL, &networks, &error) ||
                lud_clone_batch_open(&data, &networks, ROWS, &batch, &error))
                fail_msg("%s", error.text);
            /* every action is one sample */
            assert_int_equal(data.source_first[data.n_sources] + data.n_held_out, data.n_rows);
            for (int64_t i = 0; i < data.source_first[data.n_sources]; i++)
                assert_true(data.sample_step[i] < data.tracks[data.sample_track[i]].length);
            for (int64_t i = 0; i < data.n_held_out; i++)
                assert_true(data.held_out_step[i] < data.tracks[data.held_out_track[i]].length);
            for (int i = 0; i < ROWS; i++) {
                batch.track[i] = i / 12;
                batch.step[i] = i % 12;
            }
            lud_clone_batch_make(&batch, ROWS, true);
            const int64_t width = networks.width, window = steps ? 5 : 3, between = steps ? 6 : 4;
            for (int i = 0; i < ROWS; i++)
                expect_sum(&data, batch.track[i], batch.step[i], batch.step[i] + window, window,
                           (const float *)batch.summary.host + i * width);
            assert_true(batch.n_pairs > ROWS / 2);
            for (int64_t k = 0; k < batch.n_pairs; k++) {
                const lud_pair *pair = &batch.pairs[k];
                assert_true(pair->realised > 0 && pair->realised <= between);
                expect_sum(&data, pair->track, pair->step, pair->step + pair->realised, between,
                           (const float *)batch.pair_target.host + k * width);
                /* rows of the two frames stand behind the samples */
                const int64_t first = ((const int32_t *)batch.first.host)[k],
                              second = ((const int32_t *)batch.second.host)[k];
                assert_int_equal(first, ROWS + 2 * k);
                assert_int_equal(second, ROWS + 2 * k + 1);
                assert_int_equal(batch.place[first], data.tracks[pair->track].frame + pair->step);
                assert_int_equal(batch.place[second], batch.place[first] + pair->realised);
            }
            lud_clone_batch_close(&batch);
            lud_clone_networks_close(&networks);
            lud_clone_data_close(&data);
            lud_arena_destroy(arena);
            close_bed(&b);
        }
}

/* ---- choices that there are not ---- */

#define TRIBES                                                                                               \
    "ludus: 1\nname: t\nworld: tribes\n"                                                                     \
    "tribes:\n  map: |\n    g . w\n    1 A 1\n    . ~ .\n"                                                   \
    "  teams:\n    - {name: people, role: human, robots: 1, values: [1, 2, 3]}\n"                            \
    "  carry: 1\n  stock: 1\n  regrow: {grain: 0.5, wood: 0.5}\n  max_steps: 9\n"                            \
    "run: {environments: 4, seed: 3}\n"

static int mask_of(const lud_layout *layout) {
    for (int p = 0; p < layout->n_parts; p++)
        if (layout->parts[p].kind == LUD_OBSERVATION_MASK) return p;
    fail_msg("no mask");
    return -1;
}

/* Of a choice that a step's agent makes, at whatever distance it is predicted from, the step's own mask
 * holds, and what was recorded although it has no effect is allowed where it was. */
static void expect_allowed(const lud_clone_data *data, const lud_clone_batch *batch, int64_t horizon) {
    const lud_layout *layout = &data->shape->model->layout;
    const int mask = mask_of(layout), width = data->shape->n_discrete;
    const uint8_t *allowed = batch->choices.host;
    int n_kept_out = 0, n_let_in = 0;
    for (int64_t i = 0; i < batch->n; i++)
        for (int64_t k = 0; k < horizon; k++) {
            const lud_clone_track *track = data->tracks + batch->track[i];
            const bool there = batch->step[i] + k < track->length;
            const uint8_t *frame = (const uint8_t *)data->parts[mask] +
                                   (size_t)(track->frame + batch->step[i] + k) * layout->parts[mask].bytes;
            for (int c = 0; c < width; c++) {
                const bool offered = !there || frame[track->agent * width + c];
                const bool done = there && data->choices[track->first + batch->step[i] + k] == c;
                assert_int_equal(allowed[(i * horizon + k) * width + c], offered || done);
                n_kept_out += !offered && !done;
                n_let_in += !offered && done;
            }
        }
    assert_true(n_kept_out > 0 && n_let_in > 0);
}

/* A clone learns from what agents did, which may have had no effect, and never does what has none; it is as
 * likely as the data say, also where a mean of several predictions acts. */
static void test_only_what_there_is(void **state) {
    (void)state;
    static const char *const ways[] = {
        "windows: {horizon: 1}", "windows: {horizon: 3}, execute: 2",
        "windows: {horizon: 3}, ensemble: true, execute: 1", "windows: {horizon: 1}, deterministic: true",
        "windows: {horizon: 2}, pairs: {weight: 1, prob: 1}, summary: {weight: 1}"};
    enum { N_ENVS = 4 };
    char path[128], text[2048];
    lud_error error = {0};
    snprintf(path, sizeof path, "%s/tribes.h5", folder);
    record(TRIBES, path, 60);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        snprintf(text, sizeof text,
                 TRIBES "learner: {type: clone, agents: all, data: [%s], " SMALL
                        ", learning_rate: 0.003, steps: 300, %s}\n",
                 path, ways[w]);
        bed b = open_text(text, 1);
        const lud_layout *layout = &b.scenario->model->layout;
        const int mask = mask_of(layout), width = lud_max_discrete(layout);
        char run[64];
        lud_train_result result;
        snprintf(run, sizeof run, "%s/tribes-%zu", folder, w);
        const lud_train_options options = {.folder = run, .configuration = text};
        if (lud_train(b.learner, &options, &result, &error)) fail_msg("%s", error.text);
        assert_true(judged(&b, "held_out/log_prob") > -log(width)); /* better than chance among all */
        lud_cast *cast;
        lud_runner runner = {0};
        if (lud_cast_create(b.scenario->model, NULL, NULL, &cast, &error) ||
            lud_clone_join(b.scenario, b.scenario, run, cast, &error))
            fail_msg("%s", error.text);
        if (lud_runner_create(b.scenario->model, cast, N_ENVS, 5, 0, &runner, &error) ||
            lud_runner_tell(&runner, true, &error))
            fail_msg("%s", error.text);
        int n_refused = 0;
        lud_runner_start(&runner);
        for (int t = 0; t < 40; t++) {
            uint8_t offered[N_ENVS * 64];
            assert_true(layout->parts[mask].bytes * N_ENVS <= sizeof offered);
            memcpy(offered, runner.observations[mask], layout->parts[mask].bytes * N_ENVS);
            lud_runner_act(&runner);
            for (int i = 0; i < N_ENVS * layout->n_agents; i++) {
                assert_true(offered[i * width + runner.discrete[i]]);
                for (int c = 0; c < width; c++) n_refused += !offered[i * width + c];
                assert_true(isfinite(runner.log_probs[i]) && runner.log_probs[i] <= 0.0f);
            }
            lud_runner_step(&runner);
            lud_runner_renew(&runner);
        }
        assert_true(n_refused > 0);
        lud_runner_destroy(&runner);
        lud_cast_destroy(cast);

        lud_arena *arena = lud_arena_create(0);
        lud_clone_options o;
        lud_mappo_shape shape;
        lud_clone_data data;
        lud_clone_networks networks;
        lud_clone_batch batch;
        read_shape(&b, arena, &o, &shape);
        enum { ROWS = 64 };
        if (lud_clone_data_open(&o, &shape, 3, 0, &data, &error) ||
            lud_clone_networks_open(b.scenario->model, &o, b.device, 1, 3 * ROWS, ROWS, LUD_CLONE_UPDATE,
                                    NULL, &networks, &error) ||
            lud_clone_batch_open(&data, &networks, ROWS, &batch, &error))
            fail_msg("%s", error.text);
        for (int i = 0; i < ROWS; i++) {
            batch.track[i] = i % data.n_tracks;
            batch.step[i] = i % data.tracks[i % data.n_tracks].length;
        }
        lud_clone_batch_make(&batch, ROWS, false);
        expect_allowed(&data, &batch, o.windows.horizon);
        lud_clone_batch_close(&batch);
        lud_clone_networks_close(&networks);
        lud_clone_data_close(&data);
        lud_arena_destroy(arena);
        close_bed(&b);
    }
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
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices_are_learned),
        cmocka_unit_test(test_numbers_are_learned),
        cmocka_unit_test(test_resume_and_threads),
        cmocka_unit_test(test_frames_on_the_disk),
        cmocka_unit_test(test_a_run_is_asked),
        cmocka_unit_test(test_labels_alone),
        cmocka_unit_test(test_as_many_labels_as_asked),
        cmocka_unit_test(test_acting),
        cmocka_unit_test(test_start_of_mappo),
        cmocka_unit_test(test_start_of_ticks),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_only_what_there_is),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
