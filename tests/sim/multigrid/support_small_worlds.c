#include "sim/multigrid/support_small_worlds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/multigrid/paths/grid_paths.h"

enum { MOST_SEEN = 8192 };

lud_scenario *small_world_make(const char *const cells[SMALL_CELLS], const char *agents) {
    char text[2048];
    int n = snprintf(text, sizeof text,
                     "ludus: 1\nname: small\nworld: multigrid\nmultigrid:\n  max_steps: 1000\n"
                     "  actions: object\n  %s\n  map: |\n",
                     agents);
    for (int c = 0; c < SMALL_CELLS; c++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%s%s", c % SMALL_WIDTH ? " " : "    ", cells[c],
                      c % SMALL_WIDTH == SMALL_WIDTH - 1 ? "\n" : "");
    lud_scenario *scenario;
    lud_error error = {0};
    if (lud_scenario_read("small.yaml", text, (size_t)n, NULL, 0, &scenario, &error))
        fail_msg("%s", error.text);
    return scenario;
}

small_look small_world_look(const lud_model *model, const uint8_t *state) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    small_look l;
    lud_grid_encode_words(m, state, false, SMALL_HEIGHT, SMALL_WIDTH, l.words);
    lud_grid_encode_agents(m, state, false, m->colour_count, l.agent);
    return l;
}

int small_look_place(const small_look *l) {
    int direction = 0;
    while (l->agent[LUD_GRID_AGENT_DIRECTION + direction] == 0.0f) direction++;
    return 4 * ((int)l->agent[LUD_GRID_AGENT_Y] * SMALL_WIDTH + (int)l->agent[LUD_GRID_AGENT_X]) + direction;
}

int small_world_search(const lud_model *model, const uint8_t *start, const char *const *actions,
                       int n_actions, bool (*is_done)(const small_look *look, const void *what),
                       const void *what) {
    static small_look seen[MOST_SEEN];
    static uint8_t states[MOST_SEEN][64];
    static int depth[MOST_SEEN];
    const size_t bytes = model->layout.state_bytes;
    int n = 1;
    assert_true(bytes <= sizeof states[0]);
    memcpy(states[0], start, bytes);
    seen[0] = small_world_look(model, start);
    depth[0] = 0;
    for (int i = 0; i < n; i++) {
        if (is_done(&seen[i], what)) return depth[i];
        for (int k = 0; k < n_actions; k++) {
            int32_t action = 0;
            while (strcmp(model->layout.actions[0].names[action], actions[k]) != 0) action++;
            lud_successors found = {0};
            lud_error error = {0};
            assert_int_equal(model->world->successors(model, states[i], &action, &found, &error), LUD_OK);
            assert_int_equal(found.n, 1);
            const small_look next = small_world_look(model, found.states);
            int j = 0;
            while (j < n && memcmp(&seen[j], &next, sizeof next) != 0) j++;
            if (j == n) {
                assert_true(n < MOST_SEEN);
                memcpy(states[n], found.states, bytes);
                seen[n] = next;
                depth[n++] = depth[i] + 1;
            }
            lud_successors_free(&found);
        }
    }
    return LUD_GRID_NO_PATH;
}
