#include "learn/mappo/support_mappo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

const char *const support_mappo_mad =
    "ludus: 1\nname: t\nworld: particle\n"
    "particle: {task: navigation_graph, agents: 2, obstacles: 1, actions: continuous, episode_length: 4}\n"
    "run: {environments: 3, seed: 5}\n"
    "learner: {type: graph-mappo, automatic: false, control: mad, rollout_length: 6, chunk_length: 5, "
    "centralised: false, "
    "mad: {state_size: 6, hidden_size: 8}, " SUPPORT_MAPPO_SMALL "}\n";

support_mappo support_mappo_open(const char *text) {
    support_mappo b = {0};
    lud_error error = {0};
    assert_int_equal(lud_device_open("cpu", 1, &b.device, &error), LUD_OK);
    if (lud_scenario_read("test", text, strlen(text), NULL, 0, &b.scenario, &error))
        fail_msg("%s", error.text);
    lud_learner *learner = NULL;
    if (lud_learner_create(b.scenario, b.device, &learner, &error)) fail_msg("%s", error.text);
    b.learner = (lud_mappo_learner_state *)learner;
    return b;
}

void support_mappo_close(support_mappo *b) {
    lud_learner_destroy(&b->learner->base);
    lud_scenario_destroy(b->scenario);
    lud_device_close(b->device);
}

lud_status support_mappo_collect(support_mappo *b) {
    double row[64];
    lud_error error = {0};
    return lud_mappo_collect(b->learner, row, &error);
}

const lud_parameters *support_mappo_parameters(const support_mappo *b) {
    return b->learner->groups[0].update->parameters;
}

bool support_mappo_all_zero(const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (x[i] != 0.0f) return false;
    return true;
}
