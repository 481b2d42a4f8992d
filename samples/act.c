/* Trains the learner of a scenario for a moment and lets what it has learned act in 64 environments. */
#include <ludus/ludus.h>
#include <stdio.h>
#include <stdlib.h>

static void need(ludus_status status, const ludus_error *error) {
    if (!status || status == LUDUS_INTERRUPTED) return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

static int after_iteration(void *context, uint64_t iteration, uint64_t n_iterations, int n_columns,
                           const char *const *columns, const double *row) {
    const uint64_t *most = context;
    printf("iteration %llu of %llu: %s %.4f\n", (unsigned long long)iteration,
           (unsigned long long)n_iterations, n_columns ? columns[0] : "", n_columns ? row[0] : 0);
    return iteration >= *most; /* then it saves and stops */
}

int main(int argc, char **argv) {
    enum { ENVIRONMENTS = 64, STEPS = 100 };
    ludus_error error;
    ludus_scenario *scenario;
    ludus_scenario_info info;
    ludus_batch *batch;
    ludus_policy *policy;
    uint64_t most = 2;
    if (argc != 3) return fprintf(stderr, "usage: %s SCENARIO RUN\n", argv[0]), 2;
    need(ludus_scenario_load(argv[1], NULL, 0, &scenario, &error), &error);
    ludus_scenario_get_info(scenario, &info);
    const ludus_train_options training = {.run = argv[2],
                                          .device = "cpu",
                                          .overwrite = true,
                                          .after_iteration = after_iteration,
                                          .context = &most};
    need(ludus_train(scenario, &training, &error), &error);

    const ludus_batch_options options = {.n_environments = ENVIRONMENTS, .seed = 1, .end = LUDUS_END_RESETS};
    need(ludus_batch_create(scenario, &options, &batch, &error), &error);
    need(ludus_policy_open(batch, argv[2], &policy, &error), &error);
    const size_t cells = (size_t)ENVIRONMENTS * (size_t)info.n_agents;
    int32_t *choices = calloc(cells, sizeof *choices);
    float *numbers = calloc(cells * (size_t)(info.max_continuous + 1), sizeof *numbers);
    float *rewards = calloc(cells, sizeof *rewards);
    uint8_t done[2][ENVIRONMENTS];
    if (!choices || !numbers || !rewards) return 1;
    double sum = 0;
    for (int step = 0; step < STEPS; step++) {
        need(ludus_policy_act(policy, NULL, choices, numbers, NULL, &error), &error);
        const ludus_actions actions = {.discrete = choices, .continuous = numbers};
        const ludus_out out = {.rewards = rewards, .terminated = done[0], .truncated = done[1]};
        need(ludus_batch_step(batch, &actions, &out, &error), &error);
        for (size_t i = 0; i < cells; i++) sum += (double)rewards[i];
        for (int e = 0; e < ENVIRONMENTS; e++) done[0][e] |= done[1][e];
        need(ludus_policy_reset(policy, done[0], &error), &error); /* those whose episodes ended */
    }
    printf("mean reward of a step %.4f\n", sum / (double)cells / STEPS);
    free(choices), free(numbers), free(rewards);
    ludus_policy_free(policy);
    ludus_batch_free(batch);
    ludus_scenario_free(scenario);
    return 0;
}
