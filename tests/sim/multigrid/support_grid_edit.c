#include "sim/multigrid/support_grid_edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/scenario.h"

const char edit_plain[] =
    "# A person is locked in.\nludus: 1\nname: rescue   # a name\nworld: multigrid\n\nmultigrid:\n"
    "  map: |\n    # the outer wall\n    We We We We We We We We We\n"
    "    We .. .. .. We .. .. .. We   # a row\n    We Ae .. .. We .. Ay .. We\n"
    "    We .. .. Ky Ly .. .. .. We\n    We .. .. .. We .. .. Un We\n    We We We We We We We We We\n"
    "  max_steps: 60   # short\n  agents:   # two of them\n    - {facing: east}   # the robot\n"
    "    # between\n    - facing: west     # the person\n      can_push_rocks: true\n\n# what is "
    "wanted\ngoals:\n"
    "  - {rectangle: [1, 1, 3, 4], weight: 2}   # left\n  - cell: [5, 1]\n    agents: [1]   # hers\n"
    "  - {cell: [7, 4]}\n\npolicies:\n  human: {type: heuristic, beta: 300}   # she knows\n# the end\n";
const char edit_flow[] =
    "{ludus: 1, world: multigrid, multigrid: {map: [We We We We We, We Ay .. Ky We, 'We .. La 1a We', "
    "[We, Bu, Un, Ae, We],\n  We We We We We], legend: {1a: {magic_wall: {side: north, entry: 0.25}}}, "
    "agents: [{facing: south}, {}], max_steps: 9}, goals: [{cell: [1, 2]}, {rectangle: [1, 1, 3, 1], weight: "
    "0.5}]}\n";
const char edit_bare[] =
    "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We\n    We Ay .. We\n"
    "    We Ae .. We\n    We We We We\n";
const char edit_ensemble[] =
    "ludus: 1\nworld: multigrid\nmultigrid:\n  ensemble:\n    - map: |\n        We We We We\n        We Ay "
    ".. "
    "We\n        We .. .. We\n        We We We We\n    - map: |   # the second\n        We We We We We\n"
    "        We .. .. Ay We\n        We .. Ky .. We\n        We We We We We\n      agents:\n"
    "        - {facing: north}   # up\n  legend:   # own\n    1a: floor   # blue\n";
const char edit_windows[] = "ludus: 1\r\nworld: multigrid\r\nmultigrid:\r\n  map: |\r\n    We We We We\r\n"
                            "    We Ay .. We\r\n    We Ae .. We\r\n    We We We We\r\n  agents:\r\n"
                            "    - {facing: south}\r\n";

const edit_document edit_documents[EDIT_DOCUMENTS] = {{edit_plain, 0},    {edit_flow, 0},
                                                      {edit_bare, 0},     {edit_ensemble, 0},
                                                      {edit_ensemble, 1}, {edit_windows, 0}};

lud_grid_edit *edit_open_text(const char *text, int map) {
    lud_grid_edit *edit;
    lud_error error = {0};
    if (lud_grid_edit_open("file.yaml", text, NULL, 0, map, &edit, &error)) fail_msg("%s", error.text);
    return edit;
}

lud_model *edit_model_of(const char *text) {
    lud_error error = {0};
    lud_scenario *scenario;
    if (lud_scenario_read("again.yaml", text, strlen(text), NULL, 0, &scenario, &error))
        fail_msg("%s\n%s", error.text, text);
    lud_model *model = scenario->model;
    scenario->model = NULL;
    lud_scenario_destroy(scenario);
    return model;
}

void edit_check_text(const lud_grid_edit *edit) {
    lud_model *again = edit_model_of(lud_grid_edit_text(edit));
    const lud_model *shown = lud_grid_edit_model(edit);
    lud_error error = {0};
    lud_arena *arena = lud_arena_create(0);
    char *texts[2];
    size_t length;
    for (int k = 0; k < 2; k++) {
        lud_tree *root = lud_tree_add_mapping(arena, NULL, NULL);
        const lud_model *model = k ? again : shown;
        if (model->world->write(model, arena, root, &error)) fail_msg("%s", error.text);
        if (lud_tree_write(arena, root, &texts[k], &length, &error)) fail_msg("%s", error.text);
    }
    assert_string_equal(texts[0], texts[1]);
    lud_arena_destroy(arena);
    again->world->free(again);
}

int edit_count(const char *text, const char *part) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) n++;
    return n;
}

lud_grid_thing edit_kind(const char *wanted, lud_colour colour) {
    const lud_grid_chances chances = {0.5, 0.1, 1, 0.5};
    lud_grid_thing thing;
    bool coloured, found = false;
    for (int i = 0; !found; i++) {
        lud_text name = {0};
        if (!lud_grid_kind(i, colour, &chances, &thing, &coloured, &name)) fail_msg("no %s", wanted);
        found = !strcmp(name.bytes, wanted);
        lud_text_free(&name);
    }
    return thing;
}

int edit_parameter(const lud_grid_edit *edit, lud_grid_pick pick, const char *name) {
    lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
    const int n = lud_grid_edit_parameters(edit, pick, parameters);
    for (int i = 0; i < n; i++)
        if (!strcmp(parameters[i].name, name)) return i;
    fail_msg("there is no %s", name);
    return -1;
}

lud_grid_thing edit_thing_at(const lud_grid_edit *edit, int x, int y) {
    const lud_grid_edit_world *w = lud_grid_edit_get(edit);
    return w->things[y * w->width + x];
}

void edit_expect(const lud_grid_edit *edit, const char *part) {
    if (!strstr(lud_grid_edit_text(edit), part))
        fail_msg("expected `%s` in:\n%s", part, lud_grid_edit_text(edit));
    edit_check_text(edit);
}
