/* Every multigrid scenario that ships: loads, runs, says what it shows; together they cover every kind of
 * object. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/cast.h"
#include "base/file.h"
#include "sim/batch.h"
#include "sim/multigrid/grid_view.h"
#include "sim/scenario.h"

#define FOLDER LUDUS_SOURCE_DIR "/scenarios/multigrid"

typedef struct coverage {
    int files, smallest, largest, agents[65];
    bool seen[LUD_GRID_TYPES], door[3], generated, rewarded, exact, partial;
} coverage;

static void note_object(coverage *c, const lud_grid_object *object) {
    c->seen[object->type] = true;
    if (object->type == LUD_DOOR) c->door[object->door] = true;
    if (object->type == LUD_BOX && object->content_type != LUD_EMPTY) c->seen[object->content_type] = true;
}

static void note(coverage *c, const lud_grid_spec *spec) {
    int side = spec->width > spec->height ? spec->width : spec->height;
    if (side < c->smallest) c->smallest = side;
    if (side > c->largest) c->largest = side;
    c->agents[spec->n_agents]++;
    c->generated = c->generated || spec->n_maps > 1;
    c->rewarded = c->rewarded || spec->rewards.goal != 0;
    c->partial = c->partial || spec->observation.view == LUD_VIEW_PARTIAL;
    for (int m = 0; m < spec->n_maps; m++) {
        for (int i = 0; i < spec->width * spec->height; i++) note_object(c, &spec->maps[m].cells[i]);
        for (int p = 0; p < spec->maps[m].n_pieces; p++) note_object(c, &spec->maps[m].pieces[p].object);
    }
}

/* Two episodes' worth of steps with the scenario's own policies. */
static void run(const lud_scenario *s) {
    const lud_layout *layout = &s->model->layout;
    lud_cast *cast;
    lud_batch *batch;
    lud_error error = {0};
    if (lud_cast_create(s->model, s->policies, s->path, &cast, &error)) fail_msg("%s", error.text);
    enum { N = 4 };
    assert_int_equal(lud_batch_create(s->model, N, 1, 0, &batch, NULL), LUD_OK);
    size_t hidden_bytes = lud_cast_hidden_bytes(cast);
    uint8_t *hidden = calloc(N, hidden_bytes);
    int32_t *actions = calloc((size_t)(N * layout->n_agents) + 1, sizeof *actions);
    uint8_t terminated[N], truncated[N];
    lud_batch_out out = {.terminated = terminated, .truncated = truncated};
    lud_range range = {.seed = 1, .n = N, .tick = batch->tick};
    lud_batch_reset(batch, NULL);
    lud_cast_reset(cast, range, batch->states, hidden);
    for (int step = 0; step < 2 * layout->max_steps; step++) {
        lud_cast_act(cast, range, batch->states, NULL, hidden, actions, NULL);
        lud_batch_step(batch, (lud_actions){.discrete = actions}, &out);
        for (int e = 0; e < N; e++)
            if (terminated[e] || truncated[e])
                lud_cast_reset(
                    cast,
                    (lud_range){.seed = 1, .first_environment = (uint32_t)e, .n = 1, .tick = batch->tick + e},
                    batch->states + (size_t)e * layout->state_bytes, hidden + (size_t)e * hidden_bytes);
    }
    for (int e = 0; e < N; e++) assert_in_range(batch->episode[e], 2, 2 * layout->max_steps);
    free(hidden);
    free(actions);
    lud_batch_destroy(batch);
    lud_cast_destroy(cast);
}

static void check(const char *name, coverage *c) {
    char path[4096];
    snprintf(path, sizeof path, FOLDER "/%s", name);
    lud_scenario *s;
    lud_error error = {0};
    if (lud_scenario_load(path, NULL, 0, &s, &error)) fail_msg("%s", error.text);
    if (!s->about || !*s->about) fail_msg("%s has no line 'about'", path);
    lud_arena *arena = lud_arena_create(0);
    char *text;
    size_t length;
    assert_int_equal(lud_file_read(arena, path, 0, &text, &length, NULL), LUD_OK);
    if (text[0] != '#') fail_msg("%s does not begin with a comment that says what it shows", path);
    lud_arena_destroy(arena);
    note(c, lud_grid_model_spec(s->model));
    run(s);
    lud_scenario_destroy(s);
    c->files++;
}

static void test_all_scenarios(void **state) {
    (void)state;
    coverage c = {.smallest = 1000};
    DIR *folder = opendir(FOLDER);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        size_t length = strlen(entry->d_name);
        if (length > 5 && strcmp(entry->d_name + length - 5, ".yaml") == 0) check(entry->d_name, &c);
    }
    closedir(folder);
    assert_in_range(c.files, 16, 1000);
    assert_int_equal(c.smallest, 4);
    assert_int_equal(c.largest, 25);
    for (int n = 1; n <= 4; n++)
        if (!c.agents[n]) fail_msg("no scenario with %d agents", n);
    for (int type = LUD_EMPTY; type < LUD_GRID_TYPES; type++)
        if (type != LUD_AGENT && !c.seen[type]) fail_msg("no scenario with a %s", lud_grid_type_names[type]);
    for (int door = 0; door < 3; door++)
        if (!c.door[door]) fail_msg("no scenario with a door that is %s", lud_door_state_names[door]);
    assert_true(c.generated && c.rewarded && c.partial);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_scenarios)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
