#include "render/support_worlds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/multigrid/grid_model.h"

const char support_everything[] = "We We We We We We We We We\n"
                                  "We Ae .. Ky Br Xg Ay .. We\n"
                                  "We Ly Cb Or We Mw Bu Ab We\n"
                                  "We Gg .. Bl .. Ro Un La We\n"
                                  "We Kb Ps Dk CB Sw Un La We\n"
                                  "We We We We We We We We We";

const char support_rooms[] = "We We We We We We We\n"
                             "We .. .. We .. .. We\n"
                             "We Ae Ky We .. Ay We\n"
                             "We .. .. Ly .. .. We\n"
                             "We We We We We We We";

static lud_colour colour_of(char letter) {
    static const char letters[] = "rgbpye";
    const char *found = strchr(letters, letter);
    assert_non_null(found);
    return (lud_colour)(found - letters);
}

/* Reads one cell: a fixed object, a piece or an agent. */
static void read_cell(const char code[2], int x, int y, lud_grid_object *cell, lud_grid_map *map,
                      int *n_agents) {
    static const struct {
        const char *code;
        lud_grid_type type;
    } fixed[] = {{"Bl", LUD_BLOCK},          {"Ro", LUD_ROCK},
                 {"Bu", LUD_BUSH},           {"La", LUD_LAVA},
                 {"Sw", LUD_SWITCH},         {"Un", LUD_UNSTEADY_GROUND},
                 {"Kb", LUD_KILL_BUTTON},    {"Ps", LUD_PAUSE_SWITCH},
                 {"CB", LUD_CONTROL_BUTTON}, {"Dk", LUD_DISABLING_SWITCH},
                 {"Mw", LUD_MAGIC_WALL}};
    *cell = lud_grid_object_default(LUD_EMPTY);
    if (code[0] == '.') return;
    if (code[0] == 'A') {
        lud_colour colour = colour_of(code[1]);
        map->agents[(*n_agents)++] = (lud_grid_agent){.x = x,
                                                      .y = y,
                                                      .colour = colour,
                                                      .role = colour == LUD_GREY     ? LUD_ROLE_ROBOT
                                                              : colour == LUD_YELLOW ? LUD_ROLE_HUMAN
                                                                                     : LUD_ROLE_NONE,
                                                      .can_push_rocks = colour == LUD_GREY,
                                                      .can_enter_magic_walls = colour == LUD_YELLOW};
        return;
    }
    lud_grid_object object = {0};
    bool known = false;
    for (size_t k = 0; k < sizeof fixed / sizeof *fixed && !known; k++)
        if (!memcmp(code, fixed[k].code, 2)) {
            object = lud_grid_object_default(fixed[k].type);
            known = true;
        }
    if (object.type == LUD_MAGIC_WALL) object.side = LUD_WEST;
    if (!known) {
        static const char letters[] = "WLCOKBXG";
        static const lud_grid_type types[] = {LUD_WALL, LUD_DOOR, LUD_DOOR, LUD_DOOR,
                                              LUD_KEY,  LUD_BALL, LUD_BOX,  LUD_GOAL};
        const char *found = strchr(letters, code[0]);
        assert_non_null(found);
        object = lud_grid_object_default(types[found - letters]);
        object.colour = colour_of(code[1]);
        if (code[0] == 'L') object.door = LUD_DOOR_LOCKED;
        if (code[0] == 'C') object.door = LUD_DOOR_CLOSED;
        if (code[0] == 'O') object.door = LUD_DOOR_OPEN;
    }
    lud_grid_type t = object.type;
    if (t == LUD_BLOCK || t == LUD_ROCK || t == LUD_KEY || t == LUD_BALL || t == LUD_BOX)
        map->pieces[map->n_pieces++] = (lud_grid_piece){object, x, y};
    else
        *cell = object;
}

lud_model *support_grid(const char *text, int max_steps) {
    int width = 0, height = 1;
    for (const char *c = text; *c && *c != '\n'; c++) width += *c == ' ';
    width++;
    for (const char *c = text; *c; c++) height += *c == '\n';
    size_t n = (size_t)width * (size_t)height;
    lud_grid_map map = {.cells = calloc(n, sizeof *map.cells),
                        .pieces = calloc(n, sizeof *map.pieces),
                        .agents = calloc(n, sizeof *map.agents)};
    int n_agents = 0;
    for (int k = 0; k < width * height; k++)
        read_cell(text + 3 * k, k % width, k / width, &map.cells[k], &map, &n_agents);
    lud_grid_goal goals[2] = {{.x1 = 1, .y1 = 1, .x2 = 1, .y2 = 1, .cell = true, .weight = 1, .agent = -1},
                              {.x1 = 4, .y1 = 1, .x2 = 5, .y2 = 2, .weight = 1, .agent = -1}};
    lud_grid_spec spec = {.width = width,
                          .height = height,
                          .n_agents = n_agents,
                          .max_steps = max_steps,
                          .actions = LUD_ACTIONS_OBJECT,
                          .maps = &map,
                          .n_maps = 1,
                          .goals = goals,
                          .n_goals = 2,
                          .observation.size = 7};
    lud_model *model = NULL;
    lud_error error = {0};
    if (lud_grid_model_create(&spec, &model, &error)) fail_msg("%s", error.text);
    free(map.cells);
    free(map.pieces);
    free(map.agents);
    return model;
}
