/* What networks of graph MAPPO read, where it comes from elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/mappo/support_mappo.h"

static const char world[] = "ludus: 1\nname: t\nworld: particle\n"
                            "particle: {task: navigation_graph, agents: 3, obstacles: 2}\n"
                            "run: {environments: 1, seed: 3}\n"
                            "learner: {type: graph-mappo, automatic: false, rollout_length: 2, centralised: "
                            "false, " SUPPORT_MAPPO_SMALL "}\n";

/* Frames of a world are what networks can read; with anything wrong in one of them that one is named. */
static void frames_from_elsewhere_are_looked_at(void **state) {
    (void)state;
    enum { FRAMES = 3 };
    support_mappo b = support_mappo_open(world);
    const lud_mappo_shape *shape = b.learner->training.buffer.shape;
    const lud_model *model = b.scenario->model;
    const lud_layout *layout = &model->layout;
    const uint32_t ticks[FRAMES] = {0};
    uint8_t *states = calloc(FRAMES, layout->state_bytes);
    void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
    lud_error error = {0};
    for (int p = 0; p < layout->n_parts; p++) parts[p] = calloc(FRAMES, layout->parts[p].bytes);
    const lud_range range = {.seed = 2, .n = FRAMES, .tick = ticks};
    model->world->reset(model, range, states);
    model->world->observe(model, range, states, parts);
    const void *given[LUD_MAX_OBSERVATION_PARTS];
    memcpy(given, parts, sizeof given);
    if (lud_mappo_check_frames(shape, given, FRAMES, &error)) fail_msg("%s", error.text);

    const int64_t v = shape->n_nodes;
    assert_true(v > 1);
    float *nodes = (float *)parts[shape->nodes] + layout->parts[shape->nodes].bytes / sizeof(float);
    int32_t *begin = (int32_t *)parts[shape->edge_begin] + (v + 1),
            *source = (int32_t *)parts[shape->edge_source] + v * (v - 1);
    const struct {
        void *at;
        uint32_t bits;
        const char *says;
    } wrong[] = {{nodes, 0x7fc00000, "not finite"},
                 {nodes + LUD_MAPPO_NODE_NUMBERS, 0x42c60000, "a kind of entity, is 99"},
                 {begin, 1, "edges that are none"},
                 {begin + 1, 0xffffffff, "edges that are none"},
                 {begin + v, 1000000, "edges that are none"},
                 {source, (uint32_t)v, "edges that are none"},
                 {source + begin[v] - 1, (uint32_t)v, "edges that are none"},
                 {source, 0xffffffff, "edges that are none"}};
    assert_true(begin[v] > 0);                                       /* there are edges in that frame */
    for (int32_t e = begin[v]; e < v * (v - 1); e++) source[e] = -7; /* behind them stands anything */
    assert_int_equal(lud_mappo_check_frames(shape, given, FRAMES, &error), LUD_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint32_t before;
        memcpy(&before, wrong[i].at, sizeof before);
        memcpy(wrong[i].at, &wrong[i].bits, sizeof before);
        assert_int_equal(lud_mappo_check_frames(shape, given, 1, &error), LUD_OK); /* the first is whole */
        assert_int_equal(lud_mappo_check_frames(shape, given, FRAMES, &error), LUD_ERROR_INPUT);
        if (!strstr(error.text, "frame 1, ") || !strstr(error.text, wrong[i].says))
            fail_msg("%s", error.text);
        memcpy(wrong[i].at, &before, sizeof before);
    }
    given[shape->edge_begin] = NULL; /* what is not read is not looked at */
    begin[0] = 1;
    assert_int_equal(lud_mappo_check_frames(shape, given, FRAMES, &error), LUD_OK);
    for (int p = 0; p < layout->n_parts; p++) free(parts[p]);
    free(states);
    support_mappo_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(frames_from_elsewhere_are_looked_at)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
