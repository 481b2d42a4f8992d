/* Memory that runs out while worlds are drawn, recorded and viewed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <omp.h>

#include "agents/cast.h"
#include "out_of_memory.h"
#include "render/record.h"
#include "sim/scenario.h"

static char folder[] = "/tmp/ludus-memory-XXXXXX";

static const char rooms[] = "ludus: 1\nname: rooms\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We\n"
                            "    We Ay Ky We\n    We Ae .. We\n    We We We We\n  max_steps: 2\n"
                            "goals:\n  - {cell: [1, 1]}\n";
static const char bodies[] = "ludus: 1\nname: bodies\nworld: particle\n"
                             "particle: {task: simple_spread, agents: 2, episode_length: 2}\n";

static lud_scenario *opened(const char *text) {
    lud_scenario *scenario;
    lud_error error = {0};
    if (lud_scenario_read("test.yaml", text, strlen(text), NULL, 0, &scenario, &error))
        fail_msg("%s", error.text);
    return scenario;
}

/* ---- recordings ---- */

typedef struct recording {
    const lud_model *model;
    const char *name;
    const lud_scenario *whole; /* has the window's picture; null: the world's */
} recording;

/* What was written is whole, whatever was done without. */
static void hash_pictures(uint64_t *result, int n) {
    static char bytes[1 << 20];
    for (int k = 1; k <= n; k++) {
        char path[128];
        snprintf(path, sizeof path, "%s/w-%05d.png", folder, k);
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        out_of_memory_hash(result, bytes, fread(bytes, 1, sizeof bytes, file));
        fclose(file);
    }
}

static lud_status record(const void *argument, uint64_t *result, lud_error *error) {
    const recording *r = argument;
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, r->name);
    lud_cast *cast;
    lud_status status = lud_cast_create(r->model, NULL, "test", &cast, error);
    if (status) return status;
    lud_record_options options = lud_record_defaults();
    options.path = path;
    options.width = 64;
    options.frames_per_step = 2;
    options.goals = options.labels = true;
    options.hold = 0;
    options.max_steps = 2;
    if (r->whole) lud_record_as_shown(r->whole, &options);
    lud_record_result recorded;
    status = lud_record(r->model, cast, &options, &recorded, error);
    if (!status) out_of_memory_hash(result, &recorded.frames, sizeof recorded.frames);
    if (!status && r->whole) hash_pictures(result, (int)recorded.frames);
    lud_cast_destroy(cast);
    return status;
}

static void recordings(void **state) {
    (void)state;
    static const char *const texts[] = {bodies, rooms};
    static const char *const names[] = {"a.png", "a.gif", "a.mp4"};
    for (int i = 0; i < 2; i++) {
        lud_scenario *scenario = opened(texts[i]);
        for (int k = 0; k < (i == 0 ? 3 : 1); k++) { /* how films are written hangs on no world */
            char what[64];
            snprintf(what, sizeof what, "%s as %s", scenario->name, names[k]);
            out_of_memory_test(what, record, &(recording){scenario->model, names[k], NULL});
        }
        lud_scenario_destroy(scenario);
    }
}

static void recordings_of_the_window(void **state) {
    (void)state;
    char text[sizeof rooms + 128];
    snprintf(
        text, sizeof text,
        "%sview: {size: [320, 240], motion: false, agent: 0, panels: {show: always}, successors: true}\n",
        rooms);
    lud_scenario *scenario = opened(text);
    out_of_memory_test("the window's picture", record, &(recording){scenario->model, "w.png", scenario});
    lud_scenario_destroy(scenario);
}

static int set_up(void **state) {
    (void)state;
    omp_set_num_threads(1); /* allocations come in one order */
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(recordings),
                                       cmocka_unit_test(recordings_of_the_window)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
