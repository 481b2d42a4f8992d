#include "learn/golden/support_golden.h"

#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#include "agents/rollout.h"
#include "held_to_avx2.h"
#include "kernels/cpu/cpu.h"
#include "learn/golden/support_golden_cases.h"
#include "learn/golden/support_golden_values.h"
#include "learn/runs/run.h"
#include "learn/support_trainings.h"
#include "learn/train.h"

/* Trainings of support_trainings.c that none of the golden cases is like; named after them. */
static const char *const others[] = {"mappo, gated",
                                     "a policy for each role",
                                     "empo, goals of X_h drawn",
                                     "ticks, a graph",
                                     "ticks, continuous",
                                     "clone, choices that are asked for",
                                     "clone, numbers that are asked for",
                                     "proof, gated"};
enum { OTHERS = sizeof others / sizeof *others };

static golden_case case_of(int i) {
    if (i < n_golden_cases) return golden_cases[i];
    int k = 0;
    while (strcmp(support_trainings[k].name, others[i - n_golden_cases]) != 0) k++;
    const support_training *t = &support_trainings[k];
    golden_case c = {.name = t->name, .text = t->text, .file = t->file};
    memcpy(c.set, t->set, sizeof t->set);
    return c;
}

/* A tensor or a column. */
typedef struct part {
    char name[112];
    size_t bytes;
    uint64_t hash;
} part;

enum { MAX_PARTS = 4096 };
typedef struct parts {
    part items[MAX_PARTS];
    int n_tensors, n; /* columns lie behind the tensors */
    uint64_t played, reported;
} parts;

static int by_hash(const void *a, const void *b) {
    const uint64_t x = ((const part *)a)->hash, y = ((const part *)b)->hash;
    return x < y ? -1 : x > y;
}

static uint64_t combined(part *items, int n) {
    uint64_t hashes[MAX_PARTS];
    qsort(items, (size_t)n, sizeof *items, by_hash);
    for (int i = 0; i < n; i++) hashes[i] = items[i].hash;
    return XXH3_64bits(hashes, (size_t)n * sizeof *hashes);
}

static bool is_of_time(const char *name) {
    return strstr(name, "second") || strstr(name, "speed") || strstr(name, "per_s") || strstr(name, "time");
}

static void add(parts *p, const char *name, const void *bytes, size_t n) {
    if (is_of_time(name)) return;
    assert_in_range(p->n, 0, MAX_PARTS - 1);
    part *item = &p->items[p->n++];
    snprintf(item->name, sizeof item->name, "%s", name);
    item->bytes = n;
    item->hash = XXH3_64bits(bytes, n);
}

static void add_tensors(parts *p, const char *folder) {
    char path[128];
    lud_error error = {0};
    lud_checkpoint *checkpoint = NULL;
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
    if (lud_checkpoint_open(path, &checkpoint, &error)) fail_msg("%s", error.text);
    for (int i = 0; i < lud_checkpoint_n_tensors(checkpoint); i++) {
        const lud_tensor *t = lud_checkpoint_get(checkpoint, i);
        add(p, t->name, t->data, t->bytes);
    }
    lud_checkpoint_destroy(checkpoint);
    p->n_tensors = p->n;
}

/* Every column of metrics.csv as one text, its rows one below the other. */
static void add_metrics(parts *p, const char *folder) {
    enum { MAX_COLUMNS = 160 };
    static char column[MAX_COLUMNS][512];
    char path[128], names[MAX_COLUMNS][96], *line = NULL;
    size_t room = 0;
    ssize_t length;
    int n_columns = 0, n_rows = 0;
    snprintf(path, sizeof path, "%s/metrics.csv", folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    memset(column, 0, sizeof column);
    for (; (length = getline(&line, &room, file)) > 0; n_rows++) {
        line[length - 1] = '\0';
        int k = 0;
        for (char *cell = line, *next; cell; cell = next, k++) {
            next = strchr(cell, ',');
            if (next) *next++ = '\0';
            assert_in_range(k, 0, MAX_COLUMNS - 1);
            const size_t used = strlen(column[k]);
            if (n_rows == 0)
                snprintf(names[k], sizeof names[k], "metrics: %s", cell);
            else
                assert_true(snprintf(column[k] + used, sizeof column[k] - used, "%s\n", cell) <
                            (int)(sizeof column[k] - used));
        }
        if (n_rows == 0) n_columns = k;
        assert_int_equal(k, n_columns);
    }
    assert_in_range(n_rows, 3, 25);
    for (int k = 0; k < n_columns; k++) add(p, names[k], column[k], strlen(column[k]));
    free(line);
    fclose(file);
}

static lud_status read_scenario(const golden_case *c, const char *threads, lud_scenario **scenario,
                                lud_error *error) {
    const char *set[17];
    int n_set = 0;
    for (; c->set[n_set]; n_set++) set[n_set] = c->set[n_set];
    set[n_set++] = threads;
    return c->text ? lud_scenario_read("golden.yaml", c->text, strlen(c->text), set, n_set, scenario, error)
                   : lud_scenario_load(c->file, set, n_set, scenario, error);
}

/* What the run's agents do, where others can use it: states, actions and how probable they were,
 * and attention, of some steps in some environments. Embeddings cannot act. */
static uint64_t play(const golden_case *c, const char *folder, const char *threads) {
    enum { ENVIRONMENTS = 3, STEPS = 12 };
    lud_error error = {0};
    lud_scenario *scenario = NULL;
    lud_run run = {0};
    lud_runner runner = {0};
    uint64_t hash = 0;
    if (read_scenario(c, threads, &scenario, &error)) fail_msg("%s: %s", c->name, error.text);
    if (lud_run_open(folder, scenario, &run, &error)) return XXH3_64bits("none", 4);
    const lud_layout *layout = &run.scenario->model->layout;
    if (lud_runner_create(run.scenario->model, run.cast, ENVIRONMENTS, 77, 0, &runner, &error))
        fail_msg("%s: %s", c->name, error.text);
    if (lud_runner_tell(&runner, false, &error)) fail_msg("%s: %s", c->name, error.text);
    lud_runner_start(&runner);
    for (int t = 0; t < STEPS; t++) {
        lud_runner_step(&runner);
        const size_t chosen = ENVIRONMENTS * (size_t)layout->n_agents;
        for (size_t i = 0; i < chosen; i++)
            if (isnan(runner.log_probs[i])) runner.log_probs[i] = 1.0f; /* whatever kind it is */
        hash = XXH3_64bits_withSeed(runner.log_probs, chosen * sizeof *runner.log_probs, hash);
        if (runner.discrete && lud_max_discrete(layout) > 0)
            hash = XXH3_64bits_withSeed(runner.discrete, chosen * sizeof *runner.discrete, hash);
        if (runner.continuous && lud_max_continuous(layout) > 0)
            hash = XXH3_64bits_withSeed(
                runner.continuous, chosen * (size_t)lud_max_continuous(layout) * sizeof *runner.continuous,
                hash);
        hash = XXH3_64bits_withSeed(runner.batch->states, ENVIRONMENTS * layout->state_bytes, hash);
        float weights[256] = {0};
        const int n_nodes = lud_policy_attention(lud_cast_get(run.cast, 0), runner.batch->states, NULL);
        if (n_nodes > 0 && n_nodes * layout->n_agents <= 256 && t % 4 == 0) {
            lud_policy_attention(lud_cast_get(run.cast, 0), runner.batch->states, weights);
            hash = XXH3_64bits_withSeed(weights, sizeof weights, hash);
        }
        lud_runner_renew(&runner);
    }
    lud_runner_destroy(&runner);
    lud_run_close(&run);
    return hash;
}

/* Numbers of a report; its texts may have names of folders. */
static uint64_t hash_of_json(const json_t *json, uint64_t hash) {
    const char *key;
    size_t i;
    json_t *value;
    if (json_is_object(json)) {
        json_object_foreach((json_t *)(uintptr_t)json, key, value) {
            if (is_of_time(key)) continue;
            hash = hash_of_json(value, XXH3_64bits_withSeed(key, strlen(key), hash));
        }
    } else if (json_is_array(json)) {
        json_array_foreach(json, i, value) hash = hash_of_json(value, hash + 1);
    } else if (json_is_number(json)) {
        const double number = json_number_value(json);
        hash = XXH3_64bits_withSeed(&number, sizeof number, hash);
    } else if (!json_is_string(json)) {
        hash = XXH3_64bits_withSeed(&json->type, sizeof json->type, hash);
    }
    return hash;
}

/* What is reported of the run as a whole, and of the states in which some environments begin. */
static uint64_t report(const golden_case *c, const char *folder, const char *threads) {
    enum { ENVIRONMENTS = 2 };
    lud_error error = {0};
    lud_scenario *scenario = NULL;
    const lud_learner_kind *kind = NULL;
    uint64_t hash = 0;
    if (read_scenario(c, threads, &scenario, &error) || lud_run_kind(folder, scenario, &kind, &error))
        fail_msg("%s: %s", c->name, error.text);
    const size_t bytes = scenario->model->layout.state_bytes;
    uint8_t *states = calloc(ENVIRONMENTS, bytes + 1);
    uint32_t ticks[ENVIRONMENTS] = {0};
    assert_non_null(states);
    scenario->world->reset(scenario->model, (lud_range){.seed = 3, .n = ENVIRONMENTS, .tick = ticks}, states);
    const lud_scenario_overrides none = {.run = lud_run_as_written};
    for (int e = -1; e < ENVIRONMENTS; e++) {
        const lud_report_request request = {.folder = folder,
                                            .scenario = scenario,
                                            .overrides = &none,
                                            .json = true,
                                            .n_queries = 2,
                                            .episodes = 2,
                                            .state = states + (size_t)(e < 0 ? 0 : e) * bytes};
        lud_report found = {0};
        lud_status (*say)(const lud_report_request *, lud_report *, lud_error *) =
            e < 0 ? kind->evaluate_run : kind->describe_state;
        if (e < 0 && !strncmp(c->name, "mappo", 5)) continue; /* of stability much is computed */
        if (say && say(&request, &found, &error)) hash++;     /* it cannot say anything */
        if (found.json) hash = hash_of_json(found.json, hash);
        lud_text_free(&found.text);
        json_decref(found.json);
        lud_arena_destroy(found.arena);
    }
    free(states);
    lud_scenario_destroy(scenario);
    return hash;
}

/* Trains into a folder of its own and takes in what it wrote. */
static void train(const golden_case *c, const char *choice, int n_threads, parts *p) {
    char folder[] = "/tmp/ludus-golden-XXXXXX", threads[32], command[64];
    lud_error error = {0};
    lud_scenario *scenario = NULL;
    lud_device *device = NULL;
    lud_learner *learner = NULL;
    lud_train_result result;
    snprintf(threads, sizeof threads, "run.threads=%d", n_threads);
    if (read_scenario(c, threads, &scenario, &error)) fail_msg("%s: %s", c->name, error.text);
    if (lud_scenario_device(scenario, choice, &device, &error)) fail_msg("%s: %s", c->name, error.text);
    if (device->backend->host_memory && n_threads > 1) ((lud_cpu *)device)->work_per_thread = 1;
    if (lud_learner_create(scenario, device, &learner, &error)) fail_msg("%s: %s", c->name, error.text);
    assert_non_null(mkdtemp(folder));
    const lud_train_options options = {.folder = folder};
    if (support_train(scenario, learner, &options, &result, &error)) fail_msg("%s: %s", c->name, error.text);
    assert_in_range(result.iterations, 2, 20);
    lud_learner_destroy(learner);
    if (lud_device_failure(device)) fail_msg("%s: %s", c->name, lud_device_failure(device));
    lud_device_close(device);
    lud_scenario_destroy(scenario);
    p->n_tensors = p->n = 0;
    add_tensors(p, folder);
    add_metrics(p, folder);
    const bool on_cpu = strcmp(choice, "cpu") == 0;
    p->played = on_cpu ? play(c, folder, threads) : 0;
    p->reported = on_cpu && n_threads == 1 ? report(c, folder, threads) : 0;
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static bool is_printing(void) {
    const char *wish = getenv("LUDUS_GOLDEN_PRINT");
    return wish && strcmp(wish, "0") != 0;
}

static void print_parts(const golden_case *c, const parts *p) {
    for (int i = 0; i < p->n; i++)
        printf("//   %016llx %8zu bytes  %s: %s\n", (unsigned long long)p->items[i].hash, p->items[i].bytes,
               c->name, p->items[i].name);
}

/* Null: the case has no known value on the device. */
static const golden_value *known(const char *name, const char *device) {
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!strcmp(values[i].name, name) && !strcmp(values[i].device, device)) return &values[i];
    return NULL;
}

/* A case on a device. */
typedef struct golden_test {
    golden_case c;
    char name[112];
    const char *device;
    int n_threads;
} golden_test;

static void check(void **state) {
    static parts p;
    const golden_test *t = *state;
    const golden_value *value = known(t->c.name, t->device);
    train(&t->c, t->device, t->n_threads, &p);
    const uint64_t checkpoint = combined(p.items, p.n_tensors),
                   metrics = combined(p.items + p.n_tensors, p.n - p.n_tensors);
    const bool reports = t->n_threads == 1 && !strcmp(t->device, "cpu"); /* once is enough */
    const bool same = value && value->checkpoint == checkpoint && value->metrics == metrics &&
                      value->played == p.played && (!reports || value->reported == p.reported);
    if (is_printing() || !same) {
        printf("{\"%s\", \"%s\", 0x%016llx, 0x%016llx, 0x%016llx, 0x%016llx},\n", t->c.name, t->device,
               (unsigned long long)checkpoint, (unsigned long long)metrics, (unsigned long long)p.played,
               (unsigned long long)p.reported);
        print_parts(&t->c, &p);
    }
    if (same || is_printing()) return;
    fail_msg("not what is known:%s%s%s%s", value->checkpoint != checkpoint ? " the checkpoint" : "",
             value->metrics != metrics ? " the metrics" : "",
             value->played != p.played ? " what its agents do" : "",
             reports && value->reported != p.reported ? " what is reported" : "");
}

/* Whether the processor, or one emulated, computes the known bytes; a message says why not. */
static bool is_possible(void) {
    setenv("LUDUS_CPU", "avx2", 1);
    const char *why = held_to_avx2();
    if (why) print_message("%s\n", why);
    return !why;
}

static void none_here(void **state) {
    (void)state;
    skip();
}

int support_golden_tests(const char *device, int n_threads, struct CMUnitTest *tests) {
    if (!device || !is_possible()) {
        tests[0] = (struct CMUnitTest)cmocka_unit_test(none_here);
        return 1;
    }
    static golden_test all[SUPPORT_GOLDEN_TESTS];
    static int n_all;
    int n = 0;
    for (int i = 0; i < n_golden_cases + OTHERS; i++) {
        golden_test *t = &all[n_all];
        *t = (golden_test){.c = case_of(i), .device = device, .n_threads = n_threads};
        if (!known(t->c.name, device) && !is_printing()) continue;
        if (is_printing() && n_threads > 1) continue;
        assert(n_all < SUPPORT_GOLDEN_TESTS);
        n_all++;
        snprintf(t->name, sizeof t->name, "%.80s, threads: %d", t->c.name, n_threads);
        tests[n++] = (struct CMUnitTest){.name = t->name, .test_func = check, .initial_state = t};
    }
    return n;
}
