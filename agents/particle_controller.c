/* Scripted control of particle agents: a force towards a target in proportion to the distance, u = gain
 * (target - position) - brake velocity, the base controller of the magnitude-and-direction policy when brake
 * is 0. With discrete actions the larger component decides the direction. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/kinds.h"
#include "sim/particle/particle.h"

typedef struct controller_options {
    const char *type, *target;
    int of;
    double gain, brake, rest;
} controller_options;

static const char *const owner_names[] = {"self", "next", NULL};

static const lud_option option_list[] = {
    {.key = "type",
     .type = LUD_OPTION_TEXT,
     .offset = offsetof(controller_options, type),
     .help = "controller"},
    {.key = "target",
     .type = LUD_OPTION_TEXT,
     .offset = offsetof(controller_options, target),
     .help = "a choice, or a body whose nearest member it goes to; without: what the success rule asks for"},
    {.key = "of",
     .type = LUD_OPTION_CHOICE,
     .offset = offsetof(controller_options, of),
     .default_value = "self",
     .choices = owner_names,
     .help = "whose choice the target is: the agent's own or the next agent's"},
    {.key = "gain",
     .type = LUD_OPTION_REAL,
     .offset = offsetof(controller_options, gain),
     .default_value = "0.5",
     .minimum = -1e6,
     .maximum = 1e6,
     .help = "action for each unit of distance; negative flees"},
    {.key = "brake",
     .type = LUD_OPTION_REAL,
     .offset = offsetof(controller_options, brake),
     .default_value = "0",
     .minimum = 0,
     .maximum = 1e6,
     .help = "action against each unit of velocity"},
    {.key = "rest",
     .type = LUD_OPTION_REAL,
     .offset = offsetof(controller_options, rest),
     .default_value = "0.03",
     .minimum = 0,
     .maximum = 1e6,
     .help = "with discrete actions: smaller wishes are left undone"}};
static const lud_option_table option_table = {.name = "controller",
                                              .help = "a force towards a target (particle world)",
                                              .options = option_list,
                                              .n = sizeof option_list / sizeof *option_list,
                                              .bytes = sizeof(controller_options)};

typedef struct controller {
    lud_policy policy;
    char *target; /* null: the success rule's goal */
    int of;       /* a choice is that of the agent so many behind */
    double gain, brake, rest;
    int moves[4]; /* discrete actions of +x, -x, +y, -y */
} controller;

static void destroy(lud_policy *policy) {
    controller *self = (controller *)policy;
    free(self->target);
    free(self);
}

static bool is_kind(const lud_particle_model *m, const char *name) {
    for (int e = 0; e < lud_particle_entity_count(m); e++)
        if (!strcmp(lud_particle_get_entity(m, e).kind, name)) return true;
    return false;
}

/* The nearest member of a kind of body, other than the agent itself. */
static int nearest(const lud_particle_model *m, const uint8_t *state, const char *kind, int agent) {
    lud_particle_body own = lud_particle_get_body(m, state, agent);
    double best = INFINITY;
    int found = -1;
    for (int e = 0; e < lud_particle_entity_count(m); e++) {
        if (e == agent || strcmp(lud_particle_get_entity(m, e).kind, kind) != 0) continue;
        lud_particle_body body = lud_particle_get_body(m, state, e);
        double d = hypot(body.position[0] - own.position[0], body.position[1] - own.position[1]);
        if (d < best) {
            best = d;
            found = e;
        }
    }
    return found;
}

static int find_target(const controller *self, const lud_particle_model *m, const uint8_t *state, int agent) {
    if (!self->target) return lud_particle_goal(m, state, agent);
    if (is_kind(m, self->target)) return nearest(m, state, self->target, agent);
    return lud_particle_get_choice(m, state, self->target,
                                   (agent + self->of) % ((const lud_model *)m)->layout.n_agents);
}

static void act(lud_policy *policy, const lud_act *act) {
    const controller *self = (const controller *)policy;
    const lud_particle_model *m = (const lud_particle_model *)act->model;
    const lud_layout *layout = &act->model->layout;
    int max_continuous = lud_max_continuous(layout);
    for (int e = 0; e < act->range.n; e++)
        for (int slot = 0; slot < act->n_agents_acting; slot++) {
            int agent = act->agents[slot];
            const uint8_t *state = act->states + (size_t)e * layout->state_bytes;
            const lud_action_space *space = &layout->actions[agent];
            int target = find_target(self, m, state, agent);
            double wish[2] = {0, 0};
            if (target >= 0 && lud_particle_get_entity(m, agent).movable) {
                lud_particle_body own = lud_particle_get_body(m, state, agent);
                lud_particle_body to = lud_particle_get_body(m, state, target);
                for (int k = 0; k < 2; k++)
                    wish[k] = self->gain * (to.position[k] - own.position[k]) - self->brake * own.velocity[k];
            }
            if (space->n_discrete > 0) {
                int axis = fabs(wish[1]) > fabs(wish[0]);
                int move = fabs(wish[axis]) > self->rest ? self->moves[2 * axis + (wish[axis] < 0)] : 0;
                double probabilities[5 * LUD_PARTICLE_MAX_SPEECH] = {0};
                probabilities[move] = 1;
                lud_policy_choose(act, e, slot, probabilities);
            }
            if (space->n_continuous == 0 || !act->continuous) continue;
            float *out = act->continuous +
                         ((size_t)e * (size_t)layout->n_agents + (size_t)agent) * (size_t)max_continuous;
            memset(out, 0, (size_t)space->n_continuous * sizeof *out);
            if (!lud_particle_get_entity(m, agent).movable) continue;
            if (space->low < 0) /* a vector */
                for (int k = 0; k < 2; k++) out[k] = (float)wish[k];
            else /* none, left, right, down, up */
                for (int k = 0; k < 2; k++) out[1 + 2 * k + (wish[k] > 0)] = (float)fabs(wish[k]);
        }
}

static int action_named(const lud_layout *layout, const char *name) {
    for (int a = 0; a < layout->n_agents; a++)
        for (int k = 0; k < layout->actions[a].n_discrete && k < 5; k++)
            if (!strncmp(layout->actions[a].names[k], name, strlen(name))) return k;
    return 0;
}

static lud_status create(const lud_policy_kind *kind, const lud_model *model, lud_tree *options,
                         const char *file, lud_policy **policy, lud_error *error) {
    static const char *const directions[4] = {"right", "left", "up", "down"};
    (void)file;
    lud_place place = options ? options->place : (lud_place){0};
    if (model->world != &lud_particle_world)
        return lud_fail_at(error, LUD_ERROR_INPUT, place,
                           "the policy controller is for the particle world, not for %s", model->world->name);
    const lud_particle_model *m = (const lud_particle_model *)model;
    lud_arena *arena = lud_arena_create(0);
    controller *self = calloc(1, sizeof *self);
    if (!arena || !self) {
        lud_arena_destroy(arena);
        free(self);
        return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a policy");
    }
    controller_options values;
    lud_status status = lud_options_read(&option_table, arena, options, &values, error);
    if (!status) {
        self->policy = (lud_policy){.kind = kind, .model = model};
        self->of = values.of;
        self->gain = values.gain;
        self->brake = values.brake;
        self->rest = values.rest;
        for (int d = 0; d < 4; d++) self->moves[d] = action_named(&model->layout, directions[d]);
        self->target = values.target ? strdup(values.target) : NULL;
        if (values.target && !self->target)
            status = lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a policy");
        else if (self->target && !is_kind(m, self->target) && !lud_particle_has_choice(m, self->target))
            status = lud_fail_at(error, LUD_ERROR_INPUT, place, "target: there is no choice and no body '%s'",
                                 self->target);
    }
    lud_arena_destroy(arena);
    if (status)
        destroy(&self->policy);
    else
        *policy = &self->policy;
    return status;
}

const lud_policy_kind lud_policy_controller = {.name = "controller",
                                               .about = "a force towards a target (particle world)",
                                               .options = &option_table,
                                               .create = create,
                                               .destroy = destroy,
                                               .act = act};
