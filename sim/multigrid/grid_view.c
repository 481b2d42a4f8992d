#include "sim/multigrid/grid_view.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/multigrid/grid_board.h"

lud_grid_scene *lud_grid_scene_create(const lud_model *model) {
    assert(lud_grid_is_model(model));
    const lud_grid_model *m = (const lud_grid_model *)model;
    lud_grid_scene *scene = calloc(1, sizeof *scene);
    if (!scene) return NULL;
    scene->width = m->width;
    scene->height = m->height;
    scene->n_agents = m->n_agents;
    scene->piece_capacity = m->n_slots;
    scene->cells = calloc((size_t)m->n_cells, sizeof *scene->cells);
    scene->agents = calloc((size_t)m->n_agents + 1, sizeof *scene->agents);
    scene->pieces = calloc((size_t)m->n_slots + 1, sizeof *scene->pieces);
    if (scene->cells && scene->agents && scene->pieces) return scene;
    lud_grid_scene_destroy(scene);
    return NULL;
}

void lud_grid_scene_destroy(lud_grid_scene *scene) {
    if (!scene) return;
    LUD_FREE(scene->cells, scene->agents, scene->pieces, scene);
}

static lud_grid_object object_of_class(const lud_grid_model *m, int piece_class) {
    const lud_grid_class *k = &m->classes[piece_class];
    lud_grid_object object = lud_grid_object_default((lud_grid_type)k->type);
    object.colour = (lud_colour)k->colour;
    if (k->content) {
        object.content_type = (lud_grid_type)m->classes[k->content].type;
        object.content_colour = (lud_colour)m->classes[k->content].colour;
    }
    return object;
}

static void read_fixed(const lud_grid_model *m, const uint8_t *state, const lud_grid_fixed *f,
                       lud_grid_scene_cell *cell) {
    if (f->type == LUD_CONTROL_BUTTON) {
        const uint8_t *control = &state[m->at.control + 2u * f->slot];
        cell->ground.enabled = control[1] & LUD_CONTROL_ENABLED;
        cell->awaiting = control[1] & LUD_CONTROL_AWAITING;
        cell->controlled_agent = control[0] - 1;
        cell->recorded_action = (control[1] >> LUD_CONTROL_RECORDED_SHIFT) - 1;
        return;
    }
    if (f->slot == LUD_GRID_NONE) return;
    int condition = lud_grid_condition(m, state, f->slot);
    switch (f->type) {
    case LUD_DOOR:
        cell->ground.door = (lud_door_state)condition;
        break;
    case LUD_MAGIC_WALL:
        cell->ground.active = condition != 0;
        break;
    case LUD_BUSH:
        cell->trampled = condition != 0;
        break;
    case LUD_KILL_BUTTON:
        cell->ground.enabled = condition != 0;
        break;
    default:
        cell->ground.on = condition & LUD_PAUSE_ON;
        cell->ground.enabled = condition & LUD_PAUSE_ENABLED;
        break;
    }
}

static void read_agent(const lud_grid_model *m, const uint8_t *state, int i, lud_grid_scene_agent *agent) {
    uint32_t cell = lud_grid_get_cell(m, state, m->at.cell, i);
    uint8_t byte = state[m->at.agent + (uint32_t)i];
    int carried = m->n_classes > 2 ? state[m->at.carried + (uint32_t)i] : 0;
    *agent = (lud_grid_scene_agent){.x = m->cell_x[cell],
                                    .y = m->cell_y[cell],
                                    .direction = (lud_direction)(byte & LUD_AGENT_DIRECTION),
                                    .colour = (lud_colour)m->colour[i],
                                    .role = m->model.layout.roles[i],
                                    .terminated = byte & LUD_AGENT_TERMINATED,
                                    .paused = byte & LUD_AGENT_PAUSED,
                                    .forced_action = (byte >> LUD_AGENT_FORCED_SHIFT) - 1,
                                    .carries = carried != 0,
                                    .can_push_rocks = m->can[i] & LUD_CAN_PUSH_ROCKS,
                                    .can_enter_magic_walls = m->can[i] & LUD_CAN_ENTER_MAGIC_WALLS};
    if (carried) agent->carried = object_of_class(m, carried);
}

void lud_grid_scene_read(lud_grid_scene *scene, const lud_model *model, const uint8_t *state) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    const lud_grid_layer *layer = lud_grid_layer_of(m, state);
    scene->step = (int)lud_grid_get16(state + m->at.step);
    scene->map = (int)(layer - m->layers);
    const lud_grid_object *ground = m->spec.maps[scene->map].cells;
    for (int c = 0; c < m->n_cells; c++)
        scene->cells[c] = (lud_grid_scene_cell){
            .ground = ground[c], .controlled_agent = -1, .recorded_action = -1, .piece = -1, .agent = -1};
    for (int k = 0; k < layer->n_fixed; k++)
        read_fixed(m, state, &layer->fixed[k], &scene->cells[layer->fixed[k].cell]);
    scene->n_pieces = 0;
    for (int k = 0; k < m->n_classes; k++)
        for (int s = m->classes[k].begin; s < m->classes[k].begin + m->classes[k].n; s++) {
            uint32_t cell = lud_grid_get_cell(m, state, m->at.piece, s);
            if (cell == (uint32_t)m->n_cells) continue;
            scene->cells[cell].piece = scene->n_pieces;
            scene->pieces[scene->n_pieces++] =
                (lud_grid_piece){.object = object_of_class(m, k), .x = m->cell_x[cell], .y = m->cell_y[cell]};
        }
    for (int i = 0; i < m->n_agents; i++) {
        read_agent(m, state, i, &scene->agents[i]);
        scene->cells[scene->agents[i].y * m->width + scene->agents[i].x].agent = i;
    }
}

/* What is wrong with the changing parts of a cell, or null. */
static const char *fault_of_cell(const lud_grid_model *m, const lud_grid_fixed *f,
                                 const lud_grid_scene_cell *cell) {
    if (f->type == LUD_DOOR && cell->ground.door > LUD_DOOR_LOCKED)
        return "the door is neither open nor closed nor locked";
    if (f->type != LUD_CONTROL_BUTTON) return NULL;
    if (cell->controlled_agent < -1 || cell->controlled_agent >= m->n_agents)
        return "the button controls an unknown agent";
    if (cell->recorded_action < -1 || cell->recorded_action >= m->n_actions)
        return "the button recorded an unknown action";
    return NULL;
}

static const char *fault_of_agent(const lud_grid_model *m, const lud_grid_scene_agent *agent) {
    if (agent->x < 0 || agent->x >= m->width || agent->y < 0 || agent->y >= m->height)
        return "it is outside the grid";
    if (agent->direction > LUD_NORTH) return "unknown direction";
    if (agent->forced_action < -1 || agent->forced_action >= m->n_actions)
        return "forced to an unknown action";
    return NULL;
}

static void write_fixed(const lud_grid_model *m, const lud_grid_fixed *f, const lud_grid_scene_cell *cell,
                        uint8_t *state) {
    if (f->type == LUD_CONTROL_BUTTON) {
        uint8_t *control = &state[m->at.control + 2u * f->slot];
        control[0] = (uint8_t)(cell->controlled_agent + 1);
        control[1] = (uint8_t)((cell->ground.enabled ? LUD_CONTROL_ENABLED : 0) |
                               (cell->awaiting ? LUD_CONTROL_AWAITING : 0) |
                               (cell->recorded_action + 1) << LUD_CONTROL_RECORDED_SHIFT);
    } else if (f->slot != LUD_GRID_NONE) {
        int condition = f->type == LUD_BUSH ? cell->trampled : lud_grid_condition_of(&cell->ground);
        lud_grid_put_condition(m, state, f->slot, condition);
    }
}

/* The class of an object, -1 when the model has none. */
static int find_class(const lud_grid_model *m, const lud_grid_object *object) {
    for (int k = 0; k < m->n_classes; k++) {
        const lud_grid_class *class = &m->classes[k];
        if (class->type != object->type) continue;
        if (k <= LUD_CLASS_ROCK) return k;
        int type = class->content ? m->classes[class->content].type : LUD_EMPTY;
        int colour = class->content ? m->classes[class->content].colour : 0;
        int wanted = object->content_type == LUD_UNSEEN ? LUD_EMPTY : (int)object->content_type;
        if (class->colour != object->colour || type != wanted) continue;
        if (type == LUD_EMPTY || colour == (int)object->content_colour) return k;
    }
    return -1;
}

lud_status lud_grid_scene_write(const lud_grid_scene *scene, const lud_model *model, uint8_t *state,
                                lud_error *error) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    if (scene->map < 0 || scene->map >= m->n_maps || scene->step < 0 || scene->step > 65535)
        return lud_invalid(error, "no map %d or step %d in this grid", scene->map, scene->step);
    const lud_grid_layer *layer = &m->layers[scene->map];
    memcpy(state, layer->initial, model->layout.state_bytes);
    lud_grid_put16(state + m->at.step, (uint32_t)scene->step);
    for (int k = 0; k < layer->n_fixed; k++) {
        const lud_grid_fixed *f = &layer->fixed[k];
        const char *fault = fault_of_cell(m, f, &scene->cells[f->cell]);
        if (fault)
            return lud_invalid(error, "cell (%d, %d): %s", m->cell_x[f->cell], m->cell_y[f->cell], fault);
        write_fixed(m, f, &scene->cells[f->cell], state);
    }
    for (int i = 0; i < m->n_agents; i++) {
        const lud_grid_scene_agent *agent = &scene->agents[i];
        const char *fault = fault_of_agent(m, agent);
        if (fault) return lud_invalid(error, "agent %d: %s", i, fault);
        int carried = agent->carries ? find_class(m, &agent->carried) : 0;
        if (carried < 0 || (agent->carries && carried <= LUD_CLASS_ROCK))
            return lud_invalid(error, "agent %d carries a thing that this grid does not have", i);
        lud_grid_put_cell(m, state, m->at.cell, i, (uint32_t)(agent->y * m->width + agent->x));
        state[m->at.agent + (uint32_t)i] =
            (uint8_t)((int)agent->direction | (agent->terminated ? LUD_AGENT_TERMINATED : 0) |
                      (agent->paused ? LUD_AGENT_PAUSED : 0) |
                      (agent->forced_action + 1) << LUD_AGENT_FORCED_SHIFT);
        if (m->n_classes > 2) state[m->at.carried + (uint32_t)i] = (uint8_t)carried;
    }
    for (int s = 0; s < m->n_slots; s++) lud_grid_put_cell(m, state, m->at.piece, s, (uint32_t)m->n_cells);
    for (int p = 0; p < scene->n_pieces; p++) {
        const lud_grid_piece *piece = &scene->pieces[p];
        int class = find_class(m, &piece->object);
        bool inside = piece->x >= 0 && piece->x < m->width && piece->y >= 0 && piece->y < m->height;
        if (class < 0 || !inside ||
            !lud_grid_place_piece(m, state, class, (uint32_t)(piece->y * m->width + piece->x)))
            return lud_invalid(error, "this grid has no room for piece %d at (%d, %d)", p, piece->x,
                               piece->y);
    }
    lud_grid_sort_pieces(m, state);
    return LUD_OK;
}
