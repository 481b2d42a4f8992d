#include "agents/support_grid.h"

#include <stdlib.h>
#include <string.h>

lud_model *grid_create(const char *const *rows, int height, lud_grid_action_set actions,
                       const lud_grid_goal *goals, int n_goals) {
    int width = (int)strlen(rows[0]);
    lud_grid_object *cells = calloc((size_t)(width * height), sizeof *cells);
    lud_grid_piece pieces[32];
    lud_grid_agent agents[8];
    lud_grid_map map = {.cells = cells, .pieces = pieces, .agents = agents};
    lud_grid_spec spec = {.width = width,
                          .height = height,
                          .max_steps = 50,
                          .actions = (int)actions,
                          .maps = &map,
                          .n_maps = 1,
                          .goals = (lud_grid_goal *)goals,
                          .n_goals = n_goals};
    for (int c = 0; c < width * height; c++) {
        int x = c % width, y = c / width;
        char code = rows[y][x];
        cells[c] = lud_grid_object_default(code == '#'           ? LUD_WALL
                                           : strchr("LCO", code) ? LUD_DOOR
                                           : code == 'v'         ? LUD_LAVA
                                           : code == '~'         ? LUD_UNSTEADY_GROUND
                                           : code == 'B'         ? LUD_BUSH
                                                                 : LUD_EMPTY);
        if (cells[c].type == LUD_DOOR) {
            cells[c].colour = LUD_YELLOW;
            cells[c].door = code == 'L' ? LUD_DOOR_LOCKED : code == 'C' ? LUD_DOOR_CLOSED : LUD_DOOR_OPEN;
        }
        if (strchr("kKbr", code)) {
            lud_grid_piece *piece = &pieces[map.n_pieces++];
            *piece = (lud_grid_piece){lud_grid_object_default(code == 'b'   ? LUD_BLOCK
                                                              : code == 'r' ? LUD_ROCK
                                                                            : LUD_KEY),
                                      x, y};
            if (piece->object.type == LUD_KEY) piece->object.colour = code == 'k' ? LUD_YELLOW : LUD_RED;
        }
        static const char sides[] = ">V<^";
        const char *facing = strchr(sides, code);
        if (facing || code == 'e')
            agents[spec.n_agents++] =
                (lud_grid_agent){.x = x,
                                 .y = y,
                                 .direction = facing ? (lud_direction)(facing - sides) : LUD_EAST,
                                 .colour = facing ? LUD_YELLOW : LUD_GREY,
                                 .role = facing ? LUD_ROLE_HUMAN : LUD_ROLE_ROBOT,
                                 .can_push_rocks = !facing};
    }
    lud_model *model = NULL;
    lud_error error = {0};
    if (lud_grid_model_create(&spec, &model, &error)) abort();
    free(cells);
    return model;
}

uint8_t *grid_start(const lud_model *model) {
    uint8_t *state = calloc(1, model->layout.state_bytes);
    uint32_t tick = 0;
    model->world->reset(model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, state);
    return state;
}
