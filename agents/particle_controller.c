/* Scripted control of particle agents: a force towards a target in proportion to the distance, u = gain
 * (target - position) - brake velocity, the base controller of the magnitude-and-direction policy when brake
 * is 0; or pursuit of a target that moves, or flight from all of its kind. With discrete actions the larger
 * component decides the direction. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/kinds.h"
#include "base/options/option_rows.h"
#include "sim/particle/particle.h"

typedef struct controller_options {
    const char *type, *target; /* a null target: the success rule's goal */
    int course;                /* controller_course */
    int of;                    /* a choice is that of the agent so many behind */
    double gain, brake, rest;
} controller_options;

typedef enum controller_course { COURSE_TOWARDS, COURSE_INTERCEPT, COURSE_AWAY } controller_course;
static const char *const course_names[] = {"towards", "intercept", "away", NULL};
static const char *const owner_names[] = {"self", "next", NULL};

#define OPTIONS controller_options
TABLE(option_table, "controller", "a force towards a target (particle world)", TEXT(type, NULL, "controller"),
      TEXT(target, NULL,
           "a choice, or a body whose nearest member it goes to; without: what the success rule asks for"),
      CHOICE(course, "towards", course_names,
             "towards: where the target is; intercept: where it will be met; away: from all bodies of the "
             "target's name, from what stands in the way and from the edges of the world"),
      CHOICE(of, "self", owner_names, "whose choice the target is: the agent's own or the next agent's"),
      REAL(gain, "0.5", -1e6, 1e6, "action for each unit of distance (away: action); negative turns round"),
      REAL(brake, "0", 0, 1e6, "action against each unit of velocity"),
      REAL(rest, "0.03", 0, 1e6, "with discrete actions: smaller wishes are left undone"));

typedef struct controller {
    lud_policy policy;
    lud_arena *arena; /* of the options' texts */
    controller_options options;
    int moves[4]; /* discrete actions of +x, -x, +y, -y */
} controller;

static void destroy(lud_policy *policy) {
    controller *self = (controller *)policy;
    lud_arena_destroy(self->arena);
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
    if (!self->options.target) return lud_particle_goal(m, state, agent);
    if (is_kind(m, self->options.target)) return nearest(m, state, self->options.target, agent);
    return lud_particle_get_choice(m, state, self->options.target,
                                   (agent + self->options.of) % ((const lud_model *)m)->layout.n_agents);
}

/* Seconds until a body that goes straight at `speed` meets one that is `gap` away and keeps its velocity: the
 * smallest t with |gap + velocity t| = speed t, but never longer than the way there takes now, so that nobody
 * is led astray by a target that will turn. */
static double meeting_time(const double *gap, const double *velocity, double speed) {
    const double a = velocity[0] * velocity[0] + velocity[1] * velocity[1] - speed * speed;
    const double b = gap[0] * velocity[0] + gap[1] * velocity[1], c = gap[0] * gap[0] + gap[1] * gap[1];
    const double straight = speed > 0 ? sqrt(c) / speed : 0, root = b * b - a * c;
    if (speed <= 0 || root < 0) return straight;
    /* c / (sqrt(root) - b) is the smallest positive root of a t^2 + 2 b t + c whichever sign a has */
    const double divisor = sqrt(root) - b;
    return divisor > 0 && c / divisor < straight ? c / divisor : straight;
}

/* Adds the push of something at a distance `d` in direction (x, y) from the agent: towards the other side,
 * with the square of the nearness. */
static void push(double *sum, double x, double y, double d) {
    const double near = d > 1e-3 ? d : 1e-3, length = hypot(x, y);
    if (length <= 0) return;
    sum[0] -= x / length / (near * near);
    sum[1] -= y / length / (near * near);
}

/* The direction of flight, of length 1 or 0. Bodies of the target's kind push from their centres; others that
 * collide and do not act push from their rims when they are near, the edges of the square where bodies start
 * in the same way. */
static void flight(const controller *self, const lud_particle_model *m, const uint8_t *state, int agent,
                   double *direction) {
    const double nearby = 0.25, weak = 0.1;
    const lud_particle_body own = lud_particle_get_body(m, state, agent);
    const lud_particle_entity me = lud_particle_get_entity(m, agent);
    const double half = lud_particle_world_size(m) / 2;
    double sum[2] = {0, 0}, hindered[2] = {0, 0};
    for (int e = 0; e < lud_particle_entity_count(m); e++) {
        const lud_particle_entity entity = lud_particle_get_entity(m, e);
        if (e == agent) continue;
        const lud_particle_body body = lud_particle_get_body(m, state, e);
        const double x = body.position[0] - own.position[0], y = body.position[1] - own.position[1];
        const double gap = hypot(x, y) - entity.radius - me.radius;
        if (!strcmp(entity.kind, self->options.target))
            push(sum, x, y, hypot(x, y));
        else if (entity.collides && entity.type != LUD_PARTICLE_AGENT && gap < nearby)
            push(hindered, x, y, gap);
    }
    for (int k = 0; k < 2; k++)
        for (int side = -1; side <= 1; side += 2) {
            const double gap = half - side * own.position[k];
            if (gap < nearby) push(hindered, k == 0 ? side : 0, k == 1 ? side : 0, gap);
        }
    for (int k = 0; k < 2; k++) direction[k] = sum[k] + weak * hindered[k];
    const double length = hypot(direction[0], direction[1]);
    for (int k = 0; k < 2 && length > 0; k++) direction[k] /= length;
}

/* What the agent would push with, before discrete actions round it. */
static void find_wish(const controller *self, const lud_particle_model *m, const uint8_t *state, int agent,
                      double *wish) {
    const int target = find_target(self, m, state, agent);
    wish[0] = wish[1] = 0;
    if (target < 0 || !lud_particle_get_entity(m, agent).movable) return;
    const lud_particle_body own = lud_particle_get_body(m, state, agent);
    const lud_particle_body to = lud_particle_get_body(m, state, target);
    double way[2] = {to.position[0] - own.position[0], to.position[1] - own.position[1]};
    if (self->options.course == COURSE_AWAY) {
        flight(self, m, state, agent, way);
    } else if (self->options.course == COURSE_INTERCEPT) {
        const double t = meeting_time(way, to.velocity, lud_particle_get_entity(m, agent).max_speed);
        for (int k = 0; k < 2; k++) way[k] += t * to.velocity[k];
    }
    for (int k = 0; k < 2; k++) wish[k] = self->options.gain * way[k] - self->options.brake * own.velocity[k];
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
            double wish[2];
            find_wish(self, m, state, agent, wish);
            if (space->n_discrete > 0) {
                int axis = fabs(wish[1]) > fabs(wish[0]);
                int move =
                    fabs(wish[axis]) > self->options.rest ? self->moves[2 * axis + (wish[axis] < 0)] : 0;
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
        return lud_invalid_at(error, place, "the policy controller is for the particle world, not for %s",
                              model->world->name);
    const lud_particle_model *m = (const lud_particle_model *)model;
    controller *self = calloc(1, sizeof *self);
    if (!self) return lud_no_memory(error, "a policy");
    self->policy = (lud_policy){.kind = kind, .model = model};
    self->arena = lud_arena_create(0);
    controller_options *o = &self->options;
    lud_status status = self->arena ? lud_options_read(&option_table, self->arena, options, o, error)
                                    : lud_no_memory(error, "a policy");
    for (int d = 0; d < 4; d++) self->moves[d] = action_named(&model->layout, directions[d]);
    const bool of_kind = !status && o->target && is_kind(m, o->target);
    if (!status && o->target && !of_kind && !lud_particle_has_choice(m, o->target))
        status = lud_invalid_at(error, place, "target: there is no choice and no body '%s'", o->target);
    else if (!status && o->course == COURSE_AWAY && !of_kind)
        status = lud_invalid_at(error, place, "course: away needs a target, the name of bodies to flee from");
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
