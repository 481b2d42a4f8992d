/* Different handles may be used by different threads at the same time; what each gets is what it gets alone.
 */
#include <ludus/ludus.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 4, ENVIRONMENTS = 8, STEPS = 40 };

static char folder[] = "/tmp/ludus-handles-XXXXXX";

typedef struct job {
    int number;
    bool ok;
    uint64_t hash;
    char wrong[1024];
} job;

static bool holds(job *j, ludus_status status, const ludus_error *error) {
    if (status) snprintf(j->wrong, sizeof j->wrong, "%s", error->message);
    return !status;
}

static bool step_alone(job *j, ludus_scenario *scenario) {
    ludus_error error;
    ludus_scenario_info info;
    ludus_batch *batch = NULL;
    ludus_scenario_get_info(scenario, &info);
    const ludus_batch_options o = {
        .n_environments = ENVIRONMENTS, .n_threads = 1, .seed = 3, .end = LUDUS_END_RESETS};
    int32_t *choices = calloc((size_t)(ENVIRONMENTS * info.n_agents), sizeof *choices);
    bool ok = choices && holds(j, ludus_batch_create(scenario, &o, &batch, &error), &error);
    for (int step = 0; step < STEPS && ok; step++) {
        for (int i = 0; i < ENVIRONMENTS * info.n_agents; i++) choices[i] = (step + i) % 4;
        ok = holds(j, ludus_batch_step(batch, &(ludus_actions){.discrete = choices}, NULL, &error), &error);
        for (int e = 0; e < ENVIRONMENTS && ok; e++)
            j->hash = j->hash * 31 +
                      ludus_state_hash(scenario, ludus_batch_states(batch) + (size_t)e * info.state_bytes);
    }
    ludus_batch_free(batch);
    free(choices);
    return ok;
}

/* A world, a wrong scenario, a training and its policy, all of this thread's own. */
static void *work(void *argument) {
    static const char grid[] =
        "ludus: 1\nworld: multigrid\nmultigrid: {map: [We We We We, We Ae .. We, We .. .. We, "
        "We We We We], actions: object, max_steps: 9, agents: [{facing: east}]}\n";
    static const char team[] =
        "ludus: 1\nworld: particle\nparticle: {task: simple_spread, episode_length: 5}\n"
        "run: {threads: 1, environments: 4}\n"
        "learner: {type: graph-mappo, steps: 40, evaluation_episodes: 2}\n";
    static const char wrong[] = "ludus: 1\nworld: particle\nparticle: {task: nothing}\n";
    job *j = argument;
    char run[64];
    ludus_error error;
    ludus_scenario *scenario = NULL, *lesson = NULL, *none = NULL;
    snprintf(run, sizeof run, "%s/%d", folder, j->number);
    j->ok = holds(j, ludus_scenario_read("grid.yaml", grid, sizeof grid - 1, NULL, 0, &scenario, &error),
                  &error) &&
            step_alone(j, scenario);
    j->ok = j->ok && ludus_scenario_read("wrong.yaml", wrong, sizeof wrong - 1, NULL, 0, &none, &error) ==
                         LUDUS_ERROR_INPUT;
    j->ok =
        j->ok &&
        holds(j, ludus_scenario_read("team.yaml", team, sizeof team - 1, NULL, 0, &lesson, &error), &error);
    const ludus_train_options options = {.run = run, .device = "cpu"};
    j->ok = j->ok && holds(j, ludus_train(lesson, &options, &error), &error);
    ludus_scenario_free(scenario);
    ludus_scenario_free(lesson);
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    job jobs[THREADS] = {0}, alone = {.number = THREADS};
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < THREADS; i++) {
        jobs[i].number = i;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &jobs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    work(&alone);
    for (int i = 0; i < THREADS; i++) {
        if (!jobs[i].ok) fail_msg("%s", jobs[i].wrong);
        assert_true(jobs[i].hash == alone.hash && alone.hash != 0);
    }
    char command[256];
    for (int i = 0; i < THREADS; i++) {
        snprintf(command, sizeof command, "test -s %s/%d/policy.safetensors", folder, i);
        assert_int_equal(system(command), 0);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
