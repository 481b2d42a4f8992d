#include "sim/particle/support_particle.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

lud_model *particle_model(const char *section) {
    char text[4000];
    lud_error error = {0};
    lud_tree *root;
    lud_model *model = NULL;
    lud_arena *arena = lud_arena_create(0);
    snprintf(text, sizeof text, "particle: {%s}", section);
    if (lud_tree_read_text(arena, "test", text, strlen(text), &root, &error) ||
        lud_particle_world.parse(&lud_particle_world, root, "test", 0, &model, &error))
        fail_msg("%s", error.text);
    lud_arena_destroy(arena); /* the model must not need the tree */
    return model;
}

const char *particle_error(const char *text) {
    static lud_error error;
    lud_tree *root;
    lud_model *model = NULL;
    lud_arena *arena = lud_arena_create(0);
    error = (lud_error){0};
    if (!lud_tree_read_text(arena, "test", text, strlen(text), &root, &error) &&
        !lud_particle_world.parse(&lud_particle_world, root, "test", 0, &model, &error)) {
        lud_particle_world.free(model);
        fail_msg("no error for:\n%s", text);
    }
    lud_arena_destroy(arena);
    return error.text;
}

void particle_random_actions(const lud_model *model, uint32_t environment, uint32_t tick, int32_t *discrete,
                             float *continuous) {
    int width = 0, n = model->layout.n_agents;
    for (int a = 0; a < n; a++)
        if (model->layout.actions[a].n_continuous > width) width = model->layout.actions[a].n_continuous;
    for (int a = 0; a < n; a++) {
        const lud_action_space *space = &model->layout.actions[a];
        lud_random_key key = {77, environment};
        if (space->n_discrete > 0)
            discrete[a] = (int32_t)lud_below(lud_draw(key, tick, (uint32_t)a, LUD_PURPOSE_ACTION, 0).v[0],
                                             (uint32_t)space->n_discrete);
        for (int i = 0; i < space->n_continuous; i++) {
            lud_words words = lud_draw(key, tick, (uint32_t)a, LUD_PURPOSE_ACTION, 1 + (uint32_t)i);
            continuous[a * width + i] = space->low + (space->high - space->low) * lud_unit_float(words.v[0]);
        }
    }
}

void particle_step_double(const lud_model *model, uint8_t *state, const int32_t *discrete,
                          const double *continuous, double *rewards) {
    uint32_t tick = 0;
    lud_particle_wide wide = {.discrete = discrete, .continuous = continuous, .rewards = rewards};
    lud_particle_step_wide(model, (lud_range){1, 0, 1, &tick}, state, &wide);
}

void particle_scatter(const lud_model *model, uint8_t *state, uint32_t seed, double crowd) {
    const lud_particle_model *m = particle_of(model);
    for (int e = 0; e < lud_particle_entity_count(m); e++) {
        lud_words p = lud_draw((lud_random_key){5, seed}, 0, (uint32_t)e, LUD_PURPOSE_USER, 0);
        lud_particle_body body;
        for (int axis = 0; axis < 2; axis++) {
            body.position[axis] = crowd * (2 * lud_unit(p.v[axis]) - 1);
            body.velocity[axis] = 2 * lud_unit(p.v[2 + axis]) - 1;
        }
        lud_particle_set_body(m, state, e, body);
    }
}

void particle_assert_near(double found, double expected, double tolerance, const char *file, int line) {
    if (fabs(found - expected) <= tolerance) return;
    print_error("%.17g is not within %g of %.17g\n", found, tolerance, expected);
    _fail(file, line);
}
