/* What is in a model and in its states: the accessors of particle.h. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "sim/particle/particle_model.h"

/* --- the model --- */

int lud_particle_entity_count(const lud_particle_model *m) {
    return m->n_entities;
}
lud_particle_entity lud_particle_get_entity(const lud_particle_model *m, int entity) {
    return m->entities[entity];
}
int lud_particle_wall_count(const lud_particle_model *m) {
    return m->n_walls;
}
lud_particle_wall lud_particle_get_wall(const lud_particle_model *m, int wall) {
    return m->walls[wall];
}
int lud_particle_speech_size(const lud_particle_model *m) {
    return (int)m->options.speech_size;
}
int lud_particle_observation_size(const lud_particle_model *m, int agent) {
    return m->observation_size[agent];
}
double lud_particle_time_step(const lud_particle_model *m) {
    return m->options.physics.dt;
}
double lud_particle_edge_distance(const lud_particle_model *m) {
    return m->options.graph.edge_distance;
}
bool lud_particle_has_edges(const lud_particle_model *m) {
    return m->options.graph.edges;
}
double lud_particle_world_size(const lud_particle_model *m) {
    return m->options.world_size;
}

int lud_particle_goal_offset(const lud_particle_model *m, int agent) {
    for (int v = m->view_begin[agent]; v < m->view_begin[agent + 1]; v++)
        if (m->views[v].term == VIEW_RELATIVE && m->views[v].of.n == 1 && m->views[v].nearest == 0)
            return m->views[v].offset;
    return -1;
}

/* --- states --- */

lud_particle_body lud_particle_get_body(const lud_particle_model *m, const uint8_t *state, int entity) {
    lud_particle_body body = {{0, 0}, {0, 0}};
    for (int axis = 0; axis < 2; axis++) {
        body.position[axis] = lud_particle_word(m, state, m->position_row[entity] + axis);
        if (m->entities[entity].movable)
            body.velocity[axis] = lud_particle_word(m, state, m->velocity_row[entity] + axis);
    }
    return body;
}

void lud_particle_set_body(const lud_particle_model *m, uint8_t *state, int entity, lud_particle_body body) {
    for (int axis = 0; axis < 2; axis++) {
        m->code->set(state, m->position_row[entity] + axis, body.position[axis]);
        if (m->entities[entity].movable)
            m->code->set(state, m->velocity_row[entity] + axis, body.velocity[axis]);
    }
}

void lud_particle_get_speech(const lud_particle_model *m, const uint8_t *state, int agent, double *speech) {
    for (int c = 0; c < m->options.speech_size; c++)
        speech[c] = m->speech_row[agent] >= 0 ? lud_particle_word(m, state, m->speech_row[agent] + c) : 0;
}

void lud_particle_set_speech(const lud_particle_model *m, uint8_t *state, int agent, const double *speech) {
    for (int c = 0; c < m->options.speech_size && m->speech_row[agent] >= 0; c++)
        m->code->set(state, m->speech_row[agent] + c, speech[c]);
}

static const particle_choice *find_choice(const lud_particle_model *m, const char *name) {
    for (int c = 0; c < m->n_choices; c++)
        if (!strcmp(m->choices[c].name, name)) return &m->choices[c];
    return NULL;
}

bool lud_particle_has_choice(const lud_particle_model *m, const char *name) {
    return find_choice(m, name) != NULL;
}

int lud_particle_get_choice(const lud_particle_model *m, const uint8_t *state, const char *name, int agent) {
    const particle_choice *choice = find_choice(m, name);
    int id = choice ? lud_particle_choice_id(m, choice, agent) : -1;
    return id < 0 ? -1 : lud_particle_entity_of(m, state, id);
}

void lud_particle_set_choice(const lud_particle_model *m, uint8_t *state, const char *name, int agent,
                             int entity) {
    const particle_choice *choice = find_choice(m, name);
    assert(choice && entity >= choice->first_entity && entity < choice->first_entity + choice->n_candidates);
    int id = lud_particle_choice_id(m, choice, agent);
    if (id >= m->n_entities) m->code->set(state, m->slot_row + id - m->n_entities, entity);
}

int lud_particle_goal(const lud_particle_model *m, const uint8_t *state, int agent) {
    return m->goal_id[agent] < 0 ? -1 : lud_particle_entity_of(m, state, m->goal_id[agent]);
}

bool lud_particle_has_goals(const lud_particle_model *m) {
    for (int a = 0; a < m->n_agents; a++)
        if (m->goal_id[a] < 0) return false;
    return m->n_agents > 0;
}

double lud_particle_error_norm(const lud_particle_model *m, const uint8_t *state) {
    double squares = 0;
    for (int a = 0; a < m->n_agents; a++) {
        const lud_particle_body own = lud_particle_get_body(m, state, a),
                                goal = lud_particle_get_body(m, state, lud_particle_goal(m, state, a));
        for (int k = 0; k < 2; k++) {
            const double e = goal.position[k] - own.position[k], v = own.velocity[k];
            squares += e * e + v * v;
        }
    }
    return sqrt(squares);
}

void lud_particle_colour(const lud_particle_model *m, const uint8_t *state, int entity, float rgb[3]) {
    int painter = m->paint_slot[entity];
    int source = painter >= 0 ? lud_particle_entity_of(m, state, painter) : entity;
    for (int c = 0; c < 3; c++) {
        double value = m->colour[source * LUD_PARTICLE_MAX_COLOUR + c];
        if (painter >= 0) value = value * m->paint_scale[entity] + m->paint_offset[entity];
        rgb[c] = (float)(value < 0 ? 0 : value > 1 ? 1 : value);
    }
}

int lud_particle_step_count(const lud_particle_model *m, const uint8_t *state) {
    return (int)lud_particle_word(m, state, m->step_row);
}

bool lud_particle_has_success(const lud_particle_model *m) {
    return m->n_items > 0;
}

lud_particle_metrics lud_particle_get_metrics(const lud_particle_model *m, const uint8_t *state) {
    lud_particle_metrics metrics = {.has_success = lud_particle_has_success(m),
                                    .reward = lud_particle_word(m, state, m->reward_sum_row)};
    double steps = lud_particle_word(m, state, m->step_row);
    int met = 0;
    for (int i = 0; i < m->n_items; i++) {
        double reached = lud_particle_word(m, state, m->reached_row + i);
        /* who arrives with the last step of the limit is too late */
        met += reached >= 0 && (m->base.layout.max_steps == 0 || reached < m->base.layout.max_steps);
        metrics.fraction += (reached >= 0 && steps > 0 ? reached / steps : 1) / m->n_items;
    }
    metrics.success = m->n_items > 0 && met == m->n_items;
    for (int a = 0; a < m->n_agents; a++)
        metrics.collisions += lud_particle_word(m, state, m->agent_hit_row + a) +
                              lud_particle_word(m, state, m->obstacle_hit_row + a);
    return metrics;
}

int lud_particle_reward_count(const lud_particle_model *m) {
    return m->n_reward_rows;
}
const char *lud_particle_reward_name(const lud_particle_model *m, int row) {
    return m->reward_names[row];
}
double lud_particle_reward_return(const lud_particle_model *m, const uint8_t *state, int row) {
    return lud_particle_word(m, state, m->return_row + row);
}

lud_particle_tally lud_particle_get_tally(const lud_particle_model *m, const uint8_t *state, int agent) {
    lud_particle_tally tally = {
        .reached = -1,
        .agent_collisions = (int)lud_particle_word(m, state, m->agent_hit_row + agent),
        .obstacle_collisions = (int)lud_particle_word(m, state, m->obstacle_hit_row + agent)};
    for (int i = 0; i < m->n_items; i++)
        if (m->items[i].item == agent) tally.reached = (int)lud_particle_word(m, state, m->reached_row + i);
    return tally;
}
