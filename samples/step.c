/* Steps 1,024 copies of a world with random choices and prints what an episode brings. */
#include <ludus/ludus.h>
#include <stdio.h>
#include <stdlib.h>

static void need(ludus_status status, const ludus_error *error) {
    if (!status) return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

int main(int argc, char **argv) {
    enum { ENVIRONMENTS = 1024, STEPS = 200 };
    ludus_error error;
    ludus_scenario *scenario;
    ludus_scenario_info info;
    ludus_batch *batch;
    if (argc != 2) return fprintf(stderr, "usage: %s SCENARIO\n", argv[0]), 2;
    if (ludus_abi() != LUDUS_ABI) return fprintf(stderr, "this library is another version\n"), 1;
    need(ludus_scenario_load(argv[1], NULL, 0, &scenario, &error), &error);
    ludus_scenario_get_info(scenario, &info);
    const ludus_batch_options options = {.n_environments = ENVIRONMENTS, .seed = 1};
    need(ludus_batch_create(scenario, &options, &batch, &error), &error);

    const size_t cells = (size_t)ENVIRONMENTS * (size_t)info.n_agents;
    int32_t *choices = calloc(cells, sizeof *choices);
    float *numbers = calloc(cells * (size_t)(info.max_continuous + 1), sizeof *numbers);
    float *rewards = calloc(cells, sizeof *rewards);
    uint8_t *terminated = calloc(ENVIRONMENTS, 1), *truncated = calloc(ENVIRONMENTS, 1);
    if (!choices || !numbers || !rewards || !terminated || !truncated) return 1;
    const ludus_actions actions = {.discrete = choices, .continuous = numbers};
    const ludus_out out = {.rewards = rewards, .terminated = terminated, .truncated = truncated};
    double sum = 0;
    long episodes = 0;
    need(ludus_batch_reset(batch, NULL, NULL, &error), &error);
    for (int step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < cells; i++) {
            ludus_agent_info agent;
            ludus_scenario_get_agent(scenario, (int)(i % (size_t)info.n_agents), &agent);
            if (agent.n_actions) choices[i] = rand() % agent.n_actions;
        }
        need(ludus_batch_step(batch, &actions, &out, &error), &error);
        for (size_t i = 0; i < cells; i++) sum += (double)rewards[i];
        for (int e = 0; e < ENVIRONMENTS; e++) episodes += terminated[e] || truncated[e];
    }
    printf("%s: %d agents, %ld episodes, mean reward of a step %.4f\n", info.name, info.n_agents, episodes,
           sum / (double)cells / STEPS);
    free(choices), free(numbers), free(rewards), free(terminated), free(truncated);
    ludus_batch_free(batch);
    ludus_scenario_free(scenario);
    return 0;
}
