/* The public interface: it does what the layers below do, says what is wrong with a call, and survives any
 * call. */
#include <dirent.h>
#include <fcntl.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <ludus/ludus.h>

#include "base/random.h"
#include "folder.h"
#include "sim/batch.h"
#include "sim/scenario.h"

#define SCENARIO(name) LUDUS_SOURCE_DIR "/scenarios/" name

TEST_FOLDER("/tmp/ludus-library-XXXXXX")

static const char *const worlds[] = {SCENARIO("multigrid/rescue.yaml"),
                                     SCENARIO("multigrid/unsteady_ground.yaml"),
                                     SCENARIO("particle/simple_spread.yaml"), SCENARIO("tribes/small.yaml"),
                                     SCENARIO("proof/family_tree.yaml")};
enum { N_WORLDS = sizeof worlds / sizeof *worlds };

static ludus_scenario *load(const char *path) {
    ludus_error error;
    ludus_scenario *scenario;
    if (ludus_scenario_load(path, NULL, 0, &scenario, &error)) fail_msg("%s", error.message);
    return scenario;
}

static uint32_t draw(uint32_t step, uint32_t agent, size_t below) {
    return lud_below(lud_draw((lud_random_key){.seed = 5}, step, agent, LUD_PURPOSE_USER, 0).v[0],
                     (uint32_t)below);
}

/* Choices that are there, and numbers in range. */
static void choose(const ludus_scenario *scenario, const ludus_batch *batch, int n, uint32_t step,
                   int32_t *choices, float *numbers, uint8_t *masks) {
    ludus_scenario_info info;
    ludus_error error;
    assert_int_equal(ludus_scenario_get_info(scenario, &info), LUDUS_OK);
    assert_int_equal(ludus_batch_masks(batch, masks, &error), LUDUS_OK);
    for (int i = 0; i < n * info.n_agents; i++) {
        const uint8_t *mask = masks + (size_t)i * (size_t)info.max_actions;
        choices[i] = 0;
        if (info.max_actions) {
            int choice = (int)draw(step, (uint32_t)i, (size_t)info.max_actions), tried = 0;
            while (!mask[choice] && tried++ < info.max_actions) choice = (choice + 1) % info.max_actions;
            choices[i] = mask[choice] ? choice : 0;
        }
        for (int k = 0; k < info.max_continuous; k++)
            numbers[i * info.max_continuous + k] = (float)draw(step, (uint32_t)(i + 7 * k), 2000) / 1000 - 1;
    }
}

typedef struct arrays {
    int32_t *choices;
    float *numbers, *rewards;
    uint8_t *terminated, *truncated, *masks;
} arrays;

static arrays arrays_of(const ludus_scenario_info *info, int n) {
    const size_t cells = (size_t)n * (size_t)info->n_agents;
    const arrays a = {
        calloc(cells, sizeof(int32_t)), calloc(cells * (size_t)(info->max_continuous + 1), sizeof(float)),
        calloc(cells, sizeof(float)),   calloc((size_t)n, 1),
        calloc((size_t)n, 1),           calloc(cells * (size_t)(info->max_actions + 1), 1)};
    assert_true(a.choices && a.numbers && a.rewards && a.terminated && a.truncated && a.masks);
    return a;
}

static void free_arrays(arrays a) {
    LUD_FREE(a.choices, a.numbers, a.rewards, a.terminated, a.truncated, a.masks);
}

/* A batch of the library and one of the layers below take the same actions: same bytes. */
static void test_same_as_below(void **state) {
    (void)state;
    enum { N = 70, STEPS = 60 };
    for (int w = 0; w < N_WORLDS; w++) {
        ludus_error error;
        ludus_scenario_info info;
        ludus_batch *batch;
        ludus_scenario *scenario = load(worlds[w]);
        assert_int_equal(ludus_scenario_get_info(scenario, &info), LUDUS_OK);
        const ludus_batch_options options = {.n_environments = N, .seed = 9, .n_threads = 2};
        assert_int_equal(ludus_batch_create(scenario, &options, &batch, &error), LUDUS_OK);
        lud_scenario *inner;
        lud_batch *below;
        lud_error inner_error = {0};
        assert_int_equal(lud_scenario_load(worlds[w], NULL, 0, &inner, &inner_error), LUD_OK);
        assert_int_equal(lud_batch_create(inner->model, N, 9, 0, &below, &inner_error), LUD_OK);
        arrays a = arrays_of(&info, N);
        float *rewards = calloc((size_t)N * (size_t)info.n_agents, sizeof *rewards);
        assert_non_null(rewards);
        const ludus_out out = {.rewards = a.rewards, .terminated = a.terminated, .truncated = a.truncated};
        const lud_batch_out out_below = {.rewards = rewards};
        lud_batch_reset(below, NULL);
        for (uint32_t step = 0; step < STEPS; step++) {
            assert_memory_equal(ludus_batch_states(batch), below->states, N * info.state_bytes);
            choose(scenario, batch, N, step, a.choices, a.numbers, a.masks);
            const ludus_actions actions = {a.choices, a.numbers};
            if (ludus_batch_step(batch, &actions, &out, &error)) fail_msg("%s", error.message);
            lud_batch_step(below, (lud_actions){a.choices, a.numbers}, &out_below);
            assert_memory_equal(a.rewards, rewards, (size_t)N * (size_t)info.n_agents * sizeof *rewards);
        }
        free(rewards);
        free_arrays(a);
        lud_batch_destroy(below);
        lud_scenario_destroy(inner);
        ludus_batch_free(batch);
        ludus_scenario_free(scenario);
    }
}

/* What becomes of a finished environment, and seeds: environment e with a seed of its own is environment 0 of
 * a batch of that seed. */
static void test_ends_and_seeds(void **state) {
    (void)state;
    enum { N = 5 };
    const uint64_t seeds[N] = {3, 1, 4, 1, 5};
    ludus_error error;
    ludus_scenario *scenario = load(SCENARIO("empo/fetch_the_key.yaml"));
    ludus_scenario_info info;
    ludus_scenario_get_info(scenario, &info);
    arrays a = arrays_of(&info, N);
    const ludus_actions actions = {a.choices, a.numbers};
    uint8_t ended[N];
    int32_t n_ended;
    float team_rewards[N];
    const ludus_out out = {.rewards = a.rewards,
                           .terminated = a.terminated,
                           .truncated = a.truncated,
                           .team_rewards = team_rewards,
                           .ended = ended,
                           .n_ended = &n_ended};
    for (ludus_end end = LUDUS_END_RESETS; end <= LUDUS_END_STAYS; end++) {
        ludus_batch *batch, *single;
        ludus_batch_options options = {.n_environments = N, .seeds = seeds, .end = end};
        assert_int_equal(ludus_batch_create(scenario, &options, &batch, &error), LUDUS_OK);
        options = (ludus_batch_options){.n_environments = 1, .seed = seeds[2], .end = end};
        assert_int_equal(ludus_batch_create(scenario, &options, &single, &error), LUDUS_OK);
        for (int step = 1; step <= 23; step++) {
            assert_int_equal(ludus_batch_step(batch, &actions, &out, &error), LUDUS_OK);
            const int at = ludus_batch_steps(batch)[2];
            const bool done = a.terminated[2] || a.truncated[2];
            for (int e = 0; e < N; e++) {
                assert_int_equal(ended[e], a.terminated[e] || a.truncated[e]);
                n_ended -= ended[e];
                float sum = 0.0f;
                for (int i = 0; i < info.n_agents; i++) sum += a.rewards[e * info.n_agents + i];
                assert_true(team_rewards[e] == sum);
            }
            assert_int_equal(n_ended, 0);
            if (end == LUDUS_END_RESETS) assert_true(at == step % 10 && done == (step % 10 == 0));
            if (end == LUDUS_END_RESETS_NEXT) assert_true(at == step % 11 && done == (step % 11 == 10));
            if (end == LUDUS_END_STAYS) assert_true(at == (step < 10 ? step : 10) && done == (step >= 10));
            assert_int_equal(ludus_batch_step(single, &actions, NULL, &error), LUDUS_OK);
            assert_memory_equal(ludus_batch_states(batch) + 2 * info.state_bytes, ludus_batch_states(single),
                                info.state_bytes);
        }
        const uint8_t chosen[N] = {0, 0, 1, 0, 0};
        assert_int_equal(ludus_batch_reset(batch, chosen, NULL, &error), LUDUS_OK);
        assert_int_equal(ludus_batch_steps(batch)[2], 0);
        assert_int_equal(ludus_batch_steps(batch)[1], end == LUDUS_END_STAYS    ? 10
                                                      : end == LUDUS_END_RESETS ? 3
                                                                                : 1);
        ludus_batch_free(single);
        ludus_batch_free(batch);
    }
    free_arrays(a);
    ludus_scenario_free(scenario);
}

static void test_snapshots_and_states(void **state) {
    (void)state;
    ludus_error error;
    ludus_scenario *scenario = load(SCENARIO("multigrid/unsteady_ground.yaml"));
    ludus_scenario_info info;
    ludus_scenario_get_info(scenario, &info);
    ludus_batch *batch;
    const ludus_batch_options options = {.n_environments = 8, .seed = 2};
    assert_int_equal(ludus_batch_create(scenario, &options, &batch, &error), LUDUS_OK);
    arrays a = arrays_of(&info, 8);
    const ludus_actions actions = {a.choices, a.numbers};
    void *snapshot = malloc(ludus_batch_snapshot_bytes(batch)), *after = malloc(8 * info.state_bytes);
    assert_true(snapshot && after);
    assert_int_equal(ludus_batch_save(batch, snapshot, &error), LUDUS_OK);
    for (int step = 0; step < 9; step++)
        assert_int_equal(ludus_batch_step(batch, &actions, NULL, &error), LUDUS_OK);
    memcpy(after, ludus_batch_states(batch), 8 * info.state_bytes);
    assert_int_equal(ludus_batch_load(batch, snapshot, &error), LUDUS_OK);
    for (int step = 0; step < 9; step++)
        assert_int_equal(ludus_batch_step(batch, &actions, NULL, &error), LUDUS_OK);
    assert_memory_equal(after, ludus_batch_states(batch), 8 * info.state_bytes);
    /* every state that follows is a state; bytes that are none are refused and change nothing */
    memset(after, 0xff, info.state_bytes);
    const uint64_t before = ludus_state_hash(scenario, ludus_batch_states(batch));
    assert_int_equal(ludus_batch_set_states(batch, 0, 1, after, &error), LUDUS_ERROR_INPUT);
    assert_int_equal(ludus_state_hash(scenario, ludus_batch_states(batch)), before);
    int32_t joint[64] = {0};
    size_t n;
    assert_int_equal(
        ludus_state_successors(scenario, ludus_batch_states(batch), joint, 0, NULL, NULL, &n, &error),
        LUDUS_OK);
    uint8_t *states = malloc((n + 1) * info.state_bytes);
    double *p = malloc((n + 1) * sizeof *p), sum = 0;
    assert_true(states && p && n > 0);
    assert_int_equal(
        ludus_state_successors(scenario, ludus_batch_states(batch), joint, n, states, p, &n, &error),
        LUDUS_OK);
    for (size_t i = 0; i < n; i++) {
        sum += p[i];
        assert_int_equal(ludus_state_check(scenario, states + i * info.state_bytes, &error), LUDUS_OK);
    }
    assert_true(sum > 1 - 1e-9 && sum < 1 + 1e-9);
    LUD_FREE(states, p, snapshot, after);
    free_arrays(a);
    ludus_batch_free(batch);
    ludus_scenario_free(scenario);
}

/* Threads of this process. */
static int count_threads(void) {
    DIR *tasks = opendir("/proc/self/task");
    int n = 0;
    for (const struct dirent *entry; tasks && (entry = readdir(tasks));) n += entry->d_name[0] != '.';
    if (tasks) closedir(tasks);
    return n;
}

/* A child of a process that has used two threads asks for two as well, has them, and gets the same bytes; so
 * does the parent afterwards. */
static void test_forked(void **state) {
    (void)state;
    enum { N = 200 };
    ludus_error error;
    ludus_scenario *scenario = load(SCENARIO("multigrid/unsteady_ground.yaml"));
    ludus_scenario_info info;
    ludus_scenario_get_info(scenario, &info);
    arrays a = arrays_of(&info, N);
    const ludus_actions actions = {a.choices, a.numbers};
    const ludus_batch_options options = {.n_environments = N, .seed = 6, .n_threads = 2};
    uint64_t hash[3] = {0}; /* before the fork, in the child, in the parent */
    pid_t child = -1;
    int ends[2], n_threads = 0;
    assert_int_equal(pipe(ends), 0);
    for (int time = 0; time < 3; time++) {
        if (time == 1) child = fork();
        if (time == 1 && child) continue;
        ludus_batch *batch;
        if (ludus_batch_create(scenario, &options, &batch, &error)) fail_msg("%s", error.message);
        for (int step = 0; step < 5; step++)
            if (ludus_batch_step(batch, &actions, NULL, &error)) fail_msg("%s", error.message);
        for (int e = 0; e < N; e++)
            hash[time] = 31 * hash[time] +
                         ludus_state_hash(scenario, ludus_batch_states(batch) + (size_t)e * info.state_bytes);
        ludus_batch_free(batch);
        n_threads = count_threads();
        if (!child) _exit(write(ends[1], &hash[1], sizeof hash[1]) != sizeof hash[1] || n_threads < 2);
    }
    int status;
    assert_true(n_threads >= 2);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], &hash[1], sizeof hash[1]), sizeof hash[1]);
    assert_int_equal(hash[0], hash[1]);
    assert_int_equal(hash[0], hash[2]);
    close(ends[0]), close(ends[1]);
    free_arrays(a);
    ludus_scenario_free(scenario);
}

/* Some environments get new seeds: they begin as new ones, the others go on. Last states are told. */
static void test_some_seeds(void **state) {
    (void)state;
    enum { N = 3 };
    ludus_error error;
    ludus_scenario *scenario = load(SCENARIO("particle/simple_spread.yaml"));
    ludus_scenario_info info;
    ludus_scenario_get_info(scenario, &info);
    arrays a = arrays_of(&info, N);
    const ludus_actions actions = {a.choices, a.numbers};
    const uint64_t seeds[N] = {1, 2, 3}, others[N] = {7, 8, 9};
    const uint8_t chosen[N] = {0, 1, 0};
    ludus_batch *batch, *expected;
    ludus_batch_options options = {.n_environments = N, .seeds = seeds};
    assert_int_equal(ludus_batch_create(scenario, &options, &batch, &error), LUDUS_OK);
    options = (ludus_batch_options){.n_environments = 1, .seed = 8};
    assert_int_equal(ludus_batch_create(scenario, &options, &expected, &error), LUDUS_OK);
    assert_int_equal(ludus_batch_seed(expected, chosen, 1, NULL, &error), LUDUS_ERROR_INPUT);
    const uint64_t before = ludus_state_hash(scenario, ludus_batch_states(batch));
    assert_int_equal(ludus_batch_step(batch, &actions, NULL, &error), LUDUS_OK);
    const uint64_t after = ludus_state_hash(scenario, ludus_batch_states(batch));
    assert_int_equal(ludus_batch_seed(batch, chosen, 0, others, &error), LUDUS_OK);
    assert_int_equal(ludus_batch_reset(batch, chosen, NULL, &error), LUDUS_OK);
    assert_memory_equal(ludus_batch_states(batch) + info.state_bytes, ludus_batch_states(expected),
                        info.state_bytes);
    assert_int_equal(ludus_state_hash(scenario, ludus_batch_states(batch)), after);
    assert_true(before != after);
    uint8_t *last = calloc(N, info.state_bytes), *earlier = calloc(N, info.state_bytes);
    assert_true(last && earlier);
    const ludus_out nowhere = {.team_rewards = (float *)(void *)earlier};
    assert_int_equal(ludus_batch_step(batch, &actions, &nowhere, &error), LUDUS_ERROR_INPUT);
    assert_non_null(strstr(error.message, "team_rewards"));
    const ludus_out out = {.final_states = last, .terminated = a.terminated, .truncated = a.truncated};
    do {
        memcpy(earlier, ludus_batch_states(batch), N * info.state_bytes);
        assert_int_equal(ludus_batch_step(batch, &actions, &out, &error), LUDUS_OK);
    } while (!a.truncated[0]);
    assert_int_equal(ludus_state_check(scenario, last, &error), LUDUS_OK);
    assert_true(memcmp(last, ludus_batch_states(batch), info.state_bytes) != 0);
    assert_int_equal(ludus_batch_set_states(expected, 0, 1, earlier, &error), LUDUS_OK);
    LUD_FREE(last, earlier);
    free_arrays(a);
    ludus_batch_free(batch);
    ludus_batch_free(expected);
    ludus_scenario_free(scenario);
}

/* A wrong file is named with its place; a wrong call says what was expected. */
static void test_errors(void **state) {
    (void)state;
    ludus_error error;
    ludus_scenario *scenario = NULL;
    static const char text[] =
        "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We\n  max_stepz: 3\n";
    assert_int_equal(ludus_scenario_read("mine.yaml", text, sizeof text - 1, NULL, 0, &scenario, &error),
                     LUDUS_ERROR_INPUT);
    assert_null(scenario);
    assert_string_equal(error.file, "mine.yaml");
    assert_int_equal(error.line, 6);
    assert_non_null(strstr(error.message, "max_steps"));
    assert_ptr_equal(strstr(error.text, "mine.yaml:6:"), error.text);
    assert_non_null(strstr(error.text, error.message));
    assert_int_equal(ludus_scenario_load("nowhere.yaml", NULL, 0, &scenario, &error), LUDUS_ERROR_INPUT);
    assert_string_equal(error.file, "nowhere.yaml");
    assert_int_equal(error.line, 0);
    assert_ptr_equal(strstr(error.message, "no such file"), error.message);
    assert_ptr_equal(strstr(error.text, "nowhere.yaml: no such file"), error.text);
    assert_int_equal(ludus_scenario_load(NULL, NULL, 0, &scenario, &error), LUDUS_ERROR_INPUT);
    assert_string_equal(error.message, "ludus_scenario_load: expected path");
    scenario = load(SCENARIO("multigrid/tiny.yaml"));
    ludus_batch *batch;
    const ludus_batch_options options = {.n_environments = 2};
    assert_int_equal(ludus_batch_create(scenario, &options, &batch, &error), LUDUS_OK);
    const int32_t wrong[64] = {0, 99};
    const ludus_actions actions = {wrong, NULL};
    const uint64_t before = ludus_state_hash(scenario, ludus_batch_states(batch));
    assert_int_equal(ludus_batch_step(batch, &actions, NULL, &error), LUDUS_ERROR_INPUT);
    assert_non_null(strstr(error.message, "choice 99"));
    assert_int_equal(ludus_state_hash(scenario, ludus_batch_states(batch)), before);
    ludus_batch_free(batch);
    ludus_scenario_free(scenario);
}

/* How many threads the caller's own OpenMP uses is not the library's to change. */
static void test_threads_of_the_caller(void **state) {
    (void)state;
    ludus_error error;
    ludus_scenario *scenario;
    const char *one = "run.threads=1";
    const int before = omp_get_max_threads();
    omp_set_num_threads(3);
    assert_int_equal(ludus_scenario_load(SCENARIO("multigrid/tiny.yaml"), &one, 1, &scenario, &error),
                     LUDUS_OK);
    assert_int_equal(omp_get_max_threads(), 3);
    ludus_batch *batch;
    ludus_policy *policy;
    assert_int_equal(
        ludus_batch_create(scenario, &(ludus_batch_options){.n_environments = 2}, &batch, &error), LUDUS_OK);
    assert_int_equal(ludus_policy_open(batch, NULL, &policy, &error), LUDUS_OK);
    assert_int_equal(ludus_policy_act(policy, NULL, NULL, NULL, NULL, &error), LUDUS_OK);
    assert_int_equal(ludus_train(scenario, &(ludus_train_options){.run = "/nowhere/run"}, &error),
                     LUDUS_ERROR_INPUT);
    assert_int_equal(omp_get_max_threads(), 3);
    omp_set_num_threads(before);
    ludus_policy_free(policy);
    ludus_batch_free(batch);
    ludus_scenario_free(scenario);
}

/* What the loader sees: exactly the functions of the header are visible, and none is called that would end
 * the process or write on standard output. */
static void test_symbols(void **state) {
    (void)state;
    if (*SANITIZED) skip(); /* whose functions are seen too */
    static const char *const never[] = {"exit", "_exit",   "quick_exit", "abort",  "printf",
                                        "puts", "putchar", "vprintf",    "stdout", "__printf_chk"};
    char line[1024], name[512], type;
    int n_visible = 0, n_declared = 0;
    FILE *file = popen("nm -P -D " LUDUS_BINARY_DIR "/libludus.so", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%511[^@ ]%*[^ ] %c", name, &type) != 2 &&
            sscanf(line, "%511s %c", name, &type) != 2)
            continue;
        const bool of_linker = !strcmp(name, "__bss_start") || !strcmp(name, "_edata") ||
                               !strcmp(name, "_end") || !strcmp(name, "_init") || !strcmp(name, "_fini");
        if (!strchr("Uwv", type) && !of_linker) {
            if (strncmp(name, "ludus_", 6) != 0) fail_msg("%s is visible", name);
            n_visible++;
        }
        for (size_t i = 0; i < sizeof never / sizeof *never; i++)
            if (!strcmp(name, never[i])) fail_msg("the library uses %s", name);
    }
    assert_int_equal(pclose(file), 0);
    file = fopen(LUDUS_SOURCE_DIR "/include/ludus/ludus.h", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) n_declared += !strncmp(line, "LUDUS_API ", 10);
    fclose(file);
    assert_int_equal(n_visible, n_declared);
}

/* What verbs have much to say about: an error, an exact solution, a training, and what both are judged by. */
static ludus_status talk(ludus_error *error) {
    static const char text[] =
        "ludus: 1\nworld: particle\nparticle: {task: simple_spread, episode_length: 5}\n"
        "run: {threads: 1, environments: 4}\n"
        "learner: {type: graph-mappo, steps: 400, evaluation_episodes: 2}\n";
    char solved[64], trained[64], *reports[2] = {NULL};
    ludus_scenario *world = NULL, *small = NULL;
    ludus_solution *solution = NULL;
    snprintf(solved, sizeof solved, "%s/solved", folder);
    snprintf(trained, sizeof trained, "%s/trained", folder);
    const ludus_train_options options = {.run = trained, .device = "cpu"};
    if (!ludus_scenario_load("nowhere.yaml", NULL, 0, &world, error)) return LUDUS_ERROR_INPUT;
    ludus_status status = ludus_scenario_load(SCENARIO("empo/fetch_the_key.yaml"), NULL, 0, &world, error);
    if (!status) status = ludus_solve(world, solved, 0, 2, &solution, error);
    if (!status) status = ludus_evaluate(solved, &reports[0], error);
    if (!status) status = ludus_scenario_read("small.yaml", text, sizeof text - 1, NULL, 0, &small, error);
    if (!status) status = ludus_train(small, &options, error);
    if (!status) status = ludus_evaluate(trained, &reports[1], error);
    ludus_free(reports[0]);
    ludus_free(reports[1]);
    ludus_solution_free(solution);
    ludus_scenario_free(world);
    ludus_scenario_free(small);
    return status;
}

/* Nothing is printed: the file behind both descriptors stays empty. */
static void test_silence(void **state) {
    (void)state;
    char path[64];
    struct stat info;
    ludus_error error = {0};
    snprintf(path, sizeof path, "%s/said", folder);
    const int said = open(path, O_WRONLY | O_CREAT, 0600), out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    assert_true(said >= 0 && out >= 0 && err >= 0);
    fflush(NULL);
    dup2(said, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    const ludus_status status = talk(&error);
    fflush(NULL);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    if (status) fail_msg("%s", error.text);
    assert_int_equal(fstat(said, &info), 0);
    assert_int_equal(info.st_size, 0);
    close(said);
    close(out);
    close(err);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_as_below),
                                       cmocka_unit_test(test_ends_and_seeds),
                                       cmocka_unit_test(test_snapshots_and_states),
                                       cmocka_unit_test(test_forked),
                                       cmocka_unit_test(test_some_seeds),
                                       cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_threads_of_the_caller),
                                       cmocka_unit_test(test_symbols),
                                       cmocka_unit_test(test_silence)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
