/* The multigrid stepped on a device against the CPU, byte for byte: every scenario that ships, random grids
 * of every thing, maps too large for a thread's own memory, views of a part. Runs on a GPU where there is
 * one, and in any case as `test_cuda_multigrid_emulated` on tests/emulation. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_device.h"
#include "sim/device_batch.h"
#include "sim/scenario.h"
#include "sim/support_device.h"
#include "sim/support_grids.h"

enum { STEPS = 40, N_GRIDS = 60 };

static lud_scenario *parse(const char *section) {
    lud_error error = {0};
    lud_scenario *scenario;
    char text[600];
    snprintf(text, sizeof text, "ludus: 1\nname: t\nworld: multigrid\nmultigrid: {%s}\n", section);
    if (lud_scenario_read("test", text, strlen(text), NULL, 0, &scenario, &error))
        fail_msg("%s: %s", section, error.text);
    return scenario;
}

static void compare(const char *section) {
    lud_scenario *scenario = parse(section);
    compare_on_device(section, scenario->model, cuda, STEPS, true);
    lud_scenario_destroy(scenario);
}

static void test_scenarios(void **state) {
    (void)state;
    if (!cuda) skip();
    const char *const folder = LUDUS_SOURCE_DIR "/scenarios/multigrid";
    const char *const settings[] = {"multigrid.max_steps=15"}; /* so that episodes end */
    DIR *files = opendir(folder);
    assert_non_null(files);
    int n = 0;
    for (struct dirent *entry; (entry = readdir(files));) {
        char path[1024];
        if (!strstr(entry->d_name, ".yaml")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        lud_scenario *scenario;
        lud_error error = {0};
        if (lud_scenario_load(path, settings, 1, &scenario, &error)) fail_msg("%s: %s", path, error.text);
        compare_on_device(entry->d_name, scenario->model, cuda, STEPS, true);
        lud_scenario_destroy(scenario);
        n++;
    }
    closedir(files);
    assert_true(n >= 20);
}

static void test_random_grids(void **state) {
    (void)state;
    if (!cuda) skip();
    random_source source = {77};
    for (int k = 0; k < N_GRIDS; k++) {
        random_grid grid;
        lud_model *model;
        lud_error error = {0};
        char name[32];
        random_grid_make(&source, &grid);
        grid.spec.max_steps = 12;
        grid.spec.random_start = k % 3 == 0;
        grid.spec.rewards = (lud_grid_rewards){.goal = 3, .step = -0.25, .lava = -2, .open_door = 0.5};
        grid.spec.rewards.shared = k % 4 == 1;
        grid.spec.rewards.goal_ends = k % 5 == 2;
        if (k % 2) {
            grid.spec.observation.view = LUD_VIEW_PARTIAL;
            grid.spec.observation.size = 3 + 2 * (k % 3);
            grid.spec.observation.see_through_walls = k % 8 == 1;
        }
        if (lud_grid_model_create(&grid.spec, &model, &error)) fail_msg("%s", error.text);
        snprintf(name, sizeof name, "random grid %d", k);
        compare_on_device(name, model, cuda, STEPS, true);
        lud_multigrid_world.free(model);
    }
}

/* Boards in the workspace, of two bytes a cell; several maps; many agents; the largest view. */
static void test_rooms(void **state) {
    (void)state;
    if (!cuda) skip();
    compare("generate: {style: rooms, size: [31, 27], rooms: [3, 3], humans: 2, robots: 2, "
            "maps: 3, "
            "locked_doors: 2}, max_steps: 15");
    compare("generate: {style: maze, size: [61, 41], humans: 1, robots: 3}, max_steps: 15, "
            "observation: {view: partial, size: 31}");
    compare("generate: {style: open, size: [20, 20], walls: 0.1, humans: 20, robots: 10}, "
            "max_steps: 15");
}

static void test_errors(void **state) {
    (void)state;
    if (!cuda) skip();
    lud_error error = {0};
    lud_device_batch *batch;
    lud_scenario *scenario =
        parse("map: ['We We We We We', 'We Ae .. .. We', 'We We We We We'], max_steps: 9, "
              "observation: {coding: cells}");
    assert_int_equal(lud_device_batch_create(scenario->model, cuda, 4, 0, 0, &batch, &error),
                     LUD_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "observation.coding: cells is written on a processor"));
    lud_scenario_destroy(scenario);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scenarios), cmocka_unit_test(test_random_grids),
                                       cmocka_unit_test(test_rooms), cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, open_device, close_device);
}
