#include "sim/multigrid/grid_model.h"

#include <assert.h>
#include <string.h>

#include "sim/directions.h"
#include "sim/multigrid/grid_board.h"
#include "sim/multigrid/grid_measures.h"
#include "sim/multigrid/grid_observe.h"
#include "sim/multigrid/grid_quick.h"
#include "sim/multigrid/grid_view.h"

static const char *const full_names[] = {"still",  "left", "right",  "forward",
                                         "pickup", "drop", "toggle", "done"};
static const char *const minimal_names[] = {"forward", "left"};
static const char *const mine_names[] = {"still", "left", "right", "forward", "build"};
static const uint8_t full_verbs[] = {LUD_VERB_STILL,  LUD_VERB_LEFT, LUD_VERB_RIGHT,  LUD_VERB_FORWARD,
                                     LUD_VERB_PICKUP, LUD_VERB_DROP, LUD_VERB_TOGGLE, LUD_VERB_NOTHING};
static const uint8_t minimal_verbs[] = {LUD_VERB_FORWARD, LUD_VERB_LEFT};
static const uint8_t mine_verbs[] = {LUD_VERB_STILL, LUD_VERB_LEFT, LUD_VERB_RIGHT, LUD_VERB_FORWARD,
                                     LUD_VERB_NOTHING};

static const struct {
    const char *const *names;
    const uint8_t *verbs;
    int n;
} action_sets[] = {[LUD_ACTIONS_FULL] = {full_names, full_verbs, 8},
                   [LUD_ACTIONS_OBJECT] = {full_names, full_verbs, 7},
                   [LUD_ACTIONS_SMALL] = {full_names, full_verbs, 4},
                   [LUD_ACTIONS_MINIMAL] = {minimal_names, minimal_verbs, 2},
                   [LUD_ACTIONS_MINE] = {mine_names, mine_verbs, 5}};

const char *const *lud_grid_action_names(int set, int *n) {
    assert(set > LUD_ACTIONS_AUTOMATIC && set <= LUD_ACTIONS_MINE);
    *n = action_sets[set].n;
    return action_sets[set].names;
}

bool lud_grid_is_model(const lud_model *model) {
    return model->world == &lud_multigrid_world;
}

static bool is_pickable(lud_grid_type type) {
    return type == LUD_KEY || type == LUD_BALL || type == LUD_BOX;
}

static bool is_probability(double p) {
    return p >= 0.0 && p <= 1.0;
}

/* --- Checking --- */

/* What a map says about one cell, for the checks on pieces and agents. */
enum { CELL_PIECE = 1, CELL_AGENT = 2 };

static uint8_t content_of(const lud_grid_object *object) {
    switch (object->type) {
    case LUD_EMPTY:
    case LUD_FLOOR:
    case LUD_GOAL:
    case LUD_LAVA:
    case LUD_SWITCH:
    case LUD_UNSTEADY_GROUND:
        return (uint8_t)(object->type | LUD_CONTENT_OVERLAP);
    case LUD_DOOR:
    case LUD_BUSH:
        return (uint8_t)(object->type | LUD_CONTENT_CHANGES);
    default:
        return (uint8_t)object->type;
    }
}

static const char *type_name(lud_grid_type type) {
    return type >= 0 && type < LUD_GRID_TYPES ? lud_grid_type_names[type] : "unknown type";
}

/* What is wrong with an immobile object, or null. */
static const char *fault_of_fixed(const lud_grid_object *o) {
    switch (o->type) {
    case LUD_EMPTY:
    case LUD_LAVA:
    case LUD_SWITCH:
        return NULL;
    case LUD_WALL:
    case LUD_FLOOR:
    case LUD_GOAL:
    case LUD_OBJECT_GOAL:
        break;
    case LUD_DOOR:
        if (o->door > LUD_DOOR_LOCKED) return "the door is neither open nor closed nor locked";
        break;
    case LUD_UNSTEADY_GROUND:
        if (!is_probability(o->stumble)) return "the stumble probability is not between 0 and 1";
        break;
    case LUD_MAGIC_WALL:
        if (o->side > LUD_ALL_SIDES) return "the magic side is not a direction";
        if (!is_probability(o->entry)) return "the entry probability is not between 0 and 1";
        if (!is_probability(o->solidify)) return "the solidify probability is not between 0 and 1";
        break;
    case LUD_BUSH:
        if (!is_probability(o->enter)) return "the probability to enter is not between 0 and 1";
        break;
    case LUD_CONTROL_BUTTON:
        if (o->trigger == o->target) return "trigger and controlled colour must differ";
        break;
    case LUD_DISABLING_SWITCH:
        if (o->target_type != LUD_KILL_BUTTON && o->target_type != LUD_PAUSE_SWITCH &&
            o->target_type != LUD_CONTROL_BUTTON)
            return "a disabling switch works on kill buttons, pause switches or control buttons";
        break;
    case LUD_KILL_BUTTON:
    case LUD_PAUSE_SWITCH:
        break;
    default:
        return "this type cannot be a fixed object of the map";
    }
    if (o->colour >= LUD_COLOURS || o->trigger >= LUD_COLOURS || o->target >= LUD_COLOURS)
        return "unknown colour";
    return NULL;
}

static const char *fault_of_piece(const lud_grid_object *o) {
    if (o->type != LUD_BLOCK && o->type != LUD_ROCK && !is_pickable(o->type))
        return "a piece is a block, rock, key, ball or box";
    if (o->colour >= LUD_COLOURS || o->content_colour >= LUD_COLOURS) return "unknown colour";
    if (o->type == LUD_BOX && o->content_type != LUD_EMPTY && o->content_type != LUD_UNSEEN &&
        !is_pickable(o->content_type))
        return "a box holds a key, a ball, a box or nothing";
    return NULL;
}

/* May something lie or stand on this ground at the start? A bush and a magic wall only under an agent. */
static bool can_start_on(const lud_grid_object *ground, bool agent) {
    if (content_of(ground) & LUD_CONTENT_OVERLAP) return true;
    if (ground->type == LUD_DOOR) return ground->door == LUD_DOOR_OPEN;
    return agent && (ground->type == LUD_BUSH || ground->type == LUD_MAGIC_WALL);
}

static lud_status check_map(const lud_grid_spec *spec, int index, uint8_t *seen, lud_error *error) {
    const lud_grid_map *map = &spec->maps[index];
    int n_cells = spec->width * spec->height;
    for (int c = 0; c < n_cells; c++) {
        const char *fault = fault_of_fixed(&map->cells[c]);
        if (fault)
            return lud_invalid(error, "map %d, cell (%d, %d): %s (found %s)", index, c % spec->width,
                               c / spec->width, fault, type_name(map->cells[c].type));
    }
    memset(seen, 0, (size_t)n_cells);
    for (int i = 0; i < map->n_pieces; i++) {
        const lud_grid_piece *piece = &map->pieces[i];
        if (piece->x < 0 || piece->x >= spec->width || piece->y < 0 || piece->y >= spec->height)
            return lud_invalid(error, "map %d: the %s at (%d, %d) is outside the %d x %d grid", index,
                               type_name(piece->object.type), piece->x, piece->y, spec->width, spec->height);
        int c = piece->y * spec->width + piece->x;
        const char *fault = fault_of_piece(&piece->object);
        if (!fault && seen[c]) fault = "two pieces in one cell";
        if (!fault && !can_start_on(&map->cells[c], false)) fault = "the ground cannot carry it";
        if (fault)
            return lud_invalid(error, "map %d, %s at (%d, %d): %s", index, type_name(piece->object.type),
                               piece->x, piece->y, fault);
        seen[c] = CELL_PIECE;
    }
    for (int i = 0; i < spec->n_agents; i++) {
        const lud_grid_agent *agent = &map->agents[i], *first = &spec->maps[0].agents[i];
        if (agent->colour != first->colour || agent->role != first->role ||
            agent->can_push_rocks != first->can_push_rocks ||
            agent->can_enter_magic_walls != first->can_enter_magic_walls)
            return lud_invalid(
                error, "agent %d differs between map 0 and map %d in colour, role or capabilities", i, index);
        if (agent->colour >= LUD_COLOURS || agent->role > LUD_ROLE_ROBOT || agent->direction > LUD_NORTH)
            return lud_invalid(error, "map %d, agent %d: unknown colour, role or direction", index, i);
        if (spec->random_start) continue;
        const char *fault = NULL;
        int c = 0;
        if (agent->x < 0 || agent->x >= spec->width || agent->y < 0 || agent->y >= spec->height) {
            fault = "it stands outside the grid";
        } else {
            c = agent->y * spec->width + agent->x;
            if (seen[c] == CELL_AGENT)
                fault = "two agents in one cell";
            else if (seen[c] == CELL_PIECE)
                fault = "a piece lies in the cell of the agent";
            else if (!can_start_on(&map->cells[c], true))
                fault = "nobody can stand on this ground";
        }
        if (fault)
            return lud_invalid(error, "map %d, agent %d at (%d, %d): %s", index, i, agent->x, agent->y,
                               fault);
        seen[c] = CELL_AGENT;
    }
    return LUD_OK;
}

/* Cells that count as walkable when goals must cover the grid (spec of the reference's loader). */
static bool counts_as_walkable(lud_grid_type type) {
    return type != LUD_WALL && type != LUD_LAVA && type != LUD_MAGIC_WALL && type != LUD_BUSH &&
           type != LUD_KILL_BUTTON && type != LUD_PAUSE_SWITCH && type != LUD_DISABLING_SWITCH &&
           type != LUD_CONTROL_BUTTON;
}

/* Every goal of a person: those that name it, and those of every human when it is one. */
static bool goal_belongs(const lud_grid_goal *goal, const lud_grid_agent *agents, int agent) {
    return goal->agent == agent || (goal->agent == -1 && agents[agent].role == LUD_ROLE_HUMAN);
}

bool lud_grid_find_uncovered(const lud_grid_spec *spec, int map, int agent, uint8_t *uncovered) {
    const int n_cells = spec->width * spec->height;
    const lud_grid_agent *agents = spec->maps[0].agents;
    bool any = false;
    for (int c = 0; c < n_cells; c++) uncovered[c] = counts_as_walkable(spec->maps[map].cells[c].type);
    for (int g = 0; g < spec->n_goals; g++) {
        const lud_grid_goal *goal = &spec->goals[g];
        if (!goal_belongs(goal, agents, agent)) continue;
        any = true;
        for (int y = goal->y1; y <= goal->y2; y++)
            memset(uncovered + y * spec->width + goal->x1, 0, (size_t)(goal->x2 - goal->x1 + 1));
    }
    if (!any) memset(uncovered, 0, (size_t)n_cells);
    return any && memchr(uncovered, 1, (size_t)n_cells);
}

/* Whether each person who has goals has one for every cell that it might stand in. */
static lud_status check_cover(const lud_grid_spec *spec, uint8_t *uncovered, lud_error *error) {
    for (int agent = 0; agent < spec->n_agents; agent++)
        for (int k = 0; k < spec->n_maps; k++) {
            if (!lud_grid_find_uncovered(spec, k, agent, uncovered)) continue;
            const uint8_t *first = memchr(uncovered, 1, (size_t)spec->width * (size_t)spec->height);
            const int c = (int)(first - uncovered);
            return lud_invalid(error, "no goal of agent %d covers the walkable cell (%d, %d)", agent,
                               c % spec->width, c / spec->width);
        }
    return LUD_OK;
}

static lud_status check_goals(const lud_grid_spec *spec, uint8_t *covered, lud_error *error) {
    for (int g = 0; g < spec->n_goals; g++) {
        const lud_grid_goal *goal = &spec->goals[g];
        if (goal->x1 < 0 || goal->y1 < 0 || goal->x2 >= spec->width || goal->y2 >= spec->height ||
            goal->x1 > goal->x2 || goal->y1 > goal->y2)
            return lud_invalid(error, "goal %d: (%d, %d) to (%d, %d) is not a rectangle of the %d x %d grid",
                               g, goal->x1, goal->y1, goal->x2, goal->y2, spec->width, spec->height);
        if (goal->agent < -1 || goal->agent >= spec->n_agents)
            return lud_invalid(error, "goal %d: there is no agent %d", g, goal->agent);
        if (!(goal->weight >= 0.0 && goal->weight <= 1e300))
            return lud_invalid(error, "goal %d: its weight must be a number not below 0", g);
    }
    return spec->goals_must_cover ? check_cover(spec, covered, error) : LUD_OK;
}

static lud_status check_spec(const lud_grid_spec *spec, lud_arena *arena, lud_error *error) {
    if (spec->width < LUD_GRID_MIN_SIDE || spec->width > LUD_GRID_MAX_SIDE ||
        spec->height < LUD_GRID_MIN_SIDE || spec->height > LUD_GRID_MAX_SIDE)
        return lud_invalid(error, "the grid is %d x %d; each side must be %d to %d cells", spec->width,
                           spec->height, LUD_GRID_MIN_SIDE, LUD_GRID_MAX_SIDE);
    if (spec->n_agents < 0 || spec->n_agents > LUD_GRID_MAX_AGENTS)
        return lud_fail(error, LUD_ERROR_LIMIT, "%d agents; at most %d are possible", spec->n_agents,
                        LUD_GRID_MAX_AGENTS);
    if (spec->max_steps < 1 || spec->max_steps > 65535)
        return lud_invalid(error, "max_steps is %d; it must be 1 to 65535", (int)spec->max_steps);
    if (spec->n_maps < 1 || spec->n_maps > LUD_GRID_MAX_MAPS)
        return lud_invalid(error, "%d maps; 1 to %d are possible", spec->n_maps, LUD_GRID_MAX_MAPS);
    if (spec->actions < 0 || spec->actions > LUD_ACTIONS_MINE)
        return lud_invalid(error, "unknown action set");
    if (spec->observation.view == LUD_VIEW_PARTIAL &&
        (spec->observation.size < 3 || spec->observation.size > LUD_GRID_MAX_VIEW ||
         spec->observation.size % 2 == 0))
        return lud_invalid(error, "view_size is %d; it must be odd, 3 to %d", (int)spec->observation.size,
                           LUD_GRID_MAX_VIEW);
    size_t n_cells = (size_t)spec->width * (size_t)spec->height;
    uint8_t *seen = lud_arena_take(arena, n_cells);
    if (!seen) return lud_no_memory(error, "a %d x %d grid", spec->width, spec->height);
    for (int k = 0; k < spec->n_maps; k++) LUD_TRY(check_map(spec, k, seen, error));
    return check_goals(spec, seen, error);
}

/* --- Compiling --- */

static void *copy_array(lud_arena *arena, const void *from, size_t n, size_t size) {
    void *to = lud_arena_take_array(arena, n, size);
    if (to && n > 0) memcpy(to, from, n * size);
    return to;
}

static bool copy_spec(lud_grid_model *m, const lud_grid_spec *spec) {
    size_t n_cells = (size_t)spec->width * (size_t)spec->height;
    m->spec = *spec;
    m->spec.maps = copy_array(m->arena, spec->maps, (size_t)spec->n_maps, sizeof *spec->maps);
    m->spec.goals = copy_array(m->arena, spec->goals, (size_t)spec->n_goals, sizeof *spec->goals);
    if (!m->spec.maps || !m->spec.goals) return false;
    for (int k = 0; k < spec->n_maps; k++) {
        const lud_grid_map *from = &spec->maps[k];
        lud_grid_map *to = &m->spec.maps[k];
        to->cells = copy_array(m->arena, from->cells, n_cells, sizeof *from->cells);
        to->pieces = copy_array(m->arena, from->pieces, (size_t)from->n_pieces, sizeof *from->pieces);
        to->agents = copy_array(m->arena, from->agents, (size_t)spec->n_agents, sizeof *from->agents);
        if (!to->cells || !to->pieces || !to->agents) return false;
    }
    return true;
}

/* The automatic choice looks at what there is to pick up, open or press; kill buttons do not count. */
static int choose_actions(const lud_grid_spec *spec) {
    if (spec->actions != LUD_ACTIONS_AUTOMATIC) return spec->actions;
    int n_cells = spec->width * spec->height;
    for (int k = 0; k < spec->n_maps; k++) {
        const lud_grid_map *map = &spec->maps[k];
        for (int i = 0; i < map->n_pieces; i++)
            if (is_pickable(map->pieces[i].object.type)) return LUD_ACTIONS_OBJECT;
        for (int c = 0; c < n_cells; c++) {
            lud_grid_type type = map->cells[c].type;
            if (type == LUD_DOOR || type == LUD_PAUSE_SWITCH || type == LUD_DISABLING_SWITCH ||
                type == LUD_CONTROL_BUTTON)
                return LUD_ACTIONS_OBJECT;
        }
    }
    return LUD_ACTIONS_SMALL;
}

/* Index of the class, made if new; -1 when there are too many. */
static int class_of(lud_grid_model *m, lud_grid_type type, lud_colour colour, int content) {
    if (type == LUD_BLOCK) return LUD_CLASS_BLOCK;
    if (type == LUD_ROCK) return LUD_CLASS_ROCK;
    for (int k = 2; k < m->n_classes; k++)
        if (m->classes[k].type == type && m->classes[k].colour == colour && m->classes[k].content == content)
            return k;
    assert(m->n_classes < LUD_GRID_MAX_CLASSES); /* 14 keys and balls, 7 * 22 boxes */
    lud_grid_class *added = &m->classes[m->n_classes];
    added->type = (uint8_t)type;
    added->colour = (uint8_t)colour;
    added->content = (uint8_t)content;
    return m->n_classes++;
}

static int class_of_object(lud_grid_model *m, const lud_grid_object *object) {
    int content = 0;
    if (object->type == LUD_BOX && is_pickable(object->content_type))
        content = class_of(m, object->content_type, object->content_colour, 0);
    return class_of(m, object->type, object->colour, content);
}

/* Finds the classes and how many slots each needs: as many as can lie on the grid at once in any map. */
static bool lay_out_pieces(lud_grid_model *m) {
    m->n_classes = 2;
    m->classes[LUD_CLASS_BLOCK].type = LUD_BLOCK;
    m->classes[LUD_CLASS_BLOCK].colour = LUD_BROWN;
    m->classes[LUD_CLASS_ROCK].type = LUD_ROCK;
    m->classes[LUD_CLASS_ROCK].colour = LUD_GREY;
    int most[LUD_GRID_MAX_CLASSES] = {0};
    for (int k = 0; k < m->n_maps; k++) {
        const lud_grid_map *map = &m->spec.maps[k];
        int count[LUD_GRID_MAX_CLASSES] = {0};
        for (int i = 0; i < map->n_pieces; i++) {
            int class = class_of_object(m, &map->pieces[i].object);
            count[class]++;
            if (m->classes[class].content) count[m->classes[class].content]++;
        }
        for (int c = 0; c < m->n_classes; c++)
            if (count[c] > most[c]) most[c] = count[c];
    }
    for (int c = 0; c < m->n_classes; c++) {
        m->classes[c].begin = (uint16_t)m->n_slots;
        m->classes[c].n = (uint16_t)most[c];
        m->n_slots += most[c];
    }
    m->slot_type = lud_arena_take(m->arena, (size_t)m->n_slots + 1);
    for (int c = 0; c < m->n_classes && m->slot_type; c++)
        memset(m->slot_type + m->classes[c].begin, m->classes[c].type, m->classes[c].n);
    return m->slot_type != NULL;
}

static bool has_parameters(lud_grid_type type) {
    return type == LUD_DOOR || type == LUD_UNSTEADY_GROUND || type == LUD_MAGIC_WALL || type == LUD_BUSH ||
           type == LUD_KILL_BUTTON || type == LUD_PAUSE_SWITCH || type == LUD_DISABLING_SWITCH ||
           type == LUD_CONTROL_BUTTON;
}

static bool has_condition(lud_grid_type type) {
    return has_parameters(type) && type != LUD_UNSTEADY_GROUND && type != LUD_DISABLING_SWITCH &&
           type != LUD_CONTROL_BUTTON;
}

static bool compile_layer(lud_grid_model *m, int index) {
    const lud_grid_map *map = &m->spec.maps[index];
    lud_grid_layer *layer = &m->layers[index];
    size_t n = (size_t)m->n_cells;
    int n_conditions = 0, n_controls = 0;
    for (size_t c = 0; c < n; c++) {
        lud_grid_type type = map->cells[c].type;
        layer->n_fixed += has_parameters(type);
        layer->n_shown += type == LUD_DOOR || type == LUD_BUSH;
        n_conditions += has_condition(type);
        n_controls += type == LUD_CONTROL_BUTTON;
    }
    layer->base = lud_arena_take(m->arena, n + 1);
    layer->base_colour = lud_arena_take(m->arena, n + 1);
    layer->fixed_at = lud_arena_take_array(m->arena, n + 1, sizeof *layer->fixed_at);
    layer->fixed = lud_arena_take_array(m->arena, (size_t)layer->n_fixed, sizeof *layer->fixed);
    layer->shown = lud_arena_take_array(m->arena, (size_t)layer->n_shown, sizeof *layer->shown);
    if (!layer->base || !layer->base_colour || !layer->fixed_at || !layer->fixed || !layer->shown)
        return false;
    if (n_conditions > m->n_conditions) m->n_conditions = n_conditions;
    if (n_controls > m->n_controls) m->n_controls = n_controls;
    n_conditions = n_controls = 0;
    int n_fixed = 0, n_shown = 0;
    for (size_t c = 0; c < n; c++) {
        const lud_grid_object *o = &map->cells[c];
        layer->base[c] = content_of(o);
        layer->base_colour[c] = (uint8_t)o->colour;
        layer->fixed_at[c] = LUD_GRID_NONE;
        if (!has_parameters(o->type)) continue;
        layer->fixed_at[c] = (uint16_t)n_fixed;
        if (o->type == LUD_DOOR || o->type == LUD_BUSH) layer->shown[n_shown++] = (uint16_t)n_fixed;
        lud_grid_fixed *f = &layer->fixed[n_fixed++];
        *f = (lud_grid_fixed){.cell = (uint16_t)c,
                              .slot = LUD_GRID_NONE,
                              .type = (uint8_t)o->type,
                              .colour = (uint8_t)o->colour,
                              .side = (uint8_t)o->side,
                              .trigger = (uint8_t)o->trigger,
                              .target = (uint8_t)o->target,
                              .target_type = (uint8_t)o->target_type,
                              .stumble = o->stumble,
                              .entry = o->entry,
                              .solidify = o->solidify,
                              .enter = o->enter};
        if (has_condition(o->type)) f->slot = (uint16_t)n_conditions++;
        if (o->type == LUD_CONTROL_BUTTON) f->slot = (uint16_t)n_controls++;
    }
    layer->base[n] = LUD_WALL;
    layer->fixed_at[n] = LUD_GRID_NONE;
    return true;
}

static void lay_out_state(lud_grid_model *m) {
    size_t offset = 0;
    int n = 0;
#define PLACE(name_, count_, bytes_, about_)                                                                 \
    m->at.name_ = (uint32_t)offset;                                                                          \
    m->field[n++] = (lud_grid_field){#name_, about_, (int)offset, (int)(count_), (int)(bytes_)};             \
    offset += (size_t)(count_) * (size_t)(bytes_);
    LUD_GRID_FIELDS(PLACE)
#undef PLACE
    assert(n == LUD_GRID_N_FIELDS);
    m->model.layout.state_bytes = offset;
    m->model.layout.clock = (lud_clock){m->at.step, 2};
}

static bool compile_initial(lud_grid_model *m, int index) {
    const lud_grid_map *map = &m->spec.maps[index];
    lud_grid_layer *layer = &m->layers[index];
    uint8_t *state = layer->initial = lud_arena_take(m->arena, m->model.layout.state_bytes);
    layer->free_cell = lud_arena_take_array(m->arena, (size_t)m->n_cells, sizeof *layer->free_cell);
    if (!state || !layer->free_cell) return false;
    if (m->n_maps > 1) lud_grid_put16(state + m->at.map, (uint32_t)index);
    for (int i = 0; i < m->n_agents; i++) {
        const lud_grid_agent *agent = &map->agents[i];
        uint32_t cell = m->spec.random_start ? 0 : (uint32_t)(agent->y * m->width + agent->x);
        lud_grid_put_cell(m, state, m->at.cell, i, cell);
        state[m->at.agent + (uint32_t)i] = (uint8_t)agent->direction;
    }
    for (int s = 0; s < m->n_slots; s++) lud_grid_put_cell(m, state, m->at.piece, s, (uint32_t)m->n_cells);
    for (int i = 0; i < map->n_pieces; i++) {
        const lud_grid_piece *piece = &map->pieces[i];
        bool placed = lud_grid_place_piece(m, state, class_of_object(m, &piece->object),
                                           (uint32_t)(piece->y * m->width + piece->x));
        assert(placed);
        (void)placed;
    }
    lud_grid_sort_pieces(m, state);
    for (int i = 0; i < layer->n_fixed; i++) {
        const lud_grid_fixed *f = &layer->fixed[i];
        const lud_grid_object *o = &map->cells[f->cell];
        if (f->type == LUD_CONTROL_BUTTON)
            state[m->at.control + 2u * f->slot + 1] = o->enabled ? LUD_CONTROL_ENABLED : 0;
        else if (f->slot != LUD_GRID_NONE)
            lud_grid_put_condition(m, state, f->slot, lud_grid_condition_of(o));
    }
    bool occupied;
    for (int c = 0; c < m->n_cells; c++) {
        occupied = layer->base[c] != LUD_CONTENT_FREE;
        for (int s = 0; s < m->n_slots && !occupied; s++)
            occupied = lud_grid_get_cell(m, state, m->at.piece, s) == (uint32_t)c;
        if (!occupied) layer->free_cell[layer->n_free++] = (uint16_t)c;
    }
    return true;
}

static bool compile_neighbours(lud_grid_model *m) {
    m->next = lud_arena_take_array(m->arena, (size_t)(m->n_cells + 1) * 4, sizeof *m->next);
    m->cell_x = lud_arena_take(m->arena, (size_t)m->n_cells + 1);
    m->cell_y = lud_arena_take(m->arena, (size_t)m->n_cells + 1);
    if (!m->next || !m->cell_x || !m->cell_y) return false;
    for (int c = 0; c < m->n_cells; c++) {
        m->cell_x[c] = (uint8_t)(c % m->width);
        m->cell_y[c] = (uint8_t)(c / m->width);
    }
    for (int c = 0; c <= m->n_cells; c++)
        for (int d = 0; d < 4; d++) {
            const int to = c < m->n_cells ? lud_cell_onward(c, m->width, m->height, d, 1) : -1;
            m->next[c * 4 + d] = (uint16_t)(to >= 0 ? to : m->n_cells);
        }
    return true;
}

static bool compile_agents(lud_grid_model *m) {
    size_t n = (size_t)m->n_agents;
    lud_action_space *spaces = lud_arena_take_array(m->arena, n, sizeof *spaces);
    lud_role *roles = lud_arena_take_array(m->arena, n, sizeof *roles);
    int *idle = lud_arena_take_array(m->arena, n, sizeof *idle);
    m->goal_begin = lud_arena_take_array(m->arena, n + 1, sizeof *m->goal_begin);
    m->goal_index = lud_arena_take_array(m->arena, n * (size_t)m->spec.n_goals, sizeof *m->goal_index);
    if (!spaces || !roles || !idle || !m->goal_begin || !m->goal_index) return false;
    int n_actions;
    const char *const *names = lud_grid_action_names(m->spec.actions, &n_actions);
    m->n_actions = n_actions;
    memcpy(m->verb, action_sets[m->spec.actions].verbs, (size_t)n_actions);
    int n_goals = 0;
    for (int i = 0; i < m->n_agents; i++) {
        const lud_grid_agent *agent = &m->spec.maps[0].agents[i];
        m->colour[i] = (uint8_t)agent->colour;
        m->can[i] = (uint8_t)((agent->can_push_rocks ? LUD_CAN_PUSH_ROCKS : 0) |
                              (agent->can_enter_magic_walls ? LUD_CAN_ENTER_MAGIC_WALLS : 0));
        if (m->can[i] || agent->colour == LUD_GREY) m->can[i] |= LUD_CAN_TRAMPLE;
        spaces[i] = (lud_action_space){.n_discrete = n_actions, .names = names};
        roles[i] = agent->role;
        idle[i] = m->verb[0] == LUD_VERB_STILL ? 0 : -1;
        m->goal_begin[i] = n_goals;
        for (int g = 0; g < m->spec.n_goals; g++) {
            if (goal_belongs(&m->spec.goals[g], m->spec.maps[0].agents, i)) m->goal_index[n_goals++] = g;
        }
    }
    m->goal_begin[m->n_agents] = n_goals;
    m->model.layout.n_agents = m->n_agents;
    m->model.layout.actions = spaces;
    m->model.layout.roles = roles;
    m->model.layout.idle = idle;
    return true;
}

static void compile_rewards(lud_grid_model *m) {
    const lud_grid_rewards *r = &m->spec.rewards;
    m->reward_collect[LUD_KEY] = (float)r->collect.key;
    m->reward_collect[LUD_BALL] = (float)r->collect.ball;
    m->reward_collect[LUD_BOX] = (float)r->collect.box;
    m->has_rewards = r->goal != 0 || r->step != 0 || r->lava != 0 || r->open_door != 0;
    for (int t = 0; t < LUD_GRID_TYPES; t++) m->has_rewards |= m->reward_collect[t] != 0;
}

static lud_status compile(lud_grid_model *m, const lud_grid_spec *spec, lud_error *error) {
    m->width = spec->width;
    m->height = spec->height;
    m->n_cells = spec->width * spec->height;
    m->cell_bytes = m->n_cells <= 255 ? 1 : 2;
    m->n_agents = spec->n_agents;
    m->n_maps = spec->n_maps;
    m->layers = lud_arena_take_array(m->arena, (size_t)m->n_maps, sizeof *m->layers);
    bool ok = m->layers && copy_spec(m, spec);
    if (ok) {
        m->spec.actions = choose_actions(spec);
        m->model.layout.max_steps = (int)spec->max_steps;
        ok = lay_out_pieces(m) && compile_agents(m) && compile_neighbours(m);
        compile_rewards(m);
    }
    for (int k = 0; k < m->n_maps && ok; k++) ok = compile_layer(m, k);
    if (ok) {
        lay_out_state(m);
        lud_grid_compile_quick(m);
    }
    for (int k = 0; k < m->n_maps && ok; k++) ok = compile_initial(m, k);
    if (!ok || !lud_grid_compile_observations(m) || !lud_grid_compile_measures(m))
        return lud_no_memory(error, "the compiled grid");
    for (int k = 0; k < m->n_maps && spec->random_start; k++)
        if (m->layers[k].n_free < m->n_agents)
            return lud_invalid(error, "map %d has %d free cells for %d random agents", k, m->layers[k].n_free,
                               m->n_agents);
    return LUD_OK;
}

lud_status lud_grid_model_create(const lud_grid_spec *spec, lud_model **model, lud_error *error) {
    *model = NULL;
    lud_arena *arena = lud_arena_create(0);
    lud_grid_model *m = arena ? lud_arena_take(arena, sizeof *m) : NULL;
    if (!m) {
        lud_arena_destroy(arena);
        return lud_no_memory(error, "a grid");
    }
    m->arena = arena;
    m->model.world = &lud_multigrid_world;
    lud_status status = check_spec(spec, arena, error);
    if (!status) status = compile(m, spec, error);
    if (status)
        lud_arena_destroy(arena);
    else
        *model = &m->model;
    return status;
}

void lud_grid_model_destroy(lud_model *model) {
    if (model) lud_arena_destroy(((lud_grid_model *)model)->arena);
}

const lud_grid_spec *lud_grid_model_spec(const lud_model *model) {
    assert(lud_grid_is_model(model));
    return &((const lud_grid_model *)model)->spec;
}

void lud_grid_diff(const lud_model *model, const uint8_t *a, const uint8_t *b, lud_text *out) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    for (int k = 0; k < LUD_GRID_N_FIELDS; k++) {
        const lud_grid_field *f = &m->field[k];
        for (int i = 0; i < f->count; i++) {
            size_t at = (size_t)(f->offset + i * f->bytes);
            if (memcmp(a + at, b + at, (size_t)f->bytes) == 0) continue;
            unsigned x = f->bytes == 1 ? a[at] : lud_grid_get16(a + at);
            unsigned y = f->bytes == 1 ? b[at] : lud_grid_get16(b + at);
            lud_text_append(out, "%s[%d]: %u -> %u\n", f->name, i, x, y);
        }
    }
}
