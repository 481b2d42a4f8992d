#include "sim/support_sketch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static lud_grid_object object_of(char code) {
    static const char codes[] = "#~MDOL*lgKPCBRkbx";
    static const lud_grid_type types[] = {LUD_WALL,         LUD_UNSTEADY_GROUND,
                                          LUD_MAGIC_WALL,   LUD_DOOR,
                                          LUD_DOOR,         LUD_DOOR,
                                          LUD_BUSH,         LUD_LAVA,
                                          LUD_GOAL,         LUD_KILL_BUTTON,
                                          LUD_PAUSE_SWITCH, LUD_CONTROL_BUTTON,
                                          LUD_BLOCK,        LUD_ROCK,
                                          LUD_KEY,          LUD_BALL,
                                          LUD_BOX};
    const char *at = strchr(codes, code);
    lud_grid_object o = lud_grid_object_default(code && at ? types[at - codes] : LUD_EMPTY);
    if (code == 'O') o.door = LUD_DOOR_OPEN;
    if (code == 'L') o.door = LUD_DOOR_LOCKED;
    return o;
}

void sketch_draw(sketch *s, const char *const *rows, const char *facing, bool magic) {
    memset(s, 0, sizeof *s);
    s->map.cells = s->cells;
    s->map.pieces = s->pieces;
    s->map.agents = s->agents;
    s->spec = (lud_grid_spec){
        .width = (int)strlen(rows[0]), .max_steps = 100, .actions = LUD_ACTIONS_OBJECT, .n_maps = 1};
    s->spec.maps = &s->map;
    for (; rows[s->spec.height]; s->spec.height++)
        for (int x = 0; x < s->spec.width; x++) {
            int y = s->spec.height;
            char code = rows[y][x];
            lud_grid_object o = object_of(code);
            lud_grid_object *cell = &s->cells[y * s->spec.width + x];
            bool piece =
                o.type == LUD_BLOCK || o.type == LUD_ROCK || (o.type >= LUD_KEY && o.type <= LUD_BOX);
            *cell = piece ? lud_grid_object_default(LUD_EMPTY) : o;
            if (piece) s->pieces[s->map.n_pieces++] = (lud_grid_piece){o, x, y};
            if (!strchr("yer", code)) continue;
            lud_colour colour = code == 'y' ? LUD_YELLOW : code == 'e' ? LUD_GREY : LUD_RED;
            s->agents[s->spec.n_agents] = (lud_grid_agent){
                .x = x,
                .y = y,
                .direction = (lud_direction)(strchr("eswn", facing[s->spec.n_agents]) - "eswn"),
                .colour = colour,
                .role = colour == LUD_YELLOW ? LUD_ROLE_HUMAN
                        : colour == LUD_GREY ? LUD_ROLE_ROBOT
                                             : LUD_ROLE_NONE,
                .can_push_rocks = colour == LUD_GREY,
                .can_enter_magic_walls = magic};
            s->spec.n_agents++;
        }
}

lud_model *sketch_model(const sketch *s) {
    lud_model *model = NULL;
    lud_error error = {0};
    if (lud_grid_model_create(&s->spec, &model, &error)) fail_msg("%s", error.text);
    return model;
}
