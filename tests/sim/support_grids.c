#include "sim/support_grids.h"

#include <string.h>

/* Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014: the mixing function. */
static uint64_t next(random_source *source) {
    uint64_t z = source->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint32_t random_below(random_source *source, uint32_t n) {
    return (uint32_t)((next(source) >> 32) * n >> 32);
}

bool random_chance(random_source *source, double probability) {
    return (double)(next(source) >> 11) * 0x1p-53 < probability;
}

static double random_probability(random_source *source) {
    static const double usual[] = {0.0, 1.0, 0.5, 0.25, 0.1, 0.3, 0.7};
    return usual[random_below(source, 7)];
}

/* Few colours, so that keys fit doors and buttons have somebody to act on. */
static lud_colour random_colour(random_source *source) {
    static const lud_colour usual[] = {LUD_YELLOW, LUD_GREY, LUD_RED, LUD_YELLOW, LUD_GREY};
    return usual[random_below(source, 5)];
}

/* What a grid is mostly made of, so that things that act on each other meet. */
typedef enum theme { THEME_ALL, THEME_GROUND, THEME_BUTTONS, THEME_DOORS, N_THEMES } theme;

static lud_grid_type random_type(random_source *source, theme about) {
    static const lud_grid_type all[] = {LUD_WALL,
                                        LUD_WALL,
                                        LUD_FLOOR,
                                        LUD_DOOR,
                                        LUD_GOAL,
                                        LUD_LAVA,
                                        LUD_OBJECT_GOAL,
                                        LUD_SWITCH,
                                        LUD_MAGIC_WALL,
                                        LUD_KILL_BUTTON,
                                        LUD_UNSTEADY_GROUND,
                                        LUD_BUSH,
                                        LUD_PAUSE_SWITCH,
                                        LUD_DISABLING_SWITCH,
                                        LUD_CONTROL_BUTTON};
    static const lud_grid_type ground[] = {
        LUD_UNSTEADY_GROUND, LUD_UNSTEADY_GROUND, LUD_UNSTEADY_GROUND, LUD_MAGIC_WALL, LUD_BUSH, LUD_LAVA};
    static const lud_grid_type buttons[] = {LUD_KILL_BUTTON, LUD_PAUSE_SWITCH, LUD_DISABLING_SWITCH,
                                            LUD_CONTROL_BUTTON};
    switch (about) {
    case THEME_GROUND:
        return ground[random_below(source, 6)];
    case THEME_BUTTONS:
        return buttons[random_below(source, 4)];
    case THEME_DOORS:
        return random_chance(source, 0.7) ? LUD_DOOR : LUD_UNSTEADY_GROUND;
    default:
        return all[random_below(source, 15)];
    }
}

static lud_grid_object random_fixed(random_source *source, theme about) {
    lud_grid_object o = lud_grid_object_default(random_type(source, about));
    static const lud_grid_type targets[] = {LUD_KILL_BUTTON, LUD_PAUSE_SWITCH, LUD_CONTROL_BUTTON};
    switch (o.type) {
    case LUD_DOOR:
        o.colour = random_colour(source);
        o.door = (lud_door_state)random_below(source, 3);
        break;
    case LUD_UNSTEADY_GROUND:
        o.stumble = random_probability(source);
        break;
    case LUD_MAGIC_WALL:
        o.side = (lud_direction)random_below(source, 5);
        o.entry = random_probability(source);
        o.solidify = random_probability(source);
        o.active = random_chance(source, 0.9);
        break;
    case LUD_BUSH:
        o.enter = random_probability(source);
        break;
    case LUD_KILL_BUTTON:
    case LUD_PAUSE_SWITCH:
        o.trigger = random_colour(source);
        o.target = random_colour(source);
        o.enabled = random_chance(source, 0.8);
        break;
    case LUD_CONTROL_BUTTON:
        o.trigger = LUD_YELLOW;
        o.target = random_chance(source, 0.8) ? LUD_GREY : LUD_RED;
        break;
    case LUD_DISABLING_SWITCH:
        o.trigger = random_colour(source);
        o.target_type = targets[random_below(source, 3)];
        break;
    default:
        break;
    }
    return o;
}

static lud_grid_object random_piece(random_source *source) {
    static const lud_grid_type types[] = {LUD_BLOCK, LUD_BLOCK, LUD_ROCK, LUD_ROCK,
                                          LUD_KEY,   LUD_BALL,  LUD_BOX};
    lud_grid_object o = lud_grid_object_default(types[random_below(source, 7)]);
    if (o.type == LUD_BLOCK || o.type == LUD_ROCK) return o;
    o.colour = random_colour(source);
    if (o.type == LUD_BOX && random_chance(source, 0.6)) {
        o.content_type = (lud_grid_type)(LUD_KEY + random_below(source, 3));
        o.content_colour = random_colour(source);
    }
    return o;
}

static bool is_open_ground(const lud_grid_object *o) {
    switch (o->type) {
    case LUD_EMPTY:
    case LUD_FLOOR:
    case LUD_GOAL:
    case LUD_LAVA:
    case LUD_SWITCH:
    case LUD_UNSTEADY_GROUND:
        return true;
    case LUD_DOOR:
        return o->door == LUD_DOOR_OPEN;
    default:
        return false;
    }
}

void random_grid_make(random_source *source, random_grid *g) {
    memset(g, 0, sizeof *g);
    lud_grid_spec *spec = &g->spec;
    spec->maps = &g->map;
    spec->n_maps = 1;
    g->map.cells = g->cells;
    g->map.pieces = g->pieces;
    g->map.agents = g->agents;
    spec->width = 3 + (int)random_below(source, random_chance(source, 0.7) ? 3 : 5);
    spec->height = 3 + (int)random_below(source, random_chance(source, 0.7) ? 3 : 5);
    spec->max_steps = 1 + (int)random_below(source, 40);
    static const lud_grid_action_set sets[] = {LUD_ACTIONS_FULL,  LUD_ACTIONS_OBJECT,  LUD_ACTIONS_OBJECT,
                                               LUD_ACTIONS_SMALL, LUD_ACTIONS_MINIMAL, LUD_ACTIONS_MINE};
    spec->actions = (int)sets[random_below(source, 6)];
    int n = spec->width * spec->height;
    bool walled = random_chance(source, 0.3);
    double dense = 0.1 + 0.4 * random_chance(source, 0.5);
    theme about = (theme)random_below(source, N_THEMES);
    if (about == THEME_BUTTONS || about == THEME_DOORS)
        spec->actions = random_chance(source, 0.8) ? LUD_ACTIONS_OBJECT : LUD_ACTIONS_FULL;
    for (int c = 0; c < n; c++) {
        int x = c % spec->width, y = c / spec->width;
        bool edge = x == 0 || y == 0 || x == spec->width - 1 || y == spec->height - 1;
        g->cells[c] = lud_grid_object_default(walled && edge ? LUD_WALL : LUD_EMPTY);
        if (!(walled && edge) && random_chance(source, dense))
            g->cells[c] = random_fixed(source, random_chance(source, 0.8) ? about : THEME_ALL);
    }
    g->cells[n / 2] = lud_grid_object_default(LUD_EMPTY); /* somewhere to stand */
    bool used[RANDOM_GRID_CELLS] = {false};
    int wanted = random_chance(source, 0.1) ? 1 : 2 + (int)random_below(source, RANDOM_GRID_AGENTS - 1);
    for (int tries = 0; tries < 100 && spec->n_agents < wanted; tries++) {
        int c = tries == 99 || spec->n_agents == 0 ? n / 2 : (int)random_below(source, (uint32_t)n);
        bool standable = is_open_ground(&g->cells[c]) || g->cells[c].type == LUD_BUSH ||
                         g->cells[c].type == LUD_MAGIC_WALL;
        if (used[c] || !standable) continue;
        used[c] = true;
        lud_colour colour = random_colour(source);
        g->agents[spec->n_agents++] =
            (lud_grid_agent){.x = c % spec->width,
                             .y = c / spec->width,
                             .direction = (lud_direction)random_below(source, 4),
                             .colour = colour,
                             .role = colour == LUD_YELLOW ? LUD_ROLE_HUMAN : LUD_ROLE_ROBOT,
                             .can_push_rocks = random_chance(source, 0.4),
                             .can_enter_magic_walls = random_chance(source, 0.4)};
    }
    for (int c = 0; c < n; c++) {
        if (used[c] || !is_open_ground(&g->cells[c]) || !random_chance(source, 0.2)) continue;
        g->pieces[g->map.n_pieces++] =
            (lud_grid_piece){.object = random_piece(source), .x = c % spec->width, .y = c / spec->width};
    }
}

static const int dx[4] = {1, 0, -1, 0}, dy[4] = {0, 1, 0, -1};

void random_scene(random_source *source, const lud_grid_spec *spec, lud_grid_scene *scene, int n_actions) {
    int n = scene->width * scene->height;
    bool used[RANDOM_GRID_CELLS] = {false};
    scene->step = (int)random_below(source, (uint32_t)spec->max_steps + 1);
    for (int c = 0; c < n; c++) {
        lud_grid_scene_cell *cell = &scene->cells[c];
        cell->ground.enabled = random_chance(source, 0.75);
        cell->ground.on = random_chance(source, 0.3);
        if (cell->ground.type == LUD_MAGIC_WALL) cell->ground.active = random_chance(source, 0.8);
        if (cell->ground.type == LUD_DOOR) cell->ground.door = (lud_door_state)random_below(source, 3);
        if (cell->ground.type == LUD_BUSH) cell->trampled = random_chance(source, 0.3);
        if (cell->ground.type != LUD_CONTROL_BUTTON) continue;
        cell->awaiting = random_chance(source, 0.5);
        cell->controlled_agent = (int)random_below(source, (uint32_t)scene->n_agents + 1) - 1;
        cell->recorded_action = (int)random_below(source, (uint32_t)n_actions + 1) - 1;
    }
    for (int i = 0; i < scene->n_agents; i++) {
        lud_grid_scene_agent *agent = &scene->agents[i];
        agent->direction = (lud_direction)random_below(source, 4);
        for (int tries = 0; tries < 60; tries++) {
            /* Often where things happen: facing the cell that the agent before faces, facing a bush, door,
             * magic wall or button, or on unsteady ground. */
            int c = (int)random_below(source, (uint32_t)n), x = c % scene->width, y = c / scene->width;
            lud_direction direction = (lud_direction)random_below(source, 4);
            lud_grid_type type = scene->cells[c].ground.type;
            if (i > 0 && random_chance(source, 0.5)) {
                const lud_grid_scene_agent *before = &scene->agents[i - 1];
                x = before->x + dx[before->direction] - dx[direction];
                y = before->y + dy[before->direction] - dy[direction];
            } else if (type == LUD_BUSH || type == LUD_DOOR ||
                       (type >= LUD_MAGIC_WALL && type <= LUD_CONTROL_BUTTON)) {
                if (random_chance(source, 0.8)) {
                    x -= dx[direction];
                    y -= dy[direction];
                }
            } else if (type != LUD_UNSTEADY_GROUND && tries < 30 && random_chance(source, 0.8)) {
                continue;
            }
            if (x < 0 || y < 0 || x >= scene->width || y >= scene->height) continue;
            c = y * scene->width + x;
            const lud_grid_scene_cell *cell = &scene->cells[c];
            bool shares = cell->ground.type == LUD_MAGIC_WALL;
            bool stands = is_open_ground(&cell->ground) || cell->ground.type == LUD_BUSH || shares;
            if (!stands || (used[c] && !shares)) continue;
            agent->x = x;
            agent->y = y;
            agent->direction = direction;
            break;
        }
        used[agent->y * scene->width + agent->x] = true;
        agent->terminated = random_chance(source, 0.1);
        agent->paused = random_chance(source, 0.1);
        agent->forced_action =
            random_chance(source, 0.1) ? (int)random_below(source, (uint32_t)n_actions) : -1;
    }
    int kept = 0;
    for (int p = 0; p < scene->n_pieces; p++) {
        lud_grid_piece piece = scene->pieces[p];
        bool pickable = piece.object.type != LUD_BLOCK && piece.object.type != LUD_ROCK;
        int carrier = (int)random_below(source, (uint32_t)scene->n_agents);
        if (pickable && random_chance(source, 0.3) && !scene->agents[carrier].carries) {
            scene->agents[carrier].carries = true;
            scene->agents[carrier].carried = piece.object;
            continue;
        }
        bool placed = false;
        for (int tries = 0; tries < 50 && !placed; tries++) {
            int c = (int)random_below(source, (uint32_t)n);
            if (random_chance(source, 0.6)) { /* in front of somebody */
                const lud_grid_scene_agent *agent = &scene->agents[carrier];
                int x = agent->x + dx[agent->direction], y = agent->y + dy[agent->direction];
                if (x < 0 || y < 0 || x >= scene->width || y >= scene->height) continue;
                c = y * scene->width + x;
            }
            const lud_grid_scene_cell *cell = &scene->cells[c];
            if (used[c] || !(is_open_ground(&cell->ground) || cell->trampled)) continue;
            used[c] = placed = true;
            piece.x = c % scene->width;
            piece.y = c / scene->width;
        }
        if (placed) scene->pieces[kept++] = piece; /* otherwise there is no room: it is gone */
    }
    scene->n_pieces = kept;
}
