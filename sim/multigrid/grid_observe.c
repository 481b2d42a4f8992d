#include "sim/multigrid/grid_observe.h"

#include <string.h>

#include "sim/multigrid/grid_encode.h"

/* Numbers of grids up to the largest fit on the stack of a thread (390 kB). */
enum { MAX_CELLS = LUD_GRID_MAX_SIDE * LUD_GRID_MAX_SIDE };

static const uint8_t alphabetical[LUD_COLOURS] = {LUD_BLUE,   LUD_BROWN, LUD_GREEN, LUD_GREY,
                                                  LUD_PURPLE, LUD_RED,   LUD_YELLOW};

/* --- Words --- */

static int base_channel(int type) {
    static const uint8_t channels[LUD_GRID_TYPES] = {[LUD_UNSEEN] = LUD_CODE_NOTHING,
                                                     [LUD_EMPTY] = LUD_CODE_NOTHING,
                                                     [LUD_WALL] = LUD_CHANNEL_WALL,
                                                     [LUD_FLOOR] = LUD_CHANNEL_FLOOR,
                                                     [LUD_DOOR] = LUD_CODE_DOOR,
                                                     [LUD_KEY] = LUD_CODE_KEY,
                                                     [LUD_BALL] = LUD_CHANNEL_BALL,
                                                     [LUD_BOX] = LUD_CHANNEL_BOX,
                                                     [LUD_GOAL] = LUD_CHANNEL_GOAL,
                                                     [LUD_LAVA] = LUD_CHANNEL_LAVA,
                                                     [LUD_AGENT] = LUD_CODE_NOTHING,
                                                     [LUD_OBJECT_GOAL] = LUD_CODE_NOTHING,
                                                     [LUD_SWITCH] = LUD_CHANNEL_SWITCH,
                                                     [LUD_BLOCK] = LUD_CHANNEL_BLOCK,
                                                     [LUD_ROCK] = LUD_CHANNEL_ROCK,
                                                     [LUD_UNSTEADY_GROUND] = LUD_CHANNEL_UNSTEADY_GROUND,
                                                     [LUD_MAGIC_WALL] = LUD_CODE_NOTHING,
                                                     [LUD_KILL_BUTTON] = LUD_CHANNEL_KILL_BUTTON,
                                                     [LUD_PAUSE_SWITCH] = LUD_CHANNEL_PAUSE_SWITCH,
                                                     [LUD_DISABLING_SWITCH] = LUD_CHANNEL_DISABLING_SWITCH,
                                                     [LUD_CONTROL_BUTTON] = LUD_CHANNEL_CONTROL_BUTTON,
                                                     [LUD_BUSH] = LUD_CHANNEL_BUSH};
    return channels[type];
}

enum { OTHER_IMMOBILE = 2 << LUD_CODE_OTHER_SHIFT };

/* The word of an immobile object, without its condition. */
static int32_t static_word(const lud_grid_object *o) {
    int32_t word = base_channel((int)o->type) | LUD_GRID_NO_AGENT;
    if (o->type == LUD_DOOR) word |= (int32_t)o->colour << LUD_CODE_COLOUR_SHIFT;
    if (o->type == LUD_OBJECT_GOAL) word |= OTHER_IMMOBILE;
    return word;
}

void lud_grid_encode_words(const lud_grid_model *m, const uint8_t *state, bool reference, int height,
                           int width, int32_t *words) {
    int32_t whole[MAX_CELLS];
    lud_grid_write_words(m, state, whole);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            bool inside = x < m->width && y < m->height;
            int32_t word = inside ? whole[y * m->width + x] : LUD_CODE_WALL;
            words[y * width + x] = reference ? lud_grid_code_reference(word) : word;
        }
}

void lud_grid_encode_tensor(const lud_grid_model *m, const uint8_t *state, int height, int width,
                            float *tensor) {
    int32_t whole[MAX_CELLS];
    lud_grid_write_words(m, state, whole);
    size_t plane = (size_t)height * (size_t)width;
    memset(tensor, 0, LUD_GRID_CHANNELS * plane * sizeof *tensor);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            bool inside = x < m->width && y < m->height;
            lud_grid_active active[LUD_GRID_MAX_ACTIVE];
            int n = lud_grid_code_active(inside ? whole[y * m->width + x] : LUD_CODE_WALL, LUD_GRID_COVERED,
                                         active);
            for (int k = 0; k < n; k++)
                tensor[(size_t)active[k].channel * plane + (size_t)(y * width + x)] = active[k].value;
        }
}

/* --- Features --- */

void lud_grid_encode_globals(const lud_grid_model *m, const uint8_t *state, bool reference,
                             float globals[LUD_GRID_GLOBALS]) {
    lud_grid_write_globals(m, state, globals);
    if (!reference) return;
    globals[1] = globals[3] = 0.0f;
    globals[2] = 1.0f;
}

void lud_grid_encode_interactive(const lud_grid_model *m, const uint8_t *state,
                                 float features[LUD_GRID_INTERACTIVE]) {
    lud_grid_write_interactive(m, state, features);
}

void lud_grid_encode_agents(const lud_grid_model *m, const uint8_t *state, bool reference,
                            const int most[LUD_COLOURS], float *features) {
    for (int k = 0; k < LUD_COLOURS; k++) {
        int colour = alphabetical[k], n = 0;
        for (int i = 0; i < m->n_agents && n < most[colour]; i++)
            if (m->colour[i] == colour) {
                float *to = features + LUD_GRID_AGENT_FEATURES * n++;
                lud_grid_write_agent(m, state, i, to);
                if (reference && to[8] == (float)base_channel(LUD_KEY)) to[8] = -1.0f;
            }
        memset(features + LUD_GRID_AGENT_FEATURES * n, 0,
               (size_t)(most[colour] - n) * LUD_GRID_AGENT_FEATURES * sizeof *features);
        features += LUD_GRID_AGENT_FEATURES * most[colour];
    }
}

int lud_grid_agent_place(const lud_grid_model *m, int agent) {
    int place = 0;
    for (int k = 0; alphabetical[k] != m->colour[agent]; k++) place += m->colour_count[alphabetical[k]];
    for (int i = 0; i < agent; i++) place += m->colour[i] == m->colour[agent];
    return place;
}

static float inverse(int largest) {
    return 1.0f / (float)(largest > 1 ? largest : 1);
}

static void agent_scales(const lud_grid_model *m, float *scale) {
    for (int f = 0; f < LUD_GRID_AGENT_FEATURES; f++) scale[f] = 1.0f;
    scale[LUD_GRID_AGENT_X] = inverse(m->width);
    scale[LUD_GRID_AGENT_Y] = inverse(m->height);
    scale[LUD_GRID_AGENT_CARRIED_TYPE] = inverse(base_channel(LUD_KEY));
    scale[LUD_GRID_AGENT_CARRIED_COLOUR] = inverse(LUD_COLOURS);
    scale[LUD_GRID_AGENT_FORCED] =
        inverse(m->n_agents ? m->model.layout.actions[0].n_discrete : 1); /* nobody may be there */
}

/* What the two functions above look up. */
static bool compile_features(lud_grid_model *m) {
    m->slot_word = lud_arena_take_array(m->arena, (size_t)m->n_slots, sizeof *m->slot_word);
    m->carry = lud_arena_take_array(m->arena, (size_t)m->n_classes, sizeof *m->carry);
    m->place = lud_arena_take_array(m->arena, (size_t)m->n_cells, sizeof *m->place);
    m->agent_of_place = lud_arena_take(m->arena, (size_t)m->n_agents + 1);
    if (!m->slot_word || !m->carry || !m->place || !m->agent_of_place) return false;
    for (int k = 0; k < m->n_classes; k++) {
        const lud_grid_class *class = &m->classes[k];
        int32_t word = base_channel(class->type) | LUD_GRID_NO_AGENT;
        if (class->type == LUD_KEY) word |= class->colour << LUD_CODE_COLOUR_SHIFT;
        for (int s = class->begin; s < class->begin + class->n; s++) m->slot_word[s] = word;
        m->carry[k][0] = k ? (float)base_channel(class->type) : -1.0f; /* class 0 is carrying nothing */
        m->carry[k][1] = k ? (float)class->colour : -1.0f;
    }
    for (int c = 0; c < m->n_cells; c++) {
        m->place[c][0] = (float)m->cell_x[c];
        m->place[c][1] = (float)m->cell_y[c];
    }
    for (int i = 0; i < m->n_agents; i++) m->agent_of_place[lud_grid_agent_place(m, i)] = (uint8_t)i;
    return true;
}

static void compile_interactive(const lud_grid_model *m, lud_grid_layer *layer) {
    int count[4] = {0};
    for (int k = 0; k < layer->n_fixed; k++) {
        const lud_grid_fixed *f = &layer->fixed[k];
        float *to = lud_grid_interactive_place(f, count, layer->interactive);
        if (!to) continue;
        to[0] = (float)(f->cell % m->width);
        to[1] = (float)(f->cell / m->width);
        to[f->type == LUD_KILL_BUTTON || f->type == LUD_CONTROL_BUTTON ? 3 : 4] = (float)f->trigger;
        if (f->type == LUD_KILL_BUTTON || f->type == LUD_CONTROL_BUTTON) to[4] = (float)f->target;
        if (f->type == LUD_PAUSE_SWITCH) to[5] = (float)f->target;
        if (f->type == LUD_DISABLING_SWITCH) {
            to[2] = 1;
            to[5] = (float)base_channel(f->target_type);
        }
    }
    layer->n_buttons = count[0] + count[1] + count[3];
}

/* --- Six numbers a cell --- */

static uint8_t scaled(double probability) {
    return (uint8_t)(255.0 * probability);
}

static void fixed_numbers(const lud_grid_model *m, const uint8_t *state, const lud_grid_fixed *f,
                          uint8_t *to) {
    int condition =
        f->slot != LUD_GRID_NONE && f->type != LUD_CONTROL_BUTTON ? lud_grid_condition(m, state, f->slot) : 0;
    switch (f->type) {
    case LUD_DOOR:
        to[2] = (uint8_t)condition;
        break;
    case LUD_UNSTEADY_GROUND:
        to[2] = scaled(f->stumble);
        break;
    case LUD_MAGIC_WALL:
        to[2] = f->side;
        to[3] = scaled(f->entry);
        to[4] = scaled(f->solidify);
        to[5] = condition != 0;
        break;
    case LUD_KILL_BUTTON:
        to[2] = f->trigger;
        to[3] = f->target;
        to[4] = (uint8_t)condition;
        break;
    case LUD_PAUSE_SWITCH:
        to[2] = f->trigger;
        to[3] = f->target;
        to[4] = (condition & LUD_PAUSE_ON) != 0;
        to[5] = (condition & LUD_PAUSE_ENABLED) != 0;
        break;
    case LUD_DISABLING_SWITCH:
        to[2] = f->trigger;
        to[3] = f->target_type == LUD_KILL_BUTTON ? 0 : f->target_type == LUD_PAUSE_SWITCH ? 1 : 2;
        break;
    case LUD_CONTROL_BUTTON: {
        const uint8_t *control = &state[m->at.control + 2u * f->slot];
        to[2] = f->trigger;
        to[3] = f->target;
        to[4] = (control[1] & LUD_CONTROL_ENABLED) != 0;
        to[5] = control[1] >> LUD_CONTROL_RECORDED_SHIFT;
        break;
    }
    case LUD_BUSH:
        to[2] = (uint8_t)condition;
        break;
    default:
        break;
    }
}

void lud_grid_encode_cells(const lud_grid_model *m, const uint8_t *state, int observer, uint8_t *cells) {
    const lud_grid_layer *layer = lud_grid_layer_of(m, state);
    const lud_grid_map *map = &m->spec.maps[m->n_maps > 1 ? lud_grid_get16(state + m->at.map) : 0];
    enum { N = LUD_GRID_CELL_NUMBERS };
    memset(cells, 0, (size_t)m->n_cells * N);
    for (int x = 0; x < m->width; x++)
        for (int y = 0; y < m->height; y++) {
            const lud_grid_object *o = &map->cells[y * m->width + x];
            uint8_t *to = cells + (x * m->height + y) * N;
            to[0] = (uint8_t)o->type;
            to[1] = (uint8_t)(o->type == LUD_EMPTY ? 0 : o->colour);
        }
    for (int k = 0; k < layer->n_fixed; k++) {
        const lud_grid_fixed *f = &layer->fixed[k];
        uint8_t *to = cells + (m->cell_x[f->cell] * m->height + m->cell_y[f->cell]) * N;
        fixed_numbers(m, state, f, to);
        if (f->type == LUD_BUSH && to[2]) memcpy(to, (const uint8_t[N]){LUD_EMPTY}, N);
    }
    for (int k = 0; k < m->n_classes; k++)
        for (int s = m->classes[k].begin; s < m->classes[k].begin + m->classes[k].n; s++) {
            uint32_t cell = lud_grid_get_cell(m, state, m->at.piece, s);
            if (cell == (uint32_t)m->n_cells) continue;
            uint8_t *to = cells + (m->cell_x[cell] * m->height + m->cell_y[cell]) * N;
            memcpy(to, (const uint8_t[N]){m->classes[k].type, m->classes[k].colour}, N);
        }
    for (int i = 0; i < m->n_agents; i++) {
        uint32_t cell = lud_grid_get_cell(m, state, m->at.cell, i);
        const lud_grid_class *carried =
            m->n_classes > 2 ? &m->classes[state[m->at.carried + (uint32_t)i]] : m->classes;
        bool carries = carried != m->classes;
        uint8_t *to = cells + (m->cell_x[cell] * m->height + m->cell_y[cell]) * N;
        memcpy(to,
               (const uint8_t[N]){LUD_AGENT, m->colour[i], carries ? carried->type : 0,
                                  carries ? carried->colour : 0,
                                  state[m->at.agent + (uint32_t)i] & LUD_AGENT_DIRECTION, i == observer},
               N);
    }
}

/* --- Partial view --- */

static bool numbers_are_opaque(const uint8_t *cell) {
    return cell[0] == LUD_WALL || cell[0] == LUD_MAGIC_WALL ||
           (cell[0] == LUD_DOOR && cell[2] != LUD_DOOR_OPEN);
}

/* to[n_agents][column][row][6] */
static void observe_partial_cells(const lud_grid_model *m, const uint8_t *state, uint8_t *to) {
    enum { N = LUD_GRID_CELL_NUMBERS };
    uint8_t whole[MAX_CELLS * N];
    uint16_t cell[LUD_GRID_MAX_VIEW_CELLS];
    bool opaque[LUD_GRID_MAX_VIEW_CELLS], lit[LUD_GRID_MAX_VIEW_CELLS];
    static const uint8_t outside[N] = {LUD_WALL, LUD_GREY};
    int size = (int)m->spec.observation.size, n = size * size;
    lud_grid_encode_cells(m, state, -1, whole);
    for (int i = 0; i < m->n_agents; i++, to += n * N) {
        lud_grid_view_cells(m, state, i, cell);
        for (int k = 0; k < n; k++) {
            uint8_t *at = to + ((k % size) * size + k / size) * N;
            const uint8_t *from = whole + (m->cell_x[cell[k]] * m->height + m->cell_y[cell[k]]) * N;
            memcpy(at, cell[k] == m->n_cells ? outside : from, N);
            opaque[k] = numbers_are_opaque(at);
        }
        to[((size / 2) * size + size - 1) * N + 5] = 1;
        if (m->spec.observation.see_through_walls) continue;
        lud_grid_spread_light(size, opaque, lit);
        for (int k = 0; k < n; k++)
            if (!lit[k]) memset(to + ((k % size) * size + k / size) * N, 0, N);
    }
}

/* --- Layout and entry --- */

/* For each number of one row of a part the factor that brings it to about -1 .. 1: counts and places go up to
 * the size of the map. */
static void fill_scales(const lud_grid_model *m, const char *part, float *scale) {
    if (strcmp(part, "globals") == 0) {
        for (int f = 0; f < LUD_GRID_GLOBALS; f++) scale[f] = 1.0f;
        scale[LUD_GRID_AGENT_X] = inverse((int)m->spec.max_steps);
    } else if (strcmp(part, "self") == 0) {
        agent_scales(m, scale);
    } else if (strcmp(part, "agents") == 0) {
        for (int i = 0; i < m->n_agents; i++) agent_scales(m, scale + i * LUD_GRID_AGENT_FEATURES);
    } else {
        /* places, then flags, colours and types, of which none is large enough to matter but the last two */
        for (int f = 0; f < LUD_GRID_INTERACTIVE; f++) scale[f] = 1.0f;
        for (int k = 0; k < 4; k++)
            for (int i = 0; i < LUD_GRID_BUTTONS_PER_TYPE; i++) {
                float *to = scale + lud_grid_interactive_begin(k) + i * lud_grid_interactive_size(k);
                to[0] = inverse(m->width);
                to[1] = inverse(m->height);
                for (int f = 3; f < lud_grid_interactive_size(k); f++) to[f] = inverse(LUD_COLOURS);
            }
    }
}

/* A map of cells, or a vector of numbers; false when memory is out. */
static bool add_part(lud_grid_model *m, const char *name, lud_dtype dtype, bool per_agent, int n_dimensions,
                     const int *dimensions) {
    lud_layout *layout = &m->model.layout;
    lud_observation_part *part = &layout->parts[layout->n_parts++];
    *part = (lud_observation_part){.name = name,
                                   .kind = dtype == LUD_F32 ? LUD_OBSERVATION_VECTOR : LUD_OBSERVATION_GRID,
                                   .dtype = dtype,
                                   .per_agent = per_agent,
                                   .n_dimensions = n_dimensions};
    size_t row = 1;
    for (int k = 0; k < n_dimensions; k++) {
        part->dimensions[k] = dimensions[k];
        row *= (size_t)dimensions[k];
    }
    part->bytes = row * (per_agent ? (size_t)layout->n_agents : 1) * (dtype == LUD_U8 ? 1 : 4);
    if (part->kind != LUD_OBSERVATION_VECTOR) return true;
    float *scale = lud_arena_take_array(m->arena, row, sizeof *scale);
    if (scale) fill_scales(m, name, scale);
    part->scale = scale;
    return scale != NULL;
}

bool lud_grid_compile_observations(lud_grid_model *m) {
    for (int k = 0; k < m->n_maps; k++) {
        lud_grid_layer *layer = &m->layers[k];
        layer->compact = lud_arena_take_array(m->arena, (size_t)m->n_cells, sizeof *layer->compact);
        layer->interactive = lud_arena_take_array(m->arena, LUD_GRID_INTERACTIVE, sizeof *layer->interactive);
        layer->coded = lud_arena_take_array(m->arena, (size_t)layer->n_fixed, sizeof *layer->coded);
        if (!layer->compact || !layer->interactive || !layer->coded) return false;
        for (int c = 0; c < m->n_cells; c++) layer->compact[c] = static_word(&m->spec.maps[k].cells[c]);
        for (int f = 0; f < layer->n_fixed; f++) {
            const uint8_t type = layer->fixed[f].type;
            if (type == LUD_DOOR || type == LUD_MAGIC_WALL || type == LUD_BUSH)
                layer->coded[layer->n_coded++] = (uint16_t)f;
        }
        for (int f = layer->n_fixed - 1; f >= 0; f--) {
            if (layer->fixed[f].type == LUD_UNSTEADY_GROUND) layer->stumble = (float)layer->fixed[f].stumble;
            if (layer->fixed[f].type != LUD_MAGIC_WALL) continue;
            layer->entry = (float)layer->fixed[f].entry;
            layer->solidify = (float)layer->fixed[f].solidify;
        }
        compile_interactive(m, layer);
    }
    for (int i = 0; i < m->n_agents; i++) m->colour_count[m->colour[i]]++;
    if (!compile_features(m)) return false;
    bool partial = m->spec.observation.view == LUD_VIEW_PARTIAL;
    int size = (int)m->spec.observation.size, width = partial ? size : m->width,
        height = partial ? size : m->height;
    if (m->spec.observation.coding == LUD_CODING_CELLS)
        return add_part(m, "cells", LUD_U8, true, 3, (const int[]){width, height, LUD_GRID_CELL_NUMBERS});
    if (!add_part(m, "grid", LUD_I32, partial, 2, (const int[]){height, width}) ||
        !add_part(m, "globals", LUD_F32, false, 1, (const int[]){LUD_GRID_GLOBALS}))
        return false;
    if (partial) return add_part(m, "self", LUD_F32, true, 1, (const int[]){LUD_GRID_AGENT_FEATURES});
    return add_part(m, "agents", LUD_F32, false, 2, (const int[]){m->n_agents, LUD_GRID_AGENT_FEATURES}) &&
           add_part(m, "interactive", LUD_F32, false, 1, (const int[]){LUD_GRID_INTERACTIVE});
}

static void observe_cells(const lud_grid_model *m, lud_range range, const uint8_t *states, uint8_t *to) {
    size_t one = (size_t)m->n_cells * LUD_GRID_CELL_NUMBERS;
    for (int e = 0; e < range.n; e++, states += m->model.layout.state_bytes) {
        if (m->spec.observation.view == LUD_VIEW_PARTIAL) {
            observe_partial_cells(m, states, to);
            to += m->model.layout.parts[0].bytes;
            continue;
        }
        for (int i = 0; i < m->n_agents; i++, to += one) lud_grid_encode_cells(m, states, i, to);
    }
}

void lud_grid_observe(const lud_model *model, lud_range range, const uint8_t *states, void *const *parts) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    size_t state_bytes = m->model.layout.state_bytes;
    if (m->spec.observation.coding == LUD_CODING_CELLS) {
        if (parts[0]) observe_cells(m, range, states, parts[0]);
        return;
    }
    int32_t whole[MAX_CELLS + 1];
    for (size_t e = 0; e < (size_t)range.n; e++)
        lud_grid_write_parts(m, states + e * state_bytes, e, parts, whole);
}
