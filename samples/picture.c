/* Draws states into memory of your own and writes them as pictures (PPM): the first state, and what some
 * steps of the scenario's agents make of it. */
#include <ludus/ludus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(ludus_status status, const ludus_error *error) {
    if (!status) return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

static void write_picture(const char *path, int width, int height, const uint8_t *rgba) {
    FILE *file = fopen(path, "wb");
    if (!file) exit(1);
    fprintf(file, "P6\n%d %d\n255\n", width, height);
    for (int i = 0; i < width * height; i++) fwrite(rgba + 4 * i, 1, 3, file);
    if (fclose(file)) exit(1);
    printf("%s: %d x %d\n", path, width, height);
}

int main(int argc, char **argv) {
    enum { STEPS = 10 };
    ludus_error error;
    ludus_scenario *scenario;
    ludus_scenario_info info;
    ludus_batch *batch;
    ludus_policy *policy;
    ludus_renderer *renderer;
    int width, height;
    if (argc != 2) return fprintf(stderr, "usage: %s SCENARIO\n", argv[0]), 2;
    need(ludus_scenario_load(argv[1], NULL, 0, &scenario, &error), &error);
    ludus_scenario_get_info(scenario, &info);
    const ludus_batch_options options = {
        .n_environments = 1, .n_threads = 1, .seed = 1, .end = LUDUS_END_STAYS};
    need(ludus_batch_create(scenario, &options, &batch, &error), &error);
    need(ludus_policy_open(batch, NULL, &policy, &error), &error);
    need(ludus_renderer_create(scenario, 640, 0, "light", &renderer, &error), &error);
    ludus_renderer_size(renderer, &width, &height);
    uint8_t *rgba = malloc((size_t)width * (size_t)height * 4), *before = malloc(info.state_bytes);
    int32_t *choices = calloc((size_t)info.n_agents, sizeof *choices);
    float *numbers = calloc((size_t)info.n_agents * (size_t)(info.max_continuous + 1), sizeof *numbers);
    if (!rgba || !before || !choices || !numbers) return 1;

    need(ludus_render(renderer, ludus_batch_states(batch), NULL, rgba, &error), &error);
    write_picture("first.ppm", width, height, rgba);
    for (int step = 0; step < STEPS; step++) {
        memcpy(before, ludus_batch_states(batch), info.state_bytes);
        need(ludus_policy_act(policy, NULL, choices, numbers, NULL, &error), &error);
        const ludus_actions actions = {.discrete = choices, .continuous = numbers};
        need(ludus_batch_step(batch, &actions, NULL, &error), &error);
    }
    need(ludus_render(renderer, ludus_batch_states(batch), before, rgba, &error), &error);
    write_picture("later.ppm", width, height, rgba);

    free(rgba), free(before), free(choices), free(numbers);
    ludus_renderer_free(renderer);
    ludus_policy_free(policy);
    ludus_batch_free(batch);
    ludus_scenario_free(scenario);
    return 0;
}
