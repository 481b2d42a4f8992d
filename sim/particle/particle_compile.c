/* From rows of tables to what a step reads: entities, rows of a block, contacts, spaces and layout. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/particle/particle_rows.h"

#define TAKE(m, pointer, n)                                                                                  \
    do {                                                                                                     \
        (pointer) = lud_arena_take_array((m)->arena, (size_t)(n) + 1, sizeof *(pointer));                    \
        if (!(pointer)) return lud_out_of_memory(error);                                                     \
    } while (0)

static lud_place place_of(const lud_tree *tree, const lud_particle_model *m) {
    return tree ? tree->place : m->section->place;
}

/* --- bodies and choices --- */

static bool is_reserved(const char *name) {
    return !strcmp(name, "self") || !strcmp(name, "other") || !strcmp(name, "agents");
}

static lud_status check_name(const lud_particle_model *m, const char *name, const lud_tree *list, int row,
                             lud_error *error) {
    const lud_tree *node = list->child;
    for (int i = 0; i < row; i++) node = node->next;
    if (!name || !*name) return lud_invalid_at(error, node->place, "expected a `name`");
    if (is_reserved(name))
        return lud_invalid_at(error, node->place, "`%s` has a meaning of its own and cannot be a name", name);
    int uses = 0;
    for (int i = 0; i < m->n_kinds; i++) uses += m->kinds[i].name && !strcmp(m->kinds[i].name, name);
    for (int i = 0; i < m->n_choices; i++) uses += m->choices[i].name && !strcmp(m->choices[i].name, name);
    if (uses > 1) return lud_invalid_at(error, node->place, "the name `%s` is used twice", name);
    return LUD_OK;
}

static lud_status number_entities(lud_particle_model *m, lud_error *error) {
    int64_t total = 0;
    for (int k = 0; k < m->n_kinds; k++) total += m->kinds[k].count;
    if (total > LUD_PARTICLE_MAX_ENTITIES)
        return lud_fail_at(error, LUD_ERROR_LIMIT, place_of(m->options.bodies, m),
                           "%lld bodies, at most %d are possible", (long long)total,
                           LUD_PARTICLE_MAX_ENTITIES);
    TAKE(m, m->entities, total);
    TAKE(m, m->kind_of, total);
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < m->n_kinds; k++) {
            particle_kind *kind = &m->kinds[k];
            bool agent = kind->type == LUD_PARTICLE_AGENT;
            if (agent != (pass == 0)) continue;
            kind->first = m->n_entities;
            for (int i = 0; i < kind->count; i++) {
                m->kind_of[m->n_entities] = (int16_t)k;
                m->entities[m->n_entities++] =
                    (lud_particle_entity){.kind = kind->name,
                                          .member = i,
                                          .type = (lud_particle_type)kind->type,
                                          .movable = kind->movable == 2 || (kind->movable == 0 && agent),
                                          .collides = kind->collides,
                                          .speaks = agent && kind->speaks,
                                          .ghost = kind->ghost,
                                          .radius = kind->radius,
                                          .mass = kind->mass,
                                          .max_speed = kind->max_speed};
                if (agent) m->n_agents++;
            }
        }
    if (m->n_agents == 0)
        return lud_invalid_at(error, place_of(m->options.bodies, m), "a task needs at least one agent");
    return LUD_OK;
}

static lud_status number_slots(lud_particle_model *m, lud_error *error) {
    for (int c = 0; c < m->n_choices; c++) {
        particle_choice *choice = &m->choices[c];
        LUD_TRY(check_name(m, choice->name, m->options.choices, c, error));
        const lud_tree *from = choice->from;
        if (!from || from->kind != LUD_TREE_SCALAR)
            return lud_invalid_at(error, place_of(from ? from : m->options.choices, m),
                                  "choice `%s` needs `from`, the name of a body", choice->name);
        const char *names[LUD_PARTICLE_MAX_ENTITIES];
        const particle_kind *kind = NULL;
        for (int k = 0; k < m->n_kinds; k++) {
            names[k] = m->kinds[k].name;
            if (!strcmp(names[k], from->text)) kind = &m->kinds[k];
        }
        if (!kind) {
            const char *near = lud_nearest_name(from->text, names, m->n_kinds);
            return lud_invalid_at(error, from->place, "no body `%s`%s%s%s", from->text,
                                  near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
        }
        choice->first_entity = kind->first;
        choice->n_candidates = (int)kind->count;
        int needed = choice->per == PER_PAIR ? m->n_agents : 1;
        if (kind->count < needed)
            return lud_invalid_at(error, from->place, "choice `%s` needs at least %d `%s`, there are %d",
                                  choice->name, needed, kind->name, (int)kind->count);
        choice->first_slot = m->n_slots;
        choice->n_slots = choice->per == PER_PAIR ? 0 : choice->per == PER_AGENT ? m->n_agents : 1;
        m->n_slots += choice->n_slots;
    }
    m->n_ids = m->n_entities + m->n_slots;
    if (m->n_ids > INT16_MAX / 2)
        return lud_fail_at(
            error, LUD_ERROR_LIMIT, place_of(m->options.choices, m),
            "too many choices: %d draws an environment, at most %d are possible with %d bodies", m->n_slots,
            INT16_MAX / 2 - m->n_entities, m->n_entities);
    return LUD_OK;
}

/* One colour of a list: its numbers, at least three. */
static lud_status read_colour(lud_tree *node, double *colour, int *size, lud_error *error) {
    if (node->kind != LUD_TREE_SEQUENCE || node->n_children < 3 || node->n_children > LUD_PARTICLE_MAX_COLOUR)
        return lud_invalid_at(error, node->place, "expected a colour, a list of 3 to %d numbers",
                              LUD_PARTICLE_MAX_COLOUR);
    *size = 0;
    for (lud_tree *c = node->child; c; c = c->next)
        LUD_TRY(lud_tree_real(c, -1e9, 1e9, &colour[(*size)++], error));
    return LUD_OK;
}

static lud_status read_colours(lud_particle_model *m, lud_error *error) {
    TAKE(m, m->colour, m->n_entities * LUD_PARTICLE_MAX_COLOUR);
    TAKE(m, m->colour_size, m->n_ids);
    TAKE(m, m->paint_scale, m->n_entities);
    TAKE(m, m->paint_offset, m->n_entities);
    TAKE(m, m->paint_slot, m->n_entities);
    for (int e = 0; e < m->n_entities; e++) {
        double *colour = m->colour + e * LUD_PARTICLE_MAX_COLOUR;
        lud_tree *tree = m->kinds[m->kind_of[e]].colour;
        m->paint_slot[e] = -1;
        if (!tree) {
            colour[0] = colour[1] = colour[2] = 0.25;
            m->colour_size[e] = 3;
            continue;
        }
        if (tree->kind == LUD_TREE_SEQUENCE && tree->child && tree->child->kind == LUD_TREE_SEQUENCE) {
            size_t member = (size_t)m->entities[e].member % tree->n_children;
            tree = tree->child;
            while (member-- > 0) tree = tree->next;
        }
        LUD_TRY(read_colour(tree, colour, &m->colour_size[e], error));
    }
    for (int c = 0; c < m->n_choices; c++) {
        const particle_choice *choice = &m->choices[c];
        for (int s = 0; s < choice->n_slots; s++)
            m->colour_size[m->n_entities + choice->first_slot + s] = m->colour_size[choice->first_entity];
    }
    for (int e = 0; e < m->n_entities; e++) {
        lud_tree *tree = m->kinds[m->kind_of[e]].paint;
        if (!tree) continue;
        particle_paint paint;
        LUD_TRY(lud_options_read(&lud_particle_paint_table, m->arena, tree, &paint, error));
        const particle_choice *choice = NULL;
        for (int c = 0; c < m->n_choices; c++)
            if (paint.choice && !strcmp(m->choices[c].name, paint.choice)) choice = &m->choices[c];
        if (!choice)
            return lud_invalid_at(error, tree->place, "`paint` needs `choice`, the name of a choice");
        int agent = e < m->n_agents ? (e + paint.of) % m->n_agents : -1;
        int id = lud_particle_choice_id(m, choice, agent);
        if (id < 0)
            return lud_invalid_at(error, tree->place,
                                  "choice `%s` differs between agents, so only agents can be painted by it",
                                  paint.choice);
        int target = id < m->n_entities ? id : choice->first_entity;
        if (m->kinds[m->kind_of[target]].paint)
            return lud_invalid_at(error, tree->place, "cannot be painted by a body that is painted itself");
        m->paint_slot[e] = (int16_t)id;
        m->paint_scale[e] = paint.scale;
        m->paint_offset[e] = paint.offset;
        m->colour_size[e] = m->colour_size[id];
    }
    return LUD_OK;
}

/* --- where everything stands --- */

static int16_t take_rows(int *next, int n) {
    int row = *next;
    *next += n;
    return (int16_t)(row < INT16_MAX ? row : INT16_MAX);
}

static lud_status lay_out_rows(lud_particle_model *m, lud_error *error) {
    int next = 0, speech = (int)m->options.speech_size;
    TAKE(m, m->position_row, m->n_ids);
    TAKE(m, m->velocity_row, m->n_ids);
    TAKE(m, m->force_row, m->n_entities);
    TAKE(m, m->speech_row, m->n_agents);
    TAKE(m, m->radius, m->n_ids);
    for (int e = 0; e < m->n_entities; e++) m->position_row[e] = take_rows(&next, 2);
    for (int e = 0; e < m->n_entities; e++)
        if (m->entities[e].movable) m->velocity_row[e] = take_rows(&next, 2);
    for (int a = 0; a < m->n_agents; a++)
        m->speech_row[a] = m->entities[a].speaks && speech > 0 ? take_rows(&next, speech) : -1;
    m->slot_row = take_rows(&next, m->n_slots);
    m->step_row = take_rows(&next, 1);
    m->reached_row = take_rows(&next, m->n_items);
    m->agent_hit_row = take_rows(&next, m->n_agents);
    m->obstacle_hit_row = take_rows(&next, m->n_agents);
    m->return_row = take_rows(&next, m->n_reward_rows);
    m->reward_sum_row = take_rows(&next, 1);
    m->disturbance_row = take_rows(&next, m->options.disturbance.std > 0 ? 4 * m->n_agents : 0);
    m->n_words = next;

    m->zero_row = take_rows(&next, speech > 2 ? speech : 2);
    for (int e = 0; e < m->n_entities; e++) {
        m->force_row[e] = m->entities[e].movable ? take_rows(&next, 2) : -1;
        if (!m->entities[e].movable) m->velocity_row[e] = m->zero_row;
        m->radius[e] = m->entities[e].radius;
    }
    for (int c = 0; c < m->n_choices; c++)
        for (int s = 0; s < m->choices[c].n_slots; s++) {
            int id = m->n_entities + m->choices[c].first_slot + s;
            m->position_row[id] = take_rows(&next, 2);
            m->velocity_row[id] = take_rows(&next, 2);
            m->radius[id] = m->radius[m->choices[c].first_entity];
        }
    m->control_row = take_rows(&next, 2 * m->n_agents);
    m->rewards_row = take_rows(&next, m->n_agents);
    m->n_rows = next;
    if (next > LUD_PARTICLE_MAX_ROWS)
        return lud_fail_at(error, LUD_ERROR_LIMIT, m->section->place,
                           "the task needs %d numbers an environment, at most %d are possible", next,
                           LUD_PARTICLE_MAX_ROWS);
    return LUD_OK;
}

static lud_status compile_physics(lud_particle_model *m, lud_error *error) {
    const particle_physics *physics = &m->options.physics;
    bool navigation = physics->family == FAMILY_NAVIGATION;
    TAKE(m, m->force_scale, m->n_agents);
    TAKE(m, m->control_scale, m->n_agents);
    TAKE(m, m->control_noise, m->n_agents);
    TAKE(m, m->speech_noise, m->n_agents);
    for (int a = 0; a < m->n_agents; a++) {
        const particle_kind *kind = &m->kinds[m->kind_of[a]];
        m->control_scale[a] = kind->acceleration > 0 ? kind->acceleration : physics->sensitivity;
        m->force_scale[a] = navigation ? kind->mass * (kind->acceleration > 0 ? kind->acceleration : 1) : 1;
        m->control_noise[a] = kind->control_noise;
        m->speech_noise[a] = kind->speech_noise;
    }
    TAKE(m, m->pair_begin, m->n_entities);
    for (int pass = 0; pass < 2; pass++) {
        int n = 0;
        for (int a = 0; a < m->n_entities; a++) {
            m->pair_begin[a] = n;
            for (int b = a + 1; b < m->n_entities; b++) {
                const lud_particle_entity *x = &m->entities[a], *y = &m->entities[b];
                if (!x->collides || !y->collides || (!x->movable && !y->movable)) continue;
                bool ratio = navigation && x->movable && y->movable;
                if (pass == 1)
                    m->pairs[n] = (particle_pair){.a = (int16_t)a,
                                                  .b = (int16_t)b,
                                                  .reach = x->radius + y->radius,
                                                  .on_a = !x->movable ? 0
                                                          : ratio     ? y->mass / x->mass
                                                                      : 1,
                                                  .on_b = !y->movable ? 0
                                                          : ratio     ? x->mass / y->mass
                                                                      : 1};
                n++;
            }
        }
        m->pair_begin[m->n_entities] = m->n_pairs = n;
        if (pass == 0) TAKE(m, m->pairs, n);
    }
    TAKE(m, m->collider_agents, m->n_agents);
    TAKE(m, m->collider_obstacles, m->n_entities);
    for (int e = 0; e < m->n_entities; e++) {
        if (!m->entities[e].collides) continue;
        if (e < m->n_agents)
            m->collider_agents[m->n_collider_agents++] = (int16_t)e;
        else
            m->collider_obstacles[m->n_collider_obstacles++] = (int16_t)e;
    }
    return LUD_OK;
}

/* Start positions: who is placed where, after whom, and clear of whom. */
static lud_status compile_start(lud_particle_model *m, lud_error *error) {
    TAKE(m, m->placing, m->n_entities);
    TAKE(m, m->region, m->n_entities * 4);
    TAKE(m, m->apart, m->n_kinds * m->n_kinds);
    int n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int e = 0; e < m->n_entities; e++)
            if ((m->kinds[m->kind_of[e]].apart_from != NULL) == (pass == 1)) m->placing[n++] = (int16_t)e;
    for (int k = 0; k < m->n_kinds; k++) {
        particle_set set;
        LUD_TRY(lud_particle_select(m, m->kinds[k].apart_from, NULL, -1, &set, error));
        for (int i = 0; i < set.n; i++)
            if (set.ids[i] < m->n_entities) m->apart[k * m->n_kinds + m->kind_of[set.ids[i]]] = 1;
    }
    double half = 0.5 * m->options.world_size;
    for (int e = 0; e < m->n_entities; e++) {
        const particle_kind *kind = &m->kinds[m->kind_of[e]];
        double *region = m->region + 4 * e;
        if (kind->region.n != 4)
            return lud_invalid_at(error, place_of(m->options.bodies, m),
                                  "`region` of `%s` must be four numbers x0, y0, x1, y1", kind->name);
        for (int i = 0; i < 4; i++) region[i] = half * kind->region.items[i];
        if (!kind->at) continue;
        if (kind->at->kind != LUD_TREE_SEQUENCE || kind->at->n_children != (size_t)kind->count)
            return lud_invalid_at(error, kind->at->place, "`at` must be a list of %d positions [x, y]",
                                  (int)kind->count);
        lud_tree *point = kind->at->child;
        for (int i = 0; i < m->entities[e].member; i++) point = point->next;
        if (point->kind != LUD_TREE_SEQUENCE || point->n_children != 2)
            return lud_invalid_at(error, point->place, "expected a position [x, y]");
        for (int i = 0; i < 2; i++) {
            LUD_TRY(lud_tree_real(i ? point->child->next : point->child, -1e9, 1e9, &region[i], error));
            region[2 + i] = region[i];
        }
    }
    return LUD_OK;
}

static lud_status compile_walls(lud_particle_model *m, lud_error *error) {
    particle_wall_row *rows;
    LUD_TRY(lud_particle_read_rows(m, &lud_particle_wall_table, m->options.walls, (void **)&rows, &m->n_walls,
                                   error));
    TAKE(m, m->walls, m->n_walls);
    for (int i = 0; i < m->n_walls; i++) {
        if (rows[i].from > rows[i].to)
            return lud_invalid_at(error, m->options.walls->place, "wall %d ends before it begins", i + 1);
        m->walls[i] = (lud_particle_wall){.vertical = rows[i].orientation == 1,
                                          .at = rows[i].at,
                                          .from = rows[i].from,
                                          .to = rows[i].to,
                                          .width = rows[i].width,
                                          .hard = rows[i].hard};
    }
    return LUD_OK;
}

/* --- the layout --- */

static const char *const mpe_moves[] = {"none", "left", "right", "down", "up"};
static const char *const navigation_moves[] = {"none", "right", "left", "up", "down"};

static lud_status action_names(lud_particle_model *m, int n_moves, int n_words, const char ***names,
                               lud_error *error) {
    const char *const *moves = m->options.physics.family == FAMILY_MPE ? mpe_moves : navigation_moves;
    int n = (n_moves > 0 ? n_moves : 1) * (n_words > 0 ? n_words : 1);
    TAKE(m, *names, n);
    for (int i = 0; i < n; i++) {
        char text[64];
        int move = n_moves > 0 ? i % n_moves : 0, word = n_moves > 0 ? i / n_moves : i;
        if (n_moves > 0 && n_words > 0)
            snprintf(text, sizeof text, "%s, say %d", moves[move], word);
        else if (n_words > 0)
            snprintf(text, sizeof text, "say %d", word);
        else
            snprintf(text, sizeof text, "%s", moves[move]);
        (*names)[i] = lud_arena_text(m->arena, text, strlen(text));
        if (!(*names)[i]) return lud_out_of_memory(error);
    }
    return LUD_OK;
}

static lud_status compile_actions(lud_particle_model *m, lud_error *error) {
    lud_action_space *actions;
    lud_role *roles;
    TAKE(m, actions, m->n_agents);
    int *idle;
    TAKE(m, roles, m->n_agents);
    TAKE(m, idle, m->n_agents);
    bool mpe = m->options.physics.family == FAMILY_MPE;
    for (int a = 0; a < m->n_agents; a++) {
        bool moves = m->entities[a].movable, speaks = m->speech_row[a] >= 0;
        int words = speaks ? (int)m->options.speech_size : 0;
        roles[a] = (lud_role)m->kinds[m->kind_of[a]].role;
        idle[a] = -1; /* of those who speak or push with real numbers */
        if (m->options.actions == 1 && (moves || speaks)) {
            actions[a].n_continuous = (moves ? (mpe ? 5 : 2) : 0) + words;
            actions[a].low = mpe ? 0 : -1;
            actions[a].high = 1;
            if (actions[a].n_continuous > m->max_continuous) m->max_continuous = actions[a].n_continuous;
            continue;
        }
        const char **names;
        LUD_TRY(action_names(m, moves ? 5 : 0, words, &names, error));
        actions[a].n_discrete = (moves ? 5 : 1) * (words > 0 ? words : 1);
        actions[a].n_moves = moves && words > 0 ? 5 : 0;
        actions[a].names = names;
        if (words == 0) idle[a] = 0;
    }
    m->base.layout.actions = actions;
    m->base.layout.roles = roles;
    m->base.layout.idle = idle;
    return LUD_OK;
}

/* Agents of one body are of one kind; they stand beside each other. */
static lud_status compile_kinds(lud_particle_model *m, lud_error *error) {
    const char **names;
    int *kinds, n = 0;
    TAKE(m, names, m->n_agents);
    TAKE(m, kinds, m->n_agents);
    for (int a = 0; a < m->n_agents; a++) {
        if (a == 0 || m->kind_of[a] != m->kind_of[a - 1]) names[n++] = m->kinds[m->kind_of[a]].name;
        kinds[a] = n - 1;
    }
    m->base.layout.n_kinds = n;
    m->base.layout.kind_names = names;
    m->base.layout.kinds = kinds;
    return LUD_OK;
}

static int add_part(lud_layout *layout, const char *name, lud_dtype dtype, bool per_agent, int n_dimensions,
                    int first, int second) {
    lud_observation_part *part = &layout->parts[layout->n_parts];
    *part = (lud_observation_part){.name = name,
                                   .kind = LUD_OBSERVATION_GRAPH,
                                   .dtype = dtype,
                                   .per_agent = per_agent,
                                   .n_dimensions = n_dimensions,
                                   .dimensions = {first, second}};
    part->bytes = 4 * (size_t)first * (size_t)(n_dimensions > 1 ? second : 1) *
                  (size_t)(per_agent ? layout->n_agents : 1);
    return layout->n_parts++;
}

static lud_status compile_layout(lud_particle_model *m, lud_error *error) {
    lud_layout *layout = &m->base.layout;
    const particle_graph *graph = &m->options.graph;
    int n = m->n_entities;
    layout->n_agents = m->n_agents;
    layout->max_steps = (int)m->options.episode_length;
    layout->agents_alike = true;
    for (int a = 1; a < m->n_agents; a++) layout->agents_alike &= m->kind_of[a] == m->kind_of[0];
    layout->state_bytes = (size_t)m->n_words * m->code->word_bytes;
    m->part_observation = m->part_nodes = m->part_edge_begin = m->part_edge_source = m->part_edge_length =
        m->part_distances = m->part_disturbance = -1;
    if (m->observation_stride > 0) {
        int *goal;
        TAKE(m, goal, m->n_agents);
        for (int a = 0; a < m->n_agents; a++) goal[a] = lud_particle_goal_offset(m, a);
        m->part_observation = add_part(layout, "observation", LUD_F32, true, 1, m->observation_stride, 0);
        layout->parts[m->part_observation].kind = LUD_OBSERVATION_VECTOR;
        layout->parts[m->part_observation].goal = goal;
    }
    if (graph->nodes != NODES_NONE) m->part_nodes = add_part(layout, "nodes", LUD_F32, true, 2, n, 7);
    if (graph->edges) {
        m->part_edge_begin = add_part(layout, "edge_begin", LUD_I32, false, 1, n + 1, 0);
        m->part_edge_source = add_part(layout, "edge_source", LUD_I32, false, 1, n * (n - 1), 0);
        m->part_edge_length = add_part(layout, "edge_length", LUD_F32, false, 1, n * (n - 1), 0);
    }
    if (graph->distances) m->part_distances = add_part(layout, "distances", LUD_F32, false, 2, n, n);
    if (m->options.disturbance.std > 0 && graph->nodes != NODES_NONE)
        m->part_disturbance = add_part(layout, "disturbance", LUD_F32, true, 2, n, 7);
    return lud_particle_compile_measures(m, error);
}

static const particle_code *choose_code(const particle_options *options) {
    if (options->precision == 1) return &lud_particle_double_code;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        return &lud_particle_avx512_code;
    if (__builtin_cpu_supports("avx2")) return &lud_particle_avx2_code;
#endif
    return &lud_particle_float_code;
}

lud_status lud_particle_compile(lud_particle_model *m, lud_error *error) {
    LUD_TRY(lud_particle_read_rows(m, &lud_particle_body_table, m->options.bodies, (void **)&m->kinds,
                                   &m->n_kinds, error));
    LUD_TRY(lud_particle_read_rows(m, &lud_particle_choice_table, m->options.choices, (void **)&m->choices,
                                   &m->n_choices, error));
    if (m->n_kinds > LUD_PARTICLE_MAX_ENTITIES)
        return lud_fail_at(error, LUD_ERROR_LIMIT, m->options.bodies->place, "too many bodies");
    if (m->n_kinds == 0)
        return lud_invalid_at(
            error, m->section->place,
            "the section `particle` needs `task`, the name of a built-in task, or `bodies`");
    for (int k = 0; k < m->n_kinds; k++)
        LUD_TRY(check_name(m, m->kinds[k].name, m->options.bodies, k, error));
    LUD_TRY(number_entities(m, error));
    LUD_TRY(number_slots(m, error));
    LUD_TRY(read_colours(m, error));
    LUD_TRY(lud_particle_compile_success(m, error));
    LUD_TRY(lud_particle_compile_rewards(m, error));
    LUD_TRY(lay_out_rows(m, error));
    LUD_TRY(lud_particle_compile_views(m, error));
    LUD_TRY(compile_physics(m, error));
    LUD_TRY(compile_start(m, error));
    LUD_TRY(compile_walls(m, error));
    LUD_TRY(compile_actions(m, error));
    LUD_TRY(compile_kinds(m, error));
    m->code = choose_code(&m->options);
    return compile_layout(m, error);
}
