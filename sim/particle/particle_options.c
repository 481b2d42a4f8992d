/* The option tables of the particle section and of the rows of its tables, and how rows are read. */
#include <stddef.h>

#include "sim/particle/particle_rows.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
#define BIG      1e9

static const char *const family_names[] = {"mpe", "navigation", NULL};
static const char *const action_names[] = {"discrete", "continuous", NULL};
static const char *const precision_names[] = {"single", "double", NULL};
static const char *const node_names[] = {"none", "global", "relative", NULL};
static const char *const type_names[] = {"agent", "landmark", "obstacle", NULL};
static const char *const role_names[] = {"none", "human", "robot", NULL};
static const char *const movable_names[] = {"auto", "false", "true", NULL};
static const char *const per_names[] = {"environment", "agent", "pair", NULL};
static const char *const painter_names[] = {"self", "next", NULL};
static const char *const orientation_names[] = {"horizontal", "vertical", NULL};
static const char *const view_names[] = {"velocity", "position", "relative", "distance",
                                         "speech",   "colour",   "inside",   NULL};
const char *const lud_particle_reward_term_names[] = {"distance", "overlap",      "reach",    "boundary",
                                                      "control",  "speech_error", "constant", NULL};
static const char *const reduce_names[] = {"sum", "mean", "min", "max", NULL};
static const char *const share_names[] = {"none", "sum", "mean", NULL};
static const char *const scope_names[] = {"all", "local", "global", NULL};

#define REAL(s, key, def, low, high, with_unit, text)                                                        \
    { #key, LUD_OPTION_REAL, offsetof(s, key), def, low, high, NULL, NULL, with_unit, text }
#define INT(s, key, def, low, high, text)                                                                    \
    { #key, LUD_OPTION_INT, offsetof(s, key), def, low, high, NULL, NULL, NULL, text }
#define BOOL(s, key, def, text)                                                                              \
    { #key, LUD_OPTION_BOOL, offsetof(s, key), def, 0, 0, NULL, NULL, NULL, text }
#define TEXT(s, key, def, text)                                                                              \
    { #key, LUD_OPTION_TEXT, offsetof(s, key), def, 0, 0, NULL, NULL, NULL, text }
#define TREE(s, key, text)                                                                                   \
    { #key, LUD_OPTION_TREE, offsetof(s, key), NULL, 0, 0, NULL, NULL, NULL, text }
#define CHOICE(s, key, def, names, text)                                                                     \
    { #key, LUD_OPTION_CHOICE, offsetof(s, key), def, 0, 0, names, NULL, NULL, text }
#define SECTION(s, key, table, text)                                                                         \
    { #key, LUD_OPTION_SECTION, offsetof(s, key), NULL, 0, 0, NULL, &table, NULL, text }

static const lud_option physics_options[] = {
    CHOICE(particle_physics, family, "mpe", family_names,
           "mpe: bodies move by their old velocity, contact forces are equal and opposite, action 1 is left; "
           "navigation: "
           "by their new velocity, forces scale with the mass ratio, action 1 is right"),
    REAL(particle_physics, dt, "0.1", 1e-6, 10, "s", "time of one step"),
    REAL(particle_physics, damping, "0.25", 0, 1, NULL, "part of the velocity lost in a step"),
    REAL(particle_physics, contact_force, "100", 0, BIG, NULL, "stiffness of contacts"),
    REAL(particle_physics, contact_margin, "0.001", 1e-9, 10, NULL, "softness of contacts"),
    REAL(particle_physics, sensitivity, "5", 0, BIG, NULL,
         "force of a full action for bodies without `acceleration`"),
};
static const lud_option_table physics_table = {"physics", "how bodies move", physics_options,
                                               COUNT(physics_options), sizeof(particle_physics)};

static const lud_option graph_options[] = {
    CHOICE(particle_graph, nodes, "none", node_names,
           "node features [velocity, position, goal, type] of every entity, absolute or relative to the "
           "observer"),
    BOOL(particle_graph, edges, "false", "observe edges as CSR rows: edge_begin, edge_source, edge_length"),
    BOOL(particle_graph, distances, "false", "observe the full matrix of distances"),
    REAL(particle_graph, edge_distance, "1", 0, BIG, NULL, "two entities nearer than this have an edge"),
};
static const lud_option_table graph_table = {"graph", "graph observations", graph_options,
                                             COUNT(graph_options), sizeof(particle_graph)};

static const lud_option disturbance_options[] = {
    REAL(particle_disturbance, std, "0", 0, BIG, NULL,
         "standard deviation of random kicks of agents' positions and velocities"),
    REAL(particle_disturbance, decay, "0.1", 0, BIG, "per step", "rate at which they fade within an episode"),
};
static const lud_option_table disturbance_table = {"disturbance", "random kicks", disturbance_options,
                                                   COUNT(disturbance_options), sizeof(particle_disturbance)};

static const lud_option section_options[] = {
    TEXT(
        particle_options, task, NULL,
        "a built-in task whose table this section starts from (see scenarios/particle); keys given here win"),
    TREE(particle_options, parameters,
         "numbers and words that `$name` stands for; each may also be given directly in this section"),
    SECTION(particle_options, physics, physics_table, "how bodies move"),
    CHOICE(particle_options, actions, "discrete", action_names,
           "one of a few moves and words, or real numbers"),
    INT(particle_options, episode_length, "25", 0, 16000000,
        "steps after which an episode is truncated, 0: never"),
    REAL(particle_options, world_size, "2", 1e-6, BIG, NULL,
         "side of the square of start positions that [-1, 1] stands for"),
    INT(particle_options, speech_size, "0", 0, LUD_PARTICLE_MAX_SPEECH, "length of the speech vector"),
    REAL(particle_options, local_ratio, "0.5", 0, 1, NULL,
         "weight of reward rows of scope local; those of scope global get the rest"),
    TREE(particle_options, bodies, "list of bodies, see particle.bodies"),
    TREE(particle_options, choices, "list of random choices at reset, see particle.choices"),
    TREE(particle_options, walls, "list of walls, see particle.walls"),
    TREE(particle_options, rewards, "list of reward terms, see particle.rewards"),
    TREE(particle_options, success, "when an episode has succeeded, see particle.success"),
    SECTION(particle_options, graph, graph_table, "graph observations"),
    SECTION(particle_options, disturbance, disturbance_table, "random kicks"),
    CHOICE(particle_options, precision, "single", precision_names, "of states and arithmetic"),
};
const lud_option_table lud_particle_option_table = {
    "particle", "discs that move, speak and push each other in the plane", section_options,
    COUNT(section_options), sizeof(particle_options)};

static const lud_option body_options[] = {
    TEXT(particle_kind, name, NULL, "name, by which other rows refer to all of them"),
    INT(particle_kind, count, "1", 0, LUD_PARTICLE_MAX_ENTITIES, "how many"),
    CHOICE(particle_kind, type, "landmark", type_names,
           "agent: acts; landmark, obstacle: do not (types of graph nodes)"),
    CHOICE(particle_kind, role, "none", role_names, "role for the section `policies`"),
    CHOICE(particle_kind, movable, "auto", movable_names, "auto: agents are, others are not"),
    BOOL(particle_kind, collides, "true", "pushes and is pushed by others that collide"),
    BOOL(particle_kind, speaks, "false", "an agent that can speak"),
    BOOL(particle_kind, ghost, "false", "passes through walls that are not hard"),
    REAL(particle_kind, radius, "0.05", 1e-9, BIG, NULL, "radius"),
    REAL(particle_kind, mass, "1", 1e-9, BIG, NULL, "mass"),
    REAL(particle_kind, acceleration, "0", 0, BIG, NULL,
         "force of a full action, 0: the physics' sensitivity"),
    REAL(particle_kind, max_speed, "0", 0, BIG, NULL, "speed limit, 0: none"),
    REAL(particle_kind, control_noise, "0", 0, BIG, NULL, "standard deviation of noise on an agent's force"),
    REAL(particle_kind, speech_noise, "0", 0, BIG, NULL, "standard deviation of noise on an agent's speech"),
    {"region", LUD_OPTION_REALS, offsetof(particle_kind, region), "[-1, -1, 1, 1]", -BIG, BIG, NULL, NULL,
     "half world sizes", "rectangle x0, y0, x1, y1 of start positions"},
    TREE(particle_kind, at, "fixed start positions instead, a list of [x, y], one a member"),
    TREE(particle_kind, apart_from,
         "bodies (among those placed before) that it must not overlap at the start"),
    TREE(particle_kind, colour,
         "[red, green, blue] in 0..1, or a list of such, one a member; may be observed"),
    TREE(particle_kind, paint,
         "{choice, scale, offset, of}: take scale * colour + offset of what a choice has drawn"),
    TREE(particle_kind, observes, "an agent's observation, a list of terms, see particle.bodies.observes"),
};
const lud_option_table lud_particle_body_table = {"particle.bodies", "a kind of body", body_options,
                                                  COUNT(body_options), sizeof(particle_kind)};

static const lud_option paint_options[] = {
    TEXT(particle_paint, choice, NULL, "the choice"),
    REAL(particle_paint, scale, "1", -BIG, BIG, NULL, "factor on each component"),
    REAL(particle_paint, offset, "0", -BIG, BIG, NULL, "added to each component"),
    CHOICE(particle_paint, of, "self", painter_names, "whose choice: the agent's own or the next agent's"),
};
const lud_option_table lud_particle_paint_table = {"particle.bodies.paint",
                                                   "a colour that depends on a choice", paint_options,
                                                   COUNT(paint_options), sizeof(particle_paint)};

static const lud_option choice_options[] = {
    TEXT(particle_choice, name, NULL, "name, by which other rows refer to the body drawn"),
    TREE(particle_choice, from, "the body whose members it is drawn from"),
    CHOICE(particle_choice, per, "environment", per_names,
           "environment: one for all; agent: one each; pair: not drawn, agent i has member i"),
};
const lud_option_table lud_particle_choice_table = {"particle.choices",
                                                    "a body drawn at random at every reset", choice_options,
                                                    COUNT(choice_options), sizeof(particle_choice)};

static const lud_option wall_options[] = {
    CHOICE(particle_wall_row, orientation, "horizontal", orientation_names, "along x or along y"),
    REAL(particle_wall_row, at, NULL, -BIG, BIG, NULL, "y of a horizontal wall, x of a vertical one"),
    REAL(particle_wall_row, from, "-1", -BIG, BIG, NULL, "where it begins"),
    REAL(particle_wall_row, to, "1", -BIG, BIG, NULL, "where it ends"),
    REAL(particle_wall_row, width, "0.1", 0, BIG, NULL, "thickness"),
    BOOL(particle_wall_row, hard, "true", "stops ghosts too"),
};
const lud_option_table lud_particle_wall_table = {"particle.walls", "a straight wall", wall_options,
                                                  COUNT(wall_options), sizeof(particle_wall_row)};

static const lud_option view_options[] = {
    CHOICE(particle_view_row, term, NULL, view_names,
           "velocity (2), position (2), relative position (2), distance (1), speech, colour, inside: 1 or -1 "
           "whether it "
           "overlaps"),
    TREE(particle_view_row, of, "whose: self (default), other, agents, a body, a choice, or a list"),
    INT(particle_view_row, nearest, "0", 0, LUD_PARTICLE_MAX_ENTITIES,
        "so many places, filled by distance and padded with zeros; 0: all in order"),
    REAL(particle_view_row, within, "0", 0, BIG, NULL,
         "bodies at this distance or farther show as zeros, 0: no limit"),
    TREE(particle_view_row, only, "of those, only these show; without `nearest` the others take no place"),
    TREE(particle_view_row, hidden_in,
         "bodies to hide in: seen is who shares one with the observer, or neither is in any"),
    BOOL(particle_view_row, when, "true", "false leaves the term out"),
};
const lud_option_table lud_particle_view_table = {"particle.bodies.observes", "one observed term",
                                                  view_options, COUNT(view_options),
                                                  sizeof(particle_view_row)};

static const lud_option reward_options[] = {
    TEXT(particle_reward_row, name, NULL, "name in metrics; the term's when absent"),
    CHOICE(particle_reward_row, term, NULL, lud_particle_reward_term_names,
           "of pairs: distance, overlap (0 or 1), reach (1 nearer than `within`), speech_error; of `from` "
           "alone: boundary, "
           "control, constant"),
    {"for", LUD_OPTION_TREE, offsetof(particle_reward_row, receivers), NULL, 0, 0, NULL, NULL, NULL,
     "agents that receive it, default all"},
    TREE(particle_reward_row, from, "default self, the agent that receives it"),
    TREE(particle_reward_row, to, "the other side of a pair"),
    CHOICE(particle_reward_row, over_from, "sum", reduce_names,
           "how the values of several `from` are combined"),
    CHOICE(particle_reward_row, over_to, "sum", reduce_names, "how the values of several `to` are combined"),
    INT(particle_reward_row, power, "1", 1, 2, "2: squared distance"),
    REAL(particle_reward_row, within, "0", 0, BIG, NULL, "threshold of reach"),
    REAL(particle_reward_row, beyond, "0", 0, BIG, NULL, "a distance below this counts 0"),
    REAL(particle_reward_row, weight, "0", -BIG, BIG, NULL, "factor"),
    REAL(particle_reward_row, cost, "0", -BIG, BIG, NULL, "the same as a negative weight"),
    CHOICE(particle_reward_row, share, "none", share_names,
           "every receiver gets the sum or mean over all receivers"),
    CHOICE(particle_reward_row, scope, "all", scope_names,
           "local: times local_ratio; global: times (1 - local_ratio)"),
    BOOL(particle_reward_row, when, "true", "false leaves the row out"),
};
const lud_option_table lud_particle_reward_table = {"particle.rewards", "one reward term", reward_options,
                                                    COUNT(reward_options), sizeof(particle_reward_row)};

static const lud_option success_options[] = {
    TREE(particle_success_row, every, "each of these ..."),
    TREE(particle_success_row, reaches, "... must be near one of these"),
    REAL(particle_success_row, within, "0", 0, BIG, NULL, "distance below which it is, 0: when they overlap"),
    BOOL(particle_success_row, terminate, "false", "the episode ends when all are at once"),
};
const lud_option_table lud_particle_success_table = {"particle.success", "when an episode has succeeded",
                                                     success_options, COUNT(success_options),
                                                     sizeof(particle_success_row)};

lud_status lud_particle_read_rows(lud_particle_model *m, const lud_option_table *table, lud_tree *list,
                                  void **rows, int *n, lud_error *error) {
    *n = 0;
    *rows = NULL;
    if (!list || list->kind == LUD_TREE_NULL) return LUD_OK;
    if (list->kind != LUD_TREE_SEQUENCE)
        return lud_fail_at(error, LUD_ERROR_INPUT, list->place, "expected a list of `%s`", table->name);
    if (list->n_children > INT16_MAX)
        return lud_fail_at(error, LUD_ERROR_INPUT, list->place, "too many rows of `%s`", table->name);
    unsigned char *out = lud_arena_take_array(m->arena, list->n_children + 1, table->bytes);
    if (!out) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    for (lud_tree *row = list->child; row; row = row->next) {
        if (row->kind != LUD_TREE_MAPPING)
            return lud_fail_at(error, LUD_ERROR_INPUT, row->place, "expected a mapping with keys of `%s`",
                               table->name);
        lud_status status = lud_options_read(table, m->arena, row, out + (size_t)*n * table->bytes, error);
        if (status) return status;
        (*n)++;
    }
    *rows = out;
    return LUD_OK;
}
