/* The option tables of the particle section and of the rows of its tables, and how rows are read. */

#include "base/options/option_rows.h"
#include "sim/particle/particle_rows.h"

#define BIG 1e9

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

#define OPTIONS particle_physics
TABLE(
    physics_table, "physics", "how bodies move",
    CHOICE(family, "mpe", family_names,
           "mpe: bodies move by their old velocity, contact forces are equal and opposite, action 1 is left; "
           "navigation: by their new velocity, forces scale with the mass ratio, action 1 is right"),
    REAL(dt, "0.1", 1e-6, 10, "time of one step", "s"),
    REAL(damping, "0.25", 0, 1, "part of the velocity lost in a step"),
    REAL(contact_force, "100", 0, BIG, "stiffness of contacts"),
    REAL(contact_margin, "0.001", 1e-9, 10, "softness of contacts"),
    REAL(sensitivity, "5", 0, BIG, "force of a full action for bodies without `acceleration`"));

#undef OPTIONS
#define OPTIONS particle_graph
TABLE(graph_table, "graph", "graph observations",
      CHOICE(nodes, "none", node_names,
             "node features [velocity, position, goal, type] of every entity, absolute or relative to the "
             "observer"),
      BOOL(edges, "false", "observe edges as CSR rows: edge_begin, edge_source, edge_length"),
      BOOL(distances, "false", "observe the full matrix of distances"),
      REAL(edge_distance, "1", 0, BIG, "two entities nearer than this have an edge"));

#undef OPTIONS
#define OPTIONS particle_disturbance
TABLE(disturbance_table, "disturbance", "random kicks",
      REAL(std, "0", 0, BIG, "standard deviation of random kicks of agents' positions and velocities"),
      REAL(decay, "0.1", 0, BIG, "rate at which they fade within an episode", "per step"));

#undef OPTIONS
#define OPTIONS particle_options
static const lud_option section_options[] = {
    TEXT(
        task, NULL,
        "a built-in task whose table this section starts from (see scenarios/particle); keys given here win"),
    TREE(parameters,
         "numbers and words that `$name` stands for; each may also be given directly in this section"),
    SECTION(physics, physics_table, "how bodies move"),
    CHOICE(actions, "discrete", action_names, "one of a few moves and words, or real numbers"),
    INT(episode_length, "25", 0, 16000000,
        "steps after which an episode is truncated, 0: never (where whole episodes are asked for after "
        "1,000)"),
    REAL(world_size, "2", 1e-6, BIG, "side of the square of start positions that [-1, 1] stands for"),
    INT(speech_size, "0", 0, LUD_PARTICLE_MAX_SPEECH, "length of the speech vector"),
    REAL(local_ratio, "0.5", 0, 1,
         "weight of reward rows of scope local; those of scope global get the rest"),
    TREE(bodies, "list of bodies, see particle.bodies"),
    TREE(choices, "list of random choices at reset, see particle.choices"),
    TREE(walls, "list of walls, see particle.walls"),
    TREE(rewards, "list of reward terms, see particle.rewards"),
    TREE(success, "when an episode has succeeded, see particle.success"),
    SECTION(graph, graph_table, "graph observations"),
    SECTION(disturbance, disturbance_table, "random kicks"),
    CHOICE(precision, "single", precision_names, "of states and arithmetic"),
};
const lud_option_table lud_particle_option_table =
    OPTION_TABLE("particle", "discs that move, speak and push each other in the plane", section_options);

#undef OPTIONS
#define OPTIONS particle_kind
static const lud_option body_options[] = {
    TEXT(name, NULL, "name, by which other rows refer to all of them"),
    INT(count, "1", 0, LUD_PARTICLE_MAX_ENTITIES, "how many"),
    CHOICE(type, "landmark", type_names, "agent: acts; landmark, obstacle: do not (types of graph nodes)"),
    CHOICE(role, "none", role_names, "role for the section `policies`"),
    CHOICE(movable, "auto", movable_names, "auto: agents are, others are not"),
    BOOL(collides, "true", "pushes and is pushed by others that collide"),
    BOOL(speaks, "false", "an agent that can speak"),
    BOOL(ghost, "false", "passes through walls that are not hard"),
    REAL(radius, "0.05", 1e-9, BIG, "radius"),
    REAL(mass, "1", 1e-9, BIG, "mass"),
    REAL(acceleration, "0", 0, BIG, "force of a full action, 0: the physics' sensitivity"),
    REAL(max_speed, "0", 0, BIG, "speed limit, 0: none"),
    REAL(control_noise, "0", 0, BIG, "standard deviation of noise on an agent's force"),
    REAL(speech_noise, "0", 0, BIG, "standard deviation of noise on an agent's speech"),
    REALS(region, "[-1, -1, 1, 1]", -BIG, BIG, "rectangle x0, y0, x1, y1 of start positions",
          "half world sizes"),
    TREE(at, "fixed start positions instead, a list of [x, y], one a member"),
    TREE(apart_from, "bodies (among those placed before) that it must not overlap at the start"),
    TREE(colour, "[red, green, blue] in 0..1, or a list of such, one a member; may be observed"),
    TREE(paint, "{choice, scale, offset, of}: take scale * colour + offset of what a choice has drawn"),
    TREE(observes, "an agent's observation, a list of terms, see particle.bodies.observes"),
};
const lud_option_table lud_particle_body_table =
    OPTION_TABLE("particle.bodies", "a kind of body", body_options);

#undef OPTIONS
#define OPTIONS particle_paint
static const lud_option paint_options[] = {
    TEXT(choice, NULL, "the choice"),
    REAL(scale, "1", -BIG, BIG, "factor on each component"),
    REAL(offset, "0", -BIG, BIG, "added to each component"),
    CHOICE(of, "self", painter_names, "whose choice: the agent's own or the next agent's"),
};
const lud_option_table lud_particle_paint_table =
    OPTION_TABLE("particle.bodies.paint", "a colour that depends on a choice", paint_options);

#undef OPTIONS
#define OPTIONS particle_choice
static const lud_option choice_options[] = {
    TEXT(name, NULL, "name, by which other rows refer to the body drawn"),
    TREE(from, "the body whose members it is drawn from"),
    CHOICE(per, "environment", per_names,
           "environment: one for all; agent: one each; pair: not drawn, agent i has member i"),
};
const lud_option_table lud_particle_choice_table =
    OPTION_TABLE("particle.choices", "a body drawn at random at every reset", choice_options);

#undef OPTIONS
#define OPTIONS particle_wall_row
static const lud_option wall_options[] = {
    CHOICE(orientation, "horizontal", orientation_names, "along x or along y"),
    REAL(at, NULL, -BIG, BIG, "y of a horizontal wall, x of a vertical one"),
    REAL(from, "-1", -BIG, BIG, "where it begins"),
    REAL(to, "1", -BIG, BIG, "where it ends"),
    REAL(width, "0.1", 0, BIG, "thickness"),
    BOOL(hard, "true", "stops ghosts too"),
};
const lud_option_table lud_particle_wall_table =
    OPTION_TABLE("particle.walls", "a straight wall", wall_options);

#undef OPTIONS
#define OPTIONS particle_view_row
static const lud_option view_options[] = {
    CHOICE(term, NULL, view_names,
           "velocity (2), position (2), relative position (2), distance (1), speech, colour, inside: 1 or -1 "
           "whether it overlaps"),
    TREE(of, "whose: self (default), other, agents, a body, a choice, or a list"),
    INT(nearest, "0", 0, LUD_PARTICLE_MAX_ENTITIES,
        "so many places, filled by distance and padded with zeros; 0: all in order"),
    REAL(within, "0", 0, BIG, "bodies at this distance or farther show as zeros, 0: no limit"),
    TREE(only, "of those, only these show; without `nearest` the others take no place"),
    TREE(hidden_in, "bodies to hide in: seen is who shares one with the observer, or neither is in any"),
    BOOL(when, "true", "false leaves the term out"),
};
const lud_option_table lud_particle_view_table =
    OPTION_TABLE("particle.bodies.observes", "one observed term", view_options);

#undef OPTIONS
#define OPTIONS particle_reward_row
static const lud_option reward_options[] = {
    TEXT(name, NULL, "name in metrics; the term's when absent"),
    CHOICE(term, NULL, lud_particle_reward_term_names,
           "of pairs: distance, overlap (0 or 1), reach (1 nearer than `within`), speech_error; of `from` "
           "alone: boundary, control, constant"),
    TREE_AT("for", receivers, "agents that receive it, default all"),
    TREE(from, "default self, the agent that receives it"),
    TREE(to, "the other side of a pair"),
    CHOICE(over_from, "sum", reduce_names, "how the values of several `from` are combined"),
    CHOICE(over_to, "sum", reduce_names, "how the values of several `to` are combined"),
    INT(power, "1", 1, 2, "2: squared distance"),
    REAL(within, "0", 0, BIG, "threshold of reach"),
    REAL(beyond, "0", 0, BIG, "a distance below this counts 0"),
    REAL(weight, "0", -BIG, BIG, "factor"),
    REAL(cost, "0", -BIG, BIG, "the same as a negative weight"),
    CHOICE(share, "none", share_names, "every receiver gets the sum or mean over all receivers"),
    CHOICE(scope, "all", scope_names, "local: times local_ratio; global: times (1 - local_ratio)"),
    BOOL(when, "true", "false leaves the row out"),
};
const lud_option_table lud_particle_reward_table =
    OPTION_TABLE("particle.rewards", "one reward term", reward_options);

#undef OPTIONS
#define OPTIONS particle_success_row
static const lud_option success_options[] = {
    TREE(every, "each of these ..."),
    TREE(reaches, "... must be near one of these"),
    REAL(within, "0", 0, BIG, "distance below which it is, 0: when they overlap"),
    BOOL(terminate, "false", "the episode ends when all are at once"),
};
const lud_option_table lud_particle_success_table =
    OPTION_TABLE("particle.success", "when an episode has succeeded", success_options);

const lud_option_table *const lud_particle_option_tables[] = {
    &lud_particle_option_table, &lud_particle_body_table,    &lud_particle_view_table,
    &lud_particle_paint_table,  &lud_particle_choice_table,  &lud_particle_wall_table,
    &lud_particle_reward_table, &lud_particle_success_table, NULL};

lud_status lud_particle_read_rows(lud_particle_model *m, const lud_option_table *table, lud_tree *list,
                                  void **rows, int *n, lud_error *error) {
    *n = 0;
    *rows = NULL;
    if (!list || list->kind == LUD_TREE_NULL) return LUD_OK;
    if (list->kind != LUD_TREE_SEQUENCE)
        return lud_invalid_at(error, list->place, "expected a list of `%s`", table->name);
    if (list->n_children > INT16_MAX)
        return lud_invalid_at(error, list->place, "too many rows of `%s`", table->name);
    unsigned char *out = lud_arena_take_array(m->arena, list->n_children + 1, table->bytes);
    if (!out) return lud_out_of_memory(error);
    for (lud_tree *row = list->child; row; row = row->next) {
        if (row->kind != LUD_TREE_MAPPING)
            return lud_invalid_at(error, row->place, "expected a mapping with keys of `%s`", table->name);
        LUD_TRY(lud_options_read(table, m->arena, row, out + (size_t)*n * table->bytes, error));
        (*n)++;
    }
    *rows = out;
    return LUD_OK;
}
